"""Text is data: what looks like markup, script or a formula goes through every field onto every page as text."""

import csv
import io
import json
from html.parser import HTMLParser

import pytest

from podium.campaign import setup
from podium.campaign.items import Items
from podium.store.values import Item, Media
from podium.web.content import Shelf, item_view, markdown, media_headers

from web.rooms import new_room

CORPUS = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "'><svg/onload=alert(1)>",
    "</textarea><script>alert(1)</script>",
    "</title><script>alert(1)</script>",
    "javascript:alert(1)",
    "[x](javascript:alert(1))",
    "![x](https://evil.example/x.png)",
    "<iframe srcdoc='<script>alert(1)</script>'>",
    "<a href='data:text/html,<script>1</script>'>x</a>",
    "{{ 7 * 7 }}{% for x in () %}",
    "&lt;script&gt;",
    "\u202e evil \u2066",
    "<style>*{display:none}</style>",
    "=HYPERLINK('http://evil')",
]


class Reading(HTMLParser):
    """Collects what a browser would act on."""

    def __init__(self, html):
        super().__init__()
        self.acts = []
        self.feed(html)

    def handle_starttag(self, tag, attributes):
        known = dict(attributes)
        if tag == "script" and not str(known.get("src", "")).startswith("/static/"):
            self.acts.append((tag, known))
        if tag in ("img", "iframe", "video", "audio", "object", "embed", "base", "style"):
            source = str(known.get("src", ""))
            if not source.startswith(("/media/", "/static/")):
                self.acts.append((tag, known))
        for name, value in attributes:
            if name.startswith("on") or name in ("style", "srcdoc"):
                self.acts.append((tag, {name: value}))
            if name in ("href", "src", "action") and not str(value or "/").startswith(("/", "https:", "#")):
                self.acts.append((tag, {name: value}))


def pages(room):
    organiser, judge = room.organiser, room.judge
    for path in ("live", "setup", "people", "judges", f"judges/{room.judge_id}", "export", "items/0", "try"):
        yield f"/o/{path}", organiser.get(f"/o/{path}")
    for path in ("/j", "/j/history", "/nothing"):
        yield path, judge.get(path)


@pytest.mark.parametrize("text", CORPUS, ids=range(len(CORPUS)))
def test_no_field_reaches_a_page_as_markup(store, text):
    items = [
        Item(-1, f"{text} {k}", kind, body=text) for k, kind in enumerate(["text", "markdown", "text", "markdown"])
    ]
    room = new_room(store, items, texts={"consent": text, "completion": {"code": text, "url": text}})
    store.write(room.campaign, lambda writer: setup.rename(writer, room.judge_id, f"{text} Ann", 0))
    store.write(room.campaign, lambda writer: setup.set_instructions(writer, text, 0))
    store.write(room.campaign, lambda writer: writer.change(title=text, question=text))
    judge = room.judge
    for number in range(3):
        hand = judge.get("/api/v1/next").json()
        vote = {"id": f"v{number}", "question": hand["questions"][0]["id"], "outcome": 1.0, "reason": text}
        assert judge.post("/api/v1/votes", json={"votes": [vote]}).is_success
        for shown in [
            hand["campaign"]["instructions"],
            *[side["html"] for side in hand["questions"][0].values() if isinstance(side, dict)],
        ]:
            assert not Reading(shown).acts, shown
    assert hand["campaign"]["title"] == text, "as data it is whole"
    for path, answer in pages(room):
        assert answer.status_code in (200, 404), path
        assert not Reading(answer.text).acts, path


def test_exports_do_not_hold_formulas(store):
    room = new_room(store, ["=1+1", "@cmd", "-2", "+3"])
    judge = room.judge
    for number in range(4):
        pair = judge.get("/api/v1/next").json()["questions"][0]
        judge.post("/api/v1/votes", json={"votes": [{"id": f"v{number}", "question": pair["id"], "outcome": 1.0}]})
    for what in ("votes", "ranking"):
        text = room.organiser.get(f"{room.at}/export/{what}?form=csv").text
        cells = [cell for row in csv.reader(io.StringIO(text)) for cell in row]
        assert not [cell for cell in cells if cell[:1] in "=@+" and cell], what
        assert "'=1+1" in cells, what


def test_markdown_is_a_short_list_of_tags():
    html = markdown("# T\n\n- **b** [x](https://example.org)\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n~~s~~ `c` <b>x</b>")
    assert "<table>" in html
    assert '<a href="https://example.org" rel="noopener noreferrer nofollow">' in html
    assert "<b>" not in html


def test_pages_and_drawings_run_nothing_and_pictures_are_pictures():
    page = media_headers(Media("k", "text/html", b"<html><script>1</script>"))
    assert "sandbox" in page["Content-Security-Policy"]
    assert "allow-scripts" not in page["Content-Security-Policy"]
    assert media_headers(Media("k", "image/svg+xml", b"<svg>"))["Content-Disposition"] == "attachment"
    assert "Content-Disposition" not in media_headers(Media("k", "image/png", b""))


def test_files_are_given_to_people_of_the_campaign_only_with_their_own_kind(store):
    png = b"\x89PNG\r\n\x1a\n" + b"0" * 20
    key = "a" * 64
    items = Items(
        [Item(-1, "one", "image", media=key), Item(-1, "two", "text", "x")], {key: Media(key, "image/png", png)}
    )
    room = new_room(store, items.items)
    store.write(room.campaign, lambda writer: writer.add_media(items.media[key]))
    answer = room.judge.get(f"/media/{key}")
    assert (answer.status_code, answer.headers["content-type"], answer.content) == (200, "image/png", png)
    assert room.visitor().get(f"/media/{key}").status_code == 401
    assert room.judge.get("/media/" + "b" * 64).status_code == 404
    assert item_view(items.items[0])["media"] == f"/media/{key}"


def test_what_is_on_the_screen_is_not_forgotten_when_more_is_remembered():
    shelf = Shelf(most=3)
    shelf.put(1, {code: Item(code, str(code)) for code in range(3)})
    assert shelf.missing(1, {0, 9}) == {9}
    shelf.put(1, {9: Item(9, "nine")})
    assert [json.loads(shelf.get(1, code))["html"] for code in (0, 9)] == ["<p>0</p>", "<p>nine</p>"]
    assert shelf.missing(1, {1}) == {1}, "the oldest went"
