"""The API for organisers: from items to results, and every change in between."""

import io
import json
import zipfile

import polars as pl
import pytest

from podium.campaign.standing import DAY, pairs_left, standing
from podium.store.file import read_campaign_file


def vote_some(room, count=12, better=lambda left, right: left < right, name="v"):
    judge = room.judge
    for number in range(count):
        hand = judge.get("/api/v1/next").json()["questions"]
        if not hand:
            break
        left, right = hand[0]["left"]["html"], hand[0]["right"]["html"]
        row = {
            "id": f"{name}{number}",
            "question": hand[0]["id"],
            "outcome": 1.0 if better(left, right) else 0.0,
            "ms": 900,
        }
        assert judge.post("/api/v1/votes", json={"votes": [row]}).json()["receipts"][0]["status"] == "stored"


def test_the_page_the_api_and_the_command_give_the_same_numbers(room, tmp_path):
    vote_some(room)
    rows = room.organiser.get(f"{room.at}/ranking").json()
    content = read_campaign_file(str(tmp_path / "campaign.db"))
    assert rows == standing(content).to_frame().to_dicts()
    page = room.organiser.get("/o/live").text
    for row in rows:
        assert f"{row['place_lower']}–{row['place_upper']}" in page
    summary = room.organiser.get(f"{room.at}/summary").json()
    assert summary["votes"] == 12
    assert summary["level"] == 0.9


@pytest.mark.parametrize(("times", "far"), [(10, True), (1000, False)])
def test_the_page_and_the_command_forecast_alike_and_both_count_the_pairs_left(room, tmp_path, monkeypatch, times, far):
    """One vote in four goes the wrong way: the judge has fewer pairs left than it takes, forecast or not."""
    monkeypatch.setattr("podium.campaign.standing.MAX_FORECAST", times)
    for count in range(24):
        vote_some(room, 1, lambda left, right, wrong=count % 4 == 0: (left < right) != wrong, f"v{count}-")
    summary = room.organiser.get(f"{room.at}/summary").json()
    assert summary["pairs_left"] == 4, "of the 28 pairs of eight items"
    content = read_campaign_file(str(tmp_path / "campaign.db"))
    truth = standing(content)
    assert truth.until_stable > 4
    assert (truth.until_stable_upper > times * 24) == far == summary["far"]
    least, most = summary["until_stable"], summary["until_stable_upper"]
    assert (least, most) == ((None, None) if far else (truth.until_stable, truth.until_stable_upper))
    words = standing(content).words(pairs_left(content))
    page = room.organiser.get("/o/live").text
    assert ("far from stable" in words, "not stable yet: about" in words) == (far, not far)
    assert ("Far from stable" in page, "Stable in about" in page) == (far, not far)
    assert words.endswith("; its judges have 4 pairs left: invite others")
    assert 'These judges have 4 pairs left: <a href="/o/people">others</a> are needed.' in page


def test_a_campaign_from_upload_to_results(room):
    operator = room.operator
    table = b"id,text\ntea,A cup of tea\nmilk,A glass of milk\nwater,A glass of water\n"
    seen = operator.post("/api/v1/preview", files={"file": ("drinks.csv", table, "text/csv")}).json()
    assert (seen["items"], seen["rows"][0]["label"], seen["rows"][0]["words"]) == (3, "tea", 4)
    about = {"title": "Drinks", "question": "Which?"}
    made = operator.post("/api/v1/campaigns", files={"file": ("drinks.csv", table, "text/csv")}, data=about).json()
    organiser = room.visitor(made["token"])
    at = f"/api/v1/campaigns/{made['campaign']}"
    assert organiser.get(at).json()["state"] == "draft"
    [ann, bob] = organiser.post(f"{at}/judges", json={"names": ["Ann", "Bob"]}).json()
    renamed = organiser.patch(at, json={"title": "All drinks", "question": "Which do you prefer?"}).json()
    assert (renamed["title"], renamed["question"]) == ("All drinks", "Which do you prefer?")
    early = room.visitor(ann["link"].partition("#")[2])
    assert early.get("/api/v1/next").json()["why"] == "draft"
    organiser.patch(at, json={"state": "open", "options": {"target": 3, "ties": False}})
    refused = organiser.patch(at, json={"question": "Which is cheaper?", "title": "Not taken either"})
    assert (refused.status_code, refused.json()["code"]) == (409, "bad-state"), refused.text
    assert organiser.get(at).json()["title"] == "All drinks", "one change that is refused, and nothing is changed"
    for person in (ann, bob):
        judge = room.visitor(person["link"].partition("#")[2])
        for number in range(3):
            pair = judge.get("/api/v1/next").json()["questions"][0]
            outcome = 1.0 if "tea" in pair["left"]["html"] or "water" in pair["right"]["html"] else 0.0
            judge.post(
                "/api/v1/votes", json={"votes": [{"id": f"{number}", "question": pair["id"], "outcome": outcome}]}
            )
    assert [row["item"] for row in organiser.get(f"{at}/ranking").json()] == ["tea", "milk", "water"]


def test_problems_of_a_file_are_told_by_row_and_nothing_is_taken(room):
    table = b"id,text\nzoo,x\n,y\nzoo,z\na,w\n"
    answer = room.organiser.post(f"{room.at}/items", files={"file": ("more.csv", table, "text/csv")})
    assert answer.status_code == 422
    words = answer.json()["message"]
    for part in (
        "more.csv",
        "row 2: the label is empty",
        "row 3: 'zoo' appears in row 1",
        "row 4: 'a' is in the campaign",
    ):
        assert part in words
    assert "/tmp" not in words
    assert len(room.organiser.get(f"{room.at}/items").json()) == 8


@pytest.mark.parametrize(
    ("name", "data", "words"),
    [
        ("x.exe", b"MZ", "give a table"),
        ("x.csv", b"", "empty"),
        ("x.csv", b"id\n", "no rows"),
        ("x.zip", b"no zip", "cannot be unpacked"),
        ("x.parquet", b"PAR1", ""),
        ("x.csv", b"\xff\xfe\x00", ""),
    ],
    ids=["unknown kind", "empty", "no rows", "no zip", "cut parquet", "binary"],
)
def test_files_that_are_no_items_get_one_sentence(room, name, data, words):
    answer = room.organiser.post(f"{room.at}/items", files={"file": (name, data, "text/csv")})
    assert answer.status_code == 422, answer.text
    assert words in answer.json()["message"]


def test_a_zip_of_files_becomes_items(room):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("one.txt", "the first")
        archive.writestr("deep/two.md", "# the second")
        archive.writestr("../../evil.txt", "stays inside")
    answer = room.organiser.post(f"{room.at}/items", files={"file": ("f.zip", packed.getvalue(), "application/zip")})
    assert answer.json() == {"added": 3, "items": 11, "without_text": []}
    kinds = {each["label"]: each["kind"] for each in room.organiser.get(f"{room.at}/items").json()[8:]}
    assert kinds["one.txt"] == "text"
    assert kinds["deep/two.md"] == "markdown"


def test_items_can_be_withdrawn_and_brought_back(room):
    vote_some(room, 20)
    organiser = room.organiser
    organiser.patch(f"{room.at}/items/0", json={"withdrawn": True})
    assert "a" not in [row["item"] for row in organiser.get(f"{room.at}/ranking").json()]
    organiser.patch(f"{room.at}/items/0", json={"withdrawn": False})
    assert "a" in [row["item"] for row in organiser.get(f"{room.at}/ranking").json()]
    assert organiser.patch(f"{room.at}/items/99", json={"withdrawn": True}).status_code == 404


def test_a_judge_is_excluded_restored_renamed_and_erased(room):
    vote_some(room, 15)
    organiser, at = room.organiser, f"{room.at}/judges/{room.judge_id}"
    assert len(organiser.get(f"{at}/without").json()) == 8
    organiser.patch(at, json={"state": "excluded"})
    assert organiser.get(f"{room.at}/summary").json()["votes"] == 0
    organiser.patch(at, json={"state": "active", "name": "Anna"})
    assert organiser.get(f"{room.at}/summary").json()["votes"] == 15
    assert "Anna" in organiser.get("/o/judges").text
    name = organiser.delete(at).json()["name"]
    assert name.startswith("erased ")
    assert organiser.get(f"{room.at}/summary").json()["votes"] == 15, "votes stay"
    for path in ("/o/people", "/o/judges", f"{room.at}/events", f"{room.at}/export/votes"):
        assert "Anna" not in organiser.get(path).text, path


@pytest.mark.parametrize(
    "options",
    [
        {"ties": "yes"},
        {"target": 0},
        {"unknown": 1},
        {"check_share": 2},
        {"texts": {"open_link": {}}},
        {"gold": [["a", "nobody", 1]]},
        {"top": "x"},
    ],
    ids=str,
)
def test_options_are_refused_in_words(room, options):
    answer = room.organiser.patch(room.at, json={"options": options})
    assert (answer.status_code, answer.json()["code"]) == (422, "bad-input")
    assert len(answer.json()["message"]) > 20


def test_words_for_the_pages_are_changed_one_by_one(room):
    organiser = room.organiser
    organiser.post(f"{room.at}/open-link", json={"most": 3})
    organiser.patch(room.at, json={"options": {"texts": {"consent": "I agree."}}})
    texts = organiser.patch(room.at, json={"options": {"texts": {"consent": None}}}).json()["options"]["texts"]
    assert texts == {"open_link": {"most": 3, "parameter": None}}, "the link stays, and its hash is not shown"


def test_results_are_exported_in_every_form(room):
    vote_some(room)
    organiser = room.organiser
    for what in ("votes", "ranking"):
        for form, read in (("csv", pl.read_csv), ("jsonl", pl.read_ndjson), ("parquet", pl.read_parquet)):
            answer = organiser.get(f"{room.at}/export/{what}?form={form}")
            assert f'filename="letters-{what}.{form}"' in answer.headers["content-disposition"]
            assert len(read(io.BytesIO(answer.content))) == (12 if what == "votes" else 8)
    journal = [json.loads(line) for line in organiser.get(f"{room.at}/export/journal").text.splitlines()]
    assert sum("outcome" in row for row in journal) == 12
    whole = zipfile.ZipFile(io.BytesIO(organiser.get(f"{room.at}/export/all").content))
    assert len(whole.read("votes.jsonl").splitlines()) == 12
    assert organiser.get(f"{room.at}/export/nonsense").status_code == 422


def test_votes_are_taken_in_from_a_file_once(room):
    table = {"file": ("votes.csv", b"left,right,outcome,judge\na,b,1,kim\nb,c,0,kim\n", "text/csv")}
    assert room.organiser.post(f"{room.at}/import", files=table).json()["votes"] == 2
    assert room.organiser.post(f"{room.at}/import", files=table).json() == {
        "votes": 0, "repeated": 2, "items": 0, "judges": 0, "skips": 0, "undos": 0, "left_out": 0
    }  # fmt: skip
    wrong = {"file": ("votes.csv", b"left,right,outcome\na,zebra,1\n", "text/csv")}
    assert "zebra" in room.organiser.post(f"{room.at}/import", files=wrong).json()["message"]


def test_an_empty_campaign_has_all_its_pages(room):
    for path in ("live", "setup", "people", "judges", f"judges/{room.judge_id}", "export", "try", "items/3"):
        assert room.organiser.get(f"/o/{path}").status_code == 200, path
    assert room.organiser.get(f"{room.at}/ranking").json() == []


def test_votes_that_nobody_can_give_are_not_forecast(room):
    """A judge whose answers contradict each other has seen every pair: the page says so and forecasts nothing."""
    judge, answered = room.judge, 0
    while questions := judge.get("/api/v1/next").json()["questions"]:
        vote = {"id": f"v{answered}", "question": questions[0]["id"], "outcome": answered % 2, "ms": 2000}
        judge.post("/api/v1/votes", json={"votes": [vote]})
        answered += 1
    assert answered == 28, "the pairs of eight items"
    summary = room.organiser.get(f"{room.at}/summary").json()
    assert (summary["stable"], summary["finished"], summary["pairs_left"], summary["stable_at"]) == (
        False,
        False,
        0,
        None,
    )
    page = room.organiser.get("/o/live").text
    assert "Not stable, and no judge has a pair left" in page
    assert "Stable in about" not in page
    room.organiser.post(f"{room.at}/judges", json={"names": ["Zoe"]})
    assert room.organiser.get(f"{room.at}/summary").json()["pairs_left"] == 28
    assert "no judge has a pair left" not in room.organiser.get("/o/live").text


def test_a_day_is_forecast_once_votes_came_before_the_last(room, monkeypatch):
    """At two votes a day, as many days are left as half the votes that are needed; where these are too many, none."""

    def answer(*names):
        judge = room.judge
        for name in names:
            question = judge.get("/api/v1/next").json()["questions"][0]
            vote = {"id": name, "question": question["id"], "outcome": 1, "ms": 2000}
            assert judge.post("/api/v1/votes", json={"votes": [vote]}).status_code == 200
        return room.organiser.get(f"{room.at}/summary").json()

    first = answer("a", "b", "c")
    assert (first["votes"], first["votes_today"], first["stable_at"]) == (3, 3, None)
    now = room.store.now() + 2 * DAY
    monkeypatch.setattr(room.store, "now", lambda: now)
    then = answer("d", "e")
    assert (then["votes"], then["votes_today"]) == (5, 2)
    assert (then["far"], then["stable_at"]) == (True, None)
    monkeypatch.setattr("podium.campaign.standing.MAX_FORECAST", 100)
    near = room.organiser.get(f"{room.at}/summary").json()
    assert (near["far"], near["stable_at"]) == (False, now + near["until_stable"] * DAY // 2)
