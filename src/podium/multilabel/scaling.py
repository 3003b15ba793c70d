"""The size of each feature, so that one penalty is fair to all of them."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["SCALINGS", "measure", "scaled"]

SCALINGS = ("auto", True, False)
MOSTLY = 0.5  # share of zeros above which a feature says by being there, and is not centred


def measure(X: Any, weight: np.ndarray, how: Any) -> tuple[Any, Any]:
    """What to take from each feature and to divide it by: its mean and standard deviation.

    With "auto", a feature that is 0 in most rows (a word), or has one value beside 0 (a yes or no), is divided by the
    root mean square of its other values instead: a rare one is not blown up. A sparse table stays sparse, so it is
    never centred; the intercept makes up for that. With True, all features are standardised, those of a sparse table by
    their root mean square. With False, they stay as they are.
    """
    if how is False:
        return 0.0, 1.0
    used = weight > 0
    X, share = X[used], weight[used] / weight[used].sum()
    largest = np.asarray(abs(X).max(axis=0).toarray()).reshape(-1) if hasattr(X, "tocsr") else np.abs(X).max(axis=0)
    unit = np.where(largest > 0, largest, 1.0)  # squares of values up to 1 neither overflow nor vanish
    dense = isinstance(X, np.ndarray)
    small = X / unit if dense else X.multiply(1 / unit).tocsr()
    mean = np.asarray(share @ small).reshape(-1)
    square = np.asarray(share @ (np.square(small) if dense else small.multiply(small))).reshape(-1)
    there = np.asarray(share @ (small != 0)).reshape(-1)
    varies = X.min(axis=0) != X.max(axis=0)
    varies = varies if dense else np.asarray(varies.toarray()).reshape(-1)
    if dense:
        spread = np.sqrt(np.asarray(share @ np.square(small - mean)).reshape(-1))
    else:
        spread = np.sqrt(square if how is True else np.maximum(square - np.square(mean), 1e-12 * square))
    size = np.where(varies & (spread > 0), spread, 1.0 if dense else np.sqrt(square))
    if how == "auto":
        yes_or_no = np.asarray(share @ abs(small)).reshape(-1) > (1 - 1e-9) * there  # 0 and one other value
        rare = ((there < MOSTLY) | (yes_or_no & varies)) & (there > 0)
        size = np.where(rare, np.sqrt(square / np.where(rare, there, 1.0)), size)
        mean = np.where(rare, 0.0, mean)
    size = np.where(size > 0, size * unit, 1.0)
    if dense:
        size = np.where(varies, size, 1.0)
    return (mean * unit if dense else 0.0), size


def scaled(X: Any, centre: Any, size: Any) -> Any:
    """The features, less their centre and over their size; a sparse table stays sparse if nothing is taken away."""
    if isinstance(X, np.ndarray) or np.any(centre):
        return ((X if isinstance(X, np.ndarray) else X.toarray()) - centre) / size
    return X.multiply(1 / size).tocsr() if np.ndim(size) else X
