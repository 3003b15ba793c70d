"""Elo: ratings that move a little after every game."""

from __future__ import annotations

import math
from collections.abc import Hashable
from typing import Self

import numpy as np
from numpy.typing import NDArray

from podium.data.comparisons import Comparisons, as_comparisons
from podium.data.validation import number_option
from podium.errors import InputError, InPython
from podium.kernels.pairwise.online import elo
from podium.pairwise.base import Ranker, Uses, logistic
from podium.ranking.ranking import Ranking

__all__ = ["Elo"]

Floats = NDArray[np.float64]


class Elo(Ranker):
    """Rate items one vote after the other (Elo 1978).

    After a game both ratings move by k · (score − expected score), in opposite directions; the expected score of a is
    1 / (1 + 10^((b − a)/400)). The order of the votes matters, which suits items that change, as players do.
    `BradleyTerry` uses every vote alike and says how sure it is.

    Parameters
    ----------
    k : float
        Most points one game can move: 4 for a calm leaderboard, 32 where items change fast.
    initial : float
        Rating of a newcomer.

    Attributes
    ----------
    ranking_ : Ranking

    Examples
    --------
    >>> Elo(k=32).fit(Comparisons.from_pairs([("tea", "milk")])).ranking_.scores.tolist()
    [1016.0, 984.0]
    """

    uses = Uses(order=True)
    _begins_with = "fit(comparisons) or update(winner, loser)"

    def __init__(self, *, k: float = 16.0, initial: float = 1000.0) -> None:
        self.k = k
        self.initial = initial

    def fit(self, comparisons: Comparisons) -> Self:
        """Forget everything and rate by these votes, in their order."""
        self._index: dict[Hashable, int] = {}
        self._ratings = np.empty(0)
        return self.partial_fit(comparisons)

    def partial_fit(self, comparisons: Comparisons) -> Self:
        """Go on with these votes; items not known before start at `initial`."""
        as_comparisons(comparisons)
        self._check()
        if not comparisons.ordered or comparisons.count is not None:
            raise InputError(
                "these votes are counted and have no order, which Elo needs; keep each vote a row", InPython(" (keep=)")
            )
        codes = self._codes_of(comparisons.items)
        left, right, outcome, weight = comparisons.vote_rows()
        self._play(codes[left], codes[right], outcome, weight)
        return self._fitted_to(comparisons)

    def update(self, winner: Hashable, loser: Hashable, *, tie: bool = False, weight: float = 1.0) -> Self:
        """Go on with one vote."""
        if winner == loser:
            raise InputError(f"{winner!r} is compared with itself")
        self._check()
        heavy = number_option("weight", weight, least=0)
        codes = self._codes_of((winner, loser))
        self._play(codes[:1], codes[1:], np.array([0.5 if tie else 1.0]), np.array([heavy]))
        return self

    def _check(self) -> None:
        number_option("k", self.k, above=0)
        number_option("initial", self.initial)

    def _codes_of(self, items: object) -> NDArray[np.int32]:
        if "_index" not in vars(self):
            self._index, self._ratings = {}, np.empty(0)
        index = self._index
        codes = np.array([index.setdefault(item, len(index)) for item in items], dtype=np.int32)  # type: ignore[attr-defined]
        new = len(index) - len(self._ratings)
        if new > 0:
            self._ratings = np.concatenate([self._ratings, np.full(new, float(self.initial))])
        return codes

    def _play(
        self,
        left: NDArray[np.int32],
        right: NDArray[np.int32],
        outcome: NDArray[np.float64],
        weight: NDArray[np.float64],
    ) -> None:
        elo(left, right, outcome, weight, float(self.k), math.log(10.0) / 400.0, self._ratings)
        self._moved()

    def __sklearn_is_fitted__(self) -> bool:
        return bool(vars(self).get("_index"))

    def _outcomes(self, margins: Floats) -> tuple[Floats, Floats, Floats]:
        return logistic(margins)  # Elo's expected score

    @property
    def ranking_(self) -> Ranking:  # type: ignore[override]
        """The ratings so far."""
        self._check_fitted()
        return Ranking(tuple(self._index), self._ratings, unit=400.0 / math.log(10.0))
