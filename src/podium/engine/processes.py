"""Several processes on this machine: started when first needed, ended with the engine.

A worker that dies (killed, out of memory) is replaced and what it was at is done again; a chunk that ends three of
them is named in the error. The answer is right or there is none.
"""

from __future__ import annotations

import multiprocessing
import operator
import os
import pickle
import warnings
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, islice
from multiprocessing.connection import Connection, wait
from typing import Any

from podium.engine.base import FAN_IN, Add, Adder, Engine, Function, Kept, Progress, Through, extended, reporting_to
from podium.engine.worker import Task, receive, work
from podium.errors import EngineError, InputError, Option

__all__ = ["Processes", "cores", "shares"]

MAX_DEATHS = 3  # of workers at one chunk
TASKS_AHEAD = 4  # tasks for each worker that may be done before the first of them is asked for


def cores() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Processes(Engine):
    """`n` worker processes, each a fresh Python (spawn).

    A script that uses them keeps what it does under `if __name__ == "__main__":`, as Python asks of every script that
    starts processes.
    """

    def __init__(self, n: int) -> None:
        if isinstance(n, bool) or not isinstance(n, int) or n < 1:
            raise InputError(f"{n!r} processes cannot be started; give a whole number, 1 or more")
        self.n = n
        self._workers: list[_Worker] = []
        self._finalizer = weakref.finalize(self, _end_all, self._workers)

    def close(self) -> None:
        _end_all(self._workers)

    def map(
        self, function: Function, chunks: Iterable[Any], *shared: Any, progress: Progress | None = None
    ) -> Iterator[Any]:
        jobs = (_Job(k, [chunk]) for k, chunk in enumerate(chunks))
        return self._run(jobs, Task(function, shared), progress)

    def sum(
        self,
        function: Function,
        chunks: Sequence[Any],
        *shared: Any,
        add: Add = operator.add,
        extend: Function | None = None,
        progress: Progress | None = None,
    ) -> Any:
        chunks = list(chunks)
        if extend is not None and len(chunks) > 1:
            return self._sum_of_shares(function, shares(chunks, self.n), shared, add, extend, progress)
        # Workers add up whole branches of the tree while there are enough of them to keep all busy, then single chunks.
        branches = len(chunks) // FAN_IN // self.n * self.n
        single = branches * FAN_IN
        groups = [chunks[k : k + FAN_IN] for k in range(0, single, FAN_IN)] + [[chunk] for chunk in chunks[single:]]
        total = Adder(add)
        jobs = (_Job(k, group) for k, group in enumerate(groups))
        for k, value in enumerate(self._run(jobs, Task(function, shared, add), progress)):
            total.take(value, level=1 if k < branches else 0)
        return total.result()

    def _sum_of_shares(
        self,
        function: Function,
        shares: list[list[Any]],
        shared: tuple[Any, ...],
        add: Add,
        extend: Function,
        progress: Progress | None,
    ) -> Any:
        """One share for each process, this one among them: it has loaded what a worker would have to load first."""
        jobs = (_Job(k, share) for k, share in enumerate(shares[1:]))
        here: list[Any] = []

        def meanwhile() -> None:
            here.append(extended(function, extend, shares[0], *shared))

        rest = list(self._run(jobs, Task(function, shared, add, extend), progress, meanwhile))
        total = here[0]
        for value in rest:
            total = add(total, value)
        return total

    def keep(self, function: Function, chunks: Sequence[Any]) -> Kept:
        return _KeptThere(self, function, list(chunks))

    def _run(
        self,
        jobs: Iterator[_Job],
        task: Task,
        progress: Progress | None,
        meanwhile: Callable[[], None] | None = None,
    ) -> Iterator[Any]:
        """Yield the value of every job in order; workers that are busy when the reader leaves are ended.

        `meanwhile` is done here once the workers are at work; when it reports, so may they.
        """
        assert not self._busy, "one call at a time: the one before still runs"
        try:
            message = pickle.dumps(task)
        except (pickle.PicklingError, AttributeError, TypeError) as problem:
            what = f"the work cannot be sent to other processes ({problem}); define its functions in a module, or use "
            raise InputError(what, Option("jobs", 1)) from problem
        waiting: list[_Job] = []
        done: dict[int, Any] = {}
        asked = 0  # the next value to yield
        try:
            while True:
                waiting.extend(islice(jobs, max(0, self.n - len(waiting) - len(self._busy))))
                while waiting and waiting[0].number < asked + TASKS_AHEAD * self.n:
                    idle = self._idle(waiting[0])
                    if idle is None:
                        break
                    idle.start(waiting.pop(0), message)
                if meanwhile is not None:
                    with reporting_to(partial(self._report_here, waiting, done, progress)):
                        meanwhile()
                    meanwhile = None
                if asked in done:
                    yield _value(done.pop(asked))
                    asked += 1
                    continue
                if not self._busy:
                    if not waiting:
                        return
                    continue
                for worker in self._ready(None):
                    self._listen(worker, waiting, done, progress)
        finally:
            for worker in self._busy:  # an error, or nobody wants the rest
                worker.end()
                self._workers.remove(worker)

    def _report_here(self, waiting: list[_Job], done: dict[int, Any], progress: Progress | None, value: Any) -> None:
        """Pass on what this process reports, and let workers through that would have to wait to report."""
        if progress is not None:
            progress(value)
        for worker in self._ready(0.0):
            self._listen(worker, waiting, done, progress)

    def _listen(self, worker: _Worker, waiting: list[_Job], done: dict[int, Any], progress: Progress | None) -> None:
        """Take one message of a worker; if it has died, its job waits again, in its place."""
        job = worker.job
        assert job is not None
        try:
            kind, value = receive(worker.channel)
        except (EOFError, OSError):
            code = worker.end()
            self._workers.remove(worker)
            chunk = job.chunks[job.at]
            job.deaths[job.at] = job.deaths.get(job.at, 0) + 1
            if job.deaths[job.at] >= MAX_DEATHS:
                done[job.number] = ("error", _deadly(chunk, code))
            else:
                waiting.insert(0, job)
            return
        if kind == "at":
            job.at = value
        elif kind == "progress":
            if progress is not None:
                progress(value)
        else:
            worker.job = None
            done[job.number] = (kind, value)

    @property
    def _busy(self) -> list[_Worker]:
        return [worker for worker in self._workers if worker.job is not None]

    def _ready(self, timeout: float | None) -> list[_Worker]:
        channels = {worker.channel: worker for worker in self._busy}
        return [channels[channel] for channel in wait(list(channels), timeout) if isinstance(channel, Connection)]

    def _idle(self, job: _Job) -> _Worker | None:
        """A worker with nothing to do, best one that did the same job before; a new one if there may be more."""
        idle = [worker for worker in self._workers if worker.job is None]
        for worker in sorted(idle, key=lambda worker: job.number not in worker.numbers):
            if worker.process.is_alive():
                return worker
            worker.end()
            self._workers.remove(worker)
        if len(self._workers) < self.n:
            self._workers.append(_Worker())
            return self._workers[-1]
        return None


def shares(chunks: list[Any], count: int) -> list[list[Any]]:
    """At most `count` runs of chunks, of nearly equal size."""
    sizes = [float(getattr(chunk, "size", 1) or 1) for chunk in chunks]
    whole, before = sum(sizes), 0.0
    shares: dict[int, list[Any]] = {}
    for chunk, size in zip(chunks, sizes, strict=True):
        shares.setdefault(int((before + size / 2) * count / whole), []).append(chunk)
        before += size
    return list(shares.values())


@dataclass
class _Job:
    """Chunks for one worker; where it is at, and how many workers ended at each."""

    number: int
    chunks: list[Any]
    at: int = 0
    deaths: dict[int, int] = field(default_factory=dict)


class _Worker:
    """A process and the channel to it."""

    def __init__(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.channel, there = context.Pipe()
        self.process = context.Process(target=work, args=(there,), daemon=True)
        self.process.start()
        there.close()
        self.job: _Job | None = None
        self.numbers: set[int] = set()  # of its jobs so far: parts that are kept are kept by them
        self._sent: bytes | None = None

    def start(self, job: _Job, message: bytes) -> None:
        """Send a job; what all jobs share is sent once. A worker that is gone shows when it is listened to."""
        self.job, job.at = job, 0
        self.numbers.add(job.number)
        try:
            if self._sent is not message:
                self.channel.send(("task", message))
                self._sent = message
            self.channel.send(("chunks", job.chunks))
        except (BrokenPipeError, ConnectionResetError):
            pass

    def end(self) -> int | None:
        """End the process now; return its exit code."""
        self.channel.close()
        self.process.join(timeout=0.2)
        self.process.kill()
        self.process.join()
        code = self.process.exitcode
        self.process.close()
        return code


def _end_all(workers: list[_Worker]) -> None:
    for worker in workers:
        worker.end()
    workers.clear()


def _value(message: tuple[str, Any]) -> Any:
    """What a job came to: its value, after the warnings that came with it, or its error."""
    kind, content = message
    if kind == "error":
        raise content
    value, warned = content
    for warning in warned:
        warnings.warn(warning, stacklevel=2)
    return value


def _deadly(chunk: Any, code: int | None) -> EngineError:
    name = getattr(chunk, "name", None) or repr(chunk)
    how = f"by signal {-code}" if code is not None and code < 0 else f"with exit code {code}"
    what = f"{name} ended {MAX_DEATHS} worker processes, the last {how}; too little memory? use "
    return EngineError(what, Option("jobs", 1))


class _KeptThere(Kept):
    """Parts in workers: each worker makes those it is asked for, keeps them, and makes them again where lost."""

    def __init__(self, engine: Processes, function: Function, chunks: list[Any]) -> None:
        self.engine, self.function = engine, function
        size = max(1, -(-len(chunks) // engine.n))
        self.shares = [chunks[k : k + size] for k in range(0, len(chunks), size)]
        self.key = (id(self), os.urandom(8))

    def then(self, function: Function, *shared: Any) -> Kept:
        through = self.function if isinstance(self.function, Through) else Through((self.function, ()))
        return _KeptThere(self.engine, through.then(function, *shared), list(chain.from_iterable(self.shares)))

    def sum(self, function: Function, *shared: Any, add: Add = operator.add) -> Any:
        total = Adder(add)
        parts = self.engine.map(_of_parts, list(enumerate(self.shares)), self.key, self.function, function, shared)
        for value in chain.from_iterable(parts):
            total.take(value)
        return total.result()


_parts: dict[Any, list[Any]] = {}  # in a worker


def _of_parts(share: tuple[int, list[Any]], key: Any, make: Function, function: Function, shared: Any) -> list[Any]:
    place = (key, share[0])
    if place not in _parts:
        _parts[place] = [make(chunk) for chunk in share[1]]
    return [function(part, *shared) for part in _parts[place]]
