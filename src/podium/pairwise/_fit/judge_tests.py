"""Is a judge worse than the rest? Exact tests of each judge's votes against scores found without them.

With d the score difference of a vote by the votes of *other* judges, T = Σ weight·d over the votes in which the judge
preferred the left item. A judge of slope b prefers it with chance σ(b·d), so that T has a known distribution, and
small values speak for a smaller slope. The differences are rounded to a grid, which makes T a sum of whole numbers and
its distribution exact. Tested are b ≥ half of what the median judge has, and b ≥ 0 (no worse than coin flips); the
false discovery rate over judges is held by the step-up rule of Benjamini & Hochberg (1995), so that with honest judges
only somebody is accused in at most so many of the sets.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from podium.kernels.pairwise.crowd import sum_distribution
from podium.ranking.uncertainty import mean_chance_margin

__all__ = ["MIN_VOTES", "Cast", "JudgeTest", "flag_judges", "judge_tests"]

Floats = NDArray[np.float64]

MIN_VOTES = 25  # decided votes of a judge, below which nothing is tested
FALSE_DISCOVERIES = 0.05
HALF = 0.5  # slope, as a share of the median judge's, from which a judge is honest
MAX_TYPICAL = 3.0  # slope of the median judge, beyond which it is not believed
GRID, MIN_GRID, MAX_STEPS = 50, 3, 20_000  # steps of the largest difference; at most so many steps in all
MAX_EXACT_VOTES = 5000  # beyond, the sum is as good as normal


@dataclass(frozen=True, slots=True)
class Cast:
    """One judge's decided votes: score differences by others, how well these are known, whether left won, weights."""

    difference: Floats
    variance: Floats
    won: NDArray[np.bool_]
    weight: Floats

    def slope(self) -> float:
        """The most likely slope, with a prior N(1, 1) that keeps it finite."""
        b, weight = 1.0, self.weight / self.weight.mean()
        for _ in range(30):
            chance = 1.0 / (1.0 + np.exp(-np.clip(b * self.difference, -500.0, 500.0)))
            up = float(weight @ (self.difference * (self.won - chance))) + 1.0 - b
            step = up / (float(weight @ (self.difference**2 * chance * (1.0 - chance))) + 1.0)
            b += max(-1.0, min(step, 1.0))
            if abs(step) < 1e-6:
                break
        return b


@dataclass(frozen=True, slots=True)
class JudgeTest:
    """Of one judge: p-values of a slope of at least half, of at least 0 (coin flips), and of at most 0."""

    honest: float
    chance: float
    better: float


def judge_tests(cast: dict[int, Cast]) -> dict[int, JudgeTest]:
    """Test every judge; the honest ones have at least half the slope of the median judge."""
    typical = float(np.median([each.slope() for each in cast.values()])) if cast else 1.0
    least = HALF * min(max(typical, 0.0), MAX_TYPICAL)
    return {k: _test(each, least) for k, each in cast.items()}


def _test(cast: Cast, least: float) -> JudgeTest:
    size = cast.weight * np.abs(cast.difference)
    size = size / max(float(size.max(initial=0.0)), 1e-300)
    grid = max(MIN_GRID, min(GRID, MAX_STEPS // max(len(size), 1)))
    step = np.rint(grid * size).astype(np.int_)
    told = step > 0
    followed = np.where(cast.difference >= 0, cast.won, ~cast.won)[told]
    softened = mean_chance_margin(least * np.abs(cast.difference), least**2 * cast.variance)[told]
    step = np.ascontiguousarray(step[told])
    reached, coins = int(step[followed].sum()), np.full(len(step), 0.5)
    honest = _at_most(step, 1.0 / (1.0 + np.exp(-softened)), reached)
    better = _at_most(step, coins, int(step.sum()) - reached)  # coins are symmetric
    return JudgeTest(honest, _at_most(step, coins, reached), better)


def _at_most(step: NDArray[np.int_], chance: Floats, reached: int) -> float:
    """P(Σ step·Bernoulli(chance) ≤ reached)."""
    if len(step) <= MAX_EXACT_VOTES:
        mass = np.empty(int(step.sum()) + 1)
        sum_distribution(step, chance, mass)
        return min(float(mass[: reached + 1].sum()), 1.0)
    mean, sd = float(step @ chance), math.sqrt(float(step**2 @ (chance * (1.0 - chance))))
    return NormalDist(mean, sd).cdf(reached + 0.5)


def flag_judges(tests: dict[int, JudgeTest]) -> dict[int, str]:
    """Judges by number: "contrary" where coin flips would do better, "chance" where an honest judge would.

    "chance" says: significantly less reliable than half the median judge, and not shown to be better than coin flips.
    """
    worse = _discoveries({k: test.honest for k, test in tests.items()})
    contrary = _discoveries({k: test.chance for k, test in tests.items()})
    flags = {k: "chance" for k in worse if tests[k].better > FALSE_DISCOVERIES}
    return flags | dict.fromkeys(contrary, "contrary")


def _discoveries(p_values: dict[int, float]) -> list[int]:
    """Those rejected with the false discovery rate held."""
    order = sorted(p_values, key=lambda k: p_values[k])
    passed = [place for place, k in enumerate(order, start=1) if p_values[k] <= FALSE_DISCOVERIES * place / len(order)]
    return order[: max(passed, default=0)]
