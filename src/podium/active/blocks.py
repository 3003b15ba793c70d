"""Exchanges of whole stretches: what moves of single items, and windows of ten, cannot mend.

Where answers are nearly clean, one wrong answer at the wrong moment puts two stretches of an order the wrong way
round. Every single move then contradicts many answers; only both stretches at once do not.
"""

from __future__ import annotations

import numpy as np

from podium.active.order import SparseWins

__all__ = ["exchange_stretches", "mend_stretches"]

STEP = 1.25  # of one length tried to the next
MAX_NEAR_PLACES = 8  # places by which the ends of the best stretches are then tried
SIDE = 256  # beyond so many items stretches are sought in overlapping parts of the order so long


def exchange_stretches(wins: np.ndarray, order: np.ndarray, *, most: int = 20) -> np.ndarray:
    """Exchange neighbouring stretches as long as that lowers the cost, the best first; `most` times at most.

    Lengths are 1, 2, … up to some, then a quarter longer each; the ends of the best are then tried one by one.

    >>> wins = np.triu(np.ones((8, 8)), 1)
    >>> exchange_stretches(wins, np.array([4, 5, 6, 7, 0, 1, 2, 3])).tolist()
    [0, 1, 2, 3, 4, 5, 6, 7]
    """
    n = len(order)
    order = np.array(order, dtype=np.int64)
    sizes = _lengths(n)
    for _ in range(most):
        lead = (wins - wins.T)[np.ix_(order, order)]  # [i, j]: what the one at i has over the one at j
        sums = np.zeros((n + 1, n + 1))
        np.cumsum(np.cumsum(lead, axis=0), axis=1, out=sums[1:, 1:])
        best, stretches = 1e-9, None
        for first in sizes:
            for second in sizes[sizes <= n - first]:
                middle = np.arange(first, n - second + 1)
                over = _over(sums, middle - first, middle, middle + second)
                at = int(over.argmin())
                if -over[at] > best:
                    best, stretches = -float(over[at]), (at, at + int(first), at + int(first + second))
        if stretches is None:
            break
        a, b, c = _refined(sums, *stretches)
        order[a:c] = np.concatenate([order[b:c], order[a:b]])
    return order


def _over(sums: np.ndarray, start: np.ndarray, middle: np.ndarray, end: np.ndarray) -> np.ndarray:
    """What the stretch from start to middle has over that from middle to end, by sums from the corner."""
    over: np.ndarray = sums[middle, end] - sums[start, end] - sums[middle, middle] + sums[start, middle]
    return over


def _refined(sums: np.ndarray, start: int, middle: int, end: int) -> tuple[int, int, int]:
    """The best ends near those given: lengths were tried in steps."""
    n, near = len(sums) - 1, np.arange(-MAX_NEAR_PLACES, MAX_NEAR_PLACES + 1)
    starts, middles, ends = (at + near for at in (start, middle, end))
    a, b, c = np.meshgrid(starts[starts >= 0], middles, ends[ends <= n], indexing="ij")
    fits = (a < b) & (b < c)
    a, b, c = a[fits], b[fits], c[fits]
    at = int(_over(sums, a, b, c).argmin())
    return int(a[at]), int(b[at]), int(c[at])


def _lengths(n: int) -> np.ndarray:
    """Lengths of stretches to try, up to n - 1."""
    sizes = [1]
    while sizes[-1] < n - 1:
        sizes.append(max(sizes[-1] + 1, int(sizes[-1] * STEP)))
    return np.array([size for size in sizes if size < n])


def mend_stretches(table: SparseWins, order: np.ndarray, *, rounds: int = 4) -> np.ndarray:
    """`exchange_stretches` by the known pairs only, in overlapping parts of the order, and single moves in turn, as
    long as that lowers the cost."""
    best, least = order, table.cost(order)
    for _ in range(rounds):
        trial = best.copy()
        for first in range(0, max(1, len(trial) - SIDE // 2), SIDE // 2):
            part = trial[first : first + SIDE]
            trial[first : first + SIDE] = part[exchange_stretches(table.square(part), np.arange(len(part)))]
        trial = table.window_search(table.insertion_search(trial))
        cost = table.cost(trial)
        if cost >= least - 1e-9:
            break
        best, least = trial, cost
    return best
