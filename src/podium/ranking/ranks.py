"""From scores to ranks: which scores are one, and the rank of each."""

from __future__ import annotations

import numpy as np

__all__ = ["ranks", "settled"]


def ranks(scores: np.ndarray) -> np.ndarray:
    """Rank of each score, from 1 for the highest; equal scores share the better rank.

    Examples
    --------
    >>> ranks(np.array([0.5, 2.0, 0.5, -1.0])).tolist()
    [2, 1, 2, 4]
    """
    from_one: np.ndarray = 1 + len(scores) - np.searchsorted(np.sort(scores), scores, side="right")
    return from_one


def settled(scores: np.ndarray, within: float) -> np.ndarray:
    """Return the scores with those that lie `within` of their neighbour made equal, at the middle one of the group.

    A solver finds scores to its tolerance only. Two items whose votes mirror each other have equal scores at the
    optimum, and must not get different ranks from what is left of the way there: rankers pass what they found, with
    the accuracy they found it to, before they make a `Ranking`. Where scores are so dense that neighbour after
    neighbour would join (a group ten times as wide), that group is a crowd and no tie, and stays as it is.

    Examples
    --------
    >>> settled(np.array([0.5, -1.0, 0.5 + 3e-8, 0.6]), within=1e-6).tolist()
    [0.5, -1.0, 0.5, 0.6]
    """
    within = float(within)  # a narrow number overflows
    order = np.argsort(scores, kind="stable")
    rising = scores[order]
    first = np.flatnonzero(np.diff(rising, prepend=-np.inf) > within)
    last = np.append(first[1:], len(scores)) - 1
    if len(first) == len(scores) or len(scores) == 0:
        return scores
    tie = rising[last] - rising[first] <= 10 * within
    middle = np.repeat(rising[(first + last) // 2], last - first + 1)
    merged = np.empty_like(rising)
    merged[order] = np.where(np.repeat(tie, last - first + 1), middle, rising)
    return merged
