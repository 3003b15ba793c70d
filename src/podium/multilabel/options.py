"""The loss that a learner is trained for, as an option, and its family; others: `podium.data.validation`."""

from __future__ import annotations

from typing import Any

from podium.errors import InputError, Option
from podium.metrics import loss_family
from podium.metrics.names import Metric, parse
from podium.text import counted

__all__ = ["family_of", "loss_named"]


def loss_named(value: Any) -> Metric:
    """The loss a learner is trained for."""
    try:
        return parse(value)
    except InputError as problem:
        raise InputError(Option("loss", value), ": ", *problem.args) from None


def family_of(loss: Metric, n_labels: int, *, clip: bool = False) -> tuple[int, bool]:
    """p, and whether the order within the top p matters: L(sum@p) or L(prec@p). Losses of neither are refused.

    So is a p beyond the last label, unless `clip` takes it for all labels, as metrics do.
    """
    family = loss_family(str(loss))
    if family is None:
        raise InputError(
            Option("loss", str(loss)),
            " is in no family of the paper, so no construction covers it; choose sum@p, prec@p, ap, …",
        )
    kind, _, p = family.partition("@")
    cut = n_labels - 1 if p == "K" else int(p)  # the first K - 1 labels fix the last
    if cut > n_labels and not clip:
        raise InputError(Option("loss", str(loss)), f": the examples have only {counted(n_labels, 'label')}")
    most = n_labels - 1 if kind == "sum" else n_labels  # places beyond the last label are all alike
    return max(1, min(cut, most)), kind == "sum"
