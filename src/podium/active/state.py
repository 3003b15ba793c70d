"""What an algorithm that asks may see: the answers so far, the order so far, and its own randomness."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import TYPE_CHECKING

import numpy as np

from podium.active.evidence import Evidence

if TYPE_CHECKING:
    from podium.active.posterior import Posterior

__all__ = ["Flow", "Start", "State"]

# An algorithm that asks. It yields pairs (m, 2) of item codes and is sent as many answers: 1 the left one goes first,
# 0 the right one, 0.5 a tie, nan no answer (skipped, or not yet given). It returns an order, best first.
Flow = Generator[np.ndarray, np.ndarray, np.ndarray]


class State:
    """The desk of one interview.

    `order` is the best order an algorithm has so far and `spread` its own idea of how many places each item may be
    off (infinite before it has one); `blocks` are the tiers of a decomposition, if one was made, `posterior` the places
    of a bisection. `evidence` holds every answer, also those that the algorithm did not ask for; `weights` say how far
    each rater is to be believed (all alike if None).
    """

    def __init__(self, n: int, rng: np.random.Generator, *, order: np.ndarray | None = None) -> None:
        self.n = n
        self.rng = rng
        self.evidence = Evidence(n)
        self.order = rng.permutation(n) if order is None else np.array(order, dtype=np.int64)
        self.spread = np.full(n, np.inf)
        self.blocks: list[np.ndarray] | None = None
        self.posterior: Posterior | None = None
        self.weights: np.ndarray | None = None


Start = Callable[[State], Flow]
