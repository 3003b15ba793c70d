"""The client against a real server on a real port."""

import threading
import time

import pytest
import uvicorn

from judge.server import Server
from podium.client import Judge, Organiser
from podium.errors import InputError, PodiumError, RefusedError, UnavailableError

from web.rooms import new_room


@pytest.fixture
def served(store):
    """A campaign on a server of its own, and its address."""
    room = new_room(store)
    server = uvicorn.Server(uvicorn.Config(room.app, port=0, log_level="error"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    yield room, f"http://127.0.0.1:{port}"
    server.should_exit = True
    thread.join()


def test_judging_and_organising_from_python(served, tmp_path):
    room, url = served
    with Judge(url, room.judge_token) as judge, Organiser(url, room.organiser_token) as organiser:
        assert judge.answer(lambda left, right: 1.0 if left["html"] < right["html"] else 0.0, most=10) == 10
        id = judge.vote(judge.next()["questions"][0]["id"], 0.5)
        assert organiser.summary()["votes"] == 11
        judge.undo(id)
        assert organiser.summary()["votes"] == 10
        links = organiser.invite("Zoe", "Max")
        with Judge.by_link(f"{url}/j#{links['Zoe'].partition('#')[2]}") as zoe:
            assert zoe.next()["judge"] == "Zoe"
        organiser.export("ranking", str(tmp_path / "order.csv"))
        assert (tmp_path / "order.csv").read_text().startswith("place,item,")
        assert [row["place"] for row in organiser.ranking()] == list(range(1, 9))
        assert organiser.change(state="closed")["state"] == "closed"
        with pytest.raises(RefusedError, match="closed"):
            judge.vote(1, 1.0)


def test_what_is_wrong_is_said_in_the_servers_words_and_no_secret_is_shown(served):
    _, url = served
    judge = Judge(url, "a wrong secret")
    with pytest.raises(RefusedError, match="this link is not known") as told:
        judge.next()
    assert told.value.code == "unknown-token"
    assert "a wrong secret" not in repr(judge) + str(told.value)
    with pytest.raises(InputError, match="part after # is missing"):
        Judge.by_link(f"{url}/j")
    with pytest.raises(UnavailableError, match="does not answer"):
        Judge("http://127.0.0.1:9", "x", timeout=1).next()


@pytest.mark.parametrize("what", ["votes", "ranking", "journal", "report", "all"])
@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet"])
def test_every_export_in_every_form_is_what_the_server_sent(served, tmp_path, what, form):
    room, url = served
    with Judge(url, room.judge_token) as judge, Organiser(url, room.organiser_token) as organiser:
        judge.answer(lambda left, right: 1.0, most=3)
        organiser.export(what, str(tmp_path / "out"), form=form)
        sent = room.organiser.get(f"{room.at}/export/{what}", params={"form": form})
        written = (tmp_path / "out").read_bytes()
        assert len(written) > 0
        if what in ("votes", "ranking", "journal"):  # a page and an archive name the minute
            assert written == sent.content
        with pytest.raises(InputError, match="cannot write"):
            organiser.export(what, str(tmp_path / "no" / "out"), form=form)


CARD = b'{"title": "T", "question": "?", "instructions": "", "ties": true}'
STRANGE = [
    (200, {}, b""), (200, {}, b"<html>Sign in</html>"), (200, {"Content-Type": "application/json"}, b'{"questions": ['),
    (200, {}, b"NaN"), (200, {}, b"[]"),
    (200, {}, b'{"questions": [], "why": null, "target": null, "who": "\\ud800", "campaign": ' + CARD + b"}"),
    (200, {}, b'{"questions": [{"id": "1"}], "why": null, "target": null, "who": "x", "campaign": ' + CARD + b"}"),
    (200, {}, b"[" * 100_000),
    (301, {"Location": "http://127.0.0.2/"}, b""), (302, {"Location": "javascript:x"}, b""),
    (404, {}, b"<html>"), (404, {}, b"[]"),
    (403, {}, b'{"code": 3, "message": null}'), (403, {}, b'{"code": "x", "message": "two\\nlines"}'),
    (429, {"Retry-After": "soon"}, b""),
    (429, {"Retry-After": "nan"}, b"{}"), (503, {}, b"busy"), b"", b"SSH-2.0-x\r\n", "half",
]  # fmt: skip


@pytest.mark.parametrize("reply", STRANGE, ids=lambda reply: repr(reply)[:60])
def test_whatever_a_server_answers_ends_in_one_sentence(reply, monkeypatch):
    waits = []
    monkeypatch.setattr("podium.client.time.sleep", waits.append)
    with (
        Server(act=lambda body, number: reply) as strange,
        Judge(strange.url, "secret") as judge,
        Organiser(strange.url, "secret") as organiser,
    ):
        for call in (judge.next, lambda: judge.vote(1, 1.0), organiser.summary, lambda: organiser.invite("Zoe")):
            with pytest.raises(PodiumError) as told:
                call()
            assert len(str(told.value).splitlines()) == 1
            assert "secret" not in str(told.value)
    assert all(0 <= seconds <= 5 for seconds in waits)


def test_what_cannot_be_sent_is_refused_before_it_is(served):
    room, url = served
    with Judge(url, room.judge_token) as judge:
        pair = judge.next()["questions"][0]["id"]
        with pytest.raises(InputError, match="no JSON"):
            judge.vote(pair, float("nan"))
        with pytest.raises(RefusedError):
            judge.vote(pair, 1.0, reason="\ud800")
    for address, token, words in (("http://127.0.0.1:x", "x", "is no address"), (url, "sécret", "no header can")):
        with pytest.raises(InputError, match=words) as told:
            Judge(address, token).next()
        assert "sécret" not in str(told.value)
