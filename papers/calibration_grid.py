"""Which printed number keeps its word, and where: a grid of designs, sizes and votes an item, with known scores.

    python -m papers.calibration_grid --jobs 4              what is missing of the page's grid (`PAGE`): an hour of CPU
    python -m papers.calibration_grid --again --jobs 4      all of it anew, after the code has changed
    python -m papers.calibration_grid --sets 20 -o FOLDER   a quick look; also --designs, --items, --votes
    python -m papers.calibration_grid --sets 0              the table and the picture of what has been run so far

Each cell draws true scores and votes, fits the default model, and notes how often what is printed is so: score
intervals; rank intervals of an average item, the truly best and the truly last, and of all items at once; tiers (a set
is wrong if a leader is not better than some item of the tiers below); the claimed chance that the leader is best; the
position bias or the covariate's effect where there is one. `RABF` on items with features, some of which nobody voted
on, and `CrowdBradleyTerry` beside plain Bradley-Terry are more designs, with measures of their own. Sets are drawn
in blocks with a seed of their own, each written down when it is done: a second run goes on where the first stopped
(`--again` in a file of its own, which then takes the place of the other), and `--jobs` changes no number. At the end
the blocks of a cell become one line. Other methods and packages are in `papers.calibration_rivals`.

A cell fails a promise when it lies outside the promised band beyond chance at 5 %, by Holm over the whole grid.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np

from papers.calibration import _crowd_scores, chance, pairs, votes
from podium.data.comparisons import Comparisons
from podium.engine import engine_for
from podium.errors import PodiumError, PodiumWarning
from podium.metrics import kendall_tau
from podium.pairwise._fit.judge_tests import MIN_VOTES
from podium.pairwise.bradley_terry import BradleyTerry
from podium.pairwise.crowd import CrowdBradleyTerry
from podium.pairwise.rabf import RABF
from podium.ranking.differences import holm
from podium.ranking.ranking import Ranking

HERE = Path(__file__).parent / "calibration"
ITEMS = (8, 30, 100, 200)
PER_ITEM = (3, 5, 6, 10, 30, 60)
BLOCK = 10  # sets that are drawn and written down together
LEVEL, SPREAD = 0.95, 0.8
DEVIATIONS = NormalDist().inv_cdf(0.5 + LEVEL / 2)
EFFECT = 0.5  # of the left side, and of a covariate with standard deviation 1
TIE = 1.0  # Davidson's ν
CLAIMS = (0.0, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9, 1.0)  # ends of the ranges in which claimed chances are compared with truth
FOLLOWS = 1.5  # log-odds of standing on the left, for a score better by one
FLIP_RATES = (0.1, 0.2, 0.3)
IN_MARGINS = 0.25  # margins a log-odds, so that hardly any difference of scores is above 1
JUDGES, TASTE = 40, 0.5

Truth = np.ndarray
Drawn = tuple[Comparisons, Truth]


@dataclass(frozen=True)
class Design:
    """How votes come about, and the model that ranks them."""

    draw: Callable[[np.random.Generator, int, int], Drawn] | None
    options: dict[str, Any] = field(default_factory=dict)
    cluster: str | None = None
    effect: Callable[[BradleyTerry], tuple[float, float]] | None = None
    own: Callable[[np.random.Generator, int, int], dict[str, float]] | None = None  # draws and measures another model


def _truth(rng: np.random.Generator, n: int, spread: float = SPREAD) -> Truth:
    return spread * rng.standard_normal(n)


def _votes(rng: np.random.Generator, truth: Truth, left: np.ndarray, right: np.ndarray, **more: Any) -> Comparisons:
    return votes(len(truth), left, right, rng.random(len(left)) < chance(truth[left] - truth[right]), **more)


def plain(rng: np.random.Generator, n: int, per_item: int) -> Drawn:
    """Random pairs, scores from a normal distribution."""
    truth = _truth(rng, n)
    return _votes(rng, truth, *pairs(rng, n, n * per_item // 2)), truth


def close(rng: np.random.Generator, n: int, per_item: int) -> Drawn:
    """Scores so near each other that the best wins 55 of 100."""
    truth = _truth(rng, n, 0.1)
    return _votes(rng, truth, *pairs(rng, n, n * per_item // 2)), truth


def zipf(rng: np.random.Generator, n: int, per_item: int) -> Drawn:
    """Some items meet far more often than others, as 1 / place."""
    truth = _truth(rng, n)
    share = 1 / np.arange(1, n + 1)
    left = rng.choice(n, n * per_item // 2, p=share / share.sum())
    right = rng.choice(n, len(left), p=share / share.sum())
    right = np.where(left == right, (right + rng.integers(1, n, len(left))) % n, right)
    return _votes(rng, truth, left, right), truth


def _with_ties(rng: np.random.Generator, n: int, per_item: int) -> Drawn:
    truth = _truth(rng, n)
    left, right = pairs(rng, n, n * per_item // 2)
    half = (truth[left] - truth[right]) / 2
    weights = np.stack([np.exp(half), np.full(len(half), TIE), np.exp(-half)], axis=1)
    at = rng.random(len(half)) * weights.sum(axis=1)
    outcome = np.where(at < weights[:, 0], 1, np.where(at < weights[:, :2].sum(axis=1), 0, -1)).astype(np.int8)
    return Comparisons(range(n), left.astype(np.int32), right.astype(np.int32), outcome=outcome), truth


def half_ties(rng: np.random.Generator, n: int, per_item: int) -> Drawn:
    """A third of the votes of equals are ties, counted half; the truth is what infinitely many such votes would say."""
    made, truth = _with_ties(rng, n, per_item)
    return made, _limit_of_half_ties(truth)


def _limit_of_half_ties(truth: Truth) -> Truth:
    """Scores fitted to expected points of all pairs, which is what half wins estimate on random pairs."""
    i, j = np.triu_indices(len(truth), 1)
    half = (truth[i] - truth[j]) / 2
    points = (np.exp(half) + TIE / 2) / (np.exp(half) + TIE + np.exp(-half))
    whole = Comparisons.from_arrays(
        np.concatenate([i, j]), np.concatenate([j, i]), weight=np.concatenate([points, 1 - points]),
        items=range(len(truth)),
    )  # fmt: skip
    return BradleyTerry(l2=0, tol=1e-9).fit(whole).ranking_.scores


def side(rng: np.random.Generator, n: int, per_item: int) -> Drawn:
    """The left side wins more often."""
    truth = _truth(rng, n)
    left, right = pairs(rng, n, n * per_item // 2)
    won = rng.random(len(left)) < chance(truth[left] - truth[right] + EFFECT)
    return _sided(n, left, right, won), truth


def _sided(n: int, left: np.ndarray, right: np.ndarray, won: np.ndarray) -> Comparisons:
    outcome = np.where(won, 1, -1).astype(np.int8)
    return Comparisons(range(n), left.astype(np.int32), right.astype(np.int32), outcome=outcome, sided=True)


def covariate(rng: np.random.Generator, n: int, per_item: int, of_strength: float = 0.0) -> Drawn:
    """A number that belongs to the vote moves it."""
    truth = _truth(rng, n)
    left, right = pairs(rng, n, n * per_item // 2)
    style = of_strength / SPREAD * (truth[left] - truth[right]) + rng.standard_normal(len(left))
    won = rng.random(len(left)) < chance(truth[left] - truth[right] + EFFECT * style)
    return votes(n, left, right, won, covariates={"style": np.where(won, style, -style)}), truth


def covariate_of_strength(rng: np.random.Generator, n: int, per_item: int) -> Drawn:
    """The same, and better items have more of it: its mean over items is as spread as its noise."""
    return covariate(rng, n, per_item, 1.0)


def clusters(rng: np.random.Generator, n: int, per_item: int) -> Drawn:
    """Judges with tastes of their own; the truth is what all judges together would say."""
    truth = _truth(rng, n)
    left, right = pairs(rng, n, n * per_item // 2)
    judge = rng.permutation(np.arange(len(left)) % JUDGES)
    tastes = truth + TASTE * rng.standard_normal((JUDGES, n))
    won = rng.random(len(left)) < chance(tastes[judge, left] - tastes[judge, right])
    return votes(n, left, right, won, judge=judge), _crowd_scores(truth, TASTE)


def weights(rng: np.random.Generator, n: int, per_item: int) -> Drawn:
    """Weights of mean 1 and mean square 2: worth half the votes."""
    truth = _truth(rng, n)
    left, right = pairs(rng, n, n * per_item // 2)
    heavy = rng.lognormal(-math.log(2) / 2, math.sqrt(math.log(2)), len(left))
    return _votes(rng, truth, left, right, weight=heavy), truth


def features(
    rng: np.random.Generator, n: int, per_item: int, *, count: int = 3, follows: str = "", flip_rate: float = 0.0
) -> dict[str, float]:
    """Items with features that explain half of their scores' variance, and half as many that no vote mentions.

    Scores are followed by the side (better items stand on the left more often) or by a covariate (they have more of
    it); or a share of votes, known to the model, is reported the wrong way round.
    """
    every = n + (max(n // 2, 4) if count else 0)
    table, weights_of, truth = _featured(rng, every, count)
    left, right = pairs(rng, n, n * per_item // 2)
    gap, style = truth[left] - truth[right], rng.standard_normal(len(left))
    if follows == "side":
        stays = rng.random(len(left)) < chance(FOLLOWS * gap)
        left, right, gap = np.where(stays, left, right), np.where(stays, right, left), np.where(stays, gap, -gap)
    style = 1.0 + 0.0 * style if follows == "side" else style + gap / SPREAD
    won = rng.random(len(left)) < chance(gap + (EFFECT * style if follows else 0.0))
    won = won != (rng.random(len(left)) < flip_rate)
    more: dict[str, Any] = {}
    if follows == "covariate":
        more["covariates"] = {"style": np.where(won, style, -style)}
    made = _sided(n, left, right, won) if follows == "side" else votes(n, left, right, won, **more)
    model = RABF(side_effect=follows == "side", flip_rate=flip_rate).fit(
        made, dict(enumerate(table)) if count else None
    )
    here = _features_held(model, truth, weights_of, n)
    if follows:
        effect, error = model.side_effect_, model.side_effect_std_error_ or 0.0
        if follows == "covariate":
            effect, error = float(model.covariate_coef_[0]), float(model.covariate_std_errors_[0])
        here |= {
            "effect": float(abs(effect - EFFECT) <= DEVIATIONS * error),
            "effect too large by": effect / EFFECT - 1,
        }
    return here


def flips_in_margins(rng: np.random.Generator, n: int, per_item: int, *, flip_rate: float) -> dict[str, float]:
    """The same with the squared loss, on votes whose mean is the difference of two scores; some are flipped."""
    table, weights_of, truth = _featured(rng, n + max(n // 2, 4), 3)
    weights_of, truth = IN_MARGINS * weights_of, IN_MARGINS * truth
    left, right = pairs(rng, n, n * per_item // 2)
    won = rng.random(len(left)) < 0.5 + 0.5 * np.clip(truth[left] - truth[right], -1.0, 1.0)
    made = votes(n, left, right, won != (rng.random(len(left)) < flip_rate))
    model = RABF(loss="squared", flip_rate=flip_rate).fit(made, dict(enumerate(table)))
    return _features_held(model, truth, weights_of, n)


def _featured(rng: np.random.Generator, every: int, count: int) -> tuple[np.ndarray, np.ndarray, Truth]:
    """Features, their weights and true scores."""
    table = rng.standard_normal((every, count))
    weights_of = SPREAD * math.sqrt(0.5 / max(count, 1)) * rng.standard_normal(count)
    return (
        table,
        weights_of,
        table @ weights_of + SPREAD * math.sqrt(0.5 if count else 1.0) * rng.standard_normal(every),
    )


def _features_held(model: RABF, truth: Truth, weights_of: np.ndarray, n: int) -> dict[str, float]:
    """Which intervals hold: of the first n items, of the others, of the weights."""
    ranking = model.ranking_
    lower, upper = (bound[np.argsort(np.array(ranking.items))] for bound in ranking.intervals(LEVEL))
    placed = truth - truth.mean() + ranking.scores.mean()
    held, width = (lower <= placed) & (placed <= upper), upper - lower
    here = {"score": float(held[:n].mean()), "score width": float(width[:n].mean())}
    here |= ranks_held(ranking, truth[np.array(ranking.items)])
    if len(weights_of):
        off = np.abs(model.coef_ - weights_of) <= DEVIATIONS * model.coef_std_errors_
        here |= {"unseen": float(held[n:].mean()), "unseen width": float(width[n:].mean())}
        here["coefficient"] = float(off.mean())
    return here


def crowd(
    rng: np.random.Generator, n: int, per_item: int, *, each: int = 5, flippers: float = 0.0, contrary: float = 0.0
) -> dict[str, float]:
    """Judges of whom some flip coins or answer the wrong way round; beside plain Bradley-Terry."""
    truth = _truth(rng, n)
    left, right = pairs(rng, n, n * per_item // 2)
    judge = np.arange(len(left)) // each
    kind = rng.random(judge[-1] + 1)
    slope = np.where(kind < flippers, 0.0, np.where(kind < flippers + contrary, -1.0, 1.0))
    won = rng.random(len(left)) < chance(slope[judge] * (truth[left] - truth[right]))
    made = votes(n, left, right, won, judge=judge)
    model, alike = CrowdBradleyTerry().fit(made), BradleyTerry().fit(made)
    known = (1 - flippers - 2 * contrary) * truth  # an average judge's
    here = measure(model.ranking_, known)
    error, plain_error = (np.std(each.ranking_.scores - known) for each in (model, alike))
    agreement, plain_agreement = (kendall_tau(each.ranking_.scores, truth) for each in (model, alike))
    here |= {"RMSE beyond plain": float(error / plain_error - 1), "Kendall beyond plain": agreement - plain_agreement}
    here |= {"judges differ": float(model.reliability_sd_ > 0)}
    return here | (_flags(model, slope) if each >= MIN_VOTES else {})


def _flags(model: CrowdBradleyTerry, slope: np.ndarray) -> dict[str, float]:
    """Whether an honest judge is flagged, and which share of the others; "contrary" ones by that name."""
    flags = {int(judge): flag for judge, flag in model.flags_.items()}
    coins, wrong = np.flatnonzero(slope == 0), np.flatnonzero(slope < 0)
    return {
        "honest judge flagged": float(any(slope[k] > 0 for k in flags)),
        "coin-flippers flagged": float(np.mean([k in flags for k in coins])) if len(coins) else math.nan,
        "contrary judges named": float(np.mean([flags.get(k) == "contrary" for k in wrong]))
        if len(wrong)
        else math.nan,
    }


def _first_effect(model: BradleyTerry) -> tuple[float, float]:
    return float(model.coef_[0]), float(model.coef_std_errors_[0])


DESIGNS: dict[str, Design] = {
    "plain": Design(plain, {}),
    "close scores": Design(close, {}),
    "Zipf pairs": Design(zipf, {}),
    "ties, counted half": Design(half_ties, {}),
    "ties, Davidson": Design(_with_ties, {"ties": "davidson"}),
    "position bias": Design(
        side, {"side_effect": True}, effect=lambda model: (model.side_effect_, model.side_effect_std_error_ or 0.0)
    ),
    "covariate": Design(covariate, {}, effect=_first_effect),
    "judges with tastes": Design(clusters, {}, cluster="judge"),
    "uneven weights": Design(weights, {}),
    "covariate, more of it in better items": Design(covariate_of_strength, {}, effect=_first_effect),
    "features": Design(None, own=features),
    "crowd, all alike": Design(None, own=crowd),
    "crowd, 30 % coin-flippers": Design(None, own=partial(crowd, flippers=0.3)),
    "features, better items left": Design(None, own=partial(features, follows="side")),
    "features, covariate of strength": Design(None, own=partial(features, follows="covariate")),
    "no features, better items left": Design(None, own=partial(features, count=0, follows="side")),
    "no features, covariate of strength": Design(None, own=partial(features, count=0, follows="covariate")),
    **{f"flips {rate}, log loss": Design(None, own=partial(features, flip_rate=rate)) for rate in FLIP_RATES},
    **{
        f"flips {rate}, squared loss": Design(None, own=partial(flips_in_margins, flip_rate=rate))
        for rate in FLIP_RATES
    },
    "25 votes a judge, all alike": Design(None, own=partial(crowd, each=25)),
    "25 votes a judge, 30 % coin-flippers": Design(None, own=partial(crowd, each=25, flippers=0.3)),
    "25 votes a judge, 20 % coin-flippers, 10 % contrary": Design(
        None, own=partial(crowd, each=25, flippers=0.2, contrary=0.1)
    ),
    "50 votes a judge, all alike": Design(None, own=partial(crowd, each=50)),
    "50 votes a judge, 20 % coin-flippers, 10 % contrary": Design(
        None, own=partial(crowd, each=50, flippers=0.2, contrary=0.1)
    ),
}
FOLLOWED = [name for name in DESIGNS if name.endswith(("better items left", "covariate of strength"))]
FLIPPED = [name for name in DESIGNS if name.startswith("flips")]
CROWDS = [name for name in DESIGNS if name.startswith(("crowd", "25 votes", "50 votes"))]
RANKED = [name for name in DESIGNS if DESIGNS[name].own is None]


@dataclass(frozen=True)
class Part:
    """Cells of the grid with as many sets each."""

    designs: list[str]
    items: tuple[int, ...]
    votes: tuple[int, ...]
    sets: int


PAGE = (  # the tables of docs/intervals.md
    Part(RANKED[:5], (8, 30), (3, 6, 10, 30), 500),
    Part(RANKED[5:], (8, 30), (3, 6, 10, 30), 200),
    Part(RANKED, (8, 30), (5, 60), 200),
    Part(RANKED, (100,), (3, 6, 10, 30), 60),
    Part(RANKED, (200,), (3, 6, 10, 30), 20),
    Part(["features"], (8, 30), (5, 10, 20), 200),
    Part([name for name in CROWDS if name.startswith("crowd")], (30,), (30, 60), 200),
    Part([name for name in CROWDS if not name.startswith("crowd")], (30,), (60,), 200),
    Part(FOLLOWED, (8, 30), (5, 10, 20), 100),
    Part(FLIPPED, (30,), (10, 40, 200), 80),
)

# What is printed, and the band in which it keeps its word: mean over sets of a value in every set.
PROMISES: dict[str, tuple[float, float]] = {
    "score": (0.93, 1.0),
    "rank": (0.93, 1.0),
    "rank of the best": (0.93, 1.0),
    "rank of the last": (0.93, 1.0),
    "all ranks": (0.93, 1.0),
    "tier wrong": (0.0, 0.05),
    "P(best) less truth": (-0.05, 0.05),
    "effect": (0.93, 0.97),
    "effect too large by": (-0.1, 0.1),
    "unseen": (0.92, 1.0),
    "coefficient": (0.92, 1.0),
    "RMSE beyond plain": (-1.0, 0.02),
    "Kendall beyond plain": (-0.02, 1.0),
    "honest judge flagged": (0.0, 0.05),
}
SHOWN = list(PROMISES)[:7]  # those that every ranking of Bradley-Terry makes


def measure(ranking: Ranking, truth: Truth) -> dict[str, float]:
    """What of one set was so: shares of items, or 0 and 1."""
    lower, upper = ranking.intervals(LEVEL)
    errors = ranking.std_errors
    assert errors is not None
    bounded = np.isfinite(errors) if np.isfinite(errors).any() else np.ones(len(truth), dtype=bool)
    placed = truth - truth[bounded].mean() + ranking.scores[bounded].mean()
    claimed = ranking.probability_best()
    leader = int(np.argmax(claimed))
    finite = np.isfinite(upper - lower)
    is_best = float(leader == np.argmax(truth))
    within = _claim_range(float(claimed[leader]))
    return {
        "score": float(((lower <= placed) & (placed <= upper)).mean()),
        **ranks_held(ranking, truth),
        "P(best) less truth": float(claimed[leader] - is_best),
        f"claimed, {within}": float(claimed[leader]),
        f"best, {within}": is_best,
        "score width": float((upper - lower)[finite].mean()) if finite.any() else math.nan,
    }


def ranks_held(ranking: Ranking, truth: Truth) -> dict[str, float]:
    """Which ranks and tiers are so, and how wide rank intervals are."""
    best, worst = ranking.rank_intervals(LEVEL)
    first, last = ranking.rank_intervals(LEVEL, simultaneous=True)
    above, below = (truth[:, None] < truth).sum(axis=1), (truth[:, None] > truth).sum(axis=1)
    high, low = 1 + above, len(truth) - below
    held = (best <= high) & (low <= worst)
    return {
        "rank": float(held.mean()),
        "rank of the best": float(held[np.argmax(truth)]),
        "rank of the last": float(held[np.argmin(truth)]),
        "all ranks": float(((first <= high) & (low <= last)).all()),
        "tier wrong": float(_tier_wrong(ranking, truth)),
        "rank width": float((worst - best + 1).mean() / len(truth)),
    }


def _claim_range(claim: float) -> str:
    if math.isnan(claim):
        return "none"
    k = min(max(int(np.searchsorted(CLAIMS, claim, side="right")) - 1, 0), len(CLAIMS) - 2)
    return f"{CLAIMS[k]:.1f}–{CLAIMS[k + 1]:.1f}"


def _tier_wrong(ranking: Ranking, truth: Truth) -> bool:
    place = {item: k for k, item in enumerate(ranking.items)}
    tiers = [[place[item] for item in tier] for tier in ranking.tiers(LEVEL)]
    below = [k for tier in tiers for k in tier]
    for tier in tiers[:-1]:
        below = below[len(tier) :]
        if truth[tier[0]] <= truth[below].max():
            return True
    return False


def sums(found: Iterable[dict[str, float]]) -> dict[str, list[float]]:
    """Count, sum and sum of squares of every measure; sets without it (nan) are left out."""
    total: dict[str, list[float]] = {}
    for each in found:
        for name, value in each.items():
            if value == value:
                known = total.setdefault(name, [0, 0.0, 0.0])
                known[0], known[1], known[2] = known[0] + 1, known[1] + value, known[2] + value * value
    return total


def block(task: tuple[str, int, int, int, int]) -> dict[str, Any]:
    """Draw and measure the sets of one block of a cell."""
    name, n, per_item, number, seed = task
    design = DESIGNS[name]
    rng = np.random.default_rng([seed, list(DESIGNS).index(name), n, per_item, number])
    found, refused = [], 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PodiumWarning)
        for _ in range(BLOCK):
            try:
                if design.own is not None:
                    found.append(design.own(rng, n, per_item))
                    continue
                assert design.draw is not None, "a design draws votes or measures a model of its own"
                made, truth = design.draw(rng, n, per_item)
                model = BradleyTerry(**design.options).fit(made)
                ranking = model.ranking_
                if design.cluster:
                    ranking = ranking.with_uncertainty("cluster", cluster=design.cluster)
                here = measure(ranking, truth)
                if design.effect is not None:
                    effect, error = design.effect(model)
                    here["effect"] = float(abs(effect - EFFECT) <= DEVIATIONS * error)
                    here["effect too large by"] = effect / EFFECT - 1
                found.append(here)
            except PodiumError:  # a model that refuses such votes makes no promise
                refused += 1
    return {"design": name, "items": n, "votes": per_item, "block": number, "refused": refused, "sums": sums(found)}


@dataclass(frozen=True)
class Cell:
    """What the sets of one cell came to."""

    design: str
    items: int
    votes: int
    sums: dict[str, list[float]]

    def mean(self, name: str) -> float:
        """Mean over sets."""
        count, total, _ = self.sums[name]
        return total / count

    def error(self, name: str) -> float:
        """Standard error of the mean over sets."""
        count, total, squares = self.sums[name]
        return math.sqrt(max(squares / count - (total / count) ** 2, 0.0) / max(count - 1, 1))

    def p_value(self, name: str) -> float:
        """How surprising the sets would be if the promise were just kept; 1 inside the band."""
        low, high = PROMISES[name]
        mean = self.mean(name)
        bound = min(max(mean, low), high)
        if mean == bound:
            return 1.0
        # A few sets may all come out alike, which is no proof: chance alone gives at least this much.
        count, chance_alone = self.sums[name][0], 0.16 if name.startswith("P(best)") else 0.05 * 0.95
        within = self.items if name in ("score", "rank") else 1
        error = max(self.error(name), math.sqrt(chance_alone / count / within))
        return 2.0 * NormalDist().cdf(-abs(mean - bound) / error)


def cells(lines: Iterable[str]) -> list[Cell]:
    """The cells of a file of blocks."""
    groups: dict[tuple[str, int, int], list[dict[str, list[float]]]] = {}
    for row in map(json.loads, lines):
        groups.setdefault((row["design"], row["items"], row["votes"]), []).append(row["sums"])
    return [Cell(*key, _added(found)) for key, found in sorted(groups.items())]


def blocks_of(row: dict[str, Any]) -> range:
    """The blocks of a line: one, or all up to the one named where they were put together."""
    return range(row["blocks"]) if "blocks" in row else range(row["block"], row["block"] + 1)


def compact(lines: list[str]) -> list[str]:
    """One line a cell where its blocks are all there from the first on; other lines as they are."""
    groups: dict[tuple[str, int, int], list[dict[str, Any]]] = {}
    for row in map(json.loads, lines):
        groups.setdefault((row["design"], row["items"], row["votes"]), []).append(row)
    kept = []
    for rows in groups.values():
        blocks = sorted(k for row in rows for k in blocks_of(row))
        if blocks != list(range(len(blocks))):
            kept += rows
            continue
        total = {
            name: [int(values[0]), *(float(f"{v:.10g}") for v in values[1:])]
            for name, values in _added(row["sums"] for row in rows).items()
        }
        same = {name: rows[0][name] for name in ("design", "items", "votes")}
        kept.append(same | {"blocks": len(blocks), "refused": sum(row["refused"] for row in rows), "sums": total})
    return [json.dumps(row) for row in kept]


def pooled(found: list[Cell]) -> list[Cell]:
    """Cells of one design and number of items taken together, over all votes an item (shown as 0)."""
    groups: dict[tuple[str, int], list[dict[str, list[float]]]] = {}
    for cell in found:
        groups.setdefault((cell.design, cell.items), []).append(cell.sums)
    return [Cell(design, n, 0, _added(known)) for (design, n), known in groups.items()]


def _added(sums_of: Iterable[dict[str, list[float]]]) -> dict[str, list[float]]:
    total: dict[str, list[float]] = {}
    for each in sums_of:
        for name, values in each.items():
            total[name] = [a + b for a, b in zip(total.get(name, [0, 0.0, 0.0]), values, strict=True)]
    return total


def broken(found: list[Cell], level: float = 0.05) -> list[tuple[Cell, str]]:
    """Promises that are not kept beyond chance, by Holm over all cells and promises."""
    tried = [(cell, name) for cell in found for name in PROMISES if name in cell.sums]
    if not tried:
        return []
    adjusted = holm(np.array([cell.p_value(name) for cell, name in tried]))
    return [each for each, p in zip(tried, adjusted.tolist(), strict=True) if p < level]


def table(found: list[Cell]) -> str:
    """One line a cell: mean of each promise in %, with ! where it is broken."""
    wrong = {(id(cell), name) for cell, name in broken(found)}
    names = list(PROMISES)
    heads = ["design", "items", "votes", "sets", *names]
    rows = []
    for cell in found:
        cells_of = [cell.design, str(cell.items), str(cell.votes), str(int(max(v[0] for v in cell.sums.values())))]
        for name in names:
            if name not in cell.sums:
                cells_of.append("")
                continue
            mark = "!" if (id(cell), name) in wrong else ""
            cells_of.append(f"{100 * cell.mean(name):.0f} ± {196 * cell.error(name):.0f}{mark}")
        rows.append(cells_of)
    widths = [max(len(row[k]) for row in [heads, *rows]) for k in range(len(heads))]
    return "\n".join("  ".join(text.ljust(w) for text, w in zip(row, widths, strict=True)) for row in [heads, *rows])


def reliability(found: list[Cell]) -> str:
    """Claims of the leader against how often it was the best, by design and by range of the claim."""
    names = [f"{low:.1f}–{high:.1f}" for low, high in itertools.pairwise(CLAIMS)]
    groups: dict[str, list[Cell]] = {}
    for cell in found:
        groups.setdefault(cell.design, []).append(cell)
    if {"plain", "close scores"} <= set(groups):
        groups["plain and close"] = groups["plain"] + groups["close scores"]
    rows = ["design                claimed    sets   mean claim  was best"]
    for design, own in groups.items():
        together = Cell(design, 0, 0, _added(cell.sums for cell in own))
        for name in names:
            if f"best, {name}" in together.sums:
                claim, best = together.mean(f"claimed, {name}"), together.mean(f"best, {name}")
                error = 1.96 * together.error(f"best, {name}")
                count = int(together.sums[f"best, {name}"][0])
                rows.append(
                    f"{design:20}  {name}  {count:6}   {100 * claim:8.1f}  {100 * best:8.1f} ± {100 * error:.1f}"
                )
    return "\n".join(rows)


def page(found: list[Cell]) -> str:
    """The tables of the page on intervals: promises, all votes an item together; claims against truth; other models."""
    shown = ("score", "score width", "rank of the best", "rank of the last", "rank width", *SHOWN[4:])
    heads = (
        "Scores held | Mean width | Rank of the best held | of the last | Ranks, of all | All ranks at once"
        " | Tier wrong | P(best) claimed less true"
    )
    lines = [f"| Design | Items | Sets a cell | {heads} |", "|---" * (3 + len(shown)) + "|"]
    plain_ones = [cell for cell in found if DESIGNS[cell.design].own is None]
    for cell in sorted(pooled(plain_ones), key=lambda each: (list(DESIGNS).index(each.design), each.items)):
        values = [_text(cell, name) for name in shown]
        lines.append(" | ".join([f"| {cell.design}", str(cell.items), _sets(plain_ones, cell), *values]) + " |")
    lines += ["", "| Claimed | Sets, spread | Was best | Sets, close | Was best | Both | Was best |", "|---" * 7 + "|"]
    groups = [("plain",), ("close scores",), ("plain", "close scores")]
    added = [Cell("", 0, 0, _added(cell.sums for cell in found if cell.design in group)) for group in groups]
    for low, high in itertools.pairwise(CLAIMS):
        name = f"best, {low:.1f}–{high:.1f}"
        texts = []
        for cell in added:
            known = name in cell.sums
            texts.append(str(int(cell.sums[name][0])) if known else "0")
            texts.append(f"{100 * cell.mean(name):.0f} ± {196 * cell.error(name):.0f} %" if known else "")
        claim = name.replace("best", "claimed")
        mean = f", mean {100 * added[-1].mean(claim):.0f} %" if claim in added[-1].sums else ""
        lines.append(" | ".join([f"| {100 * low:.0f}–{100 * high:.0f} %{mean}", *texts]) + " |")
    return "\n".join([*lines, "", *_other_models(found)])


def _other_models(found: list[Cell]) -> list[str]:
    """Items with features, and crowds of judges, cell by cell."""
    lines = []
    for wanted, names, heads in (
        (["features"],
         ("score", "score width", "unseen", "unseen width", "coefficient", "rank of the best", "rank of the last",
          "rank width", "tier wrong"),
         "Scores held | Mean width | Of items nobody voted on | Mean width | Coefficients | Rank of the best held"
         " | of the last | Ranks, of all | Tier wrong"),
        (CROWDS,
         ("score", "score width", "RMSE beyond plain", "Kendall beyond plain", "judges differ",
          "honest judge flagged", "coin-flippers flagged", "contrary judges named"),
         "Scores held | Mean width | Error beyond plain | Kendall beyond plain | Judges taken to differ"
         " | An honest judge flagged | Coin-flippers flagged | Contrary judges named"),
        (FOLLOWED, ("score", "score width", "unseen", "coefficient", "effect", "effect too large by"),
         "Scores held | Mean width | Of items nobody voted on | Coefficients | Effect | Effect too large by"),
        (FLIPPED, ("score", "score width", "unseen", "coefficient"),
         "Scores held | Mean width | Of items nobody voted on | Coefficients"),
    ):  # fmt: skip
        own = [cell for cell in found if cell.design in wanted]
        if not own:
            continue
        lines += ["", f"| Design | Items | Votes | Sets | {heads} |", "|---" * (4 + len(names)) + "|"]
        for cell in own:
            start = [f"| {cell.design}", str(cell.items), str(cell.votes), str(int(cell.sums["score"][0]))]
            lines.append(" | ".join([*start, *(_text(cell, name) for name in names)]) + " |")
    return lines[1:]


def _text(cell: Cell, name: str) -> str:
    """A mean with its error: widths of scores in log-odds, all else in %."""
    if name not in cell.sums:
        return ""
    if name in ("score width", "unseen width"):
        return f"{cell.mean(name):.2f}" if cell.design in FLIPPED else f"{cell.mean(name):.1f}"
    if name == "rank width":
        return f"{100 * cell.mean(name):.0f} %"
    return f"{100 * cell.mean(name):.0f} ± {196 * cell.error(name):.0f} %"


def _sets(found: list[Cell], whole: Cell) -> str:
    """How many sets its cells have, as "1000" or "200–1000"."""
    counts = [int(c.sums["score"][0]) for c in found if (c.design, c.items) == (whole.design, whole.items)]
    return str(counts[0]) if min(counts) == max(counts) else f"{min(counts)}–{max(counts)}"


def figure(found: list[Cell], path: Path) -> None:
    """One panel a promise: designs and items down, votes an item across; broken cells are marked."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    shown = SHOWN
    wrong = {(cell.design, cell.items, cell.votes, name) for cell, name in broken(found)}
    found = [cell for cell in found if DESIGNS[cell.design].own is None]
    rows = [(design, n) for design in DESIGNS for n in sorted({c.items for c in found if c.design == design})]
    columns = sorted({cell.votes for cell in found})
    known = {(cell.design, cell.items, cell.votes): cell for cell in found}
    fig, axes = plt.subplots(
        1, len(shown), figsize=(2.0 * len(shown) + 2, 0.19 * len(rows) + 1.2), layout="constrained"
    )
    for axis, name in zip(axes, shown, strict=True):
        for y, (design, n) in enumerate(rows):
            for x, per_item in enumerate(columns):
                cell = known.get((design, n, per_item))
                if cell is None or name not in cell.sums:
                    continue
                bad = (design, n, per_item, name) in wrong
                axis.text(
                    x, y, f"{100 * cell.mean(name):.0f}", ha="center", va="center", fontsize=6,
                    color="white" if bad else "#1a1a1a",
                    bbox={"facecolor": "#cc6677" if bad else "#dce9f5", "edgecolor": "none", "pad": 1.2},
                )  # fmt: skip
        axis.set(xlim=(-0.6, len(columns) - 0.4), ylim=(len(rows) - 0.5, -0.7), title=name)
        axis.title.set_fontsize(8)
        axis.set_xticks(range(len(columns)), [str(v) for v in columns], fontsize=6)
        labels = [f"{design}, {n}" for design, n in rows] if axis is axes[0] else [""] * len(rows)
        axis.set_yticks(range(len(rows)), labels, fontsize=6)
        axis.tick_params(length=0)
        axis.spines[:].set_visible(False)
    fig.supxlabel("votes an item; rows: design, items; % of sets or of items; red: outside its promise", fontsize=8)
    fig.savefig(path, dpi=110)
    plt.close(fig)


def numbers(text: str) -> tuple[int, ...]:
    """Numbers between commas."""
    return tuple(int(part) for part in text.split(","))


def _tasks(parts: Iterable[Part], seed: int, done: set[tuple[str, int, int, int]]) -> list[Any]:
    """Blocks still to be drawn, the first block of every cell first."""
    blocks = [
        (number, name, n, per_item)
        for part in parts
        for number in range(-(-part.sets // BLOCK))
        for n in part.items
        for per_item in part.votes
        for name in part.designs
    ]
    blocks.sort(key=lambda each: each[0])
    return [(*key, number, seed) for number, *key in blocks if (*key, number) not in done]


def main() -> None:
    """Run what is missing, then print the table and draw the picture of all that is there."""
    parser = argparse.ArgumentParser(description="Which printed number keeps its word, and where.")
    parser.add_argument(
        "--sets", type=int, help="sets per cell, in blocks of 10, instead of the page's; 0 only shows what is there"
    )
    parser.add_argument("--items", type=numbers, default=ITEMS, help="with --sets")
    parser.add_argument("--votes", type=numbers, default=PER_ITEM, help="votes an item, with --sets")
    parser.add_argument("--designs", nargs="*", choices=list(DESIGNS), default=list(DESIGNS), help="with --sets")
    parser.add_argument("--again", action="store_true", help="draw all anew; what is there is kept until that is done")
    parser.add_argument("--markdown", action="store_true", help="print the tables of docs/intervals.md instead")
    parser.add_argument("--seed", type=int, default=101)
    parser.add_argument("--jobs", type=int, default=1, help="processes that share the blocks")
    parser.add_argument("-o", "--output", type=Path, default=HERE, help="folder for blocks and picture")
    given = parser.parse_args()
    given.output.mkdir(parents=True, exist_ok=True)
    place = given.output / "grid.jsonl"
    path = place.with_name("grid-again.jsonl") if given.again else place
    lines = path.read_text().splitlines() if path.exists() else []
    done = {(r["design"], r["items"], r["votes"], block) for r in map(json.loads, lines) for block in blocks_of(r)}
    parts = PAGE if given.sets is None else [Part(given.designs, given.items, given.votes, given.sets)]
    tasks = _tasks(parts, given.seed, done)
    if tasks:
        engine = engine_for(given.jobs, len(tasks))
        with path.open("a") as file:
            for row in engine.map(block, tasks):
                file.write(json.dumps(row) + "\n")
                file.flush()
        engine.close()
        path.write_text("".join(f"{line}\n" for line in compact(path.read_text().splitlines())))
    if given.again:
        path.replace(place)
    found = cells(place.read_text().splitlines() if place.exists() else [])
    figure(found, given.output / "grid.png")
    if given.markdown:
        print(page(found))
        return
    print(table(found))
    print("\nover all votes an item\n" + table(pooled(found)))
    print("\nclaimed chances of the leader, in %, against how often it was the best\n" + reliability(found))


if __name__ == "__main__":
    main()
