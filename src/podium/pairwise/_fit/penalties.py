"""Penalties from the data: how far weights and residuals may go, by the votes' approximate marginal likelihood.

The penalties are those of a random-effects model, w ~ N(0, 1/(2λ_w)) and r ~ N(0, 1/(2λ_r)); integrating w and r out
leaves, up to constants, with J the penalised loss and H its Hessian at the optimum in (w, r),

    −log P(votes | λ)  ≈  J  +  ½ log det H  −  d/2 log 2λ_w  −  n/2 log 2λ_r

for the log loss (Breslow & Clayton 1993). The squared loss has an unknown noise variance, whose best value is J/N for
N votes, and there N/2 log J takes the place of J; the approximation is then exact.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from podium.pairwise._fit.feature_solver import FeatureProblem, FeatureSolution, Place, solve_features
from podium.pairwise._fit.likelihoods import SquaredRows

__all__ = ["Penalties", "choose_penalties"]

Floats = NDArray[np.float64]

LARGEST = 10.0  # the largest standard deviation of r, and of one feature's part in the scores, in log-odds


@dataclass(frozen=True, slots=True)
class Penalties:
    """Chosen penalties, the solution there, and which of them stopped at an end of the range searched."""

    feature: float
    residual: float
    solution: FeatureSolution
    boundary: tuple[str, ...]


def choose_penalties(
    problem: FeatureProblem,
    feature: float | None,
    residual: float | None,
    tol: float,
    max_iter: int,
    start: Callable[[tuple[float, float]], Place] | None = None,
) -> Penalties:
    """Choose the penalties that are None; the others stay as they are.

    `start` says where the solver begins for given penalties: needed where the optimum may depend on it, so that the
    answer does not depend on the path of the search. By default it is where the last one ended.
    """
    given = [feature, residual]
    if not problem.features.any() and feature is None:
        given[0] = 1.0  # there is nothing to penalise
    free = [k for k in (0, 1) if given[k] is None]
    ranges = np.log(_ranges(problem))
    best: Place | None = None

    def penalties(logs: Floats) -> tuple[float, float]:
        full = [given[k] if given[k] is not None else float(np.exp(logs[free.index(k)])) for k in (0, 1)]
        assert full[0] is not None
        assert full[1] is not None
        return full[0], full[1]

    def cost(logs: Floats) -> float:
        nonlocal best
        at = penalties(logs)
        found = solve_features(problem, at, 1e-4, max_iter, start(at) if start else best)
        best = found.place
        return _evidence(problem, found, penalties(logs))

    chosen = _descend(cost, ranges[free]) if free else np.empty(0)
    solution = solve_features(problem, penalties(chosen), tol, max_iter, start(penalties(chosen)) if start else best)
    ends = [
        name
        for name, value, (low, high) in zip(np.array(["feature", "residual"])[free], chosen, ranges[free], strict=True)
        if min(value - low, high - value) < 0.05
    ]
    return Penalties(*penalties(chosen), solution, tuple(str(name) for name in ends))


def _evidence(problem: FeatureProblem, found: FeatureSolution, penalties: tuple[float, float]) -> float:
    """−log of the marginal likelihood."""
    n, d = problem.features.shape
    place = found.place
    loss = problem.objective(place, penalties)
    if isinstance(problem.loss, SquaredRows):
        votes = float(problem.loss.total.sum())
        loss = 0.5 * votes * np.log(max(loss, 1e-300))
    point = problem.evaluate(place)
    half = 0.5 * problem.system(point.curvature, point.diagonal, penalties).log_determinant()
    return float(loss + half - 0.5 * d * np.log(2.0 * penalties[0]) - 0.5 * n * np.log(2.0 * penalties[1]))


def _ranges(problem: FeatureProblem) -> Floats:
    """Smallest and largest penalty worth a thought: of w, and of r."""
    n, d = problem.features.shape
    start = problem.evaluate(Place(np.zeros(d), np.zeros(n), np.zeros(_extras(problem))))
    per_item = max(float(start.diagonal.mean()), 1e-12)
    variances = problem.features.var(axis=0)
    spread = float(variances[variances > 0].mean()) if variances.any() else 1.0
    low = 1e-7 * per_item if isinstance(problem.loss, SquaredRows) else 0.5 / LARGEST**2
    return np.array([[low * spread, 50.0 * per_item * n * spread], [low, 50.0 * max(per_item, 0.25)]])


def _extras(problem: FeatureProblem) -> int:
    return 0 if problem.rows.design is None else problem.rows.design.shape[1]


def _descend(cost, ranges: Floats) -> Floats:  # type: ignore[no-untyped-def]
    """A coarse grid, then the simplex method, between the ends of the ranges."""
    from scipy.optimize import minimize

    grids = [np.linspace(low, high, 4 + 2 * (len(ranges) == 1))[1:-1] for low, high in ranges]
    starts = np.stack(np.meshgrid(*grids), axis=-1).reshape(-1, len(ranges))
    start = min(starts, key=cost)
    simplex = np.vstack([start, start + np.diag(0.2 * (ranges[:, 1] - ranges[:, 0]))])
    found = minimize(
        cost,
        start,
        method="Nelder-Mead",
        bounds=[(float(low), float(high)) for low, high in ranges],
        options={"initial_simplex": simplex, "xatol": 0.02, "fatol": 1e-3, "maxfev": 120},
    )
    return np.asarray(found.x, dtype=np.float64)
