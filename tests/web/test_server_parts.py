"""The server piece by piece: what is remembered and written together, who gets in how, each answer of the API."""

import asyncio
import io
import json
import logging
import tempfile
import threading
import time
import types
import zipfile

import pytest
from fastapi.exceptions import RequestValidationError
from pydantic import ValidationError
from starlette.requests import Request
from starlette.responses import Response
from starlette.testclient import TestClient

from podium._version import __version__
from podium.active.bands import TYPICAL
from podium.campaign import setup
from podium.campaign.judges import without_judge
from podium.campaign.standing import standing
from podium.campaign.tokens import hash_of
from podium.errors import ConvergenceError, InputError, RefusedError, UnavailableError
from podium.store.values import Event, Item, Media, Question, Vote
from podium.web import app, content, figures, forms, guard, judging, organising, session
from podium.web.app import make_app
from podium.web.content import Shelf, markdown, media_headers
from podium.web.limits import Rate, TooManyError
from podium.web.quick import Quick, _again, _whole
from podium.web.state import State, Who

from web.rooms import OPERATOR, URL, new_room
from web.test_parts import OURS, asked, guarded, shown_pairs, stands, told, upload

DAY = 86_400_000


def events(room, verb):
    return [each for each in room.store.read(lambda reader: reader.events(room.campaign)) if each.verb == verb]


# ---- the application ---------------------------------------------------------------------------------------------


def test_an_app_knows_its_address_its_operator_and_its_proxy(store):
    plain = make_app(store).state.podium
    assert (plain.url, plain.operator_hash, plain.behind_proxy, plain.store) == (
        "http://127.0.0.1:8000", None, False, store,
    )  # fmt: skip
    told = make_app(store, url="https://x.org//", operator_hash="abc", behind_proxy=True).state.podium
    assert (told.url, told.operator_hash, told.behind_proxy, told.secure) == ("https://x.org", "abc", True, True)
    assert not plain.secure


def test_the_description_of_the_api_names_every_way_to_fail(room):
    said = room.visitor().get("/api/v1/openapi.json").json()
    assert said["info"] == {
        "title": "Podium", "version": __version__, "summary": "Campaigns in which people judge pairs.",
    }  # fmt: skip
    answers = said["paths"]["/api/v1/votes"]["post"]["responses"]
    assert {"400", "401", "403", "404", "405", "409", "413", "422", "429", "503"} <= set(answers)
    for status in ("401", "503"):
        assert answers[status]["content"]["application/json"]["schema"] == {"$ref": "#/components/schemas/Problem"}
    assert answers["409"]["description"] == "It contradicts what is stored."
    assert not any(path.startswith(("/o", "/j", "/media")) for path in said["paths"])
    tags = [said["paths"][path][way]["tags"] for path, way in (("/api/v1/votes", "post"), ("/api/v1/preview", "post"))]
    assert tags == [["judge"], ["organiser"]]
    assert "a table: CSV, JSON Lines or Parquet" in json.dumps(said["components"]["schemas"])
    assert room.visitor().get("/redoc").status_code == 404
    assert room.visitor().get("/openapi.json").status_code == 404
    assert room.visitor().get("/static/app.css").status_code == 200


def test_planning_runs_beside_the_app_each_time_it_is_started(room):
    state = room.app.state.podium
    before = state.planning
    for _ in range(2):
        with TestClient(room.app):
            mine = state.planning
            assert mine is not before
            assert mine._thread.is_alive()
        assert not mine._thread.is_alive()
        before = mine


@pytest.mark.parametrize(
    ("code", "status"),
    [("no-session", 401), ("unknown-token", 401), ("revoked", 403), ("closed", 403), ("draft", 403), ("full", 403),
     ("unknown-campaign", 404), ("unknown-judge", 404), ("unknown-item", 404), ("unknown-vote", 404),
     ("too-many", 413), ("conflict", 409)],
)  # fmt: skip
def test_each_refusal_has_its_status(room, code, status):
    assert app._worded(asked(room), RefusedError(code, "words")) == (status, code, "words", 0)


def test_what_does_not_converge_is_the_input_s_fault(room):
    assert app._worded(asked(room), ConvergenceError("no optimum; raise l2")) == (
        422, "bad-input", "no optimum; raise l2", 0,
    )  # fmt: skip


def test_a_body_in_another_form_is_told_by_its_field(room):
    deep = RequestValidationError([{"type": "missing", "loc": ("body", "votes", 0, "id"), "msg": "Field required"}])
    assert app._worded(asked(room), deep) == (422, "bad-request", "votes.0.id: Field required", 0)
    assert app._field(deep) == "votes.0.id"
    whole = RequestValidationError([{"type": "missing", "loc": ("body",), "msg": "Field required"}])
    assert (app._worded(asked(room), whole)[2], app._field(whole)) == (": Field required", None)
    broken = RequestValidationError([{"type": "json_invalid", "loc": ("body", 7), "msg": "x"}])
    assert app._worded(asked(room), broken) == (
        422, "bad-request", "the request is no JSON from character 7 on; send JSON", 0,
    )  # fmt: skip
    assert app._field(broken) is None
    assert app._field(InputError("x")) is None


def test_what_fails_unforeseen_is_in_the_log_with_where_it_failed(room, caplog):
    problem = ZeroDivisionError("inner")
    with caplog.at_level(logging.ERROR):
        said = app._worded(asked(room, path="/api/v1/x"), problem)
    assert said == (500, "failed", "something went wrong here; it was noted, and votes already made are safe", 0)
    (record,) = caplog.records
    assert (record.getMessage(), record.exc_info[1], record.name) == ("GET /api/v1/x failed", problem, "podium.web.app")


def test_programs_get_json_and_people_a_page(room):
    for path, kind in (("/api/v1/x", "application/json"), ("/o/x", "text/html; charset=utf-8"), ("/apix", "text/html; charset=utf-8")):  # fmt: skip  # noqa: E501
        answer = asyncio.run(app._answer(asked(room, path=path), RefusedError("full", "no more")))
        assert (answer.status_code, answer.headers["content-type"]) == (403, kind)
    away = asyncio.run(app._answer(asked(room, path="/o/x"), UnavailableError("no disk; wait")))
    assert (away.status_code, away.headers["retry-after"]) == (503, "5")


# ---- what is shown -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("[a](https://x.org)", '<p><a href="https://x.org" rel="noopener noreferrer nofollow">a</a></p>\n'),
        ("[a](http://x.org)", '<p><a rel="noopener noreferrer nofollow">a</a></p>\n'),
        ("![a](https://x.org/i.png)", "<p></p>\n"), ("~~a~~", "<p><s>a</s></p>\n"), ("https://x.org", "<p>https://x.org</p>\n"),
        ("|a|\n|-|\n|b|", "<table>\n<thead>\n<tr>\n<th>a</th>\n</tr>\n</thead>\n<tbody>\n<tr>\n<td>b</td>\n</tr>\n</tbody>\n</table>\n"),  # noqa: E501
        ("<b>a</b>", "<p>&lt;b&gt;a&lt;/b&gt;</p>\n"), ("# a\n- b", "<h1>a</h1>\n<ul>\n<li>b</li>\n</ul>\n"),
    ],
)  # fmt: skip
def test_markdown_by_hand(text, html):
    assert markdown(text) == html


def test_headers_of_each_kind_of_file_in_full():
    common = {"Cache-Control": "private, max-age=31536000, immutable", "X-Content-Type-Options": "nosniff"}
    closed = {"Content-Security-Policy": "default-src 'none'; sandbox"}
    assert media_headers(Media("a", "text/html", b"")) == common | {"Content-Security-Policy": content.SANDBOX}
    assert media_headers(Media("a", "image/webp", b"")) == common | closed
    assert media_headers(Media("a", "image/svg+xml", b"")) == common | closed | {"Content-Disposition": "attachment"}


def test_a_shelf_holds_json_as_short_as_it_can_be_and_twenty_thousand_items():
    shelf = Shelf()
    shelf.put(1, {0: Item(0, "ä")})
    assert shelf.get(1, 0) == '{"kind":"text","html":"<p>ä</p>","media":null}'
    assert shelf.most == 20_000


def test_cells_of_many_pairs_by_how_many_of_them_were_asked():
    """61 items fold by two: a cell holds four pairs; a quarter of them is little, all of them no more than much."""
    rows = [(0, 1)] * 2 + [(0, 2)] + [(0, 4), (1, 5)] + [(0, 6), (1, 6), (0, 7), (1, 7)] + [(0, 8)] * 5 + [(2, 3)]
    found = figures.coverage(*shown_pairs(61, rows))
    place = [round(100 * k / 31, 2) for k in range(31)]
    assert set(found["cells"]) == {
        (place[0], place[0], 3), (place[0], place[1], 1), (place[0], place[2], 2), (place[0], place[3], 2),
        (place[0], place[4], 3), (place[1], place[1], 2),
    }  # fmt: skip
    assert (found["asked"], found["fewest"], found["most"]) == (10, 0, 11)
    thirds = figures.coverage(*shown_pairs(121, [(0, 1), (0, 2), (1, 2), (3, 4), (3, 4), (3, 5), (4, 5)]))
    assert [level for _, _, level in thirds["cells"]] == [2, 3]  # three votes on three pairs, and four


def test_two_items_have_one_pair():
    found = figures.coverage(*shown_pairs(2, [(0, 1)]))
    assert (found["cells"], found["pairs"], found["size"]) == ([(0.0, 50.0, 1)], 1, 43.0)


def test_a_typical_band_may_cover_a_share_of_the_other_places():
    assert figures.goal_width(11) == pytest.approx(10 * TYPICAL)
    assert figures.goal_width(1) == 0.0


STEPS = [1.2, 1.5, 1.8, 2.4, 3.0, 3.6, 4.8, 6.0, 7.2, 9.0, 12.0]


@pytest.mark.parametrize("scale", [0.01, 1.0, 1000.0])
def test_every_number_goes_up_to_the_next_that_divides_well(scale):
    for below, step in zip([1.0, *STEPS[:-1]], STEPS, strict=True):
        assert figures._round_up(scale * (below + step) / 2) == pytest.approx(scale * step)


@pytest.mark.parametrize(
    ("votes", "width", "across", "up"), [(120, 3.6, 150, 4.8), (110, 3.3, 120, 3.6), (117, 3.43, 120, 4.8)]
)
def test_there_is_a_little_room_beyond_the_last_point(votes, width, across, up):
    """Two in a hundred for votes, five for widths: 122.4 goes up to 150, and 3.78 to 4.8."""
    found = figures.curve([told(50, width)], stands(votes=votes, width=1.0, stable=True), 5)
    place, label = found.across[-1]
    assert 310 * int(label) / (place - 30) == pytest.approx(across, rel=1e-3), "votes at the right end"
    assert float(found.up[-1][1]) == pytest.approx(up)


def test_a_forecast_of_one_vote_is_drawn():
    found = figures.curve([told(50, 4.0)], stands(until_stable=1, until_stable_upper=1), 1)
    assert found.forecast[0] == found.forecast[1]
    assert found.forecast[0][0] == round(30 + 310 * 101 / 120, 1)


# ---- forms -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "good", "bad"),
    [
        (forms.JudgeChange, {"conflicts": [2**31 - 1]}, {"conflicts": [2**31]}),
        (forms.JudgeChange, {"conflicts": [1] * 100_000}, {"conflicts": [1] * 100_001}),
        (forms.JudgeChange, {"name": "x"}, {"name": "x" * 201}),
        (forms.NewJudges, {"names": ["x"], "target": 2**31 - 1}, {"names": ["x"], "target": 2**31}),
        (forms.UndoIn, {"id": "a" * 100, "of": "b" * 100}, {"id": "a", "of": "b" * 101}),
        (forms.CampaignChange, {"options": {"ties": True}}, {"options": []}),
        (forms.ReportIn, {"question": 2**31 - 1, "side": "right", "reason": "missing"},
         {"question": 2**31, "side": "right", "reason": "missing"}),
        (forms.VoteIn, {"id": "x", "question": 0, "outcome": 1.0}, {"id": "x", "question": 0}),
        (forms.VoteIn, {"id": "x", "question": 0, "outcome": 0.0, "ms": 0},
         {"id": "x", "question": 0, "outcome": 0.0, "ms": 0.5}),
        (forms.OpenLink, {"most": 1}, {"most": 1, "parameter": "ä"}),
    ],
)  # fmt: skip
def test_more_bodies_end_where_they_say(kind, good, bad):
    kind.model_validate_json(json.dumps(good))
    with pytest.raises(ValidationError):
        kind.model_validate_json(json.dumps(bad))


def test_what_a_body_does_not_say_is_nothing():
    assert forms.Entry(token="x").parameters == {}
    vote = forms.VoteIn(id="x", question=1, outcome=None)
    assert (vote.reason, vote.ms, vote.version) == (None, None, None)
    change = forms.CampaignChange()
    assert set(change.model_dump().values()) == {None}
    assert set(forms.JudgeChange().model_dump().values()) == {None}
    assert (forms.NewJudges(names=["x"]).target, forms.OpenLink(most=1).parameter) == (None, None)
    assert forms.Problem(code="c", message="m").field is None


# ---- around every request ----------------------------------------------------------------------------------------


def test_headers_that_an_answer_has_itself_are_kept():
    async def inner(scope, receive, send):
        await send({"type": "http.response.start", "status": 201, "headers": [
            (b"Content-Security-Policy", b"own"), (b"Cache-Control", b"private")]})  # fmt: skip
        await send({"type": "http.response.body", "body": b"x"})

    sent = []

    async def send(message):
        sent.append(message)

    scope = {"type": "http", "method": "GET", "path": "/api/x", "headers": []}
    asyncio.run(guard.Guard(inner)(scope, None, send))
    start, body = sent
    assert (start["status"], body) == (201, {"type": "http.response.body", "body": b"x"})
    assert start["headers"] == [
        (b"Content-Security-Policy", b"own"), (b"Cache-Control", b"private"),
        *((name, value) for name, value in guard.HEADERS.items() if name != b"content-security-policy"),
    ]  # fmt: skip


def test_a_body_that_comes_in_parts_is_added_up():
    def sent(*parts):
        rest, seen = list(parts), []

        async def inner(scope, receive, send):
            seen.extend([await receive() for _ in parts])

        async def receive():
            return {"type": "http.request", "body": rest.pop(0)}

        rows = [(name.lower().encode(), value.encode()) for name, value in OURS.items()]
        scope = {"type": "http", "method": "POST", "path": "/api/x", "headers": rows}
        asyncio.run(guard.Guard(inner)(scope, receive, None))
        return [each["body"] for each in seen]

    assert sent(b"a" * 60_000, b"b" * 4_000) == [b"a" * 60_000, b"b" * 4_000]
    with pytest.raises(guard.HTTPException):
        sent(b"a" * 60_000, b"b" * 4_001)


def test_a_refusal_at_the_gate_is_json_with_code_and_words():
    sent, _ = guarded({}, "POST")
    assert dict(sent[0]["headers"])[b"content-type"] == b"application/json"
    assert sent[1]["type"] == "http.response.body"
    assert json.loads(sent[1]["body"]) == {
        "code": "forged", "message": "a request that changes something needs the header X-Podium",
    }  # fmt: skip
    large, _ = guarded(OURS | {"Content-Length": "64001"})
    assert large[0]["status"] == 413
    assert json.loads(large[1]["body"]) == {
        "code": "too-large", "message": "a request has at most 64,000 bytes; send less",
    }  # fmt: skip
    upload_too = guarded(OURS | {"Content-Type": "multipart/form-data; boundary=x", "Content-Length": "10100001"})[0]
    assert json.loads(upload_too[1]["body"])["message"] == "a request has at most 10,100,000 bytes; send less"


# ---- the short way -----------------------------------------------------------------------------------------------


def quick(room, monkeypatch, method="GET", path="/api/v1/next", kind="application/json", messages=(), **more):
    """Which way a request goes, and what the long way gets to read."""
    went, sent, rest = [], [], list(messages)

    async def long(scope, receive, send):
        went.append(("long", [(await receive()).get("body") for _ in messages]))

    async def hand_of(state, who):
        went.append(("next", state is room.app.state.podium, who))
        return b"{}"

    async def voted(state, who, votes):
        went.append(("votes", [each.id for each in votes.votes], who))
        return b"[1]"

    async def judge_here(request):
        return "who"

    async def receive():
        return rest.pop(0)

    async def send(message):
        sent.append(message)

    monkeypatch.setattr(judging, "hand_of", hand_of)
    monkeypatch.setattr(judging, "voted", voted)
    monkeypatch.setattr(session, "judge_here", judge_here)
    scope = {"type": "http", "method": method, "path": path, "query_string": b"", "app": room.app,
             "headers": [(b"content-type", kind.encode())]} | more  # fmt: skip
    asyncio.run(Quick(long, None)(scope, receive, send))
    return went, sent


VOTES = {"method": "POST", "path": "/api/v1/votes"}
BODY = json.dumps({"votes": [{"id": "a", "question": 1, "outcome": 1.0}]}).encode()


def test_pairs_and_votes_go_the_short_way(room, monkeypatch):
    went, sent = quick(room, monkeypatch)
    assert went == [("next", True, "who")]
    assert sent == [
        {"type": "http.response.start", "status": 200,
         "headers": [(b"content-length", b"2"), (b"content-type", b"application/json")]},
        {"type": "http.response.body", "body": b"{}"},
    ]  # fmt: skip
    parts = [{"body": BODY[:9], "more_body": True}, {"body": BODY[9:]}]
    went, sent = quick(room, monkeypatch, **VOTES, messages=parts)
    assert went == [("votes", ["a"], "who")]
    assert sent[1]["body"] == b"[1]"


@pytest.mark.parametrize(
    "more",
    [{"method": "POST"}, {"path": "/api/v1/history"}, {"query_string": b"k=1"}, {"root_path": "/sub"},
     VOTES | {"kind": "text/plain"}, VOTES | {"method": "GET"}, {"type": "lifespan", "method": None}],
)  # fmt: skip
def test_whatever_is_unusual_goes_the_long_way(room, monkeypatch, more):
    assert quick(room, monkeypatch, **more) == ([("long", [])], [])


def test_a_body_that_is_not_as_it_should_be_is_read_again_the_long_way(room, monkeypatch):
    parts = [{"body": b'{"votes"', "more_body": True}, {"body": b": []}"}]
    assert quick(room, monkeypatch, **VOTES, messages=parts)[0] == [("long", [b'{"votes"', b": []}"])]


def test_messages_are_collected_and_given_once_more():
    rest = [{"body": b"a", "more_body": True}, {"body": b"b", "more_body": False}, {"type": "http.disconnect"}]

    async def receive():
        return rest.pop(0)

    async def go():
        messages = await _whole(receive)
        again = _again(messages, receive)
        return messages, [await again() for _ in range(3)]

    messages, seen = asyncio.run(go())
    assert [each["body"] for each in messages] == [b"a", b"b"]
    assert seen == [*messages, {"type": "http.disconnect"}]


# ---- who is here -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("url", "prefix"), [("http://x", "podium-"), ("https://x", "__Host-podium-")])
def test_cookies_of_each_role_come_and_go_in_the_same_way(store, url, prefix):
    state = make_app(store, url=url).state.podium
    secure = url.startswith("https")
    come, gone = Response(), Response()
    session.enter(state, come, "organiser", "secret")
    session.leave(state, gone)
    cookies = [value.decode() for name, value in gone.raw_headers if name == b"set-cookie"]
    assert come.headers["set-cookie"].startswith(f"{prefix}organiser=secret;")
    assert [each.partition("=")[0] for each in cookies] == [
        f"{prefix}{role}" for role in ("judge", "organiser", "operator")
    ]
    for each in (come.headers["set-cookie"], *cookies):
        parts = {part.strip() for part in each.split(";")}
        assert {"HttpOnly", "Path=/", "SameSite=lax"} <= parts
        assert ("Secure" in parts) == secure


def test_each_link_enters_in_its_own_role(room):
    for token, role in ((room.judge_token, "judge"), (room.organiser_token, "organiser"), (OPERATOR, "operator")):
        browser = room.visitor()
        answer = browser.post("/api/v1/session", json={"token": token})
        assert answer.json() == {"role": role}
        assert answer.cookies == {f"podium-{role}": token}
    wrong = room.visitor().post("/api/v1/session", json={"token": "x"})
    assert (wrong.status_code, wrong.json()["message"]) == (
        401, "this link is not known; ask the organiser for a new one",
    )  # fmt: skip
    assert wrong.cookies == {}


@pytest.mark.parametrize(
    ("parameter", "said", "outside"),
    [("PID", {"PID": "p7"}, "p7"), ("PID", {"PID": "..."}, None), ("PID", {"PID": ""}, None), ("PID", {}, None),
     ("PID", {"other": "p7"}, None), (None, {"PID": "p7"}, None)],
)  # fmt: skip
def test_an_open_link_knows_a_guest_by_the_part_of_the_address_that_was_agreed(room, parameter, said, outside):
    body = {"most": 3} | ({"parameter": parameter} if parameter else {})
    link = room.organiser.post(f"{room.at}/open-link", json=body).json()["link"]
    address, _, token = link.partition("#")
    assert address == f"{URL}/j" + ("?PID=..." if parameter else "")
    answer = room.visitor().post("/api/v1/session", json={"token": token, "parameters": said})
    assert answer.json() == {"role": "judge"}
    (guest,) = room.organiser.get(f"{room.at}/judges").json()[1:]
    assert guest["outside_id"] == outside
    mine = answer.cookies["podium-judge"]
    assert mine != token
    assert room.store.read(lambda reader: reader.judge_of_token(hash_of(mine)))[1].id == guest["id"]


def test_wrong_secrets_count_against_the_address_and_right_ones_do_not(room):
    state = room.app.state.podium
    state.clock = lambda: 100.0
    state.wrong.clock = lambda: 100.0
    for _ in range(9):
        asyncio.run(session.who_is(asked(room), room.judge_token))
    assert state.wrong._times == {}
    for _ in range(5):
        with pytest.raises(RefusedError, match=r"^this link is not known; ask for a new one$"):
            asyncio.run(session.who_is(asked(room), "wrong"))
    assert list(state.wrong._times) == ["9.9.9.9"]
    with pytest.raises(TooManyError, match="too many wrong links from your address; wait a minute") as told:
        asyncio.run(session.who_is(asked(room), "another"))
    assert told.value.wait == 60.0
    assert asyncio.run(session.who_is(asked(room), room.judge_token)).role == "judge"  # remembered


def test_a_cookie_comes_before_a_header(room):
    cookie = {"cookie": f"podium-judge={room.judge_token}", "authorization": "Bearer wrong"}
    found = asyncio.run(session.judge_here(asked(room, cookie)))
    assert found == Who("judge", room.campaign, room.judge_id)
    assert session.token_of(asked(room, cookie), "judge") == room.judge_token
    assert session.token_of(asked(room, cookie), "organiser") is None
    by_header = asyncio.run(session.judge_here(asked(room, {"authorization": f"bearer {room.judge_token}"})))
    assert by_header == found


def test_too_many_requests_of_one_secret_wait(room):
    state = room.app.state.podium
    state.requests = Rate(1, 1.0, lambda: 7.0)
    mine = {"authorization": f"Bearer {room.judge_token}"}
    asyncio.run(session.judge_here(asked(room, mine)))
    with pytest.raises(TooManyError, match=r"^too many requests; wait a second$") as told:
        asyncio.run(session.judge_here(asked(room, mine)))
    assert told.value.wait == 1.0
    assert list(state.requests._times) == [hash_of(room.judge_token)]


# ---- what a server remembers -------------------------------------------------------------------------------------


def test_limits_of_a_server(store):
    state = State(store, "http://x")
    assert (state.requests.most, state.requests.seconds, state.requests.clock) == (20, 1.0, state.clock)
    assert (state.wrong.most, state.wrong.seconds, state.today.most) == (5, 60.0, 10_000)
    assert (state.known, state.trouble, Who("operator")) == ({}, None, Who("operator", 0, 0))
    assert (state.behind_proxy, state.operator_hash, state.clock) == (False, None, time.monotonic)


def test_what_comes_in_one_turn_is_written_together(room, monkeypatch):
    state, sent = room.app.state.podium, []
    send = room.store.send
    monkeypatch.setattr(
        room.store, "send", lambda jobs: sent.append([(each.campaign, each.repeatable) for each in jobs]) or send(jobs)
    )
    state.trouble = "no disk"

    async def go():
        first = await asyncio.gather(
            state.write(room.campaign, lambda writer: writer.locked.title),
            state.write(room.campaign, lambda writer: 7, repeatable=True),
        )
        return first, await state.write(room.campaign, lambda writer: 8)

    assert asyncio.run(go()) == (["Letters", 7], 8)
    assert sent == [[(room.campaign, False), (room.campaign, True)], [(room.campaign, False)]]
    assert (state.trouble, state._waiting) == (None, {})


def test_a_store_that_is_closed_tells_everybody_who_waits(room, monkeypatch):
    state = room.app.state.podium
    state.trouble = "before"

    def closed(jobs):
        raise UnavailableError("the store is closed; start again")

    monkeypatch.setattr(room.store, "send", closed)

    async def go():
        works = [state.write(1, lambda writer: 1) for _ in range(2)]
        return await asyncio.gather(*works, return_exceptions=True)

    assert [str(each) for each in asyncio.run(go())] == ["the store is closed; start again"] * 2
    assert state.trouble == "before"


@pytest.mark.parametrize("remote", [True, False])
def test_the_clock_of_a_database_is_asked_in_another_thread_and_that_of_a_file_here(remote):
    asked_in = []
    store = types.SimpleNamespace(now=lambda: asked_in.append(threading.get_ident()) or 77, remote=remote)
    assert asyncio.run(State.now(types.SimpleNamespace(store=store))) == 77
    assert (asked_in[0] != threading.get_ident()) == remote


def test_pairs_are_shown_in_json_with_items_read_once(room):
    state = room.app.state.podium
    pairs = (Question(0, 1, id=5), Question(1, 2, "repeat", id=6))
    unread = room.store.read(lambda reader: state.unread(reader, room.campaign, pairs))
    assert sorted(unread) == [0, 1, 2]
    said = json.loads(asyncio.run(state.shown(room.campaign, pairs, unread)))
    views = [content.item_view(Item(k, label, body=f"This is {label}.")) for k, label in enumerate("abc")]
    assert said == [
        {"id": 5, "left": views[0], "right": views[1], "repeat": False},
        {"id": 6, "left": views[1], "right": views[2], "repeat": True},
    ]
    assert room.store.read(lambda reader: state.unread(reader, room.campaign, pairs)) == {}
    state.shelf = Shelf()  # all is forgotten: it is read again
    assert json.loads(asyncio.run(state.shown(room.campaign, pairs, {}))) == said
    assert asyncio.run(state.shown(room.campaign, (), {})) == "[]"


# ---- a judge's API -----------------------------------------------------------------------------------------------


def test_the_card_of_a_campaign_in_full(store):
    question = {"question": "What?", "answers": ["a", "b"], "right": 1}
    room = new_room(store, texts={"comprehension": question, "consent": "*Yes*"}, ties=False)
    store.write(room.campaign, lambda writer: setup.set_instructions(writer, "Be **fair**.", 1) and None)
    campaign = store.read(lambda reader: reader.campaign(room.campaign))
    assert judging.card(campaign) == {
        "title": "Letters", "question": "Which is better?", "instructions": "<p>Be <strong>fair</strong>.</p>\n",
        "version": 2, "ties": False, "min_ms": 300, "break_every": 50,
        "comprehension": {"question": "What?", "answers": ["a", "b"]}, "consent": "<p><em>Yes</em></p>\n",
    }  # fmt: skip
    bare = new_room(store)
    card = judging.card(store.read(lambda reader: reader.campaign(bare.campaign)))
    assert (card["comprehension"], card["consent"], card["instructions"], card["ties"]) == (None, None, "", True)


def test_before_the_question_about_the_instructions_nothing_is_counted_and_a_pause_comes_first(store):
    question = {"question": "What?", "answers": ["a", "b"], "right": 1}
    room = new_room(store, target=5, texts={"comprehension": question, "completion": {"code": "C"}})
    judge = room.judge
    said = judge.get("/api/v1/next").json()
    assert (said["why"], said["answered"], said["target"], said["completion"], said["judge"]) == (
        "comprehension", 0, None, None, "Ann",
    )  # fmt: skip
    assert judge.post("/api/v1/comprehension", json={"answer": 0}).json() == {"right": False, "left": 1}
    room.organiser.patch(room.at, json={"state": "paused"})
    assert judge.get("/api/v1/next").json()["why"] == "paused"
    room.organiser.patch(room.at, json={"state": "open"})
    assert judge.post("/api/v1/comprehension", json={"answer": 1}).json() == {"right": True, "left": 0}
    assert judge.get("/api/v1/next").json()["target"] == 5


def test_a_vote_is_stored_with_all_that_was_sent(room):
    judge = room.judge
    room.store.write(room.campaign, lambda writer: setup.set_instructions(writer, "New.", 1) and None)
    pairs = judge.get("/api/v1/next").json()["questions"]
    assert len(pairs) == 3
    row = {"id": "v", "question": pairs[1]["id"], "outcome": 0.5, "reason": "close", "ms": 1234, "version": 1}
    said = judge.post("/api/v1/votes", json={"votes": [row]}).json()
    (vote,) = room.store.read(lambda reader: list(reader.votes(room.campaign)))
    assert (vote.judge, vote.client_id, vote.question, vote.outcome, vote.reason, vote.ms, vote.version) == (
        room.judge_id, "v", pairs[1]["id"], 0.5, "close", 1234, 1,
    )  # fmt: skip
    assert abs(vote.received - room.store.now()) < 60_000
    assert (len(said["questions"]), said["version"], said["answered"]) == (3, 2, 1)


def test_a_day_s_votes_are_counted_by_judge_and_the_rest_is_told_to_wait(room):
    state = room.app.state.podium
    state.today.most = 3
    row = {"question": 10**6, "outcome": None}
    judge = room.judge
    two = {"votes": [row | {"id": "a"}, row | {"id": "b"}]}
    assert judge.post("/api/v1/votes", json=two).status_code == 200
    late = judge.post("/api/v1/votes", json=two)
    assert (late.status_code, late.headers["retry-after"]) == (429, "3600")
    assert late.json()["message"] == "that is more than 10,000 votes today; go on tomorrow"
    assert state.today._counts == {(room.campaign, room.judge_id): 2}
    assert judge.post("/api/v1/votes", json={"votes": [row | {"id": "c"}]}).status_code == 200


def test_a_conflict_among_others_is_a_receipt_like_theirs(room):
    judge = room.judge
    pairs = [each["id"] for each in judge.get("/api/v1/next").json()["questions"]]
    judge.post("/api/v1/votes", json={"votes": [{"id": "a", "question": pairs[0], "outcome": 1.0}]})
    rows = [{"id": "a", "question": pairs[0], "outcome": 0.0}, {"id": "b", "question": pairs[1], "outcome": 0.0}]
    said = judge.post("/api/v1/votes", json={"votes": rows}).json()["receipts"]
    assert [(each["status"], each["code"]) for each in said] == [("refused", "conflict"), ("stored", None)]
    assert "used" in said[0]["message"] or "other" in said[0]["message"]
    alone = judge.post("/api/v1/votes", json={"votes": rows[:1]}).json()
    assert (alone["code"], alone["message"]) == ("conflict", said[0]["message"])


def test_the_code_of_completion_comes_also_where_no_pair_is_left(store):
    room = new_room(store, "ab", texts={"completion": {"code": "C"}})
    judge = room.judge
    (pair,) = judge.get("/api/v1/next").json()["questions"]
    said = judge.post("/api/v1/votes", json={"votes": [{"id": "a", "question": pair["id"], "outcome": 1.0}]}).json()
    assert (said["why"], said["completion"], said["target"]) == ("done", {"code": "C"}, None)


def test_undoing_gives_three_pairs_with_the_one_that_came_back_first(room):
    judge = room.judge
    first = judge.get("/api/v1/next").json()["questions"][0]["id"]
    judge.post("/api/v1/votes", json={"votes": [{"id": "a", "question": first, "outcome": 1.0}]})
    said = judge.post("/api/v1/undo", json={"id": "u", "of": "a"}).json()
    assert (len(said["questions"]), said["questions"][0]["id"]) == (3, first)
    assert {"why", "version", "ties", "target"} <= set(said)


def test_only_who_was_shown_a_pair_may_report_it(room):
    room.store.write(room.campaign, lambda writer: setup.invite(writer, ["Bob"], 1) and None)
    pair = room.judge.get("/api/v1/next").json()["questions"][0]["id"]
    (_, token) = room.store.write(room.campaign, lambda writer: setup.invite(writer, ["Cy"], 1))[0]
    body = {"question": pair, "side": "left", "reason": "unreadable"}
    other = room.visitor(token).post("/api/v1/reports", json=body)
    assert (other.status_code, other.json()["message"]) == (409, f"pair {pair} was not given to you")
    room.judge.post("/api/v1/reports", json=body)
    (event,) = events(room, "report")
    assert (event.data["judge"], event.data["reason"], event.who) == (
        room.judge_id,
        "unreadable",
        f"judge {room.judge_id}",
    )


# ---- an organiser's API ------------------------------------------------------------------------------------------


def test_a_new_campaign_is_a_draft_as_it_was_described(room):
    about = {"title": "T", "question": "Q?", "instructions": "Read."}
    answer = room.operator.post("/api/v1/campaigns", files=upload("x.csv", b"id,text\na,1\nb,2\n"), data=about)
    made = answer.json()
    kept = room.store.read(lambda reader: reader.campaign(made["campaign"]))
    assert answer.status_code == 201
    assert (kept.title, kept.question, kept.instructions, kept.state) == ("T", "Q?", "Read.", "draft")
    assert abs(kept.made - room.store.now()) < 60_000
    assert kept.admin_hash == hash_of(made["token"])
    assert made["link"] == f"{URL}/o#{made['token']}"
    card = room.visitor(made["token"]).get(f"/api/v1/campaigns/{made['campaign']}").json()
    assert {name: card[name] for name in ("id", "slug", "title", "question", "instructions", "version", "state")} == {
        "id": kept.id, "slug": kept.slug, "title": "T", "question": "Q?", "instructions": "Read.", "version": 1,
        "state": "draft",
    }  # fmt: skip
    assert (card["position"], card["options"]) == ([0, kept.last_event], kept.options)


@pytest.mark.parametrize(
    ("field", "size", "status"),
    [("title", 200, 201), ("title", 201, 422), ("title", 0, 422), ("question", 1000, 201), ("question", 1001, 422),
     ("question", 0, 422), ("instructions", 100_000, 201), ("instructions", 100_001, 422)],
)  # fmt: skip
def test_words_of_a_new_campaign_end_where_they_should(room, field, size, status):
    data = {"title": "T", "question": "Q?"} | {field: "x" * size}
    files = upload("x.csv", b"id,text\na,1\nb,2\n")
    assert room.operator.post("/api/v1/campaigns", files=files, data=data).status_code == status


def test_instructions_that_are_the_same_are_no_new_version(room):
    there = room.organiser
    assert there.patch(room.at, json={"instructions": "One."}).json()["version"] == 2
    assert there.patch(room.at, json={"instructions": "One."}).json()["version"] == 2
    said = there.patch(
        room.at, json={"instructions": "Two.", "title": "New", "options": {"target": 7}, "state": "paused"}
    )
    card = said.json()
    assert (card["version"], card["title"], card["options"]["target"], card["state"]) == (3, "New", 7, "paused")
    assert there.patch(room.at, json={"options": {}}).json()["options"]["target"] == 7
    (first, *_), now = events(room, "instructions"), room.store.now()
    assert abs(first.at - now) < 60_000


@pytest.mark.parametrize("state", ["revoked", "excluded", "active"])
def test_a_judge_is_put_into_each_state(room, state):
    room.store.write(
        room.campaign,
        lambda writer: writer.change_judge(room.judge_id, state="excluded" if state == "active" else "active"),
    )
    said = room.organiser.patch(f"{room.at}/judges/{room.judge_id}", json={"state": state}).json()
    assert said["state"] == state
    kept = room.store.read(lambda reader: reader.judge(room.campaign, room.judge_id))
    assert (kept.state, said["id"], said["seen"], said["outside_id"]) == (state, room.judge_id, kept.seen, None)
    assert room.organiser.patch(f"{room.at}/judges/99", json={"state": state}).status_code == 404


def test_a_new_link_is_known_at_once_and_the_old_one_forgotten(room):
    state = room.app.state.podium
    room.judge.get("/api/v1/next")
    assert hash_of(room.judge_token) in state.known
    answer = room.organiser.post(f"{room.at}/judges/{room.judge_id}/link", json={})
    assert (answer.status_code, state.known) == (201, {})
    assert answer.json()["link"].startswith(f"{URL}/j#")


def test_the_order_without_a_judge_is_that_of_the_campaign(room):
    rows = [Vote(room.judge_id, str(k), k, k + 1, 1.0) for k in range(7)]
    room.store.write(room.campaign, lambda writer: setup.invite(writer, ["Bob"], 1) and None)
    rows += [Vote(1, f"b{k}", b, a, 1.0) for k, (a, b) in enumerate((a, b) for b in range(8) for a in range(b))]
    room.store.write(room.campaign, lambda writer: writer.append_votes(rows))
    truth = without_judge(room.store.read(lambda reader: reader.content(room.campaign)), 1)
    said = room.organiser.get(f"{room.at}/judges/1/without").json()
    assert said == [{"item": each.item, "before": each.before, "after": each.after} for each in truth]
    assert any(each["before"] != each["after"] for each in said)


def test_more_items_are_counted_with_those_there(room):
    answer = room.organiser.post(f"{room.at}/items", files=upload("more.csv", b"id,text\ny,1\nz,2\n"))
    assert (answer.status_code, answer.json()) == (201, {"added": 2, "items": 10, "without_text": []})
    bare = room.organiser.post(f"{room.at}/items", files=upload("bare.csv", b"id\nv\nw\n")).json()
    assert bare == {"added": 2, "items": 12, "without_text": ["v", "w"]}
    one = room.organiser.get(f"{room.at}/items/9").json()
    assert one == {"code": 9, "label": "z", "withdrawn": False, "kind": "text", "html": "<p>2</p>", "media": None}
    room.organiser.patch(f"{room.at}/items/9", json={"withdrawn": True})
    assert room.organiser.get(f"{room.at}/items/9").json()["withdrawn"] is True


@pytest.mark.parametrize(("labels", "pairs"), [("ab", 1), ("abc", 1), ("abcdefgh", 3)])
def test_trying_takes_pairs_in_their_order(store, labels, pairs):
    room = new_room(store, labels, texts={"completion": {"code": "C"}})
    said = room.organiser.get(f"{room.at}/try").json()
    assert (len(said["questions"]), said["target"], said["why"], said["completion"]) == (pairs, pairs, None, None)
    assert [each["repeat"] for each in said["questions"]] == [False] * pairs
    assert said["campaign"]["title"] == "Letters"
    for code in range(len(labels)):
        store.write(room.campaign, lambda writer, code=code: writer.change_item(code, withdrawn=1))
    empty = room.organiser.get(f"{room.at}/try").json()
    assert (empty["questions"], empty["why"], empty["target"]) == ([], "done", 0)


def test_the_live_page_says_why_a_campaign_pauses_by_itself(store):
    room = new_room(store, "abc", budget=2)
    rows = [Vote(room.judge_id, str(k), k, k + 1, 1.0) for k in range(2)]
    room.store.write(room.campaign, lambda writer: writer.append_votes(rows))
    said = "its budget of 2 votes is used"
    assert said not in room.organiser.get("/o/live").text
    room.store.write(room.campaign, lambda writer: setup.pause_if_spent(writer, 1))
    assert said in room.organiser.get("/o/live").text
    assert room.organiser.patch(room.at, json={"options": {"budget": 8}}).json()["state"] == "paused"
    assert said not in room.organiser.get("/o/live").text, "it was raised"
    changed = {"options": {"budget": 9}, "state": "open"}
    assert room.organiser.patch(room.at, json=changed).json()["state"] == "open"
    assert room.organiser.patch(room.at, json={"state": "paused"}).json()["state"] == "paused"
    assert said not in room.organiser.get("/o/live").text, "the organiser paused it"


def test_trouble_that_is_over_is_not_told(room, monkeypatch):
    def broken(jobs):
        raise UnavailableError("the disk is full")

    monkeypatch.setattr(room.store, "send", broken)
    assert room.organiser.get(f"{room.at}/summary").json()["trouble"] is None, "nobody has noticed"
    question = {"id": "a", "question": 1, "outcome": 1}
    assert room.judge.post("/api/v1/votes", json={"votes": [question]}).status_code == 503
    assert room.organiser.get(f"{room.at}/summary").json()["trouble"] == "the disk is full"
    assert "the disk is full" in room.organiser.get("/o/live").text
    monkeypatch.undo()
    assert "the disk is full" not in room.organiser.get("/o/live").text
    assert room.organiser.get(f"{room.at}/summary").json()["trouble"] is None


def test_the_summary_of_a_campaign_is_its_standing(room):
    now = room.store.now()
    rows = [Vote(room.judge_id, str(k), k % 7, 7, 1.0, received=now - (2 * DAY if k < 4 else 0)) for k in range(14)]
    rows += [Vote(room.judge_id, f"c{k}", k, k + 1, 1.0, kind="check", predicted=0.9, received=now) for k in range(3)]
    rows.append(Vote(room.judge_id, "s", 0, 1, None, received=now))
    room.store.write(room.campaign, lambda writer: writer.append_votes(rows))
    said = room.organiser.get(f"{room.at}/summary").json()
    truth = standing(room.store.read(lambda reader: reader.content(room.campaign)))
    assert (said["votes"], said["votes_today"], said["skips"], said["judges"]) == (17, 13, 1, 1)
    assert (said["until_stable"], said["until_stable_upper"]) == (None, None), "it is far from stable"
    for name in ("stable", "finished", "far", "width"):
        assert said[name] == getattr(truth, name), name
    assert said["position"] == list(truth.position)
    share = truth.agreement
    assert said["agreement"] == {
        "value": share.value, "lower": share.lower, "upper": share.upper, "count": share.count,
        "always_lower": share.always_lower, "always_upper": share.always_upper,
    }  # fmt: skip


def test_a_day_is_twenty_four_hours(room, monkeypatch):
    now = room.store.now()
    monkeypatch.setattr(room.store, "now", lambda: now)
    ages = (DAY + 1000, DAY - 1000, 0)
    rows = [Vote(room.judge_id, str(k), k, k + 1, 1.0, received=now - age) for k, age in enumerate(ages)]
    room.store.write(room.campaign, lambda writer: writer.append_votes(rows))
    assert room.organiser.get(f"{room.at}/summary").json()["votes_today"] == 2
    assert "2 in the last 24 hours" in room.organiser.get("/o/live").text


def test_the_first_campaign_of_a_server_is_made_by_its_operator(store):
    browser = TestClient(make_app(store, url=URL, operator_hash=hash_of(OPERATOR)), base_url=URL)
    browser.headers.update({"X-Podium": "1", "Authorization": f"Bearer {OPERATOR}"})
    files, about = upload("x.csv", b"id,text\na,1\nb,2\n"), {"title": "T", "question": "Q?"}
    answer = browser.post("/api/v1/campaigns", files=files, data=about)
    assert answer.status_code == 201, answer.text
    (made,) = store.read(lambda reader: reader.campaigns())
    assert (made.id, made.title) == (answer.json()["campaign"], "T")


def test_marks_are_in_the_order_and_in_what_is_exported(store):
    room = new_room(store, "abcd", marks={"known": {"a": 90, "d": 10}})
    ring = [(a, b) for a in range(4) for b in range(a + 1, 4)] + [(3, 0), (1, 0), (2, 1), (3, 2)]
    rows = [Vote(room.judge_id, str(k), a, b, 1.0) for k, (a, b) in enumerate(ring)]
    store.write(room.campaign, lambda writer: writer.append_votes(rows))
    plain = standing(store.read(lambda reader: reader.content(room.campaign))).to_frame().columns
    told_rows = room.organiser.get(f"{room.at}/ranking").json()
    assert set(told_rows[0]) > set(plain)
    head = room.organiser.get(f"{room.at}/export/ranking").text.splitlines()[0]
    assert head.split(",") == list(told_rows[0])


def test_what_may_be_done_twice_is_said_so_to_the_store(room, monkeypatch):
    """Votes, pairs and undoing only read and write tables; whatever makes a secret is done once."""
    judge, organiser, sent = room.judge, room.organiser, []
    pair = judge.get("/api/v1/next").json()["questions"][0]["id"]
    send = room.store.send

    def noted(jobs):
        sent.extend(each.repeatable for each in jobs)
        send(jobs)

    monkeypatch.setattr(room.store, "send", noted)
    judge.get("/api/v1/next")
    judge.post("/api/v1/votes", json={"votes": [{"id": "a", "question": pair, "outcome": 1.0}]})
    judge.post("/api/v1/undo", json={"id": "u", "of": "a"})
    assert sent == [True, True, True]
    organiser.post(f"{room.at}/judges", json={"names": ["Bob"]})
    assert sent == [True, True, True, False]


def test_a_judge_may_hold_one_to_ten_pairs_and_sees_fifty_votes(store):
    room = new_room(store, [f"i{k:02}" for k in range(12)])
    judge = room.judge
    held = {k: judge.get(f"/api/v1/next?k={k}") for k in (1, 10, 0, 11)}
    assert [answer.status_code for answer in held.values()] == [200, 200, 422, 422]
    assert [len(held[k].json()["questions"]) for k in (1, 10)] == [1, 10]
    rows = [Vote(room.judge_id, f"{a}-{b}", a, b, 1.0) for a in range(12) for b in range(a)][:53]
    store.write(room.campaign, lambda writer: writer.append_votes(rows))
    assert len(judge.get("/api/v1/history").json()) == 50
    assert len(judge.get("/api/v1/history?limit=500").json()) == 53


def test_a_campaign_that_says_nothing_of_ties_takes_them(room):
    room.store.write(room.campaign, lambda writer: writer.change(options={}) and None)
    said = room.judge.get("/api/v1/next").json()
    assert (said["ties"], said["completion"], said["campaign"]["ties"]) == (True, None, True)


def test_answers_to_judges_have_no_blanks_they_do_not_need(room):
    text = room.judge.get("/api/v1/next").text
    assert '"why":null,"version":1,"ties":true,"answered":0,' in text
    assert text.startswith('{"questions":[{"id":')


def test_events_are_told_with_all_but_hashes(room):
    room.organiser.post(f"{room.at}/open-link", json={"most": 3})
    room.store.write(
        room.campaign, lambda writer: writer.append_event(Event("odd", {"a": 1, "hash": "x"}, "me", 77)) and None
    )
    *_, last = told_all = room.organiser.get(f"{room.at}/events").json()
    there = room.store.read(lambda reader: reader.events(room.campaign))
    assert [each["seq"] for each in told_all] == [each.seq for each in there]
    assert (last["verb"], last["data"], last["who"], last["at"]) == ("odd", {"a": 1}, "me", 77)
    assert room.organiser.get(f"{room.at}/events?after={last['seq']}").json() == []


def test_exports_leave_nothing_behind_and_are_tables_unless_said_otherwise(room, monkeypatch, tmp_path):
    folder = tmp_path / "exports"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    rows = [Vote(room.judge_id, str(k), k, k + 1, 1.0) for k in range(6)]
    room.store.write(room.campaign, lambda writer: writer.append_votes(rows))
    answer = room.organiser.get(f"{room.at}/export/votes")
    assert answer.headers["content-type"].startswith("text/csv")
    assert len(answer.text.splitlines()) == 7
    assert list(folder.iterdir()) == []


def test_votes_taken_in_are_counted(store):
    room = new_room(store, "abc")
    table = b"left,right,outcome,judge\na,b,1,kim\nb,c,0,lee\na,b,1,kim\n"
    said = room.organiser.post(f"{room.at}/import", files=upload("v.csv", table)).json()
    assert said["judges"] == 2
    assert said["votes"] + said["repeated"] == 3
    assert said["items"] == 0


def uploaded(name, data, use):
    file = types.SimpleNamespace(filename=name, read=lambda: read())

    async def read():
        return data

    return asyncio.run(organising._uploaded(file, use))


def test_an_upload_is_a_file_of_its_kind_while_it_is_read():
    seen = []

    def use(path):
        seen.append(path)
        with open(path, "rb") as file:
            return file.read()

    assert uploaded("/some/where/My.CSV", b"data", use) == b"data"
    assert seen[0].endswith("/upload.csv")
    with pytest.raises(FileNotFoundError):
        use(seen[0])
    for name in (None, "", "table"):
        with pytest.raises(
            InputError, match=r"^(upload|table): give a table \(.csv, .jsonl, .parquet\) or a .zip of files$"
        ):
            uploaded(name, b"", use)


def test_words_about_an_upload_name_it_as_the_user_does():
    def fails(path):
        raise InputError(f"{path}: row 1 of {path} is empty")

    with pytest.raises(InputError, match=r"^my\.csv: row 1 of my\.csv is empty$"):
        uploaded("my.csv", b"x", fails)
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("a.txt", "one")

    def inside(path):
        raise InputError(f"{path}/a.txt is empty, in {path}")

    with pytest.raises(InputError, match=r"^a\.txt is empty, in my\.zip$"):
        uploaded("my.zip", packed.getvalue(), inside)


def test_a_zip_may_unpack_to_the_limit(tmp_path, monkeypatch):
    path = tmp_path / "x.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.txt", "12345")
        archive.writestr("b.txt", "67890")
    monkeypatch.setattr(organising, "MOST_UNPACKED", 10)
    folder = organising._unpacked(path)
    assert (folder, (folder / "b.txt").read_text()) == (tmp_path / "x", "67890")
    monkeypatch.setattr(organising, "MOST_UNPACKED", 9)
    with pytest.raises(InputError, match="unpacks to more than 9 bytes; send fewer files at a time"):
        organising._unpacked(path)


def test_a_zip_unpacks_to_two_hundred_million_bytes_at_most(tmp_path, monkeypatch):
    unpacked = []

    class Packed:
        sizes = (150_000_000, 50_000_000)

        def __init__(self, path):
            pass

        def __enter__(self):
            return self

        def __exit__(self, *_):
            return False

        def infolist(self):
            return [types.SimpleNamespace(file_size=size) for size in self.sizes]

        def extractall(self, folder):
            unpacked.append(folder)

    monkeypatch.setattr(zipfile, "ZipFile", Packed)
    assert organising._unpacked(tmp_path / "x.zip") == tmp_path / "x"
    monkeypatch.setattr(Packed, "sizes", (150_000_000, 50_000_001))
    with pytest.raises(InputError, match="unpacks to more than 200,000,000 bytes"):
        organising._unpacked(tmp_path / "x.zip")
    assert unpacked == [tmp_path / "x"]


def test_fifty_thousand_visitors_are_remembered(room):
    state = room.app.state.podium
    state.known = {str(k): (Who("judge"), 0.0) for k in range(49_999)}
    asyncio.run(session.who_is(asked(room), room.judge_token))
    assert len(state.known) == 50_000
    asyncio.run(session.who_is(asked(room), room.organiser_token))
    assert len(state.known) == 1
    rate = Rate(2, 10.0, lambda: 0.0)
    rate._times.update((k, ()) for k in range(49_999))
    rate.wait("ann")
    assert (len(rate._times), 0 in rate._times) == (50_000, True)
    rate.wait("bob")
    assert (len(rate._times), 0 in rate._times) == (50_000, False)


def test_a_request_that_is_a_judge_s_needs_its_own_campaign(room):
    request = Request({"type": "http", "headers": [], "app": room.app})
    assert session.bearer(request) is None
    with pytest.raises(RefusedError, match=r"^there is no campaign 9; check its number$"):
        asyncio.run(session.organiser_of(9, Who("organiser", 8)))
    assert asyncio.run(session.organiser_of(8, Who("organiser", 8))) == 8
