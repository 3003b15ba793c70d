"""Steadiness: do halves of the votes agree, and does the ranking hang on one item or one judge?"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from podium.comparisons import Comparisons
from podium.diagnosis.table import Table, solve
from podium.errors import InputError
from podium.metrics.distances import kendall_tau
from podium.places import ranks
from podium.splits import deal, share, take

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Reliability", "influence_frame", "influence_rows", "reliability"]

Floats = NDArray[np.float64]

MOST = 50  # items and judges whose influence is tried: those with the most votes


@dataclass(frozen=True)
class Reliability:
    """How well scores from one half of the votes agree with those from the other, over random halves.

    `correlation` is the mean over the splits of the correlation of the two halves' scores, `low` and `high` its range;
    `full` is stepped up to all votes by Spearman and Brown's 2r/(1 + r); `agreement` is the share of pairs of items
    that both halves put in the same order.
    """

    correlation: float
    low: float
    high: float
    agreement: float

    @property
    def full(self) -> float:
        """Expected correlation with another set of votes as large as this one."""
        return 2 * self.correlation / (1 + self.correlation) if self.correlation > -1 else -1.0


def reliability(votes: Comparisons, splits: int, rng: np.random.Generator) -> Reliability | None:
    """Agreement of the two halves over random splits; None where a half is too thin to be scored."""
    correlations, agreements = [], []
    for _ in range(splits):
        try:
            hands = deal(votes, 2, rng)
        except InputError:
            return None
        halves = [Table.of(share(votes, hands[:, side]).pairs, len(votes.items)) for side in (0, 1)]
        both = halves[0].seen & halves[1].seen
        if both.sum() < 3:
            return None
        one, other = (solve(half)[both] for half in halves)
        if np.ptp(one) == 0 or np.ptp(other) == 0:
            return None
        correlations.append(float(np.corrcoef(one, other)[0, 1]))
        agreements.append((1 + kendall_tau(one, other)) / 2)
    return Reliability(float(np.mean(correlations)), min(correlations), max(correlations), float(np.mean(agreements)))


def influence_rows(votes: Comparisons, scores: Floats) -> list[tuple[Any, ...]]:
    """Refit without each of the busiest items and judges."""
    table = Table.of(votes.pairs, len(votes.items))
    met = np.bincount(table.left, table.total, table.n) + np.bincount(table.right, table.total, table.n)
    rows = []
    if table.seen.sum() > 2:
        for item in np.argsort(-met, kind="stable")[:MOST].tolist():
            others = table.seen & (np.arange(table.n) != item)
            refitted = solve(table.without(item))
            rows.append(("item", votes.items[item], float(met[item]), *_moves(votes, scores, refitted, others)))
    if votes.judge is not None and len(votes.judges) > 1:
        size = np.bincount(votes.judge, votes.count, len(votes.judges))
        for judge in np.argsort(-size, kind="stable")[:MOST].tolist():
            left = votes.judge != judge
            if size[judge] == 0 or not left.any():
                continue
            rest = Table.of(take(votes, left).pairs, table.n)
            rows.append(
                ("judge", votes.judges[judge], float(size[judge]), *_moves(votes, scores, solve(rest), rest.seen))
            )
    return rows


def _moves(
    votes: Comparisons, before: Floats, after: Floats, kept: NDArray[np.bool_]
) -> tuple[Hashable, Hashable, int, int, float, int]:
    """Leader afterwards, who moved most, from and to which rank, the largest shift, and how many pairs change order."""
    places = np.flatnonzero(kept)
    one, other = before[places], after[places]
    rank = ranks(one), ranks(other)
    shift = np.abs((other - other.mean()) - (one - one.mean()))
    far = int(np.lexsort((shift, np.abs(rank[1] - rank[0])))[-1])
    pairs = len(places) * (len(places) - 1) / 2
    swaps = round(pairs * (1 - kendall_tau(one, other, variant="a")) / 2) if len(places) > 1 else 0
    leader, moved = votes.items[places[int(other.argmax())]], votes.items[places[far]]
    return leader, moved, int(rank[0][far]), int(rank[1][far]), float(shift.max()), swaps


def influence_frame(rows: list[tuple[Any, ...]]) -> pl.DataFrame:
    """The refits as a table, the strongest first."""
    import polars as pl

    schema = {"kind": pl.String, "dropped": pl.String, "votes": pl.Float64, "leader": pl.String, "moved": pl.String}
    schema |= {"rank_before": pl.Int64, "rank_after": pl.Int64, "shift": pl.Float64, "swaps": pl.Int64}
    text = [
        (kind, str(dropped), size, str(leader), str(moved), *rest) for kind, dropped, size, leader, moved, *rest in rows
    ]
    return pl.DataFrame(text, schema, orient="row").sort("swaps", "shift", descending=True, maintain_order=True)
