"""What runs in the workers of a cluster: functions of sealed work, which return what is to be added up."""

from __future__ import annotations

import pickle
import threading
import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from podium.engine.base import reporting_to
from podium.engine.worker import Task, portable
from podium.errors import EngineError

__all__ = [
    "Done",
    "Sealed",
    "add_up",
    "deadly",
    "made",
    "made_of",
    "of_part",
    "run",
    "seal",
    "sealed",
    "task_of",
    "unsealed",
]

# Warnings are caught for the whole process, so that one chunk runs at a time, whatever threads the worker has.
_one_at_a_time = threading.RLock()


@dataclass
class Done:
    """The value of some chunks, and what was said on the way."""

    value: Any
    warned: list[Any] = field(default_factory=list)
    told: list[tuple[int, int, Any]] = field(default_factory=list)  # the job, the how manieth of it, and what


@dataclass
class Sealed:
    """A value as bytes and arrays, so that whoever opens it may write into them."""

    data: bytes
    arrays: list[np.ndarray]


def seal(value: Any) -> bytes:
    """Work for a worker; functions of a script travel whole."""
    import cloudpickle

    try:
        data: bytes = cloudpickle.dumps(value)
    except Exception as problem:
        raise EngineError(
            f"the work cannot be sent to the workers: {problem}; define its functions in a module"
        ) from problem
    return data


def task_of(data: bytes) -> Task:
    """What all chunks share, opened once."""
    task: Task = _opened(data)
    return task


def run(chunks: bytes, task: Any, number: int, topic: str | None = None, last: bool = False) -> Any:
    """The sum of the chunks' values; sealed, if it goes back to where it was asked for.

    What is reported on the way is sent under `topic` at once; as that may get lost, it comes with the value, too.
    """
    done = _guarded(_sum_of, chunks, task, number, topic)
    return sealed(done) if last else done


def made(chunk: bytes, function: bytes) -> Any:
    """A part that is kept here."""
    return _guarded(lambda: _opened(function)(_opened(chunk)))


def made_of(part: Any, task: Any) -> Any:
    """A part that is kept here, of another one."""
    return _guarded(lambda: _task(task).go_on(None, part, first=True))


def of_part(part: Any, task: Any) -> Done:
    """The value of a part."""
    return Done(_guarded(lambda: _task(task).go_on(None, part, first=True)))


def add_up(add: bytes, *parts: Done) -> Done:
    """The sum of some values, from the first to the last; the first of them is changed."""

    def total() -> Done:
        add_two = _opened(add)
        value = parts[0].value
        for part in parts[1:]:
            value = add_two(value, part.value)
        return Done(value, [one for part in parts for one in part.warned], [one for part in parts for one in part.told])

    done: Done = _guarded(total)
    return done


def sealed(done: Done) -> Sealed:
    """A value ready for the way back."""
    buffers: list[pickle.PickleBuffer] = []
    try:
        data = pickle.dumps(done, protocol=5, buffer_callback=buffers.append)
    except Exception as problem:
        raise EngineError(f"what a worker found cannot be sent back: {problem}") from None
    return Sealed(data, [np.frombuffer(buffer.raw(), np.uint8) for buffer in buffers])


def unsealed(value: Sealed) -> Any:
    """What was sealed."""
    return pickle.loads(value.data, buffers=[np.require(array, requirements="W") for array in value.arrays])


def deadly(chunks: list[Any], times: int) -> EngineError:
    """The error about chunks that end workers."""
    first, last = ((getattr(chunk, "name", None) or repr(chunk)) for chunk in (chunks[0], chunks[-1]))
    names = first if len(chunks) == 1 else f"{first} to {last}, one after the other,"
    return EngineError(f"{names} ended {times} workers; too little memory? give workers more of it, or smaller files")


def _sum_of(data: bytes, shared: Any, number: int, topic: str | None) -> Done:
    chunks, task = _opened(data), _task(shared)
    told: list[tuple[int, int, Any]] = []

    def tell(value: Any) -> None:
        told.append((number, len(told), value))
        if topic is not None:
            from distributed import get_worker

            get_worker().log_event(topic, pickle.dumps(told[-1]))

    with warnings.catch_warnings(record=True) as caught, reporting_to(tell):
        warnings.simplefilter("always")
        total = None
        for k, chunk in enumerate(chunks):
            total = task.go_on(total, chunk, first=k == 0)
    return Done(total, [one.message for one in caught], told)


def _task(shared: Any) -> Task:
    return shared if isinstance(shared, Task) else _opened(shared)


def _opened(data: bytes) -> Any:
    try:
        return pickle.loads(data)
    except Exception as problem:
        raise EngineError(f"a worker cannot read its work: {problem}; install the same packages there") from problem


def _guarded(function: Any, *arguments: Any) -> Any:
    """One at a time; errors leave in a form that survives the way."""
    with _one_at_a_time:
        try:
            return function(*arguments)
        except Exception as problem:
            error = portable(problem)
            missing = _missing(problem)
            if missing is not None:
                error.missing = (_here(), missing)  # type: ignore[attr-defined]
            raise error from None


def _missing(problem: BaseException | None) -> str | None:
    """The file that was not found, if that is what an error comes from."""
    while problem is not None:
        if isinstance(problem, FileNotFoundError) and problem.filename is not None:
            return str(problem.filename)
        problem = problem.__cause__
    return None


def _here() -> str:
    from distributed import get_worker

    return str(get_worker().address)
