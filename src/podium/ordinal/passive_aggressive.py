"""The exact passive-aggressive family, and PRank, its ancestor."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.utils.metaestimators import available_if

from podium.data.validation import check_is_fitted, choice_option, flag_option, number_option
from podium.errors import InputError, Option
from podium.kernels.ordinal import passes as kernel
from podium.kernels.ordinal.scale import learn_one as learn_scaled
from podium.ordinal.base import ThresholdClassifier
from podium.ordinal.cumulative import CumulativeLogit
from podium.ordinal.labels import Array
from podium.ordinal.online import NO_GRADES, NOT_FINITE, OnlineClassifier, _generator, finite, row_arrays

__all__ = ["PRank", "PassiveAggressiveOrdinal"]

VARIANTS = {"pa": 0, "pa1": 1, "pa2": 2}
PRANK = 3
CANDIDATES = (0.003, 0.03, 0.3)  # values of C that "auto" tries, for features of deviation 1
SETTLE = 2000  # examples after which the best of them goes on alone
HELD_OUT = 0.2  # share of the rows that `probability=True` keeps for calibration


class OnlineThreshold(OnlineClassifier, ThresholdClassifier):
    """A direction and thresholds moved by a kernel; with `average`, their means over all examples seen.

    Beside w the kernel keeps lag = sum of (t - 1) a_t x_t, so that the mean is w - lag / T and an example without an
    update costs nothing extra.

    There may be several candidates, each with its own C: all learn from every example, and each is judged by the
    errors of what it would have predicted, by its state when the candidates were last renewed. The one with the fewest
    leads: it is what the model tells. After SETTLE examples only the leader goes on.
    """

    average: bool
    _finds_infinity = True

    def _start(self, n_features: int) -> None:
        size = n_features + len(self.classes_) - 1
        self._averages = bool(self.average)
        self._steps = self._candidates()
        # One row a candidate: w, thresholds, and their lags, end to end.
        self._lanes = np.zeros((len(self._steps), 2 * size if self._averages else size))
        self._judged = np.zeros((len(self._steps) if len(self._steps) > 1 else 0, size))
        self._losses = np.zeros(len(self._steps))
        self._lead = 0
        self._scaled = np.empty(n_features)  # room for one example

    def _candidates(self) -> Array:
        """The values of C to try; infinity where there is none."""
        raise NotImplementedError

    @property
    def _state(self) -> Array:
        state: Array = self._lanes[self._lead]
        return state

    def _parts(self, lane: int | None = None) -> tuple[Array, Array, Array, Array]:
        """Views of w, the thresholds and their lags, which are empty without averaging."""
        state = self._lanes[self._lead if lane is None else lane]
        d, size = self._shape[0], self._shape[0] + len(self.classes_) - 1
        first, second = state[:size], state[size:]
        return first[:d], first[d:], second[:d], second[d:]

    def _means(self) -> tuple[Array, Array]:
        """w and the thresholds that the model tells, on the scale it learns on."""
        w, theta, lag, late = self._parts()
        if not self._averages:
            return w.copy(), theta.copy()
        seen = max(self.n_seen_, 1)
        # The last bit of a mean may break a tie the wrong way.
        return w - lag / seen, np.maximum.accumulate(theta - late / seen)

    @property
    def coef_(self) -> Array:  # type: ignore[override]
        """The direction w, (n_features,)."""
        check_is_fitted(self)
        w, _ = self._means()
        return w if self._scale is None else w * self._scale.factor

    @property
    def thresholds_(self) -> Array:  # type: ignore[override]
        """The thresholds in increasing order, (K - 1,)."""
        check_is_fitted(self)
        w, theta = self._means()
        return theta if self._scale is None else theta + (w * self._scale.factor) @ self._scale.origin

    def _code(self) -> int:
        raise NotImplementedError

    def _strength(self, weight: Array | None) -> Array:
        return np.ones(1) if weight is None else weight

    def _pass(
        self, X: Any, low: Array, high: Array, strength: Array, order: Array, predicted: Array, totals: Array
    ) -> int:
        before = self._lanes.copy()
        if len(self._judged):
            self._judge(X, low, high, strength, order)
        of_lead = 0
        for lane, step in enumerate(self._steps):
            leads = lane == self._lead
            results = (predicted, totals) if leads else (NO_GRADES, np.zeros(2))
            state = (*self._parts(lane), *results, self._code(), self.n_seen_)
            updates = kernel.learn_rows(*row_arrays(X), low, high, step * strength, order, *state)
            if updates < 0:
                self._lanes[:] = before
                self._not_finite(X)
            of_lead = updates if leads else of_lead
        return int(of_lead)

    def _judge(self, X: Any, low: Array, high: Array, strength: Array, order: Array) -> None:
        """Count the candidates' errors on rows that they are about to learn."""
        if len(order):
            X, low, high = X[order], low[order], high[order]
        d = self._shape[0]
        grades = ((X @ self._judged[:, :d].T)[:, :, None] >= self._judged[:, d:]).sum(axis=2)
        away = grades - np.clip(grades, low[:, None], high[:, None])
        if len(strength) > 1:
            away[(strength[order] if len(order) else strength) == 0] = 0
        self._losses += np.abs(away).sum(axis=0)

    def _renew(self) -> None:
        super()._renew()
        if len(self._steps) == 1:
            return
        self._lead = int(self._losses.argmin())
        if self.n_seen_ >= SETTLE:
            self._settle()
            return
        size = self._judged.shape[1]
        self._judged[:] = self._lanes[:, :size]
        if self._averages:
            self._judged -= self._lanes[:, size:] / self.n_seen_

    def _settle(self) -> None:
        """Go on with the leader alone."""
        self._lanes, self._steps = self._lanes[[self._lead]], self._steps[[self._lead]]
        self._losses, self._judged, self._lead = self._losses[[self._lead]], self._judged[:0], 0

    def _epochs(self, X: Any, low: Array, high: Array, strength: Array) -> None:
        super()._epochs(X, low, high, strength)
        self._lead = int(self._losses.argmin())

    def _learns_one_scaled(self) -> bool:
        return self._scale is not None and self._scale.centred

    def _learn(self, x: Array, low: int, high: int) -> int:
        error: int
        if self._scale is None:
            step = self._steps[0]
            error = kernel.learn_one(x, low, high, step, self._state, self._averages, self._code(), self.n_seen_)
        else:
            lanes = (self._steps, self._lanes, self._judged, self._scale.metric, self._scaled, self._losses)
            error = learn_scaled(x, low, high, *lanes, self._lead, self._averages, self._code(), self.n_seen_)
            self._scale.pending += error != NOT_FINITE
        return error if error >= 0 else finite(error)

    def _grade(self, x: Array) -> int:
        if self._scale is not None:
            x = (x - self._scale.origin) * self._scale.factor
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

    By default the units of the features do not matter, and there is nothing to set: each feature is standardised by the
    rows seen so far, and of three values of C the one whose predictions erred least before each example is used.

    Parameters
    ----------
    variant : "pa", "pa1" or "pa2"
        "pa" fits every example exactly and suits only clean data; "pa1" and "pa2" are bounded by C.
    C : "auto" or float
        Aggressiveness: the most a threshold moves for one example ("pa1"). Smaller is slower and steadier. "auto"
        learns with 0.003, 0.03 and 0.3 side by side, and after 2,000 examples goes on with the best alone (`C_`).
    standardize : bool, optional
        Put the features on one scale on the way: (x - mean) / deviation; sparse tables with less than a tenth of their
        entries stored are not centred. By default yes with C="auto"; no with a number, which gives the updates of the
        paper on X as it is.
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
        In the units of X, standardised or not.
    C_ : float
        The C in use; infinity for "pa".
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

    _open_flags = ("standardize",)

    def __init__(
        self,
        variant: str = "pa1",
        *,
        C: float | str = "auto",
        standardize: bool | None = None,
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
        self.standardize = standardize
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
        scores = np.asarray(X[held] @ self._means()[0])[:, None]  # X is on the learner's scale here
        if self._scale is not None:
            scores += self.coef_ @ self._scale.origin
        self.calibration_ = CumulativeLogit(l2=1e-3, classes=grades).fit(
            scores, np.stack([low[held], high[held]], axis=1)
        )
        self.calibration_.classes_ = self.classes_

    def _refuse_probability(self) -> None:
        if self.probability:
            raise InputError("probability=True needs rows held out of training: use fit, or set probability=False")

    @property
    def C_(self) -> float:
        """The C in use; with "auto" that of the candidate which leads."""
        check_is_fitted(self)
        return float(self._steps[self._lead])

    def _code(self) -> int:
        return VARIANTS[self.variant]

    def _standardizes(self) -> bool:
        return self.C == "auto" if self.standardize is None else bool(self.standardize)

    def _candidates(self) -> Array:
        if self.variant == "pa":
            return np.array([np.inf])
        return np.array(CANDIDATES) if self.C == "auto" else np.array([float(self.C)])

    def _strength(self, weight: Array | None) -> Array:
        if self.variant == "pa" and weight is not None:
            raise InputError(
                "sample_weight cannot be used with ",
                Option("variant", "pa"),
                ": its updates fit each example exactly, whatever its weight; use ",
                Option("variant", "pa1"),
                " or 'pa2', where it multiplies C",
            )
        return super()._strength(weight)

    def _learn(self, x: Array, low: int, high: int) -> int:
        if self.probability:
            self._refuse_probability()
        return super()._learn(x, low, high)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        choice_option("variant", self.variant, list(VARIANTS))
        flag_option("probability", self.probability)
        if isinstance(self.C, str):
            if self.C != "auto":
                raise InputError(Option("C", self.C), ": it must be 'auto' or a positive number")
            if self.standardize is not None and not self.standardize and self.variant != "pa":
                raise InputError(
                    Option("C", "auto"),
                    " needs features on one scale: set ",
                    Option("standardize", True),
                    ", or C to a number",
                )
        else:
            number_option("C", self.C, above=0, more=", or 'auto'")


def _without_probability() -> bool:
    raise AttributeError("predict_proba needs probability=True, which holds rows out of training for calibration")


class PRank(OnlineThreshold):
    """Crammer and Singer's perceptron for grades: thresholds on the wrong side of a score move by one, w by their sum.

    The baseline of the paper. An update is made only when the predicted grade is wrong. For a range, the thresholds
    inside it are left alone.

    Parameters and attributes are those of `PassiveAggressiveOrdinal`; there is no C, since the predictions do not
    depend on the step size, and so no weights either. `standardize=False` gives the updates of the paper on X as it is.

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
        standardize: bool = True,
        classes: Any = None,
        max_iter: int = 10,
        tol: float | None = 1e-3,
        shuffle: bool = True,
        random_state: Any = None,
        warm_start: bool = False,
    ) -> None:
        self.average = average
        self.standardize = standardize
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

    def _code(self) -> int:
        return PRANK

    def _standardizes(self) -> bool:
        return bool(self.standardize)

    def _candidates(self) -> Array:
        return np.array([np.inf])
