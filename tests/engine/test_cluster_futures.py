"""A cluster that is slow, fails late or is gone: futures that are done when a test says so."""

import operator
import pickle
import warnings
from types import SimpleNamespace

import numpy as np
import pytest

from podium.engine import DaskEngine, cluster, remote
from podium.engine.base import Through
from podium.engine.remote import Done
from podium.engine.worker import Task
from podium.errors import EngineError, InputError

from suites.cluster import require_dask
from suites.engines import bracket, part_of, scaled, wrap

LOST = "the connection to the scheduler at tcp://here:1 is lost, and the work with it; start it again"


@pytest.fixture(autouse=True)
def _needs_dask():
    require_dask()


class Later:
    """A future that is done after so many looks, or at once."""

    def __init__(self, value=None, problem=None, status=None):
        self.value, self.problem, self.waiting = value, problem, []
        self.end = status or ("finished" if problem is None else "error")
        self.status = "pending"

    def settle(self):
        self.status = self.end
        for done in self.waiting:
            done(self)

    def add_done_callback(self, done):
        self.waiting.append(done)
        if self.status != "pending":
            done(self)

    def result(self, timeout):
        assert timeout == 600
        if self.problem is not None:
            raise self.problem
        return self.value

    def exception(self):
        assert self.status == "error"
        return self.problem


def done(value=None, problem=None):
    future = Later(value, problem)
    future.settle()
    return future


class Client:
    """Does at once what it is given, unless a chunk is in `ends`: that ends its worker."""

    status, scheduler = "running", SimpleNamespace(address="tcp://here:1")

    def __init__(self, ends=()):
        from distributed import KilledWorker

        self.killed = KilledWorker("key", SimpleNamespace(address="w"), 4)
        self.ends, self.futures, self.cancelled, self.asked = list(ends), [], [], []

    def nthreads(self):
        return {"tcp://a:1": 1, "tcp://a:2": 1}

    def submit(self, function, *given, key, priority, pure):
        self.asked.append((function.__name__, given))
        self.futures.append(self._done(function, given))
        return self.futures[-1]

    def _done(self, function, given):
        failed = [each for each in given if isinstance(each, Later) and each.status == "error"]
        if failed:
            return done(problem=failed[0].problem)
        given = [each.value if isinstance(each, Later) else each for each in given]
        try:
            chunk = pickle.loads(given[0]) if isinstance(given[0], bytes) else None
        except Exception:
            chunk = None
        if any(chunk == [each] or (function.__name__ == "made" and chunk == each) for each in self.ends):
            return done(problem=self.killed)
        try:
            return done(function(*given))
        except Exception as problem:
            return done(problem=problem)

    def cancel(self, futures):
        self.cancelled += futures


@pytest.fixture
def client():
    return Client()


@pytest.fixture
def engine(client, monkeypatch):
    monkeypatch.setattr(cluster, "LOOK_EVERY", 0.001)
    return DaskEngine(client)


# ---- waiting --------------------------------------------------------------------------------------------------------


def test_work_that_takes_longer_than_a_look_is_waited_for(client, monkeypatch):
    monkeypatch.setattr(cluster, "LOOK_EVERY", 0.001)
    one, two, looks = Later(), Later(), []

    def look():
        looks.append(1)
        if len(looks) == 2:
            two.settle()
        if len(looks) == 4:
            one.settle()

    engine = DaskEngine(client, mending=look)
    assert list(engine._finished([one, two])) == [two, one]
    assert len(looks) == 4


def test_after_one_that_failed_no_other_is_waited_for(engine):
    failed = done(problem=KeyError("x"))
    fine = done(1)
    assert list(engine._finished([fine, failed, Later()])) == [fine, failed]
    assert list(engine._finished([])) == []


def test_messages_are_opened_as_they_come_and_count_as_no_future(engine):
    from queue import SimpleQueue

    inbox, heard = SimpleQueue(), []
    inbox.put(pickle.dumps((0, 0, "half")))
    inbox.put(pickle.dumps((0, 1, "all")))
    one = done(1)
    assert list(engine._finished([one], inbox, heard.append)) == [one]
    assert heard == [(0, 0, "half"), (0, 1, "all")]
    inbox.put(pickle.dumps((0, 2, "nobody listens")))
    assert list(engine._finished([one], inbox)) == [one]


def test_a_lost_connection_is_said_once(engine, client):
    gone = Later(status="cancelled")
    gone.settle()
    with pytest.raises(EngineError) as caught:
        list(engine._finished([gone]))
    assert str(caught.value) == LOST
    client.status = "closed"
    with pytest.raises(EngineError) as caught:
        engine._look(0.0)
    assert str(caught.value) == LOST


def test_a_value_that_is_taken_away_on_the_way_is_a_lost_connection(engine):
    from distributed import CancelledError

    away = Later(problem=CancelledError("key"))
    with pytest.raises(EngineError) as caught:
        engine._gathered(away)
    assert str(caught.value) == LOST
    with pytest.raises(EngineError) as caught:
        engine._gathered(Later(problem=OSError("no route")))
    assert str(caught.value) == "the cluster at tcp://here:1 does not answer: no route; start it again"
    assert engine._gathered(Later(7)) == 7


def test_only_the_warning_about_large_work_is_kept_from_users(engine, client):
    def submit(*given, **named):
        warnings.warn("Sending large graph of size 12 MiB", stacklevel=1)
        warnings.warn("another", stacklevel=1)

    client.submit = submit
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        engine._submit(wrap, 1)
    assert [str(one.message) for one in caught] == ["another"]


# ---- the tree -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [1, 2, 8, 9, 64, 65, 73, 75])
def test_all_sums_are_held_until_the_last_is_there(engine, client, count):
    """Dask forgets what nobody holds."""
    chunks = [done(Done(str(k))) for k in range(count)]
    sums = engine._tree(chunks, remote.seal(bracket))
    assert {id(each) for each in sums} == {id(each) for each in (*chunks, *client.futures)}
    assert sums[-1] is (client.futures[-1] if client.futures else chunks[0])
    from podium.engine.base import Adder

    whole = Adder(bracket)
    for k in range(count):
        whole.take(str(k))
    assert sums[-1].value.value == whole.result()


def test_the_first_addition_has_the_least_priority(engine, client, monkeypatch):
    priorities = []
    submit = client.submit
    monkeypatch.setattr(
        client, "submit", lambda *given, priority, **named: (
            priorities.append(priority), submit(*given, priority=priority, **named))[1],
    )  # fmt: skip
    engine._tree([done(Done(str(k))) for k in range(8 * 8 + 8 + 3)], remote.seal(bracket))
    assert priorities == [1] * 9 + [2] + [0] + [4]  # nine eights, eight of those, three left over, and the sum


# ---- the first error ------------------------------------------------------------------------------------------------


def test_the_error_of_the_first_chunk_is_waited_for(client, monkeypatch):
    """What comes after it may have failed before."""
    monkeypatch.setattr(cluster, "LOOK_EVERY", 0.001)
    first = Later(problem=InputError("first"))
    engine = DaskEngine(client, mending=first.settle)
    second = done(problem=InputError("second"))
    jobs = [(["a"], done(1)), (["b"], first), (["c"], second)]
    with pytest.raises(InputError, match=r"^first$"):
        engine._raise_first(jobs, Task(wrap, ()), second, [])
    assert client.cancelled == []


def test_an_addition_that_fails_last_is_waited_for(client, monkeypatch):
    monkeypatch.setattr(cluster, "LOOK_EVERY", 0.001)
    total = Later(problem=InputError("cannot be added"))
    engine = DaskEngine(client, mending=total.settle)
    with pytest.raises(InputError, match=r"^cannot be added$"):
        engine._raise_first([(["a"], done(1))], Task(wrap, ()), total, [])
    total = Later(problem=client.killed)
    engine = DaskEngine(client, mending=total.settle)
    with pytest.raises(EngineError) as caught:
        engine._raise_first([(["a"], done(1))], Task(wrap, ()), total, [])
    assert str(caught.value) == (
        "adding up what the workers found ended them; too little memory? use fewer workers"
    )  # fmt: skip


def test_an_addition_that_fails_is_the_error_of_the_sum(engine):
    def add(a, b):
        raise ZeroDivisionError("sum")

    with pytest.raises(ZeroDivisionError) as caught:
        engine.sum(wrap, [1, 2], add=add)
    assert str(caught.value) == "sum"


def test_what_ends_workers_is_found_among_its_neighbours(client, engine):
    client.ends = ["b"]
    held = [done(1)]
    ending = done(problem=client.killed)
    with pytest.raises(EngineError) as caught:
        engine._raise_first([(["a", "b", "c"], ending)], Task(wrap, ()), ending, held)
    assert str(caught.value).startswith("'b' ended 5 workers; too little memory?")
    assert client.cancelled == held
    assert [name for name, _ in client.asked] == ["run", "run"]  # nobody asks for "c"


def test_a_chunk_that_fails_when_it_is_alone_says_why(client, engine):
    def refuse(chunk, *shared):
        if chunk == "b":
            raise InputError(f"b is bad{shared}")
        return chunk

    ending = done(problem=client.killed)
    with pytest.raises(InputError) as caught:
        engine._raise_first([(["a", "b", "c"], ending)], Task(refuse, (1, 2)), ending, [])
    assert str(caught.value) == "b is bad(1, 2)"


def test_chunks_that_end_workers_only_together_are_all_named(client, engine):
    ending = done(problem=client.killed)
    with pytest.raises(EngineError) as caught:
        engine._raise_first([(["a", "b", "c"], ending)], Task(wrap, ()), ending, [])
    assert str(caught.value).startswith("'a' to 'c', one after the other, ended 5 workers; too little memory?")


def test_a_chunk_of_a_map_that_ends_workers_is_named_and_later_ones_are_let_go(client, engine):
    client.ends = [3]
    found = engine.map(wrap, range(10))
    assert [next(found) for _ in range(3)] == ["0", "1", "2"]
    with pytest.raises(EngineError, match=r"^3 ended 5 workers"):
        next(found)
    runs = [future for (name, _), future in zip(client.asked, client.futures, strict=True) if name == "run"]
    assert client.cancelled[:6] == runs[4:10]


@pytest.mark.parametrize("call", ["map", "sum"])
def test_a_chunk_that_ended_workers_is_tried_alone_by_the_same_function(client, engine, call):
    """With what all share; where it does not end one again it is named all the same, or says what is wrong with it."""

    def refuse(chunk, bad):
        if chunk in bad:
            raise InputError(f"{chunk} is bad")
        return chunk

    submit = client.submit

    def first_time(function, *given, **named):
        if given[0] == remote.seal(["b"]):
            client.submit = submit
            return done(problem=client.killed)
        return submit(function, *given, **named)

    for bad, kind, words in (((), EngineError, "'b' ended 5 workers; too little"), (("b",), InputError, "b is bad")):
        client.submit = first_time
        with pytest.raises(kind) as caught:
            list(getattr(engine, call)(refuse, ["a", "b", "c"], bad))
        assert str(caught.value).startswith(words)


def test_a_part_that_ends_workers_is_made_again_from_its_chunk_and_named(client, engine):
    kept = engine.keep(part_of, [1, 2, 3]).then(scaled, 2.0)
    assert kept.sum(scaled, 3.0).tolist() == [36.0, 54.0, 72.0]
    client.ends = [2]
    spoilt = engine.keep(part_of, [1, 2, 3]).then(scaled, 2.0)
    with pytest.raises(EngineError, match=r"^2 ended 5 workers"):
        spoilt.sum(scaled, 3.0)


def test_a_part_is_tried_alone_by_all_the_steps_that_made_it(client, engine, monkeypatch):
    """With what each step was given, then the sum's own."""
    kept = engine.keep(part_of, [1, 2]).then(scaled, 2.0, 5.0)
    seen = []

    def tried(jobs, plain, progress, inbox=None):
        seen.extend((chunks, plain.go_on(None, chunks[0], first=True)) for chunks, _ in jobs)
        return plain.add

    monkeypatch.setattr(engine, "_sum", tried)
    assert kept.sum(scaled, 3.0, 1.0, add=np.maximum) is np.maximum
    assert [(chunks, value.tolist()) for chunks, value in seen] == [
        ([1], [22.0, 28.0, 34.0]), ([2], [28.0, 34.0, 40.0]),
    ]  # fmt: skip
    assert isinstance(kept.made, Through)


def test_one_chunk_of_a_sum_that_goes_on_is_not_shared_out(engine, client):
    def never(total, chunk):
        raise AssertionError

    assert engine.sum(wrap, ["a"], extend=never) == "a"
    assert [name for name, _ in client.asked] == ["run", "sealed"]


def further(total, chunk):
    return f"{total}|{chunk}"


@pytest.mark.parametrize(("workers", "shares"), [(1, ["a|b"]), (2, ["a", "b"])])
def test_two_chunks_of_a_sum_that_goes_on_are_shared_among_the_workers(engine, client, workers, shares):
    client.nthreads = lambda: {f"tcp://a:{k}": 1 for k in range(workers)}
    engine.sum(wrap, ["a", "b"], add=bracket, extend=further)
    runs = [future for (name, _), future in zip(client.asked, client.futures, strict=True) if name == "run"]
    assert [future.value.value for future in runs] == shares


# ---- what workers return --------------------------------------------------------------------------------------------


def test_arrays_go_back_beside_the_rest_and_can_be_written_to():
    whole = np.arange(1000.0)
    back = remote.sealed(Done(whole, ["w"]))
    assert [array.nbytes for array in back.arrays] == [8000]
    assert len(back.data) < 1000
    back.arrays[0].flags.writeable = False  # as they come out of a message
    again = remote.unsealed(back)
    again.value += 1
    assert again.value.tolist() == (whole + 1).tolist()
    assert again.warned == ["w"]


def test_the_file_that_was_not_found_is_named_where_it_has_a_name():
    def chained(cause):
        problem = ValueError("no votes")
        problem.__cause__ = cause
        return problem

    found = FileNotFoundError(2, "No such file", "votes.csv")
    assert remote._missing(found) == "votes.csv"
    assert remote._missing(chained(chained(found))) == "votes.csv"
    assert remote._missing(FileNotFoundError("somewhere")) is None
    assert remote._missing(chained(FileNotFoundError("somewhere"))) is None
    assert remote._missing(PermissionError(13, "no", "votes.csv")) is None
    assert remote._missing(chained(None)) is None
    assert remote._missing(None) is None


def test_an_error_without_a_file_says_nothing_of_one():
    def broken(chunk):
        raise ValueError("broken")

    with pytest.raises(ValueError, match=r"^broken") as caught:
        remote.run(remote.seal([1]), Task(broken, (), operator.add), 0)
    assert not hasattr(caught.value, "missing")
    assert caught.value.__cause__ is None


def test_only_a_file_that_is_here_is_said_to_be_missing_there(tmp_path):
    here = tmp_path / "votes.csv"
    problem = ValueError("no votes")
    assert cluster._worded(problem) is problem
    problem.missing = ("tcp://a:1", str(here))
    assert cluster._worded(problem) is problem
    here.touch()
    told = cluster._worded(problem)
    assert isinstance(told, EngineError)
    assert str(told) == f"worker tcp://a:1 has no {here}; give a path that all machines share, or a URL"


@pytest.mark.parametrize(
    ("chunks", "names"),
    [
        (["a"], "'a'"), ([SimpleNamespace(name="f.csv")], "f.csv"), ([SimpleNamespace(name="")], "namespace(name='')"),
        ([1, 2], "1 to 2, one after the other,"), ([1, 2, SimpleNamespace(name="z")], "1 to z, one after the other,"),
    ],
)  # fmt: skip
def test_chunks_that_end_workers_are_named_by_the_first_and_the_last(chunks, names):
    words = f"{names} ended 7 workers; too little memory? give workers more of it, or smaller files"
    assert str(remote.deadly(chunks, 7)) == words
