"""Pictures and pages of a leaderboard, for `podium rank --plot`, `--report` and `--embed`."""

from __future__ import annotations

import dataclasses
import shlex
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import click

from podium.cli.calling import gathered
from podium.cli.help import option
from podium.cli.messages import worded
from podium.cli.options import MAX_COUNT, NumberRange, is_typed, level_option, plot_option, seed_option
from podium.cli.output import say, say_if_half
from podium.cli.standings import standing_in
from podium.errors import DataWarning, InputError, Option, PodiumWarning

if TYPE_CHECKING:
    from podium.cli.columns import Columns
    from podium.cli.marking import Marking
    from podium.data.comparisons import Comparisons
    from podium.data.rankings import Rankings
    from podium.pairwise.plackett_luce import GoodnessOfFit
    from podium.ranking.ranking import Ranking

Part: TypeAlias = "tuple[Ranking, Comparisons | Rankings]"
__all__ = ["Intervals", "Pictures", "Selection", "Show", "interval_options", "picture_options", "selection_options"]

MANY_ROWS = 100_000  # votes with covariates beyond which they are simulated 39 times only
PICTURES = ("intervals", "wins", "history", "curves")
SOURCES = ("auto", "none", "hessian", "sandwich", "judge", "group", "ranking", "bootstrap")


@dataclass(frozen=True, slots=True)
class Intervals:
    """Where intervals come from, and of which level they are."""

    ci: str | None
    level: float
    simultaneous: bool
    ranks: str | None
    reference: str | None
    seed: int

    @property
    def shown_level(self) -> float | None:
        """The level; None where no intervals are wanted."""
        return None if self.ci == "none" else self.level

    def applied(self, ranking: Ranking, jobs: int | None = 1, engine: Any = None) -> Ranking:
        """The ranking with intervals of this kind; an option that would do nothing is refused."""
        idle = (
            ["level", "simultaneous", "ranks", "reference"] if self.ci == "none" or ranking.information is None else []
        )
        for name in idle + ([] if self.ci == "bootstrap" else ["seed"]):
            if is_typed(name):
                why = "the bootstrap only; add --ci bootstrap" if name == "seed" else "intervals, and there are none"
                raise InputError(Option(name), f" is about {why}")
        ranking = self._estimated(ranking, jobs, engine)
        if self.ranks is None and self.reference is None:
            return ranking
        if self.ranks == "pairwise" and self.ci is not None:
            raise InputError(
                Option("ranks", "pairwise"), " goes by the posterior's own errors; drop ", Option("ci", self.ci)
            )
        same = [item for item in ranking.items if str(item) == self.reference]  # a label may be a number
        return ranking.shown(reference=same[0] if len(same) == 1 else self.reference, rank_method=self.ranks)

    def _estimated(self, ranking: Ranking, jobs: int | None, engine: Any) -> Ranking:
        if self.ci in (None, "none"):
            return ranking
        if self.ci in ("judge", "group", "ranking"):
            known = ranking.information
            if known is not None and self.ci not in known.clusters and self.ci != "ranking":
                lacking = f": no column of the votes is known as the {self.ci}; name its column by "
                raise InputError(Option("ci", self.ci), lacking, Option(self.ci))
            return ranking.with_uncertainty("cluster", cluster=self.ci)
        return ranking.with_uncertainty(self.ci, seed=self.seed, jobs=jobs or 1, engine=engine)


interval_options = gathered(
    "intervals",
    Intervals,
    option(
        "Intervals",
        "--ci",
        type=click.Choice(SOURCES),
        help="Compute intervals in this way; judge, group and ranking cluster the votes.",
    ),
    level_option("the intervals"),
    option("Intervals", "--simultaneous", is_flag=True, help="Make the rank intervals hold for all items at once."),
    option(
        "Intervals",
        "--ranks",
        type=click.Choice(["pairwise", "guaranteed"]),
        help="Compute rank intervals from the posterior, or wider ones that hold whatever the true scores are.  "
        "[default: pairwise with --l2 auto, else guaranteed]",
    ),
    option(
        "Intervals", "--reference", metavar="ITEM|mean", help="Give intervals relative to this item.  [default: mean]"
    ),
    seed_option("the bootstrap", "Intervals"),
)


@dataclass(frozen=True, slots=True)
class Selection:
    """Which items are shown, in one ranking or several, and whether as a leaderboard or pair by pair."""

    top: int | None
    min_votes: float
    by: str | None
    pool: bool
    differences: bool


selection_options = gathered(
    "selection",
    Selection,
    option("Output", "--top", type=click.IntRange(1, MAX_COUNT), help="Show only the first N items.", metavar="N"),
    option(
        "Output", "--min-votes", type=NumberRange(0), default=0, help="Leave items with fewer votes out of the table."
    ),
    option("Output", "--by", metavar="COLUMN", help="Make one ranking for each value of COLUMN."),
    option(
        "Output", "--pool", is_flag=True, help="With --by: pull few votes towards the scores of all values together."
    ),
    option(
        "Output",
        "--differences",
        is_flag=True,
        help="Show the difference of every two items, with p-values corrected for all pairs.",
    ),
)


@dataclass(frozen=True, slots=True)
class Pictures:
    """What is drawn beside the table."""

    plot: Path | None
    picture: str
    report: Path | None
    embed: Path | None
    since: Path | None
    fixtures: Path | None
    title: str | None

    def refuse_idle(self) -> None:
        """An option that would do nothing is a mistake worth telling."""
        if is_typed("picture") and not self.plot:
            raise InputError(Option("picture"), " is about ", Option("plot"), ", which is not given; add it")
        for name, path in (("since", self.since), ("fixtures", self.fixtures)):
            if path and not self.report:
                raise InputError(Option(name), " is about ", Option("report"), ", which is not given; add it")
        if self.title and not (self.plot or self.report or self.embed):
            raise InputError(
                Option("title"), " is about ", Option("plot"), ", ", Option("report"), " or ", Option("embed"),
                "; add one of them",
            )  # fmt: skip


picture_options = gathered(
    "pictures",
    Pictures,
    plot_option("the leaderboard"),
    option(
        "Output",
        "--picture",
        type=click.Choice(PICTURES),
        default="intervals",
        show_default=True,
        help="Draw this into the file of --plot.",
    ),
    option(
        "Output",
        "--report",
        type=click.Path(dir_okay=False, path_type=Path),
        metavar="FILE",
        help="Write a page to show, an .html file.",
    ),
    option(
        "Output",
        "--embed",
        type=click.Path(dir_okay=False, path_type=Path),
        metavar="FILE",
        help="Write the leaderboard as a small .svg picture for other pages: the first ten, or --top.",
    ),
    option(
        "Output",
        "--since",
        type=click.Path(exists=True, dir_okay=False, path_type=Path),
        metavar="FILE",
        help="Show on the page who moved since this leaderboard, a table or a saved model.",
    ),
    option(
        "Output",
        "--fixtures",
        type=click.Path(exists=True, dir_okay=False, path_type=Path),
        metavar="FILE",
        help="Show on the page the chances of these games to come, a file of pairs (home and away).",
    ),
    option("Output", "--title", metavar="TEXT", help="Put this headline on the page or the picture."),
)


def _only_once(path: Path) -> bool:
    """Whether it is a pipe, or the like, that gives its data once."""
    return path.exists() and not (path.is_file() or path.is_dir())


class Show:
    """What the user asked to be shown. The page's name and the fixtures are checked before any vote is read."""

    def __init__(
        self,
        pictures: Pictures,
        selection: Selection,
        intervals: Intervals,
        method: str,
        columns: Columns,
        votes: Sequence[str] = (),
    ) -> None:
        self.pictures = pictures
        again = all(path != "-" and not _only_once(Path(path)) for path in votes)
        self.season = list(votes) if votes and again else None  # how it writes dates, fixtures may too
        self.selection = selection
        self.intervals = intervals
        self.method = method
        self.columns = columns  # of the votes, and of the fixtures where they have the same
        self.marking: Marking | None = None  # of the page, where marks are asked for
        self.warnings: list[str] = []
        self.settings: Callable[[Any], str] | None = None  # how a ranker was fitted, in a line
        self.remarks: dict[str, list[str]] = {}  # warnings about parts of the votes, by their names
        self.part: str | None = None  # that is being fitted
        self.reliability: list[str] = []  # sentences on how far marks can be relied on
        if pictures.report:
            from podium.show import report

            report.check_path(pictures.report)
            self._listen()
        if pictures.embed:
            from podium.show.embedded import check_embed_path

            check_embed_path(pictures.embed)
        if pictures.fixtures:
            self._fixtures(pictures.fixtures)
        self.since = standing_in(str(pictures.since)) if pictures.since else None

    @property
    def in_order(self) -> bool:
        """Whether the order of the votes is needed."""
        return bool(self.pictures.report) or (bool(self.pictures.plot) and self.pictures.picture == "history")

    def warn_if_unlike(self, settings: str) -> None:
        """Say so where the leaderboard of `--since` was fitted in another way than the page's."""
        from podium.evaluate.differences import read_settings, unlike_settings, unlike_words

        if self.since is not None and self.pictures.since is not None:
            unlike = unlike_settings(self.since.settings, read_settings(settings))
            if unlike:
                warnings.warn(f"since {self.pictures.since.name}: {unlike_words(unlike)}", DataWarning, stacklevel=2)

    def _listen(self) -> None:
        """Keep our warnings for the page, and pass them on as before."""
        tell = warnings.showwarning

        def heard(message: Warning | str, category: type[Warning], *rest: Any, **more: Any) -> None:
            if issubclass(category, PodiumWarning):
                told = self.warnings if self.part is None else self.remarks.setdefault(self.part, [])
                told.append(worded(message))
            tell(message, category, *rest, **more)

        warnings.showwarning = heard

    def write(
        self,
        model: Any,
        comparisons: Comparisons | Rankings,
        features: dict[str, Any],
        parts: Mapping[str, Part] | None = None,
    ) -> None:
        """Draw the picture and write the page, where asked for: of this one model, and the features it was given.

        The page shows the rankings of `parts` of the votes beside it.
        """
        if self.pictures.embed:
            from podium.show.embedded import embed, write_embed

            picture = embed(
                model.ranking_, title=self.pictures.title or "Leaderboard", level=self.intervals.shown_level,
                simultaneous=self.intervals.simultaneous, top=self.selection.top, min_votes=self.selection.min_votes,
            )  # fmt: skip
            write_embed(self.pictures.embed, picture)
        if self.pictures.plot:
            self._plot(self.pictures.plot, model, comparisons, features)
        if self.pictures.report:
            pairs = {name: (ranking, _as_pairs(votes)) for name, (ranking, votes) in (parts or {}).items()}
            self._report(self.pictures.report, model, comparisons, features, pairs)

    def _plot(self, path: Path, model: Any, comparisons: Comparisons | Rankings, features: dict[str, Any]) -> None:
        from podium.show import plots
        from podium.show.time_plots import MAX_CURVES, curves

        ranking, top, title = model.ranking_, self.selection.top, self.pictures.title
        unit, least = plots.unit_of(ranking, model), self.selection.min_votes
        if self.pictures.picture == "intervals":
            level = self.intervals.shown_level
            figure = plots.intervals(ranking, level=level, top=top, unit=unit, min_votes=least, title=title)
        elif self.pictures.picture == "wins":
            figure = plots.wins(_as_pairs(comparisons), ranking, top=top, min_votes=least, title=title)
        elif self.pictures.picture == "curves":
            shown = self._shown(ranking)
            idle = set(model.unseen_)  # ranked by features alone: there is no past to draw
            items = [item for item in ranking.order if item not in idle and (shown is None or item in shown)]
            level = self.intervals.shown_level
            named = items[: MAX_CURVES if top is None else top]
            figure = curves(model.curves(named, level=level or 0.95), bands=level is not None, unit=unit, title=title)
        else:
            from podium.evaluate.diagnosis import score_history

            votes = _as_pairs(comparisons)
            past = score_history(votes, model, **features).among(self._shown(ranking))
            figure = plots.history(
                past.votes.tolist(), past.items, past.scores, top=top, unit=unit, title=title, noun=votes.noun
            )
        plots.save(figure, path)

    def _with_intervals(self, ranking: Ranking) -> Ranking:
        """The ranking with the intervals asked for."""
        return self.intervals.applied(ranking, self.columns.jobs, self.columns.engine())

    def _shown(self, ranking: Ranking) -> set[Any] | None:
        """The items with votes enough; None for all."""
        least = self.selection.min_votes
        if not least or ranking.record is None:
            return None
        won, lost, tied = ranking.record
        return {item for item, votes in zip(ranking.items, won + lost + tied, strict=True) if votes >= least}

    def _ranks_before(self) -> dict[str, int] | None:
        """The rank of each item in the leaderboard of `--since`."""
        from podium.ranking.ranks import ranks

        if self.since is None:
            return None
        places = ranks(self.since.scores) if self.since.ranks is None else self.since.ranks
        return dict(zip(map(str, self.since.items), places.tolist(), strict=True))

    def _fixtures(self, path: Path, covariates: list[str] | None = None) -> Comparisons:
        """The fixtures, by the names of the votes' columns where the file has them: both items, and the date."""
        from podium.data.files import read_fixtures, read_table

        there = read_table(str(path)).columns
        typed = {name: getattr(self.columns, name) for name in ("left", "right", "time")}
        named = {name: column for name, column in typed.items() if column in there}
        try:
            return read_fixtures(str(path), **named, covariates=covariates, season=self.season)
        except InputError as problem:
            raise InputError(f"{path.name}: ", *problem.args) from problem

    def _games_to_come(self, path: Path, model: Any) -> Comparisons:
        """The fixtures with all that the model needs; what it cannot predict is said."""
        from podium.evaluate.league import unpredicted

        fixtures = self._fixtures(path, list(model.covariate_names_) or None)
        for sentence in unpredicted(model, fixtures, f"{path.name}, ")[1]:
            say(sentence)
        say_if_half(model)
        return fixtures

    def _report(
        self,
        path: Path,
        model: Any,
        votes: Comparisons | Rankings,
        features: dict[str, Any],
        parts: Mapping[str, tuple[Ranking, Comparisons]],
    ) -> None:
        from podium.data.rankings import Rankings
        from podium.evaluate.diagnosis import diagnose, score_history
        from podium.show.report import Report
        from podium.show.report_parts import Beside, listings, sentence

        comparisons = _as_pairs(votes)
        shown = self._shown(model.ranking_)
        lists = comparisons.group_is == "ranking"  # whose pairs did not come one by one
        singly = comparisons.ordered and comparisons.count is None and not lists
        history = None
        if singly and len(comparisons.left) >= 100:
            history = score_history(comparisons, model, **features).among(shown)
        fixtures = self._games_to_come(self.pictures.fixtures, model) if self.pictures.fixtures else None
        by_vote = comparisons.covariates is not None and len(comparisons.left) > MANY_ROWS
        level = self.intervals.shown_level if model.ranking_.information is not None else None
        marked, words = {}, ""
        if self.marking:
            frame = self.marking.applied(model.ranking_, model.ranking_.to_frame(level), level)
            marked = self.marking.columns(frame)
            words = " ".join(f"{sentence(line)}." for line in self.marking.words(level, [frame]))
        if isinstance(votes, Rankings):
            marked |= listings(votes)
            words += " First, listed: rankings that put the item first, and that list it at all"
            words += "." if votes.weight is None or (votes.weight == 1).all() else ", each counted by its weight."
        if comparisons.weight is not None and (comparisons.weight != 1).any():
            words += f" {'Pairs' if lists else f'{comparisons.noun.capitalize()}s'} of an item are sums of weights."
        bare, plain = _without_effects(model, comparisons, features, self._with_intervals) or (None, None)
        page = Report(
            model.ranking_,
            comparisons,
            title=self.pictures.title or "Leaderboard",
            method=self.method,
            command=shlex.join(["podium", *sys.argv[1:]]),
            warnings=tuple(self.warnings),
            level=self.intervals.shown_level,
            simultaneous=self.intervals.simultaneous,
            top=self.selection.top,
            min_votes=self.selection.min_votes,
            model=model,
            settings=self.settings(model) if self.settings else None,
            diagnosis=None
            if lists
            else diagnose(comparisons, model, **features, shown=shown, replicates=39 if by_vote else 199),
            history=history,
            reliability=self.reliability,
            fit=_fit_of(model, votes),
            beside=Beside(
                by=self.selection.by if parts else None,
                parts=parts,
                remarks=self.remarks,
                before=self._ranks_before(),
                before_name=self.pictures.since.name if self.pictures.since else "before",
                plain=plain,
                plain_settings=self.settings(bare) if self.settings and bare is not None else None,
                more=marked,
                more_note=words,
            ),
            fixtures=fixtures,
        )
        page.write(path)


def _as_pairs(votes: Comparisons | Rankings) -> Comparisons:
    """The votes, or every pair that the rankings put in order: what pages and pictures of who beat whom show."""
    from podium.data.comparisons import Comparisons
    from podium.data.rankings import Rankings

    return Comparisons.from_rankings(votes) if isinstance(votes, Rankings) else votes


def _fit_of(model: Any, votes: Comparisons | Rankings) -> GoodnessOfFit | None:
    """The simulated test of fit of rankings, fewer simulations of many; None where there is none (ties, very many)."""
    from podium.data.rankings import Rankings
    from podium.pairwise.plackett_luce import PlackettLuce

    if not (isinstance(model, PlackettLuce) and isinstance(votes, Rankings)) or votes.tied is not None:
        return None
    cells = len(votes) * len(votes.items)
    return None if cells > 10 * MANY_ROWS else model.goodness_of_fit(replicates=39 if cells > MANY_ROWS else 199)


def _without_effects(
    model: Any, comparisons: Comparisons, features: dict[str, Any], applied: Callable[[Ranking], Ranking]
) -> tuple[Any, Ranking] | None:
    """The ranker and the ranking of the same votes with covariates and sides left in; None where there are none.

    It is fitted and given intervals as if it had been asked for alone: what is chosen from the votes is chosen anew.
    """
    params = model.get_params()
    if comparisons.covariates is None and not params.get("side_effect"):
        return None
    plain = dataclasses.replace(comparisons, covariates=None, covariate_names=())
    bare = type(model)(**params | ({"side_effect": False} if "side_effect" in params else {}))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PodiumWarning)  # the page tells those of its own leaderboard
        return bare, applied(bare.fit(plain, **features).ranking_)
