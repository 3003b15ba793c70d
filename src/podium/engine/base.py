"""What an engine is, and the one that needs no other process.

Sums are a tree of additions that depends on the chunks alone: every eight results, in the order of their chunks, are
added one after the other, and every eight of those sums again. So all engines give the same bits. Where the caller
vouches that grouping does not matter to the bit (whole numbers), sums go on in place instead, chunk after chunk.
"""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Self

__all__ = ["FAN_IN", "Adder", "Engine", "Kept", "Serial", "Through", "extended", "report", "reporting_to"]

FAN_IN = 8  # results added one after the other before their sum counts as one

Function = Callable[..., Any]
Add = Callable[[Any, Any], Any]
Progress = Callable[[Any], None]


class Kept(ABC):
    """Parts that stay where they were made."""

    @abstractmethod
    def sum(self, function: Function, *shared: Any, add: Add = operator.add) -> Any:
        """Sum of function(part, *shared) over the parts, as `Engine.sum` adds."""

    @abstractmethod
    def then(self, function: Function, *shared: Any) -> Kept:
        """Parts made of these, function(part, *shared), each where its own is; that one may be let go."""


class Engine(ABC):
    """Runs functions on chunks. Functions are at module level, chunks small values such as the name of a file.

    `add` may change its first argument and return it. An error that a function raises is raised here: that of the
    first chunk that has one, whichever finished first.
    """

    @abstractmethod
    def map(
        self, function: Function, chunks: Iterable[Any], *shared: Any, progress: Progress | None = None
    ) -> Iterator[Any]:
        """Yield function(chunk, *shared) of every chunk, in their order; chunks are taken as they are needed."""

    @abstractmethod
    def sum(
        self,
        function: Function,
        chunks: Sequence[Any],
        *shared: Any,
        add: Add = operator.add,
        extend: Function | None = None,
        progress: Progress | None = None,
    ) -> Any:
        """Return the sum of function(chunk, *shared); what functions `report` is passed to `progress` as it comes.

        extend(total, chunk, *shared) may be given where it is the same as add(total, function(chunk, *shared)) at less
        cost, and sums are the same to the bit however chunks are grouped. Chunks may have a `size`, for equal shares.
        """

    @abstractmethod
    def keep(self, function: Function, chunks: Sequence[Any]) -> Kept:
        """Make a part of every chunk, function(chunk), and keep it for sums."""

    def close(self) -> None:
        """Let go of everything the engine holds; it can be used again."""
        return

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *problem: object) -> None:
        self.close()


class Serial(Engine):
    """One chunk after the other, in this process.

    >>> Serial().sum(len, ["ab", "c", "def"])
    6
    """

    def map(
        self, function: Function, chunks: Iterable[Any], *shared: Any, progress: Progress | None = None
    ) -> Iterator[Any]:
        for chunk in chunks:
            with reporting_to(progress):
                value = function(chunk, *shared)
            yield value

    def sum(
        self,
        function: Function,
        chunks: Sequence[Any],
        *shared: Any,
        add: Add = operator.add,
        extend: Function | None = None,
        progress: Progress | None = None,
    ) -> Any:
        if extend is not None and len(chunks):
            with reporting_to(progress):
                return extended(function, extend, chunks, *shared)
        total = Adder(add)
        for value in self.map(function, chunks, *shared, progress=progress):
            total.take(value)
        return total.result()

    def keep(self, function: Function, chunks: Sequence[Any]) -> Kept:
        return _Parts([function(chunk) for chunk in chunks])


def extended(function: Function, extend: Function, chunks: Sequence[Any], *shared: Any) -> Any:
    """One sum that goes on chunk after chunk."""
    total = function(chunks[0], *shared)
    for chunk in chunks[1:]:
        total = extend(total, chunk, *shared)
    return total


class _Parts(Kept):
    def __init__(self, parts: list[Any]) -> None:
        self.parts = parts

    def then(self, function: Function, *shared: Any) -> Kept:
        return _Parts([function(part, *shared) for part in self.parts])

    def sum(self, function: Function, *shared: Any, add: Add = operator.add) -> Any:
        return Serial().sum(function, self.parts, *shared, add=add)


class Through:
    """Functions of chunks, one after the other, each with what it is given beside."""

    def __init__(self, *steps: tuple[Function, tuple[Any, ...]]) -> None:
        self.steps = steps

    def __call__(self, chunk: Any, *shared: Any) -> Any:
        value = chunk
        for function, given in self.steps[:-1]:
            value = function(value, *given)
        function, given = self.steps[-1]
        return function(value, *given, *shared)

    def then(self, function: Function, *given: Any) -> Through:
        """One more step."""
        return Through(*self.steps, (function, given))


class Adder:
    """Adds values by the tree, holding one sum for each level of it.

    >>> total = Adder(lambda a, b: f"({a}{b})")
    >>> for letter in "abcdefghij":
    ...     total.take(letter)
    >>> total.result()
    '((((((((ab)c)d)e)f)g)h)(ij))'
    """

    def __init__(self, add: Add) -> None:
        self.add = add
        self.levels: list[tuple[int, Any]] = []  # how many values the sum is of, and the sum

    def take(self, value: Any, level: int = 0) -> None:
        """Add a value, or the sum of a whole subtree below `level`."""
        while len(self.levels) <= level:
            self.levels.append((0, None))
        count, total = self.levels[level]
        total = self.add(total, value) if count else value
        self.levels[level] = (0, None) if count + 1 == FAN_IN else (count + 1, total)
        if count + 1 == FAN_IN:
            self.take(total, level + 1)

    def result(self) -> Any:
        """The sum of all; what is left of each level is added from the top, where the first chunks are."""
        sums = [total for count, total in reversed(self.levels) if count]
        if not sums:
            raise ValueError("there are no chunks, so there is no sum")
        total = sums[0]
        for value in sums[1:]:
            total = self.add(total, value)
        return total


_progress: Progress | None = None


def report(value: Any) -> None:
    """Tell whoever waits for the sum how far a chunk has come; called by the functions that an engine runs."""
    if _progress is not None:
        _progress(value)


@contextmanager
def reporting_to(progress: Progress | None) -> Iterator[None]:
    """Pass what is reported inside the block to `progress`."""
    global _progress
    before, _progress = _progress, progress
    try:
        yield
    finally:
        _progress = before
