"""Small pictures on the pages, as values a template draws: positions in per cent, classes for colours."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from podium.active.bands import TYPICAL
from podium.campaign.live import Live
from podium.campaign.standing import Place, Standing
from podium.store.values import Event

__all__ = ["Curve", "axis", "band", "coverage", "curve", "goal_width"]

MOST_CELLS = 60  # items a side of the coverage picture; more are folded together
MAX_AHEAD = 4  # times the votes there are: a forecast that ends beyond is not drawn
WIDTH, HEIGHT = 360.0, 190.0  # of the curve's drawing
LEFT, RIGHT, TOP, BOTTOM = 30.0, 20.0, 14.0, 28.0


def axis(n: int) -> list[tuple[float, int]]:
    """Where a few round places stand on a line of n places, in per cent."""
    step = max(1, int(np.ceil(n / 4 / 5) * 5)) if n > 8 else max(1, n // 2)
    marks = [1, *range(step, n - step // 2, step), n] if n > 1 else [1]
    return [(position(mark, n), mark) for mark in dict.fromkeys(marks)]


def position(place: float, n: int) -> float:
    """Where a place stands on a line from 1 to n, in per cent, with room for the dots at both ends."""
    return 2.0 + 96.0 * (place - 1) / max(1, n - 1)


def band(place: Place, n: int) -> dict[str, float]:
    """An item's likely places as a bar."""
    low = position(place.lower, n)
    return {"x": low, "width": max(position(place.upper, n) - low, 0.5), "at": position(place.place, n)}


def goal_width(n: int) -> float:
    """Places that a typical band may cover when the order is called stable."""
    return TYPICAL * (n - 1)


@dataclass(frozen=True, slots=True)
class Curve:
    """How the typical band has narrowed: a path, its end, the goal, where it may meet the goal (at the earliest and at
    the latest) and the marks of both axes."""

    line: str
    area: str
    end: tuple[float, float]
    goal: float
    forecast: tuple[tuple[float, float], tuple[float, float]] | None
    across: list[tuple[float, str]]
    up: list[tuple[float, str]]


def curve(events: Sequence[Event], standing: Standing, left: int) -> Curve | None:
    """The typical band at each plan and now; None before there are two of them.

    No forecast is drawn where judges have no pair left, nor where it ends far beyond the votes there are.
    """
    points = {
        int(each.data["votes"]): float(each.data["width"])
        for each in events
        if each.verb == "plan" and each.data.get("votes") and np.isfinite(each.data.get("width", np.nan))
    }
    if not standing.places or not np.isfinite(standing.width):
        return None
    points[standing.votes] = standing.width
    known = sorted((votes, width) for votes, width in points.items() if votes <= standing.votes)
    if len(known) < 2:
        return None
    goal = goal_width(len(standing.places))
    soon = not standing.stable and left > 0 and 0 < standing.until_stable_upper <= MAX_AHEAD * standing.votes
    first, last = (standing.votes + more * soon for more in (standing.until_stable, standing.until_stable_upper))
    most_votes = _round_up(max(last, standing.votes) * 1.02)
    most_width = _round_up(max(max(width for _, width in known), goal) * 1.05)

    def at(votes: float, width: float) -> tuple[float, float]:
        x = LEFT + (WIDTH - LEFT - RIGHT) * votes / most_votes
        return round(x, 1), round(TOP + (HEIGHT - TOP - BOTTOM) * (1 - width / most_width), 1)

    drawn = [at(*each) for each in known]
    line = "M" + "L".join(f"{x} {y}" for x, y in drawn)
    floor = at(0, 0)[1]
    return Curve(
        line=line,
        area=f"{line}L{drawn[-1][0]} {floor}L{drawn[0][0]} {floor}Z",
        end=drawn[-1],
        goal=at(0, goal)[1],
        forecast=(at(first, goal), at(last, goal)) if soon else None,
        across=[(at(votes, 0)[0], f"{votes:,}") for votes in _whole_steps(most_votes)],
        up=[(at(0, width)[1], f"{width:g}") for width in np.linspace(0, most_width, 4)],
    )


def _round_up(value: float) -> float:
    """The next number that divides well into thirds."""
    scale = 10.0 ** np.floor(np.log10(max(value, 1e-9)))
    steps = np.array([1.2, 1.5, 1.8, 2.4, 3.0, 3.6, 4.8, 6.0, 7.2, 9.0, 12.0]) * scale
    return float(steps[np.searchsorted(steps, value)])


def _whole_steps(most: float) -> range:
    """Round whole numbers from 0 on, six at the most."""
    step = next(each * 10**power for power in range(20) for each in (1, 2, 5) if most <= 5 * each * 10**power)
    return range(0, int(most) + 1, step)


def coverage(live: Live, standing: Standing) -> dict[str, Any] | None:
    """Which pairs were asked, best items top left; items beyond a page's worth are folded together."""
    n = len(standing.places)
    if n < 2:
        return None
    rank = np.empty(len(live.codes), dtype=np.int64)
    index = {int(code): k for k, code in enumerate(live.codes)}
    rank[[index[each.code] for each in standing.places]] = np.arange(n)
    low, high = np.sort(np.column_stack([rank[live.left], rank[live.right]]), axis=1).T
    asked = len(np.unique(low * n + high))
    fold = -(-n // MOST_CELLS)
    side = -(-n // fold)
    counts = np.zeros((side, side), dtype=np.int64)
    np.add.at(counts, (high // fold, low // fold), 1)
    pairs = np.zeros((side, side))
    sizes = np.minimum(fold, n - fold * np.arange(side))
    pairs += np.outer(sizes, sizes)
    np.fill_diagonal(pairs, sizes * (sizes - 1) / 2)
    cells = []
    for row in range(side):
        for column in range(row + 1 if fold > 1 else row):
            if counts[row, column]:
                share = counts[row, column] / max(pairs[row, column], 1)
                level = (
                    (1 if share < 1.5 else 2 if share < 2.5 else 3)
                    if fold == 1
                    else 1 + int(share > 0.25) + int(share > 1)
                )
                cells.append((round(100 * column / side, 2), round(100 * row / side, 2), level))
    seen = np.bincount(np.concatenate([live.left, live.right]), minlength=len(live.codes))
    return {
        "cells": cells,
        "size": round(100 / side * 0.86, 2),
        "asked": asked,
        "pairs": n * (n - 1) // 2,
        "fewest": int(seen.min()),
        "most": int(seen.max()),
        "fold": fold,
    }
