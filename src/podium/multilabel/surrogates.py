"""Losses that couple the labels of a row: softmax over the labels, and logistic on pairs of them.

They are not the default: for the losses that have a target (see `targets`) they miss the best ranking even with endless
data. On small data pairs can still do better.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from podium.errors import ConvergenceError, InPython, Option
from podium.kernels.multilabel.linear import pairwise_logistic
from podium.multilabel.linear import Design

__all__ = ["SURROGATES", "coupled_squares", "fit_coupled"]

Value = Callable[[np.ndarray, np.ndarray, np.ndarray], tuple[float, np.ndarray]]


def _softmax(margin: np.ndarray, target: np.ndarray, weight: np.ndarray) -> tuple[float, np.ndarray]:
    """Pick-all-labels: Σ_i t_i (log Σ_j e^{m_j} − m_i)."""
    top = margin.max(axis=1, keepdims=True)
    e = np.exp(margin - top)
    size = e.sum(axis=1, keepdims=True)
    mass = target.sum(axis=1, keepdims=True)
    value = mass * (top + np.log(size)) - (target * margin).sum(axis=1, keepdims=True)
    return float(weight @ value[:, 0]), weight[:, None] * (mass * e / size - target)


def _softmax_normalised(margin: np.ndarray, target: np.ndarray, weight: np.ndarray) -> tuple[float, np.ndarray]:
    """The same with the targets of a row adding up to 1."""
    mass = target.sum(axis=1, keepdims=True)
    return _softmax(margin, np.divide(target, mass, out=np.zeros_like(target), where=mass > 0), weight)


def _pairwise(margin: np.ndarray, target: np.ndarray, weight: np.ndarray) -> tuple[float, np.ndarray]:
    """Mean over pairs t_i > t_j of log(1 + e^{m_j − m_i})."""
    residual = np.zeros(margin.shape)
    return pairwise_logistic(np.ascontiguousarray(margin), target, weight, residual), residual


SURROGATES: dict[str, Value] = {
    "softmax": _softmax,
    "softmax-normalised": _softmax_normalised,
    "pairwise": _pairwise,
}


def fit_coupled(
    surrogate: str,
    x: Design,
    target: Any,
    weight: np.ndarray,
    *,
    C: float,
    tol: float,
    max_iter: int,
    start: np.ndarray | None = None,
) -> np.ndarray:
    """Coefficients (features + 1, labels) that minimise a coupled surrogate plus |β|² / 2C, by L-BFGS."""
    from scipy.optimize import minimize

    goal = np.ascontiguousarray(target.toarray())
    shape = (x.shape[1] + 1, goal.shape[1])
    total = weight.sum()

    def objective(flat: np.ndarray) -> tuple[float, np.ndarray]:
        beta = np.ascontiguousarray(flat.reshape(shape))
        value, residual = SURROGATES[surrogate](x.forward(beta), goal, weight)
        gradient = x.backward(np.ascontiguousarray(residual))
        with np.errstate(over="ignore"):  # under a penalty beyond all numbers the search goes back to zero
            gradient[:-1] += beta[:-1] / C
            value += 0.5 * np.square(beta[:-1]).sum() / C + 0.5e-6 * np.square(beta[-1]).sum()
        gradient[-1] += 1e-6 * beta[-1]  # a common shift of all intercepts changes no ranking; this fixes it
        return value / total, gradient.reshape(-1) / total

    optimum = minimize(
        objective, np.zeros(shape[0] * shape[1]) if start is None else start.reshape(-1), jac=True, method="L-BFGS-B",
        options={"maxiter": max_iter * 10, "gtol": tol, "ftol": 1e-12},
    )  # fmt: skip
    if not optimum.success:
        raise ConvergenceError(
            f"{surrogate}: no optimum in {max_iter * 10} steps; lower ",
            Option("C"),
            " or scale the features",
            InPython(" (or max_iter=, tol=)"),
        )
    return np.asarray(optimum.x.reshape(shape))


def coupled_squares(surrogate: str, x: Design, target: Any, beta: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Σ over examples of the squared gradient of each coefficient, as `linear.squared_gradients`."""
    _, residual = SURROGATES[surrogate](x.forward(beta), np.ascontiguousarray(target.toarray()), weight)
    return x.diagonal(np.square(residual).astype(np.float32))
