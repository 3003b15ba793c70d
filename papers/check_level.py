"""Does `podium check` ring when it should, and only then? Simulated votes, honest and not.

    python -m papers.check_level                  400 sets a design, about an hour
    python -m papers.check_level --sets 50        a quick look

Honest votes come from Bradley-Terry with normal scores (standard deviation 0.8), some with ties: for every vote alike
("tied", ranked by Davidson's model) or as Davidson's model has them ("halved", ranked with ties as half wins); "dense"
ones are 10,000 an item. Each line of `podium check` must be marked in at most 7 % of the sets, and any in at most 15 %,
from three votes an item up.

Other votes ought to be found out, and there the share of marks is the power, shown, not promised. "cyclic" ones are
drawn as if items stood on a circle and each beat those that follow it; in "planar" ones items are normal points of the
plane, and each beats those to its left by twice the area between them, in "mixed" ones with scores on top; in "stuffed"
ones a judge gives a quarter of the votes, all for one middling item. `too few` is the share of sets in which all three
tests of the fit said that votes are too few to tell.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np

from benchmarks.printed import head, row
from podium.data.comparisons import Comparisons
from podium.errors import PodiumWarning
from podium.evaluate.diagnosis import diagnose
from podium.pairwise.bradley_terry import BradleyTerry

ITEMS, VOTES = (8, 30, 100), (3, 6, 10, 30)
DENSE = 10_000
KINDS = ("honest", "tied", "halved", "sided", "weighted", "cyclic", "stuffed", "planar", "mixed")
HONEST = KINDS[:5]
MARKS = ("Largest residual", "Over-dispersion", "Transitivity", "Split-half reliability", "Influence of an item",
         "Influence of a judge")  # fmt: skip
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
    if kind in ("planar", "mixed"):
        spot = rng.normal(size=(n, 2))
        cycle = spot[left, 0] * spot[right, 1] - spot[left, 1] * spot[right, 0]
        margin = 2.0 * cycle + (margin if kind == "mixed" else 0.0)
    if kind == "sided":
        margin = margin + 0.5
    tie = 0.8 if kind == "halved" else 0.0
    chances = np.array([np.exp(margin / 2), np.full(count, tie), np.exp(-margin / 2)])
    point = rng.random(count) * chances.sum(axis=0)
    outcome = np.where(point < chances[0], 1.0, np.where(point < chances[0] + tie, 0.5, 0.0))
    if kind == "tied":
        outcome[rng.random(count) < 0.25] = 0.5
    judge = rng.integers(min(8, max(2, count // 5)), size=count)
    if kind == "stuffed":
        eve = np.flatnonzero(rng.random(count) < 0.25)
        left[eve] = np.argsort(truth)[n // 2]
        right[eve] = (left[eve] + rng.integers(1, n, size=len(eve))) % n
        outcome[eve], judge[eve] = 1.0, 99
    more = {"weight": rng.exponential(size=count)} if kind == "weighted" else {}
    frame = {"left": left, "right": right, "outcome": outcome, "judge": judge, **more}
    import polars as pl

    columns = {name: name for name in frame}
    return Comparisons.from_frame(pl.DataFrame(frame), **columns)


def study(kind: str, n: int, per_item: int, sets: int, seed: int, replicates: int = 99) -> dict[str, float]:
    """Shares of sets in which each line is marked, any is, and all tests of the fit say that votes are too few."""
    rang = dict.fromkeys([*MARKS, "any", "too few"], 0.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PodiumWarning)
        for index in range(sets):
            rng = np.random.default_rng([seed, n, per_item, KINDS.index(kind), index])
            votes = draw(kind, n, per_item, rng)
            ties = "davidson" if kind == "tied" else "half"
            model = BradleyTerry(ties=ties, side_effect=kind == "sided").fit(votes)
            found = diagnose(votes, model, replicates=replicates, splits=5, seed=index)
            for concern in found.concerns:
                rang[concern.name] += 1 / sets
            rang["any"] += bool(found.concerns) / sets
            rang["too few"] += (not any(test.enough for test in (found.largest, found.dispersion, found.cyclic))) / sets
    return rang


def main() -> None:
    """Print the table of alarms and say whether the levels hold."""
    parser = argparse.ArgumentParser(description="How often the lines of `podium check` are marked.")
    parser.add_argument("--sets", type=int, default=400, help="simulated data sets per design")
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=KINDS, help="kinds of votes")
    parser.add_argument("--items", nargs="+", type=int, default=ITEMS, help="numbers of items")
    parser.add_argument("--votes", nargs="+", type=int, default=VOTES, help="votes an item")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    heads = (*MARKS[:4], "An item", "A judge", "Any", "Too few votes to tell")
    head("Votes", "Items", "Votes an item", *heads)
    wrong = 0
    designs = [(n, per_item) for n in given.items for per_item in given.votes]
    for kind in given.kinds:
        dense = [(8, DENSE)] if tuple(given.votes) == VOTES and kind != "cyclic" else []
        for n, per_item in designs + dense:
            shares = study(kind, n, per_item, given.sets, given.seed)
            each = MAX_EACH + 2 * np.sqrt(MAX_EACH * (1 - MAX_EACH) / given.sets)
            some = MAX_ANY + 2 * np.sqrt(MAX_ANY * (1 - MAX_ANY) / given.sets)
            broken = kind in HONEST and (max(shares[mark] for mark in MARKS) > each or shares["any"] > some)
            wrong += broken
            row(
                f"{kind}, too often" if broken else kind,
                n,
                f"{per_item:,}",
                *(f"{share:.0%}" for share in shares.values()),
            )
    print(f"{wrong} designs ring too often" if wrong else "every line keeps its level")
    raise SystemExit(bool(wrong))


if __name__ == "__main__":
    main()
