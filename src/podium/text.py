"""Text in columns: labels of any script, numbers that may be infinite."""

from __future__ import annotations

import html
import math
import re
import unicodedata
from collections.abc import Collection, Hashable, Sequence

__all__ = ["aligned", "html_table", "number", "one_line", "printable", "some", "storable", "width"]


def width(text: str) -> int:
    """Columns that `text` takes on a terminal: two for wide characters, none for combining ones.

    Examples
    --------
    >>> width("茶"), width("thé")
    (2, 3)
    """
    if text.isascii():
        return len(text)
    return sum(_columns(character) for character in text)


def _columns(character: str) -> int:
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def one_line(label: object) -> str:
    """A label as text that stays in its cell, on terminals, in pictures and on pages.

    Line ends, control characters, marks that turn the direction of what follows, halves of characters and what XML has
    no room for are written as escapes. Every label that people are shown goes through here; data files keep it raw.

    Examples
    --------
    >>> print(one_line("green\\ntea"))
    green\\ntea
    >>> print(one_line("\\x1b[31mred\\u202e"))
    \\x1b[31mred\\u202e
    """
    return _HOSTILE.sub(_escaped, str(label))


def printable(text: str) -> str:
    """The same for text of several lines, whose ends stay.

    >>> printable("two\\nlines\\x00").splitlines()
    ['two', 'lines\\\\x00']
    """
    return "\n".join(one_line(line) for line in text.split("\n"))


def storable(label: object) -> str:
    """A label as text that files can hold: as it is, but for halves of characters, which no encoding has.

    >>> storable("caf\xe9"), storable("\\ud800")
    ('café', '\\\\ud800')
    """
    return str(label).encode("utf-8", "backslashreplace").decode()


def _escaped(found: re.Match[str]) -> str:
    return found[0].encode("unicode_escape").decode()


# C0 and C1 controls; marks of direction, ends of lines and paragraphs; annotations; surrogates and non-characters.
_HOSTILE = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u206f\ufeff\ufff9-\ufffb\ufffe\uffff\ud800-\udfff]"
)


def number(value: float, digits: int) -> str:
    """A number with so many decimals; ∞ where it has no end, and no negative zero.

    Examples
    --------
    >>> number(-0.001, 2), number(float("-inf"), 2)
    ('0.00', '-∞')
    """
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    return f"{value:z.{digits}f}"


def aligned(
    heads: Sequence[str], columns: Sequence[Sequence[object]], *, to_left: Collection[str] = ("item", "")
) -> str:
    """Columns of cells below their heads, as lines of text; those named in `to_left` begin at the left.

    Examples
    --------
    >>> print(aligned(["rank", "item"], [[1, 2], ["茶", "coffee"]]))
    rank  item
       1  茶
       2  coffee
    """
    made = [[one_line(cell) for cell in [head, *cells]] for head, cells in zip(heads, columns, strict=True)]
    for head, cells in zip(heads, made, strict=True):
        widths = [width(cell) for cell in cells]
        for k, own in enumerate(widths):
            space = " " * (max(widths) - own)
            cells[k] = cells[k] + space if head in to_left else space + cells[k]
    return "\n".join("  ".join(line).rstrip() for line in zip(*made, strict=True))


def html_table(heads: Sequence[str], columns: Sequence[Sequence[object]], notes: Sequence[str]) -> str:
    """The same as an HTML table, with the notes in a paragraph below it.

    Examples
    --------
    >>> html_table(["item"], [["<tea>"]], [])
    '<table><thead><tr><th>item</th></tr></thead><tbody><tr><td>&lt;tea&gt;</td></tr></tbody></table><p></p>'
    """
    rows = [[one_line(cell) for cell in row] for row in zip(*columns, strict=True)]
    head = "".join(f"<th>{html.escape(cell)}</th>" for cell in heads)
    body = "".join("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    below = "<br>".join(html.escape(one_line(note)) for note in notes)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table><p>{below}</p>"


def some(items: Sequence[Hashable], most: int = 4) -> str:
    """The first few labels in brackets.

    Examples
    --------
    >>> some(["tea", "milk", "cola"], most=2)
    "['tea', 'milk', …]"
    """
    return "[" + ", ".join(repr(item) for item in items[:most]) + (", …]" if len(items) > most else "]")
