"""One thread writes; whoever waits while it syncs is in the next commit.

A job is a function of the open transaction. It is acknowledged only after the commit that holds it, so what was
acknowledged is on disk. A job that is refused is rolled back by itself; where the database fails, nothing of the whole
commit stands and every job in it says so.
"""

from __future__ import annotations

import asyncio
import contextlib
import queue
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError, IntegrityError, SQLAlchemyError

from podium.errors import PodiumError, UnavailableError
from podium.store.transaction import Counts
from podium.store.warm import Warm
from podium.store.writer import Writer

__all__ = ["Committer", "Job"]

MAX_JOBS = 256  # jobs of one commit
MAX_WAIT = 0.002  # seconds for those who were here at the last commit; a quarter of what that took, if that is less


@dataclass(slots=True)
class Job:
    """Something to write for a campaign (0 where it is yet to be made), and where its result goes.

    That is a future of a thread, or one of an event loop. Work that is `repeatable` does nothing but read and write the
    tables: it may be run again after all that it wrote was taken back.
    """

    campaign: int
    work: Callable[[Writer], Any]
    result: Future[Any] | asyncio.Future[Any] = field(default_factory=Future)
    repeatable: bool = False

    def begins(self) -> bool:
        """Whether anybody still wants it."""
        return self.result.set_running_or_notify_cancel() if isinstance(self.result, Future) else not self.result.done()


Outcome: TypeAlias = tuple[Job, Any, BaseException | None]


class Committer:
    """The writing thread of one database."""

    def __init__(
        self, engine: Engine, words: Callable[[Exception], PodiumError], version: Callable[[Connection], Any]
    ) -> None:
        self.engine = engine
        self.words = words
        self.version = version
        self.warm = Warm()
        self.commits = 0
        self._failures = (SQLAlchemyError, engine.dialect.loaded_dbapi.Error)  # what goes straight to the driver too
        self._counts: Counts = {}
        self._took, self._here = 0.0, 1  # seconds of the last commit, and who waited then: for it, or for the next
        self._jobs: queue.SimpleQueue[list[Job] | None] = queue.SimpleQueue()
        self._closed = False
        self._door = threading.Lock()
        self._thread = threading.Thread(target=self._run, name="podium-writer", daemon=True)
        self._thread.start()

    def submit(self, campaign: int, work: Callable[[Writer], Any]) -> Future[Any]:
        """Queue a job; its future has the result once that is on disk."""
        result: Future[Any] = Future()
        self.send([Job(campaign, work, result)])
        return result

    def send(self, jobs: list[Job]) -> None:
        """Queue jobs that came together: they are in one commit, and the writing thread is woken once."""
        with self._door:
            if self._closed:
                raise UnavailableError("the store is closed; open it again")
            self._jobs.put(jobs)

    def close(self) -> None:
        """Write what waits, then end."""
        with self._door:
            if not self._closed:
                self._closed = True
                self._jobs.put(None)
        self._thread.join()

    def _run(self) -> None:
        while (first := self._jobs.get()) is not None:
            batch, last = self._batch(first)
            # Always in the same order of campaigns: two processes never wait for each other's locks.
            batch.sort(key=lambda job: job.campaign)
            self._write([job for job in batch if job.begins()])
            if last:
                return

    def _batch(self, first: list[Job]) -> tuple[list[Job], bool]:
        """The jobs of the next commit, and whether they are the last ever.

        Whoever was answered just now is about to come back: a moment's wait for as many as were here at the last commit
        saves a sync. A single client is never waited for.
        """
        batch = [*first]
        until = time.monotonic() + min(MAX_WAIT, self._took / 4)
        while len(batch) < MAX_JOBS:
            left = until - time.monotonic() if len(batch) < self._here else 0.0
            try:
                more = self._jobs.get(timeout=left) if left > 0 else self._jobs.get_nowait()
            except queue.Empty:
                break
            if more is None:
                return batch, True
            batch += more
        return batch, False

    def _write(self, batch: list[Job]) -> None:
        """One transaction for all; results are handed out after it.

        What a job wrote before it was refused is taken back by a savepoint, which costs a third of all writing. Where
        every job may be run again there is none: should one be refused so late, all begin anew, with savepoints.
        """
        begun = time.monotonic()
        try:
            try:
                outcomes = self._transaction(batch, apart=not all(job.repeatable for job in batch))
            except _LateRefusalError:
                self.warm.clear()
                outcomes = self._transaction(batch, apart=True)
        except BaseException as problem:
            self.warm.clear()
            failure = self.words(problem) if isinstance(problem, self._failures) else problem
            _hand_out([(job, None, failure) for job in batch])
            return
        self.commits += 1
        self._took, self._here = time.monotonic() - begun, len(batch) + self._jobs.qsize()
        _hand_out([(job, value, self._worded(refusal)) for job, value, refusal in outcomes])

    def _transaction(self, batch: list[Job], *, apart: bool) -> list[Outcome]:
        with self.engine.connect() as connection, connection.begin():
            self.warm.renew(self.version(connection))
            writer = Writer(connection, self._counts, self.warm)
            outcomes = [(job, *_done(writer, job, apart)) for job in batch]
            writer.flush()
            return outcomes

    def _worded(self, refusal: BaseException | None) -> BaseException | None:
        return self.words(refusal) if isinstance(refusal, SQLAlchemyError) else refusal


def _hand_out(outcomes: list[Outcome]) -> None:
    """Results to whoever waits: to a thread each by itself, to an event loop all at once, so that it is woken once."""
    loops: dict[asyncio.AbstractEventLoop, list[Outcome]] = {}
    for job, value, problem in outcomes:
        if isinstance(job.result, Future):
            _settle([(job, value, problem)])
        else:
            loops.setdefault(job.result.get_loop(), []).append((job, value, problem))
    for loop, some in loops.items():
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(_settle, some)


def _settle(outcomes: list[Outcome]) -> None:
    for job, value, problem in outcomes:
        if job.result.done():
            continue  # whoever asked has gone
        if problem is None:
            job.result.set_result(value)
        else:
            job.result.set_exception(problem)


class _LateRefusalError(Exception):
    """A job was refused after it wrote, and there is no savepoint to go back to."""


def _done(writer: Writer, job: Job, apart: bool) -> tuple[Any, BaseException | None]:
    """Run a job; its value, or why it was refused."""
    if job.campaign:
        try:
            writer.lock(job.campaign)
        except PodiumError as problem:
            return None, problem
    if apart:
        return _apart(writer, job)
    before, written = writer.state, writer.written
    try:
        return job.work(writer), None
    except DBAPIError as problem:
        if not isinstance(problem, IntegrityError):
            raise
        raise _LateRefusalError from problem
    except Exception as problem:
        if writer.written != written:
            raise _LateRefusalError from problem
        writer.back_to(before)
        return None, problem


def _apart(writer: Writer, job: Job) -> tuple[Any, BaseException | None]:
    """Run a job so that its refusal takes back what it wrote and nothing else.

    A database that fails (a full disk, a lost connection) may have rolled back everything by itself: that error goes
    up, and with it the whole commit.
    """
    before = writer.state
    writer.raw("SAVEPOINT job")
    try:
        value = job.work(writer)
    except DBAPIError as problem:
        if not isinstance(problem, IntegrityError):
            raise
        refusal: Exception = problem
    except Exception as problem:
        refusal = problem
    else:
        writer.raw("RELEASE SAVEPOINT job")
        return value, None
    writer.raw("ROLLBACK TO SAVEPOINT job")
    writer.raw("RELEASE SAVEPOINT job")
    writer.warm.clear()
    writer.back_to(before)
    return None, refusal
