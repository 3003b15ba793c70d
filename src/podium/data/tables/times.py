"""When votes were cast: dates, timestamps and numbers as one column of numbers.

Dates and timestamps become days since 1970 (UTC where they name a zone); numbers stay as they are. A column is read in
one way, settled by its first values; a value that does not fit is an error that names its row. Nothing is guessed: a
date that may be day/month or month/day is refused, and so is one that is written as a bare number.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

import numpy as np
from numpy.typing import NDArray

from podium.data.validation import MAX_TIME, number_column, number_option
from podium.errors import DataWarning, InputError, Option

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Times", "dated_like", "duration", "given_times", "moment", "shown_times"]

Floats: TypeAlias = NDArray[np.float64]
Fail: TypeAlias = Callable[[int, str], NoReturn]  # raises for a row of the column, with what is wrong

DAY = 86_400_000_000  # microseconds
WAY = "give dates as 2024-05-31, timestamps as 2024-05-31 14:05:00, or numbers"
ZONED = r"\d:\d\d.*([+-]\d\d(:?\d\d)?|Z|UTC)$"  # a time of the day that names its zone
DAY_FIRST, MONTH_FIRST = ("%d/%m/%Y", "%d/%m/%y"), ("%m/%d/%Y", "%m/%d/%y")
DOTTED = ("%d.%m.%Y", "%d.%m.%y")  # %y: 70 to 99 are of the last century
SHORT = r"^\d{1,3}-"  # 05-06-07 may begin with its year or with its day


class Times:
    """Reads a column of times that arrives in pieces: the first settles whether it holds dates or numbers."""

    def __init__(self) -> None:
        self.kind: str | None = None  # "date" or "number"
        self.slashes: dict[str, tuple[str, ...]] = {}  # how dates with slashes are written, file by file
        self.zones: dict[bool, str] = {}  # the first timestamp that names a zone, and the first that names none

    def read(self, column: pl.Series, fail: Fail, where: str = "") -> Floats:
        """The times of a piece of the file `where`, finite; `fail(index, message)` raises for a value that is none."""
        values, kind = self._read(column, fail, where)
        self.same_kind(kind, column.name)
        bad = np.flatnonzero(~(np.abs(values) <= MAX_TIME))
        if len(bad):
            self._refuse(column, int(bad[0]), fail)
        return values

    def settles(self, column: pl.Series, where: str) -> bool:
        """Whether it is known in which order the file `where` writes day and month, by this piece or one before."""
        import polars as pl

        if where in self.slashes or column.dtype not in (pl.String, pl.Categorical):
            return True
        text = column.cast(pl.String)
        slashed = text.filter(text.str.contains("/").fill_null(False))
        if not len(slashed):
            return True
        order = _order(slashed)
        if order:
            self.slashes[where] = order
        return bool(order)

    def same_kind(self, kind: str | None, name: str) -> None:
        """Dates here and numbers there cannot be put in order."""
        if self.kind is not None and kind is not None and kind != self.kind:
            raise InputError(f"column {name!r} holds dates in one part and numbers in another; write all alike")
        self.kind = kind or self.kind

    def unite(self, other: Times) -> None:
        """Take what another has seen, of rows that come after those read here."""
        self.slashes |= other.slashes
        self.zones = other.zones | self.zones

    def warn_of_zones(self, stacklevel: int) -> None:
        """Say so where some timestamps name a zone and others do not, which are then hours apart."""
        if len(self.zones) == 2:
            words = f"{self.zones[True]} names a zone, {self.zones[False]} does not and is taken to be in UTC"
            warnings.warn(DataWarning(f"{words}; write all timestamps alike"), stacklevel=stacklevel + 1)

    def _notice_zones(self, column: pl.Series, fail: Fail) -> None:
        if len(self.zones) == 2:
            return
        zoned = column.str.contains(ZONED).fill_null(False)
        for named, those in ((True, zoned), (False, column.str.contains(":", literal=True).fill_null(False) & ~zoned)):
            if named not in self.zones and those.any():
                row = int(those.arg_true()[0])
                try:
                    fail(row, repr(column[row]))
                except InputError as place:  # it knows the file and the row
                    self.zones[named] = str(place)

    def _read(self, column: pl.Series, fail: Fail, where: str) -> tuple[Floats, str]:
        import polars as pl

        kind = column.dtype
        if kind == pl.Date or isinstance(kind, pl.Datetime):
            return _days(column), "date"
        if isinstance(kind, (pl.Categorical, pl.Enum)):
            column, kind = column.cast(pl.String), pl.String()
        if kind == pl.String:
            return self._read_text(column.str.strip_chars(), fail, where)
        if not kind.is_numeric():
            raise InputError(f"column {column.name!r} holds {kind}, which are no times; {WAY}")
        return _numbers(column, fail), "number"

    def _read_text(self, column: pl.Series, fail: Fail, where: str) -> tuple[Floats, str]:
        import polars as pl

        numbers = column.cast(pl.Float64, strict=False)
        if self.kind == "number" or (self.kind is None and numbers.count() > 0 and numbers.null_count() == 0):
            return _numbers(numbers, fail, column), "number"
        slashed = column.str.contains("/").fill_null(False)
        dates = _iso(column)
        if slashed.any():
            if not self.settles(column, where):
                row = int(slashed.arg_true()[0])
                either = max(_largest_parts(column.filter(slashed))) <= 12
                what = "may be day/month or month/day" if either else "is of a column that mixes both orders"
                fail(row, f"{column.name} is {column[row]!r}, which {what}; write dates as 2024-05-31")
            for form in self.slashes[where]:
                long = column.str.contains(r"^\s*\d+/\d+/\d{4}\s*$") == form.endswith("%Y")
                read = column.str.to_datetime(form, strict=False, time_unit="us")
                dates = dates.zip_with(~(slashed & long & read.is_not_null()), read)
        for form in DOTTED:
            long = column.str.contains(r"\.\d{4}$") == form.endswith("%Y")
            read = column.str.to_datetime(form, strict=False, time_unit="us")
            dates = dates.zip_with(~(long & read.is_not_null()), read)
        if numbers.count() and self.kind is None and not dates.count():
            return _numbers(numbers, fail, column), "number"
        self._notice_zones(column, fail)
        slips = (dates.dt.year() < 1) | column.str.contains(SHORT)
        return np.where(slips.fill_null(False), np.nan, _days(dates)), "date"

    def _refuse(self, column: pl.Series, row: int, fail: Fail) -> NoReturn:
        value = column[row]
        if value is None or (isinstance(value, str) and not value.strip()):
            fail(row, f"{column.name} is empty; every vote needs its time: {WAY}, or remove the row")
        fail(row, f"{column.name} is {value!r}, which is no {'date' if self.kind == 'date' else 'time'}; {WAY}")


def dated_like(column: pl.Series, others: Iterable[pl.Series]) -> pl.Series:
    """Dates with slashes that leave open whether day or month comes first, in the order that dates elsewhere settle.

    `others` are read only where the column leaves it open; dates are written as ISO 8601 has them.
    """
    import polars as pl

    if Times().settles(column, ""):
        return column
    texts = (other.cast(pl.String).str.strip_chars() for other in others if other.dtype in (pl.String, pl.Categorical))
    column = column.cast(pl.String).str.strip_chars()
    for form in next(filter(None, map(_order, texts)), ()):
        long = column.str.contains(r"/\d{4}$") == form.endswith("%Y")
        read = column.str.to_datetime(form, strict=False, time_unit="us").dt.strftime("%Y-%m-%d")
        column = column.zip_with(~(long & read.is_not_null()), read)
    return column


def _order(column: pl.Series) -> tuple[str, ...]:
    """Whether day or month comes first, where some date leaves no choice; nothing where none does, or they disagree."""
    first, second = _largest_parts(column)
    return DAY_FIRST if first > 12 >= second else MONTH_FIRST if second > 12 >= first else ()


def _largest_parts(column: pl.Series) -> tuple[int, int]:
    """The largest first and second number of dates with slashes."""
    import polars as pl

    parts = column.str.extract_groups(r"^\s*(\d+)/(\d+)/").struct.unnest().cast(pl.Int64, strict=False)
    first, second = (parts.to_series(k).max() for k in (0, 1))
    return int(first or 0), int(second or 0)  # type: ignore[arg-type]


def _iso(column: pl.Series) -> pl.Series:
    """Dates and timestamps as ISO 8601 writes them, in UTC where they name a zone."""
    import polars as pl

    plain = column.str.replace(r"^(\d+-\d+-\d+)T", "$1 ")
    dates = plain.str.to_datetime("%Y-%m-%d", strict=False, time_unit="us")
    for form in ("%Y-%m-%d %H:%M", "%Y-%m-%d %H:%M:%S", "%Y-%m-%d %H:%M:%S%.f", "%Y/%m/%d"):
        if dates.null_count():
            dates = dates.zip_with(dates.is_not_null(), plain.str.to_datetime(form, strict=False, time_unit="us"))
    if dates.null_count():
        zoned = plain.str.replace(r"\s*(Z|UTC)$", "+0000").str.replace(r"([+-]\d\d):(\d\d)$", "$1$2")
        for form in ("%Y-%m-%d %H:%M%#z", "%Y-%m-%d %H:%M:%S%#z", "%Y-%m-%d %H:%M:%S%.f%#z"):
            read = zoned.str.to_datetime(form, strict=False, time_unit="us", time_zone="UTC")
            dates = dates.zip_with(dates.is_not_null(), read.dt.replace_time_zone(None).cast(pl.Datetime("us")))
    return dates


def _days(column: pl.Series) -> Floats:
    """Dates and timestamps as days since 1970; NaN where there is none."""
    import polars as pl

    if isinstance(column.dtype, pl.Datetime) and column.dtype.time_zone is not None:
        column = column.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
    exact = column.cast(pl.Datetime("us")).to_physical().cast(pl.Float64).fill_null(np.nan).to_numpy()
    return np.asarray(exact / DAY, dtype=np.float64)


def _numbers(column: pl.Series, fail: Fail, original: pl.Series | None = None) -> Floats:
    """Numbers as they are; NaN where there is none. Dates without marks, as 20240531, are refused."""
    import polars as pl

    values = np.asarray(column.cast(pl.Float64, strict=False).fill_null(np.nan).to_numpy(), dtype=np.float64)
    if len(values) and (values >= 19000101).all() and (values <= 21001231).all() and (values % 1 == 0).all():
        month, day = values // 100 % 100, values % 100
        if ((month >= 1) & (month <= 12) & (day >= 1) & (day <= 31)).all():
            text = f"{values[0]:.0f}"
            name = (column if original is None else original).name
            fail(0, f"{name} is {text}, a date without marks; write {text[:4]}-{text[4:6]}-{text[6:]}")
    return values


def given_times(values: Any, rows: int) -> tuple[Floats, str]:
    """Times given as an array or a list, and whether they are "date" or "number".

    >>> given_times(["1970-01-02", "1970-01-03 12:00"], 2)
    (array([1. , 2.5]), 'date')
    """
    import polars as pl

    if len(values) != rows:
        raise InputError(f"time has {len(values)} rows, the votes {rows}; they must match")
    array = np.asarray(values)
    if array.dtype.kind in "iuf":
        return number_column(array, "time", rows), "number"
    try:
        column = pl.Series("time", array.astype("datetime64[us]") if array.dtype.kind == "M" else list(values))
    except (TypeError, ValueError, OverflowError, pl.exceptions.PolarsError) as problem:
        raise InputError(f"time: dates, timestamps or numbers are expected ({str(problem).splitlines()[0]})") from None

    def fail(row: int, message: str) -> NoReturn:
        raise InputError(f"row {row + 1}: {message}")

    times = Times()
    read = times.read(column, fail)
    times.warn_of_zones(3)
    return read, times.kind or "number"


def moment(value: Any, kind: str) -> float | None:
    """One time as the votes count it: a number, or for dates a date, a timestamp or their text; None if it is none.

    >>> moment("1970-01-11", "date"), moment(3, "number"), moment("soon", "date")
    (10.0, 3.0, None)
    """
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, str) and kind == "number":
        try:
            value = float(value)
        except ValueError:
            return None
    if isinstance(value, int | float | np.integer | np.floating):
        return float(value) if -MAX_TIME <= value <= MAX_TIME else None
    try:
        times = given_times([value], 1)
    except (InputError, TypeError, ValueError):
        return None
    return float(times[0][0]) if times[1] == kind else None


def duration(name: str, value: Any, kind: str) -> float:
    """A length of time that an option gives: a number in the votes' unit, or with dates text as 90d, 12w or 1y.

    >>> duration("half_life", "2w", "date"), duration("half_life", 5, "number")
    (14.0, 5.0)
    """
    if isinstance(value, str):
        parts = re.fullmatch(r"\s*([0-9]*\.?[0-9]+)\s*([dwy]?)\s*", value)
        if parts is None:
            raise InputError(Option(name, value), ": it must be a number above 0, or text as 90d, 12w or 1y")
        if parts[2] and kind == "number":
            raise InputError(Option(name, value), " is in days, and the times are numbers; give a number in their unit")
        value = float(parts[1]) * {"": 1.0, "d": 1.0, "w": 7.0, "y": 365.25}[parts[2]]
    return number_option(name, value, above=0)


def shown_times(values: Floats, kind: str) -> Any:
    """Times as a user wrote them: numbers, or dates (timestamps where some are not whole days) in a polars column."""
    import polars as pl

    if kind == "number":
        return values
    moments = pl.Series("time", np.rint(values * DAY).astype(np.int64)).cast(pl.Datetime("us"))
    return moments.cast(pl.Date) if (values == np.floor(values)).all() else moments
