"""Where features come from: arrays, frames and mappings become columns, and rows find their items."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from podium.data.features.values import few
from podium.data.tables.forms import as_polars
from podium.data.tables.labels import is_missing, warn_of_look_alikes
from podium.data.tables.values import as_labels
from podium.data.validation import array_of
from podium.errors import DataWarning, InputError, InPython, Option
from podium.text import counted

if TYPE_CHECKING:
    import polars as pl

__all__ = ["labelled_columns", "lined_up"]


def labelled_columns(
    source: Any, id: str | None, items: Sequence[Hashable] = ()
) -> tuple[tuple[Hashable, ...] | None, dict[str, Any]]:
    """Labels, if there are any, and the columns by name."""
    if isinstance(source, Mapping):
        return _from_mapping(source)
    if isinstance(source, np.ndarray | list | tuple):
        return None, _from_array(source)
    frame = as_polars(source)
    import polars as pl

    if isinstance(frame, pl.LazyFrame):
        frame = frame.collect()
    columns = {name: frame[name] for name in frame.columns}
    if items or id is not None:
        id = _label_column(columns, id, items)
        return tuple(_labels(columns.pop(id), items)), columns
    return None, columns


def _from_array(source: Any) -> dict[str, Any]:
    try:
        array = array_of(source, "features", np.float64)
    except InputError as problem:
        raise InputError(f"{problem}; give a frame for text") from problem
    if array.ndim == 1:
        array = array[:, None]
    if array.ndim != 2:
        raise InputError(f"features: a table is expected, not an array of shape {array.shape}")
    return {f"x{k + 1}": column for k, column in enumerate(array.T)}


def _from_mapping(source: Mapping[Hashable, Any]) -> tuple[tuple[Hashable, ...], dict[str, Any]]:
    labels, rows = tuple(source), [source[label] for label in source]
    if not rows:
        raise InputError("features: the mapping is empty; give a row for each item")
    if not isinstance(rows[0], Mapping):
        try:
            rows = [np.atleast_1d(np.asarray(row)).tolist() for row in rows]
        except ValueError as problem:  # lists in the list
            raise InputError(f"features: each item needs a flat list of values ({problem})") from problem
        names = tuple(f"x{k + 1}" for k in range(len(rows[0])))
        bad = [label for label, row in zip(labels, rows, strict=True) if len(row) != len(names)]
        if bad:
            raise InputError(f"features of {few(bad)}: another number of values than {labels[0]!r} has, {len(names)}")
        return labels, {name: [row[k] for row in rows] for k, name in enumerate(names)}
    names = tuple(dict.fromkeys(str(name) for row in rows for name in row))
    return labels, {name: [row.get(name) for row in rows] for name in names}


def _label_column(columns: Mapping[str, pl.Series], id: str | None, items: Sequence[Hashable]) -> str:
    if id is not None:
        if id not in columns:
            raise InputError(f"features: no column {id!r} to find the items by; there are {few(list(columns))}")
        return id
    lacking = {
        name: [item for item in items if item not in labels]
        for name, values in columns.items()
        if not (values.dtype.is_nested() or str(values.dtype) in ("Object", "Binary"))
        for labels in [set(_labels(values, items))]
    }
    fit = [name for name, gone in lacking.items() if not gone]
    if "item" in columns and fit != ["item"]:
        return "item"
    if len(fit) != 1:
        what = f"columns {few(fit)} all hold the compared items;" if fit else _nearest(lacking, len(items))
        raise InputError(
            f"features: {what} name the column of labels by ",
            Option("id"),
            f" (there are {few(list(columns))})",
            InPython("; labels in the index of a pandas table become a column by reset_index()"),
        )
    return fit[0]


def _nearest(lacking: Mapping[str, Sequence[Hashable]], items: int) -> str:
    """That no column holds every item, and what the one that holds the most lacks."""
    name = min(lacking, key=lambda name: len(lacking[name]), default=None)
    if name is None or len(lacking[name]) == items:
        return "no column holds every compared item;"
    return f"no column holds every compared item, {name!r} lacks {few(lacking[name])}; complete it, or"


def _labels(values: pl.Series, items: Sequence[Hashable]) -> list[Hashable]:
    """A column as labels; what is no text is read as text where the votes have text, as files of votes do."""
    if values.dtype.is_nested() or str(values.dtype) == "Object":
        raise InputError(f"features: column {values.name!r} holds {values.dtype}; labels are text or numbers")
    if items and all(isinstance(item, str) for item in items) and not values.dtype.is_float():
        listed = as_labels(values, _fail).to_list()
        return [None if value is None else str(value) for value in listed]
    return values.to_list()


def _fail(row: int, message: str) -> NoReturn:
    raise InputError(f"features, row {row + 1}: {message}")


def lined_up(
    ids: tuple[Hashable, ...], items: Sequence[Hashable], missing: str
) -> tuple[tuple[Hashable, ...], NDArray[np.intp]]:
    """Labels, compared ones first, and the row of each (−1: none)."""
    rows: dict[Hashable, int] = {}
    for row, label in enumerate(ids):
        if is_missing(label):
            raise InputError(f"features, row {row + 1}: no label; name the item or remove the row")
        if rows.setdefault(label, row) != row:
            raise InputError(f"features: {label!r} appears in rows {rows[label] + 1} and {row + 1}; remove one")
    labels = tuple(dict.fromkeys([*items, *rows]))
    known = len(items)
    if len(labels) > known:

        def place(code: int) -> str:
            return f"features, row {rows[labels[code]] + 1}" if code >= known else ""

        warn_of_look_alikes("items", labels, place, stacklevel=4, known=known)
    lacking = [item for item in items if item not in rows]
    if len(lacking) == len(items):
        raise InputError(
            f"features: none of the compared items ({few(items)}) is among its labels ({few(list(rows))}); "
            "check the column of labels"
        )
    if lacking and missing == "error":
        raise InputError(f"features: no row for {few(lacking)}; add it, or set ", Option("missing", "mean"))
    if lacking:
        what = f"no row for {len(lacking):,} of {counted(len(items), 'compared item')}, {few(lacking)}"
        warnings.warn(DataWarning(f"features: {what}; the mean of every column stands for theirs"), stacklevel=4)
    return labels, np.array([rows.get(label, -1) for label in labels], dtype=np.intp)
