"""A table of features becomes a matrix with a row per item, and later tables become one in the same way."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from podium.data.features.labelled import labelled_columns, lined_up
from podium.data.features.values import (
    Floats,
    Matrix,
    checked_sparse,
    few,
    indicators,
    is_sparse,
    numbers,
    text_levels,
)
from podium.errors import InputError, Option
from podium.text import counted

__all__ = ["FeatureSpec", "read_features", "read_row_weights"]


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
            return checked_sparse(source, self.names, None)
        labels, table = labelled_columns(source, None)
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
        ids, table = labelled_columns(source, id, items)
        if ids is None:
            _check_rows(len(next(iter(table.values()), ())), items)
            return tuple(items), self.read(source)
        lacking = [name for name in self.columns if name not in table]
        if lacking:
            raise InputError(f"features: no column {few(lacking)}; the model was fitted with {few(self.columns)}")
        labels, place = lined_up(ids, items, "error" if self.means is None else "mean")
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
                parts += indicators(table[name], name, self.levels[name], labels)
            else:
                parts.append(numbers(table[name], name, labels))
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
    one_hot: bool | None = False,
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
    one_hot : bool, or None for those who take numbers only
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
    ids, table = labelled_columns(source, id, items)
    if not table:
        raise InputError("features: there is no column beside the labels; give at least one feature")
    size = len(next(iter(table.values())))
    if ids is None:
        _check_rows(size, items)
        labels, place = tuple(items), np.arange(size)
    else:
        labels, place = lined_up(ids, items, missing)
    levels = text_levels(table, one_hot)
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


def _read_sparse(
    source: Any, items: Sequence[Hashable], kept: bool
) -> tuple[tuple[Hashable, ...], Matrix, FeatureSpec]:
    if source.ndim != 2 or source.shape[1] == 0:
        raise InputError(f"features: a table with a column at least is expected, not a shape of {source.shape}")
    _check_rows(source.shape[0], items)
    names = tuple(f"x{k + 1}" for k in range(source.shape[1]))
    table = checked_sparse(source, names, items)
    return tuple(items), table if kept else table.toarray(), FeatureSpec(names, names)


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


def _column_means(spec: FeatureSpec, table: Mapping[str, Any], labels: Sequence[Hashable] | None) -> Floats:
    holed = FeatureSpec(spec.columns, spec.names, spec.levels, np.full(len(spec.names), np.nan))._matrix(table, labels)
    empty = np.isnan(holed).all(axis=0)
    if empty.any():
        raise InputError(f"features: {few([spec.names[k] for k in np.flatnonzero(empty)])} has no value at all")
    return np.asarray(np.nanmean(holed, axis=0), dtype=np.float64)
