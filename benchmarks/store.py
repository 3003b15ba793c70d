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
    """A file with a million votes of a Bradley-Terry model, once with snapshots and once without."""
    from podium.campaign.planning import keep_snapshots
    from podium.store import open_store

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
        keep_snapshots(store, store.read(lambda reader: reader.content(1)))
    return {"path": path, "bare": bare}


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
    """Open, read the log, give the first question and the ranking."""

    def prepare(data: Data):
        import podium.campaign.planning  # noqa: F401
        from podium.campaign.choosing import loaded_planner
        from podium.campaign.live import live_votes
        from podium.campaign.options import Options
        from podium.campaign.standing import standing
        from podium.store import open_store

        def run():
            with open_store(str(data[name])) as store:
                content = store.read(lambda reader: reader.content(1))
            live = live_votes(content)
            loaded_planner(content.items, live, Options.of(content.campaign.options), 1).plan(1)
            places = standing(content).places
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
            Way("podium, from snapshots", start("path"), repeats=2),
            Way("podium, without snapshots", start("bare"), repeats=2),
            Way("sqlite3 rows and a Bradley-Terry fit", plain, reach=1 / 0.6, repeats=2),
        ),
        full=True,
    ),
)
