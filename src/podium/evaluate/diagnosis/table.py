"""The votes as rows of counts with what the model knows of them, and the Bradley-Terry fit of such a table."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.data.comparisons import Comparisons
from podium.data.pairs import Adjacency, Pairs
from podium.pairwise._fit.likelihoods import DavidsonRows, LogisticRows
from podium.pairwise._fit.solvers import Rows, coordinate_newton, newton
from podium.pairwise.bradley_terry import BradleyTerry

__all__ = ["Model", "Table"]

Floats = NDArray[np.float64]

MIN_PENALTY = 1e-6  # penalty of a refit: redrawn votes may have no finite optimum where the votes themselves had one


@dataclass(frozen=True, eq=False)
class Table:
    """Rows with wins of the left, wins of the right and ties, as weights; Σw² of their votes; side and covariates.

    A row is a pair, or a pair in one order where the side matters, or a vote where covariates do.
    """

    n: int
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    wins: Floats
    losses: Floats
    ties: Floats
    squares: Floats
    design: Floats | None = None

    @classmethod
    def of(cls, votes: Comparisons, side: bool = False) -> Table:
        """The votes in a form that can be redrawn, with as few rows as the model allows."""
        n, c = len(votes.items), votes
        if c.covariates is not None:
            left, right, outcome, weight = c.vote_rows()
            wins, losses, ties = (weight * (outcome == value) for value in (1.0, 0.0, 0.5))
            columns = [c.covariates, np.ones((len(left), 1))] if side else [c.covariates]
            return cls(n, left, right, wins, losses, ties, c.weight_squares(), np.ascontiguousarray(np.hstack(columns)))
        p = c.pairs_by_side if side else c.pairs
        squares = p.left_wins_sq + p.right_wins_sq + p.ties_sq
        wins, losses, ties, squares = (
            np.asarray(v, dtype=np.float64) for v in (p.left_wins, p.right_wins, p.ties, squares)
        )
        return cls(n, p.left, p.right, wins, losses, ties, squares, np.ones((len(p), 1)) if side else None)

    def decided(self, votes: Comparisons) -> Table:
        """The table of `votes` without their ties; rows of nothing but ties go.

        Davidson's chances given that there is no tie are those of Bradley-Terry with the same scores, and so they are
        where ties fall anyhow: what the decided votes say does not depend on how ties come about.
        """
        if votes.covariates is None:
            pairs = votes.pairs if self.design is None else votes.pairs_by_side
            squares = np.asarray(pairs.left_wins_sq + pairs.right_wins_sq, dtype=np.float64)
        else:
            squares = np.where(self.ties > 0, 0.0, self.squares)
        kept = self.wins + self.losses > 0
        return Table(
            self.n, self.left[kept], self.right[kept], self.wins[kept], self.losses[kept],
            np.zeros(int(kept.sum())), squares[kept],
            None if self.design is None else np.ascontiguousarray(self.design[kept]),
        )  # fmt: skip

    @property
    def total(self) -> Floats:
        """Weight of the votes of each row."""
        return self.wins + self.losses + self.ties

    @property
    def points(self) -> Floats:
        """What the left item took, a tie counting half."""
        return self.wins + 0.5 * self.ties

    @property
    def countable(self) -> bool:
        """Whether all that is known of a vote is its pair, outcome and perhaps side: no weights, no covariates."""
        if self.design is not None and not (self.design.shape[1] == 1 and (self.design == 1.0).all()):
            return False
        whole = all((each == np.rint(each)).all() for each in (self.wins, self.losses, self.ties))
        return whole and np.allclose(self.squares, self.total, rtol=1e-9, atol=0.0)

    @cached_property
    def pair(self) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.intp], NDArray[np.bool_]]:
        """The unordered pairs: their two items, the pair of each row, and whether the row has them turned round."""
        turned = self.left > self.right
        code = np.minimum(self.left, self.right).astype(np.int64) * self.n + np.maximum(self.left, self.right)
        unique, index = np.unique(code, return_inverse=True)
        return (unique // self.n).astype(np.int32), (unique % self.n).astype(np.int32), index, turned

    def by_pair(self, values: Any, turned: Any = None) -> Floats:
        """Sums over the rows of each unordered pair; of `turned` where a row has them the other way round."""
        first, _, index, around = self.pair
        seen = values if turned is None else np.where(around, turned, values)
        return np.bincount(index, seen, len(first)).astype(np.float64)


@dataclass(frozen=True, eq=False)
class Model:
    """A fitted Bradley-Terry model as numbers: scores in log-odds, effects of covariates and side, log ν, penalty."""

    scores: Floats
    effects: Floats
    log_nu: float | None
    l2: float

    @classmethod
    def of(cls, model: BradleyTerry) -> Model:
        """What `model` learned."""
        side = [model.side_effect_] if model.side_effect else []
        nu = model.tie_strength_
        scores = np.asarray(model.ranking_.scores, dtype=np.float64) / model.ranking_.unit
        l2 = max(float(getattr(model, "l2_", model.l2)), MIN_PENALTY)
        return cls(scores - scores.mean(), np.array([*model.coef_, *side]), float(np.log(nu)) if nu else None, l2)

    def margin(self, table: Table) -> Floats:
        """Score of the left minus that of the right, with side and covariates."""
        gap: Floats = self.scores[table.left] - self.scores[table.right]
        return gap if table.design is None else gap + table.design @ self.effects

    def chances(self, table: Table) -> tuple[Floats, Floats]:
        """Chances of a win of the left and of a tie; without ν a tie is half a win, so the tie's chance is 0."""
        margin = self.margin(table)
        if self.log_nu is None:
            return 1.0 / (1.0 + np.exp(-np.clip(margin, -700, 700))), np.zeros(len(margin))
        top = np.maximum(np.abs(margin) / 2, self.log_nu)  # taken out, so that nothing overflows
        win, loss, tie = np.exp(margin / 2 - top), np.exp(-margin / 2 - top), np.exp(self.log_nu - top)
        return win / (win + loss + tie), tie / (win + loss + tie)

    def refitted(self, table: Table, tol: float = 1e-5) -> Model:
        """The same model fitted to another table of the same rows, starting from here."""
        eta = self.log_nu if table.ties.any() else None
        start = self.scores
        votes = np.zeros(table.n)
        for ends in (table.left, table.right):
            votes += np.bincount(ends, table.total, table.n)
        if table.design is None and eta is None:
            none = np.zeros(len(table.left))
            pairs = Pairs(table.left, table.right, table.wins, table.losses, table.ties, none, none, none)
            quick = coordinate_newton(Adjacency.of_pairs(pairs, table.n), self.l2, tol, 300)
            if quick.converged:
                return replace(self, scores=quick.scores, log_nu=None)
            start = quick.scores
        loss: Any = LogisticRows(table.points, table.total)
        extras = self.effects
        if eta is not None:
            loss, extras = DavidsonRows(table.wins, table.losses, table.ties), np.append(extras, eta)
        rows = Rows(table.n, table.left, table.right, table.design)
        optimum = newton(rows, loss, self.l2, tol, 300, votes=votes, scores=start, extras=extras)
        effects, log_nu = (optimum.extras, None) if eta is None else (optimum.extras[:-1], float(optimum.extras[-1]))
        return replace(self, scores=optimum.scores, effects=np.asarray(effects), log_nu=log_nu)
