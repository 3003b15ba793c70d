"""Options of the learners, checked when they are used: the error names the option and what it was set to."""

from __future__ import annotations

import math
from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any

from podium.errors import InputError, Option
from podium.metrics.names import Metric, parse

__all__ = ["choice", "flag", "loss_named", "number_above", "seed", "share", "whole"]


def whole(name: str, value: Any, *, least: int) -> int:
    """A whole number from `least` up.

    >>> whole("max_iter", 100, least=1)
    100
    """
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise InputError(Option(name, value), f": a whole number is needed, at least {least}")
    return int(value)


def number_above(name: str, value: Any, floor: float = 0.0, *, finite: bool = True) -> float:
    """A number above `floor`."""
    if isinstance(value, bool) or not isinstance(value, Real) or not float(value) > floor:
        raise InputError(Option(name, value), f": it must be above {floor:g}")
    if finite and math.isinf(value):
        raise InputError(Option(name, value), ": it must be finite")
    return float(value)


def share(name: str, value: Any) -> float:
    """A number between 0 and 1, both left out."""
    if isinstance(value, bool) or not isinstance(value, Real) or not 0 < float(value) < 1:
        raise InputError(Option(name, value), ": a number between 0 and 1 is needed")
    return float(value)


def choice(name: str, value: Any, known: Sequence[str]) -> str:
    """One of a few words."""
    if not isinstance(value, str) or value not in known:
        raise InputError(Option(name, value), f" is unknown; choose {', '.join(known)}")
    return value


def flag(name: str, value: Any) -> bool:
    """True or False; words such as "no" are true in Python, so they are refused."""
    if value not in (True, False) or isinstance(value, str):
        raise InputError(Option(name, value), ": True or False is needed")
    return bool(value)


def seed(name: str, value: Any) -> int | None:
    """A seed: a whole number from 0 up, or None for a new one each time."""
    return None if value is None else whole(name, value, least=0)


def loss_named(value: Any) -> Metric:
    """The loss a learner is trained for."""
    try:
        return parse(value)
    except InputError as problem:
        raise InputError(Option("loss", value), ": ", *problem.args) from None
