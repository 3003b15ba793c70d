"""Firth's bias reduction: with few votes a parameter, likelihood exaggerates scores and effects; this takes it back.

Firth (1993) adds ½ log det of the information to the log-likelihood (Jeffreys' prior). For a logistic model that is the
likelihood of a few votes more: each row gets hₖ of them, half won by either side, where hₖ is its share of the
parameters (its leverage, curvature times the variance of its margin; they sum to the number of parameters). With ties
as outcomes of their own each outcome gets half its own leverage (Kosmidis and Firth 2011): N·p·yᵀWy, with p its chance,
y what it adds to the statistics of the row (half a win, a tie) less the mean, and W the covariance of margin and log ν.
Leverages depend on the optimum, so that the two are found in turn. All estimates are finite, also of an item that only
won.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from podium.pairwise._fit.likelihoods import DavidsonRows, LogisticRows
from podium.pairwise._fit.solvers import Rows, Solution, evaluate

__all__ = ["MAX_ITEMS", "leverages", "reduce_bias", "with_more"]

Floats = NDArray[np.float64]
RowLosses = LogisticRows | DavidsonRows
Fit = Callable[[RowLosses, Solution | None], Solution]

MAX_ITEMS = 2000  # leverages need a matrix of all items
MAX_ROUNDS = 200
FIRST_LEVERAGE = 0.2  # of a row, to begin with


def reduce_bias(
    rows: Rows, loss: RowLosses, fit: Fit, *, l2: float, tol: float, worth: float, near: Solution | None = None
) -> Solution:
    """The bias-reduced optimum. `fit(loss, near)` finds that of a loss; a weight of 1 is `worth` so many votes."""
    found = near
    if near is None:
        found = fit(with_more(loss, np.full((3, len(rows.left)), FIRST_LEVERAGE / 3.0 / worth)), None)
    for _ in range(MAX_ROUNDS):
        assert found is not None, "there is one to begin with"
        if not found.converged:
            break
        before, found = found, fit(with_more(loss, leverages(rows, loss, found, l2) / worth), found)
        if _distance(before, found) <= tol:
            break
    assert found is not None, "there is one round at least"
    return found


def with_more(loss: RowLosses, added: Floats) -> RowLosses:
    """The loss with half the leverage of every outcome added to its votes; ties are last."""
    win, lost, tie = 0.5 * added
    if isinstance(loss, DavidsonRows):
        return DavidsonRows(loss.wins + win, loss.losses + lost, loss.ties + tie)
    return LogisticRows(loss.points + win + 0.5 * tie, loss.total + win + lost + tie)


def _distance(one: Solution, other: Solution) -> float:
    off = np.concatenate([one.scores - other.scores, one.extras - other.extras])
    return float(np.abs(off).max())


def leverages(rows: Rows, loss: RowLosses, at: Solution, l2: float) -> Floats:
    """Of a left win, a right win and a tie of every row, (3, rows)."""
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
    design = np.empty((len(left), 0)) if rows.design is None else rows.design
    effects = slice(n, n + design.shape[1])
    variance = variance + 2.0 * np.einsum("kp,kp->k", design, inverse[left, effects] - inverse[right, effects])
    variance = variance + np.einsum("kp,pq,kq->k", design, inverse[effects, effects], design)
    if isinstance(loss, LogisticRows):  # half to either side: what is in proportion to the chances changes no optimum
        both: Floats = point.curvature * variance
        return np.stack([both, both, np.zeros_like(both)])
    mixed = inverse[left, -1] - inverse[right, -1] + design @ inverse[effects, -1]
    return loss.outcome_leverages(rows.margin(at.scores, at.extras), at.extras, variance, mixed, float(own[-1]))
