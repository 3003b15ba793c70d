"""Fifty judges at a real server: `python -m benchmarks.app_load`.

A server of ten thousand items in memory (so that a sync costs nothing), and an empty one beside it that checks the same
body and stores nothing. Judges take turns between the two, request by request, so that a noisy moment hits both. Then
one judge in a browser: from a key to the next pair on the screen.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import multiprocessing
import shutil
import socket
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import httpx
import numpy as np

from benchmarks import app as one_process
from benchmarks.printed import head, row
from podium.web import forms

JUDGES = 50
TITLES = {"vote": "vote", "next": "next pair, without its sync"}
MEMORY = Path("/dev/shm")


def serve_ours(path: str, port: int) -> None:
    """A server on a campaign, until it is ended."""
    import uvicorn

    from podium.store import open_store
    from podium.web.app import make_app

    app = make_app(open_store(path), url=f"http://127.0.0.1:{port}")
    app.state.podium.requests.most = 10**9
    app.state.podium.today.most = 10**9
    uvicorn.run(app, port=port, log_level="error", timeout_keep_alive=600)


def serve_empty(port: int) -> None:
    """A server that takes the same requests and does nothing."""
    import uvicorn
    from fastapi import FastAPI

    app = FastAPI()

    @app.post("/api/v1/votes")
    async def vote(body: forms.VotesIn) -> dict[str, Any]:
        return {"receipts": [{"status": "stored"} for _ in body.votes], "questions": [{"id": 1}]}

    @app.get("/api/v1/next")
    async def following() -> dict[str, Any]:
        return {"questions": [{"id": 1}]}

    uvicorn.run(app, port=port, log_level="error", timeout_keep_alive=600)


def free_port() -> int:
    """A port nobody has now."""
    with socket.socket() as door:
        door.bind(("127.0.0.1", 0))
        return int(door.getsockname()[1])


@contextlib.contextmanager
def running(serve: Any, *arguments: Any) -> Iterator[str]:
    """A server in a process of its own; its address."""
    port = free_port()
    process = multiprocessing.get_context("spawn").Process(target=serve, args=(*arguments, port), daemon=True)
    process.start()
    try:
        for _ in range(600):
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
                break
            time.sleep(0.1)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.join()


async def judge(
    ours: httpx.AsyncClient, empty: httpx.AsyncClient, token: str, votes: int, pace: float, took: Any
) -> None:
    """One judge: thinks for a while, asks both servers the same, and notes how long each took."""
    rng = np.random.default_rng(abs(hash(token)) % 2**32)
    headers = {"Authorization": f"Bearer {token}", "X-Podium": "1"}

    async def timed(name: str, client: httpx.AsyncClient, method: str, path: str, body: Any = None) -> Any:
        begun = time.perf_counter()
        answer = await client.request(method, path, json=body, headers=headers)
        took[name].append(time.perf_counter() - begun)
        answer.raise_for_status()
        return answer.json()

    hand = (await timed("first next", ours, "GET", "/api/v1/next"))["questions"]
    for step in range(votes):
        await asyncio.sleep(rng.exponential(pace))
        body = {"votes": [{"id": f"{token[:8]}-{step}", "question": hand[0]["id"], "outcome": 1.0, "ms": 900}]}
        answer = await timed("vote", ours, "POST", "/api/v1/votes", body)
        assert answer["receipts"][0]["status"] == "stored", answer
        hand = answer["questions"]
        await timed("empty vote", empty, "POST", "/api/v1/votes", body)
        await timed("next", ours, "GET", "/api/v1/next")
        await timed("empty next", empty, "GET", "/api/v1/next")


async def crowd(ours: str, empty: str, tokens: list[str], votes: int, pace: float) -> dict[str, list[float]]:
    """All judges at once."""
    took: dict[str, list[float]] = defaultdict(list)
    limits = httpx.Limits(max_connections=None)
    async with (
        httpx.AsyncClient(base_url=ours, timeout=60, limits=limits) as one,
        httpx.AsyncClient(base_url=empty, timeout=60, limits=limits) as two,
    ):
        await asyncio.gather(*(judge(one, two, token, votes, pace, took) for token in tokens))
    return took


def key_to_pair(address: str, token: str, keys: int) -> list[float]:
    """Milliseconds from a key to the next pair on the screen, in Chromium, as the page itself sees it."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        system = shutil.which("chromium") or shutil.which("google-chrome")
        browser = play.chromium.launch(executable_path=system, args=["--no-sandbox"])
        page = browser.new_page()
        page.goto(f"{address}/j#{token}")
        page.get_by_role("button", name="Start").click()
        page.locator("#left").wait_for()
        page.evaluate(WATCH)
        for count in range(1, keys + 1):
            page.wait_for_timeout(700)  # a key too soon after a pair is not taken
            page.keyboard.press("ArrowLeft")
            page.wait_for_function("(count) => window.took.length >= count", arg=count)
        took: list[float] = page.evaluate("window.took")
        browser.close()
    return took


# Notes when a key goes down, and when after it other texts stand there and were painted.
WATCH = """() => {
  const text = () => [...document.querySelectorAll("#pair .text")].map((each) => each.innerText).join();
  window.took = [];
  addEventListener("keydown", () => {
    const begun = performance.now(), before = text();
    const look = () => text() === before ? requestAnimationFrame(look) : window.took.push(performance.now() - begun);
    look();
  }, true);
}"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--votes", type=int, default=40, help="votes of each judge")
    parser.add_argument("--pace", type=float, default=1.0, help="seconds a judge thinks, on average")
    parser.add_argument(
        "--keys", type=int, default=45, help="keys in the browser, below 50, where it offers a break; 0 leaves it out"
    )
    chosen = parser.parse_args()
    with TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None) as folder:
        data = one_process.campaign(np.random.default_rng(1), JUDGES + 1, Path(folder))
        with running(serve_ours, str(data["path"])) as ours, running(serve_empty) as empty:
            took = asyncio.run(crowd(ours, empty, data["tokens"][:JUDGES], chosen.votes, chosen.pace))
            keys = key_to_pair(ours, data["tokens"][JUDGES], chosen.keys) if chosen.keys else []
    head(f"{JUDGES} judges, {chosen.pace:g} s apart", "Requests", "Median", "p99", "p99 ÷ an empty handler's", "wanted")
    for name in ("vote", "next"):
        middle, high = np.quantile(took[name], [0.5, 0.99]) * 1000
        ratio = high / 1000 / np.quantile(took[f"empty {name}"], 0.99)
        row(TITLES[name], f"{len(took[name]):,}", f"{middle:.1f} ms", f"{high:.1f} ms", f"{ratio:.2f}", "at most 2")
    if keys:
        middle, high = np.quantile(keys, [0.5, 0.95])
        row(
            "key to next pair on the screen", len(keys), f"{middle:.0f} ms", f"{high:.0f} ms (p95)", "", "at most 50 ms"
        )


if __name__ == "__main__":
    main()
