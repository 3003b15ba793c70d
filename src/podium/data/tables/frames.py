"""Frames of other kinds (pandas, pyarrow, a dict of columns) as polars sees them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np

from podium.data.tables.labels import is_missing, is_text
from podium.errors import InputError
from podium.text import counted

if TYPE_CHECKING:
    import polars as pl

__all__ = ["as_polars"]


def as_polars(frame: Any) -> pl.DataFrame | pl.LazyFrame:
    """The frame as polars sees it, without a copy where that is possible."""
    import polars as pl

    if isinstance(frame, (pl.DataFrame, pl.LazyFrame)):
        return frame
    if isinstance(frame, Mapping):
        return _from_columns((str(name), values) for name, values in frame.items())
    if hasattr(frame, "columns") and hasattr(frame, "to_numpy"):
        _refuse_twice([str(name) for name in frame.columns])
    if hasattr(frame, "__arrow_c_stream__"):
        try:
            return _without_addresses(pl.DataFrame(frame), frame)
        except (ImportError, TypeError, ValueError, OverflowError, NotImplementedError):
            pass  # pandas lends its columns through pyarrow, if that is there and each is of one kind
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as problem:
            if not hasattr(frame, "to_numpy"):
                raise _unread(frame, problem) from problem
    if hasattr(frame, "columns") and hasattr(frame, "to_numpy"):
        return _from_columns((str(name), frame[name]) for name in frame.columns)
    raise InputError(f"a {type(frame).__name__} is not a frame; give polars, pandas, pyarrow, or a dict of columns")


def _without_addresses(read: pl.DataFrame, frame: Any) -> pl.DataFrame:
    """Values of a fixed number of bytes are no labels: most are addresses of Python objects, as polars lends them.

    They stay as objects, which are refused by name where such a column is asked for.
    """
    import polars as pl

    kinds = getattr(getattr(frame, "schema", None), "types", ())  # of a pyarrow table
    odd = [name for name, kind in zip(read.columns, kinds, strict=False) if str(kind).startswith("fixed_size_binary")]
    return read.with_columns(pl.Series(name, read[name].to_list(), dtype=pl.Object) for name in odd)


def _unread(frame: Any, problem: BaseException) -> InputError:
    """The error for a frame that polars does not take; where its columns can be tried one by one, with the column."""
    import polars as pl

    for place, name in enumerate(getattr(frame, "column_names", ())):
        try:
            pl.DataFrame(frame.select([place]))
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as cause:
            reason = str(cause).splitlines()[0]
            return InputError(f"column {name!r} cannot be read: {reason}; leave it out, or give text or numbers")
    return InputError(f"the frame cannot be read: {str(problem).splitlines()[0]}; correct it")


def _from_columns(columns: Iterable[tuple[str, Any]]) -> pl.DataFrame:
    """A frame of columns that are given one by one; they must be as long as each other."""
    import polars as pl

    series = [_series(name, values) for name, values in columns]
    _refuse_twice([column.name for column in series])
    for column in series:
        if len(column) != len(series[0]):
            raise InputError(
                f"column {series[0].name!r} has {counted(len(series[0]), 'row')} and {column.name!r} {len(column)}; "
                "give one value of each for every row"
            )
    return pl.DataFrame(series)


def _refuse_twice(names: list[str]) -> None:
    twice = [name for place, name in enumerate(names) if name in names[:place]]
    if twice:
        raise InputError(f"{names.count(twice[0])} columns are called {twice[0]!r}; give every column its own name")


def _series(name: str, values: Any) -> pl.Series:
    """One column of Python values or of a frame without the Arrow interface; NaN among them is null."""
    import polars as pl

    if isinstance(values, pl.Series) or (isinstance(values, np.ndarray) and values.dtype.kind in "biuf"):
        return pl.Series(name, values)
    if isinstance(values, np.ndarray) and values.dtype.kind == "M":
        held = np.datetime_data(values.dtype)[0] in ("D", "ms", "us", "ns")
        return pl.Series(name, values if held else values.astype("M8[us]"))
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        raise InputError(f"column {name!r} is {values!r}, a single value; give a list, one for each row")
    listed = [None if is_null(value) else value for value in values]
    parts = [part for value in listed for part in (value if isinstance(value, (list, tuple)) else [value])]
    if len({_kind(value) for value in parts if value is not None}) > 1:
        raise InputError(f"column {name!r} mixes text and other values; make it all text or all numbers")
    if any(isinstance(value, np.datetime64) for value in listed):
        return _series(name, np.array(listed, dtype="M8"))
    for row, value in enumerate(listed, start=1):
        _refuse_unheld(value, f"row {row}: column {name!r}")
    try:
        return pl.Series(name, listed, strict=False)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, TypeError, ValueError, OverflowError) as problem:
        raise InputError(f"column {name!r} cannot be read: {str(problem).splitlines()[0]}; give text or numbers") from (
            problem
        )


def _kind(value: object) -> object:
    """Values of different kinds do not stand in one column; numbers of all types are one kind."""
    return "number" if isinstance(value, (bool, int, float, Decimal, np.number, np.bool_)) else type(value)


def _refuse_unheld(value: object, where: str) -> None:
    """Stop at a value that a column would hold as null, or not at all."""
    if isinstance(value, str) and not is_text(value):
        raise InputError(f"{where} is {value!r}, half a character (a lone surrogate); write the text anew")
    if isinstance(value, int) and not -(1 << 127) <= value < (1 << 127):
        raise InputError(f"{where} is {value}, too large for a column of numbers; make the column text")
    if isinstance(value, (list, tuple)):
        for part in value:
            _refuse_unheld(part, where)


def is_null(value: object) -> bool:
    """Whether a Python value stands for none; blank text does not."""
    return is_missing(value) and not isinstance(value, str)
