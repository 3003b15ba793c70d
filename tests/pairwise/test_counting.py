"""Counting rankers against counts made by hand."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from numpy.testing import assert_allclose

from podium import Borda, Comparisons, Copeland

from helpers import as_comparisons
from reference import pair_table
from strategies import votes


def shares(n, rows):
    """For each item, its share of the votes against each opponent."""
    found = {i: {} for i in range(n)}
    for (i, j), (won, lost, tied) in pair_table(rows).items():
        found[i][j] = (won + tied / 2) / (won + lost + tied)
        found[j][i] = 1 - found[i][j]
    return found


@settings(max_examples=80, deadline=None)
@given(votes())
def test_borda_and_copeland_count_opponents(data):
    n, rows = data
    found = shares(n, rows)
    mean = [np.mean(list(found[i].values())) if found[i] else 0.5 for i in range(n)]
    lead = [sum(np.sign(round(share - 0.5, 12)) for share in found[i].values()) for i in range(n)]
    assert_allclose(Borda().fit(as_comparisons(n, rows)).ranking_.scores, mean)
    assert_allclose(Copeland().fit(as_comparisons(n, rows)).ranking_.scores, lead)


def test_on_full_rankings_borda_is_the_borda_count():
    rankings = [list(order) for order in np.random.default_rng(0).permuted(np.tile(np.arange(5), (9, 1)), axis=1)]
    ranking = Borda().fit(Comparisons.from_rankings(rankings)).ranking_
    for item in range(5):
        points = sum(4 - list(order).index(item) for order in rankings)
        assert ranking.score(item) == pytest.approx(points / (4 * 9))


def test_a_condorcet_winner_leads_copeland_though_borda_prefers_another():
    # "a" beats everyone 3:2; "b" loses to "a" narrowly and crushes the rest.
    pairs = [("a", x) for x in "bcd" for _ in range(3)] + [(x, "a") for x in "bcd" for _ in range(2)]
    pairs += [("b", x) for x in "cd" for _ in range(5)] + [("c", "d")] * 3 + [("d", "c")] * 2
    data = Comparisons.from_pairs(pairs)
    assert Copeland().fit(data).ranking_.order[0] == "a"
    assert Borda().fit(data).ranking_.order[0] == "b"


def test_everyone_against_everyone_sums_to_nothing():
    pairs = [(i, j) for i, j in itertools.combinations(range(6), 2)]
    ranking = Copeland().fit(Comparisons.from_pairs(pairs)).ranking_
    assert ranking.scores.tolist() == [5, 3, 1, -1, -3, -5]
