"""What every ordinal estimator shares: rows and labels in, grades out, scoring with ranges."""

from __future__ import annotations

import sys
import warnings
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import _check_sample_weight, validate_data

from podium.data.validation import (
    array_of,
    check_is_fitted,
    entries_of,
    heaviest,
    sound_sparse,
)
from podium.errors import DataWarning, InputError, Option
from podium.ordinal.forms import declared_order, number_of
from podium.ordinal.labels import Array, class_list, read_labels
from podium.ordinal.losses import accuracy

__all__ = ["OrdinalClassifier", "ThresholdClassifier", "row_count", "weights_of"]


def row_count(X: Any) -> int:
    """The rows of a table of any kind."""
    shape = X.shape if hasattr(X, "shape") else (len(entries_of("X", X, "a table of numbers")),)
    if not shape:
        raise InputError(f"X is {X!r}; give a table of numbers")
    return int(shape[0])


def weights_of(sample_weight: Any, X: Any) -> Array:
    """One weight from 0 up for each row, small enough to be added up."""
    try:
        weight: Array = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
    except OverflowError as problem:  # a whole number that no float holds
        raise InputError(f"sample_weight: {problem}; divide all weights by one number") from problem
    heaviest(weight)
    return weight


class OrdinalClassifier(ClassifierMixin, BaseEstimator):
    """A classifier whose classes have an order and whose labels may be ranges."""

    classes: Any = None

    def _rows(self, X: Any, *, reset: bool, finite: bool = True) -> Any:
        """Check the rows: C-ordered doubles or singles, or canonical CSR; all finite, else the row is named.

        With `finite=False` the caller finds out while it goes over the rows anyway.
        """
        sound_sparse(X, "X")
        kinds = (np.float64, np.float32)
        try:
            X = validate_data(
                self, X, reset=reset, accept_sparse="csr", dtype=kinds, order="C", ensure_all_finite=False
            )
        except OverflowError as problem:  # a whole number that no float holds
            raise InputError(f"X: {problem}; scale the features") from problem
        if hasattr(X, "indptr") and not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
        values = X.data if hasattr(X, "indptr") else X
        with np.errstate(over="ignore", invalid="ignore"):  # the sum is a quick look only
            total = values.sum() if finite else 0.0
        if finite and not np.isfinite(total) and not np.isfinite(values).all():
            self._not_finite(X)
        return X

    def _not_finite(self, X: Any) -> None:
        if np.isfinite(X.data if hasattr(X, "indptr") else X).all():
            raise InputError("Input X contains values whose squares overflow; scale the features")
        if hasattr(X, "indptr"):
            k = int(np.flatnonzero(~np.isfinite(X.data))[0])
            row, column, value = int(np.searchsorted(X.indptr, k, side="right")) - 1, int(X.indices[k]), X.data[k]
        else:
            row, column = (int(i) for i in np.argwhere(~np.isfinite(X))[0])
            value = X[row, column]
        names = getattr(self, "feature_names_in_", None)
        feature = f"feature {column + 1}" if names is None else f"feature {names[column]!r}"
        shown = "NaN" if np.isnan(value) else "inf" if value > 0 else "-inf"
        raise InputError(f"Input X contains {shown}: row {row + 1}, {feature}; fill in a value or drop the row")

    def _labels(self, y: Any, y_lower: Any, y_upper: Any, rows: int, *, known: Array | None = None) -> Any:
        """Codes of the labels' ends. Sets `classes_`, unless the classes are known."""
        classes_known = known if known is not None else None if self.classes is None else class_list(self.classes)
        column = array_of(y, "y")
        if known is None and column.ndim == 1:
            if column.dtype.kind == "f" and np.isinf(column).any():
                row = int(np.flatnonzero(np.isinf(column))[0]) + 1
                raise InputError(f"Input y contains infinity or a value too large for dtype('float64'): row {row}")
            if column.dtype.kind == "f" and classes_known is None and not np.isnan(column).any():
                _refuse_measurements(column)
        low, high, classes = read_labels(y, y_lower, y_upper, classes=classes_known, rows=rows)
        if known is None:
            if classes_known is None and declared_order(y, y_lower, y_upper) is None:
                _say_order(classes)
            self._set_classes(classes)
        return low, high

    def _set_classes(self, classes: Array) -> None:
        if len(classes) < 2:
            raise InputError(
                f"there is only one class, {classes.tolist()[0]!r}; a grade can be learned from two classes on"
            )
        self.classes_ = classes

    def _say_if_one_grade(self, X: Any, low: Array, high: Array) -> None:
        """Warn where every row, checked before, gets the same grade although no grade suits all labels."""
        if not len(low) or low.max() <= high.min():
            return
        grades = self.classes_[self._grades(X)]
        if (grades == grades[0]).all():
            warnings.warn(
                f"the model predicts {grades[:1].tolist()[0]!r} for every row it was fitted on: these features say too "
                "little about the grades, or there are too few rows",
                DataWarning,
                stacklevel=_callers_level(),
            )

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Share of predictions that hit the grade or lie inside the range; `y` is (n,) or (n, 2).

        `predict` is scored; `predict_median`, where there is one, errs by the fewest grades. For minus the mean
        absolute error pass `scoring=podium.ordinal.neg_mae` to scikit-learn's model selection.
        """
        return accuracy(y, self.predict(X), classes=self.classes_, sample_weight=sample_weight)

    def predict(self, X: Any) -> Array:
        """The grade of each row."""
        check_is_fitted(self)
        grades: Array = self.classes_[self._grades(self._rows(X, reset=False))]
        return grades

    def _grades(self, X: Any) -> Array:
        raise NotImplementedError

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        # One direction cannot part scikit-learn's blobs of three classes that lie in no order.
        tags.classifier_tags.poor_score = True
        return tags


class ThresholdClassifier(OrdinalClassifier):
    """A direction and sorted thresholds: grade i when thresholds_[i-1] <= w·x < thresholds_[i]."""

    coef_: Array
    thresholds_: Array

    def predict_median(self, X: Any) -> Array:
        """The middle grade of each row, which errs by the fewest grades: where the score lies among the thresholds."""
        check_is_fitted(self)
        grades: Array = self.classes_[self._grades(self._rows(X, reset=False))]
        return grades

    def project(self, X: Any) -> Array:
        """The score w·x of each row: where it lies on the axis that the thresholds cut."""
        check_is_fitted(self)
        return self._project(self._rows(X, reset=False))

    def _project(self, X: Any) -> Array:
        return np.asarray(X @ self.coef_, dtype=float)

    def _grades(self, X: Any) -> Array:
        return np.searchsorted(self.thresholds_, self._project(X), side="right")

    def decision_function(self, X: Any) -> Array:
        """Signed distance of each row's score to each grade's stretch of the axis, (n, K); positive inside.

        With two grades, (n,): the score less the threshold. The largest entry, or the sign, is what `predict` says.
        """
        scores = self.project(X)
        theta = self.thresholds_
        if len(theta) == 1:
            gap: Array = scores - theta[0]
            gap[gap == 0] = np.nextafter(0, 1)  # on the threshold, `predict` takes the upper grade
            return gap
        above = scores[:, None] - np.concatenate([[-np.inf], theta])
        below = np.concatenate([theta, [np.inf]]) - scores[:, None]
        inside: Array = np.minimum(above, below)
        # On a threshold, two or more grades are at distance 0 and `predict` takes the upper one: so must argmax.
        grade = np.searchsorted(theta, scores, side="right")
        rows = np.arange(len(scores))
        best = inside[rows, grade][:, None]
        tied = inside >= best
        tied[rows, grade] = False
        inside[tied] = np.broadcast_to(np.nextafter(best, -np.inf), inside.shape)[tied]
        return inside


def _callers_level() -> int:
    """How far up the user's own line is, for warnings."""
    level, frame = 2, sys._getframe(2)
    while frame.f_back is not None and str(frame.f_globals.get("__name__", "")).startswith("podium.ordinal"):
        level, frame = level + 1, frame.f_back
    return level


def _refuse_measurements(column: Array) -> None:
    """Numbers with a fraction are grades only where somebody says so; scikit-learn expects the first words."""
    broken = np.flatnonzero(column % 1 > 0)
    if len(broken):
        row = int(broken[0])
        raise InputError(
            f"Unknown label type: row {row + 1} is {column[row]:g}, no whole number. If these are grades, such as half "
            "marks, name them from lowest to highest by ", Option("classes"), "; if they are measurements, cut them "
            "into grades first",
        )  # fmt: skip


def _say_order(classes: Array) -> None:
    """Words have no order of their own: say which was taken."""
    grades = classes.tolist()
    if all(isinstance(grade, str) for grade in grades) and any(number_of(grade) is None for grade in grades):
        shown = " < ".join(grades if len(grades) <= 8 else [*grades[:4], "…", *grades[-2:]])
        warnings.warn(
            DataWarning(
                f"the grades are words, taken in the order of the alphabet: {shown}; "
                "name them from lowest to highest by ",
                Option("classes"),
                ", or pass an ordered Categorical",
            ),
            stacklevel=_callers_level(),
        )
