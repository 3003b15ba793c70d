"""How a model's grades agree with those of a table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from podium.ordinal.labels import Array

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Evaluation"]


@dataclass(frozen=True, slots=True)
class Evaluation:
    """How a model's grades agree with those of a table.

    Attributes
    ----------
    grades : array of shape (K,)
        From lowest to highest.
    counts : array of shape (K, K)
        Rows by true grade (the one of a range that is nearest to the prediction) and predicted grade.
    scores, truth : arrays
        Score and place of the true grade of the first rows, as many as were asked for, for pictures.
    """

    grades: Array
    counts: Array
    scores: Array
    truth: Array

    @property
    def rows(self) -> int:
        """How many rows were graded."""
        return int(self.counts.sum())

    @property
    def error(self) -> float:
        """Mean absolute error in grades; 0 anywhere inside a range."""
        return float((self.counts * self._distance).sum() / self.rows)

    @property
    def accuracy(self) -> float:
        """Share of rows whose prediction is the grade, or lies inside the range."""
        return float(self.counts.diagonal().sum() / self.rows)

    @property
    def _distance(self) -> Array:
        places = np.arange(len(self.grades))
        distance: Array = np.abs(places[:, None] - places)
        return distance

    def to_frame(self) -> pl.DataFrame:
        """A row for each grade: rows, how many are right, their mean absolute error, and how often it became which."""
        import polars as pl

        rows = self.counts.sum(axis=1)
        error = ((self.counts * self._distance).sum(axis=1) / np.maximum(rows, 1)).round(4)
        about = {"grade": self.grades, "rows": rows, "right": self.counts.diagonal(), "error": error}
        became = {f"as {grade}": self.counts[:, k] for k, grade in enumerate(self.grades.tolist())}
        return pl.DataFrame(about | became)
