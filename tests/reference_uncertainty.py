"""Slow twins for uncertainty: a plain Newton Bradley–Terry, one vote at a time, and literal sums over votes."""

from __future__ import annotations

import numpy as np

from podium.ranking.uncertainty import Information


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def fit(n, left, right, won, weight, l2=1e-3):
    """Newton on Σ weight·logloss + l2·‖u‖²; `won` is 1 (left), 0 (right) or ½."""
    u = np.zeros(n)
    for _ in range(100):
        p = sigmoid(u[left] - u[right])
        gradient = 2 * l2 * u
        np.add.at(gradient, left, weight * (p - won))
        np.add.at(gradient, right, -weight * (p - won))
        step = np.linalg.solve(hessian(n, left, right, weight * p * (1 - p), 2 * l2), gradient)
        u = u - step * min(1, 2 / np.abs(step).max(initial=1e-300))
        if (
            np.abs(step).max() < 1e-9
        ):  # with next to no penalty rounding leaves steps of 1e-10; the error is their square
            return u
    raise AssertionError("the reference did not converge")


def hessian(n, left, right, curvature, ridge):
    """Σ curvature·(e_l − e_r)(e_l − e_r)ᵀ + ridge·I, one row at a time."""
    matrix = ridge * np.eye(n)
    for i, j, c in zip(left, right, curvature, strict=True):
        matrix[i, i] += c
        matrix[j, j] += c
        matrix[i, j] -= c
        matrix[j, i] -= c
    return matrix


def information(n, left, right, won, weight, u, l2=1e-3, **more):
    """One row per vote: what a ranker would hand over at `u`."""
    p = sigmoid(u[left] - u[right])
    return Information(
        n,
        left,
        right,
        weight * p * (1 - p),
        ridge=2 * l2,
        vote_left=left,
        vote_right=right,
        vote_gradient=p - won,
        vote_weight=weight,
        vote_weight_sq=weight**2,
        target=won,
        scores=u,
        **more,
    )


def directions(n, left, right):
    """Rows e_left − e_right."""
    rows = np.zeros((len(left), n))
    rows[np.arange(len(left)), left] += 1
    rows[np.arange(len(left)), right] -= 1
    return rows


def centred_inverse(matrix, n):
    """P H⁻¹ P with P = I − 11ᵀ/n on the first n coordinates, by the textbook; pseudo-inverse when H is singular."""
    centre = np.eye(len(matrix))
    centre[:n, :n] -= 1 / n
    return centre @ np.linalg.pinv(matrix, rcond=1e-13, hermitian=True) @ centre


def votes(rng, truth, count):
    """Uniform random pairs and their outcomes."""
    n = len(truth)
    left = rng.integers(n, size=count)
    right = (left + rng.integers(1, n, size=count)) % n
    won = (rng.random(count) < sigmoid(truth[left] - truth[right])).astype(float)
    return left, right, won
