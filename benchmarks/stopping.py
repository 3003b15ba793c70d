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
    print("model,level,n,seeds,stable_said,said_and_wrong,questions_per_item,bands_hold,mean_width")
    for model, level in models:
        for n in sizes:
            runs = [stopped(n, model, level, seed) for seed in range(first, first + seeds)]
            said, wrong, asked = (np.mean([run[k] for run in runs]) for k in range(3))
            held, width = (np.mean([each for run in runs for each in run[k]]) for k in (3, 4))
            line = f"{model},{level},{n},{seeds},{said:.3f},{wrong:.3f},{asked:.1f},{held:.3f},{width:.3f}"
            print(line, flush=True)


def bands(
    sizes: tuple[int, ...] = (250,), seeds: int = 3, models: tuple[Noise, ...] = EVERY, first: int = FIRST,
    questions: tuple[int, ...] = (5, 8, 15, 26),
) -> None:  # fmt: skip
    """Print what bands hold, how wide they are, and whether stable is said and wrong, after so many questions."""
    print("model,level,n,questions_per_item,seeds,bands_hold,least,mean_width,stable_said,said_and_wrong")
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
        for q, runs in found.items():
            held, width, said, wrong = np.mean(runs, axis=0)
            least = min(run[0] for run in runs)
            line = f"{model},{level},{n},{q},{seeds},{held:.3f},{least:.3f},{width:.3f},{said:.2f},{wrong:.2f}"
            print(line, flush=True)
