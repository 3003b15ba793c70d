"""The batch model of the loss that the passive-aggressive updates work on: large margins around grades and ranges."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from podium.data.validation import number_option, whole_option
from podium.errors import ConvergenceWarning, InputError
from podium.ordinal.base import ThresholdClassifier, weights_of
from podium.ordinal.labels import Array
from podium.ordinal.scaling import inverse, moments, rescaled
from podium.text import counted

__all__ = ["MarginOrdinal"]

MAX_FEATURES = 3000  # beyond, the system of each step would not fit
TO_THE_WALL = 0.995  # share of the way to the nearest bound that a step may go
ROUNDING, MAX_STALE = 1e-12, 3  # steps that gain no more than rounding, after which a gap near `tol` is enough
MIN_RIDGE = 1e-13  # of the largest entry: keeps a system solvable whose threshold few labels hold


class MarginOrdinal(ThresholdClassifier):
    """Batch learner of large margins for grades and ranges: minimises the loss that passive-aggressive updates bound.

    A label low..high asks that the thresholds below low lie at least 1 under the score w·x, and those from high on at
    least 1 above it. `fit` minimises

        sum_rows sum_i max(0, 1 ± (theta_i - w·x))  +  l2/2 sum_j (s_j w_j)²

    with s_j the standard deviation of column j: loss (2) of Manwani and Chandra, the interval-insensitive surrogate of
    Antoniuk, Franc and Hlaváč; for exact grades, the support vector machine of Chu and Keerthi with implicit
    constraints. The thresholds are free, and come out in order. It is what one would compare the online learners with;
    `CumulativeLogit` is faster and has probabilities.

    Parameters
    ----------
    l2 : float
        Pull of w towards zero, per standard deviation of each column; more than 0.
    classes : sequence, optional
        The grades from lowest to highest; without it the sorted labels.
    max_iter, tol
        Steps of the interior-point method allowed, and the gap between minimum and bound, relative to the loss, at
        which to stop.

    Attributes
    ----------
    coef_, thresholds_, classes_, n_iter_
        A threshold that all labels lie on one side of is infinite: no row gets the grade beyond it.
    loss_ : float
        The minimum reached.
    gap_ : float
        By how much it can be above the true minimum, from the dual.

    References
    ----------
    Antoniuk, Franc and Hlaváč, "Interval insensitive loss for ordinal classification", ACML 2014.
    Chu and Keerthi, "New approaches to support vector ordinal regression", ICML 2005.

    Examples
    --------
    >>> model = MarginOrdinal().fit([[0.0], [1.0], [2.0], [3.0]], [[1, 1], [1, 2], [2, 3], [3, 3]])
    >>> model.predict([[-1.0], [1.5], [4.0]]).tolist()
    [1, 2, 3]
    """

    def __init__(self, *, l2: float = 1.0, classes: Any = None, max_iter: int = 100, tol: float = 1e-9) -> None:
        self.l2 = l2
        self.classes = classes
        self.max_iter = max_iter
        self.tol = tol

    def fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, y_lower: Any = None, y_upper: Any = None
    ) -> Self:
        """Fit to labels (n,), (n, 2), or `y_lower=` and `y_upper=`; a weight counts its row so many times."""
        number_option("l2", self.l2, above=0.0)
        number_option("tol", self.tol, above=0.0)
        whole_option("max_iter", self.max_iter, least=1)
        X = self._rows(X, reset=True)
        low, high = self._labels(y, y_lower, y_upper, X.shape[0])
        if X.shape[1] > MAX_FEATURES:
            raise InputError(
                f"X has {counted(X.shape[1], 'feature')}, MarginOrdinal takes {MAX_FEATURES:,} at most; use "
                "PassiveAggressiveOrdinal, which has no such limit"
            )
        weight = np.ones(X.shape[0]) if sample_weight is None else weights_of(sample_weight, X)
        if not weight.any():
            raise InputError("all sample weights are 0, so there is nothing to learn from")
        rows, labels = X, (low, high)
        if not weight.all():
            X, low, high, weight = (each[weight > 0] for each in (X, low, high, weight))
        mean, deviation = moments(X, weight)
        if not np.isfinite(deviation).all():
            self._not_finite(X)
        factor = inverse(mean, deviation)
        scaled = np.asarray(rescaled(X.toarray() if hasattr(X, "toarray") else X, mean, factor), dtype=np.float64)
        w, theta = self._solve(scaled, low, high, weight)
        self.coef_ = w * factor
        self.thresholds_ = np.maximum.accumulate(theta + self.coef_ @ mean)
        self._say_if_one_grade(rows, *labels)
        return self

    def _solve(self, X: Array, low: Array, high: Array, weight: Array) -> tuple[Array, Array]:
        """w and the thresholds; those that all labels lie on one side of are infinite."""
        K = len(self.classes_)
        i = np.arange(K - 1)
        theta = np.zeros(K - 1)
        theta[i < high.min()] = -np.inf  # no label lies below these
        theta[i >= low.max()] = np.inf  # nor above those; between two such ones, w = 0 suits every label
        inside = np.flatnonzero(np.isfinite(theta))
        self.loss_, self.gap_, self.n_iter_ = 0.0, 0.0, 0
        w = np.zeros(X.shape[1])
        if low.max() > high.min():
            programme = _Programme.of(X, low, high, weight, inside, float(self.l2))
            w, theta[inside] = self._interior_point(programme)
        else:
            theta[(i >= low.max()) & (i < high.min())] = 0.0
        return w, theta

    def _interior_point(self, p: _Programme) -> tuple[Array, Array]:
        point, best, stale = p.start(), np.inf, 0
        for step in range(1, self.max_iter + 1):
            point = p.step(point)
            self.n_iter_, (loss, bound) = step, p.loss_and_bound(point)
            self.loss_, self.gap_ = loss, max(loss - bound, 0.0)
            size = max(1.0, abs(loss))
            stale = stale + 1 if loss > best - ROUNDING * size else 0
            best = min(best, loss)
            enough = float(self.tol) * float(size)
            if self.gap_ <= enough or (stale >= MAX_STALE and self.gap_ <= 1e3 * enough):
                break
        else:
            warnings.warn(
                f"the loss may still be {self.gap_:.2g} above its minimum after {self.max_iter} steps; raise max_iter",
                ConvergenceWarning,
                stacklevel=4,
            )
        d = p.X.shape[1]
        return point.u[:d], point.u[d:]


@dataclass
class _Point:
    """Where the interior-point method stands: parameters, losses, distances from the margins, and multipliers."""

    u: Array  # w and thresholds
    loss: Array  # (rows, thresholds), above 0
    slack: Array  # what a margin has beyond what it must have, above 0
    force: Array  # multiplier of the margin, between 0 and its weight
    rest: Array  # its weight less that, kept apart: the difference of the two would lose its digits


@dataclass
class _Programme:
    """minimise l2/2 |w|² + sum weight · loss   subject to   side (w·x - theta) + loss - slack = 1,  loss, slack >= 0.

    `side` is 1 where a threshold must lie under the score, -1 where over it; pairs of row and threshold that a label
    says nothing about have weight 0. A primal-dual method: Newton steps on the conditions of optimality, with
    force · slack and (weight - force) · loss driven to 0 together (Mehrotra, 1992).
    """

    X: Array
    side: Array
    weight: Array
    used: Array
    l2: float

    @classmethod
    def of(cls, X: Array, low: Array, high: Array, weight: Array, inside: Array, l2: float) -> _Programme:
        side = np.where(inside < low[:, None], 1.0, np.where(inside >= high[:, None], -1.0, 0.0))
        return cls(X, side, np.broadcast_to(weight[:, None], side.shape), side != 0, l2)

    def margins(self, u: Array) -> Array:
        """side (w·x - theta) of every pair."""
        d = self.X.shape[1]
        distance: Array = self.side * ((self.X @ u[:d])[:, None] - u[d:])
        return distance

    def back(self, force: Array) -> Array:
        """What the forces of all pairs add up to along w and along each threshold."""
        pull = self.side * force
        return np.concatenate([self.X.T @ pull.sum(axis=1), -pull.sum(axis=0)])

    def start(self) -> _Point:
        u = np.zeros(self.X.shape[1] + self.side.shape[1])
        ones = np.ones(self.side.shape)
        return _Point(u, 1.5 * ones, 0.5 * ones, 0.5 * self.weight, 0.5 * self.weight)

    def step(self, p: _Point) -> _Point:
        """A predictor, to see how far the products can fall, and a corrector that aims there."""
        pairs = max(int(self.used.sum()), 1)
        rest = p.rest
        now = self._mean(p.force * p.slack + rest * p.loss, pairs)
        solve = self._system(p, rest)
        zero = np.zeros(self.side.shape)
        du, dl, ds, df = solve(-p.force * p.slack, -rest * p.loss)
        a, b = self._room(p, rest, dl, ds, df)
        then = self._mean((p.force + b * df) * (p.slack + a * ds) + (rest - b * df) * (p.loss + a * dl), pairs)
        aim = now * (then / now) ** 3 if now > 0 else 0.0
        du, dl, ds, df = solve(
            np.where(self.used, aim - p.force * p.slack - df * ds, zero),
            np.where(self.used, aim - rest * p.loss + df * dl, zero),
        )
        a, b = (min(1.0, TO_THE_WALL * each) for each in self._room(p, rest, dl, ds, df, most=np.inf))
        a = b = min(a, b)  # the quadratic term ties w to the forces: one length for both
        return _Point(p.u + a * du, p.loss + a * dl, p.slack + a * ds, p.force + b * df, rest - b * df)

    def _mean(self, products: Array, pairs: int) -> float:
        return float(products[self.used].sum() / (2 * pairs))

    def _system(self, p: _Point, rest: Array) -> Any:
        """The Newton system, factored once for predictor and corrector."""
        d = self.X.shape[1]
        curvature = np.where(self.used, 1.0 / (p.loss / rest + p.slack / p.force), 0.0)
        H = np.empty((len(p.u), len(p.u)))
        H[:d, :d] = (self.X * curvature.sum(axis=1)[:, None]).T @ self.X
        H[:d, d:] = -self.X.T @ curvature
        H[d:, :d] = H[:d, d:].T
        H[d:, d:] = np.diag(curvature.sum(axis=0))
        H[np.arange(d), np.arange(d)] += self.l2
        H[np.diag_indices(len(H))] += MIN_RIDGE * H.diagonal().max()
        factor = cho_factor(H)
        off = np.where(self.used, self.margins(p.u) + p.loss - 1.0 - p.slack, 0.0)
        pulled = np.concatenate([self.l2 * p.u[:d], np.zeros(len(p.u) - d)]) - self.back(
            np.where(self.used, p.force, 0.0)
        )

        def solve(one: Array, two: Array) -> tuple[Array, Array, Array, Array]:
            h = np.where(self.used, -off - two / rest + one / p.force, 0.0)
            du = cho_solve(factor, -pulled + self.back(curvature * h))
            df = curvature * (h - self.margins(du))
            return du, (two + p.loss * df) / rest, (one - p.slack * df) / p.force, df

        return solve

    def _room(self, p: _Point, rest: Array, dl: Array, ds: Array, df: Array, most: float = 1.0) -> tuple[float, float]:
        """How far both kinds of variables can go until one of them reaches its bound."""
        primal = min(_room(p.loss, dl, self.used, most), _room(p.slack, ds, self.used, most))
        dual = min(_room(p.force, df, self.used, most), _room(rest, -df, self.used, most))
        return primal, dual

    def loss_and_bound(self, p: _Point) -> tuple[float, float]:
        """The value of these parameters, and one that no parameters go below: the dual's, at forces that balance.

        Along each threshold the forces of both sides must be equal; the larger is scaled down to the smaller.
        """
        d = self.X.shape[1]
        loss = np.maximum(0.0, 1.0 - self.margins(p.u))
        value = self.l2 / 2 * float(p.u[:d] @ p.u[:d]) + float((self.weight * loss)[self.used].sum())
        force = np.where(self.used, p.force, 0.0)
        under, over = (np.where(self.side == side, force, 0.0).sum(axis=0) for side in (1.0, -1.0))
        less = np.minimum(under, over)
        force = force * np.where(self.side > 0, less / under, less / over)
        pull = self.X.T @ (self.side * force).sum(axis=1)
        return value, float(force.sum()) - float(pull @ pull) / (2 * self.l2)


def _room(value: Array, change: Array, used: Array, most: float) -> float:
    falls = used & (change < 0)
    return min(most, float((value[falls] / -change[falls]).min())) if falls.any() else min(most, 1e3)
