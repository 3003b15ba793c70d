"""The client against a real server on a real port."""

import threading
import time

import pytest
import uvicorn

from podium.client import Judge, Organiser
from podium.errors import InputError, RefusedError, UnavailableError

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
