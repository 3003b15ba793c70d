"""Curved boundaries for tables of any length: a fixed number of rows, the landmarks, stand for all (Nyström)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from podium.ordinal.dual import kernel_of
from podium.ordinal.labels import Array

__all__ = ["LandmarkMap", "RowSample"]

MIN_EIGENVALUE = 1e-10  # of the largest: below it a direction is rounding


@dataclass
class LandmarkMap:
    """Features whose inner products are those of the kernel exp(-|x - x'|² / d), exact wherever x is a landmark.

    With K the kernel among the landmarks, x becomes k(x, landmarks) K^(-1/2). Rows are standardised before.

    References
    ----------
    Williams and Seeger, "Using the Nyström method to speed up kernel machines", NIPS 2000.
    """

    rows: Array  # (N, d), standardised
    roots: Array  # (N, r), K^(-1/2) without directions of no length

    @classmethod
    def of(cls, rows: Array) -> LandmarkMap:
        rows = np.unique(rows, axis=0)
        values, vectors = np.linalg.eigh(kernel_of("rbf", None, rows.shape[1])(rows, rows))
        kept = values > MIN_EIGENVALUE * values[-1]
        return cls(rows, vectors[:, kept] / np.sqrt(values[kept]))

    def apply(self, scaled: Array) -> Array:
        """The new features of standardised rows."""
        products = kernel_of("rbf", None, self.rows.shape[1])(scaled, self.rows)
        mapped: Array = np.asarray(products) @ self.roots
        return mapped


class RowSample:
    """A random sample of fixed size from rows that come piece by piece: those with the smallest random keys."""

    def __init__(self, size: int, rng: np.random.Generator) -> None:
        self.size, self._rng = size, rng
        self._keys, self.rows = np.empty(0), np.empty((0, 0))

    def add(self, X: Array) -> None:
        keys = np.concatenate([self._keys, self._rng.random(len(X))])
        rows = np.concatenate([self.rows, X]) if len(self.rows) else X
        chosen = np.sort(np.argsort(keys, kind="stable")[: self.size])
        self._keys, self.rows = keys[chosen], rows[chosen]
