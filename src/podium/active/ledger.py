"""Votes in the order in which they came, some of them taken back: what a planner is loaded with."""

from __future__ import annotations

import bisect

import numpy as np

__all__ = ["Ledger"]

COLUMNS = ("left", "right", "value", "judge", "kind")


class Ledger:
    """Rows of votes: item numbers, value (1, 0.5, 0, nan for a skip), judge, kind. A row taken back keeps its number.

    Examples
    --------
    >>> ledger = Ledger()
    >>> ledger.add([0, 1], [1, 2], [1.0, 0.0], [0, 0], [0, 0])
    >>> ledger.remove(ledger.last(0))
    >>> [column.tolist() for column in ledger.columns()[:2]]
    [[0], [1]]
    """

    def __init__(self) -> None:
        self._chunks: list[tuple[np.ndarray, ...]] = []
        self._starts: list[int] = []
        self._gone: set[int] = set()
        self.size = 0

    def add(self, left: object, right: object, value: object, judge: object, kind: object) -> None:
        """Append rows."""
        types = (np.int64, np.int64, np.float64, np.int64, np.int64)
        columns = (left, right, value, judge, kind)
        chunk = tuple(np.asarray(column, dtype=each) for column, each in zip(columns, types, strict=True))
        if len(chunk[0]):
            self._chunks.append(chunk)
            self._starts.append(self.size)
            self.size += len(chunk[0])

    def __len__(self) -> int:
        return self.size - len(self._gone)

    def columns(self) -> tuple[np.ndarray, ...]:
        """left, right, value, judge and kind of the rows that count."""
        if not self._chunks:
            none = np.zeros(0, dtype=np.int64)
            return none, none, np.zeros(0), none, none
        if len(self._chunks) > 1:
            self._chunks = [tuple(np.concatenate(column) for column in zip(*self._chunks, strict=True))]
            self._starts = [0]
        if not self._gone:
            return self._chunks[0]
        keep = np.ones(self.size, dtype=bool)
        keep[list(self._gone)] = False
        return tuple(column[keep] for column in self._chunks[0])

    def row(self, number: int) -> tuple[int, int, float, int, int]:
        """One row, taken back or not."""
        at = bisect.bisect_right(self._starts, number) - 1
        left, right, value, judge, kind = (column[number - self._starts[at]] for column in self._chunks[at])
        return int(left), int(right), float(value), int(judge), int(kind)

    def last(self, judge: int | None = None) -> int | None:
        """The last row that counts (of `judge`)."""
        for number in range(self.size - 1, -1, -1):
            if number not in self._gone and judge in (None, self.row(number)[3]):
                return number
        return None

    def find(self, left: int, right: int, judge: int) -> int | None:
        """The last row of `judge` on a pair that counts."""
        both = {left, right}
        for number in range(self.size - 1, -1, -1):
            u, v, _, who, _ = self.row(number)
            if who == judge and number not in self._gone and {u, v} == both:
                return number
        return None

    def counts(self, number: int) -> bool:
        """Whether a row has not been taken back."""
        return number not in self._gone

    def remove(self, number: int | None) -> None:
        """Take a row back."""
        if number is not None:
            self._gone.add(number)
