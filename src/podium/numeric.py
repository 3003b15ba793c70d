"""Conjugate gradients: solve A x = b with no more of A than its product with a vector and its diagonal."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

__all__ = ["conjugate_gradients"]

TINY = np.finfo(float).tiny


def conjugate_gradients(
    product: Callable[[np.ndarray], np.ndarray], diagonal: np.ndarray, force: np.ndarray, *, accuracy: float, most: int
) -> tuple[np.ndarray, bool]:
    """Return x with A x = force, and whether `most` steps sufficed; columns of `force` are solved side by side.

    A is symmetric and positive definite (or semidefinite, with forces that its null space does not feel); `diagonal`
    preconditions. Enough is a residual r with rᵀD⁻¹r at most accuracy² of that at the start.

    Examples
    --------
    >>> a, b = np.array([[2.0, -1.0], [-1.0, 3.0]]), np.array([1.0, 2.0])
    >>> x, enough = conjugate_gradients(a.__matmul__, a.diagonal(), b, accuracy=1e-9, most=9)
    >>> x.round(6).tolist(), enough
    ([1.0, 1.0], True)
    """
    scale = diagonal if force.ndim == 1 else diagonal[:, None]
    x, residual = np.zeros_like(force), force.copy()
    ahead = residual / scale
    way, power = ahead.copy(), _dot(residual, ahead)
    goal = max(accuracy, 1e-13) ** 2 * power
    for _ in range(most):
        if np.all(power <= goal):
            return x, True
        image = product(way)
        length = power / np.maximum(_dot(way, image), TINY)
        x += length * way
        residual -= length * image
        np.divide(residual, scale, out=ahead)
        before, power = power, _dot(residual, ahead)
        way *= power / np.maximum(before, TINY)
        way += ahead
    return x, bool(np.all(power <= goal))


def _dot(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Inner product of each column."""
    products: np.ndarray = np.einsum("i...,i...->...", a, b)
    return products
