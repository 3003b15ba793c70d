"""Which pairs next, where answers may be wrong: Swiss rounds, then the pairs whose answers would tell most."""

from __future__ import annotations

import numpy as np

from podium.active.model_scores import Scores, chance, inverse
from podium.active.tally import is_among, pair_keys
from podium.kernels.active.swiss import pair_off

__all__ = ["least_certain", "most_telling", "swiss_round"]

HEAD = 8  # times the items: so many pairs are sorted by what they tell, the rest only if these are not enough
AGAIN = 0.7  # of a new pair's worth: what a pair is worth that has been answered already


def swiss_round(order: np.ndarray, degree: np.ndarray, barred: np.ndarray, count: int) -> np.ndarray:
    """Pair neighbours of `order`, from the top: those with the fewest questions so far, no pair whose key is barred.

    An item that has met all others of as few questions gets the nearest item that it has not met.
    """
    n = len(degree)
    least = int(degree[order].min())
    fresh = np.ascontiguousarray(order[degree[order] == least], dtype=np.int64)
    room, alone = np.empty((len(fresh) // 2 + 1, 2), dtype=np.int64), np.empty(len(fresh), dtype=np.int64)
    made, left = pair_off(fresh, barred, n, count, room, alone)
    pairs = room[:made].tolist()
    used = set(room[:made].ravel().tolist())
    for u in alone[:left].tolist() if made < count else ():
        at = int(np.flatnonzero(order == u)[0])
        near = order[np.argsort(np.abs(np.arange(len(order)) - at), kind="stable")]
        met = is_among(pair_keys(np.column_stack([near, np.full(len(near), u)]), n), barred)
        v = next((v for v in near[~met].tolist() if v != u and v not in used), None)
        if v is not None and u not in used and len(pairs) < count:
            used |= {u, v}
            pairs.append([u, v])
    return np.array(pairs, dtype=np.int64).reshape(-1, 2)


def most_telling(
    scores: Scores,
    count: int,
    closed: np.ndarray,
    out: np.ndarray,
    interest: np.ndarray | None = None,
    asked: np.ndarray | None = None,
) -> np.ndarray:
    """Up to `count` pairs by p(1-p)·√v, an item once a round; pairs in `closed` (keys) never, in `asked` for less.

    What is out, and what this call has picked, adds its information first: the answers are on their way.
    """
    n = len(scores.mean)
    first, second = np.triu_indices(n, 1)
    keys = first * n + second
    allowed = ~is_among(keys, closed)
    worth = np.where(is_among(keys, asked), AGAIN, 1.0) if asked is not None else np.ones(len(keys))
    if interest is not None:
        worth = worth * (interest[first] + interest[second])
    assert scores.precision is not None
    precision = scores.precision.copy()
    _inform(precision, scores, out)
    picked: list[np.ndarray] = []
    chosen = 0
    round_size = max(1, n // 4)
    while chosen < count and allowed.any():
        covariance = inverse(precision)
        own = np.diag(covariance)
        variance = np.maximum(own[first] + own[second] - 2.0 * covariance[first, second], 1e-9)
        p = chance(scores.mean[first] - scores.mean[second], variance)
        value = np.where(allowed, p * (1.0 - p) * np.sqrt(variance) * worth, -1.0)
        some = _matching(first, second, value, min(round_size, count - chosen), n)
        if not len(some):
            break
        pairs = np.column_stack([first[some], second[some]])
        allowed[some] = False
        picked.append(pairs)
        chosen += len(pairs)
        if chosen < count:
            _inform(precision, scores, pairs)
    return np.concatenate(picked) if picked else np.zeros((0, 2), dtype=np.int64)


def least_certain(scores: Scores, keys: np.ndarray, count: int) -> np.ndarray:
    """Up to `count` of the pairs `keys` by p(1-p)·√v, an item once: for many items, of which no covariance is kept."""
    n = len(scores.mean)
    first, second = np.divmod(keys, n)
    p, variance = scores.chances(first, second)
    some = _matching(first, second, p * (1.0 - p) * np.sqrt(variance), count, n)
    return np.column_stack([first[some], second[some]])


def _inform(precision: np.ndarray, scores: Scores, pairs: np.ndarray) -> None:
    """Add the information that the answers to `pairs` will bring."""
    if not len(pairs):
        return
    u, v = pairs[:, 0], pairs[:, 1]
    p = scores.chances(u, v)[0]
    worth = p * (1.0 - p)
    np.add.at(precision, (u, u), worth)
    np.add.at(precision, (v, v), worth)
    np.add.at(precision, (u, v), -worth)
    np.add.at(precision, (v, u), -worth)


def _matching(first: np.ndarray, second: np.ndarray, value: np.ndarray, count: int, n: int) -> list[int]:
    """Rows of most value, no item twice: greedy, from the top, of which the head alone is sorted if it is enough."""
    size = HEAD * n
    if len(value) > 4 * size:
        head = np.flatnonzero(value >= np.partition(value, -size)[-size])
        rows = _greedy(first, second, value, head[np.argsort(-value[head], kind="stable")], count, n)
        if len(rows) == count:
            return rows
    return _greedy(first, second, value, np.argsort(-value, kind="stable"), count, n)


def _greedy(
    first: np.ndarray, second: np.ndarray, value: np.ndarray, head: np.ndarray, count: int, n: int
) -> list[int]:
    free = np.ones(n, dtype=bool)
    rows: list[int] = []
    for start in range(0, len(head), 4 * n):
        some = head[start : start + 4 * n]
        some = some[free[first[some]] & free[second[some]]]
        for row, u, v, worth in zip(
            some.tolist(), first[some].tolist(), second[some].tolist(), value[some].tolist(), strict=True
        ):
            if worth <= 0.0 or len(rows) == count:
                return rows
            if free[u] and free[v]:
                free[u] = free[v] = False
                rows.append(row)
        if np.count_nonzero(free) < 2:
            break
    return rows
