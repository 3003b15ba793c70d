"""Marks of a campaign that asks for them: the same numbers on its page, in exports, and by `podium rank --marks`.

A function of the log: Bradley-Terry scores of the votes that count, with the penalty that these choose, laid on the
scale of the campaign's options.
"""

from __future__ import annotations

import threading
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from podium.campaign.live import live_comparisons
from podium.campaign.options import Options
from podium.errors import PodiumError, PodiumWarning
from podium.ranking.marks import Marks, award_marks, grade_words, known_marks_words
from podium.text import number

if TYPE_CHECKING:
    import polars as pl

    from podium.store.base import Store
    from podium.store.content import Content

__all__ = ["MARKS_LEVEL", "AllMarks", "Marked", "campaign_marks", "with_marks"]

MARKS_LEVEL = 0.95  # as `podium rank` has it
EACH_CHANCE = "the campaign's exported ranking has the chance of each"


@dataclass(frozen=True, slots=True)
class Marked:
    """Marks of a campaign, or why there are none although it asks for them."""

    marks: Marks | None = None
    why: str | None = None
    unvoted: frozenset[str] = frozenset()  # items without a vote, which have no mark

    def words(self) -> dict[str, dict[str, Any]]:
        """For each item its mark, interval, grade and the chance of that, as a page shows them."""
        if self.marks is None:
            return {}
        rows = self.frame().to_dicts()
        digits = 1 if max(abs(row["mark"]) for row in rows) > 20 else 2
        lacking = dict.fromkeys(("lower", "upper", "chance"))
        without = {"mark": "–", "grade": "" if self.marks.grade_names else None, **lacking}
        return dict.fromkeys(self.unvoted, without) | {
            row["item"]: {
                "mark": number(row["mark"], digits),
                "lower": None if row["mark_lower"] is None else number(row["mark_lower"], digits),
                "upper": None if row["mark_upper"] is None else number(row["mark_upper"], digits),
                "grade": row.get("grade"),
                "chance": row.get("chance"),
            }
            for row in rows
        }

    def frame(self) -> pl.DataFrame:
        """The marks of items that somebody voted on, where there are marks."""
        import polars as pl

        assert self.marks is not None, "asked for where there are marks"
        return self.marks.to_frame().filter(~pl.col("item").is_in(list(self.unvoted)))

    def notes(self) -> list[str]:
        """How to read them, as `podium rank --marks` says it: few known marks, grades that are not the likeliest."""
        if self.marks is None:
            return []
        return [*known_marks_words(len(self.marks.known)), *grade_words([self.frame()], EACH_CHANCE)]


def campaign_marks(content: Content) -> Marked | None:
    """The marks; None where the campaign asks for none."""
    asked = Options.of(content.campaign.options).marks
    if asked is None:
        return None
    from podium.pairwise.bradley_terry import BradleyTerry

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PodiumWarning)  # likely places say how sure the order is
            votes = live_comparisons(content)
            ranking = BradleyTerry().fit(votes).ranking_
            scale = asked.get("scale")
            marks = award_marks(
                ranking, scale and (scale[0], scale[1]), known=asked.get("known"), boundaries=asked.get("boundaries"),
                level=MARKS_LEVEL,
            )  # fmt: skip
    except PodiumError as problem:
        return Marked(why=str(problem))
    wins, losses, ties = votes.record()
    unvoted = [str(votes.items[k]) for k in (wins + losses + ties == 0).nonzero()[0]]
    return Marked(marks, unvoted=frozenset(unvoted))


def with_marks(frame: pl.DataFrame, marked: Marked | None) -> pl.DataFrame:
    """The table of a standing with the marks beside its items, where there are any."""
    if marked is None or marked.marks is None:
        return frame
    return frame.join(marked.frame(), on="item", how="left", maintain_order="left")


class AllMarks:
    """Marks of a store, computed anew only when a log has moved. Threads may share it."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._known: dict[int, tuple[tuple[int, int], Marked | None]] = {}
        self._lock = threading.Lock()

    def get(self, campaign: int) -> Marked | None:
        """The marks at the present position of the log."""
        there = self.store.read(lambda reader: reader.campaign(campaign))
        if Options.of(there.options).marks is None:
            return None
        with self._lock:
            known = self._known.get(campaign)
            if known is None or known[0] != there.position:
                content = self.store.read(lambda reader: reader.content(campaign))
                self._known[campaign] = known = (content.campaign.position, campaign_marks(content))
        return known[1]
