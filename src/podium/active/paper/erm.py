"""Empirical risk minimisation on a decomposition: Lemma 2.6 without features, section 4 with them."""

from __future__ import annotations

import numpy as np

from podium.active.order import SparseWins, exact_order
from podium.active.paper.learners import dimension_of, learn
from podium.active.paper.margin import BlockHinge, block_weights
from podium.active.paper.options import PaperOptions
from podium.active.paper.state import Flow, State

__all__ = ["learn_blocks", "margin_sample", "order_blocks"]

EXACT = 16


def order_blocks(state: State, blocks: list[np.ndarray], options: PaperOptions) -> Flow:
    """Order the items inside ordered blocks: all pairs of small ones and the exact order, a uniform sample in big ones.

    The sample of Lemma 2.6 has ε⁻⁶ n log n pairs, shared by the big blocks in proportion to their pairs; its
    disagreements are reduced by local search. Blocks keep their order.
    """
    ask = _sampled(state, blocks, _erm_sample(options, state.n), EXACT)
    yield np.concatenate(ask)
    return np.concatenate([_order_block(state, block, pairs) for block, pairs in zip(blocks, ask, strict=True)])


def learn_blocks(
    state: State, blocks: list[np.ndarray], options: PaperOptions, features: np.ndarray, small: int
) -> Flow:
    """Order the items by a score learnt from their features: SVM3 on the blocks and a sample of the pairs inside.

    Blocks up to `small` items are asked in full and big ones sampled in proportion to their pairs, so that the rows of
    every block stand for all its pairs. What was learnt is `state.model`. Its order need not respect the blocks.
    """
    ask = _sampled(state, blocks, margin_sample(options, state.n, features.shape[1]), small)
    pairs = np.concatenate(ask)
    answers = yield pairs
    state.model = learn(features, _loss(state.n, blocks, pairs, answers), options, state.rng)
    return state.model.order(features)


def _loss(n: int, blocks: list[np.ndarray], pairs: np.ndarray, answers: np.ndarray) -> BlockHinge:
    """SVM3's loss of these answers; a tie is half an answer either way, and a skip is none."""
    block = np.empty(n, dtype=np.int64)
    for number, members in enumerate(blocks):
        block[members] = number
    winner, loser = np.concatenate([pairs, pairs[:, ::-1]]).T
    share = np.concatenate([answers, 1.0 - answers])
    said = share > 0  # not where nan
    winner, loser, share = winner[said], loser[said], share[said]
    return BlockHinge(block, winner, loser, block_weights(block, winner, share))


def _erm_sample(options: PaperOptions, n: int) -> float:
    return float(options.erm_sample * options.epsilon**-6 * n * np.log(max(n, 2)))


def margin_sample(options: PaperOptions, n: int, columns: int) -> float:
    """How many pairs of big blocks to draw: Theorem 4.2 with log(c/ε) as in its proof, Lemma 2.6 for trees."""
    dimension = dimension_of(options.learner, n, columns)
    if dimension is None:
        return _erm_sample(options, n)
    log = max(1.0, float(np.log(options.radius / options.epsilon)))
    return options.margin_sample * options.epsilon**-6 * (1 + 2 * options.radius) ** 2 * dimension * log


def _sampled(state: State, blocks: list[np.ndarray], sample: float, small: int) -> list[np.ndarray]:
    """Pairs to ask in each block: all of a small one, and of big ones their share of the sample, drawn with repetition;
    all where the share is no less."""
    big = np.array([len(block) * (len(block) - 1) // 2 if len(block) > small else 0 for block in blocks])
    ask = []
    for block, pairs in zip(blocks, big.tolist(), strict=True):
        if pairs == 0 or pairs <= sample * pairs / big.sum():
            first, second = np.triu_indices(len(block), 1)
        else:
            count = int(np.ceil(sample * pairs / big.sum()))
            first = state.rng.integers(0, len(block), size=count)
            second = (first + state.rng.integers(1, len(block), size=count)) % len(block)
        ask.append(np.column_stack([block[first], block[second]]))
    return ask


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
