"""Forms of pairwise data: frames, in pieces or whole, become the codes and counts that `Comparisons` holds."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Literal, NoReturn, TypeAlias

import numpy as np
from numpy.typing import NDArray

from podium.data.tables.batch import Batch, Piece, Seen, prefix
from podium.data.tables.columns import Layout, arena_covariates, recognise, refuse_difference
from podium.data.tables.frames import as_polars
from podium.data.tables.labels import encode, encode_pair, is_missing, warn_of_look_alikes, warn_of_placeholders
from podium.data.tables.merging import Merger
from podium.data.tables.nested import nested_names, picked
from podium.errors import DataWarning, InputError, InPython, Option
from podium.text import counted

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Collector", "Keep", "as_polars", "encode", "encode_pair", "read_frame"]

Keep: TypeAlias = Literal["rows", "counts"]

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


class Collector(Seen):
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
        super().__init__(style)
        self.options = columns
        self.unranked = unranked
        self.votes = 0  # rows read, for progress
        self.merger = Merger(merge=keep == "counts", fold=fold_sides, dense_bytes=dense_bytes)
        self.layout: Layout | None = None
        self.is_log = False  # whether the file at hand is the log of a campaign
        self.has_chosen = False  # whether one of such a log was on a pair that earlier answers chose
        self.place = ""  # the frame that settled the layout
        self.held: list[tuple[pl.DataFrame, str, int]] = []  # pieces of a file whose dates a later one may settle

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
            layout = recognise(names, unranked=self.unranked, **self.options | chosen)
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
        of_log = [name for name in ("counts", "kind") if name in names] if self.is_log else []
        return list(dict.fromkeys([*layout.columns, *of_log]))

    def add_batch(self, batch: pl.DataFrame, where: str, row: int) -> None:
        """Take the rows of one piece, which begin after `row` rows of the file `where`; its columns were chosen."""
        assert self.layout is not None
        if not batch.height:
            return
        self.votes += batch.height
        if self.held and self.held[0][1] != where:
            self.release()
        if self.layout.time:
            settled = self.times.settles(batch[self.layout.time], where)
            if not settled or (self.held and where not in self.times.slashes):
                self.held.append((batch, where, row))
                return
        self.release()
        self._take(batch, where, row)

    def release(self) -> None:
        """Take the pieces that were held; where no date of their file tells day from month, they are refused."""
        held, self.held = self.held, []
        for batch, where, row in held:
            self._take(batch, where, row)

    def _take(self, batch: pl.DataFrame, where: str, row: int) -> None:
        assert self.layout is not None
        kept = None
        if self.is_log:
            kept = _that_count(batch["counts"])
            batch = batch[kept]
            self.has_chosen |= "kind" in batch.columns and bool((batch["kind"] == "chosen").any())
        piece = Batch(self, self.layout, batch, where, row, kept)
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
        self.has_chosen |= other.has_chosen
        self.times.unite(other.times)
        if self.held and not (other.held and self.held[0][1] == other.held[0][1] not in self.times.slashes):
            self.release()
        for column, (kind, where) in other.kinds.items():
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
        self.files += [where for where in other.files if where not in self.files]
        recode["file"] = np.array([self.files.index(where) for where in other.files], dtype=np.int32)
        self.lists.unite(other.lists, recode)
        self.together.unite(other.together)
        self.merger.unite(other.merger, recode, len(self.items))
        self.votes += other.votes
        self.held += other.held
        if self.held and self.held[0][1] in self.times.slashes:
            self.release()
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

    def arguments(self, columns: Piece) -> dict[str, Any]:
        """Keyword arguments of `Comparisons` for columns that the merger gave."""
        return self._arguments(columns, self.items.labels)

    def result_by(self) -> dict[Any, dict[str, Any]]:
        """The same for each value of the column `by`, each with the items it names, in order of appearance."""
        if self.holds_rankings:
            return self._rankings_by()
        merged = self._merged()
        by, labels = merged.pop("by"), self.items.labels
        parts: dict[Any, dict[str, Any]] = {}
        problems: dict[Any, tuple[int, InputError]] = {}
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
                try:
                    parts[value] = self._arguments(part, tuple(labels[k] for k in kept))  # type: ignore[call-overload]
                except InputError as problem:
                    votes = int(part["count"].sum()) if "count" in part else len(chosen)
                    problems[value] = votes, problem
        self.leave_out(problems, "vote", bool(parts))
        self._warn_of_lacking(lacking, "vote", bool(parts))
        return parts

    def leave_out(self, problems: dict[Any, tuple[int, InputError]], what: str, others: bool) -> None:
        """Say which parts, of how many votes, cannot be ranked by themselves, and why; if there are no others, fail."""
        assert self.layout is not None
        for value, (many, problem) in problems.items():
            if not others:
                raise problem
            named = f"{self.layout.by} = {value}, {counted(many, what)}, is left out: "
            warnings.warn(DataWarning(named, *problem.args), stacklevel=5)

    def _merged(self) -> Piece:
        self.release()
        self.times.warn_of_zones(5)
        merged = self.merger.result()
        if merged is None:
            assert self.layout is not None
            what = "no rows: there is nothing to rank" if not self.votes else "every row has weight 0"
            if self.is_log and self.votes:
                what = "no row counts: all are skipped, undone, of excluded judges or of withdrawn items"
            with located(self.place if self.place != "the frame before" else ""):
                raise InputError(what)
        self.warn_of_labels()
        if self.has_chosen and (self.layout is None or self.layout.by != "kind"):
            words = "pairs of this campaign were chosen by earlier answers, so intervals of scores are too narrow; "
            words += "rank the campaign itself for places that allow for it, or its rows of kind 'check' alone"
            warnings.warn(DataWarning(words), stacklevel=5)
        return merged

    def warn_of_labels(self) -> None:
        """Say so where two labels are more likely one, or one is more likely none."""
        layout = self.layout
        assert layout is not None, "rows were read"
        for what, numbering in (("items", self.items), ("judges", self.judges), ("groups", self.groups)):
            warn_of_look_alikes(what, numbering.labels, numbering.place, stacklevel=5)
        parts = tuple(None if is_missing(value) else value for value in self.bys.labels)
        warn_of_look_alikes(f"values of {layout.by!r}", parts, self.bys.place, stacklevel=5)
        way_out = "leave it out" if self.holds_rankings and not layout.rank else "remove the row"
        way_out = "leave the cell empty" if layout.places else way_out
        warn_of_placeholders(self.items.labels, self.items.place, way_out, stacklevel=5)

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
            at = f"{prefix(self.files[file])}row {int(number[index]) + 1}: "
            if message not in ("twice", "weight", "by"):
                raise InputError(f"{at}{message}")
            who = repr(self.judges.labels[judge])
            if message == "twice":
                told = f"{at}{self.items.labels[item]!r} is ranked twice by {who}; remove one"
            else:
                column = getattr(self.layout, message)
                told = f"{at}{column!r} is another than in the rows of {who} before; make them alike"
            if "group" in parts[0]:
                raise InputError(told)
            raise InputError(told, ", or tell several rankings of one apart by ", Option("group", column=True))

        columns = self.lists.columns(fail)
        self.warn_of_labels()
        self.together.refuse(self.items.labels)
        self.together.warn(stacklevel=5)
        empty = int(np.count_nonzero(np.diff(columns["start"]) == 0))
        if empty and len(self.items.labels) > 1:  # with fewer there is nothing to rank, which is said
            warnings.warn(f"{counted(empty, 'ranking')} without any item, left out", DataWarning, stacklevel=5)
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
        """The rankings of each value of `by`, each with the items it names, in order of appearance.

        Where items not listed lie below, all were on offer to every part, whether or not one of its rankings lists it.
        """
        columns: dict[str, Any] = self._listed()
        by, start, labels = columns.pop("by"), columns["start"], self.items.labels
        size = np.diff(start)
        parts: dict[Any, dict[str, Any]] = {}
        lacking = 0
        for code, value in enumerate(self.bys.labels):
            chosen = by == code
            if not chosen.any():
                continue
            if is_missing(value):
                lacking += int((chosen & (size > 0)).sum())
                continue
            places = np.repeat(chosen, size)
            part = {
                name: column[places if name in ("item", "tied") else chosen]
                for name, column in columns.items()
                if name != "start"
            }
            part["start"] = np.concatenate([[0], np.cumsum(size[chosen])]).astype(np.int64)
            items = labels
            if self.unranked != "below":
                part["item"], kept = encode(part["item"]) if len(part["item"]) else (part["item"], ())
                items = tuple(labels[code] for code in kept)  # type: ignore[call-overload]
            parts[value] = {"items": items, "unranked": self.unranked, **part, **self._beside(part)}
        self._warn_of_lacking(lacking, "ranking", bool(parts))
        return parts

    def _warn_of_lacking(self, lacking: int, what: str, others: bool) -> None:
        """Say how many have no value of the column that divides them; that all have none is a mistake."""
        if not lacking:
            return
        assert self.layout is not None
        if not others:
            raise InputError(f"column {self.layout.by!r} is empty in every row; leave ", Option("by"), " out")
        words = f"{counted(lacking, what)} without a {self.layout.by!r}, left out"
        warnings.warn(words, DataWarning, stacklevel=5)

    def _arguments(self, columns: Piece, items: tuple[Any, ...]) -> dict[str, Any]:
        layout = self.layout
        assert layout is not None
        ordered = not self.merger.merge and "count" not in columns
        arguments: dict[str, Any] = {"items": items, **columns, "sided": layout.form != "winner", "ordered": ordered}
        arguments["sided"] &= not self.merger.fold
        if layout.in_a_league:
            arguments["vote_is"] = "game"
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
