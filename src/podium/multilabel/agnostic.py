"""The paper's agnostic PAC learners, for a finite list of candidate rankings: of rankings, and of one label's place."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, clone

from podium.data.validation import check_is_fitted, floats_of, number_option, seed_option, whole_option
from podium.errors import InputError, Option
from podium.metrics import ranking_report
from podium.metrics.names import Metric
from podium.multilabel.inputs import forget, labels_by_rank, read_features, read_relevance, unchanged_on_error
from podium.multilabel.options import family_of, loss_named
from podium.text import counted

__all__ = ["AgnosticLabelRanker", "AgnosticThresholdLearner", "binary_relevance"]


def binary_relevance(scores: Any, cut: Any) -> np.ndarray:
    """BinRel(π, j): 1 for the labels at ranks 1..j, with one j for all rows or one each.

    >>> binary_relevance([[0.3, 0.9, 0.5]], 2)
    array([[0, 1, 1]])
    """
    table, cuts = floats_of("scores", scores, (None, None)), floats_of("cut", cut).reshape(-1, 1)
    if len(cuts) not in (1, len(table)):
        raise InputError(f"there are {len(cuts)} cuts for {counted(len(table), 'row')}; give one for all or one each")
    order = np.argsort(-table, axis=1, kind="stable")
    ranks = np.empty(order.shape, dtype=np.int64)
    np.put_along_axis(ranks, order, np.arange(1, order.shape[1] + 1)[None, :], axis=1)
    return (ranks <= cuts).astype(np.int64)


class AgnosticLabelRanker(BaseEstimator):
    """Turn a learner that works when some candidate is right into one that competes with the best candidate.

    "On the Learnability of Multilabel Ranking", Algorithm 1 (losses of the sum@p family; j uniform in 1..p) and
    Algorithm 5 (prec@p family; j = p): relabel unlabelled examples by BinRel(h(x), j) for each candidate h, train
    `base` on each relabelled set, keep the one with the lowest loss on labelled examples. This is the paper's
    construction, to study; in our runs its gain is that of choosing among candidates, and `LabelRanker` is the one to
    use.

    Parameters
    ----------
    base : estimator with fit(X, y) and decision_function(X), such as LabelRanker
    candidates : list of callables X -> scores (rows, labels), or of fitted estimators with decision_function
    loss : name of the loss; its family decides between the two algorithms, and one of no family (rr) is refused
    share : part of the examples whose relevance is ignored and replaced, when no `unlabelled` are given
    random_state : seed of the draw of j and of the split

    Attributes
    ----------
    best_ : the learner kept; `losses_` : held-out loss of each; `chosen_` : its candidate's number
    """

    def __init__(
        self,
        base: Any,
        candidates: Sequence[Any],
        *,
        loss: str = "sum@3",
        share: float = 0.5,
        random_state: int | None = None,
    ) -> None:
        self.base = base
        self.candidates = candidates
        self.loss = loss
        self.share = share
        self.random_state = random_state

    def fit(self, X: Any, y: Any, unlabelled: Any = None) -> Self:
        """Forget everything; relabel, train once per candidate, keep the best on labelled examples."""
        with unchanged_on_error(self):
            forget(self)
            return self._fit(X, y, unlabelled)

    def _fit(self, X: Any, y: Any, unlabelled: Any) -> Self:
        loss = self._check_options()
        X = read_features(self, X, reset=True)
        relevance, self.labels_ = read_relevance(y, X.shape[0])
        p, ordered = family_of(loss, relevance.shape[1], clip=True)
        rng = np.random.default_rng(self.random_state)
        unlabelled, held = _split(self, X, unlabelled, rng)
        truth = relevance[held]
        if truth.nnz == 0:
            raise InputError("no held-out example has a relevant label, so no candidate can be chosen")
        learners = []
        for number in range(len(self.candidates)):
            cut = rng.integers(1, p + 1, size=unlabelled.shape[0]) if ordered else p
            goal = _relabelled(self.candidates, number, unlabelled, relevance.shape[1], cut)
            learners.append(clone(self.base).fit(unlabelled, goal))
        reports = [
            ranking_report(truth, each.decision_function(X[held]), metrics=[self.loss], clip=True) for each in learners
        ]
        self.losses_ = np.array([next(iter(report.values())) for report in reports])
        self.chosen_ = int(np.argmin(self.losses_))
        self.best_ = learners[self.chosen_]
        return self

    def _check_options(self) -> Metric:
        """Refuse options that mean nothing; returns the loss."""
        _check_parts(self)
        return loss_named(self.loss)

    def decision_function(self, X: Any) -> np.ndarray:
        """Scores of the learner that was kept."""
        check_is_fitted(self)
        return np.asarray(self.best_.decision_function(X))

    def rank(self, X: Any, top: int | None = None) -> np.ndarray:
        """Labels of each row, best first; only the first `top` of them if given."""
        scores = self.decision_function(X)
        return labels_by_rank(self.labels_, scores, top)


class AgnosticThresholdLearner(BaseEstimator):
    """Turn a learner of rankings into one of "label i is among the first j" that competes with the best candidate.

    "On the Learnability of Multilabel Ranking", Algorithm 4, the way back from rankings to the binary classes H_i^j:
    relabel unlabelled examples by BinRel(h(x), j) for each candidate h, train `base` on each relabelled set, and keep
    the g whose answer 1{rank of i ≤ j} has the fewest mistakes on labelled examples. It proves that rankings cannot be
    learned where H_i^j cannot; to study, not the way to learn a binary label.

    Parameters
    ----------
    base : estimator with fit(X, y) and decision_function(X), such as LabelRanker
    candidates : list of callables X -> scores (rows, labels), or of fitted estimators with decision_function
    label, cut : i, from 0, and j, from 1
    loss : what `base` learns: of the sum@p family with j ≤ p (Lemma 4.5), or of prec@p with j = p (Lemma C.4)
    share : part of the examples whose answer is ignored, when no `unlabelled` are given
    random_state : seed of the split

    Attributes
    ----------
    best_ : the ranker kept; `errors_` : share of mistakes of each; `chosen_` : its candidate's number

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> first = np.array([[1.0, -1.0, 0.0], [0.0, 1.0, -1.0]])  # scores of three labels
    >>> answers = ((X @ first).argmax(axis=1) == 2).astype(int)
    >>> from podium.multilabel import LabelRanker
    >>> candidates = [lambda x: x @ first, lambda x: -(x @ first)]
    >>> learner = AgnosticThresholdLearner(LabelRanker("sum@1"), candidates, 2, 1, loss="sum@1", random_state=0)
    >>> learner.fit(X, answers).chosen_
    0
    """

    def __init__(
        self,
        base: Any,
        candidates: Sequence[Any],
        label: int,
        cut: int,
        *,
        loss: str = "sum@3",
        share: float = 0.5,
        random_state: int | None = None,
    ) -> None:
        self.base = base
        self.candidates = candidates
        self.label = label
        self.cut = cut
        self.loss = loss
        self.share = share
        self.random_state = random_state

    def fit(self, X: Any, y: Any, unlabelled: Any = None) -> Self:
        """Forget everything; relabel, train once per candidate, keep the one with fewest mistakes about y (0 or 1)."""
        with unchanged_on_error(self):
            forget(self)
            return self._fit(X, y, unlabelled)

    def _fit(self, X: Any, y: Any, unlabelled: Any) -> Self:
        _check_parts(self)
        whole_option("label", self.label, least=0)
        whole_option("cut", self.cut, least=1)
        loss = loss_named(self.loss)
        X = read_features(self, X, reset=True)
        answers = _answers(y, X.shape[0])
        unlabelled, held = _split(self, X, unlabelled, np.random.default_rng(self.random_state))
        width = _width(self.candidates[0], unlabelled)
        self._check_place(loss, width)
        self.learners_ = [
            clone(self.base).fit(unlabelled, _relabelled(self.candidates, number, unlabelled, width, self.cut))
            for number in range(len(self.candidates))
        ]
        self.errors_ = np.array([np.mean(self._says(each, X[held]) != answers[held]) for each in self.learners_])
        self.chosen_ = int(np.argmin(self.errors_))
        self.best_ = self.learners_[self.chosen_]
        return self

    def _check_place(self, loss: Metric, n_labels: int) -> None:
        """Refuse a label that is not there, and a cut of which the loss says nothing."""
        if self.label >= n_labels:
            raise InputError(
                Option("label", self.label), f": the candidates score {counted(n_labels, 'label')}, counted from 0"
            )
        p, ordered = family_of(loss, n_labels)
        if self.cut > p or (self.cut < p and not ordered):
            wanted = f"from 1 to {p}" if ordered and p > 1 else f"{p}"
            raise InputError(
                f"cut={self.cut}: a learner for ", Option("loss", str(loss)), f" tells who is among the first {wanted}"
            )

    def predict(self, X: Any) -> np.ndarray:
        """1 where the label is among the first `cut`, by the ranker that was kept."""
        check_is_fitted(self)
        return self._says(self.best_, read_features(self, X))

    def _says(self, ranker: Any, X: Any) -> np.ndarray:
        return binary_relevance(ranker.decision_function(X), self.cut)[:, self.label]


def _answers(y: Any, n_rows: int) -> np.ndarray:
    """The answers, 0 or 1, one for each row."""
    if y is None:
        raise InputError("this estimator requires y to be passed, but the target y is None")
    answers = floats_of("y", y, (None,))
    if len(answers) != n_rows:
        raise InputError(f"X has {counted(n_rows, 'row')} but y has {len(answers)}; they must pair up")
    bad = np.flatnonzero(~np.isin(answers, (0, 1)))
    if bad.size:
        raise InputError(f"row {int(bad[0]) + 1}: the answer {answers[bad[0]]:g} is neither 0 nor 1")
    return answers.astype(np.int64)


def _width(candidate: Any, X: Any) -> int:
    """How many labels the candidates rank, by the first of them."""
    return int(floats_of("the scores of candidate 1", _score_of(candidate)(X), (None, None)).shape[1])


def _check_parts(learner: Any) -> None:
    """Refuse a base, candidates, share or seed that mean nothing."""
    base, candidates = learner.base, learner.candidates
    if isinstance(base, type) or not hasattr(base, "fit") or not hasattr(base, "decision_function"):
        raise InputError(f"base={base!r} lacks fit or decision_function; use a learner such as LabelRanker()")
    if isinstance(candidates, str) or not isinstance(candidates, Sequence):
        raise InputError(f"candidates={candidates!r}: a list of rankings to compete with is needed")
    if not candidates:
        raise InputError("candidates is empty; give at least one ranking to compete with")
    number_option("share", learner.share, above=0, below=1)
    seed_option("random_state", learner.random_state)


def _split(learner: Any, X: Any, unlabelled: Any, rng: np.random.Generator) -> tuple[Any, np.ndarray]:
    """Examples to relabel, and the rows of X to choose by: those given, or a random share of X and the rest."""
    if unlabelled is not None:
        return read_features(learner, unlabelled), np.arange(X.shape[0])
    mixed = rng.permutation(X.shape[0])
    cut = max(1, min(X.shape[0] - 1, round(learner.share * X.shape[0])))
    return X[mixed[:cut]], np.sort(mixed[cut:])


def _relabelled(candidates: Sequence[Any], number: int, X: Any, n_labels: int, cut: Any) -> np.ndarray:
    """BinRel of a candidate's ranking of X at one cut-off, or at one for each row."""
    scores = floats_of(f"the scores of candidate {number + 1}", _score_of(candidates[number])(X))
    if scores.shape != (X.shape[0], n_labels):
        raise InputError(
            f"candidate {number + 1} gives scores of shape {scores.shape}; ({X.shape[0]}, {n_labels}) is needed"
        )
    if not np.isfinite(scores).all():
        row = int(np.argwhere(~np.isfinite(scores))[0][0]) + 1
        raise InputError(f"candidate {number + 1} gives a score that is NaN or infinite for row {row}")
    return binary_relevance(scores, cut)


def _score_of(candidate: Any) -> Callable[[Any], Any]:
    if hasattr(candidate, "decision_function"):
        return candidate.decision_function  # type: ignore[no-any-return]
    if callable(candidate):
        return candidate  # type: ignore[no-any-return]
    raise InputError(f"a candidate is a function of X or a fitted estimator, not a {type(candidate).__name__}")
