"""What each loss asks a scorer to predict.

For several losses the best ranking of an example sorts its labels by the expectation of one number per label, so one
univariate proper loss on that number suffices, label by label: no pairs, no lists. With y the relevance, B the largest,
n the number of relevant labels of the row and K that of all labels:

| loss | target, from 0 to 1 | row weight |
|---|---|---|
| `sum@p`, `prec@p`, binary `pairwise` | y / B | 1 |
| `recall@p` | y / n | 1 |
| `dcg`, `dcg@p` | (2^y − 1) / (2^B − 1) | 1 |
| `ndcg`, `ndcg@p` | (2^y − 1) / best possible DCG of the row | 1 |
| `auc` | y | 1 / (n (K − n)), over its mean (over its largest, one example at a time) |

For `ap`, `rr`, `hit@p` with p > 1 and `pairwise` on graded relevance no such number exists: the best order can depend
on the joint distribution of the labels. y / B is used and `exact` is False.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from podium.errors import InputError
from podium.metrics.names import Metric

__all__ = ["Targets", "targets_for"]

MAX_GRADE = 1000  # 2 to this is a number still


@dataclass(frozen=True, slots=True)
class Targets:
    """Targets (sparse, (rows, labels), values in 0..1) and row weights for one loss; `exact` as said above."""

    values: Any
    weight: np.ndarray
    exact: bool


def targets_for(
    loss: Metric, relevance: Any, top: float, sample_weight: np.ndarray | None = None, *, alone: bool = False
) -> Targets:
    """Targets of a loss for CSR `relevance` in 0..`top`.

    With `alone`, for learners of single examples, a row's weight does not depend on the rows it came with.
    """
    from scipy import sparse

    y = relevance.tocsr()
    n_rows, n_labels = y.shape
    weight = np.ones(n_rows) if sample_weight is None else sample_weight.copy()
    counts = np.diff(y.indptr)
    row_of = np.repeat(np.arange(n_rows), counts)
    if loss.binary and top > 1:
        raise InputError(f"{loss} needs relevance 0 or 1, but the data hold {top:g}; choose sum@p, prec@p or dcg@p")
    share = y.data / top
    if loss.kind in ("dcg", "ndcg"):
        if top != int(top) or (y.data != np.floor(y.data)).any():
            raise InputError(f"{loss} needs whole grades; the data hold fractions: round them, or choose sum@p")
        if top > MAX_GRADE:
            raise InputError(f"{loss} gains 2^grade, and a grade is {top:g}; grades up to {MAX_GRADE} can be counted")
        share = (np.exp2(y.data) - 1) / (2.0**top - 1)
    if loss.kind == "ndcg":
        share = share / _best_dcg(y.indptr, share, loss.p or n_labels)[row_of]
    if loss.kind == "recall":
        share = share / counts[row_of]
    if loss.kind == "auc":
        pairs = counts * (n_labels - counts)
        inverse = np.divide(1.0, pairs, out=np.zeros(n_rows), where=pairs > 0)
        if alone:
            weight *= inverse * max(n_labels - 1, 1)  # 1 for a row with one relevant label
        elif not inverse.any():
            raise InputError("auc: every row has no relevant or no irrelevant label, so no pair can be ordered")
        else:
            weight *= inverse / inverse[pairs > 0].mean()
    exact = loss.kind not in ("ap", "rr", "hit", "pairwise") or loss.p == 1 or (loss.kind == "pairwise" and top <= 1)
    return Targets(sparse.csr_array((share, y.indices, y.indptr), shape=y.shape), weight, exact)


def _best_dcg(indptr: np.ndarray, share: np.ndarray, p: int) -> np.ndarray:
    """DCG@p of each row when its labels are sorted by relevance; 1 for empty rows."""
    counts = np.diff(indptr)
    row_of = np.repeat(np.arange(len(counts)), counts)
    order = np.lexsort((-share, row_of))
    place = np.arange(len(share)) - np.repeat(indptr[:-1], counts)
    worth = np.where(place < p, share[order] / np.log2(place + 2), 0.0)
    best = np.bincount(row_of, weights=worth, minlength=len(counts))
    return np.where(best > 0, best, 1.0)
