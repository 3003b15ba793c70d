"""`podium label`: train a label ranker on a table, rank the labels of new rows, evaluate it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from podium.cli.help import GroupedCommand, Handler, option
from podium.cli.options import MAX_COUNT, Penalty, ids_option, metric_options, model_option, output_options, save_option
from podium.cli.output import Output, say
from podium.errors import InputError, Option
from podium.text import counted

__all__ = ["label"]

ADDED = ("row", "rank", "label", "score")  # columns of predictions


@click.group()
def label() -> None:
    """Rank labels: fit a model on examples with relevant labels, predict, evaluate.

    A table (CSV, Parquet, JSON Lines, …) has one row per example: label columns hold relevance (0 or empty:
    irrelevant), --id columns name the example, all others are features and hold numbers. Files ending in .svm,
    .svmlight or .libsvm hold lines "label,label feature:value …" with whole numbers from 0.
    """


def _examples(command: Handler) -> Handler:
    words = "Take the columns of this pattern, such as 'tag_*', as labels; may be given again."
    command = option("Data", "--labels", multiple=True, metavar="PATTERN", help=words)(ids_option(command))
    return click.argument("table")(command)


FIT = (("podium label fit train.csv --labels 'tag_*' --save m.podium", "learn to rank the tag_ columns"),)
PREDICT = (("podium label predict new.csv --id doc --model m.podium --top 5", "the five best labels of each row"),)
EVALUATE = (("podium label evaluate test.csv --labels 'tag_*' --model m.podium", "how good the ranking is"),)


@label.command(cls=GroupedCommand, examples=FIT)
@_examples
@save_option(required=True)
@option(
    "Model", "--loss", metavar="NAME", help="Train for this ranking loss, such as prec@5 or ndcg@10.  [default: sum@3]"
)
@option(
    "Model",
    "--scorer",
    type=click.Choice(["linear", "trees", "auto"]),
    default="linear",
    show_default=True,
    help="What scores the labels; auto takes the best of linear, trees and their mean, and takes longer.",
)
@option(
    "Model",
    "--C",
    "C",
    type=Penalty(),
    default="auto",
    show_default=True,
    help="Inverse strength of the penalty of linear; auto chooses it on rows held out.",
)
@option(
    "Model",
    "--surrogate",
    type=click.Choice(["auto", "univariate", "softmax", "softmax-normalised", "pairwise"]),
    default="auto",
    show_default=True,
    help="Minimise this loss in place of the ranking loss; auto compares univariate and pairwise.",
)
@option(
    "Model",
    "--standardize/--no-standardize",
    default=None,
    help="Bring all features to mean 0 and standard deviation 1, or none.  [default: those that are not mostly 0]",
)
@output_options()
def fit(
    table: str,
    labels: tuple[str, ...],
    ids: tuple[str, ...],
    save: Path,
    loss: str | None,
    scorer: str,
    C: float | str,
    surrogate: str,
    standardize: bool | None,
    out: Output,
) -> None:
    """Train a label ranker on TABLE and save it. Prints how much it was trained on, and what was chosen."""
    import polars as pl

    from podium import models
    from podium.multilabel import LabelRanker
    from podium.multilabel.tables import read_examples

    examples = read_examples(table, labels=labels, ids=ids)
    n, k = examples.Y.shape
    loss = _loss(loss, k)
    scale = "auto" if standardize is None else standardize
    ranker = LabelRanker(loss, scorer, C=C, surrogate=surrogate, standardize=scale).fit(examples.X, examples.Y)
    ranker.labels_, ranker.columns_ = examples.labels, examples.features
    models.save(ranker, save)
    summary = {"examples": n, "features": examples.X.shape[1], "labels": k, "loss": loss}
    summary |= {"scorer": ranker.scorer_, "exact": ranker.exact_}
    out.write(pl.DataFrame({name: [value] for name, value in summary.items()}))
    for line in _choice(ranker):
        say(line)
    say(f"trained for {loss}, saved {save}")
    if not ranker.exact_ and surrogate == "auto" and getattr(ranker, "surrogate_", "univariate") != "univariate":
        say("pairs did better on rows held out; with far more rows, compare --surrogate univariate")
    elif not ranker.exact_:
        say(f"no target makes the ranking best for {loss} with this surrogate; take it as a good guess")


def _choice(ranker: Any) -> list[str]:
    """What was chosen on rows held out, beside what label frequencies alone would lose."""
    tried = ranker.validation_
    if not tried:
        return []
    best, blind = ranker.chosen_, tried.get("label frequencies")
    beside = "" if blind is None or best == "label frequencies" else f" (label frequencies alone: {blind:.3f})"
    said = [f"chosen among {len(tried)}: {best}, mean {ranker.loss} {tried[best]:.3f} on rows held out{beside}"]
    if best == "label frequencies":
        said.append("the features said nothing about the labels: every row gets the same ranking, by frequency")
    return said


def _loss(loss: str | None, labels: int) -> str:
    """The loss to train for; one that looks farther than there are labels is a mistake."""
    from podium.metrics.names import parse

    if loss is None:
        return f"sum@{min(3, labels)}"
    metric = parse(loss)
    if metric.p is not None and metric.p > labels:
        only = f": there are only {counted(labels, 'label')}; use a cut-off up to {labels}"
        raise InputError(Option("loss", loss), only)
    return loss


@label.command(cls=GroupedCommand, examples=PREDICT, short_help="Rank the labels of each row; write the best.")
@_examples
@model_option("podium label fit")
@option(
    "Output",
    "--top",
    type=click.IntRange(1, MAX_COUNT),
    default=3,
    show_default=True,
    help="Write this many labels a row.",
)
@output_options(default="csv")
def predict(table: str, labels: tuple[str, ...], ids: tuple[str, ...], model: Path, top: int, out: Output) -> None:
    """Rank the labels of each row of TABLE; one line for each of the best labels."""
    import numpy as np
    import polars as pl

    from podium.multilabel.tables import read_examples

    ranker = _load(model)
    for name in ids:
        if name in ADDED:
            raise InputError(
                Option("id", name), f": the predictions have a column {name!r} of their own; rename yours first"
            )
    examples = read_examples(table, labels=labels, ids=ids, features=ranker.columns_, labelled=False)
    scores = ranker.decision_function(examples.X)
    keep = min(top, scores.shape[1])
    order = np.argsort(-scores, axis=1, kind="stable")[:, :keep]
    n = len(scores)
    example = np.repeat(np.arange(n), keep)
    columns: dict[str, Any] = {"row": example + 1}
    columns |= {name: values.gather(example) for name, values in examples.ids.items()}
    columns |= {
        "rank": np.tile(np.arange(1, keep + 1), n),
        "label": np.asarray(ranker.labels_).astype(str)[order].reshape(-1),
        "score": np.take_along_axis(scores, order, axis=1).reshape(-1),
    }
    out.write(pl.DataFrame(columns))
    say(f"{counted(n, 'example')}, {keep} of {counted(scores.shape[1], 'label')} each")


@label.command(
    cls=GroupedCommand, examples=EVALUATE, short_help="Rank labels of known relevance; print every loss and gain."
)
@_examples
@model_option("podium label fit")
@option(
    "Measures",
    "--at",
    default="1,3,5",
    show_default=True,
    metavar="NUMBERS",
    help="Measure at these cut-offs; those beyond the number of labels are left out.",
)
@metric_options(empty="best")
@output_options()
def evaluate(
    table: str,
    labels: tuple[str, ...],
    ids: tuple[str, ...],
    model: Path,
    at: str,
    relevant_from: float | None,
    gain: str,
    ties: str,
    empty: str,
    out: Output,
) -> None:
    """Rank the labels of each row of TABLE, whose relevance is known, and print every loss and gain."""
    import polars as pl

    from podium.metrics import ranking_report
    from podium.multilabel.tables import read_examples

    ranker = _load(model)
    examples = read_examples(table, labels=labels, ids=ids, features=ranker.columns_, known=ranker.labels_)
    scores = ranker.decision_function(examples.X)
    try:
        cuts = [int(part) for part in at.split(",")]
    except ValueError:
        raise InputError(Option("at", at), ": whole numbers separated by commas, as in 1,3,5") from None
    cuts, beyond = [p for p in cuts if p <= scores.shape[1]], [p for p in cuts if p > scores.shape[1]]
    if min(cuts, default=0) < 1:
        raise InputError(
            Option("at", at),
            f": there are {counted(scores.shape[1], 'label')}; give cut-offs from 1 to {scores.shape[1]}",
        )
    options: dict[str, Any] = {"relevant_from": relevant_from, "gain": gain, "ties": ties, "empty": empty}
    loss, gains = (ranking_report(examples.Y, scores, cuts, kind=kind, **options) for kind in ("loss", "gain"))
    frame = pl.DataFrame(
        {"metric": list(loss), "loss": list(loss.values()), "gain": [gains.get(name) for name in loss]}
    )
    out.write(frame)
    left = f"; --at {','.join(map(str, beyond))} left out, there are fewer labels" if beyond else ""
    rows, width = examples.Y.shape
    say(f"{counted(rows, 'example')}, {counted(width, 'label')}; trained for {ranker.loss}{left}")
    say("the loss is what the best order of a row's labels would gain more")


def _load(path: Path) -> Any:
    from podium.models import load

    model = load(path)
    if not hasattr(model, "columns_"):
        raise InputError(f"{path} is a file of {type(model).__name__}, not a model of `podium label fit`")
    return model
