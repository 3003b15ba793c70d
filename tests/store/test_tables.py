"""The tables are those of every file of this format: kept as written by the version that brought it."""

import types
import typing
from dataclasses import fields
from pathlib import Path

import pytest
from sqlalchemy import JSON, Column, Integer, MetaData, Table, Text, create_engine, create_mock_engine
from sqlalchemy.exc import IntegrityError
from sqlalchemy.pool import StaticPool

from podium.errors import InputError
from podium.store import formats, tables
from podium.store.formats import bring_forward
from podium.store.values import FORMAT, Call, Campaign, Event, Item, Judge, Media, Question, Vote

FORMATS = Path(__file__).parent / "formats"


def in_memory():
    return create_engine("sqlite://", poolclass=StaticPool)


def dumped(number):
    """A file of that format, in memory."""
    engine = in_memory()
    with engine.connect() as connection:
        connection.connection.executescript((FORMATS / f"{number}.sql").read_text())
    return engine


def shape(engine):
    """Of each table, index and trigger what SQLite knows of it; columns by name, those of an index in their order."""
    with engine.connect() as connection:
        run = connection.exec_driver_sql
        found = {}
        for kind, name, table, sql in run("SELECT type, name, tbl_name, sql FROM sqlite_master").all():
            if name == "sqlite_sequence" or table == "log":
                continue
            if kind == "table":
                columns = sorted((row[1], row[2], row[3], row[4], row[5]) for row in run(f"PRAGMA table_info({name})"))
                found[name] = columns, "AUTOINCREMENT" in sql, "WITHOUT ROWID" in sql
            elif kind == "trigger":
                found[name] = table, " ".join(sql.split())
        for table in [name for name, value in found.items() if isinstance(value[0], list)]:
            for _, name, unique, origin, partial in run(f"PRAGMA index_list({table})").all():
                columns = tuple(row[2] for row in run(f"PRAGMA index_info({name})"))
                own = "" if name.startswith("sqlite_") else name
                found[table, own, columns] = unique, origin, partial
        where = run("SELECT sql FROM sqlite_master WHERE name = 'question_once'").scalar_one()
        found["question_once"] = where.partition(" WHERE ")[2]
    return found


def log(allowed):
    """A table of our own, only added to."""
    table = Table("log", MetaData(), Column("a", Integer), Column("b", Text))
    tables._append_only(table, allowed)
    return table


def made():
    """All tables, and a log of our own beside them."""
    engine = in_memory()
    tables.METADATA.create_all(engine)
    log(None).create(engine)
    return engine


def test_a_new_database_has_the_tables_of_its_format():
    assert shape(made()) == shape(dumped(FORMAT))


# Which columns may be empty: those whose value may be None.
VALUES = {
    "campaign": (Campaign, {}), "item": (Item, {"campaign"}), "media": (Media, {"campaign", "size"}),
    "judge": (Judge, {"campaign"}), "question": (Question, {"campaign", "pair"}), "vote": (Vote, {"campaign"}),
    "event": (Event, {"campaign"}), "call": (Call, {"campaign", "number"}),
}  # fmt: skip


@pytest.mark.parametrize("name", VALUES)
def test_a_column_may_be_empty_where_its_value_may_be_none(name):
    value, beside = VALUES[name]
    hints = typing.get_type_hints(value)
    columns = tables.METADATA.tables[name].columns
    assert set(columns.keys()) == {each.name for each in fields(value)} | set(beside)
    for each in fields(value):
        assert columns[each.name].nullable == (types.NoneType in typing.get_args(hints[each.name])), each.name
    assert not any(columns[each].nullable for each in beside)


def test_the_other_tables_have_no_column_that_may_be_empty():
    others = set(tables.METADATA.tables) - VALUES.keys()
    assert others == {"podium", "lease", "snapshot", "derived", "item_text", "hold"}
    for name in others:
        assert not any(column.nullable for column in tables.METADATA.tables[name].columns), name


@pytest.mark.parametrize(("name", "number"), [("campaign", "id"), ("question", "id"), ("call", "number")])
def test_rows_are_numbered_by_the_database_where_they_have_no_number(name, number):
    """And never a second time, also after the last row is gone."""
    table = tables.METADATA.tables[name]
    row = filled(table)
    del row[number]
    with made().begin() as connection:
        for k in (1, 2, 3):
            again = connection.execute(table.insert().values(row | ({"slug": f"{k}"} if name == "campaign" else {})))
            assert again.inserted_primary_key == (k,)
            connection.execute(table.delete())
    assert table.columns[number].autoincrement is True


def filled(table):
    """A row with something in every column."""
    some = {"TEXT": "t", "JSON": [], "FLOAT": 0.5, "BLOB": b""}
    row = {column.name: some.get(str(column.type), 1) for column in table.columns}
    return row | ({"state": "open"} if "state" in row else {})


def test_features_that_are_not_there_are_no_json():
    assert tables.item.c.features.type.none_as_null is True
    engine = made()
    row = {"campaign": 1, "code": 0, "label": "tea", "kind": "text", "added": 0, "features": None}
    with engine.begin() as connection:
        connection.execute(tables.item.insert().values(row))
        assert connection.exec_driver_sql("SELECT features IS NULL FROM item").scalar_one() == 1
    assert isinstance(tables.judge.c.conflicts.type, JSON)


@pytest.mark.parametrize(
    ("table", "same", "other"),
    [
        ("item", {"campaign": 1, "label": "tea"}, {"code": 1}),
        ("item", {"campaign": 1, "code": 0}, {"label": "milk"}),
        ("judge", {"campaign": 1, "name": "ann"}, {"id": 1, "token_hash": None}),
        ("judge", {"token_hash": "h"}, {"campaign": 2}),
        ("judge", {"campaign": 1, "outside_id": "x"}, {"id": 1, "name": "bob", "token_hash": None}),
        ("campaign", {"slug": "tea"}, {"id": 2}),
        ("vote", {"campaign": 1, "judge": 0, "client_id": "v"}, {"seq": 2, "undoes": None}),
        ("vote", {"campaign": 1, "undoes": 7}, {"seq": 2, "client_id": "w"}),
        ("call", {"campaign": 1, "request": "r"}, {"number": 2}),
        ("question", {"campaign": 1, "pair": 5}, {"id": 2, "state": "out"}),
    ],
)
def test_what_is_there_once_is_there_once(table, same, other):
    """A second row with the same is refused, and with another of each is not."""
    table = tables.METADATA.tables[table]
    one = filled(table)
    with made().begin() as connection:
        connection.execute(table.insert().values(one | same))
        with pytest.raises(IntegrityError, match="UNIQUE"):
            connection.execute(table.insert().values(one | same | other))


def test_a_pair_that_was_asked_may_be_asked_again():
    row = {"campaign": 1, "plan": 0, "place": 0, "left": 0, "right": 1, "pair": 5, "kind": "chosen", "wanted": 1}
    with made().begin() as connection:
        for state in ("done", "tired", "done", "open"):
            connection.execute(tables.question.insert().values(**row, state=state))
        for state in ("open", "out"):
            with pytest.raises(IntegrityError, match="UNIQUE"):
                connection.execute(tables.question.insert().values(**row, state=state))


# ---- logs that are only added to ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("allowed", "change", "goes"),
    [
        (None, "UPDATE log SET b = NULL", False),
        (None, "DELETE FROM log", False),
        ("NEW.b IS NOT DISTINCT FROM OLD.b", "UPDATE log SET a = 7", True),
        ("NEW.b IS NOT DISTINCT FROM OLD.b", "UPDATE log SET b = 'y'", False),
        ("NEW.b IS NOT DISTINCT FROM OLD.b", "DELETE FROM log", False),
    ],
)
def test_a_log_takes_only_the_change_that_is_allowed(allowed, change, goes):
    engine = in_memory()
    log(allowed).create(engine)
    with engine.begin() as connection:
        connection.exec_driver_sql("INSERT INTO log VALUES (1, 'x')")
        if goes:
            connection.exec_driver_sql(change)
        else:
            with pytest.raises(IntegrityError, match="log is append-only"):
                connection.exec_driver_sql(change)
        rows = connection.exec_driver_sql("SELECT a, b FROM log").all()
    assert rows == [(7 if goes else 1, "x")]


def said_to(dialect, table):
    """What a database of that kind is told to make a table."""
    said = []
    engine = create_mock_engine(f"{dialect}://", lambda sql, *_: said.append(str(sql.compile(dialect=engine.dialect))))
    table.create(engine, checkfirst=False)
    return [" ".join(each.split()) for each in said[1:]]


@pytest.mark.parametrize("allowed", [None, "NEW.b IS NOT DISTINCT FROM OLD.b"])
def test_each_database_is_told_in_its_own_words(allowed):
    unless = "" if allowed is None else f"WHEN (NOT ({allowed}))"
    raising = "RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'log is append-only'; END $$"
    expected = []
    for verb, when in (("UPDATE", unless), ("DELETE", "")):
        name = f"log_no_{verb.lower()}"
        expected.append(f"CREATE OR REPLACE FUNCTION {name}() {raising}")
        trigger = f"CREATE TRIGGER {name} BEFORE {verb} ON log FOR EACH ROW {when} EXECUTE FUNCTION {name}()"
        expected.append(" ".join(trigger.split()))
    assert said_to("postgresql+psycopg", log(allowed)) == expected
    plain = [each.replace("IS NOT DISTINCT FROM", "IS") for each in (unless, "")]
    assert said_to("sqlite", log(allowed)) == [
        " ".join(f"CREATE TRIGGER log_no_{verb.lower()} BEFORE {verb} ON log FOR EACH ROW {when} "
                 "BEGIN SELECT RAISE(ABORT, 'log is append-only'); END".split())
        for verb, when in zip(("UPDATE", "DELETE"), plain, strict=True)
    ]  # fmt: skip


COLUMNS = [column.name for column in tables.vote.columns if column.name != "reason"]


@pytest.mark.parametrize("name", COLUMNS)
def test_nothing_of_a_vote_can_be_changed_with_its_reason(name):
    """Neither a value nor what is empty; only the reason can be emptied."""
    row = {key: cell for key, cell in filled(tables.vote).items() if key == name or not tables.vote.c[key].nullable}
    row |= {"reason": "why"}
    other = {"TEXT": "'u'", "FLOAT": "0.25"}.get(str(tables.vote.c[name].type), "2")
    with made().begin() as connection:
        run = connection.exec_driver_sql
        connection.execute(tables.vote.insert().values(row))
        for value in (other, "NULL") if tables.vote.c[name].nullable else (other,):
            with pytest.raises(IntegrityError, match="vote is append-only"):
                run(f'UPDATE vote SET "{name}" = {value}, reason = NULL')
        with pytest.raises(IntegrityError, match="vote is append-only"):
            run("UPDATE vote SET reason = 'because'")
        assert run(f'SELECT "{name}", reason FROM vote').one() == (row[name], "why")
        run("UPDATE vote SET reason = NULL")
        assert run(f'SELECT "{name}", reason FROM vote').one() == (row[name], None)


# ---- from format to format ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", range(1, FORMAT + 1))
def test_an_older_database_brought_forward_is_as_a_new_one(number):
    engine = dumped(number)
    with engine.begin() as connection:
        bring_forward(connection, "old.db")
        assert connection.exec_driver_sql("SELECT format FROM podium").all() == [(FORMAT,)]
    assert shape(engine) == shape(dumped(FORMAT))


def test_a_step_adds_what_its_format_brought_and_nothing_else():
    for number, step in enumerate(formats.STEPS, start=1):
        engine = dumped(number)
        with engine.begin() as connection:
            step(connection)
        assert shape(engine) == shape(dumped(number + 1))


def test_who_brought_a_database_forward_is_written_down():
    from podium import __version__

    for number, expected in ((1, __version__), (FORMAT, "0.0.7")):
        engine = dumped(number)
        with engine.begin() as connection:
            connection.exec_driver_sql("UPDATE podium SET version = '0.0.7'")
            bring_forward(connection, "old.db")
            assert connection.exec_driver_sql("SELECT format, version FROM podium").all() == [(FORMAT, expected)]


@pytest.mark.parametrize(
    "damage",
    ["DELETE FROM podium", "INSERT INTO podium VALUES (3, '0.1.0')", "UPDATE podium SET format = 0",
     "UPDATE podium SET format = -1", "UPDATE podium SET format = 'three'", "UPDATE podium SET format = 2.5"],
)  # fmt: skip
def test_a_database_that_does_not_say_its_format_is_refused(damage):
    with dumped(FORMAT).begin() as connection:
        connection.exec_driver_sql(damage)
        with pytest.raises(InputError) as caught:
            bring_forward(connection, "old.db")
    assert str(caught.value) == (
        "old.db does not say which format it has; it was damaged, or is no campaign: restore a copy"
    )  # fmt: skip


def test_a_database_of_a_newer_podium_is_left_alone():
    from podium import __version__

    with dumped(FORMAT).begin() as connection:
        connection.exec_driver_sql(f"UPDATE podium SET format = {FORMAT + 1}, version = '9.9'")
        with pytest.raises(InputError) as caught:
            bring_forward(connection, "new.db")
    assert str(caught.value) == (
        f"new.db has format {FORMAT + 1}, written by podium 9.9; this is podium {__version__}, "
        f"which knows formats up to {FORMAT}: upgrade"
    )
