"""A linear scorer for every label that learns one example at a time."""

from __future__ import annotations

from typing import Any

import numpy as np

from podium.kernels.multilabel.linear import stream
from podium.multilabel.surrogates import SURROGATES

__all__ = ["Stream"]


class Stream:
    """AdaGrad on the logistic loss of every label: weights (features + 1, labels), the last row the intercept."""

    def __init__(self, n_features: int, n_labels: int, *, rate: float) -> None:
        self.rate = rate
        self.weights = np.zeros((n_features + 1, n_labels))
        self.squares = np.zeros((n_features + 1, n_labels))

    def learn(self, X: Any, targets: Any, weight: np.ndarray, surrogate: str = "univariate") -> np.ndarray:
        """Learn from rows in order; returns the scores each row was given before it was learned from."""
        from scipy import sparse

        x = sparse.csr_array(X)
        goal = np.ascontiguousarray(targets.toarray() if hasattr(targets, "toarray") else targets, dtype=np.float64)
        if surrogate != "univariate":
            return self._learn_coupled(x, goal, weight, surrogate)
        scores = np.empty(goal.shape)
        stream(
            x.indptr.astype(np.int32), x.indices.astype(np.int32), x.data.astype(np.float64), goal,
            np.ascontiguousarray(weight), self.rate, self.weights, self.squares, np.empty(goal.shape[1]), scores,
        )  # fmt: skip
        return scores

    def _learn_coupled(self, x: Any, goal: np.ndarray, weight: np.ndarray, surrogate: str) -> np.ndarray:
        """The same steps on a loss that couples the labels of a row."""
        scores = np.empty(goal.shape)
        for row in range(x.shape[0]):
            part = slice(x.indptr[row], x.indptr[row + 1])
            at = np.append(x.indices[part], len(self.weights) - 1)
            value = np.append(x.data[part], 1.0)
            scores[row] = value @ self.weights[at]
            if weight[row] == 0:
                continue
            one = slice(row, row + 1)
            slope = value[:, None] * SURROGATES[surrogate](scores[one], goal[one], weight[one])[1]
            self.squares[at] += np.square(slope)
            self.weights[at] -= self.rate * slope / (np.sqrt(self.squares[at]) + 1e-8)
        return scores

    def scores(self, X: Any) -> np.ndarray:
        return np.asarray(X @ self.weights[:-1] + self.weights[-1])
