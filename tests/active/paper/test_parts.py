"""The published algorithm in its smallest parts: sizes of samples, thresholds, checks, learners, each by its formula."""  # noqa: E501

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

from podium.active.paper import decompose, improve, learners, margin
from podium.active.paper.decompose import Goodness, goodness, sample_and_decompose, small_size
from podium.active.paper.erm import _loss, order_blocks
from podium.active.paper.improve import approx_local_improve
from podium.active.paper.interview import Asked, CheckPairs, Interview, Told
from podium.active.paper.learners import PaperModel, Scaling, dimension_of, learn
from podium.active.paper.margin import BlockHinge, LargeMargin, block_weights, relative_gap, svm1, svm2, svm3
from podium.active.paper.options import PaperOptions, check_options
from podium.active.paper.quicksort import quicksort
from podium.active.paper.state import State
from podium.errors import InputError

from reference_active import moved, random_tournament


def ended(flow, answers=None):
    """What a flow returns when it is sent its last answers."""
    with pytest.raises(StopIteration) as end:
        next(flow) if answers is None else flow.send(answers)
    return end.value.value


# ---- the interview --------------------------------------------------------------------------------------------------


def test_check_pairs_go_with_the_questions_in_their_share_and_are_predicted():
    order = np.array([3, 1, 4, 0, 2, 5, 6, 7, 8, 9])
    state = State(10, np.random.default_rng(0), order=order)
    place = np.argsort(order)
    checks = CheckPairs(0.2, np.random.default_rng(1))
    counts = [len(checks.draw(1, state, np.zeros(0, dtype=np.int64))) for _ in range(8)]
    assert counts == [0, 0, 0, 1, 0, 0, 0, 1]  # a quarter of the others is a fifth of all
    some = CheckPairs(0.5, np.random.default_rng(2))
    state.votes.tell(np.array([[0, k] for k in range(1, 10)]), np.ones(9), np.zeros(9, dtype=np.int64))
    taken = np.array([1 * 10 + k for k in range(2, 10)])
    pairs = some.draw(12, state, taken)
    keys = [min(pair) * 10 + max(pair) for pair in pairs.tolist()]
    assert len(set(keys)) == len(keys) == 12
    assert keys == some.keys
    assert not set(keys) & {*taken.tolist(), *range(10)}
    assert some.predicted == [place[key % 10] - place[key // 10] for key in keys]


@pytest.mark.parametrize(("told", "taken", "most"), [(0, 0, 5), (2, 0, 4), (2, 3, 2), (5, 4, 0)])
def test_where_few_pairs_are_left_half_of_them_are_check_pairs_at_most(told, taken, most):
    """Of five items ten pairs."""
    state = State(5, np.random.default_rng(0))
    every = np.column_stack(np.triu_indices(5, 1))
    state.votes.tell(every[:told], np.ones(told), np.zeros(told, dtype=np.int64))
    checks = CheckPairs(0.5, np.random.default_rng(1))
    assert len(checks.draw(99, state, state.votes.keys(every[told : told + taken]))) == most


def test_an_algorithm_that_asks_only_for_what_was_skipped_is_ended():
    sent = []

    def flow(state):
        while True:
            sent.append((yield np.array([[0, 1]])))

    interview = Interview(3, flow, seed=0)
    pairs = interview.ask()
    interview.tell(pairs, [np.nan])
    assert (interview.done, interview.finished, interview.rounds) == (True, True, 1)
    assert len(sent) == 51  # once with a question, then fifty times with none
    assert sorted(interview.order.tolist()) == [0, 1, 2]
    assert interview.ask().shape == (0, 2)


def test_an_undo_leaves_the_other_answers_of_its_row_with_their_times():
    interview = Interview(5, quicksort, seed=1)
    pairs = interview.ask(3)
    interview.tell(pairs[:2], [1.0, 0.0], [4, 5], ("noon", "one"))
    interview.tell(pairs[2:], [1.0], [4], ("two",))
    assert interview.undo(5) == tuple(pairs[1].tolist())
    told = [event for event in interview.events if isinstance(event, Told)]
    assert [event.times for event in told] == [("noon",), ("two",)]
    assert [event.judges.tolist() for event in told] == [[4], [4]]
    assert told[0].pairs.tolist() == pairs[:1].tolist()
    assert interview.undo(4) == tuple(pairs[2].tolist())
    assert interview.undo() == tuple(pairs[0].tolist())
    assert interview.undo() is None
    assert [type(event) for event in interview.events] == [Asked]
    interview.tell(pairs[:1], [1.0])
    assert interview.events[-1].judges.tolist() == [0]
    assert interview.events[-1].times is None


def test_events_have_a_digest_of_what_was_handed_out_and_contradictions_are_counted():
    one, two, other = (Interview(8, quicksort, seed=seed) for seed in (1, 1, 2))
    for each in (one, two, other):
        each.ask()
    assert one.events[0].digest == two.events[0].digest != other.events[0].digest
    assert len(one.events[0].digest) == 8
    one.tell([(0, 1), (2, 3)], [1.0, 1.0])
    one.tell([(0, 1), (3, 2)], [0.0, 0.0])
    assert one.contradictions == 1
    one.replay(one.events)
    assert one.contradictions == 1


def test_the_budget_is_all_pairs_unless_told_and_what_is_open_keeps_it_from_the_end():
    assert Interview(6, quicksort, seed=0).budget == 15
    few = Interview(6, quicksort, seed=0, budget=2)
    pairs = few.ask()
    assert (len(pairs), few.done, few.finished) == (2, False, False)
    few.tell(pairs[:1], [1.0])
    assert not few.done
    assert few.ask().tolist() == pairs[1:].tolist()
    few.tell(pairs[1:], [1.0])
    assert (few.done, few.asked) == (True, 2)


def test_quicksort_leaves_items_where_they_were_if_nothing_is_said():
    state = State(6, np.random.default_rng(0), order=np.array([4, 2, 0, 5, 1, 3]))
    flow = quicksort(state)
    pairs, order = next(flow), None
    while order is None:
        try:
            pairs = flow.send(np.full(len(pairs), 0.5 if len(pairs) % 2 else np.nan))
        except StopIteration as end:
            order = end.value
    assert order.tolist() == [4, 2, 0, 5, 1, 3]
    assert [block.tolist() for block in state.blocks] == [[4], [2], [0], [5], [1], [3]]
    other = State(6, np.random.default_rng(0))
    before = other.order.copy()
    part = quicksort(other, np.array([5, 3]))
    ((left, right),) = next(part).tolist()
    assert ended(part, np.array([float(left < right)])).tolist() == [3, 5]
    assert other.order.tolist() == before.tolist()
    assert other.blocks is None


# ---- the decomposition ----------------------------------------------------------------------------------------------


def test_the_papers_size_of_a_small_block():
    assert [small_size(n, PaperOptions(small=None)) for n in (2, 15, 16, 10**6, 10**18)] == [2, 2, 2, 5, 11]
    assert small_size(3, PaperOptions(small=7)) == 7


def test_a_small_block_is_not_asked_about():
    state = State(50, np.random.default_rng(0))
    (only,) = ended(sample_and_decompose(state, np.arange(16), PaperOptions()))
    assert only.tolist() == list(range(16))
    assert next(sample_and_decompose(state, np.arange(17), PaperOptions())).shape[1] == 2


@pytest.mark.parametrize(("wrong", "whole"), [(14, False), (15, True)])
def test_a_block_that_contradicts_its_order_too_often_stays_whole(monkeypatch, wrong, whole):
    """ε⁻⁴ log n pairs, 60 of 40 items; a quarter of them is chaos times ε²."""
    given = []

    def improved(state, items, n, options, *, cost):
        given.append((items.tolist(), n, cost))
        return items[::-1]
        yield

    monkeypatch.setattr(decompose, "approx_local_improve", improved)
    state, items = State(40, np.random.default_rng(0)), np.arange(40)[::-1]
    flow = sample_and_decompose(state, items, PaperOptions(epsilon=0.5, chaos=1.0, small=20))
    pairs = next(flow)
    assert len(pairs) == math.ceil(16 * math.log(40)) == 60
    assert (pairs[:, 0] > pairs[:, 1]).all()  # the earlier of the order first
    answers = np.ones(len(pairs))
    answers[:wrong] = 0.0
    if whole:
        (only,) = ended(flow, answers)
        assert only.tolist() == items.tolist()
        return
    try:
        asked = flow.send(answers)
        while True:
            asked = flow.send(np.ones(len(asked)))
    except StopIteration as end:
        blocks = end.value
    first, n, cost = given[0]
    assert (first, n) == (items.tolist(), 40)
    most = wrong / 60 + math.sqrt(math.log(40) / 120)  # Hoeffding's bound
    assert cost == pytest.approx(most * 40 * 39 / 2)
    assert max(map(len, blocks)) <= 20
    whole_order = np.concatenate(blocks).tolist()
    assert sorted(whole_order) == list(range(40))
    cut = next(k for k in range(13, 28) if set(whole_order[:k]) == set(range(k)))  # of the improved order
    assert 13 <= cut <= 27


def test_skipped_pairs_say_nothing_of_a_block(monkeypatch):
    given = []

    def improved(state, items, n, options, *, cost):
        given.append(cost)
        return items
        yield

    monkeypatch.setattr(decompose, "approx_local_improve", improved)
    state = State(40, np.random.default_rng(0))
    flow = sample_and_decompose(state, np.arange(40), PaperOptions(small=30))
    pairs = next(flow)
    blocks = ended(flow, np.full(len(pairs), np.nan))
    assert len(blocks) == 2
    assert given == [40 * 39 / 2]  # nothing is known of the cost


def test_how_good_a_decomposition_is():
    wins = np.triu(np.ones((4, 4)), 1)
    wins[0, 2], wins[2, 0] = 0.0, 1.0  # 0, 1, 2 go round
    three, one = np.array([2, 0, 1]), np.array([3])
    found = goodness(wins, [three, one], small=2)
    assert (found.chaos, found.optimality) == (pytest.approx(1 / 3), 1.0)
    assert goodness(wins, [three, one], small=3).chaos == 1.0  # no block is big
    split = goodness(wins, [np.array([2]), np.array([3]), np.array([0, 1])], small=1)
    assert split.chaos == 0.0
    assert split.optimality == pytest.approx(3.0)  # 3 before 0 and 1, and 2 before 1, where one is the least
    clean = np.triu(np.ones((3, 3)), 1)
    assert goodness(clean, [np.array([0, 1, 2])]) == Goodness(1.0, 1.0)
    assert goodness(clean, [np.array([2]), np.array([0, 1])]).optimality == math.inf
    big = random_tournament(18, 0.5, np.random.default_rng(1))
    assert 0 < goodness(big, [np.arange(17), np.array([17])]).chaos < 0.5
    assert Goodness(0.25, 1.5).is_good(0.5)
    assert not Goodness(0.2499, 1.5).is_good(0.5)
    assert not Goodness(0.25, 1.5001).is_good(0.5)


@pytest.mark.parametrize(
    ("size", "n", "options"),
    [(40, 40, PaperOptions(epsilon=0.9, guard=0.0)), (300, 500, PaperOptions(epsilon=0.5, guard=0.01, ensemble=0.1, base=2.0)),  # noqa: E501
     (30, 1000, PaperOptions(epsilon=0.25, guard=0.0, ensemble=0.0, base=0.1))],
)  # fmt: skip
def test_samples_have_the_scales_and_sizes_of_algorithm_3(monkeypatch, size, n, options):
    given = []
    draw = improve.draw_ensemble
    monkeypatch.setattr(improve, "draw_ensemble", lambda *parts: given.append(parts) or draw(*parts))
    state = State(n, np.random.default_rng(0))
    next(approx_local_improve(state, np.arange(size), n, options))
    ((order, least, scales, draws, _),) = given
    eps, log = options.epsilon, math.log(n)
    assert order.tolist() == list(range(size))
    assert least == max(0, math.ceil(math.log2(max(1.0, options.base * eps * size / log))))
    assert scales == math.ceil(math.log2(size)) - least + 1
    assert draws == max(1, math.ceil(options.ensemble * eps**-2 * log**2))


@pytest.mark.parametrize(("guard", "asks"), [(0.2, True), (0.25, False)])
def test_blocks_up_to_the_guard_are_not_improved(guard, asks):
    """ε⁻³ log³ n is 401.6 for ε = ½ and n = 40."""
    assert 0.2 * 8 * math.log(40) ** 3 < 100 <= 0.25 * 8 * math.log(40) ** 3
    state = State(100, np.random.default_rng(0))
    flow = approx_local_improve(state, np.arange(100), 40, PaperOptions(epsilon=0.5, guard=guard, ensemble=0.1))
    if asks:
        assert len(next(flow))
    else:
        assert ended(flow).tolist() == list(range(100))


def test_blocks_are_asked_in_one_batch():
    state = State(60, np.random.default_rng(0))
    blocks = [np.arange(3), np.arange(3, 20), np.arange(20, 60)]
    sample = 64 * 1e-4 * 60 * math.log(60)
    pairs = next(order_blocks(state, blocks, PaperOptions(epsilon=0.5, erm_sample=1e-4)))
    big = [17 * 16 / 2, 40 * 39 / 2]
    shares = [math.ceil(sample * each / sum(big)) for each in big]
    assert [int(((pairs >= low) & (pairs < high)).all(axis=1).sum()) for low, high in ((0, 3), (3, 20), (20, 60))] == [3, *shares]  # fmt: skip  # noqa: E501
    assert len(pairs) == 3 + sum(shares)


def test_a_tie_is_half_an_answer_either_way_and_a_skip_none():
    blocks = [np.array([0, 1, 2]), np.array([3, 4])]
    pairs = np.array([[0, 1], [1, 2], [3, 4], [0, 2]])
    loss = _loss(5, blocks, pairs, np.array([1.0, 0.5, 0.0, np.nan]))
    rows = sorted(zip(loss.winner.tolist(), loss.loser.tolist(), loss.weight.tolist(), strict=True))
    assert rows == [(0, 1, 1.5), (1, 2, 0.75), (2, 1, 0.75), (4, 3, 1.0)]  # three pairs by two answers
    assert loss.block.tolist() == [0, 0, 0, 1, 1]


# ---- large margins --------------------------------------------------------------------------------------------------


def test_a_gap_is_a_share_of_the_loss_or_of_next_to_nothing():
    assert relative_gap(2.0, 1.5, 10.0) == 0.25
    assert relative_gap(1.5, 1.5, 10.0) == relative_gap(1.0, 1.5, 10.0) == 0.0
    assert relative_gap(1e-9, 0.0, 10.0) == pytest.approx(1e-4)
    assert LargeMargin(np.zeros(1), 2.0, 1.0, 10.0, 3).gap == 0.5


def test_rows_of_a_block_weigh_as_its_pairs_do():
    block = np.array([0, 0, 0, 0, 1, 1, 2])
    rows = np.array([0, 1, 3, 4])
    assert block_weights(block, rows).tolist() == [2.0, 2.0, 2.0, 1.0]  # six pairs by three rows, one by one
    assert block_weights(block, rows, np.array([1.0, 0.5, 0.5, 1.0])).tolist() == [3.0, 1.5, 1.5, 1.0]


def test_the_hinge_of_blocks_and_rows_is_a_sum_over_pairs():
    rng = np.random.default_rng(0)
    block = rng.integers(0, 3, 9)
    winner, loser, weight = rng.integers(0, 9, 12), rng.integers(0, 9, 12), rng.random(12)
    scores = rng.normal(size=9)
    value, slope = 0.0, np.zeros(9)
    rows = [(u, v, 1.0) for u in range(9) for v in range(9) if block[u] < block[v]]
    for u, v, each in [*rows, *zip(winner, loser, weight, strict=True)]:
        if 1 - scores[u] + scores[v] > 0:
            value += each * (1 - scores[u] + scores[v])
            slope[u] -= each
            slope[v] += each
    found = BlockHinge(block, winner, loser, weight).at(scores)
    assert found[0] == pytest.approx(value)
    assert_allclose(found[1], slope, atol=1e-9)


def test_the_shortest_point_below_a_level():
    cuts, heights = np.array([[3.0, 4.0]]), np.array([1.0])
    point, multipliers = margin._shortest(cuts, heights, 0.5)  # 3x + 4y + 1 = ½, straight towards 0
    assert_allclose(point, -0.5 * cuts[0] / 25)
    assert (multipliers > 0).all()
    inside, _ = margin._shortest(cuts, heights, 2.0)
    assert_allclose(inside, [0.0, 0.0], atol=1e-12)
    nowhere, _ = margin._shortest(np.zeros((1, 2)), heights, 0.5)
    assert nowhere is None


def test_where_turning_in_circles_ends_the_solver_goes_on(monkeypatch):
    def stuck(*parts, **more):
        raise RuntimeError("too many iterations")

    monkeypatch.setattr("scipy.optimize.nnls", stuck)
    point, multipliers = margin._shortest(np.ones((2, 3)), np.ones(2), 0.5)
    assert point is None
    assert multipliers.tolist() == [0.0, 0.0]


def test_without_a_row_nothing_is_lost():
    found = svm1([[1.0], [0.0]], np.full((2, 2), np.nan))
    assert (found.weights.tolist(), found.loss, found.bound, found.flat, found.steps, found.gap) == ([0.0], 0.0, 0.0, 0.0, 1, 0.0)  # fmt: skip  # noqa: E501
    assert found.order([[0.0], [0.0], [0.0]]).tolist() == [0, 1, 2]
    one = svm1([[1.0], [0.0]], [[7, 1], [0, 7]], radius=0.25)  # what stands on the diagonal is no answer
    assert (one.flat, one.loss) == (1.0, pytest.approx(0.75, rel=1e-3))
    assert_allclose(one.weights, [0.25], rtol=1e-3)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: svm1([0.5, 0.0], np.zeros((2, 2))), r"^features have shape \(2,\); one row of numbers for each item is needed$"),  # noqa: E501
        (lambda: svm1(np.zeros((0, 2)), np.zeros((0, 0))), r"^features have shape \(0, 2\); one row"),
        (lambda: svm2([[0.5, 0.0], [0.0, np.inf]], [[0, 1]], np.zeros((2, 2))), "^features: row 2, column 2 is inf; numbers are needed$"),  # noqa: E501
        (lambda: svm2([[0.0], [1.1]], [[0, 1]], np.zeros((2, 2))), "^features: row 2 has length 1.1, more than 1; divide all features by it$"),  # noqa: E501
        (lambda: svm2([[0.0], [1.0]], [[0, 1]], np.zeros((2, 3))), r"^wins have shape \(2, 3\); a row and a column an item, 2 each, is needed$"),  # noqa: E501
        (lambda: svm2([[0.0], [1.0]], [[0, 1]], [[0, 0], [-0.5, 0]]), "^wins: row 2, column 1 is -0.5; it is between 0 and 1, or nan$"),  # noqa: E501
        (lambda: svm2([[0.0], [1.0]], [[0, 2]], np.zeros((2, 2))), "^blocks, row 2: 2; numbers are 0 to 1$"),
        (lambda: svm3([[0.0], [1.0]], [[0, 1]], [0], [2]), "^loser, row 1: 2; numbers are 0 to 1$"),
        (lambda: svm3([[0.0], [1.0]], [[0, 1]], [0], [1], weight=[1.0, 1.0]), "^weight: give one finite number, 0 or more, for each row"),  # noqa: E501
        (lambda: svm3([[0.0], [1.0]], [[0, 1]], [0], [1], weight=[np.inf]), "^weight: give one finite number"),
        (lambda: svm1([[0.0], [1.0]], np.zeros((2, 2)), max_steps=0), "max_steps=0"),
        (lambda: LargeMargin(np.ones(2), 0, 0, 0, 1).scores([1.0, 2.0]), r"^features have shape \(2,\); rows of 2 numbers are needed$"),  # noqa: E501
        (lambda: LargeMargin(np.ones(2), 0, 0, 0, 1).scores([[1.0, 2.0], [np.nan, 1.0]]), "^features: row 2 has a number that is missing, infinite or too large to score$"),  # noqa: E501
        (lambda: LargeMargin(np.zeros(1), 0, 0, 0, 1).scores([[np.inf]]), "^features: row 1 has a number that is missing"),  # noqa: E501
        (lambda: LargeMargin(np.full(1, 1e300), 0, 0, 0, 1).scores([[1e300]]), "^features: row 1 has a number that is missing"),  # noqa: E501
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_margin_is_said(call, message):
    with pytest.raises(InputError, match=message):
        call()


def test_rows_as_long_as_rounding_allows_are_taken():
    assert svm1([[1.0 + 5e-10], [0.0]], [[0, 1], [0, 0]], radius=1.0).loss == pytest.approx(0.0, abs=1e-3)


# ---- learners -------------------------------------------------------------------------------------------------------


def test_features_are_laid_on_one_scale():
    table = np.array([[1.0, 5.0, 1e9], [3.0, 5.0, 1e9 + 1e-4], [5.0, 5.0, 1e9]])
    found = Scaling.of(table)
    deviation = math.sqrt(8 / 3)
    assert_allclose(found.mean[:2], [3.0, 5.0])
    assert found.deviation[0] == pytest.approx(deviation)
    assert np.isinf(found.deviation[1:]).all()  # constant, and constant but for rounding
    assert found.length == pytest.approx(2 / deviation)
    assert_allclose(found.standard(table)[:, 0], np.array([-2, 0, 2]) / deviation)
    assert_allclose(found.unit(table)[:, 0], [-1, 0, 1])
    assert Scaling.of(np.ones((3, 1))).length == 1e-300
    with pytest.raises(
        InputError, match=r"^features: the numbers of column 2 are too large to be scaled; divide them$"
    ):
        Scaling.of(np.array([[1.0, 1e300], [2.0, -1e300]]))


def made(learner="linear", **more):
    given = {"loss": 2.0, "bound": 1.5, "flat": 8.0, "columns": 2, "length": 3.0} | more
    return PaperModel(learner, *given.values(), lambda table: table @ np.array([1.0, -1.0])[: table.shape[1]])


def test_a_model_scores_rows_and_says_what_it_is():
    assert made().scores([[3.0, 1.0], [0.0, 2.0]]).tolist() == [2.0, -2.0]
    assert made().order([[0.0, 2.0], [3.0, 1.0], [0.0, 2.0]]).tolist() == [1, 0, 2]
    assert made(columns=1).scores([3.0, 4.0]).tolist() == [3.0, 4.0]
    for bad in ([3.0, 4.0], [[1.0]], [[[1.0, 2.0]]]):
        with pytest.raises(InputError, match=r"^features have shape .*; rows of 2 numbers are needed$"):
            made().scores(bad)
    assert (made().gap, made(bound=None).gap) == (0.25, None)
    assert str(made()) == (
        "ordered by a linear score of 2 features (columns standardised, rows divided by 3 so that none is longer than "
        "1); hinge loss 2, at most 25 % above the least"
    )
    assert str(made("kernel", columns=1)) == (
        "ordered by a kernel score of 1 feature (columns standardised); hinge loss 2, at most 25 % above the least"
    )
    assert (
        str(made("trees", bound=None)) == "ordered by a score by trees of 2 features; hinge loss 2, no bound is known"
    )


def test_the_dimension_of_a_class_of_scores():
    assert dimension_of("linear", 9, 4) == 4
    assert (dimension_of("kernel", 9, 4), dimension_of("kernel", 501, 4)) == (9, 500)
    assert dimension_of("trees", 9, 4) is None


def listed(n):
    """All pairs of n items in one block, the lower number first."""
    winner, loser = np.triu_indices(n, 1)
    return BlockHinge(np.zeros(n, dtype=np.int64), winner, loser, np.ones(len(winner)))


@pytest.mark.parametrize(("most", "kept"), [(30, 30), (29, 29), (10, 10)])
def test_a_kernel_map_is_made_of_so_many_landmarks(monkeypatch, most, kept):
    monkeypatch.setattr(learners, "LANDMARKS", most)
    table = np.random.default_rng(0).normal(size=(30, 2))
    model = learn(table, listed(30), PaperOptions(learner="kernel", radius=2.0), np.random.default_rng(1))
    mapping = model._scores.mapping
    standard = (table - table.mean(axis=0)) / table.std(axis=0)
    assert len(mapping.landmarks) == kept
    rows = {tuple(row) for row in standard.round(9).tolist()}
    assert {tuple(row) for row in mapping.landmarks.round(9).tolist()} <= rows
    assert model.loss == pytest.approx(listed(30).at(model.scores(table))[0])
    assert (model.learner, model.columns, model.flat) == ("kernel", 2, 435.0)
    assert model.bound <= model.loss


def test_trees_are_shallow_and_each_lowers_the_loss():
    rng = np.random.default_rng(0)
    table = np.arange(120.0)[:, None] + rng.normal(0, 20, (120, 1))
    model = learn(table, listed(120), PaperOptions(learner="trees"), rng)
    trees, steps = model._scores.trees, model._scores.steps
    assert 1 < len(trees) <= 60
    assert max(tree.get_depth() for tree in trees) == 3
    assert min(tree.tree_.n_node_samples[tree.tree_.children_left < 0].min() for tree in trees) >= 2  # a fiftieth
    assert min(steps) > 0
    scores, before = np.zeros(120), 120 * 119 / 2
    assert model.flat == before
    for tree, step in zip(trees, steps, strict=True):
        direction = tree.predict(table)
        best = learners._best_step(listed(120), scores, direction)
        assert step == pytest.approx(0.5 * best)
        scores += step * direction
        assert listed(120).at(scores)[0] < before
        before = listed(120).at(scores)[0]
    assert model.loss == pytest.approx(before)
    assert (model.bound, model.length) == (None, Scaling.of(table).length)


# ---- options --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["cost_sample", "chaos", "guard", "ensemble", "base", "threshold", "erm_sample", "margin_sample"])  # fmt: skip  # noqa: E501
def test_constants_are_numbers_from_0_on(name):
    for good in (0, 0.0, 3, np.float64(2.5), np.int64(1)):
        assert check_options(PaperOptions(**{name: good}), features=False) is None
    for bad in (-1, math.inf, math.nan, True, "1", None):
        with pytest.raises(InputError, match=f"^PaperOptions: {name} is .*; it is a number, 0 or more$"):
            check_options(PaperOptions(**{name: bad}), features=False)


@pytest.mark.parametrize(
    ("options", "message"),
    [({"radius": 0}, "^PaperOptions: radius is 0; it is a number above 0$"), ({"epsilon": 0}, "epsilon is 0; it is a number above 0$"),  # noqa: E501
     ({"epsilon": 1}, "^PaperOptions: epsilon is 1; it is below 1$"), ({"small": True}, "^PaperOptions: small is True; it is a whole"),  # noqa: E501
     ({"small": 0}, "small is 0; it is a whole number, at least 1, or None$"), ({"learner": 3}, "^PaperOptions: no learner 3; there are linear")],  # noqa: E501
)  # fmt: skip
def test_accuracy_and_sizes_out_of_range_are_named(options, message):
    with pytest.raises(InputError, match=message):
        check_options(PaperOptions(**options), features=True)


def test_options_that_may_be():
    for options in (
        PaperOptions(small=None),
        PaperOptions(small=1),
        PaperOptions(small=np.int64(4)),
        PaperOptions(epsilon=0.999),
    ):
        assert check_options(options, features=False) is None
    for learner in ("linear", "kernel", "trees"):
        assert check_options(PaperOptions(learner=learner), features=True) is None
    with pytest.raises(InputError, match=r"^learner 'kernel' learns from features; give some$"):
        check_options(PaperOptions(learner="kernel"), features=False)


# ---- samples that follow the order ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("item", "to"), [(0, 8), (8, 0), (2, 6), (6, 2), (3, 4), (4, 3), (5, 5)])
def test_after_a_move_every_sample_holds_the_items_within_reach_of_the_new_order(item, to):
    """All of them, about equally often, none twice as one that left: of reach two and four."""
    rng = np.random.default_rng(item)
    order = rng.permutation(9)
    item = int(order[item])
    ensemble = improve.draw_ensemble(order, 1, 2, 600, rng)
    after = improve.refresh(ensemble, order, item, to, rng)
    assert after.tolist() == moved(order.tolist(), item, to)
    assert ensemble.place[after].tolist() == list(range(9))
    for v in range(9):
        for s, reach in ((0, 2), (1, 4)):
            at = int(ensemble.place[v])
            expected = {int(after[p]) if 0 <= p < 9 else p for p in range(at - reach, at + reach + 1)}
            seen, counts = np.unique(ensemble.partner[v, s], return_counts=True)
            assert set(seen.tolist()) == expected
            assert counts.min() > 0.5 * 600 / (2 * reach + 1)


@pytest.mark.parametrize("seed", range(12))
def test_the_best_mean_gain_is_that_of_a_loop_over_moves(seed):
    rng = np.random.default_rng(seed)
    n = 14
    ensemble = improve.draw_ensemble(rng.permutation(n), 1, 3, 6, rng)
    item = int(rng.integers(n))
    at = int(ensemble.place[item])
    place = [[int(ensemble.place[x]) if 0 <= x < n else int(x) for x in row] for row in ensemble.partner[item]]
    votes = np.array([[0.0 if not 0 <= p < n or p == at else rng.choice([-1.0, 1.0]) for p in row] for row in place])
    best, where = 0.0, {at}
    for s, reach in enumerate((2, 4, 8)):
        for to in range(max(0, at - reach), min(n - 1, at + reach) + 1):
            sign = 1 if to > at else -1
            passed = [k for k, p in enumerate(place[s]) if 0 < sign * (p - at) <= sign * (to - at)]
            if abs(to - at) > reach / 2 and to in place[s]:  # a sample stands there, beyond the scale before
                gain = np.mean([sign * votes[s, k] for k in passed])
                if gain > best + 1e-12:
                    best, where = gain, {to}
                elif gain == pytest.approx(best):
                    where.add(to)
    found, to = improve.estimated_gains(ensemble, votes, item)
    assert found == pytest.approx(best)
    assert to in where


@pytest.mark.parametrize(("cost", "moves"), [(3.0, 6), (3.25, 7), (None, 56), (0.0, 0)])
def test_moves_end_when_their_claims_have_come_to_twice_the_cost(monkeypatch, cost, moves):
    """Each claims half a vote for each of two places, one in all; of eight items 28 pairs are the most."""
    seen = []

    def claimed(ensemble, votes, item):
        at = int(ensemble.place[item])
        return 0.5, at + 2 if at < 6 else at - 2

    keep = improve.refresh
    monkeypatch.setattr(improve, "estimated_gains", claimed)
    monkeypatch.setattr(improve, "refresh", lambda *parts: seen.append(parts[2:4]) or keep(*parts))
    options = PaperOptions(epsilon=0.9, guard=0.0, ensemble=0.1, threshold=1.0)
    state = State(8, np.random.default_rng(0))
    state.votes.tell(np.column_stack(np.triu_indices(8, 1)), np.ones(28), np.zeros(28, dtype=np.int64))
    flow = approx_local_improve(state, np.arange(8), 8, options, cost=cost)
    order = None
    pairs = next(flow)
    while order is None:
        try:
            pairs = flow.send(np.ones(len(pairs)))
        except StopIteration as end:
            order = end.value
    assert len(seen) == moves
    expected = list(range(8))
    for item, to in seen:
        expected = moved(expected, item, to)
    assert order.tolist() == expected


@pytest.mark.parametrize(("more", "moves"), [(0.0, False), (1e-9, True)])
def test_a_move_must_claim_more_than_the_threshold_for_each_place(monkeypatch, more, moves):
    """Twice ε over log n here."""
    bar = 2.0 * 0.9 / math.log(20)
    seen = []
    keep = improve.refresh
    monkeypatch.setattr(improve, "estimated_gains", lambda ensemble, votes, item: (bar + more, (int(ensemble.place[item]) + 3) % 8))  # fmt: skip  # noqa: E501
    monkeypatch.setattr(improve, "refresh", lambda *parts: seen.append(1) or keep(*parts))
    state = State(20, np.random.default_rng(0))
    flow = approx_local_improve(
        state, np.arange(8), 20, PaperOptions(epsilon=0.9, guard=0.0, ensemble=0.1, threshold=2.0), cost=1.0
    )
    pairs = next(flow)
    for _ in range(50):
        try:
            pairs = flow.send(np.ones(len(pairs)))
        except StopIteration:
            break
    assert bool(seen) == moves


@pytest.mark.parametrize("columns", [1, 2, 4])
def test_the_kernel_of_rows_falls_with_their_mean_squared_distance(columns):
    rng = np.random.default_rng(columns)
    rows, others = rng.normal(size=(6, columns)), rng.normal(size=(4, columns))
    expected = [[math.exp(-np.mean((row - other) ** 2)) for other in others] for row in rows]
    assert_allclose(learners._gaussian(rows, others), expected)
    assert_allclose(learners._gaussian(rows, rows).diagonal(), 1.0)


def test_a_block_is_cut_anywhere_in_its_middle_third(monkeypatch):
    def improved(state, items, n, options, *, cost):
        return items
        yield

    monkeypatch.setattr(decompose, "approx_local_improve", improved)
    cuts = []
    for seed in range(120):
        flow = sample_and_decompose(State(12, np.random.default_rng(seed)), np.arange(12), PaperOptions(small=11))
        first, second = ended(flow, np.ones(len(next(flow))))
        assert [*first.tolist(), *second.tolist()] == list(range(12))
        cuts.append(len(first))
    assert set(cuts) == {4, 5, 6, 7, 8}
    assert min(np.bincount(cuts)[4:]) > 10


def test_places_of_a_sample_are_drawn_evenly():
    """Of five places each ordered pair is as likely; half of them are turned."""
    rng = np.random.default_rng(0)
    drawn = np.concatenate([decompose._pairs_within(5, 9, rng) for _ in range(400)])
    counts = np.bincount(drawn[:, 0] * 5 + drawn[:, 1], minlength=25).reshape(5, 5)
    assert counts[np.tril_indices(5)].sum() == 0
    assert counts[np.triu_indices(5, 1)].min() > 280
    assert counts.max() < 440


def test_of_nothing_the_hinge_over_blocks_is_nothing():
    value, slope = margin.cross_block_hinge(np.zeros(0), np.zeros(0, dtype=np.int64))
    assert (value, slope.tolist()) == (0.0, [])
    value, slope = margin.cross_block_hinge(np.zeros(3), np.zeros(3, dtype=np.int64))  # one block: no pair is apart
    assert (value, slope.tolist()) == (0.0, [0.0, 0.0, 0.0])
