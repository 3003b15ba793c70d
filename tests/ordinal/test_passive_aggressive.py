"""The passive-aggressive family and its baselines as estimators."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.kernel_approximation import Nystroem
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

from podium.errors import DataWarning, InputError
from podium.ordinal import (
    CumulativeLogit,
    MedianBaseline,
    OrdinalPerceptron,
    PassiveAggressiveOrdinal,
    PRank,
    mistake_bound,
)
from podium.ordinal.losses import slacks
from podium.ordinal.scaling import FeatureScale

from reference_ordinal import online, passive_aggressive_step
from suites.ordinal import OnlineDefaultsSuite, OnlineSuite, OrdinalSuite, ThresholdSuite, graded

TWICE = "an online learner is not indifferent to whether a row comes twice or weighs double: the order matters"
NO_WEIGHTS = "plain PA fits each example whatever its weight, so weights are refused"
CANNOT = {
    "weights": {
        "check_sample_weight_equivalence_on_dense_data": TWICE,
        "check_sample_weight_equivalence_on_sparse_data": TWICE,
    },
    "pa": {
        "check_sample_weight_equivalence_on_dense_data": NO_WEIGHTS,
        "check_sample_weight_equivalence_on_sparse_data": NO_WEIGHTS,
        "check_sample_weights_pandas_series": NO_WEIGHTS,
        "check_sample_weights_not_an_array": NO_WEIGHTS,
        "check_sample_weights_list": NO_WEIGHTS,
        "check_sample_weights_shape": NO_WEIGHTS,
        "check_sample_weights_not_overwritten": NO_WEIGHTS,
        "check_classifiers_one_label_sample_weights": NO_WEIGHTS,
    },
}


class TestPassiveAggressive1(OnlineDefaultsSuite, ThresholdSuite):
    def make(self):
        return PassiveAggressiveOrdinal(random_state=0)


class TestPassiveAggressive(OnlineDefaultsSuite, ThresholdSuite):
    def make(self):
        return PassiveAggressiveOrdinal("pa", average=False, random_state=0)


class TestPassiveAggressive2(OnlineDefaultsSuite, ThresholdSuite):
    def make(self):
        return PassiveAggressiveOrdinal("pa2", random_state=0)


class TestFixedC(OnlineSuite, ThresholdSuite):
    def make(self):
        return PassiveAggressiveOrdinal(C=0.1, random_state=0)


class TestFixedCStandardized(OnlineDefaultsSuite, ThresholdSuite):
    def make(self):
        return PassiveAggressiveOrdinal("pa2", C=0.1, standardize=True, average=False, random_state=0)


class TestPRank(OnlineDefaultsSuite, ThresholdSuite):
    def make(self):
        return PRank(random_state=0)


class TestPerceptron(OnlineDefaultsSuite):
    def make(self):
        return OrdinalPerceptron(random_state=0)


class TestMedian(OrdinalSuite):
    def make(self):
        return MedianBaseline()


@pytest.mark.parametrize(
    ("estimator", "cannot"),
    [
        (PassiveAggressiveOrdinal(), CANNOT["weights"]),
        (PassiveAggressiveOrdinal("pa2", average=False), CANNOT["weights"]),
        (PassiveAggressiveOrdinal("pa"), CANNOT["pa"]),
        (PRank(), {}),
        (OrdinalPerceptron(average=True), CANNOT["weights"]),
        (MedianBaseline(), {}),
        (CumulativeLogit(), {}),
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_scikit_learn_s_checks_pass(estimator, cannot):
    check_estimator(estimator, expected_failed_checks=cannot, on_skip=None)


@pytest.mark.parametrize("variant", ["pa", "pa1", "pa2"])
def test_without_averaging_the_parameters_are_the_programmes_solutions(variant):
    X, _, ranges = graded(n=80)
    codes = ranges - 1

    def step(w, theta, x, low, high):
        return passive_aggressive_step(w, theta, x, low, high, variant, 0.05)

    w, theta, mean_w, mean_theta, *_ = online(step, X, codes[:, 0], codes[:, 1], 4)
    grades = [1, 2, 3, 4, 5]
    last = PassiveAggressiveOrdinal(variant, C=0.05, average=False).partial_fit(X, ranges, classes=grades)
    mean = PassiveAggressiveOrdinal(variant, C=0.05).partial_fit(X, ranges, classes=grades)
    assert_allclose(last.coef_, w, atol=1e-8)
    assert_allclose(last.thresholds_, theta, atol=1e-8)
    assert_allclose(mean.coef_, mean_w, atol=1e-8)
    assert_allclose(mean.thresholds_, mean_theta, atol=1e-8)


@pytest.mark.parametrize("variant", ["pa1", "pa2"])
def test_a_weight_multiplies_C_and_zero_skips(variant):
    X, y, _ = graded(n=60)
    weight = np.where(np.arange(60) % 4 == 0, 0.0, 3.0)
    kept = weight > 0
    weighted = PassiveAggressiveOrdinal(variant, C=0.1).partial_fit(X, y, [1, 2, 3, 4, 5], sample_weight=weight)
    tripled = PassiveAggressiveOrdinal(variant, C=0.3).partial_fit(X[kept], y[kept], [1, 2, 3, 4, 5])
    assert_allclose(weighted.coef_, tripled.coef_, atol=1e-12)
    assert weighted.n_seen_ == kept.sum()


def test_weights_are_refused_where_they_mean_nothing():
    with pytest.raises(InputError, match=r"variant='pa'.*whatever"):
        PassiveAggressiveOrdinal("pa").fit([[1.0], [2.0]], [1, 2], sample_weight=[1, 2])


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"variant": "pa3"}, "variant='pa3'"),
        ({"C": 0}, "C=0"),
        ({"C": float("nan")}, "C=nan"),
        ({"max_iter": 0}, "max_iter=0"),
        ({"tol": -1}, "tol=-1"),
        ({"classes": [1]}, "at least two grades"),
        ({"classes": [1, 2, 1]}, "may appear once"),
    ],
)
def test_bad_parameters_are_refused(parameters, message):
    with pytest.raises(InputError, match=message):
        PassiveAggressiveOrdinal(**parameters).fit([[1.0], [2.0]], [1, 2])


def test_on_a_threshold_the_upper_grade_is_predicted_by_all_methods():
    model = PassiveAggressiveOrdinal(classes=[1, 2, 3, 4]).partial_fit(np.zeros((1, 2)), [[1, 4]])
    # Nothing was learned: all thresholds and the score are 0.
    assert model.predict([[0.0, 0.0]]).tolist() == [4]
    assert model.decision_function([[0.0, 0.0]]).argmax() == 3
    assert model.predict_one([0.0, 0.0]) == 4


def test_probabilities_come_only_when_asked_for_and_are_calibrated():
    X, y, _ = graded(n=4000, noise=1.0)
    assert not hasattr(PassiveAggressiveOrdinal(), "predict_proba")
    model = PassiveAggressiveOrdinal(probability=True, random_state=0).fit(X[:3000], y[:3000])
    chances = model.predict_proba(X[3000:])
    assert_allclose(chances.sum(axis=1), 1)
    # Over the held-out rows the mean probability of each grade is its share, to about three standard errors.
    shares = np.bincount(y[3000:], minlength=6)[1:] / 1000
    assert_allclose(chances.mean(axis=0), shares, atol=0.045)
    with pytest.raises(InputError, match="held out"):
        model.learn_one(X[0], 1)


def test_a_curved_boundary_is_learned_through_a_pipeline():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 2))
    y = 1 + np.searchsorted([0.8, 1.4], np.hypot(*X.T))
    curved = make_pipeline(
        StandardScaler(), Nystroem(n_components=60, random_state=0), PassiveAggressiveOrdinal(C=0.1, random_state=0)
    )
    straight = make_pipeline(StandardScaler(), PassiveAggressiveOrdinal(random_state=0))
    assert curved.fit(X[:1000], y[:1000]).score(X[1000:], y[1000:]) > 0.85
    with pytest.warns(DataWarning, match="predicts 2 for every row"):  # no direction says how far out a point lies
        straight.fit(X[:1000], y[:1000])
    assert straight.score(X[1000:], y[1000:]) < 0.6


@st.composite
def sequences(draw):
    """Labels, rows and an arbitrary classifier to compare with."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    T, K, d = draw(st.integers(1, 40)), draw(st.integers(2, 10)), draw(st.integers(1, 4))
    X = rng.normal(size=(T, d)) * draw(st.sampled_from([0.0, 0.1, 1.0, 5.0]))
    low = rng.integers(1, K + 1, T)
    high = np.minimum(K, low + rng.integers(0, draw(st.integers(1, 3)), T))
    scale = draw(st.sampled_from([0.0, 0.3, 3.0]))
    return X, np.stack([low, high], axis=1), K, scale * rng.normal(size=d), np.sort(scale * rng.normal(size=K - 1))


@pytest.mark.parametrize("variant", ["pa", "pa1", "pa2"])
@settings(max_examples=80, deadline=None)
@given(case=sequences(), C=st.sampled_from([0.01, 0.3, 5.0]))
def test_no_sequence_breaks_the_mistake_bound(variant, case, C):
    X, y, K, u, b = case
    grades = np.arange(1, K + 1)
    total = 0.0
    model = PassiveAggressiveOrdinal(variant, C=C, average=False, classes=grades)
    w, theta = np.zeros(X.shape[1]), np.zeros(K - 1)
    for x, (low, high) in zip(X, y, strict=True):
        loss = slacks([w @ x], theta, [low - 1], [high - 1])
        total += loss.sum() if variant == "pa1" else (loss**2).sum()
        model.partial_fit(x[None], [[low, high]])
        w, theta = model.coef_, model.thresholds_
    assert model.mae_ * len(X) <= total + 1e-9
    assert total <= mistake_bound(variant, X, y, u, b, C=C, classes=grades) * (1 + 1e-12) + 1e-9


def test_theorem_5_as_printed_is_false_and_ours_is_not():
    # One example of zeros, ten grades, label 1: the loss is 9, but by the print at most 3.
    X, y, K = np.zeros((1, 1)), np.array([1]), 10
    b = np.full(K - 1, 1 / 3)  # |v| = 1, and its loss is 9 * 2/3 = 6
    theta = np.zeros(K - 1)
    loss = slacks([0.0], theta, [0], [0]).sum()
    ideal = np.ones(K - 1)  # no loss, |v| = 3: printed bound sqrt(1) * 3
    printed = slacks([0.0], ideal, [0], [0]).sum() + 1.0 * np.linalg.norm(ideal)
    assert loss == 9
    assert printed == 3
    for comparator in (b, ideal):
        assert loss <= mistake_bound("pa1", X, y, [0.0], comparator, C=1.0, classes=range(1, 11))


def housing(n, rng):
    """Three grades from 0/1 columns with the coefficients published for the Copenhagen housing survey (MASS, polr)."""
    influence, kind, contact = rng.integers(0, 3, n), rng.integers(0, 4, n), rng.integers(0, 2, n)
    X = np.column_stack([influence == 1, influence == 2, kind == 1, kind == 2, kind == 3, contact]).astype(float)
    z = X @ [0.566, 1.289, -0.572, -0.366, -1.091, 0.360] + rng.logistic(size=n)
    return X, 1 + np.digitize(z, [-0.496, 0.691])


@pytest.mark.parametrize("variant", ["pa1", "pa2"])
def test_the_default_is_near_the_best_C_whatever_the_units(variant):
    rng = np.random.default_rng(0)
    tables = [housing(3000, rng), graded(n=3000, noise=1.0)[:2], graded(n=3000, K=3, noise=3.0)[:2]]
    for X, y in tables:
        train, test = slice(0, 2000), slice(2000, None)
        Z = (X - X.mean(axis=0)) / X.std(axis=0)

        def error(rows, y=y, train=train, test=test, **settings):
            model = PassiveAggressiveOrdinal(variant, random_state=0, **settings)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DataWarning)
                grades = model.fit(rows[train], y[train]).predict(rows[test])
            return np.abs(grades - y[test]).mean()

        best = min(error(Z, C=C) for C in (0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 10))
        for unit in (1e-3, 1, 1e3):
            assert error(unit * X) <= 1.05 * best


@pytest.mark.parametrize("sizes", [(300,), (1, 1, 1, 97, 200), (150, 1, 149)])
@pytest.mark.parametrize("far", [0.0, 1e8])
def test_the_running_scale_is_that_of_scikit_learn_however_the_rows_come(sizes, far):
    X = np.random.default_rng(5).normal(far, [1.0, 3.0, 20.0], size=(300, 3))
    scale, theirs = FeatureScale.empty(3, centred=True), StandardScaler()
    for number, block in enumerate(np.split(X, np.cumsum(sizes)[:-1])):
        scale.take(block, at_once=number == 0)
        scale.renew()
        theirs.partial_fit(block)
    assert_allclose(scale.origin, theirs.mean_, rtol=1e-12, atol=1e-12)
    assert_allclose(1 / scale.factor, theirs.scale_, rtol=1e-6)
    assert_allclose(scale.apply(X), theirs.transform(X), rtol=1e-6, atol=1e-6)
