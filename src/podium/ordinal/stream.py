"""A grader for tables that arrive in pieces: an online classifier, its feature names and a running standardisation."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import numpy as np

from podium.data.validation import array_of, entries_of, floats_of, names_option, whole_option
from podium.errors import InputError, Option
from podium.ordinal.conformal import Misses, check_level, grade_sets, miss, score_chances
from podium.ordinal.cumulative import CumulativeLogit
from podium.ordinal.forms import declared_order
from podium.ordinal.labels import Array, grades_of, read_labels
from podium.ordinal.passive_aggressive import PassiveAggressiveOrdinal
from podium.ordinal.tables import GradeColumns, column, pieces, values

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Evaluation", "Grader", "RunningScale"]

# Called with what is being done; the block is handed a function that it calls with the rows done.
Progress: TypeAlias = Callable[[str], AbstractContextManager[Callable[[int], object]]]


@contextmanager
def _silently(what: str) -> Iterator[Callable[[int], object]]:
    yield lambda rows: None


MAX_FEATURE = 1e150  # its square is a number still
MAX_RECENT, MIN_RECENT = 4000, 200  # rows kept to set the level of sets: the newer half of all, within these bounds
MIN_ROWS = 20  # of them, below which there are no sets


@dataclass
class RunningScale:
    """Mean and variance of each feature over all rows seen so far; pieces add up to the whole (Chan et al., 1979).

    >>> scale = RunningScale.empty(1)
    >>> scale.add(np.array([[1.0], [2.0]]))
    >>> scale.add(np.array([[3.0]]))
    >>> scale.apply(np.array([[2.0]])).tolist(), float(scale.deviation[0] ** 2)
    ([[0.0]], 0.66...)
    """

    count: int
    mean: Array
    squares: Array  # sum of squared deviations from the mean

    @classmethod
    def empty(cls, n_features: int) -> RunningScale:
        return cls(0, np.zeros(n_features), np.zeros(n_features))

    def add(self, X: Array) -> None:
        if not len(X):
            return
        mean = X.mean(axis=0)
        total = self.count + len(X)
        apart = mean - self.mean
        self.squares = self.squares + ((X - mean) ** 2).sum(axis=0) + apart**2 * (self.count * len(X) / total)
        self.mean = self.mean + apart * (len(X) / total)
        self.count = total

    @property
    def deviation(self) -> Array:
        """Standard deviation of each feature; 1 for one that never varied."""
        spread = np.sqrt(self.squares / max(self.count, 1))
        return np.where(spread > 0, spread, 1.0)

    def apply(self, X: Array) -> Array:
        scaled: Array = (X - self.mean) / self.deviation
        return scaled


@dataclass(frozen=True, slots=True)
class Evaluation:
    """How a model's grades agree with those of a table.

    Attributes
    ----------
    grades : array of shape (K,)
        From lowest to highest.
    counts : array of shape (K, K)
        Rows by true grade (the one of a range that is nearest to the prediction) and predicted grade.
    scores, truth : arrays
        Score and place of the true grade of the first rows, as many as were asked for, for pictures.
    """

    grades: Array
    counts: Array
    scores: Array
    truth: Array

    @property
    def rows(self) -> int:
        """How many rows were graded."""
        return int(self.counts.sum())

    @property
    def error(self) -> float:
        """Mean absolute error in grades; 0 anywhere inside a range."""
        return float((self.counts * self._distance).sum() / self.rows)

    @property
    def accuracy(self) -> float:
        """Share of rows whose prediction is the grade, or lies inside the range."""
        return float(self.counts.diagonal().sum() / self.rows)

    @property
    def _distance(self) -> Array:
        places = np.arange(len(self.grades))
        distance: Array = np.abs(places[:, None] - places)
        return distance

    def to_frame(self) -> pl.DataFrame:
        """A row for each grade: rows, how many are right, their mean absolute error, and how often it became which."""
        import polars as pl

        rows = self.counts.sum(axis=1)
        error = ((self.counts * self._distance).sum(axis=1) / np.maximum(rows, 1)).round(4)
        about = {"grade": self.grades, "rows": rows, "right": self.counts.diagonal(), "error": error}
        became = {f"as {grade}": self.counts[:, k] for k, grade in enumerate(self.grades.tolist())}
        return pl.DataFrame(about | became)


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
    curve: list[tuple[int, float]] = field(default_factory=list)  # rows seen, progressive error up to then
    rows: int = 0  # of one pass of `fit`
    # Of the last rows learned, as they were before: score, and codes of the grade predicted and of both ends.
    recent: Array = field(default_factory=lambda: np.empty((4, 0)))

    state_version: ClassVar[int] = 2

    @classmethod
    def upgraded(cls, state: dict[str, Any], version: int) -> dict[str, Any]:
        """Files of version 1 kept no recent rows."""
        return state | {"recent": np.empty((4, 0))}

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
        classes: Any = None,
        variant: str = "pa1",
        C: float | str = "auto",
        passes: int = 1,
        progress: Progress = _silently,
    ) -> Grader:
        """Learn from tables: files, or anything that `scan_table` reads; several files are one table.

        Parameters
        ----------
        tables : path, list of paths, or a readable object
            One that can be read once only needs `classes`, and one pass.
        label, low, high : str
            The column of the grade, or the columns of the two ends of a range; an empty cell is an open end.
        id : str or list of str
            Columns of labels, which are no features. All other columns are, and must hold numbers.
        classes : array-like, optional
            The grades from lowest to highest. Without them one more pass looks for those that occur.
        variant, C : see `PassiveAggressiveOrdinal`
        passes : int
            How often to go over the tables.
        progress : callable, optional
            Called with what is being done; returns a context manager that hands out a function of rows done.
        """
        whole_option("passes", passes, least=1)
        where = GradeColumns.named(label, low, high, id)
        grades, scale = (
            (array_of(classes, "classes"), None) if classes is not None else _survey(tables, where, progress)
        )
        classifier = PassiveAggressiveOrdinal(variant, C=C, classes=grades)
        classifier._check_parameters()
        grader: Grader | None = None
        for number in range(1, passes + 1):
            with progress(f"pass {number} of {passes}") as advance:
                for row, frame in pieces(tables):
                    if grader is None:
                        grader = cls.empty(where.features(frame), classifier)
                        if scale is not None:
                            grader.scale, grader.settled = scale, True
                    labels = where.labels(frame, grades)
                    grader.learn(values(frame, grader.features), *labels, row=row, fresh=number == 1)
                    advance(len(frame))
            if grader is None or not classifier.n_seen_:
                raise InputError("the table has no rows, so there is nothing to learn from")
            grader.settled = True
            grader.rows = classifier.n_seen_ // number
        assert grader is not None  # there is at least one pass
        if not classifier.n_updates_:
            raise InputError("every range is open at both ends, so there is nothing to learn from")
        return grader

    def evaluate(
        self,
        tables: Any,
        *,
        label: str | None = None,
        low: str | None = None,
        high: str | None = None,
        sample: int = 0,
        progress: Progress = _silently,
    ) -> Evaluation:
        """Compare the model's grades with those of tables; the first `sample` rows keep their scores, for pictures."""
        whole_option("sample", sample, least=0)
        where, K = GradeColumns.named(label, low, high), len(self.grades)
        counts = np.zeros((K, K), dtype=np.int64)
        kept: list[Array] = [np.empty((2, 0))]
        with progress("evaluating") as advance:
            for row, frame in pieces(tables):
                lower, upper = where.read(frame, self.grades, row)
                scores = self.scores(values(frame, self.features), row=row)
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
        self, tables: Any, *, id: str | Sequence[str] = (), level: float | None = None, progress: Progress = _silently
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
            for row, frame in pieces(tables):
                X = values(frame, self.features)
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
        """Mean absolute error while learning, each row graded before it was learned, and for the first time only."""
        first = [error for seen, error in self.curve if not self.rows or seen <= self.rows]
        return first[-1] if first else float("nan")

    @property
    def grades(self) -> Array:
        """From lowest to highest."""
        grades: Array = self.classifier.classes_
        return grades

    def learn(self, X: Array, lower: Any, upper: Any = None, *, row: int = 0, fresh: bool = True) -> None:
        """Learn from a piece whose first row is number `row` + 1; labels are grades, or lower and upper ends.

        Rows that it has not seen before (`fresh`) are scored before they are learned, to set the level of `interval`.
        """
        rows = self._checked(X, row)
        known = np.asarray(self.classifier.classes)
        ends = (lower, None, None) if upper is None else (None, lower, upper)
        low, high, _ = read_labels(*ends, classes=known, rows=len(rows), first=row + 1)
        if not self.settled:
            self.scale.add(rows)
        scaled, labels = self.scale.apply(rows), known[np.stack([low, high], axis=1)]
        start = 0
        while start < len(rows):  # a point of the curve whenever another twentieth was seen
            end = start + max(50, (self.curve[-1][0] if self.curve else 0) // 20)
            if fresh and self.curve:
                self._remember(scaled[start:end], low[start:end], high[start:end])
            self.classifier.partial_fit(scaled[start:end], labels[start:end])
            self.curve.append((self.classifier.n_seen_, self.classifier.mae_))
            start = end

    def scores(self, X: Array, *, row: int = 0) -> Array:
        """The score of each row on the axis that the thresholds cut."""
        return self.classifier.project(self.scale.apply(self._checked(X, row)))

    def predict(self, X: Array, *, row: int = 0) -> Array:
        """The grade of each row."""
        return self.classifier.predict_median(self.scale.apply(self._checked(X, row)))

    def interval(self, X: Array, *, level: float = 0.9, row: int = 0) -> Array:
        """Lowest and highest grade of each row's set, which holds the true grade of a share `level` of rows.

        So it is for rows from the same source as the last that were learned (see `podium.ordinal.conformal`). Under
        drift nothing is promised; `held` tells how it went.
        """
        bound = self._sets.misses.bound(check_level(level))
        along, first = self._placed(self.scale.apply(self._checked(X, row)))
        chances = self._sets.chances.predict_proba(along[:, None])
        grades: Array = self.grades[grade_sets(chances, first, bound)]
        return grades

    def held(self, level: float = 0.9) -> tuple[float, int]:
        """Share of the newer half of recent rows whose sets, by the older half, held their grade; and how many rows.

        All were scored before they were learned. A share far from `level` tells of drift, or of a model that still
        learns; then take `interval` as it is: not promised.
        """
        half = self.recent.shape[1] // 2
        older = _Sets.of(self.recent[:, :half], len(self.grades))
        newer = self.recent[:, half:]
        misses = miss(older.chances.predict_proba(newer[0][:, None]), *newer[1:].astype(np.intp))
        return float(np.mean(misses <= older.misses.bound(check_level(level)))), newer.shape[1]

    @property
    def right(self) -> float:
        """Share of recent rows whose predicted grade is right; no level below it can be had."""
        return self._sets.misses.right

    @property
    def _sets(self) -> _Sets:
        known = vars(self).get("_known_sets")
        if known is None or known[0] is not self.recent:
            known = self.recent, _Sets.of(self.recent, len(self.grades))
            self._known_sets = known
        sets: _Sets = known[1]
        return sets

    def _placed(self, scaled: Array) -> tuple[Array, Array]:
        """Scores in units of the length of w, which may still grow while its direction rests; and predicted grades."""
        scores = self.classifier.project(scaled)
        length = float(np.linalg.norm(self.classifier.coef_))
        return scores / (length or 1.0), np.searchsorted(self.classifier.thresholds_, scores, side="right")

    def _remember(self, scaled: Array, low: Array, high: Array) -> None:
        """Keep the last rows as they were scored before they were learned; the first ones, by a poor model, go."""
        new = np.stack([*self._placed(scaled), low, high])
        most = min(MAX_RECENT, max((self.classifier.n_seen_ + len(scaled)) // 2, MIN_RECENT))
        self.recent = np.concatenate([self.recent, new], axis=1)[:, -most:]

    def _checked(self, table: Any, row: int) -> Array:
        X: Array = floats_of("X", table, (None, len(self.features)))
        bad = np.argwhere(~(np.abs(X) < MAX_FEATURE))
        if len(bad):
            value = X[tuple(bad[0])]
            shown = "is missing or not a number" if np.isnan(value) else f"is {value:g}, too large to learn from"
            shown = "is infinite" if np.isinf(value) else shown
            raise InputError(
                f"row {row + int(bad[0, 0]) + 1}: {self.features[bad[0, 1]]!r} {shown}; fill in a value or drop the row"
            )
        return X


@dataclass(frozen=True, slots=True)
class _Sets:
    """What sets of grades are made of: probabilities by score, and misses of rows that these were not fitted to."""

    chances: CumulativeLogit
    misses: Misses

    @classmethod
    def of(cls, recent: Array, K: int) -> _Sets:
        """By every second of recent rows each."""
        if recent.shape[1] < MIN_ROWS:
            raise InputError(
                f"of rows scored before they were learned the model keeps {recent.shape[1]}, too few for ",
                Option("level"),
                f" ({MIN_ROWS} at least): learn from more rows, or fit it again if an older podium has saved it",
            )
        scores, codes = recent[0], recent[1:].astype(np.intp)
        chances = score_chances(scores[::2], codes[1, ::2], codes[2, ::2], K)
        return cls(chances, Misses.of(chances.predict_proba(scores[1::2, None]), *codes[:, 1::2]))


def _survey(tables: Any, where: GradeColumns, progress: Progress) -> tuple[Array, RunningScale]:
    """One pass for what must be known before learning: the grades that occur, and the features' scale."""
    grades: Array | None = None
    declared: Array | None = None
    scale, names = RunningScale.empty(0), []
    with progress("looking for grades") as advance:
        for row, frame in pieces(tables):
            if row == 0:
                names = where.features(frame)
                scale = RunningScale.empty(len(names))
                declared = declared_order(*(column(frame, end) for end in where.ends))
            X = values(frame, names)
            scale.add(X[(np.abs(X) < MAX_FEATURE).all(axis=1)])  # a bad row is named when it is learned
            found = where.grades_in(frame)
            grades = grades_of(*([] if grades is None else [grades]), *found) if found else grades
            advance(len(frame))
    return where.order(grades, declared), scale


def _writable(cells: pl.Series) -> pl.Series:
    """A column of labels as it goes into every format."""
    import polars as pl

    if cells.dtype.is_nested() or cells.dtype in (pl.Binary, pl.Object):
        lacking = f": the column holds {cells.dtype}, which a table cannot show; choose another"
        raise InputError(Option("id", cells.name), lacking)
    return cells.dt.to_string() if cells.dtype == pl.Duration else cells
