"""The writing thread step by step: who is waited for, what is taken back, and who hears of it."""

import asyncio
import queue
import sqlite3
import threading
from concurrent.futures import Future
from types import SimpleNamespace

import pytest
from sqlalchemy.exc import IntegrityError, OperationalError

from podium.errors import InputError, RefusedError, UnavailableError
from podium.store import commits, open_store
from podium.store.commits import Committer, Job
from podium.store.values import Vote
from podium.store.warm import Warm

from suites.store import new_campaign, vote

FULL = OperationalError("INSERT", {}, sqlite3.OperationalError("database or disk is full"))
TWICE = IntegrityError("INSERT", {}, sqlite3.IntegrityError("UNIQUE constraint failed"))


def job(work=None, campaign=1, repeatable=False):
    return Job(campaign, work or (lambda writer: "done"), repeatable=repeatable)


# ---- who is in a commit ---------------------------------------------------------------------------------------------


class Box:
    """A queue that says how it was asked; an entry may come only after it was waited for."""

    def __init__(self, *entries):
        self.entries, self.asked = list(entries), []

    def get(self, timeout):
        self.asked.append(timeout)
        return self._next()

    def get_nowait(self):
        self.asked.append(None)
        return self._next()

    def _next(self):
        if not self.entries or self.entries[0] == "nothing":
            del self.entries[:1]
            raise queue.Empty
        return self.entries.pop(0)


def batch(box, *, took=0.0, here=1, first=1):
    """The batch of a committer without a thread, on a clock that stands still."""
    committer = object.__new__(Committer)
    committer._jobs, committer._took, committer._here = box, took, here
    return committer._batch(list(range(first)))


@pytest.fixture
def clock(monkeypatch):
    now = SimpleNamespace(time=100.0)
    monkeypatch.setattr(commits.time, "monotonic", lambda: now.time)
    return now


def test_one_alone_is_never_waited_for(clock):
    box = Box()
    assert batch(box, took=240.0, here=1) == ([0], False)
    assert box.asked == [None]


def test_those_who_were_here_are_waited_for_a_quarter_of_the_last_commit_and_no_longer_than_a_moment(clock):
    for took, wait in ((0.004, 0.001), (0.008, 0.002), (240.0, 0.002)):
        box = Box([1], "nothing")
        assert batch(box, took=took, here=3) == ([0, 1], False)
        assert box.asked == pytest.approx([wait, wait])
    box = Box([1], [2], [3])
    assert batch(box, took=0.004, here=2) == ([0, 1, 2, 3], False)
    assert box.asked == [pytest.approx(0.001), None, None, None]  # whoever has come meanwhile is taken along


def test_a_first_commit_waits_for_nobody(clock):
    box = Box()
    assert batch(box, took=0.0, here=5) == ([0], False)
    assert box.asked == [None]


def test_the_wait_is_over_when_its_time_is(clock):
    class Slow(Box):
        def get(self, timeout):
            clock.time += timeout
            return super().get(timeout)

    box = Slow([1], [2])
    assert batch(box, took=0.004, here=9) == ([0, 1, 2], False)
    assert box.asked == [pytest.approx(0.001), None, None]


def test_the_last_jobs_ever_are_said_to_be(clock):
    assert batch(Box(None)) == ([0], True)
    assert batch(Box([1, 2], None)) == ([0, 1, 2], True)
    assert batch(Box([1, 2])) == ([0, 1, 2], False)


def test_a_commit_has_so_many_jobs(clock, monkeypatch):
    monkeypatch.setattr(commits, "MAX_JOBS", 3)
    for first, taken in ((1, 3), (2, 3), (3, 3), (4, 4)):
        box = Box(*([k] for k in range(first, 9)))
        assert len(batch(box, first=first)[0]) == taken
    assert batch(Box([1, 2, 3, 4], [5]))[0] == [0, 1, 2, 3, 4]  # what came together stays together


def test_a_job_begins_if_anybody_still_wants_it():
    thread = job()
    assert thread.begins()
    assert thread.result.running()
    gone = job()
    gone.result.cancel()
    assert not gone.begins()
    loop = asyncio.new_event_loop()
    waiting, left = (Job(1, print, loop.create_future()) for _ in range(2))
    left.result.cancel()
    assert waiting.begins()
    assert not left.begins()
    loop.close()
    assert not waiting.repeatable
    assert isinstance(thread.result, Future)


# ---- a job in its transaction ---------------------------------------------------------------------------------------


class Writer:
    """Says what was done with it."""

    def __init__(self, problem=None):
        self.state, self.written, self.said, self.problem = "before", 0, [], problem
        self.warm = SimpleNamespace(clear=lambda: self.said.append("forget"))

    def lock(self, campaign):
        self.said.append(f"lock {campaign}")
        if self.problem is not None:
            raise self.problem

    def raw(self, statement):
        self.said.append(statement)

    def back_to(self, state):
        self.said.append(f"back to {state}")


def writes(problem=None):
    def work(writer):
        writer.written += 1
        writer.state = "after"
        if problem is not None:
            raise problem
        return "done"

    return work


def refuses(problem):
    def work(writer):
        raise problem

    return work


KEEP = ["SAVEPOINT job", "RELEASE SAVEPOINT job"]
BACK = ["SAVEPOINT job", "ROLLBACK TO SAVEPOINT job", "RELEASE SAVEPOINT job", "forget", "back to before"]


@pytest.mark.parametrize("problem", [InputError("no"), RefusedError("no", "no"), TWICE, KeyError("x")])
def test_apart_a_refusal_takes_back_what_its_job_wrote(problem):
    writer = Writer()
    assert commits._done(writer, job(writes(problem)), apart=True) == (None, problem)
    assert writer.said == ["lock 1", *BACK]
    writer = Writer()
    assert commits._done(writer, job(writes()), apart=True) == ("done", None)
    assert writer.said == ["lock 1", *KEEP]


def test_a_database_that_fails_fails_the_commit_either_way():
    for apart in (True, False):
        writer = Writer()
        with pytest.raises(OperationalError):
            commits._done(writer, job(writes(FULL)), apart=apart)
        assert writer.said == ["lock 1", *(["SAVEPOINT job"] if apart else [])]


def test_without_savepoints_a_job_that_wrote_and_is_refused_makes_all_begin_anew():
    for problem in (TWICE, InputError("no")):
        with pytest.raises(commits._LateRefusalError) as caught:
            commits._done(Writer(), job(writes(problem)), apart=False)
        assert caught.value.__cause__ is problem
    with pytest.raises(commits._LateRefusalError):
        commits._done(Writer(), job(refuses(TWICE)), apart=False)  # the database may have written before it refused


def test_without_savepoints_a_job_that_wrote_nothing_is_refused_by_itself():
    writer, problem = Writer(), InputError("no")
    assert commits._done(writer, job(refuses(problem)), apart=False) == (None, problem)
    assert writer.said == ["lock 1", "back to before"]
    writer = Writer()
    assert commits._done(writer, job(writes()), apart=False) == ("done", None)
    assert writer.said == ["lock 1"]


def test_a_campaign_that_is_not_there_is_a_refusal_and_one_to_be_made_is_not_locked():
    problem = RefusedError("unknown-campaign", "no")
    ran = []
    for apart in (True, False):
        writer = Writer(problem)
        assert commits._done(writer, job(ran.append, campaign=9), apart=apart) == (None, problem)
        assert writer.said == ["lock 9"]
        writer = Writer(problem)
        assert commits._done(writer, job(campaign=0), apart=apart) == ("done", None)
        assert writer.said == (KEEP if apart else [])
    assert ran == []


# ---- a transaction for all ------------------------------------------------------------------------------------------


@pytest.fixture
def committer():
    """One without a thread, whose transactions a test makes."""
    one = object.__new__(Committer)
    one.words = lambda problem: UnavailableError(f"said: {problem.orig}")
    one.warm, one.commits, one._jobs, one._failures = Warm(), 0, queue.SimpleQueue(), (OperationalError,)
    one._took, one._here = 0.0, 1
    one.forgotten = 0

    def clear():
        one.forgotten += 1

    one.warm.clear = clear
    return one


def begun(*jobs):
    for each in jobs:
        each.result.set_running_or_notify_cancel()
    return list(jobs)


@pytest.mark.parametrize(
    ("repeatable", "apart"), [((True, True), False), ((True, False), True), ((False,), True), ((), False)]
)
def test_jobs_are_apart_unless_all_may_be_run_again(committer, repeatable, apart):
    asked = []
    committer._transaction = lambda batch, *, apart: asked.append(apart) or [(each, 7, None) for each in batch]
    jobs = begun(*(job(repeatable=each) for each in repeatable))
    committer._jobs.put("waits")
    committer._write(jobs)
    assert asked == [apart]
    assert [each.result.result() for each in jobs] == [7] * len(jobs)
    assert (committer.commits, committer._here, committer.forgotten) == (1, len(jobs) + 1, 0)
    assert committer._took >= 0


def test_after_a_late_refusal_all_begin_anew_apart(committer):
    asked = []

    def transaction(batch, *, apart):
        asked.append((apart, committer.forgotten))
        if not apart:
            raise commits._LateRefusalError
        return [(batch[0], 1, None), (batch[1], None, RefusedError("no", "no"))]

    committer._transaction = transaction
    one, two = begun(job(repeatable=True), job(repeatable=True))
    committer._write([one, two])
    assert asked == [(False, 0), (True, 1)]
    assert one.result.result() == 1
    with pytest.raises(RefusedError):
        two.result.result()
    assert committer.commits == 1


def test_what_fails_fails_for_all_and_counts_as_no_commit(committer):
    for problem, kind, words in ((FULL, UnavailableError, "said: database or disk is full"), (KeyError("x"), KeyError, "'x'")):  # noqa: E501  # fmt: skip

        def transaction(batch, *, apart, problem=problem):
            raise problem

        committer._transaction, committer.forgotten = transaction, 0
        jobs = begun(job(), job())
        committer._write(jobs)
        for each in jobs:
            with pytest.raises(kind) as caught:
                each.result.result()
            assert str(caught.value) == words
        assert (committer.commits, committer.forgotten, committer._here) == (0, 1, 1)


def test_a_refusal_by_the_database_is_said_for_people(committer):
    assert committer._worded(None) is None
    own = InputError("no")
    assert committer._worded(own) is own
    assert str(committer._worded(TWICE)) == "said: UNIQUE constraint failed"


# ---- who hears of it ------------------------------------------------------------------------------------------------


def test_a_loop_is_woken_once_for_all_that_wait_in_it():
    calls = []

    class Loop:
        def __init__(self, closed=False):
            self.closed = closed

        def call_soon_threadsafe(self, function, some):
            if self.closed:
                raise RuntimeError("Event loop is closed")
            calls.append((self, [(value, problem) for _, value, problem in some]))
            function(some)

    def waits(loop):
        settled = []
        result = SimpleNamespace(
            get_loop=lambda: loop, done=lambda: False, settled=settled,
            set_result=lambda value: settled.append(value), set_exception=lambda problem: settled.append(problem),
        )  # fmt: skip
        return Job(1, print, result)

    one, other, closed, thread = Loop(), Loop(), Loop(closed=True), job()
    jobs = [waits(one), waits(closed), waits(other), waits(one)]
    problem = InputError("no")
    commits._hand_out([(jobs[0], 1, None), (jobs[1], 2, None), (jobs[2], 3, None), (jobs[3], None, problem), (thread, 5, None)])  # noqa: E501  # fmt: skip
    assert calls == [(one, [(1, None), (None, problem)]), (other, [(3, None)])]
    assert [each.result.settled for each in jobs] == [[1], [], [3], [problem]]
    assert thread.result.result() == 5


def test_who_has_gone_is_left_and_the_rest_is_told():
    gone, here, refused = (job() for _ in range(3))
    gone.result.cancel()
    problem = KeyError("x")
    commits._settle([(gone, 1, None), (here, None, None), (refused, 2, problem)])
    assert gone.result.cancelled()
    assert here.result.result() is None
    assert refused.result.exception() is problem


# ---- on a real file -------------------------------------------------------------------------------------------------


def test_nothing_is_remembered_of_what_was_taken_back(store):
    """What a refused job did to the campaign, its judges and its counts is not there for the next."""
    campaign = new_campaign(store)
    vote(store, campaign, name="a")

    def spoils(writer):
        writer.change(state="closed")
        writer.change_judge(0, name="spoilt")
        writer.judge(campaign, 0)
        writer.append_new(Vote(0, "b", 0, 1, 1.0))
        writer.count_votes(campaign, 0)
        raise RefusedError("no", "not this one")

    with pytest.raises(RefusedError):
        store.write(campaign, spoils)

    def look(writer):
        return (
            writer.locked.state,
            writer.judge(campaign, 0).name,
            writer.count_votes(campaign, 0),
            writer.locked.last_vote,
        )

    assert store.write(campaign, look) == ("open", "judge 0", 1, 1)
    assert vote(store, campaign, name="b").seq == 2


def test_a_store_that_is_closed_takes_no_more(path):
    store = open_store(str(path), new=True)
    campaign = new_campaign(store)
    store.close()
    for send in (lambda: store.submit(campaign, print), lambda: store.send([job()])):
        with pytest.raises(UnavailableError) as caught:
            send()
        assert str(caught.value) == "the store is closed; open it again"
    assert not any(thread.name == "podium-writer" and thread is store._committer._thread for thread in threading.enumerate())  # noqa: E501  # fmt: skip
