"""`podium diff`: two leaderboards against each other."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

import click

from podium.cli.columns import Columns, column_options
from podium.cli.help import GroupedCommand, option
from podium.cli.options import level_option, output_options
from podium.cli.output import Output, say
from podium.cli.standings import leaderboard_in, ranked_votes, source_of
from podium.errors import InputError
from podium.text import counted, fitted, number, one_line

if TYPE_CHECKING:
    import polars as pl

    from podium.evaluate.differences import Differences

__all__ = ["diff"]

SHOWN = 30


EXAMPLES = (
    ("podium diff january.csv february.csv", "who moved between two leaderboards"),
    ("podium diff old.podium new.podium --reference gpt-4", "two saved models, relative to one item"),
)


@click.command(cls=GroupedCommand, examples=EXAMPLES)
@click.argument("first")
@click.argument("second")
@column_options
@level_option("the intervals and of the tests")
@option(
    "Intervals",
    "--reference",
    metavar="mean|weighted-mean|ITEM",
    help="Compare scores relative to this.  [default: mean]",
)
@output_options()
def diff(first: str, second: str, out: Output, columns: Columns, level: float, reference: str | None) -> None:
    """Compare the leaderboards FIRST and SECOND: who moved, and what is more than chance.

    Each is a leaderboard written by `podium rank` (with the columns item and score), a saved model, or a file of votes,
    which is then ranked by bradley-terry (rankings by plackett-luce); its columns may be named by option. One may be -
    for standard input.

    Scores are compared relative to the mean of the common items, to the mean weighted by votes, or to one item. A
    change marked * is significant for all items at once (Holm), if the two come from different votes. Leaderboards
    that were not fitted alike (method, ties, covariates, penalty, …) are compared by ranks alone.
    """
    from podium.evaluate.differences import compare_rankings

    if first == second == "-":
        raise InputError("standard input can be read once only; name a file for one of the two")
    sources = [source_of(path) for path in (first, second)]
    known = [leaderboard_in(source) for source in sources]
    columns.refuse_time("diff")
    if columns.named() and not any(side is None for side in known):
        raise InputError("options about columns are for files of votes, and both are leaderboards; drop them")
    sides = [side or ranked_votes(source, columns.arguments()) for side, source in zip(known, sources, strict=True)]
    changes = compare_rankings(sides[0], sides[1], reference)
    frame = changes.to_frame(level)
    out.write(frame, _table(frame, out.room) if out.for_people else None)
    if os.path.exists(first) and os.path.exists(second) and os.path.samefile(first, second):
        say(f"{first} and {second} are the same file")
    for path, side in zip((first, second), sides, strict=True):
        if side.settings is None:
            say(f"{path} does not say how it was fitted; it is taken to be in log-odds, and fitted as the other")
    _remark(changes, frame)
    _name_penalties(*(side.settings or {} for side in sides), tested="significant" in frame.columns)


def _table(frame: pl.DataFrame, room: int | None) -> str:
    scored, tested = "change" in frame.columns, "significant" in frame.columns
    by = frame["change" if scored else "climbed"].abs()
    moved = frame.sort(by, descending=True, maintain_order=True).head(SHOWN) if len(frame) > SHOWN else frame
    heads = ["item", "rank", *(["change of score", ""] if scored else [])]
    rows = []
    for row in moved.to_dicts():
        arrow = "=" if row["climbed"] == 0 else f"{'▲' if row['climbed'] > 0 else '▼'}{abs(row['climbed'])}"
        cells = [row["item"], f"{row['rank_a']} → {row['rank_b']} {arrow}"]
        if scored:
            width = f" ({_signed(row['lower'])} … {_signed(row['upper'])})" if tested else ""
            cells += [_signed(row["change"]) + width, "*" if tested and row["significant"] else ""]
        rows.append(cells)
    lines = [fitted(heads, list(zip(*rows, strict=True)), room, to_left=heads)]
    if len(frame) > SHOWN:
        lines.append(f"… and {len(frame) - SHOWN:,} more that changed less")
    return "\n".join(lines)


def _signed(value: float) -> str:
    return f"{'+' if value >= 0 else ''}{number(value, 2)}"


def _name_penalties(one: Mapping[str, str], other: Mapping[str, str], *, tested: bool) -> None:
    """Penalties from the votes that pulled the two sets of scores together by different amounts."""
    pulls = [float(side["sd"]) for side in (one, other) if "sd" in side]
    if len(pulls) == 2 and f"{pulls[0]:.2f}" != f"{pulls[1]:.2f}":
        words = (
            "true scores seem to lie about {:.2f} log-odds from the mean in the first, {:.2f} in the second (l2=auto)"
        )
        say(words.format(*pulls) + ("; changes are of scores without the penalty" if tested else ""))


def _remark(differences: Differences, frame: pl.DataFrame) -> None:
    from podium.evaluate.differences import unlike_words

    same = "no pair is ordered in both" if differences.agreement != differences.agreement else ""
    same = same or f"{100 * differences.agreement:.1f} % of their pairs stand in the same order"
    say(f"{counted(len(differences.items), 'item')} in both; {same}")
    for which, items in zip(("first", "second"), differences.only, strict=True):
        if items:
            some = ", ".join(one_line(item) for item in items[:5]) + (", …" if len(items) > 5 else "")
            say(f"only in the {which}: {len(items):,} ({some})")
    if differences.unlike:
        say(unlike_words(differences.unlike))
    elif "significant" in frame.columns:
        if differences.bounded:
            say("a table holds no covariances, so intervals are upper bounds; compare saved models for exact ones")
        many = int(frame["significant"].sum())
        say(f"{counted(many, 'change')} {'is' if many == 1 else 'are'} significant (*), for all items at once")
    else:
        say("no standard errors in one of them, so nothing can be called significant")
