"""Mean and standard deviation of each feature, and what is wrong with a feature that tells nothing new."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from podium.data.features.values import Floats, Matrix, few, is_sparse
from podium.errors import DataWarning
from podium.text import counted

__all__ = ["column_moments", "warn_of_columns"]


def warn_of_columns(matrix: Matrix, names: Sequence[str], votes: int) -> tuple[str, ...]:
    """Say which columns are constant or follow from others, and when there are more features than votes.

    Returns the names of such columns. None of it stops the fit: a constant moves no difference, so it is ignored, and
    the penalty shares an effect among columns that carry the same information.
    """
    mean, size, constant = column_moments(matrix)
    flat = [names[k] for k in np.flatnonzero(constant).tolist()]
    if flat:
        warnings.warn(
            f"feature {few(flat)}: the same for every compared item to 12 digits; it explains nothing and is ignored",
            DataWarning,
            stacklevel=3,
        )
    if is_sparse(matrix) and matrix.shape[1] < matrix.shape[0]:
        matrix = matrix.toarray()
    if matrix.shape[1] >= matrix.shape[0]:
        warnings.warn(
            f"{counted(matrix.shape[1], 'feature')} for {counted(matrix.shape[0], 'compared item')}: only the penalty "
            "tells the weights apart",
            DataWarning,
            stacklevel=3,
        )
        dependent: list[str] = []
    else:
        kept = np.flatnonzero(~constant)
        dependent = [names[int(kept[k])] for k in _dependent((matrix[:, kept] - mean[kept]) / size[kept])]
        if dependent:
            warnings.warn(
                f"feature {few(dependent)}: follows from those before it; the penalty shares the effect among them",
                DataWarning,
                stacklevel=3,
            )
    if votes < matrix.shape[1]:
        warnings.warn(
            f"{counted(votes, 'vote')} for {counted(matrix.shape[1], 'feature')}: the weights lean on the penalty; "
            "expect wide intervals",
            DataWarning,
            stacklevel=3,
        )
    return (*flat, *dependent)


def column_moments(matrix: Matrix) -> tuple[Floats, Floats, NDArray[np.bool_]]:
    """Mean and standard deviation of each column, and which are constant but for rounding.

    >>> [each.tolist() for each in column_moments(np.array([[1.0, 0.1], [3.0, 0.1], [2.0, 0.1]]))[::2]]
    [[2.0, 0.1], [False, True]]
    """
    if is_sparse(matrix):
        return _sparse_moments(matrix)
    largest = np.abs(matrix).max(axis=0, initial=0.0)
    unit = np.where(largest > 0, largest, 1.0)  # so that no square over- or underflows
    mean: Floats = (matrix / unit).mean(axis=0)
    size: Floats = (matrix / unit - mean).std(axis=0)
    return mean * unit, size * unit, size <= 1e-12


def _sparse_moments(matrix: Matrix) -> tuple[Floats, Floats, NDArray[np.bool_]]:
    """The same of a sparse table: what is not stored is 0, and each of these is as far from the mean as the mean."""
    rows, d = matrix.shape
    largest, column = np.zeros(d), matrix.indices
    np.maximum.at(largest, column, np.abs(matrix.data))
    unit = np.where(largest > 0, largest, 1.0)
    values = matrix.data / unit[column]
    mean = np.bincount(column, values, d) / max(rows, 1)
    squares = np.bincount(column, (values - mean[column]) ** 2, d)
    absent = rows - np.bincount(column, minlength=d)
    size = np.sqrt((squares + absent * mean**2) / max(rows, 1))
    return mean * unit, size * unit, size <= 1e-12


def _dependent(standard: Floats) -> list[int]:
    """Columns that are combinations of columns before them, by Cholesky of the Gram matrix, column by column."""
    gram = standard.T @ standard / max(len(standard), 1)
    dependent = []
    for k in range(len(gram)):
        left = gram[k, k]
        if left <= 1e-9:
            dependent.append(k)
            gram[k:, k] = gram[k, k:] = 0.0
            continue
        column = gram[k:, k] / np.sqrt(left)
        gram[k + 1 :, k + 1 :] -= np.outer(column[1:], column[1:])
    return dependent
