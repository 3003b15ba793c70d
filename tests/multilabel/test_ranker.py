"""LabelRanker: the optimum of each label against scikit-learn, targets through any scorer, conventions, bad input."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.utils.estimator_checks import check_estimator

from podium import load, save
from podium.errors import ConvergenceError, InputError
from podium.metrics import ranking_loss
from podium.multilabel import LabelRanker, OnlineLabelRanker
from podium.multilabel.linear import design
from podium.multilabel.ranker import _fit_one
from podium.multilabel.surrogates import fit_coupled

from reference_multilabel import adagrad

PLAIN = {"surrogate": "univariate", "standardize": False}  # logistic regressions on the features as they are


def problem(seed=0, n=120, d=8, K=5, top=1):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.6)
    chance = 1 / (1 + np.exp(-(X @ rng.normal(size=(d, K)) - 0.5)))
    return X, rng.binomial(top, chance)


def test_it_follows_the_conventions():
    check_estimator(LabelRanker(tol=1e-10))  # some checks compare two fits to seven digits


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array, sparse.csc_matrix])
def test_each_label_is_scikit_learns_logistic_regression(form):
    X, Y = problem()
    ours = LabelRanker(C=0.7, tol=1e-9, **PLAIN).fit(form(X), form(Y))
    for label in range(Y.shape[1]):
        theirs = LogisticRegression(C=0.7, tol=1e-10, max_iter=2000).fit(X, Y[:, label])
        assert_allclose(ours.coef_[label], theirs.coef_[0], atol=1e-5)
        assert_allclose(ours.intercept_[label], theirs.intercept_[0], atol=1e-5)


def test_graded_targets_are_soft_labels():
    X, Y = problem(top=3)
    ours = LabelRanker("dcg@2", tol=1e-9, C=1.0, **PLAIN).fit(X, Y)
    goal = (2.0 ** Y[:, 1] - 1) / (2.0**3 - 1)
    theirs = LogisticRegression(tol=1e-10, max_iter=2000).fit(
        np.vstack([X, X]), np.repeat([1, 0], len(X)), sample_weight=np.concatenate([goal, 1 - goal])
    )
    assert_allclose(ours.coef_[1], theirs.coef_[0], atol=1e-5)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_any_classifier_sees_a_soft_row_once_as_relevant_and_once_as_not(form):
    X, _ = problem(n=60, d=3)
    rng = np.random.default_rng(1)
    relevant, other = rng.integers(0, 3, size=60), rng.integers(0, 3, size=60)  # times a row is seen as either
    weight = np.maximum(relevant + other, 1).astype(float)
    rows = np.concatenate([np.repeat(np.arange(60), relevant), np.repeat(np.arange(60), other)])
    empty = relevant + other == 0  # weighs 1, half and half
    rows, classes = (
        np.concatenate([rows, *[np.flatnonzero(empty)] * 2]),
        np.repeat([1, 0], [relevant.sum(), other.sum()]),
    )
    classes = np.concatenate([classes, np.repeat([1, 0], empty.sum())])
    counts = np.where(np.arange(len(rows)) < relevant.sum() + other.sum(), 1.0, 0.5)
    goal = np.where(empty, 0.5, relevant / weight)
    make = LogisticRegression(tol=1e-10, max_iter=2000)
    theirs = LogisticRegression(tol=1e-10, max_iter=2000).fit(X[rows], classes, sample_weight=counts)
    assert_allclose(_fit_one(make, form(X), goal, weight).coef_, theirs.coef_, atol=1e-6)
    once = LogisticRegression(tol=1e-10, max_iter=2000).fit(
        np.vstack([X, X]), np.repeat([1, 0], 60), sample_weight=np.concatenate([goal, 1 - goal])
    )
    assert_allclose(_fit_one(make, form(X), goal, None).coef_, once.coef_, atol=1e-6)


def test_more_labels_than_a_block_and_labels_that_never_vary():
    X, Y = problem(K=140)
    Y = Y.astype(np.int8)
    Y[:, 130], Y[:, 131] = 0, 1
    ours = LabelRanker(tol=1e-8, C=1.0, **PLAIN).fit(sparse.csr_array(X), Y)
    theirs = LogisticRegression(tol=1e-10, max_iter=2000).fit(X, Y[:, 139])
    assert_allclose(ours.coef_[139], theirs.coef_[0], atol=1e-5)
    assert (ours.rank(X)[:, 0] == 131).all()
    assert (ours.rank(X)[:, -1] == 130).all()


def test_weights_count_rows():
    X, Y = problem()
    weight = np.arange(len(X)) % 3
    twice = LabelRanker(tol=1e-9).fit(X, Y, sample_weight=weight)
    repeated = LabelRanker(tol=1e-9).fit(np.repeat(X, weight, axis=0), np.repeat(Y, weight, axis=0))
    assert_allclose(twice.coef_, repeated.coef_, atol=1e-6)


@pytest.mark.parametrize("surrogate", ["softmax", "softmax-normalised", "pairwise"])
def test_coupled_surrogates_are_at_their_minimum(surrogate):
    """The value, written out over rows and labels, has no slope left where the fit ended."""
    X, Y = problem(n=40, d=3, K=3)
    fitted = LabelRanker(surrogate=surrogate, C=1.0, standardize=False, tol=1e-8).fit(X, Y)

    def value(flat):
        beta = flat.reshape(4, 3)
        total = 0.5 * (beta[:-1] ** 2).sum() + 0.5e-6 * (beta[-1] ** 2).sum()
        for x, y in zip(X, Y, strict=True):
            m = x @ beta[:-1] + beta[-1]
            if surrogate == "pairwise":
                pairs = [(i, j) for i in range(3) for j in range(3) if y[i] > y[j]]
                total += sum(np.log1p(np.exp(m[j] - m[i])) for i, j in pairs) / max(len(pairs), 1)
            else:
                t = y / max(y.sum(), 1) if "normalised" in surrogate else y
                total += sum(t[i] * (np.log(np.exp(m).sum()) - m[i]) for i in range(3))
        return total

    at = np.vstack([fitted.coef_.T, fitted.intercept_]).reshape(-1)
    slope = [(value(at + h) - value(at - h)) / 2e-4 for h in 1e-4 * np.eye(12)]
    assert np.abs(slope).max() < 1e-3
    assert not fitted.exact_


@pytest.mark.parametrize("surrogate", ["softmax", "softmax-normalised", "pairwise"])
@pytest.mark.parametrize("total", [40.0, 4e-8])  # with light rows, the penalties are most of the value
@pytest.mark.parametrize("C", [0.5, 1e6])
def test_coupled_surrogates_are_searched_with_the_slope_of_their_own_value(surrogate, total, C, monkeypatch):
    handed = {}

    def search(objective, start, **options):
        handed.update(options["options"], objective=objective)
        return SimpleNamespace(success=True, x=start)

    monkeypatch.setattr("scipy.optimize.minimize", search)
    X, Y = problem(n=40, d=3, K=3)
    weight = np.linspace(0, 2, 40) * total / 40
    start = fit_coupled(surrogate, design(X), sparse.csr_array(Y * 1.0), weight, C=C, tol=1e-5, max_iter=7)
    assert (start.shape, start.any(), handed["maxiter"], handed["gtol"]) == ((4, 3), False, 70, 1e-5)
    at = np.random.default_rng(1).normal(size=12)
    kept = fit_coupled(
        surrogate, design(X), sparse.csr_array(Y * 1.0), weight, C=C, tol=1e-5, max_iter=7, start=at.reshape(4, 3)
    )
    assert_allclose(kept.reshape(-1), at)
    slope = handed["objective"](at)[1]
    steps = 1e-4 * np.eye(12)
    ends = [[handed["objective"](at + sign * step)[0] for sign in (1, -1)] for step in steps]
    assert_allclose(slope, [(up - down) / 2e-4 for up, down in ends], rtol=1e-5, atol=1e-6 * np.abs(slope).max())


def test_partial_fit_is_adagrad_row_by_row():
    X, Y = problem(n=30, d=4, K=3)
    ours = LabelRanker("sum@1", rate=0.3).partial_fit(X[:10], Y[:10]).partial_fit(sparse.csr_array(X[10:]), Y[10:])
    _, weights = adagrad(X, Y.astype(float), np.ones(30), 0.3)
    assert_allclose(ours.coef_, weights[:-1].T, rtol=1e-9)
    assert_allclose(ours.intercept_, weights[-1], rtol=1e-9)


class Recorder(BaseEstimator):
    """A regressor that predicts the target it was shown."""

    _estimator_type = "regressor"

    def fit(self, X, y, sample_weight=None):
        self.seen_, self.weight_ = y, sample_weight
        return self

    def predict(self, X):
        return self.seen_


def test_any_regressor_is_asked_for_the_target():
    X, Y = problem(top=2)
    ranker = LabelRanker("dcg@3", Recorder()).fit(X, Y)
    assert_allclose(ranker.scorers_[2].seen_, (2.0 ** Y[:, 2] - 1) / 3)
    assert_allclose(ranker.decision_function(X), (2.0**Y - 1) / 3)
    Y = np.minimum(Y, 1)
    Y[:, 0], Y[0] = 1, [1, 0, 0, 0, 0]
    weight = LabelRanker("auc", Recorder()).fit(X, Y).scorers_[1].weight_
    n = Y.sum(axis=1)
    ratio = np.array([1 / (a * (5 - a)) if 0 < a < 5 else 0 for a in n])
    assert_allclose(weight * ratio[0], weight[0] * ratio)


@pytest.mark.parametrize(
    "scorer", [RandomForestClassifier(20, random_state=0), RandomForestRegressor(20, random_state=0)]
)
def test_trees_learn_what_they_are_shown(scorer):
    X, Y = problem()
    ranker = LabelRanker("sum@2", scorer).fit(X, Y)
    assert -ranker.score(X, Y) < 0.3 * ranking_loss("sum@2", Y, np.zeros(Y.shape)).mean()
    graded = LabelRanker("dcg@2", scorer).fit(X, 2 * Y)
    assert graded.predict(X).sum() == 2 * len(X)


def test_predictions_follow_the_loss_the_top_or_the_threshold():
    X, Y = problem()
    ranker = LabelRanker("sum@2").fit(X, Y)
    scores = ranker.decision_function(X)
    assert (ranker.predict(X).sum(axis=1) == 2).all()
    assert (ranker.predict(X, top=4).sum(axis=1) == 4).all()
    assert ((scores >= 1.0) == ranker.predict(X, threshold=1.0)).all()
    assert (LabelRanker("auc").fit(X, Y).predict(X) == (LabelRanker("auc").fit(X, Y).decision_function(X) >= 0)).all()
    assert (ranker.rank(X, top=1)[:, 0] == scores.argmax(axis=1)).all()


def test_columns_name_the_labels():
    X, Y = problem(K=2)
    ranker = LabelRanker("sum@1").fit(X, pd.DataFrame(Y, columns=["calm", "sad"]))
    assert set(ranker.rank(X).reshape(-1)) == {"calm", "sad"}


def test_a_grid_search_can_choose_the_penalty():
    X, Y = problem()
    search = GridSearchCV(LabelRanker("sum@2"), {"C": [1e-4, 1.0]}, cv=3).fit(X, Y)
    assert search.best_params_ == {"C": 1.0}


def test_model_files_keep_the_ranker(tmp_path):
    X, Y = problem(K=3)
    for ranker in (LabelRanker("sum@1").fit(X, pd.DataFrame(Y, columns=list("abc"))), LabelRanker().partial_fit(X, Y)):
        save(ranker, tmp_path / "ranker.podium")
        again = load(tmp_path / "ranker.podium")
        assert_allclose(again.decision_function(X), ranker.decision_function(X))
        assert (again.rank(X) == ranker.rank(X)).all()
    again.partial_fit(X, Y)
    assert np.isfinite(again.coef_).all()
    with pytest.raises(InputError, match="without pickle"):
        save(LabelRanker(scorer=LogisticRegression()).fit(X, Y), tmp_path / "other.podium")


X0, Y0 = problem(n=6, K=3)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: LabelRanker().fit(X0, -Y0 - 1), "row 1, label 0: relevance -1"),
        (lambda: LabelRanker().fit(X0, Y0[:3]), "X has 6 rows but y has 3"),
        (lambda: LabelRanker().fit(X0, np.zeros((6, 3))), "no example has a relevant label"),
        (lambda: LabelRanker("ap").fit(X0, 2 * Y0), "ap needs relevance 0 or 1"),
        (lambda: LabelRanker("best@3").fit(X0, Y0), "is no metric"),
        (lambda: LabelRanker(scorer="tree").fit(X0, Y0), "scorer='tree' is unknown"),
        (lambda: LabelRanker(surrogate="hinge").fit(X0, Y0), "surrogate='hinge' is not known"),
        (lambda: LabelRanker(C=0).fit(X0, Y0), "C=0: it must be a finite number above 0"),
        (lambda: LabelRanker(max_relevance=1).fit(X0, 2 * Y0), "relevance 2 is above 1"),
        (lambda: LabelRanker().fit(X0, Y0[:, 0]), "one column for each label"),
        (lambda: LabelRanker().fit(X0, Y0, sample_weight=[1, 2]), "one weight for each row is needed, 6 in all"),
        (lambda: LabelRanker().fit(X0, Y0).rank(X0, top=4), "there are 3 labels"),
        (lambda: LabelRanker().fit(X0, Y0).predict(X0, top=1, threshold=0), "not both"),
        (lambda: LabelRanker(scorer=Recorder()).partial_fit(X0, Y0), "partial_fit needs"),
        (lambda: LabelRanker().partial_fit(X0, Y0).partial_fit(X0, Y0[:, :2]), "y has 2 labels"),
    ],
)
def test_bad_input_is_named(make, says):
    with pytest.raises(InputError, match=says):
        make()


def test_no_optimum_in_time_says_what_to_change():
    X, Y = problem()
    with pytest.raises(ConvergenceError, match="max_iter="):
        LabelRanker(max_iter=1, tol=1e-12, C=1.0, **PLAIN).fit(1e4 * X, Y)


@pytest.mark.parametrize("shape", [(), (2, 1, 1), (2, 2, 2)])
def test_relevance_of_any_other_shape_is_refused(shape):
    for learner in (LabelRanker(), OnlineLabelRanker()):
        with pytest.raises(InputError, match=r"y has shape \(.*one column for each label"):
            learner.partial_fit([[0.0], [1.0]], np.ones(shape))


@pytest.mark.parametrize(
    ("X", "where"),
    [
        ([["1", "2"], ["3", "red"]], "row 2, feature 2: 'red'"),
        (np.array([["1.5", "2"], ["blue", "4"]]), "row 2, feature 1: 'blue'"),
        (pd.DataFrame({"size": [1.0, 2.0], "colour": ["red", "blue"]}), "row 1, feature 'colour': 'red'"),
        (pd.DataFrame({"size": [1.0, 2.0], "kind": pd.Categorical(["a", "b"])}), "row 1, feature 'kind': 'a'"),
    ],
)
def test_a_word_among_the_features_is_named_with_its_row(X, where):
    with pytest.raises(
        InputError, match=f"^{where} is no number; give words as columns of 0 and 1, or leave them out$"
    ):
        LabelRanker("sum@1").fit(X, [[1, 0], [0, 1]])


@pytest.mark.parametrize("value", [0, -1, 2.5, float("nan"), float("inf"), "much", None, 10**400], ids=repr)
@pytest.mark.parametrize("name", ["max_iter", "tol", "C"])
def test_a_number_without_a_meaning_is_refused_by_name(name, value):
    X, Y = np.arange(8.0)[:, None], np.arange(8)[:, None] % [2, 3] == 0
    if (name, value) in (("tol", 2.5), ("C", 2.5)):
        assert np.isfinite(LabelRanker(**{name: value}).fit(X, Y).decision_function(X)).all()
        return
    with pytest.raises(InputError, match=name):
        LabelRanker(**{name: value}).fit(X, Y)
