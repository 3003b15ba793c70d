"""Campaigns on disk: durable votes beside one commit a vote, and a start with a million votes beside plain sqlite3."""

from __future__ import annotations

import atexit
import shutil
import sqlite3
import tempfile
import threading
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness import Data, Scenario, Way

__all__ = ["SCENARIOS"]

CLIENTS, EACH = 16, 25
ITEMS, VOTES = 1000, 1_000_000
COLUMNS = 'campaign, seq, client_id, judge, "left", "right", outcome, kind, version, received'


def folder() -> Path:
    made = Path(tempfile.mkdtemp(prefix="podium-bench-"))
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return made


def blank(path: Path, items: int, judges: int) -> None:
    """A campaign without votes."""
    from podium.campaign import setup
    from podium.campaign.items import Items
    from podium.store import open_store
    from podium.store.values import Item

    with open_store(str(path), new=True) as store:
        made = Items([Item(-1, f"item {code}") for code in range(items)])
        store.write(0, lambda w: setup.new_campaign(w, made, title="Bench", question="Which?", now=1, seed=1))
        store.write(1, lambda w: setup.invite(w, [f"judge {k}" for k in range(judges)], 1))


def empty(rng: np.random.Generator) -> Data:
    path = folder() / "commits.db"
    blank(path, 10, CLIENTS)
    return {"path": path, "runs": [0]}


def million(rng: np.random.Generator) -> Data:
    """A million votes of a Bradley-Terry model: as a server leaves its file, with one vote more, and the bare log."""
    from podium.campaign.planning import plan_once
    from podium.store import open_store
    from podium.store.values import Vote

    path = folder() / "million.db"
    blank(path, ITEMS, 50)
    truth = rng.normal(0, 1.5, ITEMS)
    left = rng.integers(0, ITEMS, VOTES)
    right = (left + rng.integers(1, ITEMS, VOTES)) % ITEMS
    won = rng.random(VOTES) < 1 / (1 + np.exp(truth[right] - truth[left]))
    judge = rng.integers(0, 50, VOTES)
    rows = zip(range(1, VOTES + 1), judge.tolist(), left.tolist(), right.tolist(), won.tolist(), strict=True)
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA synchronous = OFF")
        connection.executemany(
            f"INSERT INTO vote ({COLUMNS}) VALUES (1, ?, ?, ?, ?, ?, ?, 'chosen', 1, 1)",
            ((seq, str(seq), who, a, b, float(wins)) for seq, who, a, b, wins in rows),
        )
        connection.execute("UPDATE campaign SET last_vote = ?", (VOTES,))
    connection.close()
    bare = path.with_name("bare.db")
    shutil.copy(path, bare)
    with open_store(str(path)) as store:
        plan_once(store, 1, store.now())
    later = path.with_name("later.db")
    shutil.copy(path, later)
    with open_store(str(later)) as store:
        store.write(1, lambda writer: writer.append_votes([Vote(0, "one more", 0, 1, 1.0)]))
    return {"path": path, "later": later, "bare": bare}


def in_threads(write: Any) -> None:
    threads = [threading.Thread(target=write, args=(judge,)) for judge in range(CLIENTS)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()


def ours(data: Data):
    """Sixteen clients who wait for their commit; those who wait share one."""
    from podium.store import open_store
    from podium.store.values import Vote

    store = open_store(str(data["path"]))

    def run():
        data["runs"][0] += 1
        number = data["runs"][0]

        def write(judge):
            for k in range(EACH):
                vote = Vote(judge, f"a{number}-{k}", 0, 1, 1.0)
                store.write(1, lambda writer, vote=vote: writer.append_votes([vote]))

        before = store.commits
        in_threads(write)
        return np.array([store.commits - before])

    return run


def one_by_one(data: Data):
    """The same rows by the standard library, each committed by itself."""
    connection = sqlite3.connect(data["path"], check_same_thread=False, isolation_level=None)
    connection.execute("PRAGMA synchronous = FULL")
    turn = threading.Lock()
    insert = (
        'INSERT INTO vote (campaign, seq, client_id, judge, "left", "right", outcome, kind, version, received) '
        "VALUES (1, (SELECT last_vote FROM campaign), ?, ?, 0, 1, 1.0, 'chosen', 1, 1)"
    )

    def run():
        data["runs"][0] += 1
        number = data["runs"][0]

        def write(judge):
            for k in range(EACH):
                with turn:
                    connection.execute("BEGIN IMMEDIATE")
                    connection.execute("UPDATE campaign SET last_vote = last_vote + 1")
                    connection.execute(insert, (f"b{number}-{k}", judge))
                    connection.execute("COMMIT")

        in_threads(write)
        return np.array([CLIENTS * EACH])

    return run


def commits(data: Data, found: np.ndarray) -> str:
    return f"{found[0]:.0f} commits"


def start(name: str):
    """Open, give a judge the first question, read the log, show the ranking."""

    def prepare(data: Data):
        import podium.campaign.planning  # noqa: F401
        from podium.campaign import desk
        from podium.campaign.standing import standing
        from podium.store import open_store

        def run():
            with open_store(str(data[name])) as store:
                hand = store.write(1, lambda writer: desk.next_pairs(writer, 7, store.now(), 1))
                places = standing(store.read(lambda reader: reader.content(1))).places
            assert hand.questions
            return np.argsort([place.code for place in places])

        return run

    return prepare


def plain(data: Data):
    """Read every row by sqlite3 and fit Bradley-Terry."""
    from podium.data.comparisons import Comparisons
    from podium.pairwise.bradley_terry import BradleyTerry

    def run():
        connection = sqlite3.connect(data["bare"])
        rows = connection.execute('SELECT "left", "right", outcome, judge FROM vote ORDER BY seq').fetchall()
        connection.close()
        table = np.array(rows)
        codes = table[:, 0].astype(np.int32), table[:, 1].astype(np.int32)
        outcome = np.sign(2 * table[:, 2] - 1).astype(np.int8)
        return -BradleyTerry().fit(Comparisons(range(ITEMS), *codes, outcome=outcome)).ranking_.scores

    return run


SCENARIOS = (
    Scenario(
        "store-commits",
        f"{CLIENTS * EACH} durable votes of {CLIENTS} clients, SQLite, seconds on the wall",
        empty,
        (
            Way("podium, who waits shares a commit", ours, repeats=30, seconds=60),
            Way("one commit a vote", one_by_one, reach=2, repeats=30, seconds=60),
        ),
        wall=True,
        quality=commits,
    ),
    Scenario(
        "store-start",
        f"First question and ranking of a campaign with {VOTES:,} votes",
        million,
        (
            Way("podium, as a server left the file", start("path"), repeats=2),
            Way("podium, one vote later: snapshots, a new ranking", start("later"), repeats=2),
            Way("podium, the bare log", start("bare"), repeats=2),
            Way("sqlite3 rows and a Bradley-Terry fit", plain, reach=1 / 0.6, repeats=2),
        ),
        full=True,
    ),
)
