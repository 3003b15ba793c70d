"""Each ranking loss and gain as a plain function of relevance and scores, or of relevance and ranks.

One row in, a number out; a table in, one number per row out. `ranking_report` computes all of them in one pass and
has the options; its table gives the formulas.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from podium.data.validation import floats_of
from podium.errors import InputError
from podium.metrics.names import Metric, parse
from podium.metrics.report import check_options, evaluate
from podium.metrics.rows import is_ragged, read_rows

__all__ = [
    "auc",
    "auc_loss",
    "average_precision",
    "average_precision_loss",
    "dcg",
    "dcg_loss",
    "hit_at",
    "ndcg",
    "ndcg_loss",
    "pairwise_loss",
    "precision_at",
    "precision_loss",
    "ranking_gain",
    "ranking_loss",
    "recall_at",
    "reciprocal_rank",
    "reciprocal_rank_loss",
    "sum_loss",
]


def ranking_loss(
    name: str,
    relevance: Any,
    scores: Any = None,
    *,
    ranks: Any = None,
    ties: str = "label",
    empty: str = "best",
    relevant_from: float | None = None,
    gain: str = "exp",
) -> Any:
    """The loss called `name` ("sum@3", "ap", …) of one row, or of each row of a table.

    Give `scores` (larger is better), or `ranks` (1 is best), not both. The options are those of `ranking_report`.

    >>> ranking_loss("sum@2", [1, 0, 0, 1], ranks=[1, 3, 2, 4])
    1.0
    """
    return _value(
        parse(name), relevance, scores, ranks, "loss", ties=ties, empty=empty, relevant_from=relevant_from, gain=gain
    )


def ranking_gain(
    name: str,
    relevance: Any,
    scores: Any = None,
    *,
    ranks: Any = None,
    ties: str = "label",
    empty: str = "best",
    relevant_from: float | None = None,
    gain: str = "exp",
) -> Any:
    """The gain called `name` of one row, or of each row of a table; as `ranking_loss`.

    >>> ranking_gain("prec@2", [1, 0, 0, 1], [0.9, 0.2, 0.8, 0.1])
    0.5
    """
    return _value(
        parse(name), relevance, scores, ranks, "gain", ties=ties, empty=empty, relevant_from=relevant_from, gain=gain
    )


def sum_loss(relevance: Any, scores: Any = None, *, p: int, ranks: Any = None) -> Any:
    """Σ min(r, p + 1) y, less the least it can be: how far the relevant labels are from the top (sum@p)."""
    return _value(Metric("sum", p), relevance, scores, ranks, "loss")


def precision_loss(
    relevance: Any, scores: Any = None, *, p: int, ranks: Any = None, relevant_from: float | None = None
) -> Any:
    """Relevance the top p could hold, less what it holds (prec@p)."""
    return _value(Metric("prec", p), relevance, scores, ranks, "loss", relevant_from=relevant_from)


def average_precision_loss(
    relevance: Any, scores: Any = None, *, ranks: Any = None, relevant_from: float | None = None
) -> Any:
    """One less average precision; relevance 0 or 1, or `relevant_from`."""
    return _value(Metric("ap"), relevance, scores, ranks, "loss", relevant_from=relevant_from)


def auc_loss(relevance: Any, scores: Any = None, *, ranks: Any = None, relevant_from: float | None = None) -> Any:
    """Share of (relevant, irrelevant) pairs in the wrong order; relevance 0 or 1, or `relevant_from`."""
    return _value(Metric("auc"), relevance, scores, ranks, "loss", relevant_from=relevant_from)


def reciprocal_rank_loss(
    relevance: Any, scores: Any = None, *, ranks: Any = None, relevant_from: float | None = None
) -> Any:
    """One less 1 / rank of the first relevant label; relevance 0 or 1, or `relevant_from`."""
    return _value(Metric("rr"), relevance, scores, ranks, "loss", relevant_from=relevant_from)


def pairwise_loss(relevance: Any, scores: Any = None, *, ranks: Any = None) -> Any:
    """Number of pairs with the less relevant label ahead."""
    return _value(Metric("pairwise"), relevance, scores, ranks, "loss")


def dcg_loss(relevance: Any, scores: Any = None, *, p: int | None = None, ranks: Any = None, gain: str = "exp") -> Any:
    """Best possible DCG less DCG, of the top p or of the whole ranking."""
    return _value(Metric("dcg", p), relevance, scores, ranks, "loss", gain=gain)


def ndcg_loss(relevance: Any, scores: Any = None, *, p: int | None = None, ranks: Any = None, gain: str = "exp") -> Any:
    """One less nDCG, of the top p or of the whole ranking."""
    return _value(Metric("ndcg", p), relevance, scores, ranks, "loss", gain=gain)


def precision_at(
    relevance: Any, scores: Any = None, *, p: int, ranks: Any = None, relevant_from: float | None = None
) -> Any:
    """Share of the top p that is relevant; relevance 0 or 1, or `relevant_from`."""
    return _value(Metric("prec", p), relevance, scores, ranks, "gain", relevant_from=relevant_from)


def recall_at(
    relevance: Any, scores: Any = None, *, p: int, ranks: Any = None, relevant_from: float | None = None
) -> Any:
    """Share of the relevant labels found in the top p; relevance 0 or 1, or `relevant_from`."""
    return _value(Metric("recall", p), relevance, scores, ranks, "gain", relevant_from=relevant_from)


def hit_at(relevance: Any, scores: Any = None, *, p: int, ranks: Any = None, relevant_from: float | None = None) -> Any:
    """1 where a relevant label is in the top p (success@p); relevance 0 or 1, or `relevant_from`."""
    return _value(Metric("hit", p), relevance, scores, ranks, "gain", relevant_from=relevant_from)


def average_precision(
    relevance: Any, scores: Any = None, *, ranks: Any = None, relevant_from: float | None = None
) -> Any:
    """Mean, over the relevant labels, of the precision at their ranks; relevance 0 or 1, or `relevant_from`."""
    return _value(Metric("ap"), relevance, scores, ranks, "gain", relevant_from=relevant_from)


def auc(relevance: Any, scores: Any = None, *, ranks: Any = None, relevant_from: float | None = None) -> Any:
    """Share of (relevant, irrelevant) pairs in the right order; relevance 0 or 1, or `relevant_from`."""
    return _value(Metric("auc"), relevance, scores, ranks, "gain", relevant_from=relevant_from)


def reciprocal_rank(
    relevance: Any, scores: Any = None, *, ranks: Any = None, relevant_from: float | None = None
) -> Any:
    """1 / rank of the first relevant label; relevance 0 or 1, or `relevant_from`."""
    return _value(Metric("rr"), relevance, scores, ranks, "gain", relevant_from=relevant_from)


def dcg(relevance: Any, scores: Any = None, *, p: int | None = None, ranks: Any = None, gain: str = "exp") -> Any:
    """Σ (2^y − 1) / log2(1 + r), or Σ y / log2(1 + r) with gain="linear", over the top p or the whole ranking."""
    return _value(Metric("dcg", p), relevance, scores, ranks, "gain", gain=gain)


def ndcg(relevance: Any, scores: Any = None, *, p: int | None = None, ranks: Any = None, gain: str = "exp") -> Any:
    """DCG divided by the best possible, of the top p or of the whole ranking."""
    return _value(Metric("ndcg", p), relevance, scores, ranks, "gain", gain=gain)


def _value(metric: Metric, relevance: Any, scores: Any, ranks: Any, kind: str, **options: Any) -> Any:
    if (scores is None) == (ranks is None):
        raise InputError("give either scores (larger is better) or ranks (1 is best)")
    parse(str(metric))  # refuses a cut-off that is none, or is missing
    check_options(kind=kind, **options)
    if scores is None:
        scores = -floats_of("ranks", ranks)
    single = not hasattr(relevance, "tocsr") and not is_ragged(scores) and np.ndim(scores) == 1
    rows = read_rows([relevance], [scores]) if single else read_rows(relevance, scores)
    values = evaluate(rows, [metric], kind=kind, **options).per_row[str(metric)]
    return float(values[0]) if single else values
