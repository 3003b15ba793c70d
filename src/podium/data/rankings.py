"""Rankings: lists of items, best first, checked once; what they say of items they do not list is said by the user."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, fields
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from podium.data.connectivity import check_connected
from podium.data.pairs import Adjacency, Pairs
from podium.data.tables.labels import as_column, encode
from podium.data.validation import (
    check_weights,
    choice_option,
    code_column,
    distinct_labels,
    members,
    non_negative_column,
    row_numbers,
)
from podium.errors import InputError, Option
from podium.kernels.pairwise.plackett_luce import count_pairs
from podium.text import counted

if TYPE_CHECKING:
    import polars as pl

__all__ = ["MAX_PAIRS", "Rankings", "Unranked", "as_rankings"]

Floats = NDArray[np.float64]
Codes = NDArray[np.int32]
Unranked: TypeAlias = Literal["below", "unknown"]

MAX_PAIRS = 2e7  # that rankings are broken into
MAX_BELOW = 5e7  # items below those listed, written out
ENOUGH_RANKINGS = 50_000  # that usually link all items, where there are more
MAX_DENSE_ITEMS = 5000  # a table of all pairs is held up to here


@dataclass(frozen=True, eq=False)
class Rankings:
    """Lists of items, best first: the form in which surveys, elections and races travel.

    Ranking r lists `items[item[k]]` for k from `start[r]` to `start[r + 1]`. Use `from_lists` or `read_rankings` rather
    than the constructor, which takes codes.

    Attributes
    ----------
    items : sequence of labels
    item, start : codes of the items of all rankings, one after the other, and where each ranking begins; the end last
    tied : 1 where an item shares the place of the one before it; None without ties
    weight : weight of each ranking; None means 1
    rest, rest_start : codes of the items that were on offer and not listed, laid out as `item`; None for all others
    unranked : "below" if items on offer that a ranking does not list lie below those it lists (and are not compared
        with each other), "unknown" if nothing is known of them; None if every ranking lists all items
    judge, group : codes into `judges` and `groups`

    Examples
    --------
    >>> ballots = Rankings.from_lists([["tea", "milk"], ["milk"], ["tea", "cola"]], unranked="below")
    >>> len(ballots), ballots.items
    (3, ('tea', 'milk', 'cola'))
    """

    items: Sequence[Hashable]
    item: Codes
    start: NDArray[np.int64]
    _: KW_ONLY
    tied: NDArray[np.uint8] | None = None
    weight: Floats | None = None
    rest: Codes | None = None
    rest_start: NDArray[np.int64] | None = None
    unranked: Unranked | None = None
    judge: Codes | None = None
    judges: tuple[Hashable, ...] = ()
    group: Codes | None = None
    groups: tuple[Hashable, ...] = ()

    def __post_init__(self) -> None:
        vars(self).update(_checked(self))
        vars(self).update(vars(self._settled()))

    @classmethod
    def _of(cls, **columns: Any) -> Self:
        """Build from columns that our own readers checked."""
        rankings = object.__new__(cls)
        vars(rankings).update({field.name: field.default for field in fields(cls)} | columns)
        return rankings._settled()

    def _settled(self) -> Self:
        """Empty rankings and those of weight 0 say nothing and go; the rest are complete, or `unranked` says more."""
        if self.unranked is not None:
            choice_option("unranked", self.unranked, ("below", "unknown"))
        if len(self.items) < 2:
            named = f"only one item, {self.items[0]!r}" if len(self.items) else "no items"
            raise InputError(f"{named}; a ranking needs at least two")
        if self.weight is not None:
            check_weights(self.weight)
        sizes = np.diff(self.start)
        said = sizes > 0 if self.weight is None else (sizes > 0) & (self.weight > 0)
        if not said.any():
            raise InputError("no ranking lists an item: there is nothing to rank")
        kept = self if said.all() else self.take(said)
        kept._check_unranked()
        return kept

    def _check_unranked(self) -> None:
        """Lists that are shorter than what was on offer mean one of two things, and only the user knows which."""
        if self.unranked is None:
            offered = np.full(len(self), len(self.items)) if self.rest_start is None else self.sizes + self.rest_sizes
            short = np.flatnonzero(self.sizes < offered)
            if len(short):
                row, many = int(short[0]), len(short)
                raise InputError(
                    f"{counted(many, 'ranking')} of {len(self):,} {'lists' if many == 1 else 'list'} fewer items than "
                    f"were on offer (the first of them {self.sizes[row]} of {offered[row]}), so say what holds of the "
                    "others: ",
                    Option("unranked", "below"),
                    " if they could have been listed and were passed over, as in a top 5; ",
                    Option("unranked", "unknown"),
                    " if nothing is known of them, as when each was asked about some items only",
                )
        if self.unranked == "unknown" or (self.unranked is None and self.rest is not None):
            vars(self).update(rest=None, rest_start=None)
        if self.unranked != "below" and int(self.sizes.max()) < 2:
            raise InputError("no ranking holds two items: there is nothing to compare")
        if self.unranked == "below" and not ((self.sizes > 1) | (self.rest_sizes > 0)).any():
            raise InputError("no ranking holds two items: there is nothing to compare")

    # ---- building -------------------------------------------------------------------------------------------

    @classmethod
    def from_lists(
        cls,
        lists: Iterable[Iterable[Any]],
        *,
        unranked: Unranked | None = None,
        items: Sequence[Hashable] | None = None,
        offered: Iterable[Iterable[Hashable]] | None = None,
        weight: ArrayLike | None = None,
        judge: Sequence[Any] | NDArray[Any] | None = None,
        group: Sequence[Any] | NDArray[Any] | None = None,
    ) -> Self:
        """Build from lists of items, best first. Items that share a place stand in a list (or set) of their own.

        Parameters
        ----------
        lists : as [["a", "b"], ["b", ["a", "c"]]]
        unranked : "below" or "unknown", needed where a list is shorter than what was on offer
            Items on offer that were not listed lie below those that were, or nothing is known of them.
        items : all items there are, in their order; else those listed or on offer, in order of appearance
        offered : for each list the items that could have been listed; else all of them
        weight, judge, group : one for each list

        >>> Rankings.from_lists([["a", ["b", "c"]], ["b", "a", "c"]])
        <Rankings: 2 rankings of 3 items (a, b, c)>
        """
        if unranked is not None:
            choice_option("unranked", unranked, ("below", "unknown"))
        labels, sizes, tied = _flat(lists)
        choices, rest_sizes = _flat_offers(offered, len(sizes))
        known: Sequence[Hashable]
        try:
            codes, known = encode([*labels, *choices], "item") if labels or choices else (np.empty(0, np.int32), ())
        except InputError as problem:
            _refuse_label(problem, labels, sizes)
            _refuse_label(problem, choices, rest_sizes, " of offered")
            raise
        if items is not None:
            codes, known = _among(items, codes, known)
        item, start = codes[: len(labels)], _starts(sizes)
        _refuse_twice(item, start, known)
        columns: dict[str, Any] = {"items": known, "item": item, "start": start, "unranked": unranked}
        if any(tied):
            columns["tied"] = np.array(tied, dtype=np.uint8)
        if offered is not None:
            rest, begins = _left_over(codes[len(labels) :], _starts(rest_sizes), item, start, known)
            columns |= {"rest": rest, "rest_start": begins}
        if weight is not None:
            columns["weight"] = non_negative_column(weight, "weight", len(sizes))
        for name, values in (("judge", judge), ("group", group)):
            if values is not None:
                try:
                    ranks = list(values)
                except TypeError as problem:
                    raise InputError(f"{name} is {values!r}; give a label for each ranking") from problem
                if len(ranks) != len(sizes):
                    rows = counted(len(ranks), "row")
                    raise InputError(f"{name} has {rows}, the rankings {len(sizes)}; they must match")
                columns[name], columns[f"{name}s"] = encode(ranks, name)
        return cls._of(**columns)

    def take(self, rows: NDArray[Any] | slice) -> Self:
        """Return these rankings, by number, mask or slice; all items stay.

        >>> ballots = Rankings.from_lists([["a", "b"], ["b", "a"], ["a", "b"]])
        >>> len(ballots.take(slice(2)))
        2
        """
        count = len(self.start) - 1
        chosen = np.arange(count)[rows if isinstance(rows, slice) else row_numbers(rows, count)]
        columns: dict[str, Any] = {field.name: getattr(self, field.name) for field in fields(self)}
        columns["item"], columns["start"], places = _some(self.item, self.start, chosen)
        if self.tied is not None:
            columns["tied"] = self.tied[places]
        if self.rest is not None and self.rest_start is not None:
            columns["rest"], columns["rest_start"], _ = _some(self.rest, self.rest_start, chosen)
        for name in ("weight", "judge", "group"):
            if getattr(self, name) is not None:
                columns[name] = getattr(self, name)[chosen]
        if not len(chosen):
            raise InputError("no rankings: there is nothing to rank")
        rankings = object.__new__(type(self))
        vars(rankings).update(columns)
        return rankings

    def with_items(self, items: Sequence[Hashable]) -> Self:
        """Return the same rankings among these items, which hold those there are; with `below`, all were on offer.

        >>> ballots = Rankings.from_lists([["a", "b"], ["b"]], unranked="below").with_items(["b", "a", "c"])
        >>> ballots.items, ballots.rest_sizes.tolist()
        (('b', 'a', 'c'), [1, 2])
        """
        labels = distinct_labels(items)
        place = _places(labels, self.items)
        columns: dict[str, Any] = {field.name: getattr(self, field.name) for field in fields(self)}
        columns |= {"items": labels, "item": place[self.item]}
        if self.rest is not None:
            columns["rest"] = place[self.rest]
        elif self.unranked is None and len(labels) > len(self.items):
            columns["unranked"] = "unknown"
        return self._of(**columns)

    def __add__(self, other: Rankings) -> Rankings:
        """Return all rankings of both; items are matched by label, and what was on offer to each ranking stays.

        >>> one = Rankings.from_lists([["a", "b"], ["b"]], unranked="below")
        >>> both = one + Rankings.from_lists([["c", "a"]])
        >>> len(both), both.items, both.rest_sizes.tolist()
        (3, ('a', 'b', 'c'), [0, 1, 0])
        """
        if not isinstance(other, Rankings):
            return NotImplemented
        return _joined(self, other)

    def __radd__(self, other: object) -> Rankings:
        """So that `sum` adds a list of them."""
        return self if isinstance(other, int) and other == 0 else NotImplemented

    def __getitem__(self, rows: Any) -> Self:
        """Return these rankings, as scikit-learn's folds ask for them."""
        if isinstance(rows, tuple) and rows and rows[-1] is Ellipsis:
            rows = rows[0] if len(rows) == 2 else rows[:-1]
        return self.take(rows if isinstance(rows, slice) else np.atleast_1d(rows))

    # ---- reading --------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self.start) - 1

    @property
    def shape(self) -> tuple[int]:
        """The number of rankings."""
        return (len(self),)

    def __repr__(self) -> str:
        n = len(self.items)
        some = ", ".join(str(item) for item in self.items[:4]) + (", …" if n > 4 else "")
        return f"<Rankings: {counted(len(self), 'ranking')} of {counted(n, 'item')} ({some})>"

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        """How many items each ranking lists."""
        return np.diff(self.start)

    @cached_property
    def rest_sizes(self) -> NDArray[np.int64]:
        """How many items lie below those listed."""
        if self.unranked != "below":
            return np.zeros(len(self), dtype=np.int64)
        return len(self.items) - self.sizes if self.rest_start is None else np.diff(self.rest_start)

    def _written_rest(self) -> Codes:
        """Codes of the items below those listed, ranking after ranking; `rest_sizes` says how many each has."""
        if self.unranked != "below":
            return np.empty(0, dtype=np.int32)
        if self.rest is not None:
            return self.rest
        lacking = np.ones((len(self), len(self.items)), dtype=bool)
        lacking[np.repeat(np.arange(len(self)), self.sizes), self.item] = False
        return np.nonzero(lacking)[1].astype(np.int32)

    @property
    def everyone(self) -> bool:
        """Whether all items that a ranking does not list lie below those it lists."""
        return self.unranked == "below" and self.rest is None

    @property
    def weights(self) -> Floats:
        """Weight of each ranking."""
        return np.ones(len(self)) if self.weight is None else self.weight

    def columns(self) -> tuple[Any, ...]:
        """What the kernels take: item, start, tied, weight, rest, rest_start."""
        tied = np.empty(0, np.uint8) if self.tied is None else self.tied
        rest = np.empty(0, np.int32) if self.rest is None else self.rest
        begins = np.zeros(len(self.start), np.int64) if self.rest_start is None else self.rest_start
        return self.item, self.start, tied, self.weights, rest, begins

    @cached_property
    def pairs(self) -> Pairs:
        """Every pair that some ranking orders, with the weight of those that do; up to 5,000 items."""
        n = len(self.items)
        if n > MAX_DENSE_ITEMS:
            raise InputError(
                f"rankings of {n:,} items make too many pairs for a table; rank up to {MAX_DENSE_ITEMS:,} items"
            )
        wins, ties, listed = np.zeros((n, n)), np.zeros((n, n)), np.zeros(n)
        item, start, tied, weight, rest, rest_start = self.columns()
        count_pairs(item, start, tied, weight, rest, rest_start, wins, ties, listed)
        if self.everyone:
            both = wins + wins.T + ties
            wins += np.where(np.eye(n, dtype=bool), 0.0, np.maximum(listed[:, None] - both, 0.0))
            wins[wins < 1e-9 * listed.max()] = 0.0  # what rounding leaves of weights that are no counts
        left, right = (codes.astype(np.int32) for codes in np.nonzero(np.triu(wins + wins.T + ties, 1)))
        counts = wins[left, right], wins[right, left], ties[left, right]
        return Pairs(left, right, *counts, *counts)

    @cached_property
    def adjacency(self) -> Adjacency:
        """The pairs laid out by item."""
        return Adjacency.of_pairs(self.pairs, len(self.items))

    def record(self) -> tuple[Floats, Floats, Floats]:
        """Each item's wins, losses and ties over all pairs that rankings order, as sums of weights."""
        p, n = self.pairs, len(self.items)

        def per_item(of_left: NDArray[Any], of_right: NDArray[Any]) -> Floats:
            return np.asarray(np.bincount(p.left, of_left, n) + np.bincount(p.right, of_right, n), dtype=np.float64)

        return (
            per_item(p.left_wins, p.right_wins),
            per_item(p.right_wins, p.left_wins),
            per_item(p.ties, p.ties),
        )

    def check_connected(self, l2: float | None) -> None:
        """Say which items the rankings cannot place: an `InputError` without a penalty (`l2` = 0), else a warning."""
        check_connected(self.items, self._linkage, l2)

    @cached_property
    def _linkage(self) -> Adjacency:
        """What `adjacency` says of groups and open ends, from some of very many rankings where these are enough.

        If some of them place every item above and below every other, by way of others, all of them do.
        """
        if "adjacency" not in vars(self) and len(self) >= 2 * ENOUGH_RANKINGS:
            some = self.take(np.arange(0, len(self), len(self) // ENOUGH_RANKINGS)).adjacency
            if some.is_strongly_connected:
                return some
        return self.adjacency

    def to_lists(self) -> list[list[Any]]:
        """The lists with the user's labels; items that share a place stand in a list of their own.

        >>> Rankings.from_lists([["a", ["b", "c"]]]).to_lists()
        [['a', ['b', 'c']]]
        """
        labels = list(self.items)
        lists: list[list[Any]] = []
        tied = np.zeros(len(self.item), np.uint8) if self.tied is None else self.tied
        for first, last in zip(self.start[:-1].tolist(), self.start[1:].tolist(), strict=True):
            entry: list[Any] = []
            for code, same in zip(self.item[first:last].tolist(), tied[first:last].tolist(), strict=True):
                if same:
                    entry[-1] = [*(entry[-1] if isinstance(entry[-1], list) else [entry[-1]]), labels[code]]
                else:
                    entry.append(labels[code])
            lists.append(entry)
        return lists

    def to_frame(self) -> pl.DataFrame:
        """One row for each item listed: ranking, item and rank (items that share a place share the better)."""
        import polars as pl

        sizes = self.sizes
        place = np.arange(len(self.item)) - np.repeat(self.start[:-1], sizes) + 1
        if self.tied is not None:
            place = np.maximum.accumulate(np.where(self.tied == 0, np.arange(len(place)), 0))
            place = place - np.repeat(self.start[:-1], sizes) + 1
        labels = as_column(self.items)
        columns: dict[str, Any] = {"ranking": np.repeat(np.arange(1, len(self) + 1), sizes)}
        for name, known in (("judge", self.judges), ("group", self.groups)):
            if getattr(self, name) is not None:
                held = as_column(known)
                columns[name] = [held[code] for code in np.repeat(getattr(self, name), sizes)]
        columns |= {"item": [labels[code] for code in self.item], "rank": place}
        if self.weight is not None:
            columns["weight"] = np.repeat(self.weight, sizes)
        return pl.DataFrame(columns, strict=False)

    # ---- as pairs -------------------------------------------------------------------------------------------

    def pair_columns(self) -> dict[str, Any]:
        """Columns of `Comparisons`: every pair that a ranking orders, each ranking a group of its own."""
        sizes, rest = self.sizes, self.rest_sizes
        many = float((sizes * (sizes - 1) // 2 + sizes * rest).sum(dtype=np.float64))
        if many > MAX_PAIRS:
            each = "k(n − k) pairs and more each" if self.unranked == "below" else "k(k − 1)/2 pairs each"
            raise InputError(
                f"the {len(self):,} rankings make {many:.2g} pairs, {each}, more than {MAX_PAIRS:g}; rank them by ",
                Option("method", "plackett-luce"),
                ", which takes lists as they are",
            )
        above, below, row, tie = self._pair_places()
        columns: dict[str, Any] = {"items": self.items, "left": above, "right": below}
        if self.tied is not None:
            columns["outcome"] = np.where(tie, 0, 1).astype(np.int8)
        columns |= {"group": row.astype(np.int32), "groups": tuple(range(1, len(self) + 1)), "group_is": "ranking"}
        if self.weight is not None:
            columns["weight"] = self.weight[row]
        if self.judge is not None:
            columns |= {"judge": self.judge[row], "judges": self.judges}
        return columns

    def _pair_places(self) -> tuple[Codes, Codes, NDArray[np.intp], NDArray[np.bool_]]:
        """Codes of the better and of the worse of each pair, its ranking, and whether the two share a place."""
        n = len(self.items)
        parts: list[tuple[NDArray[Any], ...]] = []
        group = np.arange(len(self.item)) if self.tied is None else np.cumsum(self.tied == 0)
        for r, (first, last) in enumerate(zip(self.start[:-1].tolist(), self.start[1:].tolist(), strict=True)):
            listed = self.item[first:last]
            one, other = np.triu_indices(last - first, 1)
            same = group[first:last][one] == group[first:last][other]
            parts.append((listed[one], listed[other], np.full(len(one), r), same))
            if self.unranked == "below":
                if self.rest is not None and self.rest_start is not None:
                    under = self.rest[self.rest_start[r] : self.rest_start[r + 1]]
                else:
                    under = np.setdiff1d(np.arange(n, dtype=np.int32), listed)
                crossed = len(listed) * len(under)
                parts.append(
                    (
                        np.repeat(listed, len(under)),
                        np.tile(under, len(listed)),
                        np.full(crossed, r),
                        np.zeros(crossed, dtype=bool),
                    )
                )
        left, right, row, tie = (np.concatenate(column) for column in zip(*parts, strict=True))
        return left.astype(np.int32), right.astype(np.int32), row, tie


def _joined(one: Rankings, other: Rankings) -> Rankings:
    """All rankings of two sets; where their items differ, what lies below each is written out."""
    known = set(one.items)
    labels = (*one.items, *(label for label in other.items if label not in known))
    both, places = (one, other), (np.arange(len(one.items), dtype=np.int32), _places(labels, other.items))
    columns: dict[str, Any] = {
        "items": labels,
        "item": np.concatenate([place[each.item] for each, place in zip(both, places, strict=True)]),
        "start": np.concatenate([one.start, one.start[-1] + other.start[1:]]),
    }
    if one.tied is not None or other.tied is not None:
        none = [np.zeros(len(each.item), np.uint8) if each.tied is None else each.tied for each in both]
        columns["tied"] = np.concatenate(none)
    if one.weight is not None or other.weight is not None:
        columns["weight"] = np.concatenate([one.weights, other.weights])
    same = len(labels) == len(one.items) == len(other.items)
    kinds = {each.unranked for each in both}
    if kinds == {None}:
        columns["unranked"] = None if same else "unknown"
    elif "below" not in kinds:
        columns["unranked"] = "unknown"
    else:
        columns["unranked"] = "below"
        if not (same and one.everyone and other.everyone):
            columns |= _joined_rest(both, places)
    for name in ("judge", "group"):
        columns |= _joined_labels(one, other, name)
    return Rankings._of(**columns)


def _joined_rest(both: tuple[Rankings, Rankings], places: tuple[Codes, Codes]) -> dict[str, Any]:
    many = sum(float(each.rest_sizes.sum()) for each in both)
    if many > MAX_BELOW:
        raise InputError(
            f"the rankings have different items, and {many:.2g} of these lie below those listed, more than "
            f"{MAX_BELOW:g}; give all of them the same items (with_items)"
        )
    rest = [place[each._written_rest()] for each, place in zip(both, places, strict=True)]
    sizes = np.concatenate([each.rest_sizes for each in both])
    return {"rest": np.concatenate(rest), "rest_start": _starts(sizes.tolist())}


def _joined_labels(one: Rankings, other: Rankings, name: str) -> dict[str, Any]:
    codes = getattr(one, name), getattr(other, name)
    if codes[0] is None and codes[1] is None:
        return {}
    if codes[0] is None or codes[1] is None:
        raise InputError(f"some rankings name a {name} and others do not; give all of them one, or none")
    own, more = getattr(one, f"{name}s"), getattr(other, f"{name}s")
    known = set(own)
    labels = (*own, *(label for label in more if label not in known))
    return {name: np.concatenate([codes[0], _places(labels, more)[codes[1]]]), f"{name}s": labels}


def _places(labels: Sequence[Hashable], known: Sequence[Hashable]) -> Codes:
    """Where each known label stands among `labels`."""
    index = {label: code for code, label in enumerate(labels)}
    missing = [label for label in known if label not in index]
    if missing:
        raise InputError(f"{missing[0]!r} is ranked and is not among the items; add it, or correct it")
    return np.array([index[label] for label in known], dtype=np.int32)


def as_rankings(lists: Any, method: str = "fit") -> Rankings:
    """What was given, if it is `Rankings`."""
    if isinstance(lists, Rankings):
        return lists
    raise InputError(
        f"{method} takes Rankings or Comparisons, not {type(lists).__name__}; "
        "make them by Rankings.from_lists(...), or read a file by podium.read_rankings(...)"
    )


def _flat(lists: Iterable[Iterable[Any]]) -> tuple[list[Hashable], list[int], list[int]]:
    """All labels one after the other, how many each list has, and which share the place of the one before."""
    if isinstance(lists, Mapping):
        raise InputError(
            f"rankings are a {type(lists).__name__}, whose values would be lost; give a list of lists of items, best "
            "first. Of a Counter that is elements()"
        )
    if not _is_list(lists):
        raise InputError(f"rankings are {lists!r}; give a list of lists of items, best first")
    labels: list[Hashable] = []
    sizes: list[int] = []
    tied: list[int] = []
    for row, entry in enumerate(lists, start=1):
        if not _is_list(entry):
            raise InputError(f"row {row}: {entry!r} is not a list of items")
        before = len(labels)
        for place in entry:
            together = sorted(place, key=str) if isinstance(place, set | frozenset) else place
            for number, label in enumerate(together if isinstance(together, list) else [together]):
                if not isinstance(label, Hashable):
                    raise InputError(f"row {row}: {label!r} cannot be a label; use text, numbers or tuples")
                labels.append(label)
                tied.append(int(number > 0))
        sizes.append(len(labels) - before)
    return labels, sizes, tied


def _refuse_label(problem: InputError, labels: list[Hashable], sizes: list[int], of: str = "") -> None:
    """Name the list whose label was refused; the labels were numbered one after the other."""
    starts = _starts(sizes)
    for row, (begin, end) in enumerate(pairwise(starts), start=1):
        try:
            encode(labels[begin:end], "item")
        except InputError as own:
            raise InputError(re.sub(r"^row \d+", f"row {row}{of}", str(own))) from problem


def _is_list(thing: Any) -> bool:
    """Whether it has members; an array without dimensions says so and has none."""
    return isinstance(thing, Iterable) and not isinstance(thing, str | bytes) and getattr(thing, "ndim", 1) != 0


def _flat_offers(offered: Any, rows: int) -> tuple[list[Hashable], list[int]]:
    if offered is None:
        return [], []
    labels, sizes, _ = _flat(offered)
    if len(sizes) != rows:
        raise InputError(f"offered has {counted(len(sizes), 'row')}, the rankings {rows}; they must match")
    return labels, sizes


def _starts(sizes: Sequence[int]) -> NDArray[np.int64]:
    return np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)]).astype(np.int64)


def _some(
    values: NDArray[Any], start: NDArray[np.int64], rows: NDArray[np.intp]
) -> tuple[NDArray[Any], NDArray[np.int64], NDArray[np.int64]]:
    """The entries of some rows, where these begin, and where they stood."""
    sizes = np.diff(start)[rows]
    begins = _starts(sizes.tolist())
    places = np.repeat(start[:-1][rows] - begins[:-1], sizes) + np.arange(int(sizes.sum()))
    return np.ascontiguousarray(values[places]), begins, places


def _among(items: Sequence[Hashable], codes: Codes, known: Sequence[Hashable]) -> tuple[Codes, Sequence[Hashable]]:
    """Codes into the items that the user names."""
    labels = distinct_labels(items)
    index = {label: code for code, label in enumerate(labels)}
    unknown = [label for label in known if label not in index]
    if unknown:
        raise InputError(f"{unknown[0]!r} is listed and is not among the items; add it, or correct it")
    table = np.array([index[label] for label in known], dtype=np.int32)
    return table[codes] if len(codes) else codes, labels


def _refuse_twice(item: Codes, start: NDArray[np.int64], items: Sequence[Hashable]) -> None:
    row = np.repeat(np.arange(len(start) - 1), np.diff(start))
    key = row * np.int64(max(len(items), 1)) + item
    _, first = np.unique(key, return_index=True)
    if len(first) < len(key):
        again = np.setdiff1d(np.arange(len(key)), first)
        place = int(again.min())
        raise InputError(f"row {row[place] + 1}: {items[item[place]]!r} appears twice in the ranking; remove one")


def _left_over(
    offer: Codes, offer_start: NDArray[np.int64], item: Codes, start: NDArray[np.int64], items: Sequence[Hashable]
) -> tuple[Codes, NDArray[np.int64]]:
    """What was on offer and was not listed; what was listed must have been on offer."""
    n = np.int64(max(len(items), 1))
    rows = np.repeat(np.arange(len(start) - 1), np.diff(start)) * n + item
    offers = np.unique(np.repeat(np.arange(len(offer_start) - 1), np.diff(offer_start)) * n + offer)
    stray = np.flatnonzero(~np.isin(rows, offers))
    if len(stray):
        k = int(stray[0])
        raise InputError(f"row {rows[k] // n + 1}: {items[item[k]]!r} is listed and was not on offer; correct one")
    rest = np.setdiff1d(offers, rows)
    sizes = np.bincount(rest // n, minlength=len(start) - 1)
    return (rest % n).astype(np.int32), _starts(sizes.tolist())


def _checked(r: Rankings) -> dict[str, Any]:
    """Every field of what was given to the constructor, as the kernels take it; else an `InputError`."""
    items = distinct_labels(r.items)
    item = code_column(r.item, "item").astype(np.int32)
    start = code_column(r.start, "start").astype(np.int64)
    columns: dict[str, Any] = {"items": items, "item": item, "start": start}
    _check_layout(item, start, len(items), "item", "start")
    _refuse_twice(item, start, items)
    rows = len(start) - 1
    if r.tied is not None:
        tied = code_column(r.tied, "tied")
        if tied.shape != item.shape or not np.isin(tied, (0, 1)).all() or tied[start[:-1][np.diff(start) > 0]].any():
            raise InputError("tied: give 1 where an item shares the place of the one before it in its ranking, else 0")
        columns["tied"] = tied.astype(np.uint8)
    if (r.rest is None) != (r.rest_start is None):
        raise InputError("rest and rest_start come together; give both, or neither")
    if r.rest is not None:
        rest = code_column(r.rest, "rest").astype(np.int32)
        begins = code_column(r.rest_start, "rest_start").astype(np.int64)
        _check_layout(rest, begins, len(items), "rest", "rest_start")
        if len(begins) != len(start):
            raise InputError(f"rest_start is of {len(begins) - 1} rankings, start of {rows}; they must match")
        order = np.argsort(np.concatenate([_rows_of(start), _rows_of(begins)]), kind="stable")
        _refuse_twice(np.concatenate([item, rest])[order], start + begins, items)
        columns |= {"rest": rest, "rest_start": begins}
    if r.weight is not None:
        columns["weight"] = non_negative_column(r.weight, "weight", rows)
    for name, codes, labels in (("judge", r.judge, r.judges), ("group", r.group, r.groups)):
        columns[f"{name}s"] = tuple(distinct_labels(labels, f"{name}s"))
        if codes is not None:
            columns[name] = members(codes, columns[f"{name}s"], name, rows)
    return columns


def _rows_of(start: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.repeat(np.arange(len(start) - 1), np.diff(start))


def _check_layout(codes: NDArray[Any], start: NDArray[np.int64], n: int, name: str, begin: str) -> None:
    if not len(start) or start[0] != 0 or start[-1] != len(codes) or (np.diff(start) < 0).any():
        raise InputError(f"{begin}: give where each ranking begins in `{name}`, from 0, and the end last")
    bad = np.flatnonzero((codes < 0) | (codes >= n))
    if len(bad):
        raise InputError(f"{name}: code {codes[bad[0]]} is outside 0..{n - 1}, the places of `items`")
