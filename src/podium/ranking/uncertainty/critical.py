"""Critical values: how many standard errors apart two items must be to be called different, for several promises.

Each is the quantile of a largest value over draws from the scores' covariance, simulated with a fixed seed so that the
same votes always give the same answer. With very many items the bound of Bonferroni is taken instead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from weakref import WeakKeyDictionary

import numpy as np

from podium.kernels.pairwise.uncertainty import (
    largest_flips,
    largest_gaps,
    largest_one_sided_gaps,
    largest_own_gaps,
)
from podium.ranking.uncertainty.score_covariance import ScoreCovariance, width_at

__all__ = ["DRAWS", "all_pairs_value", "joint_value", "noise_blocks", "own_pairs_values", "row_blocks", "stepped_value"]

BLOCK = 256  # rows of an n × n comparison held at once
DRAWS = 10_000  # simulated score vectors
MAX_OPERATIONS = 2e9  # of one simulation over all pairs: some 450 items
CAUTION = 5  # share of the error allowed that a posterior may spend is one over this
MAX_STEPPED_OPERATIONS = 4e8  # of one step of several: some 200 items
SEED = 20_170  # fixed, so that the same data always give the same intervals

_JOINT_VALUES: WeakKeyDictionary[ScoreCovariance, dict[tuple[float, bytes], float]] = WeakKeyDictionary()


def all_pairs_value(scores: np.ndarray, covariance: ScoreCovariance, level: float) -> float:
    """Critical value at which all pairs together are called wrongly with chance 1 − level at most (Tukey's idea)."""
    n, order = len(scores), _best_first(scores, covariance)
    if n < 2:
        return width_at(level)
    if covariance.open_ended is not None:
        # Each open-ended item takes its share of the error allowed, the pairs of bounded items have the rest.
        bounded, error = order[~covariance.open_ended[order]], 1 - level
        ends = width_at(1 - error / n)
        if len(bounded) < 2:
            return ends
        own = all_pairs_value(scores[bounded], covariance.among(bounded), 1 - error * len(bounded) / n)
        return max(own, ends)
    if covariance.matrix is None:
        return width_at(level ** (1 / n))  # Šidák over the marginal intervals
    bound = width_at(1 - (1 - level) / (n * (n - 1) / 2))
    if n * n * DRAWS > MAX_OPERATIONS:
        return bound
    ordered = covariance.among(order)
    return min(_simulated(ordered, _precisions(ordered), largest_gaps, level), bound)


def own_pairs_values(scores: np.ndarray, covariance: ScoreCovariance, level: float) -> np.ndarray:
    """For each item the critical value at which its own pairs together are called wrongly with chance 1 − level.

    Mogstad, Romano, Shaikh & Wilhelm (2024): the largest standardised difference to any other item.
    """
    n, order = len(scores), _best_first(scores, covariance)
    if covariance.open_ended is not None:
        bounded, error = order[~covariance.open_ended[order]], 1 - level
        values = np.full(n, width_at(1 - error / n))
        if len(bounded) > 1:
            among = own_pairs_values(scores[bounded], covariance.among(bounded), 1 - error * len(bounded) / n)
            values[bounded] = np.maximum(among, values[bounded])
        return values
    bound = width_at(1 - (1 - level) / max(n - 1, 1))
    if covariance.matrix is None:
        return np.full(n, all_pairs_value(scores, covariance, level))
    if n < 3 or n * n * DRAWS > MAX_OPERATIONS:
        return np.full(n, bound)
    ordered = covariance.among(order)
    precision, largest, done = _precisions(ordered), np.empty((DRAWS, n)), 0
    for noise in noise_blocks(ordered, n, DRAWS):
        largest_own_gaps(np.ascontiguousarray(noise), precision, largest[done : done + len(noise)])
        done += len(noise)
    simulated = np.quantile(largest, level, axis=0, method="higher")
    values = np.empty(n)
    values[order] = np.clip(simulated, width_at(level), bound)
    return values


def stepped_value(scores: np.ndarray, covariance: ScoreCovariance, level: float) -> float:
    """As `all_pairs_value`, less blunt: "i is not above j" that is rejected no longer counts (Romano & Wolf 2005).

    What is left are the other one-sided hypotheses, over which the largest difference is smaller.
    """
    value, n, order = all_pairs_value(scores, covariance, level), len(scores), _best_first(scores, covariance)
    if covariance.open_ended is not None:
        bounded, error = order[~covariance.open_ended[order]], 1 - level
        if len(bounded) < 2:
            return value
        own = stepped_value(scores[bounded], covariance.among(bounded), 1 - error * len(bounded) / n)
        return max(own, width_at(1 - error / n))
    if covariance.matrix is None or n * n * DRAWS > MAX_STEPPED_OPERATIONS:
        return value
    ordered, best_first = covariance.among(order), scores[order]
    precision = _precisions(ordered)
    ratio = (best_first[:, None] - best_first) * precision
    rejected = 0
    while (above := ratio > value).sum() > rejected:
        rejected = int(above.sum())
        left = np.where(above, 0.0, precision)
        value = min(value, max(_simulated(ordered, left, largest_one_sided_gaps, level), width_at(level)))
    return value


def joint_value(scores: np.ndarray, covariance: ScoreCovariance, level: float) -> float:
    """Critical value at which all statements "i above j" are true together with probability `level`, by a posterior.

    The most certain statements come first; in each draw, those hold that are more certain than any pair that the draw
    has the other way round. Only a fifth of the error allowed is spent here: the posterior takes the spread of the true
    scores for known, and knows no items that are equal. Spent in full, 100 close or equal items held in 88 to 93 %.
    """
    n = len(scores)
    cautious = 1 - (1 - level) / CAUTION
    if covariance.open_ended is not None or covariance.matrix is None or n * n * DRAWS > MAX_OPERATIONS:
        return all_pairs_value(scores, covariance, level)
    known, asked = _JOINT_VALUES.setdefault(covariance, {}), (cautious, scores.tobytes())
    if asked not in known:  # tiers, top sets and simultaneous ranks all ask the same
        known[asked] = _joint_value(scores, covariance, cautious)
    return known[asked]


def _joint_value(scores: np.ndarray, covariance: ScoreCovariance, level: float) -> float:
    """The quantile of the most certain statement that a draw has the other way round, at least that of one pair."""
    order, least = _best_first(scores, covariance), width_at(level)
    ordered, best_first = covariance.among(order), scores[order]
    ratio = (best_first[:, None] - best_first) * _precisions(ordered)
    above, below = np.nonzero(ratio > least)  # what is less certain moves no value that is returned
    if not len(above):
        return least
    ratio = ratio[above, below]
    falling = np.argsort(-ratio, kind="stable")
    pairs = above[falling].astype(np.int32), below[falling].astype(np.int32)

    def flips(noise: np.ndarray, ratio: np.ndarray, largest: np.ndarray) -> None:
        largest_flips(noise + best_first, *pairs, ratio, largest)

    return max(_simulated(ordered, ratio[falling], flips, level), least)


def _best_first(scores: np.ndarray, covariance: ScoreCovariance) -> np.ndarray:
    """An order that does not depend on how items are numbered: the draws must not, either."""
    return np.lexsort((covariance.variance, -scores))


def _simulated(
    covariance: ScoreCovariance,
    table: np.ndarray,
    measure: Callable[[np.ndarray, np.ndarray, np.ndarray], None],
    level: float,
) -> float:
    """The quantile over draws of what `measure` finds in each."""
    largest, done = np.empty(DRAWS), 0
    for noise in noise_blocks(covariance, len(covariance.variance), DRAWS):
        measure(np.ascontiguousarray(noise), table, largest[done : done + len(noise)])
        done += len(noise)
    return float(np.quantile(largest, level, method="higher"))


def _precisions(covariance: ScoreCovariance) -> np.ndarray:
    """One over the standard error of every difference, (n, n); 0 where that is 0."""
    n = len(covariance.variance)
    errors = np.empty((n, n))
    for rows in row_blocks(n):
        errors[rows] = np.sqrt(covariance.differences(rows))
    precision: np.ndarray = np.divide(1, errors, out=np.zeros_like(errors), where=errors > 0)
    return precision


def noise_blocks(covariance: ScoreCovariance, n: int, draws: int, stream: int = 0) -> Iterator[np.ndarray]:
    """Draws from N(0, covariance) in blocks; with a covariance only differences between columns are meaningful.

    Every `stream` has draws of its own.
    """
    rng = np.random.default_rng(SEED + stream)
    if covariance.matrix is None:
        root, scale = None, np.sqrt(covariance.variance)
    else:
        root, scale = _root(covariance.matrix), None
    block = max(1, min(draws, 4_000_000 // n))
    for start in range(0, draws, block):
        normal = rng.standard_normal((min(block, draws - start), n))
        yield normal @ root.T if root is not None else normal * scale


def _root(covariance: np.ndarray) -> np.ndarray:
    """A root of the covariance plus a common shift, which no difference sees and which makes it regular."""
    size = max(float(covariance.diagonal().max()), np.finfo(float).tiny)
    lifted = 0.5 * (covariance + covariance.T) + size
    lifted[np.diag_indices_from(lifted)] += 1e-9 * size
    try:
        return np.linalg.cholesky(lifted)
    except np.linalg.LinAlgError:  # rounding of a nearly singular matrix, larger than the lift
        values, axes = np.linalg.eigh(lifted)
        root: np.ndarray = axes * np.sqrt(np.maximum(values, 0.0))
        return root


def row_blocks(n: int) -> Iterator[np.ndarray]:
    """Row numbers 0 … n − 1 in blocks."""
    for start in range(0, n, BLOCK):
        yield np.arange(start, min(start + BLOCK, n))
