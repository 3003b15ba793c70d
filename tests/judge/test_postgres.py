"""Models on PostgreSQL: calls and votes as on a file, several runs at a time sharing the pairs."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from judge.server import Server
from podium.errors import InputError
from podium.judge import HttpJudge, judge_pairs
from podium.store import open_store

from suites import postgres

Q = {"question": "Which is better?", "seed": 1}


@pytest.fixture
def address():
    return postgres.server().new_database()


def calls_of(address):
    with open_store(address) as store:
        return store.read(lambda reader: list(reader.calls(reader.campaigns()[0].id)))


def test_a_run_on_postgresql_is_that_on_a_file(address, world, tmp_path):
    texts, _, model = world(7, lean=0.5)
    places = (address, str(tmp_path / "file.db"))
    asked = {"budget": 21, "price_in": 1.0, "price_out": 2.0, "anyway": True, **Q}  # all pairs there are
    with Server(model) as server:
        here, there = (judge_pairs(texts, HttpJudge(server.url, "tiny"), db=db, **asked) for db in places)
    assert here.tally == there.tally
    assert here.tally.cost == pytest.approx(42 * (100 * 1.0 + 10 * 2.0) / 1e6)
    told, kept = (sorted((each.first, each.second, each.outcome, each.raw) for each in calls_of(db)) for db in places)
    assert told == kept
    assert len(told) == 42


def test_going_on_asks_only_what_is_missing(address, world):
    texts, _, model = world(8, sure=True)
    with Server(model) as server:
        judge_pairs(texts, HttpJudge(server.url, "tiny"), db=address, budget=10, **Q)
        assert len(server.requests) == 20
        done = judge_pairs(texts, HttpJudge(server.url, "tiny"), db=address, budget=15, **Q)
        assert (len(server.requests), done.tally.pairs) == (30, 15)


def test_two_models_share_the_pairs_and_one_name_runs_once(address, world):
    texts, _, model = world(12, sure=True)
    began = threading.Event()
    refused = []

    def act(body, number):
        if number == 5:
            began.set()

    def run(name):
        with Server(model, act, delay=0.01) as server:
            return judge_pairs(texts, HttpJudge(server.url, "tiny"), db=address, name=name, budget=30, **Q)

    def again():
        began.wait(60)
        with Server(model) as server, pytest.raises(InputError, match="another model judges here") as problem:
            judge_pairs(texts, HttpJudge(server.url, "tiny"), db=address, name="first", budget=30, **Q)
        refused.append(problem.value)

    with open_store(address, new=True):
        pass  # both find the tables made
    with Server(model) as server:
        judge_pairs(texts, HttpJudge(server.url, "tiny"), db=address, name="zero", budget=1, **Q)
    with ThreadPoolExecutor(3) as pool:
        runs = [pool.submit(run, name) for name in ("first", "second")]
        third = pool.submit(again)
        done = [each.result(120) for each in runs]
        third.result(120)
    assert len(refused) == 1
    assert [each.tally.pairs for each in done] == [30, 30]
    calls = calls_of(address)
    asked = {(call.judge, call.first, call.second) for call in calls}
    assert len(asked) == len(calls) == 2 * 61
    assert all(call.done is not None for call in calls)
