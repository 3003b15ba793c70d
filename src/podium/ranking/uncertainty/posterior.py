"""The posterior of the scores: what votes and a prior from the votes say together.

With the prior N(0, s²) every score has both ends, also those of items that only won or only lost. What is credible is
right on average over items; the truly best one is pulled back like the merely lucky, and its score held less often.
"""

from __future__ import annotations

import dataclasses
import math

import numpy as np

from podium.ranking.uncertainty.estimate import spread
from podium.ranking.uncertainty.evidence import Evidence
from podium.ranking.uncertainty.ranks import Spread

__all__ = ["mean_chance_margin", "posterior_spread"]

LOOSE = 1e4  # variance of the distance between groups that were never compared, in squared log-odds


def posterior_spread(posterior: Evidence) -> Spread:
    """The joint spread of the centred scores by V = (L + I/s²)⁻¹; groups never compared lie anywhere to each other."""
    found = spread(dataclasses.replace(posterior, open_above=None, open_below=None), "hessian")
    groups = posterior.groups
    if groups is None:
        return found
    if found.covariance is not None:
        return Spread(found.covariance + LOOSE * (groups[:, None] == groups))
    assert found.variances is not None, "a spread holds a covariance or variances"
    largest = np.bincount(groups).argmax()
    return Spread(None, found.variances + LOOSE * (groups != largest))


def mean_chance_margin(margin: np.ndarray, variance: np.ndarray) -> np.ndarray:
    """The margin whose chance is the mean chance over a margin that is only known so well (MacKay 1992).

    >>> mean_chance_margin(np.array([2.0]), np.array([8 / math.pi])).round(3).tolist()
    [1.414]
    """
    softened: np.ndarray = margin / np.sqrt(1.0 + math.pi * variance / 8.0)
    return softened
