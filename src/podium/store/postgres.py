"""A server for teams: PostgreSQL through psycopg 3; any number of serving processes, one that plans."""

from __future__ import annotations

import contextlib
import hashlib
import os
import socket
from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, make_url, text
from sqlalchemy.exc import ArgumentError, IntegrityError, OperationalError, SQLAlchemyError

from podium.errors import InputError, PodiumError, RefusedError, UnavailableError
from podium.store.base import Hold, Store
from podium.store.values import from_json

__all__ = ["PostgresStore"]

# Whatever the server's default: an acknowledged vote is on disk. A statement that never ends must not hold up all.
OPTIONS = "-c synchronous_commit=on -c statement_timeout=60000 -c lock_timeout=30000"

ONE_STATE = "REPEATABLE READ"  # all statements of a read see the same votes, whoever votes meanwhile


class PostgresStore(Store):
    """Campaigns in a PostgreSQL database, given as postgresql://user:password@host:port/name."""

    remote = True

    def __init__(self, url: str, *, new: bool = False) -> None:
        try:
            import psycopg  # noqa: F401
        except ImportError as problem:
            raise InputError("PostgreSQL needs psycopg; pip install 'podium[postgres]'") from problem
        try:
            parsed = make_url(url).set(drivername="postgresql+psycopg")
        except (ArgumentError, ValueError) as problem:  # the latter of a port that is no number
            raise InputError("--db is no address of a database; give postgresql://user@host:port/name") from problem
        name = f"PostgreSQL {parsed.host or 'here'}{f':{parsed.port}' if parsed.port else ''}/{parsed.database or ''}"
        super().__init__(name, _engine(parsed, 10, isolation_level=ONE_STATE), _engine(parsed, 2))
        try:
            self._prepare(new=new)
        except SQLAlchemyError as problem:
            self.close()
            raise self.words(problem) from problem
        except InputError:
            self.close()
            raise

    def words(self, problem: Exception) -> PodiumError:
        """What PostgreSQL's errors mean."""
        said = str(getattr(problem, "orig", None) or problem).splitlines()[0]
        if isinstance(problem, IntegrityError):
            return RefusedError(
                "conflict", f"{self.name}: the change contradicts what is stored ({said}); read it again"
            )
        if isinstance(problem, OperationalError) and getattr(problem.orig, "sqlstate", None) is None:
            _, fatal, why = said.partition("FATAL:")
            if fatal:  # it answered
                return UnavailableError(
                    f"{self.name} refuses the connection: {why.strip()}; check the database, the user and the password"
                )
            return UnavailableError(f"{self.name} cannot be reached; is it running? Everything goes on when it is back")
        return UnavailableError(f"{self.name} cannot be used now: {said}; try again")

    def now(self) -> int:
        """The server's clock."""
        try:
            with self._reading.connect() as connection:
                return _clock(connection)
        except SQLAlchemyError as problem:
            raise self.words(problem) from problem

    def hold(self, name: str) -> Hold | None:
        """An advisory lock of a connection kept for it: it ends with the connection, however that ends."""
        try:
            connection = self._reading.connect().execution_options(isolation_level="AUTOCOMMIT")
            taken = connection.execute(text("SELECT pg_try_advisory_lock(:key)"), {"key": _key(name)}).scalar_one()
        except SQLAlchemyError as problem:
            raise self.words(problem) from problem
        if taken:
            return _Advisory(connection, _key(name))
        connection.close()
        return None

    def holder(self, name: str) -> str | None:
        """The process and its host, as its connection is named."""
        sql = (
            "SELECT a.application_name FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid "
            "WHERE l.locktype = 'advisory' AND l.granted AND (l.classid::bigint << 32 | l.objid::bigint) = :key"
        )
        with self._reading.connect() as connection:
            row = connection.execute(text(sql), {"key": _key(name)}).first()
        return None if row is None else str(row[0]).removeprefix("podium: ")

    def serve(self) -> Hold:
        """Any number of processes may serve."""
        return _Nothing()


class _Advisory(Hold):
    def __init__(self, connection: Connection, key: int) -> None:
        self.connection, self.key = connection, key

    def keep(self) -> bool:
        try:
            self.connection.execute(text("SELECT 1"))
        except SQLAlchemyError:
            return False
        return True

    def release(self) -> None:
        with contextlib.suppress(SQLAlchemyError):
            self.connection.execute(text("SELECT pg_advisory_unlock(:key)"), {"key": self.key})
        self.connection.invalidate()  # never back into the pool with a lock on it
        self.connection.close()


class _Nothing(Hold):
    def keep(self) -> bool:
        return True

    def release(self) -> None:
        pass


def _engine(url: URL, size: int, **more: Any) -> Engine:
    named = f"podium: process {os.getpid()} on {socket.gethostname()}"[:63]
    arguments: dict[str, Any] = {"connect_timeout": 5, "application_name": named, "options": OPTIONS}
    pool = {"pool_size": size, "max_overflow": size, "pool_pre_ping": True}
    return create_engine(url, **pool, **more, connect_args=arguments, json_deserializer=from_json)


def _clock(connection: Connection) -> int:
    return int(connection.execute(text("SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint")).scalar_one())


def _key(name: str) -> int:
    """A number below 2^62 for a lock's name, apart from other programs' by its prefix."""
    return int.from_bytes(hashlib.sha256(f"podium:{name}".encode()).digest()[:8]) >> 2
