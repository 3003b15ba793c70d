"""The cumulative logit (proportional odds) model for grades and ranges of grades: the accurate batch learner."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from podium.data.validation import check_is_fitted, number_option, whole_option
from podium.errors import ConvergenceWarning, DataWarning, InputError, SeparationWarning
from podium.kernels.ordinal import logit as kernel
from podium.ordinal.base import ThresholdClassifier, weights_of
from podium.ordinal.labels import Array
from podium.ordinal.scaling import inverse, moments, rescaled
from podium.text import some

__all__ = ["CumulativeLogit"]

SEPARATED = 30  # a spread of log-odds from which on it is asked whether a direction separates the grades
DIRECT = 1500  # parameters up to which the Newton system is solved by Cholesky; beyond it, by conjugate gradients


class CumulativeLogit(ThresholdClassifier):
    """Batch ordinal regression: P(grade <= k) = 1 / (1 + exp(w·x - theta_k)), fitted by Newton's method.

    A range counts with the summed probability of its grades, so nothing is guessed about where inside it the truth
    lies. `fit` minimises the sum of -log P(range) plus l2/2 sum_j (s_j w_j)² with s_j the standard deviation of column
    j, so that the units of X do not matter; the thresholds are free but for their order.

    Parameters
    ----------
    l2 : float
        Pull of w towards zero, per standard deviation of each column. With 0, data that some direction separates have
        no finite optimum.
    classes : sequence, optional
        The grades from lowest to highest; without it the sorted labels.
    max_iter, tol
        Newton steps allowed, and the predicted gain, relative to the loss, below which to stop.

    Attributes
    ----------
    coef_, thresholds_, classes_, n_iter_
        A grade outside all that the labels cover gets thresholds of -inf or inf, that is, probability 0. Grades that
        no label tells apart, as each range holds all or none of them, share their probability evenly at the mean of X,
        and a warning names them.
    loss_ : float
        The minimum reached.

    References
    ----------
    McCullagh, "Regression models for ordinal data", JRSS B 42 (1980).

    Examples
    --------
    >>> model = CumulativeLogit().fit([[0.0], [1.0], [2.0], [3.0]], [[1, 1], [1, 2], [2, 3], [3, 3]])
    >>> model.predict([[-1.0], [4.0]]).tolist()
    [1, 3]
    >>> model.predict_proba([[1.5]]).round(2).tolist()
    [[0.39, 0.22, 0.39]]
    """

    def __init__(self, *, l2: float = 1.0, classes: Any = None, max_iter: int = 100, tol: float = 1e-10) -> None:
        self.l2 = l2
        self.classes = classes
        self.max_iter = max_iter
        self.tol = tol

    def fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, y_lower: Any = None, y_upper: Any = None
    ) -> Self:
        """Fit to labels (n,), (n, 2), or `y_lower=` and `y_upper=`."""
        number_option("l2", self.l2, least=0.0)
        number_option("tol", self.tol, least=0.0)
        whole_option("max_iter", self.max_iter, least=1)
        rows = X = self._rows(X, reset=True)
        low, high = self._labels(y, y_lower, y_upper, X.shape[0])
        ends, weight = (low, high), np.ones(1)
        if sample_weight is not None:
            weight = weights_of(sample_weight, X)
            if not weight.any():
                raise InputError("all sample weights are 0, so there is nothing to learn from")
        keep = ((low > 0) | (high < len(self.classes_) - 1)) & (weight > 0)  # a label open at both ends says nothing
        if keep.any() and not keep.all():
            X, low, high, weight = X[keep], low[keep], high[keep], weight if len(weight) == 1 else weight[keep]
        mean, deviation = moments(X, None if sample_weight is None else weight)
        if not np.isfinite(deviation).all():
            self._not_finite(X)
        factor = inverse(mean, deviation)
        problem = _Problem(rescaled(X, mean, factor), low, high, weight, len(self.classes_), float(self.l2))
        w, theta, self.loss_, self.n_iter_ = _newton(problem, self.max_iter, float(self.tol))
        theta = self._shared_evenly(theta, low, high, float(np.mean(problem.X @ w)))
        self.coef_ = w * factor
        shifted = theta if hasattr(X, "indptr") else theta + self.coef_ @ mean
        self.thresholds_ = np.maximum.accumulate(shifted)  # rounding may have put equal ones out of order
        if self.l2 == 0 and np.ptp(self._project(X)) > SEPARATED and problem.separated():
            warnings.warn(
                "some direction of X separates grades perfectly, so the coefficients have no finite optimum and were "
                "stopped on their way; set l2 > 0",
                SeparationWarning,
                stacklevel=2,
            )
        self._say_if_one_grade(rows, ends[0], ends[1])
        return self

    def _shared_evenly(self, theta: Array, low: Array, high: Array, centre: float) -> Array:
        """Put the thresholds that no label refers to where the grades around them are equally likely at `centre`."""
        known = np.zeros(len(self.classes_) + 1, dtype=bool)  # the lower end of each grade, and that of all
        known[[0, -1]] = known[low] = known[high + 1] = True
        if known.all():
            return theta
        below = np.concatenate([[0.0], _sigmoid(theta - centre), [1.0]])
        places = np.flatnonzero(known)
        even = np.interp(np.arange(len(known)), places, below[places])[1:-1]
        runs = zip(places[:-1].tolist(), places[1:].tolist(), strict=True)
        for block in [self.classes_[a:b].tolist() for a, b in runs if b - a > 1 and below[b] > below[a]]:
            warnings.warn(
                f"no label tells the grades {some(block)} apart: they share their probability evenly",
                DataWarning,
                stacklevel=3,
            )
        with np.errstate(divide="ignore"):
            moved = centre + np.log(even) - np.log1p(-even)
        return np.where(known[1:-1], theta, moved)

    def predict(self, X: Any) -> Array:
        """The most probable grade of each row."""
        check_is_fitted(self)
        grades: Array = self.classes_[self.predict_proba(X).argmax(axis=1)]
        return grades

    def predict_median(self, X: Any) -> Array:
        """The middle grade of each row's distribution: where `predict` is right most often, this errs by least."""
        check_is_fitted(self)
        grades: Array = self.classes_[self._grades(self._rows(X, reset=False))]
        return grades

    def predict_proba(self, X: Any) -> Array:
        """Probability of each grade, (n, K)."""
        z = self.project(X)
        # Differences of 1 - sigmoid lose digits where those of sigmoid do not: take each on its own side.
        gap = self.thresholds_[None, :] - z[:, None]
        below, above = _sigmoid(gap), _sigmoid(-gap)
        zero, one = np.zeros((len(z), 1)), np.ones((len(z), 1))
        lower = np.diff(np.hstack([zero, below, one]), axis=1)
        upper = -np.diff(np.hstack([one, above, zero]), axis=1)
        left = np.hstack([below, one]) < 0.5
        return np.where(left, lower, upper) + 0.0  # no minus zero

    def decision_function(self, X: Any) -> Array:
        """With two grades the log-odds of the second, (n,); else the logarithms of the probabilities, (n, K)."""
        check_is_fitted(self)
        if len(self.classes_) == 2:
            return np.asarray(self.project(X) - self.thresholds_[0])
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))


def _sigmoid(t: Array) -> Array:
    from scipy.special import expit

    return np.asarray(expit(t))


@dataclass
class _Problem:
    """The penalised likelihood as a function of w and the free thresholds."""

    X: Any
    low: Array
    high: Array
    weight: Array
    K: int
    l2: float

    def __post_init__(self) -> None:
        # A threshold below every label's upper end is pushed down for ever, one from every lower end on up for ever.
        self.first, self.last = int(self.high.min()), int(self.low.max())
        if self.first > self.last:  # all labels share the grades last to first: the middle one explains every row
            self.first = self.last = (self.first + self.last) // 2
        # Thresholds that labels refer to, as pairs (under, over), with their weights: the term log(1 - exp(l - u)).
        inside = (self.low > self.first) & (self.high < self.last)
        pair = (self.low[inside].astype(np.int64) - 1) * self.K + self.high[inside]
        weights = None if len(self.weight) == 1 else self.weight[inside]
        mass = np.bincount(pair, weights=weights, minlength=1).astype(float) * (
            self.weight[0] if len(self.weight) == 1 else 1.0
        )
        pairs = np.flatnonzero(mass)
        self.under, self.over, self.mass = pairs // self.K, pairs % self.K, mass[pairs]
        exact = np.zeros(self.K, dtype=bool)
        exact[self.low[self.low == self.high]] = True
        self.pinned = exact  # grade k seen on its own: thresholds k - 1 and k cannot meet
        # The kernel sees open ends as codes 0 and K - 1 of the free thresholds alone.
        n = self.last - self.first
        self.low_code = np.clip(self.low - self.first, 0, n).astype(np.int32)
        self.high_code = np.clip(self.high - self.first, 0, n).astype(np.int32)
        self.under, self.over = self.under - self.first, self.over - self.first
        self.slope, self.bend_over, self.bend_under = (np.empty(len(self.low)) for _ in range(3))

    def start(self) -> tuple[Array, Array]:
        """w = 0 and the logits of the cumulative shares, each range spread over its grades."""
        width = (self.high - self.low + 1).astype(float)
        share = np.broadcast_to(self.weight, self.low.shape) / width
        steps = np.bincount(self.low, share, self.K + 1) - np.bincount(self.high + 1, share, self.K + 1)
        mass = np.cumsum(steps)[: self.K] + 1e-3 * share.sum() / self.K
        below = np.cumsum(mass)[:-1] / mass.sum()
        theta = np.log(below) - np.log1p(-below)
        return np.zeros(self.X.shape[1]), theta[self.first : self.last]

    def loss(self, w: Array, theta: Array) -> tuple[float, Array, Array, Array]:
        """Loss, its gradient in w and theta, and the Hessian in theta; leaves the rows' slopes and bends behind."""
        n = len(theta)
        gradient, diagonal = np.zeros(n), np.zeros(n)
        z = np.asarray(self.X @ w, dtype=np.float64)
        codes = (self.low_code, self.high_code, self.weight, theta)
        total = kernel.rows(z, *codes, self.slope, self.bend_over, self.bend_under, gradient, diagonal)
        gap = theta[self.over] - theta[self.under]
        if (gap <= 0).any():
            return np.inf, w, gradient, np.diag(diagonal)
        total -= float(self.mass @ np.log(-np.expm1(-gap)))
        push = self.mass / np.expm1(np.minimum(gap, 700.0))  # beyond, the exponential overflows and the push is nothing
        np.subtract.at(gradient, self.over, push)
        np.add.at(gradient, self.under, push)
        hessian = np.diag(diagonal)
        bend = push / -np.expm1(-gap)
        for sign, a, b in ((1, self.over, self.over), (1, self.under, self.under), (-1, self.over, self.under)):
            np.add.at(hessian, (a, b), sign * bend)
        np.add.at(hessian, (self.under, self.over), -bend)
        total += self.l2 / 2 * float(w @ w)
        return total, np.asarray(self.X.T @ self.slope) + self.l2 * w, gradient, hessian

    def cross(self, n: int) -> Array:
        """Second derivatives in a threshold and a coefficient, (n, d)."""
        out = np.zeros((n, self.X.shape[1]))
        bends = (self.low_code, self.high_code, self.bend_over, self.bend_under, out)
        if hasattr(self.X, "indptr"):
            kernel.cross_sparse(self.X.data, self.X.indices, self.X.indptr, *bends)
        else:
            kernel.cross_dense(self.X, *bends)
        return out

    def curvature(self) -> Array:
        """The Hessian in w, (d, d)."""
        bend = self.bend_over + self.bend_under
        if hasattr(self.X, "indptr"):
            scaled = self.X.multiply(bend[:, None]).tocsr()
            H = np.asarray((self.X.T @ scaled).todense(), dtype=np.float64)
        else:
            scaled = self.X * np.sqrt(bend)[:, None]
            H = np.asarray(scaled.T @ scaled, dtype=np.float64)  # NumPy computes half of a product with itself
        H[np.diag_indices_from(H)] += self.l2
        return H

    def separated(self) -> bool:
        """Whether some direction puts no row on the wrong side of a threshold: along it the loss falls for ever.

        A linear programme (Konis, 2007): the largest sum of distances to the right side, with w in a box. A direction
        that separates reaches the box and a sum above 0; other data leave w = 0, and collinear columns a sum of 0.
        """
        from scipy.optimize import linprog
        from scipy.sparse import csr_array, hstack, vstack

        n, d = self.last - self.first, self.X.shape[1]
        X, thresholds = csr_array(self.X), csr_array(np.eye(n))
        over, under = self.high_code < n, self.low_code > 0
        below = hstack([X[over], -thresholds[self.high_code[over]]])
        above = hstack([-X[under], thresholds[self.low_code[under] - 1]])
        rising = hstack([csr_array((n - 1, d)), thresholds[:-1] - thresholds[1:]])
        A = vstack([below, above, rising])
        box = [(-1, 1)] * d + [(None, None)] * n
        slope = below.sum(axis=0) + above.sum(axis=0)
        best = linprog(slope, A_ub=A, b_ub=np.zeros(A.shape[0]), bounds=box).x
        return best is not None and bool(slope @ best < -1e-6 and np.abs(best[:d]).max() > 0.5)

    def step(self, gradient: Array, theta_hessian: Array, M: Array) -> Array:
        """Newton's direction in (w, groups of thresholds); M maps groups to thresholds."""
        from scipy.linalg import LinAlgError, cho_factor, cho_solve
        from scipy.sparse.linalg import LinearOperator, cg

        d = self.X.shape[1]
        inner = M.T @ theta_hessian @ M
        cross = M.T @ self.cross(len(theta_hessian))
        if len(gradient) <= DIRECT:
            H = np.empty((len(gradient), len(gradient)))
            H[:d, :d], H[d:, :d], H[:d, d:], H[d:, d:] = self.curvature(), cross, cross.T, inner
            ridge = 0.0
            for _ in range(20):
                try:
                    return -np.asarray(cho_solve(cho_factor(H + ridge * np.eye(len(H))), gradient))
                except LinAlgError:  # collinear columns and no penalty: the shortest such step is as good as any
                    ridge = max(10 * ridge, 1e-10 * float(np.trace(H)) / len(H))
            raise InputError("the columns of X are too nearly collinear; set l2 > 0")
        bend = self.bend_over + self.bend_under

        def times(v: Array) -> Array:
            top = self.X.T @ (bend * (self.X @ v[:d])) + self.l2 * v[:d] + cross.T @ v[d:]
            return np.concatenate([top, cross @ v[:d] + inner @ v[d:]])

        squares = self.X.multiply(self.X) if hasattr(self.X, "indptr") else self.X**2
        scale = np.concatenate([np.asarray(squares.T @ bend) + self.l2, np.diag(inner)])
        scale[scale <= 0] = 1.0
        shape = (len(gradient), len(gradient))
        size = float(np.linalg.norm(gradient))
        direction, _ = cg(
            LinearOperator(shape, matvec=times, dtype=np.float64),
            -gradient,
            rtol=min(0.1, np.sqrt(size / (1 + size)) * 0.1),
            maxiter=200,
            M=LinearOperator(shape, matvec=lambda v: v / scale, dtype=np.float64),
        )
        return np.asarray(direction)


def _newton(problem: _Problem, max_iter: int, tol: float) -> tuple[Array, Array, float, int]:
    """Damped Newton steps; thresholds that would pass one another are joined, and parted when that pays."""
    w, theta = problem.start()
    d, n = len(w), len(theta)
    if n == 0:  # one grade lies in every label: nothing to learn from X
        return w, _whole(problem, theta), 0.0, 0
    joined = np.zeros(max(n - 1, 0), dtype=bool)  # threshold i with i + 1
    free = ~problem.pinned[problem.first + 1 : problem.last]  # gaps that no label keeps open
    loss, g_w, g_theta, H = problem.loss(w, theta)
    tol = max(tol, float(np.finfo(float).eps))  # a smaller gain cannot be seen in the loss
    for iteration in range(1, max_iter + 1):
        M = _groups(joined, n)
        gradient = np.concatenate([g_w, M.T @ g_theta])
        move = problem.step(gradient, H, M)
        gain = -float(gradient @ move)
        if gain <= 2 * tol * (1 + abs(loss)):
            part = _parting(g_theta, joined, tol * (1 + abs(loss)))
            if part < 0:
                return w, _whole(problem, theta), loss, iteration
            joined[part] = False
            continue
        move_w, move_theta = move[:d], M @ move[d:]
        length, meets = _room(theta, move_theta, joined, free)
        for _ in range(60):
            new = problem.loss(w + length * move_w, theta + length * move_theta)
            if new[0] <= loss - 1e-4 * length * gain:
                break
            length, meets = length / 2, -1
        else:
            if gain <= 1e-6 * (1 + abs(loss)):  # as exact as this arithmetic allows
                return w, _whole(problem, theta), loss, iteration
            break
        w, theta = w + length * move_w, theta + length * move_theta
        loss, g_w, g_theta, H = new
        if meets >= 0:
            joined[meets] = True
            theta[meets + 1] = theta[meets]
    warnings.warn(
        f"no optimum in {max_iter} Newton steps; raise max_iter or l2 (now {problem.l2:g}), or scale the features",
        ConvergenceWarning,
        stacklevel=3,
    )
    return w, _whole(problem, theta), loss, max_iter


def _groups(joined: Array, n: int) -> Array:
    """(n, groups) of 0 and 1: which group each threshold belongs to."""
    if n == 0:
        return np.zeros((0, 0))
    number = np.concatenate([[0], np.cumsum(~joined)])
    return np.asarray(number[:, None] == np.arange(number[-1] + 1), dtype=float)


def _room(theta: Array, move: Array, joined: Array, free: Array) -> tuple[float, int]:
    """How far to go, at most 1: nine tenths of the way to where a kept gap closes; and the free gap that closes."""
    gap, closing = np.diff(theta), -np.diff(move)
    way = np.full(len(gap), np.inf)
    shuts = ~joined & (closing > 0)
    way[shuts] = gap[shuts] / closing[shuts]
    way[~free] *= 0.9
    if not len(way) or way.min() >= 1:
        return 1.0, -1
    nearest = int(way.argmin())
    return float(way[nearest]), nearest if free[nearest] else -1


def _parting(gradient: Array, joined: Array, least: float) -> int:
    """The joined pair whose lower part wants down most, or -1: there the order is no longer what binds."""
    best, where, run = least, -1, 0.0
    for i in range(len(joined)):
        run += gradient[i]
        if not joined[i]:
            run = 0.0
        elif run > best:
            best, where = run, i
    return where


def _whole(problem: _Problem, theta: Array) -> Array:
    """All K - 1 thresholds, those outside the labels' reach at -inf and inf."""
    below, above = np.full(problem.first, -np.inf), np.full(problem.K - 1 - problem.last, np.inf)
    return np.concatenate([below, np.maximum.accumulate(theta), above])
