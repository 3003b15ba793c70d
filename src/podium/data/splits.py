"""Votes dealt out at random. Counts are split, not unrolled."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.data.comparisons import Comparisons
from podium.errors import InputError
from podium.text import counted

__all__ = ["deal"]


def deal(comparisons: Comparisons, parts: int, rng: np.random.Generator) -> NDArray[Any]:
    """Deal the votes to `parts` hands at random; return how many of each row went to each, (rows, parts).

    Pairs that come from one full ranking go together: they are not independent of each other.

    >>> votes = Comparisons.from_pairs([("a", "b")] * 10 + [("b", "a")] * 6)
    >>> deal(votes, 4, np.random.default_rng(0)).sum(axis=0)
    array([4, 4, 4, 4])
    """
    c, rows = comparisons, len(comparisons.left)
    if c.group_is == "ranking" and c.group is not None:
        if len(c.groups) < parts:
            raise InputError(
                f"{counted(len(c.groups), 'ranking')} cannot be dealt into {counted(parts, 'part')}; ask for fewer"
            )
        hand = rng.permutation(len(c.groups))[c.group] % parts
    elif c.count is not None:
        if len(c) < 2 * parts:
            raise InputError(f"{counted(len(c), 'vote')} cannot be dealt into {counted(parts, 'part')}; ask for fewer")
        return np.asarray(rng.multinomial(c.count, np.full(parts, 1 / parts)), dtype=np.int64)
    else:
        if rows < 2 * parts:
            raise InputError(f"{counted(rows, 'vote')} cannot be dealt into {counted(parts, 'part')}; ask for fewer")
        hand = rng.permutation(rows) % parts
    dealt = np.zeros((parts, rows), dtype=np.int8 if c.count is None else np.int64).T  # who asks, asks for one part
    dealt[np.arange(rows), hand] = 1 if c.count is None else c.count
    return dealt
