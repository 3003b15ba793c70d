"""Differences: two leaderboards against each other. Who moved, and is it more than chance?"""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from podium.errors import InputError
from podium.metrics.distances import kendall_tau
from podium.places import ranks as ranks_of
from podium.ranking import Ranking
from podium.text import some, storable
from podium.uncertainty import quantile

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Differences", "Standing", "compare_rankings", "standing"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Standing:
    """One leaderboard in plain values: scores in log-odds, and their standard errors where known."""

    items: tuple[Hashable, ...]
    scores: Floats
    std_errors: Floats | None = None


def standing(ranking: Ranking) -> Standing:
    """The scores and errors of a ranking, in log-odds where it has them."""
    errors = ranking.std_errors
    return Standing(
        ranking.items, ranking.scores / ranking.unit, None if errors is None else np.asarray(errors) / ranking.unit
    )


@dataclass(frozen=True, eq=False)
class Differences:
    """What changed from one leaderboard to another, over the items of both.

    Attributes
    ----------
    items : labels of the common items
    ranks : (2, n), among the common items
    scores : (2, n), each with the mean of the common items at 0
    std_errors : of the change, or None; infinite for an item that only won or only lost in either
    p_values, adjusted : of the change, by a normal test; and adjusted by Holm for all items at once
    only : items of the first alone, and of the second alone
    """

    items: tuple[Hashable, ...]
    ranks: NDArray[np.int64]
    scores: Floats
    std_errors: Floats | None
    p_values: Floats | None
    adjusted: Floats | None
    only: tuple[tuple[Hashable, ...], tuple[Hashable, ...]]

    @property
    def agreement(self) -> float:
        """Share of pairs of items that both leaderboards put in the same order."""
        return (1 + kendall_tau(*self.scores)) / 2

    def to_frame(self, level: float = 0.95) -> pl.DataFrame:
        """One row per common item, in the second's order; `significant` holds for all items at once at `level`."""
        import polars as pl

        width = quantile(level)
        change = self.scores[1] - self.scores[0]
        columns: dict[str, list[object]] = {"item": [storable(item) for item in self.items]}
        columns |= {"rank_a": self.ranks[0].tolist(), "rank_b": self.ranks[1].tolist()}
        columns |= {"climbed": (self.ranks[0] - self.ranks[1]).tolist()}
        columns |= {"score_a": self.scores[0].tolist(), "score_b": self.scores[1].tolist(), "change": change.tolist()}
        if self.std_errors is not None and self.p_values is not None and self.adjusted is not None:
            columns |= {"std_error": self.std_errors.tolist()}
            columns |= {"lower": (change - width * self.std_errors).tolist()}
            columns |= {"upper": (change + width * self.std_errors).tolist()}
            columns |= {"p_value": self.p_values.tolist(), "p_adjusted": self.adjusted.tolist()}
            columns |= {"significant": (self.adjusted < 1 - level).tolist()}
        return pl.DataFrame(columns, strict=False).sort("rank_b", "score_b", descending=[False, True])


def compare_rankings(first: Standing | Ranking, second: Standing | Ranking) -> Differences:
    """Compare two leaderboards over the items they share, each with the mean of those items held fixed.

    The change of an item has variance se₁² + se₂², which is right when the two come from different votes. Where the
    second's votes include the first's it is larger than need be: what is called significant then is all the more so.

    Examples
    --------
    >>> a, b = Ranking(["x", "y", "z"], [2.0, 1.0, 0.0]), Ranking(["y", "x", "w"], [2.0, 1.0, 0.0])
    >>> found = compare_rankings(a, b)
    >>> found.items, found.ranks.tolist(), found.only
    (('x', 'y'), [[1, 2], [2, 1]], (('z',), ('w',)))
    """
    a, b = (standing(each) if isinstance(each, Ranking) else each for each in (first, second))
    place = {item: k for k, item in enumerate(b.items)}
    common = [(k, place[item]) for k, item in enumerate(a.items) if item in place]
    if not common:
        raise InputError(
            f"the two leaderboards have no item in common: {some(a.items, 3)} and {some(b.items, 3)}; "
            "spell labels alike"
        )
    if len(common) == 1:
        raise InputError(f"the two leaderboards share only {a.items[common[0][0]]!r}; at least two items are needed")
    rows = np.array(common).T
    scores = np.array([a.scores[rows[0]], b.scores[rows[1]]])
    ranks = np.array([ranks_of(x) for x in scores], dtype=np.int64)
    scores -= scores.mean(axis=1, keepdims=True)
    errors = p_values = adjusted = None
    if a.std_errors is not None and b.std_errors is not None:
        errors = np.hypot(a.std_errors[rows[0]], b.std_errors[rows[1]])
        p_values = _p_values(scores[1] - scores[0], errors)
        adjusted = holm(p_values)
    mine, theirs = set(a.items), set(b.items)
    only = tuple(x for x in a.items if x not in theirs), tuple(x for x in b.items if x not in mine)
    return Differences(tuple(a.items[k] for k in rows[0]), ranks, scores, errors, p_values, adjusted, only)


def holm(p_values: Floats) -> Floats:
    """Return p-values adjusted so that all may be read at once (Holm 1979).

    >>> holm(np.array([0.01, 0.04, 0.03])).round(3).tolist()
    [0.03, 0.06, 0.06]
    """
    order = np.argsort(p_values)
    stepped = np.maximum.accumulate(p_values[order] * np.arange(len(order), 0, -1))
    adjusted = np.empty(len(order))
    adjusted[order] = np.minimum(stepped, 1.0)
    return adjusted


def _p_values(change: Floats, errors: Floats) -> Floats:
    normal = NormalDist()

    def one(delta: float, error: float) -> float:
        if not math.isfinite(error):
            return 1.0
        if error == 0:
            return 1.0 if delta == 0 else 0.0
        return 2 * normal.cdf(-abs(delta) / error)

    return np.array([one(delta, error) for delta, error in zip(change.tolist(), errors.tolist(), strict=True)])
