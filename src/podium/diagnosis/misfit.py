"""Misfit: how far the votes are from one scale of scores, against what chance alone would give."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from podium.diagnosis.table import Table, solve
from podium.solvers import LinearSolver, Rows

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Fit", "Test"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Test:
    """A measure of misfit, what chance gives on average, and how often chance gives as much."""

    value: float
    expected: float
    p_value: float

    __test__ = False  # not a test of ours, whatever pytest thinks


class Fit:
    """Scores of a table, and how far each pair is from them."""

    def __init__(self, table: Table, circles: Circles | None = None) -> None:
        self.table = table
        self.circles = circles or Circles(table)
        self.scores = solve(table)
        margin = self.scores[table.left] - self.scores[table.right]
        self.chance = 1.0 / (1.0 + np.exp(-margin))  # that the left item takes the point
        rare = np.minimum(self.chance, 1.0 - self.chance)
        possible = 2.0 * float(table.total @ rare)
        # A tie has chance 2·tied·min(p, 1 − p), which leaves the expected points at p whatever `tied` is.
        self.tied = min(1.0, float(table.ties.sum()) / possible) if possible > 0 else 0.0
        spread = self.chance * (1.0 - self.chance)
        variance = np.maximum(spread - 0.5 * self.tied * rare, 0.01 * spread)
        self.residual = (table.points - table.total * self.chance) / np.sqrt(
            np.maximum(table.squares * variance, 1e-12)
        )

    def measures(self) -> tuple[float, float, float, float]:
        """Largest residual, dispersion, cyclic evidence, and its share of all."""
        dispersion = float(self.residual @ self.residual) / self.circles.freedom if self.circles.freedom else np.nan
        return float(np.max(np.abs(self.residual))), dispersion, *self.circles.measure(self.table)

    def redrawn(self, rng: np.random.Generator) -> Table:
        """Votes on the same pairs, drawn from the fitted scores; weighted ones as the equal votes they are worth."""
        t = self.table
        number = np.maximum(np.rint(t.total**2 / t.squares), 1.0).astype(np.int64)
        size = t.total / number
        tie = 2.0 * self.tied * np.minimum(self.chance, 1.0 - self.chance)
        win = np.clip(self.chance - tie / 2.0, 0.0, 1.0)
        wins = rng.binomial(number, win)
        ties = rng.binomial(number - wins, np.clip(tie / np.maximum(1.0 - win, 1e-300), 0.0, 1.0))
        return replace(t, wins=size * wins, ties=size * ties, losses=size * (number - wins - ties))

    def tests(self, replicates: int, rng: np.random.Generator) -> tuple[Test, Test, Test]:
        """Each measure against the same measure of redrawn votes."""
        found = np.array(self.measures())
        drawn = np.array([Fit(self.redrawn(rng), self.circles).measures() for _ in range(replicates)])
        # Equal in exact arithmetic must count as equal.
        more = (drawn >= found - 1e-9 * np.abs(found)).sum(axis=0)
        p_values = (1.0 + more) / (1.0 + replicates)
        mean = drawn.mean(axis=0)
        largest, dispersion, _, cyclic = (Test(*map(float, each)) for each in zip(found, mean, p_values, strict=True))
        return largest, dispersion, replace(cyclic, p_value=float(p_values[2]))

    def residual_frame(self, items: Any, most: int = 50) -> pl.DataFrame:
        """The pairs furthest from the scores, told from the side of the item that won more than expected."""
        import polars as pl

        t = self.table
        rows = []
        for k in np.argsort(-np.abs(self.residual), kind="stable")[:most].tolist():
            up = self.residual[k] >= 0
            ends = (t.left[k], t.right[k]) if up else (t.right[k], t.left[k])
            won, expected = (t.points[k], t.total[k] * self.chance[k])
            if not up:
                won, expected = t.total[k] - won, t.total[k] - expected
            names = [str(items[end]) for end in ends]
            rows.append((*names, float(t.total[k]), float(won), float(expected), float(abs(self.residual[k]))))
        return pl.DataFrame(rows, ["item", "against", "votes", "won", "expected", "residual"], orient="row")


class Circles:
    """The share of pairwise evidence that goes in circles: Jiang, Lim, Yao and Ye (2011), HodgeRank.

    Each pair's mean outcome y (from −1 to 1) is fitted by differences of scores in weighted least squares. What is
    left, Σ w (y − fit)², is the evidence that goes in circles; over Σ w y² it is 0 when one ranking explains everything
    and 1 for rock, paper, scissors. The share is easy to read; the sum is what tells circles from chance.
    """

    def __init__(self, table: Table) -> None:
        self.weight = np.maximum(table.total, 1e-300)
        rows = Rows(table.n, table.left, table.right)
        self.solve = LinearSolver(rows, 0.0).factor(self.weight, 1e-10)
        groups = int(table.adjacency().components.max()) + 1  # items without votes are groups of their own
        self.freedom = len(table.left) - (table.n - groups)

    def measure(self, table: Table) -> tuple[float, float]:
        """Cyclic evidence of a table with the same pairs and totals, and its share of all evidence."""
        if not self.freedom:
            return 0.0, 0.0
        mean = (table.wins - table.losses) / self.weight
        flow = self.weight * mean
        n = table.n
        net: Floats = np.bincount(table.left, flow, n).astype(np.float64) - np.bincount(table.right, flow, n)
        scores = self.solve(net)
        rest = mean - (scores[table.left] - scores[table.right])
        circles, whole = float(self.weight @ rest**2), float(self.weight @ mean**2)
        return circles, circles / whole if whole > 0 else 0.0
