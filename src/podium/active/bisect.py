"""Probabilistic bisection: ask each item against those that stand where it may stand."""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass

import numpy as np

from podium.active.features import Features
from podium.active.order import SparseWins, iterated_search, mfast_cost
from podium.active.posterior import Posterior, rater_weights, vote_table
from podium.active.quicksort import quicksort
from podium.active.state import NO_PAIRS, Flow, State, together
from podium.kernels import bisect as kernel

__all__ = ["BisectOptions", "Estimate", "bisect", "choose_pairs", "estimate", "random_pairs"]

PROBE = 20  # questions that look for mistakes after the first levels, or a fiftieth of n
SORTABLE = 0.13  # sort to the end if no more of them are mistakes
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
    own : share of the questions that are ours; the rest are check pairs that the driver adds.
    top : care for the order of the first `top` places only; None: for all.
    until : stop as soon as this says so of the posterior.
    """

    levels: int = 2
    warm: float = 2.0
    per_round: float = 1.0
    most: int = 2
    questions: float | None = None
    rounds: int | None = None
    own: float = 1.0
    top: int | None = None
    until: Callable[[Posterior], bool] | None = None


def bisect(state: State, options: BisectOptions, features: Features | None = None) -> Flow:
    """Order all items: a rough start, then rounds of questions at the quantiles of each item's posterior.

    An answer tells most where it could go either way, so the partners of an item are those that stand where the item
    itself may stand; and it tells most where much is open, so items get questions in proportion to their spread. After
    two QuickSort levels the cut of a cyclic tournament is fixed, which random pairs alone cannot do.
    """
    n, rng = state.n, state.rng
    rounds = max(1, options.levels)
    if options.levels:
        posterior = yield from _sorted_start(state, options)
    else:
        yield random_pairs(n, int(options.warm * n), rng)
        posterior = Posterior(n)
    state.posterior, state.blocks = posterior, None
    limit = np.inf if options.questions is None else options.questions * n
    while True:
        if features is not None:
            posterior.prior, posterior.precision = features.prior(posterior)
        votes = state.evidence.votes()
        state.weights = rater_weights(votes, posterior)
        table = vote_table(n, votes, state.weights)
        strata = rng.permuted(np.tile(np.arange(options.most), (n, 1)), axis=1)
        sweeps = 4 if options.rounds else (2 if rounds <= 3 else 1)  # few rounds leave time to think
        target = posterior.sweep(table, sweeps, (strata + rng.random(strata.shape)) / options.most)
        state.order, state.spread = posterior.order, posterior.spread
        left = limit - state.evidence.distinct
        if left < 1 or rounds == options.rounds or (options.until is not None and options.until(posterior)):
            break
        count = options.per_round * n if options.rounds is None else options.own * left / (options.rounds - rounds)
        pairs = choose_pairs(posterior, table, target, int(min(np.ceil(count), left)), options, rng)
        if not len(pairs):
            break
        gap, variance = posterior.predict(pairs)
        answers = yield pairs
        posterior.learn_noise(gap, variance, answers)
        rounds += 1
    if options.until is not None:
        yield from _ask_neighbours(state)
    found = estimate(state)
    state.found = state.evidence.version, found
    return found.order


def _ask_neighbours(state: State) -> Generator[np.ndarray, np.ndarray, None]:
    """Ask the pairs of neighbours that were never asked, so that no step of the final order is a mere guess."""
    for _ in range(3):
        order = estimate(state).order
        pairs = np.column_stack([order[:-1], order[1:]])
        pairs = pairs[~state.evidence.closed(state.evidence.keys(pairs))]
        if not len(pairs):
            return
        yield pairs


def _sorted_start(state: State, options: BisectOptions) -> Generator[np.ndarray, np.ndarray, Posterior]:
    """A few QuickSort levels; then QuickSort to the end if a probe finds few mistakes between neighbouring blocks.

    Where answers are clean, or wrong only between far items as in a cycle, sorting is the best use of a question;
    where any answer may be wrong, its early mistakes are too dear.
    """
    yield from quicksort(state, levels=options.levels, median_of_three=True)
    blocks = state.blocks
    if blocks is None or len(blocks) < 2:
        return Posterior(state.n, blocks)
    pairs = _probe(blocks, max(PROBE, state.n // 50), state.rng)
    answers = yield pairs
    told = answers[~np.isnan(answers)]
    wrong = float(np.mean(1.0 - told)) if len(told) else 0.5
    if wrong > SORTABLE:
        return Posterior(state.n, blocks)
    parts = yield from together([quicksort(state, block, median_of_three=True) for block in blocks])
    state.order = np.concatenate(parts)
    posterior = Posterior(state.n, [np.array([item]) for item in state.order])
    posterior.spread[:] = 0.5 + wrong * state.n
    posterior.floor, posterior.scale = max(wrong, 0.003), max(0.003 * state.n, 0.05)
    return posterior


def _probe(blocks: list[np.ndarray], count: int, rng: np.random.Generator) -> np.ndarray:
    """Random pairs of items in neighbouring blocks, the one expected first on the left; pivots are passed over."""
    wide = [block for block in blocks if len(block) > 1] or blocks
    if len(wide) < 2:
        return NO_PAIRS
    first = rng.integers(0, len(wide) - 1, size=count)
    pairs = [(wide[k][rng.integers(len(wide[k]))], wide[k + 1][rng.integers(len(wide[k + 1]))]) for k in first]
    return np.unique(np.array(pairs, dtype=np.int64), axis=0)


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
        interest = 0.02 + 1.0 / (1.0 + np.exp(np.clip(2.0 * away, -50, 50)))
        weight *= interest
        count = min(count, int(np.ceil(options.most * interest.sum())))  # a smaller round, rather than the tail
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


@dataclass(frozen=True, slots=True)
class Estimate:
    """What the answers so far speak for: an order, how far each item may be off, and the noise of the answers."""

    order: np.ndarray
    spread: np.ndarray
    floor: float
    scale: float


def estimate(state: State, *, sweeps: int = 6) -> Estimate:
    """Read the best order off the answers so far, without asking and without touching `state`.

    Sweeps of the posterior place every item; then single moves and exact windows remove the disagreement with the
    answers that is left. Up to 400 items the search starts again from perturbed orders.
    """
    votes = state.evidence.votes()
    posterior = Posterior(state.n, state.blocks) if state.posterior is None else state.posterior.copy()
    if not len(votes):
        return Estimate(state.order.copy(), posterior.spread, posterior.floor, posterior.scale)
    table = vote_table(state.n, votes, state.weights)
    posterior.sweep(table, sweeps)
    order = _dense_search(state.n, table, posterior.order) if state.n <= DENSE else _search(table, posterior.order)
    return Estimate(order, posterior.spread, posterior.floor, posterior.scale)


def _search(table: SparseWins, order: np.ndarray) -> np.ndarray:
    return table.insertion_search(table.window_search(table.insertion_search(order)))


def _dense_search(n: int, table: SparseWins, order: np.ndarray) -> np.ndarray:
    """The cheaper of two searches, from `order` and from the balance of wins."""
    wins = np.zeros((n, n))
    np.add.at(wins, (table.left, table.right), np.maximum(table.edge, 0.0))
    np.add.at(wins, (table.right, table.left), np.maximum(-table.edge, 0.0))
    rng = np.random.default_rng(0)
    first = iterated_search(wins, order, restarts=20, rng=rng)
    second = iterated_search(wins, restarts=20, rng=rng)
    return first if mfast_cost(wins, first) <= mfast_cost(wins, second) else second
