"""Whoever can be asked which of two: a model, a command, a function."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable
from typing import Any, Protocol, runtime_checkable

from podium.errors import InputError
from podium.judge.prompt import Asked
from podium.judge.verdict import Verdict

__all__ = ["Asker", "FunctionJudge", "as_asker", "header_of_asker", "shown_to"]


@runtime_checkable
class Asker(Protocol):
    """Whatever can say which of two: a model, a command, a function of yours."""

    async def answer(self, question: Asked) -> Verdict:
        """Say which of two."""


class FunctionJudge:
    """A function as judge: it takes the question and returns 1, 0, 0.5, None for a skip, or a `Verdict`."""

    def __init__(self, function: Callable[[Asked], Any]) -> None:
        self.function = function

    def header(self) -> dict[str, Any]:
        """Who judges, as every export says."""
        return {"model": getattr(self.function, "__name__", type(self.function).__name__)}

    async def answer(self, question: Asked) -> Verdict:
        """Call it."""
        said = self.function(question)
        if inspect.isawaitable(said):
            said = await said
        if isinstance(said, Verdict):
            return said
        if said is None:
            return Verdict(None, problem="refusal")
        if isinstance(said, int | float) and said in (0, 0.5, 1):
            return Verdict(float(said))
        raise InputError(f"the judge said {said!r:.100}; it is 1 for the left item, 0, 0.5, or None for a skip")


def as_asker(ask: Any) -> Asker:
    """An asker as it is, a function as one."""
    if hasattr(ask, "answer"):
        found: Asker = ask
        return found
    if not callable(ask):
        raise InputError(f"{ask!r:.100} cannot be asked; give HttpJudge(…), CommandJudge(…) or a function")
    return FunctionJudge(ask)


def header_of_asker(asker: Any) -> dict[str, Any]:
    """What an asker says of itself; a user's own class need not."""
    header = getattr(asker, "header", None)
    return dict(header()) if callable(header) else {"model": type(asker).__name__}


def shown_to(asker: Any, asked: Asked) -> str:
    """What a judge was shown, word for word."""
    prompt = getattr(asker, "prompt", None)
    shown = prompt.messages(asked) if prompt is not None else [asked.question, asked.left, asked.right]
    return json.dumps(shown, ensure_ascii=False)
