"""Rivals written out for speed are what they were: the package, and plain arithmetic."""

import numpy as np
import pytest
from scipy.special import ndtr

from benchmarks.asking import Panel
from benchmarks.peers import crowd_bt, trueskill_driven
from podium.active.oracles import Simulated

GAMES = [((25.0, 8.0), (25.0, 8.0)), ((30.0, 2.0), (20.0, 5.0)), ((18.0, 3.0), (27.0, 1.0))]


@pytest.mark.parametrize(("winner", "loser"), GAMES)
def test_trueskill_by_hand_is_the_posterior(winner, loser):
    """By integration: the winner's skill given that skill plus noise beat the other's, after the drift of both."""
    tau, beta = trueskill_driven.TAU, trueskill_driven.BETA
    for side, (own, other) in enumerate(((winner, loser), (loser, winner))):
        spread = np.hypot(own[1], tau)
        skill = np.linspace(own[0] - 10 * spread, own[0] + 10 * spread, 20_001)
        won = ndtr((1 - 2 * side) * (skill - other[0]) / np.sqrt(2 * beta**2 + other[1] ** 2 + tau**2))
        mass = np.exp(-0.5 * ((skill - own[0]) / spread) ** 2) * won
        mean = np.average(skill, weights=mass)
        std = np.sqrt(np.average((skill - mean) ** 2, weights=mass))
        np.testing.assert_allclose(trueskill_driven.after(winner, loser)[side], (mean, std), rtol=1e-6)


@pytest.mark.parametrize(("winner", "loser"), GAMES)
def test_trueskill_by_hand_is_the_package(winner, loser):
    trueskill = pytest.importorskip("trueskill")
    world = trueskill.TrueSkill(draw_probability=0.0)
    both = trueskill.rate_1vs1(world.create_rating(*winner), world.create_rating(*loser), env=world)
    found = trueskill_driven.after(winner, loser)
    np.testing.assert_allclose(found, [(each.mu, each.sigma) for each in both], atol=1e-5)


def test_crowd_bt_in_plain_numbers_is_its_formula_for_arrays():
    rng = np.random.default_rng(0)
    for _ in range(50):
        mean, var, rater = rng.normal(0, 2, 4), rng.uniform(0.1, 1, 4), rng.uniform(1, 12, 2)
        expected = crowd_bt._moments(mean, var, rater, 1, 3)
        crowd_bt._update(mean, var, rater, 1, 3)
        np.testing.assert_allclose((mean[1], mean[3], var[1], var[3]), expected, rtol=1e-12)


@pytest.mark.parametrize("model", ["flips", "normal", "blocks", "unequal", "left-leaning", "tiring"])
def test_answers_looked_up_are_the_judges_own(model):
    pairs = np.random.default_rng(1).permuted(np.tile(np.arange(20), (200, 1)), axis=1)[:, :2]
    panel, judge = Panel(20, model, 0.3, seed=4), Simulated(20, model, 0.3, seed=4)
    for some in np.split(pairs, 8):
        expected = judge.answer(some, panel.turn(len(some)))
        np.testing.assert_array_equal(panel.answer(some), expected)
