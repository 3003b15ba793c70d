"""Columns given as arrays, checked once with the row named; and options, with the option and its value."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from podium.errors import InputError, Option
from podium.text import counted

__all__ = [
    "FINE_TIMES",
    "MAX_MARGIN",
    "MAX_TIME",
    "MAX_WEIGHT",
    "array_of",
    "check_is_fitted",
    "check_weights",
    "choice_option",
    "code_column",
    "count_column",
    "covariate_table",
    "distinct_labels",
    "entries_of",
    "flag_option",
    "floats_of",
    "heaviest",
    "instance_of",
    "is_one",
    "is_pair",
    "is_sound",
    "label_of",
    "listed_labels",
    "members",
    "names_option",
    "non_negative_column",
    "number_column",
    "number_option",
    "outcome_column",
    "python_label",
    "row_numbers",
    "seed_option",
    "share_column",
    "sound_sparse",
    "time_column",
    "union_of_labels",
    "whole_option",
]

Floats = NDArray[np.float64]

FINE_TIMES = np.datetime64, np.timedelta64  # that may be finer than Python's, or longer
LARGEST = float(np.finfo(np.float64).max)
MAX_WHOLE = 2**63 - 1  # what arrays and frames can count to
MAX_COUNT = 1 << 53  # from here on not every whole number is a float
MAX_TIME = 1e15  # microseconds of this age are far smaller
MAX_MARGIN = 1e150  # its square is a number still
MIN_WEIGHT, MAX_WEIGHT = 1e-140, 1e140  # of the largest: squares of these can be summed, and are not nothing


def python_label(label: Any) -> Any:
    """A NumPy scalar as Python's own value; a time that Python cannot hold exactly stays as it is.

    >>> python_label(np.datetime64("2024-05-01T12:00:00.000000000"))
    datetime.datetime(2024, 5, 1, 12, 0)
    """
    own = label.item()
    if not isinstance(label, FINE_TIMES) or not isinstance(own, int):
        return own
    if np.datetime_data(label.dtype)[0] not in ("ns", "ps", "fs", "as"):
        return label
    short = label.astype(f"{label.dtype.kind}8[us]")
    return short.item() if short == label else label


def listed_labels(items: Any) -> Any:
    """Labels in an array as Python's own values, times among them; any others as they are."""
    if not isinstance(items, np.ndarray):
        return items
    return [python_label(label) for label in items] if items.dtype.kind in "mM" and items.ndim == 1 else items.tolist()


def distinct_labels(items: Any, what: str = "items") -> Sequence[Hashable]:
    """The labels a user lists, each once."""
    if isinstance(items, range):
        return items
    if not isinstance(items, Iterable) or (isinstance(items, np.ndarray) and items.ndim != 1):
        raise InputError(f"{what}: {items!r} is no list of labels; give one, in the order of the codes")
    labels = tuple(listed_labels(items))
    seen: set[Hashable] = set()
    for label in labels:
        try:
            twice = label in seen
            seen.add(label)
        except TypeError as problem:
            raise InputError(f"{what}: {label!r} cannot be a label; use text, numbers or tuples") from problem
        if twice:
            raise InputError(f"{what}: {label!r} appears twice; labels must differ")
    return labels


def code_column(values: Any, what: str) -> NDArray[Any]:
    """Integer codes as the kernels take them."""
    codes = _whole(values, what, "with `items`, integer codes are expected", "leave `items` out for labels")
    return np.ascontiguousarray(codes, dtype=codes.dtype if codes.dtype in (np.int32, np.int64) else np.int64)


def members(values: Any, known: Sequence[Hashable], what: str, rows: int) -> NDArray[np.int32]:
    """Codes of judges or groups, which stand in `known`."""
    codes = _whole(values, what, "integer codes are expected", f"the labels stand in {what}s")
    _refuse_length(codes, what, rows)
    bad = (codes < 0) | (codes >= len(known))
    if bad.any():
        row = int(np.argmax(bad))
        raise InputError(f"row {row + 1}: {what} {codes[row]} is outside the {len(known)} places of `{what}s`")
    return np.ascontiguousarray(codes, dtype=np.int32)


def outcome_column(values: Any, rows: int) -> NDArray[np.int8]:
    """Outcomes as codes: 1, -1 and 0."""
    way = "give 1 where left won, -1 where right did, 0 for a tie"
    outcome = _whole(values, "outcome", "integers are expected", way)
    _refuse_length(outcome, "outcome", rows)
    bad = (outcome < -1) | (outcome > 1)
    if bad.any():
        row = int(np.argmax(bad))
        raise InputError(f"row {row + 1}: outcome is {outcome[row]}; {way}")
    return np.ascontiguousarray(outcome, dtype=np.int8)


def count_column(values: Any, rows: int) -> NDArray[np.int64]:
    """How many equal votes each row stands for."""
    count = _whole(values, "count", "whole numbers are expected", "give how many equal votes each row is")
    _refuse_length(count, "count", rows)
    bad = (count < 1) | (count >= MAX_COUNT)
    if bad.any():
        row = int(np.argmax(bad))
        raise InputError(f"row {row + 1}: count is {count[row]}; it must be at least 1 and less than 2**53")
    return np.ascontiguousarray(count, dtype=np.int64)


def row_numbers(values: Any, rows: int, what: str = "rows") -> NDArray[Any]:
    """Numbers of rows, from the end where negative, or a mask."""
    chosen = array_of(values, what)
    if chosen.dtype == bool:
        if chosen.shape != (rows,):
            raise InputError(
                f"{what}: a mask of shape {chosen.shape} for {counted(rows, 'row')}; give True or False for each"
            )
        return np.flatnonzero(chosen)
    chosen = _whole(chosen, what, "whole numbers are expected", "give numbers from 0, or True and False for each")
    bad = (chosen < -rows) | (chosen >= rows)
    if bad.any():
        raise InputError(f"{what}: there is no {chosen[bad][0]}; numbers go from 0 to {rows - 1}")
    return chosen


def share_column(values: Any, count: NDArray[np.int64] | None, rows: int) -> NDArray[np.int64]:
    """How many of the equal votes of each row are wanted: of a row that is a single vote, any number."""
    shares = _whole(values, "counts", "whole numbers are expected", "give how many votes of each row")
    _refuse_length(shares, "counts", rows)
    bad = (shares < 0) | (shares > (min(MAX_COUNT, np.iinfo(shares.dtype).max) if count is None else count))
    if bad.any():
        row = int(np.argmax(bad))
        most = "" if count is None else f", and the row stands for {count[row]}"
        raise InputError(f"row {row + 1}: counts is {shares[row]}; it must be at least 0{most}")
    return np.ascontiguousarray(shares, dtype=np.int64)


def _whole(values: Any, what: str, wanted: str, way: str) -> NDArray[Any]:
    """One column of integers, as NumPy sees it; what it sees otherwise is refused."""
    codes = array_of(values, what)
    if codes.ndim != 1:
        raise InputError(f"{what}: one column is expected, not shape {codes.shape}")
    if codes.size and codes.dtype.kind not in "iu":
        raise InputError(f"{what}: {wanted}, not {codes.dtype}; {way}")
    return codes if codes.size else codes.astype(np.int64)


def array_of(values: Any, what: str, dtype: Any = None) -> NDArray[Any]:
    """The values as NumPy sees them; a mask, an imaginary part or a date is not dropped on the way."""
    if np.ma.is_masked(values):
        row = int(np.argwhere(np.ma.getmaskarray(values))[0][0]) if np.ndim(values) else 0
        raise InputError(f"row {row + 1}: {what} is masked; remove the row")
    try:
        array = np.asarray(values)
        if dtype is not None and array.dtype.kind in "cmMV":
            raise TypeError(f"they are {array.dtype}")
        with np.errstate(over="raise"):
            return array if dtype is None else array.astype(dtype, copy=False)
    except (TypeError, ValueError, OverflowError, FloatingPointError) as problem:
        ragged = "inhomogeneous" in str(problem)
        why = "rows differ in length, or hold lists where others hold one thing" if ragged else problem
        raise InputError(f"{what}: numbers are expected ({why})") from problem


def _refuse_length(column: NDArray[Any], what: str, rows: int) -> None:
    if column.shape != (rows,):
        raise InputError(f"{what} has shape {column.shape}, the votes have {counted(rows, 'row')}; they must match")


def number_column(values: ArrayLike, what: str, rows: int) -> Floats:
    """A column of numbers with as many rows as there are votes."""
    column = array_of(values, what, np.float64)
    _refuse_length(column, what, rows)
    return np.ascontiguousarray(column)


def non_negative_column(values: ArrayLike, what: str, rows: int, least: float = 0.0) -> Floats:
    """The same, finite and not below 0, or below `least`."""
    column = number_column(values, what, rows)
    if rows and not (column.min() >= least and column.max() < np.inf):  # NaN is neither
        row = int(np.argmax(~(np.isfinite(column) & (column >= least))))
        bound = "" if least == -np.inf else f" of at least {least:g}"
        raise InputError(f"row {row + 1}: {what} is {column[row]:g}; it must be a finite number{bound}")
    if what == "margin" and rows and np.abs(column).max() > MAX_MARGIN:
        row = int(np.argmax(np.abs(column)))
        raise InputError(f"row {row + 1}: margin is {column[row]:g}; give a number between ±{MAX_MARGIN:g}")
    return column


def time_column(values: ArrayLike, rows: int) -> Floats:
    """Times as finite numbers, small enough that a float still tells one from the next."""
    column = number_column(values, "time", rows)
    bad = ~(np.abs(column) <= MAX_TIME)  # NaN is neither
    if bad.any():
        row = int(np.argmax(bad))
        raise InputError(f"row {row + 1}: time is {column[row]:g}; give a number between ±{MAX_TIME:g}")
    return column


def check_weights(weight: Floats) -> None:
    """Refuse weights whose squares could not be summed: too large, or all of them too small."""
    largest = float(weight.max(initial=0.0))
    if not 0 < largest < MIN_WEIGHT and largest <= MAX_WEIGHT:
        return
    row = int(weight.argmax())
    what = (
        "large to be summed; divide"
        if largest > MAX_WEIGHT
        else "small to be squared, and no other is larger; multiply"
    )
    raise InputError(f"row {row + 1}: weight is {largest:g}, too {what} all weights by the same")


def heaviest(weight: Floats) -> None:
    """Refuse weights of rows that are too large to be added up and squared."""
    if weight.size and weight.max() > MAX_MARGIN:
        row = int(np.argmax(weight))
        raise InputError(f"row {row + 1}: its weight is {weight[row]:g}; divide all weights by one number")


def covariate_table(values: ArrayLike | Mapping[str, ArrayLike], rows: int) -> tuple[Floats, tuple[str, ...]]:
    """Covariates as a (rows, p) table with their names."""
    if isinstance(values, Mapping):
        names, columns = tuple(values), [number_column(v, name, rows) for name, v in values.items()]
        table = np.column_stack(columns) if columns else np.empty((rows, 0))
    else:
        table = array_of(values, "covariates", np.float64)
        table = table[:, None] if table.ndim == 1 else table
        names = tuple(f"x{k + 1}" for k in range(table.shape[-1] if table.ndim else 0))
    if table.ndim != 2 or len(table) != rows or not names:
        raise InputError(f"covariates have shape {table.shape}, the votes have {counted(rows, 'row')}; they must match")
    bad = ~(np.abs(table) <= MAX_MARGIN)  # NaN is neither
    if bad.any():
        row, k = (int(v[0]) for v in np.nonzero(bad))
        wanted = f"it must lie between ±{MAX_MARGIN:g}" if np.isfinite(table[row, k]) else "it must be finite"
        raise InputError(f"row {row + 1}: covariate {names[k]!r} is {table[row, k]:g}; {wanted}")
    return np.ascontiguousarray(table), names


def union_of_labels(
    first: Sequence[Hashable], second: Sequence[Hashable]
) -> tuple[tuple[Hashable, ...], NDArray[np.int32]]:
    """All labels, and for each of `second` its place among them."""
    index = {label: code for code, label in enumerate(first)}
    recode = np.array([index.setdefault(label, len(index)) for label in second], dtype=np.int32)
    return tuple(index), recode


def number_option(
    name: str,
    value: Any,
    *,
    least: float | None = None,
    above: float | None = None,
    below: float | None = None,
    whole: bool = False,
    more: str = "",
) -> float:
    """An option that must be a finite number, `least` or more, strictly `above` or `below`; `more` is said at the end.

    Examples
    --------
    >>> number_option("l2", 0.5, least=0)
    0.5
    >>> number_option("l2", -1, least=0)
    Traceback (most recent call last):
    podium.errors.InputError: l2=-1: it must be a finite number of at least 0
    """
    number = value.item() if isinstance(value, np.generic) else value  # a narrow type cannot be compared with LARGEST
    fine = isinstance(number, Integral if whole else Real) and not isinstance(number, bool)
    if whole and fine and number > MAX_WHOLE:
        raise InputError(Option(name, value), f": it must be a whole number of at most {MAX_WHOLE:,}")
    fine = fine and bool(-LARGEST <= number <= LARGEST)
    fine = fine and (least is None or number >= least) and (above is None or number > above)
    fine = fine and (below is None or number < below)
    if not fine:
        kind = "a whole number" if whole else "a finite number"
        bound = f" of at least {least:g}" if least is not None else f" above {above:g}" if above is not None else ""
        bound += f" and below {below:g}" if below is not None else ""
        raise InputError(Option(name, value), f": it must be {kind}{bound}{more}")
    return float(number)


def check_is_fitted(estimator: Any, attributes: str | None = None) -> None:
    """As scikit-learn's, whose error is raised as ours, so that all learners of podium raise one."""
    from sklearn.exceptions import NotFittedError as Theirs
    from sklearn.utils import validation

    from podium.errors import NotFittedError

    try:
        validation.check_is_fitted(estimator, attributes)
    except Theirs as problem:
        raise NotFittedError(str(problem)) from None


def whole_option(name: str, value: Any, *, least: int) -> int:
    """An option that must be a whole number of at least `least`."""
    number_option(name, value, least=least, whole=True)
    return int(value)


def seed_option(name: str, value: Any) -> int | None:
    """A seed: a whole number from 0 up, however large, or None for a new one each time."""
    if value is None or (isinstance(value, int) and value > MAX_WHOLE):
        return value
    return whole_option(name, value, least=0)


def choice_option(name: str, value: Any, known: Sequence[str]) -> str:
    """One of a few words."""
    if not isinstance(value, str) or value not in known:
        *first, last = [repr(word) for word in known]
        raise InputError(Option(name, value), f" is not known; use {', '.join(first)}{' or ' if first else ''}{last}")
    return value


def names_option(name: str, value: Any) -> tuple[str, ...]:
    """Names of columns: one, or several in a list, each taken once.

    >>> names_option("id", "code"), names_option("id", ["code", "year", "code"])
    (('code',), ('code', 'year'))
    """
    names = [value] if is_one(value) else list(value)
    if not all(isinstance(each, str) for each in names):
        raise InputError(Option(name, value), ": it must be the name of a column, or a list of them")
    return tuple(dict.fromkeys(names))


def flag_option(name: str, value: Any) -> bool:
    """True or False; a word such as "no" is true in Python, so it is refused."""
    if not isinstance(value, bool | np.bool_):
        raise InputError(Option(name, value), ": it must be True or False")
    return bool(value)


def floats_of(what: str, values: Any, shape: tuple[int | None, ...] | None = None) -> Floats:
    """Numbers in an array, of a `shape` in which None is any length.

    >>> floats_of("thresholds", [0, 1], (None,))
    array([0., 1.])
    >>> floats_of("thresholds", [[0, 1]], (None,))
    Traceback (most recent call last):
    podium.errors.InputError: thresholds: shape (1, 2) is given; it must be (any)
    """
    array: Floats = array_of(values, what, np.float64)
    if shape is not None and not (
        array.ndim == len(shape) and all(n in (None, size) for n, size in zip(shape, array.shape, strict=True))
    ):
        wanted = ", ".join("any" if n is None else str(n) for n in shape)
        raise InputError(f"{what}: shape {array.shape} is given; it must be ({wanted})")
    return array


def entries_of(what: str, values: Any, form: str) -> list[Any]:
    """What a user lists; a text is one thing, and so is a number in an array of its own.

    >>> entries_of("sizes", 3, "shares of the votes")
    Traceback (most recent call last):
    podium.errors.InputError: sizes is 3; give shares of the votes
    """
    if is_one(values):
        raise InputError(f"{what} is {values!r}; give {form}")
    return list(values)


def is_one(thing: Any) -> bool:
    """Whether it is one thing rather than a list: a text is, and a number in an array of its own."""
    return isinstance(thing, str | bytes) or not isinstance(thing, Iterable) or getattr(thing, "ndim", 1) == 0


def is_pair(thing: Any) -> bool:
    """Whether it is two things in a row."""
    return isinstance(thing, Sequence | np.ndarray) and not is_one(thing) and len(thing) == 2


def label_of(what: str, label: Any) -> Hashable:
    """A label, which can be looked up.

    >>> label_of("winner", ["tea"])
    Traceback (most recent call last):
    podium.errors.InputError: winner: ['tea'] cannot be a label; use text, numbers or tuples
    """
    try:
        hash(label)
    except TypeError as problem:  # a tuple that holds a list claims to be Hashable
        raise InputError(f"{what}: {label!r} cannot be a label; use text, numbers or tuples") from problem
    return label  # type: ignore[no-any-return]


def sound_sparse(table: Any, what: str) -> None:
    """Refuse a sparse table of SciPy that points outside its own arrays: whatever reads it follows without a look."""
    if not is_sound(table):
        raise InputError(f"{what} is a sparse table whose arrays do not fit together; build it anew")


def is_sound(table: Any) -> bool:
    """Whether a sparse table, if it is one, points into its own arrays only.

    SciPy's own full check says nothing of a table whose last row ends at 0 or before.
    """
    if getattr(table, "format", None) not in ("csr", "csc") or not hasattr(table, "indptr"):
        return True
    start, index = np.asarray(table.indptr), np.asarray(table.indices)
    major, minor = table.shape[::-1] if table.format == "csc" else (table.shape[0], table.shape[-1])
    fits = start.shape == (major + 1,) and start[0] == 0 and bool((np.diff(start) >= 0).all())
    fits = fits and start[-1] <= min(len(index), len(table.data))
    if fits and start[-1]:
        used = index[: start[-1]]
        fits = bool(used.min() >= 0 and used.max() < minor)
    return bool(fits)


def instance_of(kind: type, value: Any, what: str) -> None:
    """Refuse what is no `kind`, by its name rather than by the attribute it will lack."""
    if not isinstance(value, kind):
        article = "an" if kind.__name__[0] in "AEIO" else "a"
        raise InputError(f"{what} must be {article} {kind.__name__}, not {type(value).__name__}")
