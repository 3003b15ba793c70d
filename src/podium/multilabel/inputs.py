"""Features, relevance tables and weights, checked once; and what a learner does with its state around a fit."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from podium.data.validation import (
    array_of,
    floats_of,
    heaviest,
    sound_sparse,
)
from podium.errors import InputError, Option
from podium.text import counted

__all__ = [
    "finite_scores",
    "forget",
    "labels_by_rank",
    "read_features",
    "read_relevance",
    "read_weights",
    "unchanged_on_error",
]

MAX_RELEVANCE = 1e100  # sums of larger ones may overflow

LARGEST = 1e150  # feature whose square is still a number


def forget(learner: BaseEstimator) -> None:
    """Drop everything learned: the attributes that end in an underscore."""
    for name in [each for each in vars(learner) if each.endswith("_") and not each.startswith("_")]:
        delattr(learner, name)


@contextmanager
def unchanged_on_error(learner: BaseEstimator) -> Iterator[None]:
    """A call that is refused leaves the learner as it was, so that its features and labels still belong together."""
    before = dict(vars(learner))
    try:
        yield
    except BaseException:
        learner.__dict__.clear()
        learner.__dict__.update(before)
        raise


def read_features(learner: BaseEstimator, X: Any, *, reset: bool = False) -> Any:
    """Features as a table of float64 or as CSR, all finite; as many as before, unless `reset`."""
    sound_sparse(X, "X")
    try:
        X = validate_data(learner, X, accept_sparse="csr", reset=reset, dtype=np.float64, ensure_all_finite=False)
    except (ValueError, OverflowError) as problem:
        raise InputError(_word_in(X) or " ".join(str(problem).split())) from problem  # one line
    values = X.data if hasattr(X, "indptr") else X
    if values.size and not max(-values.min(), values.max()) <= LARGEST:  # NaN compares with nothing
        _refuse_value(learner, X)
    return X


def _word_in(X: Any) -> str:
    """Where a table of features holds a word, as a sentence; nothing if it does not, or is no table."""
    try:
        cells = np.asarray(X.to_numpy() if hasattr(X, "to_numpy") else X, dtype=object)
    except ValueError:
        return ""
    names = getattr(X, "columns", None)
    for (row, column), value in np.ndenumerate(cells) if cells.ndim == 2 else ():
        if isinstance(value, str) and not _is_number(value):
            feature = f"feature {column + 1}" if names is None else f"feature {str(names[column])!r}"
            return (
                f"row {row + 1}, {feature}: {value[:40]!r} is no number; "
                "give words as columns of 0 and 1, or leave them out"
            )
    return ""


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _refuse_value(learner: BaseEstimator, X: Any) -> None:
    """Name the first feature that is no number we can work with."""
    if hasattr(X, "indptr"):
        at = int(np.flatnonzero(~(np.abs(X.data) <= LARGEST))[0])
        row, column, value = int(np.searchsorted(X.indptr, at, side="right")) - 1, int(X.indices[at]), X.data[at]
    else:
        row, column = (int(each) for each in np.argwhere(~(np.abs(X) <= LARGEST))[0])
        value = X[row, column]
    names = getattr(learner, "feature_names_in_", None)
    feature = f"feature {column + 1}" if names is None else f"feature {names[column]!r}"
    if np.isfinite(value):
        raise InputError(f"row {row + 1}, {feature}: {value:.3g} is so large that its square overflows; scale it")
    shown = "NaN" if np.isnan(value) else "inf" if value > 0 else "-inf"
    raise InputError(f"Input X contains {shown}: row {row + 1}, {feature}; fill in a value or drop the row")


def finite_scores(scores: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """The scores, all of them numbers; NaN has no place in an order."""
    if not np.isfinite(scores).all():
        row, label = (int(each) for each in np.argwhere(~np.isfinite(scores))[0])
        raise InputError(
            f"row {row + 1}: the score of label {labels[label]} is {scores[row, label]}; "
            "scale the features, or look whether they are far larger than those of training"
        )
    return scores


def labels_by_rank(labels: np.ndarray, scores: np.ndarray, top: int | None) -> np.ndarray:
    """Labels of each row, best first, the smaller label first on ties; the first `top` of them if given."""
    keep = scores.shape[1] if top is None else top
    if (
        not isinstance(keep, int | float | np.number)
        or isinstance(keep, bool)
        or keep not in range(1, scores.shape[1] + 1)
    ):
        there = counted(scores.shape[1], "label")
        raise InputError(Option("top", top), f": there are {there}; choose 1 to {scores.shape[1]}")
    return np.asarray(labels[np.argsort(-scores, axis=1, kind="stable")[:, : int(keep)]])


def read_relevance(Y: Any, n_rows: int) -> tuple[Any, np.ndarray]:
    """Relevance as CSR of float64 without stored zeros, and the labels: column names, or 0..K-1."""
    from scipy import sparse

    if Y is None:
        raise InputError("this estimator requires y to be passed, but the target y is None")
    sound_sparse(Y, "y")
    names = getattr(Y, "columns", None)
    table = Y if hasattr(Y, "tocsr") else array_of(Y, "y")
    if table.dtype.kind not in "biuf":
        try:
            if table.dtype.kind in "cmMV":  # NumPy would drop the imaginary part, or count days
                raise TypeError
            table = table.astype(np.float64)
        except (TypeError, ValueError, OverflowError) as problem:
            raise InputError(
                f"relevance holds {table.dtype} values; numbers are needed: Unknown label type"
            ) from problem
    if len(table.shape) == 1:
        raise InputError("y is a vector; give one column for each label, shape (rows, labels)")
    if len(table.shape) != 2:
        raise InputError(f"y has shape {table.shape}; give one column for each label, shape (rows, labels)")
    y = sparse.csr_array(table, dtype=np.float64)  # int8 is widened here, before any scikit-learn code sees it
    if y.shape[0] != n_rows:
        raise InputError(f"X has {counted(n_rows, 'row')} but y has {y.shape[0]}; they must pair up")
    y.sum_duplicates()
    y.eliminate_zeros()
    bad = np.flatnonzero(~(np.isfinite(y.data) & (y.data > 0)))
    if bad.size:
        row = int(np.searchsorted(y.indptr, bad[0], side="right"))
        label = int(y.indices[bad[0]])
        raise InputError(
            f"row {row}, label {names[label] if names is not None else label!r}: relevance {y.data[bad[0]]:g} is not a "
            "finite number from 0 up (NaN and inf are refused)"
        )
    if y.nnz and y.data.max() > MAX_RELEVANCE:
        place = int(y.data.argmax())
        row = int(np.searchsorted(y.indptr, place, side="right"))
        raise InputError(f"row {row}: relevance {y.data[place]:g} is too large to be summed; divide all by one number")
    labels = np.arange(y.shape[1]) if names is None else np.array([str(name) for name in names])
    return y, labels


def read_weights(sample_weight: Any, n_rows: int) -> np.ndarray:
    """Row weights, 1 by default."""
    if sample_weight is None:
        return np.ones(n_rows)
    weight = floats_of("sample_weight", sample_weight)
    if weight.ndim == 0:
        weight = np.full(n_rows, float(weight))
    if weight.shape != (n_rows,):
        raise InputError(f"sample_weight has shape {weight.shape}; one weight for each row is needed, {n_rows} in all")
    if not np.isfinite(weight).all() or (weight < 0).any() or not weight.any():
        raise InputError("sample_weight must be finite and from 0 up; all weights zero leaves nothing to learn")
    heaviest(weight)
    return weight
