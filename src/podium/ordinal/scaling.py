"""The scale of the features: means and standard deviations, so that no learner depends on the units of X."""

from __future__ import annotations

from typing import Any

import numpy as np

from podium.ordinal.labels import Array

__all__ = ["inverse", "moments", "rescaled"]

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
