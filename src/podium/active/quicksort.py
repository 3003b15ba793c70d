"""QuickSort by asking: O(n log n) questions expected, cost at most three times the best in expectation."""

from __future__ import annotations

import numpy as np

from podium.active.state import Flow, State

__all__ = ["quicksort"]


def quicksort(state: State, items: np.ndarray | None = None, *, levels: int | None = None) -> Flow:
    """Order `items` (all of them if omitted) around random pivots, all comparisons of one level in one batch.

    Ailon, Charikar and Newman show that on any tournament the expected cost is at most three times the least
    (line 2 of Algorithm 1); about 2 n ln n questions are expected. A skipped or tied pair leaves the item on the side
    of the pivot where it was. With `levels` it stops after so many; the stretches it leaves are `state.blocks`.
    """
    order = state.order.copy() if items is None else np.array(items, dtype=np.int64)
    size = np.array([len(order)])  # lengths of the stretches still to sort, in order, sorted ones as single items
    level = 0
    while len(size) < len(order) and (levels is None or level < levels):
        stretch = np.repeat(np.arange(len(size)), size)
        first = np.repeat(np.cumsum(size) - size, size)
        pivot = first + np.repeat(state.rng.integers(0, size), size)
        place = np.arange(len(order))
        others = np.flatnonzero((place != pivot) & (np.repeat(size, size) > 1))
        answers = yield np.column_stack([order[others], order[pivot[others]]])
        side = np.sign(place - pivot)  # -1 before the pivot, 0 the pivot, 1 after
        side[others] = np.where(answers > 0.5, -1, np.where(answers < 0.5, 1, side[others]))
        order = order[np.lexsort((side, stretch))]
        size = np.bincount(3 * stretch + side + 1, minlength=3 * len(size))
        size = size[size > 0]
        level += 1
        if items is None:
            state.order = order
            state.blocks = np.split(order, np.cumsum(size)[:-1])
    return order
