"""What must be known of tables before a grader learns from them: their grades, features, scale and landmarks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from podium.errors import InputError, Option
from podium.ordinal.forms import declared_order
from podium.ordinal.grading.landmarks import RowSample
from podium.ordinal.grading.running import RunningScale
from podium.ordinal.grading.tables import FeatureColumns, GradeColumns, column, pieces
from podium.ordinal.labels import Array, grades_of

if TYPE_CHECKING:
    import polars as pl

__all__ = ["MAX_FEATURE", "Progress", "Reading", "Survey", "once_only", "silently"]

MAX_FEATURE = 1e150  # its square is a number still

# Called with what is being done; the block is handed a function that it calls with the rows done.
Progress: TypeAlias = Callable[[str], AbstractContextManager[Callable[[int], object]]]


@contextmanager
def silently(what: str) -> Iterator[Callable[[int], object]]:
    """Report nothing."""
    yield lambda rows: None


@dataclass
class Survey:
    """What a pass before learning tells: grades, features, their scale, and rows to be landmarks."""

    grades: Array | None = None
    declared: Array | None = None
    table: FeatureColumns | None = None
    scale: RunningScale | None = None
    sample: Array | None = None


@dataclass
class Reading:
    """The tables of `fit` and how they are to be read."""

    tables: Any
    where: GradeColumns
    one_hot: bool
    missing: str
    no_header: bool
    rbf: int | None
    rng: np.random.Generator

    def survey(self, progress: Progress, known: Array | None) -> Survey:
        """One pass for what must be known before learning; another before it for the values of columns of text."""
        survey, sample = Survey(), RowSample(self.rbf or 0, self.rng)
        if self.one_hot:
            with progress("looking for the values of text columns") as advance:
                survey.table = self._columns(pieces(self.tables, no_header=self.no_header), advance)
        with progress("looking for grades" if known is None else "looking at the features") as advance:
            for row, frame in pieces(self.tables, no_header=self.no_header):
                if row == 0:
                    survey.table = survey.table or FeatureColumns(tuple(self.where.features(frame)))
                    survey.scale = RunningScale.empty(len(survey.table.names))
                    if known is None:
                        survey.declared = declared_order(*(column(frame, end) for end in self.where.ends))
                assert survey.table is not None
                assert survey.scale is not None
                X = self._sound(survey.table.values(frame, row), frame, row)
                survey.scale.add(X)
                sample.add(X)
                if known is None:
                    grades = self.where.grades_in(frame)
                    survey.grades = grades_of(*_there(survey.grades), *grades) if grades else survey.grades
                advance(len(frame))
        survey.sample = sample.rows if self.rbf else None
        return survey

    def _sound(self, X: Array, frame: pl.DataFrame, row: int) -> Array:
        """The rows that will be learned from; a bad one is named when it is its turn."""
        good = ~(np.abs(X) >= MAX_FEATURE).any(axis=1)
        if self.missing == "error":
            good &= ~np.isnan(X).any(axis=1)
        weight = self.where.weights(frame, row)
        return X[good if weight is None else good & (weight > 0)]

    def _columns(self, frames: Iterator[tuple[int, pl.DataFrame]], advance: Callable[[int], object]) -> FeatureColumns:
        first = next(frames, None)
        if first is None:
            raise InputError("the table has no rows, so there is nothing to learn from")

        def each() -> Iterator[pl.DataFrame]:
            for _, frame in chain([first], frames):
                yield frame
                advance(len(frame))

        return FeatureColumns.of(each(), self.where.features(first[1], one_hot=True))

    def begin(self, survey: Survey, frame: pl.DataFrame) -> tuple[FeatureColumns, RunningScale]:
        """Features and scale for tables like this one; what no survey has seen is taken from these rows alone."""
        table = survey.table
        if table is None and self.one_hot:
            table = self._columns(iter([(0, frame)]), lambda rows: None)
        table = table or FeatureColumns(tuple(self.where.features(frame)))
        scale = survey.scale or RunningScale.empty(len(table.names))
        if self.rbf:
            if survey.scale is None:
                X = self._sound(table.values(frame), frame, 0)
                scale.add(X)
                sample = RowSample(self.rbf, self.rng)
                sample.add(X)
                survey.scale, survey.sample = scale, sample.rows
            if survey.sample is None or len(survey.sample) < 2:
                raise InputError(Option("rbf", self.rbf), ": there are too few rows to learn from; give more")
        return table, scale


def _there(grades: Array | None) -> list[Array]:
    return [] if grades is None else [grades]


def once_only(tables: Any) -> bool:
    """Whether the tables can be read only once: an open file, or standard input."""
    each = list(tables) if isinstance(tables, list | tuple) else [tables]
    return any(hasattr(one, "read") or (isinstance(one, str) and one == "-") for one in each)
