"""Text in columns: labels of any script, numbers that may be infinite."""

from __future__ import annotations

import html
import math
import re
from collections.abc import Collection, Hashable, Sequence

__all__ = [
    "MAX_LOG_ODDS",
    "aligned",
    "chance",
    "counted",
    "distinct_room",
    "fitted",
    "html_table",
    "number",
    "one_line",
    "p_value",
    "percent",
    "printable",
    "shortened",
    "some",
    "storable",
    "width",
]

GAP = 2  # blanks between columns
MAX_LOG_ODDS = 20.0  # from a score to an end, or of an effect: what is farther is told or drawn as without end
MIN_LABEL = 12  # columns of the terminal that a label keeps, where it has as many


def width(text: str) -> int:
    """Columns that `text` takes on a terminal: two for wide characters, none for combining ones.

    Examples
    --------
    >>> width("茶"), width("thé")
    (2, 3)
    """
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


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


def _escaped(match: re.Match[str]) -> str:
    return match[0].encode("unicode_escape").decode()


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


def p_value(p: float) -> str:
    """A p-value with four decimals; a small one is never 0.

    Examples
    --------
    >>> p_value(0.03), p_value(2e-9)
    ('0.0300', '< 0.0001')
    """
    return "< 0.0001" if p < 0.0001 else f"{p:.4f}"


def shortened(text: str, room: int) -> str:
    """The text in at most `room` columns of a terminal: what does not fit is taken out of the middle.

    Examples
    --------
    >>> shortened("a-rather-long-name-v2", 12), shortened("tea", 12)
    ('a-rath…me-v2', 'tea')
    """
    if width(text) <= room:
        return text
    front, back = room // 2, room - room // 2 - 1
    if text.isascii():
        return f"{text[:front]}…{text[len(text) - back :]}"
    head = next(k for k in range(len(text) + 1) if width(text[: k + 1]) > front)
    tail = next(k for k in range(len(text) + 1) if width(text[len(text) - k - 1 :]) > back)
    end = text[len(text) - tail :] if tail else ""
    while end and width(end[0]) == 0:  # a mark belongs to the letter that was cut off
        end = end[1:]
    return f"{text[:head]}…{end}"


def distinct_room(labels: Collection[str], least: int = MIN_LABEL) -> int:
    """The columns of a terminal, at least `least`, in which no two labels become the same when they are shortened.

    Examples
    --------
    >>> distinct_room(["model-4-large-en", "model-5-large-en"], least=5), distinct_room(["tea", "coffee"])
    (14, 6)
    """
    different = set(labels)
    longest = max((width(label) for label in different), default=0)
    for room in range(least, longest):
        if len({shortened(label, room) for label in different}) == len(different):
            return room
    return longest


def fitted(
    heads: Sequence[str],
    columns: Sequence[Sequence[object]],
    room: int | None,
    *,
    to_left: Collection[str] = ("item", ""),
    shorten: Collection[str] = ("item",),
) -> str:
    """`aligned` in lines of at most `room` columns of a terminal; None is without end.

    Labels in the columns named in `shorten` are shortened first, the longest before the others, as far as they stay
    different; then the columns go into several tables, one below the other, the first column in each.

    Examples
    --------
    >>> print(fitted(["item", "votes"], [["tea", "a coffee from far away"], [3, 4]], 19))
    item          votes
    tea               3
    a coff… away      4
    """
    cells = [[one_line(cell) for cell in column] for column in columns]
    widths = [max(map(width, [head, *column])) for head, column in zip(heads, cells, strict=True)]
    if room is None or _total(widths) <= room:
        return aligned(heads, cells, to_left=to_left)
    least = {k: max(width(head), distinct_room(cells[k])) for k, head in enumerate(heads) if head in shorten}
    while _total(widths) > room and (long := [k for k in least if widths[k] > least[k]]):
        widest = max(long, key=lambda k: widths[k])
        widths[widest] -= 1
    for k in least:
        cells[k] = [shortened(cell, widths[k]) for cell in cells[k]]
    tables, block = [], [0]
    for k in range(1, len(heads)):
        if len(block) > 1 and _total([widths[j] for j in [*block, k]]) > room:
            tables.append(block)
            block = [0]
        block.append(k)
    tables.append(block)
    return "\n\n".join(aligned([heads[k] for k in t], [cells[k] for k in t], to_left=to_left) for t in tables)


def _total(widths: Sequence[int]) -> int:
    return sum(widths) + GAP * (len(widths) - 1)


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
    padded = [[one_line(cell) for cell in [head, *cells]] for head, cells in zip(heads, columns, strict=True)]
    for head, cells in zip(heads, padded, strict=True):
        widths = [width(cell) for cell in cells]
        for k, own in enumerate(widths):
            space = " " * (max(widths) - own)
            cells[k] = cells[k] + space if head in to_left else space + cells[k]
    return "\n".join((" " * GAP).join(line).rstrip() for line in zip(*padded, strict=True))


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


def first_line(problem: BaseException) -> str:
    """What another library says is wrong, to be told in a sentence of ours: one line, and one row is no "1 rows".

    >>> first_line(ValueError("expected 0 rows, actual 1 rows\\nsee the manual")), first_line(MemoryError())
    ('expected 0 rows, actual 1 row', 'MemoryError')
    """
    lines = str(problem).splitlines() or [type(problem).__name__]
    return re.sub(r"\b1 rows\b", "1 row", lines[0])


def counted(count: float, noun: str, plural: str = "") -> str:
    """A number and what it is of, in the singular where it is one.

    Examples
    --------
    >>> counted(1, "judge"), counted(1200, "judge"), counted(2, "category", "categories")
    ('1 judge', '1,200 judges', '2 categories')
    """
    shown = f"{count:,.10g}" if isinstance(count, float) else f"{count:,}"
    return f"{shown} {noun if count == 1 else plural or noun + 's'}"


def about(least: int, most: int, noun: str) -> str:
    """A forecast as a range of two figures that count; one number where both ends are the same.

    Examples
    --------
    >>> about(69, 1669, "more vote"), about(8, 8, "more vote"), about(996, 1004, "more vote")
    ('about 69 to 1,700 more votes', 'about 8 more votes', 'about 1,000 more votes')
    """
    low, high = (round(value, min(0, 2 - len(str(value)))) for value in (least, max(least, most)))
    return f"about {counted(high, noun)}" if low == high else f"about {low:,} to {counted(high, noun)}"


def percent(share: float, digits: int = 0) -> str:
    """A share in per cent, with a blank before the sign.

    Examples
    --------
    >>> percent(0.95), percent(0.123, 1)
    ('95 %', '12.3 %')
    """
    return f"{100 * share:.{digits}f} %"


def chance(probability: float) -> str:
    """A chance in per cent; what is not certain is not called so.

    Examples
    --------
    >>> chance(0.95), chance(0.9996), chance(0.001), chance(1.0)
    ('95 %', '> 99 %', '< 1 %', '100 %')
    """
    if 0.995 <= probability < 1:
        return "> 99 %"
    return "< 1 %" if 0 < probability <= 0.005 else percent(probability)


def named(items: Sequence[Hashable], most: int = 4) -> str:
    """The first few labels as a sentence has them.

    Examples
    --------
    >>> named(["tea", "milk"]), named(["tea", "milk", "cola"], most=1)
    ("'tea' and 'milk'", "'tea' and 2 more")
    """
    words = [repr(item) for item in items[:most]]
    if len(items) > most:
        words.append(f"{len(items) - most:,} more")
    return " and ".join([", ".join(words[:-1]), words[-1]]) if len(words) > 1 else words[0]


def some(items: Sequence[Hashable], most: int = 4) -> str:
    """The first few labels in brackets.

    Examples
    --------
    >>> some(["tea", "milk", "cola"], most=2)
    "['tea', 'milk', …]"
    """
    return "[" + ", ".join(repr(item) for item in items[:most]) + (", …]" if len(items) > most else "]")
