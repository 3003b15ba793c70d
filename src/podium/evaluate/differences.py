"""Differences: two leaderboards against each other. Who moved, and is it more than chance?"""

from __future__ import annotations

import shlex
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from podium.errors import InputError
from podium.metrics.distances import kendall_tau
from podium.pairwise import method_of
from podium.pairwise.base import Ranker
from podium.ranking.differences import holm, two_sided
from podium.ranking.ranking import Ranking
from podium.ranking.ranks import ranks as ranks_of
from podium.ranking.uncertainty import quantile
from podium.text import some, storable

if TYPE_CHECKING:
    import polars as pl

__all__ = [
    "Differences",
    "Standing",
    "compare_rankings",
    "read_settings",
    "settings_of",
    "standing",
    "unlike_settings",
    "unlike_words",
]

Floats = NDArray[np.float64]

SHIFTS = ("scale", "anchor", "sd")  # settings that only stretch or shift the scores, or follow from the votes


def settings_of(model: Ranker) -> str:
    """How a fitted ranker was fitted, as one line of words that `read_settings` takes apart.

    >>> from podium import BradleyTerry, Comparisons
    >>> settings_of(BradleyTerry(ties="davidson").fit(Comparisons.from_pairs([("a", "b"), ("b", "a")])))
    'method=bradley-terry l2=auto ties=davidson side_effect=False bias_reduction=False scale=log-odds sd=0.7...'
    """
    settings = {"method": method_of(type(model))} | model.settings_
    return shlex.join(f"{name}={_word(value)}" for name, value in settings.items())


def _word(value: Any) -> str:
    if isinstance(value, tuple) and len(value) == 2:  # an anchor
        return f"{value[0]}={value[1]:g}"
    return f"{value:g}" if isinstance(value, float) else str(value)


def read_settings(text: str) -> dict[str, str]:
    """The settings written by `settings_of`.

    >>> read_settings("method=bradley-terry l2=0.001 'covariates=answer length'")
    {'method': 'bradley-terry', 'l2': '0.001', 'covariates': 'answer length'}
    """
    if not isinstance(text, str):
        raise InputError(f"settings are text, not {type(text).__name__}; give what the leaderboard's file says")
    try:
        pairs = [word.partition("=") for word in shlex.split(text)]
    except ValueError as problem:
        raise InputError(f"the settings {text!r} cannot be read: {problem}; write the leaderboard anew") from problem
    return {name: value for name, _, value in pairs}


@dataclass(frozen=True, eq=False)
class Standing:
    """One leaderboard in plain values: scores in log-odds, and what is known beside them.

    Attributes
    ----------
    std_errors : with the mean of the leaderboard held fixed; infinite for an item that only won or only lost
    covariance : of the scores, where known: changes against an item or a weighted mean are then exact
    votes : of each item
    settings : how it was fitted, see `settings_of`
    estimates : scores by the votes alone, where a penalty from the votes (`l2="auto"`) pulled `scores` together;
        `std_errors` are about these
    ranks : as the leaderboard gave them, which may have left items out; None where they follow from the scores
    """

    items: tuple[Hashable, ...]
    scores: Floats
    std_errors: Floats | None = None
    covariance: Floats | None = None
    votes: Floats | None = None
    settings: Mapping[str, str] | None = None
    estimates: Floats | None = None
    ranks: NDArray[np.int64] | None = None


def standing(source: Any) -> Standing:
    """The scores and errors of a ranking, or of a fitted ranker, in log-odds where it has them."""
    ranking = source if isinstance(source, Ranking) else getattr(source, "ranking_", None)
    if not isinstance(ranking, Ranking):
        raise InputError(f"a ranking or a fitted ranker is needed, not {type(source).__name__}")
    ranking = ranking.shown()  # against the mean
    errors, record = ranking.std_errors, ranking.record
    return Standing(
        ranking.items,
        ranking.scores / ranking.unit,
        None if errors is None else np.asarray(errors) / ranking.unit,
        ranking.covariance,
        None if record is None else np.sum(record, axis=0),
        None if isinstance(source, Ranking) else read_settings(settings_of(source)),
        None if ranking.posterior is None else ranking.estimates / ranking.unit,
    )


@dataclass(frozen=True, eq=False)
class Differences:
    """What changed from one leaderboard to another, over the items of both.

    Attributes
    ----------
    items : labels of the common items
    ranks : (2, n), among the common items
    scores : (2, n), each with the reference at 0; of the votes alone, where a penalty from them pulled scores together
        and errors are known
    std_errors : of the change, or None; infinite for an item that only won or only lost in either
    p_values, adjusted : of the change, by a normal test; and adjusted by Holm for all items at once
    only : items of the first alone, and of the second alone
    unlike : settings in which the two fits differ, in words; scores of different models cannot be set against each
        other, so only ranks are
    bounded : whether the errors are upper bounds, for want of covariances
    """

    items: tuple[Hashable, ...]
    ranks: NDArray[np.int64]
    scores: Floats
    std_errors: Floats | None
    p_values: Floats | None
    adjusted: Floats | None
    only: tuple[tuple[Hashable, ...], tuple[Hashable, ...]]
    unlike: tuple[str, ...] = ()
    bounded: bool = False

    @property
    def agreement(self) -> float:
        """Share of pairs of items that both leaderboards put in the same order."""
        return (1 + kendall_tau(*(-self.ranks).astype(np.float64))) / 2

    def to_frame(self, level: float = 0.95) -> pl.DataFrame:
        """One row per common item, in the second's order; `significant` holds for all items at once at `level`.

        Ranks alone where the two were not fitted alike.
        """
        import polars as pl

        width = quantile(level)
        change = self.scores[1] - self.scores[0]
        columns: dict[str, list[object]] = {"item": [storable(item) for item in self.items]}
        columns |= {"rank_a": self.ranks[0].tolist(), "rank_b": self.ranks[1].tolist()}
        columns |= {"climbed": (self.ranks[0] - self.ranks[1]).tolist()}
        order = np.lexsort((-self.scores[1], self.ranks[1]))
        if not self.unlike:
            columns |= {"score_a": self.scores[0].tolist(), "score_b": self.scores[1].tolist()}
            columns |= {"change": change.tolist()}
        if self.std_errors is not None and self.p_values is not None and self.adjusted is not None:
            columns |= {"std_error": self.std_errors.tolist()}
            columns |= {"lower": (change - width * self.std_errors).tolist()}
            columns |= {"upper": (change + width * self.std_errors).tolist()}
            columns |= {"p_value": self.p_values.tolist(), "p_adjusted": self.adjusted.tolist()}
            columns |= {"significant": (self.adjusted < 1 - level).tolist()}
        frame: pl.DataFrame = pl.DataFrame(columns, strict=False)[order.tolist()]
        return frame


def compare_rankings(first: Any, second: Any, reference: Hashable = None) -> Differences:
    """Compare two leaderboards over the items they share, each with the same reference held fixed.

    Each is a `Ranking`, a fitted ranker or a `Standing`. `reference` is None or "mean" (of the common items whose
    scores are bounded in both), "weighted-mean" (the same, by votes) or an item of both. The change of an item has
    variance se₁² + se₂², which is right when the two come from different votes. Where the second's votes include the
    first's it is larger than need be: what is called significant then is all the more so.

    Examples
    --------
    >>> a, b = Ranking(["x", "y", "z"], [2.0, 1.0, 0.0]), Ranking(["y", "x", "w"], [2.0, 1.0, 0.0])
    >>> found = compare_rankings(a, b)
    >>> found.items, found.ranks.tolist(), found.only
    (('x', 'y'), [[1, 2], [2, 1]], (('z',), ('w',)))
    """
    a, b = (each if isinstance(each, Standing) else standing(each) for each in (first, second))
    rows = _common(a, b)
    items = tuple(a.items[k] for k in rows[0])
    scores = np.array([a.scores[rows[0]], b.scores[rows[1]]])
    ranks = np.array([ranks_of(x) for x in scores], dtype=np.int64)
    tested = a.std_errors is not None and b.std_errors is not None
    for row, side, place in zip(scores, (a, b), rows, strict=True):
        if tested and side.estimates is not None:  # two penalties would be a change that the votes did not make
            row[:] = side.estimates[place]
    weight = _weights(a, b, rows, items, reference)
    scores -= (scores @ weight)[:, None]
    unlike = unlike_settings(a.settings, b.settings)
    errors = p_values = adjusted = None
    exact = True
    if a.std_errors is not None and b.std_errors is not None and not unlike:
        by_mean = reference is None or reference == "mean"
        both = [_errors(side, place, weight, by_mean) for side, place in zip((a, b), rows, strict=True)]
        exact = all(known for _, known in both)
        errors = np.hypot(both[0][0], both[1][0])
        p_values = two_sided(scores[1] - scores[0], errors)
        adjusted = holm(p_values)
    mine, theirs = set(a.items), set(b.items)
    only = tuple(x for x in a.items if x not in theirs), tuple(x for x in b.items if x not in mine)
    return Differences(items, ranks, scores, errors, p_values, adjusted, only, unlike, bounded=not exact)


def _common(a: Standing, b: Standing) -> NDArray[np.intp]:
    """Places of the common items in both, (2, n)."""
    place = {item: k for k, item in enumerate(b.items)}
    common = [(k, place[item]) for k, item in enumerate(a.items) if item in place]
    if not common:
        raise InputError(
            f"the two leaderboards have no item in common: {some(a.items, 3)} and {some(b.items, 3)}; "
            "spell labels alike"
        )
    if len(common) == 1:
        raise InputError(f"the two leaderboards share only {a.items[common[0][0]]!r}; at least two items are needed")
    return np.array(common).T


def _weights(
    a: Standing, b: Standing, rows: NDArray[np.intp], items: tuple[Hashable, ...], reference: Hashable
) -> Floats:
    """What each common item counts in the reference, which is held at 0 in both."""
    named = reference in ("mean", "weighted-mean")
    if named and reference in items:
        raise InputError(f"reference: {reference!r} is an item here; leave it out for the mean, or rename the item")
    if reference is not None and not named:
        if reference not in items:
            raise InputError(f"reference: {reference!r} is not in both leaderboards; give an item of both, or 'mean'")
        return np.array([float(item == reference) for item in items])
    bounded = np.ones(len(items), dtype=bool)
    for side, place in zip((a, b), rows, strict=True):
        bounded &= True if side.std_errors is None else np.isfinite(side.std_errors[place])
    weight = bounded.astype(np.float64) if bounded.any() else np.ones(len(items))
    if reference == "weighted-mean":
        if a.votes is None or b.votes is None:
            raise InputError("reference: a weighted mean needs the votes of each item; a leaderboard lacks comparisons")
        weight = weight * (a.votes[rows[0]] + b.votes[rows[1]])
        if not weight.sum() > 0:
            raise InputError("reference: no item that is bounded in both has votes; use 'mean'")
    share: Floats = weight / weight.sum()
    return share


def _errors(side: Standing, place: NDArray[np.intp], weight: Floats, by_mean: bool) -> tuple[Floats, bool]:
    """Standard errors of the scores less the reference, and whether they are more than an upper bound."""
    assert side.std_errors is not None
    own = side.std_errors[place]
    ends = ~np.isfinite(own)
    if side.covariance is not None:
        joint = np.where(np.isfinite(c := side.covariance[np.ix_(place, place)]), c, 0.0)
        contrast = np.eye(len(place)) - weight
        std_errors = np.sqrt(np.maximum(np.einsum("ij,jk,ik->i", contrast, joint, contrast, optimize=True), 0.0))
        own_reference = bool((weight[ends] > 0).any())
        fixed = weight == 1.0
        return np.where((ends | own_reference) & ~fixed, np.inf, std_errors), True
    if by_mean:
        return own, True
    # Without covariances: a difference varies by no more than the sum of the two.
    reference = float(np.sum(np.where(weight > 0, weight * np.where(weight > 0, own, 0.0), 0.0)))
    return np.where(weight == 1.0, 0.0, own + reference), False


def unlike_settings(one: Mapping[str, str] | None, other: Mapping[str, str] | None) -> tuple[str, ...]:
    """Settings that make the scores of two fits different quantities, in words."""
    if one is None or other is None:
        return ()
    names = [name for name in dict.fromkeys([*one, *other]) if name not in SHIFTS]
    if one.get("method") != other.get("method"):
        names = ["method"]
    return tuple(
        f"{name.replace('_', ' ')}: {one.get(name, 'none')} and {other.get(name, 'none')}"
        for name in names
        if one.get(name) != other.get(name)
    )


def unlike_words(unlike: tuple[str, ...]) -> str:
    """What it means that two leaderboards were not fitted alike."""
    return (
        f"not fitted alike ({'; '.join(unlike)}): scores of different models differ without any change of the votes, "
        "so only ranks are compared; fit both alike to test for changes"
    )
