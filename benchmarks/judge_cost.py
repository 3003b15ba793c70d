"""What our own work costs: CPU a call and calls a second beside bare clients, pairs beside an ideal asker, the start.

Called by `python -m benchmarks.judge client`, `pairs` and `start`.
"""

from __future__ import annotations

import asyncio
import json
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.printed import head, row

SERVER = """
import asyncio, json, sys
BODY = json.dumps({"model": "m", "choices": [{"message": {"content": '{"reason": "so", "winner": "A"}'},
    "finish_reason": "stop"}], "usage": {"prompt_tokens": 100, "completion_tokens": 10}}).encode()
async def serve(reader, writer):
    try:
        while True:
            head = (await reader.readuntil(b"\\r\\n\\r\\n")).decode().lower()
            size = int(head.split("content-length:")[1].split("\\r\\n")[0])
            await reader.readexactly(size)
            await asyncio.sleep(float(sys.argv[1]))
            writer.write(b"HTTP/1.1 200 OK\\r\\nContent-Length: %d\\r\\n\\r\\n" % len(BODY) + BODY)
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        pass
async def main():
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()
asyncio.run(main())
"""
ROUNDS = 3
SETTINGS = ((0.0, 16), (0.05, 64))  # seconds that the server takes, calls out at a time


async def bare(url: str, bodies: list[bytes], concurrency: int, *, each: bool) -> None:
    """The same posts by httpx alone, each read by json.loads; with `each`, a client for each call that is out."""
    import httpx

    waiting = iter(bodies)
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=concurrency)

    def new_client() -> httpx.AsyncClient:
        return httpx.AsyncClient(headers={"Content-Type": "application/json"}, limits=limits, timeout=60, verify=False)

    async def work(client: httpx.AsyncClient) -> None:
        for body in waiting:
            json.loads((await client.post(f"{url}/chat/completions", content=body)).content)

    clients = [new_client() for _ in range(concurrency if each else 1)]
    await asyncio.gather(*(work(clients[k % len(clients)]) for k in range(concurrency)))
    for client in clients:
        await client.aclose()


def client(count: int) -> None:
    """CPU a call and calls a second, ours and bare, in turn in one process."""
    head(
        "The server takes",
        "Calls out",
        "Client",
        "CPU a call",
        "Calls a second",
        "CPU of ours ÷ its",
        "Calls of ours ÷ its",
    )
    for delay, concurrency in SETTINGS:
        server = subprocess.Popen([sys.executable, "-c", SERVER, str(delay)], stdout=subprocess.PIPE, text=True)
        try:
            assert server.stdout is not None
            url = f"http://127.0.0.1:{int(server.stdout.readline())}/v1"
            spent = _side_by_side(url, count, concurrency)
        finally:
            server.terminate()
        ours = spent["podium judge"]
        for name, (cpu, rate) in spent.items():
            cells = ["", ""] if name == "podium judge" else [f"{ours[0] / cpu:.2f}", f"{ours[1] / rate:.2f}"]
            row(f"{1000 * delay:.0f} ms", concurrency, name, f"{1e6 * cpu:.0f} µs", f"{rate:.0f}", *cells)


def _side_by_side(url: str, count: int, concurrency: int) -> dict[str, tuple[float, float]]:
    """CPU a call and calls a second of each, by the least of rounds in which they take turns."""
    from podium.judge import HttpJudge, judge_pairs
    from podium.judge.prompt import Asked, Prompt

    texts = {f"i{k}": f"text {k} " * 20 for k in range(100)}
    asked = Asked("1", "Which?", texts["i1"], texts["i2"], fence="0123abcd")
    body = {"model": "m", "temperature": 0, "max_tokens": 1024, "messages": Prompt().messages(asked)}
    bodies = [json.dumps(body).encode()] * count

    def ours(calls: int) -> None:
        judge_pairs(texts, HttpJudge(url, "m", concurrency=concurrency), question="Which?", one_order=True,
                    budget=calls - 40, anyway=True, concurrency=concurrency, seed=1)  # fmt: skip

    ways: dict[str, Callable[[int], None]] = {
        "podium judge": ours,
        "httpx, one client": lambda calls: asyncio.run(bare(url, bodies[:calls], concurrency, each=False)),
        "httpx, a client for each call out": lambda calls: asyncio.run(
            bare(url, bodies[:calls], concurrency, each=True)
        ),
    }
    few = count // 4
    for run in ways.values():
        run(few)  # warm
    least = {(name, calls): (np.inf, np.inf) for name in ways for calls in (few, count)}
    for _ in range(ROUNDS):
        for (name, calls), (cpu, wall) in least.items():
            begun, since = time.process_time(), time.perf_counter()
            ways[name](calls)
            spent = time.process_time() - begun, time.perf_counter() - since
            least[name, calls] = min(cpu, spent[0]), min(wall, spent[1])
    more = count - few
    found = {}
    for name in ways:  # the difference of many calls and few: opening, the last report and imports are in both
        cpu, wall = (least[name, count][k] - least[name, few][k] for k in (0, 1))
        found[name] = cpu / more, more / wall
    return found


# Pairs beside an ideal asker

PAIRS_ITEMS, PAIRS_FLIPS = 200, 0.1
BUDGETS = (1000, 2000)


def pairs(seeds: int, first: int) -> None:
    """Pairs of whole runs, over those that the planner needs for the same tau where each answer comes at once."""
    from benchmarks.judge import Verdicts, planned
    from podium.judge import judge_pairs

    print(
        f"{PAIRS_ITEMS} items, one answer in {1 / PAIRS_FLIPS:.0f} wrong, {seeds} seeds: Kendall tau (standard error)"
    )
    head("Pairs", "Whole runs", "Planner, ideal asker", "Difference", "Pairs needed ÷ planner's")
    for budget in BUDGETS:
        grid = [round(budget * share) for share in (0.8, 0.9, 1.0, 1.1)]
        curve, reached = np.zeros((seeds, len(grid))), np.zeros(seeds)
        for at, seed in enumerate(range(first, first + seeds)):
            model = Verdicts(seed, n=PAIRS_ITEMS, spread=1.0, flips=PAIRS_FLIPS)
            upper = np.triu(model.flipped, 1)
            model.flipped = upper | upper.T  # wrong in both orders, or in none
            curve[at] = [model.tau(planned(model, count, model.first_wins)) for count in grid]

            def ask(question: Any, model: Verdicts = model) -> float:
                return float(model.first_wins(np.array([int(question.left)]), np.array([int(question.right)]))[0])

            texts = {f"i{k}": str(k) for k in range(PAIRS_ITEMS)}
            done = judge_pairs(texts, ask, question="Which?", budget=budget, seed=seed)
            reached[at] = model.tau(np.array([int(label[1:]) for label in done.order]))
        needed = float(np.interp(reached.mean(), np.maximum.accumulate(curve.mean(0)), grid))
        error = float((reached - curve[:, 2]).std(ddof=1) / np.sqrt(seeds))
        ideal = curve[:, 2].mean()
        apart = f"{reached.mean() - ideal:+.4f} ({error:.4f})"
        row(f"{budget:,}", f"{reached.mean():.4f}", f"{ideal:.4f}", apart, f"{budget / needed:.2f}")


# The start of a long file


def start(rows: int) -> None:
    """The CPU of going on with a file of many calls, beside reading its rows."""
    from podium.judge import judge_pairs

    n = 500
    texts = {f"i{k}": f"text {k}" for k in range(n)}
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "many.db")

        def go_on() -> None:
            judge_pairs(texts, _longer, question="Which?", db=path, budget=50, anyway=True, seed=1)

        go_on()
        _add_calls(path, rows, n)
        ours = min(_cpu(go_on) for _ in range(3))
        floor = min(_cpu(lambda: sqlite3.connect(path).execute("SELECT * FROM call").fetchall()) for _ in range(3))
    head(f"A file of {rows:,} calls", "CPU")
    row("start", f"{ours:.2f} s")
    row("reading its rows alone", f"{floor:.2f} s")


def _add_calls(path: str, rows: int, items: int) -> None:
    """Answered calls of the first judge, two a pair, as a run of hours leaves them."""
    rng = np.random.default_rng(0)
    first = rng.integers(0, items, rows)
    second = (first + rng.integers(1, items, rows)) % items
    names = "campaign, request, question, judge, first, second, turned, prompt_hash, parameters, raw, outcome, "
    names += "tokens_in, tokens_out, counted, ms, tries, at, done"
    values = [
        (1, f"r{k}", 10**6 + k // 2, 0, a, b, k % 2, "h", "{}", "x" * 60, float(k % 2), 100, 10, 0, 5, 1, k, k)
        for k, (a, b) in enumerate(zip(first.tolist(), second.tolist(), strict=True))
    ]
    with sqlite3.connect(path) as file:
        file.executemany(f"INSERT INTO call ({names}) VALUES ({','.join('?' * 18)})", values)


def _longer(question: Any) -> float:
    return float(question.left > question.right)


def _cpu(run: Callable[[], Any]) -> float:
    begun = time.process_time()
    run()
    return time.process_time() - begun
