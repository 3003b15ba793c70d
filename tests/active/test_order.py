"""Orders of least disagreement against brute force, and the laws of the searches."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose

from podium import Comparisons
from podium.active.order import (
    Kemeny,
    SparseWins,
    exact_order,
    insertion_search,
    iterated_search,
    kemeny,
    lower_bound,
    mfast_cost,
    window_search,
)
from podium.errors import InputError

from reference_active import cost_of, least_cost, random_tournament

votes = st.integers(2, 6).flatmap(
    lambda n: arrays(np.float64, (n, n), elements=st.integers(0, 4).map(float)).map(lambda w: w - np.diag(np.diag(w)))
)


@settings(max_examples=40)
@given(votes)
def test_the_subset_programme_finds_what_trying_all_orders_finds(wins):
    order = exact_order(wins)
    assert sorted(order.tolist()) == list(range(len(wins)))
    assert cost_of(wins, order.tolist()) == least_cost(wins) == mfast_cost(wins, order)


@settings(max_examples=30, deadline=None)
@given(votes)
def test_no_order_beats_the_lower_bounds(wins):
    best = least_cost(wins)
    assert lower_bound(wins, method="packing") <= best + 1e-9
    assert lower_bound(wins, method="lp") <= best + 1e-9


def test_the_linear_bound_is_tight_where_one_triangle_is_the_only_conflict():
    wins = random_tournament(8, 0.0, np.random.default_rng(0))
    wins[0, 2], wins[2, 0] = 0.0, 1.0
    assert lower_bound(wins, method="lp") == pytest.approx(1.0, abs=1e-6)
    assert lower_bound(wins, method="packing") == 1.0


@pytest.mark.parametrize("seed", range(5))
def test_searches_never_raise_the_cost_and_leave_no_better_single_move(seed):
    rng = np.random.default_rng(seed)
    wins = random_tournament(30, 0.2, rng)
    start = rng.permutation(30)
    moved = insertion_search(wins, start)
    assert mfast_cost(wins, moved) <= mfast_cost(wins, start)
    assert mfast_cost(wins, window_search(wins, moved)) <= mfast_cost(wins, moved)
    for item in range(30):
        rest = [u for u in moved.tolist() if u != item]
        for place in range(30):
            assert cost_of(wins, [*rest[:place], item, *rest[place:]]) >= mfast_cost(wins, moved)


def test_window_search_exchanges_groups_that_single_moves_cannot():
    # Two blocks of three, each internally tied to its order; swapping the blocks as wholes is the only gain.
    wins = np.zeros((6, 6))
    for block in ([0, 1, 2], [3, 4, 5]):
        for i in range(3):
            for j in range(i + 1, 3):
                wins[block[i], block[j]] = 10
    for u in (3, 4, 5):
        for v in (0, 1, 2):
            wins[u, v] = 1.0
    assert window_search(wins, [0, 1, 2, 3, 4, 5], width=6).tolist() == [3, 4, 5, 0, 1, 2]


@pytest.mark.parametrize("seed", range(5))
def test_sparse_search_agrees_with_the_dense_one_when_all_pairs_are_known(seed):
    rng = np.random.default_rng(seed)
    wins = random_tournament(25, 0.25, rng)
    left, right = np.triu_indices(25, 1)
    sparse = SparseWins(25, left, right, wins[left, right] - wins[right, left])
    start = rng.permutation(25)
    assert sparse.cost(start) == mfast_cost(wins, start)
    found = sparse.insertion_search(start)
    assert insertion_search(wins, found).tolist() == found.tolist()  # no single move is left
    assert sparse.cost(sparse.window_search(found, passes=3)) <= sparse.cost(found)


def test_sparse_search_with_no_votes_moves_nothing():
    none = np.zeros(0, dtype=int)
    assert SparseWins(4, none, none, none).insertion_search([2, 0, 3, 1]).tolist() == [2, 0, 3, 1]


def test_iterated_search_finds_the_planted_order_of_a_clean_tournament():
    rng = np.random.default_rng(3)
    wins = random_tournament(60, 0.0, rng)
    shuffle = rng.permutation(60)
    assert iterated_search(wins[np.ix_(shuffle, shuffle)], rng=rng).tolist() == np.argsort(shuffle).tolist()


def test_kemeny_beyond_the_exact_limit_reports_a_gap_that_holds():
    wins = random_tournament(30, 0.15, np.random.default_rng(1))
    found = kemeny(wins)
    assert found.lower_bound <= found.cost == mfast_cost(wins, list(found.order))
    assert 0 <= found.gap < 0.2
    small = kemeny(wins[:15, :15])
    assert small.exact
    assert small.gap == 0


def test_kemeny_of_ballots_honours_a_unanimous_order():
    wins = np.zeros((5, 5))
    for ballot in ([0, 1, 2, 3, 4], [0, 1, 2, 3, 4], [0, 1, 2, 3, 4]):
        for i, u in enumerate(ballot):
            wins[u, ballot[i + 1 :]] += 1
    assert kemeny(wins, items="vwxyz").order == ("v", "w", "x", "y", "z")
    assert kemeny(wins).cost == 0


@settings(max_examples=20)
@given(votes, st.randoms(use_true_random=False))
def test_renaming_items_renames_nothing_but_labels(wins, random):
    names = list(range(len(wins)))
    random.shuffle(names)
    assert_allclose(kemeny(wins[np.ix_(names, names)]).cost, kemeny(wins).cost)


@pytest.mark.parametrize(
    ("wins", "message"),
    [
        (np.ones((2, 3)), r"shape \(2, 3\).*square"),
        (np.array([[0, -1], [0, 0]]), r"votes\[0, 1\] is -1"),
        (np.array([[0, np.nan], [0, 0]]), r"votes\[0, 1\] is nan"),
    ],
)
def test_votes_that_are_not_weights_are_named(wins, message):
    with pytest.raises(InputError, match=message):
        kemeny(wins)


def test_other_misuse_is_explained():
    with pytest.raises(InputError, match="2 items for 3 rows"):
        kemeny(np.zeros((3, 3)), items="ab")
    with pytest.raises(InputError, match="up to 20"):
        exact_order(np.zeros((21, 21)))
    with pytest.raises(InputError, match="each of 0 … 2 once"):
        mfast_cost(np.zeros((3, 3)), [0, 0, 1])
    with pytest.raises(InputError, match="'auto', 'packing' or 'lp'"):
        lower_bound(np.zeros((3, 3)), method="simplex")


def test_several_votes_on_a_pair_are_passed_as_one_and_the_search_comes_to_rest():
    rng = np.random.default_rng(3)
    left, right = rng.integers(0, 30, 400), rng.integers(0, 30, 400)
    left, right = left[left != right], right[left != right]
    edge = rng.choice([-1.0, 1.0], len(left))
    wins = np.zeros((30, 30))
    np.add.at(wins, (left, right), np.maximum(edge, 0.0))
    np.add.at(wins, (right, left), np.maximum(-edge, 0.0))
    found = SparseWins(30, left, right, edge).insertion_search(np.arange(30))
    assert mfast_cost(wins, insertion_search(wins, found)) == mfast_cost(wins, found)


def test_votes_that_are_no_numbers_are_refused():
    with pytest.raises(InputError, match="no number"):
        kemeny(np.array([["a", "b"], ["c", "d"]]))


def test_votes_and_ties_are_a_table_of_wins():
    # a before b: 2 and half a tie; b before c: 3; c before a: 1 and half a tie. The order a, b, c breaks 1.5 and half.
    pairs = [("a", "b")] * 3 + [("b", "c")] * 3 + [("c", "a")] * 2
    tie = [False, False, True] + [False] * 3 + [False, True]
    votes = Comparisons.from_arrays(*zip(*pairs, strict=True), tie=tie)
    best = kemeny(votes)
    assert best.order == ("a", "b", "c")
    assert best.cost == 2.0
    with pytest.raises(InputError, match="leave items out"):
        kemeny(votes, items=["x", "y", "z"])


def test_the_gap_is_how_far_from_the_bound_the_cost_is():
    assert Kemeny(("a", "b"), 6.0, 5.0, exact=False).gap == pytest.approx(0.2)
    assert Kemeny(("a", "b"), 6.0, 6.0, exact=True).gap == 0.0
    assert Kemeny(("a", "b"), 6.0, 0.0, exact=False).gap == float("inf")
