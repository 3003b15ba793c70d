"""`podium compare`: which method predicts held-out votes best?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from podium.cli.columns import Columns, column_options
from podium.cli.features import Knowledge, knowledge_options, refuse_unused, words_without
from podium.cli.help import GroupedCommand, option
from podium.cli.messages import worded
from podium.cli.methods import maker
from podium.cli.options import MAX_COUNT, output_options, plot_option, seed_option, votes_argument
from podium.cli.output import Output, reading, say
from podium.errors import InputError, Option
from podium.pairwise import METHODS, ranker
from podium.text import counted, fitted, p_value

if TYPE_CHECKING:
    import polars as pl

    from podium.data.comparisons import Comparisons

__all__ = ["compare"]


EXAMPLES = (
    ("podium compare votes.csv", "which method predicts these votes best"),
    ("podium compare votes.csv --features items.csv", "whether features help"),
    ("podium compare games.csv --left home --right away --nested", "whether there is a home advantage"),
)


@click.command(cls=GroupedCommand, examples=EXAMPLES)
@votes_argument
@column_options
@knowledge_options
@option(
    "Model",
    "--method",
    "methods",
    multiple=True,
    type=click.Choice(list(METHODS)),
    metavar="METHOD",
    help=f"Compare only this method; may be given again: {', '.join(METHODS)}.",
)
@option(
    "Model",
    "--folds",
    type=click.IntRange(2, MAX_COUNT),
    default=10,
    show_default=True,
    help="Deal the votes into this many parts.",
)
@option(
    "Model",
    "--nested",
    is_flag=True,
    help="Test effects instead: position bias, --covariates and judges, each by likelihood ratio.",
)
@seed_option("dealing the votes into folds")
@plot_option("the calibration")
@output_options()
def compare(
    votes: tuple[str, ...],
    out: Output,
    columns: Columns,
    known: Knowledge,
    methods: tuple[str, ...],
    folds: int,
    nested: bool,
    seed: int,
    plot: Path | None,
) -> None:
    """Compare methods on VOTES by how well they predict held-out ones.

    Log loss and Brier score are better when smaller, accuracy when larger; ± is half a 95 % interval over the folds.
    "Worse" is the log loss above the best method's, fold by fold. "Calibration" is the mean distance between predicted
    and observed chances. Methods that use --features or --covariates are given them, the others do without.

    With --nested, Bradley-Terry models of growing size are fitted without a penalty, and each is tested against the one
    before it; a small p-value says that the effect is more than chance.
    """
    from podium.data.files import read_comparisons
    from podium.evaluate.assessment import assess, known_methods
    from podium.show import plots

    if nested:
        _refuse_with_nested(methods, known, plot)
    features = known.arguments()
    for method in methods:
        refuse_unused(method, known)
    chosen = list(methods) or known_methods(features=bool(features))
    makers = {name: maker(name, _treatment(name, known)) for name in chosen}
    arguments = columns.arguments() | known.of_votes
    source: Any = list(votes) if len(votes) > 1 else votes[0]
    with reading() as progress:
        comparisons = read_comparisons(source, **arguments, keep="rows", progress=progress)
    if nested:
        from podium.evaluate.nested import compare_nested

        frame = compare_nested(comparisons)
        out.write(frame, _nested_table(frame, out.room) if out.for_people else None)
        say(f"{counted(len(comparisons), 'vote')}; each model against the one before it, without a penalty")
        return
    _refuse_few(comparisons, folds)
    assessment = assess(
        comparisons, makers, **features, folds=folds, seed=seed, jobs=columns.jobs or 1, engine=columns.engine()
    )
    frame = assessment.to_frame()
    out.write(frame, _table(frame, out.room) if out.for_people else None)
    if plot:
        best = frame["method"].head(6).to_list()
        plots.save(plots.calibration({name: assessment.curves[name] for name in best}), plot)
    say(f"{counted(assessment.votes, 'vote')} in {counted(assessment.folds, 'fold')}")
    for line in (line for name in chosen for line in words_without(name, known)):
        say(line)
    for name, problem in assessment.problems.items():
        say(f"{name} was left out: {worded(problem)}")


def _treatment(method: str, known: Knowledge) -> dict[str, Any]:
    """How the method is to treat features, as far as it can."""
    takes = ranker(method)._parameters()
    return {name: value for name, value in known.treatment.items() if name in takes}


def _refuse_with_nested(methods: tuple[str, ...], known: Knowledge, plot: Path | None) -> None:
    """Options that `--nested` would not look at."""
    for name, value in (("method", methods), ("features", known.features), ("plot", plot)):
        if value:
            raise InputError(Option(name), " does not apply to ", Option("nested", True), "; drop one of them")


def _nested_table(frame: pl.DataFrame, room: int | None) -> str:
    """Models, one a row, with the test against the one before."""
    heads = ["model", "parameters", "log-likelihood", "AIC", "BIC", "χ²", "df", "p"]
    rows = []
    for row in frame.to_dicts():
        test = ["", "", ""]
        if row["p_value"] is not None:
            test = [f"{row['statistic']:.2f}", str(row["degrees"]), p_value(row["p_value"])]
        numbers = [f"{row['log_likelihood']:.2f}", f"{row['aic']:.2f}", f"{row['bic']:.2f}"]
        rows.append([row["model"], str(row["parameters"]), *numbers, *test])
    return fitted(heads, list(zip(*rows, strict=True)), room, to_left=["model"], shorten=[])


def _refuse_few(votes: Comparisons, folds: int) -> None:
    """Every fold needs two votes, or a ranking."""
    whole = votes.group_is == "ranking" and votes.group is not None
    what = counted(len(votes.groups), "ranking") if whole else counted(len(votes), votes.noun)
    most = len(votes.groups) if whole else len(votes) // 2
    if most < folds:
        few = f"{what} cannot be dealt into {counted(folds, 'fold')}; "
        if most < 2:
            raise InputError(f"{few}gather more")
        raise InputError(f"{few}set ", Option("folds", most), " or less" if most > 2 else "")


def _table(frame: pl.DataFrame, room: int | None) -> str:
    """The measures with their half-widths, aligned."""
    heads = ["method", "log loss", "worse", "Brier", "accuracy", "calibration"]
    rows = [
        [
            row["method"],
            f"{row['log_loss']:.4f} ± {row['log_loss_pm']:.4f}",
            f"{row['worse']:.4f} ± {row['worse_pm']:.4f}" if row["worse"] else "",
            f"{row['brier']:.4f} ± {row['brier_pm']:.4f}",
            f"{100 * row['accuracy']:.1f} % ± {100 * row['accuracy_pm']:.1f}",
            f"{row['calibration']:.3f}",
        ]
        for row in frame.to_dicts()
    ]
    return fitted(heads, list(zip(*rows, strict=True)), room, to_left=["method"], shorten=[])
