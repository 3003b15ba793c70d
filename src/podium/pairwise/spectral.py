"""Rank centrality: a random walk that prefers winners, and where it spends its time."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from podium.data.comparisons import Comparisons, as_comparisons
from podium.data.validation import MAX_MARGIN, number_option
from podium.errors import InputError
from podium.pairwise.base import Ranker
from podium.ranking.ranking import Ranking
from podium.ranking.ranks import settled

__all__ = ["RankCentrality"]

Floats = NDArray[np.float64]

DENSE = 600  # items up to which a dense solve is cheapest
ACCURACY = 1e-7  # of a score: the logarithm of a time that is found to 1e-12 of the longest
STEPS = 2000  # of the walk, before a sparse factorisation takes over


class RankCentrality(Ranker):
    """Rank items by the stationary distribution of a walk over the comparisons (Negahban, Oh & Shah 2017).

    From i the walk goes to j, among those i met, at a rate equal to the share of their meetings that j won. Under
    the Bradley-Terry model the time spent at i is proportional to exp(s_i); scores are the logarithms, centred.

    Parameters
    ----------
    prior : float
        Wins added to both sides of every pair that met. With 0, some items that only win or only lose would have the
        walk all to themselves, or never see it; `fit` then says so.

    Attributes
    ----------
    ranking_ : Ranking
        Scores in log-odds, without intervals.
    n_iter_, solver_ : how it was found: "dense", "walk" or "sparse"

    Examples
    --------
    >>> votes = Comparisons.from_pairs([("tea", "milk")] * 3 + [("milk", "tea")])
    >>> round(float(np.ptp(RankCentrality(prior=0).fit(votes).ranking_.scores)), 4)  # log 3
    1.0986
    """

    def __init__(self, *, prior: float = 0.1) -> None:
        self.prior = prior

    def fit(self, comparisons: Comparisons) -> Self:
        """Find the stationary distribution."""
        c = comparisons
        as_comparisons(c)
        number_option("prior", self.prior, least=0, below=MAX_MARGIN)
        a = c.adjacency
        groups = int(a.components.max()) + 1
        if groups > 1:
            raise InputError(
                f"items fall into {groups:,} groups never compared with each other, and a walk never leaves its own; "
                "rank each group, or use Bradley-Terry"
            )
        if self.prior == 0 and not a.is_strongly_connected:
            raise InputError("some items never lose to the rest, so the walk ends with them; set prior > 0")
        lost = np.asarray(a.total, dtype=np.float64) - a.wins
        rate = (lost + self.prior) / (a.total + 2.0 * self.prior)
        rate /= np.diff(a.start).mean()  # a walk in its own time: the stationary distribution does not feel the unit
        time = self._dense(a, rate) if len(a) <= DENSE else self._walk(a, rate)
        scores = np.log(np.maximum(time, 1e-300))
        self.ranking_ = Ranking(c.items, settled(scores - scores.mean(), ACCURACY), record=c.record)
        return self._fitted_to(c)

    def _dense(self, a: Any, rate: Floats) -> Floats:
        """Solve πQ = 0 with Σπ = 1 in place of the last equation."""
        n = len(a)
        owner = np.repeat(np.arange(n), np.diff(a.start))
        flow = np.zeros((n, n))
        flow[a.partner, owner] = rate
        flow[np.diag_indices(n)] = -np.bincount(owner, rate, n)
        flow[-1] = 1.0
        self.n_iter_, self.solver_ = 1, "dense"
        return np.linalg.solve(flow, np.eye(n)[-1]).astype(np.float64)

    def _walk(self, a: Any, rate: Floats) -> Floats:
        """Follow the jumps of the walk, half of the time staying; the time spent is jumps over the rate of leaving."""
        from scipy.sparse import csr_array

        n = len(a)
        owner = np.repeat(np.arange(n), np.diff(a.start))
        leave = np.bincount(owner, rate, n).astype(np.float64)
        jumps = csr_array((rate / leave[owner], a.partner, a.start), shape=(n, n)).T.tocsr()
        here = leave / leave.sum()
        for step in range(1, STEPS + 1):
            there = 0.2 * here + 0.8 * (jumps @ here)
            moved = float(np.abs(there - here).max() * n)
            here = there
            if moved < 1e-12:
                self.n_iter_, self.solver_ = step, "walk"
                return np.asarray(here / leave, dtype=np.float64)
        return self._sparse(jumps, leave)

    def _sparse(self, jumps: Any, leave: Floats) -> Floats:
        """A walk that mixes slowly is found by factorisation, one item held at 1."""
        from scipy.sparse import eye_array
        from scipy.sparse.linalg import splu

        matrix = (eye_array(len(leave)) - jumps).tocsc()
        rest = splu(matrix[1:, 1:]).solve(-matrix[1:, [0]].toarray().ravel())
        self.n_iter_, self.solver_ = STEPS + 1, "sparse"
        return np.concatenate([[1.0], rest]) / leave
