"""Pictures from values: a ranking with its intervals, who beat whom, scores as votes came in, calibration.

Every picture is a matplotlib `Figure` that belongs to nobody (no pyplot, no global state); `save` writes it as
PNG, SVG or PDF. Colours are from the palette of Okabe and Ito, which the colour-blind can tell apart, and no meaning
depends on colour alone.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from podium.data.comparisons import Comparisons
from podium.data.validation import entries_of, floats_of, instance_of
from podium.errors import InputError, Option
from podium.pairwise.base import Ranker
from podium.ranking.ranking import Ranking
from podium.show.canvas import (
    BAND,
    BLUE,
    FORMATS,
    INK,
    LINES,
    MARKERS,
    ON_LIGHT,
    SOFT,
    VERMILLION,
    apart,
    axes_at,
    check_options,
    check_path,
    footnote,
    headline,
    label_width,
    save,
    sheet,
    short,
    span,
    styled,
    svg,
)
from podium.text import counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = [
    "FORMATS",
    "calibration",
    "check_path",
    "history",
    "intervals",
    "save",
    "svg",
    "unit_of",
    "win_rates",
    "wins",
]

Floats = NDArray[np.float64]

ITEMS_PER_COLUMN = 60  # of the interval plot
MAX_ITEMS = 600  # drawn; the rest are only counted
MAX_NAMED_LINES = 24  # of the history
MAX_NUMBERED_ITEMS = 40  # up to which the cells of the heat map carry numbers
DASHES = ("-", (0, (4, 1.5)), (0, (1, 1)))  # one for each round of the colours


# ---- intervals ------------------------------------------------------------------------------------------------------


@styled
def intervals(
    ranking: Ranking,
    *,
    level: float | None = 0.95,
    top: int | None = None,
    unit: str | None = None,
    min_votes: float = 0.0,
    title: str | None = None,
) -> Figure:
    """Draw the scores, best first, with their intervals; tiers are shaded in turn and numbered on the right.

    An arrow marks an interval that does not end: the item only won or only lost. A ranking without standard errors
    is drawn as dots, as is any with `level=None`. Many items are laid out in columns with one scale; beyond `top` (or
    600) the rest are only counted in a footnote. Items with fewer than `min_votes` votes are left out.
    `unit` names what the scores are measured in; log-odds or the Elo scale by default.

    Examples
    --------
    >>> figure = intervals(Ranking(["tea", "milk", "coffee"], [0.4, -1.0, 0.6]))
    >>> [label.get_text() for label in figure.axes[0].get_yticklabels()]
    ['1  coffee', '2  tea', '3  milk']
    """
    instance_of(Ranking, ranking, "ranking")
    check_options(top=top, min_votes=min_votes, level=level, unit=unit, title=title)
    frame = ranking.to_frame(level)
    frame = frame.filter(frame["comparisons"] >= min_votes) if min_votes else frame
    shown = min(len(frame), MAX_ITEMS if top is None else top)
    if shown < 1:
        raise InputError(Option("min_votes", min_votes), ": no item has so many votes; give less")
    table = {name: frame[name].head(shown).to_numpy() for name in ("score", "lower", "upper", "rank", "tier")}
    names = [f"{rank}  {short(item)}" for rank, item in zip(table["rank"], frame["item"].head(shown), strict=True)]
    with_intervals = ranking.information is not None and level is not None
    columns = -(-shown // ITEMS_PER_COLUMN)
    rows = -(-shown // columns)
    left, width, height = 0.25 + label_width(names, 8), 3.0, 0.19 * max(rows, 2)
    figure = sheet(columns * (left + width + 0.35), height + 1.0)
    limits = span(table["score"], table["lower"], table["upper"])
    for number in range(columns):
        ax = axes_at(figure, left + number * (left + width + 0.35), 0.6, width, height)
        part = slice(number * rows, min((number + 1) * rows, shown))
        _interval_column(ax, {k: v[part] for k, v in table.items()}, names[part], limits, rows, with_intervals)
    headline(figure, title or "Scores" + (f" with {100 * level:g} % intervals" if with_intervals and level else ""))
    notes = [unit or unit_of(ranking)]
    notes += ["items of one tier (shaded, numbered) are not significantly below its leader"] if with_intervals else []
    notes += [f"below: {counted(len(frame) - shown, 'more item')}"] if shown < len(frame) else []
    footnote(figure, "; ".join(notes))
    return figure


def _interval_column(
    ax: Axes, table: dict[str, Any], names: list[str], limits: tuple[float, float], rows: int, with_intervals: bool
) -> None:
    count = len(names)
    heights = np.arange(count)
    ax.set(xlim=limits, ylim=(rows - 0.5, -0.5))
    ax.set_yticks(heights, names, fontsize=8, parse_math=False)
    ax.tick_params(axis="y", length=0)
    ax.grid(axis="x", color="#dddddd", linewidth=0.6)
    if with_intervals:
        ends = np.flatnonzero(np.diff(table["tier"])) + 1
        for start, stop in zip([0, *ends], [*ends, count], strict=True):
            tier = int(table["tier"][start])
            if tier % 2:
                ax.axhspan(start - 0.5, stop - 0.5, color=BAND, linewidth=0, zorder=0)
            ax.annotate(
                str(tier), (1.01, (start + stop - 1) / 2), xycoords=("axes fraction", "data"), fontsize=7, color=SOFT,
                va="center", annotation_clip=False,
            )  # fmt: skip
        lower, upper = np.clip(table["lower"], *limits), np.clip(table["upper"], *limits)
        ax.hlines(heights, lower, upper, color=BLUE, linewidth=1.6)
        for open_ended, end, marker in (
            (table["lower"] == -np.inf, limits[0], "<"),
            (table["upper"] == np.inf, limits[1], ">"),
        ):
            ax.plot(
                np.full(open_ended.sum(), end), heights[open_ended], marker, color=BLUE, markersize=5, clip_on=False
            )
    ax.plot(table["score"], heights, "o", color=BLUE if with_intervals else INK, markersize=4)


def unit_of(ranking: Ranking, model: Ranker | None = None) -> str:
    """What the scores are measured in, for an axis; some models measure them in the votes' margins."""
    instance_of(Ranking, ranking, "ranking")
    if model is not None:
        instance_of(Ranker, model, "model")
    if ranking.unit != 1.0:
        return "score, on the Elo scale"
    if model is not None and model.in_margins:
        return "score, in units of the margin"
    return "score" if ranking.information is None else "score, in log-odds"


# ---- who beat whom --------------------------------------------------------------------------------------------------


def win_rates(comparisons: Comparisons, order: Sequence[Hashable] | None = None) -> tuple[Floats, Floats]:
    """Return (rate, votes), n × n: the share of votes that the row's item won against the column's.

    A tie counts half. Rows follow `order` (default: the items as they are); pairs that were never compared have
    rate NaN.

    Examples
    --------
    >>> votes = Comparisons.from_pairs([("tea", "milk"), ("tea", "milk"), ("milk", "tea"), ("tea", "milk")])
    >>> rate, met = win_rates(votes)
    >>> float(rate[0, 1]), float(met[0, 1])
    (0.75, 4.0)
    """
    instance_of(Comparisons, comparisons, "comparisons")
    p, n = comparisons.pairs, len(comparisons.items)
    points, votes = np.zeros((n, n)), np.zeros((n, n))
    np.add.at(points, (p.left, p.right), p.left_points)
    np.add.at(points, (p.right, p.left), p.total - p.left_points)
    np.add.at(votes, (p.left, p.right), p.total)
    np.add.at(votes, (p.right, p.left), p.total)
    if order is not None:
        index = {item: code for code, item in enumerate(comparisons.items)}
        try:
            rows = np.array([index[item] for item in order], dtype=np.intp)
        except (TypeError, KeyError) as problem:
            raise InputError(f"order must list items of the votes ({problem})") from problem
        points, votes = points[np.ix_(rows, rows)], votes[np.ix_(rows, rows)]
    with np.errstate(invalid="ignore"):
        return points / votes, votes


@styled
def wins(
    comparisons: Comparisons,
    ranking: Ranking,
    *,
    top: int | None = None,
    min_votes: float = 0.0,
    title: str | None = None,
) -> Figure:
    """Draw how often the row's item beat the column's, both best first; pairs never compared stay empty.

    Items with fewer than `min_votes` votes are left out. Up to 40 items the cells carry the percentage; with very
    many, only some are named so that the names stay readable.
    """
    from matplotlib.colors import LinearSegmentedColormap

    instance_of(Comparisons, comparisons, "comparisons")
    instance_of(Ranking, ranking, "ranking")
    check_options(top=top, min_votes=min_votes, title=title)
    totals = np.sum(comparisons.record(), axis=0)
    eligible = {item for item, votes in zip(comparisons.items, totals, strict=True) if votes >= min_votes}
    # A ranking may also hold items without votes.
    order = tuple(item for item in ranking.order if item in eligible)[: MAX_ITEMS if top is None else top]
    n = len(order)
    if not n:
        raise InputError(Option("min_votes", min_votes), ": no item has so many votes; give less")
    rate, _ = win_rates(comparisons, order)
    names = [short(item) for item in order]
    font_size = 8 if n <= MAX_NUMBERED_ITEMS else 6
    side, margin = float(np.clip(0.34 * n, 2.4, 11.0)), 0.2 + label_width(names, font_size)
    figure = sheet(margin + side + 1.4, margin + side + 0.45)
    ax = axes_at(figure, margin, 0.1, side, side)
    colours = LinearSegmentedColormap.from_list("wins", [VERMILLION, "#f7f7f7", BLUE])
    image = ax.imshow(rate, vmin=0, vmax=1, cmap=colours, interpolation="nearest")
    step = max(1, -(-n // 80))
    ticks = np.arange(0, n, step)
    for axis, turn in ((ax.set_xticks, 90), (ax.set_yticks, 0)):
        axis(ticks, [names[t] for t in ticks], rotation=turn, fontsize=font_size, parse_math=False)
    ax.xaxis.tick_top()
    ax.tick_params(length=0)
    if n <= MAX_NUMBERED_ITEMS:
        size = 7 if n <= 24 else 5.5
        for i, j in zip(*np.nonzero(np.isfinite(rate)), strict=True):
            colour = "white" if abs(rate[i, j] - 0.5) > 0.36 else ON_LIGHT
            ax.text(j, i, f"{100 * rate[i, j]:.0f}", ha="center", va="center", fontsize=size, color=colour)
    high = min(side, 3.0)
    bar = figure.colorbar(image, cax=axes_at(figure, margin + side + 0.15, 0.1 + (side - high) / 2, 0.14, high))
    bar.set_ticks([0, 0.5, 1], labels=["always lost", "even", "always won"], fontsize=7)
    bar.outline.set_visible(False)
    notes = [f"the first {n:,} of {len(eligible):,}"] if n < len(eligible) else []
    notes += [f"one in {step} is named"] if step > 1 else []
    headline_text = title or f"{comparisons.noun.capitalize()}s won by the row's item, %"
    headline(figure, f"{headline_text} ({', '.join(notes)})" if notes else headline_text)
    return figure


# ---- scores as votes came in ----------------------------------------------------------------------------------------


@styled
def history(
    votes: Sequence[int],
    items: Sequence[Hashable],
    scores: Floats,
    *,
    top: int | None = None,
    unit: str = "score",
    title: str | None = None,
    noun: str = "vote",
) -> Figure:
    """Draw each item's score after each number of votes: `scores` is (times, items), NaN where there is none yet.

    The best eight at the end are coloured and named, the others are grey. With `top` only that many are drawn, and up
    to 24 of them named. `unit` is written beside the axis, and `noun` says what is counted along it.
    """
    check_options(top=top, unit=unit, title=title, noun=noun)
    scores, times = floats_of("scores", scores), floats_of("votes", votes, (None,))
    items = entries_of("items", items, "the labels of the columns")
    if not np.isfinite(times).all() or (np.diff(times) < 0).any():
        raise InputError("votes: give finite numbers of votes, the first first")
    if scores.shape != (len(times), len(items)):
        raise InputError(f"scores must be {len(times)} times × {counted(len(items), 'item')}; got shape {scores.shape}")
    if not scores.size:
        raise InputError("there is no score to draw; give at least one time and one item")
    last = np.where(np.isfinite(scores[-1]), scores[-1], -np.inf)
    shown = np.argsort(-last, kind="stable")[:top]
    best = shown[: len(LINES) if top is None else MAX_NAMED_LINES]
    names = [short(items[i]) for i in best]
    high = max(3.2, 0.18 * len(best))
    figure = sheet(0.75 + 5.0 + 0.4 + label_width(names, 8), high + 1.0)
    ax = axes_at(figure, 0.75, 0.55, 5.0, high)
    others = shown[len(best) :]
    if len(others):
        ax.plot(times, scores[:, others], color="#b0b0b0", linewidth=0.7, alpha=max(0.25, min(1.0, 20 / len(others))))
    lines = [(LINES[k % len(LINES)], DASHES[k // len(LINES)]) for k in range(len(best))]
    for i, (colour, dash) in zip(best, lines, strict=True):
        ax.plot(times, scores[:, i], color=colour, linewidth=1.8, linestyle=dash)
    settled = scores[times >= 0.2 * times[-1]][:, shown]  # scores from the first few votes are wild
    ax.set_ylim(span(settled.ravel()))
    heights = apart(scores[-1, best], 0.176 / high * float(np.ptp(ax.get_ylim())))
    for i, name, (colour, _), height in zip(best, names, lines, heights, strict=True):
        ax.annotate(
            name, (times[-1], scores[-1, i]), (1.05, height), textcoords=("axes fraction", "data"),
            color=colour, fontsize=8, va="center", parse_math=False, annotation_clip=False,
            arrowprops={"arrowstyle": "-", "color": colour, "linewidth": 0.6, "shrinkB": 0, "relpos": (0, 0.5)},
        )  # fmt: skip
    ax.set(xlabel=f"{noun}s", ylabel=unit, xlim=(0, times[-1]))
    ax.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    ax.grid(color="#dddddd", linewidth=0.6)
    rest = f" (the first {len(shown):,} of {counted(len(items), 'item')})" if len(shown) < len(items) else ""
    rest += f" ({counted(len(others), 'other')} in grey)" if len(others) else ""
    headline(figure, (title or f"Scores as {noun}s came in") + rest)
    return figure


# ---- calibration ----------------------------------------------------------------------------------------------------


@styled
def calibration(curves: dict[str, tuple[Floats, Floats, Floats, Floats]], *, title: str | None = None) -> Figure:
    """Draw how often the higher-ranked item won against the chance predicted, one curve per method.

    Each curve is (predicted, observed, lower, upper), one entry per bin. Predictions on the diagonal are
    calibrated; below it they are overconfident.
    """
    instance_of(dict, curves, "curves")
    check_options(title=title)
    if not curves:
        raise InputError("there is no calibration curve to draw")
    figure = sheet(5.6, 5.5)
    ax = axes_at(figure, 0.75, 0.6, 4.5, 4.5)
    ax.plot([0, 1], [0, 1], color=SOFT, linewidth=0.8, linestyle=(0, (4, 3)))
    lowest = 0.5
    for number, (name, (predicted, observed, lower, upper)) in enumerate(curves.items()):
        colour, marker = LINES[number % len(LINES)], MARKERS[number % len(MARKERS)]
        nudge = 0.003 * (number - (len(curves) - 1) / 2)
        ax.vlines(np.asarray(predicted) + nudge, lower, upper, color=colour, linewidth=1.0, alpha=0.6)
        ax.plot(
            np.asarray(predicted) + nudge,
            observed,
            marker=marker,
            color=colour,
            markersize=4.5,
            linewidth=1.2,
            label=short(name),
        )
        lowest = min(lowest, float(np.min(lower, initial=0.5)), float(np.min(predicted, initial=0.5)))
    ax.set(xlim=(lowest - 0.02, 1.02), ylim=(lowest - 0.02, 1.02), xlabel="predicted chance", ylabel="observed share")
    ax.set_aspect("equal")
    ax.grid(color="#dddddd", linewidth=0.6)
    ax.legend(fontsize=8, frameon=False, loc="upper left")
    headline(figure, title or "Calibration on held-out votes")
    return figure
