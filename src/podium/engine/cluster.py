"""A Dask cluster: chunks go to its workers, sums are added there level by level, and only the last value comes back.

Dask does a chunk again whose worker died, and makes lost parts again from their chunks. The tree of additions is that
of every engine, so the bits are, too. One chunk at a time runs in each worker process, however many threads it has.
"""

from __future__ import annotations

import operator
import os
import pickle
import time
import warnings
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from itertools import islice
from queue import Empty, SimpleQueue
from typing import Any

from podium.engine.base import FAN_IN, Add, Engine, Function, Kept, Progress, Through
from podium.engine.processes import TASKS_AHEAD, shares
from podium.engine.remote import Done, add_up, deadly, made, made_of, of_part, run, seal, sealed, task_of, unsealed
from podium.engine.worker import Task
from podium.errors import EngineError

__all__ = ["DaskEngine"]

Jobs = list[tuple[list[Any], Any]]  # chunks, and the future of their value

MAX_SENT_BYTES = 1 << 16  # bytes of what all chunks share that go with each of them; more becomes a value of its own
LOOK_EVERY = 1.0  # seconds between two looks at whether the cluster is still there
WORKERLESS = 300.0  # seconds that it may be without any worker: those that died are being replaced


class DaskEngine(Engine):
    """The workers of a Dask client, which stays open; `connect` opens one by its address.

    Parameters
    ----------
    client : distributed.Client
        Its workers need the versions of podium, NumPy and polars that are here, and see files under the same paths.
    """

    def __init__(
        self, client: Any, *, mending: Callable[[], None] | None = None, closing: Callable[[], None] | None = None
    ) -> None:
        self.client = client
        self._mend = mending or _nothing  # called now and then while work is waited for
        self._finalizer = weakref.finalize(self, closing or _nothing)

    @property
    def n(self) -> int:
        """How many workers there are now."""
        return max(1, len(self.client.nthreads()))

    @property
    def on_one_machine(self) -> int:
        """The most workers that share the memory of one machine."""
        hosts = [address.rpartition(":")[0] for address in self.client.nthreads()]
        return max((hosts.count(host) for host in set(hosts)), default=1)

    def close(self) -> None:
        self._finalizer()

    def map(
        self, function: Function, chunks: Iterable[Any], *shared: Any, progress: Progress | None = None
    ) -> Iterator[Any]:
        task = self._shared(Task(function, shared))
        jobs, most = iter(chunks), TASKS_AHEAD * self.n
        out: deque[tuple[Any, Any]] = deque()  # chunk and future
        try:
            while True:
                more = islice(jobs, most - len(out))
                out.extend((chunk, self._submit(run, seal([chunk]), task, 0, None, True)) for chunk in more)
                if not out:
                    return
                for _ in self._finished([out[0][1]]):
                    pass
                chunk, future = out.popleft()
                held = [later for _, later in out]
                hear = None if progress is None else partial(_pass_on, progress)
                yield self._value(future, [([chunk], future)], Task(function, shared), hear, held)
        finally:
            self._let_go([future for _, future in out])

    def sum(
        self,
        function: Function,
        chunks: Sequence[Any],
        *shared: Any,
        add: Add = operator.add,
        extend: Function | None = None,
        progress: Progress | None = None,
    ) -> Any:
        chunks = list(chunks)
        if extend is not None and len(chunks) > 1:
            groups = shares(chunks, self.n)
        else:
            groups = [[chunk] for chunk in chunks]
        plain = Task(function, shared, add, extend)
        task = self._shared(plain)
        with self._hearing(progress) as (topic, inbox):
            jobs = [(group, self._submit(run, seal(group), task, k, topic)) for k, group in enumerate(groups)]
            return self._sum(jobs, plain, progress, inbox)

    def _sum(self, jobs: Jobs, task: Task, progress: Progress | None, inbox: SimpleQueue[Any] | None = None) -> Any:
        """The sum of what was submitted, added by the tree on the workers."""
        if not jobs:
            raise ValueError("there are no chunks, so there is no sum")
        sums = self._tree([future for _, future in jobs], seal(task.add))
        total = self._submit(sealed, sums[-1], priority=20)
        heard: set[tuple[int, int]] = set()

        def hear(message: tuple[int, int, Any]) -> None:
            if progress is not None and message[:2] not in heard:  # a chunk that is done again reports again
                heard.add(message[:2])
                progress(message[2])

        try:
            for _ in self._finished([*(future for _, future in jobs), total], inbox, hear):
                pass
            return self._value(total, jobs, task, hear, [*sums, total])
        except BaseException:  # Ctrl-C too: nobody wants the rest
            self._let_go([*sums, total])
            raise

    @contextmanager
    def _hearing(self, progress: Progress | None) -> Iterator[tuple[str | None, SimpleQueue[Any]]]:
        """A topic under which workers report, and the box that it arrives in."""
        inbox: SimpleQueue[Any] = SimpleQueue()
        if progress is None:
            yield None, inbox
            return
        topic = f"podium-{os.urandom(12).hex()}"
        self.client.subscribe_topic(topic, lambda event: inbox.put(event[1]))
        try:
            yield topic, inbox
        finally:
            with suppress(OSError, ValueError, RuntimeError):  # a cluster that is gone
                self.client.unsubscribe_topic(topic)

    def _let_go(self, futures: list[Any]) -> None:
        with suppress(OSError, RuntimeError, TimeoutError):  # a cluster that is gone
            self.client.cancel(futures)

    def _tree(self, level: list[Any], add: bytes) -> list[Any]:
        """What `Adder` adds, as tasks: eights, eights of those, and what is left from the top. The last is the sum.

        The others are to be held until it is there: Dask forgets what nobody holds before it hears who needs it.
        """
        sums, rests, height = list(level), [], 1
        while level:
            cut = len(level) // FAN_IN * FAN_IN
            rests.append(level[cut:])
            eights = [level[k : k + FAN_IN] for k in range(0, cut, FAN_IN)]
            level = [self._submit(add_up, add, *eight, priority=height) for eight in eights]
            sums += level
            height += 1
        left = [rest[0] if len(rest) == 1 else self._submit(add_up, add, *rest) for rest in reversed(rests) if rest]
        sums += left
        return sums if len(left) == 1 else [*sums, self._submit(add_up, add, *left, priority=height)]

    def keep(self, function: Function, chunks: Sequence[Any]) -> Kept:
        chunks = list(chunks)
        code = seal(function)
        parts = [self._submit(made, seal(chunk), code) for chunk in chunks]
        return _KeptThere(self, chunks, parts, Through((function, ())))

    # What is the same for all: sending, waiting, and what went wrong.

    def _shared(self, task: Task) -> Any:
        data = seal(task)
        return data if len(data) < MAX_SENT_BYTES else self._submit(task_of, data, priority=30)

    def _submit(self, function: Function, *arguments: Any, priority: int = 0) -> Any:
        with _about_the_cluster(self.client), warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Sending large graph")
            key = f"podium-{function.__name__}-{os.urandom(12).hex()}"
            return self.client.submit(function, *arguments, key=key, priority=priority, pure=False)

    def _finished(
        self, futures: list[Any], inbox: SimpleQueue[Any] | None = None, hear: Callable[[Any], None] | None = None
    ) -> Iterator[Any]:
        """Each as it finishes, and no more after one that failed; a cluster that is gone is an error.

        Messages that come into the box meanwhile are opened for `hear`.
        """
        ready: SimpleQueue[Any] = SimpleQueue() if inbox is None else inbox
        for future in futures:
            future.add_done_callback(ready.put)
        since, left = time.monotonic(), len(futures)
        while left:
            try:
                future = ready.get(timeout=LOOK_EVERY)
            except Empty:
                since = self._look(since)
                continue
            if isinstance(future, bytes):
                if hear is not None:
                    hear(pickle.loads(future))
                continue
            if future.status == "cancelled":
                raise self._gone()
            yield future
            left = left - 1 if future.status == "finished" else 0

    def _look(self, since: float) -> float:
        """When workers were last seen."""
        with _about_the_cluster(self.client):
            if self.client.status != "running":
                raise self._gone()
            self._mend()
            if self.client.nthreads():
                return time.monotonic()
        if time.monotonic() - since > WORKERLESS:
            where = _address(self.client)
            raise EngineError(f"the cluster at {where} has had no worker for {WORKERLESS:.0f} seconds; start some")
        return since

    def _gone(self) -> EngineError:
        return EngineError(
            f"the connection to the scheduler at {_address(self.client)} is lost, and the work with it; start it again"
        )

    def _gathered(self, future: Any) -> Any:
        """A small value that is there."""
        from distributed import CancelledError

        with _about_the_cluster(self.client):
            try:
                return future.result(timeout=600)
            except CancelledError as problem:
                raise self._gone() from problem

    def _value(self, future: Any, jobs: Jobs, task: Task, hear: Callable[[Any], None] | None, held: list[Any]) -> Any:
        """The value of a future, after the warnings that came with it; or the error of the first chunk that has one."""
        if future.status != "finished":
            self._raise_first(jobs, task, future, held)
        done: Done = unsealed(self._gathered(future))
        for warning in done.warned:
            warnings.warn(warning, stacklevel=3)
        if hear is not None:
            for message in done.told:
                hear(message)
        return done.value

    def _raise_first(self, jobs: Jobs, task: Task, future: Any, held: list[Any]) -> None:
        """Raise the error of the first chunk: those before it are waited for, those after it are not.

        `held` is all that is out, and let go before chunks are tried on their own.
        """
        from distributed import KilledWorker

        for chunks, one in jobs:
            for _ in self._finished([one]):
                pass
            if one.status != "error":
                continue
            problem = one.exception()
            if isinstance(problem, KilledWorker):
                self._let_go(held)
                raise self._deadly_among(chunks, task, problem)
            raise _worded(problem)
        if future.status != "error":  # what all share, or an addition
            for _ in self._finished([future]):
                pass
        problem = future.exception()
        if isinstance(problem, KilledWorker):
            raise EngineError("adding up what the workers found ended them; too little memory? use fewer workers")
        raise _worded(problem)

    def _deadly_among(self, chunks: list[Any], task: Task, problem: Any) -> BaseException:
        """Which chunk it was: Dask blames all that a lost worker had before it, so each is tried on its own."""
        from distributed import KilledWorker

        times = problem.allowed_failures + 1
        alone = self._shared(Task(task.function, task.shared))
        for chunk in chunks:
            future = self._submit(run, seal([chunk]), alone, 0)
            for _ in self._finished([future]):
                pass
            if future.status == "error":
                again = future.exception()
                return deadly([chunk], times) if isinstance(again, KilledWorker) else _worded(again)
        return deadly(chunks, times)


class _KeptThere(Kept):
    """Parts in the memory of workers; Dask makes those again that are lost."""

    def __init__(self, engine: DaskEngine, chunks: list[Any], parts: list[Any], made: Through) -> None:
        self.engine, self.chunks, self.parts, self.made = engine, chunks, parts, made

    def then(self, function: Function, *shared: Any) -> Kept:
        task = self.engine._shared(Task(function, shared))
        parts = [self.engine._submit(made_of, part, task) for part in self.parts]
        return _KeptThere(self.engine, self.chunks, parts, self.made.then(function, *shared))

    def sum(self, function: Function, *shared: Any, add: Add = operator.add) -> Any:
        plain = Task(self.made.then(function), shared, add)  # of the chunk; tried where one ends workers
        task = self.engine._shared(Task(function, shared, add))
        jobs = [
            ([chunk], self.engine._submit(of_part, part, task))
            for chunk, part in zip(self.chunks, self.parts, strict=True)
        ]
        return self.engine._sum(jobs, plain, None)


@contextmanager
def _about_the_cluster(client: Any) -> Iterator[None]:
    """What Dask and its sockets raise becomes one sentence."""
    try:
        yield
    except (OSError, TimeoutError, RuntimeError) as problem:
        if isinstance(problem, EngineError):
            raise
        raise EngineError(f"the cluster at {_address(client)} does not answer: {problem}; start it again") from problem


def _address(client: Any) -> str:
    scheduler = getattr(client, "scheduler", None)
    return str(getattr(scheduler, "address", None) or "its address")


def _worded(problem: BaseException) -> BaseException:
    """An error of a worker: about a file that is here and not there, it says what that means."""
    missing = getattr(problem, "missing", None)
    if missing is not None and os.path.exists(missing[1]):
        worker, path = missing
        return EngineError(f"worker {worker} has no {path}; give a path that all machines share, or a URL")
    return problem


def _pass_on(progress: Progress, message: tuple[int, int, Any]) -> None:
    progress(message[2])


def _nothing() -> None:
    return
