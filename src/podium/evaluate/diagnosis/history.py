"""History: scores as the votes came in."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.data.comparisons import Comparisons, as_comparisons
from podium.data.validation import number_option
from podium.errors import InputError
from podium.evaluate.diagnosis.refit import fitted_to, quietly, refitting
from podium.pairwise.bradley_terry import BradleyTerry

__all__ = ["History", "score_history"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class History:
    """Scores after so many votes: `scores[t, i]` after `votes[t]`, NaN where there is no score yet."""

    votes: NDArray[np.int64]
    items: tuple[Hashable, ...]
    scores: Floats

    def among(self, items: Collection[Hashable] | None) -> History:
        """The same of some of the items only; None for all."""
        if items is None:
            return self
        if isinstance(items, str) or not isinstance(items, Collection):
            raise InputError(f"items must be a list of items, not {type(items).__name__}")
        kept = [k for k, item in enumerate(self.items) if item in items]
        return History(self.votes, tuple(self.items[k] for k in kept), self.scores[:, kept])


def score_history(
    comparisons: Comparisons, model: Any = None, *, features: Any = None, id: str | None = None, points: int = 40
) -> History:
    """Return the scores after each of `points` shares of the votes, in the order they were cast.

    `model` is the ranker fitted to all of them, Bradley-Terry unless given: its settings are those of every point, and
    the last point is its ranking. A score is NaN before the item's first vote, and before the votes can be ranked at
    all. `features` and `id` are those of its fit.

    >>> votes = Comparisons.from_pairs([("a", "b"), ("b", "a"), ("c", "a"), ("b", "c")])
    >>> history = score_history(votes, points=2)
    >>> history.votes, [bool(known) for known in np.isfinite(history.scores[0])]
    (array([2, 4]), [True, True, False])
    """
    c = as_comparisons(comparisons, "score_history")
    c = c.by_time()
    rows = len(c.left)
    if not c.ordered or c.count is not None:
        raise InputError("the votes are counted, so their order is not known; give them one by one")
    points = min(int(number_option("points", points, least=1, whole=True)), rows)  # no more than there are votes
    model = quietly(BradleyTerry(), c) if model is None else fitted_to(model, c)
    ranking = model.ranking_
    refit = refitting(model, ranking.items, features, id)
    cuts = np.unique(np.rint(np.linspace(rows / points, rows, points)).astype(np.int64))
    cuts = cuts[cuts > 0]
    scores = np.full((len(cuts), len(ranking)), np.nan)
    for at, cut in zip(scores[:-1], cuts[:-1].tolist(), strict=True):
        scores_then = refit(c.take(slice(cut)))
        if scores_then is not None:
            at[:] = _anchored(scores_then, model, ranking.items)
    scores[-1] = ranking.scores
    return History(cuts, ranking.items, scores)


def _anchored(scores: Floats, model: Any, items: tuple[Hashable, ...]) -> Floats:
    """The scores shifted as the model's anchor wants it; unknown while the anchor has no score."""
    anchor = model.get_params().get("anchor")
    if anchor is None:
        return scores
    item, score = next(iter(anchor.items())) if isinstance(anchor, Mapping) else anchor
    shifted: Floats = scores + (score - scores[items.index(item)])
    return shifted
