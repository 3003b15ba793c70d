"""From scores and their covariance to ranks: rank intervals, tiers, top sets.

Item j is *called above* i when u_j − u_i is more than so many standard errors. Then

    rank_lower(i) = 1 + #{j called above i},   rank_upper(i) = n − #{j called below i}.

How many standard errors depends on what is promised (`critical`). Without covariances (more than 5,000 items), and
wherever an open-ended score is involved, the two score intervals must not overlap instead, which is stricter.
"""

from __future__ import annotations

from numbers import Integral

import numpy as np

from podium.errors import InputError, InPython
from podium.ranking.uncertainty.critical import (
    joint_value,
    own_pairs_values,
    row_blocks,
    stepped_value,
)
from podium.ranking.uncertainty.score_covariance import ScoreCovariance, quantile

__all__ = ["RANK_METHODS", "rank_intervals", "tiers", "top_set"]

# "pairwise" is about a posterior: scores under a prior from the votes. "guaranteed" holds for any scores with normal
# errors.
RANK_METHODS = ("pairwise", "guaranteed")


def rank_intervals(
    scores: np.ndarray,
    covariance: ScoreCovariance,
    level: float = 0.95,
    simultaneous: bool = False,
    method: str = "guaranteed",
) -> tuple[np.ndarray, np.ndarray]:
    """Return the best and the worst rank, counted from 1, that each item may have.

    With `simultaneous` all of them hold at once with probability `level`, otherwise each on its own.

    `method="guaranteed"` holds each rank whatever the true scores, as far as errors are normal: every difference of an
    item to the others is bounded at once. `method="pairwise"` bounds each difference on its own, and needs scores and
    covariance of a posterior, which draws the winners by luck back: without a prior the truly best item among many
    near ones would often be called worse than some of them.
    """
    n, z = len(scores), quantile(level)
    if method not in RANK_METHODS:
        ways = " or ".join(map(repr, RANK_METHODS))
        raise InputError(InPython(f"method={method!r}"), f" is not known; use {ways}")
    if simultaneous:
        choose = joint_value if method == "pairwise" else stepped_value
        critical = np.full(n, choose(scores, covariance, level))
    else:
        critical = np.full(n, z) if method == "pairwise" else own_pairs_values(scores, covariance, level)
    widest = float(critical.max(initial=z))
    lower, upper = covariance.bounds(scores, widest)
    if covariance.matrix is None:
        best = 1 + n - np.searchsorted(np.sort(lower), upper, side="right")
        worst = n - np.searchsorted(np.sort(upper), lower, side="left")
        return best, worst
    best, worst = np.ones(n, dtype=np.intp), np.full(n, n, dtype=np.intp)
    for rows in row_blocks(n):
        gap = scores[rows, None] - scores
        reach = critical[rows, None] * np.sqrt(covariance.differences(rows))
        above, below = gap > reach, -gap > reach
        if covariance.open_ended is not None:
            ends = covariance.open_ended[rows, None] | covariance.open_ended
            above = np.where(ends, lower[rows, None] > upper, above)
            below = np.where(ends, upper[rows, None] < lower, below)
        best[rows] += below.sum(axis=1)
        worst[rows] -= above.sum(axis=1)
    return best, worst


def tiers(
    scores: np.ndarray, covariance: ScoreCovariance, level: float = 0.95, method: str = "guaranteed"
) -> np.ndarray:
    """Return each item's tier, from 1: greedily from the top, all items not called below the tier's leader.

    So the leader of a tier is better than every item of the tiers below; all these statements are true together with
    probability `level`. The leader is the best item left whose score is bounded, or the open-ended item with the
    highest lower bound where that one is called above. An item with few votes may share a tier with one far above it.
    """
    n = len(scores)
    quantile(level)  # refuses what is no level
    value = joint_value(scores, covariance, level) if method == "pairwise" else stepped_value(scores, covariance, level)
    lower, upper = covariance.bounds(scores, value)
    tier = np.zeros(n, dtype=np.intp)
    left = np.argsort(-scores, kind="stable")
    while len(left):
        first = _leader(left, covariance, lower, upper)
        below = upper[left] < lower[first]
        if covariance.matrix is not None:
            gap = scores[first] - scores[left]
            apart = gap > value * np.sqrt(covariance.differences(first)[left])
            ends = covariance.open_ended
            below = apart if ends is None else np.where(ends[first] | ends[left], below, apart)
        tier[left[~below]] = tier.max() + 1
        left = left[below]
    return tier


def _leader(left: np.ndarray, covariance: ScoreCovariance, lower: np.ndarray, upper: np.ndarray) -> int:
    """The item that the next tier is about, of those left, best first."""
    if covariance.open_ended is None:
        return int(left[0])
    bounded = left[~covariance.open_ended[left]]
    highest = left[lower[left].argmax()]
    if len(bounded) and not (covariance.open_ended[highest] and lower[highest] > upper[bounded[0]]):
        return int(bounded[0])
    return int(highest)


def top_set(
    scores: np.ndarray, covariance: ScoreCovariance, k: int, level: float = 0.95, method: str = "guaranteed"
) -> np.ndarray:
    """Return a mask of items that holds all of the true top k with probability at least `level`."""
    if not isinstance(k, Integral) or isinstance(k, bool) or not 1 <= k <= len(scores):
        raise InputError(f"k must lie between 1 and the number of items, {len(scores)}; got {k!r}")
    best, _ = rank_intervals(scores, covariance, level, True, method)
    inside: np.ndarray = best <= k
    return inside
