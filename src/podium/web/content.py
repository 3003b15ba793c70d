"""What judges see of an item: text, Markdown, a picture, a sound, a film or a page, made safe."""

from __future__ import annotations

import html
import json
import re
from collections import OrderedDict
from functools import cache
from typing import Any

from podium.store.values import Item, Media

__all__ = ["Shelf", "item_view", "markdown", "media_headers", "preview"]

TAGS = {
    "p", "br", "em", "strong", "s", "code", "pre", "blockquote", "ul", "ol", "li", "h1", "h2", "h3", "h4", "h5", "h6",
    "table", "thead", "tbody", "tr", "th", "td", "hr", "a",
}  # fmt: skip
IN_PLACE = ("image/png", "image/jpeg", "image/gif", "image/webp")
SANDBOX = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox"
MOST_KEPT = 20_000  # items whose shown form is remembered
PREVIEW = 160  # characters


@cache
def _renderer() -> Any:
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark", {"html": False, "linkify": False}).enable("table").enable("strikethrough")


def markdown(text: str) -> str:
    """Markdown as safe HTML: no HTML of its own, a short list of tags, links to https only.

    >>> markdown("**Bold** <script>x</script> [no](javascript:x)")
    '<p><strong>Bold</strong> &lt;script&gt;x&lt;/script&gt; [no](javascript:x)</p>\\n'
    """
    import nh3

    return nh3.clean(
        _renderer().render(text),
        tags=TAGS,
        attributes={"a": {"href"}},
        url_schemes={"https"},
        link_rel="noopener noreferrer nofollow",
    )


def plain(text: str) -> str:
    """Text as paragraphs; nothing in it is markup.

    >>> plain("a < b\\n\\nc")
    '<p>a &lt; b</p><p>c</p>'
    """
    parts = re.split(r"\n\s*\n", text.strip("\n"))
    return "".join(f"<p>{html.escape(part).replace(chr(10), '<br>')}</p>" for part in parts)


def item_view(item: Item) -> dict[str, Any]:
    """What the page needs to show an item; its label stays hidden unless it is all there is."""
    if item.media is not None:
        return {"kind": item.kind, "media": f"/media/{item.media}", "html": plain(item.body) if item.body else None}
    body = item.label if item.body is None else item.body
    return {"kind": item.kind, "html": markdown(body) if item.kind == "markdown" else plain(body), "media": None}


def preview(item: Item) -> str:
    """The beginning of an item in one line, for lists."""
    if item.media is not None and not item.body:
        return {"image": "a picture", "audio": "a sound", "video": "a film"}.get(item.kind, "a page")
    body = item.label if item.body is None else item.body
    if item.kind == "markdown":
        body = re.sub(r"(?m)^\s{0,3}#{1,6}\s+|[*_`|]+|^[-: ]+$", "", body)
    line = " ".join(body.split())
    return line if len(line) <= PREVIEW else line[: PREVIEW - 1] + "…"


def media_headers(media: Media) -> dict[str, str]:
    """Headers of a file: pages run nothing and see nothing, drawings are only saved, nothing is guessed."""
    headers = {"Cache-Control": "private, max-age=31536000, immutable", "X-Content-Type-Options": "nosniff"}
    if media.type == "text/html":
        headers["Content-Security-Policy"] = SANDBOX
        return headers
    headers["Content-Security-Policy"] = "default-src 'none'; sandbox"
    if media.type not in IN_PLACE and not media.type.startswith(("audio/", "video/")):
        headers["Content-Disposition"] = "attachment"
    return headers


_ENCODE = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


class Shelf:
    """The shown forms of items as JSON, remembered: an item's text never changes."""

    def __init__(self, most: int = MOST_KEPT) -> None:
        self.most = most
        self._known: OrderedDict[tuple[int, int], str] = OrderedDict()

    def missing(self, campaign: int, codes: set[int]) -> set[int]:
        """Codes whose shown form is not remembered; the others are not forgotten before these are put."""
        missing = set()
        for code in codes:
            try:
                self._known.move_to_end((campaign, code))
            except KeyError:  # asking first would not do: another thread may forget it in between
                missing.add(code)
        return missing

    def put(self, campaign: int, items: dict[int, Item]) -> None:
        """Make and remember the shown forms of these items."""
        for code, item in items.items():
            self._known[campaign, code] = _ENCODE(item_view(item))
        while len(self._known) > self.most:
            self._known.popitem(last=False)

    def get(self, campaign: int, code: int) -> str:
        """The shown form of an item that was put, as JSON."""
        return self._known[campaign, code]
