"""One thread writes; whoever waits while it syncs is in the next commit.

A job is a function of the open transaction. It is acknowledged only after the commit that holds it, so what was
acknowledged is on disk. A job that is refused is rolled back by itself; where the database fails, nothing of the whole
commit stands and every job in it says so.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Engine
from sqlalchemy.exc import DBAPIError, IntegrityError, SQLAlchemyError

from podium.errors import PodiumError, UnavailableError
from podium.store.rows import Writer

__all__ = ["Committer", "Job"]

MOST = 256  # jobs of one commit


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
            batch: list[Job] = [first]
            last = False
            while len(batch) < MOST and not self._jobs.empty():
                job = self._jobs.get()
                if job is None:
                    last = True
                    break
                batch.append(job)
            # Always in the same order of campaigns: two processes never wait for each other's locks.
            batch.sort(key=lambda job: job.campaign)
            self._write([job for job in batch if job.result.set_running_or_notify_cancel()])
            if last:
                return

    def _write(self, batch: list[Job]) -> None:
        """One transaction for all; results are handed out after it."""
        try:
            with self.engine.connect() as connection, connection.begin():
                writer = Writer(connection)
                outcomes = [(job, *_apart(writer, job)) for job in batch]
                writer.flush()
        except BaseException as problem:
            failure = self.words(problem) if isinstance(problem, SQLAlchemyError) else problem
            for job in batch:
                job.result.set_exception(failure)
            return
        self.commits += 1
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
