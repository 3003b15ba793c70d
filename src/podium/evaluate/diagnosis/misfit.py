"""Misfit: how far the votes are from one scale of scores, against what chance alone gives."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from podium.data.pairs import Adjacency, Pairs
from podium.evaluate.diagnosis.exact import ExactRedraws
from podium.evaluate.diagnosis.table import Model, Table
from podium.pairwise._fit.solvers import LinearSolver, Rows
from podium.text import storable

if TYPE_CHECKING:
    import polars as pl

__all__ = ["SIGNIFICANCE", "Fit", "Test"]

Floats = NDArray[np.float64]

SIGNIFICANCE = 0.05  # a p-value below is a concern
MAX_EXACT_VOTES = 100_000
MIN_BOOTSTRAP_VOTES = 200  # an item, from which on drawing from the fitted scores keeps the level
MAX_DENSE_ITEMS = 300  # up to here what goes round is seen by a matrix of all items, in a millisecond,
MAX_TRIPS = 1e6  # and beyond by the pairs of opponents of every item, if they are no more
MIN_CHANGES = 10  # moves of a redraw that must change the votes, or it is too much like them to tell anything


@dataclass(frozen=True)
class Test:
    """A measure of misfit, what chance gives on average, and how often chance gives as much.

    `enough` is false where no outcome of these votes could have a p-value below 0.05: too few votes to tell.
    """

    value: float
    expected: float
    p_value: float
    enough: bool = True

    __test__ = False  # not a test of ours, whatever pytest thinks

    @property
    def significant(self) -> bool:
        """Whether chance gives as much in less than 5 % of cases."""
        return self.p_value < SIGNIFICANCE


class Fit:
    """A table under a model: how far each pair is from what the model expects of it."""

    def __init__(self, table: Table, model: Model, cycles: Cycles | None = None) -> None:
        self.table, self.model = table, model
        self.cycles = cycles or Cycles(table)
        self.win, self.tie = model.chances(table)
        expected = self.win + self.tie / 2
        without_ties = expected * (1.0 - expected)
        variance = self.win + self.tie / 4 - expected**2
        if model.log_nu is None:
            # Ties are half a win each: with chance 2·tied·min(p, 1 − p) the expected points stay p whatever `tied` is.
            rare = np.minimum(expected, 1.0 - expected)
            possible = 2.0 * float(table.total @ rare)
            tied = min(1.0, float(table.ties.sum()) / possible) if possible > 0 else 0.0
            self.tie = 2.0 * tied * rare
            self.win = np.clip(expected - self.tie / 2.0, 0.0, 1.0)
            variance = without_ties - 0.5 * tied * rare
        variance = np.maximum(variance, 0.01 * without_ties)
        self.votes = table.by_pair(table.total)
        self.expected = table.by_pair(table.total * expected, table.total * (1.0 - expected))
        self.std_error = np.sqrt(np.maximum(table.by_pair(table.squares * variance), 1e-12))
        self.won = self._won(table)
        self.residual = self._residual(self.won)

    @property
    def exact(self) -> bool:
        """Whether redraws keep everybody's wins: votes are counted, without covariates, and not so very many.

        With many votes an item a parametric bootstrap is as good, and the quicker one.
        """
        votes = float(self.votes.sum())
        few = votes <= MAX_EXACT_VOTES or 2 * votes < MIN_BOOTSTRAP_VOTES * self.table.n
        return self.table.countable and few

    def _won(self, table: Table) -> Floats:
        """Points of the first item of each pair."""
        return self.table.by_pair(table.points, table.total - table.points)

    def _residual(self, won: Floats) -> Floats:
        """Signed roots of the deviance: √(2·log(chance of the pair's votes at its own share / at the expected one)).

        With many votes a pair it is (won − expected) / standard deviation. With few it stays on that scale: one vote
        of chance 0.003 is 3.4, where the other formula says 18. Ties and weights count as the votes without them that
        would vary as much.
        """
        tiny = 1e-300
        mean = np.clip(self.expected / np.maximum(self.votes, tiny), 1e-15, 1.0 - 1e-15)
        share = np.clip(won / np.maximum(self.votes, tiny), 0.0, 1.0)
        number = mean * (1.0 - mean) * self.votes**2 / self.std_error**2
        loss = share * np.log(np.maximum(share, tiny) / mean)
        loss += (1.0 - share) * np.log(np.maximum(1.0 - share, tiny) / (1.0 - mean))
        residual: Floats = np.sign(share - mean) * np.sqrt(2.0 * number * np.maximum(loss, 0.0))
        return residual

    def measures(self, table: Table | None = None) -> tuple[float, float, float, float, float]:
        """Largest residual, dispersion, cyclic share, cyclic sum of squares, and how far misfit goes round.

        Of other votes with the same chances, if given.
        """
        votes = table or self.table
        won = self._won(votes)
        residual = (won - self.expected) / self.std_error
        freedom = self.cycles.freedom
        dispersion = float(residual @ residual) / freedom if freedom else np.nan
        largest, (squares, share) = float(np.max(np.abs(self._residual(won)))), self.cycles.measure(votes)
        return largest, dispersion, share, squares, self.cycles.round_trips(won - self.expected)

    def tests(self, replicates: int, rng: np.random.Generator, chances: Model | None = None) -> tuple[Test, Test, Test]:
        """Each measure against the same measure of redrawn votes: largest residual, dispersion, cycles.

        Where the tests are `exact`, redraws keep everybody's wins. Else votes are drawn from the model `chances` (this
        one unless given) and the model is fitted again to each redraw.
        """
        measured = np.array(self.measures())
        freely = True  # whether redraws differ enough from the votes
        if self.exact:
            redraws = ExactRedraws(self.table, keep_sides=self.table.design is not None)
            drawn = np.array([self.measures(table) for table in redraws.draw(replicates, rng)])
            freely = redraws.moved >= MIN_CHANGES * redraws.redraws
        else:
            source = self if chances is None else Fit(self.table, chances, self.cycles)
            drawn = np.array([self._refitted(source.drawn(rng)).measures() for _ in range(replicates)])
        measured, drawn = _together(measured, drawn)
        p_values = _shares(drawn, measured)
        smallest = _shares(drawn, np.maximum(measured, drawn.max(axis=0)))  # that any outcome could have had
        # The largest of few redraws has a share of two of them: few redraws are not few votes.
        enough = freely & (smallest <= max(SIGNIFICANCE, 2.0 / (1.0 + replicates)))
        mean = drawn.mean(axis=0)
        largest, dispersion, share, cycles = (
            Test(float(value), float(usual), float(p), bool(known) or bool(p < SIGNIFICANCE))
            for value, usual, p, known in zip(measured, mean, p_values, enough, strict=True)
        )
        return largest, dispersion, replace(share, p_value=cycles.p_value, enough=cycles.enough)

    def drawn(self, rng: np.random.Generator) -> Table:
        """Votes on the same rows, drawn from the model; weighted ones as the equal votes they are worth."""
        t = self.table
        number = np.maximum(np.rint(t.total**2 / t.squares), 1.0).astype(np.int64)
        size = t.total / number
        wins = rng.binomial(number, np.clip(self.win, 0.0, 1.0))
        ties = rng.binomial(number - wins, np.clip(self.tie / np.maximum(1.0 - self.win, 1e-300), 0.0, 1.0))
        return replace(t, wins=size * wins, ties=size * ties, losses=size * (number - wins - ties))

    def _refitted(self, table: Table) -> Fit:
        """The same model, fitted to other votes on the same rows."""
        return Fit(table, self.model.refitted(table), self.cycles)

    def residual_frame(self, items: Any, most: int = 50) -> pl.DataFrame:
        """The pairs furthest from the scores, seen from the item that won more than expected."""
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


class Cycles:
    """The share of what the votes say that is cyclic: Jiang, Lim, Yao and Ye (2011), HodgeRank.

    Each pair's mean outcome y (from −1 to 1) is fitted by differences of scores in weighted least squares. What is
    left, Σ w (y − fit)², is cyclic; over Σ w y² it is 0 when one ranking explains everything and 1 for rock, paper,
    scissors. The share is easy to read; the sum is what tells cycles from chance, together with what goes round.

    Given everybody's wins the fit is the same whoever won which vote, and so is the square of a pair that voted once:
    the sum sees pairs that voted more often, and no circle of single votes. `round_trips` sees these.
    """

    def __init__(self, table: Table) -> None:
        self.table = table
        first, second, *_ = table.pair
        self.weight = np.maximum(table.by_pair(table.total), 1e-300)
        rows = Rows(table.n, first, second)
        self.solve = LinearSolver(rows, 0.0).factor(self.weight, 1e-10)
        none = np.zeros(len(first))
        met = Adjacency.of_pairs(Pairs(first, second, self.weight, none, none, none, none, none), table.n)
        groups = int(met.components.max()) + 1  # items without votes are groups of their own
        self.freedom = len(first) - (table.n - groups)
        met_by = (np.bincount(first, minlength=table.n) + np.bincount(second, minlength=table.n)).astype(np.float64)
        self.dense = table.n <= MAX_DENSE_ITEMS
        self.few = self.dense or float(met_by @ met_by) <= MAX_TRIPS

    def measure(self, table: Table) -> tuple[float, float]:
        """Cyclic sum of squares of a table with the same pairs and totals, and its share of all."""
        if not self.freedom:
            return 0.0, 0.0
        first, second, *_ = self.table.pair
        flow = self.table.by_pair(table.wins - table.losses, table.losses - table.wins)
        mean, n = flow / self.weight, table.n
        net: Floats = np.bincount(first, flow, n).astype(np.float64) - np.bincount(second, flow, n)
        scores = self.solve(net)
        rest = mean - (scores[first] - scores[second])
        cyclic, whole = float(self.weight @ rest**2), float(self.weight @ mean**2)
        return cyclic, cyclic / whole if whole > 0 else 0.0

    def round_trips(self, off: Floats) -> float:
        """Σ over two items of (Σ over a third of its misfit `off` with the one times that with the other)².

        On a circle items next to each other win and lose beyond their scores against the same others. 0 where there
        are too many pairs to go through.
        """
        if not self.few:
            return 0.0
        first, second, *_ = self.table.pair
        n = self.table.n
        if self.dense:
            matrix = np.zeros((n, n))
            matrix[first, second], matrix[second, first] = off, -off
            alike = matrix @ matrix
            return float(np.sum(alike**2) - alike.diagonal() @ alike.diagonal())
        from scipy.sparse import csr_array

        ends = np.concatenate([first, second]), np.concatenate([second, first])
        sparse = csr_array((np.concatenate([off, -off]), ends), shape=(n, n))
        product = sparse @ sparse
        return float(product.data @ product.data - product.diagonal() @ product.diagonal())


def _together(measured: Floats, drawn: Floats) -> tuple[Floats, Floats]:
    """The last two measures as one: each over its standard deviation, votes and redraws taken together, and added."""
    both = np.vstack([measured, drawn])
    ends = both[:, -2:]
    deviation = ends.std(axis=0)
    known = deviation > 1e-9 * np.abs(ends).max(axis=0)
    scaled = np.where(known, (ends - ends.mean(axis=0)) / np.where(known, deviation, 1.0), 0.0)
    joined = np.column_stack([both[:, :-2], scaled.sum(axis=1)])
    return joined[0], joined[1:]


def _shares(drawn: Floats, measured: Floats) -> Floats:
    """P-values: the share of redraws that reach each measure, the votes themselves counted among them."""
    # Equal in exact arithmetic must count as equal, and what does not exist (NaN) is no rarer than its redraws.
    reached = (~(drawn < measured - 1e-9 * np.abs(np.vstack([measured, drawn])).max(axis=0))).sum(axis=0)
    shares: Floats = (1.0 + reached) / (1.0 + len(drawn))
    return shares
