"""What votes on chosen pairs can be used for: the spread of scores, their intervals, and what check pairs say instead.

    python -m papers.chosen_pairs                  20 runs a design, about ten minutes
    python -m papers.chosen_pairs --runs 2         a quick look

The planner asks a simulated judge whose true scores are normal with standard deviation 1 (a Bradley-Terry judge). Then

- the spread of true scores is estimated (`l2="auto"`) from all votes, and from those on random check pairs alone;
- scores are fitted with each spread, and their error is measured;
- the 95 % intervals of all votes, and those of check votes alone, are held against the true scores.

Check pairs are few and are drawn among pairs not yet asked, so they are no free sample either: see the docs' page on
asking for what was found.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np

from benchmarks.printed import head, row
from podium.active import ActiveRanker
from podium.data.comparisons import Comparisons
from podium.errors import PodiumWarning
from podium.pairwise.bradley_terry import BradleyTerry, common_sd
from podium.ranking.ranking import Ranking

DESIGNS = ((30, 10), (30, 20), (30, 40), (100, 10), (100, 20))  # items, questions an item
COLUMNS = ("true sd", "sd, all votes", "sd, check votes", "error, all", "error, check", "holds, all", "holds, check")


def asked(n: int, per_item: int, seed: int) -> tuple[np.ndarray, Comparisons, Comparisons]:
    """True scores, all votes of a run, and those on check pairs."""
    rng = np.random.default_rng([seed, n, per_item])
    truth = rng.normal(size=n)
    ranker = ActiveRanker(range(n), budget=n * per_item, seed=seed)
    while not ranker.done:
        pairs = ranker.ask()
        if not len(pairs):
            break
        chances = [1 / (1 + np.exp(truth[right] - truth[left])) for left, right in pairs]
        ranker.tell(pairs, [float(rng.random() < chance) for chance in chances])
    return truth, ranker.comparisons, ranker.check_comparisons


def held(ranking: Ranking, truth: np.ndarray) -> float:
    """The share of the 95 % intervals that hold the true score, the mean of the items that were met held fixed."""
    met = np.array([int(item) for item in ranking.items])  # type: ignore[call-overload]
    lower, upper = ranking.intervals()
    true = truth[met] - truth[met].mean()
    return float(np.mean((lower <= true) & (true <= upper)))


def error(ranking: Ranking, truth: np.ndarray) -> float:
    """Root mean square error of the scores of items that were met."""
    met = np.array([int(item) for item in ranking.items])  # type: ignore[call-overload]
    true = truth[met] - truth[met].mean()
    return float(np.sqrt(np.mean((ranking.scores - ranking.scores.mean() - true) ** 2)))


def one(n: int, per_item: int, seed: int) -> tuple[float, ...]:
    """The figures of one run, as `COLUMNS` names them."""
    truth, votes, checks = asked(n, per_item, seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PodiumWarning)
        whole, spread = BradleyTerry().fit(votes), common_sd(BradleyTerry(), [checks])
        other = BradleyTerry().fit(votes, sd=spread)
        return (
            float(truth.std()),
            float(whole.sd_ or 0.0),
            spread,
            error(whole.ranking_, truth),
            error(other.ranking_, truth),
            held(whole.ranking_, truth),
            held(BradleyTerry().fit(checks).ranking_, truth),
        )


def main() -> None:
    """Print a row for each design, with twice the standard error of each mean."""
    parser = argparse.ArgumentParser(description="What votes on chosen pairs can be used for.")
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--seed", type=int, default=100)
    given = parser.parse_args()
    head("Items", "Questions an item", *(name.capitalize() for name in COLUMNS))
    for n, per_item in DESIGNS:
        rows = np.array([one(n, per_item, given.seed + k) for k in range(given.runs)])
        mean, spread = np.mean(rows, axis=0), 2 * np.std(rows, axis=0) / np.sqrt(len(rows))
        row(n, per_item, *(f"{each:.2f} ± {more:.2f}" for each, more in zip(mean, spread, strict=True)))


if __name__ == "__main__":
    main()
