"""A grader for tables that arrive in pieces: an online classifier, its feature names and a running standardisation."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from podium.errors import InputError
from podium.ordinal.labels import Array, read_labels
from podium.ordinal.passive_aggressive import PassiveAggressiveOrdinal

__all__ = ["Grader", "RunningScale"]

MAX_FEATURE = 1e150  # its square is a number still


@dataclass
class RunningScale:
    """Mean and variance of each feature over all rows seen so far; pieces add up to the whole (Chan et al., 1979).

    >>> scale = RunningScale.empty(1)
    >>> scale.add(np.array([[1.0], [2.0]]))
    >>> scale.add(np.array([[3.0]]))
    >>> scale.apply(np.array([[2.0]])).tolist(), float(scale.deviation[0] ** 2)
    ([[0.0]], 0.66...)
    """

    count: int
    mean: Array
    squares: Array  # sum of squared deviations from the mean

    @classmethod
    def empty(cls, n_features: int) -> RunningScale:
        return cls(0, np.zeros(n_features), np.zeros(n_features))

    def add(self, X: Array) -> None:
        if not len(X):
            return
        mean = X.mean(axis=0)
        total = self.count + len(X)
        apart = mean - self.mean
        self.squares = self.squares + ((X - mean) ** 2).sum(axis=0) + apart**2 * (self.count * len(X) / total)
        self.mean = self.mean + apart * (len(X) / total)
        self.count = total

    @property
    def deviation(self) -> Array:
        """Standard deviation of each feature; 1 for one that never varied."""
        spread = np.sqrt(self.squares / max(self.count, 1))
        return np.where(spread > 0, spread, 1.0)

    def apply(self, X: Array) -> Array:
        scaled: Array = (X - self.mean) / self.deviation
        return scaled


@dataclass
class Grader:
    """Learns from pieces of a table and grades others; this is what `podium grade` keeps in its model file.

    With `settled`, the scale was found in a pass of its own and stays; else each piece is first added to it.
    """

    features: list[str]
    classifier: PassiveAggressiveOrdinal
    scale: RunningScale
    settled: bool = False
    curve: list[tuple[int, float]] = field(default_factory=list)  # rows seen, progressive error up to then

    @classmethod
    def empty(cls, features: list[str], classifier: PassiveAggressiveOrdinal) -> Grader:
        return cls(list(features), classifier, RunningScale.empty(len(features)))

    @property
    def grades(self) -> Array:
        grades: Array = self.classifier.classes_
        return grades

    def learn(self, X: Array, lower: Any, upper: Any = None, *, row: int = 0) -> None:
        """Learn from a piece whose first row is number `row` + 1; labels are grades, or lower and upper ends."""
        rows = self._checked(X, row)
        known = np.asarray(self.classifier.classes)
        ends = (lower, None, None) if upper is None else (None, lower, upper)
        low, high, _ = read_labels(*ends, classes=known, rows=len(rows), first=row + 1)
        if not self.settled:
            self.scale.add(rows)
        scaled, labels = self.scale.apply(rows), known[np.stack([low, high], axis=1)]
        start = 0
        while start < len(rows):  # a point of the curve whenever another twentieth was seen
            end = start + max(50, (self.curve[-1][0] if self.curve else 0) // 20)
            self.classifier.partial_fit(scaled[start:end], labels[start:end])
            self.curve.append((self.classifier.n_seen_, self.classifier.mae_))
            start = end

    def scores(self, X: Array, *, row: int = 0) -> Array:
        """The score of each row on the axis that the thresholds cut."""
        return self.classifier.project(self.scale.apply(self._checked(X, row)))

    def predict(self, X: Array, *, row: int = 0) -> Array:
        """The grade of each row."""
        return self.classifier.predict_median(self.scale.apply(self._checked(X, row)))

    def interval(self, X: Array, *, margin: float = 1.0, row: int = 0) -> Array:
        """Lowest and highest grade within `margin` of each row's score."""
        return self.classifier.predict_interval(self.scale.apply(self._checked(X, row)), margin=margin)

    def _checked(self, X: Array, row: int) -> Array:
        bad = np.argwhere(~(np.abs(X) < MAX_FEATURE))
        if len(bad):
            value = X[tuple(bad[0])]
            shown = "is missing or not a number" if np.isnan(value) else f"is {value:g}, too large to learn from"
            shown = "is infinite" if np.isinf(value) else shown
            raise InputError(
                f"row {row + int(bad[0, 0]) + 1}: {self.features[bad[0, 1]]!r} {shown}; fill in a value or drop the row"
            )
        return X
