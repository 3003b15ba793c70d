"""Jobs that came together over an event loop, what the writing thread remembers, and the sentences of each database."""

import asyncio
import os
import sqlite3
import threading
import time
from dataclasses import replace

import pytest
from sqlalchemy import text
from sqlalchemy.exc import IntegrityError, OperationalError

from podium.errors import InputError, RefusedError, UnavailableError
from podium.store import commits, file, open_store
from podium.store import reader as reading
from podium.store.commits import Job
from podium.store.content import load_times
from podium.store.file import is_campaign_file, read_campaign_file
from podium.store.sqlite import SQLiteStore
from podium.store.values import Call, Media, Question, Vote

from suites.store import new_campaign, vote


def together(store, campaign, *works):
    """Send jobs that may be repeated in one go, as a server does; what became of each."""

    async def send():
        loop = asyncio.get_running_loop()
        jobs = [Job(campaign, work, loop.create_future(), repeatable=True) for work in works]
        store.send(jobs)
        return await asyncio.gather(*(job.result for job in jobs), return_exceptions=True)

    return asyncio.run(send())


def adds(name, judge=0):
    return lambda writer: writer.append_votes([Vote(judge, name, 0, 1, 1.0)])[0].seq


def names(store, campaign):
    return [row.client_id for row in store.read(lambda reader: list(reader.votes(campaign)))]


def held_up(store, campaign, gate):
    """A job that holds the writing thread until the gate is open; it has begun, so whoever comes now is in the next."""
    begun = threading.Event()

    def hold(writer):
        begun.set()
        time.sleep(0.01)
        gate.wait()

    first = store.submit(campaign, hold)
    begun.wait()
    return first


def refuses(writer):
    raise RefusedError("no", "not this one")


def refuses_late(writer):
    adds("late")(writer)
    refuses(writer)


def test_jobs_of_an_event_loop_share_a_commit_and_each_has_its_answer(store):
    campaign = new_campaign(store)
    before = store.commits
    assert together(store, campaign, adds("a"), adds("b"), adds("c")) == [1, 2, 3]
    assert store.commits == before + 1
    assert names(store, campaign) == ["a", "b", "c"]


def test_a_job_refused_before_it_wrote_costs_no_second_try(store):
    campaign = new_campaign(store)
    runs = []

    def first(writer):
        runs.append(1)
        return adds("a")(writer)

    found = together(store, campaign, first, refuses, adds("b"))
    assert (found[0], str(found[1]), found[2]) == (1, "not this one", 2)
    assert len(runs) == 1
    assert names(store, campaign) == ["a", "b"]


@pytest.mark.parametrize("late", [refuses_late, adds("a")], ids=["refused after writing", "the same id again"])
def test_a_job_refused_after_it_wrote_makes_all_begin_anew_and_loses_only_its_own(store, late):
    campaign = new_campaign(store)
    runs = []

    def first(writer):
        runs.append(1)
        return adds("a")(writer)

    found = together(store, campaign, first, late, adds("b"))
    assert (found[0], found[2]) == (1, 2)
    assert isinstance(found[1], RefusedError)
    assert len(runs) == 2
    assert names(store, campaign) == ["a", "b"]
    assert vote(store, campaign, name="c").seq == 3


def test_a_database_that_fails_fails_every_job_of_the_commit(store):
    campaign = new_campaign(store)
    found = together(store, campaign, adds("a"), lambda writer: writer.aside.execute(text("SELECT no_such")))
    assert [type(each) for each in found] == [UnavailableError, UnavailableError]
    assert "no such column" in str(found[0])
    assert names(store, campaign) == []
    assert vote(store, campaign, name="c").seq == 1


def test_a_job_of_a_campaign_that_is_not_there_holds_up_nobody(store):
    campaign = new_campaign(store)
    lost = store.submit(campaign + 1, adds("x"))
    with pytest.raises(RefusedError, match=f"there is no campaign {campaign + 1}"):
        lost.result()
    assert vote(store, campaign, name="a").seq == 1


def test_nobody_waits_any_more(store):
    """A future that was cancelled and a loop that is closed hold up nothing; the work of the latter is on disk."""
    campaign = new_campaign(store)
    gate = threading.Event()
    first = held_up(store, campaign, gate)
    cancelled = store.submit(campaign, adds("cancelled"))
    assert cancelled.cancel()
    loop = asyncio.new_event_loop()
    gone, left = loop.create_future(), loop.create_future()
    gone.cancel()
    store.send([Job(campaign, adds("gone"), gone), Job(campaign, adds("left"), left)])
    loop.close()
    gate.set()
    first.result()
    assert vote(store, campaign, name="after").seq == 2
    assert names(store, campaign) == ["left", "after"]


def test_a_future_cancelled_while_its_job_ran_is_left_alone():
    loop = asyncio.new_event_loop()
    job, other = Job(1, adds("a"), loop.create_future()), Job(1, adds("b"), loop.create_future())
    job.result.cancel()
    commits._settle([(job, 1, None), (other, 2, None)])
    assert (job.result.cancelled(), other.result.result()) == (True, 2)
    loop.close()


def test_closing_writes_what_waits(path):
    store = open_store(str(path), new=True)
    campaign = new_campaign(store)
    gate = threading.Event()
    first = held_up(store, campaign, gate)
    jobs = [store.submit(campaign, adds(str(k))) for k in range(3)]
    closing = threading.Thread(target=store.close)
    closing.start()
    gate.set()
    closing.join()
    first.result()
    assert [job.result() for job in jobs] == [1, 2, 3]
    assert not store._committer._thread.is_alive()
    store.close()  # a second time is nothing
    with open_store(str(path)) as again:
        assert names(again, campaign) == ["0", "1", "2"]


def test_jobs_of_a_commit_go_by_campaign_whoever_came_first(store):
    one, two = new_campaign(store, "one"), new_campaign(store, "two")
    gate, order = threading.Event(), []
    first = held_up(store, one, gate)
    jobs = [store.submit(each, lambda writer: order.append(writer.locked.id)) for each in (two, one, two, one)]
    gate.set()
    for job in (first, *jobs):
        job.result()
    assert order == [one, one, two, two]


def test_a_commit_has_an_end(store, monkeypatch):
    monkeypatch.setattr(commits, "MAX_JOBS", 2)
    campaign = new_campaign(store)
    gate = threading.Event()
    first = held_up(store, campaign, gate)
    before = store.commits
    jobs = [store.submit(campaign, adds(str(k))) for k in range(4)]
    gate.set()
    first.result()
    assert [job.result() for job in jobs] == [1, 2, 3, 4]
    assert store.commits - before == 3  # the one that was held up, and two of two


# ---- what is read -------------------------------------------------------------------------------------------------


def test_a_campaign_in_its_own_transaction_is_as_it_was_changed(store):
    one, two = new_campaign(store, "one"), new_campaign(store, "two")

    def look(writer):
        writer.change(state="paused")
        return [writer.campaign(one).state, writer.campaign(two).state, [each.state for each in writer.campaigns()]]

    assert store.write(one, look) == ["paused", "open", ["paused", "open"]]
    for read in (store.read, lambda job: store.write(one, job)):
        with pytest.raises(RefusedError, match="there is no campaign 9; check its number"):
            read(lambda reader: reader.campaign(9))
        with pytest.raises(RefusedError, match="there is no judge 9 in this campaign"):
            read(lambda reader: reader.judge(one, 9))
    with pytest.raises(InputError, match="there is no campaign 9; check its number"):
        store.read(lambda reader: reader.content(9))


def test_another_campaign_s_judges_are_not_mixed_up_with_those_of_the_one_at_work(store):
    one, two = new_campaign(store, "one"), new_campaign(store, "two")
    store.write(two, lambda writer: writer.change_judge(0, name="another"))

    def look(writer):
        return [writer.judge(each, 0).name for each in (one, two, one, two)]

    assert store.write(one, look) == ["judge 0", "another", "judge 0", "another"]
    assert store.write(two, look) == ["judge 0", "another", "judge 0", "another"]


def test_one_row_of_the_log(store):
    one, two = new_campaign(store, "one"), new_campaign(store, "two")
    sent = vote(store, one, outcome=0.5, reason="why")
    vote(store, two, outcome=0.0)
    assert store.read(lambda reader: reader.vote(one, 1)) == sent
    assert store.read(lambda reader: reader.vote(one, 2)) is None
    assert store.read(lambda reader: reader.vote(two, 1)).outcome == 0.0


def test_how_many_questions_wait(store):
    one, two = new_campaign(store, "one"), new_campaign(store, "two")
    store.write(one, lambda writer: writer.add_questions([Question(0, 1), Question(0, 2), Question(1, 2)]))
    first = store.read(lambda reader: reader.questions(one, "open"))[0]
    store.write(one, lambda writer: writer.change_question(first, state="done"))
    assert [store.read(lambda reader, of=of: reader.count_open(of)) for of in (one, two)] == [2, 0]


def test_items_by_code_are_the_same_few_or_many(store):
    campaign = new_campaign(store, items=30)
    new_campaign(store, "two", items=40)
    whole = {item.code: item for item in store.read(lambda reader: reader.items(campaign))}
    for codes in ([], [3], [3, 7], [3, 7, 11], [29, 0, 2, 1], range(30), [35, 4]):
        expected = {code: whole[code] for code in codes if code in whole}
        assert store.read(lambda reader, codes=codes: reader.items_of(campaign, list(codes))) == expected


def test_long_logs_are_read_in_pieces(store, monkeypatch):

    campaign = new_campaign(store)
    store.write(campaign, lambda writer: writer.append_votes([Vote(0, str(k), 0, 1, 1.0) for k in range(7)]))
    calls = [Call(f"r{k}", k, 1, 0, 1, 0, None, "hash", "{}", at=5) for k in range(7)]
    store.write(campaign, lambda writer: writer.add_calls(calls))
    for most in (1, 2, 7, 100):
        monkeypatch.setattr(reading, "MOST_ROWS", most)
        assert [row.seq for row in store.read(lambda reader: list(reader.votes(campaign)))] == [*range(1, 8)]
        assert [row.seq for row in store.read(lambda reader: list(reader.votes(campaign, 4)))] == [5, 6, 7]
        assert store.read(lambda reader: list(reader.calls(campaign))) == calls


def test_how_many_votes_stand_and_came_and_were_skips(store):
    """Counted by hand: of six rows one is a skip, one is undone, one undoes, one is another judge's."""
    campaign = new_campaign(store)
    for k, row in enumerate([
        Vote(0, "a", 0, 1, 1.0, question=1, received=10), Vote(0, "b", 0, 2, None, question=2, received=20),
        Vote(0, "c", 0, 3, 0.0, question=3, received=30), Vote(0, "d", 0, 3, None, undoes=3, question=3, received=40),
        Vote(1, "e", 0, 2, None, question=2, received=50), Vote(1, "f", 0, 1, 0.5, question=1, received=60),
    ]):  # fmt: skip
        assert store.write(campaign, lambda writer, row=row: writer.append_votes([row]))[0].seq == k + 1

    def counts(reader):
        return (
            [reader.count_votes(campaign, judge) for judge in (0, 1, 2)],
            [reader.count_came(campaign, since) for since in (0, 10, 11, 60, 61)],
            [reader.count_skips(campaign, question) for question in (1, 2, 3)],
        )

    expected = [1, 1, 0], [2, 2, 1, 1, 0], [0, 2, 0]
    assert store.read(counts) == expected
    assert store.write(campaign, counts) == expected
    assert store.write(campaign, lambda writer: writer.append_votes([Vote(0, "g", 1, 2, 1.0)]))
    assert store.write(campaign, lambda writer: writer.count_votes(campaign, 0)) == 2
    store.write(campaign, lambda writer: writer.append_votes([Vote(0, "h", 1, 2, None, undoes=1)]))
    assert store.write(campaign, lambda writer: writer.count_votes(campaign, 0)) == 1
    assert [row.client_id for row in store.read(lambda reader: reader.history(campaign, 0, 2))] == ["g", "b"]


def test_counts_of_very_many_judges_are_forgotten_and_counted_anew(store, monkeypatch):
    monkeypatch.setattr("podium.store.transaction.MOST_COUNTS", 2)
    campaign = new_campaign(store, judges=4)
    store.write(campaign, lambda writer: writer.append_votes([Vote(j, str(j), 0, 1, 1.0) for j in range(4)]))
    found = store.write(campaign, lambda writer: [writer._count_votes(campaign, judge) for judge in (0, 1, 2, 3, 0)])
    assert found == [1] * 5
    assert len(store._committer._counts) <= 2


def test_the_same_id_is_appended_once(store):
    campaign = new_campaign(store)
    sent = Vote(0, "a", 0, 1, 1.0)
    assert store.write(campaign, lambda writer: writer.append_new(sent)) == replace(sent, seq=1)
    assert store.write(campaign, lambda writer: writer.append_new(sent)) is None
    assert store.write(campaign, lambda writer: writer.append_new(replace(sent, judge=1))).seq == 2
    assert store.read(lambda reader: reader.campaign(campaign)).last_vote == 2


def test_bytes_of_an_item_are_kept_once_a_campaign(store):
    one, two = new_campaign(store, "one"), new_campaign(store, "two")
    for campaign in (one, one, two):
        store.write(campaign, lambda writer: writer.add_media(Media("ab", "image/png", b"123")))
    assert store.read(lambda reader: reader.media_hashes(one)) == {"ab": 3}
    assert len(store.read(lambda reader: reader.run("SELECT * FROM media", {}))) == 2


def test_a_log_that_no_campaign_of_ours_holds_is_refused(path):
    with open_store(str(path), new=True) as store:
        campaign = new_campaign(store)
        vote(store, campaign)
    for damage, words in (
        ("UPDATE item SET code = 9 WHERE code = 3", "items of campaign 1 are missing"),
        ("DELETE FROM judge WHERE id = 0", "campaign 1 has votes of no judge"),
        ("UPDATE campaign SET id = 0", "campaign: id is 0"),
    ):
        copy = path.with_name("copy.db")
        copy.write_bytes(path.read_bytes())
        with sqlite3.connect(copy) as connection:
            connection.execute(damage)
        connection.close()
        with pytest.raises(InputError, match=words) as refused:
            read_campaign_file(str(copy))
        assert "copy.db is damaged: " in str(refused.value)
        assert "restore a copy" in str(refused.value)


def test_rows_of_the_log_that_cannot_be(store, path):
    campaign = new_campaign(store)
    store.write(campaign, lambda writer: writer.append_votes([Vote(0, "a", 0, 77, 1.0)]))
    with pytest.raises(InputError, match="rows that cannot be, it is damaged; restore a copy"):
        store.read(lambda reader: reader.content(campaign))


def test_times_of_votes_are_those_that_were_sent(store):
    campaign = new_campaign(store)
    rows = [Vote(0, str(k), 0, 1, 1.0, ms=ms) for k, ms in enumerate((None, 40, None, 70))]
    store.write(campaign, lambda writer: writer.append_votes(rows))
    assert store.read(lambda reader: load_times(reader.run, campaign, 4)).tolist() == [-1, 40, -1, 70]
    assert store.read(lambda reader: load_times(reader.run, campaign + 1, 2)).tolist() == [-1, -1]


# ---- files and their sentences ------------------------------------------------------------------------------------


def test_places_that_are_none(tmp_path):
    for where in (7, None, b"x", "nul\0byte", "half a letter \ud800", "\udfff"):
        with pytest.raises(InputError, match="is no place for campaigns; give the path of a file"):
            open_store(where)
    with pytest.raises(InputError, match="give another path"):
        open_store(str(tmp_path / ("x" * 300)), new=True)
    (tmp_path / "empty.db").touch()
    with pytest.raises(InputError, match="is empty, no campaign"):
        open_store(str(tmp_path / "empty.db"))
    with open_store(str(tmp_path / "empty.db"), new=True) as store:
        assert store.read(lambda reader: reader.campaigns()) == []
    with pytest.raises(InputError, match="holds no campaign; make one in it"):
        read_campaign_file(str(tmp_path / "empty.db"))


def test_what_is_no_campaign_file(tmp_path):
    assert not is_campaign_file(str(tmp_path))
    assert not is_campaign_file(str(tmp_path / "none.db"))
    assert not is_campaign_file("nul\0byte")
    (tmp_path / "votes.csv").write_text("winner,loser\na,b\n")
    assert not is_campaign_file(str(tmp_path / "votes.csv"))
    assert not is_campaign_file(f"{tmp_path / 'votes.csv'}#tea")


def test_a_name_with_a_sharp_is_a_file_where_there_is_one(tmp_path):
    odd = tmp_path / "cam#paign.db"
    with open_store(str(odd), new=True) as store:
        campaign = new_campaign(store, "tea")
    assert is_campaign_file(str(odd))
    assert read_campaign_file(str(odd)).campaign.id == campaign
    assert read_campaign_file(f"{odd}#tea").campaign.slug == "tea"


def test_a_file_of_an_older_or_newer_form_says_what_to_do(store, path):
    new_campaign(store)
    for number, words in ((1, "has the older format 1; any `podium campaign` command brings it forward"),
                          (99, "has format 99, written by podium 9.9; this is podium .*: upgrade")):  # fmt: skip
        change = text(f"UPDATE podium SET format = {number}, version = '9.9'")
        store.write(0, lambda writer, change=change: writer.connection.execute(change))
        with pytest.raises(InputError, match=words):
            read_campaign_file(str(path))


def test_a_file_that_cannot_be_begun_is_read_as_it_is_unless_a_server_left_it_open(store, path, monkeypatch):
    """Root reads and writes everywhere: the refusal of a read-only folder is the driver's own sentence."""
    campaign = new_campaign(store)
    store.close()
    begun, asked = file._begun, []

    def refused(address):
        asked.append(address)
        if not address.endswith("?mode=ro&immutable=1"):
            raise sqlite3.OperationalError("attempt to write a readonly database")
        return begun(address)

    monkeypatch.setattr(file, "_begun", refused)
    assert read_campaign_file(str(path)).campaign.id == campaign
    assert len(asked) == 2
    path.with_name("campaign.db-wal").touch()
    with pytest.raises(InputError, match="its folder is read-only and a server left it open; copy it elsewhere"):
        read_campaign_file(str(path))


def test_a_new_file_that_could_not_be_made_is_not_left_behind(path, monkeypatch):
    def fails(self):
        raise OperationalError("", {}, sqlite3.OperationalError("database or disk is full"))

    monkeypatch.setattr(SQLiteStore, "_tell_sizes", fails)
    with pytest.raises(UnavailableError, match="the disk is full; free some space"):
        open_store(str(path), new=True)
    assert not path.exists()
    path.touch()
    with pytest.raises(UnavailableError, match="the disk is full"):
        open_store(str(path), new=True)
    assert path.exists()  # it was there before


@pytest.mark.parametrize(
    ("said", "kind", "words"),
    [
        ("database or disk is full", UnavailableError, "the disk is full; free some space"),
        (
            "database is locked",
            UnavailableError,
            "is locked by another program; nothing was changed: close that program",
        ),
        ("database table is busy", UnavailableError, "is locked by another program"),
        ("attempt to write a readonly database", UnavailableError, "the disk is read-only; make it writable"),
        ("database disk image is malformed", InputError, r"is damaged \(database disk image is malformed\); restore"),
        ("file is not a database", InputError, "is damaged .*; restore a copy"),
        ("Could not decode to UTF-8 column", InputError, "is damaged .*; restore a copy"),
        ("interrupted", UnavailableError, "cannot be used now: interrupted; try again"),
    ],
)
def test_what_sqlite_says_and_what_it_means(store, said, kind, words):
    problem = OperationalError("SELECT 1", {}, sqlite3.OperationalError(f"{said}\nmore"))
    told = store.words(problem)
    assert type(told) is kind
    with pytest.raises(kind, match=words):
        raise told
    with pytest.raises(kind, match=words):
        raise store.words(sqlite3.OperationalError(said))


def test_what_sqlite_says_when_a_file_is_opened(store):
    for said, words in (("unable to open database file", "cannot be written: the file, its folder or the disk is"),
                        ("attempt to write a readonly database", "make it writable, or copy it elsewhere"),
                        ("file is not a database", "is no campaign: it is not an SQLite file"),
                        ("database is locked", "is locked by another program")):  # fmt: skip
        assert words in str(store._opening_words(OperationalError("", {}, sqlite3.OperationalError(said))))
    conflict = store.words(IntegrityError("", {}, sqlite3.IntegrityError("UNIQUE constraint failed")))
    assert (conflict.code, "(UNIQUE constraint failed); read it again" in str(conflict)) == ("conflict", True)


def test_a_disk_without_shared_memory_is_told(path, monkeypatch):
    """SQLite keeps another journal where it cannot have a write-ahead log."""
    connect = sqlite3.connect

    class NoShared(sqlite3.Cursor):
        def execute(self, sql, *values):
            return super().execute(sql.replace("journal_mode = WAL", "journal_mode = MEMORY"), *values)

    class Connection(sqlite3.Connection):
        def cursor(self, *_):
            return super().cursor(NoShared)

    monkeypatch.setattr(sqlite3.dbapi2, "connect", lambda *a, **more: connect(*a, **more, factory=Connection))
    with pytest.raises(InputError, match="on a disk without shared memory"):
        open_store(str(path), new=True)


def test_a_hold_is_let_go_at_the_end_of_its_block(store):
    with store.hold("plan") as held:
        assert held is not None
        assert store.holder("plan") is not None
        assert store.hold("plan") is None
    assert store.holder("plan") is None
    assert not held.keep()  # it is nobody's any more


def test_a_process_of_another_user_lives(store, monkeypatch):
    """Whoever may not be signalled is there; whoever is not there has let go."""
    held = store.hold("plan")
    asked = text("UPDATE hold SET pid = pid + 1")
    store.write(0, lambda writer: writer.connection.execute(asked))

    def kill(problem):
        def refuse(pid, signal):
            assert (pid, signal) == (os.getpid() + 1, 0)
            raise problem

        return refuse

    monkeypatch.setattr(os, "kill", kill(PermissionError()))
    assert store.hold("plan") is None
    assert store.holder("plan").startswith(f"process {os.getpid() + 1} on ")
    monkeypatch.setattr(os, "kill", kill(ProcessLookupError()))
    assert store.holder("plan") is None
    held.release()


def test_who_waited_at_the_last_commit_and_how_long_it_took(store):
    campaign = new_campaign(store)
    began, gate = time.monotonic(), threading.Event()
    first = held_up(store, campaign, gate)
    later = [store.submit(campaign, lambda writer: (store._committer._here, store._committer._took)) for _ in range(3)]
    gate.set()
    first.result()
    here, took = later[0].result()
    assert here == 4  # the one that was held up and the three that came meanwhile
    assert 0.01 <= took <= time.monotonic() - began


def test_whoever_forgets_to_close_a_store_still_ends(store):
    assert store._committer._thread.daemon


def test_what_postgresql_says_and_what_it_means():
    from podium.store.postgres import PostgresStore

    psycopg = pytest.importorskip("psycopg")
    store = PostgresStore.__new__(PostgresStore)
    store.name = "PostgreSQL here/tea"
    lost = store.words(OperationalError("SELECT 1", {}, psycopg.OperationalError("connection lost\nmore")))
    assert type(lost) is UnavailableError
    assert str(lost) == "PostgreSQL here/tea cannot be reached; is it running? Everything goes on when it is back"
    told = 'connection failed: server at "::1" failed: FATAL:  database "tee" does not exist\nmore'
    refused = str(store.words(OperationalError("", {}, psycopg.OperationalError(told))))
    assert refused.startswith('PostgreSQL here/tea refuses the connection: database "tee" does not exist; check ')
    late = store.words(OperationalError("SELECT 1", {}, psycopg.errors.QueryCanceled("statement timeout\nmore")))
    assert type(late) is UnavailableError
    assert str(late) == "PostgreSQL here/tea cannot be used now: statement timeout; try again"
    twice = store.words(IntegrityError("", {}, psycopg.errors.UniqueViolation("duplicate key\nDETAIL")))
    assert (twice.code, "(duplicate key); read it again" in str(twice)) == ("conflict", True)
    assert "now: odd; try again" in str(store.words(psycopg.Error("odd")))


def test_postgresql_that_is_not_there_and_an_address_that_is_none():
    pytest.importorskip("psycopg")
    with pytest.raises(UnavailableError, match=r"PostgreSQL 127\.0\.0\.1:1/tea cannot be reached; is it running"):
        open_store("postgres://podium:secret@127.0.0.1:1/tea")
    for address in ("postgresql://podium@127.0.0.1:port/tea", "postgresql:tea"):
        with pytest.raises(InputError, match="--db is no address of a database; give postgresql://"):
            open_store(address)
