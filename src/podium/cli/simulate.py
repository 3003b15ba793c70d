"""podium simulate: which preset and budget for n items at what noise."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from podium.cli.ask import PRESETS
from podium.cli.help import GroupedCommand, option
from podium.cli.options import MAX_COUNT, NumberRange, output_options, plot_option, seed_option
from podium.cli.output import Output, counting, say, table
from podium.text import counted

if TYPE_CHECKING:
    from podium.active.rehearsal import Rehearsal

__all__ = ["simulate"]

NOISES = (
    "flips", "bradley-terry", "cyclic", "chaos", "long-range", "normal", "heavy-tailed", "near-ties", "blocks",
    "unequal", "left-leaning", "tiring",
)  # fmt: skip
FEATURES = ("informative", "useless")
DEFAULT_PRESETS = ("quick", "standard", "thorough", "few_rounds")  # presets for any number of items
SHARES = (0.9, 1.3, 1.8, 2.4, 3.2, 4.2)  # budgets of the curve, in log2(n) questions per item


@click.command(
    cls=GroupedCommand,
    examples=(
        ("podium simulate -n 100", "what each preset reaches with 100 items"),
        ("podium simulate -n 50 --noise normal --fresh --preset thorough", "a judge as people are"),
        ("podium simulate -n 200 --plot cost.png", "cost against the number of questions"),
    ),
)
@option("Data", "-n", "n", type=click.IntRange(3, 20_000), default=200, show_default=True, help="Rank this many items.")
@option(
    "Data",
    "--noise",
    type=click.Choice(NOISES),
    metavar="NOISE",
    default="flips",
    show_default=True,
    help=f"Let the judge err in this way: {', '.join(NOISES)}.",
)
@option(
    "Data",
    "--noise-level",
    type=NumberRange(0, 1),
    metavar="LEVEL",
    default=0.1,
    show_default=True,
    help="How much: the share of flips; for bradley-terry the zone of close calls, as a share of the items; for "
    "normal, heavy-tailed and near-ties the width of that zone in scores.",
)
@option("Data", "--fresh", is_flag=True, help="Let the judge decide anew when asked again, as people do.")
@option(
    "Data",
    "--features",
    type=click.Choice(FEATURES),
    help="Give each item four columns of features: its rank, a tenth of the items off, and three random ones, or four "
    "random ones.",
)
@option(
    "Model",
    "--preset",
    "presets",
    type=click.Choice(PRESETS),
    metavar="PRESET",
    multiple=True,
    help=f"Try this preset of {', '.join(PRESETS)}; may be given again.  [default: {', '.join(DEFAULT_PRESETS)}]",
)
@option(
    "Model",
    "--random-share",
    type=NumberRange(0, 1, max_open=True),
    metavar="SHARE",
    default=0.1,
    show_default=True,
    help="Choose this share of the questions at random, as a check.",
)
@option(
    "Model",
    "--runs",
    type=click.IntRange(1, MAX_COUNT),
    default=3,
    show_default=True,
    help="Simulate this many interviews of each.",
)
@seed_option("judges and interviews")
@plot_option("cost against questions")
@output_options()
def simulate(
    n: int,
    noise: str,
    noise_level: float,
    presets: tuple[str, ...],
    features: str | None,
    runs: int,
    random_share: float,
    fresh: bool,
    seed: int,
    plot: Path | None,
    out: Output,
) -> None:
    """Simulate interviews with a judge of known mistakes, before you ask people.

    For each preset: questions per item, rounds, cost (votes that contradict the order) over that of the hidden order,
    the expected cost above it in per cent of all pairs, the ranks by which nine in ten items are off at most, what the
    summary said about that, and the share of stable runs.
    """
    import polars as pl

    from podium.active.oracles import Simulated
    from podium.active.rehearsal import Rehearsal, mean_rehearsal, rehearse

    jobs: list[tuple[str, float | None]] = [(preset, None) for preset in presets or DEFAULT_PRESETS]
    if plot is not None:
        jobs += [("standard", share) for share in SHARES]
    rows: list[Rehearsal] = []
    with counting("asking", f"of {runs * len(jobs)} interviews") as advance:
        for preset, share in jobs:
            each = []
            for at in range(seed, seed + runs):
                judge = Simulated(n, noise, noise_level, seed=at, persistent=not fresh)
                options = {"random_share": random_share, "seed": at}
                each.append(rehearse(judge, preset, log2_share=share, features=features, **options))
                advance(1)
            rows.append(mean_rehearsal(each))
    shown = [(preset, *row) for row, (preset, share) in zip(rows, jobs, strict=True) if share is None]
    frame = pl.DataFrame(shown, schema=["preset", *Rehearsal._fields], orient="row")
    out.write(frame, table(frame, digits=2, room=out.room))
    if plot is not None:
        _draw(plot, f"{counted(n, 'item')}, {noise} {noise_level:g}", jobs, rows)
        say(f"wrote {plot}")


def _draw(plot: Path, title: str, jobs: list[tuple[str, float | None]], rows: list[Rehearsal]) -> None:
    from matplotlib.figure import Figure

    from podium.show.active_plots import cost_by_questions
    from podium.show.plots import save

    curves: dict[str, list[tuple[float, float]]] = {}
    for (preset, share), row in zip(jobs, rows, strict=True):
        curves.setdefault(preset if share is None else "standard, by budget", []).append(
            (row.questions_per_item, row.cost_ratio)
        )
    figure = Figure(figsize=(6.4, 4.0), layout="constrained")
    cost_by_questions(curves, title=title, log=False, ax=figure.subplots()).set_ylabel(
        "cost ÷ cost of the hidden order"
    )
    save(figure, plot)
