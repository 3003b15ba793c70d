"""Empirical risk minimisation on a decomposition: Lemma 2.6, and the large-margin form of section 4 (SVM3)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from podium.active.order import SparseWins, exact_order
from podium.active.paper.improve import PaperOptions
from podium.active.paper.state import Flow, State
from podium.errors import InputError
from podium.kernels.active import hinge as kernel

__all__ = ["LargeMargin", "cross_block_hinge", "order_blocks", "svm3"]

EXACT = 16


def order_blocks(state: State, blocks: list[np.ndarray], options: PaperOptions) -> Flow:
    """Order the items inside ordered blocks: all pairs of small ones and the exact order, a uniform sample in big ones.

    The sample of Lemma 2.6 has ε⁻⁶ n log n pairs, shared by the big blocks in proportion to their pairs; its
    disagreements are reduced by local search. Blocks keep their order.
    """
    n = state.n
    big = np.array([len(block) * (len(block) - 1) // 2 if len(block) > EXACT else 0 for block in blocks])
    sample = options.erm_sample * options.epsilon**-6 * n * np.log(max(n, 2))
    ask = []
    for block, pairs in zip(blocks, big.tolist(), strict=True):
        if pairs == 0 or pairs <= sample * pairs / big.sum():
            first, second = np.triu_indices(len(block), 1)
        else:
            count = int(np.ceil(sample * pairs / big.sum()))
            first = state.rng.integers(0, len(block), size=count)
            second = (first + state.rng.integers(1, len(block), size=count)) % len(block)
        ask.append(np.column_stack([block[first], block[second]]))
    yield np.concatenate(ask)
    return np.concatenate([_order_block(state, block, pairs) for block, pairs in zip(blocks, ask, strict=True)])


def _order_block(state: State, block: np.ndarray, pairs: np.ndarray) -> np.ndarray:
    local = np.full(state.n, -1)
    local[block] = np.arange(len(block))
    edge = np.nan_to_num(2.0 * state.votes.answers(pairs) - 1.0)
    left, right = local[pairs[:, 0]], local[pairs[:, 1]]
    if len(block) <= EXACT:
        wins = np.zeros((len(block), len(block)))
        wins[left, right], wins[right, left] = np.maximum(edge, 0), np.maximum(-edge, 0)
        best: np.ndarray = block[exact_order(wins)]
        return best
    table = SparseWins(len(block), left, right, edge)
    order = table.window_search(table.insertion_search(np.arange(len(block))))
    searched: np.ndarray = block[table.insertion_search(order)]
    return searched


def cross_block_hinge(scores: np.ndarray, block: np.ndarray) -> tuple[float, np.ndarray]:
    """Sum of max(0, 1 - s_u + s_v) over all u in an earlier block than v, and its gradient, in O(n log n).

    >>> value, slope = cross_block_hinge(np.array([0.0, 0.5]), np.array([0, 1]))
    >>> value, slope.tolist()
    (1.5, [-1.0, 1.0])
    """
    scores = np.ascontiguousarray(scores, dtype=np.float64)
    block = np.ascontiguousarray(block, dtype=np.int64)
    blocks = int(block.max(initial=-1)) + 1
    slope = np.zeros(len(scores))
    room = np.empty(blocks + 1), np.empty(blocks + 1)
    ascending = np.argsort(scores, kind="stable")
    return float(kernel.cross_block_hinge(scores, ascending, block, *room, slope)), slope


@dataclass(frozen=True, slots=True)
class LargeMargin:
    """A linear ranker: items by falling score features @ weights. `loss` is SVM3's objective at the weights."""

    weights: np.ndarray
    loss: float

    def order(self, features: np.ndarray) -> np.ndarray:
        """Items by falling score."""
        order: np.ndarray = np.argsort(-(np.asarray(features) @ self.weights), kind="stable")
        return order


def svm3(
    features: np.ndarray,
    blocks: list[np.ndarray],
    winner: np.ndarray,
    loser: np.ndarray,
    *,
    radius: float = 10.0,
    steps: int = 400,
) -> LargeMargin:
    """Minimise SVM3 of section 4 over the ball of the given radius.

    The loss is the hinge over all pairs of items in different blocks, the earlier block first, none of which is asked
    or listed, plus the hinge over the sampled answers inside blocks (winner[k] before loser[k]) scaled up to all pairs
    there. Projected subgradient steps; the best point seen is returned. Theorem 4.2: with enough sampled pairs the
    loss is within ε of that over all answers, for every weight vector at once.
    """
    features = np.asarray(features, dtype=np.float64)
    n = len(features)
    block = np.full(n, -1)
    for number, members in enumerate(blocks):
        block[members] = number
    if (block < 0).any():
        raise InputError(f"item {int(np.flatnonzero(block < 0)[0])} is in no block; blocks must cover every item")
    inside = sum(len(members) * (len(members) - 1) // 2 for members in blocks)
    scale = inside / len(winner) if len(winner) else 0.0

    def loss(weights: np.ndarray) -> tuple[float, np.ndarray]:
        scores = features @ weights
        value, slope = cross_block_hinge(scores, block)
        margin = 1.0 - scores[winner] + scores[loser]
        active = (margin > 0) * scale
        slope += np.bincount(loser, active, n) - np.bincount(winner, active, n)
        return value + float(margin @ active), features.T @ slope

    weights = best = np.zeros(features.shape[1])
    least, slope = loss(weights)
    for step in range(1, steps + 1):
        length = float(np.linalg.norm(slope))
        if length == 0:
            break
        weights = weights - radius / (length * np.sqrt(step)) * slope
        weights = weights * min(1.0, radius / max(float(np.linalg.norm(weights)), 1e-300))
        value, slope = loss(weights)
        if value < least:
            least, best = value, weights
    return LargeMargin(best, least)
