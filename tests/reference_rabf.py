"""Slow twins of rank aggregation with features: the literal design of (6), the literal loop of (19)."""

import numpy as np


def design(n, rows, features):
    """One row a vote: x_left − x_right, then e_left − e_right."""
    table = np.zeros((len(rows), features.shape[1] + n))
    for k, (i, j, *_) in enumerate(rows):
        table[k, : features.shape[1]] = features[i] - features[j]
        table[k, features.shape[1] + i] += 1
        table[k, features.shape[1] + j] -= 1
    return table


def penalty_vector(n, d, feature_penalty, residual_penalty):
    return np.concatenate([np.full(d, feature_penalty), np.full(n, residual_penalty)])


def logistic_objective(theta, table, rows, penalties):
    margin = table @ theta
    outcome, weight = np.array([(y, w) for *_, y, w in rows]).T
    return weight @ (np.logaddexp(0, margin) - outcome * margin) + penalties @ theta**2


def dense_logistic(n, rows, features, feature_penalty, residual_penalty, steps=200):
    """Minimise (6) with the log loss by dense Newton; rows are (left, right, outcome, weight)."""
    table = design(n, rows, features)
    penalties = penalty_vector(n, features.shape[1], feature_penalty, residual_penalty)
    outcome, weight = np.array([(y, w) for *_, y, w in rows]).T
    theta = np.zeros(table.shape[1])
    for _ in range(steps):
        chance = 1 / (1 + np.exp(-table @ theta))
        gradient = table.T @ (weight * (chance - outcome)) + 2 * penalties * theta
        hessian = table.T @ ((weight * chance * (1 - chance))[:, None] * table) + 2 * np.diag(penalties)
        step = np.linalg.solve(hessian, -gradient)
        length, here = 1.0, logistic_objective(theta, table, rows, penalties)
        while logistic_objective(theta + length * step, table, rows, penalties) > here + 1e-12 and length > 1e-8:
            length /= 2
        theta = theta + length * step
        if np.abs(step).max() < 1e-13:
            break
    return theta, logistic_objective(theta, table, rows, penalties)


def normal_equations(n, rows, targets, features, feature_penalty, residual_penalty):
    """Minimise (6) with the squared loss."""
    table = design(n, rows, features)
    weight = np.array([w for *_, w in rows])
    penalties = penalty_vector(n, features.shape[1], feature_penalty, residual_penalty)
    theta = np.linalg.solve(table.T @ (weight[:, None] * table) + np.diag(penalties), table.T @ (weight * targets))
    return theta, weight @ (table @ theta - targets) ** 2 + penalties @ theta**2


def online_loop(n, votes, features, feature_penalty, residual_penalty, steps, loss="logistic", path=None, flips=0.0):
    """Rule (19), literally, with the gradient's part of the step capped by the length of the vote's row of the design.

    Votes are (winner, loser) and `steps` the step sizes; residuals after each vote are appended to `path`.
    """
    w, r = np.zeros(features.shape[1]), np.zeros(n)
    for (i, j), eta in zip(votes, steps, strict=True):
        margin = w @ (features[i] - features[j]) + r[i] - r[j]
        chance = 1 / (1 + np.exp(-margin))
        if loss == "logistic":  # of −log(flips·(1 − chance) + (1 − flips)·chance)
            slope = -(1 - 2 * flips) * chance * (1 - chance) / (flips * (1 - chance) + (1 - flips) * chance)
        else:
            slope = 2 * (margin - 1 / (1 - 2 * flips))
        gradient = np.zeros(n)
        gradient[i], gradient[j] = slope, -slope
        length = np.sum((features[i] - features[j]) ** 2) + 2
        gain = min(eta, (1 if loss == "logistic" else 1 / 4) / length)
        w = w - gain * slope * (features[i] - features[j]) - eta * feature_penalty * w
        r = r - gain * gradient - eta * residual_penalty * r
        if path is not None:
            path.append(r)
    return w, r
