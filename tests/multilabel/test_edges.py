"""Edges of label rankers: sizes of odd features, relabelled examples, tables with holes, and going on."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import BaseEstimator

from podium.errors import DataWarning, InputError
from podium.metrics import ranking_loss
from podium.multilabel import (
    AgnosticLabelRanker,
    AgnosticThresholdLearner,
    Halving,
    LabelRanker,
    OnlineLabelRanker,
    binary_relevance,
    inputs,
    scaling,
    tables,
)

from reference_multilabel import adagrad

FORMS = [np.asarray, sparse.csr_array]


def problem(n=40, d=3, K=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    Y = (X @ rng.normal(size=(d, K)) + rng.normal(size=(n, K)) > 0).astype(int)
    Y[~Y.any(axis=1), 0] = 1
    return X, Y


# ---- sizes of features ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("column", "centre", "size"),
    [
        ([0, 0, 0, 0], 0, 1),  # nothing
        ([5, 5, 5, 5], 5, 1),  # always the same
        ([0, 0, 1, 3], 1, np.sqrt(1.5)),  # zero in half of the rows is not in most
        ([0, 0, 0, 3], 0, 3),  # a word
        ([0, 0, 0, -3], 0, 3),
        ([0, 3, 3, 3], 0, 3),  # a yes or no
        ([0, -2, -2, -2], 0, 2),
        ([0, 3, 3, 2], 2, np.sqrt(1.5)),
        ([1e-200, 3e-200, 5e-200, 7e-200], 4e-200, np.sqrt(5) * 1e-200),
        ([1e120, 3e120, 5e120, 7e120], 4e120, np.sqrt(5) * 1e120),
    ],
)
def test_a_dense_feature_is_standardised_or_divided_by_its_usual_size(column, centre, size):
    X = np.array(column, dtype=float)[:, None]
    found = scaling.measure(X, np.ones(4), "auto")
    assert_allclose([found[0][0], found[1][0]], [centre, size])
    twice = scaling.measure(np.vstack([X, X[:2], [[99.0]]]), np.array([1, 1, 2, 2, 1, 1, 0.0]), "auto")
    assert_allclose([twice[0][0], twice[1][0]], [centre, size])
    whole = scaling.measure(X, np.ones(4), True)
    unit = max(np.abs(X).max(), 1e-300)
    deviation = (X / unit).std() * unit if np.ptp(X) else 1.0
    assert_allclose([whole[0][0], whole[1][0]], [X.mean(), deviation])


@pytest.mark.parametrize(
    ("column", "size", "all_of_it"),
    [
        ([0, 0, 0, 0], 1, 1),
        ([5, 5, 5, 5], 5, 5),
        ([0, 0, 1, 3], np.sqrt(1.5), np.sqrt(2.5)),
        ([0, 0, 0, 3], 3, 1.5),
        ([0, 3, 3, 3], 3, np.sqrt(27 / 4)),
        ([1, 3, 5, 7], np.sqrt(5), np.sqrt(21)),
    ],
)
def test_a_sparse_feature_is_never_centred(column, size, all_of_it):
    X = sparse.csr_array(np.array(column, dtype=float)[:, None])
    centre, found = scaling.measure(X, np.ones(4), "auto")
    assert centre == 0.0
    assert_allclose(found, [size])
    centre, found = scaling.measure(X, np.ones(4), True)
    assert centre == 0.0
    assert_allclose(found, [all_of_it])
    out = scaling.scaled(X, 0.0, found)
    assert sparse.issparse(out)
    assert_allclose(out.toarray()[:, 0], np.array(column) / all_of_it)
    assert scaling.scaled(X, 0.0, 1.0) is X
    assert_allclose(scaling.scaled(X, np.array([1.0]), np.array([2.0])), (X.toarray() - 1) / 2)


# ---- inputs ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", FORMS)
def test_features_may_be_as_large_as_their_squares_allow(form):
    learner = LabelRanker()
    assert inputs.read_features(learner, form(np.array([[1e150, -1e150]])), reset=True).shape == (1, 2)
    assert learner.n_features_in_ == 2
    for wrong in ([[1.1e150, 0.0]], [[0.0, -1.1e150]]):
        with pytest.raises(
            InputError, match=r"^row 1, feature [12]: -?1.1e\+150 is so large that its square overflows"
        ):
            inputs.read_features(learner, form(np.array(wrong)))
    with pytest.raises(InputError, match="expecting 2 features"):
        inputs.read_features(learner, form(np.ones((1, 3))))
    named = pd.DataFrame({"size": [1.0, np.inf]})
    with pytest.raises(
        InputError, match=r"^Input X contains inf: row 2, feature 'size'; fill in a value or drop the row$"
    ):
        inputs.read_features(LabelRanker(), named, reset=True)
    assert inputs.read_features(LabelRanker(), form(np.zeros((2, 1))), reset=True).dtype == np.float64


def test_relevance_is_a_table_of_numbers_however_it_is_kept():
    for table in (
        [[0, 2], [1, 0]], np.array([[0, 2], [1, 0]], dtype=np.int8), np.array([["0", "2"], ["1", "0"]]),
        np.array([[0, 2], [1, 0]], dtype=object), pd.DataFrame({0: [0, 1], 1: [2, 0]}),
        sparse.csr_array((np.array([1.0, 1.0, 1.0, 0.0]), np.array([1, 1, 0, 1]), np.array([0, 2, 4])), shape=(2, 2)),
        sparse.coo_array(([2, 1], ([0, 1], [1, 0]))), np.array([[False, 2], [True, False]]),
    ):  # fmt: skip
        y, labels = inputs.read_relevance(table, 2)
        assert y.toarray().tolist() == [[0.0, 2.0], [1.0, 0.0]]
        assert (y.nnz, y.dtype) == (2, np.float64)
        assert [str(each) for each in labels.tolist()] == ["0", "1"]
    for bad, words in (
        (np.array([["2020-01-01"]], dtype="M8[D]"), r"relevance holds datetime64\[D\] values; numbers are needed"),
        (np.array([[10**400]], dtype=object), "relevance holds object values; numbers are needed: Unknown label type"),
        (
            pd.DataFrame({"a": [1.0], "b": [np.nan]}),
            "^row 1, label 'b': relevance nan is not a finite number from 0 up",
        ),
        ([[np.inf, 1.0]], "^row 1, label 0: relevance inf is not"),
    ):
        with pytest.raises(InputError, match=words):
            inputs.read_relevance(bad, 1)


def test_how_many_labels_are_asked_for_may_be_any_whole_number_there_is():
    labels, scores = np.array(["a", "b", "c"]), np.array([[1.0, 3.0, 2.0]])
    for top in (2, 2.0, np.int64(2), np.float32(2)):
        assert inputs.labels_by_rank(labels, scores, top).tolist() == [["b", "c"]]
    for wrong in (2.5, 4, 0, -1, True, "2", np.nan):
        with pytest.raises(InputError, match=r"top=.*: there are 3 labels; choose 1 to 3"):
            inputs.labels_by_rank(labels, scores, wrong)


def test_a_refused_call_leaves_the_learner_as_it_was_and_forgetting_drops_what_was_learned():
    learner = LabelRanker()
    learner.coef_, learner._inner_, learner.plain = 1, 2, 3

    def refused():
        with inputs.unchanged_on_error(learner):
            learner.coef_, learner.new_ = 5, 6
            raise KeyError

    with pytest.raises(KeyError):
        refused()
    assert (learner.coef_, hasattr(learner, "new_")) == (1, False)
    with inputs.unchanged_on_error(learner):
        learner.new_ = 6
    inputs.forget(learner)
    assert not hasattr(learner, "coef_")
    assert not hasattr(learner, "new_")
    assert (learner._inner_, learner.plain) == (2, 3)


# ---- candidates -----------------------------------------------------------------------------------------------------


class Told(BaseEstimator):
    """A learner that keeps what it was told, and scores by the mean of it."""

    def fit(self, X, y):
        self.X_, self.y_ = X, np.asarray(y)
        return self

    def decision_function(self, X):
        return np.tile(self.y_.mean(axis=0), (len(X), 1)) + 1e-3 * X[:, :1] * np.arange(self.y_.shape[1])


def test_binary_relevance_takes_one_cut_for_all_or_one_each():
    scores = [[0.3, 0.9, 0.5], [1.0, 1.0, 0.0]]
    assert binary_relevance(scores, [1, 3]).tolist() == [[0, 1, 0], [1, 1, 1]]
    assert binary_relevance(scores, 0).tolist() == [[0, 0, 0], [0, 0, 0]]
    for cuts in ([1, 2, 3], []):
        with pytest.raises(InputError, match=f"there are {len(cuts)} cuts for 2 rows; give one for all or one each"):
            binary_relevance(scores, cuts)


@pytest.mark.parametrize(("loss", "cuts"), [("sum@3", {1, 2, 3}), ("prec@2", {2}), ("sum@1", {1})])
def test_examples_are_relabelled_by_each_candidate_and_the_rest_choose(loss, cuts):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 2))
    Y = np.tile([0, 0, 0, 1, 1], (100, 1))
    order = [np.array([5.0, 4, 3, 2, 1]), np.array([1.0, 2, 3, 4, 5])]
    asked = [lambda rows, k=k: np.tile(order[k], (len(rows), 1)) for k in range(2)]
    model = AgnosticLabelRanker(Told(), asked, loss=loss, share=0.3, random_state=1).fit(X, Y)
    assert model.chosen_ == 1  # the labels that are relevant come first
    told = model.best_
    assert told.y_.shape == (30, 5)
    sums = told.y_.sum(axis=1)
    assert set(sums.tolist()) == cuts
    for row, count in zip(told.y_, sums, strict=True):
        assert row.tolist() == [0] * (5 - count) + [1] * count
    held = [k for k in range(100) if X[k].tolist() not in told.X_.tolist()]
    assert len(held) == 70
    for k in range(2):
        scores = np.tile(order[k], (70, 1))
        assert model.losses_[k] == pytest.approx(ranking_loss(loss, Y[held], scores).mean())
    assert_array_equal(model.decision_function(X), told.decision_function(X))
    assert model.rank(X[:2], top=1).tolist() == [[4], [4]]
    again = AgnosticLabelRanker(Told(), asked, loss=loss, share=0.3, random_state=1).fit(X, Y)
    assert_array_equal(again.best_.X_, told.X_)
    given = AgnosticLabelRanker(Told(), asked, loss=loss, random_state=1).fit(X, Y, unlabelled=X[:7])
    assert_array_equal(given.best_.X_, X[:7])  # then all examples choose
    assert given.losses_[0] == pytest.approx(ranking_loss(loss, Y, np.tile(order[0], (100, 1))).mean())


def test_answers_about_one_label_are_those_of_the_ranker_with_the_fewest_mistakes():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(60, 2))
    wrong, right = np.array([3.0, 2, 1]), np.array([1.0, 2, 3])
    asked = [lambda rows: np.tile(wrong, (len(rows), 1)), lambda rows: np.tile(right, (len(rows), 1))]
    answers = np.where(np.arange(60) % 10 == 0, 0, 1)
    model = AgnosticThresholdLearner(Told(), asked, 2, 1, loss="sum@2", share=0.25, random_state=3).fit(X, answers)
    assert [len(each.X_) for each in model.learners_] == [15, 15]
    assert model.chosen_ == 1
    held = [k for k in range(60) if X[k].tolist() not in model.best_.X_.tolist()]
    assert_allclose(model.errors_, [answers[held].mean(), 1 - answers[held].mean()])
    assert model.predict(X).tolist() == [1] * 60
    assert model.best_.y_.tolist() == [[0, 0, 1]] * 15
    for bad, words in (
        (np.full(60, 2), "^row 1: the answer 2 is neither 0 nor 1"),
        (np.where(np.arange(60) == 4, 0.5, 1), "^row 5: the answer 0.5 is neither 0 nor 1"),
        (answers[:, None], "y: shape"),
    ):
        with pytest.raises(InputError, match=words):
            AgnosticThresholdLearner(Told(), asked, 2, 1, loss="sum@2").fit(X, bad)
    for label, cut in ((-1, 1), (0, 0), (1.5, 1)):
        with pytest.raises(InputError, match=r"label=|cut="):
            AgnosticThresholdLearner(Told(), asked, label, cut, loss="sum@2").fit(X, answers)


def test_halving_is_copied_apart_and_keyed_by_what_is_left():
    import copy

    first = Halving([[0, 1], [1, 1], [1, 0]])
    second = copy.deepcopy(first)
    assert first.key() == second.key()
    second.update(0, 1)
    assert first.alive.all()
    assert second.alive.tolist() == [False, True, True]
    assert first.key() != second.key()
    assert second.table is first.table
    assert pickle.loads(pickle.dumps(second)).key() == second.key()


# ---- files ----------------------------------------------------------------------------------------------------------


def test_holes_among_labels_count_as_zero_and_are_said(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("f,tag_a,tag_b,tag_c\n1,1,,\n2,,0,\n3,0,1,\n")
    with pytest.warns(
        DataWarning, match=r"x.csv: row 1: label 'tag_b' is empty, as in 4 other cells, which counts as 0"
    ):
        found = tables.read_examples(path, labels=["tag_*"])
    assert found.Y.tolist() == [[1, 0, 0], [0, 0, 0], [0, 1, 0]]
    path.write_text("f,tag_a,tag_b\n1,1,0\n2,0,\n")
    with pytest.warns(DataWarning, match="row 2: label 'tag_b' is empty, which counts as 0; write 0 or 1"):
        tables.read_examples(path, labels=["tag_*"])
    path.write_text("f,tag_a,tag_b\n1,1,0\n2,0,true\n")
    with pytest.raises(InputError, match="column 'tag_b' holds text"):
        tables.read_examples(path, labels=["tag_*"])


def test_names_of_examples_are_text_or_numbers(tmp_path):
    frame = pl.DataFrame({"who": [[1], [2]], "when": [None, None], "f": [1.0, 2.0], "ok": [True, False], "t": [1, 0]})
    path = tmp_path / "x.parquet"
    frame.write_parquet(path)
    with pytest.raises(InputError, match="column 'who' holds lists or structures; a name is text or a number"):
        tables.read_examples(path, labels=["t"], ids=["who", "when", "ok"])
    with pytest.raises(InputError, match="row 1: 'when' is empty, as in every row; leave --id when out"):
        tables.read_examples(path, labels=["t"], ids=["when", "who", "ok"])
    frame.select("f", "ok", "t").write_parquet(path)
    found = tables.read_examples(path, labels=["t", "o*"])
    assert (found.features.tolist(), found.labels.tolist()) == (["f"], ["ok", "t"])
    assert found.Y.tolist() == [[1, 1], [0, 0]]
    assert tables.read_examples(path, labels=["t"], features=np.array(["f"])).X.tolist() == [[1], [2]]
    assert found.ids == {}


def test_numbers_of_svmlight_lines_have_an_end(tmp_path):
    path = tmp_path / "x.svm"
    path.write_text("10000000 10000000:1\n")
    X, Y = tables.read_svmlight(path)
    assert (X.shape, Y.shape) == ((1, 10_000_001), (1, 10_000_001))
    for line, words in (
        ("0 -1:2\n", "feature -1 is below 0"),
        ("10000001 0:1\n", "label 10000001 is beyond 10,000,000; number them from 0 without such gaps"),
        ("0 0:1:2\n", "is not 'label,label feature:value …' with whole numbers from 0"),
        ("1.5 0:1\n", "is not 'label,label feature:value …' with whole numbers from 0"),
        ("0 0:-inf\n", "feature 0 is -inf"),
    ):
        path.write_text("1 0:1\n" + line)
        with pytest.raises(InputError, match=f"row 2(: | ){words}"):
            tables.read_svmlight(path)
    path.write_text("1 0:1\n")
    found = tables.read_examples(path, features=np.arange(3), known=np.arange(2))
    assert (found.X.shape, found.Y.shape) == ((1, 3), (1, 2))
    assert (found.features.tolist(), found.labels.tolist()) == ([0, 1, 2], [0, 1])


# ---- going on -------------------------------------------------------------------------------------------------------


def test_a_rate_that_changes_on_the_way_is_the_rate_from_there_on():
    X, Y = problem()
    ranker = LabelRanker("sum@1", rate=0.3).partial_fit(X[:20], Y[:20])
    _, first = adagrad(X[:20], Y[:20] * 1.0, np.ones(20), 0.3)
    assert_allclose(np.vstack([ranker.coef_.T, ranker.intercept_]), first, atol=1e-6)
    squares = ranker.stream_.squares.copy()
    ranker.set_params(rate=0.9).partial_fit(X[20:], Y[20:], np.linspace(0, 2, 20))
    _, second = adagrad(X[20:], Y[20:] * 1.0, np.linspace(0, 2, 20), 0.9, start=(first, squares))
    assert_allclose(np.vstack([ranker.coef_.T, ranker.intercept_]), second, atol=1e-6)
    assert ranker.exact_
    assert ranker.top_ == 1.0
    assert (ranker.scorer_, ranker.surrogate_, ranker.middle_) == ("linear", "univariate", 0.0)
    pairs = LabelRanker("sum@1", surrogate="pairwise").partial_fit(X, Y)
    assert (pairs.surrogate_, pairs.exact_) == ("pairwise", False)
    assert not LabelRanker("ap").partial_fit(X, Y).exact_


def test_the_largest_relevance_is_that_of_the_data_or_the_one_given():
    X, Y = problem()
    options = {"C": 1.0, "surrogate": "univariate"}
    found = LabelRanker("sum@1", **options).fit(X, 3 * Y)
    assert found.top_ == 3.0
    more = LabelRanker("sum@1", max_relevance=6, **options).fit(X, 3 * Y)
    half = LabelRanker("sum@1", max_relevance=2, **options).fit(X, Y)
    assert more.top_ == 6.0
    assert_allclose(more.coef_, half.coef_, atol=1e-6)
    assert_allclose(LabelRanker("sum@1", **options).fit(X, Y).coef_, found.coef_, atol=1e-6)
    with pytest.raises(InputError, match="relevance 4 is above 3; set max_relevance to the largest that can occur"):
        found.partial_fit(X, 4 * Y)
    nothing = LabelRanker("sum@1").partial_fit(X, 0 * Y)
    assert nothing.top_ == 1.0
    for name, value in (("max_relevance", 0.5), ("max_relevance", 1)):
        OnlineLabelRanker("sum@1", **{name: value}).fit(X, Y * value)


@pytest.mark.parametrize("loss", ["sum@2", "prec@2", "ap", "auc", "ndcg@2"])
def test_a_score_is_minus_the_mean_loss_of_the_metric(loss):
    X, Y = problem()
    ranker = LabelRanker(loss, C=1.0, surrogate="univariate").fit(X, Y)
    lost = np.array(ranking_loss(loss, Y, ranker.decision_function(X)))
    there = np.isfinite(lost)
    assert ranker.score(X[there], Y[there]) == pytest.approx(-lost[there].mean())
    weight = np.linspace(1, 3, there.sum())
    assert ranker.score(X[there], Y[there], weight) == pytest.approx(-np.average(lost[there], weights=weight))
    assert ranker.exact_ == (loss != "ap")
