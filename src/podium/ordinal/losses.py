"""Losses, errors and mistake bounds of threshold models, for grades and ranges of grades."""

from __future__ import annotations

from typing import Any

import numpy as np

from podium.data.validation import MAX_MARGIN, array_of, floats_of, number_option
from podium.errors import InputError
from podium.ordinal.forms import declared_order
from podium.ordinal.labels import Array, class_list, grades_of, read_labels
from podium.text import counted

__all__ = ["accuracy", "errors", "mae", "mistake_bound", "neg_mae", "surrogate"]


def errors(y: Any, predicted: Any, *, classes: Any = None) -> Array:
    """How many grades each prediction is away from its label; 0 anywhere inside a range.

    This is the interval-insensitive absolute error L_I^MAE of Antoniuk et al. and of the paper. `classes` are the
    grades from lowest to highest; without them the grades that occur are taken, so pass them when some do not.

    >>> errors([[1, 3], [4, 4], [None, 2]], [3, 1, 5], classes=range(1, 6)).tolist()
    [0, 3, 3]
    """
    if classes is None:
        classes = declared_order(y)
    if classes is None:
        classes = grades_of(read_labels(y)[2], read_labels(predicted)[2])
    low, high, grades = read_labels(y, classes=class_list(classes, least=1))
    guesses = array_of(predicted, "predicted")
    guess, _, _ = read_labels(guesses, classes=grades)
    if len(guess) != len(low):
        raise InputError(
            f"there are {counted(len(low), 'label')} and {counted(len(guess), 'prediction')}; give one each"
        )
    away: Array = np.maximum(0, np.maximum(low - guess, guess - high))
    return away


def mae(y: Any, predicted: Any, *, classes: Any = None, sample_weight: Any = None) -> float:
    """Mean of `errors`: the mean absolute error in grades.

    >>> mae([1, 2, 3], [1, 3, 1], classes=[1, 2, 3])
    1.0
    """
    return _average(errors(y, predicted, classes=classes), sample_weight)


def accuracy(y: Any, predicted: Any, *, classes: Any = None, sample_weight: Any = None) -> float:
    """Share of predictions that hit the grade or lie inside the range.

    >>> accuracy([[1, 2], [3, 3]], [2, 1], classes=[1, 2, 3])
    0.5
    """
    return _average(errors(y, predicted, classes=classes) == 0, sample_weight)


def _average(values: Array, sample_weight: Any) -> float:
    if not len(values):
        raise InputError("there is no label, so there is nothing to average")
    if sample_weight is None:
        return float(values.mean())
    weight = floats_of("sample_weight", sample_weight, (len(values),))
    with np.errstate(over="ignore"):  # a sum beyond all numbers is refused here
        total = weight.sum()
    if not (weight >= 0).all() or not 0 < total < np.inf:
        raise InputError("sample_weight must be finite, 0 or more, and not 0 everywhere")
    return float(np.average(values, weights=weight))


def neg_mae(estimator: Any, X: Any, y: Any) -> float:
    """Scorer for scikit-learn's model selection: minus the mean absolute error in grades.

    Pass the function itself: `GridSearchCV(..., scoring=neg_mae)`. `y` may hold ranges.
    """
    if not hasattr(estimator, "predict") or not hasattr(estimator, "classes_"):
        raise InputError(f"estimator must be a fitted learner of grades, not {type(estimator).__name__}")
    return -mae(y, estimator.predict(X), classes=estimator.classes_)


def surrogate(scores: Any, thresholds: Any, low: Any, high: Any) -> Array:
    """The convex surrogate (2) of the paper, per example, for codes `low` to `high` counted from 0.

    Sum over the thresholds under the label of max(0, 1 + theta_i - score), and over those above it of
    max(0, 1 + score - theta_i). It is never less than the absolute error.

    >>> surrogate([0.0], [-2.0, 0.5], [1], [1])
    array([0.5])
    """
    loss: Array = slacks(scores, thresholds, low, high).sum(axis=1)
    return loss


def slacks(scores: Any, thresholds: Any, low: Any, high: Any) -> Array:
    """The summands of `surrogate`: the loss l_i of each threshold, (n, K - 1)."""
    z = floats_of("scores", scores, (None,))[:, None]
    theta = floats_of("thresholds", thresholds, (None,))[None, :]
    i = np.arange(theta.shape[1])
    under = i < floats_of("low", low, (len(z),))[:, None]
    over = i >= floats_of("high", high, (len(z),))[:, None]
    return np.where(under, np.maximum(0, 1 + theta - z), 0) + np.where(over, np.maximum(0, 1 + z - theta), 0)


def mistake_bound(
    variant: str, X: Any, y: Any, coef: Any, thresholds: Any, *, C: float = 0.01, classes: Any = None
) -> float:
    """What a passive-aggressive learner's losses on this sequence cannot exceed, whatever the order of the examples.

    The learner starts from zero and sees each row once, without averaging. `coef` and `thresholds` are any fixed
    classifier to compare with, its losses l*. With v = (coef, thresholds), N the largest number of thresholds outside
    a label, R the largest length of a row and T the number of rows:

    - "pa": sum l_i² <= D² (|v| + 4 N sqrt(sum l*²))², D = 1 + R² N (Theorem 4); D |v|² when no l* is positive
      (Corollary 1).
    - "pa1": sum l_i <= |v|² / 2C + sum l* + C T (N/2 + R² N²). Theorem 5 as printed has 1/2 for N/2 and one particular
      C put in; a single example of zeros with K = 10 contradicts it.
    - "pa2": sum l_i² <= (1 + 1/2C + R² N) (|v|² + 2C sum l*²) (Theorem 6, Corollary 3).

    The left sides are never less than the sum of the absolute errors.

    >>> mistake_bound("pa", [[2.0], [-2.0]], ["good", "bad"], coef=[0.5], thresholds=[0.0], classes=["bad", "good"])
    1.25
    """
    rows = floats_of("X", X.toarray() if hasattr(X, "toarray") else X, (None, None))
    if not len(rows):
        raise InputError("X has no rows, so there is nothing to bound")
    u, b = floats_of("coef", coef).ravel(), floats_of("thresholds", thresholds, (None,))
    floats_of("coef", u, (rows.shape[1],))
    low, high, grades = read_labels(y, classes=classes, rows=len(rows))
    if len(b) != len(grades) - 1 or (np.diff(b) < 0).any():
        raise InputError(
            f"{counted(len(grades), 'grade')} and thresholds {b.tolist()}; give one less, in increasing order"
        )
    C = number_option("C", C, above=0)
    if np.abs(rows).max(initial=0.0) > MAX_MARGIN:
        raise InputError(f"X holds {np.abs(rows).max():g}, too large to be squared; scale the features")
    others = slacks(rows @ u, b, low, high)
    size = float(u @ u + b @ b)
    N = len(b) - int((high - low).min())
    R2 = float((rows**2).sum(axis=1).max())
    if variant == "pa":
        D = 1 + R2 * N
        rest = float(np.sqrt((others**2).sum()))
        return D * size if rest == 0 else D**2 * (np.sqrt(size) + 4 * N * rest) ** 2
    if variant == "pa1":
        return float(size / (2 * C) + others.sum() + C * len(rows) * (N / 2 + R2 * N**2))
    if variant == "pa2":
        return float((1 + 1 / (2 * C) + R2 * N) * (size + 2 * C * (others**2).sum()))
    raise InputError(f"variant is {variant!r}; it must be 'pa', 'pa1' or 'pa2'")
