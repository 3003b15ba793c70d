"""Which engine does the work: the one the user gives, else so many processes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from podium.engine.base import Engine, Serial
from podium.engine.cluster import DaskEngine
from podium.engine.connecting import refuse_other_versions
from podium.engine.processes import Processes, cores
from podium.errors import InputError, Option

__all__ = ["as_engine", "engine_for", "running"]


@contextmanager
def running(jobs: int | None, chunks: int | None = None, engine: Any = None) -> Iterator[Engine]:
    """The engine that the user gave, which stays open, or one of `jobs` processes, which ends with the block."""
    if engine is None:
        with engine_for(jobs, chunks) as own:
            yield own
        return
    if jobs not in (None, 1):
        raise InputError(Option("jobs", jobs), " is for this machine alone; drop it, or ", Option("engine"))
    yield as_engine(engine)


def engine_for(jobs: int | None, chunks: int | None = None) -> Engine:
    """The engine for `jobs` processes, at most one a chunk; None is as many as the machine has cores to give."""
    if jobs is not None and (isinstance(jobs, bool) or not isinstance(jobs, int) or jobs < 1):
        raise InputError(Option("jobs", jobs), ": give the number of processes, 1 or more")
    count = cores() if jobs is None else jobs
    if chunks is not None:
        count = min(count, chunks)
    return Processes(count) if count > 1 else Serial()


def as_engine(engine: Any) -> Engine:
    """An engine, or the client of a Dask cluster as one."""
    if isinstance(engine, Engine):
        return engine
    if all(hasattr(engine, name) for name in ("submit", "nthreads", "cancel")):
        refuse_other_versions(engine)
        return DaskEngine(engine)
    raise InputError(f"engine={engine!r} runs nothing; give a Dask client (distributed.Client)")
