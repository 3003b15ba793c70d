"""podium grade: learn grades or ranges of grades from a table of any length, and grade others."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from podium.cli.options import ids_option, model_option, output_options, plot_option, save_option
from podium.cli.output import Output, counting, say
from podium.errors import InputError

if TYPE_CHECKING:
    import polars as pl

    from podium.ordinal.stream import Grader, RunningScale

__all__ = ["grade"]

MAX_GRADES = 10_000
SAMPLE = 50_000  # rows whose scores `evaluate --plot` draws


@click.group()
def grade() -> None:
    """Learn grades, or ranges of grades, from a table, and grade others.

    Tables are read a piece at a time, so they may be larger than memory: CSV, JSON Lines, Parquet, Arrow; several
    files; "-" for standard input.
    """


def _labels(command: Callable[..., None]) -> Callable[..., None]:
    for option in (
        click.option("--high", metavar="COLUMN", help="Column of the highest grade possible; an empty cell is open."),
        click.option("--low", metavar="COLUMN", help="Column of the lowest grade possible; an empty cell is open."),
        click.option("--label", metavar="COLUMN", help="Column of the grade, where one is given."),
    ):
        command = option(command)
    return command


@grade.command()
@click.argument("tables", nargs=-1, required=True)
@_labels
@save_option(required=True)
@ids_option
@click.option(
    "--classes",
    metavar="GRADES",
    help="From lowest to highest: 1..5, or poor,fair,good.  [default: those that occur, found by one more pass]",
)
@click.option(
    "--variant", type=click.Choice(["pa", "pa1", "pa2"]), default="pa1", show_default=True, help="Update rule."
)
@click.option(
    "--C",
    "C",
    default="auto",
    show_default=True,
    help="Aggressiveness of pa1 and pa2: a number, or auto, which tries some.",
)
@click.option("--passes", type=click.IntRange(1), default=1, show_default=True, help="How often to go over the table.")
@plot_option("the error while learning")
@output_options()
def fit(
    tables: tuple[str, ...],
    label: str | None,
    low: str | None,
    high: str | None,
    save: Path,
    ids: tuple[str, ...],
    classes: str | None,
    variant: str,
    C: str,
    passes: int,
    plot: Path | None,
    out: Output,
) -> None:
    """Learn from TABLES and save a model.

    Features are all columns but the grades and --id; they must hold numbers. They are standardised on the way; mean and
    deviation are kept in the model. Prints how much was learned from, and the mean absolute error while learning.
    """
    import polars as pl

    from podium import models
    from podium.ordinal.passive_aggressive import PassiveAggressiveOrdinal

    ends = _ends(label, low, high)
    if "-" in tables and (passes > 1 or classes is None):
        raise InputError("standard input can be read only once: give --classes, and one pass")
    known, scale = (_grades(classes), None) if classes is not None else _survey(tables, ends, ids)
    classifier = PassiveAggressiveOrdinal(variant, C=_number(C), classes=known)
    classifier._check_parameters()
    grader, error = _learned(tables, ends, ids, classifier, scale, passes)
    models.save(grader, save)
    if plot:
        from podium.show.grade_plots import progress

        _draw(plot, lambda axes: progress(grader.curve, ax=axes[0]), 1)
    rows = grader.classifier.n_seen_ // passes
    found = {"rows": rows, "features": len(grader.features), "grades": len(known), "error": error}
    out.write(pl.DataFrame({name: [value] for name, value in found.items()}))
    first = " for the first time" if passes > 1 else ""
    say(f"error: grades off on average, before each row was learned{first}; saved {save}")
    if classes is None and np.asarray(known).dtype.kind == "U" and list(known) == sorted(known):
        said = " < ".join(map(str, list(known)))
        say(f"grades are words, taken in the order of the alphabet: {said}; --classes gives another order")


def _learned(
    tables: tuple[str, ...],
    ends: list[str],
    ids: tuple[str, ...],
    classifier: Any,
    scale: RunningScale | None,
    passes: int,
) -> tuple[Grader, float]:
    """The model after so many passes, and its mean absolute error in the first: later ones meet rows they have seen."""
    from podium.ordinal.stream import Grader

    grader: Grader | None = None
    error = 0.0
    for number in range(1, passes + 1):
        with counting(f"pass {number} of {passes}") as advance:
            for row, frame in _pieces(tables):
                if grader is None:
                    grader = Grader.empty(_features(frame, ends, ids), classifier)
                    if scale is not None:
                        grader.scale, grader.settled = scale, True
                grader.learn(_values(frame, grader.features), *_columns(frame, ends, classifier.classes), row=row)
                advance(len(frame))
        if grader is None or not classifier.n_seen_:
            raise InputError("the table has no rows, so there is nothing to learn from")
        grader.settled = True
        error = error if number > 1 else classifier.mae_
    assert grader is not None  # there is at least one pass
    if not classifier.n_updates_:
        raise InputError("every range is open at both ends, so there is nothing to learn from")
    return grader, error


@grade.command()
@click.argument("tables", nargs=-1, required=True)
@model_option("podium grade fit")
@ids_option
@click.option(
    "--margin", type=click.FloatRange(0), help="Add lower and upper: the grades within this distance of the score."
)
@output_options(default="csv")
def predict(tables: tuple[str, ...], model: Path, ids: tuple[str, ...], margin: float | None, out: Output) -> None:
    """Grade the rows of TABLES: the columns of --id, grade and score.

    Columns that are no features of the model are not read. CSV and JSON Lines are written as rows are graded.
    """
    grader = _load(model)
    ids = tuple(dict.fromkeys(ids))
    own = ("grade", "score") if margin is None else ("grade", "score", "lower", "upper")
    for name in ids:
        if name in own:
            raise InputError(f"--id {name}: the output has a column {name!r} of its own; rename the one in the table")
    out.write_pieces(_graded(grader, tables, ids, margin))


def _graded(
    grader: Grader, tables: tuple[str, ...], ids: tuple[str, ...], margin: float | None
) -> Iterator[pl.DataFrame]:
    import polars as pl

    row = 0
    with counting("grading") as advance:
        for row, frame in _pieces(tables):
            X = _values(frame, grader.features)
            columns = [_written(_column(frame, name)) for name in ids]
            columns += [pl.Series("grade", grader.predict(X, row=row))]
            columns += [pl.Series("score", grader.scores(X, row=row)).round(6)]
            if margin is not None:
                ends = grader.interval(X, margin=margin, row=row)
                columns += [pl.Series("lower", ends[:, 0]), pl.Series("upper", ends[:, 1])]
            yield pl.DataFrame(columns)
            row += len(frame)
            advance(len(frame))
    if not row:
        raise InputError("the table has no rows, so there is nothing to grade")


@grade.command()
@click.argument("tables", nargs=-1, required=True)
@_labels
@model_option("podium grade fit")
@plot_option("scores, thresholds and confusion")
@output_options()
def evaluate(
    tables: tuple[str, ...],
    label: str | None,
    low: str | None,
    high: str | None,
    model: Path,
    plot: Path | None,
    out: Output,
) -> None:
    """Compare the model's grades with those of TABLES, grade by grade.

    A prediction inside a range is right; outside, its error is the number of grades to the nearer end.
    """
    import polars as pl

    from podium.ordinal.labels import read_labels

    grader, ends = _load(model), _ends(label, low, high)
    grades, K = grader.grades, len(grader.grades)
    counts = np.zeros((K, K), dtype=np.int64)
    kept: list[np.ndarray[Any, Any]] = []
    drawn = 0
    with counting("evaluating") as advance:
        for row, frame in _pieces(tables):
            X = _values(frame, grader.features)
            given = _columns(frame, ends, grades)
            pair = (given[0], None, None) if len(given) == 1 else (None, *given)
            lower, upper, _ = read_labels(*pair, classes=grades, rows=len(frame), first=row + 1)
            scores = grader.scores(X, row=row)
            guess = np.searchsorted(grader.classifier.thresholds_, scores, side="right")
            truth = np.clip(guess, lower, upper)  # the grade of the range that is nearest to the prediction
            np.add.at(counts, (truth, guess), 1)
            if plot and drawn < SAMPLE:
                kept.append(np.stack([scores, truth])[:, : SAMPLE - drawn])
                drawn += kept[-1].shape[1]
            advance(len(frame))
    total = int(counts.sum())
    if not total:
        raise InputError("the table has no rows, so there is nothing to evaluate")
    if (counts.sum(axis=0) > 0).sum() == 1 and (counts.sum(axis=1) > 0).sum() > 1:
        say(f"the model gives every row the grade {grades[counts.sum(axis=0).argmax()]}")
    away = np.abs(np.arange(K)[:, None] - np.arange(K))
    found = {
        "grade": grades,
        "rows": counts.sum(axis=1),
        "right": counts.diagonal(),
        "error": ((counts * away).sum(axis=1) / np.maximum(counts.sum(axis=1), 1)).round(4),
    }
    out.write(pl.DataFrame(found | {f"as {each}": counts[:, k] for k, each in enumerate(grades.tolist())}))
    if plot:
        from podium.show.grade_plots import confusion, score_axis

        scores, truth = np.concatenate(kept, axis=1)

        def draw(axes: Any) -> None:
            score_axis(scores, truth, grader.classifier.thresholds_, grades.tolist(), ax=axes[0])
            confusion(counts, grades.tolist(), ax=axes[1])

        _draw(plot, draw, 2)
    say(
        f"{total:,} rows: mean absolute error {(counts * away).sum() / total:.3f}, "
        f"right {counts.diagonal().sum() / total:.1%}"
    )


def _ends(label: str | None, low: str | None, high: str | None) -> list[str]:
    """The label column, or the columns of the two ends."""
    if label is not None and low is None and high is None:
        return [label]
    if label is None and low is not None and high is not None:
        if low == high:
            raise InputError(f"--low and --high both name {low!r}; for exact grades use --label {low}")
        return [low, high]
    if label is not None:
        raise InputError("--label is an exact grade, --low and --high are the ends of a range; give one or the other")
    if low is not None or high is not None:
        given, lacking = ("--low", "--high") if high is None else ("--high", "--low")
        raise InputError(f"{given} is one end of a range; name the other by {lacking} (an empty cell is an open end)")
    raise InputError("say where the grades are: --label COLUMN, or --low COLUMN and --high COLUMN for ranges")


def _number(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


def _grades(text: str) -> Any:
    """1..5 or a list with commas; whole numbers and numbers become such."""
    first, dots, last = text.partition("..")
    if dots:
        try:
            low, high = int(first), int(last)
        except ValueError:
            raise InputError(
                f"--classes {text}: give whole numbers, as in 1..5, or a list, as in poor,fair,good"
            ) from None
        if high <= low:
            raise InputError(f"--classes {text}: the last grade must be above the first")
        if high - low >= MAX_GRADES:
            raise InputError(
                f"--classes {text}: that is {high - low + 1:,} grades; at most {MAX_GRADES:,} are possible"
            )
        return np.arange(low, high + 1)
    names = [name.strip() for name in text.split(",")]
    if len(names) < 2 or len(set(names)) < len(names):
        raise InputError(f"--classes {text}: give at least two different grades, from lowest to highest")
    for kind in (int, float):
        try:
            grades = np.array([kind(name) for name in names])
        except (ValueError, OverflowError):
            continue
        if not np.isfinite(grades.astype(float)).all():
            raise InputError(f"--classes {text}: a grade is a number or a word, not NaN or infinity")
        return grades
    return np.array(names)


def _pieces(tables: tuple[str, ...]) -> Iterator[tuple[int, pl.DataFrame]]:
    """The pieces of all tables with the number of rows before each."""
    from podium.data.files import scan_table

    row = 0
    for frame in scan_table(list(tables)):
        yield row, frame
        row += len(frame)


def _survey(tables: tuple[str, ...], ends: list[str], ids: tuple[str, ...]) -> tuple[Any, Any]:
    """One pass for what must be known before learning: the grades that occur, and the features' scale."""
    from podium.ordinal.forms import declared_order
    from podium.ordinal.labels import grades_of
    from podium.ordinal.stream import MAX_FEATURE, RunningScale

    seen: list[Any] = []
    scale, names, order = None, [], None
    with counting("looking for grades") as advance:
        for _, frame in _pieces(tables):
            if scale is None:
                names = _features(frame, ends, ids)
                scale = RunningScale.empty(len(names))
            values = _values(frame, names)
            scale.add(values[(np.abs(values) < MAX_FEATURE).all(axis=1)])  # a bad row is named when it is learned
            given = [_label(frame, end).drop_nulls() for end in ends]  # without nulls whole numbers stay whole
            order = declared_order(*(_column(frame, end) for end in ends)) if order is None else order
            seen.extend(_grades_in(column.to_numpy(), len(ends) == 1) for column in given if len(column))
            seen = [grades_of(*seen)] if seen else seen
            advance(len(frame))
    if not seen:
        raise InputError(f"no row has a grade in {' or '.join(repr(end) for end in ends)}")
    grades = seen[0]
    if len(grades) < 2 and order is None:
        raise InputError(f"all rows have the same grade, {grades[0]}; there is nothing to tell apart")
    if order is not None:
        return order, scale
    if len(grades) > 100:
        raise InputError(
            f"{ends[0]!r} holds more than 100 different values; name the grades with --classes, or bin them"
        )
    return grades, scale


def _grades_in(column: Any, alone: bool) -> Any:
    """The grades of a column; in a column of its own "3-4" is a range, and text of numbers is numbers."""
    from podium.ordinal.forms import number_of
    from podium.ordinal.labels import grades_of, read_labels

    grades = read_labels(column)[2] if alone else grades_of(column)
    numbers = [number_of(grade) for grade in grades.tolist()]
    return np.array(numbers) if grades.dtype.kind == "U" and None not in numbers else grades


def _features(frame: pl.DataFrame, ends: list[str], ids: tuple[str, ...]) -> list[str]:
    from podium.data.files import feature_columns

    for name in (*ends, *ids):
        _column(frame, name)
    return feature_columns(frame, {*ends, *ids})


def _column(frame: pl.DataFrame, name: str) -> pl.Series:
    if name not in frame.columns:
        raise InputError(f"no column {name!r}; found {', '.join(frame.columns)}")
    return frame[name]


def _label(frame: pl.DataFrame, name: str) -> pl.Series:
    """A column of grades: numbers, words or yes and no; decimals become numbers."""
    import polars as pl

    column = _column(frame, name)
    if column.dtype.is_decimal():
        return column.cast(pl.Float64)
    if isinstance(column.dtype, pl.Categorical | pl.Enum):
        return column.cast(pl.String)
    if not column.dtype.is_numeric() and column.dtype not in (pl.String, pl.Boolean, pl.Null):
        raise InputError(f"column {name!r} holds {column.dtype}, but grades are numbers or words")
    return column


def _written(column: pl.Series) -> pl.Series:
    """A column of --id as it goes into every format."""
    import polars as pl

    if column.dtype.is_nested() or column.dtype in (pl.Binary, pl.Object):
        raise InputError(
            f"--id {column.name}: the column holds {column.dtype}, which a table cannot show; choose another"
        )
    return column.dt.to_string() if column.dtype == pl.Duration else column


def _values(frame: pl.DataFrame, names: list[str]) -> Any:
    """The features as doubles; a missing value is NaN, refused with its row when it is used."""
    import polars as pl

    from podium.data.files import is_number

    for name in names:
        if not is_number(_column(frame, name).dtype):
            raise InputError(f"column {name!r} is not numeric here, but the model was fitted on numbers")
    values = frame.select(pl.col(name).cast(pl.Float64) for name in names).to_numpy()
    return np.ascontiguousarray(values)


def _columns(frame: pl.DataFrame, ends: list[str], grades: Any) -> list[Any]:
    """The label columns as arrays; text becomes numbers where the grades are numbers."""
    import polars as pl

    columns = []
    for end in ends:
        column = _label(frame, end)
        if column.dtype == pl.String and grades.dtype.kind in "iuf":
            number = column.cast(pl.Float64, strict=False)
            column = number if number.null_count() == column.null_count() else column
        columns.append(column.to_numpy())
    return columns


def _load(model: Path) -> Grader:
    from podium.models import load
    from podium.ordinal.stream import Grader

    loaded = load(model)
    if not isinstance(loaded, Grader):
        raise InputError(f"{model} holds a {type(loaded).__name__}, not a model of `podium grade fit`")
    return loaded


def _draw(path: Path, draw: Callable[[Any], object], panels: int) -> None:
    from matplotlib.figure import Figure

    from podium.show.plots import save

    figure = Figure(figsize=(6 * panels, 4), layout="constrained")
    draw(figure.subplots(1, panels, squeeze=False)[0])
    save(figure, path, dpi=110)
