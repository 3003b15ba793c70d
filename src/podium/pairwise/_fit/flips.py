"""Penalties where a known share of votes was reported the wrong way round.

The likelihood of such votes is bounded: scores far apart say ρ or 1 − ρ, and still farther ones the same. Laplace's
approximation takes that flat land for probable, and the evidence is highest where scores run away. The same votes taken
at their word have no flat land. So the penalties are chosen there, and widened until the chances of a vote as reported,
ρ + (1 − 2ρ)σ(m), vary as much over pairs of items as the chances σ(m̃) of votes taken at their word, m and m̃ normal.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from podium.engine import running
from podium.pairwise._fit.feature_solver import FeatureProblem, FeatureSolution, Place, solve_features
from podium.pairwise._fit.penalties import Node, Penalties, choose_penalties, possible_penalties

__all__ = ["FlippedVotes", "widening"]

MAX_SPREAD = 4.0  # of scores, in log-odds: beyond, nearly every pair is decided, and votes do not say how clearly
NODES = np.linspace(-8.0, 8.0, 401)  # for means over a normal distribution, by the trapezoidal rule
SHARES = np.exp(-0.5 * NODES**2) / np.exp(-0.5 * NODES**2).sum()
BISECTIONS = 60
GIVEN_ROUNDS = 4  # of which each brings a given penalty and the chosen one closer to the same widening
START_TOL = 1e-4  # of the plain fit from which the search for one with flips begins


def widening(spread: float, flip_rate: float) -> float:
    """How many times as spread scores are that explain the same votes with flips as without.

    `spread` is the standard deviation of the scores without.
    """
    least = 1.0 / (1.0 - 2.0 * flip_rate)  # that of scores close to each other
    wanted = least**2 * _variance_of_chance(spread)
    low, high = spread * least, max(MAX_SPREAD, spread * least)
    for _ in range(BISECTIONS):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if _variance_of_chance(middle) < wanted else (low, middle)
    return high / spread


def _variance_of_chance(spread: float) -> float:
    """Variance of σ(m) where m is the difference of two normal scores."""
    return float(SHARES @ (0.5 * np.tanh(math.sqrt(0.5) * spread * NODES)) ** 2)


@dataclass
class FlippedVotes:
    """A problem with flips, the same votes taken at their word, and the way from one to the other."""

    problem: FeatureProblem
    plain: FeatureProblem
    flip_rate: float
    max_iter: int
    chosen: Penalties | None = field(default=None, init=False)  # for the votes taken at their word

    def start(self, penalties: tuple[float, float]) -> Place:
        """Where the search for the optimum begins, which is not the only one: at that without flips."""
        return solve_features(self.plain, penalties, START_TOL, self.max_iter).place

    def choose(self, feature: float | None, residual: float | None, tol: float) -> Penalties:
        """Choose the penalties that are None; the others stay as they are."""
        if feature is not None and residual is not None:
            at = feature, residual
            return Penalties(*at, self._solve(at, tol), ())
        self.chosen = self._without_flips(feature, residual)
        wide = self._widened((self.chosen.feature, self.chosen.residual))
        at = wide[0] if feature is None else feature, wide[1] if residual is None else residual
        return dataclasses.replace(self.chosen, feature=at[0], residual=at[1], solution=self._solve(at, tol))

    def possible(self, engine: Any = None) -> list[Node]:
        """Penalties around the chosen ones with their share of the posterior, as far as votes without flips tell."""
        if self.chosen is None:
            return []
        nodes = possible_penalties(self.plain, self.chosen, self.max_iter)
        with running(1, engine=engine) as runner:
            return list(runner.map(_with_flips, nodes, self))

    def _solve(self, penalties: tuple[float, float], tol: float) -> FeatureSolution:
        return solve_features(self.problem, penalties, tol, self.max_iter, self.start(penalties))

    def _without_flips(self, feature: float | None, residual: float | None) -> Penalties:
        """Choose for the votes taken at their word; penalties that are given are as much larger there."""
        factor, given = 1.0 / (1.0 - 2.0 * self.flip_rate), (feature, residual)
        rounds = 1 if feature is None and residual is None else GIVEN_ROUNDS
        for _ in range(rounds):
            there = [None if value is None else factor**2 * value for value in given]
            found = choose_penalties(self.plain, there[0], there[1], START_TOL, self.max_iter)
            factor = widening(self._spread((found.feature, found.residual)), self.flip_rate)
        return found

    def _widened(self, penalties: tuple[float, float]) -> tuple[float, float]:
        factor = widening(self._spread(penalties), self.flip_rate)
        return penalties[0] / factor**2, penalties[1] / factor**2

    def _spread(self, penalties: tuple[float, float]) -> float:
        """Standard deviation of scores under the prior that penalties stand for."""
        features = float(self.plain.features.var(axis=0).sum())
        variance = 0.5 * (features / max(penalties[0], 1e-290) + 1.0 / max(penalties[1], 1e-290))
        return math.sqrt(max(variance, 1e-12))


def _with_flips(node: Node, votes: FlippedVotes) -> Node:
    """The node's penalties widened, and the optimum there."""
    at = votes._widened(node.penalties)
    return Node(node.share, at, votes._solve(at, START_TOL).place)
