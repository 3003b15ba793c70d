"""The report: one HTML file to show to a boss, a reviewer or the public.

It needs no network, and reads the same without its few lines of script, which sort and search the tables and open the
record of a pair: pictures are inline SVG, colours follow the reader's light or dark mode, and it reads on paper and on
a phone. Whatever came from the data is escaped.
"""

from __future__ import annotations

import os
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from podium._version import __version__
from podium.data.comparisons import Comparisons
from podium.data.tables.times import shown_times
from podium.data.validation import flag_option, instance_of, number_option
from podium.data.writing import as_csv, replacing
from podium.errors import InputError, Option
from podium.evaluate.diagnosis import Diagnosis, History
from podium.evaluate.differences import settings_of
from podium.pairwise.base import Ranker
from podium.pairwise.plackett_luce import GoodnessOfFit, PlackettLuce
from podium.ranking.leaderboard import no_bound_words, score_digits
from podium.ranking.ranking import Ranking
from podium.show import plots
from podium.show.canvas import check_options, short
from podium.show.embedded import embed
from podium.show.report_board import in_order, leaderboard
from podium.show.report_look import MARKS, SCRIPT, STYLE
from podium.show.report_pairs import head_to_head
from podium.show.report_parts import WITHOUT, Beside, answers, figure_of, matrix, sentence, size_of, tabs
from podium.show.report_sections import sections
from podium.show.report_time import fixtures_of, over_time
from podium.text import counted, one_line, percent

if TYPE_CHECKING:
    import polars as pl

__all__ = ["MAX_PAIRED_ITEMS", "MAX_ROWS", "Report", "check_path", "fit_words", "listed", "safe", "vote_summary"]

CONCERN = 0.05  # p-value of the fit of rankings below which it is marked
MAX_ROWS = 2000  # of the leaderboard
MAX_OPEN_PARTS = 8  # groups whose leaderboards are listed at once
MAX_PAIRED_ITEMS = 3000  # with more, who beat whom is left out: every two of them are counted


@dataclass(frozen=True)
class Report:
    """A leaderboard as one HTML page: `str(report)` is the HTML, `write` puts it in a file.

    Attributes
    ----------
    ranking, comparisons : the leaderboard and the votes behind it
    title : headline
    method : the ranker in words, such as "bradley-terry (l2=0.1)"
    command : the command that makes this page again
    warnings : sentences to show at the top
    level : confidence level of the intervals; None for a page without them
    simultaneous : whether rank intervals hold for all items at once
    top, min_votes : how many items to list at most, and how many votes an item needs to be listed
    diagnosis, history, fit : further sections, from the same model; `fit` is the test of fit of rankings
    reliability : sentences on how far the judging, and with it the marks, can be relied on
    model : the fitted ranker; its features, covariates, side effect, ties and judges get sections too
    settings : how the leaderboard was fitted, a column of its CSV as of the table of `podium rank`; by default what
        `model` tells
    beside : rankings of parts of the votes side by side, an earlier leaderboard, the one without effects
    fixtures : pairs still to be compared, as `read_fixtures` gives them; the page tells their chances by the model

    Examples
    --------
    >>> from podium import BradleyTerry
    >>> votes = Comparisons.from_pairs([("tea", "<u>"), ("<u>", "tea"), ("tea", "<u>")])
    >>> page = str(Report(BradleyTerry().fit(votes).ranking_, votes, title="Drinks"))
    >>> page.count("&lt;u&gt;") > 0, "<u>" in page
    (True, False)
    """

    ranking: Ranking
    comparisons: Comparisons
    title: str = "Leaderboard"
    method: str = "bradley-terry"
    command: str | None = None
    warnings: Sequence[str] = ()
    level: float | None = 0.95
    simultaneous: bool = False
    top: int | None = None
    min_votes: float = 0.0
    diagnosis: Diagnosis | None = None
    history: History | None = None
    fit: GoodnessOfFit | None = None
    reliability: Sequence[str] = ()
    model: Any = None
    settings: str | None = None
    beside: Beside = field(default_factory=Beside)
    fixtures: Comparisons | None = None

    def __post_init__(self) -> None:
        instance_of(Ranking, self.ranking, "ranking")
        instance_of(Comparisons, self.comparisons, "comparisons")
        instance_of(Beside, self.beside, "beside")
        for kind, value, what in (
            (Diagnosis, self.diagnosis, "diagnosis"), (History, self.history, "history"), (Ranker, self.model, "model"),
            (Comparisons, self.fixtures, "fixtures"), (GoodnessOfFit, self.fit, "fit"),
        ):  # fmt: skip
            if value is not None:
                instance_of(kind, value, what)
        check_options(top=self.top, level=self.level, title=self.title, method=self.method, command=self.command)
        number_option("min_votes", self.min_votes, least=0)
        flag_option("simultaneous", self.simultaneous)
        for what, sentences in (("warnings", self.warnings), ("reliability", self.reliability)):
            listed = isinstance(sentences, Sequence) and not isinstance(sentences, str)
            if not listed or not all(isinstance(text, str) for text in sentences):
                raise InputError(f"{what} must be a list of sentences")

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the page; if that fails, an older file stays as it was."""
        target = check_path(path)
        text = str(self).encode()
        with replacing(target) as file:
            file.write(text)

    def __str__(self) -> str:
        frame = self.ranking.to_frame(self.level, self.simultaneous)
        if self.min_votes:
            frame = frame.filter(frame["comparisons"] >= self.min_votes)
        if not len(frame):
            raise InputError(Option("min_votes", self.min_votes), ": no item has so many votes; give less")
        rows = MAX_ROWS if self.top is None else self.top
        shown = frame["item"].head(rows).to_list()
        overall = [
            *self._boards(frame, rows),
            *(f'<p class="soft">{safe(text)}</p>' for text in self._meaning(frame.head(rows))),
            *sections(self.model, self.level, self.comparisons, self._side()),
        ]
        panels = {
            "Overall": overall,
            f"By {self.beside.by}": [
                *matrix(self.beside, frame.head(rows), self.level, self.simultaneous), *self._parts(rows)
            ],
            "Over time": over_time(
                self.model, shown, self.level, plots.unit_of(self.ranking, self.model), self.comparisons.noun
            ),
            "Games to come": fixtures_of(self.model, self.fixtures, self.level),
            "Head to head": self._pairs(frame),
            "Checks": self._trust(),
        }  # fmt: skip
        parts = [
            '<header class="hero"><div>',
            f"<h1>{safe(self.title)}</h1>",
            *self._leads(frame),
            "</div>",
            *self._downloads(frame, rows),
            "</header>",
            f'<p class="facts">{"".join(f"<span>{fact}</span> " for fact in self._facts())}</p>',
            *_warned(self.warnings),
            *tabs(panels, self._switch()),
        ]
        head = '<meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">'
        body = "\n".join(parts)
        return (
            f'<!doctype html>\n<html lang="en"><head>{head}<title>{safe(self.title)}</title>'
            f"<style>{STYLE}{MARKS}</style></head>\n<body>\n<main>\n{body}\n</main>\n<script>{SCRIPT}</script>\n</body></html>\n"
        )

    def _boards(self, frame: pl.DataFrame, rows: int) -> list[str]:
        """The leaderboard and, where effects are taken out, that of the same votes with them left in."""
        digits = _digits(self.ranking, frame)
        if self.beside.plain is None:
            board = leaderboard(frame, digits, rows, self.beside, counted_as=self._counted_as())
            return [f'<div class="card">{board}</div>']
        named = f"{self._effects()} taken out", f"{self._effects()} left in"
        board = leaderboard(frame, digits, rows, self.beside, name=named[0], counted_as=self._counted_as())
        plain = self._plain(self.beside.plain)
        digits = _digits(self.beside.plain, plain)
        other = leaderboard(plain, digits, rows, name=named[1], counted_as=self._counted_as())
        return [f'<div class="card with-effects">{board}</div>', f'<div class="card without-effects">{other}</div>']

    def _counted_as(self) -> str:
        return f"{self.comparisons.noun.capitalize()}s"

    def _plain(self, ranking: Ranking) -> pl.DataFrame:
        """The leaderboard with effects left in, of the items that have votes enough."""
        frame = ranking.to_frame(self.level, self.simultaneous)
        return frame.filter(frame["comparisons"] >= self.min_votes) if self.min_votes else frame

    def _leads(self, frame: pl.DataFrame) -> list[str]:
        """The result in a sentence, and that of the leaderboard with effects left in, which the switch shows."""
        votes, plain = answers(self.comparisons), self.beside.plain
        lead = _lead(self.ranking, frame, self.level, votes)
        if plain is None:
            return [f'<p class="lead">{lead}</p>']
        other = f"{self._effects()} left in: {_lead(plain, self._plain(plain), self.level, votes)}"
        return [f'<p class="lead with-effects">{lead}</p>', f'<p class="lead without-effects">{other}</p>']

    def _effects(self) -> str:
        """What the leaderboard takes out of the votes, in words."""
        sided = self.model is not None and self.model.get_params().get("side_effect")
        styled = self.comparisons.covariates is not None
        return " and ".join(["style"] * styled + [self._side()] * bool(sided)).capitalize()

    def _side(self) -> str:
        """What the left side has over the right: in games, as those to come are, it plays at home."""
        games = self.comparisons.vote_is == "game" or self.fixtures is not None
        return "home advantage" if games else "position bias"

    def _switch(self) -> str:
        """Lets the reader look at the leaderboard without the effects that it takes out."""
        if self.beside.plain is None:
            return ""
        box = '<input type="checkbox" role="switch" id="effects" checked>'
        return f'<label class="switch">{box}{self._effects()} taken out</label>'

    def _facts(self) -> list[str]:
        """What the leaderboard rests on, in a line: each a number and what it is of."""
        c = self.comparisons
        rankings = c.group_is == "ranking"
        counts = [(len(c.groups), "ranking")] if rankings else []
        counts += [(len(c), c.noun), (len(self.ranking), "item")]
        counts += [(_people(c), "respondent" if rankings else "judge")] if c.judges else []
        facts = [_strong(counted(count, noun)) for count, noun in counts]
        idle = len(set(self.ranking.items) - set(c.items))
        facts += [_strong(f"{idle:,} without {'ranking' if rankings else c.noun}s")] if idle else []
        ties, total = float(c.pairs.ties.sum()), float(c.pairs.total.sum())
        facts += [_strong(f"{percent(ties / total, 1)} ties")] if ties else []
        if self.beside.parts:
            facts.append(_strong(f"{counted(len(self.beside.parts), 'group')} by {safe(self.beside.by)}"))
        if c.time is not None and c.time_is == "date":
            first, last = shown_times(np.floor([c.time.min(), c.time.max()]), "date")
            facts.append(f"{first} to {last}" if first != last else f"{first}")
        return facts + ([f"{percent(self.level)} intervals"] if self.level and self.ranking.information else [])

    def _downloads(self, frame: pl.DataFrame, rows: int) -> list[str]:
        """The leaderboard that is shown, to take along: as a picture for other pages, and as data."""
        plain, settings = self.beside.plain, self.settings
        if settings is None and self.model is not None:
            settings = settings_of(self.model)
        if plain is None:
            return [self._links(self.ranking, _fitted(frame.head(rows), settings), "", "take")]
        other = _fitted(self._plain(plain).head(rows), self.beside.plain_settings)
        return [
            self._links(self.ranking, _fitted(frame.head(rows), settings), "", "take with-effects"),
            self._links(plain, other, f"{self._effects().lower()} left in", "take without-effects"),
        ]

    def _links(self, ranking: Ranking, frame: pl.DataFrame, which: str, kind: str) -> str:
        name = "-".join(["leaderboard", *which.split()])
        title = f"{self.title}, {which}" if which else self.title
        picture = embed(
            ranking, title=title, level=self.level, simultaneous=self.simultaneous, top=self.top,
            min_votes=self.min_votes,
        )  # fmt: skip
        links = [
            f'<a download="{name}.{end}" href="data:{mime};base64,{b64encode(text.encode()).decode()}">{words}</a>'
            for end, mime, text, words in (
                ("svg", "image/svg+xml", picture, "Embed as SVG"), ("csv", "text/csv", as_csv(frame), "Download CSV"),
            )
        ]  # fmt: skip
        return f'<p class="{kind}">{"".join(links)}</p>'

    def _pairs(self, frame: pl.DataFrame) -> list[str]:
        """Who beat whom, among the items of the leaderboard that have votes."""
        voted = set(self.comparisons.items)
        order = [item for item in self.ranking.order if item in voted]
        named = set(frame["item"].to_list())
        order = [item for item in order if item in named or str(item) in named][: self.top]
        if len(order) > MAX_PAIRED_ITEMS:
            return []
        return head_to_head(self.comparisons, order, self.level, self.model)

    def _trust(self) -> list[str]:
        """How scores settled, checks of the fit, the data and the method."""
        parts = [
            *self._history(),
            *(_diagnosis(self.diagnosis, answers(self.comparisons)) if self.diagnosis is not None else ()),
            *(_fit(self.fit, self.model) if self.fit is not None else ()),
            *(["<h2>Can the marks be relied on?</h2>"] if self.reliability else []),
            *(f"<p>{safe(sentence(text))}.</p>" for text in self.reliability),
            "<h2>The data</h2>",
            listed(vote_summary(self.comparisons)),
            "<h2>Method</h2>",
            listed(self._method()),
        ]
        if self.command:
            parts += ["<p>To make this page again:</p>", f"<pre>{safe(self.command)}</pre>"]
        return parts

    def _parts(self, rows: int) -> list[str]:
        """The leaderboard of each part, closed until it is wanted; many of them are closed together."""
        pages = []
        for name, (ranking, votes) in self.beside.parts.items():
            frame = ranking.to_frame(self.level, self.simultaneous)
            board = leaderboard(frame, _digits(ranking, frame), rows, counted_as=self._counted_as())
            title = f"{safe(self.beside.by)} = <bdi>{safe(name)}</bdi>, {size_of(votes)}"
            told = "".join(_warned(self.beside.remarks.get(name, ())))
            pages.append(f'<details class="card"><summary>{title}</summary>{told}{board}</details>')
        if len(pages) <= MAX_OPEN_PARTS:
            return pages
        return [f"<details><summary>Each {safe(self.beside.by)} on its own</summary>", *pages, "</details>"]

    def _method(self) -> dict[str, str]:
        """How the leaderboard came about: the ranker, all that decides its scores, and its intervals."""
        lines = {"Ranker": self.method}
        if self.model is not None:
            known = {name: value for name, value in self.model.settings_.items() if name != "method"}
            lines["Settings"] = ", ".join(
                f"{name.replace('_', ' ')}: {_setting(value)}" for name, value in known.items()
            )
        if self.ranking.information is not None and self.level is not None:
            together = ", ranks of all items at once" if self.simultaneous else ""
            kind, source = "confidence", self.ranking.error_source
            if self._credible:
                kind, source = "credible", "from the curvature of the posterior"
            lines["Intervals"] = f"{100 * self.level:g} % {kind}, {source}{together}"
        return lines | {"Made with": f"podium {__version__}"}

    @property
    def _credible(self) -> bool:
        return self.model is not None and self.model.credible_intervals_

    def _about_tiers(self, frame: pl.DataFrame) -> str:
        """What tiers are, and how the table shows them."""
        means = "items of one tier are not significantly below its leader, with all pairs looked at"
        if in_order(frame["tier"].to_list()):
            return f"A stronger line begins a new tier: {means}."
        return (
            f"Tiers: {means}. They need not follow the order: an item with a wide interval may be of an earlier tier "
            "than one above it, as it is not significantly below that tier's leader. All below a stronger line are of "
            "later tiers than all above it."
        )

    def _meaning(self, frame: pl.DataFrame) -> list[str]:
        """What scores and intervals mean, in a sentence or two."""
        ranking, unit, votes = self.ranking, plots.unit_of(self.ranking, self.model), answers(self.comparisons)
        measured = unit.partition(", ")[2]
        sentences = [f"Scores are {measured}." if measured else ""]
        if ranking.information is not None and self.level is not None:
            share = f"{100 * self.level:g}"
            together = "for all items at once" if self.simultaneous else "for each item on its own"
            kind, means = "confidence", f"about {share} of 100 such intervals contain the true score"
            if self._credible:
                kind, means = "credible", f"given the {votes}, the true score lies there with a chance of {share} %"
            sentences += [
                f"Bars are {share} % {kind} intervals, relative to the {ranking.held_fixed}: {means}. Ranks are "
                f"{share} % intervals of the rank, {together}. {self._about_tiers(frame)}"
            ]
            if ranking.posterior is not None and not self._credible and ranking.uncertainty == "auto":
                sentences.append(
                    f"Bars rest on the {votes} alone. Scores and ranks also know how far apart items seem to be, so "
                    "that a few wins or losses prove little: a dot may lie off the middle of its bar, and ranks may "
                    "reach further than it."
                )
            if frame["lower"].is_infinite().any() or frame["upper"].is_infinite().any():
                sentences.append(f"An arrow (−∞ or ∞) marks an interval that does not end: {no_bound_words(votes)}.")
        sentences.append(self.beside.more_note)
        if self.beside.before is not None:
            new = not set(map(str, frame["item"].to_list())) <= set(self.beside.before)
            absent = "; new: not listed there" if new else ""
            sentences.append(f"Moved: places gained or lost since {self.beside.before_name}{absent}.")
        if self.beside.plain is not None:
            sentences.append(f"{WITHOUT}: the rank with {self._effects().lower()} left in.")
        return [text for text in (*sentences, ranking.note) if text]

    def _history(self) -> list[str]:
        if self.history is None:
            return []
        h = self.history
        caption = (
            f"The score of each item as {self.comparisons.noun}s came in, by the same model: a flat line has settled."
        )
        unit = plots.unit_of(self.ranking, self.model)
        figure = plots.history(
            h.votes.tolist(), h.items, h.scores, top=self.top, unit=unit, title=" ", noun=self.comparisons.noun
        )
        return [
            f"<h2>Scores as {self.comparisons.noun}s came in</h2>",
            f'<p class="soft">{caption}</p>',
            figure_of(figure, "history", caption),
        ]


def check_path(path: str | os.PathLike[str]) -> Path:
    """Return `path` if a page can be written there; else say why not, before any work is done."""
    target = Path(path)
    if target.suffix.lower() not in (".html", ".htm"):
        raise InputError(f"cannot write the report {target}: its name must end in .html")
    if not target.parent.is_dir():
        raise InputError(
            f"cannot write {target}: there is no folder {str(target.parent)!r}; make it, or choose another"
        )
    return target


def vote_summary(comparisons: Comparisons) -> dict[str, str]:
    """Describe the votes in words: how many, on how many items, and whether they connect them.

    >>> vote_summary(Comparisons.from_pairs([("a", "b"), ("b", "c"), ("b", "a")]))["Pairs compared"]
    '2 of 3 (66.7 %)'
    """
    instance_of(Comparisons, comparisons, "comparisons")
    c, n = comparisons, len(comparisons.items)
    wins, losses, ties = c.record()
    votes = wins + losses + ties
    p = c.pairs
    met = len({(min(i, j), max(i, j)) for i, j in zip(p.left.tolist(), p.right.tolist(), strict=True)})
    groups = int(c.adjacency.components.max()) + 1
    total = float(p.total.sum())
    noun = "Pairs put in order" if c.group_is == "ranking" else f"{c.noun.capitalize()}s"
    rows = {
        noun: f"{len(c):,}" + ("" if total == len(c) else f", total weight {total:,.6g}"),
        "Ties": f"{100 * float(p.ties.sum()) / total:.1f} %",
        "Items compared": f"{n:,}",
        f"{noun.split()[0]} per item": f"{votes.min():,.6g} to {votes.max():,.6g}, median {np.median(votes):,.6g}",
        "Pairs compared": f"{met:,} of {n * (n - 1) // 2:,} ({100 * met / (n * (n - 1) / 2):.3g} %)",
        "Connected": "yes: every item was compared with every other, directly or through others"
        if groups == 1
        else f"no: {groups:,} groups of items were never compared with each other",
    }
    if c.judges:
        rows["Respondents" if c.group_is == "ranking" else "Judges"] = f"{_people(c):,}"
    if c.groups:
        rows["Rankings" if c.group_is == "ranking" else "Groups"] = f"{len(c.groups):,}"
    return rows


def _people(c: Comparisons) -> int:
    """How many judges have votes here: those of judges who are known too may have been left out."""
    return 0 if c.judge is None else len(np.unique(c.judge))


def _lead(ranking: Ranking, frame: pl.DataFrame, level: float | None, votes: str = "votes") -> str:
    """The result in a sentence of HTML."""
    first = _named(frame["item"][0])
    if ranking.information is None:
        return f"{first} leads. This method gives scores without intervals."
    if level is None:
        return f"{first} leads. No confidence intervals were asked for."
    tier = frame.filter(frame["tier"] == frame["tier"][0])
    if frame["comparisons"][0] == 0:
        first = f"{first}, which has no {votes} yet, leads by its features"
    else:
        first = f"{first} leads"
    if len(tier) == 1:
        return f"{first}, significantly above every other item ({percent(level)})."
    if len(tier) == len(frame) > 2:
        return f"{first}, but no other item is significantly below it ({percent(level)})."
    others = [_named(item) for item in tier["item"].to_list()[1:5]]
    others += [f"{len(tier) - 5:,} more"] if len(tier) > 5 else []
    named = " and ".join(filter(None, [", ".join(others[:-1]), others[-1]]))
    verb = "is" if len(tier) == 2 else "are"
    return f"{first}, but {named} {verb} not significantly below it ({percent(level)})."


def _named(item: object) -> str:
    """An item in a sentence: a long label is whole in the table only."""
    return f"<b>{safe(short(item, 60))}</b>"


def _strong(fact: str) -> str:
    """A fact with its number in bold."""
    number, _, words = fact.partition(" ")
    if words.startswith("%"):
        number, words = f"{number} %", words[2:]
    return f"<b>{number}</b> {words}"


def _fitted(frame: pl.DataFrame, settings: str | None) -> pl.DataFrame:
    """The leaderboard with how it was fitted beside each row, where that is known."""
    import polars as pl

    return frame if settings is None else frame.with_columns(pl.lit(settings).alias("settings"))


def _digits(ranking: Ranking, frame: pl.DataFrame) -> int:
    return score_digits(ranking.unit, *(frame[name] for name in ("score", "lower", "upper")))


def _warned(sentences: Sequence[str]) -> list[str]:
    """Sentences to look at, each once."""
    told = dict.fromkeys(sentence(text).rstrip(".") for text in sentences)
    return [f'<p class="warn">{safe(text)}.</p>' for text in told]


def safe(text: object) -> str:
    """Text from outside, escaped and on one line."""
    return escape(one_line(text))


def _setting(value: Any) -> str:
    if isinstance(value, tuple) and len(value) == 2:  # an anchor
        return f"{value[0]} = {value[1]:g}"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def listed(pairs: dict[str, str]) -> str:
    """Names and values as a list of terms."""
    return "<dl>" + "".join(f"<dt>{safe(k)}</dt><dd>{safe(v)}</dd>" for k, v in pairs.items()) + "</dl>"


def _diagnosis(diagnosis: Diagnosis, votes: str) -> list[str]:
    parts = ["<h2>Can the ranking be trusted?</h2>"]
    if diagnosis.against:
        note = f"Residuals and p-values are those of {diagnosis.against} on the same {votes}, not of this ranker."
        parts.append(f'<p class="soft">{safe(note)}</p>')
    for finding in diagnosis.findings():
        mark = 'class="warn"' if finding.concern else ""
        parts.append(f"<p {mark}><b>{safe(finding.name)}.</b> {safe(finding.text)}</p>")
    among = "" if diagnosis.decided is None else f", of all {votes} (the largest residual is of the decided ones)"
    rows = diagnosis.residuals.head(8).to_dicts()
    heads = (
        '<th>Item</th><th>Against</th><th class="n">Won</th><th class="n">Expected</th>'
        f'<th class="n wide">{votes.capitalize()}</th>'
    )
    parts.append(
        f'<p class="soft">Pairs that the scores explain least{among}:</p><table><thead><tr>{heads}</tr></thead><tbody>'
    )
    for row in rows:
        numbers = "".join(f'<td class="n">{row[name]:,.4g}</td>' for name in ("won", "expected"))
        numbers += f'<td class="n wide">{row["votes"]:,.4g}</td>'
        ends = "".join(f'<td class="item">{safe(str(row[name]))}</td>' for name in ("item", "against"))
        parts.append(f"<tr>{ends}{numbers}</tr>")
    parts.append("</tbody></table>")
    return parts


def _fit(fit: GoodnessOfFit, model: Any) -> list[str]:
    """Whether one score for each item explains the rankings, and the pairs that it explains least."""
    sentence, concern = fit_words(fit)
    mark = ' class="warn"' if concern else ""
    parts = ["<h2>Can the ranking be trusted?</h2>", f"<p{mark}><b>Fit.</b> {safe(sentence)}</p>"]
    if not isinstance(model, PlackettLuce):
        return parts
    heads = '<th>Item</th><th>Against</th><th class="n">Above</th><th class="n">Expected</th><th class="n wide">Of</th>'
    rows = []
    for row in model.pair_residuals().head(8).to_dicts():
        ends = "".join(f'<td class="item">{safe(str(row[name]))}</td>' for name in ("item", "against"))
        numbers = "".join(f'<td class="n">{row[name]:,.4g}</td>' for name in ("above", "expected"))
        rows.append(f'<tr>{ends}{numbers}<td class="n wide">{row["rankings"]:,.4g}</td></tr>')
    table = f"<table><thead><tr>{heads}</tr></thead><tbody>{''.join(rows)}</tbody></table>"
    return [*parts, '<p class="soft">Pairs that the scores explain least, in rankings:</p>', table]


def fit_words(fit: GoodnessOfFit) -> tuple[str, bool]:
    """The test of fit in a sentence, and whether it deserves a look."""
    concern = fit.p_value < CONCERN
    words = "one score for each item does not explain the rankings" if concern else "within chance"
    return (
        f"The order of two items differs from what their scores say by {fit.statistic:.4g} (Pearson, "
        f"{counted(fit.pairs, 'pair')}): {words} (p = {fit.p_value:.2f})."
    ), concern
