"""Baselines in the same shape: the multi-class perceptron, which knows no order, and the constant median."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from podium.data.validation import check_is_fitted
from podium.errors import InputError
from podium.kernels.ordinal import perceptron as kernel
from podium.ordinal.base import OrdinalClassifier, weights_of
from podium.ordinal.labels import Array
from podium.ordinal.online import EMPTY, NO_GRADES, NO_ORDER, OnlineClassifier, row_arrays

__all__ = ["MedianBaseline", "OrdinalPerceptron"]


class OrdinalPerceptron(OnlineClassifier):
    """The multi-class perceptron: one prototype and intercept a grade, no order among the grades.

    A wrong prediction subtracts the example from the winning prototype and adds it to the best one that the label
    allows. What it loses to the threshold models is what knowing the order is worth.

    Parameters are those of `PassiveAggressiveOrdinal` without C; `sample_weight` scales the step. `standardize` puts
    the features on one scale on the way, so that their units do not matter.

    Attributes
    ----------
    coef_ : (K, n_features), intercept_ : (K,), classes_, n_updates_, n_seen_, mae_

    References
    ----------
    Crammer and Singer, "Ultraconservative online algorithms for multiclass problems", JMLR 3 (2003).

    Examples
    --------
    >>> OrdinalPerceptron(random_state=0).fit([[-2.0], [0.0], [2.0]], [1, 2, 3]).predict([[-3.0], [3.0]]).tolist()
    [1, 3]
    """

    def __init__(
        self,
        *,
        average: bool = False,
        standardize: bool = True,
        classes: Any = None,
        max_iter: int = 10,
        tol: float | None = 1e-3,
        shuffle: bool = True,
        random_state: Any = None,
        warm_start: bool = False,
    ) -> None:
        self.average = average
        self.standardize = standardize
        self.classes = classes
        self.max_iter = max_iter
        self.tol = tol
        self.shuffle = shuffle
        self.random_state = random_state
        self.warm_start = warm_start

    def fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, y_lower: Any = None, y_upper: Any = None
    ) -> Self:
        """Learn from a table: labels (n,), (n, 2), or `y_lower=` and `y_upper=`."""
        return self._fit(X, y, y_lower, y_upper, sample_weight)

    def partial_fit(
        self,
        X: Any,
        y: Any = None,
        classes: Any = None,
        sample_weight: Any = None,
        *,
        y_lower: Any = None,
        y_upper: Any = None,
    ) -> Self:
        """Learn from these rows once, in their order."""
        return self._partial_fit(X, y, classes, y_lower, y_upper, sample_weight)

    @property
    def coef_(self) -> Array:
        """One prototype a grade, (K, n_features)."""
        prototypes = self._mean()[:, :-1]
        return prototypes if self._scale is None else prototypes * self._scale.factor

    @property
    def intercept_(self) -> Array:
        """Intercept of each grade, in the units of the data."""
        intercept: Array = self._mean()[:, -1]
        return intercept if self._scale is None else intercept - self.coef_ @ self._scale.origin

    def decision_function(self, X: Any) -> Array:
        """Score of each grade, (n, K); with two grades the second's less the first's, (n,)."""
        check_is_fitted(self)
        scores = self._scores(self._rows(X, reset=False))
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    def _mean(self) -> Array:
        check_is_fitted(self)
        return self._W - self._lag / max(self.n_seen_, 1) if len(self._lag) else self._W.copy()

    def _scores(self, X: Any) -> Array:
        return np.asarray(X @ self.coef_.T) + self.intercept_

    def _grades(self, X: Any) -> Array:
        return np.asarray(self._scores(X).argmax(axis=1))

    def _start(self, n_features: int) -> None:
        shape = (len(self.classes_), n_features + 1)
        self._W = np.zeros(shape)
        self._lag = np.zeros(shape) if self.average else np.zeros((0, n_features + 1))

    def _standardizes(self) -> bool:
        return bool(self.standardize)

    def _strength(self, weight: Array | None) -> Array:
        return np.ones(1) if weight is None else weight

    def _pass(
        self, X: Any, low: Array, high: Array, strength: Array, order: Array, predicted: Array, totals: Array
    ) -> int:
        scores = np.empty(len(self.classes_))
        state = (low, high, strength, order, self._W, self._lag, scores, predicted, totals, self.n_seen_)
        return int(kernel.learn_rows(*row_arrays(X), *state))

    def _learn(self, x: Array, low: int, high: int, weight: float = 1.0) -> int:
        if not np.isfinite(x).all():
            raise InputError("the example contains NaN or inf; fill in a value or leave the example out")
        totals = np.zeros(2)
        codes = (np.array([low], np.int32), np.array([high], np.int32))
        updates = self._pass(x[None], *codes, np.full(1, weight), NO_ORDER, NO_GRADES, totals)
        return int(totals[0]) if updates else -1

    def _grade(self, x: Array) -> int:
        if not np.isfinite(x).all():
            raise InputError("the example contains NaN or inf; fill in a value or leave the example out")
        return int(self._scores(x[None]).argmax())


class MedianBaseline(OrdinalClassifier):
    """Always the same grade: the one with the least mean absolute error, a weighted median of the labels.

    For ranges it is the grade with the least interval error. What a model must beat before its features mean anything.

    Attributes
    ----------
    grade_ : the grade, classes_

    Examples
    --------
    >>> MedianBaseline().fit([[0.0]] * 4, [1, 2, 3, 3]).predict([[9.0]]).tolist()
    [2]
    """

    def __init__(self, *, classes: Any = None) -> None:
        self.classes = classes

    def fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, y_lower: Any = None, y_upper: Any = None
    ) -> Self:
        """Find the grade; X is checked but not used."""
        X = self._rows(X, reset=True)
        low, high = self._labels(y, y_lower, y_upper, X.shape[0])
        weight = EMPTY
        if sample_weight is not None:
            weight = weights_of(sample_weight, X)
        grade = np.arange(len(self.classes_))[:, None]
        distance = np.maximum(0, np.maximum(low - grade, grade - high))
        self._best = int((distance @ weight if len(weight) else distance.sum(axis=1)).argmin())
        self.grade_ = self.classes_[self._best]
        return self

    def _grades(self, X: Any) -> Array:
        return np.full(X.shape[0], self._best)
