"""Distinct rows, each found by its key: one table kept over all that is read, its sums added to in place."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from podium.kernels.pairwise import tally as kernel

__all__ = ["KEYS", "KeyedRows"]

Piece: TypeAlias = dict[str, NDArray[Any]]

KEYS = ("left", "right", "outcome", "judge", "group", "by")  # codes: each fits 32 bits
SUMS = ("weight", "weight_sq", "margin", "margin_ss", "_weight")  # the last is what the mean of a margin is of
ONCE = np.empty(0, np.int64)
UNTOLD = np.empty(0, np.int32)


class KeyedRows:
    """Rows that differ in items, outcome, judge, group, time or covariates, in order of first appearance.

    A row of `table` is the key, two codes to a word and then covariates and time, and the number of equal votes.
    """

    def __init__(self, piece: Piece) -> None:
        self.roles = [name for name in KEYS if name in piece]
        self.covariates = piece["covariates"].shape[1] if "covariates" in piece else 0
        self.timed = "time" in piece
        self.sums = SUMS if "margin" in piece else SUMS[:2] if "weight" in piece else ()
        self.used = 0
        self._slots = np.full(1 << 12, -1, np.int32)
        self._table = np.empty((1 << 11, self._width + 1), np.uint64)
        self._sums = {name: np.zeros(1 << 11) for name in self.sums}

    def __getstate__(self) -> dict[str, Any]:
        """Without the room that is not in use, on the way to another process."""
        sums = {name: values[: self.used] for name, values in self._sums.items()}
        return vars(self) | {"_slots": None, "_table": self._table[: self.used], "_sums": sums}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._slots = np.full(max(1 << 12, 1 << (2 * self.used).bit_length()), -1, np.int32)
        kernel.place_rows(self._table, self._slots)

    @property
    def _width(self) -> int:
        return (len(self.roles) + 1) // 2 + self.covariates + self.timed

    def add(self, piece: Piece) -> None:
        """Take rows of one vote each, or of `count` equal votes, with what their weights and margins come to."""
        keys = self._keys(piece)
        times = piece.get("count", ONCE)
        codes = np.empty(len(keys), np.int32) if self.sums else UNTOLD
        row = 0
        while True:
            row, self.used = kernel.find_rows(keys, times, row, self.used, self._table, self._slots, codes)
            if row == len(keys):
                break
            self._grow()
        if self.sums:
            self._add_sums(piece, codes)

    def _add_sums(self, piece: Piece, codes: NDArray[np.int32]) -> None:
        rows, sums = len(codes), self._sums
        weight = piece.get("weight")
        if weight is None:
            weight = piece["count"].astype(np.float64) if "count" in piece else np.ones(rows)
        square = piece.get("weight_sq")
        kernel.add_at(codes, weight, sums["weight"])
        if square is None:
            square = weight if "weight" not in piece else weight**2
        kernel.add_at(codes, square, sums["weight_sq"])
        if "margin" in sums:
            within = piece.get("margin_ss", np.zeros(rows))
            kernel.add_margins(
                codes, weight, piece["margin"], within, sums["margin"], sums["margin_ss"], sums["_weight"]
            )

    def _grow(self) -> None:
        size = 2 * len(self._slots)
        self._slots = np.full(size, -1, np.int32)
        kernel.place_rows(self._table[: self.used], self._slots)
        table = np.empty((size // 2, self._table.shape[1]), np.uint64)
        table[: self.used] = self._table[: self.used]
        self._table = table
        for name, values in self._sums.items():
            self._sums[name] = np.concatenate([values, np.zeros(size // 2 - len(values))])

    def _keys(self, piece: Piece) -> NDArray[np.uint64]:
        """The bits that tell rows apart."""
        codes = [piece[name] for name in self.roles]
        keys = np.empty((len(codes[0]), self._width), np.uint64)
        halves = keys.view(np.uint32)
        for k, column in enumerate(codes):
            halves[:, k] = column.astype(np.uint32, copy=False)
        if len(codes) % 2:
            halves[:, len(codes)] = 0
        numbers = self._width - self.covariates - self.timed  # -0.0 equals 0.0
        if self.covariates:
            keys[:, numbers : numbers + self.covariates] = (piece["covariates"] + 0.0).view(np.uint64)
        if self.timed:
            keys[:, -1] = (piece["time"] + 0.0).view(np.uint64)
        return keys

    def rows(self) -> Piece:
        """The columns of all rows; the table is let go, as it may be as large as they are."""
        used, table = self.used, self._table
        del self._slots, self._table
        codes = table.view(np.uint32)
        rows: Piece = {
            name: codes[:used, k].astype(np.int32).astype(np.int8 if name == "outcome" else np.int32, copy=False)
            for k, name in enumerate(self.roles)
        }
        if self.covariates:
            first = self._width - self.covariates - self.timed
            rows["covariates"] = table[:used, first : first + self.covariates].copy().view(np.float64)
        if self.timed:
            rows["time"] = table[:used, -2].copy().view(np.float64)
        rows["count"] = table[:used, -1].astype(np.int64)
        return rows | {name: self._sums[name][:used].copy() for name in self.sums if name != "_weight"}
