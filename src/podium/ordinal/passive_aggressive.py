"""The exact passive-aggressive family, and PRank, its ancestor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.metaestimators import available_if

from podium.data.validation import (
    check_is_fitted,
    choice_option,
    flag_option,
    floats_of,
    number_option,
    whole_option,
)
from podium.errors import InputError, Option
from podium.ordinal.cumulative import CumulativeLogit
from podium.ordinal.dual import Kernel, SupportSet, kernel_of
from podium.ordinal.labels import Array
from podium.ordinal.online import _generator
from podium.ordinal.threshold import OnlineThreshold

__all__ = ["PRank", "PassiveAggressiveOrdinal"]

VARIANTS = {"pa": 0, "pa1": 1, "pa2": 2}
PRANK = 3
CANDIDATES = (0.003, 0.03, 0.3)  # values of C that "auto" tries, for features of deviation 1
NEW_IN_2 = {
    "kernel": "linear", "gamma": None, "budget": 1000, "grow": False, "coef_init": None, "thresholds_init": None
}  # fmt: skip
HELD_OUT = 0.2  # share of the rows that `probability=True` keeps for calibration


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
    kernel : "linear", "rbf" or callable
        Inner products in place of w·x, for boundaries that bend: "rbf" is exp(-gamma |x - x'|²); a function takes two
        tables and returns the matrix of inner products of their rows. Updates are as exact as without, as long as
        there are no more than `budget` examples to keep.
    gamma : float, optional
        Of "rbf"; by default 1 / number of features, for features of deviation 1.
    budget : int, optional
        How many examples a model with a kernel keeps. Beyond it the one that counts least is replaced by its
        projection onto the kept one nearest to it. None keeps all.
    grow : bool
        Let the model grow while it learns. A number below or above all grades becomes a new grade at that end, in
        `learn_one` and `partial_fit`. In a mapping passed to `learn_one`, a name that is left out counts 0, and a new
        name becomes a feature that was 0 so far. Without it all of these are refused.
    coef_init, thresholds_init : array-like, optional
        Where learning starts: w⁰ and θ⁰ of the paper, in the units of X; 0 by default. They need a number for C, and
        features as they are (`standardize=False`).
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
    support_vectors_, dual_coef_ : arrays
        With a kernel, in place of coef_: the examples kept, and how far the model went along each.
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
    state_version: ClassVar[int] = 2

    @classmethod
    def upgraded(cls, state: dict[str, Any], version: int) -> dict[str, Any]:
        """Files of version 1 know no kernel, no start values and no growth."""
        return NEW_IN_2 | state

    def __init__(
        self,
        variant: str = "pa1",
        *,
        C: float | str = "auto",
        standardize: bool | None = None,
        average: bool = True,
        probability: bool = False,
        classes: Any = None,
        kernel: str | Callable[[Any, Any], Any] = "linear",
        gamma: float | None = None,
        budget: int | None = 1000,
        grow: bool = False,
        coef_init: Any = None,
        thresholds_init: Any = None,
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
        self.kernel = kernel
        self.gamma = gamma
        self.budget = budget
        self.grow = grow
        self.coef_init = coef_init
        self.thresholds_init = thresholds_init
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
        scores = self._score_scaled(X[held])[:, None]  # X is on the learner's scale here
        self.calibration_ = CumulativeLogit(l2=1e-3, classes=grades).fit(
            scores, np.stack([low[held], high[held]], axis=1)
        )
        self.calibration_.classes_ = self.classes_

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

    def _start(self, n_features: int) -> None:
        super()._start(n_features)
        starts = (
            ("coef_init", self._width, self.coef_init),
            ("thresholds_init", len(self.classes_) - 1, self.thresholds_init),
        )
        for part, (name, size, value) in zip(self._parts()[:2], starts, strict=True):
            if value is None:
                continue
            numbers = floats_of(name, value, (size,))
            if name == "thresholds_init" and (np.diff(numbers) < 0).any():
                raise InputError(Option(name, numbers.tolist()), ": thresholds rise; give them in increasing order")
            part[:] = numbers

    def _support_set(self, n_features: int) -> SupportSet | None:
        if self.kernel == "linear":
            return None
        return SupportSet.empty(n_features, len(self._steps), scaled=self._scale is not None)

    def _inner(self) -> tuple[Kernel, float]:
        budget = np.inf if self.budget is None else self.budget
        return kernel_of(self.kernel, self.gamma, self._shape[0]), budget

    @property
    def support_vectors_(self) -> Array:
        """The examples that a model with a kernel keeps, in the units of X."""
        support = self._with_kernel()
        return (support.rows if self._scale is None else support.raw)[: support.size].copy()

    @property
    def dual_coef_(self) -> Array:
        """How far a model with a kernel went along each of `support_vectors_`."""
        size = self._with_kernel().size
        return self._dual()[:size]

    def _with_kernel(self) -> SupportSet:
        check_is_fitted(self)
        if self._support is None:
            raise AttributeError("a model without a kernel keeps no examples; see coef_")
        return self._support

    def _check_parameters(self) -> None:
        super()._check_parameters()
        choice_option("variant", self.variant, list(VARIANTS))
        flag_option("probability", self.probability)
        flag_option("grow", self.grow)
        if not callable(self.kernel):
            choice_option("kernel", self.kernel, ["linear", "rbf"])
        if self.gamma is not None:
            number_option("gamma", self.gamma, above=0, more=", or None for 1 / number of features")
        if self.budget is not None:
            whole_option("budget", self.budget, least=1)
        self._check_start()
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

    def _check_start(self) -> None:
        for name in ("coef_init", "thresholds_init"):
            if getattr(self, name) is None:
                continue
            if self._standardizes():
                raise InputError(
                    Option(name), " is in the units of X, which change where features are standardised: set C to a "
                    "number, and leave ", Option("standardize"), " out",
                )  # fmt: skip
            if name == "coef_init" and self.kernel != "linear":
                raise InputError(Option(name), " is a w, which a model with a kernel does not have; drop it")


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

    def _strength(self, weight: Array | None) -> Array:
        if weight is not None:
            raise InputError("PRank has no weights: its predictions do not depend on how large a step is")
        return super()._strength(weight)
