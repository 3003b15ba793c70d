"""The votes of files, added up: file by file here, or by the workers of an engine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import Any, TypeAlias

from podium.data.tables.columns import Layout
from podium.data.tables.forms import Collector
from podium.data.tables.merging import DENSE_BYTES
from podium.data.tables.readers import Table
from podium.data.tables.sources import Source, by_name, find_sources, is_packed, refuse_twice
from podium.engine import DaskEngine, Engine, report, running
from podium.errors import InputError, Option

__all__ = ["Progress", "collect", "count_file", "files_for"]

Progress: TypeAlias = Callable[[int, int, int], None]  # votes and bytes so far, and the bytes there are
# About two seconds of reading: below, starting processes takes as long. Text has four times the bytes for as much work.
MIN_BYTES_FOR_PROCESSES, TEXT = 1 << 26, 4
SHARE_BYTES = 1 << 26  # of a Parquet file that one reader takes at a time


def collect(
    source: Any, format: str | None, jobs: int | None, engine: Any, progress: Progress | None, **options: Any
) -> Collector:
    """Everything the files hold."""
    sources = _sources(source, format)
    portable = all(one.stream is None for one in sources)  # what is open here cannot be read elsewhere
    if engine is not None and not portable:
        raise _open_here(sources)
    if engine is None and jobs is None and sum(map(_work, sources)) < MIN_BYTES_FOR_PROCESSES:
        jobs = 1
    if portable and (engine is not None or jobs != 1):
        sources = _in_shares(sources, options)
    with running(jobs, len(sources) if portable else 1, engine) as runner:
        options["dense_bytes"] = DENSE_BYTES // _tables_at_once(runner)
        sources = _for_workers(sources, runner)
        add_up = _adding_up(sources, progress) if progress is not None else None
        extend = _count_further if len(sources) > 1 and _sums_exactly(sources[0], options) else None
        collector: Collector = runner.sum(
            count_file, sources, options, add=Collector.unite, extend=extend, progress=add_up
        )
    if not collector.votes:
        raise InputError(f"{sources[-1].name} has a header and no rows; there is nothing to rank")
    return collector


def _work(source: Source) -> float:
    """What a file is to read, in bytes of Parquet."""
    is_text = (source.format or by_name(source)) in ("csv", "json", "jsonl") and not is_packed(source)
    return source.size / TEXT if is_text else source.size


def _sources(source: Any, format: str | None) -> list[Source]:
    hint = (", or name its format by ", Option("format"))
    sources = [replace(one, hint=hint) for one in find_sources(source, format)]
    refuse_twice(sources)
    return sources


def _in_shares(sources: list[Source], options: dict[str, Any]) -> list[Source]:
    """Large Parquet files as runs of their rows, for several readers, where sums do not depend on how they are cut."""
    large = {one.name for one in sources if one.path is not None and one.size > 1.5 * SHARE_BYTES}
    large -= {one.name for one in sources if (one.format or by_name(one)) != "parquet"}
    layout = _layout(sources[0], options) if large else None
    if layout is None or layout.form == "ranking" or not _sums_exactly(sources[0], options):
        return sources
    return [share for one in sources for share in (_shares(one) if one.name in large else [one])]


def _shares(source: Source) -> list[Source]:
    import polars as pl

    try:
        rows = int(pl.scan_parquet(source.path or "", hive_partitioning=False).select(pl.len()).collect().item())
    except (pl.exceptions.PolarsError, OSError):
        return [source]  # its reader says what is wrong
    parts = max(1, min(round(source.size / SHARE_BYTES), rows))
    cuts = [rows * k // parts for k in range(parts + 1)]
    return [replace(source, share=(low, high - low, rows)) for low, high in pairwise(cuts)]


def _open_here(sources: list[Source]) -> InputError:
    return InputError(f"{sources[0].name} is open here, and a cluster reads elsewhere; give the path of a file")


def _for_workers(sources: list[Source], engine: Engine) -> list[Source]:
    """Workers may be in another folder."""
    if not isinstance(engine, DaskEngine):
        return sources
    return [replace(one, path=one.path and one.path.absolute()) for one in sources]


def files_for(source: Any, format: str | None, engine: Engine) -> list[Source]:
    """The files that a source stands for, as the workers of an engine are told of them."""
    sources = _sources(source, format)
    if any(one.stream is not None for one in sources):
        raise _open_here(sources)
    return _for_workers(sources, engine)


def _tables_at_once(engine: Engine) -> int:
    """How many processes share the memory of one machine."""
    return engine.on_one_machine if isinstance(engine, DaskEngine) else getattr(engine, "n", 1)


def _adding_up(sources: list[Source], progress: Progress) -> Callable[[tuple[int, int]], None]:
    """What takes the votes and bytes of each piece and passes on their sums."""
    votes = read = 0
    total = sum(one.size for one in sources)

    def add(more: tuple[int, int]) -> None:
        nonlocal votes, read
        votes, read = votes + more[0], read + more[1]
        progress(votes, read, total)

    return add


def _sums_exactly(first: Source, options: dict[str, Any]) -> bool:
    """Whether only whole numbers are added up, by the columns of the first file."""
    layout = _layout(first, options)
    return layout is not None and not (layout.weight or layout.margin or layout.left_goals)


def _layout(first: Source, options: dict[str, Any]) -> Layout | None:
    """What the columns of a file are; None where something is wrong with it, which shows later."""
    chosen = dict(options)
    delimiter = chosen.pop("delimiter")
    if first.path is None:
        return None
    collector = Collector(**chosen)
    try:
        table = Table(first, delimiter)
        collector.choose([*(table.columns or []), *table.nested])
    except InputError:
        return None
    return collector.layout


def _count_further(collector: Collector, source: Source, options: dict[str, Any]) -> Collector:
    """The votes of one more file, added in place."""
    return _count_into(collector, source, options["delimiter"])


def count_file(source: Source, options: dict[str, Any]) -> Collector:
    """The votes of one file."""
    chosen = dict(options)
    delimiter = chosen.pop("delimiter")
    return _count_into(Collector(**chosen), source, delimiter)


def _count_into(collector: Collector, source: Source, delimiter: str | None) -> Collector:
    row, read = source.share[0] if source.share else 0, 0
    table = Table(source, delimiter)
    if table.columns is not None:
        for frame, _, size in table.batches(collector.choose([*table.columns, *table.nested], source.name)):
            collector.add_batch(frame, source.name, row)
            row, read = row + frame.height, read + size
            report((frame.height, size))
    report((0, source.size - read))  # a columnar file is not read from its start to its end
    return collector
