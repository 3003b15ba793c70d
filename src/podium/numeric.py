"""Small numerical methods: conjugate gradients, and p-values that are read together."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

__all__ = ["CORRECTIONS", "adjusted_p_values", "conjugate_gradients"]

TINY = np.finfo(float).tiny
CORRECTIONS = ("holm", "bonferroni", "fdr", "none")


def adjusted_p_values(p_values: np.ndarray, correction: str) -> np.ndarray:
    """Return p-values adjusted so that all may be read at once; NaN is no test and stays.

    "holm" (1979) and "bonferroni" bound the chance of any false finding, "fdr" (Benjamini and Hochberg 1995) their
    expected share among the findings.

    Examples
    --------
    >>> p = np.array([0.01, 0.04, 0.03])
    >>> {name: adjusted_p_values(p, name).round(3).tolist() for name in ("holm", "fdr")}
    {'holm': [0.03, 0.06, 0.06], 'fdr': [0.03, 0.04, 0.04]}
    """
    tested = np.flatnonzero(~np.isnan(p_values))
    count = len(tested)
    order = tested[np.argsort(p_values[tested], kind="stable")]
    rising = p_values[order]
    if correction == "holm":
        rising = np.maximum.accumulate(rising * np.arange(count, 0, -1))
    elif correction == "bonferroni":
        rising = rising * count
    elif correction == "fdr":
        rising = np.minimum.accumulate((rising * count / np.arange(1, count + 1))[::-1])[::-1]
    adjusted = np.full(len(p_values), np.nan)
    adjusted[order] = np.minimum(rising, 1.0)
    return adjusted


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
