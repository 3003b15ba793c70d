"""The values of a column of features: numbers, or an indicator for each value of a text."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from podium.data.tables.values import odd_one_out
from podium.data.validation import sound_sparse
from podium.errors import InputError, Option

__all__ = ["Floats", "Matrix", "checked_sparse", "few", "indicators", "is_sparse", "numbers", "text_levels"]

Floats: TypeAlias = NDArray[np.float64]
Matrix: TypeAlias = Any  # an array of floats, or a sparse one of SciPy by rows (csr)

MIN_DISTINCT = 10  # texts, one an item, from which on they are taken for labels or remarks, and no feature
WITHOUT = (", or empty the cell and set ", Option("missing", "mean"))
READ = ("Boolean", "String", "Null")  # what is read as numbers, or refused by value


def is_sparse(source: Any) -> bool:
    """Whether this is a sparse table of SciPy."""
    return hasattr(source, "tocsr") and hasattr(source, "nnz")


def checked_sparse(source: Any, names: tuple[str, ...], labels: Sequence[Hashable] | None) -> Matrix:
    """A sparse table by rows, every value stored once and finite."""
    sound_sparse(source, "features")
    from scipy.sparse import csr_array

    try:
        if source.dtype.kind == "c":
            raise TypeError(f"they are {source.dtype}")
        table = csr_array(source, dtype=np.float64)
    except (TypeError, ValueError) as problem:
        raise InputError(f"features: a sparse table of numbers is expected ({problem})") from problem
    table.sum_duplicates()
    bad = np.flatnonzero(~np.isfinite(table.data))
    if len(bad):
        row, column = int(np.searchsorted(table.indptr, bad[0], side="right")) - 1, int(table.indices[bad[0]])
        value = table.data[bad[0]]
        raise InputError(f"features: {names[column]!r} is {value} for {row_name(labels, row)}; it must be finite")
    return table


def few(labels: Sequence[Any], most: int = 4) -> str:
    """The first few labels, quoted."""
    rest = len(labels) - most
    return ", ".join(repr(label) for label in labels[:most]) + (f" and {rest} more" if rest > 0 else "")


def text_levels(table: Mapping[str, Any], one_hot: bool | None) -> dict[str, tuple[str, ...]]:
    """The values of each column of text, sorted; such columns are refused unless `one_hot`.

    None is for those who take numbers only. A text among numbers is refused in any case, with its row.
    """
    levels = {}
    for name, values in table.items():
        kind = getattr(values, "dtype", None)
        text = str(kind) in ("String", "Categorical", "Enum") or str(kind).startswith(("Enum", "Categorical"))
        if isinstance(values, list):
            text = any(isinstance(value, str) for value in values)
        if text:
            levels[name] = tuple(sorted({str(value) for value in values if value is not None}))
            _refuse_odd_one(name, values, () if one_hot is None else WITHOUT)
    if levels and not one_hot:
        hold, it = ("holds", "it") if len(levels) == 1 else ("hold", "them")
        way: tuple[Any, ...] = (", or set ", Option("one_hot", True), " for a column per value")
        if one_hot is None:
            way = ("; this method takes numbers only",)
        raise InputError(f"features: {few(list(levels))} {hold} text; leave {it} out", *way)
    for name, known in levels.items():
        if len(known) >= MIN_DISTINCT and len(known) == sum(value is not None for value in table[name]):
            raise InputError(
                f"features: {name!r} is another text for every item, so it says nothing that items share; leave it out"
            )
    return levels


def _refuse_odd_one(name: str, values: Any, way: tuple[Any, ...]) -> None:
    import polars as pl

    if isinstance(values, list):
        values = pl.Series(name, [None if value is None else str(value) for value in values], dtype=pl.String)
    odd = odd_one_out(values)
    if odd:
        raise InputError(f"features: {odd}; correct it", *way)


def indicators(values: Any, name: str, levels: tuple[str, ...], labels: Sequence[Hashable] | None) -> list[Floats]:
    """A column of 0 and 1 for each value but the first; NaN where it is missing."""
    listed = [None if value is None else str(value) for value in values]
    for row, value in enumerate(listed):
        if value is not None and value not in levels:
            where = row_name(labels, row)
            raise InputError(f"features: {name!r} is {value!r} for {where}; the model knows {few(levels)}")
    hole = np.array([value is None for value in listed])
    return [
        np.where(hole, np.nan, np.array([value == level for value in listed], dtype=np.float64)) for level in levels[1:]
    ]


def numbers(values: Any, name: str, labels: Sequence[Hashable] | None) -> Floats:
    """One column as floats, NaN where missing; an infinite value is an error."""
    import polars as pl

    if isinstance(values, pl.Series) and not (values.dtype.is_numeric() or str(values.dtype) in READ):
        raise InputError(f"features: column {name!r} holds {values.dtype}; a feature is a number")
    try:
        if isinstance(values, pl.Series):
            column = values.cast(pl.Float64).to_numpy()
        elif isinstance(values, np.ndarray):
            column = values
        else:
            if any(isinstance(value, np.complexfloating) for value in values):  # which become floats with a warning
                raise TypeError
            column = np.array([np.nan if value is None else value for value in values], dtype=np.float64)
    except (TypeError, ValueError, ArithmeticError, pl.exceptions.PolarsError) as problem:
        bad = (row for row, value in enumerate(values) if not _is_number(value))
        row = next(bad, 0)
        where = row_name(labels, row)
        raise InputError(f"features: {name!r} is {values[row]!r} for {where}; it must be a number") from problem
    if np.isinf(column).any():
        row = int(np.flatnonzero(np.isinf(column))[0])
        raise InputError(f"features: {name!r} is {column[row]} for {row_name(labels, row)}; it must be finite")
    return np.asarray(column, dtype=np.float64)


def _is_number(value: Any) -> bool:
    if isinstance(value, np.complexfloating):
        return False
    try:
        float(0 if value is None else value)
    except (TypeError, ValueError, ArithmeticError):
        return False
    return not isinstance(value, str) or set(value).isdisjoint("_ ")  # as polars reads it


def row_name(labels: Sequence[Hashable] | None, row: int) -> str:
    """A row as a message names it: by its item, or by its number."""
    return f"row {row + 1}" if labels is None else repr(labels[row])
