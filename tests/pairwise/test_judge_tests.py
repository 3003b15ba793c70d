"""Tests of single judges against every outcome there could have been, and the rule by which judges are flagged."""

import itertools
import math

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from podium.pairwise._fit import judge_tests as testing
from podium.pairwise._fit.judge_tests import Cast, JudgeTest, _test, flag_judges, judge_tests
from podium.ranking.uncertainty import mean_chance_margin


def by_all_outcomes(cast, least, grid):
    """P-values of a slope of at least `least`, of coin flips, and of more than coin flips, over all outcomes."""
    size = cast.weight * np.abs(cast.difference)
    step = np.rint(grid * size / size.max())
    follows = cast.won == (cast.difference >= 0)
    margin = mean_chance_margin(least * np.abs(cast.difference), least**2 * cast.variance)
    reached = step @ follows
    honest = chance = better = 0.0
    for outcome in itertools.product([0, 1], repeat=len(step)):
        total, told = step @ outcome, 1 / (1 + np.exp(-margin))
        if total <= reached:
            honest += np.prod(np.where(outcome, told, 1 - told))
            chance += 0.5 ** len(step)
        if total >= reached:
            better += 0.5 ** len(step)
    return honest, chance, better


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("least", [0.0, 0.5, 1.2])
def test_p_values_are_those_of_all_outcomes(seed, least):
    rng = np.random.default_rng(seed)
    cast = Cast(rng.normal(size=8), rng.uniform(0, 2, 8), rng.random(8) < 0.5, rng.choice([0.3, 1.0, 2.0], 8))
    found = _test(cast, least)
    assert (found.honest, found.chance, found.better) == pytest.approx(by_all_outcomes(cast, least, 50), rel=1e-9)


@pytest.mark.parametrize(("steps", "grid"), [(20_000, 50), (8 * 20, 20), (8 * 21 - 1, 20), (8, 3), (0, 3)])
def test_many_votes_share_the_steps_that_there_are_but_have_three_each(steps, grid, monkeypatch):
    monkeypatch.setattr(testing, "MAX_STEPS", steps)
    rng = np.random.default_rng(3)
    cast = Cast(rng.normal(size=8), rng.uniform(0, 2, 8), rng.random(8) < 0.5, rng.choice([0.3, 1.0, 2.0], 8))
    found = _test(cast, 0.5)
    assert (found.honest, found.chance, found.better) == pytest.approx(by_all_outcomes(cast, 0.5, grid), rel=1e-9)


def test_who_saw_no_difference_is_not_told_from_anybody():
    nothing = Cast(np.zeros(4), np.ones(4), np.array([True, False, True, True]), np.ones(4))
    assert _test(nothing, 0.5) == JudgeTest(1.0, 1.0, 1.0)
    assert judge_tests({}) == {}


def most_likely_slope(cast):
    share = cast.weight / cast.weight.mean()

    def loss(b):
        return share @ np.logaddexp(0.0, np.where(cast.won, -b, b) * cast.difference) + 0.5 * (b - 1) ** 2

    return minimize_scalar(loss, bounds=(-20, 60), method="bounded", options={"xatol": 1e-10}).x


@pytest.mark.parametrize(("slope", "size"), [(1.0, 1.0), (-1.5, 1.0), (30.0, 0.05)])
def test_honest_is_half_the_slope_of_the_median_judge_but_none_below_nothing_or_beyond_three(slope, size):
    rng = np.random.default_rng(4)
    cast = {}
    for k, b in ((3, 0.1 * slope), (5, slope), (9, 2.0 * slope)):
        gap = size * rng.normal(size=200)
        won = rng.random(200) < 1 / (1 + np.exp(-b * gap))
        cast[k] = Cast(gap, np.full(200, 0.1 * size**2), won, rng.uniform(0.5, 2.0, 200))
    if slope == 30.0:  # all differences are told, and the prior alone holds the slope
        cast = {
            k: Cast(8 * each.difference, each.variance, each.difference > 0, each.weight) for k, each in cast.items()
        }
    typical = float(np.median([most_likely_slope(each) for each in cast.values()]))
    assert (typical < 0, typical > 3) == (slope < 0, slope > 3)
    found = judge_tests(cast)
    assert list(found) == [3, 5, 9]
    for k, each in cast.items():
        expected = _test(each, 0.5 * min(max(typical, 0.0), 3.0))
        assert found[k].honest == pytest.approx(expected.honest, rel=1e-4, abs=1e-12)
        assert (found[k].chance, found[k].better) == (expected.chance, expected.better)


def test_slopes_of_judges_who_are_always_or_never_right_are_found():
    always = Cast(np.full(10_000, 1e-3), np.zeros(10_000), np.ones(10_000, bool), np.ones(10_000))
    assert always.slope() == pytest.approx(most_likely_slope(always), abs=1e-5)
    never = Cast(np.full(400, 0.1), np.zeros(400), np.zeros(400, bool), np.ones(400))
    assert never.slope() == pytest.approx(most_likely_slope(never), abs=1e-5)
    far = Cast(np.full(400, 900.0), np.zeros(400), np.zeros(400, bool), np.ones(400))
    assert math.isfinite(far.slope())


def test_a_judge_is_flagged_by_chance_unless_shown_to_be_better_than_coins():
    tests = {7: JudgeTest(0.001, 0.5, 0.05), 8: JudgeTest(0.001, 0.5, 0.0501), 9: JudgeTest(0.9, 0.001, 0.9)}
    assert flag_judges(tests) == {8: "chance", 9: "contrary"}
    assert flag_judges({8: JudgeTest(0.001, 0.001, 0.9)}) == {8: "contrary"}
    assert flag_judges({}) == {}
