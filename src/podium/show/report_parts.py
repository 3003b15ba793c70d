"""What a page shows beside its leaderboard: other rankings of the items side by side, and where they stood before."""

from __future__ import annotations

import re
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from podium.errors import InputError
from podium.show.canvas import narrow, svg
from podium.text import counted, one_line

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from podium.data.comparisons import Comparisons
    from podium.data.rankings import Rankings
    from podium.ranking.ranking import Ranking

__all__ = [
    "WITHOUT",
    "Beside",
    "anchor",
    "anchors",
    "answers",
    "figure_of",
    "listings",
    "matrix",
    "sentence",
    "size_of",
    "tabs",
]

WITHOUT = "Without effects"  # the column of ranks with them left in


@dataclass(frozen=True)
class Beside:
    """What a page shows beside its leaderboard.

    Attributes
    ----------
    by : what tells the parts apart, such as "language"
    parts : each part's name, with its ranking and its votes
    before : ranks of an earlier leaderboard by item
    before_name : what that one is called, such as "last.csv"
    plain : the ranking of the same votes without the effects that the leaderboard takes out (style, sides)
    plain_settings : how that one was fitted, for its CSV
    remarks : what is to be said of a part, by its name
    more : further columns of the leaderboard, such as marks: for each item what stands there, and what it is sorted by
    more_note : a sentence on those columns
    """

    by: str | None = None
    parts: Mapping[str, tuple[Ranking, Comparisons]] = field(default_factory=dict)
    remarks: Mapping[str, Sequence[str]] = field(default_factory=dict)
    before: Mapping[str, int] | None = None
    before_name: str = "before"
    plain: Ranking | None = None
    plain_settings: str | None = None
    more: Mapping[str, Mapping[str, tuple[str, float | None]]] = field(default_factory=dict)
    more_note: str = ""

    def __post_init__(self) -> None:
        if bool(self.parts) != bool(self.by):
            raise InputError("parts and what tells them apart (by) go together; give both, or neither")

    def columns(self) -> dict[str, dict[str, tuple[str, float | None]]]:
        """Further columns of the leaderboard: for each item what stands there, and what it is sorted by."""
        cells = {
            title: {item: (escape(shown), value) for item, (shown, value) in column.items()}
            for title, column in self.more.items()
        }
        if self.plain is not None:
            cells[WITHOUT] = {
                str(item): (f"{rank:,}", float(rank))
                for item, rank in zip(self.plain.items, self.plain.ranks.tolist(), strict=True)
            }
        return cells

    def told(self, item: str) -> list[str]:
        """What `more` says of an item, each with its title, for screens without room for columns."""
        told: list[str] = []
        for title, column in self.more.items():
            shown = escape(column[item][0]) if item in column else ""
            if told and title.endswith("from … to"):  # the interval of what was told before it
                told[-1] += f" ({shown})" if shown else ""
            elif shown:
                told.append(f"{escape(title).lower()} {shown}")
        return told

    def change(self, item: str, rank: int) -> tuple[str, float | None]:
        """How far an item has moved since the earlier leaderboard, in HTML, and what it is sorted by."""
        old = (self.before or {}).get(item)
        if old is None:
            return "new", None
        moved = old - rank
        if not moved:
            return "–", 0.0
        kind, arrow = ("up", "▲") if moved > 0 else ("down", "▼")
        return f'<span class="{kind}">{arrow} {abs(moved)}</span>', float(moved)


def anchors(items: list[Hashable]) -> dict[str, str]:
    """A name for each item that an address can end in; every name once."""
    names: dict[str, str] = {}
    taken: set[str] = set()
    for item in items:
        base = "".join(sign.lower() if sign.isalnum() else "-" for sign in one_line(item)).strip("-") or "item"
        name, count = f"item-{base}", 1
        while name in taken:
            count += 1
            name = f"item-{base}-{count}"
        taken.add(name)
        names[str(item)] = name
    return names


def anchor(name: str, item: object) -> str:
    """A link to a row of the page, for people to copy."""
    return f'<a class="anchor" href="#{escape(name)}" aria-label="Link to {escape(one_line(item))}"></a>'


def matrix(beside: Beside, frame: Any, level: float | None, simultaneous: bool) -> list[str]:
    """Ranks of the parts side by side, in the order of the whole; then each part's best."""
    if not beside.parts:
        return []
    tables = {
        name: {str(row["item"]): row for row in ranking.to_frame(level, simultaneous).to_dicts()}
        for name, (ranking, _) in beside.parts.items()
    }
    what = escape(one_line(beside.by))
    heads = ['<th>Item</th><th class="n">Overall</th>']
    heads += [
        f"<th>{escape(one_line(name))}<small>{size_of(votes)}</small></th>" for name, (_, votes) in beside.parts.items()
    ]
    rows = []
    for row in frame.to_dicts():
        item = str(row["item"])
        cells = [f'<td class="item">{escape(one_line(item))}</td>', _cell(row)]
        cells += [_cell(table.get(item)) for table in tables.values()]
        rows.append(f"<tr>{''.join(cells)}</tr>")
    noun = answers(next(iter(beside.parts.values()))[1])
    caption = f"Small: the ranks it may truly have there. Solid: first; framed: may be first. Empty: no {noun} there."
    return [
        f"<h2>Ranks by {what}</h2>",
        f'<p class="soft">{caption}</p>',
        f'<div class="scroll card" tabindex="0" role="region" aria-label="Ranks by {what}">',
        f'<table class="ranks sortable"><thead><tr>{"".join(heads)}</tr></thead>',
        f"<tbody>{''.join(rows)}</tbody></table></div>",
    ]


def size_of(votes: Comparisons) -> str:
    """How many votes, or rankings, there are."""
    lists = votes.group_is == "ranking"
    return counted(len(votes.groups), "ranking") if lists else counted(len(votes), votes.noun)


def answers(votes: Comparisons) -> str:
    """What a ranking rests on, in a word: votes, games or rankings."""
    return "rankings" if votes.group_is == "ranking" else f"{votes.noun}s"


def sentence(text: str) -> str:
    """With a capital, unless it begins with a name of the user's: of a file, or of a column with its value.

    >>> sentence("few votes"), sentence("language = sw is left out"), sentence("votes.csv: 2 rows are empty")
    ('Few votes', 'language = sw is left out', 'votes.csv: 2 rows are empty')
    """
    return text if re.match(r"[^,;:(]* = |\S+\.\w", text) else text[:1].upper() + text[1:]


def figure_of(figure: Figure, name: str, label: str) -> str:
    """A picture of the page, drawn twice: at its width, and as narrow as a phone, where its names are seen at once."""
    wide = svg(figure, name)
    narrow(figure)
    drawn = "".join(
        element.replace("<svg", f'<svg class="{kind}" role="img" aria-label="{escape(one_line(label))}"', 1)
        for kind, element in (("wide", wide), ("narrow", svg(figure, f"{name}-narrow")))
    )
    return f'<div class="figure">{drawn}</div>'


def listings(rankings: Rankings) -> dict[str, dict[str, tuple[str, float | None]]]:
    """In how many rankings each item is first, and is listed: columns for `more`; sharing the first place is first.

    >>> from podium.data.rankings import Rankings
    >>> listings(Rankings.from_lists([["tea", "milk"], ["milk"], ["tea"]], unranked="below"))["First"]["tea"]
    ('2', 2.0)
    """
    n = len(rankings.items)
    weight = np.ones(len(rankings)) if rankings.weight is None else rankings.weight
    row = np.repeat(np.arange(len(rankings)), np.diff(rankings.start))
    behind = np.ones(len(row), dtype=np.int64) if rankings.tied is None else 1 - rankings.tied.astype(np.int64)
    behind[rankings.start[:-1]] = 0
    place = np.cumsum(behind)
    first = place == place[rankings.start[:-1]][row]
    counts = {
        "First": np.bincount(rankings.item[first], weight[row[first]], n),
        "Listed": np.bincount(rankings.item, weight[row], n),
    }
    return {
        title: {
            str(item): (f"{count:,.6g}", count) for item, count in zip(rankings.items, column.tolist(), strict=True)
        }
        for title, column in counts.items()
    }


def tabs(panels: dict[str, list[str]], switch: str = "") -> list[str]:
    """Sections behind tabs: one at a time where the browser can, all below each other where not, and on paper.

    `switch` stands beside the tabs.
    """
    panels = {name: parts for name, parts in panels.items() if parts}
    radios = "".join(
        f'<label><input type="radio" name="view" id="view-{k}"{"" if k else " checked"}>'
        f"<span>{escape(one_line(name))}</span></label>"
        for k, name in enumerate(panels)
    )
    sections = [
        f'<section class="panel v{k}" aria-label="{escape(one_line(name))}">\n{joined}\n</section>'
        for k, (name, joined) in enumerate((name, "\n".join(parts)) for name, parts in panels.items())
    ]
    return [
        f'<div class="tools"><fieldset class="tabs"><legend>View</legend>{radios}</fieldset>{switch}</div>',
        *sections,
    ]


def _cell(row: dict[str, Any] | None) -> str:
    if row is None:
        return '<td data-v=""></td>'
    rank, low, high = row["rank"], row.get("rank_lower"), row.get("rank_upper")
    kind = "best" if rank == 1 else ("perhaps" if low == 1 else "")
    ends = f"<small>{low}–{high}</small>" if low is not None else ""
    return f'<td data-v="{rank}"><span class="{kind}">{rank}</span>{ends}</td>'
