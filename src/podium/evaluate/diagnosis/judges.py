"""Does a judge vote otherwise than the others did on the same pairs, in what decides who of two leads?"""

from __future__ import annotations

import numpy as np

from podium.data.comparisons import Comparisons
from podium.pairwise._fit.solvers import LinearSolver, Rows

__all__ = ["JudgeTest"]


class JudgeTest:
    """Mantel and Haenszel's test: the judge's wins on each pair against the share that all judges gave there.

    Given what was decided on a pair, how many of a judge's votes on it went to the first item has a hypergeometric
    distribution if judges are alike. A pair counts by what one vote on it does to the difference of the two scores in
    least squares. Ties are left out; pairs on which the judge was alone tell nothing.
    """

    def __init__(self, votes: Comparisons) -> None:
        assert votes.judge is not None, "asked of votes with judges"
        left, right = votes.left.astype(np.int64), votes.right.astype(np.int64)
        sign = np.ones(len(left), dtype=np.int64) if votes.outcome is None else votes.outcome.astype(np.int64)
        self.n = len(votes.items)
        code = np.minimum(left, right) * self.n + np.maximum(left, right)
        pairs, self._pair = np.unique(code, return_inverse=True)
        self._first, self._second = (pairs // self.n).astype(np.int32), (pairs % self.n).astype(np.int32)
        self._judge = votes.judge
        number = np.ones(len(left)) if votes.count is None else votes.count.astype(np.float64)
        self._decided = np.where(sign == 0, 0.0, number)
        self._won = np.where((sign > 0) == (left < right), self._decided, 0.0)
        self._votes, self._wins = self._by_pair(self._decided), self._by_pair(self._won)

    def _by_pair(self, values: np.ndarray) -> np.ndarray:
        sums: np.ndarray = np.bincount(self._pair, values, len(self._first))
        return sums

    def z_value(self, judge: int, one: int, other: int) -> float:
        """How many standard deviations the judge's votes favour `one` over `other`, more than all judges' votes do."""
        mine = self._judge == judge
        votes, wins = self._by_pair(self._decided * mine), self._by_pair(self._won * mine)
        total = np.maximum(self._votes, 1.0)
        share = self._wins / total
        variance = votes * share * (1.0 - share) * (total - votes) / np.maximum(total - 1.0, 1.0)
        pull = self._pulls(one, other)
        spread = float(pull**2 @ variance)
        return float(pull @ (wins - votes * share)) / np.sqrt(spread) if spread > 1e-12 else 0.0

    def _pulls(self, one: int, other: int) -> np.ndarray:
        """What a vote for the first item of each pair adds to the score of `one` less that of `other`."""
        rows = Rows(self.n, self._first, self._second)
        force = np.zeros(self.n)
        force[one], force[other] = 1.0, -1.0
        flow = LinearSolver(rows, 1e-3).factor(np.maximum(self._votes, 1e-9), 1e-8)(force)
        pulls: np.ndarray = flow[self._first] - flow[self._second]
        return pulls
