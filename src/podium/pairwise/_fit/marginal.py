"""Scores under judges who differ: the optimum of the likelihood with the judges integrated out.

Minimises  −log-likelihood + l2·‖s‖²  over the scores and those of the extras (mean lean μ, standard deviations τ of the
slopes and ω of the leans) that are free. The standard deviations are searched on a log scale. Up to `MAX_DENSE_ITEMS`
items it is Newton's method in all of them at once; beyond, Newton in the scores by conjugate gradients, and an outer
search in the extras.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from podium.kernels.pairwise.bradley_terry import laplacian_product, scatter_difference
from podium.numeric import conjugate_gradients
from podium.pairwise._fit.judges import EXTRAS, Integral, JudgeVotes, integrate
from podium.pairwise._fit.solvers import SEPARATES

__all__ = ["LEAN", "LEAN_SD", "SLOPE_SD", "JudgeFit", "fit_judges"]

Floats = NDArray[np.float64]

LEAN, SLOPE_SD, LEAN_SD = range(EXTRAS)
MAX_DENSE_ITEMS = 2000
MAX_DENSE_WORK = 3e8  # of adding up the matrix of one evaluation, for each node
MIN_SD, MAX_SD = 0.02, 5.0  # of slopes and leans; less is none
MAX_STEP = np.array([4.0, 1.0])  # of a score or a lean, and of the log of a standard deviation
HALVINGS = 30
MAX_ESCAPES = 2  # from saddles
ROUNDING = 1e-9  # of the objective
STILL, MAX_MOVING = 0.01, 40  # steps, in log-odds, from which the nodes of the quadrature stay; at the latest then


@dataclass(frozen=True, slots=True)
class JudgeFit:
    """Where the search ended: the optimum if `converged`. `left` is the last step, in log-odds."""

    scores: Floats
    extras: Floats
    objective: float
    integral: Integral
    n_iter: int
    left: float
    converged: bool


def fit_judges(
    votes: JudgeVotes,
    l2: float,
    *,
    scores: Floats,
    extras: Floats,
    free: tuple[int, ...],
    tol: float,
    max_iter: int,
    centre: Floats | None = None,
) -> JudgeFit:
    """Go to the optimum from these scores and extras, of which those numbered in `free` are searched for."""
    dense = votes.n <= MAX_DENSE_ITEMS and votes.dense_work <= MAX_DENSE_WORK
    search = (_Newton if dense else _Profile)(votes, l2, free, centre)
    return search.run(scores, np.asarray(extras, dtype=np.float64), tol, max_iter)


class _Newton:
    """Newton's method in scores and free extras at once, with Louis' Hessian as a matrix."""

    def __init__(self, votes: JudgeVotes, l2: float, free: tuple[int, ...], centre: Floats | None) -> None:
        self.votes, self.l2, self.n, self.centre = votes, l2, votes.n, centre
        self.free = np.array(free, dtype=np.intp)
        self.definite = True  # whether the Hessian was positive definite when last seen
        self.promised = math.inf  # by how much the last step was to lower the objective

    def run(self, scores: Floats, extras: Floats, tol: float, max_iter: int) -> JudgeFit:
        """Go on until a step is shorter than `tol`.

        While steps are long the nodes of the quadrature follow; then they stay, so that one function is minimised.
        """
        here, value = self._at(scores, extras)
        step, left, escapes = 0, math.inf, 0
        while step < max_iter and (left > tol or (not self.definite and escapes < MAX_ESCAPES)):
            move = self._direction(here) if left > tol else self._escape(here)
            escapes += left <= tol
            there = self._search(here, value, move)
            if there is None:  # no descent in floating point: as good as it gets
                left = 0.0 if self.promised <= ROUNDING * abs(value) else float(np.abs(move).max())
                break
            before = here
            here, value = there
            left, step = _longest(before, here), step + 1
            if left > STILL and step < MAX_MOVING:
                here, value = self._at(here.scores, here.extras, near=here)
            if abs(here.extras[LEAN]) > SEPARATES:  # for ever: every step finds the votes likelier
                left = 0.0
        return JudgeFit(here.scores, here.extras, value, here, step, left, left <= tol)

    def _at(self, scores: Floats, extras: Floats, **nodes: Integral) -> tuple[Integral, float]:
        found = integrate(self.votes, scores, extras, dense=True, centre=self.centre, **nodes)
        return found, self.l2 * float(scores @ scores) - found.log_likelihood

    def _direction(self, here: Integral) -> Floats:
        """Newton's step; where the Hessian is not positive definite, that of the Hessian with the judges known."""
        n, unit = self.n, _units(here.extras)
        down, complete = here.slopes_of_loss(), here.complete_hessian()
        down[:n] += 2.0 * self.l2 * here.scores
        kept = np.concatenate([np.arange(n), n + self.free[~self._stuck(here.extras, down)]])
        scale = np.concatenate([np.ones(n), unit])
        slopes = down * scale
        # On a log scale the second derivative gains τ times the first.
        more = np.concatenate([np.full(n, 2.0 * self.l2), np.array([0.0, *slopes[n + 1 :]])])
        firm = complete[:n, :n].diagonal().mean() / n
        for hessian in (complete - here.variance, complete):
            matrix = hessian * scale * scale[:, None] + np.diag(more)
            matrix[:n, :n] += firm  # the shift that the votes do not feel; they do not push it either
            if hessian is complete:  # of scores and lean it is positive definite
                for k in range(n + 1, n + EXTRAS):
                    matrix[k, :k] = matrix[:k, k] = 0.0
                    matrix[k, k + 1 :] = matrix[k + 1 :, k] = 0.0
                    matrix[k, k] = abs(matrix[k, k]) + 1.0
            matrix = matrix[np.ix_(kept, kept)]
            try:
                factor = np.linalg.cholesky(matrix + 1e-12 * np.diag(matrix.diagonal()))
            except np.linalg.LinAlgError:
                continue
            self.definite = hessian is not complete
            move = np.zeros(n + EXTRAS)
            move[kept] = -_solved(factor, slopes[kept])
            self.promised = -0.5 * float(slopes @ move)
            return move
        downhill: Floats = -slopes / (1.0 + np.abs(slopes))
        return downhill

    def _escape(self, here: Integral) -> Floats:
        """From a saddle, where judges who contradict each other cancel out: along the steepest way down."""
        hessian = here.hessian()[: self.n, : self.n]
        values, vectors = np.linalg.eigh(hessian + 2.0 * self.l2 * np.eye(self.n))
        way = vectors[:, int(values.argmin())]
        return np.concatenate([way * np.sign(way[np.abs(way).argmax()]), np.zeros(EXTRAS)])

    def _stuck(self, extras: Floats, down: Floats) -> NDArray[np.bool_]:
        """Free standard deviations at an end of their range, pushed beyond."""
        value, push = extras[self.free], down[self.n + self.free]
        outside = ((value <= MIN_SD) & (push > 0)) | ((value >= MAX_SD) & (push < 0))
        stuck: NDArray[np.bool_] = outside & (self.free != LEAN)
        return stuck

    def _search(self, here: Integral, value: float, move: Floats) -> tuple[Integral, float] | None:
        n = self.n
        most = np.concatenate([np.full(n + 1, MAX_STEP[0]), np.full(EXTRAS - 1, MAX_STEP[1])])
        share = min(1.0, float(np.min(most / np.maximum(np.abs(move), 1e-300))))
        for _ in range(HALVINGS):
            extras = _moved(here.extras, share * move[n:])
            there, then = self._at(here.scores + share * move[:n], extras, nodes=here)
            if then < value or (then <= value + 1e-12 * abs(value) and share == 1.0):
                return there, then
            share *= 0.5
        return None


class _Profile:
    """Newton by conjugate gradients in the scores, inside a search in the free extras."""

    def __init__(self, votes: JudgeVotes, l2: float, free: tuple[int, ...], centre: Floats | None) -> None:
        self.votes, self.l2, self.free, self.centre = votes, l2, list(free), centre
        self.steps = 0

    def run(self, scores: Floats, extras: Floats, tol: float, max_iter: int) -> JudgeFit:
        """The best extras, each with the best scores for it."""
        from scipy.optimize import minimize

        best = self._scores(scores, extras, tol if not self.free else 1e-3, max_iter)
        if not self.free:
            return best

        def profile(point: Floats) -> tuple[float, Floats]:
            nonlocal best
            at = extras.copy()
            at[self.free] = [x if k == LEAN else math.exp(x) for k, x in zip(self.free, point, strict=True)]
            best = self._scores(best.scores, at, 1e-4, max_iter, best.integral)
            down = best.integral.slopes_of_loss()[self.votes.n :] * _units(at)
            return best.objective, down[self.free]

        ends = [(-5.0, 5.0) if k == LEAN else (math.log(MIN_SD), math.log(MAX_SD)) for k in self.free]
        start = [extras[k] if k == LEAN else math.log(max(extras[k], MIN_SD)) for k in self.free]
        found = minimize(
            profile, start, jac=True, method="L-BFGS-B", bounds=ends, options={"ftol": 1e-12, "gtol": 1e-4}
        )
        profile(found.x)
        return self._scores(best.scores, best.extras, tol, max_iter, best.integral)

    def _scores(
        self, scores: Floats, extras: Floats, tol: float, max_iter: int, near: Integral | None = None
    ) -> JudgeFit:
        here = self._at(scores, extras, near=near)
        value = self.l2 * float(scores @ scores) - here.log_likelihood
        left, step = math.inf, 0
        while left > tol and step < max_iter:
            move = self._direction(here)
            share = min(1.0, MAX_STEP[0] / max(float(np.abs(move).max()), 1e-300))
            for _ in range(HALVINGS):
                there = self._at(here.scores + share * move, extras, nodes=here)
                then = self.l2 * float(there.scores @ there.scores) - there.log_likelihood
                if then <= value + 1e-12 * abs(value):
                    break
                share *= 0.5
            else:
                left = min(left, 1e-3)
                break
            left, here, value, step = share * float(np.abs(move).max()), there, then, step + 1
            if left > STILL and step < MAX_MOVING:
                here = self._at(here.scores, extras, near=here)
                value = self.l2 * float(here.scores @ here.scores) - here.log_likelihood
        self.steps += step
        return JudgeFit(here.scores, extras, value, here, self.steps, left, left <= max(tol, 1e-3))

    def _at(self, scores: Floats, extras: Floats, **nodes: Integral | None) -> Integral:
        return integrate(self.votes, scores, extras, dense=False, centre=self.centre, **nodes)

    def _direction(self, here: Integral) -> Floats:
        """Newton's step, the variance of each judge's gradient taken to first order in slope and lean."""
        v, n = self.votes, self.votes.n
        down = here.slopes_of_loss()[:n] + 2.0 * self.l2 * here.scores
        gap = here.scores[v.left] - here.scores[v.right]
        bend = np.ascontiguousarray(here.curvature[:, 0])
        along = np.stack(
            [
                here.extras[SLOPE_SD] * (here.gradient[:, 1] - gap * here.curvature[:, 1]),
                -here.extras[LEAN_SD] * here.curvature[:, 1],
            ]
        )
        judge = v.judge
        var, both, other = here.moments[:, 2:].T
        diagonal = np.bincount(v.left, bend, n) + np.bincount(v.right, bend, n) + 2.0 * self.l2 + 1e-12

        def product(vector: Floats, judged: bool = True) -> Floats:
            out = 2.0 * self.l2 * vector
            laplacian_product(v.left, v.right, bend, vector, out)
            if judged:
                apart = vector[v.left] - vector[v.right]
                one, two = (np.bincount(judge, each * apart, v.judges) for each in along)
                back = along[0] * (var * one + both * two)[judge] + along[1] * (both * one + other * two)[judge]
                scatter_difference(v.left, v.right, np.ascontiguousarray(-back), out)
            return out

        with np.errstate(all="ignore"):  # where the matrix is not positive definite
            move, _ = conjugate_gradients(product, diagonal, -down, accuracy=1e-4, most=500)
        if not np.isfinite(move).all() or float(move @ down) >= 0.0:
            move, _ = conjugate_gradients(lambda x: product(x, False), diagonal, -down, accuracy=1e-4, most=500)
        return move


def _units(extras: Floats) -> Floats:
    """Derivative of the extras along what is searched: the lean itself, the logs of the standard deviations."""
    return np.array([1.0, *extras[1:]])


def _moved(extras: Floats, move: Floats) -> Floats:
    """Extras after a step on the scale that is searched."""
    sds = np.where(move[1:] == 0.0, extras[1:], np.clip(extras[1:] * np.exp(move[1:]), MIN_SD, MAX_SD))
    return np.array([extras[0] + move[0], *sds])


def _longest(before: Integral, after: Integral) -> float:
    """The longest change of a score or an extra."""
    return float(max(np.abs(after.scores - before.scores).max(), np.abs(after.extras - before.extras).max()))


def _solved(factor: Floats, rhs: Floats) -> Floats:
    from scipy.linalg import cho_solve

    return np.asarray(cho_solve((factor, True), rhs, check_finite=False))
