"""How far each item may be from its rank, and when to stop asking.

A band holds the true rank of an item with a chance of about 90 %, each item by itself: the rank in the hidden order,
where answers are noise around one. It joins what both models say. Ranks of model A come from draws of the scores; model
B has its own deviation, which takes the others for known and every neighbourhood for alike, and is too small where that
is far from true. Votes that the fits had not seen say so: check votes, which were less often predicted than they should
have been, and votes among neighbours. Where far pairs contradict the order as on a circle there is no true rank, and
the band is the whole list. The widths were set by simulation; `docs/active.md` shows how often they hold.
"""

from __future__ import annotations

import numpy as np

from podium.active.model_scores import Scores
from podium.active.models import Models
from podium.active.tally import CHECK, Tally

__all__ = ["TYPICAL", "half_widths", "rank_spread", "ranks_between"]

DRAWS = 200
STRETCH = 1.8  # of the ranks in the draws of model A, which knows nothing of plain mistakes
BAND_STDS = 2.2  # of model B, in posterior standard deviations; one rank more for the search
BLIND = 2.0  # wider by this before any check pair
SEEING = 15.0  # check votes that take away most of it
TYPICAL = 0.15  # stable: a typical band covers no more of the list


def rank_spread(scores: Scores) -> np.ndarray:
    """Standard deviation of the rank of each item under model A."""
    ranks = _drawn_ranks(scores) if scores.covariance is not None else None
    if ranks is not None:
        std: np.ndarray = ranks.std(axis=0)
        return std
    deviation = np.sqrt(scores.variance)
    ordered = np.sort(-scores.mean)
    above, below = (
        np.searchsorted(ordered, -scores.mean - deviation),
        np.searchsorted(ordered, -scores.mean + deviation),
    )
    std = (below - above) / 2.0
    return std


def _drawn_ranks(scores: Scores) -> np.ndarray:
    """Ranks, from 0, of the items in draws from the posterior of model A."""
    n = len(scores.mean)
    assert scores.covariance is not None
    root = np.linalg.cholesky(scores.covariance + 1e-9 * np.eye(n))
    drawn = scores.mean + np.random.default_rng(0).standard_normal((DRAWS, n)) @ root.T
    ranks: np.ndarray = np.argsort(np.argsort(-drawn, axis=1), axis=1)
    return ranks


def half_widths(tally: Tally, models: Models) -> np.ndarray:
    """Ranks by which each item may be off, either way, at 90 %.

    Questions among neighbours cannot tell close calls from plain mistakes at any distance: bands are wider as long as
    neither check pairs nor most of all pairs have spoken. On a circle any rank may be an item's own.
    """
    n = tally.n
    if models.turning:
        return np.full(n, n - 1.0)
    by_score = STRETCH * models.loose * 1.645 * rank_spread(models.scores)
    by_place = BAND_STDS * models.posterior.std / np.sqrt(1.0 - 2.0 * models.posterior.floor) + 1.0
    believed = 1.0 if models.share < 1.0 else models.vague
    off: np.ndarray = np.maximum(believed * by_score, by_place)
    checks = int(np.count_nonzero(tally.kind == CHECK))
    unasked = 1.0 - len(tally.keys) / (n * (n - 1) / 2)
    blind = 1.0 + BLIND * unasked * np.exp(-checks / SEEING)
    capped: np.ndarray = np.minimum(off * models.doubt * blind, n - 1.0)
    return capped


def ranks_between(order: np.ndarray, off: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """First and last rank, from 1, of each item."""
    n = len(order)
    rank = np.empty(n)
    rank[order] = np.arange(1, n + 1)
    lower = np.maximum(1, np.floor(rank - off + 0.5)).astype(np.int64)
    upper = np.minimum(n, np.ceil(rank + off - 0.5)).astype(np.int64)
    return lower, upper
