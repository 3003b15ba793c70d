"""A leaderboard as one small SVG that other pages can show: text that can be searched, light and dark, no script."""

from __future__ import annotations

import os
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from podium.data.validation import flag_option, instance_of
from podium.data.writing import replacing
from podium.errors import InputError, Option
from podium.ranking.leaderboard import score_digits
from podium.ranking.ranking import Ranking
from podium.show.canvas import check_options, short
from podium.text import one_line, shortened

__all__ = ["check_embed_path", "embed", "write_embed"]

MAX_ITEMS = 10  # drawn unless asked for more
WIDTH, ROW, TOP = 640, 28, 64
LEFT, RIGHT = 300, 500  # of the bars
STYLE = """
text{font:14px system-ui,-apple-system,"Segoe UI",Roboto,Arial,sans-serif;fill:#1a1b1e}
.paper{fill:#fff;stroke:#e7e6e1}.soft{fill:#65686f;font-size:12px}.head{font-size:17px;font-weight:600}
.rule{stroke:#e7e6e1}.span{stroke:#c3c8f0;stroke-width:8}.dot{fill:#3a49c4;stroke:#fff;stroke-width:2}.n{text-anchor:end}
@media (prefers-color-scheme:dark){text{fill:#ededef}.paper{fill:#17181b;stroke:#292b30}.soft{fill:#9b9fa8}
.rule{stroke:#292b30}.span{stroke:#474e8c}.dot{fill:#9aa6ff;stroke:#17181b}}
"""


def embed(
    ranking: Ranking,
    *,
    title: str = "Leaderboard",
    level: float | None = 0.95,
    simultaneous: bool = False,
    top: int | None = None,
    min_votes: float = 0.0,
) -> str:
    """Return the leaderboard as an SVG document for other pages: `<img src="board.svg">`.

    The first ten items, or `top`: rank, item, interval, score and the ranks it may truly have. It follows the reader's
    light or dark mode, holds no script and asks for no network.

    >>> picture = embed(Ranking(["tea", "milk", "<b>"], [0.4, -1.0, 0.6]), title="Drinks")
    >>> picture.startswith("<svg "), picture.count("&lt;b&gt;") > 0, "<b>" in picture
    (True, True, False)
    """
    instance_of(Ranking, ranking, "ranking")
    check_options(top=top, min_votes=min_votes, level=level, title=title)
    flag_option("simultaneous", simultaneous)
    frame = ranking.to_frame(level, simultaneous)
    frame = frame.filter(frame["comparisons"] >= min_votes) if min_votes else frame
    if not len(frame):
        raise InputError(Option("min_votes", min_votes), ": no item has so many votes; give less")
    rows = frame.head(MAX_ITEMS if top is None else top).to_dicts()
    sure = rows[0]["lower"] is not None
    ends = [v for row in rows for v in (row["score"], row["lower"], row["upper"]) if v is not None and np.isfinite(v)]
    low, span = min(ends), (max(ends) - min(ends)) or 1.0

    def x(value: float) -> float:
        return float(LEFT + (RIGHT - LEFT) * (min(max(value, low), low + span) - low) / span)

    digits = score_digits(ranking.unit, ends)
    heads = [(38, "n", "Rank"), (52, "", "Item"), (565, "n", "Score"), *([(628, "n", "Ranks")] if sure else [])]
    parts = [f'<text class="head" x="14" y="28">{escape(_cut(title, 62))}</text>']
    parts += [f'<text class="soft {kind}" x="{at}" y="{TOP - 10}">{word}</text>' for at, kind, word in heads]
    if sure and level is not None:
        parts.append(f'<text class="soft" x="{LEFT}" y="{TOP - 10}">{100 * level:g} % interval</text>')
    for number, row in enumerate(rows):
        parts += _row(row, TOP + ROW * number, x, digits, sure)
    rest = len(frame) - len(rows)
    note = "Made with Podium" + (f"; {rest:,} more below" if rest else "")
    high = TOP + ROW * len(rows) + 30
    parts.append(f'<text class="soft" x="14" y="{high - 11}">{note}</text>')
    order = ", ".join(f"{row['rank']} {short(row['item'])}" for row in rows)
    label = escape(f"{_cut(title, 62)}: {order}")
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {high}" width="{WIDTH}" height="{high}" '
        f'role="img"><title>{label}</title><style>{STYLE}</style>'
        f'<rect class="paper" x=".5" y=".5" width="{WIDTH - 1}" height="{high - 1}" rx="10"/>{"".join(parts)}</svg>\n'
    )


def _cut(label: object, room: int) -> str:
    """A label in as many columns as there are: letters of Chinese take two each."""
    return shortened(one_line(" ".join(str(label).split())), room)


def _row(row: dict[str, Any], y: int, x: Any, digits: int, sure: bool) -> list[str]:
    text, middle = y + 19, y + 14
    parts = [
        f'<line class="rule" x1="14" x2="{WIDTH - 14}" y1="{y}" y2="{y}"/>',
        f'<text class="n" x="38" y="{text}">{row["rank"]}</text>',
        f'<text x="52" y="{text}">{escape(_cut(row["item"], 30))}</text>',
    ]
    if sure:
        parts.append(f'<line class="span" x1="{x(row["lower"]):.1f}" x2="{x(row["upper"]):.1f}" y1="{middle}" y2="{middle}"/>')  # fmt: skip  # noqa: E501
        for end, sign, at in ((row["lower"], "◂", LEFT - 8), (row["upper"], "▸", RIGHT)):
            if not np.isfinite(end):
                parts.append(f'<text class="soft" x="{at}" y="{text}">{sign}</text>')
    score = f"{round(row['score'], digits) + 0.0:.{digits}f}".replace("-", "−")
    parts += [
        f'<circle class="dot" cx="{x(row["score"]):.1f}" cy="{middle}" r="4.5"/>',
        f'<text class="n" x="565" y="{text}">{score}</text>',
    ]
    if sure:
        parts.append(f'<text class="n" x="628" y="{text}">{row["rank_lower"]}–{row["rank_upper"]}</text>')
    return parts


def check_embed_path(path: str | os.PathLike[str]) -> Path:
    """Return `path` if the picture can be written there; else say why not, before any work is done."""
    target = Path(path)
    if target.suffix.lower() != ".svg":
        raise InputError(f"cannot write {target}: a picture to embed is an SVG, so its name must end in .svg")
    if not target.parent.is_dir():
        raise InputError(
            f"cannot write {target}: there is no folder {str(target.parent)!r}; make it, or choose another"
        )
    return target


def write_embed(path: str | os.PathLike[str], picture: str) -> None:
    """Write the picture; if that fails, an older file stays as it was."""
    with replacing(check_embed_path(path)) as file:
        file.write(picture.encode())
