"""From scores and their covariance to what people ask: rank intervals, tiers, who is above whom, who is best.

Item j is *significantly above* i at a level when the interval of u_j − u_i lies above zero. Then

    rank_lower(i) = 1 + #{j significantly above i},   rank_upper(i) = n − #{j significantly below i}.

Without covariances (more than 5,000 items), and wherever an open-ended score is involved, the two score intervals must
not overlap instead, which is stricter.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from numbers import Real
from statistics import NormalDist

import numpy as np

from podium.errors import InputError
from podium.kernels.pairwise.uncertainty import largest_gaps
from podium.ranking.uncertainty.ends import reach

__all__ = ["ScoreCovariance", "probability_above", "probability_best", "quantile", "rank_intervals", "tiers", "top_set"]

BLOCK = 256  # rows of an n × n comparison held at once
DRAWS = 10_000  # simulated score vectors behind simultaneous intervals and P(best)
SEED = 20_170  # fixed, so that the same data always give the same intervals


@dataclass(frozen=True, eq=False, slots=True)
class ScoreCovariance:
    """How the mean-centred scores vary, in log-odds: a covariance, or with many items the variances alone.

    With open-ended scores (no upper, or no lower bound) the mean is that of the others. Their finite ends come from
    their votes `end_item`, `end_margin`, `end_votes` (see `ends`); a covariance made by hand may leave
    these out and give a variance instead.
    """

    matrix: np.ndarray | None = None
    variances: np.ndarray | None = None
    open_above: np.ndarray | None = None
    open_below: np.ndarray | None = None
    end_item: np.ndarray | None = None
    end_margin: np.ndarray | None = None
    end_votes: np.ndarray | None = None

    @property
    def open_ended(self) -> np.ndarray | None:
        """Mask of the items whose score has no bound on one side or both; None when there are none."""
        masks = [mask for mask in (self.open_above, self.open_below) if mask is not None]
        found: np.ndarray | None = np.logical_or.reduce(masks) if masks else None
        return found if found is not None and found.any() else None

    @property
    def variance(self) -> np.ndarray:
        """Variance of each centred score."""
        found = self.variances if self.matrix is None else self.matrix.diagonal()
        assert found is not None, "a covariance holds a covariance or variances"
        kept: np.ndarray = np.maximum(found, 0)
        return kept

    def differences(self, rows: np.ndarray | slice | int) -> np.ndarray:
        """Variance of u_i − u_j for i in `rows` and every j; without covariances as if the two were independent."""
        variance = self.variance
        total = variance[rows][..., None] + variance
        if self.matrix is not None:
            shared = self.matrix[rows]
            # An open-ended score varies without limit, but not against itself.
            total = np.subtract(total, 2 * shared, out=np.zeros_like(total), where=np.isfinite(shared))
        kept: np.ndarray = np.maximum(total, 0)
        return kept

    def among(self, rows: np.ndarray) -> ScoreCovariance:
        """The covariance of some items only; open ends are left behind."""
        if self.matrix is None:
            return ScoreCovariance(variances=self.variance[rows])
        return ScoreCovariance(matrix=self.matrix[np.ix_(rows, rows)])

    def halves(self, width: float) -> np.ndarray:
        """How far each score may be from the one found: `width` standard errors, or to the end of an open-ended one."""
        half: np.ndarray = width * np.sqrt(self.variance)
        if self.open_ended is None or self.end_item is None or self.end_margin is None or self.end_votes is None:
            return half
        ends = reach(len(half), self.end_item, self.end_margin, self.end_votes, NormalDist().cdf(-width))
        return np.where(self.open_ended, ends, half)

    def bounds(self, scores: np.ndarray, width: float, fixed: int | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper bounds of the scores, infinite where they are open.

        With `fixed`, those of the difference to that item, laid around the scores; the item itself has no width.
        """
        half = self.halves(width)
        if fixed is None:
            return self.opened(scores - half, scores + half)
        ends = self.open_ended
        if ends is None:
            half = width * np.sqrt(self.differences(fixed))
        elif ends[fixed]:
            half = half + half[fixed]
        else:
            half = np.where(ends, half, width * np.sqrt(self.differences(fixed)))
        lower, upper = self.opened(scores - half, scores + half)
        if self.open_above is not None and self.open_above[fixed]:
            lower = np.full_like(lower, -np.inf)
        if self.open_below is not None and self.open_below[fixed]:
            upper = np.full_like(upper, np.inf)
        lower[fixed] = upper[fixed] = scores[fixed]
        return lower, upper

    def opened(self, lower: np.ndarray, upper: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Open the bounds of items that only win or only lose."""
        if self.open_below is not None:
            lower = np.where(self.open_below, -np.inf, lower)
        if self.open_above is not None:
            upper = np.where(self.open_above, np.inf, upper)
        return lower, upper


def quantile(level: float) -> float:
    """Half-width, in standard errors, of a two-sided normal interval."""
    if not (isinstance(level, Real) and 0 < level < 1):
        raise InputError(f"level must lie between 0 and 1, as in 0.95; got {level!r}")
    return NormalDist().inv_cdf((1 + level) / 2)


def rank_intervals(
    scores: np.ndarray, covariance: ScoreCovariance, level: float = 0.95, simultaneous: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """Return the best and the worst rank, counted from 1, that each item may have.

    With `simultaneous` all of them hold at once with probability `level`, otherwise each on its own.
    """
    n = len(scores)
    width = _width(covariance, level, simultaneous, n)
    if covariance.matrix is None:
        lower, upper = covariance.bounds(scores, width)
        best = 1 + n - np.searchsorted(np.sort(lower), upper, side="right")
        worst = n - np.searchsorted(np.sort(upper), lower, side="left")
        return best, worst
    best, worst = np.ones(n, dtype=np.intp), np.full(n, n, dtype=np.intp)
    bounds = covariance.bounds(scores, width)
    for rows in _blocks(n):
        above = _above(scores, covariance, width, rows, bounds)
        worst[rows] -= above.sum(axis=1)
        best += above.sum(axis=0)
    return best, worst


def tiers(scores: np.ndarray, covariance: ScoreCovariance, level: float = 0.95) -> np.ndarray:
    """Return each item's tier, from 1: greedily from the top, all items not significantly below the tier's leader.

    The leader is the best item left whose score is bounded, or the open-ended item with the highest lower bound where
    that one is significantly above. An item with few votes may share a tier with one far above it: the votes do not
    tell them apart.
    """
    n = len(scores)
    width = _width(covariance, level, False, n)
    lower, upper = covariance.bounds(scores, width)
    tier = np.zeros(n, dtype=np.intp)
    left = np.argsort(-scores, kind="stable")
    while len(left):
        first = _leader(left, covariance, lower, upper)
        if covariance.matrix is None:
            below = upper[left] < lower[first]
        else:
            below = _above(scores, covariance, width, np.array([first]), (lower, upper))[0, left]
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


def probability_above(scores: np.ndarray, covariance: ScoreCovariance, one: int, other: int) -> float:
    """Return the confidence that item `one` is truly above item `other`: Φ of their difference in standard errors.

    NaN when one of them is open-ended: its score is not found but held by the penalty.
    """
    if one == other:
        return 0.5
    if covariance.open_ended is not None and (covariance.open_ended[one] or covariance.open_ended[other]):
        return math.nan
    gap = float(scores[one] - scores[other])
    variance = float(covariance.differences(one)[other])
    if variance == 0:
        return 0.5 if gap == 0 else float(gap > 0)
    return NormalDist().cdf(gap / math.sqrt(variance))


def probability_best(scores: np.ndarray, covariance: ScoreCovariance, draws: int = DRAWS) -> np.ndarray:
    """Return each item's share of firsts among `draws` score vectors drawn from N(scores, covariance).

    Items six standard errors or more below the first are left out: their chance is under 1e-9. Open-ended items have
    NaN, and the shares are those of being first among the others.
    """
    if covariance.open_ended is not None:
        shares = np.full(len(scores), np.nan)
        kept = np.flatnonzero(~covariance.open_ended)
        if len(kept):
            shares[kept] = probability_best(scores[kept], covariance.among(kept), draws)
        return shares
    first = int(scores.argmax())
    near = np.flatnonzero(scores[first] - scores <= 6 * np.sqrt(covariance.differences(first)))
    best = np.zeros(len(near))
    for noise in _noise(covariance.among(near), len(near), draws):
        best += np.bincount((scores[near] + noise).argmax(axis=1), minlength=len(near))
    share = np.zeros(len(scores))
    share[near] = best / draws
    return share


def top_set(scores: np.ndarray, covariance: ScoreCovariance, k: int, level: float = 0.95) -> np.ndarray:
    """Return a mask of items that holds all of the true top k with probability at least `level`."""
    if not 1 <= k <= len(scores):
        raise InputError(f"k must lie between 1 and the number of items, {len(scores)}; got {k!r}")
    best, _ = rank_intervals(scores, covariance, level, simultaneous=True)
    inside: np.ndarray = best <= k
    return inside


def _above(
    scores: np.ndarray,
    covariance: ScoreCovariance,
    width: float,
    rows: np.ndarray,
    bounds: tuple[np.ndarray, np.ndarray],
) -> np.ndarray:
    """Mask (rows, n): is the row's item significantly above the column's?"""
    gap = scores[rows, None] - scores
    above: np.ndarray = gap > width * np.sqrt(covariance.differences(rows))
    if covariance.open_ended is not None:
        apart = bounds[0][rows, None] > bounds[1]
        above = np.where(covariance.open_ended[rows, None] | covariance.open_ended, apart, above)
    return above


def _width(covariance: ScoreCovariance, level: float, simultaneous: bool, n: int) -> float:
    """Critical value in standard errors: normal; or the level's quantile of the largest |t| over all pairs."""
    width = quantile(level)
    if not simultaneous or n < 2:
        return width
    if covariance.open_ended is not None:
        # Each open-ended item takes its share of the error allowed, the pairs of bounded items have the rest.
        kept, error = np.flatnonzero(~covariance.open_ended), 1 - level
        among = covariance.among(kept)
        own = _width(among, 1 - error * len(kept) / n, True, len(kept)) if len(kept) > 1 else width
        return max(own, quantile(1 - error / n))
    if covariance.matrix is None:
        return quantile(level ** (1 / n))  # Šidák over the marginal intervals
    pairs = n * (n - 1) / 2
    bound = quantile(1 - (1 - level) / pairs)
    if n * n * DRAWS > 2e9:
        return bound  # Bonferroni: simulating every pair would take minutes
    precision = np.empty((n, n))
    for rows in _blocks(n):
        precision[rows] = np.sqrt(covariance.differences(rows))
    precision = np.divide(1, precision, out=np.zeros_like(precision), where=precision > 0)
    largest = np.empty(DRAWS)
    done = 0
    for noise in _noise(covariance, n, DRAWS):
        largest_gaps(np.ascontiguousarray(noise), precision, largest[done : done + len(noise)])
        done += len(noise)
    return min(float(np.quantile(largest, level, method="higher")), bound)


def _noise(covariance: ScoreCovariance, n: int, draws: int) -> Iterator[np.ndarray]:
    """Draws from N(0, covariance) in blocks; with a covariance only differences between columns are meaningful."""
    rng = np.random.default_rng(SEED)
    if covariance.matrix is None:
        root, scale = None, np.sqrt(covariance.variance)
    else:
        root, scale = _root(covariance.matrix), None
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
