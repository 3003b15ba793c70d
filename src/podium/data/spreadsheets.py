"""Cells of delimited text that a spreadsheet would take for a formula: marked when written, as they were when read.

A label such as `=cmd|…` is data here and a command there. Text that begins with = + - @, a tab or a line end gets one
apostrophe before it in every CSV that is written; negative numbers stay as they are. Reading takes the apostrophe away
again, so labels come back exactly: text that begins with apostrophes and then such a character gets one more, and loses
one.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

__all__ = ["guarded", "plain", "plain_name"]

STARTS = "[=+\\-@\t\r\n＝＋－＠]"  # the wide forms count too: some spreadsheets read them as the others
NUMBER = r"-?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?"
RISKY = f"^'*{STARTS}"
MARKED = f"^'+{STARTS}"


def guarded(frame: pl.DataFrame) -> pl.DataFrame:
    """The frame as it goes into delimited text: no cell and no name of a column can be taken for a formula."""
    import polars as pl

    columns = []
    for name, column in zip(frame.columns, frame.get_columns(), strict=True):
        if column.dtype in (pl.String, pl.Categorical, pl.Enum):
            text = column.cast(pl.String).alias("text")  # polars takes a name such as ^a$ for a pattern
            risky = text.str.contains(RISKY) & ~text.str.contains(f"^{NUMBER}$")
            column = ("'" + text).zip_with(risky, text) if risky.any() else text
        columns.append(column.alias(_guarded_name(name)))
    return pl.DataFrame(columns)


def plain(frame: pl.DataFrame) -> pl.DataFrame:
    """The frame as it was before it was guarded; all its columns are text."""
    import polars as pl

    columns = []
    for column in frame.get_columns():
        marked = column.str.contains(MARKED)
        columns.append(column.str.slice(1).zip_with(marked, column) if marked.any() else column)
    return pl.DataFrame(columns)


def plain_name(name: str) -> str:
    """The name of a column as it was before it was guarded."""
    return name[1:] if re.match(MARKED, name) else name


def _guarded_name(name: str) -> str:
    return f"'{name}" if re.match(RISKY, name) and not re.fullmatch(NUMBER, name) else name
