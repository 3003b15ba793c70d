"""A campaign file read like any votes: the standard library's sqlite3, read-only, nothing else needed."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

from podium._version import __version__
from podium.errors import InputError
from podium.store.content import Content, campaigns_of, load
from podium.store.values import DAMAGED, FORMAT

__all__ = ["is_campaign_file", "read_campaign_file"]

MAGIC = b"SQLite format 3\x00"


def is_campaign_file(path: str) -> bool:
    """Whether this is a path to an SQLite file, perhaps with the name of a campaign in it after a #."""
    try:
        place = _parted(path)[0]
        if not place.is_file():  # what is read of a pipe is gone
            return False
        with place.open("rb") as file:
            return file.read(len(MAGIC)) == MAGIC
    except (OSError, ValueError):
        return False


def read_campaign_file(path: str) -> Content:
    """Read the campaign of a file; one of several is named as file.db#name."""
    file, name = _parted(path)
    with _opened(file) as connection:
        _check_format(connection, file)

        def run(sql: str, values: dict[str, Any]) -> list[Any]:
            return connection.execute(sql, values).fetchall()

        there = campaigns_of(run)
        chosen = [each for each in there if name in (None, each.slug)]
        names = ", ".join(each.slug for each in there)
        if not chosen:
            what = f"no campaign {name!r}; there are {names}" if there else "no campaign; make one in it"
            raise InputError(f"{file} holds {what}")
        if len(chosen) > 1:
            raise InputError(f"{file} holds several campaigns: {names}; name one, as {file}#{chosen[0].slug}")
        return load(run, chosen[0].id)


def _parted(path: str) -> tuple[Path, str | None]:
    if "#" in path and not Path(path).exists():
        file, _, name = path.rpartition("#")
        return Path(file), name
    return Path(path), None


@contextlib.contextmanager
def _opened(file: Path) -> Iterator[sqlite3.Connection]:
    """One state of the file."""
    connection = None
    try:
        connection = _begun_anyhow(file)
        yield connection
    except sqlite3.DatabaseError as problem:
        raise InputError(f"{file} cannot be read: {problem}; restore a copy") from problem
    except InputError as problem:
        reason = str(problem)
        if DAMAGED not in reason:
            raise
        raise InputError(f"{file} is damaged: {reason.replace(DAMAGED, '')}") from problem
    except (ValueError, TypeError, KeyError, OverflowError) as problem:  # a cell that no campaign of ours holds
        raise InputError(f"{file} is damaged: {_first_line(problem)}; restore a copy") from problem
    finally:
        if connection is not None:
            connection.close()


def _begun_anyhow(file: Path) -> sqlite3.Connection:
    """On a read-only disk, a file that nobody writes is read as it is."""
    address = f"file:{quote(str(file.resolve()))}?mode=ro"
    try:
        return _begun(address)
    except sqlite3.OperationalError as problem:
        if file.with_name(f"{file.name}-wal").exists():
            words = f"{file} cannot be read: its folder is read-only and a server left it open; copy it elsewhere"
            raise InputError(words) from problem
        return _begun(f"{address}&immutable=1")


def _begun(address: str) -> sqlite3.Connection:
    connection = sqlite3.connect(address, uri=True, isolation_level=None, timeout=5.0)
    try:
        connection.execute("BEGIN")
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except BaseException:
        connection.close()
        raise
    return connection


def _check_format(connection: sqlite3.Connection, file: Path) -> None:
    names = {row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if not {"podium", "campaign", "vote"} <= names:
        raise InputError(f"{file} is an SQLite file, but holds no campaign; check the path")
    number, version = connection.execute("SELECT format, version FROM podium").fetchone()
    if number > FORMAT:
        raise InputError(
            f"{file} has format {number}, written by podium {version}; this is podium {__version__}, which knows "
            f"formats up to {FORMAT}: upgrade"
        )
    if number < FORMAT:
        raise InputError(f"{file} has the older format {number}; any `podium campaign` command brings it forward")


def _first_line(problem: Exception) -> str:
    return (str(problem) or type(problem).__name__).splitlines()[0]
