"""Rows to counts: equal votes are merged as they arrive, keeping what solvers and standard errors need.

Two votes are equal when items, outcome, judge, group and covariates are. A merged row keeps the number of votes, the
sum of weights and of their squares, and of a margin y the weighted mean and the sum of squares about it.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from podium.data.tables.labels import number_records

__all__ = ["Merger"]

Piece: TypeAlias = dict[str, NDArray[Any]]  # the columns there are, by role

KEYS = ("left", "right", "outcome", "judge", "group", "by")  # codes: each fits 32 bits


class Merger:
    """Holds the pieces added: as they are, or merged so that memory follows the distinct rows."""

    def __init__(self, merge: bool) -> None:
        self.merge = merge
        self._pieces: list[Piece] = []
        self._rows = 0  # in all pieces
        self._distinct = 0  # after the last merge

    def add(self, piece: Piece) -> None:
        piece = _without_zeros(_weighed(piece))
        if self.merge:
            piece = merged(_counted(piece))
        self._pieces.append(piece)
        self._rows += len(piece["left"])
        if self.merge and self._rows > 2 * self._distinct + 500_000:
            self._compact()

    def result(self) -> Piece | None:
        """All rows added, or None when there are none."""
        if not self._rows:
            return None
        if self.merge:
            self._compact()
        return joined(self._pieces)

    def _compact(self) -> None:
        if len(self._pieces) > 1:
            self._pieces = [merged(joined(self._pieces))]
        self._rows = self._distinct = len(self._pieces[0]["left"])


def merged(piece: Piece) -> Piece:
    """One row for each distinct one, in order of first appearance."""
    group, first = number_records(_records(piece))
    size = len(first)
    if size == len(group):
        return piece
    found = {name: piece[name][first] for name in (*KEYS, "covariates") if name in piece}
    weight = piece["weight"]
    found["count"] = np.bincount(group, piece["count"], size).astype(np.int64)
    found["weight"] = np.bincount(group, weight, size)
    found["weight_sq"] = np.bincount(group, piece["weight_sq"], size)
    if "margin" in piece:
        mean = np.bincount(group, weight * piece["margin"], size) / found["weight"]
        spread = piece["margin_ss"] + weight * (piece["margin"] - mean[group]) ** 2
        found["margin"], found["margin_ss"] = mean, np.bincount(group, spread, size)
    return found


def joined(pieces: list[Piece]) -> Piece:
    """The rows of all pieces, one after the other."""
    if len(pieces) == 1:
        return pieces[0]
    return {name: np.concatenate([piece[name] for piece in pieces]) for name in pieces[0]}


def _weighed(piece: Piece) -> Piece:
    """A row that counts several votes weighs as many, each what its weight says."""
    if "count" not in piece:
        return piece
    count = piece["count"].astype(np.float64)
    weight = piece.get("weight", 1.0)
    return piece | {"weight": weight * count, "weight_sq": weight**2 * count}


def _without_zeros(piece: Piece) -> Piece:
    """Rows of weight 0 or count 0 say nothing."""
    tests = [piece[name] > 0 for name in ("weight", "count") if name in piece]
    if all(test.all() for test in tests):
        return piece
    kept = np.logical_and.reduce(tests)
    return {name: column[kept] for name, column in piece.items()}


def _counted(piece: Piece) -> Piece:
    """The same rows with every sum that merging adds up."""
    one = np.ones(len(piece["left"]))
    weight = piece.get("weight", one)
    full = {"count": one.astype(np.int64), "weight": weight, "weight_sq": weight**2} | piece
    return full | ({"margin_ss": 0 * one} if "margin" in piece else {})


def _records(piece: Piece) -> NDArray[np.uint64]:
    """The bits that tell rows apart, one record a row: two keys to a word, then the covariates."""
    keys = [piece[name] for name in KEYS if name in piece]
    words = [_word(keys[k], keys[k + 1] if k + 1 < len(keys) else None) for k in range(0, len(keys), 2)]
    if "covariates" in piece:
        zeroed = piece["covariates"] + 0.0  # -0.0 equals 0.0
        words += [np.ascontiguousarray(column).view(np.uint64) for column in zeroed.T]
    return np.column_stack(words) if len(words) > 1 else words[0].reshape(-1, 1)


def _word(high: NDArray[Any], low: NDArray[Any] | None) -> NDArray[np.uint64]:
    word = high.astype(np.uint64) << np.uint64(32)
    return word if low is None else word | low.astype(np.uint32)
