"""What a question buys: our presets beside other ways to choose pairs, at the same number of distinct questions.

    python -m benchmarks.active figures        the table of the documentation, on held-out seeds
    python -m benchmarks.active rivals         against uniform + Bradley-Terry, sorts, TrueSkill- and Crowd-BT-driven
    python -m benchmarks.active kemeny         orders of least disagreement: cost, lower bound, seconds
    python -m benchmarks.active features       what informative and useless features change

Costs are divided by the best known: the cheapest of several local searches on all answers (n <= 1,000), beyond that the
hidden order. Constants were tuned on seeds 0 to 11; `figures` and `rivals` use seeds from 7,000 on.
"""

from __future__ import annotations

import sys
import time

import numpy as np

from benchmarks.peers import crowd_bt, linear_ordering, sorts, trueskill_driven, uniform_bradley_terry
from podium.active import kemeny, rank_with
from podium.active.oracles import Simulated
from podium.active.order import iterated_search, mfast_cost

HELD_OUT = 7000
TABLE = [  # n, model, level, questions per item, preset, ratio to reach
    (100, "flips", 0.1, 15, "standard", 1.005),
    (100, "bradley-terry", 0.01, 15, "standard", 1.01),
    (1000, "flips", 0.1, 26, "standard", 1.002),
    (1000, "bradley-terry", 0.01, 26, "standard", 1.01),
    (1000, "flips", 0.2, 31, "standard", 1.015),
    (1000, "flips", 0.1, 25, "few_rounds", 1.01),
    (1000, "bradley-terry", 0.01, 25, "few_rounds", 1.05),
    (10_000, "flips", 0.1, 31, "standard", 1.005),
    (10_000, "bradley-terry", 0.01, 40, "standard", 1.02),
    (10_000, "flips", 0.2, 42, "standard", 1.02),
]
MODELS = [
    ("flips", 0.1),
    ("flips", 0.3),
    ("bradley-terry", 0.01),
    ("bradley-terry", 0.05),
    ("cyclic", 0.05),
    ("chaos", 0.02),
    ("long-range", 0.1),
]


def best_known(judge: Simulated) -> float:
    """The cheapest cost we can find with all answers in hand."""
    if judge.n > 1000:
        return float(judge.cost(judge.order))
    wins = judge.matrix().astype(np.float64)
    starts = (judge.order, None)
    return min(mfast_cost(wins, iterated_search(wins, start, restarts=20)) for start in starts)


def ours(judge: Simulated, questions: int, seed: int, preset: str = "standard", share: float = 0.1):
    return rank_with(judge, range(judge.n), preset=preset, budget=questions, random_share=share, seed=seed)


def figures(seeds: int = 5) -> None:
    print("n,model,level,questions_per_item,preset,mean_ratio,worst_ratio,rounds,cpu_seconds,us_per_question,target")
    for n, model, level, q, preset, target in TABLE:
        ratios, rounds, cpu = [], [], []
        for seed in range(HELD_OUT, HELD_OUT + seeds):
            judge = Simulated(n, model, level, seed=seed)
            start, put = time.process_time(), _Clock(judge)
            ranker = ours(put, q * n, seed, preset)
            order = np.array(ranker.ranking_.order)
            cpu.append(time.process_time() - start - put.seconds)
            assert ranker.interview.asked <= q * n
            rounds.append(ranker.interview.rounds)
            ratios.append(judge.cost(order) / best_known(judge))
        took = min(cpu)
        line = f"{n},{model},{level},{q},{preset},{np.mean(ratios):.4f},{max(ratios):.4f},{max(rounds)},{took:.2f}"
        print(f"{line},{took / (q * n) * 1e6:.1f},{target}", flush=True)


class _Clock:
    """A judge whose own time is not counted as ours."""

    def __init__(self, judge: Simulated) -> None:
        self.judge, self.seconds, self.n = judge, 0.0, judge.n

    def answer(self, pairs: np.ndarray) -> np.ndarray:
        start = time.process_time()
        answers = self.judge.answer(pairs)
        self.seconds += time.process_time() - start
        return answers


def rivals(seeds: int = 4, sizes: tuple[int, ...] = (100,)) -> None:
    """Each rival at the questions it asks (sorts) or is given; ours with as many, without check pairs.

    ASAP is left out: there is no adapter for it yet.
    """
    ways = {
        "quicksort": sorts.quicksort,
        "mergesort": sorts.mergesort,
        "uniform+BT": uniform_bradley_terry.rank,
        "trueskill-driven": trueskill_driven.rank,
        "crowd-BT": crowd_bt.rank,
    }
    print("n,model,level,rival,questions_per_item,rival_ratio,our_ratio,ours_over_rival,worst_over_rival")
    for n in sizes:
        for model, level in MODELS:
            best = {}
            for name, way in ways.items():
                rows = []
                for seed in range(HELD_OUT, HELD_OUT + seeds):
                    judge = Simulated(n, model, level, seed=seed)
                    best.setdefault(seed, best_known(judge))
                    order, asked = way(judge, 15 * n, seed)
                    mine = ours(judge, asked, seed, share=0.0).ranking_.order
                    rows.append((asked / n, judge.cost(order) / best[seed], judge.cost(np.array(mine)) / best[seed]))
                q, theirs, our = np.mean(rows, axis=0)
                worst = max(row[2] / row[1] for row in rows)
                print(
                    f"{n},{model},{level},{name},{q:.1f},{theirs:.3f},{our:.3f},{our / theirs:.3f},{worst:.3f}",
                    flush=True,
                )


def features(seeds: int = 5, n: int = 400) -> None:
    """Cost ratio at equal questions, without features, with informative and with useless ones."""
    print("questions_per_item,none,informative,useless")
    for q in (4, 6, 8, 12, 16):
        columns: dict[str, list[float]] = {"none": [], "informative": [], "useless": []}
        for seed in range(HELD_OUT, HELD_OUT + seeds):
            judge = Simulated(n, "flips", 0.1, seed=seed)
            rng = np.random.default_rng(seed)
            telling = np.column_stack([judge.place + rng.normal(0, 0.1 * n, n), rng.normal(size=(n, 3))])
            tables = {"none": None, "informative": telling, "useless": rng.normal(size=(n, 4))}
            for name, table in tables.items():
                found = rank_with(judge, range(n), budget=q * n, seed=seed, features=table)
                columns[name].append(judge.cost(np.array(found.ranking_.order)) / judge.cost(judge.order))
        print(f"{q}," + ",".join(f"{np.mean(values):.4f}" for values in columns.values()), flush=True)


def kemeny_orders() -> None:
    """Cost, lower bound and seconds on tournaments with 10 % flips, beside OR-tools' CP-SAT (one thread, 20 s).

    corankco is left out: there is no adapter for it yet.
    """
    print("n,cost,lower_bound,gap,cpu_seconds,cp_sat_cost,cp_sat_bound,cp_sat_cpu_seconds")
    for n in (16, 20, 30, 50, 100, 300, 1000):
        wins = Simulated(n, "flips", 0.1, seed=HELD_OUT).matrix().astype(np.float64)
        start = time.process_time()
        found = kemeny(wins)
        took = time.process_time() - start
        theirs = "not run,,"
        if n <= 30:
            start = time.process_time()
            cost, bound = linear_ordering.rank(wins)
            theirs = f"{cost:.0f},{bound:.0f},{time.process_time() - start:.3f}"
        print(f"{n},{found.cost:.0f},{found.lower_bound:.0f},{found.gap:.4f},{took:.3f},{theirs}", flush=True)


if __name__ == "__main__":
    commands = {"figures": figures, "rivals": rivals, "features": features, "kemeny": kemeny_orders}
    for command in sys.argv[1:] or ["figures"]:
        commands[command]()
