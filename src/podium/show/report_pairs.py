"""Who beat whom, on a page: a matrix that people can read from 5 to 500 items, and every pair's record as a table."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.data.comparisons import Comparisons
from podium.pairwise.bradley_terry import BradleyTerry
from podium.pairwise.rabf import RABF
from podium.ranking.uncertainty import quantile
from podium.text import counted, one_line

__all__ = ["MAX_RECORDS", "MAX_SINGLE_ITEMS", "head_to_head", "score_interval"]

Floats = NDArray[np.float64]

MAX_SINGLE_ITEMS = 30  # items with a row and a column each; more are folded into groups of neighbours
MAX_GROUPS = 16  # which a page of common width shows without scrolling
MAX_EXPECTED_ITEMS = 500  # whose pairs are predicted
MAX_RECORDS = 1000  # of the table of pairs, those with most votes


@dataclass(frozen=True)
class Sides:
    """Rows and columns of the matrix: what each is called, in a few letters and in full, and its place."""

    places: list[str]
    names: list[str]
    titles: list[str]


def head_to_head(
    comparisons: Comparisons,
    order: Sequence[Hashable],
    level: float | None,
    model: Any = None,
) -> list[str]:
    """HTML of who beat whom among `order`, best first: the matrix, and the record of each pair.

    What is expected of a pair is what the model says of its votes, each with its side and its covariates. Models whose
    scores move expected something else at each vote, so nothing is told.
    """
    if len(order) < 2:
        return []
    won, tied = _counts(comparisons, order)
    whole = bool((won == np.round(won)).all() and (tied == np.round(tied)).all())
    level = level if whole else None  # weights are no counts, so they give no interval
    expected = _expected(comparisons, order, model)
    title, noun, by, beat = "Who beat whom", f"{comparisons.noun}s", "that", "won against"
    if comparisons.group_is == "ranking":
        title, noun, by, beat = "Who was above whom", "rankings", "in which", "is above"
    if len(order) <= MAX_SINGLE_ITEMS:
        names = [one_line(item) for item in order]
        sides = Sides([str(k + 1) for k in range(len(order))], names, names)
        table = _matrix(sides, won, tied, level, expected)
        caption = (
            f"{noun.capitalize()} {by} the row’s item {beat} the column’s, in per cent, a tie counting half; empty: "
            "never met."
        )
    else:
        starts = np.linspace(0, len(order), MAX_GROUPS + 1).astype(int)
        sides = _groups(order, starts)
        table = _matrix(sides, _folded(won, starts), _folded(tied, starts), level, None)
        caption = (
            f"{counted(len(order), 'item')} in {MAX_GROUPS} groups of neighbours: {noun} {by} the row’s group "
            f"{beat} the column’s, in per cent, a tie counting half; empty: never met, or the group itself."
        )
    what = f"; in brackets the {100 * level:g} % interval of that share alone" if level is not None else ""
    hint = f"Few {noun} have little colour. Point at a cell, touch it, or use the arrow keys for its record{what}."
    return [
        f"<h2>{title}</h2>",
        f'<p class="soft">{caption} {hint}</p>',
        f'<div class="scroll" tabindex="0" role="region" aria-label="{title}">{table}</div>',
        _records(order, won, tied, noun, expected),
    ]


def _counts(comparisons: Comparisons, order: Sequence[Hashable]) -> tuple[Floats, Floats]:
    """Wins of the row over the column, and ties, in the order given."""
    p, n = comparisons.pairs, len(comparisons.items)
    won, tied = np.zeros((n, n)), np.zeros((n, n))
    np.add.at(won, (p.left, p.right), p.left_wins)
    np.add.at(won, (p.right, p.left), p.right_wins)
    np.add.at(tied, (p.left, p.right), p.ties)
    np.add.at(tied, (p.right, p.left), p.ties)
    index = {item: code for code, item in enumerate(comparisons.items)}
    rows = np.array([index[item] for item in order], dtype=np.intp)
    return won[np.ix_(rows, rows)], tied[np.ix_(rows, rows)]


def _folded(counts: Floats, starts: NDArray[Any]) -> Floats:
    """Counts summed by group; none of a group with itself, where each win is another's loss."""
    sums: Floats = np.add.reduceat(np.add.reduceat(counts, starts[:-1], 0), starts[:-1], 1)
    np.fill_diagonal(sums, 0.0)
    return sums


def _expected(comparisons: Comparisons, order: Sequence[Hashable], model: Any) -> Floats | None:
    """The share expected of the row against the column, a tie counting half; NaN where nothing is known.

    Where the model knows a side effect or covariates, each item is expected to win what it would in the votes it had.
    """
    if not isinstance(model, BradleyTerry | RABF) or len(order) > MAX_EXPECTED_ITEMS:
        return None
    n, c = len(order), comparisons
    share = np.full((n, n), np.nan)
    place = {item: k for k, item in enumerate(order)}
    codes = np.array([place.get(item, -1) for item in c.items])
    if model.covariate_names_:  # every vote has its own chance
        if c.covariates is None:
            return share
        one, other, _, votes = c.vote_rows()
        left, right = codes[one], codes[other]
    else:
        p = c.pairs_by_side
        left, right, votes = codes[p.left], codes[p.right], p.total
    met = (left >= 0) & (right >= 0) & (votes > 0)
    if not met.any():
        return share
    left, right, votes = left[met], right[met], votes[met]
    if model.covariate_names_:
        chances = model.predict_proba(c)[met]
    else:
        chances = model.predict_proba(Comparisons(list(order), left, right, sided=c.sided))
    win, tie, _ = chances.T
    points, meetings = np.zeros((n, n)), np.zeros((n, n))
    for one, other, chance in ((left, right, win + tie / 2), (right, left, 1 - win - tie / 2)):
        np.add.at(points, (one, other), votes * chance)
        np.add.at(meetings, (one, other), votes)
    np.divide(points, meetings, out=share, where=meetings > 0)
    return share


def _groups(order: Sequence[Hashable], starts: NDArray[Any]) -> Sides:
    places, names, titles = [], [], []
    for first, end in zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True):
        ends = one_line(order[first]), one_line(order[end - 1])
        places.append(f"{first + 1}–{end}" if end - first > 1 else str(end))
        names.append(f"{ends[0]} … {ends[1]}" if end - first > 1 else ends[0])
        titles.append(f"Places {places[-1]}: {names[-1]}" if end - first > 1 else names[-1])
    return Sides(places, names, titles)


def score_interval(points: float, votes: float, level: float) -> tuple[float, float]:
    """Wilson's interval of a share; with ties, which count half and vary less, it is too wide rather than too narrow.

    >>> [round(end, 3) for end in score_interval(8, 10, 0.95)]
    [0.49, 0.943]
    """
    z2 = quantile(level) ** 2
    share = points / votes
    middle = (share + z2 / (2 * votes)) / (1 + z2 / votes)
    half = np.sqrt(z2 * (share * (1 - share) + z2 / (4 * votes)) / votes) / (1 + z2 / votes)
    return max(0.0, float(middle - half)), min(1.0, float(middle + half))


def _matrix(sides: Sides, won: Floats, tied: Floats, level: float | None, expected: Floats | None) -> str:
    heads = "".join(f'<th scope="col" title="{escape(t)}">{p}</th>' for p, t in zip(sides.places, sides.titles, strict=True))  # fmt: skip  # noqa: E501
    rows = [f'<table class="pairs"><thead><tr><td></td>{heads}</tr></thead><tbody>']
    votes = won + won.T + tied
    for k, (place, name, title) in enumerate(zip(sides.places, sides.names, sides.titles, strict=True)):
        cells = [f'<th scope="row" title="{escape(title)}"><i>{place}</i> <bdi>{escape(name)}</bdi></th>']
        cells += [
            _cell(won[k, j], tied[k, j], won[j, k], votes[k, j], level, expected, (k, j)) for j in range(len(won))
        ]
        rows.append(f"<tr>{''.join(cells)}</tr>")
    return "".join(rows) + "</tbody></table>"


def _cell(
    won: float,
    tied: float,
    lost: float,
    votes: float,
    level: float | None,
    expected: Floats | None,
    at: tuple[int, int],
) -> str:
    if votes <= 0:
        return "<td></td>"
    share = (won + tied / 2) / votes
    ends = ["-", "-"]
    if level is not None:
        ends = [f"{100 * end:.0f}" for end in score_interval(won + tied / 2, votes, level)]
    hope = "-" if expected is None or np.isnan(expected[at]) else f"{100 * expected[at]:.0f}"
    record = " ".join([*(f"{value:.6g}" for value in (won, tied, lost)), *ends, hope])
    middle = (won + tied / 2 + 2) / (votes + 4)  # of its 95 % interval: a single win is no landslide
    much = min(4, round(abs(middle - 0.5) * 10))
    side = " lost" if share < 0.5 else ""
    return f'<td class="hit m{much}{side}" data-r="{record}">{100 * share:.0f}</td>'


def _records(order: Sequence[Hashable], won: Floats, tied: Floats, noun: str, expected: Floats | None) -> str:
    votes = np.triu(won + won.T + tied, 1)
    rows, columns = np.nonzero(votes)
    chosen = np.argsort(-votes[rows, columns], kind="stable")[:MAX_RECORDS]
    known = expected is not None and bool(np.isfinite(expected).any())
    heads = '<th>Item</th><th>Against</th><th class="n">Won</th><th class="n">Tied</th><th class="n">Lost</th>'
    heads += '<th class="n">Rate</th>' + ('<th class="n wide">Expected</th>' if known else "")
    lines = []
    for i, j in zip(rows[chosen].tolist(), columns[chosen].tolist(), strict=True):
        rate = (won[i, j] + tied[i, j] / 2) / votes[i, j]
        cells = [f'<td class="item">{escape(one_line(order[k]))}</td>' for k in (i, j)]
        cells += [f'<td class="n" data-v="{v:.10g}">{v:,.6g}</td>' for v in (won[i, j], tied[i, j], won[j, i])]
        cells.append(f'<td class="n" data-v="{rate:.6f}">{100 * rate:.0f} %</td>')
        if known and expected is not None:
            hope = expected[i, j]
            cells.append(f'<td class="n wide" data-v="{hope:.6f}">{100 * hope:.0f} %</td>' if np.isfinite(hope) else '<td class="n wide" data-v=""></td>')  # fmt: skip  # noqa: E501
        lines.append(f"<tr>{''.join(cells)}</tr>")
    title = f"{counted(len(rows), 'pair')} as a table"
    if len(rows) > MAX_RECORDS:
        title = f"The {counted(MAX_RECORDS, 'pair')} with most {noun} as a table, of {len(rows):,}"
    return (
        f'<details><summary>{title}</summary><table class="sortable records"><thead><tr>{heads}</tr></thead>'
        f"<tbody>{''.join(lines)}</tbody></table></details>"
    )
