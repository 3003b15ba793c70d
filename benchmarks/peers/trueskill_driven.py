"""TrueSkill (package `trueskill`): ask the least sure item against the unasked item nearest in skill, one by one."""

from __future__ import annotations

import numpy as np


def ranks(judge, budgets, seed):
    """Yield the order after each number of questions; where every pair was asked, a fresh judge is asked again."""
    import trueskill

    rng = np.random.default_rng(seed)
    world = trueskill.TrueSkill(draw_probability=0.0)
    players = [world.create_rating() for _ in range(judge.n)]
    mean = np.array([player.mu for player in players]) + rng.normal(0, 1e-6, judge.n)
    spread = np.array([player.sigma for player in players])
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
            players[first], players[second] = trueskill.rate_1vs1(players[first], players[second], env=world)
            for each in (u, v):
                mean[each], spread[each] = players[each].mu, players[each].sigma
            asked += 1
        yield np.argsort(-mean, kind="stable")


def rank(judge, questions, seed):
    """Returns the order and the questions used."""
    return next(ranks(judge, [questions], seed)), min(questions, judge.n * (judge.n - 1) // 2)
