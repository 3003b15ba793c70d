"""The HTML report of a campaign: its own standing as one page, with the look of every other report.

Places, bands, tiers and the stop signal are those of `standing`, so the page says what `podium rank campaign.db` says.
Judges are counted, not named: a report is handed on.
"""

from __future__ import annotations

import os
from base64 import b64encode
from collections.abc import Sequence

import numpy as np

from podium._version import __version__
from podium.campaign.live import live_comparisons, live_votes
from podium.campaign.marks import MARKS_LEVEL, campaign_marks
from podium.campaign.standing import LEVEL, MIN_CHECK_VOTES, Place, Standing, check_scores, pairs_left, standing
from podium.data.comparisons import Comparisons
from podium.data.writing import as_csv, replacing
from podium.evaluate.judging import judging_quality
from podium.ranking.leaderboard import open_end_words
from podium.show.report import MAX_PAIRED_ITEMS, MAX_ROWS, check_path, listed, safe, vote_summary
from podium.show.report_board import bar
from podium.show.report_look import MARKS, SCRIPT, STYLE
from podium.show.report_pairs import head_to_head
from podium.show.report_parts import anchor, anchors, tabs
from podium.store.content import Content
from podium.text import chance, counted, number, percent

__all__ = ["report_page", "write_report"]

BANDS = (
    f"Likely places hold the true place of an item with a chance of about {percent(LEVEL)}. A stronger line begins "
    "a new tier: items of one tier have likely places that overlap with those of its first."
)
CHOSEN = (
    "There are no confidence intervals of scores: pairs were chosen because they are close, which would make them far "
    f"too narrow. From {MIN_CHECK_VOTES} votes on random check pairs on, the scores of those have intervals."
)


def write_report(
    content: Content, path: str | os.PathLike[str], *, title: str | None = None, judge: Sequence[str] = ()
) -> None:
    """Write the page; if that fails, an older file stays as it was. `judge` are sentences about a model as judge."""
    target = check_path(path)
    text = report_page(content, title=title, judge=judge).encode()
    with replacing(target) as file:
        file.write(text)


def report_page(content: Content, *, title: str | None = None, judge: Sequence[str] = ()) -> str:
    """The page as HTML; a campaign without votes that count has none."""
    votes = live_comparisons(content)
    now, campaign = standing(content), content.campaign
    *agreement, status = now.words(pairs_left(content)).splitlines()[1:]
    name = safe(campaign.title if title is None else title)
    panels = {
        "Order": [_places(now), f'<p class="soft">{BANDS}</p>', *_marks(content, now), *_scores(content)],
        "Head to head": head_to_head(votes, now.order, None) if len(now.places) <= MAX_PAIRED_ITEMS else [],
        "The judge": _judge(judge),
        "Checks": [
            *_reliability(content, votes),
            "<h2>The data</h2>",
            listed(vote_summary(votes)),
            "<h2>Method</h2>",
            listed({"Order": "pairs planned and ordered by podium's planner", "Made with": f"podium {__version__}"}),
        ],
    }
    table = b64encode(as_csv(now.to_frame()).encode()).decode()
    counts = [(now.votes, "vote"), (len(now.places), "item"), (now.judges, "judge")]
    facts = [f"<b>{count:,}</b> {counted(count, noun).partition(' ')[2]}" for count, noun in counts]
    facts += [f"<b>{now.skips:,}</b> skipped"] if now.skips else []
    parts = [
        f'<header class="hero"><div><h1>{name}</h1><p class="lead">{safe(campaign.question)}</p>',
        f'<p class="lead">{_lead(now)}</p></div>',
        f'<p class="take"><a download="order.csv" href="data:text/csv;base64,{table}">Download CSV</a></p></header>',
        f'<p class="facts">{"".join(f"<span>{fact}</span> " for fact in facts)}</p>',
        *(f'<p class="soft">{safe(_sentence(line))}</p>' for line in agreement),
        f'<p class="{"soft" if now.stable else "warn"}">{safe(_sentence(status))}</p>',
        *tabs(panels),
    ]
    meta = '<meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">'
    body = "\n".join(parts)
    return (
        f'<!doctype html>\n<html lang="en"><head>{meta}<title>{name}</title><style>{STYLE}{MARKS}</style></head>\n'
        f"<body>\n<main>\n{body}\n</main>\n<script>{SCRIPT}</script>\n</body></html>\n"
    )


def _lead(now: Standing) -> str:
    """Who leads, and how surely; too few votes name nobody."""
    first = now.leader
    if first is None:
        few = counted(now.votes, "vote")
        return f"No leader can be named yet: after {few}, the first may truly have nearly any place."
    return f"<b>{safe(first.item)}</b> leads; its true place is likely {_band(first)}."


def _judge(lines: Sequence[str]) -> list[str]:
    """What is said of a model as judge, line by line: what about, and what."""
    told = [line.partition(": ") for line in lines]
    plain = [f"<p>{safe(_sentence(about))}</p>" for about, colon, _ in told if not colon]
    named = {about.capitalize(): _sentence(words) for about, colon, words in told if colon}
    return ["<h2>The judge</h2>", *([listed(named)] if named else []), *plain] if told else []


def _sentence(line: str) -> str:
    return line[:1].upper() + line[1:] + "."


def _band(place: Place) -> str:
    return f"{place.lower}" if place.lower == place.upper else f"{place.lower}–{place.upper}"


def _table(heads: str, rows: Sequence[str], kind: str = "") -> str:
    body = "\n".join(rows)
    named = f' class="{kind}"' if kind else ""
    return f'<div class="card"><table{named}><thead><tr>{heads}</tr></thead><tbody>\n{body}\n</tbody></table></div>'


def _places(now: Standing) -> str:
    heads = '<th class="n">Place</th><th>Item</th><th class="n">Likely places</th><th class="still">Drawn</th>'
    heads += "".join(f'<th class="n wide">{word}</th>' for word in ("Tier", "Votes", "Skips"))
    rows, before = [], 1
    links = anchors([place.item for place in now.places[:MAX_ROWS]])
    for place in now.places[:MAX_ROWS]:
        mark = ' class="first"' if place.tier != before else ""
        before = place.tier
        drawn = bar(place.place, place.lower, place.upper, 1, len(now.places))
        rows.append(
            f'<tr id="{links[place.item]}"{mark}><td class="n">{place.place}</td>'
            f'<td class="item">{safe(place.item)}{anchor(links[place.item], place.item)}</td>'
            f'<td class="n" data-v="{place.lower}">{_band(place)}</td><td class="bar">{drawn}</td>'
            f'<td class="n wide">{place.tier}</td><td class="n wide" data-v="{place.votes}">{place.votes:,}</td>'
            f'<td class="n wide" data-v="{place.skips}">{place.skips:,}</td></tr>'
        )
    rest = len(now.places) - MAX_ROWS
    more = f'<p class="soft">… and {counted(rest, "more item")} below.</p>' if rest > 0 else ""
    return _table(heads, rows, "board sortable") + more


def _marks(content: Content, now: Standing) -> list[str]:
    """Marks in the order of the places, where the campaign asks for them."""
    marked = campaign_marks(content)
    if marked is None:
        return []
    if marked.why is not None:
        return ["<h2>Marks</h2>", f'<p class="soft">No marks yet: {safe(marked.why)}.</p>']
    words = marked.words()
    graded = any(each["grade"] is not None for each in words.values())
    heads = '<th>Item</th><th class="n">Mark</th><th class="n">From … to</th>'
    heads += '<th>Grade</th><th class="n">Chance</th>' if graded else ""
    rows = []
    for place in now.places[:MAX_ROWS]:
        own = words[place.item]
        ends = "" if own["lower"] is None else f"{own['lower']} … {own['upper']}"
        cells = f'<td class="item">{safe(place.item)}</td><td class="n">{own["mark"]}</td>'
        cells += f'<td class="n ends">{ends}</td>'
        if graded:
            likely = "" if own["chance"] is None else chance(own["chance"])
            cells += f'<td>{safe(str(own["grade"]))}</td><td class="n">{safe(likely)}</td>'
        rows.append(f"<tr>{cells}</tr>")
    caption = f"{percent(MARKS_LEVEL)} intervals, from all votes that count."
    if live_votes(content).of_kind("chosen").any():
        caption += " They are too narrow, as pairs were chosen by earlier answers."
    caption += "".join(f" {_sentence(line)}" for line in marked.notes())
    return ["<h2>Marks</h2>", f'<p class="soft">{caption}</p>', _table(heads, rows)]


def _reliability(content: Content, votes: Comparisons) -> list[str]:
    """Reliability as comparative judgement reports it, from check pairs where pairs were chosen; nobody is named."""
    live = live_votes(content)
    checks = np.flatnonzero(live.of_kind("check"))
    chosen = bool(live.of_kind("chosen").any())
    quality = judging_quality(votes, check=votes.take(checks) if len(checks) else None, chosen=chosen)
    lines = [_sentence(line) for line in quality.words() if not line.startswith("misfit")]
    if quality.judge_fit is not None and (misfits := int(quality.judge_fit["misfit"].sum())):
        many = f"{misfits} of {counted(len(quality.judge_fit), 'judge')}"
        lines.append(f"{many} with an infit above the mean + 2 standard deviations.")
    return ["<h2>Reliability</h2>", *(f'<p class="soft">{safe(line)}</p>' for line in lines)]


def _scores(content: Content) -> list[str]:
    """Scores of check pairs with their intervals, where there are enough; else why there are none."""
    if int(live_votes(content).of_kind("check").sum()) < MIN_CHECK_VOTES:
        return [f'<p class="soft">{safe(CHOSEN)}</p>']
    ranking = check_scores(content)
    frame = ranking.to_frame(LEVEL).head(MAX_ROWS)
    heads = '<th>Item</th><th class="n">Score</th><th class="n">From … to</th>'
    rows = [
        f'<tr><td class="item">{safe(str(row["item"]))}</td><td class="n">{row["score"]:.2f}</td>'
        f'<td class="n">{number(row["lower"], 2)} … {number(row["upper"], 2)}</td></tr>'
        for row in frame.to_dicts()
    ]
    words = f"{ranking.note} {percent(LEVEL)} confidence intervals, relative to the {ranking.held_fixed}."
    if open_ends := open_end_words(frame["lower"].to_list(), frame["upper"].to_list()):
        words += f" {_sentence(open_ends)}"
    return ["<h2>Scores</h2>", f'<p class="soft">{safe(words)}</p>', _table(heads, rows)]
