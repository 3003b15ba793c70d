"""A table of all pairs: votes are added to its cells as they are read, and nothing is looked up or merged."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from podium.kernels.pairwise import tally as kernel

__all__ = ["MAX_COUNT", "Cells"]

Piece: TypeAlias = dict[str, NDArray[Any]]

MAX_COUNT = (1 << 32) - 1  # what a narrow cell holds
NO_OUTCOME = np.empty(0, np.int8)


class Cells:
    """How often left met right with each outcome (right won, tie, left won), or, without outcomes, how often left won.

    Cells are 32 bits wide until one could pass 2³² - 1, then 64. A table from another process is as narrow as its
    counts allow until more is added: what only adds it to its own, or lists its rows, reads a quarter of the memory.
    """

    def __init__(self, outcomes: bool) -> None:
        self.outcomes = outcomes
        self.cells: NDArray[Any] = np.zeros((0, 0, 3 if outcomes else 1), np.uint32)
        self.bound = 0  # no cell holds more
        self.n = 0

    def __getstate__(self) -> dict[str, Any]:
        """Without the room that is not in use, and in cells as narrow as they may be, on the way to another process."""
        used = self.cells[: self.n, : self.n]
        narrow = np.min_scalar_type(used.max(initial=0))
        return vars(self) | {"cells": np.ascontiguousarray(used, narrow)}

    @staticmethod
    def size(n: int, outcomes: bool) -> int:
        """How many cells a table of n items has."""
        return n * n * (3 if outcomes else 1)

    def make_room(self, n: int, limit: int) -> None:
        """Room for n items: twice as many as before, but no more than `limit`."""
        before, self.n = len(self.cells), n
        if n <= before:
            return
        room = max(n, min(2 * before, limit))
        cells = np.zeros((room, room, self.cells.shape[2]), np.result_type(self.cells, np.uint32))
        cells[:before, :before] = self.cells
        self.cells = cells

    def add(self, piece: Piece) -> None:
        """Take rows of one vote each, or of `count` equal votes; there is room for their items."""
        left, right, count = piece["left"], piece["right"], piece.get("count")
        self._widen(len(left) if count is None else int(count.sum()))
        outcome = piece["outcome"] if self.outcomes else NO_OUTCOME
        if count is None:
            kernel.count_cells(left, right, outcome, self.cells)
        else:
            kernel.add_to_cells(left, right, outcome, count, self.cells)

    def unite(self, other: Cells, code: NDArray[np.int32]) -> None:
        """Add a table whose item i is item code[i] here."""
        self._widen(other.bound)
        kernel.add_cells(other.cells, code, self.cells)

    def _widen(self, more: int) -> None:
        """Make sure that `more` can be added to any cell."""
        self.bound += more
        if self.cells.dtype.itemsize < 4 or not self.cells.flags.writeable:  # from another process
            self.cells = self.cells.astype(np.result_type(self.cells, np.uint32))
        if self.cells.dtype == np.uint64 or self.bound <= MAX_COUNT:
            return
        self.bound = int(self.cells.max(initial=0)) + more  # the votes are spread over many cells: look
        if self.bound > MAX_COUNT:
            self.cells = self.cells.astype(np.uint64)

    def rows(self, *, fold: bool = False) -> Piece:
        """A row for every cell that is not empty, by left, right and outcome. Folding uses the table up."""
        if fold and self.outcomes:
            self._widen(self.bound)
            kernel.fold_cells(self.cells)
        size = int(np.count_nonzero(self.cells))
        rows: Piece = {name: np.empty(size, np.int32) for name in ("left", "right")}
        rows["count"] = np.empty(size, np.int64)
        outcome = np.empty(size if self.outcomes else 0, np.int8)
        kernel.rows_of_cells(self.cells, len(self.cells), rows["left"], rows["right"], outcome, rows["count"])
        return rows | ({"outcome": outcome} if self.outcomes else {})
