"""The chance to be the best, over all spreads of the true scores that the votes leave possible."""

import math
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import norm

from papers import calibration_grid as grid
from podium import BradleyTerry, Comparisons
from podium.errors import PodiumWarning
from podium.ranking.uncertainty import ScoreCovariance
from podium.ranking.uncertainty.chances import probability_best_over, probability_best_under
from podium.ranking.uncertainty.critical import joint_value, noise_blocks

THREE = [("a", "b")] * 4 + [("b", "a")] * 2 + [("b", "c")] * 3 + [("c", "b")] + [("c", "a")] + [("a", "c")] * 2
FOUR = [("a", "b")] * 2 + [("b", "c"), ("c", "d"), ("d", "a"), ("a", "d"), ("c", "a"), ("b", "d")]


def by_brute_force(pairs, size=31):
    """P(best) by sums over a grid of all scores and of log s ~ N(0, 2²) between 0.03 and 8."""
    items = sorted({item for pair in pairs for item in pair})
    n = len(items)
    axis = np.linspace(-1, 1, size)
    total = np.zeros(n)
    for x in np.arange(math.log(0.03), math.log(8.0), 0.2):
        s = math.exp(x)
        reach = min(4.5 * s, 7.0)
        scores = np.stack(np.meshgrid(*[reach * axis] * n, indexing="ij"), axis=-1).reshape(-1, n)
        log = -(scores**2).sum(axis=1) / (2 * s * s) - n * x + n * math.log(reach) - x * x / 8
        for winner, loser in pairs:
            log -= np.log1p(np.exp(scores[:, items.index(loser)] - scores[:, items.index(winner)]))
        weight = np.exp(log)
        top = scores == scores.max(axis=1, keepdims=True)
        total += (weight[:, None] * top / top.sum(axis=1, keepdims=True)).sum(axis=0)
    return items, total / total.sum()


@pytest.mark.parametrize(("pairs", "size"), [(THREE, 31), (FOUR, 17)])
def test_chances_to_be_best_are_those_of_brute_force(pairs, size):
    items, expected = by_brute_force(pairs, size)
    ranking = BradleyTerry().fit(Comparisons.from_pairs(pairs)).ranking_
    chance = dict(zip(ranking.items, ranking.probability_best(), strict=True))
    assert_allclose([chance[item] for item in items], expected, atol=0.025)


@pytest.mark.parametrize("options", [{}, {"ties": "davidson"}, {"side_effect": True}])
def test_spreads_have_shares_and_each_its_own_posterior(options):
    votes, _ = grid.side(np.random.default_rng(3), 8, 30)
    ranking = BradleyTerry(**options).fit(votes).ranking_
    shares = [one.share for one in ranking.spreads]
    sds = np.sort([one.ridge**-0.5 for one in ranking.spreads])
    assert sum(shares) == pytest.approx(1)
    assert_allclose(np.diff(np.log(sds)), 0.4, atol=1e-6)
    assert np.any(np.isclose(sds, ranking.posterior.ridge**-0.5))  # the chosen one is among them
    assert float(ranking.probability_best().sum()) == 1.0
    at_chosen = min(ranking.spreads, key=lambda one: abs(one.ridge - ranking.posterior.ridge))
    assert_allclose(at_chosen.shift, 0, atol=1e-4)


def test_each_optimum_is_the_fit_with_that_spread():
    votes, _ = grid.plain(np.random.default_rng(5), 8, 10)
    ranking = BradleyTerry().fit(votes).ranking_
    for one in ranking.spreads:
        alone = BradleyTerry(tol=1e-8).fit(votes, sd=one.ridge**-0.5).ranking_
        moved = ranking.scores + one.shift[:8]
        assert_allclose(moved - moved.mean(), alone.scores - alone.scores.mean(), atol=1e-4)


def test_a_spread_that_was_given_is_taken():
    votes, _ = grid.plain(np.random.default_rng(5), 8, 10)
    assert BradleyTerry().fit(votes, sd=0.5).ranking_.spreads == ()
    assert BradleyTerry(l2=0.1).fit(votes).ranking_.spreads == ()


def test_in_close_fields_less_is_claimed_than_at_the_one_likeliest_spread():
    rng, over, at_one = np.random.default_rng(6), [], []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PodiumWarning)
        for _ in range(60):
            votes, _ = grid.close(rng, 8, 10)
            model = BradleyTerry().fit(votes)
            over.append(model.ranking_.probability_best().max())
            at_one.append(BradleyTerry().fit(votes, sd=model.sd_).ranking_.probability_best().max())
    assert np.mean(over) < 0.9 * np.mean(at_one)


def test_draws_are_shared_out_by_the_shares():
    sure = ScoreCovariance(matrix=1e-6 * np.eye(2))
    possible = [(0.3, np.array([1.0, 0.0]), sure), (0.7, np.array([0.0, 1.0]), sure)]
    assert_allclose(probability_best_over(possible), [0.3, 0.7])


def test_scores_with_errors_of_their_own_are_drawn_together_by_a_prior():
    """Of two items: the difference d with variance D has, under a prior of variance 2s², a normal posterior."""
    d, own, s2 = 1.2, 0.4, 0.3
    covariance = ScoreCovariance(matrix=own * np.array([[0.5, -0.5], [-0.5, 0.5]]))
    variance = 2 * own  # of the difference
    pull = 2 * s2 / (2 * s2 + variance)
    expected = norm.cdf(d * pull / math.sqrt(pull * variance))
    assert probability_best_under(s2, np.array([d, 0.0]), covariance)[0] == pytest.approx(expected, abs=0.01)
    alone = probability_best_under(s2, np.array([d, 0.0]), ScoreCovariance(variances=np.array([own, own])))
    assert alone[0] == pytest.approx(norm.cdf(d * pull / math.sqrt(pull * variance)), abs=0.01)


def test_errors_by_judge_keep_their_chances_below_the_likelihoods():
    votes, _ = grid.clusters(np.random.default_rng(2), 8, 30)
    ranking = BradleyTerry().fit(votes).ranking_.with_uncertainty("cluster", cluster="judge")
    plain = BradleyTerry(l2=1e-3).fit(votes).ranking_.with_uncertainty("cluster", cluster="judge")
    assert np.nanmax(ranking.probability_best()) < np.nanmax(plain.probability_best())
    assert np.nansum(ranking.probability_best()) == pytest.approx(1)


@pytest.mark.parametrize("apart", [0.1, 1.0, 3.0])
def test_the_joint_value_is_that_of_all_pairs_looked_at_one_by_one(apart):
    rng = np.random.default_rng(4)
    half = rng.normal(size=(9, 9))
    covariance = ScoreCovariance(matrix=half @ half.T / 6)
    scores = np.sort(apart * rng.normal(size=9))[::-1].copy()  # best first, as the draws are
    error = np.sqrt(covariance.differences(slice(None)))
    ratio = np.divide(scores[:, None] - scores, error, out=np.zeros_like(error), where=error > 0)
    largest = []
    for noise in noise_blocks(covariance, 9, 10_000):
        for draw in scores + noise:
            wrong = (draw[:, None] < draw) & (ratio > 0)
            largest.append(max(ratio[wrong], default=0.0))
    expected = max(np.quantile(largest, 0.99, method="higher"), norm.isf(0.005))
    assert joint_value(scores, covariance, 0.95) == pytest.approx(expected, rel=1e-12)
    assert joint_value(scores, covariance, 0.95) == joint_value(scores.copy(), covariance, 0.95)
