"""What a weight means: how much one vote counts, not how many votes it stands for; intervals keep to that."""

import math
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose

from papers import calibration_grid as grid
from podium import BradleyTerry, Comparisons
from podium.errors import InputError, PodiumWarning
from podium.models import load, save
from podium.ranking.uncertainty import covariance, full_covariance, many


def weighted_votes(seed=1, n=6, count=150, ties=True):
    """Random votes with uneven weights, sides, a covariate and ties."""
    rng = np.random.default_rng(seed)
    left = rng.integers(n, size=count)
    right = (left + rng.integers(1, n, size=count)) % n
    outcome = rng.choice([1, 0, -1] if ties else [1, -1], size=count).astype(np.int8)
    return Comparisons(
        range(n),
        left.astype(np.int32),
        right.astype(np.int32),
        outcome=outcome,
        weight=rng.lognormal(sigma=0.8, size=count),
        covariates=rng.normal(size=(count, 1)),
        covariate_names=("length",),
        sided=True,
    )


def test_two_items_have_the_closed_form():
    """The score difference is the log-odds of summed weights, and has variance Σw²/((Σw)²·p·q) by the delta method."""
    heavy, light = np.array([0.3, 2.0, 1.1, 0.4]), np.array([0.9, 0.2, 0.5])
    votes = Comparisons.from_arrays(["a"] * 4 + ["b"] * 3, ["b"] * 4 + ["a"] * 3, weight=np.concatenate([heavy, light]))
    ranking = BradleyTerry(l2=0, tol=1e-10).fit(votes).ranking_
    both = np.concatenate([heavy, light])
    p = heavy.sum() / both.sum()
    variance = (both**2).sum() / (both.sum() ** 2 * p * (1 - p))
    lower, upper = ranking.intervals(reference="b")
    assert ranking.score("a") - ranking.score("b") == pytest.approx(math.log(p / (1 - p)), abs=1e-7)
    assert upper[0] - lower[0] == pytest.approx(2 * 1.959964 * math.sqrt(variance), rel=1e-5)


def times(votes, factor):
    return Comparisons(
        votes.items, votes.left, votes.right, outcome=votes.outcome, weight=factor * votes.weight,
        covariates=votes.covariates, covariate_names=votes.covariate_names, sided=True,
    )  # fmt: skip


@pytest.mark.parametrize("factor", [1e-3, 0.5, 7.0])
@pytest.mark.parametrize("model", [{}, {"ties": "davidson"}, {"side_effect": True}])
def test_a_factor_on_all_weights_changes_no_interval(model, factor):
    votes = weighted_votes()
    one, other = (BradleyTerry(**model, tol=1e-9).fit(each) for each in (votes, times(votes, factor)))
    for a, b in zip(one.ranking_.intervals(), other.ranking_.intervals(), strict=True):
        assert_allclose(a, b, atol=1e-4)
    assert_allclose(one.coef_std_errors_, other.coef_std_errors_, rtol=1e-3)


def test_weights_whose_squares_are_nothing_are_refused():
    with pytest.raises(InputError, match="too small to be squared"):
        times(weighted_votes(), 1e-300)


def test_equal_weights_are_no_weights():
    votes = weighted_votes()
    plain = Comparisons(votes.items, votes.left, votes.right, outcome=votes.outcome)
    equal = Comparisons(
        votes.items, votes.left, votes.right, outcome=votes.outcome, weight=np.full(len(votes.left), 3.0)
    )
    one, other = (BradleyTerry().fit(each).ranking_ for each in (plain, equal))
    assert_allclose(one.std_errors, other.std_errors, rtol=1e-4)
    assert "weights are not counts" in other.error_source


@pytest.mark.parametrize("ties", ["half", "davidson"])
def test_errors_are_those_of_all_outcomes_that_each_vote_could_have_had(ties):
    """H⁻¹ Σ w² E[g gᵀ] H⁻¹, the mean taken over outcomes one by one, gradients and H by differences of the loss."""
    votes = weighted_votes(ties=ties == "davidson")
    model = BradleyTerry(l2=0, ties=ties, side_effect=True, tol=1e-10).fit(votes)
    n, extras = 6, [model.coef_[0], model.side_effect_, *([math.log(model.tie_strength_)] if ties != "half" else [])]
    at = np.concatenate([model.ranking_.scores, extras])

    def chances(theta, k):
        margin = theta[votes.left[k]] - theta[votes.right[k]] + theta[n] * votes.covariates[k, 0] + theta[n + 1]
        size = [math.exp(margin / 2), math.exp(theta[n + 2]) if ties != "half" else 0.0, math.exp(-margin / 2)]
        return np.array(size) / sum(size)

    def slope(theta, k, outcome, step=1e-6):
        ends = [[theta + sign * step * row for row in np.eye(len(theta))] for sign in (1, -1)]
        up, down = (np.array([-math.log(chances(x, k)[outcome]) for x in side]) for side in ends)
        return (up - down) / (2 * step)

    size = len(at)
    bread, meat = np.zeros((size, size)), np.zeros((size, size))
    possible = (0, 2) if ties == "half" else (0, 1, 2)
    for k, weight in enumerate(votes.weight):
        share = chances(at, k)
        each = sum(share[o] * np.outer(g, g) for o in possible for g in [slope(at, k, o)])
        bread += weight * each  # the information equals the curvature in such models
        meat += weight**2 * each
    shift = np.zeros(size)
    shift[:n] = 1.0
    inverse = np.linalg.inv(bread + np.outer(shift, shift))
    expected = inverse @ meat @ inverse
    centre = np.eye(size) - np.outer(shift, shift) / n
    expected = centre @ expected @ centre
    assert_allclose(full_covariance(model.ranking_.information, "auto", None), expected, atol=2e-6)
    assert_allclose(model.ranking_.std_errors, np.sqrt(expected.diagonal()[:n]), rtol=1e-4)
    assert model.coef_std_errors_[0] == pytest.approx(math.sqrt(expected[n, n]), rel=1e-4)


def test_many_items_have_the_same_errors_without_a_matrix():
    rng = np.random.default_rng(4)
    n, count = 150, 9000
    truth, left = rng.normal(size=n), rng.integers(n, size=count)
    right = (left + rng.integers(1, n, size=count)) % n
    won = rng.random(count) < 1 / (1 + np.exp(truth[right] - truth[left]))
    votes = Comparisons.from_arrays(
        np.where(won, left, right), np.where(won, right, left), weight=rng.lognormal(sigma=0.8, size=count)
    )
    information = BradleyTerry().fit(votes).ranking_.information
    assert information.choose("auto") == "weighted"
    dense = covariance(information, "auto").diagonal()
    assert_allclose(many.variances(information, "auto"), dense, rtol=0.04)


def _held(ranking, truth):
    """The share of true scores inside their intervals, relative to the mean of bounded items."""
    lower, upper = ranking.intervals()
    bounded = np.isfinite(ranking.std_errors)
    bounded = bounded if bounded.any() else ~bounded
    placed = truth - truth[bounded].mean() + ranking.scores[bounded].mean()
    return ((lower <= placed) & (placed <= upper)).mean()


def test_intervals_hold_with_few_uneven_weights_where_the_sandwich_does_not():
    rng, held = np.random.default_rng(8), {"auto": [], "sandwich": []}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PodiumWarning)
        for _ in range(120):
            votes, truth = grid.weights(rng, 8, 10)
            ranking = BradleyTerry().fit(votes).ranking_
            for kind, shares in held.items():
                shares.append(_held(ranking.with_uncertainty(kind), truth))
    assert np.mean(held["auto"]) >= 0.94
    assert np.mean(held["sandwich"]) <= 0.92


def test_a_stored_model_keeps_its_errors_and_its_chances(tmp_path):
    model = BradleyTerry(side_effect=True).fit(weighted_votes())
    save(model, tmp_path / "model.podium")
    back = load(tmp_path / "model.podium")
    assert_allclose(back.ranking_.std_errors, model.ranking_.std_errors)
    assert back.ranking_.error_source == model.ranking_.error_source
    assert_allclose(back.ranking_.probability_best(), model.ranking_.probability_best())
