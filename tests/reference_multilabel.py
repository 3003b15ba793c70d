"""Slow twins of the online learners and of the expert construction, written for reading; nothing here is podium's."""

import itertools
import math

import numpy as np


def adagrad(x, targets, weight, rate, start=None):
    """Scores before each row, and the final weights: one label and one feature at a time.

    `start` holds weights and sums of squared gradients (features + 1, labels) to go on from.
    """
    n, d = x.shape
    K = targets.shape[1]
    w, g2 = (np.zeros((d + 1, K)), np.zeros((d + 1, K))) if start is None else (np.array(each) for each in start)
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


def squared_gradients(x, targets, weight, w):
    """Sum over rows of the squared gradient of each weight of the logistic loss."""
    g2 = np.zeros(w.shape)
    for i in range(len(x)):
        row = np.append(x[i], 1.0)
        for c in range(w.shape[1]):
            slope = weight[i] * (1 / (1 + math.exp(-(row @ w[:, c]))) - targets[i, c])
            g2[:, c] += (slope * row) ** 2
    return g2


class MajorityOfConsistent:
    """Halving: the majority of the functions never wrong so far; all of them again when none is left."""

    def __init__(self, table):
        self.table = [list(map(int, row)) for row in table]
        self.left = set(range(len(self.table)))

    def predict(self, x):
        return int(sum(self.table[f][x] for f in self.left) > len(self.left) / 2)

    def update(self, x, value):
        kept = {f for f in self.left if self.table[f][x] == value}
        self.left = kept or set(range(len(self.table)))


def every_expert(tables, guessed, stream, loss, cuts, K, rate):
    """Algorithms 3 and 7 literally: E_0, an expert for every map from guessed rounds to permutations, then REWA.

    `tables[i, j]` lists the functions of H_i^j on the instances. Returns the expected loss of each round and each
    expert's total loss.
    """
    rounds = [t for t, b in enumerate(guessed) if b]
    orders = list(itertools.permutations(range(1, K + 1)))
    losses = []
    for phi in [None, *itertools.product(orders, repeat=len(rounds))] if rounds else [None]:  # None: E_0
        learners = {(i, j): MajorityOfConsistent(tables[i, j]) for i in range(K) for j in cuts}
        lost = []
        for t, (x, y) in enumerate(stream):
            votes = [sum(learners[i, j].predict(x) for j in cuts) for i in range(K)]
            order = sorted(range(K), key=lambda i: (-votes[i], i))
            ranks = [order.index(i) + 1 for i in range(K)]
            lost.append(loss(ranks, y))
            if guessed[t] and phi is not None:
                pi = phi[rounds.index(t)]
                for (i, j), each in learners.items():
                    each.update(x, int(pi[i] <= j))
        losses.append(lost)
    losses = np.array(losses)
    before = np.cumsum(losses, axis=1) - losses
    weight = np.exp(-rate * (before - before.min(axis=0)))
    return (weight * losses).sum(axis=0) / weight.sum(axis=0), losses.sum(axis=1)
