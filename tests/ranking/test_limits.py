"""Limits of size stand where they are said to: what is computed up to there, and what beyond."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import norm

from podium import Ranking
from podium.ranking.uncertainty import (
    Information,
    ScoreCovariance,
    critical,
    estimate,
    is_determined,
    many,
    probability_best,
)
from podium.ranking.uncertainty.graph import Graph
from podium.ranking.uncertainty.redraw import _poisson
from podium.ranking.uncertainty.score_covariance import width_at


def bare(n, pairs=()):
    left, right = (np.array([pair[k] for pair in pairs], dtype=int) for k in (0, 1))
    return Information(n, left, right, np.ones(len(pairs)))


@pytest.mark.parametrize(("n", "quick"), [(1000, True), (1001, False)])
def test_printing_computes_intervals_of_up_to_a_thousand_items(n, quick):
    assert Ranking(range(n), np.zeros(n))._quick == quick


@pytest.mark.parametrize(("n", "quick"), [(1000, False), (1001, True), (5000, True), (5001, False)])
def test_variances_have_a_way_of_their_own_from_a_thousand_items_to_five_thousand(n, quick):
    assert estimate.has_quick_variances(bare(n), "hessian") == quick


@pytest.mark.parametrize(("n", "determined"), [(500, False), (501, True)])
def test_up_to_five_hundred_items_it_is_tried_whether_votes_are_enough(n, determined):
    assert is_determined(bare(n, [(0, 1)])) == determined


def test_ten_thousand_scores_are_drawn_for_who_is_best():
    shares = probability_best(np.zeros(3), ScoreCovariance(np.eye(3)))
    assert_allclose(shares * 10_000, np.rint(shares * 10_000), atol=1e-6)
    assert shares.sum() == pytest.approx(1)


@pytest.mark.parametrize(("n", "simulated"), [(447, 1), (448, 0)])
def test_all_pairs_are_simulated_up_to_447_items(n, simulated, monkeypatch):
    """Two thousand million operations of ten thousand draws."""
    asked = []
    monkeypatch.setattr(critical, "_simulated", lambda *given: asked.append(1) or 3.0)
    critical.all_pairs_value(np.zeros(n), ScoreCovariance(np.eye(n)), 0.95)
    assert len(asked) == simulated


@pytest.mark.parametrize(("n", "steps"), [(200, True), (201, False)])
def test_steps_are_taken_up_to_two_hundred_items(n, steps, monkeypatch):
    asked = []
    monkeypatch.setattr(critical, "_simulated", lambda *given: asked.append(1) or 3.0)
    critical.stepped_value(100.0 * np.arange(n), ScoreCovariance(np.eye(n)), 0.95)
    assert (len(asked) > 1) == steps


def test_a_poisson_number_of_thirty_and_more_is_drawn_by_its_normal_limit():
    drawn = _poisson(np.array([29.9, 30.0]), 50, np.random.default_rng(0))
    assert (drawn[:, 0] == np.rint(drawn[:, 0])).all()
    assert (drawn[:, 1] != np.rint(drawn[:, 1])).all()


def test_redrawn_scores_are_held_within_four_robust_deviations():
    rng = np.random.default_rng(1)
    drawn = rng.normal(size=(2001, 1))
    drawn[0] = 1e9
    middle = np.median(drawn)
    held = drawn.copy()
    held[0] = middle + 4 * 1.4826 * np.median(np.abs(drawn - middle))
    held = np.minimum(held, held[0])
    assert float(estimate._covariance_of(drawn)) == pytest.approx(np.var(held, ddof=1), rel=1e-2)


def test_a_score_without_a_hundredth_of_a_vote_is_open_beside_an_effect():
    rows = {"border": np.zeros((3, 1)), "corner": np.eye(1)}
    for curvature, opened in ((0.0101, False), (0.0099, True)):
        e = Information(3, np.array([0, 1]), np.array([1, 2]), np.array([1.0, curvature]), **rows)
        assert (estimate._without_bounds(e).open_above is not None) == opened


@pytest.mark.parametrize(("factor", "fine"), [(1.039, True), (1.041, False), (0.961, True), (0.959, False)])
def test_checked_variances_may_be_off_by_four_in_a_hundred(factor, fine):
    rng = np.random.default_rng(2)
    left = rng.integers(40, size=300)
    right = (left + rng.integers(1, 40, size=300)) % 40
    made = Graph(Information(40, left, right, np.ones(300), ridge=0.1))
    exact = many._solved(made, np.arange(40))
    assert many._agrees(made, factor * exact) == fine


def test_a_level_that_rounding_made_1_has_the_widest_interval_of_all():
    """As far as the largest number below 1 says."""
    for level in (1.0, 1 - 2.0**-53):
        assert width_at(level) == pytest.approx(norm.isf(2.0**-53), rel=1e-6)
    assert width_at(1 - 2e-12) == pytest.approx(norm.isf(1e-12), rel=1e-4)
    assert width_at(0.0) == pytest.approx(0.0, abs=1e-12)
