"""The cumulative logit against scikit-learn, a general optimiser and the likelihood's own laws."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from scipy.sparse import csr_array, random_array
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from podium.errors import ConvergenceWarning, DataWarning, InputError, SeparationWarning
from podium.ordinal import CumulativeLogit
from podium.ordinal.cumulative import _room

from suites.ordinal import DefaultsSuite, ThresholdSuite, graded


class TestCumulativeLogit(DefaultsSuite, ThresholdSuite):
    def make(self):
        return CumulativeLogit()


def negative_log_likelihood(w, theta, X, low, high, l2):
    """Written as it is defined, by differences of probabilities."""
    ends = np.concatenate([[-np.inf], theta, [np.inf]])
    z = X @ w
    chance = expit(ends[high + 1] - z) - expit(ends[low] - z)
    return -np.log(np.maximum(chance, 1e-300)).sum() + (l2 * w**2).sum() / 2


def per_deviation(l2, X, low, high, K):
    """The penalty of each coefficient: l2 times the variance of its column, over rows whose label says something."""
    tells = (low > 0) | (high < K - 1)
    return l2 * np.var(X[tells] if tells.any() else X, axis=0)


def general_optimum(X, low, high, K, l2):
    """BFGS over w, the first threshold and the logarithms of the gaps."""
    d = X.shape[1]

    def unpack(v):
        return v[:d], v[d] + np.concatenate([[0.0], np.cumsum(np.exp(v[d + 1 :]))])

    start = np.concatenate([np.zeros(d), [-1.0], np.zeros(K - 2)])
    found = minimize(lambda v: negative_log_likelihood(*unpack(v), X, low, high, l2), start, options={"gtol": 1e-6})
    return *unpack(found.x), found.fun


def test_two_grades_are_logistic_regression():
    X, y, _ = graded(n=200)
    X = (X - X.mean(axis=0)) / X.std(axis=0)  # their penalty depends on the units
    ours = CumulativeLogit(l2=0.5).fit(X, y > 2)
    theirs = LogisticRegression(C=2.0, tol=1e-10, max_iter=1000).fit(X, y > 2)
    assert_allclose(ours.coef_, theirs.coef_[0], atol=1e-5)
    assert_allclose(-ours.thresholds_, theirs.intercept_, atol=1e-5)
    assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-5)


@pytest.mark.parametrize("exact", [True, False])
def test_the_optimum_is_a_general_optimiser_s(exact):
    X, y, ranges = graded(n=150, d=3, K=4, noise=1.0)
    labels = np.stack([y, y], axis=1) if exact else ranges
    low, high = (labels - 1).T
    w, theta, loss = general_optimum(X, low, high, 4, per_deviation(0.3, X, low, high, 4))
    model = CumulativeLogit(l2=0.3, classes=[1, 2, 3, 4]).fit(X, labels)
    assert model.loss_ == pytest.approx(loss, abs=1e-6)
    assert_allclose(model.coef_, w, atol=1e-3)
    assert_allclose(model.thresholds_, theta, atol=1e-3)


@st.composite
def ranges_of_grades(draw):
    """Arbitrary rows and ranges: gaps, unused grades, ranges that share grades, one row."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, K, d = draw(st.integers(1, 12)), draw(st.integers(2, 6)), draw(st.integers(1, 3))
    ends = draw(st.lists(st.tuples(st.integers(0, K - 1), st.integers(0, K - 1)), min_size=n, max_size=n))
    low, high = np.sort(np.array(ends).reshape(-1, 2), axis=1).T
    return rng.normal(size=(n, d)), low, high, K


@pytest.mark.filterwarnings("ignore:the model predicts", "ignore:no label tells")
@settings(max_examples=120, deadline=None)
@given(case=ranges_of_grades(), l2=st.sampled_from([0.1, 1.0]), sparse=st.booleans())
def test_for_arbitrary_ranges_the_loss_is_the_definition_s_and_no_optimiser_finds_less(case, l2, sparse):
    X, low, high, K = case
    model = CumulativeLogit(l2=l2, classes=range(K)).fit(csr_array(X) if sparse else X, y_lower=low, y_upper=high)
    assert (np.diff(model.thresholds_[np.isfinite(model.thresholds_)]) >= 0).all()
    penalty = per_deviation(l2, X, low, high, K)
    here = negative_log_likelihood(model.coef_, model.thresholds_, X, low, high, penalty)
    assert model.loss_ == pytest.approx(here, abs=1e-8)
    assert model.loss_ <= general_optimum(X, low, high, K, penalty)[2] + 1e-6
    chances = model.predict_proba(X)
    assert np.isfinite(chances).all()
    assert_allclose(chances.sum(axis=1), 1)
    assert np.isin(model.predict(X), model.classes_).all()


@pytest.mark.parametrize("l2", [0.0, 1.0])
def test_where_all_ranges_share_grades_these_are_equally_likely(l2):
    with pytest.warns(DataWarning, match=r"no label tells the grades \[1, 2\] apart"):
        one = CumulativeLogit(l2=l2).fit([[1.0]], y_lower=[1], y_upper=[2])
    assert one.predict_proba([[7.0]]).tolist() == [[0.5, 0.5]]
    X = np.arange(40.0)[:, None]
    with pytest.warns(DataWarning, match=r"the grades \[2, 3\] apart"):
        many = CumulativeLogit(l2=l2, classes=[1, 2, 3, 4]).fit(X, y_lower=[1, 2] * 20, y_upper=[3, 4] * 20)
    assert_allclose(many.predict_proba(X), np.tile([0.0, 0.5, 0.5, 0.0], (40, 1)), atol=1e-12)
    assert many.coef_.tolist() == [0.0]
    assert (many.loss_, many.n_iter_) == (0, 0)
    with pytest.warns(DataWarning, match=r"\['a', 'b', 'c'\]"):
        nothing = CumulativeLogit(l2=l2, classes=list("abc")).fit(X, y_lower=["a"] * 40, y_upper=["c"] * 40)
    assert_allclose(nothing.predict_proba(X[:1]), [[1 / 3] * 3])


@pytest.mark.filterwarnings("ignore:the model predicts")
@settings(max_examples=60, deadline=None)
@given(case=ranges_of_grades(), sparse=st.booleans())
def test_grades_that_only_come_together_are_equally_likely_at_the_mean_of_x(case, sparse):
    X, low, high, K = case
    X = X - X.mean(axis=0)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        model = CumulativeLogit(classes=range(K)).fit(csr_array(X) if sparse else X, y_lower=low, y_upper=high)
    said = [str(each.message) for each in said if "tells" in str(each.message)]
    telling = (low > 0) | (high < K - 1)  # a range of everything says nothing, and is left out
    rows = np.flatnonzero(telling) if telling.any() else np.arange(len(low))
    held = (np.arange(K) >= low[rows, None]) & (np.arange(K) <= high[rows, None])
    if not telling.all() and telling.any():
        return  # then the mean of X is that of the other rows
    chances = model.predict_proba(np.zeros((1, X.shape[1])))[0]
    for k in range(K - 1):
        if (held[:, k] == held[:, k + 1]).all():
            assert chances[k] == pytest.approx(chances[k + 1], abs=1e-9)
            assert bool(said) or chances[k] == pytest.approx(0, abs=1e-12)


def test_probabilities_are_the_definition_even_far_out():
    X, y, _ = graded(n=200)
    model = CumulativeLogit().fit(X, y)
    z = np.array([-60.0, 0.0, 60.0])[:, None] * model.coef_ / (model.coef_ @ model.coef_)
    chances = model.predict_proba(z)
    assert_allclose(chances.sum(axis=1), 1)
    assert (chances > 0).all()  # where a difference of sigmoids would round to 0
    below = expit(model.thresholds_)
    assert_allclose(chances[1], np.diff([0, *below, 1]))


def test_the_median_is_where_half_of_the_probability_is_reached():
    X, y, _ = graded(n=200, noise=1.0)
    model = CumulativeLogit().fit(X, y)
    assert_array_equal(model.predict_median(X), 1 + (model.predict_proba(X).cumsum(axis=1) < 0.5).sum(axis=1))


def test_no_grade_between_two_means_their_thresholds_meet():
    # Nobody was given a 2: the best model leaves no room for it, and is the model of the other two grades.
    X, y, _ = graded(n=200, K=2)
    gap = CumulativeLogit(classes=[1, 2, 3]).fit(X, np.where(y == 2, 3, 1))
    two = CumulativeLogit().fit(X, np.where(y == 2, 3, 1))
    assert gap.thresholds_[0] == gap.thresholds_[1]
    assert_allclose(gap.thresholds_[0], two.thresholds_[0], atol=1e-6)
    assert_allclose(gap.predict_proba(X)[:, [0, 2]], two.predict_proba(X), atol=1e-6)


def test_grades_beyond_all_labels_have_probability_zero():
    X, y, _ = graded(n=200, K=3)
    wide = CumulativeLogit(classes=[0, 1, 2, 3, 4]).fit(X, y)
    assert_allclose(wide.predict_proba(X)[:, [0, 4]], 0)
    assert_allclose(wide.predict_proba(X)[:, 1:4], CumulativeLogit().fit(X, y).predict_proba(X), atol=1e-7)


def test_a_fully_open_label_says_nothing():
    X, y, _ = graded(n=100)
    labels = np.stack([y, y], axis=1).astype(float)
    more = np.vstack([labels, np.full((30, 2), np.nan)])
    with_open = CumulativeLogit().fit(np.vstack([X, X[:30]]), more)
    assert_allclose(with_open.coef_, CumulativeLogit().fit(X, y).coef_, atol=1e-7)


def test_many_features_are_fitted_without_the_full_hessian():
    rng = np.random.default_rng(0)
    X = csr_array(random_array((300, 2000), density=0.01, rng=rng))
    y = 1 + np.searchsorted([-0.2, 0.2], X @ rng.normal(size=2000))
    model = CumulativeLogit(l2=0.1).fit(X, y)
    gradient = model.l2 * np.var(X.toarray(), axis=0) * model.coef_
    ends = np.concatenate([[-np.inf], model.thresholds_, [np.inf]])
    z = X @ model.coef_
    upper, lower = expit(ends[y] - z), expit(ends[y - 1] - z)
    slope = (upper * (1 - upper) - lower * (1 - lower)) / (upper - lower)
    assert_allclose(gradient + X.T @ slope, 0, atol=1e-3)


def test_separable_data_without_a_penalty_are_reported():
    with pytest.warns(SeparationWarning, match="set l2 > 0"):
        CumulativeLogit(l2=0).fit([[0.0], [1.0], [2.0], [3.0]], [1, 1, 2, 2])


def test_too_few_steps_are_reported():
    X, y, _ = graded(n=100)
    with pytest.warns(ConvergenceWarning, match="raise max_iter"):
        CumulativeLogit(max_iter=1).fit(X, y)


@pytest.mark.parametrize("l2", [-1, float("nan")])
def test_a_negative_penalty_is_refused(l2):
    with pytest.raises(InputError, match="l2="):
        CumulativeLogit(l2=l2).fit([[0.0], [1.0]], [1, 2])


def test_a_step_of_thresholds_ends_before_a_kept_gap_closes_and_where_a_free_one_does():
    theta = np.array([0.0, 1.0, 3.0])
    none = np.zeros(2, dtype=bool)
    assert _room(theta, np.array([0.0, 0.0, 1.0]), none, none) == (1.0, -1)
    length, meets = _room(theta, np.array([4.0, 0.0, 0.0]), none, none)  # the first gap closes after a quarter
    assert (length, meets) == (pytest.approx(0.9 / 4), -1)
    assert _room(theta, np.array([4.0, 0.0, 0.0]), none, np.array([True, False])) == (0.25, 0)
    assert _room(theta, np.array([0.0, 0.0, -4.0]), none, np.array([True, True])) == (0.5, 1)
    assert _room(theta, np.array([4.0, 0.0, 0.0]), np.array([True, False]), ~none) == (1.0, -1)  # joined already
    assert _room(theta, np.array([1.0, 0.0, 0.0]), none, ~none) == (1.0, -1)  # it closes at the end of the step
    assert _room(theta[:1], np.array([1.0]), none[:0], none[:0]) == (1.0, -1)
