"""The scale of the features of a table that arrives in pieces."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from podium.ordinal.labels import Array

__all__ = ["RunningScale"]


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
    absent: Array  # of each feature, rows in which it is missing (NaN)

    state_version: ClassVar[int] = 2

    @classmethod
    def upgraded(cls, state: dict[str, Any], version: int) -> dict[str, Any]:
        """Files of version 1 knew no missing values."""
        return state | {"absent": np.zeros_like(state["mean"])}

    @classmethod
    def empty(cls, n_features: int) -> RunningScale:
        return cls(0, *np.zeros((3, n_features)))

    def add(self, X: Array) -> None:
        """Take in more rows; a missing value counts for no feature."""
        if not len(X):
            return
        there = ~np.isnan(X)
        new, known = there.sum(axis=0), self.count - self.absent
        total = np.maximum(known + new, 1)
        mean = np.where(there, X, 0.0).sum(axis=0) / np.maximum(new, 1)
        apart = mean - self.mean
        squares = (np.where(there, X - mean, 0.0) ** 2).sum(axis=0)
        self.squares = self.squares + squares + apart**2 * (known * new / total)
        self.mean = self.mean + apart * (new / total)
        self.absent = self.absent + (len(X) - new)
        self.count += len(X)

    @property
    def deviation(self) -> Array:
        """Standard deviation of each feature; 1 for one that never varied."""
        spread = np.sqrt(self.squares / np.maximum(self.count - self.absent, 1))
        return np.where(spread > 0, spread, 1.0)

    def apply(self, X: Array) -> Array:
        scaled: Array = (X - self.mean) / self.deviation
        return scaled
