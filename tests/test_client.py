"""The client alone: what it sends, how long it waits, what it takes as an answer. `web/test_client.py` has a server."""

import json
import sys

import httpx
import pytest

from podium.client import LONGEST_WAIT, TRIES, Judge, Organiser, _has_form, _wait
from podium.errors import InputError, RefusedError, UnavailableError

URL = "http://127.0.0.1:8000"
CARD = {"title": "T", "question": "?", "instructions": "", "ties": True}
ITEM = {"kind": "text", "html": "tea", "media": None}
HAND = {"questions": [], "why": None, "target": None, "who": "Zoe", "campaign": CARD}
GOOD = {"receipts": [{"status": "recorded", "code": None, "message": None}]}


def pair(id, left="tea", right="milk"):
    return {"id": id, "left": {**ITEM, "html": left}, "right": {**ITEM, "html": right}}


class Wire:
    """Answers in turn, the last one for ever, in place of a network; keeps what was asked and how a client was made."""

    def __init__(self, monkeypatch):
        self.answers, self.requests, self.made, self.waits = [], [], [], []
        real = httpx.Client

        def client(**options):
            self.made.append(options)
            # without certificates, which take long to load
            return real(transport=httpx.MockTransport(self._answer), verify=False, **options)

        monkeypatch.setattr("httpx.Client", client)
        monkeypatch.setattr("podium.client.time.sleep", self.waits.append)

    def says(self, *answers):
        self.answers = [each if isinstance(each, tuple) else (200, {}, each) for each in answers]

    def _answer(self, request):
        self.requests.append(request)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer[2], Exception):
            raise answer[2]
        status, headers, body = answer
        content = {"content": body} if isinstance(body, bytes) else {"json": body}
        return httpx.Response(status, headers=headers, **content)

    @property
    def sent(self):
        """Of each request the method, the path within the API with what is asked, and the body."""
        return [
            (each.method, each.url.raw_path.decode().removeprefix("/api/v1/"), json.loads(each.content or "null"))
            for each in self.requests
        ]


@pytest.fixture
def wire(monkeypatch):
    return Wire(monkeypatch)


def test_a_client_is_made_once_with_its_address_its_secret_and_its_patience(wire):
    wire.says(HAND)
    judge = Judge(f"{URL}//", "secret")
    judge.next()
    judge.next()
    assert len(wire.made) == 1
    assert wire.made[0]["timeout"] == 30.0
    assert wire.requests[0].url == f"{URL}/api/v1/next?k=3"
    assert {name: wire.requests[0].headers[name] for name in ("Authorization", "X-Podium", "Content-Type")} == {
        "Authorization": "Bearer secret",
        "X-Podium": "1",
        "Content-Type": "application/json",
    }
    judge.close()
    judge.close()  # a second time is no harm
    judge.next(7)
    assert len(wire.made) == 2
    assert wire.sent[-1] == ("GET", "next?k=7", None)
    Judge(URL, "secret", timeout=2.5).next()
    assert wire.made[-1]["timeout"] == 2.5


def test_a_with_block_hands_out_the_client_and_closes_it(wire):
    wire.says(HAND)
    client = Judge(URL, "secret")
    with client as judge:
        assert judge is client
        judge.next()
        connection = judge._open
        assert not connection.is_closed
    assert connection.is_closed
    assert client._open is None


@pytest.mark.parametrize("form", [Judge, Organiser])
def test_a_link_is_an_address_and_a_secret(wire, form):
    wire.says([])
    with form.by_link(f"{URL}/room/j#se#cret", timeout=4.0) as client:
        assert client.url == f"{URL}/room"
        assert repr(client) == f"{form.__name__}('{URL}/room')"
        client.ask("GET", "x")
    assert wire.requests[0].headers["Authorization"] == "Bearer se#cret"
    assert wire.made[0]["timeout"] == 4.0
    for link in (f"{URL}/j", f"{URL}/j#"):
        with pytest.raises(InputError, match="the part after # is missing"):
            form.by_link(link)


def test_a_vote_says_all_that_it_was_told_and_returns_its_id(wire):
    wire.says(GOOD)
    with Judge(URL, "secret") as judge:
        assert judge.vote(4, 0.5, id="mine", ms=1200, reason="sweeter") == "mine"
        first, second = judge.vote(5, None), judge.vote(5, 1.0)
        judge.undo("mine")
    rows = [body["votes"] for _, _, body in wire.sent[:3]]
    assert wire.sent[0][:2] == ("POST", "votes")
    assert rows[0] == [{"id": "mine", "question": 4, "outcome": 0.5, "ms": 1200, "reason": "sweeter"}]
    assert rows[1] == [{"id": first, "question": 5, "outcome": None, "ms": None, "reason": None}]
    assert rows[2][0]["id"] == second
    taken = wire.sent[3]
    assert taken[:2] == ("POST", "undo")
    assert taken[2]["of"] == "mine"
    assert len({first, second, taken[2]["id"], "mine"}) == 4
    assert [len(each) for each in (first, second, taken[2]["id"])] == [32] * 3  # 16 bytes each, as no two should meet


@pytest.mark.parametrize(
    ("receipts", "error", "code", "words"),
    [
        ([], UnavailableError, None, "a vote with 0 receipts"),
        (GOOD["receipts"] * 2, UnavailableError, None, "a vote with 2 receipts"),
        ([{"status": "refused", "code": "late", "message": "too late"}], RefusedError, "late", "too late"),
        ([{"status": "refused", "code": None, "message": None}], RefusedError, "refused", "the vote was refused"),
    ],
)
def test_a_vote_that_is_not_taken_is_told(wire, receipts, error, code, words):
    wire.says({"receipts": receipts})
    with pytest.raises(error, match=words) as told:
        Judge(URL, "secret").vote(1, 1.0)
    assert getattr(told.value, "code", None) == code


@pytest.mark.parametrize(("most", "votes"), [(None, 3), (5, 3), (3, 3), (2, 2), (1, 1), (0, 0)])
def test_a_function_judges_until_nothing_is_left_or_enough_is_done(wire, most, votes):
    hands = [{**HAND, "questions": [pair(k, f"left {k}", f"right {k}"), pair(9)]} for k in (1, 2, 3)]
    wire.says(*[each for hand in hands for each in (hand, GOOD)], HAND)
    seen = []

    def judge(left, right):
        seen.append((left["html"], right["html"]))
        return 0.0

    assert Judge(URL, "secret").answer(judge, most=most) == votes
    assert seen == [(f"left {k}", f"right {k}") for k in range(1, votes + 1)]
    voted = [body["votes"][0] for _, path, body in wire.sent if path == "votes"]
    assert [(row["question"], row["outcome"]) for row in voted] == [(k, 0.0) for k in range(1, votes + 1)]


def test_media_are_fetched_by_the_address_that_comes_with_an_item(wire):
    wire.says(b"\x89PNG")
    assert Judge(f"{URL}/room", "secret").media("/media/7") == b"\x89PNG"
    assert wire.requests[0].url == f"{URL}/room/media/7"


def test_an_organiser_speaks_of_its_own_campaign(wire, tmp_path):
    mine = [{"id": 12, "title": "T"}, {"id": 13}]
    rows = [{"name": "Zoe", "link": "…#z"}, {"name": "Max", "link": "…#m"}]
    wire.says(
        mine, mine, rows, mine, {"state": "open"}, mine, [{"place": 1}], mine, {"votes": 3}, mine, b"a,b", mine, b"{}"
    )
    with Organiser(URL, "secret") as organiser:
        assert organiser.campaign == mine[0]
        assert organiser.invite("Zoe", "Max") == {"Zoe": "…#z", "Max": "…#m"}
        assert organiser.change(state="open", title="New") == {"state": "open"}
        assert organiser.ranking() == [{"place": 1}]
        assert organiser.summary() == {"votes": 3}
        organiser.export("votes", str(tmp_path / "out"))
        assert (tmp_path / "out").read_bytes() == b"a,b"
        organiser.export("journal", str(tmp_path / "out"), form="jsonl")
        assert (tmp_path / "out").read_bytes() == b"{}"
    assert [each for each in wire.sent if each[1] != "campaigns"] == [
        ("POST", "campaigns/12/judges", {"names": ["Zoe", "Max"]}),
        ("PATCH", "campaigns/12", {"state": "open", "title": "New"}),
        ("GET", "campaigns/12/ranking", None),
        ("GET", "campaigns/12/summary", None),
        ("GET", "campaigns/12/export/votes?form=csv", None),
        ("GET", "campaigns/12/export/journal?form=jsonl", None),
    ]
    wire.says([])
    with pytest.raises(RefusedError, match="no campaign of this link") as told:
        Organiser(URL, "secret").summary()
    assert told.value.code == "unknown-campaign"


@pytest.mark.parametrize("busy", [0, 1, TRIES - 1, TRIES, TRIES + 1])
def test_a_busy_server_is_asked_five_times_with_a_wait_between(wire, busy):
    wire.says(*[(429, {"Retry-After": "2"}, {"code": "busy", "message": "one at a time"})] * busy, HAND)
    judge = Judge(URL, "secret")
    if busy < TRIES:
        assert judge.next() == HAND
    else:
        with pytest.raises(UnavailableError, match=r"^one at a time$"):
            judge.next()
    assert TRIES == 5
    assert len(wire.requests) == min(busy + 1, 5)
    assert wire.waits == [2.0] * min(busy, 4)


@pytest.mark.parametrize(
    ("said", "seconds"),
    [(None, 1.0), ("", 1.0), ("0", 0.0), ("0.25", 0.25), ("5", 5.0), ("6", 5.0), ("-1", 5.0), ("nan", 5.0),
     ("inf", 5.0), ("Wed, 18 Nov 2026 11:00:00 GMT", 5.0)],
)  # fmt: skip
def test_the_wait_is_the_servers_within_our_patience(said, seconds):
    assert _wait(said) == seconds
    assert LONGEST_WAIT == 5.0


@pytest.mark.parametrize("status", [400, 401, 403, 404, 409, 422, 500, 502, 503])
@pytest.mark.parametrize(
    ("body", "code", "words"),
    [
        ({"code": "late", "message": "too\nlate"}, "late", r"^too\\nlate$"),
        ({"code": "late", "message": " "}, "failed", "answered STATUS; check the address"),
        ({"code": 3, "message": "too late"}, "failed", "answered STATUS; check the address"),
        (b"<html>", "failed", "answered STATUS; check the address"),
    ],
)
def test_a_refusal_has_the_servers_code_and_words_where_it_is_one_of_ours(wire, status, body, code, words):
    wire.says((status, {}, body))
    error = UnavailableError if status == 503 else RefusedError
    with pytest.raises(error, match=words.replace("STATUS", str(status))) as told:
        Judge(URL, "secret").next()
    assert len(wire.requests) == 1  # only a busy server is asked again
    assert getattr(told.value, "code", code) == code


@pytest.mark.parametrize("body", [b"", b"<html>", b'{"questions": [', b"[" * 100_000], ids=len)
def test_an_answer_that_is_no_json_is_a_strangers(wire, body):
    wire.says(body)
    with pytest.raises(UnavailableError, match=rf"^{URL} answers with something that is no JSON; check the address"):
        Judge(URL, "secret").next()


@pytest.mark.parametrize(
    ("problem", "words"),
    [
        (httpx.ConnectError("refused\nhere"), rf"^{URL} does not answer \(refused\\nhere\); try again$"),
        (httpx.ReadTimeout("too long"), rf"^{URL} does not answer \(too long\); try again$"),
        (httpx.InvalidURL("no port"), rf"^{URL} answers with an address that is none \(no port\); check the address"),
    ],
)
def test_a_server_that_cannot_be_reached_is_said(wire, problem, words):
    wire.says(problem)
    with pytest.raises(UnavailableError, match=words):
        Judge(URL, "secret").next()
    assert len(wire.requests) == 1


def test_what_is_no_json_or_no_address_or_no_header_is_refused_before_it_is_sent(wire):
    wire.says(HAND)
    judge = Judge(URL, "secret")
    for value in (float("nan"), float("inf"), object(), {1}):
        with pytest.raises(InputError, match=r"^votes: what was to be sent is no JSON"):
            judge.vote(1, value)
    with pytest.raises(InputError, match="the secret holds a character that no header can"):
        Judge(URL, "sécret").next()
    with pytest.raises(InputError, match=r"127\.0\.0\.1:x' is no address"):
        Judge("http://127.0.0.1:x", "secret").next()
    for without in ("127.0.0.1:8000", "judge.example.org", "ftp://h"):
        judge = Judge.by_link(f"{without}/j#secret")
        for _ in range(2):
            with pytest.raises(
                InputError, match=rf"^'{without}' is no address.*; give one as http://127\.0\.0\.1:8000$"
            ):
                judge.next()
    assert not wire.requests
    wire.says([{"id": 1}])
    with pytest.raises(InputError, match=r"^cannot write .*nowhere.*: .*; choose another path$"):
        Organiser(URL, "secret").export("votes", "/nowhere/at/all/votes.csv")


def without(value, name):
    return {key: each for key, each in value.items() if key != name}


BROKEN = [
    *[without(HAND, name) for name in HAND],
    *[{**HAND, "campaign": without(CARD, name)} for name in CARD],
    *[{**HAND, "questions": [without(pair(1), name)]} for name in ("id", "left", "right")],
    *[{**HAND, "questions": [pair(1), {**pair(2), "right": without(ITEM, name)}]} for name in ITEM],
    {**HAND, "questions": {}}, {**HAND, "why": 3}, {**HAND, "target": "3"}, {**HAND, "who": None},
    {**HAND, "campaign": {**CARD, "ties": "yes"}}, {**HAND, "questions": [{**pair(1), "id": "1"}]},
    {**HAND, "questions": [{**pair(1), "left": {**ITEM, "html": 3}}]},
]  # fmt: skip


@pytest.mark.parametrize("hand", BROKEN, ids=repr)
def test_a_hand_that_lacks_something_is_no_hand(wire, hand):
    wire.says(hand)
    with pytest.raises(UnavailableError, match="GET next with something else than a Podium server"):
        Judge(URL, "secret").next()


@pytest.mark.parametrize(
    "receipt",
    [{"status": 3, "code": None, "message": None}, {"status": "recorded"}, {**GOOD["receipts"][0], "code": 1}],
)
def test_a_receipt_that_lacks_something_is_none(wire, receipt):
    wire.says({"receipts": [receipt]})
    with pytest.raises(UnavailableError, match="POST votes with something else"):
        Judge(URL, "secret").vote(1, 1.0)


def test_a_form_may_be_exceeded_but_not_fallen_short_of():
    assert _has_form({"a": 1, "more": None}, {"a": int})
    assert _has_form([], [{"a": int}])
    assert _has_form([{"a": 1}, {"a": 2}], [{"a": int}])
    assert not _has_form([{"a": 1}, {}], [{"a": int}])
    assert not _has_form({"a": "1"}, {"a": int})
    assert not _has_form([], {})
    assert not _has_form({}, [{}])
    assert _has_form("tea", str)
    assert not _has_form("\ud800", str)  # which nothing can write down
    assert not _has_form("\ud800", (str, type(None)))


def test_without_httpx_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "httpx", None)
    with pytest.raises(InputError, match=r"the client needs httpx; pip install 'podium\[serve\]'"):
        Judge(URL, "secret").next()
