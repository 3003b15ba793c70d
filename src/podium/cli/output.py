"""Tables for people and for programs."""

from __future__ import annotations

import math
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

import click

from podium.errors import InputError
from podium.text import aligned, number, one_line

if TYPE_CHECKING:
    import polars as pl

__all__ = ["emit", "leaderboard", "say", "style_of"]

SUFFIXES = {
    ".csv": "csv",
    ".json": "json",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
    ".txt": "table",
}
BAR = 32  # characters of the little interval plot


def say(text: str) -> None:
    """Words go to stderr."""
    click.echo(text, err=True)


def style_of(style: str | None, output: Path | None) -> str:
    """The form asked for, or the one the suffix of `output` means, or a table."""
    if style is not None or output is None:
        return style or "table"
    if output.suffix.lower() not in SUFFIXES:
        raise InputError(f"{output}: the suffix names no format ({', '.join(SUFFIXES)}); add --format")
    return SUFFIXES[output.suffix.lower()]


def emit(frame: pl.DataFrame, style: str, output: Path | None, text: str | None = None) -> None:
    """Write `frame` in a machine's form, or `text` (a table for people)."""
    from podium.io import replacing, write_table

    if style != "table" and output is not None:
        write_table(frame, output, style)
    elif style != "table":
        made = BytesIO()  # whole first: polars has its own idea of what a closed pipe is
        write_table(frame, made, style)
        click.echo(made.getvalue(), nl=False)
    elif output is None:
        click.echo(text)
    else:
        with replacing(output) as file:
            file.write(f"{text}\n".encode())


def leaderboard(frame: pl.DataFrame, *, digits: int) -> str:
    """A ranking's frame as an aligned table, with a little picture of the intervals."""
    sure = frame["lower"].null_count() < len(frame) if len(frame) else False
    heads = ["rank", "item", "score"]
    columns: list[list[str]] = [
        [str(value) for value in frame["rank"]],
        [one_line(value) for value in frame["item"]],
        [f"{value:z.{digits}f}" for value in frame["score"]],
    ]
    if sure:
        heads += ["interval", "", "ranks", "tier"]
        lower, upper = frame["lower"].to_list(), frame["upper"].to_list()
        columns.append([f"{number(a, digits)} … {number(b, digits)}" for a, b in zip(lower, upper, strict=True)])
        columns.append(_bars(frame["score"].to_list(), lower, upper))
        columns.append([f"{a}–{b}" for a, b in zip(frame["rank_lower"], frame["rank_upper"], strict=True)])
        columns.append([str(value) for value in frame["tier"]])
    if frame["comparisons"].null_count() < len(frame):
        heads.append("votes")
        columns.append([f"{value:,.10g}" for value in frame["comparisons"]])
    return aligned(heads, columns)


def _bars(scores: list[float], lower: list[float], upper: list[float]) -> list[str]:
    finite = [value for value in [*scores, *lower, *upper] if math.isfinite(value)]
    low, high = min(finite), max(finite)
    step = (high - low) / (BAR - 1) or 1.0

    def place(value: float) -> int:
        return round((min(max(value, low), high) - low) / step)

    rows = []
    for score, a, b in zip(scores, lower, upper, strict=True):
        cells = [" "] * BAR
        cells[place(a) : place(b) + 1] = "─" * (place(b) - place(a) + 1)
        cells[place(a)] = "├" if math.isfinite(a) else "◂"
        cells[place(b)] = "┤" if math.isfinite(b) else "▸"
        cells[place(score)] = "●"
        rows.append("".join(cells).rstrip())
    return rows
