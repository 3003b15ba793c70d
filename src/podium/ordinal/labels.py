"""Labels in: grades or ranges of grades become two arrays of codes, checked once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from podium.errors import InputError, Option
from podium.ordinal.forms import as_range, declared_order, number_of, split_ranges
from podium.text import counted

__all__ = ["class_list", "code_of", "grades_of", "read_labels"]

Array = np.ndarray[Any, np.dtype[Any]]


def read_labels(
    y: Any = None,
    y_lower: Any = None,
    y_upper: Any = None,
    *,
    classes: Array | None = None,
    rows: int | None = None,
    first: int = 1,
) -> tuple[Array, Array, Array]:
    """Return codes of the lower and the upper ends, and the grades from lowest to highest.

    `y` has shape (n,), or (n, 2) with a lower and an upper end; or the ends come in `y_lower` and `y_upper`. An end
    that is NaN, None or an empty string is open. In a single column, "3-4" and an interval of pandas are ranges.
    Without `classes` the grades are the categories of an ordered pandas Categorical or a polars Enum, else the sorted
    ends that occur, text of numbers by their size. Errors count the rows from `first`.

    >>> low, high, grades = read_labels(["1", "2-3", "10"])
    >>> low.tolist(), high.tolist(), grades.tolist()
    ([0, 1, 3], [0, 2, 3], ['1', '2', '3', '10'])
    """
    if classes is None:
        classes = declared_order(y, y_lower, y_upper)
    elif not isinstance(classes, np.ndarray) or classes.ndim != 1:
        classes = class_list(classes)
    lower, upper = _ends(y, y_lower, y_upper)
    if lower is upper:
        lower, upper = split_ranges(lower, None if classes is None else set(classes.tolist()), first) or (lower, upper)
    if classes is not None and classes.dtype.kind in "iuf":
        lower, upper = (_numbers(lower),) * 2 if lower is upper else (_numbers(lower), _numbers(upper))
    if rows is not None and len(lower) != rows:
        raise InputError(f"X has {counted(rows, 'row')} and y {counted(len(lower), 'label')}; give one label a row")
    if classes is None:
        classes = grades_of(lower, upper)
    same = lower is upper
    open_low = _missing(lower)
    low = _codes(lower, open_low, classes, first)
    if same:
        if open_low.any():
            raise InputError(
                f"row {_first(open_low, first)}: no grade; drop the row, or give ranges, where a missing end is open"
            )
        return low, low, classes
    open_high = _missing(upper)
    high = _codes(upper, open_high, classes, first)
    low[open_low] = 0
    high[open_high] = len(classes) - 1
    if (low > high).any():
        row = _first(low > high, first)
        shown = f"[{_shown(lower[row - first])}, {_shown(upper[row - first])}]"
        above = f"row {row}: the range {shown} has its lower end above its upper end"
        if classes.dtype.kind in "iuf" or number_of(str(classes[0])) is not None:
            raise InputError(f"{above}; swap them")
        order = f"{above}, as the grades go {_listed(classes.tolist())}; swap them, or name the grades from lowest to "
        raise InputError(f"{order}highest by ", Option("classes"))
    return low, high, classes


def grades_of(*columns: Array) -> Array:
    """The sorted grades that occur in the columns."""
    seen = [column[~_missing(column)] for column in columns]
    try:
        joined = np.concatenate([_plain(each) for each in seen])
        grades = np.unique(joined)
        if grades.dtype.kind == "U" and all(number_of(text) is not None for text in grades.tolist()):
            grades = grades[np.argsort(grades.astype(float), kind="stable")]
    except TypeError as problem:
        raise InputError(
            f"the grades cannot be sorted ({problem}); name them from lowest to highest by ", Option("classes")
        ) from None
    if not len(grades):
        raise InputError("no row has a grade at either end, so there is nothing to learn from")
    return grades


def code_of(label: Any, codes: dict[Any, int]) -> tuple[int, int]:
    """The two codes of one label: a grade, or a pair (lower, upper) where None or NaN is an open end."""
    if isinstance(label, np.ndarray):
        label = label.tolist()
    if isinstance(label, tuple | list) and len(label) == 2:
        ends = [None if each is None or each != each or each == "" else each for each in label]
        low = 0 if ends[0] is None else codes.get(ends[0], -1) if ends[0].__hash__ else -1
        high = len(codes) - 1 if ends[1] is None else codes.get(ends[1], -1) if ends[1].__hash__ else -1
        if low > high >= 0:
            raise InputError(f"the range {label!r} has its lower end above its upper end; swap them")
    elif (ends_of := as_range(label, codes)) is not None:
        return code_of(ends_of, codes)
    else:
        low = high = codes.get(label, -1) if label.__hash__ else -1
    if low < 0 or high < 0:
        raise InputError(f"{label!r} is not one of the grades {_listed(list(codes))}, nor a pair of them")
    return low, high


def _ends(y: Any, y_lower: Any, y_upper: Any) -> tuple[Array, Array]:
    if y is not None and (y_lower is not None or y_upper is not None):
        raise InputError("pass either y or y_lower and y_upper, not both")
    if y is None and y_lower is None and y_upper is None:
        raise InputError("this estimator requires y to be passed, but the target y is None")
    if y is None:
        return _two_columns(y_lower, y_upper)
    labels = _array(y)
    if labels.ndim == 2 and labels.shape[1] == 2:
        return labels[:, 0], labels[:, 1]
    if labels.ndim == 2 and labels.shape[1] == 1:
        from sklearn.utils import column_or_1d

        labels = column_or_1d(labels, warn=True)
    if labels.ndim != 1:
        raise InputError(f"y has shape {labels.shape}; give one grade a row, (n,), or a lower and an upper end, (n, 2)")
    return labels, labels


def _two_columns(y_lower: Any, y_upper: Any) -> tuple[Array, Array]:
    """The ends given apart; a column that is not given is open in every row."""
    side = y_lower if y_lower is not None else y_upper
    column = _array(side)
    if column.ndim == 0:
        raise InputError(f"y_lower and y_upper are columns with a grade a row, not {side!r}")
    nothing = np.full(len(column), None, dtype=object)
    lower = nothing if y_lower is None else _array(y_lower)
    upper = nothing if y_upper is None else _array(y_upper)
    if lower.ndim != 1 or upper.ndim != 1 or len(lower) != len(upper):
        raise InputError(
            f"y_lower has shape {lower.shape} and y_upper {upper.shape}; both must be one column of equal length"
        )
    return lower, upper


def _array(values: Any) -> Array:
    try:
        return np.asarray(values)
    except ValueError as problem:  # rows of unequal length
        raise InputError(f"y cannot be read as a table: {problem}; give (n,) grades or (n, 2) ends") from None


def _missing(column: Array) -> Array:
    if column.dtype.kind == "f":
        return np.isnan(column)
    if column.dtype.kind in "US":
        return np.asarray(column == column.dtype.type(""))
    if column.dtype.kind in "OT":
        return np.fromiter((v is None or v == "" or bool(v != v) for v in column.tolist()), bool, len(column))
    return np.zeros(len(column), dtype=bool)


def _numbers(column: Array) -> Array:
    """Text that names numbers as numbers, where the grades are numbers; any other label as it is."""
    if column.dtype.kind not in "OUT":
        return column
    values = [None if v is None or v == "" or v != v else v for v in column.tolist()]
    if not any(isinstance(v, str) for v in values):
        return column
    numbers = [v if number_of(v) is None else number_of(v) for v in values]
    out = np.empty(len(numbers), dtype=object)
    out[:] = numbers
    return out


def _plain(column: Array) -> Array:
    """Object columns of one kind of value become ordinary arrays, so that grades are what a user would write."""
    if column.dtype.kind not in "OT":
        return column
    values = column.tolist()
    if all(type(v) is int for v in values) or all(type(v) in (int, float) for v in values):
        return np.array(values)
    if all(isinstance(v, str) for v in values):
        return np.array(values, dtype=str)
    return column


def _codes(column: Array, missing: Array, classes: Array, first: int) -> Array:
    """Codes of the labels that are there; anything for the others."""
    K = len(classes)
    if column.dtype.kind in "iu" and classes.dtype.kind in "iu" and int(classes[-1]) - int(classes[0]) == K - 1:
        shifted = column.astype(np.int64) - int(classes[0])
        wrong = (shifted < 0) | (shifted >= K)
        if (np.diff(classes) == 1).all():
            if wrong.any():
                _unknown(column, wrong, classes, first)
            return shifted.astype(np.int32)
    codes = np.zeros(len(column), dtype=np.int32)
    there = ~missing
    try:
        values, inverse = np.unique(_plain(column[there]), return_inverse=True)
        listed = values.tolist()
    except TypeError:  # not sortable: one by one
        listed, inverse = column[there].tolist(), np.arange(int(there.sum()))
    known = {grade: code for code, grade in enumerate(classes.tolist())}
    table = np.array([known.get(value, -1) for value in listed], dtype=np.int32)
    codes[there] = table[inverse] if len(table) else 0
    if (codes < 0).any():
        _unknown(column, codes < 0, classes, first)
    return codes


def _unknown(column: Array, wrong: Array, classes: Array, first: int) -> None:
    row = _first(wrong, first)
    label = column[row - first]
    if column.dtype.kind == "f" and np.isinf(label):
        raise InputError(f"Input y contains infinity or a value too large for dtype('float64'): row {row}")
    raise InputError(f"row {row}: {_shown(label)} is not one of the grades {_listed(classes.tolist())}")


def _first(mask: Array, first: int) -> int:
    return int(np.flatnonzero(mask)[0]) + first


def _shown(label: Any) -> str:
    """As the user wrote it: a whole number became a float only because of a missing value elsewhere."""
    value = label.item() if isinstance(label, np.generic) else label
    return repr(int(value) if isinstance(value, float) and value.is_integer() else value)


def _listed(grades: Sequence[Any]) -> str:
    shown = [repr(g) for g in grades]
    return ", ".join(shown if len(shown) <= 8 else [*shown[:4], "…", *shown[-2:]])


def class_list(classes: Any, least: int = 2) -> Array:
    """Grades from lowest to highest as an array without repeats."""
    try:
        grades = np.asarray(list(classes) if isinstance(classes, range) else classes)
        repeated = grades.ndim == 1 and len(set(grades.tolist())) < len(grades)
    except (TypeError, ValueError):  # lists in the list
        raise InputError(Option("classes", classes), ": give the grades in a list, from lowest to highest") from None
    if grades.ndim != 1 or len(grades) < least:
        raise InputError(Option("classes", grades.tolist()), ": give at least two grades, from lowest to highest")
    if repeated:
        raise InputError(Option("classes", grades.tolist()), ": each grade may appear once")
    return grades
