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
