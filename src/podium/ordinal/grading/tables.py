"""Tables of examples with grades: which columns hold grades, labels and features, read piece by piece."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from podium.data.validation import floats_of
from podium.errors import InputError, Option
from podium.ordinal.forms import number_of
from podium.ordinal.labels import Array, grades_of, read_labels

if TYPE_CHECKING:
    import polars as pl

__all__ = ["FeatureColumns", "GradeColumns", "column", "grades_of_bins", "pieces", "upper_ends"]

MAX_GRADES_FOUND = 100  # more different values are a quantity, not grades
MAX_LEVELS = 100  # more different texts are names, not kinds


@dataclass(frozen=True, slots=True)
class GradeColumns:
    """Where a table keeps its grades: in one column, or as the two ends of a range; and which columns are labels."""

    ends: tuple[str, ...]
    ids: tuple[str, ...] = ()
    weight: str | None = None
    bins: tuple[float, ...] = ()  # upper ends of all grades but the last, where grades are ranges of a number

    @classmethod
    def named(
        cls,
        label: str | None = None,
        low: str | None = None,
        high: str | None = None,
        id: str | Sequence[str] = (),
        weight: str | None = None,
        bins: tuple[float, ...] = (),
    ) -> GradeColumns:
        """Check that the names make sense together: a label, or both ends of a range."""
        if weight is not None and (not isinstance(weight, str) or weight in (label, low, high)):
            raise InputError(Option("weight", weight), ": name the column of the rows' weights, and no other")
        if not isinstance(id, str) and not (isinstance(id, Sequence) and all(isinstance(name, str) for name in id)):
            raise InputError(Option("id", id), ": name a column, or several in a list")
        ids = (id,) if isinstance(id, str) else tuple(dict.fromkeys(id))
        return cls(_ends(label, low, high), ids, weight, bins)

    @property
    def others(self) -> set[str]:
        """The columns that are no features."""
        return {*self.ends, *self.ids, *([] if self.weight is None else [self.weight])}

    def features(self, frame: pl.DataFrame, *, one_hot: bool = False) -> list[str]:
        """All other columns, which must hold numbers, or with `one_hot` text."""
        from podium.data.files import feature_columns, is_number
        from podium.data.tables.values import odd_one_out

        for name in (*self.ends, *self.ids, *([] if self.weight is None else [self.weight])):
            column(frame, name)
        text = [name for name in frame.columns if not is_number(frame.schema[name]) and name not in self.others]
        kinds = [name for name in text if _is_text(frame[name])]
        for odd in (odd_one_out(frame[name]) for name in kinds):
            if odd:
                raise InputError(f"{odd}; correct it, or empty the cell and set ", Option("missing", "mean"))
        if kinds and not one_hot:
            raise InputError(
                f"column {kinds[0]!r} is not numeric; leave it out by ", Option("id", kinds[0]), ", or set ",
                Option("one_hot", True), " to give each of its values a column", *_header_hint(frame),
            )  # fmt: skip
        rest = set(frame.columns) - self.others - set(kinds)
        numbers = feature_columns(frame, {*self.others, *kinds}) if rest or not kinds else []
        return [name for name in frame.columns if name in numbers or name in kinds]

    def weights(self, frame: pl.DataFrame, row: int) -> Array | None:
        """The weight of each row, where a column holds it."""
        from podium.data.files import is_number

        if self.weight is None:
            return None
        cells = column(frame, self.weight)
        if not is_number(cells.dtype):
            raise InputError(Option("weight", self.weight), ": the column is not numeric; a weight is a number from 0")
        weights: Array = cells.cast(_float()).to_numpy()
        bad = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))
        if len(bad):
            shown = "missing" if np.isnan(weights[bad[0]]) else f"{weights[bad[0]]:g}"
            raise InputError(f"row {row + bad[0] + 1}: the weight {self.weight!r} is {shown}; give a number from 0 up")
        return weights

    def labels(self, frame: pl.DataFrame, grades: Any) -> list[Array]:
        """The grades, or the two ends, as arrays; text becomes numbers where `grades` are numbers."""
        import polars as pl

        arrays = []
        for end in self.ends:
            cells = _label_column(frame, end)
            if self.bins:
                arrays.append(_binned(cells, self.bins))
                continue
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
        if self.bins:
            return []
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
            raise InputError(many, Option("classes"), ", or divide them by ", Option("bins"))
        return grades


@dataclass(frozen=True)
class FeatureColumns:
    """Which columns of a table are features, and how they become numbers."""

    columns: tuple[str, ...]
    levels: dict[str, tuple[str, ...]] = field(default_factory=dict)  # the values of each column of text

    @classmethod
    def of(cls, frames: Iterable[pl.DataFrame], columns: Sequence[str]) -> FeatureColumns:
        """Look for the values of the columns of text."""
        from podium.data.files import is_number

        levels: dict[str, set[str]] = {}
        for frame in frames:
            for name in columns:
                if not is_number(column(frame, name).dtype):
                    texts = levels.setdefault(name, set())
                    texts.update(_text(frame[name]).drop_nulls().unique().to_list())
                    if len(texts) > MAX_LEVELS:
                        raise InputError(
                            f"column {name!r} holds more than {MAX_LEVELS} different texts, too many for a feature; "
                            "leave it out by ", Option("id", name),
                        )  # fmt: skip
        for name, texts in levels.items():
            if not texts:
                raise InputError(f"column {name!r} is empty; leave it out by ", Option("id", name))
        return cls(tuple(columns), {name: tuple(sorted(texts)) for name, texts in levels.items()})

    @property
    def names(self) -> list[str]:
        """Names of the features: a column of text has one for each of its values."""
        named = (
            [f"{each}={value}" for value in self.levels[each]] if each in self.levels else [each]
            for each in self.columns
        )
        return [name for names in named for name in names]

    def column_of(self, feature: int) -> str:
        """The column that a feature comes from."""
        sizes = [len(self.levels.get(name, ("",))) for name in self.columns]
        return self.columns[int(np.searchsorted(np.cumsum(sizes), feature, side="right"))]

    def values(self, frame: pl.DataFrame, row: int = 0) -> Array:
        """The features as doubles; a missing value is NaN, refused with its row when it is used."""
        import polars as pl

        from podium.data.files import is_number

        parts = []
        for name in self.columns:
            cells = column(frame, name)
            if name in self.levels:
                parts += self._indicators(cells, row)
                continue
            if not is_number(cells.dtype) and cells.null_count() < len(cells):
                raise InputError(f"column {name!r} is not numeric here, but the model was fitted on numbers")
            parts.append(cells.cast(pl.Float64).alias(str(len(parts))))
        return np.ascontiguousarray(pl.DataFrame(parts).to_numpy())

    def _indicators(self, cells: pl.Series, row: int) -> list[pl.Series]:
        import polars as pl

        known, text = self.levels[cells.name], _text(cells)
        new = (text.is_not_null() & ~text.is_in(list(known))).arg_true()
        if len(new):
            listed = ", ".join(map(repr, known[:8])) + (" …" if len(known) > 8 else "")
            other = f"row {row + new[0] + 1}: {cells.name!r} is {text[new[0]]!r}; the model knows {listed}"
            raise InputError(f"{other}: leave such rows out, or fit a new model to all rows")
        return [(text == value).cast(pl.Float64).alias(f"{cells.name}={value}") for value in known]

    def refuse_others(self, names: Sequence[str], where: GradeColumns) -> None:
        """Refuse a table to learn on from whose features are others than the model's."""
        lacking = [name for name in self.columns if name not in names]
        more = [name for name in names if name not in self.columns]
        if lacking:
            raise InputError(f"the table lacks {_listed(lacking)}, of which the model has learned; add what is missing")
        if more:
            raise InputError(
                f"the table has {_listed(more)}, which the model does not know; leave it out by ", Option("id", more[0])
            )


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(map(repr, names[:4])) + (f" and {len(names) - 4} more" if len(names) > 4 else "")
    return f"the column{'s' if len(names) > 1 else ''} {shown}"


def pieces(tables: Any, *, no_header: bool = False) -> Iterator[tuple[int, pl.DataFrame]]:
    """The pieces of a table, or of files that are one table, with the number of rows before each."""
    from podium.data.files import scan_table

    row = 0
    frames: Iterable[pl.DataFrame] = scan_table(
        list(tables) if isinstance(tables, tuple) else tables, no_header=no_header
    )
    for frame in frames:
        yield row, frame
        row += len(frame)


def column(frame: pl.DataFrame, name: str) -> pl.Series:
    """A column by its name, which must be there."""
    if name not in frame.columns:
        raise InputError(f"no column {name!r}; found {', '.join(frame.columns)}", *_header_hint(frame))
    return frame[name]


def _header_hint(frame: pl.DataFrame) -> tuple[str | Option, ...]:
    """What to do where the names of columns are numbers with decimals: that is no header."""
    numbers = any(number_of(each) is not None and not each.isdigit() for each in frame.columns)
    return ("; if the file has no header, set ", Option("no_header", True)) if numbers else ()


def _float() -> Any:
    import polars as pl

    return pl.Float64


def _is_text(cells: pl.Series) -> bool:
    import polars as pl

    return isinstance(cells.dtype, pl.Categorical | pl.Enum) or cells.dtype == pl.String


def _text(cells: pl.Series) -> pl.Series:
    """A column of text; empty cells are missing."""
    import polars as pl

    text = cells.cast(pl.String)
    return text.set(text == "", None)


def _ends(label: str | None, low: str | None, high: str | None) -> tuple[str, ...]:
    """The column of the grade, or those of both ends of a range."""
    if label is not None and low is None and high is None:
        return (label,)
    exact, lower, upper = Option("label"), Option("low"), Option("high")
    if label is not None:
        ends = " are the ends of a range; give one or the other"
        raise InputError(exact, " is an exact grade, ", lower, " and ", upper, ends)
    if low is None and high is None:
        raise InputError("say where the grades are by ", exact, ", or by ", lower, " and ", upper, " for ranges")
    if low is None or high is None:
        one, other = (lower, upper) if high is None else (upper, lower)
        raise InputError(one, " is one end of a range; name the other by ", other, " (an empty cell is an open end)")
    if low == high:
        raise InputError(lower, " and ", upper, f" both name {low!r}; for exact grades use ", Option("label", low))
    return low, high


def grades_of_bins(bins: Sequence[float]) -> Array:
    """What the grades are called whose upper ends these are.

    >>> grades_of_bins((7, 9.5)).tolist()
    ['up to 7', 'up to 9.5', 'over 9.5']
    """
    return np.array([*(f"up to {end:.12g}" for end in bins), f"over {bins[-1]:.12g}"])


def _binned(cells: pl.Series, bins: tuple[float, ...]) -> Array:
    """The grade of each number; None where there is none."""
    import polars as pl

    try:
        numbers = cells.cast(pl.Float64).to_numpy()
    except pl.exceptions.PolarsError:
        raise InputError(f"column {cells.name!r} is not numeric; ", Option("bins"), " divide numbers") from None
    if np.isinf(numbers).any():
        raise InputError(f"column {cells.name!r} holds an infinite number; correct it")
    grades = np.empty(len(numbers), dtype=object)
    there = ~np.isnan(numbers)
    grades[there] = grades_of_bins(bins)[np.searchsorted(bins, numbers[there], side="left")]
    return grades


def _label_column(frame: pl.DataFrame, name: str) -> pl.Series:
    """A column of grades: numbers, words or yes and no; decimals become numbers."""
    import polars as pl

    cells = column(frame, name)
    if cells.dtype.is_decimal() or cells.dtype in (pl.Int128, getattr(pl, "UInt128", pl.Int128)):
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


def upper_ends(bins: Any, classes: Any) -> tuple[float, ...]:
    """The upper ends of all grades but the last, checked."""
    if bins is None:
        return ()
    if classes is not None:
        raise InputError(Option("bins"), " make grades, and ", Option("classes"), " name them; give one of them")
    ends = floats_of("bins", bins, (None,))
    if not len(ends) or not np.isfinite(ends).all() or (np.diff(ends) <= 0).any():
        raise InputError(Option("bins", ",".join(f"{end:g}" for end in ends)), ": give increasing numbers, as 7,9,12")
    return tuple(ends.tolist())
