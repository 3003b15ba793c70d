"""Elo against its rule written out."""

import numpy as np
import pytest
from hypothesis import given, settings
from numpy.testing import assert_allclose

from podium import Comparisons, Elo
from podium.errors import InputError, NotFittedError

from helpers import as_comparisons
from strategies import votes


def by_hand(n, rows, k, initial):
    rating = [initial] * n
    for i, j, score, weight in rows:
        expected = 1 / (1 + 10 ** ((rating[j] - rating[i]) / 400))
        rating[i], rating[j] = rating[i] + k * weight * (score - expected), rating[j] - k * weight * (score - expected)
    return rating


@settings(max_examples=80, deadline=None)
@given(votes())
def test_ratings_follow_the_rule(data):
    n, rows = data
    model = Elo(k=20, initial=1500).fit(as_comparisons(n, rows))
    assert_allclose(model.ranking_.scores, by_hand(n, rows, 20, 1500), rtol=1e-12)


def test_one_by_one_in_parts_or_at_once_is_the_same_and_newcomers_may_appear():
    pairs = [("a", "b"), ("b", "c"), ("d", "a"), ("c", "b"), ("a", "d")]
    at_once = Elo().fit(Comparisons.from_pairs(pairs)).ranking_
    one_by_one = Elo()
    for winner, loser in pairs:
        one_by_one.update(winner, loser)
    parts = Elo().partial_fit(Comparisons.from_pairs(pairs[:2])).partial_fit(Comparisons.from_pairs(pairs[2:]))
    assert one_by_one.ranking_ == at_once == parts.ranking_
    assert np.mean(at_once.scores) == pytest.approx(1000.0)  # what one wins the other loses


@given(votes())
def test_each_items_record_is_kept_in_parts_and_at_once(data):
    n, rows = data
    expected = np.zeros((3, n))  # wins, losses and ties
    for i, j, score, weight in rows:
        for item, points in ((i, score), (j, 1 - score)):
            expected[{1.0: 0, 0.0: 1, 0.5: 2}[points], item] += weight
    half = len(rows) // 2
    parts = Elo()
    for part in (rows[:half], rows[half:]):
        if part:
            parts.partial_fit(as_comparisons(n, part))
    one_by_one = Elo()
    for i, j, score, weight in rows:
        one_by_one.update(*((j, i) if score == 0 else (i, j)), tie=score == 0.5, weight=weight)
    for model in (Elo().fit(as_comparisons(n, rows)), parts):
        assert_allclose(model.ranking_.record, expected, atol=1e-12)
    single = one_by_one.ranking_  # its items in the order in which they appeared
    assert_allclose(single.record, expected[:, list(single.items)], atol=1e-12)


def test_counted_votes_and_bad_options_are_refused():
    counted = Comparisons("ab", np.array([0]), np.array([1]), count=np.array([5]), ordered=False)
    with pytest.raises(InputError, match="have no order"):
        Elo().fit(counted)
    with pytest.raises(InputError, match="k=0"):
        Elo(k=0).fit(Comparisons.from_pairs([("a", "b")]))
    with pytest.raises(InputError, match="compared with itself"):
        Elo().update("a", "a")
    with pytest.raises(NotFittedError, match="not fitted yet"):
        _ = Elo().ranking_


def test_ratings_stay_numbers():
    games = Comparisons.from_arrays(["a", "b"], ["b", "c"], weight=[1.0, 1e110])
    model = Elo(k=1e-120).fit(games)
    assert np.isfinite(model.ranking_.scores).all()
    for refused, why in [
        (lambda: Elo().fit(games), r"k=.*: a vote of weight 1e\+110 moves ratings by more than 1e\+100; lower either"),
        (lambda: Elo(initial=-1e200).fit(games), r"initial=-1e\+200: ratings go up to 1e\+100"),
        (lambda: model.update("a", "d", weight=1e250), "moves ratings by more than"),
    ]:
        with pytest.raises(InputError, match=why):
            refused()
    assert "d" not in model.ranking_.items  # nothing was learned from the vote that was refused
