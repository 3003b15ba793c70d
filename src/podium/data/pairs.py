"""Pairs: the votes as counts, laid out by pair and by item, and what can be reached through them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from podium.kernels.pairwise.counts import item_sums, lay_out_pairs, lay_out_wins, pair_slots
from podium.kernels.pairwise.graph import reach, strong_components

__all__ = ["Adjacency", "Pairs", "count_rows", "count_table"]

Floats = NDArray[np.float64]
Codes = NDArray[np.int32]


@dataclass(frozen=True, eq=False, slots=True)
class Pairs:
    """The distinct pairs and what happened in each: sums of weights, and of squared weights.

    A pair is unordered (left is the smaller code) unless counted by side. Iterating gives the five columns left,
    right, left_wins, right_wins, ties. Counts of unweighted votes are integers.
    """

    left: Codes
    right: Codes
    left_wins: NDArray[Any]
    right_wins: NDArray[Any]
    ties: NDArray[Any]
    left_wins_sq: NDArray[Any]
    right_wins_sq: NDArray[Any]
    ties_sq: NDArray[Any]
    margin: Floats | None = None
    margin_ss: Floats | None = None

    def __len__(self) -> int:
        return len(self.left)

    def __iter__(self) -> Iterator[NDArray[Any]]:
        return iter((self.left, self.right, self.left_wins, self.right_wins, self.ties))

    @property
    def total(self) -> Floats:
        """Weight of all meetings of each pair."""
        return np.asarray(self.left_wins + self.right_wins + self.ties, dtype=np.float64)

    @property
    def left_points(self) -> Floats:
        """Wins of the left item plus half the ties."""
        return np.asarray(self.left_wins + 0.5 * self.ties, dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Adjacency:
    """The votes laid out by item: item i met partner[start[i]:start[i + 1]], each of them once.

    `wins` is what i took of the `total` weight of those meetings, a tie counting half.
    """

    start: NDArray[np.int64]
    partner: Codes
    wins: NDArray[Any]
    total: NDArray[Any]

    @classmethod
    def of_wins(cls, winner: NDArray[Any], loser: NDArray[Any], n: int) -> Self:
        """Lay out rows that say nothing but who beat whom."""
        rows = len(winner)
        start, position = np.zeros(n + 2, dtype=np.int64), np.full(n, -1, dtype=np.int32)
        partner = np.empty(2 * rows, dtype=np.uint32)
        # Counts are exact in single precision below 2²⁴, at half the memory; `Comparisons` keeps to that.
        wins, total = np.empty(2 * rows, dtype=np.float32), np.empty(2 * rows, dtype=np.float32)
        m = lay_out_wins(winner, loser, start, position, partner, wins, total)
        columns = partner[:m].view(np.int32), wins[:m], total[:m]
        if m < rows:  # many repeats: do not hold on to the empty ends
            columns = columns[0].copy(), columns[1].copy(), columns[2].copy()
        return cls(start[: n + 1], *columns)

    @classmethod
    def of_pairs(cls, pairs: Pairs, n: int) -> Self:
        """Lay out unordered pairs."""
        m = 2 * len(pairs)
        start, partner = np.zeros(n + 2, dtype=np.int64), np.empty(m, dtype=np.int32)
        wins, total = np.empty(m), np.empty(m)
        ties = np.ascontiguousarray(pairs.ties)
        lay_out_pairs(pairs.left, pairs.right, pairs.left_wins, pairs.right_wins, ties, start, partner, wins, total)
        return cls(start[: n + 1], partner, wins, total)

    def pairs(self) -> Pairs:
        """The pairs behind a layout of whole counts without ties."""
        owner = np.repeat(np.arange(len(self), dtype=np.int32), np.diff(self.start))
        once = owner < self.partner
        wins, total = self.wins[once].astype(np.int32), self.total[once].astype(np.int32)
        return _counted(owner[once], self.partner[once], wins, total - wins)

    def __len__(self) -> int:
        return len(self.start) - 1

    @cached_property
    def _by_item(self) -> tuple[Floats, Floats, NDArray[np.bool_], NDArray[np.bool_]]:
        n = len(self)
        points, votes = np.empty(n), np.empty(n)
        won, lost = np.empty(n, dtype=np.uint8), np.empty(n, dtype=np.uint8)
        item_sums(self.start, self.wins, self.total, points, votes, won, lost)
        return points, votes, won.view(np.bool_), lost.view(np.bool_)

    @property
    def sums(self) -> tuple[Floats, Floats]:
        """What each item took (wins and half its ties), and the weight of its votes."""
        return self._by_item[:2]

    @property
    def one_sided(self) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Items that were compared and never lost, and that never won; a tie is both."""
        _, _, won, lost = self._by_item
        return won & ~lost, lost & ~won

    @cached_property
    def components(self) -> NDArray[np.int32]:
        """For each item, the number of its group of items compared with each other, directly or through others."""
        labels = self._reached(3, 0)
        number = 1
        while (root := int(labels.argmin())) >= 0 and labels[root] < 0:
            self._reached(3, root, number, labels)
            number += 1
        return labels

    @cached_property
    def is_strongly_connected(self) -> bool:
        """Whether every item can be reached from every other over wins and ties."""
        _, _, won, lost = self._by_item
        if not (won & lost).all():
            return False
        return all(not self._reached(way, 0).any() for way in (1, 2))

    @cached_property
    def strong_components(self) -> NDArray[np.int32]:
        """For each item, the number of its strongly connected group; a group that beats another has the larger."""
        # SciPy's csgraph takes 1.8 times as long at 200,000 items (5 times at 1,000), its matrix included, and does not
        # say which of two groups beats the other.
        n = len(self)
        labels, index = np.full(n, -1, dtype=np.int32), np.full(n, -1, dtype=np.int32)
        low, stack, path = (np.empty(n, dtype=np.int32) for _ in range(3))
        cursor = np.empty(n, dtype=np.int64)
        strong_components(self.start, self.partner, self.wins, labels, index, low, stack, path, cursor)
        return labels

    @cached_property
    def open_ended(self) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Items whose score the votes do not bound above, and below: they, or their group, only win or only lose.

        Measured against the largest strongly connected group. When no two items share one, an item is closed
        only on the side on which nothing lies beyond it.
        """
        n = len(self)
        if self.is_strongly_connected:
            return np.zeros(n, dtype=bool), np.zeros(n, dtype=bool)
        _, _, won, lost = self._by_item
        root = int(np.argmax(np.where(won & lost, np.diff(self.start), -1)))
        below, above = self._reached(1, root), self._reached(2, root)  # whom the root's group beats, who beats it
        if 2 * np.count_nonzero((below >= 0) & (above >= 0)) > n:  # more than half: no group is larger
            return below < 0, above < 0
        sizes = np.bincount(self.strong_components)
        if sizes.max() == 1:
            met = np.diff(self.start)
            owner = np.repeat(np.arange(n), met)
            beaten = np.bincount(owner, self.wins > 0, n)
            return (beaten > 0) | (met == 0), (beaten < met) | (met == 0)
        core = int(np.argmax(self.strong_components == int(sizes.argmax())))
        below, above = self._reached(1, core), self._reached(2, core)
        return below < 0, above < 0

    def _reached(
        self, way: int, root: int, number: int = 0, labels: NDArray[np.int32] | None = None
    ) -> NDArray[np.int32]:
        n = len(self)
        if labels is None:
            labels = np.full(n, -1, dtype=np.int32)
        queue = np.empty(n, dtype=np.int32)
        reach(self.start, self.partner, self.wins, self.total, way, number, labels, queue, root)
        return labels


def count_table(cells: NDArray[np.uint32], n: int, *, sided: bool = False) -> Pairs:
    """Pairs of an n × n table of wins (row beat column), or of three tables: right won, tie, left won."""
    tables = cells.astype(np.int32).reshape(-1, n, n)
    if len(tables) == 1:
        wins = tables[0]
        if sided:  # the left won every time
            left, right = _met(wins, sided=True)
            return _counted(left, right, wins[left, right], np.zeros(len(left), dtype=np.int32))
        left, right = _met(wins + wins.T)
        return _counted(left, right, wins[left, right], wins[right, left])
    lost, tied, won = tables
    if sided:
        left, right = _met(lost + tied + won, sided=True)
        counted = won[left, right], lost[left, right], tied[left, right]
    else:
        won, tied = won + lost.T, tied + tied.T
        left, right = _met(won + won.T + tied)
        counted = won[left, right], won[right, left], tied[left, right]
    return Pairs(left, right, *counted, *counted)


def _met(meetings: NDArray[Any], sided: bool = False) -> tuple[Codes, Codes]:
    left, right = np.nonzero(meetings if sided else np.triu(meetings, 1))
    return left.astype(np.int32), right.astype(np.int32)


def count_rows(
    left: NDArray[Any],
    right: NDArray[Any],
    n: int,
    *,
    outcome: NDArray[np.int8] | None,
    weight: Floats | None,
    weight_sq: Floats | None,
    margin: Floats | None = None,
    margin_ss: Floats | None = None,
    sided: bool = False,
) -> Pairs:
    """Pairs of rows with outcomes (+1, -1, 0), weights and margins; None means left won, 1, and no margins."""
    rows = len(left)
    slots, first, order = (np.empty(rows, dtype=np.int64) for _ in range(3))
    start, position = np.zeros(n + 1, dtype=np.int64), np.full(n, -1, dtype=np.int64)
    m = pair_slots(left, right, sided, start, position, order, slots, first)
    ends = left[first[:m]], right[first[:m]]
    if not sided:
        ends = np.minimum(*ends), np.maximum(*ends)
    turned = left != ends[0][slots]  # rows whose right item is the pair's left
    result = np.ones(rows, dtype=np.int8) if outcome is None else outcome
    result = np.where(turned, -result, result)
    weight = np.ones(rows) if weight is None else weight

    def sums(values: Floats) -> tuple[Floats, Floats, Floats]:
        won, lost, tied = (np.bincount(slots, np.where(result == which, values, 0.0), m) for which in (1, -1, 0))
        return won.astype(np.float64), lost.astype(np.float64), tied.astype(np.float64)

    counted = sums(weight)
    squares = counted if weight_sq is None else sums(weight_sq)
    mean: Floats | None = None
    squares_within: Floats | None = None
    if margin is not None:
        signed = np.where(turned, -margin, margin)
        mean = np.bincount(slots, weight * signed, m) / np.bincount(slots, weight, m)
        within = 0.0 if margin_ss is None else margin_ss
        squares_within = np.asarray(
            np.bincount(slots, weight * (signed - mean[slots]) ** 2 + within, m), dtype=np.float64
        )
    return Pairs(ends[0].astype(np.int32), ends[1].astype(np.int32), *counted, *squares, mean, squares_within)


def _counted(left: Codes, right: Codes, wins: NDArray[Any], losses: NDArray[Any]) -> Pairs:
    none = np.broadcast_to(np.int32(0), left.shape)
    return Pairs(left, right, wins, losses, none, wins, losses, none)
