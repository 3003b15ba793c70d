"""Rankers of pairwise comparisons. Each takes `Comparisons` and offers a `Ranking`; none imports another."""

from __future__ import annotations

import importlib
from typing import Any

from podium.errors import InputError

__all__ = ["METHODS", "ranker"]

# What a user types -> (module, class). The command line, the comparison of methods and the conformance suite read this.
METHODS: dict[str, tuple[str, str]] = {
    "bradley-terry": ("podium.pairwise.bradley_terry", "BradleyTerry"),
    "borda": ("podium.pairwise.counting", "Borda"),
    "copeland": ("podium.pairwise.counting", "Copeland"),
    "crowd": ("podium.pairwise.crowd", "CrowdBradleyTerry"),
    "elo": ("podium.pairwise.elo", "Elo"),
    "least-squares": ("podium.pairwise.least_squares", "LeastSquares"),
    "online-rabf": ("podium.pairwise.online", "OnlineRABF"),
    "rabf": ("podium.pairwise.rabf", "RABF"),
    "rank-centrality": ("podium.pairwise.spectral", "RankCentrality"),
    "win-rate": ("podium.pairwise.counting", "WinRate"),
}


def ranker(method: str) -> Any:
    """Return the class of the ranker called `method`.

    >>> ranker("win-rate").__name__
    'WinRate'
    """
    if method not in METHODS:
        raise InputError(f"method {method!r} is not known; choose one of {', '.join(METHODS)}")
    module, name = METHODS[method]
    return getattr(importlib.import_module(module), name)
