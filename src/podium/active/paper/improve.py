"""Approximate local improvement (Algorithm 3): moves of single items found from a sample that follows the order.

For every item v and scale i the ensemble holds a multiset E[v, i] of items drawn uniformly from those within 2**i
places of v. A move that gains much shows in the sample of its scale; after a move `refresh` changes the few samples
that are stale, so that they are distributed as if drawn for the new order (section 3.3).

Places run from 0. The ends are padded with virtual items, as in the paper: place p < 0 or p >= N stands for itself and
has no votes, so no range is ever clipped.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass

import numpy as np

from podium.active.paper.options import PaperOptions
from podium.active.paper.state import State

NOBODY = 2**60  # a place that nobody has, far from all

__all__ = ["Ensemble", "approx_local_improve", "draw_ensemble", "refresh", "test_move"]


@dataclass(slots=True)
class Ensemble:
    """Samples of a block: partner[v, s, m] is the m-th item of E[v, least + s], as a local code or a virtual place."""

    least: int
    partner: np.ndarray
    place: np.ndarray  # of each real item

    def place_of(self, partner: np.ndarray) -> np.ndarray:
        """Places of items; a virtual item is its place."""
        n = len(self.place)
        real = (partner >= 0) & (partner < n)
        return np.where(real, self.place[np.where(real, partner, 0)], partner)


def draw_ensemble(order: np.ndarray, least: int, scales: int, size: int, rng: np.random.Generator) -> Ensemble:
    """Draw E[v, i] for all items of `order` (local codes) and i = least … least + scales - 1 (lines 5 to 14)."""
    n = len(order)
    place = np.empty(n, dtype=np.int64)
    place[order] = np.arange(n)
    partner = np.empty((n, scales, size), dtype=np.int64)
    for s in range(scales):
        partner[:, s] = _draw(order, place, least + s, size, rng)
    return Ensemble(least, partner, place)


def _draw(order: np.ndarray, centre: np.ndarray, scale: int, size: int, rng: np.random.Generator) -> np.ndarray:
    """Items at places drawn uniformly within 2**scale of each centre."""
    reach = 2**scale
    at = centre[:, None] + rng.integers(-reach, reach + 1, size=(len(centre), size))
    real = (at >= 0) & (at < len(order))
    return np.where(real, order[np.where(real, at, 0)], at)


def refresh(ensemble: Ensemble, order: np.ndarray, item: int, to: int, rng: np.random.Generator) -> np.ndarray:
    """Move `item` to place `to` (definition 3.2) and turn the ensemble into one of the new order: φ of section 3.3.

    Items that left a range are replaced by those that entered it, which keeps a uniform sample uniform; the samples of
    the moved item itself are drawn afresh. Returns the new order.
    """
    n, old = len(order), ensemble.place
    rest = order[order != item]
    after = np.concatenate([rest[:to], [item], rest[to:]])
    new = np.empty(n, dtype=np.int64)
    new[after] = np.arange(n)
    others = np.flatnonzero(np.arange(n) != item)
    for s in range(ensemble.partner.shape[1]):
        reach = 2 ** (ensemble.least + s)
        _replace_leavers(ensemble.partner[:, s], order, old, new, item, others, reach)
        ensemble.partner[item, s] = _draw(after, new[[item]], ensemble.least + s, ensemble.partner.shape[2], rng)[0]
    ensemble.place = new
    return after


def _replace_leavers(
    samples: np.ndarray, order: np.ndarray, old: np.ndarray, new: np.ndarray, item: int, others: np.ndarray, reach: int
) -> None:
    """Carry α: T1 → T2 out on one scale. Only the moved item and those at the edge of a range can leave or enter."""
    n = len(order)
    edges = np.array([-reach - 1, -reach, -reach + 1, reach - 1, reach, reach + 1])
    at = old[others, None] + edges
    real = (at >= 0) & (at < n)
    near = np.where(real, order[np.where(real, at, 0)], at)
    near = np.sort(np.column_stack([near, np.full(len(others), item)]), axis=1)
    near[:, 1:][near[:, 1:] == near[:, :-1]] = NOBODY  # named twice: counted once
    inside = (near >= 0) & (near < n)
    at_old, at_new = (np.where(inside, place[np.where(inside, near, 0)], near) for place in (old, new))
    before = (np.abs(at_old - old[others, None]) <= reach) & (near != others[:, None])
    later = (np.abs(at_new - new[others, None]) <= reach) & (near != others[:, None])
    for row in np.flatnonzero((before != later).any(axis=1)):
        sample, leave, come = samples[others[row]], before[row] & ~later[row], later[row] & ~before[row]
        for leaver, comer in zip(near[row, leave], near[row, come], strict=True):
            sample[sample == leaver] = comer


def test_move(wins: np.ndarray, order: np.ndarray, item: int, to: int) -> float:
    """Return by how much the cost falls when `item` moves to place `to`: definition 3.3, exactly.

    >>> test_move(np.array([[0, 0, 0], [1, 0, 1], [1, 0, 0]]), np.array([0, 1, 2]), 0, 2)
    2.0
    """
    at = int(np.flatnonzero(order == item)[0])
    passed = order[at + 1 : to + 1] if to > at else order[to:at]
    gain = float((wins[passed, item] - wins[item, passed]).sum())
    return gain if to > at else -gain


def estimated_gains(ensemble: Ensemble, votes: np.ndarray, item: int) -> tuple[float, int]:
    """The best mean gain per place over the moves of `item` that its samples speak of, and where it leads.

    votes[s, m] is W(x, item) - W(item, x) for the m-th sample x of scale s: 1 if x goes before the item, -1 if after,
    0 for virtual items. TestMove over E[item, l] is the distance times the mean vote of the samples passed (3.1).
    """
    n, at = len(ensemble.place), int(ensemble.place[item])
    best, to = 0.0, at
    for s in range(votes.shape[0]):
        scale = ensemble.least + s
        offset = ensemble.place_of(ensemble.partner[item, s]) - at
        for sign in (1, -1):
            away = offset * sign
            room = n - 1 - at if sign > 0 else at
            passed = (away > 0) & (away <= min(2**scale, room))
            if not passed.any():
                continue
            by = np.argsort(away[passed], kind="stable")
            steps = away[passed][by]
            mean = np.cumsum(sign * votes[s][passed][by]) / np.arange(1, len(by) + 1)
            last = np.append(steps[1:] > steps[:-1], True) & (steps > 2 ** (scale - 1))
            if last.any() and mean[last].max() > best:
                best = float(mean[last].max())
                to = at + sign * int(steps[last][mean[last].argmax()])
    return best, to


def approx_local_improve(
    state: State, items: np.ndarray, n: int, options: PaperOptions, *, cost: float | None = None
) -> Generator[np.ndarray, np.ndarray, np.ndarray]:
    """Improve the order `items` of one block by moves whose sampled gain is large (Algorithm 3); n is the whole size.

    Asks the ensemble in one batch, then after every move the pairs that the refresh brought in.

    The paper's loop ends because every move lowers the cost, which holds while the samples are good approximations:
    then a move truly gains half of what its sample claims at least (definition 3.7), and all claims together are at
    most twice the cost at the start. Samples that are too small claim more, and move items to and fro; so the loop also
    ends when the claims have come to twice `cost`, a bound on the cost at the start (all pairs if None).
    """
    size, log = len(items), np.log(n)
    eps = options.epsilon
    if size <= options.guard * eps**-3 * log**3:
        return items
    least = max(0, int(np.ceil(np.log2(max(1.0, options.base * eps * size / log)))))
    scales = int(np.ceil(np.log2(size))) - least + 1
    draws = max(1, int(np.ceil(options.ensemble * eps**-2 * log**2)))
    order = np.arange(size)  # local codes: items[k] is k
    ensemble = draw_ensemble(order, least, scales, draws, state.rng)
    bar = options.threshold * eps / log
    yield _pairs_of(ensemble, items, np.arange(size))
    todo = list(range(size))
    left = 2.0 * (size * (size - 1) / 2.0 if cost is None else cost)
    while left > 0:
        move = None
        while todo and move is None:  # a kept value may be stale by a place: look at each item again before a halt
            item = todo.pop()
            gain, to = estimated_gains(ensemble, _votes(state, ensemble, items, item), item)
            move = (item, to) if gain > bar else None
        if move is None:
            break
        left -= gain * abs(to - int(ensemble.place[item]))
        before = ensemble.partner.copy()
        order = refresh(ensemble, order, *move, state.rng)
        changed = np.flatnonzero((before != ensemble.partner).any(axis=(1, 2)))
        new = _pairs_of(ensemble, items, changed)
        if len(new):
            yield new
        low, high = sorted((int(ensemble.place[move[0]]), move[1]))
        todo = sorted({*todo, *changed.tolist(), *order[max(0, low - 1) : high + 2].tolist()})
    return items[order]


def _pairs_of(ensemble: Ensemble, items: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """The distinct real pairs in the samples of `rows`, as items of the interview."""
    size = len(items)
    partner = ensemble.partner[rows].reshape(len(rows), -1)
    own = np.repeat(rows, partner.shape[1])
    other = partner.ravel()
    real = (other >= 0) & (other < size) & (other != own)
    low, high = np.minimum(own[real], other[real]), np.maximum(own[real], other[real])
    keys = np.unique(low * size + high)
    return np.column_stack([items[keys // size], items[keys % size]])


def _votes(state: State, ensemble: Ensemble, items: np.ndarray, item: int) -> np.ndarray:
    """Of each sample of `item`: 1 if it goes before the item, -1 if after, 0 if virtual, the item itself or skipped."""
    other = ensemble.partner[item]
    real = (other >= 0) & (other < len(items)) & (other != item)
    votes = np.zeros(other.shape)
    pairs = np.column_stack([items[other[real]], np.full(np.count_nonzero(real), items[item])])
    votes[real] = np.nan_to_num(2.0 * state.votes.answers(pairs) - 1.0)
    return votes
