"""Penalised logistic regressions for many labels at once: Newton steps by conjugate gradients on blocks of labels.

For each label: minimise Σ_i w_i (log(1 + e^m) − t m) + |β|² / 2C with m = x_i β + intercept. All labels share x, so one
pass over a sparse x serves a block of them: products run over contiguous labels instead of scattered features. Sparse
problems start from a few sweeps of dual coordinate descent. Directions are found in single precision, gradients and
losses are kept in double: the optimum is as exact as `tol` asks.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np

from podium.engine import Engine, Serial
from podium.errors import ConvergenceError, InPython, Option
from podium.kernels.multilabel.linear import backward, curve, dual_sweeps, forward, logistic
from podium.text import counted

__all__ = ["CERTAIN", "Dense", "Design", "Sparse", "design", "fit_frequencies", "fit_logistic", "squared_gradients"]

BLOCK = 64  # labels at a time: a block of directions stays in cache
CERTAIN = 15.0  # log-odds of a label that is always, or never, relevant
STIFF = 1e30  # a penalty under which coefficients are 0 to the last digit; single precision holds it
EASY = 1e100  # a tolerance that everything meets; a larger one overflows
SWEEPS = 6  # of dual coordinate descent before the first Newton step


class Design(Protocol):
    """The examples, as the solver needs them."""

    shape: tuple[int, int]

    def forward(self, weights: np.ndarray) -> np.ndarray: ...

    def backward(self, residual: np.ndarray) -> np.ndarray: ...

    def curve(self, curvature: np.ndarray, vector: np.ndarray) -> np.ndarray: ...

    def diagonal(self, curvature: np.ndarray) -> np.ndarray: ...

    def start(self, target: np.ndarray, weight: np.ndarray, ridge: float) -> np.ndarray: ...


class Sparse:
    """Examples in CSR; see kernels/multilabel/linear.py."""

    def __init__(self, x: Any) -> None:
        self.shape = x.shape
        self.indptr = np.ascontiguousarray(x.indptr, dtype=np.int32)
        self.indices = np.ascontiguousarray(x.indices, dtype=np.int32)
        self.data = np.ascontiguousarray(x.data, dtype=np.float64)
        self.single = self.data.astype(np.float32)
        self.square = np.square(self.single)
        self.norms = np.asarray(x.multiply(x).sum(axis=1), dtype=np.float64).reshape(-1)
        self.order = np.random.default_rng(0).permutation(self.shape[0]).astype(np.int32)

    def forward(self, weights: np.ndarray) -> np.ndarray:
        out = np.empty((self.shape[0], weights.shape[1]))
        forward(self.indptr, self.indices, self.data, weights, out)
        return out

    def backward(self, residual: np.ndarray) -> np.ndarray:
        out = np.zeros((self.shape[1] + 1, residual.shape[1]))
        backward(self.indptr, self.indices, self.data, residual, out)
        return out

    def curve(self, curvature: np.ndarray, vector: np.ndarray) -> np.ndarray:
        out = np.zeros_like(vector)
        curve(self.indptr, self.indices, self.single, curvature, vector, np.empty(vector.shape[1], np.float32), out)
        return out

    def diagonal(self, curvature: np.ndarray) -> np.ndarray:
        out = np.zeros((self.shape[1] + 1, curvature.shape[1]), dtype=np.float32)
        backward(self.indptr, self.indices, self.square, curvature, out)
        return out

    def start(self, target: np.ndarray, weight: np.ndarray, ridge: float) -> np.ndarray:
        """A few sweeps over the dual, label by label, with the intercept lightly penalised."""
        out = np.zeros((self.shape[1] + 1, target.shape[1]))
        cost = weight / ridge
        for label in range(target.shape[1]):
            goal = np.ascontiguousarray(target[:, label])
            one, wait, rest = np.zeros(len(out)), np.zeros(len(goal), np.int32), np.zeros(len(goal), np.int32)
            dual_sweeps(
                self.indptr, self.indices, self.data, self.norms, self.order, goal, cost, SWEEPS, 1e-3, 20.0,
                goal.copy(), wait, rest, one,
            )  # fmt: skip
            out[:, label] = one
        return out


class Dense:
    """Examples in a table; products are BLAS calls."""

    def __init__(self, x: np.ndarray) -> None:
        self.shape = (int(x.shape[0]), int(x.shape[1]))
        self.x = np.column_stack([x, np.ones(len(x))]).astype(np.float64)
        self.single = self.x.astype(np.float32)

    def forward(self, weights: np.ndarray) -> np.ndarray:
        return np.asarray(self.x @ weights)

    def backward(self, residual: np.ndarray) -> np.ndarray:
        return np.asarray(self.x.T @ residual)

    def curve(self, curvature: np.ndarray, vector: np.ndarray) -> np.ndarray:
        return np.asarray(self.single.T @ (curvature * (self.single @ vector)))

    def diagonal(self, curvature: np.ndarray) -> np.ndarray:
        return np.asarray(np.square(self.single).T @ curvature)

    def start(self, target: np.ndarray, weight: np.ndarray, ridge: float) -> np.ndarray:
        """Zero, with the intercept of the mean."""
        share = np.clip((weight @ target) / weight.sum(), 1e-6, 1 - 1e-6)
        out = np.zeros((self.shape[1] + 1, target.shape[1]))
        out[-1] = np.log(share / (1 - share))
        return out


def design(x: Any) -> Design:
    """Examples of either kind for the solver."""
    return Sparse(x.tocsr()) if hasattr(x, "tocsr") else Dense(np.asarray(x, dtype=np.float64))


def fit_logistic(
    x: Design,
    targets: Any,
    weight: np.ndarray,
    *,
    C: float = 1.0,
    tol: float = 1e-4,
    max_iter: int = 100,
    start: np.ndarray | None = None,
    engine: Engine | None = None,
) -> np.ndarray:
    """Coefficients (features + 1, labels), the last row the intercept, which is not penalised.

    `targets` (rows, labels) are sparse, by column. A label is done when no entry of its gradient exceeds `tol` times
    the total weight. The search begins at `start`, the coefficients of another fit, if given. Labels know nothing of
    each other, so that an `engine` may share them out, in the blocks they are solved in here: bits stay the same.
    """
    out = np.zeros((x.shape[1] + 1, targets.shape[1]))

    def blocks() -> Iterator[tuple[np.ndarray, np.ndarray | None]]:
        for labels in _blocks(targets):
            yield _dense(targets, labels), None if start is None else np.ascontiguousarray(start[:, labels])

    solved = (engine or Serial()).map(_fit_block, blocks(), x, weight, min(1 / C, STIFF), tol, max_iter)
    for labels, beta in zip(_blocks(targets), solved, strict=True):
        out[:, labels] = beta
    return out


def fit_frequencies(n_features: int, targets: Any, weight: np.ndarray) -> np.ndarray:
    """The same for features that say nothing: log-odds of each label's mean target, and no slopes."""
    share = np.asarray(weight @ targets).reshape(-1) / weight.sum()
    out = np.zeros((n_features + 1, targets.shape[1]))
    with np.errstate(divide="ignore"):
        out[-1] = np.clip(np.log(share) - np.log1p(-np.minimum(share, 1.0)), -CERTAIN, CERTAIN)
    return out


def squared_gradients(x: Design, targets: Any, beta: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Σ over examples of the squared gradient of each coefficient: what AdaGrad would have added up on the way."""
    out = np.empty(beta.shape, dtype=np.float32)
    for labels in _blocks(targets):
        margin = x.forward(np.ascontiguousarray(beta[:, labels]))
        _, residual, _ = _logistic(margin, _dense(targets, labels), weight)
        out[:, labels] = x.diagonal(np.square(residual).astype(np.float32))
    return out


def _blocks(targets: Any) -> Iterator[slice]:
    """Labels, some at a time."""
    return (slice(first, first + BLOCK) for first in range(0, targets.shape[1], BLOCK))


def _dense(targets: Any, labels: slice) -> np.ndarray:
    """The targets of a block of labels as a dense array."""
    return np.ascontiguousarray(targets[:, labels].toarray())


def _fit_block(
    block: tuple[np.ndarray, np.ndarray | None], x: Design, weight: np.ndarray, ridge: float, tol: float, max_iter: int
) -> np.ndarray:
    """Coefficients of the labels of a block, by their targets, perhaps from a start."""
    target, begin = block
    total = weight.sum()
    coefficients = np.zeros((x.shape[1] + 1, target.shape[1]))
    share = (weight @ target) / total
    coefficients[-1, share > 0.5] = CERTAIN
    coefficients[-1, share <= 0.5] = -CERTAIN
    active = np.flatnonzero((share > 1e-12) & (share < 1 - 1e-12))  # others have no finite optimum, and need none
    if not active.size:
        return coefficients
    target = np.ascontiguousarray(target[:, active])
    beta = x.start(target, weight, ridge) if begin is None else _columns(begin, active)
    margin = x.forward(beta)
    loss, residual, curvature = _logistic(margin, target, weight)
    loss += 0.5 * ridge * np.square(beta[:-1]).sum(axis=0)
    for _ in range(max_iter):
        gradient = x.backward(residual)
        gradient[:-1] += ridge * beta[:-1]
        steep = np.abs(gradient).max(axis=0)
        coefficients[:, active] = beta
        open_ = steep > min(float(tol), EASY) * total
        if not open_.any():
            return coefficients
        if open_.sum() < 0.75 * len(open_):
            active, target, beta, margin = active[open_], *(_columns(each, open_) for each in (target, beta, margin))
            curvature, gradient, loss = _columns(curvature, open_), _columns(gradient, open_), loss[open_]
        step = _direction(x, curvature, gradient, ridge)
        beta, margin, loss, residual, curvature = _line_search(
            x.forward(step), step, gradient, beta, margin, target, weight, ridge, loss
        )
    raise ConvergenceError(
        f"{counted(int(open_.sum()), 'label')} did not converge in {counted(max_iter, 'Newton step')}; lower ",
        Option("C"),
        " or scale the features to similar sizes",
        InPython(" (or max_iter=, tol=)"),
    )


def _columns(table: np.ndarray, keep: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(table[:, keep])


def _logistic(margin: np.ndarray, target: np.ndarray, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    loss = np.zeros(margin.shape[1])
    residual, curvature = np.empty(margin.shape), np.empty(margin.shape, dtype=np.float32)
    logistic(margin, target, weight, loss, residual, curvature)
    return loss, residual, curvature


def _direction(x: Design, curvature: np.ndarray, gradient: np.ndarray, ridge: float) -> np.ndarray:
    """Solve (Hessian) step = -gradient roughly, for all labels side by side, by preconditioned conjugate gradients."""
    penalty = np.full((len(gradient), 1), ridge, dtype=np.float32)
    penalty[-1] = 1e-6
    scale = np.abs(gradient).max(axis=0) + 1e-30
    r = (-gradient / scale).astype(np.float32)
    inverse = 1 / (x.diagonal(curvature) + penalty)
    step = np.zeros_like(r)
    z = inverse * r
    p = z.copy()
    rz = np.einsum("ij,ij->j", r, z)
    enough = 0.25 * rz  # rough is enough: the next step starts from an exact gradient
    for _ in range(8):
        hp = x.curve(curvature, p) + penalty * p
        bend = np.einsum("ij,ij->j", p, hp)
        alpha = np.where((rz > enough) & (bend > 0), rz / np.where(bend > 0, bend, 1), 0).astype(np.float32)
        step += alpha * p
        r -= alpha * hp
        z = inverse * r
        new = np.einsum("ij,ij->j", r, z)
        if (new <= enough).all() or not alpha.any():
            break
        p = z + np.where(rz > 0, new / np.where(rz > 0, rz, 1), 0).astype(np.float32) * p
        rz = new
    return np.asarray(step.astype(np.float64) * scale)


def _line_search(
    move: np.ndarray,
    step: np.ndarray,
    gradient: np.ndarray,
    beta: np.ndarray,
    margin: np.ndarray,
    target: np.ndarray,
    weight: np.ndarray,
    ridge: float,
    loss: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Full step where the loss falls enough, else halves of it, label by label."""
    length = np.ones(beta.shape[1])
    slope = np.einsum("ij,ij->j", gradient, step)
    for _ in range(30):
        new_beta, new_margin = beta + length * step, margin + length * move
        new_loss, residual, curvature = _logistic(new_margin, target, weight)
        new_loss += 0.5 * ridge * np.square(new_beta[:-1]).sum(axis=0)
        short = new_loss > loss + 1e-4 * length * slope + 1e-12 * np.abs(loss)
        if not short.any():
            break
        length = np.where(short, length / 2, length)
    return new_beta, new_margin, new_loss, residual, curvature
