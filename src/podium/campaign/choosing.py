"""The one seam to whatever chooses pairs and reads the order off the answers.

`podium.active.planner.Planner` is that. Where it is not there, pairs are uniformly random (check pairs): more votes are
needed, and the bands of a Bradley-Terry fit hold for them, as nothing was chosen.
"""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from podium.campaign.live import Live
from podium.campaign.options import Options
from podium.errors import PodiumWarning
from podium.store.values import KINDS, Item

__all__ = ["Chooser", "UniformPairs", "chooser"]

TYPICAL = 0.15  # stable: a typical band covers no more of the list
TELLING = 20  # votes before that is said
LEVEL = 0.9  # of bands
# The planner's kinds; what is gold or imported was not chosen by it, but tells as much as what was.
PLANNER_KINDS = ("chosen", "check", "repeat")
KIND_CODES = np.array([PLANNER_KINDS.index(kind) if kind in PLANNER_KINDS else 0 for kind in KINDS])


class Chooser(Protocol):
    """What a campaign needs of a planner. Items are numbers from 0."""

    def load(self, left: Any, right: Any, value: Any, judge: Any = 0, kind: Any = None) -> None:
        """Take these votes, all at once."""

    def plan(self, count: int, *, out: Any = (), tired: Any = (), judge: int | None = None) -> Any:
        """Pairs worth asking: left, right and kind (a number or a name) of each."""

    def order(self, aim: str = "truth") -> NDArray[Any]:
        """Items, best first."""

    def bands(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """First and last rank, from 1, in which each item may truly stand, at 90 %."""

    def summary(self) -> Any:
        """Where the asking stands: stable, finished, until_stable, width."""


def chooser(items: list[Item], live: Live, options: Options, seed: int, plans: int = 0) -> Chooser:
    """The planner of a campaign, with its votes; `plans` is how many plans were made before."""
    features = [item.features for item in items]
    known = None if not features or any(row is None for row in features) else np.array(features, dtype=np.float64)
    goal = options.goal if options.top is None or options.top < len(items) else "order"
    settings: dict[str, Any] = {"goal": goal, "random_share": options.check_share, "features": known}
    try:
        made: Any = importlib.import_module("podium.active.planner").Planner(len(items), seed=seed, **settings)
    except ModuleNotFoundError:
        made = UniformPairs(len(items), seed=seed)
    made.plans = plans
    made.load(live.left, live.right, live.value, live.judge, KIND_CODES[live.kind])
    planner: Chooser = made
    return planner


@dataclass(frozen=True, slots=True)
class UniformSummary:
    """Where the asking stands."""

    stable: bool
    finished: bool
    until_stable: int
    width: float
    turning: bool = False


@dataclass(frozen=True, slots=True)
class UniformQuestions:
    """Pairs with their sides drawn; all are check pairs."""

    left: NDArray[np.int64]
    right: NDArray[np.int64]
    kind: NDArray[np.int64]


class UniformPairs:
    """Random pairs and a Bradley-Terry order: what there is without a planner."""

    def __init__(self, items: int, *, seed: int) -> None:
        self.n, self.seed, self.plans = items, seed, 0
        self._votes: tuple[Any, ...] = ()
        self._ranking: Any = None

    def load(self, left: Any, right: Any, value: Any, judge: Any = 0, kind: Any = None) -> None:
        """Take these votes, all at once."""
        self._votes = (np.asarray(left), np.asarray(right), np.asarray(value))
        self._ranking = None

    def plan(self, count: int, *, out: Any = (), tired: Any = (), judge: int | None = None) -> UniformQuestions:
        """Pairs without a vote, at random; then, when all have one, pairs again."""
        n = self.n
        rng = np.random.default_rng([self.seed, self.plans, len(self._votes[0])])
        barred = self._keys(out) | self._keys(tired)
        asked = self._keys(zip(self._votes[0].tolist(), self._votes[1].tolist(), strict=True))
        free = n * (n - 1) // 2 - len(barred | asked)
        shut = barred | asked if free >= count else set(barred)
        found: list[int] = []
        for key in self._draws(rng, 4 * (len(shut) + count)):
            if key not in shut:
                found.append(key)
                shut.add(key)
            if len(found) == count:
                break
        pairs = np.array([divmod(key, n) for key in found], dtype=np.int64).reshape(-1, 2)
        pairs = np.where(rng.random(len(pairs))[:, None] < 0.5, pairs[:, ::-1], pairs)
        return UniformQuestions(pairs[:, 0], pairs[:, 1], np.ones(len(pairs), dtype=np.int64))

    def _keys(self, pairs: Iterable[Any]) -> set[int]:
        return {int(min(a, b)) * self.n + int(max(a, b)) for a, b in pairs}

    def _draws(self, rng: np.random.Generator, enough: int) -> Iterable[int]:
        n = self.n
        if n * (n - 1) // 2 <= enough:
            first, second = np.triu_indices(n, 1)
            yield from rng.permutation(first * n + second).tolist()
            return
        while True:
            a, b = rng.integers(0, n, 2).tolist()
            if a != b:
                yield min(a, b) * n + max(a, b)

    def _fitted(self) -> Any:
        if self._ranking is None:
            from podium.data.comparisons import Comparisons
            from podium.pairwise.bradley_terry import BradleyTerry

            left, right, value = self._votes
            outcome = np.sign(2 * value - 1).astype(np.int8)
            codes = left.astype(np.int32), right.astype(np.int32)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", PodiumWarning)  # bands say the same, item by item
                self._ranking = BradleyTerry(l2=0.1).fit(Comparisons(range(self.n), *codes, outcome=outcome)).ranking_
        return self._ranking

    def order(self, aim: str = "truth") -> NDArray[Any]:
        """Items, best first."""
        if not len(self._votes[0]):
            return np.random.default_rng([self.seed, 5]).permutation(self.n)
        return np.array(self._fitted().order, dtype=np.int64)

    def bands(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """First and last rank of each item at 90 %."""
        if not len(self._votes[0]):
            return np.ones(self.n, dtype=np.int64), np.full(self.n, self.n)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PodiumWarning)
            lower, upper = self._fitted().rank_intervals(LEVEL)
        return np.asarray(lower, dtype=np.int64), np.asarray(upper, dtype=np.int64)

    def summary(self) -> UniformSummary:
        """Stable when a typical band covers at most 15 % of the list; bands narrow as one over the root of votes."""
        lower, upper = self.bands()
        votes, width = len(self._votes[0]), float(np.mean(upper - lower))
        allowed = TYPICAL * (self.n - 1)
        stable = votes >= TELLING and width <= allowed
        more = votes * ((width / allowed) ** 2 - 1.0) if votes else 3.0 * self.n * np.log2(max(self.n, 2))
        return UniformSummary(stable, False, 0 if stable else max(1, TELLING - votes, int(np.ceil(more))), width)
