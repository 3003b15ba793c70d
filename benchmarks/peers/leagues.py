"""Ways to rate players whose strength moves, each as predict, then learn, a day at a time.

A way is a function (days, grid value) -> chances that left wins, one array a day; `days` are (time, left, right, won).
None sees a day before it has predicted it.
"""

import math
import warnings
from statistics import NormalDist

import numpy as np

PHI = NormalDist().cdf


def elo(days, k):
    """Our Elo."""
    from podium import Comparisons, Elo

    n = 1 + max(int(max(left.max(), right.max())) for _, left, right, _ in days)
    model, told = Elo(k=k), []
    for _, left, right, won in days:
        ratings = np.full(n, 1000.0)
        if model.__sklearn_is_fitted__():
            known = model.ranking_
            ratings[list(known.items)] = known.scores
        told.append(1 / (1 + 10 ** ((ratings[right] - ratings[left]) / 400)))
        outcome = np.where(won, 1, -1).astype(np.int8)
        model.partial_fit(Comparisons(tuple(range(n)), left, right, outcome=outcome))
    return told


def glicko2(days, volatility):
    """glicko2: a day is a rating period."""
    from glicko2 import Player

    players, told = {}, []
    for _, left, right, won in days:
        at = lambda k: players.setdefault(int(k), Player(vol=volatility))  # noqa: E731
        chances = []
        for i, j in zip(left, right, strict=True):
            a, b = at(i), at(j)
            spread = math.hypot(a.rd, b.rd) * math.log(10) / 400
            g = 1 / math.sqrt(1 + 3 * spread**2 / math.pi**2)
            chances.append(1 / (1 + 10 ** (-g * (a.rating - b.rating) / 400)))
        told.append(np.array(chances))
        games = {}
        for i, j, w in zip(left, right, won, strict=True):
            games.setdefault(int(i), []).append((at(j).rating, at(j).rd, float(w)))
            games.setdefault(int(j), []).append((at(i).rating, at(i).rd, 1.0 - float(w)))
        for k, player in players.items():
            if k in games:
                player.update_player(*map(list, zip(*games[k], strict=True)))
            else:
                player.did_not_compete()
    return told


def trueskill(days, tau):
    """trueskill: a game after the other."""
    import trueskill as ts

    env = ts.TrueSkill(draw_probability=0, tau=tau)
    rating, told = {}, []
    for _, left, right, won in days:
        at = lambda k: rating.setdefault(int(k), env.create_rating())  # noqa: E731
        pairs = [(at(i), at(j)) for i, j in zip(left, right, strict=True)]
        spread = [math.sqrt(2 * env.beta**2 + a.sigma**2 + b.sigma**2) for a, b in pairs]
        told.append(np.array([PHI((a.mu - b.mu) / s) for (a, b), s in zip(pairs, spread, strict=True)]))
        for i, j, w in zip(left, right, won, strict=True):
            i, j = (int(i), int(j)) if w else (int(j), int(i))
            rating[i], rating[j] = ts.rate_1vs1(rating[i], rating[j], env=env)
    return told


def openskill(days, tau):
    """openskill's Plackett-Luce: a game after the other."""
    from openskill.models import PlackettLuce

    model = PlackettLuce(tau=tau)
    rating, told = {}, []
    for _, left, right, won in days:
        at = lambda k: rating.setdefault(int(k), model.rating())  # noqa: E731
        told.append(
            np.array([model.predict_win([[at(i)], [at(j)]])[0] for i, j in zip(left, right, strict=True)], dtype=float)
        )
        for i, j, w in zip(left, right, won, strict=True):
            i, j = (int(i), int(j)) if w else (int(j), int(i))
            [[rating[i]], [rating[j]]] = model.rate([[rating[i]], [rating[j]]])
    return told


def kickscore(days, variance):
    """kickscore: the whole history anew each day, a walk for every player."""
    import kickscore as ks

    told, seen = [], []
    for time, left, right, won in days:
        model = ks.BinaryModel()
        known = {int(k) for _, *sides, _ in seen for side in sides for k in side} | {*left.tolist(), *right.tolist()}
        for k in known:
            model.add_item(
                str(k), kernel=ks.kernel.Constant(var=1.0) + ks.kernel.Wiener(var=variance, t0=-1.0, var_t0=0.0)
            )
        for t, ls, rs, ws in seen:
            for i, j, w in zip(ls, rs, ws, strict=True):
                i, j = (i, j) if w else (j, i)
                model.observe(winners=[str(int(i))], losers=[str(int(j))], t=float(t))
        if seen:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model.fit(max_iter=30)
        pairs = zip(left, right, strict=True)
        each = [model.probabilities([str(int(i))], [str(int(j))], t=float(time))[0] if seen else 0.5 for i, j in pairs]
        told.append(np.array(each, dtype=float))
        seen.append((time, left, right, won))
    return told


def through_time(days, gamma):
    """trueskillthroughtime: the whole history anew each day."""
    import trueskillthroughtime as ttt

    told, games, times = [], [], []
    for time, left, right, won in days:
        skill = {}
        if games:
            history = ttt.History(games, times=times, sigma=1.6, beta=1.0, gamma=gamma)
            history.convergence(epsilon=0.01, iterations=10, verbose=False)
            for name, curve in history.learning_curves().items():
                last, found = curve[-1]
                skill[name] = found.mu, math.hypot(found.sigma, gamma * (time - last) ** 0.5)
        chances = []
        for i, j in zip(left, right, strict=True):
            (m, s), (o, r) = (skill.get(str(int(k)), (0.0, 1.6)) for k in (i, j))
            chances.append(PHI((m - o) / math.sqrt(2 + s**2 + r**2)))
        told.append(np.array(chances))
        for i, j, w in zip(left, right, won, strict=True):
            i, j = (i, j) if w else (j, i)
            games.append([[str(int(i))], [str(int(j))]])
            times.append(int(time))
    return told


def whole_history(days, w2):
    """whole-history-rating: ten sweeps more each day."""
    from whr import WHR

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        base, told, known = WHR({"w2": w2}), [], set()
        for time, left, right, won in days:
            rating = {k: base.ratings_for_player(str(k))[-1][1] for k in known}
            gaps = np.array(
                [rating.get(int(i), 0.0) - rating.get(int(j), 0.0) for i, j in zip(left, right, strict=True)]
            )
            told.append(1 / (1 + 10 ** (-gaps / 400)))
            for i, j, w in zip(left, right, won, strict=True):
                base.create_game(str(int(i)), str(int(j)), "B" if w else "W", int(time), 0)
                known |= {int(i), int(j)}
            base.iterate(10)
    return told


WAYS = {
    "podium, Elo": (elo, (8, 16, 32, 64, 128)),
    "glicko2": (glicko2, (0.03, 0.06, 0.15, 0.4)),
    "trueskill": (trueskill, (0.08, 0.3, 1.0, 2.5)),
    "openskill": (openskill, (0.08, 0.3, 1.0, 2.5)),
    "kickscore": (kickscore, (1e-4, 3e-3, 0.03)),
    "trueskillthroughtime": (through_time, (0.01, 0.05, 0.25)),
    "whole-history-rating": (whole_history, (2, 20, 300)),
}
