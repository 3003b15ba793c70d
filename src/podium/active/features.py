"""What features say about the places of items, learnt while asking."""

from __future__ import annotations

from typing import Any

import numpy as np

from podium.active.posterior import Posterior
from podium.errors import InputError

__all__ = ["Features"]

RIDGE = 1e-3  # times n: enough to keep collinear columns harmless


class Features:
    """A linear guess of every item's place from its features, worth what it proves to be worth.

    Each round the places so far are regressed on the features. The guess for an item leaves that item out (the
    diagonal of the hat matrix tells how), so the spread of guess against place is honest: informative features give a
    sharp prior, useless ones a flat one. This is the linear part of RABF with places in the role of scores.
    """

    def __init__(self, values: Any, n: int) -> None:
        table = np.asarray(values, dtype=np.float64)
        if table.ndim == 1:
            table = table[:, None]
        if table.shape[:1] != (n,) or table.ndim != 2:
            raise InputError(f"features have shape {table.shape}; one row for each of the {n} items is needed")
        bad = np.argwhere(~np.isfinite(table))
        if len(bad):
            row, column = bad[0]
            raise InputError(
                f"features: row {row + 1}, column {column + 1} is {table[row, column]}; numbers are needed"
            )
        spread = table.std(axis=0)
        table = (table - table.mean(axis=0))[:, spread > 0] / spread[spread > 0]
        design = np.column_stack([np.ones(n), table])
        inverse = np.linalg.inv(design.T @ design + RIDGE * n * np.eye(design.shape[1]))
        self._design = design
        self._inverse = inverse
        self._leverage = np.minimum(np.einsum("ij,jk,ik->i", design, inverse, design), 0.9)

    def prior(self, posterior: Posterior) -> tuple[np.ndarray, float]:
        """Expected places without the item's own answers, and the precision of that."""
        place = posterior.position
        fitted = self._design @ (self._inverse @ (self._design.T @ place))
        guess = (fitted - self._leverage * place) / (1.0 - self._leverage)
        noise = float(np.mean(posterior.spread**2))
        error = float(np.mean((place - guess) ** 2)) + noise  # places are themselves unsure: never less than that
        flat = posterior.n**2 / 12.0
        return guess, max(0.0, 1.0 / error - 1.0 / flat) if error < flat else 0.0
