"""Section 4: SVM1, SVM2 and SVM3 against listed pairs, outside solvers and the lemmas that carry them."""

from itertools import combinations, permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.optimize import linprog, minimize
from scipy.stats import kendalltau
from sklearn.svm import LinearSVC

from podium.active import PaperOptions, svm1, svm2, svm3
from podium.active.paper.erm import margin_sample
from podium.active.paper.learners import Scaling, _KernelMap, learn
from podium.active.paper.margin import BlockHinge
from podium.errors import ConvergenceWarning, InputError

from reference_active import cost_of, least_cost, random_tournament


def instance(n, d, flip, seed):
    """Features of length at most 1 and a noisy tournament that a linear score partly explains."""
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(n, d))
    features /= np.linalg.norm(features, axis=1).max()
    rank = np.argsort(np.argsort(-features @ rng.normal(size=d)))
    return features, random_tournament(n, flip, rng)[np.ix_(rank, rank)]


def f1(weights, features, wins):
    """The objective of SVM1 by its definition (4.1)."""
    scores = features @ weights
    n = len(scores)
    return sum(max(0.0, 1 - scores[u] + scores[v]) for u in range(n) for v in range(n) if u != v and wins[u, v] == 1)


def f2(weights, features, blocks, wins):
    """The objective of SVM2 by its definition (4.2)."""
    scores = features @ weights
    across = sum(max(0.0, 1 - scores[u] + scores[v]) for a, b in combinations(blocks, 2) for u in a for v in b)
    inside = [(u, v) for block in blocks for u in block for v in block if u != v and wins[u, v] == 1]
    return across + sum(max(0.0, 1 - scores[u] + scores[v]) for u, v in inside)


def differences(features, wins):
    winner, loser = np.nonzero(wins == 1)
    return features[winner] - features[loser]


def least_by_linear_programme(features, wins):
    """SVM1 without the ball: the least sum of slacks, and the weights."""
    rows = differences(features, wins)
    m, d = rows.shape
    found = linprog(
        np.r_[np.zeros(d), np.ones(m)],
        A_ub=np.hstack([-rows, -np.eye(m)]),
        b_ub=-np.ones(m),
        bounds=[(None, None)] * d + [(0, None)] * m,
    )
    return found.fun, found.x[:d]


@pytest.mark.parametrize(("n", "d", "seed"), [(40, 2, 0), (60, 2, 1), (30, 4, 2)])
def test_in_a_large_ball_the_loss_is_that_of_a_linear_programme(n, d, seed):
    features, wins = instance(n, d, 0.1, seed)
    least, weights = least_by_linear_programme(features, wins)
    assert np.linalg.norm(weights) < 100
    found = svm1(features, wins, radius=100.0, tolerance=1e-5)
    assert found.bound <= least * (1 + 1e-9)
    assert least * (1 - 1e-9) <= found.loss <= least * (1 + 1e-5)
    assert found.loss == pytest.approx(f1(found.weights, features, wins))


@pytest.mark.parametrize("C", [0.01, 0.1, 1.0])
def test_in_a_tight_ball_the_loss_is_that_of_scikit_learn(C):
    features, wins = instance(40, 3, 0.1, 3)
    rows = differences(features, wins)
    sign = np.where(np.arange(len(rows)) % 2, 1, -1)  # a classifier wants two classes: turn every other pair round
    machine = LinearSVC(loss="hinge", C=C, fit_intercept=False, tol=1e-8, max_iter=1_000_000)
    theirs = machine.fit(rows * sign[:, None], sign).coef_[0]
    radius = np.linalg.norm(theirs)  # at its optimum the penalty and this ball ask for the same weights
    found = svm1(features, wins, radius=radius, tolerance=1e-6)
    assert np.linalg.norm(found.weights) <= radius * (1 + 1e-9)
    assert found.loss == pytest.approx(f1(theirs, features, wins), rel=1e-4)
    assert found.bound <= f1(theirs, features, wins) * (1 + 1e-9)
    assert_allclose(found.weights, theirs, atol=0.02 * radius)


@pytest.mark.parametrize("radius", [0.5, 3.0, 100.0])
def test_svm2_is_the_optimum_of_a_general_solver(radius):
    features, wins = instance(9, 2, 0.2, 4)
    blocks = np.array_split(np.argsort(-wins.sum(axis=1), kind="stable"), 3)
    found = svm2(features, blocks, wins, radius=radius, tolerance=1e-6)
    assert found.loss == pytest.approx(f2(found.weights, features, blocks, wins))
    starts = [np.zeros(2), found.weights, *np.random.default_rng(0).normal(size=(3, 2))]
    ball = {"type": "ineq", "fun": lambda w: radius**2 - w @ w}
    theirs = min(
        minimize(
            f2, start, args=(features, blocks, wins), method="COBYLA", constraints=ball, options={"rhobeg": 0.3}
        ).fun
        for start in starts
    )
    assert found.bound <= theirs * (1 + 1e-6)
    assert found.loss <= theirs * (1 + 1e-5)


@settings(max_examples=25, deadline=None)
@given(st.integers(2, 12), st.integers(1, 4), st.floats(0, 0.5), st.floats(0.05, 200), st.integers(0, 10_000))
def test_the_gap_is_proved_and_small_and_the_weights_stay_in_the_ball(n, d, flip, radius, seed):
    features, wins = instance(n, d, flip, seed)
    found = svm1(features, wins, radius=radius)
    assert found.gap <= 1e-4
    assert np.linalg.norm(found.weights) <= radius * (1 + 1e-9)
    rng = np.random.default_rng(seed)
    for _ in range(20):  # nothing in the ball goes below the bound
        other = rng.normal(size=d)
        other *= radius * rng.random() / np.linalg.norm(other)
        assert f1(other, features, wins) >= found.bound * (1 - 1e-9)


def test_with_one_block_svm2_is_svm1_and_with_every_pair_listed_svm3_is_svm2():
    features, wins = instance(20, 3, 0.1, 5)
    one = svm1(features, wins)
    assert svm2(features, [np.arange(20)], wins).loss == one.loss
    blocks = np.array_split(np.random.default_rng(0).permutation(20), 4)
    rows = np.array([(u, v) for block in blocks for u in block for v in block if u != v and wins[u, v] == 1])
    two, three = svm2(features, blocks, wins), svm3(features, blocks, rows[:, 0], rows[:, 1])
    assert three.loss == pytest.approx(two.loss)


def test_the_rows_of_a_block_stand_for_its_pairs_and_small_blocks_count_once():
    # Blocks of 6, 4 and 2 items. The first two are sampled with 5 and 2 rows, the last is asked in full.
    features, wins = instance(12, 2, 0.0, 6)
    blocks = [np.arange(6), np.arange(6, 10), np.arange(10, 12)]
    rng = np.random.default_rng(0)
    rows = [
        tuple(rng.choice(block, 2, replace=False))
        for block, count in zip(blocks, (5, 2), strict=False)
        for _ in range(count)
    ]
    rows = np.array([(u, v) if wins[u, v] else (v, u) for u, v in [*rows, (10, 11)]])
    found = svm3(features, blocks, rows[:, 0], rows[:, 1])
    scores = features @ found.weights
    slack = np.maximum(0, 1 - scores[rows[:, 0]] + scores[rows[:, 1]])
    across = f2(found.weights, features, blocks, np.zeros((12, 12)))
    assert found.loss == pytest.approx(across + 15 / 5 * slack[:5].sum() + 6 / 2 * slack[5:7].sum() + slack[7])


def test_the_papers_one_weight_can_be_given_and_is_ours_where_shares_are_proportional():
    features, wins = instance(12, 2, 0.1, 7)
    blocks = [np.arange(6), np.arange(6, 12)]
    rng = np.random.default_rng(1)
    rows = [tuple(rng.choice(block, 2, replace=False)) for block in blocks for _ in range(5)]
    rows = np.array([(u, v) if wins[u, v] else (v, u) for u, v in rows])
    pooled = np.full(10, (15 + 15) / 10)  # Σ (nᵢ choose 2) / M
    assert svm3(features, blocks, *rows.T, weight=pooled).loss == svm3(features, blocks, *rows.T).loss
    assert svm3(features, blocks, *rows.T, weight=pooled / 2).loss < svm3(features, blocks, *rows.T).loss


def test_answers_that_can_all_be_met_leave_no_loss():
    features = np.linspace(1, 0, 6)[:, None]
    found = svm1(features, np.triu(np.ones((6, 6)), 1), radius=20.0)
    assert found.loss == pytest.approx(0, abs=1e-4)
    assert found.gap <= 1e-4
    assert found.order(features).tolist() == list(range(6))


def test_ties_count_half_either_way_and_unanswered_pairs_not_at_all():
    features = np.array([[0.5], [-0.5], [0.0]])
    wins = np.array([[0, 0.5, np.nan], [0.5, 0, np.nan], [np.nan, np.nan, 0]])
    assert svm1(features, wins, radius=1.0).loss == pytest.approx(1.0)  # half of 1 - s and half of 1 + s, at any s


@pytest.mark.parametrize("n", range(2, 7))
def test_kendalls_distance_the_footrule_and_twice_kendalls_are_in_this_order(n):
    # (2.4), with the second order of d_tau meant to be sigma; by symmetry one order may be 0 … n-1.
    for order in permutations(range(n)):
        tau = sum(order[a] > order[b] for a, b in combinations(range(n), 2))
        footrule = sum(abs(place - item) for place, item in enumerate(order))
        assert tau <= footrule <= 2 * tau


@settings(max_examples=60, deadline=None)
@given(st.integers(2, 6), st.floats(0, 0.5), st.floats(0, 3), st.integers(0, 10_000))
def test_no_scores_lose_less_by_the_hinge_than_the_best_order_by_counting(n, flip, size, seed):
    # Lemma 4.1. Any scores at all: features are the identity, which the lemma allows.
    rng = np.random.default_rng(seed)
    wins = random_tournament(n, flip, rng)
    scores = size * rng.normal(size=n)
    hinge = f1(scores, np.eye(n), wins)
    assert hinge >= least_cost(wins) - 1e-9
    assert (
        hinge >= cost_of(wins, np.argsort(-scores, kind="stable").tolist()) - 1e-9
    )  # so much is already clear of its order


def test_the_least_hinge_over_all_scores_is_still_no_less_than_the_best_order():
    rng = np.random.default_rng(0)
    for _ in range(10):
        wins = random_tournament(6, 0.5, rng)
        least, _ = least_by_linear_programme(np.eye(6), wins)
        found = svm1(np.eye(6), wins, radius=50.0)
        assert found.loss == pytest.approx(least, rel=1e-4, abs=1e-4)
        assert least >= least_cost(wins) - 1e-6


def test_triangles_packed_weigh_at_least_a_third_of_the_best_cost():
    # (4.4), which the paper takes from Ailon, Charikar and Newman, on every tournament drawn.
    rng = np.random.default_rng(1)
    for _ in range(10):
        wins = random_tournament(7, 0.5, rng)
        cyclic = [
            t for t in permutations(range(7), 3) if t[0] == min(t) and all(wins[t[k], t[(k + 1) % 3]] for k in range(3))
        ]
        pairs = list(combinations(range(7), 2))
        holds = np.array([[float(set(pair) <= set(t)) for t in cyclic] for pair in pairs])
        packed = -linprog(-np.ones(len(cyclic)), A_ub=holds, b_ub=np.ones(len(pairs))).fun if cyclic else 0.0
        assert packed >= least_cost(wins) / 3 - 1e-9


def test_the_sample_grows_as_theorem_4_2_says():
    options = PaperOptions(epsilon=0.5, radius=10.0)
    assert margin_sample(options, 1000, 4) == pytest.approx(64 * 21**2 * 4 * np.log(20))
    assert margin_sample(PaperOptions(learner="trees"), 1000, 4) == pytest.approx(64 * 1000 * np.log(1000))  # Lemma 2.6
    assert margin_sample(PaperOptions(margin_sample=0.5), 1000, 4) == margin_sample(options, 1000, 2)


def test_features_are_scaled_to_length_one_whatever_their_units():
    rng = np.random.default_rng(0)
    features = rng.normal(size=(30, 3)) * [1, 1000, 1e-6] + [5, -3, 1]
    features = np.column_stack([features, np.full(30, 7.0)])
    rows = Scaling.of(features).unit(features)
    assert np.linalg.norm(rows, axis=1).max() == pytest.approx(1)
    assert_allclose(rows[:, 3], 0)
    assert_allclose(rows, Scaling.of(60 * features).unit(60 * features), atol=1e-8)


def test_the_kernel_map_has_the_kernel_as_its_inner_product():
    rows = np.random.default_rng(0).normal(size=(40, 3))
    mapped = _KernelMap.of(rows)(rows)
    far = ((rows[:, None] - rows) ** 2).sum(axis=2)
    assert_allclose(mapped @ mapped.T, np.exp(-far / 3), atol=1e-6)
    assert np.linalg.norm(mapped, axis=1).max() <= 1 + 1e-9


def test_what_bends_is_learnt_by_kernel_and_trees_from_the_sample_that_misleads_the_line():
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, 120)
    order = np.argsort(np.abs(x))  # the best are in the middle
    blocks = np.array_split(order, 10)
    block = np.argsort(order) * 10 // 120
    rows = np.array(
        [
            (min(u, v, key=lambda k: abs(x[k])), max(u, v, key=lambda k: abs(x[k])))
            for b in blocks
            for u, v in combinations(b, 2)
        ]
    )
    loss = BlockHinge(block, rows[:, 0], rows[:, 1], np.ones(len(rows)))
    reached = {}
    for learner in ("linear", "kernel", "trees"):
        model = learn(x[:, None], loss, PaperOptions(learner=learner, radius=20.0), np.random.default_rng(1))
        assert model.loss == pytest.approx(loss.at(model.scores(x))[0])
        new = rng.uniform(-0.95, 0.95, 200)  # items it has never seen
        reached[learner] = kendalltau(-np.abs(new), model.scores(new)).statistic
    assert reached["linear"] < 0.3
    assert min(reached["kernel"], reached["trees"]) > 0.9


def test_trees_never_raise_the_loss_and_cannot_promise_a_gap():
    features, wins = instance(40, 3, 0.1, 8)
    winner, loser = np.nonzero(wins == 1)
    loss = BlockHinge(np.zeros(40, dtype=int), winner, loser, np.ones(len(winner)))
    model = learn(features, loss, PaperOptions(learner="trees"), np.random.default_rng(0))
    assert model.loss < model.flat
    assert model.gap is None
    assert "no bound is known" in str(model)


def test_too_few_steps_are_said():
    features, wins = instance(40, 3, 0.2, 9)
    with pytest.warns(ConvergenceWarning, match=r"may be .* % above the least after 3 steps; raise max_steps"):
        found = svm1(features, wins, max_steps=3)
    assert found.gap > 1e-4


X2, ANSWERS = np.array([[0.5], [0.0]]), np.array([[0, 1], [0, 0]])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: svm1([[3.0], [0.0]], ANSWERS), "row 1 has length 3, more than 1; divide all features by it"),
        (lambda: svm1([[np.nan], [0.0]], ANSWERS), "row 1, column 1 is nan; numbers are needed"),
        (lambda: svm1(X2, np.zeros((3, 3))), r"numbers are 0 to 1|wins have shape \(3, 3\)"),
        (lambda: svm1(X2, [[0, 7], [0, 0]]), "row 1, column 2 is 7; it is between 0 and 1, or nan"),
        (lambda: svm1(X2, ANSWERS, radius=0), "radius=0: it must be"),
        (lambda: svm1(X2, ANSWERS, tolerance=-1), "tolerance=-1: it must be"),
        (lambda: svm2(X2, [[0, 1], [1]], ANSWERS), "block 2: item 1 is there twice"),
        (lambda: svm2(X2, [[0, 0], [1]], ANSWERS), "block 1: item 0 is there twice"),
        (lambda: svm2(X2, [[0]], ANSWERS), "item 1 is in no block"),
        (lambda: svm3(X2, [[0], [1]], [0], [1]), "row 1 of the sample has items 0 and 1, of different blocks"),
        (lambda: svm3(X2, [[0, 1]], [0], [0]), "row 1 of the sample has the same item twice"),
        (lambda: svm3(X2, [[0, 1]], [0, 0], [1]), "2 winners and 1 loser"),
        (lambda: svm3(X2, [[0, 1]], [0], [1], weight=[-1.0]), "one finite number, 0 or more, for each row"),
        (lambda: svm1(X2, ANSWERS).scores([[1.0, 2.0]]), "rows of 1 number are needed"),
    ],
)
def test_what_is_wrong_is_said_in_a_sentence(call, message):
    with pytest.raises(InputError, match=message):
        call()


def test_the_printed_tail_bound_fails_for_a_single_draw_and_hoeffdings_does_not():
    # (4.6) with M = 1, c = 1 and two blocks of one pair each, whose slacks are 0 and 3: |F3 - F2| is 3 for sure.
    features, weights = np.array([[1.0], [-1.0], [1.0], [-1.0]]), np.array([1.0])
    answers = [(0, 1), (3, 2)]  # the first as the score says, the second against it
    slack = [max(0.0, 1 - float((features[u] - features[v]) @ weights)) for u, v in answers]
    assert slack == [0.0, 3.0]
    sampled = [2 / 1 * each for each in slack]  # Σ (nᵢ choose 2) / M times the one that is drawn
    off = [abs(each - sum(slack)) for each in sampled]
    assert off == [3.0, 3.0]
    exponent = 3.0**2 * 1 / (2 * (1 + 2 * 1)) ** 2
    assert np.exp(-exponent) < 1.0 <= 2 * np.exp(-2 * exponent)


def test_a_pair_of_opposite_items_moves_twice_as_far_as_printed():
    # (4.7): two items in one block, weights η apart; the bound printed is η times one pair.
    features, wins, eta = np.array([[1.0], [-1.0]]), np.array([[0, 1], [0, 0]]), 0.01
    moved = abs(f1(np.array([0.0]), features, wins) - f1(np.array([eta]), features, wins))
    assert moved == pytest.approx(2 * eta)
