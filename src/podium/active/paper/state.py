"""What an algorithm that asks may see: the answers so far, the order so far, and its own randomness."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import TypeVar

import numpy as np

from podium.active.paper.learners import PaperModel
from podium.active.paper.votes import Votes

__all__ = ["NO_PAIRS", "Flow", "Start", "State", "together"]

T = TypeVar("T")

# An algorithm that asks. It yields pairs (m, 2) of item codes and is sent as many answers: 1 the left one goes first,
# 0 the right one, 0.5 a tie, nan no answer (skipped, or not yet given). It returns an order, best first.
Flow = Generator[np.ndarray, np.ndarray, np.ndarray]


NO_PAIRS = np.zeros((0, 2), dtype=np.int64)


class State:
    """The desk of one interview.

    `order` is the best order an algorithm has so far, `blocks` are the tiers of a decomposition, if one was made.
    `votes` holds every vote, also those that the algorithm did not ask for. `model` is what it learnt from features.
    """

    def __init__(self, n: int, rng: np.random.Generator, *, order: np.ndarray | None = None) -> None:
        self.n = n
        self.rng = rng
        self.votes = Votes(n)
        self.order = rng.permutation(n) if order is None else np.array(order, dtype=np.int64)
        self.blocks: list[np.ndarray] | None = None
        self.model: PaperModel | None = None


Start = Callable[[State], Flow]


def together(flows: Sequence[Generator[np.ndarray, np.ndarray, T]]) -> Generator[np.ndarray, np.ndarray, list[T]]:
    """Run several algorithms side by side: what they ask at one time goes out as one batch."""
    results: list[T | None] = [None] * len(flows)
    waiting: dict[int, np.ndarray] = {}

    def step(number: int, answers: np.ndarray | None) -> None:
        try:
            waiting[number] = next(flows[number]) if answers is None else flows[number].send(answers)
        except StopIteration as end:
            waiting.pop(number, None)
            results[number] = end.value

    for number in range(len(flows)):
        step(number, None)
    while waiting:
        asked = dict(waiting)
        answers = yield np.concatenate(list(asked.values()))
        cuts = np.cumsum([len(pairs) for pairs in asked.values()])[:-1]
        for number, part in zip(asked, np.split(answers, cuts), strict=True):
            step(number, part)
    return results  # type: ignore[return-value]  # every flow has returned
