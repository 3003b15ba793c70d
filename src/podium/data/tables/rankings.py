"""Whole orders become pairs: each ranking is a cluster of its own, as its pairs were not given one by one."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

import numpy as np
from numpy.typing import NDArray

from podium.data.tables.labels import is_missing

if TYPE_CHECKING:
    import polars as pl

__all__ = ["listed_items", "pairs_of"]

Fail: TypeAlias = Callable[[int, str], NoReturn]


def listed_items(column: pl.Series, fail: Fail) -> list[list[Hashable]]:
    """The items of each row, best first: a list, or text divided at `>`."""
    found = []
    for row, value in enumerate(column.to_list()):
        items = [part.strip() for part in value.split(">")] if isinstance(value, str) else value
        if not isinstance(items, list) or any(not isinstance(item, Hashable) or is_missing(item) for item in items):
            fail(row, f"{value!r} is no ranking; list items best first, as in a > b")
        if len(set(items)) < len(items):
            twice = next(item for place, item in enumerate(items) if item in items[:place])
            fail(row, f"{twice!r} appears twice in the ranking; remove one")
        found.append(items)
    return found


def pairs_of(size: NDArray[Any], times: NDArray[Any]) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]]:
    """Where winner and loser of every pair stand among all the items listed, and which copy of a ranking it is from.

    Ranking r lists `size[r]` items and was given `times[r]` times; copies are numbered from 0 through all rankings.

    >>> winner, loser, ranking = pairs_of(np.array([2, 3]), np.array([1, 1]))
    >>> winner.tolist(), loser.tolist(), ranking.tolist()
    ([0, 2, 2, 3], [1, 3, 4, 4], [0, 1, 1, 1])
    """
    within = {n: np.triu_indices(n, 1) for n in np.unique(size).tolist()}
    start = np.repeat(np.cumsum(size) - size, times).tolist()
    sizes = np.repeat(size, times).tolist()
    pairs = [within[n] for n in sizes]
    none: list[NDArray[np.intp]] = [np.empty(0, np.intp)]
    winner = np.concatenate([above + first for (above, _), first in zip(pairs, start, strict=True)] or none)
    loser = np.concatenate([below + first for (_, below), first in zip(pairs, start, strict=True)] or none)
    return winner, loser, np.repeat(np.arange(len(sizes)), [len(above) for above, _ in pairs])
