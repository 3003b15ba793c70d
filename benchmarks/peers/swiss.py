"""A Swiss system: rounds of neighbours in the current Bradley-Terry order, fifteen lines that are hard to beat."""

from __future__ import annotations

import numpy as np

from podium.active.choice import swiss_round
from podium.active.model_scores import fit_scores
from podium.active.tally import Ballots, distinct, pair_keys


def ranks(judge, budgets, seed):
    """Yield the order after each number of questions; where every pair was asked, a fresh judge is asked again."""
    n, votes = judge.n, Ballots(judge.n)
    order = np.random.default_rng(seed).permutation(n)
    barred = np.zeros(0, dtype=np.int64)
    for budget in budgets:
        while len(votes.tally) < budget:
            pairs = swiss_round(order, votes.tally.degree, barred, budget - len(votes.tally))
            if not len(pairs):
                if judge.persistent or not len(barred):
                    break
                barred = barred[:0]
                continue
            zeros = np.zeros(len(pairs), dtype=np.int64)
            votes.add(pairs[:, 0], pairs[:, 1], judge.answer(pairs), zeros, zeros)
            barred = distinct(barred, pair_keys(pairs, n))
            order = fit_scores(votes.tally).order
        yield order


def rank(judge, questions, seed):
    """Returns the order and the questions used."""
    return next(ranks(judge, [questions], seed)), questions
