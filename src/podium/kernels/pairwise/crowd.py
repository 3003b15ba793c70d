"""Loops of rankers that weigh judges."""

import cython
from cython.cimports.libc.math import exp, fabs, log1p


def crowd_loss(
    left: cython.const[cython.int][::1],
    right: cython.const[cython.int][::1],
    judge: cython.const[cython.int][::1],
    outcome: cython.const[cython.double][::1],
    weight: cython.const[cython.double][::1],
    scores: cython.const[cython.double][::1],
    slopes: cython.const[cython.double][::1],
    by_item: cython.double[::1],
    by_judge: cython.double[::1],
) -> cython.double:
    """Σ weight·log loss where a judge's margin is slope·(score difference); adds the gradient by item and by judge."""
    k: cython.Py_ssize_t
    loss: cython.double = 0.0
    with cython.nogil:
        for k in range(left.shape[0]):
            i: cython.Py_ssize_t = left[k]
            j: cython.Py_ssize_t = right[k]
            gap: cython.double = scores[i] - scores[j]
            slope: cython.double = slopes[judge[k]]
            margin: cython.double = slope * gap
            tail: cython.double = exp(-fabs(margin))
            small: cython.double = tail / (1.0 + tail)
            chance: cython.double = 1.0 - small if margin > 0 else small
            loss += weight[k] * (log1p(tail) + (margin if margin > 0 else 0.0) - outcome[k] * margin)
            off: cython.double = weight[k] * (chance - outcome[k])
            by_item[i] += off * slope
            by_item[j] -= off * slope
            by_judge[judge[k]] += off * gap
    return loss
