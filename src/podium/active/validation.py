"""What comes in from outside, checked once: items, options, pairs and answers, each refused in the caller's words."""

from __future__ import annotations

import operator
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from podium.data.validation import array_of, entries_of, floats_of, is_pair, listed_labels, python_label
from podium.errors import InputError
from podium.text import counted

__all__ = [
    "answer_values",
    "codes_of",
    "feature_table",
    "item_labels",
    "judge_names",
    "kinds_of",
    "listed",
    "pair_codes",
    "per_pair",
    "seed_of",
    "share_of",
    "top_of",
    "values_of",
    "whole_number",
]

ANSWERS = {1: 1.0, 0: 0.0, 0.5: 0.5, None: np.nan}
MAX_FEATURE = 1e100  # beyond which the square of a feature is no number
MEANING = "it is 1 (left first), 0 (right first), 0.5 (tie) or None (skip)"


# Items and options


def item_labels(items: Any) -> tuple[Any, ...]:
    """The labels as a tuple: at least two, all different, all hashable; numbers of numpy become plain ones."""
    if isinstance(items, str | bytes):
        raise InputError(f"items is the text {items!r}; give a list of labels")
    if isinstance(items, set | frozenset):
        raise InputError("items is a set, which has no order to number them by; give a list of labels")
    entries = tuple(listed("items", listed_labels(items), "a list of labels"))
    if len(entries) < 2:
        raise InputError(f"{counted(len(entries), 'item')}; an order needs at least two")
    labels = tuple(python_label(item) if isinstance(item, np.generic) else item for item in entries)
    seen: dict[Any, int] = {}
    for number, label in enumerate(labels, start=1):
        if not _hashable(label):
            raise InputError(f"item {number} is {label!r}; a label is text, a number or a tuple of these")
        if label != label:  # nan is not even itself
            raise InputError(f"item {number} is {label!r}; give every item a name")
        if not _writable(label):
            raise InputError(f"item {number} is {label!r}, half of a character, which no file can hold; mend the label")
        if label in seen:
            raise InputError(f"items {seen[label]} and {number} are both {label!r}; labels must differ")
        seen[label] = number
    return labels


def _writable(label: Any) -> bool:
    """Whether the label can be written as UTF-8; half of a surrogate pair cannot."""
    try:
        str(label).encode()
    except UnicodeEncodeError:
        return False
    return True


def top_of(goal: Any, n: int) -> int | None:
    """The k of goal ("top", k); None for goal "order"."""
    if isinstance(goal, str) and goal == "order":
        return None
    if isinstance(goal, tuple | list) and len(goal) == 2 and isinstance(goal[0], str) and goal[0] == "top":
        try:
            k = whole_number("k", goal[1], 1)
        except InputError:
            k = n
        if k < n:
            return k
        raise InputError(f"goal is {goal!r}; k is a whole number from 1 to {n - 1}")
    raise InputError(f"goal is {goal!r}; it is 'order' or ('top', k)")


def whole_number(name: str, value: Any, least: int) -> int:
    """`value` as an int, numpy's integers among them; texts, fractions and bools are refused."""
    try:
        number = operator.index(value)
    except TypeError:
        number = least - 1
    if isinstance(value, bool | np.bool_) or number < least:
        raise InputError(f"{name} is {value!r}; it is a whole number, at least {least}")
    return number


def seed_of(seed: Any) -> int:
    """The seed given, or a drawn one."""
    if seed is None:
        return int(np.random.SeedSequence().generate_state(1)[0])
    return whole_number("seed", seed, 0)


def share_of(random_share: Any) -> float:
    """The share of check pairs as a float in [0, 1)."""
    try:
        share = float(random_share)
    except (TypeError, ValueError, OverflowError):
        share = np.nan
    if not 0 <= share < 1:
        raise InputError(f"random_share is {random_share!r}; it is a number, at least 0 and less than 1")
    return share


def feature_table(features: Any, items: Sequence[Any]) -> np.ndarray | None:
    """Features as an array of floats, one row for each item; None for none."""
    if features is None:
        return None
    try:
        table = np.ascontiguousarray(floats_of("features", features))
    except InputError:
        if np.ma.is_masked(features):
            raise
        raise InputError(_bad_feature(features, items)) from None
    if table.ndim not in (1, 2) or len(table) != len(items):
        raise InputError(
            f"features have shape {table.shape}; one row for each of the {counted(len(items), 'item')} is needed"
        )
    if table.size == 0:
        raise InputError("features have no column; give at least one, or leave them out")
    large = np.argwhere(np.abs(table) > MAX_FEATURE)
    if len(large):
        row, column = large[0, 0], large[0, -1] if table.ndim == 2 else 0
        value = table[tuple(large[0])]
        raise InputError(f"features of {items[row]!r}, column {column + 1}: {value:g} is too large; divide the column")
    return table


def _bad_feature(features: Any, items: Sequence[Any]) -> str:
    rows = listed("features", features, "one row of numbers an item")
    width = None
    for label, row in zip(items, rows, strict=False):
        cells = list(row) if isinstance(row, Iterable) and not isinstance(row, str | bytes) else [row]
        for column, cell in enumerate(cells, start=1):
            try:
                if isinstance(cell, np.complexfloating):
                    raise TypeError
                float(cell)
            except OverflowError:
                return f"features of {label!r}, column {column}: the number is too large; divide the column"
            except (TypeError, ValueError):
                return f"features of {label!r}, column {column}: {cell!r} is not a number"
        if width is not None and len(cells) != width:
            here = counted(len(cells), "number")
            return f"features of {label!r}: {here} where {items[0]!r} has {width}; give all items alike"
        width = len(cells)
    return "features are no table of numbers; give one row of numbers an item"


# Pairs and answers


def pair_codes(pairs: list[Any], codes: Mapping[Any, int], items: Sequence[Any]) -> np.ndarray:
    """Item numbers (m, 2) of pairs of labels."""
    try:
        table = np.array([(codes[left], codes[right]) for left, right in pairs], dtype=np.int64).reshape(-1, 2)
    except (KeyError, TypeError, ValueError):
        raise InputError(_bad_pair(pairs, codes, items)) from None
    same = np.flatnonzero(table[:, 0] == table[:, 1])
    if len(same):
        raise InputError(f"pair {same[0] + 1}: {pairs[same[0]][0]!r} is compared with itself; leave it out")
    return table


def _bad_pair(pairs: list[Any], codes: Mapping[Any, int], items: Sequence[Any]) -> str:
    for number, pair in enumerate(pairs, start=1):
        if not is_pair(pair):
            return f"pair {number} is {pair!r}; a pair is (left, right)"
        for item in pair:
            if not _hashable(item) or item not in codes:
                return f"pair {number}: no item {item!r}; there are {len(items)}, such as {items[0]!r}"
    raise AssertionError("every pair is good")


def answer_values(answers: Any, count: int) -> np.ndarray:
    """Answers as floats: 1, 0, 0.5, nan for None."""
    listed_answers = per_pair("answers", answers, count)
    try:
        return np.array([ANSWERS[answer] for answer in listed_answers], dtype=np.float64)
    except (KeyError, TypeError):
        bad = next(k for k, answer in enumerate(listed_answers) if not _hashable(answer) or answer not in ANSWERS)
        raise InputError(f"answer {bad + 1} is {listed_answers[bad]!r}; {MEANING}") from None


def judge_names(judges: Any, count: int) -> list[Any]:
    """The judge of each pair: one name for all (None for nobody in particular), or one each in a list."""
    one = not isinstance(judges, list | tuple | np.ndarray)
    names = [judges] * count if one else per_pair("judges", judges, count)
    for number, name in enumerate(names, start=1):
        if not _hashable(name):
            raise InputError(f"judge {number} is {name!r}; a name is text or a number")
    return names


def per_pair(what: str, entries: Any, count: int) -> list[Any]:
    """`entries` as a list, one for each pair."""
    values = listed(what, entries, "one for each pair")
    if len(values) != count:
        given = counted(len(values), what.removesuffix("s"))
        raise InputError(f"{given} for {counted(count, 'pair')}; give one for each pair")
    return values


def listed(what: str, entries: Any, form: str) -> list[Any]:
    """`entries` as a list."""
    return entries_of(what, entries, form)


def _hashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:  # a tuple that holds a list claims to be Hashable
        return False
    return isinstance(value, Hashable)


# Numbers of a planner


def codes_of(name: str, numbers: Any, n: int | None, size: int | None = None) -> np.ndarray:
    """Whole numbers from 0 (to n - 1), one a row; a single one stands for all `size` rows."""
    table = array_of(numbers, name)
    if table.ndim == 0 and size is not None:
        table = np.full(size, table)
    if table.ndim != 1 or (table.dtype.kind not in "iu" and table.size):
        raise InputError(f"{name} is an array of {table.dtype} of shape {table.shape}; give whole numbers, one a row")
    if size is not None and len(table) != size:
        raise InputError(f"{counted(len(table), 'number')} in {name} for {counted(size, 'row')}; give one a row")
    end = np.iinfo(np.int64).max if n is None else n
    bad = np.flatnonzero((table < 0) | (table >= end))
    if len(bad):
        raise InputError(f"{name}, row {bad[0] + 1}: {table[bad[0]]}; numbers are 0 to {end - 1}")
    codes: np.ndarray = table.astype(np.int64)
    return codes


def values_of(answers: Any, size: int) -> np.ndarray:
    """Answers as floats, one a row: 1, 0.5, 0 or nan."""
    values: np.ndarray = floats_of("value", answers)
    if values.ndim == 0:
        values = np.full(size, values)
    if values.shape != (size,):
        raise InputError(f"value has shape {values.shape} for {counted(size, 'row')}; give one answer a row")
    bad = np.flatnonzero(~(np.isnan(values) | (values == 0.0) | (values == 1.0) | (values == 0.5)))
    if len(bad):
        raise InputError(f"value, row {bad[0] + 1}: {values[bad[0]]:g}; answers are 1, 0.5, 0, or nan for a skip")
    return values


def kinds_of(names_or_numbers: Any, size: int) -> np.ndarray:
    """Kinds of questions as numbers, one a row; None says that all were chosen."""
    names = ("chosen", "check", "repeat")
    if names_or_numbers is None:
        return np.zeros(size, dtype=np.int64)
    table = np.asarray(names_or_numbers)
    if table.ndim == 0:
        table = np.full(size, table)
    if table.dtype.kind in "UO":
        unknown = [str(kind) for kind in table.tolist() if kind not in names]
        if unknown:
            raise InputError(f"kind {unknown[0]!r} is unknown; there are {', '.join(names)}")
        table = np.array([names.index(kind) for kind in table.tolist()], dtype=np.int64)
    kinds = codes_of("kind", table, len(names), size)
    return kinds
