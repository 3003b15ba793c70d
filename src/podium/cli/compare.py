"""`podium compare`: which method predicts held-out votes best?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from podium.cli.features import given_features, maker, refuse_unused, table_options, words_without
from podium.cli.messages import worded
from podium.cli.options import (
    chosen_columns,
    column_options,
    output_options,
    plot_option,
    seed_option,
    votes_argument,
)
from podium.cli.output import Output, counted, say
from podium.errors import InputError
from podium.pairwise import METHODS
from podium.text import aligned

if TYPE_CHECKING:
    import polars as pl

    from podium.data.comparisons import Comparisons

__all__ = ["compare"]


@click.command()
@votes_argument
@click.option(
    "--method", "methods", multiple=True, type=click.Choice(list(METHODS)), help="Only these; may be given again."
)
@click.option("--folds", type=click.IntRange(2), default=10, show_default=True, help="Parts the votes are dealt into.")
@table_options
@seed_option("the deal")
@plot_option("the calibration")
@output_options()
@column_options
def compare(votes: tuple[str, ...], out: Output, **given: Any) -> None:
    """Compare methods on VOTES by how well they predict held-out ones.

    Log loss and Brier score are better when smaller, accuracy when larger; ± is half a 95 % interval over the folds.
    "Worse" is the log loss above the best method's, fold by fold. "Calibration" is the mean distance between predicted
    and observed chances. Methods that use --features or --covariates are given them, the others do without.
    """
    columns = chosen_columns(given)
    from podium.data.files import read_comparisons
    from podium.evaluate.assessment import assess, known_methods
    from podium.show import plots

    features = given_features(given)
    methods = list(given["methods"]) or known_methods(features=bool(features))
    if given["methods"]:
        for method in methods:
            refuse_unused(method, given)
    options = {name: given[name] for name in ("missing", "one_hot") if given[name] is not None}
    makers = {name: maker(name, options if name == "rabf" else {}) for name in methods}
    if given["covariates"]:
        columns["covariates"] = [name.strip() for name in given["covariates"].split(",")]
    source: Any = list(votes) if len(votes) > 1 else votes[0]
    comparisons = read_comparisons(source, **columns, keep="rows")
    _refuse_few(comparisons, given["folds"])
    found = assess(comparisons, makers, **features, folds=given["folds"], seed=given["seed"])
    frame = found.to_frame()
    out.write(frame, lambda: _table(frame))
    if given["plot"]:
        best = frame["method"].head(6).to_list()
        plots.save(plots.calibration({name: found.curves[name] for name in best}), given["plot"])
    say(f"{counted(found.votes, 'vote')} in {found.folds} folds")
    for line in (line for name in methods for line in words_without(name, given)):
        say(line)
    for name, problem in found.problems.items():
        say(f"{name} was left out: {worded(problem)}")


def _refuse_few(votes: Comparisons, folds: int) -> None:
    """Every fold needs two votes, or a ranking."""
    whole = votes.group_is == "ranking" and votes.group is not None
    what = counted(len(votes.groups), "ranking") if whole else counted(len(votes), "vote")
    most = len(votes.groups) if whole else len(votes) // 2
    if most < folds:
        way = f"set --folds {most}" + (" or less" if most > 2 else "") if most > 1 else "gather more"
        raise InputError(f"{what} cannot be dealt into {folds} folds; {way}")


def _table(frame: pl.DataFrame) -> str:
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
    return aligned(heads, list(zip(*rows, strict=True)), to_left=["method"])
