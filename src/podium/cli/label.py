"""`podium label`: train a label ranker on a table, rank the labels of new rows, report on it."""

from __future__ import annotations

from typing import Any

import click

from podium.cli.options import output_options
from podium.cli.output import emit, say, style_of
from podium.errors import InputError

__all__ = ["label"]


@click.group()
def label() -> None:
    """Rank labels: fit a model on examples with relevant labels, predict, report.

    A table (CSV, Parquet, JSON Lines, …) has one row per example: numeric columns are features, label columns hold
    their relevance (0 or empty: irrelevant). Files ending in .svm, .svmlight or .libsvm hold lines
    "label,label feature:value …" with whole numbers from 0.
    """


def _examples(command: Any) -> Any:
    for option in (
        click.option("--id", "ids", multiple=True, metavar="COLUMN", help="No feature; may be repeated."),
        click.option(
            "--labels", multiple=True, metavar="PATTERN", help="Label columns, as in 'tag_*'; may be repeated."
        ),
        click.argument("table"),
    ):
        command = option(command)
    return command


@label.command()
@_examples
@click.option("--model", required=True, type=click.Path(dir_okay=False), help="Model file to write.")
@click.option(
    "--loss", default="sum@3", show_default=True, help="Ranking loss to train for, such as prec@5 or ndcg@10."
)
@click.option("--C", "C", type=float, default=1.0, show_default=True, help="Inverse strength of the penalty.")
@click.option(
    "--surrogate",
    type=click.Choice(["univariate", "softmax", "softmax-normalised", "pairwise"]),
    default="univariate",
    show_default=True,
    help="The other ones couple labels; pairwise can be better on small data.",
)
@click.option("--standardize/--no-standardize", default=True, show_default=True, help="Features to equal size.")
def fit(table: str, labels: tuple[str, ...], ids: tuple[str, ...], model: str, **options: Any) -> None:
    """Train a linear label ranker on TABLE and write a model file."""
    from podium.models import save
    from podium.multilabel import LabelRanker
    from podium.multilabel.tables import read_examples

    examples = read_examples(table, labels=labels, ids=ids)
    ranker = LabelRanker(options.pop("loss"), **options).fit(examples.X, examples.Y)
    ranker.labels_, ranker.columns_ = examples.labels, examples.features
    save(ranker, model)
    n, k = examples.Y.shape
    say(f"{n:,} examples, {examples.X.shape[1]:,} features, {k:,} labels; trained for {ranker.loss}, saved to {model}")
    if not ranker.exact_:
        say(f"no target makes the ranking best for {ranker.loss} with this surrogate; take it as a good guess")


@label.command()
@_examples
@click.option("--model", required=True, type=click.Path(), help="Model file of `podium label fit`.")
@click.option("--top", type=click.IntRange(1), default=3, show_default=True, help="Labels per example.")
@output_options("table", "csv", "json", "jsonl", "parquet")
def predict(
    table: str, labels: tuple[str, ...], ids: tuple[str, ...], model: str, top: int, style: str | None, output: Any
) -> None:
    """Rank the labels of each row of TABLE; one line for each of the best labels."""
    import numpy as np
    import polars as pl

    from podium.multilabel.tables import read_examples

    form = style_of(style or (None if output else "csv"), output)
    ranker = _load(model)
    examples = read_examples(table, labels=labels, ids=ids, features=ranker.columns_, labelled=False)
    scores = ranker.decision_function(examples.X)
    keep = min(top, scores.shape[1])
    order = np.argsort(-scores, axis=1, kind="stable")[:, :keep]
    n = len(scores)
    columns: dict[str, Any] = {"row": np.repeat(np.arange(1, n + 1), keep)}
    columns |= {name: np.repeat(values, keep) for name, values in examples.ids.items()}
    columns |= {
        "rank": np.tile(np.arange(1, keep + 1), n),
        "label": np.asarray(ranker.labels_).astype(str)[order].reshape(-1),
        "score": np.take_along_axis(scores, order, axis=1).reshape(-1),
    }
    frame = pl.DataFrame(columns)
    emit(frame, form, output, str(frame))
    say(f"{n:,} examples, {keep} of {scores.shape[1]:,} labels each")


@label.command()
@_examples
@click.option("--model", required=True, type=click.Path(), help="Model file of `podium label fit`.")
@click.option("--at", default="1,3,5", show_default=True, help="Cut-offs; those beyond the labels are left out.")
@click.option("--ties", type=click.Choice(["label", "average", "worst"]), default="label", show_default=True)
@click.option("--empty", type=click.Choice(["zero_loss", "skip", "one"]), default="zero_loss", show_default=True)
@output_options("table", "csv", "json", "jsonl", "parquet")
def report(
    table: str,
    labels: tuple[str, ...],
    ids: tuple[str, ...],
    model: str,
    at: str,
    ties: Any,
    empty: Any,
    style: str | None,
    output: Any,
) -> None:
    """Rank the labels of each row of TABLE, whose relevance is known, and print every loss and gain."""
    import polars as pl

    from podium.metrics import ranking_report
    from podium.multilabel.tables import read_examples

    form = style_of(style, output)
    ranker = _load(model)
    examples = read_examples(table, labels=labels, ids=ids, features=ranker.columns_, known=ranker.labels_)
    scores = ranker.decision_function(examples.X)
    try:
        cuts = [int(part) for part in at.split(",")]
    except ValueError:
        raise InputError(f"--at {at!r}: whole numbers separated by commas, as in 1,3,5") from None
    cuts = [p for p in cuts if p <= scores.shape[1]] or [1]
    found = {
        kind: ranking_report(examples.Y, scores, cuts, kind=kind, ties=ties, empty=empty) for kind in ("loss", "gain")
    }
    names = list(found["loss"])
    frame = pl.DataFrame({"metric": names} | {kind: [each[name] for name in names] for kind, each in found.items()})
    lines = [f"{'metric':<10}{'loss':>10}{'gain':>10}"]
    lines += [f"{name:<10}{a:>10.4f}{b:>10.4f}" for name, a, b in frame.iter_rows()]
    emit(frame, form, output, "\n".join(lines))
    say(f"{examples.Y.shape[0]:,} examples, {examples.Y.shape[1]:,} labels; trained for {ranker.loss}")


def _load(path: str) -> Any:
    from podium.models import load

    model = load(path)
    if not hasattr(model, "columns_"):
        raise InputError(f"{path} holds a {type(model).__name__}, not a model of `podium label fit`")
    return model
