"""What every picture shares: colours, fonts, space for labels, and files.

A figure belongs to nobody (no pyplot, no global state). Colours are from the palette of Okabe and Ito, which the
colour-blind can tell apart.
"""

from __future__ import annotations

import functools
import os
import re
import textwrap
import unicodedata
import warnings
from collections.abc import Callable, Hashable, Sequence
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec

import numpy as np
from numpy.typing import NDArray

from podium.data.validation import instance_of, number_option
from podium.data.writing import replacing
from podium.errors import DataWarning, InputError, Option
from podium.text import one_line, printable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = [
    "BAND", "BLUE", "FORMATS", "INK", "LINES", "MARKERS", "ON_LIGHT", "SOFT", "VERMILLION",
    "apart", "axes_at", "check_options", "check_path", "footnote", "headline", "label_width", "narrow", "panel", "save",
    "sheet", "short", "span", "styled", "svg",
]  # fmt: skip

Floats = NDArray[np.float64]

FORMATS = (".png", ".svg", ".pdf")
INK, SOFT, BAND = "#1a1a1a", "#767676", "#f0f2f5"
ON_LIGHT = "#1b1b1b"  # letters on a coloured cell, which stays light on a dark page
BLUE, VERMILLION = "#0072b2", "#d55e00"
LINES = (BLUE, VERMILLION, "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7f5539", "#444444")
# On a page every colour is one of its own, so that letters in it are read in light and in dark.
ON_PAGE = ("blue", "lose", "green", "pink", "gold", "sky", "brown", "soft")  # one for each of LINES
PAGE = {INK: "ink", SOFT: "soft", "#dddddd": "line", "#b0b0b0": "soft", BAND: "band"} | dict(
    zip(LINES, ON_PAGE, strict=True)
)
PHONE, LEAST_AXES = 3.7, 1.7  # inches: a page on a phone, and what is kept of axes beside long names
STYLE = {
    "text.color": INK, "axes.edgecolor": SOFT, "axes.labelcolor": INK, "axes.labelsize": 9, "figure.titlesize": 10,
    "xtick.color": SOFT, "ytick.color": SOFT, "xtick.labelcolor": INK, "ytick.labelcolor": INK,
    "xtick.labelsize": 8, "ytick.labelsize": 8, "axes.spines.top": False, "axes.spines.right": False,
}  # fmt: skip
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")  # one for each of LINES, for grey prints
# Tried in this order for letters that the first lacks, where they are installed.
FONTS = ("DejaVu Sans", "Noto Sans", "Noto Sans CJK JP", "WenQuanYi Zen Hei", "Arial Unicode MS", "Noto Emoji")


P = ParamSpec("P")


def styled(draw: Callable[P, Figure]) -> Callable[P, Figure]:
    """Run `draw` with our colours and fonts, and leave matplotlib's own settings as they were."""

    @functools.wraps(draw)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> Figure:
        import matplotlib

        with matplotlib.rc_context(STYLE | {"font.family": _fonts()}):
            return draw(*args, **kwargs)

    return wrapper


def check_options(*, top: Any = None, min_votes: Any = 0.0, level: Any = None, **words: Any) -> None:
    """Refuse, before anything is drawn, sizes that are no numbers and titles that are no text."""
    if top is not None:
        number_option("top", top, least=1, whole=True)
    number_option("min_votes", min_votes, least=0)
    if level is not None and not (isinstance(level, float | int | np.number) and 0 < level < 1):
        raise InputError(Option("level", level), ": it must lie between 0 and 1, as 0.95")
    for name, word in words.items():
        if word is not None and not isinstance(word, str):
            raise InputError(Option(name, word), ": it must be text")


# ---- files ----------------------------------------------------------------------------------------------------------


def check_path(path: str | os.PathLike[str]) -> Path:
    """Return `path` if a picture can be written there; else say why not, before any work is done."""
    target = Path(path)
    if target.suffix.lower() not in FORMATS:
        what = f"{target.suffix!r} is not a picture format" if target.suffix else "the name has no ending"
        raise InputError(f"cannot draw {target}: {what}; use {', '.join(FORMATS[:-1])} or {FORMATS[-1]}")
    if not target.parent.is_dir():
        raise InputError(
            f"cannot write {target}: there is no folder {str(target.parent)!r}; make it, or choose another"
        )
    return target


def save(figure: Figure, path: str | os.PathLike[str], *, dpi: int = 150) -> None:
    """Write a figure in the format its name ends in; the same figure always gives the same bytes."""
    from matplotlib.figure import Figure as Drawn

    instance_of(Drawn, figure, "figure")
    number_option("dpi", dpi, above=0)
    target = check_path(path)
    with replacing(target) as file:
        _write(figure, file, target.suffix.lower()[1:], dpi)


def svg(figure: Figure, name: str) -> str:
    """Return the figure as an `<svg>` element for a page, in the page's own colours (`PAGE`).

    `name` tells the figures of one page apart.
    """
    buffer = BytesIO()
    figure.patch.set_alpha(0.0)
    for ax in figure.axes:
        ax.patch.set_alpha(0.0)
    _write(figure, buffer, "svg", salt=printable(name))
    text = buffer.getvalue().decode()
    text = re.sub(r"<metadata>.*?</metadata>|<style[^>]*>.*?</style>", "", text[text.index("<svg") :], flags=re.DOTALL)
    for colour, variable in (*PAGE.items(),):
        text = text.replace(colour, f"var(--{variable})")
    return text


def _write(figure: Figure, file: Any, kind: str, dpi: int = 150, salt: str = "podium") -> None:
    import matplotlib
    from matplotlib.text import Text

    for element in figure.findobj(Text):  # titles, legends and notes; labels of ticks come through `short`
        element.set_text(printable(element.get_text()))
    quiet = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(kind, {"Software": None})
    # Text stays text in SVG: light, searchable, and any letter the reader's fonts have.
    settings = {"svg.fonttype": "none", "svg.hashsalt": salt, "font.family": _fonts(), "axes.unicode_minus": True}
    with matplotlib.rc_context(settings), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        figure.savefig(file, format=kind, dpi=dpi, metadata=quiet)
    for each in caught:
        if "missing from" in str(each.message):
            if kind != "svg":
                text = "no installed font has some letters of the labels, which are drawn as boxes; write .svg instead"
                warnings.warn(text, DataWarning, stacklevel=3)
            break


def _fonts() -> list[str]:
    from matplotlib.font_manager import fontManager

    known = {entry.name for entry in fontManager.ttflist}
    return [name for name in FONTS if name in known] or ["sans-serif"]


# ---- figures and their texts ----------------------------------------------------------------------------------------


def sheet(width: float, height: float) -> Figure:
    """An empty figure, in inches."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height))


def panel(width: float, height: float) -> tuple[Figure, Axes]:
    """A figure filled by its one axes, laid out by matplotlib; only the left and the bottom are lined."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    ax = figure.add_subplot()
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        ax.spines[side].set_color(SOFT)
    ax.tick_params(labelsize=8, color=SOFT, labelcolor=INK)
    return figure, ax


def axes_at(figure: Figure, left: float, bottom: float, width: float, height: float) -> Axes:
    """Axes placed in inches: labels are given their room rather than a solver that may fail with many of them."""
    across, up = figure.get_size_inches()
    return figure.add_axes((left / across, bottom / up, width / across, height / up))


def headline(figure: Figure, text: str) -> None:
    """Write the title at the top left; one that is too long takes more lines, and the figure grows by them."""
    lines = _lines(text, 10, figure)
    _grow(figure, above=0.17 * (len(lines) - 1))
    across, up = figure.get_size_inches()
    figure.text(0.12 / across, 1 - 0.12 / up, "\n".join(lines), fontsize=10, va="top", parse_math=False)


def footnote(figure: Figure, text: str) -> None:
    """Write small print at the bottom left, on as many lines as it takes."""
    lines = _lines(text, 7.5, figure)
    _grow(figure, below=0.13 * (len(lines) - 1))
    across, up = figure.get_size_inches()
    figure.text(0.12 / across, 0.12 / up, "\n".join(lines), fontsize=7.5, va="bottom", color=SOFT, parse_math=False)


def _lines(text: str, points: float, figure: Figure) -> list[str]:
    characters = int((figure.get_figwidth() - 0.24) / label_width(["m"], points))
    return textwrap.wrap(text, max(characters, 12)) or [""]


def _grow(figure: Figure, above: float = 0.0, below: float = 0.0) -> None:
    """Make the sheet higher; what is drawn keeps its size in inches."""
    across, up = figure.get_size_inches()
    high = up + above + below
    figure.set_size_inches(across, high)
    for ax in figure.axes:
        left, bottom, width, height = ax.get_position(original=True).bounds
        ax.set_position((left, (bottom * up + below) / high, width, height * up / high))
    for text in figure.texts:
        text.set_y((text.get_position()[1] * up + below) / high)


def narrow(figure: Figure) -> None:
    """Make a figure with one axes as narrow as a phone; letters, and the room of names, keep their size."""
    across, up = figure.get_size_inches()
    (ax,) = figure.axes
    if figure.get_layout_engine() is not None:  # which gives names their room
        figure.set_size_inches(PHONE, up)
        return
    left, bottom, width, height = ax.get_position(original=True).bounds
    kept = max(LEAST_AXES, PHONE - (1 - width) * across)
    slim = across - width * across + kept
    figure.set_size_inches(slim, up)
    ax.set_position((left * across / slim, bottom, kept / slim, height))


def label_width(names: Sequence[str], points: float) -> float:
    """Room in inches for the longest of the names; East Asian letters are twice as wide."""
    letters = max(sum(1.7 if unicodedata.east_asian_width(c) in "WF" else 1.0 for c in name) for name in names)
    return letters * 0.62 * points / 72


def short(item: Hashable, max_length: int = 34) -> str:
    """A label on one line, cut in the middle where it is too long; see `podium.text.one_line`."""
    text = one_line(" ".join(str(item).split()))
    return text if len(text) <= max_length else f"{text[: max_length - 12]}…{text[-11:]}"


def span(*values: Floats) -> tuple[float, float]:
    """Limits of an axis that shows all finite values."""
    flat = np.concatenate([np.asarray(v, dtype=np.float64) for v in values])
    flat = flat[np.isfinite(flat)]
    if not len(flat):
        raise InputError("there is no finite number to draw; look at the values")
    low, high = float(flat.min()), float(flat.max())
    margin = 0.05 * (high - low) or 0.5
    return low - margin, high + margin


def apart(wanted: Floats, gap: float) -> Floats:
    """Heights near those wanted (falling), at least `gap` apart: pool neighbours that are too close."""
    shift = gap * np.arange(len(wanted))
    blocks: list[list[float]] = []  # mean, size
    for value in wanted + shift:
        blocks.append([float(value), 1])
        while len(blocks) > 1 and blocks[-2][0] < blocks[-1][0]:
            mean, size = blocks.pop()
            blocks[-1] = [(blocks[-1][0] * blocks[-1][1] + mean * size) / (blocks[-1][1] + size), blocks[-1][1] + size]
    pooled: Floats = np.concatenate([np.full(int(size), mean) for mean, size in blocks]) - shift
    return pooled
