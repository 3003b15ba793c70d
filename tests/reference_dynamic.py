"""Scores that move, written for reading: every score at every time in one dense system, solved by plain Newton."""

import numpy as np


def nodes_of(left, right, time):
    """(item, time) of every score, sorted."""
    return sorted({(int(i), float(t)) for side in (left, right) for i, t in zip(side, time, strict=True)})


def prior_precision(nodes, sd, drift):
    """First scores are N(0, sd²), changes N(0, drift²·time between)."""
    precision = np.zeros((len(nodes), len(nodes)))
    for k, (item, t) in enumerate(nodes):
        if k == 0 or nodes[k - 1][0] != item:
            precision[k, k] += 1 / sd**2
        else:
            step = np.zeros(len(nodes))
            step[k], step[k - 1] = 1.0, -1.0
            precision += np.outer(step, step) / (drift**2 * (t - nodes[k - 1][1]))
    return precision


def fit(left, right, outcome, time, *, sd, drift, side=False, davidson=False, features=None, penalty=1.0):
    """Nodes, optimum, Hessian and log evidence; the parameters are the nodes', weights, the side effect, log ν.

    `outcome` is 1, −1 or 0; a tie is half a win for both unless `davidson`. Where items have `features` (a row each),
    nodes are of what these do not explain, and `penalty`·‖weights‖² is that of the weights.
    """
    nodes = nodes_of(left, right, time)
    place, n = {node: k for k, node in enumerate(nodes)}, len(nodes)
    d = 0 if features is None else features.shape[1]
    size = n + d + side + davidson
    precision = np.zeros((size, size))
    precision[:n, :n] = prior_precision(nodes, sd, drift)
    precision[n : n + d, n : n + d] = 2 * penalty * np.eye(d)
    rows = []
    for i, j, t in zip(left, right, time, strict=True):
        row = np.zeros(size)
        row[place[int(i), float(t)]], row[place[int(j), float(t)]] = 1.0, -1.0
        if d:
            row[n : n + d] = features[i] - features[j]
        if side:
            row[n + d] = 1.0
        rows.append(row)

    def at(x):
        loss, gradient, hessian = 0.5 * x @ precision @ x, precision @ x, precision.copy()
        for row, y in zip(rows, outcome, strict=True):
            m = row @ x
            if davidson:
                own = np.zeros(size)
                own[-1] = 1.0
                features = np.array([0.5 * row, -0.5 * row, own])  # of win, loss and tie: a softmax
                told = features[{1: 0, -1: 1, 0: 2}[int(y)]]
            else:
                features = np.array([row, np.zeros(size)])
                told = {1: 1.0, -1: 0.0, 0: 0.5}[int(y)] * row
            logits = features @ x
            chance = np.exp(logits - np.logaddexp.reduce(logits))
            loss += np.logaddexp.reduce(logits) - told @ x
            mean = chance @ features
            gradient = gradient + mean - told
            hessian = hessian + features.T @ (chance[:, None] * features) - np.outer(mean, mean)
            assert np.isfinite(m)
        return loss, gradient, hessian

    x = np.zeros(size)
    for _ in range(60):
        _, gradient, hessian = at(x)
        x = x - np.linalg.solve(hessian, gradient)
    loss, _, hessian = at(x)
    prior, posterior = precision[: n + d, : n + d], hessian[: n + d, : n + d]
    evidence = -loss + 0.5 * np.linalg.slogdet(prior)[1] - 0.5 * np.linalg.slogdet(posterior)[1]
    return nodes, x, hessian, evidence


def scores_at(nodes, when, items, *, sd, drift):
    """(items, nodes) weights that make scores at a time of the scores at nodes, and the variance they leave.

    From the joint normal of a walk's nodes and the time asked for: a conditional mean and variance, by linear algebra.
    """
    weights, rest = np.zeros((len(items), len(nodes))), np.zeros(len(items))
    for row, item in enumerate(items):
        own = [k for k, node in enumerate(nodes) if node[0] == item]
        times = np.array([nodes[k][1] for k in own] + [when]) - nodes[own[0]][1]
        covariance = sd**2 + drift**2 * np.minimum.outer(times, times)  # of a walk from its first node on
        inner, across = covariance[:-1, :-1], covariance[-1, :-1]
        weights[row, own] = np.linalg.solve(inner, across)
        rest[row] = covariance[-1, -1] - across @ np.linalg.solve(inner, across)
    return weights, rest
