"""Steadiness: do halves of the votes agree, and does the ranking hang on one item or one judge?"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import cache
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from podium.data.comparisons import Comparisons
from podium.data.splits import deal
from podium.errors import InputError, PodiumError
from podium.evaluate.diagnosis.judges import JudgeTest
from podium.evaluate.diagnosis.misfit import SIGNIFICANCE
from podium.evaluate.diagnosis.refit import Refit, condensed
from podium.metrics.distances import kendall_tau
from podium.ranking.ranking import Ranking
from podium.ranking.ranks import ranks
from podium.text import storable

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Influence", "LeadTest", "Reliability", "influence", "influence_frame", "lead_test", "reliability"]

Floats = NDArray[np.float64]

LeadTest: TypeAlias = Callable[[Hashable, Hashable], bool]

MAX_DROPPED = 50  # items and judges whose influence is tried: those with the most votes
MIN_DROPPED = 10  # of them, however many votes there are
MAX_REFIT_ROWS = 5_000_000  # votes that all these refits may look at together


@dataclass(frozen=True)
class Reliability:
    """How well scores from one half of the votes agree with those from the other, over random halves.

    `correlation` is the mean over the splits of the correlation of the two halves' scores, `low` and `high` its range;
    `full` is stepped up to all votes by Spearman and Brown's 2r/(1 + r), or None where r is below 0 and that formula
    means nothing; `agreement` is the share of pairs of items that both halves put in the same order.
    """

    correlation: float
    low: float
    high: float
    agreement: float

    @property
    def full(self) -> float | None:
        """Expected correlation with another set of votes as large as this one; None where halves do not agree at all.

        >>> Reliability(0.5, 0.4, 0.6, 0.7).full, Reliability(-0.35, -0.6, 0.0, 0.4).full
        (0.6666666666666666, None)
        """
        return 2 * self.correlation / (1 + self.correlation) if self.correlation >= 0 else None


def reliability(votes: Comparisons, refit: Refit, splits: int, rng: np.random.Generator) -> Reliability | None:
    """Agreement of the two halves over random splits; None where a half is too thin to be scored."""
    correlations, agreements = [], []
    for _ in range(splits):
        try:
            hands = deal(votes, 2, rng)
            halves = [refit(votes.share(hands[:, side])) for side in (0, 1)]
        except InputError:
            return None
        if halves[0] is None or halves[1] is None:
            return None
        both = np.isfinite(halves[0]) & np.isfinite(halves[1])
        if both.sum() < 3:
            return None
        one, other = halves[0][both], halves[1][both]
        if np.ptp(one) == 0 or np.ptp(other) == 0:
            return None
        correlations.append(float(np.clip(np.corrcoef(one, other)[0, 1], -1.0, 1.0)))
        agreements.append((1 + kendall_tau(one, other)) / 2)
    low, high = min(correlations), max(correlations)
    mean = float(np.clip(np.mean(correlations), low, high))  # rounding may put the mean of equal numbers outside them
    return Reliability(mean, low, high, float(np.mean(agreements)))


def lead_test(ranking: Ranking) -> LeadTest:
    """A function that says whether the first item is significantly above the second with all the votes, at 95 %."""

    def ahead(one: Hashable, other: Hashable) -> bool:
        try:
            lower, _ = ranking.intervals(reference=("item", other))
        except PodiumError:  # votes so few that no intervals exist: nothing is significant
            return False
        place = {item: k for k, item in enumerate(ranking.items)}
        if one not in place or other not in place:  # it has no score with all the votes
            return False
        return bool(lower[place[one]] > lower[place[other]])

    return ahead


@dataclass(frozen=True, eq=False)
class Influence:
    """Refits without each of the busiest items and judges; `tried` of `known`, by kind."""

    rows: list[tuple[Any, ...]]
    tried: dict[str, tuple[int, int]]


def influence(
    model: Any,
    votes: Comparisons,
    refit: Refit,
    before: Floats,
    items: Sequence[Hashable],
    shown: NDArray[np.bool_],
    ahead: LeadTest,
) -> Influence:
    """Refit without each of the busiest items and judges; `before` are the scores of `items` with all votes.

    Who leads is asked among the items `shown`. That another leads is to be expected where the leader is not
    significantly `ahead` of it with all the votes, unless the judge left out voted otherwise than the rest on the same
    pairs.
    """
    order = np.argsort(-before, kind="stable")
    own = items[next((k for k in order.tolist() if shown[k]), int(order[0]))]
    surprising = cache(lambda other: ahead(own, other))
    vote_codes = {item: k for k, item in enumerate(votes.items)}
    judges = cache(lambda: JudgeTest(votes))

    def stands_out(judge: int, leader: Hashable, tried: int) -> bool:
        z = judges().z_value(judge, vote_codes[own], vote_codes[leader])
        return z > NormalDist().inv_cdf(1.0 - SIGNIFICANCE / tried)

    code = {item: k for k, item in enumerate(items)}
    counts = condensed(model, votes)
    weight = np.ones(len(counts.left)) if counts.weight is None else counts.weight
    met = np.zeros(len(votes.items))
    for ends in (counts.left, counts.right):
        met += np.bincount(ends, weight, len(met))
    refits = Influence([], {})

    def without(kind: str, busiest: NDArray[np.intp], labels: Sequence[Hashable], size: Floats, rest: Any) -> None:
        most = max(MIN_DROPPED, min(MAX_DROPPED, int(MAX_REFIT_ROWS / len(votes.left))))
        tried = [k for k in busiest[:most].tolist() if size[k] > 0]
        for k in tried:
            part = rest(k)
            after = None if part is None else refit(part)
            kept = None if after is None else np.isfinite(after)
            if kept is not None and kind == "item":
                kept[code[labels[k]]] = False
            if kept is not None and after is not None and kept.sum() > 1:
                leader, *moves = _moves(items, before, after, kept, shown)
                turned = leader != own and labels[k] != own and surprising(leader)
                if kind == "judge" and leader != own and not turned:
                    turned = stands_out(k, leader, len(tried))
                refits.rows.append((kind, labels[k], float(size[k]), leader, *moves, turned))
        refits.tried[kind] = len(tried), int((size > 0).sum())

    if (met > 0).sum() > 2:
        without(
            "item", np.argsort(-met, kind="stable"), votes.items, met,
            lambda k: _some(counts, (counts.left != k) & (counts.right != k)),
        )  # fmt: skip
    if votes.judge is not None and len(votes.judges) > 1:
        judge = votes.judge
        size = np.bincount(judge, votes.count, len(votes.judges)).astype(np.float64)
        without(
            "judge", np.argsort(-size, kind="stable"), votes.judges, size,
            lambda k: _some(votes, judge != k),
        )  # fmt: skip
    return refits


def _some(votes: Comparisons, kept: NDArray[np.bool_]) -> Comparisons | None:
    return votes.take(kept) if kept.any() else None


def _moves(
    items: Sequence[Hashable], before: Floats, after: Floats, kept: NDArray[np.bool_], shown: NDArray[np.bool_]
) -> tuple[Hashable, Hashable, int, int, float, int]:
    """Leader afterwards, who moved most, from and to which rank, the largest shift, and how many pairs change order."""
    places = np.flatnonzero(kept)
    one, other = before[places], after[places]
    rank = ranks(one), ranks(other)
    shift = np.abs((other - other.mean()) - (one - one.mean()))
    far = int(np.lexsort((shift, np.abs(rank[1] - rank[0])))[-1])
    pairs = len(places) * (len(places) - 1) / 2
    swaps = round(pairs * (1 - kendall_tau(one, other, variant="a")) / 2) if len(places) > 1 else 0
    offered = np.flatnonzero(shown[places]) if shown[places].any() else np.arange(len(places))
    first = offered[np.lexsort((-one[offered], -other[offered]))[0]]  # equal scores: who led before leads still
    leader, moved = items[places[first]], items[places[far]]
    return leader, moved, int(rank[0][far]), int(rank[1][far]), float(shift.max()), swaps


def influence_frame(rows: list[tuple[Any, ...]]) -> pl.DataFrame:
    """The refits as a table, the strongest first."""
    import polars as pl

    schema = {"kind": pl.String, "dropped": pl.String, "votes": pl.Float64, "leader": pl.String, "moved": pl.String}
    schema |= {
        "rank_before": pl.Int64,
        "rank_after": pl.Int64,
        "shift": pl.Float64,
        "swaps": pl.Int64,
        "turned": pl.Boolean,
    }
    text = []
    for kind, dropped, size, leader, moved, *rest in rows:
        text.append((kind, storable(dropped), size, storable(leader), storable(moved), *rest))
    return pl.DataFrame(text, schema, orient="row").sort("swaps", "shift", descending=True, maintain_order=True)
