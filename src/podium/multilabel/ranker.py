"""LabelRanker: rank the labels of an example, trained for the loss you will be judged by."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, clone, is_classifier

from podium.data.validation import check_is_fitted, choice_option, flag_option, number_option, whole_option
from podium.engine import Engine, running
from podium.errors import InputError, Option
from podium.metrics import ranking_report
from podium.metrics.names import Metric, parse
from podium.multilabel.columns import check_columns
from podium.multilabel.inputs import (
    finite_scores,
    forget,
    labels_by_rank,
    read_features,
    read_relevance,
    read_weights,
    unchanged_on_error,
)
from podium.multilabel.linear import Design, design, fit_frequencies, fit_logistic, squared_gradients
from podium.multilabel.options import loss_named
from podium.multilabel.scaling import measure, scaled
from podium.multilabel.selection import averaged, choose, describe
from podium.multilabel.streaming import Stream
from podium.multilabel.surrogates import SURROGATES, coupled_squares, fit_coupled
from podium.multilabel.targets import Targets, targets_for
from podium.multilabel.trees import boost, grow
from podium.text import counted

__all__ = ["LabelRanker"]

SCORERS = ("linear", "trees", "auto")
LARGEST = 1e15  # feature whose square the solver's single precision can still add up


class LabelRanker(BaseEstimator):
    """Rank K labels for each example.

    A scorer is trained on each label by one univariate proper loss (logistic), and labels are sorted by score. What the
    scorer is asked to predict depends on the ranking loss: with the targets of `podium.multilabel.targets` the sorted
    scores are the best ranking there is for sum@p, prec@p, recall@p, DCG, nDCG and AUC, as data and scorer grow. For
    AP, reciprocal rank and graded pairwise loss no such target exists; relevance itself is used, and `exact_` is False.

    By default features are scaled, and penalty and surrogate are those with the lowest loss on rows held out of
    the training data; where features say nothing, labels are ranked by their frequency. `validation_` lists what was
    tried. Give `C` and `surrogate` to skip this: a fit then costs several times less.

    Parameters
    ----------
    loss : str
        Name of the ranking loss, such as "sum@3", "prec@5", "ndcg@10", "auc" (see `podium.metrics.ranking_report`).
    scorer : "linear", "trees", "auto" or estimator
        "linear": penalised logistic regression, all labels solved together. "trees": a forest of 200 trees, split at
        random, or at the best places of bootstrap samples; boosted trees, label by label; or the mean of both. "auto":
        linear, trees or their mean. Whichever is best on rows held out is taken. Or any scikit-learn style regressor or
        classifier, cloned for each label; a classifier is given soft targets as weighted copies of the row.
    surrogate : "auto", "univariate", "softmax", "softmax-normalised" or "pairwise"
        Of the linear scorer. All but "univariate" couple labels; they are not consistent, and sometimes better on small
        data. "auto" compares "univariate" and, where the data are small enough, "pairwise".
    C : "auto" or float
        Inverse strength of the penalty |β|² / 2C of the linear scorer, as in scikit-learn.
    standardize : "auto" or bool
        True: fit on features of mean 0 and deviation 1 (sparse: of root mean square 1). "auto": the same, but features
        that are 0 in most rows are only divided by their usual size. `coef_` belongs to X as given in any case.
    max_relevance : float or None
        Largest relevance B that can occur; None: the largest in the training data.
    rate : float
        Step size of `partial_fit` (AdaGrad).
    tol, max_iter : stop when no entry of the gradient exceeds `tol` times the total weight.

    Attributes
    ----------
    labels_ : array of the K labels, column names of y where it had any, else 0..K-1
    scorer_, surrogate_, C_ : what was fitted, given or chosen: "linear", "trees" or "both"; the surrogate; the penalty
        (0 for label frequencies alone)
    validation_ : dict of what was tried to its mean loss on rows held out; empty if there was nothing to choose
    chosen_ : the same in words, a key of `validation_` where it is not empty
    coef_, intercept_ : (K, features) and (K,), with the linear scorer
    forest_, boosted_ : the trees in use, with "trees" and "both"
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

    state_version = 2

    @classmethod
    def upgraded(cls, state: dict[str, Any], version: int) -> dict[str, Any]:
        """Version 1 chose nothing: what was fitted is what was asked for."""
        if "coef_" in state:
            state |= {"scorer_": "linear", "surrogate_": state["surrogate"], "C_": state["C"]}
            state |= {"validation_": {}, "chosen_": "linear"}
        return state

    def __init__(
        self,
        loss: str = "sum@3",
        scorer: Any = "linear",
        *,
        surrogate: str = "auto",
        C: float | str = "auto",
        standardize: bool | str = "auto",
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

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, engine: Any = None) -> Self:
        """Forget everything; learn from examples X and the relevance y (rows, labels), each sparse or dense.

        `engine`, a `distributed.Client`, shares the labels of the linear scorer among its workers, 64 at a time; the
        coefficients are the same to the bit. Surrogates that couple labels are fitted here.
        """
        if engine is not None and not (isinstance(self.scorer, str) and self.scorer == "linear"):
            raise InputError(
                "engine= shares out the labels of ", Option("scorer", "linear"), "; drop it, or change that"
            )
        with running(1, engine=engine) as runner:
            return self._fit(X, y, sample_weight, runner)

    def _fit(self, X: Any, y: Any, sample_weight: Any, engine: Engine) -> Self:
        with unchanged_on_error(self):
            forget(self)
            X, relevance, weight, loss = self._start(X, y, sample_weight, reset=True)
            if relevance.nnz == 0:
                raise InputError("no example has a relevant label; there is nothing to learn")
            targets = targets_for(loss, relevance, self.top_, weight)
            if isinstance(self.scorer, str):
                self._fit_chosen(X, relevance, weight, targets, loss, engine)
            else:
                self._fit_scorers(X, targets)
            self.exact_ = targets.exact and getattr(self, "surrogate_", "univariate") == "univariate"
        return self

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from some more examples, one after the other (AdaGrad); linear scorer.

        After `fit` it goes on from there: with the fitted coefficients and the surrogate that was chosen, and with
        steps as short as if the examples of `fit` had been seen one by one. Without, features are taken as they are.
        """
        if not (isinstance(self.scorer, str) and self.scorer == "linear"):
            raise InputError("partial_fit needs ", Option("scorer", "linear"), ", not ", Option("scorer", self.scorer))
        with unchanged_on_error(self):
            first = not hasattr(self, "labels_")
            X, relevance, weight, loss = self._start(X, y, sample_weight, reset=first)
            check_columns(y, self.labels_)
            targets = targets_for(loss, relevance, self.top_, weight, alone=True)
            if not hasattr(self, "stream_"):
                self.stream_ = self._stream()
            self.stream_.rate = self.rate
            self.stream_.learn(self._scaled(X), targets.values, targets.weight, self.surrogate_)
            self.exact_ = targets.exact and self.surrogate_ == "univariate"
            self._keep(self.stream_.weights)
        return self

    def _stream(self) -> Stream:
        """A learner of single examples that goes on from `fit`, or a new one."""
        if not hasattr(self, "coef_"):
            if hasattr(self, "scorer_"):
                raise InputError("partial_fit cannot go on from a fit with another scorer; fit again with 'linear'")
            if self.standardize is True:
                raise InputError(
                    Option("standardize", True),
                    ": the size of the features is measured by fit; call fit on some examples before partial_fit, "
                    "or scale the features yourself",
                )
            self.scorer_, self.surrogate_ = "linear", "univariate" if self.surrogate == "auto" else self.surrogate
            return Stream(self.n_features_in_, len(self.labels_), rate=self.rate)
        if self.surrogate not in ("auto", self.surrogate_):
            raise InputError(
                Option("surrogate", self.surrogate), f": fit was with {self.surrogate_!r}; call fit again to change it"
            )
        if not hasattr(self, "squares_"):  # a model file of version 1
            raise InputError("partial_fit cannot go on from this fit of an older podium; fit again")
        stream = Stream(self.n_features_in_, len(self.labels_), rate=self.rate)
        stream.weights[:-1] = self.coef_.T * np.reshape(self.size_, (-1, 1))
        stream.weights[-1] = self.intercept_ + self.coef_ @ np.broadcast_to(self.centre_, self.coef_.shape[1])
        stream.squares[:] = self.squares_
        del self.squares_  # the stream has them now
        return stream

    def _scaled(self, X: Any) -> Any:
        """Features as the last `fit` scaled them."""
        return scaled(X, getattr(self, "centre_", 0.0), getattr(self, "size_", 1.0))

    def _keep(self, beta: np.ndarray) -> None:
        """Coefficients that belong to X as given, from those on scaled features (the last row the intercept)."""
        with np.errstate(over="ignore", invalid="ignore"):  # told below
            coef = np.ascontiguousarray((beta[:-1] / np.reshape(getattr(self, "size_", 1.0), (-1, 1))).T)
            intercept = beta[-1] - coef @ np.broadcast_to(getattr(self, "centre_", 0.0), coef.shape[1])
        if not (np.isfinite(coef).all() and np.isfinite(intercept).all()):
            raise InputError(
                "the features are so large or so small that numbers overflow; scale them, or set ",
                Option("standardize", True),
            )
        self.coef_, self.intercept_ = coef, intercept

    def decision_function(self, X: Any) -> np.ndarray:
        """Scores (rows, labels); larger is more relevant."""
        check_is_fitted(self)
        X = read_features(self, X)
        if hasattr(self, "coef_") and self.scorer_ == "linear":
            scores = np.asarray(X @ self.coef_.T + self.intercept_)
        elif self.scorer_ in ("trees", "both"):
            scores = averaged(self._chances(X))
        else:
            pairs = zip(self.scorers_, self.constant_, strict=True)
            scores = np.column_stack([_score(each, constant, X) for each, constant in pairs])
        return finite_scores(scores, self.labels_)

    def _chances(self, X: Any) -> Iterator[np.ndarray]:
        """Targets as each of the scorers whose mean is taken predicts them."""
        from scipy.special import expit

        if hasattr(self, "coef_"):
            yield expit(np.asarray(X @ self.coef_.T + self.intercept_))
        if hasattr(self, "forest_"):
            yield self.forest_.scores(X)
        if hasattr(self, "boosted_"):
            yield expit(self.boosted_.scores(X))

    def rank(self, X: Any, top: int | None = None) -> np.ndarray:
        """Labels of each row, best first; only the first `top` of them if given."""
        scores = self.decision_function(X)
        return labels_by_rank(self.labels_, scores, top)

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
            least = self.middle_ if threshold is None else number_option("threshold", threshold)
            return (scores >= least).astype(np.int64)
        cut = whole_option("top", cut, least=1)
        best = np.argsort(-scores, axis=1, kind="stable")[:, :cut]
        out = np.zeros(scores.shape, dtype=np.int64)
        np.put_along_axis(out, best, 1, axis=1)
        return out

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Minus the mean loss: larger is better."""
        scores = self.decision_function(X)
        relevance, _ = read_relevance(y, scores.shape[0])
        check_columns(y, self.labels_)
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
        loss = self._check_options()
        X = read_features(self, X, reset=reset)
        relevance, labels = read_relevance(y, X.shape[0])
        weight = read_weights(sample_weight, X.shape[0])
        if reset:
            self.labels_ = labels
            largest = relevance.data.max() if relevance.nnz else 1.0
            self.top_ = float(largest if self.max_relevance is None else self.max_relevance)
            self.middle_ = 0.0
        elif len(labels) != len(self.labels_):
            raise InputError(f"y has {counted(len(labels), 'label')}, but the first examples had {len(self.labels_)}")
        if relevance.nnz and relevance.data.max() > self.top_:
            raise InputError(
                f"relevance {relevance.data.max():g} is above {self.top_:g}; "
                "set max_relevance to the largest that can occur"
            )
        return X, relevance, weight, loss

    def _check_options(self) -> Metric:
        """Refuse options that mean nothing; returns the loss."""
        if isinstance(self.scorer, str) and self.scorer not in SCORERS:
            raise InputError(
                Option("scorer", self.scorer), " is unknown; use 'linear', 'trees', 'auto' or an estimator"
            )
        if isinstance(self.scorer, type) or not (isinstance(self.scorer, str) or hasattr(self.scorer, "fit")):
            raise InputError(
                Option("scorer", self.scorer), " cannot be fitted; use 'linear' or an estimator with its options"
            )
        choice_option("surrogate", self.surrogate, ("auto", "univariate", *SURROGATES))
        if self.surrogate not in ("auto", "univariate") and self.scorer != "linear":
            raise InputError(Option("surrogate", self.surrogate), " needs ", Option("scorer", "linear"))
        if not isinstance(self.C, str):
            number_option("C", self.C, above=0)
        elif self.C != "auto":
            raise InputError(Option("C", self.C), ": it must be 'auto' or a finite number above 0")
        if not isinstance(self.standardize, str) or self.standardize != "auto":
            flag_option("standardize", self.standardize)
        if self.max_relevance is not None:
            number_option("max_relevance", self.max_relevance, above=0)
        number_option("rate", self.rate, above=0)
        number_option("tol", self.tol, above=0)
        whole_option("max_iter", self.max_iter, least=1)
        return loss_named(self.loss)

    def _fit_chosen(
        self, X: Any, relevance: Any, weight: np.ndarray, targets: Targets, loss: Metric, engine: Engine
    ) -> None:
        """Fit trees or the linear scorer, with what is not given chosen on rows held out."""
        centre, size = measure(X, weight, self.standardize)
        ready = scaled(X, centre, size)
        if self.scorer == "linear":
            _refuse_large(ready)
        self.validation_: dict[str, float]
        setting, self.validation_ = choose(
            X, ready, relevance, targets, weight, loss,
            scorer=self.scorer, surrogate=self.surrogate, C=self.C, tol=self.tol, max_iter=self.max_iter,
            engine=engine,
        )  # fmt: skip
        self.scorer_, self.chosen_ = setting.scorer, describe(setting)
        if setting.forest:
            self.forest_ = grow(X, targets.values, targets.weight, greedy=setting.forest == "best")
        if setting.boosted:
            self.boosted_ = boost(X, targets.values, targets.weight)
        if setting.scorer != "linear":
            self.middle_ = 0.5
        if setting.scorer == "trees":
            return
        self.surrogate_, self.C_ = setting.surrogate, setting.C
        self.centre_: Any = centre
        self.size_: Any = size
        self._fit_linear(design(ready), targets, engine)

    def _fit_linear(self, x: Design, targets: Targets, engine: Engine) -> None:
        settings: dict[str, Any] = {"C": self.C_, "tol": self.tol, "max_iter": self.max_iter}
        if self.C_ == 0:
            beta = fit_frequencies(x.shape[1], targets.values, targets.weight)
        elif self.surrogate_ == "univariate":
            beta = fit_logistic(x, targets.values.tocsc(), targets.weight, **settings, engine=engine)
        else:
            beta = fit_coupled(self.surrogate_, x, targets.values, targets.weight, **settings)
        if self.surrogate_ == "univariate":
            self.squares_ = squared_gradients(x, targets.values.tocsc(), beta, targets.weight)
        else:
            self.squares_ = coupled_squares(self.surrogate_, x, targets.values, beta, targets.weight)
        self._keep(beta)

    def _fit_scorers(self, X: Any, targets: Targets) -> None:
        self.scorer_ = self.chosen_ = type(self.scorer).__name__
        self.validation_ = {}
        self.scorers_: list[Any] = []
        self.constant_ = np.zeros(targets.values.shape[1])
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


def _refuse_large(x: Any) -> None:
    """Features that the solver's single precision cannot add up, though scaled or because they are not."""
    values = x if isinstance(x, np.ndarray) else x.data
    if values.size and np.abs(values).max() > LARGEST:
        raise InputError(
            f"features are as large as {np.abs(values).max():.3g}; scale them, or set ", Option("standardize", True)
        )


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
