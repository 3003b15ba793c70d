"""One file: how it is opened, what SQLite is told, who holds what, and what is left behind."""

import os
import socket
import sqlite3
import threading
import time
from types import SimpleNamespace

import pytest
from sqlalchemy import select, text
from sqlalchemy.exc import OperationalError

from podium.errors import InputError, UnavailableError
from podium.store import file, open_store, sqlite
from podium.store.file import is_campaign_file, read_campaign_file
from podium.store.sqlite import SIZES, SQLiteStore, _check_path, _is_free
from podium.store.tables import holds
from podium.store.values import FORMAT

from suites.store import new_campaign, vote


def pragma(engine, name):
    with engine.connect() as connection:
        return connection.exec_driver_sql(f"PRAGMA {name}").scalar_one()


def test_both_kinds_of_connections_are_set_up(store):
    for engine, flag in ((store._reading, 1), (store._writing, 0)):
        assert pragma(engine, "query_only") == flag
        assert pragma(engine, "journal_mode") == "wal"
        assert pragma(engine, "synchronous") == 2  # FULL
        assert pragma(engine, "cache_size") == -32_768  # kilobytes
        assert pragma(engine, "busy_timeout") == 5000
        with engine.connect() as connection:
            assert connection.connection.dbapi_connection.isolation_level is None


def test_who_writes_has_the_file_from_the_beginning_and_who_reads_waits_for_nobody(store, path):
    with sqlite3.connect(path, timeout=0.0) as other, store._reading.begin() as reading:
        reading.exec_driver_sql("SELECT * FROM podium")
        other.execute("BEGIN IMMEDIATE")
        other.execute("ROLLBACK")
    with store._writing.begin(), pytest.raises(sqlite3.OperationalError, match="locked"):
        other.execute("BEGIN IMMEDIATE")
    other.close()


def test_sqlite_is_told_once_how_a_long_log_is_spread(path):
    for _ in range(2):
        with open_store(str(path), new=True) as store:
            told = store.read(lambda reader: reader.run("SELECT tbl, idx, stat FROM sqlite_stat1", {}))
        assert sorted(told) == sorted(SIZES)


def test_what_it_is_told_is_about_indexes_there_are(store):
    """Rows of the table, then how many agree in the first column, the first two, and so on."""
    with store._reading.connect() as connection:
        for table, index, sizes in SIZES:
            names = [row[1] for row in connection.exec_driver_sql(f"PRAGMA index_list({table})")]
            if index == table:  # the table itself, which has no rows of their own
                columns = [row for row in connection.exec_driver_sql(f"PRAGMA table_info({table})") if row[5]]
            else:
                assert index in names
                columns = list(connection.exec_driver_sql(f"PRAGMA index_info({index})"))
            numbers = [int(number) for number in sizes.split()]
            assert len(numbers) == len(columns) + 1
            assert numbers == sorted(numbers, reverse=True)


def test_queries_go_by_what_it_was_told_from_the_first_one_on(path):
    """Connections read the sizes when they are made: those made before are let go."""
    with open_store(str(path), new=True) as store:
        sql = "EXPLAIN QUERY PLAN SELECT count(*) FROM vote WHERE campaign = 1 AND judge = 2 AND seq > 5"
        for engine in (store._reading, store._writing):
            with engine.connect() as connection:
                assert "vote_of_judge" in str(connection.exec_driver_sql(sql).all())


def test_a_cell_that_is_no_json_is_a_sentence(store):
    new_campaign(store)
    spoil = text("UPDATE campaign SET options = '[1'")
    store.write(0, lambda writer: writer.connection.execute(spoil))
    with pytest.raises(InputError, match=r"a cell holds '\[1', no JSON, the database is damaged; restore a copy"):
        store.read(lambda reader: reader.campaigns())


# ---- what is left behind --------------------------------------------------------------------------------------------


def refused(path, work=None, *, problem=None):
    with pytest.raises(type(problem)), open_store(str(path), new=True) as store:  # noqa: PT012
        if work is not None:
            work(store)
        raise problem


def test_a_new_file_in_which_all_was_refused_is_not_left_behind(path):
    refused(path, problem=InputError("no"))
    assert not path.exists()


def test_a_file_with_a_campaign_stays(path):
    refused(path, new_campaign, problem=InputError("no"))
    with open_store(str(path)) as store:
        assert [each.slug for each in store.read(lambda reader: reader.campaigns())] == ["tea"]


def test_a_file_from_before_or_after_another_trouble_stays(path):
    refused(path, problem=UnavailableError("no"))
    assert path.exists()
    refused(path, problem=InputError("no"))  # it was there before
    assert path.exists()


def test_a_new_file_stays_where_nothing_was_refused(path):
    with open_store(str(path), new=True) as store:
        pass
    assert path.exists()
    assert not store._committer._thread.is_alive()


def test_a_store_that_refused_is_closed(path):
    stores = []
    refused(path, stores.append, problem=InputError("no"))
    refused(path, stores.append, problem=UnavailableError("no"))
    assert not any(store._committer._thread.is_alive() for store in stores)


def test_a_stranger_s_file_is_left_as_it_was(path):
    """Tables of ours without the one that says the format, or none of ours where nothing new was asked for."""
    for names, new, words in (("vote", True, "holds no campaigns; `podium campaign new` makes some"),
                              ("recipe", False, "holds no campaigns; `podium campaign new` makes some")):  # fmt: skip
        path.unlink(missing_ok=True)
        with sqlite3.connect(path) as other:
            other.execute(f"CREATE TABLE {names} (name)")
        other.close()
        with pytest.raises(InputError) as caught:
            open_store(str(path), new=new)
        assert str(caught.value) == f"{path} {words}"
        with sqlite3.connect(path) as other:
            assert other.execute("SELECT name FROM sqlite_master").fetchall() == [(names,)]
        other.close()
    with open_store(str(path), new=True) as store:  # beside another program's tables, where asked for
        assert store.format() == FORMAT


def writing_threads():
    return [thread for thread in threading.enumerate() if thread.name == "podium-writer"]


@pytest.mark.parametrize("problem", [InputError("odd"), OperationalError("", {}, sqlite3.OperationalError("odd"))])
def test_a_file_that_cannot_be_opened_leaves_no_thread_and_no_file(path, monkeypatch, problem):
    """Also where there never was one to remove."""

    def fails(self, *, new):
        raise problem

    monkeypatch.setattr(SQLiteStore, "_prepare", fails)
    before = len(writing_threads())
    with pytest.raises((InputError, UnavailableError), match="odd"):
        open_store(str(path), new=True)
    assert len(writing_threads()) == before
    assert not path.exists()


def test_nothing_is_made_unless_asked_for(path):
    with pytest.raises(InputError, match="no such file"):
        SQLiteStore(path)
    with pytest.raises(InputError, match="no such file"):
        open_store(str(path))
    assert not path.exists()


def test_a_new_database_says_who_made_it(store):
    from podium import __version__

    assert store.read(lambda reader: reader.run("SELECT * FROM podium", {})) == [(FORMAT, __version__)]
    assert store.format() == FORMAT


def test_closing_lets_go_of_every_connection(path):
    store = open_store(str(path), new=True)
    new_campaign(store)
    store.read(lambda reader: reader.campaigns())
    let_go = []
    for name in ("_reading", "_writing"):
        dispose = getattr(store, name).dispose
        setattr(store, name, SimpleNamespace(dispose=lambda name=name, real=dispose: (let_go.append(name), real())))
    store.close()
    assert let_go == ["_reading", "_writing"]
    assert not path.with_name("campaign.db-wal").exists()  # SQLite removes it with the last connection


# ---- paths ----------------------------------------------------------------------------------------------------------


def test_paths_are_looked_at_before_anything_is_made(tmp_path):
    def said(path, new):
        with pytest.raises(InputError) as caught:
            _check_path(path, new)
        return str(caught.value)

    nothing, empty, deep = tmp_path / "none.db", tmp_path / "empty.db", tmp_path / "none" / "c.db"
    empty.touch()
    assert said(tmp_path, True) == f"{tmp_path} is a folder; name a file, such as {tmp_path / 'campaign.db'}"
    assert said(nothing, False) == (
        f"no such file: {nothing}; check the path, or make a campaign by `podium campaign new`"
    )  # fmt: skip
    assert said(deep, True) == f"no such folder: {tmp_path / 'none'}; make it first"
    assert said(empty, False) == f"{empty} is empty, no campaign; check the path"
    long = tmp_path / ("x" * 300)
    assert said(long, True) == f"{str(long)[:60]}…: File name too long; give another path"
    _check_path(nothing, True)
    _check_path(empty, True)
    full = tmp_path / "full.db"
    full.write_text("x")
    _check_path(full, False)


@pytest.mark.parametrize("name", ["what?mode=ro.db", "fifty%20.db", "a#b.db"])
def test_a_path_with_signs_that_an_address_would_read(tmp_path, name):
    path = tmp_path / name
    with open_store(str(path), new=True) as store:
        campaign = new_campaign(store)
    assert path.exists()
    assert read_campaign_file(str(path)).campaign.id == campaign


@pytest.mark.parametrize(
    ("text", "name"),
    [("c.db", None), ("c.db#tea", "tea"), ("c.db#a#b", "b"), ("c.db#", "")],
)
def test_a_campaign_is_named_after_the_last_sharp(tmp_path, text, name):
    found, said = file._parted(str(tmp_path / text))
    assert said == name
    assert str(found) == str(tmp_path / (text if name is None else text.rpartition("#")[0]))


def test_what_is_no_sqlite_file(tmp_path):
    path = tmp_path / "c.db"
    for head, is_one in ((b"SQLite format 3\x00", True), (b"SQLite format 3", False), (b"SQLite format 4\x00", False)):
        path.write_bytes(head)
        assert is_campaign_file(str(path)) is is_one
        assert is_campaign_file(f"{path}#tea") is is_one
    path.write_bytes(b"SQLite format 3\x00more")
    assert is_campaign_file(str(path))


@pytest.mark.parametrize(
    ("problem", "words"),
    [
        (sqlite3.DatabaseError("malformed"), "{} cannot be read: malformed; restore a copy"),
        (InputError("x, the database is damaged; restore a copy"), "{} is damaged: x; restore a copy"),
        (InputError("its own words"), "its own words"),
        (ValueError("one\ntwo"), "{} is damaged: one; restore a copy"),
        (KeyError(), "{} is damaged: KeyError; restore a copy"),
        (TypeError("odd"), "{} is damaged: odd; restore a copy"),
        (OverflowError("odd"), "{} is damaged: odd; restore a copy"),
    ],
)
def test_every_trouble_of_a_file_is_a_sentence_and_it_is_closed(store, path, problem, words):
    with pytest.raises(InputError) as caught, file._opened(path) as connection:
        raise problem
    assert str(caught.value) == words.format(path)
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        connection.execute("SELECT 1")
    with file._opened(path) as connection:
        assert connection.in_transaction
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        connection.execute("SELECT 1")


def test_a_file_is_read_in_one_state_and_never_written(store, path):
    campaign = new_campaign(store)
    with file._opened(path) as connection:
        before = connection.execute("SELECT count(*) FROM vote").fetchone()
        vote(store, campaign)
        assert connection.execute("SELECT count(*) FROM vote").fetchone() == before == (0,)
        with pytest.raises(sqlite3.OperationalError, match="readonly"):
            connection.execute("DELETE FROM podium")


@pytest.mark.parametrize("problem", [sqlite3.OperationalError("unable to open"), KeyboardInterrupt()])
def test_a_file_that_cannot_be_begun_is_closed(monkeypatch, problem):
    class Connection:
        closed = 0

        def execute(self, sql):
            raise problem

        def close(self):
            self.closed += 1

    connection, asked = Connection(), []
    monkeypatch.setattr(sqlite3, "connect", lambda *given, **named: asked.append((given, named)) or connection)
    with pytest.raises(type(problem)):
        file._begun("file:c.db?mode=ro")
    assert connection.closed == 1
    assert asked == [(("file:c.db?mode=ro",), {"uri": True, "isolation_level": None, "timeout": 5.0})]


@pytest.mark.parametrize("number", [FORMAT - 1, FORMAT, FORMAT + 1])
def test_only_its_own_format_is_read(store, path, number):
    new_campaign(store)
    change = text(f"UPDATE podium SET format = {number}, version = '9.9'")
    store.write(0, lambda writer: writer.connection.execute(change))
    if number == FORMAT:
        assert read_campaign_file(str(path)).campaign.slug == "tea"
        return
    from podium import __version__

    with pytest.raises(InputError) as caught:
        read_campaign_file(str(path))
    assert str(caught.value) == (
        f"{path} has the older format {number}; any `podium campaign` command brings it forward"
        if number < FORMAT
        else f"{path} has format {number}, written by podium 9.9; this is podium {__version__}, which knows "
        f"formats up to {FORMAT}: upgrade"
    )


@pytest.mark.parametrize("missing", ["podium", "campaign", "vote"])
def test_a_file_without_one_of_our_tables_is_none(path, missing):
    with sqlite3.connect(path) as other:
        for name in {"podium", "campaign", "vote"} - {missing}:
            other.execute(f"CREATE TABLE {name} (x)")
    other.close()
    with pytest.raises(InputError) as caught:
        read_campaign_file(str(path))
    assert str(caught.value) == f"{path} is an SQLite file, but holds no campaign; check the path"


# ---- locks ----------------------------------------------------------------------------------------------------------


def row(**more):
    return SimpleNamespace(**{"beat": 1_000_000, "host": socket.gethostname(), "pid": os.getpid(), "token": "t"} | more)


@pytest.mark.parametrize(("since", "free"), [(0, False), (30_000, False), (30_001, True), (-30_000, False), (-30_001, True)])  # noqa: E501  # fmt: skip
def test_a_lock_of_another_host_is_free_after_half_a_minute_of_silence(since, free):
    assert _is_free(row(host="elsewhere"), 1_000_000 + since) is free


def test_a_lock_of_this_process_is_free_unless_it_is_ours(monkeypatch):
    monkeypatch.setattr(sqlite, "_OURS", {"mine"})
    assert _is_free(row(token="mine"), 1_000_000) is False
    assert _is_free(row(token="another"), 1_000_000) is True
    assert _is_free(row(token="mine"), 1_030_001) is True  # whoever is silent for so long has lost it
    asked = []

    def kill(pid, signal):
        asked.append((pid, signal))

    monkeypatch.setattr(sqlite.os, "kill", kill)
    assert _is_free(row(pid=os.getpid() + 1), 1_000_000) is False  # it lives
    assert asked == [(os.getpid() + 1, 0)]


def test_a_lock_says_who_has_it_since_when(store):
    before = store.now()
    held = store.hold("plan")
    (kept,) = store.read(lambda reader: reader.connection.execute(select(holds)).all())
    assert (kept.name, kept.pid, kept.host) == ("plan", os.getpid(), socket.gethostname())
    assert before <= kept.beat <= store.now()
    assert len(kept.token) >= 32
    assert store.holder("plan") == f"process {os.getpid()} on {socket.gethostname()}"
    assert store.holder("another") is None
    held.release()
    assert store.read(lambda reader: reader.connection.execute(select(holds)).all()) == []


def test_a_lock_is_kept_alive_by_its_holder_alone(store):
    one, other = store.hold("one"), store.hold("other")
    late = text("UPDATE hold SET beat = beat - 20000")
    store.write(0, lambda writer: writer.connection.execute(late))
    assert one.keep() is True
    beats = dict(store.read(lambda reader: reader.run("SELECT name, beat FROM hold", {})))
    assert store.now() - beats["one"] < 15_000
    assert store.now() - beats["other"] >= 20_000
    one.release()
    assert one.keep() is False
    assert other.keep() is True
    other.release()


def test_tokens_are_remembered_while_they_are_held(store):
    before = set(sqlite._OURS)
    held = store.hold("plan")
    assert len(sqlite._OURS - before) == 1
    assert store.hold("plan") is None
    assert len(sqlite._OURS - before) == 1
    held.release()
    assert before == sqlite._OURS


def test_a_server_says_who_serves_already(store):
    with store.serve():
        with pytest.raises(InputError) as caught:
            store.serve()
        assert str(caught.value) == (
            f"{store.name} is served by process {os.getpid()} on {socket.gethostname()} already; "
            "stop that one, or use PostgreSQL for several"
        )
    store.serve().release()


def test_the_clock_is_that_of_the_host_in_milliseconds(store):
    before = time.time()
    now = store.now()
    assert int(1000 * before) <= now <= 1000 * time.time()
    assert store.remote is False


def test_what_is_remembered_holds_while_nobody_else_writes(store, path):
    """SQLite's own number changes with a commit of another connection, not with ours."""

    def version():
        with store._writing.connect() as connection:
            return store._version(connection)

    campaign = new_campaign(store)
    first = version()
    vote(store, campaign)
    assert version() == first
    with sqlite3.connect(path) as other:
        other.execute("UPDATE campaign SET title = 'other'")
    other.close()
    assert version() != first
    assert version()[0] is first[0]
    assert store.write(campaign, lambda writer: writer.locked.title) == "other"
