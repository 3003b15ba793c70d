"""A model as judge: position bias, calls to an order, a model's help, and what our own work costs.

    python -m benchmarks.judge bias --seeds 30        the table of position bias
    python -m benchmarks.judge calls --seeds 20       Kendall tau by calls, and the picture of the docs with --plot FILE
    python -m benchmarks.judge assist --seeds 100     people's votes with a model's help: coverage and error
    python -m benchmarks.judge client --count 1000    CPU a call and calls a second beside httpx alone
    python -m benchmarks.judge pairs --seeds 10       pairs of whole runs beside the planner with an ideal asker
    python -m benchmarks.judge start                  the start with 100,000 calls in the file
    python -m benchmarks.judge runs --seeds 30        tau of whole runs beside the table of position bias
    python -m benchmarks.judge reports --seeds 50     how often what is said of position and length holds the truth
    python -m benchmarks.judge injections             verdicts changed by orders in texts (--base-url, --model)

The first two simulate verdicts without a server: a model at temperature 0, whose noise is drawn anew for each order.
"""

from __future__ import annotations

import argparse
import os
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.printed import head, row
from podium.errors import PodiumWarning

ITEMS, CALLS = 60, 1200
SPREAD = 1.5  # standard deviation of the scores, in log-odds
LEANS = (0.0, 1.0, 2.0, 3.0)
WAYS = (
    "chosen pairs, one order", "chosen, both", "random pairs, one order", "random, one order, `side_effect=True`",
    "random, both",
)  # fmt: skip


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
    print(f"Kendall tau after {CALLS:,} calls, {ITEMS} items, mean of {seeds} seeds (standard error)")
    head("Lean, log-odds", *WAYS)
    for lean in LEANS:
        rows = np.array([bias_row(seed, lean) for seed in range(first, first + seeds)])
        mean, error = rows.mean(0), rows.std(0, ddof=1) / np.sqrt(seeds)
        cells = [f"{a:.3f} ({b:.3f})" for a, b in zip(mean, error, strict=True)]
        row(f"{lean:g}", *cells)


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
    head("Judge", "Calls", "Planner", "Random pairs", "Swiss", "All pairs")
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
            row(quality, f"{2 * pairs:,}", *(f"{np.mean(values):.3f}" for values in found.values()), "")
        a, b = np.triu_indices(ITEMS, 1)
        whole = [model.tau(fitted(ITEMS, a, b, model.both(a, b))) for model in models]
        curves[quality]["all pairs"].append((2 * len(a), float(np.mean(whole))))
        row(quality, f"{2 * len(a):,}", "", "", "", f"{np.mean(whole):.3f}")
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

    head("Items", "Pairs of people", "Of the model", "Model", "Intervals hold", "Error alone ÷ with help", "Refused")
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
            row(n, people, pairs, kind, f"{np.mean(held):.1%}", f"{np.mean(alone) / np.mean(helped):.2f}", refused)


def main() -> None:
    """Run one of them."""
    from benchmarks import judge_cost, judge_runs

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=30)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--plot")
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--base-url")
    parser.add_argument("--model")
    ways: dict[str, Callable[[argparse.Namespace], None]] = {
        "bias": lambda given: bias(given.seeds, given.first_seed),
        "calls": lambda given: calls(given.seeds, given.plot),
        "assist": lambda given: assist(given.seeds, given.first_seed),
        "client": lambda given: judge_cost.client(given.count),
        "pairs": lambda given: judge_cost.pairs(given.seeds, given.first_seed),
        "start": lambda given: judge_cost.start(100_000),
        "runs": lambda given: judge_runs.runs(given.seeds, given.first_seed),
        "reports": lambda given: judge_runs.reports(given.seeds, given.first_seed),
        "injections": lambda given: judge_runs.injections(given.base_url, given.model),
    }
    parser.add_argument("what", choices=tuple(ways))
    given = parser.parse_args()
    warnings.simplefilter("ignore", PodiumWarning)  # an item that never loses is no news here
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    ways[given.what](given)


if __name__ == "__main__":
    main()
