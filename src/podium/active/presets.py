"""Ready-made ways to ask: how many questions, and in how many at once."""

from __future__ import annotations

import numpy as np

from podium.active.order import EXACT_LIMIT
from podium.active.paper.options import PaperOptions, check_options
from podium.errors import InputError

__all__ = ["APPETITE", "FEW_ROUNDS", "PRESETS", "check_preset", "questions_of"]

# Questions per item and bit of log2(n): what the preset asks unless a budget says otherwise.
APPETITE = {"quick": 1.8, "standard": 3.2, "thorough": 5.0, "few_rounds": 2.5}
PRESETS = ("quick", "standard", "thorough", "few_rounds", "exact", "paper")
FEW_ROUNDS = 8  # rounds of few_rounds


def check_preset(preset: str, n: int, paper: PaperOptions | None, *, features: bool = False) -> None:
    """Refuse what does not go together."""
    if preset not in PRESETS:
        raise InputError(f"no preset {preset!r}; there are {', '.join(PRESETS)}")
    if paper is not None and not isinstance(paper, PaperOptions):
        raise InputError(f"paper is {paper!r}; give PaperOptions(…)")
    if paper is not None and preset != "paper":
        raise InputError(f"options of the paper's algorithm are for preset 'paper', not {preset!r}")
    if paper is not None:
        check_options(paper, features=features)
    if preset == "exact" and n > EXACT_LIMIT:
        raise InputError(f"preset 'exact' is for up to {EXACT_LIMIT} items; these are {n}: use 'thorough'")


def questions_of(preset: str, n: int, budget: int | None) -> int:
    """Most questions to ask."""
    pairs = n * (n - 1) // 2
    if budget is not None:
        return budget
    if preset not in APPETITE:
        return pairs
    return int(min(np.ceil(APPETITE[preset] * np.log2(n) * n), pairs))
