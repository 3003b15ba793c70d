"""Labels to codes: names of items, judges and groups become 0, 1, 2, … in order of first appearance.

Labels may be any hashable Python values, in a list or any iterable, or a NumPy array of text, numbers or objects.
A missing one (None, NaN, an empty string) is refused, with its row.
"""

from __future__ import annotations

import sys
import unicodedata
import warnings
from collections.abc import Callable, Hashable, Iterable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard

import numpy as np
from numpy.typing import NDArray

from podium.data.tables.arrow import text_views
from podium.data.validation import FINE_TIMES, label_of, python_label
from podium.errors import DataWarning, InputError
from podium.kernels.text import encode as kernel
from podium.kernels.text import views as text_kernel
from podium.text import counted

if TYPE_CHECKING:
    import polars as pl

__all__ = [
    "Numbering", "as_column", "encode", "encode_pair", "is_missing", "is_text", "item_of", "number_records",
    "warn_of_look_alikes", "warn_of_placeholders",
]  # fmt: skip

Codes: TypeAlias = NDArray[np.int32]
Labels: TypeAlias = tuple[Hashable, ...]
INVISIBLE = dict.fromkeys(map(ord, "\u00ad\u200b\u200c\u200d\u2060\ufeff"))  # hyphens and joints that nobody sees
PLACEHOLDERS = {"n/a", "#n/a", "n.a.", "na", "<na>", "nan", "null", "none", "nil", "-", "--", "–", "—", "?", "??"}
MAX_PLACEHOLDER = 2 + max(map(len, PLACEHOLDERS))  # with a blank to each side
MAX_NAMED = 3  # look-alikes that a warning names
FIRST_LOOK = 1 << 12  # rows in which most labels appear already


def encode_pair(
    left: Iterable[Hashable], right: Iterable[Hashable], *, names: tuple[str, str] = ("left", "right")
) -> tuple[Labels, Codes, Codes]:
    """Number the labels of two columns together, row by row, left before right.

    Returns the labels in order of first appearance, and the codes of each column. `names` is what an error calls
    the two columns.

    >>> encode_pair(["tea", "coffee"], ["milk", "tea"])
    (('tea', 'milk', 'coffee'), array([0, 2], dtype=int32), array([1, 0], dtype=int32))
    """
    if _is_plain_series(left) and _is_plain_series(right) and _alike(left, right):
        labels, (codes_left, codes_right) = _encode_series({names[0]: left, names[1]: right})
        return labels, codes_left, codes_right
    lefts, rights = _column(left, names[0]), _column(right, names[1])
    if len(lefts) != len(rights):
        raise InputError(
            f"{names[0]} has {counted(len(lefts), 'row')} and {names[1]} has {len(rights)}; "
            "give one of each for every comparison"
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
    if _is_plain_series(values):
        labels, (codes,) = _encode_series({what: values})
        return codes, labels
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


def _is_plain_series(values: Any) -> TypeGuard[pl.Series]:
    """Whether the values are a polars Series of text or numbers, which need not become Python objects."""
    polars = sys.modules.get("polars")
    if polars is None or not isinstance(values, polars.Series):
        return False
    return bool(values.dtype == polars.String or values.dtype.is_integer() or values.dtype.is_float())


def _alike(left: pl.Series, right: pl.Series) -> bool:
    return len(left) == len(right) and left.dtype.is_numeric() == right.dtype.is_numeric()


def _encode_series(columns: dict[str, pl.Series]) -> tuple[Labels, list[Codes]]:
    numbering = Numbering()
    one, *others = columns.values()
    coded: list[Codes] = [*numbering.pair(one, others[0])] if others else [numbering.single(one)]
    labels = numbering.labels
    if any(codes.min(initial=0) < 0 for codes in coded):  # null
        labels = (*labels, None)
        coded = [np.where(codes < 0, np.int32(len(labels) - 1), codes) for codes in coded]
    _refuse_missing(labels, dict(zip(columns, coded, strict=True)))
    return labels, coded


class Numbering:
    """One numbering of labels for columns of a frame that arrive in pieces; -1 stands for null.

    Text keeps to bytes in Arrow's layout and never becomes Python objects row by row. Text and numbers are never
    labels of one numbering: "1" and 1 may or may not be the same item, and only the user knows.
    """

    def __init__(self) -> None:
        self._numbers: dict[Hashable, int] | None = None
        self._slots = np.full(1 << 10, -1, np.int32)
        self._keys = np.empty((1 << 9, 2), np.uint64)
        self._ends = np.empty(1 << 9, np.int64)
        self._heap = np.empty(1 << 14, np.int8)
        self._used = np.zeros(2, np.int64)
        self._codes: dict[Hashable, int] = {}  # for `find`, as far as it has looked
        self._firsts: list[tuple[int, str, NDArray[np.int64]]] = []  # from which code on, the file, and the rows

    def __len__(self) -> int:
        return len(self._numbers) if self._numbers is not None else int(self._used[0])

    @property
    def labels(self) -> Labels:
        """Labels in order of their codes."""
        return self.labels_from(0)

    def labels_from(self, code: int) -> Labels:
        """Labels from one code on: those a new piece has brought."""
        if code >= len(self):
            return ()
        if self._numbers is not None:
            return tuple(self._numbers)[code:]
        ends = [int(self._ends[code - 1]) if code else 0, *self._ends[code : len(self)].tolist()]
        text = self._heap[: ends[-1]].tobytes()
        return tuple(text[start:end].decode() for start, end in pairwise(ends))

    def find(self, label: Hashable) -> int:
        """The code of a label, -1 if it was never seen."""
        for code, new in enumerate(self.labels_from(len(self._codes)), start=len(self._codes)):
            self._codes[new] = code
        return self._codes.get(label, -1)

    def pair(self, left: pl.Series, right: pl.Series) -> tuple[Codes, Codes]:
        """Codes of two columns of one kind, numbered row by row, left before right."""
        codes_left, codes_right = np.empty(len(left), np.int32), np.empty(len(left), np.int32)
        if left.dtype.is_numeric():
            if _is_wide(left) or _is_wide(right):
                return self._pair_of_numbers(left, right)
            values = left.fill_null(0).to_numpy(), right.fill_null(0).to_numpy()
            kind = np.result_type(*values)
            if kind.kind == "f" and {value.dtype.kind for value in values} != {"f"}:
                return self._pair_of_numbers(left, right)  # as floats, neighbouring large integers would be one
            both = np.empty(2 * len(left), kind)
            both[0::2], both[1::2] = values
            valid = np.empty(len(both), np.bool_)
            valid[0::2], valid[1::2] = left.is_not_null().to_numpy(), right.is_not_null().to_numpy()
            codes = self._from_array(both, valid)
            return np.ascontiguousarray(codes[0::2]), np.ascontiguousarray(codes[1::2])
        row = 0
        with text_views(left) as a, text_views(right) as b:
            columns = (a.views, a.buffers, a.valid, b.views, b.buffers, b.valid)
            while (row := text_kernel.encode_view_pairs(*columns, row, codes_left, codes_right, *self._table())) < len(
                left
            ):
                self._grow()
        return codes_left, codes_right

    def note(self, known: int, columns: Sequence[Codes], rows: NDArray[np.int64], where: str) -> None:
        """Remember in which of `rows` the labels from code `known` on first appear, in columns numbered row by row."""
        if len(self) <= known:
            return
        last, size = len(self) - 1, FIRST_LOOK
        while size < len(rows) and max(column[:size].max() for column in columns) < last:
            size *= 4
        codes = np.column_stack([column[:size] for column in columns]).ravel()
        highest = np.maximum.accumulate(np.maximum(codes, known - 1))  # one more wherever a label is new
        new = np.flatnonzero(np.diff(highest, prepend=known - 1))
        self._firsts.append((known, where, rows[new // len(columns)]))

    def place(self, code: int) -> str:
        """Where a label first appears, in words; empty where that is not known."""
        for start, where, rows in self._firsts:
            if start <= code < start + len(rows):
                return f"{where}, row {rows[code - start]}" if where else f"row {rows[code - start]}"
        return ""

    def unite(self, other: Numbering) -> Codes:
        """The codes here of the labels of another numbering; those not known here come after all others."""
        import polars as pl

        known = len(self)
        if other._numbers is None:
            codes = self.single(pl.Series(other.labels, dtype=pl.String))
        else:
            if self._numbers is None:
                self._numbers = {}
            index = self._numbers
            codes = np.array([index.setdefault(label, len(index)) for label in other._numbers], np.int32)
        for start, where, rows in other._firsts:
            part = codes[start : start + len(rows)]
            if (new := part >= known).any():
                self._firsts.append((int(part[new][0]), where, rows[new]))
        return codes

    def _pair_of_numbers(self, left: pl.Series, right: pl.Series) -> tuple[Codes, Codes]:
        """Columns that no one type of number holds exactly: compared as Python does, whole numbers as integers."""
        if self._numbers is None:
            self._numbers = {}
        index = self._numbers
        codes = np.full((len(left), 2), -1, np.int32)
        for row, pair in enumerate(zip(left.to_list(), right.to_list(), strict=True)):
            for side, value in enumerate(pair):
                if value is not None:
                    label = value if isinstance(value, int) or value != value // 1 else int(value)
                    codes[row, side] = index.setdefault(label, len(index))
        return np.ascontiguousarray(codes[:, 0]), np.ascontiguousarray(codes[:, 1])

    def single(self, column: pl.Series) -> Codes:
        """Codes of one column."""
        if _is_wide(column):
            return self._pair_of_numbers(column, column)[0]
        if column.dtype.is_numeric():
            return self._from_array(column.fill_null(0).to_numpy(), column.is_not_null().to_numpy())
        codes = np.empty(len(column), np.int32)
        row = 0
        with text_views(column) as a:
            while (row := text_kernel.encode_views(a.views, a.buffers, a.valid, row, codes, *self._table())) < len(
                column
            ):
                self._grow()
        return codes

    def with_missing(self, column: pl.Series) -> Codes:
        """Codes of one column whose empty cells have one of their own, of a label that `is_missing`."""
        if not column.dtype.is_numeric():
            return self.single(column.fill_null(""))
        codes = self.single(column)
        lacking = codes < 0
        if lacking.any():
            assert self._numbers is not None, "numbers were just numbered"
            codes[lacking] = self._numbers.setdefault(None, len(self._numbers))
        return codes

    def _table(self) -> tuple[NDArray[Any], ...]:
        return self._slots, self._keys, self._ends, self._heap, self._used

    def _grow(self) -> None:
        """Double what is full: the slots when half of them are taken, else the heap."""
        size = len(self)
        if 2 * size >= len(self._slots):
            self._slots = np.full(4 * len(self._slots), -1, np.int32)
            text_kernel.insert(self._keys[:size], self._slots)
            self._keys = np.resize(self._keys, (len(self._slots) // 2, 2))
            self._ends = np.resize(self._ends, len(self._slots) // 2)
        else:
            self._heap = np.resize(self._heap, 4 * len(self._heap))

    def _from_array(self, values: NDArray[Any], valid: NDArray[np.bool_]) -> Codes:
        if self._numbers is None:
            self._numbers = {}
        index = self._numbers
        local, labels = _encode_array(values[valid])
        table = np.array([index.setdefault(label, len(index)) for label in labels], np.int32)
        codes = np.full(len(values), -1, np.int32)
        codes[valid] = table[local]
        return codes


def _is_wide(column: pl.Series) -> bool:
    """Whether the column holds integers that NumPy has no type for."""
    return column.dtype.is_integer() and str(column.dtype).endswith("128")


def is_missing(label: object) -> bool:
    """Whether a label says nothing: None, NaN, pandas.NA, or text that is empty or blank."""
    if isinstance(label, str):
        return not label.strip()
    try:
        return label is None or bool(label != label)
    except (TypeError, ValueError):  # pandas.NA will not be compared, not even with itself
        return True


def item_of(what: str, label: Any) -> Hashable:
    """The label of an item, which can be looked up and says something."""
    found = label_of(what, label)
    if is_missing(found):
        raise InputError(f"{what} is missing ({found!r}); name the item")
    return found


def warn_of_look_alikes(
    what: str, labels: Labels, place: Callable[[int], str], stacklevel: int, known: int = 0
) -> None:
    """Labels are taken as they are; two that differ only in what people overlook are more likely one.

    The first `known` of them came earlier: what is alike among those alone was told then.
    """
    alike = [twins for twins in _look_alikes(labels) if twins[-1] >= known]
    if not alike:
        return
    named = "; ".join(" and ".join(_shown(labels, code, twins, place) for code in twins) for twins in alike[:MAX_NAMED])
    text = (
        f"{what} that differ only in case, blanks or how their characters are coded are kept apart: {named}"
        f"{'; …' if len(alike) > MAX_NAMED else ''}; write them alike if they are the same"
    )
    warnings.warn(text, DataWarning, stacklevel=stacklevel + 1)


def warn_of_placeholders(labels: Labels, place: Callable[[int], str], way_out: str, stacklevel: int) -> None:
    """Items are taken as they are called; one called as an answer that is not there is more likely none."""
    short = (code for code, label in enumerate(labels) if isinstance(label, str) and len(label) <= MAX_PLACEHOLDER)
    found = [code for code in short if str(labels[code]).strip().lower() in PLACEHOLDERS]
    if found:
        named = ", ".join(_shown(labels, code, (code,), place) for code in found[:MAX_NAMED])
        named += ", …" if len(found) > MAX_NAMED else ""
        one = len(found) == 1
        like = "reads like a missing answer" if one else "read like missing answers"
        text = f"{named} {like}; {way_out} {'if' if one else 'where'} it is one"
        warnings.warn(text, DataWarning, stacklevel=stacklevel + 1)


def _shown(labels: Labels, code: int, twins: Sequence[int], place: Callable[[int], str]) -> str:
    """A label and where it is; spelt out where its twin looks the same."""
    same = len({_composed(str(labels[each])) for each in twins}) < len(twins)
    name = ascii(labels[code]) if same else repr(labels[code])
    where = place(code)
    return f"{name} ({where})" if where else name


def _look_alikes(labels: Labels) -> list[list[int]]:
    """Codes of labels that are one but for case, blanks and the coding of their characters.

    >>> _look_alikes(("Tea", "milk", "tea "))
    [[0, 2]]
    """
    codes = [code for code, label in enumerate(labels) if isinstance(label, str)]
    texts = [str(labels[code]) for code in codes]
    if len(texts) < 2:
        return []
    joined = _composed("\n".join(texts)).lower()  # all at once, as there may be a million
    keys = joined.split("\n")
    if len(keys) != len(texts) or keys != joined.split():  # some hold blanks, or nothing that is seen
        keys = [" ".join(_composed(text).lower().split()) for text in texts]
    if len(set(keys)) == len(keys):
        return []
    twins: dict[str, list[int]] = {}
    for code, key in zip(codes, keys, strict=True):
        twins.setdefault(key, []).append(code)
    return [each for each in twins.values() if len(each) > 1]


def _composed(text: str) -> str:
    """Text in one coding of its characters, without those that nobody sees."""
    return text if text.isascii() else unicodedata.normalize("NFKC", text).translate(INVISIBLE)


def is_text(text: str) -> bool:
    """Whether the text can be written: half a character (a lone surrogate) cannot."""
    try:
        return text.isascii() or bool(text.encode())
    except UnicodeEncodeError:
        return False


def as_column(labels: Sequence[Hashable]) -> list[Hashable]:
    """Labels as a column of a table holds them: text where no type of a column holds one of them as it is."""
    large = (isinstance(label, int) and not -(1 << 127) <= label < (1 << 127) for label in labels)
    if any(large) or any(isinstance(label, FINE_TIMES) for label in labels):
        return [str(label) for label in labels]
    return list(labels)


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
    if isinstance(values, np.ndarray) and values.dtype.kind in "mM" and values.ndim == 1:
        return list(values)  # `tolist` makes nanoseconds whole numbers
    for name in ("to_list", "to_pylist", "tolist"):  # polars and pandas, pyarrow, NumPy
        if hasattr(values, name):
            return getattr(values, name)()
    return list(values)


def _plain(column: Any) -> list[Hashable]:
    return list(_texts(column)) if isinstance(column, np.ndarray) else column


def _texts(array: NDArray[Any]) -> list[Hashable]:
    """The array's values as Python's own; bytes are read as UTF-8."""
    if array.dtype.kind != "S":
        return list(array.tolist())
    try:
        return [value.decode() for value in array.tolist()]
    except UnicodeDecodeError as problem:
        raise InputError(f"label {problem.object!r} is no UTF-8 text; give labels as text") from problem


def _encode_array(array: NDArray[Any]) -> tuple[Codes, Labels]:
    """Number fixed-width values by their bytes."""
    if array.dtype.kind == "f":
        array = array + 0.0  # -0.0 equals 0.0 but has other bytes
    if not len(array) or not array.dtype.itemsize:
        return np.empty(0, np.int32), ()
    records = np.zeros((len(array), -(-array.dtype.itemsize // 8)), np.uint64)
    records.view(np.uint8)[:, : array.dtype.itemsize] = (
        np.ascontiguousarray(array).view(np.uint8).reshape(len(array), -1)
    )
    codes, first = number_records(records)
    return codes, tuple(_texts(array[first]))


def number_records(records: NDArray[np.uint64]) -> tuple[Codes, NDArray[np.int64]]:
    """Number equal rows of words in order of first appearance; also the row where each first appeared."""
    codes = np.empty(len(records), np.int32)
    row = count = 0
    size = 1 << min(17, 2 + len(records).bit_length())
    first = np.empty(size // 2, np.int64)
    while True:
        slots = np.full(size, -1, np.int32)
        seen = records[first[:count]]  # in order of their codes, so numbering them again gives the same
        kernel.encode_records(seen, 0, 0, np.empty(count, np.int64), slots, np.empty(count, np.int32))
        row, count = kernel.encode_records(records, row, count, first, slots, codes)
        if row == len(records):
            return codes, first[:count]
        size *= 4
        first = np.concatenate([first[:count], np.empty(size // 2 - count, np.int64)])


def _memories() -> tuple[NDArray[np.uintp], NDArray[np.uintp], Codes]:
    return np.zeros(kernel.MEMORY, np.uintp), np.zeros(kernel.MEMORY, np.uintp), np.zeros(2 * kernel.MEMORY, np.int32)


def _python(labels: Labels) -> Labels:
    """NumPy scalars become Python's own, so that labels print, sort and save like the user's."""
    return tuple(python_label(label) if isinstance(label, np.generic) else label for label in labels)


def _refuse_missing(labels: Labels, columns: dict[str, Codes]) -> None:
    bad = [code for code, label in enumerate(labels) if is_missing(label)]
    bad = bad or [code for code, label in enumerate(labels) if isinstance(label, str) and not is_text(label)]
    if bad:
        row, name, code = min(
            (int(rows[0]), name, int(codes[rows[0]]))
            for name, codes in columns.items()
            if len(rows := np.flatnonzero(np.isin(codes, bad)))
        )
        if not is_missing(labels[code]):
            raise InputError(
                f"row {row + 1}: {name} is {labels[code]!r}, half a character (a lone surrogate); write it anew"
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
