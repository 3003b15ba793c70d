"""Ailon, An Active Learning Algorithm for Ranking from Pairwise Preferences: what its claims come to in numbers.

    python -m papers.active            all studies (minutes): writes papers/active/results.json and cost.png, and prints
                                       the tables of docs/active-theory.md
    python -m papers.active curves     only the named ones; the others stay as they are in results.json
    python -m papers.active --small    a small version (seconds), printed only
    python -m papers.active --jobs 4   the same numbers from four processes, which share the seeds

questions_and_cost : of the paper's algorithm, our presets, QuickSort and uniform questions + local search
curves : cost from 4 to 40 questions an item, ours and uniform + Bradley-Terry; sorts and the paper's where they stop
sizes_asked_for : how many questions the paper's constants and the VC bound of Proposition 2.4 ask for
decomposition : what it costs on top of our order, and how often it is ε-good (2.2, 2.3), by small size and threshold
bound : is the cost within 1 + 2ε of the best, with the constants as they are and with local improvement switched on?
svm3 : SVM3 against SVM2 on data with features, by the radius c (Theorem 4.2)
solver : the loss that our solver of SVM1 reaches, against a linear programme and plain subgradient steps, by c
learners : linear, kernel and tree scores learnt from the decomposition, against the same learner with every answer
"""

from __future__ import annotations

import argparse
import json
from functools import partial
from itertools import islice, product
from pathlib import Path

import numpy as np
from scipy import sparse
from scipy.stats import kendalltau

from benchmarks.peers import sorts, uniform_bradley_terry
from benchmarks.peers.uniform_bradley_terry import random_pairs
from papers.active_page import tables
from podium.active import PaperOptions, rank_with
from podium.active.oracles import MatrixOracle, Simulated
from podium.active.order import SparseWins, insertion_search, iterated_search, mfast_cost
from podium.active.paper.decompose import goodness, sample_and_decompose, sample_and_rank, small_size
from podium.active.paper.interview import Interview
from podium.active.paper.learners import learn
from podium.active.paper.margin import BlockHinge, cross_block_hinge, least_loss
from podium.active.paper.options import LEARNERS
from podium.active.paper.quicksort import quicksort
from podium.active.paper.state import State
from podium.active.presets import questions_of
from podium.engine import Engine, Serial, engine_for
from podium.show.canvas import LINES, MARKERS, SOFT, axes_at, save, sheet, styled

OUT = Path(__file__).parent / "active"
SERIAL = Serial()
BUDGETS = (4, 6, 8, 12, 16, 20, 26, 32, 40)
SEED = 8000  # held out: nothing was tuned on these


def driven(judge, start, seed):
    """Questions, and the order an algorithm ends with."""
    interview = Interview(judge.n, start, seed=seed)
    while not interview.done:
        pairs = interview.ask()
        interview.tell(pairs, judge.answer(pairs))
    return interview


def questions_and_cost(sizes, levels, seeds, engine=SERIAL):
    """Mean questions per item and cost over the best known, for each n, noise and way of asking."""
    rows = []
    settings = list(product(sizes, levels))
    runs = engine.map(_asked, [(*each, seed) for each in settings for seed in _held_out(seeds)])
    for n, level in settings:
        for name, points in _by_key(islice(runs, seeds)).items():
            asked, ratio = np.mean(points, axis=0)
            rows.append({"n": n, "flips": level, "way": name, "questions": asked, "ratio": ratio})
    return rows


def _held_out(seeds):
    return range(SEED, SEED + seeds)


def _by_key(runs):
    """What every run found under a key, in the order of the runs."""
    together: dict = {}
    for run in runs:
        for key, value in run.items():
            together.setdefault(key, []).append(value)
    return together


def _asked(setting):
    """Questions per item and cost over the best known of every way of asking, for one n, noise and seed."""
    n, level, seed = setting
    judge = Simulated(n, "flips", level, seed=seed)
    wins = judge.matrix().astype(float)
    best = max(mfast_cost(wins, iterated_search(wins, judge.order, restarts=10)), 1.0)
    points = {}

    def note(name, order, asked):
        points[name] = asked / n, judge.cost(np.array(order)) / best

    sort = driven(judge, quicksort, seed)
    note("QuickSort", sort.order, sort.asked)
    for preset in ("quick", "standard", "thorough", "paper"):
        found = rank_with(judge, range(n), preset=preset, seed=seed, random_share=0.0)
        note(preset, found.order("answers"), found.answered)
        if preset == "standard":
            pairs = random_pairs(n, found.answered, np.random.default_rng(seed))
            table = SparseWins(n, pairs[:, 0], pairs[:, 1], 2 * judge.answer(pairs) - 1)
            wins_seen = np.bincount(pairs[:, 0], judge.answer(pairs), n)
            wins_seen += np.bincount(pairs[:, 1], 1 - judge.answer(pairs), n)
            order = table.insertion_search(np.argsort(-wins_seen, kind="stable"))
            note("uniform + local search", order, len(pairs))
    return points


def sizes_asked_for(epsilon=0.5):
    """Shares of all pairs that the paper's samples and the VC bound want, all constants 1."""
    rows = []
    for n in (100, 1000, 10_000, 100_000, 1_000_000):
        pairs, log = n * (n - 1) / 2, np.log(n)
        scales = np.ceil(np.log2(n)) - np.ceil(np.log2(max(1.0, epsilon * n / log))) + 1
        ensemble = n * scales * np.ceil(epsilon**-2 * log**2) if n > epsilon**-3 * log**3 else 0.0
        rows.append(
            {
                "n": n,
                "pairs": pairs,
                "improvement_on": bool(n > epsilon**-3 * log**3),
                "ensemble_share": min(1.0, ensemble / pairs),
                "erm_share": min(1.0, epsilon**-6 * n * log / pairs),
                "vc_share_for_one_place": min(1.0, n**2 * n * log / pairs),  # mu = 1/n: O(mu^-2 n log n)
                "ours_share": min(1.0, 3.2 * np.log2(n) * n / pairs),
            }
        )
    return rows


def curves(n, budgets, seeds, engine=SERIAL):
    """Mean cost over the best known by questions per item: ours and uniform + Bradley-Terry at each of `budgets`,
    sorts and the paper's algorithm where they stop."""
    rows = []
    noises = (("flips", 0.2), ("bradley-terry", 0.01))
    runs = engine.map(_curve_points, [(*noise, seed) for noise in noises for seed in _held_out(seeds)], n, budgets)
    for model, level in noises:
        for (way, budget), each in _by_key(islice(runs, seeds)).items():
            asked, ratio = np.mean(each, axis=0)
            noise = {"model": model, "level": level}
            rows.append({**noise, "way": way, "budget": budget or None, "questions": asked, "ratio": ratio})
    return rows


def _curve_points(setting, n, budgets):
    """Questions per item and cost over the best known by way and budget (0: where it stops), for one noise and seed."""
    model, level, seed = setting
    judge = Simulated(n, model, level, seed=seed)
    wins = judge.matrix().astype(float)
    best = mfast_cost(wins, iterated_search(wins, judge.order, restarts=10))
    runs = {
        ("QuickSort", 0): sorts.quicksort(judge, 0, seed),
        ("merge sort", 0): sorts.mergesort(judge, 0, seed),
    }
    runs["paper", 0] = _ours(judge, seed, preset="paper", random_share=0.0)
    for q in budgets:
        runs["standard", q] = _ours(judge, seed, budget=q * n)
        runs["uniform + Bradley–Terry", q] = uniform_bradley_terry.rank(judge, q * n, seed)
    return {key: (asked / n, judge.cost(order) / best) for key, (order, asked) in runs.items()}


def _ours(judge, seed, **options):
    found = rank_with(judge, range(judge.n), seed=seed, **options)
    return np.array(found.order("answers")), found.answered


NOISE = (("flips", 0.1), ("flips", 0.2), ("bradley-terry", 0.01), ("chaos", 0.02))
VARIANTS = ((None, 1.0), (None, 1.5), (16, 1.0), (16, 1.5))  # small size (None: the paper's), threshold over ε²


def decomposition(sizes, noise=NOISE, epsilon=0.5, engine=SERIAL):
    """What `sample_and_decompose` adds to an order after all questions of the standard preset; `sizes` has n: seeds.

    questions : new ones an item, beyond those the order took; chaotic : share of the items in blocks that stay big;
    planted : share of the planted chaos among these; chaos_holds, optimality_holds : runs with (2.2), (2.3).
    """
    rows = []
    settings = [(n, *each, seed) for n, seeds in sizes.items() for each in noise for seed in _held_out(seeds)]
    made = engine.map(_variants, settings, epsilon)
    for n, seeds in sizes.items():
        for model, level in noise:
            for (small, chaos), runs in _by_key(islice(made, seeds)).items():
                names = ("questions", "blocks", "chaotic", "planted", "chaos_holds", "optimality_holds")
                means = dict(zip(names, np.mean(runs, axis=0), strict=True))
                if model != "chaos":
                    del means["planted"]
                size = small_size(n, PaperOptions(small=small))
                rows.append({"n": n, "model": model, "level": level, "small": size, "threshold": chaos, **means})
    return rows


def _variants(setting, epsilon):
    """Every variant of the decomposition on top of one order, for one n, noise and seed."""
    n, model, level, seed = setting
    judge = Simulated(n, model, level, seed=seed)
    asked = questions_of("standard", n, None)  # one that stops when stable leaves more to ask
    ranker, wins = rank_with(judge, range(n), seed=seed, budget=asked), judge.matrix().astype(float)
    return {
        (small, chaos): _decomposed(ranker, judge, wins, PaperOptions(epsilon=epsilon, small=small, chaos=chaos))
        for small, chaos in VARIANTS
    }


def _decomposed(ranker, judge, wins, options):
    """One decomposition on top of a finished interview, in numbers."""
    n, order = judge.n, np.array(ranker.order("answers"))
    state = State(n, np.random.default_rng(ranker.seed), order=order)
    votes = ranker.comparisons
    pairs = np.column_stack([votes.left, votes.right]).astype(np.int64)
    state.votes.tell(pairs, (np.asarray(votes.outcome) + 1.0) / 2.0, np.zeros(len(pairs), dtype=np.int64))
    before, size = state.votes.distinct, small_size(n, options)
    blocks = _answered(sample_and_decompose(state, order, options), judge, state)
    good = goodness(wins, blocks, small=size)
    big = np.concatenate([np.zeros(0, dtype=int), *(block for block in blocks if len(block) > size)])
    planted = (judge.place * 10 // n) % 2 == 0
    return (
        (state.votes.distinct - before) / n,
        len(blocks),
        len(big) / n,
        planted[big].sum() / planted.sum(),
        good.chaos >= options.epsilon**2,
        good.optimality <= 1 + options.epsilon,
    )


def _answered(flow, judge, state):
    try:
        pairs = next(flow)
        while True:
            keys = state.votes.keys(pairs)
            new = ~state.votes.closed(keys)
            new &= np.isin(np.arange(len(keys)), np.unique(keys, return_index=True)[1])
            state.votes.tell(pairs[new], judge.answer(pairs[new]), np.zeros(new.sum(), dtype=int))
            pairs = flow.send(judge.answer(pairs))
    except StopIteration as end:
        return end.value


CONSTANTS = {  # name: options that differ from the default
    "default": {},
    "improvement on": {"guard": 0.0, "ensemble": 0.1, "threshold": 4.0},
}


def bound(settings, epsilon=0.5, engine=SERIAL):
    """Cost over the best known and the share of pairs asked; `settings` are (n, flips, seeds, names of constants)."""
    rows = []
    each = [
        (n, level, name, seed) for n, level, seeds, names in settings for name in names for seed in _held_out(seeds)
    ]
    runs = engine.map(_bounded, each, epsilon)
    for n, level, seeds, names in settings:
        for name in names:
            asked, ratio = np.array(list(islice(runs, seeds))).T
            within = int(np.count_nonzero(ratio <= 1 + 2 * epsilon))
            rows.append(
                {
                    "n": n,
                    "flips": level,
                    "constants": name,
                    "runs": seeds,
                    "share_asked": asked.mean(),
                    "ratio": ratio.mean(),
                    "worst": ratio.max(),
                    "within": within,
                }
            )
    return rows


def _bounded(setting, epsilon):
    """Share of the pairs asked and cost over the best known, of the paper's algorithm with named constants."""
    n, level, name, seed = setting
    judge = Simulated(n, "flips", level, seed=seed)
    wins = judge.matrix().astype(float)
    best = max(mfast_cost(wins, insertion_search(wins, judge.order)), 1.0)
    options = PaperOptions(epsilon=epsilon, **CONSTANTS[name])
    found = driven(judge, partial(sample_and_rank, options=options), seed)
    return found.asked / (n * (n - 1) / 2), judge.cost(found.order) / best


def svm3_against_svm2(n, samples, radii=(1.0, 4.0, 16.0), dimension=5):
    """The largest of |F3 - F2| / F2 over random weights of length c, by c and the number M of sampled pairs."""
    rng = np.random.default_rng(SEED)
    judge = Simulated(n, "chaos", 0.02, seed=SEED)
    features = rng.normal(size=(n, dimension))
    features /= np.linalg.norm(features, axis=1).max()
    blocks = np.array_split(judge.order, 10)
    block = np.argsort(judge.order) * 10 // n
    wins = judge.matrix()
    inside = np.array([(u, v) if wins[u, v] else (v, u) for b in blocks for i, u in enumerate(b) for v in b[i + 1 :]])
    rows = []
    for radius, count in product(radii, samples):
        chosen = inside[rng.integers(0, len(inside), count)]
        worst = 0.0
        for _ in range(50):
            weights = rng.normal(size=dimension)
            scores = features @ (radius * weights / np.linalg.norm(weights))
            cross = cross_block_hinge(scores, block)[0]
            full = cross + np.maximum(0, 1 - scores[inside[:, 0]] + scores[inside[:, 1]]).sum()
            part = np.maximum(0, 1 - scores[chosen[:, 0]] + scores[chosen[:, 1]]).mean() * len(inside)
            worst = max(worst, abs(cross + part - full) / full)
        rows.append({"radius": radius, "sampled": count, "of": len(inside), "worst_relative_gap": worst})
    return rows


def solver(n, seeds, radii=(1.0, 10.0, 100.0), dimensions=(2, 5), flips=0.1):
    """How far the loss of SVM1 is above the least: by our solver, and by 400 projected subgradient steps.

    The least is that of a linear programme (HiGHS, which knows no ball) where its weights are no longer than c, else
    the bound that our solver proves; `inside` counts the first. The worst of `seeds` tournaments.
    """
    rows = []
    for dimension, radius in product(dimensions, radii):
        runs = [_solved(n, dimension, radius, flips, seed) for seed in _held_out(seeds)]
        above, gap, points, steps, inside = np.array(runs).T
        rows.append(
            {
                "dimension": dimension,
                "radius": radius,
                "above": above.max(),
                "gap": gap.max(),
                "points": points.mean(),
                "subgradient_above": steps.max(),
                "inside": int(inside.sum()),
                "runs": seeds,
            }
        )
    return rows


def _solved(n, dimension, radius, flips, seed):
    """One tournament: ours above the least, its proved gap, the points it tried, subgradient steps above the least."""
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(n, dimension))
    features /= np.linalg.norm(features, axis=1).max()
    score = features @ rng.normal(size=dimension)
    turned = np.triu(rng.random((n, n)) < flips, 1)
    winner, loser = np.nonzero((score[:, None] > score) ^ turned ^ turned.T)
    keep = winner != loser
    winner, loser = winner[keep], loser[keep]
    hinge = BlockHinge(np.zeros(n, dtype=np.int64), winner, loser, np.ones(len(winner)))
    found = least_loss(features, hinge, radius=radius)
    least, weights = _linear_programme(features[winner] - features[loser])
    inside = float(np.linalg.norm(weights)) <= radius
    truth = least if inside else found.bound
    plain = _subgradient(features, hinge, radius)
    return found.loss / truth - 1, found.gap, found.steps, plain / truth - 1, inside


def _linear_programme(rows):
    """The least sum of max(0, 1 - row · w) over all w, and such a w."""
    from scipy.optimize import linprog

    m, d = rows.shape
    slack = sparse.hstack([sparse.csr_array(-rows), -sparse.eye_array(m)])
    found = linprog(
        np.r_[np.zeros(d), np.ones(m)], slack, -np.ones(m), bounds=[(None, None)] * d + [(0, None)] * m
    )  # fmt: skip
    return found.fun, found.x[:d]


def _subgradient(features, hinge, radius, steps=400):
    """The least loss that projected subgradient steps of length c / √t come across."""
    weights = np.zeros(features.shape[1])
    least = np.inf
    for step in range(1, steps + 1):
        value, slope = hinge.at(features @ weights)
        least, slope = min(least, value), features.T @ slope
        weights = weights - radius / (np.linalg.norm(slope) * np.sqrt(step)) * slope
        weights *= min(1.0, radius / np.linalg.norm(weights))
    return least


TRUTHS = ("linear", "curved")


def learners(n, seeds, flips=0.1, engine=SERIAL):
    """What each learner reaches from the decomposition, and from every answer (`_all`).

    questions : an item; ratio : cost over the hidden order's; new : Kendall's tau on as many items never asked about.
    """
    rows = []
    settings = list(product(TRUTHS, CONSTANTS))
    runs = engine.map(_learnt, [(*each, seed) for each in settings for seed in _held_out(seeds)], n, flips)
    for truth, constants in settings:
        for learner, points in _by_key(islice(runs, seeds)).items():
            names = ("questions", "ratio", "ratio_all", "new", "new_all")
            means = dict(zip(names, np.mean(points, axis=0), strict=True))
            rows.append({"n": n, "truth": truth, "constants": constants, "learner": learner, **means})
    return rows


def _learnt(setting, n, flips):
    """Of each learner: questions an item, cost over the hidden order's, tau on new items; see `learners`."""
    truth, constants, seed = setting
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(2 * n, 3))
    score = features @ np.array([1.0, -0.7, 0.4]) if truth == "linear" else -np.linalg.norm(features, axis=1)
    turned = np.triu(rng.random((n, n)) < flips, 1)
    wins = ((score[:n, None] > score[:n]) ^ turned ^ turned.T).astype(float)
    hidden = mfast_cost(wins, np.argsort(-score[:n]))
    winner, loser = np.nonzero(wins)
    everything = BlockHinge(np.zeros(n, dtype=np.int64), winner, loser, np.ones(len(winner)))
    known, new, points = features[:n], features[n:], {}
    for learner in LEARNERS:
        options = PaperOptions(learner=learner, **CONSTANTS[constants])
        settled = {"preset": "paper", "features": known, "seed": seed, "random_share": 0.0, "paper": options}
        ranker = rank_with(MatrixOracle(wins), range(n), **settled)
        models = ranker.model_, learn(known, everything, options, np.random.default_rng(seed))
        ratios = [mfast_cost(wins, model.order(known)) / hidden for model in models]
        points[learner] = (
            ranker.answered / n,
            *ratios,
            *(kendalltau(score[n:], m.scores(new)).statistic for m in models),
        )
    return points


PANELS = {  # noise: title, ticks of the cost
    "flips": ("1,000 items, every fifth answer wrong", (1, 1.2, 1.4, 1.6, 1.8)),
    "bradley-terry": ("1,000 items, close calls (Bradley–Terry .01)", (1, 1.5, 2, 3, 5, 10, 20)),
}
LABELS = {  # way: its name, and for each noise the point it is written at, how far to the right and up
    "standard": ("Podium, standard", {"flips": (4, 8, 2), "bradley-terry": (-1, 8, 4)}),
    "uniform + Bradley–Terry": ("uniform + Bradley–Terry", {"flips": (4, 8, 5), "bradley-terry": (4, 8, 4)}),
    "QuickSort": ("QuickSort", {"flips": (0, 8, -3), "bradley-terry": (0, 8, 2)}),
    "merge sort": ("merge sort", {"flips": (0, 8, 0), "bradley-terry": (0, -8, -8)}),
    "paper": ("the paper's algorithm", {"flips": (0, -9, -3), "bradley-terry": (0, 8, -2)}),
}


@styled
def figure(rows: list[dict]):
    """A panel for each noise: cost by questions, ways with a budget as curves, the others as points."""
    from matplotlib.ticker import FixedLocator, NullLocator

    page = sheet(9.0, 3.9)
    for number, (model, (title, ticks)) in enumerate(PANELS.items()):
        ax = axes_at(page, 0.6 + 4.4 * number, 0.55, 3.9, 2.95)
        for (way, (name, where)), colour, marker in zip(LABELS.items(), LINES, MARKERS, strict=False):
            points = sorted(
                (row["questions"], row["ratio"]) for row in rows if (row["model"], row["way"]) == (model, way)
            )
            ax.plot(*zip(*points, strict=True), color=colour, marker=marker, markersize=4 if points[1:] else 7)
            at, right, up = where[model]
            style = {"color": colour, "fontsize": 8, "ha": "right" if right < 0 else "left"}
            ax.annotate(name, points[at], (right, up), textcoords="offset points", **style)
        ax.axhline(1.0, color=SOFT, linewidth=0.8, linestyle=":")
        ax.set(xscale="log", yscale="log", xlim=(3.5, 160), xlabel="questions per item")
        ax.set_title(title, loc="left", fontsize=10)
        for axis, places in ((ax.xaxis, (4, 8, 16, 32, 64, 128)), (ax.yaxis, ticks)):
            axis.set_major_locator(FixedLocator(places))
            axis.set_minor_locator(NullLocator())
            axis.set_major_formatter("{x:g}")
    page.axes[0].set_ylabel("cost ÷ best known")
    return page


BOTH = tuple(CONSTANTS)
SMALL_BOUND = ((60, 0.02, 2, BOTH),)
BOUND = (
    *((100, level, 5, BOTH) for level in (0.005, 0.02, 0.1, 0.2)),
    *((300, level, 2, BOTH) for level in (0.005, 0.02, 0.1)),
    (300, 0.2, 2, BOTH[:1]),
    (1000, 0.02, 2, BOTH),
    (1000, 0.1, 2, BOTH[:1]),
    (2500, 0.02, 2, BOTH[:1]),
)


def studies(small: bool, engine: Engine = SERIAL) -> dict[str, partial[list]]:
    """Each study, ready to run; svm3 draws from one Generator and stays in this process."""
    sizes, seeds = ((60,), 1) if small else ((100, 300, 1000), 3)
    ask, cost, blocks = (partial(study, engine=engine) for study in (questions_and_cost, curves, decomposition))
    return {
        "questions_and_cost": partial(ask, sizes, (0.05, 0.2), seeds),
        "curves": partial(cost, 100, (4, 12), 1) if small else partial(cost, 1000, BUDGETS, 2),
        "sizes_asked_for": partial(sizes_asked_for),
        "decomposition": partial(blocks, {100: 2}, NOISE[1:2]) if small else partial(blocks, {300: 5, 1000: 3}),
        "bound": partial(bound, SMALL_BOUND if small else BOUND, engine=engine),
        "svm3": partial(svm3_against_svm2, 100 if small else 400, (50, 200, 800, 3200)),
        "solver": partial(solver, 30 if small else 60, 1 if small else 5),
        "learners": partial(learners, 60 if small else 150, 1 if small else 2, engine=engine),
    }


def claims(results: dict[str, list]) -> dict[str, bool]:
    """What we say about the numbers, checked."""
    cost = {(row["n"], row["flips"], row["way"]): row for row in results["questions_and_cost"]}
    ours = [key for key in cost if key[2] == "standard"]
    gaps = {(row["radius"], row["sampled"]): row["worst_relative_gap"] for row in results["svm3"]}
    most = max(sampled for _, sampled in gaps)
    radii = sorted({radius for radius, _ in gaps})
    sure = [row for row in results["learners"] if row["constants"] == "improvement on"]
    learnt = {(row["truth"], row["learner"]): row["new"] for row in sure}
    at = {(row["model"], row["way"], row["budget"]): row["ratio"] for row in results["curves"]}
    blocks = results["decomposition"]
    default = [row for row in blocks if row["small"] == 16 and row["threshold"] == 1.5]
    return {
        "ours is cheaper than QuickSort and than uniform questions": all(
            cost[n, level, "standard"]["ratio"]
            < min(cost[n, level, w]["ratio"] for w in ("QuickSort", "uniform + local search"))
            for n, level, _ in ours
        ),
        "at 12 questions an item ours is cheaper than uniform + Bradley–Terry": all(
            at[model, "standard", 12] < at[model, "uniform + Bradley–Terry", 12] for model in ("flips", "bradley-terry")
        ),
        "the paper's improvement step is off at n = 1,000": not results["sizes_asked_for"][1]["improvement_on"],
        "the VC bound asks for every pair": all(
            row["vc_share_for_one_place"] == 1 for row in results["sizes_asked_for"]
        ),
        "a decomposition adds at most 6 questions an item": all(row["questions"] <= 6 for row in default),
        "it is nearly optimal": all(row["optimality_holds"] == 1 for row in default),
        "under flips (2.2) holds with blocks of 16 and 1.5 ε², not always as printed": all(
            row["chaos_holds"] == 1 for row in default if row["model"] == "flips"
        )
        and any(row["chaos_holds"] < 1 for row in blocks if row["small"] < 16 and row["threshold"] == 1),
        "with local improvement on, every run is within 1 + 2ε": all(
            row["within"] == row["runs"] for row in results["bound"] if row["constants"] == "improvement on"
        ),
        "SVM3 comes close to SVM2 as the sample grows, and less so with a larger radius": all(
            gaps[radius, most] < min(0.1, gaps[radius, 50]) for radius in radii
        )
        and gaps[radii[0], most] < gaps[radii[-1], most],
        "the solver is within its gap of a linear programme at c = 100, where subgradient steps are 10 % above": all(
            row["inside"] == row["runs"] and row["above"] <= 1e-4 and row["subgradient_above"] >= 0.1
            for row in results["solver"]
            if row["radius"] == 100
        ),
        "with local improvement on, a learner is within 1 + 2ε of the same one with every answer": all(
            row["ratio"] <= 2 * row["ratio_all"] for row in sure
        ),
        "a curved order is for kernel and trees, a straight one for the line": min(
            learnt["curved", "kernel"], learnt["curved", "trees"]
        )
        > learnt["curved", "linear"]
        and learnt["linear", "linear"] > max(learnt["linear", "kernel"], learnt["linear", "trees"]),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("named", nargs="*", metavar="study", help="studies to run; all by default")
    parser.add_argument("--small", action="store_true", help="a small version, printed only")
    parser.add_argument("--jobs", type=int, default=1, help="processes that share the seeds of the studies")
    given = parser.parse_args()
    named, small = given.named, given.small
    file = OUT / "results.json"
    with engine_for(given.jobs) as engine:
        known = studies(small, engine)
        if unknown := set(named) - set(known):
            parser.error(f"no study {', '.join(sorted(unknown))}; there are {', '.join(known)}")
        if small and named:
            print(json.dumps({name: known[name]() for name in named}, indent=1, default=float))
            return
        results = json.loads(file.read_text()) if named else {}
        results = {name: run() if not named or name in named else results[name] for name, run in known.items()}
    checked = claims(results)
    text = json.dumps({"claims": checked, **results}, indent=1, default=float)
    if small:
        print(text)
        return
    OUT.mkdir(exist_ok=True)
    file.write_text(text + "\n")
    save(figure(results["curves"]), OUT / "cost.png", dpi=120)
    for name, table in tables(results).items():
        if not named or name in named:
            print(f"{name}\n\n{table}\n")
    for claim, holds in checked.items():
        print("holds" if holds else "FAILS", claim)


if __name__ == "__main__":
    main()
