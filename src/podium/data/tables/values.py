"""Columns of any type as labels or as numbers; what is neither is refused, never taken for the number behind it.

A date is a number to a computer and to nobody else, so it can be a label (as it reads) and not a weight.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, NoReturn, TypeAlias

from podium.errors import InputError

if TYPE_CHECKING:
    import polars as pl

__all__ = ["as_labels", "as_numbers", "comma_numbers", "is_decimal_comma", "odd_one_out", "summed"]

DECIMAL_COMMA = "[+-]?[0-9]+,[0-9]+"
Fail: TypeAlias = Callable[[int, str], NoReturn]  # raises for a row of the column, with what is wrong


def as_labels(column: pl.Series, fail: Fail, where: str = "") -> pl.Series:
    """The column as integers, floats or text; `where` begins an error about all of it."""
    import polars as pl

    kind = column.dtype
    if kind.is_integer() or kind.is_float() or kind == pl.String:
        return column
    if kind == pl.Binary:
        return _decoded(column, fail)
    if isinstance(kind, pl.Duration):
        return column.dt.to_string("polars")
    if kind.is_nested() or kind == pl.Object or not _reads(kind):
        raise InputError(f"{where}column {column.name!r} holds {kind}; labels are text or numbers")
    return column.cast(pl.String)


def as_numbers(column: pl.Series, fail: Fail, where: str = "") -> pl.Series:
    """The column as floats, null where a value is no number; text is read."""
    import polars as pl

    kind = column.dtype
    if kind == pl.Binary:
        column = _decoded(column, fail)
    elif isinstance(kind, (pl.Categorical, pl.Enum)):
        column = column.cast(pl.String)
    elif not (kind.is_numeric() or kind in (pl.String, pl.Boolean, pl.Null)):
        raise InputError(f"{where}column {column.name!r} holds {kind}; it takes numbers")
    if column.dtype == pl.String:
        column = column.str.strip_chars()
    return column.cast(pl.Float64, strict=False)


def summed(column: pl.Series, where: str = "") -> pl.Series:
    """Structures of counts as the sum of their fields: a field that is not there counts 0.

    >>> import polars as pl
    >>> summed(pl.Series("headers", [{"h1": 1, "h2": 2}, {"h1": None, "h2": 4}, {"h1": None}, None])).to_list()
    [3.0, 4.0, 0.0, None]
    """
    import polars as pl

    fields = getattr(column.dtype, "fields", [])
    if not fields or not all(field.dtype.is_numeric() or field.dtype == pl.Null for field in fields):
        raise InputError(f"{where}column {column.name!r} holds {column.dtype}; it takes numbers, or structures of them")
    parts = [column.struct.field(field.name).cast(pl.Float64).alias(str(k)) for k, field in enumerate(fields)]
    total = pl.DataFrame(parts).sum_horizontal()
    return total.zip_with(column.is_not_null(), pl.Series([None], dtype=pl.Float64)).alias(column.name)


def is_decimal_comma(text: str) -> bool:
    """Whether a text is a number written with a decimal comma, as 2,5."""
    return re.fullmatch(DECIMAL_COMMA, text.strip()) is not None


def comma_numbers(column: pl.Series) -> pl.Series | None:
    """A column of text whose every value is a number, some with a decimal comma, as numbers; None for any other.

    One whose commas all stand before three digits may as well hold thousands and is refused.

    >>> import polars as pl
    >>> comma_numbers(pl.Series("size", ["2,5", "3", None])).to_list()
    [2.5, 3.0, None]
    """
    import polars as pl

    text = column.str.strip_chars()
    commas = text.str.contains(rf"^{DECIMAL_COMMA}$")
    if not commas.any() or not (commas | text.str.contains(r"^[+-]?[0-9]+$")).all():
        return None
    if text.filter(commas.fill_null(False)).str.contains(r",[0-9]{3}$").all():
        row = int(commas.fill_null(False).arg_true()[0])
        raise InputError(
            f"row {row + 1}: {column.name} is {column[row]!r}, "
            "which may be decimal or thousands; write it with a point, or without a comma"
        )
    return text.str.replace(",", ".", literal=True).cast(pl.Float64)


def odd_one_out(cells: pl.Series) -> str:
    """The first text of a column that holds numbers for the most part, with its row; else nothing.

    >>> import polars as pl
    >>> odd_one_out(pl.Series("size", ["1", "2", "n/a"]))
    "row 3: 'size' is 'n/a', where most rows have numbers"
    """
    import polars as pl

    if cells.dtype != pl.String:
        return ""
    odd = (cells.cast(pl.Float64, strict=False).is_null() & cells.is_not_null() & (cells != "")).arg_true()
    if not len(odd) or 2 * len(odd) >= cells.count():
        return ""
    return f"row {odd[0] + 1}: {cells.name!r} is {cells[int(odd[0])]!r}, where most rows have numbers"


def _reads(kind: pl.DataType) -> bool:
    import polars as pl

    plain = (pl.Categorical, pl.Enum, pl.Boolean, pl.Null, pl.Decimal, pl.Date, pl.Datetime, pl.Time)
    return isinstance(kind, plain)


def _decoded(column: pl.Series, fail: Fail) -> pl.Series:
    """Bytes as the UTF-8 text they are; files written without types hold text so."""
    import polars as pl

    texts: list[str | None] = []
    for row, value in enumerate(column.to_list()):
        try:
            texts.append(None if value is None else value.decode())
        except UnicodeDecodeError:
            fail(row, f"column {column.name!r} is {value!r}, which is no UTF-8 text; save the column as text")
    return pl.Series(column.name, texts, dtype=pl.String)
