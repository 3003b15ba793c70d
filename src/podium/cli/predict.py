"""`podium predict`: chances of games to come, the final table they lead to, or scores of new items from features."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from podium.cli.help import GroupedCommand, option
from podium.cli.options import MAX_COUNT, id_option, is_typed, level_option, model_option, output_options, seed_option
from podium.cli.output import Output, say, say_if_half
from podium.errors import InputError, Option
from podium.text import counted

if TYPE_CHECKING:
    import polars as pl

    from podium.data.comparisons import Comparisons
    from podium.pairwise.base import Ranker

__all__ = ["predict"]


EXAMPLES = (
    ("podium rank season.csv --time Date --method dynamic --save m.podium", "a model"),
    ("podium predict fixtures.csv --model m.podium", "chances of the games to come"),
    ("podium predict fixtures.csv --model m.podium --table --played season.csv", "chances of the final table"),
    ("podium predict new-items.csv --model m.podium", "with a model of --features: scores of items without votes"),
)
ABOUT_PLAYED = ("outcome", "left_goals", "right_goals")
ABOUT_TABLES = ("played", "points", "top", "draws", "seed")
ABOUT_PAIRS = ("left", "right", "time", "table", *ABOUT_TABLES, *ABOUT_PLAYED)


@click.command(cls=GroupedCommand, examples=EXAMPLES)
@click.argument("fixtures")
@model_option("podium rank")
@id_option("the one column that is no feature")
@option("Data", "--left", metavar="COLUMN", help="Name the column of the left (home) item.")
@option("Data", "--right", metavar="COLUMN", help="Name the column of the right (away) item.")
@option("Data", "--time", metavar="COLUMN", help="Name the column that says when; else the last time of the model.")
@option("Output", "--table", is_flag=True, help="Play the fixtures many times, for the chances of the final table.")
@option(
    "Data",
    "--played",
    metavar="FILE",
    help="Read the games so far, for the points items have and the order of day and month.",
)
@option("Data", "--outcome", metavar="COLUMN", help="Name the column of --played with the outcome, as in podium rank.")
@option("Data", "--left-goals", metavar="COLUMN", help="Name its column of what the left (home) item scored.")
@option("Data", "--right-goals", metavar="COLUMN", help="Name its column of what the right (away) item scored.")
@option(
    "Data",
    "--points",
    metavar="W,T,L",
    default="3,1,0",
    show_default=True,
    help="Give these points for a win, a tie, a loss.",
)
@option(
    "Output",
    "--top",
    type=click.IntRange(1, MAX_COUNT),
    help="Write the chance to be among this many first; else 4, or all but one of fewer items.",
)
@option(
    "Output", "--draws", type=click.IntRange(1, MAX_COUNT), default=10_000, show_default=True, help="Play this often."
)
@seed_option("playing the fixtures", "Output")
@level_option("the bounds")
@output_options(default="csv")
def predict(fixtures: str, model: Path, id: str | None, level: float, out: Output, **chosen: Any) -> None:
    """Predict the FIXTURES, a file of pairs (home and away, left and right), by a saved model.

    Writes the chances that the left item wins, ties and loses, with home advantage where the model has it, and their
    bounds; of a model that counts ties half, the chance of a win plus half that of a tie. A row with an item that the
    model does not know is left empty and named. With --table the fixtures are played many times, from strengths as
    they may truly be, and the chances of the final table written.

    With a model of `podium rank --features` a table of features is taken too: item, score, its standard error (which
    includes what features cannot know of an item; online-rabf and the hinge loss have none), bounds and rank.
    """
    from podium.models import load
    from podium.pairwise.base import Ranker

    fitted = load(model)
    if not isinstance(fitted, Ranker):
        raise InputError(f"{model} is a file of {type(fitted).__name__}, not a model of `podium rank … --save`")
    featured = fitted.uses.features and bool(fitted.feature_names_)
    if featured and (id is not None or not _has_sides(fixtures, chosen)):
        for name in ABOUT_PAIRS:
            if is_typed(name):
                raise InputError(Option(name), " is about pairs, and this is a table of features; drop it")
        with _naming(fixtures):
            _predict_items(fitted, fixtures, id, level, out)
        return
    if id is not None:
        raise InputError(Option("id"), " is about a table of features, and these are pairs; drop it")
    for name in ABOUT_PLAYED:
        if is_typed(name) and not chosen["played"]:
            raise InputError(Option(name), " is about ", Option("played"), ", which is not given; add it")
    with _naming(fixtures):
        pairs = _read_pairs(fixtures, fitted, chosen)
    if chosen["table"]:
        if is_typed("level"):
            raise InputError(Option("level"), " is about bounds, and a table has none; drop it")
        with _naming(fixtures):
            _predict_table(fitted, pairs, chosen, out)
        return
    for name in ABOUT_TABLES:
        if is_typed(name) and not (name == "played" and chosen["time"]):  # which tells how dates are written
            raise InputError(Option(name), " is about ", Option("table"), ", which is not given; add it")
    _predict_pairs(fitted, pairs, _place(fixtures), level, out)


def _place(source: str) -> str:
    """The start of a message about a row: its file, as the messages about votes name it."""
    from podium.data.tables.sources import find_sources

    files = find_sources(source)
    return f"{files[0].name if len(files) == 1 else source}, "


@contextmanager
def _naming(source: str) -> Iterator[None]:
    """Name the file in errors about a row."""
    try:
        yield
    except InputError as problem:
        if not str(problem).startswith("row "):
            raise
        raise InputError(_place(source), *problem.args) from problem


def _has_sides(source: str, chosen: dict[str, Any]) -> bool:
    """Whether the file names two items a row."""
    from podium.data.files import read_fixtures

    if chosen["left"] or chosen["right"]:
        return True
    try:
        read_fixtures(source)
    except InputError:
        return False
    return True


def _read_pairs(source: str, model: Ranker, chosen: dict[str, Any]) -> Comparisons:
    from podium.data.files import read_fixtures

    columns = {name: chosen[name] or None for name in ("left", "right", "time")}
    covariates = list(model.covariate_names_) or None
    try:
        return read_fixtures(source, **columns, covariates=covariates, season=chosen.get("played"))
    except InputError as problem:
        if "may be day/month" not in str(problem) or chosen.get("played"):
            raise
        way = ", or add ", Option("played"), ", a file of the games so far, whose dates say which"
        raise InputError(*problem.args, *way) from problem


def _predict_pairs(model: Ranker, pairs: Comparisons, place: str, level: float, out: Output) -> None:
    import numpy as np
    import polars as pl

    from podium.evaluate.league import unpredicted

    strange, sentences = unpredicted(model, pairs, place)
    for sentence in sentences:
        say(sentence)
    chances = np.where(strange[:, None], np.nan, model.predict_proba(pairs))
    half = model.counts_ties_half_
    names = ("win_plus_half_tie",) if half else ("win", "tie", "loss")  # the right item's half is what is left to 1
    columns: dict[str, Any] = {name: chances[:, k] for k, name in enumerate(names)}
    bounds = model.predict_interval(pairs, level)
    if bounds is not None:
        for k, name in enumerate(names):
            for end, values in zip(("lower", "upper"), bounds, strict=True):
                columns[f"{name}_{end}"] = np.where(strange, np.nan, values[:, k])
    elif is_typed("level"):
        raise InputError(Option("level"), f" is about bounds, and {type(model).__name__} knows none; drop it")
    shown = pairs.to_frame().select(pl.col("^left|right|time$"))
    out.write(shown.with_columns(pl.DataFrame(columns).fill_nan(None)))
    bounds_words = "" if bounds is None else f"; bounds hold with {100 * level:.4g} % confidence"
    if bounds is not None and model.tie_strength_ is not None and model.tie_strength_interval(level) is None:
        bounds_words += ", the strength of ties taken as known"
    outcomes = "left wins, plus half a tie" if half else "left wins, ties, loses"
    say(f"{counted(int((~strange).sum()), 'pair')} predicted: {outcomes}{bounds_words}")
    say_if_half(model)


def _say_if_played(pairs: Comparisons, played: Comparisons) -> None:
    """A list of all games of a season holds those that were played, which would be played again.

    Where some pair met more than once on the same side, a further game is nothing to wonder at.
    """
    from collections import Counter

    met: Counter[tuple[Any, Any]] = Counter()
    times = [1] * len(played.left) if played.count is None else played.count.tolist()
    for i, j, often in zip(played.left.tolist(), played.right.tolist(), times, strict=True):
        met[played.items[i], played.items[j]] += often
    sides = zip(pairs.left.tolist(), pairs.right.tolist(), strict=True)
    again = [row for row, (i, j) in enumerate(sides, start=1) if (pairs.items[i], pairs.items[j]) in met]
    if again and max(met.values()) == 1:
        told = f"{counted(len(again), 'fixture')} of {len(pairs.left):,}"
        say(f"{told}, as row {again[0]}, met on the same side in --played already; remove those that were played")


def _predict_table(model: Ranker, pairs: Comparisons, chosen: dict[str, Any], out: Output) -> None:
    from podium.data.files import read_comparisons
    from podium.evaluate.league import TOP, before_first_vote, final_table

    try:
        points = [float(part) for part in chosen["points"].split(",")]
    except ValueError:
        points = []
    if len(points) != 3:
        raise InputError(Option("points", chosen["points"]), ": give three numbers, as 3,1,0")
    played = None
    if chosen["played"]:
        named = {name: chosen[name] for name in ("left", "right", *ABOUT_PLAYED) if chosen[name]}
        played = read_comparisons(chosen["played"], **named, keep="counts", judge=False, group=False)
    early, words = before_first_vote(model, pairs)
    if early.any():
        raise InputError(f"row {int(early.argmax()) + 1}: {words}; correct the date, or remove the row")
    if played is not None and played.sided:
        _say_if_played(pairs, played)
    numbers = {name: chosen[name] for name in ("top", "draws", "seed")}
    try:
        frame = final_table(model, pairs, played, points=points, **numbers)
    except InputError as problem:
        if "is not in the model" not in str(problem):
            raise
        others = "" if model.uses.features else ", by --method rabf or dynamic"
        ways = ", leave its fixtures out, or fit a model that knows it by a row of ", Option("features"), others
        raise InputError(*problem.args, *ways) from problem
    out.write(frame.rename({"top": f"top_{chosen['top'] or min(TOP, len(frame) - 1)}"}))
    say(f"{counted(len(pairs.left), 'fixture')} played {counted(int(chosen['draws']), 'time')}; equal points: by lot")
    if played is None:
        say("points so far are not given (--played FILE); the table is of the fixtures alone")


def _predict_items(model: Any, source: str, id: str | None, level: float, out: Output) -> None:
    import polars as pl

    from podium.data.features import few
    from podium.data.files import read_table

    table = read_table(source)
    labels = _label_column(model, table, id)
    frame = _scored(model, table, labels, level)
    out.write(frame)
    say(f"{counted(len(frame), 'item')} scored by {counted(len(model.feature_names_), 'feature')}")
    voted = set(map(str, model.ranking_.items)) - set(map(str, getattr(model, "unseen_", ())))
    known = [item for item in frame["item"].cast(pl.String).to_list() if item in voted] if labels else []
    if known:
        votes = f"votes that the model has on {counted(len(known), 'item')} of them ({few(known)})"
        say(f"these scores leave out the {votes}; the leaderboard of podium rank counts them")


def _label_column(model: Any, table: pl.DataFrame, chosen: str | None) -> str | None:
    if chosen is not None and chosen not in table.columns:
        raise InputError(f"no column {chosen!r} (given as ", Option("id"), f"); found {', '.join(table.columns)}")
    others = [name for name in table.columns if name not in model.feature_columns_]
    if chosen is None and len(others) > 1:
        raise InputError(f"columns {', '.join(others)} are no features; say which names the items by ", Option("id"))
    return chosen or (others[0] if others else None)


def _scored(model: Any, table: pl.DataFrame, labels: str | None, level: float) -> pl.DataFrame:
    import polars as pl

    from podium.pairwise.online import OnlineRABF
    from podium.ranking.uncertainty import quantile

    if labels is not None and table[labels].null_count():
        row = int(table[labels].is_null().arg_true()[0]) + 1
        raise InputError(f"row {row}: column {labels!r} is empty; name every item, or remove the row")
    scores: Any
    errors: Any
    if not isinstance(model, OnlineRABF) and model.ranking_.information is not None:
        scores, errors = model.predict(table, return_std=True)
    else:  # neither online models nor the hinge loss know errors
        scores, errors = model.predict(table), [None] * len(table)
    if labels is not None and (again := table[labels].is_duplicated()).any():
        item = table[labels][int(again.arg_true()[0])]
        first, second = (int(row) + 1 for row in (table[labels] == item).arg_true()[:2])
        raise InputError(f"row {second}: {item!r} appears in row {first} too; remove one")
    items = table[labels].to_list() if labels else list(range(1, len(table) + 1))
    frame = pl.DataFrame({"item": items, "score": scores, "std_error": pl.Series(errors, dtype=pl.Float64)})
    half = quantile(level) * frame["std_error"]
    frame = frame.with_columns((frame["score"] - half).alias("lower"), (frame["score"] + half).alias("upper"))
    frame = frame.sort("score", descending=True, maintain_order=True)
    return frame.with_columns(pl.col("score").rank("min", descending=True).cast(pl.Int64).alias("rank"))
