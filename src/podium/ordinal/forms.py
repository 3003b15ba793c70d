"""Labels as people write them: ordered categories, "3-4" and intervals, read as grades and ranges of grades."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any

import numpy as np

from podium.errors import InputError, Option

__all__ = ["as_range", "declared_order", "number_of", "split_ranges"]

Array = np.ndarray[Any, np.dtype[Any]]
NUMBER = r"[+-]?\d+(?:\.\d+)?"
RANGE = re.compile(rf"\s*({NUMBER})\s*(?:-|–|—|\.\.|to)\s*({NUMBER})\s*")


def declared_order(*columns: Any) -> Array | None:
    """The grades from lowest to highest where a column says so: an ordered pandas Categorical or a polars Enum.

    A table of two such columns counts, too. None where nothing is said.
    """
    orders = []
    for column in columns:
        for each in _single_columns(column):
            dtype = getattr(each, "dtype", None)
            if getattr(dtype, "ordered", False) or type(dtype).__name__ == "Enum":
                orders.append(list(dtype.categories))  # type: ignore[union-attr]
    if not orders:
        return None
    if any(order != orders[0] for order in orders):
        raise InputError(
            f"the two ends have categories in different orders, {orders[0]} and {orders[1]}; "
            "name the grades from lowest to highest by ",
            Option("classes"),
        )
    if all(isinstance(grade, str) for grade in orders[0]):
        return np.array(orders[0], dtype=str)
    grades = np.empty(len(orders[0]), dtype=object)
    grades[:] = orders[0]
    return np.array(orders[0]) if all(isinstance(g, int | float) for g in orders[0]) else grades


def _single_columns(table: Any) -> list[Any]:
    if getattr(table, "ndim", 1) == 2 and hasattr(table, "columns") and hasattr(table, "__getitem__"):
        return [table[name] for name in table.columns]
    if type(table).__module__.startswith("polars") and hasattr(table, "get_columns"):
        return list(table.get_columns())
    return [table]


def split_ranges(labels: Array, known: Collection[Any] | None, first: int) -> tuple[Array, Array] | None:
    """Lower and upper ends of a column in which some labels are ranges; None where none is.

    `known` are the grades, where they are known: a label that is one of them is no range. Else text is read as ranges
    only where every other label is a number; where most are, a word among them is refused.
    """
    if labels.dtype.kind not in "OUT":
        return None
    values = labels.tolist()
    ranges = {k: pair for k, v in enumerate(values) if (pair := as_range(v, known, row=k + first)) is not None}
    if not ranges:
        return None
    if known is None:
        rest = [v for k, v in enumerate(values) if k not in ranges]
        words = [v for v in rest if v is not None and v == v and v != "" and number_of(v) is None]
        if words and all(isinstance(values[k], str) for k in ranges):
            if 2 * len(words) >= len(values):
                return None
            raise InputError(
                f"row {values.index(words[0]) + first}: the grade {words[0]!r} is no number and no range such as "
                f"{values[next(iter(ranges))]!r}; correct it, or name all grades from lowest to highest by ",
                Option("classes"),
            )
    lower, upper = (np.array(values, dtype=object) for _ in range(2))
    numbers = known is not None or any(not isinstance(v, str) for v in values)
    for k, v in enumerate(values):
        low, high = ranges.get(k, (v, v))
        if k not in ranges and (v is None or v != v or v == ""):
            raise InputError(f"row {k + first}: no grade; drop the row, or give ranges by two columns")
        if known is None and numbers:
            low, high = (end if number_of(end) is None else number_of(end) for end in (low, high))
        lower[k], upper[k] = low, high
    return lower, upper


def as_range(label: Any, known: Collection[Any] | None, *, row: int | None = None) -> tuple[Any, Any] | None:
    """The two ends of one label that is a range: "3-4", or an interval with its ends; None for any other label."""
    if hasattr(label, "left") and hasattr(label, "right") and hasattr(label, "closed"):
        if known is not None and label in known:
            return None
        return _interval_ends(label, "" if row is None else f"row {row}: ")
    if not isinstance(label, str):
        return None
    if known is None:
        match = RANGE.fullmatch(label)
        return (match.group(1), match.group(2)) if match else None
    if label in known:
        return None
    for cut in re.finditer(r"\s*(?:-|–|—|\.\.|\bto\b)\s*", label):
        ends = [_grade(label[: cut.start()].strip(), known), _grade(label[cut.end() :].strip(), known)]
        if None not in ends:
            return ends[0], ends[1]
    return None


def _grade(text: str, known: Collection[Any]) -> Any:
    """The known grade that the text names, as it is or as a number."""
    if text in known:
        return text
    number = number_of(text)
    return number if number is not None and number in known else None


def number_of(value: Any) -> float | int | None:
    """The number that a value is or names; a whole one as int."""
    if isinstance(value, bool) or value is None:
        return None
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    if not np.isfinite(number):
        return None
    return int(number) if number.is_integer() else number


def _interval_ends(interval: Any, where: str) -> tuple[Any, Any]:
    """The lowest and the highest grade of an interval; an end that is left out must be a whole number."""
    ends: list[Any] = []
    for end, inside, step in ((interval.left, interval.closed_left, 1), (interval.right, interval.closed_right, -1)):
        number = number_of(end)
        if number is None:
            ends.append(None if isinstance(end, float) and np.isinf(end) else end)
            inside = inside or ends[-1] is None
        else:
            ends.append(number if inside else number + step)
        if not inside and not isinstance(number, int):
            raise InputError(f"{where}the interval {interval} leaves out an end that is no whole number; close it")
    return ends[0], ends[1]
