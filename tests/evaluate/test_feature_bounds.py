"""Bounds of the RABF paper against brute force, its proof of Theorem 3, and plans against simulated votes."""

import math

import numpy as np
import pytest

from podium import RABF, Comparisons
from podium.errors import InputError
from podium.evaluate import plan_votes, risk_bound
from podium.metrics import kendall_distance


def planted(n, m, rng, d=3, sd=0.3, noise=True):
    features = rng.normal(size=(n, d))
    truth = features @ rng.normal(size=d) / math.sqrt(d) + sd * rng.normal(size=n)
    return draw(truth, m, rng, noise), features, truth


def draw(truth, m, rng, noise=True):
    n = len(truth)
    left = rng.integers(0, n, m)
    right = (left + rng.integers(1, n, m)) % n
    chance = 1 / (1 + np.exp(truth[right] - truth[left])) if noise else truth[left] > truth[right]
    won = rng.random(m) < chance
    return Comparisons.from_arrays(np.where(won, left, right), np.where(won, right, left), items=range(n))


def test_the_complexity_is_above_the_supremum_over_all_weights_and_residuals():
    """Lemma 2: for given signs the best w and r are known, W‖Σσ(x_j − x_i)‖ + R‖Σσ(e_j − e_i)‖ over m."""
    rng = np.random.default_rng(0)
    data, features, _ = planted(12, 60, rng)
    model = RABF(max_norm=(0.7, 0.4), standardize=False).fit(data, features)
    bound = risk_bound(model, data)
    sup = []
    for _ in range(400):
        signs = rng.choice([-1.0, 1.0], 60)
        weights = signs @ (features[data.left] - features[data.right])
        residuals = np.bincount(data.left, signs, 12) - np.bincount(data.right, signs, 12)
        sup.append((0.7 * np.linalg.norm(weights) + 0.4 * np.linalg.norm(residuals)) / 60)
    assert 0.25 * bound.complexity < 2 * bound.lipschitz * np.mean(sup) <= bound.complexity
    centred = features - features.mean(axis=0)
    assert bound.radius == pytest.approx(np.linalg.norm(centred, axis=1).max())


@pytest.mark.parametrize("loss", ["logistic", "squared", "hinge"])
def test_the_expected_loss_and_error_stay_below_their_bounds(loss):
    for seed in range(4):
        rng = np.random.default_rng(seed)
        data, features, truth = planted(15, 400, rng, noise=seed % 2 == 0)
        model = RABF(loss=loss, max_norm=(0.3, 0.2)).fit(data, features)
        bound = risk_bound(model, data, delta=0.1)
        fresh = draw(truth, 20_000, rng, noise=seed % 2 == 0)
        scores = model.ranking_.scores
        margin = scores[fresh.left] - scores[fresh.right]
        each = {
            "logistic": np.logaddexp(0, -margin),
            "squared": (1 - margin) ** 2,
            "hinge": np.maximum(1 - margin, 0),
        }[loss]
        assert each.max() <= bound.largest
        assert each.mean() <= bound.value
        assert (margin < 0).mean() <= bound.error
        seen = scores[data.left] - scores[data.right]
        by_hand = {"logistic": np.logaddexp(0, -seen), "squared": (1 - seen) ** 2, "hinge": np.maximum(1 - seen, 0)}
        assert bound.empirical == pytest.approx(by_hand[loss].mean(), abs=1e-9)


def test_bounds_fall_with_the_root_of_the_votes():
    data, features, _ = planted(10, 200, np.random.default_rng(1))
    model = RABF(loss="hinge", max_norm=(0.3, 0.2)).fit(data, features)
    bound = risk_bound(model, data)
    needed = bound.votes_for(0.1)
    assert (bound.complexity + bound.deviation) * math.sqrt(200 / needed) == pytest.approx(0.1)
    assert bound.votes_for(0.05) == pytest.approx(4 * needed)


@pytest.mark.parametrize("loss", ["logistic", "squared"])
def test_votes_for_an_error_go_by_the_excess_loss_that_allows_it(loss):
    # An excess error of ε takes an excess loss of ε²/2 (log loss) or ε² (squared loss): the votes go by 1 / ε⁴.
    data, features, _ = planted(10, 200, np.random.default_rng(1))
    bound = risk_bound(RABF(loss=loss, max_norm=(0.3, 0.2)).fit(data, features), data)
    excess = (bound.complexity + bound.deviation) * math.sqrt(200 / bound.votes_for(0.1))
    assert excess == pytest.approx({"logistic": 0.005, "squared": 0.01}[loss])
    assert bound.votes_for(0.05) == pytest.approx(16 * bound.votes_for(0.1))


def test_the_first_inequality_of_theorem_3s_proof_is_false_and_a_simpler_one_is_true():
    """(12) says ‖r‖ ≤ ‖U_Δ U_Δᵀ s‖; noise as large as the features breaks it. ‖r‖ ≤ ‖ΔX w‖ gives the theorem's rate."""
    rng = np.random.default_rng(2)
    broken = 0
    for _ in range(100):
        clean, weights = rng.normal(size=(60, 3)), rng.normal(size=3)
        change = np.zeros((60, 3))
        change[:8] = rng.uniform(-3, 3, (8, 3))
        truth, seen = clean @ weights, clean + change
        rest = np.linalg.norm(truth - seen @ np.linalg.lstsq(seen, truth, rcond=None)[0])
        axes = np.linalg.svd(change, full_matrices=False)[0]
        broken += rest > np.linalg.norm(axes.T @ truth) + 1e-9
        assert rest <= np.linalg.norm(change @ weights) + 1e-9
    assert broken > 50


def test_the_paper_takes_a_root_for_a_straight_line():
    """Theorems 1 and 2 call Ψ Lipschitz. For the log loss, votes of chance ½ + a and scores with the wrong sign, just:
    the excess error is 2a and the excess loss about 2a², so that no multiple of the loss bounds the error."""
    for a in (0.1, 0.01, 0.001):
        chance = 0.5 + a
        excess = math.log(2) + chance * math.log(chance) + (1 - chance) * math.log(1 - chance)
        assert 2 * a <= math.sqrt(2 * excess) * (1 + 1e-6)
        assert 2 * a > 0.4 / a * excess


@pytest.mark.parametrize("sd", [0.1, 0.5])
def test_the_plan_by_the_curve_is_about_right(sd):
    """Votes planned for 8 %: the true share of misordered pairs there is 8 % within a factor of two, on average."""
    ratios, planned = [], []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        data, features, truth = planted(40, 600, rng, sd=sd)
        plan = plan_votes(data, features, epsilon=0.08, splits=1)
        size = int(min(plan.by_curve, 50_000))
        model = RABF().fit(draw(truth, size, rng), features)
        pairs = 40 * 39 / 2
        ratios.append(kendall_distance(model.ranking_.scores, truth) / pairs / 0.08)
        planned.append(plan)
    assert 0.5 < np.mean(ratios) < 1.5
    for plan in planned:
        assert plan.errors[-1] < plan.errors[0]
        assert plan.by_bound > plan.by_curve
    assert f"{planned[0].by_curve:,.0f} votes by the learning curve" in str(planned[0])


def test_a_plan_for_equal_items_says_that_votes_do_not_help():
    rows = np.arange(60)
    even = Comparisons.from_arrays(rows % 2, (rows + 1) % 2, items=range(2))
    plan = plan_votes(even, epsilon=0.05)
    assert math.isinf(plan.by_curve)
    assert "the items may well be equal" in str(plan)


def test_what_cannot_be_bounded_or_planned_is_refused():
    data, features, _ = planted(6, 100, np.random.default_rng(3))
    with pytest.raises(InputError, match="a fitted RABF is expected"):
        risk_bound(5, data)
    model = RABF().fit(data, features)
    with pytest.raises(InputError, match=r"delta=1\.5: a probability between 0 and 1"):
        risk_bound(model, data, delta=1.5)
    with pytest.raises(InputError, match="fit without side, covariates, modelled ties and flips"):
        risk_bound(RABF(flip_rate=0.1).fit(data, features), data)
    with pytest.raises(InputError, match=r"epsilon=0\.7: a share of pairs between 0 and 0\.5"):
        plan_votes(data, features, epsilon=0.7)
    with pytest.raises(InputError, match="10 votes are too few to plan by"):
        plan_votes(data.take(np.arange(10)), features)
    with pytest.raises(InputError, match="loss='hinge' has no posterior to plan by"):
        plan_votes(data, features, loss="hinge")


@pytest.mark.parametrize("epsilon", [1e-12, 1e-150, 5e-324])
def test_an_epsilon_beyond_all_votes_needs_infinitely_many(epsilon):
    data, features, _ = planted(6, 100, np.random.default_rng(3))
    plan = plan_votes(data, features, epsilon=epsilon, splits=1)
    assert plan.by_curve > 1e9
    assert plan.by_bound > 1e9
    assert "not lowered it" not in str(plan)
    assert len(str(plan)) < 180
