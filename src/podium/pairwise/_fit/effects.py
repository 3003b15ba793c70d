"""Effects of covariates and side that are held where likelihood has them, and scores that may follow them.

Where better items stand on the left more often, the left wins more often than its effect alone says. Scores that know
nothing of the sides would make it win less often the farther they lie apart, by the bend of the logistic function, and
so the evidence takes them for close. So their spread is chosen where scores may follow what is held (Mundlak 1978),

    u = γ z̄ + r,

with z̄ the mean of the held effects over the votes of an item, scaled to standard deviation 1, and γ without a penalty.
What γ explains is given back: the spread of u is √(s_r² + γ²). γ is as uncertain as the votes and the effects held make
it, and N(0, 1) before: its mean is taken for γ where a spread is chosen, and its mean square where those are weighed
that the votes leave possible.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.data.comparisons import Comparisons
from podium.pairwise._fit.solvers import Rows

__all__ = ["Effects", "Following"]

Floats = NDArray[np.float64]

MIN_ITEMS = 5  # fewer say nothing of how their scores follow anything
LEAST_SD = 1e-6  # of an effect's mean over items, beside its size in single votes


@dataclass(frozen=True, slots=True)
class Effects:
    """Effects of covariates and side that were found without the penalty, and their covariance.

    `added` are the leverages of a left win, a right win and a tie of every row, (3, rows), if Firth's correction was
    made; the rows are those of the pairs by side, or of the votes where these have covariates.
    """

    values: Floats
    covariance: Floats
    added: Floats | None = None

    def added_to(self, c: Comparisons, left: NDArray[Any], right: NDArray[Any], total: Floats) -> Floats:
        """`added` for finer rows of the votes `c`, as by time or judge: each has its part, by its votes `total`."""
        assert self.added is not None, "there is a correction"
        pairs, n = c.pairs_by_side, len(c.items)
        keys = pairs.left.astype(np.int64) * n + pairs.right
        order = np.argsort(keys)
        pair = order[np.searchsorted(keys, left.astype(np.int64) * n + right, sorter=order)]
        shared: Floats = self.added[:, pair] * (total / pairs.total[pair])
        return shared


@dataclass(frozen=True, slots=True)
class Following:
    """Rows in which scores may follow the effects that are held: their design is z̄ of the left less of the right."""

    rows: Rows
    means: Floats  # z̄
    noise: float  # variance of γ that comes from that of the effects

    @classmethod
    def of(cls, rows: Rows, design: Floats, effects: Effects, total: Floats, votes: Floats) -> Following | None:
        """None where there is nothing to follow; `total` are the votes of each row, `votes` those of each item."""
        n, left, right = rows.n, rows.left, rows.right
        assert rows.offset is not None, "effects are held"
        sums = [np.bincount(left, total * z, n) - np.bincount(right, total * z, n) for z in design.T]
        met = votes > 0
        means: Floats = np.column_stack(sums) / np.where(met, votes, 1.0)[:, None]
        means[met] -= means[met].mean(axis=0)
        followed: Floats = means @ effects.values
        size = float(followed.std())
        if n < MIN_ITEMS or size <= LEAST_SD * float(np.sqrt(np.mean(rows.offset**2))):
            return None
        followed /= size
        steps = np.ascontiguousarray((followed[left] - followed[right])[:, None])
        along = means.T @ followed / n  # how far γ goes down as an effect goes up
        return cls(replace(rows, design=steps), followed, float(along @ effects.covariance @ along))

    def square(self, gamma: float, variance: float, *, of_mean: bool = False) -> float:
        """The square `of_mean` γ, or the mean of γ²; `variance` is that of γ where effects are known."""
        variance += self.noise
        shrink = 1.0 / (1.0 + variance)
        return (shrink * gamma) ** 2 + (0.0 if of_mean else shrink * variance)
