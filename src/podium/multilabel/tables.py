"""Examples from files: tables with label columns, and svmlight lines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from podium.errors import InputError
from podium.io import feature_columns, is_number, read_table

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Examples", "read_examples", "read_svmlight"]

SVMLIGHT = {".svm", ".svmlight", ".libsvm"}


@dataclass(frozen=True, slots=True)
class Examples:
    """Features X, relevance Y, the names of their columns, and columns to carry along."""

    X: Any
    Y: Any
    features: np.ndarray
    labels: np.ndarray
    ids: dict[str, np.ndarray]


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
    X, names = _features(path, frame, set(chosen) | set(ids), features)
    Y = _numbers(path, frame.select(chosen).fill_null(0)) if chosen else np.zeros((len(frame), 0))
    carried = {name: frame[name].to_numpy() for name in ids}
    return Examples(X, Y, names, np.array(chosen), carried)


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
    bad = np.argwhere(np.isnan(table))
    if len(bad):
        raise InputError(f"{path}: row {bad[0][0] + 1}: {names[bad[0][1]]!r} is empty; fill it in or leave the row out")
    return table, np.array(names)


def _numbers(path: Any, frame: pl.DataFrame) -> np.ndarray:
    for name in frame.columns:
        if not is_number(frame.schema[name]):
            raise InputError(f"{path}: column {name!r} holds text; numbers are needed")
    return np.column_stack([column.to_numpy().astype(np.float64) for column in frame])


def read_svmlight(path: Any, n_features: int | None = None, n_labels: int | None = None) -> tuple[Any, Any]:
    """Sparse features and 0/1 relevance of lines "label,label feature:value feature:value"; numbers from 0.

    A line may start with a space: no label. Text after # is a comment.
    """
    from scipy import sparse

    columns: list[int] = []
    values: list[float] = []
    relevant: list[int] = []
    x_ends, y_ends = [0], [0]
    try:
        text = Path(path).read_text(encoding="utf-8")
    except OSError as problem:
        raise InputError(f"{path}: cannot be read: {problem.strerror}") from problem
    for row, line in enumerate(text.splitlines(), start=1):
        body = line.partition("#")[0]
        if not body.strip():
            continue
        parts = body.split()
        try:
            if ":" not in parts[0]:
                relevant.extend(int(part) for part in parts.pop(0).split(","))
            pairs = [part.split(":") for part in parts]
            columns.extend(int(column) for column, _ in pairs)
            values.extend(float(value) for _, value in pairs)
        except ValueError:
            raise InputError(
                f"{path}: row {row} is not 'label,label feature:value …' with whole numbers from 0"
            ) from None
        x_ends.append(len(columns))
        y_ends.append(len(relevant))
    if len(x_ends) == 1:
        raise InputError(f"{path} is empty; there are no examples")
    X = _sparse(path, values, columns, x_ends, n_features, "feature")
    Y = _sparse(path, [1.0] * len(relevant), relevant, y_ends, n_labels, "label")
    return sparse.csr_array(X), sparse.csr_array(Y)


def _sparse(path: Any, values: list[float], columns: list[int], ends: list[int], width: int | None, word: str) -> Any:
    from scipy import sparse

    found = np.array(columns, dtype=np.int64)
    if found.size and found.min() < 0:
        raise InputError(f"{path}: {word} {found.min()} is below 0")
    size = int(found.max()) + 1 if found.size else 0
    if width is not None and size > width:
        raise InputError(f"{path}: {word} {size - 1} is beyond the {width} the model was trained with")
    return sparse.csr_array((np.array(values), found, np.array(ends)), shape=(len(ends) - 1, width or size))
