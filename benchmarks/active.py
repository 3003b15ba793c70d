"""What a question buys: our presets beside other ways to choose pairs, at the same number of distinct questions.

    python -m benchmarks.active grid                        every noise model × size × questions on both yardsticks,
                                                            one table; with --picture FILE also one picture
    python -m benchmarks.active figures                     the table of the documentation, on held-out seeds
    python -m benchmarks.active rivals [--n N] [--seeds S]  against uniform + Bradley-Terry, sorts, TrueSkill- and
                                                            Crowd-BT-driven questions, ASAP
    python -m benchmarks.active crowd                       12 and 50 judges with slow answers beside one
    python -m benchmarks.active stops                       how often "stable" is said and wrong, and what bands hold
    python -m benchmarks.active bands                       what bands hold after so many questions, 250 items
    python -m benchmarks.active clean                       no mistakes: questions beside merge sort's
    python -m benchmarks.active load                        a million votes: load, plan, order
    python -m benchmarks.active large                       100,000 items: CPU, rounds, cost, memory
    python -m benchmarks.active kemeny                      orders of least disagreement, beside CP-SAT and corankco
    python -m benchmarks.active features                    what informative and useless features change

Costs are divided by the best known: the cheapest of several local searches on all answers (n <= 1,000), beyond that the
hidden order. Constants were tuned on seeds below 9,000; `figures` uses seeds from 15,000 on, `rivals` from
7,100.
"""

from __future__ import annotations

import argparse
import resource
import time
from itertools import product

import numpy as np

from benchmarks import printed
from benchmarks.asking import grid
from benchmarks.crowds import crowds
from benchmarks.harness import Data, Scenario, Way
from benchmarks.peers import asap, corankco, crowd_bt, linear_ordering, sorts, trueskill_driven, uniform_bradley_terry
from benchmarks.stopping import bands, stops
from podium.active import kemeny, rank_with
from podium.active.oracles import Simulated
from podium.active.order import iterated_search, mfast_cost
from podium.active.planner import Planner
from podium.active.tally import CHECK

HELD_OUT = 15_000  # seeds from here on were looked at once
UNSEEN = 7100  # of `rivals`: the start was changed after a look at sorts on seeds from 7,000
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
    printed.head("Items", "Noise", "Preset", "Questions an item", "Cost ratio, mean", "worst", "wanted",
                 "Rounds", "CPU seconds")  # fmt: skip
    for n, model, level, q, preset, wanted in TABLE:
        ratios, rounds, cpu = [], [], []
        for seed in range(HELD_OUT, HELD_OUT + seeds):
            judge = Simulated(n, model, level, seed=seed)
            start, put = time.process_time(), _Clock(judge)
            ranker = ours(put, q * n, seed, preset)
            order = np.array(ranker.order("answers"))
            cpu.append(time.process_time() - start - put.seconds)
            assert ranker.answered <= q * n
            rounds.append(ranker.rounds)
            ratios.append(judge.cost(order) / best_known(judge))
        took = min(cpu)
        ratio = f"{np.mean(ratios):.4f}", f"{max(ratios):.4f}", f"{wanted:g}"
        printed.row(f"{n:,}", f"{model} {level:g}", f"`{preset}`", q, *ratio, max(rounds), f"{took:.2f}")


class _Clock:
    """A judge whose own time is not counted as ours."""

    def __init__(self, judge: Simulated) -> None:
        self.judge, self.seconds, self.n = judge, 0.0, judge.n

    def answer(self, pairs: np.ndarray) -> np.ndarray:
        start = time.process_time()
        answers = self.judge.answer(pairs)
        self.seconds += time.process_time() - start
        return answers


def rivals(seeds: int = 8, sizes: tuple[int, ...] = (100,)) -> None:
    """Each rival at the questions it asks (sorts) or is given; ours with as many, without check pairs; paired seeds."""
    ways = {
        "quicksort": sorts.quicksort,
        "mergesort": sorts.mergesort,
        "uniform+BT": uniform_bradley_terry.rank,
        "trueskill-driven": trueskill_driven.rank,
        "crowd-BT": crowd_bt.rank,
        "ASAP": asap.rank,
    }
    try:
        import trueskill  # noqa: F401
    except ImportError:
        print("not run: trueskill-driven (package trueskill is not installed)")
        del ways["trueskill-driven"]
    print("not run: the exact variant of ASAP (message passing twice for every pair of every batch)")
    printed.head("Items, noise", "Rival", "Questions an item", "Rival's cost", "Ours", "Ours ÷ rival's", "worst")
    for n in sizes:
        for model, level in MODELS:
            best = {}
            for name, way in ways.items():
                rows = []
                for seed in range(UNSEEN, UNSEEN + seeds):
                    judge = Simulated(n, model, level, seed=seed)
                    best.setdefault(seed, best_known(judge))
                    order, asked = way(judge, 15 * n, seed)
                    mine = ours(judge, asked, seed, share=0.0).order("answers")
                    rows.append((asked / n, judge.cost(order) / best[seed], judge.cost(np.array(mine)) / best[seed]))
                q, theirs, our = np.mean(rows, axis=0)
                worst = max(row[2] / row[1] for row in rows)
                costs = (f"{each:.3f}" for each in (theirs, our, our / theirs, worst))
                printed.row(f"{n}, {model} {level:g}", name, f"{q:.1f}", *costs)


def features(seeds: int = 5, n: int = 400) -> None:
    """Cost over the hidden order's at equal questions, without features, with informative and with useless ones."""
    printed.head("Noise", "Questions an item", "No features", "Informative", "Useless")
    for (model, level), q in product((("flips", 0.1), ("bradley-terry", 0.05)), (4, 6, 8, 12, 16)):
        columns: dict[str, list[float]] = {"none": [], "informative": [], "useless": []}
        for seed in range(HELD_OUT, HELD_OUT + seeds):
            judge = Simulated(n, model, level, seed=seed)
            rng = np.random.default_rng(seed)
            telling = np.column_stack([judge.place + rng.normal(0, 0.1 * n, n), rng.normal(size=(n, 3))])
            tables = {"none": None, "informative": telling, "useless": rng.normal(size=(n, 4))}
            for name, table in tables.items():
                found = rank_with(judge, range(n), budget=q * n, seed=seed, features=table)
                columns[name].append(judge.cost(np.array(found.order("answers"))) / judge.cost(judge.order))
        printed.row(f"{model} {level:g}", q, *(f"{np.mean(values):.3f}" for values in columns.values()))


def kemeny_orders() -> None:
    """Tournaments with 10 % flips: ours, OR-tools' CP-SAT (one thread, 20 s), corankco's two algorithms.

    Beyond 30 items the rivals are not run: corankco's exact one takes minutes, CP-SAT its 20 s without a proof.
    """
    printed.head("Items", "Way", "Cost", "Bound", "CPU seconds")
    for n in (16, 20, 30, 50, 100, 300, 1000):
        wins = Simulated(n, "flips", 0.1, seed=HELD_OUT).matrix().astype(np.float64)
        found, took = _timed(lambda wins=wins: kemeny(wins))
        printed.row(f"{n:,}", "Podium", f"{found.cost:,.0f}", f"{found.lower_bound:,.0f}", f"{took:.3g}")
        if n > 30:
            continue
        for name, run in _kemeny_rivals(wins).items():
            try:
                (cost, bound), took = _timed(run)
            except ImportError as problem:
                printed.row(n, name, f"not installed ({problem.name})", "", "")
            else:
                printed.row(n, name, f"{cost:,.0f}", "" if bound is None else round(bound), f"{took:.3g}")


def _kemeny_rivals(wins: np.ndarray):
    def consensus(exact: bool):
        cost = mfast_cost(wins, corankco.prepare(wins, exact)())
        return cost, cost if exact else None

    return {
        "CP-SAT": lambda: linear_ordering.rank(wins),
        "corankco exact": lambda: consensus(True),
        "corankco BioConsert": lambda: consensus(False),
    }


def _timed(run):
    """The result and the CPU seconds, those of child processes included."""

    def spent() -> float:
        children = resource.getrusage(resource.RUSAGE_CHILDREN)
        return time.process_time() + children.ru_utime + children.ru_stime

    start = spent()
    return run(), spent() - start


def large(n: int = 100_000, q: int = 36) -> None:
    """Many items: CPU seconds without the judge's, rounds, cost on random pairs over the hidden order's, memory."""
    judge = Simulated(n, "flips", 0.1, seed=HELD_OUT)
    put = _Clock(judge)
    start = time.process_time()
    ranker = ours(put, q * n, HELD_OUT)
    place = np.argsort(np.array(ranker.order("answers")))
    took = time.process_time() - start - put.seconds
    pairs = np.random.default_rng(0).integers(0, n, size=(4_000_000, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    said = judge.answer(pairs) > 0.5
    mine, hidden = (np.mean((p[pairs[:, 0]] < p[pairs[:, 1]]) != said) for p in (place, judge.place))
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    printed.head("Items", "Questions an item", "Rounds", "CPU seconds", "Cost ÷ hidden order's", "Memory")
    printed.row(f"{n:,}", q, ranker.rounds, f"{took:.1f}", f"{mine / hidden:.4f}", f"{memory:,.0f} MB")


def clean(sizes: tuple[int, ...] = (100, 1000, 5000, 20_000)) -> None:
    """A judge without mistakes: questions beside the expected ones of merge sort, check pairs apart."""
    printed.head(
        "Items", "Questions an item", "Merge sort", "Ratio", "Check pairs an item", "Order exact", "CPU seconds"
    )
    for n in sizes:
        judge = Simulated(n, "flips", 0.0, seed=HELD_OUT + n)
        put = _Clock(judge)
        start = time.process_time()
        planner = rank_with(put, range(n), preset="thorough", budget=40 * n, seed=HELD_OUT).planner
        took = time.process_time() - start - put.seconds
        checks = int(np.count_nonzero(planner.tally.kind == CHECK))
        asked, merged = (len(planner) - checks) / n, _merge_sort(n) / n
        exact = bool(np.array_equal(planner.order(), judge.order))
        exactly = "yes" if exact and planner.finished else "no"
        shares = (f"{asked:.2f}", f"{merged:.2f}", f"{asked / merged:.3f}", f"{checks / n:.2f}")
        printed.row(f"{n:,}", *shares, exactly, f"{took:.1f}")


def _merge_sort(n: int) -> float:
    """Expected questions of merging halves, item by item."""
    if n < 2:
        return 0.0
    a, b = n // 2, n - n // 2
    return _merge_sort(a) + _merge_sort(b) + n - a / (b + 1) - b / (a + 1)


def load(n: int = 10_000, votes: int = 1_000_000) -> None:
    """A million votes between items that are near each other: CPU seconds to load them, plan a round and order."""
    rng, judge = np.random.default_rng(0), Simulated(n, "flips", 0.1, seed=HELD_OUT)
    place = rng.integers(0, n, votes)
    other = np.clip(place + np.rint(rng.standard_t(2, votes) * n / 20).astype(np.int64), 0, n - 1)
    other = np.where(other == place, (place + 1) % n, other)
    left, right = judge.order[place], judge.order[other]
    value = judge.answer(np.column_stack([left, right]))
    start = time.process_time()
    planner = Planner(n, seed=0)
    planner.load(left, right, value)
    steps = {"load": planner.__len__, "plan": lambda: planner.plan(n // 2), "order": planner.order}
    took = {}
    for name, step in steps.items():
        step()
        took[name] = time.process_time() - start
        start = time.process_time()
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    printed.head("Items", "Votes", "Load", "Plan a round", "Order", "CPU in all", "Memory")
    spent = (f"{each:.2f} s" for each in (*took.values(), sum(took.values())))
    printed.row(f"{n:,}", f"{votes:,}", *spent, f"{memory:,.0f} MB")


def main() -> None:
    """Read the command and its options."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = ["grid", "figures", "rivals", "features", "kemeny", "large", "crowd", "stops", "bands", "clean", "load"]
    parser.add_argument("command", choices=commands, nargs="?")
    parser.add_argument("--n", type=int, nargs="+", help="numbers of items, for grid, rivals, stops and bands")
    parser.add_argument("--q", type=int, nargs="+", help="questions an item, for grid and bands")
    parser.add_argument("--picture", help="where the picture of grid goes")
    parser.add_argument("--again", action="store_true", help="grid: forget what ours reached, as the planner changed")
    parser.add_argument("--model", nargs="+", help="noise and its level for stops and bands, such as 'flips 0.02'")
    parser.add_argument("--first", type=int, help="first seed, for stops and bands")
    parser.add_argument("--seeds", type=int, help="held-out seeds, for grid, figures, rivals and features")
    options = parser.parse_args()
    seeds = {} if options.seeds is None else {"seeds": options.seeds}
    studied = {} if options.n is None else {"sizes": tuple(options.n)}
    if options.model is not None:
        studied["models"] = tuple((name, float(level)) for name, level in (each.split() for each in options.model))
    if options.first is not None:
        studied["first"] = options.first
    if options.command == "grid":
        sizes = {} if options.n is None else {"sizes": tuple(options.n)}
        questions = {} if options.q is None else {"questions": tuple(options.q)}
        grid(**sizes, **questions, **seeds, picture=options.picture, again=options.again)
    elif options.command == "rivals":
        rivals(sizes=tuple(options.n or [100]), **seeds)
    elif options.command == "features":
        features(**seeds)
    elif options.command == "kemeny":
        kemeny_orders()
    elif options.command == "large":
        large()
    elif options.command == "crowd":
        crowds(**({} if options.n is None else {"n": options.n[0]}), **seeds)
    elif options.command == "stops":
        stops(**studied, **seeds)
    elif options.command == "bands":
        bands(**studied, **({} if options.q is None else {"questions": tuple(options.q)}), **seeds)
    elif options.command == "clean":
        clean(tuple(options.n or (100, 1000, 5000, 20_000)))
    elif options.command == "load":
        load()
    else:
        figures(**seeds)


# What `benchmarks.run` times and keeps -------------------------------------------------------------------------------


def _interview(n: int, model: str, level: float, q: int):
    def make(rng: np.random.Generator) -> Data:
        return {"judge": Simulated(n, model, level, seed=HELD_OUT), "questions": q * n}

    return make


def _ask(data: Data):
    return lambda: np.array(ours(data["judge"], data["questions"], HELD_OUT).order("answers"), dtype=np.float64)


def _rival(rank):
    def prepare(data: Data):
        return lambda: np.asarray(rank(data["judge"], data["questions"], HELD_OUT)[0], dtype=np.float64)

    return prepare


def _over_hidden(data: Data, order: np.ndarray) -> str:
    judge = data["judge"]
    return f"cost {judge.cost(order.astype(np.int64)) / judge.cost(judge.order):.3f} × the hidden order's"


def _tournament(n: int):
    return lambda rng: {"wins": Simulated(n, "flips", 0.1, seed=HELD_OUT).matrix().astype(np.float64)}


def _our_order(data: Data):
    return lambda: np.array(kemeny(data["wins"]).order, dtype=np.float64)


def _cost(data: Data, order: np.ndarray) -> str:
    return f"cost {mfast_cost(data['wins'], order.astype(np.int64)):.0f}"


SCENARIOS = (
    Scenario(
        "ask-100",
        "100 items, 15 questions each, 10 % flips",
        _interview(100, "flips", 0.1, 15),
        (
            Way("podium", _ask, repeats=3),
            Way("uniform + Bradley–Terry", _rival(uniform_bradley_terry.rank), repeats=3),
            Way("TrueSkill-driven", _rival(trueskill_driven.rank), repeats=1),
            Way("Crowd-BT-driven", _rival(crowd_bt.rank), repeats=1),
            Way("ASAP, approximate", _rival(asap.rank), repeats=1),
        ),
        quality=_over_hidden,
    ),
    Scenario(
        "ask-10k",
        "10,000 items, 31 questions each, 10 % flips",
        _interview(10_000, "flips", 0.1, 31),
        (
            Way("podium", _ask, repeats=3),
            Way("uniform + Bradley–Terry", _rival(uniform_bradley_terry.rank), repeats=1),
        ),
        limit=3.0,
        quality=_over_hidden,
    ),
    *(
        Scenario(
            f"kemeny-{n}",
            f"An order of least disagreement of {n} items, 10 % flips",
            _tournament(n),
            (
                Way("podium (exact)", _our_order),
                Way("corankco, exact", lambda data: corankco.prepare(data["wins"], True), repeats=1),
                Way("corankco, BioConsert", lambda data: corankco.prepare(data["wins"], False), repeats=1),
            ),
            quality=_cost,
        )
        for n in (16, 20)
    ),
)


if __name__ == "__main__":
    main()
