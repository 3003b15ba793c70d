"""History: scores as the votes came in."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from podium.comparisons import Comparisons
from podium.diagnosis.table import Table, solve
from podium.errors import InputError
from podium.splits import take

__all__ = ["History", "score_history"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class History:
    """Scores after so many votes: `scores[t, i]` after `votes[t]`, NaN before the item's first vote."""

    votes: NDArray[np.int64]
    items: tuple[Hashable, ...]
    scores: Floats


def score_history(comparisons: Comparisons, *, points: int = 40) -> History:
    """Return the Bradley-Terry scores after each of `points` shares of the votes, in the order they were cast.

    >>> votes = Comparisons.from_pairs([("a", "b"), ("b", "a"), ("c", "a"), ("b", "c")])
    >>> history = score_history(votes, points=2)
    >>> history.votes, [bool(known) for known in np.isfinite(history.scores[0])]
    (array([2, 4]), [True, True, False])
    """
    c, rows = comparisons, len(comparisons.left)
    if not c.ordered or c.count is not None:
        raise InputError("the votes are counted, so their order is not known; give them one by one")
    cuts = np.unique(np.rint(np.linspace(rows / points, rows, points)).astype(np.int64))
    cuts = cuts[cuts > 0]
    scores = np.full((len(cuts), len(c.items)), np.nan)
    for at, cut in zip(scores, cuts, strict=True):
        table = Table.of(replace(take(c, slice(int(cut))), sided=False).pairs, len(c.items))
        found = solve(table)
        at[table.seen] = found[table.seen] - found[table.seen].mean()
    return History(cuts, tuple(c.items), scores)
