"""Any source as a stream of frames: each format by its reader, a bounded number of rows at a time."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from typing import IO, TYPE_CHECKING, Any, NamedTuple

from podium.data.tables.delimited import read_delimited
from podium.data.tables.jsonlines import read_json_array, read_json_lines
from podium.data.tables.sources import Format, Source, by_name, opened
from podium.errors import InputError, Option

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Batch", "read_batches"]

BATCH = 1 << 19  # rows of a columnar file taken at a time

Choose = Callable[[list[str]], list[str]]


class Batch(NamedTuple):
    """Some rows of a source, and the format they came in: delimited text has no types, so all of it is text."""

    frame: pl.DataFrame
    format: Format
    size: int  # bytes of the file that were read for them, as far as is known


def read_batches(source: Source, choose: Choose, delimiter: str | None = None) -> Iterator[Batch]:
    """Yield the columns that `choose` picks from those the source has; what `key=value` folders say is a column too.

    The first frame may be empty: it carries the columns of a file that has no rows.
    """
    import polars as pl

    folders = source.folders

    def choose_inside(names: list[str]) -> list[str]:
        added = [name for name in folders if name not in names]
        chosen.extend(choose([*names, *added]))
        return [name for name in chosen if name not in added]

    chosen: list[str] = []
    there = source.format or by_name(source)
    if source.url is not None and there in ("parquet", "ipc"):  # only the columns and rows wanted travel
        if delimiter is not None:
            raise InputError(f"{source.name} is {there}, which has no delimiter; drop ", Option("delimiter"))
        for frame in _columnar(there, None, source, choose):
            yield Batch(frame, there, 0)
        return
    with opened(source) as file:
        if delimiter is not None and file.format != "csv":
            raise InputError(f"{source.name} is {file.format}, which has no delimiter; drop ", Option("delimiter"))
        read = 0
        for frame in _frames(file.format, file.stream, source, choose_inside, delimiter):
            added = [pl.lit(folders[name]).alias(name) for name in chosen if name not in frame.columns]
            before, read = read, file.position()
            yield Batch(frame.with_columns(added).select(chosen) if added else frame, file.format, read - before)


def _frames(
    format: Format, stream: IO[bytes], source: Source, choose: Choose, delimiter: str | None
) -> Iterator[pl.DataFrame]:
    if format == "csv":
        return read_delimited(stream, source.name, choose, delimiter)
    if format == "jsonl":
        return read_json_lines(stream, source.name, choose)
    if format == "json":
        return read_json_array(stream, source.name, choose)
    return _columnar(format, stream, source, choose)


def _columnar(format: Format, stream: IO[bytes] | None, source: Source, choose: Choose) -> Iterator[pl.DataFrame]:
    """Parquet and Arrow IPC: by path where there is one, so that only the columns and rows at hand are in memory."""
    import polars as pl

    place: Any = source.url or source.path
    if place is None:
        assert stream is not None, "what has no place is a stream"
        place = io.BytesIO(stream.read())
    hive = None if source.url else False  # folders here are ours to read, those elsewhere polars'
    try:
        frame = pl.scan_parquet(place, hive_partitioning=hive) if format == "parquet" else pl.scan_ipc(place)
        names = list(frame.collect_schema())
    except (pl.exceptions.PolarsError, OSError) as problem:
        raise _damaged(source, problem) from problem
    scan = frame.select(choose(names))
    yield scan.head(0).collect()
    try:
        yield from scan.collect_batches(chunk_size=BATCH, maintain_order=True, engine="streaming")
    except (pl.exceptions.PolarsError, OSError) as problem:
        raise _damaged(source, problem) from problem


def _damaged(source: Source, problem: Exception) -> InputError:
    way = "check the address" if source.url else "write it again"
    return InputError(f"{source.name} cannot be read: {str(problem).splitlines()[0]}; {way}")
