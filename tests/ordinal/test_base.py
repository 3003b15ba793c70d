"""What every learner of grades shares: rows and labels that are checked, distances to grades, losses; and baselines."""

import math
import re
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array

from podium.errors import DataWarning, InputError, NotFittedError
from podium.ordinal import (
    ConformalGrades,
    CumulativeLogit,
    MarginOrdinal,
    MedianBaseline,
    OrdinalPerceptron,
    PassiveAggressiveOrdinal,
    PRank,
    accuracy,
    conformal,
    errors,
    mae,
    mistake_bound,
    surrogate,
)
from podium.ordinal.base import _say_order, row_count, weights_of
from podium.ordinal.conformal import Misses, check_level, score_chances

nan, inf = math.nan, math.inf


# ---- rows -----------------------------------------------------------------------------------------------------------


def test_rows_of_any_table_are_counted():
    for table in (
        np.zeros((3, 2)),
        [[1], [2], [3]],
        csr_array((3, 9)),
        pd.DataFrame({"a": [1, 2, 3]}),
        ("a", "b", "c"),
    ):
        assert row_count(table) == 3
    for thing in (np.array(2.5), 2.5, "text", None):
        with pytest.raises(InputError, match=f"X is {re.escape(repr(thing))}; give a table of numbers"):
            row_count(thing)


def test_weights_are_numbers_from_zero_that_can_be_added_up():
    X = np.zeros((3, 1))
    assert weights_of([1, 0, 2.5], X).tolist() == [1.0, 0.0, 2.5]
    assert weights_of(None, X).tolist() == [1.0, 1.0, 1.0]
    with pytest.raises(InputError, match=r"sample_weight: .*; divide all weights by one number"):
        weights_of([1, 10**400, 1], X)
    with pytest.raises(InputError, match="row 2: its weight is 1e\\+200; divide all weights"):
        weights_of([1, 1e200, 1], X)
    with pytest.raises(ValueError, match=r"[Nn]egative"):
        weights_of([1, -1, 1], X)


def test_entries_of_a_sparse_table_that_come_twice_are_added_up_and_the_table_stays():
    twice = csr_array((np.array([1.0, 2.0, 5.0]), np.array([0, 0, 1]), np.array([0, 2, 3])), shape=(2, 2))
    model = MedianBaseline()
    found = model._rows(twice, reset=True)
    assert found.toarray().tolist() == [[3.0, 0.0], [0.0, 5.0]]
    assert found.has_canonical_format
    assert twice.data.tolist() == [1.0, 2.0, 5.0]
    assert model.n_features_in_ == 2
    once = csr_array(np.eye(2))
    assert model._rows(once, reset=False).data is once.data


def test_rows_stay_single_where_they_are_and_numbers_too_large_are_refused():
    model = MedianBaseline()
    assert model._rows(np.zeros((2, 1), np.float32), reset=True).dtype == np.float32
    assert model._rows(np.zeros((2, 1), np.int8), reset=True).dtype == np.float64
    columns = np.asfortranarray(np.arange(6.0).reshape(2, 3))
    assert model._rows(columns, reset=True).flags.c_contiguous
    with pytest.raises(InputError, match=r"X: .*; scale the features"):
        model._rows([[10**400]], reset=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        large = model._rows([[1.7e308], [1.7e308]], reset=True)  # their sum is no number, they are
    assert large.tolist() == [[1.7e308], [1.7e308]]
    assert np.isnan(model._rows([[nan]], reset=True, finite=False)[0, 0])


@pytest.mark.parametrize("form", [np.asarray, csr_array])
@pytest.mark.parametrize(("value", "shown"), [(nan, "NaN"), (inf, "inf"), (-inf, "-inf")])
def test_what_is_not_finite_is_named_by_row_and_feature(form, value, shown):
    X = np.array([[0.0, 1.0, 2.0], [3.0, 0.0, value], [value, 1.0, value]])
    said = f"^Input X contains {shown}: row 2, feature 3; fill in a value or drop the row$"
    with pytest.raises(InputError, match=said):
        MedianBaseline().fit(form(X), [1, 2, 3])
    X[1, 2], X[0, 1] = 0.0, value
    with pytest.raises(InputError, match=f"contains {shown}: row 1, feature 2;"):
        MedianBaseline().fit(form(X), [1, 2, 3])
    if form is np.asarray:
        named = pd.DataFrame(X, columns=["size", "age", "time"])
        with pytest.raises(InputError, match=f"contains {shown}: row 1, feature 'age';"):
            MedianBaseline().fit(named, [1, 2, 3])


@pytest.mark.parametrize("form", [np.asarray, csr_array])
def test_finite_numbers_whose_squares_are_not_are_told_apart(form):
    model = MedianBaseline()
    with pytest.raises(InputError, match=r"^Input X contains values whose squares overflow; scale the features$"):
        model._not_finite(form(np.array([[1e300]])))
    with pytest.raises(InputError, match="contains NaN"):
        model._not_finite(form(np.array([[1e300, nan]])))


# ---- labels ---------------------------------------------------------------------------------------------------------


def test_grades_are_checked_as_scikit_learn_s_classifiers_check_them():
    X = np.zeros((3, 1))
    with pytest.raises(InputError, match=r"Input y contains infinity or a value too large .*: row 2$"):
        MedianBaseline().fit(X, [1.0, inf, 2.0])
    with pytest.raises(InputError, match=r"^Unknown label type: row 2 is 2\.25, .* lowest to highest by classes=; if"):
        MedianBaseline().fit(X, [1.0, 2.25, 3.5])
    halves = MedianBaseline(classes=[0.5, 1.0, 1.5]).fit(X, [0.5, 1.0, 1.5])
    assert halves.predict(X).tolist() == [1.0] * 3
    assert MedianBaseline().fit(X, np.array([2.0**60, 1.0, -3.0])).classes_.tolist() == [-3.0, 1.0, 2.0**60]
    with pytest.raises(InputError, match="row 2: no grade"):
        MedianBaseline().fit(X, [1.5, nan, 3.0])
    with pytest.raises(InputError, match="there is only one class, 7; a grade can be learned from two classes on"):
        MedianBaseline().fit(X, [7, 7, 7])
    assert MedianBaseline(classes=[3, 1, 2]).fit(X, [1, 2, 3]).classes_.tolist() == [3, 1, 2]
    assert MedianBaseline().fit(X, [3, 1, 2]).classes_.tolist() == [1, 2, 3]
    assert MedianBaseline().fit(X, [[1.5, 2], [2, 2], [1.5, 3]]).classes_.tolist() == [1.5, 2.0, 3.0]


def test_only_words_without_an_order_have_theirs_told():
    X = np.zeros((3, 1))
    with pytest.warns(
        DataWarning, match=r"in the order of the alphabet: a < b; name them .* by classes=, or pass"
    ) as told:
        MedianBaseline().fit(X, ["a", "b", "a"])
    assert told[0].filename == __file__
    with pytest.warns(DataWarning, match="1 < b"):
        MedianBaseline().fit(X, ["1", "b", "1"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        MedianBaseline().fit(X, ["1", "10", "9"])
        MedianBaseline().fit(X, [1, 2, 3])
        MedianBaseline(classes=["b", "a"]).fit(X, ["a", "b", "a"])
        MedianBaseline().fit(X, pd.Categorical(["a", "b", "a"], categories=["b", "a"], ordered=True))
        _say_order(np.array([1, "b"], dtype=object))
    with pytest.warns(DataWarning, match="alphabet: a < b < c < d < e < f < g < h; name"):
        _say_order(np.array(list("abcdefgh")))
    with pytest.warns(DataWarning, match="alphabet: a < b < c < d < … < h < i; name"):
        _say_order(np.array(list("abcdefghi")))


def test_one_grade_for_all_is_told_only_where_the_labels_differ():
    model = MedianBaseline(classes=[1, 2, 3]).fit(np.zeros((3, 1)), [1, 2, 3])
    X = np.zeros((3, 1))
    codes = np.array([0, 1, 2])
    with pytest.warns(
        DataWarning, match="the model predicts 2 for every row it was fitted on: these features say"
    ) as told:
        model._say_if_one_grade(X, codes, codes)
    assert len(told) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model._say_if_one_grade(X, np.array([0, 1, 1]), np.array([1, 2, 1]))  # 1 suits them all
        model._say_if_one_grade(X, codes[:0], codes[:0])
        two = placed([0.0], classes=[1, 2])
        two._say_if_one_grade(np.array([[-1.0], [1.0]]), np.array([0, 1]), np.array([0, 1]))


def test_a_score_counts_rows_by_their_weight():
    model = MedianBaseline(classes=[1, 2, 3]).fit(np.zeros((3, 1)), [2, 2, 2])
    X = np.zeros((4, 1))
    assert model.score(X, [2, 2, 1, 3]) == 0.5
    assert model.score(X, [2, 2, 1, 3], sample_weight=[3, 2, 4, 1]) == 0.5
    assert model.score(X, [[1, 2], [2, 3], [3, 3], [None, 1]], sample_weight=[1, 2, 3, 4]) == pytest.approx(0.3)


# ---- distances to grades --------------------------------------------------------------------------------------------


def placed(thresholds, coef=(1.0,), classes=None):
    model = MarginOrdinal()
    model.classes_ = np.arange(len(thresholds) + 1) if classes is None else np.array(classes)
    model.coef_, model.thresholds_, model.n_features_in_ = np.array(coef), np.array(thresholds), len(coef)
    return model


def test_a_decision_is_how_far_inside_a_grade_the_score_lies():
    model = placed([-1.0, 2.0], classes=["a", "b", "c"])
    z = np.array([[-3.0], [0.0], [1.75], [5.0]])
    assert_allclose(
        model.decision_function(z),
        [[2.0, -2.0, -5.0], [-1.0, 1.0, -2.0], [-2.75, 0.25, -0.25], [-6.0, -3.0, 3.0]],
    )
    assert model.predict(z).tolist() == model.predict_median(z).tolist() == ["a", "b", "b", "c"]
    assert model.project(z).tolist() == [-3.0, 0.0, 1.75, 5.0]
    assert placed([1.0], coef=(2.0, -1.0)).project([[3.0, 4.0]]).tolist() == [2.0]


def test_on_a_threshold_the_upper_grade_is_nearest_by_a_hair():
    model = placed([-1.0, -1.0, 2.0])
    z = np.array([[-1.0], [2.0], [2.5]])
    found = model.decision_function(z)
    assert found.argmax(axis=1).tolist() == model.predict(z).tolist() == [2, 3, 3]
    assert_allclose(found, [[0.0, 0.0, 0.0, -3.0], [-3.0, -3.0, 0.0, 0.0], [-3.5, -3.5, -0.5, 0.5]], atol=1e-300)
    assert (found[0, 2], found[1, 3]) == (0.0, 0.0)
    assert (found[0, :2] < 0).all()
    assert found[1, 2] < 0
    two = placed([0.5]).decision_function([[0.0], [0.5], [1.0]])
    assert two[[0, 2]].tolist() == [-0.5, 0.5]
    assert 0 < two[1] < 1e-300


# ---- losses ---------------------------------------------------------------------------------------------------------


def test_errors_know_the_grades_from_classes_from_categories_or_from_what_occurs():
    assert errors([1, 5], [5, 5]).tolist() == [1, 0]
    assert errors([1, 5], [5, 5], classes=range(1, 6)).tolist() == [4, 0]
    assert errors([1, 5], [3, 5]).tolist() == [1, 0]
    ordered = pd.Categorical(["a", "c"], categories=["c", "b", "a"], ordered=True)
    assert errors(ordered, ["c", "c"]).tolist() == [2, 0]
    assert errors([[2, 3], [None, 2], [4, None], [3, 3]], [1, 4, 4, 3], classes=range(1, 6)).tolist() == [1, 2, 0, 0]
    assert errors(["x"], ["x"], classes=["x"]).tolist() == [0]
    with pytest.raises(InputError, match="there are 2 labels and 1 prediction; give one each"):
        errors([1, 2], [1], classes=[1, 2])


def test_means_of_errors_by_weight():
    y, guess = [1, 2, 3, 4], [1, 3, 1, 4]
    assert mae(y, guess) == 0.75
    assert accuracy(y, guess) == 0.5
    assert mae(y, guess, sample_weight=[0, 1, 2, 1]) == pytest.approx((1 + 4) / 4)
    assert accuracy(y, guess, sample_weight=[3, 1, 2, 2]) == pytest.approx(5 / 8)
    assert mae([1, 3], [3, 3], classes=[1, 2, 3]) == 1.0
    assert accuracy([1, 3], [3, 3], classes=[1, 2, 3]) == 0.5
    for wrong in ([-1, 2, 1, 1], [0, 0, 0, 0], [1, nan, 1, 1], [inf, 1, 1, 1], [1e308] * 4):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with pytest.raises(InputError, match="sample_weight must be finite, 0 or more, and not 0 everywhere"):
                mae(y, guess, sample_weight=wrong)
    with pytest.raises(InputError, match="sample_weight: shape"):
        mae(y, guess, sample_weight=[1, 2])
    with pytest.raises(InputError, match="there is no label, so there is nothing to average"):
        mae([], [], classes=[1, 2])


def test_the_surrogate_adds_up_what_each_threshold_lacks():
    found = surrogate([0.0, 3.0, -0.5], [-2.0, 0.5, 1.0], [1, 0, 3], [1, 2, 3])
    assert_allclose(found, [(1 + 0 - 0.5) + (1 + 0 - 1), 1 + 3 - 1, 0 + (1 + 0.5 + 0.5) + (1 + 1 + 0.5)])


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"X": np.zeros((0, 2)), "y": []}, "X has no rows, so there is nothing to bound"),
        ({"coef": [1.0]}, r"coef: shape \(1,\) is given; it must be \(2\)"),
        ({"thresholds": [0.0]}, r"3 grades and thresholds \[0.0\]; give one less, in increasing order"),
        ({"thresholds": [1.0, 0.0]}, r"3 grades and thresholds \[1.0, 0.0\]; give one less, in increasing order"),
        ({"C": 0}, "C=0"),
        ({"X": [[1e151, 0.0], [0.0, 1.0]]}, r"X holds 1e\+151, too large to be squared; scale the features"),
        ({"variant": "pa3"}, "variant is 'pa3'; it must be 'pa', 'pa1' or 'pa2'"),
        ({"y": [1]}, "X has 2 rows and y 1 label"),
    ],
)
def test_what_has_no_mistake_bound_is_refused(changed, message):
    given = {
        "variant": "pa1",
        "X": [[1.0, 2.0], [0.5, -1.0]],
        "y": [1, 3],
        "coef": [1.0, 0.0],
        "thresholds": [0.0, 0.0],
    }
    given = given | {"classes": [1, 2, 3]}
    assert mistake_bound(**given) > 0
    assert mistake_bound(**given | {"coef": [[1.0, 0.0]]}) == mistake_bound(**given)
    assert mistake_bound(**given | {"X": csr_array(np.array(given["X"]))}) == mistake_bound(**given)
    assert mistake_bound(**given) == mistake_bound(**given, C=0.01)
    with pytest.raises(InputError, match=message):
        mistake_bound(**given | changed)


# ---- sets -----------------------------------------------------------------------------------------------------------


def test_levels_are_shares():
    assert check_level(0.5) == 0.5
    assert check_level(np.float32(0.25)) == 0.25
    for wrong in (0, 1, 1.0, 0.0, True, "0.5", None):
        with pytest.raises(InputError, match=r"level=.* must lie between 0 and 1, as 0.9"):
            check_level(wrong)


def test_bounds_forgive_rounding_of_the_place():
    for m in (9, 19, 99):  # (m + 1) · 0.9 is whole: rounding must not make it one more
        assert Misses(np.arange(m) / 10).bound(0.9) == pytest.approx((round((m + 1) * 0.9) - 1) / 10)
    assert Misses(np.array([0.0, 0.0, 0.1, 0.2])).right == 0.5


def test_chances_by_score_are_a_cumulative_logit_that_says_nothing_of_missing_grades():
    rng = np.random.default_rng(0)
    scores = rng.normal(size=40)
    low = np.digitize(scores + rng.normal(size=40), [-0.5, 0.5])
    high = np.minimum(low + rng.integers(0, 2, 40), 2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = score_chances(scores, low, high, 5)
        constant = score_chances(np.zeros(4), np.array([0, 1, 2, 3]), np.array([0, 1, 2, 3]), 4)
    assert found.classes_.tolist() == [0, 1, 2, 3, 4]
    assert_allclose(found.predict_proba(scores[:, None])[:, 3:], 0.0, atol=1e-12)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        same = CumulativeLogit(l2=1e-3, classes=range(5)).fit(scores[:, None], np.column_stack([low, high]))
    assert_allclose(found.coef_, same.coef_)
    assert_allclose(constant.predict_proba([[0.0]]), [[0.25] * 4], atol=1e-3)


class Known:
    """A model that predicts the first feature and, if it has chances, makes each grade as likely as the row says."""

    classes_ = np.array(["a", "b", "c"])

    def predict(self, X):
        return self.classes_[np.asarray(X)[:, 0].astype(int)]

    def project(self, X):
        return np.asarray(X)[:, 0] * 1.0


class KnownChances(Known):
    def predict_proba(self, X):
        return np.asarray(X)[:, 1:]


def test_with_chances_all_rows_set_the_level():
    X = np.array([[0, 0.6, 0.3, 0.1], [1, 0.2, 0.5, 0.3], [2, 0.1, 0.2, 0.7], [1, 0.3, 0.4, 0.3]])
    sets = ConformalGrades(KnownChances()).calibrate(X, ["b", "b", "a", "c"])
    # Before the true grade: 0.6; 0; 0.7 + 0.2; 0.4 (of two that are equally likely the upper comes first).
    assert_allclose(sets.misses_.values, [0.0, 0.4, 0.6, 0.9])
    assert sets.predict_interval(X, level=0.6).tolist() == [["a", "b"], ["b", "c"], ["c", "c"], ["b", "c"]]
    ends = ConformalGrades(KnownChances()).calibrate(X, y_lower=["b", "a", "a", None], y_upper=["c", "b", "b", "a"])
    assert_allclose(ends.misses_.values, [0.0, 0.6, 0.7, 0.7])
    assert sets.chances_ is None
    with pytest.raises(InputError, match="X has 4 rows and y 1 label"):
        ConformalGrades(KnownChances()).calibrate(X, ["a"])
    with pytest.raises(NotFittedError, match=r"these sets have no level yet; call calibrate\(X, y\) with rows"):
        ConformalGrades(KnownChances()).predict_interval(X)


def test_without_chances_every_second_row_gives_them_and_the_others_set_the_level():
    rng = np.random.default_rng(1)
    X = rng.integers(0, 3, size=(60, 1)).astype(float)
    codes = np.clip(X[:, 0].astype(int) + rng.integers(-1, 2, 60), 0, 2)
    sets = ConformalGrades(Known()).calibrate(X, Known.classes_[codes])
    fitted = score_chances(X[::2, 0], codes[::2], codes[::2], 3)
    assert_allclose(sets.chances_.coef_, fitted.coef_)
    chances = fitted.predict_proba(X)
    expected = conformal.miss(chances[1::2], X[1::2, 0].astype(int), codes[1::2], codes[1::2])
    assert_allclose(sets.misses_.values, np.sort(expected))
    found = sets.predict_interval(X, level=0.5)
    codes_of_sets = conformal.grade_sets(chances, X[:, 0].astype(int), sets.misses_.bound(0.5))
    assert_array_equal(found, Known.classes_[codes_of_sets])
    assert len(ConformalGrades(Known()).calibrate(X[:2], ["a", "b"]).misses_.values) == 1
    with pytest.raises(
        InputError, match="two rows at least: half of them give probabilities, the others set the level"
    ):
        ConformalGrades(Known()).calibrate(X[:1], ["a"])


# ---- baselines ------------------------------------------------------------------------------------------------------


def test_the_median_counts_rows_by_their_weight_and_ranges_by_their_distance():
    X = np.zeros((4, 1))
    assert MedianBaseline().fit(X, [1, 2, 3, 3]).grade_ == 2
    heavy = MedianBaseline().fit(X, [1, 2, 3, 3], sample_weight=[5, 1, 1, 1])
    assert heavy.grade_ == 1
    assert heavy.predict(np.ones((2, 1))).tolist() == [1, 1]
    assert MedianBaseline(classes=list("abcde")).fit(X, y_lower=list("abdd"), y_upper=list("bcee")).grade_ == "c"
    assert MedianBaseline(classes=[1, 2, 3, 4]).fit(X, [4, 4, 1, 1]).grade_ == 1
    with pytest.raises(ValueError, match=r"[Nn]egative"):
        MedianBaseline().fit(X, [1, 2, 3, 3], sample_weight=[-1, 1, 1, 1])


def prototypes(X, low, high, weight, K):
    """The update written out: the best prototype that the label allows gains the row, the winner loses it."""
    X = np.column_stack([X, np.ones(len(X))])
    W, mean, off = np.zeros((K, X.shape[1])), np.zeros((K, X.shape[1])), 0
    for t, (x, lo, hi, step) in enumerate(zip(X, low, high, weight, strict=True), start=1):
        best = int((W @ x).argmax())
        off += max(lo - best, best - hi, 0)
        if not lo <= best <= hi:
            W[lo + int((W @ x)[lo : hi + 1].argmax())] += step * x
            W[best] -= step * x
        mean += (W - mean) / t
    return W, mean, off


@pytest.mark.parametrize("average", [False, True])
@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize("form", [np.asarray, csr_array])
def test_the_perceptron_tells_its_prototypes_in_the_units_of_the_data(average, standardize, form):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2)) * [3.0, 0.5] + [4.0, -2.0]
    y = np.digitize(X @ [1.0, 2.0], [-2.0, 1.0])
    options = {"average": average, "standardize": standardize, "shuffle": False, "max_iter": 1}
    model = OrdinalPerceptron(**options).fit(form(X), y)
    Z = (X - X.mean(axis=0)) / X.std(axis=0) if standardize else X
    W, mean, off = prototypes(Z, y, y, np.ones(40), 3)
    scores = np.column_stack([Z, np.ones(40)]) @ (mean if average else W).T
    assert_allclose(model.decision_function(form(X)), scores, atol=1e-9)
    assert_allclose(X @ model.coef_.T + model.intercept_, scores, atol=1e-9)
    assert (model.coef_.shape, model.intercept_.shape) == ((3, 2), (3,))
    assert model.predict(form(X)).tolist() == scores.argmax(axis=1).tolist()
    assert [model.predict_one(x) for x in X] == scores.argmax(axis=1).tolist()
    assert model.mae_ == pytest.approx(off / 40)
    model.coef_[:] = 7.0  # what is told is a copy
    assert_allclose(model.decision_function(form(X)), scores, atol=1e-9)


@pytest.mark.parametrize("average", [False, True])
def test_a_weight_scales_the_perceptron_s_step(average):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(30, 2))
    low = np.digitize(X @ [1.0, 2.0] + rng.normal(size=30), [-1.0, 1.0])
    high = np.minimum(low + rng.integers(0, 2, 30), 2)
    weight = rng.choice([0.5, 1.0, 3.0], 30)
    model = OrdinalPerceptron(average=average, standardize=False, classes=[0, 1, 2])
    model.partial_fit(X, y_lower=low, y_upper=high, sample_weight=weight)
    W, mean, off = prototypes(X, low, high, weight, 3)
    told = mean if average else W
    single = OrdinalPerceptron(average=average, standardize=False, classes=[0, 1, 2])
    for x, a, b, heavy in zip(X, low.tolist(), high.tolist(), weight.tolist(), strict=True):
        single.learn_one(x, (a, b), weight=heavy)
    assert_allclose(single.coef_, told[:, :-1], atol=1e-12)
    assert single.mae_ == model.mae_ == pytest.approx(off / 30)
    assert (single.n_seen_, single.n_updates_) == (30, model.n_updates_)
    assert off > model.n_updates_  # some are off by two
    assert_allclose(model.coef_, told[:, :-1], atol=1e-12)
    assert_allclose(model.intercept_, told[:, -1], atol=1e-12)
    whole = OrdinalPerceptron(average=average, standardize=False, classes=[0, 1, 2], shuffle=False, max_iter=1)
    whole.fit(X, y_lower=low, y_upper=high, sample_weight=weight)
    assert_allclose(whole.coef_, model.coef_)


def test_a_perceptron_of_two_grades_decides_by_one_number():
    X = np.array([[-2.0], [2.0], [-1.0], [1.0]])
    model = OrdinalPerceptron(classes=["a", "b"], random_state=0).fit(
        X, ["a", "b", "a", "b"], sample_weight=[1, 1, 2, 1]
    )
    scores = X @ model.coef_.T + model.intercept_
    assert_allclose(model.decision_function(X), scores[:, 1] - scores[:, 0])
    assert model.predict(X).tolist() == ["a", "b", "a", "b"]
    untouched = OrdinalPerceptron(average=True, classes=[1, 2]).learn_one([1.0, 2.0], 1, weight=0.0)
    assert (untouched.coef_.tolist(), untouched.n_seen_) == ([[0.0, 0.0], [0.0, 0.0]], 0)


@pytest.mark.parametrize("hole", [nan, inf, -inf])
def test_a_perceptron_refuses_an_example_with_a_hole(hole):
    model = OrdinalPerceptron(standardize=False, classes=[1, 2]).learn_one([1.0, 2.0], 1)
    for ask in (lambda x: model.learn_one(x, 2), model.predict_one):
        with pytest.raises(
            InputError, match="the example contains NaN or inf; fill in a value or leave the example out"
        ):
            ask([0.0, hole])
    assert model.n_seen_ == 1


@pytest.mark.parametrize("table", [pd.DataFrame, lambda columns: pl.DataFrame(columns)])
@pytest.mark.parametrize(
    "learner",
    [PassiveAggressiveOrdinal, CumulativeLogit, MarginOrdinal, PRank, OrdinalPerceptron],
    ids=lambda c: c.__name__,
)
def test_a_table_with_names_is_learned_without_a_foreign_word(learner, table):
    rng = np.random.default_rng(0)
    frame = table({"a": rng.normal(size=60), "b": rng.normal(size=60)})
    y = 1 + (np.asarray(frame["a"]) > 0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = learner().fit(frame, y)
    assert model.feature_names_in_.tolist() == ["a", "b"]
    assert model.score(frame, y) > 0.9


def test_a_prediction_is_wanted_for_each_label():
    with pytest.raises(InputError, match="there are 3 labels and 2 predictions; give one"):
        mae([1, 2, 3], [1, 2])
