"""Slow twins of the online learners and of the expert construction, written for reading."""

import itertools
import math

import numpy as np

from podium.multilabel import Halving


def adagrad(x, targets, weight, rate):
    """Scores before each row, and the final weights: one label and one feature at a time."""
    n, d = x.shape
    K = targets.shape[1]
    w, g2 = np.zeros((d + 1, K)), np.zeros((d + 1, K))
    scores = np.zeros((n, K))
    for i in range(n):
        row = np.append(x[i], 1.0)
        scores[i] = row @ w
        for c in range(K):
            slope = weight[i] * (1 / (1 + math.exp(-scores[i, c])) - targets[i, c])
            for j in range(d + 1):
                if row[j] != 0 and weight[i] != 0:
                    g = slope * row[j]
                    g2[j, c] += g * g
                    w[j, c] -= rate * g / (math.sqrt(g2[j, c]) + 1e-8)
    return scores, w


def every_expert(tables, guessed, stream, loss, cuts, K, rate):
    """Algorithms 3 and 7 literally: an expert for every map from guessed rounds to permutations, then REWA.

    `tables[i, j]` lists the functions of H_i^j on the instances. Returns the expected loss of each round and each
    expert's total loss.
    """
    rounds = [t for t, b in enumerate(guessed) if b]
    orders = list(itertools.permutations(range(1, K + 1)))
    losses = []
    for phi in itertools.product(orders, repeat=len(rounds)):
        learners = {(i, j): Halving(tables[i, j]) for i in range(K) for j in cuts}
        lost = []
        for t, (x, y) in enumerate(stream):
            votes = [sum(learners[i, j].predict(x) for j in cuts) for i in range(K)]
            order = sorted(range(K), key=lambda i: (-votes[i], i))
            ranks = [order.index(i) + 1 for i in range(K)]
            lost.append(loss(ranks, y))
            if guessed[t]:
                pi = phi[rounds.index(t)]
                for (i, j), each in learners.items():
                    each.update(x, int(pi[i] <= j))
        losses.append(lost)
    losses = np.array(losses)
    before = np.cumsum(losses, axis=1) - losses
    weight = np.exp(-rate * (before - before.min(axis=0)))
    return (weight * losses).sum(axis=0) / weight.sum(axis=0), losses.sum(axis=1)
