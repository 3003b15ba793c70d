"""Rows to counts: equal votes are merged as they arrive, keeping what solvers and standard errors need.

Two votes are equal when items, outcome, judge, group and covariates are. A merged row keeps the number of votes, the
sum of weights and of their squares, and of a margin y the weighted mean and the sum of squares about it.
"""

from __future__ import annotations

import math
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from podium.data.tables.cells import MAX_COUNT, Cells
from podium.data.tables.keyed import KeyedRows

__all__ = ["DENSE_BYTES", "Merger", "merge"]

Piece: TypeAlias = dict[str, NDArray[Any]]  # the columns there are, by role

DENSE_BYTES = 1 << 30  # a table of all pairs may take so much, in all processes together
MAX_CELLS_PER_VOTE = 64  # a larger table would be nearly empty: rows are smaller and as fast
MIN_CELLS_PER_VOTE = 16  # votes that came to be so many for their items move into a table
PLAIN = {"left", "right", "outcome"}


class Merger:
    """Holds the votes added: as they are, or as counts.

    Votes that say nothing but who won go into a table of all pairs while that is worth its memory; all others, and
    those of too many items, into rows found by their keys. Which of the two it was does not show in the result.
    """

    def __init__(self, merge: bool, *, fold: bool = False, dense_bytes: int | None = None) -> None:
        self.merge, self.fold = merge, fold
        self.dense_bytes = DENSE_BYTES if dense_bytes is None else dense_bytes
        self.votes = 0  # rows taken
        self._pieces: list[Piece] = []
        self._counts: Cells | KeyedRows | None = None
        self._plain = False
        self._outcomes = False

    def add(self, piece: Piece, n: int) -> None:
        """Take rows between items numbered below n; all pieces have the same columns."""
        piece = _without_zeros(_weighed(piece))
        if not len(piece["left"]):
            return
        if not self.votes:
            self._plain, self._outcomes = set(piece) <= PLAIN, "outcome" in piece
        self.votes += len(piece["left"])
        self._settle(n)
        self._take(piece)

    def unite(self, other: Merger, recode: dict[str, NDArray[np.int32]], n: int) -> None:
        """Add what another holds; recode[role][code there] is the code here, and there are n items now."""
        if not other.votes:
            return
        if not self.votes:
            self._plain, self._outcomes = other._plain, other._outcomes
        self.votes += other.votes
        self._settle(n)
        if isinstance(self._counts, Cells) and isinstance(other._counts, Cells):
            self._counts.unite(other._counts, recode["left"])
            return
        rows = other._rows()
        rows = rows | {role: codes[rows[role]] for role, codes in recode.items() if role in rows}
        self._take(rows)

    def _take(self, piece: Piece) -> None:
        if self.fold and not isinstance(self._counts, Cells):  # a table is folded at the end
            piece = _folded(piece)
        if not self.merge:
            self._pieces.append(piece)
            return
        if self._counts is None:
            self._counts = KeyedRows(piece)
        self._counts.add(piece)

    def _settle(self, n: int) -> None:
        """Choose between the table and rows for n items, and make room; what is held moves over."""
        size = Cells.size(n, self._outcomes)
        width = 4 if self.votes <= MAX_COUNT else 8
        limit = math.isqrt(self.dense_bytes // (width * Cells.size(1, self._outcomes)))
        dense = isinstance(self._counts, Cells)
        worth = size <= (MAX_CELLS_PER_VOTE if dense else MIN_CELLS_PER_VOTE) * self.votes
        if self.merge and self._plain and n <= limit and worth:
            counts = self._counts if isinstance(self._counts, Cells) else Cells(self._outcomes)
            counts.make_room(n, limit)
            if isinstance(self._counts, KeyedRows):
                counts.add(self._counts.rows())
            self._counts = counts
        elif isinstance(self._counts, Cells):
            rows = self._counts.rows(fold=self.fold)
            self._counts = KeyedRows(rows)
            self._counts.add(rows)

    def result(self) -> Piece | None:
        """All rows added, or None when there are none. What was held is let go.

        Counts of plain votes are in order of left, right and outcome, all others in order of first appearance.
        """
        if not self.votes:
            return None
        dense = isinstance(self._counts, Cells)
        rows = self._rows()
        return _sorted(rows) if self.merge and self._plain and not dense else rows

    def _rows(self) -> Piece:
        """The same, whichever order they are in."""
        if not self.merge:
            return _joined(self._pieces)
        counts, self._counts = self._counts, None
        assert counts is not None, "there are votes, and they are held once"
        return counts.rows(fold=self.fold) if isinstance(counts, Cells) else counts.rows()


def merge(piece: Piece) -> Piece:
    """One row for each distinct one, in the order of `Merger`; `weight` is what a row weighs in all."""
    counts = KeyedRows(piece)
    counts.add(piece)
    rows = counts.rows()
    return _sorted(rows) if set(piece) <= PLAIN | {"count"} else rows


def _joined(pieces: list[Piece]) -> Piece:
    """The rows of all pieces, one after the other."""
    if len(pieces) == 1:
        return pieces[0]
    return {name: np.concatenate([piece[name] for piece in pieces]) for name in pieces[0]}


def _sorted(rows: Piece) -> Piece:
    """Plain rows by left, right and outcome."""
    key = (rows["left"].astype(np.uint64) << np.uint64(33)) | (rows["right"].astype(np.uint64) << np.uint64(2))
    if "outcome" in rows:
        key |= (rows["outcome"] + 1).astype(np.uint64)
    order = np.argsort(key)
    return {name: column[order] for name, column in rows.items()}


def _folded(piece: Piece) -> Piece:
    """The item with the smaller code stands left, whichever side it was shown on."""
    turned = piece["left"] > piece["right"]
    if "outcome" not in piece or not turned.any():
        return piece
    swapped = {"left": np.minimum(piece["left"], piece["right"]), "right": np.maximum(piece["left"], piece["right"])}
    swapped["outcome"] = np.where(turned, -piece["outcome"], piece["outcome"])
    if "margin" in piece:
        swapped["margin"] = np.where(turned, -piece["margin"], piece["margin"])
    return piece | swapped


def _weighed(piece: Piece) -> Piece:
    """A row that counts several votes weighs as many, each what its weight says."""
    if "count" not in piece or "weight" not in piece:
        return piece
    count, weight = piece["count"].astype(np.float64), piece["weight"]
    return piece | {"weight": weight * count, "weight_sq": weight**2 * count}


def _without_zeros(piece: Piece) -> Piece:
    """Rows of weight 0 or count 0 say nothing."""
    tests = [piece[name] > 0 for name in ("weight", "count") if name in piece]
    if all(test.all() for test in tests):
        return piece
    kept = np.logical_and.reduce(tests)
    return {name: column[kept] for name, column in piece.items()}
