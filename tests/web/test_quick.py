"""The short way for votes and pairs says what the long way says, whatever it is asked."""

import json
import re

import pytest

from podium.web.quick import Quick

from web.rooms import new_room

VOTE = {"id": "v", "question": 1, "outcome": 1.0, "ms": 900}
BODIES = {
    "a vote": {"votes": [VOTE]},
    "a pair never given": {"votes": [VOTE | {"question": 9999}]},
    "several": {"votes": [VOTE, VOTE | {"id": "w"}, VOTE]},
    "another outcome": {"votes": [VOTE | {"outcome": 0.25}]},
    "out of range": {"votes": [VOTE | {"outcome": 7}]},
    "words for a number": {"votes": [VOTE | {"question": "1"}]},
    "a name too many": {"votes": [VOTE | {"more": 1}]},
    "no votes": {"votes": []},
    "too many": {"votes": [VOTE] * 201},
    "a list": [],
    "no id": {"votes": [{"question": 1, "outcome": None}]},
    "an id in no alphabet of ours": {"votes": [VOTE | {"id": "日本"}]},
    "a long reason": {"votes": [VOTE | {"reason": "x" * 2001}]},
}
RAW = {
    "no JSON": b"{",
    "nothing": b"",
    "no UTF-8": b"\xff\xfe",
    "UTF-16": json.dumps(BODIES["a pair never given"]).encode("utf-16"),
    "not a number": b'{"votes": [{"id": "n", "question": 1, "outcome": NaN}]}',
    "twice the same name": b'{"votes": [], "votes": [{"id": "t", "question": 1, "outcome": null}]}',
    "half a character": b'{"votes": [{"id": "\\ud800", "question": 1, "outcome": null}]}',
    "large": b'{"votes": [' + b" " * 70_000 + b"]}",
}
KINDS = ("application/json", "application/json; charset=utf-8", "APPLICATION/JSON", "multipart/form-data; boundary=x")


@pytest.fixture
def rooms(store):
    """The same campaign twice: one room answers quickly, the other sends everything the long way."""
    quick, long = (new_room(store, "abc") for _ in range(2))
    long.app.user_middleware = [each for each in long.app.user_middleware if each.cls is not Quick]
    assert len(quick.app.user_middleware) == len(long.app.user_middleware) + 1
    return quick, long


def told(answer):
    """What matters of an answer; numbers of questions go on from room to room."""
    said = json.loads(re.sub(r"pair \d+", "pair", answer.text))
    if "questions" in said:
        said["questions"] = [{**each, "id": 0} for each in said["questions"]]
    said.pop("who", None)
    headers = {name: value for name, value in answer.headers.items() if name not in ("content-length", "retry-after")}
    return answer.status_code, said, headers


@pytest.mark.parametrize("kind", KINDS)
def test_every_body_gets_the_same_answer(rooms, kind):
    judges = [room.judge for room in rooms]
    questions = [judge.get("/api/v1/next").json()["questions"][0]["id"] for judge in judges]
    seen = set()
    for name in [*BODIES, *RAW]:
        told_by = []
        for judge, question in zip(judges, questions, strict=True):
            body = RAW.get(name) or json.dumps(BODIES.get(name, "")).encode()
            body = body.replace(b'"question": 1', b'"question": %d' % question)
            told_by.append(told(judge.post("/api/v1/votes", content=body, headers={"Content-Type": kind})))
        assert told_by[0] == told_by[1], name
        seen.add(told_by[0][0])
    assert seen == {0: {200, 409, 413, 422}, 1: {200, 409, 413, 422}, 2: {403}, 3: {422}}[KINDS.index(kind)]


@pytest.mark.parametrize("role", ["judge", "organiser"])
def test_every_way_of_asking_gets_the_same_answer(rooms, role):
    visitors = [getattr(room, role) for room in rooms]
    for method, path in (
        ("GET", "/api/v1/next"), ("GET", "/api/v1/next?k=2"), ("GET", "/api/v1/next?k=0"), ("GET", "/api/v1/next/"),
        ("PUT", "/api/v1/votes"), ("GET", "/api/v1/votes"), ("DELETE", "/api/v1/next"), ("OPTIONS", "/api/v1/votes"),
    ):  # fmt: skip
        quick, long = (told(visitor.request(method, path)) for visitor in visitors)
        assert quick == long, (method, path)


def test_who_may_not_is_told_so_in_the_same_words(rooms):
    for request in (
        {"method": "POST", "url": "/api/v1/votes", "json": BODIES["a vote"]},
        {"method": "POST", "url": "/api/v1/votes", "json": BODIES["out of range"]},
        {"method": "GET", "url": "/api/v1/next"},
        {"method": "GET", "url": "/api/v1/next", "headers": {"Authorization": "Bearer wrong"}},
    ):
        quick, long = (told(room.visitor().request(**request)) for room in rooms)
        assert quick == long
        assert quick[0] == 401
