"""Do the intervals hold? Simulated votes with known scores, thousands of times over.

    python -m papers.calibration                  2,000 sets per design, about ten minutes; writes JSON and a figure
    python -m papers.calibration --sets 200       a quick look
    python -m papers.calibration --jobs 4         the same numbers from four processes

Each design draws true scores, votes and a Bradley-Terry fit, and counts how often the 95 % intervals hold the truth.
Claims, checked at the end (and on a smaller scale in tests/test_calibration.py):

- uniform pairs with 30 votes or more per item: curvature intervals cover 94-96 % of the scores on average;
- importance weights: the sandwich covers when it knows Σw² and is far too sure when it takes weights for counts;
- rankings broken into pairs: clustering by ranking covers, taking the pairs for independent votes does not;
- judges with tastes of their own: clustering by judge covers, taking their votes for independent does not;
- rank intervals: simultaneous ones all hold at once in at least 95 % of the sets. Those made one by one promise each
  item's rank, not all at once, so they may hold together in fewer sets; that they hold for the best and the last item
  too is looked at in `calibration_grid`, with tiers, chances and effects.

Votes collected adaptively (near items meet most) are shown because they break the promise; nothing is claimed of them.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np

from benchmarks.printed import head, row
from podium.data.comparisons import Comparisons
from podium.engine import engine_for
from podium.errors import PodiumWarning
from podium.pairwise.bradley_terry import BradleyTerry
from podium.ranking.ranking import Ranking

LEVEL = 0.95
HERE = Path(__file__).parent

Draw = Callable[[np.random.Generator], tuple[Comparisons, np.ndarray]]


def chance(gap: np.ndarray) -> np.ndarray:
    """Logistic chance to win at a score gap."""
    return 1 / (1 + np.exp(-gap))


def scores(rng: np.random.Generator, n: int) -> np.ndarray:
    """True scores, normal with standard deviation 0.8, centred."""
    truth = 0.8 * rng.normal(size=n)
    return truth - truth.mean()


def pairs(rng: np.random.Generator, n: int, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Uniform random pairs of different items."""
    left = rng.integers(n, size=count)
    return left, (left + rng.integers(1, n, size=count)) % n


def votes(n: int, left: np.ndarray, right: np.ndarray, won: np.ndarray, **more: np.ndarray) -> Comparisons:
    """Comparisons of items 0…n−1."""
    return Comparisons.from_arrays(np.where(won, left, right), np.where(won, right, left), items=range(n), **more)


def uniform(n: int, per_item: int) -> Draw:
    """Every pair equally likely, `per_item` votes per item on average."""

    def draw(rng: np.random.Generator) -> tuple[Comparisons, np.ndarray]:
        truth = scores(rng, n)
        left, right = pairs(rng, n, n * per_item // 2)
        return votes(n, left, right, rng.random(len(left)) < chance(truth[left] - truth[right])), truth

    return draw


def weighted(per_item: int) -> Draw:
    """Votes with importance weights of mean 1 and mean square 5: worth a fifth of their number."""

    def draw(rng: np.random.Generator) -> tuple[Comparisons, np.ndarray]:
        n = 12
        truth = scores(rng, n)
        left, right = pairs(rng, n, n * per_item // 2)
        weight = rng.lognormal(-np.log(5) / 2, np.sqrt(np.log(5)), size=len(left))
        won = rng.random(len(left)) < chance(truth[left] - truth[right])
        return votes(n, left, right, won, weight=weight), truth

    return draw


def rankings(rng: np.random.Generator) -> tuple[Comparisons, np.ndarray]:
    """60 rankings of 8 out of 16 items, Plackett-Luce: pairwise they are Bradley-Terry, but not independent."""
    n = 16
    truth = scores(rng, n)
    orders = []
    for _ in range(60):
        some = rng.choice(n, 8, replace=False)
        orders.append(some[np.argsort(-(truth[some] + rng.gumbel(size=8)))].tolist())
    made = Comparisons.from_rankings(orders, unranked="unknown")
    return made, truth[np.array(made.items)] - truth[np.array(made.items)].mean()


def judges(rng: np.random.Generator) -> tuple[Comparisons, np.ndarray]:
    """40 judges with 60 votes each and tastes of their own; the truth is what all judges together would say."""
    n, taste = 10, 0.8
    truth = scores(rng, n)
    tastes = truth + taste * rng.normal(size=(40, n))
    judge = np.repeat(np.arange(40), 60)
    left, right = pairs(rng, n, len(judge))
    won = rng.random(len(left)) < chance(tastes[judge, left] - tastes[judge, right])
    return votes(n, left, right, won, judge=judge), _crowd_scores(truth, taste)


def _crowd_scores(truth: np.ndarray, taste: float) -> np.ndarray:
    """Bradley-Terry scores of infinitely many judges: chances averaged over tastes, then fitted."""
    nodes, mass = np.polynomial.hermite_e.hermegauss(21)
    i, j = np.triu_indices(len(truth), 1)
    average = chance((truth[i] - truth[j])[:, None] + np.sqrt(2) * taste * nodes) @ (mass / mass.sum())
    winner, loser = np.concatenate([i, j]), np.concatenate([j, i])
    whole = Comparisons.from_arrays(
        winner, loser, weight=np.concatenate([average, 1 - average]), items=range(len(truth))
    )
    fitted = BradleyTerry(l2=0, tol=1e-9).fit(whole).ranking_.scores
    return fitted - fitted.mean()


def adaptive(rng: np.random.Generator) -> tuple[Comparisons, np.ndarray]:
    """360 votes; after the first 60 each round asks only about neighbours in the ranking so far."""
    n = 12
    truth = scores(rng, n)
    left, right = pairs(rng, n, 60)
    won = rng.random(60) < chance(truth[left] - truth[right])
    for _ in range(10):
        order = np.argsort(-BradleyTerry(l2=0.01).fit(votes(n, left, right, won)).ranking_.scores)
        at = rng.integers(n - 1, size=30)
        left, right = np.append(left, order[at]), np.append(right, order[at + 1])
        won = np.append(won, rng.random(30) < chance(truth[left[-30:]] - truth[right[-30:]]))
    return votes(n, left, right, won), truth


def weights_as_counts(ranking: Ranking) -> Ranking:
    """The sandwich as it would be if a weight of 5 meant five votes."""
    e = ranking.information
    assert e is not None
    return Ranking(
        ranking.items,
        ranking.scores,
        information=dataclasses.replace(e, vote_weight_sq=e.vote_weight),
        uncertainty="sandwich",
    )


def kind(name: str, **more: int) -> Callable[[Ranking], Ranking]:
    """The ranking with its standard errors from elsewhere."""
    return lambda ranking: ranking.with_uncertainty(name, **more)


PLAIN = {
    "curvature": kind("hessian"),
    "sandwich": kind("sandwich"),
    "bootstrap": kind("bootstrap", replicates=200, seed=0),
}
DESIGNS: dict[str, tuple[Draw, dict[str, Callable[[Ranking], Ranking]]]] = {
    "uniform pairs, 30 votes per item": (
        uniform(12, 30),
        {
            "curvature": kind("hessian"),
            "sandwich": kind("sandwich"),
            "bootstrap": kind("bootstrap", replicates=200, seed=0),
        },
    ),
    "uniform pairs, 100 votes per item": (
        uniform(20, 100),
        {
            "curvature": kind("hessian"),
            "sandwich": kind("sandwich"),
            "bootstrap": kind("bootstrap", replicates=200, seed=0),
        },
    ),
    "weights, worth 40 votes per item": (
        weighted(200),
        {"sandwich": kind("sandwich"), "weights taken for counts": weights_as_counts},
    ),
    "weights, worth 150 votes per item": (
        weighted(750),
        {"sandwich": kind("sandwich"), "weights taken for counts": weights_as_counts},
    ),
    "rankings of 8 items": (
        rankings,
        {"clustered by ranking": kind("cluster"), "pairs taken as independent": kind("sandwich")},
    ),
    "judges with tastes": (
        judges,
        {"clustered by judge": kind("cluster"), "votes taken as independent": kind("hessian")},
    ),
    "adaptively chosen pairs": (adaptive, {"curvature": kind("hessian")}),
}


def study(design: str, sets: int, seed: int = 1) -> dict[str, dict[str, float]]:
    """Simulate `sets` data sets of one design; return, for each way to the standard errors, the shares that held."""
    draw, ways = DESIGNS[design]
    rng = np.random.default_rng(seed)
    held = {way: np.zeros(4) for way in ways}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PodiumWarning)  # items that only won: their intervals are open, and count
        for _ in range(sets):
            comparisons, truth = draw(rng)
            fitted = BradleyTerry().fit(comparisons).ranking_
            for way, change in ways.items():
                held[way] += _holds(change(fitted), truth)
    names = ("scores", "ranks", "all ranks", "all ranks, simultaneous")
    return {way: dict(zip(names, (total / sets).tolist(), strict=True)) for way, total in held.items()}


def _holds(ranking: Ranking, truth: np.ndarray) -> list[float]:
    """Share of scores and of ranks held, and whether all ranks are at once: one by one, and simultaneously."""
    lower, upper = ranking.intervals(LEVEL)
    moved = ranking.scores - ranking.scores.mean()
    scores_held = (lower - ranking.scores <= truth - moved) & (truth - moved <= upper - ranking.scores)
    place = 1 + (truth[:, None] < truth).sum(axis=1)
    held = []
    for simultaneous in (False, True):
        best, worst = ranking.rank_intervals(LEVEL, simultaneous)
        held.append((best <= place) & (place <= worst))
    return [scores_held.mean(), held[0].mean(), held[0].all(), held[1].all()]


def check(found: dict[str, dict[str, dict[str, float]]], slack: float = 0.0) -> list[str]:
    """Return the claims that do not hold, in words; `slack` widens the bands for small studies."""
    bands = {
        ("uniform pairs, 30 votes per item", "curvature"): (0.94, 0.965),
        ("uniform pairs, 100 votes per item", "curvature"): (0.94, 0.96),
        ("weights, worth 40 votes per item", "sandwich"): (0.9, 0.96),
        ("weights, worth 150 votes per item", "sandwich"): (0.935, 0.96),
        ("weights, worth 150 votes per item", "weights taken for counts"): (0.5, 0.75),
        ("rankings of 8 items", "clustered by ranking"): (0.925, 0.965),
        ("rankings of 8 items", "pairs taken as independent"): (0.6, 0.88),
        ("judges with tastes", "clustered by judge"): (0.925, 0.965),
        ("judges with tastes", "votes taken as independent"): (0.5, 0.9),
    }
    wrong = []
    for (design, way), (low, high) in bands.items():
        share = found[design][way]["scores"]
        if not low - slack <= share <= high + slack:
            wrong.append(f"{design}, {way}: {share:.3f} of the scores held, expected {low} to {high}")
    for design in ("uniform pairs, 30 votes per item", "uniform pairs, 100 votes per item"):
        row = found[design]["curvature"]
        if row["all ranks, simultaneous"] < 0.95 - slack:
            wrong.append(f"{design}: simultaneous rank intervals held in only {row['all ranks, simultaneous']:.3f}")
        if row["all ranks"] > row["all ranks, simultaneous"]:
            wrong.append(f"{design}: rank intervals made one by one held at once more often than simultaneous ones")
    return wrong


def figure(found: dict[str, dict[str, dict[str, float]]], path: Path) -> None:
    """Coverage of every design and way, with the promised level."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    rows = [(design, way, shares["scores"]) for design, ways in found.items() for way, shares in ways.items()]
    fig, axes = plt.subplots(figsize=(8, 0.36 * len(rows) + 1.1), layout="constrained")
    axes.axvspan(94, 96, color="#cfe3f3", zorder=0)
    axes.axvline(95, color="#4477aa", linewidth=1)
    for y, (_, _, share) in enumerate(rows):
        fine = share >= 0.925
        axes.plot(100 * share, y, "o" if fine else "D", color="#4477aa" if fine else "#cc6677", markersize=7)
        axes.annotate(
            f"{100 * share:.1f}", (100 * share, y), (-8, 0), textcoords="offset points", ha="right", va="center"
        )
    axes.set_yticks(range(len(rows)), [f"{design}: {way}" for design, way, _ in rows])
    axes.invert_yaxis()
    axes.set_xlim(100 * min(share for _, _, share in rows) - 6, 100)
    axes.set_xlabel("true scores inside their 95 % interval, %")
    axes.spines[["top", "right"]].set_visible(False)
    fig.savefig(path, dpi=100)
    plt.close(fig)


def main() -> None:
    """Run the whole study, print its table, write JSON and figure, and check the claims."""
    parser = argparse.ArgumentParser(description="How often the intervals hold the truth.")
    parser.add_argument("--sets", type=int, default=2000, help="simulated data sets per design")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1, help="processes that share the designs")
    parser.add_argument("-o", "--output", type=Path, default=HERE / "calibration", help="folder for JSON and figure")
    given = parser.parse_args()
    found = {}
    head("Design", "Standard errors", "Scores held", "Ranks", "All ranks at once", "Simultaneous")
    engine = engine_for(given.jobs, len(DESIGNS))  # designs are independent: their numbers do not depend on jobs
    for design, held in zip(DESIGNS, engine.map(study, list(DESIGNS), given.sets, given.seed), strict=True):
        found[design] = held
        for way, shares in held.items():
            row(design, way, *(f"{share:.1%}" for share in shares.values()))
    engine.close()
    given.output.mkdir(parents=True, exist_ok=True)
    result = {"sets": given.sets, "seed": given.seed, "level": LEVEL, "held": found}
    (given.output / "calibration.json").write_text(json.dumps(result, indent=1) + "\n")
    figure(found, given.output / "calibration.png")
    wrong = check(found)
    print("\n".join(wrong) if wrong else "every claim holds")
    raise SystemExit(bool(wrong))


if __name__ == "__main__":
    main()
