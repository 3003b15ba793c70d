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


def rank(judge, questions, seed):
    """Returns the order and the questions used."""
    pairs = random_pairs(judge.n, questions, np.random.default_rng(seed))
    first = judge.answer(pairs) > 0.5
    votes = Comparisons.from_arrays(
        np.where(first, pairs[:, 0], pairs[:, 1]), np.where(first, pairs[:, 1], pairs[:, 0]), items=range(judge.n)
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scores = BradleyTerry(l2=0.1).fit(votes).ranking_.scores
    return np.argsort(-scores, kind="stable"), len(pairs)
