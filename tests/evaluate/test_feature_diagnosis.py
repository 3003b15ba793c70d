"""Diagnosis of features on planted truth, and pictures that show it."""

from statistics import NormalDist

import numpy as np
import pytest

from podium import RABF, Comparisons
from podium.errors import InputError, NotFittedError
from podium.evaluate.feature_diagnosis import learning_curve, residual_norm, residual_outliers
from podium.show.feature_plots import coefficients, learning_curves, outliers


def planted(seed, n=60, m=3000, sd=0.3, odd=()):
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(n, 2))
    rest = sd * rng.normal(size=n)
    for item, size in odd:
        rest[item] += size
    truth = features @ [1.0, -0.5] + rest
    left = rng.integers(0, n, m)
    right = (left + rng.integers(1, n, m)) % n
    won = rng.random(m) < 1 / (1 + np.exp(truth[right] - truth[left]))
    winner, loser = np.where(won, left, right), np.where(won, right, left)
    return Comparisons.from_arrays(winner, loser, items=range(n)), features, rest


def test_planted_outliers_are_named_and_ordinary_items_are_not():
    data, features, _ = planted(0, odd=[(5, 3.0), (9, -3.0)])
    found = residual_outliers(RABF().fit(data, features))
    assert set(found["item"]) == {"5", "9"}
    assert {row["item"]: row["residual"] > 0 for row in found.rows(named=True)} == {"5": True, "9": False}
    data, features, _ = planted(1, sd=0.0)
    assert len(residual_outliers(RABF().fit(data, features))) == 0


@pytest.mark.parametrize("sd", [0.4, 1.0])
def test_the_size_of_what_features_miss_is_estimated(sd):
    ratios = []
    for seed in range(8):
        data, features, rest = planted(seed, sd=sd)
        ratios.append(residual_norm(RABF().fit(data, features)) / (rest @ rest))
    assert np.median(ratios) == pytest.approx(1.0, rel=0.15)


def test_features_help_most_when_votes_are_few():
    data, features, _ = planted(2, m=2000, sd=0.2)
    curve = learning_curve(data, features, sizes=(0.04, 0.8), splits=3)
    assert curve.advantage[0] > curve.advantage[1]
    assert curve.advantage[0] > 0.02
    noise = learning_curve(data, np.random.default_rng(3).normal(size=features.shape), sizes=(0.04, 0.8), splits=3)
    assert abs(noise.advantage[1]) < 0.02  # features that say nothing cost little


@pytest.mark.parametrize("options", [{}, {"loss": "squared"}, {"flip_rate": 0.1}])
def test_a_learning_curve_is_of_the_chances_of_the_model_itself(options):
    data, features, _ = planted(6, n=8, m=100)
    style = np.random.default_rng(0).normal(size=100)
    for covariates in (None, {"length": style}):
        votes = Comparisons.from_arrays(data.left, data.right, covariates=covariates, items=range(8))
        curve = learning_curve(votes, features, sizes=(0.8,), splits=1, seed=4, **options)
        order = np.random.default_rng(4).permutation(100)
        held = order[80:]
        model = RABF(**options).fit(votes.take(order[:80]), features)
        losses = []
        for k in held:
            if covariates is None:
                chance = model.win_probability(data.left[k], data.right[k])
            else:
                margin = model.ranking_.score(data.left[k]) - model.ranking_.score(data.right[k])
                chance = by_hand(margin + model.covariate_coef_[0] * style[k], model, options)
            losses.append(-np.log(chance))
        assert curve.with_features[0, 0] == pytest.approx(np.mean(losses), rel=1e-9)


def test_a_tie_counts_half_for_both_in_a_learning_curve():
    data, features, _ = planted(6, n=8, m=100)
    tie = np.random.default_rng(7).random(100) < 0.4
    votes = Comparisons.from_arrays(data.left, data.right, tie=tie, items=range(8))
    curve = learning_curve(votes, features, sizes=(0.8,), splits=1, seed=4)
    order = np.random.default_rng(4).permutation(100)
    model = RABF().fit(votes.take(order[:80]), features)
    loss = 0.0
    for k in order[80:]:
        win = model.win_probability(data.left[k], data.right[k])
        loss -= 0.5 * np.log(win) + 0.5 * np.log(1 - win) if tie[k] else np.log(win)
    assert 0 < tie[order[80:]].sum() < 20
    assert curve.with_features[0, 0] == pytest.approx(loss / 20, rel=1e-9)


def by_hand(margin, model, options):
    """Chance of a vote with this margin."""
    if options.get("loss") == "squared":
        return NormalDist(0, model.noise_).cdf(margin)
    flip_rate = options.get("flip_rate", 0.0)
    return (1 - flip_rate) / (1 + np.exp(-margin)) + flip_rate / (1 + np.exp(margin))


def test_what_cannot_be_diagnosed_is_refused():
    data, features, _ = planted(4, n=5, m=30)
    with pytest.raises(InputError, match="shares of the votes up to"):
        learning_curve(data, features, sizes=(0.9,))
    with pytest.raises(NotFittedError):
        residual_norm(RABF())
    with pytest.raises(InputError, match="a fitted RABF or PlackettLuce is expected"):
        residual_outliers(data)


def test_pictures_show_what_was_found():
    data, features, _ = planted(5, odd=[(5, 3.0)])
    model = RABF().fit(data, features)
    drawn = coefficients(model).axes[0]
    assert [label.get_text() for label in drawn.get_yticklabels()] == ["x1", "x2"]
    named = [text.get_text() for text in outliers(model).axes[0].texts]
    assert "5" in named
    curve = learning_curve(data, features, sizes=(0.1, 0.4), splits=2)
    lines = {line.get_label(): line.get_ydata() for line in learning_curves(curve).axes[0].lines[:2]}
    assert np.allclose(lines["votes and features"], curve.with_features.mean(axis=1))
