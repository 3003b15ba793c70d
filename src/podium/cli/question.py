"""How a question looks: two texts side by side, a screenful at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from podium.text import one_line

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

__all__ = ["Question", "plain"]

AROUND = 9  # lines of the screen that are no text: rule, borders, keys, the standing, the cursor
FEWEST = 5  # lines of a text shown however small the screen is


class Question:
    """Which of two goes first? Long texts have several pages, turned for both at once."""

    def __init__(self, pair: tuple[str, str], texts: dict[str, str], console: Console) -> None:
        from rich.text import Text

        self.pair = pair
        self.page = 0
        self._width = max(20, (console.width - 2) // 2)
        self._room = max(FEWEST, console.height - AROUND)
        inside = self._width - 6  # less border and padding
        self._lines = [list(Text(_lines_of(texts[label])).wrap(console, inside)) or [Text()] for label in pair]
        self.pages = -(-max(map(len, self._lines)) // self._room)

    def turn(self) -> None:
        """To the next page; after the last one, to the first."""
        self.page = (self.page + 1) % self.pages

    def shown(self) -> RenderableType:
        """Both texts as they stand on this page, under their labels."""
        from rich.columns import Columns
        from rich.panel import Panel
        from rich.text import Text

        # As high as on the first page, so that the text does not jump when it is turned.
        high = min(self._room, max(map(len, self._lines))) + 4
        panels = []
        for number, (label, lines) in enumerate(zip(self.pair, self._lines, strict=True), start=1):
            begin = min(self.page * self._room, max(0, len(lines) - self._room))  # the shorter text stays in view
            end = min(begin + self._room, len(lines))
            panels.append(
                Panel(
                    Text("\n").join(lines[begin:end]),
                    title=f"[b]{number}[/b] {plain(label)}",
                    subtitle=f"lines {begin + 1}–{end} of {len(lines)}" if len(lines) > self._room else None,
                    width=self._width,
                    height=high,
                    padding=(1, 2),
                )
            )
        return Columns(panels, padding=0)


def plain(text: str) -> str:
    """Text of one line in which square brackets are just that, and control characters do nothing to the terminal."""
    from rich.markup import escape

    return escape(one_line(text))


def _lines_of(text: str) -> str:
    """Text that keeps its lines; other control characters are written as escapes."""
    return "\n".join(one_line(line) for line in text.expandtabs(4).splitlines())
