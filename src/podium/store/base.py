"""One contract for both databases: read, write, what time it is, and who holds what.

store.write(campaign, job)    job(Writer) in a transaction; returns once it is on disk
store.submit(campaign, job)   the same as a future
store.read(job)               job(Reader) on one state of the database
"""

from __future__ import annotations

import abc
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, Self, TypeVar

from sqlalchemy import Connection, Engine, inspect, select
from sqlalchemy.exc import SQLAlchemyError

from podium._version import __version__
from podium.errors import InputError, PodiumError
from podium.store import formats, tables
from podium.store.commits import Committer, Job
from podium.store.reader import Reader
from podium.store.values import FORMAT
from podium.store.writer import Writer

__all__ = ["Hold", "Store"]

T = TypeVar("T")


class Hold(abc.ABC):
    """A lock with a name, which ends with its process however that ends."""

    @abc.abstractmethod
    def keep(self) -> bool:
        """Say that the holder lives; whether the lock is still held."""

    @abc.abstractmethod
    def release(self) -> None:
        """Let go."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *problem: object) -> None:
        self.release()


class Store(abc.ABC):
    """A database of campaigns. Threads may share it. `remote`: asking it for the time takes a moment."""

    remote = False

    def __init__(self, name: str, reading: Engine, writing: Engine) -> None:
        self.name = name  # what errors call it: never with a password
        self._reading, self._writing = reading, writing
        self._committer = Committer(writing, self.words, self._version)

    @abc.abstractmethod
    def words(self, problem: Exception) -> PodiumError:
        """An error of the database, said for people: what it means and what now."""

    def _version(self, connection: Connection) -> Any:
        """Equal for two transactions of this process if nobody else wrote in between; None where that is not known."""
        return None

    @abc.abstractmethod
    def now(self) -> int:
        """The database's clock, in milliseconds: the same for all processes on it."""

    @abc.abstractmethod
    def hold(self, name: str) -> Hold | None:
        """Take the lock of that name; None where another process (or another hold of this one) has it."""

    @abc.abstractmethod
    def holder(self, name: str) -> str | None:
        """Who has the lock, in words (process and host); None where nobody has."""

    def read(self, job: Callable[[Reader], T]) -> T:
        """Run `job` on one state of the database."""
        try:
            with self._reading.connect() as connection, connection.begin():
                return job(Reader(connection))
        except (SQLAlchemyError, self._reading.dialect.loaded_dbapi.Error) as problem:  # the driver's come bare, too
            raise self.words(problem) from problem

    def submit(self, campaign: int, job: Callable[[Writer], T]) -> Future[T]:
        """Queue `job`; the future has its result once that is on disk. All writing of a campaign is one after another.

        Give 0 where the campaign is yet to be made.
        """
        return self._committer.submit(campaign, job)

    def send(self, jobs: list[Job]) -> None:
        """Queue jobs that came together, each with the future that waits for it."""
        self._committer.send(jobs)

    def write(self, campaign: int, job: Callable[[Writer], T]) -> T:
        """Run `job` in a transaction, and return once that is on disk."""
        return self.submit(campaign, job).result()

    @property
    def commits(self) -> int:
        """Transactions committed by this process."""
        return self._committer.commits

    @abc.abstractmethod
    def serve(self) -> Hold:
        """Be a server of this database; refused where it takes one only and has it."""

    def close(self) -> None:
        """Write what waits and close."""
        self._committer.close()
        self._reading.dispose()
        self._writing.dispose()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *problem: object) -> None:
        self.close()

    def _prepare(self, *, new: bool) -> None:
        """Make the tables of a new database, bring an older one forward, refuse a newer one or a stranger's."""
        with self._writing.connect() as connection, connection.begin():
            names = set(inspect(connection).get_table_names())
            if "podium" not in names:
                strange = names & set(tables.METADATA.tables)
                if strange or not new:
                    raise InputError(f"{self.name} holds no campaigns; `podium campaign new` makes some")
                tables.METADATA.create_all(connection)
                connection.execute(tables.podium.insert().values(format=FORMAT, version=__version__))
                return
            formats.bring_forward(connection, self.name)

    def format(self) -> int:
        """The number of what is on disk."""
        with self._reading.connect() as connection:
            return int(connection.execute(select(tables.podium.c.format)).scalar_one())
