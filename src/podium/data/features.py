"""Features of items: arrays, frames and mappings become one matrix with a row per item, checked once.

Whatever is wrong is named by item and column: a missing value, an infinite one, text where numbers are needed, an item
that was compared and has no features. Items that have features and were never compared come after those that were.
"""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

import numpy as np
from numpy.typing import NDArray

from podium.data.tables.forms import as_polars
from podium.data.tables.labels import is_missing
from podium.data.tables.values import as_labels
from podium.data.validation import array_of, sound_sparse
from podium.errors import DataWarning, InputError, Option
from podium.text import counted

if TYPE_CHECKING:
    import polars as pl

__all__ = [
    "FeatureSpec",
    "Matrix",
    "column_moments",
    "few",
    "is_sparse",
    "read_features",
    "read_row_weights",
    "warn_of_columns",
]

Floats = NDArray[np.float64]
Matrix: TypeAlias = Any  # an array of floats, or a sparse one of SciPy by rows (csr)

READ = ("Boolean", "String", "Null")  # what is read as numbers, or refused by value


@dataclass(frozen=True, eq=False, slots=True)
class FeatureSpec:
    """How a table became a matrix, so that a later table becomes one in the same way.

    `columns` are those of the table, `levels` the values of each text column (the first is the reference, without a
    column of its own), `names` those of the matrix, `means` what stands for a missing value.
    """

    columns: tuple[str, ...]
    names: tuple[str, ...]
    levels: dict[str, tuple[str, ...]] = field(default_factory=dict)
    means: Floats | None = None

    def read(self, source: Any) -> Matrix:
        """The matrix of new items, one row each: an array, a frame with the same columns, or a mapping by item.

        A sparse table of SciPy stays sparse.
        """
        if is_sparse(source):
            if source.ndim != 2 or source.shape[1] != len(self.names):
                raise InputError(
                    f"features: a sparse table of shape {source.shape}; the model was fitted with "
                    f"{counted(len(self.names), 'column')}"
                )
            return _checked_sparse(source, self.names, None)
        labels, table = _table(source, None)
        if not hasattr(source, "shape") or hasattr(source, "columns") or isinstance(source, Mapping):
            lacking = [name for name in self.columns if name not in table]
            if lacking:
                raise InputError(f"features: no column {few(lacking)}; the model was fitted with {few(self.columns)}")
        elif len(table) != len(self.columns):
            raise InputError(
                f"features: {counted(len(table), 'column')}; the model was fitted with {len(self.columns)}"
            )
        else:
            table = dict(zip(self.columns, table.values(), strict=True))
        return self._matrix({name: table[name] for name in self.columns}, labels, ())

    def read_of(self, source: Any, items: Sequence[Hashable], id: str | None) -> tuple[tuple[Hashable, ...], Matrix]:
        """The rows of `items`, and of any others a later table holds, read as the first table was."""
        if is_sparse(source):
            _check_rows(source.shape[0] if source.ndim == 2 else 0, items)
            return tuple(items), self.read(source)
        ids, table = _table(source, id, items)
        if ids is None:
            _check_rows(len(next(iter(table.values()), ())), items)
            return tuple(items), self.read(source)
        lacking = [name for name in self.columns if name not in table]
        if lacking:
            raise InputError(f"features: no column {few(lacking)}; the model was fitted with {few(self.columns)}")
        labels, place = _lined_up(ids, items, "error" if self.means is None else "mean")
        matrix = self._matrix({name: table[name] for name in self.columns}, ids, ())
        absent = np.zeros(len(self.names)) if self.means is None else self.means
        return labels, np.where((place >= 0)[:, None], matrix[place], absent)

    def _matrix(
        self,
        table: Mapping[str, Any],
        labels: Sequence[Hashable] | None,
        way: tuple[str | Option, ...] = (", or set ", Option("missing", "mean")),
    ) -> Floats:
        parts = []
        for name in self.columns:
            if name in self.levels:
                parts += _indicators(table[name], name, self.levels[name], labels)
            else:
                parts.append(_numbers(table[name], name, labels))
        size = len(next(iter(table.values()))) if table else 0
        matrix = np.column_stack(parts) if parts else np.empty((size, 0))
        holes = np.isnan(matrix)
        if holes.any():
            if self.means is None:
                rows, columns = np.nonzero(holes)
                at = list(dict.fromkeys(rows[columns == columns[0]].tolist()))
                where = few([row + 1 if labels is None else labels[row] for row in at])
                where = where if labels is not None else f"row {where}"
                raise InputError(f"features: {self.names[columns[0]]!r} is missing for {where}; fill it in", *way)
            matrix = np.where(holes, self.means, matrix)
        return np.ascontiguousarray(matrix)


def read_features(
    source: Any,
    items: Sequence[Hashable],
    *,
    id: str | None = None,
    missing: str = "error",
    one_hot: bool = False,
    sparse: bool = False,
) -> tuple[tuple[Hashable, ...], Matrix, FeatureSpec]:
    """Read the features of the compared `items`, and of any further items the table holds.

    Parameters
    ----------
    source : array, frame, mapping, or sparse table of SciPy
        An array or a sparse table has a row for each of `items`, in their order. A frame has a column of labels, `id`;
        a mapping is from label to a row, itself a sequence or a mapping from column to value.
    id : str, optional
        By default the one column that holds every compared item.
    missing : "error" or "mean"
        What to do with missing values and with compared items that have no row.
    one_hot : bool
        Turn text columns into a column of 0 and 1 for each value but the first; otherwise they are an error.
    sparse : bool
        Whether a sparse table stays one; otherwise it is written out.

    Returns
    -------
    labels, matrix, spec : compared items first, in their order, then the others in the order of the table
    """
    if missing not in ("error", "mean"):
        raise InputError(Option("missing", missing), " is not known; use 'error' or 'mean'")
    if is_sparse(source):
        return _read_sparse(source, items, sparse)
    ids, table = _table(source, id, items)
    if not table:
        raise InputError("features: there is no column beside the labels; give at least one feature")
    size = len(next(iter(table.values())))
    if ids is None:
        _check_rows(size, items)
        labels, place = tuple(items), np.arange(size)
    else:
        labels, place = _lined_up(ids, items, missing)
    levels = _text_levels(table, one_hot)
    names = [
        level
        for name in table
        for level in ([f"{name}={value}" for value in levels[name][1:]] if name in levels else [name])
    ]
    spec = FeatureSpec(tuple(table), tuple(names), levels, np.zeros(len(names)) if missing == "mean" else None)
    if spec.means is not None:
        spec = FeatureSpec(spec.columns, spec.names, levels, _column_means(spec, table, ids))
    matrix = spec._matrix(table, items if ids is None else ids)
    whole = np.empty((len(labels), len(names)))
    whole[:] = matrix[place] if spec.means is None else np.where((place >= 0)[:, None], matrix[place], spec.means)
    return labels, whole, spec


def is_sparse(source: Any) -> bool:
    """Whether this is a sparse table of SciPy."""
    return hasattr(source, "tocsr") and hasattr(source, "nnz")


def _read_sparse(
    source: Any, items: Sequence[Hashable], kept: bool
) -> tuple[tuple[Hashable, ...], Matrix, FeatureSpec]:
    if source.ndim != 2 or source.shape[1] == 0:
        raise InputError(f"features: a table with a column at least is expected, not a shape of {source.shape}")
    _check_rows(source.shape[0], items)
    names = tuple(f"x{k + 1}" for k in range(source.shape[1]))
    table = _checked_sparse(source, names, items)
    return tuple(items), table if kept else table.toarray(), FeatureSpec(names, names)


def _checked_sparse(source: Any, names: tuple[str, ...], labels: Sequence[Hashable] | None) -> Matrix:
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
        raise InputError(f"features: {names[column]!r} is {value} for {_name_row(labels, row)}; it must be finite")
    return table


def read_row_weights(
    source: str | Mapping[Hashable, float] | None, labels: tuple[Hashable, ...], matrix: Matrix, spec: FeatureSpec
) -> tuple[Matrix, FeatureSpec, Floats | None]:
    """How far each item's features count; and features and spec without the column that says so, if one does."""
    if source is None:
        return matrix, spec, None
    if not spec.names:
        raise InputError(Option("row_weights", source), " is about features, which are not given; drop it")
    if isinstance(source, str):
        if source not in spec.names or source in spec.levels:
            raise InputError(
                Option("row_weights", source), f": no column of numbers of that name; there are {few(spec.names)}"
            )
        k = spec.names.index(source)
        if len(spec.names) == 1:
            raise InputError(Option("row_weights", source), ": there is no other column to be a feature")
        weights = np.asarray(matrix[:, [k]].toarray() if is_sparse(matrix) else matrix[:, [k]])[:, 0]
        kept = [j for j in range(len(spec.names)) if j != k]
        spec = FeatureSpec(
            tuple(name for name in spec.columns if name != source),
            tuple(spec.names[j] for j in kept),
            spec.levels,
            None if spec.means is None else spec.means[kept],
        )
        matrix = matrix[:, kept]
    else:
        weights = _listed_weights(source, labels)
    bad = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0.0)))
    if len(bad):
        raise InputError(
            f"the row weight of {labels[bad[0]]!r} is {weights[bad[0]]:g}; it must be a finite number from 0 up"
        )
    return matrix, spec, np.ascontiguousarray(weights)


def _listed_weights(source: Mapping[Hashable, float], labels: tuple[Hashable, ...]) -> Floats:
    weights = np.ones(len(labels))
    place = {label: k for k, label in enumerate(labels)}
    for label, weight in source.items():
        if label in place:  # others may come with other votes
            try:
                weights[place[label]] = weight
            except (TypeError, ValueError) as problem:
                raise InputError(f"the row weight of {label!r} is {weight!r}; it must be a number") from problem
    if source and not any(label in place for label in source):
        raise InputError(f"row weights: none of {few(list(source))} is among the items ({few(labels)})")
    return weights


def _check_rows(size: int, items: Sequence[Hashable]) -> None:
    if size != len(items):
        raise InputError(
            f"features have {counted(size, 'row')}, the votes {counted(len(items), 'item')}; give one row for each "
            "of comparisons.items, or a frame or mapping keyed by item"
        )


def warn_of_columns(matrix: Matrix, names: Sequence[str], votes: int) -> tuple[str, ...]:
    """Say which columns are constant or follow from others, and when there are more features than votes.

    Returns the names of such columns. None of it stops the fit: a constant moves no difference, so it is ignored, and
    the penalty shares an effect among columns that carry the same information.
    """
    mean, size, constant = column_moments(matrix)
    flat = [names[k] for k in np.flatnonzero(constant).tolist()]
    if flat:
        warnings.warn(
            f"feature {few(flat)}: the same for every compared item; it cannot explain anything and is ignored",
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


def few(labels: Sequence[Any], most: int = 4) -> str:
    """The first few labels, quoted."""
    rest = len(labels) - most
    return ", ".join(repr(label) for label in labels[:most]) + (f" and {rest} more" if rest > 0 else "")


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


def _table(
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
    wanted = set(items)
    fit = [
        name
        for name, values in columns.items()
        if not (values.dtype.is_nested() or str(values.dtype) in ("Object", "Binary"))
        and wanted <= set(_labels(values, items))
    ]
    if "item" in columns and fit != ["item"]:
        return "item"
    if len(fit) != 1:
        what = "no column holds every compared item" if not fit else f"columns {few(fit)} all hold the compared items"
        raise InputError(
            f"features: {what}; name the column of labels by ", Option("id"), f" (there are {few(list(columns))})"
        )
    return fit[0]


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


def _lined_up(
    ids: tuple[Hashable, ...], items: Sequence[Hashable], missing: str
) -> tuple[tuple[Hashable, ...], NDArray[np.intp]]:
    """Labels, compared ones first, and the row of each (−1: none)."""
    rows: dict[Hashable, int] = {}
    for row, label in enumerate(ids):
        if is_missing(label):
            raise InputError(f"features, row {row + 1}: no label; name the item or remove the row")
        if rows.setdefault(label, row) != row:
            raise InputError(f"features: {label!r} stands in rows {rows[label] + 1} and {row + 1}; remove one")
    lacking = [item for item in items if item not in rows]
    if len(lacking) == len(items):
        raise InputError(
            f"features: none of the compared items ({few(items)}) is among its labels ({few(list(rows))}); "
            "check the column of labels"
        )
    if lacking and missing == "error":
        raise InputError(f"features: no row for {few(lacking)}; add it, or set ", Option("missing", "mean"))
    labels = tuple(dict.fromkeys([*items, *rows]))
    return labels, np.array([rows.get(label, -1) for label in labels], dtype=np.intp)


def _text_levels(table: Mapping[str, Any], one_hot: bool) -> dict[str, tuple[str, ...]]:
    levels = {}
    for name, values in table.items():
        kind = getattr(values, "dtype", None)
        text = str(kind) in ("String", "Categorical", "Enum") or str(kind).startswith(("Enum", "Categorical"))
        if isinstance(values, list):
            text = any(isinstance(value, str) for value in values)
        if text:
            levels[name] = tuple(sorted({str(value) for value in values if value is not None}))
    if levels and not one_hot:
        raise InputError(
            f"features: {few(list(levels))} holds text; leave it out, or set ",
            Option("one_hot", True),
            " for a column per value",
        )
    return levels


def _indicators(values: Any, name: str, levels: tuple[str, ...], labels: Sequence[Hashable] | None) -> list[Floats]:
    listed = [None if value is None else str(value) for value in values]
    for row, value in enumerate(listed):
        if value is not None and value not in levels:
            where = _name_row(labels, row)
            raise InputError(f"features: {name!r} is {value!r} for {where}; the model knows {few(levels)}")
    hole = np.array([value is None for value in listed])
    return [
        np.where(hole, np.nan, np.array([value == level for value in listed], dtype=np.float64)) for level in levels[1:]
    ]


def _numbers(values: Any, name: str, labels: Sequence[Hashable] | None) -> Floats:
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
        where = _name_row(labels, row)
        raise InputError(f"features: {name!r} is {values[row]!r} for {where}; it must be a number") from problem
    if np.isinf(column).any():
        row = int(np.flatnonzero(np.isinf(column))[0])
        raise InputError(f"features: {name!r} is {column[row]} for {_name_row(labels, row)}; it must be finite")
    return np.asarray(column, dtype=np.float64)


def _is_number(value: Any) -> bool:
    if isinstance(value, np.complexfloating):
        return False
    try:
        float(0 if value is None else value)
    except (TypeError, ValueError, ArithmeticError):
        return False
    return not isinstance(value, str) or set(value).isdisjoint("_ ")  # as polars reads it


def _column_means(spec: FeatureSpec, table: Mapping[str, Any], labels: Sequence[Hashable] | None) -> Floats:
    holed = FeatureSpec(spec.columns, spec.names, spec.levels, np.full(len(spec.names), np.nan))._matrix(table, labels)
    empty = np.isnan(holed).all(axis=0)
    if empty.any():
        raise InputError(f"features: {few([spec.names[k] for k in np.flatnonzero(empty)])} has no value at all")
    return np.asarray(np.nanmean(holed, axis=0), dtype=np.float64)


def _name_row(labels: Sequence[Hashable] | None, row: int) -> str:
    return f"row {row + 1}" if labels is None else repr(labels[row])
