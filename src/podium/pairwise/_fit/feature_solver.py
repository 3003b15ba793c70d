"""Solver of rank aggregation with features: scores u = X w + r, with a penalty on the weights w and the residuals r.

    minimise  Σ_rows loss(u_left − u_right + z·e)  +  λ_w ‖w‖²  +  λ_r ‖r‖²

over w, r and unpenalised effects e: of the side, of per-vote covariates, and Davidson's tie parameter. The design with
one column per item and feature is never built: a product with the Hessian [X I]ᵀ L [X I] + diag(2λ_w, 2λ_r), L the
Laplacian of the rows' curvature, costs one pass over the rows and two products with X. Working in (w, r) rather than in
u with w eliminated leaves nothing to cancel, however large either penalty is. Newton's linear systems are solved

- directly, when n is small or the graph is a band: r eliminated by a factor of L + 2λ_r, then a d × d core;
- else by conjugate gradients, preconditioned with the same elimination where L is replaced by its diagonal D; the core
  is then 2λ_w I + Xᵀ 2λ_r D (D + 2λ_r)⁻¹ X (Woodbury).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.kernels.pairwise.bradley_terry import laplacian_product, scatter_difference, scatter_sum
from podium.kernels.pairwise.evidence import laplacian_columns
from podium.kernels.pairwise.rabf import logistic_by_item
from podium.pairwise._fit.likelihoods import LapseRows, LogisticRows, SquaredRows
from podium.pairwise._fit.solvers import DENSE, LinearSolver, RowLoss, Rows, evaluate

__all__ = ["FeatureProblem", "FeatureSolution", "Place", "newton_step", "row_basis", "solve_features"]

Floats = NDArray[np.float64]

MAX_CG_STEPS = 60  # conjugate gradient steps after which a banded factor is tried


@dataclass(frozen=True, slots=True)
class Place:
    """Where the parameters are."""

    weights: Floats
    residuals: Floats
    extras: Floats


@dataclass(frozen=True, slots=True)
class FeatureSolution:
    """Where the solver ended: the optimum if `converged`; `gap` is as in `solvers.Solution`."""

    place: Place
    curvature: Floats
    n_iter: int
    solver: str
    gap: float
    converged: bool


@dataclass(slots=True)
class _Point:
    """Derivatives of the loss, without penalties, at one place."""

    place: Place
    slopes: Floats  # along the scores
    curvature: Floats  # by row
    diagonal: Floats  # curvature summed by item
    extra_slopes: Floats
    border: Floats  # (n, p)
    corner: Floats  # (p, p)


@dataclass(slots=True)
class FeatureProblem:
    """Rows, loss and features of one set of votes. `votes` is the weight of each item's votes."""

    rows: Rows
    loss: RowLoss
    features: Floats
    votes: Floats
    linear: LinearSolver = field(init=False)
    looked: bool = field(init=False, default=False)

    def __post_init__(self) -> None:
        # Looking for a band costs more than most solutions; it is done when conjugate gradients turn out slow.
        self.linear = LinearSolver(self.rows, 0.0, "dense" if self.rows.n <= DENSE else "pcg")

    def scores(self, place: Place) -> Floats:
        """u = X w + r."""
        scores: Floats = self.features @ place.weights + place.residuals
        return scores

    def value(self, place: Place) -> float:
        """The loss without penalties."""
        return self.loss(self.rows.margin(self.scores(place), place.extras), place.extras)[0]

    def objective(self, place: Place, penalties: tuple[float, float]) -> float:
        """The loss with penalties."""
        w, r = place.weights, place.residuals
        return self.value(place) + float(penalties[0] * w @ w + penalties[1] * r @ r)

    def evaluate(self, place: Place) -> _Point:
        """Slopes and curvature of the loss."""
        r, n = self.rows, self.rows.n
        slopes, diagonal, scores = np.zeros(n), np.zeros(n), self.scores(place)
        if isinstance(self.loss, LogisticRows) and r.design is None and r.offset is None:
            curvature = np.empty(len(r.left))
            logistic_by_item(r.left, r.right, self.loss.points, self.loss.total, scores, curvature, slopes, diagonal)
            return _Point(place, slopes, curvature, diagonal, np.empty(0), np.empty((n, 0)), np.empty((0, 0)))
        point = evaluate(r, self.loss, 0.0, scores, place.extras)
        scatter_sum(r.left, r.right, point.curvature, diagonal)
        return _Point(place, point.slopes, point.curvature, diagonal, point.extra_slopes, point.border, point.corner)

    @property
    def extras(self) -> int:
        """How many unpenalised parameters there are: effects of side and covariates, and those of the loss."""
        return self.loss.own + (0 if self.rows.design is None else self.rows.design.shape[1])

    def system(self, curvature: Floats, diagonal: Floats, penalties: tuple[float, float]) -> _System:
        """The linear system of a Newton step at this curvature."""
        self.linear.ridge = 2.0 * penalties[1]
        kind = _Iterative if self.linear.how == "pcg" else _Direct
        return kind(self, self.linear, curvature, diagonal, penalties)

    def preconditioner(self, curvature: Floats, diagonal: Floats, penalties: tuple[float, float]) -> _Iterative:
        """The system with L replaced by its diagonal, whose inverse is known in parts."""
        return _Iterative(self, self.linear, curvature, diagonal, penalties)

    def notice(self, system: _System) -> None:
        """Look for a band when conjugate gradients were slow."""
        if system.steps > MAX_CG_STEPS and not self.looked:
            self.looked = True
            self.linear = LinearSolver(self.rows, self.linear.ridge)


def row_basis(matrix: Floats) -> Floats:
    """Orthonormal columns that span the rows of a wide matrix.

    With more features than items the best weights are a mix of the items' rows, and so many unknowns are enough.
    """
    _, sizes, rows = np.linalg.svd(matrix, full_matrices=False)
    kept = sizes > 1e-12 * max(float(sizes.max(initial=0.0)), 1e-300)
    return np.ascontiguousarray(rows[kept].T)


def solve_features(
    problem: FeatureProblem,
    penalties: tuple[float, float],
    tol: float,
    max_iter: int,
    start: Place | None = None,
) -> FeatureSolution:
    """Newton's method; `penalties` are (λ_w, λ_r), both positive."""
    n, d = problem.features.shape
    p = problem.extras
    point = problem.evaluate(start or Place(np.zeros(d), np.zeros(n), np.zeros(p)))
    per_feature = problem.votes @ np.abs(problem.features) / 2.0
    scale = np.concatenate(
        [
            np.where(per_feature > 0, per_feature, np.inf),
            np.maximum(problem.votes, 1.0),
            np.full(p, max(float(problem.votes.sum()) / 2.0, 1.0)),
        ]
    )
    if isinstance(problem.loss, SquaredRows):  # margins are in a unit of their own
        unit = math.sqrt(float(problem.loss.total @ problem.loss.target**2) / float(problem.loss.total.sum()))
        scale = scale * (unit or 1.0)
    how = ""
    for step in range(max_iter + 1):
        gradient = _gradient(problem, point, penalties)
        gap = float(np.max(np.abs(gradient) / scale))
        if step == max_iter or gap <= 1e-3 * tol:  # convergence is quadratic: asking for more costs a step at most
            break
        system = problem.system(point.curvature, point.diagonal, penalties)
        how = system.how
        # Inexact Newton: solve only as well as this far from the optimum deserves.
        move = _with_extras(problem, system, (point.border, point.corner), -gradient, min(0.1, gap))
        problem.notice(system)
        found = _walk(problem, point, penalties, gradient, move)
        if found is None:  # no descent in floating point: as good as it gets
            break
        point = found
    return FeatureSolution(point.place, point.curvature, step, how or "none", gap, gap <= tol)


def _gradient(problem: FeatureProblem, point: _Point, penalties: tuple[float, float]) -> Floats:
    at = point.place
    return np.concatenate(
        [
            problem.features.T @ point.slopes + 2.0 * (penalties[0] * at.weights),
            point.slopes + 2.0 * (penalties[1] * at.residuals),
            point.extra_slopes,
        ]
    )


def newton_step(problem: FeatureProblem, system: _System, curvature: Floats, force: Floats, accuracy: float) -> Floats:
    """The Newton step for a loss without parameters of its own, from the curvature of its rows."""
    rows = problem.rows
    design = np.empty((len(curvature), 0)) if rows.design is None else rows.design
    weighted = curvature[:, None] * design
    border = np.zeros((design.shape[1], rows.n))
    for out, column in zip(border, weighted.T, strict=True):
        scatter_difference(rows.left, rows.right, np.ascontiguousarray(column), out)
    return _with_extras(problem, system, (border.T, design.T @ weighted), force, accuracy)


def _with_extras(
    problem: FeatureProblem, system: _System, effects: tuple[Floats, Floats], force: Floats, accuracy: float
) -> Floats:
    """The Newton step; unpenalised effects, with this border and corner, are eliminated by their Schur complement."""
    size = sum(problem.features.shape)
    through = system.solve(force[:size], accuracy)
    if len(force) == size:
        return through
    border, corner = np.vstack([problem.features.T @ effects[0], effects[0]]), effects[1]
    across = np.column_stack([system.solve(column, 1e-2 * accuracy) for column in border.T])
    schur = corner - border.T @ across
    schur[np.diag_indices_from(schur)] += 1e-12 * (1.0 + np.abs(np.diag(corner)))
    extras = np.linalg.solve(schur, force[size:] - border.T @ through)
    return np.concatenate([through - across @ extras, extras])


def _walk(
    problem: FeatureProblem, here: _Point, penalties: tuple[float, float], gradient: Floats, move: Floats
) -> _Point | None:
    """Go along `move`, by slopes alone: on a convex loss a place that still slopes down, or almost level, is lower.

    On a loss that is not convex the value is looked at too.
    """
    hilly = isinstance(problem.loss, LapseRows)
    most = problem.objective(here.place, penalties) * (1.0 + 1e-13) if hilly else np.inf
    d, n = len(here.place.weights), len(here.place.residuals)
    moves = Place(move[:d], move[d : d + n], move[d + n :])
    falling = float(gradient @ move)
    if not falling < 0.0:
        return None
    length = 1.0
    if not isinstance(problem.loss, SquaredRows):  # there a step is exact, whatever unit margins are in
        length = min(1.0, 10.0 / max(float(np.max(np.abs(problem.scores(moves)), initial=0.0)), 1e-300))
    for _ in range(50):
        at = here.place
        there = problem.evaluate(
            Place(
                at.weights + length * moves.weights,
                at.residuals + length * moves.residuals,
                at.extras + length * moves.extras,
            )
        )
        slope = float(_gradient(problem, there, penalties) @ move)
        if slope <= 0.5 * abs(falling) and (not hilly or problem.objective(there.place, penalties) <= most):
            return there
        length *= min(0.5, falling / (falling - slope)) if slope > 0 else 0.5
    return None


# ---- linear systems -------------------------------------------------------------------------------------------


class _System:
    """([X I]ᵀ L [X I] + diag(2λ_w, 2λ_r)) (a, b) = force, vectors holding w before r."""

    def __init__(
        self,
        problem: FeatureProblem,
        linear: LinearSolver,
        curvature: Floats,
        diagonal: Floats,
        penalties: tuple[float, float],
    ) -> None:
        self.rows, self.features, self.how = problem.rows, problem.features, linear.how
        self.curvature, self.diagonal = curvature, diagonal
        self.ridges = 2.0 * penalties[0], 2.0 * penalties[1]
        self.steps = 0  # of conjugate gradients, in all
        self._prepare(linear)

    def _prepare(self, linear: LinearSolver) -> None:
        raise NotImplementedError

    def solve(self, force: Floats, accuracy: float) -> Floats:
        """Solve, to a relative residual of `accuracy` when iterating."""
        raise NotImplementedError

    def solve_columns(self, forces: Floats, accuracy: float) -> Floats:
        """Solve for several right-hand sides, the columns of `forces`."""
        return np.column_stack([self.solve(np.ascontiguousarray(force), accuracy) for force in forces.T])

    def laplacian(self, vector: Floats) -> Floats:
        """L times a vector."""
        out = np.zeros(self.rows.n)
        laplacian_product(self.rows.left, self.rows.right, self.curvature, vector, out)
        return out


class _Direct(_System):
    """By a dense or banded factor of L + 2λ_r."""

    def _prepare(self, linear: LinearSolver) -> None:
        self.factored = linear.factor(self.curvature, 0.0)
        x = self.features
        columns = [self.laplacian(self.factored(np.ascontiguousarray(column))) for column in x.T]
        self.through = np.column_stack(columns) if columns else np.empty_like(x)  # L (L + 2λ_r)⁻¹ X
        core = self.ridges[1] * (x.T @ self.through)
        self.core = _factor(0.5 * (core + core.T), self.ridges[0])

    def solve(self, force: Floats, accuracy: float) -> Floats:
        d = self.features.shape[1]
        weights = _solve_core(self.core, force[:d] - self.through.T @ force[d:])
        return np.concatenate([weights, self.factored(force[d:]) - self.through @ weights])


class _Iterative(_System):
    """By conjugate gradients."""

    def _prepare(self, linear: LinearSolver) -> None:
        x = self.features
        self.held = self.diagonal + self.ridges[1]
        self.share = self.diagonal / self.held
        core = self.ridges[1] * (x.T @ (self.share[:, None] * x))
        self.core = _factor(core, self.ridges[0])

    def product(self, vector: Floats) -> Floats:
        """The matrix times a vector."""
        d = self.features.shape[1]
        flow = self.laplacian(self.features @ vector[:d] + vector[d:])
        return np.concatenate([self.features.T @ flow, flow]) + self._ridge(vector)

    def _ridge(self, vector: Floats) -> Floats:
        d = self.features.shape[1]
        return np.concatenate([self.ridges[0] * vector[:d], self.ridges[1] * vector[d:]])

    def precondition(self, force: Floats) -> Floats:
        """Solve with L replaced by its diagonal."""
        d = self.features.shape[1]
        weights = _solve_core(self.core, force[:d] - self.features.T @ (self.share * force[d:]))
        return np.concatenate([weights, force[d:] / self.held - self.share * (self.features @ weights)])

    def solve(self, force: Floats, accuracy: float) -> Floats:
        x, residual = np.zeros_like(force), force.copy()
        z = self.precondition(residual)
        search, rho = z, float(residual @ z)
        enough = max(accuracy, 1e-13) ** 2 * rho
        for _ in range(10 * len(force)):
            if rho <= enough:
                break
            self.steps += 1
            image = self.product(search)
            length = rho / float(search @ image)
            x += length * search
            residual -= length * image
            z = self.precondition(residual)
            rho, old = float(residual @ z), rho
            search = z + (rho / old) * search
        return x

    def solve_columns(self, forces: Floats, accuracy: float) -> Floats:
        """The same recurrence for all columns at once, until the slowest is done."""
        x, residual = np.zeros_like(forces), forces.copy()
        z = self.precondition_columns(residual)
        search, rho = z, np.einsum("ij,ij->j", residual, z)
        enough = max(accuracy, 1e-13) ** 2 * rho
        d = self.features.shape[1]
        for _ in range(10 * len(forces)):
            if (rho <= enough).all():
                break
            self.steps += forces.shape[1]
            flow = np.zeros((self.rows.n, forces.shape[1]))
            laplacian_columns(
                self.rows.left, self.rows.right, self.curvature,
                np.ascontiguousarray(self.features @ search[:d] + search[d:]), flow,
            )  # fmt: skip
            image = np.vstack(
                [self.features.T @ flow + self.ridges[0] * search[:d], flow + self.ridges[1] * search[d:]]
            )
            bend = np.einsum("ij,ij->j", search, image)
            length = np.divide(rho, bend, out=np.zeros_like(rho), where=bend > 0.0)
            x += length * search
            residual -= length * image
            z = self.precondition_columns(residual)
            rho, old = np.einsum("ij,ij->j", residual, z), rho
            search = z + np.divide(rho, old, out=np.zeros_like(rho), where=old > 0.0) * search
        return x

    def precondition_columns(self, forces: Floats) -> Floats:
        """Solve with L replaced by its diagonal, for several right-hand sides."""
        d = self.features.shape[1]
        share, held = self.share[:, None], self.held[:, None]
        weights = _solve_core(self.core, forces[:d] - self.features.T @ (share * forces[d:]))
        return np.vstack([weights, forces[d:] / held - share * (self.features @ weights)])

    def traces(self) -> tuple[float, float]:
        """Traces of the two blocks, of w and of r, of the preconditioner's inverse."""
        back = np.linalg.inv(self.core)
        along = (self.share[:, None] * self.features) @ back.T
        return float(np.sum(back**2)), float(np.sum(1.0 / self.held) + np.sum(along**2))

    def squared_share(self) -> float:
        """‖I − 2λ_w (M⁻¹)_ww‖² for the preconditioner M: how many weights the votes know."""
        back = np.linalg.inv(self.core)
        return float(np.sum((np.eye(len(back)) - self.ridges[0] * (back.T @ back)) ** 2))


def _factor(core: Floats, ridge: float) -> Floats:
    """Cholesky factor of core + ridge, with what rounding may have taken from a singular core put back."""
    lift = ridge + 1e-14 * len(core) * float(np.diag(core).max(initial=0.0))
    return np.asarray(np.linalg.cholesky(core + lift * np.eye(len(core))), dtype=np.float64)


def _solve_core(lower: NDArray[Any], force: Floats) -> Floats:
    if not len(force):
        return force
    from scipy.linalg import cho_solve

    return np.asarray(cho_solve((lower, True), force, check_finite=False), dtype=np.float64)
