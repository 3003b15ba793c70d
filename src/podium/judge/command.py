"""A command as judge: one process kept open, a JSON object a line in, one out, in any order."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
from collections.abc import Sequence
from typing import Any

from podium.errors import InputError
from podium.judge.limits import MOST_OUT, check_number, check_whole
from podium.judge.prompt import Asked
from podium.judge.verdict import MOST_RAW, Verdict

__all__ = ["CommandJudge"]

MOST_STARTS = 4  # the first, and three after a process has died
MOST_LINE = 4_000_000  # bytes
OUTCOMES = (0, 1, 0.5)


class CommandJudge:
    """A program that judges: it reads a JSON object a line, and writes one for each, in any order.

    In: `id`, `question`, `left`, `right`, `context`, `reference`, `instructions`, and of pictures
    `left_image`, `right_image` (data addresses). Out: `id`, `outcome` (1: left, 0:
    right, 0.5: tie, null: skipped), and perhaps `reason`. What it writes to standard error is shown.

    Parameters
    ----------
    argv : sequence of str
        The program and its arguments.
    timeout : float
        Seconds for one answer.
    concurrency : int
        Lines out at a time.
    """

    def __init__(self, argv: Sequence[str], *, timeout: float = 600.0, concurrency: int = 16) -> None:
        if not isinstance(argv, list | tuple) or not argv or not all(isinstance(word, str) for word in argv):
            raise InputError("a command is a list of words: the program and its arguments; give at least one")
        check_number("timeout", timeout, low=1e-3, high=86_400)
        check_whole("concurrency", concurrency, most=MOST_OUT)
        self.argv = tuple(argv)
        self.timeout = timeout
        self.concurrency = concurrency
        self.starts = 0
        self._process: asyncio.subprocess.Process | None = None
        self._reader: asyncio.Task[None] | None = None
        self._waiting: dict[str, asyncio.Future[Verdict | None]] = {}
        self._asked: set[str] = set()
        self._failed: str | None = None  # why the program cannot be run at all
        self._starting = asyncio.Lock()

    def __repr__(self) -> str:
        return f"CommandJudge({list(self.argv)!r})"

    def header(self) -> dict[str, Any]:
        """Who judges, as every export says."""
        return {"model": " ".join(self.argv)[:100], "command": list(self.argv)}

    async def answer(self, question: Asked) -> Verdict:
        """Write the question, and wait for the line that answers it; a process that died is started again."""
        row = {
            "id": question.id,
            "question": question.question,
            "left": question.left,
            "right": question.right,
            "context": question.context,
            "reference": question.reference,
            "instructions": question.instructions,
        }
        pictures = {"left_image": question.left_image, "right_image": question.right_image}
        row |= {name: address for name, address in pictures.items() if address}
        line = json.dumps(row).encode() + b"\n"
        while True:
            process = await self._alive()
            answered: asyncio.Future[Verdict | None] = asyncio.get_running_loop().create_future()
            self._waiting[question.id] = answered
            self._asked.add(question.id)
            try:
                assert process.stdin is not None
                process.stdin.write(line)
                await process.stdin.drain()
                verdict = await asyncio.wait_for(answered, self.timeout)
            except (ConnectionError, RuntimeError):
                verdict = None
                await process.wait()
            except TimeoutError:
                return Verdict(None, problem="empty", raw=f"no answer in {self.timeout:g} seconds")
            finally:
                self._waiting.pop(question.id, None)
            if verdict is not None:
                return verdict

    async def close(self) -> None:
        """End the process."""
        process, self._process = self._process, None
        if process is not None and process.returncode is None:
            assert process.stdin is not None
            process.stdin.close()
            try:
                await asyncio.wait_for(process.wait(), 5.0)
            except TimeoutError:
                process.kill()
                await process.wait()
        if self._reader is not None:
            self._reader.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._reader

    async def _alive(self) -> asyncio.subprocess.Process:
        async with self._starting:
            if self._process is not None and self._process.returncode is None:
                return self._process
            if self._failed is not None:
                raise InputError(self._failed)
            if self.starts >= MOST_STARTS:
                code = None if self._process is None else self._process.returncode
                raise InputError(f"{self.argv[0]} ended {self.starts} times, at last with exit code {code}; see its words above")  # fmt: skip  # noqa: E501
            self.starts += 1
            try:
                self._process = await asyncio.create_subprocess_exec(
                    *self.argv,
                    stdin=asyncio.subprocess.PIPE,
                    stdout=asyncio.subprocess.PIPE,
                    stderr=sys.__stderr__ if _is_real(sys.__stderr__) else asyncio.subprocess.DEVNULL,
                    limit=MOST_LINE,
                    start_new_session=True,  # Ctrl-C is ours to hear: what is out may still be answered
                )
            except (OSError, ValueError) as problem:
                said = getattr(problem, "strerror", None) or problem
                self._failed = f"cannot run {self.argv[0]!r}: {said}; check --command"
                raise InputError(self._failed) from problem
            self._reader = asyncio.create_task(self._read(self._process))
            return self._process

    async def _read(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdout is not None
        while True:
            try:
                line = await process.stdout.readline()
            except ValueError:  # longer than any answer
                self._give_up("a line of more than 4 MB")
                continue
            if not line:
                break
            self._take(line)
        await process.wait()
        for waiting in self._waiting.values():
            if not waiting.done():
                waiting.set_result(None)

    def _take(self, line: bytes) -> None:
        """A line that answers a question; one that is no JSON, or has no id we sent, answers what was asked first."""
        text = line.decode("utf-8", "replace").strip()
        if not text:
            return
        try:
            row = json.loads(text)
        except (ValueError, RecursionError):
            row = None
        if not isinstance(row, dict) or str(row.get("id")) not in self._asked:
            self._give_up(text)
            return
        waiting = self._waiting.get(str(row.get("id")))
        if waiting is not None and not waiting.done():
            waiting.set_result(_verdict(row, text))

    def _give_up(self, text: str) -> None:
        first = next((each for each in self._waiting.values() if not each.done()), None)
        if first is not None:
            first.set_result(Verdict(None, problem="form", raw=text[:MOST_RAW]))


def _verdict(row: dict[str, Any], text: str) -> Verdict:
    outcome, reason = row.get("outcome"), row.get("reason")
    why = reason[:MOST_RAW] if isinstance(reason, str) and reason else None
    if outcome is None and "outcome" in row:
        return Verdict(None, why, problem="refusal", raw=text[:MOST_RAW])
    if isinstance(outcome, bool) or outcome not in OUTCOMES:
        return Verdict(None, why, problem="unknown-value", raw=text[:MOST_RAW])
    return Verdict(float(outcome), why, raw=text[:MOST_RAW])


def _is_real(stream: Any) -> bool:
    try:
        return stream is not None and stream.fileno() >= 0
    except (OSError, ValueError):
        return False
