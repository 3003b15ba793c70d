"""Which loss belongs to which family, and a brute-force check: "On the Learnability of Multilabel Ranking", appendix A.

A loss is in L(sum@p) when it is 0 exactly where sum@p is, and does not change between rankings that agree on the
labels at ranks 1..p, in order. It is in L(prec@p) when it is 0 exactly where prec@p is, and does not change between
rankings with the same set of labels in the top p. Learnability is the same for all losses of a family.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations, product

import numpy as np

from podium.data.validation import whole_option
from podium.errors import InputError
from podium.metrics.names import parse
from podium.metrics.report import evaluate
from podium.metrics.rows import read_rows

__all__ = ["FamilyCheck", "check_family", "loss_family"]

Loss = Callable[[Sequence[int], Sequence[int]], float]  # (ranks, relevance), ranks[i] is the rank of label i
LARGEST = 5


@dataclass(frozen=True, slots=True)
class FamilyCheck:
    """Whether a loss is in a family and, if not, why: rankings and relevance on which it breaks the definition."""

    family: str
    holds: bool
    reason: str = ""
    relevance: tuple[int, ...] = ()
    ranks: tuple[tuple[int, ...], ...] = ()

    def __bool__(self) -> bool:
        return self.holds


def loss_family(name: str) -> str | None:
    """The family of a loss by name: "sum@p", "prec@p" (with "K" for the number of labels), or None.

    Table 1 of the paper, corrected by brute force: reciprocal rank is in no family (it changes between rankings with
    the same first label), while its truncation rr@1 is in L(prec@1). nDCG and recall follow DCG and precision.

    >>> loss_family("ap"), loss_family("dcg@3"), loss_family("prec@2"), loss_family("rr")
    ('sum@K', 'sum@3', 'prec@2', None)
    """
    metric = parse(name)
    if metric.kind in ("ap", "auc", "pairwise") or (metric.kind in ("dcg", "ndcg") and metric.p is None):
        return "sum@K"
    if metric.kind in ("sum", "dcg", "ndcg"):
        return f"sum@{metric.p}"
    if metric.kind in ("prec", "recall") or (metric.kind in ("rr", "hit") and metric.p == 1):
        return f"prec@{metric.p}"
    return None


def check_family(loss: str | Loss, K: int, B: int = 1) -> dict[str, FamilyCheck]:
    """Test a loss against every L(sum@p) and L(prec@p), p = 1..K, on all rankings of K labels and relevance 0..B.

    `loss` is a name, or a function of (ranks, relevance). Binary losses need B = 1. K is at most 5: there are
    K! (B + 1)^K cases.

    >>> found = check_family("rr", K=3)
    >>> found["prec@1"].holds, found["prec@1"].ranks
    (False, ((1, 2, 3), (1, 3, 2)))
    >>> [family for family, check in check_family("dcg@2", K=3, B=2).items() if check]
    ['sum@2', 'sum@3']
    """
    if whole_option("K", K, least=2) > LARGEST:
        raise InputError(f"K={K}: brute force covers 2 to {LARGEST} labels")
    whole_option("B", B, least=1)
    ranks = list(permutations(range(1, K + 1)))
    grades = list(product(range(B + 1), repeat=K))
    table = _table(loss, ranks, grades)
    checks = {}
    for kind in ("sum", "prec"):
        for p in range(1, K + 1):
            checks[f"{kind}@{p}"] = _check(kind, p, table, ranks, grades)
    return checks


def _table(loss: str | Loss, ranks: list[tuple[int, ...]], grades: list[tuple[int, ...]]) -> np.ndarray:
    """Losses of every ranking (rows) at every relevance (columns)."""
    if callable(loss):
        return np.array([[loss(pi, y) for y in grades] for pi in ranks], dtype=float)
    metric = parse(loss)
    if metric.p is not None and metric.p > len(ranks[0]):
        raise InputError(f"{loss}: the cut-off is beyond K={len(ranks[0])}")
    y = np.tile(np.array(grades), (len(ranks), 1))
    s = -np.repeat(np.array(ranks, dtype=float), len(grades), axis=0)
    values = evaluate(read_rows(y, s), [metric]).per_row[str(metric)]
    return values.reshape(len(ranks), len(grades))


def _check(
    kind: str, p: int, table: np.ndarray, ranks: list[tuple[int, ...]], grades: list[tuple[int, ...]]
) -> FamilyCheck:
    family = f"{kind}@{p}"
    zero = _table(family, ranks, grades) < 0.5
    wrong = np.argwhere((np.abs(table) < 1e-12) != zero)
    if wrong.size:
        ranking, grade = wrong[0]
        reason = f"above 0 where {family} is 0" if zero[ranking, grade] else f"0 where {family} is above 0"
        return FamilyCheck(family, False, reason, grades[grade], (ranks[ranking],))
    for first, second in _equivalent(kind, p, ranks):
        apart = np.flatnonzero(np.abs(table[first] - table[second]) > 1e-12)
        if apart.size:
            reason = f"changes between rankings with the same top {p}"
            return FamilyCheck(family, False, reason, grades[apart[0]], (ranks[first], ranks[second]))
    return FamilyCheck(family, True)


def _equivalent(kind: str, p: int, ranks: list[tuple[int, ...]]) -> Iterator[tuple[int, int]]:
    """Pairs of rankings that agree on the top p: in order (sum) or as a set (prec)."""
    first_of: dict[tuple[int, ...], int] = {}
    for number, pi in enumerate(ranks):
        top = tuple(np.argsort(pi)[:p].tolist()) if kind == "sum" else tuple(i for i, r in enumerate(pi) if r <= p)
        first = first_of.setdefault(top, number)
        if first != number:
            yield first, number
