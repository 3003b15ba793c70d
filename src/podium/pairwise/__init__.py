"""Rankers of pairwise comparisons. Each takes `Comparisons` and offers a `Ranking`; none imports another.

A ranker of another package joins by an entry point of the group `podium.rankers`: its name is what users type.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING

from podium._lazy import lazy
from podium.errors import InputError

if TYPE_CHECKING:
    from podium.pairwise.base import Ranker, Uses

__all__ = ["METHODS", "Ranker", "Uses", "method_of", "ranker"]

__getattr__, __dir__ = lazy(__name__, {"Ranker": "podium.pairwise.base", "Uses": "podium.pairwise.base"})

GROUP = "podium.rankers"

OURS: dict[str, tuple[str, str]] = {
    "bradley-terry": ("podium.pairwise.bradley_terry", "BradleyTerry"),
    "borda": ("podium.pairwise.counting", "Borda"),
    "copeland": ("podium.pairwise.counting", "Copeland"),
    "crowd": ("podium.pairwise.crowd", "CrowdBradleyTerry"),
    "dynamic": ("podium.pairwise.dynamic", "DynamicBradleyTerry"),
    "elo": ("podium.pairwise.elo", "Elo"),
    "least-squares": ("podium.pairwise.least_squares", "LeastSquares"),
    "online-rabf": ("podium.pairwise.online", "OnlineRABF"),
    "plackett-luce": ("podium.pairwise.plackett_luce", "PlackettLuce"),
    "rabf": ("podium.pairwise.rabf", "RABF"),
    "rank-centrality": ("podium.pairwise.spectral", "RankCentrality"),
    "win-rate": ("podium.pairwise.counting", "WinRate"),
}


class _Methods(Mapping[str, tuple[str, str]]):
    """Ours, and those of installed packages; these are looked for when first needed. A name of ours stays ours."""

    @cached_property
    def _all(self) -> dict[str, tuple[str, str]]:
        from importlib.metadata import entry_points

        others = {point.name: (point.module, point.attr) for point in entry_points(group=GROUP)}
        return OURS | {name: where for name, where in sorted(others.items()) if name not in OURS}

    def __getitem__(self, method: str) -> tuple[str, str]:
        return OURS[method] if method in OURS else self._all[method]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all)

    def __len__(self) -> int:
        return len(self._all)


# What a user types -> (module, class). The command line, the comparison of methods and the conformance suite read this.
METHODS: Mapping[str, tuple[str, str]] = _Methods()


def ranker(method: str) -> type[Ranker]:
    """Return the class of the ranker called `method`.

    >>> ranker("win-rate").__name__
    'WinRate'
    """
    if not isinstance(method, str) or method not in METHODS:
        raise InputError(f"method {method!r} is not known; choose one of {', '.join(METHODS)}")
    module, name = METHODS[method]
    if method in OURS:
        cls: type[Ranker] = getattr(importlib.import_module(module), name)
        return cls
    return _others(method, module, name)


def _others(method: str, module: str, name: str) -> type[Ranker]:
    """The class behind an entry point, which may be anything."""
    from podium.pairwise.base import Ranker

    try:
        cls = getattr(importlib.import_module(module), name)
    except Exception as problem:  # another package's code may fail in any way
        raise InputError(f"method {method!r}: {module}:{name} cannot be loaded ({problem}); reinstall it") from problem
    if not (isinstance(cls, type) and issubclass(cls, Ranker)):
        raise InputError(f"method {method!r}: {module}:{name} is not a subclass of podium.pairwise.Ranker")
    return cls


def method_of(cls: type) -> str:
    """What a user types for a class of rankers; its own name where it has no other.

    >>> method_of(ranker("win-rate"))
    'win-rate'
    """
    home = (cls.__module__, cls.__qualname__)
    known = OURS if cls.__module__.startswith("podium.") else METHODS
    return next((method for method, where in known.items() if where == home), cls.__name__)
