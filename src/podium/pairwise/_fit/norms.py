"""Hard limits ‖w‖ ≤ W and ‖r‖ ≤ R in place of penalties, problems (3) and (13) of the RABF paper, by their multipliers.

At the optimum of loss + λ_w‖w‖² + λ_r‖r‖² the loss is the least that weights and residuals of these lengths allow. So
the optimum is where each multiplier is 0 and its limit kept, or positive and its limit met. There are three cases:

- λ_r = 0: residuals alone can make any scores, so that these are where the loss is least of all. It is so if features
  within their limit leave residuals within theirs, a matter of regression.
- λ_r > 0 and λ_w = 0: only residuals are at their limit.
- both are positive.

The dual, max over λ of min loss + λ_w(‖w‖² − W²) + λ_r(‖r‖² − R²), is concave with the slope (‖w‖² − W², ‖r‖² − R²):
a length falls as its own multiplier grows, also when the other multiplier is chosen best, so that roots are found one
inside the other where both together are not found at once.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from podium.errors import ConvergenceError, Option
from podium.pairwise._fit.feature_solver import FeatureSolution, Place

__all__ = ["Limits", "within_norms"]

Floats = NDArray[np.float64]
Point = tuple[float, float]
Solve = Callable[[Point, Place | None], FeatureSolution]

LEAST = 1e-9  # share of the loss of equal scores that a multiplier which stands for 0 may cost
SMALLEST = 1e-13  # multiplier, over that loss: below, linear systems are singular but for rounding
LARGEST = 1e12  # multiplier
ACCURACY = 1e-8  # of lengths
LONGEST = 3.0  # step of log λ while looking for the other side of a root


@dataclass(frozen=True, slots=True)
class Limits:
    """The multipliers, the optimum there, and which limits are met: 0 for weights, 1 for residuals."""

    penalties: Point
    solution: FeatureSolution
    met: tuple[int, ...]


def within_norms(solve: Solve, features: Floats, norms: Point, loss: float) -> Limits:
    """Minimise the loss within ‖w‖ ≤ norms[0], ‖r‖ ≤ norms[1].

    `solve(penalties, start)` finds penalised optima, and `loss` is that of equal scores.
    """
    search = _Search(solve, norms, loss)
    floor = search.floor
    free = search.at((floor, floor))
    if free.converged:
        split = _shortest(features, features @ free.place.weights + free.place.residuals, norms[0])
        if np.linalg.norm(split[1]) <= norms[1]:
            place = Place(*split, free.place.extras)
            return Limits((math.exp(floor), math.exp(floor)), replace(free, place=place), ())
    alone = search.meet(1, (floor, floor))
    if search.excess(alone)[0] <= 0.0:
        return search.result(alone, (1,))
    return search.result(search.meet_both(alone), (0, 1))


def _shortest(features: Floats, scores: Floats, norm: float) -> tuple[Floats, Floats]:
    """Weights within their limit that leave the shortest residuals to these scores."""
    left, sizes, right = np.linalg.svd(features, full_matrices=False)
    kept = sizes > 1e-12 * max(float(sizes.max(initial=0.0)), 1e-300)
    along, sizes = left[:, kept].T @ scores, sizes[kept]

    def weights(ridge: float) -> Floats:
        shrunk: Floats = along * sizes / (sizes**2 + ridge)
        return shrunk

    if np.linalg.norm(weights(0.0)) > norm:
        low, high = 0.0, float(np.linalg.norm(along * sizes)) / norm
        for _ in range(200):
            ridge = 0.5 * (low + high)
            low, high = (ridge, high) if np.linalg.norm(weights(ridge)) > norm else (low, ridge)
        chosen = right[kept].T @ weights(high)
    else:
        chosen = right[kept].T @ weights(0.0)
    return chosen, scores - features @ chosen


class _Search:
    """For multipliers, by their logarithms."""

    def __init__(self, solve: Solve, norms: Point, loss: float) -> None:
        self.solve, self.norms = solve, norms
        self.floor = math.log(max(LEAST * loss / (norms[0] ** 2 + norms[1] ** 2), SMALLEST * loss, 1e-300))
        self.found: dict[Point, FeatureSolution] = {}
        self.last: FeatureSolution | None = None

    def at(self, x: Point) -> FeatureSolution:
        """The penalised optimum."""
        if x not in self.found:
            start = None if self.last is None or not self.last.converged else self.last.place
            self.found[x] = self.last = self.solve((math.exp(x[0]), math.exp(x[1])), start)
        return self.found[x]

    def excess(self, x: Point) -> Floats:
        """Logarithm of each length over its limit."""
        place = self.at(x).place
        lengths = np.linalg.norm(place.weights), np.linalg.norm(place.residuals)
        ratios = [max(float(each), 1e-300) / norm for each, norm in zip(lengths, self.norms, strict=True)]
        return np.log(ratios)

    def result(self, x: Point, met: tuple[int, ...]) -> Limits:
        """What was looked for."""
        return Limits((math.exp(x[0]), math.exp(x[1])), self.at(x), met)

    def meet(self, k: int, x: Point) -> Point:
        """Move log λ_k from x until limit k is met, or to the floor if it is kept there."""

        def along(value: float) -> Point:
            return (value, x[1]) if k == 0 else (x[0], value)

        return along(self._root(lambda value: float(self.excess(along(value))[k]), x[k]))

    def meet_both(self, near: Point) -> Point:
        """Both multipliers positive: at once or, for each λ_r, the λ_w that meets its own limit first."""
        from scipy.optimize import root

        near = self.meet(0, near)
        ceiling = math.log(LARGEST)

        def excess(x: Floats) -> Floats:
            return self.excess((float(np.clip(x[0], self.floor, ceiling)), float(np.clip(x[1], self.floor, ceiling))))

        found = root(excess, np.array(near), tol=1e-10)
        at = float(found.x[0]), float(found.x[1])
        if self.floor < min(at) and max(at) < ceiling and np.abs(self.excess(at)).max() <= ACCURACY:
            return at
        chosen = near

        def outer(value: float) -> float:
            nonlocal chosen
            chosen = self.meet(0, (chosen[0], value))
            return float(self.excess(chosen)[1])

        value = self._root(outer, near[1])
        return self.meet(0, (chosen[0], value))

    def _root(self, excess: Callable[[float], float], begin: float) -> float:
        """Where a falling function of log λ is 0, or the floor if that is higher."""
        from scipy.optimize import brentq

        values: dict[float, float] = {}

        def known(x: float) -> float:
            if x not in values:
                values[x] = excess(x)
            return values[x]

        low = high = max(begin, self.floor)
        step = 1.0
        while known(high) > 0.0:
            if high > math.log(LARGEST):
                raise ConvergenceError(
                    "these limits ask for a penalty beyond all measure; raise the smaller number of ",
                    Option("max_norm"),
                )
            low, high, step = high, high + step, min(2.0 * step, LONGEST)
        while known(low) < 0.0 and low > self.floor:
            low, high, step = max(low - step, self.floor), low, min(2.0 * step, LONGEST)
        if known(low) <= 0.0 or known(high) == 0.0:
            return low if known(low) <= 0.0 else high
        found: float = brentq(known, low, high, xtol=1e-12, rtol=4 * np.finfo(float).eps)
        return found
