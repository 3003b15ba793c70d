"""Which rows are equal, told from what they hold: the same whatever their order, and whether the table is sparse."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["different_rows"]

DIGITS = 9  # of a row's place along the direction that count


def different_rows(X: Any, weight: np.ndarray) -> np.ndarray:
    """The number, from 0, of the different row that each row is; -1 for rows of no weight.

    Rows are compared by their place along a fixed direction through the features, and numbered along it.
    """
    direction = np.random.default_rng(0).normal(size=X.shape[1])
    used = weight > 0
    place = np.asarray(X @ direction).reshape(-1)[used]
    place = np.round(place / (np.abs(place).max(initial=0.0) or 1.0), DIGITS)
    out = np.full(len(used), -1)
    out[used] = np.unique(place, return_inverse=True)[1]
    return out
