"""Sorting in: the order of clean answers, the questions it takes, and what it leaves behind half-way."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from podium.active.insertion import bisect_gaps, sort_in
from podium.active.interview import Interview
from podium.active.oracles import Simulated
from podium.active.start import sorted_start
from podium.active.state import State


def sorted_by(n, oracle, growth=4, seed=0, budget=None):
    interview = Interview(n, lambda s: sort_in(s, s.rng.permutation(n), growth=growth), seed=seed, budget=budget)
    while not interview.done:
        pairs = interview.ask()
        interview.tell(pairs, oracle.answer(pairs))
    return interview


@settings(max_examples=30)
@given(st.integers(2, 70), st.sampled_from([2, 3, 4, 8]), st.integers(0, 1000))
def test_clean_answers_are_sorted_whatever_the_growth(n, growth, seed):
    judge = Simulated(n, "flips", 0.0, seed=seed)
    assert sorted_by(n, judge, growth, seed).order.tolist() == judge.order.tolist()


@pytest.mark.parametrize("n", [100, 400])
def test_questions_are_within_three_per_cent_of_the_information_there_is_to_gain(n):
    asked = [sorted_by(n, Simulated(n, "flips", 0.0, seed=k), 2, k).asked for k in range(5)]
    least = np.log2(np.arange(1, n + 1)).sum()  # log2 n!
    assert least <= np.mean(asked) <= 1.03 * least


def test_faster_growth_takes_fewer_rounds():
    judge = Simulated(300, "flips", 0.0, seed=0)
    rounds = [sorted_by(300, judge, growth).rounds for growth in (2, 4, 8)]
    assert rounds[0] > rounds[1] > rounds[2]


def test_half_way_every_item_stands_in_the_middle_of_the_gaps_left_to_it():
    state = State(8, np.random.default_rng(0))
    flow = bisect_gaps(state, np.array([3, 4]), np.array([0, 1, 2]), later=np.array([5, 6, 7]))
    assert next(flow).tolist() == [[3, 1], [4, 1]]
    flow.send(np.array([1.0, 0.0]))  # 3 goes before 1, 4 behind it
    assert state.order.tolist() == [0, 3, 1, 5, 6, 7, 2, 4] or state.order.tolist().index(3) < 2
    assert state.order.tolist().index(4) > state.order.tolist().index(1)
    with pytest.raises(StopIteration) as end:
        flow.send(np.array([0.0, np.nan]))
    low, high = end.value.value
    assert low.tolist() == high.tolist()
    assert low[0] == 1
    assert low[1] in (2, 3)


def test_the_start_sorts_clean_answers_and_leaves_noisy_ones_at_quarters():
    for level, finished in ((0.0, True), (0.4, False)):
        judge = Simulated(120, "flips", level, seed=3)
        interview = Interview(120, lambda s: _order_of(s), seed=1)
        while not interview.done:
            pairs = interview.ask()
            interview.tell(pairs, judge.answer(pairs))
        assert (interview.state.sorted is not None) == finished
        if finished:
            assert interview.order.tolist() == judge.order.tolist()
        else:
            assert interview.asked < 3.5 * 120
            assert sorted(np.concatenate(interview.state.blocks).tolist()) == list(range(120))


def _order_of(state):
    yield from sorted_start(state, np.inf)
    return state.order
