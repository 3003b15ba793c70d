"""Where asking wins and loses: every noise model, size and number of questions, on both yardsticks.

    python -m benchmarks.active grid [--n N …] [--q Q …] [--seeds S]

A cell is the mean over paired seeds. `cost` is the paper's: answers contradicted over those that the best known order
contradicts, ours with aim="answers". `excess` is the expected cost above the true order's in per cent of all pairs,
ours with aim="truth". `worse` marks cells in which ours is significantly worse than the best rival (paired t over the
seeds, Holm over all cells, 5 %). Cells with more questions than pairs exist for fresh judges only.
"""

from __future__ import annotations

import numpy as np
from scipy import stats

from benchmarks.peers import swiss, uniform_bradley_terry
from podium.active.oracles import Simulated
from podium.active.order import iterated_search, mfast_cost
from podium.active.planner import Planner

MODELS = [  # model, level
    ("flips", 0.1),
    ("flips", 0.35),
    ("bradley-terry", 0.05),
    ("normal", 0.67),
    ("heavy-tailed", 1.0),
    ("near-ties", 0.5),
    ("blocks", 0.03),
    ("unequal", 0.1),
    ("left-leaning", 0.2),
    ("tiring", 0.4),
]
NO_COST = ("unequal", "left-leaning", "tiring")  # the answer depends on who is asked, on which side, or when
RIVALS = {"swiss+BT": swiss.rank, "uniform+BT": uniform_bradley_terry.rank}
FIRST = 9000  # seeds from here on; those below 9,000 were looked at while the planner was made


class Panel(Simulated):
    """Five judges who answer in turn, where they differ; every way of asking has the same ones."""

    def answer(self, pairs: np.ndarray, judge: object = None) -> np.ndarray:
        return super().answer(pairs, self.turn(len(pairs)))

    def turn(self, count: int) -> np.ndarray:
        """Who answers the next questions."""
        return (self.answered + np.arange(count)) % (5 if self.model == "unequal" else 1)


def planned(judge: Panel, questions: int, seed: int) -> Planner:
    """Ask the planner's questions, in its own rounds."""
    planner = Planner(judge.n, seed=seed, repeats="never" if judge.persistent else "auto")
    while len(planner) < questions:
        asked = planner.plan(min(planner.round_size, questions - len(planner)))
        if not len(asked):
            break
        who = (
            (len(planner) + np.arange(len(asked))) % 5 if judge.model == "unequal" else np.zeros(len(asked), dtype=int)
        )
        planner.tell(asked.left, asked.right, judge.answer(asked.pairs, who), who, asked.kind)
    return planner


def best_cost(judge: Simulated) -> float:
    """The cheapest cost we can find with all answers in hand."""
    wins = judge.matrix().astype(np.float64)
    return max(min(mfast_cost(wins, iterated_search(wins, each, restarts=5)) for each in (judge.order, None)), 1.0)


def cell(model: str, level: float, n: int, q: int, seeds: int) -> dict[str, np.ndarray]:
    """Both yardsticks of every way on every seed: arrays (seeds,) by (way, yardstick)."""
    fresh = q > (n - 1) / 2
    costed = not fresh and model not in NO_COST
    found: dict[tuple[str, str], list[float]] = {}
    for seed in range(FIRST, FIRST + seeds):

        def judge(seed: int = seed) -> Panel:
            return Panel(n, model, level, seed=seed, persistent=not fresh)

        least = best_cost(judge()) if costed else 1.0
        orders = {}
        planner = planned(judge(), q * n, seed)
        orders["ours"] = planner.order("answers"), planner.order()
        for name, rank in RIVALS.items():
            order = rank(judge(), q * n, seed)[0]
            orders[name] = order, order
        for name, (by_answers, by_truth) in orders.items():
            if costed:
                found.setdefault((name, "cost"), []).append(judge().cost(by_answers) / least)
            found.setdefault((name, "excess"), []).append(judge().excess(by_truth))
    return {f"{name} {what}": np.array(values) for (name, what), values in found.items()}


def grid(sizes=(12, 24, 60, 250), questions=(3, 5, 8, 15, 26), seeds: int = 20, picture: str | None = None) -> None:
    """Print the whole grid as one table, then the means over the models; draw where ours wins and loses."""
    rows = []
    for n in sizes:
        for q in questions:
            if q > (n - 1) * 3:
                continue
            for model, level in MODELS:
                found = cell(model, level, n, q, seeds)
                there = [what for what in ("cost", "excess") if f"ours {what}" in found]
                rows.extend((model, level, n, q, what, found) for what in there)
    worse = _worse(rows)
    print("model,level,n,questions_per_item,yardstick,ours," + ",".join(RIVALS) + ",worse")
    for (model, level, n, q, what, found), bad in zip(rows, worse, strict=True):
        means = [found[f"{name} {what}"].mean() for name in ("ours", *RIVALS)]
        print(f"{model},{level},{n},{q},{what},{','.join(f'{mean:.3f}' for mean in means)},{'*' if bad else ''}")
    for n, q, what in dict.fromkeys(row[2:5] for row in rows):
        some = [row[5] for row in rows if row[2:5] == (n, q, what)]
        means = [np.mean([found[f"{name} {what}"].mean() for found in some]) for name in ("ours", *RIVALS)]
        print(f"mean of {len(some)},,{n},{q},{what},{','.join(f'{mean:.3f}' for mean in means)},")
    if picture:
        _draw(rows, picture)


def _worse(rows) -> list[bool]:
    """Cells in which ours is significantly worse than the rival with the best mean there: paired t, Holm."""
    chances = []
    for *_, what, found in rows:
        rival = min((found[f"{name} {what}"] for name in RIVALS), key=np.mean)
        apart = found[f"ours {what}"] - rival
        alike = len(apart) < 2 or np.ptp(apart) == 0
        chances.append(1.0 if alike else float(stats.ttest_1samp(apart, 0.0, alternative="greater").pvalue))
    marked = [False] * len(rows)
    for rank, at in enumerate(np.argsort(chances, kind="stable")):
        if chances[at] > 0.05 / (len(rows) - rank):
            break
        marked[at] = True
    return marked


def _draw(rows, path: str) -> None:
    """A panel a yardstick: models down, sizes and questions across, ours against the best rival as a colour."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 6), layout="constrained")
    for ax, what in zip(figure.subplots(2, 1), ("cost", "excess"), strict=True):
        some = [row for row in rows if row[4] == what]
        across = list(dict.fromkeys(row[2:4] for row in some))
        down = list(dict.fromkeys(row[:2] for row in some))
        shown = np.full((len(down), len(across)), np.nan)
        for model, level, n, q, _, found in some:
            rival = min(found[f"{name} {what}"].mean() for name in RIVALS)
            shown[down.index((model, level)), across.index((n, q))] = np.log2(
                (found[f"ours {what}"].mean() + 0.05) / (rival + 0.05)
            )
        image = ax.imshow(shown, cmap="RdBu_r", vmin=-1, vmax=1, aspect="auto")
        ax.set_xticks(range(len(across)), [f"{n} × {q}" for n, q in across], rotation=90, fontsize=7)
        ax.set_yticks(range(len(down)), [f"{model} {level:g}" for model, level in down], fontsize=7)
        ax.set_title(
            f"{what}: blue where ours is lower than the best rival (half: full colour)", fontsize=9, loc="left"
        )
        figure.colorbar(image, ax=ax)
    figure.savefig(path, dpi=120)
    print(f"wrote {path}")
