"""Quasi-variances: one number an item from which the error of any difference follows, as near as can be.

Firth and de Menezes (2004): numbers q with q_i + q_j ≈ var(u_i − u_j) for all pairs, found by least squares on the
logarithms. Two items then differ by about √(q_i + q_j), whatever is held fixed, so that a table or a picture needs no
matrix.
"""

from __future__ import annotations

import numpy as np

from podium.errors import ConvergenceError, InputError

__all__ = ["quasi_variances"]

MAX_STEPS = 200
TOL = 1e-10


def quasi_variances(matrix: np.ndarray) -> tuple[np.ndarray, float]:
    """Return the quasi-variances of a covariance matrix, and the largest relative error of a difference's std error.

    With three items or fewer the fit is exact. A quasi-variance may be negative, as long as all sums are positive.

    Examples
    --------
    Independent estimates are their own quasi-variances:

    >>> q, error = quasi_variances(np.diag([0.1, 0.2, 0.4, 0.3]))
    >>> q.round(6).tolist(), round(error, 6)
    ([0.1, 0.2, 0.4, 0.3], 0.0)
    """
    n = len(matrix)
    if n < 2:
        raise InputError("quasi-variances are about differences: at least two items are needed")
    variance = matrix.diagonal()
    i, j = np.triu_indices(n, 1)
    wanted = variance[i] + variance[j] - 2 * matrix[i, j]
    if not (np.isfinite(wanted).all() and (wanted > 0).all()):
        raise InputError("quasi-variances need an error of every difference that is finite and not 0")
    if n == 2:
        return np.full(2, wanted[0] / 2), 0.0
    least = _least(n, i, j, wanted)
    q = _start(n, i, j, wanted, least)
    misfit = _misfit(q, i, j, wanted)
    damping, nothing = 1e-3, len(wanted) * np.finfo(float).eps ** 2  # gained where sums are as near as they round
    for _ in range(MAX_STEPS):
        total = q[i] + q[j]
        off = np.log(total / wanted)
        gradient = np.bincount(i, off / total, n) + np.bincount(j, off / total, n)
        hessian = np.zeros((n, n))
        hessian[i, j] = hessian[j, i] = 1 / total**2
        hessian[np.diag_indices(n)] = hessian.sum(axis=1)
        damped = hessian + damping * np.diag(hessian.diagonal())
        step = np.linalg.solve(damped, gradient)
        there = _misfit(q - step, i, j, wanted)
        if there <= misfit:
            q, misfit, damping = q - step, there, damping / 10
        else:
            damping *= 10
        if (np.abs(step) <= TOL * least).all() or gradient @ step <= nothing:
            break
    else:
        raise ConvergenceError(f"no quasi-variances in {MAX_STEPS} steps: the errors of differences vary too much")
    return q, float(np.abs(np.sqrt((q[i] + q[j]) / wanted) - 1).max())


def _least(n: int, i: np.ndarray, j: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """The smallest variance of a difference that each item takes part in: the scale on which its own counts."""
    least = np.full(n, np.inf)
    np.minimum.at(least, i, wanted)
    np.minimum.at(least, j, wanted)
    return least


def _start(n: int, i: np.ndarray, j: np.ndarray, wanted: np.ndarray, least: np.ndarray) -> np.ndarray:
    """Plain least squares of the variances themselves, in closed form; held above 0 where that is nearer."""
    sums = np.bincount(i, wanted, n) + np.bincount(j, wanted, n)
    plain = (sums - wanted.sum() / (n - 1)) / (n - 2)
    return min(plain, np.maximum(plain, 0.05 * least), key=lambda q: _misfit(q, i, j, wanted))


def _misfit(q: np.ndarray, i: np.ndarray, j: np.ndarray, wanted: np.ndarray) -> float:
    total = q[i] + q[j]
    return float(np.sum(np.log(total / wanted) ** 2)) if (total > 0).all() else np.inf
