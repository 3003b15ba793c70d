"""Misfit: how far the votes are from one scale of scores, against what chance alone would give."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from podium.data.pairs import Adjacency, Pairs
from podium.evaluate.diagnosis.table import Model, Table
from podium.pairwise._fit.solvers import LinearSolver, Rows
from podium.text import storable

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
    """A table under a model: how far each pair is from what the model expects of it."""

    def __init__(self, table: Table, model: Model, circles: Circles | None = None) -> None:
        self.table, self.model = table, model
        self.circles = circles or Circles(table)
        self.win, self.tie = model.chances(table)
        expected = self.win + self.tie / 2
        spread = expected * (1.0 - expected)
        variance = self.win + self.tie / 4 - expected**2
        if model.log_nu is None:
            # Ties are half a win each: with chance 2·tied·min(p, 1 − p) the expected points stay p whatever `tied` is.
            rare = np.minimum(expected, 1.0 - expected)
            possible = 2.0 * float(table.total @ rare)
            tied = min(1.0, float(table.ties.sum()) / possible) if possible > 0 else 0.0
            self.tie = 2.0 * tied * rare
            self.win = np.clip(expected - self.tie / 2.0, 0.0, 1.0)
            variance = spread - 0.5 * tied * rare
        variance = np.maximum(variance, 0.01 * spread)
        self.votes, self.won = table.by_pair(table.total), table.by_pair(table.points, table.total - table.points)
        self.expected = table.by_pair(table.total * expected, table.total * (1.0 - expected))
        self.residual = (self.won - self.expected) / np.sqrt(np.maximum(table.by_pair(table.squares * variance), 1e-12))

    def measures(self) -> tuple[float, float, float, float]:
        """Largest residual, dispersion, cyclic evidence, and its share of all."""
        dispersion = float(self.residual @ self.residual) / self.circles.freedom if self.circles.freedom else np.nan
        return float(np.max(np.abs(self.residual))), dispersion, *self.circles.measure(self.table)

    def redrawn(self, rng: np.random.Generator) -> Table:
        """Votes on the same rows, drawn from the model; weighted ones as the equal votes they are worth."""
        t = self.table
        number = np.maximum(np.rint(t.total**2 / t.squares), 1.0).astype(np.int64)
        size = t.total / number
        wins = rng.binomial(number, np.clip(self.win, 0.0, 1.0))
        ties = rng.binomial(number - wins, np.clip(self.tie / np.maximum(1.0 - self.win, 1e-300), 0.0, 1.0))
        return replace(t, wins=size * wins, ties=size * ties, losses=size * (number - wins - ties))

    def refitted(self, table: Table) -> Fit:
        """The same model, fitted to other votes on the same rows."""
        return Fit(table, self.model.refitted(table), self.circles)

    def tests(self, replicates: int, rng: np.random.Generator) -> tuple[Test, Test, Test]:
        """Each measure against the same measure of redrawn votes."""
        found = np.array(self.measures())
        drawn = np.array([self.refitted(self.redrawn(rng)).measures() for _ in range(replicates)])
        # Equal in exact arithmetic must count as equal.
        more = (drawn >= found - 1e-9 * np.abs(found)).sum(axis=0)
        p_values = (1.0 + more) / (1.0 + replicates)
        mean = drawn.mean(axis=0)
        largest, dispersion, _, cyclic = (Test(*map(float, each)) for each in zip(found, mean, p_values, strict=True))
        return largest, dispersion, replace(cyclic, p_value=float(p_values[2]))

    def residual_frame(self, items: Any, most: int = 50) -> pl.DataFrame:
        """The pairs furthest from the scores, told from the side of the item that won more than expected."""
        import polars as pl

        first, second, *_ = self.table.pair
        rows = []
        for k in np.argsort(-np.abs(self.residual), kind="stable")[:most].tolist():
            up = self.residual[k] >= 0
            ends = (first[k], second[k]) if up else (second[k], first[k])
            votes, won, expected = self.votes[k], self.won[k], self.expected[k]
            if not up:
                won, expected = votes - won, votes - expected
            names = [storable(items[end]) for end in ends]
            rows.append((*names, float(votes), float(won), float(expected), float(abs(self.residual[k]))))
        return pl.DataFrame(rows, ["item", "against", "votes", "won", "expected", "residual"], orient="row")


class Circles:
    """The share of pairwise evidence that goes in circles: Jiang, Lim, Yao and Ye (2011), HodgeRank.

    Each pair's mean outcome y (from −1 to 1) is fitted by differences of scores in weighted least squares. What is
    left, Σ w (y − fit)², is the evidence that goes in circles; over Σ w y² it is 0 when one ranking explains everything
    and 1 for rock, paper, scissors. The share is easy to read; the sum is what tells circles from chance.
    """

    def __init__(self, table: Table) -> None:
        first, second, *_ = table.pair
        self.weight = np.maximum(table.by_pair(table.total), 1e-300)
        rows = Rows(table.n, first, second)
        self.solve = LinearSolver(rows, 0.0).factor(self.weight, 1e-10)
        none = np.zeros(len(first))
        met = Adjacency.of_pairs(Pairs(first, second, self.weight, none, none, none, none, none), table.n)
        groups = int(met.components.max()) + 1  # items without votes are groups of their own
        self.freedom = len(first) - (table.n - groups)

    def measure(self, table: Table) -> tuple[float, float]:
        """Cyclic evidence of a table with the same pairs and totals, and its share of all evidence."""
        if not self.freedom:
            return 0.0, 0.0
        first, second, *_ = table.pair
        flow = table.by_pair(table.wins - table.losses, table.losses - table.wins)
        mean, n = flow / self.weight, table.n
        net: Floats = np.bincount(first, flow, n).astype(np.float64) - np.bincount(second, flow, n)
        scores = self.solve(net)
        rest = mean - (scores[first] - scores[second])
        circles, whole = float(self.weight @ rest**2), float(self.weight @ mean**2)
        return circles, circles / whole if whole > 0 else 0.0
