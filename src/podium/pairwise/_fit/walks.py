"""Scores that walk in time: every item a path of nodes, one for each time it was compared at; all found at once.

The first node of an item is N(0, sd²), and each step N(0, drift² · time since the node before). With the votes' loss
this makes a posterior whose precision is one tridiagonal block an item plus the Laplacian of the votes. Newton's steps
are solved by conjugate gradients with the tridiagonal blocks (votes included on the diagonal) as the preconditioner: a
step costs O(votes), and the optimum is the joint one (Coulom 2008 goes item by item towards the same).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from podium.errors import ConvergenceError
from podium.kernels.pairwise import walks as kernel
from podium.kernels.pairwise.bradley_terry import laplacian_product, scatter_sum
from podium.pairwise._fit.solvers import SEPARATES, Point, RowLoss, Rows, evaluate

__all__ = ["Precision", "System", "WalkSolution", "Walks", "log_evidence", "solution_at", "solve_walks"]

Floats = NDArray[np.float64]
Codes = NDArray[np.int32]

MAX_EXACT_NODES = 1500  # up to which a sparse factorisation never takes long
MAX_EXACT_WORK = 2e7  # nodes × items², about what a factorisation in the order of time takes
MAX_CG_STEPS = 2000
PROBES, LANCZOS_STEPS = 12, 20  # of the stochastic log-determinant
PROBED_NODES = 100_000  # with more nodes fewer probes do, down to 3: the error of a mean over nodes falls as they grow
MAX_STEP = 10.0  # log-odds that one Newton step may move a score by
LEAST_STEP = 1e-10  # variance of a step: with less, rounding of its inverse takes the place of the votes' curvature
MAX_CG_EFFECTS = 4  # effects above which a factorisation, where it is cheap, serves all their columns at once


@dataclass(frozen=True, eq=False)
class Walks:
    """The nodes of all items, those of an item together and by time; node k belongs to `item[k]` at `time[k]`."""

    item: Codes
    time: Floats
    start: NDArray[np.int64]  # (n + 1,) where the nodes of each item begin

    @classmethod
    def of(cls, left: Codes, right: Codes, time: Floats, n: int) -> tuple[Self, Codes, Codes]:
        """The nodes that votes between n items make, and the nodes of each vote; an item without votes has one, last.

        `time` is that of each vote, or (2, votes) that of the score of its left item and of its right.

        >>> left, right = np.array([0, 1], np.int32), np.array([1, 0], np.int32)
        >>> walks, left, right = Walks.of(left, right, np.array([3.0, 5.0]), 2)
        >>> walks.time.tolist(), left.tolist(), right.tolist()
        ([3.0, 5.0, 3.0, 5.0], [0, 3], [2, 1])
        """
        times, when = np.unique(np.broadcast_to(time, (2, len(left))).ravel(), return_inverse=True)
        keys = np.concatenate([left, right]).astype(np.int64) * len(times) + when
        idle = np.setdiff1d(np.arange(n), np.concatenate([left, right]))
        keys = np.concatenate([keys, idle * len(times) + len(times) - 1])
        nodes, place = np.unique(keys, return_inverse=True)
        item = nodes // len(times)
        start = np.searchsorted(item, np.arange(n + 1))
        place = place.astype(np.int32)
        rows = len(left)
        return cls(item.astype(np.int32), times[nodes % len(times)], start), place[:rows], place[rows : 2 * rows]

    def __len__(self) -> int:
        return len(self.item)

    @cached_property
    def first(self) -> NDArray[np.int64]:
        """The first node of each item."""
        return self.start[:-1]

    @cached_property
    def gap(self) -> Floats:
        """Time since the node before; 0 for the first of an item."""
        gap = np.diff(self.time, prepend=0.0)
        gap[self.first] = 0.0
        return gap

    def located(self, item: NDArray[Any], at: Floats) -> tuple[NDArray[np.int64], NDArray[np.int64], Floats, Floats]:
        """For each item at a time: the nodes before and after, the weight of the second, and the time to bridge.

        The score there is (1 − weight) of the first and weight of the second, and its variance has drift² × bridge on
        top: between two nodes of a walk lies a bridge, after the last a free walk. Before the first node of an item
        there is nothing: the bridge is NaN.
        """
        begin, end = self.start[item], self.start[item + 1]
        low, high = begin.copy(), end.copy()  # the last node not after `at`, by bisection
        while (low < high).any():
            middle = (low + high) // 2
            inside = (low < high) & (self.time[np.minimum(middle, len(self) - 1)] <= at)
            high = np.where((low < high) & ~inside, middle, high)
            low = np.where(inside, middle + 1, low)
        before, after = np.maximum(low - 1, begin), np.minimum(low, end - 1)
        since, until = at - self.time[before], self.time[after] - at
        span = since + until
        between = (after > before) & (span > 0)
        weight = np.divide(since, span, out=np.zeros(len(at)), where=between)
        bridge = np.where(between, weight * until, np.maximum(since, 0.0))
        return before, after, weight, np.where(low == begin, np.nan, bridge)


@dataclass(frozen=True, eq=False)
class Precision:
    """Of the walks alone: `own` on first nodes, `link` between each node and the one before it.

    `effects` is that of every effect: 0 for those that no prior holds, as the side's, and not for weights of features.
    """

    own: Floats
    link: Floats
    effects: Floats

    @classmethod
    def of(cls, walks: Walks, sd: float, drift: float, effects: Floats) -> Self:
        """First nodes are N(0, sd²), steps N(0, drift² · gap)."""
        own = np.zeros(len(walks))
        own[walks.first] = 1.0 / sd**2
        later = walks.gap > 0
        step = np.maximum(drift**2 * walks.gap, LEAST_STEP)
        link = np.divide(1.0, step, out=np.zeros(len(walks)), where=later)
        return cls(own, link, effects)

    @property
    def log_determinant(self) -> float:
        """The sum of the logs: a path is triangular in its steps."""
        return sum(float(np.log(part[part > 0]).sum()) for part in (self.own, self.link, self.effects))

    def times(self, vector: Floats) -> Floats:
        """The precision matrix times a vector."""
        out = np.empty_like(vector)
        kernel.product(self.own, self.link, vector, out)
        return out


class System:
    """The precision of the posterior at one place: walks plus the Laplacian of the votes' curvature."""

    def __init__(self, rows: Rows, curvature: Floats, precision: Precision, items: int) -> None:
        self.rows, self.curvature, self.precision = rows, curvature, precision
        self.exact = rows.n <= MAX_EXACT_NODES or rows.n * float(items) ** 2 <= MAX_EXACT_WORK
        own = precision.own.copy()
        scatter_sum(rows.left, rows.right, curvature, own)
        self._pivot, self._lower = np.empty(rows.n), np.empty(rows.n)
        kernel.factor(own, precision.link, self._pivot, self._lower)

    def times(self, vector: Floats) -> Floats:
        """The matrix times a vector."""
        out = self.precision.times(vector)
        laplacian_product(self.rows.left, self.rows.right, self.curvature, vector, out)
        return out

    def solve(self, force: Floats, accuracy: float) -> Floats:
        """Solve for one right-hand side by conjugate gradients, to a relative residual in the preconditioner's norm."""
        x, residual, ahead = np.zeros_like(force), force.copy(), np.empty_like(force)
        kernel.solve(self._pivot, self._lower, residual, ahead)
        way, power = ahead.copy(), float(residual @ ahead)
        goal = max(accuracy, 1e-14) ** 2 * power
        for _ in range(MAX_CG_STEPS):
            if power <= goal or power == 0.0:
                break
            image = self.times(way)
            length = power / max(float(way @ image), 1e-300)
            x += length * way
            residual -= length * image
            kernel.solve(self._pivot, self._lower, residual, ahead)
            before, power = power, float(residual @ ahead)
            way *= power / before
            way += ahead
        return x

    @cached_property
    def _factor(self) -> Any:
        """A sparse factorisation of the whole; MMD of a league finds the order of time by itself."""
        from scipy.sparse import coo_array
        from scipy.sparse.linalg import splu

        n, left, right, bend = self.rows.n, self.rows.left, self.rows.right, self.curvature
        node = np.arange(n)
        diagonal = self.precision.own + self.precision.link + np.append(self.precision.link[1:], 0.0)
        scatter_sum(left, right, bend, diagonal)
        ones = (node, left, right, node[1:], node[:-1])
        others = (node, right, left, node[:-1], node[1:])
        values = (diagonal, -bend, -bend, -self.precision.link[1:], -self.precision.link[1:])
        at: Any = (np.concatenate(values), (np.concatenate(ones), np.concatenate(others)))
        matrix = coo_array(at, shape=(n, n)).tocsc()
        try:
            return splu(matrix, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True})
        except RuntimeError as problem:  # rounding has left nothing of the walk beside the votes
            raise ConvergenceError(
                "the votes weigh too much beside the walk of the scores for a solution; divide all weights by the same"
            ) from problem

    def solve_all(self, forces: Floats) -> Floats:
        """Solve for many right-hand sides, the columns of `forces`."""
        if self.exact:
            return np.asarray(self._factor.solve(forces), dtype=np.float64)
        return np.column_stack([self.solve(np.ascontiguousarray(force), 1e-6) for force in forces.T])

    def log_determinant(self) -> float:
        """From the factorisation where that is cheap, else that of the preconditioner and a stochastic rest."""
        if self.exact:
            return float(np.log(np.abs(self._factor.U.diagonal())).sum())
        return float(np.log(self._pivot).sum()) + self._stochastic_rest(np.random.default_rng(0))

    def _stochastic_rest(self, rng: np.random.Generator) -> float:
        """tr log of the preconditioned matrix by Lanczos quadrature (Ubaru, Chen and Saad 2017).

        The seed is fixed: errors of neighbouring drifts are then alike, and cancel in the search for the best.
        """
        n, total = self.rows.n, 0.0
        probes = min(PROBES, max(3, PROBED_NODES // n))
        back, out = np.empty(n), np.empty(n)
        for _ in range(probes):
            now = rng.choice(np.array([-1.0, 1.0]), n) / math.sqrt(n)
            before, beta = np.zeros(n), 0.0
            diagonal, beside = [], []
            for _ in range(min(LANCZOS_STEPS, n)):
                kernel.half_solve_back(self._pivot, self._lower, now, back)
                kernel.half_solve(self._pivot, self._lower, self.times(back), out)
                image = out - beta * before
                diagonal.append(float(now @ image))
                image -= diagonal[-1] * now
                beta = float(np.linalg.norm(image))
                beside.append(beta)
                if beta < 1e-10:
                    break
                before, now = now, image / beta
            values, vectors = np.linalg.eigh(np.diag(diagonal) + _off(beside[:-1]))
            total += n * float(vectors[0] ** 2 @ np.log(np.maximum(values, 1e-300)))
        return total / probes


def _off(beside: list[float]) -> Floats:
    off = np.diag(np.array(beside), 1) if beside else np.zeros((1, 1))
    return np.asarray(off + off.T)


@dataclass(frozen=True, eq=False)
class WalkSolution:
    """Where Newton ended, and the parts of the Hessian there."""

    point: Point
    precision: Precision
    n_iter: int
    converged: bool

    @property
    def scores(self) -> Floats:
        """By node."""
        return self.point.scores


def solve_walks(
    rows: Rows,
    loss: RowLoss,
    precision: Precision,
    *,
    items: int,
    tol: float,
    max_iter: int,
    scores: Floats | None = None,
    extras: Floats | None = None,
) -> WalkSolution:
    """The joint optimum of all scores at all times and of the effects, by Newton's method with backtracking."""
    p = loss.own + (0 if rows.design is None else rows.design.shape[1])
    place = (np.zeros(rows.n) if scores is None else scores, np.zeros(p) if extras is None else extras)
    here = _evaluated(rows, loss, precision, *place)
    accuracy, step, converged = 0.05 if scores is None else 1e-3, 0, False
    while step < max_iter and not converged:
        system = System(rows, here.curvature, precision, items)
        du, de = _direction(here, system, accuracy)
        longest = max(float(np.abs(du).max()), float(np.abs(de).max(initial=0.0)))
        there = _search(rows, loss, precision, here, du, de, longest)
        if there is None:  # no descent in floating point: as good as it gets
            converged = longest <= 1e-3
            break
        here, step = there, step + 1
        # Newton's step bounds what is left once it is solved well; an effect that the votes put no end to is let go.
        converged = (longest <= tol and accuracy <= 1e-3) or _separates(here, precision)
        accuracy = min(accuracy, max(1e-2 * longest, 1e-9)) if longest > tol else 1e-6
    return WalkSolution(here, precision, step, converged)


def solution_at(rows: Rows, loss: RowLoss, precision: Precision, scores: Floats, extras: Floats) -> WalkSolution:
    """What was found before, from its scores and effects."""
    return WalkSolution(_evaluated(rows, loss, precision, scores, extras), precision, 0, True)


def _evaluated(rows: Rows, loss: RowLoss, precision: Precision, scores: Floats, extras: Floats) -> Point:
    """The votes' loss and that of the prior together."""
    point = evaluate(rows, loss, 0.0, scores, extras)
    pull, held = precision.times(scores), precision.effects * extras
    point.objective += 0.5 * float(scores @ pull) + 0.5 * float(extras @ held)
    point.slopes += pull
    point.extra_slopes += held
    point.corner[np.diag_indices_from(point.corner)] += precision.effects
    return point


def _separates(point: Point, precision: Precision) -> bool:
    """Whether an effect that no prior holds has gone beyond all measure."""
    return bool(np.any(np.abs(point.extras[precision.effects == 0.0]) > SEPARATES))


def _direction(point: Point, system: System, accuracy: float) -> tuple[Floats, Floats]:
    """The Newton step, effects eliminated by their Schur complement."""
    through = system.solve(point.slopes, accuracy)
    if not len(point.extra_slopes):
        return -through, np.empty(0)
    if system.exact and len(point.extra_slopes) > MAX_CG_EFFECTS:
        across = system.solve_all(np.ascontiguousarray(point.border))
    else:
        columns = [system.solve(np.ascontiguousarray(column), accuracy) for column in point.border.T]
        across = np.column_stack(columns)
    schur = point.corner - point.border.T @ across
    schur[np.diag_indices_from(schur)] += 1e-9 * np.abs(np.diag(point.corner)) + 1e-9
    de: Floats = np.linalg.solve(schur, point.border.T @ through - point.extra_slopes).astype(np.float64)
    return -through - across @ de, de


def _search(
    rows: Rows, loss: RowLoss, precision: Precision, here: Point, du: Floats, de: Floats, longest: float
) -> Point | None:
    expected = float(here.slopes @ du + here.extra_slopes @ de)
    length = min(1.0, MAX_STEP / max(longest, 1e-300))
    for _ in range(50):
        there = _evaluated(rows, loss, precision, here.scores + length * du, here.extras + length * de)
        if there.objective <= here.objective + 1e-4 * length * expected + 1e-13 * abs(here.objective):
            return there
        length *= 0.5
    return None


def log_evidence(rows: Rows, found: WalkSolution, items: int) -> float:
    """Log marginal likelihood of the votes by Laplace's approximation, effects without a prior at their best."""
    point, system = found.point, System(rows, found.point.curvature, found.precision, items)
    determinant, held = system.log_determinant(), found.precision.effects > 0
    if held.any():
        border = np.ascontiguousarray(point.border[:, held])
        determinant += float(
            np.linalg.slogdet(point.corner[np.ix_(held, held)] - border.T @ system.solve_all(border))[1]
        )
    return -point.objective + 0.5 * (found.precision.log_determinant - determinant)
