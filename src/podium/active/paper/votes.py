"""The answers so far: one row a vote, the last word of each judge on each pair."""

from __future__ import annotations

import numpy as np

from podium.active.paper.keys import KeyRows

__all__ = ["VoteRows", "Votes"]

SKIP = np.nan


class VoteRows:
    """The votes as arrays: row k says value[k] (1, 0.5 or 0) for left[k] going before right[k]."""

    __slots__ = ("judge", "left", "right", "value")

    def __init__(self, left: np.ndarray, right: np.ndarray, value: np.ndarray, judge: np.ndarray) -> None:
        self.left = left
        self.right = right
        self.value = value
        self.judge = judge

    def __len__(self) -> int:
        return len(self.left)


class Votes:
    """Votes by pair and judge.

    A judge has one word on a pair: a second answer replaces the first. A skip (nan) closes the pair, so that it is not
    asked again, and says nothing about it. Pairs are stored lower code first.
    """

    def __init__(self, n: int) -> None:
        self.n = n
        self.version = 0  # grows with every change: what is derived from the votes can be kept until then
        self._size = 0
        self._left = np.zeros(64, dtype=np.int32)
        self._right = np.zeros(64, dtype=np.int32)
        self._value = np.zeros(64)
        self._judge = np.zeros(64, dtype=np.int32)
        self._rows_of: dict[int, list[int]] = {}  # pair -> rows, where there is more than one
        self._first = KeyRows()  # pair -> first row

    def keys(self, pairs: np.ndarray) -> np.ndarray:
        """One number a pair, the same for (u, v) and (v, u)."""
        keys: np.ndarray = np.minimum(pairs[:, 0], pairs[:, 1]).astype(np.int64)
        keys = keys * self.n + np.maximum(pairs[:, 0], pairs[:, 1])
        return keys

    def tell(self, pairs: np.ndarray, values: np.ndarray, judges: np.ndarray) -> list[int]:
        """Add votes; return the rows of `pairs` where a judge contradicts what the same judge said before."""
        keys = self.keys(pairs)
        swap = pairs[:, 0] > pairs[:, 1]
        value = np.where(swap, 1.0 - values, values)
        self._reserve(len(pairs))
        low, high = np.where(swap, pairs[:, ::-1].T, pairs.T)
        known = self._first.find(keys)
        if known.max(initial=-1) < 0 and _distinct(keys):  # all new: the common case, at once
            rows = slice(self._size, self._size + len(keys))
            self._left[rows], self._right[rows], self._value[rows], self._judge[rows] = low, high, value, judges
            self._first.add(keys, np.arange(rows.start, rows.stop))
            self._size = rows.stop
            self.version += 1
            return []
        changed = []
        new: dict[int, int] = {}
        for k, (key, old_row) in enumerate(zip(keys.tolist(), known.tolist(), strict=True)):
            row = old_row if old_row >= 0 else new.setdefault(key, self._size)
            if row != self._size:
                row = self._row_of(key, row, int(judges[k]))
                old = self._value[row] if row < self._size else np.nan
                if not (np.isnan(old) or np.isnan(value[k]) or old == value[k]):
                    changed.append(k)
            self._left[row] = low[k]
            self._right[row] = high[k]
            self._value[row] = value[k]
            self._judge[row] = judges[k]
            self._size += row == self._size
        self._first.add(np.fromiter(new, dtype=np.int64), np.fromiter(new.values(), dtype=np.int64))
        self.version += 1
        return changed

    def _row_of(self, key: int, first: int, judge: int) -> int:
        """The row of this judge's word on a pair that others, or the same, have answered; a new one if need be."""
        rows = self._rows_of.get(key, [first])
        for row in rows:
            if self._judge[row] == judge:
                return row
        self._rows_of[key] = [*rows, self._size]
        return self._size

    def _reserve(self, more: int) -> None:
        need = self._size + more
        if need > len(self._left):
            length = max(need, 2 * len(self._left))
            for name in ("_left", "_right", "_value", "_judge"):
                old = getattr(self, name)
                new = np.zeros(length, dtype=old.dtype)
                new[: self._size] = old[: self._size]
                setattr(self, name, new)

    def closed(self, keys: np.ndarray) -> np.ndarray:
        """Which pairs have an answer or were skipped."""
        closed: np.ndarray = self._first.find(keys) >= 0
        return closed

    def answers(self, pairs: np.ndarray) -> np.ndarray:
        """Mean answer of the judges on each pair, from its left item's side; nan where there is none."""
        keys = self.keys(pairs)
        several = self._rows_of
        row = self._first.find(keys)
        value = np.where(row >= 0, self._value[row], np.nan)
        if several:
            for k, key in enumerate(keys.tolist()):
                if key in several:
                    answers = self._value[several[key]]
                    answers = answers[~np.isnan(answers)]
                    value[k] = answers.mean() if len(answers) else np.nan
        return np.where(pairs[:, 0] > pairs[:, 1], 1.0 - value, value)

    def rows(self) -> VoteRows:
        """All votes that say something, in the order in which they came."""
        answered = ~np.isnan(self._value[: self._size])
        columns = (self._left, self._right, self._value, self._judge)
        return VoteRows(*(column[: self._size][answered] for column in columns))

    @property
    def skipped(self) -> int:
        """Pairs that were skipped and never answered."""
        silent = np.flatnonzero(np.isnan(self._value[: self._size]))
        keys = np.unique(self._left[silent].astype(np.int64) * self.n + self._right[silent])
        rows = zip(keys.tolist(), self._first.find(keys).tolist(), strict=True)
        return sum(bool(np.isnan(self._value[self._rows_of.get(key, [row])]).all()) for key, row in rows)

    @property
    def distinct(self) -> int:
        """Pairs with an answer or a skip."""
        return len(self._first)


def _distinct(keys: np.ndarray) -> bool:
    ordered = np.sort(keys)
    return bool((ordered[1:] != ordered[:-1]).all())
