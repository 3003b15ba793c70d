"""Figures of asking: what a question buys."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["cost_by_questions"]

# Okabe and Ito's colours, told apart by the colour-blind; a marker each, for grey prints.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")


def cost_by_questions(
    curves: Mapping[str, Sequence[tuple[float, float]]], *, title: str = "", log: bool = True, ax: Any = None
) -> Any:
    """Cost over the least known against questions per item, one line for each way of asking; returns the axes.

    `curves` maps a name to (questions per item, cost ratio) points. With `log` the axis shows the excess over 1.
    """
    if ax is None:
        import matplotlib.pyplot as plt

        _, ax = plt.subplots(figsize=(6.4, 4.0), layout="constrained")
    floor = 1e-4
    for number, (name, points) in enumerate(curves.items()):
        questions, ratio = zip(*sorted(points), strict=True)
        excess = [max(each - 1.0, floor) if log else each for each in ratio]
        style = {"color": COLOURS[number % 7], "marker": MARKERS[number % 7], "label": name, "markersize": 5}
        ax.plot(questions, excess, linewidth=1.4 if len(points) > 1 else 0, **style)
    if log:
        ax.set_yscale("log")
    ax.set(xlabel="questions per item", ylabel="cost above the best known" if log else "cost ÷ best known", title=title)
    ax.grid(alpha=0.3, which="both" if log else "major")
    ax.legend(frameon=False, fontsize=8)
    return ax
