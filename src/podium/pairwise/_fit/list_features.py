"""Rankings of items with features: scores u = X w + r, with a penalty on the weights w and on the residuals r.

    minimise  Σ weight · −log chance of the ranking  +  λ_w ‖w‖²  +  λ_r ‖r‖²

over w, r and the strengths of ties, by Newton's method on dense matrices. As for pairs (`feature_evidence`), penalties
from the data are those of a random-effects model: the evidence is climbed in the logarithms of the two standard
deviations. Working in (w, r) rather than in u leaves nothing to cancel, however large either penalty is.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.data.features import Matrix
from podium.pairwise._fit.choices import HALVINGS, MAX_EXACT_ITEMS, MAX_STEP, ROUNDING, ListFit, ListLoss
from podium.pairwise._fit.choices import positive_solver as solver_of
from podium.pairwise._fit.feature_evidence import DenseEvidence, Evidence, Posterior, inverse_of
from podium.pairwise._fit.feature_model import ScaledFeatures
from podium.pairwise._fit.feature_solver import FeatureSolution, Place
from podium.pairwise._fit.list_information import list_gradients
from podium.pairwise._fit.penalties import Climb, Node, Penalties, choose_penalties, possible_penalties
from podium.ranking.uncertainty import Alternative, ListInformation

__all__ = ["ListFeatureModel", "ListProblem", "solve_lists"]

Floats = NDArray[np.float64]

STEP = 1e-5  # of log s, for the derivative of log det and of the terms of second order


@dataclass(slots=True)
class ListProblem:
    """The loss of rankings, and the features of the items it is about, centred and scaled."""

    loss: ListLoss
    features: Floats

    def scores(self, place: Place) -> Floats:
        """u = X w + r."""
        scores: Floats = self.features @ place.weights + place.residuals
        return scores

    def value(self, place: Place) -> float:
        """The loss without penalties."""
        return self.loss.value(self.scores(place), place.extras)[0]

    def split(self, point: Floats) -> Place:
        """Weights, residuals and strengths of ties out of one vector."""
        d, n = self.features.shape[1], self.loss.n
        return Place(point[:d], point[d : d + n], point[d + n :])


def solve_lists(
    problem: ListProblem, penalties: tuple[float, float], tol: float, max_iter: int, start: Place | None = None
) -> FeatureSolution:
    """Newton's method; `penalties` are (λ_w, λ_r), both positive. `tol` is of a score."""
    x, (n, d), p = problem.features, problem.features.shape, problem.loss.extras
    ridge = np.concatenate([np.full(d, 2.0 * penalties[0]), np.full(n, 2.0 * penalties[1]), np.zeros(p)])
    begin = start or Place(np.zeros(d), np.zeros(n), np.full(p, -1.0))
    here = np.concatenate([begin.weights, begin.residuals, begin.extras])

    def objective(point: Floats) -> tuple[float, Floats]:
        place = problem.split(point)
        value, gradient = problem.loss.value(problem.scores(place), place.extras)
        whole = np.concatenate([x.T @ gradient[:n], gradient])
        return value + 0.5 * float(ridge @ point**2), whole + ridge * point

    value, gradient = objective(here)
    left = math.inf
    for step in range(1, max_iter + 1):
        move = -solver_of(_hessian(problem, problem.split(here), ridge))(gradient)
        moved = problem.split(move)
        left = float(np.abs(np.concatenate([problem.scores(moved), moved.extras])).max())
        move *= min(1.0, MAX_STEP / max(left, 1e-300))
        for _ in range(HALVINGS):
            new, slope = objective(here + move)
            if new <= value + ROUNDING * abs(value):
                break
            move /= 2.0
        else:  # no descent in floating point: as good as it gets
            return _ended(problem, here, step, left, left <= math.sqrt(tol))
        here, value, gradient = here + move, new, slope
        if left * min(left, 1.0) <= 0.01 * tol or left <= tol:  # Newton squares the error
            return _ended(problem, here, step, left, True)
    return _ended(problem, here, max_iter, left, False)


def _ended(problem: ListProblem, point: Floats, steps: int, left: float, converged: bool) -> FeatureSolution:
    return FeatureSolution(problem.split(point), np.empty(0), steps, "dense", left, converged)


def _hessian(problem: ListProblem, place: Place, ridge: Floats) -> Floats:
    """Of the penalised loss, in weights, residuals and strengths of ties."""
    x, n = problem.features, problem.loss.n
    scores = problem.loss.place(problem.scores(place), place.extras).hessian()
    across = np.hstack([scores[:, :n] @ x, scores])
    whole = np.vstack([x.T @ across[:n], across])
    whole[np.diag_indices(len(whole))] += ridge
    return whole


# ---- penalties from the data ----------------------------------------------------------------------------------


class _ListPosterior(Posterior):
    """The covariance of scores and strengths of ties at one place."""

    def __init__(self, dense: ListEvidence, feature: float, residual: float, scores: Floats, extras: Floats) -> None:
        self.dense, self.parts = dense, (feature, residual)
        loss: ListLoss = dense.problem.loss  # type: ignore[assignment]
        n = loss.n
        place = loss.place(scores, extras)
        matrix = place.hessian()[:n, :n].copy()
        self.shrink = 1.0 / (dense.values + residual / feature)
        matrix -= (dense.turned * (self.shrink / residual)) @ dense.turned.T
        matrix[np.diag_indices(n)] += 1.0 / residual
        self.covariance, log_determinant = inverse_of(matrix)
        grown = float(np.log1p(dense.values * (feature / residual)).sum())
        self.log_determinant = log_determinant + n * math.log(residual) + grown
        self.border, self.corner = place.border, place.corner
        self._profile()
        self.second_order = loss.second_order(scores, self.covariance) if n <= MAX_EXACT_ITEMS else 0.0


class ListEvidence(DenseEvidence):
    """The evidence of rankings about the two penalties; see `feature_evidence` for its parts."""

    def at(self, x: Floats, place: Place, slopes: bool = True) -> Evidence:
        """F at the logarithms x of (s_w, s_r), whose optimum is `place`."""
        problem, scores, parts = self.problem, self.problem.scores(place), self._parts(place, x)
        posterior = self._posterior(x, scores, place.extras)
        off = x - self.centre
        here = posterior.second_order - 0.5 * posterior.log_determinant
        value = here - problem.value(place) - 0.5 * float(parts.sum()) - 0.5 * float(off @ off)
        if not slopes:
            return Evidence(value, np.full(2, np.nan), np.eye(2))
        bend = np.zeros(2)
        for k, part in enumerate((problem.features @ place.weights, place.residuals)):
            scores_moved, extras_moved = posterior.along(part)
            ahead = x + STEP * (np.arange(2) == k)
            there = self._posterior(ahead, scores + STEP * scores_moved, place.extras + STEP * extras_moved)
            bend[k] = (there.second_order - 0.5 * there.log_determinant - here) / STEP
        return Evidence(value, parts - off + bend, posterior.information + np.eye(2))

    def _posterior(self, x: Floats, scores: Floats, extras: Floats) -> _ListPosterior:
        feature, residual = np.exp(2.0 * x)
        return _ListPosterior(self, float(feature), float(residual), scores, extras)


class _ListClimb(Climb):
    """To the top of the evidence of rankings."""

    def _is_small(self, n: int, d: int) -> bool:
        return n <= MAX_EXACT_ITEMS

    def _evidence(self) -> ListEvidence:
        return ListEvidence(self.problem)

    def solve(self, penalties: tuple[float, float], tol: float, near: Place | None) -> FeatureSolution:
        """The optimum at these penalties, looked for from `near`."""
        return solve_lists(self.problem, penalties, tol, self.max_iter, near)  # type: ignore[arg-type]


# ---- from rankings to all items -------------------------------------------------------------------------------


class ListFeatureModel(ScaledFeatures):
    """The loss of rankings on the items they know, and how to get back to all items that have features."""

    def __init__(self, loss: ListLoss, matrix: Matrix, standardize: bool) -> None:
        self.loss, n = loss, loss.n
        pairs = loss.rankings.pairs
        met = np.zeros(n, dtype=bool)
        met[pairs.left] = met[pairs.right] = True
        self.seen = np.concatenate([met, np.zeros(matrix.shape[0] - n, dtype=bool)])
        self._scale_features(matrix, standardize, None)
        self.problem = ListProblem(loss, np.ascontiguousarray(self.matrix[:n]))

    def optimum(self, feature: float | None, residual: float | None, tol: float, max_iter: int) -> Penalties:
        """The optimum at these penalties; those that are None are chosen from the rankings."""
        return choose_penalties(self.problem, feature, residual, tol, max_iter, kind=_ListClimb)  # type: ignore[arg-type]

    def possible(self, found: Penalties, max_iter: int) -> list[Node]:
        """Other penalties that the rankings leave possible."""
        return possible_penalties(self.problem, found, max_iter, kind=_ListClimb)  # type: ignore[arg-type]

    def scores(self, place: Place) -> Floats:
        """Scores of all items; those that no ranking knows are what their features say."""
        scores: Floats = self.matrix @ place.weights
        scores[: self.loss.n] += place.residuals
        return scores

    def whole_information(
        self, place: Place, penalties: tuple[float, float], others: Callable[[], list[Node]], **known: Any
    ) -> ListInformation:
        """The information at the chosen penalties, and at the others that the rankings leave possible."""
        here, shown = self._information(place, penalties), self.scores(place)
        at, d = ListFit(self.problem.scores(place), place.extras, 0, 0.0, True), self.matrix.shape[1]
        gradients = list_gradients(self.loss, at, **known)
        if gradients:
            own = gradients.get("vote_extra_gradient", np.empty((len(gradients["vote_weight"]), 0)))
            gradients["vote_extra_gradient"] = np.hstack([np.zeros((len(own), d)), own])
            if "list_strength" in gradients:  # of items that no ranking knows: they were never on offer
                beyond = np.zeros(here.n - self.loss.n)
                gradients["list_strength"] = np.concatenate([gradients["list_strength"], beyond])
        alternatives = []
        for node in others():
            there = self._information(node.place, node.penalties, (here.left, here.right))
            moved = node.place.weights - place.weights, node.place.extras - place.extras
            shift = np.concatenate([self.scores(node.place) - shown, *moved])
            alternatives.append(
                Alternative(node.share, there.curvature, there.ridge, there.border, there.corner, shift)
            )
        return dataclasses.replace(here, alternatives=tuple(alternatives), **gradients)

    def _information(
        self, place: Place, penalties: tuple[float, float], pairs: tuple[Any, Any] | None = None
    ) -> ListInformation:
        """Curvature of −log posterior in the scores of all items, the weights and the strengths of ties."""
        (n, d), p = self.matrix.shape, self.loss.extras
        at = self.loss.place(self.problem.scores(place), place.extras)
        left, right = pairs or tuple(codes.astype(np.int32) for codes in np.nonzero(np.triu(at.pairs, 1)))
        ridges = 2.0 * penalties[0], 2.0 * penalties[1]
        border, corner = np.zeros((n, d + p)), np.zeros((d + p, d + p))
        border[:, :d] = -ridges[1] * self.matrix
        border[: self.loss.n, d:] = at.border
        corner[:d, :d] = ridges[1] * (self.matrix.T @ self.matrix) + ridges[0] * np.eye(d)
        corner[d:, d:] = at.corner
        return ListInformation(
            n, left, right, at.pairs[left, right], ridge=ridges[1], border=border, corner=corner,
            scores=self.scores(place),
        )  # fmt: skip
