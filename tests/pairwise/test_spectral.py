"""Rank centrality against choix, a matrix of rates, and a closed form."""

import math

import choix
import numpy as np
import pytest
from numpy.testing import assert_allclose

from podium import Comparisons, RankCentrality
from podium.errors import InputError
from podium.pairwise import spectral

from helpers import simulate


def test_two_items_have_the_odds_of_their_votes():
    model = RankCentrality(prior=0).fit(Comparisons.from_pairs([("a", "b")] * 3 + [("b", "a")]))
    assert model.ranking_.score("a") - model.ranking_.score("b") == pytest.approx(math.log(3))


def test_it_agrees_with_choix():
    winner, loser, _ = simulate(15, 4000, np.random.default_rng(0))
    theirs = choix.rank_centrality(15, list(zip(winner, loser, strict=True)))
    ours = RankCentrality(prior=0).fit(Comparisons.from_arrays(winner, loser, items=range(15))).ranking_.scores
    assert_allclose(ours, theirs - theirs.mean(), atol=1e-8)


@pytest.mark.parametrize(("near", "how"), [(None, "walk"), (2, "sparse")])
def test_every_way_finds_the_same_distribution(near, how, monkeypatch):
    winner, loser, _ = simulate(200, 20_000, np.random.default_rng(1), spread=0.5, near=near)
    data = Comparisons.from_arrays(winner, loser, items=range(200))
    dense = RankCentrality().fit(data)
    assert dense.solver_ == "dense"
    monkeypatch.setattr(spectral, "DENSE", 0)
    other = RankCentrality().fit(data)
    assert other.solver_ == how
    assert_allclose(other.ranking_.scores, dense.ranking_.scores, atol=1e-6)


def test_flow_in_and_out_of_every_item_balance():
    winner, loser, _ = simulate(9, 300, np.random.default_rng(2))
    data = Comparisons.from_arrays(winner, loser, items=range(9))
    time = np.exp(RankCentrality(prior=0.5).fit(data).ranking_.scores)
    wins = np.zeros((9, 9))
    np.add.at(wins, (winner, loser), 1)
    met = wins + wins.T
    rate = np.where(met > 0, (wins.T + 0.5) / (met + 1.0), 0.0)  # from i to j: how often j won
    assert_allclose(time @ rate, time * rate.sum(axis=1), rtol=1e-9)


def test_many_votes_recover_the_scores():
    rng = np.random.default_rng(3)
    winner, loser, truth = simulate(20, 200_000, rng)
    found = RankCentrality().fit(Comparisons.from_arrays(winner, loser, items=range(20))).ranking_.scores
    assert_allclose(found, truth - truth.mean(), atol=0.1)


def test_walks_that_end_are_refused_with_the_reason():
    with pytest.raises(InputError, match="the walk ends with them; set prior > 0"):
        RankCentrality(prior=0).fit(Comparisons.from_pairs([("a", "b"), ("b", "c")]))
    with pytest.raises(InputError, match="2 groups never compared"):
        RankCentrality().fit(Comparisons.from_pairs([("a", "b"), ("x", "y")]))
    with pytest.raises(InputError, match="prior=-1"):
        RankCentrality(prior=-1).fit(Comparisons.from_pairs([("a", "b")]))
    assert RankCentrality().fit(Comparisons.from_pairs([("a", "b"), ("b", "c")])).ranking_.order == ("a", "b", "c")
