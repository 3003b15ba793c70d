"""Elo: ratings that move a little after every game."""

from __future__ import annotations

import math
from collections.abc import Hashable
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from podium.data.comparisons import Comparisons, as_comparisons
from podium.data.tables.labels import item_of
from podium.data.validation import flag_option, number_option
from podium.errors import InputError, InPython, Option
from podium.kernels.pairwise.online import elo
from podium.pairwise.base import Ranker, Uses, logistic
from podium.ranking.ranking import Ranking

__all__ = ["Elo"]

Floats = NDArray[np.float64]

# By how much a game counts at which margin; beyond the last the line goes on until no game is so one-sided.
STEEPER = ((0.0, 1.0, 2.0, 3.0, 1e6), (1.0, 1.0, 1.5, 1.75, (11.0 + 1e6) / 8.0))
MAX_RATING = 1e100  # sums of very many are still numbers


class Elo(Ranker):
    """Rate items one vote after the other (Elo 1978).

    After a game both ratings move by k · (score − expected score), in opposite directions; the expected score of a is
    1 / (1 + 10^((b − a)/400)). The order of the votes matters (that of their times, where they have any), which suits
    items that change, as players do.
    `BradleyTerry` uses every vote alike and says how sure it is.

    Parameters
    ----------
    k : float
        Most points one game can move: 4 for a calm leaderboard, 32 where items change fast.
    initial : float
        Rating of a newcomer.
    side_advantage : float
        Points that the left (home) side is ahead by before the game, where votes say which side was which; 0 for none.
    margins : bool
        Let a game move ratings the more, the larger its margin: by 1 up to a margin of 1, 1.5 for 2 and (11 + margin)/8
        from 3 on, as the World Football Elo Ratings do, and in between by straight lines.

    Attributes
    ----------
    ranking_ : Ranking

    Examples
    --------
    >>> Elo(k=32).fit(Comparisons.from_pairs([("tea", "milk")])).ranking_.scores.tolist()
    [1016.0, 984.0]
    """

    uses = Uses(sides=True, margins=True, time=True, order=True)
    state_version = 3  # since it counts each item's games
    _begins_with = "fit(comparisons) or update(winner, loser)"

    @classmethod
    def upgraded(cls, state: dict[str, Any], version: int) -> dict[str, Any]:
        """Version 1 knew neither sides nor margins, and version 2 kept no record."""
        return {"side_advantage": 0.0, "margins": False, "_record": None} | state

    def __init__(
        self, *, k: float = 16.0, initial: float = 1000.0, side_advantage: float = 0.0, margins: bool = False
    ) -> None:
        self.k = k
        self.initial = initial
        self.side_advantage = side_advantage
        self.margins = margins

    def fit(self, comparisons: Comparisons) -> Self:
        """Forget everything and rate by these votes, in their order."""
        self._begin()
        return self.partial_fit(comparisons)

    def partial_fit(self, comparisons: Comparisons) -> Self:
        """Go on with these votes; items not known before start at `initial`."""
        as_comparisons(comparisons)
        self._check()
        if not comparisons.ordered or comparisons.count is not None:
            raise InputError(
                "these votes are counted and have no order, which Elo needs; keep each vote a row", InPython(" (keep=)")
            )
        votes = comparisons.by_time()
        left, right, outcome, weight = votes.vote_rows()
        if self.margins:
            if votes.margin is None:
                raise InputError(Option("margins", True), " needs votes with a margin or goals; leave it out")
            weight = weight * np.interp(np.abs(votes.margin), *STEEPER)
        self._check_moves(weight)
        codes = self._codes_of(votes.items)
        self._play(codes[left], codes[right], outcome, weight, self._advantage(votes))
        self._count(codes, votes.record())
        return self._fitted_to(comparisons)

    def update(self, winner: Hashable, loser: Hashable, *, tie: bool = False, weight: float = 1.0) -> Self:
        """Go on with one vote, with neither side favoured."""
        pair = item_of("winner", winner), item_of("loser", loser)
        if winner == loser:
            raise InputError(f"{winner!r} is compared with itself")
        self._check()
        heavy = np.array([number_option("weight", weight, least=0)])
        self._check_moves(heavy)
        codes = self._codes_of(pair)
        self._play(codes[:1], codes[1:], np.array([0.5 if tie else 1.0]), heavy, 0.0)
        won, tied = (0.0, heavy[0]) if tie else (heavy[0], 0.0)
        self._count(codes, ([won, 0.0], [0.0, won], [tied, tied]))
        return self

    def _begin(self) -> None:
        self._index: dict[Hashable, int] = {}
        self._ratings = np.empty(0)
        self._record: Floats | None = np.empty((3, 0))  # wins, losses and ties; None where an old file did not count

    def _count(self, codes: NDArray[np.int32], record: Any) -> None:
        if self._record is not None:
            self._record[:, codes] += record

    def _check(self) -> None:
        number_option("k", self.k, above=0)
        for name in ("initial", "side_advantage"):
            if abs(number_option(name, getattr(self, name))) > MAX_RATING:
                raise InputError(Option(name, getattr(self, name)), f": ratings go up to {MAX_RATING:g}")
        flag_option("margins", self.margins)

    def _check_moves(self, weight: NDArray[np.float64]) -> None:
        """Refuse votes that move ratings to where numbers end."""
        heaviest = float(weight.max(initial=0.0))
        if heaviest > MAX_RATING / float(self.k):
            raise InputError(
                Option("k", self.k),
                f": a vote of weight {heaviest:g} moves ratings by more than {MAX_RATING:g}; lower either",
            )

    def _advantage(self, votes: Comparisons) -> float:
        return float(self.side_advantage) if votes.sided else 0.0

    def _codes_of(self, items: object) -> NDArray[np.int32]:
        if "_index" not in vars(self):
            self._begin()
        index = self._index
        codes = np.array([index.setdefault(item, len(index)) for item in items], dtype=np.int32)  # type: ignore[attr-defined]
        new = len(index) - len(self._ratings)
        if new > 0:
            self._ratings = np.concatenate([self._ratings, np.full(new, float(self.initial))])
            if self._record is not None:
                self._record = np.hstack([self._record, np.zeros((3, new))])
        return codes

    def _play(
        self,
        left: NDArray[np.int32],
        right: NDArray[np.int32],
        outcome: NDArray[np.float64],
        weight: NDArray[np.float64],
        advantage: float,
    ) -> None:
        elo(left, right, outcome, weight, float(self.k), math.log(10.0) / 400.0, advantage, self._ratings)
        self._moved()

    def __sklearn_is_fitted__(self) -> bool:
        return bool(vars(self).get("_index"))

    @property
    def side_effect_(self) -> float:
        """The advantage given to the left side, in log-odds."""
        self._check_fitted()
        return float(self.side_advantage) * math.log(10.0) / 400.0

    def _margins(self, c: Comparisons) -> Floats:
        margins: Floats = super()._margins(c) + (self.side_effect_ if c.sided else 0.0)
        return margins

    def _outcomes(self, margins: Floats) -> tuple[Floats, Floats, Floats]:
        return logistic(margins)  # Elo's expected score

    @property
    def ranking_(self) -> Ranking:  # type: ignore[override]
        """The ratings so far."""
        self._check_fitted()
        record = None if self._record is None else (*self._record.copy(),)
        return Ranking(tuple(self._index), self._ratings, unit=400.0 / math.log(10.0), record=record)
