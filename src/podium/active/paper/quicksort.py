"""QuickSort by asking: O(n log n) questions expected, cost at most three times the best in expectation."""

from __future__ import annotations

from collections.abc import Generator

import numpy as np

from podium.active.paper.state import Flow, State

__all__ = ["quicksort"]

MIN_CHOSEN_LENGTH = 7  # least length of a stretch whose pivot is worth a choice


def quicksort(state: State, items: np.ndarray | None = None, *, median_of_three: bool = False) -> Flow:
    """Order `items` (all of them if omitted) around random pivots, all comparisons of one level in one batch.

    Ailon, Charikar and Newman show that on any tournament the expected cost is at most three times the least
    (line 2 of Algorithm 1); about 2 n ln n questions are expected. A skipped or tied pair leaves the item on the side
    of the pivot where it was. The stretches so far are `state.blocks`.
    `median_of_three` takes the middle one of three random items as the pivot of a longer stretch: a seventh fewer
    questions, an extra round a level, and no proof of the factor three.
    """
    order = state.order.copy() if items is None else np.array(items, dtype=np.int64)
    size = np.array([len(order)])  # lengths of the stretches still to sort, in order, sorted ones as single items
    while len(size) < len(order):
        stretch = np.repeat(np.arange(len(size)), size)
        first = np.repeat(np.cumsum(size) - size, size)
        pivot = first + np.repeat(state.rng.integers(0, size), size)
        if median_of_three:
            pivot = first + np.repeat((yield from _middle_pivots(order, size, state)), size)
        place = np.arange(len(order))
        others = np.flatnonzero((place != pivot) & (np.repeat(size, size) > 1))
        answers = yield np.column_stack([order[others], order[pivot[others]]])
        side = np.sign(place - pivot)  # -1 before the pivot, 0 the pivot, 1 after
        side[others] = np.where(answers > 0.5, -1, np.where(answers < 0.5, 1, side[others]))
        order = order[np.lexsort((side, stretch))]
        size = np.bincount(3 * stretch + side + 1, minlength=3 * len(size))
        size = size[size > 0]
        if items is None:
            state.order = order
            state.blocks = np.split(order, np.cumsum(size)[:-1])
    return order


def _middle_pivots(order: np.ndarray, size: np.ndarray, state: State) -> Generator[np.ndarray, np.ndarray, np.ndarray]:
    """Of each stretch the place, within it, of the middle one of three random items; of short ones a random place."""
    pivot = state.rng.integers(0, size)
    long = np.flatnonzero(size >= MIN_CHOSEN_LENGTH)
    if not len(long):
        return pivot
    third = size[long] // 3  # one from each third, shuffled by the order itself: three distinct places
    positions = np.column_stack([state.rng.integers(0, third) + k * third for k in range(3)])
    three = order[(np.cumsum(size) - size)[long, None] + positions]
    answers = yield np.concatenate([three[:, [0, 1]], three[:, [1, 2]], three[:, [2, 0]]])
    beats = np.nan_to_num(answers, nan=0.5).reshape(3, -1) > 0.5  # 0 before 1, 1 before 2, 2 before 0
    middle = np.where(beats[0] == beats[1], 1, np.where(beats[1] == beats[2], 2, 0))
    pivot[long] = positions[np.arange(len(long)), middle]
    return pivot
