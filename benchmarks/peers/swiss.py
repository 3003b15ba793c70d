"""A Swiss system: rounds of neighbours in the current Bradley-Terry order, fifteen lines that are hard to beat."""

from __future__ import annotations

import numpy as np

from podium.active.choice import swiss_round
from podium.active.model_scores import fit_scores
from podium.active.tally import Ballots


def rank(judge, questions, seed):
    """Returns the order and the questions used; where every pair was asked, a fresh judge is asked again."""
    n, votes = judge.n, Ballots(judge.n)
    order, asked = np.random.default_rng(seed).permutation(n), 0
    barred = np.zeros(0, dtype=np.int64)
    while asked < questions:
        pairs = swiss_round(order, votes.tally.degree, barred, questions - asked)
        if not len(pairs):
            if judge.persistent or not len(barred):
                break
            barred = barred[:0]
            continue
        zeros = np.zeros(len(pairs), dtype=np.int64)
        votes.add(pairs[:, 0], pairs[:, 1], judge.answer(pairs), zeros, zeros)
        barred = np.union1d(barred, pairs.min(axis=1) * n + pairs.max(axis=1))
        asked += len(pairs)
        order = fit_scores(votes.tally).order
    return order, asked
