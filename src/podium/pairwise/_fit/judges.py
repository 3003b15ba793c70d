"""Votes of judges who differ: each judge's slope and lean integrated out, with exact gradient and Hessian.

Judge k prefers the left item of a row with chance σ(m), m = b_k·(s_left − s_right) + a_k, where b_k ~ N(1, τ²) is how
closely the judge follows the scores and a_k ~ N(μ, ω²) how far the judge leans to the left side. With
b = 1 + τz₁ and a = μ + ωz₂ the integral over z ~ N(0, I) is taken by Gauss-Hermite quadrature around the mode of each
judge. Votes of a judge on one pair are one row.

The parameters are the scores and three extras (μ, τ, ω). By Fisher's identity the gradient of the log-likelihood is the
mean, over the judge's z given the votes, of that with z known; by Louis (1982) minus the Hessian is the mean of that
with z known, less the variance of the gradient.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from numpy.typing import NDArray

from podium.data.comparisons import Comparisons
from podium.kernels.pairwise.bradley_terry import scatter_difference
from podium.kernels.pairwise.crowd import judge_modes, judge_moments

__all__ = ["EXTRAS", "Integral", "JudgeVotes", "integrate"]

Floats = NDArray[np.float64]
Codes = NDArray[np.int32]

EXTRAS = 3  # mean lean μ, standard deviation of the slopes τ, and of the leans ω
# Nodes of the quadrature in each direction, by the number of directions; fewer where every judge has so many votes that
# slope and lean are nearly normal around their mode.
NODES, NODES_OF_MANY, MANY = {1: 21, 2: 13}, {1: 11, 2: 9}, 100.0


@dataclass(frozen=True, slots=True)
class JudgeVotes:
    """Votes by judge and pair: left took `points` of `total` in each row, and the rows of judge k begin at start[k].

    Attributes
    ----------
    n : number of items
    row : row of each vote that was given
    turned : whether the vote was given the other way round
    own_left, own_right, own_start, own_item : the two items of each row by place among the judge's own items
    """

    n: int
    start: NDArray[np.intp]
    left: Codes
    right: Codes
    points: Floats
    total: Floats
    row: NDArray[np.intp]
    turned: NDArray[np.bool_]
    own_left: Codes
    own_right: Codes
    own_start: NDArray[np.intp]
    own_item: Codes

    @classmethod
    def of(cls, c: Comparisons, *, by_side: bool, worth: float) -> JudgeVotes:
        """Collect the votes; a weight of 1 is `worth` so many. `by_side` keeps (a, b) and (b, a) apart."""
        assert c.judge is not None, "the votes name their judges"
        left, right, outcome, weight = c.vote_rows()
        n, judges = len(c.items), len(c.judges)
        turned = np.zeros(len(left), dtype=bool) if by_side else left > right
        one, other = np.where(turned, right, left), np.where(turned, left, right)
        keys, row = np.unique((c.judge.astype(np.int64) * n + one) * n + other, return_inverse=True)
        weight = worth * weight
        won = np.where(turned, 1.0 - outcome, outcome)
        judge, pair = np.divmod(keys, n * n)
        one, other = np.divmod(pair, n)
        own, place = np.unique(np.concatenate([judge * n + one, judge * n + other]), return_inverse=True)
        of_judge, item = np.divmod(own, n)
        own_start = np.searchsorted(of_judge, np.arange(judges + 1))
        place = (place.ravel() - own_start[np.tile(judge, 2)]).astype(np.int32)
        return cls(
            n,
            np.searchsorted(judge, np.arange(judges + 1)),
            one.astype(np.int32),
            other.astype(np.int32),
            np.asarray(np.bincount(row.ravel(), weight * won, len(keys)), dtype=np.float64),
            np.asarray(np.bincount(row.ravel(), weight, len(keys)), dtype=np.float64),
            row.ravel(),
            turned,
            place[: len(keys)],
            place[len(keys) :],
            own_start,
            item.astype(np.int32),
        )

    @property
    def judges(self) -> int:
        """Number of judges."""
        return len(self.start) - 1

    @property
    def judge(self) -> NDArray[np.intp]:
        """Judge of each row."""
        return np.repeat(np.arange(self.judges), np.diff(self.start))

    @property
    def many(self) -> bool:
        """Whether every judge with votes has many."""
        votes = np.bincount(self.judge, self.total, self.judges)
        return bool(np.all((votes == 0.0) | (votes >= MANY)))

    @property
    def dense_work(self) -> float:
        """Steps that the matrix of second derivatives takes, for each node."""
        return float(np.sum(np.diff(self.own_start).astype(np.float64) ** 2))

    def without(self, judges: NDArray[np.bool_]) -> JudgeVotes:
        """The same with the votes of some judges left out; they stay as judges without votes."""
        kept = ~judges[self.judge]
        start = np.concatenate([[0], np.cumsum(np.where(judges, 0, np.diff(self.start)))])
        return replace(
            self,
            start=start,
            left=self.left[kept],
            right=self.right[kept],
            points=self.points[kept],
            total=self.total[kept],
            row=np.empty(0, dtype=np.intp),
            turned=np.empty(0, dtype=bool),
            own_left=self.own_left[kept],
            own_right=self.own_right[kept],
        )


@dataclass(slots=True)
class Integral:
    """Log-likelihood with the judges integrated out, at one place, and its derivatives.

    Attributes
    ----------
    likely : by judge
    moments : by judge: mean of z₁ and z₂, variance of z₁, covariance, variance of z₂
    gradient : (rows, 4) of the log-likelihood in the gap of the row; and the row's part of that in the extras
    curvature : (rows, 4) minus the second derivative with z known, in the gap, and in gap × extras
    corner : (3, 3) the same in the extras
    variance : (n + 3, n + 3) of the gradient in scores and extras, or empty
    centre : by judge: the slope at z₁ = 0, which is 1 unless another was asked for
    mode, root : by judge: the most likely z, and a root of the inverse Hessian there
    """

    votes: JudgeVotes
    scores: Floats
    extras: Floats
    likely: Floats
    moments: Floats
    gradient: Floats
    curvature: Floats
    corner: Floats
    variance: Floats
    centre: Floats
    mode: Floats
    root: Floats

    @property
    def log_likelihood(self) -> float:
        """Of all votes."""
        return float(self.likely.sum())

    def slope(self) -> tuple[Floats, Floats]:
        """Each judge's slope: mean and standard deviation given the votes."""
        sd = self.extras[1]
        return self.centre + sd * self.moments[:, 0], sd * np.sqrt(self.moments[:, 2])

    def lean(self) -> tuple[Floats, Floats]:
        """Each judge's lean to the left: mean and standard deviation given the votes."""
        mean, _, sd = self.extras
        return mean + sd * self.moments[:, 1], sd * np.sqrt(self.moments[:, 4])

    def slopes_of_loss(self) -> Floats:
        """Gradient of −log-likelihood in scores and extras: (n + 3)."""
        down = np.zeros(self.votes.n + EXTRAS)
        self._scatter(-self.gradient[:, 0], down[: self.votes.n])
        down[self.votes.n :] = -self.gradient[:, 1:].sum(axis=0)
        return down

    def complete_hessian(self) -> Floats:
        """Hessian of −log-likelihood with z known, averaged over z: (n + 3, n + 3)."""
        n, v = self.votes.n, self.votes
        across = np.bincount(v.left.astype(np.int64) * n + v.right, self.curvature[:, 0], n * n).reshape(n, n)
        across += across.T.copy()
        hessian = np.empty((n + EXTRAS, n + EXTRAS))
        hessian[:n, :n] = np.diag(across.sum(axis=1)) - across
        hessian[n:, :n] = self.border()
        hessian[:n, n:] = hessian[n:, :n].T
        hessian[n:, n:] = self.corner
        return hessian

    def border(self) -> Floats:
        """Mixed second derivatives with z known: (3, n)."""
        border = np.zeros((EXTRAS, self.votes.n))
        for out, column in zip(border, self.curvature[:, 1:].T, strict=True):
            self._scatter(column, out)
        return border

    def hessian(self) -> Floats:
        """Hessian of −log-likelihood in scores and extras, by Louis: (n + 3, n + 3)."""
        return self.complete_hessian() - self.variance

    def _scatter(self, by_row: Floats, out: Floats) -> None:
        scatter_difference(self.votes.left, self.votes.right, np.ascontiguousarray(by_row), out)


def integrate(
    votes: JudgeVotes,
    scores: Floats,
    extras: Floats,
    *,
    dense: bool,
    centre: Floats | None = None,
    near: Integral | None = None,
    nodes: Integral | None = None,
) -> Integral:
    """Integrate the judges out at these scores and extras (μ, τ, ω); `dense` asks for the matrix of variances.

    `centre` is the mean slope of each judge, 1 without. The nodes are laid around each judge's mode, searched for from
    that of `near`; or they are those of `nodes`, so that both integrals are the same function of scores and extras.
    """
    mean, slope_sd, lean_sd = (float(each) for each in extras)
    gap = scores[votes.left] - scores[votes.right]
    centre = np.ones(votes.judges) if centre is None else centre
    counts = votes.start, gap, votes.points, votes.total, centre
    if nodes is None:
        mode, root = np.zeros((votes.judges, 2)) if near is None else near.mode.copy(), np.empty((votes.judges, 3))
        judge_modes(*counts, slope_sd, mean, lean_sd, mode, root)
    else:
        mode, root = nodes.mode, nodes.root
    node, log_mass = _rule(slope_sd > 0.0, lean_sd > 0.0, NODES_OF_MANY if votes.many else NODES)
    rows, size = len(gap), votes.n + EXTRAS if dense else 0
    most = int(np.diff(votes.start).max(initial=0))
    most_items = int(np.diff(votes.own_start).max(initial=0)) + EXTRAS
    found = Integral(
        votes,
        scores,
        np.array([mean, slope_sd, lean_sd]),
        np.empty(votes.judges),
        np.empty((votes.judges, 5)),
        np.empty((rows, 4)),
        np.empty((rows, 4)),
        np.zeros((EXTRAS, EXTRAS)),
        np.zeros((size, size)),
        centre,
        mode,
        root,
    )
    judge_moments(
        *counts,
        slope_sd,
        mean,
        lean_sd,
        mode,
        root,
        node,
        log_mass,
        found.likely,
        found.moments,
        found.gradient,
        found.curvature,
        found.corner,
        votes.own_left,
        votes.own_right,
        votes.own_start,
        votes.own_item,
        np.empty((most, len(log_mass))),
        np.empty(len(log_mass)),
        np.empty(most_items),
        np.empty(most_items),
        found.variance,
    )
    for lower in (found.corner.T, found.variance):  # one triangle was written
        lower += np.tril(lower, -1).T
    return found


@cache
def _gauss_hermite(nodes: int) -> tuple[Floats, Floats]:
    x, mass = np.polynomial.hermite_e.hermegauss(nodes)
    return x, mass


def _rule(slopes: bool, leans: bool, nodes: dict[int, int]) -> tuple[Floats, Floats]:
    """Nodes (Q, 2) and logs of masses for ∫ f(x)·(2π)^(−d/2) dx, d being 0, 1 or 2; a direction left out stays at 0."""
    if not slopes and not leans:
        return np.zeros((1, 2)), np.zeros(1)
    x, mass = _gauss_hermite(nodes[int(slopes) + int(leans)])
    line = np.log(mass) + 0.5 * x**2 - 0.5 * math.log(2.0 * math.pi)
    none = np.zeros(1), np.zeros(1)
    (one, one_mass), (other, other_mass) = ((x, line) if on else none for on in (slopes, leans))
    node = np.stack(np.meshgrid(one, other, indexing="ij"), axis=-1).reshape(-1, 2)
    return np.ascontiguousarray(node), (one_mass[:, None] + other_mass[None, :]).ravel()
