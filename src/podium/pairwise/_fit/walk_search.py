"""How fast scores move, from the votes: the drift and the spread of newcomers with the largest marginal likelihood."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.pairwise._fit.walk_model import WalkModel
from podium.pairwise._fit.walks import Precision, WalkSolution, log_evidence, solve_walks

__all__ = ["Search"]

Floats = NDArray[np.float64]

LEAST_WALK = 1e-3  # log-odds walked over the whole time, below which nothing moves
MOST_STEP = 10.0  # log-odds walked from one time to the next
LEAST_SD, MOST_SD = 1e-3, 30.0
MAX_TRIES = 60


class Search:
    """Fits a model at drifts and spreads, each try from the scores of the last, and looks for the best of them."""

    def __init__(self, model: WalkModel, span: float, tol: float, max_iter: int) -> None:
        self.model, self.span, self.tol, self.max_iter = model, span, tol, max_iter
        self.scores: Floats | None = None
        self.extras: Floats | None = None

    def fit(self, drift: float, sd: float) -> WalkSolution:
        """The optimum there, from the last one."""
        precision = Precision.of(self.model.walks, sd, drift)
        found = solve_walks(
            self.model.rows, self.model.loss, precision, items=self.model.n, tol=self.tol, max_iter=self.max_iter,
            scores=self.scores, extras=self.extras,
        )  # fmt: skip
        self.scores, self.extras = found.scores, found.point.extras
        return found

    def evidence(self, drift: float, sd: float) -> float:
        """Log marginal likelihood there."""
        return log_evidence(self.model.rows, self.fit(drift, sd), self.model.n)

    def best(self, drift: float | None, sd: float | None) -> tuple[float, float, float]:
        """The best drift and spread, those given (not None) as they are, and the evidence there with that prior's.

        A spread that is looked for has the weak prior that Bradley-Terry's has: a handful of votes, which say nothing
        of it, must not make all items equal for certain.
        """
        from scipy.optimize import minimize, minimize_scalar

        free = [name for name, value in (("drift", drift), ("sd", sd)) if value is None]
        bounds = self._bounds()

        def values(at: Any) -> tuple[float, float]:
            tried = {"drift": drift, "sd": sd}
            for name, value in zip(free, np.atleast_1d(at).tolist(), strict=True):
                tried[name] = math.exp(min(max(value, bounds[name][0]), bounds[name][1]))
            return float(tried["drift"] or 0.0), float(tried["sd"] or 0.0)

        def loss(at: Any) -> float:
            tried, spread = values(at)
            weak = 0.5 * math.log(spread) ** 2 if sd is None else 0.0  # of the prior log sd ~ N(0, 1), as in `prior`
            return weak - self.evidence(tried, spread)

        if not free:
            return *values([]), -loss([])
        if len(free) == 1:
            found: Any = minimize_scalar(loss, bounds=bounds[free[0]], method="bounded", options={"xatol": 1e-2})
        else:
            first = np.array([math.log(0.5 / math.sqrt(self.span)), 0.0])
            simplex = first + np.array([[0.0, 0.0], [1.0, 0.0], [0.0, -0.7]])
            options: Any = {"initial_simplex": simplex, "xatol": 5e-2, "fatol": 5e-2, "maxfev": MAX_TRIES}
            found = minimize(loss, first, method="Nelder-Mead", options=options)
        return *values(found.x), -float(found.fun)

    def _bounds(self) -> dict[str, tuple[float, float]]:
        """Logarithms between which to look."""
        bounds = {"sd": (math.log(LEAST_SD), math.log(MOST_SD))}
        if self.span > 0:
            steps = self.model.walks.gap[self.model.walks.gap > 0]
            shortest = float(steps.min()) if len(steps) else self.span
            least, most = LEAST_WALK / math.sqrt(self.span), MOST_STEP / math.sqrt(shortest)
            bounds["drift"] = (math.log(least), math.log(most))
        return bounds
