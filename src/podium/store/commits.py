"""One thread writes; whoever waits while it syncs is in the next commit.

A job is a function of the open transaction. It is acknowledged only after the commit that holds it, so what was
acknowledged is on disk. A job that is refused is rolled back by itself; where the database fails, nothing of the whole
commit stands and every job in it says so.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Engine
from sqlalchemy.exc import DBAPIError, IntegrityError, SQLAlchemyError

from podium.errors import PodiumError, UnavailableError
from podium.store.rows import Counts, Writer

__all__ = ["Committer", "Job"]

MOST = 256  # jobs of one commit
MAX_WAIT = 0.002  # seconds for those who were here at the last commit; a quarter of what that took, if that is less


@dataclass(slots=True)
class Job:
    """Something to write for a campaign (0 where it is yet to be made), and where its result goes."""

    campaign: int
    work: Callable[[Writer], Any]
    result: Future[Any] = field(default_factory=Future)


class Committer:
    """The writing thread of one database."""

    def __init__(self, engine: Engine, words: Callable[[Exception], PodiumError]) -> None:
        self.engine = engine
        self.words = words
        self.commits = 0
        self._failures = (SQLAlchemyError, engine.dialect.loaded_dbapi.Error)  # what goes straight to the driver too
        self._counts: Counts = {}
        self._took, self._here = 0.0, 1  # seconds of the last commit, and who waited then: for it, or for the next
        self._jobs: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._closed = False
        self._door = threading.Lock()
        self._thread = threading.Thread(target=self._run, name="podium-writer", daemon=True)
        self._thread.start()

    def submit(self, campaign: int, work: Callable[[Writer], Any]) -> Future[Any]:
        """Queue a job; its future has the result once that is on disk."""
        job = Job(campaign, work)
        with self._door:
            if self._closed:
                raise UnavailableError("the store is closed; open it again")
            self._jobs.put(job)
        return job.result

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
            self._write([job for job in batch if job.result.set_running_or_notify_cancel()])
            if last:
                return

    def _batch(self, first: Job) -> tuple[list[Job], bool]:
        """The jobs of the next commit, and whether they are the last ever.

        Whoever was answered just now is about to come back: a moment's wait for as many as were here at the last commit
        saves a sync. A single client is never waited for.
        """
        batch = [first]
        until = time.monotonic() + min(MAX_WAIT, self._took / 4)
        while len(batch) < MOST:
            left = until - time.monotonic() if len(batch) < self._here else 0.0
            try:
                job = self._jobs.get(timeout=left) if left > 0 else self._jobs.get_nowait()
            except queue.Empty:
                break
            if job is None:
                return batch, True
            batch.append(job)
        return batch, False

    def _write(self, batch: list[Job]) -> None:
        """One transaction for all; results are handed out after it."""
        begun = time.monotonic()
        try:
            with self.engine.connect() as connection, connection.begin():
                writer = Writer(connection, self._counts)
                outcomes = [(job, *_apart(writer, job)) for job in batch]
                writer.flush()
        except BaseException as problem:
            failure = self.words(problem) if isinstance(problem, self._failures) else problem
            for job in batch:
                job.result.set_exception(failure)
            return
        self.commits += 1
        self._took, self._here = time.monotonic() - begun, len(batch) + self._jobs.qsize()
        for job, value, refusal in outcomes:
            if refusal is None:
                job.result.set_result(value)
            else:
                job.result.set_exception(self.words(refusal) if isinstance(refusal, SQLAlchemyError) else refusal)


def _apart(writer: Writer, job: Job) -> tuple[Any, BaseException | None]:
    """Run a job so that its refusal takes back what it wrote and nothing else.

    A database that fails (a full disk, a lost connection) may have rolled back everything by itself: that error goes
    up, and with it the whole commit.
    """
    if job.campaign:
        try:
            writer.lock(job.campaign)
        except PodiumError as problem:
            return None, problem
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
    writer.state = before
    return None, refusal
