"""What an interview has found, as people read it: tiers, a table of places, votes for other rankers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from podium.active.bisect import Estimate
from podium.active.checks import band
from podium.active.votes import Votes
from podium.data.comparisons import Comparisons

if TYPE_CHECKING:
    import polars as pl

__all__ = ["comparisons", "places", "tiers"]


def tiers(found: Estimate, blocks: list[np.ndarray] | None = None) -> list[list[int]]:
    """Groups of item codes, best first: the blocks of a decomposition, or items whose places are not told apart.

    A new tier begins where an item's band of places ends below the band of the first item of the tier before.
    """
    if blocks is not None:
        place = np.argsort(found.order)
        return [block[np.argsort(place[block])].tolist() for block in blocks]
    off = band(found.spread, len(found.order))
    groups: list[list[int]] = []
    edge = -1.0
    for at, item in enumerate(found.order.tolist()):
        if not groups or at - off[item] > edge:
            groups.append([])
            edge = at + off[item]
        groups[-1].append(item)
    return groups


def places(items: Sequence[Any], found: Estimate, sizes: list[int], votes: Votes) -> pl.DataFrame:
    """One row an item, best first: place from 1, the 90 % band it may truly stand in, its tier, its answers."""
    import polars as pl

    n = len(items)
    place = np.arange(1, n + 1)
    off = band(found.spread, n)[found.order]
    answers = np.bincount(votes.left, minlength=n) + np.bincount(votes.right, minlength=n)
    return pl.DataFrame(
        {
            "item": [items[u] for u in found.order.tolist()],
            "place": place,
            "place_lower": np.maximum(1, np.floor(place - off)).astype(np.int64),
            "place_upper": np.minimum(n, np.ceil(place + off)).astype(np.int64),
            "tier": np.repeat(np.arange(1, len(sizes) + 1), sizes),
            "answers": answers[found.order],
        },
        strict=False,
    )


def comparisons(items: Sequence[Any], votes: Votes, raters: list[Any], keep: np.ndarray | None = None) -> Comparisons:
    """Votes (those in `keep`) in the form that every other ranker takes; raters are judges if any has a name."""
    kept = slice(None) if keep is None else keep
    named = len(raters) > 1 or (bool(raters) and raters[0] is not None)
    return Comparisons(
        items,
        votes.left[kept],
        votes.right[kept],
        outcome=np.sign(2 * votes.value[kept] - 1).astype(np.int8),
        judge=votes.rater[kept] if named else None,
        judges=tuple(raters) if named else (),
    )
