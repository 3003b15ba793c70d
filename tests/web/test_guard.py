"""What is turned away at the gate, what every answer carries, and how much one visitor may ask for."""

import logging

import pytest

from podium.errors import UnavailableError
from podium.web.guard import POLICY
from podium.web.state import REQUESTS_A_SECOND

from web.rooms import new_room


def test_every_answer_carries_the_policy(room):
    for path in ("/", "/j", "/o", "/docs", "/api/v1/next", "/nothing", "/static/app.css"):
        answer = room.visitor().get(path)
        assert answer.headers["content-security-policy"] == POLICY, path
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"
    assert room.organiser.get("/o/live").headers["cache-control"] == "no-store"


@pytest.mark.parametrize(
    ("headers", "content"),
    [
        ({"X-Podium": ""}, None),
        ({"Content-Type": "text/plain"}, b"{}"),
        ({"Content-Type": "application/x-www-form-urlencoded"}, b"a=b"),
        ({"Origin": "https://evil.example"}, None),
        ({"Origin": "null"}, None),
        ({"Origin": "http://["}, None),
    ],
    ids=str,
)
def test_forged_requests_are_turned_away(room, headers, content):
    client = room.judge
    if headers.get("X-Podium") == "":
        del client.headers["X-Podium"]
        headers = {}
    body = {"content": content} if content is not None else {"json": {"votes": []}}
    answer = client.post("/api/v1/votes", headers=headers, **body)
    assert (answer.status_code, answer.json()["code"]) == (403, "forged")


def test_a_request_of_the_same_page_is_taken(room):
    answer = room.judge.post("/api/v1/undo", headers={"Origin": "http://testserver"}, json={"id": "a", "of": "b"})
    assert answer.json()["code"] == "unknown-vote"


def test_bodies_that_are_too_large_are_turned_away_told_or_not(room):
    judge = room.judge
    big = b'{"votes": "' + b"x" * 70_000 + b'"}'
    told = judge.post("/api/v1/votes", content=big, headers={"Content-Type": "application/json"})
    untold = judge.post(
        "/api/v1/votes", content=iter([big[:40_000], big[40_000:]]), headers={"Content-Type": "application/json"}
    )
    assert (told.status_code, untold.status_code) == (413, 413)
    file = {"file": ("a.csv", b"id\n" + b"x" * 10_200_000, "text/csv")}
    assert room.organiser.post(f"{room.at}/items", files=file).status_code == 413


def test_twenty_requests_a_second_and_no_more(room):
    state, now = room.app.state.podium, [0.0]
    state.requests.clock = lambda: now[0]
    state.requests.most = REQUESTS_A_SECOND
    judge = room.judge
    answers = [judge.get("/api/v1/history").status_code for _ in range(22)]
    assert answers == [200] * 20 + [429] * 2
    assert judge.get("/api/v1/history").headers["retry-after"] == "1"
    now[0] = 1.0
    assert judge.get("/api/v1/history").status_code == 200
    assert room.organiser.get(room.at).status_code == 200, "each visitor has its own"


def test_wrong_links_are_few_a_minute_for_an_address(room):
    state, now = room.app.state.podium, [0.0]
    state.wrong.clock = lambda: now[0]
    nobody = room.visitor()
    tries = [nobody.post("/api/v1/session", json={"token": f"wrong {k}"}).status_code for k in range(7)]
    assert tries == [401] * 5 + [429] * 2
    bearer = nobody.get("/api/v1/next", headers={"Authorization": "Bearer guess"})
    assert bearer.status_code == 429, "nor by another way in"
    now[0] = 61.0
    assert room.visitor(room.judge_token).get("/api/v1/next").status_code == 200


def test_votes_of_a_day_have_an_end(room):
    room.app.state.podium.today.most = 3
    judge = room.judge
    for k in range(3):
        assert judge.post("/api/v1/votes", json={"votes": [{"id": f"{k}", "question": 1, "outcome": None}]}).is_success
    answer = judge.post("/api/v1/votes", json={"votes": [{"id": "x", "question": 1, "outcome": None}]})
    assert (answer.status_code, answer.json()["code"]) == (429, "too-often")


def test_a_proxy_is_believed_only_where_there_is_one(store):
    for behind, blocked in ((False, 429), (True, 401)):
        room = new_room(store, "abc")
        room.app.state.podium.behind_proxy = behind
        for k in range(5):
            room.visitor().post("/api/v1/session", json={"token": "x"}, headers={"X-Forwarded-For": f"10.0.0.{k}"})
        answer = room.visitor().post("/api/v1/session", json={"token": "x"}, headers={"X-Forwarded-For": "10.9.9.9"})
        assert answer.status_code == blocked


def test_the_database_away_is_a_503_with_when_to_try_again_and_a_banner(room, monkeypatch):
    judge, organiser = room.judge, room.organiser
    judge.get("/api/v1/next")
    organiser.get(room.at)

    def away(jobs):
        raise UnavailableError("campaign.db: the disk is full; free some space, then everything goes on")

    with monkeypatch.context() as change:
        change.setattr(room.store, "send", away)
        answer = judge.post("/api/v1/votes", json={"votes": [{"id": "x", "question": 1, "outcome": 1.0}]})
        assert (answer.status_code, answer.json()["code"]) == (503, "unavailable")
        assert int(answer.headers["retry-after"]) > 0
        assert "disk is full" in organiser.get("/o/live").text
    assert judge.get("/api/v1/next").status_code == 200
    assert "disk is full" not in organiser.get("/o/live").text, "it went by itself"


def test_what_fails_unforeseen_is_said_without_details_and_without_secrets_in_the_log(room, monkeypatch, caplog):
    judge = room.judge

    def broken(*rest, **more):
        raise ZeroDivisionError("inner details")

    monkeypatch.setattr("podium.campaign.desk.next_pairs", broken)
    with caplog.at_level(logging.DEBUG):
        answer = judge.get("/api/v1/next")
    assert answer.status_code == 500
    assert "inner details" not in answer.text
    assert room.judge_token not in caplog.text


def test_cookies_are_out_of_reach_of_scripts_and_bound_to_the_host_with_tls(store):
    room = new_room(store, "abc")
    plain = room.visitor().post("/api/v1/session", json={"token": room.judge_token}).headers["set-cookie"]
    assert "HttpOnly" in plain
    assert "SameSite=lax" in plain
    assert "Secure" not in plain
    room.app.state.podium.url = "https://judge.example.org"
    tls = room.visitor().post("/api/v1/session", json={"token": room.judge_token}).headers["set-cookie"]
    assert tls.startswith("__Host-podium-judge=")
    assert "Secure" in tls
    assert "Path=/" in tls


def test_a_body_that_is_no_json_is_told_so(room):
    for path in ("/api/v1/votes", "/api/v1/undo"):
        answer = room.judge.post(path, content=b'{"votes": oops', headers={"Content-Type": "application/json"})
        assert answer.status_code == 422
        assert answer.json() == {
            "code": "bad-request",
            "message": "the request is no JSON from character 10 on; send JSON",
            "field": None,
        }
