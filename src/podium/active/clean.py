"""Which pairs next while no answer contradicts another: sort, with nearly the fewest questions, many side by side.

Up to some hundred items the whole partial order is kept, and items that may stand at the same place meet. Beyond that
a sample is sorted so; the others are then sorted in by binary search. A few answers that are implied already are asked
for all the same, also between neighbours: a judge who errs is found out, and the planner goes on without this module.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from podium.active.choice import swiss_round
from podium.active.tally import Tally, distinct, is_among, pair_keys
from podium.kernels.active.partial import chain_bounds, topological

__all__ = ["Partial", "clean_pairs", "partial_order"]

MAX_SQUARE_ITEMS = 400  # up to so many items the implied answers are kept in a square array
SWISS = 2.5  # questions an item before the partial order decides
EVEN = 0.7  # a pair waits while the two answers would tell more unevenly than so, in logs
VERIFY = 0.25  # pairs of near items to be asked for before the order is called clean, as a share of the items
FEWEST = 60  # of these at least: with fewer, one item of sixty that a mistake misplaced was overlooked too often
MAX_NEAR_PLACES = 5  # places within which a check of neighbours looks
SIDE = 0.02  # share of the questions that check neighbours while many items are sorted in
GROWTH = 2.0  # of the sorted part by each stage
MIN_AT_ONCE = 64  # pairs at once, below which later stages begin


@dataclass(frozen=True)
class Partial:
    """Answers without a contradiction: `order` is one order that agrees with all, start/after list who comes later."""

    n: int
    order: np.ndarray
    start: np.ndarray
    after: np.ndarray
    keys: np.ndarray

    @cached_property
    def place(self) -> np.ndarray:
        """Where each item stands in `order`."""
        place = np.empty(self.n, dtype=np.int64)
        place[self.order] = np.arange(self.n)
        return place

    @cached_property
    def implied(self) -> np.ndarray:
        """Square array: the row is known to come before the column."""
        later = np.zeros((self.n, self.n), dtype=bool)
        for u in self.order[::-1].tolist():
            row = self.after[self.start[u] : self.start[u + 1]]
            if len(row):
                later[u] = later[row].any(axis=0)
                later[u, row] = True
        return later

    def bounds(self, chain: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The last of `chain` known to come before each item, and the first known to come after, numbered from 1."""
        own = np.zeros(self.n, dtype=np.int64)
        own[chain] = np.arange(1, len(chain) + 1)
        low, high = np.zeros(self.n, dtype=np.int64), np.full(self.n, len(chain) + 1, dtype=np.int64)
        chain_bounds(self.start, self.after, self.order, own, low, high)
        return low, high

    def sorted_chain(self, items: np.ndarray) -> np.ndarray | None:
        """`items` in order if the answers imply one, else None."""
        chain: np.ndarray = items[np.argsort(self.place[items])]
        low, _ = self.bounds(chain)
        return chain if bool((low[chain] == np.arange(len(chain))).all()) else None


def partial_order(tally: Tally) -> Partial | None:
    """What the votes imply; None if any two of them contradict each other, or a pair is tied."""
    n = tally.n
    points, total = tally.sums()
    wins = points == total
    if not (wins | (points == 0.0)).all():
        return None
    before = np.where(wins, tally.pair_low, tally.pair_high)
    after = np.where(wins, tally.pair_high, tally.pair_low)
    rows = np.argsort(before, kind="stable")
    start = np.searchsorted(before[rows], np.arange(n + 1)).astype(np.int64)
    later = after[rows].astype(np.int32)
    order = np.zeros(n, dtype=np.int64)
    waiting = np.bincount(after, minlength=n).astype(np.int32)
    if topological(start, later, waiting, order) < n:
        return None
    return Partial(n, order, start, later, tally.keys)


def clean_pairs(known: Partial, shut: np.ndarray, out: np.ndarray, count: int, seed: int) -> np.ndarray:
    """Up to `count` pairs that sort, none whose key is in `shut` (answered or skipped) or among the pairs `out`."""
    n = known.n
    barred = distinct(shut, pair_keys(out, n))
    mixed = np.random.default_rng([seed, 11]).permutation(n)
    if n <= MAX_SQUARE_ITEMS:
        return _sort_some(known, mixed, barred, out, count)
    sample = mixed[: 2 ** max(4, round(np.log2(n) / 2)) - 1]
    if known.sorted_chain(sample) is None:
        return _sort_some(known, sample, barred, out, count)
    return _sort_in(known, mixed, len(sample), barred, out, count)


def _sort_some(known: Partial, items: np.ndarray, barred: np.ndarray, out: np.ndarray, count: int) -> np.ndarray:
    """Order `items`: Swiss rounds, then pairs that may stand at the same place, then a check of neighbours."""
    n, size = known.n, len(items)
    inside = np.zeros(n, dtype=bool)
    inside[items] = True
    before = np.repeat(np.arange(n), np.diff(known.start))
    among = inside[before] & inside[known.after]
    degree = np.bincount(before[among], minlength=n) + np.bincount(known.after[among], minlength=n)
    busy = out[inside[out].all(axis=1)]
    degree += np.bincount(busy.ravel(), minlength=n)
    if degree[items].sum() < 2 * SWISS * size:
        wins = np.bincount(before[among], minlength=n) - np.bincount(known.after[among], minlength=n)
        ahead = items[np.argsort(-wins[items], kind="stable")]
        pairs_ahead = swiss_round(ahead, degree, barred, count)
        if len(pairs_ahead):
            return pairs_ahead
    later = known.implied[np.ix_(items, items)]
    open_pairs = np.argwhere(np.triu(~(later | later.T), 1))
    if not len(open_pairs):
        return _verified(known, items[np.argsort(known.place[items])], barred, count)
    pairs = items[open_pairs]
    keys = pair_keys(pairs, n)
    free = ~is_among(keys, barred)
    uneven = _imbalance(later, open_pairs)
    free &= uneven <= max(EVEN, float(uneven[free].min(initial=np.inf)) if free.any() else 0.0)
    rows = np.argsort(np.where(free, uneven, np.inf), kind="stable")[: np.count_nonzero(free)]
    return _disjoint(pairs[rows], busy.ravel(), count)


def _imbalance(later: np.ndarray, pairs: np.ndarray) -> np.ndarray:
    """How unevenly the two answers to each pair would tell: 0 where both settle as many open pairs."""
    size = len(later)
    related = later | later.T | np.eye(size, dtype=bool)
    at_most = (later | np.eye(size, dtype=bool)).astype(np.float32)  # the row, or before the column
    settled = at_most.T @ (~related).astype(np.float32) @ at_most.T  # if the row went before the column
    first, second = pairs[:, 0], pairs[:, 1]
    uneven: np.ndarray = np.abs(np.log(settled[first, second] / settled[second, first]))
    return uneven


def _disjoint(pairs: np.ndarray, busy: np.ndarray, count: int) -> np.ndarray:
    """The first pairs of the list, no item twice and none that is `busy`: what is out may settle it."""
    used = set(busy.tolist())
    chosen: list[list[int]] = []
    for u, v in pairs.tolist():
        if len(chosen) == count:
            break
        if u not in used and v not in used:
            used |= {u, v}
            chosen.append([u, v])
    return np.array(chosen, dtype=np.int64).reshape(-1, 2)


def _verified(known: Partial, chain: np.ndarray, barred: np.ndarray, count: int) -> np.ndarray:
    """Pairs two places apart in a finished order, then three and four, drawn for good by their names, if never asked.

    Sorting asks each such pair only while its answer is open, so that a mistake meets no contradiction; these may. Two
    places apart a judge who wavers is soonest found out.
    """
    n = known.n
    apart = np.repeat([2, 3, 4], [max(0, len(chain) - d) for d in (2, 3, 4)])
    first = np.concatenate([np.arange(max(0, len(chain) - d)) for d in (2, 3, 4)])
    pairs = np.column_stack([chain[first], chain[first + apart]])
    keys = pair_keys(pairs, n)
    lot = (keys.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(40)
    drawn = np.lexsort([lot, apart])[: max(int(np.ceil(VERIFY * len(chain))), FEWEST)]
    drawn = drawn[~is_among(keys[drawn], barred)]
    some: np.ndarray = pairs[drawn[:count]]
    return some


def _sort_in(
    known: Partial, mixed: np.ndarray, begun: int, barred: np.ndarray, out: np.ndarray, count: int
) -> np.ndarray:
    """Sort all items in by binary search: the longest part of `mixed` that is sorted is the chain, the next stage
    bisects it, items that share a gap meet one another. What is asked for beyond that bisects for later stages."""
    n = known.n
    chain, size = known.sorted_chain(mixed[:begun]), begun
    for stage in _stages(begun, n):
        longer = known.sorted_chain(mixed[:stage])
        if longer is None:
            break
        chain, size = longer, stage
    assert chain is not None
    shut = set(barred.tolist())
    questions = _near_checks(chain, shut, n, count)
    if size == n:
        return np.array(questions, dtype=np.int64).reshape(-1, 2)
    low, high = known.bounds(chain)
    busy = np.zeros(n, dtype=bool)
    busy[out.ravel()] = True
    busy[chain] = False
    stage = next(s for s in _stages(begun, n) if s > size)
    new = mixed[size:stage]
    questions += _settle_gaps(known, new, low, high, busy, shut, count - len(questions))
    questions += _bisect(new, chain, low, high, busy, shut, count - len(questions))
    if len(questions) + len(out) < MIN_AT_ONCE:
        questions += _bisect(mixed[stage:], chain, low, high, busy, shut, min(MIN_AT_ONCE, count) - len(questions))
    return np.array(questions, dtype=np.int64).reshape(-1, 2)


def _stages(have: int, n: int) -> list[int]:
    """How many items are sorted after each stage: one less than a power of two, so that bisections come out even."""
    sizes = []
    while n > have:
        sizes.append(n)
        n = min(2 ** round(np.log2(n / GROWTH + 1)) - 1, n - 1)
    return sizes[::-1]


def _bisect(
    items: np.ndarray, chain: np.ndarray, low: np.ndarray, high: np.ndarray, busy: np.ndarray, shut: set[int],
    count: int,
) -> list[tuple[int, int]]:  # fmt: skip
    """The middle of the gap that is left to each item; the nearest to it where that was skipped."""
    pairs: list[tuple[int, int]] = []
    n = len(low)
    wide = items[(high[items] - low[items] > 1) & ~busy[items]]
    for u in wide.tolist():
        if len(pairs) >= count:
            break
        first, last = int(low[u]), int(high[u]) - 2  # numbers in the chain, from 0
        middle = (first + last) // 2
        for at in sorted(range(max(first, middle - 3), min(last, middle + 3) + 1), key=partial(_apart, middle)):
            v = int(chain[at])
            if min(u, v) * n + max(u, v) not in shut:
                pairs.append((u, v))
                break
    return pairs


def _apart(a: int, b: int) -> int:
    return abs(a - b)


def _settle_gaps(
    known: Partial, new: np.ndarray, low: np.ndarray, high: np.ndarray, busy: np.ndarray, shut: set[int], count: int
) -> list[tuple[int, int]]:
    """Items that share a gap meet one another, each once."""
    placed = new[high[new] - low[new] == 1]
    gap = low[placed]
    rows = np.argsort(gap, kind="stable")
    groups = np.split(placed[rows], np.flatnonzero(np.diff(gap[rows])) + 1) if len(rows) else []
    pairs: list[tuple[int, int]] = []
    used = busy.copy()
    for group in groups:
        if len(pairs) >= count:
            break
        for u, v in _open_in(group.tolist(), known) if len(group) > 1 else ():
            if not (used[u] or used[v] or min(u, v) * known.n + max(u, v) in shut):
                used[u] = used[v] = True
                pairs.append((u, v))
    return pairs[:count]


def _open_in(group: list[int], known: Partial) -> list[tuple[int, int]]:
    """Pairs of `group` without a known order, those at the most similar height first."""
    inside = set(group)
    later = {u: inside.intersection(known.after[known.start[u] : known.start[u + 1]].tolist()) for u in group}
    if len(group) == 2:
        u, v = group
        return [] if v in later[u] or u in later[v] else [(u, v)]
    for u in sorted(group, key=lambda u: known.place[u], reverse=True):
        later[u] = later[u].union(*(later[v] for v in later[u]))
    above = dict.fromkeys(group, 1)
    for u in group:
        for v in later[u]:
            above[v] += 1
    height = {u: above[u] / (above[u] + len(later[u]) + 1) for u in group}
    pairs = [(u, v) for k, u in enumerate(group) for v in group[k + 1 :] if v not in later[u] and u not in later[v]]
    return sorted(pairs, key=lambda pair: abs(height[pair[0]] - height[pair[1]]))


def _near_checks(chain: np.ndarray, shut: set[int], n: int, count: int) -> list[tuple[int, int]]:
    """Answers that the chain implies, on near pairs, a small share of all questions: those not asked for yet."""
    step = max(1, int(1.0 / (SIDE * np.log2(len(chain)))))
    pairs: list[tuple[int, int]] = []
    for at in range(0, len(chain) - MAX_NEAR_PLACES, step):
        if len(pairs) >= count:
            break
        u, v = int(chain[at]), int(chain[at + 2 + (at // step) % (MAX_NEAR_PLACES - 1)])
        if min(u, v) * n + max(u, v) not in shut:
            pairs.append((u, v))
    return pairs
