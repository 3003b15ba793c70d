"""Probabilistic bisection: ask each item against those that stand where it may stand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from podium.active.order import SparseWins, iterated_search, mfast_cost
from podium.active.posterior import Posterior, vote_table
from podium.active.quicksort import quicksort
from podium.active.state import Flow, State
from podium.kernels import bisect as kernel

__all__ = ["BisectOptions", "best_order", "bisect", "choose_pairs", "random_pairs"]

DENSE = 400  # up to so many items the last search runs on a square array, with restarts


@dataclass(frozen=True, slots=True)
class BisectOptions:
    """How `bisect` goes about it.

    levels : QuickSort levels to begin with; 0 begins with random pairs, all in one batch.
    warm : random pairs per item to begin with if levels is 0.
    per_round : questions per item and round.
    most : partners per item and round at most.
    questions : stop after so many questions per item; None: when no pair is left worth asking.
    rounds : if given, spread `questions` over so many rounds instead of `per_round`.
    top : care for the order of the first `top` places only; None: for all.
    """

    levels: int = 2
    warm: float = 2.0
    per_round: float = 1.0
    most: int = 2
    questions: float | None = None
    rounds: int | None = None
    top: int | None = None


def bisect(state: State, options: BisectOptions, stable: Callable[[State, Posterior], bool] | None = None) -> Flow:
    """Order all items: a rough start, then rounds of questions at the quantiles of each item's posterior.

    An answer tells most where it could go either way, so the partners of an item are those that stand where the item
    itself may stand; and it tells where it matters, so items get questions in proportion to their spread. After two
    QuickSort levels the cut of a cyclic tournament is fixed, which random pairs alone cannot do.
    """
    n, rng = state.n, state.rng
    if options.levels:
        yield from quicksort(state, levels=options.levels)
        posterior = Posterior(n, state.blocks)
        asked_rounds = options.levels
    else:
        yield random_pairs(n, int(options.warm * n), rng)
        posterior = Posterior(n)
        asked_rounds = 1
    state.blocks = None
    state.posterior = posterior
    limit = np.inf if options.questions is None else options.questions * n
    while True:
        table = vote_table(n, state.evidence.votes(), state.weights)
        draws = rng.random((n, options.most)) + rng.permuted(np.tile(np.arange(options.most), (n, 1)), axis=1)
        target = posterior.sweep(table, 2 if asked_rounds <= 3 else 1, draws / options.most)
        state.order, state.spread = posterior.order, posterior.spread
        left = limit - state.evidence.distinct
        if left <= 0 or (stable is not None and stable(state, posterior)):
            break
        count = options.per_round * n if options.rounds is None else left / max(1, options.rounds - asked_rounds)
        pairs = choose_pairs(posterior, table, target, int(min(np.ceil(count), left)), options, rng)
        if not len(pairs):
            break
        gap, variance = posterior.predict(pairs)
        answers = yield pairs
        posterior.learn_noise(gap, variance, answers)
        asked_rounds += 1
    state.order = best_order(state)
    return state.order


def random_pairs(n: int, count: int, rng: np.random.Generator) -> np.ndarray:
    """About `count` distinct pairs, every item in equally many: neighbours on random circles."""
    circles = [rng.permutation(n) for _ in range(-(-count // n))]
    pairs = np.concatenate([np.column_stack([circle, np.roll(circle, 1)]) for circle in circles])[:count]
    keys = np.minimum(pairs[:, 0], pairs[:, 1]) * n + np.maximum(pairs[:, 0], pairs[:, 1])
    return pairs[np.sort(np.unique(keys, return_index=True)[1])]


def choose_pairs(
    posterior: Posterior,
    table: SparseWins,
    target: np.ndarray,
    count: int,
    options: BisectOptions,
    rng: np.random.Generator,
) -> np.ndarray:
    """Up to `count` new pairs: partners nearest to each item's targets, more for items that are less sure."""
    n = posterior.n
    weight = posterior.spread.copy()
    if options.top is not None:  # the chance to belong to the head; a little for the rest, which may be misplaced
        away = (posterior.position - options.top) / (posterior.spread + 1.0)
        weight *= 0.02 + 1.0 / (1.0 + np.exp(np.clip(2.0 * away, -50, 50)))
    share = weight * (count / weight.sum())
    for _ in range(4):
        share = np.minimum(share * (count / share.sum()), options.most)
    visit = rng.permutation(n)
    want = np.minimum(np.floor(share + rng.random(n)), options.most).astype(np.int64)[visit]
    pairs = np.empty((int(want.sum()), 2), dtype=np.int64)
    seen, head, link = np.full(n, -1), np.full(n, -1), np.empty(2 * len(pairs), dtype=np.int64)
    found = kernel.choose_partners(
        table.start, table.partner, posterior.order, visit, want, target[visit], n, seen, head, link, pairs
    )
    pairs = pairs[:found]
    if found > count:
        pairs = pairs[np.sort(rng.permutation(found)[:count])]
    return pairs


def best_order(state: State, *, sweeps: int = 6) -> np.ndarray:
    """The order that the answers so far speak for, without asking.

    Sweeps of the posterior place every item; then single moves and exact windows remove the disagreement with the
    answers that is left. Up to 400 items the search starts again from perturbed orders.
    """
    n = state.n
    votes = state.evidence.votes()
    if not len(votes):
        return state.order.copy()
    table = vote_table(n, votes, state.weights)
    order = state.order
    if state.posterior is not None:
        posterior = state.posterior.copy()
        posterior.sweep(table, sweeps)
        state.spread = posterior.spread
        order = posterior.order
    if n <= DENSE:
        wins = np.zeros((n, n))
        np.add.at(wins, (votes.left, votes.right), votes.value)
        np.add.at(wins, (votes.right, votes.left), 1.0 - votes.value)
        rng = np.random.default_rng(0)
        first = iterated_search(wins, order, restarts=20, rng=rng)
        second = iterated_search(wins, restarts=20, rng=rng)
        return first if mfast_cost(wins, first) <= mfast_cost(wins, second) else second
    order = table.insertion_search(order)
    return table.insertion_search(table.window_search(order))
