"""Rankers that only count."""

from __future__ import annotations

from typing import Self

import numpy as np

from podium.comparisons import Comparisons
from podium.ranking import Ranking

__all__ = ["WinRate"]


class WinRate:
    """Rank items by the share of their votes that they won, a tie counting half.

    Simple to explain, and unfair when items met different opponents: beating the weak counts as much as beating the
    strong. `BradleyTerry` corrects for that.

    Parameters
    ----------
    prior : float
        Votes of a tied game added to each item, so that one lucky win does not lead the table; 0 adds none.

    Attributes
    ----------
    ranking_ : Ranking
        Scores between 0 and 1; an item without votes has ½.

    Examples
    --------
    >>> votes = Comparisons.from_pairs([("tea", "milk"), ("tea", "cola"), ("cola", "tea")])
    >>> WinRate().fit(votes).ranking_.order
    ('tea', 'cola', 'milk')
    """

    def __init__(self, *, prior: float = 0.0) -> None:
        self.prior = prior

    def fit(self, comparisons: Comparisons) -> Self:
        """Count."""
        points, votes = comparisons.adjacency.sums
        with np.errstate(invalid="ignore"):
            rate = np.where(votes + self.prior > 0, (points + 0.5 * self.prior) / (votes + self.prior), 0.5)
        self.ranking_ = Ranking(comparisons.items, rate, record=comparisons.record)
        return self
