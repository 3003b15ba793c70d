"""The leaderboard of a page: a row for each item, its interval drawn in percent of the column, to fit any screen."""

from __future__ import annotations

from html import escape
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from podium.show.report_parts import WITHOUT, Beside, anchor, anchors
from podium.text import counted, one_line

if TYPE_CHECKING:
    import polars as pl

__all__ = ["bar", "in_order", "leaderboard"]


def in_order(tiers: list[int | None]) -> bool:
    """Whether no item is of an earlier tier than one above it.

    >>> in_order([1, 1, 2, 2]), in_order([1, 2, 1])
    (True, False)
    """
    return all(one is None or other is None or one <= other for one, other in pairwise(tiers))


DRAWN = '<span class="away">drawn</span>'


def leaderboard(
    frame: pl.DataFrame,
    digits: int,
    max_rows: int,
    beside: Beside | None = None,
    name: str = "",
    counted_as: str = "Votes",
) -> str:
    """The table of a ranking's frame, best first; a stronger line begins each tier.

    An item with a wide interval may be of an earlier tier than one above it: tiers then have a column, and a line
    stands only where all below are of later tiers than all above.

    The page's own one (with `beside`) has links to its rows, and further columns; `name` tells it from others.
    `counted_as` says what the last column counts.
    """
    rows = frame.head(max_rows).to_dicts()
    with_intervals = rows[0]["lower"] is not None
    with_votes = rows[0]["comparisons"] is not None
    finite = [v for row in rows for v in (row["score"], row["lower"], row["upper"]) if v is not None and np.isfinite(v)]
    low, high = min(finite), max(finite)
    links = anchors([row["item"] for row in rows]) if beside is not None else {}
    more = beside.columns() if beside is not None else {}
    moved = beside is not None and beside.before is not None
    heads = ['<th class="n">Rank</th><th>Item</th><th class="n">Score</th>']
    heads.append(f'<th class="still">{"Interval" if with_intervals else DRAWN}</th>')
    heads.append('<th class="n wide still">From … to</th><th class="n wide">Ranks</th>' if with_intervals else "")
    tiers = [row["tier"] for row in rows]
    mixed = with_intervals and not in_order(tiers)
    cuts = _cuts(tiers) if with_intervals else set()
    heads.append('<th class="n wide">Tier</th>' if mixed else "")
    heads.append('<th class="n wide">Moved</th>' if moved else "")
    heads += [f'<th class="n wide">{escape(title)}</th>' for title in more]
    heads.append(f'<th class="n wide">{counted_as}</th>' if with_votes else "")
    caption = f"<caption>{escape(name)}</caption>" if name else ""
    parts = [f'<table class="board sortable">{caption}<thead><tr>{"".join(heads)}</tr></thead><tbody>']
    for k, row in enumerate(rows):
        item = str(row["item"])
        new_tier = k in cuts
        link = anchor(links[item], item) if links else ""
        ranks = f"{row['rank_lower']}–{row['rank_upper']}" if with_intervals else ""
        change, places = beside.change(item, row["rank"]) if beside is not None and moved else ("", None)
        under = [f"ranks {ranks}"] * with_intervals + [f"tier {row['tier']}"] * mixed
        under += [change] * (places != 0 and change != "")
        under += beside.told(item) if beside is not None else []
        under += [f"{WITHOUT.lower()} {more[WITHOUT][item][0]}"] if item in more.get(WITHOUT, {}) else []
        small = (
            f'<small class="narrow">{" ".join(f"<span>{each}</span>" for each in under)}</small>' if under else ""
        )  # on a phone, under the name
        cells = [
            f'<td class="n">{row["rank"]}</td><td class="item">{escape(one_line(item))}{link}{small}</td>',
            f'<td class="n score" data-v="{row["score"]:.10g}">{_number(row["score"], digits)}</td>',
            f'<td class="bar">{bar(row["score"], row["lower"], row["upper"], low, high)}</td>',
        ]
        if with_intervals:
            ends = f"{_number(row['lower'], digits)} … {_number(row['upper'], digits)}"
            cells.append(f'<td class="n wide">{ends}</td><td class="n wide" data-v="{row["rank_lower"]}">{ranks}</td>')
        if mixed:
            cells.append(_valued(str(row["tier"]), row["tier"]))
        if moved:
            cells.append(_valued(change, places))
        cells += [_valued(*column.get(item, ("", None))) for column in more.values()]
        if with_votes:
            cells.append(f'<td class="n wide" data-v="{row["comparisons"]:.10g}">{row["comparisons"]:,.10g}</td>')
        mark = ' class="first"' if new_tier else ""
        own = f' id="{escape(links[item])}"' if links else ""
        parts.append(f"<tr{own}{mark}>{''.join(cells)}</tr>")
    parts.append("</tbody></table>")
    if len(frame) > len(rows):
        parts.append(f'<p class="soft">… and {counted(len(frame) - len(rows), "more item")} below.</p>')
    return "\n".join(parts)


def _cuts(tiers: list[int]) -> set[int]:
    """Rows that, with all below them, are of later tiers than all above."""
    above, below = np.maximum.accumulate(tiers), np.minimum.accumulate(tiers[::-1])[::-1]
    return set((1 + np.flatnonzero(above[:-1] < below[1:])).tolist())


def _valued(shown: str, value: float | None) -> str:
    return f'<td class="n wide" data-v="{"" if value is None else f"{value:g}"}">{shown}</td>'


def bar(value: float, lower: float | None, upper: float | None, low: float, high: float) -> str:
    """A value and its interval on a rail from `low` to `high`; an arrow marks an end that is not there."""

    def at(where: float) -> float:
        return 3 + 94 * (min(max(where, low), high) - low) / ((high - low) or 1.0)

    parts = ['<rect class="rail" x="0" width="100%" y="50%" height="1"/>']
    if lower is not None and upper is not None:
        start, end = at(lower), at(upper)
        place = f'x="{start:.2f}%" width="{end - start:.2f}%" y="50%" height="8" transform="translate(0 -4)"'
        parts.append(f'<rect class="span" {place} rx="4"/>')
        for limit, sign in ((lower, "◂"), (upper, "▸")):
            if not np.isfinite(limit):
                where = 'x="0%" text-anchor="start"' if sign == "◂" else 'x="100%" text-anchor="end"'
                parts.append(f'<text class="tip" {where} y="50%" dy=".36em" font-size="14">{sign}</text>')
    parts.append(f'<circle class="dot" cx="{at(value):.2f}%" cy="50%" r="5"/>')
    return f'<svg aria-hidden="true">{"".join(parts)}</svg>'


def _number(value: float, digits: int) -> str:
    if not np.isfinite(value):
        return "∞" if value > 0 else "−∞"
    return f"{round(value, digits) + 0.0:.{digits}f}".replace("-", "−")  # no −0.00
