"""The hinge loss of votes on items with features, to the exact optimum.

    minimise  Σ c·max(0, 1 − s·m)  +  λ_w ‖w‖²  +  λ_r ‖r‖²,    m = u_left − u_right + z·e,  u = X w + r

over votes for left (s = 1) and for right (s = −1) of weight c. It is a quadratic programme with a slack ξ ≥ 0 and
t = ξ + s·m − 1 ≥ 0 for each; its dual variables are 0 ≤ α ≤ c, and β = c − α. A primal-dual interior-point method
(Mehrotra 1992) needs, a step, the same linear system as Newton's method for the smooth losses, with the curvature
pq/(p + q), p = α/t, q = β/ξ, of each row: the design is not built here either. The optimum is known by its duality gap.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from podium.kernels.pairwise.bradley_terry import scatter_difference, scatter_sum
from podium.pairwise._fit.feature_solver import FeatureProblem, FeatureSolution, Place, newton_step
from podium.pairwise._fit.solvers import LinearSolver

__all__ = ["HingeRows", "solve_hinge"]

Floats = NDArray[np.float64]

MAX_DENSE_ITEMS = 3_000  # a factor, where curvatures differ by many powers of ten, is better than an iteration
ENOUGH, CONVERGED = 1e-11, 1e-6  # duality gap over the loss of equal scores: where steps end, and what is good enough
MAX_EDGE = 2_000  # votes exactly at 1 up to which these are solved for
PATIENCE = 3  # steps without progress, which rounding no longer allows
BACK = 0.995  # share of the way to the boundary that a step may go


@dataclass(frozen=True, slots=True)
class HingeRows:
    """Votes for left and for right of each row; half of a tie is for either."""

    won: Floats
    lost: Floats
    own: int = 0

    @property
    def total(self) -> Floats:
        """Weight of each row."""
        return self.won + self.lost

    def __call__(self, margin: Floats, extras: Floats) -> tuple[float, Floats, Floats, Floats, Floats, Floats]:
        """Loss, a slope and the curvature (none) along the margin; there are no parameters of its own."""
        loss = float(self.won @ np.maximum(1.0 - margin, 0.0) + self.lost @ np.maximum(1.0 + margin, 0.0))
        slope = self.lost * (margin > -1.0) - self.won * (margin < 1.0)
        nothing = np.empty(0), np.empty((len(margin), 0)), np.empty((0, 0))
        return loss, slope, np.zeros_like(margin), *nothing


@dataclass(slots=True)
class _State:
    """Where primal and dual variables are; rows of votes for left stand before those for right."""

    place: Place
    slack: Floats  # ξ
    room: Floats  # t
    dual: Floats  # α
    rest: Floats  # β

    @property
    def gap(self) -> float:
        """Complementarity: the duality gap once both sides are feasible."""
        return float(self.dual @ self.room + self.rest @ self.slack)


def solve_hinge(
    problem: FeatureProblem, penalties: tuple[float, float], max_iter: int, start: Place | None = None
) -> FeatureSolution:
    """The optimum; `start` is not used, since an interior point near another optimum is no good start."""
    steps = _Steps(problem, penalties)
    here: _State | None = steps.first()
    assert here is not None
    best, least, since, count = here, steps.off(here), 0, 0
    while count < max_iter and least > ENOUGH and since < PATIENCE:
        here = steps.step(here)
        if here is None:
            break
        count, since = count + 1, since + 1
        off = steps.off(here)
        if off < least:
            best, least, since = here, off, 0
    best, least = steps.polished(best, least)
    flat = np.zeros(len(problem.rows.left))
    return FeatureSolution(best.place, flat, count, problem.linear.how, least, least <= CONVERGED)


class _Steps:
    def __init__(self, problem: FeatureProblem, penalties: tuple[float, float]) -> None:
        self.problem, self.penalties = problem, penalties
        loss = problem.loss
        assert isinstance(loss, HingeRows)
        self.up, self.down = np.flatnonzero(loss.won > 0), np.flatnonzero(loss.lost > 0)
        self.sign = np.concatenate([np.ones(len(self.up)), -np.ones(len(self.down))])
        self.cost = np.concatenate([loss.won[self.up], loss.lost[self.down]])
        rows = problem.rows
        problem.linear = LinearSolver(rows, 0.0, "dense" if rows.n <= MAX_DENSE_ITEMS else None)

    def first(self) -> _State:
        n, d = self.problem.features.shape
        size = len(self.cost)
        place = Place(np.zeros(d), np.zeros(n), np.zeros(self.problem.extras))
        return _State(place, np.full(size, 2.0), np.ones(size), 0.5 * self.cost, 0.5 * self.cost)

    def along(self, place: Place) -> Floats:
        """s·m for every row of votes."""
        margin = self.problem.rows.margin(self.problem.scores(place), place.extras)
        ahead: Floats = self.sign * np.concatenate([margin[self.up], margin[self.down]])
        return ahead

    def back(self, values: Floats) -> Floats:
        """Sums over the two directions of each pair."""
        out = np.zeros(len(self.problem.rows.left))
        out[self.up] += values[: len(self.up)]
        out[self.down] += values[len(self.up) :]
        return out

    def force(self, pull: Floats, place: Place) -> Floats:
        """Aᵀ(s·pull) − 2Λθ: what is left of the gradient when votes pull so much."""
        rows, by_row = self.problem.rows, self.back(self.sign * pull)
        by_item = np.zeros(rows.n)
        scatter_difference(rows.left, rows.right, by_row, by_item)
        effects = np.empty(0) if rows.design is None else rows.design.T @ by_row
        weights = self.problem.features.T @ by_item - 2.0 * self.penalties[0] * place.weights
        return np.concatenate([weights, by_item - 2.0 * self.penalties[1] * place.residuals, effects])

    def off(self, at: _State) -> float:
        """Complementarity, or the largest part of the gradient left if that is more, as shares of the votes.

        The votes' weight is the loss of all scores equal, which no optimum exceeds.
        """
        unmet = float(np.max(np.abs(self.force(at.dual, at.place))))
        return max(at.gap, unmet) / float(self.cost.sum())

    def polished(self, at: _State, least: float) -> tuple[_State, float]:
        """The votes that are right, wrong, or exactly at 1 are known now: solve for these, if that comes out better."""
        problem, rows = self.problem, self.problem.rows
        wrong = at.slack >= at.rest / self.cost
        edge = np.flatnonzero(~wrong & (at.room < at.dual / self.cost))
        if len(edge) > MAX_EDGE:
            return at, least
        size = len(at.place.weights)
        pull = np.where(wrong, self.cost, 0.0)
        force = self.force(pull, Place(np.zeros(size), np.zeros(rows.n), np.zeros(0)))
        scale = 2.0 * np.repeat(self.penalties, [size, rows.n])
        pair, sign = np.concatenate([self.up, self.down])[edge], self.sign[edge, None]
        residuals = np.zeros((len(edge), rows.n))
        residuals[np.arange(len(edge)), rows.left[pair]] += 1.0
        residuals[np.arange(len(edge)), rows.right[pair]] -= 1.0
        table = sign * np.hstack([problem.features[rows.left[pair]] - problem.features[rows.right[pair]], residuals])
        design = sign * (np.empty((len(pair), 0)) if rows.design is None else rows.design[pair])
        p = design.shape[1]
        system = np.block([[(table / scale) @ table.T, design], [design.T, np.zeros((p, p))]])
        free = force[: len(scale)] / scale
        wanted = np.concatenate([1.0 - table @ free, -force[len(scale) :]])
        solved = np.linalg.lstsq(system, wanted, rcond=1e-13)[0]
        dual = np.where(wrong, self.cost, 0.0)
        dual[edge] = np.clip(solved[: len(edge)], 0.0, self.cost[edge])
        theta = free + (table.T @ dual[edge]) / scale
        place = Place(theta[:size], theta[size:], solved[len(edge) :])
        ahead = self.along(place)
        slack = np.maximum(1.0 - ahead, 0.0)
        there = _State(place, slack, slack + ahead - 1.0, dual, self.cost - dual)
        off = self.off(there)
        return (there, off) if off < least else (at, least)

    def step(self, at: _State) -> _State | None:
        """Predict with no centring, then correct; None where rounding allows no more."""
        p, q = at.dual / at.room, at.rest / at.slack
        bend = p * q / (p + q)
        curvature = self.back(bend)
        rows = self.problem.rows
        diagonal = np.zeros(rows.n)
        scatter_sum(rows.left, rows.right, curvature, diagonal)
        try:
            system = self.problem.system(curvature, diagonal, self.penalties)
        except np.linalg.LinAlgError:
            return None

        def moves(dual_target: Floats, rest_target: Floats) -> tuple[Place, Floats, Floats, Floats]:
            over = dual_target / at.room + rest_target / at.slack - self.cost
            pull = dual_target / at.room - p * over / (p + q)
            move = newton_step(self.problem, system, curvature, self.force(pull, at.place), 1e-10)
            d, n = len(at.place.weights), rows.n
            place = Place(move[:d], move[d : d + n], move[d + n :])
            shift = self.along(place)
            slack = (over - p * shift) / (p + q)
            return place, slack, slack + shift, pull - at.dual - bend * shift

        mean = at.gap / (2.0 * len(self.cost))
        _, slack, room, dual = moves(np.zeros_like(p), np.zeros_like(p))
        far = _longest(at, slack, room, dual)
        ahead = float((at.dual + far[1] * dual) @ (at.room + far[0] * room))
        ahead += float((at.rest - far[1] * dual) @ (at.slack + far[0] * slack))
        centre = mean * min(max(ahead / at.gap, 0.0), 1.0) ** 3
        place, slack, room, dual = moves(centre - dual * room, centre + dual * slack)
        if not (np.isfinite(dual).all() and np.isfinite(slack).all()):
            return None
        length = min(1.0, BACK * min(_longest(at, slack, room, dual)))
        moved = Place(
            at.place.weights + length * place.weights,
            at.place.residuals + length * place.residuals,
            at.place.extras + length * place.extras,
        )
        there = _State(
            moved, at.slack + length * slack, at.room + length * room, at.dual + length * dual, at.rest - length * dual
        )
        return there if length > 1e-10 and there.gap > 0.0 else None


def _longest(at: _State, slack: Floats, room: Floats, dual: Floats) -> tuple[float, float]:
    """How far primal and dual variables may go along a step; 1 is the whole step."""

    def reach(value: Floats, move: Floats) -> float:
        falling = move < 0.0
        return float(np.min(value[falling] / -move[falling], initial=1.0 / BACK))

    return min(reach(at.slack, slack), reach(at.room, room)), min(reach(at.dual, dual), reach(at.rest, -dual))
