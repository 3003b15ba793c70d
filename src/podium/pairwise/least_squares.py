"""Least squares: scores whose differences are nearest to the margins observed, and what no scores can explain."""

from __future__ import annotations

import warnings
from functools import partial
from typing import Self

import numpy as np
from numpy.typing import NDArray

from podium.data.comparisons import Comparisons, as_comparisons
from podium.data.validation import number_option
from podium.errors import ConnectivityWarning
from podium.kernels.pairwise.bradley_terry import scatter_difference
from podium.pairwise._fit.rows import pull_rows, squared_loss, vote_targets
from podium.pairwise._fit.solvers import LinearSolver, Rows
from podium.pairwise.base import Ranker, Uses
from podium.ranking.ranking import Ranking
from podium.ranking.ranks import settled
from podium.ranking.uncertainty import Information

__all__ = ["LeastSquares"]

Floats = NDArray[np.float64]


class LeastSquares(Ranker):
    """Rank items by least squares on margins (HodgeRank: Jiang, Lim, Yao & Ye 2011).

    `fit` minimises Σ weight · (s_i − s_j − y)² + l2 · ‖s‖², y being the margin of i over j: as given, or 1 for a win,
    −1 for a loss and 0 for a tie. The solution is one linear system with the graph Laplacian of the votes.

    Parameters
    ----------
    l2 : float
        Pull towards zero; 0 is fine, groups of items never compared are then centred each on its own.

    Attributes
    ----------
    ranking_ : Ranking
        In units of the margin, with intervals.
    cyclic_share_ : float
        Share of the evidence that no ranking can explain: the squared distance of the pairs' mean margins from the
        nearest score differences, over their squared length, both weighted by votes. 0 when margins add up along every
        path, 1 when all is cycles (rock, paper, scissors).
    noise_ : float
        Standard deviation of a vote around its pair's score difference.

    Examples
    --------
    >>> votes = Comparisons.from_arrays(["a", "b"], ["b", "c"], margin=[2.0, 1.0])
    >>> LeastSquares().fit(votes).ranking_.scores.round(4).tolist()
    [1.6667, -0.3333, -1.3333]
    """

    uses = Uses(margins=True)

    def __init__(self, *, l2: float = 0.0) -> None:
        self.l2 = l2

    def fit(self, comparisons: Comparisons) -> Self:
        """Solve."""
        c = comparisons
        as_comparisons(c)
        number_option("l2", self.l2, least=0)
        left, right, loss = squared_loss(c)
        rows = Rows(len(c.items), left, right)
        plain = _solve(rows, loss.total, loss.target, 0.0, c)
        scores = _solve(rows, loss.total, loss.target, self.l2, c) if self.l2 else plain
        groups = int(c.adjacency.components.max()) + 1
        if groups > 1:
            warnings.warn(
                f"items fall into {groups:,} groups never compared with each other; scores compare only within a group",
                ConnectivityWarning,
                stacklevel=2,
            )
        flow, weight = _by_pair(c)
        length = float(weight @ flow**2)
        gap = plain[c.pairs.left] - plain[c.pairs.right] - flow
        self.cyclic_share_ = float(weight @ gap**2) / length if length > 0 else 0.0
        off = float(loss.total @ (scores[left] - scores[right] - loss.target) ** 2) + loss.within
        total, squares = float(loss.total.sum()), float(c.weight_squares().sum())
        votes = total * (total / squares)  # of equal weight; their number when weights are counts
        freedom = votes - (len(c.items) - groups)
        self.noise_ = float(np.sqrt(off / total * (votes / freedom))) if freedom > 1e-9 * votes else float("nan")
        sure = self.noise_ > 0  # without noise, or with as many scores as votes, there is nothing to estimate it from
        self.ranking_ = Ranking(
            c.items,
            settled(scores, 1e-9 * np.ptp(scores)),
            information=partial(_information, c, rows, loss.total, scores, self.noise_, self.l2) if sure else None,
            record=c.record,
        )
        return self._fitted_to(c)

    @property
    def in_margins(self) -> bool:
        """Whether scores are counted in the votes' margins."""
        return True


def _solve(rows: Rows, weight: Floats, target: Floats, l2: float, c: Comparisons) -> Floats:
    force = np.zeros(rows.n)
    scatter_difference(rows.left, rows.right, weight * target, force)
    scores = LinearSolver(rows, l2).factor(weight, 1e-12)(force)
    groups = c.adjacency.components
    centred: Floats = scores - (np.bincount(groups, scores) / np.bincount(groups))[groups]
    return centred


def _by_pair(c: Comparisons) -> tuple[Floats, Floats]:
    """Mean margin and weight of each pair; the rows of the loss may be single votes."""
    p = c.pairs
    if p.margin is not None:
        return p.margin, p.total
    return np.asarray((p.left_wins - p.right_wins) / p.total, dtype=np.float64), p.total


def _information(c: Comparisons, rows: Rows, weight: Floats, scores: Floats, noise: float, l2: float) -> Information:
    """A normal likelihood with the noise found."""
    left, right, outcome, heavy, squares, clusters = pull_rows(c)
    wanted = vote_targets(c, outcome)
    return Information(
        rows.n,
        rows.left,
        rows.right,
        weight / noise**2,
        ridge=l2 / noise**2,
        vote_left=left,
        vote_right=right,
        vote_gradient=(scores[left] - scores[right] - wanted) / noise**2,
        vote_weight=heavy,
        vote_weight_sq=squares,
        scores=scores,
        clusters=clusters,
    )
