"""The ranker behind a leaderboard, fitted again to part of the votes with the settings it was fitted with."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from podium.data.comparisons import Comparisons
from podium.data.validation import instance_of
from podium.errors import InputError, PodiumError, PodiumWarning
from podium.pairwise.base import Ranker
from podium.pairwise.bradley_terry import BradleyTerry

__all__ = ["Refit", "condensed", "fitted_to", "quietly", "refitting"]

Floats = NDArray[np.float64]
Refit: TypeAlias = Callable[[Comparisons], Floats | None]


def refitting(model: Ranker, items: Sequence[Hashable], features: Any = None, id: str | None = None) -> Refit:
    """A function from votes to scores of `items`, in the unit of the model's own ranking.

    It fits a ranker with the settings of `model`, and the penalties that `model` chose. A score is NaN where the
    votes (and features) say nothing of the item; the whole is None where they cannot be ranked at all. No anchor is
    kept: it may be among what was left out.
    """
    about = {"features": features, "id": id} if features is not None else {}
    place = {item: k for k, item in enumerate(items)}

    def refit(votes: Comparisons) -> Floats | None:
        try:
            ranking = quietly(_alike(model), _among_seen(votes), **about).ranking_
        except PodiumError:
            return None
        strange = [item for item in ranking.items if item not in place]
        if strange:
            raise InputError(f"the votes are on {strange[0]!r}, which the model has not ranked; fit it to these votes")
        scores = np.full(len(items), np.nan)
        scores[[place[item] for item in ranking.items]] = ranking.scores
        return scores

    return refit


def fitted_to(model: Any, votes: Comparisons) -> Ranker:
    """The model, if it is a ranker that has ranked the items of these votes."""
    instance_of(Ranker, model, "model")
    known = set(model.ranking_.items)
    strange = [item for item in votes.items if item not in known]
    if strange:
        raise InputError(f"the votes are on {strange[0]!r}, which the model has not ranked; fit it to these votes")
    ranker: Ranker = model
    return ranker


def quietly(model: Any, votes: Comparisons, **about: Any) -> Any:
    """Fit without warnings: a part may be thin where the whole is not."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PodiumWarning)
        return model.fit(votes, **about)


def _alike(model: Ranker) -> Ranker:
    """An unfitted ranker with the same settings; what was chosen from the votes is kept as it was chosen."""
    return model.unfitted(**({"anchor": None} if "anchor" in model.get_params() else {}))


def _among_seen(votes: Comparisons) -> Comparisons:
    """The same votes, on the items that they name."""
    seen = np.zeros(len(votes.items), dtype=bool)
    seen[votes.left] = seen[votes.right] = True
    if seen.all():
        return votes
    code = (np.cumsum(seen) - 1).astype(np.int32)
    items = [votes.items[k] for k in np.flatnonzero(seen).tolist()]
    return replace(votes, items=items, left=code[votes.left], right=code[votes.right])


def condensed(model: Any, votes: Comparisons) -> Comparisons:
    """The votes as counts of pairs where that is all the model looks at, so that refits are quick; else as they are."""
    if not isinstance(model, BradleyTerry) or votes.covariates is not None:
        return votes
    p = votes.pairs_by_side if model.side_effect else votes.pairs
    weight = np.concatenate([p.left_wins, p.right_wins, p.ties]).astype(np.float64)
    outcome = np.repeat(np.array([1, -1, 0], dtype=np.int8), len(p))
    left, right = np.tile(p.left, 3), np.tile(p.right, 3)
    kept = weight > 0
    return Comparisons(
        votes.items, left[kept], right[kept], outcome=outcome[kept], weight=weight[kept], sided=model.side_effect,
        ordered=False,
    )  # fmt: skip
