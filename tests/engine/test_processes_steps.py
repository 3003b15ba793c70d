"""Processes without a process: workers that do a job when a test says so, so that every step can be looked at."""

import operator
import os
import pickle
from types import SimpleNamespace

import pytest

from podium.engine import Processes, processes
from podium.engine.base import Serial, Through
from podium.engine.processes import _Job, _of_parts, _Worker, cores, shares
from podium.engine.worker import Task
from podium.errors import EngineError, InputError

from suites.engines import bracket, scaled, tell, wrap


class Hand:
    """A worker that is told by the test when it has done its job."""

    def __init__(self):
        self.process = self.channel = self
        self.job, self.numbers, self.messages, self.ended, self.done = None, set(), [], 0, []

    def start(self, job, message):
        self.job, job.at = job, 0
        self.numbers.add(job.number)
        task, total = pickle.loads(message), None
        for k, chunk in enumerate(job.chunks):
            total = task.go_on(total, chunk, first=k == 0)
        self.messages = [("value", (total, []))]

    def recv(self):
        if not self.messages:
            raise EOFError
        self.done.append(self.job.chunks)
        return pickle.dumps(self.messages.pop(0)), []

    def is_alive(self):
        return True

    def end(self):
        self.ended += 1
        return -9


@pytest.fixture
def hands(monkeypatch):
    """Makes an engine; `order` picks who is heard next of those that are busy."""
    made = []

    def worker():
        made.append(Hand())
        return made[-1]

    def engine(n, order=lambda busy: [min(busy, key=_number)]):
        one = Processes(n)
        one.made = made
        monkeypatch.setattr(one, "_ready", lambda timeout: order(one._busy))
        return one

    monkeypatch.setattr(processes, "_Worker", worker)
    return engine


def newest(busy):
    """Whoever was given a job last is done first."""
    return [max(busy, key=_number)]


def _number(worker):
    return worker.job.number


def counted(taken, count):
    for k in range(count):
        taken.append(k)
        yield k


# ---- which jobs are out ---------------------------------------------------------------------------------------------


def test_as_many_chunks_are_taken_as_there_are_workers(hands):
    engine, taken = hands(3), []
    found = engine.map(wrap, counted(taken, 50))
    assert next(found) == "0"
    assert len(engine.made) == 3
    assert taken == [0, 1, 2, 3]  # the one that was done has the next
    assert next(found) == "1"
    assert taken == [0, 1, 2, 3, 4]
    found.close()


@pytest.mark.parametrize("n", [1, 2, 3])
def test_so_many_jobs_are_done_ahead_of_the_first_and_no_more(hands, n):
    """The first is the last to be done: meanwhile four for each worker, it among them, may be out or done."""
    taken = []

    def all_but_the_first(busy):
        others = [worker for worker in busy if worker.job.number]
        return others[:1] or busy[:1]

    engine = hands(n, all_but_the_first)
    found = engine.map(wrap, counted(taken, 50))
    assert next(found) == "0"
    numbers = {job for worker in engine.made for job in worker.numbers}
    assert numbers == set(range(4 * n if n > 1 else 2))
    assert taken == list(range(5 * n if n > 1 else 2))  # as many wait as there are workers
    assert list(found) == [str(k) for k in range(1, 50)]
    assert all(worker.ended == 0 for worker in engine.made)


def test_values_come_in_order_whoever_is_done_first(hands):
    for n in (1, 2, 3):
        assert list(hands(n, newest).map(wrap, range(30))) == [str(k) for k in range(30)]
    assert list(hands(2).map(wrap, [])) == []


def test_workers_at_work_are_ended_where_nobody_wants_the_rest_and_idle_ones_stay(hands):
    engine = hands(3)
    found = engine.map(wrap, range(3))
    assert next(found) == "0"
    first, second, third = engine.made
    found.close()
    assert [worker.ended for worker in engine.made] == [0, 1, 1]
    assert engine._workers == [first]
    assert first.job is None
    assert second.job is not None
    assert third.job is not None


def test_one_call_at_a_time(hands):
    engine = hands(2)
    found = engine.map(wrap, range(5))
    next(found)
    with pytest.raises(AssertionError, match="one call at a time"):
        next(engine.map(wrap, range(5)))
    assert next(found) == "1"
    found.close()


def test_a_job_whose_worker_died_is_done_again_before_those_that_wait(hands):
    engine, lost = hands(2), []

    def spoil(busy):
        for worker in busy:
            if worker.job.number == 1 and len(lost) < 2:
                lost.append(worker)
                worker.messages = []
                return [worker]
        return busy[:1]

    engine._ready = lambda timeout: spoil(engine._busy)
    taken = []
    assert list(engine.map(wrap, counted(taken, 6))) == list("012345")
    assert len(lost) == 2
    assert [worker.ended for worker in lost] == [1, 1]
    assert taken == list(range(6))
    assert len(engine._workers) == 2


def test_a_job_that_ends_three_workers_is_an_error_when_its_turn_comes(hands):
    engine = hands(2)

    def spoil(busy):
        for worker in busy:
            if worker.job.chunks == ["c"]:
                worker.messages = []
        return busy[-1:]

    engine._ready = lambda timeout: spoil(engine._busy)
    found, values = engine.map(wrap, "abcd"), []
    with pytest.raises(EngineError) as caught:
        values.extend(iter(found.__next__, "never"))
    assert str(caught.value) == (
        "'c' ended 3 worker processes, the last by signal 9; too little memory? use jobs=1"
    )  # fmt: skip
    assert values == ["a", "b"]


# ---- sums -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("n", "count", "branches"),
    [(1, 7, 0), (1, 8, 1), (1, 17, 2), (2, 8, 0), (2, 15, 0), (2, 16, 2), (2, 31, 2), (2, 32, 4), (3, 47, 3)],
)
def test_workers_add_whole_branches_while_there_is_one_for_each(hands, n, count, branches):
    engine = hands(n)
    jobs = []
    run = engine._run
    engine._run = lambda some, *more: run((jobs.append(job.chunks) or job for job in some), *more)
    assert engine.sum(wrap, range(count), add=bracket) == Serial().sum(wrap, range(count), add=bracket)
    eights = [list(range(k, k + 8)) for k in range(0, 8 * branches, 8)]
    assert jobs == eights + [[k] for k in range(8 * branches, count)]


def test_jobs_are_numbered_from_the_first(hands):
    engine = hands(2)
    engine.sum(wrap, range(18))
    assert sorted(number for worker in engine.made for number in worker.numbers) == [0, 1, 2, 3]
    engine = hands(2)
    engine.made.clear()
    list(engine.map(wrap, range(3)))
    assert sorted(number for worker in engine.made for number in worker.numbers) == [0, 1, 2]


def further(total, chunk, *shared):
    return f"{total}|{chunk}"


def test_a_sum_that_goes_on_has_its_first_share_done_here_and_the_rest_by_workers(hands):
    engine = hands(3)
    assert engine.sum(wrap, "abcdef", add=bracket, extend=further) == "((a|b+c|d)+e|f)"
    assert [worker.done for worker in engine.made] == [[["c", "d"]], [["e", "f"]]]
    engine.made.clear()
    assert hands(2).sum(wrap, "a", add=bracket, extend=further) == "a"
    assert [worker.done for worker in engine.made] == [[["a"]]]  # a single chunk is a worker's


def tell_on(total, chunk):
    return total + tell(chunk)


def test_what_is_reported_here_lets_workers_through(hands):
    """A worker that waits to be heard is heard whenever this process reports."""
    told, heard = [], []
    engine = hands(2)
    engine._ready = lambda timeout: heard.append(timeout) or engine._busy
    assert engine.sum(tell, [1, 2, 3, 4], extend=tell_on, progress=told.append) == 10
    assert told == [(chunk, step) for chunk in (1, 2) for step in range(3)]
    assert heard[0] == 0.0  # not waited for: this process has work of its own
    assert engine.sum(tell, [1, 2, 3, 4], extend=tell_on) == 10
    assert len(told) == 6


def test_workers_are_given_their_share_before_this_process_begins_its_own(hands):
    engine, seen = hands(2), []

    def look(chunk):
        seen.append(len(engine._busy))
        return chunk

    engine._run, run = None, engine._run

    def pickled(jobs, task, progress, meanwhile):
        return run(jobs, Task(wrap, ()), progress, meanwhile)

    engine._run = pickled
    assert engine.sum(look, ["a", "b"], extend=further) == "ab"
    assert seen == [1]


# ---- parts that are kept --------------------------------------------------------------------------------------------


def test_parts_are_shared_out_in_runs():
    for n, count, runs in ((2, 5, [3, 2]), (2, 4, [2, 2]), (3, 4, [2, 2]), (3, 2, [1, 1]), (1, 3, [3])):
        kept = Processes(n).keep(wrap, range(count))
        assert [len(share) for share in kept.shares] == runs
        assert [chunk for share in kept.shares for chunk in share] == list(range(count))


def test_a_worker_makes_a_part_once_for_each_who_keeps_it(monkeypatch):
    monkeypatch.setattr(processes, "_parts", {})
    made = []

    def make(chunk):
        made.append(chunk)
        return chunk * 10

    for factor in (1, 2):
        assert _of_parts((0, [1, 2]), "mine", make, scaled, (factor, 3)) == [10 * factor + 3, 20 * factor + 3]
    assert made == [1, 2]
    assert _of_parts((1, [5]), "mine", make, scaled, (1,)) == [50.0]
    assert _of_parts((0, [1, 2]), "another's", make, scaled, (1,)) == [10.0, 20.0]
    assert made == [1, 2, 5, 1, 2]


def test_each_who_keeps_parts_has_a_key_of_their_own():
    engine = Processes(2)
    kept = [engine.keep(wrap, range(2)) for _ in range(3)]
    assert len({each.key for each in kept}) == 3
    further = kept[0].then(scaled, 2)
    assert further.key != kept[0].key
    assert isinstance(further.function, Through)
    assert [function for function, _ in further.then(operator.neg).function.steps] == [wrap, scaled, operator.neg]
    assert further.shares == kept[0].shares


def test_the_sum_of_parts_is_the_tree_of_all_of_them(hands, monkeypatch):
    monkeypatch.setattr(processes, "_parts", {})
    kept = hands(2).keep(wrap, range(11))
    assert kept.sum(operator.add, "!", add=bracket) == Serial().sum(lambda k: f"{k}!", range(11), add=bracket)


# ---- a worker -------------------------------------------------------------------------------------------------------


class Line:
    def __init__(self, problem=None):
        self.sent, self.closed, self.problem = [], 0, problem

    def send(self, message):
        if self.problem is not None:
            raise self.problem
        self.sent.append(message)

    def close(self):
        self.closed += 1


def worker_on(line, process=None):
    worker = object.__new__(_Worker)
    worker.channel, worker.process, worker.job, worker.numbers, worker._sent = line, process, None, set(), None
    return worker


def test_what_all_jobs_share_is_sent_once_to_a_worker():
    worker, one, other = worker_on(Line()), b"one", b"other"
    jobs = [_Job(4, ["a"], at=3), _Job(5, ["b", "c"]), _Job(6, ["d"])]
    worker.start(jobs[0], one)
    assert worker.job is jobs[0]
    assert jobs[0].at == 0  # it begins anew
    worker.start(jobs[1], one)
    worker.start(jobs[2], other)
    assert worker.channel.sent == [
        ("task", one), ("chunks", ["a"]), ("chunks", ["b", "c"]), ("task", other), ("chunks", ["d"]),
    ]  # fmt: skip
    assert worker.numbers == {4, 5, 6}


@pytest.mark.parametrize("problem", [BrokenPipeError(), ConnectionResetError()])
def test_a_worker_that_is_gone_shows_when_it_is_listened_to(problem):
    worker, job = worker_on(Line(problem)), _Job(4, ["a"])
    worker.start(job, b"one")
    assert worker.job is job
    assert worker._sent is None  # whoever replaces it is told all


class Program:
    def __init__(self, code):
        self.exitcode, self.calls = code, []

    def join(self, timeout=None):
        self.calls.append("wait a little" if timeout else "wait")

    def kill(self):
        self.calls.append("kill")

    def close(self):
        self.calls.append("close")


def test_a_worker_may_end_by_itself_for_a_moment_and_is_ended_then():
    program = Program(-9)
    worker = worker_on(Line(), program)
    assert worker.end() == -9
    assert program.calls == ["wait a little", "kill", "wait", "close"]
    assert worker.channel.closed == 1


def test_workers_end_with_the_engine_that_nobody_holds():
    engine, hand = Processes(2), Hand()
    engine._workers.append(hand)
    del engine
    assert hand.ended == 1


def test_closing_ends_all_and_forgets_them():
    engine, some = Processes(2), [Hand(), Hand()]
    engine._workers.extend(some)
    engine.close()
    assert [hand.ended for hand in some] == [1, 1]
    engine.close()
    assert [hand.ended for hand in some] == [1, 1]
    with Processes(2) as again:
        again._workers.extend(some)
    assert [hand.ended for hand in some] == [2, 2]


def test_cores_where_a_system_does_not_say_which_this_process_may_use(monkeypatch):
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    for known, count in ((3, 3), (None, 1)):
        monkeypatch.setattr(os, "cpu_count", lambda known=known: known)
        assert cores() == count


def test_cores_are_those_that_this_process_may_use(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0: {2, 5, 7}}[pid], raising=False)
    assert cores() == 3


@pytest.mark.parametrize(
    ("sizes", "count", "runs"),
    [
        ([2, 4, 1], 2, [[2], [4, 1]]),
        ([1, 4, 2], 2, [[1, 4], [2]]),
        ([3, 1, 1, 1], 3, [[3], [1], [1, 1]]),
        ([9], 4, [[9]]),
    ],
)
def test_a_chunk_is_in_the_share_that_its_middle_lies_in(sizes, count, runs):
    chunks = [SimpleNamespace(size=size) for size in sizes]
    assert [[chunk.size for chunk in share] for share in shares(chunks, count)] == runs


@pytest.mark.parametrize("problem", [pickle.PicklingError("x"), AttributeError("x"), TypeError("x")])
def test_work_that_cannot_be_sent_says_what_to_do(monkeypatch, problem):
    def dumps(task):
        raise problem

    monkeypatch.setattr(processes.pickle, "dumps", dumps)
    with pytest.raises(InputError) as caught:
        next(Processes(2).map(wrap, [1]))
    assert str(caught.value) == (
        "the work cannot be sent to other processes (x); define its functions in a module, or use jobs=1"
    )  # fmt: skip


def test_a_message_of_a_worker_is_for_the_job_that_it_has():
    engine, told, done = Processes(1), [], {}
    hand = Hand()
    engine._workers.append(hand)
    hand.job = _Job(3, ["a"])
    hand.messages = [("progress", 1), ("error", KeyError("x"))]
    engine._listen(hand, [], done, None)  # nobody wants to know
    assert (done, hand.job.number) == ({}, 3)
    engine._listen(hand, [], done, told.append)
    assert (done[3][0], str(done[3][1]), hand.job, told) == ("error", "'x'", None, [])
    engine._workers.clear()
