"""Campaign files among the votes that `rank` and `check` read: the page's numbers, by the standard library alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from podium.cli.output import Output, say
from podium.errors import InputError
from podium.text import chance, fitted, percent

if TYPE_CHECKING:
    import polars as pl

    from podium.campaign.marks import Marked
    from podium.data.comparisons import Comparisons
    from podium.store.content import Content

__all__ = ["asks_for_a_fit", "campaign_in", "campaign_votes", "say_if_chosen", "show_standing"]

SHOWING = ("votes", "output", "written_as", "top")  # options that do not ask for another ranking than the campaign's

CHOSEN = (
    "pairs were chosen by earlier answers, so intervals of scores are too narrow (in simulations 95 % ones held the "
    "truth in 40 to 91 % of cases); places and tiers of the campaign itself allow for it"
)


def campaign_in(votes: tuple[str, ...]) -> Content | None:
    """The campaign that VOTES name; None where they are files of votes."""
    from podium.store.file import is_campaign_file, read_campaign_file

    files = [name for name in votes if is_campaign_file(name)]
    if not files:
        return None
    if len(votes) > 1:
        raise InputError(f"{files[0]} is a campaign; name it alone, or export its votes first")
    return read_campaign_file(files[0])


def campaign_votes(content: Content, arguments: dict[str, Any]) -> Comparisons:
    """Its votes that count, for any ranker."""
    from podium.campaign.live import live_comparisons

    typed = [
        name for name, value in arguments.items() if value not in (None, False, ()) and name not in ("keep", "jobs")
    ]
    if typed:
        raise InputError(f"{typed[0]} names a column, and a campaign has its own; leave it out")
    return live_comparisons(content)


def say_if_chosen(content: Content) -> None:
    """Say what intervals of scores are worth where pairs were chosen."""
    from podium.campaign.live import live_votes

    if live_votes(content).of_kind("chosen").any():
        say(CHOSEN)


def asks_for_a_fit() -> bool:
    """Whether an option was typed that asks for a ranker, intervals or a picture: else the standing is shown."""
    context = click.get_current_context()
    typed = click.core.ParameterSource.COMMANDLINE
    return any(context.get_parameter_source(name) is typed for name in context.params if name not in SHOWING)


def show_standing(content: Content, top: int | None, out: Output) -> None:
    """Write where the campaign stands, as its page shows it."""
    from podium.campaign.marks import MARKS_LEVEL, campaign_marks, with_marks
    from podium.campaign.standing import LEVEL, pairs_left, standing

    now = standing(content)
    if not now.places:
        raise InputError(f"campaign {content.campaign.slug!r} has no votes that count yet; there is nothing to rank")
    marked = campaign_marks(content)
    frame = with_marks(now.to_frame(), marked)
    frame = frame.head(top) if top else frame
    drawn = marked is not None and marked.why is None and out.for_people
    out.write(frame, _marked_table(frame, marked, out.room) if marked is not None and drawn else None)
    say(now.words(pairs_left(content)))
    if marked is not None:
        words = f"marks with {percent(MARKS_LEVEL)} intervals, as the campaign asks for them"
        say(words if marked.why is None else f"no marks yet: {marked.why}")
        for line in marked.notes():
            say(line)
        if marked.why is None:
            say_if_chosen(content)
    places = "likely places" if drawn else "place_lower to place_upper"
    say(f"{places} hold an item's true place with a chance of about {percent(LEVEL)}")


def _marked_table(frame: pl.DataFrame, marked: Marked, room: int | None) -> str:
    """Places and marks for people, as `podium rank --marks` prints them."""
    words = marked.words()
    own = [words[item] for item in frame["item"]]
    ends = zip(frame["place_lower"], frame["place_upper"], strict=True)
    columns: dict[str, list[str]] = {
        "place": [str(place) for place in frame["place"]],
        "item": frame["item"].to_list(),
        "likely places": [str(a) if a == b else f"{a}–{b}" for a, b in ends],
        "mark": [each["mark"] for each in own],
        "interval": ["" if each["lower"] is None else f"{each['lower']} … {each['upper']}" for each in own],
    }
    if "known" in frame.columns:
        columns["known"] = ["" if value is None else f"{value:.15g}" for value in frame["known"]]
    if "grade" in frame.columns:
        columns["grade"] = [str(value) for value in frame["grade"]]
        columns["chance"] = ["" if value is None else chance(value) for value in frame["chance"]]
    columns |= {name: [f"{value:,}" for value in frame[name]] for name in ("votes", "skips")}
    return fitted(list(columns), list(columns.values()), room, to_left=("item", "grade"))
