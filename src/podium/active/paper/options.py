"""The paper's accuracy and constants, in one value."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from podium.errors import InputError

__all__ = ["LEARNERS", "PaperOptions", "check_options"]

LEARNERS = ("linear", "kernel", "trees")


@dataclass(frozen=True, slots=True)
class PaperOptions:
    """The paper's accuracy and every constant that its Θ, O and Ω leave open; all logarithms of sizes are natural.

    epsilon : sought relative regret, between 0 and 1.
    small : blocks up to this size are small; None for the paper's log n / log log n.
    cost_sample : pairs drawn to estimate a block's cost, times ε⁻⁴ log n (line 5).
    chaos : a block whose cost exceeds this times ε² of its pairs is left whole (line 7).
    guard : blocks up to this times ε⁻³ log³ n are not improved (Algorithm 3, line 2).
    ensemble : size of each E[v, i], times ε⁻² log² n (line 9).
    base : the least scale is log2 of this times ε N / log n (line 1).
    threshold : a move must gain this times ε / log n per place (line 15).
    erm_sample : pairs drawn in big blocks, times ε⁻⁶ n log n (Lemma 2.6).

    With features (section 4):

    learner : "linear" (SVM3), "kernel" (SVM3 with a Gaussian kernel) or "trees" (boosted trees on SVM3's loss).
    radius : the c of SVM3: no weight vector is longer. Features are scaled to length 1 at most.
    margin_sample : pairs drawn in big blocks, times ε⁻⁶ (1 + 2c)² d log(c/ε) (Theorem 4.2); "trees", for which there is
    no theorem, draw what Lemma 2.6 says.
    """

    epsilon: float = 0.5
    small: int | None = 16
    cost_sample: float = 1.0
    chaos: float = 1.5
    guard: float = 1.0
    ensemble: float = 1.0
    base: float = 1.0
    threshold: float = 1.0
    erm_sample: float = 1.0
    learner: str = "linear"
    radius: float = 10.0
    margin_sample: float = 1.0


def check_options(options: PaperOptions, *, features: bool) -> None:
    """Refuse values that mean nothing, and a learner without anything to learn from."""
    for name in (each.name for each in fields(options)):
        value = getattr(options, name)
        if name == "learner":
            _check_learner(value, features)
        elif name == "small":
            whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
            if value is not None and not (whole and value >= 1):
                raise InputError(f"PaperOptions: small is {value!r}; it is a whole number, at least 1, or None")
        elif not _is_number(value) or value < 0 or (value == 0 and name in ("epsilon", "radius")):
            least = "a number above 0" if name in ("epsilon", "radius") else "a number, 0 or more"
            raise InputError(f"PaperOptions: {name} is {value!r}; it is {least}")
    if options.epsilon >= 1:
        raise InputError(f"PaperOptions: epsilon is {options.epsilon!r}; it is below 1")


def _check_learner(learner: Any, features: bool) -> None:
    if not isinstance(learner, str) or learner not in LEARNERS:
        raise InputError(f"PaperOptions: no learner {learner!r}; there are {', '.join(LEARNERS)}")
    if learner != "linear" and not features:
        raise InputError(f"learner {learner!r} learns from features; give some")


def _is_number(value: Any) -> bool:
    number = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
    return number and math.isfinite(value)
