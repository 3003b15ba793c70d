"""The advantage of the left side among scores that move, found without the prior of newcomers' scores.

That prior takes newcomers for draws that know nothing of the sides. Where better items stand on the left more often it
pulls them together and leaves it to the side to explain who wins. Without it an item is compared with itself: by plain
likelihood if nothing moves, as in `BradleyTerry`, else with only the steps of the walks held by their prior. Where
votes are few for an item Firth's correction is that of scores that stand still: every vote of a pair gets the same.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.data.comparisons import Comparisons
from podium.pairwise._fit.bias import with_more
from podium.pairwise._fit.solvers import runs_away
from podium.pairwise._fit.strength_model import EFFECT_TOL, StrengthModel
from podium.pairwise._fit.walk_model import Held, WalkModel
from podium.pairwise._fit.walk_posterior import WalkPosterior
from podium.pairwise._fit.walks import solution_at, solve_walks

__all__ = ["side_effect"]

Codes = NDArray[np.int32]

LOOSE_SD = 1e3  # of newcomers' scores, which is next to no prior


def side_effect(history: dict[str, Any], ties: str, drift: float, max_iter: int) -> Held | None:
    """The advantage of the left side with scores that move so fast; None where it is left to the prior.

    That is so where `StrengthModel` leaves it to the penalty.
    """
    left, right, votes = _votes(history)
    still = StrengthModel(votes, ties, True)
    still.hold_effects(max_iter, "hessian")
    if still.effects is None:
        return None
    held = Held(float(still.effects.values[0]), float(still.effects.covariance[0, 0]))
    if not drift:
        return held
    model = WalkModel(history, ties, True, False, None)
    precision, loss = model.precision(drift, LOOSE_SD, 1.0), model.loss
    if still.effects.added is not None:
        total = history["wins"] + history["losses"] + history["ties"]
        loss = with_more(loss, still.effects.added_to(votes, left, right, total))
    found = solve_walks(model.rows, loss, precision, items=model.n, tol=EFFECT_TOL, max_iter=max_iter)
    if not found.converged or runs_away(model.rows, found.point.extras):
        return held
    there = solution_at(model.rows, model.loss, precision, found.scores, found.point.extras)
    variance = WalkPosterior(model, there, drift, LOOSE_SD).effect_covariance()[0, 0]
    return Held(float(found.point.extras[0]), float(variance))


def _votes(history: dict[str, Any]) -> tuple[Codes, Codes, Comparisons]:
    """The votes of a history, of whatever time, between the items that have any; and the items of its rows there."""
    met, codes = np.unique(np.concatenate([history["left"], history["right"]]), return_inverse=True)
    left, right = np.split(codes.astype(np.int32), 2)
    weight = np.concatenate([history["wins"], history["losses"], history["ties"]])
    return (
        left,
        right,
        Comparisons(
            tuple(history["items"][k] for k in met.tolist()),
            np.tile(left, 3),
            np.tile(right, 3),
            outcome=np.repeat(np.array([1, -1, 0], dtype=np.int8), len(left)),
            weight=weight,
            weight_sq=weight,  # a weight is a number of votes
            sided=True,
        ),
    )
