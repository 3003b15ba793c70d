"""From scores and their spread to what people ask: rank intervals, tiers, who is above whom, who is best.

Item j is *significantly above* i at a level when the interval of u_j − u_i lies above zero. Then

    rank_lower(i) = 1 + #{j significantly above i},   rank_upper(i) = n − #{j significantly below i}.

Without covariances (more than 5,000 items) the marginal intervals must not overlap instead, which is stricter.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from podium.errors import InputError
from podium.kernels.uncertainty import largest_gaps

__all__ = ["Spread", "probability_above", "probability_best", "quantile", "rank_intervals", "tiers", "top_set"]

BLOCK = 256  # rows of an n × n comparison held at once
DRAWS = 10_000  # simulated score vectors behind simultaneous intervals and P(best)
SEED = 20_170  # fixed, so that the same data always give the same intervals


@dataclass(frozen=True, eq=False, slots=True)
class Spread:
    """How the mean-centred scores vary, in log-odds: a covariance, or with many items the variances alone."""

    covariance: np.ndarray | None = None
    variances: np.ndarray | None = None
    open_above: np.ndarray | None = None
    open_below: np.ndarray | None = None

    @property
    def variance(self) -> np.ndarray:
        """Variance of each centred score."""
        found = self.variances if self.covariance is None else self.covariance.diagonal()
        assert found is not None, "a spread holds a covariance or variances"
        kept: np.ndarray = np.maximum(found, 0)
        return kept

    def differences(self, rows: np.ndarray | slice | int) -> np.ndarray:
        """Variance of u_i − u_j for i in `rows` and every j; without covariances as if the two were independent."""
        variance = self.variance
        total = variance[rows][..., None] + variance
        if self.covariance is not None:
            total = total - 2 * self.covariance[rows]
        kept: np.ndarray = np.maximum(total, 0)
        return kept

    def among(self, rows: np.ndarray) -> Spread:
        """The spread of some items only; open ends are left behind."""
        if self.covariance is None:
            return Spread(variances=self.variance[rows])
        return Spread(covariance=self.covariance[np.ix_(rows, rows)])

    def bounded(self, lower: np.ndarray, upper: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Open the bounds of items that only win or only lose."""
        if self.open_below is not None:
            lower = np.where(self.open_below, -np.inf, lower)
        if self.open_above is not None:
            upper = np.where(self.open_above, np.inf, upper)
        return lower, upper


def quantile(level: float) -> float:
    """Half-width, in standard errors, of a two-sided normal interval."""
    if not 0 < level < 1:
        raise InputError(f"level must lie between 0 and 1, as in 0.95; got {level!r}")
    return NormalDist().inv_cdf((1 + level) / 2)


def rank_intervals(
    scores: np.ndarray, spread: Spread, level: float = 0.95, simultaneous: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """Return the best and the worst rank, counted from 1, that each item may have.

    With `simultaneous` all of them hold at once with probability `level`, otherwise each on its own.
    """
    n = len(scores)
    width = _width(spread, level, simultaneous, n)
    if spread.covariance is None:
        lower, upper = _marginal(scores, spread, width)
        best = 1 + n - np.searchsorted(np.sort(lower), upper, side="right")
        worst = n - np.searchsorted(np.sort(upper), lower, side="left")
        return best, worst
    best, worst = np.ones(n, dtype=np.intp), np.full(n, n, dtype=np.intp)
    for rows in _blocks(n):
        above = _above(scores, spread, width, rows)
        worst[rows] -= above.sum(axis=1)
        best += above.sum(axis=0)
    return best, worst


def tiers(scores: np.ndarray, spread: Spread, level: float = 0.95) -> np.ndarray:
    """Return each item's tier, from 1: greedily from the top, all items not significantly below the tier's first.

    An item with few votes may share a tier with one far above it: the votes do not tell them apart.
    """
    n = len(scores)
    width = _width(spread, level, False, n)
    lower, upper = _marginal(scores, spread, width)
    tier = np.zeros(n, dtype=np.intp)
    left = np.argsort(-scores, kind="stable")
    while len(left):
        first = left[0]
        if spread.covariance is None:
            below = upper[left] < lower[first]
        else:
            below = _above(scores, spread, width, np.array([first]))[0, left]
        tier[left[~below]] = tier.max() + 1
        left = left[below]
    return tier


def probability_above(scores: np.ndarray, spread: Spread, one: int, other: int) -> float:
    """Return the confidence that item `one` is truly above item `other`: Φ of their difference in standard errors."""
    if one == other:
        return 0.5
    gap = float(scores[one] - scores[other])
    variance = float(spread.differences(one)[other])
    if variance == 0:
        return 0.5 if gap == 0 else float(gap > 0)
    return NormalDist().cdf(gap / math.sqrt(variance))


def probability_best(scores: np.ndarray, spread: Spread, draws: int = DRAWS) -> np.ndarray:
    """Return each item's share of firsts among `draws` score vectors drawn from N(scores, spread).

    Items six standard errors or more below the first are left out: their chance is under 1e-9.
    """
    first = int(scores.argmax())
    near = np.flatnonzero(scores[first] - scores <= 6 * np.sqrt(spread.differences(first)))
    best = np.zeros(len(near))
    for noise in _noise(spread.among(near), len(near), draws):
        best += np.bincount((scores[near] + noise).argmax(axis=1), minlength=len(near))
    share = np.zeros(len(scores))
    share[near] = best / draws
    return share


def top_set(scores: np.ndarray, spread: Spread, k: int, level: float = 0.95) -> np.ndarray:
    """Return a mask of items that holds all of the true top k with probability at least `level`."""
    if not 1 <= k <= len(scores):
        raise InputError(f"k must lie between 1 and the number of items, {len(scores)}; got {k!r}")
    best, _ = rank_intervals(scores, spread, level, simultaneous=True)
    inside: np.ndarray = best <= k
    return inside


def _marginal(scores: np.ndarray, spread: Spread, width: float) -> tuple[np.ndarray, np.ndarray]:
    half = width * np.sqrt(spread.variance)
    return spread.bounded(scores - half, scores + half)


def _above(scores: np.ndarray, spread: Spread, width: float, rows: np.ndarray) -> np.ndarray:
    """Mask (rows, n): is the row's item significantly above the column's?"""
    gap = scores[rows, None] - scores
    above: np.ndarray = gap > width * np.sqrt(spread.differences(rows))
    if spread.open_below is not None:
        above &= ~spread.open_below[rows, None]
    if spread.open_above is not None:
        above &= ~spread.open_above
    return above


def _width(spread: Spread, level: float, simultaneous: bool, n: int) -> float:
    """Critical value in standard errors: normal; or the level's quantile of the largest |t| over all pairs."""
    width = quantile(level)
    if not simultaneous or n < 2:
        return width
    if spread.covariance is None:
        return quantile(level ** (1 / n))  # Šidák over the marginal intervals
    pairs = n * (n - 1) / 2
    bound = quantile(1 - (1 - level) / pairs)
    if n * n * DRAWS > 2e9:
        return bound  # Bonferroni: simulating every pair would take minutes
    precision = np.empty((n, n))
    for rows in _blocks(n):
        precision[rows] = np.sqrt(spread.differences(rows))
    precision = np.divide(1, precision, out=np.zeros_like(precision), where=precision > 0)
    largest = np.empty(DRAWS)
    done = 0
    for noise in _noise(spread, n, DRAWS):
        largest_gaps(np.ascontiguousarray(noise), precision, largest[done : done + len(noise)])
        done += len(noise)
    return min(float(np.quantile(largest, level, method="higher")), bound)


def _noise(spread: Spread, n: int, draws: int) -> Iterator[np.ndarray]:
    """Draws from N(0, spread) in blocks; with a covariance only differences between columns are meaningful."""
    rng = np.random.default_rng(SEED)
    if spread.covariance is None:
        root, scale = None, np.sqrt(spread.variance)
    else:
        root, scale = _root(spread.covariance), None
    block = max(1, min(draws, 4_000_000 // n))
    for start in range(0, draws, block):
        normal = rng.standard_normal((min(block, draws - start), n))
        yield normal @ root.T if root is not None else normal * scale


def _root(covariance: np.ndarray) -> np.ndarray:
    """Cholesky factor of the covariance plus a common shift, which no difference sees and which makes it regular."""
    size = max(float(covariance.diagonal().max()), np.finfo(float).tiny)
    lifted = covariance + size
    lifted[np.diag_indices_from(lifted)] += 1e-9 * size
    return np.linalg.cholesky(lifted)


def _blocks(n: int) -> Iterator[np.ndarray]:
    for start in range(0, n, BLOCK):
        yield np.arange(start, min(start + BLOCK, n))
