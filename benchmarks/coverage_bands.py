"""How often bands of scores that move, ranks, and bounds of chances of games to come hold, in simulated leagues.

python -m benchmarks.coverage_bands
"""

from __future__ import annotations

import warnings

import numpy as np

from benchmarks.printed import head, row

# Items, days, games a day, drift a day, spread of the first scores, data sets.
DESIGNS = (
    (8, 24, 4, 0.05, 0.8, 60),
    (8, 24, 4, 0.2, 0.8, 60),
    (20, 60, 10, 0.15, 1.0, 25),
    (20, 60, 10, 0.03, 1.0, 25),
    (16, 50, 8, 0.0, 1.0, 25),
)
AHEAD = 7  # days to the games to come


def simulate(n: int, days: int, games: int, drift: float, sd: float, sets: int) -> None:
    """Print a row of figures: each score a random walk, a home advantage of 0.3, no ties."""
    from podium import Comparisons, DynamicBradleyTerry

    rng = np.random.default_rng(1)
    bands, ends, ranks, chances = [], [], [], []
    for _ in range(sets):
        steps = rng.normal(size=(days + AHEAD, n)) * drift
        steps[0] = sd * rng.normal(size=n)
        truth = np.cumsum(steps, axis=0)
        pairs = np.concatenate([rng.permuted(np.tile(np.arange(n), (games, 1)), axis=1)[:, :2] for _ in range(days)])
        day = np.repeat(np.arange(days), games)
        margins = truth[day, pairs[:, 0]] - truth[day, pairs[:, 1]] + 0.3
        won = rng.random(len(day)) < 1.0 / (1.0 + np.exp(-margins))
        items = tuple(range(n))
        outcome = np.where(won, 1, -1).astype(np.int8)
        votes = Comparisons(items, pairs[:, 0], pairs[:, 1], outcome=outcome, sided=True, time=day.astype(float))
        model = DynamicBradleyTerry(side_effect=True).fit(votes)
        for when in np.unique(np.linspace(0, days - 1, 5).astype(int)).tolist():
            ranking = model.ranking_at(when)
            true = truth[when, list(ranking.items)]
            lower, upper = ranking.intervals(0.95)  # the bands of the curves at this time
            true = true - true.mean() + ranking.scores.mean()
            bands.append(np.mean((lower <= true) & (true <= upper)))
        ends.append(bands[-1])
        best, worst = model.ranking_.rank_intervals(0.95)
        known = np.array(model.ranking_.items)
        rank = np.argsort(np.argsort(-truth[days - 1, known])) + 1
        ranks.append(np.mean((best <= rank) & (rank <= worst)))
        one, other = np.triu_indices(n, 1)
        then = np.full(len(one), days + AHEAD - 1.0)
        fixtures = Comparisons(items, one, other, outcome=np.ones(len(one), np.int8), sided=True, time=then)
        lower, upper = (bound[:, 0] for bound in model.predict_interval(fixtures, 0.95))
        chance = 1.0 / (1.0 + np.exp(truth[-1, other] - truth[-1, one] - 0.3))
        chances.append(np.mean((lower <= chance) & (chance <= upper)))
    told = (bands, ends, ranks, chances)
    title = f"{n} teams, {days} days of {games} games, drift {drift:g} a day ({sets} leagues)"
    row(title, *(f"{np.mean(values):.1%}" for values in told), f"± {1.96 * np.std(ends) / np.sqrt(sets):.1%}")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    head("Simulated leagues", "Bands", "Last day", "Ranks", "Chances", "Error of the last day")
    for design in DESIGNS:
        simulate(*design)
