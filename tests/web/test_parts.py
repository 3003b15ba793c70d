"""The parts of pages and API by themselves: small pictures by hand-made numbers, words, limits, who a visitor is."""

import asyncio
import io
import json
import math
import re
import zipfile
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from pydantic import ValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from podium.campaign import setup
from podium.campaign.judges import JudgeReport
from podium.campaign.live import Live
from podium.campaign.options import Options
from podium.campaign.standing import Place, Share, Standing
from podium.errors import InputError, RefusedError, UnavailableError
from podium.store.values import Event, Item, Judge, Media, Vote
from podium.web import app, figures, forms, limits, organising, pages, session
from podium.web.content import Shelf, item_view, media_headers, plain, preview
from podium.web.guard import Guard
from podium.web.limits import PerDay, Rate, TooManyError

from web.rooms import OPERATOR, URL, new_room

MINUTE, HOUR, DAY = 60_000, 3_600_000, 86_400_000


def stands(places=5, votes=100, width=3.0, **more):
    rows = tuple(Place(k, f"item {k}", k - 1, k, k, k, 4, 0) for k in range(1, places + 1))
    given = {"position": (votes, 1), "places": rows, "votes": votes, "skips": 0, "judges": 1, "agreement": None}
    given |= {"stable": False, "finished": False, "until_stable": 50, "until_stable_upper": 100, "width": width}
    return Standing(**given | more)


# ---- small pictures -------------------------------------------------------------------------------------------------


def test_places_stand_between_two_and_ninety_eight_per_cent():
    assert [figures.position(place, 5) for place in (1, 2, 3, 5)] == [2.0, 26.0, 50.0, 98.0]
    assert figures.position(1, 1) == 2.0
    bar = figures.band(Place(3, "x", 0, 2, 4, 1, 0, 0), 5)
    assert bar == {"x": 26.0, "width": 48.0, "at": 50.0}
    assert figures.band(Place(3, "x", 0, 3, 3, 1, 0, 0), 5) == {"x": 50.0, "width": 0.5, "at": 50.0}


@pytest.mark.parametrize(
    ("n", "marks"),
    [
        (1, [1]), (2, [1, 2]), (3, [1, 2, 3]), (5, [1, 2, 5]), (8, [1, 4, 8]), (9, [1, 5, 9]), (20, [1, 5, 10, 15, 20]),
        (21, [1, 10, 21]), (100, [1, 25, 50, 75, 100]), (101, [1, 30, 60, 101]),
    ],
)  # fmt: skip
def test_round_places_on_a_line(n, marks):
    found = figures.axis(n)
    assert [mark for _, mark in found] == marks
    assert [at for at, _ in found] == [figures.position(mark, n) for mark in marks]


@pytest.mark.parametrize(("value", "up"), [(1.0, 1.2), (1.2, 1.2), (1.21, 1.5), (95, 120), (0.06, 0.06), (300, 300)])
def test_the_next_number_that_divides_well(value, up):
    assert figures._round_up(value) == pytest.approx(up)


def told(votes, width):
    return Event("plan", {"votes": votes, "width": width})


def test_the_curve_by_hand():
    """100 votes now and 100 to come: 204 rounds up to 240, and a width of 4 to 4.8; 310 by 148 of drawing."""
    events = [told(50, 4.0), told(0, 9.0), told(60, math.nan), told(200, 1.0)]
    events += [Event("state", {"votes": 70, "width": 1.0}), Event("plan", {"votes": 80})]
    now = stands()
    found = figures.curve(events, now, left=5)

    def at(votes, width):
        return round(30 + 310 * votes / 240, 1), round(14 + 148 * (1 - width / 4.8), 1)

    goal = figures.goal_width(5)
    one, two = at(50, 4.0), at(100, 3.0)
    assert found.line == f"M{one[0]} {one[1]}L{two[0]} {two[1]}"
    assert found.area == f"{found.line}L{two[0]} 162.0L{one[0]} 162.0Z"
    assert (found.end, found.goal) == (two, at(0, goal)[1])
    assert found.forecast == (at(150, goal), at(200, goal))
    assert found.across == [(at(v, 0)[0], f"{v}") for v in (0, 50, 100, 150, 200)]
    assert [(y, float(word)) for y, word in found.up] == [(at(0, w)[1], pytest.approx(w)) for w in (0, 1.6, 3.2, 4.8)]


@pytest.mark.parametrize("votes", [2, 3, 7, 14, 17, 28, 95, 146, 1234, 98_765])
def test_marks_of_votes_are_whole_numbers_where_they_stand(votes):
    found = figures.curve([told(1, 4.0)], stands(votes=votes, stable=True), 5)
    numbers = [int(words.replace(",", "")) for _, words in found.across]
    assert 2 <= len(numbers) <= 6
    assert len(set(np.diff(numbers))) == 1
    for (x, _), number in zip(found.across, numbers, strict=True):
        assert (x - 30) / (found.end[0] - 30) == pytest.approx(number / votes, abs=0.002), "on the scale of the line"


def test_when_there_is_no_curve_or_no_forecast():
    events = [told(50, 4.0)]
    assert figures.curve([], stands(), 5) is None
    assert figures.curve(events, stands(places=0), 5) is None
    assert figures.curve(events, stands(width=math.nan), 5) is None
    assert figures.curve([told(100, 4.0)], stands(), 5) is None  # one point only
    for more, left in (
        ({"stable": True}, 5),
        ({}, 0),
        ({"until_stable_upper": 0}, 5),
        ({"until_stable_upper": 401}, 5),
    ):
        found = figures.curve(events, stands(**more), left)
        assert found.forecast is None
        assert found.across[-1] == (round(30 + 310 * 100 / 120, 1), "100")
    assert figures.curve(events, stands(until_stable_upper=400), 1).forecast is not None


def shown_pairs(n, rows):
    left, right = (np.array(column, dtype=np.int64) for column in zip(*rows, strict=True))
    nothing = np.zeros(len(left))
    live = Live(np.arange(n), tuple(map(str, range(n))), left, right, nothing, nothing, nothing, nothing, nothing)
    return live, stands(n)


def test_which_pairs_were_asked_by_hand():
    rows = [(0, 1), (1, 0), (0, 2), (0, 2), (2, 0), (3, 2)]
    found = figures.coverage(*shown_pairs(4, rows))
    assert set(found["cells"]) == {(0.0, 25.0, 2), (0.0, 50.0, 3), (50.0, 75.0, 1)}
    assert (found["asked"], found["pairs"], found["fewest"], found["most"], found["fold"]) == (3, 6, 1, 5, 1)
    assert found["size"] == 21.5
    assert figures.coverage(shown_pairs(4, rows)[0], stands(1)) is None


def test_many_items_are_folded_together():
    """121 items fold by three into 41 cells a side; the last holds one item."""
    rows = [(0, 1)] * 1 + [(0, 3)] * 3 + [(1, 120)] * 4 + [(5, 9)] * 2
    found = figures.coverage(*shown_pairs(121, rows))
    assert (found["fold"], found["pairs"], found["asked"], found["size"]) == (3, 7260, 4, round(100 / 41 * 0.86, 2))
    place = [round(100 * k / 41, 2) for k in range(41)]
    assert set(found["cells"]) == {
        (place[0], place[0], 2),  # one of three pairs within the first cell
        (place[0], place[1], 2),  # three votes on nine pairs
        (place[0], place[40], 3),  # four votes on three pairs
        (place[1], place[3], 1),  # two votes on nine
    }
    assert figures.coverage(*shown_pairs(60, rows[:1]))["fold"] == 1
    assert figures.coverage(*shown_pairs(61, rows[:1]))["fold"] == 2


# ---- words of pages -------------------------------------------------------------------------------------------------


def test_tiers_are_lettered_as_spreadsheets_count():
    assert [pages._letters(number) for number in (1, 2, 26, 27, 28, 52, 53, 702, 703)] == [
        "A", "B", "Z", "AA", "AB", "AZ", "BA", "ZZ", "AAA"]  # fmt: skip
    now = stands(3)
    both = Standing(**{name: getattr(now, name) for name in Standing.__slots__} | {
        "places": (now.places[0], *(Place(k, f"item {k}", k - 1, k, k, 2, 4, 0) for k in (2, 3)))})  # fmt: skip
    assert [(letter, [each.item for each in rows]) for letter, rows in pages._tiers(both)] == [
        ("A", ["item 1"]), ("B", ["item 2", "item 3"])]  # fmt: skip


@pytest.mark.parametrize(
    ("ms", "words"),
    [(-5, "just now"), (MINUTE - 1, "just now"), (MINUTE, "1 min"), (HOUR - 1, "59 min"), (HOUR, "1 h"),
     (2 * DAY - 1, "47 h"), (2 * DAY, "2 days"), (9 * DAY, "9 days")],
)  # fmt: skip
def test_how_long_ago(ms, words):
    assert pages._ago(ms) == words


def test_a_moment_as_a_day():
    now = 1_800_000_000_000  # Friday, 15 January 2027
    assert pages._day(None, now) is None
    assert pages._day(now, now) is None
    assert pages._day(now + DAY - 1, now) == "within a day"
    assert pages._day(now + DAY, now) == "Saturday"
    assert pages._day(now + 6 * DAY - 1, now) == "Thursday"
    assert pages._day(now + 6 * DAY, now) == "21 January 2027"
    assert pages._day(now + 365 * DAY - 1, now) == "15 January 2028"
    assert pages._day(now + 365 * DAY, now) == "more than a year away"


def test_how_often_and_how_far():
    assert [pages._times(count) for count in (1, 2, 3)] == ["once", "twice", "3 times"]
    assert (pages._done(0, 0), pages._done(25, 75), pages._done(10, 0)) == (0.0, 25.0, 100.0)


def test_a_row_of_a_judge():
    def row(name="Ann B Cy", target=None, votes=5, agreement=None, asked=None):
        report = JudgeReport(Judge(0, name, target=target), votes, 0, None, agreement, None, None, None, 0, None)
        return pages._judge_row(report, Options(target=asked))

    assert row()["initials"] == "AB"
    assert row("ann")["initials"] == "A"
    assert (row()["target"], row()["progress"], row()["agreement"]) == (None, None, None)
    assert (row(target=20)["progress"], row(target=4)["progress"]) == (25.0, 100.0)
    assert (row(asked=10)["target"], row(target=20, asked=10)["target"]) == (10, 20)
    found = row(agreement=Share(0.5, 0.25, 0.75, 4, 0.1, 0.9))["agreement"]
    assert found == {"x": 25.0, "width": 50.0, "at": 50.0}


def test_items_worth_a_look_are_reported_or_skipped_often():
    content = SimpleNamespace(items=[Item(k, f"item {k}", withdrawn=9 if k == 4 else None) for k in range(5)])
    reported = [(1, "broken"), (1, "missing"), (1, "broken"), (4, "other"), (0, "other")]
    events = [Event("report", {"item": item, "reason": why}) for item, why in reported] + [Event("state", {})]
    places = [Place(1, "item 0", 0, 1, 1, 1, 0, 9), Place(2, "item 2", 2, 1, 1, 1, 0, 3),
              Place(3, "item 3", 3, 1, 1, 1, 0, 5), Place(4, "item 1", 1, 1, 1, 1, 0, 2)]  # fmt: skip
    rows = pages._worth_a_look(content, events, SimpleNamespace(places=places))
    assert [(each["code"], each["label"], each["why"]) for each in rows] == [
        (1, "item 1", "reported 3 times: broken, missing"), (0, "item 0", "reported once: other"),
        (3, "item 3", "skipped 5 times"), (2, "item 2", "skipped 3 times")]  # fmt: skip
    many = [Place(k, f"item {k}", k, 1, 1, 1, 0, 3) for k in range(20)]
    assert len(pages._worth_a_look(content, [], SimpleNamespace(places=many))) == 10


# ---- what is shown of an item ---------------------------------------------------------------------------------------


def test_what_judges_see_of_an_item():
    assert item_view(Item(0, "name")) == {"kind": "text", "html": "<p>name</p>", "media": None}
    assert item_view(Item(0, "name", body="a\nb\n \nc<"))["html"] == "<p>a<br>b</p><p>c&lt;</p>"
    assert item_view(Item(0, "name", "markdown", "**a**"))["html"] == "<p><strong>a</strong></p>\n"
    assert item_view(Item(0, "name", "image", None, "ab")) == {"kind": "image", "media": "/media/ab", "html": None}
    assert item_view(Item(0, "name", "image", "see", "ab"))["html"] == "<p>see</p>"
    assert plain("\n\na") == "<p>a</p>"


def test_the_beginning_of_an_item():
    assert preview(Item(0, "name")) == "name"
    assert preview(Item(0, "name", body="a\n  b")) == "a b"
    assert preview(Item(0, "name", body="x" * 160)) == "x" * 160
    assert preview(Item(0, "name", body="x" * 161)) == "x" * 159 + "…"
    assert preview(Item(0, "name", "markdown", "# A\n**b** `c` | d\n---")) == "A b c d"
    assert preview(Item(0, "name", body="# A *b*")) == "# A *b*"
    kinds = {"image": "a picture", "audio": "a sound", "video": "a film", "html": "a page"}
    assert {kind: preview(Item(0, "x", kind, None, "ab")) for kind in kinds} == kinds
    assert preview(Item(0, "x", "image", "words", "ab")) == "words"


def test_headers_of_files():
    def headers(kind):
        return media_headers(Media("ab", kind, b""))

    assert "unsafe-inline" in headers("text/html")["Content-Security-Policy"]
    assert headers("image/png")["Content-Security-Policy"] == "default-src 'none'; sandbox"
    kinds = ("image/png", "image/svg+xml", "audio/wav", "video/mp4", "text/html", "application/pdf")
    attached = {kind for kind in kinds if "Content-Disposition" in headers(kind)}
    assert attached == {"image/svg+xml", "application/pdf"}
    assert headers("image/png")["X-Content-Type-Options"] == "nosniff"
    assert "immutable" in headers("text/html")["Cache-Control"]


def test_a_shelf_forgets_what_was_looked_at_longest_ago():
    shelf = Shelf(most=2)
    items = {code: Item(code, f"item {code}") for code in range(4)}
    shelf.put(1, {0: items[0], 1: items[1]})
    assert shelf.missing(1, {0, 1, 2}) == {2}
    assert shelf.missing(2, {0}) == {0}
    assert shelf.missing(1, {0}) == set()  # looked at last
    shelf.put(1, {2: items[2]})
    assert shelf.missing(1, {1}) == {1}
    assert json.loads(shelf.get(1, 0)) == item_view(items[0])
    assert shelf.missing(1, {0, 2}) == set()


# ---- limits ---------------------------------------------------------------------------------------------------------


def test_a_rate_counts_each_visitor_and_forgets_the_most_silent(monkeypatch):
    clock = [0.0]
    rate = Rate(2, 10.0, lambda: clock[0])
    assert [rate.wait("ann"), rate.full("ann"), rate.wait("ann"), rate.wait("ann")] == [0.0, 0.0, 0.0, 10.0]
    assert (rate.full("ann"), rate.full("bob"), rate.wait("bob")) == (10.0, 0.0, 0.0)
    clock[0] = 4.0
    assert (rate.wait("ann"), rate.full("ann")) == (6.0, 6.0)
    clock[0] = 10.0
    assert (rate.full("ann"), rate.wait("ann")) == (0.0, 0.0)
    monkeypatch.setattr(limits, "MOST_KNOWN", 2)
    rate.wait("bob")
    rate.wait("ann")
    rate.wait("cy")
    assert list(rate._times) == ["ann", "cy"]


def test_a_day_has_so_many_and_the_next_begins_at_midnight():
    day = PerDay(5)
    assert [day.take("ann", 3, 0), day.take("ann", 3, 1), day.take("ann", 2, 2), day.take("ann", 1, 3)] == [
        True, False, True, False]  # fmt: skip
    assert day.take("bob", 5, DAY - 1)
    assert not day.take("ann", 1, DAY - 1)
    assert day.take("ann", 5, DAY)


# ---- forms ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "good", "bad"),
    [
        (forms.Entry, {"token": "x" * 200}, [{"token": ""}, {"token": "x" * 201}, {"token": 3}, {}]),
        (forms.Entry, {"token": "x", "parameters": {"a": "x" * 200}}, [{"token": "x", "parameters": {"a": "x" * 201}}]),
        (forms.Entry, {"token": "x", "parameters": {str(k): "" for k in range(50)}},
         [{"token": "x", "parameters": {str(k): "" for k in range(51)}}]),
        (forms.VoteIn,
         {"id": "!" * 100, "question": 0, "outcome": 0.5, "ms": 2**53, "version": 1, "reason": "x" * 2000},
         [{"id": "", "question": 0, "outcome": 1.0}, {"id": "x" * 101, "question": 0, "outcome": 1.0},
          {"id": "a b", "question": 0, "outcome": 1.0}, {"id": "x", "question": -1, "outcome": 1.0},
          {"id": "x", "question": 2**31, "outcome": 1.0}, {"id": "x", "question": 0, "outcome": 1.1},
          {"id": "x", "question": 0, "outcome": -0.1}, {"id": "x", "question": 0, "outcome": 1.0, "ms": -1},
          {"id": "x", "question": 0, "outcome": 1.0, "ms": 2**53 + 1},
          {"id": "x", "question": 0, "outcome": 1.0, "version": 0},
          {"id": "x", "question": 0, "outcome": 1.0, "reason": "x" * 2001},
          {"id": "x", "question": 0, "outcome": 1.0, "more": 1}, {"id": "x", "question": "0", "outcome": 1.0}]),
        (forms.VoteIn, {"id": "x", "question": 2**31 - 1, "outcome": None, "version": 2**31 - 1},
         [{"id": "x", "question": 0, "outcome": 0.0, "version": 2**31}]),
        (forms.AnswerIn, {"answer": 1000}, [{"answer": 1001}, {"answer": -1}, {"answer": True}]),
        (forms.AnswerIn, {"answer": 0}, [{"answer": 0.0}]),
        (forms.NewJudges, {"names": ["x" * 200], "target": 1}, [{"names": []}, {"names": [""]}, {"names": ["x" * 201]},
                                                                {"names": ["x"], "target": 0}]),
        (forms.NewJudges, {"names": ["x"] * 1000}, [{"names": ["x"] * 1001}]),
        (forms.OpenLink, {"most": 100_000, "parameter": "a_B-1"},
         [{"most": 0}, {"most": 100_001}, {"most": 1, "parameter": "a b"}, {"most": 1, "parameter": ""},
          {"most": 1, "parameter": "x" * 101}]),
        (forms.OpenLink, {"most": 1, "parameter": "x" * 100}, []),
        (forms.JudgeChange, {"name": "x" * 200, "conflicts": [0]}, [{"name": ""}, {"conflicts": [-1]}, {"state": "x"}]),
        (forms.CampaignChange, {"title": "x" * 200, "question": "x" * 1000, "instructions": "x" * 100_000},
         [{"title": ""}, {"title": "x" * 201}, {"question": ""}, {"question": "x" * 1001},
          {"instructions": "x" * 100_001}, {"state": "draft"}]),
        (forms.ItemChange, {"withdrawn": False}, [{"withdrawn": 0}, {}]),
        (forms.UndoIn, {"id": "a", "of": "b"}, [{"id": "a"}, {"id": "a", "of": ""}]),
        (forms.ReportIn, {"question": 0, "side": "left", "reason": "other"},
         [{"question": 0, "side": "top", "reason": "other"}, {"question": 0, "side": "left", "reason": "ugly"}]),
    ],
)  # fmt: skip
def test_bodies_end_where_they_say(kind, good, bad):
    kind.model_validate_json(json.dumps(good))
    for each in bad:
        with pytest.raises(ValidationError):
            kind.model_validate_json(json.dumps(each))


def test_two_hundred_votes_at_once_and_no_more():
    vote = {"id": "x", "question": 0, "outcome": 1.0}
    forms.VotesIn.model_validate_json(json.dumps({"votes": [vote] * 200}))
    for count in (0, 201):
        with pytest.raises(ValidationError):
            forms.VotesIn.model_validate_json(json.dumps({"votes": [vote] * count}))


# ---- who a visitor is -----------------------------------------------------------------------------------------------


def asked(room, headers=(), client=("9.9.9.9", 1), **more):
    rows = [(name.encode(), value.encode()) for name, value in dict(headers).items()]
    return Request({"type": "http", "method": "GET", "path": "/", "query_string": b"", "headers": rows, "app": room.app,
                    "client": client, **more})  # fmt: skip


def test_where_a_request_comes_from(room):
    said = {"x-forwarded-for": "1.1.1.1, 2.2.2.2 "}
    assert session.address_of(asked(room, said)) == "9.9.9.9"
    assert session.address_of(asked(room, client=None)) == "nowhere"
    room.app.state.podium.behind_proxy = True
    assert session.address_of(asked(room, said)) == "2.2.2.2"
    assert session.address_of(asked(room)) == "9.9.9.9"


def test_a_secret_in_a_header(room):
    for given, token in (("Bearer abc", "abc"), ("bearer  abc ", "abc"), ("Basic abc", None), ("Bearer", None),
                         ("Bearer  ", None)):  # fmt: skip
        assert session.bearer(asked(room, {"authorization": given})) == token
    assert session.bearer(asked(room)) is None


def test_cookies_last_ninety_days_and_are_taken_back(room):
    state = room.app.state.podium
    response = Response()
    session.enter(state, response, "judge", "secret")
    cookie = response.headers["set-cookie"]
    for part in ("podium-judge=secret", "HttpOnly", "Max-Age=7776000", "Path=/", "SameSite=lax"):
        assert part in cookie
    assert "Secure" not in cookie
    gone = Response()
    session.leave(state, gone)
    names = [value.decode().partition("=")[0] for name, value in gone.raw_headers if name == b"set-cookie"]
    assert names == ["podium-judge", "podium-organiser", "podium-operator"]
    assert all(b"Max-Age=0" in value for name, value in gone.raw_headers if name == b"set-cookie")


def test_whose_a_secret_is(room):
    state = room.app.state.podium

    def find(token, operator=None):
        return room.store.read(lambda reader: session.find(reader, token, operator))

    judge, organiser = find(room.judge_token), find(room.organiser_token)
    assert (judge.role, judge.campaign, judge.judge) == ("judge", room.campaign, room.judge_id)
    assert (organiser.role, organiser.campaign) == ("organiser", room.campaign)
    assert find(OPERATOR) is None
    assert find(OPERATOR, state.operator_hash).role == "operator"
    assert find("x", state.operator_hash) is None


def test_who_somebody_is_is_remembered_for_a_moment(room, monkeypatch):
    state, clock = room.app.state.podium, [100.0]
    state.clock, looked = (lambda: clock[0]), []
    read = state.read

    async def counted(job):
        looked.append(1)
        return await read(job)

    monkeypatch.setattr(state, "read", counted)

    def who():
        return asyncio.run(session.who_is(asked(room), room.judge_token))

    assert who() == who()
    assert len(looked) == 1
    clock[0] += 20.0
    who()
    assert len(looked) == 2
    monkeypatch.setattr(session, "MOST_KNOWN", 1)
    asyncio.run(session.who_is(asked(room), room.organiser_token))
    assert len(state.known) == 1
    with pytest.raises(RefusedError, match="this link is not known; ask for a new one"):
        asyncio.run(session.who_is(asked(room), "wrong"))


def test_a_link_of_another_role_is_refused_in_words(room):
    answer = room.visitor().get("/api/v1/campaigns", headers={"Authorization": f"Bearer {room.judge_token}"})
    assert answer.json()["message"] == "this needs the link of an organiser; open that one"
    answer = room.visitor().get("/api/v1/next", headers={"Authorization": f"Bearer {room.organiser_token}"})
    assert answer.json()["message"] == "this needs the link of a judge; open that one"
    nobody = room.visitor().get("/api/v1/next")
    assert nobody.json()["message"] == "nobody is known here; open your link again"
    elsewhere = room.organiser.get(f"/api/v1/campaigns/{room.campaign + 1}")
    assert elsewhere.json()["code"] == "unknown-campaign"


# ---- what may not come in -------------------------------------------------------------------------------------------


def guarded(headers, method="POST", body=b"", path="/api/v1/x", kind="http"):
    sent, reached = [], []

    async def inner(scope, receive, send):
        reached.append((await receive())["body"] if kind == "http" else scope["type"])
        await send({"type": "http.response.start", "status": 200, "headers": [(b"X-Own", b"1")]})

    async def receive():
        return {"type": "http.request", "body": body}

    async def send(message):
        sent.append(message)

    rows = [(name.encode(), value.encode()) for name, value in headers.items()]
    scope = {"type": kind, "method": method, "path": path, "headers": rows}
    asyncio.run(Guard(inner)(scope, receive, send))
    return sent, reached


OURS = {"X-Podium": "1", "Content-Type": "application/json", "Host": "here"}


@pytest.mark.parametrize(
    ("headers", "method", "words"),
    [
        ({}, "GET", None), ({}, "HEAD", None), ({}, "OPTIONS", None), (OURS, "POST", None),
        ({"content-type": "application/json"}, "POST", "needs the header X-Podium"),
        ({"x-podium": "1"}, "POST", "is JSON, or multipart for uploads"), ({"x-podium": "1"}, "DELETE", None),
        ({"x-podium": "1", "content-type": "text/plain"}, "DELETE", "is JSON, or multipart"),
        (OURS | {"Content-Type": "application/json; charset=utf-8"}, "PATCH", None),
        (OURS | {"Content-Type": "multipart/form-data; boundary=x"}, "POST", None),
        (OURS | {"Content-Type": "text/plain"}, "POST", "is JSON, or multipart"),
        (OURS | {"Origin": "https://here"}, "POST", None),
        (OURS | {"Origin": "https://there"}, "POST", "of another page"),
    ],
)  # fmt: skip
def test_what_changes_something_comes_from_our_pages(headers, method, words):
    sent, reached = guarded(headers, method)
    if words is None:
        assert len(reached) == 1
        assert sent[0]["status"] == 200
    else:
        assert reached == []
        assert sent[0]["status"] == 403
        assert words in json.loads(sent[1]["body"])["message"]
        assert dict(sent[0]["headers"])[b"content-length"] == str(len(sent[1]["body"])).encode()
    assert {b"content-security-policy", b"x-content-type-options", b"referrer-policy"} <= {
        n for n, _ in sent[0]["headers"]
    }


def test_bodies_end_where_they_should():
    assert guarded(OURS, body=b"x" * 64_000)[1]
    with pytest.raises(HTTPException) as large:
        guarded(OURS, body=b"x" * 64_001)
    assert (large.value.status_code, large.value.detail) == (413, "a request has at most 64,000 bytes; send less")
    upload = OURS | {"Content-Type": "multipart/form-data; boundary=x"}
    assert guarded(upload | {"Content-Length": "10100000"})[1]
    sent, reached = guarded(upload | {"Content-Length": "10100001"})
    assert (sent[0]["status"], reached) == (413, [])
    assert json.loads(sent[1]["body"])["code"] == "too-large"
    assert guarded(OURS | {"Content-Length": "64000"})[1]
    assert guarded(OURS | {"Content-Length": "64001"})[1] == []
    assert guarded(OURS | {"Content-Length": "many"})[1]
    assert guarded({}, kind="websocket")[1] == ["websocket"]


def test_what_is_anybody_s_own_is_not_stored():
    for path, kept in (("/api/v1/x", True), ("/o/live", True), ("/j", True), ("/static/x", False), ("/", False)):
        headers = dict(guarded({}, "GET", path=path)[0][0]["headers"])
        assert (headers.get(b"cache-control") == b"no-store") == kept
    assert dict(guarded({}, "GET")[0][0]["headers"])[b"X-Own"] == b"1"


# ---- the organiser's API --------------------------------------------------------------------------------------------


def test_what_an_organiser_is_told_holds_no_hash():
    deep = {"texts": {"open_link": {"hash": "x", "most": 3}}, "hash": "y", "rows": [1]}
    assert organising._public(deep) == {"texts": {"open_link": {"most": 3}}, "rows": [1]}
    assert organising._share(None) is None
    assert organising._share(Share(0.5, 0.1, 0.9, 4, 0.0, 1.0))["count"] == 4


def test_words_for_pages_are_merged_one_by_one(room):
    campaign = room.store.read(lambda reader: reader.campaign(room.campaign))
    there = type(campaign)(**{name: getattr(campaign, name) for name in campaign.__slots__} | {
        "options": {"texts": {"consent": "a", "other": "b"}}})  # fmt: skip
    assert organising._merged(there, {"ties": False}) == {"ties": False}
    changed = organising._merged(there, {"ties": False, "texts": {"consent": None, "new": "c"}})
    assert changed == {"ties": False, "texts": {"other": "b", "new": "c"}}
    for bad in ([], {"open_link": {}}):
        with pytest.raises(InputError, match="texts holds words for the pages"):
            organising._merged(there, {"texts": bad})


def test_a_summary_in_numbers(room):
    state = room.app.state.podium

    def summary(left=9, came=10, **more):
        return organising.summary_of(state, stands(**more), left, came, 1000)

    found = summary()
    assert found["stable_at"] == 1000 + 50 * DAY // 10
    assert (found["position"], found["votes"], found["votes_today"], found["pairs_left"]) == ([100, 1], 100, 10, 9)
    assert (found["width"], found["trouble"], found["level"]) == (3.0, None, 0.9)
    assert summary(came=100)["stable_at"] is None  # all of them came today
    assert summary(left=0)["stable_at"] is None
    far = summary(until_stable_upper=1001)
    assert (found["far"], far["far"], far["stable_at"]) == (False, True, None)  # more than ten times the votes
    assert summary(places=0)["width"] is None
    state.planning.trouble = "no plan"
    assert summary()["trouble"] == "no plan"
    state.trouble = "no disk"
    assert summary()["trouble"] == "no disk"


def test_an_organiser_sees_items_judges_and_what_happened(room):
    there = room.organiser
    rows = there.get(f"{room.at}/items").json()
    assert rows[0] == {"label": "a", "kind": "text", "preview": "This is a.", "words": 3, "code": 0, "withdrawn": False}
    one = there.get(f"{room.at}/items/1").json()
    assert (one["label"], one["withdrawn"], one["html"]) == ("b", False, "<p>This is b.</p>")
    assert there.get(f"{room.at}/items/99").json()["code"] == "unknown-item"
    assert there.patch(f"{room.at}/items/1", json={"withdrawn": True}).json() == {"withdrawn": True}
    assert there.get(f"{room.at}/items").json()[1]["withdrawn"]
    (ann,) = there.get(f"{room.at}/judges").json()
    assert (ann["name"], ann["kind"], ann["state"], ann["conflicts"], ann["target"]) == (
        "Ann",
        "person",
        "active",
        [],
        None,
    )
    (new,) = there.post(f"{room.at}/judges", json={"names": ["Bob"], "target": 7}).json()
    assert (new["target"], new["link"].startswith(f"{URL}/j#")) == (7, True)
    changed = there.patch(
        f"{room.at}/judges/{new['id']}", json={"name": "Rob", "conflicts": [2], "state": "revoked"}
    ).json()
    assert (changed["name"], changed["conflicts"], changed["state"]) == ("Rob", [2], "revoked")
    events = there.get(f"{room.at}/events").json()
    assert {"seq", "at", "who", "verb", "data"} == set(events[0])
    after = there.get(f"{room.at}/events?after={events[2]['seq']}").json()
    assert after == events[3:]
    (card,) = there.get("/api/v1/campaigns").json()
    assert (card["title"], card["question"], card["state"], card["version"]) == (
        "Letters",
        "Which is better?",
        "open",
        1,
    )
    assert there.get(f"{room.at}/judges/99/without").json()["code"] == "unknown-judge"


def test_the_page_of_a_judge_and_that_of_trying_it_say_which_they_are(room):
    judging, trying = room.judge.get("/j").text, room.organiser.get("/o/try").text
    assert 'data-trying=""' in judging
    assert 'data-source="/api/v1/next"' in judging
    assert 'href="/j/history"' in judging
    assert 'data-trying="1"' in trying
    assert f'data-source="/api/v1/campaigns/{room.campaign}/try"' in trying
    assert 'href="/o/setup"' in trying
    assert 'href="/j/history"' not in trying


def test_trying_shows_three_pairs_of_items_that_are_shown(room):
    room.store.write(room.campaign, lambda writer: setup.withdraw(writer, 0, 1))
    said = room.organiser.get(f"{room.at}/try").json()
    assert [(each["id"], each["left"]["html"], each["right"]["html"]) for each in said["questions"]] == [
        (1, "<p>This is b.</p>", "<p>This is c.</p>"), (2, "<p>This is d.</p>", "<p>This is e.</p>"),
        (3, "<p>This is f.</p>", "<p>This is g.</p>")]  # fmt: skip
    assert (said["why"], said["answered"], said["target"], said["judge"], said["who"]) == (
        None,
        0,
        3,
        "you",
        "try-letters",
    )


def upload(name, data):
    return {"file": (name, io.BytesIO(data), "text/csv")}


def test_uploads_are_named_as_the_user_does(room, monkeypatch):
    there = room.operator
    found = there.post(
        "/api/v1/preview", files=upload("my.csv", b"id,text\n" + b"".join(b"%d,x y\n" % k for k in range(25)))
    )
    assert (found.json()["items"], len(found.json()["rows"])) == (25, 20)
    assert (found.json()["rows"][0]["words"], found.json()["labels_alone"]) == (2, False)
    named = there.post("/api/v1/preview", files=upload("my.csv", b"Name,Essay\nZoe,x\nTom,y\n")).json()
    assert (named["rows"][0]["preview"], named["labels_alone"]) == ("Zoe", True)
    bad = there.post("/api/v1/preview", files=upload("my.csv", b"id,text\na,\n")).json()["message"]
    assert bad.startswith("my.csv: row 1: the text of 'a' is empty")
    assert "give a table (.csv, .jsonl, .parquet) or a .zip" in there.post(
        "/api/v1/preview", files=upload("my.doc", b"x")).json()["message"]  # fmt: skip
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w") as archive:
        archive.writestr("a.txt", "one")
        archive.writestr("b.txt", "two")
    assert there.post("/api/v1/preview", files=upload("my.ZIP", whole.getvalue())).json()["items"] == 2
    monkeypatch.setattr(organising, "MOST_UNPACKED", 5)
    large = there.post("/api/v1/preview", files=upload("my.zip", whole.getvalue())).json()["message"]
    assert large == "my.zip unpacks to more than 5 bytes; send fewer files at a time"
    broken = there.post("/api/v1/preview", files=upload("my.zip", b"PK")).json()["message"]
    assert broken.startswith("my.zip cannot be unpacked (")


def test_exports_are_named_by_campaign_and_form(room):
    room.store.write(
        room.campaign, lambda w: w.append_votes([Vote(room.judge_id, str(k), k, k + 1, 1.0) for k in range(6)])
    )
    there = room.organiser
    for what, form, name, kind in (
        ("votes", "csv", "letters-votes.csv", "text/csv"), ("votes", "parquet", "letters-votes.parquet", "parquet"),
        ("ranking", "jsonl", "letters-ranking.jsonl", "application/jsonl"),
        ("journal", "csv", "letters-journal.jsonl", "jsonl"),
        ("report", "csv", "letters-report.html", "text/html"), ("all", "csv", "letters-all.zip", "application/zip"),
    ):  # fmt: skip
        answer = there.get(f"{room.at}/export/{what}?form={form}")
        assert name in answer.headers["content-disposition"]
        assert kind in answer.headers["content-type"]
        assert answer.content


def test_a_failed_export_leaves_no_file_behind(room, monkeypatch, tmp_path):
    monkeypatch.setattr(organising.tempfile, "tempdir", str(tmp_path))
    with pytest.raises(InputError, match="no votes that count yet"):
        organising._export(room.app.state.podium, room.campaign, "report", "csv")
    assert list(tmp_path.glob("*.html")) == []
    path, name, kind = organising._export(room.app.state.podium, room.campaign, "votes", "jsonl")
    assert (Path(path).parent, name, kind) == (tmp_path, "letters-votes.jsonl", "application/jsonl")


# ---- errors in words ------------------------------------------------------------------------------------------------


def test_errors_have_a_status_a_code_and_words(room):
    request = asked(room, path="/api/v1/x")

    def worded(problem):
        return app._worded(request, problem)

    assert worded(TooManyError(7.4, "slow down")) == (429, "too-often", "slow down", 7.4)
    assert worded(UnavailableError("no disk")) == (503, "unavailable", "no disk", 5)
    assert room.app.state.podium.trouble == "no disk"
    assert worded(InputError("bad; mend it")) == (422, "bad-input", "bad; mend it", 0)
    assert worded(RefusedError("strange", "no"))[:2] == (409, "strange")
    assert worded(HTTPException(404)) == (404, "no-page", "there is no such page", 0)
    assert worded(HTTPException(405)) == (405, "no-page", "this address takes no such request", 0)
    assert worded(HTTPException(413, "less")) == (413, "too-large", "less", 0)
    there = room.judge
    assert there.get("/api/v1/nothing").json() == {"code": "no-page", "message": "there is no such page", "field": None}
    bad = there.post("/api/v1/undo", json={"id": "a"}).json()
    assert (bad["code"], bad["field"]) == ("bad-request", "of")
    assert bad["message"].startswith("of: ")
    page = there.get("/nothing")
    assert (page.status_code, "Not found" in page.text) == (404, True)
    late = pages.problem_page(request, 418, "strange", "odd words", {"Retry-After": "5"})
    assert b"Not possible" in late.body
    assert b"Odd words." in late.body
    assert late.headers["retry-after"] == "5"
    assert b"This link is not known" in pages.problem_page(request, 401, "unknown-token", "x", {}).body


def test_waiting_is_told_in_whole_seconds(room):
    for wait, told_so in ((0.2, "1"), (7.6, "8"), (60.0, "60")):
        answer = asyncio.run(app._answer(asked(room, path="/api/v1/x"), TooManyError(wait, "slow")))
        assert answer.headers["retry-after"] == told_so
    assert "retry-after" not in asyncio.run(app._answer(asked(room, path="/api/v1/x"), InputError("x"))).headers


# ---- a judge's API --------------------------------------------------------------------------------------------------


def test_what_a_judge_is_told(store):
    room = new_room(store, target=2, texts={"completion": {"code": "C7"}, "consent": "**Yes**"}, ties=False)
    there = room.judge
    said = there.get("/api/v1/next?k=2").json()
    assert len(said["questions"]) == 2
    assert (said["judge"], said["who"], said["why"], said["ties"]) == ("Ann", f"letters-{room.judge_id}", None, False)
    assert (said["answered"], said["target"], said["completion"], said["version"]) == (0, 2, None, 1)
    card = said["campaign"]
    assert (card["title"], card["ties"], card["comprehension"]) == ("Letters", False, None)
    assert card["consent"] == "<p><strong>Yes</strong></p>\n"
    for k in range(2):
        question = there.get("/api/v1/next").json()["questions"][0]["id"]
        said = there.post(
            "/api/v1/votes", json={"votes": [{"id": f"v{k}", "question": question, "outcome": 1.0}]}
        ).json()
        assert said["receipts"] == [{"id": f"v{k}", "status": "stored", "code": None, "message": None}]
    assert (said["answered"], said["completion"]) == (2, {"code": "C7"})
    undone = there.post("/api/v1/undo", json={"id": "u", "of": "v1"}).json()
    assert (undone["receipt"], undone["answered"], undone["completion"]) == ({"id": "u", "status": "stored"}, 1, None)
    history = there.get("/api/v1/history").json()
    assert [(each["id"], each["outcome"], each["left_media"]) for each in history] == [("v0", 1.0, None)]
    assert history[0]["left"].startswith("This is ")
    assert there.get("/api/v1/history?limit=0").status_code == 422
    assert there.get("/api/v1/next?k=11").status_code == 422
    gone = there.post("/api/v1/reports", json={"question": 999, "side": "left", "reason": "broken"}).json()
    assert (gone["code"], gone["message"]) == ("not-given", "pair 999 was not given to you")
    assert there.delete("/api/v1/session").json() == {"left": True}
    assert there.get("/api/v1/next").status_code == 401


def test_reports_name_the_side_that_is_broken(room):
    there = room.judge
    question = there.get("/api/v1/next").json()["questions"][0]
    given = room.store.read(lambda reader: reader.question(room.campaign, question["id"]))
    for side, code in (("left", given.left), ("right", given.right)):
        body = {"question": question["id"], "side": side, "reason": "broken"}
        assert there.post("/api/v1/reports", json=body).json() == {"reported": True}
        events = room.store.read(lambda reader: reader.events(room.campaign))
        assert events[-1].data["item"] == code


@pytest.mark.parametrize(("ms", "first"), [(2000, "2\N{NO-BREAK SPACE}s a pair, "), (None, "")])
def test_a_judge_on_a_narrow_screen_begins_with_what_is_known(room, ms, first):
    votes = [Vote(room.judge_id, str(k), k % 7, 7, float(k % 2), ms=ms) for k in range(14)]
    room.store.write(room.campaign, lambda w: w.append_votes(votes))
    page = room.organiser.get("/o/judges").text
    assert f'short-only">{first}50\N{NO-BREAK SPACE}% left</span>' in page
    assert not re.search(r"\d %", page), "a number and its sign stay on one line"


def test_pages_of_an_organiser_show_what_there_is(room):
    room.store.write(room.campaign, lambda w: w.append_votes(
        [Vote(room.judge_id, str(k), k % 7, 7, 1.0, ms=2000) for k in range(14)]))  # fmt: skip
    there = room.organiser
    assert "This is a." in there.get("/o/setup").text
    assert "Ann" in there.get("/o/people").text
    assert "never" in there.get("/o/people").text
    assert "Ann" in there.get("/o/judges").text
    assert "Ann" in there.get(f"/o/judges/{room.judge_id}").text
    assert "This is b." in there.get("/o/items/1").text
    assert there.get("/o/items/99").status_code == 404
    assert there.get("/o/export").status_code == 200
    assert f"/api/v1/campaigns/{room.campaign}/try" in there.get("/o/try").text
    assert "/api/v1/next" in room.visitor().get("/j").text
    assert there.get("/o").text != there.get("/o?new").text
    assert room.operator.get("/new").text != room.visitor().get("/new").text
    assert room.operator.get("/new/campaign").status_code == 200
    assert "<" in there.get("/docs").text
    assert "/api/v1/votes" in there.get("/docs").text


def test_numbers_in_an_address_are_those_a_database_holds(room):
    there = room.organiser
    for path in (
        "campaigns/{}",
        f"campaigns/{room.campaign}/items/{{}}",
        f"campaigns/{room.campaign}/judges/{{}}/without",
    ):
        assert there.get(f"/api/v1/{path.format(2**31 - 1)}").status_code == 404
        assert there.get(f"/api/v1/{path.format(2**31)}").status_code == 422
        assert there.get(f"/api/v1/{path.format(-1)}").status_code == 422
    assert there.get(f"{room.at}/events?after={2**53}").status_code == 200
    assert there.get(f"{room.at}/events?after={2**53 + 1}").status_code == 422
