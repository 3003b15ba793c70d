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

import numpy as np

from podium.engine.base import reporting_to
from podium.errors import EngineError, PodiumError

__all__ = ["Task", "portable", "receive", "send", "work"]

PIECE = 1 << 20  # bytes of an array that travel at a time


@dataclass(frozen=True)
class Task:
    """What is done with every chunk; with `add`, the values of one job are added up here, or `extend` goes on."""

    function: Callable[..., Any]
    shared: tuple[Any, ...]
    add: Callable[[Any, Any], Any] | None = None
    extend: Callable[..., Any] | None = None

    def go_on(self, total: Any, chunk: Any, first: bool) -> Any:
        """The sum with one more chunk."""
        if self.extend is not None and not first:
            return self.extend(total, chunk, *self.shared)
        value = self.function(chunk, *self.shared)
        return value if first or self.add is None else self.add(total, value)


def send(channel: Connection, message: Any) -> None:
    """Send a message; its arrays go as they are, in pieces, so that no copy of them is made on the way."""
    buffers: list[pickle.PickleBuffer] = []
    data = pickle.dumps(message, protocol=5, buffer_callback=buffers.append)
    views = [buffer.raw() for buffer in buffers]
    channel.send((data, [view.nbytes for view in views]))
    for view in views:
        for at in range(0, view.nbytes, PIECE):
            channel.send_bytes(view[at : at + PIECE])


def receive(channel: Connection) -> Any:
    """What `send` sent."""
    data, sizes = channel.recv()
    buffers = [np.empty(size, np.uint8) for size in sizes]
    for buffer in buffers:
        for at in range(0, len(buffer), PIECE):
            channel.recv_bytes_into(buffer.data[at : at + PIECE])
    return pickle.loads(data, buffers=buffers)


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
                send(channel, message)
            except (pickle.PicklingError, TypeError, AttributeError) as problem:
                send(channel, ("error", EngineError(f"what a worker process found cannot be sent back: {problem}")))
    except (EOFError, BrokenPipeError, ConnectionResetError):
        return


def _outcome(task: Task, chunks: list[Any], channel: Connection) -> tuple[str, Any]:
    """The sum of the chunks' values with the warnings given on the way, or the first error."""
    try:
        pass_on = reporting_to(lambda value: send(channel, ("progress", value)))
        with warnings.catch_warnings(record=True) as caught, pass_on:
            warnings.simplefilter("always")
            total = None
            for k, chunk in enumerate(chunks):
                send(channel, ("at", k))
                total = task.go_on(total, chunk, first=k == 0)
        return "value", (total, [one.message for one in caught])
    except Exception as problem:
        return "error", portable(problem)


def portable(problem: Exception) -> Exception:
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
