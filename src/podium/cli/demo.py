"""podium demo: example data, and the commands of a story run on it."""

from __future__ import annotations

import contextlib
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from podium.cli.help import GroupedCommand, option
from podium.cli.options import seed_option
from podium.cli.output import say
from podium.errors import InputError

if TYPE_CHECKING:
    from podium.cli.stories import Story

__all__ = ["demo"]

NAMES = ("arena", "league", "survey", "essays", "judge", "grades", "labels")


@click.command(
    cls=GroupedCommand,
    examples=(
        ("podium demo arena", "a leaderboard of language models"),
        ("podium demo league --folder season", "a season of games, in a folder of your choice"),
    ),
)
@click.argument("story", type=click.Choice(NAMES), metavar="STORY")
@option(
    "Output",
    "--folder",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="FOLDER",
    help="Put the files here.  [default: demo-STORY]",
)
@seed_option("the example data", "Data")
@click.pass_context
def demo(context: click.Context, story: str, folder: Path | None, seed: int) -> None:
    """Write example data for STORY, and run the commands that people with such data would.

    \b
    arena    battles of language models, with style control: a page
    league   a season of goals: strength now, the games to come: curves
    survey   everyone lists three favourites: a page
    essays   essays compared by readers, one of whom guesses: a page, marks
    judge    a simulated model judges essays: a page, every call
    grades   grades given as ranges, grades for new essays: a picture
    labels   tags for articles, best first: a table

    Each command is shown before it runs, so that you can go on with your own files.
    """
    import numpy as np

    from podium.cli.stories import STORIES

    chosen = STORIES[story]
    place = Path(f"demo-{story}") if folder is None else folder
    if place.is_dir() and any(place.iterdir()):
        raise InputError(f"{place} is there already and not empty; remove it, or name another by --folder")
    if chosen.likes is not None:
        from podium.cli.judge_items import check_extra

        check_extra()
    place.mkdir(parents=True, exist_ok=True)
    chosen.write(place, np.random.default_rng(seed))
    say(f"{story}: {chosen.about}; files are in {place}")
    group: Any = context.find_root().command
    typed = sys.argv
    try:
        with contextlib.chdir(place), _model(chosen) as url:
            for command in (each.replace("URL", url) for each in chosen.commands):
                say(f"\n$ podium {command}")
                sys.argv = ["podium", *shlex.split(command)]  # pages say the command that makes them again
                group.main(args=sys.argv[1:], prog_name="podium", standalone_mode=False)
    finally:
        sys.argv = typed
    say(f"\nnow open {place / chosen.shows}")


@contextmanager
def _model(story: Story) -> Iterator[str]:
    """The address of the story's simulated model, while its commands run; nothing where it has none."""
    if story.likes is None:
        yield ""
        return
    from podium.judge.simulated import simulated_model

    with simulated_model(story.likes) as url:
        say(f"a simulated model answers at {url} until the story ends: no network, no key")
        yield url
