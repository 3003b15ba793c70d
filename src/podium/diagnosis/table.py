"""The votes as pairs with counts, and the Bradley-Terry scores that everything here is measured against."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from podium.likelihoods import LogisticRows
from podium.pairs import Adjacency, Pairs
from podium.places import settled
from podium.solvers import Rows, coordinate_newton, newton

__all__ = ["Table", "solve"]

Floats = NDArray[np.float64]

L2 = 1e-3  # the penalty of the default ranker
COLUMNS = ("left", "right", "wins", "losses", "ties", "squares")


@dataclass(frozen=True, eq=False)
class Table:
    """Unordered pairs with wins of the left, wins of the right and ties, as weights; and Σw² of all their votes."""

    n: int
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    wins: Floats
    losses: Floats
    ties: Floats
    squares: Floats

    @classmethod
    def of(cls, p: Pairs, n: int) -> Table:
        """The pairs of `n` items in a form that can be redrawn and thinned out."""
        squares = p.left_wins_sq + p.right_wins_sq + p.ties_sq
        wins, losses, ties, squares = (
            np.asarray(v, dtype=np.float64) for v in (p.left_wins, p.right_wins, p.ties, squares)
        )
        return cls(n, p.left, p.right, wins, losses, ties, squares)

    @property
    def total(self) -> Floats:
        """Weight of the votes of each pair."""
        return self.wins + self.losses + self.ties

    @property
    def points(self) -> Floats:
        """What the left item took, a tie counting half."""
        return self.wins + 0.5 * self.ties

    @property
    def seen(self) -> NDArray[np.bool_]:
        """Items that any vote names."""
        mask = np.zeros(self.n, dtype=bool)
        mask[self.left] = mask[self.right] = True
        return mask

    def adjacency(self) -> Adjacency:
        """The same laid out by item, as solvers want it."""
        none = np.zeros(len(self.left))
        return Adjacency.of_pairs(
            Pairs(self.left, self.right, self.wins, self.losses, self.ties, none, none, none), self.n
        )

    def without(self, item: int) -> Table:
        """All pairs but those of one item."""
        kept = (self.left != item) & (self.right != item)
        return replace(self, **{name: getattr(self, name)[kept] for name in COLUMNS})


def solve(table: Table, tol: float = 1e-5) -> Floats:
    """Bradley-Terry scores of the table, ties counting half."""
    a = table.adjacency()
    found = coordinate_newton(a, L2, tol, 300)
    if not found.converged:
        rows, loss = Rows(table.n, table.left, table.right), LogisticRows(table.points, table.total)
        found = newton(rows, loss, L2, tol, 300, votes=a.sums[1], scores=found.scores)
    return settled(found.scores, tol)
