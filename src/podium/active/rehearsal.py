"""Asking tried out on simulated judges, before anybody is asked: what `podium simulate` and `podium plan` print."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from podium.active.oracles import Simulated
from podium.active.planner import Planner
from podium.active.ranker import rank_with

__all__ = ["QUESTIONS_PER_ITEM", "Rehearsal", "mean_rehearsal", "rehearse", "reliability_by_votes"]

QUESTIONS_PER_ITEM = (2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 26, 33)  # at which the reliability is looked at


class Rehearsal(NamedTuple):
    """How an interview with a simulated judge went; means over several are of the same form."""

    questions_per_item: float
    rounds: float
    cost_ratio: float  # votes that contradict the order, over those that contradict the hidden one
    excess: float  # expected cost above the hidden order's, in per cent of all pairs
    ranks_off: float  # by which nine in ten items are off at most
    stated_within: float  # what the summary said about that
    stable: float


def rehearse(judge: Simulated, preset: str, *, log2_share: float | None = None, features: str | None = None,
             **options: Any) -> Rehearsal:  # fmt: skip
    """Rank by asking the judge, within `log2_share` * log2(n) questions an item where one is given."""
    n = judge.n
    budget = None if log2_share is None else min(int(log2_share * n * np.log2(n)), n * (n - 1) // 2)
    table = None if features is None else judge.features(informative=features == "informative")
    ranker = rank_with(judge, range(n), preset=preset, budget=budget, features=table, **options)
    summary, order = ranker.summary(), np.array(ranker.order())
    return Rehearsal(
        summary.questions / n,
        ranker.rounds,
        max(judge.cost(np.array(ranker.order("answers"))), 1) / max(judge.cost(judge.order), 1),
        judge.excess(order),
        float(np.quantile(np.abs(np.argsort(order) - judge.place), 0.9)),
        summary.within_ranks,
        float(summary.stable),
    )


def mean_rehearsal(rehearsals: Sequence[Rehearsal]) -> Rehearsal:
    """The mean of each column."""
    return Rehearsal(*np.mean(rehearsals, axis=0).tolist())


def reliability_by_votes(n: int, judges: int, level: float, wanted: float, seed: int) -> list[float]:
    """Squared rank correlation with the hidden order at each of `QUESTIONS_PER_ITEM`.

    One campaign of normal scores and judges of this noise level, who take turns. It ends when the correlation is well
    beyond what is wanted.
    """
    judge = Simulated(n, "normal", level, seed=seed, persistent=False)
    planner = Planner(n, seed=seed)
    reliabilities: list[float] = []
    batch = max(judges, n // 4)
    for questions in QUESTIONS_PER_ITEM:
        while len(planner) < questions * n:
            asked = planner.plan(min(batch, questions * n - len(planner)))
            if not len(asked):
                break
            number = len(planner) + np.arange(len(asked))
            planner.tell(asked.left, asked.right, judge.answer(asked.pairs), number % judges, asked.kind)
        rank = np.argsort(planner.order())
        reliabilities.append(float(np.corrcoef(rank, judge.place)[0, 1] ** 2))
        if reliabilities[-1] >= wanted + 0.5 * (1.0 - wanted):
            break
    return reliabilities
