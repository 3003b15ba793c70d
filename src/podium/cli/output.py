"""Tables for people and for programs."""

from __future__ import annotations

import math
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click

from podium.cli.overwriting import refuse_overwriting
from podium.errors import InputError
from podium.text import (
    MAX_LOG_ODDS,
    aligned,
    counted,
    distinct_room,
    fitted,
    number,
    one_line,
    p_value,
    printable,
    shortened,
    width,
)

if TYPE_CHECKING:
    import numpy as np
    import polars as pl

    from podium.data.comparisons import Comparisons
    from podium.data.rankings import Rankings
    from podium.pairwise.base import Ranker

__all__ = [
    "FORMATS",
    "Output",
    "cells",
    "counting",
    "leaderboard",
    "reading",
    "room_of",
    "say",
    "say_if_half",
    "table",
    "votes_on_items",
    "wrapped",
]

FORMATS = ("table", "csv", "json", "jsonl", "parquet")
SUFFIXES = {
    ".csv": "csv",
    ".json": "json",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
    ".txt": "table",
    ".md": "markdown",
    ".tex": "latex",
}
MAX_BAR = 32  # characters of the little picture of the intervals
MIN_BAR = 12
P_VALUES = ("p", "p_value", "p_adjusted")  # columns whose small values are not 0
MIN_ITEM = 20  # characters of an item's label before a column is left out
LEFT_OUT = (
    "",
    "tier",
    "votes",
    "ranks",
    "interval",
)  # columns of a leaderboard, the first to go first; "" is the picture


def say(text: str) -> None:
    """Words go to stderr, and a label in them cannot steer the terminal."""
    click.echo(wrapped(printable(text), room_of(sys.stderr)), err=True)


def say_if_half(model: Ranker) -> None:
    """Where ties were counted half, nobody should take what a model gives for the chance of a win."""
    if model.counts_ties_half_:
        modelled = "fit it with" if model.uses.ties else "fit one that models ties, as dynamic or bradley-terry with"
        say(
            "the model counts a tie half, so chances are of a win plus half a tie; "
            f"{modelled} --ties davidson for the chance of each outcome"
        )


def room_of(stream: IO[str] | None) -> int | None:
    """Columns of the terminal that `stream` writes to; None where it is none, and lines may be of any length."""
    return shutil.get_terminal_size().columns if stream is not None and stream.isatty() else None


def wrapped(text: str, room: int | None) -> str:
    """The text in lines of at most `room` columns of a terminal, broken between words, indented as they began."""
    if room is None or all(width(line) <= room for line in text.split("\n")):
        return text
    from rich.console import Console
    from rich.text import Text

    console = Console(width=room)
    lines = []
    for line in text.split("\n"):
        indent = line[: len(line) - len(line.lstrip())] + ("  " if line[:2] in ("! ", "  ") else "")
        first, *rest = Text(line).wrap(console, room)
        lines.append(first.plain.rstrip())
        left = line[len(first.plain.rstrip()) :].lstrip() if rest else ""
        lines += [indent + part.plain.rstrip() for part in Text(left).wrap(console, room - len(indent)) if left]
    return "\n".join(lines)


def votes_on_items(comparisons: Comparisons | Rankings) -> str:
    """What was read, in words."""
    from podium.data.rankings import Rankings

    if isinstance(comparisons, Rankings):
        weight = comparisons.weight
        weighted = "" if weight is None else _weight_words(len(comparisons), weight, weight**2, "ranking")
        return f"{counted(len(comparisons), 'ranking')}{weighted} of {counted(len(comparisons.items), 'item')}"
    if comparisons.group_is == "ranking":
        pairs = f"{counted(len(comparisons.groups), 'ranking')} as {counted(len(comparisons), 'pair')}"
        return f"{pairs} of {counted(len(comparisons.items), 'item')}"
    votes, noun, weight = len(comparisons), comparisons.noun, comparisons.weight
    weighted = "" if weight is None else _weight_words(votes, weight, comparisons.weight_squares(), noun)
    return f"{counted(votes, noun)}{weighted} on {counted(len(comparisons.items), 'item')}"


def _weight_words(votes: int, weight: np.ndarray, squares: np.ndarray, noun: str) -> str:
    """What the weights add up to where that is not their number, and what they are worth where it is much less."""
    total = float(weight.sum())
    if abs(total - votes) <= 1e-9 * votes:
        return ""
    words = f" of total weight {total:,.6g}"
    share = float((squares / total / total).sum()) if total > 0 else 0.0
    if share * votes > 2:  # worth (Σw)²/Σw² votes of equal weight, less than half of them
        words += f" (worth {counted(float(f'{1 / share:.3g}'), noun)} of equal weight)"
    return words


@dataclass(frozen=True, slots=True)
class Output:
    """Where a command's data goes, and in which form; None is standard output."""

    form: str
    path: Path | None

    @classmethod
    def chosen(cls, offered: Sequence[str], default: str, written_as: str | None, output: Path | None) -> Output:
        """The form asked for, else the one the suffix of the path means, else the default."""
        refuse_overwriting(click.get_current_context())
        form, path = written_as, output
        if path is None or str(path) == "-":  # a dash is standard output, as it is standard input for what is read
            return cls(form or default, None)
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

    @property
    def room(self) -> int | None:
        """Columns of the terminal that a table may take; None where it goes elsewhere."""
        return room_of(sys.stdout) if self.path is None else None

    @property
    def for_people(self) -> bool:
        """Whether a table is to be read by people."""
        return self.form == "table"

    def write(self, frame: pl.DataFrame, text: str | None = None) -> None:
        """Write `frame` in a machine's form, or for people as `text` says, else as a plain table."""
        if self.for_people:
            self.write_text(table(frame, room=self.room) if text is None else text)
        else:
            self.write_pieces([frame])

    def write_pieces(self, pieces: Iterable[pl.DataFrame]) -> None:
        """Write frames as they come where the form allows it (csv, jsonl), else when all are there."""
        import polars as pl

        from podium.data.writing import as_csv, write_table

        if self.form == "table":
            self.write(pl.concat(list(pieces)))
            return
        whole = self.form in ("json", "parquet")
        with self._opened() as file:
            for number, frame in enumerate([pl.concat(list(pieces))] if whole else pieces):
                data = BytesIO()  # whole first: polars has its own idea of what a closed pipe is
                if self.form == "csv":
                    data.write(as_csv(frame, header=number == 0).encode())
                else:
                    write_table(frame, data, self.form)
                file.write(data.getvalue())

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


def table(frame: pl.DataFrame, *, digits: int = 4, room: int | None = None) -> str:
    """A frame as aligned text: words to the left, numbers to the right, so many decimals, nothing for null.

    A small p-value is never written as 0.
    """
    columns = [cells(column, digits) for column in frame]
    words = [name for name, kind in frame.schema.items() if not kind.is_numeric()]
    return fitted(frame.columns, columns, room, to_left=words, shorten=words)


def cells(column: pl.Series, digits: int = 4) -> list[str]:
    """The values of a column as text; those of a column of p-values as `p_value` words them."""
    if column.name in P_VALUES:
        return ["" if value is None else p_value(value) for value in column]
    return [_cell(value, digits) for value in column]


def _cell(value: Any, digits: int) -> str:
    if value is None:
        return ""
    return number(value, digits) if isinstance(value, float) else str(value)


@contextmanager
def reading() -> Iterator[Callable[[int, int, int], None]]:
    """How far reading has come (votes, votes a second, bytes, time left), on stderr when that is a terminal.

    Shown from the second second on: most files are read by then.
    """
    import time

    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    words = TextColumn("{task.fields[votes]:,} votes, {task.fields[speed]:,.0f} a second")
    columns = (TextColumn("reading"), BarColumn(), words, DownloadColumn(), TimeRemainingColumn())
    bar = Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
    task = bar.add_task("reading", total=None, votes=0, speed=0.0)
    start = time.monotonic()

    def show(votes: int, read: int, total: int) -> None:
        took = time.monotonic() - start
        if took > 1 and not bar.live.is_started:
            bar.start()
        bar.update(task, completed=read, total=total or None, votes=votes, speed=votes / max(took, 1e-9))

    try:
        yield show
    finally:
        bar.stop()


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


def leaderboard(
    frame: pl.DataFrame, *, digits: int, room: int | None = None, counted_as: str = "votes", unit: float = 1.0
) -> str:
    """A ranking's frame as an aligned table, with a little picture of the intervals.

    Scores are `unit` per log-odds; without end where they are in margins, of which none is too large to be drawn.
    Where the terminal is narrow, the picture becomes smaller, then the columns of LEFT_OUT are left out one by one,
    which is told, until labels have MIN_ITEM columns; longer ones are shortened in the middle, as far as they differ.
    """
    far = MAX_LOG_ODDS * unit
    columns = _leaderboard_columns(frame, digits, counted_as, far)
    labels = columns["item"]
    gone: list[str] = []
    wanted = max(width("item"), distinct_room(labels, MIN_ITEM))
    if room is not None:
        for name in (counted_as if name == "votes" else name for name in LEFT_OUT):
            spare = room - _width_beside(columns, "item") - wanted
            if spare >= 0:
                break
            if name == "" and "" in columns and spare + MAX_BAR - MIN_BAR >= 0:
                columns[""] = _bars(frame, MAX_BAR + spare, far)
                break
            if columns.pop(name, None) is not None and name:
                gone.append(name)
        if gone:
            say(f"left out, as the terminal has {room} columns: {', '.join(gone)}")
        spare = max(room - _width_beside(columns, "item"), wanted)
        columns["item"] = [shortened(label, spare) for label in labels]
    return aligned(list(columns), list(columns.values()))


def _leaderboard_columns(frame: pl.DataFrame, digits: int, counted_as: str, far: float) -> dict[str, list[str]]:
    columns: dict[str, list[str]] = {
        "rank": [str(value) for value in frame["rank"]],
        "item": [one_line(value) for value in frame["item"]],
        "score": [f"{value:z.{digits}f}" for value in frame["score"]],
    }
    if len(frame) and frame["lower"].null_count() < len(frame):
        ends = zip(frame["lower"], frame["upper"], strict=True)
        columns["interval"] = [f"{number(a, digits)} … {number(b, digits)}" for a, b in ends]
        columns[""] = _bars(frame, MAX_BAR, far)
        ranks = zip(frame["rank_lower"], frame["rank_upper"], strict=True)
        columns["ranks"] = [f"{a}–{b}" for a, b in ranks]
        columns["tier"] = [str(value) for value in frame["tier"]]
    if frame["comparisons"].null_count() < len(frame):
        columns[counted_as] = [f"{value:,.10g}" for value in frame["comparisons"]]
    return columns


def _width_beside(columns: dict[str, list[str]], item: str) -> int:
    """Columns of the terminal that all but the labels take, the picture at its full size."""
    taken: list[int] = [max(map(width, [head, *cells])) for head, cells in columns.items() if head != item]
    return sum(taken) + 2 * len(taken)


def _bars(frame: pl.DataFrame, size: int, far: float = math.inf) -> list[str]:
    """Intervals drawn on one scale; an end that is infinite, or more than `far` from its score, is drawn as open."""
    scores = frame["score"].to_list()
    lower = [a if score - a <= far else -math.inf for score, a in zip(scores, frame["lower"], strict=True)]
    upper = [b if b - score <= far else math.inf for score, b in zip(scores, frame["upper"], strict=True)]
    finite = [value for value in [*scores, *lower, *upper] if math.isfinite(value)]
    low, high = min(finite), max(finite)

    def place(value: float) -> int:
        if math.isinf(value):
            return size - 1 if value > 0 else 0
        return round((size - 1) * ((value - low) / (high - low) if high > low else 0.5))

    rows = []
    for score, a, b in zip(scores, lower, upper, strict=True):
        cells = [" "] * size
        cells[place(a) : place(b) + 1] = "─" * (place(b) - place(a) + 1)
        cells[place(a)] = "├" if math.isfinite(a) else "◂"
        cells[place(b)] = "┤" if math.isfinite(b) else "▸"
        # The arrow of an end that is open stays to be seen.
        inside = (0 if math.isfinite(a) else 1), size - (1 if math.isfinite(b) else 2)
        cells[min(max(place(score), inside[0]), inside[1])] = "●"
        rows.append("".join(cells).rstrip())
    return rows
