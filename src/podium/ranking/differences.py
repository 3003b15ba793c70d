"""Differences between the items of one ranking, with p-values that may be read all at once."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from podium.numeric import adjusted_p_values
from podium.ranking.uncertainty import ScoreCovariance, quantile
from podium.text import storable

if TYPE_CHECKING:
    import polars as pl

__all__ = ["difference_frame", "holm", "two_sided"]


def difference_frame(
    items: Sequence[Hashable], scores: np.ndarray, covariance: ScoreCovariance, *, unit: float, level: float
) -> pl.DataFrame:
    """One row for every pair of `items`, which come best first; scores and covariance in log-odds.

    Columns: item, against, difference, std_error, lower, upper (each interval on its own), p_value, p_adjusted (Holm
    1979, over all rows) and significant, which is true of no pair of equal items with probability `level`. Where an
    item only won or only lost the error is infinite and nothing is called significant.
    """
    import polars as pl

    width = quantile(level)
    labels = [storable(item) for item in items]
    one, other = np.triu_indices(len(labels), 1)
    gap = scores[one] - scores[other]
    error = np.sqrt(covariance.differences(slice(None))[one, other])
    p_value = two_sided(gap, error)
    adjusted = holm(p_value)
    return pl.DataFrame(
        {
            "item": [labels[k] for k in one.tolist()],
            "against": [labels[k] for k in other.tolist()],
            "difference": unit * gap,
            "std_error": unit * error,
            "lower": unit * (gap - width * error),
            "upper": unit * (gap + width * error),
            "p_value": p_value,
            "p_adjusted": adjusted,
            "significant": adjusted < 1 - level,
        }
    )


def two_sided(gap: np.ndarray, error: np.ndarray) -> np.ndarray:
    """P-values of normal differences; 1 where the error is infinite.

    >>> two_sided(np.array([0.0, 5.0, 0.5]), np.array([1.0, np.inf, 0.25])).round(4).tolist()
    [1.0, 1.0, 0.0455]
    """
    from scipy.special import ndtr

    ratio = np.divide(np.abs(gap), error, out=np.where(np.abs(gap) < 1e-12, 0.0, np.inf), where=error > 0)
    p_values: np.ndarray = 2 * ndtr(-ratio)
    return p_values


def holm(p_values: np.ndarray) -> np.ndarray:
    """Return p-values adjusted so that all may be read at once (Holm 1979).

    >>> holm(np.array([0.01, 0.04, 0.03])).round(3).tolist()
    [0.03, 0.06, 0.06]
    """
    return adjusted_p_values(p_values, "holm")
