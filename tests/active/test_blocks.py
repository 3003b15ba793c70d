"""Stretches that stand the wrong way round: found as by trying all, and mended where single moves are stuck."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from podium.active import blocks
from podium.active.blocks import _lengths, exchange_stretches, mend_stretches
from podium.active.oracles import Simulated
from podium.active.order import SparseWins, mfast_cost
from podium.active.planner import Planner


@settings(max_examples=40, deadline=None)
@given(n=st.integers(2, 9), seed=st.integers(0, 999))
def test_the_best_exchange_of_neighbouring_stretches_is_found(n, seed):
    rng = np.random.default_rng(seed)
    wins, order = rng.integers(0, 4, (n, n)).astype(float), rng.permutation(n)
    least = min(
        mfast_cost(wins, np.concatenate([order[:a], order[b:c], order[a:b], order[c:]]))
        for a, b, c in itertools.combinations(range(n + 1), 3)
    )
    once = mfast_cost(wins, exchange_stretches(wins, order, most=1))
    assert once == min(least, mfast_cost(wins, order))
    assert mfast_cost(wins, exchange_stretches(wins, order)) <= once


@given(n=st.integers(2, 12), votes=st.integers(1, 30), seed=st.integers(0, 999))
def test_a_square_of_some_items_holds_their_net_wins(n, votes, seed):
    rng = np.random.default_rng(seed)
    left = rng.integers(0, n, votes)
    right = (left + rng.integers(1, n, votes)) % n
    edge = rng.choice([-1.0, 0.5, 1.0], votes)
    items = rng.permutation(n)[: rng.integers(1, n + 1)]
    wins = np.zeros((n, n))
    for u, v, lead in zip(left, right, edge, strict=True):
        wins[(u, v) if lead > 0 else (v, u)] += abs(lead)
    assert np.allclose(SparseWins(n, left, right, edge).square(items), wins[np.ix_(items, items)])


@pytest.mark.parametrize("seed", range(4))
def test_two_stretches_of_thirty_are_put_right_where_single_moves_are_stuck(seed):
    n, rng = 600, np.random.default_rng(seed)
    truth = rng.permutation(n)
    wrong = truth.copy()
    wrong[300:360] = np.concatenate([truth[330:360], truth[300:330]])
    near = [(wrong[i], wrong[i + d]) for d in (1, 2, 3, 4) for i in range(n - d)]
    across = [(u, v) for u in truth[300:330] for v in truth[330:360] if rng.random() < 0.05]
    place = np.argsort(truth)
    left, right = np.array(near + across).T
    edge = np.where(place[left] < place[right], 1.0, -1.0) * np.where(rng.random(len(left)) < 0.005, -1.0, 1.0)
    table = SparseWins(n, left, right, edge)
    stuck = table.insertion_search(table.window_search(table.insertion_search(wrong)))
    assert table.cost(stuck) > 1.5 * table.cost(truth)
    assert table.cost(mend_stretches(table, wrong)) <= table.cost(truth)


def test_nearly_clean_answers_leave_no_stretch_the_wrong_way_round():
    for seed in range(3):
        judge = Simulated(450, "flips", 0.005, seed=seed)
        planner = Planner(450, seed=seed, repeats="never")
        while len(planner) < 16 * 450 and len(asked := planner.plan(planner.round_size)):
            planner.tell(asked.left, asked.right, judge.answer(asked.pairs), 0, asked.kind)
        assert np.abs(np.argsort(planner.order()) - judge.place).max() <= 10
        assert judge.cost(planner.order("answers")) <= 1.03 * judge.cost(judge.order)


@pytest.mark.parametrize(("n", "parts"), [(100, [100]), (256, [256]), (257, [256, 129]), (600, [256, 256, 256, 216])])
def test_stretches_are_sought_in_parts_that_overlap_by_half(monkeypatch, n, parts):
    seen = []

    def noted(wins, order):
        seen.append(len(order))
        return exchange_stretches(wins, order, most=0)

    monkeypatch.setattr(blocks, "exchange_stretches", noted)
    left = np.arange(n - 1)
    table = SparseWins(n, left, left + 1, np.ones(n - 1))
    assert mend_stretches(table, np.arange(n)).tolist() == list(range(n))
    assert seen == parts  # one round: the cost is not lowered


@pytest.mark.parametrize("n", [1, 2, 3, 9, 100])
def test_lengths_of_stretches_are_each_a_quarter_longer(n):
    sizes = _lengths(n).tolist()
    assert sizes[:4] == [size for size in (1, 2, 3, 4) if size < n or size == 1][: len(sizes)]
    assert all(after == max(size + 1, int(1.25 * size)) for size, after in itertools.pairwise(sizes))
    assert n < 2 or (sizes[-1] < n <= max(sizes[-1] + 1, int(1.25 * sizes[-1])))


@pytest.mark.parametrize(("start", "middle", "end"), [(0, 13, 40), (3, 20, 37), (7, 29, 40), (1, 39, 40), (0, 33, 39)])
def test_ends_of_stretches_are_found_to_the_place(start, middle, end):
    """Lengths are tried in steps; the ends of the best are then tried one by one."""
    truth = np.arange(40)
    wins = np.triu(np.ones((40, 40)), 1)
    order = np.concatenate([truth[:start], truth[middle:end], truth[start:middle], truth[end:]])
    assert exchange_stretches(wins, order, most=1).tolist() == truth.tolist()
    assert exchange_stretches(wins, order, most=0).tolist() == order.tolist()
    wrong = truth.copy()
    wrong[[0, 1, 38, 39]] = 1, 0, 39, 38
    assert exchange_stretches(wins, wrong, most=1).tolist() != truth.tolist()
    assert exchange_stretches(wins, wrong, most=2).tolist() == truth.tolist()
