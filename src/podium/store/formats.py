"""What is on disk has one number. An older database is brought forward step by step; there is no way back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    Float,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    SmallInteger,
    Table,
    Text,
    UniqueConstraint,
    select,
    update,
)

from podium._version import __version__
from podium.errors import InputError
from podium.store import tables
from podium.store.values import FORMAT

__all__ = ["STEPS", "bring_forward"]


def _add_derived(connection: Connection) -> None:
    """Format 2 keeps what was computed from the log; its table as it was then, whatever `tables` says today."""
    Table(
        "derived",
        MetaData(),
        Column("campaign", Integer, nullable=False),
        Column("name", Text, nullable=False),
        Column("last_vote", BigInteger, nullable=False),
        Column("last_event", BigInteger, nullable=False),
        Column("version", Text, nullable=False),
        Column("bytes", LargeBinary, nullable=False),
        Column("checksum", Text, nullable=False),
        PrimaryKeyConstraint("campaign", "name"),
    ).create(connection)


def _add_calls(connection: Connection) -> None:
    """Format 3 keeps the requests to models, and texts that go with an item."""
    as_then = MetaData()
    Table(
        "item_text",
        as_then,
        Column("campaign", Integer, nullable=False),
        Column("item", Integer, nullable=False),
        Column("name", Text, nullable=False),
        Column("body", Text, nullable=False),
        PrimaryKeyConstraint("campaign", "item", "name"),
    )
    whole = {"number": Integer, "campaign": Integer, "request": Text, "question": Integer, "judge": Integer}
    whole |= {"first": Integer, "second": Integer, "turned": SmallInteger, "again": Text, "prompt_hash": Text}
    whole |= {"parameters": Text, "model": Text, "raw": Text, "reason": Text, "outcome": Float, "p": Float}
    whole |= {"problem": Text, "tokens_in": BigInteger, "tokens_out": BigInteger, "counted": SmallInteger}
    whole |= {"ms": BigInteger, "tries": Integer, "cost": Float, "prompt": Text, "at": BigInteger, "done": BigInteger}
    needed = {"campaign", "request", "question", "judge", "first", "second", "turned", "prompt_hash", "parameters"}
    needed |= {"counted", "at", "number"}
    columns: list[Column[Any]] = [
        Column(name, kind, primary_key=name == "number", nullable=name not in needed) for name, kind in whole.items()
    ]
    Table(
        "call",
        as_then,
        *columns,
        UniqueConstraint("campaign", "request"),
        Index("call_of_question", "campaign", "judge", "question"),
        sqlite_autoincrement=True,
    )
    as_then.create_all(connection)


# STEPS[k] turns format k + 1 into k + 2. A step is never changed once it was released.
STEPS: tuple[Callable[[Connection], None], ...] = (_add_derived, _add_calls)


def bring_forward(connection: Connection, name: str) -> None:
    """Take every step that is missing, all in one transaction."""
    rows = connection.execute(select(tables.podium.c.format, tables.podium.c.version)).all()
    if len(rows) != 1 or not isinstance(rows[0][0], int) or rows[0][0] < 1:
        raise InputError(f"{name} does not say which format it has; it was damaged, or is no campaign: restore a copy")
    number, version = rows[0]
    newest = len(STEPS) + 1
    if number > newest:
        raise InputError(
            f"{name} has format {number}, written by podium {version}; this is podium {__version__}, which knows "
            f"formats up to {newest}: upgrade"
        )
    for step in STEPS[number - 1 :]:
        step(connection)
    if number < newest:
        connection.execute(update(tables.podium).values(format=newest, version=__version__))


assert len(STEPS) + 1 == FORMAT, "a format without a step that leads to it"
