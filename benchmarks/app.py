"""The app: what a vote costs beside an empty handler, and durable votes beside a handler that commits each by itself.

Requests go straight into the applications (ASGI), sixteen at a time: the same for all, and no HTTP parser in the way.
"""

from __future__ import annotations

import asyncio
import atexit
import json
import shutil
import sqlite3
import tempfile
import threading
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness import Data, Scenario, Way
from podium.web import forms

__all__ = ["SCENARIOS"]

JUDGES, EACH = 16, 20
ITEMS = 10_000


def campaign(rng: np.random.Generator, judges: int = JUDGES, folder: Path | None = None) -> Data:
    """A campaign with many items, its queue filled, and a link for each judge."""
    from podium.campaign import setup
    from podium.campaign.items import Items
    from podium.campaign.planning import plan_once
    from podium.store import open_store
    from podium.store.values import Item, Question, pair_of

    if folder is None:
        folder = Path(tempfile.mkdtemp(prefix="podium-bench-"))
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
    with open_store(str(folder / "campaign.db"), new=True) as store:
        items = Items([Item(-1, f"item {k}", body=f"Text {k}. " + "A short sentence. " * 20) for k in range(ITEMS)])
        store.write(0, lambda w: setup.new_campaign(w, items, title="B", question="Which?", now=store.now(), seed=1))
        made = store.write(1, lambda w: setup.invite(w, [f"judge {k}" for k in range(judges)], store.now()))
        plan_once(store, 1, store.now())
        pairs = {tuple(sorted(map(int, pair))) for pair in rng.integers(0, ITEMS, (12_000, 2)) if pair[0] != pair[1]}
        there = store.read(lambda reader: reader.active_pairs(1))
        fresh = [pair for pair in pairs if pair_of(*pair) not in there]
        more = [Question(*pair, "check", plan=1, place=10_000 + k) for k, pair in enumerate(fresh)]
        store.write(1, lambda w: w.add_questions(more))
    return {"path": folder / "campaign.db", "tokens": [token for _, token in made], "runs": [0]}


def call(app: Any, method: str, path: str, token: str, body: dict | None) -> Any:
    """One request, straight into an application; the answer's JSON."""
    data = b"" if body is None else json.dumps(body).encode()
    headers = {"authorization": f"Bearer {token}", "x-podium": "1", "host": "bench", "content-type": "application/json"}
    scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": method, "path": path,
        "raw_path": path.encode(), "query_string": b"", "root_path": "", "scheme": "http",
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
        "client": ("127.0.0.1", 1), "server": ("bench", 80),
    }  # fmt: skip

    async def go():
        said: list[bytes] = []
        sent = False

        async def receive():
            nonlocal sent
            if sent:
                await asyncio.sleep(3600)
            sent = True
            return {"type": "http.request", "body": data, "more_body": False}

        async def send(message):
            if message["type"] == "http.response.body":
                said.append(message.get("body", b""))

        await app(scope, receive, send)
        return json.loads(b"".join(said))

    return go()


def drive(app: Any, tokens: list[str], run: int, *, pairs: bool) -> int:
    """Sixteen judges vote at once, each twenty times; how many votes were taken."""

    async def judge(number: int) -> int:
        taken = 0
        hand = (await call(app, "GET", "/api/v1/next", tokens[number], None))["questions"] if pairs else [{"id": 1}]
        for step in range(EACH):
            vote = {"id": f"{run}-{number}-{step}", "question": hand[0]["id"], "outcome": 1.0, "ms": 900}
            answer = await call(app, "POST", "/api/v1/votes", tokens[number], {"votes": [vote]})
            taken += answer["receipts"][0]["status"] == "stored"
            hand = answer["questions"]
        return taken

    async def everybody() -> int:
        return sum(await asyncio.gather(*(judge(number) for number in range(JUDGES))))

    return asyncio.run(everybody())


def ours(data: Data):
    from podium.store import open_store
    from podium.web.app import make_app

    store = open_store(str(data["path"]))
    app = make_app(store)
    app.state.podium.requests.most = 10**9

    def run():
        data["runs"][0] += 1
        return np.array([drive(app, data["tokens"], data["runs"][0], pairs=True)])

    return run


def empty(data: Data):
    """A handler that takes the same body, checks it, and stores nothing."""
    from fastapi import FastAPI

    app = FastAPI()

    @app.post("/api/v1/votes")
    async def vote(body: forms.VotesIn) -> dict[str, Any]:
        return {"receipts": [{"status": "stored"} for _ in body.votes], "questions": [{"id": 1}]}

    return lambda: np.array([drive(app, data["tokens"], 0, pairs=False)])


def one_by_one(data: Data):
    """A handler that commits each vote by itself, synced, in a table with one index."""
    from fastapi import FastAPI

    connection = sqlite3.connect(data["path"].with_name("plain.db"), check_same_thread=False, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("CREATE TABLE IF NOT EXISTS vote (id TEXT PRIMARY KEY, question INT, outcome REAL)")
    turn, count = threading.Lock(), [0]
    app = FastAPI()

    @app.post("/api/v1/votes")
    def vote(body: forms.VotesIn) -> dict[str, Any]:
        for each in body.votes:
            with turn:
                count[0] += 1
                connection.execute("INSERT INTO vote VALUES (?, ?, ?)", (f"{each.id}-{count[0]}", 1, each.outcome))
        return {"receipts": [{"status": "stored"} for _ in body.votes], "questions": [{"id": 1}]}

    return lambda: np.array([drive(app, data["tokens"], 0, pairs=False)])


def taken(data: Data, votes: np.ndarray) -> str:
    return f"{votes[0]:.0f} votes"


SCENARIOS = (
    Scenario(
        "app-cpu",
        f"{JUDGES * EACH} votes of {JUDGES} judges on {ITEMS:,} items: CPU of the application",
        campaign,
        (Way("podium", ours, repeats=5, seconds=60), Way("an empty FastAPI handler", empty, reach=1 / 2.5, repeats=5)),
        quality=taken,
    ),
    Scenario(
        "app-votes",
        f"{JUDGES * EACH} durable votes of {JUDGES} judges at once, SQLite, seconds on the wall",
        campaign,
        (
            Way("podium", ours, repeats=5, seconds=60),
            Way("a handler that commits each vote by itself", one_by_one, reach=2, repeats=5),
        ),
        wall=True,
        quality=taken,
    ),
)
