"""Likelihoods of one comparison: loss and derivatives along the margin, row by row.

The margin is the left score minus the right, plus any effect of side or covariates. Each class is a `RowLoss` of the
solvers, and knows the slope of a single vote, which robust standard errors are made of.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from podium.kernels.pairwise.bradley_terry import logistic_rows

__all__ = ["DavidsonRows", "HeldTies", "LapseRows", "LogisticRows", "SquaredRows"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class LogisticRows:
    """Bradley-Terry: left took `points` of `total` in each row; a tie is half a win for both."""

    points: Floats
    total: Floats
    own: int = 0

    def __call__(self, margin: Floats, extras: Floats) -> tuple[float, Floats, Floats, Floats, Floats, Floats]:
        """Loss, slope and curvature along the margin; there are no parameters of its own."""
        slope, curvature = np.empty_like(margin), np.empty_like(margin)
        loss = logistic_rows(margin, self.points, self.total, slope, curvature)
        return loss, slope, curvature, np.empty(0), np.empty((len(margin), 0)), np.empty((0, 0))

    @staticmethod
    def vote_slopes(margin: Floats, outcome: Floats, extras: Floats) -> tuple[Floats, Floats]:
        """Slope of one vote's loss along the margin for an outcome of 1, 0 or ½; and along own parameters (none)."""
        return 1.0 / (1.0 + np.exp(-margin)) - outcome, np.empty((len(margin), 0))


@dataclass(frozen=True, slots=True)
class LapseRows:
    """Bradley-Terry votes of which a share ρ was reported the wrong way round: left wins with q = ρ + (1 − 2ρ)σ(m).

    Not convex in the margin. The curvature is the expected one (Fisher's information), which is never negative.
    """

    points: Floats
    total: Floats
    flip_rate: float
    own: int = 0

    def __call__(self, margin: Floats, extras: Floats) -> tuple[float, Floats, Floats, Floats, Floats, Floats]:
        """Loss, slope and curvature along the margin; there are no parameters of its own."""
        won, lost, bend = self._shares(margin)
        loss = -float(self.points @ np.log(won) + (self.total - self.points) @ np.log(lost))
        slope = bend * (self.total * won - self.points) / (won * lost)
        curvature = self.total * bend**2 / (won * lost)
        return loss, slope, curvature, np.empty(0), np.empty((len(margin), 0)), np.empty((0, 0))

    def vote_slopes(self, margin: Floats, outcome: Floats) -> Floats:
        """Slope of one vote's loss along the margin for an outcome of 1, 0 or ½."""
        won, lost, bend = self._shares(margin)
        slopes: Floats = bend * (won - outcome) / (won * lost)
        return slopes

    def _shares(self, margin: Floats) -> tuple[Floats, Floats, Floats]:
        """Chances that left and right are reported to win, and the derivative of the first."""
        tail = np.exp(-np.abs(margin))
        small = tail / (1.0 + tail)
        keep = 1.0 - 2.0 * self.flip_rate
        upset, expected = self.flip_rate + keep * small, self.flip_rate + keep / (1.0 + tail)
        ahead = margin > 0
        return np.where(ahead, expected, upset), np.where(ahead, upset, expected), keep * small / (1.0 + tail)


@dataclass(frozen=True, slots=True)
class SquaredRows:
    """Squared loss Σ weight·(margin − target)²; `target` is the mean of what the row's votes want.

    `within` is the part of the loss no margin can change: how far the votes of a row are from their mean. `constant`
    completes an objective that is no sum of squares; the loss leaves it out, as it says nothing of how votes scatter.
    """

    target: Floats
    total: Floats
    within: float = 0.0
    constant: float = 0.0
    own: int = 0

    def __call__(self, margin: Floats, extras: Floats) -> tuple[float, Floats, Floats, Floats, Floats, Floats]:
        """Loss, slope and curvature along the margin; there are no parameters of its own."""
        off = margin - self.target
        loss = float(self.total @ off**2) + self.within
        return loss, 2.0 * self.total * off, 2.0 * self.total, np.empty(0), np.empty((len(off), 0)), np.empty((0, 0))


@dataclass(frozen=True, slots=True)
class DavidsonRows:
    """Davidson (1970): win, tie and loss have chances in proportion e^(m/2) : ν : e^(−m/2).

    Its own parameter is η = log ν, the last of the extras.
    """

    wins: Floats
    losses: Floats
    ties: Floats
    own: int = 1

    def __call__(self, margin: Floats, extras: Floats) -> tuple[float, Floats, Floats, Floats, Floats, Floats]:
        """Loss, slope and curvature along the margin; gradient, mixed and second derivatives of η."""
        left, right, tie, log_sum = _shares(margin, extras[-1])
        total = self.wins + self.losses + self.ties
        loss = float(np.sum(total * log_sum - 0.5 * margin * (self.wins - self.losses)) - extras[-1] * self.ties.sum())
        lead = 0.5 * (left - right)
        slope = total * lead - 0.5 * (self.wins - self.losses)
        curvature = total * (0.25 * (left + right) - lead**2)
        own = np.array([np.sum(total * tie - self.ties)])
        mixed = -(total * tie * lead)[:, None]
        return loss, slope, curvature, own, mixed, np.array([[np.sum(total * tie * (1.0 - tie))]])

    def margin_derivatives(self, margin: Floats, extras: Floats) -> tuple[Floats, Floats, Floats]:
        """Second, third and fourth derivatives along the margin: cumulants of ½, −½ and 0 with the three chances."""
        left, right, tie, _ = _shares(margin, extras[-1])
        mean = 0.5 * (left - right)
        moments = [left * (0.5 - mean) ** k + right * (-0.5 - mean) ** k + tie * (-mean) ** k for k in (2, 3, 4)]
        total = self.wins + self.losses + self.ties
        return total * moments[0], total * moments[1], total * (moments[2] - 3.0 * moments[0] ** 2)

    def outcome_leverages(self, margin: Floats, extras: Floats, variance: Floats, mixed: Floats, own: float) -> Floats:
        """Votes of the row · chance · yᵀWy for a left win, a right win and a tie, (3, rows).

        y is what the outcome adds to half the wins less losses and to the ties, less its mean; W has the variance of
        the margin, its covariance with η (`mixed`) and the variance of η (`own`).
        """
        left, right, tie, _ = _shares(margin, extras[-1])
        total, lead = self.wins + self.losses + self.ties, 0.5 * (left - right)
        leverages = np.empty((3, len(margin)))
        for out, chance, won, tied in zip(leverages, (left, right, tie), (0.5, -0.5, 0), (0, 0, 1), strict=True):
            along, across = won - lead, tied - tie
            out[:] = total * chance * (along**2 * variance + 2.0 * along * across * mixed + across**2 * own)
        return leverages

    @staticmethod
    def vote_slopes(margin: Floats, outcome: Floats, extras: Floats) -> tuple[Floats, Floats]:
        """Slope of one vote's loss along the margin for an outcome of 1, 0 or ½ (a tie); and along η."""
        left, right, tie, _ = _shares(margin, extras[-1])
        return 0.5 * (left - right) - (outcome - 0.5), (tie - (outcome == 0.5))[:, None]


@dataclass(frozen=True, slots=True)
class HeldTies:
    """Davidson's rows with ν held at a value: a loss of the margin alone."""

    rows: DavidsonRows
    eta: float
    own: int = 0

    def __call__(self, margin: Floats, extras: Floats) -> tuple[float, Floats, Floats, Floats, Floats, Floats]:
        """Loss, slope and curvature along the margin; there are no parameters of its own."""
        loss, slope, curvature = self.rows(margin, np.array([self.eta]))[:3]
        return loss, slope, curvature, np.empty(0), np.empty((len(margin), 0)), np.empty((0, 0))


def _shares(margin: Floats, eta: float) -> tuple[Floats, Floats, Floats, Floats]:
    """Chances of a left win, a right win and a tie, and the log of their common denominator."""
    half = 0.5 * margin
    top = np.maximum(np.abs(half), eta)  # taken out, so that nothing overflows
    left, right, tie = np.exp(half - top), np.exp(-half - top), np.exp(eta - top)
    total = left + right + tie
    return left / total, right / total, tie / total, np.log(total) + top
