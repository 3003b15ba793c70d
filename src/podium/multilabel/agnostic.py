"""AgnosticLabelRanker: the paper's agnostic PAC learner, for a finite list of candidate rankings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, clone

from podium.data.validation import check_is_fitted, floats_of, number_option, seed_option
from podium.errors import InputError
from podium.metrics import ranking_report
from podium.metrics.names import Metric
from podium.multilabel.inputs import forget, labels_by_rank, read_features, read_relevance, unchanged_on_error
from podium.multilabel.options import loss_named
from podium.text import counted

__all__ = ["AgnosticLabelRanker", "binary_relevance"]


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
    loss : name of the loss; its family decides between the two algorithms
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
        rng = np.random.default_rng(self.random_state)
        held = np.arange(X.shape[0])
        if unlabelled is None:
            mixed = rng.permutation(X.shape[0])
            cut = max(1, min(X.shape[0] - 1, round(self.share * X.shape[0])))
            unlabelled, held = X[mixed[:cut]], np.sort(mixed[cut:])
        else:
            unlabelled = read_features(self, unlabelled)
        truth = relevance[held]
        if truth.nnz == 0:
            raise InputError("no held-out example has a relevant label, so no candidate can be chosen")
        learners = [
            clone(self.base).fit(unlabelled, self._relabelled(number, unlabelled, relevance.shape[1], loss, rng))
            for number in range(len(self.candidates))
        ]
        reports = [
            ranking_report(truth, each.decision_function(X[held]), metrics=[self.loss], clip=True) for each in learners
        ]
        self.losses_ = np.array([next(iter(report.values())) for report in reports])
        self.chosen_ = int(np.argmin(self.losses_))
        self.best_ = learners[self.chosen_]
        return self

    def _check_options(self) -> Metric:
        """Refuse options that mean nothing; returns the loss."""
        if isinstance(self.base, type) or not hasattr(self.base, "fit") or not hasattr(self.base, "decision_function"):
            raise InputError(f"base={self.base!r} lacks fit or decision_function; use a learner such as LabelRanker()")
        if isinstance(self.candidates, str) or not isinstance(self.candidates, Sequence):
            raise InputError(f"candidates={self.candidates!r}: a list of rankings to compete with is needed")
        if not self.candidates:
            raise InputError("candidates is empty; give at least one ranking to compete with")
        number_option("share", self.share, above=0, below=1)
        seed_option("random_state", self.random_state)
        return loss_named(self.loss)

    def _relabelled(self, number: int, X: Any, n_labels: int, loss: Metric, rng: np.random.Generator) -> np.ndarray:
        """BinRel of a candidate's ranking of X, at random cut-offs for losses of the sum@p family."""
        scores = floats_of(f"the scores of candidate {number + 1}", _score_of(self.candidates[number])(X))
        if scores.shape != (X.shape[0], n_labels):
            raise InputError(
                f"candidate {number + 1} gives scores of shape {scores.shape}; ({X.shape[0]}, {n_labels}) is needed"
            )
        if not np.isfinite(scores).all():
            row = int(np.argwhere(~np.isfinite(scores))[0][0]) + 1
            raise InputError(f"candidate {number + 1} gives a score that is NaN or infinite for row {row}")
        p = min(loss.p or n_labels, n_labels)
        sums = loss.kind not in ("prec", "recall", "hit")
        return binary_relevance(scores, rng.integers(1, p + 1, size=len(scores)) if sums else p)

    def decision_function(self, X: Any) -> np.ndarray:
        """Scores of the learner that was kept."""
        check_is_fitted(self)
        return np.asarray(self.best_.decision_function(X))

    def rank(self, X: Any, top: int | None = None) -> np.ndarray:
        """Labels of each row, best first; only the first `top` of them if given."""
        scores = self.decision_function(X)
        return labels_by_rank(self.labels_, scores, top)


def _score_of(candidate: Any) -> Callable[[Any], Any]:
    if hasattr(candidate, "decision_function"):
        return candidate.decision_function  # type: ignore[no-any-return]
    if callable(candidate):
        return candidate  # type: ignore[no-any-return]
    raise InputError(f"a candidate is a function of X or a fitted estimator, not a {type(candidate).__name__}")
