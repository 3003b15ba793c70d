"""Bradley-Terry on votes that workers keep: Newton's method by sums over rows, errors by a matrix of sums."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from podium.data.kept import KeptComparisons, VotePart
from podium.errors import ConvergenceError, InputError, Option
from podium.pairwise._fit.likelihoods import DavidsonRows, LogisticRows
from podium.pairwise._fit.row_sums import KeptSums, Part, Sums, added_products, newton_by_sums
from podium.pairwise._fit.solvers import Rows, Solution, warn_of_separation
from podium.pairwise._fit.strength_model import refuse_idle, refuse_repeated
from podium.ranking.uncertainty import Information

__all__ = ["KeptModel"]

Floats = NDArray[np.float64]

MAX_ITEMS_WITH_ERRORS = 2000  # of which workers add up a matrix
COUNTED = 1e-9  # share by which the sum of squared weights may differ from that of weights that are counts


@dataclass(frozen=True)
class _Kind:
    """Which likelihood: Davidson's, or plain; and whether the left side has an advantage."""

    davidson: bool
    side: bool
    covariates: int


class KeptModel:
    """The likelihood of votes that are kept elsewhere; what `StrengthModel` is of votes that are here."""

    def __init__(self, votes: KeptComparisons, ties: str, side: bool) -> None:
        self.votes = votes
        self.columns = tuple(f"covariate:{name}" for name in votes.covariate_names) + (("side",) if side else ())
        tied = float(votes.ties.sum()) / 2.0
        if ties == "davidson" and tied == votes.weight:
            raise InputError(
                "every vote is a tie: ", Option("ties", "davidson"), " cannot tell the items apart; use ",
                Option("ties", "half"),
            )  # fmt: skip
        davidson = ties == "davidson" and tied > 0
        self.columns += ("tie",) if davidson else ()
        self.tied, self.davidson = tied, davidson
        self.rows = votes.parts.then(_rows_of, _Kind(davidson, side, len(votes.covariate_names)))
        self.sums = KeptSums(self.rows)
        self.column_size = np.ones(int(side))
        if votes.covariate_names:
            self._check_design()

    def _check_design(self) -> None:
        """Refuse covariates that say nothing, or the same as others."""
        products, rows = self.rows.sum(_products_of, add=_added)
        self.column_size = np.sqrt(np.diag(products) / rows)
        refuse_idle(self.columns, self.column_size)
        refuse_repeated(self.columns, products / rows / np.outer(self.column_size, self.column_size), rows)

    def warn_of_separation(self, found: Solution) -> None:
        """Say so when a covariate or the side alone decides the votes."""
        warn_of_separation(self.columns, self.column_size[None], found.extras, stacklevel=4)

    @property
    def counted(self) -> bool:
        """Whether weights are counts."""
        return math.isclose(self.votes.weight, self.votes.weight_sq, rel_tol=COUNTED)

    @property
    def size(self) -> tuple[int, float]:
        """Parameters and votes."""
        v = self.votes
        groups = int(v.reach.adjacency.components.max(initial=0)) + 1
        return len(v.items) - groups + len(self.columns), v.weight * (v.weight / v.weight_sq)

    def optimum(self, l2: float, tol: float, max_iter: int) -> Solution:
        """Where the penalised loss is least, or a `ConvergenceError`."""
        v = self.votes
        points, votes = v.wins + 0.5 * v.ties, v.wins + v.losses + v.ties
        start = 1.2 * np.log((points + 1.0) / (votes - points + 1.0))
        extras = np.zeros(len(self.columns))
        if self.davidson:
            extras[-1] = math.log(2.0 * self.tied / (v.weight - self.tied))
        begin, size = start - start.mean(), self.column_size
        found = newton_by_sums(self.sums, l2, tol, max_iter, votes=votes, scores=begin, extras=extras, size=size)
        if not found.converged:
            raise ConvergenceError(
                f"no optimum in {max_iter} steps: expected and observed wins still differ by {found.gap:.1e} of an "
                "item's votes; raise ",
                Option("l2"),
                f", now {l2:g}",
            )
        return found

    def information(self, found: Solution, l2: float, at: Sums) -> Information | None:
        """Curvature at the optimum; None where it would take too large a matrix, or weights are no counts."""
        n = len(self.votes.items)
        if n > MAX_ITEMS_WITH_ERRORS or not self.counted:
            return None
        across: Floats = self.rows.sum(_curvature_of, found.scores, found.extras, add=added_products)
        left, right = np.nonzero(across)
        extra = len(found.extras) > 0
        above, below = self.votes.reach.adjacency.open_ended
        return Information(
            n,
            left.astype(np.int32),
            right.astype(np.int32),
            across[left, right],
            ridge=2.0 * l2,
            border=at.border if extra else None,
            corner=at.corner if extra else None,
            scores=found.scores,
            open_above=above,
            open_below=below,
            tie_strength=math.exp(found.extras[-1]) if self.davidson else 0.0,
        )


def _rows_of(part: VotePart, kind: _Kind) -> Part:
    """The rows of the loss of one part: pairs, or single votes where covariates differ between them."""
    c, n = part.votes, part.n
    if c is None:
        none, width = np.empty(0), kind.covariates + kind.side
        rows = Rows(n, np.empty(0, np.int32), np.empty(0, np.int32), np.empty((0, width)) if width else None)
        return rows, DavidsonRows(none, none, none) if kind.davidson else LogisticRows(none, none)
    if c.covariates is not None:
        left, right, outcome, weight = c.vote_rows()
        wins, losses, ties = (weight * (outcome == value) for value in (1.0, 0.0, 0.5))
    else:
        p = c.pairs_by_side if kind.side else c.pairs
        left, right = p.left, p.right
        wins, losses, ties = (np.asarray(v, dtype=np.float64) for v in (p.left_wins, p.right_wins, p.ties))
    columns = [] if c.covariates is None else [c.covariates]
    if kind.side:
        columns.append(np.ones((len(left), 1)))
    design = np.ascontiguousarray(np.hstack(columns)) if columns else None
    rows = Rows(n, np.ascontiguousarray(part.codes[left]), np.ascontiguousarray(part.codes[right]), design)
    if kind.davidson:
        return rows, DavidsonRows(wins, losses, ties)
    return rows, LogisticRows(wins + 0.5 * ties, wins + losses + ties)


def _products_of(part: Part) -> tuple[Floats, int]:
    """Products of the columns of the design, and of how many rows they are sums."""
    design = part[0].design
    assert design is not None, "there are covariates"
    return design.T @ design, len(design)


def _added(one: tuple[Floats, int], other: tuple[Floats, int]) -> tuple[Floats, int]:
    return one[0] + other[0], one[1] + other[1]


def _curvature_of(part: Part, scores: Floats, extras: Floats) -> Floats:
    """Curvature between every two items, in one triangle."""
    rows, loss = part
    curvature = loss(rows.margin(scores, extras), extras)[2]
    low, high = np.minimum(rows.left, rows.right), np.maximum(rows.left, rows.right)
    cells = np.bincount(low.astype(np.int64) * rows.n + high, curvature, rows.n**2)
    return np.asarray(cells.reshape(rows.n, rows.n), dtype=np.float64)
