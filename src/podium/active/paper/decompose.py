"""Ordered decomposition (Algorithms 1 and 2): blocks that are hard to order inside and easy to order as blocks."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass

import numpy as np

from podium.active.order import exact_order, insertion_search, iterated_search, mfast_cost
from podium.active.paper.erm import learn_blocks, order_blocks
from podium.active.paper.improve import approx_local_improve
from podium.active.paper.options import PaperOptions
from podium.active.paper.quicksort import quicksort
from podium.active.paper.state import Flow, State, together

__all__ = ["Goodness", "goodness", "sample_and_decompose", "sample_and_rank", "small_size"]

Blocks = Generator[np.ndarray, np.ndarray, list[np.ndarray]]


def small_size(n: int, options: PaperOptions) -> int:
    """Up to how many items a block is small.

    The paper says log n / log log n. With that and its threshold local chaos (2.2) failed in 16 of 32 runs
    (docs/active-theory.md); 16 items are still ordered exactly in milliseconds, so 16 is the default.
    """
    if options.small is not None:
        return options.small
    return max(2, int(np.log(n) / np.log(np.log(n)))) if n > 15 else 2


def sample_and_rank(state: State, options: PaperOptions, features: np.ndarray | None = None) -> Flow:
    """The paper's algorithm: QuickSort, decompose, then the order of least empirical cost inside the blocks.

    With features, the order of the score that minimises SVM3's loss on the decomposition (section 4).
    """
    order = yield from quicksort(state)
    state.blocks = yield from sample_and_decompose(state, order, options)
    if features is None:
        order = yield from order_blocks(state, state.blocks, options)
    else:
        order = yield from learn_blocks(state, state.blocks, options, features, small_size(state.n, options))
    return order


def sample_and_decompose(state: State, items: np.ndarray, options: PaperOptions, n: int | None = None) -> Blocks:
    """Split `items`, given in a good order, into ordered blocks (Algorithm 2).

    A small block stays whole, and so does one in which a sample of pairs disagrees with the order too often (local
    chaos). Others are improved, cut at a random place in the middle third of the improved order (line 12 prints π,
    π₁ is meant) and decomposed further, both halves side by side.
    """
    n = state.n if n is None else n
    size = len(items)
    if size <= small_size(n, options):
        return [items]
    count = int(np.ceil(options.cost_sample * options.epsilon**-4 * np.log(n)))
    sample = _pairs_within(size, count, state.rng)
    answers = yield np.column_stack([items[sample[:, 0]], items[sample[:, 1]]])
    against = 1.0 - answers[~np.isnan(answers)]
    share = float(against.mean()) if len(against) else 0.0  # C over all pairs
    if share >= options.chaos * options.epsilon**2:
        return [items]
    most = min(1.0, share + np.sqrt(np.log(n) / (2.0 * max(1, len(against)))))  # Hoeffding: wrong once in n times
    items = yield from approx_local_improve(state, items, n, options, cost=most * size * (size - 1) / 2.0)
    cut = int(state.rng.integers(size // 3, 2 * size // 3 + 1))
    halves = [sample_and_decompose(state, part, options, n) for part in (items[:cut], items[cut:])]
    left, right = yield from together(halves)
    return [*left, *right]


def _pairs_within(size: int, count: int, rng: np.random.Generator) -> np.ndarray:
    """Pairs of places, the earlier one first, drawn uniformly with repetition; all of them where these are fewer."""
    if count >= size * (size - 1) // 2:
        return np.column_stack(np.triu_indices(size, 1))
    first = rng.integers(0, size, size=count)
    second = (first + rng.integers(1, size, size=count)) % size
    return np.column_stack([np.minimum(first, second), np.maximum(first, second)])


@dataclass(frozen=True, slots=True)
class Goodness:
    """How good a decomposition is, given all answers.

    chaos : least cost inside the big blocks over their pairs; (2.2) asks for at least ε². 1 if no block is big.
    optimality : least cost of an order that respects the blocks over the least cost at all; (2.3) asks for 1 + ε.
    Costs of blocks beyond 20 items come from local search.
    """

    chaos: float
    optimality: float

    def is_good(self, epsilon: float) -> bool:
        """Whether the decomposition is ε-good (definition 2.1)."""
        return self.chaos >= epsilon**2 and self.optimality <= 1.0 + epsilon


def goodness(wins: np.ndarray, blocks: list[np.ndarray], *, small: int = 16) -> Goodness:
    """Measure local chaos (2.2) and approximate optimality (2.3) of ordered blocks against all votes.

    >>> wins = np.triu(np.ones((4, 4)), 1)
    >>> goodness(wins, [np.array([0, 1]), np.array([2, 3])])
    Goodness(chaos=1.0, optimality=1.0)
    """
    inside, pairs, order = 0.0, 0, []
    for block in blocks:
        part = np.ascontiguousarray(wins[np.ix_(block, block)], dtype=np.float64)
        best = exact_order(part) if len(block) <= 16 else iterated_search(part, np.arange(len(block)), restarts=5)
        order.append(block[best])
        if len(block) > small:
            inside += mfast_cost(part, best)
            pairs += len(block) * (len(block) - 1) // 2
    respecting = np.concatenate(order)
    wins = np.ascontiguousarray(wins, dtype=np.float64)
    least = mfast_cost(wins, insertion_search(wins, respecting))
    least = min(least, mfast_cost(wins, iterated_search(wins, respecting, restarts=5)))
    cost = mfast_cost(wins, respecting)
    return Goodness(inside / pairs if pairs else 1.0, cost / least if least > 0 else (1.0 if cost == 0 else np.inf))
