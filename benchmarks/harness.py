"""Time several ways of doing the same work, side by side: CPU seconds, one thread, warm, the least of several runs.

A `Scenario` makes data once and lists `Way`s. Each way runs in its own child process of the same script, after the data
are made, so that all see the same memory and a way that hangs, crashes or is not installed costs only itself: it is
shown as such. Import this module before NumPy: it asks every library for one thread.
"""

from __future__ import annotations

import os

for _variable in ("OMP", "OPENBLAS", "MKL", "NUMEXPR", "RAYON"):
    os.environ[f"{_variable}_NUM_THREADS"] = "1"
os.environ["POLARS_MAX_THREADS"] = "1"
os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"

import json  # noqa: E402
import math  # noqa: E402
import resource  # noqa: E402
import select  # noqa: E402
import signal  # noqa: E402
import sys  # noqa: E402
import time  # noqa: E402
import traceback  # noqa: E402
import warnings  # noqa: E402
from collections.abc import Callable, Iterator  # noqa: E402
from contextlib import contextmanager  # noqa: E402
from dataclasses import asdict, dataclass, field  # noqa: E402
from pathlib import Path  # noqa: E402
from typing import Any  # noqa: E402

import numpy as np  # noqa: E402

__all__ = ["Data", "NoData", "Result", "Scenario", "Way", "measure", "public_data", "run_scenario"]

Data = dict[str, Any]

SHORT, MOST_TOGETHER = 0.02, 20  # CPU seconds that a run should take at least, and how many make one up


class NoData(Exception):
    """A scenario on public data, and no folder that holds copies of them."""


@contextmanager
def public_data() -> Iterator[str]:
    """The folder given with --data; what is not there leaves the scenario out."""
    from podium.errors import InputError

    folder = os.environ.get("PODIUM_BENCHMARK_DATA")
    if not folder:
        raise NoData("needs copies of public data: --data DIR")
    try:
        yield folder
    except InputError as problem:
        raise NoData(str(problem)) from None


@dataclass(frozen=True)
class Way:
    """One way of doing a scenario's work.

    `prepare(data)` returns the function to time; what it does itself (imports, turning the data into the form a user of
    that package would hold) is not timed. The function returns scores in log-odds in the order of the items, or None.
    """

    name: str
    prepare: Callable[[Data], Callable[[], Any]]
    reach: float | None = None  # we want to be at least so many times as fast; below 1: at most 1/reach times as slow
    repeats: int = 5
    seconds: float = 120.0  # CPU seconds, given up after


@dataclass(frozen=True)
class Scenario:
    """The same work done in several ways; the first way is ours."""

    name: str
    title: str
    make: Callable[[np.random.Generator], Data]
    ways: tuple[Way, ...]
    full: bool = False  # only in the long run
    objective: Callable[[Data, np.ndarray], float] | None = None  # loss per vote, to show that all reached the optimum
    limit: float | None = None  # CPU seconds we want to stay within
    quality: Callable[[Data, np.ndarray], str] | None = None  # what the way achieved, in words
    wall: bool = False  # the clock on the wall instead of CPU seconds


@dataclass
class Result:
    """What one way took; `problem` says why there is no time."""

    way: str
    seconds: float | None = None
    ratio: float | None = None  # its time over ours
    reach: float | None = None
    gap: float | None = None  # its loss per vote less ours
    megabytes: float | None = None  # memory beyond the data, at its peak
    runs: int = 0
    problem: str | None = None
    quality: str | None = None
    unfinished: float | None = None  # CPU seconds after which it was given up
    more_than: float | None = None  # that over ours
    objective: float | None = field(default=None, repr=False)


def measure(
    run: Callable[[], Any], repeats: int, budget: float = 20.0, clock: Callable[[], float] | None = None
) -> tuple[float, int, Any]:
    """Least CPU seconds (children's included) of up to `repeats` runs after one to warm up; stops within `budget`."""
    clock = clock or _cpu
    before = clock()
    found = run()
    first = clock() - before
    if first > budget:  # too long to be run again; what warms up is little beside it
        return first, 1, found
    # Clocks of CPU time may tick by milliseconds on a busy machine: what is short is run several times in a row.
    together = min(max(math.ceil(SHORT / max(first, 1e-4)), 1), MOST_TOGETHER)
    best, spent, runs = math.inf, 0.0, 0
    while runs < repeats and (runs == 0 or spent + best <= budget):
        before = clock()
        for _ in range(together):
            found = run()
        took = (clock() - before) / together
        best, spent, runs = min(best, took), spent + together * took, runs + 1
    return best, runs, found


def _cpu() -> float:
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def run_scenario(scenario: Scenario, seed: int = 20_261) -> list[Result]:
    """Make the data, time every way in its own process, and compare with the first."""
    data = scenario.make(np.random.default_rng(seed))
    results = []
    for way in scenario.ways:
        result = _in_child(scenario, way, data)
        results.append(result)
        ours = results[0]
        if result.seconds and ours.seconds:
            result.ratio = result.seconds / ours.seconds
        if result.unfinished and ours.seconds:
            result.more_than = result.unfinished / ours.seconds
        if result.objective is not None and ours.objective is not None:
            result.gap = result.objective - ours.objective
    return results


def _in_child(scenario: Scenario, way: Way, data: Data) -> Result:
    reader, writer = os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if child == 0:
        os.close(reader)
        said = json.dumps(asdict(_timed(scenario, way, data))).encode()
        with os.fdopen(writer, "wb") as file:
            file.write(said)
        os._exit(0)
    os.close(writer)
    # Not by RLIMIT_CPU: Linux then keeps a process's clock by ticks, and work of milliseconds seems to take none.
    most = math.inf if scenario.wall else way.seconds
    text, spent = _read(reader, child, time.monotonic() + 10 * way.seconds, most)
    if text is None:
        os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    if text is None and spent > most:
        problem = f"not finished in {way.seconds:g} s of CPU"
        return Result(way.name, reach=way.reach, problem=problem, unfinished=way.seconds)
    if text is None:  # a way that sleeps, or hardly gets a core
        return Result(way.name, reach=way.reach, problem=f"not finished in {10 * way.seconds:g} s")
    if not text:
        return Result(way.name, reach=way.reach, problem="crashed")
    return Result(**json.loads(text))


def _read(reader: int, child: int, until: float, most: float) -> tuple[bytes | None, float]:
    """All that the child says, or None when its time is up, on the clock or of CPU; and the CPU seconds it took."""
    parts = []
    with os.fdopen(reader, "rb", buffering=0) as file:
        while True:
            ready, _, _ = select.select([file], [], [], 0.5)
            spent = _cpu_of(child)
            if not ready and (spent > most or time.monotonic() > until):
                return None, spent
            if not ready:
                continue
            part = file.read(65_536)
            if not part:
                return b"".join(parts), spent
            parts.append(part)


def _cpu_of(pid: int) -> float:
    """CPU seconds that a process of ours has taken so far, where the system tells."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _timed(scenario: Scenario, way: Way, data: Data) -> Result:
    warnings.simplefilter("ignore")
    result = Result(way.name, reach=way.reach)
    try:
        run = way.prepare(data)
        base = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        clock = time.perf_counter if scenario.wall else _cpu
        result.seconds, result.runs, scores = measure(run, way.repeats, way.seconds / 3, clock)
        result.megabytes = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - base) / 1024
        if scores is not None:
            scores = np.asarray(scores, dtype=np.float64)
            result.objective = None if scenario.objective is None else float(scenario.objective(data, scores))
            result.quality = None if scenario.quality is None else scenario.quality(data, scores)
    except ImportError as problem:
        result.problem = f"not installed ({problem.name})"
    except Exception as problem:
        result.problem = (
            f"failed: {type(problem).__name__}: {str(problem).splitlines()[0][:100] if str(problem) else ''}"
        )
        traceback.print_exc()
    return result
