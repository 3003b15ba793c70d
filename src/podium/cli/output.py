"""Tables for people and for programs."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click

from podium.errors import InputError
from podium.text import aligned, number, one_line, printable

if TYPE_CHECKING:
    import polars as pl

    from podium.data.comparisons import Comparisons

__all__ = ["FORMATS", "Output", "counted", "counting", "leaderboard", "say", "table", "votes_on_items"]

FORMATS = ("table", "csv", "json", "jsonl", "parquet")
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
    """Words go to stderr, and a label in them cannot steer the terminal."""
    click.echo(printable(text), err=True)


def counted(number: int, what: str) -> str:
    """So many of something.

    >>> counted(1, "vote"), counted(2000, "vote")
    ('1 vote', '2,000 votes')
    """
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def votes_on_items(comparisons: Comparisons) -> str:
    """What was read, in words."""
    return f"{counted(len(comparisons), 'vote')} on {counted(len(comparisons.items), 'item')}"


@dataclass(frozen=True, slots=True)
class Output:
    """Where a command's data goes, and in which form; None is standard output."""

    form: str
    path: Path | None

    @classmethod
    def chosen(cls, form: str | None, path: Path | None, offered: Sequence[str], default: str) -> Output:
        """The form asked for, else the one the suffix of `path` means, else the default."""
        if path is None:
            return cls(form or default, path)
        suffix = path.suffix.lower()
        if form is not None:
            meant = SUFFIXES.get(suffix, form)
            if meant not in (form, "table") and {meant, form} != {"json", "jsonl"}:
                raise InputError(f"{path} is to be {form} by --format and {meant} by its suffix; change one of them")
            return cls(form, path)
        known = [ending for ending, meant in SUFFIXES.items() if meant in offered]
        if suffix not in SUFFIXES:
            raise InputError(f"{path}: the suffix names no format ({', '.join(known)}); add --format")
        if SUFFIXES[suffix] not in offered:
            raise InputError(f"{path}: this command does not write {SUFFIXES[suffix]}; use {' or '.join(known)}")
        return cls(SUFFIXES[suffix], path)

    def write(self, frame: pl.DataFrame, text: Callable[[], str] | None = None) -> None:
        """Write `frame` in a machine's form, or for people as `text` says, else as a plain table."""
        if self.form == "table":
            self.write_text(table(frame) if text is None else text())
        else:
            self.write_pieces([frame])

    def write_pieces(self, pieces: Iterable[pl.DataFrame]) -> None:
        """Write frames as they come where the form allows it (csv, jsonl), else when all are there."""
        import polars as pl

        from podium.data.writing import write_table

        if self.form == "table":
            self.write(pl.concat(list(pieces)))
            return
        whole = self.form in ("json", "parquet")
        with self._opened() as file:
            for place, frame in enumerate([pl.concat(list(pieces))] if whole else pieces):
                made = BytesIO()  # whole first: polars has its own idea of what a closed pipe is
                if self.form == "csv":
                    frame.write_csv(made, include_header=place == 0)
                else:
                    write_table(frame, made, self.form)
                file.write(made.getvalue())

    def write_text(self, text: str) -> None:
        """Write text for people, on a terminal in its own encoding; nothing in it can steer the terminal."""
        text = printable(text)
        if self.path is None:
            click.echo(text)
            return
        with self._opened() as file:
            file.write(f"{text}\n".encode())

    @contextmanager
    def _opened(self) -> Iterator[IO[bytes]]:
        from podium.data.writing import replacing

        if self.path is not None:
            with replacing(self.path) as file:
                yield file
            return
        sys.stdout.flush()
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()


def table(frame: pl.DataFrame, *, digits: int = 4) -> str:
    """A frame as aligned text: words to the left, numbers to the right, so many decimals, nothing for null."""
    columns = [[_cell(value, digits) for value in column] for column in frame]
    words = [name for name, kind in frame.schema.items() if not kind.is_numeric()]
    return aligned(frame.columns, columns, to_left=words)


def _cell(value: Any, digits: int) -> str:
    if value is None:
        return ""
    return number(value, digits) if isinstance(value, float) else str(value)


@contextmanager
def counting(what: str, unit: str = "rows") -> Iterator[Callable[[int], None]]:
    """How many are done, on stderr when that is a terminal."""
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    words = TextColumn(f"{{task.description}}: {{task.completed:,.0f}} {unit}")
    with Progress(
        SpinnerColumn(), words, TimeElapsedColumn(), console=console, transient=True, disable=not console.is_terminal
    ) as progress:
        task = progress.add_task(what, total=None)
        yield lambda more: progress.advance(task, more)


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
