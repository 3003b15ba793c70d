"""Random pairs, every item in equally many, and a Bradley-Terry fit: what most people do."""

from __future__ import annotations

import warnings

import numpy as np

from podium.data.comparisons import Comparisons
from podium.pairwise.bradley_terry import BradleyTerry


def random_pairs(n, count, rng):
    """About `count` distinct pairs, at least one, every item in equally many: neighbours on random circles."""
    count = max(count, 1)
    circles = [rng.permutation(n) for _ in range(-(-count // n))]
    pairs = np.concatenate([np.column_stack([circle, np.roll(circle, 1)]) for circle in circles])[:count]
    keys = np.minimum(pairs[:, 0], pairs[:, 1]) * n + np.maximum(pairs[:, 0], pairs[:, 1])
    return pairs[np.sort(np.unique(keys, return_index=True)[1])]


def ranks(judge, budgets, seed):
    """Yield the order after each number of questions; where every pair was asked, a fresh judge is asked again."""
    pairs = _asked(judge, budgets[-1], seed)
    first = judge.answer(pairs) > 0.5
    for budget in budgets:
        yield _order(judge.n, pairs[:budget], first[:budget])


def rank(judge, questions, seed):
    """Returns the order and the questions used."""
    pairs = _asked(judge, questions, seed)
    return _order(judge.n, pairs, judge.answer(pairs) > 0.5), len(pairs)


def _asked(judge, questions, seed):
    rng = np.random.default_rng(seed)
    pairs = random_pairs(judge.n, questions, rng)
    while len(pairs) < questions and not getattr(judge, "persistent", True):
        every = np.column_stack(np.triu_indices(judge.n, 1))
        pairs = np.concatenate([pairs, every[rng.permutation(len(every))]])[:questions]
    return pairs


def _order(n, pairs, first):
    votes = Comparisons.from_arrays(
        np.where(first, pairs[:, 0], pairs[:, 1]), np.where(first, pairs[:, 1], pairs[:, 0]), items=range(n)
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scores = BradleyTerry(l2=0.1).fit(votes).ranking_.scores
    return np.argsort(-scores, kind="stable")
