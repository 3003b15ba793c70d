"""The two models of the planner and the guess from features, each against a plain fit written here."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from scipy.special import expit

from podium.active import model_scores, models
from podium.active.features import Features
from podium.active.model_scores import Scores, chance, fit_scores, judge_weights
from podium.active.order import SparseWins
from podium.active.posterior import FLOORS, SCALES, Posterior
from podium.active.tally import Ballots


def voted(n, count, seed, judges=1):
    """Votes of judges who mostly prefer the lower number, some of them ties."""
    rng = np.random.default_rng(seed)
    left = rng.integers(0, n, count)
    right = (left + rng.integers(1, n, count)) % n
    value = np.where(rng.random(count) < expit((right - left) / 2), 1.0, 0.0)
    value[rng.random(count) < 0.1] = 0.5
    ballots = Ballots(n)
    ballots.add(left, right, value, rng.integers(0, judges, count), np.zeros(count, dtype=np.int64))
    return ballots.tally


# ---- model A --------------------------------------------------------------------------------------------------------


def curved(tally, weight, expected, ridge):
    """Scores of the largest penalised likelihood, by a general solver, and the second derivatives there."""
    by = np.ones(len(tally)) if weight is None else weight[tally.judge]

    def loss(scores):
        margin = scores[tally.low] - scores[tally.high]
        votes = tally.value * np.logaddexp(0, -margin) + (1 - tally.value) * np.logaddexp(0, margin)
        return by @ votes + 0.5 * ridge * np.sum((scores - expected) ** 2)

    scores = minimize(loss, expected, method="BFGS", options={"gtol": 1e-8}).x
    p = expit(scores[tally.low] - scores[tally.high])
    curve = ridge * np.eye(tally.n)
    for u, v, each in zip(tally.low, tally.high, by * p * (1 - p), strict=True):
        curve[[u, v], [u, v]] += each
        curve[[u, v], [v, u]] -= each
    return scores, curve


@pytest.mark.parametrize("weight", [None, np.array([1.5, 0.4])])
@pytest.mark.parametrize("worth", [None, 0.0, 2.0])
@pytest.mark.parametrize("dense", [True, False])
def test_scores_are_those_of_the_largest_penalised_likelihood(monkeypatch, weight, worth, dense):
    """A ridge of a tenth towards the scores expected, and what these are worth beyond it."""
    monkeypatch.setattr(model_scores, "DENSE", 7 if dense else 6)
    monkeypatch.setattr(model_scores, "CALM", 1e-8)
    monkeypatch.setattr(model_scores, "SWEEPS", 5000)
    tally = voted(7, 60, 1, judges=2)
    expected = np.linspace(1.0, -0.5, 7)
    prior = None if worth is None else (expected, worth)
    mean, curve = curved(tally, weight, np.zeros(7) if worth is None else expected, 0.1 + (worth or 0.0))
    found = fit_scores(tally, weight, prior)
    assert_allclose(found.mean, mean, atol=2e-4)
    assert found.order.tolist() == np.argsort(-mean).tolist()
    if dense:
        assert_allclose(found.precision, curve, atol=1e-3)
        assert_allclose(found.covariance, np.linalg.inv(curve), rtol=1e-3)
        assert_allclose(found.variance, np.diag(np.linalg.inv(curve)), rtol=1e-3)
    else:
        assert found.covariance is None
        assert_allclose(found.variance, 1 / np.diag(curve), rtol=1e-3)
        assert_allclose(fit_scores(tally, weight, prior, start=mean).mean, mean, atol=2e-4)


def test_scores_of_many_items_are_left_when_calm():
    """The last sweep moved none by 0.03: the gradient is what such a step takes away."""
    tally = voted(401, 2500, 3)
    found = fit_scores(tally)
    assert found.covariance is None
    p = expit(found.mean[tally.low] - found.mean[tally.high])
    slope = np.bincount(tally.low, tally.value - p, 401) - np.bincount(tally.high, tally.value - p, 401)
    step = np.abs(slope - 0.1 * found.mean) * found.variance
    assert 1e-5 < step.max() < 0.05
    assert np.corrcoef(found.mean, -np.arange(401))[0, 1] > 0.9
    exact = fit_scores(tally, start=found.mean)
    assert np.abs(exact.mean - found.mean).max() < 0.1


@pytest.mark.parametrize(("margin", "variance"), [(0.0, 3.0), (0.7, 0.0), (1.5, 2.0), (-2.0, 0.5)])
def test_a_chance_is_averaged_over_what_is_not_known(margin, variance):
    """MacKay's approximation of the mean of a logistic under a normal, good to a hundredth and a half."""
    drawn = margin + math.sqrt(variance) * np.linspace(-8, 8, 4001)
    density = np.exp(-0.5 * np.linspace(-8, 8, 4001) ** 2)
    found = float(chance(np.array(margin), np.array(variance)))
    assert found == pytest.approx(expit(drawn) @ density / density.sum(), abs=0.015)
    assert found == pytest.approx(expit(margin / math.sqrt(1 + math.pi * variance / 8)), abs=1e-12)


def test_chances_have_the_variance_of_a_difference():
    covariance = np.array([[2.0, 0.5, 0.0], [0.5, 1.0, 1.0], [0.0, 1.0, 1.0]])
    scores = Scores(np.array([1.0, 0.0, -1.0]), covariance, np.diag(covariance))
    chances, variance = scores.chances(np.array([0, 2, 1]), np.array([1, 0, 2]))
    assert_allclose(variance, [2.0, 3.0, 1e-9])
    assert_allclose(chances, chance(np.array([1.0, -2.0, 1.0]), variance))
    apart = Scores(scores.mean, None, scores.variance)
    assert apart.chances(np.array([0]), np.array([1]))[1] == [3.0]
    chances, variance = scores.matrix()
    assert_allclose(chances + chances.T, 1.0)
    assert variance[0, 1] == variance[1, 0] == 2.0


def test_judges_are_believed_by_their_log_odds_to_agree():
    """Shrunk by twenty answers of an average judge, between a tenth and two; alone there is nobody to agree with."""
    tally = voted(12, 300, 5, judges=4)
    agrees = np.array([0.98, 0.85, 0.8, 0.3])[tally.judge]
    mean = 1 - agrees.mean()
    expected = []
    for judge in range(4):
        wrong = np.sum(1 - agrees[tally.judge == judge])
        rate = (wrong + 20 * mean) / (np.sum(tally.judge == judge) + 20)
        expected.append(min(max(math.log((1 - rate) / rate) / math.log((1 - mean) / mean), 0.1), 2.0))
    assert expected[0] == 2.0
    assert expected[3] == 0.1
    assert 0.1 < expected[1] < 2.0
    assert_allclose(judge_weights(tally, agrees), expected)
    assert judge_weights(voted(5, 20, 0), np.ones(20)) is None
    two = voted(12, 40, 5, judges=2)
    for said, mean in ((np.ones(40), 0.005), (np.zeros(40), 0.45)):  # mistakes of all are held between these
        count = np.bincount(two.judge)
        rate = (np.bincount(two.judge, 1 - said) + 20 * mean) / (count + 20)
        odds = np.log((1 - rate) / np.maximum(rate, 1e-3)) / math.log((1 - mean) / mean)
        assert_allclose(judge_weights(two, said), np.clip(odds, 0.1, 2.0))


def test_trust_in_judges_is_by_the_order_of_a_first_fit():
    tally = voted(10, 200, 4, judges=3)
    first = fit_scores(tally).mean
    ahead = first[tally.low] > first[tally.high]
    expected = judge_weights(tally, np.where(ahead, tally.value, 1 - tally.value))
    assert_allclose(models.weights_of(tally, None), expected)
    assert models.weights_of(voted(10, 50, 4), None) is None
    assert models.weights_of(Ballots(4).tally, None) is None
    guess = np.linspace(-3, 3, 10), 50.0  # the other way round, and worth much
    assert models.weights_of(tally, guess).mean() < expected.mean()


# ---- model B --------------------------------------------------------------------------------------------------------


def test_before_any_answer_a_place_may_be_any():
    """A uniform place has the deviation n / √12."""
    found = Posterior(24)
    assert found.position.tolist() == [11.5] * 24
    assert_allclose(found.std, 24 / math.sqrt(12))
    assert (found.floor, found.scale, found.fresh, found.precision) == (0.1, pytest.approx(0.48), 0, 0.0)
    assert Posterior(1).std.tolist() == [0.5]
    assert Posterior(2).scale == 0.05
    order, degree = np.array([2, 0, 1]), np.array([0, 1, 100])
    found = Posterior(3)
    found.start(order, degree)
    assert found.position.tolist() == [1.0, 2.0, 0.0]
    assert_allclose(found.std, [3 / math.sqrt(12), max(3 / math.sqrt(12) / 1.5, 0.5), 0.5])
    assert found.order.tolist() == [2, 0, 1]


def test_a_copy_is_swept_for_itself():
    tally = voted(9, 60, 2)
    table = models.vote_table(tally, None)
    found = Posterior(9)
    found.start(np.arange(9), tally.degree)
    found.prior, found.precision, found.fresh, found.floor, found.scale = np.arange(9.0), 0.3, 7, 0.2, 1.7
    twin = found.copy()
    for name in ("n", "precision", "fresh", "floor", "scale"):
        assert getattr(twin, name) == getattr(found, name)
    before = found.position.copy(), found.std.copy()
    twin.sweep(table, 2)
    assert_allclose(found.position, before[0])
    assert_allclose(found.std, before[1])
    again = found.copy()
    again.sweep(table, 2)
    assert_allclose(again.std, twin.std)
    found.precision = 0.0
    other = found.copy()
    other.sweep(table, 2)
    assert not np.allclose(other.std, twin.std)  # what was expected beforehand counts, also in a copy


def placed(n, **more):
    """Items that stand at their numbers, each known to ±1."""
    found = Posterior(n)
    found.position, found.std = np.arange(n, dtype=float), np.ones(n)
    for name, value in more.items():
        setattr(found, name, value)
    return found


def test_chances_by_place_have_a_floor_and_a_zone_of_close_calls():
    n = 30
    std = np.linspace(0.5, 3.0, n)
    found = placed(n, floor=0.1, scale=3.0, std=std)
    none = np.zeros(0, dtype=int)
    table = SparseWins(n, none, none, none)
    pairs = np.array([[0, 1], [1, 0], [5, 5], [0, 10], [0, 11], [29, 2]])
    gap = pairs[:, 1] - pairs[:, 0]
    variance = std[pairs[:, 0]] ** 2 + std[pairs[:, 1]] ** 2
    width = np.sqrt(9.0 + 0.55**2 * variance)
    assert_allclose(found.chances(pairs, table), 0.1 + 0.8 * expit(gap / width))
    assert_allclose(found.predict(pairs), [gap, variance])


@pytest.mark.parametrize(("wrong", "answers"), [(0, 0), (0, 8), (4, 8), (8, 8), (1, 12)])
def test_mistakes_among_far_pairs_are_counted_with_ten_of_the_usual(wrong, answers):
    """Far is more than a third of all places; at most 0.3, or a cycle would stay open."""
    n, floor = 30, 0.1
    found = placed(n, floor=floor, scale=1.0)
    left = np.arange(answers)
    near = np.arange(5)
    edge = np.where(left < wrong, -1.0, 1.0)
    table = SparseWins(n, np.append(left, near), np.append(left + 15, near + 10), np.append(edge, -np.ones(5)))
    expected = max(floor, min((wrong + 1.0) / (answers + 10), 0.3))
    assert found.far_floor(table) == pytest.approx(expected)
    chances = found.chances(np.array([[0, 10], [0, 11]]), table)
    assert_allclose(chances, [1 - floor, 1 - expected], atol=1e-3)


@pytest.mark.parametrize(("floor", "scale"), [(0.003, 0.03), (0.1, 0.06), (0.3, 0.01)])
def test_noise_is_that_of_the_answers(floor, scale):
    n, rng = 100, np.random.default_rng(2)
    gap = rng.uniform(-40, 40, 6000)
    variance = rng.uniform(0, 9, 6000)
    p = floor + (1 - 2 * floor) * expit(gap / np.sqrt((scale * n) ** 2 + 0.55**2 * variance))
    answers = (rng.random(6000) < p).astype(float)
    found = Posterior(n)
    found.learn_noise(gap, variance, answers)
    steps = np.searchsorted(FLOORS, [floor, found.floor]), np.searchsorted(SCALES * n, [scale * n, found.scale])
    assert abs(int(np.diff(steps[0])[0])) <= 1
    assert abs(int(np.diff(steps[1])[0])) <= 1
    assert found.fresh == 6000


def test_noise_is_the_best_of_a_grid_of_floors_and_scales():
    n = 50
    for grid in (FLOORS, SCALES, models.DOUBTS, models.MIXTURES):
        assert (np.diff(grid) > 0).all()
    for seed in range(4):
        rng = np.random.default_rng(seed)
        gap, variance = rng.normal(0, 12, 130), rng.uniform(0, 4, 130)
        answers = (rng.random(130) < 0.1 + 0.8 * expit(gap / 2)).astype(float)
        found = Posterior(n)
        found.learn_noise(gap, variance, answers)

        def fits(floor, scale, gap=gap, variance=variance, answers=answers):
            p = floor + (1 - 2 * floor) * expit(gap / np.sqrt(scale**2 + 0.55**2 * variance))
            return np.sum(answers * np.log(p) + (1 - answers) * np.log(1 - p))

        best = max(fits(floor, scale * n) for floor in FLOORS for scale in SCALES)
        assert fits(found.floor, found.scale) == pytest.approx(best, abs=1e-6)


def test_noise_rests_on_twenty_answers_of_the_last_four_rounds():
    def told(found, count, value, gap=3.0):
        found.learn_noise(np.full(count, gap), np.zeros(count), np.full(count, value))
        return found.floor, found.scale

    found = Posterior(10)
    assert told(found, 19, 1.0) == (0.1, pytest.approx(0.2))
    assert told(found, 5, np.nan) == told(found, 5, 0.5) == (0.1, pytest.approx(0.2))
    assert found.fresh == 19
    assert told(found, 1, 1.0) == (0.003, pytest.approx(0.003))
    assert found.fresh == 20
    found = Posterior(10)
    told(found, 200, 1.0)
    assert all(told(found, 20, 0.0)[0] < 0.3 for _ in range(3))
    assert told(found, 20, 0.0)[0] == 0.4  # of five rounds the first is forgotten
    mixed = Posterior(10)
    for value in (1.0, 1.0, 1.0, 0.0):
        told(mixed, 25, value)
    assert mixed.floor == 0.25
    mixed.relearn_noise(np.full(25, 3.0), np.zeros(25), np.ones(25))
    assert (mixed.floor, mixed.fresh) == (0.003, 25)
    other = Posterior(10)
    told(other, 25, 0.0, gap=-3.0)  # the item that stands below won: as foreseen
    assert other.floor == 0.003


def test_many_items_are_visited_by_stretches_of_places():
    rng = np.random.default_rng(0)
    found = Posterior(4100)
    order = rng.permutation(4100)
    place = np.argsort(order)
    visits = found._visits(order)
    assert sorted(visits.tolist()) == list(range(4100))
    stretch = place[visits] // 2048
    assert len(np.flatnonzero(np.diff(stretch))) == 2  # three stretches, each in one go
    assert not np.array_equal(np.sort(place[visits][:2048]), place[visits][:2048])
    few = Posterior(2048)._visits(np.arange(2048)[::-1])
    assert sorted(few.tolist()) == list(range(2048))
    assert len(found._steps) == 23
    assert len(Posterior(2048)._steps) == 33
    assert len(Posterior(2049)._steps) == 23


def test_quantiles_are_places_where_an_item_may_stand():
    n = 40
    tally = voted(n, 600, 1)
    found = Posterior(n)
    found.start(np.arange(n), tally.degree)
    table = models.vote_table(tally, None)
    found.sweep(table, 2)
    assert found.copy().sweep(table, 1).shape == (n, 0)
    low, middle, high = found.sweep(table, 2, np.tile([0.05, 0.5, 0.95], (n, 1))).T
    assert (low < middle).all()
    assert (middle < high).all()
    assert_allclose(middle, np.arange(n), atol=6)
    assert np.mean((low <= np.arange(n)) & (np.arange(n) <= high)) > 0.7
    assert sorted(found.position.tolist()) == list(range(n))


def test_votes_laid_out_count_as_their_judges_are_believed():
    tally = voted(8, 50, 3, judges=2)
    edges = 2 * tally.value - 1
    assert_allclose(models.vote_table(tally, None).edge, edges)
    weight = np.array([0.5, 1.5])
    assert_allclose(models.vote_table(tally, weight).edge, edges * weight[tally.judge])


def test_a_chance_that_is_held_out_has_not_seen_its_pair():
    """Turn the votes of one part round: what model A says of that part stays, of the others it changes."""
    tally = voted(12, 120, 7)
    part = models.fold_of(tally)
    before = models.fit_models(tally).held_out[:, 0]
    for fold in range(5):
        turned = Ballots(12)
        value = np.where(part == fold, 1 - tally.value, tally.value)
        turned.add(tally.low, tally.high, value, tally.judge, tally.kind)
        rows = np.lexsort([turned.tally.value, turned.tally.high, turned.tally.low])
        mine = np.lexsort([value, tally.high, tally.low])
        after = models.fit_models(turned.tally).held_out[rows, 0]
        same = np.isclose(after, before[mine], atol=1e-6)
        assert same[part[mine] == fold].all()
        assert not same[part[mine] != fold].any()


# ---- features -------------------------------------------------------------------------------------------------------


def ridge_guess(table, place, row, rows):
    """A linear fit to `rows` without `row`: an intercept, standard columns, a penalty of one on their weights."""
    standard = (table - table.mean(axis=0)) / table.std(axis=0)
    design = np.column_stack([np.ones(len(table)), standard])
    keep = [k for k in rows if k != row]
    penalty = np.diag([0.0] + [1.0] * table.shape[1])
    at = {k: place[i] for i, k in enumerate(rows)}
    weights = np.linalg.solve(design[keep].T @ design[keep] + penalty, design[keep].T @ np.array([at[k] for k in keep]))
    return design[row] @ weights


def test_a_guess_from_features_leaves_the_item_out():
    rng = np.random.default_rng(1)
    table = rng.normal(size=(25, 2)) * [3.0, 0.2] + 5.0
    place = np.argsort(np.argsort(-table[:, 0] + rng.normal(0, 1.0, 25))).astype(float)
    found = Posterior(25)
    found.position, found.std = place, np.full(25, 1.5)
    guess, worth = Features(table, 25).prior(found)
    expected = np.array([ridge_guess(table, place, k, range(25)) for k in range(25)])
    assert_allclose(guess, expected)
    error = np.mean((place - expected) ** 2) + 1.5**2
    assert worth == pytest.approx(1 / error - 12 / 25**2)
    assert worth > 0
    useless = Features(rng.normal(size=(25, 3)), 25).prior(placed(25, std=np.full(25, 9.0)))
    assert useless[1] == 0.0
    with_constant = Features(np.column_stack([table, np.full(25, 7.0)]), 25)
    assert_allclose(with_constant.prior(found)[0], guess)
    assert_allclose(Features(table[:, 0], 25).prior(found)[0], Features(table[:, :1], 25).prior(found)[0])


def test_a_sorted_sample_places_all_items_where_features_tell():
    rng = np.random.default_rng(2)
    n = 60
    truth = rng.permutation(n)
    table = truth + rng.normal(0, 3.0, n)
    sample = np.argsort(truth)[5::10]
    found = Features(table, n).start(sample)
    place = (np.arange(6) + 0.5) * n / 6 - 0.5
    expected = [ridge_guess(table[:, None], place, row, sample.tolist()) for row in range(n)]
    assert found.order.tolist() == np.argsort(expected).tolist()
    error = np.mean((place - np.array(expected)[sample]) ** 2)
    assert_allclose(found.std, math.sqrt(error))
    assert error < 0.5 * n**2 / 12
    assert Features(rng.normal(size=n), n).start(sample) is None


@pytest.mark.parametrize("noise", [0.05, 0.5, 1.0, 30.0])
def test_scores_expected_from_features_are_worth_what_they_leave_open(noise):
    rng = np.random.default_rng(3)
    mean = rng.normal(size=40)
    table = mean + rng.normal(0, noise, 40)
    variance = np.full(40, 0.2)
    guess, worth = Features(table, 40).score_prior(Scores(mean, None, variance))
    expected = np.array([ridge_guess(table[:, None], mean, k, range(40)) for k in range(40)])
    error = np.mean((mean - expected) ** 2)
    if error >= 0.9 * mean.var():
        assert noise == 30.0
        assert (guess.tolist(), worth) == ([0.0] * 40, 0.0)
    else:
        assert_allclose(guess, expected)
        assert worth == pytest.approx(min(1 / max(error - 0.2, 0.1 * error), 10.0))
    flat = Features(table, 40).score_prior(Scores(np.zeros(40), None, variance))
    assert (flat[0].tolist(), flat[1]) == ([0.0] * 40, 0.0)
