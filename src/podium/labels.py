"""Labels to codes: names of items, judges and groups become 0, 1, 2, … in order of first appearance.

Labels may be any hashable Python values, in a list or any iterable, or a NumPy array of text, numbers or objects.
A missing one (None, NaN, an empty string) is refused, with its row.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from podium.errors import InputError
from podium.kernels import encode as kernel

__all__ = ["encode", "encode_pair", "is_missing"]

Codes: TypeAlias = NDArray[np.int32]
Labels: TypeAlias = tuple[Hashable, ...]


def encode_pair(
    left: Iterable[Hashable], right: Iterable[Hashable], *, names: tuple[str, str] = ("left", "right")
) -> tuple[Labels, Codes, Codes]:
    """Number the labels of two columns together, row by row, left before right.

    Returns the labels in order of first appearance, and the codes of each column. `names` is what an error calls
    the two columns.

    >>> encode_pair(["tea", "coffee"], ["milk", "tea"])
    (('tea', 'milk', 'coffee'), array([0, 2], dtype=int32), array([1, 0], dtype=int32))
    """
    lefts, rights = _column(left, names[0]), _column(right, names[1])
    if len(lefts) != len(rights):
        raise InputError(
            f"{names[0]} has {len(lefts)} rows and {names[1]} has {len(rights)}; give one of each for every comparison"
        )
    if isinstance(lefts, np.ndarray) and isinstance(rights, np.ndarray) and lefts.dtype.kind == rights.dtype.kind:
        both = np.empty(2 * len(lefts), np.result_type(lefts, rights))
        both[0::2], both[1::2] = lefts, rights
        codes, labels = _encode_array(both)
        codes_left, codes_right = np.ascontiguousarray(codes[0::2]), np.ascontiguousarray(codes[1::2])
    else:
        lefts, rights = _plain(lefts), _plain(rights)
        index: dict[Hashable, int] = {}
        codes_left, codes_right = np.empty(len(lefts), np.int32), np.empty(len(lefts), np.int32)
        try:
            kernel.encode_lists(lefts, rights, index, codes_left, codes_right, *_memories())
        except TypeError as problem:
            raise _unhashable(dict(zip(names, (lefts, rights), strict=True))) from problem
        labels = tuple(index)
    _refuse_missing(labels, {names[0]: codes_left, names[1]: codes_right})
    return _python(labels), codes_left, codes_right


def encode(values: Iterable[Hashable], what: str = "label") -> tuple[Codes, Labels]:
    """Number the labels of one column in order of first appearance; `what` names the column in an error.

    >>> encode(["ann", "bob", "ann"], what="judge")
    (array([0, 1, 0], dtype=int32), ('ann', 'bob'))
    """
    column = _column(values, what)
    if isinstance(column, np.ndarray):
        codes, labels = _encode_array(column)
    else:
        index: dict[Hashable, int] = {}
        codes = np.empty(len(column), np.int32)
        try:
            kernel.encode_list(column, index, codes, *_memories())
        except TypeError as problem:
            raise _unhashable({what: column}) from problem
        labels = tuple(index)
    _refuse_missing(labels, {what: codes})
    return codes, _python(labels)


def is_missing(label: object) -> bool:
    """Whether a label says nothing: None, NaN, pandas.NA, or text that is empty or blank."""
    if isinstance(label, str):
        return not label.strip()
    try:
        return label is None or bool(label != label)
    except (TypeError, ValueError):  # pandas.NA will not be compared, not even with itself
        return True


def _column(values: Iterable[Hashable], what: str) -> Any:
    """An array of fixed-width values where there is one, else a list of our own (or the caller's, only read)."""
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        raise InputError(f"{what} is {values!r}, a single value; give a list of labels, one for each row")
    dtype = getattr(values, "dtype", None)
    if isinstance(dtype, np.dtype) and dtype.kind in "biufUS":
        array = np.asarray(values)
        if array.ndim != 1:
            raise InputError(f"{what} has shape {array.shape}; give one label for each row, a single column")
        return array
    if isinstance(values, list):
        return values
    for name in ("to_list", "to_pylist", "tolist"):  # polars and pandas, pyarrow, NumPy
        if hasattr(values, name):
            return getattr(values, name)()
    return list(values)


def _plain(column: Any) -> list[Hashable]:
    return list(_texts(column)) if isinstance(column, np.ndarray) else column


def _texts(array: NDArray[Any]) -> list[Hashable]:
    """The array's values as Python's own; bytes are read as UTF-8."""
    return [value.decode() for value in array.tolist()] if array.dtype.kind == "S" else array.tolist()


def _encode_array(array: NDArray[Any]) -> tuple[Codes, Labels]:
    """Number fixed-width values by their bytes."""
    if array.dtype.kind == "f":
        array = array + 0.0  # -0.0 equals 0.0 but has other bytes
    codes = np.empty(len(array), np.int32)
    if not len(array) or not array.dtype.itemsize:
        return codes, ()
    records = np.ascontiguousarray(array).view(np.int8).reshape(len(array), -1)
    row = found = 0
    size = 1 << 10
    first = np.empty(size // 2, np.int64)
    while True:
        slots = np.full(size, -1, np.int32)
        seen = records[first[:found]]  # in order of their codes, so numbering them again gives the same
        kernel.encode_records(seen, 0, 0, np.empty(found, np.int64), slots, np.empty(found, np.int32))
        row, found = kernel.encode_records(records, row, found, first, slots, codes)
        if row == len(array):
            return codes, tuple(_texts(array[first[:found]]))
        size *= 4
        first = np.concatenate([first[:found], np.empty(size // 2 - found, np.int64)])


def _memories() -> tuple[NDArray[np.uintp], NDArray[np.uintp], Codes]:
    return np.zeros(kernel.MEMORY, np.uintp), np.zeros(kernel.MEMORY, np.uintp), np.zeros(2 * kernel.MEMORY, np.int32)


def _python(labels: Labels) -> Labels:
    """NumPy scalars become Python's own, so that labels print, sort and save like the user's."""
    return tuple(label.item() if isinstance(label, np.generic) else label for label in labels)


def _refuse_missing(labels: Labels, columns: dict[str, Codes]) -> None:
    bad = [code for code, label in enumerate(labels) if is_missing(label)]
    if bad:
        row, name, code = min(
            (int(rows[0]), name, int(codes[rows[0]]))
            for name, codes in columns.items()
            if len(rows := np.flatnonzero(np.isin(codes, bad)))
        )
        raise InputError(f"row {row + 1}: {name} is missing ({labels[code]!r}); name every {name} or remove the row")


def _unhashable(columns: dict[str, list[Hashable]]) -> InputError:
    """The error for the first label no dictionary can hold."""
    for name, column in columns.items():
        for row, label in enumerate(column, start=1):
            try:
                hash(label)
            except TypeError:
                return InputError(f"row {row}: {name} is {label!r}, a {type(label).__name__}; give text or numbers")
    return InputError("labels could not be compared with each other; give text or numbers")
