"""Many judges on one planner, each with a pair in hand: what their slow answers cost.

    python -m benchmarks.active crowd [--n N] [--seeds S]

Delays are log-normal with sigma 1: one judge in forty takes seven times as long as most. Costs are answers contradicted
by the order with aim="answers", over those of one judge on the same seed.
"""

from __future__ import annotations

import heapq

import numpy as np

from benchmarks import printed
from podium.active.oracles import Simulated
from podium.active.planner import Planner

FIRST = 13_000  # seeds from here on were looked at once


def crowd(n: int, judges: int, q: int, seed: int) -> int:
    """Answers that the order contradicts after q·n answers of so many judges; no pair is ever out twice."""
    judge, rng = Simulated(n, "flips", 0.1, seed=seed), np.random.default_rng([seed, 77])
    planner = Planner(n, seed=seed, repeats="never")
    out: dict[int, tuple[int, int, int]] = {}  # judge -> left, right, kind
    waiting = [(float(rng.lognormal()), who) for who in range(judges)]
    heapq.heapify(waiting)
    while len(planner) < q * n and waiting:
        now, who = heapq.heappop(waiting)
        if who in out:
            left, right, kind = out.pop(who)
            planner.tell([left], [right], judge.answer(np.array([[left, right]])), 0, [kind])
        held = [row[:2] for row in out.values()]
        asked = planner.plan(1, out=held)
        if len(asked):
            left, right = asked.pairs[0].tolist()
            if {left, right} in [set(pair) for pair in held]:
                raise AssertionError(f"pair {left}, {right} is out twice")
            out[who] = left, right, int(asked.kind[0])
            heapq.heappush(waiting, (now + float(rng.lognormal()), who))
    return judge.cost(planner.order("answers"))


def crowds(n: int = 60, q: int = 10, seeds: int = 10) -> None:
    """Print the cost of 12 and 50 judges over that of one."""
    costs = {judges: [crowd(n, judges, q, seed) for seed in range(FIRST, FIRST + seeds)] for judges in (1, 12, 50)}
    printed.head(
        "Judges", "Items", "Questions an item", "Seeds", "Answers contradicted", "÷ with one judge", "Pairs out twice"
    )
    for judges, values in costs.items():
        printed.row(judges, n, q, seeds, f"{np.mean(values):.1f}", f"{np.mean(values) / np.mean(costs[1]):.3f}", 0)
