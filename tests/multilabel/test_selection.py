"""What is chosen on rows held out: parts, penalties, trees against scikit-learn's, scales against their definition."""

from functools import partial

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
from podium.errors import InputError
from podium.metrics import ranking_loss
from podium.multilabel import LabelRanker
from podium.multilabel.rows import different_rows
from podium.multilabel.scaling import measure
from podium.multilabel.selection import Setting, _parts, _plan, _within_chance, describe
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
