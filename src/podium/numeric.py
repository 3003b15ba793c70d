"""Small numerical methods: conjugate gradients, p-values that are read together, quantiles of Student."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

__all__ = ["CORRECTIONS", "adjusted_p_values", "conjugate_gradients", "student_quantile"]

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


def student_quantile(degrees: int, chance: float) -> float:
    """The t that Student's distribution with whole degrees of freedom stays below with this chance, at least ½.

    Without SciPy, which takes half a second to load.

    >>> round(student_quantile(9, 0.975), 4), round(student_quantile(1, 0.75), 4)
    (2.2622, 1.0)
    """
    low, high = 0.0, math.pi / 2.0  # the angle whose tangent is t/√degrees
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if 0.5 + 0.5 * _student_within(degrees, middle) < chance else (low, middle)
    return math.tan(0.5 * (low + high)) * math.sqrt(degrees)


def _student_within(degrees: int, angle: float) -> float:
    """Chance that |t| < √degrees·tan(angle): a finite sum (Abramowitz and Stegun 26.7.3, 26.7.4)."""
    sine, cosine = math.sin(angle), math.cos(angle)
    odd = degrees % 2
    term = total = cosine if odd else 1.0
    for k in range(2 + odd, degrees - 1, 2):
        term *= cosine * cosine * (k - 1) / k
        total += term
    if degrees == 1:
        return 2.0 / math.pi * angle
    return 2.0 / math.pi * (angle + sine * total) if odd else sine * total
