"""Engines: Serial and Processes under one suite, and what only processes can get wrong."""

import multiprocessing
import os
import signal
import subprocess
import sys
import time

import pytest

from podium.engine import Processes, Serial, engine_for
from podium.errors import EngineError, InputError

from suites.engines import EngineSuite, ProcessSuite, wrap


class TestSerial(EngineSuite):
    @pytest.fixture
    def engine(self):
        return Serial()


@pytest.fixture(scope="module")
def processes():
    with Processes(2) as engine:
        yield engine
    assert not multiprocessing.active_children(), "no process is left behind"


class TestProcesses(ProcessSuite):
    @pytest.fixture
    def engine(self, processes):
        return processes


class Deadly:
    name = "part07.parquet"


def always_die(chunk):
    if isinstance(chunk, Deadly):
        os.kill(os.getpid(), signal.SIGKILL)
    return 1


def test_a_chunk_that_ends_three_workers_is_named_and_there_is_no_answer():
    with Processes(2) as engine:
        with pytest.raises(EngineError, match=r"^part07.parquet ended 3 worker processes, the last by signal 9"):
            engine.sum(always_die, [1, 2, Deadly(), 4])
        assert engine.sum(wrap, [1, 2]) == "12"
        pids = [worker.process.pid for worker in engine._workers]
    assert not any(_alive(pid) for pid in pids)


@pytest.mark.parametrize("jobs", [0, -1, True, 1.5, "2"])
def test_a_number_of_jobs_that_is_none_is_refused(jobs):
    with pytest.raises(InputError, match=r"jobs=.*: give the number of processes, 1 or more"):
        engine_for(jobs)
    with pytest.raises(InputError, match="cannot be started"):
        Processes(jobs)


def test_no_more_processes_than_chunks_and_none_for_one():
    assert isinstance(engine_for(1), Serial)
    assert isinstance(engine_for(4, 1), Serial)
    assert engine_for(4, 3).n == 3


ORPHANS = """
import os, time
from podium.engine import Processes
if __name__ == "__main__":
    engine = Processes(2)
    list(engine.map(str, [1, 2]))
    print(*(worker.process.pid for worker in engine._workers), flush=True)
    time.sleep(60)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals as on POSIX")
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_workers_end_with_their_parent(tmp_path, how):
    script = tmp_path / "orphans.py"
    script.write_text(ORPHANS)
    parent = subprocess.Popen(
        [sys.executable, str(script)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    workers = [int(pid) for pid in parent.stdout.readline().split()]
    assert len(workers) == 2
    parent.send_signal(how)
    parent.wait(timeout=20)
    parent.stdout.close()
    until = time.monotonic() + 20
    while any(_alive(pid) for pid in workers) and time.monotonic() < until:
        time.sleep(0.05)
    assert not any(_alive(pid) for pid in workers)


def _alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False
