"""The solver of many labels, its surrogates and what is tried on rows held out, piece by piece against definitions."""

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.special import expit
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.tree import DecisionTreeClassifier, ExtraTreeRegressor

from podium.errors import ConvergenceError, InputError
from podium.metrics import ranking_loss
from podium.metrics.names import parse
from podium.multilabel import ExpertLabelRanker, Halving, LabelRanker, OnlineLabelRanker, experts, inputs, linear
from podium.multilabel.linear import CERTAIN, design, fit_logistic, squared_gradients
from podium.multilabel.ranker import _fit_one, _refuse_large, _score
from podium.multilabel.selection import (
    BLIND,
    Setting,
    _boosted_scores,
    _frequency_scores,
    _linear,
    _linear_scores,
    _mean,
    _parts,
    _Trial,
    _with_trees,
    averaged,
    choose,
)
from podium.multilabel.streaming import Stream
from podium.multilabel.surrogates import SURROGATES, coupled_squares, fit_coupled
from podium.multilabel.targets import targets_for
from podium.multilabel.trees import Forest, _boosted_nodes, _join, _over, _units, boost, grow

FORMS = [np.asarray, sparse.csr_array]


def problem(n=40, d=3, K=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.7)
    return X, (X @ rng.normal(size=(d, K)) + rng.normal(size=(n, K)) > 0).astype(float)


def with_ones(X):
    return np.column_stack([X, np.ones(len(X))])


# ---- examples as the solver needs them ------------------------------------------------------------------------------


@pytest.mark.parametrize("form", FORMS)
def test_products_with_the_examples_and_a_column_of_ones(form):
    X, _ = problem()
    rng = np.random.default_rng(1)
    weights, residual, vector = rng.normal(size=(4, 2)), rng.normal(size=(40, 2)), rng.normal(size=(4, 2))
    curvature = rng.random((40, 2)).astype(np.float32)
    x, A = design(form(X)), with_ones(X)
    assert x.shape == (40, 3)
    assert_allclose(x.forward(weights), A @ weights)
    assert_allclose(x.backward(residual), A.T @ residual)
    assert_allclose(
        x.curve(curvature, vector.astype(np.float32)), A.T @ (curvature * (A @ vector)), rtol=1e-4, atol=1e-4
    )
    assert_allclose(x.diagonal(curvature), (A**2).T @ curvature, rtol=1e-4)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("ridge", [0.3, 4.0])
def test_a_search_begins_where_the_loss_is_lower_than_at_zero(form, ridge):
    X, Y = problem()
    weight = np.linspace(0.5, 2, 40)
    begin = design(form(X)).start(Y, weight, ridge)
    assert begin.shape == (4, 3)
    A = with_ones(X)

    def value(beta):
        m = A @ beta
        return (weight[:, None] * (np.logaddexp(0, m) - Y * m)).sum(axis=0) + ridge / 2 * (beta[:-1] ** 2).sum(axis=0)

    here, zero = value(begin), value(np.zeros((4, 3)))
    if form is np.asarray:  # the intercepts of the means alone
        share = weight @ Y / weight.sum()
        assert_allclose(begin, np.vstack([np.zeros((3, 3)), np.log(share / (1 - share))]))
        assert (here <= zero).all()
    elif ridge < 1:  # a few sweeps are part of the way
        assert (here < 0.75 * zero).all()


def test_losses_and_their_derivatives_are_the_definition_s():
    rng = np.random.default_rng(2)
    margin, target, weight = 3 * rng.normal(size=(20, 2)), rng.random((20, 2)), rng.random(20)
    margin[0] = [800.0, -800.0]
    loss, residual, curvature = linear._logistic(margin, target, weight)
    assert_allclose(loss, (weight[:, None] * (np.logaddexp(0, margin) - target * margin)).sum(axis=0))
    assert_allclose(residual, weight[:, None] * (expit(margin) - target), atol=1e-12)
    assert_allclose(curvature, weight[:, None] * expit(margin) * expit(-margin), rtol=1e-5, atol=1e-12)


@pytest.mark.parametrize("form", FORMS)
def test_a_direction_is_newton_s_to_a_quarter_label_by_label(form):
    X, _ = problem(d=6)
    rng = np.random.default_rng(3)
    x, A, ridge = design(form(X)), with_ones(X), 0.7
    curvature = rng.random((40, 3)).astype(np.float32)
    gradient = rng.normal(size=(7, 3)) * [1.0, 1e-6, 1e6]
    gradient[:, 2] = 0.0
    step = linear._direction(x, curvature, gradient, ridge)
    penalty = np.array([ridge] * 6 + [1e-6])
    assert not step[:, 2].any()
    for k in range(2):
        H = A.T @ (curvature[:, k : k + 1] * A) + np.diag(penalty)
        inverse = 1 / np.diag(H)
        left = -gradient[:, k] - H @ step[:, k]
        assert gradient[:, k] @ step[:, k] < 0
        assert left @ (inverse * left) <= 0.2501 * (gradient[:, k] @ (inverse * gradient[:, k]))
        alone = linear._direction(x, curvature[:, [k]].copy(), gradient[:, [k]].copy(), ridge)
        assert_allclose(alone[:, 0], step[:, k], rtol=1e-3, atol=1e-3 * np.abs(step[:, k]).max())


def test_each_label_halves_its_own_step_until_its_loss_falls():
    X, Y = problem()
    A, ridge, weight = with_ones(X), 0.7, np.linspace(0.5, 2, 40)
    beta = np.random.default_rng(4).normal(size=(4, 3))

    def value(b, k):
        m = A @ b
        return (weight * (np.logaddexp(0, m) - Y[:, k] * m)).sum() + ridge / 2 * (b[:-1] ** 2).sum()

    gradient = A.T @ (weight[:, None] * (expit(A @ beta) - Y)) + ridge * np.vstack([beta[:-1], np.zeros((1, 3))])
    step = -gradient * np.array([0.01, 1.0, 40.0])  # short enough, too long, far too long
    loss = np.array([value(beta[:, k], k) for k in range(3)])
    lengths = []
    for k in range(3):
        length = 1.0
        while value(beta[:, k] + length * step[:, k], k) > loss[k] + 1e-4 * length * (gradient[:, k] @ step[:, k]):
            length /= 2
        lengths.append(length)
    assert lengths[0] == 1.0 > lengths[1] > lengths[2]
    found = linear._line_search(A @ step, step, gradient, beta, A @ beta, Y, weight, ridge, loss)
    new = beta + np.array(lengths) * step
    assert_allclose(found[0], new)
    assert_allclose(found[1], A @ new)
    assert_allclose(found[2], [value(new[:, k], k) for k in range(3)])
    assert_allclose(found[3], weight[:, None] * (expit(A @ new) - Y), atol=1e-12)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("C", [0.2, 5.0])
def test_every_step_is_handed_the_loss_where_it_is_and_ends_within_the_tolerance(form, C, monkeypatch):
    X, Y = problem(K=5)
    weight, ridge, A = np.linspace(0.5, 2, 40), 1 / C, with_ones(X)
    whole, calls = linear._line_search, []

    def searched(move, step, gradient, beta, margin, target, heavy, pull, loss):
        m = A @ beta
        value = (weight[:, None] * (np.logaddexp(0, m) - target * m)).sum(axis=0) + ridge / 2 * (beta[:-1] ** 2).sum(
            axis=0
        )
        assert_allclose(loss, value)
        assert_allclose(margin, m)
        assert_allclose(move, A @ step)
        slope = A.T @ (weight[:, None] * (expit(m) - target)) + ridge * np.vstack(
            [beta[:-1], np.zeros((1, beta.shape[1]))]
        )
        assert_allclose(gradient, slope, atol=1e-9)
        assert pull == pytest.approx(ridge)
        calls.append(beta.shape[1])
        return whole(move, step, gradient, beta, margin, target, heavy, pull, loss)

    monkeypatch.setattr(linear, "_line_search", searched)
    goal = sparse.csc_array(Y)
    for start in (None, np.random.default_rng(5).normal(size=(4, 5))):
        beta = fit_logistic(design(form(X)), goal, weight, C=C, tol=1e-9, start=start)
        slope = A.T @ (weight[:, None] * (expit(A @ beta) - Y)) + ridge * np.vstack([beta[:-1], np.zeros((1, 5))])
        assert np.abs(slope).max() <= 1e-9 * weight.sum()
    assert calls[0] == 5
    near = len(calls)
    again = fit_logistic(design(form(X)), goal, weight, C=C, tol=1e-9, start=beta)
    assert len(calls) == near  # nothing to do where it ended
    assert_allclose(again, beta)


def test_labels_that_are_done_are_left_out_of_the_rest(monkeypatch):
    X, Y = problem(n=200, K=4)
    sizes, whole = [], linear._direction

    def counted(x, curvature, gradient, ridge):
        sizes.append(gradient.shape[1])
        return whole(x, curvature, gradient, ridge)

    monkeypatch.setattr(linear, "_direction", counted)
    x, weight = design(X), np.ones(200)
    exact = fit_logistic(x, sparse.csc_array(Y), weight, tol=1e-10)
    start = exact.copy()
    start[:, [1, 3]] += 1.0
    sizes.clear()
    found = fit_logistic(x, sparse.csc_array(Y), weight, tol=1e-9, start=start)
    assert sizes[0] == 2  # two of four are open, fewer than three quarters
    assert_allclose(found, exact, atol=1e-6)
    start[:, 0] += 1.0
    sizes.clear()
    fit_logistic(x, sparse.csc_array(Y), weight, tol=1e-9, start=start)
    assert sizes[0] == 4  # three of four stay together


@pytest.mark.parametrize("form", FORMS)
def test_labels_that_never_vary_are_certain_and_penalties_may_be_as_strong_as_they_like(form):
    X, Y = problem(K=4)
    Y[:, 1], Y[:, 2] = 0.0, 1.0
    weight = np.ones(40)
    Y[3, 1], weight[3] = 1.0, 0.0  # of no weight
    beta = fit_logistic(design(form(X)), sparse.csc_array(Y), weight, tol=1e-8)
    assert_array_equal(beta[:, 1], [0, 0, 0, -CERTAIN])
    assert_array_equal(beta[:, 2], [0, 0, 0, CERTAIN])
    assert np.abs(beta[:-1, [0, 3]]).max() > 0.01
    only = fit_logistic(design(form(X)), sparse.csc_array(Y[:, [1, 2]]), weight)
    assert_array_equal(only, beta[:, [1, 2]])
    stiff = fit_logistic(design(form(X)), sparse.csc_array(Y), weight, C=1e-300)
    assert np.abs(stiff[:-1]).max() < 1e-20
    easy = fit_logistic(design(X), sparse.csc_array(Y), weight, tol=1e300)
    share = weight @ Y / weight.sum()
    assert_allclose(easy[:, 0], [0, 0, 0, np.log(share[0] / (1 - share[0]))])  # all is well where it begins


def test_labels_are_solved_in_blocks_as_if_alone(monkeypatch):
    X, Y = problem(K=7)
    together = fit_logistic(design(X), sparse.csc_array(Y), np.ones(40), tol=1e-10)
    squares = squared_gradients(design(X), sparse.csc_array(Y), together, np.linspace(0, 2, 40))
    monkeypatch.setattr(linear, "BLOCK", 3)
    start = np.random.default_rng(0).normal(size=(4, 7))
    for begin in (None, start):
        assert_allclose(
            fit_logistic(design(X), sparse.csc_array(Y), np.ones(40), tol=1e-10, start=begin), together, atol=1e-7
        )
    again = squared_gradients(design(X), sparse.csc_array(Y), together, np.linspace(0, 2, 40))
    assert_allclose(again, squares)
    slopes = np.linspace(0, 2, 40)[:, None] * (expit(with_ones(X) @ together) - Y)
    assert_allclose(squares, (with_ones(X) ** 2).T @ slopes**2, rtol=1e-5)


@pytest.mark.parametrize(("labels", "steps"), [(1, 1), (3, 2)])
def test_steps_that_do_not_suffice_are_counted(labels, steps):
    X, Y = problem(K=3)
    many, more = (each if count > 1 else each[:-1] for each, count in (("labels", labels), ("steps", steps)))
    said = (
        f"^{labels} {many} did not converge in {steps} Newton {more}; lower C= or scale the features to similar sizes"
    )
    with pytest.raises(ConvergenceError, match=said):
        fit_logistic(design(X), sparse.csc_array(Y[:, :labels]), np.ones(40), tol=1e-14, max_iter=steps)


# ---- surrogates -----------------------------------------------------------------------------------------------------


def by_definition(surrogate, margin, target, weight):
    total = 0.0
    for m, t, w in zip(margin, target, weight, strict=True):
        if surrogate == "pairwise":
            pairs = [(i, j) for i in range(len(t)) for j in range(len(t)) if t[i] > t[j]]
            total += w * sum(np.log1p(np.exp(m[j] - m[i])) for i, j in pairs) / max(len(pairs), 1)
        else:
            goal = t / t.sum() if "normalised" in surrogate and t.sum() else t
            total += w * sum(goal[i] * (np.log(np.exp(m).sum()) - m[i]) for i in range(len(t)))
    return total


@pytest.mark.parametrize("surrogate", list(SURROGATES))
def test_surrogates_and_their_slopes_are_their_definitions(surrogate):
    rng = np.random.default_rng(6)
    margin, target, weight = rng.normal(size=(6, 3)), rng.integers(0, 3, (6, 3)) / 2, rng.random(6)
    target[2] = 0.0  # nothing relevant
    value, residual = SURROGATES[surrogate](margin, target, weight)
    assert value == pytest.approx(by_definition(surrogate, margin, target, weight))
    for row in range(6):
        for k in range(3):
            step = np.zeros((6, 3))
            step[row, k] = 1e-5
            ends = [by_definition(surrogate, margin + sign * step, target, weight) for sign in (1, -1)]
            assert residual[row, k] == pytest.approx((ends[0] - ends[1]) / 2e-5, abs=1e-8)
    far = margin + 2000.0  # a common shift changes nothing, and overflows nothing
    assert SURROGATES[surrogate](far, target, weight)[0] == pytest.approx(value, rel=1e-6)


@pytest.mark.parametrize("surrogate", list(SURROGATES))
@pytest.mark.parametrize("form", FORMS)
def test_squares_of_coupled_slopes_are_added_up_over_the_rows(surrogate, form):
    X, Y = problem()
    weight, beta = np.linspace(0, 2, 40), np.random.default_rng(7).normal(size=(4, 3))
    found = coupled_squares(surrogate, design(form(X)), sparse.csr_array(Y), beta, weight)
    expected = np.zeros((4, 3))
    for k in range(40):
        one = slice(k, k + 1)
        _, slope = SURROGATES[surrogate](with_ones(X[one]) @ beta, Y[one], weight[one])
        expected += (with_ones(X[one]).T @ slope) ** 2
    assert_allclose(found, expected, rtol=1e-4, atol=1e-8)


def test_a_coupled_search_that_does_not_end_says_what_to_change():
    X, Y = problem()
    with pytest.raises(ConvergenceError, match=r"^softmax: no optimum in 10 steps; lower C= or scale the features"):
        fit_coupled("softmax", design(1e3 * X), sparse.csr_array(Y), np.ones(40), C=1e6, tol=1e-14, max_iter=1)


@pytest.mark.parametrize("surrogate", ["univariate", *SURROGATES])
@pytest.mark.parametrize("form", FORMS)
def test_a_stream_is_adagrad_and_skips_rows_of_no_weight(surrogate, form):
    X, Y = problem(n=20)
    weight = np.where(np.arange(20) % 4 == 1, 0.0, np.linspace(0.5, 2, 20))
    stream = Stream(3, 3, rate=0.3)
    told = stream.learn(form(X), form(Y), weight, surrogate)
    w, squares, scores = np.zeros((4, 3)), np.zeros((4, 3)), []
    for k in range(20):
        row = with_ones(X[k : k + 1])
        scores.append((row @ w)[0])
        if surrogate == "univariate":
            slope = row.T @ (weight[k] * (expit(row @ w) - Y[k]))
        else:
            slope = row.T @ SURROGATES[surrogate](row @ w, Y[k : k + 1], weight[k : k + 1])[1]
        squares += slope**2
        w -= 0.3 * slope / (np.sqrt(squares) + 1e-8)
    assert_allclose(told, scores, atol=1e-9)
    assert_allclose(stream.weights, w, atol=1e-9)
    assert_allclose(stream.squares, squares, atol=1e-9)
    assert_allclose(stream.scores(form(X)), with_ones(X) @ w, atol=1e-9)


# ---- other scorers --------------------------------------------------------------------------------------------------


def test_scorers_that_take_no_weights_are_given_none_unless_rows_differ():
    X, Y = problem()
    even = LabelRanker("sum@1", KNeighborsRegressor(3)).fit(X, Y, sample_weight=np.full(40, 2.0))
    for k, each in enumerate(even.scorers_):
        assert_allclose(each.predict(X), KNeighborsRegressor(3).fit(X, Y[:, k]).predict(X))
    with pytest.raises(TypeError, match="sample_weight"):
        LabelRanker("sum@1", KNeighborsRegressor(3)).fit(X, Y, sample_weight=np.linspace(1, 2, 40))
    hard = _fit_one(KNeighborsClassifier(3), X, Y[:, 0], None)
    chances = KNeighborsClassifier(3).fit(X, Y[:, 0].astype(int)).predict_proba(X)[:, 1]
    assert_allclose(_score(hard, 0.0, X), chances)
    assert _score(None, 7.0, X).tolist() == [7.0] * 40
    for form in FORMS:
        soft = _fit_one(DecisionTreeClassifier(), form(X), np.linspace(0, 1, 40), np.linspace(1, 2, 40))
        assert soft.classes_.tolist() == [0, 1]
    chosen = LabelRanker("sum@1", KNeighborsClassifier(3)).fit(X, Y)
    assert chosen.middle_ == 0.5
    assert chosen.decision_function(X).shape == (40, 3)


@pytest.mark.parametrize("form", FORMS)
def test_features_beyond_single_precision_are_refused(form):
    _refuse_large(form(np.array([[1e15, -1e15]])))
    _refuse_large(form(np.zeros((0, 2))))
    with pytest.raises(InputError, match=r"features are as large as 2e\+15; scale them, or set standardize=True"):
        _refuse_large(form(np.array([[1.0, -2e15]])))


# ---- what is tried on rows held out ---------------------------------------------------------------------------------


def trial(n=60, loss="sum@1", weight=None, **more):
    X, Y = problem(n=n)
    Y[~Y.any(axis=1), 0] = 1.0
    relevance = sparse.csr_array(Y)
    weight = np.ones(n) if weight is None else weight
    targets = targets_for(parse(loss), relevance, 1.0, weight)
    parts = _parts(X, relevance, weight)
    return _Trial(X, X, relevance, targets, weight, parse(loss), parts, 1e-6, 100, **more), Y


def test_losses_of_rows_held_out_are_those_of_the_metric_part_by_part():
    weight = np.linspace(1, 2, 60)
    known, Y = trial(weight=weight)
    scores = [np.random.default_rng(k).normal(size=(len(part.held), 3)) for k, part in enumerate(known.parts)]
    expected = np.concatenate([ranking_loss("sum@1", Y[p.held], s) for p, s in zip(known.parts, scores, strict=True)])
    assert_allclose(known.losses(scores), expected)
    assert_allclose(known.held_weight, np.concatenate([weight[part.held] for part in known.parts]))


def test_scores_of_rows_held_out_come_from_the_other_rows():
    weight = np.linspace(1, 2, 60)
    known, Y = trial(weight=weight)
    part = known.parts[1]
    share = weight[part.train] @ Y[part.train] / weight[part.train].sum()
    odds = np.tile(np.log(share / (1 - share)), (len(part.held), 1))
    assert_allclose(_frequency_scores(known, part), odds)
    assert_allclose(_linear_scores(known, part, BLIND), odds)
    setting = Setting(C=0.5)
    x, goal = design(known.X[part.train]), sparse.csc_array(Y[part.train])
    beta = fit_logistic(x, goal, weight[part.train], C=0.5, tol=1e-9)
    assert_allclose(_linear_scores(known, part, setting), with_ones(known.X[part.held]) @ beta, atol=1e-4)
    pairs = fit_coupled("pairwise", x, goal, weight[part.train], C=0.5, tol=1e-6, max_iter=100)
    other = Setting(surrogate="pairwise", C=0.5)
    assert_allclose(_linear_scores(known, part, other), with_ones(known.X[part.held]) @ pairs, atol=1e-3)


def test_frequencies_are_tried_only_where_the_penalty_is_to_be_chosen(monkeypatch):
    monkeypatch.setattr("podium.multilabel.selection.PENALTIES", (0.25, 1.0))
    monkeypatch.setattr("podium.multilabel.selection.COUPLED_PENALTIES", (0.5,))
    known, _ = trial()
    assert list(_linear(known, "auto", "auto")) == [
        BLIND, Setting(C=0.25), Setting(C=1.0), Setting(surrogate="pairwise", C=0.5)
    ]  # fmt: skip
    assert list(_linear(known, "auto", 3.0)) == [Setting(C=3.0), Setting(surrogate="pairwise", C=3.0)]
    assert list(_linear(known, "softmax", "auto")) == [BLIND, Setting(surrogate="softmax", C=0.5)]
    tried = _linear(known, "univariate", 0.5)
    parts = [_linear_scores(known, part, Setting(C=0.5)) for part in known.parts]
    assert_allclose(tried[Setting(C=0.5)], known.losses(parts))


@pytest.mark.parametrize(
    ("scorer", "surrogate", "C", "fixed"),
    [
        ("linear", "auto", "auto", Setting(True, "univariate", 1.0)),
        ("linear", "pairwise", "auto", Setting(True, "pairwise", 1.0)),
        ("linear", "auto", 0.25, Setting(True, "univariate", 0.25)),
        ("linear", "softmax", 0.25, Setting(True, "softmax", 0.25)),
        ("trees", "auto", "auto", Setting(False, forest="random")),
        ("auto", "auto", 2.0, Setting(True, "univariate", 2.0)),
    ],
)
def test_with_nothing_to_hold_out_what_was_given_or_is_usual_is_taken(scorer, surrogate, C, fixed):
    known, _ = trial(n=8)
    found = choose(
        known.X, known.X, known.relevance, known.targets, known.weight, known.loss,
        scorer=scorer, surrogate=surrogate, C=C, tol=1e-4, max_iter=100,
    )  # fmt: skip
    assert found == (fixed, {})


def test_a_given_setting_is_not_tried_and_trees_always_are(monkeypatch):
    known, _ = trial()
    asked = []
    monkeypatch.setattr("podium.multilabel.selection._linear", lambda *given: asked.append("linear") or {})
    monkeypatch.setattr("podium.multilabel.selection._with_trees", lambda *given: asked.append("trees") or {})
    for scorer, surrogate, C, seen in (
        ("linear", "univariate", 1.0, []),
        ("linear", "auto", 1.0, ["linear"]),
        ("linear", "univariate", "auto", ["linear"]),
        ("trees", "univariate", 1.0, ["trees"]),
        ("auto", "univariate", 1.0, ["linear", "trees"]),
    ):
        asked.clear()
        choose(
            known.X, known.X, known.relevance, known.targets, known.weight, known.loss,
            scorer=scorer, surrogate=surrogate, C=C, tol=1e-4, max_iter=100,
        )  # fmt: skip
        assert asked == seen


def test_means_of_settings_keep_what_each_of_them_is():
    line, wood, more = Setting(C=0.5), Setting(False, forest="best"), Setting(False, boosted=True)
    assert _mean([line, wood]) == Setting(True, "univariate", 0.5, "best", False)
    assert _mean([more, wood]) == Setting(False, forest="best", boosted=True)
    assert _mean([more, line, wood]) == Setting(True, "univariate", 0.5, "best", True)
    assert _mean([more]) == more
    assert averaged([np.zeros(2), np.array([1.0, 3.0])]).tolist() == [0.5, 1.5]


def test_boosted_trees_are_not_tried_where_features_say_nothing_or_no_row_has_weight():
    known, _ = trial()
    rows = len(known.held_weight)
    line = Setting(C=0.5)
    members = {line: [np.full((len(part.held), 3), 0.5) for part in known.parts]}
    assert _boosted_scores(known, members, {BLIND: np.zeros(rows), line: np.zeros(rows)}) == []
    empty = SimpleNamespace(
        **{name: getattr(known, name) for name in ("X", "parts", "held_weight", "relevance", "loss")}
    )
    empty.targets = SimpleNamespace(values=known.targets.values, weight=np.zeros(60))
    assert _boosted_scores(empty, members, {line: np.zeros(rows)}) == []


def test_boosted_trees_that_are_clearly_worse_on_the_first_part_are_no_scores(monkeypatch):
    odds = np.array([-1.0, 0.0, 2.0])
    boosted = SimpleNamespace(scores=lambda X: np.tile(odds, (len(X), 1)))
    monkeypatch.setattr("podium.multilabel.selection.boost", lambda X, targets, weight: boosted)
    known, Y = trial()
    line = Setting(C=0.5)
    poor = {line: [1.0 - Y[part.held] for part in known.parts]}  # their mean is as bad
    tried = {line: np.zeros(len(known.held_weight))}
    assert _boosted_scores(known, poor, tried) == []
    kept = _boosted_scores(known, {line: [Y[part.held] for part in known.parts]}, tried | {line: np.full(60, 9.0)})
    assert len(kept) == len(known.parts)
    for part, each in zip(known.parts, kept, strict=True):
        assert_allclose(each, np.tile(expit(odds), (len(part.held), 1)))


def test_trees_are_tried_beside_the_best_linear_scorer_and_with_it(monkeypatch):
    monkeypatch.setattr("podium.multilabel.selection.TREES", 2)
    monkeypatch.setattr("podium.multilabel.selection.BOOSTED_LABELS", 0)
    known, _ = trial(n=30)
    rows = len(known.held_weight)
    good, bad = Setting(C=0.5), Setting(C=4.0)
    tried = {bad: np.full(rows, 9.0), good: np.zeros(rows), Setting(surrogate="pairwise"): np.full(rows, -1.0)}
    found = _with_trees(known, tried)
    forests = [Setting(False, forest=kind) for kind in ("random", "best")]
    kept = min(forests, key=lambda each: found[each].sum())
    both = Setting(True, "univariate", 0.5, kept.forest)
    assert set(found) == {*forests, both}
    scores = []
    for part in known.parts:
        goal = known.targets.values[part.train]
        forest = grow(known.X[part.train], goal, np.ones(len(part.train)), greedy=kept.forest == "best", trees=2)
        line = expit(_linear_scores(known, part, good))
        scores.append((forest.scores(known.X[part.held]) + line) / 2)
    assert_allclose(found[both], known.losses(scores))
    blind = _with_trees(known, {BLIND: np.zeros(rows)})
    assert Setting(True, "univariate", 0.0, kept.forest) in blind
    assert set(_with_trees(known, {})) == set(forests)


# ---- trees ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("d", "looked_at"), [(1, 1), (2, 1), (5, 1), (6, 2), (9, 3), (330, 100)])
def test_a_split_looks_at_a_third_of_the_features_and_at_most_a_hundred(d, looked_at):
    rng = np.random.default_rng(8)
    X, Y = rng.normal(size=(30, d)), (rng.random((30, 2)) < 0.5) * 1.0
    X /= np.exp2(np.ceil(np.log2(np.abs(X).max(axis=0))))
    forest = grow(X, sparse.csr_array(Y), np.ones(30), trees=2)
    theirs = [ExtraTreeRegressor(max_features=looked_at, random_state=k).fit(X.astype(np.float32), Y) for k in range(2)]
    assert_allclose(
        forest.scores(X), np.mean([each.predict(X.astype(np.float32)) for each in theirs], axis=0), atol=1e-6
    )


@pytest.mark.parametrize("form", FORMS)
def test_units_are_powers_of_two_just_above_each_feature(form):
    X = np.array([[0.3, -5.0, 0.0, 4.0, 1e-40], [0.1, 2.0, 0.0, 1.0, 0.0]])
    units = _units(form(X))
    assert units.tolist() == [0.5, 8.0, 1.0, 4.0, 1.0]
    over = _over(form(X), units)
    assert_allclose(over.toarray() if form is sparse.csr_array else over, X / units)
    assert _units(form(np.array([[1e200]]))).tolist() == [2.0**100]


def test_a_forest_is_walked_a_block_of_rows_at_a_time(monkeypatch):
    """Two trees by hand: a stump on the second feature, and a leaf alone."""
    table = sparse.csr_array(np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 3.0], [0.5, 0.5]], dtype=np.float32))
    whole = np.array([-1], dtype=np.int32)
    stump = (
        np.array([1, -2, -2], np.int32), np.array([0.25, 0.0, 0.0]), np.array([1, -1, -1], np.int32),
        np.array([2, -1, -1], np.int32), table[:3],
    )  # fmt: skip
    alone = (whole, np.zeros(1), whole, whole, table[3:])
    forest = _join([stump, alone], 2, 2)
    assert forest.sound()
    assert forest.roots.tolist() == [0, 3]
    assert forest.left.tolist() == [1, -1, -1, -1]
    assert forest.right.tolist() == [2, -1, -1, -1]
    X = np.array([[9.0, 0.25], [9.0, 0.26], [9.0, -1.0], [9.0, 7.0], [0.0, 0.0]])
    expected = [[0.75, 0.25], [0.25, 1.75], [0.75, 0.25], [0.25, 1.75], [0.75, 0.25]]
    for block in (2_000_000, 4, 1):
        monkeypatch.setattr("podium.multilabel.trees.BLOCK", block)
        for form in FORMS:
            assert_allclose(forest.scores(form(X)), expected)
    nodes = np.array(
        [(0, 3, 1, 2, 0.5, 0.0), (1, 0, 0, 0, 0.0, -0.25), (1, 0, 0, 0, 0.0, 0.75)],
        dtype=[
            ("is_leaf", "u1"), ("feature_idx", "i8"), ("left", "u4"), ("right", "u4"), ("num_threshold", "f8"),
            ("value", "f8"),
        ],
    )  # fmt: skip
    feature, threshold, left, right, means = _boosted_nodes(nodes, 1, 3, 10, np.array([1.0, 1.0, 1.0, 4.0]))
    assert (feature.tolist(), left.tolist(), right.tolist()) == ([3, -1, -1], [1, -1, -1], [2, -1, -1])
    assert threshold[0] == 2.0
    assert means.toarray().tolist() == [[0, 0, 0], [0, -2.5, 0], [0, 7.5, 0]]
    nothing = Forest(*(np.zeros(0, dtype=np.int32) for _ in range(8)), 2, 2)
    for broken in (nothing, replace(forest, roots=forest.roots[:0]), replace(forest, right=forest.right[:-1])):
        assert broken.sound() is False
    assert replace(forest, values=forest.values * np.nan).sound() is False
    assert forest.sound() is True


@pytest.mark.parametrize("form", FORMS)
def test_a_single_row_of_weight_is_certain_of_its_labels(form):
    X, Y = problem(n=4)
    Y[2] = [1.0, 0.0, 1.0]
    boosted = boost(form(X), sparse.csr_array(Y), np.array([0.0, 0.0, 2.0, 0.0]))
    assert_allclose(boosted.scores(form(X)), np.tile([CERTAIN, -CERTAIN, CERTAIN], (4, 1)))
    assert boosted.sound() is True


# ---- experts, and features that are no table ------------------------------------------------------------------------


def test_more_states_than_can_be_listed_are_refused(monkeypatch):
    def played(limit):
        monkeypatch.setattr(experts, "LIMIT", limit)
        tables = np.random.default_rng(0).integers(0, 2, size=(12, 3))
        ranker = ExpertLabelRanker(3, lambda i, j: Halving(tables), horizon=5, loss="sum@1", beta=0.9, seed=2)
        for k in range(5):
            ranker.update(k % 3, [1, 0, 0])
        return len(ranker.tree.states)

    states = played(100_000)
    assert states > 4
    assert played(states) == states
    with pytest.raises(
        InputError, match=f"the learners of the experts are in more than {states - 1} different states; take"
    ):
        played(states - 1)


def test_features_that_are_no_table_hold_no_word():
    assert inputs._word_in([np.zeros((2, 2)), np.zeros((2, 3))]) == ""
    assert inputs._word_in(["a", "b"]) == ""
    assert inputs._word_in([[1.0, "1e3"], ["nan", 2]]) == ""
    assert inputs._word_in([[1.0, "1e3"], [3, "x"]]).startswith("row 2, feature 2: 'x' is no number; give words as")


@pytest.mark.parametrize("mode", ["marginal", "threshold", "hedge"])
def test_an_online_ranker_refuses_what_does_not_go_on_from_before(mode):
    X, Y = problem()
    ranker = OnlineLabelRanker("sum@1", mode, random_state=0).partial_fit(X, Y)
    known = ranker.losses_.copy()
    for wrong, message in (
        (lambda: ranker.partial_fit(X, Y[:, :2]), "y has 2 labels, but the first examples had 3"),
        (lambda: ranker.partial_fit(X[:, :2], Y), "features"),
        (lambda: ranker.partial_fit(X, 2 * Y), "relevance 2 is above max_relevance=1; raise it"),
        (lambda: ranker.set_params(rate=-1).partial_fit(X, Y), "rate=-1"),
    ):
        with pytest.raises(InputError, match=message):
            wrong()
        assert_array_equal(ranker.losses_, known)
    ranker.set_params(rate=0.5)
    lost = ranking_loss("sum@1", Y, ranker.decision_function(X))
    assert ranker.score(X, Y) == pytest.approx(-lost.mean())
    assert math.isfinite(ranker.partial_fit(X, 0 * Y).losses_.sum())  # nothing relevant: nothing lost
    assert not ranker.losses_[len(known) :].any()
