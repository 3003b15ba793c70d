"""A grader for tables that arrive in pieces: an online classifier, its feature names and a running standardisation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from podium.data.validation import (
    array_of,
    choice_option,
    entries_of,
    flag_option,
    floats_of,
    names_option,
    seed_option,
    whole_option,
)
from podium.errors import InputError, Option
from podium.ordinal.base import weights_of
from podium.ordinal.conformal import check_level, grade_sets, miss
from podium.ordinal.grading.evaluation import Evaluation
from podium.ordinal.grading.landmarks import LandmarkMap
from podium.ordinal.grading.recent import RecentSets
from podium.ordinal.grading.running import RunningScale
from podium.ordinal.grading.survey import MAX_FEATURE, Progress, Reading, Survey, once_only, silently
from podium.ordinal.grading.tables import FeatureColumns, GradeColumns, column, grades_of_bins, pieces, upper_ends
from podium.ordinal.labels import Array, read_labels
from podium.ordinal.passive_aggressive import PassiveAggressiveOrdinal

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Evaluation", "Grader", "RunningScale"]

MAX_LANDMARKS = 5000  # rows of `rbf`
MAX_PRODUCTS = 4_000_000  # of them with rows, that are kept at once
MAX_GAP = 10_000  # grades further apart are no grades of one scale
MIN_RECENT, MAX_RECENT = 200, 4000  # rows kept to set the level of sets: the newer half of all, within these bounds


@dataclass
class Grader:
    """Learns from a table of any length, read piece by piece, and grades others.

    `Grader.fit` reads files; `learn` takes arrays as they come. This is what `podium grade` keeps in its model file.
    With `settled`, the scale was measured in a pass of its own and stays; else each piece is first added to it.

    Examples
    --------
    >>> import io
    >>> table = "size,grade\\n" + "".join(f"{k},{1 + k // 10}\\n" for k in range(30))
    >>> grader = Grader.fit(io.StringIO(table), label="grade", classes=[1, 2, 3])
    >>> grader.features, grader.grades.tolist()
    (['size'], [1, 2, 3])
    >>> grader.evaluate(io.StringIO(table), label="grade").rows
    30
    """

    features: list[str]
    classifier: PassiveAggressiveOrdinal
    scale: RunningScale
    settled: bool = False
    curve: list[tuple[int, float]] = field(default_factory=list)  # rows seen, mean error up to then (see `error`)
    rows: int = 0  # of one pass of `fit`
    # Of the last rows learned, as they were before: score, and codes of the grade predicted and of both ends.
    recent: Array = field(default_factory=lambda: np.empty((4, 0)))
    table: FeatureColumns | None = None  # how tables become features; None: a column each
    missing: str = "error"
    bins: tuple[float, ...] = ()
    landmarks: LandmarkMap | None = None
    last_error: float | None = None  # of the last `partial_fit`

    state_version: ClassVar[int] = 3

    @classmethod
    def upgraded(cls, state: dict[str, Any], version: int) -> dict[str, Any]:
        """Files of version 1 kept no recent rows; those of version 2 knew tables of numbers only."""
        return {"recent": np.empty((4, 0))} | state

    @classmethod
    def empty(cls, features: list[str], classifier: PassiveAggressiveOrdinal) -> Grader:
        """A grader that has learned nothing yet, for `learn`."""
        names = entries_of("features", features, "the names of columns")
        return cls(names, classifier, RunningScale.empty(len(names)))

    @classmethod
    def fit(
        cls,
        tables: Any,
        *,
        label: str | None = None,
        low: str | None = None,
        high: str | None = None,
        id: str | Sequence[str] = (),
        weight: str | None = None,
        classes: Any = None,
        bins: Sequence[float] | None = None,
        one_hot: bool = False,
        missing: str = "error",
        no_header: bool = False,
        variant: str = "pa1",
        C: float | str = "auto",
        rbf: int | None = None,
        passes: int = 1,
        seed: int | None = 0,
        progress: Progress = silently,
    ) -> Grader:
        """Learn from tables: files, or anything that `scan_table` reads; several files are one table.

        Parameters
        ----------
        tables : path, list of paths, or a readable object
            One that can be read once only needs `classes` or `bins`, and one pass.
        label, low, high : str
            The column of the grade, or the columns of the two ends of a range; an empty cell is an open end.
        id : str or list of str
            Columns of labels, which are no features. All other columns are.
        weight : str, optional
            The column of the rows' weights, which multiply C; a row of weight 0 is skipped.
        classes : array-like, optional
            The grades from lowest to highest. Without them one more pass looks for those that occur.
        bins : sequence of numbers, optional
            Divide a column of numbers into grades: (7, 9, 12) makes those up to 7, up to 9, up to 12, and over 12.
        one_hot : bool
            Give each value of a column of text a feature of its own, 0 or 1; else such columns are refused.
        missing : "error" or "mean"
            Refuse missing features, or put the mean of the column in their place.
        no_header : bool
            The files have no header: their columns are called "1", "2", and so on.
        variant, C : see `PassiveAggressiveOrdinal`
        rbf : int, optional
            Bend the boundaries: learn from Gaussian kernels around this many rows, chosen at random (Nyström).
        passes : int
            How often to go over the tables.
        seed : int, optional
            Random seed for the rows of `rbf`.
        progress : callable, optional
            Called with what is being done; returns a context manager that hands out a function of rows done.
        """
        whole_option("passes", passes, least=1)
        _check_options(missing, one_hot, no_header, rbf, weight, variant)
        where = GradeColumns.named(label, low, high, id, weight, upper_ends(bins, classes))
        known = grades_of_bins(where.bins) if where.bins else None if classes is None else array_of(classes, "classes")
        rng = np.random.default_rng(seed_option("seed", seed))
        reading = Reading(tables, where, bool(one_hot), missing, bool(no_header), rbf, rng)
        survey = Survey() if once_only(tables) or (known is not None and not one_hot and not rbf) else None
        if known is None or survey is None:
            survey = reading.survey(progress, known)
        grades = where.order(survey.grades, survey.declared) if known is None else known
        classifier = PassiveAggressiveOrdinal(variant, C=C, classes=grades)
        classifier._check_parameters()
        grader: Grader | None = None
        for number in range(1, passes + 1):
            with progress(f"pass {number} of {passes}") as advance:
                for row, frame in pieces(tables, no_header=reading.no_header):
                    if grader is None:
                        grader = cls._begun(reading, survey, classifier, frame)
                    for start, part in grader._parts(row, frame):
                        grader._learn_frame(part, where, start, fresh=number == 1)
                    advance(len(frame))
            if grader is None or not classifier.n_seen_:
                raise InputError("the table has no rows, so there is nothing to learn from")
            grader.settled = True
            grader.rows = classifier.n_seen_ // number
        assert grader is not None  # there is at least one pass
        if not classifier.n_updates_:
            raise InputError("every range is open at both ends, so there is nothing to learn from")
        return grader

    @classmethod
    def _begun(
        cls, reading: Reading, survey: Survey, classifier: PassiveAggressiveOrdinal, frame: pl.DataFrame
    ) -> Grader:
        """A grader for tables like this one, which has learned nothing yet."""
        table, scale = reading.begin(survey, frame)
        grader = cls(table.names, classifier, scale, table=table, missing=reading.missing, bins=reading.where.bins)
        grader.settled = survey.scale is not None
        if survey.sample is not None:
            grader.landmarks = LandmarkMap.of(grader._mapped(survey.sample))
        return grader

    def partial_fit(
        self,
        tables: Any,
        *,
        label: str | None = None,
        low: str | None = None,
        high: str | None = None,
        id: str | Sequence[str] = (),
        weight: str | None = None,
        classes: Any = None,
        no_header: bool = False,
        passes: int = 1,
        progress: Progress = silently,
    ) -> Grader:
        """Learn on from more tables, with the same features; options as for `fit`.

        The features' scale follows the new rows, while what the model says of a row stays as it was until it learns
        from them. A number below or above all grades becomes a new grade at that end; for words name them all by
        `classes`, with the known ones among them in their order. A row that is refused ends the learning; what was
        learned from the pieces before it stays.
        """
        whole_option("passes", passes, least=1)
        where = GradeColumns.named(label, low, high, id, weight, self.bins)
        if weight is not None and self.classifier.variant == "pa":
            raise InputError(Option("weight"), ": the model was fitted by variant pa, whose updates have no weights")
        if classes is not None:
            self._add_listed(np.atleast_1d(array_of(classes, "classes")).tolist())
        seen, errors = self.classifier.n_seen_, self._errors
        self.settled = self.landmarks is not None
        for number in range(1, passes + 1):
            with progress(f"pass {number} of {passes}") as advance:
                for row, frame in pieces(tables, no_header=flag_option("no_header", no_header)):
                    if row == 0:
                        names = [name for name in frame.columns if name not in where.others]
                        self._table.refuse_others(names, where)
                    if number == 1 and classes is None:
                        self._add_beyond(where.grades_in(frame))
                    for start, part in self._parts(row, frame):
                        self._learn_frame(part, where, start, fresh=number == 1)
                    advance(len(frame))
            self.settled = True
            if number == 1:
                self.rows = self.classifier.n_seen_ - seen
                if not self.rows:
                    raise InputError("the table has no rows, so there is nothing to learn from")
                self.last_error = (self._errors - errors) / self.rows
        return self

    def _pieces(self, tables: Any, no_header: bool) -> Iterator[tuple[int, pl.DataFrame]]:
        for row, frame in pieces(tables, no_header=flag_option("no_header", no_header)):
            yield from self._parts(row, frame)

    def _parts(self, row: int, frame: pl.DataFrame) -> Iterator[tuple[int, pl.DataFrame]]:
        """A piece as it is, or, where every row becomes as many numbers as there are landmarks, some rows at a time."""
        size = len(frame) if self.landmarks is None else max(MAX_PRODUCTS // len(self.landmarks.rows), 1)
        for start in range(0, len(frame), max(size, 1)):
            yield row + start, frame[start : start + size]

    def _learn_frame(self, frame: pl.DataFrame, where: GradeColumns, row: int, *, fresh: bool) -> None:
        X, labels = self._table.values(frame, row), where.labels(frame, self._known)
        ends = labels if len(labels) == 2 else [labels[0], None]
        self.learn(X, ends[0], ends[1], weight=where.weights(frame, row), row=row, fresh=fresh)

    def add_grades(self, *, below: Sequence[Any] = (), above: Sequence[Any] = ()) -> Grader:
        """Give the model grades under or over those it knows; see `PassiveAggressiveOrdinal.add_grades`."""
        self.classifier.add_grades(below=below, above=above)
        self.classifier.classes = self.classifier.classes_
        self.recent = np.concatenate([self.recent[:1], self.recent[1:] + len(below)])
        return self

    def _add_beyond(self, grades: Sequence[Array]) -> None:
        """Numbers beyond all grades are new grades; anything else that is new is refused with its row, later."""
        listed = [grade for each in grades for grade in each.tolist() if grade not in self.classifier._codes]
        below, above = self.classifier._new_grades(listed)
        if below or above:
            self.add_grades(below=below, above=above)

    def _add_listed(self, grades: list[Any]) -> None:
        known = self.grades.tolist()
        start = grades.index(known[0]) if known[0] in grades else -1
        if start < 0 or grades[start : start + len(known)] != known:
            raise InputError(
                Option("classes", grades), f": the model knows {', '.join(map(str, known))}; list these, in this "
                "order, with the new ones before or after them",
            )  # fmt: skip
        if len(grades) > len(known):
            self.add_grades(below=grades[:start], above=grades[start + len(known) :])

    @property
    def gaps(self) -> list[int]:
        """Whole numbers between the lowest and the highest grade that are no grades, where all grades are whole."""
        grades = self.grades
        if grades.dtype.kind not in "iuf" or (grades != np.round(grades)).any():
            return []
        if float(grades.max()) - float(grades.min()) > MAX_GAP:  # whole numbers as far apart as they go have no range
            return []
        return sorted(set(range(int(grades.min()), int(grades.max()))) - set(grades.astype(int).tolist()))

    def evaluate(
        self,
        tables: Any,
        *,
        label: str | None = None,
        low: str | None = None,
        high: str | None = None,
        sample: int = 0,
        no_header: bool = False,
        progress: Progress = silently,
    ) -> Evaluation:
        """Compare the model's grades with those of tables; the first `sample` rows keep their scores, for pictures."""
        whole_option("sample", sample, least=0)
        where, K = GradeColumns.named(label, low, high, bins=self.bins), len(self.grades)
        counts = np.zeros((K, K), dtype=np.int64)
        kept: list[Array] = [np.empty((2, 0))]
        with progress("evaluating") as advance:
            for row, frame in self._pieces(tables, no_header):
                lower, upper = where.read(frame, self.grades, row)
                scores = self.scores(self._table.values(frame, row), row=row)
                guess = np.searchsorted(self.classifier.thresholds_, scores, side="right")
                truth = np.clip(guess, lower, upper)  # the grade of the range that is nearest to the prediction
                np.add.at(counts, (truth, guess), 1)
                if row < sample:
                    kept.append(np.stack([scores, truth])[:, : sample - row])
                advance(len(frame))
        if not counts.any():
            raise InputError("the table has no rows, so there is nothing to evaluate")
        scores, truth = np.concatenate(kept, axis=1)
        return Evaluation(self.grades, counts, scores, truth.astype(np.intp))

    def grade(
        self,
        tables: Any,
        *,
        id: str | Sequence[str] = (),
        level: float | None = None,
        no_header: bool = False,
        progress: Progress = silently,
    ) -> Iterator[pl.DataFrame]:
        """Yield the columns of `id`, grade and score of each piece; with `level` lower and upper of `interval`."""
        import polars as pl

        ids = names_option("id", id)
        for name in ids:
            if name in ("grade", "score") or (level is not None and name in ("lower", "upper")):
                own = f": the output has a column {name!r} of its own; rename the one in the table"
                raise InputError(Option("id", name), own)
        graded = 0
        with progress("grading") as advance:
            for row, frame in self._pieces(tables, no_header):
                X = self._table.values(frame, row)
                columns = [_writable(column(frame, name)) for name in ids]
                columns += [pl.Series("grade", self.predict(X, row=row))]
                columns += [pl.Series("score", self.scores(X, row=row)).round(6)]
                if level is not None:
                    ends = self.interval(X, level=level, row=row)
                    columns += [pl.Series("lower", ends[:, 0]), pl.Series("upper", ends[:, 1])]
                yield pl.DataFrame(columns)
                graded += len(frame)
                advance(len(frame))
        if not graded:
            raise InputError("the table has no rows, so there is nothing to grade")

    @property
    def error(self) -> float:
        """Mean absolute error while learning, each row graded before it was learned, and for the first time only.

        Rows are graded some at a time, at most a twentieth of those seen, by the model as `predict` had it then; the
        first rows of all one by one, by the last update. After `partial_fit`, of its rows.
        """
        if self.last_error is not None:
            return self.last_error
        first = [error for seen, error in self.curve if not self.rows or seen <= self.rows]
        return first[-1] if first else float("nan")

    @property
    def grades(self) -> Array:
        """From lowest to highest."""
        grades: Array = self.classifier.classes_
        return grades

    def learn(
        self, X: Array, lower: Any, upper: Any = None, *, weight: Any = None, row: int = 0, fresh: bool = True
    ) -> None:
        """Learn from a piece whose first row is number `row` + 1; labels are grades, or lower and upper ends.

        Rows that it has not seen before (`fresh`) are scored before they are learned, to set the level of `interval`.
        `weight` multiplies C row by row; a row of weight 0 is skipped.
        """
        rows = self._checked(X, row)
        known = self._known
        ends = (lower, None, None) if upper is None else (None, lower, upper)
        low, high, _ = read_labels(*ends, classes=known, rows=len(rows), first=row + 1)
        weights = None if weight is None else weights_of(weight, rows)
        if weights is not None and not weights.all():
            rows, low, high, weights = (each[weights > 0] for each in (rows, low, high, weights))
        if not self.settled:
            self._follow(rows)
        scaled, labels = self._mapped(rows), known[np.stack([low, high], axis=1)]
        start = 0
        while start < len(rows):  # a point of the curve whenever another twentieth was seen
            end = start + max(50, (self.curve[-1][0] if self.curve else 0) // 20)
            errors = self._errors
            if self.curve:
                errors += self._score(scaled[start:end], low[start:end], high[start:end], keep=fresh)
            part = None if weights is None else weights[start:end]
            self.classifier.partial_fit(scaled[start:end], labels[start:end], sample_weight=part)
            errors = errors if self.curve else self.classifier._errors
            self.curve.append((self.classifier.n_seen_, errors / self.classifier.n_seen_))
            start = end

    @property
    def _errors(self) -> float:
        """Grades off, summed over the rows seen."""
        return self.curve[-1][0] * self.curve[-1][1] if self.curve else 0.0

    def scores(self, X: Array, *, row: int = 0) -> Array:
        """The score of each row on the axis that the thresholds cut."""
        return self.classifier.project(self._mapped(self._checked(X, row)))

    def predict(self, X: Array, *, row: int = 0) -> Array:
        """The grade of each row."""
        return self.classifier.predict_median(self._mapped(self._checked(X, row)))

    def interval(self, X: Array, *, level: float = 0.9, row: int = 0) -> Array:
        """Lowest and highest grade of each row's set, which holds the true grade of a share `level` of rows.

        So it is for rows from the same source as the last that were learned (see `podium.ordinal.conformal`). Under
        drift nothing is promised; `held` tells how it went.
        """
        bound = self._sets.misses.bound(check_level(level))
        along, first = self._placed(self._mapped(self._checked(X, row)))
        chances = self._sets.chances.predict_proba(along[:, None])
        grades: Array = self.grades[grade_sets(chances, first, bound)]
        return grades

    def held(self, level: float = 0.9) -> tuple[float, int]:
        """Share of the newer half of recent rows whose sets, by the older half, held their grade; and how many rows.

        All were scored before they were learned. A share far from `level` tells of drift, or of a model that still
        learns; then take `interval` as it is: not promised.
        """
        half = self.recent.shape[1] // 2
        older = RecentSets.of(self.recent[:, :half], len(self.grades))
        newer = self.recent[:, half:]
        misses = miss(older.chances.predict_proba(newer[0][:, None]), *newer[1:].astype(np.intp))
        return float(np.mean(misses <= older.misses.bound(check_level(level)))), newer.shape[1]

    @property
    def right(self) -> float:
        """Share of recent rows whose predicted grade is right; no level below it can be had."""
        return self._sets.misses.right

    @property
    def _sets(self) -> RecentSets:
        known = vars(self).get("_known_sets")
        if known is None or known[0] is not self.recent:
            known = self.recent, RecentSets.of(self.recent, len(self.grades))
            self._known_sets = known
        sets: RecentSets = known[1]
        return sets

    def _placed(self, scaled: Array) -> tuple[Array, Array]:
        """Scores in units of the length of w, which may still grow while its direction rests; and predicted grades."""
        scores = self.classifier.project(scaled)
        length = float(np.linalg.norm(self.classifier.coef_))
        return scores / (length or 1.0), np.searchsorted(self.classifier.thresholds_, scores, side="right")

    def _score(self, scaled: Array, low: Array, high: Array, *, keep: bool) -> int:
        """How many grades the model is off on rows before it learns them.

        With `keep`, the last rows are kept as they were scored; the first ones, by a poor model, go.
        """
        along, grades = self._placed(scaled)
        if keep:
            most = min(MAX_RECENT, max((self.classifier.n_seen_ + len(scaled)) // 2, MIN_RECENT))
            self.recent = np.concatenate([self.recent, np.stack([along, grades, low, high])], axis=1)[:, -most:]
        return int(np.abs(grades - np.clip(grades, low, high)).sum())

    @property
    def _table(self) -> FeatureColumns:
        return FeatureColumns(tuple(self.features)) if self.table is None else self.table

    @property
    def _known(self) -> Array:
        grades: Array = np.asarray(getattr(self.classifier, "classes_", self.classifier.classes))
        return grades

    def _mapped(self, rows: Array) -> Array:
        """Rows as the classifier takes them: standardised, a missing value at the mean, and bent if so chosen."""
        scaled = self.scale.apply(rows)
        if self.missing == "mean":
            scaled = np.where(np.isnan(scaled), 0.0, scaled)
        return scaled if self.landmarks is None else self.landmarks.apply(scaled)

    def _follow(self, rows: Array) -> None:
        """Let the scale take in rows; what the model says of any row stays."""
        mean, deviation = self.scale.mean, self.scale.deviation
        self.scale.add(rows)
        if hasattr(self.classifier, "_lanes"):
            self.classifier._change_units(self.scale.deviation / deviation, (self.scale.mean - mean) / deviation)

    def _checked(self, table: Any, row: int) -> Array:
        X: Array = floats_of("X", table, (None, len(self.features)))
        bad = np.argwhere(np.abs(X) >= MAX_FEATURE if self.missing == "mean" else ~(np.abs(X) < MAX_FEATURE))
        if len(bad):
            value = X[tuple(bad[0])]
            shown = "is missing or not a number" if np.isnan(value) else f"is {value:g}, too large to learn from"
            shown = "is infinite" if np.isinf(value) else shown
            name = self._table.column_of(int(bad[0, 1]))
            what = f"row {row + int(bad[0, 0]) + 1}: {name!r} {shown}; fill in a value or drop the row"
            raise InputError(
                what, *([", or fit the model with ", Option("missing", "mean")] if np.isnan(value) else [])
            )
        return X


def _check_options(missing: Any, one_hot: Any, no_header: Any, rbf: Any, weight: Any, variant: str) -> None:
    """Options of `Grader.fit` that need nothing else to be checked."""
    choice_option("missing", missing, ["error", "mean"])
    for name, flag in (("one_hot", one_hot), ("no_header", no_header)):
        flag_option(name, flag)
    if rbf is not None:
        whole_option("rbf", rbf, least=2)
        if rbf > MAX_LANDMARKS:
            raise InputError(Option("rbf", rbf), f": at most {MAX_LANDMARKS:,} rows can stand for all")
    if weight is not None and variant == "pa":
        fixed = ": its updates fit each row exactly, whatever its weight"
        raise InputError(Option("weight"), " does not go with ", Option("variant", "pa"), fixed)


def _writable(cells: pl.Series) -> pl.Series:
    """A column of labels as it goes into every format."""
    import polars as pl

    if cells.dtype.is_nested() or cells.dtype in (pl.Binary, pl.Object):
        lacking = f": the column holds {cells.dtype}, which a table cannot show; choose another"
        raise InputError(Option("id", cells.name), lacking)
    return cells.dt.to_string() if cells.dtype == pl.Duration else cells
