"""Forms of pairwise data: frames, in pieces or whole, become the codes and counts that `Comparisons` holds.

Every value is checked here, once: an error names the file, the row (data rows count from 1) and the user's own value.
"""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Iterator
from typing import TYPE_CHECKING, Any, Literal, NoReturn, TypeAlias

import numpy as np
from numpy.typing import NDArray

from podium.data.tables.columns import Layout, arena_covariates, recognise, refuse_difference
from podium.data.tables.frames import as_polars
from podium.data.tables.labels import Numbering, encode, encode_pair, is_missing
from podium.data.tables.merging import Merger
from podium.data.tables.nested import nested_names, picked
from podium.data.tables.outcomes import Outcomes
from podium.data.tables.rankings import Inseparable, listed_items
from podium.data.tables.surveys import ListPiece, ListStore, from_places, from_ranks
from podium.data.tables.times import Times
from podium.data.tables.values import as_labels, as_numbers, is_decimal_comma, summed
from podium.data.validation import MAX_MARGIN
from podium.errors import DataWarning, InputError, InPython, Option
from podium.text import counted

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Collector", "Keep", "as_polars", "encode", "encode_pair", "read_frame"]

Keep: TypeAlias = Literal["rows", "counts"]
Piece: TypeAlias = dict[str, NDArray[Any]]  # the columns there are, by role

MAX_COUNT = 1 << 53  # from here on not every whole number is a float
MAX_PAIRS = 2e7  # of rankings that count several times
LOG = {"seq", "undoes", "counts"}  # columns of the votes that a campaign exports, all of them
BATCH = 1 << 19  # rows taken at a time: small beside any file, large beside the cost of a call


def read_frame(frame: Any, *, keep: Keep = "rows", where: str = "", **columns: Any) -> dict[str, Any]:
    """Turn a frame into the keyword arguments of `Comparisons`.

    `frame` is polars (eager or lazy), pandas, pyarrow, anything with the Arrow interface, or a mapping of columns.
    `keep="rows"` keeps each vote in its place; `keep="counts"` merges equal ones, so that memory follows unique pairs.
    The other options name columns; see `podium.data.tables.columns.recognise`.

    >>> found = read_frame({"winner": ["tea", "tea"], "loser": ["milk", "milk"]}, keep="counts")
    >>> found["items"], found["count"]
    (('tea', 'milk'), array([2]))
    """
    collector = Collector(keep, **columns)
    collector.add(as_polars(frame), where)
    return collector.result()


class Collector:
    """Takes frames one after the other and holds their votes, in rows or merged into counts.

    Each frame is recognised on its own, and those after the first must come out alike: a weight or a judge that only
    some of them have is an error, not lost.
    """

    def __init__(
        self,
        keep: Keep = "rows",
        *,
        style: str | None = None,
        fold_sides: bool = False,
        dense_bytes: int | None = None,
        unranked: str | None = None,
        **columns: Any,
    ) -> None:
        if style not in (None, "arena"):
            raise InputError(Option("style", style), " is unknown; choose 'arena'")
        if keep not in ("rows", "counts"):
            raise InputError(f"keep is {keep!r}; choose 'rows' or 'counts'")
        self.options, self.style = columns, style
        self.unranked = unranked
        self.votes = 0  # rows read, for progress
        self.items, self.judges, self.groups, self.bys = (Numbering() for _ in range(4))
        self.outcomes = Outcomes(self.items)
        self.times = Times()
        self.merger = Merger(merge=keep == "counts", fold=fold_sides, dense_bytes=dense_bytes)
        self.layout: Layout | None = None
        self.is_log = False  # whether the file at hand is the log of a campaign
        self.place = ""  # the frame that settled the layout
        self.lists = ListStore()  # of rankings
        self.pairs = 0.0  # of rankings that count several times, taken so far
        self.together = Inseparable()
        self._files: list[str] = []  # of a long table of rankings
        self._kinds: dict[str, tuple[str, str]] = {}  # column -> text or numbers, and the file that settled it

    def add(self, frame: pl.DataFrame | pl.LazyFrame, where: str = "") -> None:
        """Take all rows of a frame; `where` names it in errors."""
        row = 0
        schema = frame.collect_schema()
        chosen = self.choose([*schema, *nested_names(schema)], where)
        for batch in _batches(frame.select(picked(chosen, schema))):
            self.add_batch(batch, where, row)
            row += batch.height

    def choose(self, names: list[str], where: str = "") -> list[str]:
        """The columns to read among those a frame has."""
        with located(where):
            chosen: dict[str, Any] = {}
            if self.style and not self.options.get("covariates"):
                chosen = {"covariates": arena_covariates(names)}
            layout = recognise(names, **self.options | chosen)
            if self.style:
                _refuse_style(layout)
            if layout.form != "ranking" and self.unranked is not None:
                raise InputError(
                    Option("unranked", self.unranked), " is about rankings, and these are votes on pairs; drop it"
                )
        if self.layout is None:
            self.layout, self.place = layout, where or "the frame before"
            if layout.covariates and self.merger.fold:
                raise InputError(
                    "covariates are of left minus right, so sides cannot be folded; drop ", InPython("fold_sides=")
                )
        refuse_difference(layout, where or "this frame", self.layout, self.place)
        self.is_log = set(names) >= LOG
        return list(dict.fromkeys([*layout.columns, *(["counts"] if self.is_log else [])]))

    def add_batch(self, batch: pl.DataFrame, where: str, row: int) -> None:
        """Take the rows of one piece, which begin after `row` rows of the file `where`; its columns were chosen."""
        assert self.layout is not None
        if not batch.height:
            return
        self.votes += batch.height
        kept = None
        if self.is_log:
            kept = _that_count(batch["counts"])
            batch = batch[kept]
        piece = _Batch(self, self.layout, batch, where, row, kept)
        if self.layout.form == "ranking":
            piece.lists()
        elif batch.height:
            self.merger.add(piece.read(), len(self.items))

    def unite(self, other: Collector) -> Collector:
        """Take all that another has read, of files that come after those read here."""
        if other.layout is None:  # nothing but notes of an interview
            return self
        if self.layout is None:
            return other
        refuse_difference(other.layout, other.place, self.layout, self.place)
        for column, (kind, where) in other._kinds.items():
            self.same_kind(column, kind, where)
        self.outcomes.unite(other.outcomes, other.place)
        with located(other.place):
            self.times.same_kind(other.times.kind, str(self.layout.time))
        recode = {"left": self.items.unite(other.items)}
        recode["right"] = recode["left"]
        for role, ours, theirs in (
            ("judge", self.judges, other.judges),
            ("group", self.groups, other.groups),
            ("by", self.bys, other.bys),
        ):
            if len(theirs):
                recode[role] = ours.unite(theirs)
        self._files += [where for where in other._files if where not in self._files]
        recode["file"] = np.array([self._files.index(where) for where in other._files], dtype=np.int32)
        self.lists.unite(other.lists, recode)
        self.together.unite(other.together)
        self.merger.unite(other.merger, recode, len(self.items))
        self.votes += other.votes
        return self

    @property
    def holds_rankings(self) -> bool:
        """Whether what was read are rankings."""
        return self.layout is not None and self.layout.form == "ranking"

    def result(self) -> dict[str, Any]:
        """Keyword arguments of `Comparisons` for all votes taken; of `Rankings` where they are rankings."""
        if self.holds_rankings:
            return self._rankings()
        return self._arguments(self._merged(), self.items.labels)

    def result_by(self) -> dict[Any, dict[str, Any]]:
        """The same for each value of the column `by`, each with the items it names, in order of appearance."""
        if self.holds_rankings:
            return self._rankings_by()
        merged = self._merged()
        by, labels = merged.pop("by"), self.items.labels
        parts: dict[Any, dict[str, Any]] = {}
        lacking = 0
        for code, value in enumerate(self.bys.labels):
            chosen = np.flatnonzero(by == code)
            if is_missing(value):
                lacking += int(merged["count"][chosen].sum()) if "count" in merged else len(chosen)
            elif len(chosen):
                part = {name: column[chosen] for name, column in merged.items()}
                both = np.column_stack([part["left"], part["right"]]).ravel()  # row by row, left before right
                codes, kept = encode(both)
                part["left"], part["right"] = np.ascontiguousarray(codes[0::2]), np.ascontiguousarray(codes[1::2])
                parts[value] = self._arguments(part, tuple(labels[k] for k in kept))  # type: ignore[call-overload]
        if lacking:
            assert self.layout is not None
            if not parts:
                raise InputError(f"column {self.layout.by!r} is empty in every row; leave ", Option("by"), " out")
            words = f"{counted(lacking, 'vote')} without a {self.layout.by!r}, left out"
            warnings.warn(words, DataWarning, stacklevel=4)
        return parts

    def _merged(self) -> Piece:
        merged = self.merger.result()
        if merged is None:
            assert self.layout is not None
            what = "no rows: there is nothing to rank" if not self.votes else "every row has weight 0"
            if self.is_log and self.votes:
                what = "no row counts: all are skipped, undone, of excluded judges or of withdrawn items"
            with located(self.place if self.place != "the frame before" else ""):
                raise InputError(what)
        self._warn_of_labels()
        return merged

    def _warn_of_labels(self) -> None:
        for what, numbering in (("items", self.items), ("judges", self.judges), ("groups", self.groups)):
            _warn_of_blanks(what, numbering.labels)

    def _listed(self) -> Piece:
        """All rankings, with their judges, groups and parts."""
        if not len(self.lists):
            with located(self.place if self.place != "the frame before" else ""):
                raise InputError("no rows: there is nothing to rank")
        rows = [rows["row"] for rows in self.lists.rows]
        number = np.concatenate(rows) if rows else np.empty(0, np.int64)

        def fail(index: int, message: str) -> NoReturn:
            parts = self.lists.rows
            item, judge, file = (
                int(np.concatenate([part[name] for part in parts])[index]) for name in ("item", "judge", "file")
            )
            at = f"{prefix(self._files[file])}row {int(number[index]) + 1}: "
            if message != "twice":
                raise InputError(f"{at}{message}")
            twice = f"{at}{self.items.labels[item]!r} is ranked twice by {self.judges.labels[judge]!r}; remove one"
            if "group" in parts[0]:
                raise InputError(twice)
            raise InputError(twice, ", or tell several rankings of one apart by ", Option("group", column=True))

        columns = self.lists.columns(fail)
        self._warn_of_labels()
        self.together.refuse(self.items.labels)
        self.together.warn(stacklevel=5)
        if not columns["tied"].any():
            del columns["tied"]
        return columns

    def _rankings(self) -> dict[str, Any]:
        columns: dict[str, Any] = self._listed()
        columns.pop("by", None)
        return {"items": self.items.labels, "unranked": self.unranked, **columns, **self._beside(columns)}

    def _beside(self, columns: dict[str, Any]) -> dict[str, Any]:
        known = {"judge": self.judges, "group": self.groups}
        return {f"{name}s": numbering.labels for name, numbering in known.items() if name in columns}

    def _rankings_by(self) -> dict[Any, dict[str, Any]]:
        """The rankings of each value of `by`, each with the items it names, in order of appearance."""
        columns: dict[str, Any] = self._listed()
        by, start, labels = columns.pop("by"), columns["start"], self.items.labels
        size = np.diff(start)
        parts: dict[Any, dict[str, Any]] = {}
        for code, value in enumerate(self.bys.labels):
            chosen = by == code
            if not chosen.any():
                continue
            places = np.repeat(chosen, size)
            part = {
                name: column[places if name in ("item", "tied") else chosen]
                for name, column in columns.items()
                if name != "start"
            }
            part["start"] = np.concatenate([[0], np.cumsum(size[chosen])]).astype(np.int64)
            part["item"], kept = encode(part["item"]) if len(part["item"]) else (part["item"], ())
            items = tuple(labels[code] for code in kept)  # type: ignore[call-overload]
            parts[value] = {"items": items, "unranked": self.unranked, **part, **self._beside(part)}
        return parts

    def _arguments(self, columns: Piece, items: tuple[Any, ...]) -> dict[str, Any]:
        layout = self.layout
        assert layout is not None
        ordered = not self.merger.merge and "count" not in columns
        arguments: dict[str, Any] = {"items": items, **columns, "sided": layout.form != "winner", "ordered": ordered}
        arguments["sided"] &= not self.merger.fold
        arguments.pop("by", None)
        if layout.time:
            arguments["time_is"] = self.times.kind
        if layout.judge:
            arguments["judges"] = self.judges.labels
        if layout.group:
            arguments["groups"] = self.groups.labels
        if layout.covariates:
            arguments["covariate_names"] = tuple(layout.covariates)
            if self.style:
                arguments["covariates"] = _standardised(columns, arguments["covariate_names"])
        return arguments

    def same_kind(self, column: str, kind: str, where: str) -> None:
        """A label that is a number in one file and text in another is an error that names both."""
        known, place = self._kinds.setdefault(column, (kind, where))
        if known != kind:
            raise InputError(
                f"column {column!r} holds {known} in {place or 'one part'} and {kind} in {where or 'another'}, "
                "so labels cannot be matched; save both alike"
            )


class _Batch:
    """One piece of a frame on its way: reads each role, checks it, and says where it went wrong."""

    def __init__(
        self,
        collector: Collector,
        layout: Layout,
        frame: pl.DataFrame,
        where: str,
        row: int,
        kept: NDArray[np.intp] | None = None,
    ) -> None:
        self.collector, self.layout, self.frame, self.where, self.row = collector, layout, frame, where, row
        self.kept = kept  # the rows of the file that these are, where some were left out

    def read(self) -> Piece:
        """The columns of this piece as arrays, by role; what the frame does not have is left out."""
        import polars as pl

        layout, collector = self.layout, self.collector
        left, right = self.pair()
        piece: Piece = {"left": left, "right": right}
        for role, name, numbering in (
            ("judge", layout.judge, collector.judges),
            ("group", layout.group, collector.groups),
            ("by", layout.by, collector.bys),
        ):
            if name:
                piece[role] = self.labels(name, numbering, required=role != "by")
        if layout.weight:
            piece["weight"] = self.number(layout.weight, least=0.0)
        if layout.count:
            piece["count"] = self.whole(layout.count)
        if layout.margin:
            piece["margin"] = self.number(layout.margin, most=MAX_MARGIN)
        if layout.left_goals:
            piece["margin"] = self.goals()
        if layout.time:
            piece["time"] = collector.times.read(self.frame[layout.time], self.fail, self.where)
        if layout.covariates:
            piece["covariates"] = np.column_stack([self.covariate(names) for names in layout.covariates.values()])
        if layout.form == "counts":
            return self.outcome_rows(piece)
        if layout.form == "flags":
            piece["outcome"] = self.flags()
        elif layout.form in ("margin", "goals"):
            piece["outcome"] = np.sign(piece["margin"]).astype(np.int8)
        elif layout.outcome:
            column = self.frame[layout.outcome]
            if column.dtype.is_decimal():
                column = column.cast(pl.Float64)
            column = as_labels(column, self.fail, prefix(self.where))
            piece["outcome"] = collector.outcomes.read(column, left, right, layout, self.fail)
            if layout.left_goals:
                self.refuse_other_goals(piece)
        return piece

    def lists(self) -> None:
        """The rankings of this piece, each with its weight, judge and part, into the store."""
        layout, collector = self.layout, self.collector
        if layout.rank:
            collector.lists.rows.append(self.long_rows())
            return
        times: NDArray[np.int64] | None = self.whole(layout.count) if layout.count else None
        piece: ListPiece = self.placed() if layout.places else self.ranked() if layout.ranks else self.orders(times)
        piece.beside = self.beside()
        if times is not None:
            row = np.repeat(np.arange(len(times)), times)
            start = np.cumsum(piece.size) - piece.size
            size = piece.size[row]
            places = np.repeat(start[row] - (np.cumsum(size) - size), size) + np.arange(int(size.sum()))
            beside = {name: values[row] for name, values in piece.beside.items()}
            piece = ListPiece(piece.item[places], size, piece.tied[places], beside)
        collector.lists.pieces.append(piece)

    def beside(self) -> Piece:
        """What stands beside a ranking."""
        layout, collector = self.layout, self.collector
        found: Piece = {}
        for role, name, numbering in (
            ("judge", layout.judge, collector.judges),
            ("group", layout.group, collector.groups),
            ("by", layout.by, collector.bys),
        ):
            if name:
                found[role] = self.labels(name, numbering)
        if layout.weight:
            found["weight"] = self.number(layout.weight, least=0.0)
        return found

    def orders(self, times: NDArray[np.int64] | None) -> ListPiece:
        """A column of whole orders."""
        import polars as pl

        layout, collector = self.layout, self.collector
        rankings = listed_items(self.frame[layout.left], self.fail)
        if self.frame[layout.left].dtype == pl.String:
            collector.together.add([_untied(each) for each in rankings], self.frame[layout.left].to_list())
        flat = [_untied(ranking) for ranking in rankings]
        size = np.array([len(items) for items in flat], np.int64)
        if times is not None:
            self.refuse_many(size * (size - 1) // 2, times)
        items = [item for ranking in flat for item in ranking]
        codes = np.empty(0, np.int32)
        if items:
            codes = collector.items.single(self.as_labels(pl.Series(layout.left, items, strict=False)))
        tied = [
            int(k > 0) for ranking in rankings for place in ranking for k in range(len(place) if _is_tie(place) else 1)
        ]
        return ListPiece(codes, size, np.array(tied, dtype=np.uint8))

    def placed(self) -> ListPiece:
        """A column for each place, holding items."""
        names, items = self.layout.places, self.collector.items
        codes = np.empty((self.frame.height, len(names)), np.int32)
        for k, name in enumerate(names):
            known = len(items)
            codes[:, k] = items.single(self.label_column(name))
            blank = [known + j for j, label in enumerate(items.labels_from(known)) if is_missing(label)]
            if blank:
                self.fail(
                    int(np.flatnonzero(np.isin(codes[:, k], blank))[0]),
                    f"{name!r} holds blanks only; leave the cell empty, or name an item",
                )
        return from_places(codes, names, lambda code: items.labels[code], self.fail)

    def ranked(self) -> ListPiece:
        """A column for each item, holding its rank."""
        import polars as pl

        names = self.layout.ranks
        codes = self.collector.items.single(pl.Series("item", list(names)))
        ranks = np.column_stack([self.rank_column(name) for name in names])
        return from_ranks(ranks, codes, names, self.fail)

    def rank_column(self, name: str, *, empty: bool = True) -> NDArray[np.float64]:
        """Ranks, NaN where a cell is empty; what is no number is refused."""
        column = self.frame[name]
        read = as_numbers(column, self.fail, prefix(self.where))
        values: NDArray[np.float64] = read.fill_null(np.nan).to_numpy().copy()
        for row in np.flatnonzero(~np.isfinite(values)).tolist():
            value = column[row]
            value = value.decode() if isinstance(value, bytes) else value
            if not is_missing(value):
                self.fail(row, f"{name!r} is {value!r}, which is no rank; ranks are whole numbers from 1 up")
            if not empty:
                self.fail(row, f"{name!r} is empty; give the rank, or remove the row")
            values[row] = np.nan
        return values

    def long_rows(self) -> Piece:
        """A row for each item ranked: what is needed to put the rankings together when all rows are there."""
        layout, collector = self.layout, self.collector
        assert layout.rank is not None, "a long table has ranks"
        rank = self.rank_column(layout.rank)
        beside = self.beside()
        item = self.labels(layout.left, collector.items)
        bad = np.flatnonzero((rank < 1) | (rank != np.floor(rank)) & ~np.isnan(rank))
        if len(bad):
            label = collector.items.labels[int(item[bad[0]])]
            wanted = "ranks are whole numbers from 1 up, empty where there is none"
            self.fail(int(bad[0]), f"{label!r} has rank {rank[bad[0]]:g}; {wanted}")
        row = np.arange(self.row, self.row + len(rank), dtype=np.int64)
        if self.where not in collector._files:
            collector._files.append(self.where)
        file = np.full(len(rank), collector._files.index(self.where))
        listed = ~np.isnan(rank)
        columns: Piece = {"item": item, "rank": rank, "row": row, "file": file, **beside}
        return {name: values[listed] for name, values in columns.items()}

    def refuse_many(self, pairs: NDArray[np.int64], times: NDArray[np.int64]) -> None:
        """Copies of a ranking are clusters of their own and stand in memory one by one, so there is an end to them."""
        collector = self.collector
        many = np.cumsum(pairs.astype(np.float64) * times) + collector.pairs
        if len(many) and many[-1] > MAX_PAIRS and self.layout.count:
            row = int(np.argmax(many > MAX_PAIRS))
            self.fail(
                row,
                f"with {self.layout.count} {times[row]} the rankings make {many[row]:.3g} pairs, more than "
                f"{MAX_PAIRS:g}, and each copy is kept; divide all counts by one number, or give them as weight=",
            )
        collector.pairs = many[-1] if len(many) else collector.pairs

    def pair(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        names, items = (self.layout.left, self.layout.right), self.collector.items
        one, other = (self.label_column(name) for name in names)
        if kind_of(one) != kind_of(other):
            raise InputError(
                f"{prefix(self.where)}columns {names[0]!r} and {names[1]!r} hold labels of different kinds "
                f"({kind_of(one)} and {kind_of(other)}); make both text or both numbers"
            )
        known = len(items)
        left, right = items.pair(one, other)
        self.present(dict(zip(names, (left, right), strict=True)), items, known)
        same = np.flatnonzero(left == right)
        if len(same):
            self.fail(int(same[0]), f"{items.labels[left[same[0]]]!r} is compared with itself; remove the row")
        return left, right

    def labels(self, name: str, numbering: Numbering, required: bool = True) -> NDArray[np.int32]:
        """Codes of a column; an empty cell is an error, or where that is allowed a label of its own."""
        known, column = len(numbering), self.label_column(name)
        if not required:
            return numbering.with_missing(column)
        codes = numbering.single(column)
        self.present({name: codes}, numbering, known)
        return codes

    def label_column(self, name: str) -> pl.Series:
        return self.as_labels(self.frame[name])

    def as_labels(self, column: pl.Series) -> pl.Series:
        """The column as numbers or text, whichever it was in the files before."""
        column = as_labels(column, self.fail, prefix(self.where))
        self.collector.same_kind(column.name, kind_of(column), self.where)
        return column

    def present(self, columns: dict[str, NDArray[np.int32]], numbering: Numbering, known: int) -> None:
        """Every row has a label: not null, not NaN, not blank. Only labels new to this piece need a look."""
        blank = [known + k for k, label in enumerate(numbering.labels_from(known)) if is_missing(label)]
        for name, codes in columns.items():
            if not blank and codes.min() >= 0:
                continue
            bad = np.flatnonzero(np.isin(codes, [-1, *blank]))
            if len(bad):
                self.fail(int(bad[0]), f"column {name!r} is empty; give every row a label or remove the row")

    def number(
        self, name: str, least: float = -np.inf, most: float = np.inf, *, structures: bool = False
    ) -> NDArray[np.float64]:
        """A column of finite numbers, at least `least`, of size at most `most`; with `structures`, sums of counts."""
        column = self.frame[name]
        if structures and column.dtype.is_nested():
            column = summed(column, prefix(self.where))
        read = as_numbers(column, self.fail, prefix(self.where))
        values: NDArray[np.float64] = read.fill_null(np.nan).to_numpy()
        bad = np.flatnonzero(~(np.isfinite(values) & (values >= least) & (np.abs(values) <= most)))
        if len(bad):
            value = column[int(bad[0])]
            value = value.decode() if isinstance(value, bytes) else value
            what = "is missing" if is_missing(value) else f"is {value}"
            wanted = "a finite number" if least == -np.inf else f"a finite number, {least:g} or more"
            wanted += "" if most == np.inf else f" between -{most:g} and {most:g}"
            if isinstance(value, str) and is_decimal_comma(value):
                wanted = f"{value.strip().replace(',', '.')}, with a point"
            self.fail(int(bad[0]), f"{name} {what}; give {wanted}")
        return values

    def whole(self, name: str) -> NDArray[np.int64]:
        """A column of counts: whole numbers, 0 or more."""
        values = self.number(name, least=0.0)
        bad = np.flatnonzero(values != np.floor(values))
        if len(bad):
            self.fail(int(bad[0]), f"{name} is {values[bad[0]]:g}; a count is a whole number, 0 or more")
        bad = np.flatnonzero(values >= MAX_COUNT)
        if len(bad):
            self.fail(int(bad[0]), f"{name} is {values[bad[0]]:g}, too many to count exactly; give less than 2**53")
        return values.astype(np.int64)

    def covariate(self, names: tuple[str, ...]) -> NDArray[np.float64]:
        """One column that holds left minus right, or two whose difference is taken."""
        arena = self.collector.style == "arena"
        first, *second = (self.number(name, least=0.0 if arena else -np.inf, structures=True) for name in names)
        if arena:
            return (first - second[0]) / (first + second[0] + 1)
        return first - second[0] if second else first

    def flags(self) -> NDArray[np.int8]:
        """Three columns of which exactly one is 1 (or true)."""
        table = np.column_stack([self.number(name, least=0.0) for name in self.layout.flags])
        bad = np.flatnonzero(~(np.isin(table, (0, 1)).all(axis=1) & (table.sum(axis=1) == 1)))
        if len(bad):
            shown = ", ".join(f"{name} {value:g}" for name, value in zip(self.layout.flags, table[bad[0]], strict=True))
            self.fail(int(bad[0]), f"{shown}; exactly one of them must be 1")
        return (table[:, 0] - table[:, 1]).astype(np.int8)

    def goals(self) -> NDArray[np.float64]:
        """What left scored more than right."""
        names = (self.layout.left_goals, self.layout.right_goals)
        one, other = (self.number(str(name), most=MAX_MARGIN) for name in names)
        for name, goals in zip(names, (one, other), strict=True):
            bad = np.flatnonzero(goals < 0)
            if len(bad):
                self.fail(int(bad[0]), f"{name} is {goals[bad[0]]:g}; what a side scored is 0 or more")
        return one - other

    def refuse_other_goals(self, piece: Piece) -> None:
        """A result and the goals of one game say the same, or one of them is wrong."""
        layout = self.layout
        bad = np.flatnonzero(np.sign(piece["margin"]) != piece["outcome"])
        if not len(bad):
            return
        row = int(bad[0])
        names = (layout.outcome, layout.left_goals, layout.right_goals)
        told = ", ".join(f"{name} {self.frame[str(name)][row]}" for name in names)
        self.fail(row, f"{told} do not agree; correct the row, or leave the goals out with left_goals=False")

    def outcome_rows(self, piece: Piece) -> Piece:
        """A row of counts becomes a row for each outcome that occurred, in the order left, right, tie."""
        names = [name for name in (self.layout.left_wins, self.layout.right_wins, self.layout.ties) if name]
        table = np.column_stack([self.whole(name) for name in names])
        row, kind = np.nonzero(table)
        rows = {name: column[row] for name, column in piece.items()}
        rows["outcome"] = np.array([1, -1, 0], np.int8)[kind]
        rows["count"] = table[row, kind]
        return rows

    def fail(self, index: int, message: str) -> NoReturn:
        row = index if self.kept is None else int(self.kept[index])
        raise InputError(f"{prefix(self.where)}row {self.row + row + 1}: {message}")


def _is_tie(place: Any) -> bool:
    """Whether a place of a ranking is shared."""
    return isinstance(place, list)


def _untied(ranking: list[Any]) -> list[Any]:
    """The items of a ranking, whether they share a place or not."""
    return [item for place in ranking for item in (place if _is_tie(place) else [place])]


def _warn_of_blanks(what: str, labels: tuple[Hashable, ...]) -> None:
    """Labels are taken as they are; two that differ in blanks around them are more likely one."""
    padded = [label for label in labels if isinstance(label, str) and label != label.strip()]
    if not padded:
        return
    bare: dict[str, list[str]] = {}
    for label in labels:
        if isinstance(label, str):
            bare.setdefault(label.strip(), []).append(label)
    alike = [twins for twins in bare.values() if len(twins) > 1]
    if alike:
        named = "; ".join(" and ".join(map(repr, twins)) for twins in alike[:3]) + ("; …" if len(alike) > 3 else "")
        text = f"{what} that differ only in blanks around them are kept apart: {named}; strip them if they are the same"
        warnings.warn(text, DataWarning, stacklevel=5)


def kind_of(column: pl.Series) -> str:
    """What an error calls the values of a column of labels."""
    return "numbers" if column.dtype.is_numeric() else "text"


def prefix(where: str) -> str:
    """The start of a message about a file, if it has a name."""
    return f"{where}, " if where else ""


def _that_count(column: pl.Series) -> NDArray[np.intp]:
    """The rows of a campaign's log that count: neither skips, nor undone, nor of an excluded judge."""
    import polars as pl

    if column.dtype == pl.String:
        column = column.str.strip_chars().str.to_lowercase() == "true"
    return np.flatnonzero(column.fill_null(False).cast(pl.Boolean).to_numpy())


def _refuse_style(layout: Layout) -> None:
    """Where the two sides are not known apart, nothing can be done as the arena does it."""
    if layout.form in ("winner", "ranking"):
        raise InputError(Option("style", "arena"), " is about a left and a right side; give votes as model_a, model_b")
    for name, columns in layout.covariates.items():
        if len(columns) == 1:
            raise InputError(
                Option("style", "arena"), f" needs both sides of a covariate, and {name!r} is one column; "
                f"give {name}_a and {name}_b",
            )  # fmt: skip


def _standardised(columns: Piece, names: tuple[str, ...]) -> NDArray[np.float64]:
    """Covariates less their mean over the votes, divided by their standard deviation."""
    table = columns["covariates"]
    votes = columns["count"] if "count" in columns else np.ones(len(table))
    mean = np.average(table, axis=0, weights=votes)
    sd = np.sqrt(np.average((table - mean) ** 2, axis=0, weights=votes))
    for name, spread in zip(names, sd.tolist(), strict=True):
        if not spread > 1e-12:
            raise InputError(f"covariate {name!r} is the same in every vote, so it has no effect to find; leave it out")
    standardised: NDArray[np.float64] = (table - mean) / sd
    return standardised


def _batches(chosen: pl.DataFrame | pl.LazyFrame) -> Iterator[pl.DataFrame]:
    """Some rows at a time, in their order."""
    import polars as pl

    if isinstance(chosen, pl.DataFrame):
        yield from chosen.iter_slices(BATCH)
    else:
        yield from chosen.collect_batches(chunk_size=BATCH, maintain_order=True, engine="streaming")


class located:
    """Names the file in an error raised inside the block."""

    def __init__(self, where: str) -> None:
        self.where = where

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, problem: BaseException | None, trace: Any) -> None:
        if self.where and isinstance(problem, InputError):
            raise InputError(f"{self.where}: ", *problem.args) from None
