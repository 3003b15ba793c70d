"""What features say about the places of items, learnt while asking."""

from __future__ import annotations

from typing import Any

import numpy as np

from podium.active.model_scores import Scores
from podium.active.posterior import Posterior
from podium.data.validation import floats_of
from podium.errors import InputError
from podium.text import counted

__all__ = ["Features"]

RIDGE = 1.0  # penalty of the weights: as much as one item's
# Of the variance of places: if features leave no more open in the sorted sample, they make the start.
MAX_OPEN_VARIANCE = 0.5


class Features:
    """A linear guess of every item's place from its features, worth what it proves to be worth.

    Places known so far are regressed on the features. The guess for an item that has a place leaves that item out (the
    diagonal of the hat matrix tells how), so the error of guess against place is honest: informative features give a
    sharp prior, useless ones a flat one. This is the linear part X w of RABF with places in the role of scores; RABF
    on the answers themselves was measured in its stead and orders no better (docs/active-theory.md).
    """

    def __init__(self, values: Any, n: int) -> None:
        table = floats_of("features", values)
        if table.ndim == 1:
            table = table[:, None]
        if table.shape[:1] != (n,) or table.ndim != 2:
            raise InputError(
                f"features have shape {table.shape}; one row for each of the {counted(n, 'item')} is needed"
            )
        bad = np.argwhere(~np.isfinite(table))
        if len(bad):
            row, column = bad[0]
            raise InputError(
                f"features: row {row + 1}, column {column + 1} is {table[row, column]}; numbers are needed"
            )
        std = table.std(axis=0)
        table = (table - table.mean(axis=0))[:, std > 0] / std[std > 0]
        self._design = np.column_stack([np.ones(n), table])
        self._everyone = self._hat(np.arange(n))

    def start(self, sample: np.ndarray) -> Posterior | None:
        """Places of all items after a sorted `sample`, as far as features predict them; None if they do not."""
        n = len(self._design)
        place = (np.arange(len(sample)) + 0.5) * (n / len(sample)) - 0.5
        guess, error = self._guess(sample, place, self._hat(sample))
        if error > MAX_OPEN_VARIANCE * n**2 / 12.0:
            return None
        posterior = Posterior(n)
        posterior.position[np.argsort(guess, kind="stable")] = np.arange(n)
        posterior.std[:] = np.sqrt(error)
        return posterior

    def prior(self, posterior: Posterior) -> tuple[np.ndarray, float]:
        """Expected places without the item's own answers, and the precision of that."""
        n = posterior.n
        guess, error = self._guess(np.arange(n), posterior.position, self._everyone)
        return guess, _worth(error + float(np.mean(posterior.std**2)), n)  # places are themselves unsure

    def score_prior(self, scores: Scores) -> tuple[np.ndarray, float]:
        """Expected scores without the item's own votes, and the precision of that; 0 where features tell nothing."""
        guess, error = self._guess(np.arange(len(self._design)), scores.mean, self._everyone)
        known = float(scores.mean.var())
        if error >= 0.9 * known or known == 0.0:
            return np.zeros(len(guess)), 0.0
        left = max(error - float(scores.variance.mean()), 0.1 * error)
        return guess, min(1.0 / left, 10.0)

    def _hat(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """What turns places of `rows` into weights, and how much each place weighs in its own guess."""
        design = self._design[rows]
        ridge = RIDGE * np.eye(design.shape[1])
        ridge[0, 0] = 0.0
        solve = np.linalg.solve(design.T @ design + ridge, design.T)
        return solve, np.minimum(np.einsum("ij,ji->i", design, solve), 0.9)

    def _guess(
        self, rows: np.ndarray, place: np.ndarray, hat: tuple[np.ndarray, np.ndarray]
    ) -> tuple[np.ndarray, float]:
        """Places of all items from those of `rows`, each of these left out for itself, and the mean squared error."""
        solve, leverage = hat
        guess: np.ndarray = self._design @ (solve @ place)
        guess[rows] = (guess[rows] - leverage * place) / (1.0 - leverage)
        return guess, float(np.mean((place - guess[rows]) ** 2))


def _worth(error: float, n: int) -> float:
    """Precision beyond that of knowing nothing."""
    flat = n**2 / 12.0
    return max(0.0, 1.0 / error - 1.0 / flat) if error < flat else 0.0
