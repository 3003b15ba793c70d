"""Comparisons: who was preferred to whom, checked once and counted once."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import KW_ONLY, dataclass, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from podium.data.building import (
    array_columns,
    checked_columns,
    joined_columns,
    pair_columns,
    squared_weights,
)
from podium.data.connectivity import check_connected, groups_of
from podium.data.pairs import Adjacency, Pairs, count_rows, count_table
from podium.data.rankings import Rankings, Unranked
from podium.data.tables.forms import read_frame
from podium.data.tables.labels import as_column
from podium.data.tables.merging import merge
from podium.data.tables.times import shown_times
from podium.data.validation import (
    check_weights,
    number_option,
    row_numbers,
    share_column,
)
from podium.errors import InputError, Option
from podium.kernels.pairwise.counts import first_bad_row, histogram, histogram_outcomes
from podium.text import counted

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Comparisons", "as_comparisons"]

Floats = NDArray[np.float64]
Codes = NDArray[np.int32]

# A table of all n² cells is used while it is no larger than this, or than a few times the votes.
MIN_DENSE_CELLS = 1 << 16
MIN_AGED = 1e-30  # what is left of the oldest vote
COLUMNS = ("outcome", "weight", "weight_sq", "count", "margin", "margin_ss", "judge", "group", "time", "covariates")


@dataclass(frozen=True, eq=False)
class Comparisons:
    """Who was preferred to whom: the one form in which pairwise data travels.

    Row k compares `items[left[k]]` with `items[right[k]]`. Use a `from_…` method or `read_comparisons`
    rather than the constructor, which takes codes. Codes are in range and no item meets itself: a holder
    need not check again.

    Attributes
    ----------
    items : sequence of labels
    left, right : codes of the two items; `left` won where `outcome` is None
    outcome : +1 left won, -1 right won, 0 tie
    weight : weight of the row; None means 1
    count, weight_sq : how many equal votes the row stands for (None: one each), and their Σw²
    margin, margin_ss : weighted mean of the margin of left over right, and Σw(y - mean)² within the row
    judge, group : codes into `judges` and `groups`
    vote_is : what a vote is called: "vote", or "game" where a home and an away side met
    time : when each vote was cast, in days since 1970 for dates (`time_is` "date"), else as given ("number")
    covariates : (rows, p), left minus right
    sided : left and right are the sides shown, not merely winner and loser
    ordered : rows are single votes in the order they were cast

    Examples
    --------
    >>> votes = Comparisons.from_pairs([("tea", "coffee"), ("tea", "milk"), ("milk", "coffee")])
    >>> len(votes), votes.items
    (3, ('tea', 'coffee', 'milk'))
    """

    items: Sequence[Hashable]
    left: NDArray[Any]
    right: NDArray[Any]
    _: KW_ONLY
    outcome: NDArray[np.int8] | None = None
    weight: Floats | None = None
    weight_sq: Floats | None = None
    count: NDArray[np.int64] | None = None
    margin: Floats | None = None
    margin_ss: Floats | None = None
    judge: Codes | None = None
    judges: tuple[Hashable, ...] = ()
    group: Codes | None = None
    groups: tuple[Hashable, ...] = ()
    group_is: str = "group"
    vote_is: str = "vote"
    time: Floats | None = None
    time_is: str = "number"
    covariates: Floats | None = None
    covariate_names: tuple[str, ...] = ()
    sided: bool = False
    ordered: bool = True

    def __post_init__(self) -> None:
        vars(self).update(checked_columns(self))
        vars(self).update(vars(self._settled()))

    @classmethod
    def _of(cls, items: Sequence[Hashable], left: NDArray[Any], right: NDArray[Any], **columns: Any) -> Self:
        """Build from columns that were checked where they came in; codes of items are looked at again, as they count.

        The constructor checks everything: this is for columns our own readers made, millions of rows long.
        """
        comparisons = object.__new__(cls)
        vars(comparisons).update({field.name: field.default for field in fields(cls)} | columns)
        vars(comparisons).update(items=items, left=left, right=right)
        return comparisons._settled()

    def _settled(self) -> Self:
        """Rows of weight 0 say nothing and go (the items they name stay); the rest are counted, which checks them."""
        n, rows = len(self.items), len(self.left)
        if rows == 0:
            raise InputError("no votes: there is nothing to rank")
        if n < 2:
            named = f"only one item, {self.items[0]!r}" if n else "no items"
            raise InputError(f"{named}; a ranking needs at least two")
        if self.weight is not None:
            check_weights(self.weight)
        if self.count is not None:
            self._settle_counts(self.count)
        cells = self._cells
        if cells is None:
            bad = first_bad_row(self.left, self.right, n) >= 0
        else:  # bad codes fall into the last cell, self-comparisons on a diagonal
            bad = bool(cells[-1]) or any(table[:: n + 1].any() for table in cells[:-1].reshape(-1, n * n))
        if bad:
            self._complain(first_bad_row(self.left, self.right, n))
        if self.weight is not None and not self.weight.all():
            return self.take(np.flatnonzero(self.weight))
        return self

    def _settle_counts(self, count: NDArray[np.int64]) -> None:
        """Rows of equal votes: the weights of a row are alike unless Σw² says otherwise."""
        if count.sum(dtype=np.float64) >= 2.0**62:
            raise InputError("count: the rows are more than 2**62 votes, too many to add up; divide all counts alike")
        if self.weight is None:
            vars(self)["weight"] = vars(self)["weight_sq"] = count.astype(np.float64)
        elif self.weight_sq is None:
            vars(self)["weight_sq"] = self.weight**2 / count

    @cached_property
    def _cells(self) -> NDArray[np.uint32] | None:
        """Counts in a table of all pairs, or three (right won, tie, left won); None where the table would be large."""
        n = len(self.items)
        if not self._single or n * n > max(MIN_DENSE_CELLS, 4 * len(self.left)):
            return None
        if self.outcome is None:
            cells = np.zeros(n * n + 1, dtype=np.uint32)
            histogram(self.left, self.right, cells, n)
        else:
            cells = np.zeros(3 * n * n + 1, dtype=np.uint32)
            histogram_outcomes(self.left, self.right, self.outcome, cells, n)
        return cells

    def _complain(self, row: int) -> None:
        i, j = int(self.left[row]), int(self.right[row])
        if i == j and 0 <= i < len(self.items):
            raise InputError(f"row {row + 1}: {self.items[i]!r} is compared with itself; remove the row")
        code = i if not 0 <= i < len(self.items) else j
        raise InputError(f"row {row + 1}: code {code} is outside 0..{len(self.items) - 1}, the places of `items`")

    # ---- building -------------------------------------------------------------------------------------------

    @classmethod
    def from_pairs(cls, pairs: Iterable[tuple[Hashable, Hashable]]) -> Self:
        """Build from (winner, loser) pairs; items are numbered in order of appearance."""
        return cls._of(**pair_columns(pairs))

    @classmethod
    def from_arrays(
        cls,
        winner: Sequence[Any] | NDArray[Any],
        loser: Sequence[Any] | NDArray[Any],
        *,
        weight: ArrayLike | None = None,
        tie: ArrayLike | None = None,
        margin: ArrayLike | None = None,
        judge: Sequence[Any] | NDArray[Any] | None = None,
        group: Sequence[Any] | NDArray[Any] | None = None,
        time: Any = None,
        covariates: ArrayLike | None = None,
        items: Sequence[Hashable] | None = None,
    ) -> Self:
        """Build from columns.

        With `items`, winner and loser are integer codes into it; without, they are labels. Where `tie` is true
        neither won. `margin` (≥ 0) is by how much the winner won; `time` holds dates, timestamps or
        numbers; `covariates` are winner minus loser.
        """
        columns = array_columns(
            winner,
            loser,
            weight=weight,
            tie=tie,
            margin=margin,
            judge=judge,
            group=group,
            time=time,
            covariates=covariates,
            items=items,
        )
        return cls._of(**columns)

    @classmethod
    def from_frame(cls, frame: Any, **columns: Any) -> Self:
        """Build from a frame (polars, pandas, pyarrow, anything with the Arrow interface) or a mapping of columns.

        Give the columns as `winner=, loser=`, or `left=, right=, outcome=`, or aggregated `left=, right=,
        left_wins=, right_wins=, ties=`, or `left=, right=, margin=`; or goals `left_goals=, right_goals=`; plus
        `weight=, judge=, group=, time=, covariates=, style=` (see `read_comparisons`). What is omitted is recognised by
        name, but for time and covariates; other columns are ignored.

        >>> Comparisons.from_frame({"left": ["a", "b"], "right": ["b", "c"], "outcome": [1, 0.5]}).items
        ('a', 'b', 'c')
        """
        columns_read = read_frame(frame, **columns)
        return cls._of(**(Rankings._of(**columns_read).pair_columns() if "start" in columns_read else columns_read))

    @classmethod
    def from_rankings(cls, rankings: Rankings | Iterable[Sequence[Any]], *, unranked: Unranked | None = None) -> Self:
        """Build from lists of items, best first: each is broken into its pairs and is a cluster of its own.

        Where a list is shorter than all items, `unranked` says what holds of the others: "below", they were passed
        over, which makes k(n − k) pairs more for k of n items; or "unknown". Items that share a place stand in a list
        of their own and are tied. `PlackettLuce` takes lists as they are, which says more.

        >>> len(Comparisons.from_rankings([["a", "b"], ["c"]], unranked="below"))
        5
        """
        if isinstance(rankings, Rankings):
            if unranked is not None:
                made = "these rankings already say what holds of items they do not list; drop "
                raise InputError(made, Option("unranked", unranked))
            return cls._of(**rankings.pair_columns())
        return cls._of(**Rankings.from_lists(rankings, unranked=unranked).pair_columns())

    def __add__(self, other: Comparisons) -> Comparisons:
        """All votes of both; items are matched by label. Counts are merged, single votes stay in their order."""
        if not isinstance(other, Comparisons):
            return NotImplemented
        both = Comparisons._of(**joined_columns(self, other))
        return both if self.count is None or other.count is None else both.merged()

    def merged(self) -> Comparisons:
        """Return the same votes as counts: one row for those that agree in all but weight and margin.

        >>> votes = Comparisons.from_pairs([("tea", "milk"), ("milk", "tea"), ("tea", "milk")])
        >>> counts = votes.merged()
        >>> len(counts), counts.count
        (3, array([2, 1]))
        """
        names = {"left", "right", *COLUMNS}
        columns = {name: values for name in names if (values := getattr(self, name)) is not None}
        columns |= {name: columns[name].astype(np.int32, copy=False) for name in ("left", "right")}
        sums = ("weight", "weight_sq")
        if self.count is not None and all(np.array_equal(columns[name], self.count) for name in sums):
            columns = {name: values for name, values in columns.items() if name not in sums}  # each vote weighs 1
        rest = {field.name: getattr(self, field.name) for field in fields(self) if field.name not in names}
        return Comparisons._of(**rest | merge(columns) | {"ordered": False})

    def __radd__(self, other: object) -> Comparisons:
        """So that `sum` adds a list of them."""
        return self if other == 0 else NotImplemented

    def covariate_sds(self) -> Floats:
        """Return the standard deviation of each covariate over the votes; an effect times it is one per deviation.

        >>> votes = Comparisons.from_frame(
        ...     {"left": ["a", "b"], "right": ["b", "a"], "outcome": [1, 1], "length": [3.0, 7.0]}, covariates="length")
        >>> votes.covariate_sds()
        array([2.])
        """
        if self.covariates is None:
            return np.empty(0)
        votes = np.ones(len(self.left)) if self.count is None else self.count
        mean = np.average(self.covariates, axis=0, weights=votes)
        sds: Floats = np.sqrt(np.average((self.covariates - mean) ** 2, axis=0, weights=votes))
        return sds

    def by_time(self) -> Comparisons:
        """Return the same votes, the earliest first; those of one time, and all without times, stay in order.

        >>> votes = Comparisons.from_arrays(["a", "b"], ["b", "c"], time=["2024-05-02", "2024-05-01"])
        >>> votes.by_time().left
        array([1, 0], dtype=int32)
        """
        if self.time is None or (self.time[1:] >= self.time[:-1]).all():
            return self
        return self.take(np.argsort(self.time, kind="stable"))

    def aged(self, half_life: float) -> Comparisons:
        """Return the same votes, each weighing half as much for every `half_life` that it is older than the last."""
        if self.time is None:
            raise InputError(
                Option("half_life", half_life), " is about the age of votes, and these have no times; name them by ",
                Option("time", column=True),
            )  # fmt: skip
        weight = np.ones(len(self.left)) if self.weight is None else self.weight
        half_life = number_option("half_life", half_life, above=0)
        with np.errstate(under="ignore", over="ignore"):
            each = np.exp2((self.time - self.time.max()) / half_life)
        each = np.maximum(each, MIN_AGED)  # a vote is never lost, only next to nothing
        return replace(self, weight=weight * each, weight_sq=self.weight_squares() * each**2)

    def balanced(self) -> Comparisons:
        """Return the same votes, weighted so that every pair that met counts alike; the sum of weights stays.

        Where no scores explain all pairs, those that meet most often decide what the scores are; balanced, the schedule
        decides nothing, at the price of uneven weights.

        >>> votes = Comparisons.from_pairs([("tea", "milk"), ("tea", "milk"), ("milk", "tea"), ("tea", "cola")])
        >>> votes.balanced().weight
        array([0.66666667, 0.66666667, 0.66666667, 2.        ])
        """
        weight = np.ones(len(self.left)) if self.weight is None else self.weight
        low, high = np.minimum(self.left, self.right), np.maximum(self.left, self.right)
        _, pair = np.unique(low.astype(np.int64) * len(self.items) + high, return_inverse=True)
        total = np.bincount(pair, weight)
        met = int(np.count_nonzero(total))
        each = np.divide(weight.sum() / max(met, 1), total, out=np.zeros_like(total), where=total > 0)[pair]
        return replace(self, weight=weight * each, weight_sq=self.weight_squares() * each**2)

    def weight_squares(self) -> Floats:
        """Σw² of each row."""
        return squared_weights(self)

    def take(self, rows: NDArray[Any] | slice) -> Self:
        """Return these rows, by number, mask or slice; all items stay. A row may stand for many equal votes.

        >>> votes = Comparisons.from_pairs([("a", "b"), ("b", "c"), ("c", "a")])
        >>> len(votes.take(slice(2))), votes.take(slice(2)).items
        (2, ('a', 'b', 'c'))
        """
        rows = rows if isinstance(rows, slice) else row_numbers(rows, len(self.left))
        kept = {name: values[rows] for name in COLUMNS if (values := getattr(self, name)) is not None}
        return self._with(left=self.left[rows], right=self.right[rows], **kept)

    def share(self, counts: NDArray[np.int64]) -> Self:
        """Return `counts[k]` of the equal votes that row k stands for; rows left with none go, all items stay."""
        counts = share_column(counts, self.count, len(self.left))
        if self.count is None:
            once = counts.max(initial=0) <= 1  # then a list of rows is faster
            return self.take(np.flatnonzero(counts) if once else np.repeat(np.arange(len(self.left)), counts))
        part, kept = self.take(counts > 0), counts[counts > 0]
        assert part.count is not None, "a part of counted rows is counted"
        scale = kept / part.count
        scaled = {
            name: values * scale
            for name in ("weight", "weight_sq", "margin_ss")
            if (values := getattr(part, name)) is not None
        }
        return part._with(count=kept, **scaled)

    def __getitem__(self, votes: Any) -> Self:
        """Return these votes, by number, mask or slice, as scikit-learn's folds ask for them; all items stay.

        Single votes are numbered in the order of the rows, also where a row stands for many: folds split votes.

        >>> votes = Comparisons.from_frame({"winner": ["a", "b"], "loser": ["b", "a"], "count": [3, 1]})
        >>> len(votes[:2]), votes[1:].count
        (2, array([2, 1]))
        """
        if isinstance(votes, tuple) and votes and votes[-1] is Ellipsis:  # what scikit-learn asks an array for
            votes = votes[0] if len(votes) == 2 else votes[:-1]
        if self.count is None:
            return self.take(votes if isinstance(votes, slice) else np.atleast_1d(votes))
        chosen = np.atleast_1d(np.arange(len(self))[votes])
        rows = np.searchsorted(np.cumsum(self.count), chosen, side="right")
        return self.share(np.bincount(rows, minlength=len(self.left)))

    @property
    def shape(self) -> tuple[int]:
        """The number of votes, as `len` gives it."""
        return (len(self),)

    def _with(self, **columns: NDArray[Any]) -> Self:
        """The same with other columns, made from those that were checked."""
        comparisons = object.__new__(type(self))
        vars(comparisons).update({field.name: getattr(self, field.name) for field in fields(self)})
        vars(comparisons).update({name: np.ascontiguousarray(values) for name, values in columns.items()})
        if not len(comparisons.left):
            raise InputError("no votes: there is nothing to rank")
        return comparisons

    # ---- reading --------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self.left) if self.count is None else int(self.count.sum())

    def __repr__(self) -> str:
        n = len(self.items)
        some = ", ".join(repr(item) for item in self.items[:4]) + (", …" if n > 4 else "")
        return f"<Comparisons: {counted(len(self), 'vote')} on {counted(n, 'item')} ({some})>"

    @property
    def _single(self) -> bool:
        """Whether every row is one vote of weight 1."""
        return self.weight is None and self.count is None and self.margin is None

    @property
    def _plain(self) -> bool:
        """Whether the rows say nothing but who beat whom."""
        return self._single and self.outcome is None

    @cached_property
    def pairs(self) -> Pairs:
        """The distinct pairs with their counts, whichever side each item was shown on: what batch rankers see."""
        if self._plain and self._cells is None and len(self.left) < 1 << 24:
            return self.adjacency.pairs()
        return self._count(sided=False)

    @cached_property
    def pairs_by_side(self) -> Pairs:
        """The same with (a, b) and (b, a) apart where the votes say which side was which: what a side effect is of."""
        return self._count(sided=True) if self.sided else self.pairs

    def _count(self, *, sided: bool) -> Pairs:
        n = len(self.items)
        if self._cells is not None:
            return count_table(self._cells[:-1], n, sided=sided)
        squares = None if self.weight is None else self.weight_squares()
        return count_rows(
            self.left,
            self.right,
            n,
            outcome=self.outcome,
            weight=self.weight,
            weight_sq=squares,
            margin=self.margin,
            margin_ss=self.margin_ss,
            sided=sided,
        )

    @cached_property
    def adjacency(self) -> Adjacency:
        """The votes laid out by item, both ways, every opponent once."""
        n = len(self.items)
        if self._plain and self._cells is None and len(self.left) < 1 << 24:
            return Adjacency.of_wins(self.left, self.right, n)
        return Adjacency.of_pairs(self.pairs, n)

    def vote_rows(self) -> tuple[Codes, Codes, Floats, Floats]:
        """Left, right, outcome for the left item (1, 0, ½) and weight of every row."""
        left, right = self.left.astype(np.int32, copy=False), self.right.astype(np.int32, copy=False)
        outcome = np.ones(len(left)) if self.outcome is None else np.asarray((self.outcome + 1.0) / 2.0)
        return left, right, outcome, np.ones(len(left)) if self.weight is None else self.weight

    @property
    def noun(self) -> str:
        """What is counted: a "vote", a "game", or a "pair" that a ranking puts in order."""
        return "pair" if self.group_is == "ranking" else self.vote_is

    def record(self) -> tuple[Floats, Floats, Floats]:
        """Each item's wins, losses and ties, as sums of weights."""
        p, n = self.pairs, len(self.items)

        def per_item(of_left: NDArray[Any], of_right: NDArray[Any]) -> Floats:
            return np.asarray(np.bincount(p.left, of_left, n) + np.bincount(p.right, of_right, n), dtype=np.float64)

        wins, losses = per_item(p.left_wins, p.right_wins), per_item(p.right_wins, p.left_wins)
        return wins, losses, per_item(p.ties, p.ties)

    def to_frame(self) -> pl.DataFrame:
        """The rows as a polars frame with the user's labels; `from_frame` reads it back."""
        import polars as pl

        labels = np.empty(len(self.items), dtype=object)
        labels[:] = as_column(self.items)
        ends = ("left", "right") if self.sided or self.outcome is not None else ("winner", "loser")
        columns: dict[str, Any] = {
            name: labels[codes].tolist() for name, codes in zip(ends, (self.left, self.right), strict=True)
        }
        if self.outcome is not None:
            columns["outcome"] = (self.outcome + 1) / 2
        if self.weight is not None:  # a column of weights says what each vote weighs, on average
            columns["weight"] = self.weight if self.count is None else self.weight / self.count
        for name in ("count", "margin"):
            if getattr(self, name) is not None:
                columns[name] = getattr(self, name)
        for name, known in (("judge", self.judges), ("group", self.groups)):
            if getattr(self, name) is not None:
                held = as_column(known)
                columns[name] = [held[code] for code in getattr(self, name)]
        if self.time is not None:
            columns["time"] = shown_times(self.time, self.time_is)
        if self.covariates is not None:
            columns |= dict(zip(self.covariate_names, self.covariates.T, strict=True))
        return pl.DataFrame(columns, strict=False)

    # ---- connectivity ---------------------------------------------------------------------------------------

    def components(self, *, strong: bool = False) -> list[tuple[Hashable, ...]]:
        """Groups of items that were compared, directly or through others; the largest first.

        With `strong`, groups within which everyone can be reached from everyone over wins and ties. A finite
        Bradley-Terry optimum exists iff both are the same, and is unique up to a shift iff there is one group.
        """
        return groups_of(self.items, self.adjacency.strong_components if strong else self.adjacency.components)

    def check_connected(self, l2: float | None) -> None:
        """Say which items the votes cannot place: an `InputError` without a penalty (`l2` = 0), else a warning."""
        check_connected(self.items, self.adjacency, l2)


def as_comparisons(votes: Any, method: str = "fit") -> Comparisons:
    """What a ranker is given, if it is `Comparisons`: a frame or a list does not say which column is what."""
    if isinstance(votes, Comparisons):
        return votes
    way = "Comparisons.from_pairs(...)" if isinstance(votes, list | tuple) else "Comparisons.from_frame(...)"
    raise InputError(f"{method} takes Comparisons, not {type(votes).__name__}; make them by {way}")
