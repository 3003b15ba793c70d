"""Solvers of pairwise likelihoods: arrays in, arrays out.

All minimise  Σ_rows loss(u_left − u_right + z·e)  +  l2·‖u‖²  over the scores u and a few extra parameters e
(a side effect, covariates, the log of a tie parameter). Cyclic coordinate Newton is fastest where everyone met
everyone; it stalls on long thin graphs, where Newton with a banded or a conjugate-gradient solve takes over.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from podium.data.pairs import Adjacency
from podium.errors import ConvergenceError, Option, SeparationWarning
from podium.kernels.pairwise.bradley_terry import (
    coordinate_sweep,
    item_slopes,
    laplacian_product,
    scatter_difference,
    scatter_sum,
    solve_lower,
)
from podium.kernels.pairwise.graph import unite
from podium.numeric import conjugate_gradients

__all__ = ["RowLoss", "Rows", "Solution", "coordinate_newton", "evaluate", "newton", "penalty_share", "runs_away"]

Floats = NDArray[np.float64]
Codes = NDArray[np.int32]

DENSE = 400  # items up to which a dense factorisation is cheapest
BAND_FLOPS = 4e8  # work allowed to one banded factorisation
LOOKS = 4  # meetings away that are looked at for a bound of the band
SINGLE = 100_000  # items beyond which strengths are cached in single precision (the final check is in double)
CHEAP = 200_000  # meetings up to which a sweep or two more cost nothing worth saving
MAX_SWEEPS_LEFT = 80  # sweeps that Newton is worth
STILL = 0.2  # of what sweeps may leave: a step below which an item does not move
SLOW, MAX_STALLED = 0.1, 3  # of the longest step, above which it is those who hold sweeps up; and how often they may
FEW, MAX_SETTLING = 0.125, 4  # share of items that move, below which they go alone; and steps an item that it may take
UNSEEN = 2e-3  # penalty, as a share of the curvature of an item's own votes, that no one would think of
SEPARATES = 12.0  # effect of a covariate or side, in log-odds on a typical row, that has no finite optimum
MOST_ROUNDING = 1e-3  # longest Newton step, in log-odds, that may be left to rounding once steps stop shrinking


@dataclass(frozen=True, slots=True)
class Solution:
    """Where a solver ended: the optimum if `converged`.

    `gap` is the largest slope left, as a share of the item's own votes: expected and observed wins differ by no more.
    `tol` is asked of the scores, in log-odds; the gap is held to it too. A small gap alone says little where a group
    hangs on a penalty or on few votes while its own votes are many: what is left to go is then judged by Newton's step.
    """

    scores: Floats
    extras: Floats
    n_iter: int
    solver: str
    gap: float
    converged: bool


# ---- coordinate Newton ----------------------------------------------------------------------------------------


def coordinate_newton(a: Adjacency, l2: float, tol: float, max_iter: int, *, scores: Floats | None = None) -> Solution:
    """Bradley-Terry by cyclic coordinate Newton with cached exponentials; `converged` is False where it stalls.

    Starts at `scores`, else at 1.2·log((wins + 1)/(losses + 1)), or where the penalty holds an item that only won or
    lost. The loss does not feel a common shift of a component and the penalty wants its mean at 0, so components are
    centred after each sweep.
    """
    ridge = 2.0 * l2
    points, votes = a.sums
    yardstick = _yardstick(votes)
    if scores is None:
        scores = 1.2 * np.log((points + 1.0) / (votes - points + 1.0))
        _place_open_ended(scores, points, votes, ridge)
    scores = _centred(scores, a)
    narrow = np.float32 if len(a) > SINGLE else np.float64
    strength = np.exp(scores).astype(narrow)
    slopes, curvatures, steps = np.empty_like(scores), np.empty_like(scores), np.empty_like(scores)
    everyone = np.arange(len(a), dtype=np.int32)
    caution = 0.5 if len(a.partner) > CHEAP else 0.005
    before, shrink, gap, sweep, stalled = np.inf, 1.0, np.inf, 0, 0
    while sweep < max_iter:
        sweep += 1
        decrement, longest = coordinate_sweep(
            a.start, a.partner, a.total, points, ridge, everyone, scores, strength, steps
        )
        scores = _centred(scores, a)
        strength = np.exp(scores).astype(narrow)
        last, shrink = shrink, min(np.sqrt(decrement / before), 1.0) if 0.0 < before < np.inf else 1.0
        before = decrement
        slower = min(max(shrink, last), 1.0)
        # Sweeps shrink the error like a geometric series; this bounds what is left of it, once the slow part rules.
        if decrement == 0.0 or slower * longest <= caution * tol * (1.0 - slower):
            item_slopes(a.start, a.partner, a.total, points, ridge, scores, np.exp(scores), slopes, curvatures)
            gap = float(np.max(np.abs(slopes) / yardstick))
            if _may_creep(a, ridge, caution * tol):
                break
            if gap <= tol:
                return Solution(scores, np.empty(0), sweep, "coordinate", gap, True)
        stalls, still = sweep >= 4 and _sweeps_left(shrink, longest, tol) > MAX_SWEEPS_LEFT, STILL * caution * tol
        movers = everyone[steps > (max(SLOW * longest, still) if stalls else still)] if len(a) > DENSE else everyone
        if stalls and (len(movers) >= FEW * len(a) or stalled == MAX_STALLED):
            break
        if 0 < len(movers) < FEW * len(a):
            _settle(a, ridge, still, movers, scores)
            stalled, narrow = stalled + stalls, narrow if stalls else np.float64
            scores = _centred(scores, a)
            strength = np.exp(scores).astype(narrow)
    return Solution(scores, np.empty(0), sweep, "coordinate", gap, False)


def _settle(a: Adjacency, ridge: float, still: float, movers: Codes, scores: Floats) -> None:
    """Sweep over those that still move until they stand `still`, everyone else where they are, in place.

    Long after the rest, some are on their way: items that only won or only lost, and those they met, whom the penalty
    holds more than the votes.
    """
    strength, steps = np.exp(scores), np.empty_like(scores)
    left = MAX_SETTLING * len(a)
    while 0 < len(movers) <= left:
        left -= len(movers)
        coordinate_sweep(a.start, a.partner, a.total, a.sums[0], ridge, movers, scores, strength, steps)
        movers = movers[steps[movers] > still]


def _place_open_ended(scores: Floats, points: Floats, votes: Floats, ridge: float) -> None:
    """Start items that only won or only lost where the penalty holds them against average ones, in place.

    A sweep moves them by one unit of log-odds at most, and how far they have to go depends on the penalty alone:
    votes·(1 − σ(u)) = ridge·u.
    """
    alone = np.flatnonzero(((points <= 0.0) | (points >= votes)) & (votes > 0.0))
    if ridge <= 0.0 or not len(alone):
        return
    weight = votes[alone]
    low, high = np.zeros(len(alone)), 1.0 + np.log1p(weight / ridge)
    for _ in range(30):
        middle = 0.5 * (low + high)
        inside = weight * np.exp(-np.logaddexp(0.0, middle)) > ridge * middle
        low, high = np.where(inside, middle, low), np.where(inside, high, middle)
    scores[alone] = np.where(points[alone] > 0.0, low, -low)


def _may_creep(a: Adjacency, ridge: float, seen: float) -> bool:
    """Whether a whole group may creep by steps shorter than `seen`, so that sweeps look settled while it is on its way.

    What moves a group is the penalty, or the votes that tie it to the rest; each sweep moves it by that over the weight
    of its items' own votes.
    """
    heaviest = 10.0 * seen * float(a.sums[1].max())
    if ridge > heaviest:
        return False
    return not a.is_strongly_connected or max(ridge, 0.1 * float(a.total.min())) < heaviest


def _sweeps_left(shrink: float, longest: float, tol: float) -> float:
    if shrink >= 1.0:
        return np.inf
    return float(np.log(max(longest / tol, 1.0)) / -np.log(max(shrink, 1e-9)))


def _centred(scores: Floats, a: Adjacency) -> Floats:
    labels = a.components
    if not labels.any():
        return np.asarray(scores - scores.mean())
    means: Floats = np.bincount(labels, scores) / np.bincount(labels)
    centred: Floats = scores - means[labels]
    return centred


# ---- Newton ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows of a loss: which two items, and the design of the extra parameters that shift the margin."""

    n: int
    left: Codes
    right: Codes
    design: Floats | None = None  # (rows, p)
    offset: Floats | None = None  # a known part of every margin

    def margin(self, scores: Floats, extras: Floats) -> Floats:
        """u_left − u_right + z·e for every row, and its offset."""
        margin: Floats = scores[self.left] - scores[self.right]
        if self.design is not None:
            margin += self.design @ extras[: self.design.shape[1]]
        if self.offset is not None:
            margin += self.offset
        return margin


class RowLoss(Protocol):
    """A loss of the margin, perhaps with one parameter of its own (the last of the extras)."""

    @property
    def own(self) -> int:
        """How many parameters of its own it has."""
        ...

    def __call__(self, margin: Floats, extras: Floats) -> tuple[float, Floats, Floats, Floats, Floats, Floats]:
        """Loss, slope and curvature along the margin per row; and for the own parameters: the gradient (own,),
        the mixed derivative per row (rows, own) and the second derivative (own, own)."""
        ...


@dataclass(slots=True)
class Point:
    """Loss and derivatives at one place."""

    scores: Floats
    extras: Floats
    objective: float
    slopes: Floats  # by item
    extra_slopes: Floats
    curvature: Floats  # by row
    border: Floats  # (n, p)
    corner: Floats  # (p, p)


def evaluate(rows: Rows, loss: RowLoss, l2: float, scores: Floats, extras: Floats) -> Point:
    """The penalised loss with its gradient and the parts of its Hessian."""
    value, slope, curvature, own_slope, mixed, own_corner = loss(rows.margin(scores, extras), extras)
    slopes = 2.0 * l2 * scores
    scatter_difference(rows.left, rows.right, slope, slopes)
    design = np.empty((len(slope), 0)) if rows.design is None else rows.design
    p = design.shape[1]
    weighted = curvature[:, None] * design
    corner = np.zeros((p + loss.own, p + loss.own))
    with np.errstate(over="ignore", invalid="ignore"):  # of covariates beyond all scale: no step is taken there
        corner[:p, :p] = design.T @ weighted
        corner[:p, p:] = design.T @ mixed
    corner[p:, :p] = corner[:p, p:].T
    corner[p:, p:] = own_corner
    border = np.zeros((p + loss.own, rows.n))
    for out, column in zip(border, np.hstack([weighted, mixed]).T, strict=True):
        scatter_difference(rows.left, rows.right, np.ascontiguousarray(column), out)
    objective = value + l2 * float(scores @ scores)
    return Point(
        scores, extras, objective, slopes, np.concatenate([design.T @ slope, own_slope]), curvature, border.T, corner
    )


def newton(
    rows: Rows,
    loss: RowLoss,
    l2: float,
    tol: float,
    max_iter: int,
    *,
    votes: Floats,
    scores: Floats | None = None,
    extras: Floats | None = None,
    how: str | None = None,
) -> Solution:
    """Newton's method with backtracking; the linear solve is dense, banded or by conjugate gradients (`how`).

    `votes` is the weight of each item's votes, the yardstick of its slope.
    """
    p = loss.own + (0 if rows.design is None else rows.design.shape[1])
    here = evaluate(
        rows,
        loss,
        l2,
        np.zeros(rows.n) if scores is None else scores,
        np.zeros(p) if extras is None else extras,
    )
    linear = LinearSolver(rows, 2.0 * l2, how)
    gap, left, step = _gap(here, votes), np.inf, 0
    while step < max_iter:
        # Inexact Newton: solve only as well as this far from the optimum deserves, and to the end before believing it.
        du, de = _direction(here, linear, min(0.05, 0.1 * gap))
        if linear.how == "pcg" and _longest(rows, du, de) <= 10.0 * tol:
            du, de = _direction(here, linear, 0.0)
        before, left = left, _longest(rows, du, de)
        there = _search(rows, loss, l2, here, du, de)
        if there is None:  # no descent in floating point: as good as it gets
            break
        here, step = there, step + 1
        gap = _gap(here, votes)
        # Convergence is quadratic, so the step just taken bounds what is left. Steps that stop shrinking are rounding.
        if left <= tol or 0.5 * before < left <= MOST_ROUNDING:
            break
        if gap <= 1e-3 * tol and runs_away(rows, here.extras):  # for ever: every step finds the votes likelier
            left = 0.0
            break
    centred = here.scores - here.scores.mean() if l2 == 0 else here.scores  # the loss does not feel a shift
    return Solution(centred, here.extras, step, linear.how, gap, gap <= tol and left <= max(tol, MOST_ROUNDING))


def runs_away(rows: Rows, extras: Floats) -> bool:
    """Whether an unpenalised effect is on its way to infinity."""
    if rows.design is None:
        return False
    size = np.sqrt(np.mean(rows.design**2, axis=0))
    return bool(np.any(np.abs(extras[: len(size)]) * size > SEPARATES))


def warn_of_separation(columns: Sequence[str], design: Floats, extras: Floats, stacklevel: int) -> None:
    """Say so when a covariate or the side alone decides the votes: its effect has no finite optimum."""
    size = np.sqrt(np.mean(design**2, axis=0))
    for name, scale, effect in zip(columns, size, extras, strict=False):
        if name != "tie" and abs(effect) * scale > SEPARATES:
            what = "the side" if name == "side" else f"covariate {name.removeprefix('covariate:')!r}"
            warnings.warn(
                f"{what} separates the votes (almost) perfectly: its effect {effect:.3g} has no finite optimum; "
                "leave it out, or look for a leak",
                SeparationWarning,
                stacklevel=stacklevel + 1,
            )


def _longest(rows: Rows, du: Floats, de: Floats) -> float:
    """The largest change a step makes to a score, to the effect of side and covariates on a row, or to log ν."""
    p = 0 if rows.design is None else rows.design.shape[1]
    moved = [du, de[p:]] if rows.design is None else [du, rows.design @ de[:p], de[p:]]
    return max(float(np.max(np.abs(each), initial=0.0)) for each in moved)


def penalty_share(
    rows: Rows, loss: RowLoss, l2: float, scores: Floats, extras: Floats, kept: NDArray[np.bool_]
) -> float:
    """How far the penalty rules the scores that are `kept`: the share by which they would grow per e-fold less of it.

    The optimum moves by −H⁻¹·2·l2·u as log l2 grows; this is that movement along u. It is near 0 where the votes rule
    and 1 where nothing else does. Where the penalty is no longer small beside a single item's own votes it shrinks
    openly, as the user asked, and the answer is 0: this is about what adds up unseen over long ways.
    """
    point = evaluate(rows, loss, l2, scores, extras)
    own = np.zeros(rows.n)
    scatter_sum(rows.left, rows.right, point.curvature, own)
    deviations = scores[kept] - scores[kept].mean() if kept.any() else np.zeros(0)
    length = float(deviations @ deviations)
    if length == 0.0 or 2.0 * l2 > UNSEEN * float(np.median(own[kept])):
        return 0.0
    point.slopes, point.extra_slopes = 2.0 * l2 * scores, np.zeros(len(extras))
    moved, _ = _direction(point, LinearSolver(rows, 2.0 * l2), 1e-3)
    return -float(deviations @ moved[kept]) / length


def _gap(point: Point, votes: Floats) -> float:
    gap = float(np.max(np.abs(point.slopes) / _yardstick(votes)))
    if len(point.extra_slopes):
        gap = max(gap, float(np.max(np.abs(point.extra_slopes))) / (float(votes.sum()) / 2.0))
    return gap


def _yardstick(votes: Floats) -> Floats:
    """What a slope is measured by: the weight of the item's own votes, whatever unit weights are in."""
    return np.where(votes > 0.0, votes, 1.0)


def _direction(point: Point, linear: LinearSolver, accuracy: float) -> tuple[Floats, Floats]:
    """The Newton step, extras eliminated by their Schur complement."""
    solve = linear.factor(point.curvature, accuracy)
    through = solve(point.slopes)
    if point.border.shape[1] == 0:
        return -through, np.empty(0)
    across = np.column_stack([solve(np.ascontiguousarray(column)) for column in point.border.T])
    schur = point.corner - point.border.T @ across
    schur[np.diag_indices_from(schur)] += 1e-12 * np.abs(np.diag(point.corner)) + 1e-300
    de: Floats = np.linalg.solve(schur, point.border.T @ through - point.extra_slopes).astype(np.float64)
    return -through - across @ de, de


def _search(rows: Rows, loss: RowLoss, l2: float, here: Point, du: Floats, de: Floats) -> Point | None:
    expected = float(here.slopes @ du + here.extra_slopes @ de)
    length = min(1.0, 10.0 / max(float(np.max(np.abs(du), initial=0.0)), 1e-300))
    for _ in range(50):
        there = evaluate(rows, loss, l2, here.scores + length * du, here.extras + length * de)
        # The last steps change the objective by less than it can show; there the slopes decide.
        rounding = 1e-13 * abs(here.objective)
        if there.objective <= here.objective + 1e-4 * length * expected + rounding:
            return there
        length *= 0.5
    return None


class TooUnevenError(ConvergenceError, np.linalg.LinAlgError):
    """Rounding leaves no factor. For users the votes' weights are the cause; a caller may know better and go on."""


class LinearSolver:
    """Solves (Laplacian(curvature) + ridge·I) x = b on a fixed set of rows, in the way that suits its graph."""

    def __init__(self, rows: Rows, ridge: float, how: str | None = None) -> None:
        self.rows, self.ridge = rows, ridge
        self.order: NDArray[Any] | None = None
        self.firm: NDArray[Any] | None = None
        self.band = 0
        self.log_determinant = float("nan")  # of the matrix last factored; conjugate gradients do not know it
        if how is None and rows.n <= DENSE:
            how = "dense"
        widest = int(np.sqrt(BAND_FLOPS / max(rows.n, 1)))
        if how is None and self._is_wider(widest):
            how = "pcg"
        if how in (None, "banded"):
            self._find_band()
            how = how or ("banded" if self.band <= widest else "pcg")
        self.how = how or "pcg"

    def _is_wider(self, widest: int) -> bool:
        """Whether any order of the items has a wider band, seen by how many are near the item that met most.

        Whoever is k meetings away is at most k bands away, on either side. A few steps tell it of most graphs that are
        no chain, at a tenth of the cost of looking for an order.
        """
        left, right, n = self.rows.left, self.rows.right, self.rows.n
        if not len(left):
            return False
        near = np.zeros(n, dtype=bool)
        near[np.argmax(np.bincount(left, minlength=n) + np.bincount(right, minlength=n))] = True
        for away in range(1, LOOKS + 1):
            known = near[left] | near[right]
            near[left[known]] = near[right[known]] = True
            if np.count_nonzero(near) - 1 > 2 * away * widest:
                return True
        return False

    def _find_band(self) -> None:
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import reverse_cuthill_mckee

        r = self.rows
        graph = coo_array((np.ones(len(r.left)), (r.left, r.right)), shape=(r.n, r.n)).tocsr()
        graph = (graph + graph.T).tocsr()
        position = np.empty(r.n, dtype=np.int64)
        position[reverse_cuthill_mckee(graph, symmetric_mode=True)] = np.arange(r.n)
        self.order = position
        self.band = int(np.max(np.abs(position[r.left] - position[r.right])))

    def factor(self, curvature: Floats, accuracy: float) -> Callable[[Floats], Floats]:
        """Return a function that solves for a right-hand side, to a relative residual of `accuracy` when iterating."""
        diagonal = np.zeros(self.rows.n)
        scatter_sum(self.rows.left, self.rows.right, curvature, diagonal)
        mean = max(float(diagonal.mean()), 1e-300)
        if self.how == "pcg":
            ridge = max(self.ridge, 1e-12 * mean)
            return self._conjugate(curvature, diagonal + ridge, ridge, accuracy)
        try:
            return self._factored(curvature, diagonal, mean)
        except np.linalg.LinAlgError:
            raise TooUnevenError(
                "the weights of the votes differ too much for a solution; divide the largest, or raise ",
                Option("l2"),
            ) from None

    def _factored(self, curvature: Floats, diagonal: Floats, mean: float) -> Callable[[Floats], Floats]:
        solver = self._dense if self.how == "dense" else self._banded
        if self.ridge > 0:
            return solver(curvature, diagonal + max(self.ridge, 1e-16 * mean))
        # Without a penalty the shift of a component has no curvature. One item of each held fast makes the matrix
        # regular and leaves all differences as they are: a force that sums to zero needs nothing to hold it.
        held = diagonal + 1e-15 * mean
        held[self._one_of_each()] += mean
        try:
            return solver(curvature, held)
        except np.linalg.LinAlgError:  # a chance of exactly 0 or 1 has cut the graph
            return solver(curvature, diagonal + 1e-10 * mean)

    def _one_of_each(self) -> NDArray[Any]:
        """The first item of every component."""
        if self.firm is None:
            first = np.arange(self.rows.n, dtype=np.int32)
            left, right = (np.ascontiguousarray(side, np.int32) for side in (self.rows.left, self.rows.right))
            unite(left, right, first)
            self.firm = np.flatnonzero(first == np.arange(self.rows.n))
        return self.firm

    def _dense(self, curvature: Floats, diagonal: Floats) -> Callable[[Floats], Floats]:
        n = self.rows.n
        across = np.bincount(self.rows.left.astype(np.int64) * n + self.rows.right, curvature, n * n).reshape(n, n)
        matrix = np.diag(diagonal) - (across + across.T)
        lower = np.linalg.cholesky(matrix)
        self.log_determinant = 2.0 * float(np.log(np.diag(lower)).sum())

        def solve(rhs: Floats) -> Floats:
            solved = np.array(rhs, dtype=np.float64)
            solve_lower(lower, solved)  # SciPy's takes half a second to load
            return solved

        return solve

    def _banded(self, curvature: Floats, diagonal: Floats) -> Callable[[Floats], Floats]:
        from scipy.linalg import cho_solve_banded, cholesky_banded

        position, n = self.order, self.rows.n
        assert position is not None
        bands = np.zeros((self.band + 1, n))
        bands[0, position] = diagonal
        a, b = position[self.rows.left], position[self.rows.right]
        flat = np.abs(a - b) * n + np.minimum(a, b)
        bands -= np.bincount(flat, curvature, bands.size).reshape(bands.shape)
        factor = (cholesky_banded(bands, lower=True, overwrite_ab=True, check_finite=False), True)
        self.log_determinant = 2.0 * float(np.log(factor[0][0]).sum())

        def solve(rhs: Floats) -> Floats:
            moved = np.empty(n)
            moved[position] = rhs
            solved: Floats = np.asarray(cho_solve_banded(factor, moved, check_finite=False))[position]
            return solved

        return solve

    def _conjugate(
        self, curvature: Floats, diagonal: Floats, ridge: float, accuracy: float
    ) -> Callable[[Floats], Floats]:
        rows = self.rows

        def product(vector: Floats) -> Floats:
            out = ridge * vector
            laplacian_product(rows.left, rows.right, curvature, vector, out)
            return out

        most = 10 * rows.n
        return lambda rhs: conjugate_gradients(product, diagonal, rhs, accuracy=accuracy, most=most)[0]
