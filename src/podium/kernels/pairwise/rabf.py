"""Loops of rank aggregation with features: one pass over the rows for slopes and curvature."""

import cython
from cython.cimports.libc.math import exp, fabs


def logistic_by_item(
    left: cython.const[cython.int][::1],
    right: cython.const[cython.int][::1],
    points: cython.const[cython.double][::1],
    total: cython.const[cython.double][::1],
    scores: cython.const[cython.double][::1],
    curvature: cython.double[::1],
    slopes: cython.double[::1],
    diagonal: cython.double[::1],
) -> None:
    """Fill each row's curvature; add the slope of the log loss, and the curvature, to each row's two items."""
    k: cython.Py_ssize_t
    with cython.nogil:
        for k in range(left.shape[0]):
            i: cython.Py_ssize_t = left[k]
            j: cython.Py_ssize_t = right[k]
            margin: cython.double = scores[i] - scores[j]
            tail: cython.double = exp(-fabs(margin))  # at most 1, so nothing overflows
            small: cython.double = tail / (1.0 + tail)
            chance: cython.double = 1.0 - small if margin > 0 else small
            slope: cython.double = total[k] * chance - points[k]
            bend: cython.double = total[k] * small * (1.0 - small)
            curvature[k] = bend
            slopes[i] += slope
            slopes[j] -= slope
            diagonal[i] += bend
            diagonal[j] += bend
