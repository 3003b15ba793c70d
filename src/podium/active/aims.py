"""The order that the votes speak for, by either aim.

"answers": the order that contradicts the fewest answers, those not given yet included as the models expect them; best
for consistent judges and for tastes that go round in circles. "truth": the order nearest to the one behind the noise.
Both are searches for the least disagreement with a square array of chances.
"""

from __future__ import annotations

import numpy as np

from podium.active.blocks import exchange_stretches, mend_stretches
from podium.active.model_scores import DENSE
from podium.active.models import Models
from podium.active.order import EXACT_LIMIT, SparseWins, exact_order, insertion_search, iterated_search
from podium.active.tally import Tally

__all__ = ["AIMS", "SQUARE", "best_order", "chances"]

AIMS = ("truth", "answers")
SQUARE = 1000  # up to so many items the search runs on a square array
RESTARTS = 20
NEARLY_CLEAN = 0.02  # share of mistakes up to which stretches of many items may stand the wrong way round
OWN_BY_SCORE = 0.05  # of a pair's own answer in model A's part, where the aim is the truth: the fit has used it already
OWN_BY_PLACE = 0.5  # in model B's part, whose fit is local
OWN_CLOSE = 0.1  # the same where all mistakes are close calls: an answer there is nearly a coin flip
CLOSE = 0.06  # of all ranks: the zone of close calls is so wide at least,
RARE = 0.01  # plain mistakes are no more than these,
KNOWN = 400  # and so many votes say so


def chances(models: Models) -> tuple[np.ndarray, np.ndarray]:
    """What both models expect of every pair: square arrays, chance that the row goes before the column."""
    n = len(models.scores.mean)
    first, second = np.triu_indices(n, 1)
    by_place = np.full((n, n), 0.5)
    by_place[first, second] = models.posterior.chances(np.column_stack([first, second]), models.table)
    by_place[second, first] = 1.0 - by_place[first, second]
    return models.scores.matrix()[0], by_place


def best_order(tally: Tally, models: Models, aim: str) -> np.ndarray:
    """Items, best first."""
    if not len(tally):
        return models.scores.order
    return _square_search(tally, models, aim) if tally.n <= SQUARE else _sparse_search(tally, models, aim)


def _square_search(tally: Tally, models: Models, aim: str) -> np.ndarray:
    by_score, by_place = chances(models)
    share = models.share
    points, total = tally.sums(models.weight)
    answer = points / total
    low, high = tally.pair_low, tally.pair_high
    if aim == "answers":
        wins = (1.0 - share) * by_score + share * by_place
        wins[low, high], wins[high, low] = answer, 1.0 - answer
    else:
        own_by_place = OWN_CLOSE if _close_calls_only(tally, models) else OWN_BY_PLACE
        for expected, own in ((by_score, OWN_BY_SCORE), (by_place, own_by_place)):
            blended = (1.0 - own) * expected[low, high] + own * answer
            expected[low, high], expected[high, low] = blended, 1.0 - blended
        wins = (1.0 - share) * by_score + share * by_place
    np.fill_diagonal(wins, 0.0)
    if tally.n <= min(EXACT_LIMIT, 12):
        return exact_order(wins)
    start = models.posterior.order if share > 0.5 else models.scores.order
    rng = np.random.default_rng(0)
    if tally.n <= DENSE:
        return iterated_search(wins, start, restarts=RESTARTS, rng=rng)
    return insertion_search(wins, exchange_stretches(wins, iterated_search(wins, start, restarts=3, rng=rng)))


def _close_calls_only(tally: Tally, models: Models) -> bool:
    """Whether mistakes are made among near items alone, as far as enough votes tell."""
    noise = models.posterior
    return len(tally) >= KNOWN and noise.scale >= CLOSE * tally.n and noise.floor <= RARE


def _sparse_search(tally: Tally, models: Models, aim: str) -> np.ndarray:
    if aim == "truth" and models.share < 0.5:
        return models.scores.order
    table: SparseWins = models.table
    order = table.insertion_search(table.window_search(table.insertion_search(models.posterior.order)))
    if models.posterior.floor > NEARLY_CLEAN:
        return order
    mended = mend_stretches(table, models.posterior.order)  # before single moves take the stretches apart
    return mended if table.cost(mended) < table.cost(order) else order
