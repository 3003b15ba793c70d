"""Several processes on one PostgreSQL: no pair in two hands, one that plans, the same rules as on SQLite."""

import json
import subprocess
import sys

import pytest
from hypothesis import settings
from hypothesis.stateful import run_state_machine_as_test

from podium.campaign import planning
from podium.store import open_store

from suites import postgres
from suites.campaigns import Bench
from suites.machine import CampaignMachine

SERVE = """
import json, sys, threading
from podium.campaign import desk
from podium.store import open_store

url, campaign, judges = sys.argv[1], int(sys.argv[2]), json.loads(sys.argv[3])
store = open_store(url)
print("ready", flush=True)
sys.stdin.readline()

def serve(judge):
    hand = store.write(campaign, lambda w: desk.next_pairs(w, judge, store.now(), 10))
    held.extend([question.left, question.right] for question in hand.questions)
    barrier.wait()
    for k in range(12):
        now = store.now()
        hand = store.write(campaign, lambda w: desk.next_pairs(w, judge, now))
        ballot = desk.Ballot(f"{judge}-{k}", hand.questions[0].id, 1.0)
        receipts, _ = store.write(campaign, lambda w: desk.vote(w, judge, [ballot], now))
        assert receipts[0].status == "stored", receipts

def meet():
    print(json.dumps(held), flush=True)
    sys.stdin.readline()

held, barrier = [], threading.Barrier(len(judges), action=meet)
threads = [threading.Thread(target=serve, args=(judge,)) for judge in judges]
for each in threads: each.start()
for each in threads: each.join()
store.close()
"""


@pytest.fixture(scope="module")
def url():
    return postgres.server().new_database()


def test_three_serving_processes_never_lease_a_pair_twice(url):
    with open_store(url, new=True) as store:
        bench = Bench(store, items=30, judges=[f"judge {k}" for k in range(6)])
        planning.plan_once(store, bench.id, store.now())
        serving = [
            subprocess.Popen(
                [sys.executable, "-c", SERVE, url, str(bench.id), json.dumps(judges)],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            )
            for judges in ([0, 1], [2, 3], [4, 5])
        ]  # fmt: skip
        for each in serving:
            assert each.stdout.readline() == "ready\n"
        _tell(serving)
        held = [tuple(sorted(pair)) for each in serving for pair in json.loads(each.stdout.readline())]
        _tell(serving)
        for each in serving:
            _, errors = each.communicate(timeout=120)
            assert each.returncode == 0, errors
        rows = store.read(lambda r: r.run("SELECT question FROM lease WHERE campaign = :c", {"c": bench.id}))
        votes = store.read(lambda reader: list(reader.votes(bench.id)))
    assert len(held) == len(set(held)) == 60  # all in hand at the same time
    assert len(rows) == len(set(rows)) > 60  # no question to two judges, though all were answered meanwhile
    assert [vote.seq for vote in votes] == list(range(1, 73))


def test_of_two_planning_processes_on_postgresql_one_plans(url):
    with open_store(url, new=True) as store, open_store(url) as other:
        bench = Bench(store)
        first, second = planning.Planning(store, every=0.01), planning.Planning(other, every=0.01)
        first.start()
        for _ in range(2000):
            if bench.read(lambda reader: reader.campaign(bench.id)).plans:
                break
            first._stop.wait(0.01)
        second.start()
        second._stop.wait(0.3)
        assert second.plans == 0
        assert "process" in store.holder("plan")
        first.stop()
        second.stop()
        assert store.holder("plan") is None


def _tell(processes):
    for each in processes:
        each.stdin.write("go\n")
        each.stdin.flush()


class OnPostgreSQL(CampaignMachine):
    """The same machine on the other database."""

    def opened(self, new=False):
        return open_store(DATABASE[0], new=new)


DATABASE = []


def test_the_machine_on_postgresql(url):
    DATABASE[:] = [url]
    limits = settings(max_examples=4, stateful_step_count=25, deadline=None)
    run_state_machine_as_test(OnPostgreSQL, settings=limits)
