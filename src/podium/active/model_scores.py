"""Model A of the planner: scores by a lightly penalised Bradley-Terry fit, and how sure their differences are.

The chance that u goes before v is 1 / (1 + exp(s_v - s_u)). With few votes the point estimate is too sure of itself;
averaged over the posterior of the difference (mean m, variance v) the chance is about 1 / (1 + exp(-m / √(1 + πv/8))).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import lapack

from podium.active.order import SparseWins
from podium.active.tally import Tally
from podium.kernels.pairwise.bradley_terry import coordinate_sweep

__all__ = ["DENSE", "Scores", "fit_scores", "inverse", "judge_weights"]

DENSE = 400  # up to so many items the full covariance of the scores is kept
RIDGE = 0.1  # pull of every score towards its prior mean; marginal likelihood shrinks far too much at 3 to 8 votes
STEPS = 30
SWEEPS = 40
CALM = 0.03  # largest step of a sweep after which scores of many items are left
SHRINK = 20.0  # answers of an average judge that every judge is held to have given besides


@dataclass(frozen=True)
class Scores:
    """Scores of the items, best highest, and the variance of what is known: the whole covariance, or its diagonal."""

    mean: np.ndarray
    covariance: np.ndarray | None
    variance: np.ndarray
    precision: np.ndarray | None = None

    @property
    def order(self) -> np.ndarray:
        """Items, best first."""
        order: np.ndarray = np.argsort(-self.mean, kind="stable")
        return order

    def chances(self, left: np.ndarray, right: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The chance that each left item goes before the right one, and the variance of their difference."""
        variance = self.variance[left] + self.variance[right]
        if self.covariance is not None:
            variance = np.maximum(variance - 2.0 * self.covariance[left, right], 1e-9)
        return chance(self.mean[left] - self.mean[right], variance), variance

    def matrix(self) -> tuple[np.ndarray, np.ndarray]:
        """Chances and variances of all pairs, as square arrays."""
        n = len(self.mean)
        return self.chances(*np.ogrid[:n, :n])


def chance(margin: np.ndarray, variance: np.ndarray) -> np.ndarray:
    """The chance of a win at a margin that is known up to a variance."""
    logit = margin / np.sqrt(1.0 + np.pi / 8.0 * variance)
    chances: np.ndarray = 1.0 / (1.0 + np.exp(-np.clip(logit, -30.0, 30.0)))
    return chances


def fit_scores(
    tally: Tally,
    weight: np.ndarray | None = None,
    prior: tuple[np.ndarray, float] | None = None,
    *,
    start: np.ndarray | None = None,
) -> Scores:
    """Fit the scores to the votes, a vote counting weight[its judge]; `prior` is an expected score for each item and
    how much it is worth beyond the ridge. `start` are scores known to be near."""
    points, total = tally.sums(weight)
    expected, worth = (np.zeros(tally.n), 0.0) if prior is None else prior
    if tally.n <= DENSE:
        return _dense(tally, points, total, expected, RIDGE + worth)
    return _sparse(tally, points, total, expected, RIDGE + worth, expected if start is None else start)


def _dense(tally: Tally, points: np.ndarray, total: np.ndarray, expected: np.ndarray, ridge: float) -> Scores:
    """Newton's method on the whole system."""
    n, low, high = tally.n, tally.pair_low, tally.pair_high
    mean = expected.copy()
    diagonal = np.arange(n)
    for _ in range(STEPS):
        p = 1.0 / (1.0 + np.exp(-np.clip(mean[low] - mean[high], -30.0, 30.0)))
        won = points - total * p
        slope = np.bincount(low, won, n) - np.bincount(high, won, n) - ridge * (mean - expected)
        curve = total * p * (1.0 - p)
        precision = np.zeros((n, n))
        precision[low, high] = precision[high, low] = -curve
        precision[diagonal, diagonal] = np.bincount(low, curve, n) + np.bincount(high, curve, n) + ridge
        factor = lapack.dpotrf(precision.T, lower=1, clean=0)[0]
        step = lapack.dpotrs(factor, slope, lower=1)[0]
        longest = float(np.abs(step).max(initial=0.0))
        mean = mean + step * min(1.0, 3.0 / max(longest, 1e-12))
        if longest < 1e-6:
            break
    covariance = inverse(precision)
    return Scores(mean, covariance, np.diag(covariance).copy(), precision)


def inverse(precision: np.ndarray) -> np.ndarray:
    """The inverse of a symmetric positive definite array, by its Cholesky factor."""
    half = lapack.dpotri(lapack.dpotrf(precision.T, lower=1, clean=1)[0], lower=1, overwrite_c=1)[0]
    whole: np.ndarray = half + np.tril(half, -1).T
    return whole


def _sparse(
    tally: Tally, points: np.ndarray, total: np.ndarray, expected: np.ndarray, ridge: float, start: np.ndarray
) -> Scores:
    """One score after the other; of the covariance only what each item's own votes say."""
    n = tally.n
    table = SparseWins(n, tally.pair_low, tally.pair_high, total)
    both = np.abs(table.lead)
    won = np.bincount(tally.pair_low, points, n) + np.bincount(tally.pair_high, total - points, n)
    gained = won + ridge * expected
    mean = start.copy()
    strength, everyone, steps = np.exp(mean), np.arange(n, dtype=np.int32), np.empty(n)
    for _ in range(SWEEPS):
        _, longest = coordinate_sweep(table.start, table.partner, both, gained, ridge, everyone, mean, strength, steps)
        if longest < CALM:
            break
    p = 1.0 / (1.0 + np.exp(-np.clip(mean[tally.pair_low] - mean[tally.pair_high], -30.0, 30.0)))
    curve = total * p * (1.0 - p)
    known = np.bincount(tally.pair_low, curve, n) + np.bincount(tally.pair_high, curve, n) + ridge
    return Scores(mean, None, 1.0 / known)


def judge_weights(tally: Tally, agrees: np.ndarray) -> np.ndarray | None:
    """How far each judge is to be believed, 1 on average: the log-odds of agreeing with the others, over the mean's.

    `agrees` holds for each vote how likely it is under a fit; shrunk by twenty answers of an average judge; between
    0.1 and 2. None with a single judge.
    """
    if tally.judges < 2 or not len(tally):
        return None
    wrong = 1.0 - agrees
    mean = float(np.clip(wrong.mean(), 0.005, 0.45))
    count = np.bincount(tally.judge, minlength=tally.judges)
    rate = (np.bincount(tally.judge, wrong, tally.judges) + SHRINK * mean) / (count + SHRINK)
    odds = np.log((1 - rate) / np.maximum(rate, 1e-3)) / np.log((1 - mean) / mean)
    weights: np.ndarray = np.clip(odds, 0.1, 2.0)
    return weights
