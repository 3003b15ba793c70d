"""LabelRanker: rank the labels of an example, trained for the loss you will be judged by."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.utils.validation import check_is_fitted, validate_data

from podium.errors import InputError
from podium.metrics import ranking_report
from podium.metrics.names import Metric, parse
from podium.multilabel.inputs import read_relevance, read_weights
from podium.multilabel.linear import design, fit_logistic
from podium.multilabel.streaming import Stream
from podium.multilabel.surrogates import SURROGATES, fit_coupled
from podium.multilabel.targets import Targets, targets_for

__all__ = ["LabelRanker"]


class LabelRanker(BaseEstimator):
    """Rank K labels for each example.

    A scorer is trained on each label by one univariate proper loss (logistic), and labels are sorted by score. What the
    scorer is asked to predict depends on the ranking loss: with the targets of `podium.multilabel.targets` the sorted
    scores are the best ranking there is for sum@p, prec@p, recall@p, DCG, nDCG and AUC, as data and scorer grow. For
    AP, reciprocal rank and graded pairwise loss no such target exists; relevance itself is used, and `exact_` is False.

    Parameters
    ----------
    loss : str
        Name of the ranking loss, such as "sum@3", "prec@5", "ndcg@10", "auc" (see `podium.metrics.ranking_report`).
    scorer : "linear" or estimator
        "linear": penalised logistic regression, all labels solved together. Or any scikit-learn style regressor or
        classifier, cloned for each label; a classifier is given soft targets as weighted copies of the row.
    surrogate : "univariate", "softmax", "softmax-normalised" or "pairwise"
        With the linear scorer, losses that couple labels instead. Not consistent, sometimes better on small data.
    C : float
        Inverse strength of the penalty |β|² / 2C, as in scikit-learn.
    standardize : bool
        Fit on features of mean 0 and deviation 1 (sparse: of root mean square 1); `coef_` still belongs to X as given.
    max_relevance : float or None
        Largest relevance B that can occur; None: the largest in the training data.
    rate : float
        Step size of `partial_fit` (AdaGrad).
    tol, max_iter : stop when no entry of the gradient exceeds `tol` times the total weight.

    Attributes
    ----------
    labels_ : array of the K labels, column names of y where it had any, else 0..K-1
    coef_, intercept_ : (K, features) and (K,), with the linear scorer
    scorers_ : the fitted clones, with another scorer (None for a label that never varied)
    exact_ : bool, whether the target makes the ranking best in the limit

    Examples
    --------
    >>> X = [[0.0, 1.0], [1.0, 0.0], [1.0, 1.0], [0.0, 0.2]]
    >>> Y = [[0, 1, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]]
    >>> LabelRanker(loss="sum@1", C=10).fit(X, Y).rank([[1.0, 0.0], [0.0, 1.0]], top=1)
    array([[0],
           [1]])
    """

    def __init__(
        self,
        loss: str = "sum@3",
        scorer: Any = "linear",
        *,
        surrogate: str = "univariate",
        C: float = 1.0,
        standardize: bool = False,
        max_relevance: float | None = None,
        rate: float = 0.5,
        tol: float = 1e-4,
        max_iter: int = 100,
    ) -> None:
        self.loss = loss
        self.scorer = scorer
        self.surrogate = surrogate
        self.C = C
        self.standardize = standardize
        self.max_relevance = max_relevance
        self.rate = rate
        self.tol = tol
        self.max_iter = max_iter

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from examples X and the relevance y (rows, labels) of their labels, each of them sparse or dense."""
        X, relevance, weight, loss = self._start(X, y, sample_weight, reset=True)
        if relevance.nnz == 0:
            raise InputError(
                f"none of the {relevance.shape[0]} examples has a relevant label; there is nothing to learn"
            )
        targets = targets_for(loss, relevance, self.top_, weight)
        self.exact_ = targets.exact and self.surrogate == "univariate"
        if isinstance(self.scorer, str):
            self._fit_linear(X, relevance, targets)
        else:
            self._fit_scorers(X, targets)
        return self

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from some more examples, one after the other (AdaGrad); linear scorer, univariate target."""
        if not isinstance(self.scorer, str) or self.surrogate != "univariate":
            raise InputError("partial_fit needs scorer='linear' and surrogate='univariate'")
        first = not hasattr(self, "stream_")
        X, relevance, weight, loss = self._start(X, y, sample_weight, reset=first)
        targets = targets_for(loss, relevance, self.top_, weight)
        self.exact_ = targets.exact
        if first:
            self.stream_ = Stream(X.shape[1], relevance.shape[1], rate=self.rate)
        self.stream_.learn(X, targets.values, targets.weight)
        self.coef_, self.intercept_ = self.stream_.weights[:-1].T.copy(), self.stream_.weights[-1].copy()
        return self

    def decision_function(self, X: Any) -> np.ndarray:
        """Scores (rows, labels); larger is more relevant."""
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", reset=False, dtype=np.float64)
        if hasattr(self, "coef_"):
            return np.asarray(X @ self.coef_.T + self.intercept_)
        return np.column_stack(
            [_score(each, constant, X) for each, constant in zip(self.scorers_, self.constant_, strict=True)]
        )

    def rank(self, X: Any, top: int | None = None) -> np.ndarray:
        """Labels of each row, best first; only the first `top` of them if given."""
        scores = self.decision_function(X)
        keep = scores.shape[1] if top is None else top
        if not 1 <= keep <= scores.shape[1]:
            raise InputError(f"top={top!r}: there are {scores.shape[1]} labels; choose 1 to {scores.shape[1]}")
        return np.asarray(self.labels_[np.argsort(-scores, axis=1, kind="stable")[:, :keep]])

    def predict(self, X: Any, *, top: int | None = None, threshold: float | None = None) -> np.ndarray:
        """0/1 relevance: the `top` best labels, or those scored at least `threshold`.

        Without either: the p best for a loss with a cut-off (all, if there are fewer), else labels scored above the
        middle (0 for the linear scorer and decision functions, one half for chances).
        """
        if top is not None and threshold is not None:
            raise InputError("give top or threshold, not both")
        scores = self.decision_function(X)
        cut = parse(self.loss).p if top is None and threshold is None else top
        if cut is None:
            return (scores >= (self.middle_ if threshold is None else threshold)).astype(np.int64)
        if cut < 1:
            raise InputError(f"top={top!r}: at least 1")
        best = np.argsort(-scores, axis=1, kind="stable")[:, :cut]
        out = np.zeros(scores.shape, dtype=np.int64)
        np.put_along_axis(out, best, 1, axis=1)
        return out

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Minus the mean loss: larger is better."""
        scores = self.decision_function(X)
        relevance, _ = read_relevance(y, scores.shape[0])
        weight = read_weights(sample_weight, scores.shape[0])
        lost = ranking_report(relevance, scores, metrics=[self.loss], clip=True).per_row
        return -float(np.average(next(iter(lost.values())), weights=weight))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        tags.target_tags.single_output = False
        tags.target_tags.multi_output = True
        return tags

    def _start(self, X: Any, y: Any, sample_weight: Any, *, reset: bool) -> tuple[Any, Any, np.ndarray, Metric]:
        loss = parse(self.loss)
        if isinstance(self.scorer, str) and self.scorer != "linear":
            raise InputError(f"scorer={self.scorer!r} is unknown; use 'linear' or an estimator")
        if self.surrogate not in ("univariate", *SURROGATES):
            raise InputError(f"surrogate={self.surrogate!r} is unknown; choose univariate, {', '.join(SURROGATES)}")
        if not self.C > 0:
            raise InputError(f"C={self.C!r}: it must be above 0")
        X = validate_data(self, X, accept_sparse="csr", reset=reset, dtype=np.float64)
        relevance, labels = read_relevance(y, X.shape[0])
        weight = read_weights(sample_weight, X.shape[0])
        if reset:
            self.labels_ = labels
            self.top_ = float(self.max_relevance or (relevance.data.max() if relevance.nnz else 1.0))
            self.middle_ = 0.0
        elif len(labels) != len(self.labels_):
            raise InputError(f"y has {len(labels)} labels, but the first examples had {len(self.labels_)}")
        if relevance.nnz and relevance.data.max() > self.top_:
            raise InputError(
                f"relevance {relevance.data.max():g} is above {self.top_:g}; "
                "set max_relevance to the largest that can occur"
            )
        return X, relevance, weight, loss

    def _fit_linear(self, X: Any, relevance: Any, targets: Targets) -> None:
        centre, size = _measure(X) if self.standardize else (0.0, 1.0)
        X = (
            (X - centre) / size
            if isinstance(X, np.ndarray)
            else (X.multiply(1 / size).tocsr() if self.standardize else X)
        )
        options: dict[str, Any] = {"C": self.C, "tol": self.tol, "max_iter": self.max_iter}
        if self.surrogate == "univariate":
            columns = targets.values.tocsc()

            def block(first: int, last: int) -> np.ndarray:
                return np.ascontiguousarray(columns[:, first:last].toarray())

            beta = fit_logistic(design(X), block, relevance.shape[1], targets.weight, **options)
        else:
            beta = fit_coupled(self.surrogate, design(X), targets.values, targets.weight, **options)
        self.coef_ = np.ascontiguousarray(beta[:-1].T / size)
        self.intercept_ = beta[-1] - self.coef_ @ np.broadcast_to(centre, self.coef_.shape[1])

    def _fit_scorers(self, X: Any, targets: Targets) -> None:
        if self.surrogate != "univariate":
            raise InputError(f"surrogate={self.surrogate!r} needs scorer='linear'")
        self.scorers_: list[Any] = []
        self.constant_ = np.zeros(targets.values.shape[1])
        self.__dict__.pop("coef_", None)
        columns = targets.values.tocsc()
        weighted = not (targets.weight == targets.weight[0]).all()
        for label in range(columns.shape[1]):
            goal = columns[:, [label]].toarray().reshape(-1)
            if (goal == goal[0]).all():
                self.constant_[label] = goal[0]
                self.scorers_.append(None)
                continue
            self.scorers_.append(_fit_one(clone(self.scorer), X, goal, targets.weight if weighted else None))
        self.middle_ = 0.0 if is_classifier(self.scorer) and hasattr(self.scorer, "decision_function") else 0.5
        self.constant_ = np.where(self.constant_ > 0, 1.0, -1.0) * 1e9 if self.middle_ == 0 else self.constant_


def _measure(X: Any) -> tuple[Any, np.ndarray]:
    """Centre and size of each feature; a sparse table stays sparse, so it is not centred."""
    if isinstance(X, np.ndarray):
        centre, size = X.mean(axis=0), X.std(axis=0)
    else:
        centre, size = 0.0, np.sqrt(np.asarray(X.multiply(X).mean(axis=0)).reshape(-1))
    return centre, np.where(size > 0, size, 1.0)


def _fit_one(scorer: Any, X: Any, goal: np.ndarray, weight: np.ndarray | None) -> Any:
    """Fit a scorer to targets from 0 to 1; a classifier sees a row once as relevant and once as not, by weight."""
    if not is_classifier(scorer):
        return scorer.fit(X, goal) if weight is None else scorer.fit(X, goal, sample_weight=weight)
    if ((goal == 0) | (goal == 1)).all():
        hard = goal.astype(np.int64)  # never int8: scikit-learn's LabelBinarizer scrambles it
        return scorer.fit(X, hard) if weight is None else scorer.fit(X, hard, sample_weight=weight)
    from scipy import sparse

    both: Any = sparse.vstack([X, X], format="csr") if hasattr(X, "tocsr") else np.vstack([X, X])
    hard = np.repeat([1, 0], len(goal))
    share = np.concatenate([goal, 1 - goal]) * (1.0 if weight is None else np.tile(weight, 2))
    keep = share > 0
    return scorer.fit(both[keep], hard[keep], sample_weight=share[keep])


def _score(scorer: Any, constant: float, X: Any) -> np.ndarray:
    if scorer is None:
        return np.full(X.shape[0], constant)
    if not is_classifier(scorer):
        return np.asarray(scorer.predict(X), dtype=float).reshape(-1)
    if hasattr(scorer, "decision_function"):
        return np.asarray(scorer.decision_function(X), dtype=float)
    return np.asarray(scorer.predict_proba(X)[:, 1], dtype=float)
