"""The answers so far: one row a vote, the last word of each rater on each pair."""

from __future__ import annotations

import numpy as np

__all__ = ["Evidence", "Votes"]

SKIP = np.nan


class Votes:
    """The votes of an `Evidence` as arrays: row k says value[k] (1, 0.5 or 0) for left[k] going before right[k]."""

    __slots__ = ("left", "rater", "right", "value")

    def __init__(self, left: np.ndarray, right: np.ndarray, value: np.ndarray, rater: np.ndarray) -> None:
        self.left = left
        self.right = right
        self.value = value
        self.rater = rater

    def __len__(self) -> int:
        return len(self.left)


class Evidence:
    """Answers by pair and rater.

    A rater has one word on a pair: a second answer replaces the first. A skip (nan) closes the pair, so that it is not
    asked again, and says nothing about it. Pairs are stored lower code first.
    """

    def __init__(self, n: int) -> None:
        self.n = n
        self.version = 0  # grows with every change: what is derived from the votes can be kept until then
        self._size = 0
        self._left = np.zeros(64, dtype=np.int32)
        self._right = np.zeros(64, dtype=np.int32)
        self._value = np.zeros(64)
        self._rater = np.zeros(64, dtype=np.int32)
        self._rows_of: dict[int, list[int]] = {}  # pair -> rows, where there is more than one
        self._first: dict[int, int] = {}  # pair -> first row

    def keys(self, pairs: np.ndarray) -> np.ndarray:
        """One number a pair, the same for (u, v) and (v, u)."""
        keys: np.ndarray = np.minimum(pairs[:, 0], pairs[:, 1]).astype(np.int64)
        keys = keys * self.n + np.maximum(pairs[:, 0], pairs[:, 1])
        return keys

    def tell(self, pairs: np.ndarray, values: np.ndarray, raters: np.ndarray) -> list[int]:
        """Add votes; return the places in `pairs` where a rater contradicts what the same rater said before."""
        keys = self.keys(pairs)
        swap = pairs[:, 0] > pairs[:, 1]
        value = np.where(swap, 1.0 - values, values)
        self._reserve(len(pairs))
        low, high = np.where(swap, pairs[:, ::-1].T, pairs.T)
        first = self._first
        listed = keys.tolist()
        if len(set(listed)) == len(listed) and first.keys().isdisjoint(listed):  # all new: the common case, at once
            rows = slice(self._size, self._size + len(listed))
            self._left[rows], self._right[rows], self._value[rows], self._rater[rows] = low, high, value, raters
            first.update(zip(listed, range(rows.start, rows.stop), strict=True))
            self._size = rows.stop
            self.version += 1
            return []
        changed = []
        for k, key in enumerate(listed):
            row = first.setdefault(key, self._size)
            if row != self._size:
                row = self._row_of(key, int(raters[k]))
                old = self._value[row] if row < self._size else np.nan
                if not (np.isnan(old) or np.isnan(value[k]) or old == value[k]):
                    changed.append(k)
            self._left[row] = low[k]
            self._right[row] = high[k]
            self._value[row] = value[k]
            self._rater[row] = raters[k]
            self._size += row == self._size
        self.version += 1
        return changed

    def _row_of(self, key: int, rater: int) -> int:
        """The row of this rater's word on a pair that others, or the same, have answered; a new one if need be."""
        rows = self._rows_of.get(key, [self._first[key]])
        for row in rows:
            if self._rater[row] == rater:
                return row
        self._rows_of[key] = [*rows, self._size]
        return self._size

    def _reserve(self, more: int) -> None:
        need = self._size + more
        if need > len(self._left):
            length = max(need, 2 * len(self._left))
            for name in ("_left", "_right", "_value", "_rater"):
                old = getattr(self, name)
                new = np.zeros(length, dtype=old.dtype)
                new[: self._size] = old[: self._size]
                setattr(self, name, new)

    def closed(self, keys: np.ndarray) -> np.ndarray:
        """Which pairs have an answer or were skipped."""
        first = self._first
        return np.fromiter((key in first for key in keys.tolist()), dtype=bool, count=len(keys))

    def answers(self, pairs: np.ndarray) -> np.ndarray:
        """Mean answer of the raters on each pair, from its left item's side; nan where there is none."""
        keys = self.keys(pairs)
        first, several = self._first, self._rows_of
        row = np.fromiter((first.get(key, -1) for key in keys.tolist()), dtype=np.int64, count=len(keys))
        value = np.where(row >= 0, self._value[row], np.nan)
        if several:
            for k, key in enumerate(keys.tolist()):
                if key in several:
                    said = self._value[several[key]]
                    said = said[~np.isnan(said)]
                    value[k] = said.mean() if len(said) else np.nan
        return np.where(pairs[:, 0] > pairs[:, 1], 1.0 - value, value)

    def votes(self) -> Votes:
        """All votes that say something, in the order in which they came."""
        said = ~np.isnan(self._value[: self._size])
        columns = (self._left, self._right, self._value, self._rater)
        return Votes(*(column[: self._size][said] for column in columns))

    @property
    def skipped(self) -> int:
        """Pairs that were skipped and never answered."""
        silent = np.flatnonzero(np.isnan(self._value[: self._size])).tolist()
        keys = {int(self._left[row]) * self.n + int(self._right[row]) for row in silent}
        return sum(bool(np.isnan(self._value[self._rows_of.get(key, [self._first[key]])]).all()) for key in keys)

    @property
    def distinct(self) -> int:
        """Pairs with an answer or a skip."""
        return len(self._first)
