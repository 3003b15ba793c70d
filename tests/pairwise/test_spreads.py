"""The chance to be the best, over all spreads of the true scores that the votes leave possible."""

import dataclasses
import math
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import norm

from papers import calibration_grid as grid
from podium import BradleyTerry, Comparisons, PlackettLuce, Rankings
from podium.errors import PodiumWarning
from podium.pairwise._fit.effects import Effects, Following
from podium.pairwise._fit.solvers import Rows
from podium.ranking.uncertainty import Alternative, Information, ScoreCovariance, cluster_worth, posteriors, votes_worth
from podium.ranking.uncertainty.chances import probability_best_over
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


@pytest.mark.parametrize("options", [{}, {"ties": "davidson"}])
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


@pytest.mark.parametrize(
    ("draw", "options"), [(grid.plain, {}), (grid.side, {"side_effect": True}), (grid.covariate_of_strength, {})]
)
def test_each_optimum_is_the_fit_with_that_spread(draw, options):
    votes, _ = draw(np.random.default_rng(5), 8, 10)
    ranking = BradleyTerry(**options).fit(votes).ranking_
    assert len(ranking.spreads) > 3
    assert sum(one.share for one in ranking.spreads) == pytest.approx(1)
    for one in ranking.spreads:
        alone = BradleyTerry(**options, tol=1e-8).fit(votes, sd=one.ridge**-0.5).ranking_
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


def two_items(ridge, precision, mean, share=1.0, shown=0.0):
    """Two items whose difference the votes put at `mean` with this precision, under a prior; closed forms exist."""
    optimum = precision * mean / (precision + ridge / 2)
    shift = np.array([1.0, -1.0]) * (optimum - shown) / 2
    return Alternative(share, np.array([precision]), ridge, None, None, shift)


def evidence(ridge, precision, mean):
    """Density of such votes: the difference has variance 2/ridge before them, 1/precision is that of the votes."""
    return norm.pdf(mean, scale=math.sqrt(2 / ridge + 1 / precision))


@pytest.mark.parametrize("worth", [1.0, 0.5, 0.1])
def test_votes_worth_less_are_votes_with_larger_variance(worth):
    precision, mean, ridges = 5.0, 1.3, [0.5, 2.0, 30.0]
    before = np.array([evidence(ridge, precision, mean) for ridge in ridges])
    before /= before.sum()
    possible = tuple(two_items(r, precision, mean, p) for r, p in zip(ridges, before.tolist(), strict=True))
    shown = Information(2, np.array([0]), np.array([1]), np.array([precision]), ridge=2.0, alternatives=possible)
    after = np.array([evidence(ridge, worth * precision, mean) for ridge in ridges])
    after /= after.sum()
    for ridge, share, found in zip(ridges, after, posteriors(shown, np.zeros(2), worth), strict=True):
        total = worth * precision + ridge / 2
        assert found[0] == pytest.approx(share, rel=1e-9)
        assert found[1][0] - found[1][1] == pytest.approx(worth * precision * mean / total, rel=1e-9)
        assert found[2].differences(0)[1] == pytest.approx(1 / total, rel=1e-9)


@pytest.mark.parametrize(("n", "per_item"), [(8, 6), (8, 30), (30, 6)])
def test_votes_that_each_judge_repeats_say_as_much_as_once(n, per_item):
    votes, _ = grid.plain(np.random.default_rng(8), n, per_item)
    left, right, outcome, _ = votes.vote_rows()
    won, lost = np.where(outcome == 1, left, right), np.where(outcome == 1, right, left)
    judge = np.arange(len(won))
    thrice = Comparisons.from_arrays(np.tile(won, 3), np.tile(lost, 3), judge=np.tile(judge, 3), items=range(n))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PodiumWarning)
        once = BradleyTerry().fit(votes).ranking_.probability_best()
        repeated = BradleyTerry().fit(thrice).ranking_
        by_judge = repeated.with_uncertainty("cluster", cluster="judge").probability_best()
    assert cluster_worth(repeated.information, "judge", np.ones(n)) == pytest.approx(1 / 3)
    assert_allclose(by_judge, once, atol=0.08)
    assert repeated.probability_best().max() > once.max() + 0.12


def test_judges_with_one_vote_each_change_no_chance():
    votes, _ = grid.plain(np.random.default_rng(9), 8, 3)  # some items only won: they take part
    each = np.arange(len(votes.left))
    single = dataclasses.replace(votes, judge=each, judges=each.tolist())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PodiumWarning)
        ranking = BradleyTerry().fit(single).ranking_
        by_judge = ranking.with_uncertainty("cluster", cluster="judge")
    assert np.isinf(ranking.std_errors).any()
    assert_allclose(by_judge.probability_best(), ranking.probability_best())


@pytest.mark.parametrize("unranked", ["unknown", "below"])
def test_rankings_pull_as_the_middle_of_their_sandwich_says(unranked):
    rng = np.random.default_rng(3)
    lists = Rankings.from_lists(
        [rng.permutation(6)[:4].tolist() for _ in range(30)], judge=rng.integers(7, size=30).tolist(), unranked=unranked
    )
    information = PlackettLuce().fit(lists).ranking_.information
    for cluster in (None, *information.clusters):
        assert_allclose(information.squared_pulls(cluster), information.meat(cluster).diagonal()[:6], atol=1e-12)


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


@pytest.mark.parametrize("ties", [1, 4, 9])
def test_ties_counted_half_leave_the_variance_of_the_votes_that_are_decided(ties):
    """Points of one vote, 1, ½ and 0 with chances (1 − t)/2, t and (1 − t)/2, vary by (1 − t)/4 instead of 1/4."""
    pairs = [("a", "b"), ("b", "c"), ("c", "a"), ("a", "b"), ("b", "a")]
    left, right = zip(*pairs, *[pairs[k % 3] for k in range(ties)], strict=True)
    tied = np.arange(len(left)) >= len(pairs)
    share = tied.mean()
    variance = np.array([(1 - share) / 2, share, (1 - share) / 2]) @ np.array([0.5, 0.0, -0.5]) ** 2
    votes = Comparisons.from_arrays(left, right, tie=tied)
    assert votes_worth(BradleyTerry().fit(votes).ranking_.information, share) == pytest.approx(0.25 / variance)
    assert votes_worth(BradleyTerry(ties="davidson").fit(votes).ranking_.information, share) == 1


def test_where_all_votes_are_ties_nobody_is_more_likely_the_best():
    votes = Comparisons.from_arrays(["a", "b", "c"] * 3, ["b", "c", "a"] * 3, tie=[True] * 9)
    assert_allclose(BradleyTerry().fit(votes).ranking_.probability_best(), 1 / 3, atol=0.02)


def test_ties_beside_one_win_say_who_is_better_as_the_win_alone():
    """The sign test leaves ties out: P(a above b) under the prior's spread, by the one vote that was decided."""
    for ties in (4, 20):
        votes = Comparisons.from_arrays(["a"] * (ties + 1), ["b"] * (ties + 1), tie=[False] + [True] * ties)
        ranking = BradleyTerry().fit(votes, sd=5.0).ranking_  # hardly a prior
        assert ranking.probability_best()[0] == pytest.approx(norm.cdf(0.5 / 0.5), abs=0.04)  # half a point, ± √(1/4)


def test_weights_are_worth_what_they_are_on_average_over_the_items():
    rng = np.random.default_rng(2)
    left = rng.integers(5, size=40)
    right, weight = (left + rng.integers(1, 5, size=40)) % 5, rng.lognormal(size=40)
    information = BradleyTerry().fit(Comparisons.from_arrays(left, right, weight=weight)).ranking_.information
    squares_per_weight = []
    for item in range(5):
        own = [w for a, b, w in zip(left, right, weight, strict=True) if item in (a, b)]
        squares_per_weight.append(sum(w * w for w in own) / sum(own))
    counted = weight.sum() / (weight**2).sum()
    assert votes_worth(information, 0.0) * counted == pytest.approx(1 / np.mean(squares_per_weight))


@pytest.mark.filterwarnings("ignore::podium.errors.SeparationWarning")
def test_the_spread_is_right_where_better_items_have_more_of_a_covariate():
    # Scores that know nothing of the covariate would be taken for a quarter closer than they are: .60 of .79.
    drawn = [grid.covariate_of_strength(np.random.default_rng(seed), 100, 30) for seed in range(40, 52)]
    ratio = [BradleyTerry().fit(votes).sd_ / truth.std(ddof=1) for votes, truth in drawn]
    assert abs(np.mean(ratio) - 1) < 3 * np.std(ratio, ddof=1) / math.sqrt(len(ratio)) < 0.1


def test_the_spread_does_not_depend_on_the_unit_of_a_covariate_nor_on_items_without_votes():
    votes, _ = grid.covariate_of_strength(np.random.default_rng(8), 12, 40)
    sd = BradleyTerry().fit(votes).sd_
    assert BradleyTerry().fit(dataclasses.replace(votes, covariates=1000 * votes.covariates)).sd_ == pytest.approx(
        sd, rel=1e-4
    )
    more = dataclasses.replace(votes, items=(*votes.items, "nobody"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PodiumWarning)  # that nobody voted on one
        there = BradleyTerry().fit(more)
    assert np.isfinite(there.ranking_.scores).all()


def test_scores_follow_what_is_held_by_the_mean_over_their_votes():
    """Three rows by hand: z̄ is the mean of a vote's covariate, with the sign of the side that the item has."""
    rows = Rows(5, np.array([0, 0, 1]), np.array([1, 2, 3]), None, np.array([2.0, 4.0, -2.0]))
    design, total = np.array([[1.0], [2.0], [-1.0]]), np.array([2.0, 1.0, 1.0])
    votes = np.array([3.0, 3.0, 1.0, 1.0, 0.0])
    found = Following.of(rows, design, Effects(np.array([2.0]), np.array([[0.25]])), total, votes)
    means = np.array([(2 * 1 + 2) / 3, (-2 * 1 - 1) / 3, -2.0, 1.0])
    means = np.append(means - means.mean(), 0.0)  # an item that nobody voted on has none
    assert_allclose(found.means, means / means.std())
    assert_allclose(found.rows.design[:, 0], found.means[[0, 0, 1]] - found.means[[1, 2, 3]])
    assert found.noise == pytest.approx(0.25 * means.var())
    assert found.square(0.6, 0.0) == pytest.approx(0.36 / (1 + found.noise) ** 2 + found.noise / (1 + found.noise))
    assert found.square(0.6, 0.5, of_mean=True) == pytest.approx(0.36 / (1.5 + found.noise) ** 2)
    alike = Following.of(rows, 0 * design, Effects(np.array([2.0]), np.array([[0.25]])), total, votes)
    assert alike is None, "there is nothing to follow"
