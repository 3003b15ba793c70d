"""Any source as a stream of frames: each format by its reader, a bounded number of rows at a time."""

from __future__ import annotations

import io
from collections.abc import Generator, Iterator
from typing import IO, TYPE_CHECKING, Any, NamedTuple

from podium.data.tables.delimited import read_delimited
from podium.data.tables.jsonlines import read_json_array, read_json_lines
from podium.data.tables.nested import Names, picked
from podium.data.tables.sources import Format, Source, by_name, opened
from podium.errors import InputError, Option
from podium.text import first_line

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Batch", "Table"]

BATCH = 1 << 19  # rows of a columnar file taken at a time

Steps = Generator[Any, list[str], None]  # yields the columns there are; sent those to read, it yields frames of them


class Batch(NamedTuple):
    """Some rows of a source, and the format they came in: delimited text has no types, so all of it is text."""

    frame: pl.DataFrame
    format: Format
    size: int  # bytes of the file that were read for them, as far as is known


class Table:
    """A source whose columns are known and whose rows are still to be read.

    What `key=value` folders say is a column too. `columns` is None for a log without answers, which holds no table;
    `nested` are the paths to fields inside columns, which may be chosen as well.
    """

    def __init__(self, source: Source, delimiter: str | None = None) -> None:
        self._steps = _steps(source, delimiter)
        self.columns: list[str] | None = next(self._steps, None)
        self.nested: list[str] = getattr(self.columns, "nested", [])
        for name in self.columns or ():
            if name.startswith("^") and name.endswith("$"):
                raise InputError(f"{source.name}: column {name!r} has a name that is read as a pattern; rename it")

    def batches(self, chosen: list[str]) -> Iterator[Batch]:
        """The rows of the chosen columns, once. The first batch may be empty: it is of a file that has no rows."""
        yield self._steps.send(chosen)
        yield from self._steps


def _steps(source: Source, delimiter: str | None) -> Steps:
    """Read a source by its format, in the steps of every reader; what comes out in the end are batches."""
    import polars as pl

    there = source.format or by_name(source)
    if source.url is not None and there in ("parquet", "ipc"):  # only the columns and rows wanted travel
        _refuse_delimiter(source, there, delimiter)
        steps = _columnar(there, None, source)
        frame = steps.send((yield next(steps)))
        while frame is not None:
            yield Batch(frame, there, 0)
            frame = next(steps, None)
        return
    with opened(source) as file:
        if file.format != "csv":
            _refuse_delimiter(source, file.format, delimiter)
        steps = _frames(file.format, file.stream, source, delimiter)
        names = next(steps, None)
        if names is None:
            return
        folders = {name: value for name, value in source.folders.items() if name not in names}
        names.extend(folders)
        chosen = yield names
        frame, read = steps.send([name for name in chosen if name not in folders]), 0
        while frame is not None:
            added = [pl.lit(folders[name]).alias(name) for name in chosen if name in folders]
            before, read = read, file.position()
            yield Batch(
                frame.with_columns(added).select(picked(chosen, dict.fromkeys(chosen))) if added else frame,
                file.format,
                read - before,
            )
            frame = next(steps, None)


def _refuse_delimiter(source: Source, format: Format, delimiter: str | None) -> None:
    if delimiter is not None:
        raise InputError(f"{source.name} is {format}, which has no delimiter; drop ", Option("delimiter"))


def _frames(format: Format, stream: IO[bytes], source: Source, delimiter: str | None) -> Steps:
    if format == "csv":
        return read_delimited(stream, source.name, delimiter, no_header=source.no_header)
    if format == "jsonl":
        return read_json_lines(stream, source.name)
    if format == "json":
        return read_json_array(stream, source.name)
    return _columnar(format, stream, source)


def _columnar(format: Format, stream: IO[bytes] | None, source: Source) -> Steps:
    """Parquet and Arrow IPC: by path where there is one, so that only the columns and rows at hand are in memory."""
    import polars as pl

    place: Any = source.url or source.path
    if place is None:
        assert stream is not None, "what has no place is a stream"
        place = io.BytesIO(stream.read())
    hive = None if source.url else False  # folders here are ours to read, those elsewhere polars'
    try:
        frame = pl.scan_parquet(place, hive_partitioning=hive) if format == "parquet" else pl.scan_ipc(place)
        schema = frame.collect_schema()
    except (pl.exceptions.PolarsError, OSError) as problem:
        raise _damaged(source, problem) from problem
    if source.share is not None:
        frame = frame.slice(*source.share[:2])
    scan = frame.select(picked((yield Names(schema)), schema))
    yield scan.head(0).collect()
    try:
        yield from scan.collect_batches(chunk_size=BATCH, maintain_order=True, engine="streaming")
    except (pl.exceptions.PolarsError, OSError) as problem:
        raise _damaged(source, problem) from problem


def _damaged(source: Source, problem: Exception) -> InputError:
    way = "check the address" if source.url else "write it again"
    return InputError(f"{source.name} cannot be read: {first_line(problem)}; {way}")
