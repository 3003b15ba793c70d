"""Slow twins of the ordinal learners: the quadratic programme of each trial, solved by quadprog, and plain loops."""

import numpy as np
import quadprog


def constraints(x, low, high, n_thresholds):
    """Rows g and bounds of g·(w, theta) >= 1: thresholds below `low` under the score, from `high` on above it."""
    rows = []
    for i in range(n_thresholds):
        sign = 1 if i < low else -1 if i >= high else 0
        if sign:
            rows.append(np.concatenate([sign * x, -sign * np.eye(n_thresholds)[i]]))
    return np.array(rows).reshape(-1, len(x) + n_thresholds)


def passive_aggressive_step(w, theta, x, low, high, variant, C):
    """The programmes (3), PA-I and (5) of the paper for one example, as printed: parameters and slack variables."""
    start = np.concatenate([w, theta])
    size = len(start)
    G = constraints(x, low, high, len(theta))
    m = len(G)
    if m == 0:
        return w.copy(), theta.copy()
    if variant == "pa":
        solution = quadprog.solve_qp(np.eye(size), start, G.T, np.ones(m))[0]
        return solution[: len(w)], solution[len(w) :]
    # Slack variables xi come last. PA-I's programme is only semidefinite in them, so its dual is solved instead.
    if variant == "pa2":
        hessian = np.diag(np.concatenate([np.ones(size), np.full(m, 2 * C)]))
        left = np.hstack([G, np.eye(m)])
        solution = quadprog.solve_qp(hessian, np.concatenate([start, np.zeros(m)]), left.T, np.ones(m))[0]
        return solution[: len(w)], solution[len(w) : size]
    # Dual: maximise -1/2 |G' m|² + m·(1 - G v) over 0 <= m <= C. G G' = ss' q + I is positive definite.
    box = np.hstack([np.eye(m), -np.eye(m)])
    multipliers = quadprog.solve_qp(G @ G.T, 1 - G @ start, box, np.concatenate([np.zeros(m), np.full(m, -C)]))[0]
    solution = start + G.T @ multipliers
    return solution[: len(w)], solution[len(w) :]


def prank_step(w, theta, x, low, high):
    """Crammer and Singer (2001), figure 1, with the thresholds inside a range left alone."""
    score = w @ x
    grade = next((i for i, b in enumerate(theta) if score < b), len(theta))
    if low <= grade <= high:
        return w, theta
    side = np.array([1 if i < low else -1 if i >= high else 0 for i in range(len(theta))])
    tau = np.where((score - theta) * side <= 0, side, 0)
    return w + tau.sum() * x, theta - tau


def interval_error(score, theta, low, high):
    """The interval-insensitive absolute error, as the sum of indicators in the paper."""
    return sum(score < b for b in theta[:low]) + sum(score >= b for b in theta[high:])


def surrogate(score, theta, low, high):
    """The convex surrogate (2)."""
    return sum(max(0.0, 1 - score + b) for b in theta[:low]) + sum(max(0.0, 1 + score - b) for b in theta[high:])


def online(step, X, low, high, n_thresholds):
    """Run `step` over the rows; return final parameters, their means after each row, errors and losses."""
    w, theta = np.zeros(X.shape[1]), np.zeros(n_thresholds)
    mean_w, mean_theta = np.zeros_like(w), np.zeros_like(theta)
    errors, losses = [], []
    for t, (x, lo, hi) in enumerate(zip(X, low, high, strict=True), start=1):
        errors.append(interval_error(w @ x, theta, lo, hi))
        losses.append(surrogate(w @ x, theta, lo, hi))
        w, theta = step(w, theta, x, lo, hi)
        mean_w += (w - mean_w) / t
        mean_theta += (theta - mean_theta) / t
    return w, theta, mean_w, mean_theta, errors, losses
