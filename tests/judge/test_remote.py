"""A model judges through a real `podium serve`, beside people: votes go there, calls stay here."""

import sqlite3
import threading
import time

import pytest
import uvicorn

from judge.conftest import KEY
from judge.server import Model, Server, completion, shown, verdict
from podium.campaign import setup
from podium.campaign.items import Items
from podium.campaign.live import live_votes
from podium.campaign.options import Options
from podium.cli import run
from podium.client import Judge
from podium.errors import InputError, UnavailableError
from podium.judge import HttpJudge
from podium.judge.asking import FunctionJudge
from podium.judge.remote import judge_remote
from podium.judge.settings import Settings
from podium.store import open_store
from podium.store.values import Item
from podium.web.app import make_app

N = 9
TEXTS = {f"item-{k}": f"text <{k}> & more\n\nsecond *paragraph* " + "long " * (k % 3) for k in range(N)}
SCORES = {text.strip(): float(-k) for k, text in enumerate(TEXTS.values())}
PIXEL = b"\x89PNG\r\n\x1a\n" + bytes(60)


class Campaign:
    """A campaign at a running server, with a judge's and an organiser's view of it."""

    def __init__(self, store, url, token, campaign):
        self.store, self.url, self.token, self.campaign = store, url, token, campaign

    @property
    def desk(self):
        return Judge(self.url, self.token)

    def votes(self):
        """Outcomes by labels, of all judges."""
        content = self.store.read(lambda reader: reader.content(self.campaign))
        live = live_votes(content)
        rows = zip(live.left.tolist(), live.right.tolist(), live.value.tolist(), strict=True)
        return [(live.labels[a], live.labels[b], value) for a, b, value in rows]

    def change(self, job):
        self.store.write(self.campaign, lambda writer: job(writer) and None)


@pytest.fixture
def serve(tmp_path):
    """`serve(target=…, …)`: a campaign on a port of this machine, with one judge invited."""
    ends = []

    def begin(items=None, target=None, **options):
        store = open_store(str(tmp_path / "served.db"), new=True)
        rows = items or Items([Item(-1, label, body=text) for label, text in TEXTS.items()])

        def make(writer):
            made, _ = setup.new_campaign(
                writer, rows, title="Essays", question="Which is *better*?", now=store.now(), seed=1,
                instructions="Be **fair**.", options=Options(**options),
            )  # fmt: skip
            return made.id, setup.invite(writer, ["Robot"], store.now(), target=target)[0][1]

        campaign, token = store.write(0, make)
        hold = store.serve()
        hold.__enter__()
        server = uvicorn.Server(uvicorn.Config(make_app(store), port=0, log_level="error"))
        thread = threading.Thread(target=server.run, daemon=True)
        thread.start()
        while not server.started:
            time.sleep(0.01)
        url = f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"

        def end():
            server.should_exit = True
            thread.join()
            hold.__exit__(None, None, None)
            store.close()

        ends.append(end)
        return Campaign(store, url, token, campaign)

    yield begin
    for end in ends:
        end()


def rows(path, sql):
    with sqlite3.connect(path) as connection:
        return connection.execute(sql).fetchall()


def test_votes_go_to_the_server_and_calls_stay_here(serve, tmp_path):
    there = serve(target=20)
    with Server(Model(SCORES, sure=True)) as model, there.desk as desk:
        done = judge_remote(desk, HttpJudge(model.url, "tiny"), Settings(), db=str(tmp_path / "calls.db"))
    votes = there.votes()
    assert len(votes) == done.tally.pairs == 20
    assert all((value == 1.0) == (int(a[-1]) < int(b[-1])) for a, b, value in votes)  # the model's order, each time
    asked = [shown(body) for body in model.requests]
    assert {(b, a) for a, b in asked} == set(asked)
    assert len(asked) == 40
    assert all(first in SCORES for first, _ in asked), "the texts as they are, not as HTML"
    assert "Be fair." in model.requests[0]["messages"][0]["content"]
    assert len(rows(tmp_path / "calls.db", "SELECT * FROM call WHERE done IS NOT NULL")) == 40
    place = {label.partition("<")[2][0]: k for k, label in enumerate(done.order)}
    winners = [(a[-1], b[-1]) if value else (b[-1], a[-1]) for a, b, value in votes]
    assert all(place[won] < place[lost] for won, lost in winners), "the order contradicts a vote"


def test_the_same_command_goes_on_and_sends_what_the_server_missed(serve, tmp_path):
    there = serve(target=12)

    class Broken(Judge):
        left = 5

        def vote(self, *args, **more):
            self.left -= 1
            if self.left < 0:
                raise UnavailableError(f"{self.url} does not answer; try again")
            return super().vote(*args, **more)

    better = FunctionJudge(lambda question: float(SCORES[question.left] > SCORES[question.right]))
    db = str(tmp_path / "calls.db")
    with Broken(there.url, there.token) as desk:
        first = judge_remote(desk, better, Settings(concurrency=4), db=db)
    assert (first.why, "does not answer" in first.words, len(there.votes())) == ("gone", True, 5)
    kept = rows(db, "SELECT count(*) FROM vote")[0][0]
    assert kept > 5
    with there.desk as desk:
        second = judge_remote(desk, better, Settings(concurrency=4), db=db)
    assert second.why == "budget"
    votes = there.votes()
    assert len(votes) == 12
    assert len({frozenset(pair[:2]) for pair in votes}) == 12, "a pair twice"
    assert rows(db, "SELECT count(*), count(DISTINCT question) FROM call") == [(24, 12)]


def test_a_campaign_without_ties_gets_skips_and_pictures_are_shown(serve, tmp_path):
    from podium.campaign.items import read_items

    folder = tmp_path / "pictures"
    folder.mkdir()
    for k in range(4):
        (folder / f"{k}.png").write_bytes(PIXEL + bytes([k]))
    there = serve(read_items(str(folder)), ties=False)
    seen = []

    def act(body, number):
        parts = body["messages"][1]["content"]
        seen.append({part["image_url"]["url"] for part in parts if part["type"] == "image_url"})
        return completion(verdict("A"))  # always the first: no pair has a winner

    with Server(act=act) as model, there.desk as desk:
        db = str(tmp_path / "calls.db")
        done = judge_remote(desk, HttpJudge(model.url, "tiny"), Settings(budget=3, anyway=True), db=db)
    assert done.tally.pairs == 3
    assert len(seen) == 6
    assert all(len(each) == 2 and all(url.startswith("data:image/png;base64,") for url in each) for each in seen)
    assert there.votes() == []
    history = there.desk.ask("GET", "history")
    assert [row["outcome"] for row in history] == [None] * 3


def test_what_cannot_be_judged_is_said_before_any_call(serve, tmp_path):
    there = serve()
    asker = FunctionJudge(lambda question: pytest.fail("asked"))
    db = str(tmp_path / "calls.db")
    with there.desk as desk:
        with pytest.raises(InputError, match="sets no number of votes for this judge; give --budget"):
            judge_remote(desk, asker, Settings(), db=db)
        there.change(lambda writer: setup.set_state(writer, "paused", 1))
        with pytest.raises(InputError, match="the campaign is paused"):
            judge_remote(desk, asker, Settings(budget=3), db=db)
    assert not (tmp_path / "calls.db").exists()


def test_a_campaign_that_is_closed_meanwhile_ends_the_run_with_all_answers_kept(serve, tmp_path):
    there = serve(target=30)
    asked = []

    def judge(question):
        asked.append(question.id)
        if len(asked) == 10:
            there.change(lambda writer: setup.set_state(writer, "closed", 1))
        return float(SCORES[question.left] > SCORES[question.right])

    db = str(tmp_path / "calls.db")
    with there.desk as desk:
        done = judge_remote(desk, FunctionJudge(judge), Settings(concurrency=2), db=db)
    assert done.why == "refused"
    assert "closed" in done.words
    assert rows(db, "SELECT count(*) FROM call WHERE done IS NOT NULL")[0][0] == len(asked)


def call(capfd, *args):
    with pytest.raises(SystemExit) as stop:
        run(["judge", *[str(arg) for arg in args]])
    out, err = capfd.readouterr()
    return stop.value.code, out, err


def test_the_command_judges_by_a_link_of_the_environment(serve, tmp_path, capfd, monkeypatch):
    monkeypatch.chdir(tmp_path)
    there = serve(target=8)
    at = ["--server", there.url, "--base-url"]
    with Server(Model(SCORES, sure=True)) as model:
        at += [model.url, "--model", "tiny"]
        code, _, err = call(capfd, *at)
        assert (code, "set PODIUM_JUDGE_LINK to the one that the organiser sent" in err) == (2, True)
        monkeypatch.setenv("PODIUM_JUDGE_LINK", f"{there.url}/j#{there.token}")
        code, _, err = call(capfd, "served.db", "--base-url", model.url, "--model", "tiny")
        assert (code, "judge through it by --server and a judge's link, or stop it" in err) == (2, True)
        code, out, err = call(capfd, *at, "--format", "csv")
        assert code == 0, err
        assert "kept in essays-0.podium.db" in err
        assert "of this judge's votes alone" in err
        assert "until stable" not in err  # that depends on the votes of all
        assert out.startswith("place,item")
        for wrong, words in (
            (["items.csv"], "--server has the items; leave items.csv out"),
            (["--question", "Q?"], "--question is for items or a file"),
            (["--one-order"], "--one-order is for items or a file"),
        ):
            code, _, err = call(capfd, *wrong, *at)
            assert (code, words in err) == (2, True), err
        code, _, err = call(capfd, "--server", f"{there.url}/j#{there.token}", *at[2:])
        assert (code, "holds a secret" in err, there.token in err) == (2, True, False)
        monkeypatch.setenv("PODIUM_JUDGE_LINK", "wrong-secret")
        code, _, err = call(capfd, *at)
        assert (code, "link" in err, "wrong-secret" in err) == (2, True, False)
    assert len(there.votes()) == 8
    for secret in (KEY, there.token):
        assert secret.encode() not in (tmp_path / "essays-0.podium.db").read_bytes()


def test_a_server_that_takes_votes_slowly_ends_no_run_early(serve, tmp_path):
    """Pairs that are judged and not yet delivered are still in hand there: nothing new comes until they are."""
    there = serve(target=20)

    class Slow(Judge):
        def vote(self, *args, **more):
            time.sleep(0.05)
            return super().vote(*args, **more)

    better = FunctionJudge(lambda question: float(SCORES[question.left] > SCORES[question.right]))
    with Slow(there.url, there.token) as desk:
        done = judge_remote(desk, better, Settings(concurrency=20), db=str(tmp_path / "calls.db"))
    assert (done.why, done.tally.pairs, len(there.votes())) == ("budget", 20, 20)


def test_the_file_of_calls_lies_here_whatever_the_server_calls_the_judge():
    from podium.judge.remote import file_of

    class Sly:
        url = "http://127.0.0.1"

        def next(self, count=3):
            return {"who": "../../etc/x y"}

    assert file_of(Sly()) == "------etc-x-y.podium.db"


@pytest.mark.parametrize("address", ["http://[", "ftp://x", "x"])
def test_an_address_that_is_none_is_refused_in_a_sentence(address, capfd):
    code, _, err = call(capfd, "--server", address, "--command", "cat")
    assert code == 2
    assert "is no address" in err
