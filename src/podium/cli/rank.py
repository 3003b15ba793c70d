"""`podium rank`: a file of votes becomes a leaderboard."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from podium.cli.features import (
    given_features,
    maker,
    penalty_options,
    refuse_unused,
    table_options,
    words_about,
    words_without,
)
from podium.cli.options import (
    NumberRange,
    Penalty,
    chosen_columns,
    column_options,
    level_option,
    output_options,
    plot_option,
    save_option,
    seed_option,
    votes_argument,
)
from podium.cli.output import Output, leaderboard, say, votes_on_items
from podium.cli.show import Show
from podium.errors import InputError, PodiumError
from podium.pairwise import METHODS, ranker
from podium.ranking.leaderboard import prior_words
from podium.text import one_line

if TYPE_CHECKING:
    import polars as pl

    from podium.data.comparisons import Comparisons
    from podium.ranking.ranking import Ranking

__all__ = ["rank"]

# Options that go to the ranker as they are.
PASSED = (
    "l2", "ties", "scale", "loss", "flip_rate", "flip_loss", "feature_penalty", "residual_penalty", "missing", "one_hot"
)  # fmt: skip
PICTURES = ("intervals", "wins", "history")
SPREADS = ("auto", "none", "hessian", "sandwich", "judge", "group", "ranking", "bootstrap")


@click.command()
@votes_argument
@click.option(
    "--method", type=click.Choice(list(METHODS)), help="Ranker.  [default: bradley-terry; rabf with --features]"
)
@click.option(
    "--l2", type=Penalty(), help="Pull of the scores towards zero, or auto: from the votes.  [default: 0.001]"
)
@click.option("--ties", type=click.Choice(["half", "davidson"]), help="Ties are half a win each, or modelled.")
@click.option("--side-effect", is_flag=True, help="Estimate the advantage of the left side.")
@click.option("--scale", type=click.Choice(["log-odds", "elo"]), help="Unit of the scores.")
@click.option("--anchor", metavar="ITEM=SCORE", help="Shift all scores so that ITEM has SCORE.")
@table_options
@penalty_options
@click.option("--ci", type=click.Choice(SPREADS), help="Where intervals come from; judge, group, ranking: clusters.")
@level_option("the intervals")
@click.option("--simultaneous", is_flag=True, help="Rank intervals that hold for all items at once.")
@seed_option("the bootstrap")
@click.option("--top", type=click.IntRange(1), help="Show only the first N items.")
@click.option("--min-votes", type=NumberRange(0), default=0, help="Leave items with fewer votes out of the table.")
@click.option("--by", metavar="COLUMN", help="One ranking for each value of COLUMN.")
@save_option()
@plot_option("the leaderboard")
@click.option(
    "--picture", type=click.Choice(PICTURES), default="intervals", show_default=True, help="What --plot draws."
)
@click.option("--report", type=click.Path(dir_okay=False, path_type=Path), help="Write a page to show: .html.")
@click.option("--title", help="Headline of the page or the picture.")
@output_options()
@column_options
def rank(votes: tuple[str, ...], out: Output, **given: Any) -> None:
    """Rank the items of VOTES: files of comparisons, globs, folders, or - for standard input, taken together.

    CSV, Parquet, JSON Lines, JSON and Arrow files are read, plain or gzipped. A row is one of these, recognised by the
    names of its columns, or named by options:

    \b
      winner, loser                               who beat whom
      left, right, outcome                        1, 0 or 0.5; left, right or tie; or the winner's label
      model_a, model_b, winner                    the same, arena style
      model_a, model_b, winner_model_a, …         the same, as flags
      left, right, left_wins, right_wins, ties    how often each won
      left, right, margin                         by how much left won
      ranking                                     a whole order: a > b > c

    weight, count, judge and group may stand beside them. An empty name, as in --judge=, says that there is none.
    """
    columns = chosen_columns(given)
    from podium.evaluate.differences import settings_of

    given["method"] = given["method"] or ("rabf" if given["features"] else "bradley-terry")
    refuse_unused(given["method"], given)
    features, make = given_features(given), maker(given["method"], _options(given))
    for option in ("save", "plot", "report"):
        if given["by"] and given[option]:
            raise InputError(f"--{option} holds one ranking; leave --by out, or rank the parts one by one")
    _refuse_idle_pictures(given)
    show = Show(given)
    sets = _read(votes, columns, given, show.in_order)
    frames: list[pl.DataFrame] = []
    texts: list[Callable[[], str]] = []
    for value, comparisons in sets.items():
        if given["by"]:
            say(one_line(f"{given['by']} = {value}"))
        with _about(given["by"], value):
            model = make().fit(comparisons, **features)
            ranking = _spread(model.ranking_, given)
            if ranking is not model.ranking_ and ranking.information is not None:
                model.ranking_ = ranking  # all that follows reads this one model
            frame = _table(ranking, given)
            frame = frame.with_columns(_constant("settings", settings_of(model), len(frame)))
        if given["by"]:
            name = given["by"] if given["by"] not in frame.columns else f"by {given['by']}"
            frame = frame.insert_column(0, _constant(name, value, len(frame)))
        texts.append(
            partial(_shown, frame, 2 if ranking.unit < 10 else 0, f"{given['by']} = {value}" if given["by"] else None)
        )
        frames.append(frame)
        _remark(comparisons, ranking, given)
        for line in words_without(given["method"], given) + words_about(model, _level(given)):
            say(line)
        show.write(model, comparisons, features)
        if given["save"]:
            from podium.models import save

            save(model, given["save"])
    import polars as pl

    if given["by"] and all(frame.is_empty() for frame in frames):
        raise InputError(f"no part has an item with {given['min_votes']:,.10g} votes; lower --min-votes")
    out.write(pl.concat(frames, how="vertical_relaxed"), lambda: "\n".join(text() for text in texts))


def _shown(frame: pl.DataFrame, digits: int, title: str | None) -> str:
    text = leaderboard(frame, digits=digits)
    return text if title is None else f"{one_line(title)}\n{text}"


def _refuse_idle_pictures(given: dict[str, Any]) -> None:
    """An option that would do nothing is a mistake worth telling."""
    if _typed("picture") and not given["plot"]:
        raise click.UsageError("--picture is about --plot, which is not given")
    if given["title"] and not (given["plot"] or given["report"]):
        raise click.UsageError("--title is about --plot or --report; neither is given")


def _typed(name: str) -> bool:
    source = click.get_current_context().get_parameter_source(name)
    return source is click.core.ParameterSource.COMMANDLINE


@contextmanager
def _about(by: str | None, value: Any) -> Iterator[None]:
    """Errors about one part of the votes say which."""
    try:
        yield
    except PodiumError as problem:
        if by is None:
            raise
        raise type(problem)(f"{by} = {value}: ", *problem.args) from problem


def _read(
    votes: tuple[str, ...], columns: dict[str, Any], given: dict[str, Any], in_order: bool
) -> dict[Any, Comparisons]:
    from podium.data.files import read_comparisons, read_comparisons_by

    cls = ranker(given["method"])
    if cls.uses.judges or given["report"]:
        columns.setdefault("judge", None)
    for cluster in ("judge", "group"):  # kept only where they matter: they multiply the rows
        if given["ci"] != cluster and cluster not in columns:
            columns[cluster] = False
    if given["covariates"]:
        columns["covariates"] = [name.strip() for name in given["covariates"].split(",")]
    columns["keep"] = "rows" if in_order or cls.uses.order else "counts"
    source: Any = list(votes) if len(votes) > 1 else votes[0]
    if given["by"] is None:
        return {None: read_comparisons(source, **columns)}
    return read_comparisons_by(source, given["by"], **columns)


def _options(given: dict[str, Any]) -> dict[str, Any]:
    """The options of the ranker itself."""
    chosen: dict[str, Any] = {name: given[name] for name in PASSED if given[name] is not None}
    if given["side_effect"]:
        chosen["side_effect"] = True
    if given["anchor"] is not None:
        item, equals, score = given["anchor"].rpartition("=")
        try:
            chosen["anchor"] = (item, float(score))
        except ValueError:
            equals = ""
        if not equals or not item:
            raise click.BadParameter(f"{given['anchor']!r} is not ITEM=SCORE", param_hint="--anchor")
    return chosen


def _spread(ranking: Ranking, given: dict[str, Any]) -> Ranking:
    kind = given["ci"]
    idle = ["level", "simultaneous"] if kind == "none" or ranking.information is None else []
    for name in idle + ([] if kind == "bootstrap" else ["seed"]):
        if _typed(name):
            why = "the bootstrap only" if name == "seed" else "intervals, and there are none"
            raise click.UsageError(f"--{name} is about {why}")
    if kind in (None, "none"):
        return ranking
    if kind in ("judge", "group") and ranking.information is not None and kind not in ranking.information.clusters:
        raise InputError(f"--ci {kind}: no column of the votes is known as the {kind}; name its column by --{kind}")
    if kind in ("judge", "group", "ranking"):
        return ranking.with_uncertainty("cluster", cluster=kind)
    return ranking.with_uncertainty(kind, seed=given["seed"])


def _level(given: dict[str, Any]) -> float | None:
    return None if given["ci"] == "none" else given["level"]


def _table(ranking: Ranking, given: dict[str, Any]) -> pl.DataFrame:
    import polars as pl

    frame = ranking.to_frame(level=_level(given), simultaneous=given["simultaneous"])
    if given["min_votes"]:
        kept = frame.filter(pl.col("comparisons") >= given["min_votes"])
        if kept.is_empty():
            most = f"{max(frame['comparisons'].to_list()):,.10g}"
            none = f"no item has {given['min_votes']:,.10g} votes, the most is {most}"
            if given["by"] is None:
                raise InputError(f"{none}; lower --min-votes")
            say(none)
        frame = kept
    return frame.head(given["top"]) if given["top"] else frame


def _constant(name: str, value: Any, rows: int) -> pl.Series:
    import polars as pl

    return pl.Series(name, [value] * rows)


def _remark(comparisons: Comparisons, ranking: Ranking, given: dict[str, Any]) -> None:
    words = [f"{votes_on_items(comparisons)}, {given['method']}"]
    if ranking.information is not None and given["ci"] != "none":
        words.append(f"{100 * given['level']:.4g} % intervals hold the {ranking.held_fixed} fixed")
    say("; ".join(words))
    if ranking.posterior is not None:
        say(prior_words(ranking.posterior.ridge**-0.5))
    if ranking.note:
        say(ranking.note)
