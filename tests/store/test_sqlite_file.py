"""A campaign file in trouble: each trouble has its sentence, and what was acknowledged stays."""

import os
import shutil
import socket
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from sqlalchemy import event, text

from podium.errors import InputError, UnavailableError
from podium.store import open_store
from podium.store.file import is_campaign_file, read_campaign_file
from podium.store.values import Vote

from suites.store import new_campaign, vote

FORMATS = Path(__file__).parent / "formats"


def test_every_commit_is_synced(store):
    with store._writing.connect() as connection:
        assert connection.exec_driver_sql("PRAGMA journal_mode").scalar_one() == "wal"
        assert connection.exec_driver_sql("PRAGMA synchronous").scalar_one() == 2  # FULL


def test_whoever_waits_during_a_commit_is_in_the_next(store):
    campaign = new_campaign(store)
    gate = threading.Event()
    first = store.submit(campaign, lambda writer: gate.wait())
    before = store.commits
    jobs = [
        store.submit(campaign, lambda writer, k=k: writer.append_votes([Vote(0, str(k), 0, 1, 1.0)]))
        for k in range(100)
    ]
    gate.set()
    first.result()
    assert [job.result()[0].seq for job in jobs] == list(range(1, 101))
    assert store.commits - before <= 2  # the one that was held up, and one for all others


def test_the_next_commit_waits_a_moment_for_those_who_were_here_and_never_for_one_alone(store, monkeypatch):
    monkeypatch.setattr("podium.store.commits.MAX_WAIT", 60.0)
    campaign = new_campaign(store)
    writing = store._committer
    writing._took, writing._here = 240.0, 2  # as if two had waited for a slow disk
    before = store.commits
    first = store.submit(campaign, lambda writer: writer.append_votes([Vote(0, "first", 0, 1, 1.0)]))
    assert not first.done()
    second = store.submit(campaign, lambda writer: writer.append_votes([Vote(0, "second", 0, 1, 1.0)]))
    assert [job.result(timeout=30)[0].seq for job in (first, second)] == [1, 2]
    assert store.commits - before == 1
    writing._took, writing._here = 240.0, 1
    assert store.submit(campaign, lambda writer: writer.locked.last_vote).result(timeout=30) == 2


def test_what_the_driver_itself_raises_is_said_in_our_words(store):
    campaign = new_campaign(store)
    with pytest.raises(UnavailableError, match="cannot be used now: no such savepoint"):
        store.write(campaign, lambda writer: writer.raw("RELEASE SAVEPOINT job; "))
    assert vote(store, campaign, name="after").seq == 1


def test_a_full_disk_refuses_loses_nothing_and_recovers_by_itself(store):
    campaign = new_campaign(store)
    kept = [vote(store, campaign, name="before").client_id]
    limit = {"pages": 0}

    @event.listens_for(store._writing, "begin")
    def narrow(connection):
        connection.exec_driver_sql(f"PRAGMA max_page_count = {limit['pages'] or 1 << 30}")

    with store._reading.connect() as connection:
        limit["pages"] = connection.exec_driver_sql("PRAGMA page_count").scalar_one()
    refused = 0
    for k in range(40):
        name = f"{k}"
        try:
            vote(store, campaign, name=name, reason="x" * 2000)
            kept.append(name)
        except UnavailableError as problem:
            assert "the disk is full" in str(problem)  # noqa: PT017
            refused += 1
    assert refused > 0
    stored = [row.client_id for row in store.read(lambda r: list(r.votes(campaign)))]
    assert stored == kept
    limit["pages"] = 0
    kept.append(vote(store, campaign, name="after").client_id)
    assert [row.client_id for row in store.read(lambda r: list(r.votes(campaign)))] == kept


def test_a_full_disk_takes_back_the_whole_commit(store):
    """SQLite may roll back by itself: nobody of that commit may be told that it is stored."""
    campaign = new_campaign(store)
    gate = threading.Event()
    first = store.submit(campaign, lambda writer: gate.wait())
    small = store.submit(campaign, lambda w: w.append_votes([Vote(0, "small", 0, 1, 1.0)]))

    def huge(writer):
        writer.connection.exec_driver_sql("PRAGMA max_page_count = 1")  # rounds up to what is there
        writer.append_votes([Vote(0, "huge", 0, 1, 1.0, reason="x" * 500_000)])

    large = store.submit(campaign, huge)
    gate.set()
    stored = []
    for name, job in (("gate", first), ("small", small), ("huge", large)):
        try:
            job.result()
            stored.append(name)
        except UnavailableError:
            pass
    assert "huge" not in stored
    rows = [row.client_id for row in store.read(lambda r: list(r.votes(campaign)))]
    assert rows == [name for name in stored if name != "gate"]


def test_a_file_locked_by_another_program_is_told_and_then_goes_on(store, path, monkeypatch):
    campaign = new_campaign(store)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")

    @event.listens_for(store._writing, "connect")
    def impatient(connection, _):
        connection.execute("PRAGMA busy_timeout = 50")

    store._writing.dispose()
    with pytest.raises(UnavailableError, match="locked by another program"):
        vote(store, campaign, name="a")
    other.execute("ROLLBACK")
    other.close()
    assert vote(store, campaign, name="a").seq == 1


def test_a_second_server_is_refused_with_the_first_s_process_and_host(store, path):
    serving = store.serve()
    with open_store(str(path)) as second, pytest.raises(InputError, match=rf"served by process {os.getpid()} on "):
        second.serve()
    serving.release()
    with open_store(str(path)) as second:
        second.serve().release()


def test_a_lock_ends_with_its_process(store, path):
    code = f"""
import os, sys
from podium.store import open_store
store = open_store({str(path)!r})
held = store.hold("plan")
print(held is not None, flush=True)
sys.stdin.read()
"""
    other = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert other.stdout.readline().strip() == "True"
    assert store.hold("plan") is None
    assert store.holder("plan").startswith(f"process {other.pid} on ")
    other.kill()
    other.communicate()
    taken = store.hold("plan")
    assert taken is not None
    taken.release()


def test_a_lock_of_one_who_had_our_number_before_is_free(store):
    """In a container every server is process 1: after a crash the next one finds a lock that looks like its own."""
    store.hold("serve").release()
    row = {"pid": os.getpid(), "host": socket.gethostname(), "beat": store.now()}
    left = "INSERT INTO hold (name, pid, host, token, beat) VALUES ('serve', :pid, :host, 'of a crashed one', :beat)"
    store.write(0, lambda w: w.connection.execute(text(left), row))
    taken = store.hold("serve")
    assert taken is not None
    assert store.hold("serve") is None, "a lock that is really ours is taken once"
    taken.release()


def test_a_silent_holder_on_another_host_loses_its_lock(store):
    held = store.hold("plan")
    store.write(0, lambda w: w.connection.execute(text("UPDATE hold SET host = 'elsewhere'")))
    assert store.hold("plan") is None
    store.write(0, lambda w: w.connection.execute(text("UPDATE hold SET beat = beat - 31000")))
    assert store.holder("plan") is None
    taken = store.hold("plan")
    assert taken is not None
    assert not held.keep()
    held.release()  # what is no longer its own stays
    assert taken.keep()


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is empty, no campaign"),
        (b"left,right,outcome\na,b,1\n" * 50, "is no campaign: it is not an SQLite file"),
    ],
)
def test_a_file_that_is_no_campaign(path, content, words):
    path.write_bytes(content)
    with pytest.raises(InputError, match=words):
        open_store(str(path))
    assert path.read_bytes() == content


def test_an_sqlite_file_of_another_program(path):
    other = sqlite3.connect(path)
    other.execute("CREATE TABLE recipe (name)")
    other.commit()
    other.close()
    with pytest.raises(InputError, match="holds no campaigns"):
        open_store(str(path))
    with pytest.raises(InputError, match="but holds no campaign"):
        read_campaign_file(str(path))


def test_paths_that_cannot_be(tmp_path):
    with pytest.raises(InputError, match="no such file"):
        open_store(str(tmp_path / "none.db"))
    with pytest.raises(InputError, match="no such folder"):
        open_store(str(tmp_path / "none" / "c.db"), new=True)
    with pytest.raises(InputError, match="is a folder"):
        open_store(str(tmp_path), new=True)


def test_a_read_only_file(path):
    """Root writes everywhere, so the words of SQLite itself are what is tried."""
    with open_store(str(path), new=True) as store:
        new_campaign(store)
    if os.geteuid() != 0:
        path.chmod(0o400)
        with pytest.raises(InputError, match="cannot be written"):
            open_store(str(path))
        path.chmod(0o600)
    with open_store(str(path)) as store:
        from sqlalchemy.exc import OperationalError

        problem = OperationalError("", {}, sqlite3.OperationalError("attempt to write a readonly database"))
        assert "make it writable" in str(store._opening_words(problem))
        with pytest.raises(UnavailableError, match="read-only"):
            store.read(lambda reader: reader.connection.execute(text("DELETE FROM hold")))


def test_a_damaged_file_is_named(path):
    with open_store(str(path), new=True) as store:
        campaign = new_campaign(store, items=500)
        for k in range(30):
            vote(store, campaign, name=str(k), reason="x" * 1000)
    data = bytearray(path.read_bytes())
    data[8192:] = os.urandom(len(data) - 8192)
    path.write_bytes(data)
    with pytest.raises(InputError, match="restore a copy"):
        read_campaign_file(str(path))


def test_the_standard_library_reads_the_same(store, path):
    campaign = new_campaign(store)
    for k in range(5):
        vote(store, campaign, name=str(k), outcome=k % 2, predicted=0.9)
    assert is_campaign_file(str(path))
    there, here = read_campaign_file(str(path)), store.read(lambda reader: reader.content(campaign))
    assert (there.campaign, there.items, there.judges) == (here.campaign, here.items, here.judges)
    assert there.votes.outcome.tolist() == here.votes.outcome.tolist()
    assert there.votes.predicted().tolist() == here.votes.predicted().tolist()


def test_reading_a_file_needs_no_extra_and_leaves_it_alone(store, path):
    campaign = new_campaign(store)
    vote(store, campaign)
    store.close()
    before = path.read_bytes()
    code = (
        "import sys; sys.modules['sqlalchemy'] = None\n"
        "from podium.store.file import read_campaign_file\n"
        f"print(len(read_campaign_file({str(path)!r}).votes))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "1"
    assert path.read_bytes() == before


def test_one_of_several_campaigns_is_named(store, path):
    new_campaign(store, "one")
    two = new_campaign(store, "two", items=3)
    with pytest.raises(InputError, match=r"several campaigns: one, two; name one, as .*campaign\.db#one"):
        read_campaign_file(str(path))
    assert read_campaign_file(f"{path}#two").campaign.id == two
    with pytest.raises(InputError, match="no campaign 'three'; there are one, two"):
        read_campaign_file(f"{path}#three")


def test_a_log_with_rows_missing_is_refused(store, path):
    campaign = new_campaign(store)
    vote(store, campaign)
    store.write(campaign, lambda writer: writer.change(last_vote=2))
    with pytest.raises(InputError, match="has 1 rows and should have 2"):
        read_campaign_file(str(path))


@pytest.mark.parametrize("number", range(1, 4))
def test_files_of_every_format_are_opened(number, tmp_path):
    """A dump of a file of each format there ever was, written by the version that had it."""
    path = tmp_path / "old.db"
    old = sqlite3.connect(path)
    old.executescript((FORMATS / f"{number}.sql").read_text())
    old.close()
    with open_store(str(path)) as store:
        campaign = store.read(lambda reader: reader.campaigns())[0]
        rows = store.read(lambda reader: list(reader.votes(campaign.id)))
        assert [(row.seq, row.outcome, row.undoes) for row in rows] == [
            (1, 1.0, None),
            (2, 0.0, None),
            (3, None, 2),
            (4, 0.5, None),
        ]
        assert [item.label for item in store.read(lambda reader: reader.items(campaign.id))] == ["tea", "milk", "café"]
        assert vote(store, campaign.id).seq == 5
    assert len(read_campaign_file(str(path)).votes) == 5


def test_a_file_brought_forward_has_the_tables_of_a_new_one(tmp_path):
    shapes = []
    for number in (1, 2, 3, None):
        path = tmp_path / f"{number}.db"
        if number is not None:
            old = sqlite3.connect(path)
            old.executescript((FORMATS / f"{number}.sql").read_text())
            old.close()
        open_store(str(path), new=number is None).close()
        file = sqlite3.connect(path)
        names = [row[0] for row in file.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")]
        shape = {}
        for name in names:
            if not name.startswith("sqlite_"):  # name, type, whether it may be empty, and its place in the key
                columns = file.execute(f"PRAGMA table_info('{name}')").fetchall()
                shape[name] = sorted((row[1], row[2], row[3], row[5]) for row in columns)
        shapes.append(shape)
        indexes = file.execute("SELECT name FROM sqlite_master WHERE type IN ('index', 'trigger') AND sql IS NOT NULL")
        shapes[-1]["indexes"] = sorted(row[0] for row in indexes)
        file.close()
    for shape in shapes[:-1]:
        assert shape == shapes[-1]


def test_every_format_has_its_file():
    from podium.store.values import FORMAT

    assert sorted(each.name for each in FORMATS.iterdir()) == [f"{number}.sql" for number in range(1, FORMAT + 1)]


def test_a_copy_of_the_file_is_a_copy_of_the_campaign(store, path, tmp_path):
    campaign = new_campaign(store)
    vote(store, campaign)
    store.close()  # the write-ahead log is in the file now
    shutil.copy(path, tmp_path / "copy.db")
    assert len(read_campaign_file(str(tmp_path / "copy.db")).votes) == 1
