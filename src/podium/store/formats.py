"""What is on disk has one number. An older database is brought forward step by step; there is no way back."""

from __future__ import annotations

from collections.abc import Callable

from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    Integer,
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    Table,
    Text,
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


# STEPS[k] turns format k + 1 into k + 2. A step is never changed once it was released.
STEPS: tuple[Callable[[Connection], None], ...] = (_add_derived,)


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
