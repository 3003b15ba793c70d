"""Where asking wins and loses: every noise model, size and number of questions, on both yardsticks.

    python -m benchmarks.active grid [--n N …] [--q Q …] [--seeds S] [--picture FILE]

A cell is the mean over paired seeds. `cost` is the paper's: answers contradicted over those that the best known order
contradicts (one more than their number where that is none), ours with aim="answers". `excess` is the expected cost
above the true order's in per cent of all pairs, ours with aim="truth". Every way is asked on to the largest number of
questions and looked at on the way there. `worse` marks cells in which ours is significantly worse than the rival that
was best there on the other seeds (paired t over the seeds, Holm over all cells, 5 %). `ahead` is how much less ours has
than the best rival, `error` one standard error of that over the paired seeds; in the picture a dot marks cells in which
the two are nearer than two such errors. Cells with more questions than
pairs exist for fresh judges only. Sorts stand where one of them has ended within the questions; they are repeated and
averaged as long as these last.

Each run is saved in benchmarks/results/asking.json; what is there is not run again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path

import numpy as np
from scipy import stats

from benchmarks import printed
from benchmarks.peers import asap, crowd_bt, sorts, swiss, trueskill_driven, uniform_bradley_terry
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
RIVALS: dict[str, Callable[..., Iterator[np.ndarray | None]]] = {
    "swiss+BT": swiss.ranks,
    "uniform+BT": uniform_bradley_terry.ranks,
    "merge sort": sorts.repeated(sorts.mergesort),
    "QuickSort": sorts.repeated(sorts.quicksort),
    "TrueSkill": trueskill_driven.ranks,
    "Crowd-BT": crowd_bt.ranks,
    "ASAP": asap.ranks,
}
MOST_ITEMS = {"ASAP": 24, "Crowd-BT": 250}  # beyond that they take too long
FIRST = 12_000  # seeds from here on were looked at once
WHATS = ("cost", "excess")
SAVED = Path(__file__).parent / "results" / "asking.json"
Cells = dict[str, dict[str, dict[str, float]]]  # "model level n q" -> "way yardstick" -> seed -> value
Found = dict[int, dict[str, float]]  # questions an item -> "way yardstick" -> value


class Panel(Simulated):
    """Five judges who answer in turn, where they differ; every way of asking has the same ones."""

    def answer(self, pairs: np.ndarray, judge: object = None) -> np.ndarray:
        if self.table is not None:
            self.answered += len(pairs)
            return self.table[pairs[:, 0], pairs[:, 1]]
        return super().answer(pairs, self.turn(len(pairs)))

    @cached_property
    def table(self) -> np.ndarray | None:
        """All answers, where they depend on the pair alone: many ways ask one pair at a time."""
        return None if not self.persistent or self.model in NO_COST else self.matrix().astype(np.float64)

    def turn(self, count: int) -> np.ndarray:
        """Who answers the next questions."""
        return (self.answered + np.arange(count)) % (5 if self.model == "unequal" else 1)


def planned(judge: Panel, budgets: list[int], seed: int) -> Iterator[Planner]:
    """Ask the planner's questions, in its own rounds; yield it after each number of questions."""
    planner = Planner(judge.n, seed=seed, repeats="never" if judge.persistent else "auto")
    for budget in budgets:
        while len(planner) < budget:
            asked = planner.plan(min(planner.round_size, budget - len(planner)))
            if not len(asked):
                break
            who = judge.turn(len(asked))
            planner.tell(asked.left, asked.right, judge.answer(asked.pairs), who, asked.kind)
        yield planner


def best_order(judge: Simulated) -> np.ndarray:
    """The cheapest order we can find with all answers in hand."""
    wins = judge.matrix().astype(np.float64)
    orders = [iterated_search(wins, each, restarts=5) for each in (judge.order, None)]
    return min(orders, key=lambda order: mfast_cost(wins, order))


def run_ours(model: str, level: float, n: int, questions: list[int], seed: int, fresh: bool) -> Found:
    """Both yardsticks of ours, and what it says of itself, at each number of questions an item."""
    judge = Panel(n, model, level, seed=seed, persistent=not fresh)
    best = None if fresh or model in NO_COST else best_order(judge)
    found: Found = {q: {} for q in questions}
    asked = Panel(n, model, level, seed=seed, persistent=not fresh)
    for q, planner in zip(questions, planned(asked, [q * n for q in questions], seed), strict=True):
        found[q] |= _measured("ours", judge, best, planner.order("answers"), planner.order())
        place = judge.place if model != "blocks" else None if best is None else np.argsort(best)
        if place is not None:
            found[q] |= _bands(planner, place)
    return found


def run_rivals(model: str, level: float, n: int, questions: list[int], seed: int, fresh: bool) -> Found:
    """Both yardsticks of every rival at each number of questions an item."""
    judge = Panel(n, model, level, seed=seed, persistent=not fresh)
    best = None if fresh or model in NO_COST else best_order(judge)
    found: Found = {q: {} for q in questions}
    for name, ranks in RIVALS.items():
        if n <= MOST_ITEMS.get(name, n):
            asked = Panel(n, model, level, seed=seed, persistent=not fresh)
            for q, order in zip(questions, ranks(asked, [q * n for q in questions], seed), strict=True):
                if order is not None:
                    found[q] |= _measured(name, judge, best, order, order)
    return found


def _measured(
    name: str, judge: Simulated, best: np.ndarray | None, by_answers: np.ndarray, by_truth: np.ndarray
) -> dict[str, float]:
    """The yardsticks that are defined."""
    excess = {f"{name} excess": judge.excess(by_truth)}
    if best is None:
        return excess
    cost, least = judge.cost(by_answers), judge.cost(best)
    return {f"{name} cost": cost / least if least else 1.0 + cost} | excess


def _bands(planner: Planner, place: np.ndarray) -> dict[str, float]:
    """How many bands hold the true place, their mean width in per cent of the list, and the stop signal."""
    lower, upper = planner.bands()
    inside = float(np.mean((lower <= place + 1) & (place + 1 <= upper)))
    stable = planner.summary().stable
    width = 100.0 * float(np.mean(upper - lower)) / max(1, planner.n - 1)
    return {"ours inside": inside, "ours width": width, "ours stable": stable, "ours wrong": stable and inside < 0.9}


def grid(
    sizes=(12, 24, 60, 250), questions=(3, 5, 8, 15, 26), seeds: int = 20, picture: str | None = None,
    again: bool = False,
) -> None:  # fmt: skip
    """Run what has not been run, print the whole grid as one table, then the means over the models; draw it.

    With `again`, what ours reached before is forgotten: the planner has changed, the rivals have not."""
    cells: Cells = json.loads(SAVED.read_text()) if SAVED.exists() else {}
    if again:
        cells = {key: {way: of for way, of in ways.items() if way.split()[0] != "ours"} for key, ways in cells.items()}
    for seed in range(FIRST, FIRST + seeds):
        for n in sizes:
            for model, level in MODELS:
                for fresh in (False, True):
                    some = [q for q in questions if (q > (n - 1) / 2) == fresh and q <= 3 * (n - 1)]
                    for mark, work in (("ours excess", run_ours), ("uniform+BT excess", run_rivals)):
                        if all(str(seed) in _cell(cells, model, level, n, q, mark) for q in some):
                            continue
                        for q, values in work(model, level, n, some, seed, fresh).items():
                            for way, value in values.items():
                                _cell(cells, model, level, n, q, way)[str(seed)] = round(float(value), 4)
            _save(cells)
    show([row for row in rows_of(cells) if row.n in sizes and row.q in questions], picture)


def _cell(cells: Cells, model: str, level: float, n: int, q: int, way: str) -> dict[str, float]:
    return cells.setdefault(f"{model} {level} {n} {q}", {}).setdefault(way, {})


def _save(cells: Cells) -> None:
    beside = SAVED.with_suffix(".part")
    beside.write_text(json.dumps(cells, separators=(",", ":")).replace('},"', '},\n"') + "\n")
    beside.replace(SAVED)


class Row:
    """A cell on one yardstick: values by way, an array over the seeds that all of them have."""

    def __init__(self, key: str, what: str, ways: dict[str, dict[str, float]]) -> None:
        model, level, n, q = key.split()
        self.model, self.n, self.q, self.what = f"{model} {level}", int(n), int(q), what
        seeds = sorted(ways[f"ours {what}"])
        self.values = {
            name: np.array([ways[f"{name} {what}"][seed] for seed in seeds])
            for name in ("ours", *RIVALS)
            if set(ways.get(f"{name} {what}", ())) >= set(seeds)
        }
        if what == "cost":  # an order found on the way may be the best known
            least = np.min(list(self.values.values()), axis=0)
            for name, values in self.values.items():
                self.values[name] = values / np.minimum(least, 1.0)
        self.rivals = {name: values for name, values in self.values.items() if name != "ours"}

    @property
    def best_rival(self) -> str:
        """The rival with the lowest mean here."""
        return min(self.rivals, key=lambda name: self.rivals[name].mean())

    def apart(self, rival: str | None = None) -> tuple[float, float]:
        """How much less ours has than a rival (the best one here), and the Monte Carlo error of that: one standard
        error of the mean over the seeds that both have."""
        apart = self.values[rival or self.best_rival] - self.values["ours"]
        error = float(apart.std(ddof=1) / np.sqrt(len(apart))) if len(apart) > 1 else float("nan")
        return float(apart.mean()), error

    def chance(self) -> float:
        """P-value of ours being no worse than the rival that is best on the other seeds."""
        ours, table = self.values["ours"], np.array(list(self.rivals.values()))
        if len(ours) < 3:
            return 1.0
        others = (table.sum(axis=1, keepdims=True) - table).argmin(axis=0)
        apart = ours - table[others, np.arange(len(ours))]
        return 1.0 if np.ptp(apart) == 0 else float(stats.ttest_1samp(apart, 0.0, alternative="greater").pvalue)


def rows_of(cells: Cells) -> list[Row]:
    """All cells, by size and questions."""
    rows = [Row(key, what, ways) for key, ways in cells.items() for what in WHATS if f"ours {what}" in ways]
    return sorted(rows, key=lambda row: (row.n, row.q))


def show(rows: list[Row], picture: str | None) -> None:
    """Print the table and the means; draw where ours wins and loses."""
    worse = _worse(rows)
    for row in rows:
        means = ", ".join(f"{name} {values.mean():.3f}" for name, values in row.values.items())
        ahead, error = row.apart()
        said = f"{row.model}, {row.n} x {row.q}, {row.what}, {len(row.values['ours'])} seeds: {means}"
        print(f"{said}; ahead of {row.best_rival} by {ahead:.3f} ± {error:.3f}")
    mine = ("ours", "best rival", "less by, ± error")
    printed.head("Items × questions", "Seeds", f"Cost, {mine[0]}", *mine[1:], f"Excess, {mine[0]}", *mine[1:])
    for n, q in dict.fromkeys((row.n, row.q) for row in rows):
        cells = [_mean_cell([row for row in rows if (row.n, row.q, row.what) == (n, q, what)]) for what in WHATS]
        seeds = min(len(row.values["ours"]) for row in rows if (row.n, row.q) == (n, q))
        printed.row(f"{n} × {q}", seeds, *cells[0], *cells[1])
    printed.head(f"Significantly worse in {sum(worse)} of {len(rows)} cells", "Items × questions", "", *mine)
    for row, bad in zip(rows, worse, strict=True):
        if bad:
            ahead, error = row.apart()
            theirs = f"{row.values[row.best_rival].mean():.2f} ({row.best_rival})"
            ours = f"{row.values['ours'].mean():.2f}"
            printed.row(row.model, f"{row.n} × {row.q}", row.what, ours, theirs, f"{ahead:.2f} ± {error:.2f}")
    if picture:
        _draw(rows, worse, picture)


def _mean_cell(some: list[Row]) -> tuple[str, str, str]:
    """Ours, the rival with the best mean over the models, and how much less ours has; dashes where there is nothing."""
    if not some:
        return "–", "–", "–"
    names = [name for name in ("ours", *RIVALS) if all(name in row.values for row in some)]
    means = {name: float(np.mean([row.values[name].mean() for row in some])) for name in names}
    best = min((name for name in names if name != "ours"), key=means.__getitem__)
    parts = np.array([row.apart(best) for row in some])
    error = float(np.sqrt(np.sum(parts[:, 1] ** 2))) / len(parts)
    ours = f"{means['ours']:.2f}"
    shown = f"**{ours}**" if means["ours"] <= means[best] else ours
    return shown, f"{means[best]:.2f} ({best})", f"{parts[:, 0].mean():.2f} ± {error:.2f}"


def _worse(rows: list[Row]) -> list[bool]:
    """Cells in which ours is significantly worse, Holm over all cells."""
    chances = [row.chance() for row in rows]
    marked = [False] * len(rows)
    for rank, at in enumerate(np.argsort(chances, kind="stable")):
        if chances[at] > 0.05 / (len(rows) - rank):
            break
        marked[at] = True
    return marked


def _draw(rows: list[Row], worse: list[bool], path: str) -> None:
    """A panel a yardstick: models down, sizes and questions across, ours against the best rival as a colour."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 7), layout="constrained")
    for ax, what in zip(figure.subplots(2, 1), ("cost", "excess"), strict=True):
        some = [(row, bad) for row, bad in zip(rows, worse, strict=True) if row.what == what]
        across = list(dict.fromkeys((row.n, row.q) for row, _ in some))
        down = [f"{model} {level}" for model, level in MODELS if any(r.model == f"{model} {level}" for r, _ in some)]
        shown = np.full((len(down), len(across)), np.nan)
        floor = 1.0 if what == "cost" else 0.0  # the best that can be
        for row, bad in some:
            ours, rival = (row.values[name].mean() - floor for name in ("ours", row.best_rival))
            at = down.index(row.model), across.index((row.n, row.q))
            shown[at] = np.log2((max(ours, 0.0) + 0.02) / (max(rival, 0.0) + 0.02))
            ahead, error = row.apart()
            unsure = not abs(ahead) > 2.0 * error  # also where one seed has no error
            if bad or unsure:
                ink = "white" if abs(shown[at]) > 1.0 else "black"
                ax.text(at[1], at[0], "×" if bad else "·", ha="center", va="center", color=ink)
        image = ax.imshow(shown, cmap="RdBu_r", vmin=-1.5, vmax=1.5, aspect="auto")
        ax.set_xticks(range(len(across)), [f"{n} × {q}" for n, q in across], rotation=90, fontsize=8)
        ax.set_yticks(range(len(down)), down, fontsize=8)
        above = "cost above the best order's" if what == "cost" else "excess over the true order"
        ax.set_title(f"{above}, against the best rival of each cell: blue is less, red is more", fontsize=9, loc="left")
        figure.colorbar(image, ax=ax, ticks=[-1, 0, 1]).ax.set_yticklabels(["half", "equal", "twice"])
    marks = "× where ours is significantly worse, · where the seeds do not tell (two standard errors)"
    figure.supxlabel(f"items × questions an item; {marks}", fontsize=9)
    figure.savefig(path, dpi=110)
    print(f"wrote {path}")
