"""Sections of the page for scores that move: curves by date, the table over time, the games to come."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.data.comparisons import Comparisons
from podium.errors import InputError
from podium.evaluate.league import unpredicted
from podium.pairwise.base import Ranker
from podium.pairwise.dynamic import DynamicBradleyTerry
from podium.ranking.leaderboard import unit_word
from podium.show.report_parts import figure_of, sentence
from podium.show.time_plots import MAX_CURVES, curves
from podium.text import counted, one_line

__all__ = ["fixtures_of", "over_time"]

Floats = NDArray[np.float64]

DATES = 6  # columns of the table over time
MAX_BANDS = 40  # items with a small picture of their own
MAX_FIXTURES = 1000


def over_time(model: Any, order: Sequence[Hashable], level: float | None, unit: str, noun: str = "vote") -> list[str]:
    """Curves with bands, and ranks at a few dates; nothing for a model whose scores stand still."""
    if not isinstance(model, DynamicBradleyTerry) or model.times_[0] == model.times_[1]:
        return []
    idle = set(model.unseen_)  # by features alone: there is no past
    named = [item for item in model.ranking_.order if item in set(order) - idle]
    if not named:
        return []
    frame = model.curves(named[:MAX_BANDS], level=level or 0.95)
    first = frame.filter(frame["item"].is_in(named[:MAX_CURVES]))
    figure = curves(first, bands=level is not None and len(named) == 1, unit=unit, title=" ")
    caption = "The score of each item over time."
    if len(named) > MAX_CURVES:
        table = "; all are in the table below" if model.drift_ else ""
        caption += f" The first {MAX_CURVES} of {len(named):,} are drawn here{table}."
    return [
        "<h2>Scores over time</h2>",
        f"<p>{_drift(model, frame['time'].dtype.is_temporal(), noun)}</p>",
        f'<p class="soft">{caption}</p>',
        figure_of(figure, "curves", caption),
        *(_bands(frame, len(named), level) if level is not None and len(named) > 1 else []),
        *(_table(model, named, noun) if model.drift_ else []),
    ]


def _drift(model: DynamicBradleyTerry, dated: bool, noun: str) -> str:
    """How fast scores move, in a sentence."""
    unit, word = model.ranking_.unit, unit_word(model.ranking_.unit)
    if not model.drift_:
        if model.drift != "auto":
            return "Drift was set to 0: each item has one score at all times."
        return (
            f"The {noun}s do not show that scores moved, so each has one score at all times; intervals and bands "
            "allow for the drifts that they cannot rule out, and are wider for it (drift set to 0 holds scores still)."
        )
    span = unit * model.drift_ * (model.times_[1] - model.times_[0]) ** 0.5
    time = "a day" if dated else "in one unit of time"
    return f"Scores move by about {unit * model.drift_:.3g} {word} {time}, {span:.3g} from first to last."


def _bands(frame: Any, count: int, level: float) -> list[str]:
    """A small picture for each item, with its band, all on one scale; the others' curves stand behind in grey."""
    parts = {key[0]: part.sort("time") for key, part in frame.group_by("item", maintain_order=True)}
    days = frame["time"].to_physical() if frame["time"].dtype.is_temporal() else frame["time"]
    first, last = days.min(), days.max()
    low, high = float(frame["lower"].min()), float(frame["upper"].max())

    def line(part: Any, name: str) -> list[str]:
        times = part["time"].to_physical() if part["time"].dtype.is_temporal() else part["time"]
        across = 200 * (times.to_numpy() - first) / (last - first)
        up = 80 - 80 * (part[name].to_numpy() - low) / (high - low)
        return [f"{x:.1f},{y:.1f}" for x, y in zip(across.tolist(), up.tolist(), strict=True)]

    lines = {item: " ".join(line(part, "score")) for item, part in parts.items()}
    thin = 'vector-effect="non-scaling-stroke"'  # the picture is stretched, its lines are not
    behind = "".join(f'<polyline {thin} points="{points}"/>' for points in lines.values())
    level_line = f"{80 + 80 * low / (high - low):.1f}"
    zero = f'<line class="zero" {thin} x1="0" x2="200" y1="{level_line}" y2="{level_line}"/>' if low < 0 < high else ""
    pictures = []
    for place, (item, part) in enumerate(parts.items(), start=1):
        band = " ".join(line(part, "upper") + line(part, "lower")[::-1])
        others = f'<g id="all-curves">{behind}</g>' if place == 1 else '<use href="#all-curves"/>'
        name, score = escape(one_line(item)), f"{part['score'][-1]:+.3g}".replace("-", "−")
        pictures.append(
            f"<figure><figcaption><i>{place}</i> {name}</figcaption>"
            f'<svg viewBox="0 0 200 80" preserveAspectRatio="none" role="img"><title>{name}: now {score}</title>'
            f'{zero}<g class="behind">{others}</g>'
            f'<polygon points="{band}"/><polyline {thin} points="{lines[item]}"/></svg></figure>'
        )
    some = f" The first {len(parts)} of {count:,}." if len(parts) < count else ""
    ends = [_day(frame["time"].min()), _day(frame["time"].max())]
    note = f"All from {ends[0]} to {ends[1]} and from {low:.3g} to {high:.3g}; grey: the others.{some}"
    return [
        f"<h2>Each with its {100 * level:g} % band</h2>",
        f'<p class="soft">{note.replace(" -", " −")}</p>',
        f'<div class="curves">{"".join(pictures)}</div>',
    ]


def _table(model: DynamicBradleyTerry, order: list[Hashable], noun: str) -> list[str]:
    """Rank and score of each item at a few dates, evenly from the first to the last."""
    frame = model.curves(points=DATES)
    times = frame["time"].unique().sort().to_list()
    ranks: dict[Hashable, dict[Any, tuple[int, float]]] = {item: {} for item in order}
    for time in times:
        part = frame.filter(frame["time"] == time)
        scores = part["score"].to_numpy()
        for item, score in zip(part["item"].to_list(), scores.tolist(), strict=True):
            if item in ranks:
                ranks[item][time] = int((scores > score).sum()) + 1, score
    left_out = f" Items without {noun}s are left out of these ranks." if model.unseen_ else ""
    digits = 2 if model.ranking_.unit < 10 else 0
    kinds = ["n" if (len(times) - at) % 2 else "n wide" for at in range(len(times))]  # a phone has room for half
    heads = "".join(f'<th class="{kind}">{escape(_day(time))}</th>' for kind, time in zip(kinds, times, strict=True))
    rows = []
    for item, by_time in ranks.items():
        cells = [f'<td class="item">{escape(one_line(item))}</td>']
        for kind, time in zip(kinds, times, strict=True):
            rank, score = by_time.get(time, (0, np.nan))
            shown = f"<span>{rank}</span><small>{score:.{digits}f}</small>".replace("-", "−") if rank else ""
            cells.append(f'<td class="{kind}" data-v="{rank or ""}">{shown}</td>')
        rows.append(f"<tr>{''.join(cells)}</tr>")
    return [
        "<h2>The table over time</h2>",
        f'<p class="soft">Ranks by score at each date; small: the score. Empty: not compared yet.{left_out}</p>',
        '<div class="scroll card" tabindex="0" role="region" aria-label="The table over time">',
        f'<table class="ranks sortable"><thead><tr><th>Item</th>{heads}</tr></thead>',
        f"<tbody>{''.join(rows)}</tbody></table></div>",
    ]


def _day(time: Any) -> str:
    return f"{time:.6g}" if isinstance(time, float | int) else str(time).removesuffix(" 00:00:00")


def fixtures_of(model: Any, fixtures: Comparisons | None, level: float | None = 0.95) -> list[str]:
    """The games to come with the chance of each outcome, and its bounds where the model has any."""
    if fixtures is None:
        return []
    if not isinstance(model, Ranker):
        raise InputError("fixtures need the fitted model too, which gives their chances; pass model")
    strange, sentences = unpredicted(model, fixtures)
    chances = model.predict_proba(fixtures)
    bounds = None if level is None else model.predict_interval(fixtures, level)
    possible = chances if bounds is None else bounds[1]  # where no game was a tie, one to come may be
    with_ties = bool((possible[:, 1] > 0).any())
    times = fixtures.to_frame()["time"].to_list() if fixtures.time is not None else None
    one, other = ("Home", "Away") if fixtures.vote_is == "game" else ("Left", "Right")
    heads = ('<th class="wide">When</th>' if times else "") + f'<th>{one}<span class="narrow">{other}</span></th>'
    heads += f'<th class="wide">{other}</th>'
    half = " + ½ tie" if model.counts_ties_half_ else ""
    words = (f"{one} wins{half}", *["Tie"] * with_ties, f"{other} wins{half}")
    heads += "".join(f'<th class="n">{word}</th>' for word in words)
    heads += '<th class="still wide">Chances</th>'
    rows = []
    for k in range(min(len(chances), MAX_FIXTURES)):
        win, tie, loss = chances[k].tolist()
        names = [one_line(fixtures.items[int(side[k])]) for side in (fixtures.left, fixtures.right)]
        cells = f'<td class="wide when">{escape(_day(times[k]))}</td>' if times else ""
        below = f'<span class="narrow">{escape(names[1])}</span>'  # on a phone, which has no room for two columns
        below += f'<small class="narrow">{escape(_day(times[k]))}</small>' if times else ""
        cells += f'<td class="item">{escape(names[0])}{below}</td><td class="item wide">{escape(names[1])}</td>'
        shown = [0, 1, 2] if with_ties else [0, 2]
        if strange[k]:
            cells += '<td class="n" data-v=""></td>' * len(shown)
        else:
            cells += "".join(_share(chances, bounds, k, outcome) for outcome in shown)
        rows.append(f'<tr>{cells}<td class="wide">{"" if strange[k] else odds(win, tie, loss)}</td></tr>')
    more = len(chances) - MAX_FIXTURES
    return [
        "<h2>Games to come</h2>",
        f'<p class="soft">{_chances_of(model)} by this model{_as_of(model, times)}{_bounded(bounds, level)}.</p>',
        *(f'<p class="soft">{escape(sentence(text))}.</p>' for text in sentences),
        '<div class="scroll card" tabindex="0" role="region" aria-label="Games to come">',
        f'<table class="sortable chances"><thead><tr>{heads}</tr></thead><tbody>{"".join(rows)}</tbody></table></div>',
        *([f'<p class="soft">… and {counted(more, "more fixture")}.</p>'] if more > 0 else []),
    ]


def _share(chances: Floats, bounds: tuple[Floats, Floats] | None, row: int, outcome: int) -> str:
    """The cell of one chance, and small below it its bounds."""
    share, ends = chances[row, outcome], ""
    if bounds is not None:
        low, high = (f"{100 * end[row, outcome]:.0f}" for end in bounds)
        ends = f"<small>{low} … {high}</small>"
    return f'<td class="n" data-v="{share:.6f}">{100 * share:.0f} %{ends}</td>'


def _bounded(bounds: Any, level: float | None) -> str:
    return "" if bounds is None else f"; small: where it may lie, with {100 * (level or 0):g} % confidence"


def _chances_of(model: Ranker) -> str:
    if not model.counts_ties_half_:
        return "The chance of each outcome"
    fit = "fit it with" if model.uses.ties else "fit one that models ties, as dynamic or bradley-terry with"
    return (
        f"The model counts a tie half and knows no chance of one ({fit} <code>--ties davidson</code> for the "
        "chance of each outcome). The chance of a win plus half that of a tie"
    )


def _as_of(model: Ranker, times: list[Any] | None) -> str:
    """Of which date the strengths are, where they move."""
    if not isinstance(model, DynamicBradleyTerry):
        return ""
    return ", as strengths may be at the date of the game" if times else ", as strengths were at the last date"


def odds(win: float, tie: float, loss: float) -> str:
    """Three shares as one bar, in per cent of its width."""
    edges = np.cumsum([0, 100 * win, 100 * tie, 100 * loss]).tolist()
    parts = [
        f'<rect class="{kind}" x="{start:.2f}%" width="{max(0.0, end - start):.2f}%" height="100%"/>'
        for kind, start, end in zip("wtl", edges[:-1], edges[1:], strict=True)
    ]
    return f'<svg class="odds" aria-hidden="true">{"".join(parts)}</svg>'
