"""Tables of examples with grades: which columns hold grades, labels and features, read piece by piece."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from podium.errors import InputError, Option
from podium.ordinal.forms import number_of
from podium.ordinal.labels import Array, grades_of, read_labels

if TYPE_CHECKING:
    import polars as pl

__all__ = ["GradeColumns", "column", "pieces", "values"]

MAX_GRADES_FOUND = 100  # more different values are a quantity, not grades


@dataclass(frozen=True, slots=True)
class GradeColumns:
    """Where a table keeps its grades: in one column, or as the two ends of a range; and which columns are labels."""

    ends: tuple[str, ...]
    ids: tuple[str, ...] = ()

    @classmethod
    def named(
        cls, label: str | None = None, low: str | None = None, high: str | None = None, id: str | Sequence[str] = ()
    ) -> GradeColumns:
        """Check that the names make sense together: a label, or both ends of a range."""
        if not isinstance(id, str) and not (isinstance(id, Sequence) and all(isinstance(name, str) for name in id)):
            raise InputError(Option("id", id), ": name a column, or several in a list")
        ids = (id,) if isinstance(id, str) else tuple(dict.fromkeys(id))
        if label is not None and low is None and high is None:
            return cls((label,), ids)
        exact, lower, upper = Option("label"), Option("low"), Option("high")
        if label is None and low is not None and high is not None:
            if low == high:
                raise InputError(
                    lower, " and ", upper, f" both name {low!r}; for exact grades use ", Option("label", low)
                )
            return cls((low, high), ids)
        if label is not None:
            ends = " are the ends of a range; give one or the other"
            raise InputError(exact, " is an exact grade, ", lower, " and ", upper, ends)
        if low is not None or high is not None:
            one, other = (lower, upper) if high is None else (upper, lower)
            raise InputError(
                one, " is one end of a range; name the other by ", other, " (an empty cell is an open end)"
            )
        raise InputError("say where the grades are by ", exact, ", or by ", lower, " and ", upper, " for ranges")

    def features(self, frame: pl.DataFrame) -> list[str]:
        """All other columns, which must hold numbers."""
        from podium.data.files import feature_columns

        for name in (*self.ends, *self.ids):
            column(frame, name)
        return feature_columns(frame, {*self.ends, *self.ids})

    def labels(self, frame: pl.DataFrame, grades: Any) -> list[Array]:
        """The grades, or the two ends, as arrays; text becomes numbers where `grades` are numbers."""
        import polars as pl

        arrays = []
        for end in self.ends:
            cells = _label_column(frame, end)
            if cells.dtype == pl.String and np.asarray(grades).dtype.kind in "iuf":
                numbers = cells.cast(pl.Float64, strict=False)
                cells = numbers if numbers.null_count() == cells.null_count() else cells
            arrays.append(cells.to_numpy())
        return arrays

    def read(self, frame: pl.DataFrame, grades: Array, row: int) -> tuple[Array, Array]:
        """Places of the lowest and highest grade of each row among `grades`."""
        arrays = self.labels(frame, grades)
        ends = (arrays[0], None, None) if len(arrays) == 1 else (None, *arrays)
        lower, upper, _ = read_labels(*ends, classes=grades, rows=len(frame), first=row + 1)
        return lower, upper

    def grades_in(self, frame: pl.DataFrame) -> list[Array]:
        """The grades that occur in each column of grades; without nulls, so that whole numbers stay whole."""
        cells = (_label_column(frame, end).drop_nulls() for end in self.ends)
        return [_distinct(each.to_numpy(), alone=len(self.ends) == 1) for each in cells if len(each)]

    def order(self, grades: Array | None, declared: Array | None) -> Array:
        """The grades from lowest to highest, of those that occur or of the order that a column declares."""
        if grades is None:
            raise InputError(f"no row has a grade in {' or '.join(repr(end) for end in self.ends)}")
        if declared is not None:
            return declared
        if len(grades) < 2:
            raise InputError(f"all rows have the same grade, {grades[0]}; there is nothing to learn")
        if len(grades) > MAX_GRADES_FOUND:
            many = f"{self.ends[0]!r} holds more than {MAX_GRADES_FOUND} different values; name the grades by "
            raise InputError(many, Option("classes"), ", or bin them")
        return grades


def pieces(tables: Any) -> Iterator[tuple[int, pl.DataFrame]]:
    """The pieces of a table, or of files that are one table, with the number of rows before each."""
    from podium.data.files import scan_table

    row = 0
    frames: Iterable[pl.DataFrame] = scan_table(list(tables) if isinstance(tables, tuple) else tables)
    for frame in frames:
        yield row, frame
        row += len(frame)


def column(frame: pl.DataFrame, name: str) -> pl.Series:
    """A column by its name, which must be there."""
    if name not in frame.columns:
        raise InputError(f"no column {name!r}; found {', '.join(frame.columns)}")
    return frame[name]


def values(frame: pl.DataFrame, names: Sequence[str]) -> Array:
    """The features as doubles; a missing value is NaN, refused with its row when it is used."""
    import polars as pl

    from podium.data.files import is_number

    for name in names:
        if not is_number(column(frame, name).dtype):
            raise InputError(f"column {name!r} is not numeric here, but the model was fitted on numbers")
    return np.ascontiguousarray(frame.select(pl.col(name).cast(pl.Float64) for name in names).to_numpy())


def _label_column(frame: pl.DataFrame, name: str) -> pl.Series:
    """A column of grades: numbers, words or yes and no; decimals become numbers."""
    import polars as pl

    cells = column(frame, name)
    if cells.dtype.is_decimal():
        return cells.cast(pl.Float64)
    if isinstance(cells.dtype, pl.Categorical | pl.Enum):
        return cells.cast(pl.String)
    if not cells.dtype.is_numeric() and cells.dtype not in (pl.String, pl.Boolean, pl.Null):
        raise InputError(f"column {name!r} holds {cells.dtype}, but grades are numbers or words")
    return cells


def _distinct(cells: Array, *, alone: bool) -> Array:
    """The grades of a column; in a column of its own "3-4" is a range, and text of numbers is numbers."""
    grades: Array = read_labels(cells)[2] if alone else grades_of(cells)
    numbers = [number_of(grade) for grade in grades.tolist()]
    return np.array(numbers) if grades.dtype.kind == "U" and None not in numbers else grades
