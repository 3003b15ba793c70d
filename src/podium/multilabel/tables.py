"""Examples from files: tables with label columns, and svmlight lines."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from podium.data.files import feature_columns, is_number, read_table
from podium.data.tables.sources import SVMLIGHT
from podium.errors import DataWarning, InputError
from podium.text import counted

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Examples", "read_examples", "read_svmlight"]

MAX_COLUMN = 10_000_000  # a dense row of weights for each label has to fit


@dataclass(frozen=True, slots=True)
class Examples:
    """Features X, relevance Y, the names of their columns, and columns to carry along."""

    X: Any
    Y: Any
    features: np.ndarray
    labels: np.ndarray
    ids: dict[str, pl.Series]


ONE_EACH = ": give each label a column of its own, with 1 where it fits and 0 where not"


def read_examples(
    path: Any,
    *,
    labels: Sequence[str] = (),
    ids: Sequence[str] = (),
    features: np.ndarray | None = None,
    known: np.ndarray | None = None,
    labelled: bool = True,
) -> Examples:
    """Read examples; `features` and `known` are the columns and labels a model was trained with."""
    if Path(str(path)).suffix.lower() in SVMLIGHT:
        if labels or ids:
            raise InputError(f"{path}: svmlight files have no columns; leave --labels and --id out")
        return _from_lines(path, features, known, labelled)
    frame = read_table(path)
    for name in ids:
        if name not in frame.columns:
            raise InputError(f"{path} has no column {name!r}; found {', '.join(frame.columns)}")
    if not len(frame):
        raise InputError(f"{path} has no rows; there are no examples")
    chosen = _label_columns(path, frame, labels, known, labelled)
    for name in ids:
        if name in chosen:
            raise InputError(f"{path}: column {name!r} is a label by --labels and a name by --id; choose one")
    X, names = _features(path, frame, set(chosen) | set(ids), features)
    Y = _relevance(path, frame.select(chosen)) if chosen else np.zeros((len(frame), 0))
    return Examples(X, Y, names, np.array(chosen), {name: _names(path, frame[name]) for name in ids})


def _names(path: Any, column: pl.Series) -> pl.Series:
    """A column that names the examples, as it is."""
    if column.dtype.is_nested():
        raise InputError(f"{path}: column {column.name!r} holds lists or structures; a name is text or a number")
    if column.null_count() == len(column):
        raise InputError(f"{path}: row 1: {column.name!r} is empty, as in every row; leave --id {column.name} out")
    return column


def _relevance(path: Any, frame: pl.DataFrame) -> np.ndarray:
    """Relevance of the labels: 0 where the cell is empty, which is said, and nothing below 0."""
    import polars as pl

    holes = np.argwhere(np.column_stack([column.is_null().to_numpy() for column in frame]))
    if len(holes):
        row, label = holes[0]
        more = f", as in {counted(len(holes) - 1, 'other cell')}" if len(holes) > 1 else ""
        words = f"{path}: row {row + 1}: label {frame.columns[label]!r} is empty{more}, which counts as 0; write 0 or 1"
        warnings.warn(words, DataWarning, stacklevel=3)
    empty = [name for name in frame.columns if frame[name].null_count() == len(frame)]
    table = _numbers(path, frame.with_columns(pl.lit(0.0).alias(name) for name in empty).fill_null(0), ONE_EACH)
    bad = np.argwhere(~(np.isfinite(table) & (table >= 0)))
    if len(bad):
        row, label = bad[0]
        raise InputError(
            f"{path}: row {row + 1}: relevance {table[row, label]:g} of label {frame.columns[label]!r} is not a finite "
            "number from 0 up"
        )
    return table


def _from_lines(path: Any, features: np.ndarray | None, known: np.ndarray | None, labelled: bool) -> Examples:
    """Examples of svmlight lines, whose columns are numbers."""
    n_features = None if features is None else len(features)
    X, Y = read_svmlight(path, n_features, None if known is None else len(known))
    if labelled and not Y.shape[1]:
        raise InputError(f"{path}: no row has a label; lines begin with them, as in '3,7 0:1.5'")
    if features is not None and len(features) and features.dtype.kind in "US":
        raise InputError(f"{path}: the model was trained on a table with named columns, not on svmlight lines")
    return Examples(X, Y, np.arange(X.shape[1]), np.arange(Y.shape[1]), {})


def _label_columns(
    path: Any, frame: pl.DataFrame, labels: Sequence[str], known: np.ndarray | None, labelled: bool
) -> list[str]:
    """The columns that hold relevance; those a model ranks, in its order."""
    chosen = [name for name in frame.columns if any(fnmatchcase(name, pattern) for pattern in labels)]
    if labelled and not chosen:
        problem = f"--labels {labels[0]!r} matches no column" if labels else "name the label columns with --labels"
        raise InputError(f"{path}: {problem}, as in --labels 'tag_*'; found {', '.join(frame.columns)}")
    if known is None:
        return chosen
    lacking = [str(name) for name in known if name not in chosen]
    if lacking:
        raise InputError(f"{path}: the model ranks label {lacking[0]!r}, which is not among the label columns")
    return [str(name) for name in known]


def _features(
    path: Any, frame: pl.DataFrame, others: set[str], wanted: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    if wanted is None:
        names = feature_columns(frame, others)
    else:
        names = [str(name) for name in wanted]
        lacking = [name for name in names if name not in frame.columns]
        if lacking:
            raise InputError(f"{path}: the model was trained with column {lacking[0]!r}, which the table lacks")
    table = _numbers(path, frame.select(names))
    bad = np.argwhere(~np.isfinite(table))
    if len(bad):
        row, column = bad[0]
        shown = (
            "infinite" if np.isinf(table[row, column]) else "empty" if frame[names[column]][int(row)] is None else "NaN"
        )
        raise InputError(f"{path}: row {row + 1}: {names[column]!r} is {shown}; fill it in or leave the row out")
    return table, np.array(names)


def _numbers(path: Any, frame: pl.DataFrame, hint: str = "") -> np.ndarray:
    import polars as pl

    for name in frame.columns:
        if not is_number(frame.schema[name]) and frame.schema[name] != pl.Boolean:
            raise InputError(f"{path}: column {name!r} holds text; numbers are needed{hint}")
    return np.column_stack([column.cast(pl.Float64).to_numpy() for column in frame])


def read_svmlight(path: Any, n_features: int | None = None, n_labels: int | None = None) -> tuple[Any, Any]:
    """Sparse features and 0/1 relevance of lines "label,label feature:value feature:value"; numbers from 0.

    A line may start with a space: no label. Text after # is a comment.
    """
    columns: list[int] = []
    values: list[float] = []
    relevant: list[int] = []
    x_ends, y_ends = [0], [0]
    for row, line in enumerate(_lines(path), start=1):
        body = line.partition("#")[0]
        if not body.strip():
            continue
        where = f"{path}: row {row}"
        labels, pairs = _parse(where, body)
        relevant.extend(_indices(where, labels, n_labels, "label"))
        columns.extend(_indices(where, [column for column, _ in pairs], n_features, "feature"))
        for column, value in pairs:
            if not abs(value) < float("inf"):  # NaN compares with nothing
                raise InputError(f"{where}: feature {column} is {value}; give a number, or leave it out")
            values.append(value)
        x_ends.append(len(columns))
        y_ends.append(len(relevant))
    if len(x_ends) == 1:
        raise InputError(f"{path} is empty; there are no examples")
    if not columns and n_features is None:
        raise InputError(f"{path}: no row has a feature; they follow the labels, as in '3,7 0:1.5'")
    return _sparse(values, columns, x_ends, n_features), _sparse([1.0] * len(relevant), relevant, y_ends, n_labels)


def _lines(path: Any) -> list[str]:
    try:
        raw = Path(path).read_bytes()
    except OSError as problem:
        raise InputError(f"{path}: cannot be read: {problem.strerror}") from problem
    try:
        return raw.decode("utf-8").splitlines()
    except UnicodeDecodeError as problem:
        row, byte = raw[: problem.start].count(b"\n") + 1, raw[problem.start]
        raise InputError(f"{path}: row {row}: byte 0x{byte:02x} is not UTF-8 text; save the file as UTF-8") from None


def _parse(where: str, body: str) -> tuple[list[int], list[tuple[int, float]]]:
    """Labels and (feature, value) pairs of one line."""
    parts = body.split()
    try:
        labels = [int(part) for part in parts.pop(0).split(",")] if ":" not in parts[0] else []
        pairs = [(int(column), float(value)) for column, value in (part.split(":") for part in parts)]
    except ValueError:
        raise InputError(f"{where} is not 'label,label feature:value …' with whole numbers from 0") from None
    return labels, pairs


def _indices(where: str, numbers: list[int], width: int | None, word: str) -> list[int]:
    """Numbers of labels or features of one line: each once, from 0, and known to the model."""
    if len(set(numbers)) < len(numbers):
        twice = next(each for each in numbers if numbers.count(each) > 1)
        raise InputError(f"{where}: {word} {twice} is given twice; give it once")
    for each in numbers:
        if each < 0:
            raise InputError(f"{where}: {word} {each} is below 0")
        if width is not None and each >= width:
            raise InputError(f"{where}: {word} {each} is beyond the {width} the model was trained with")
        if each > MAX_COLUMN:
            raise InputError(f"{where}: {word} {each} is beyond {MAX_COLUMN:,}; number them from 0 without such gaps")
    return numbers


def _sparse(values: list[float], columns: list[int], ends: list[int], width: int | None) -> Any:
    from scipy import sparse

    size = max(columns, default=-1) + 1 if width is None else width
    indices = np.array(columns, dtype=np.int64)
    return sparse.csr_array((np.array(values), indices, np.array(ends)), shape=(len(ends) - 1, size))
