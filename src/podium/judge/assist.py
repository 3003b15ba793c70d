"""A few votes of people and many of a model: prediction-powered Bradley-Terry scores with valid intervals.

The model's votes alone would rank as the model sees it. People's votes on a random part of the same pairs say how the
model errs, and that correction goes into the scores and their errors: Angelopoulos, Duchi and Zrnic, "PPI++: Efficient
Prediction-Powered Inference" (2023), here for Bradley-Terry scores. A pair is one observation, whoever voted on it how
often.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from podium.data.comparisons import Comparisons
from podium.errors import InputError
from podium.ranking.ranking import Ranking
from podium.ranking.uncertainty import Information, ScoreCovariance
from podium.text import counted, some

__all__ = ["Assisted", "assisted"]

MAX_STEPS = 200
TOLERANCE = 1e-9
MIN_WEIGHT = 0.01  # of the model, below which people stand alone
MAX_LEVERAGE, MAX_WEIGHT = 0.9, 0.98
PULL = 1.0  # ties with an average item
MAX_SCORE = 8.0  # log-odds: beyond, the votes do not bound the scores

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Assisted:
    """People's scores, with a model's help.

    Attributes
    ----------
    ranking : Ranking
        Scores by the people's standard, with intervals.
    weight : float
        How much the model is trusted, from 0 (people alone) to 1; chosen so that the errors are smallest.
    both, alone : int
        Pairs that both have judged, and pairs of the model alone.
    unmatched : int
        Pairs of people that the model has not judged: they are left out.
    gain : float
        The mean variance of people alone over that with the model's help: how many times as many pairs of people the
        help is worth.
    """

    ranking: Ranking
    weight: float
    both: int
    alone: int
    unmatched: int
    gain: float


@dataclass(frozen=True, slots=True)
class _Pairs:
    """Pairs of items by number, the share of points of the first by people (nan: none) and by the model."""

    first: NDArray[np.int64]
    second: NDArray[np.int64]
    people: Floats
    model: Floats

    def part(self, kept: NDArray[np.bool_]) -> _Pairs:
        return _Pairs(self.first[kept], self.second[kept], self.people[kept], self.model[kept])

    def __len__(self) -> int:
        return len(self.first)


def assisted(people: Comparisons, model: Comparisons, *, pull: float = PULL) -> Assisted:
    """Bradley-Terry scores of people's votes, helped by a model's votes on those pairs and on others.

    The pairs of people should be a random part of the model's: then intervals hold whatever the model's errors are.
    `pull` is worth so many ties of each item with an average one: it keeps scores finite where few votes are one-sided.
    """
    items = list(dict.fromkeys([*people.items, *model.items]))
    place = {label: k for k, label in enumerate(items)}
    theirs, machine = _shares(people, place), _shares(model, place)
    keys = sorted(set(machine))
    pairs = _Pairs(
        np.array([a for a, _ in keys], dtype=np.int64),
        np.array([b for _, b in keys], dtype=np.int64),
        np.array([theirs.get(key, np.nan) for key in keys]),
        np.array([machine[key] for key in keys]),
    )
    judged = ~np.isnan(pairs.people)
    both, alone = pairs.part(judged), pairs.part(~judged)
    unmatched = len(set(theirs) - set(machine))
    _check(both, items)
    scores, weight, covariance, gain = _estimate(both, alone, len(items), pull)
    return Assisted(_ranking(people, items, scores, covariance, pairs), weight, len(both), len(alone), unmatched, gain)


def _shares(votes: Comparisons, place: dict[Hashable, int]) -> dict[tuple[int, int], float]:
    """The share of points of the item with the lower number, for each pair; a tie is half a point."""
    if votes.margin is not None:
        raise InputError("margins have no share of points; give votes with a winner, or ties")
    counts = votes.pairs
    found = {}
    for a, b, won, lost, tied in zip(
        counts.left.tolist(), counts.right.tolist(), counts.left_wins.tolist(), counts.right_wins.tolist(),
        counts.ties.tolist(), strict=True,
    ):  # fmt: skip
        whole = won + lost + tied
        one, other = place[votes.items[a]], place[votes.items[b]]
        if whole > 0:
            share = (won + tied / 2) / whole
            found[min(one, other), max(one, other)] = share if one < other else 1 - share
    return found


def _check(both: _Pairs, items: list[Hashable]) -> None:
    """People must have said enough of every item for a correction to exist."""
    n = len(items)
    if not len(both):
        raise InputError("people and the model have no pair in common; have people judge some of the model's pairs")
    if len(both) <= n:
        raise InputError(
            f"people judged {counted(len(both), 'pair')} of the model's, for {counted(n, 'item')}; "
            f"a correction needs more pairs than items"
        )
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    graph = coo_array((np.ones(len(both)), (both.first, both.second)), shape=(n, n))
    groups, group = connected_components(graph, directed=False)
    if groups > 1:
        lost = [items[k] for k in np.flatnonzero(group != np.bincount(group).argmax())]
        raise InputError(f"people's pairs do not connect {some(lost)} with the rest; have people judge pairs with them")


def _estimate(both: _Pairs, alone: _Pairs, n: int, pull: float) -> tuple[Floats, float, Floats, float]:
    """Scores, how much the model is trusted, the covariance of the scores, and what the help is worth."""
    plain = _fitted(both, alone, 0.0, n, pull)
    if plain is None:
        raise InputError("people's votes do not bound every score; have people judge more pairs")
    weight = _weight(both, alone, plain, n, pull) if len(alone) >= n else 0.0  # too few pairs to vary
    while (scores := _fitted(both, alone, weight, n, pull)) is None:
        weight = weight / 2 if weight > MIN_WEIGHT else 0.0  # a correction too large for the model's own votes
    covariance, classic = (_covariance(both, alone, each, scores, n, pull) for each in (weight, 0.0))
    return scores, weight, covariance, float(np.trace(classic) / np.trace(covariance))


def _chance(pairs: _Pairs, scores: Floats) -> Floats:
    chance: Floats = 1.0 / (1.0 + np.exp(-(scores[pairs.first] - scores[pairs.second])))
    return chance


def _spread(pairs: _Pairs, along: Floats, n: int) -> Floats:
    """Rows of gradients: each along its pair."""
    rows = np.zeros((len(pairs), n))
    here = np.arange(len(pairs))
    rows[here, pairs.first], rows[here, pairs.second] = along, -along
    return rows


def _laplacian(pairs: _Pairs, curvature: Floats, n: int) -> Floats:
    matrix = np.zeros((n, n))
    for i, j, value in (
        (pairs.first, pairs.first, curvature), (pairs.second, pairs.second, curvature),
        (pairs.first, pairs.second, -curvature), (pairs.second, pairs.first, -curvature),
    ):  # fmt: skip
        np.add.at(matrix, (i, j), value)
    return matrix


def _fitted(both: _Pairs, alone: _Pairs, weight: float, n: int, pull: float) -> Floats | None:
    """The root of the corrected gradient, by Newton's method; None where there is none.

    For weights up to 1 the loss is convex, but a large correction may leave it without a least value.
    """
    scores = np.zeros(n)
    for _ in range(MAX_STEPS):
        gradient, hessian = _slopes(both, alone, weight, scores, n, pull)
        step = np.linalg.lstsq(hessian, -gradient, rcond=1e-12)[0]
        step *= min(1.0, 1.0 / max(np.abs(step).max(), 1e-300))  # one log-odds at a time
        scores = scores + step
        if np.abs(scores - scores.mean()).max() > MAX_SCORE:
            return None
        if np.abs(step).max() < TOLERANCE:
            return scores - (0.0 if pull else scores.mean())
    return None


def _slopes(both: _Pairs, alone: _Pairs, weight: float, scores: Floats, n: int, pull: float) -> tuple[Floats, Floats]:
    """Gradient and Hessian of people's loss, plus the model's where it is alone, less the model's where both are."""
    chance = _chance(both, scores)
    gradient = _spread(both, (chance - both.people) - weight * (chance - both.model), n).mean(axis=0)
    hessian = (1 - weight) * _laplacian(both, chance * (1 - chance), n) / len(both)
    if len(alone) and weight:
        chance = _chance(alone, scores)
        gradient = gradient + weight * _spread(alone, chance - alone.model, n).mean(axis=0)
        hessian += weight * _laplacian(alone, chance * (1 - chance), n) / len(alone)
    towards, curvature = _pulled(scores, pull, len(both))
    return gradient + towards, hessian + np.diag(curvature)


def _pulled(scores: Floats, pull: float, pairs: int) -> tuple[Floats, Floats]:
    """Gradient and curvature of `pull` ties of each item with an average one."""
    chance = 1.0 / (1.0 + np.exp(-scores))
    return pull * (chance - 0.5) / pairs, pull * chance * (1 - chance) / pairs


def _inverse(both: _Pairs, alone: _Pairs, scores: Floats, n: int, pull: float) -> Floats:
    """Inverse Hessian of all pairs' loss, the mean of the scores held fixed."""
    total = np.zeros((n, n))
    for part in (both, alone):
        chance = _chance(part, scores)
        total += _laplacian(part, chance * (1 - chance), n)
    average = total / (len(both) + len(alone)) + np.diag(_pulled(scores, pull, len(both))[1])
    inverse = np.linalg.pinv(average, rcond=1e-12, hermitian=True)
    centring = np.eye(n) - 1.0 / n
    return np.asarray(centring @ inverse @ centring if pull else inverse, dtype=np.float64)


def _left_out(both: _Pairs, weight: float, scores: Floats, inverse: Floats) -> Floats:
    """The chance of each pair by a fit without it, to first order: with few votes an item, fits follow their votes."""
    chance = _chance(both, scores)
    i, j = both.first, both.second
    reach = inverse[i, i] + inverse[j, j] - 2 * inverse[i, j]
    leverage = np.minimum((1 - weight) * chance * (1 - chance) * reach / len(both), MAX_LEVERAGE)
    residual = (chance - both.people) - weight * (chance - both.model)
    slope = residual * leverage / (1 - leverage) / max(1 - weight, 1e-9)
    return np.asarray(chance + slope, dtype=np.float64)


def _weight(both: _Pairs, alone: _Pairs, scores: Floats, n: int, pull: float) -> float:
    """The weight of the model that makes the sum of the variances smallest (PPI++, section 6)."""
    inverse = _inverse(both, alone, scores, n, pull)
    chance = _left_out(both, 0.0, scores, inverse) if pull else _chance(both, scores)
    people, model = (_spread(both, chance - said, n) for said in (both.people, both.model))
    rest = _spread(alone, _chance(alone, scores) - alone.model, n)
    shared = (people - people.mean(0)).T @ (model - model.mean(0)) / len(both)
    spread = np.cov(np.concatenate([model, rest]).T)
    above = float(np.trace(inverse @ (shared + shared.T) @ inverse))
    below = 2 * (1 + len(both) / len(alone)) * float(np.trace(inverse @ spread @ inverse))
    return float(np.clip(above / below, 0.0, MAX_WEIGHT)) if below > 0 else 0.0


def _covariance(both: _Pairs, alone: _Pairs, weight: float, scores: Floats, n: int, pull: float) -> Floats:
    """Of the scores: what varies in people's correction, and in the model's pairs."""
    inverse = _inverse(both, alone, scores, n, pull)
    chance = _left_out(both, weight, scores, inverse) if pull else _chance(both, scores)
    meat = np.cov(_spread(both, (chance - both.people) - weight * (chance - both.model), n).T) / len(both)
    if len(alone) and weight:
        rest = _spread(alone, _chance(alone, scores) - alone.model, n)
        meat = meat + weight**2 * np.cov(rest.T) / len(alone)
    return np.asarray(inverse @ meat @ inverse, dtype=np.float64)


def _ranking(people: Comparisons, items: list[Hashable], scores: Floats, covariance: Floats, pairs: _Pairs) -> Ranking:
    chance = _chance(pairs, scores)
    left, right = pairs.first.astype(np.int32), pairs.second.astype(np.int32)
    information = Information(len(items), left, right, chance * (1 - chance), scores=scores)
    errors = ScoreCovariance(matrix=covariance)
    record = people.record()  # of the same items: people judged all of them
    return Ranking(items, scores, information=information, uncertainty="sandwich", record=record, covariance=errors)
