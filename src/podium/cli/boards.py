"""Boards of a ranking: each part of the votes is fitted, put in a table, and told in words."""

from __future__ import annotations

import math
import shlex
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from podium.cli.columns import Columns
from podium.cli.features import Knowledge, words_without
from podium.cli.marking import Marking
from podium.cli.model_words import words_about
from podium.cli.output import Output, leaderboard, say, table, votes_on_items
from podium.cli.show import Intervals, Selection
from podium.errors import DataWarning, InputError, Option, PodiumError
from podium.ranking.leaderboard import open_end_words, prior_words, score_digits
from podium.text import counted, one_line

if TYPE_CHECKING:
    import numpy as np
    import polars as pl

    from podium.data.comparisons import Comparisons
    from podium.data.rankings import Rankings
    from podium.ranking.ranking import Ranking

__all__ = ["Boards"]


@dataclass(slots=True)
class Boards:
    """The tables of one part of the votes after the other."""

    method: str
    columns: Columns
    known: Knowledge
    intervals: Intervals
    selection: Selection
    marking: Marking
    out: Output
    balance: str | None
    frames: list[pl.DataFrame] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    problems: dict[str, tuple[Comparisons | Rankings, PodiumError]] = field(default_factory=dict)

    def leave_out(self) -> None:
        """Say which parts could not be fitted by themselves, and why; if none could, fail for the first of them."""
        for part, (votes, problem) in self.problems.items():
            if not self.frames:
                raise type(problem)(f"{part}: ", *problem.args) from problem
            words = f"{part}, {votes_on_items(votes)}, is left out: "
            warnings.warn(DataWarning(words, *problem.args), stacklevel=2)

    def about_all(self) -> AbstractContextManager[None]:
        """What is warned of while all parts together are fitted is told of all of them."""
        return _told_below(f"all values of {self.selection.by} together", always=False)

    def _name(self, value: Any) -> str | None:
        return f"{self.selection.by} = {value}" if self.selection.by else None

    def add(self, value: Any, votes: Comparisons | Rankings, fit: Callable[[], Any]) -> tuple[Any, Ranking] | None:
        """Fit a part (all votes, where there are no parts), and say what there is to say; None where that fails."""
        part = self._name(value)
        try:
            with _told_below(part) if part else nullcontext():
                model = fit()
            ranking = self.applied(model)
            frame = self._frame(model, ranking)
        except PodiumError as problem:
            if part is None:
                raise
            self.problems[part] = votes, problem
            return None
        if self.selection.by:
            name = self.selection.by if self.selection.by not in frame.columns else f"by {self.selection.by}"
            frame = frame.insert_column(0, _constant(name, value, len(frame)))
        if self.out.for_people:
            values = (
                frame[name].to_list() for name in ("score", "difference", "lower", "upper") if name in frame.columns
            )
            digits, counted_as = score_digits(ranking.unit, *values), f"{_noun(votes)}s"
            if self.marking.wanted:
                text = self.marking.table(frame, self.out.room, counted_as)
            elif self.selection.differences:
                text = table(frame, digits=digits + 2, room=self.out.room)
            else:
                unit = math.inf if model.in_margins else ranking.unit
                text = leaderboard(frame, digits=digits, room=self.out.room, counted_as=counted_as, unit=unit)
            self.texts.append(text if part is None else f"{one_line(part)}\n{text}")
        self.frames.append(frame)
        _remark(votes, model, ranking, self.method, self.intervals, self.selection.pool)
        _say_if_open(frame, _noun(votes).replace("pair", "ranking") + "s")
        level = self.intervals.shown_level
        for line in words_without(self.method, self.known) + words_about(model, level, _sds(votes), _noun(votes)):
            say(line)
        return model, ranking

    def applied(self, model: Any) -> Ranking:
        """The model's ranking with the intervals asked for; the model keeps it, unless it has fewer than its own."""
        ranking = self.intervals.applied(model.ranking_, self.columns.jobs, self.columns.engine())
        if ranking is not model.ranking_ and ranking.information is not None:
            model.ranking_ = ranking  # all that follows reads this one model
        return ranking

    def write(self) -> None:
        """All tables, one below the other."""
        import polars as pl

        if self.selection.by and all(frame.is_empty() for frame in self.frames):
            none = f"no part has an item with {counted(self.selection.min_votes, 'vote')}; lower "
            raise InputError(none, Option("min_votes"))
        self.out.write(pl.concat(self.frames, how="vertical_relaxed"), "\n".join(self.texts))

    def settings(self, model: Any, pool: bool = False) -> str:
        """How a leaderboard was made, by the model and around it."""
        from podium.evaluate.differences import settings_of

        style = self.known.of_votes.get("style") if "covariates" in model.settings_ else None
        more = _more_settings(self.balance, pool, self.intervals.reference, style)
        return settings_of(model) + more

    def _frame(self, model: Any, ranking: Ranking) -> pl.DataFrame:
        frame = _table(ranking, self.intervals, self.selection)
        if self.selection.differences:
            frame = _differences(ranking, self.intervals, frame["item"])
        else:
            frame = frame.with_columns(_constant("settings", self.settings(model, self.selection.pool), len(frame)))
        return self.marking.applied(ranking, frame, self.intervals.shown_level) if self.marking.wanted else frame


def _noun(votes: Comparisons | Rankings) -> str:
    """What the table counts; of rankings the pairs that they put in order."""
    from podium.data.rankings import Rankings

    return "pair" if isinstance(votes, Rankings) else votes.noun


@contextmanager
def _told_below(name: str, always: bool = True) -> Iterator[None]:
    """Say the name, then what was warned of meanwhile; nothing if it fails."""
    with warnings.catch_warnings(record=True) as heard:
        yield
    if always or heard:
        say(one_line(name))
    for each in heard:
        warnings.showwarning(each.message, each.category, each.filename, each.lineno)


def _table(ranking: Ranking, intervals: Intervals, selection: Selection) -> pl.DataFrame:
    import polars as pl

    frame = ranking.to_frame(level=intervals.shown_level, simultaneous=intervals.simultaneous)
    if selection.min_votes:
        if frame["comparisons"].null_count() == frame.height:
            raise InputError(Option("min_votes"), ": a model that learns on does not know the votes of items; drop it")
        kept = frame.filter(pl.col("comparisons") >= selection.min_votes)
        if kept.is_empty():
            most = f"{max(frame['comparisons'].to_list()):,.10g}"
            none = f"no item has {counted(selection.min_votes, 'vote')}, the most is {most}"
            if selection.by is None:
                raise InputError(f"{none}; lower ", Option("min_votes"))
            say(none)
        frame = kept
    return frame.head(selection.top) if selection.top else frame


def _differences(ranking: Ranking, intervals: Intervals, shown: pl.Series) -> pl.DataFrame:
    """Differences between the items shown; p-values are corrected for all pairs, since who is shown is no accident."""
    import polars as pl

    if intervals.shown_level is None:
        raise InputError(
            Option("differences"), " is about standard errors, and there are none; leave ", Option("ci"), " out"
        )
    labels = shown.cast(pl.String)
    frame = ranking.differences(intervals.shown_level)
    return frame.filter(pl.col("item").is_in(labels.implode()) & pl.col("against").is_in(labels.implode()))


def _constant(name: str, value: Any, rows: int) -> pl.Series:
    import polars as pl

    return pl.Series(name, [value] * rows)


def _sds(comparisons: Comparisons | Rankings) -> np.ndarray | None:
    """Standard deviations of the covariates, where there are any."""
    from podium.data.rankings import Rankings

    if isinstance(comparisons, Rankings) or comparisons.covariates is None:
        return None
    return comparisons.covariate_sds()


def _more_settings(balance: str | None, pool: bool, reference: str | None, style: str | None) -> str:
    """What the model does not know of, as words of a command line."""
    settings = {"balance": balance, "pool": pool or None, "reference": reference, "style": style}
    return "".join(" " + shlex.quote(f"{name}={value}") for name, value in settings.items() if value is not None)


def _remark(
    comparisons: Comparisons | Rankings, model: Any, ranking: Ranking, method: str, intervals: Intervals, pool: bool
) -> None:
    words = [f"{votes_on_items(comparisons)}, {method}"]
    if ranking.information is not None and intervals.ci != "none":
        fixed = ranking.held_fixed.removesuffix(" score")
        kind = "credible" if model.credible_intervals_ else "confidence"
        words.append(f"{100 * intervals.level:.4g} % {kind} intervals, relative to the {fixed}")
    say("; ".join(words))
    if ranking.posterior is not None and ranking.posterior.ridge > 0:
        noun = _noun(comparisons).replace("pair", "ranking") + "s"
        say(prior_words(ranking.posterior.ridge**-0.5, "that of all parts together" if pool else "the mean", noun))
        _say_if_outside(ranking, intervals, noun)
    if ranking.note:
        say(ranking.note)


def _say_if_open(frame: pl.DataFrame, votes: str) -> None:
    """Why an interval of the table does not end: that of the mark, where there are marks."""
    for lower, upper in (("mark_lower", "mark_upper"), ("lower", "upper")):
        if lower in frame.columns:
            if words := open_end_words(frame[lower].to_list(), frame[upper].to_list(), votes):
                say(words)
            return


def _say_if_outside(ranking: Ranking, intervals: Intervals, votes: str = "votes") -> None:
    """Scores are pulled by the penalty and intervals are not: where the two part, a reader must be told."""
    if ranking.information is None or intervals.shown_level is None:
        return
    lower, upper = ranking.intervals(intervals.shown_level)
    outside = int(((ranking.scores < lower) | (ranking.scores > upper)).sum())
    if outside:
        have = "item has its score" if outside == 1 else "items have their scores"
        say(
            f"{outside:,} {have} outside the interval: the penalty pulls scores, and intervals are of the {votes} "
            "alone; --l2 0.001 all but drops it"
        )
