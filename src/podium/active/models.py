"""Two models of the same votes, side by side, and what held-out votes say of each.

Model A (`model_scores`) has a score for every item: close calls are coin flips, far ones certain. Model B (`posterior`)
has a place for every item and mistakes at any distance. People and language models are nearer to A, the paper's
tournaments to B. Which of the two to believe is read off votes that neither has seen: each of five parts of the pairs
is predicted by fits to the other four. Of many items or votes only a part is, and the fits go on from there.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from podium.active.model_scores import DENSE, Scores, fit_scores, judge_weights
from podium.active.order import SparseWins
from podium.active.posterior import Posterior
from podium.active.tally import CHECK, Tally

__all__ = ["HASTY", "Draft", "Models", "draft_model", "fit_models", "fold_of", "rank_posterior", "weights_of"]

FOLDS = 5
NATS = 2.0  # log-likelihood that model B must gain for its two constants
SWEEPS = 3
MIXTURES = np.array([0.0, 0.25, 0.5, 0.75, 1.0])
DOUBTS = np.array([1.0, 1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 4.0])
TRUST = 0.5  # deviation of the log of a doubt that is expected beforehand of the check votes, which are few
MAX_NEAR_SHARE = 0.05  # of all ranks: neighbours, of which a fit knows the order least
VAGUE = (10.0, 20.0)  # log-likelihood that doubt gains among neighbours, from which on and beyond which they are vague
COINS = (0.62, 0.58)  # of many votes among neighbours predicted: from which share down and below which they are vague
NEIGHBOURS = 500  # votes among neighbours that are many
LOOSE = 1.25  # times model A's spread among neighbours of whom many votes would halve the logits, or more
TURNING = 0.08  # more mistakes among far pairs than elsewhere: there may be a cycle
MIN_FAR_SHARE = 1 / 3  # of all ranks
ONE_SIDED = 1.282  # 90 %: so sure must be that far pairs do not contradict the order before it is called stable
FEWEST = 20  # far pairs before they tell
MAX_VOTES_HELD_OUT = 60_000  # votes beyond which, as beyond DENSE items, only a part of them is held out
HASTY = 4000  # items beyond which a sweep less must do
HELD = 6000  # votes in that part, a fifth of all at most
SHARP = 0.003  # of all places: the zone of close calls that it then begins with, so that two sweeps find a narrow one
HELD_CHECKS = 0.5  # share of the check votes held out besides: they alone say how often the order agrees


@dataclass(frozen=True)
class Models:
    """Both models fitted to all votes; `share` is how far model B is believed, `held_out` what both said of the votes
    `tested` before they saw them (columns: model A, model B), `weight` how far each judge is believed. `doubt` is how
    much too sure of themselves they were there, on all of them or on check votes: their logits would have to be
    divided by it. `vague` (0 to 1) says that they were too sure among neighbours, or hardly knew who goes first there:
    the order may be settled at large and arbitrary inside ties or blocks, which model B knows nothing of. `loose` says
    how much wider than its posterior the scores of model A are then known."""

    scores: Scores
    posterior: Posterior
    table: SparseWins
    share: float
    weight: np.ndarray | None
    held_out: np.ndarray
    tested: np.ndarray
    turning: bool
    straight: bool
    doubt: float
    vague: float
    loose: float

    def held_out_chances(self) -> np.ndarray:
        """The chance of the lower item in each vote that was tested, from fits that had not seen the pair."""
        chances: np.ndarray = (1.0 - self.share) * self.held_out[:, 0] + self.share * self.held_out[:, 1]
        return chances


@dataclass(frozen=True)
class Draft:
    """Model B of many items as far as planning needs it: fitted without the votes `out`, of which `part` stands for all
    votes; `seen` is what both models said of these. `table` has all votes, for the next sweep to take in."""

    posterior: Posterior
    table: SparseWins
    start: np.ndarray
    weight: np.ndarray | None
    seen: np.ndarray
    out: np.ndarray
    part: np.ndarray


def fit_models(tally: Tally, prior: tuple[np.ndarray, float] | None = None, draft: Draft | None = None) -> Models:
    """Fit both models, the noise of model B and the share of each; of many items from their draft, if there is one."""
    if tally.n <= DENSE and len(tally) <= MAX_VOTES_HELD_OUT:
        return _fit_folds(tally, prior, weights_of(tally, prior))
    return _finished(tally, prior, draft_model(tally, prior) if draft is None else draft)


def _fit_folds(tally: Tally, prior: tuple[np.ndarray, float] | None, weight: np.ndarray | None) -> Models:
    """Five fits, each without a part of the pairs, which it predicts; then one to all votes."""
    part = fold_of(tally)
    seen = np.full((len(tally), 2), 0.5)
    gap, variance = np.zeros(len(tally)), np.ones(len(tally))
    fits = []
    for fold in range(FOLDS):
        out = part == fold
        if not out.any() or out.all():
            continue
        rest = tally.part(~out)
        scores = fit_scores(rest, weight, prior)
        left, right = tally.low[out], tally.high[out]
        seen[out, 0] = scores.chances(left, right)[0]
        posterior, table = rank_posterior(rest, scores.order, weight)
        gap[out], variance[out] = posterior.predict(np.column_stack([left, right]))
        fits.append((out, posterior, table))
    noise = Posterior(tally.n)
    noise.learn_noise(gap, variance, tally.value)
    for out, posterior, table in fits:
        posterior.floor, posterior.scale = noise.floor, noise.scale
        seen[out, 1] = posterior.chances(np.column_stack([tally.low[out], tally.high[out]]), table)
    scores = fit_scores(tally, weight, prior)
    posterior, table = rank_posterior(tally, scores.order, weight, (noise.floor, noise.scale))
    posterior.fresh = noise.fresh
    everything = np.ones(len(tally), dtype=bool)
    return _models(tally, scores, posterior, table, weight, seen, everything, everything)


def draft_model(tally: Tally, prior: tuple[np.ndarray, float] | None = None) -> Draft:
    """One fit without a part of the pairs, which tell it its noise."""
    weight = weights_of(tally, prior)
    lot = _lot(tally)
    part = lot < min(HELD / max(len(tally), 1), 1.0 / FOLDS)
    out = part | ((tally.kind == CHECK) & (lot < HELD_CHECKS))
    rest = tally.part(~out)
    scores = fit_scores(rest, weight, prior)
    pairs = np.column_stack([tally.low[out], tally.high[out]])
    posterior, table = Posterior(tally.n), vote_table(rest, weight)
    posterior.start(scores.order, rest.degree)
    hasty = tally.n > HASTY
    posterior.scale = SHARP * tally.n if hasty else posterior.scale
    for _ in range(SWEEPS - hasty):
        posterior.sweep(table, 1)
        posterior.relearn_noise(*posterior.predict(pairs), tally.value[out])
    seen = np.full((len(tally), 2), 0.5)
    seen[out, 0] = scores.chances(pairs[:, 0], pairs[:, 1])[0]
    seen[out, 1] = posterior.chances(pairs, table)
    return Draft(posterior, vote_table(tally, weight), scores.mean, weight, seen, out, part)


def _finished(tally: Tally, prior: tuple[np.ndarray, float] | None, draft: Draft) -> Models:
    """With the votes in that it was drafted without, a fit goes on from there."""
    scores = fit_scores(tally, draft.weight, prior, start=draft.start)
    posterior = draft.posterior.copy()
    posterior.sweep(draft.table, SWEEPS)
    return _models(tally, scores, posterior, draft.table, draft.weight, draft.seen, draft.out, draft.part)


def _models(
    tally: Tally, scores: Scores, posterior: Posterior, table: SparseWins, weight: np.ndarray | None,
    seen: np.ndarray, tested: np.ndarray, part: np.ndarray,
) -> Models:  # fmt: skip
    """Both fits with what the held-out votes say of them; `part` of these stands for all votes."""
    turning, straight = _turning(tally, posterior)
    share = _share(seen[part], tally.value[part])
    mixed = (1.0 - share) * seen[:, 0] + share * seen[:, 1]
    rank = np.argsort(posterior.order)
    near = part & (np.abs(rank[tally.low] - rank[tally.high]) < MAX_NEAR_SHARE * tally.n)
    checks = tested & (tally.kind == CHECK)
    doubt = max(_doubt(mixed[part], tally.value[part])[0], _doubt(mixed[checks], tally.value[checks], TRUST)[0])
    vague, loose = _vague(mixed[near], tally.value[near])
    return Models(scores, posterior, table, share, weight, seen, tested, turning, straight, doubt, vague, loose)


def _vague(chances: np.ndarray, value: np.ndarray) -> tuple[float, float]:
    """How little held-out chances of votes among neighbours know (0 to 1), and how much wider scores are known."""
    divisor, gain = _doubt(chances, value)
    first, full = VAGUE
    vague = (gain - first) / (full - first)
    loose = 1.0
    if len(value) >= NEIGHBOURS:
        most, least = COINS
        hits = float(np.where(chances > 0.5, value, 1.0 - value).mean())
        vague = max(vague, (most - hits) / (most - least))
        loose = LOOSE if divisor >= 2.0 else 1.0
    vague = float(np.clip(vague, 0.0, 1.0))
    return vague, 1.0 + vague * (loose - 1.0)


def _turning(tally: Tally, posterior: Posterior) -> tuple[bool, bool]:
    """Whether pairs more than a third of all ranks apart contradict the order much more often than nearer ones; and
    whether enough of them were asked to rule that out (too few to tell either way do not stand in the way)."""
    rank = np.argsort(posterior.order)
    gap = rank[tally.high] - rank[tally.low]
    wrong = np.where(gap > 0, 1.0 - tally.value, tally.value)
    far = np.abs(gap) > MIN_FAR_SHARE * tally.n
    count = int(np.count_nonzero(far))
    if count < FEWEST or count == len(tally):
        return False, True
    near = float(wrong[~far].mean())
    error = np.sqrt(max(near * (1.0 - near), 0.01) / count)
    more = float(wrong[far].mean()) - near
    return bool(more > max(TURNING, 2.5 * error)), bool(more + ONE_SIDED * error <= TURNING)


def _doubt(chances: np.ndarray, value: np.ndarray, trust: float = np.inf) -> tuple[float, float]:
    """The divisor, 1 to 4, of the logits of held-out chances that fits the votes best, and the log-likelihood that it
    gains. `trust` is how far from 1 it is expected to be beforehand, in logs."""
    if not len(value):
        return 1.0, 0.0
    logit = np.log(np.clip(chances, 1e-4, 1.0 - 1e-4) / np.clip(1.0 - chances, 1e-4, 1.0 - 1e-4))
    fit = np.array([float((value * (logit / each) - np.logaddexp(0.0, logit / each)).sum()) for each in DOUBTS])
    best = int(np.argmax(fit - 0.5 * (np.log(DOUBTS) / trust) ** 2))
    return float(DOUBTS[best]), float(fit[best] - fit[0])


def _lot(tally: Tally) -> np.ndarray:
    """A number from 0 to 1 for each vote, the same for all votes on a pair."""
    keys = (tally.low * tally.n + tally.high).astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    lots: np.ndarray = (keys >> np.uint64(33)).astype(np.float64) / 2.0**31
    return lots


def fold_of(tally: Tally) -> np.ndarray:
    """Which of five parts each vote is in; all votes on a pair are in the same."""
    parts: np.ndarray = (_lot(tally) * 2.0**31).astype(np.int64) % FOLDS
    return parts


def weights_of(tally: Tally, prior: tuple[np.ndarray, float] | None) -> np.ndarray | None:
    """Trust in each judge after a first fit that trusts all alike."""
    if tally.judges < 2 or not len(tally):
        return None
    first = fit_scores(tally, None, prior)
    ahead = first.mean[tally.low] > first.mean[tally.high]
    return judge_weights(tally, np.where(ahead, tally.value, 1.0 - tally.value))


def rank_posterior(
    tally: Tally, order: np.ndarray, weight: np.ndarray | None, noise: tuple[float, float] | None = None
) -> tuple[Posterior, SparseWins]:
    """Model B started anew: from `order`, improved by single moves and windows, then swept."""
    table = vote_table(tally, weight)
    posterior = Posterior(tally.n)
    if noise is not None:
        posterior.floor, posterior.scale = noise
    start = table.window_search(table.insertion_search(order)) if len(tally) else order
    posterior.start(start, tally.degree)
    if len(tally):
        posterior.sweep(table, SWEEPS)
    return posterior, table


def vote_table(tally: Tally, weight: np.ndarray | None) -> SparseWins:
    """Votes laid out by item, for sweeps and local searches."""
    edge = 2.0 * tally.value - 1.0
    return SparseWins(tally.n, tally.low, tally.high, edge if weight is None else edge * weight[tally.judge])


def _share(seen: np.ndarray, value: np.ndarray) -> float:
    """The mixture of both models that held-out votes speak for; any share of model B must be worth its constants."""
    if not len(value):
        return 0.0
    mixed = seen[:, :1] * (1.0 - MIXTURES) + seen[:, 1:] * MIXTURES
    mixed = np.clip(mixed, 1e-4, 1.0 - 1e-4)
    fit = value @ np.log(mixed) + (1.0 - value) @ np.log(1.0 - mixed)
    fit[1:] -= NATS
    return float(MIXTURES[np.argmax(fit)])
