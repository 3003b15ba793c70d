"""How large a side effect of .5 comes out, how often its interval holds, and how often those of the scores do.

    python -m benchmarks.coverage_effects [--sets 200] [--seed 1] [--items 30] [--votes 10 30] [--only Crowd]
    python -m benchmarks.coverage_effects --only Dynamic --known-drift    leagues are told their drift, which is quicker

Scores are draws from N(0, 0.8²). Sides are drawn at random, or the better item stands on the left with the chance
σ(1.5 × how much better it is). Leagues move by so much a day over 30 days; judges (30 of them) are alike, or have
slopes N(1, 0.4²) and leans N(.5, .4²).
"""

from __future__ import annotations

import argparse
import warnings
from typing import Any

import numpy as np

from benchmarks.printed import head, row

EFFECT, SD = 0.5, 0.8
DAYS, JUDGES = 30, 30


def chance(x: Any) -> Any:
    """The logistic function."""
    return 1.0 / (1.0 + np.exp(-x))


def draw(rng: np.random.Generator, n: int, votes: int, pull: float, drift: float = 0.0, differ: float = 0.0):
    """Votes with times, judges and sides; true scores on the last day; features that explain half of the first ones."""
    from podium import Comparisons

    m = n * votes // 2
    steps = drift * rng.normal(size=(DAYS, n))
    features = rng.normal(size=(n, 3))
    steps[0] = SD * np.sqrt(0.5) * (features @ np.full(3, 3**-0.5) + rng.normal(size=n))
    truth = np.cumsum(steps, axis=0)
    day = np.sort(rng.integers(0, DAYS, m))
    one = rng.integers(0, n, m)
    other = (one + rng.integers(1, n, m)) % n
    stays = rng.random(m) < chance(pull * (truth[day, one] - truth[day, other]))
    left, right = np.where(stays, one, other), np.where(stays, other, one)
    judge = rng.integers(0, JUDGES, m)
    slope, lean = 1.0 + differ * rng.normal(size=JUDGES), EFFECT + differ * rng.normal(size=JUDGES)
    won = rng.random(m) < chance(slope[judge] * (truth[day, left] - truth[day, right]) + lean[judge])
    votes_ = Comparisons(
        tuple(range(n)),
        left.astype(np.int32),
        right.astype(np.int32),
        outcome=np.where(won, 1, -1).astype(np.int8),
        sided=True,
        time=day.astype(float),
        judge=judge.astype(np.int32),
        judges=tuple(range(JUDGES)),
    )
    return votes_, truth[-1], features


def fitted(name: str, votes: Any, features: Any, drift: float | str = "auto") -> tuple[Any, float, float]:
    """A ranker, the effect it found and the error of it."""
    from podium import RABF, BradleyTerry, CrowdBradleyTerry, DynamicBradleyTerry

    if name == "BradleyTerry":
        model: Any = BradleyTerry(side_effect=True).fit(votes)
    elif name == "CrowdBradleyTerry":
        model = CrowdBradleyTerry(side_effect=True).fit(votes)
    elif name == "DynamicBradleyTerry":
        model = DynamicBradleyTerry(drift=drift, side_effect=True).fit(votes)
        return model, model.side_effect_, float(model.effect_std_errors_[0])
    else:
        model = RABF(side_effect=True).fit(votes, features if "features" in name else None)
    return model, model.side_effect_, model.side_effect_std_error_


# Name, what is drawn.
RANKERS: tuple[tuple[str, dict[str, float]], ...] = (
    ("BradleyTerry", {}),
    ("RABF", {}),
    ("RABF, features", {}),
    ("DynamicBradleyTerry", {}),
    ("DynamicBradleyTerry", {"drift": 0.05}),
    ("DynamicBradleyTerry", {"drift": 0.2}),
    ("CrowdBradleyTerry", {}),
    ("CrowdBradleyTerry", {"differ": 0.4}),
)


def study(name: str, kind: dict[str, float], n: int, votes: int, pull: float, asked: argparse.Namespace) -> str:
    """A cell of figures: the mean effect with its error, how often its interval holds, and those of scores."""
    sets, seed, drift = asked.sets, asked.seed, kind.get("drift", 0.0) if asked.known_drift else "auto"
    effects, errors, held = [], [], []
    for k in range(sets):
        data, truth, features = draw(np.random.default_rng([seed, k, n, votes]), n, votes, pull, **kind)
        model, effect, error = fitted(name, data, features, drift)
        effects.append(effect)
        errors.append(error)
        ranking = model.ranking_
        lower, upper = ranking.intervals(0.95)
        true = truth[list(ranking.items)]
        true = true - true.mean() + ranking.scores.mean()
        held.append(np.mean((lower <= true) & (true <= upper)))
    off = np.array(effects) - EFFECT
    noise = off.std() / np.sqrt(sets)
    hold = np.mean(np.abs(off) <= 1.96 * np.array(errors))
    return f"{np.mean(effects):.2f} ± {1.96 * noise:.2f}, {hold:.0%}; {np.mean(held):.0%}"


def main() -> None:
    """Print all lines."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--sets", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--items", type=int, default=30)
    parser.add_argument("--votes", type=int, nargs="+", default=[10, 30])
    parser.add_argument("--only", default="", help="part of a line's title, as Crowd or 'drift 0.2'")
    parser.add_argument("--known-drift", action="store_true", help="give leagues their true drift, which is quicker")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    designs = [(votes, pull) for votes in asked.votes for pull in (0.0, 1.5)]
    head("", *(f"{votes} votes, {'better left' if pull else 'random sides'}" for votes, pull in designs))
    for name, kind in RANKERS:
        told = "".join(f", {key} {value:g}" for key, value in kind.items())
        if asked.only in name + told:
            row(f"`{name}`{told}", *(study(name, kind, asked.items, *design, asked) for design in designs))


if __name__ == "__main__":
    main()
