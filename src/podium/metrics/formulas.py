"""From the statistics of a row to its losses and gains: each metric as a formula, and where it is undefined."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from podium.metrics.names import Metric

__all__ = ["Statistics", "per_row"]

# Columns written by kernels/metrics.py; WIDTH further ones follow for each cut-off.
COUNT, AP, RR, BAD, PAIRS, DCG, IDCG, TOTAL, BASE = range(9)
RANKSUM, RANKSUM_BEST, VALUE, VALUE_BEST, HIT, CUT_DCG, CUT_IDCG, CUT_RR, WIDTH = range(9)

Values = tuple[np.ndarray, np.ndarray, np.ndarray]  # gain, loss, where neither is defined


@dataclass(frozen=True, slots=True)
class Statistics:
    """One line per statistic, one column per row of scores; `cuts` are the cut-offs they were taken at."""

    table: np.ndarray
    cuts: tuple[int, ...]

    @staticmethod
    def columns(n_cuts: int) -> int:
        return BASE + n_cuts * WIDTH

    def __getitem__(self, column: int) -> np.ndarray:
        return np.asarray(self.table[column])

    def at(self, p: int, column: int) -> np.ndarray:
        """A column of the cut-off p."""
        return np.asarray(self.table[BASE + self.cuts.index(p) * WIDTH + column])

    @property
    def empty(self) -> np.ndarray:
        return np.asarray(self[COUNT] == 0)


def per_row(metric: Metric, known: Statistics, *, kind: str, empty: str) -> np.ndarray:
    """The loss or gain of every row."""
    gain, loss, undefined = FORMULAS[metric.kind](known, metric.p or 0)
    values = loss if kind == "loss" else gain
    if empty == "skip":
        return np.asarray(np.where(undefined | known.empty, np.nan, values))
    if not undefined.any():
        return np.asarray(values)
    return np.asarray(np.where(undefined, float((empty == "worst") == (kind == "loss")), values))


def _share(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
    return np.asarray(np.divide(part, whole, out=np.zeros(len(part)), where=whole != 0))


def _never(known: Statistics) -> np.ndarray:
    return np.zeros(known.table.shape[1], dtype=bool)


def _one_less(gain: np.ndarray, undefined: np.ndarray) -> Values:
    return gain, 1 - gain, undefined


def _sum(known: Statistics, p: int) -> Values:
    ranksum = known.at(p, RANKSUM)
    lost = np.maximum(ranksum - known.at(p, RANKSUM_BEST), 0)  # rounding, with fractional relevance
    return (p + 1) * known[TOTAL] - ranksum, lost, _never(known)


def _prec(known: Statistics, p: int) -> Values:
    held = known.at(p, VALUE)
    return held / p, known.at(p, VALUE_BEST) - held, _never(known)


def _recall(known: Statistics, p: int) -> Values:
    held, count = known.at(p, VALUE), known[COUNT]
    return _share(held, count), _share(known.at(p, VALUE_BEST) - held, count), known.empty


def _hit(known: Statistics, p: int) -> Values:
    return _one_less(known.at(p, HIT), known.empty)


def _ap(known: Statistics, p: int) -> Values:
    return _one_less(known[AP], known.empty)


def _rr(known: Statistics, p: int) -> Values:
    return _one_less(known.at(p, CUT_RR) if p else known[RR], known.empty)


def _auc(known: Statistics, p: int) -> Values:
    lost = _share(known[BAD], known[PAIRS])
    return 1 - lost, lost, known[PAIRS] == 0


def _pairwise(known: Statistics, p: int) -> Values:
    return known[PAIRS] - known[BAD], known[BAD], _never(known)


def _dcg(known: Statistics, p: int) -> Values:
    gain = known.at(p, CUT_DCG) if p else known[DCG]
    best = known.at(p, CUT_IDCG) if p else known[IDCG]
    return gain, np.maximum(best - gain, 0), _never(known)


def _ndcg(known: Statistics, p: int) -> Values:
    gain = known.at(p, CUT_DCG) if p else known[DCG]
    best = known.at(p, CUT_IDCG) if p else known[IDCG]
    return _one_less(np.minimum(_share(gain, best), 1), known.empty)


FORMULAS: dict[str, Callable[[Statistics, int], Values]] = {
    "sum": _sum,
    "prec": _prec,
    "recall": _recall,
    "hit": _hit,
    "ap": _ap,
    "auc": _auc,
    "rr": _rr,
    "pairwise": _pairwise,
    "dcg": _dcg,
    "ndcg": _ndcg,
}
