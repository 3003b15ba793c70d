"""The posterior of the scores: what votes and a prior from the votes say together.

With the prior N(0, s²) every score has both ends, also those of items that only won or only lost. What is credible is
right on average over items; the truly best one is pulled back like the merely lucky, and its score held less often.
"""

from __future__ import annotations

import dataclasses
import math

import numpy as np

from podium.ranking.uncertainty.estimate import score_covariance
from podium.ranking.uncertainty.information import Information
from podium.ranking.uncertainty.score_covariance import ScoreCovariance

__all__ = ["mean_chance_margin", "posterior_covariance"]

BETWEEN_GROUPS_VARIANCE = 1e4  # variance of the distance between groups that were never compared, in squared log-odds


def posterior_covariance(posterior: Information, variances_only: bool = False) -> ScoreCovariance:
    """The covariance of the centred scores by V = (L + I/s²)⁻¹; groups never compared lie anywhere to each other.

    `variances_only`: see `score_covariance`.
    """
    covariance = score_covariance(
        dataclasses.replace(posterior, open_above=None, open_below=None), "hessian", variances_only=variances_only
    )
    groups = posterior.groups
    if groups is None:
        return covariance
    if covariance.matrix is not None:
        return ScoreCovariance(covariance.matrix + BETWEEN_GROUPS_VARIANCE * (groups[:, None] == groups))
    assert covariance.variances is not None, "it holds a matrix or variances"
    largest = np.bincount(groups).argmax()
    return ScoreCovariance(None, covariance.variances + BETWEEN_GROUPS_VARIANCE * (groups != largest))


def mean_chance_margin(margin: np.ndarray, variance: np.ndarray) -> np.ndarray:
    """The margin whose chance is the mean chance over a margin that is only known so well (MacKay 1992).

    >>> mean_chance_margin(np.array([2.0]), np.array([8 / math.pi])).round(3).tolist()
    [1.414]
    """
    softened: np.ndarray = margin / np.sqrt(1.0 + math.pi * variance / 8.0)
    return softened
