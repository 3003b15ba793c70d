"""Diagnosis: do the votes look like the model that ranks them, and does the ranking hang on a few of them?

Everything is measured against plain Bradley-Terry scores, ties counting half. What chance alone would give is found by
simulation: votes are redrawn from the fitted scores on the same pairs, refitted, and measured in the same way (a
parametric bootstrap), so that thin pairs, estimated scores and ties are all allowed for.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from podium.comparisons import Comparisons
from podium.diagnosis.findings import Diagnosis, Finding
from podium.diagnosis.history import History, score_history
from podium.diagnosis.misfit import Fit, Test
from podium.diagnosis.steadiness import Reliability, influence_frame, influence_rows, reliability
from podium.diagnosis.table import Table
from podium.errors import InputError

__all__ = ["Diagnosis", "Finding", "History", "Reliability", "Test", "diagnose", "score_history"]


def diagnose(
    comparisons: Comparisons, *, replicates: int = 199, splits: int = 20, influence: bool = True, seed: int = 0
) -> Diagnosis:
    """Measure how well one ranking explains the votes, and how much it hangs on single items and judges.

    Parameters
    ----------
    comparisons : Comparisons
    replicates : int
        Simulations behind the p-values; the smallest possible one is 1 / (replicates + 1).
    splits : int
        Random halvings behind the reliability.
    influence : bool
        Whether to refit without each of the 50 most compared items, and the 50 busiest judges.
    seed : int

    Examples
    --------
    >>> rock = [("rock", "scissors"), ("scissors", "paper"), ("paper", "rock")] * 30
    >>> found = diagnose(Comparisons.from_pairs(rock), replicates=99)
    >>> round(found.cyclic.value, 2), found.cyclic.p_value
    (1.0, 0.01)
    """
    if replicates < 1 or splits < 1:
        raise InputError(f"replicates ({replicates}) and splits ({splits}) must be at least 1")
    rng = np.random.default_rng(seed)
    votes = replace(comparisons, sided=False) if comparisons.sided else comparisons
    table = Table.of(votes.pairs, len(votes.items))
    fit = Fit(table)
    tests = fit.tests(replicates, rng)
    moved = influence_rows(votes, fit.scores) if influence else []
    return Diagnosis(
        fit.residual_frame(votes.items),
        *tests,
        reliability=reliability(votes, splits, rng),
        influence=influence_frame(moved),
        replicates=replicates,
        leader=votes.items[int(np.argmax(np.where(table.seen, fit.scores, -np.inf)))],
    )
