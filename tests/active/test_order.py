"""Orders of least disagreement against brute force, and the laws of the searches."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose
from scipy.optimize import linprog

from podium import Comparisons
from podium.active import order as order_module
from podium.active.order import (
    Kemeny,
    SparseWins,
    _rounded_down,
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


# ---- edges ----------------------------------------------------------------------------------------------------------


def cyclic(n):
    """0 before 1 before … before n - 1 before 0, nothing else: every order breaks one vote at least."""
    wins = np.zeros((n, n))
    wins[np.arange(n), (np.arange(n) + 1) % n] = 1.0
    return wins


@pytest.mark.parametrize(
    ("method", "n", "programme"), [("auto", 40, True), ("auto", 41, False), ("lp", 41, True), ("packing", 40, False)]
)
def test_the_programme_bounds_up_to_forty_items_or_where_it_is_asked_for(monkeypatch, method, n, programme):
    monkeypatch.setattr(order_module, "_lp_bound", lambda margin: 1000.0)
    wins = np.zeros((n, n))
    wins[:3, :3] = cyclic(3)
    assert lower_bound(wins, method=method) == (1000.0 if programme else 1.0)


@pytest.mark.parametrize("method", ["lp", "packing"])
def test_votes_both_ways_are_paid_for_beside_the_triangles(method):
    """3 : 1 on each side of a triangle: an order breaks the single votes and one of the three edges of two."""
    wins = 2 * cyclic(3) + cyclic(3) + cyclic(3).T
    assert lower_bound(wins, method=method) == least_cost(wins) == 5.0
    assert lower_bound(wins[:2, :2], method=method) == least_cost(wins[:2, :2]) == 1.0


@pytest.mark.parametrize("seed", range(4))
def test_the_programme_is_what_all_its_inequalities_give_at_once(seed):
    """Of 7 items all 2·35 inequalities of triangles written out, without rounding to whole costs."""
    rng = np.random.default_rng(seed)
    wins = rng.random((7, 7)) + random_tournament(7, 0.5, rng)
    pairs = list(combinations(range(7), 2))
    column = {pair: k for k, pair in enumerate(pairs)}
    rows, limits = [], []
    for u, v, w in combinations(range(7), 3):
        row = np.zeros(len(pairs))
        row[[column[u, v], column[v, w], column[u, w]]] = 1.0, 1.0, -1.0
        rows += [row, -row]
        limits += [1.0, 0.0]
    cost = np.array([wins[v, u] - wins[u, v] for u, v in pairs])
    least = linprog(cost, A_ub=np.array(rows), b_ub=limits, bounds=(0, 1)).fun + sum(wins[u, v] for u, v in pairs)
    assert lower_bound(wins, method="lp") == pytest.approx(least, abs=1e-5)
    assert lower_bound(wins, method="lp") <= least


def test_a_bound_is_rounded_up_where_costs_are_whole_and_down_where_they_are_not():
    whole, parts = np.ones((2, 2)), np.full((2, 2), 0.5)
    for value, cost in ((2.0, 2.0), (2.0000005, 2.0), (1.9999, 2.0), (2.01, 3.0), (-0.2, 0.0)):
        assert _rounded_down(value, whole) == cost
    for value in (0.0, 0.7, 40.0):
        assert _rounded_down(value, parts) == pytest.approx(max(0.0, value - 1e-7 * (1 + value)), abs=1e-12)


def test_twenty_items_are_ordered_exactly_and_beyond_that_the_bound_may_prove_an_order():
    wins = random_tournament(20, 0.4, np.random.default_rng(0))
    found = kemeny(wins, restarts=0)
    assert found.exact
    assert found.cost == found.lower_bound == mfast_cost(wins, exact_order(wins))
    wins = random_tournament(22, 0.0, np.random.default_rng(0))
    found = kemeny(wins)
    assert (found.exact, found.cost, found.lower_bound, found.gap) == (True, 0.0, 0.0, 0.0)
    five = np.zeros((25, 25))  # a ring of five breaks one vote of three triangles that it does not have
    five[:5, :5] = cyclic(5)
    assert kemeny(five).cost == 1.0


def test_a_bound_below_the_cost_proves_nothing(monkeypatch):
    wins = random_tournament(22, 0.3, np.random.default_rng(1))
    cost = kemeny(wins).cost
    for bound, said, exact in ((cost - 1.0, cost - 1.0, False), (cost, cost, True), (cost + 1.0, cost, True)):
        monkeypatch.setattr(order_module, "lower_bound", lambda wins, order, bound=bound: bound)
        found = kemeny(wins)
        assert (found.cost, found.lower_bound, found.exact) == (cost, said, exact)


def test_kemeny_hands_its_options_to_the_search():
    wins = random_tournament(24, 0.45, np.random.default_rng(2))
    for restarts, seed in ((0, 1), (3, 1), (3, 2)):
        expected = iterated_search(wins, restarts=restarts, rng=np.random.default_rng(seed))
        assert kemeny(wins, restarts=restarts, seed=seed).order == tuple(expected.tolist())


def test_a_search_begins_with_the_order_of_wins_less_losses():
    for seed in range(6):
        wins = random_tournament(25, 0.5, np.random.default_rng(seed))
        by_wins = sorted(range(25), key=lambda u, wins=wins: sum(wins[:, u]) - sum(wins[u]))
        assert iterated_search(wins, restarts=0).tolist() == iterated_search(wins, by_wins, restarts=0).tolist()
        packed = lower_bound(wins, method="packing")
        assert packed == lower_bound(wins, method="packing", order=insertion_search(wins, by_wins))


def test_restarts_lower_the_cost_and_never_raise_it():
    costs = []
    for seed in range(8):
        wins = random_tournament(24, 0.5, np.random.default_rng(seed))
        costs.append([mfast_cost(wins, iterated_search(wins, restarts=count)) for count in (0, 2, 12)])
    assert all(none >= few >= many for none, few, many in costs)
    assert np.mean(costs, axis=0)[2] < np.mean(costs, axis=0)[0]


def test_where_nothing_is_gained_the_order_stays():
    start = [3, 1, 4, 0, 5, 2]
    wins = np.zeros((6, 6))
    for search in (insertion_search, window_search, iterated_search):
        assert search(wins, start).tolist() == start
    tied = np.ones((6, 6)) - np.eye(6)
    for search in (insertion_search, window_search, iterated_search):
        assert search(tied, start).tolist() == start


@pytest.mark.parametrize("n", [1, 2, 3])
def test_the_fewest_items_are_searched_too(n):
    wins = np.tril(np.ones((n, n)), -1)
    best = list(range(n))[::-1]
    assert iterated_search(wins).tolist() == best
    assert exact_order(wins).tolist() == best
    assert window_search(wins, list(range(n))).tolist() == best


@pytest.mark.parametrize(("width", "after"), [
    (1, [3, 2, 1, 0]), (2, [0, 1, 2, 3]), (4, [0, 1, 2, 3]), (20, [0, 1, 2, 3]), (21, [0, 1, 2, 3]),
])  # fmt: skip
def test_windows_of_any_width_up_to_all_items(width, after):
    """Of two the neighbours are exchanged until none is the wrong way round; a window of one has nothing to order."""
    assert window_search(np.triu(np.ones((4, 4)), 1), [3, 2, 1, 0], width=width).tolist() == after


def test_a_window_holds_twenty_items_at_most():
    wins = np.triu(np.ones((30, 30)), 1)
    turned = list(range(30))[::-1]
    assert window_search(wins, turned, width=21).tolist() == turned
    assert window_search(wins, turned, width=20).tolist()[:20] != turned[:20]


@pytest.mark.parametrize(("passes", "least"), [(0, 0), (1, 1)])
def test_a_search_makes_as_many_passes_as_it_may(passes, least):
    rng = np.random.default_rng(5)
    wins, start = random_tournament(30, 0.3, rng), rng.permutation(30)
    left, right = np.triu_indices(30, 1)
    sparse = SparseWins(30, left, right, wins[left, right] - wins[right, left])
    for search in (lambda **more: insertion_search(wins, start, **more), lambda **more: sparse.insertion_search(start, **more)):  # fmt: skip  # noqa: E501
        some, all_of_them = mfast_cost(wins, search(max_passes=passes)), mfast_cost(wins, search())
        assert (some < mfast_cost(wins, start)) == bool(least)
        assert all_of_them < some


@pytest.mark.parametrize("seed", range(3))
def test_sparse_windows_are_those_of_the_square(seed):
    """Few of the pairs are known, either side first: one pass of windows is the same as with the table."""
    rng = np.random.default_rng(seed)
    n, width = 23, 6
    left, right = np.triu_indices(n, 1)
    some = rng.permutation(len(left))[:120]
    left, right, edge = left[some], right[some], rng.choice([-2.0, -1.0, 1.0], 120)
    swap = rng.random(120) < 0.5
    left, right, edge = np.where(swap, right, left), np.where(swap, left, right), np.where(swap, -edge, edge)
    wins = np.zeros((n, n))
    for u, v, by in zip(left, right, edge, strict=True):
        wins[(u, v) if by > 0 else (v, u)] += abs(by)
    sparse, start = SparseWins(n, left, right, edge), rng.permutation(n)
    assert sparse.cost(start) == cost_of(wins, start.tolist())
    rows = start[:18].reshape(3, width)
    assert_allclose(sparse._cut(rows), [wins[np.ix_(row, row)] for row in rows])
    items = start[:9]
    assert_allclose(sparse.square(items), wins[np.ix_(items, items)])
    once = sparse.window_search(start, width=width)
    expected = start.tolist()
    for offset in (0, width // 2):
        for first in range(offset, n - width + 1, width):
            part = np.array(expected[first : first + width])
            best = part[exact_order(wins[np.ix_(part, part)])].tolist()
            if cost_of(wins, best) < cost_of(wins, part.tolist()):
                expected[first : first + width] = best
    assert once.tolist() == expected
    twice = sparse.window_search(once, width=width)
    assert sparse.window_search(start, width=width, passes=2).tolist() == twice.tolist()
