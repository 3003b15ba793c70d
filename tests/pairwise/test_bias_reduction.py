"""Firth's bias reduction: closed forms, R's BradleyTerry2, and effects that are right on average."""

import math
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose

from baseball import HOME_AWAY, TEAMS, baseball
from podium import BradleyTerry, Comparisons
from podium.errors import InputError


def abilities(model):
    """Relative to Baltimore, in R's order."""
    scores = dict(zip(TEAMS, model.ranking_.scores - model.ranking_.score(6), strict=True))
    return [scores[team] for team in ("Boston", "Cleveland", "Detroit", "Milwaukee", "New York", "Toronto")]


def test_two_items_have_the_closed_form():
    for wins, losses in [(3, 1), (5, 0), (2, 7)]:
        votes = Comparisons.from_pairs([("a", "b")] * wins + [("b", "a")] * losses)
        ranking = BradleyTerry(l2=0, bias_reduction=True).fit(votes).ranking_
        expected = math.log((wins + 0.5) / (losses + 0.5))  # Firth (1993): half a vote more to either side
        assert ranking.score("a") - ranking.score("b") == pytest.approx(expected, abs=1e-6)


def test_baseball_agrees_with_bradleyterry2():
    """BTm(cbind(home.wins, away.wins), ..., formula = ~ team + at.home, br = TRUE), BradleyTerry2 1.1.2 on R 4.2.2."""
    model = BradleyTerry(l2=0, side_effect=True, bias_reduction=True, tol=1e-9).fit(baseball())
    expected = [1.111175708698, 0.683990968851, 1.433780823644, 1.574068603984, 1.245043053109, 1.289613047298]
    assert_allclose(abilities(model), expected, atol=2e-6)
    assert model.side_effect_ == pytest.approx(0.293927992972, abs=1e-6)
    assert model.side_effect_std_error_ == pytest.approx(0.130444360711, abs=1e-6)
    plain = BradleyTerry(l2=0, side_effect=True, tol=1e-9).fit(baseball())
    assert plain.side_effect_ == pytest.approx(0.302260655528, abs=1e-6)  # br = FALSE
    assert plain.side_effect_std_error_ == pytest.approx(0.130943642532, abs=1e-6)


def test_an_effect_that_separates_the_votes_is_finite_as_in_bradleyterry2():
    model = BradleyTerry(l2=0, side_effect=True, bias_reduction=True, tol=1e-9).fit(baseball(home_always_wins=True))
    assert model.side_effect_ == pytest.approx(2.56494935746, abs=1e-6)
    assert model.side_effect_std_error_ == pytest.approx(0.599144689512, abs=1e-6)
    assert_allclose(abilities(model), 0.0, atol=1e-6)


def planted(rng, n=30, votes=10):
    m = n * votes // 2
    scores, covariate = 0.8 * rng.normal(size=n), rng.normal(size=m)
    left = rng.integers(0, n, m)
    right = (left + rng.integers(1, n, m)) % n
    won = rng.random(m) < 1 / (1 + np.exp(-(scores[left] - scores[right] + 0.5 + 0.5 * covariate)))
    outcome = np.where(won, 1, -1).astype(np.int8)
    columns = {"covariates": covariate[:, None], "covariate_names": ("x",), "sided": True}
    return Comparisons(tuple(range(n)), left.astype(np.int32), right.astype(np.int32), outcome=outcome, **columns)


@pytest.mark.parametrize("options", [{}, {"l2": 0, "bias_reduction": True}], ids=["auto", "Firth"])
def test_effects_from_few_votes_are_right_on_average_and_their_errors_too(options):
    """Five votes a parameter; plain likelihood has them 40 % too large."""
    effects, errors = [], []
    for seed in range(60):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of items that only won
            model = BradleyTerry(side_effect=True, **options).fit(planted(np.random.default_rng([7, seed])))
        effects.append([model.side_effect_, model.coef_[0]])
        errors.append([model.side_effect_std_error_, model.coef_std_errors_[0]])
    off = np.array(effects) - 0.5
    noise = np.std(off) / np.sqrt(off.size)
    assert abs(off.mean()) < 0.05 + 2 * noise
    assert 0.90 <= np.mean(np.abs(off) <= 1.96 * np.array(errors)) <= 0.99


def test_what_it_cannot_do_is_said():
    votes = baseball()
    with pytest.raises(InputError, match=r"bias_reduction=True is for a penalty that is a number; set l2=0"):
        BradleyTerry(bias_reduction=True).fit(votes)
    with pytest.raises(InputError, match=r"bias_reduction=True does not know of ties"):
        BradleyTerry(l2=0, ties="davidson", bias_reduction=True).fit(votes)
    with pytest.raises(InputError, match=r"bias_reduction='yes': it must be True or False"):
        BradleyTerry(l2=0, bias_reduction="yes").fit(votes)
    with pytest.raises(InputError, match="groups"):
        BradleyTerry(l2=0, bias_reduction=True).fit(Comparisons.from_pairs([("a", "b"), ("c", "d")]))


def test_votes_per_parameter_are_counted():
    model = BradleyTerry(side_effect=True).fit(baseball())
    games = sum(int(each) for pair in HOME_AWAY.split() for each in pair.split("-"))
    assert model.votes_per_parameter_ == games / 7  # six scores and the home advantage


@pytest.mark.parametrize("options", [{"l2": 0}, {"l2": 0, "bias_reduction": True}])
def test_weights_whose_squares_are_nothing_are_weights_all_the_same(options):
    votes = [Comparisons.from_arrays(["a", "b"], ["b", "a"], weight=[size, size]) for size in (1e-200, 0.1)]
    tiny, plain = (BradleyTerry(**options).fit(each) for each in votes)
    assert_allclose(tiny.ranking_.scores, plain.ranking_.scores, atol=1e-6)
    assert tiny.votes_per_parameter_ > 0
