"""Marks and grades on the command line (comparative judgement), and words on how reliable they are."""

from __future__ import annotations

import difflib
import math
from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from podium.cli.calling import gathered
from podium.cli.columns import Columns
from podium.cli.help import option
from podium.errors import InputError, Option, PodiumError
from podium.text import chance, fitted, number, one_line

if TYPE_CHECKING:
    import polars as pl

    from podium.data.comparisons import Comparisons
    from podium.data.rankings import Rankings
    from podium.evaluate.judging import Judging
    from podium.ranking.ranking import Ranking
    from podium.store.content import Content

__all__ = ["Boundaries", "Marking", "Scale", "marking_options"]

TIMES = {"ms": 1000.0, "seconds": 1.0, "duration": 1.0}  # columns of how long a judgement took, per second


class Scale(click.ParamType):  # type: ignore[type-arg]  # not generic in older releases
    """The two ends of a scale of marks."""

    name = "LOW:HIGH"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Divide at the colon."""
        if isinstance(value, tuple):
            return value
        try:
            low, high = (float(part) for part in value.split(":"))
        except ValueError:
            self.fail(f"{value!r} is not LOW:HIGH, as 0:100", param, ctx)
        if not (math.isfinite(low) and math.isfinite(high) and low != high):
            self.fail(f"{value!r}: the two ends must be different numbers", param, ctx)
        return low, high


class Boundaries(click.ParamType):  # type: ignore[type-arg]  # not generic in older releases
    """Grades and the least mark of each."""

    name = "GRADE=MARK,…"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Divide at commas and at the last equals sign of each."""
        if isinstance(value, dict):
            return value
        grades: dict[str, float] = {}
        for part in value.split(","):
            name, _, mark = part.rpartition("=")
            try:
                least = float(mark)
            except ValueError:
                name = ""
            if not name.strip():
                self.fail(f"{part!r} is not GRADE=MARK, as A=70", param, ctx)
            if name.strip() in grades:
                self.fail(f"grade {name.strip()!r} is given twice; name each once", param, ctx)
            grades[name.strip()] = least
        return grades


@dataclass(frozen=True, slots=True)
class Marking:
    """What scale marks are on, where grades begin, and how pairs were found."""

    marks: tuple[float, float] | None
    known_marks: str | None
    boundaries: dict[str, float] | None
    chosen_pairs: bool

    @property
    def wanted(self) -> bool:
        """Whether marks are asked for."""
        return self.marks is not None or self.known_marks is not None

    def refuse_idle(self, differences: bool) -> None:
        """An option that would do nothing is a mistake worth telling."""
        if not self.wanted:
            for name, value in (("boundaries", self.boundaries), ("chosen_pairs", self.chosen_pairs)):
                if value:
                    raise InputError(
                        Option(name), " is about marks; add ", Option("marks", "0:100"), " or ", Option("known_marks")
                    )
        elif differences:
            raise InputError(Option("differences"), " is about scores; leave ", Option("marks"), " out")

    def known(self) -> dict[str, float] | None:
        """The marks that were known beforehand, by item."""
        if self.known_marks is None:
            return None
        from podium.data.files import read_table

        frame = read_table(self.known_marks)
        names = {name.strip().casefold(): name for name in frame.columns}
        lacking = [name for name in ("item", "mark") if name not in names]
        if lacking:
            raise InputError(
                f"{self.known_marks} has no column {lacking[0]!r}; it needs item and mark, one row for each"
            )
        known: dict[str, float] = {}
        rows = zip(frame[names["item"]].to_list(), frame[names["mark"]].to_list(), strict=True)
        for row, (item, mark) in enumerate(rows, start=1):
            where = f"{self.known_marks}, row {row}"
            if item is None or not str(item).strip():
                raise InputError(f"{where}: there is no item; name it or remove the row")
            if str(item) in known:
                raise InputError(f"{where}: {item!r} has a mark already; keep one of them")
            known[str(item)] = _number(mark)
            if not math.isfinite(known[str(item)]):
                raise InputError(f"{where}: the mark of {item!r} is {mark!r}; give a number")
        return known

    def applied(self, ranking: Ranking, frame: pl.DataFrame, level: float | None) -> pl.DataFrame:
        """The table of a ranking with marks and grades beside its scores."""
        from podium.ranking.marks import award_marks

        known, labels = self.known(), {str(item): item for item in ranking.items}
        self._refuse_strangers(known, labels, "there are no votes on")
        anchors = None if known is None else {labels.get(item, item): mark for item, mark in known.items()}
        marks = award_marks(ranking, self.marks, known=anchors, boundaries=self.boundaries, level=level or 0.95)
        added = marks.to_frame()
        if level is None:
            added = added.drop("mark_lower", "mark_upper", *(name for name in added.columns if _is_chance(name)))
        import polars as pl

        key = frame.with_columns(pl.col("item").cast(pl.String))
        joined = key.join(added, on="item", how="left", maintain_order="left")
        return joined.select("item", *added.columns[1:], pl.all().exclude("item", *added.columns[1:]))

    def _refuse_strangers(self, known: dict[str, float] | None, labels: Collection[str], lacking: str) -> None:
        for row, item in enumerate(known or (), start=1):
            if item not in labels:
                same = [label for label in labels if label.strip().casefold() == item.strip().casefold()]
                near = same or difflib.get_close_matches(item, labels, 1)
                way = f"; do you mean {near[0]!r}?" if near else "; correct the name, or remove the row"
                raise InputError(f"{self.known_marks}, row {row}: {lacking} {item!r}{way}")

    def wish(self, items: Collection[str]) -> dict[str, Any] | None:
        """The marks that a campaign of these items is to show, as its options hold them; None for none."""
        self.refuse_idle(False)
        if not self.wanted:
            return None
        known = self.known()
        self._refuse_strangers(known, items, "there is no item")
        scale = None if self.marks is None else list(self.marks)
        wish = {"scale": scale, "known": known, "boundaries": self.boundaries}
        return {name: value for name, value in wish.items() if value is not None}

    def table(self, frame: pl.DataFrame, room: int | None, counted_as: str) -> str:
        """Marks, intervals and grades for people; `counted_as` says what the last column counts."""
        digits = self._digits()
        columns: dict[str, list[str]] = {
            "rank": [str(value) for value in frame["rank"]],
            "item": [one_line(value) for value in frame["item"]],
            "mark": [number(value, digits) for value in frame["mark"]],
        }
        if "mark_lower" in frame.columns and frame["mark_lower"].null_count() < len(frame):
            ends = zip(frame["mark_lower"], frame["mark_upper"], strict=True)
            columns["interval"] = [f"{number(a, digits)} … {number(b, digits)}" for a, b in ends]
        if "known" in frame.columns:
            columns["known"] = ["" if value is None else f"{value:.15g}" for value in frame["known"]]
        if "grade" in frame.columns:
            columns["grade"] = [str(value) for value in frame["grade"]]
        if "chance" in frame.columns:
            columns["chance"] = ["" if value is None else chance(value) for value in frame["chance"]]
        if frame["comparisons"].null_count() < len(frame):
            columns[counted_as] = [f"{value:,.10g}" for value in frame["comparisons"]]
        return fitted(list(columns), list(columns.values()), room, to_left=("item", "grade"))

    def columns(self, frame: pl.DataFrame) -> dict[str, dict[str, tuple[str, float | None]]]:
        """Marks, intervals and grades for a page: for each item what stands there, and what it is sorted by."""
        digits = self._digits()
        found: dict[str, dict[str, tuple[str, float | None]]] = {"Mark": {}}
        for row in frame.to_dicts():
            item, mark = row["item"], row["mark"]
            found["Mark"][item] = number(mark, digits), mark
            if row.get("mark_lower") is not None:
                ends = f"{number(row['mark_lower'], digits)} … {number(row['mark_upper'], digits)}"
                found.setdefault("Mark from … to", {})[item] = ends, row["mark_lower"]
            if row.get("known") is not None:
                found.setdefault("Known", {})[item] = f"{row['known']:.15g}", row["known"]
            if row.get("grade") is not None:
                found.setdefault("Grade", {})[item] = str(row["grade"]), mark
            if row.get("chance") is not None:
                found.setdefault("Chance", {})[item] = chance(row["chance"]), row["chance"]
        return found

    def _digits(self) -> int:
        span = abs(self.marks[1] - self.marks[0]) if self.marks else 100.0
        return 1 if span > 20 else 2

    def words(self, level: float | None, frames: Collection[pl.DataFrame]) -> list[str]:
        """What the marks of these tables are, and how to read them; without a level they have no intervals."""
        from podium.ranking.marks import grade_words, known_marks_words

        fixed = "that the known marks fix" if self.known_marks else "from the lowest item to the best"
        intervals = "" if level is None else f", with {100 * level:.4g} % intervals"
        lines = [f"marks on a scale {fixed}{intervals}"]
        if level is None:
            return lines
        lines += known_marks_words(len(self.known() or ()))
        return lines + grade_words(frames, "--format csv has the chance of each")

    def quality(self, votes: tuple[str, ...], columns: Columns, campaign: Content | None) -> Judging:
        """Reliability and fit; the votes are read anew with their judges, and the kind of their pairs."""
        from podium.evaluate.judging import judging_quality, unknown_quality

        whole: Comparisons | Rankings
        if campaign is not None:
            whole, check, chosen = _of_campaign(campaign)
            return judging_quality(whole, check=check, chosen=chosen or self.chosen_pairs)
        if "-" in votes:
            return unknown_quality("reliability is not told of votes from standard input; give a file")
        source: Any = list(votes) if len(votes) > 1 else votes[0]
        try:
            whole, check, chosen, seconds = _of_files(source, columns)
        except PodiumError as problem:
            return unknown_quality(f"reliability could not be found: {problem}")
        return judging_quality(whole, check=check, chosen=chosen or self.chosen_pairs, seconds=seconds)


def _number(mark: object) -> float:
    """A mark of a table, in a column of numbers or one that holds a word too; NaN where it is none."""
    try:
        return math.nan if isinstance(mark, bool) else float(mark)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return math.nan


def _is_chance(name: str) -> bool:
    return name == "chance" or name.startswith("P(")


def _of_campaign(content: Content) -> tuple[Comparisons, Comparisons | None, bool]:
    import numpy as np

    from podium.campaign.live import live_comparisons, live_votes

    live, whole = live_votes(content), live_comparisons(content)
    checks = np.flatnonzero(live.of_kind("check"))
    return whole, whole.take(checks) if len(checks) else None, bool(live.of_kind("chosen").any())


def _of_files(
    source: Any, columns: Columns
) -> tuple[Comparisons | Rankings, Comparisons | None, bool, dict[Any, float] | None]:
    """All votes, those on check pairs, whether others were chosen, and the judges' median seconds."""
    from podium.data.files import read_comparisons_by, read_table, read_votes
    from podium.data.rankings import Rankings
    from podium.data.tables.columns import recognise
    from podium.data.tables.readers import Table
    from podium.data.tables.sources import find_sources

    named = columns.named()
    form, delimiter = named.pop("format", None), named.pop("delimiter", None)
    how = {"format": form, "delimiter": delimiter}
    names = Table(find_sources(source, form)[0], delimiter).columns or []
    whole = read_votes(source, **named, **how, keep="counts")[None]
    if isinstance(whole, Rankings):
        return whole, None, False, None
    check, chosen = None, False
    if "kind" in names:
        parts = read_comparisons_by(source, "kind", **named, **how)
        check, chosen = parts.get("check"), "chosen" in parts
    judge = recognise(names, **named).judge
    clock = next((name for name in TIMES if name in names), None)
    seconds = None
    if judge and clock:
        import polars as pl

        table = read_table(source, columns=[judge, clock], **how).with_columns(
            pl.col(clock).cast(pl.Float64, strict=False)
        )
        medians = table.drop_nulls().group_by(judge).agg(pl.col(clock).median() / TIMES[clock])
        seconds = dict(medians.iter_rows())
    return whole, check, chosen, seconds


marking_options = gathered(
    "marking",
    Marking,
    option(
        "Output",
        "--marks",
        type=Scale(),
        help="Give marks on this scale: the lowest item LOW, the best HIGH; 6:1 where 1 is best.",
    ),
    option(
        "Output",
        "--known-marks",
        metavar="FILE",
        help="Lay the scale through these marks: a table of item and mark, two or more.",
    ),
    option("Output", "--boundaries", type=Boundaries(), help="Give grades from these marks on, the best first."),
    option(
        "Output",
        "--chosen-pairs",
        is_flag=True,
        help="Say that pairs were chosen by the answers before, so that reliability is not overstated.",
    ),
)
