"""Engines without the time that starting takes: workers that are forked, and a cluster that lives in this process.

Both go through the suite of all engines. What fails on the way is made to fail here.
"""

import copyreg
import logging
import multiprocessing
import operator
import os
import pickle
import threading
import time
import warnings
from contextlib import ExitStack
from types import SimpleNamespace

import numpy as np
import pytest

from podium.engine import DaskEngine, Processes, Serial, cluster, connecting, processes, remote
from podium.engine.base import Adder, Through, report, reporting_to
from podium.engine.choosing import as_engine, running
from podium.engine.processes import _deadly, _Job, _value, cores, shares
from podium.engine.remote import Done
from podium.engine.worker import PIECE, Task, portable, receive, send, work
from podium.errors import DataWarning, EngineError, InputError, PodiumWarning

import suites.engines
from suites.cluster import require_dask
from suites.engines import EngineSuite, ProcessSuite, broken, part_of, scaled, tell, unpicklable, warn, wrap


@pytest.fixture(autouse=True)
def _shorter_naps(monkeypatch):
    """Who fails last still does, sooner."""
    monkeypatch.setattr(suites.engines, "time", SimpleNamespace(sleep=lambda seconds: time.sleep(seconds / 20)))


# ---- forked workers -------------------------------------------------------------------------------------------------


@pytest.fixture
def forked(monkeypatch):
    if "fork" not in multiprocessing.get_all_start_methods():
        pytest.skip("this system does not fork")
    kinds, real = [], multiprocessing.get_context
    monkeypatch.setattr(processes.multiprocessing, "get_context", lambda kind: kinds.append(kind) or real("fork"))
    with Processes(2) as engine:
        yield engine
        assert set(kinds) <= {"spawn"}
        assert len(engine._workers) <= 2
    assert engine._workers == []


class TestForked(ProcessSuite):
    @pytest.fixture
    def engine(self, forked):
        return forked

    def test_parts_of_parts_are_kept(self, engine):
        parts_of_parts(engine)

    def test_a_part_is_made_once(self, engine, tmp_path):
        kept = engine.keep(marked, [str(tmp_path / name) for name in "abc"])
        for _ in range(3):
            assert kept.sum(operator.add, 1) == 6
        assert [(tmp_path / name).read_text() for name in "abc"] == ["x"] * 3

    def test_workers_go_on_with_other_work_and_those_at_work_are_ended_with_an_error(self, engine):
        assert engine.sum(wrap, range(6)) == "012345"
        before = {worker.process.pid for worker in engine._workers}
        assert len(before) == 2
        assert list(engine.map(scaled, [1.0, 2.0], 2.0)) == [2.0, 4.0]
        assert {worker.process.pid for worker in engine._workers} == before
        found = engine.map(napping, range(8))
        assert next(found) == 0
        found.close()  # nobody wants the rest
        assert all(worker.job is None for worker in engine._workers)
        assert engine.sum(wrap, [1, 2]) == "12"

    def test_a_worker_that_died_idle_is_replaced(self, engine):
        engine.sum(wrap, range(4))
        for worker in engine._workers:
            worker.process.kill()
            worker.process.join()
        assert engine.sum(wrap, range(4)) == "0123"

    def test_a_chunk_that_ends_three_workers_is_named(self, engine):
        with pytest.raises(
            EngineError, match=r"^'end' ended 3 worker processes, the last with exit code 7; too little"
        ):
            engine.sum(leaves, ["a", "b", "end", "c"])

    def test_a_chunk_that_ends_two_workers_is_done(self, engine, tmp_path):
        assert engine.sum(leaves_twice, [str(tmp_path / "x")]) == 1

    def test_the_note_of_a_foreign_error_says_where_it_was(self, engine):
        with pytest.raises(ZeroDivisionError) as caught:
            engine.sum(broken, [1])
        assert "in a worker process:" in caught.value.__notes__[0]
        with pytest.raises(InputError) as caught:
            engine.sum(refuses, [1])
        assert not hasattr(caught.value, "__notes__")

    def test_work_that_cannot_travel_is_refused_here(self, engine):
        with pytest.raises(InputError, match=r"the work cannot be sent to other processes .*; define .*jobs=1"):
            engine.sum(lambda chunk: chunk, [1])


def napping(chunk):
    time.sleep(0.01)
    return chunk


def marked(path):
    with open(path, "a", encoding="utf-8") as file:
        file.write("x")
    return 1


def leaves(chunk):
    if chunk == "end":
        os._exit(7)
    return chunk


def leaves_twice(path):
    marked(path)
    with open(path, encoding="utf-8") as file:
        if len(file.read()) <= 2:
            os._exit(1)
    return 1


def refuses(chunk):
    raise InputError("no")


def parts_of_parts(engine):
    """Each step has what it was given, and sums have their own."""
    kept = engine.keep(part_of, range(5)).then(scaled, 2.0).then(scaled, 1.0, 5.0)
    parts = [np.arange(k, k + 3.0) * 2 + 5 for k in range(5)]
    assert kept.sum(scaled, 3.0).tolist() == sum(part * 3 for part in parts).tolist()
    assert kept.sum(scaled, 1.0, add=np.maximum).tolist() == np.max(parts, axis=0).tolist()


def test_parts_of_parts_are_kept_here_too():
    parts_of_parts(Serial())


def test_functions_one_after_the_other_each_with_its_own():
    steps = Through((operator.add, (1,))).then(operator.mul, 10)
    assert steps.then(operator.sub)(2, 5) == (2 + 1) * 10 - 5


@pytest.mark.parametrize("n", [0, -1, True, 2.0, "2"])
def test_processes_that_cannot_be_started(n):
    with pytest.raises(InputError, match="processes cannot be started; give a whole number, 1 or more"):
        Processes(n)


def test_one_process_is_a_number_of_them():
    assert Processes(1).n == 1
    assert cores() == len(os.sched_getaffinity(0))


def test_shares_are_runs_of_nearly_equal_size():
    assert shares(list("abcd"), 2) == [["a", "b"], ["c", "d"]]
    assert shares(list("abc"), 8) == [["a"], ["b"], ["c"]]
    big, small, none = (SimpleNamespace(size=size) for size in (6, 2, 0))  # no size counts as 1
    assert shares([small, small, small, big], 2) == [[small] * 3, [big]]
    assert shares([big, none, none], 2) == [[big], [none, none]]
    assert shares([], 2) == []


def test_what_ended_workers_is_told():
    assert str(_deadly("x", -9)).startswith("'x' ended 3 worker processes, the last by signal 9; too little memory")
    assert "the last with exit code 0;" in str(_deadly("x", 0))
    assert "the last with exit code None;" in str(_deadly(SimpleNamespace(name="f.csv"), None))
    assert str(_deadly(SimpleNamespace(name="f.csv"), 1)).startswith("f.csv ended")


def test_the_value_of_a_message():
    with pytest.warns(DataWarning, match="^look$"):
        assert _value(("value", (3, [DataWarning("look")]))) == 3
    with pytest.raises(KeyError):
        _value(("error", KeyError("x")))


class Channel:
    """What was said, and what is said next."""

    def __init__(self, *messages):
        self.said, self.messages = [], list(messages)

    def recv(self):
        if not self.messages:
            raise EOFError
        return self.messages.pop(0)

    def send(self, message):
        self.said.append(message)

    def send_bytes(self, data):
        self.said.append(bytes(data))

    @property
    def heard(self):
        return [pickle.loads(message[0]) for message in self.said if isinstance(message, tuple)]


def worked(*chunks, task):
    channel = Channel(
        ("task", task if isinstance(task, bytes) else pickle.dumps(task)), *(("chunks", c) for c in chunks)
    )
    import signal

    before = signal.getsignal(signal.SIGINT)
    try:
        work(channel)
        assert signal.getsignal(signal.SIGINT) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)
    return channel.heard


def test_a_worker_says_where_it_is_what_is_reported_and_the_sum():
    assert worked([3, 4], [5], task=Task(tell, (), operator.add)) == [
        *(("at", 0), *(("progress", (3, k)) for k in range(3))),
        *(("at", 1), *(("progress", (4, k)) for k in range(3))),
        ("value", (7, [])),
        *(("at", 0), *(("progress", (5, k)) for k in range(3))),
        ("value", (5, [])),
    ]
    assert worked([3, 4], task=Task(wrap, (), None, lambda_free))[-1] == ("value", ("3|4", []))
    ((kind, (value, warned)),) = worked([1], [1], task=Task(warn, ()))[1::2][:1]  # the same warning is given each time
    assert (kind, value, [str(one) for one in warned]) == ("value", 1, ["look at 1"])
    twice = worked([1, 1], task=Task(warn, (), operator.add))[-1]
    assert [str(one) for one in twice[1][1]] == ["look at 1", "look at 1"]


def lambda_free(total, chunk):
    return f"{total}|{chunk}"


def test_a_worker_says_what_went_wrong():
    kind, problem = worked([1], task=Task(broken, ()))[-1]
    assert (kind, type(problem)) == ("error", ZeroDivisionError)
    kind, problem = worked([1], task=b"nonsense")[-1]
    assert (kind, type(problem)) == ("error", EngineError)
    assert str(problem).startswith("a worker process cannot read its work: ")
    kind, problem = worked([1], task=Task(unpicklable, ()))[-1]
    assert str(problem).startswith("what a worker process found cannot be sent back: ")


def test_without_adding_each_value_is_its_own_and_with_it_the_first_is_the_sum():
    plain, adding = Task(wrap, ()), Task(wrap, (), operator.add)
    assert plain.go_on("x", 1, first=False) == "1"
    assert adding.go_on("x", 1, first=False) == "x1"
    assert adding.go_on("x", 1, first=True) == "1"
    going = Task(wrap, (), operator.add, lambda_free)
    assert going.go_on("x", 1, first=False) == "x|1"
    assert going.go_on("x", 1, first=True) == "1"


class Strange(Exception):
    def __init__(self, text):
        super().__init__(text, "more")


class Changed(Exception):
    def __reduce__(self):
        return Changed, ("another",)


def test_an_error_that_does_not_survive_the_way_goes_as_its_text(monkeypatch):
    for kind in (Strange, Changed):  # Dask's packages teach pickle about every exception, where they are loaded
        monkeypatch.delitem(copyreg.dispatch_table, kind, raising=False)
    assert str(portable(Strange("x"))).startswith("Strange in a worker process: ")
    assert str(portable(Changed("one"))) == "Changed in a worker process: one"
    fine = KeyError("x")
    assert portable(fine) is fine


@pytest.mark.parametrize("size", [0, 1, PIECE - 1, PIECE, PIECE + 1, 2 * PIECE + 5])
def test_arrays_travel_in_pieces(size):
    channel = Channel()
    whole = np.arange(size, dtype=np.uint8)
    send(channel, {"a": whole})
    pieces = channel.said[1:]
    assert [len(piece) for piece in pieces] == [PIECE] * (size // PIECE) + [size % PIECE] * (size % PIECE > 0)

    class Back(Channel):
        def recv_bytes_into(self, buffer):
            buffer[:] = pieces.pop(0)

    again = receive(Back(channel.said[0]))["a"]
    assert np.array_equal(again, whole)
    again[:1] = 7  # and can be written to


class Worker:
    """A worker of which only the messages matter."""

    def __init__(self, *messages, alive=True, numbers=()):
        self.channel, self.job, self.numbers = self, None, set(numbers)
        self.messages, self.alive, self.ended = list(messages), alive, 0
        self.process = self

    def recv(self):
        if not self.messages:
            raise EOFError
        return pickle.dumps(self.messages.pop(0)), []

    def is_alive(self):
        return self.alive

    def end(self):
        self.ended += 1
        return -9


def test_messages_of_a_worker_are_taken_one_by_one():
    engine, told, done, waiting = Processes(2), [], {}, []
    worker = Worker(("at", 2), ("progress", "half"), ("value", ("sum", [])))
    engine._workers.append(worker)
    worker.job = job = _Job(5, ["a", "b", "c"])
    engine._listen(worker, waiting, done, None)
    assert (job.at, done) == (2, {})
    engine._listen(worker, waiting, done, told.append)
    assert told == ["half"]
    engine._listen(worker, waiting, done, told.append)
    assert done == {5: ("value", ("sum", []))}
    assert worker.job is None
    engine._workers.clear()


def test_a_job_whose_worker_died_waits_first_until_the_third_at_the_same_chunk():
    engine, done, later = Processes(2), {}, _Job(9, ["z"])
    job = _Job(5, ["a", "b"], at=1)
    for deaths in (1, 2):
        waiting, worker = [later], Worker()
        engine._workers.append(worker)
        worker.job = job
        engine._listen(worker, waiting, done, None)
        assert (waiting, job.deaths, done, worker.ended) == ([job, later], {1: deaths}, {}, 1)
        assert engine._workers == []
    job.at, waiting = 0, []
    for at, told in ((0, False), (1, True)):
        worker, job.at = Worker(), at
        engine._workers.append(worker)
        worker.job = job
        engine._listen(worker, waiting, done, None)
        assert (5 in done) == told
    assert str(done[5][1]).startswith("'b' ended 3 worker processes, the last by signal 9")


def test_a_job_goes_to_the_worker_that_did_it_before_and_never_to_a_dead_one():
    engine = Processes(3)
    first, second, dead = Worker(numbers=[1]), Worker(numbers=[2]), Worker(alive=False, numbers=[2])
    engine._workers += [first, second]
    assert engine._idle(_Job(2, [])) is second
    assert engine._idle(_Job(1, [])) is first
    assert engine._idle(_Job(7, [])) is first
    engine._workers.insert(0, dead)
    assert engine._idle(_Job(2, [])) is second
    assert (dead.ended, engine._workers) == (1, [first, second])
    first.job = _Job(0, [])
    assert engine._idle(_Job(1, [])) is second
    assert engine._busy == [first]
    engine.n = 2
    second.job = first.job
    assert engine._idle(_Job(1, [])) is None
    engine._workers.clear()


# ---- a cluster in this process --------------------------------------------------------------------------------------


class Future:
    def __init__(self, work):
        self.status, self.value, self.problem = "finished", None, None
        try:
            self.value = work()
        except Exception as problem:
            self.status, self.problem = "error", problem

    def add_done_callback(self, done):
        done(self)

    def result(self, timeout):
        assert timeout == 600
        return self.value

    def exception(self):
        return self.problem


class Client:
    """What of `distributed.Client` is used, all of it done at once in this process."""

    status, scheduler = "running", SimpleNamespace(address="tcp://here:1")

    def __init__(self, workers=("tcp://a:1", "tcp://a:2", "tcp://b:1")):
        self.workers, self.cancelled, self.asked, self.heard, self.left = dict.fromkeys(workers, 1), [], [], {}, []

    def nthreads(self):
        return self.workers

    def submit(self, function, *given, key, priority, pure):
        assert not pure
        assert key.startswith(f"podium-{function.__name__}-")
        self.asked.append((function.__name__, priority, key))
        failed = [each for each in given if isinstance(each, Future) and each.status == "error"]
        if failed:
            return Future(lambda: (_ for _ in ()).throw(failed[0].problem))
        return Future(lambda: function(*(each.value if isinstance(each, Future) else each for each in given)))

    def cancel(self, futures):
        self.cancelled += futures

    def subscribe_topic(self, topic, heard):
        self.heard[topic] = heard

    def unsubscribe_topic(self, topic):
        self.left.append(topic)

    def log_event(self, topic, data):
        self.heard[topic]((0.0, data))


@pytest.fixture
def client(monkeypatch):
    require_dask()
    import distributed

    client = Client()
    worker = SimpleNamespace(log_event=client.log_event, address="tcp://a:1")
    monkeypatch.setattr(distributed, "get_worker", lambda: worker)
    return client


class TestClusterHere(EngineSuite):
    @pytest.fixture
    def engine(self, client):
        return DaskEngine(client)

    def test_parts_of_parts_are_kept(self, engine):
        parts_of_parts(engine)

    def test_functions_of_a_script_travel_and_what_cannot_is_said(self, engine):
        assert engine.sum(lambda chunk: chunk + 1, [1, 2]) == 5
        with pytest.raises(EngineError, match=r"the work cannot be sent to the workers: .*; define its functions"):
            engine.sum(wrap, [threading.Lock()])
        with pytest.raises(EngineError, match="what a worker found cannot be sent back"):
            engine.sum(unpicklable, [1])

    def test_what_is_reported_is_heard_once_and_the_topic_is_left(self, engine, client):
        told = []
        engine.sum(tell, [4], progress=told.append)
        assert told == [(4, 0), (4, 1), (4, 2)]
        assert client.left == list(client.heard)
        engine.sum(tell, [4])
        assert len(client.heard) == 1
        client.log_event = lambda *event: None  # a message that gets lost comes with the value
        with pytest.MonkeyPatch.context() as patch:
            import distributed

            patch.setattr(distributed, "get_worker", lambda: client)
            engine.sum(tell, [4], progress=told.append)
        assert told == [(4, 0), (4, 1), (4, 2)] * 2

    def test_workers_are_counted_by_machine(self, engine, client):
        assert (engine.n, engine.on_one_machine) == (3, 2)
        client.workers = {}
        assert (engine.n, engine.on_one_machine) == (1, 1)

    def test_what_all_share_goes_once_where_it_is_large(self, engine, client):
        assert list(engine.map(scaled, [1.0, 2.0], np.full(9000, 2.0)))[1][0] == 4.0
        assert [name for name, *_ in client.asked] == ["task_of", "run", "run"]
        assert [priority for _, priority, _ in client.asked] == [30, 0, 0]
        client.asked.clear()
        engine.sum(scaled, [1.0, 2.0], 2.0)
        assert [name for name, *_ in client.asked] == ["run", "run", "add_up", "sealed"]
        assert len({key for *_, key in client.asked}) == 4

    @pytest.mark.parametrize("extra", [-1, 0])
    def test_it_is_large_from_so_many_bytes(self, engine, client, extra, monkeypatch):
        size = len(remote.seal(Task(wrap, ())))
        monkeypatch.setattr(cluster, "MAX_SENT_BYTES", size - extra)
        list(engine.map(wrap, [1]))
        assert ("task_of" in [name for name, *_ in client.asked]) == (extra == 0)

    def test_only_so_many_chunks_are_out_and_those_are_let_go(self, engine, client):
        found = engine.map(wrap, iter(range(100)))
        assert next(found) == "0"
        assert len(client.asked) == 4 * 3
        assert next(found) == "1"
        assert len(client.asked) == 4 * 3 + 1
        found.close()
        assert len(client.cancelled) == 4 * 3 - 1

    def test_the_rest_is_let_go_after_an_error(self, engine, client):
        with pytest.raises(ZeroDivisionError):
            engine.sum(broken, [1, 2, 3])
        assert len(client.cancelled) >= 3

    def test_the_parts_of_the_sum_come_first_that_are_nearer_the_end(self, engine, client):
        engine.sum(wrap, range(65))
        order = [priority for name, priority, _ in client.asked if name != "run"]
        assert order[:9] == [1] * 8 + [2]
        assert 2 < order[9] < order[10] == 20

    def test_a_cluster_that_is_gone_is_one_sentence(self, engine, client, monkeypatch):
        monkeypatch.setattr(Future, "status", "cancelled", raising=False)
        monkeypatch.setattr(cluster, "LOOK_EVERY", 0.001)
        with pytest.raises(EngineError, match=r"the connection to the scheduler at tcp://here:1 is lost, and the work"):
            next(
                engine._finished([SimpleNamespace(status="cancelled", add_done_callback=lambda done: done(CANCELLED))])
            )
        silent = SimpleNamespace(add_done_callback=lambda done: None)
        client.status = "closed"
        with pytest.raises(EngineError, match="the connection to the scheduler at tcp://here:1 is lost"):
            next(engine._finished([silent]))
        client.status, client.workers = "running", {}
        monkeypatch.setattr(cluster, "WORKERLESS", 0.01)
        with pytest.raises(
            EngineError, match=r"the cluster at tcp://here:1 has had no worker for 0 seconds; start some"
        ):
            next(engine._finished([silent]))

    def test_a_look_mends_and_says_when_workers_were_last_there(self, client, monkeypatch):
        mended = []
        engine = DaskEngine(client, mending=lambda: mended.append(1))
        monkeypatch.setattr(cluster.time, "monotonic", lambda: 1000.0)
        assert engine._look(500.0) == 1000.0
        client.workers = {}
        assert engine._look(700.0) == 700.0  # exactly as long as it may be
        with pytest.raises(EngineError, match="has had no worker for 300 seconds"):
            engine._look(699.0)
        assert mended == [1, 1, 1]

    def test_foreign_errors_of_the_line_are_one_sentence(self, engine, client):
        def lost(*given, **named):
            raise OSError("no route")

        client.submit = lost
        with pytest.raises(EngineError, match="the cluster at tcp://here:1 does not answer: no route; start it again"):
            engine.sum(wrap, [1])
        client.scheduler = None
        with pytest.raises(EngineError, match="the cluster at its address does not answer"):
            engine.sum(wrap, [1])
        client.cancel = lost
        engine._let_go([1])

    def test_a_file_that_is_here_and_not_there_is_said(self, engine, tmp_path):
        path = tmp_path / "votes.csv"
        with pytest.raises(FileNotFoundError):
            engine.sum(opens, [str(path)])
        path.touch()
        with pytest.raises(EngineError, match=r"^worker tcp://a:1 has no .*votes.csv; give a path that all machines"):
            engine.sum(misses, [str(path)])

    def test_chunks_that_end_workers_are_tried_alone(self, client, monkeypatch):
        from distributed import KilledWorker

        engine = DaskEngine(client)
        killed = KilledWorker("key", SimpleNamespace(address="w"), 2)
        ending = SimpleNamespace(status="error", exception=lambda: killed, add_done_callback=lambda done: done(ending))
        fine = Future(lambda: None)
        submit = client.submit
        monkeypatch.setattr(
            client, "submit", lambda function, *given, **named: (
                ending if pickle.loads(given[0]) == ["end"] else submit(function, *given, **named)),
        )  # fmt: skip
        held = [fine]
        for chunks, words in (
            (["a", "end", "b"], "^'end' ended 3 workers; too little memory"),
            (["a", "b", "c"], "^'a' to 'c', one after the other, ended 3 workers"),
            (["c"], "^'c' ended 3 workers"),
        ):
            with pytest.raises(EngineError, match=words):
                engine._raise_first([(["x"], fine), (chunks, ending)], Task(wrap, ()), fine, held)
        assert client.cancelled == held * 3
        with pytest.raises(EngineError, match="adding up what the workers found ended them"):
            engine._raise_first([(["x"], fine)], Task(wrap, ()), ending, held)

    def test_an_engine_ends_what_was_started_once(self, client):
        closed = []
        with DaskEngine(client, closing=lambda: closed.append(1)):
            assert not closed
        assert closed == [1]
        engine = DaskEngine(client, closing=lambda: closed.append(2))
        engine.close()
        engine.close()
        assert closed == [1, 2]


CANCELLED = SimpleNamespace(status="cancelled")


def opens(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def misses(path):
    try:
        raise FileNotFoundError(2, "No such file", path)
    except FileNotFoundError as problem:
        raise ValueError("no votes") from problem


def test_what_a_worker_of_a_cluster_returns():
    task = Task(tell, (), operator.add)
    done = remote.run(remote.seal([1, 2]), task, 7)
    assert (done.value, done.warned) == (3, [])
    assert done.told == [(7, k, (1 + k // 3, k % 3)) for k in range(6)]
    back = remote.unsealed(remote.run(remote.seal([1, 2]), remote.seal(task), 7, None, True))
    assert (back.value, back.told) == (3, done.told)
    warned = remote.run(remote.seal([5, 5]), Task(warn, (), operator.add), 0)
    assert [str(one) for one in warned.warned] == ["look at 5", "look at 5"]
    together = remote.add_up(remote.seal(operator.add), Done("a", [1], [2]), Done("b", [3], [4]), Done("c"))
    assert (together.value, together.warned, together.told) == ("abc", [1, 3], [2, 4])
    assert remote.made(remote.seal(3), remote.seal(wrap)) == "3"
    assert remote.made_of(3, Task(scaled, (2.0,), operator.add)) == 6.0
    assert remote.of_part(3, remote.seal(Task(scaled, (2.0,), operator.add))).value == 6.0
    with pytest.raises(EngineError, match=r"a worker cannot read its work: .*; install the same packages there"):
        remote.made(b"nonsense", remote.seal(wrap))
    array = remote.unsealed(remote.sealed(Done(np.arange(3.0)))).value
    array += 1  # can be written to
    assert array.tolist() == [1, 2, 3]


# ---- addresses and versions -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("address", "kind"),
    [
        ("local", "local"), ("local:4", "local"), ("local:123456789", "local"), ("local:1234567890", ""),
        ("locals", ""), ("local:x", ""), ("tcp://h:1", "tcp"), ("tls://[::1]:8786", "tls"), ("tcp://:1", ""),
        ("tcp://h", ""), ("tcp://h:0", ""), ("tcp://h:70000", ""), ("tcp://[h:1", ""), ("h:1", ""),
    ],
)  # fmt: skip
def test_addresses_by_what_they_begin_with(address, kind):
    assert connecting._kind(address) == kind


def test_workers_here_are_as_many_as_said_or_as_cores(monkeypatch):
    monkeypatch.setattr(connecting, "cores", lambda: 3)
    assert (connecting._workers("local"), connecting._workers("local:5")) == (3, 5)
    for count in (1, 24):
        connecting._refuse_address(f"local:{count}", "local", {})
    for count in (0, 25):
        with pytest.raises(InputError, match=f"cluster='local:{count}': give from 1 to 24 workers, best one a core"):
            connecting._refuse_address(f"local:{count}", "local", {})


@pytest.mark.parametrize(
    ("host", "here"), [("localhost", True), ("127.0.0.1", True), ("127.9.9.9", True), ("::1", True),
                       ("10.0.0.1", False), ("example.org", False), ("", False)],
)  # fmt: skip
def test_who_is_here(host, here):
    assert connecting._is_here(host) is here


def test_an_encrypted_line_needs_all_three_files(tmp_path):
    some = {"cluster_ca": __file__, "cluster_cert": __file__, "cluster_key": None}
    with pytest.raises(InputError, match=r"tls://h:1 is encrypted; give its cluster_key= too"):
        connecting._refuse_address("tls://h:1", "tls", some)
    connecting._refuse_address("tls://h:1", "tls", some | {"cluster_key": __file__})
    with pytest.raises(InputError, match=r"cluster_ca='.*' holds no certificates in PEM form"):
        connecting._refuse_certificates(dict.fromkeys(some, __file__))
    with pytest.raises(InputError, match="5 is no address"):
        connecting.connect(5)
    with warnings.catch_warnings():
        warnings.simplefilter("error", PodiumWarning)
        connecting._refuse_address("tls://far:1", "tls", some | {"cluster_key": __file__})


def test_the_first_worker_with_something_else_is_named():
    here = connecting.installed_here()
    assert here["podium"] == __import__("podium").__version__
    assert here["numpy"] == np.__version__
    assert set(here) == {"Python", "podium", "numpy", "polars"}
    connecting.refuse_other_versions(SimpleNamespace(run=lambda *given: {"a": here, "b": here}))
    others = {"b": here | {"numpy": "0.1"}, "a": here | {"polars": None}}
    with pytest.raises(EngineError, match=r"^worker a has no polars, here is \S+; install the same on both"):
        connecting.refuse_other_versions(SimpleNamespace(run=lambda *given: others))
    with pytest.raises(EngineError, match=r"^worker b has numpy 0\.1, here is"):
        connecting.refuse_other_versions(SimpleNamespace(run=lambda *given: others | {"a": here}))

    def silent(*given):
        raise OSError("gone")

    with pytest.raises(EngineError, match="the workers do not answer: gone; look at their logs"):
        connecting.refuse_other_versions(SimpleNamespace(run=silent))


def test_silence_ends_where_it_began(capsys):
    logger = logging.getLogger("distributed")
    before = logger.level
    restore = connecting._quiet()
    assert not logger.isEnabledFor(logging.CRITICAL)
    restore()
    assert logger.level == before

    def failing():
        raise OSError("gone")

    connecting._ignoring(failing)()
    assert capsys.readouterr().err == "podium: closing the cluster: gone\n"


@pytest.mark.parametrize(
    ("running", "spec", "closed", "waited", "scaled"),
    [
        (2, 2, 0, 0, None), (3, 3, 0, 99, None), (1, 2, 0, 0, None), (1, 2, 0, 15.0, None), (1, 2, 0, 15.1, 3),
        (1, 1, 0, 0, 2), (1, 2, 1, 0, 3), (1, 3, 1, 15.1, 4), (0, 2, 2, 0, 4),
    ],
)  # fmt: skip
def test_workers_that_dask_gave_up_are_replaced(running, spec, closed, waited, scaled, monkeypatch):
    """Two are wanted; as many more are asked for as are lost, or after fifteen seconds as are missing."""
    now = [100.0]
    monkeypatch.setattr(connecting.time, "monotonic", lambda: now[0])
    asked = []
    keepers = [
        SimpleNamespace(status=SimpleNamespace(name=name)) for name in [*["failed", "closed"][:closed], "running"]
    ]
    there = SimpleNamespace(
        workers=dict(enumerate(keepers)), scheduler=SimpleNamespace(workers=range(running)), worker_spec=range(spec),
        scale=asked.append,
    )  # fmt: skip
    mending = connecting._Mending(there, 2)
    now[0] += waited
    mending()
    assert asked == ([] if scaled is None else [scaled])
    assert mending.whole == (100.0 if running < 2 and waited <= 15 else now[0])


def test_an_engine_of_ones_own_stays_open_and_needs_no_jobs():
    closed = []
    own = type("Own", (Serial,), {"close": lambda self: closed.append(1)})()
    for jobs in (None, 1):
        with running(jobs, 3, own) as engine:
            assert engine is own
    assert not closed
    with pytest.raises(InputError, match=r"jobs=2 is for this machine alone; drop it, or engine="), running(2, 3, own):
        pass
    with pytest.raises(InputError, match="engine=3 runs nothing"):
        as_engine(3)
    with running(2, 1) as engine:
        assert isinstance(engine, Serial)
    with running(3, 2) as engine:
        assert engine.n == 2
    with running(None, None) as engine:
        assert engine.n == cores() if cores() > 1 else isinstance(engine, Serial)


def test_what_is_reported_goes_to_the_innermost_who_listens():
    outer, inner = [], []
    report("nobody")
    with reporting_to(outer.append):
        report(1)
        with reporting_to(inner.append):
            report(2)
        with reporting_to(None):
            report(3)
        report(4)
    report("nobody")
    assert (outer, inner) == ([1, 4], [2])


def test_a_sum_takes_whole_branches_of_the_tree():
    one, other = Adder(lambda a, b: f"({a}{b})"), Adder(lambda a, b: f"({a}{b})")
    for k in range(19):
        one.take(str(k % 10))
    for begin in (0, 8):
        branch = Adder(lambda a, b: f"({a}{b})")
        for k in range(begin, begin + 8):
            branch.take(str(k % 10))
        other.take(branch.result(), level=1)
    for k in range(16, 19):
        other.take(str(k % 10))
    assert one.result() == other.result()


def test_things_started_are_ended_where_connecting_fails(monkeypatch):
    require_dask()
    ended = []

    def start(count, things):
        assert count == 2
        things.callback(lambda: ended.append("cluster"))
        return SimpleNamespace(close=lambda: ended.append("client"), run=lambda *given: {"w": {}}), None

    monkeypatch.setattr(connecting, "_start", start)
    with pytest.raises(EngineError, match="worker w has no Python"):
        connecting.connect("local:2")
    assert ended == ["client", "cluster"]
    ended.clear()
    monkeypatch.setattr(connecting, "refuse_other_versions", lambda client: None)
    with connecting.connect("local:2"):
        assert not ended
    assert ended == ["client", "cluster"]


def test_a_cluster_of_our_own_is_started_on_the_loopback_address_without_a_dashboard(monkeypatch):
    require_dask()
    import dask
    import distributed

    asked, ended = {}, []

    def local_cluster(**options):
        asked.update(options, failures=dask.config.get("distributed.scheduler.allowed-failures"))
        return SimpleNamespace(close=lambda: ended.append("cluster"))

    monkeypatch.setattr(distributed, "LocalCluster", local_cluster)
    monkeypatch.setattr(distributed, "Client", lambda cluster, **options: ("client", options))
    with ExitStack() as things:
        client, mending = connecting._start(3, things)
        folder = asked.pop("local_directory")
        assert os.path.isdir(folder)
        assert not ended
    assert ended == ["cluster"]
    assert not os.path.exists(folder)
    assert client == ("client", {"set_as_default": False})
    assert mending.count == 3
    assert issubclass(asked.pop("worker_class"), distributed.Nanny)
    assert asked == {
        "n_workers": 3, "threads_per_worker": 1, "processes": True, "host": "127.0.0.1", "failures": 2,
        "dashboard_address": "127.0.0.1:0", "worker_dashboard_address": "127.0.0.1:0",
        "scheduler_kwargs": {"dashboard": False}, "silence_logs": logging.CRITICAL,
    }  # fmt: skip

    def refused(**options):
        raise OSError("no room")

    monkeypatch.setattr(distributed, "LocalCluster", refused)
    with (
        ExitStack() as things,
        pytest.raises(EngineError, match="a cluster of 3 workers cannot be started here: no room"),
    ):
        connecting._start(3, things)


def test_a_chunk_without_a_size_counts_as_one():
    two = SimpleNamespace(size=2)
    assert shares([two, "a", "b"], 2) == [[two], ["a", "b"]]
    assert shares(["a", "b", two], 2) == [["a", "b"], [two]]
