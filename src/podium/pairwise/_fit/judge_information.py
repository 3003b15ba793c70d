"""What votes of judges say about the scores: the curvature of the integrated likelihood, and each vote's gradient.

Louis' Hessian in the scores has rows that add up to zero, since votes see differences only. It is therefore that of a
graph in which every pair of items is a row, some with a negative curvature: what one judge's votes on two pairs have in
common. With many items only the votes' own pairs are kept, and the slopes of up to `MAX_JUDGES` judges as parameters of
their own.
"""

from __future__ import annotations

import dataclasses
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from podium.data.comparisons import Comparisons
from podium.kernels.pairwise.bradley_terry import scatter_difference
from podium.pairwise._fit.judges import Integral
from podium.ranking.uncertainty import Information

__all__ = ["judge_information"]

Floats = NDArray[np.float64]

MAX_JUDGES = 500

Parts: TypeAlias = tuple[NDArray[np.int32], NDArray[np.int32], Floats]


def judge_information(
    c: Comparisons, integral: Integral, l2: float, *, extras: tuple[int, ...], votes: bool
) -> Information:
    """Information at an optimum; `extras` are the numbers of those that were estimated too.

    `votes` asks for the gradients of single votes, for errors that do not trust the model.
    """
    n = integral.votes.n
    if not integral.extras[1:].any() and not extras:  # plain Bradley-Terry
        rows, border, corner = _of_rows(integral), None, None
    elif len(integral.variance):
        rows, border, corner = _louis(integral, l2, extras)
    else:
        rows, (border, corner) = _of_rows(integral), _judges_of_many(integral)
        extras = ()
    groups = c.adjacency.components
    plain = Information(
        n,
        *rows,
        ridge=2.0 * l2,
        border=border,
        corner=corner,
        scores=integral.scores,
        groups=None if votes or not groups.any() else groups,
    )
    return _with_votes(plain, c, integral, extras) if votes else plain


def _of_rows(integral: Integral) -> Parts:
    v = integral.votes
    return v.left, v.right, np.ascontiguousarray(integral.curvature[:, 0])


def _louis(integral: Integral, l2: float, extras: tuple[int, ...]) -> tuple[Parts, Floats | None, Floats | None]:
    """All pairs with their curvature; border and corner of the extras."""
    n, hessian = integral.votes.n, integral.hessian()
    left, right = (each.astype(np.int32) for each in np.triu_indices(n, 1))
    rows = left, right, -hessian[left, right]
    while extras:
        places = n + np.array(extras)
        kept = np.concatenate([np.arange(n), places])
        matrix = hessian[np.ix_(kept, kept)]
        matrix[:n, :n] += np.diag(np.full(n, 2.0 * l2)) + matrix[:n, :n].diagonal().mean() / n
        if _is_positive(matrix):
            return rows, np.ascontiguousarray(hessian[:n, places]), hessian[np.ix_(places, places)]
        extras = extras[:-1]  # a standard deviation at the end of its range has no curvature of its own
    return rows, None, None


def _is_positive(matrix: Floats) -> bool:
    try:
        np.linalg.cholesky(matrix)
    except np.linalg.LinAlgError:
        return False
    return True


def _judges_of_many(integral: Integral) -> tuple[Floats | None, Floats | None]:
    """The judges' slopes as parameters: mixed derivatives and, on the diagonal, what is known of each."""
    v = integral.votes
    known = np.flatnonzero(np.diff(v.start) > 0)
    if len(known) > MAX_JUDGES or not integral.extras[1]:
        return None, None
    gap = integral.scores[v.left] - integral.scores[v.right]
    along = integral.extras[1] * (gap * integral.curvature[:, 1] - integral.gradient[:, 1])
    border = np.zeros((len(known), v.n))
    for out, k in zip(border, known, strict=True):
        mine = slice(v.start[k], v.start[k + 1])
        scatter_difference(v.left[mine], v.right[mine], np.ascontiguousarray(along[mine]), out)
    return np.ascontiguousarray(border.T), np.diag(1.0 / integral.moments[known, 2])


def _with_votes(plain: Information, c: Comparisons, integral: Integral, extras: tuple[int, ...]) -> Information:
    """The same with the gradient of every vote's loss, averaged over what is known of the judge's slope and lean."""
    v, judge = integral.votes, c.judge
    assert judge is not None
    left, right, outcome, weight = c.vote_rows()
    row, turned = v.row, v.turned
    mean_z, mean_y = integral.moments[:, 0][judge], integral.moments[:, 1][judge]
    slope = integral.slope()[0][judge]
    won = np.where(turned, 1.0 - outcome, outcome)
    gap = (integral.scores[v.left] - integral.scores[v.right])[row]
    # A row's gradient is Σ E[x·(points − total·p)], with x the slope, 1, z·gap or y: E[x·p] of one vote follows.
    gradient = np.empty((len(left), 4))
    for k, x in enumerate((slope, np.ones(len(left)), mean_z * gap, mean_y)):
        expected = (v.points[row] * x - integral.gradient[row, k]) / v.total[row]
        gradient[:, k] = expected - won * x
    known = tuple(extras)[: plain.extras] if plain.extras else ()
    above, below = c.adjacency.open_ended
    clusters = {"judge": judge}
    if c.group is not None:
        clusters[c.group_is] = c.group
    lone = plain.extras > 0 and not known  # slopes of judges as parameters: votes have no gradient in them
    return dataclasses.replace(
        plain,
        vote_left=left,
        vote_right=right,
        vote_gradient=np.where(turned, -gradient[:, 0], gradient[:, 0]),
        vote_weight=weight,
        vote_weight_sq=c.weight_squares(),
        vote_extra_gradient=None if lone or not known else np.ascontiguousarray(gradient[:, [1 + k for k in known]]),
        target=outcome if not integral.extras.any() and not extras else None,
        clusters=clusters,
        open_above=above,
        open_below=below,
    )
