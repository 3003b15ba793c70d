"""Rankers that only count."""

from __future__ import annotations

from typing import Self

import numpy as np

from podium.data.comparisons import Comparisons, as_comparisons
from podium.data.validation import number_option
from podium.pairwise.base import Ranker
from podium.ranking.ranking import Ranking
from podium.ranking.ranks import settled

__all__ = ["Borda", "Copeland", "WinRate"]

ROUNDING = 1e-12  # shares that differ by less differ by the order in which weights were added


class WinRate(Ranker):
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
        as_comparisons(comparisons)
        number_option("prior", self.prior, least=0)
        points, votes = comparisons.adjacency.sums
        with np.errstate(invalid="ignore"):
            rate = np.where(votes + self.prior > 0, (points + 0.5 * self.prior) / (votes + self.prior), 0.5)
        self.ranking_ = Ranking(comparisons.items, settled(rate, ROUNDING), record=comparisons.record)
        return self._fitted_to(comparisons)


class Borda(Ranker):
    """Rank items by the chance of beating an opponent picked at random among those they met.

    Every opponent counts the same however often the two met, which `WinRate` does not do. When everyone met everyone
    this is the Borda count, up to its unit (Shah & Wainwright 2018).

    Attributes
    ----------
    ranking_ : Ranking
        Scores between 0 and 1; an item without votes has ½.

    Examples
    --------
    >>> votes = Comparisons.from_rankings([["tea", "cola", "milk"], ["cola", "tea", "milk"], ["tea", "milk", "cola"]])
    >>> Borda().fit(votes).ranking_.order
    ('tea', 'cola', 'milk')
    """

    def fit(self, comparisons: Comparisons) -> Self:
        """Count."""
        as_comparisons(comparisons)
        share, met = _by_opponent(comparisons)
        owner = np.repeat(np.arange(len(met)), met)
        total = np.bincount(owner, share, len(met))
        scores = np.where(met > 0, total / np.maximum(met, 1), 0.5)
        self.ranking_ = Ranking(comparisons.items, settled(scores, ROUNDING), record=comparisons.record)
        return self._fitted_to(comparisons)


class Copeland(Ranker):
    """Rank items by the opponents they beat more often than not, less those they lost to more often.

    A Condorcet winner, who beats everyone, is first whatever the margins. An item that met few has a small score either
    way: this is for data where (almost) everyone met everyone.

    Attributes
    ----------
    ranking_ : Ranking
        Whole numbers: opponents beaten less opponents lost to.

    Examples
    --------
    >>> votes = Comparisons.from_pairs([("tea", "cola"), ("tea", "milk"), ("cola", "milk"), ("milk", "cola")])
    >>> dict(zip(votes.items, Copeland().fit(votes).ranking_.scores.tolist()))
    {'tea': 2.0, 'cola': -1.0, 'milk': -1.0}
    """

    def fit(self, comparisons: Comparisons) -> Self:
        """Count."""
        as_comparisons(comparisons)
        share, met = _by_opponent(comparisons)
        owner = np.repeat(np.arange(len(met)), met)
        scores = np.bincount(owner, np.sign(np.where(np.abs(share - 0.5) > ROUNDING, share - 0.5, 0.0)), len(met))
        self.ranking_ = Ranking(comparisons.items, scores, record=comparisons.record)
        return self._fitted_to(comparisons)


def _by_opponent(comparisons: Comparisons) -> tuple[np.ndarray, np.ndarray]:
    """For each item in turn its share of the votes against each opponent; and how many opponents it met."""
    a = comparisons.adjacency
    return np.asarray(a.wins / a.total, dtype=np.float64), np.diff(a.start)
