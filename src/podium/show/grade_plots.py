"""Pictures of a grader: how its error fell, where its thresholds lie, which grades it mistakes for which."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from podium.data.validation import floats_of, instance_of
from podium.errors import InputError
from podium.show.canvas import BLUE, SOFT, VERMILLION, panel
from podium.text import counted, percent

__all__ = ["confusion", "progress", "scores_by_grade"]


def progress(curve: Sequence[tuple[int, float]], *, ax: Any = None) -> Any:
    """Draw the progressive mean absolute error against examples seen; returns the axes."""
    points = floats_of("curve", curve)
    if points.ndim != 2 or points.shape[1] != 2 or not len(points):
        raise InputError(f"curve has shape {points.shape}; give (examples seen, error) pairs, at least one")
    if not np.isfinite(points).all():
        raise InputError("curve holds numbers that are not finite; give (examples seen, error) pairs")
    ax = panel(6, 4)[1] if ax is None else ax
    seen, error = points.T
    ax.plot(seen, error, color=BLUE, marker="o" if len(seen) < 30 else None, markersize=3)
    ax.set(
        xlabel="examples seen, again with each pass",
        ylabel="mean absolute error so far (grades)",
        title="Error before learning from each example",
    )
    ax.set_ylim(bottom=0, top=max(error) * 1.15 or 1)
    ax.grid(alpha=0.3)
    return ax


def scores_by_grade(scores: Any, labels: Any, thresholds: Any, grades: Sequence[Any], *, ax: Any = None) -> Any:
    """Draw the scores of each grade, one row per grade, and the thresholds between grades; returns the axes.

    `labels` are codes from 0. A box spans the middle half of a grade's scores, whiskers 90 % of them.
    """
    scores, labels = floats_of("scores", scores), floats_of("labels", labels)
    if scores.ndim != 1 or scores.shape != labels.shape:
        raise InputError(f"scores have shape {scores.shape} and labels {labels.shape}; give one label for each score")
    instance_of(Sequence, grades, "grades")
    ax = panel(6, 4)[1] if ax is None else ax
    rows = [scores[labels == k] for k in range(len(grades))]
    for k, row in enumerate(rows):
        if not len(row):
            continue
        low, first, middle, third, high = np.quantile(row, [0.05, 0.25, 0.5, 0.75, 0.95])
        ax.plot([low, high], [k, k], color=SOFT, linewidth=1)
        ax.barh(k, third - first, left=first, height=0.5, color=BLUE, alpha=0.35, edgecolor=BLUE)
        ax.plot([middle, middle], [k - 0.25, k + 0.25], color=BLUE, linewidth=2)
    finite = [t for t in floats_of("thresholds", thresholds).ravel() if np.isfinite(t)]
    for i, threshold in enumerate(finite):
        ax.axvline(threshold, color=VERMILLION, linestyle="--", linewidth=1, label=None if i else "thresholds")
    ax.set_yticks(range(len(grades)), [f"{grade} ({len(row):,})" for grade, row in zip(grades, rows, strict=True)])
    ax.set(xlabel="score", ylabel="true grade (examples)", title="Scores and thresholds")
    if finite:
        ax.legend(loc="lower right", frameon=False)
    return ax


def confusion(counts: Any, grades: Sequence[Any], *, ax: Any = None) -> Any:
    """Draw the share of each true grade (rows) that got each predicted grade (columns); returns the axes."""
    counts = floats_of("counts", counts)
    instance_of(Sequence, grades, "grades")
    if counts.shape != (len(grades),) * 2 or not len(grades):
        raise InputError(
            f"counts have shape {counts.shape} for {counted(len(grades), 'grade')}; give a row and a column for each"
        )
    if not (np.isfinite(counts).all() and (counts >= 0).all()):
        raise InputError("counts: give how many rows there are of each pair of grades, numbers from 0 up")
    ax = panel(6, 4)[1] if ax is None else ax
    share = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    ax.imshow(share, cmap="Blues", vmin=0, vmax=1, aspect="auto")
    if len(grades) <= 12:
        for i, j in np.ndindex(*share.shape):
            ax.text(
                j, i, percent(share[i, j]), ha="center", va="center", color="white" if share[i, j] > 0.55 else "black"
            )
    ticks = range(0, len(grades), 1 + len(grades) // 25)
    ax.set_xticks(ticks, [str(grades[k]) for k in ticks])
    ax.set_yticks(ticks, [str(grades[k]) for k in ticks])
    ax.set(xlabel="predicted grade", ylabel="true grade", title="Which grades are mistaken for which")
    return ax
