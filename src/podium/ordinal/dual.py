"""Scores by inner products: the examples that moved a model, and how far each candidate went along them.

A learner with a kernel k never sees its w: the score of x is the sum of a_s k(x_s, x) over the examples x_s that were
updated on. Each update needs score and k(x, x) only, so it is as exact as with a w. With a budget, the example that
counts least is given up once there are too many: it is replaced by its projection onto the kept one nearest to it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from podium.errors import InputError
from podium.ordinal.labels import Array
from podium.text import counted

__all__ = ["Kernel", "SupportSet", "kernel_of"]

Kernel: TypeAlias = Callable[[Any, Any], Any]
FIRST_CAPACITY = 64
MAX_ROWS_AT_ONCE = 2048
NOW, LAG, JUDGED = 0, 1, 2  # what the first axis of `SupportSet.coef` holds


def kernel_of(kernel: Any, gamma: float | None, n_features: int) -> Kernel:
    """The matrix of inner products of two tables, by name or by the user's own function, whose result is checked."""
    if kernel == "rbf":
        width = 1.0 / max(n_features, 1) if gamma is None else float(gamma)
        return lambda A, B: _rbf(A, B, width)

    def checked(A: Array, B: Array) -> Array:
        try:
            values = np.asarray(kernel(A, B), dtype=np.float64)
        except (TypeError, ValueError) as problem:
            raise InputError(
                f"the kernel does not take two tables of shapes {A.shape} and {B.shape}: {problem}"
            ) from problem
        if values.shape != (len(A), len(B)):
            raise InputError(
                f"the kernel gives shape {values.shape} for tables of {len(A)} and {counted(len(B), 'row')}; it must "
                "give one number for each pair of rows"
            )
        if not np.isfinite(values).all():
            raise InputError("the kernel gives NaN or infinity; scale the features, or take another kernel")
        return values

    return checked


def _rbf(A: Array, B: Array, gamma: float) -> Array:
    """exp(-gamma |a - b|²); the difference itself is squared where there are few, so that equal rows give 1."""
    if len(A) == 1:
        apart = B - A
        row: Array = np.exp(-gamma * np.einsum("ij,ij->i", apart, apart))[None]
        return row
    squares = np.einsum("ij,ij->i", A, A)[:, None] + np.einsum("ij,ij->i", B, B) - 2 * (A @ B.T)
    products: Array = np.exp(-gamma * np.maximum(squares, 0.0))
    return products


@dataclass
class SupportSet:
    """The examples that moved the model, in the first `size` rows of its arrays; the rest is room."""

    rows: Array  # (capacity, d), on the scale that the learner works on
    raw: Array  # the same in the units of X; no rows where the learner does not scale
    lengths: Array  # (capacity,) k(row, row)
    coef: Array  # (3, candidates, capacity): coefficients, their lags, and those by which candidates are judged
    size: int = 0

    @classmethod
    def empty(cls, n_features: int, candidates: int, *, scaled: bool) -> SupportSet:
        room = FIRST_CAPACITY
        return cls(
            np.zeros((room, n_features)),
            np.zeros((room if scaled else 0, n_features)),
            np.zeros(room),
            np.zeros((3, candidates, room)),
        )

    @property
    def kept(self) -> Array:
        """The examples on the learner's scale."""
        rows: Array = self.rows[: self.size]
        return rows

    def products(self, x: Array, inner: Kernel) -> tuple[Array, float]:
        """k(x, each example kept) and k(x, x) of one example, a table of one row."""
        along = inner(x, self.kept)[0] if self.size else np.zeros(0)
        length = float(inner(x, x)[0, 0])
        if not length >= 0.0:
            raise InputError(
                f"the kernel gives k(x, x) = {length:g}; an inner product of x with itself is not negative"
            )
        return along, length

    def scores(self, coef: Array, X: Array, inner: Kernel) -> Array:
        """The sum of coef_s k(x_s, x) for every row x of a table."""
        scores = np.zeros(len(X))
        for start in range(0, len(X) if self.size else 0, MAX_ROWS_AT_ONCE):
            part = slice(start, start + MAX_ROWS_AT_ONCE)
            scores[part] = inner(X[part], self.kept) @ coef[: self.size]
        return scores

    def add(
        self,
        x: Array,
        raw: Array | None,
        along: Array,
        length: float,
        steps: Array,
        seen: int,
        budget: float,
        inner: Kernel,
    ) -> None:
        """Go `steps` along x, one of each candidate; x is kept, unless it is kept already."""
        slot = self._same(x, along, length)
        if slot < 0:
            slot = self.size if self.size < budget else self._least(inner)
            if slot == len(self.rows):
                self._make_room()
            self.size = max(self.size, slot + 1)
            self.rows[slot], self.lengths[slot], self.coef[:, :, slot] = x, length, 0.0
            if raw is not None:
                self.raw[slot] = raw
        self.coef[NOW, :, slot] += steps
        self.coef[LAG, :, slot] += seen * steps

    def _same(self, x: Array, along: Array, length: float) -> int:
        """Where this very example is kept; -1 where it is not."""
        if not self.size:
            return -1
        near = int(np.argmax(along - self.lengths[: self.size] / 2))  # the least |φ(x) - φ(x_s)|²
        return near if np.array_equal(self.rows[near], x) else -1

    def _least(self, inner: Kernel) -> int:
        """Free the row of the example that counts least; its projection onto the nearest other is added to that."""
        lengths = self.lengths[: self.size]
        least = int(np.argmin((self.coef[NOW, :, : self.size] ** 2).sum(axis=0) * lengths))
        if self.size > 1:
            along = inner(self.rows[least : least + 1], self.kept)[0]
            share = np.divide(along**2, lengths, out=np.zeros(self.size), where=lengths > 0)
            share[least] = -1.0
            other = int(share.argmax())
            if lengths[other] > 0:
                self.coef[:, :, other] += self.coef[:, :, least] * (along[other] / lengths[other])
        return least

    def _make_room(self) -> None:
        more = len(self.rows)
        self.rows = np.concatenate([self.rows, np.zeros_like(self.rows)])
        self.raw = np.concatenate([self.raw, np.zeros_like(self.raw)])
        self.lengths = np.concatenate([self.lengths, np.zeros(more)])
        self.coef = np.concatenate([self.coef, np.zeros_like(self.coef)], axis=2)

    def rescale(self, origin: Array, factor: Array, inner: Kernel) -> None:
        """Put the examples kept on a new scale."""
        self.rows = (self.raw - origin) * factor
        for k in range(self.size):
            self.lengths[k] = inner(self.rows[k : k + 1], self.rows[k : k + 1])[0, 0]

    def widen(self, more: int) -> None:
        """Give every example `more` features that were 0."""
        self.rows = np.pad(self.rows, ((0, 0), (0, more)))
        self.raw = np.pad(self.raw, ((0, 0), (0, more)))

    def freeze(self, seen: int, *, average: bool) -> None:
        """Judge the candidates by their present state from now on."""
        self.coef[JUDGED] = self.coef[NOW] - (self.coef[LAG] / seen if average else 0.0)

    def choose(self, candidate: int) -> None:
        """Go on with one candidate alone."""
        self.coef = self.coef[:, [candidate]]
