"""Campaigns on disk: one contract on SQLite and PostgreSQL. What is acknowledged was written and synced.

Votes and events are logs that are only added to; everything else can be derived again. SQLAlchemy is loaded when a
store is opened, not before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from podium.errors import InputError

if TYPE_CHECKING:
    from podium.store.base import Store

__all__ = ["open_store"]


def open_store(where: str, *, new: bool = False) -> Store:
    """Open a file, or postgresql://user@host/name; with `new`, make what is not there."""
    try:
        import sqlalchemy  # noqa: F401
    except ImportError as problem:
        raise InputError("campaigns need SQLAlchemy; pip install 'podium[serve]'") from problem
    if not isinstance(where, str) or "\0" in where or any("\ud800" <= letter <= "\udfff" for letter in where):
        raise InputError(f"{where!r} is no place for campaigns; give the path of a file, or postgresql://…")
    if where.startswith(("postgresql:", "postgres:", "postgresql+psycopg:")):
        from podium.store.postgres import PostgresStore

        return PostgresStore(where.replace("postgres://", "postgresql://", 1), new=new)
    from podium.store.sqlite import SQLiteStore

    return SQLiteStore(where, new=new)
