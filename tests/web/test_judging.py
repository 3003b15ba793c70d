"""The API for judges: every answer it gives, and what it refuses."""

import pytest

from podium.campaign import setup

from web.rooms import new_room


def votes(*rows):
    return {"votes": [dict(zip(("id", "question", "outcome"), row, strict=True)) for row in rows]}


def test_a_link_is_entered_once_and_votes_bring_the_next_pairs(room):
    judge = room.judge
    first = judge.get("/api/v1/next").json()
    assert len(first["questions"]) == 3
    assert first["answered"] == 0
    assert first["campaign"]["question"] == "Which is better?"
    assert "label" not in str(first["questions"]), "names are hidden"
    pair = first["questions"][0]
    after = judge.post("/api/v1/votes", json=votes(("v1", pair["id"], 1.0))).json()
    assert after["receipts"] == [{"id": "v1", "status": "stored", "code": None, "message": None}]
    assert after["answered"] == 1
    assert [each["id"] for each in after["questions"][:2]] == [each["id"] for each in first["questions"][1:]]


def test_a_reload_shows_the_same_pair(room):
    judge = room.judge
    first = judge.get("/api/v1/next").json()["questions"]
    assert judge.get("/api/v1/next").json()["questions"] == first
    assert room.judge.get("/api/v1/next").json()["questions"] == first, "in another browser too"


def test_the_same_vote_twice_is_one_vote_and_another_under_its_id_is_a_conflict(room):
    judge = room.judge
    pair = judge.get("/api/v1/next").json()["questions"][0]["id"]
    judge.post("/api/v1/votes", json=votes(("v1", pair, 1.0)))
    again = judge.post("/api/v1/votes", json=votes(("v1", pair, 1.0))).json()
    assert again["receipts"][0]["status"] == "repeated"
    other = judge.post("/api/v1/votes", json=votes(("v1", pair, 0.0)))
    assert (other.status_code, other.json()["code"]) == (409, "conflict")
    assert room.store.read(lambda reader: len(list(reader.votes(room.campaign)))) == 1


def test_an_undone_pair_comes_back_and_undoing_twice_is_once(room):
    judge = room.judge
    pair = judge.get("/api/v1/next").json()["questions"][0]["id"]
    judge.post("/api/v1/votes", json=votes(("v1", pair, 1.0)))
    back = judge.post("/api/v1/undo", json={"id": "u1", "of": "v1"}).json()
    assert back["receipt"] == {"id": "u1", "status": "stored"}
    assert pair in [each["id"] for each in back["questions"]]
    assert back["answered"] == 0
    assert judge.post("/api/v1/undo", json={"id": "u1", "of": "v1"}).json()["receipt"]["status"] == "repeated"
    assert judge.post("/api/v1/undo", json={"id": "u2", "of": "nothing"}).status_code == 404


def test_many_votes_are_taken_in_order_each_with_its_own_receipt(room):
    judge = room.judge
    pairs = [each["id"] for each in judge.get("/api/v1/next").json()["questions"]]
    rows = [("a", pairs[0], 1.0), ("b", 999_999, 0.0), ("c", pairs[1], None), ("d", pairs[0], 0.0)]
    answer = judge.post("/api/v1/votes", json=votes(*rows)).json()
    assert [(each["status"], each["code"]) for each in answer["receipts"]] == [
        ("stored", None),
        ("refused", "not-given"),
        ("stored", None),
        ("refused", "answered"),
    ]


def test_history_shows_the_last_votes_newest_first(room):
    judge = room.judge
    for number in range(3):
        pair = judge.get("/api/v1/next").json()["questions"][0]["id"]
        judge.post("/api/v1/votes", json=votes((f"v{number}", pair, 1.0)))
    assert [each["id"] for each in judge.get("/api/v1/history?limit=2").json()] == ["v2", "v1"]
    assert judge.get("/j/history").text.count("<li class=") == 3


def test_a_broken_item_is_reported_to_the_organiser(room):
    judge = room.judge
    pair = judge.get("/api/v1/next").json()["questions"][0]["id"]
    body = {"question": pair, "side": "left", "reason": "broken"}
    assert judge.post("/api/v1/reports", json=body).status_code == 200
    assert judge.post("/api/v1/reports", json=body | {"question": 12345}).status_code == 409
    events = room.organiser.get(f"{room.at}/events").json()
    assert [each["data"]["reason"] for each in events if each["verb"] == "report"] == ["broken"]


@pytest.mark.parametrize(
    ("state", "status"), [("paused", 200), ("closed", 200)], ids=["paused campaign", "closed campaign"]
)
def test_a_campaign_that_is_not_open_says_so_and_gives_no_pair(room, state, status):
    judge = room.judge
    pair = judge.get("/api/v1/next").json()["questions"][0]["id"]
    room.organiser.patch(room.at, json={"state": state})
    answer = judge.get("/api/v1/next")
    assert (answer.status_code, answer.json()["why"], answer.json()["questions"]) == (status, state, [])
    late = judge.post("/api/v1/votes", json=votes(("v1", pair, 1.0))).json()["receipts"][0]
    assert late["status"] == ("stored" if state == "paused" else "refused"), "votes on pairs that are out are taken"


def test_a_withdrawn_link_is_refused_at_once_and_its_votes_stay(room):
    judge = room.judge
    pair = judge.get("/api/v1/next").json()["questions"][0]["id"]
    judge.post("/api/v1/votes", json=votes(("v1", pair, 1.0)))
    room.organiser.patch(f"{room.at}/judges/{room.judge_id}", json={"state": "revoked"})
    answer = judge.get("/api/v1/next")
    assert (answer.status_code, answer.json()["code"]) == (403, "revoked")
    assert "safe" in answer.json()["message"]
    assert room.organiser.get(f"{room.at}/summary").json()["votes"] == 1


def test_the_completion_code_comes_only_at_the_end(store):
    room = new_room(store, "abc", target=2, texts={"completion": {"code": "XYZ", "url": "https://example.org/x"}})
    judge = room.judge
    said = []
    for number in range(3):
        hand = judge.get("/api/v1/next").json()
        said.append(hand["completion"])
        judge.post("/api/v1/votes", json=votes((f"v{number}", hand["questions"][0]["id"], 1.0)))
    assert said[:2] == [None, None]
    assert said[2] == {"code": "XYZ", "url": "https://example.org/x"}
    assert "XYZ" not in str(room.visitor(room.judge_token).get("/j").text)


def test_an_open_link_makes_a_judge_of_each_who_comes_until_it_is_full(room):
    link = room.organiser.post(f"{room.at}/open-link", json={"most": 2, "parameter": "PROLIFIC_PID"}).json()["link"]
    token = link.partition("#")[2]
    for who in ("p1", "p2", "p1"):
        browser = room.visitor()
        assert browser.post(
            "/api/v1/session", json={"token": token, "parameters": {"PROLIFIC_PID": who, "utm": "x"}}
        ).json() == {"role": "judge"}
        assert browser.get("/api/v1/next").status_code == 200
    full = room.visitor().post("/api/v1/session", json={"token": token, "parameters": {"PROLIFIC_PID": "p3"}})
    assert (full.status_code, full.json()["code"]) == (403, "full")
    names = [each["outside_id"] for each in room.organiser.get(f"{room.at}/judges").json()]
    assert names == [None, "p1", "p2"], "one judge for each outside id"


@pytest.mark.parametrize(
    "body",
    [
        {"votes": []},
        {"votes": [{"id": "x", "question": 1}]},
        {"votes": [{"id": "x", "question": "1", "outcome": 1.0}]},
        {"votes": [{"id": "x", "question": 1, "outcome": "1"}]},
        {"votes": [{"id": "x", "question": 1, "outcome": 1.0, "extra": 1}]},
        {"votes": [{"id": "", "question": 1, "outcome": 1.0}]},
        {"votes": [{"id": "x" * 101, "question": 1, "outcome": 1.0}]},
        {"votes": [{"id": "x", "question": 1, "outcome": 1.0}] * 201},
        {"votes": [{"id": "x", "question": 2**40, "outcome": 1.0}]},
        {"votes": [{"id": "x", "question": True, "outcome": 1.0}]},
        [],
    ],
    ids=str,
)
def test_bodies_are_taken_as_they_are_or_not_at_all(room, body):
    answer = room.judge.post("/api/v1/votes", json=body)
    assert answer.status_code == 422
    assert set(answer.json()) == {"code", "message", "field"}


def test_votes_for_a_side_that_is_no_outcome_are_refused_by_name(room):
    judge = room.judge
    pair = judge.get("/api/v1/next").json()["questions"][0]["id"]
    receipt = judge.post("/api/v1/votes", json=votes(("v1", pair, 0.3))).json()["receipts"][0]
    assert (receipt["status"], receipt["code"]) == ("refused", "bad-outcome")


def test_a_late_vote_counts_once(room):
    judge = room.judge
    pair = judge.get("/api/v1/next").json()["questions"][0]["id"]
    later = room.store.now() + 60 * 60_000
    room.store.write(room.campaign, lambda writer: writer.lapse(later))
    receipt = judge.post("/api/v1/votes", json=votes(("v1", pair, 1.0))).json()["receipts"][0]
    assert receipt["status"] == "stored"
    assert room.organiser.get(f"{room.at}/summary").json()["votes"] == 1


def test_new_links_replace_old_ones(room):
    old = room.judge
    link = room.organiser.post(f"{room.at}/judges/{room.judge_id}/link", json={}).json()["link"]
    assert old.get("/api/v1/next").status_code == 401
    assert room.visitor(link.partition("#")[2]).get("/api/v1/next").status_code == 200
    imported = room.store.write(room.campaign, lambda writer: setup.invite(writer, ["file"], 0, kind="import"))[0][0]
    assert room.organiser.post(f"{room.at}/judges/{imported.id}/link", json={}).json()["code"] == "no-link"


def test_a_question_about_the_instructions_comes_before_the_first_pair_with_two_attempts(store):
    asked = {"question": "What counts?", "answers": ["Spelling", "The argument"], "right": 1}
    room = new_room(store, texts={"comprehension": asked})
    for answers, why in (([1], None), ([0, 1], None), ([0, 0], "misunderstood")):
        link = room.organiser.post(f"{room.at}/judges", json={"names": [str(answers)]}).json()[0]["link"]
        judge = room.visitor(link.partition("#")[2])
        first = judge.get("/api/v1/next").json()
        assert (first["why"], first["questions"]) == ("comprehension", [])
        assert first["campaign"]["comprehension"] == {"question": "What counts?", "answers": asked["answers"]}
        said = [judge.post("/api/v1/comprehension", json={"answer": each}).json() for each in answers]
        assert [each["right"] for each in said] == [each == 1 for each in answers]
        after = judge.get("/api/v1/next").json()
        assert after["why"] == why
        assert bool(after["questions"]) == (why is None)
        assert judge.post("/api/v1/comprehension", json={"answer": 1}).json()["code"] == "answered"


@pytest.mark.parametrize(
    "asked",
    [{}, {"question": "q", "answers": ["a"], "right": 0}, {"question": "q", "answers": ["a", ""], "right": 0},
     {"question": "q", "answers": ["a", "b"], "right": 2}, {"question": 1, "answers": ["a", "b"], "right": 0}, "text"],
    ids=str,
)  # fmt: skip
def test_a_question_about_the_instructions_is_whole_or_refused(room, asked):
    answer = room.organiser.patch(room.at, json={"options": {"texts": {"comprehension": asked}}})
    assert (answer.status_code, answer.json()["code"]) == (422, "bad-input")


def test_an_open_link_takes_nobody_for_another_by_what_else_stands_in_the_address(room):
    link = room.organiser.post(f"{room.at}/open-link", json={"most": 5}).json()["link"]
    browsers = [room.visitor() for _ in range(2)]
    for browser in browsers:
        entry = {"token": link.partition("#")[2], "parameters": {"utm_source": "newsletter"}}
        assert browser.post("/api/v1/session", json=entry).is_success
    names = [browser.get("/api/v1/next").json()["judge"] for browser in browsers]
    assert len(set(names)) == 2
