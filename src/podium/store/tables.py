"""The tables, once for both databases.

Votes and events are append-only, by triggers: no row of theirs is ever changed or removed, but the free text of a
vote's reason, which can be emptied when a person is erased. Questions, leases and snapshots are derived.
"""

from __future__ import annotations

from sqlalchemy import (
    DDL,
    JSON,
    BigInteger,
    Column,
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
    event,
    text,
)

__all__ = [
    "METADATA",
    "call",
    "campaign",
    "derived",
    "events",
    "holds",
    "item",
    "item_text",
    "judge",
    "lease",
    "media",
    "podium",
    "question",
    "snapshot",
    "vote",
]

METADATA = MetaData()
ACTIVE = text("state IN ('open', 'out')")

# One row: which form the whole database has.
podium = Table("podium", METADATA, Column("format", Integer, nullable=False), Column("version", Text, nullable=False))

campaign = Table(
    "campaign",
    METADATA,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("slug", Text, nullable=False, unique=True),
    Column("title", Text, nullable=False),
    Column("question", Text, nullable=False),
    Column("instructions", Text, nullable=False),
    Column("version", Integer, nullable=False),
    Column("options", JSON, nullable=False),
    Column("seed", BigInteger, nullable=False),
    Column("state", Text, nullable=False),
    Column("admin_hash", Text, nullable=False),
    Column("made", BigInteger, nullable=False),
    Column("last_vote", BigInteger, nullable=False),
    Column("last_event", BigInteger, nullable=False),
    Column("plans", Integer, nullable=False),
    Column("planned_at", BigInteger, nullable=False),
    sqlite_autoincrement=True,
)

item = Table(
    "item",
    METADATA,
    Column("campaign", Integer, nullable=False),
    Column("code", Integer, nullable=False),
    Column("label", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("body", Text),
    Column("media", Text),
    Column("features", JSON(none_as_null=True)),
    Column("added", BigInteger, nullable=False),
    Column("withdrawn", BigInteger),
    PrimaryKeyConstraint("campaign", "code"),
    UniqueConstraint("campaign", "label"),
)

media = Table(
    "media",
    METADATA,
    Column("campaign", Integer, nullable=False),
    Column("sha256", Text, nullable=False),
    Column("type", Text, nullable=False),
    Column("size", BigInteger, nullable=False),
    Column("bytes", LargeBinary, nullable=False),
    PrimaryKeyConstraint("campaign", "sha256"),
)

judge = Table(
    "judge",
    METADATA,
    Column("campaign", Integer, nullable=False),
    Column("id", Integer, nullable=False),
    Column("name", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("token_hash", Text, unique=True),
    Column("outside_id", Text),
    Column("state", Text, nullable=False),
    Column("target", Integer),
    Column("made", BigInteger, nullable=False),
    Column("seen", BigInteger),
    Column("conflicts", JSON, nullable=False),
    PrimaryKeyConstraint("campaign", "id"),
    UniqueConstraint("campaign", "name"),
    UniqueConstraint("campaign", "outside_id"),
)

question = Table(
    "question",
    METADATA,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("campaign", Integer, nullable=False),
    Column("plan", Integer, nullable=False),
    Column("place", Integer, nullable=False),
    Column("left", Integer, nullable=False),
    Column("right", Integer, nullable=False),
    Column("pair", BigInteger, nullable=False),
    Column("kind", Text, nullable=False),
    Column("wanted", Integer, nullable=False),
    Column("predicted", Float),
    Column("state", Text, nullable=False),
    Column("judge", Integer),
    Column("until", BigInteger),
    Index("question_queue", "campaign", "state", "plan", "place"),
    Index("question_held", "campaign", "judge", "state"),
    # No pair is in the queue, or in somebody's hands, twice.
    Index("question_once", "campaign", "pair", unique=True, sqlite_where=ACTIVE, postgresql_where=ACTIVE),
    sqlite_autoincrement=True,
)

# Whom a question was given to, ever: a late vote is known by it, and nobody is given a question a second time.
lease = Table(
    "lease",
    METADATA,
    Column("campaign", Integer, nullable=False),
    Column("question", Integer, nullable=False),
    Column("judge", Integer, nullable=False),
    Column("pair", BigInteger, nullable=False),
    Column("shown", BigInteger, nullable=False),
    PrimaryKeyConstraint("campaign", "question", "judge"),
    Index("lease_pair", "campaign", "judge", "pair"),
)

vote = Table(
    "vote",
    METADATA,
    Column("campaign", Integer, nullable=False),
    Column("seq", BigInteger, nullable=False),
    Column("client_id", Text, nullable=False),
    Column("judge", Integer, nullable=False),
    Column("question", Integer),
    Column("left", Integer, nullable=False),
    Column("right", Integer, nullable=False),
    Column("outcome", Float),
    Column("reason", Text),
    Column("undoes", BigInteger),
    Column("kind", Text, nullable=False),
    Column("version", Integer, nullable=False),
    Column("predicted", Float),
    Column("ms", BigInteger),
    Column("shown", BigInteger),
    Column("received", BigInteger, nullable=False),
    PrimaryKeyConstraint("campaign", "seq"),
    UniqueConstraint("campaign", "judge", "client_id"),
    UniqueConstraint("campaign", "undoes"),
    Index("vote_of_judge", "campaign", "judge", "seq"),
    Index("vote_of_question", "campaign", "question", "judge"),
    sqlite_with_rowid=False,
)

events = Table(
    "event",
    METADATA,
    Column("campaign", Integer, nullable=False),
    Column("seq", BigInteger, nullable=False),
    Column("at", BigInteger, nullable=False),
    Column("who", Text, nullable=False),
    Column("verb", Text, nullable=False),
    Column("data", JSON, nullable=False),
    PrimaryKeyConstraint("campaign", "seq"),
)

snapshot = Table(
    "snapshot",
    METADATA,
    Column("campaign", Integer, nullable=False),
    Column("seq", BigInteger, nullable=False),
    Column("format", SmallInteger, nullable=False),
    Column("bytes", LargeBinary, nullable=False),
    Column("checksum", Text, nullable=False),
    PrimaryKeyConstraint("campaign", "seq"),
)

# What was computed from the log up to a position, by which version: never needed, only quicker than computing it again.
derived = Table(
    "derived",
    METADATA,
    Column("campaign", Integer, nullable=False),
    Column("name", Text, nullable=False),
    Column("last_vote", BigInteger, nullable=False),
    Column("last_event", BigInteger, nullable=False),
    Column("version", Text, nullable=False),
    Column("bytes", LargeBinary, nullable=False),
    Column("checksum", Text, nullable=False),
    PrimaryKeyConstraint("campaign", "name"),
)

# Texts that go with an item beside its body: a context, a reference answer.
item_text = Table(
    "item_text",
    METADATA,
    Column("campaign", Integer, nullable=False),
    Column("item", Integer, nullable=False),
    Column("name", Text, nullable=False),
    Column("body", Text, nullable=False),
    PrimaryKeyConstraint("campaign", "item", "name"),
)

# Requests to models, each written before it goes out and completed when its answer is there.
call = Table(
    "call",
    METADATA,
    Column("number", Integer, primary_key=True, autoincrement=True),
    Column("campaign", Integer, nullable=False),
    Column("request", Text, nullable=False),
    Column("question", Integer, nullable=False),
    Column("judge", Integer, nullable=False),
    Column("first", Integer, nullable=False),
    Column("second", Integer, nullable=False),
    Column("turned", SmallInteger, nullable=False),
    Column("again", Text),
    Column("prompt_hash", Text, nullable=False),
    Column("parameters", Text, nullable=False),
    Column("model", Text),
    Column("raw", Text),
    Column("reason", Text),
    Column("outcome", Float),
    Column("p", Float),
    Column("problem", Text),
    Column("tokens_in", BigInteger),
    Column("tokens_out", BigInteger),
    Column("counted", SmallInteger, nullable=False),
    Column("ms", BigInteger),
    Column("tries", Integer),
    Column("cost", Float),
    Column("prompt", Text),
    Column("at", BigInteger, nullable=False),
    Column("done", BigInteger),
    UniqueConstraint("campaign", "request"),
    Index("call_of_question", "campaign", "judge", "question"),
    sqlite_autoincrement=True,
)

# Who serves and who plans, where the database itself has no locks that end with a process.
holds = Table(
    "hold",
    METADATA,
    Column("name", Text, primary_key=True),
    Column("pid", Integer, nullable=False),
    Column("host", Text, nullable=False),
    Column("token", Text, nullable=False),
    Column("beat", BigInteger, nullable=False),
)

SAME = " AND ".join(
    f"NEW.{column.name} IS NOT DISTINCT FROM OLD.{column.name}"
    for column in vote.columns
    if column.name not in ("reason", "left", "right")
)
SAME += ' AND NEW."left" = OLD."left" AND NEW."right" = OLD."right" AND NEW.reason IS NULL'


def _append_only(table: Table, allowed: str | None) -> None:
    """Let the database itself refuse to change or remove a row, but for the change that is `allowed`."""
    for verb in ("UPDATE", "DELETE"):
        name = f"{table.name}_no_{verb.lower()}"
        head = f"CREATE TRIGGER {name} BEFORE {verb} ON {table.name} FOR EACH ROW"
        unless = f"WHEN (NOT ({allowed}))" if allowed and verb == "UPDATE" else ""
        words = f"{table.name} is append-only"
        plain = unless.replace("IS NOT DISTINCT FROM", "IS")  # which SQLite has long known, by the shorter name
        _after(table, "sqlite", f"{head} {plain} BEGIN SELECT RAISE(ABORT, '{words}'); END")
        raising = f"$$ BEGIN RAISE EXCEPTION '{words}'; END $$"
        _after(
            table, "postgresql", f"CREATE OR REPLACE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql AS {raising}"
        )
        _after(table, "postgresql", f"{head} {unless} EXECUTE FUNCTION {name}()")


def _after(table: Table, dialect: str, statement: str) -> None:
    event.listen(table, "after_create", DDL(statement).execute_if(dialect=dialect))  # type: ignore[no-untyped-call]


_append_only(vote, SAME)
_append_only(events, None)
