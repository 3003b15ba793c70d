"""`podium rank people.csv --assist model.csv`: few votes of people correct many of a model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from podium.cli.options import is_typed
from podium.cli.output import Output, leaderboard, say
from podium.errors import InputError, Option
from podium.text import counted

if TYPE_CHECKING:
    from podium.cli.columns import Columns
    from podium.data.comparisons import Comparisons

__all__ = ["rank_assisted"]

MIN_PAIRS = 3  # of people, for each item: with fewer, intervals are a little too narrow
ALLOWED = ("votes", "assist", "output", "style", "written_as", "level", "top")


def rank_assisted(
    votes: tuple[str, ...], assist: Path, columns: Columns, level: float, top: int | None, out: Output
) -> None:
    """Write people's ranking with a model's help, and say what the model was worth."""
    from podium.judge.assist import assisted

    named = set(columns.named())
    for name in click.get_current_context().params:
        if is_typed(name) and name not in ALLOWED and name not in named:
            raise InputError(Option(name), " has no use beside ", Option("assist"), "; leave it out")
    result = assisted(_read(list(votes), columns), _read([str(assist)], columns))
    frame = result.ranking.to_frame(level=level)
    frame = frame.head(top) if top else frame
    out.write(frame, leaderboard(frame, digits=2, room=out.room))
    say(
        f"{counted(result.both, 'pair')} judged by people and the model, {counted(result.alone, 'pair')} by the model "
        f"alone; {100 * level:.4g} % confidence intervals, relative to the mean"
    )
    if result.unmatched:
        say(f"{counted(result.unmatched, 'pair')} of people left out, as the model has not judged them")
    trust = f"the model counts {result.weight:.2f} of a person's vote"
    if result.both >= MIN_PAIRS * len(result.ranking):
        trust += f"; it is worth about {result.gain:.1f} times as many pairs of people"
    say(f"{trust}, if theirs are a random part of its own")
    if result.both < MIN_PAIRS * len(result.ranking):
        say(
            f"warning: {counted(result.both, 'pair')} of people for {counted(len(result.ranking), 'item')}; with fewer "
            f"than {MIN_PAIRS} an item, intervals are a little too narrow"
        )


def _read(paths: list[str], columns: Columns) -> Comparisons:
    """Votes on pairs; pairs of one ranking are no votes of their own, and intervals would be too narrow."""
    from podium.data.files import read_votes
    from podium.data.rankings import Rankings

    source: Any = paths if len(paths) > 1 else paths[0]
    read = read_votes(source, **columns.arguments() | {"judge": False, "group": False, "keep": "counts"})[None]
    if isinstance(read, Rankings):
        raise InputError(
            f"{paths[0]} holds rankings, which have no use beside ", Option("assist"), "; give votes on pairs"
        )
    return read
