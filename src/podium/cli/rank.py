"""`podium rank`: a file of votes becomes a leaderboard."""

from __future__ import annotations

import warnings
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from podium.cli.assisted import rank_assisted
from podium.cli.boards import Boards
from podium.cli.campaign_files import asks_for_a_fit, campaign_in, campaign_votes, say_if_chosen, show_standing
from podium.cli.columns import Columns, column_options
from podium.cli.features import Knowledge, knowledge_options, refuse_unused
from podium.cli.help import GroupedCommand, option
from podium.cli.marking import Marking, marking_options
from podium.cli.methods import RankerOptions, begun, maker, ranker_options
from podium.cli.options import output_options, save_option, votes_argument
from podium.cli.output import Output, reading, say
from podium.cli.show import Intervals, Pictures, Selection, Show, interval_options, picture_options, selection_options
from podium.errors import InputError, Option, PodiumWarning
from podium.pairwise import ranker

if TYPE_CHECKING:
    pass

__all__ = ["rank"]

EXAMPLES = (
    ("podium rank votes.csv", "a leaderboard with confidence and rank intervals"),
    ("podium rank votes.parquet --report board.html", "the same as a page to show"),
    ("podium rank games.csv --left home --right away --side-effect", "with home advantage"),
    ("podium rank essays.csv --marks 0:100 --boundaries A=70,B=55", "marks and grades, each with its interval"),
    ("podium rank survey.csv --unranked below", "a survey in which each listed a top five"),
    ("podium rank games.csv --time date --method dynamic", "scores that move, as of the last day"),
    ("podium rank votes.csv --by language --top 10 -o top.csv", "the best ten of each language, as data"),
)


@click.command(cls=GroupedCommand, examples=EXAMPLES)
@votes_argument
@column_options
@knowledge_options
@ranker_options
@interval_options
@selection_options
@marking_options
@picture_options
@save_option()
@option("Data", "--assist", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE", help="Let a model's votes on these and other pairs help those of people.")  # fmt: skip  # noqa: E501
@output_options()
def rank(
    votes: tuple[str, ...],
    out: Output,
    save: Path | None,
    columns: Columns,
    known: Knowledge,
    fitting: RankerOptions,
    intervals: Intervals,
    selection: Selection,
    marking: Marking,
    pictures: Pictures,
    assist: Path | None,
) -> None:
    """Rank the items of VOTES: files of comparisons, globs, folders, or - for standard input, taken together.

    CSV, Parquet, JSON Lines, JSON and Arrow files are read, plain or gzipped. A row is one of these, recognised by the
    names of its columns, or named by options:

    \b
      winner, loser                             who beat whom
      left, right, outcome                      1, 0, 0.5, or who won
      model_a, model_b, winner                  the same, arena style
      model_a, model_b, winner_model_a, …       the same, as flags
      left, right, left_wins, right_wins, ties  how often each won
      left, right, margin                       by how much left won
      home, away, home_goals, away_goals        a game; FTR (H, D, A) too
      ranking                                   a whole order: a > b > c, or
                                                a > "b > c" with an item in quotes
      Rank 1, Rank 2, Rank 3, …                 the items in these places
      respondent, item, rank                    a row for each item ranked

    A survey with a column for each item that holds its rank is read by --rank-columns. weight, count, judge and group
    may stand beside them. An empty name, as in --judge=, says that there is none.

    A campaign file (campaign.db, or campaign.db#NAME for one of several) gives the order that its page shows; with
    --method, --ci or the like it is fitted as any votes.
    """
    from podium.data.rankings import Rankings

    if assist is not None and marking.wanted:
        raise InputError(Option("assist"), " gives scores, not marks; leave ", Option("marks"), " out")
    if assist is not None:
        rank_assisted(votes, assist, columns, intervals.level, selection.top, out)
        return
    campaign = campaign_in(votes)
    if campaign is not None and not asks_for_a_fit():
        show_standing(campaign, selection.top, out)
        return
    old = begun(fitting, {"by": selection.by, "report": pictures.report} | known.treatment)
    method = fitting.method or ("online-rabf" if old else "rabf" if known.features else "bradley-terry")
    refuse_unused(method, known)
    if ranker(method).uses.order:
        columns.refuse_cluster(f"{method} takes votes one after the other")
    if campaign is not None:
        columns.refuse_cluster("a campaign is one file")
    options = fitting.arguments | known.treatment
    features, make = known.arguments(), None if _may_be_lists(fitting) else maker(method, options)
    pictures.refuse_idle()
    _refuse_idle_time(columns, method, fitting, pictures)
    marking.refuse_idle(selection.differences)
    _refuse_one_of_many(selection, {"save": save, "plot": pictures.plot})
    show = Show(
        pictures, selection, intervals, fitting.described(method, intervals.ci and f"ci={intervals.ci}"), columns, votes
    )
    show.marking = marking if marking.wanted else None
    if campaign is None:
        sides = bool(fitting.arguments.get("side_effect") or known.uses_covariates or pictures.report)
        sets = _read(votes, columns, known.of_votes, method, selection.by, intervals.ci, show, sides)
    else:
        refused = {"by": selection.by, "covariates": known.covariates, "style": known.of_votes.get("style")}
        sets = {None: campaign_votes(campaign, columns.arguments() | refused)}
        say_if_chosen(campaign)
    if any(isinstance(data, Rankings) for data in sets.values()):
        method, sets = _of_rankings(method, fitting, known, pictures, sets)
        make = maker(method, options)
        show.method = fitting.described(method, intervals.ci and f"ci={intervals.ci}")
    make = make or maker(method, options)
    if fitting.balance:
        sets = {value: comparisons.balanced() for value, comparisons in sets.items()}
    prior = _shared_prior(sets, make(), selection)
    boards = Boards(method, columns, known, intervals, selection, marking, out, fitting.balance)
    show.settings = boards.settings
    fitted = {}
    for value, data in sets.items():
        show.part = str(value) if selection.by else None
        if old is None:
            fit = partial(make().fit, data, **features, **prior)
        else:
            fit = partial(old.partial_fit, data, **features)
        board = boards.add(value, data, fit)
        if board is not None:
            fitted[value] = board
    show.part = None
    boards.leave_out()
    quality = marking.quality(votes, columns, campaign) if marking.wanted else None
    if quality is not None:
        show.reliability = quality.words()
        if pictures.report and not quality.reliable:
            show.warnings.append(show.reliability[0])
    if selection.by and (pictures.report or pictures.embed):
        whole = _together(list(sets.values()))
        with boards.about_all():
            model = make().fit(whole, **features)
        model.ranking_ = intervals.applied(model.ranking_, columns.jobs, columns.engine())
        show.warn_if_unlike(boards.settings(model))
        show.write(model, whole, features, {str(value): (fitted[value][1], sets[value]) for value in fitted})
    if not selection.by:
        model, _ = fitted[None]
        show.warn_if_unlike(boards.settings(model))
        show.write(model, sets[None], features)
        if save:
            from podium import models

            models.save(model, save)
    if marking.wanted:
        bounded = any(ranking.information is not None for _, ranking in fitted.values())
        level = intervals.shown_level if bounded else None
        # Reliability and fit are of all votes: without a heading they would be taken for those of the last part.
        heading = ["all votes together"] if selection.by and show.reliability else []
        for line in [*marking.words(level, boards.frames), *heading, *show.reliability]:
            say(line)
    boards.write()


def _may_be_lists(fitting: RankerOptions) -> bool:
    """Whether options may be meant for rankings, which are only known when the files are read."""
    return fitting.method is None and fitting.ties == "efron"


def _of_rankings(
    method: str, fitting: RankerOptions, known: Knowledge, pictures: Pictures, sets: dict[Any, Any]
) -> tuple[str, dict[Any, Any]]:
    """Rankings go as they are to the method made for them, which is the default; to others as pairs."""
    from podium.data.comparisons import Comparisons

    if fitting.method is None:
        method = "plackett-luce"
    if known.uses_covariates:
        raise InputError(Option("covariates"), " belong to a comparison of two items, and these are rankings; drop it")
    if pictures.plot and pictures.picture == "history":
        raise InputError(Option("picture", "history"), " follows votes one by one, and these are rankings; drop it")
    if method != "plackett-luce" or fitting.balance:
        sets = {value: Comparisons.from_rankings(lists) for value, lists in sets.items()}
        if method == "plackett-luce":
            raise InputError(Option("balance"), " is about pairs; name a method for them, as ",
                             Option("method", "bradley-terry"))  # fmt: skip
    return method, sets


def _together(parts: list[Any]) -> Any:
    """All votes of all parts."""
    from podium.data.rankings import Rankings

    if any(isinstance(part, Rankings) for part in parts):
        items = tuple(dict.fromkeys(item for part in parts for item in part.items))
        parts = [part.with_items(items) for part in parts]
    return sum(parts[1:], parts[0])


def _refuse_idle_time(columns: Columns, method: str, fitting: RankerOptions, pictures: Pictures) -> None:
    """Times that nothing would look at, or that are needed and not given."""
    uses = ranker(method).uses
    aged = uses.order or method != "bradley-terry" or fitting.half_life is not None
    if columns.time and not (uses.time and aged) and not (pictures.report or pictures.picture == "history"):
        raise InputError(
            Option("time"), " does not apply to ", Option("method", method), " alone; add ",
            Option("half_life", "90d"), ", or use dynamic or elo",
        )  # fmt: skip
    if pictures.picture == "curves" and method != "dynamic":
        raise InputError(Option("picture", "curves"), " is of scores that move; use ", Option("method", "dynamic"))


def _refuse_one_of_many(selection: Selection, files: dict[str, Path | None]) -> None:
    """A file that holds one ranking cannot hold one for each part."""
    for name, path in files.items():
        if selection.by and path:
            raise InputError(
                Option(name), " holds one ranking; leave ", Option("by"), " out, or rank the parts one by one"
            )


def _read(
    votes: tuple[str, ...],
    columns: Columns,
    covariates: dict[str, Any],
    method: str,
    by: str | None,
    ci: str | None,
    show: Show,
    sides: bool,
) -> dict[Any, Any]:
    """The votes, or those of each part; judges, groups and sides only where they matter, as they multiply the rows."""
    from podium.data.files import read_votes

    cls = ranker(method)
    arguments = columns.arguments()
    if cls.uses.judges or show.pictures.report:
        arguments.setdefault("judge", None)
    for cluster in ("judge", "group"):
        if ci != cluster:
            arguments.setdefault(cluster, False)
    arguments |= covariates
    arguments["keep"] = "rows" if show.in_order or cls.uses.order else "counts"
    arguments["fold_sides"] = not sides and arguments["keep"] == "counts"
    source: Any = list(votes) if len(votes) > 1 else votes[0]
    with reading() as arguments["progress"]:
        return read_votes(source, by, **arguments)


def _shared_prior(sets: dict[Any, Any], model: Any, selection: Selection) -> dict[str, Any]:
    """One penalty for all parts, and where they are pooled the scores that all of them together give."""
    from podium.pairwise.bradley_terry import BradleyTerry, common_sd

    auto = isinstance(model, BradleyTerry) and model.l2 == "auto"
    if selection.pool and not (selection.by and auto):
        raise InputError(
            Option("pool"), " is about the parts of ", Option("by"), " and a penalty from the votes (bradley-terry, ",
            Option("l2", "auto"), ")",
        )  # fmt: skip
    if not (selection.by and auto):
        return {}
    if not selection.pool:
        return {"sd": common_sd(model, sets.values())}
    parts = list(sets.values())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PodiumWarning)  # each part tells its own
        whole = model.unfitted(anchor=None).fit(sum(parts[1:], parts[0])).ranking_
    centre = dict(zip(whole.items, (whole.scores / whole.unit).tolist(), strict=True))
    return {"sd": common_sd(model, parts, centre), "centre": centre}
