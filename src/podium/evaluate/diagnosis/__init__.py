"""Diagnosis: do the votes look like the model that ranks them, and does the ranking hang on a few of them?

The model is that of the leaderboard: its ties, side effect, covariates and penalty. What chance alone gives is found
by redrawing the votes. Counted votes are redrawn with everybody's wins kept, which makes the p-values exact from the
first vote on (`exact`). Votes with weights or covariates, and very many votes, are drawn from scores that few votes
pull together (`l2="auto"`), and the model is fitted again to each redraw (a parametric bootstrap).
"""

from __future__ import annotations

from collections.abc import Collection, Hashable
from typing import Any

import numpy as np

from podium.data.comparisons import Comparisons, as_comparisons
from podium.data.validation import (
    entries_of,
    label_of,
    seed_option,
    whole_option,
)
from podium.errors import InputError
from podium.evaluate.diagnosis.findings import Diagnosis, Finding
from podium.evaluate.diagnosis.history import History, score_history
from podium.evaluate.diagnosis.misfit import Fit, Test
from podium.evaluate.diagnosis.refit import fitted_to, quietly, refitting
from podium.evaluate.diagnosis.steadiness import Reliability, influence_frame, lead_test, reliability
from podium.evaluate.diagnosis.steadiness import influence as find_influence
from podium.evaluate.diagnosis.table import Model, Table
from podium.pairwise.bradley_terry import BradleyTerry

__all__ = ["Diagnosis", "Finding", "History", "Reliability", "Test", "diagnose", "score_history"]

MERGED_FROM = 4  # votes for each pair of items: so many are nearly all equal to others
LIKELIHOOD = 1e-3  # a penalty that keeps scores finite and moves nothing else


def diagnose(
    comparisons: Comparisons,
    model: Any = None,
    *,
    features: Any = None,
    id: str | None = None,
    shown: Collection[Hashable] | None = None,
    replicates: int = 199,
    splits: int = 20,
    influence: bool = True,
    seed: int = 0,
) -> Diagnosis:
    """Measure how well one ranking explains the votes, and how much it hangs on single items and judges.

    Parameters
    ----------
    comparisons : Comparisons
    model : a ranker fitted to them, or None for Bradley-Terry
        The leader, the reliability and the influence are those of this model, refitted with its settings. Residuals
        and p-values are too if it is a `BradleyTerry`; other rankers do not say how votes vary, and theirs are
        measured against Bradley-Terry with the votes' covariates (`Diagnosis.against` says so). With `l2="auto"` they
        are those of the likelihood.
    features, id
        Of the model's fit, where it was given any.
    shown : items among which a leader is named, all unless given
    replicates : int
        Redraws behind the p-values; the smallest possible one is 1 / (replicates + 1).
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
    whole_option("replicates", replicates, least=1)
    whole_option("splits", splits, least=1)
    rng = np.random.default_rng(seed_option("seed", seed))
    votes = as_comparisons(comparisons, "diagnose")
    model = quietly(BradleyTerry(), votes) if model is None else fitted_to(model, votes)
    votes = _as_counts(votes, model)
    expected = model if isinstance(model, BradleyTerry) else quietly(BradleyTerry(l2=LIKELIHOOD), votes)
    if getattr(expected, "sd_", None) is not None:  # scores pulled together expect less of the good than they did
        expected = quietly(BradleyTerry(l2=LIKELIHOOD, ties=expected.ties, side_effect=expected.side_effect), votes)
    fit = Fit(Table.of(votes, expected.side_effect), Model.of(expected))
    tested, chances = (fit, None) if fit.exact else _bootstrap(fit, expected, votes)
    tests = tested.tests(replicates, rng, chances)
    ranking = model.ranking_
    refit = refitting(model, ranking.items, features, id)
    shown = None if shown is None else {label_of("shown", each) for each in entries_of("shown", shown, "labels")}
    if shown is not None and shown.isdisjoint(ranking.items):
        known = f"there are {len(ranking.items)}, such as {ranking.items[0]!r}"
        raise InputError(f"shown names no item of the ranking; {known}")
    named = np.array([shown is None or item in shown for item in ranking.items])
    ahead = lead_test(ranking if ranking.information is not None else expected.ranking_)
    moved = find_influence(model, votes, refit, ranking.scores, ranking.items, named, ahead) if influence else None
    return Diagnosis(
        fit.residual_frame(votes.items),
        *tests,
        reliability=reliability(votes, refit, splits, rng),
        influence=influence_frame(moved.rows if moved else []),
        replicates=replicates,
        leader=next(item for item in ranking.order if shown is None or item in shown),
        tried=moved.tried if moved else {},
        against=None if isinstance(model, BradleyTerry) else "Bradley-Terry",
        decided=None if tested is fit else tested.residual_frame(votes.items),
        votes_per_item=2.0 * len(votes) / len(votes.items),
    )


def _as_counts(votes: Comparisons, model: Any) -> Comparisons:
    """Many equal votes as counts, as `podium check` reads them: the same numbers, from far fewer rows."""
    many = len(votes.left) > MERGED_FROM * len(votes.items) ** 2
    return votes.merged() if many and votes.count is None and not model.uses.order else votes


def _bootstrap(fit: Fit, model: BradleyTerry, votes: Comparisons) -> tuple[Fit, Model]:
    """What redraws from a model are compared with, and that model: its scores have a penalty from the votes, so that
    they are about as far apart as the true ones, however few the votes.

    Where there are ties, both are about the decided votes: with many votes any model of the ties is found to be wrong,
    and that says nothing about the ranking.
    """
    settings = {name: getattr(model, name) for name in ("ties", "side_effect")}
    shrunken = Model.of(quietly(BradleyTerry(l2="auto", **settings), votes))
    if not fit.table.ties.any():
        return fit, shrunken
    table = fit.table.decided(votes)
    return Fit(table, fit.model.refitted(table)), shrunken.refitted(table)
