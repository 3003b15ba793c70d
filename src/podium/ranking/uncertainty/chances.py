"""Confidence in single statements: who is above whom, and who is best."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist

import numpy as np

from podium.ranking.uncertainty.critical import DRAWS, noise_blocks
from podium.ranking.uncertainty.score_covariance import ScoreCovariance

__all__ = ["probability_above", "probability_best", "probability_best_over"]


def probability_above(scores: np.ndarray, covariance: ScoreCovariance, one: int, other: int) -> float:
    """Return the confidence that item `one` is truly above item `other`: Φ of their difference in standard errors.

    NaN when one of them is open-ended: its score is not found but held by the penalty.
    """
    if one == other:
        return 0.5
    if covariance.open_ended is not None and (covariance.open_ended[one] or covariance.open_ended[other]):
        return math.nan
    gap = float(scores[one] - scores[other])
    variance = float(covariance.differences(one)[other])
    if variance == 0:
        return 0.5 if gap == 0 else float(gap > 0)
    return NormalDist().cdf(gap / math.sqrt(variance))


def probability_best(scores: np.ndarray, covariance: ScoreCovariance, draws: int = DRAWS) -> np.ndarray:
    """Return each item's share of firsts among `draws` score vectors drawn from N(scores, covariance).

    Items six standard errors or more below the first are left out: their chance is under 1e-9. Open-ended items have
    NaN, and the shares are those of being first among the others.
    """
    if covariance.open_ended is not None:
        shares = np.full(len(scores), np.nan)
        kept = np.flatnonzero(~covariance.open_ended)
        if len(kept):
            shares[kept] = probability_best(scores[kept], covariance.among(kept), draws)
        return shares
    share: np.ndarray = _firsts(scores, covariance, draws) / draws
    return share


def probability_best_over(
    possible: Sequence[tuple[float, np.ndarray, ScoreCovariance]], draws: int = DRAWS
) -> np.ndarray:
    """Return each item's share of firsts among draws from several posteriors, of each as many as its share says."""
    ends = np.rint(draws * np.cumsum([share for share, _, _ in possible])).astype(int)
    firsts = np.zeros(len(possible[0][1]))
    for k, (own, (_, scores, covariance)) in enumerate(zip(np.diff(ends, prepend=0).tolist(), possible, strict=True)):
        if own > 0:
            firsts += _firsts(scores, covariance, own, stream=k)
    share: np.ndarray = firsts / firsts.sum()
    return share


def _firsts(scores: np.ndarray, covariance: ScoreCovariance, draws: int, stream: int = 0) -> np.ndarray:
    """How often each item comes first."""
    first = int(scores.argmax())
    near = np.flatnonzero(scores[first] - scores <= 6 * np.sqrt(covariance.differences(first)))
    best = np.zeros(len(near))
    for noise in noise_blocks(covariance.among(near), len(near), draws, stream):
        best += np.bincount((scores[near] + noise).argmax(axis=1), minlength=len(near))
    firsts = np.zeros(len(scores))
    firsts[near] = best
    return firsts
