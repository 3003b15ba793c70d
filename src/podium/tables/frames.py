"""Frames of other kinds (pandas, pyarrow, a dict of columns) as polars sees them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from podium.errors import InputError
from podium.tables.labels import is_missing

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
            return pl.DataFrame(frame)
        except (ImportError, TypeError, ValueError):
            pass  # pandas lends its columns through pyarrow, if that is there and each is of one kind
        except pl.exceptions.PolarsError as problem:
            raise InputError(f"the frame cannot be read: {str(problem).splitlines()[0]}; correct it") from problem
    if hasattr(frame, "columns") and hasattr(frame, "to_numpy"):
        return _from_columns((str(name), frame[name]) for name in frame.columns)
    raise InputError(f"a {type(frame).__name__} is not a frame; give polars, pandas, pyarrow, or a dict of columns")


def _from_columns(columns: Iterable[tuple[str, Any]]) -> pl.DataFrame:
    """A frame of columns that are given one by one; they must be as long as each other."""
    import polars as pl

    made = [_series(name, values) for name, values in columns]
    _refuse_twice([column.name for column in made])
    for column in made:
        if len(column) != len(made[0]):
            raise InputError(
                f"column {made[0].name!r} has {len(made[0])} rows and {column.name!r} has {len(column)}; "
                "give one value of each for every row"
            )
    return pl.DataFrame(made)


def _refuse_twice(names: list[str]) -> None:
    twice = [name for place, name in enumerate(names) if name in names[:place]]
    if twice:
        raise InputError(f"{names.count(twice[0])} columns are called {twice[0]!r}; give every column its own name")


def _series(name: str, values: Any) -> pl.Series:
    """One column of Python values or of a frame without the Arrow interface; NaN among them is null."""
    import polars as pl

    if isinstance(values, pl.Series) or (isinstance(values, np.ndarray) and values.dtype.kind in "biuf"):
        return pl.Series(name, values)
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        raise InputError(f"column {name!r} is {values!r}, a single value; give a list, one for each row")
    listed = [None if is_null(value) else value for value in values]
    values = [part for value in listed for part in (value if isinstance(value, (list, tuple)) else [value])]
    if len({isinstance(value, str) for value in values if value is not None}) > 1:
        raise InputError(f"column {name!r} mixes text and other values; make it all text or all numbers")
    return pl.Series(name, listed, strict=False)


def is_null(value: object) -> bool:
    """Whether a Python value stands for none; blank text does not."""
    return is_missing(value) and not isinstance(value, str)
