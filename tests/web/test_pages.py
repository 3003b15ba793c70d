"""What each page is given to show, value by value, and what it says of it."""

import json
import re

import pytest
from jinja2 import DictLoader, UndefinedError

from podium._version import __version__
from podium.campaign import setup
from podium.campaign.judges import without_judge
from podium.campaign.live import live_votes
from podium.campaign.options import Options
from podium.campaign.standing import MAX_FORECAST, MIN_CHECK_VOTES, pairs_left, standing
from podium.store.values import Event, Item, Vote
from podium.text import about
from podium.web import figures, pages
from podium.web.organising import summary_of
from podium.web.words import JUDGE

from web.rooms import new_room

DAY = 86_400_000
PIXEL = b"\x89PNG\r\n\x1a\n" + bytes(60)


@pytest.fixture
def given(monkeypatch):
    """The template and the values of the last page that was made."""
    made, page = {}, pages._page

    def noted(name, **values):
        made.clear()
        made.update(values, template=name)
        return page(name, **values)

    monkeypatch.setattr(pages, "_page", noted)
    return made


def voted(room, rows, **more):
    votes = [Vote(room.judge_id, str(k), a, b, value, **more) for k, (a, b, value) in enumerate(rows)]
    room.store.write(room.campaign, lambda writer: writer.append_votes(votes))


EVERY = [(a, b, 1.0) for a in range(8) for b in range(a + 1, 8)]


def test_all_is_done_where_no_vote_is_left():
    assert (pages._done(1, 0), pages._done(1, 1), pages._done(0, 0)) == (100.0, 50.0, 0.0)


# ---- the live page ------------------------------------------------------------------------------------------------


def test_the_live_page_is_given_where_the_campaign_stands(room, given):
    now = room.store.now()
    voted(room, EVERY[:20], received=now)
    room.store.write(
        room.campaign,
        lambda writer: writer.append_votes(
            [Vote(room.judge_id, f"c{k}", k, 7 - k, 1.0, kind="check", predicted=0.8, received=now - 2 * DAY)
             for k in range(3)]
            + [Vote(room.judge_id, "s", 0, 1, None, received=now)]
        ),
    )  # fmt: skip
    room.store.write(room.campaign, lambda writer: setup.invite(writer, ["Bob", "Cy"], now) and None)
    room.store.write(room.campaign, lambda writer: setup.revoke(writer, 1, now))
    room.store.write(
        room.campaign, lambda writer: writer.append_event(Event("plan", {"votes": 9, "width": 4.5})) and None
    )
    room.store.write(room.campaign, lambda writer: writer.append_event(
        Event("report", {"item": 3, "judge": 0, "reason": "broken"})) and None)  # fmt: skip
    assert room.organiser.get("/o/live").status_code == 200
    content, events = room.store.read(lambda reader: (reader.content(room.campaign), reader.events(room.campaign)))
    stands, live, state = standing(content), live_votes(content), room.app.state.podium
    summary = summary_of(state, stands, pairs_left(content), 20, now)
    assert (given["template"], given["here"], given["campaign"].id) == ("live.html", "live", room.campaign)
    assert (given["items"], given["judges"], given["standing"].votes) == (8, 2, 23)
    assert {name: value for name, value in given["summary"].items() if name != "stable_at"} == {
        name: value for name, value in summary.items() if name != "stable_at"
    }
    assert given["summary"]["votes_today"] == given["per_day"] == 20
    assert given["when"] == pages._day(given["summary"]["stable_at"], now)
    assert given["done_share"] == pytest.approx(100 * 23 / (23 + stands.until_stable_upper))
    assert (given["times"], given["enough"], given["level"], given["shown"]) == (MAX_FORECAST, MIN_CHECK_VOTES, 0.9, 18)
    assert given["goal"] == figures.goal_width(8)
    assert given["axis"] == figures.axis(8)
    assert [given["band"](place) for place in stands.places] == [figures.band(place, 8) for place in stands.places]
    assert given["curve"] == figures.curve(events, stands, pairs_left(content))
    assert given["curve"] is not None
    assert given["coverage"] == figures.coverage(live, stands)
    assert given["look"] == [{"code": 3, "label": "d", "why": "reported once: broken"}]
    assert [place.item for _, places in given["tiers"] for place in places] == list(stands.order)
    assert (given["marks"], given["no_marks"], given["chosen"], given["checks"]) == ({}, None, True, 3)
    assert given["trouble"] is None
    forecast = about(stands.until_stable, stands.until_stable_upper, "more vote")
    assert forecast == f"about {given['forecast']}"


def test_the_live_page_before_any_vote(room, given):
    room.store.write(room.campaign, lambda writer: setup.withdraw(writer, 7, 1))
    room.app.state.podium.planning.trouble = "the disk is full"
    page = room.organiser.get("/o/live").text
    assert (given["items"], given["judges"], given["axis"], given["tiers"]) == (7, 1, [], [])
    assert (given["curve"], given["coverage"], given["look"], given["per_day"]) == (None, None, [], 0)
    assert (given["chosen"], given["checks"], given["trouble"]) == (False, 0, "the disk is full")
    assert "nothing to rank yet" in page
    assert "7 items" in page
    assert "1 judge " in page


def test_check_votes_that_nothing_predicted_are_counted_alike_on_the_live_page(room):
    voted(room, EVERY[:1], kind="check")
    page = room.organiser.get("/o/live").text
    assert "1 check vote, none predicted before it came" in page
    assert "check votes (1 now)" in page
    assert "no check votes yet" not in page
    assert "Check votes alike" in room.organiser.get("/o/judges").text


@pytest.mark.parametrize(
    ("share", "words"),
    [(0.1, "no check votes yet; they begin by about six votes an item"), (0, "no check pairs are asked")],
)
def test_the_live_page_says_when_check_votes_begin_or_that_none_are_asked(room, share, words):
    room.organiser.patch(room.at, json={"options": {"check_share": share}})
    assert words in room.organiser.get("/o/live").text


def test_pairs_that_were_chosen_make_marks_too_narrow(room, given):
    voted(room, EVERY, kind="check")
    room.organiser.get("/o/live")
    assert (given["chosen"], given["checks"]) == (False, 28)
    room.store.write(room.campaign, lambda w: w.append_votes([Vote(room.judge_id, "more", 0, 1, 1.0)]))
    room.organiser.get("/o/live")
    assert (given["chosen"], given["checks"]) == (True, 28)


def test_marks_are_shown_where_they_are_asked_for_or_why_there_are_none(store, given):
    room = new_room(store, marks={"known": {"a": 90, "h": 10}})
    room.organiser.get("/o/live")
    assert given["no_marks"] is None  # nothing is ranked yet
    ring = [(k, (k + 1) % 8, 1.0) for k in range(8)]
    voted(room, EVERY + ring)
    page = room.organiser.get("/o/live").text
    marked = room.app.state.podium.marks.get(room.campaign)
    assert given["marks"] == marked.words() != {}
    assert given["no_marks"] is None
    assert given["marks_level"] == pages.MARKS_LEVEL
    assert '<th class="num">Mark</th>' in page
    assert "Two known marks always fit a line: intervals take it as the right one" in page


def test_where_there_are_no_marks_yet_the_page_says_why(store, given):
    few = new_room(store, "abcd", marks={"known": {"a": 90, "d": 10}})
    few.store.write(few.campaign, lambda w: w.append_votes([Vote(few.judge_id, "x", 1, 2, 1.0)]))
    few.organiser.get("/o/live")
    reason = few.app.state.podium.marks.get(few.campaign)
    assert (given["no_marks"], given["marks"]) == (reason.why, reason.words())


# ---- other pages of an organiser -------------------------------------------------------------------------------------


def test_the_page_of_settings_is_given_items_and_people_who_may_judge(store, given):
    room = new_room(store, [Item(-1, "a", body="one two"), Item(-1, "b"), "c"], target=9)
    now = store.now()
    store.write(room.campaign, lambda writer: setup.invite(writer, ["Bob", "Cy"], now) and None)
    store.write(room.campaign, lambda writer: setup.invite(writer, ["robot"], now, kind="model") and None)
    store.write(room.campaign, lambda writer: setup.revoke(writer, 1, now))
    store.write(room.campaign, lambda writer: setup.withdraw(writer, 2, now))
    page = room.organiser.get("/o/setup").text
    assert given["rows"] == [
        {"code": 0, "label": "a", "preview": "one two", "words": 2, "withdrawn": False},
        {"code": 1, "label": "b", "preview": "b", "words": 0, "withdrawn": False},
        {"code": 2, "label": "c", "preview": "This is c.", "words": 3, "withdrawn": True},
    ]
    assert (given["template"], given["here"], given["judges"]) == ("setup.html", "setup", 2)
    assert given["options"] == Options(target=9)
    assert given["campaign"].id == room.campaign
    assert "2 items" in page
    assert "1 withdrawn" in page


def test_the_page_of_people_says_when_each_was_here(room, given, monkeypatch):
    now = room.store.now()
    room.store.write(room.campaign, lambda writer: setup.invite(writer, ["Bob"], now) and None)
    room.store.write(room.campaign, lambda writer: writer.change_judge(room.judge_id, seen=now - 5 * 60_000))
    voted(room, [(0, 1, 1.0), (1, 2, None), (2, 3, 0.5)])
    monkeypatch.setattr(room.store, "now", lambda: now)
    page = room.organiser.get("/o/people").text
    assert [(row["judge"].name, row["votes"], row["seen"]) for row in given["rows"]] == [
        ("Ann", 2, "5 min"), ("Bob", 0, "never"),
    ]  # fmt: skip
    assert (given["template"], given["here"], given["open_link"]) == ("people.html", "people", None)
    assert given["options"] == Options()
    assert "for up to" not in page
    room.organiser.post(f"{room.at}/open-link", json={"most": 37})
    assert "for up to 37 judges" in room.organiser.get("/o/people").text
    assert given["open_link"]["most"] == 37


def test_the_page_of_judges_is_given_the_reports_of_those_who_answered(room, given):
    now = room.store.now()
    room.store.write(room.campaign, lambda writer: setup.invite(writer, ["Bob", "Cy"], now) and None)
    rows = [Vote(room.judge_id, str(k), k % 7, 7, float(k % 2), ms=1000 * (k + 1)) for k in range(14)]
    rows.append(Vote(1, "skip", 0, 1, None))
    room.store.write(room.campaign, lambda writer: writer.append_votes(rows))
    room.organiser.get("/o/judges")
    assert [row["report"].judge.name for row in given["rows"]] == ["Ann", "Bob"]  # Cy has done nothing
    ann = given["rows"][0]["report"]
    assert (ann.votes, ann.skips, ann.seconds) == (14, 0, pytest.approx(7.5))
    assert (given["template"], given["here"], given["level"]) == ("judges.html", "judges", 0.9)
    assert given["campaign"].id == room.campaign


def test_the_page_without_a_judge_counts_who_would_move(room, given):
    room.store.write(room.campaign, lambda writer: setup.invite(writer, ["Bob"], 1) and None)
    voted(room, [(k + 1, k, 1.0) for k in range(7)])  # Bob turns Ann's order round
    theirs = [Vote(1, f"b{k}", a, b, 1.0) for k, (a, b, _) in enumerate(EVERY)]
    room.store.write(room.campaign, lambda writer: writer.append_votes(theirs))
    page = room.organiser.get("/o/judges/1").text
    content = room.store.read(lambda reader: reader.content(room.campaign))
    moved = without_judge(content, 1)
    assert given["rows"] == moved
    assert given["changed"] == sum(each.before != each.after for each in moved) > 0
    assert (given["judge"].name, given["template"], given["here"]) == ("Bob", "without.html", "judges")
    assert f"{given['changed']} items of 8 would stand elsewhere" in page
    assert room.organiser.get("/o/judges/9").status_code == 404


def test_the_page_of_an_item_shows_it_as_judges_see_it(store, given):
    room = new_room(store, [Item(-1, "a", "markdown", "**bold**"), "b"])
    page = room.organiser.get("/o/items/0").text
    assert "<strong>bold</strong>" in page
    assert (given["item"].label, given["view"]["kind"], given["template"], given["here"]) == (
        "a", "markdown", "item.html", "setup",
    )  # fmt: skip
    missing = room.organiser.get("/o/items/5")
    assert missing.status_code == 404
    assert "There is no item 5 in this campaign." in missing.text


def test_entries_know_whether_somebody_was_here_before(room, given):
    for visitor, path, then, known in (
        (room.visitor(), "/o", "/o/live", False), (room.organiser, "/o", "/o/live", True),
        (room.organiser, "/o?new", "/o/live", False), (room.visitor(), "/new", "/new/campaign", False),
        (room.operator, "/new", "/new/campaign", True), (room.operator, "/o", "/o/live", False),
    ):  # fmt: skip
        page = visitor.get(path).text
        assert (given["template"], given["next"], given["known"]) == ("enter.html", then, known)
        assert f'data-next="{then}" data-known="{"1" if known else ""}"' in page


def test_pages_that_are_the_same_for_all(room, given):
    assert room.visitor().get("/").status_code == 200
    assert given == {"template": "home.html"}
    room.visitor().get("/docs")
    assert given["spec"] == room.app.openapi()
    room.visitor().get("/j")
    assert (given["w"], json.loads(given["words"]), given["trying"]) == (JUDGE, JUDGE, False)
    room.organiser.get("/o/try")
    assert (given["w"], json.loads(given["words"]), given["trying"]) == (JUDGE, JUDGE, True)
    room.operator.get("/new/campaign")
    assert given == {"template": "new.html"}
    room.organiser.get("/o/export")
    assert (given["campaign"].id, given["here"], given["template"]) == (room.campaign, "export", "export.html")


def test_every_page_is_html_of_this_version(room, monkeypatch):
    seen = []
    template = pages.HTML.get_template

    def noted(name):
        found = template(name)
        monkeypatch.setattr(found, "render", lambda **values: seen.append(values["version"]) or "<p>made</p>")
        return found

    with monkeypatch.context() as patch:
        patch.setattr(pages.HTML, "get_template", noted)
        made = pages._page("home.html", status=418, headers={"X-Own": "1"})
    assert (made.status_code, made.headers["x-own"], made.body, seen) == (418, "1", b"<p>made</p>", [__version__])
    assert made.media_type == "text/html"


def test_text_on_pages_is_never_markup_and_a_name_that_is_missing_fails(monkeypatch):
    templates = {"own.html": "  {% if true %}\n{{ x }}\n  {% endif %}\ny", "version.html": "{{ version }}"}
    monkeypatch.setattr(pages.HTML, "loader", DictLoader(templates))
    monkeypatch.setattr(pages.HTML, "cache", {})
    assert pages._page("own.html", x="<b>").body == b"&lt;b&gt;\ny"
    assert pages._page("version.html").body == __version__.encode()
    with pytest.raises(UndefinedError, match="'x' is undefined"):
        pages._page("own.html")


@pytest.mark.parametrize(
    ("status", "code", "title"),
    [(401, "x", "Open your link"), (403, "x", "Not possible"), (404, "x", "Not found"), (429, "x", "One moment"),
     (500, "x", "Something went wrong"), (503, "x", "Back soon"), (409, "x", "Not possible"),
     (403, "revoked", "This link was withdrawn"), (401, "no-session", "Open your link"),
     (403, "full", "Everybody has come")],
)  # fmt: skip
def test_a_problem_has_the_title_of_its_code_or_its_status(status, code, title):
    made = pages.problem_page(None, status, code, "some words", {"Retry-After": "3"})
    assert f"<h1>{title}</h1><p>Some words.</p>" in made.body.decode()
    assert (made.status_code, made.headers["retry-after"]) == (status, "3")


# ---- the judge's pages ---------------------------------------------------------------------------------------------


def test_the_page_of_last_votes_numbers_votes_and_not_skips(store, given, monkeypatch):
    room = new_room(store, texts={"consent": "x"}, ties=False)
    now = store.now()
    rows = [(0, 1, 1.0), (1, 2, None), (2, 3, 0.5), (3, 4, 0.0)]
    votes = [
        Vote(room.judge_id, f"v{k}", a, b, value, received=now - (9 - k) * 60_000)
        for k, (a, b, value) in enumerate(rows)
    ]
    store.write(room.campaign, lambda writer: writer.append_votes(votes))
    monkeypatch.setattr(store, "now", lambda: now)
    page = room.judge.get("/j/history").text
    assert [(row["id"], row["number"], row["ago"]) for row in given["rows"]] == [
        ("v3", 3, "6 min"), ("v2", 2, "7 min"), ("v1", None, "8 min"), ("v0", 1, "9 min"),
    ]  # fmt: skip
    assert (given["count"], given["who"], given["template"]) == (3, f"letters-{room.judge_id}", "history.html")
    assert (given["w"], json.loads(given["words"])) == (JUDGE, JUDGE)
    assert given["options"].ties is False
    assert given["campaign"].id == room.campaign
    assert "3 so far; skips are not counted." in page
    assert [re.sub(r"\D", "", each) for each in re.findall(r'class="when"><b>(.*?)</b>', page)] == ["3", "2", "", "1"]


def test_the_page_of_last_votes_holds_fifty(store, given):
    room = new_room(store, [f"i{k:02}" for k in range(12)])
    rows = [(a, b, 1.0) for a in range(12) for b in range(a)][:53]
    voted(room, rows)
    room.judge.get("/j/history")
    assert (len(given["rows"]), given["count"]) == (50, 53)
    assert [row["number"] for row in given["rows"]] == list(range(53, 3, -1))


def pictured(store):
    import hashlib

    from podium.campaign.items import Items
    from podium.store.values import Media

    sha = hashlib.sha256(PIXEL).hexdigest()
    items = Items(
        [Item(-1, "p", "image", None, sha), Item(-1, "q", body="words")], {sha: Media(sha, "image/png", PIXEL)}
    )
    room = new_room(store, "abc")
    store.write(room.campaign, lambda writer: setup.add_items(writer, items, store.now()) and None)
    return room, sha


def test_files_are_for_those_of_their_campaign(store):
    room, sha = pictured(store)
    other = new_room(store, "xyz")
    for visitor in (room.judge, room.organiser):
        answer = visitor.get(f"/media/{sha}")
        assert (answer.status_code, answer.content, answer.headers["content-type"]) == (200, PIXEL, "image/png")
        assert answer.headers["content-security-policy"] == "default-src 'none'; sandbox"
    by_header = room.visitor().get(f"/media/{sha}", headers={"Authorization": f"Bearer {room.judge_token}"})
    assert by_header.content == PIXEL
    nobody = room.visitor().get(f"/media/{sha}")
    assert (nobody.status_code, "Nobody is known here; open your link again." in nobody.text) == (401, True)
    missing = room.judge.get("/media/none")
    assert (missing.status_code, "There is no such file in this campaign." in missing.text) == (404, True)
    elsewhere = other.judge
    assert elsewhere.get(f"/media/{sha}").status_code == 404
    both = other.judge  # a judge there, an organiser here
    both.app = room.app
    assert both.post("/api/v1/session", json={"token": room.organiser_token}).status_code == 200
    assert both.get(f"/media/{sha}").content == PIXEL


def test_pictures_of_last_votes_have_their_address(store):
    room, sha = pictured(store)
    store.write(room.campaign, lambda writer: writer.append_votes(
        [Vote(room.judge_id, "v", 3, 4, 1.0, question=7, received=5)]))  # fmt: skip
    (row,) = room.judge.get("/api/v1/history").json()
    assert row == {
        "id": "v", "question": 7, "left": "a picture", "right": "words", "right_media": None, "outcome": 1.0, "at": 5,
        "left_media": {"kind": "image", "address": f"/media/{sha}"},
    }  # fmt: skip
