"""`podium grade`: learn grades or ranges of grades from a table of any length, and grade others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from podium.cli.calling import gathered
from podium.cli.help import GroupedCommand, option
from podium.cli.options import (
    MAX_COUNT,
    ids_option,
    is_typed,
    missing_option,
    model_option,
    one_hot_option,
    output_options,
    plot_option,
    save_option,
    seed_option,
    tables_argument,
)
from podium.cli.output import Output, counting, say
from podium.errors import InputError, Option
from podium.text import counted, percent

if TYPE_CHECKING:
    from podium.ordinal.grading.evaluation import Evaluation
    from podium.ordinal.grading.grader import Grader

__all__ = ["grade"]

MAX_GRADES = 10_000
SAMPLE = 50_000  # rows whose scores `evaluate --plot` draws


@click.group()
def grade() -> None:
    """Learn grades, or ranges of grades, from a table, and grade others.

    Tables are read a piece at a time, so they may be larger than memory: CSV, JSON Lines, Parquet, Arrow; several
    files; "-" for standard input.
    """


@dataclass(frozen=True, slots=True)
class _Labels:
    """Where the grades are: in one column, or as the two ends of a range."""

    label: str | None
    low: str | None
    high: str | None


_label_options = gathered(
    "labels",
    _Labels,
    option("Data", "--label", metavar="COLUMN", help="Name the column of the grade."),
    option(
        "Data", "--low", metavar="COLUMN", help="Name the column of the lowest possible grade; empty cells are open."
    ),
    option(
        "Data", "--high", metavar="COLUMN", help="Name the column of the highest possible grade; empty cells are open."
    ),
)

_header_option = option(
    "Data", "--no-header", is_flag=True, help="The files have no header; call columns 1, 2 and so on."
)

FIT = (
    ("podium grade fit essays.csv --label grade --id name --save m.podium", "learn from exact grades"),
    ("podium grade fit dishes.csv --low low --high high --save m.podium", "learn from ranges of grades"),
    ("podium grade fit more.csv --label grade --id name --model m.podium", "learn on from more rows"),
)
PREDICT = (("podium grade predict new.csv --id name --model m.podium -o graded.csv", "grade other rows"),)
EVALUATE = (("podium grade evaluate test.csv --label grade --model m.podium", "how good the grades are"),)


@grade.command(cls=GroupedCommand, examples=FIT)
@tables_argument
@_label_options
@ids_option
@option(
    "Data", "--weight", metavar="COLUMN", help="Name the column of the rows' weights; a row of weight 0 is skipped."
)
@_header_option
@one_hot_option(of_all=True)
@missing_option
@option(
    "Data",
    "--bins",
    metavar="NUMBERS",
    help="Divide a column of numbers into grades: 7,9,12 makes those up to 7, up to 9, up to 12 and over 12.",
)
@option(
    "Data",
    "--classes",
    metavar="GRADES",
    help="List the grades from lowest to highest, as 1..5 or poor,fair,good.  [default: those that occur, found by one "
    "more pass]",
)
@option(
    "Model",
    "--variant",
    type=click.Choice(["pa", "pa1", "pa2"]),
    default="pa1",
    show_default=True,
    help="Update by this rule.",
)
@option(
    "Model",
    "--C",
    "C",
    default="auto",
    show_default=True,
    metavar="NUMBER|auto",
    help="Aggressiveness of pa1 and pa2; auto tries some values.",
)
@option(
    "Model",
    "--rbf",
    type=click.IntRange(2, MAX_COUNT),
    metavar="N",
    help="Let boundaries bend: learn from Gaussian kernels around N random rows (Nyström).",
)
@seed_option("the rows of --rbf")
@option(
    "Model",
    "--model",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Learn on from this model of `podium grade fit`; without --save the file is replaced.",
)
@option(
    "Model",
    "--passes",
    type=click.IntRange(1, MAX_COUNT),
    default=1,
    show_default=True,
    help="Go over the table this often.",
)
@save_option()
@plot_option("the error while learning")
@output_options()
def fit(
    tables: tuple[str, ...],
    labels: _Labels,
    ids: tuple[str, ...],
    weight: str | None,
    no_header: bool,
    one_hot: bool | None,
    missing: str | None,
    bins: str | None,
    classes: str | None,
    variant: str,
    C: str,
    rbf: int | None,
    seed: int,
    model: Path | None,
    passes: int,
    save: Path | None,
    plot: Path | None,
    out: Output,
) -> None:
    """Learn from TABLES and save a model, or learn on from one.

    Features are all columns but the grades, the weights and --id; they hold numbers, or with --one-hot text. They are
    standardised on the way; mean and deviation are kept in the model. Prints how much was learned from, and the mean
    absolute error while learning.
    """
    import polars as pl

    from podium import models
    from podium.ordinal.grading.grader import Grader

    place = save or model
    if place is None:
        raise click.UsageError("Missing option '--save'.")
    if "-" in tables and (passes > 1 or (classes is None and bins is None and model is None)):
        raise InputError("standard input can be read only once: give ", Option("classes"), ", and one pass")
    grades = None if classes is None else _grades(classes)
    settings: dict[str, Any] = {
        "variant": variant,
        "C": _number(C),
        "one_hot": bool(one_hot),
        "missing": missing or "error",
        "rbf": rbf,
        "seed": seed,
    }
    common: dict[str, Any] = {"id": ids, "weight": weight, "classes": grades, "no_header": no_header, "passes": passes}
    if model is None:
        cut = None if bins is None else _cuts(bins)
        grader = Grader.fit(tables, **asdict(labels), **settings, **common, bins=cut, progress=counting)
        before = None
    else:
        for name in (*settings, "bins"):
            if is_typed(name):
                raise InputError(Option(name), " was settled when the model of ", Option("model"), " began; drop it")
        grader = _load(model)
        before = grader.grades.tolist()
        grader.partial_fit(tables, **asdict(labels), **common, progress=counting)
    models.save(grader, place)
    if plot:
        from podium.show.grade_plots import progress

        _draw(plot, lambda axes: progress(grader.curve, ax=axes[0]), 1)
    known = grader.grades.tolist()
    summary = {"rows": grader.rows, "features": len(grader.features), "grades": len(known), "error": grader.error}
    out.write(pl.DataFrame({name: [value] for name, value in summary.items()}))
    first = " for the first time" if passes > 1 else ""
    say(f"the error is by how many grades a row was off, on average, before it was learned{first}; saved {place}")
    _say_about_grades(grader, before, grades is not None)


def _say_about_grades(grader: Grader, before: list[Any] | None, named: bool) -> None:
    """What a user should know about the grades that were found rather than named."""
    known = grader.grades.tolist()
    new = [grade for grade in known if before is not None and grade not in before]
    if new:
        say(f"new {'grades' if len(new) > 1 else 'grade'}: {_few(new)}; now {known[0]} to {known[-1]}")
    if named or before is not None:
        return
    if grader.grades.dtype.kind == "U" and not grader.bins and known == sorted(known):
        order = " < ".join(map(str, known))
        say(f"grades are words, taken in the order of the alphabet: {order}; --classes gives another order")
    if grader.gaps:
        least, most = int(known[0]), int(known[-1])
        several = len(grader.gaps) > 1
        say(
            f"no row has the {'grades' if several else 'grade'} {_few(grader.gaps)}: the grades around "
            f"{'them' if several else 'it'} count as neighbours; --classes {least}..{most} keeps the "
            f"{'places' if several else 'place'}"
        )


def _few(grades: list[Any]) -> str:
    shown = list(map(str, grades if len(grades) <= 6 else [*grades[:4], "…", grades[-1]]))
    return shown[0] if len(shown) == 1 else ", ".join(shown[:-1]) + f" and {shown[-1]}"


def _cuts(text: str) -> list[float]:
    try:
        return [float(each) for each in text.split(",")]
    except ValueError:
        raise InputError(Option("bins", text), ": give increasing numbers, as 7,9,12") from None


@grade.command(cls=GroupedCommand, examples=PREDICT)
@tables_argument
@ids_option
@_header_option
@model_option("podium grade fit")
@option(
    "Output",
    "--level",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    metavar="SHARE",
    help="Add lower and upper: a run of grades that holds the true one in this share of rows.",
)
@output_options(default="csv")
def predict(
    tables: tuple[str, ...], model: Path, ids: tuple[str, ...], no_header: bool, level: float | None, out: Output
) -> None:
    """Grade the rows of TABLES: the columns of --id, grade and score.

    Columns that are no features of the model are not read. CSV and JSON Lines are written as rows are graded.
    """
    grader = _load(model)
    out.write_pieces(grader.grade(tables, id=ids, level=level, no_header=no_header, progress=counting))
    if level is not None:
        share, rows = grader.held(level)
        say(
            f"lower to upper holds the grade of {100 * level:g} % of rows like the last ones learned (of a range it "
            "meets some grade, and holds the true one less often); while learning, "
            f"{100 * share:.0f} % of {counted(rows, 'row')}, by sets from the rows before them"
        )
        if grader.right > level:
            right = 100 * grader.right
            say(f"the grade alone is right in {right:.0f} % of these rows, so that sets hold more than asked")


@grade.command(cls=GroupedCommand, examples=EVALUATE)
@tables_argument
@_label_options
@_header_option
@model_option("podium grade fit")
@plot_option("scores, thresholds and confusion")
@output_options()
def evaluate(
    tables: tuple[str, ...], labels: _Labels, no_header: bool, model: Path, plot: Path | None, out: Output
) -> None:
    """Compare the model's grades with those of TABLES, grade by grade.

    A prediction inside a range is right; outside, its error is the number of grades to the nearer end.
    """
    grader = _load(model)
    sample = SAMPLE if plot else 0
    evaluation = grader.evaluate(tables, **asdict(labels), sample=sample, no_header=no_header, progress=counting)
    predicted = evaluation.counts.sum(axis=0)
    if (predicted > 0).sum() == 1 and (evaluation.counts.sum(axis=1) > 0).sum() > 1:
        say(f"the model gives every row the grade {evaluation.grades[predicted.argmax()]}")
    out.write(evaluation.to_frame())
    if plot:
        _draw(plot, lambda axes: _panels(axes, evaluation, grader), 2)
    right = percent(evaluation.accuracy, 1)
    say(f"{counted(evaluation.rows, 'row')}: mean absolute error {evaluation.error:.3f}, right {right}")


def _panels(axes: Any, evaluation: Evaluation, grader: Grader) -> None:
    from podium.show.grade_plots import confusion, scores_by_grade

    grades = evaluation.grades.tolist()
    scores_by_grade(evaluation.scores, evaluation.truth, grader.classifier.thresholds_, grades, ax=axes[0])
    confusion(evaluation.counts, grades, ax=axes[1])


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
            numbers = ": give whole numbers, as in 1..5, or a list, as in poor,fair,good"
            raise InputError(Option("classes", text), numbers) from None
        if high <= low:
            raise InputError(Option("classes", text), ": the last grade must be above the first")
        if high - low >= MAX_GRADES:
            many = f": that is {counted(high - low + 1, 'grade')}; at most {MAX_GRADES:,} are possible"
            raise InputError(Option("classes", text), many)
        return np.arange(low, high + 1)
    names = [name.strip() for name in text.split(",")]
    if len(names) < 2 or len(set(names)) < len(names):
        raise InputError(Option("classes", text), ": give at least two different grades, from lowest to highest")
    for kind in (int, float):
        try:
            grades = np.array([kind(name) for name in names])
        except (ValueError, OverflowError):
            continue
        if not np.isfinite(grades.astype(float)).all():
            raise InputError(Option("classes", text), ": a grade is a number or a word, not NaN or infinity")
        return grades
    return np.array(names)


def _load(model: Path) -> Grader:
    from podium.models import load
    from podium.ordinal.grading.grader import Grader

    loaded = load(model)
    if not isinstance(loaded, Grader):
        raise InputError(f"{model} is a file of {type(loaded).__name__}, not a model of `podium grade fit`")
    return loaded


def _draw(path: Path, draw: Callable[[Any], object], panels: int) -> None:
    from matplotlib.figure import Figure

    from podium.show.plots import save

    figure = Figure(figsize=(6 * panels, 4), layout="constrained")
    draw(figure.subplots(1, panels, squeeze=False)[0])
    save(figure, path, dpi=110)
