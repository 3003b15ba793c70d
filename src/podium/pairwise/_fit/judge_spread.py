"""How much judges differ, from the votes: the standard deviation τ of their slopes.

Likelihood alone exaggerates it, the more so where one looks only at sets in which it is large. With true scores
u ~ N(0, s²) the evidence for τ is Laplace's approximation of the marginal likelihood,

    F(τ) = −J − ½ log det H − n·log s − (log s)²/2,

with J the penalised loss at its optimum and H Louis' Hessian there. Its top in s moves with τ as the scores themselves
do: s(τ) = k(τ)·s(0), k being how much larger scores are than with judges who are alike, under a wide prior. Before
the votes are seen, judges differ in two sets of three, and τ then has half a Cauchy distribution. It is its posterior
mean, to which judges who are alike add 0; and 0 where that is the more likely.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from podium.pairwise._fit.judges import Integral, JudgeVotes
from podium.pairwise._fit.marginal import MAX_SD, MIN_SD, SLOPE_SD, JudgeFit, fit_judges

__all__ = ["SlopeSpread", "scaled_sd", "slope_spread"]

Floats = NDArray[np.float64]

SLOPE_SDS = (0.0, 0.25, 0.5, 0.75, 1.0, 1.4, 2.0, 3.0, 4.0, MAX_SD)  # at which the evidence is taken
LEAST_SDS = 4  # of them
TYPICAL_SD, PRIOR_ODDS = 0.5, 2.0  # scale of the prior of τ, and the odds that judges differ
FAR_BELOW = 6.0  # of the log posterior: what is left beyond is next to nothing
FINE = 2000  # steps of the integral between them
MAX_FINER, FINEST = 4, 0.02  # more of them, around the posterior mean, and how near is near enough
WIDE = 3.0  # times s: the prior under which scores are compared
MAX_SCALE = 10.0  # of scores, with judges who differ and alike
TOL = 1e-3  # of scores on the way


@dataclass(frozen=True, slots=True)
class SlopeSpread:
    """The standard deviation of the slopes; `endless` where the evidence grows with it as far as one looks."""

    sd: float
    endless: bool = False


def slope_spread(votes: JudgeVotes, l2: float, alike: JudgeFit, *, free: tuple[int, ...], max_iter: int) -> SlopeSpread:
    """What the votes say, `l2` being the penalty and `alike` a fit if judges are alike."""
    scale = _Scale(votes, l2, alike, free, max_iter)
    logs: dict[float, float] = {}
    for sd in SLOPE_SDS:
        log = scale.log_evidence(sd)
        if log is None:
            break
        logs[sd] = log
        if len(logs) >= LEAST_SDS and log + _log_prior(sd) < max(logs.values()) - FAR_BELOW:
            break
    if len(logs) < LEAST_SDS:
        return SlopeSpread(0.0)
    mean, known, odds = _posterior(logs)
    for _ in range(MAX_FINER):  # where votes are many the evidence is sharper than the steps are short
        if min(abs(mean - sd) for sd in logs) <= max(known, FINEST) or (log := scale.log_evidence(mean)) is None:
            break
        logs[mean] = log
        mean, known, odds = _posterior(logs)
    differ = 1.0 / (1.0 + 1.0 / (PRIOR_ODDS * odds))
    endless = max(logs) == MAX_SD and max(logs.values()) == logs[MAX_SD]
    return SlopeSpread(differ * mean if differ > 0.5 and mean >= MIN_SD else 0.0, endless)


def scaled_sd(votes: JudgeVotes, l2: float, apart: JudgeFit, *, free: tuple[int, ...], max_iter: int) -> float:
    """The standard deviation of the true scores, `l2` being the penalty if judges were alike and `apart` a fit."""
    return math.sqrt(0.5 / _Scale(votes, l2, apart, free, max_iter).penalty(float(apart.extras[SLOPE_SD])))


class _Scale:
    """Evidence for one τ after the other, each search from the last."""

    def __init__(self, votes: JudgeVotes, l2: float, near: JudgeFit, free: tuple[int, ...], max_iter: int) -> None:
        self.votes, self.l2, self.free, self.max_iter = votes, l2, free, max_iter
        self.alike = self.wide = self.near = self._fit(l2 / WIDE**2, near.scores, _with(near.extras, 0.0))

    def _fit(self, l2: float, scores: Floats, extras: Floats) -> JudgeFit:
        return fit_judges(self.votes, l2, scores=scores, extras=extras, free=self.free, tol=TOL, max_iter=self.max_iter)

    def penalty(self, sd: float) -> float:
        """The penalty with judges who differ so."""
        self.wide = self._fit(self.l2 / WIDE**2, self.wide.scores, _with(self.wide.extras, sd))
        other = self.alike.scores - self.alike.scores.mean()
        ratio = abs(float(self.wide.scores @ other)) / max(float(other @ other), 1e-12)
        return self.l2 / min(max(ratio, 1.0 / MAX_SCALE), MAX_SCALE) ** 2

    def log_evidence(self, sd: float) -> float | None:
        """F there; None where a fit has no end."""
        l2 = self.penalty(sd)
        self.near = self._fit(l2, self.near.scores, self.wide.extras)
        if not (self.wide.converged and self.near.converged):
            return None
        n, x = self.votes.n, -0.5 * math.log(2.0 * l2)
        return -self.near.objective - 0.5 * _log_determinant(self.near.integral, 2.0 * l2) - n * x - 0.5 * x * x


def _with(extras: Floats, sd: float) -> Floats:
    changed = extras.copy()
    changed[SLOPE_SD] = sd
    return changed


def _log_determinant(i: Integral, ridge: float) -> float:
    """Of Louis' Hessian in the scores, with the penalty's ridge.

    Where it is too large for a matrix, to second order in what is beside its diagonal, the variance of each judge's
    gradient being taken to first order in the slope.
    """
    v, n = i.votes, i.votes.n
    if len(i.variance):
        return float(np.linalg.slogdet(i.hessian()[:n, :n] + ridge * np.eye(n))[1])
    gap, bend = i.scores[v.left] - i.scores[v.right], i.curvature[:, 0]
    sd = np.sqrt(i.moments[:, 2])
    along = i.extras[SLOPE_SD] * sd[v.judge] * (i.gradient[:, 1] - gap * i.curvature[:, 1])
    ends = v.own_start[v.judge] + v.own_left, v.own_start[v.judge] + v.own_right
    pull = np.bincount(ends[0], along, len(v.own_item)) - np.bincount(ends[1], along, len(v.own_item))
    known = np.bincount(v.left, bend, n) + np.bincount(v.right, bend, n)
    diagonal = np.maximum(known - np.bincount(v.own_item, pull**2, n), 0.0) + ridge
    pull = pull / np.sqrt(diagonal[v.own_item])
    bend = bend / np.sqrt(diagonal[v.left] * diagonal[v.right])
    keys = np.minimum(v.left, v.right).astype(np.int64) * n + np.maximum(v.left, v.right)  # (b, a) is the pair (a, b)
    pairs, pair = np.unique(keys, return_inverse=True)
    met = np.bincount(pair, bend, len(pairs))
    both = met**2 + 2.0 * met * np.bincount(pair, pull[ends[0]] * pull[ends[1]], len(pairs))
    own = np.repeat(np.arange(v.judges), np.diff(v.own_start))
    alone = np.bincount(own, pull**2, v.judges) ** 2 - np.bincount(own, pull**4, v.judges)
    return float(np.log(diagonal).sum() - both.sum() - 0.5 * alone.sum())


def _log_prior(sd: float | Floats) -> float | Floats:
    return -np.log1p((sd / TYPICAL_SD) ** 2) + math.log(2.0 / (math.pi * TYPICAL_SD))


def _posterior(logs: dict[float, float]) -> tuple[float, float, float]:
    """Mean and standard deviation of τ if judges differ, and the evidence for it, a smooth and even function of τ."""
    from scipy.interpolate import CubicSpline

    sds = np.array(sorted(logs))
    fine = np.linspace(0.0, sds[-1], FINE)
    spline = CubicSpline(sds, [logs[sd] - logs[0.0] for sd in sds], bc_type=("clamped", "not-a-knot"))
    log = spline(fine) + _log_prior(fine)
    mass = np.exp(log - log.max())
    share = mass / mass.sum()
    mean = float(share @ fine)
    known = math.sqrt(float(share @ (fine - mean) ** 2))
    return mean, known, math.exp(min(log.max(), 700.0)) * float(mass.sum()) * float(fine[1])
