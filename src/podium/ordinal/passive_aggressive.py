"""The exact passive-aggressive family, and PRank, its ancestor."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from podium.errors import InputError
from podium.kernels import ordinal as kernel
from podium.ordinal.base import ThresholdClassifier
from podium.ordinal.cumulative import CumulativeLogit
from podium.ordinal.labels import Array
from podium.ordinal.online import OnlineClassifier, _generator, finite

__all__ = ["PRank", "PassiveAggressiveOrdinal"]

VARIANTS = {"pa": 0, "pa1": 1, "pa2": 2}
PRANK = 3
HELD_OUT = 0.2  # share of the rows that `probability=True` keeps for calibration


class OnlineThreshold(OnlineClassifier, ThresholdClassifier):
    """A direction and thresholds moved by a kernel; with `average`, their means over all examples seen.

    Beside w the kernel keeps lag = sum of (t - 1) a_t x_t, so that the mean is w - lag / T and an example without an
    update costs nothing extra.
    """

    average: bool
    _finds_infinity = True

    def _start(self, n_features: int) -> None:
        size = n_features + len(self.classes_) - 1
        self._averages = bool(self.average)
        self._state = np.zeros(2 * size if self._averages else size)  # w, thresholds, and their lags, end to end

    def _parts(self) -> tuple[Array, Array, Array, Array]:
        """Views of w, the thresholds and their lags, which are empty without averaging."""
        d, size = self._shape[0], self._shape[0] + len(self.classes_) - 1
        first, second = self._state[:size], self._state[size:]
        return first[:d], first[d:], second[:d], second[d:]

    @property
    def coef_(self) -> Array:  # type: ignore[override]
        """The direction w, (n_features,)."""
        check_is_fitted(self)
        w, _, lag, _ = self._parts()
        return w - lag / max(self.n_seen_, 1) if self._averages else w.copy()

    @property
    def thresholds_(self) -> Array:  # type: ignore[override]
        """The thresholds in increasing order, (K - 1,)."""
        check_is_fitted(self)
        _, theta, _, lag = self._parts()
        mean = theta - lag / max(self.n_seen_, 1) if self._averages else theta
        return np.maximum.accumulate(mean)  # the last bit of a mean may break a tie the wrong way

    def _code(self) -> int:
        raise NotImplementedError

    def _pass(
        self, X: Any, low: Array, high: Array, strength: Array, order: Array, predicted: Array, totals: Array
    ) -> int:
        before = self._state.copy()
        state = (*self._parts(), predicted, totals, self._code(), self.n_seen_)
        if hasattr(X, "indptr"):
            made = kernel.pass_sparse(X.data, X.indices, X.indptr, low, high, strength, order, *state)
        else:
            made = kernel.pass_dense(X, low, high, strength, order, *state)
        if made < 0:
            self._state[:] = before
            self._not_finite(X)
        return int(made)

    def _grade(self, x: Array) -> int:
        share = 1.0 / max(self.n_seen_, 1)
        grade: int = kernel.grade_one(x, self._state, self._averages, share)
        return grade if grade >= 0 else finite(grade)


class PassiveAggressiveOrdinal(OnlineThreshold):
    """Learn grades, or ranges of grades, one example at a time, by exact passive-aggressive updates.

    A grade is predicted by where the score w·x lies among sorted thresholds. Each example moves (w, thresholds) to the
    nearest point where the thresholds below its label lie at least 1 under the score, and those from its label on at
    least 1 above it (PA, programme (3) of the paper), or by less where that would cost more than C per unit of loss:

        minimise  1/2 |w - w_t|² + 1/2 |theta - theta_t|² + C sum xi_i      (PA-I),   ... + C sum xi_i²   (PA-II)

    The paper's own procedure finds the active constraints with losses clipped at zero and is not exact; here each
    update is the solution of its programme, in one pass over the thresholds it moves. Order is always kept.

    Scale the features first: one step size serves all of them.

    Parameters
    ----------
    variant : "pa", "pa1" or "pa2"
        "pa" fits every example exactly and suits only clean data; "pa1" and "pa2" are bounded by C.
    C : float
        Aggressiveness: the most a threshold moves for one example ("pa1"). Smaller is slower and steadier.
    average : bool
        Report the mean of the parameters over all examples seen, which predicts better. With False, `coef_` and
        `thresholds_` are the last update's exact solution.
    probability : bool
        Offer `predict_proba`: `fit` keeps a fifth of the rows out of training and fits a cumulative logit to their
        scores. Like those of any calibration, its most probable grade may differ from `predict`.
    classes : sequence, optional
        The grades from lowest to highest. Without it `fit` takes the sorted labels; `partial_fit` and `learn_one`
        need it, here or at the first call.
    max_iter, tol, shuffle, random_state
        `fit` makes up to `max_iter` passes, in random order, and stops when the progressive error has not improved by
        `tol` twice in a row.
    warm_start : bool
        Let `fit` continue from the present parameters.

    Attributes
    ----------
    coef_, thresholds_, classes_, n_updates_, n_seen_, n_iter_ : what was learned, and from how much
    mae_ : float
        Progressive mean absolute error, of the weights as they were just before each example.

    References
    ----------
    Manwani and Chandra, "Exact Passive-Aggressive Algorithms for Learning to Rank Using Interval Labels".

    Examples
    --------
    Four dishes; of the last two the critic only said "fair or good" and "at least fair".

    >>> X = [[-2.0], [0.0], [1.0], [2.0]]
    >>> y = [("poor", "poor"), ("fair", "fair"), ("fair", "good"), ("fair", None)]
    >>> model = PassiveAggressiveOrdinal(C=1.0, classes=["poor", "fair", "good"], random_state=0).fit(X, y)
    >>> model.predict([[-3.0], [0.0], [5.0]]).tolist()
    ['poor', 'fair', 'good']
    >>> model.learn_one([0.5], "good").predict_one([0.5])
    'fair'
    """

    def __init__(
        self,
        variant: str = "pa1",
        *,
        C: float = 0.01,
        average: bool = True,
        probability: bool = False,
        classes: Any = None,
        max_iter: int = 10,
        tol: float | None = 1e-3,
        shuffle: bool = True,
        random_state: Any = None,
        warm_start: bool = False,
    ) -> None:
        self.variant = variant
        self.C = C
        self.average = average
        self.probability = probability
        self.classes = classes
        self.max_iter = max_iter
        self.tol = tol
        self.shuffle = shuffle
        self.random_state = random_state
        self.warm_start = warm_start

    def fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, y_lower: Any = None, y_upper: Any = None
    ) -> Self:
        """Learn from a table; labels as in `read_labels`: (n,), (n, 2), or `y_lower=` and `y_upper=`.

        `sample_weight` multiplies C row by row; a row of weight 0 is skipped.
        """
        return self._fit(X, y, y_lower, y_upper, sample_weight)

    def partial_fit(
        self,
        X: Any,
        y: Any = None,
        classes: Any = None,
        sample_weight: Any = None,
        *,
        y_lower: Any = None,
        y_upper: Any = None,
    ) -> Self:
        """Learn from these rows once, in their order."""
        self._refuse_probability()
        return self._partial_fit(X, y, classes, y_lower, y_upper, sample_weight)

    def predict_interval(self, X: Any, *, margin: float = 1.0, coverage: float | None = None) -> Array:
        """A lower and an upper grade for each row, (n, 2).

        The grades within `margin` of the row's score; 1 is the distance that training asks for. With `coverage`, and
        `probability=True`, the shortest run of grades whose probability is at least that.
        """
        if coverage is None:
            return self._within(X, margin)
        if not self.probability:
            raise InputError("coverage needs probabilities: set probability=True, or use margin")
        return self.calibration_.predict_interval(self.project(X)[:, None], coverage=coverage)

    @available_if(lambda self: self.probability or _without_probability())  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Array:
        """Probability of each grade, (n, K), from the cumulative logit fitted to held-out scores."""
        check_is_fitted(self, "calibration_")
        return self.calibration_.predict_proba(self.project(X)[:, None])

    def _epochs(self, X: Any, low: Array, high: Array, strength: Array) -> None:
        if not self.probability:
            super()._epochs(X, low, high, strength)
            return
        n = X.shape[0]
        held = _generator(self.random_state).permutation(n)[: max(1, round(HELD_OUT * n))]
        trains = np.ones(n, dtype=bool)
        trains[held] = False
        if not trains.any():
            raise InputError(f"probability=True holds rows out of training, but there is only {n} row")
        super()._epochs(X[trains], low[trains], high[trains], strength if len(strength) == 1 else strength[trains])
        grades = np.arange(len(self.classes_))
        scores = self._project(X[held])[:, None]
        self.calibration_ = CumulativeLogit(l2=1e-3, classes=grades).fit(
            scores, np.stack([low[held], high[held]], axis=1)
        )
        self.calibration_.classes_ = self.classes_

    def _refuse_probability(self) -> None:
        if self.probability:
            raise InputError("probability=True needs rows held out of training: use fit, or set probability=False")

    def _code(self) -> int:
        return VARIANTS[self.variant]

    def _strength(self, weight: Array | None) -> Array:
        if self.variant == "pa":
            if weight is not None:
                raise InputError(
                    "sample_weight cannot be used with variant='pa': its updates fit each example exactly, whatever "
                    "its weight; use variant='pa1' or 'pa2', where it multiplies C"
                )
            return np.array([np.inf])
        return np.array([float(self.C)]) if weight is None else self.C * weight

    def _learn(self, x: Array, low: int, high: int) -> int:
        if self.probability:
            self._refuse_probability()
        variant = VARIANTS[self.variant]
        C = self.C if variant else np.inf
        error: int = kernel.learn_one(x, low, high, C, self._state, self._averages, variant, self.n_seen_)
        return error if error >= 0 else finite(error)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.variant not in VARIANTS:
            raise InputError(f"variant is {self.variant!r}; it must be 'pa', 'pa1' or 'pa2'")
        if not 0 < self.C < np.inf:
            raise InputError(f"C={self.C!r}: it must be a positive number")


def _without_probability() -> bool:
    raise AttributeError("predict_proba needs probability=True, which holds rows out of training for calibration")


class PRank(OnlineThreshold):
    """Crammer and Singer's perceptron for grades: thresholds on the wrong side of a score move by one, w by their sum.

    The baseline of the paper. An update is made only when the predicted grade is wrong. For a range, the thresholds
    inside it are left alone.

    Parameters and attributes are those of `PassiveAggressiveOrdinal`; there is no C, since the predictions do not
    depend on the step size, and so no weights either.

    References
    ----------
    Crammer and Singer, "Pranking with ranking", NIPS 2001.

    Examples
    --------
    >>> PRank(random_state=0).fit([[-2.0], [0.0], [2.0]], [1, 2, 3]).predict([[-3.0], [3.0]]).tolist()
    [1, 3]
    """

    def __init__(
        self,
        *,
        average: bool = False,
        classes: Any = None,
        max_iter: int = 10,
        tol: float | None = 1e-3,
        shuffle: bool = True,
        random_state: Any = None,
        warm_start: bool = False,
    ) -> None:
        self.average = average
        self.classes = classes
        self.max_iter = max_iter
        self.tol = tol
        self.shuffle = shuffle
        self.random_state = random_state
        self.warm_start = warm_start

    def fit(self, X: Any, y: Any = None, *, y_lower: Any = None, y_upper: Any = None) -> Self:
        """Learn from a table: labels (n,), (n, 2), or `y_lower=` and `y_upper=`."""
        return self._fit(X, y, y_lower, y_upper, None)

    def partial_fit(
        self, X: Any, y: Any = None, classes: Any = None, *, y_lower: Any = None, y_upper: Any = None
    ) -> Self:
        """Learn from these rows once, in their order."""
        return self._partial_fit(X, y, classes, y_lower, y_upper)

    def predict_interval(self, X: Any, *, margin: float = 1.0) -> Array:
        """Lowest and highest grade within `margin` of each row's score, (n, 2)."""
        return self._within(X, margin)

    def _code(self) -> int:
        return PRANK

    def _strength(self, weight: Array | None) -> Array:
        return np.array([np.inf])

    def _learn(self, x: Array, low: int, high: int) -> int:
        error: int = kernel.learn_one(x, low, high, np.inf, self._state, self._averages, PRANK, self.n_seen_)
        return error if error >= 0 else finite(error)
