"""How often the intervals of marks hold the true mark, and whether a grade's chance is what it says.

python -m benchmarks.coverage_marks

Items have normal scores (sd 1.5, mean taken off), pairs are drawn at random, and votes follow Bradley-Terry. True marks
lie on a line through the true scores: the one that `award_marks` found on a scale alone, or 50 + 12 · score where some
marks are known. Intervals are of 95 %; of the grade A it is told how often it was said (mean chance) and how often it
came true, where the chance was at most .2, between, and at least .8.

Then judges who are all honest, 30 votes each on 20 such items: how often one of them is a misfit, and beyond chance.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np

from benchmarks.printed import head, row

DESIGNS = (  # items, votes an item, known marks, data sets
    (20, 8, 0, 200), (20, 8, 2, 200), (20, 8, 6, 200), (20, 40, 0, 200), (20, 40, 6, 200), (60, 10, 0, 100),
    (60, 10, 6, 100),
)  # fmt: skip
BOUNDARIES = {"A": 60, "B": 45}
JUDGES, SETS = (9, 15, 40), 200


@dataclass(frozen=True, slots=True)
class Figures:
    """`held`, its error over data sets; (mean chance, share that came true) of A's, unlikely, between and likely."""

    held: float
    error: float
    unlikely: tuple[float, float]
    between: tuple[float, float]
    likely: tuple[float, float]


def simulate(n: int, votes: int, anchors: int, sets: int, seed: int = 1) -> Figures:
    """One design; marks that are known are left out of the counts."""
    rng = np.random.default_rng(seed)
    held, said, came = [], [], []
    for _ in range(sets):
        inside, chance, earned = _one(n, votes, anchors, rng)
        held.append(inside.mean())
        said.append(chance)
        came.append(earned)
    chance, earned = np.concatenate(said), np.concatenate(came)
    parts = [chance <= 0.2, (chance > 0.2) & (chance < 0.8), chance >= 0.8]
    told = [(float(chance[part].mean()), float(earned[part].mean())) for part in parts]
    return Figures(float(np.mean(held)), float(np.std(held) / np.sqrt(sets)), *told)


def _one(n: int, votes: int, anchors: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    from podium import BradleyTerry, Comparisons
    from podium.ranking import award_marks

    truth = rng.normal(0, 1.5, n)
    truth -= truth.mean()
    left = np.repeat(np.arange(n), votes)
    right = (left + rng.integers(1, n, len(left))) % n
    won = rng.random(len(left)) < 1 / (1 + np.exp(truth[right] - truth[left]))
    outcome = np.where(won, 1, -1).astype(np.int8)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # some items only win; the penalty holds them
        ranking = BradleyTerry().fit(Comparisons(tuple(range(n)), left, right, outcome=outcome)).ranking_
    if not anchors:
        marks = award_marks(ranking, (0, 100), boundaries=BOUNDARIES)
        true = marks.intercept + marks.slope * truth
        shown = np.clip(true, 0, 100)
        return (marks.lower <= shown) & (shown <= marks.upper), marks.chances[:, 0], true >= BOUNDARIES["A"]
    # Two marks are of items far apart, as people choose them; more are drawn.
    chosen = np.argsort(truth)[[n // 6, -n // 6]] if anchors == 2 else rng.choice(n, anchors, replace=False)
    true, rest = 50 + 12 * truth, np.setdiff1d(np.arange(n), chosen)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a right mark may look wrong by chance
        marks = award_marks(ranking, known={int(k): float(true[k]) for k in chosen}, boundaries=BOUNDARIES)
    inside = (marks.lower <= true) & (true <= marks.upper)
    return inside[rest], marks.chances[rest, 0], true[rest] >= BOUNDARIES["A"]


def honest(judges: int, sets: int, seed: int = 1, n: int = 20, each: int = 30) -> tuple[float, float]:
    """Shares of sets of honest judges in which one of them is a misfit, and in which one is beyond chance."""
    from podium import Comparisons
    from podium.evaluate import judging_quality

    rng = np.random.default_rng([seed, judges])
    fits = []
    for _ in range(sets):
        truth = rng.normal(0, 1.5, n)
        judge = np.repeat(np.arange(judges), each)
        left = rng.integers(0, n, len(judge))
        right = (left + rng.integers(1, n, len(judge))) % n
        won = rng.random(len(judge)) < 1 / (1 + np.exp(truth[right] - truth[left]))
        winner, loser = np.where(won, left, right), np.where(won, right, left)
        votes = Comparisons.from_arrays(winner, loser, items=range(n), judge=judge)
        fits.append(judging_quality(votes, splits=1).judge_fit)
    return tuple(float(np.mean([fit[name].any() for fit in fits])) for name in ("misfit", "beyond_chance"))


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    head("Scripts", "Votes each", "Known marks", "Sets", "Intervals hold", "A unlikely: said", "came true",
         "between: said", "came true", "likely: said", "came true")  # fmt: skip
    for design in DESIGNS:
        found = simulate(*design)
        chances = (f"{each:.0%}" for each in (*found.unlikely, *found.between, *found.likely))
        row(*design, f"{found.held:.1%} ± {1.96 * found.error:.1%}", *chances)
    head("Honest judges", "Sets", "One is a misfit", "One is beyond chance")
    for judges in JUDGES:
        row(judges, SETS, *(f"{share:.0%}" for share in honest(judges, SETS)))
