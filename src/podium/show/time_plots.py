"""Pictures of scores that move."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from podium.data.tables.forms import as_polars
from podium.data.validation import flag_option, floats_of
from podium.errors import InputError
from podium.show.canvas import LINES, apart, axes_at, check_options, headline, label_width, sheet, short, span, styled
from podium.text import counted

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["MAX_CURVES", "curves"]

MAX_CURVES = len(LINES)  # drawn unless asked for more
DASHES = ("-", (0, (4, 1.5)), (0, (1, 1)))  # one for each round of the colours
COLUMNS = ("item", "time", "score", "lower", "upper")


@styled
def curves(frame: Any, *, bands: bool = True, unit: str = "score, in log-odds", title: str | None = None) -> Figure:
    """Draw scores over time with their bands, each curve labelled at its end.

    `frame` is what `DynamicBradleyTerry.curves` returns: columns item, time (dates or numbers), score, lower and upper.
    Bands are drawn light where many overlap; `bands=False` leaves them out. `unit` is written beside the axis.
    """
    check_options(unit=unit, title=title)
    flag_option("bands", bands)
    table: Any = as_polars(frame).lazy().collect()
    if missing := [name for name in COLUMNS if name not in table.columns]:
        raise InputError(f"curves need a column {missing[0]!r}; give the frame of DynamicBradleyTerry.curves")
    if not len(table):
        raise InputError("there is no curve to draw")
    parts = {key[0]: part.sort("time") for key, part in table.group_by("item", maintain_order=True)}
    ends = np.array([part["score"][-1] for part in parts.values()])
    order = np.argsort(-ends, kind="stable")
    items = [list(parts)[k] for k in order.tolist()]
    names = [short(item) for item in items]
    high = max(3.2, 0.18 * len(items))
    figure = sheet(0.75 + 5.0 + 0.4 + label_width(names, 8), high + 1.0)
    ax = axes_at(figure, 0.75, 0.55, 5.0, high)
    lines = [(LINES[k % len(LINES)], DASHES[k // len(LINES) % len(DASHES)]) for k in range(len(items))]
    for item, (colour, dash) in zip(items, lines, strict=True):
        part = parts[item]
        time = part["time"].to_list()
        low, score, top = (floats_of(name, part[name].to_numpy(), (None,)) for name in ("lower", "score", "upper"))
        if bands:
            ax.fill_between(time, low, top, color=colour, alpha=max(0.06, 0.24 / len(items) ** 0.5), linewidth=0)
        ax.plot(time, score, color=colour, linewidth=1.8, linestyle=dash, marker="o" if len(time) == 1 else "")
    seen = ("score", "lower", "upper") if bands else ("score",)
    ax.set_ylim(span(*(table[name].to_numpy() for name in seen)))
    heights = apart(ends[order], 0.176 / high * float(np.ptp(ax.get_ylim())))
    for item, name, (colour, _), height in zip(items, names, lines, heights, strict=True):
        last = (parts[item]["time"].to_list()[-1], float(parts[item]["score"][-1]))
        ax.annotate(
            name, last, (1.05, height), textcoords=("axes fraction", "data"),
            color=colour, fontsize=8, va="center", parse_math=False, annotation_clip=False,
            arrowprops={"arrowstyle": "-", "color": colour, "linewidth": 0.6, "shrinkB": 0, "relpos": (0, 0.5)},
        )  # fmt: skip
    _time_axis(ax, table["time"])
    ax.set_ylabel(unit)
    ax.grid(color="#dddddd", linewidth=0.6)
    headline(figure, title or f"Scores over time, {counted(len(items), 'item')}")
    return figure


def _time_axis(ax: Any, time: Any) -> None:
    """From the first time to the last; dates in as few words as tell them apart."""
    first, last = time.min(), time.max()
    if first != last:
        ax.set_xlim(first, last)
    if time.dtype.is_temporal():
        from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

        locator = AutoDateLocator(minticks=3, maxticks=7)
        ax.xaxis.set_major_locator(locator)
        ax.xaxis.set_major_formatter(ConciseDateFormatter(locator))
    else:
        ax.set_xlabel("time")
