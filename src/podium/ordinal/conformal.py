"""Sets of grades that hold what they promise: runs of grades grown by probability, their level set by fresh rows.

A row's set begins with the grade that the model predicts and grows to the side of the more probable neighbour. What a
grade has *before* it is the probability of all grades that the set took in earlier; a row misses by what lies before
its true grade (before the first of its range that is reached). Among m rows that the model has not learned from, let q
be the ⌈(m + 1)·level⌉-th smallest miss: a new row from the same source is missed by at most q with probability at least
`level`, and at most 1/(m + 1) more where misses are distinct, whatever the model and however wrong its probabilities
(Vovk, Gammerman and Shafer 2005; Romano, Sesia and Candès 2020). The set is therefore every grade with at most q before
it. It always holds the predicted grade: where that alone is right more often than asked, sets hold more than asked.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from podium.errors import DataWarning, InputError, NotFittedError, Option
from podium.ordinal.base import row_count
from podium.ordinal.cumulative import CumulativeLogit
from podium.ordinal.labels import Array, read_labels

__all__ = ["ConformalGrades", "Misses", "check_level", "grade_sets", "miss", "probability_before", "score_chances"]

ROUNDING = 1e-12  # of sums of probabilities


def probability_before(chances: Array, first: Array) -> Array:
    """For each row (n, K) the probability that a set took in before it came to each grade, from grade `first` on.

    >>> probability_before(np.array([[0.15, 0.5, 0.3, 0.05]]), np.array([1])).round(3).tolist()
    [[0.8, 0.0, 0.5, 0.95]]
    """
    n, K = chances.shape
    rows, before = np.arange(n), np.zeros((n, K))
    low = high = first
    mass = chances[rows, low].copy()
    padded = np.pad(chances, ((0, 0), (1, 1)), constant_values=-1.0)  # no grade beyond the ends
    for _ in range(K - 1):
        down, up = padded[rows, low], padded[rows, high + 2]
        lower = down > up
        low, high = low - lower, high + ~lower
        taken = np.where(lower, low, high)
        before[rows, taken] = mass
        mass += chances[rows, taken]
    return before


def miss(chances: Array, first: Array, low: Array, high: Array) -> Array:
    """What lies before the grade of each row's range that is reached first; codes of grades and of the range's ends."""
    grades = np.arange(chances.shape[1])
    inside = (grades >= low[:, None]) & (grades <= high[:, None])
    return np.asarray(np.where(inside, probability_before(chances, first), np.inf).min(axis=1))


def check_level(level: Any) -> float:
    """A share between 0 and 1, both excluded."""
    if isinstance(level, bool) or not isinstance(level, int | float | np.floating) or not 0 < level < 1:
        raise InputError(Option("level", level), " must lie between 0 and 1, as 0.9")
    return float(level)


@dataclass(frozen=True, slots=True)
class Misses:
    """Misses of fresh rows, smallest first."""

    values: Array

    @classmethod
    def of(cls, chances: Array, first: Array, low: Array, high: Array) -> Self:
        """Of rows with these probabilities, predicted grades and labels, as codes of the ends of their ranges."""
        return cls(np.sort(miss(chances, first, low, high)))

    def bound(self, level: float) -> float:
        """q; infinite, so that a set is all grades, with fewer than level/(1 − level) rows."""
        place = math.ceil((len(self.values) + 1) * level - 1e-9)
        return math.inf if place > len(self.values) else float(self.values[place - 1])

    @property
    def right(self) -> float:
        """Share of rows whose predicted grade is right: no set holds less."""
        return float(np.mean(self.values <= 0)) if len(self.values) else math.nan


def grade_sets(chances: Array, first: Array, bound: float) -> Array:
    """Codes of the lowest and the highest grade of each row's set, (n, 2)."""
    inside = probability_before(chances, first) <= bound + ROUNDING
    K = chances.shape[1]
    return np.stack([inside.argmax(axis=1), K - 1 - inside[:, ::-1].argmax(axis=1)], axis=1)


def score_chances(scores: Array, low: Array, high: Array, K: int) -> CumulativeLogit:
    """Probabilities of the grades given a score: a cumulative logit; grades are codes."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)  # about grades that these few rows do not hold
        labels = np.stack([low, high], axis=1)
        return CumulativeLogit(l2=1e-3, classes=np.arange(K)).fit(scores[:, None], labels)


class ConformalGrades:
    """Sets of grades of a fitted model that hold the true grade as often as asked.

    `calibrate` takes rows that the model has *not* learned from, from the same source as those to come; a range label
    is held when the set meets it. A model without `predict_proba` gets probabilities from its scores, by half of these
    rows.

    Parameters
    ----------
    model : a fitted classifier of `podium.ordinal`

    Examples
    --------
    >>> from podium.ordinal import PassiveAggressiveOrdinal
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(3000, 2))
    >>> y = np.digitize(X @ [1.0, 1.0] + rng.normal(size=3000), [-1.0, 1.0])
    >>> model = PassiveAggressiveOrdinal(random_state=0).fit(X[:1000], y[:1000])
    >>> sets = ConformalGrades(model).calibrate(X[1000:2000], y[1000:2000])
    >>> low, high = sets.predict_interval(X[2000:], level=0.8).T
    >>> bool(0.77 < np.mean((low <= y[2000:]) & (y[2000:] <= high)) < 0.83)
    True
    """

    def __init__(self, model: Any) -> None:
        self.model = model

    def calibrate(self, X: Any, y: Any = None, *, y_lower: Any = None, y_upper: Any = None) -> Self:
        """Set the level by rows with known grades, or ranges; labels as for `fit`."""
        rows = row_count(X)
        low, high, _ = read_labels(y, y_lower, y_upper, classes=self.model.classes_, rows=rows)
        used = slice(0, rows)
        self.chances_: CumulativeLogit | None = None
        if not hasattr(self.model, "predict_proba"):
            if rows < 2:
                raise InputError("two rows at least: half of them give probabilities, the others set the level")
            half, used = slice(0, rows, 2), slice(1, rows, 2)
            self.chances_ = score_chances(self.model.project(X)[half], low[half], high[half], len(self.model.classes_))
        self.misses_ = Misses.of(self._probabilities(X)[used], self._predicted(X)[used], low[used], high[used])
        return self

    def predict_interval(self, X: Any, *, level: float = 0.9) -> Array:
        """The lowest and the highest grade of each row's set, (n, 2); a set is never empty."""
        if "misses_" not in vars(self):
            raise NotFittedError("these sets have no level yet; call calibrate(X, y) with rows not learned from")
        codes = grade_sets(self._probabilities(X), self._predicted(X), self.misses_.bound(check_level(level)))
        grades: Array = self.model.classes_[codes]
        return grades

    def _predicted(self, X: Any) -> Array:
        place = {grade: code for code, grade in enumerate(self.model.classes_.tolist())}
        return np.array([place[grade] for grade in self.model.predict(X).tolist()], dtype=np.intp)

    def _probabilities(self, X: Any) -> Array:
        if self.chances_ is None:
            return np.asarray(self.model.predict_proba(X))
        return self.chances_.predict_proba(self.model.project(X)[:, None])
