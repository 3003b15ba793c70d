"""Penalties of features and residuals where effects of covariates or side are held, and scores may follow them.

As in `effects.py`, here with features: scores may follow what is held,

    u = X w + γ z̄ + r,

and what γ explains is given back to where it was taken from: with z̄ = X a + z̄⊥, of length ‖z̄⊥‖² = n·q, the variances
become

    s_w² + ‖a‖²·γ²/d    and    s_r² + q·γ².
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.engine import running
from podium.pairwise._fit.effects import Effects, Following
from podium.pairwise._fit.feature_solver import FeatureProblem, Place, solve_features
from podium.pairwise._fit.penalties import FIT_TOL, Node, Penalties, choose_penalties, possible_penalties
from podium.pairwise._fit.solvers import runs_away

__all__ = ["FollowedEffects"]

Floats = NDArray[np.float64]

ACCURACY = 1e-4  # of conjugate gradients


@dataclass
class FollowedEffects:
    """A problem whose rows have held effects as their offset, and the same where scores may follow these."""

    problem: FeatureProblem
    following: Following
    max_iter: int
    chosen: Penalties | None = field(default=None, init=False)  # where scores may follow

    @classmethod
    def of(
        cls, problem: FeatureProblem, design: Floats, effects: Effects, total: Floats, max_iter: int
    ) -> FollowedEffects | None:
        """None where there is nothing to follow; `total` are the votes of each row."""
        following = Following.of(problem.rows, design, effects, total, problem.votes)
        return None if following is None else cls(problem, following, max_iter)

    @cached_property
    def free(self) -> FeatureProblem:
        """The problem where scores may follow."""
        problem = self.problem
        return FeatureProblem(self.following.rows, problem.loss, problem.features, problem.votes)

    def choose(self, feature: float | None, residual: float | None, tol: float) -> Penalties:
        """Choose the penalties that are None; the others stay as they are."""
        problem = self.free
        found = choose_penalties(problem, feature, residual, FIT_TOL, self.max_iter)
        if not found.solution.converged or runs_away(problem.rows, found.solution.place.extras):
            return choose_penalties(self.problem, feature, residual, tol, self.max_iter)  # γ alone decides the votes
        self.chosen = found
        at = self._given_back((found.feature, found.residual), found.solution.place, of_mean=True)
        solution = solve_features(self.problem, at, tol, self.max_iter, self._near(found.solution.place))
        return dataclasses.replace(found, feature=at[0], residual=at[1], solution=solution)

    def possible(self, found: Penalties, engine: Any = None) -> list[Node]:
        """Penalties around those that were `found`, with their share of the posterior."""
        if self.chosen is None:
            return possible_penalties(self.problem, found, self.max_iter, engine=engine)
        nodes = possible_penalties(self.free, self.chosen, self.max_iter)
        with running(1, engine=engine) as runner:
            return list(runner.map(_not_following, nodes, self))

    def _near(self, place: Place) -> Place:
        """The same scores as residuals."""
        return Place(place.weights, place.residuals + place.extras[0] * self.following.means, place.extras[1:])

    def _given_back(self, penalties: tuple[float, float], place: Place, of_mean: bool = False) -> tuple[float, float]:
        """The penalties of a fit in which nothing follows: by the square `of_mean` γ, or by the mean of γ²."""
        assert self.chosen is not None, "penalties are chosen"
        features, means = self.problem.features, self.following.means
        n, d = features.shape
        square = self.following.square(place.extras[0], self._variance(penalties, place), of_mean=of_mean)
        core = features.T @ features
        core[np.diag_indices(d)] += penalties[0] / penalties[1]
        explained: Floats = np.asarray(np.linalg.solve(core, features.T @ means), dtype=np.float64)
        rest = means - features @ explained
        more = square * float(explained @ explained) / max(d, 1), square * float(rest @ rest) / n
        wider = [0.5 / (0.5 / penalties[k] + more[k]) if k in self.chosen.free else penalties[k] for k in (0, 1)]
        return wider[0], wider[1]

    def _variance(self, penalties: tuple[float, float], place: Place) -> float:
        """Variance of γ, at the penalties."""
        problem = self.free
        point = problem.evaluate(place)
        system = problem.system(point.curvature, point.diagonal, penalties)
        border = np.vstack([problem.features.T @ point.border, point.border])
        schur = point.corner - border.T @ system.solve_columns(border, ACCURACY)
        schur[np.diag_indices_from(schur)] += 1e-9 * np.abs(point.corner.diagonal()) + 1e-9
        return float(np.linalg.inv(schur)[0, 0])


def _not_following(node: Node, followed: FollowedEffects) -> Node:
    """The node's penalties where nothing follows, and the optimum there."""
    at = followed._given_back(node.penalties, node.place)
    near = followed._near(node.place)
    return Node(node.share, at, solve_features(followed.problem, at, FIT_TOL, followed.max_iter, near).place)
