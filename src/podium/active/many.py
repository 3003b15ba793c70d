"""Which pairs next among many items whose answers may be wrong: each against those that stand where it may stand.

Beyond some hundred items the covariance of the scores is too dear. The rank posterior takes its place: partners stand
at quantiles of where an item may stand, and items that are less sure are asked more.
"""

from __future__ import annotations

import numpy as np

from podium.active.models import Draft
from podium.active.order import SparseWins
from podium.active.tally import Tally
from podium.kernels.active import bisect as kernel

__all__ = ["chosen_among_many", "head_chance"]

BEYOND = 0.02  # interest in an item that is hardly among the first: it may be misplaced


def chosen_among_many(
    tally: Tally, draft: Draft, closed: np.ndarray, out: np.ndarray, count: int, top: int | None,
    rng: np.random.Generator,
) -> np.ndarray:  # fmt: skip
    """Up to `count` pairs, none whose key is in `closed` or among the pairs `out`.

    The sweep that finds the quantiles also takes in the votes that the draft was made without."""
    n, table = tally.n, draft.table
    posterior = draft.posterior.copy()
    most = int(np.ceil(count / n)) + 1
    strata = rng.permuted(np.tile(np.arange(most), (n, 1)), axis=1)
    target = posterior.sweep(table, 1, (strata + rng.random(strata.shape)) / most)
    low, high = np.divmod(closed, n)
    shut = SparseWins(
        n, np.concatenate([low, out[:, 0]]), np.concatenate([high, out[:, 1]]), np.ones(len(low) + len(out))
    )
    waiting = np.bincount(out.ravel(), minlength=n)
    sure = np.maximum(tally.degree / 3.0, 1.0)
    eager = posterior.std * np.sqrt(sure / (sure + waiting))
    if top is not None:
        interest = BEYOND + head_chance(posterior.position, posterior.std, top)
        eager = eager * interest
        count = min(count, int(np.ceil(most * interest.sum())))
    return _partners(posterior.order, shut, target, eager, count, most, rng)


def _partners(
    order: np.ndarray, shut: SparseWins, target: np.ndarray, eager: np.ndarray, count: int, most: int,
    rng: np.random.Generator,
) -> np.ndarray:  # fmt: skip
    """Partners nearest to each item's targets, more for items that are more eager."""
    n = len(order)
    share = eager * (count / eager.sum())
    for _ in range(4):
        share = np.minimum(share * (count / share.sum()), most)
    visit = rng.permutation(n)
    want = np.minimum(np.floor(share + rng.random(n)), most).astype(np.int64)[visit]
    pairs = np.empty((int(want.sum()), 2), dtype=np.int64)
    seen, head, link = np.full(n, -1), np.full(n, -1), np.empty(2 * len(pairs) + 1, dtype=np.int64)
    chosen = kernel.choose_partners(
        shut.start, shut.partner, order, visit, want, target[visit], n, seen, head, link, pairs
    )
    pairs = pairs[:chosen]
    if chosen > count:
        pairs = pairs[np.sort(rng.permutation(chosen)[:count])]
    return pairs


def head_chance(rank: np.ndarray, std: np.ndarray, top: int) -> np.ndarray:
    """About the chance of each item to be among the first `top`; ranks from 0."""
    chance: np.ndarray = 1.0 / (1.0 + np.exp(np.clip(2.0 * (rank - top) / (std + 1.0), -50, 50)))
    return chance
