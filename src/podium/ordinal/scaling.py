"""The scale of the features: means and standard deviations, so that no learner depends on the units of X."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from podium.kernels.ordinal.scale import standardise
from podium.ordinal.labels import Array

__all__ = ["FeatureScale", "inverse", "moments", "rescaled"]

CONSTANT = 1e-10  # a column whose deviation is this small a part of its mean holds rounding, not information


def moments(X: Any, weight: Array | None = None) -> tuple[Array, Array]:
    """Mean and standard deviation of each column; a weight counts its row so many times.

    >>> mean, deviation = moments(np.array([[1.0, 5.0], [3.0, 5.0]]))
    >>> mean.tolist(), deviation.tolist()
    ([2.0, 5.0], [1.0, 0.0])
    """
    n, d = X.shape
    total = float(n) if weight is None else float(weight.sum())
    with np.errstate(over="ignore", invalid="ignore"):
        if not hasattr(X, "indptr"):
            mean = X.mean(axis=0, dtype=np.float64) if weight is None else weight @ X / total
            apart = X - mean
            squares = np.einsum("ij,ij->j", apart, apart) if weight is None else weight @ apart**2
            return mean, np.sqrt(squares / total)
        times = np.ones(len(X.data)) if weight is None else np.repeat(weight, np.diff(X.indptr))
        count = np.bincount(X.indices, times, d)
        mean = np.bincount(X.indices, times * X.data, d) / total
        squares = np.bincount(X.indices, times * (X.data - mean[X.indices]) ** 2, d)
        squares = squares + np.maximum(total - count, 0) * mean**2  # the zeros that are not stored
        return mean, np.sqrt(squares / total)


def inverse(mean: Array, deviation: Array) -> Array:
    """One over the standard deviation; 0 for a constant column, from which nothing can be learned."""
    varies = deviation > CONSTANT * np.abs(mean)
    factor: Array = np.divide(1.0, deviation, out=np.zeros_like(deviation), where=varies)
    return factor


def rescaled(X: Any, mean: Array, factor: Array) -> Any:
    """A copy of X with each column times `factor`; dense ones are centred first, sparse ones stay sparse."""
    if not hasattr(X, "indptr"):
        return ((X - mean) * factor).astype(X.dtype, copy=False)
    scaled = X.copy()
    scaled.data = (X.data * factor[X.indices]).astype(X.dtype, copy=False)
    return scaled


@dataclass
class FeatureScale:
    """Means and deviations of the features seen so far, and the rows made comparable by them.

    A dense row x becomes (x - mean) / deviation; where the first table was sparse, x / deviation, which keeps zeros.
    The scale in use stays until `renew` takes in the rows that came since: rows may come one by one or in tables.

    The numbers are those of scikit-learn's StandardScaler (a test compares). It is not used because scaling a block
    and counting it for the next scale is one pass here: its `transform` and `partial_fit` took 6 to 12 times the CPU
    on blocks of 4,000 × 136 and 40,000 × 8, and 16 times on a single row of 8 features.
    """

    centred: bool
    count: int  # rows in the mean and the squares
    pending: int  # rows since
    squares: Array  # sum of squared deviations from the mean
    metric: Array  # mean, 1 / deviation, and of the pending rows the sums of x - mean and of its square

    @classmethod
    def empty(cls, n_features: int, *, centred: bool) -> FeatureScale:
        return cls(centred, 0, 0, np.zeros(n_features), np.zeros((4, n_features)))

    @property
    def origin(self) -> Array:
        """What is subtracted from a row."""
        origin: Array = self.metric[0] if self.centred else np.zeros_like(self.metric[0])
        return origin

    @property
    def factor(self) -> Array:
        factor: Array = self.metric[1]
        return factor

    def apply(self, X: Any) -> Any:
        """The rows on the present scale."""
        if hasattr(X, "indptr") and self.centred:
            X = X.toarray()
        return rescaled(X, self.origin, self.factor)

    def take(self, X: Any, *, at_once: bool = False) -> Any:
        """The rows on the present scale; they are counted for the next one. `at_once` counts them first."""
        self.pending += X.shape[0]
        if self.centred and not at_once:
            rows = X.toarray() if hasattr(X, "indptr") else X
            Z = np.empty(rows.shape)
            standardise(rows, self.metric, Z)
            return Z
        mean, deviation = moments(X)
        if self.count == 0 and self.pending == X.shape[0]:
            self.metric[0] = mean  # the first rows: squares around 0 would lose the deviation beside a large mean
        apart = mean - self.metric[0]
        self.metric[2] += X.shape[0] * apart
        self.metric[3] += X.shape[0] * (deviation**2 + apart**2)
        if at_once:
            self.renew()
        return self.apply(X)

    def renew(self) -> None:
        """Take in the pending rows (Chan, Golub and LeVeque, 1979)."""
        if not self.pending:
            return
        self.count += self.pending
        mean, factor, sums, squares = self.metric
        shift = sums / self.count
        self.squares = np.maximum(self.squares + squares - sums * shift, 0.0)
        mean += shift
        factor[:] = inverse(mean, np.sqrt(self.squares / self.count))
        sums[:] = squares[:] = 0.0
        self.pending = 0

    def change_units(self, ratio: Array, shift: Array) -> None:
        """Go over to rows z of which `ratio` * z + `shift` are the present ones; the scaled rows stay."""
        self.squares = self.squares / ratio**2
        self.metric[0] = (self.metric[0] - shift) / ratio
        self.metric[1] *= ratio
        self.metric[2] /= ratio
        self.metric[3] /= ratio**2

    def widen(self, more: int) -> None:
        """Take in `more` features that were 0 in all rows so far."""
        self.squares = np.pad(self.squares, (0, more))
        self.metric = np.pad(self.metric, ((0, 0), (0, more)))
