"""Slow twins: the definitions, written to be read."""

import itertools

import numpy as np


def newton(n, rows, l2, steps=100):
    """Penalised Bradley-Terry by dense Newton; rows are (left, right, outcome, weight) with outcome 1, 0 or ½."""
    scores = np.zeros(n)

    def objective(u):
        return (
            sum(w * (np.logaddexp(0, u[j] - u[i]) * y + np.logaddexp(0, u[i] - u[j]) * (1 - y)) for i, j, y, w in rows)
            + l2 * u @ u
        )

    for _ in range(steps):
        gradient, hessian = 2 * l2 * scores, 2 * l2 * np.eye(n)
        for i, j, y, w in rows:
            chance = 1 / (1 + np.exp(scores[j] - scores[i]))
            gradient[i] += w * (chance - y)
            gradient[j] -= w * (chance - y)
            hessian[np.ix_([i, j], [i, j])] += w * chance * (1 - chance) * np.array([[1, -1], [-1, 1]])
        step = np.linalg.lstsq(hessian, -gradient, rcond=None)[0]
        length = 1.0
        while objective(scores + length * step) > objective(scores) + 1e-12 and length > 1e-8:
            length /= 2
        scores = scores + length * step
        if np.abs(step).max() < 1e-13:
            break
    return scores - (scores.mean() if l2 == 0 else 0)


def newton_in_long_double(n, rows, l2):
    """The same in extended precision, slow and sure: short steps, and no end before they are nothing."""
    left, right, outcome, weight = (np.array(column) for column in zip(*rows, strict=True))
    weight, scores = weight.astype(np.longdouble), np.zeros(n, dtype=np.longdouble)
    for _ in range(2000):
        chance = 1 / (1 + np.exp(scores[right] - scores[left]))
        other = 1 / (1 + np.exp(scores[left] - scores[right]))
        force = weight * (chance * (1 - outcome) - other * outcome)
        curve = weight * chance * other
        gradient, hessian = 2 * l2 * scores, np.diag(np.full(n, np.longdouble(2 * l2)))
        np.add.at(gradient, left, force)
        np.subtract.at(gradient, right, force)
        for one, two, sign in ((left, left, 1), (right, right, 1), (left, right, -1), (right, left, -1)):
            np.add.at(hessian, (one, two), sign * curve)
        if l2 == 0:
            hessian[0, 0] *= 2  # differences do not feel which item is held
        step = eliminate(hessian, -gradient)
        scores = scores + step * min(1.0, 3.0 / max(np.abs(step).max(), 1e-300))
        if np.abs(step).max() < 1e-9:  # the step after it is nothing
            return (scores - (scores.mean() if l2 == 0 else 0)).astype(float)
    raise AssertionError("no optimum")


def eliminate(matrix, force):
    """Solve a positive definite system by plain elimination, in whatever precision it comes."""
    matrix, force, n = matrix.copy(), force.copy(), len(force)
    for k in range(n):
        share = matrix[k + 1 :, k] / matrix[k, k]
        matrix[k + 1 :] -= share[:, None] * matrix[k]
        force[k + 1 :] -= share * force[k]
    for k in reversed(range(n)):
        force[k] = (force[k] - matrix[k, k + 1 :] @ force[k + 1 :]) / matrix[k, k]
    return force


def pair_table(rows):
    """Counts by unordered pair from (left, right, outcome, weight) rows: {(i, j): (i wins, j wins, ties)}, i < j."""
    table = {}
    for i, j, y, w in rows:
        if i > j:
            i, j, y = j, i, 1 - y
        won, lost, tied = table.get((i, j), (0, 0, 0))
        table[i, j] = (won + w * (y == 1), lost + w * (y == 0), tied + w * (y == 0.5))
    return table


def strong_components(n, edges):
    """Sets of items that reach each other, by brute force."""
    reach = np.eye(n, dtype=bool)
    for i, j in edges:
        reach[i, j] = True
    for k, i in itertools.product(range(n), repeat=2):
        if reach[i, k]:
            reach[i] |= reach[k]
    both = reach & reach.T
    return {frozenset(np.flatnonzero(row).tolist()) for row in both}
