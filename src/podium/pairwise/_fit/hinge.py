"""The hinge loss of votes on items with features, to the exact optimum.

    minimise  Σ c·max(0, 1 − s·m)  +  λ_w ‖w‖²  +  λ_r ‖r‖²,    m = u_left − u_right + z·e,  u = X w + r

over votes for left (s = 1) and for right (s = −1) of weight c. It is a quadratic programme with a slack ξ ≥ 0 and
t = ξ + s·m − 1 ≥ 0 for each; its dual variables are 0 ≤ α ≤ c, and β = c − α. A primal-dual interior-point method
(Mehrotra 1992) needs, a step, the same linear system as Newton's method for the smooth losses, with the curvature
pq/(p + q), p = α/t, q = β/ξ, of each row: the design is not built here either. The optimum is known by its duality gap.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from podium.kernels.pairwise.bradley_terry import scatter_difference, scatter_sum
from podium.pairwise._fit.feature_solver import FeatureProblem, FeatureSolution, Place, newton_step
from podium.pairwise._fit.solvers import LinearSolver

__all__ = ["HingeRows", "solve_hinge"]

Floats = NDArray[np.float64]

MAX_DENSE_ITEMS = 3_000  # a factor, where curvatures differ by many powers of ten, is better than an iteration
ENOUGH, CONVERGED = 1e-11, 1e-9  # duality gap over the loss of equal scores: where steps end, and what is good enough
MAX_EDGE_CELLS = 50_000_000  # votes exactly at 1, times parameters, up to which these are solved for
MAX_ROUNDS, MAX_FLOPS = 300, 1e11  # of that, each with one vote more or less, and for all of them together
SHARPER = 0.01  # share of that for a gap closed already: where the loss is flat, scores are known only to its root
RELEASED_TOGETHER = 4  # rounds in which all votes that contradict their bound become free
FLAT = 1e-9  # share of a slope that a solve leaves only in directions without curvature
MAX_STALE_STEPS = 3  # steps without progress, which rounding no longer allows
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
    while count < max_iter and least > ENOUGH and since < MAX_STALE_STEPS:
        try:
            here = steps.step(here)
        except np.linalg.LinAlgError:  # few votes that effects explain in many ways, near the optimum
            break
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
        """Where the votes that are right, wrong, or exactly at 1 are known by now, the exact optimum follows."""
        wrong = at.slack >= at.rest / self.cost
        edge = ~wrong & (at.room < at.dual / self.cost)
        dual = np.where(wrong, self.cost, np.where(edge, np.clip(at.dual, 0.0, self.cost), 0.0))
        finish = _Finish(self, dual, at.place.extras.copy())
        for place, dual in finish.optima(edge, MAX_FLOPS * (SHARPER if least <= ENOUGH else 1.0)):
            ahead = self.along(place)
            slack = np.maximum(1.0 - ahead, 0.0)
            there = _State(place, slack, slack + ahead - 1.0, dual, self.cost - dual)
            off = self.off(there)
            if off < least:
                at, least = there, off
            if off <= ENOUGH:
                break
        return at, least

    def step(self, at: _State) -> _State | None:
        """Predict with no centring, then correct; None, or `LinAlgError`, where rounding allows no more."""
        p, q = at.dual / at.room, at.rest / at.slack
        bend = p * q / (p + q)
        curvature = self.back(bend)
        rows = self.problem.rows
        diagonal = np.zeros(rows.n)
        scatter_sum(rows.left, rows.right, curvature, diagonal)
        system = self.problem.system(curvature, diagonal, self.penalties)

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


class _Finish:
    """An active-set method on the dual: minimise ½αᵀGα − Σα over 0 ≤ α ≤ c with Σ s·α·z = 0, G = s·AΛ⁻¹Aᵀ·s / 2.

    Some votes are free, their margin is to be 1; the others are at a bound. Each round goes to the optimum of the free
    ones, or to the first bound on the way; there votes that contradict their bound become free, too.
    """

    def __init__(self, steps: _Steps, dual: Floats, extras: Floats) -> None:
        self.steps, self.dual, self.extras = steps, dual, extras
        problem = steps.problem
        self.size = problem.features.shape[1]
        self.scale = 2.0 * np.repeat(steps.penalties, [self.size, problem.rows.n])
        self.pair = np.concatenate([steps.up, steps.down])

    def optima(self, edge: NDArray[np.bool_], most: float) -> Iterator[tuple[Place, Floats]]:
        """Places on the way, each the optimum of its free votes, with their duals; the last fits all votes."""
        free, spent = edge.copy(), 0.0
        for turn in range(MAX_ROUNDS):
            count, parameters = int(np.count_nonzero(free)), len(self.scale)
            if count * parameters > MAX_EDGE_CELLS or spent > most:
                return
            spent += 10.0 * count * min(count, parameters) ** 2 + 100.0 * len(free)
            blocked = self._go(free)
            if blocked is not None:
                free[blocked] = False
                continue
            place = self.place()
            yield place, self.dual.copy()
            if len(self.extras):
                yield self._with_best_effects(place), self.dual.copy()
            short = 1.0 - self.steps.along(place)
            against = self.steps.cost * np.where(self.dual <= 0.0, short, -short)
            against[free] = 0.0
            if against.max(initial=0.0) <= 0.0:
                return
            # All that contradict at first, which is faster; one at a time later, which ends.
            free |= (against > 0.0) if turn < RELEASED_TOGETHER else np.arange(len(free)) == np.argmax(against)

    def place(self) -> Place:
        """Weights, residuals and effects that go with the duals."""
        rows = self.steps.problem.rows
        origin = Place(np.zeros(self.size), np.zeros(rows.n), np.zeros(len(self.extras)))
        theta = self.steps.force(self.dual, origin)[: len(self.scale)] / self.scale
        return Place(theta[: self.size], theta[self.size :], self.extras.copy())

    def _with_best_effects(self, place: Place) -> Place:
        """Each effect in turn where the loss of these scores is least: duals at their bounds do not say where."""
        problem, extras = self.steps.problem, place.extras.copy()
        design = problem.rows.design
        assert design is not None
        for column in range(len(extras)):
            extras[column] = 0.0
            slope = self.steps.sign * design[self.pair, column]
            moving = slope != 0.0
            slope, short = slope[moving], 1.0 - self.steps.along(Place(place.weights, place.residuals, extras))[moving]
            turn, weight = short / slope, self.steps.cost[moving] * np.abs(slope)
            order = np.argsort(turn)
            # Far to the left every vote of positive slope pulls; each turn passed takes its weight from the pull.
            pull = np.cumsum(weight[order]) - weight[slope > 0.0].sum()
            if len(order):
                extras[column] = turn[order[min(int(np.searchsorted(pull, 0.0)), len(order) - 1)]]
        return Place(place.weights, place.residuals, extras)

    def _go(self, free: NDArray[np.bool_]) -> int | None:
        """Move the free duals to their optimum, or as far as one stays within its bounds, which is returned."""
        steps, chosen = self.steps, np.flatnonzero(free)
        table, design = self._rows(chosen)
        place, p = self.place(), len(self.extras)
        unmet = steps.force(self.dual, place)[len(self.scale) :]
        wanted = np.concatenate([1.0 - steps.along(place)[chosen], -unmet])
        move, left = _least_squares(table / np.sqrt(self.scale), design, wanted)
        slope = np.max(np.abs(wanted[: len(chosen)]), initial=0.0)
        endless = np.max(np.abs(left), initial=0.0) > FLAT * max(slope, 1e-9)
        if endless:  # no margin feels this direction, and the dual falls along it until a bound
            move = np.concatenate([left, np.zeros(p)])
        along, at = move[: len(chosen)], self.dual[chosen]
        with np.errstate(divide="ignore", invalid="ignore"):
            room = np.where(along > 0.0, (steps.cost[chosen] - at) / along, np.where(along < 0.0, -at / along, np.inf))
        first = int(np.argmin(room)) if len(room) else -1
        length = room[first] if first >= 0 and (endless or room[first] < 1.0) else 1.0
        self.dual[chosen] = np.clip(at + length * along, 0.0, steps.cost[chosen])
        self.extras += length * move[len(chosen) :]
        if length == 1.0 and not endless:
            return None
        bound = int(chosen[first])
        self.dual[bound] = steps.cost[bound] if along[first] > 0.0 else 0.0
        return bound

    def _rows(self, chosen: NDArray[np.intp]) -> tuple[Floats, Floats]:
        """Signed rows of the design for weights and residuals, and for the effects."""
        problem, rows = self.steps.problem, self.steps.problem.rows
        pair, sign = self.pair[chosen], self.steps.sign[chosen, None]
        residuals = np.zeros((len(chosen), rows.n))
        residuals[np.arange(len(chosen)), rows.left[pair]] += 1.0
        residuals[np.arange(len(chosen)), rows.right[pair]] -= 1.0
        table = sign * np.hstack([problem.features[rows.left[pair]] - problem.features[rows.right[pair]], residuals])
        design = sign * (np.empty((len(pair), 0)) if rows.design is None else rows.design[pair])
        return table, design


def _least_squares(root: Floats, design: Floats, wanted: Floats) -> tuple[Floats, Floats]:
    """The shortest x nearest to [[root·rootᵀ, design], [designᵀ, 0]] x = wanted, and what the upper rows leave."""
    count, p = design.shape
    if p or count <= root.shape[1]:
        system = np.block([[root @ root.T, design], [design.T, np.zeros((p, p))]])
        x = _solved(system, wanted)
        return x, (wanted - system @ x)[:count]
    values, axes = np.linalg.eigh(root.T @ root)  # more votes than parameters: by the parameters
    kept = values > 1e-13 * values[-1]
    axes, values = axes[:, kept], values[kept]
    x, left = np.zeros(count), wanted
    for _ in range(2):  # once more for what rounding left
        x = x + root @ (axes @ ((axes.T @ (root.T @ left)) / values**2))
        left = wanted - root @ (root.T @ x)
    return x, left


def _solved(system: Floats, wanted: Floats) -> Floats:
    """By elimination, where that is as good as it looks; else by singular values, which take ten times as long."""
    try:
        x: Floats = np.linalg.solve(system, wanted).astype(np.float64)
        if np.max(np.abs(wanted - system @ x), initial=0.0) <= 1e-13 * np.max(np.abs(wanted), initial=0.0):
            return x
    except np.linalg.LinAlgError:
        pass
    shortest: Floats = np.linalg.lstsq(system, wanted, rcond=1e-13)[0].astype(np.float64)
    return shortest


def _longest(at: _State, slack: Floats, room: Floats, dual: Floats) -> tuple[float, float]:
    """How far primal and dual variables may go along a step; 1 is the whole step."""

    def reach(value: Floats, move: Floats) -> float:
        falling = move < 0.0
        return float(np.min(value[falling] / -move[falling], initial=1.0 / BACK))

    return min(reach(at.slack, slack), reach(at.room, room)), min(reach(at.dual, dual), reach(at.rest, -dual))
