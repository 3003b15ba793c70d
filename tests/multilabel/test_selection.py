"""What is chosen on rows held out: parts, penalties, trees against scikit-learn's, scales against their definition."""

from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestRegressor
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import label_ranking_average_precision_score
from sklearn.tree import DecisionTreeRegressor, ExtraTreeRegressor
from threadpoolctl import threadpool_limits

from podium import load, save
from podium.errors import ConvergenceError, InputError
from podium.metrics import ranking_loss
from podium.multilabel import LabelRanker
from podium.multilabel.rows import different_rows
from podium.multilabel.scaling import measure
from podium.multilabel.selection import (
    BLIND,
    Setting,
    _along,
    _best,
    _clearly_lost,
    _parts,
    _plan,
    _within_chance,
    describe,
)
from podium.multilabel.trees import MAX_LEAVES, _draws, boost, grow

from suites.multilabel import labelled


def linear_truth(n=300, d=6, K=5, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, (rng.random((n, K)) < 1 / (1 + np.exp(-(2 * X @ rng.normal(size=(d, K)) - 1)))).astype(int)


def crossed(n=600, seed=0):
    """Labels that depend on products of signs: no linear score tells them."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    signs = np.column_stack([X[:, 0] * X[:, 1], X[:, 2] * X[:, 3], -X[:, 0] * X[:, 1]])
    return X, (signs > 0).astype(int)


def lrap(Y, scores):
    return label_ranking_average_precision_score(Y, scores)


# ---- parts ----------------------------------------------------------------------------------------------------------


def test_every_row_is_held_out_once_and_equal_rows_together():
    X, Y = labelled(160)
    X[40:80] = X[:40]
    parts = _parts(X, sparse.csr_array(Y), np.ones(160))
    assert_array_equal(np.sort(np.concatenate([part.held for part in parts])), np.arange(160))
    for part in parts:
        assert not set(part.train) & set(part.held)
        assert_array_equal(np.isin(np.arange(40), part.held), np.isin(np.arange(40, 80), part.held))


def test_parts_do_not_depend_on_order_sparsity_or_rows_of_no_weight():
    X, Y = labelled(160)
    weight = np.ones(160)
    weight[::7] = 0
    mixed = np.random.default_rng(0).permutation(160)
    first = _parts(X, sparse.csr_array(Y), weight)
    second = _parts(sparse.csr_array(X[mixed]), sparse.csr_array(Y[mixed]), weight[mixed])
    for one, two in zip(first, second, strict=True):
        assert_array_equal(np.sort(mixed[two.held]), np.sort(one.held))
        assert (weight[one.train] > 0).all()


@pytest.mark.parametrize(("rows", "most"), [(100, 10**6), (5000, 10**6), (5000, 6000), (10**6, 2000), (40, 1)])
def test_the_work_stays_within_what_is_allowed(rows, most):
    made, taken, kept = _plan(rows, most)
    trained = taken * kept * (made - 1) / made
    assert trained <= max(most, 60)
    assert kept <= rows
    assert taken in (1, made)


@pytest.mark.parametrize(
    ("rows", "most", "plan"),
    [
        (500, 2000, (5, 5, 500)), (500, 1999, (3, 3, 500)), (501, 10**6, (3, 3, 501)), (501, 1002, (3, 3, 501)),
        (501, 1001, (3, 1, 501)), (900, 500, (3, 1, 750)), (900, 41, (3, 1, 61)), (900, 40, (3, 1, 60)),
        (900, 1, (3, 1, 60)), (50, 1, (3, 1, 50)),
    ],
)  # fmt: skip
def test_five_parts_three_or_one_as_the_work_allows(rows, most, plan):
    assert _plan(rows, most) == plan


@pytest.mark.parametrize(("rows", "labels", "parts"), [(12, 2, 5), (11, 2, 0), (12, 1, 0)])
def test_parts_need_twelve_different_rows_and_two_labels(rows, labels, parts):
    X = np.arange(rows + 1.0)[:, None]
    X[-1] = X[0]  # which is no different one
    found = _parts(X, sparse.csr_array(np.ones((rows + 1, labels))), np.ones(rows + 1))
    assert len(found) == parts


def test_a_part_that_shows_no_relevant_label_is_left_out():
    X, Y = np.arange(20.0)[:, None], np.zeros((20, 2))
    Y[4, 1] = 1
    parts = _parts(X, sparse.csr_array(Y), np.ones(20))
    assert len(parts) == 4
    assert all(4 in part.train for part in parts)


def test_too_few_rows_to_hold_any_out_take_the_usual_penalty():
    X, Y = linear_truth(8)
    ranker = LabelRanker("sum@1").fit(X, Y)
    assert ranker.validation_ == {}
    assert (ranker.C_, ranker.surrogate_) == (1.0, "univariate")


# ---- what is chosen -------------------------------------------------------------------------------------------------


def test_the_loss_of_a_penalty_is_that_of_scikit_learn_on_the_same_rows():
    """One C: the number in `validation_` is the mean loss of one-vs-rest over the rows each part holds out."""
    X, Y = linear_truth(120)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    ranker = LabelRanker("sum@2", C=0.25, tol=1e-9).fit(X, Y)
    losses = np.empty(len(X))
    for part in _parts(X, sparse.csr_array(Y), np.ones(len(X))):
        scores = np.column_stack(
            [
                LogisticRegression(C=0.25, tol=1e-8)
                .fit(X[part.train], Y[part.train, k])
                .decision_function(X[part.held])
                for k in range(5)
            ]
        )
        losses[part.held] = ranking_loss("sum@2", Y[part.held], scores)
    # rows are compared by rank, so the looser tolerance of a trial shows in a swap of near-equal scores at most
    assert ranker.validation_["linear, univariate, C=0.25"] == pytest.approx(losses.mean(), abs=2.5 / len(X))
    assert ranker.chosen_ in ranker.validation_


@pytest.mark.parametrize(("surrogate", "first"), [("univariate", -7), ("pairwise", -5), ("softmax", -5)])
def test_penalties_go_from_strong_to_64_in_steps_of_four(surrogate, first, monkeypatch):
    """With nothing that grows worse, all of them are tried."""
    monkeypatch.setattr("podium.multilabel.selection.WORSE", 99)
    X, Y = linear_truth(30)
    tried = list(LabelRanker("sum@1", surrogate=surrogate).fit(X, Y).validation_)
    assert tried[0] == "label frequencies"
    assert tried[1:] == [f"linear, {surrogate}, C={4.0**k:.3g}" for k in range(first, 4)]


def test_a_gain_counts_when_it_is_more_than_a_standard_error_of_the_mean():
    rng = np.random.default_rng(0)
    gain, weight = rng.normal(size=50), rng.integers(0, 4, 50)
    rows = np.repeat(gain, weight)
    for shift in (-0.2, 0.0, 0.1, 0.2, 0.5):
        error = (rows + shift).std() / np.sqrt(len(rows))
        assert _within_chance(gain + shift, weight) == ((rows + shift).mean() <= error)
    assert _within_chance(np.zeros(5), np.ones(5))


def test_noise_is_ranked_by_frequency():
    rng = np.random.default_rng(3)
    X, Y = rng.normal(size=(200, 30)), (rng.random((200, 6)) < np.linspace(0.05, 0.6, 6)).astype(int)
    ranker = LabelRanker("ap").fit(X, Y)
    new = rng.normal(size=(400, 30))
    truth = (rng.random((400, 6)) < np.linspace(0.05, 0.6, 6)).astype(int)
    truth[:, 5] |= ~truth.any(axis=1)
    fixed = LabelRanker("ap", C=1.0, surrogate="univariate").fit(X, Y)
    best = lrap(truth, np.tile(np.linspace(0.05, 0.6, 6), (400, 1)))
    assert lrap(truth, ranker.decision_function(new)) > best - 0.02
    assert lrap(truth, fixed.decision_function(new)) < best - 0.03


def test_frequencies_alone_are_the_log_odds_of_the_shares():
    rng = np.random.default_rng(1)
    X, Y = rng.normal(size=(60, 3)), np.tile([1, 0, 0], (60, 1))
    Y[:20, 1] = 1
    ranker = LabelRanker("sum@1").fit(X, Y)
    assert ranker.C_ == 0
    assert ranker.chosen_ == "label frequencies"
    assert_array_equal(ranker.coef_, np.zeros((3, 3)))
    assert ranker.intercept_[1] == pytest.approx(np.log(1 / 2))
    assert_array_equal(np.argsort(-ranker.intercept_), [0, 1, 2])


def test_auto_takes_trees_where_signs_cross_and_not_where_scores_are_linear():
    X, Y = crossed()
    trees = LabelRanker("ap", "auto").fit(X[:200], Y[:200])
    assert trees.scorer_ in ("trees", "both")
    assert (
        trees.predict(X[400:]) == (trees.decision_function(X[400:]) >= 0.5)
    ).all()  # chances: one half is the middle
    linear = LabelRanker("ap").fit(X[:200], Y[:200])
    rows = Y[400:].any(axis=1)
    assert lrap(Y[400:][rows], trees.decision_function(X[400:][rows])) > 0.9
    assert lrap(Y[400:][rows], linear.decision_function(X[400:][rows])) < 0.8
    X, Y = linear_truth(150)
    assert LabelRanker("ap", "auto").fit(X, Y).scorer_ in ("linear", "both")


def test_the_mean_of_several_is_the_mean_of_their_targets():
    X, Y = linear_truth(60)
    ranker = LabelRanker("sum@1", C=1.0, surrogate="univariate").fit(X, Y)
    goal = sparse.csr_array(Y.astype(float))
    chances = 1 / (1 + np.exp(-(X @ ranker.coef_.T + ranker.intercept_)))
    ranker.scorer_, ranker.forest_ = "both", grow(X, goal, np.ones(60), trees=5)
    assert_allclose(ranker.decision_function(X), (chances + ranker.forest_.scores(X)) / 2, atol=1e-12)
    ranker.boosted_ = boost(X, goal, np.ones(60))
    odds = 1 / (1 + np.exp(-ranker.boosted_.scores(X)))
    assert_allclose(ranker.decision_function(X), (chances + ranker.forest_.scores(X) + odds) / 3, atol=1e-12)


def test_settings_are_described_in_words():
    assert describe(Setting(C=0.25)) == "linear, univariate, C=0.25"
    assert describe(Setting(C=0.0)) == "label frequencies"
    assert describe(Setting(False, forest="best")) == "trees, best splits"
    assert describe(Setting(False, boosted=True)) == "boosted trees"
    assert describe(Setting(forest="random")) == "mean of linear and trees, random splits"
    several = describe(Setting(forest="random", boosted=True))
    assert several == "mean of linear, trees, random splits and boosted trees"
    assert describe(Setting(boosted=True)) == "mean of linear and boosted trees"
    assert describe(Setting(False, forest="best", boosted=True)) == "mean of trees, best splits and boosted trees"
    scorers = [
        Setting(line, forest=forest, boosted=more).scorer
        for line in (True, False)
        for forest in ("", "best")
        for more in (False, True)
    ]
    assert scorers == ["linear", "both", "both", "both", "linear", "trees", "trees", "trees"]


LINE, PAIRS, WOOD = Setting(C=0.25), Setting(surrogate="pairwise", C=0.25), Setting(False, forest="best")


@pytest.mark.parametrize(
    ("losses", "best"),
    [
        ({LINE: [1, 2, 3], Setting(C=1.0): [1, 2, 3]}, LINE),  # as good: the stronger penalty
        ({Setting(C=1.0): [1, 2, 3], LINE: [1, 2, 3]}, LINE),
        ({LINE: [1, 2, 3], Setting(C=1.0): [1, 2, 2.5]}, Setting(C=1.0)),
        ({LINE: [5, 6, 7], PAIRS: [4, 5, 6]}, PAIRS),  # in every row
        ({LINE: [5, 6, 7], PAIRS: [6, 6, 5]}, LINE),  # by 1/3, with a standard error of sqrt(42) / 9
        ({LINE: [5, 6, 7], PAIRS: [5, 6, 6]}, PAIRS),  # by 1/3, with one of sqrt(6) / 9
        ({LINE: [5, 6, 7], PAIRS: [5, 6, 7]}, LINE),
        ({PAIRS: [5, 6, 7]}, PAIRS),  # nothing else was asked for
        ({PAIRS: [5, 6, 7], Setting(surrogate="pairwise", C=1.0): [5, 6, 6]}, Setting(surrogate="pairwise", C=1.0)),
        ({BLIND: [5, 6, 7], LINE: [4, 5, 6]}, LINE),
        ({BLIND: [5, 6, 7], LINE: [5.1, 6, 6.8]}, BLIND),  # features say nothing for sure
        ({BLIND: [5, 6, 7], PAIRS: [4, 5, 6], LINE: [4.5, 5.5, 6.5]}, PAIRS),
        ({BLIND: [5, 6, 7], LINE: [4, 5, 6], WOOD: [3, 4, 5]}, WOOD),
    ],
)
def test_the_lowest_loss_is_taken_unless_something_simpler_is_as_good(losses, best):
    tried = {each: np.array(lost, dtype=float) for each, lost in losses.items()}
    means = {each: float(lost.mean()) for each, lost in tried.items()}
    assert _best(tried, means, np.ones(3)) == best


@pytest.mark.parametrize(
    ("losses", "tried"),
    [
        ([3, 4, 5, 1], 3),  # two in a row are worse than the best
        ([3, 4, 2, 4, 4, 1], 5),
        ([3, 4, 3, 4, 3, 4], 6),  # as good as the best is not worse
        ([5, 4, 3, 2, 1], 5),
        ([3, 4], 2),
        ([3, 2, None, 1], 2),  # a fit that does not end ends it
    ],
)
def test_penalties_are_tried_until_two_in_a_row_are_worse(losses, tried, monkeypatch):
    begun = []

    def fit(trial, part, x, start, setting):
        begun.append(start)
        if losses[int(setting.C)] is None:
            raise ConvergenceError("too weak")
        return np.full((2, 1), setting.C)

    monkeypatch.setattr("podium.multilabel.selection._fit", fit)
    monkeypatch.setattr("podium.multilabel.selection._held_scores", lambda trial, part, end: end[0, 0])
    trial = SimpleNamespace(
        parts=[1, 2], held_weight=np.array([1.0, 1.0]), losses=lambda ends: np.array([losses[int(end)] for end in ends])
    )
    found = _along(trial, [None, None], "univariate", tuple(float(k) for k in range(len(losses))))
    assert list(found) == [Setting(C=float(k)) for k in range(tried)]
    assert begun[:2] == [None, None]
    assert [float(each[0, 0]) for each in begun[2:]] == [k // 2 for k in range(len(begun) - 2)]  # where the last ended


@pytest.mark.parametrize(("tol", "tried"), [(1e-6, 1e-3), (1e-3, 1e-3), (0.01, 0.01)])
def test_trials_are_fitted_no_more_exactly_than_needed(tol, tried, monkeypatch):
    seen = []

    def linear(trial, surrogate, C):
        seen.append((trial.tol, trial.max_iter, surrogate, C))
        return {}

    monkeypatch.setattr("podium.multilabel.selection._linear", linear)
    X, Y = linear_truth(40)
    ranker = LabelRanker("sum@1", C=0.5, tol=tol, max_iter=77).fit(X, Y)
    assert seen == [(tried, 77, "auto", 0.5)]
    assert (ranker.validation_, ranker.C_, ranker.surrogate_) == ({}, 0.5, "univariate")  # nothing came to an end


def small_trees(monkeypatch):
    for name, value in (("selection.TREES", 3), ("trees.TREES", 4), ("trees.ROUNDS", 3)):
        monkeypatch.setattr(f"podium.multilabel.{name}", value)


FORESTS = {"trees, random splits", "trees, best splits"}


@pytest.mark.parametrize("scorer", ["linear", "trees", "auto"])
def test_what_is_tried_is_what_the_scorer_says(scorer, monkeypatch):
    small_trees(monkeypatch)
    monkeypatch.setattr("podium.multilabel.selection._clearly_lost", lambda gain, weight: False)
    X, Y = crossed(80)
    ranker = LabelRanker("ap", scorer, C=0.25, surrogate="auto" if scorer == "linear" else "univariate").fit(X, Y)
    line = "linear, univariate, C=0.25"
    assert ranker.chosen_ in ranker.validation_
    tried = set(ranker.validation_)
    if scorer == "linear":
        assert tried == {line, "linear, pairwise, C=0.25"}
        return
    forest = min(FORESTS, key=ranker.validation_.get)
    among = FORESTS | {"boosted trees", f"mean of {forest} and boosted trees"}
    means = {
        f"mean of linear{rest}" for rest in (f" and {forest}", " and boosted trees", f", {forest} and boosted trees")
    }
    assert tried == (among if scorer == "trees" else among | {line} | means)


@pytest.mark.parametrize(
    ("limit", "value", "gone"),
    [
        ("GREEDY_CELLS", 320, set()), ("GREEDY_CELLS", 319, {"trees, best splits"}),
        ("BOOSTED_LABELS", 3, set()), ("BOOSTED_LABELS", 2, {"boosted trees"}),
        ("BOOSTED_CELLS", 960, set()), ("BOOSTED_CELLS", 959, {"boosted trees"}),
    ],
)  # fmt: skip
def test_trees_that_would_take_too_long_are_not_tried(limit, value, gone, monkeypatch):
    small_trees(monkeypatch)
    monkeypatch.setattr("podium.multilabel.selection._clearly_lost", lambda gain, weight: False)
    monkeypatch.setattr(f"podium.multilabel.selection.{limit}", value)
    X, Y = crossed(80)  # 80 rows of 4 features, 3 labels
    tried = set(LabelRanker("ap", "trees").fit(X, Y).validation_)
    assert (FORESTS | {"boosted trees"}) - tried == gone


@pytest.mark.parametrize(("value", "more"), [(960, True), (959, False)])
def test_pairs_that_would_take_too_long_are_not_tried(value, more, monkeypatch):
    monkeypatch.setattr("podium.multilabel.selection.COUPLED_WORK", value)
    X, Y = crossed(80)
    tried = LabelRanker("ap", C=0.25).fit(X, Y).validation_
    assert ("linear, pairwise, C=0.25" in tried) == more


@pytest.mark.parametrize("lost", [True, False])
def test_boosted_trees_are_left_out_once_both_they_and_their_mean_are_clearly_worse(lost, monkeypatch):
    small_trees(monkeypatch)
    asked = []

    def clearly(gain, weight):
        asked.append(len(gain))
        return lost

    monkeypatch.setattr("podium.multilabel.selection._clearly_lost", clearly)
    X, Y = crossed(80)
    tried = LabelRanker("ap", "trees").fit(X, Y).validation_
    assert ("boosted trees" in tried) == (not lost)
    assert asked == ([16, 16] if lost else [16])  # on the first of five parts alone


def test_clearly_lost_is_below_none_by_more_than_a_standard_error():
    even = np.ones(4)
    assert _clearly_lost(np.array([-1.0, -1, -1, -1]), even)
    assert not _clearly_lost(np.array([1.0, 1, 1, 1]), even)
    assert not _clearly_lost(np.zeros(4), even)
    assert not _clearly_lost(np.array([-3.0, 1, 1, -1]), even)  # mean -1/2, error sqrt(11) / 4
    assert _clearly_lost(np.array([-3.0, 1, 1, -1]), np.array([9.0, 1, 1, 9]))  # mean -17/10, error 1.02 / sqrt(20)


def own_places(n, seed):
    """Each label where two features of its own are both above places of their own."""
    rng = np.random.default_rng(seed)
    X = rng.exponential(size=(n, 10))
    pairs, places = rng.integers(10, size=(2, 4)), rng.uniform(0.3, 1.2, size=(2, 4))
    both = (X[:, pairs[0]] > places[0]) & (X[:, pairs[1]] > places[1])
    return X, both.astype(int) ^ (rng.random(both.shape) < 0.05)


def test_boosted_trees_are_taken_where_each_label_has_places_of_its_own():
    X, Y = own_places(900, 1)
    trees = LabelRanker("ap", "trees").fit(X[:400], Y[:400])
    assert "boosted trees" in trees.chosen_
    assert trees.scorer_ == "trees"
    with threadpool_limits(1):
        theirs = [
            HistGradientBoostingClassifier().fit(X[:400], Y[:400, k]).predict_proba(X[400:])[:, 1] for k in range(4)
        ]
    rows = Y[400:].any(axis=1)
    ours = trees.decision_function(X[400:])[rows]
    assert lrap(Y[400:][rows], ours) > lrap(Y[400:][rows], np.column_stack(theirs)[rows]) - 0.005
    tried = trees.validation_
    assert tried[trees.chosen_] < min(tried["trees, best splits"], tried["trees, random splits"])


# ---- trees ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("greedy", [False, True])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_a_forest_is_the_mean_of_scikit_learns_trees(form, greedy):
    X, Y = linear_truth(90)
    goal, weight = Y * np.linspace(0.2, 1, 5), np.linspace(0.5, 2, 90)
    forest = grow(form(X), sparse.csr_array(goal), weight, trees=7, greedy=greedy)
    kind, leaf = (DecisionTreeRegressor, 2) if greedy else (ExtraTreeRegressor, 1)
    number = different_rows(X / np.exp2(np.ceil(np.log2(np.abs(X).max(axis=0)))), weight)
    theirs = [
        kind(max_features=2, min_samples_leaf=leaf, random_state=seed).fit(
            X.astype(np.float32), goal, sample_weight=weight * (_draws(number, seed) if greedy else 1)
        )
        for seed in range(7)
    ]
    new = np.random.default_rng(5).normal(size=(50, 6))
    mean = np.mean([each.predict(new.astype(np.float32)) for each in theirs], axis=0)
    assert_allclose(forest.scores(form(new)), mean, atol=1e-6)


HALF = {"max_leaf_nodes": 15, "l2_regularization": 1.0, "max_features": 0.5, "early_stopping": False}


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_boosted_trees_are_scikit_learns(form):
    """Whole and soft targets, uneven weights, a row of none, and labels that all or no rows have."""
    X, Y = linear_truth(150)
    goal, weight = Y * np.array([1, 1, 0.4, 0, 1]), np.linspace(0, 2, 150)
    goal[:, 4] = 1
    boosted = boost(form(X), sparse.csr_array(goal), weight)
    new = np.random.default_rng(5).normal(size=(50, 6)).astype(np.float32)
    scores = boosted.scores(form(new))
    for k in range(3):
        model = HistGradientBoostingClassifier(learning_rate=0.06, random_state=0, **HALF)
        twice = np.repeat(np.arange(1, 150), 2)
        share = (np.column_stack([goal[:, k], 1 - goal[:, k]]) * weight[:, None])[1:].reshape(-1)
        hard = np.tile([1, 0], 149)
        with threadpool_limits(1):
            model.fit(X.astype(np.float32)[twice][share > 0], hard[share > 0], sample_weight=share[share > 0])
            assert_allclose(scores[:, k], model.decision_function(new), atol=1e-5)
    assert (scores[:, 3] < -10).all()
    assert (scores[:, 4] > 10).all()
    assert boosted.sound()


def test_a_bootstrap_sample_is_as_large_as_the_different_rows_and_leaves_out_its_share():
    """A row is missed with chance (1 - 1/n)^n, in a third of the samples and a little more."""
    rng = np.random.default_rng(2)
    number = np.concatenate([np.arange(400), rng.integers(400, size=200), np.full(50, -1)])
    drawn = np.array([_draws(number, seed) for seed in range(60)])
    assert_array_equal(drawn[:, :400].sum(axis=1), np.full(60, 400))
    assert_array_equal(drawn[:, 400:600], drawn[:, number[400:600]])
    assert not drawn[:, 600:].any()
    missed = (drawn[:, :400] == 0).mean()
    assert missed == pytest.approx((1 - 1 / 400) ** 400, abs=4 * np.sqrt(0.37 * 0.63 / (60 * 400)))
    assert drawn[:, :400].var() == pytest.approx(1 - 1 / 400, abs=0.05)


def test_different_rows_are_told_apart_by_any_feature_and_equal_ones_are_not():
    rng = np.random.default_rng(3)
    X = rng.integers(0, 3, size=(200, 4)) * 1.0
    weight = rng.integers(0, 3, 200) * 1.0
    number = different_rows(X, weight)
    _, truth = np.unique(X[weight > 0], axis=0, return_inverse=True)
    assert_array_equal(number < 0, weight == 0)
    same = number[weight > 0]
    assert_array_equal(same[:, None] == same, truth[:, None] == truth)
    assert_array_equal(np.unique(same), np.arange(len(np.unique(truth))))


@pytest.mark.parametrize("grown", [partial(grow, greedy=True, trees=20), boost], ids=["best splits", "boosted"])
@pytest.mark.parametrize("change", ["order", "sparse", "rows of no weight", "tiny and large units"])
def test_trees_do_not_depend_on(change, grown):
    rng = np.random.default_rng(4)
    X, Y = crossed(150)
    new, weight = rng.normal(size=(60, 4)), np.ones(150)
    first = grown(X, sparse.csr_array(Y * 1.0), weight).scores(new)
    if change == "order":
        mixed = rng.permutation(150)
        X, Y = X[mixed], Y[mixed]
    if change == "sparse":
        X = sparse.csr_array(X)
    if change == "rows of no weight":
        X, Y = np.vstack([X, rng.normal(size=(30, 4))]), np.vstack([Y, 1 - Y[:30]])
        weight = np.concatenate([weight, np.zeros(30)])
    if change == "tiny and large units":
        X, new = X * 2.0 ** np.array([0, -60, 60, 10]), new * 2.0 ** np.array([0, -60, 60, 10])
    again = grown(X, sparse.csr_array(Y * 1.0), weight).scores(new)
    assert_allclose(again, first, atol=1e-6)


def test_trees_with_best_splits_are_as_good_as_a_random_forest_of_scikit_learn():
    """Labels that hang on products of signs, among features that say nothing."""
    X, Y = crossed(900, seed=7)
    noise = np.random.default_rng(8)
    Y = Y ^ (noise.random(Y.shape) < 0.15)
    X = np.column_stack([X, noise.normal(size=(900, 8))])
    ours = grow(X[:400], sparse.csr_array(Y[:400] * 1.0), np.ones(400), greedy=True, trees=60).scores(X[400:])
    forest = RandomForestRegressor(60, min_samples_leaf=2, max_features=4, random_state=0).fit(X[:400], Y[:400])
    assert lrap(Y[400:], ours) > lrap(Y[400:], forest.predict(X[400:])) - 0.02
    assert lrap(Y[400:], ours) > lrap(Y[400:], np.tile(Y[:400].mean(axis=0), (500, 1))) + 0.1


def test_one_label_and_many_rows_have_trees_too():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(2 * MAX_LEAVES + 1, 2)), sparse.csr_array(rng.integers(0, 2, (2 * MAX_LEAVES + 1, 1)) * 1.0)
    forest = grow(X, Y, np.ones(len(X)), trees=1)
    assert (forest.left < 0).sum() <= MAX_LEAVES
    assert forest.scores(X[:5]).shape == (5, 1)


def test_trees_are_saved_as_arrays_and_answer_the_same(tmp_path):
    X, Y = own_places(60, 3)
    for scorer in ("trees", "auto"):
        ranker = LabelRanker("sum@1", scorer).fit(X, Y)
        ranker.boosted_ = boost(X, sparse.csr_array(Y * 1.0), np.ones(60))
        save(ranker, tmp_path / "m.podium")
        assert_array_equal(load(tmp_path / "m.podium").decision_function(X), ranker.decision_function(X))


def test_a_feature_too_large_for_trees_is_named():
    X, Y = linear_truth(40)
    X[3, 1] = 1e40
    with pytest.raises(
        InputError, match=r"feature 2 is as large as 1e\+40; trees take features up to 1e\+30: scale it"
    ):
        LabelRanker("sum@1", "trees").fit(X, Y)


# ---- scales ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_sizes_are_deviations_and_usual_values_of_what_is_mostly_zero(form):
    rng = np.random.default_rng(0)
    plain, word, flag = rng.normal(3, 2, 100), np.zeros(100), np.ones(100)
    word[:10], flag[:20] = rng.uniform(1, 5, 10), 0
    X, weight = np.column_stack([plain, word, 7 * flag, np.full(100, 0.1)]), rng.integers(0, 3, 100).astype(float)
    centre, size = measure(form(X), weight, "auto")
    deviation = np.sqrt(np.cov(plain, aweights=weight, ddof=0))
    usual = np.sqrt(np.average(word[:10] ** 2, weights=weight[:10]))
    assert_allclose(size[:3], [deviation, usual, 7])
    assert_allclose(centre, 0.0 if form is sparse.csr_array else [np.average(plain, weights=weight), 0, 0, 0.1])
    assert np.isfinite(size).all()


def test_standardized_is_mean_0_and_deviation_1():
    X = np.random.default_rng(0).normal(5, [1e-9, 1.0, 1e120], size=(50, 3))
    centre, size = measure(X, np.ones(50), True)
    assert_allclose(((X - centre) / size).mean(axis=0), 0, atol=1e-6)
    assert_allclose(((X - centre) / size).std(axis=0), 1, rtol=1e-6)
    assert measure(X, np.ones(50), False) == (0.0, 1.0)
