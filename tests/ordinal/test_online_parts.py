"""Online learners against a loop written out, with scales and candidates; examples, grades and features that come."""

import math
import pickle
import re

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array

from podium.errors import InputError, NotFittedError
from podium.ordinal import CumulativeLogit, OrdinalPerceptron, PassiveAggressiveOrdinal, PRank
from podium.ordinal.base import OrdinalClassifier
from podium.ordinal.online import (
    OnlineClassifier,
    _ends_of,
    _generator,
    _is_number,
    _sparse,
    finite,
    row_arrays,
)
from podium.ordinal.threshold import OnlineThreshold, _beyond, _with_zeros

from reference_ordinal import passive_aggressive_step, prank_step
from suites.ordinal import graded

nan, inf = math.nan, math.inf
GRADES = [1, 2, 3, 4, 5]


class Loop:
    """One learner as it is described: a scale of what was seen, candidates side by side, the one that erred least."""

    def __init__(self, variant, steps, K, d, *, average, scaled):
        self.variant, self.steps, self.average, self.scaled = variant, steps, average, scaled
        self.w, self.theta = [np.zeros(d) for _ in steps], [np.zeros(K - 1) for _ in steps]
        self.mean_w, self.mean_theta = [np.zeros(d) for _ in steps], [np.zeros(K - 1) for _ in steps]
        self.judged = [(np.zeros(d), np.zeros(K - 1)) for _ in steps]
        self.losses, self.lead = np.zeros(len(steps)), 0
        self.rows, self.scale, self.until = [], (np.zeros(d), np.ones(d)), 1
        self.seen = self.off = self.updates = 0

    def measure(self, rows):
        rows = np.array(rows)
        deviation = rows.std(axis=0)
        self.scale = rows.mean(axis=0), np.divide(1.0, deviation, out=np.zeros_like(deviation), where=deviation > 0)

    def learn(self, x, low, high, weight=1.0, *, measured=False):
        if weight == 0:
            return
        self.rows.append(x)
        if self.scaled and not measured and self.seen < 8:
            self.measure(self.rows)
        z = (x - self.scale[0]) * self.scale[1] if self.scaled else x
        self.seen += 1
        for k, C in enumerate(self.steps):
            w, theta = self.judged[k]
            grade = int((theta <= w @ z).sum())
            self.losses[k] += max(low - grade, grade - high, 0)
            w, theta = self.w[k], self.theta[k]
            score = w @ z
            grade = int((theta <= score).sum())
            short = (theta[:low] > score - 1 + 1e-9).any() or (theta[high:] < score + 1 - 1e-9).any()
            if k == self.lead:
                self.off += max(low - grade, grade - high, 0)
                self.updates += bool(not low <= grade <= high if self.variant == "prank" else short)
            if self.variant == "prank":
                new = prank_step(w, theta, z, low, high)
            else:
                new = passive_aggressive_step(w, theta, z, low, high, self.variant, C * weight)
            self.w[k], self.theta[k] = new
            self.mean_w[k] = self.mean_w[k] + (new[0] - self.mean_w[k]) / self.seen
            self.mean_theta[k] = self.mean_theta[k] + (new[1] - self.mean_theta[k]) / self.seen
        if self.scaled and self.seen == self.until:
            if not measured:
                self.measure(self.rows)
            self.until = self.seen + (self.seen // 4 if self.seen >= 8 else 1)
            self.lead = int(self.losses.argmin())
            self.judged = list(zip(*self.told(), strict=True))

    def told(self):
        return (self.mean_w, self.mean_theta) if self.average else (self.w, self.theta)

    def scores(self, X):
        """How far the rows' scores lie above each threshold, whatever the units."""
        w, theta = (each[self.lead] for each in self.told())
        return ((X - self.scale[0]) * self.scale[1] if self.scaled else X) @ w[:, None] - theta


OPTIONS = [
    ("pa1", {}), ("pa2", {}), ("pa1", {"average": False}), ("pa", {}), ("pa1", {"C": 0.2, "standardize": True}),
    ("pa1", {"C": 0.2}), ("pa2", {"C": 0.2, "average": False}), ("prank", {}), ("prank", {"average": True}),
    ("prank", {"standardize": False}),
]  # fmt: skip


def pair(variant, options, d=3, **more):
    """The learner, and the loop that it should be."""
    average = options.get("average", variant != "prank")
    if variant == "prank":
        model, steps, scaled = PRank(**options, **more), [1.0], options.get("standardize", True)
    else:
        model = PassiveAggressiveOrdinal(variant, **options, **more)
        steps = [1.0] if variant == "pa" else [options["C"]] if "C" in options else [0.003, 0.03, 0.3]
        scaled = options.get("standardize", "C" not in options)
    return model, Loop(variant, steps, 5, d, average=average, scaled=scaled)


def same(model, loop, X):
    assert_allclose(model.project(X)[:, None] - model.thresholds_, loop.scores(X), atol=1e-6)
    assert model.predict(X).tolist() == (1 + (loop.scores(X) >= 0).sum(axis=1)).tolist()
    assert (model.n_seen_, model.n_updates_) == (loop.seen, loop.updates)
    assert model.mae_ == pytest.approx(loop.off / loop.seen)
    if loop.variant in ("pa1", "pa2"):
        assert loop.steps[loop.lead] == model.C_


@pytest.mark.parametrize(("variant", "options"), OPTIONS)
@pytest.mark.parametrize("way", ["table", "pieces", "one by one"])
def test_learning_row_by_row_is_the_loop_written_out(variant, options, way):
    X, _, ranges = graded(n=50, d=3, noise=1.0)
    X = X * [1.0, 20.0, 0.1] + [0.0, 5.0, 3.0] if options.get("standardize", "C" not in options) else X
    model, loop = pair(variant, options, classes=GRADES)
    for x, (low, high) in zip(X, ranges, strict=True):
        loop.learn(x, low - 1, high - 1)
    if way == "one by one":
        for x, ends in zip(X, ranges.tolist(), strict=True):
            model.learn_one(x, tuple(ends))
    else:
        for rows in np.split(np.arange(50), [] if way == "table" else [1, 5, 31]):
            model.partial_fit(X[rows], ranges[rows])
    same(model, loop, X)


@pytest.mark.parametrize("options", [{}, {"C": 0.2}, {"C": 0.2, "standardize": True, "average": False}])
@pytest.mark.parametrize("way", ["table", "one by one"])
@pytest.mark.parametrize("variant", ["pa1", "pa2"])
def test_a_weight_multiplies_every_candidate_s_c_and_zero_skips(options, way, variant):
    X, y, _ = graded(n=40, d=3, seed=1, noise=1.0)
    weight = np.random.default_rng(1).choice([0.0, 0.5, 1.0, 3.0], 40)
    model, loop = pair(variant, options, classes=GRADES)
    for x, grade, heavy in zip(X, y, weight, strict=True):
        loop.learn(x, grade - 1, grade - 1, heavy)
    if way == "table":
        model.partial_fit(X, y, sample_weight=weight)
    else:
        for x, grade, heavy in zip(X, y.tolist(), weight.tolist(), strict=True):
            model.learn_one(x, grade, weight=heavy)
    same(model, loop, X)


@pytest.mark.parametrize(("variant", "options"), OPTIONS)
@pytest.mark.parametrize("form", [np.asarray, csr_array])
def test_fit_measures_the_scale_of_all_rows_first_and_then_goes_over_them(variant, options, form):
    X, y, _ = graded(n=30, d=3, noise=1.0)
    X[:, 0] += 4.0
    model, loop = pair(variant, options, shuffle=False, max_iter=2, tol=None)
    model.fit(form(X), y)
    if loop.scaled:
        loop.measure(X)
    for _ in range(2):
        for x, grade in zip(X, y, strict=True):
            loop.learn(x, grade - 1, grade - 1, measured=True)
    loop.lead = int(loop.losses.argmin())
    assert_allclose(model.project(form(X))[:, None] - model.thresholds_, loop.scores(X), atol=1e-6)
    assert (model.n_seen_, model.n_iter_) == (60, 2)
    assert model.mae_ == pytest.approx(loop.off / 60)


def test_weights_in_a_shuffled_fit_go_with_their_rows():
    X, y, _ = graded(n=40, d=3, noise=1.0)
    weight = np.random.default_rng(1).choice([0.0, 0.5, 3.0], 40)
    order = np.random.default_rng(7).permutation(40)
    for options in ({}, {"C": 0.1}, {"C": 0.1, "kernel": "rbf"}, {"kernel": "rbf"}):
        shuffled = PassiveAggressiveOrdinal(random_state=7, max_iter=1, **options).fit(X, y, sample_weight=weight)
        listed = PassiveAggressiveOrdinal(shuffle=False, max_iter=1, **options)
        listed.fit(X[order], y[order], sample_weight=weight[order])
        assert_allclose(
            shuffled.project(X) - shuffled.thresholds_[0], listed.project(X) - listed.thresholds_[0], atol=1e-9
        )
        assert (shuffled.C_, shuffled.mae_) == (listed.C_, pytest.approx(listed.mae_))
        assert shuffled.n_seen_ == (weight > 0).sum()


# ---- epochs ---------------------------------------------------------------------------------------------------------


class Told(PRank):
    """A learner whose errors in each epoch are given."""

    def epochs(self, errors, rows=8):
        self.told, self.orders = list(errors), []
        self._epochs(np.zeros((rows, 1)), *np.zeros((2, rows), dtype=int), np.ones(1))
        return self.n_iter_

    def _learn_rows(self, X, low, high, strength, order, predicted=None):
        self.orders.append(order.tolist())
        self._losses = np.zeros(1)
        each = self.told.pop(0)
        return np.array([0.0, 0.0]) if each is None else np.array([each * 4.0, 4.0])


@pytest.mark.parametrize(
    ("tol", "errors", "epochs"),
    [
        (0.25, [5, 4, 3, 2, 1, 0.5], 6),
        (0.25, [5, 4, 3.875, 3.75, 1, 1], 4),  # twice in a row less gain than asked
        (0.25, [5, 4, 3.75, 3.5, 1, 1], 4),  # no more than asked is too little
        (0.25, [5, 4, 3.875, 3, 2.875, 2.75], 6),
        (0.25, [5, 5, 4, 4.5, 4.5, 1], 5),  # counted from the best, not from the last
        (0.0, [5, 4, 4, 3, 3, 3], 6),
        (0.0, [5, 5, 5, 1, 1, 1], 3),
        (None, [5, 5, 5, 5, 5, 5], 6),
        (0.25, [None, None, None, 1, 1, 1], 3),  # no row counted: no error
    ],
)
def test_fit_stops_after_two_epochs_without_progress(tol, errors, epochs):
    assert Told(tol=tol, max_iter=6, random_state=0).epochs(errors) == epochs


def test_an_epoch_goes_through_the_rows_as_the_seed_says():
    model = Told(tol=None, max_iter=3, random_state=4)
    model.epochs([1, 1, 1])
    rng = np.random.default_rng(4)
    assert model.orders == [rng.permutation(8).tolist() for _ in range(3)]
    model = Told(tol=None, max_iter=2, shuffle=False)
    model.epochs([1, 1])
    assert model.orders == [[], []]


def test_a_seed_may_be_a_number_a_generator_or_one_of_scikit_learn():
    rng = np.random.default_rng(3)
    assert _generator(rng) is rng
    assert _generator(5).random() == np.random.default_rng(5).random()
    drawn = {_generator(np.random.RandomState(k)).integers(2**62) for k in range(200)}
    assert len(drawn) == 200
    assert _generator(np.random.RandomState(1)).random() == _generator(np.random.RandomState(1)).random()
    for seed in (np.random.RandomState(0), np.random.default_rng(0), 3, None):
        PRank(random_state=seed).fit([[0.0], [1.0]], [1, 2])
    for wrong in (-1, "x", 1.5):
        with pytest.raises(InputError, match="random_state="):
            PRank(random_state=wrong).fit([[0.0], [1.0]], [1, 2])


@pytest.mark.parametrize(
    "options",
    [{"shuffle": "x"}, {"warm_start": "x"}, {"average": "x"}, {"standardize": "x"}, {"max_iter": 0}, {"tol": -1}],
)
@pytest.mark.parametrize("make", [PRank, PassiveAggressiveOrdinal, OrdinalPerceptron])
def test_options_of_online_learners_are_checked_however_they_begin(make, options):
    name = next(iter(options))
    for begin in (
        lambda model: model.fit([[0.0], [1.0]], [1, 2]),
        lambda model: model.partial_fit([[0.0]], [1]),
        lambda model: model.learn_one([0.0], 1),
    ):
        with pytest.raises(InputError, match=f"{name}="):
            begin(make(classes=[1, 2], **options))
    make(classes=[1, 2], tol=0, max_iter=1).fit([[0.0], [1.0]], [1, 2])
    if make is not PassiveAggressiveOrdinal:
        with pytest.raises(InputError, match="standardize=None"):
            make(classes=[1, 2], standardize=None).learn_one([0.0], 1)


# ---- one example ----------------------------------------------------------------------------------------------------


def test_an_example_may_be_any_row_of_numbers():
    wide = np.array([1.0, 9.0, 2.0, 9.0])
    plain = PassiveAggressiveOrdinal(C=0.5, classes=GRADES).learn_one(np.array([1.0, 2.0]), 4)
    for x in (wide[::2], np.array([1, 2]), np.array([1, 2], np.float32), [1, 2], (1.0, 2.0), pd.Series([1.0, 2.0])):
        model = PassiveAggressiveOrdinal(C=0.5, classes=GRADES).learn_one(x, 4)
        assert_array_equal(model.coef_, plain.coef_)
        assert model.predict_one(x) == plain.predict_one([1.0, 2.0]) == plain.predict([[1.0, 2.0]])[0]


@pytest.mark.parametrize("make", [PRank, PassiveAggressiveOrdinal])
@pytest.mark.parametrize(
    ("x", "message"),
    [
        ([1 + 2j, 3.0], "the example is not a row of numbers: its values are complex128"),
        (np.array(["2020-01-01", "2021-01-01"], dtype="M8[D]"), "not a row of numbers: its values are datetime64"),
        ([10**400, 1.0], "the example is not a row of numbers"),
        (["a", "b"], "the example is not a row of numbers"),
        ([1.0, 2.0, 3.0], r"the example has shape \(3,\), but this model has 2 features"),
        ([[1.0, 2.0]], r"the example has shape \(1, 2\), but this model has 2 features"),
        ({"a": 1.0, "b": 2.0}, "this model was not given feature names; pass the values as an array"),
    ],
)
def test_what_is_no_example_is_refused_in_words(make, x, message):
    model = make(classes=GRADES).learn_one([1.0, 2.0], 1)
    for ask in (lambda x: model.learn_one(x, 1), model.predict_one):
        with pytest.raises(InputError, match=message):
            ask(x)
    assert model.n_seen_ == 1


@pytest.mark.parametrize(
    ("x", "message"),
    [
        (3.0, "x is 3.0; give the features of one example, as a list, an array or a mapping"),
        ("text", "x is 'text'; give the features of one example"),
        ([], "the example has no features; a grade is learned from one at least"),
        ({}, "the example has no features; a grade is learned from one at least"),
    ],
)
def test_a_first_example_without_features_is_refused(x, message):
    model = PRank(classes=GRADES)
    with pytest.raises(InputError, match=message):
        model.learn_one(x, 1)
    with pytest.raises(NotFittedError):
        model.predict_one([1.0])
    with pytest.raises(NotFittedError):
        _ = model.mae_
    assert vars(model) == vars(PRank(classes=GRADES))  # nothing of it stays


def test_a_mapping_must_name_the_features_of_the_first():
    model = PRank(classes=GRADES).learn_one({"a": 1.0, "b": 2.0}, 1)
    for x, said in (
        ({"a": 1.0}, "lacks the features ['b'];"),
        ({"a": 1.0, "c": 2.0}, "lacks the features ['b'] and has the unknown features ['c'];"),
        ({"a": 1.0, "b": 2.0, "c": 2.0}, "has the unknown features ['c'];"),
    ):
        with pytest.raises(InputError, match=re.escape(f"the example {said} name each feature")):
            model.learn_one(x, 1)
    assert model.n_features_in_ == 2
    frame = PRank(classes=GRADES).partial_fit(pd.DataFrame({"a": [1.0], "b": [2.0]}), [1])
    assert frame.predict_one({"b": 2.0, "a": 1.0}) == model.predict_one([1.0, 2.0])


def test_where_each_named_feature_is_is_looked_up_once_and_not_saved():
    model = PassiveAggressiveOrdinal(C=0.5, classes=[1, 2], grow=True).learn_one({"a": 1.0}, 1)
    model.learn_one({"b": 3.0}, 2)
    assert model._columns() == {"a": 0, "b": 1}
    assert model._columns() is model._columns()
    assert "_columns_of" not in model.__getstate__()
    again = pickle.loads(pickle.dumps(model)).learn_one({"c": 1.0, "a": 2.0}, 1)
    assert again._columns() == {"a": 0, "b": 1, "c": 2}
    assert again.n_features_in_ == 3
    assert model.n_features_in_ == 2


@pytest.mark.parametrize("value", [True, 3, 2.5, np.float32(1), np.int8(2)])
def test_numbers_are_numbers(value):
    assert _is_number(value)


@pytest.mark.parametrize("value", [nan, inf, "3", None, 1j, np.complex128(1), [1]])
def test_other_things_are_no_numbers(value):
    assert not _is_number(value)


@pytest.mark.parametrize(
    ("label", "ends"),
    [
        (3, [3]), (np.int64(3), [3]), (np.array([1, 4]), [1, 4]), ((1, None), [1, None]), ([nan, 2], [None, 2]),
        (("", 2), [None, 2]), (([1], 2), [None, 2]), ("3-4", [3, 4]), ("a-b", ["a-b"]), ("low-top", ["low", "top"]),
        (pd.Interval(1, 3), [2, 3]), ({}, []), ([1, 2, 3], []), ((1, 2, 3), [(1, 2, 3)]), ("low", ["low"]),
    ],
)  # fmt: skip
def test_the_grades_that_a_label_names(label, ends):
    found = _ends_of(label, {"low": 0, "top": 1})
    assert found == (ends if ends != ["low", "top"] else [None, None])


def test_what_a_kernel_says_of_an_example_is_passed_on():
    assert finite(3) == 3
    assert finite(-1) == -1
    with pytest.raises(InputError, match="the example contains NaN or inf; fill in a value or leave the example out"):
        finite(-2)


def test_a_table_is_sparse_where_less_than_a_tenth_of_it_is_there():
    X = np.zeros((10, 10))
    X.flat[:9] = 1.0
    assert _sparse(csr_array(X))
    X.flat[9] = 1.0
    assert not _sparse(csr_array(X))
    assert not _sparse(np.zeros((10, 10)))
    data, indices, indptr = row_arrays(np.arange(6.0).reshape(2, 3))
    assert (data.tolist(), len(indices), len(indptr)) == ([0, 1, 2, 3, 4, 5], 0, 0)
    sparse = csr_array(X)
    assert all(a is b for a, b in zip(row_arrays(sparse), (sparse.data, sparse.indices, sparse.indptr), strict=True))


@pytest.mark.parametrize("begin", ["fit", "partial_fit"])
def test_a_sparse_table_is_scaled_and_not_centred(begin):
    rng = np.random.default_rng(0)
    X = np.zeros((60, 40))
    X[np.arange(60), rng.integers(0, 40, 60)] = rng.random(60) + 1
    y = 1 + (X.sum(axis=1) > 1.5)
    model = PRank(classes=[1, 2], max_iter=1, shuffle=False)
    getattr(model, begin)(csr_array(X), y)
    assert not model._scale.centred
    dense = PRank(classes=[1, 2], max_iter=1, shuffle=False)
    getattr(dense, begin)(X, y)
    assert dense._scale.centred
    if begin == "fit":
        loop = Loop("prank", [1.0], 2, 40, average=False, scaled=False)
        deviation = X.std(axis=0)
        Z = np.divide(X, deviation, out=np.zeros_like(X), where=deviation > 0)
        for z, grade in zip(Z, y, strict=True):
            loop.learn(z, grade - 1, grade - 1)
        assert_allclose(model.project(X) - model.thresholds_[0], Z @ loop.w[0] - loop.theta[0][0], atol=1e-9)


def test_a_scale_is_renewed_at_each_of_the_first_eight_rows_and_then_after_a_quarter_more():
    X, y, _ = graded(n=60, d=2)
    model = PassiveAggressiveOrdinal(classes=GRADES)
    renewed = []
    for k in range(60):
        model.learn_one(X[k], int(y[k]))
        if model._scale.pending == 0:
            renewed.append(k + 1)
        assert model._scale.count + model._scale.pending == k + 1
    assert renewed == [1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 15, 18, 22, 27, 33, 41, 51]


@pytest.mark.parametrize("large", [1e200, -1e300])
@pytest.mark.parametrize("options", [{}, {"C": 0.1}, {"kernel": "rbf"}])
def test_numbers_whose_squares_overflow_are_refused_and_change_nothing(large, options):
    X, y, _ = graded(n=30, d=2)
    model = PassiveAggressiveOrdinal(classes=GRADES, **options).partial_fit(X, y)
    before = model.project(X), model.thresholds_, model._losses.copy()
    with pytest.raises(InputError, match=r"contains NaN or inf|squares overflow"):
        model.learn_one([large, 0.0], 1)
    with pytest.raises(InputError, match="squares overflow; scale the features"):
        model.partial_fit(np.array([[1.0, 2.0], [large, 0.0]]), [1, 2])
    assert_array_equal(model.project(X), before[0])
    assert_array_equal(model.thresholds_, before[1])
    assert_array_equal(model._losses, before[2])
    assert model.n_seen_ == 30


def test_grades_are_known_from_the_first_call_on():
    model = PRank(classes=[1, 2]).partial_fit([[0.0]], [3], classes=[1, 2, 3])
    assert model.classes_.tolist() == [1, 2, 3]
    model.partial_fit([[1.0]], [2], classes=[1, 2, 3])
    with pytest.raises(InputError, match=r"classes is \[1, 2\], but the first call had \[1, 2, 3\]"):
        model.partial_fit([[1.0]], [2], classes=[1, 2])
    with pytest.raises(InputError, match=r"the grades are not known yet: pass classes=, from lowest to highest"):
        PRank().partial_fit([[1.0]], [2])


def test_progressive_predictions_are_made_before_each_row_is_learned():
    X, y, _ = graded(n=40, d=2)
    for options in ({}, {"C": 0.1}, {"C": 0.1, "kernel": "rbf"}, {"kernel": "rbf"}):
        table = PassiveAggressiveOrdinal(average=False, **options).progressive(X, y, classes=GRADES)
        model = PassiveAggressiveOrdinal(average=False, classes=GRADES, **options)
        off = []
        for x, grade in zip(X, y.tolist(), strict=True):
            before = model._errors if model.__dict__.get("classes_") is not None else 0
            model.learn_one(x, grade)
            off.append(model._errors - before)
        assert np.abs(table - y).tolist() == off
    assert table.dtype == y.dtype


@pytest.mark.parametrize(
    "call",
    [
        lambda: OrdinalClassifier()._grades(None),
        lambda: OnlineClassifier()._start(1),
        lambda: OnlineClassifier()._pass(*[None] * 7),
        lambda: OnlineClassifier()._learn(None, 0, 0),
        lambda: OnlineClassifier()._grade(None),
        lambda: OnlineClassifier()._strength(None),
        lambda: OnlineClassifier()._new_grades([]),
        lambda: OnlineClassifier()._add_grades([], []),
        lambda: OnlineClassifier()._widen(0, 0, 0),
        lambda: OnlineClassifier()._standardizes(),
        lambda: OnlineThreshold()._inner(),
        lambda: OnlineThreshold()._candidates(),
        lambda: OnlineThreshold()._code(),
    ],
)
def test_a_learner_that_lacks_a_hook_says_so(call):
    with pytest.raises(NotImplementedError):
        call()


# ---- grades that come -----------------------------------------------------------------------------------------------


def knows(*grades, **options):
    model = PassiveAggressiveOrdinal(C=0.5, classes=list(grades), **options)
    return model.partial_fit([[1.0]], [grades[0]])


@pytest.mark.parametrize(
    ("known", "new", "under", "over"),
    [
        ((3, 4), [7], [], [5, 6, 7]),
        ((3, 4), [1], [1, 2], []),
        ((3, 4), [1, 6, 3, 0], [0, 1, 2], [5, 6]),
        ((3, 4), [3.5], [], []),
        ((3, 4), [5.5, 2.5], [2.5], [5.5]),
        ((3, 4.5), [7], [], [7]),
        ((3, 4), [104], [], list(range(5, 105))),
        ((3, 4), [105], [], [105]),  # further than a hundred: only itself
        ((3, 4), [-97], list(range(-97, 3)), []),
        ((3, 4), [-98], [-98], []),
        ((3, 4), [7.0], [], [5, 6, 7]),
        ((3, 4), ["7", True, None], [], []),
        (("a", "b"), [7], [], []),
        ((False, True), [7], [], []),
    ],
)
def test_which_grades_are_new_and_which_lie_between(known, new, under, over):
    assert knows(*known)._new_grades(new) == (under, over)


def test_more_than_a_hundred_new_grades_at_once_are_refused():
    model = knows(3, 4)
    assert [len(each) for each in model._new_grades([2, 103])] == [1, 99]
    with pytest.raises(InputError, match=r"^101 new grades at once, from 2 to 104; add them by add_grades if they"):
        model._new_grades([2, 104])
    many = [10 + k / 2 for k in range(101)]
    with pytest.raises(InputError, match=r"^101 new grades at once, from 10.0 to 60.0;"):
        model._new_grades(many)
    with pytest.raises(InputError, match=r"^101 new grades at once, from -60.0 to -10.0;"):
        model._new_grades([-each for each in many])


@pytest.mark.parametrize("average", [False, True])
@pytest.mark.parametrize("options", [{"C": 0.5}, {"C": 0.5, "kernel": "rbf"}, {}])
def test_new_thresholds_stand_beyond_the_others_in_every_candidate(average, options):
    X, y, _ = graded(n=30, d=2, K=3)
    model = PassiveAggressiveOrdinal(average=average, classes=[3, 4, 5], **options).partial_fit(X, y + 2)
    lanes = [[part.copy() for part in model._parts(k)] for k in range(len(model._lanes))]
    judged, before = model._judged.copy(), model.thresholds_
    scores = model.project(X)
    model.add_grades(below=[1, 2], above=[7])
    assert model.classes_.tolist() == [1, 2, 3, 4, 5, 7]
    assert model._codes == {1: 0, 2: 1, 3: 2, 4: 3, 5: 4, 7: 5}
    for k, (w, theta, lag, late) in enumerate(lanes):
        gap = theta[1] - theta[0]
        new = model._parts(k)
        assert_allclose(new[0], w)
        assert_allclose(new[1], [theta[0] - 2 * gap, theta[0] - gap, *theta, theta[1] + gap])
        if average:
            assert_allclose(new[2], lag)
            assert_allclose(new[3], [late[0], late[0], *late, late[1]])
        if len(judged):
            d, seen = len(w), judged[k]
            assert_allclose(model._judged[k][:d], seen[:d])
            ends = [seen[d] - 2 * gap, seen[d] - gap, *seen[d:], seen[d + 1] + gap]
            assert_allclose(model._judged[k][d:], ends)
    assert_allclose(model.thresholds_[2:4] - model.project(X[:1]), before - scores[:1])
    model.partial_fit(X, np.where(y == 3, 7, y))
    assert model.n_seen_ == 60


def test_beside_a_single_threshold_the_new_ones_stand_a_unit_apart_once_something_was_seen():
    model = knows(1, 2, average=False)
    only = model.thresholds_[0]
    assert_allclose(model.add_grades(below=[0], above=[3, 4]).thresholds_, only + np.array([-1, 0, 1, 2]))
    fresh = PassiveAggressiveOrdinal(C=0.5, classes=[1, 2]).learn_one([1.0], 1, weight=0.0)
    assert fresh.add_grades(above=[3, 4]).thresholds_.tolist() == [0.0, 0.0, 0.0]
    assert _with_zeros(np.array([1.0]), 2).tolist() == [1.0, 0.0, 0.0]
    assert _beyond(np.array([1.0, 5.0]), (np.array([-2.0]), np.array([3.0]))).tolist() == [-1.0, 1.0, 5.0, 8.0]


@pytest.mark.parametrize(
    ("known", "new", "message"),
    [
        ((1, 2), {"above": ["x"]}, r"the grades are numbers, \['x'\] are not all; give numbers"),
        ((1, 2), {"above": [True]}, r"the grades are numbers, \[True\] are not all; give numbers"),
        ((1.5, 2), {"below": [0, None]}, r"the grades are numbers, \[0, None\] are not all; give numbers"),
        (("a", "b"), {"below": ["c", 3]}, r"the grades are words, \['c', 3\] are not all; give words"),
        ((1, 2), {"above": [2]}, "each grade may appear once"),
        ((1, 2), {"above": [0]}, r"the grades \[1, 2, 0\] do not rise from lowest to highest; give them in that order"),
        ((1, 2), {"below": [3]}, r"the grades \[3, 1, 2\] do not rise"),
        ((1, 2), {"below": 7}, "below is 7; give grades"),
        ((1, 2), {"above": "xy"}, "above is 'xy'; give grades"),
    ],
)
def test_grades_that_cannot_be_added_are_refused(known, new, message):
    model = knows(*known)
    with pytest.raises(InputError, match=message):
        model.add_grades(**new)
    assert model.classes_.tolist() == list(known)
    assert len(model.thresholds_) == 1


def test_grades_of_any_kind_may_be_added():
    assert knows(1, 2).add_grades(above=[np.int64(3)], below=[np.float64(0.5)]).classes_.tolist() == [0.5, 1, 2, 3]
    assert knows(2, 1).add_grades(above=[3]).classes_.tolist() == [2, 1, 3]  # an order of the user's own
    kinds = np.empty(2, dtype=object)
    kinds[:] = ["a", 1]
    model = PassiveAggressiveOrdinal(C=0.5, classes=kinds).partial_fit([[1.0]], np.array(["a"], dtype=object))
    added = model.add_grades(above=[None, 2.5]).classes_
    assert (added.tolist(), added.dtype) == (["a", 1, None, 2.5], object)
    with pytest.raises(NotFittedError):
        PassiveAggressiveOrdinal(classes=[1, 2]).add_grades(above=[3])
    X, y, _ = graded(n=40, d=2)
    with pytest.raises(InputError, match="probability=True was fitted for the grades known then; fit again"):
        PassiveAggressiveOrdinal(probability=True, random_state=0).fit(X, y).add_grades(above=[6])


@pytest.mark.parametrize("average", [False, True])
def test_other_units_leave_what_a_model_says_as_it_was(average):
    X, y, _ = graded(n=30, d=2)
    ratio, shift = np.array([2.0, 0.5]), np.array([1.0, -3.0])
    for options in ({"C": 0.5}, {"C": 0.5, "standardize": True}, {}):
        model = PassiveAggressiveOrdinal(average=average, classes=GRADES, **options).partial_fit(X, y)
        before = model.project(X)[:, None] - model.thresholds_
        model._change_units(ratio, shift)
        Z = (X - shift) / ratio
        assert_allclose(model.project(Z)[:, None] - model.thresholds_, before, atol=1e-9)
        on = PassiveAggressiveOrdinal(average=average, classes=GRADES, **options).partial_fit(X, y)
        if "standardize" in options or not options:  # then it also learns on as before
            model.partial_fit(Z[:9], y[:9])
            on.partial_fit(X[:9], y[:9])
            assert_allclose(
                model.project(Z)[:, None] - model.thresholds_, on.project(X)[:, None] - on.thresholds_, atol=1e-9
            )


# ---- growing --------------------------------------------------------------------------------------------------------


def test_a_table_with_new_grades_is_learned_from_at_both_ends():
    X = np.array([[1.0], [-2.0], [3.0]])
    for y in ([2, 0, 5], [[2, 3], [0, 1], [4, 5]]):
        grown = PassiveAggressiveOrdinal(C=0.5, classes=[2, 3], grow=True).partial_fit(X[:1], [2])
        assert grown.partial_fit(X, y).classes_.tolist() == [0, 1, 2, 3, 4, 5]
        assert grown.n_seen_ == 4
    with pytest.raises(InputError, match="row 2: 0 is not one of the grades 2, 3"):
        knows(2, 3).partial_fit(X, [2, 0, 5])
    first = PassiveAggressiveOrdinal(C=0.5, classes=[2, 3], grow=True)
    with pytest.raises(InputError, match="row 2: 0 is not one of the grades"):
        first.partial_fit(X, [2, 0, 5])


@pytest.mark.parametrize("options", [{"C": 0.5}, {}, {"C": 0.5, "kernel": "rbf"}])
def test_new_features_and_grades_of_one_example_come_together(options):
    model = PassiveAggressiveOrdinal(classes=[1, 2], grow=True, **options)
    for k in range(12):
        model.learn_one({"a": float(k % 3)}, 1 + k % 2)
    model.learn_one({"b": 2.0, "c": 1.0}, (2, 4))
    assert model.classes_.tolist() == [1, 2, 3, 4]
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]
    assert (model.n_features_in_, model._shape) == (3, (3,))
    table = pd.DataFrame([[0.0, 2.0, 1.0], [0.0, 0.0, 1.0]], columns=["a", "b", "c"])
    assert model.predict(table).tolist() == [model.predict_one({"b": 2.0, "c": 1.0}), model.predict_one({"c": 1.0})]
    assert model.predict_one({"c": 1.0}) in (1, 2, 3, 4)
    for k in range(12):
        model.learn_one({"c": float(k % 5), "d": 1.0}, 1 + k % 4)
    assert model.n_features_in_ == 4
    assert model.n_seen_ == 25
    listed = PassiveAggressiveOrdinal(classes=[1, 2], grow=True, **options).learn_one([1.0, 2.0], 3)
    assert listed.classes_.tolist() == [1, 2, 3]
    with pytest.raises(InputError, match="2 features"):
        listed.learn_one([1.0, 2.0, 3.0], 1)


@pytest.mark.parametrize("hole", [nan, inf])
def test_a_hole_is_refused_before_a_new_grade_or_example_is_taken_in(hole):
    model = PassiveAggressiveOrdinal(C=0.5, classes=[1, 2], grow=True).learn_one([1.0, 2.0], 1)
    with pytest.raises(InputError, match="the example contains NaN or inf"):
        model.learn_one([hole, 0.0], 9)
    assert (model.classes_.tolist(), model.n_seen_) == ([1, 2], 1)
    for options in ({"C": 0.5}, {}):
        kept = PassiveAggressiveOrdinal(kernel="rbf", classes=[1, 2], **options).learn_one([1.0, 2.0], 1)
        with pytest.raises(InputError, match=r"Input X contains (NaN|inf): row 2, feature 1;"):
            kept.partial_fit([[0.0, 1.0], [hole, 0.0]], [1, 2])
        with pytest.raises(
            InputError, match="the example contains NaN or inf; fill in a value or leave the example out"
        ):
            kept.predict_one([hole, 0.0])
        assert kept.n_seen_ == len(kept.support_vectors_) == 1


def test_a_fault_of_the_example_s_own_is_not_taken_for_a_model_that_is_not_fitted():
    class Odd:
        def __array__(self, dtype=None, copy=None):
            raise AttributeError("no such thing")

    with pytest.raises(AttributeError, match="no such thing"):
        knows(1, 2).predict_one(Odd())


# ---- probabilities and options --------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [12, 13, 2])
@pytest.mark.parametrize("options", [{}, {"C": 0.1}, {"C": 0.1, "kernel": "rbf"}, {"kernel": "rbf"}])
@pytest.mark.filterwarnings("ignore:the model predicts", "ignore:no label tells")
def test_a_fifth_of_the_rows_is_kept_out_and_gives_the_chances(n, options):
    X, y, _ = graded(n=n, d=2, K=2)
    y = np.arange(n) % 2 + 1
    weight = np.linspace(1, 2, n)
    model = PassiveAggressiveOrdinal(probability=True, random_state=3, max_iter=1, **options)
    model.fit(X, y, sample_weight=weight)
    held = np.random.default_rng(3).permutation(n)[: max(1, round(0.2 * n))]
    assert model.n_seen_ == n - len(held)
    again = CumulativeLogit(l2=1e-3, classes=[1, 2]).fit(model.project(X[held])[:, None], y[held])
    assert_allclose(model.predict_proba(X), again.predict_proba(model.project(X)[:, None]), atol=1e-6)
    assert model.calibration_.classes_.tolist() == [1, 2]
    with pytest.raises(InputError, match="probability=True needs rows held out of training: use fit, or set"):
        model.partial_fit(X, y)
    for learn in (lambda: model.learn_one(X[0], 1), lambda: model.progressive(X, y)):
        with pytest.raises(InputError, match="probability=True needs rows held out of training: use fit, or set"):
            learn()
    assert model.n_seen_ == n - len(held)
    with pytest.raises(NotFittedError):
        PassiveAggressiveOrdinal(probability=True).predict_proba(X)
    with pytest.raises(InputError, match="probability=True holds rows out of training, but there is only 1 row"):
        PassiveAggressiveOrdinal(probability=True, classes=[1, 2], **options).fit(X[:1], y[:1])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"C": "much"}, "C='much': it must be 'auto' or a positive number"),
        ({"C": -1.0}, "C=-1"),
        ({"standardize": False}, "C='auto' needs features on one scale: set standardize=True, or C to a number"),
        ({"gamma": -1}, "gamma=-1"),
        ({"budget": 0}, "budget=0"),
        ({"budget": 1.5}, "budget=1.5"),
        ({"grow": 2}, "grow=2"),
        ({"kernel": 3}, "kernel=3"),
        ({"thresholds_init": [0.0]}, r"thresholds_init= is in the units of X.*leave standardize= out"),
        ({"C": 0.5, "standardize": True, "coef_init": [0.0]}, "coef_init= is in the units of X"),
        (
            {"C": 0.5, "kernel": "rbf", "coef_init": [0.0]},
            "coef_init= is a w, which a model with a kernel does not have",
        ),
    ],
)
def test_options_that_do_not_go_together_are_refused(options, message):
    with pytest.raises(InputError, match=message):
        PassiveAggressiveOrdinal(classes=[1, 2], **options).learn_one([1.0], 1)


@pytest.mark.parametrize(
    "options",
    [
        {"variant": "pa", "standardize": False}, {"variant": "pa"}, {"budget": 1, "kernel": "rbf"}, {"budget": None},
        {"C": 0.5, "thresholds_init": [0.0, 0.0]}, {"C": 0.5, "kernel": "rbf", "thresholds_init": [0.5, 1.0]},
        {"C": 1e-9}, {"C": 0.5, "standardize": False, "coef_init": [2.0]},
    ],
)  # fmt: skip
def test_options_that_go_together_are_taken(options):
    model = PassiveAggressiveOrdinal(classes=[1, 2, 3], **options).learn_one([1.0], 1, weight=1.0)
    assert model.n_seen_ == 1
    expected = inf if options.get("variant") == "pa" else options.get("C", 0.003)
    assert expected == model.C_
    if "thresholds_init" in options:
        start = PassiveAggressiveOrdinal(classes=[1, 2, 3], **options).learn_one([1.0], 1, weight=0.0)
        assert start.thresholds_.tolist() == options["thresholds_init"]


def test_what_a_model_with_a_kernel_keeps_is_told_in_the_units_of_x():
    X, y, _ = graded(n=20, d=2)
    X = X * [10.0, 1.0] + [5.0, 0.0]
    for options in ({"C": 0.5}, {"C": 0.5, "standardize": True}, {}):
        model = PassiveAggressiveOrdinal(kernel="rbf", classes=GRADES, **options).partial_fit(X, y)
        kept = model.support_vectors_
        assert np.abs(kept[:, None] - X).sum(axis=2).min(axis=1).max() < 1e-9
        kept[:] = 0.0
        assert np.abs(model.support_vectors_).max() > 0  # a copy
        scale = (lambda A: A) if model._scale is None else model._scale.apply
        gram = np.exp(-((scale(X)[:, None] - scale(model.support_vectors_)) ** 2).sum(axis=2) / 2)
        assert_allclose(model.project(X), gram @ model.dual_coef_, atol=1e-9)
        assert [model.predict_one(x) for x in X] == model.predict(X).tolist()
    with pytest.raises(AttributeError, match="a model without a kernel keeps no examples; see coef_"):
        _ = PassiveAggressiveOrdinal(C=0.5, classes=GRADES).partial_fit(X, y).support_vectors_
    with pytest.raises(NotFittedError):
        _ = PassiveAggressiveOrdinal(kernel="rbf").support_vectors_
    upgraded = PassiveAggressiveOrdinal.upgraded({"C": 3, "budget": 5}, 1)
    new = {"kernel": "linear", "gamma": None, "grow": False, "coef_init": None, "thresholds_init": None}
    assert upgraded == new | {"budget": 5, "C": 3}
