"""podium ask: an interview in the terminal, one key a question, nothing lost."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from podium.cli.help import GroupedCommand, option
from podium.cli.interview import Interview
from podium.cli.options import (
    MAX_COUNT,
    SEED,
    NumberRange,
    id_option,
    missing_option,
    one_hot_option,
    output_options,
)
from podium.cli.output import Output
from podium.errors import InputError, Option
from podium.text import counted

if TYPE_CHECKING:
    import numpy as np

    from podium.active import ActiveRanker
    from podium.active.journal import Journal

__all__ = ["ask"]

PRESETS = ("quick", "standard", "thorough", "few_rounds", "exact", "paper")


@click.command(
    cls=GroupedCommand,
    examples=(
        ("podium ask drinks.csv --log votes.jsonl --judge ann", "go on, or begin"),
        ("podium ask drinks.csv --log votes.jsonl --judge ann --top 5", "only the first five matter"),
        ("podium rank votes.jsonl", "the votes of all judges, as any others"),
    ),
)
@click.argument("items", type=click.Path(dir_okay=False))
@option(
    "Data",
    "--log",
    required=True,
    type=click.Path(dir_okay=False),
    metavar="FILE",
    help="Keep the votes here, one JSON object a line; go on where there are some.",
)
@option(
    "Data",
    "--judge",
    metavar="NAME",
    help="Keep your name with each vote; several judges may share a log, each name once at a time.",
)
@id_option("id, else the first")
@option(
    "Data",
    "--text",
    "text_column",
    metavar="COLUMN",
    help="Show this column of each item.  [default: text, else the label]",
)
@option(
    "Data",
    "--features",
    metavar="FILE",
    help="Read item features from this table. With --preset paper the order is that of a score learnt from them.",
)
@missing_option
@one_hot_option()
@option(
    "Model",
    "--preset",
    type=click.Choice(PRESETS),
    metavar="PRESET",
    default="standard",
    show_default=True,
    help=f"Ask this many questions, chosen in this way: {', '.join(PRESETS)}.",
)
@option("Model", "--top", type=click.IntRange(1, MAX_COUNT), help="Care for the first ranks only, down to this one.")
@option("Model", "--budget", type=click.IntRange(1, MAX_COUNT), help="Ask at most this many questions.")
@option(
    "Model",
    "--random-share",
    type=NumberRange(0, 1, max_open=True),
    metavar="SHARE",
    default=0.1,
    show_default=True,
    help="Choose this share of the questions at random, as a check.",
)
@option(
    "Model",
    "--seed",
    type=SEED,
    help="Random seed for the choice of questions.  [default: drawn, and kept in the log]",
)
@output_options()
def ask(
    items: str,
    log: str,
    judge: str | None,
    id: str | None,
    text_column: str | None,
    preset: str,
    features: str | None,
    missing: str | None,
    one_hot: bool | None,
    top: int | None,
    budget: int | None,
    random_share: float,
    seed: int | None,
    out: Output,
) -> None:
    """Order the ITEMS of a table by asking you, two at a time.

    Each answer is on disk before the next question. Call again with the same log to go on. At the end, or when you
    quit, the ranking so far goes to standard output. Several people may work on one log, each with --judge: nobody gets
    what another has in hand. `podium rank LOG` reads it as votes.
    """
    from podium.active.journal import Journal

    texts = _read_items(items, id, text_column)
    path = Path(log)
    table = _read_features(features, missing, one_hot, id, text_column, list(texts))
    new = _begun(texts, preset, top, budget, random_share, seed, table)
    try:
        journal = Journal(path, new.head)
        try:
            with journal.session(judge):
                ranker = _resumed(journal, texts, table) if journal.resumed else new
                Interview(ranker, texts, judge, journal).run()
        finally:
            journal.close()
    except OSError as problem:
        raise InputError(f"cannot write {log}: {problem.strerror}; choose another path") from problem
    if not any("outcome" in row for _, row in journal.standing.counting()):
        raise InputError(
            f"nothing was answered, so there is no ranking; call again with --log {log} and answer (u undoes a skip)"
        )
    out.write(ranker.ranks())


def _begun(
    texts: dict[str, str],
    preset: str,
    top: int | None,
    budget: int | None,
    random_share: float,
    seed: int | None,
    features: np.ndarray | None,
) -> ActiveRanker:
    """A new ranker."""
    from podium.active import ActiveRanker

    if top is not None and top >= len(texts):
        raise InputError(f"--top {top}: there are {counted(len(texts), 'item')}; give 1 to {len(texts) - 1}")
    if top is not None and preset in ("exact", "paper"):
        raise InputError(f"--preset {preset} orders all items; leave --top out, or take another preset")
    goal = "order" if top is None else ("top", top)
    return ActiveRanker(
        list(texts),
        preset=preset,
        goal=goal,
        budget=budget,
        random_share=random_share,
        features=features,
        seed=seed,
    )


def _resumed(journal: Journal, texts: dict[str, str], features: np.ndarray | None) -> ActiveRanker:
    """The ranker that the rows of earlier calls, and of others, lead to."""
    from podium.active import ActiveRanker

    labels = list(texts)
    begun = journal.head.get("n", 0)
    if not isinstance(begun, int):
        raise InputError(f"{journal.path}: its header says {begun!r} items; the log is damaged")
    known = begun + len(journal.standing.added)
    if len(labels) > known >= 2 and journal.fits(labels[:known]):
        journal.append([{"podium": "item", "item": label} for label in labels[known:]])
        click.echo(counted(len(labels) - known, "more item"), err=True)
    ranker = ActiveRanker.replay(labels, journal.rows, features=features)
    _same_options(str(journal.path), ranker)
    click.echo(f"resumed {journal.path}: {counted(ranker.answered, 'answer')}", err=True)
    return ranker


def _same_options(log: str, ranker: ActiveRanker) -> None:
    """Refuse options that the log, which decides when it is resumed, does not have."""
    top = None if isinstance(ranker.goal, str) else ranker.goal[1]
    begun = {
        "preset": ranker.preset,
        "top": top,
        "budget": ranker.budget,
        "random_share": ranker.random_share,
        "seed": ranker.seed,
    }
    context = click.get_current_context()
    for name, value in begun.items():
        if (
            context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE
            and context.params[name] != value
        ):
            option = "--" + name.replace("_", "-")
            was = f"without {option}" if value is None else f"with {option} {value}"
            raise InputError(f"{log} was begun {was}; leave {option} out to go on, or begin another log")


def _read_items(path: str, id_column: str | None, text_column: str | None) -> dict[str, str]:
    """Label -> text of every item, in the order of the table."""
    from podium.data.files import read_table

    table = read_table(path)
    name = id_column or ("id" if "id" in table.columns else table.columns[0])
    shown = text_column or ("text" if "text" in table.columns else name)
    for column in (name, shown):
        if column not in table.columns:
            raise InputError(f"{path}: no column {column!r}; there are {', '.join(table.columns)}")
    texts: dict[str, str] = {}
    for row, (label, text) in enumerate(zip(table[name].to_list(), table[shown].to_list(), strict=True), start=1):
        if label is None or str(label) == "":
            raise InputError(f"{path}, row {row}: column {name!r} is empty; every item needs a name")
        if str(label) in texts:
            raise InputError(f"{path}, row {row}: {str(label)!r} is there twice; names must differ")
        texts[str(label)] = "" if text is None else str(text)
    if len(texts) < 2:
        raise InputError(f"{path}: {counted(len(texts), 'item')}; an order needs at least two")
    return texts


def _read_features(
    path: str | None,
    missing: str | None,
    one_hot: bool | None,
    id_column: str | None,
    text_column: str | None,
    items: list[str],
) -> np.ndarray | None:
    """The features of every item, a row each; the labels and the text that is shown are none."""
    if path is None:
        for name, value in (("missing", missing), ("one_hot", one_hot)):
            if value is not None:
                raise InputError(Option(name), " is about ", Option("features"), ", which is not given; drop it")
        return None
    import polars as pl

    from podium.data.features import read_features
    from podium.data.files import read_table

    table = read_table(path)
    table = table.drop([text_column or "text"], strict=False)
    name = id_column if id_column in table.columns else "id" if "id" in table.columns else table.columns[0]
    table = table.with_columns(pl.Series(name, [None if label is None else str(label) for label in table[name]]))
    _, rows, _ = read_features(table, items, id=name, missing=missing or "error", one_hot=bool(one_hot))
    kept: np.ndarray = rows[: len(items)]
    return kept
