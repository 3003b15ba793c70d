"""The parts of label rankers by themselves: targets by hand, sizes of features, files of examples, and refusals."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from scipy import sparse
from sklearn.linear_model import LinearRegression, LogisticRegression

from podium.errors import InputError
from podium.metrics.names import parse
from podium.multilabel import (
    AgnosticLabelRanker,
    Halving,
    LabelRanker,
    OnlineLabelRanker,
    binary_relevance,
    inputs,
    options,
    samples,
    scaling,
    tables,
    trees,
)
from podium.multilabel.agnostic import AgnosticThresholdLearner
from podium.multilabel.experts import ExpertLabelRanker, _guesses, _label_count, _largest
from podium.multilabel.linear import Dense, design, fit_frequencies, fit_logistic
from podium.multilabel.rows import different_rows
from podium.multilabel.targets import _best_dcg, targets_for


def problem(n=60, d=3, K=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, (X @ rng.normal(size=(d, K)) + rng.normal(size=(n, K)) > 0).astype(int)


# ---- targets --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("loss", "values", "weight", "exact"),
    [
        ("sum@2", [[1, 0.5, 0], [0, 0, 1], [0, 0, 0]], [1, 1, 1], True),
        ("dcg@2", [[1, 1 / 3, 0], [0, 0, 1], [0, 0, 0]], [1, 1, 1], True),
        ("ndcg@1", [[1, 1 / 3, 0], [0, 0, 1], [0, 0, 0]], [1, 1, 1], True),
        (
            "ndcg",
            [[1 / (1 + 1 / 3 / np.log2(3)), 1 / 3 / (1 + 1 / 3 / np.log2(3)), 0], [0, 0, 1], [0, 0, 0]],
            [1] * 3,
            True,
        ),
        ("pairwise", [[1, 0.5, 0], [0, 0, 1], [0, 0, 0]], [1, 1, 1], False),
    ],
)
def test_targets_by_hand(loss, values, weight, exact):
    found = targets_for(parse(loss), sparse.csr_array([[2.0, 1.0, 0.0], [0.0, 0.0, 2.0], [0.0, 0.0, 0.0]]), 2.0)
    np.testing.assert_allclose(found.values.toarray(), values)
    assert (found.weight.tolist(), found.exact) == (weight, exact)


def test_targets_of_0_and_1_by_hand():
    y = sparse.csr_array([[1.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, 0.0], [1.0, 1.0, 1.0]])
    recall = targets_for(parse("recall@2"), y, 1.0)
    np.testing.assert_allclose(recall.values.toarray(), [[0.5, 0.5, 0], [0, 0, 1], [0, 0, 0], [1 / 3, 1 / 3, 1 / 3]])
    auc = targets_for(parse("auc"), y, 1.0, np.array([2.0, 1.0, 1.0, 1.0]))
    assert auc.weight.tolist() == [2.0, 1.0, 0.0, 0.0]  # one in two pairs each, over their mean
    alone = targets_for(parse("auc"), sparse.csr_array([[1.0, 0, 0, 0], [1.0, 1.0, 0, 0]]), 1.0, alone=True)
    np.testing.assert_allclose(alone.weight, [1.0, 0.75])
    exact = {
        loss: targets_for(parse(loss), y, 1.0).exact for loss in ("pairwise", "ap", "rr", "hit@1", "hit@2", "prec@2")
    }
    assert exact == {"pairwise": True, "ap": False, "rr": False, "hit@1": True, "hit@2": False, "prec@2": True}
    with pytest.raises(InputError, match="every row has no relevant or no irrelevant label"):
        targets_for(parse("auc"), y[2:], 1.0)
    with pytest.raises(InputError, match="needs whole grades"):
        targets_for(parse("dcg@2"), sparse.csr_array([[0.5]]), 1.0)
    with pytest.raises(InputError, match="needs whole grades"):
        targets_for(parse("dcg@2"), sparse.csr_array([[1.0]]), 1.5)
    with pytest.raises(InputError, match="grades up to 1000 can be counted"):
        targets_for(parse("dcg@2"), sparse.csr_array([[1001.0]]), 1001.0)
    targets_for(parse("dcg@2"), sparse.csr_array([[1000.0]]), 1000.0)
    with pytest.raises(InputError, match="needs relevance 0 or 1, but the data hold 2"):
        targets_for(parse("ap"), sparse.csr_array([[2.0]]), 2.0)
    assert _best_dcg(np.array([0, 2, 2]), np.array([0.5, 1.0]), 1).tolist() == [1.0, 1.0]


# ---- sizes of features and rows -------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_sizes_of_features_by_hand(form):
    X = form(np.array([[1.0, 0.0, 5.0, 0.0], [3.0, 0.0, 5.0, 4.0], [5.0, 0.0, 5.0, 0.0], [7.0, 2.0, 5.0, 0.0]]))
    weight = np.ones(4)
    centre, size = scaling.measure(X, weight, "auto")
    dense = form is np.asarray
    assert np.round(size, 12).tolist() == [pytest.approx(np.sqrt(5.0)), 2.0, pytest.approx(1.0 if dense else 5.0), 4.0]
    assert np.broadcast_to(centre, 4).tolist() == ([4.0, 0.0, 5.0, 0.0] if dense else [0.0] * 4)
    assert scaling.measure(X, weight, False) == (0.0, 1.0)
    _, all_sizes = scaling.measure(X, weight, True)
    expected = [np.sqrt(5.0), np.sqrt(0.75), 1.0, np.sqrt(3.0)] if dense else [np.sqrt(21.0), 1.0, 5.0, 2.0]
    np.testing.assert_allclose(all_sizes, expected)
    _, used = scaling.measure(X, np.array([1.0, 1.0, 0.0, 0.0]), "auto")
    assert np.round(used[0], 12) == 1.0
    out = scaling.scaled(X, centre, size)
    assert isinstance(out, np.ndarray) == dense
    whole = scaling.scaled(X, 1.0, 2.0)
    np.testing.assert_allclose(whole[0], [0.0, -0.5, 2.0, -0.5])


def test_rows_are_numbered_by_what_they_hold():
    X = np.array([[1.0, 2.0], [3.0, 4.0], [1.0, 2.0], [5.0, 6.0]])
    found = different_rows(X, np.array([1.0, 1.0, 2.0, 0.0]))
    assert found[0] == found[2]
    assert sorted({*found[:3].tolist()}) == [0, 1]
    assert found[3] == -1
    assert different_rows(sparse.csr_array(X), np.array([1.0, 1.0, 2.0, 0.0])).tolist() == found.tolist()


# ---- rankers --------------------------------------------------------------------------------------------------------


def test_the_best_label_alone_may_be_asked_for():
    X, Y = problem()
    ranker = LabelRanker("sum@2", C=1.0, surrogate="univariate").fit(X, Y)
    scores = ranker.decision_function(X)
    assert ranker.predict(X, top=1).argmax(axis=1).tolist() == scores.argmax(axis=1).tolist()
    assert ranker.predict(X, top=1).sum(axis=1).tolist() == [1] * len(X)
    assert ranker.predict(X).sum(axis=1).tolist() == [2] * len(X)
    assert ranker.predict(X, top=9).sum(axis=1).tolist() == [3] * len(X)
    assert (ranker.predict(X, threshold=0.25) == (scores >= 0.25)).all()
    assert ranker.predict(X, threshold=scores[3, 1])[3, 1] == 1  # at least
    with pytest.raises(InputError, match="top=0"):
        ranker.predict(X, top=0)
    with pytest.raises(InputError, match="give top or threshold, not both"):
        ranker.predict(X, top=1, threshold=0.5)
    without = LabelRanker("ap", C=1.0, surrogate="univariate").fit(X, Y)
    assert (without.predict(X) == (without.decision_function(X) >= 0)).all()
    assert ranker.rank(X, 1)[:, 0].tolist() == scores.argmax(axis=1).tolist()


def test_labels_that_never_vary_stand_first_or_last_whatever_the_scorer():
    X, Y = problem()
    Y = np.column_stack([Y[:, 0], np.ones(len(X), int), np.zeros(len(X), int)])
    hard = LabelRanker("sum@2", LogisticRegression()).fit(X, Y)
    scores = hard.decision_function(X)
    assert (scores[:, 1] == 1e9).all()
    assert (scores[:, 2] == -1e9).all()
    assert hard.middle_ == 0.0
    soft = LabelRanker("sum@2", LinearRegression()).fit(X, Y)
    assert soft.middle_ == 0.5
    assert (soft.decision_function(X)[:, 1:] == [1.0, 0.0]).all()
    assert (hard.chosen_, hard.validation_) == ("LogisticRegression", {})
    half = LabelRanker("sum@2", LogisticRegression()).fit(X, np.column_stack([Y[:, 0] * 2, np.ones(len(X), int)]))
    assert (half.decision_function(X)[:, 1] == 1e9).all()  # half relevant in every row is relevant


def test_a_ranker_s_score_is_minus_its_mean_loss_by_weight():
    X, Y = problem(n=12)
    ranker = LabelRanker("prec@1", C=1.0, surrogate="univariate").fit(X, Y)
    first = Y[np.arange(len(X)), ranker.decision_function(X).argmax(axis=1)]
    lost = np.where(Y.any(axis=1), 1 - first, 0)
    assert ranker.score(X, Y) == pytest.approx(-lost.mean())
    weight = np.arange(1.0, 13.0)
    assert ranker.score(X, Y, weight) == pytest.approx(-(weight @ lost) / weight.sum())


def test_refusals_of_a_label_ranker():
    X, Y = problem()
    fitted = LabelRanker(C=1.0, surrogate="univariate").fit(X, Y)
    for call, words in (
        (lambda: LabelRanker(scorer="trees").partial_fit(X, Y), "partial_fit needs"),
        (lambda: LabelRanker(scorer="trees").fit(X, Y, engine=object()), "shares out the labels of"),
        (lambda: LabelRanker(scorer="forest").fit(X, Y), "is unknown; use 'linear', 'trees', 'auto' or an estimator"),
        (lambda: LabelRanker(scorer=LinearRegression).fit(X, Y), "cannot be fitted"),
        (lambda: LabelRanker(scorer=3).fit(X, Y), "cannot be fitted"),
        (lambda: LabelRanker(surrogate="pairwise", scorer="trees").fit(X, Y), "needs"),
        (lambda: LabelRanker(C="x").fit(X, Y), "it must be 'auto' or a finite number above 0"),
        (lambda: LabelRanker(C=0).fit(X, Y), "C=0"),
        (lambda: LabelRanker(standardize=3).fit(X, Y), "standardize=3"),
        (lambda: LabelRanker(standardize=True).partial_fit(X, Y), "the size of the features is measured by fit"),
        (lambda: LabelRanker(rate=0).fit(X, Y), "rate=0"),
        (lambda: LabelRanker(tol=0).fit(X, Y), "tol=0"),
        (lambda: LabelRanker(max_iter=0).fit(X, Y), "max_iter=0"),
        (lambda: LabelRanker(max_relevance=0).fit(X, Y), "max_relevance=0"),
        (lambda: LabelRanker(max_relevance=0.5).fit(X, Y), "relevance 1 is above 0.5; set max_relevance"),
        (lambda: LabelRanker().fit(X, 0 * Y), "no example has a relevant label; there is nothing to learn"),
        (lambda: fitted.partial_fit(X, Y[:, :2]), "y has 2 labels, but the first examples had 3"),
        (
            lambda: (
                LabelRanker(surrogate="pairwise", C=1.0).fit(X, Y).set_params(surrogate="softmax").partial_fit(X, Y)
            ),
            "fit was with 'pairwise'; call fit again to change it",
        ),
        (lambda: LabelRanker(standardize=False).fit(X * 1e16, Y), "features are as large as"),
        (lambda: OnlineLabelRanker(max_relevance=1.0).fit(X, 2 * Y), "relevance 2 is above max_relevance=1; raise it"),
        (lambda: OnlineLabelRanker(max_relevance=0).fit(X, Y), "max_relevance=0"),
        (lambda: OnlineLabelRanker("ap", "threshold").fit(X, Y), "ranks for sum@p or prec@p"),
        (lambda: OnlineLabelRanker(experts=1).fit(X, Y), "experts=1"),
        (lambda: OnlineLabelRanker(mode="x").fit(X, Y), "mode='x'"),
        (
            lambda: OnlineLabelRanker().fit(X, Y).partial_fit(X, Y[:, :2]),
            "y has 2 labels, but the first examples had 3",
        ),
    ):
        with pytest.raises(InputError, match=words):
            call()
    OnlineLabelRanker(max_relevance=0.5).fit(X, Y * 0.5)
    LabelRanker(max_relevance=1e-300, C=1.0, surrogate="univariate").fit(X, Y * 1e-300)


@pytest.mark.parametrize("learner", [LabelRanker("sum@1", C=1.0, surrogate="univariate"), OnlineLabelRanker("sum@1")])
def test_columns_of_y_in_another_order_are_not_taken_for_the_labels_that_were_learned(learner):
    X, Y = problem()
    named = pl.DataFrame(Y, schema=["sport", "money", "law"])
    learner.fit(X, named)
    score, scores = learner.score(X, named), learner.decision_function(X)
    for turned, says in (
        (named[["sport", "law", "money"]], "column 2 of y is 'law', but 'money' was learned there"),
        (named.rename({"law": "arts"}), "column 3 of y is 'arts', but 'law' was learned there"),
    ):
        for call in (learner.score, learner.partial_fit):
            with pytest.raises(InputError, match=says):
                call(X, turned)
    assert (learner.decision_function(X) == scores).all()
    assert learner.score(X, Y) == score  # columns without names count as they come
    unnamed = learner.fit(X, Y)
    assert unnamed.score(X, named) == unnamed.score(X, Y)


def test_what_partial_fit_cannot_go_on_from():
    X, Y = problem()
    ranker = LabelRanker(scorer=LinearRegression()).fit(X, Y).set_params(scorer="linear")
    with pytest.raises(InputError, match="cannot go on from a fit with another scorer; fit again with 'linear'"):
        ranker.partial_fit(X, Y)
    old = LabelRanker(C=1.0, surrogate="univariate").fit(X, Y)
    del old.squares_  # as in a model file of version 1
    with pytest.raises(InputError, match="cannot go on from this fit of an older podium; fit again"):
        old.partial_fit(X, Y)
    state = {"coef_": 1, "surrogate": "pairwise", "C": 2.0}
    known = {"scorer_": "linear", "surrogate_": "pairwise", "C_": 2.0, "validation_": {}, "chosen_": "linear"}
    assert LabelRanker.upgraded(dict(state), 1) == state | known
    assert LabelRanker.upgraded({"loss": "ap"}, 1) == {"loss": "ap"}
    tiny = LabelRanker(C=1.0, surrogate="univariate")
    tiny.size_ = 1e-320
    with pytest.raises(InputError, match="so large or so small that numbers overflow; scale them"):
        tiny._keep(np.ones((3, 2)))


def test_frequencies_and_starts_by_hand():
    targets = sparse.csc_array([[1.0, 0.0, 1.0], [0.0, 0.0, 1.0], [0.5, 0.0, 1.0], [0.0, 0.0, 1.0]])
    weight = np.array([1.0, 1.0, 2.0, 0.0])
    found = fit_frequencies(2, targets, weight)
    np.testing.assert_allclose(found, [[0, 0, 0], [0, 0, 0], [0.0, -15.0, 15.0]])
    x = Dense(np.ones((4, 2)))
    begin = x.start(targets.toarray(), weight, 1.0)
    np.testing.assert_allclose(begin[-1], [0.0, np.log(1e-6 / (1 - 1e-6)), -np.log(1e-6 / (1 - 1e-6))], rtol=1e-6)
    assert x.shape == (4, 2)
    X, Y = problem(n=200)
    beta = fit_logistic(design(X), sparse.csc_array(Y[:, :1].astype(float)), np.ones(200), C=0.5, tol=1e-8)
    theirs = LogisticRegression(C=0.5, tol=1e-10, max_iter=1000).fit(X, Y[:, 0])
    np.testing.assert_allclose(beta[:, 0], [*theirs.coef_[0], theirs.intercept_[0]], rtol=1e-4)


# ---- inputs ---------------------------------------------------------------------------------------------------------


def test_relevance_and_weights_that_cannot_be():
    for call, words in (
        (lambda: inputs.read_relevance(None, 2), "the target y is None"),
        (lambda: inputs.read_relevance([[1j, 0]], 1), "numbers are needed"),
        (lambda: inputs.read_relevance([["a", "b"]], 1), "numbers are needed"),
        (lambda: inputs.read_relevance([1, 0], 2), "y is a vector"),
        (lambda: inputs.read_relevance(np.ones((1, 1, 1)), 1), r"y has shape \(1, 1, 1\)"),
        (lambda: inputs.read_relevance([[1, 0]], 2), "X has 2 rows but y has 1; they must pair up"),
        (lambda: inputs.read_relevance([[0, 1], [0, -1]], 2), "row 2, label 1: relevance -1 is not a finite number"),
        (lambda: inputs.read_relevance([[0, 1], [2e100, 1]], 2), r"row 2: relevance 2e\+100 is too large to be summed"),
        (lambda: inputs.read_weights([1.0, 2.0], 3), r"sample_weight has shape \(2,\); one weight for each row"),
        (lambda: inputs.read_weights([1.0, -1.0], 2), "must be finite and from 0 up"),
        (lambda: inputs.read_weights([0.0, 0.0], 2), "all weights zero leaves nothing to learn"),
        (lambda: inputs.read_weights([np.nan, 1.0], 2), "must be finite"),
        (lambda: inputs.labels_by_rank(np.arange(2), np.eye(2), 3), "there are 2 labels; choose 1 to 2"),
        (lambda: inputs.labels_by_rank(np.arange(2), np.eye(2), 0), "choose 1 to 2"),
        (lambda: inputs.labels_by_rank(np.arange(2), np.eye(2), True), "choose 1 to 2"),
        (lambda: inputs.labels_by_rank(np.arange(2), np.eye(2), "1"), "choose 1 to 2"),
        (
            lambda: inputs.finite_scores(np.array([[0.0, 1.0], [0.0, np.nan]]), np.array(["a", "b"])),
            "row 2: the score of label b is nan",
        ),
    ):
        with pytest.raises(InputError, match=words):
            call()
    y, labels = inputs.read_relevance(pl.DataFrame({"p": [0, 1], "q": [1, 0]}), 2)
    assert (y.toarray().tolist(), labels.tolist()) == ([[0, 1], [1, 0]], ["p", "q"])
    inputs.read_relevance([[1e100]], 1)
    assert inputs.read_weights(None, 2).tolist() == [1, 1]
    assert inputs.read_weights(2.0, 2).tolist() == [2, 2]
    assert inputs.read_weights([0.0, 1.0], 2).tolist() == [0, 1]
    ranked = inputs.labels_by_rank(np.array(["a", "b", "c"]), np.array([[1.0, 2.0, 1.0]]), None)
    assert ranked.tolist() == [["b", "a", "c"]]
    assert inputs.labels_by_rank(np.arange(3), np.array([[1.0, 2.0, 3.0]]), 2).tolist() == [[2, 1]]


def test_features_that_cannot_be_are_named_with_their_place():
    for form in (np.asarray, sparse.csr_array):
        for value, words in (
            (np.nan, "contains NaN: row 2, feature 3"),
            (np.inf, "contains inf: row 2, feature 3"),
            (-np.inf, "contains -inf: row 2, feature 3"),
            (-2e150, r"row 2, feature 3: -2e\+150 is so large"),
        ):
            X = np.ones((3, 3))
            X[1, 2] = value
            with pytest.raises(InputError, match=words):
                LabelRanker().fit(form(X), np.ones((3, 2)))
    assert inputs._word_in([["1", "x" * 50]]).startswith(f"row 1, feature 2: {'x' * 40!r} is no number")
    assert inputs._word_in(pl.DataFrame({"a": ["1"], "b": ["y"]})).startswith("row 1, feature 'b': 'y' is no number")
    assert inputs._word_in([["1", "2"]]) == inputs._word_in([[1], [1, 2]]) == ""


# ---- families, experts, candidates ----------------------------------------------------------------------------------


def test_families_of_losses():
    family = options.family_of
    assert (family(parse("sum@2"), 4), family(parse("prec@2"), 4)) == ((2, True), (2, False))
    assert (family(parse("sum@4"), 4), family(parse("prec@4"), 4)) == ((3, True), (4, False))
    assert family(parse("prec@9"), 4, clip=True) == (4, False)
    assert family(parse("sum@1"), 1) == (1, True)
    with pytest.raises(InputError, match="the examples have only 4 labels"):
        family(parse("prec@5"), 4)
    with pytest.raises(InputError, match="loss='nothing'"):
        options.loss_named("nothing")


def test_guesses_and_the_largest_loss_by_hand():
    assert _guesses(3, 1, True) == [(frozenset({k}),) for k in range(3)]
    assert len(_guesses(4, 2, True)) == 12
    assert _guesses(3, 2, True)[0] == (frozenset({0}), frozenset({0, 1}))
    assert set(_guesses(3, 2, False)) == {(frozenset(pair),) for pair in ((0, 1), (0, 2), (1, 2))}
    with pytest.raises(InputError, match="1e6 ways, each with an expert of its own; the limit is 100000"):
        _guesses(200, 3, False)
    assert _largest(parse("prec@1"), 3, 2) == 2.0
    assert samples._largest(3, 1, False) == 1
    assert samples._largest(3, 2, True) == 2  # of one relevant label ranked 3rd instead of 1st
    assert samples.vc_bound(7, 1) == 0
    assert samples.vc_bound(7, 2) == 7
    halves = Halving([[0, 1], [0, 1], [1, 1]])
    assert (halves.predict(0), halves.predict(1)) == (0, 1)
    halves.update(0, 1)
    assert halves.alive.tolist() == [False, False, True]
    halves.update(1, 0)
    assert halves.alive.all()
    assert Halving([[0], [1]]).predict(0) == 0  # a draw is no majority
    for bad in (2, -1, "x", 1.0):
        with pytest.raises(InputError, match="an instance is the number of a column, 0 to 1"):
            halves.predict(bad)


def test_experts_rank_up_to_a_thousand_labels():
    assert _label_count(1_000) == 1_000
    assert _label_count(1) == 1
    for bad, words in ((1_001, "1,001 labels: experts rank at most 1,000 labels"), (0, "n_labels=0")):
        with pytest.raises(InputError, match=words):
            _label_count(bad)


def test_a_horizon_has_an_end():
    made = ExpertLabelRanker(2, lambda i, j: Halving([[0], [1]]), horizon=2, seed=1)
    for _ in range(2):
        made.update(0, [1, 0])
    with pytest.raises(InputError, match="the horizon was 2 rounds; this is one more"):
        made.update(0, [1, 0])
    with pytest.raises(InputError, match="at most 1,000,000 rounds can be planned for"):
        ExpertLabelRanker(2, lambda i, j: Halving([[0], [1]]), horizon=1_000_001)


def test_candidates_are_functions_or_fitted_estimators():
    X, Y = problem(n=80)
    base = LabelRanker("sum@1", C=1.0, surrogate="univariate")
    fitted = LabelRanker("sum@1", C=1.0, surrogate="univariate").fit(X, Y)
    learner = AgnosticLabelRanker(base, [lambda x: -fitted.decision_function(x), fitted], loss="sum@1", random_state=0)
    assert learner.fit(X, Y).chosen_ == 1
    assert learner.losses_[1] < learner.losses_[0]
    for call, words in (
        (lambda: AgnosticLabelRanker(base, []).fit(X, Y), "candidates is empty"),
        (lambda: AgnosticLabelRanker(base, "ab").fit(X, Y), "a list of rankings to compete with is needed"),
        (lambda: AgnosticLabelRanker(3, [fitted]).fit(X, Y), "base=3 lacks fit or decision_function"),
        (lambda: AgnosticLabelRanker(base, [3]).fit(X, Y), "a candidate is a function of X or a fitted estimator"),
        (lambda: AgnosticLabelRanker(base, [fitted], share=1.0).fit(X, Y), "share=1.0"),
        (lambda: AgnosticLabelRanker(base, [fitted], share=0).fit(X, Y), "share=0"),
        (
            lambda: AgnosticLabelRanker(base, [lambda x: x[:, :2]]).fit(X, Y),
            r"candidate 1 gives scores of shape \(40, 2\)",
        ),
        (
            lambda: AgnosticLabelRanker(base, [fitted, lambda x: x * np.nan]).fit(X, Y),
            "candidate 2 gives a score that is NaN",
        ),
        (lambda: AgnosticLabelRanker(base, [fitted], random_state=0).fit(X, np.zeros_like(Y)), "no held-out example"),
        (
            lambda: AgnosticThresholdLearner(base, [fitted], 3, 1, loss="sum@1").fit(X, Y[:, 0]),
            "the candidates score 3 labels",
        ),
        (lambda: AgnosticThresholdLearner(base, [fitted], 0, 2, loss="sum@1").fit(X, Y[:, 0]), "among the first 1"),
        (lambda: AgnosticThresholdLearner(base, [fitted], 0, 3, loss="sum@2").fit(X, Y[:, 0]), "the first from 1 to 2"),
        (lambda: AgnosticThresholdLearner(base, [fitted], 0, 1, loss="prec@2").fit(X, Y[:, 0]), "among the first 2"),
        (lambda: AgnosticThresholdLearner(base, [fitted], 0, 1, loss="sum@1").fit(X, None), "the target y is None"),
        (
            lambda: AgnosticThresholdLearner(base, [fitted], 0, 1, loss="sum@1").fit(X, Y[1:, 0]),
            "X has 80 rows but y has 79",
        ),
        (
            lambda: AgnosticThresholdLearner(base, [fitted], 0, 1, loss="sum@1").fit(X, Y[:, 0] + 1),
            "is neither 0 nor 1",
        ),
    ):
        with pytest.raises(InputError, match=words):
            call()
    assert binary_relevance([[3.0, 2.0, 1.0]], 2).tolist() == [[1, 1, 0]]
    threshold = AgnosticThresholdLearner(base, [fitted], 0, 1, loss="sum@1", random_state=0).fit(X, Y[:, 0])
    assert (len(threshold.errors_), threshold.share, threshold.chosen_) == (1, 0.5, 0)


# ---- trees ----------------------------------------------------------------------------------------------------------


def test_a_forest_that_is_not_sound_is_known():
    X, Y = problem(n=40)
    forest = trees.grow(X, sparse.csr_array(Y.astype(float)), np.ones(40), trees=2)
    assert forest.sound()
    n = len(forest.left)
    turned = np.where(forest.left >= 0, np.arange(n), -1).astype(np.int32)
    for change in (
        {"roots": forest.roots[:0]},
        {"right": forest.right[:-1]},
        {"feature": forest.feature[:-1]},
        {"threshold": forest.threshold[:-1]},
        {"left": turned},
        {"right": turned},
        {"roots": forest.roots + n},
        {"roots": forest.roots.astype(float)},
        {"feature": forest.feature + 3},
        {"labels": forest.labels + 3},
        {"values": forest.values * np.nan},
        {"ends": forest.ends[:-1]},
        {"ends": forest.ends + 1},
        {"ends": forest.ends[::-1].copy()},
        {"values": forest.values[:-1]},
        {"n_features": 0},
        {"n_labels": 0},
        {"right": np.where(forest.right >= 0, n, -1).astype(np.int32)},
    ):
        assert not replace(forest, **change).sound(), change
    rows, hard, share = trees._halves(np.array([1.0, 0.25, 0.0]), np.array([1.0, 4.0, 2.0]))
    assert (rows.tolist(), hard.tolist(), share.tolist()) == ([0, 1, 1, 2], [1, 1, 0, 0], [1.0, 1.0, 3.0, 2.0])
    assert trees._units(np.array([[3.0, 0.0, 4.0]])).tolist() == [4.0, 1.0, 4.0]
    with pytest.raises(InputError, match=r"feature 2 is as large as -2e\+30; trees take features up to 1e\+30"):
        trees._single(np.array([[1.0, -2e30]]))


# ---- files ----------------------------------------------------------------------------------------------------------


def test_svmlight_lines(tmp_path):
    path = tmp_path / "x.svm"

    def read(text, *known):
        path.write_text(text)
        return tables.read_svmlight(path, *known)

    X, Y = read("3,0 1:2.5 0:-1 # note\n\n 2:1\n# only a note\n1 0:0\n")
    assert X.toarray().tolist() == [[-1, 2.5, 0], [0, 0, 1], [0, 0, 0]]
    assert Y.toarray().tolist() == [[1, 0, 0, 1], [0, 0, 0, 0], [0, 1, 0, 0]]
    assert read("0 0:1\n", 3, 2)[0].shape == (1, 3)
    for text, known, words in (
        ("", (), "is empty; there are no examples"),
        ("1\n", (), "no row has a feature"),
        ("0 0:x\n", (), "row 1 is not"),
        ("0 0:1 0:2\n", (), "row 1: feature 0 is given twice"),
        ("1,1 0:1\n", (), "row 1: label 1 is given twice"),
        ("-1 0:1\n", (), "row 1: label -1 is below 0"),
        ("0 3:1\n", (3,), "feature 3 is beyond the 3 the model"),
        ("\n2 0:1\n", (3, 2), "row 2: label 2 is beyond the 2 the model"),
        ("0 10000001:1\n", (), "beyond 10,000,000"),
        ("0 0:inf\n", (), "row 1: feature 0 is inf; give a number"),
        ("0 0:nan\n", (), "feature 0 is nan"),
    ):
        with pytest.raises(InputError, match=words):
            read(text, *known)
    path.write_bytes(b"0 0:1\n\xff\n")
    with pytest.raises(InputError, match="row 2: byte 0xff is not UTF-8 text"):
        tables.read_svmlight(path)
    with pytest.raises(InputError, match="cannot be read: No such file"):
        tables.read_svmlight(tmp_path / "none.svm")


def test_tables_of_examples(tmp_path):
    path = tmp_path / "x.csv"

    def read(text="doc,f,g,tag_a,tag_b\nd1,1,2,1,0\nd2,3,4,0,2\n", **more):
        path.write_text(text)
        return tables.read_examples(path, **{"labels": ["tag_*"], "ids": ["doc"]} | more)

    found = read()
    assert (found.X.tolist(), found.Y.tolist()) == ([[1, 2], [3, 4]], [[1, 0], [0, 2]])
    assert (found.features.tolist(), found.labels.tolist()) == (["f", "g"], ["tag_a", "tag_b"])
    assert found.ids["doc"].to_list() == ["d1", "d2"]
    turned = read(features=np.array(["g", "f"]), known=np.array(["tag_b", "tag_a"]))
    assert (turned.X.tolist(), turned.Y.tolist()) == ([[2, 1], [4, 3]], [[0, 1], [2, 0]])
    assert read(labels=[], labelled=False, ids=["doc", "tag_a", "tag_b"]).Y.shape == (2, 0)
    for more, words in (
        ({"ids": ["x"]}, "has no column 'x'; found doc, f, g"),
        ({"labels": ["no_*"]}, "--labels 'no_.' matches no column"),
        ({"labels": []}, "name the label columns with --labels"),
        ({"ids": ["doc", "tag_a"]}, "is a label by --labels and a name"),
        ({"known": np.array(["tag_z"])}, "the model ranks label 'tag_z'"),
        ({"features": np.array(["h"])}, "column 'h', which"),
        ({"ids": []}, "column 'doc' is not numeric; leave it out"),
        ({"text": "doc,f,tag_a\n"}, "has no rows; there are no examples"),
        ({"text": "doc,f,tag_a\nd,,1\ne,1,1\n"}, "row 1: 'f' is empty; fill it in"),
        ({"text": "doc,f,tag_a\nd,1,1\ne,inf,1\n"}, "row 2: 'f' is infinite"),
        ({"text": "doc,f,tag_a\nd,1,1\ne,1,-1\n"}, "row 2: relevance -1 of label 'tag_a' is not a finite number"),
        ({"text": "doc,f,tag_a\nd,1,x\n"}, "column 'tag_a' holds text; numbers are needed: give each label a column"),
        ({"text": "doc,f,tag_a\n,1,1\n,2,1\n"}, "row 1: 'doc' is empty, as in every row; leave --id doc out"),
    ):
        with pytest.raises(InputError, match=words):
            read(**more)
    lines = tmp_path / "x.svm"
    lines.write_text(" 0:1\n")
    with pytest.raises(InputError, match="svmlight files have no columns; leave --labels and --id out"):
        tables.read_examples(lines, labels=["a"])
    with pytest.raises(InputError, match="no row has a label; lines begin with them"):
        tables.read_examples(lines)
    assert tables.read_examples(lines, labelled=False).Y.shape == (1, 0)
    lines.write_text("0 0:1\n")
    with pytest.raises(InputError, match="the model was trained on a table with named columns, not on svmlight"):
        tables.read_examples(lines, features=np.array(["f"]))
