"""Position, length, agreement: against closed forms, other packages and simulated judges whose truth is known."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest
from sklearn.metrics import cohen_kappa_score

from podium.judge.tally import Tally, agreement, longer_won, position, proportion

outcomes = st.sampled_from([0.0, 0.5, 1.0])


@given(st.lists(st.booleans(), min_size=1, max_size=60))
def test_a_share_has_wilsons_interval(hits):
    mine = proportion(hits)
    theirs = binomtest(sum(hits), len(hits)).proportion_ci(0.95, "wilson")
    assert (mine.lower, mine.upper) == pytest.approx((theirs.low, theirs.high), abs=1e-9)


@given(st.lists(st.tuples(outcomes, outcomes), min_size=1, max_size=40))
def test_kappa_is_scikit_learns(pairs):
    mine, theirs = zip(*pairs, strict=True)
    found = agreement(mine, theirs)
    labels = [str(each) for each in mine], [str(each) for each in theirs]
    if len(set(mine) | set(theirs)) > 1:
        assert found.kappa == pytest.approx(cohen_kappa_score(*labels), abs=1e-9)
    else:
        assert math.isnan(found.kappa)
    assert found.alike.value == np.mean([a == b for a, b in pairs])


@given(st.lists(st.tuples(outcomes, outcomes), min_size=1, max_size=40))
def test_turning_all_calls_turns_the_position(pairs):
    once, turned = (np.array(each) for each in zip(*pairs, strict=True))
    one, other = position(once, turned), position(1 - once, 1 - turned)
    assert one.first.value == pytest.approx(1 - other.first.value)
    assert (one.first_first, one.second_second) == (other.second_second, other.first_first)
    assert one.p_value == pytest.approx(other.p_value)
    assert one.same == other.same
    assert position(turned, once) == one


def test_the_sign_test_is_exact():
    found = position([1] * 9 + [0], [1] * 9 + [0])
    assert (found.first_first, found.second_second) == (9, 1)
    assert found.p_value == pytest.approx(2 * (1 + 10) / 2**10)
    assert not found.is_biased
    assert position([1] * 10, [1] * 10).is_biased


def test_noise_is_told_only_where_it_is_sure():
    coin = position([1, 0] * 20, [1, 0] * 20)  # never the same winner
    assert coin.same.value == 0
    assert coin.is_noise
    half = position([1] * 40, [1, 0] * 20)
    assert not half.is_noise  # 50 % of 40 may well be 55 %


@pytest.mark.parametrize("lean", [0.0, 1.5])
def test_the_intervals_hold_the_truth(lean):
    """Both calls about a pair are one cluster: 95 % of the intervals hold the share of the first place."""
    rng = np.random.default_rng(3)
    margin = rng.normal(size=200_000) * 2
    chance = 1 / (1 + np.exp(-(margin + lean)))
    truth = float(np.mean((chance + 1 / (1 + np.exp(-(-margin + lean)))) / 2))
    held = 0
    for _ in range(300):
        margin = rng.normal(size=60) * 2
        once = rng.random(60) < 1 / (1 + np.exp(-(margin + lean)))
        turned = rng.random(60) < 1 / (1 + np.exp(-(-margin + lean)))
        found = position(once, turned).first
        held += found.lower <= truth <= found.upper
    assert held / 300 > 0.92


def test_length_counts_the_longer_and_leaves_out_equals():
    found = longer_won([1, 0, 0.5, 1], [9, 9, 2, 5], [1, 1, 9, 5])
    assert (found.value, found.count) == (0.5, 3)
    assert longer_won([1], [2], [2]) is None


def test_words_name_what_went_wrong_and_what_to_raise():
    lines = Tally(calls=200, problems={"length": 3, "form": 1}, cost=4.1, tokens_in=3_100_000).words()
    assert "3 answers cut off; raise --max-tokens" in lines
    assert lines[-1] == "not parsed 0.5 %; skipped 0; 200 calls, 3.1 M tokens in, 0 out, cost 4.10"
