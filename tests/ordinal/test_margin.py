"""The batch model of the paper's loss against outside solvers: quadprog, and scikit-learn's support vector machine."""

from dataclasses import replace

import numpy as np
import pytest
import quadprog
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import check_estimator

from podium.errors import ConvergenceWarning, InputError
from podium.ordinal import MarginOrdinal, PassiveAggressiveOrdinal, mae
from podium.ordinal.losses import surrogate
from podium.ordinal.margin import _Programme

from suites.ordinal import DefaultsSuite, ThresholdSuite, graded


class TestMargin(DefaultsSuite, ThresholdSuite):
    def make(self):
        return MarginOrdinal(l2=1.0)


@pytest.mark.filterwarnings("ignore")
def test_scikit_learn_s_checks_pass():
    check_estimator(MarginOrdinal(), on_skip=None)


def objective(w, theta, X, low, high, weight, l2):
    """What is minimised, on standardised rows; thresholds that all labels lie on one side of cost nothing."""
    there = np.isfinite(theta)
    loss = sum(
        weight[k]
        * (
            sum(max(0.0, 1 - X[k] @ w + theta[i]) for i in range(low[k]) if there[i])
            + sum(max(0.0, 1 + X[k] @ w - theta[i]) for i in range(high[k], len(theta)) if there[i])
        )
        for k in range(len(X))
    )
    return l2 / 2 * w @ w + loss


def by_quadprog(X, low, high, weight, l2, K):
    """The least value, from the programme in (w, theta, xi) as it is written; a little ridge makes it definite."""
    n, d = X.shape
    rows, costs = [], []
    for k in range(n):
        for i in range(K - 1):
            side = 1 if i < low[k] else -1 if i >= high[k] else 0
            if side:
                rows.append(np.concatenate([side * X[k], -side * np.eye(K - 1)[i]]))
                costs.append(weight[k])
    G, m = np.array(rows), len(rows)
    ridge = 1e-7
    hessian = np.diag(np.concatenate([np.full(d, l2), np.full(K - 1 + m, ridge)]))
    linear = np.concatenate([np.zeros(d + K - 1), -np.array(costs)])
    above = np.hstack([G, np.eye(m)])
    positive = np.hstack([np.zeros((m, d + K - 1)), np.eye(m)])
    solution = quadprog.solve_qp(hessian, linear, np.vstack([above, positive]).T, np.r_[np.ones(m), np.zeros(m)])[0]
    return objective(solution[:d], solution[d : d + K - 1], X, low, high, weight, l2)


@pytest.mark.filterwarnings("ignore:the model predicts")
@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    K=st.integers(2, 5),
    l2=st.sampled_from([0.05, 1.0, 10.0]),
    weighted=st.booleans(),
)
def test_no_solver_finds_a_smaller_loss(seed, K, l2, weighted):
    rng = np.random.default_rng(seed)
    X = StandardScaler().fit_transform(rng.normal(size=(25, 3)))
    ends = np.sort(rng.integers(0, K, size=(25, 2)), axis=1)
    ends[:K] = np.arange(K)[:, None]  # every grade occurs exactly, so that no threshold is open
    weight = rng.choice([0.5, 1.0, 3.0], 25) if weighted else np.ones(25)
    if weighted:
        X -= np.average(X, axis=0, weights=weight)
        X /= np.sqrt(np.average(X**2, axis=0, weights=weight))
    model = MarginOrdinal(l2=l2, classes=list(range(K))).fit(X, ends, sample_weight=weight)
    least = by_quadprog(X, *ends.T, weight, l2, K)
    ours = objective(model.coef_, model.thresholds_, X, *ends.T, weight, l2)
    assert ours == pytest.approx(model.loss_, rel=1e-7)
    assert ours <= least * (1 + 1e-6) + 1e-8
    assert least >= (model.loss_ - model.gap_) * (1 - 1e-6)
    assert (np.diff(model.thresholds_) >= 0).all()


@pytest.mark.parametrize("l2", [0.1, 1.0, 20.0])
def test_two_grades_are_scikit_learn_s_linear_support_vector_machine(l2):
    X, y, _ = graded(n=120, K=2, noise=1.0)
    Z = StandardScaler().fit_transform(X)
    svm = SVC(kernel="linear", C=1 / l2, tol=1e-10).fit(Z, y)
    model = MarginOrdinal(l2=l2).fit(Z, y)
    assert_allclose(model.coef_, svm.coef_[0], atol=1e-4)
    assert_allclose(model.thresholds_, -svm.intercept_, atol=1e-3)


def test_the_loss_is_the_paper_s_and_weights_are_counts():
    X, _, ranges = graded(n=80, noise=1.0)
    times = np.random.default_rng(0).integers(0, 3, 80)
    weighted = MarginOrdinal().fit(X, ranges, sample_weight=times)
    repeated = MarginOrdinal(classes=[1, 2, 3, 4, 5]).fit(np.repeat(X, times, axis=0), np.repeat(ranges, times, axis=0))
    assert_allclose(weighted.coef_, repeated.coef_, atol=1e-5)
    rows, (low, high) = np.repeat(X, times, axis=0), (np.repeat(ranges, times, axis=0) - 1).T
    loss = surrogate(repeated.project(rows), repeated.thresholds_, low, high).sum()
    size = (repeated.coef_ * rows.std(axis=0)) @ (repeated.coef_ * rows.std(axis=0))
    assert repeated.loss_ == pytest.approx(loss + size / 2, rel=1e-7)


def test_a_grade_that_no_label_reaches_is_never_predicted():
    X, y, _ = graded(n=60, K=3)
    model = MarginOrdinal(classes=[0, 1, 2, 3, 4]).fit(X, y)
    assert model.thresholds_[0] == -np.inf
    assert model.thresholds_[-1] == np.inf
    assert set(model.predict(X)) <= {1, 2, 3}


def test_online_learning_comes_near_it():
    X, _, ranges = graded(n=1200, noise=0.8)
    batch = MarginOrdinal().fit(X[:800], ranges[:800])
    online = PassiveAggressiveOrdinal(random_state=0).fit(X[:800], ranges[:800])
    errors = [mae(ranges[800:], model.predict(X[800:]), classes=[1, 2, 3, 4, 5]) for model in (batch, online)]
    assert errors[1] < errors[0] + 0.05


def test_what_cannot_be_fitted_is_refused_and_what_was_not_reached_is_said():
    X, y, _ = graded(n=60)
    with pytest.raises(InputError, match="l2=0"):
        MarginOrdinal(l2=0).fit(X, y)
    with pytest.raises(InputError, match="3,001 features, MarginOrdinal takes 3,000 at most"):
        MarginOrdinal().fit(np.zeros((2, 3001)), [1, 2])
    with pytest.warns(ConvergenceWarning, match="after 2 steps"):
        MarginOrdinal(max_iter=2).fit(X, y)


@pytest.mark.parametrize("seed", range(3))
def test_whatever_the_steps_no_bound_lies_above_the_optimum(seed):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(40, 3)), np.minimum(rng.integers(0, 5, size=40), rng.integers(0, 5, size=40))  # lopsided
    model = MarginOrdinal(l2=0.5, tol=1e-12)
    model.classes_ = np.arange(5)
    weight = rng.integers(1, 4, size=40).astype(float)
    model._solve(X, y, y, weight)
    programme = _Programme.of(X, y, y, weight, np.arange(y.min(), y.max()), 0.5)
    point, gaps = programme.start(), []
    for _ in range(9):
        point = programme.step(point)
        loss, bound = programme.loss_and_bound(point)
        assert bound <= model.loss_ * (1 + 1e-9) <= loss * (1 + 2e-9)
        gaps.append(loss - bound)
    assert gaps[-1] < 1e-3 * gaps[0]
    for grades in (y, 4 - y):  # where features say next to nothing, all is in the thresholds
        model._solve(1e-3 * X, grades, grades, weight)
        inside = np.arange(grades.min(), grades.max())
        programme = _Programme.of(1e-3 * X, grades, grades, weight, inside, 0.5)
        for side in (1, -1):  # any forces up to the weights give a bound, however unequal on the two sides
            force = programme.weight * np.where(programme.side == side, 1.0, 0.05)
            assert programme.loss_and_bound(replace(point, force=force))[1] <= model.loss_
