"""Confidence in single statements: who is above whom, and who is best."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np

from podium.ranking.uncertainty.critical import DRAWS, noise_blocks
from podium.ranking.uncertainty.score_covariance import ScoreCovariance

__all__ = ["probability_above", "probability_best"]


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
    first = int(scores.argmax())
    near = np.flatnonzero(scores[first] - scores <= 6 * np.sqrt(covariance.differences(first)))
    best = np.zeros(len(near))
    for noise in noise_blocks(covariance.among(near), len(near), draws):
        best += np.bincount((scores[near] + noise).argmax(axis=1), minlength=len(near))
    share = np.zeros(len(scores))
    share[near] = best / draws
    return share
