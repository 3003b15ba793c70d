"""The covariance of the scores, with what is known of those that have no bound on one side."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from statistics import NormalDist

import numpy as np

from podium.errors import InputError
from podium.ranking.uncertainty.ends import reach

__all__ = ["ScoreCovariance", "quantile", "width_at"]

LEAST_ERROR = 1e-12  # nearer to 0 an interval has no width, nearer to 1 no end


@dataclass(frozen=True, eq=False, slots=True, weakref_slot=True)
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
        mask: np.ndarray | None = np.logical_or.reduce(masks) if masks else None
        return mask if mask is not None and mask.any() else None

    @property
    def variance(self) -> np.ndarray:
        """Variance of each centred score."""
        variance = self.variances if self.matrix is None else self.matrix.diagonal()
        assert variance is not None, "it holds a matrix or variances"
        kept: np.ndarray = np.maximum(variance, 0)
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
    if not (isinstance(level, Real) and LEAST_ERROR <= level <= 1 - LEAST_ERROR):
        raise InputError(f"level must lie between 0 and 1, {LEAST_ERROR:g} from either, as in 0.95; got {level!r}")
    return width_at(level)


def width_at(level: float) -> float:
    """The same for a level of ours, of one of many intervals: rounding may have made it 1."""
    return NormalDist().inv_cdf(min((1 + level) / 2, 1 - 2.0**-53))
