"""Does `podium check` ring when it should, and only then? Simulated votes, honest and cyclic.

    python -m papers.check_level                  400 sets a design, about ten minutes
    python -m papers.check_level --sets 50        a quick look

Honest votes come from Bradley-Terry with normal scores (standard deviation 0.8). Each p-value must be below 0.05 in at
most 7 % of the sets, and any of the three in at most 15 %, from three votes an item up. Cyclic votes are drawn as if
items stood on a circle and each beat those that follow it: there the share of alarms is the power, shown, not promised.
`too few` is the share of sets in which all three tests said that votes are too few to tell.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np

from podium.data.comparisons import Comparisons
from podium.errors import PodiumWarning
from podium.evaluate.diagnosis import diagnose
from podium.pairwise.bradley_terry import BradleyTerry

ITEMS, VOTES = (8, 30, 100), (3, 6, 10, 30)
KINDS = ("honest", "tied", "sided", "weighted", "cyclic")
MAX_EACH, MAX_ANY = 0.07, 0.15


def draw(kind: str, n: int, per_item: int, rng: np.random.Generator) -> Comparisons:
    """One set of votes: about `per_item` votes an item on random pairs."""
    count = n * per_item // 2
    left = rng.integers(n, size=count)
    right = (left + rng.integers(1, n, size=count)) % n
    truth = 0.8 * rng.normal(size=n)
    margin = truth[left] - truth[right]
    if kind == "cyclic":
        angle = 2 * np.pi * rng.permutation(n) / n
        margin = 2.0 * np.sin(angle[left] - angle[right])
    if kind == "sided":
        margin = margin + 0.5
    won = rng.random(count) < 1 / (1 + np.exp(-margin))
    outcome = np.where(won, 1.0, 0.0)
    if kind == "tied":
        outcome[rng.random(count) < 0.25] = 0.5
    more = {"weight": rng.exponential(size=count)} if kind == "weighted" else {}
    frame = {"left": left, "right": right, "outcome": outcome, **more}
    import polars as pl

    return Comparisons.from_frame(
        pl.DataFrame(frame), left="left", right="right", outcome="outcome", **dict.fromkeys(more, "weight")
    )


def study(kind: str, n: int, per_item: int, sets: int, seed: int, replicates: int = 99) -> np.ndarray:
    """Shares of sets in which each test rings, any does, and all say that votes are too few."""
    rang = np.zeros(5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PodiumWarning)
        for index in range(sets):
            rng = np.random.default_rng([seed, n, per_item, KINDS.index(kind), index])
            votes = draw(kind, n, per_item, rng)
            ties = "davidson" if kind == "tied" else "half"
            model = BradleyTerry(ties=ties, side_effect=kind == "sided").fit(votes)
            found = diagnose(votes, model, replicates=replicates, splits=1, influence=False, seed=index)
            tests = (found.largest, found.dispersion, found.cyclic)
            ring = [test.significant for test in tests]
            rang += [*ring, any(ring), not any(test.enough for test in tests)]
    return rang / sets


def main() -> None:
    """Print the table of alarms and say whether the levels hold."""
    parser = argparse.ArgumentParser(description="How often the tests of `podium check` ring.")
    parser.add_argument("--sets", type=int, default=400, help="simulated data sets per design")
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=KINDS, help="kinds of votes")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    print(
        f"{'votes':<10}{'items':>6}{'an item':>9}{'largest':>9}{'dispersion':>12}{'cyclic':>8}{'any':>7}{'too few':>9}"
    )
    wrong = 0
    for kind in given.kinds:
        for n in ITEMS:
            for per_item in VOTES:
                shares = study(kind, n, per_item, given.sets, given.seed)
                cells = "".join(
                    f"{100 * share:{width}.1f}" for share, width in zip(shares, (9, 12, 8, 7, 9), strict=True)
                )
                slack = 2 * np.sqrt(np.array([0.07 * 0.93] * 3 + [0.15 * 0.85]) / given.sets)
                broken = kind != "cyclic" and (shares[:4] > [MAX_EACH + slack[0]] * 3 + [MAX_ANY + slack[3]]).any()
                wrong += broken
                print(f"{kind:<10}{n:>6}{per_item:>9}{cells}{'  !' if broken else ''}", flush=True)
    print(f"{wrong} designs ring too often" if wrong else "every test keeps its level")
    raise SystemExit(bool(wrong))


if __name__ == "__main__":
    main()
