"""What every ordinal estimator must do: taken over by the tests of each."""

import pickle
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, KFold

import podium
from podium.errors import DataWarning, InputError, NotFittedError, PodiumWarning
from podium.ordinal import neg_mae


def graded(n=300, d=4, K=5, seed=0, noise=0.3):
    """Rows, exact grades 1..K, and ranges that contain them."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    z = X @ rng.normal(size=d) + rng.normal(scale=noise, size=n)
    y = 1 + np.searchsorted(np.quantile(z, np.arange(1, K) / K), z)
    ranges = np.stack([np.maximum(1, y - rng.integers(0, 2, n)), np.minimum(K, y + rng.integers(0, 2, n))], axis=1)
    return X, y, ranges


@st.composite
def tables(draw):
    """Arbitrary rows and ranges: units from 1e-8 to 1e8, constant columns, far origins, few rows, shared grades."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, K, d = draw(st.integers(1, 40)), draw(st.integers(2, 6)), draw(st.integers(1, 4))
    unit = np.array(draw(st.lists(st.sampled_from([0, 1e-8, 1e-3, 1, 1e3, 1e8]), min_size=d, max_size=d)))
    origin = np.array(draw(st.lists(st.sampled_from([0, 0, 1, -1e4, 1.7e9]), min_size=d, max_size=d)))
    ends = np.sort(rng.integers(0, K, size=(n, 2)), axis=1)
    return rng.normal(size=(n, d)) * unit + origin, *ends.T, K


def assert_finite(model):
    """No NaN among the numbers learned, and no infinity but in open thresholds."""
    assert np.isfinite(getattr(model, "coef_", 0)).all()
    assert np.isfinite(getattr(model, "intercept_", 0)).all()
    assert not np.isnan(getattr(model, "thresholds_", 0)).any()


def learned(model):
    """What a model goes by: its directions, or, with a kernel, how far it went along the examples kept."""
    return model.coef_ if hasattr(model, "coef_") else model.dual_coef_


class OrdinalSuite:
    """Subclass with `make()`, a fresh estimator with a fixed seed."""

    def make(self):
        raise NotImplementedError

    def test_ranges_in_one_table_or_two_columns_are_the_same(self):
        X, _, ranges = graded()
        one = self.make().fit(X, ranges)
        two = self.make().fit(X, y_lower=ranges[:, 0], y_upper=ranges[:, 1])
        assert_array_equal(one.predict(X), two.predict(X))

    def test_a_range_of_one_grade_is_that_grade(self):
        X, y, _ = graded()
        assert_array_equal(self.make().fit(X, y).predict(X), self.make().fit(X, np.stack([y, y], axis=1)).predict(X))

    @pytest.mark.parametrize("nothing", [None, np.nan])
    def test_a_missing_end_is_open(self, nothing):
        X, _, ranges = graded()
        opened = ranges.astype(object)
        opened[ranges[:, 0] == 1, 0] = nothing
        opened[ranges[:, 1] == 5, 1] = nothing
        grades = [1, 2, 3, 4, 5]
        closed = self.make().set_params(classes=grades).fit(X, ranges).predict(X)
        assert_array_equal(self.make().set_params(classes=grades).fit(X, opened).predict(X), closed)

    def test_names_of_grades_do_not_matter_only_their_order(self):
        X, y, _ = graded()
        names = np.array(["awful", "zero", "meh", "alright", "best"])
        numbers = self.make().fit(X, y).predict(X)
        named = self.make().set_params(classes=names.tolist()).fit(X, names[y - 1])
        assert_array_equal(named.predict(X), names[numbers - 1])

    def test_sparse_rows_and_single_precision_give_the_same_grades(self):
        X, _, ranges = graded()
        single = X.astype(np.float32)
        expected = self.make().fit(single.astype(float), ranges).predict(single.astype(float))
        for rows in (single, csr_array(single), csr_array(single.astype(float)), np.asfortranarray(single)):
            assert np.mean(self.make().fit(rows, ranges).predict(rows) != expected) < 0.02

    def test_the_arrays_passed_in_are_left_alone(self):
        X, _, ranges = graded()
        before = X.copy(), ranges.copy()
        X.setflags(write=False)
        self.make().fit(X, ranges).predict(X)
        assert_array_equal(X, before[0])
        assert_array_equal(ranges, before[1])

    def test_score_counts_what_lies_inside_the_range(self):
        X, _, ranges = graded()
        model = self.make().fit(X, ranges)
        got = model.predict(X)
        assert model.score(X, ranges) == pytest.approx(np.mean((got >= ranges[:, 0]) & (got <= ranges[:, 1])))
        away = np.maximum(0, np.maximum(ranges[:, 0] - got, got - ranges[:, 1]))
        assert neg_mae(model, X, ranges) == pytest.approx(-away.mean())

    def test_grid_search_takes_ranges(self):
        X, _, ranges = graded()
        opened = ranges.astype(float)
        opened[::7, 0] = np.nan
        model = self.make().set_params(classes=[1, 2, 3, 4, 5])
        for y, cv in ((ranges, 3), (opened, KFold(3))):
            search = GridSearchCV(model, {"classes": [[1, 2, 3, 4, 5]]}, scoring=neg_mae, cv=cv).fit(X, y)
            assert -2 < search.best_score_ <= 0

    def test_a_model_survives_pickle_and_a_model_file(self, tmp_path):
        X, y, _ = graded()
        model = self.make().fit(X, y)
        podium.save(model, tmp_path / "m.podium")
        for again in (pickle.loads(pickle.dumps(model)), podium.load(tmp_path / "m.podium")):
            assert_array_equal(again.predict(X), model.predict(X))
            assert_array_equal(again.classes_, model.classes_)
            assert again.get_params() == model.get_params()

    @pytest.mark.parametrize(
        ("X", "y", "message"),
        [
            ([[1.0], [2.0]], [[2, 1], [1, 2]], "row 1: the range .* lower end above"),
            ([[1.0], [2.0]], [1, 7], "row 2: 7 is not one of the grades 1, 2, 3"),
            ([[1.0], [2.0]], [[1, 2], [2, 9]], "row 2: 9 is not one of the grades"),
            ([[1.0], [np.nan]], [1, 2], "NaN: row 2, feature 1"),
            ([[1.0], [2.0], [-np.inf]], [1, 2, 3], "-inf: row 3, feature 1"),
            ([[1.0], [2.0]], [1, 2, 3], "2 rows and y 3 labels"),
            ([[1.0], [2.0]], [[1, 2, 3], [1, 2, 3]], r"y has shape \(2, 3\)"),
            ([[1.0], [2.0]], [1.0, np.nan], "row 2: no grade"),
            ([[1.0], [2.0]], None, "requires y"),
        ],
    )
    def test_bad_input_is_named_with_its_row(self, X, y, message):
        with pytest.raises(InputError, match=message):
            self.make().set_params(classes=[1, 2, 3]).fit(X, y)

    def test_both_forms_of_labels_at_once_are_refused(self):
        with pytest.raises(InputError, match="not both"):
            self.make().fit([[1.0], [2.0]], [1, 2], y_lower=[1, 2])

    def test_another_number_of_features_is_refused(self):
        X, y, _ = graded()
        with pytest.raises(ValueError, match="4 features"):
            self.make().fit(X, y).predict(X[:, :2])

    def test_nothing_is_predicted_before_fit(self):
        with pytest.raises(NotFittedError):
            self.make().predict([[1.0]])

    def test_whatever_is_accepted_gives_grades_and_finite_coefficients(self):
        @settings(max_examples=40, deadline=None, database=None)
        @given(case=tables(), form=st.sampled_from([np.asarray, csr_array]))
        def law(case, form):
            X, low, high, K = case
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", PodiumWarning)
                model = self.make().set_params(classes=range(K)).fit(form(X), y_lower=low, y_upper=high)
            assert_finite(model)
            assert np.isin(model.predict(form(X)), range(K)).all()

        law()

    @pytest.mark.parametrize("exact", [True, False])
    def test_one_grade_that_suits_all_labels_is_always_predicted(self, exact):
        X, _, _ = graded(n=40)
        low, high = ([2] * 40, [2] * 40) if exact else ([1, 2] * 20, [2, 3] * 20)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            model = self.make().set_params(classes=[1, 2, 3, 4]).fit(X, y_lower=low, y_upper=high)
        assert_finite(model)
        assert model.score(X, np.column_stack([low, high])) == 1
        with pytest.raises(InputError, match="only one class"):
            self.make().set_params(classes=None).fit(X, [2] * 40)

    def test_fit_starts_afresh(self):
        X, y, _ = graded()
        model = self.make()
        grades = model.fit(X, y).predict(X)
        assert_array_equal(model.fit(1e6 * X[:50, :2], y[:50] > 3).fit(X, y).predict(X), grades)

    def test_a_clone_learns_the_same(self):
        X, y, _ = graded()
        model = self.make()
        assert_array_equal(clone(model).fit(X, y).predict(X), model.fit(X, y).predict(X))


class DefaultsSuite(OrdinalSuite):
    """Besides, for learners as they come, with nothing set."""

    @pytest.mark.parametrize("unit", [1e-8, 1e-3, 1e3, 1e8])
    @pytest.mark.parametrize("form", [np.asarray, csr_array])
    def test_the_units_of_the_features_do_not_matter(self, unit, form):
        X, _, ranges = graded(n=200)
        X = X + np.array([0, 1, -2, 5])
        grades = self.make().fit(form(X), ranges).predict(form(X))
        other = self.make().fit(form(unit * X), ranges).predict(form(unit * X))
        assert np.mean(other != grades) <= 0.01  # rounding may decide a tie
        mixed = X * [unit, 1, 1 / unit, 1]
        assert np.mean(self.make().fit(form(mixed), ranges).predict(form(mixed)) != grades) <= 0.01

    def test_a_column_of_clock_times_does_no_harm(self):
        X, y, _ = graded(n=200)
        seconds = 1.7e9 + np.random.default_rng(1).integers(0, 10**7, 200)
        model = self.make().fit(np.column_stack([X, seconds]), y)
        assert_finite(model)
        plain = neg_mae(self.make().fit(X, y), X, y)
        assert neg_mae(model, np.column_stack([X, seconds]), y) >= plain - 0.25

    def test_a_constant_column_changes_nothing(self):
        X, y, _ = graded(n=200)
        grades = self.make().fit(X, y).predict(X)
        for constant in (0.0, 1.0, -1.7e9, 0.1):
            more = np.column_stack([X, np.full(200, constant)])
            model = self.make().fit(more, y)
            assert_finite(model)
            assert np.mean(model.predict(more) != grades) <= 0.01

    def test_a_model_that_always_says_the_same_says_so(self):
        rng = np.random.default_rng(0)
        X, y = rng.normal(size=(60, 1)) * 0 + 3, np.repeat([1, 2, 2, 2, 3], 12)
        with pytest.warns(DataWarning, match="for every row it was fitted on"):
            self.make().fit(X, y)


class ThresholdSuite(OrdinalSuite):
    """Besides, for models with a direction and thresholds."""

    def test_grades_are_where_the_score_lies_among_sorted_thresholds(self):
        X, y, _ = graded()
        model = self.make().fit(X, y)
        assert (np.diff(model.thresholds_) >= 0).all()
        assert_allclose(model.project(X), X @ model.coef_)
        assert model.coef_.shape == (4,)
        assert model.thresholds_.shape == (4,)

    def test_the_largest_decision_is_the_prediction(self):
        X, y, _ = graded()
        model = self.make().fit(X, y)
        assert model.decision_function(X).shape == (300, 5)
        assert_array_equal(model.classes_[model.decision_function(X).argmax(axis=1)], model.predict(X))
        two = self.make().fit(X, y > 2)
        assert two.decision_function(X).shape == (300,)
        assert_array_equal(two.decision_function(X) > 0, two.predict(X))


class OnlineSuite(OrdinalSuite):
    """Besides, for learners that see one example at a time."""

    def test_partial_fit_in_pieces_is_partial_fit_at_once_is_learn_one(self):
        X, y, ranges = graded()
        grades = [1, 2, 3, 4, 5]
        for labels in (y, ranges):
            once = self.make().partial_fit(X, labels, classes=grades)
            pieces = self.make().partial_fit(X[:100], labels[:100], grades).partial_fit(X[100:], labels[100:])
            single = self.make().set_params(classes=grades)
            for x, label in zip(X, labels.tolist(), strict=True):
                single.learn_one(x, label if isinstance(label, int) else tuple(label))
            for other in (pieces, single):
                assert_allclose(learned(other), learned(once), atol=1e-9)
                assert other.mae_ == pytest.approx(once.mae_)
                assert (other.n_seen_, other.n_updates_) == (once.n_seen_, once.n_updates_)
            assert [single.predict_one(x) for x in X] == single.predict(X).tolist()

    def test_one_example_may_be_a_list_or_a_mapping(self):
        X, y, _ = graded(n=50)
        plain, listed, named = (self.make().set_params(classes=[1, 2, 3, 4, 5]) for _ in range(3))
        for x, label in zip(X, y.tolist(), strict=True):
            plain.learn_one(x, label)
            listed.learn_one(x.tolist(), label)
            named.learn_one(dict(zip("abcd", x, strict=True)), label)
        assert_allclose(learned(listed), learned(plain))
        assert_allclose(learned(named), learned(plain))
        assert named.predict_one(dict(zip("dcba", X[0][::-1], strict=True))) == plain.predict_one(X[0])

    def test_a_weight_of_one_may_be_any_number_that_is_one(self):
        X, y, _ = graded(n=50)
        plain, *others = (self.make().set_params(classes=[1, 2, 3, 4, 5]) for _ in range(4))
        for x, label in zip(X, y.tolist(), strict=True):
            plain.learn_one(x, label)
            for model, one in zip(others, (1, True, np.int8(1)), strict=True):
                model.learn_one(x, label, weight=one)
        for model in others:
            assert_allclose(learned(model), learned(plain))

    def test_progressive_predictions_give_the_progressive_error(self):
        X, _, ranges = graded()
        model = self.make()
        got = model.progressive(X, ranges, classes=[1, 2, 3, 4, 5])
        away = np.maximum(0, np.maximum(ranges[:, 0] - got, got - ranges[:, 1]))
        assert model.mae_ == pytest.approx(away.mean())

    def test_learning_needs_known_grades(self):
        with pytest.raises(InputError, match="grades are not known yet"):
            self.make().partial_fit([[1.0]], [1])
        with pytest.raises(InputError, match="grades are not known yet"):
            self.make().learn_one([1.0], 1)

    def test_grades_may_not_change_on_the_way(self):
        model = self.make().partial_fit([[1.0]], [1], classes=[1, 2])
        with pytest.raises(InputError, match="first call had"):
            model.partial_fit([[1.0]], [1], classes=[1, 2, 3])

    @pytest.mark.parametrize(
        ("x", "y", "message"),
        [
            ([np.nan, 1.0], 1, "NaN or inf"),
            ([1.0], 1, "2 features"),
            (["a", "b"], 1, "not a row of numbers"),
            ([1.0, 1.0], 9, "9 is not one of the grades 1, 2, 3"),
            ([1.0, 1.0], (3, 1), "lower end above"),
            ([1.0, 1.0], [1, 2, 3], "not one of the grades"),
            ({"a": 1.0, "b": 2.0}, 1, "not given feature names"),
        ],
    )
    def test_a_bad_example_is_refused_and_changes_nothing(self, x, y, message):
        model = self.make().set_params(classes=[1, 2, 3]).partial_fit([[1.0, 2.0]], [2])
        before = learned(model), model.n_seen_
        with pytest.raises(InputError, match=message):
            model.learn_one(x, y)
        assert_array_equal(learned(model), before[0])
        assert model.n_seen_ == before[1]

    def test_a_warm_start_goes_on_from_where_it_was(self):
        X, y, _ = graded()
        twice = self.make().set_params(warm_start=True, max_iter=1, shuffle=False).fit(X, y).fit(X, y)
        passes = self.make().set_params(max_iter=2, tol=None, shuffle=False).fit(X, y)
        assert_allclose(learned(twice), learned(passes), atol=1e-9)
        assert twice.n_seen_ == 600

    def test_fit_then_partial_fit_goes_on_and_fit_starts_afresh(self):
        X, y, _ = graded()
        once = self.make().fit(X, y)
        on = self.make().fit(X, y).partial_fit(X[:50], y[:50])
        assert on.n_seen_ == once.n_seen_ + 50
        assert_finite(on)
        assert neg_mae(on, X, y) >= neg_mae(once, X, y) - 0.3
        assert_allclose(learned(on.fit(X, y)), learned(once))


class OnlineDefaultsSuite(OnlineSuite, DefaultsSuite):
    """Besides, for online learners with nothing set."""

    @pytest.mark.parametrize("unit", [1e-8, 1e8])
    def test_in_a_stream_the_units_of_the_features_do_not_matter_either(self, unit):
        X, y, _ = graded()
        X = X + np.array([0, 1, -2, 1000])
        plain, scaled = (self.make().partial_fit(c * X, y, classes=[1, 2, 3, 4, 5]) for c in (1, unit))
        assert_finite(scaled)
        assert np.mean(scaled.predict(unit * X) != plain.predict(X)) <= 0.01
        assert scaled.mae_ == pytest.approx(plain.mae_, abs=0.01)
