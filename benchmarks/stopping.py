"""How often the stop signal is right, and what bands hold: fresh seeds, every noise model.

    python -m benchmarks.active stops [--n N …] [--seeds S] [--model "flips 0.02" …] [--first SEED]
    python -m benchmarks.active bands [--n N …] [--seeds S] [--model "flips 0.02" …] [--first SEED] [--q Q …]

A run asks on until "stable" is first said, looked at once for so many answers as there are items, or until 12 questions
an item. It is wrong if a tenth of the items stand outside their bands. Bands are looked at where the run ends and at 5
questions an item. The hidden order is the truth; of "blocks", which have none inside, the best order of all answers.
Of "cyclic" any beginning is as good as another: the best turn of the order is taken. The bars, wrong in at most 5 % of
the runs and bands that hold 85 %, were set before the first look at these seeds. `bands` looks after fixed numbers of
questions instead.
"""

from __future__ import annotations

from itertools import product

import numpy as np

from benchmarks import printed
from benchmarks.asking import MODELS, Panel, best_order, planned

FIRST = 14_000  # seeds from here on were looked at once
Noise = tuple[str, float]
EVERY: tuple[Noise, ...] = (*MODELS, ("cyclic", 0.05), ("flips", 0.02))
MOST = 12  # questions an item


def stopped(n: int, model: str, level: float, seed: int) -> tuple[bool, bool, float, list[float], list[float]]:
    """Whether stable was said, whether wrongly, at how many questions an item; bands' coverage and width, twice."""
    judge = Panel(n, model, level, seed=seed)
    place = judge.place if model != "blocks" else np.argsort(best_order(judge))
    most = min(MOST, (n - 1) // 2)
    inside: list[float] = []
    width: list[float] = []
    for q, planner in enumerate(planned(judge, [q * n for q in range(1, most + 1)], seed), start=1):
        stable = q >= 3 and planner.summary().stable
        if q == min(5, most) or stable or q == most:
            lower, upper = planner.bands()
            held = [np.mean((lower <= turned + 1) & (turned + 1 <= upper)) for turned in _turns(place, model)]
            inside.append(float(max(held)))
            width.append(float(np.mean(upper - lower)) / max(1, n - 1))
        if stable or planner.finished:
            break
    return stable, bool(stable and inside[-1] < 0.9), len(planner) / n, inside, width


def _turns(place: np.ndarray, model: str) -> list[np.ndarray]:
    n = len(place)
    return [(place + turn) % n for turn in range(n)] if model == "cyclic" else [place]


def stops(
    sizes: tuple[int, ...] = (5, 12, 24, 60), seeds: int = 40, models: tuple[Noise, ...] = EVERY, first: int = FIRST
) -> None:
    """Print a row for each model and size."""
    wrong_in = (f"{'*stable* wrong (said), ' * (k == 0)}{n} items" for k, n in enumerate(sizes))
    held_in = (f"{'bands hold (mean width), ' * (k == 0)}{n} items" for k, n in enumerate(sizes))
    printed.head("Noise", *wrong_in, *held_in)
    for model, level in models:
        signals, widths = [], []
        for n in sizes:
            runs = [stopped(n, model, level, seed) for seed in range(first, first + seeds)]
            said, wrong = (np.mean([run[k] for run in runs]) for k in range(2))
            held, width = (np.mean([each for run in runs for each in run[k]]) for k in (3, 4))
            signals.append(f"{wrong:.0%} ({said:.0%})")
            widths.append(f"{held:.0%} ({width:.0%})")
        printed.row(f"{model} {level:g}", *signals, *widths)


def bands(
    sizes: tuple[int, ...] = (250,), seeds: int = 3, models: tuple[Noise, ...] = EVERY, first: int = FIRST,
    questions: tuple[int, ...] = (5, 8, 15, 26),
) -> None:  # fmt: skip
    """Print what bands hold, how wide they are, and whether stable is said and wrong, after so many questions."""
    heads = (f"{q}{' questions: bands hold (mean width)' * (k == 0)}" for k, q in enumerate(questions))
    printed.head("Noise", "Items", *heads, "Least", "*stable* wrong (said)")
    for (model, level), n in product(models, sizes):
        found: dict[int, list[list[float]]] = {q: [] for q in questions}
        for seed in range(first, first + seeds):
            judge = Panel(n, model, level, seed=seed)
            place = judge.place if model != "blocks" else np.argsort(best_order(judge))
            for q, planner in zip(questions, planned(judge, [q * n for q in questions], seed), strict=True):
                lower, upper = planner.bands()
                held = max(np.mean((lower <= at + 1) & (at + 1 <= upper)) for at in _turns(place, model))
                stable = planner.summary().stable
                found[q].append([float(held), float(np.mean(upper - lower)) / (n - 1), stable, stable and held < 0.9])
        means = [np.mean(runs, axis=0) for runs in found.values()]
        cells = (f"{held:.0%} ({width:.0%})" for held, width, *_ in means)
        least = min(run[0] for runs in found.values() for run in runs)
        said, wrong = (np.mean([each[k] for each in means]) for k in (2, 3))
        printed.row(f"{model} {level:g}", f"{n:,}", *cells, f"{least:.0%}", f"{wrong:.0%} ({said:.0%})")
