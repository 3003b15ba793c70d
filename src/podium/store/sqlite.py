"""One file: SQLite with a write-ahead log, every commit synced, one writing thread."""

from __future__ import annotations

import os
import secrets
import socket
import time
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, create_engine, delete, event, select, update
from sqlalchemy.exc import IntegrityError, SQLAlchemyError

from podium.errors import InputError, PodiumError, RefusedError, UnavailableError
from podium.store.base import Hold, Store
from podium.store.tables import holds
from podium.store.values import from_json
from podium.store.writer import Writer

__all__ = ["SQLiteStore"]

WAIT = 5.0  # seconds for another process that writes to the same file
CACHE = 32_768  # kilobytes of pages that a connection keeps at most
STALE = 30_000  # milliseconds without a sign of life after which a lock of another host is free
# For each index: the rows of its table, and how many of them agree in its first column, its first two, and so on.
SIZES = (
    ("vote", "vote", "1000000 100000 1"),
    ("vote", "vote_of_judge", "1000000 100000 1000 1"),
    ("vote", "vote_of_question", "1000000 100000 3 1"),
    ("vote", "sqlite_autoindex_vote_2", "1000000 100000 1000 1"),
    ("vote", "sqlite_autoindex_vote_3", "1000000 100000 90000"),
    ("question", "question_queue", "500000 50000 5000 500 1"),
    ("question", "question_held", "500000 50000 1000 10"),
    ("question", "question_once", "5000 500 1"),
    ("lease", "sqlite_autoindex_lease_1", "1000000 100000 3 1"),
    ("lease", "lease_pair", "1000000 100000 1000 1"),
)


class SQLiteStore(Store):
    """Campaigns in one file. One server at a time; commands may write beside it."""

    def __init__(self, path: str | os.PathLike[str], *, new: bool = False) -> None:
        self.path = Path(path)
        _check_path(self.path, new)
        self._existed = self.path.exists()
        engines = [self._engine(f"PRAGMA query_only = {flag}", begin) for flag, begin in ENGINES]
        try:
            super().__init__(str(path), *engines)
            self._prepare(new=new)
            self._tell_sizes()
        except SQLAlchemyError as problem:
            self._abandon()
            raise self._opening_words(problem) from problem
        except InputError:
            self._abandon()
            raise

    def _engine(self, pragma: str, begin: str) -> Any:
        url = URL.create("sqlite", database=str(self.path))
        connect = {"timeout": WAIT, "check_same_thread": False}
        engine = create_engine(url, connect_args=connect, json_deserializer=from_json)

        @event.listens_for(engine, "connect")
        def connected(connection: Any, _: Any) -> None:
            connection.isolation_level = None  # transactions begin where we say, not where the driver guesses
            cursor = connection.cursor()
            mode = cursor.execute("PRAGMA journal_mode = WAL").fetchone()[0]
            if mode != "wal":
                raise InputError(f"{self.path} is on a disk without shared memory (a network folder?); use a local one")
            cursor.execute("PRAGMA synchronous = FULL")
            cursor.execute(f"PRAGMA cache_size = -{CACHE}")
            cursor.execute(pragma)
            cursor.close()

        @event.listens_for(engine, "begin")
        def begun(connection: Any) -> None:
            connection.exec_driver_sql(begin)

        return engine

    def _tell_sizes(self) -> None:
        """Tell SQLite once how a long log is spread: knowing nothing, it expects ten rows of a campaign, and walks."""
        with self._writing.connect() as connection, connection.begin():
            if "sqlite_stat1" in connection.exec_driver_sql("SELECT name FROM sqlite_master").scalars().all():
                return
            connection.exec_driver_sql("ANALYZE sqlite_master")
            connection.exec_driver_sql("INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES (?, ?, ?)", list(SIZES))
        for engine in (self._reading, self._writing):
            engine.dispose()  # connections read it when they are made

    def __exit__(self, *problem: object) -> None:
        """Close; where all that was asked for is refused, no new file without a campaign is left behind."""
        refused = not self._existed and isinstance(problem[1], InputError)
        if refused and not self.read(lambda reader: reader.campaigns()):
            self._abandon()
        else:
            self.close()

    def _abandon(self) -> None:
        if hasattr(self, "_committer"):
            self.close()
        if not self._existed:
            self.path.unlink(missing_ok=True)

    def _opening_words(self, problem: Exception) -> PodiumError:
        said = _said(problem)
        if "not a database" in said:
            return InputError(f"{self.name} is no campaign: it is not an SQLite file; check the path")
        if "readonly" in said or "unable to open" in said:
            return InputError(
                f"{self.name} cannot be written: the file, its folder or the disk is read-only; "
                "make it writable, or copy it elsewhere"
            )
        return self.words(problem)

    def words(self, problem: Exception) -> PodiumError:
        """What SQLite's errors mean."""
        said = _said(problem)
        if isinstance(problem, IntegrityError):
            return RefusedError(
                "conflict", f"{self.name}: the change contradicts what is stored ({said}); read it again"
            )
        if "full" in said:
            return UnavailableError(f"{self.name}: the disk is full; free some space, then everything goes on")
        if "locked" in said or "busy" in said:
            words = "is locked by another program; nothing was changed: close that program, then try again"
            return UnavailableError(f"{self.name} {words}")
        if "readonly" in said:
            return UnavailableError(f"{self.name} cannot be written: the disk is read-only; make it writable")
        if any(word in said for word in ("malformed", "not a database", "decode to UTF-8")):
            return InputError(f"{self.name} is damaged ({said}); restore a copy")
        return UnavailableError(f"{self.name} cannot be used now: {said}; try again")

    def _version(self, connection: Connection) -> Any:
        """SQLite's number that a commit of another connection changes, and the connection that it holds for."""
        own = connection.connection.dbapi_connection
        assert own is not None
        return own, own.execute("PRAGMA data_version").fetchone()[0]

    def now(self) -> int:
        """The host's clock, which is the file's."""
        return time.time_ns() // 1_000_000

    def hold(self, name: str) -> Hold | None:
        """A row that says who and when last; free where its process is gone, or has been silent for long."""
        token, now = secrets.token_hex(16), self.now()
        mine = {"name": name, "pid": os.getpid(), "host": socket.gethostname(), "token": token, "beat": now}

        def take(writer: Writer) -> bool:
            row = writer.aside.execute(select(holds).where(holds.c.name == name)).first()
            if row is not None and not _is_free(row, now):
                return False
            writer.aside.execute(delete(holds).where(holds.c.name == name))
            writer.aside.execute(holds.insert().values(**mine))
            return True

        _OURS.add(token)
        if self.write(0, take):
            return _Row(self, name, token)
        _OURS.discard(token)
        return None

    def holder(self, name: str) -> str | None:
        """The process and its host."""
        with self._reading.connect() as connection:
            row = connection.execute(select(holds).where(holds.c.name == name)).first()
        return None if row is None or _is_free(row, self.now()) else f"process {row.pid} on {row.host}"

    def serve(self) -> Hold:
        """Be the one server of this file."""
        taken = self.hold("serve")
        if taken is None:
            raise InputError(
                f"{self.name} is served by {self.holder('serve')} already; stop that one, or use PostgreSQL for several"
            )
        return taken


ENGINES = (("ON", "BEGIN"), ("OFF", "BEGIN IMMEDIATE"))


_OURS: set[str] = set()  # tokens of the locks that this process holds


class _Row(Hold):
    """A lock that is a row, kept alive by its holder."""

    def __init__(self, store: SQLiteStore, name: str, token: str) -> None:
        self.store = store
        self.token = token
        self.mine = (holds.c.name == name, holds.c.token == token)

    def keep(self) -> bool:
        beat = self.store.now()
        return self.store.write(
            0, lambda writer: writer.aside.execute(update(holds).where(*self.mine).values(beat=beat)).rowcount == 1
        )

    def release(self) -> None:
        self.store.write(0, lambda writer: writer.aside.execute(delete(holds).where(*self.mine)).rowcount)
        _OURS.discard(self.token)


def _is_free(row: Any, now: int) -> bool:
    if abs(now - row.beat) > STALE:
        return True
    if row.host != socket.gethostname():
        return False
    if row.pid == os.getpid():  # ours, or of one who had our number before: in a container everybody is process 1
        return row.token not in _OURS
    try:
        os.kill(row.pid, 0)
    except ProcessLookupError:
        return True
    except OSError:
        pass  # it lives, under another user
    return False


def _check_path(path: Path, new: bool) -> None:
    try:
        folder = path.is_dir()
    except OSError as problem:  # a name that no disk takes
        raise InputError(f"{str(path)[:60]}…: {problem.strerror}; give another path") from problem
    if folder:
        raise InputError(f"{path} is a folder; name a file, such as {path / 'campaign.db'}")
    if not path.exists():
        if not new:
            raise InputError(f"no such file: {path}; check the path, or make a campaign by `podium campaign new`")
        if not path.parent.is_dir():
            raise InputError(f"no such folder: {path.parent}; make it first")
    elif path.stat().st_size == 0 and not new:
        raise InputError(f"{path} is empty, no campaign; check the path")


def _said(problem: Exception) -> str:
    return str(getattr(problem, "orig", None) or problem).splitlines()[0]
