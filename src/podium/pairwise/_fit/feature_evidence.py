"""What the votes say about the two penalties of rank aggregation with features: the evidence and its slope.

Penalties are those of a random-effects model, w ~ N(0, s_w²) and r ~ N(0, s_r²), s² = 1/(2λ). The scores u = X w + r
then have the prior covariance P = s_w² XXᵀ + s_r² I, and with J the penalised loss at its optimum, L the Laplacian of
the rows' curvature, and x the logarithms of the two standard deviations

    F(x) = −J − ½ log det(I + PL) − ½ |x − centre|² + δ

is Laplace's approximation of the log of the marginal likelihood, a weak prior, and the terms δ of second order (see
`prior`, of which this is the form with features). The squared loss has an unknown noise variance, whose best value is
J/N for N votes, and −N/2 log J takes the place of −J; nothing else is approximate then.

Along the optimum, with γ the degrees of freedom that the votes take of each part, d − 2λ_w tr V_ww and
n − 2λ_r tr V_rr, a the derivative of log det along the scores and du what the scores move by,

    F′ = 2λ‖·‖² − γ − (x − centre) − ½ aᵀdu + δ′.

F′ = 0 without its last three terms is the fixed point of Fellner and Schall (1991). The expected information about x is
½ tr(C dP C dP) with C = L − LVL, which says how far a step should go and how sharp the evidence is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from podium.pairwise._fit.feature_solver import FeatureProblem, Place
from podium.pairwise._fit.likelihoods import DavidsonRows, LogisticRows, SquaredRows
from podium.pairwise._fit.prior import NEGLIGIBLE, contract_davidson
from podium.pairwise._fit.solvers import Rows, evaluate

__all__ = ["DenseEvidence", "Evidence", "Posterior", "derivatives", "inverse_of", "noise_unit", "prior_centre"]

Floats = NDArray[np.float64]

STEP = 1e-4  # of log s, for derivatives of δ


@dataclass(frozen=True, slots=True)
class Evidence:
    """F and what follows from it at one pair of penalties; `value` is NaN where it is not known."""

    value: float
    slope: Floats  # F′ along (log s_w, log s_r)
    information: Floats  # (2, 2), of the votes and the prior about them


def prior_centre(problem: FeatureProblem) -> Floats:
    """Where the weak prior of (log s_w, log s_r) is centred.

    The features' part in the scores, and the residual, have a standard deviation of 1 there: in log-odds, or with the
    squared loss in standard deviations of the votes' noise.
    """
    part = math.sqrt(max(float(problem.features.var(axis=0).sum()), 1e-300))
    unit = math.sqrt(0.5) if isinstance(problem.loss, SquaredRows) else 1.0
    return np.log([unit / part, unit])


def noise_unit(problem: FeatureProblem, place: Place, penalty: float) -> tuple[float, float]:
    """What makes the loss a −log likelihood, 1 or one over twice the noise variance; and that, with the penalty."""
    penalised = problem.value(place) + penalty
    if not isinstance(problem.loss, SquaredRows):
        return 1.0, penalised
    votes = float(problem.loss.total.sum())
    return 0.5 * votes / max(penalised, 1e-300), 0.5 * votes * math.log(max(penalised, 1e-300))


class DenseEvidence:
    """The evidence by n × n matrices.

    With XᵀX = Z diag(h) Zᵀ and Y = XZ the prior covariance P = s_w² XXᵀ + s_r² I has the inverse
    (I − Y diag(1/(h + κ)) Yᵀ)/s_r², κ = s_r²/s_w², so that V = (L + P⁻¹)⁻¹ takes one Cholesky factor and its inverse.
    """

    def __init__(self, problem: FeatureProblem) -> None:
        self.problem = problem
        values, axes = np.linalg.eigh(problem.features.T @ problem.features)
        self.values: Floats = np.maximum(values, 0.0)
        self.turned: Floats = problem.features @ axes
        self.centre = prior_centre(problem)

    def at(self, x: Floats, place: Place, slopes: bool = True) -> Evidence:
        """F at the logarithms x of (s_w, s_r), whose optimum is `place`."""
        problem, (feature, residual) = self.problem, np.exp(2.0 * x)
        scores, parts = problem.scores(place), self._parts(place, x)
        posterior = Posterior(self, feature, residual, scores, place.extras)
        unit, penalised = noise_unit(problem, place, 0.5 * float(parts.sum()))
        off = x - self.centre
        value = -penalised - 0.5 * posterior.log_determinant - 0.5 * float(off @ off) + posterior.second_order
        if not slopes:
            return Evidence(value, np.full(2, np.nan), np.eye(2))
        moved = tuple(posterior.along(part) for part in (problem.features @ place.weights, place.residuals))
        bend = np.array([posterior.turning(scores_moved, extras_moved) for scores_moved, extras_moved in moved])
        second = np.zeros(2)
        if abs(posterior.second_order) > NEGLIGIBLE * len(scores):
            for k, (scores_moved, extras_moved) in enumerate(moved):
                ahead = np.exp(2.0 * (x + STEP * (np.arange(2) == k)))
                there = scores + STEP * scores_moved, place.extras + STEP * extras_moved
                other = Posterior(self, ahead[0], ahead[1], *there)
                second[k] = (other.second_order - posterior.second_order) / STEP
        slope = unit * parts - posterior.freedom - off - 0.5 * bend + second
        return Evidence(value, slope, posterior.information + np.eye(2))

    def _parts(self, place: Place, x: Floats) -> Floats:
        """‖w‖²/s_w² and ‖r‖²/s_r²."""
        squares = np.array([place.weights @ place.weights, place.residuals @ place.residuals])
        shares: Floats = squares * np.exp(-2.0 * x)
        return shares


class Posterior:
    """The covariance of scores and effects at one place, and what the rows' higher derivatives make of it."""

    def __init__(self, dense: DenseEvidence, feature: float, residual: float, scores: Floats, extras: Floats) -> None:
        self.dense, self.parts = dense, (feature, residual)
        problem = dense.problem
        rows, n = problem.rows, problem.rows.n
        margin = rows.margin(scores, extras)
        curvature, third, fourth = derivatives(problem.loss, margin, extras)
        across = np.bincount(rows.left.astype(np.int64) * n + rows.right, curvature, n * n).reshape(n, n)
        matrix: Floats = -(across + across.T).astype(np.float64)
        matrix[np.diag_indices(n)] -= matrix.sum(axis=1)
        self.shrink: Floats = 1.0 / (dense.values + residual / feature)
        matrix -= (dense.turned * (self.shrink / residual)) @ dense.turned.T
        matrix[np.diag_indices(n)] += 1.0 / residual
        self.covariance, log_determinant = inverse_of(matrix)
        grown = float(np.log1p(dense.values * (feature / residual)).sum())
        self.log_determinant = log_determinant + n * math.log(residual) + grown  # of I + PL
        self.border, self.corner = np.empty((n, 0)), np.empty((0, 0))
        if problem.extras:
            point = evaluate(rows, problem.loss, 0.0, scores, extras)
            self.border, self.corner = point.border, point.corner
        self._profile()
        whole = self.covariance
        seen = self._seen(rows, whole)
        if isinstance(problem.loss, DavidsonRows):
            pushed, quartic = contract_davidson(problem.loss, margin, extras[-1], seen)
        else:
            pushed, quartic = (third * seen[0, 0])[None], float(fourth @ seen[0, 0] ** 2)
        push = np.bincount(rows.left, pushed[0], n) - np.bincount(rows.right, pushed[0], n)
        effects = [] if rows.design is None else [rows.design.T @ pushed[0]]
        own = np.concatenate([*effects, pushed[1:].sum(axis=1)])
        self.push = push, own
        size = float(push @ whole @ push)
        if len(own):
            size += 2.0 * float(push @ self.across @ own) + float(own @ self.effects @ own)
        self.second_order = (size - quartic) / 8.0  # δ

    def _seen(self, rows: Rows, whole: Floats) -> Floats:
        """Covariance of each row's margin, and of the loss's own parameter if it has one: (coordinates, same, rows)."""
        own = self.dense.problem.loss.own
        design = np.empty((len(rows.left), 0)) if rows.design is None else rows.design
        p = design.shape[1]
        variance = whole.diagonal()
        gaps = variance[rows.left] + variance[rows.right] - 2.0 * whole[rows.left, rows.right]
        covariance = np.zeros((1 + own, 1 + own, len(gaps)))
        if p + own:
            apart = self.across[rows.left] - self.across[rows.right]
            gaps = gaps + 2.0 * np.einsum("kp,kp->k", design, apart[:, :p])
            gaps = gaps + np.einsum("kp,pq,kq->k", design, self.effects[:p, :p], design)
            if own:
                covariance[0, 1] = covariance[1, 0] = apart[:, -1] + design @ self.effects[:p, -1]
                covariance[1, 1] = self.effects[-1, -1]
        covariance[0, 0] = gaps
        return covariance

    def _profile(self) -> None:
        """Let the effects, which have no prior, widen the scores' covariance."""
        p, n = len(self.corner), len(self.covariance)
        self.across, self.effects = np.empty((n, p)), np.empty((p, p))
        if p == 0:
            return
        through = self.covariance @ self.border
        schur = self.corner - self.border.T @ through
        # An effect that separates the votes has hardly any curvature left, and less than rounding takes.
        schur[np.diag_indices(p)] += 1e-9 * np.abs(self.corner.diagonal()) + 1e-9
        self.effects = np.asarray(np.linalg.inv(schur), dtype=np.float64)
        self.log_determinant += float(np.linalg.slogdet(schur)[1])
        self.across = -through @ self.effects  # covariance of scores with effects
        self.covariance = self.covariance - self.across @ through.T

    def _known(self, columns: Floats) -> Floats:
        """P⁻¹ times some columns."""
        turned, residual = self.dense.turned, self.parts[1]
        solved: Floats = (columns - turned @ (self.shrink[:, None] * (turned.T @ columns))) / residual
        return solved

    @cached_property
    def _taken(self) -> tuple[Floats, Floats, Floats]:
        """C = P⁻¹ − P⁻¹VP⁻¹, what the votes know beyond the prior; C Y and YᵀCY."""
        whole = -self._known(self._known(self.covariance).T)
        turned, residual = self.dense.turned, self.parts[1]
        whole -= (turned * (self.shrink / residual)) @ turned.T
        whole[np.diag_indices_from(whole)] += 1.0 / residual
        seen = whole @ turned
        return whole, seen, turned.T @ seen

    @property
    def freedom(self) -> Floats:
        """Degrees of freedom γ of weights and residuals: tr(C dP)."""
        whole, _, inside = self._taken
        return np.array([self.parts[0] * inside.trace(), self.parts[1] * whole.trace()])

    @property
    def information(self) -> Floats:
        """½ tr(C dP C dP) for (log s_w, log s_r)."""
        feature, residual = self.parts
        whole, seen, inside = self._taken
        mixed = 2.0 * float(np.sum((math.sqrt(feature) * math.sqrt(residual) * seen) ** 2))
        both = 2.0 * float(np.sum((feature * inside) ** 2)), 2.0 * float(np.sum((residual * whole) ** 2))
        return np.array([[both[0], mixed], [mixed, both[1]]])

    def along(self, part: Floats) -> tuple[Floats, Floats]:
        """What scores and effects move by as the logarithm of a part's standard deviation grows."""
        moved: Floats = 2.0 * (self.covariance @ self._known(part[:, None])[:, 0])
        if not self.corner.size:
            return moved, np.empty(0)
        effects: Floats = np.asarray(np.linalg.solve(self.corner, -self.border.T @ moved), dtype=np.float64)
        return moved, effects

    def turning(self, scores: Floats, extras: Floats) -> float:
        """The derivative of log det along a movement, through the curvature."""
        return float(self.push[0] @ scores + self.push[1] @ extras)


def inverse_of(matrix: Floats) -> tuple[Floats, float]:
    """Inverse of a positive definite matrix, which is overwritten, and the logarithm of its determinant."""
    from scipy.linalg.lapack import dpotrf, dpotri

    factor, failed = dpotrf(matrix, lower=1, overwrite_a=1)
    if failed:
        raise np.linalg.LinAlgError("the evidence needs a positive definite matrix")
    log_determinant = 2.0 * float(np.log(factor.diagonal()).sum())
    lower, _ = dpotri(factor, lower=1, overwrite_c=1)
    lower = np.tril(lower)
    inverse = lower + lower.T
    inverse[np.diag_indices_from(inverse)] *= 0.5
    return np.asarray(inverse, dtype=np.float64), log_determinant


def derivatives(loss: object, margin: Floats, extras: Floats) -> tuple[Floats, Floats, Floats]:
    """Second, third and fourth derivatives of the rows' losses along the margin."""
    if isinstance(loss, DavidsonRows):
        return loss.margin_derivatives(margin, extras)
    if isinstance(loss, SquaredRows):
        return 2.0 * loss.total, np.zeros_like(margin), np.zeros_like(margin)
    assert isinstance(loss, LogisticRows)
    chance = 1.0 / (1.0 + np.exp(-np.clip(margin, -500.0, 500.0)))
    curvature = loss.total * chance * (1.0 - chance)
    return curvature, curvature * (1.0 - 2.0 * chance), curvature * (1.0 - 6.0 * chance * (1.0 - chance))
