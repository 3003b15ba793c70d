"""What the asking has found, as people read it: tiers, a table of ranks, votes for other rankers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from podium.data.comparisons import Comparisons

if TYPE_CHECKING:
    import polars as pl

__all__ = ["comparisons", "rank_table", "tiers"]


def tiers(order: np.ndarray, off: np.ndarray, blocks: list[np.ndarray] | None = None) -> list[list[int]]:
    """Groups of item codes, best first: the blocks of a decomposition, or items whose bands of ranks overlap.

    A new tier begins where an item's band of ranks begins below the end of the band of the first item of the tier
    before; `off` is how far each item may be off.
    """
    if blocks is not None:
        rank = np.argsort(order)
        return [block[np.argsort(rank[block])].tolist() for block in blocks]
    groups: list[list[int]] = []
    edge = -1.0
    for at, item in enumerate(order.tolist()):
        if not groups or at - off[item] > edge:
            groups.append([])
            edge = at + off[item]
        groups[-1].append(item)
    return groups


def rank_table(
    items: Sequence[Any], order: np.ndarray, bands: tuple[np.ndarray, np.ndarray], tier: np.ndarray, answers: np.ndarray
) -> pl.DataFrame:
    """One row an item, best first: rank from 1, the 90 % band it may truly stand in, its tier, its answers.

    `tier` and `answers` are by item number.
    """
    import polars as pl

    rank = np.arange(1, len(items) + 1)
    return pl.DataFrame(
        {
            "item": [items[u] for u in order.tolist()],
            "rank": rank,
            "rank_lower": np.minimum(bands[0][order], rank),
            "rank_upper": np.maximum(bands[1][order], rank),
            "tier": tier[order],
            "answers": answers[order],
        },
        strict=False,
    )


def comparisons(items: Sequence[Any], columns: tuple[np.ndarray, ...], judges: list[Any]) -> Comparisons:
    """Votes (left, right, value, judge number) as every other ranker takes them; skips are left out."""
    left, right, value, judge = columns
    answered = ~np.isnan(value)
    named = len(judges) > 1 or (bool(judges) and judges[0] is not None)
    return Comparisons(
        items,
        left[answered].astype(np.int32),
        right[answered].astype(np.int32),
        outcome=np.sign(2 * value[answered] - 1).astype(np.int8),
        judge=judge[answered].astype(np.int32) if named else None,
        judges=tuple(judges) if named else (),
    )
