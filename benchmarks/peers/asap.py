"""ASAP (Mikhailiuk, Wilmot, Perez-Ortiz, Yue and Mantiuk, ICPR 2020); no package is published.

Our own code of the published rule; prior variance, number of passes, the noise in the gain and the spanning-tree batch
are as in the authors' public Python program.

Scores are normal with variance 1/2, an answer compares scores plus noise of variance 1. The posterior comes from six
rounds of TrueSkill's message passing over all answers; what a pair would tell is the expected divergence of the two
items' posterior after either answer (the variant that the authors call approximate: their exact one runs message
passing twice for every pair). A batch is the spanning tree of greatest gain: least sum of 1 / gain. Pairs are not
repeated before all were asked.
"""

from __future__ import annotations

import numpy as np

PRIOR = 0.5
SWEEPS = 6


def ranks(judge, budgets, seed):
    """Yield the order after each number of questions; where every pair was asked, a fresh judge is asked again."""
    n = judge.n
    rng = np.random.default_rng(seed)
    games = np.zeros((0, 2), dtype=np.int64)  # winner, loser
    met = np.eye(n, dtype=bool)
    mean, var = np.zeros(n), np.full(n, PRIOR)
    for budget in budgets:
        while len(games) < budget and not (met.all() and judge.persistent):
            if met.all():
                met = np.eye(n, dtype=bool)
            gain = rng.random((n, n)) if not len(games) else _gain(mean, var)
            pairs = _tree(np.where(met | met.T, 0.0, gain + gain.T))[: budget - len(games)]
            met[pairs[:, 0], pairs[:, 1]] = met[pairs[:, 1], pairs[:, 0]] = True
            first = judge.answer(pairs) > 0.5
            games = np.concatenate([games, np.where(first[:, None], pairs, pairs[:, ::-1])])
            mean, var = posterior(n, games)
        yield np.argsort(-mean, kind="stable")


def rank(judge, questions, seed):
    """Returns the order and the questions used."""
    return next(ranks(judge, [questions], seed)), min(questions, judge.n * (judge.n - 1) // 2)


def posterior(n, games):
    """Means and variances of the scores by expectation propagation, all games at a time."""
    winner, loser = games.T
    strength = np.zeros((len(games), 2))  # of the message from a game to its two items
    centre = np.zeros((len(games), 2))
    precision, mean = np.full(n, 1 / PRIOR), np.zeros(n)
    for _ in range(SWEEPS):
        rest = precision[games] - strength
        place = (precision[games] * mean[games] - strength * centre) / rest
        width = 1 + (1 / rest).sum(axis=1)
        gap = place[:, 0] - place[:, 1]
        push, shrink = _truncated(gap / np.sqrt(width))
        told = 1 / (width * (1 - shrink))
        message = np.maximum(told - 1 / width, 1e-12)
        middle = ((gap + np.sqrt(width) * push) * told - gap / width) / message
        strength = 1 / (1 + 1 / message[:, None] + 1 / rest[:, ::-1])
        centre = np.column_stack([middle + place[:, 1], place[:, 0] - middle])
        pulls = strength * centre
        precision = 1 / PRIOR + np.bincount(winner, strength[:, 0], n) + np.bincount(loser, strength[:, 1], n)
        mean = (np.bincount(winner, pulls[:, 0], n) + np.bincount(loser, pulls[:, 1], n)) / precision
    return mean, 1 / precision


def _truncated(t):
    """Mean and loss of variance of a standard normal cut at -t."""
    from scipy.special import log_ndtr

    push = np.exp(-0.5 * t * t - 0.5 * np.log(2 * np.pi) - log_ndtr(t))
    return push, np.clip(push * (push + t), 1e-12, 1 - 1e-12)


def _gain(mean, var):
    """Expected divergence after asking u and v, for u < v; 0 elsewhere."""
    from scipy.special import ndtr

    gap, both = mean[:, None] - mean[None, :], var[:, None] + var[None, :]
    chance = ndtr(gap / np.sqrt(1 + both))
    total = np.zeros_like(gap)
    width = np.sqrt(2 + both)
    for sign, share in ((1.0, chance), (-1.0, 1 - chance)):
        push, shrink = _truncated(sign * gap / width)
        for each in (var[:, None], var[None, :]):
            left = 1 - each * shrink / width**2
            total += share * 0.5 * (left - 1 - np.log(left) + each * (push / width) ** 2)
    return np.triu(total, 1)


def _tree(gain):
    """The spanning tree of least sum of 1 / gain, best pairs first; pairs without gain are no edges."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import minimum_spanning_tree

    u, v = np.nonzero(np.triu(gain, 1))
    tree = minimum_spanning_tree(coo_array((1 / gain[u, v], (u, v)), shape=gain.shape).tocsr()).tocoo()
    best = np.argsort(tree.data, kind="stable")
    return np.column_stack([tree.row[best], tree.col[best]]).astype(np.int64)
