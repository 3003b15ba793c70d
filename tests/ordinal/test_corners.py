"""Corners of the learners of grades: weights below one, features that come later, grades beyond the ends, no rows."""

import math
import types

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.sparse import csr_array
from sklearn.utils import get_tags

from podium.errors import InputError
from podium.ordinal import (
    CumulativeLogit,
    Grader,
    MarginOrdinal,
    PassiveAggressiveOrdinal,
    PRank,
    conformal,
    neg_mae,
    read_labels,
    scaling,
)
from podium.ordinal.grading.evaluation import Evaluation
from podium.ordinal.grading.landmarks import LandmarkMap, RowSample
from podium.ordinal.grading.recent import RecentSets
from podium.ordinal.grading.running import RunningScale
from podium.ordinal.labels import _codes
from podium.ordinal.losses import mistake_bound

X = np.array([[0.0, 4.0], [1.0, 3.0], [5.0, 1.0], [6.0, 0.5], [2.0, 2.0], [7.0, 9.0]])
Y = [1, 1, 2, 3, 2, 3]


def test_the_scale_of_features_is_taken_from_rows_of_any_weight_above_zero():
    """Rows of weight 0 change nothing, whatever they hold; rows of weight ½ and ¼ count as rows."""
    half = [0.5, 0.25, 0.5, 0.25, 0.5, 0.25]
    plain = PassiveAggressiveOrdinal(standardize=True, shuffle=False).fit(X, Y, sample_weight=half)
    more = np.vstack([X, [[1e6, -1e6]]])
    also = PassiveAggressiveOrdinal(standardize=True, shuffle=False).fit(more, [*Y, 1], sample_weight=[*half, 0.0])
    assert_allclose(plain._scale.apply(X), also._scale.apply(X))
    assert np.abs(plain._scale.apply(X)).max() < 10
    whole = PassiveAggressiveOrdinal(standardize=True, shuffle=False).fit(X, Y)
    assert_allclose(plain._scale.apply(X), whole._scale.apply(X))


def test_named_features_may_be_of_any_length_and_kind():
    learner = PassiveAggressiveOrdinal(classes=[1, 2, 3], grow=True)
    learner.learn_one({"a": 1.0, "bb": 2.0}, 1)
    learner.learn_one({"a": 1.0, "a much longer name": 2.0, 7: 1.0}, 2)
    assert learner.feature_names_in_.tolist() == ["a", "bb", "a much longer name", 7]
    assert learner.feature_names_in_.dtype == object
    mixed = PRank(classes=[1, 2])
    mixed.learn_one({1: 1.0, "x": 0.0}, 1)
    assert mixed.feature_names_in_.tolist() == [1, "x"]


def test_what_is_not_finite_is_refused_before_anything_is_widened():
    learner = PassiveAggressiveOrdinal(classes=[1, 2, 3], grow=True)
    learner.learn_one({"a": 1.0}, 1)
    for x in ({"a": 1.0, "b": np.inf}, {"a": np.nan, "c": 1.0}):
        with pytest.raises(InputError, match=r"finite|NaN|infinity"):
            learner.learn_one(x, 2)
    assert learner.feature_names_in_.tolist() == ["a"]
    assert learner.n_features_in_ == 1


def test_new_grades_stand_a_mean_gap_apart_beyond_the_ends():
    learner = PRank(classes=[3, 4, 5, 6]).fit(X, [3, 3, 4, 5, 4, 6])
    before = learner.thresholds_.copy()
    gap = (before[-1] - before[0]) / 2
    learner.add_grades(below=[1, 2], above=[7, 8, 9])
    expected = [*(before[0] + gap * np.array([-2, -1])), *before, *(before[-1] + gap * np.array([1, 2, 3]))]
    assert_allclose(learner.thresholds_, expected)
    assert learner.classes_.tolist() == [1, 2, 3, 4, 5, 6, 7, 8, 9]


def test_whole_numbers_in_a_row_are_numbered_and_others_looked_up():
    missing = np.zeros(3, bool)
    for classes, column, codes in (
        ([3, 4, 5], [5, 3, 4], [2, 0, 1]),
        ([3, 5, 9], [9, 3, 5], [2, 0, 1]), ([2, 4], [4, 2, 4], [1, 0, 1]),
        ([7], [7, 7, 7], [0, 0, 0]),
        ([3, 5, 4], [4, 3, 5], [2, 0, 1]),
        ([0, 5, 2], [5, 0, 2], [1, 0, 2]),  # from first to last as far as three in a row
    ):  # fmt: skip
        found = _codes(np.array(column), missing, np.array(classes), 1)
        assert (found.tolist(), found.dtype) == (codes, np.int32)
    for classes, wrong in (([3, 4, 5], 6), ([3, 4, 5], 2), ([3, 5, 9], 4)):
        with pytest.raises(InputError, match=f"row 2: .*{wrong}"):
            _codes(np.array([3, wrong, 3]), missing, np.array(classes), 1)
    assert read_labels([2, 4, 2], classes=[2, 4])[1].tolist() == [0, 1, 0]


@pytest.mark.parametrize("kind", [{"predict": 1}, {"classes_": 1}, {}])
def test_a_scorer_takes_a_fitted_learner(kind):
    with pytest.raises(InputError, match="estimator must be a fitted learner of grades, not SimpleNamespace"):
        neg_mae(types.SimpleNamespace(**kind), X, Y)


def test_a_table_without_rows_has_nothing_to_grade(tmp_path):
    path, empty = tmp_path / "t.csv", tmp_path / "empty.csv"
    path.write_text("size,grade\n" + "".join(f"{k},{1 + k // 5}\n" for k in range(15)))
    empty.write_text("size\n")
    grader = Grader.fit(path, label="grade")
    told = []

    class Progress:
        def __enter__(self):
            return told.append

        def __exit__(self, *problem):
            pass

    frames = list(grader.grade(path, progress=lambda what: Progress()))
    assert sum(told) == 15 == sum(len(frame) for frame in frames)
    with pytest.raises(InputError, match="the table has no rows"):
        list(grader.grade(empty, progress=lambda what: Progress()))


def test_ordered_categories_of_one_column_are_the_grades():
    pd = pytest.importorskip("pandas")
    for categories in ([3, 1, 2], [1.5, 0.5], ["low", "high"]):
        column = pd.Series(pd.Categorical(categories[::-1], categories=categories, ordered=True))
        low, _, classes = read_labels(column)
        assert classes.tolist() == categories
        assert low.tolist() == list(range(len(categories)))[::-1]


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("best", [0, 1, 2])
def test_after_two_thousand_examples_the_candidate_that_erred_least_goes_on_alone(kernel, best):
    learner = PassiveAggressiveOrdinal(kernel=kernel, classes=[1, 2, 3]).partial_fit(X, Y)
    assert learner._steps.tolist() == [0.003, 0.03, 0.3]
    lanes = learner._lanes.copy()
    learner._losses[:] = 5
    learner._losses[best] = 4
    learner.n_seen_ = 1999
    learner._renew()
    assert (len(learner._steps), learner._lead) == (3, best)
    assert_allclose(learner._lanes, lanes)
    learner.n_seen_ = 2000
    learner._renew()
    assert learner._steps.tolist() == [(0.003, 0.03, 0.3)[best]]
    assert_allclose(learner._lanes, lanes[[best]])
    assert learner._losses.tolist() == [4]
    assert learner._lead == 0
    assert (0.003, 0.03, 0.3)[best] == learner.C_


# ---- the scale of features ------------------------------------------------------------------------------------------

TABLE = np.array([[1.0, 0.0, 7.0], [3.0, 0.0, 7.0], [0.0, 5.0, 7.0], [8.0, -1.0, 7.0]])


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("weight", [None, [1.0, 2.0, 0.5, 3.0]])
def test_moments_of_columns_count_each_row_by_its_weight(sparse, weight):
    given = None if weight is None else np.array(weight)
    mean, deviation = scaling.moments(csr_array(TABLE) if sparse else TABLE, given)
    assert_allclose(mean, np.average(TABLE, axis=0, weights=weight))
    variance = np.average((TABLE - mean) ** 2, axis=0, weights=weight)
    assert_allclose(deviation, np.sqrt(variance), atol=1e-12)


def test_a_column_that_varies_by_rounding_alone_is_constant():
    mean, deviation = np.array([1.0, 1.0, 0.0, -1e6]), np.array([0.9e-10, 1.1e-10, 1e-20, 1e-5])
    assert_allclose(scaling.inverse(mean, deviation), [0.0, 1 / 1.1e-10, 1e20, 0.0])


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("at_once", [False, True])
def test_rows_in_any_blocks_make_one_scale(sparse, at_once):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(30, 3)) * [1.0, 5.0, 0.1] + [100.0, 0.0, -3.0]
    scale = scaling.FeatureScale.empty(3, centred=not sparse)
    for first, last in ((0, 1), (1, 12), (12, 30)):
        block = rows[first:last]
        before = scale.origin.copy(), scale.factor.copy()
        found = scale.take(csr_array(block) if sparse else block, at_once=at_once)
        if not at_once:
            assert_allclose(np.asarray(found.todense()) if sparse else found, (block - before[0]) * before[1])
            assert scale.pending == last - first
            scale.renew()
        assert (scale.pending, scale.count) == (0, last)
        mean, deviation = rows[:last].mean(axis=0), rows[:last].std(axis=0)
        assert_allclose(scale.metric[0], mean)
        assert_allclose(scale.origin, 0.0 * mean if sparse else mean)
        assert_allclose(scale.factor, 0.0 if last == 1 else 1 / deviation, rtol=1e-6)
        if at_once:
            assert_allclose(np.asarray(found.todense()) if sparse else found, (block - scale.origin) * scale.factor)
    state = scale.metric.copy()
    scale.renew()
    assert_allclose(scale.metric, state)


def test_a_scale_goes_over_to_other_units_and_takes_in_more_features():
    rows = np.random.default_rng(1).normal(size=(20, 2)) + 4.0
    ratio, shift = np.array([2.0, -0.5]), np.array([1.0, 3.0])
    scale, other = (scaling.FeatureScale.empty(2, centred=True) for _ in range(2))
    scale.take(rows, at_once=True)
    scale.take(rows[:7])
    moved = (rows - shift) / ratio
    scaled = scale.apply(rows)
    scale.change_units(ratio, shift)
    assert_allclose(scale.apply(moved), scaled)
    scale.renew()
    other.take(moved, at_once=True)
    other.take(moved[:7])
    other.renew()
    assert_allclose(scale.metric[0], other.metric[0])
    assert_allclose(np.abs(scale.metric[1]), other.metric[1])
    scale.widen(3)
    assert scale.metric.shape == (4, 5)
    assert scale.squares.shape == (5,)
    assert_allclose(scale.metric[:, 2:], 0.0)


# ---- sets of grades -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("rows", "level", "place"), [(9, 0.9, 9), (8, 0.9, None), (19, 0.9, 18), (99, 0.5, 50), (4, 0.8, 4), (3, 0.8, None)])  # fmt: skip  # noqa: E501
def test_the_bound_is_the_miss_of_the_place_that_the_level_asks_for(rows, level, place):
    values = np.arange(rows) / 10.0
    found = conformal.Misses(values).bound(level)
    assert found == (np.inf if place is None else values[place - 1])


def test_a_set_holds_what_has_no_more_before_it_than_the_bound():
    chances = np.array([[0.1, 0.2, 0.4, 0.3], [0.25, 0.25, 0.25, 0.25]])
    before = conformal.probability_before(chances, np.array([2, 0]))
    assert_allclose(before, [[0.9, 0.7, 0.0, 0.4], [0.0, 0.25, 0.5, 0.75]])
    for bound, sets in ((0.0, [[2, 2], [0, 0]]), (0.4, [[2, 3], [0, 1]]), (0.7, [[1, 3], [0, 2]]), (0.39, [[2, 2], [0, 1]]), (np.inf, [[0, 3], [0, 3]])):  # fmt: skip  # noqa: E501
        assert conformal.grade_sets(chances, np.array([2, 0]), bound).tolist() == sets
    low, high = np.array([0, 1]), np.array([1, 3])
    assert_allclose(conformal.miss(chances, np.array([2, 0]), low, high), [0.7, 0.25])
    misses = conformal.Misses.of(chances, np.array([2, 0]), low, high)
    assert misses.values.tolist() == [0.25, 0.7]
    assert misses.right == 0.0
    assert conformal.Misses.of(chances, np.array([2, 0]), np.array([2, 1]), np.array([2, 3])).right == 0.5
    assert np.isnan(conformal.Misses(np.empty(0)).right)


# ---- bounds and tables in pieces ------------------------------------------------------------------------------------


@pytest.mark.parametrize("fits", [False, True])
@pytest.mark.parametrize("C", [0.01, 2.0])
def test_mistake_bounds_are_their_formulas(fits, C):
    """Four grades, a range of two among them: at most 3 thresholds lie outside a label, at least 2."""
    rows = np.array([[3.0, 4.0], [0.0, 1.0], [2.0, 0.0]])
    low, high = np.array([0, 1, 3]), np.array([0, 2, 3])
    coef, theta = np.array([0.5, -0.25]), np.array([-1.0, 0.5, 2.0])
    if fits:
        rows, low, high, coef, theta = rows[1:2], low[1:2], high[1:2], np.zeros(2), np.array([-1.0, 0.0, 1.0])
    labels = np.column_stack([low, high]) + 1
    slack = np.zeros((len(rows), 3))
    for k, row in enumerate(rows):
        for i in range(3):
            score = row @ coef
            if i < low[k]:
                slack[k, i] = max(0.0, 1 + theta[i] - score)
            if i >= high[k]:
                slack[k, i] = max(0.0, 1 + score - theta[i])
    size = coef @ coef + theta @ theta
    N, R2 = 3 - int((high - low).min()), float(max(row @ row for row in rows))
    rest = math.sqrt((slack**2).sum())
    expected = {
        "pa": (1 + R2 * N) * size if rest == 0 else (1 + R2 * N) ** 2 * (math.sqrt(size) + 4 * N * rest) ** 2,
        "pa1": size / (2 * C) + slack.sum() + C * len(rows) * (N / 2 + R2 * N**2),
        "pa2": (1 + 1 / (2 * C) + R2 * N) * (size + 2 * C * (slack**2).sum()),
    }
    assert (rest == 0) == fits
    for variant, bound in expected.items():
        found = mistake_bound(variant, rows, labels, coef, theta, C=C, classes=[1, 2, 3, 4])
        assert found == pytest.approx(bound), variant


def test_a_running_scale_leaves_missing_values_out():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(40, 3)) * [1.0, 3.0, 0.0] + [5.0, -2.0, 4.0]
    rows[rng.random(rows.shape) < 0.2] = np.nan
    rows[:6, 0] = np.nan  # the first piece has none of it
    scale = RunningScale.empty(3)
    for first, last in ((0, 6), (6, 6), (6, 7), (7, 40)):
        scale.add(rows[first:last])
    assert scale.count == 40
    assert scale.absent.tolist() == np.isnan(rows).sum(axis=0).tolist()
    assert_allclose(scale.mean, np.nanmean(rows, axis=0))
    assert_allclose(scale.deviation[:2], np.nanstd(rows, axis=0)[:2])
    assert scale.deviation[2] == 1.0
    assert_allclose(scale.apply(rows)[:, :2], ((rows - scale.mean) / scale.deviation)[:, :2])
    assert RunningScale.upgraded({"mean": np.ones(2)}, 1)["absent"].tolist() == [0.0, 0.0]
    assert RunningScale.empty(2).deviation.tolist() == [1.0, 1.0]


def test_landmarks_have_the_inner_products_of_their_kernel():
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(12, 3))
    found = LandmarkMap.of(np.vstack([rows, rows[:4]]))
    assert found.rows.shape == (12, 3)
    mapped = found.apply(rows)
    distance = ((rows[:, None] - rows) ** 2).sum(axis=2)
    assert_allclose(mapped @ mapped.T, np.exp(-distance / 3), atol=1e-8)
    close = np.vstack([rows, rows[:1] + 1e-9])
    assert LandmarkMap.of(close).roots.shape == (13, 12)  # a direction of no length


def test_a_sample_of_rows_is_uniform_however_they_come():
    counts = np.zeros(20)
    for seed in range(400):
        sample = RowSample(5, np.random.default_rng(seed))
        for first, last in ((0, 3), (3, 11), (11, 20)):
            sample.add(np.arange(first, last, dtype=float)[:, None])
            assert len(sample.rows) == min(5, last)
        drawn = sample.rows[:, 0].astype(int)
        assert (np.diff(drawn) > 0).all()
        counts[drawn] += 1
    assert counts.sum() == 2000
    assert np.abs(counts - 100).max() < 45  # five standard deviations


def test_an_evaluation_counts_how_far_grades_are_off():
    found = Evaluation(np.array(["low", "mid", "top"]), np.array([[4, 1, 0], [2, 3, 1], [1, 0, 8]]), X, np.zeros(0))
    assert found.rows == 20
    assert found.error == pytest.approx((1 + 2 + 1 + 2) / 20)
    assert found.accuracy == pytest.approx(15 / 20)
    frame = found.to_frame()
    assert frame["rows"].to_list() == [5, 6, 9]
    assert frame["right"].to_list() == [4, 3, 8]
    assert frame["error"].to_list() == [0.2, 0.5, 0.2222]
    assert frame["as mid"].to_list() == [1, 3, 0]
    empty = Evaluation(np.array([1, 2]), np.array([[0, 0], [0, 3]]), X, np.zeros(0)).to_frame()
    assert empty["error"].to_list() == [0.0, 0.0]


@pytest.mark.parametrize("rows", [19, 20])
def test_sets_by_recent_rows_need_twenty(rows):
    rng = np.random.default_rng(0)
    scores = rng.normal(size=rows)
    codes = np.digitize(scores, [-0.5, 0.5]).astype(float)
    recent = np.stack([scores, codes, codes, codes])
    if rows < 20:
        with pytest.raises(InputError, match=r"keeps 19, too few for level= \(20 at least\)"):
            RecentSets.of(recent, 3)
        return
    found = RecentSets.of(recent, 3)
    assert len(found.misses.values) == 10
    fitted = conformal.score_chances(scores[::2], codes[::2].astype(int), codes[::2].astype(int), 3)
    assert_allclose(found.chances.predict_proba(scores[:, None]), fitted.predict_proba(scores[:, None]))
    assert found.misses.right == 1.0  # what was predicted is what they are


@pytest.mark.parametrize("learner", [PassiveAggressiveOrdinal(), PRank(), MarginOrdinal(), CumulativeLogit()])
def test_learners_tell_scikit_learn_what_they_take(learner):
    tags = get_tags(learner)
    assert tags.input_tags.sparse
    assert tags.estimator_type == "classifier"
    assert tags.target_tags.required
    assert not tags.input_tags.allow_nan


@pytest.mark.parametrize("variant", ["pa", "pa1", "pa2"])
def test_updates_by_inner_products_are_counted_as_those_along_a_direction(variant):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(60, 2))
    grades = np.digitize(rows[:, 0] + 0.3 * rng.normal(size=60), [-0.5, 0.5])
    options = {"C": 0.3, "standardize": False, "average": False, "classes": [0, 1, 2]}
    along = PassiveAggressiveOrdinal(variant, **options).partial_fit(rows, grades)
    kept = PassiveAggressiveOrdinal(variant, kernel=lambda a, b: a @ b.T, budget=None, **options)
    kept.partial_fit(rows[:25], grades[:25]).partial_fit(rows[25:], grades[25:])
    assert 0 < along.n_updates_ == kept.n_updates_ <= 60
    assert along.n_seen_ == kept.n_seen_ == 60
    assert along.mae_ == pytest.approx(kept.mae_)
