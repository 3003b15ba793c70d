"""A first order: sort a sample, look for mistakes in it, then sort the rest in or leave it at quarters."""

from __future__ import annotations

from collections.abc import Generator
from itertools import pairwise

import numpy as np

from podium.active.features import Features
from podium.active.insertion import bisect_gaps, sort_in
from podium.active.paper.quicksort import quicksort
from podium.active.posterior import Posterior
from podium.active.state import NO_PAIRS, State

__all__ = ["sorted_start"]

PROBE = 20  # questions that look for mistakes in the sample, or a fiftieth of n
GLANCE = 8  # of these come first; if none is a mistake, no more are asked
SORTABLE = 0.13  # sort to the end if no more of them are mistakes
TRUST = 5.0  # right answers to far pairs that are taken for granted
UNSORTED = 0.7  # of the fewest questions that sort: with less, a sort would stop too early to be of use
SPARE = 0.6  # questions per item beyond the fewest that sort, from which on fewer rounds matter more


def sorted_start(
    state: State, limit: float, *, whole: bool = True, features: Features | None = None
) -> Generator[np.ndarray, np.ndarray, Posterior]:
    """Sort a sample and probe it; then sort all others in, or if there are mistakes ask each two questions.

    Where answers are clean, or wrong only between far items as in a cycle, sorting is the best use of a question;
    where any answer may be wrong, its early mistakes are too dear. The sample is sorted by QuickSort, whose pivots cut
    a cycle at one place, which random pairs cannot do. `limit` is how many questions there are: far too few to sort
    are better spent otherwise. Not `whole`: only a part of the order matters, so the rest need not be sorted.
    If `features` predict the order of the sample, all items start where they say instead, without a question.
    """
    n, rng = state.n, state.rng
    items = rng.permutation(n)
    size = min(n, 2 ** max(4, round(np.log2(n) / 2)) - 1)
    sample = yield from quicksort(state, items[:size], median_of_three=True)
    right, wrong = yield from _probe(state, sample)
    share = wrong / (right + wrong) if right + wrong else 0.5
    noise = max(share, 0.003), max(0.003 * n, 0.05)
    fewest = np.log2(n) - 1.25  # questions per item that sort
    guessed = features.start(sample) if features is not None and size < n else None
    if guessed is not None:
        posterior, state.order = guessed, guessed.order
        posterior.floor, posterior.scale = noise
    elif (share > SORTABLE or not whole or limit < UNSORTED * fewest * n) and size < n:
        low, _ = yield from bisect_gaps(state, items[size:], sample, rounds=2)
        state.order, state.blocks = _quarters(sample, items[size:], low)
        posterior = Posterior(n, state.blocks)
    else:
        state.posterior = posterior = Posterior(n)
        posterior.floor, posterior.scale = noise
        posterior.fresh = int(right + wrong)
        growth = 2 if limit < (fewest + SPARE) * n else 4
        state.order = state.sorted = yield from sort_in(state, items[size:], sample, growth=growth)
        posterior = Posterior(n, [np.array([item]) for item in state.order])
        posterior.spread[:] = 0.5 + share * n
        posterior.floor, posterior.scale = noise
    posterior.probed, posterior.fresh = (right + TRUST, wrong), int(right + wrong)
    return posterior


def _probe(state: State, sample: np.ndarray) -> Generator[np.ndarray, np.ndarray, tuple[float, float]]:
    """How many new answers agree with the order of the sample, and how many do not; far pairs, as of a cycle, are left
    out."""
    first, second = np.triu_indices(len(sample), 1)
    apart = second - first
    near = (apart >= len(sample) // 5) & (apart <= max(2, len(sample) // 3))
    pairs = np.column_stack([sample[first[near]], sample[second[near]]])
    pairs = pairs[~state.evidence.closed(state.evidence.keys(pairs))]
    pairs = pairs[state.rng.permutation(len(pairs))[: max(PROBE, state.n // 50)]]
    glance = max(GLANCE, len(pairs) // 3) if len(pairs) > PROBE else GLANCE
    answers = (yield pairs[:glance]) if len(pairs) else np.zeros(0)
    if (answers < 1.0).any():
        more = (yield pairs[glance:]) if len(pairs) > glance else NO_PAIRS[:, 0]
        answers = np.concatenate([answers, more])
    told = answers[~np.isnan(answers)]
    return float(told.sum()), float((1.0 - told).sum())


def _quarters(sample: np.ndarray, rest: np.ndarray, low: np.ndarray) -> tuple[np.ndarray, list[np.ndarray]]:
    """The order and its blocks after two bisections in a sorted sample: four quarters and the three items between."""
    cuts = [0, *np.unique(low[low > 0]).tolist(), len(sample) + 1]
    blocks = []
    for first, after in pairwise(cuts):
        blocks.append(np.concatenate([sample[first : after - 1], rest[low == first]]))
        blocks.append(sample[after - 1 : after])
    blocks = [block for block in blocks if len(block)]
    return np.concatenate(blocks), blocks
