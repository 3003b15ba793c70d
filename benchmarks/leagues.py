"""Leagues whose strengths move: which way predicts the next day best, and what a fit costs.

    python -m benchmarks.leagues            held out by date: predict, then learn; log score in nats a game
    python -m benchmarks.leagues --speed    100,000 games of 1,000 players
    python -m benchmarks.leagues --drift    the drift found in the first 30 % of slow leagues, and how likely it is

Strengths are simulated random walks with a known drift. Every way is tuned on the first 30 % of the games by date, over
a grid, and scored on the rest; ours takes its drift from the same 30 % by marginal likelihood. `worse` is the mean
difference to ours, game by game, with its standard error.
"""

import argparse
import time

import numpy as np

from benchmarks.peers.leagues import WAYS

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


def held_out(seed, only):
    for name, shape in LEAGUES.items():
        days = league(*shape, np.random.default_rng(seed))
        first = int(FIRST * len(days))
        known = sum(len(day[1]) for day in days[:first])
        begin = time.process_time()
        mine = losses([ours(days)], days)[known:]
        print(f"\n{name}: {shape[0]} players, {shape[1]} days of {shape[2]} games, drift {shape[4]}")
        print(
            f"  {'podium, DynamicBradleyTerry':30} {mine.mean():.4f}   {time.process_time() - begin:6.1f} s CPU",
            flush=True,
        )
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
            spent = time.process_time() - begin
            told = f"worse {worse.mean():+.4f} ± {error:.4f}  ({best})"
            print(f"  {way:30} {theirs.mean():.4f}   {spent:6.1f} s CPU   {told}", flush=True)


def speed():
    from podium import DynamicBradleyTerry

    days = league(1000, 1000, 100, 1.0, 0.02, np.random.default_rng(1))
    votes = comparisons(days)
    begin = time.process_time()
    model = DynamicBradleyTerry(drift=0.02, sd=1.0).fit(votes)
    mine = time.process_time() - begin
    print(f"podium, 100,000 games of 1,000 players at a given drift: {mine:.2f} s CPU, {model.n_iter_} Newton steps")
    more = comparisons([(1000.0, *league(1000, 1, 100, 1.0, 0.02, np.random.default_rng(2))[0][1:])])
    begin = time.process_time()
    model.partial_fit(more)
    print(f"podium, one more day of 100 games: {time.process_time() - begin:.2f} s CPU, {model.n_iter_} Newton steps")
    begin = time.process_time()
    found = DynamicBradleyTerry().fit(votes)
    print(
        f"podium, drift and spread from the votes: {time.process_time() - begin:.1f} s CPU (drift {found.drift_:.4f})"
    )
    from whr import WHR

    base = WHR({"w2": 12})
    for when, left, right, won in days:
        for i, j, w in zip(left.tolist(), right.tolist(), won.tolist(), strict=True):
            base.create_game(str(i), str(j), "B" if w else "W", int(when), 0)
    begin = time.process_time()
    base.iterate(10)
    theirs = time.process_time() - begin
    print(f"whole-history-rating, 10 sweeps without reading: {theirs:.1f} s CPU; ours is {mine / theirs:.4f} of it")


def drifts(leagues=50):
    """How far the drift found from 180 games is from the true one, and whether Laplace's approximation is to blame."""
    from podium import DynamicBradleyTerry

    def first(seed):
        days = league(*LEAGUES["slow"], np.random.default_rng(seed))
        return comparisons(days[: int(FIRST * len(days))])

    found = np.array([DynamicBradleyTerry().fit(first(seed)).drift_ for seed in range(100, 100 + leagues)])
    shares = f"none in {np.mean(found == 0):.0%}, at least .3 in {np.mean(found >= 0.3):.0%}"
    print(f"{leagues} slow leagues, drift .03: drift found from 180 games: {shares}")
    games = first(2)
    print("the league of seed 2: log evidence by Laplace's approximation, and by importance sampling")
    for drift in (0.0001, 0.03, 0.1, 0.2, 0.34, 0.6):
        model = DynamicBradleyTerry(drift=drift, sd=0.57).fit(games)
        estimate, error = sampled_evidence(model._posterior, np.random.default_rng(0))
        print(f"  drift {drift:<7g} {model.log_evidence_:9.3f} {estimate:9.3f} ± {error:.3f}", flush=True)


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
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", nargs="*", default=())
    options = parser.parse_args()
    if options.speed:
        speed()
    elif options.drift:
        drifts()
    else:
        held_out(options.seed, options.only)
