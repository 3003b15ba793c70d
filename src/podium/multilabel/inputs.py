"""Relevance tables and weights, checked once."""

from __future__ import annotations

from typing import Any

import numpy as np

from podium.errors import InputError

__all__ = ["read_relevance", "read_weights"]


def read_relevance(Y: Any, n_rows: int) -> tuple[Any, np.ndarray]:
    """Relevance as CSR of float64 without stored zeros, and the labels: column names, or 0..K-1."""
    from scipy import sparse

    if Y is None:
        raise InputError("this estimator requires y to be passed, but the target y is None")
    names = getattr(Y, "columns", None)
    table = Y if hasattr(Y, "tocsr") else np.asarray(Y)
    if not hasattr(table, "tocsr") and table.dtype.kind not in "biuf":
        try:
            table = table.astype(np.float64)
        except (TypeError, ValueError) as problem:
            raise InputError(
                f"relevance holds {table.dtype} values; numbers are needed: Unknown label type"
            ) from problem
    if len(table.shape) == 1:
        raise InputError("y is a vector; give one column for each label, shape (rows, labels)")
    y = sparse.csr_array(table, dtype=np.float64)  # int8 is widened here, before any scikit-learn code sees it
    if y.shape[0] != n_rows:
        raise InputError(f"X has {n_rows} rows but y has {y.shape[0]}; they must pair up")
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
    labels = np.arange(y.shape[1]) if names is None else np.array([str(name) for name in names])
    return y, labels


def read_weights(sample_weight: Any, n_rows: int) -> np.ndarray:
    """Row weights, 1 by default."""
    if sample_weight is None:
        return np.ones(n_rows)
    weight = np.asarray(sample_weight, dtype=np.float64)
    if weight.ndim == 0:
        weight = np.full(n_rows, float(weight))
    if weight.shape != (n_rows,):
        raise InputError(f"sample_weight has shape {weight.shape}; one weight for each of the {n_rows} rows is needed")
    if not np.isfinite(weight).all() or (weight < 0).any() or not weight.any():
        raise InputError("sample_weight must be finite and from 0 up; all weights zero leaves nothing to learn")
    return weight
