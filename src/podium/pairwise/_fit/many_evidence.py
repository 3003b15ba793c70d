"""The evidence of `feature_evidence` for very many items: its slope and its sharpness, without an n × n matrix.

Traces are those of the preconditioner, which has L replaced by its diagonal, mended by a few random probes, each solved
by conjugate gradients, as the difference of the two on the same probe (Hutchinson 1990 with a control variate). The
variance of a row's margin, which only the terms of second order need, is that of the residuals with the weights held
fixed (see `many_items`), and what the weights add is shared evenly among the rows. The effects of covariates, few
beside the items, are held fixed.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from podium.kernels.pairwise.bradley_terry import scatter_difference
from podium.pairwise._fit.feature_evidence import Evidence, derivatives, noise_unit, prior_centre
from podium.pairwise._fit.feature_solver import FeatureProblem, Place
from podium.pairwise._fit.likelihoods import SquaredRows
from podium.pairwise._fit.many_items import SparseInverse
from podium.pairwise._fit.prior import NEGLIGIBLE

__all__ = ["SparseEvidence"]

Floats = NDArray[np.float64]

PROBED, MIN_PROBES = 10_000, 2  # probes times items, and probes, at least
SEED = 1996  # fixed, so that the same data always give the same penalties
ACCURACY = 1e-2  # of conjugate gradients
APART = 0.02  # least distance of log s for a derivative of δ


class SparseEvidence:
    """The slope of the evidence; what δ adds to it comes from the values of δ met on the way."""

    def __init__(self, problem: FeatureProblem) -> None:
        self.problem = problem
        self.centre = prior_centre(problem)
        n, d = problem.features.shape
        rng = np.random.default_rng(SEED)
        probes = rng.choice([-1.0, 1.0], size=(max(MIN_PROBES, -(-PROBED // n)), d + n))
        self.signs: Floats = np.ascontiguousarray(probes.T)
        self.last: tuple[float, float] | None = None
        self.second_slope = 0.0

    def at(self, x: Floats, place: Place) -> Evidence:
        """What is known of F at the logarithms x of (s_w, s_r), whose optimum is `place`."""
        problem, d = self.problem, self.problem.features.shape[1]
        ridges = np.exp(-2.0 * x)
        penalties = 0.5 * float(ridges[0]), 0.5 * float(ridges[1])
        point = problem.evaluate(place)
        system = problem.system(point.curvature, point.diagonal, penalties)
        rough = problem.preconditioner(point.curvature, point.diagonal, penalties)
        signs = self.signs
        solved = system.solve_columns(signs, ACCURACY)
        off = signs * (solved - rough.precondition_columns(signs))
        traces = np.array(rough.traces()) + np.array([off[:d].sum(), off[d:].sum()]) / signs.shape[1]
        square = float(np.sum((signs[d:] - ridges[1] * solved[d:]) ** 2)) / signs.shape[1]
        sizes = np.array([d, len(signs) - d])
        freedom = np.clip(sizes - ridges * traces, 0.0, sizes)
        parts = ridges * np.array([place.weights @ place.weights, place.residuals @ place.residuals])
        unit, _ = noise_unit(problem, place, 0.5 * float(parts.sum()))
        slope = unit * parts - freedom - (x - self.centre)
        if not isinstance(problem.loss, SquaredRows):
            margin = problem.rows.margin(problem.scores(place), place.extras)
            bend, second = self._higher(system, margin, place, ridges, float(freedom.sum()))
            slope += self._learned(x, second, float(freedom[1])) - 0.5 * bend
        information = np.diag([2.0 * rough.squared_share(), 2.0 * square]) + np.eye(2)
        return Evidence(float("nan"), slope, information)

    def _higher(
        self, system: object, margin: Floats, place: Place, ridges: Floats, freedom: float
    ) -> tuple[Floats, float]:
        """The movement of log det through the curvature, and δ."""
        problem, rows = self.problem, self.problem.rows
        curvature, third, fourth = derivatives(problem.loss, margin, place.extras)
        inverse = SparseInverse(rows.n, rows.left, rows.right, curvature, float(ridges[1]), problem.scores(place))
        # Rows that repeat a pair, as those of single votes with covariates do, are no graph to send messages on.
        gaps = (
            inverse.gaps if rows.design is None else 1 / inverse.diagonal[rows.left] + 1 / inverse.diagonal[rows.right]
        )
        gaps = gaps + max(freedom - float(curvature @ gaps), 0.0) / max(float(curvature.sum()), 1e-300)
        push = np.zeros(rows.n)
        scatter_difference(rows.left, rows.right, np.ascontiguousarray(third * gaps), push)
        force = np.concatenate([problem.features.T @ push, push])
        moved = system.solve(force, ACCURACY)  # type: ignore[attr-defined]
        d = len(place.weights)
        along = 2.0 * ridges * np.array([place.weights @ moved[:d], place.residuals @ moved[d:]])
        return along, (float(force @ moved) - float(fourth @ gaps**2)) / 8.0

    def _learned(self, x: Floats, second: float, freedom: float) -> Floats:
        """δ′, from how δ changed since the last visit; features, few beside the items, hardly change it.

        δ goes with the squared variance of the residuals, which grows as s_r^(2·share) where the prior has that share.
        """
        n = self.problem.rows.n
        if abs(second) <= NEGLIGIBLE * n:
            return np.zeros(2)
        if self.last is None:
            self.last, self.second_slope = (float(x[1]), second), 4.0 * second * max(1.0 - freedom / n, 0.0)
        elif abs(x[1] - self.last[0]) >= APART:
            self.second_slope = (second - self.last[1]) / (float(x[1]) - self.last[0])
            self.last = float(x[1]), second
        return np.array([0.0, self.second_slope])
