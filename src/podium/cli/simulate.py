"""podium simulate: which preset and budget for n items at what noise."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from podium.errors import InputError

__all__ = ["simulate"]

SHARES = (0.9, 1.3, 1.8, 2.4, 3.2, 4.2)  # budgets of the curve, in log2(n) questions per item


@click.command()
@click.option("-n", "n", type=click.IntRange(3, 20_000), default=200, show_default=True, help="Items.")
@click.option("--model", default="flips", show_default=True, help="flips, bradley-terry, cyclic, chaos or long-range.")
@click.option("--level", type=float, default=0.1, show_default=True, help="How noisy: a share of flips, a width.")
@click.option("--preset", "presets", multiple=True, help="May be repeated; quick, standard, thorough, few_rounds.")
@click.option("--runs", type=click.IntRange(1), default=3, show_default=True, help="Simulated interviews of each kind.")
@click.option("--random-share", default=0.1, show_default=True, help="Share of random check questions.")
@click.option("--seed", default=0, show_default=True, help="Of judges and interviews.")
@click.option("--plot", type=click.Path(dir_okay=False), help="Draw cost against questions (png, svg, pdf).")
def simulate(
    n: int,
    model: str,
    level: float,
    presets: tuple[str, ...],
    runs: int,
    random_share: float,
    seed: int,
    plot: str | None,
) -> None:
    """Simulate interviews with a judge of known mistakes, before you ask people.

    Prints CSV: questions per item, rounds, cost (answers that contradict the order) over that of the hidden order, the
    places by which nine in ten items are off, and what the summary said about that.
    """
    from rich.console import Console
    from rich.progress import track

    from podium.active.presets import APPETITE

    if plot is not None and Path(plot).suffix.lower() not in (".png", ".svg", ".pdf"):
        raise InputError(f"{plot}: pictures end in .png, .svg or .pdf")
    chosen = presets or tuple(APPETITE)
    jobs: list[tuple[str, float | None]] = [(preset, None) for preset in chosen]
    if plot is not None:
        jobs += [("standard", share) for share in SHARES]
    console = Console(stderr=True)
    rows = []
    for preset, share in track(jobs, description="asking", console=console, transient=True):
        rows.append(_average(n, model, level, preset, share, runs, random_share, seed))
    click.echo("preset,questions_per_item,rounds,cost_ratio,places_off,stated_spread,stable")
    for row, (preset, share) in zip(rows, jobs, strict=True):
        if share is None:
            click.echo(f"{preset}," + ",".join(f"{value:.4g}" for value in row))
    if plot is not None:
        _draw(plot, f"{n} items, {model} {level:g}", jobs, rows)
        click.echo(f"wrote {plot}", err=True)


def _average(
    n: int, model: str, level: float, preset: str, share: float | None, runs: int, random_share: float, seed: int
) -> list[float]:
    """Mean over the runs of what the table shows."""
    import numpy as np

    from podium.active import rank_with
    from podium.active.oracles import Simulated

    results = []
    for run in range(runs):
        judge = Simulated(n, model, level, seed=seed + run)
        budget = None if share is None else min(int(share * n * np.log2(n)), n * (n - 1) // 2)
        ranker = rank_with(judge, range(n), preset=preset, budget=budget, random_share=random_share, seed=seed + run)
        found = ranker.summary()
        order = np.array(ranker.ranking_.order)
        off = float(np.quantile(np.abs(np.argsort(order) - judge.place), 0.9))
        ratio = max(judge.cost(order), 1) / max(judge.cost(judge.order), 1)
        results.append([found.questions / n, found.rounds, ratio, off, found.spread, float(found.stable)])
    return [float(value) for value in np.mean(results, axis=0)]


def _draw(plot: str, title: str, jobs: list[tuple[str, float | None]], rows: list[list[float]]) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    from podium.active_plots import cost_by_questions
    from podium.io import replacing

    curves: dict[str, list[tuple[float, float]]] = {}
    for (preset, share), row in zip(jobs, rows, strict=True):
        curves.setdefault(preset if share is None else "standard, by budget", []).append((row[0], row[2]))
    ax: Any = cost_by_questions(curves, title=title, log=False)
    ax.set_ylabel("cost ÷ cost of the hidden order")
    with replacing(plot) as target:
        ax.figure.savefig(target, format=Path(plot).suffix[1:].lower(), dpi=150)
    plt.close(ax.figure)
