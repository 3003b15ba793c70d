"""A model as judge: position bias, calls to an order, and what our own work costs beside a bare client.

    python -m benchmarks.judge bias --seeds 30      the table of position bias
    python -m benchmarks.judge calls --seeds 20     Kendall tau by calls, and the picture of the docs with --plot
    python -m benchmarks.judge assist --seeds 100   people's votes with a model's help: coverage and error
    python -m benchmarks.judge client               CPU a call, calls a second, and the start with many calls

The first two simulate verdicts without a server: a model at temperature 0, whose noise is drawn anew for each order.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sqlite3
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from podium.errors import PodiumWarning

ITEMS, CALLS = 60, 1200
SPREAD = 1.5  # standard deviation of the scores, in log-odds
LEANS = (0.0, 1.0, 2.0, 3.0)
WAYS = ("chosen, one order", "chosen, both", "random, one order", "random, one order, side effect", "random, both")


class Verdicts:
    """A model that sees scores with noise and leans to the first place: the same question, the same verdict."""

    def __init__(self, seed: int, *, n: int = ITEMS, spread: float = SPREAD, lean: float = 0.0, flips: float = 0.0):
        self.seed, self.lean, self.flips = seed, lean, flips
        rng = np.random.default_rng([seed, 1])
        self.scores = rng.normal(size=n) * spread
        self.noise = rng.logistic(size=(n, n))
        self.flipped = rng.random((n, n)) < flips

    def first_wins(self, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        """Verdicts as 1 and 0."""
        if self.flips:
            ahead = self.scores[first] > self.scores[second]
            return (ahead ^ self.flipped[first, second]).astype(np.float64)
        margin = self.scores[first] - self.scores[second] + self.lean + self.noise[first, second]
        return (margin > 0).astype(np.float64)

    def both(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """The vote for the left item: the same winner in both orders, else a tie."""
        once, turned = self.first_wins(left, right), 1 - self.first_wins(right, left)
        return np.where(once == turned, once, 0.5)

    def tau(self, order: np.ndarray) -> float:
        """Kendall tau with the true order."""
        from scipy.stats import kendalltau

        ranks = np.empty(len(order))
        ranks[order] = np.arange(len(order))
        return float(kendalltau(-self.scores, ranks)[0])


def planned(model: Verdicts, pairs: int, answer: Callable[..., np.ndarray]) -> np.ndarray:
    """The planner's order after so many pairs."""
    from podium.active import Planner

    planner = Planner(len(model.scores), seed=model.seed)
    while len(planner) < pairs:
        asked = planner.plan(min(planner.round_size, pairs - len(planner)))
        if not len(asked):
            break
        planner.tell(asked.left, asked.right, answer(asked.left, asked.right), 0, asked.kind)
    return planner.order()


def random_pairs(n: int, count: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Random pairs, no pair twice, every item about equally often."""
    from podium.judge.ledger import _balanced

    pairs = np.array(_balanced(list(range(n)), set(), count, rng))
    return pairs[:, 0], pairs[:, 1]


def fitted(n: int, left: np.ndarray, right: np.ndarray, value: np.ndarray, side: bool = False) -> np.ndarray:
    """The Bradley-Terry order."""
    from podium import BradleyTerry, Comparisons

    outcome = np.sign(2 * value - 1).astype(np.int8)
    votes = Comparisons(range(n), left.astype(np.int32), right.astype(np.int32), outcome=outcome, sided=True)
    return np.argsort(-np.asarray(BradleyTerry(side_effect=side).fit(votes).ranking_.scores), kind="stable")


def bias_row(seed: int, lean: float) -> list[float]:
    """Kendall tau of each way at the same number of calls."""
    model = Verdicts(seed, lean=lean)
    rng = np.random.default_rng([seed, 2])
    left, right = random_pairs(ITEMS, CALLS, rng)
    half = CALLS // 2
    return [
        model.tau(planned(model, CALLS, model.first_wins)),
        model.tau(planned(model, half, model.both)),
        model.tau(fitted(ITEMS, left, right, model.first_wins(left, right))),
        model.tau(fitted(ITEMS, left, right, model.first_wins(left, right), side=True)),
        model.tau(fitted(ITEMS, left[:half], right[:half], model.both(left[:half], right[:half]))),
    ]


def bias(seeds: int, first: int) -> None:
    """Print the table of position bias."""
    print(f"Kendall tau after {CALLS:,} calls, {ITEMS} items, mean of {seeds} seeds (standard error)\n")
    print("| lean, log-odds | " + " | ".join(WAYS) + " |\n|---|" + "---|" * len(WAYS))
    for lean in LEANS:
        rows = np.array([bias_row(seed, lean) for seed in range(first, first + seeds)])
        mean, error = rows.mean(0), rows.std(0, ddof=1) / np.sqrt(seeds)
        cells = [f"{a:.3f} ({b:.3f})" for a, b in zip(mean, error, strict=True)]
        print(f"| {lean:g} | " + " | ".join(cells) + " |", flush=True)


# Calls to an order

QUALITIES = {"clear": 3.0, "usual": 1.5, "poor": 0.7}  # spread of the scores beside noise of 1
STEPS = (2, 3, 5, 8, 12, 18, 27)  # pairs an item


def swiss(model: Verdicts, pairs: int) -> np.ndarray:
    """Neighbours of the current Bradley-Terry order, round after round."""
    from podium.active.choice import swiss_round

    n = len(model.scores)
    order = np.random.default_rng([model.seed, 3]).permutation(n)
    degree, found = np.zeros(n, dtype=np.int64), np.zeros((0, 2), dtype=np.int64)
    while len(found) < pairs:
        keys = np.unique(found.min(1) * n + found.max(1)) if len(found) else np.zeros(0, dtype=np.int64)
        more = swiss_round(order, degree, keys, pairs - len(found))
        if not len(more):
            break
        found = np.concatenate([found, more])
        degree = degree + np.bincount(more.ravel(), minlength=n)
        order = fitted(n, found[:, 0], found[:, 1], model.both(found[:, 0], found[:, 1]))
    return order


def calls(seeds: int, plot: str | None) -> None:
    """Print Kendall tau by calls for three qualities of judge, and draw it."""
    curves: dict[str, dict[str, list[tuple[int, float]]]] = {}
    for quality, spread in QUALITIES.items():
        curves[quality] = {"planner": [], "random pairs": [], "Swiss": [], "all pairs": []}
        models = [Verdicts(seed, spread=spread) for seed in range(seeds)]
        for step in STEPS:
            pairs = min(step * ITEMS, ITEMS * (ITEMS - 1) // 2)
            found: dict[str, list[float]] = {name: [] for name in ("planner", "random pairs", "Swiss")}
            for model in models:
                rng = np.random.default_rng([model.seed, 2])
                left, right = random_pairs(ITEMS, pairs, rng)
                found["planner"].append(model.tau(planned(model, pairs, model.both)))
                found["random pairs"].append(model.tau(fitted(ITEMS, left, right, model.both(left, right))))
                found["Swiss"].append(model.tau(swiss(model, pairs)))
            for name, values in found.items():
                curves[quality][name].append((2 * pairs, float(np.mean(values))))
            row = ", ".join(f"{name} {np.mean(values):.3f}" for name, values in found.items())
            print(f"{quality}: {2 * pairs:,} calls: {row}", flush=True)
        a, b = np.triu_indices(ITEMS, 1)
        whole = [model.tau(fitted(ITEMS, a, b, model.both(a, b))) for model in models]
        curves[quality]["all pairs"].append((2 * len(a), float(np.mean(whole))))
        print(f"{quality}: {2 * len(a):,} calls: all pairs {np.mean(whole):.3f}", flush=True)
    if plot:
        draw(curves, plot)


def draw(curves: dict[str, dict[str, list[tuple[int, float]]]], path: str) -> None:
    """One panel a quality."""
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(1, len(curves), figsize=(10, 3.4), sharey=True, layout="constrained")
    for panel, (quality, ways) in zip(panels, curves.items(), strict=True):
        for (name, points), mark in zip(ways.items(), ("o-", "s--", "^:", "k*"), strict=True):
            panel.plot(*zip(*points, strict=True), mark, label=name, markersize=4 if mark != "k*" else 10)
        panel.set(xscale="log", xlabel="calls", title=f"{quality} judge")
        panel.set_xticks([250, 500, 1000, 2000, 3500], ["250", "500", "1,000", "2,000", "3,500"], minor=False)
        panel.set_xticks([], minor=True)
        panel.grid(alpha=0.3)
    panels[0].set_ylabel("Kendall tau with the true order")
    panels[0].legend(frameon=False)
    figure.savefig(path, dpi=110)


# People's votes with a model's help

DESIGNS = ((8, 16, 28), (12, 40, 66), (20, 100, 190), (40, 200, 780))  # items, pairs of people, pairs of the model
MODELS = ("good", "biased", "noise")


def _helped(rng: np.random.Generator, n: int, people: int, pairs: int, kind: str) -> tuple[np.ndarray, Any, Any]:
    """True scores, votes of people on a random part of the pairs, and votes of a model on all."""
    from podium import Comparisons

    scores = rng.normal(size=n)
    scores -= scores.mean()
    seen = 1.5 * (scores + (0.7 if kind == "biased" else 0.0) * rng.normal(size=n))
    a, b = np.triu_indices(n, 1)
    chosen = rng.permutation(len(a))[:pairs]
    a, b, draw = a[chosen].astype(np.int32), b[chosen].astype(np.int32), rng.random(pairs)
    theirs = np.where(draw < 1 / (1 + np.exp(scores[b] - scores[a])), 1, -1).astype(np.int8)
    said = np.where(draw < 1 / (1 + np.exp(seen[b] - seen[a])), 1, -1).astype(np.int8)
    said = rng.choice(np.array([-1, 1], dtype=np.int8), pairs) if kind == "noise" else said
    first = Comparisons(range(n), a[:people], b[:people], outcome=theirs[:people])
    return scores, first, Comparisons(range(n), a, b, outcome=said)


def assist(seeds: int, first: int) -> None:
    """Print how often 95 % intervals hold, and the mean squared error of people alone over that with help."""
    from podium.errors import InputError
    from podium.judge.assist import assisted

    print("| items | pairs of people | of the model | model | intervals hold | error alone ÷ with help | refused |")
    print("|---|---|---|---|---|---|---|")
    for n, people, pairs in DESIGNS:
        for kind in MODELS:
            held, helped, alone, refused = [], [], [], 0
            for seed in range(first, first + seeds):
                scores, mine, model = _helped(np.random.default_rng([seed, n]), n, people, pairs, kind)
                try:
                    found, plain = assisted(mine, model), assisted(mine, mine)
                except InputError:
                    refused += 1
                    continue
                lower, upper = found.ranking.intervals()
                order = np.argsort(np.asarray(found.ranking.items, dtype=int))
                truth = scores[np.asarray(found.ranking.items, dtype=int)]
                held.append(np.mean((lower <= truth) & (truth <= upper)))
                helped.append(np.mean((found.ranking.scores[order] - scores) ** 2))
                again = np.argsort(np.asarray(plain.ranking.items, dtype=int))
                alone.append(np.mean((plain.ranking.scores[again] - scores) ** 2))
            cells = f"{np.mean(held):.3f} | {np.mean(alone) / np.mean(helped):.2f} | {refused}"
            print(f"| {n} | {people} | {pairs} | {kind} | {cells} |", flush=True)


# Our own work beside a bare client

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


async def bare(url: str, bodies: list[bytes], concurrency: int) -> None:
    """The same posts by httpx alone, each read by json.loads."""
    import httpx

    waiting = iter(bodies)
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=concurrency)
    async with httpx.AsyncClient(headers={"Content-Type": "application/json"}, limits=limits, timeout=60) as client:

        async def work() -> None:
            for body in waiting:
                json.loads((await client.post(f"{url}/chat/completions", content=body)).content)

        await asyncio.gather(*(work() for _ in range(concurrency)))


def client(count: int) -> None:
    """CPU a call and calls a second, ours and bare, in one process after another; then the start of a long file."""
    import subprocess

    for delay, concurrency in ((0.0, 16), (0.05, 64)):
        server = subprocess.Popen([sys.executable, "-c", SERVER, str(delay)], stdout=subprocess.PIPE, text=True)
        try:
            assert server.stdout is not None
            url = f"http://127.0.0.1:{int(server.stdout.readline())}/v1"
            ours, theirs = _side_by_side(url, count, concurrency)
        finally:
            server.terminate()
        print(
            f"delay {1000 * delay:.0f} ms, {concurrency} out, {count:,} calls: CPU a call {1e6 * ours[0]:.0f} µs, "
            f"bare {1e6 * theirs[0]:.0f} µs, ratio {ours[0] / theirs[0]:.2f}; calls a second {ours[1]:.0f}, bare "
            f"{theirs[1]:.0f}, ratio {ours[1] / theirs[1]:.2f}"
        )
    start(100_000)


def _side_by_side(url: str, count: int, concurrency: int) -> tuple[tuple[float, float], tuple[float, float]]:
    from podium.judge import HttpJudge, judge_pairs
    from podium.judge.prompt import Asked, Prompt

    texts = {f"i{k}": f"text {k} " * 20 for k in range(100)}
    asked = Asked("1", "Which?", texts["i1"], texts["i2"], fence="0123abcd")
    body = {"model": "m", "temperature": 0, "max_tokens": 1024, "messages": Prompt().messages(asked)}
    bodies = [json.dumps(body).encode()] * count
    asyncio.run(bare(url, bodies[:200], concurrency))  # warm
    judge_pairs(texts, HttpJudge(url, "m", concurrency=concurrency), question="Which?", budget=60, anyway=True,
                concurrency=concurrency, one_order=True)  # fmt: skip
    best: list[tuple[float, float]] = [(np.inf, 0.0), (np.inf, 0.0)]
    few = count // 5

    def ours(calls: int) -> None:
        judge_pairs(texts, HttpJudge(url, "m", concurrency=concurrency), question="Which?", one_order=True,
                    budget=calls - 40, anyway=True, concurrency=concurrency, seed=1)  # fmt: skip

    def theirs(calls: int) -> None:
        asyncio.run(bare(url, bodies[:calls], concurrency))

    for _ in range(2):
        for place, run in enumerate((ours, theirs)):
            spent = []
            for calls in (few, count):  # the difference of the two: opening, the last report and imports are in both
                cpu, wall = time.process_time(), time.perf_counter()
                run(calls)
                spent.append((time.process_time() - cpu, time.perf_counter() - wall))
            cpu, wall = (spent[1][k] - spent[0][k] for k in (0, 1))
            more = count - few
            best[place] = (min(best[place][0], cpu / more), max(best[place][1], more / max(wall, 1e-9)))
    return best[0], best[1]


def start(rows: int) -> None:
    """The CPU of going on with a file of many calls, beside reading its rows."""
    from podium.judge import judge_pairs

    n = 500
    texts = {f"i{k}": f"text {k}" for k in range(n)}
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "many.db")
        judge_pairs(texts, _longer, question="Which?", db=path, budget=50, anyway=True, seed=1)
        rng = np.random.default_rng(0)
        with sqlite3.connect(path) as file:
            first = rng.integers(0, n, rows)
            second = (first + rng.integers(1, n, rows)) % n
            values = [
                (
                    1,
                    f"r{k}",
                    10**6 + k // 2,
                    0,
                    int(a),
                    int(b),
                    k % 2,
                    "h",
                    "{}",
                    "x" * 60,
                    float(k % 2),
                    100,
                    10,
                    0,
                    5,
                    1,
                    k,
                    k,
                )
                for k, (a, b) in enumerate(zip(first, second, strict=True))
            ]
            names = "campaign, request, question, judge, first, second, turned, prompt_hash, parameters, raw, outcome, "
            names += "tokens_in, tokens_out, counted, ms, tries, at, done"
            file.executemany(f"INSERT INTO call ({names}) VALUES ({','.join('?' * 18)})", values)
        ours = min(_cpu(lambda: judge_pairs(texts, _longer, question="Which?", db=path, budget=50, anyway=True, seed=1))
                   for _ in range(3))  # fmt: skip
        floor = min(_cpu(lambda: sqlite3.connect(path).execute("SELECT * FROM call").fetchall()) for _ in range(3))
    print(f"start with {rows:,} calls: CPU {ours:.2f} s, reading the rows {floor:.2f} s, ratio {ours / floor:.2f}")


def _longer(question: Any) -> float:
    return float(question.left > question.right)


def _cpu(run: Callable[[], Any]) -> float:
    begun = time.process_time()
    run()
    return time.process_time() - begun


def main() -> None:
    """Run one of them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("bias", "calls", "assist", "client"))
    parser.add_argument("--seeds", type=int, default=30)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--plot")
    parser.add_argument("--count", type=int, default=2000)
    given = parser.parse_args()
    warnings.simplefilter("ignore", PodiumWarning)  # an item that never loses is no news here
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    if given.what == "bias":
        bias(given.seeds, given.first_seed)
    elif given.what == "assist":
        assist(given.seeds, given.first_seed)
    elif given.what == "calls":
        calls(given.seeds, given.plot)
    else:
        client(given.count)


if __name__ == "__main__":
    main()
