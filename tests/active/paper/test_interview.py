"""The driver: distinct pairs, any order of answers, nothing blocks, undo and replay."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from podium.active.paper.interview import Asked, Interview
from podium.active.paper.quicksort import quicksort

from reference_active import cost_of, least_cost, random_tournament


def answer_all(interview, wins, size=None):
    while not interview.done:
        pairs = interview.ask(size)
        interview.tell(pairs, wins[pairs[:, 0], pairs[:, 1]])
    return interview


def test_quicksort_sorts_a_tournament_without_cycles():
    rng = np.random.default_rng(0)
    label = rng.permutation(200)
    wins = (label[:, None] < label[None, :]).astype(float)
    assert answer_all(Interview(200, quicksort, seed=1), wins).order.tolist() == np.argsort(label).tolist()


def test_quicksort_asks_two_n_log_n_questions_in_few_rounds():
    counts, n = [], 300
    wins = random_tournament(n, 0.0, np.random.default_rng(0))
    for seed in range(8):
        interview = answer_all(Interview(n, quicksort, seed=seed), wins)
        counts.append(interview.asked)
        assert interview.rounds < 6 * np.log2(n)
    harmonic = (1 / np.arange(1, n + 1)).sum()
    assert np.mean(counts) == pytest.approx(2 * (n + 1) * harmonic - 4 * n, rel=0.1)  # Knuth, exact expectation


def test_quicksort_costs_at_most_three_times_the_best_on_average():
    rng = np.random.default_rng(5)
    for _ in range(6):
        wins = random_tournament(7, 0.5, rng)
        orders = [answer_all(Interview(7, quicksort, seed=s), wins).order.tolist() for s in range(30)]
        assert np.mean([cost_of(wins, order) for order in orders]) <= 3 * least_cost(wins)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 9), st.floats(0, 0.4), st.floats(0, 0.3))
def test_answers_in_any_order_partial_and_skipped_never_block(seed, size, skip, share):
    rng = np.random.default_rng(seed)
    n = 12
    wins = random_tournament(n, 0.2, rng)
    interview = Interview(n, quicksort, seed=seed, random_share=share)
    asked = set()
    for _ in range(2000):
        if interview.done:
            break
        pairs = interview.ask(size)
        assert len(pairs) > 0
        for u, v in pairs:
            asked.add((min(u, v), max(u, v)))
        keep = rng.permutation(len(pairs))[: rng.integers(1, len(pairs) + 1)]
        values = wins[pairs[keep, 0], pairs[keep, 1]]
        values[rng.random(len(values)) < skip] = np.nan
        interview.tell(pairs[keep], values)
    assert interview.done
    assert interview.asked == len(asked)
    assert sorted(interview.order.tolist()) == list(range(n))


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 5))
def test_replaying_the_events_gives_the_same_state(seed, size):
    rng = np.random.default_rng(seed)
    wins = random_tournament(15, 0.2, rng)
    first = Interview(15, quicksort, seed=seed, random_share=0.2)
    for _ in range(int(rng.integers(3, 30))):
        pairs = first.ask(size)
        first.tell(pairs, wins[pairs[:, 0], pairs[:, 1]], rng.integers(0, 3, len(pairs)))
    second = Interview(15, quicksort, seed=seed, random_share=0.2)
    second.replay(first.events)
    assert second.order.tolist() == first.order.tolist()
    assert second.ask().tolist() == first.ask().tolist()
    assert second.checks.keys == first.checks.keys


def test_undo_is_as_if_the_answer_had_not_been_given():
    wins = random_tournament(12, 0.1, np.random.default_rng(0))
    interview = Interview(12, quicksort, seed=4)
    for _ in range(3):
        pairs = interview.ask(4)
        interview.tell(pairs, wins[pairs[:, 0], pairs[:, 1]], np.full(len(pairs), 0))
    before = interview.votes.rows()
    pair = interview.ask(1)
    interview.tell(pair, [1.0], [1])
    assert interview.undo(judge=1) == tuple(pair[0])
    after = interview.votes.rows()
    assert np.array_equal(before.left, after.left)
    assert np.array_equal(before.value, after.value)
    assert interview.undo(judge=1) is None
    assert interview.undo() is not None
    assert len(interview.votes.rows()) == len(before) - 1


def test_the_budget_bounds_distinct_questions_and_the_rest_is_the_order_so_far():
    wins = random_tournament(40, 0.0, np.random.default_rng(0))
    interview = answer_all(Interview(40, quicksort, seed=2, budget=60, random_share=0.1), wins, size=7)
    assert interview.asked == 60
    assert sorted(interview.order.tolist()) == list(range(40))


def test_a_pair_that_was_not_asked_is_evidence_and_is_not_asked_again():
    interview = Interview(5, quicksort, seed=0)
    waiting = {tuple(sorted(pair)) for pair in interview.ask().tolist()}
    extra = next((u, v) for u in range(5) for v in range(u + 1, 5) if (u, v) not in waiting)
    interview.tell([extra], [1.0])
    assert interview.unasked_answers == 1
    while not interview.done:
        pairs = interview.ask()
        assert extra not in {tuple(sorted(pair)) for pair in pairs.tolist()}
        interview.tell(pairs, (pairs[:, 0] < pairs[:, 1]).astype(float))


def test_a_judge_who_changes_her_mind_is_reported_and_her_last_word_counts():
    interview = Interview(3, quicksort, seed=0)
    assert interview.tell([(0, 1)], [1.0], [7]) == []
    assert interview.tell([(1, 0)], [0.0], [7]) == []  # the same answer seen from the other side
    assert interview.tell([(0, 1), (0, 2)], [0.0, 1.0], [7, 7]) == [0]
    assert interview.tell([(0, 1)], [1.0], [8]) == []  # another judge may differ
    assert interview.votes.answers(np.array([[0, 1], [2, 0], [1, 2]])).tolist()[:2] == [0.5, 0.0]


def test_check_pairs_are_the_share_asked_for_and_uniform():
    wins = random_tournament(60, 0.0, np.random.default_rng(0))
    interview = answer_all(Interview(60, quicksort, seed=2, random_share=0.25), wins)
    assert len(interview.checks.keys) / interview.asked == pytest.approx(0.25, abs=0.02)
    assert len(set(interview.checks.keys)) == len(interview.checks.keys)


def test_events_record_asks_as_well_as_answers():
    interview = Interview(4, quicksort, seed=0)
    interview.ask(1)
    assert interview.events == [Asked(1)]
