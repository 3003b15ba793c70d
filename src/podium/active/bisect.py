"""Probabilistic bisection: ask each item against those that stand where it may stand."""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass

import numpy as np

from podium.active.features import Features
from podium.active.order import SparseWins, iterated_search
from podium.active.posterior import Posterior, rater_weights, vote_table
from podium.active.start import sorted_start
from podium.active.state import Flow, State
from podium.kernels.active import bisect as kernel

__all__ = ["BisectOptions", "Estimate", "bisect", "choose_pairs", "estimate", "head_chance", "random_pairs"]

DENSE = 400  # up to so many items the last search runs on a square array, with restarts
TURNING = 0.1  # more mistakes among far pairs than elsewhere: there may be a cycle
UNKNOWN = 0.02  # of a known answer: the weight of one that the posterior expects


@dataclass(frozen=True, slots=True)
class BisectOptions:
    """How `bisect` goes about it.

    sort : begin by sorting, as far as the answers allow; otherwise with random pairs, all in one batch.
    warm : random pairs per item to begin with if not by sorting.
    per_round : questions per item and round.
    most : partners per item and round at most.
    questions : stop after so many questions per item; None: when no pair is left worth asking.
    rounds : if given, spread `questions` over so many rounds instead of `per_round`.
    own : share of the questions that are ours; the rest are check pairs that the driver adds.
    top : care for the order of the first `top` places only; None: for all.
    until : stop as soon as this says so of the posterior.
    """

    sort: bool = True
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
    itself may stand; and it tells most where much is open, so items get questions in proportion to their spread.
    """
    n, rng = state.n, state.rng
    limit = np.inf if options.questions is None else options.questions * n
    rounds = 1
    if options.sort:
        posterior = yield from sorted_start(state, options.own * limit, whole=options.top is None, features=features)
    else:
        yield random_pairs(n, int(options.warm * n), rng)
        posterior = Posterior(n)
    state.posterior, state.blocks = posterior, None
    while True:
        if features is not None:
            posterior.prior, posterior.precision = features.prior(posterior)
        votes = state.evidence.votes()
        state.weights = rater_weights(votes, posterior)
        table = vote_table(n, votes, state.weights)
        strata = rng.permuted(np.tile(np.arange(options.most), (n, 1)), axis=1)
        sweeps = 4 if options.rounds else (2 if rounds <= 2 else 1)  # few rounds leave time to think
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
        yield from _ask_neighbours(state, options.top)
    found = estimate(state)
    state.found = state.evidence.version, found
    return found.order


def _ask_neighbours(state: State, top: int | None) -> Generator[np.ndarray, np.ndarray, None]:
    """Ask the pairs of neighbours (of the first `top` and the next) that were never asked, so that no step of the final
    order is a mere guess."""
    for _ in range(3):
        order = estimate(state).order[: None if top is None else top + 1]
        pairs = np.column_stack([order[:-1], order[1:]])
        pairs = pairs[~state.evidence.closed(state.evidence.keys(pairs))]
        if not len(pairs):
            return
        yield pairs


def head_chance(place: np.ndarray, spread: np.ndarray, top: int) -> np.ndarray:
    """About the chance of each item to be among the first `top`."""
    chance: np.ndarray = 1.0 / (1.0 + np.exp(np.clip(2.0 * (place - top) / (spread + 1.0), -50, 50)))
    return chance


def random_pairs(n: int, count: int, rng: np.random.Generator) -> np.ndarray:
    """About `count` distinct pairs, at least one, every item in equally many: neighbours on random circles."""
    count = max(count, 1)
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
        interest = 0.02 + head_chance(posterior.position, posterior.spread, options.top)
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
    """What the answers so far speak for: an order, how far each item may be off, and the noise of the answers.

    `turning` says that far pairs contradict the order much more often than near ones, as on a circle: the places then
    hold up to a turn of the whole. `fresh` counts the answers that the noise rests on.
    """

    order: np.ndarray
    spread: np.ndarray
    floor: float
    scale: float
    turning: bool = False
    fresh: int = 0


def estimate(state: State, *, sweeps: int = 6) -> Estimate:
    """Read the best order off the answers so far, without asking and without touching `state`.

    Sweeps of the posterior place every item; then single moves and exact windows remove the disagreement with the
    answers that is left. Up to 400 items the search starts again from perturbed orders. If the items were
    sorted, the same search from that order is kept unless it contradicts more answers.
    """
    votes = state.evidence.votes()
    posterior = Posterior(state.n, state.blocks) if state.posterior is None else state.posterior.copy()
    if not len(votes):
        return Estimate(state.order.copy(), posterior.spread, posterior.floor, posterior.scale)
    table = vote_table(state.n, votes, state.weights)
    posterior.sweep(table, sweeps)
    order = _dense_search(table, posterior) if state.n <= DENSE else _search(table, posterior.order)
    if state.sorted is not None:
        kept = _search(table, state.sorted)
        order = kept if table.cost(kept) <= table.cost(order) else order
    turning = posterior.far_floor(table) > posterior.floor + TURNING
    return Estimate(order, posterior.spread, posterior.floor, posterior.scale, turning, posterior.fresh)


def _search(table: SparseWins, order: np.ndarray) -> np.ndarray:
    return table.insertion_search(table.window_search(table.insertion_search(order)))


def _dense_search(table: SparseWins, posterior: Posterior) -> np.ndarray:
    """Search on a square array, with restarts: known answers count fully, unknown ones a little, as the posterior
    expects them; so they decide where the answers leave a choice."""
    n = posterior.n
    first, second = np.triu_indices(n, 1)
    chance = posterior.chances(np.column_stack([first, second]), table)
    wins = np.zeros((n, n))
    wins[first, second], wins[second, first] = UNKNOWN * chance, UNKNOWN * (1.0 - chance)
    wins[table.left, table.right] = wins[table.right, table.left] = 0.0
    np.add.at(wins, (table.left, table.right), np.maximum(table.edge, 0.0))
    np.add.at(wins, (table.right, table.left), np.maximum(-table.edge, 0.0))
    return iterated_search(wins, posterior.order, restarts=20, rng=np.random.default_rng(0))
