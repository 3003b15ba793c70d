"""Leagues whose strengths move: which way predicts the next day best, and what a fit costs.

    python -m benchmarks.leagues            held out by date: predict, then learn; log score in nats a game (--seeds)
    python -m benchmarks.leagues --speed    100,000 games of 1,000 players
    python -m benchmarks.leagues --drift    the drift found in the first 30 % of slow leagues, and how likely it is

Strengths are simulated random walks with a known drift. Every way is tuned on the first 30 % of the games by date, over
a grid, and scored on the rest; ours takes its drift from the same 30 % by marginal likelihood. `worse` is the mean
difference to ours, game by game, with its standard error. The table at the end has the best of the others in hindsight,
and how many standard errors it was worse (+) or better (-) than ours.
"""

import argparse
import time

import numpy as np

from benchmarks.peers.leagues import WAYS
from benchmarks.printed import head, row

LEAGUES = {  # players, days, games a day, spread, drift a day
    "slow": (20, 60, 10, 0.8, 0.03),
    "fast": (20, 60, 10, 0.8, 0.15),
    "many players": (50, 40, 20, 1.0, 0.08),
    "still": (16, 60, 8, 1.0, 0.0),
}
FIRST = 0.3


def league(n, days, games, sd, drift, rng):
    """(time, left, right, won) of every day."""
    strength, told = rng.normal(0.0, sd, n), []
    for day in range(days):
        strength = strength + rng.normal(0.0, drift, n)
        left = rng.integers(0, n, games)
        right = (left + rng.integers(1, n, games)) % n
        won = rng.random(games) < 1 / (1 + np.exp(strength[right] - strength[left]))
        told.append((float(day), left, right, won))
    return told


def losses(told, days):
    """Log loss of every game."""
    chance = np.clip(np.concatenate(told), 1e-9, 1 - 1e-9)
    won = np.concatenate([day[3] for day in days])
    return -np.where(won, np.log(chance), np.log(1 - chance))


def comparisons(days):
    from podium import Comparisons

    left, right, won = (np.concatenate([day[k] for day in days]) for k in (1, 2, 3))
    when = np.concatenate([np.full(len(day[1]), day[0]) for day in days])
    items = tuple(range(1 + int(max(left.max(), right.max()))))
    return Comparisons(items, left, right, outcome=np.where(won, 1, -1).astype(np.int8), sided=True, time=when)


def ours(days):
    from podium import DynamicBradleyTerry
    from podium.evaluate import forecasts

    return forecasts(DynamicBradleyTerry(), comparisons(days), start=FIRST)[:, 0]


def held_out(seeds, only):
    table = {}
    for name, shape in LEAGUES.items():
        title = f"{name}: {shape[0]} players, drift {shape[4]:g} a day"
        for seed in seeds:
            table.setdefault(title, []).append(_one_league(f"{title}, seed {seed}", shape, seed, only))
    print(f"\nlog loss a game, seeds {', '.join(map(str, seeds))}")
    head("League", "Podium", "Best of the others", "Standard errors")
    for title, found in table.items():
        best = [min(others, key=lambda way: others[way][0]) if others else None for _, others in found]
        cells = [f"{others[way][0]:.3f} {way}" if way else "–" for way, (_, others) in zip(best, found, strict=True)]
        apart = [f"{others[way][1]:+.1f}" if way else "–" for way, (_, others) in zip(best, found, strict=True)]
        row(title, ", ".join(f"{mine:.3f}" for mine, _ in found), ", ".join(cells), ", ".join(apart))


def _one_league(title, shape, seed, only):
    """Our log loss, and that of each other way with the standard errors between the two."""
    days = league(*shape, np.random.default_rng(seed))
    first = int(FIRST * len(days))
    known = sum(len(day[1]) for day in days[:first])
    begin = time.process_time()
    mine = losses([ours(days)], days)[known:]
    print(f"\n{title}\n  {'podium':30} {mine.mean():.4f}   {time.process_time() - begin:6.1f} s CPU", flush=True)
    found = {}
    for way, (run, grid) in WAYS.items():
        if only and way not in only:
            continue
        begin = time.process_time()
        try:
            early = {value: losses(run(days[:first], value), days[:first])[known // 3 :].mean() for value in grid}
            best = min(early, key=early.get)
            theirs = losses(run(days, best), days)[known:]
        except ImportError as problem:
            print(f"  {way:30} not installed ({problem.name})")
            continue
        except Exception as problem:  # a rival's own trouble is no reason to stop
            print(f"  {way:30} failed: {type(problem).__name__}: {problem}")
            continue
        worse = theirs - mine
        error = worse.std() / np.sqrt(len(worse))
        found[way] = theirs.mean(), worse.mean() / error
        spent, told = time.process_time() - begin, f"worse {worse.mean():+.4f} ± {error:.4f}  ({best})"
        print(f"  {way:30} {theirs.mean():.4f}   {spent:6.1f} s CPU   {told}", flush=True)
    return mine.mean(), found


def speed():
    from podium import DynamicBradleyTerry

    days = league(1000, 1000, 100, 1.0, 0.02, np.random.default_rng(1))
    votes = comparisons(days)
    DynamicBradleyTerry(drift=0.02, sd=1.0).fit(comparisons(days[:2]))  # warm
    head("100,000 games of 1,000 players on 1,000 days", "CPU")

    def timed(what, work):
        begin = time.process_time()
        found = work()
        row(what, f"{time.process_time() - begin:.2g} s")
        return found

    model = timed("scores at a given drift", lambda: DynamicBradleyTerry(drift=0.02, sd=1.0).fit(votes))
    more = comparisons([(1000.0, *league(1000, 1, 100, 1.0, 0.02, np.random.default_rng(2))[0][1:])])
    timed("one more day of 100 games", lambda: model.partial_fit(more))
    timed("scores, drift and spread from the games", lambda: DynamicBradleyTerry().fit(votes))
    try:
        from whr import WHR
    except ImportError:
        print("\nnot installed: whole-history-rating")
        return
    base = WHR({"w2": 12})
    for when, left, right, won in days:
        for i, j, w in zip(left.tolist(), right.tolist(), won.tolist(), strict=True):
            base.create_game(str(i), str(j), "B" if w else "W", int(when), 0)
    timed("whole-history-rating: 10 sweeps, without reading", lambda: base.iterate(10))


def drifts(leagues=50):
    """How far the drift found from 180 games is from the true one, and whether Laplace's approximation is to blame."""
    from podium import DynamicBradleyTerry

    def first(seed):
        days = league(*LEAGUES["slow"], np.random.default_rng(seed))
        return comparisons(days[: int(FIRST * len(days))])

    found = np.array([DynamicBradleyTerry().fit(first(seed)).drift_ for seed in range(100, 100 + leagues)])
    head(f"Drift found in 180 games of {leagues} leagues, truly .03 a day", "Leagues")
    row("none", f"{np.mean(found == 0):.0%}")
    row("some, below .3", f"{np.mean((found > 0) & (found < 0.3)):.0%}")
    row(".3 or more", f"{np.mean(found >= 0.3):.0%}")
    games = first(2)
    head("Drift, the league of seed 2", "Log evidence, Laplace's approximation", "By importance sampling")
    for drift in (0.0001, 0.03, 0.1, 0.2, 0.34, 0.6):
        model = DynamicBradleyTerry(drift=drift, sd=0.57).fit(games)
        estimate, error = sampled_evidence(model._posterior, np.random.default_rng(0))
        row(f"{drift:g}", f"{model.log_evidence_:.2f}", f"{estimate:.2f} ± {error:.2f}")


def sampled_evidence(posterior, rng, draws=20_000):
    """Log marginal likelihood by draws from the normal at the optimum, and the standard error of it."""
    model, point, n = posterior.model, posterior.point, len(posterior.model.walks)
    hessian, prior = (
        np.column_stack([each.times(unit) for unit in np.eye(n)])
        for each in (posterior.system, posterior.found.precision)
    )
    factor, logs = np.linalg.cholesky(hessian), []
    for _ in range(draws // 1000):
        normal = rng.normal(size=(1000, n))
        scores = point.scores + np.linalg.solve(factor.T, normal.T).T
        likely = [-model.loss(model.rows.margin(each, point.extras), point.extras)[0] for each in scores]
        walks = -0.5 * np.einsum("ij,ij->i", scores @ prior, scores)
        logs.append(likely + walks + 0.5 * (normal**2).sum(axis=1))
    logs = np.concatenate(logs)
    weights = np.exp(logs - logs.max())
    constant = 0.5 * posterior.found.precision.log_determinant - np.log(factor.diagonal()).sum()
    return logs.max() + np.log(weights.mean()) + constant, weights.std() / weights.mean() / np.sqrt(len(weights))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--speed", action="store_true")
    parser.add_argument("--drift", action="store_true")
    parser.add_argument("--seeds", type=int, nargs="+", default=(1,))
    parser.add_argument("--only", nargs="*", default=())
    options = parser.parse_args()
    if options.speed:
        speed()
    elif options.drift:
        drifts()
    else:
        held_out(options.seeds, options.only)
