"""One batch of rows: each role of its columns read, checked, and turned into codes and numbers.

Every value is checked here, once: an error names the file, the row (data rows count from 1) and the user's own value.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

import numpy as np
from numpy.typing import NDArray

from podium.data.tables.columns import Layout
from podium.data.tables.labels import Numbering, is_missing
from podium.data.tables.outcomes import Outcomes
from podium.data.tables.rankings import Inseparable, listed_items
from podium.data.tables.surveys import ListPiece, ListStore, from_places, from_ranks, item_names
from podium.data.tables.times import Times
from podium.data.tables.values import as_labels, as_numbers, is_decimal_comma, summed
from podium.data.validation import MAX_MARGIN, MAX_WEIGHT
from podium.errors import InputError, Option
from podium.text import named

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Batch", "Piece", "Seen", "prefix"]

Piece: TypeAlias = dict[str, NDArray[Any]]  # the columns there are, by role

MAX_COUNT = 1 << 53  # from here on not every whole number is a float
MAX_PAIRS = 2e7  # of rankings that count several times


class Seen:
    """What the rows read so far have settled, for all that follow: labels and their numbers, kinds of columns."""

    def __init__(self, style: str | None) -> None:
        self.style = style
        self.items, self.judges, self.groups, self.bys = (Numbering() for _ in range(4))
        self.outcomes = Outcomes(self.items)
        self.times = Times()
        self.lists = ListStore()  # of rankings
        self.pairs = 0.0  # of rankings that count several times, taken so far
        self.together = Inseparable()
        self.files: list[str] = []  # of a long table of rankings
        self.kinds: dict[str, tuple[str, str]] = {}  # column -> text or numbers, and the file that settled it

    def same_kind(self, column: str, kind: str, where: str) -> None:
        """A label that is a number in one file and text in another is an error that names both."""
        known, place = self.kinds.setdefault(column, (kind, where))
        if known != kind:
            raise InputError(
                f"column {column!r} holds {known} in {place or 'one part'} and {kind} in {where or 'another'}, "
                "so labels cannot be matched; save both alike"
            )


class Batch:
    """One piece of a frame on its way: reads each role, checks it, and says where it went wrong."""

    def __init__(
        self,
        seen: Seen,
        layout: Layout,
        frame: pl.DataFrame,
        where: str,
        row: int,
        kept: NDArray[np.intp] | None = None,
    ) -> None:
        self.seen, self.layout, self.frame, self.where, self.row = seen, layout, frame, where, row
        self.kept = kept  # the rows of the file that these are, where some were left out

    def read(self) -> Piece:
        """The columns of this piece as arrays, by role; what the frame does not have is left out."""
        import polars as pl

        layout, seen = self.layout, self.seen
        left, right = self.pair()
        piece: Piece = {"left": left, "right": right}
        for role, name, numbering in (
            ("judge", layout.judge, seen.judges),
            ("group", layout.group, seen.groups),
            ("by", layout.by, seen.bys),
        ):
            if name:
                piece[role] = self.labels(name, numbering, required=role != "by")
        if layout.weight:
            piece["weight"] = self.weights(layout.weight)
        if layout.count:
            piece["count"] = self.whole(layout.count)
        if layout.margin:
            piece["margin"] = self.number(layout.margin, most=MAX_MARGIN)
        if layout.left_goals:
            piece["margin"] = self.goals()
        if layout.time:
            piece["time"] = seen.times.read(self.frame[layout.time], self.fail, self.where)
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
            piece["outcome"] = seen.outcomes.read(column, left, right, layout, self.fail)
            if layout.left_goals:
                self.refuse_other_goals(piece)
        return piece

    def lists(self) -> None:
        """The rankings of this piece, each with its weight, judge and part, into the store."""
        layout, seen = self.layout, self.seen
        if layout.rank:
            seen.lists.rows.append(self.long_rows())
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
        seen.lists.pieces.append(piece)

    def beside(self) -> Piece:
        """What stands beside a ranking."""
        layout, seen = self.layout, self.seen
        piece: Piece = {}
        for role, name, numbering in (
            ("judge", layout.judge, seen.judges),
            ("group", layout.group, seen.groups),
            ("by", layout.by, seen.bys),
        ):
            if name:
                piece[role] = self.labels(name, numbering, required=role != "by")
        if layout.weight:
            piece["weight"] = self.weights(layout.weight)
        return piece

    def orders(self, times: NDArray[np.int64] | None) -> ListPiece:
        """A column of whole orders."""
        import polars as pl

        layout, seen = self.layout, self.seen
        rankings = listed_items(self.frame[layout.left], self.fail)
        if self.frame[layout.left].dtype == pl.String:
            seen.together.add([_untied(each) for each in rankings], self.frame[layout.left].to_list())
        flat = [_untied(ranking) for ranking in rankings]
        size = np.array([len(items) for items in flat], np.int64)
        if times is not None:
            self.refuse_many(size * (size - 1) // 2, times)
        items = [item for ranking in flat for item in ranking]
        codes = np.empty(0, np.int32)
        if items:
            known = len(seen.items)
            codes = seen.items.single(self.as_labels(pl.Series(layout.left, items, strict=False)))
            seen.items.note(known, [codes], self.row_numbers(np.repeat(np.arange(len(size)), size)), self.where)
        tied = [
            int(k > 0) for ranking in rankings for place in ranking for k in range(len(place) if _is_tie(place) else 1)
        ]
        return ListPiece(codes, size, np.array(tied, dtype=np.uint8))

    def placed(self) -> ListPiece:
        """A column for each place, holding items."""
        names, items = self.layout.places, self.seen.items
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
            items.note(known, [codes[:, k]], self.row_numbers(), self.where)
        return from_places(codes, names, lambda code: items.labels[code], self.fail)

    def ranked(self) -> ListPiece:
        """A column for each item, holding its rank."""
        import polars as pl

        names = self.layout.ranks
        codes = self.seen.items.single(pl.Series("item", item_names(names)))
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
        layout, seen = self.layout, self.seen
        assert layout.rank is not None, "a long table has ranks"
        rank = self.rank_column(layout.rank)
        beside = self.beside()
        item = self.labels(layout.left, seen.items)
        bad = np.flatnonzero((rank < 1) | (rank != np.floor(rank)) & ~np.isnan(rank))
        if len(bad):
            label = seen.items.labels[int(item[bad[0]])]
            wanted = "ranks are whole numbers from 1 up, empty where there is none"
            self.fail(int(bad[0]), f"{label!r} has rank {rank[bad[0]]:g}; {wanted}")
        row = np.arange(self.row, self.row + len(rank), dtype=np.int64)
        if self.where not in seen.files:
            seen.files.append(self.where)
        file = np.full(len(rank), seen.files.index(self.where))
        listed = ~np.isnan(rank)
        columns: Piece = {"item": item, "rank": rank, "row": row, "file": file, **beside}
        return {name: values[listed] for name, values in columns.items()}

    def refuse_many(self, pairs: NDArray[np.int64], times: NDArray[np.int64]) -> None:
        """Copies of a ranking are clusters of their own and stand in memory one by one, so there is an end to them."""
        seen = self.seen
        many = np.cumsum(pairs.astype(np.float64) * times) + seen.pairs
        if len(many) and many[-1] > MAX_PAIRS and self.layout.count:
            row = int(np.argmax(many > MAX_PAIRS))
            self.fail(
                row,
                f"with {self.layout.count} {times[row]} the rankings make {many[row]:.3g} pairs, more than "
                f"{MAX_PAIRS:g}, and each copy is kept; divide all counts by one number, or give them as weight=",
            )
        seen.pairs = many[-1] if len(many) else seen.pairs

    def pair(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        names, items = (self.layout.left, self.layout.right), self.seen.items
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
            codes = numbering.with_missing(column)
            numbering.note(known, [codes], self.row_numbers(), self.where)
            return codes
        codes = numbering.single(column)
        self.present({name: codes}, numbering, known)
        return codes

    def label_column(self, name: str) -> pl.Series:
        return self.as_labels(self.frame[name])

    def as_labels(self, column: pl.Series) -> pl.Series:
        """The column as numbers or text, whichever it was in the files before."""
        column = as_labels(column, self.fail, prefix(self.where))
        self.seen.same_kind(column.name, kind_of(column), self.where)
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
        if len(numbering) > known:
            numbering.note(known, list(columns.values()), self.row_numbers(), self.where)

    def row_numbers(self, rows: NDArray[np.intp] | None = None) -> NDArray[np.int64]:
        """The numbers in their file, as people count, of these rows of the piece, or of all."""
        rows = np.arange(self.frame.height) if rows is None else rows
        return self.row + 1 + (rows if self.kept is None else self.kept[rows]).astype(np.int64)

    def number(
        self,
        name: str,
        least: float = -np.inf,
        most: float = np.inf,
        *,
        structures: bool = False,
        lacking: str | None = None,
    ) -> NDArray[np.float64]:
        """A column of finite numbers, at least `least`, of size at most `most`; with `structures`, sums of counts.

        `lacking` says what is wrong with an empty cell, and after a semicolon what to do.
        """
        column = self.frame[name]
        if structures and column.dtype.is_nested():
            column = summed(column, prefix(self.where))
        read = as_numbers(column, self.fail, prefix(self.where))
        values: NDArray[np.float64] = read.fill_null(np.nan).to_numpy()
        bad = np.flatnonzero(~(np.isfinite(values) & (values >= least) & (np.abs(values) <= most)))
        if len(bad):
            value = column[int(bad[0])]
            value = value.decode() if isinstance(value, bytes) else value
            if lacking and is_missing(value):
                empty = np.array([k for k in bad[1:].tolist() if is_missing(column[k])], dtype=np.intp)
                what, way = lacking.split("; ", 1)
                rows = "row" if len(empty) == 1 else "rows"
                more = f", as in {rows} {named(self.row_numbers(empty).tolist())}" if len(empty) else ""
                self.fail(int(bad[0]), f"{name} {what}{more}; {way}")
            what = "is missing" if is_missing(value) else f"is {value}"
            wanted = "a finite number" if least == -np.inf else f"a finite number, {least:g} or more"
            wanted += "" if most == np.inf else f" between -{most:g} and {most:g}"
            if isinstance(value, str) and is_decimal_comma(value):
                wanted = f"{value.strip().replace(',', '.')}, with a point"
            self.fail(int(bad[0]), f"{name} {what}; give {wanted}")
        return values

    def weights(self, name: str) -> NDArray[np.float64]:
        """A column of weights, small enough to be squared and summed."""
        values = self.number(name, least=0.0)
        if len(values) and values.max() > MAX_WEIGHT:
            row = int(values.argmax())
            self.fail(row, f"{name} is {values[row]:g}, too large to be summed; divide all weights by the same")
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
        arena = self.seen.style == "arena"
        least, lacking = (
            0.0 if arena else -np.inf,
            "is missing; fill it in, remove such rows, or leave the covariate out",
        )
        first, *second = (self.number(name, least, structures=True, lacking=lacking) for name in names)
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
        lacking = "is empty; give what the side scored, or remove games that were not played"
        one, other = (self.number(str(name), most=MAX_MARGIN, lacking=lacking) for name in names)
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
        cells = ", ".join(f"{name} {self.frame[str(name)][row]}" for name in names)
        self.fail(
            row,
            f"{cells} do not agree; correct the row, or say that there are no goals by ",
            Option("left_goals", False, column=True),
        )

    def outcome_rows(self, piece: Piece) -> Piece:
        """A row of counts becomes a row for each outcome that occurred, in the order left, right, tie."""
        names = [name for name in (self.layout.left_wins, self.layout.right_wins, self.layout.ties) if name]
        table = np.column_stack([self.whole(name) for name in names])
        row, kind = np.nonzero(table)
        rows = {name: column[row] for name, column in piece.items()}
        rows["outcome"] = np.array([1, -1, 0], np.int8)[kind]
        rows["count"] = table[row, kind]
        return rows

    def fail(self, index: int, *message: Any) -> NoReturn:
        row = index if self.kept is None else int(self.kept[index])
        raise InputError(f"{prefix(self.where)}row {self.row + row + 1}: ", *message)


def _is_tie(place: Any) -> bool:
    """Whether a place of a ranking is shared."""
    return isinstance(place, list)


def _untied(ranking: list[Any]) -> list[Any]:
    """The items of a ranking, whether they share a place or not."""
    return [item for place in ranking for item in (place if _is_tie(place) else [place])]


def kind_of(column: pl.Series) -> str:
    """What an error calls the values of a column of labels."""
    return "numbers" if column.dtype.is_numeric() else "text"


def prefix(where: str) -> str:
    """The start of a message about a file, if it has a name."""
    return f"{where}, " if where else ""
