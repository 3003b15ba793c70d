"""Pictures of asking: how the order improves with the number of questions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from podium.data.validation import floats_of, instance_of
from podium.errors import InputError
from podium.show.canvas import LINES, MARKERS, panel

__all__ = ["cost_by_questions"]


def cost_by_questions(
    curves: Mapping[str, Sequence[tuple[float, float]]], *, title: str = "", log: bool = True, ax: Any = None
) -> Any:
    """Draw the cost of the order, relative to the best known, against questions per item; returns the axes.

    `curves` maps the name of a strategy to its points (questions per item, cost ratio), one line each. With `log` the
    axis shows the excess over 1.
    """
    instance_of(Mapping, curves, "curves")
    tables = {name: floats_of(f"the points of {name!r}", points) for name, points in curves.items()}
    for name, table in tables.items():
        if table.ndim != 2 or table.shape[1] != 2 or not len(table):
            raise InputError(f"the points of {name!r} have shape {table.shape}; give (questions, cost) pairs")
    if not tables:
        raise InputError("there is no curve to draw")
    ax = panel(6.4, 4.0)[1] if ax is None else ax
    floor = 1e-4
    for number, (name, points) in enumerate(tables.items()):
        questions, ratio = zip(*sorted(points.tolist()), strict=True)
        excess = [max(each - 1.0, floor) if log else each for each in ratio]
        style = {"color": LINES[number % 8], "marker": MARKERS[number % 8], "label": name, "markersize": 5}
        ax.plot(questions, excess, linewidth=1.4 if len(points) > 1 else 0, **style)
    if log:
        ax.set_yscale("log")
    ax.set(xlabel="questions per item", ylabel="cost above the best known" if log else "cost ÷ best known", title=title)
    ax.grid(alpha=0.3, which="both" if log else "major")
    ax.legend(frameon=False, fontsize=8)
    return ax
