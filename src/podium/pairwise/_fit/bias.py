"""Firth's bias reduction: with few votes a parameter, likelihood exaggerates scores and effects; this takes it back.

Firth (1993) adds ½ log det of the information to the log-likelihood (Jeffreys' prior). For a logistic model that is the
likelihood of a few votes more: each row gets hₖ of them, half won by either side, where hₖ is its share of the
parameters (its leverage, curvature times the variance of its margin; they sum to the number of parameters). Leverages
depend on the optimum, so that the two are found in turn. All estimates are finite, also of an item that only won.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from podium.pairwise._fit.likelihoods import LogisticRows
from podium.pairwise._fit.solvers import Rows, Solution, evaluate

__all__ = ["MAX_ITEMS", "reduce_bias"]

Floats = NDArray[np.float64]
Fit = Callable[[LogisticRows, Solution | None], Solution]

MAX_ITEMS = 2000  # leverages need a matrix of all items
MAX_ROUNDS = 200
FIRST_LEVERAGE = 0.2  # of a row, to begin with


def reduce_bias(rows: Rows, loss: LogisticRows, fit: Fit, *, l2: float, tol: float, worth: float) -> Solution:
    """The bias-reduced optimum. `fit(loss, near)` finds that of a loss; a weight of 1 is `worth` so many votes."""
    more, found = np.full(len(loss.total), FIRST_LEVERAGE / worth), None
    for _ in range(MAX_ROUNDS):
        before, found = found, fit(LogisticRows(loss.points + 0.5 * more, loss.total + more), found)
        if not found.converged or (before is not None and _distance(before, found) <= tol):
            break
        more = _leverages(rows, loss, found, l2) / worth
    assert found is not None, "there is one round at least"
    return found


def _distance(one: Solution, other: Solution) -> float:
    off = np.concatenate([one.scores - other.scores, one.extras - other.extras])
    return float(np.abs(off).max())


def _leverages(rows: Rows, loss: LogisticRows, at: Solution, l2: float) -> Floats:
    """Curvature of each row times the variance of its margin."""
    point = evaluate(rows, loss, l2, at.scores, at.extras)
    n, p = rows.n, len(at.extras)
    across = np.bincount(rows.left.astype(np.int64) * n + rows.right, point.curvature, n * n).reshape(n, n)
    across = across + across.T
    hessian = np.empty((n + p, n + p))
    hessian[:n, :n] = np.diag(across.sum(axis=1) + 2.0 * l2) - across
    hessian[:n, :n] += hessian.diagonal()[:n].mean() / n  # holds the common shift, which no margin feels
    hessian[:n, n:], hessian[n:, :n], hessian[n:, n:] = point.border, point.border.T, point.corner
    inverse = np.linalg.inv(hessian)
    left, right, own = rows.left, rows.right, inverse.diagonal()
    variance = own[left] + own[right] - 2.0 * inverse[left, right]
    if rows.design is not None:
        variance = variance + 2.0 * np.einsum("kp,kp->k", rows.design, inverse[left, n:] - inverse[right, n:])
        variance = variance + np.einsum("kp,pq,kq->k", rows.design, inverse[n:, n:], rows.design)
    leverages: Floats = point.curvature * variance
    return leverages
