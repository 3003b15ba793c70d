"""podium plan: how many votes and hours a wanted reliability takes, before anybody is asked."""

from __future__ import annotations

import click

from podium.cli.help import GroupedCommand, option
from podium.cli.options import MAX_COUNT, NumberRange, output_options, seed_option
from podium.cli.output import Output, counting, table
from podium.text import counted

__all__ = ["plan"]


@click.command(
    cls=GroupedCommand,
    examples=(
        ("podium plan --items 100", "100 items, one judge, reliability 0.8"),
        ("podium plan --items 300 --judges 12 --reliability 0.9", "a campaign of twelve judges"),
    ),
)
@option("Data", "--items", "n", type=click.IntRange(3, 2000), required=True, help="Plan for this many items.")
@option(
    "Data",
    "--judges",
    type=click.IntRange(1, 10_000),
    default=1,
    show_default=True,
    help="Divide the votes among this many.",
)
@option(
    "Data",
    "--seconds",
    type=NumberRange(0, 86_400, min_open=True),
    default=30.0,
    show_default=True,
    help="Let one vote take a judge this long.",
)
@option(
    "Model",
    "--reliability",
    type=NumberRange(0, 1, min_open=True, max_open=True),
    default=0.8,
    show_default=True,
    help="Reach this squared correlation of the ranks with those of the hidden order.",
)
@option(
    "Model",
    "--noise-level",
    type=NumberRange(0, 1),
    metavar="LEVEL",
    default=0.5,
    show_default=True,
    help="Let judges be this unsure: items one standard deviation apart are confused with chance 1/(1 + exp(1/LEVEL)).",
)
@option(
    "Model",
    "--runs",
    type=click.IntRange(1, MAX_COUNT),
    default=5,
    show_default=True,
    help="Simulate this many campaigns.",
)
@seed_option("the simulated judges")
@output_options()
def plan(
    n: int,
    judges: int,
    reliability: float,
    noise_level: float,
    seconds: float,
    runs: int,
    seed: int,
    out: Output,
) -> None:
    """Say how many votes a wanted reliability takes, by simulation of the same planner that will ask.

    The items have normal scores; pairs are planned for all judges at once, at least a quarter as many as there are
    items. One row for each number of votes up to the first that reaches the reliability in the mean of the runs, with
    the hours of all judges together and of each.
    """
    import polars as pl

    from podium.active.rehearsal import QUESTIONS_PER_ITEM, reliability_by_votes

    looks: list[list[float]] = []
    with counting("asking", f"of {counted(runs, 'campaign')}") as advance:
        for run in range(runs):
            looks.append(reliability_by_votes(n, judges, noise_level, reliability, seed + run))
            advance(1)
    longest = max(map(len, looks))
    rows = []
    for at in range(longest):
        reached = [look[min(at, len(look) - 1)] for look in looks]
        mean = sum(reached) / len(reached)
        votes = QUESTIONS_PER_ITEM[at] * n
        hours = votes * seconds / 3600.0
        rows.append((votes, votes / judges, mean, min(reached), hours, hours / judges))
        if mean >= reliability:
            break
    names = ["votes", "votes_per_judge", "reliability", "worst_run", "hours", "hours_per_judge"]
    frame = pl.DataFrame(rows, schema=names, orient="row")
    short = [row[2] for row in rows if row[2] < reliability]
    digits = next(places for places in range(2, 18) if all(round(mean, places) < reliability for mean in short))
    out.write(frame, table(frame, digits=digits, room=out.room))
    most = judges * n * (n - 1) // 2
    if rows[-1][0] > most:
        asked = "a campaign asks nobody about a pair twice"
        click.echo(f"beyond {counted(most, 'vote')} {counted(judges, 'judge')} would be too few: {asked}", err=True)
    reached_it = rows[-1][2] >= reliability
    if not reached_it:
        click.echo(
            f"{reliability:g} is not reached with {counted(rows[-1][0], 'vote')}; judges this unsure may never "
            "reach it",
            err=True,
        )
