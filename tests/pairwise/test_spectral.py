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


def rates(c, prior):
    """From i to j, among those that met: the share of their meetings that j won."""
    n = len(c.items)
    wins = np.zeros((n, n))
    for a, b, y in zip(c.left, c.right, c.outcome, strict=True):
        wins[a, b] += (1 + y) / 2
        wins[b, a] += (1 - y) / 2
    met = wins + wins.T
    return np.where(met > 0, (wins.T + prior) / np.maximum(met + 2 * prior, 1e-300), 0.0)


@pytest.mark.parametrize("how", ["dense", "walk", "sparse"])
@pytest.mark.parametrize("prior", [0.1, 1.0])
def test_each_way_spends_its_time_as_the_walk_does_and_counts_its_steps(how, prior, monkeypatch):
    rng = np.random.default_rng(4)
    left = rng.integers(0, 6, 60).astype(np.int32)
    right = ((left + rng.integers(1, 6, 60)) % 6).astype(np.int32)
    c = Comparisons(tuple("abcdef"), left, right, outcome=rng.choice([-1, 0, 1], 60).astype(np.int8))
    monkeypatch.setattr(spectral, "DENSE", 6 if how == "dense" else 5)
    if how == "sparse":
        monkeypatch.setattr(spectral, "STEPS", 3)
    model = RankCentrality(prior=prior).fit(c)
    assert model.solver_ == how
    time, rate = np.exp(model.ranking_.scores), rates(c, prior)
    assert_allclose(time @ rate, time * rate.sum(axis=1), rtol=1e-6)
    assert abs(model.ranking_.scores.mean()) < 1e-7
    if how == "dense":
        assert model.n_iter_ == 1
    elif how == "sparse":
        assert model.n_iter_ == 4
    else:
        assert 5 < model.n_iter_ < 2000
        monkeypatch.setattr(spectral, "STEPS", model.n_iter_)
        assert RankCentrality(prior=prior).fit(c).solver_ == "walk"
        monkeypatch.setattr(spectral, "STEPS", model.n_iter_ - 1)
        assert RankCentrality(prior=prior).fit(c).solver_ == "sparse"


def test_a_prior_is_a_number_within_reach_and_a_tenth_by_default():
    assert RankCentrality().prior == 0.1
    two = Comparisons.from_pairs([("a", "b")] * 3)
    for prior in (0.1, 2.0):
        ranking = RankCentrality(prior=prior).fit(two).ranking_
        assert ranking.score("a") - ranking.score("b") == pytest.approx(math.log((3 + prior) / prior))
    with pytest.raises(InputError, match="prior="):
        RankCentrality(prior=1e300).fit(two)
    even = RankCentrality().fit(Comparisons.from_pairs([("a", "b"), ("b", "a")])).ranking_
    assert even.scores.tolist() == [0.0, 0.0]
    assert even.record[0].tolist() == [1.0, 1.0]
