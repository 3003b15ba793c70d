"""The other side: what a worker process does until its channel closes."""

from __future__ import annotations

import pickle
import signal
import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

from podium.engine.base import reporting_to
from podium.errors import EngineError, PodiumError

__all__ = ["Task", "work"]


@dataclass(frozen=True)
class Task:
    """What is done with every chunk; with `add`, the values of one job are added up here."""

    function: Callable[..., Any]
    shared: tuple[Any, ...]
    add: Callable[[Any, Any], Any] | None = None


def work(channel: Connection) -> None:
    """Take jobs until nobody is there to give them."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle; it ends us
    task: Task | None = None
    try:
        while True:
            kind, content = channel.recv()
            if kind == "task":
                try:
                    task = pickle.loads(content)
                except Exception as problem:  # a function that this process cannot find
                    task = Task(_raise, (EngineError(f"a worker process cannot read its work: {problem}"),))
                continue
            assert task is not None
            message = _outcome(task, content, channel)
            try:
                channel.send(message)
            except (pickle.PicklingError, TypeError, AttributeError) as problem:
                channel.send(("error", EngineError(f"what a worker process found cannot be sent back: {problem}")))
    except (EOFError, BrokenPipeError, ConnectionResetError):
        return


def _outcome(task: Task, chunks: list[Any], channel: Connection) -> tuple[str, Any]:
    """The sum of the chunks' values with the warnings given on the way, or the first error."""
    try:
        pass_on = reporting_to(lambda value: channel.send(("progress", value)))
        with warnings.catch_warnings(record=True) as caught, pass_on:
            warnings.simplefilter("always")
            total = None
            for k, chunk in enumerate(chunks):
                channel.send(("at", k))
                value = task.function(chunk, *task.shared)
                total = value if k == 0 or task.add is None else task.add(total, value)
        return "value", (total, [one.message for one in caught])
    except Exception as problem:
        return "error", _portable(problem)


def _portable(problem: Exception) -> Exception:
    """The error itself where it survives the way, else its text."""
    try:
        again = pickle.loads(pickle.dumps(problem))
        if str(again) == str(problem):
            if not isinstance(problem, PodiumError):
                problem.add_note("in a worker process:\n" + traceback.format_exc())
            return problem
    except Exception:
        pass
    return EngineError(f"{type(problem).__name__} in a worker process: {problem}")


def _raise(chunk: Any, problem: Exception) -> None:
    raise problem
