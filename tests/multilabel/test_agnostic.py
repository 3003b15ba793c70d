"""The batch constructions of the paper, step by step by hand: Algorithms 1, 4 and 5, and what they refuse."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from podium.errors import InputError, NotFittedError
from podium.multilabel import AgnosticLabelRanker, AgnosticThresholdLearner, LabelRanker

TRUTH = np.random.default_rng(7).normal(size=(4, 5))


def right(X):
    return X @ TRUTH


def wrong(X):
    return -(X @ TRUTH)


def aside(X):
    return np.asarray(X @ np.roll(TRUTH, 1, axis=0))


CANDIDATES = [wrong, right, aside]


def base(loss):
    return LabelRanker(loss, C=1.0, surrogate="univariate", standardize=False)


def examples(label, cut, n=400, noise=0.0, seed=0):
    """Whether the label is among the first `cut` by the right candidate, some answers flipped."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    ranks = 1 + (right(X) > right(X)[:, [label]]).sum(axis=1)
    return X, ((ranks <= cut) ^ (rng.random(n) < noise)).astype(int)


@pytest.mark.parametrize(("loss", "label", "cut"), [("sum@2", 0, 1), ("sum@2", 3, 2), ("prec@2", 1, 2), ("ap", 4, 3)])
def test_algorithm_4_step_by_step(loss, label, cut):
    X, y = examples(label, cut, noise=0.2)
    unlabelled = np.random.default_rng(1).normal(size=(150, 4))
    learner = AgnosticThresholdLearner(base(loss), CANDIDATES, label, cut, loss=loss).fit(X, y, unlabelled)
    errors = []
    for candidate in CANDIDATES:
        scores = candidate(unlabelled)
        relabelled = [[int(sum(other > own for other in row) < cut) for own in row] for row in scores]
        ranker = clone(base(loss)).fit(unlabelled, relabelled)
        says = [int(sorted(range(5), key=lambda i, row=row: (-row[i], i)).index(label) < cut)
                for row in ranker.decision_function(X)]  # fmt: skip
        errors.append(np.mean(says != y))
    assert_allclose(learner.errors_, errors)
    assert learner.chosen_ == int(np.argmin(errors)) == 1
    assert np.mean(learner.predict(X) != y) == pytest.approx(min(errors))


@pytest.mark.parametrize("noise", [0.0, 0.2])
def test_it_competes_with_the_best_candidate(noise):
    """Within 0.1 of the mistakes that the right candidate makes, on new examples."""
    X, y = examples(2, 2, noise=noise, seed=3)
    new, truth = examples(2, 2, n=4000, noise=noise, seed=4)
    learner = AgnosticThresholdLearner(base("sum@2"), CANDIDATES, 2, 2, loss="sum@2", random_state=0).fit(X, y)
    assert np.mean(learner.predict(new) != truth) <= noise + 0.1
    again = AgnosticThresholdLearner(base("sum@2"), CANDIDATES, 2, 2, loss="sum@2", random_state=0).fit(X, y)
    assert_array_equal(again.predict(new), learner.predict(new))


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"loss": "rr"}, "loss='rr' is in no family of the paper"),
        ({"loss": "hit@2"}, "loss='hit@2' is in no family"),
        ({"loss": "sum@2", "cut": 3}, "cut=3: a learner for loss='sum@2' tells who is among the first from 1 to 2"),
        ({"loss": "prec@3", "cut": 2}, "cut=2: a learner for loss='prec@3' tells who is among the first 3"),
        ({"loss": "sum@9"}, "only 5 labels"),
        ({"loss": "best"}, "loss='best'"),
        ({"label": 5}, "label=5: the candidates score 5 labels, counted from 0"),
        ({"label": -1}, "label=-1"),
        ({"label": 1.5}, "label=1.5"),
        ({"cut": 0}, "cut=0"),
        ({"cut": None}, "cut=None"),
        ({"share": 1}, "share=1"),
        ({"random_state": "a"}, "random_state='a'"),
        ({"base": LabelRanker}, "lacks fit or decision_function"),
        ({"candidates": []}, "candidates is empty"),
        ({"candidates": "ab"}, "candidates='ab'"),
        ({"candidates": [right, lambda X: X]}, r"candidate 2 gives scores of shape \(200, 4\)"),
        ({"candidates": [lambda X: right(X) * np.nan]}, "candidate 1 gives a score that is NaN or infinite for row 1"),
    ],
)
def test_options_of_the_threshold_learner_are_named(given, says):
    X, y = examples(0, 1)
    usual = {"base": base("sum@2"), "candidates": CANDIDATES, "label": 0, "cut": 1, "loss": "sum@2", "random_state": 0}
    with pytest.raises(InputError, match=says):
        AgnosticThresholdLearner(**(usual | given)).fit(X, y)


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (lambda X, y: (X, np.where(np.arange(len(y)) == 6, 2, y)), "row 7: the answer 2 is neither 0 nor 1"),
        (lambda X, y: (X, y[:-1]), "X has 400 rows but y has 399"),
        (lambda X, y: (X, None), "requires y"),
        (lambda X, y: (np.where(np.arange(400)[:, None] == 2, np.nan, X), y), "NaN: row 3, feature 1"),
    ],
)
def test_a_refused_fit_of_the_threshold_learner_changes_nothing(spoil, says):
    X, y = examples(0, 1)
    learner = AgnosticThresholdLearner(base("sum@1"), CANDIDATES, 0, 1, loss="sum@1", random_state=0)
    with pytest.raises(NotFittedError):
        learner.predict(X)
    before = learner.fit(X, y).predict(X)
    with pytest.raises(InputError, match=says):
        learner.fit(*spoil(X, y))
    assert_array_equal(learner.predict(X), before)


@pytest.mark.parametrize("loss", ["rr", "rr@2", "hit@2"])
def test_a_loss_of_no_family_is_refused_by_the_relabelling_learner(loss):
    X = np.random.default_rng(0).normal(size=(40, 4))
    Y = (right(X) > 0).astype(int)
    with pytest.raises(InputError, match=f"loss='{loss}' is in no family of the paper"):
        AgnosticLabelRanker(base("sum@1"), CANDIDATES, loss=loss).fit(X, Y)


@pytest.mark.parametrize(("loss", "cuts"), [("dcg@2", {1, 2}), ("ap", {1, 2, 3, 4}), ("recall@3", {3}), ("rr@1", {1})])
def test_candidates_relabel_by_the_family_of_the_loss(loss, cuts):
    """Relevant labels a row: uniform in 1..p for L(sum@p), p for L(prec@p)."""
    X = np.random.default_rng(0).normal(size=(300, 4))
    seen = []

    class Spy(LabelRanker):
        def fit(self, X, y, sample_weight=None):
            seen.append(np.asarray(y).sum(axis=1))
            return super().fit(X, y, sample_weight)

    spy = Spy("sum@1", C=1.0, surrogate="univariate")
    AgnosticLabelRanker(spy, [right], loss=loss, random_state=0).fit(X, (right(X) > 0).astype(int))
    assert set(seen[0].tolist()) == cuts
