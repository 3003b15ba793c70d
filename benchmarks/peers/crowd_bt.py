"""Crowd-BT (Chen, Bennett, Collins-Thompson and Horvitz, WSDM 2013), written from the paper, with one rater.

Every item has a normal score (mean, variance), the rater a Beta reliability eta; moments are matched after each answer
(their section 4.1) and the next pair is the one with the greatest expected information gain among all unasked.
"""

from __future__ import annotations

import math

import numpy as np

LEAST = 1e-4  # factor by which a variance shrinks at most
RESCAN = 25  # answers between two full scans of all pairs; the best pairs of a scan are asked in turn


def ranks(judge, budgets, seed):
    """Yield the order after each number of questions; where every pair was asked, a fresh judge is asked again."""
    n = judge.n
    rng = np.random.default_rng(seed)
    mean, var, rater = rng.normal(0, 1e-3, n), np.ones(n), np.array([10.0, 1.0])
    left, right = np.triu_indices(n, 1)
    open_ = np.ones(len(left), dtype=bool)
    asked = 0
    for budget in budgets:
        while asked < budget and (open_.any() or not judge.persistent):
            if not open_.any():
                open_[:] = True
            gain = np.where(open_, _gain(mean, var, rater, left, right), -np.inf)
            best = np.argsort(-(gain + rng.random(len(gain)) * 1e-9))[: min(RESCAN, budget - asked)]
            best = best[open_[best]]
            open_[best] = False
            for k in best:
                u, v = int(left[k]), int(right[k])
                if judge.answer(np.array([[u, v]]))[0] < 0.5:
                    u, v = v, u
                _update(mean, var, rater, u, v)
            asked += len(best)
        yield np.argsort(-mean, kind="stable")


def rank(judge, questions, seed):
    """Returns the order and the questions used."""
    return next(ranks(judge, [questions], seed)), min(questions, judge.n * (judge.n - 1) // 2)


def _chance(first, second):
    return 1 / (1 + np.exp(np.clip(second - first, -30, 30)))


def _moments(mean, var, rater, u, v):
    """Means and variances of u and v after u beat v, elementwise (their equations 14 to 17)."""
    p = _chance(mean[u], mean[v])
    good, bad = rater
    told = good * p + bad * (1 - p)
    step = good * p / told - p
    curve = good * p * bad * (1 - p) / told**2 - p * (1 - p)
    shrink_u, shrink_v = np.maximum(1 + var[u] * curve, LEAST), np.maximum(1 + var[v] * curve, LEAST)
    return mean[u] + var[u] * step, mean[v] - var[v] * step, var[u] * shrink_u, var[v] * shrink_v


def _gain(mean, var, rater, left, right):
    """Expected divergence of the posterior from the present, over both answers."""
    p = _chance(mean[left], mean[right])
    eta = rater[0] / rater.sum()
    said = eta * p + (1 - eta) * (1 - p)
    total = 0.0
    for chance, u, v in ((said, left, right), (1 - said, right, left)):
        mean_u, mean_v, var_u, var_v = _moments(mean, var, rater, u, v)
        total = total + chance * (_kl(mean_u, var_u, mean[u], var[u]) + _kl(mean_v, var_v, mean[v], var[v]))
    return total


def _kl(mean, var, old_mean, old_var):
    return 0.5 * (np.log(old_var / var) + (var + (mean - old_mean) ** 2) / old_var - 1)


def _update(mean, var, rater, u, v):
    (mean_u, mean_v, var_u, var_v), (good, bad) = (float(x) for x in (mean[u], mean[v], var[u], var[v])), rater.tolist()
    p = 1 / (1 + math.exp(min(max(mean_v - mean_u, -30.0), 30.0)))
    spread = 0.5 * (var_u + var_v) * p * (1 - p) * (1 - 2 * p)  # of the chance, over both scores
    right = min(max(p + spread, 1e-6), 1 - 1e-6)
    share = good * right / (good * right + bad * (1 - right))  # that this answer was a reliable one
    first, second = share * (good + 1) + (1 - share) * good, good + bad + 1
    square = (share * (good + 1) * (good + 2) + (1 - share) * good * (good + 1)) / (second * (second + 1))
    eta = first / second
    strength = (eta - square) / max(square - eta**2, 1e-12)
    told = good * p + bad * (1 - p)  # from here on as in _moments, in plain numbers
    step = good * p / told - p
    curve = good * p * bad * (1 - p) / told**2 - p * (1 - p)
    mean[u], mean[v] = mean_u + var_u * step, mean_v - var_v * step
    var[u], var[v] = var_u * max(1 + var_u * curve, LEAST), var_v * max(1 + var_v * curve, LEAST)
    rater[:] = eta * strength, (1 - eta) * strength
