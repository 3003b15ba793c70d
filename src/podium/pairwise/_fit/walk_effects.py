"""The advantage of the left side among scores that move, found without the prior of newcomers' scores.

That prior takes newcomers for draws that know nothing of the sides. Where better items stand on the left more often it
pulls them together and leaves it to the side to explain who wins. Without it an item is compared with itself: by plain
likelihood if nothing moves, as in `BradleyTerry`, else with only the steps of the walks held by their prior.

The prior of the steps would do the same to items that come to stand on the left more often as they rise. So walks may
follow the sides (Mundlak 1978),

    u = γ z + r,    γ ~ N(0, 2²),

with r the walk of the model and z the walks that come nearest to a margin of 1 for the item on the left in every vote,
(Q + L/4) z = Dᵀ1/4: Q is the precision of r, D has a row for each vote, 1 for the item on the left and −1 for the other
one, and L = DᵀD. Where the better item stands on the left as surely as it wins, with the chance σ(difference), sides
tell of walks as much as votes do, and γ is 2.

Where votes are few for an item Firth's correction is that of scores that stand still: every vote of a pair gets the
same.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.data.comparisons import Comparisons
from podium.pairwise._fit.bias import with_more
from podium.pairwise._fit.solvers import Rows, runs_away
from podium.pairwise._fit.strength_model import EFFECT_TOL, StrengthModel
from podium.pairwise._fit.walk_model import Held, WalkModel
from podium.pairwise._fit.walk_posterior import WalkPosterior
from podium.pairwise._fit.walks import Precision, System, solution_at, solve_walks

__all__ = ["side_effect"]

Codes = NDArray[np.int32]
Floats = NDArray[np.float64]

LOOSE_SD = 1e3  # of newcomers' scores, which is next to no prior
FOLLOWING_SD = 2.0  # of γ


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
    total, loss = history["wins"] + history["losses"] + history["ties"], model.loss
    if still.effects.added is not None:
        loss = with_more(loss, still.effects.added_to(votes, left, right, total))
    rows, precision = _following(model, model.precision(drift, LOOSE_SD, 1.0), total)
    found = solve_walks(rows, loss, precision, items=model.n, tol=EFFECT_TOL, max_iter=max_iter)
    if not found.converged or runs_away(model.rows, found.point.extras):
        return held
    there = solution_at(rows, model.loss, precision, found.scores, found.point.extras)
    variance = WalkPosterior(model, there, drift, LOOSE_SD).effect_covariance()[0, 0]
    return Held(float(found.point.extras[0]), float(variance))


def _following(model: WalkModel, precision: Precision, total: Floats) -> tuple[Rows, Precision]:
    """The rows and the prior with γ after the side; `total` are the votes of each row."""
    rows, curvature = model.rows, 0.25 * total  # of votes between equals
    force = np.zeros(rows.n)
    np.add.at(force, rows.left, curvature)
    np.subtract.at(force, rows.right, curvature)
    z = System(rows, curvature, precision, model.n).solve_all(force[:, None])[:, 0]
    assert rows.design is not None, "the side"
    design = np.column_stack([rows.design, z[rows.left] - z[rows.right]])
    effects = np.insert(precision.effects, 1, FOLLOWING_SD**-2.0)
    return replace(rows, design=design), replace(precision, effects=effects)


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
