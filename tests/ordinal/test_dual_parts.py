"""Examples kept for inner products, and the interior-point method, piece by piece."""

import math
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.metrics.pairwise import rbf_kernel

from podium.errors import ConvergenceWarning, InputError
from podium.ordinal import MarginOrdinal, dual, margin
from podium.ordinal.dual import JUDGED, LAG, NOW, SupportSet, kernel_of
from podium.ordinal.margin import _Point, _Programme

from suites.ordinal import graded

rng = np.random.default_rng(0)
A, B = rng.normal(size=(4, 3)), rng.normal(size=(5, 3))


def dot(one, two):
    return one @ two.T


# ---- kernels --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("gamma", [None, 0.2, 3])
def test_the_gaussian_kernel_is_scikit_learn_s(gamma):
    for one in (A, A[:1]):
        assert_allclose(kernel_of("rbf", gamma, 3)(one, B), rbf_kernel(one, B, gamma=gamma), rtol=1e-10)
    inner = kernel_of("rbf", gamma, 3)
    assert inner(A[:1], A)[0, 0] == 1.0
    assert (inner(1e8 + A, 1e8 + A) <= 1.0).all()  # rounding makes no distance negative
    assert kernel_of("rbf", None, 0)(np.zeros((1, 0)), np.zeros((2, 0))).tolist() == [[1.0, 1.0]]


def test_a_kernel_of_one_s_own_is_checked():
    inner = kernel_of(dot, None, 3)
    assert_allclose(inner(A, B), A @ B.T)
    assert kernel_of(lambda a, b: [[1, 2]], None, 3)(A[:1], B[:2]).dtype == np.float64
    for own, message in (
        (
            lambda a, b: dot(a, b).T,
            r"the kernel gives shape \(5, 4\) for tables of 4 and 5 rows; it must give one number",
        ),
        (lambda a, b: "text", r"the kernel does not take two tables of shapes \(4, 3\) and \(5, 3\)"),
        (lambda a: a, "the kernel does not take two tables"),
        (lambda a, b: dot(a, b) * math.inf, "the kernel gives NaN or infinity; scale the features, or take another"),
    ):
        with pytest.raises(InputError, match=message):
            kernel_of(own, None, 3)(A, B)
    with pytest.raises(InputError, match=r"shape \(2, 1\) for tables of 1 and 1 row; it must"):
        kernel_of(lambda a, b: np.zeros((2, 1)), None, 3)(A[:1], B[:1])


# ---- the examples kept ----------------------------------------------------------------------------------------------


def kept(rows, steps, *, candidates=2, seen=0, budget=math.inf, scaled=False, inner=dot):
    support = SupportSet.empty(rows.shape[1], candidates, scaled=scaled)
    for k, (x, step) in enumerate(zip(rows, steps, strict=True)):
        along, length = support.products(x[None], inner)
        raw = 10 * x + 1 if scaled else None
        support.add(x, raw, along, length, np.array(step), seen + k, budget, inner)
    return support


def test_a_new_set_is_empty_and_has_room():
    plain, scaled = (SupportSet.empty(3, 2, scaled=scaled) for scaled in (False, True))
    for support in (plain, scaled):
        assert (support.size, support.kept.shape) == (0, (0, 3))
        assert support.coef.shape == (3, 2, len(support.rows))
        assert support.lengths.shape == (len(support.rows),)
        assert len(support.rows) > 0
    assert (plain.raw.shape, scaled.raw.shape) == ((0, 3), scaled.rows.shape)
    assert plain.scores(np.ones(len(plain.rows)), A, dot).tolist() == [0.0] * 4
    along, length = plain.products(A[:1], dot)
    assert (len(along), length) == (0, pytest.approx(A[0] @ A[0]))


def test_examples_are_added_with_their_steps_and_lags_and_never_twice():
    support = kept(A[[0, 1, 0]], [[0.5, 1.0], [0.25, -1.0], [2.0, 3.0]], seen=4)
    assert support.size == 2
    assert_array_equal(support.kept, A[:2])
    assert support.coef[NOW, :, :2].tolist() == [[2.5, 0.25], [4.0, -1.0]]
    assert support.coef[LAG, :, :2].tolist() == [[4 * 0.5 + 6 * 2.0, 5 * 0.25], [4 * 1.0 + 6 * 3.0, 5 * -1.0]]
    assert_allclose(support.lengths[:2], (A[:2] ** 2).sum(axis=1))
    along, length = support.products(B[:1], dot)
    assert_allclose(along, A[:2] @ B[0])
    assert length == pytest.approx(B[0] @ B[0])
    with pytest.raises(
        InputError, match=r"the kernel gives k\(x, x\) = -\d.*; an inner product of x with itself is not"
    ):
        support.products(B[:1], lambda a, b: -dot(a, b))
    assert support.products(np.zeros((1, 3)), dot)[1] == 0.0


def test_scores_are_sums_over_the_examples_some_rows_at_a_time(monkeypatch):
    support = kept(A, [[1.0, 0.0], [2.0, 0.0], [-1.0, 0.0], [0.5, 0.0]])
    expected = B @ A.T @ [1.0, 2.0, -1.0, 0.5]
    asked = []

    def counted(one, two):
        asked.append(len(one))
        return dot(one, two)

    for most, parts in ((2048, [5]), (2, [2, 2, 1]), (5, [5])):
        monkeypatch.setattr(dual, "MAX_ROWS_AT_ONCE", most)
        assert_allclose(support.scores(support.coef[NOW, 0], B, counted), expected)
        assert asked == parts
        asked.clear()


def test_there_is_room_for_as_many_examples_as_come():
    rows = np.random.default_rng(1).normal(size=(200, 3))
    steps = np.random.default_rng(2).normal(size=(200, 2))
    support = kept(rows, steps, scaled=True)
    assert support.size == 200
    assert_array_equal(support.kept, rows)
    assert_allclose(support.raw[:200], 10 * rows + 1)
    assert_allclose(support.lengths[:200], (rows**2).sum(axis=1))
    assert_allclose(support.coef[NOW, :, :200], steps.T)
    assert_allclose(support.coef[LAG, :, :200], (np.arange(200)[:, None] * steps).T)
    assert len(support.rows) == len(support.raw) == len(support.lengths) == support.coef.shape[2]
    plain = kept(rows, steps)
    assert plain.raw.shape == (0, 3)


def test_beyond_the_budget_the_least_example_is_projected_onto_its_nearest():
    # Of coefficients 2, 0.5, 3 and lengths 1, 1, 4 the second counts least; along is largest with the first.
    rows = np.array([[1.0, 0.0], [0.8, 0.6], [0.0, 2.0], [3.0, 3.0]])
    support = kept(rows, [[2.0, 0.0], [0.5, 0.1], [3.0, 0.0], [1.0, -1.0]], budget=3)
    assert support.size == 3
    assert_array_equal(support.kept, rows[[0, 3, 2]])
    # share along²/length: first 0.64 / 1, third (1.2)² / 4 = 0.36: to the first goes 0.5 · 0.8.
    assert_allclose(support.coef[NOW, :, :3], [[2.4, 1.0, 3.0], [0.08, -1.0, 0.0]])
    assert_allclose(support.coef[LAG, :, :3], [[0.0 + 1 * 0.5 * 0.8, 3.0, 6.0], [1 * 0.1 * 0.8, -3.0, 0.0]])
    assert support.lengths[:3].tolist() == [1.0, 18.0, 4.0]
    single = kept(rows[:2], [[2.0, 1.0], [0.5, 0.25]], budget=1)
    assert single.size == 1
    assert_array_equal(single.kept, rows[1:2])
    assert single.coef[NOW, :, :1].tolist() == [[0.5], [0.25]]


def test_all_candidates_say_together_which_example_counts_least():
    rows = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    support = kept(rows, [[0.1, 5.0], [1.0, 1.0], [1.0, 1.0]], budget=2)
    assert_array_equal(support.kept, rows[[0, 2]])
    origin = kept(np.array([[0.0, 0.0], [0.0, 0.0 + 1e-9], [1.0, 0.0]]), [[9.0, 9.0], [1.0, 1.0], [1.0, 1.0]], budget=2)
    assert np.isfinite(origin.coef).all()  # an example of no length takes nothing on
    assert [row.tolist() for row in origin.kept] == [[1.0, 0.0], [0.0, 1e-9]]


def test_an_example_is_known_again_only_if_it_is_the_very_same():
    support = kept(A, np.ones((4, 2)))
    for k in range(4):
        along, length = support.products(A[k : k + 1], dot)
        assert support._same(A[k], along, length) == k
    near = A[2] + 1e-12
    along, length = support.products(near[None], dot)
    assert support._same(near, along, length) == -1
    assert SupportSet.empty(3, 1, scaled=False)._same(A[0], np.zeros(0), 1.0) == -1


def test_examples_follow_a_new_scale_take_in_features_and_are_judged_as_they_are_now():
    support = kept(A, [[1.0, 2.0]] * 4, scaled=True, seen=1)
    origin, factor = np.array([1.0, 2.0, 3.0]), np.array([0.5, 1.0, 2.0])
    support.rescale(origin, factor, dot)
    rows = (10 * A + 1 - origin) * factor
    assert_allclose(support.kept, rows)
    assert_allclose(support.lengths[:4], (rows**2).sum(axis=1))
    support.freeze(5, average=True)
    now, lag = support.coef[NOW].copy(), support.coef[LAG].copy()
    assert_allclose(support.coef[JUDGED], now - lag / 5)
    support.freeze(5, average=False)
    assert_allclose(support.coef[JUDGED], now)
    support.choose(1)
    assert support.coef.shape[:2] == (3, 1)
    assert_allclose(support.coef[NOW, 0], now[1])
    support.widen(2)
    assert support.rows.shape[1] == support.raw.shape[1] == 5
    assert_allclose(support.kept, np.hstack([rows, np.zeros((4, 2))]))
    assert_allclose(support.raw[:4, 3:], 0.0)


# ---- the interior-point method --------------------------------------------------------------------------------------

LOW, HIGH = np.array([0, 1, 2, 0, 1, 2, 3, 3]), np.array([0, 1, 2, 2, 3, 3, 3, 3])
X8 = np.random.default_rng(3).normal(size=(8, 2))
W8 = np.linspace(0.5, 2.0, 8)


def programme(l2=0.7):
    return _Programme.of(X8, LOW, HIGH, W8, np.arange(3), l2)


def test_sides_are_what_the_labels_ask_of_the_thresholds():
    found = programme()
    for k in range(8):
        expected = [1 if i < LOW[k] else -1 if i >= HIGH[k] else 0 for i in range(3)]
        assert found.side[k].tolist() == expected
        assert found.used[k].tolist() == [side != 0 for side in expected]
        assert found.weight[k].tolist() == [W8[k]] * 3
    some = _Programme.of(X8, LOW, HIGH, W8, np.array([1, 2]), 0.7)
    assert_array_equal(some.side, found.side[:, 1:])
    u = np.array([0.5, -1.0, -0.5, 0.0, 0.75])
    assert_allclose(found.margins(u), found.side * ((X8 @ u[:2])[:, None] - u[2:]))
    force = np.random.default_rng(4).random((8, 3))
    # The forces back along (w, theta) are the transpose of the margins.
    v = np.random.default_rng(5).normal(size=5)
    assert found.back(force) @ v == pytest.approx((force * found.margins(v)).sum())


def test_the_loss_of_a_point_is_the_definition_s_and_its_bound_lies_below():
    found = programme()
    u = np.array([0.5, -1.0, -0.5, 0.0, 0.75])
    force = np.random.default_rng(4).random((8, 3)) * found.weight
    value, bound = found.loss_and_bound(_Point(u, None, None, force, None))
    loss = sum(
        W8[k] * max(0.0, 1 - found.side[k, i] * (X8[k] @ u[:2] - u[2 + i]))
        for k in range(8)
        for i in range(3)
        if found.side[k, i]
    )
    assert value == pytest.approx(loss + 0.7 / 2 * (u[:2] @ u[:2]))
    # By hand: forces of the two sides of a threshold made equal by scaling the larger down.
    balanced = np.where(found.used, force, 0.0)
    for i in range(3):
        under, over = (balanced[found.side[:, i] == side, i].sum() for side in (1, -1))
        larger = 1 if under > over else -1
        balanced[found.side[:, i] == larger, i] *= min(under, over) / max(under, over)
    pull = X8.T @ (found.side * balanced).sum(axis=1)
    assert bound == pytest.approx(balanced.sum() - pull @ pull / (2 * 0.7))


def test_how_far_a_variable_can_go_until_it_is_zero():
    value, change = np.array([1.0, 2.0, 3.0]), np.array([-2.0, 1.0, -1.0])
    everything = np.ones(3, bool)
    assert margin._room(value, change, everything, 1.0) == 0.5
    assert margin._room(value, change, everything, 0.25) == 0.25
    assert margin._room(value, change, np.array([False, True, True]), math.inf) == 3.0
    assert margin._room(value, change, np.array([False, True, False]), 1.0) == 1.0
    assert margin._room(value, change, np.array([False, True, False]), math.inf) == 1e3
    assert margin._room(value, 0 * change, everything, math.inf) == 1e3


def test_a_step_solves_the_conditions_of_optimality_made_linear():
    """Moves that keep margins + loss − slack = 1 up to what is off now, and drive the forces along w to l2 w."""
    found = programme()
    point = found.start()
    for _ in range(2):
        point = found.step(point)
    one, two = (np.random.default_rng(k).normal(size=(8, 3)) for k in (6, 7))
    du, dl, ds, df = found._system(point, point.rest)(one, two)
    used = found.used
    off = found.margins(point.u) + point.loss - 1.0 - point.slack
    assert_allclose((found.margins(du) + dl - ds)[used], -off[used], atol=1e-8)
    assert_allclose((point.slack * df + point.force * ds)[used], one[used], atol=1e-8)
    assert_allclose((point.rest * dl - point.loss * df)[used], two[used], atol=1e-8)
    pull = np.concatenate([0.7 * point.u[:2], np.zeros(3)]) - found.back(np.where(used, point.force, 0.0))
    moved = np.concatenate([0.7 * du[:2], np.zeros(3)]) - found.back(np.where(used, df, 0.0))
    assert_allclose(moved, -pull, atol=1e-6)


def test_steps_stay_inside_their_bounds_and_close_the_gap():
    found = programme()
    point = found.start()
    assert_allclose(point.force + point.rest, found.weight)
    gaps = []
    for _ in range(12):
        point = found.step(point)
        for each in (point.loss, point.slack, point.force, point.rest):
            assert (each[found.used] > 0).all()
        assert_allclose((point.force + point.rest)[found.used], found.weight[found.used])
        value, bound = found.loss_and_bound(point)
        gaps.append(value - bound)
    assert gaps[-1] < 1e-8 * gaps[0]
    assert min(gaps) > -1e-9


@pytest.mark.parametrize("form", [np.asarray, csr_array])
def test_rows_without_weight_are_left_out_of_the_margins(form):
    X, y, _ = graded(n=40, d=2)
    far = np.vstack([X, 1e6 + X[:3]])
    weight = np.concatenate([np.linspace(0.5, 2, 40), np.zeros(3)])
    some = MarginOrdinal().fit(form(far), np.concatenate([y, [5, 1, 1]]), sample_weight=weight)
    less = MarginOrdinal().fit(form(X), y, sample_weight=weight[:40])
    assert_allclose(some.coef_, less.coef_, atol=1e-7)
    assert_allclose(some.thresholds_, less.thresholds_, atol=1e-6)
    with pytest.raises(ValueError, match=r"nothing to learn from|at least one non-zero"):
        MarginOrdinal().fit(form(X), y, sample_weight=np.zeros(40))


def test_features_of_any_units_and_origin_give_the_same_margins():
    X, y, _ = graded(n=40, d=2)
    model = MarginOrdinal().fit(X, y)
    other = MarginOrdinal().fit(X * [100.0, 0.01] + [5.0, -3.0], y)
    assert_allclose(other.coef_, model.coef_ / [100.0, 0.01], rtol=1e-5)
    assert_allclose(other.thresholds_, model.thresholds_ + other.coef_ @ [5.0, -3.0], rtol=1e-5, atol=1e-6)
    assert other.loss_ == pytest.approx(model.loss_)
    assert 0 <= model.gap_ <= 1e-9 * max(1.0, model.loss_) * 1e3
    assert 2 < model.n_iter_ < 40


def test_where_one_grade_suits_all_labels_nothing_is_learned():
    for low, high, thresholds in (
        ([1, 1], [2, 3], [-math.inf, 0.0, math.inf]),
        ([0, 1], [2, 3], [-math.inf, 0.0, math.inf]),
        ([2, 2], [2, 2], [-math.inf, -math.inf, math.inf]),
        ([0, 0], [3, 3], [0.0, 0.0, 0.0]),
    ):
        model = MarginOrdinal(classes=range(4)).fit([[0.0], [1.0]], y_lower=low, y_upper=high)
        assert model.coef_.tolist() == [0.0]
        assert (model.loss_, model.gap_, model.n_iter_) == (0.0, 0.0, 0)
        assert model.thresholds_.tolist() == thresholds
        assert all(a <= grade <= b for a, b, grade in zip(low, high, model.predict([[0.0], [1.0]]), strict=True))


def test_steps_of_the_margins_are_counted_and_said_where_they_do_not_suffice():
    X, y, _ = graded(n=40, d=2)
    whole = MarginOrdinal().fit(X, y)
    for steps in (1, 3):
        with pytest.warns(ConvergenceWarning, match=rf"above its minimum after {steps} steps; raise max_iter") as told:
            part = MarginOrdinal(max_iter=steps).fit(X, y)
        assert told[0].filename == __file__
        assert part.n_iter_ == steps
        assert part.loss_ >= whole.loss_ >= part.loss_ - part.gap_ - 1e-9
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rough = MarginOrdinal(tol=0.05).fit(X, y)
        exact = MarginOrdinal(max_iter=whole.n_iter_).fit(X, y)
    assert rough.n_iter_ < whole.n_iter_ == exact.n_iter_
    assert whole.loss_ <= rough.loss_ <= whole.loss_ * 1.06
    for option, value in (("tol", 0), ("max_iter", 0), ("l2", 0.0)):
        with pytest.raises(InputError, match=f"{option}="):
            MarginOrdinal(**{option: value}).fit(X, y)
    with pytest.raises(InputError, match="3,001 features, MarginOrdinal takes 3,000 at most; use PassiveAggressive"):
        MarginOrdinal().fit(np.zeros((2, 3001)), [1, 2])
