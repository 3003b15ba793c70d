"""Votes as a set: one whole number a vote, sorted, so that the order in which they came leaves no trace."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from podium.errors import InputError

__all__ = ["CHECK", "CHOSEN", "KINDS", "REPEAT", "Ballots", "Tally", "distinct", "is_among", "pair_keys"]

KINDS = ("chosen", "check", "repeat")
CHOSEN, CHECK, REPEAT = range(3)
ROOM = 4  # answers (0, ½, 1, skipped) and kinds each take one of four values
MOST = 2**62
MOST_JUDGES = 1_000_000  # every judge has a place in arrays, whether there are votes or not


def pair_keys(pairs: np.ndarray, n: int) -> np.ndarray:
    """One number a pair, the same from either side."""
    keys: np.ndarray = np.minimum(pairs[:, 0], pairs[:, 1]) * n + np.maximum(pairs[:, 0], pairs[:, 1])
    return keys


def distinct(*keys: np.ndarray) -> np.ndarray:
    """All of several arrays, ascending, each once; those that ascend already are only merged."""
    joined: np.ndarray = np.concatenate(keys)
    joined.sort(kind="stable")
    return joined[np.concatenate([[True], joined[1:] != joined[:-1]])] if len(joined) else joined


def is_among(keys: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Which of `keys` are in `known`, which ascends."""
    if not len(known):
        return np.zeros(len(keys), dtype=bool)
    found: np.ndarray = known[np.minimum(np.searchsorted(known, keys), len(known) - 1)] == keys
    return found


class Ballots:
    """A growing set of votes of `n` items. Copies, pickles, and two with the same votes are the same."""

    def __init__(self, n: int) -> None:
        self.n = n
        self._judges = 1
        self._codes = np.zeros(0, dtype=np.int64)
        self._pending: list[tuple[np.ndarray, ...]] = []
        self._tally: Tally | None = None

    def clear(self) -> None:
        """Forget all votes."""
        self.__init__(self.n)  # type: ignore[misc]

    def add(self, left: np.ndarray, right: np.ndarray, value: np.ndarray, judge: np.ndarray, kind: np.ndarray) -> None:
        """Take votes, all checked: values 1, 0.5, 0 for the left item, nan for a skip."""
        if len(left):
            number = int(judge.max())
            if number >= min(MOST_JUDGES, MOST // (self.n**2 * ROOM**2)):
                raise InputError(f"judge {number} is too large a number; number the judges from 0")
            self._pending.append((left, right, value, judge, kind))
            self._tally = None

    @property
    def tally(self) -> Tally:
        """What the votes add up to."""
        if self._tally is None:
            self._sort_in()
            self._tally = Tally.of(self.n, self._codes, self._judges)
        return self._tally

    def _sort_in(self) -> None:
        if not self._pending:
            return
        left, right, value, judge, kind = (np.concatenate(column) for column in zip(*self._pending, strict=True))
        self._pending = []
        judges = max(self._judges, int(judge.max()) + 1)
        if judges != self._judges and len(self._codes):
            rest, low = np.divmod(self._codes, ROOM**2)
            pair, who = np.divmod(rest, self._judges)
            self._codes = (pair * judges + who) * ROOM**2 + low
        self._judges = judges
        swapped = left > right
        pair = np.where(swapped, right, left).astype(np.int64) * self.n + np.where(swapped, left, right)
        doubled = np.where(np.isnan(value), 3.0, 2.0 * np.where(swapped, 1.0 - value, value)).astype(np.int64)
        codes = ((pair * judges + judge) * ROOM + doubled) * ROOM + kind
        codes = np.concatenate([self._codes, codes])
        codes.sort(kind="stable" if len(self._codes) > len(pair) else None)
        self._codes = codes


@dataclass(frozen=True)
class Tally:
    """Votes, sorted by pair and judge, and what they add up to for each pair; low[k] < high[k] everywhere.

    `low, high, value, judge, kind` are the votes that say something, `skipped_*` the skips. `first` begins the votes
    of each pair; `pair_low, pair_high` are the pairs.
    """

    n: int
    judges: int
    low: np.ndarray
    high: np.ndarray
    value: np.ndarray
    judge: np.ndarray
    kind: np.ndarray
    skipped_low: np.ndarray
    skipped_high: np.ndarray
    skipped_judge: np.ndarray

    @classmethod
    def of(cls, n: int, codes: np.ndarray, judges: int) -> Tally:
        rest, low_part = np.divmod(codes, ROOM**2)
        pair, judge = np.divmod(rest, judges)
        doubled, kind = np.divmod(low_part, ROOM)
        low, high = np.divmod(pair, n)
        answered = doubled < 3
        if answered.all():
            none = np.zeros(0, dtype=np.int64)
            return cls(n, judges, low, high, doubled * 0.5, judge, kind, none, none, none)
        skips = ~answered
        votes = (low[answered], high[answered], doubled[answered] * 0.5, judge[answered], kind[answered])
        return cls(n, judges, *votes, low[skips], high[skips], judge[skips])

    def __len__(self) -> int:
        return len(self.low)

    @cached_property
    def first(self) -> np.ndarray:
        """Where the votes of each pair begin."""
        keys = self.low * self.n + self.high
        begins: np.ndarray = np.flatnonzero(np.concatenate([[True], keys[1:] != keys[:-1]])) if len(keys) else keys
        return begins

    @cached_property
    def pair_low(self) -> np.ndarray:
        low: np.ndarray = self.low[self.first]
        return low

    @cached_property
    def pair_high(self) -> np.ndarray:
        high: np.ndarray = self.high[self.first]
        return high

    @cached_property
    def keys(self) -> np.ndarray:
        """One number a pair, ascending."""
        keys: np.ndarray = self.pair_low * self.n + self.pair_high
        return keys

    @cached_property
    def asked_keys(self) -> np.ndarray:
        """Pairs with an answer or a skip, ascending."""
        if not len(self.skipped_low):
            return self.keys
        return distinct(self.keys, self.skipped_low * self.n + self.skipped_high)

    def sums(self, weight: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Of each pair: points of the lower item, and all points; a vote counts weight[its judge]."""
        if not len(self):
            return np.zeros(0), np.zeros(0)
        counted = np.ones(len(self)) if weight is None else weight[self.judge]
        return np.add.reduceat(counted * self.value, self.first), np.add.reduceat(counted, self.first)

    @cached_property
    def degree(self) -> np.ndarray:
        """Votes of each item."""
        return np.bincount(self.low, minlength=self.n) + np.bincount(self.high, minlength=self.n)

    def part(self, keep: np.ndarray) -> Tally:
        """The votes in `keep` only, without skips."""
        none = self.skipped_low[:0]
        low, high, value, judge, kind = (c[keep] for c in (self.low, self.high, self.value, self.judge, self.kind))
        return Tally(self.n, self.judges, low, high, value, judge, kind, none, none, none)
