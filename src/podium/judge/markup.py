"""The text of what a page shows: paragraphs, lists and tables as lines; what is only looks is left out."""

from __future__ import annotations

from html.parser import HTMLParser

__all__ = ["text_of"]

BLOCKS = {"p", "h1", "h2", "h3", "h4", "h5", "h6", "blockquote", "pre", "ul", "ol", "table"}
BEFORE = {"br": "\n", "li": "\n- ", "tr": "\n", "td": " | ", "th": " | ", "hr": "\n\n---\n\n"}


class _Text(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.parts.append("\n\n" if tag in BLOCKS else BEFORE.get(tag, ""))

    def handle_endtag(self, tag: str) -> None:
        self.parts.append("\n\n" if tag in BLOCKS else "")

    def handle_data(self, data: str) -> None:
        self.parts.append(data)


def text_of(html: str) -> str:
    """Text as it is read on a page.

    >>> text_of("<p>a &lt; b<br>c</p><p>d</p>")
    'a < b\\nc\\n\\nd'
    >>> text_of("<h1>Two</h1><ul><li>one</li><li><em>two</em></li></ul>")
    'Two\\n\\n- one\\n- two'
    """
    reader = _Text()
    reader.feed(html)
    reader.close()
    text = "".join(reader.parts)
    while "\n\n\n" in text:
        text = text.replace("\n\n\n", "\n\n")
    return text.strip()
