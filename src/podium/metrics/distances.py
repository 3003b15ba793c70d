"""Distances between two rankings of the same items: Kendall, footrule, and top-k variants."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, Literal

import numpy as np

from podium.data.validation import floats_of, number_option
from podium.errors import InputError, Option
from podium.kernels.metrics.distances import count_descents
from podium.text import counted

__all__ = ["footrule", "kendall_distance", "kendall_tau", "top_k_footrule", "top_k_kendall"]


def kendall_tau(a: Any, b: Any, *, weight: Any = None, variant: Literal["b", "a", "gamma"] = "b") -> float:
    """Kendall's rank correlation of two score vectors, ties included, in O(n log n).

    With C pairs in the same order in both, D in opposite order, and of all N pairs T_a tied in a and T_b tied in b:
    "a" (C − D) / N; "b" (C − D) / sqrt((N − T_a)(N − T_b)); "gamma" (C − D) / (C + D). With item weights, a pair
    counts the product of its two weights. NaN where the denominator is 0 (a constant vector).

    >>> kendall_tau([1, 2, 3, 4], [1, 3, 2, 4])
    0.6666...
    """
    x, y, w = _two(a, b, weight)
    if variant not in ("a", "b", "gamma"):
        raise InputError(Option("variant", variant), " is unknown; choose 'a', 'b' or 'gamma'")
    agree, against, pairs, tied_a, tied_b = _pairs(x, y, w)
    below = {"a": pairs, "b": np.sqrt((pairs - tied_a) * (pairs - tied_b)), "gamma": agree + against}[variant]
    return float(np.clip((agree - against) / below, -1, 1)) if below > 0 else float("nan")


def kendall_distance(a: Any, b: Any, *, weight: Any = None, ties: float = 0.5) -> float:
    """Number of pairs in opposite order, plus `ties` for each pair tied in one vector only; O(n log n).

    With `ties` from 1/2 to 1 this is a metric on rankings with ties (Fagin et al. 2006). With item weights, a pair
    counts the product of its two weights.

    >>> kendall_distance([1, 2, 3], [3, 2, 1]), kendall_distance([1, 2, 3], [1, 2, 2])
    (3.0, 0.5)
    """
    x, y, w = _two(a, b, weight)
    if number_option("ties", ties, least=0) > 1:
        raise InputError(Option("ties", ties), ": a tied pair counts from 0 to 1")
    agree, against, pairs, tied_a, tied_b = _pairs(x, y, w)
    tied_both = agree + against - pairs + tied_a + tied_b
    return float(against + ties * max(tied_a + tied_b - 2 * tied_both, 0.0))


def footrule(a: Any, b: Any, *, weight: Any = None) -> float:
    """Spearman's footrule Σ |rank in a − rank in b|; tied items share the mean of their ranks.

    >>> footrule([3, 2, 1], [1, 2, 3])
    4.0
    """
    from scipy.stats import rankdata

    x, y, w = _two(a, b, weight)
    return float(np.sum(w * np.abs(rankdata(x) - rankdata(y))))


def top_k_kendall(a: Sequence[Hashable], b: Sequence[Hashable], *, ties: float = 0.5) -> float:
    """Kendall distance of two top-k lists that need not hold the same items (Fagin, Kumar and Sivakumar 2003, K^(p)).

    Items missing from a list stand behind it, in unknown order. A pair counts 1 when the lists must disagree on it,
    and `ties` when one list holds both and the other neither.

    >>> top_k_kendall(["a", "b", "c"], ["a", "c", "d"])
    2.0
    """
    if number_option("ties", ties, least=0) > 1:
        raise InputError(Option("ties", ties), ": a pair of unknown order counts from 0 to 1")
    first, second = _places(a), _places(b)
    both = [item for item in first if item in second]
    only_a, only_b = [i for i in first if i not in second], [i for i in second if i not in first]
    x, y = np.array([first[i] for i in both], dtype=float), np.array([second[i] for i in both], dtype=float)
    total = kendall_distance(x, y) if len(both) > 1 else 0.0
    # One item in both lists, the other in one: wrong when the one that is missing elsewhere stands ahead.
    for inside, missing in ((first, only_a), (second, only_b)):
        shared = np.sort([inside[i] for i in both])
        total += sum(len(shared) - int(np.searchsorted(shared, inside[i])) for i in missing)
    total += len(only_a) * len(only_b)
    return total + ties * (len(only_a) * (len(only_a) - 1) / 2 + len(only_b) * (len(only_b) - 1) / 2)


def top_k_footrule(a: Sequence[Hashable], b: Sequence[Hashable]) -> float:
    """Footrule of two top-k lists, items missing from a list standing at rank k + 1 (F^(k+1) of Fagin et al. 2003).

    >>> top_k_footrule(["a", "b"], ["a", "c"])
    2.0
    """
    first, second = _places(a), _places(b)
    if len(first) != len(second):
        raise InputError(f"the lists hold {len(first)} and {counted(len(second), 'item')}; cut both to the same k")
    k = len(first) + 1
    return float(sum(abs(first.get(item, k) - second.get(item, k)) for item in {**first, **second}))


def _places(items: Sequence[Hashable]) -> dict[Hashable, int]:
    try:
        iter(items)
    except TypeError:
        raise InputError(f"{items!r} is no list; give the items of each ranking, best first") from None
    places: dict[Hashable, int] = {}
    for rank, item in enumerate(items, start=1):
        try:
            twice = item in places
        except TypeError as problem:
            raise InputError(
                f"rank {rank} is {item!r}, which cannot be a label; use text, numbers or tuples"
            ) from problem
        if twice:
            raise InputError(f"item {item!r} stands at rank {places[item]} and at rank {rank}; list it once")
        places[item] = rank
    return places


def _two(a: Any, b: Any, weight: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    x, y = floats_of("a", a), floats_of("b", b)
    w = np.ones(x.shape) if weight is None else floats_of("weight", weight)
    if x.ndim != 1 or x.shape != y.shape or x.shape != w.shape:
        raise InputError(f"two vectors of equal length are needed; got shapes {x.shape}, {y.shape}, weights {w.shape}")
    for name, each in (("a", x), ("b", y), ("weight", w)):
        if np.isnan(each).any():
            raise InputError(f"{name}: item {int(np.flatnonzero(np.isnan(each))[0]) + 1} is NaN; leave the item out")
    if (w < 0).any() or not np.isfinite(w).all():
        raise InputError(
            f"weight: item {int(np.flatnonzero(~(w >= 0) | np.isinf(w))[0]) + 1} is not a number from 0 up"
        )
    return x, y, w


def _pairs(x: np.ndarray, y: np.ndarray, w: np.ndarray) -> tuple[float, float, float, float, float]:
    """Weight of the pairs that agree, disagree, all, tied in x, tied in y (Knight 1966)."""
    order = np.lexsort((y, x))
    xs, ys, ws = x[order], y[order], w[order]
    tied_a = _tied(ws, xs[1:] != xs[:-1])
    tied_both = _tied(ws, (xs[1:] != xs[:-1]) | (ys[1:] != ys[:-1]))
    value, beside = ys.copy(), ws.copy()
    against = float(count_descents(value, beside, np.empty(len(x)), np.empty(len(x))))
    tied_b = _tied(beside, value[1:] != value[:-1])
    pairs = _tied(w, np.zeros(max(len(w) - 1, 0), dtype=bool))
    return pairs - tied_a - tied_b + tied_both - against, against, pairs, tied_a, tied_b


def _tied(weight: np.ndarray, new: np.ndarray) -> float:
    """Σ w_i w_j over pairs in the same run; `new` says where a run starts."""
    if len(weight) == 0:
        return 0.0
    starts = np.concatenate([[0], np.flatnonzero(new) + 1])
    sums, squares = np.add.reduceat(weight, starts), np.add.reduceat(weight**2, starts)
    return float((sums**2 - squares).sum() / 2)
