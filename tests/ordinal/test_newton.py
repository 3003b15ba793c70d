"""The cumulative logit piece by piece: derivatives by differences, start values, steps, joined thresholds, shares."""

import math
import types
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from scipy.special import expit, logit

from podium.errors import ConvergenceWarning, DataWarning, InputError, PodiumWarning, SeparationWarning
from podium.ordinal import CumulativeLogit, MarginOrdinal, cumulative, margin
from podium.ordinal.cumulative import _groups, _newton, _parting, _Problem, _whole

ENDS = np.array([(0, 0), (0, 1), (1, 1), (1, 3), (2, 2), (2, 3), (3, 3), (4, 4), (3, 4), (0, 4), (1, 2), (2, 4)])


def rows_of(n, d=3, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


def problem(ends=ENDS, K=5, weight=None, l2=0.7, sparse=False, d=3):
    X = rows_of(len(ends), d)
    low, high = np.array(ends).T
    weight = np.ones(1) if weight is None else np.array(weight, dtype=float)
    return _Problem(csr_array(X) if sparse else X, low, high, weight, K, l2), X


def by_definition(w, theta, X, low, high, weight, l2):
    ends = np.concatenate([[-np.inf], theta, [np.inf]])
    z = X @ w
    chance = expit(ends[high + 1] - z) - expit(ends[low] - z)
    return -(weight * np.log(chance)).sum() + l2 / 2 * w @ w


WEIGHTS = {"none": None, "one for all": [2.5], "each": np.linspace(0.5, 2.0, len(ENDS))}


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("weight", WEIGHTS.values(), ids=WEIGHTS)
def test_loss_and_derivatives_are_those_of_the_definition(sparse, weight):
    known, X = problem(weight=weight, sparse=sparse)
    low, high = ENDS.T
    w, theta = np.array([0.3, -0.5, 0.2]), np.array([-1.0, -0.2, 0.5, 1.4])
    heavy = np.broadcast_to(1.0 if weight is None else weight, len(ENDS))
    loss, g_w, g_theta, hessian = known.loss(w, theta)
    assert loss == pytest.approx(by_definition(w, theta, X, low, high, heavy, 0.7))
    v, d = np.concatenate([w, theta]), 3

    def gradient(v):
        _, one, other, _ = known.loss(v[:d], v[d:])
        return np.concatenate([one, other])

    def slope(function, h=1e-5):
        return np.array([(function(v + h * e) - function(v - h * e)) / (2 * h) for e in np.eye(len(v))])

    assert_allclose(
        np.concatenate([g_w, g_theta]),
        slope(lambda v: by_definition(v[:d], v[d:], X, low, high, heavy, 0.7)),
        atol=1e-7,
    )
    second = slope(gradient)
    known.loss(w, theta)  # it leaves behind what the others use
    assert_allclose(known.curvature(), second[:d, :d], atol=1e-7)
    assert_allclose(known.cross(4), second[d:, :d], atol=1e-7)
    assert_allclose(hessian, second[d:, d:], atol=1e-7)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("direct", [cumulative.DIRECT, 0])
def test_a_step_is_newton_s_also_where_thresholds_go_together(sparse, direct, monkeypatch):
    monkeypatch.setattr(cumulative, "DIRECT", direct)
    known, _ = problem(sparse=sparse)
    w, theta = np.array([0.3, -0.5, 0.2]), np.array([-1.0, -0.2, 0.5, 1.4])
    _, g_w, g_theta, hessian = known.loss(w, theta)
    for joined in (np.zeros(3, bool), np.array([False, True, False])):
        M = _groups(joined, 4)
        gradient = np.concatenate([g_w, M.T @ g_theta])
        H = np.block([[known.curvature(), known.cross(4).T @ M], [M.T @ known.cross(4), M.T @ hessian @ M]])
        exact = -np.linalg.solve(H, gradient)
        found = known.step(gradient, hessian, M)
        if direct:
            assert_allclose(found, exact, atol=1e-9)
        else:  # as far as asked: the residual is a small part of the gradient
            size = np.linalg.norm(gradient)
            asked = min(0.1, 0.1 * math.sqrt(size / (1 + size)))
            assert 0 < np.linalg.norm(H @ found + gradient) <= asked * size
            assert gradient @ found < 0


def test_a_column_twice_without_a_penalty_has_a_step_all_the_same():
    X = np.repeat(rows_of(40, 1), 2, axis=1)
    y = np.digitize(X[:, 0] + rows_of(40, 1, seed=1)[:, 0], [-0.5, 0.5])
    once = CumulativeLogit(l2=0.0).fit(X[:, :1], y)
    twice = CumulativeLogit(l2=0.0).fit(X, y)
    assert twice.coef_.sum() == pytest.approx(once.coef_[0], rel=1e-4)
    assert twice.loss_ == pytest.approx(once.loss_, rel=1e-8)
    assert_allclose(twice.thresholds_, once.thresholds_, rtol=1e-4)


def test_a_system_that_no_ridge_helps_is_refused(monkeypatch):
    known, _ = problem()
    known.loss(np.zeros(3), np.array([-1.0, -0.2, 0.5, 1.4]))
    monkeypatch.setattr(_Problem, "curvature", lambda self: np.full((3, 3), -1e30))
    with pytest.raises(InputError, match="too nearly collinear; set l2 > 0"):
        known.step(np.ones(7), np.eye(4), np.eye(4))


def test_learning_starts_from_the_shares_of_the_grades():
    """Each range spread over its grades, and next to nothing over all grades, so that each has some."""
    weight = np.linspace(1.0, 2.0, len(ENDS))
    known, _ = problem(weight=weight)
    mass = np.zeros(5)
    for (low, high), each in zip(ENDS, weight, strict=True):
        mass[low : high + 1] += each / (high - low + 1)
    w, theta = known.start()
    assert_array_equal(w, np.zeros(3))
    assert_allclose(theta, logit(np.cumsum(mass)[:-1] / mass.sum()), atol=0.01)
    some, _ = problem(ends=[(1, 1), (1, 2), (2, 2), (3, 3), (1, 1)], K=6)
    assert (some.first, some.last) == (1, 3)
    assert_allclose(some.start()[1], logit([2.5 / 5, 4 / 5]), atol=0.01)
    unseen, _ = problem(ends=[(0, 0), (2, 2)], K=3)
    first, second = unseen.start()[1]
    assert -0.02 < first < second < 0.02  # a grade that nobody has gets a little


def test_thresholds_that_meet_have_no_likelihood():
    known, _ = problem()
    for theta in ([-1.0, 0.0, 0.0, 1.0], [-1.0, 0.5, 0.0, 1.0]):
        assert known.loss(np.zeros(3), np.array(theta))[0] == np.inf


def test_which_thresholds_are_free_and_which_gaps_must_stay_open():
    known, _ = problem(ends=[(1, 1), (1, 3), (2, 3), (4, 4), (3, 3)], K=6)
    assert (known.first, known.last) == (1, 4)
    assert known.pinned.tolist() == [False, True, False, True, True, False]
    # Between the free thresholds 1 to 3, as pairs (under, over): of the ranges open at neither end, 2..3 and 3.
    pairs = sorted(zip(known.under.tolist(), known.over.tolist(), known.mass.tolist(), strict=True))
    assert pairs == [(0, 2, 1.0), (1, 2, 1.0)]
    assert known.low_code.tolist() == [0, 0, 1, 3, 2]
    assert known.high_code.tolist() == [0, 2, 2, 3, 2]
    shared, _ = problem(ends=[(0, 3), (1, 4), (1, 5)], K=6)  # all hold 1 to 3: the middle one explains every row
    assert (shared.first, shared.last) == (2, 2)
    w, theta, loss, steps = _newton(shared, 10, 1e-10)
    assert (w.tolist(), theta.tolist(), loss, steps) == ([0.0] * 3, [-np.inf] * 2 + [np.inf] * 3, 0.0, 0)


def test_pairs_of_thresholds_weigh_what_their_rows_weigh():
    ends = [(0, 0), (1, 1), (1, 1), (1, 2), (3, 3), (2, 3)]
    plain, _ = problem(ends, K=4)
    heavy, _ = problem(ends, K=4, weight=[1.0, 2.0, 3.0, 0.5, 1.0, 4.0])
    both, _ = problem(ends, K=4, weight=[3.0])
    for known, masses in ((plain, [2.0, 1.0]), (heavy, [5.0, 0.5]), (both, [6.0, 3.0])):
        assert known.under.tolist() == [0, 0]
        assert known.over.tolist() == [1, 2]
        assert known.mass.tolist() == masses


def test_groups_of_joined_thresholds():
    assert _groups(np.zeros(0, bool), 0).shape == (0, 0)
    assert _groups(np.zeros(0, bool), 1).tolist() == [[1.0]]
    assert _groups(np.array([True, False, True]), 4).tolist() == [[1, 0], [1, 0], [0, 1], [0, 1]]
    assert _groups(np.array([False, True, False]), 4).tolist() == [[1, 0, 0], [0, 1, 0], [0, 1, 0], [0, 0, 1]]


@pytest.mark.parametrize(
    ("gradient", "joined", "part"),
    [
        ([1.0, -1.0, 0.0], [True, False], 0),
        ([-1.0, 1.0, 0.0], [True, False], -1),
        ([1.0, -1.0, 0.0], [False, True], -1),  # of the first, which is alone, nothing is left over for the others
        ([0.5, 1.0, -1.5], [True, True], 1),
        ([1.5, -1.0, -0.5], [True, True], 0),
        ([0.1, -0.1, 0.0], [True, False], -1),  # no more than the least
        ([0.2, 0.0, -0.2], [True, True], 0),  # equal: the first
        ([9.0, 0.3, -0.3], [False, True], 1),
    ],
)
def test_a_group_parts_where_its_lower_part_wants_down_most(gradient, joined, part):
    assert _parting(np.array(gradient), np.array(joined), 0.1) == part


def test_thresholds_beyond_the_labels_are_infinite_and_rounding_keeps_the_order():
    known = types.SimpleNamespace(first=2, last=4, K=6)
    assert _whole(known, np.array([0.5, 0.25])).tolist() == [-np.inf, -np.inf, 0.5, 0.5, np.inf]


class Flat:
    """A loss that no step makes smaller, whose gradient promises `gain`."""

    def __init__(self, gain, base=0.0):
        self.gain, self.base, self.asked = gain, base, 0
        self.first, self.last, self.K, self.l2 = 0, 1, 2, 0.25
        self.pinned = np.ones(2, bool)

    def start(self):
        return np.zeros(1), np.zeros(1)

    def loss(self, w, theta):
        self.asked += 1
        return self.base + 1e-3 * (self.asked > 1), np.array([self.gain]), np.zeros(1), np.eye(1)

    def step(self, gradient, hessian, M):
        return np.array([-1.0, 0.0])


@pytest.mark.parametrize("base", [0.0, -3.0])
def test_where_no_step_gains_it_is_as_exact_as_it_can_be_or_there_is_no_optimum(base):
    size = 1 + abs(base)
    exact = Flat(0.9e-6 * size, base)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        w, theta, loss, steps = _newton(exact, 9, 1e-10)
    assert (w.tolist(), theta.tolist(), loss, steps) == ([0.0], [0.0], base, 1)
    assert exact.asked == 61  # the start, and sixty halves
    with pytest.warns(ConvergenceWarning, match=r"no optimum in 9 Newton steps; raise max_iter or l2 \(now 0.25\)"):
        w, _, loss, steps = _newton(Flat(1.1e-6 * size, base), 9, 1e-10)
    assert (w.tolist(), loss, steps) == ([0.0], base, 9)
    near = Flat(1.9e-10 * size, base)
    assert _newton(near, 9, 1e-10)[3] == 1
    assert near.asked == 1  # too little to gain: no step is tried
    far = Flat(2.1e-10 * size, base)
    _newton(far, 9, 1e-10)
    assert far.asked > 1


class Meeting:
    """Two thresholds whose gap closes in the first step; together they have nothing to gain, apart they want apart."""

    def __init__(self):
        self.first, self.last, self.K, self.l2 = 0, 2, 3, 1.0
        self.pinned = np.zeros(3, bool)
        self.asked, self.groups = [], []

    def start(self):
        return np.zeros(1), np.array([0.0, 1.0])

    def loss(self, w, theta):
        self.asked.append(theta.tolist())
        pull = np.array([-1.0, 1.0]) if len(self.asked) == 1 else np.array([1.0, -1.0])
        return 5.0 - len(self.asked), np.zeros(1), pull, np.eye(2)

    def step(self, gradient, hessian, M):
        self.groups.append(M.shape[1])
        return np.array([0.0, 2.0, -2.0]) if len(self.groups) == 1 else np.zeros(1 + M.shape[1])


def test_thresholds_that_meet_go_together_and_part_before_the_next_step():
    known = Meeting()
    w, theta, loss, steps = _newton(known, 9, 1e-10)
    assert known.asked == [[0.0, 1.0], [0.5, 0.5]]  # a quarter of the step closes the gap
    assert known.groups == [2, 1, 2]
    assert (w.tolist(), theta.tolist(), loss, steps) == ([0.0], [0.5, 0.5], 3.0, 3)


def assert_least(model, X, low, high, l2):
    """Convex: where no small move of w or of a run of thresholds that keeps the order gains, it is least."""
    here = by_definition(model.coef_, model.thresholds_, X, low, high, 1.0, l2)
    assert model.loss_ == pytest.approx(here)
    for step in (1e-4, -1e-4):
        for i in range(len(model.thresholds_)):
            for j in range(i + 1, len(model.thresholds_) + 1):
                moved = model.thresholds_.copy()
                moved[i:j] += step
                if (moved[1:] >= moved[:-1]).all():
                    assert by_definition(model.coef_, moved, X, low, high, 1.0, l2) >= here - 1e-8
        assert by_definition(model.coef_ + step, model.thresholds_, X, low, high, 1.0, l2) >= here - 1e-8


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.filterwarnings("ignore:the model predicts", "ignore:no label tells")
def test_with_free_gaps_no_move_gains(seed):
    """Ranges that no exact grade holds apart: thresholds meet, go together and part again."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(14, 1))
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    low = rng.integers(0, 5, 14)
    high = np.minimum(low + rng.integers(1, 3, 14), 5)
    low[:2], high[:2] = (0, 5), (0, 5)
    model = CumulativeLogit(l2=0.1, classes=range(6)).fit(X, y_lower=low, y_upper=high)
    assert_least(model, X, low, high, 0.1)


@pytest.mark.parametrize("seed", [44, 91])
@pytest.mark.filterwarnings("ignore:the model predicts", "ignore:no label tells")
def test_thresholds_that_were_joined_too_early_part_again(seed):
    rng = np.random.default_rng(seed)
    K, n = int(rng.integers(3, 8)), int(rng.integers(6, 30))
    X = rng.normal(size=(n, 1))
    X = (X - X.mean()) / X.std()
    low = rng.integers(0, K, n)
    high = np.minimum(low + rng.integers(0, 4, n), K - 1)
    model = CumulativeLogit(l2=0.001, classes=range(K)).fit(X, y_lower=low, y_upper=high)
    assert_least(model, X, low, high, 0.001)


@pytest.mark.parametrize("sparse", [False, True])
def test_weights_are_counts_and_rows_that_say_nothing_do_not_count(sparse):
    X = rows_of(30) + 5.0
    y = np.digitize(X[:, 0] + rows_of(30, 1, seed=1)[:, 0], [4.5, 5.5])
    times = np.random.default_rng(2).integers(0, 3, 30)
    times[:3] = 1
    form = csr_array if sparse else np.asarray
    weighted = CumulativeLogit(classes=[0, 1, 2]).fit(form(X), y, sample_weight=times)
    repeated = CumulativeLogit(classes=[0, 1, 2]).fit(form(np.repeat(X, times, axis=0)), np.repeat(y, times))
    assert_allclose(weighted.coef_, repeated.coef_, atol=1e-8)
    assert_allclose(weighted.thresholds_, repeated.thresholds_, atol=1e-7)
    assert weighted.loss_ == pytest.approx(repeated.loss_)
    more = np.vstack([X, 1e6 + X[:5]])
    ends = np.vstack([np.stack([y, y], axis=1), [[0, 2]] * 5])  # open at both ends, and far away
    for weight in (None, np.concatenate([times, np.full(5, 7)])):
        open_too = CumulativeLogit(classes=[0, 1, 2]).fit(form(more), ends, sample_weight=weight)
        known = weighted if weight is not None else CumulativeLogit(classes=[0, 1, 2]).fit(form(X), y)
        assert_allclose(open_too.coef_, known.coef_, atol=1e-8)
    with pytest.raises(ValueError, match=r"nothing to learn from|at least one non-zero"):
        CumulativeLogit().fit(form(X), y, sample_weight=np.zeros(30))
    small = CumulativeLogit(classes=[0, 1, 2]).fit(form(X), y, sample_weight=np.full(30, 0.5))
    half = CumulativeLogit(classes=[0, 1, 2], l2=2.0).fit(form(X), y)
    assert_allclose(small.coef_, half.coef_, atol=1e-7)


def test_grades_that_no_label_tells_apart_share_their_chance_where_the_middle_is():
    model = CumulativeLogit(classes=range(5))
    model.classes_ = np.arange(5)
    theta, centre = np.array([-1.0, 7.0, 9.0, 2.0]), 0.5
    low, high = np.array([0, 1, 4]), np.array([0, 3, 4])  # grades 1, 2 and 3 come together only
    with pytest.warns(DataWarning, match=r"^no label tells the grades \[1, 2, 3\] apart: they share their") as said:
        moved = model._shared_evenly(theta, low, high, centre)
    assert len(said) == 1
    below = expit(np.array([-1.0, 2.0]) - centre)
    even = below[0] + (below[1] - below[0]) * np.array([1, 2]) / 3
    assert_allclose(moved, [-1.0, *(centre + logit(even)), 2.0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert model._shared_evenly(theta, np.arange(5), np.arange(5), centre) is theta
        # Grades 3 and 4 have no chance at all: nothing is shared, and nothing said.
        apart = model._shared_evenly(
            np.array([-1.0, 0.0, np.inf, np.inf]), np.array([0, 1, 2]), np.array([0, 1, 2]), centre
        )
    assert apart.tolist() == [-1.0, 0.0, np.inf, np.inf]


def fitted(thresholds, coef=(1.0,)):
    model = CumulativeLogit()
    model.classes_ = np.array(list("abcdefgh")[: len(thresholds) + 1])
    model.coef_, model.thresholds_, model.n_features_in_ = np.array(coef), np.array(thresholds), len(coef)
    return model


def test_chances_are_differences_of_the_logistic_curve_with_all_their_digits():
    model = fitted([-1.0, 0.5, 2.0])
    z = np.array([[-40.0], [-1.0], [0.0], [0.5], [1.7], [40.0]])
    chances = model.predict_proba(z)
    below = expit(model.thresholds_ - z)
    assert_allclose(chances, np.diff(np.hstack([np.zeros((6, 1)), below, np.ones((6, 1))]), axis=1), atol=1e-15)
    # Far out: e^z (e^-0.5 - e^-2) at -40, and mirrored.
    assert chances[0, 2] == pytest.approx(math.exp(-40) * (math.exp(-0.5) - math.exp(-2)), rel=1e-12)
    assert chances[5, 1] == pytest.approx(math.exp(-40) * (math.exp(0.5) - math.exp(-1)), rel=1e-12)
    assert chances[5, 0] == pytest.approx(math.exp(-41), rel=1e-12)
    assert not np.signbit(fitted([-np.inf, -np.inf, 0.0]).predict_proba([[0.0]])).any()
    assert model.predict(z).tolist() == ["a", "a", "b", "b", "d", "d"]  # the likeliest
    assert model.predict_median(z).tolist() == ["a", "b", "b", "c", "c", "d"]


def test_decisions_are_log_odds_of_two_grades_and_logarithms_of_more():
    z = np.array([[-2.0], [0.25], [3.0]])
    assert_allclose(fitted([0.5]).decision_function(z), z[:, 0] - 0.5)
    more = fitted([-1.0, 0.5])
    assert_allclose(more.decision_function(z), np.log(more.predict_proba(z)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert fitted([-np.inf, 0.5]).decision_function(z)[:, 0].tolist() == [-np.inf] * 3


def test_only_without_a_penalty_and_far_apart_are_grades_separated():
    X = np.arange(8.0)[:, None]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        CumulativeLogit(l2=1e-4).fit(X, [1] * 4 + [2] * 4)
        steep = CumulativeLogit(l2=0).fit(X, [1, 1, 1, 2, 1, 2, 2, 2])
    assert np.ptp(X @ steep.coef_) < 30
    with pytest.warns(SeparationWarning, match="some direction of X separates grades perfectly"):
        CumulativeLogit(l2=0).fit(X, [1] * 4 + [2] * 4)


def test_steep_grades_that_overlap_are_not_separated():
    X = np.arange(212.0)[:, None]
    y = np.array([1] * 100 + [2, 1] * 6 + [2] * 100)
    three = np.array([1] * 100 + [2, 1] * 6 + [2] * 50 + [3] * 50)  # the other cut bounds the slope
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        steep = CumulativeLogit(l2=0).fit(X, y)
        twice = CumulativeLogit(l2=0).fit(np.hstack([X, 2 * X]), y)
        for table in (X, csr_array(X)):
            CumulativeLogit(l2=0).fit(table, three)
    z = X @ steep.coef_ - steep.thresholds_
    assert np.ptp(z) > 30
    assert_allclose([(expit(z) - (y == 2)).sum(), X[:, 0] @ (expit(z) - (y == 2))], 0, atol=1e-4)  # the optimum
    assert_allclose(np.hstack([X, 2 * X]) @ twice.coef_ - twice.thresholds_, z, atol=1e-4)


def test_grades_separated_along_one_column_alone_are_named_also_where_others_overlap():
    x = np.arange(8.0)
    y = np.array([1, 1, 1, 2, 1, 2, 2, 2])
    top = np.array([0.0, 0, 0, 0, 0, 0, 1, 1])  # marks rows of the higher grade only: its weight grows for ever
    for X in (np.stack([x % 4, top], axis=1), csr_array(np.stack([x % 4, top], axis=1))):
        with pytest.warns(SeparationWarning, match="some direction of X separates grades perfectly"):
            CumulativeLogit(l2=0, tol=1e-14).fit(X, y)
    ranges = [[1, 1], [1, 2], [2, 2], [2, 3], [3, 3], [3, 3]]
    with pytest.warns(SeparationWarning):
        CumulativeLogit(l2=0).fit(np.arange(6.0)[:, None], ranges)


def test_thresholds_that_run_far_apart_overflow_nothing():
    x = rows_of(2000, 1)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        model = CumulativeLogit(l2=0).fit(x, np.digitize(x[:, 0], [-1.0, 1.0]))
    assert np.diff(model.thresholds_) > 710  # exp(710) is beyond all numbers
    assert [each.category for each in told] == [SeparationWarning]


def test_a_tolerance_of_nothing_ends_where_the_loss_no_longer_falls():
    X = rows_of(60)
    y = np.digitize(X @ [2.0, 1.0, 0.0] + rows_of(60, 1, seed=1)[:, 0], [-1.0, 1.0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        small = CumulativeLogit(tol=0).fit([[0.0], [1.0], [0.5]], [1, 2, 2])
        exact = CumulativeLogit(tol=0).fit(X, y)
    assert max(small.n_iter_, exact.n_iter_) < 20
    usual = CumulativeLogit().fit(X, y)
    assert exact.loss_ <= usual.loss_ * (1 + 1e-15)
    assert_allclose(exact.coef_, usual.coef_, rtol=1e-4)


@pytest.mark.parametrize(("option", "value"), [("tol", -1e-3), ("max_iter", 0), ("l2", math.inf)])
def test_options_of_the_fit_are_checked(option, value):
    with pytest.raises(InputError, match=f"{option}="):
        CumulativeLogit(**{option: value}).fit([[0.0], [1.0]], [1, 2])
    least = {"tol": 0, "max_iter": 1, "l2": 0}[option]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PodiumWarning)
        CumulativeLogit(**{option: least}).fit([[0.0], [1.0], [0.5]], [1, 2, 2])


def test_steps_are_counted_and_more_of_them_come_nearer():
    X = rows_of(60)
    y = np.digitize(X @ [2.0, 1.0, 0.0] + rows_of(60, 1, seed=1)[:, 0], [-1.0, 1.0])
    whole = CumulativeLogit().fit(X, y)
    assert 2 <= whole.n_iter_ <= 15
    losses = []
    for steps in (1, 2, 3):
        with pytest.warns(ConvergenceWarning, match=f"in {steps} Newton steps"):
            part = CumulativeLogit(max_iter=steps).fit(X, y)
        assert part.n_iter_ == steps
        losses.append(part.loss_)
    assert losses[0] > losses[1] > losses[2] > whole.loss_
    rough = CumulativeLogit(tol=0.05).fit(X, y)
    assert rough.n_iter_ < whole.n_iter_
    assert whole.loss_ <= rough.loss_ <= whole.loss_ + 0.1 * (1 + whole.loss_)


@pytest.mark.parametrize(("make", "place"), [(CumulativeLogit, cumulative), (MarginOrdinal, margin)])
def test_where_scikit_learn_lets_weights_of_zero_through_they_are_refused_here(make, place, monkeypatch):
    monkeypatch.setattr(place, "weights_of", lambda sample_weight, X: np.zeros(len(X)))
    with pytest.raises(InputError, match="all sample weights are 0, so there is nothing to learn from"):
        make().fit([[0.0], [1.0]], [1, 2], sample_weight=[0, 0])
