"""The loss that a learner is trained for, as an option; other options are checked by `podium.data.validation`."""

from __future__ import annotations

from typing import Any

from podium.errors import InputError, Option
from podium.metrics.names import Metric, parse

__all__ = ["loss_named"]


def loss_named(value: Any) -> Metric:
    """The loss a learner is trained for."""
    try:
        return parse(value)
    except InputError as problem:
        raise InputError(Option("loss", value), ": ", *problem.args) from None
