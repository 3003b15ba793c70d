"""Which row a pair has: a dictionary of whole numbers that takes and answers whole arrays at once."""

from __future__ import annotations

import numpy as np

from podium.kernels.active import bisect as kernel

__all__ = ["KeyRows"]


class KeyRows:
    """Rows by key, keys at least 0; at most half of the slots are in use.

    Examples
    --------
    >>> known = KeyRows()
    >>> known.add(np.array([70, 7]), np.array([0, 1]))
    >>> known.find(np.array([7, 8, 70])).tolist()
    [1, -1, 0]
    """

    __slots__ = ("_key", "_row", "_size")

    def __init__(self) -> None:
        self._size = 0
        self._key = np.full(128, -1, dtype=np.int64)
        self._row = np.zeros(128, dtype=np.int64)

    def __len__(self) -> int:
        return self._size

    def find(self, keys: np.ndarray) -> np.ndarray:
        """The row of each key, -1 where there is none."""
        rows = np.empty(len(keys), dtype=np.int64)
        kernel.find_keys(np.ascontiguousarray(keys, dtype=np.int64), self._key, self._row, rows)
        return rows

    def add(self, keys: np.ndarray, rows: np.ndarray) -> None:
        """Enter keys that are distinct and new."""
        self._size += len(keys)
        if 2 * self._size > len(self._key):
            used = self._key >= 0
            old = self._key[used], self._row[used]
            length = 1 << (4 * self._size - 1).bit_length()
            self._key, self._row = np.full(length, -1, dtype=np.int64), np.zeros(length, dtype=np.int64)
            kernel.add_keys(*old, self._key, self._row)
        kernel.add_keys(np.ascontiguousarray(keys), np.ascontiguousarray(rows), self._key, self._row)
