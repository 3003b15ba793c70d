"""Columns given as arrays, checked once with the row named."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from podium.errors import InputError

__all__ = [
    "code_column",
    "covariate_table",
    "distinct_labels",
    "non_negative_column",
    "number_column",
    "union_of_labels",
]

Floats = NDArray[np.float64]


def distinct_labels(items: Sequence[Hashable]) -> Sequence[Hashable]:
    """The items a user lists, each once."""
    if isinstance(items, range):
        return items
    labels = tuple(items.tolist() if isinstance(items, np.ndarray) else items)
    for label in labels:
        if not isinstance(label, Hashable):
            raise InputError(f"items: {label!r} cannot be a label; use text, numbers or tuples")
    if len(set(labels)) < len(labels):
        seen: set[Hashable] = set()
        twice = next(label for label in labels if label in seen or seen.add(label))  # type: ignore[func-returns-value]
        raise InputError(f"items: {twice!r} stands twice; labels must differ")
    return labels


def code_column(values: Any, what: str) -> NDArray[Any]:
    """Integer codes as the kernels take them."""
    if np.ma.is_masked(values):
        row = int(np.flatnonzero(np.ma.getmaskarray(values))[0])
        raise InputError(f"row {row + 1}: {what} is masked; remove the row")
    codes = np.asarray(values)
    if codes.size and codes.dtype.kind not in "iu":
        raise InputError(
            f"{what}: with `items`, integer codes are expected, not {codes.dtype}; leave `items` out for labels"
        )
    if codes.ndim != 1:
        raise InputError(f"{what}: one column is expected, not shape {codes.shape}")
    return np.ascontiguousarray(codes, dtype=codes.dtype if codes.dtype in (np.int32, np.int64) else np.int64)


def number_column(values: ArrayLike, what: str, rows: int) -> Floats:
    """A column of numbers with as many rows as there are votes."""
    try:
        column = np.ascontiguousarray(values, dtype=np.float64)
    except (TypeError, ValueError) as problem:
        raise InputError(f"{what}: numbers are expected ({problem})") from problem
    if column.shape != (rows,):
        raise InputError(f"{what} has shape {column.shape}, the votes have {rows} rows; they must match")
    return column


def non_negative_column(values: ArrayLike, what: str, rows: int) -> Floats:
    """The same, finite and not below 0."""
    column = number_column(values, what, rows)
    bad = ~(np.isfinite(column) & (column >= 0))
    if bad.any():
        row = int(np.flatnonzero(bad)[0])
        raise InputError(f"row {row + 1}: {what} is {column[row]:g}; it must be a finite number of at least 0")
    return column


def covariate_table(values: ArrayLike | Mapping[str, ArrayLike], rows: int) -> tuple[Floats, tuple[str, ...]]:
    """Covariates as a (rows, p) table with their names."""
    if isinstance(values, Mapping):
        names, columns = tuple(values), [number_column(v, name, rows) for name, v in values.items()]
        table = np.column_stack(columns) if columns else np.empty((rows, 0))
    else:
        try:
            table = np.asarray(values, dtype=np.float64)
        except (TypeError, ValueError) as problem:
            raise InputError(f"covariates: numbers are expected ({problem})") from problem
        table = table[:, None] if table.ndim == 1 else table
        names = tuple(f"x{k + 1}" for k in range(table.shape[-1] if table.ndim else 0))
    if table.ndim != 2 or len(table) != rows or not names:
        raise InputError(f"covariates have shape {table.shape}, the votes have {rows} rows; they must match")
    if not np.isfinite(table).all():
        row, k = (int(v[0]) for v in np.nonzero(~np.isfinite(table)))
        raise InputError(f"row {row + 1}: covariate {names[k]!r} is {table[row, k]:g}; it must be finite")
    return np.ascontiguousarray(table), names


def union_of_labels(
    first: Sequence[Hashable], second: Sequence[Hashable]
) -> tuple[tuple[Hashable, ...], NDArray[np.int32]]:
    """All labels, and for each of `second` its place among them."""
    index = {label: code for code, label in enumerate(first)}
    recode = np.array([index.setdefault(label, len(index)) for label in second], dtype=np.int32)
    return tuple(index), recode
