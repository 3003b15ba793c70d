"""Penalties from the data: how far weights and residuals may go, by the votes' approximate marginal likelihood.

The evidence (`feature_evidence`) is climbed in the logarithms of the two standard deviations by its slope: steps of
Fisher scoring, bent so that they agree with how the slope changed over the last one.
"""

from __future__ import annotations

import math
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.engine import running
from podium.pairwise._fit.feature_evidence import DenseEvidence, Evidence, prior_centre
from podium.pairwise._fit.feature_solver import FeatureProblem, FeatureSolution, Place, solve_features
from podium.pairwise._fit.many_evidence import SparseEvidence

__all__ = ["Climb", "Node", "Penalties", "choose_penalties", "log_sds", "possible_penalties"]

Floats = NDArray[np.float64]

WIDEST = math.log(1e5)  # as wide as a given prior is taken to be: wider ones say no less, but drown in rounding
SMALLEST, LARGEST = math.log(1e-3), math.log(30.0)  # ends of the range of log s, from the prior's centre
FIRST = math.log(0.5)  # where the climb begins, from there
LONGEST = 1.0  # step of log s
MAX_DENSE_ITEMS = 400  # items up to which the evidence is known exactly,
CHEAP_ITEMS, ITEMS_A_FEATURE = 200, 10  # and those beyond which it is not, where there are so many items for a feature
SETTLED = 1e-3  # distance to the top, in standard deviations of what the votes say, at which the climb ends
MAX_EVALUATIONS = 40
FIT_TOL = 1e-6  # of the optimum at each pair of penalties tried
ROUGHLY_SETTLED, ROUGH_FIT_TOL = 0.1, 1e-3  # the same with many items
SHARP = 0.05  # standard deviation of log s below which a penalty is taken for known
# Standard deviations from the mode at which other penalties are looked at; so spaced, five nodes have the variance of a
# normal distribution to 1 % (with steps of 1 they lack 7 %).
NODES = (-2.5, -1.25, 0.0, 1.25, 2.5)
LEAST_SHARE = 1e-4  # of the posterior, below which they are not
LEAST_INFORMATION = 0.5  # about log s: that of the prior alone is 1
BEND_STEP = 0.02  # of log s, for the second derivative of the evidence


@dataclass(frozen=True, slots=True)
class Penalties:
    """Chosen penalties, the solution there, and which of them stopped at an end of the range searched."""

    feature: float
    residual: float
    solution: FeatureSolution
    boundary: tuple[str, ...]
    free: tuple[int, ...] = ()  # 0 if the features' penalty was chosen, 1 if the residuals'
    evaluations: int = 0


def choose_penalties(
    problem: FeatureProblem,
    feature: float | None,
    residual: float | None,
    tol: float,
    max_iter: int,
    kind: type[Climb] | None = None,
) -> Penalties:
    """Choose the penalties that are None; the others stay as they are.

    `kind` is of the likelihood: by default that of pairs.
    """
    if not problem.features.any() and feature is None:
        feature = 1.0  # there is nothing to penalise
    free = tuple(k for k, given in enumerate((feature, residual)) if given is None)
    centre = prior_centre(problem)
    x = centre + FIRST
    for k, given in enumerate((feature, residual)):
        if given is not None:
            x[k] = min(log_sds((given, given))[k], centre[k] + WIDEST)
    climb = (kind or Climb)(problem, free, max_iter)
    if free:
        x = climb.top(x)
    chosen = _penalties(x)
    at = chosen[0] if feature is None else feature, chosen[1] if residual is None else residual
    solution = climb.solve(at, tol, climb.best)
    ends = [k for k in free if min(x[k] - centre[k] - SMALLEST, centre[k] + LARGEST - x[k]) < 0.025]
    names = tuple(("feature", "residual")[k] for k in ends)
    return Penalties(*at, solution, names, free, climb.evaluations)


@dataclass(frozen=True, slots=True)
class Node:
    """Penalties that the votes leave possible, how probable they are, and the optimum there."""

    share: float
    penalties: tuple[float, float]
    place: Place


def possible_penalties(
    problem: FeatureProblem,
    chosen: Penalties,
    max_iter: int,
    kind: type[Climb] | None = None,
    engine: Any = None,
) -> list[Node]:
    """Penalties around the chosen ones with their share of the posterior; none where the votes leave no doubt.

    On a grid of five nodes a penalty, around the mode, in standard deviations of the evidence. With many items it
    is taken for normal, and looked at where a rule of the third degree does. The optima at the nodes do not depend on
    each other, so an engine may share them out.
    """
    climb = (kind or Climb)(problem, chosen.free, max_iter)
    climb.best = chosen.solution.place
    x, free = log_sds((chosen.feature, chosen.residual)), list(chosen.free)
    x = np.minimum(x, prior_centre(problem) + WIDEST)
    if not free:
        return []
    covariance = np.linalg.inv(climb.information(x))
    vague = [k for k in range(len(free)) if math.sqrt(covariance[k, k]) >= SHARP]
    if not vague:
        return []
    root = np.linalg.cholesky(covariance[np.ix_(vague, vague)])
    grid, shares = _grid(len(vague)) if climb.few else _rule(len(vague))
    at = np.repeat(x[None], len(grid), axis=0)
    at[:, [free[k] for k in vague]] += grid @ root.T
    with running(1, engine=engine) as runner:
        places = list(runner.map(_optimum_there, at, climb))
    if climb.few and isinstance(climb.evidence, DenseEvidence):
        values = [climb.evidence.at(there, place, slopes=False).value for there, place in zip(at, places, strict=True)]
        shares = np.exp(np.array(values) - max(values))
    shares /= shares.sum()
    kept = np.flatnonzero(shares >= LEAST_SHARE)
    shares = shares / shares[kept].sum()
    return [Node(float(shares[k]), _penalties(at[k]), places[k]) for k in kept]


def _optimum_there(x: Floats, climb: Climb) -> Place:
    """The optimum at one node; what the solver learns on the way is not passed on: the order does not matter."""
    own = copy(climb)
    own.problem = copy(climb.problem)
    return own.optimum(x)


def _grid(size: int) -> tuple[Floats, Floats]:
    """Nodes in standard deviations, and their shares if the evidence were normal."""
    grid = np.stack(np.meshgrid(*[NODES] * size, indexing="ij"), axis=-1).reshape(-1, size)
    return grid, np.exp(-0.5 * (grid**2).sum(axis=1))


def _rule(size: int) -> tuple[Floats, Floats]:
    """Few nodes whose means of polynomials of the third degree are those of a normal distribution."""
    if size == 1:
        return math.sqrt(3.0) * np.array([[-1.0], [0.0], [1.0]]), np.array([1.0, 4.0, 1.0]) / 6.0
    return math.sqrt(size) * np.vstack([np.eye(size), -np.eye(size)]), np.full(2 * size, 0.5 / size)


def log_sds(penalties: tuple[float, float]) -> Floats:
    """(log s_w, log s_r) of penalties."""
    return -0.5 * np.log(2.0 * np.maximum(penalties, 1e-290))  # below, the variance is no number


def _penalties(x: Floats) -> tuple[float, float]:
    feature, residual = 0.5 * np.exp(-2.0 * x)
    return float(feature), float(residual)


class Climb:
    """To the top of the evidence, in the coordinates that are free."""

    def __init__(self, problem: FeatureProblem, free: tuple[int, ...], max_iter: int) -> None:
        self.problem, self.free, self.max_iter = problem, list(free), max_iter
        self.few = self._is_small(*problem.features.shape)
        self.evidence = self._evidence()
        self.best: Place | None = None
        self.evaluations = 0

    def _is_small(self, n: int, d: int) -> bool:
        """Whether the evidence is known exactly, and looked at often."""
        return n <= MAX_DENSE_ITEMS and (n <= CHEAP_ITEMS or n < ITEMS_A_FEATURE * d)

    def _evidence(self) -> DenseEvidence | SparseEvidence:
        return DenseEvidence(self.problem) if self.few else SparseEvidence(self.problem)

    def solve(self, penalties: tuple[float, float], tol: float, near: Place | None) -> FeatureSolution:
        """The optimum at these penalties, looked for from `near`."""
        return solve_features(self.problem, penalties, tol, self.max_iter, near)

    def top(self, x: Floats) -> Floats:
        """Climb from x to the top."""
        centre, free = prior_centre(self.problem), self.free
        low, high = (centre + end for end in (SMALLEST, LARGEST))
        before: tuple[Floats, Evidence] | None = None
        while True:
            here = self._visit(x)
            lower = before is not None and here.value < before[1].value - 1e-8
            if lower and before is not None and self.evaluations < MAX_EVALUATIONS:
                x = before[0] + 0.5 * (x - before[0])  # too far
                continue
            step = np.zeros(2)
            step[free] = self._step(x, here, before)
            there = x.copy()  # a penalty that was given stays, wherever it is
            there[free] = np.clip(x + step, low, high)[free]
            left = math.sqrt(max(float(here.slope[free] @ step[free]), 0.0))
            if (
                left <= (SETTLED if self.few else ROUGHLY_SETTLED)
                or np.array_equal(there, x)
                or self.evaluations >= MAX_EVALUATIONS
            ):
                return there
            before, x = (x, here), there

    def optimum(self, x: Floats) -> Place:
        """Where the penalised loss is least."""
        at = _penalties(x)
        return self.solve(at, FIT_TOL if self.few else ROUGH_FIT_TOL, self.best).place

    def information(self, x: Floats) -> Floats:
        """What is known of the free coordinates at the top: minus the evidence's second derivative, or about so."""
        if not self.few:
            return self._visit(x).information[np.ix_(self.free, self.free)]
        ends = [[self._visit(x + side * step).slope[self.free] for side in (1.0, -1.0)] for step in self._steps()]
        bend = np.array([(back - ahead) / (2.0 * BEND_STEP) for ahead, back in ends])
        values, axes = np.linalg.eigh(0.5 * (bend + bend.T))
        known: Floats = (axes * np.maximum(values, LEAST_INFORMATION)) @ axes.T
        return known

    def _steps(self) -> list[Floats]:
        return [BEND_STEP * (np.arange(2) == k) for k in self.free]

    def _visit(self, x: Floats) -> Evidence:
        self.evaluations += 1
        self.best = self.optimum(x)
        return self.evidence.at(x, self.best)

    def _step(self, x: Floats, here: Evidence, before: tuple[Floats, Evidence] | None) -> Floats:
        """Newton's step, with the expected information bent to agree with the last change of the slope."""
        free = self.free
        slope, bend = here.slope[free], -here.information[np.ix_(free, free)]
        plain: Floats = np.asarray(np.linalg.solve(-bend, slope), dtype=np.float64)
        if before is not None:
            moved = (x - before[0])[free]
            off = slope - before[1].slope[free] - bend @ moved
            square = float(moved @ moved)
            bent = bend + (np.outer(off, moved) / square if square > 0.0 else 0.0)
            if np.linalg.det(bent) != 0.0:
                step: Floats = np.asarray(np.linalg.solve(-bent, slope), dtype=np.float64)
                if slope @ step > 0.1 * (slope @ plain) and slope @ step < 10.0 * (slope @ plain):
                    plain = step
        longest = float(np.abs(plain).max())
        return plain if longest <= LONGEST else plain * (LONGEST / longest)
