"""TrueSkill: ask the least sure item against the unasked item nearest in skill, one by one.

Of two players without draws the package `trueskill` has a closed form behind its graph of factors; it is written out
here, with the package's constants, because the package takes a millisecond a game (`tests/test_rivals.py` compares).
"""

from __future__ import annotations

import math

import numpy as np

MU, SIGMA, BETA, TAU = 25.0, 25.0 / 3, 25.0 / 6, 25.0 / 300


def after(winner, loser):
    """Mean and deviation of both players after a game, each given as (mean, deviation)."""
    (first, spread), (second, other) = winner, loser
    spread, other = spread * spread + TAU * TAU, other * other + TAU * TAU
    both = math.sqrt(2 * BETA * BETA + spread + other)
    lead = (first - second) / both
    push = math.exp(-0.5 * lead * lead) / math.sqrt(2 * math.pi) / (0.5 * math.erfc(-lead / math.sqrt(2)))
    shrink = push * (push + lead)
    return (
        (first + spread / both * push, math.sqrt(spread * (1 - spread / both**2 * shrink))),
        (second - other / both * push, math.sqrt(other * (1 - other / both**2 * shrink))),
    )


def ranks(judge, budgets, seed):
    """Yield the order after each number of questions; where every pair was asked, a fresh judge is asked again."""
    rng = np.random.default_rng(seed)
    players = [(MU, SIGMA)] * judge.n
    mean, spread = MU + rng.normal(0, 1e-6, judge.n), np.full(judge.n, SIGMA)
    met = np.eye(judge.n, dtype=bool)
    asked = 0
    for budget in budgets:
        while asked < budget and not (met.all() and judge.persistent):
            if met.all():
                met = np.eye(judge.n, dtype=bool)
            u = int(np.argmax(np.where(met.all(axis=1), -1, spread + rng.random(judge.n) * 1e-6)))
            gap = np.where(met[u], np.inf, np.abs(mean - mean[u]))
            v = int(np.argmin(gap))
            met[u, v] = met[v, u] = True
            first, second = (u, v) if judge.answer(np.array([[u, v]]))[0] > 0.5 else (v, u)
            players[first], players[second] = after(players[first], players[second])
            for each in (u, v):
                mean[each], spread[each] = players[each]
            asked += 1
        yield np.argsort(-mean, kind="stable")


def rank(judge, questions, seed):
    """Returns the order and the questions used."""
    return next(ranks(judge, [questions], seed)), min(questions, judge.n * (judge.n - 1) // 2)
