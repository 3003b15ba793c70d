"""CrowdBradleyTerry: scores of the items and reliabilities of the judges, found together."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from functools import partial
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import NDArray

from podium.data.comparisons import Comparisons, as_comparisons
from podium.data.validation import number_option
from podium.errors import ConvergenceError, InputError, InPython, Option
from podium.kernels.pairwise.crowd import crowd_loss
from podium.pairwise._fit.solvers import coordinate_newton
from podium.pairwise.base import Ranker, Uses, logistic
from podium.ranking.ranking import Ranking
from podium.ranking.ranks import settled
from podium.ranking.uncertainty import Information

if TYPE_CHECKING:
    import polars as pl

__all__ = ["CrowdBradleyTerry"]

Floats = NDArray[np.float64]

MOST_DENSE = 2000  # items and judges whose second derivatives are held in one matrix
FULL = 500  # judges up to whom intervals of the scores allow for the judges' own uncertainty
ACCURACY = 1e-6  # of a score: closer to the optimum L-BFGS sees only the rounding of the objective
ODDS = math.log(10.0)  # how much likelier coin flips must make a judge's votes before the judge is flagged


class CrowdBradleyTerry(Ranker):
    """Rank items and weigh judges: a judge k prefers i to j with chance 1 / (1 + exp(−β_k (s_i − s_j))).

    The slope β_k is the judge's reliability: 1 on average over judges, 0 for one who flips coins, negative for one who
    answers the wrong way round. Votes of unreliable judges count for little, and contrary ones are read in reverse.
    `fit` minimises

        Σ weight · log-loss  +  l2 · ‖s‖²  +  Σ_k (β_k − 1)² / (2 spread²)

    over scores and slopes at once, the mean slope being 1 (scores and slopes share one scale, which votes do not tell).
    The last term is a prior: a judge with few votes is taken for an average one.

    Parameters
    ----------
    l2 : float
        Pull of the scores towards zero.
    spread : float
        How much reliabilities are expected to differ.
    max_iter, tol : of the optimiser; `tol` is the largest slope left, as a share of an item's or judge's votes

    Attributes
    ----------
    ranking_ : Ranking
    reliability_ : array, aligned with `judges_`
    judges_ : labels of the judges
    flags_ : dict from judge to "chance" or "contrary"
        "chance": coin flips explain the judge's votes at least ten times better than a typical judge would;
        "contrary": reliability below zero by two standard errors.
    n_iter_ : int

    Examples
    --------
    >>> votes = Comparisons.from_arrays(
    ...     ["tea", "tea", "cola", "milk"] * 9, ["cola", "milk", "milk", "tea"] * 9,
    ...     judge=["ann", "bob", "ann", "eve"] * 9)
    >>> model = CrowdBradleyTerry(l2=0.1).fit(votes)
    >>> model.ranking_.order, sorted(model.flags_)
    (('tea', 'cola', 'milk'), ['eve'])
    """

    uses = Uses(judges=True)

    def __init__(self, *, l2: float = 1e-2, spread: float = 1.0, max_iter: int = 2000, tol: float = 1e-6) -> None:
        self.l2 = l2
        self.spread = spread
        self.max_iter = max_iter
        self.tol = tol

    def fit(self, comparisons: Comparisons) -> Self:
        """Find scores and reliabilities."""
        c = comparisons
        self._check(c)
        assert c.judge is not None
        rows = _Rows(c)
        start = coordinate_newton(c.adjacency, self.l2, 1e-3, 50).scores
        scores, slopes, self.n_iter_ = rows.solve(start, self.l2, self.spread, self.max_iter, self.tol)
        self.judges_ = c.judges
        self.reliability_ = slopes
        self._bend = rows.bend(scores, slopes) + 1.0 / self.spread**2
        self._votes = np.bincount(c.judge, rows.weight, len(c.judges))
        self._gain = rows.gain(scores, float(np.median(slopes)))
        self.ranking_ = Ranking(
            c.items,
            settled(scores, max(self.tol, ACCURACY)),
            information=partial(rows.information, scores, slopes, self.l2, self.spread),
            record=c.record,
        )
        return self._fitted_to(c)

    def _check(self, c: Comparisons) -> None:
        as_comparisons(c)
        number_option("l2", self.l2, above=0, more=", or all could be scaled up for ever")
        number_option("spread", self.spread, above=0)
        number_option("tol", self.tol, above=0)
        number_option("max_iter", self.max_iter, least=1, whole=True)
        if c.judge is None:
            raise InputError(
                "the votes name no judge; name the column of the judge by ", Option("judge"), ", or use Bradley-Terry"
            )
        if len(c.judges) == 1:
            raise InputError(f"the only judge is {c.judges[0]!r}: there is no one to compare with; use Bradley-Terry")

    # ---- what was learned -----------------------------------------------------------------------------------

    def _margins(self, c: Comparisons) -> Floats:
        """A judge who is not known, or not named, is taken for an average one."""
        margins = super()._margins(c)
        if c.judge is None:
            return margins
        known = dict(zip(self.judges_, self.reliability_.tolist(), strict=True))
        slopes: Floats = np.array([known.get(judge, 1.0) for judge in c.judges])
        return margins * slopes[c.judge]

    def _outcomes(self, margins: Floats) -> tuple[Floats, Floats, Floats]:
        return logistic(margins)

    @property
    def reliability_std_errors_(self) -> Floats:
        """Standard errors of `reliability_`, with the scores held fixed."""
        self._check_fitted()
        errors: Floats = 1.0 / np.sqrt(self._bend)
        return errors

    @property
    def flags_(self) -> dict[Hashable, str]:
        """Judges who seem to flip coins, or to answer the wrong way round."""
        self._check_fitted()
        contrary = self.reliability_ + 2.0 * self.reliability_std_errors_ < 0
        chance = -self._gain > ODDS
        return {
            judge: "contrary" if contrary[k] else "chance"
            for k, judge in enumerate(self.judges_)
            if contrary[k] or chance[k]
        }

    def judge_frame(self) -> pl.DataFrame:
        """One row a judge, least reliable first: reliability, its standard error, votes and flag."""
        import polars as pl

        flags = self.flags_
        return pl.DataFrame(
            {
                "judge": [str(judge) for judge in self.judges_],
                "reliability": self.reliability_,
                "std_error": self.reliability_std_errors_,
                "votes": self._votes,
                "flag": pl.Series([flags.get(judge) for judge in self.judges_], dtype=pl.String),
            }
        ).sort("reliability")

    def win_probability(self, a: Hashable, b: Hashable, *, judge: Hashable | None = None) -> float:
        """Chance that a judge of average reliability, or the one named, prefers `a`."""
        self._check_fitted()
        slope = 1.0
        if judge is not None:
            if judge not in self.judges_:
                raise InputError(f"{judge!r} is not among the {len(self.judges_)} judges")
            slope = float(self.reliability_[self.judges_.index(judge)])
        margin = slope * (self.ranking_.score(a) - self.ranking_.score(b))
        return float(logistic(np.array(margin))[0])


class _Rows:
    """The votes, one row each, with their judges."""

    def __init__(self, c: Comparisons) -> None:
        assert c.judge is not None
        self.n, self.judges = len(c.items), len(c.judges)
        self.left, self.right, self.outcome, self.weight = c.vote_rows()
        self.judge = c.judge.astype(np.int32, copy=False)
        self.squares = c.weight_squares()

    def solve(self, start: Floats, l2: float, spread: float, max_iter: int, tol: float) -> tuple[Floats, Floats, int]:
        """L-BFGS on both at once, in units in which every item and judge has about the same curvature."""
        from scipy.optimize import minimize

        n = self.n
        votes = np.bincount(self.left, self.weight, n) + np.bincount(self.right, self.weight, n)
        cast = np.bincount(self.judge, self.weight, self.judges)
        unit = 1.0 / np.sqrt(np.concatenate([0.25 * votes + 2.0 * l2, 0.25 * cast + 1.0 / spread**2]))
        yardstick = np.maximum(np.concatenate([votes, cast]), 1.0)

        def objective(theta: Floats) -> tuple[float, Floats]:
            scores, more = (
                np.ascontiguousarray(theta[:n]),
                np.ascontiguousarray(theta[n:]),
            )  # more reliable than typical
            by_item, by_judge = 2.0 * l2 * scores, np.zeros(self.judges)
            loss = crowd_loss(
                self.left,
                self.right,
                self.judge,
                self.outcome,
                self.weight,
                scores,
                1.0 + more - more.mean(),
                by_item,
                by_judge,
            )
            loss += l2 * float(scores @ scores) + 0.5 * float(more @ more) / spread**2
            return loss, np.concatenate([by_item, by_judge - by_judge.mean() + more / spread**2])

        def in_units(scaled: Floats) -> tuple[float, Floats]:
            loss, gradient = objective(unit * scaled)
            return loss, unit * gradient

        found = minimize(
            in_units,
            np.concatenate([start, np.zeros(self.judges)]) / unit,
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": max_iter, "maxfun": 2 * max_iter, "maxcor": 20, "ftol": 0.0, "gtol": tol * 0.1},
        )
        theta = unit * found.x
        if found.nit < max_iter:
            theta = self._polished(theta, lambda at: objective(at)[1], l2, spread)
        gap = float(np.max(np.abs(objective(theta)[1]) / yardstick))
        if gap > tol:
            raise ConvergenceError(
                f"no optimum in {max_iter} steps: expected and observed wins still differ by {gap:.1e} of an item's "
                "or a judge's votes; raise ",
                Option("l2"),
                f", now {l2:g}",
                InPython(" (or max_iter=, tol=)"),
            )
        return theta[:n], 1.0 + theta[n:] - theta[n:].mean(), int(found.nit)

    def _polished(
        self, theta: Floats, gradient: Callable[[Floats], Floats], l2: float, spread: float, steps: int = 8
    ) -> Floats:
        """The last digits by Newton's method: L-BFGS stops where the objective no longer shows a difference.

        Where scores and slopes at once are not convex, as between judges who contradict each other, the scores alone
        are, and so are the slopes alone; these take turns. Items with the same votes then end at the same score.
        """
        n = self.n
        if n + self.judges > MOST_DENSE:
            return theta
        slope = gradient(theta)

        def step(part: slice) -> bool:
            """One step of Newton's in these parameters, if it leaves less slope than there was."""
            nonlocal theta, slope
            hessian = self._hessian(theta[:n], 1.0 + theta[n:] - theta[n:].mean(), l2, spread)[part, part]
            if not _is_positive(hessian):
                return False
            there = theta.copy()
            there[part] -= np.linalg.solve(hessian, slope[part])
            then = gradient(there)
            closer = bool(np.abs(then).max() < np.abs(slope).max())
            if closer:
                theta, slope = there, then
            return closer

        for _ in range(steps):
            if not step(slice(None)) and not any([step(slice(n)), step(slice(n, None))]):
                break
        return theta

    def _parts(self, scores: Floats, slopes: Floats, spread: float) -> tuple[Floats, Floats, Floats, Floats]:
        """Curvature of each row along the scores; border and corner of the slopes; and the border of Gauss-Newton."""
        gap, chance = self._chances(scores, slopes)
        off, bend = self.weight * (chance - self.outcome), self.weight * chance * (1.0 - chance)
        slope = slopes[self.judge]
        centre = np.eye(self.judges) - 1.0 / self.judges  # the mean slope is held
        corner = centre @ np.diag(self.bend(scores, slopes)) @ centre
        corner[np.diag_indices(self.judges)] += 1.0 / spread**2
        plain = bend * slope * gap
        return bend * slope**2, self._border(off + plain) @ centre, corner, self._border(plain) @ centre

    def _hessian(self, scores: Floats, slopes: Floats, l2: float, spread: float) -> Floats:
        """Second derivatives of the objective in scores and slopes."""
        curvature, border, corner, _ = self._parts(scores, slopes, spread)
        n = self.n
        across = np.bincount(self.left.astype(np.int64) * n + self.right, curvature, n * n).reshape(n, n)
        across = across + across.T
        return np.block([[np.diag(across.sum(axis=1) + 2.0 * l2) - across, border], [border.T, corner]])

    def _chances(self, scores: Floats, slopes: Floats) -> tuple[Floats, Floats]:
        gap: Floats = scores[self.left] - scores[self.right]
        return gap, 1.0 / (1.0 + np.exp(-slopes[self.judge] * gap))

    def bend(self, scores: Floats, slopes: Floats) -> Floats:
        """Curvature of the loss along each judge's slope."""
        gap, chance = self._chances(scores, slopes)
        return np.bincount(self.judge, self.weight * gap**2 * chance * (1.0 - chance), self.judges).astype(np.float64)

    def gain(self, scores: Floats, slope: float) -> Floats:
        """Log of how much likelier each judge's votes are from a judge of this slope than from coin flips."""
        _, chance = self._chances(scores, np.full(self.judges, slope))
        likely = np.where(
            self.outcome == 0.5, np.sqrt(chance * (1.0 - chance)), np.where(self.outcome, chance, 1 - chance)
        )
        gains = np.bincount(self.judge, self.weight * np.log(2.0 * np.maximum(likely, 1e-300)), self.judges)
        return gains.astype(np.float64)

    def _border(self, mixed: Floats) -> Floats:
        """Each row's mixed derivative, added to the cells (item, judge) of its two items."""
        cells = np.concatenate([self.left, self.right]).astype(np.int64) * self.judges + np.tile(self.judge, 2)
        border = np.bincount(cells, np.concatenate([mixed, -mixed]), self.n * self.judges)
        return border.reshape(self.n, self.judges).astype(np.float64)

    def information(self, scores: Floats, slopes: Floats, l2: float, spread: float) -> Information:
        """Curvature at the optimum; the slopes are extra parameters where there are not too many."""
        _, chance = self._chances(scores, slopes)
        slope = slopes[self.judge]
        curvature, border, corner = self.weight * chance * (1.0 - chance) * slope**2, None, None
        if self.judges <= FULL:
            curvature, border, corner, gauss_newton = self._parts(scores, slopes, spread)
            # Far from both optima of a judge's slope the mixed terms can outweigh the rest; Gauss-Newton never does.
            if not self._positive(scores, slopes, l2, spread):
                border = gauss_newton
        return Information(
            self.n,
            self.left,
            self.right,
            curvature,
            ridge=2.0 * l2,
            border=border,
            corner=corner,
            vote_left=self.left if border is None else None,
            vote_right=self.right if border is None else None,
            vote_gradient=slope * (chance - self.outcome) if border is None else None,
            vote_weight=self.weight if border is None else None,
            vote_weight_sq=self.squares if border is None else None,
            scores=scores,
            clusters={"judge": self.judge} if border is None else {},
        )

    def _positive(self, scores: Floats, slopes: Floats, l2: float, spread: float) -> bool:
        """Whether the Hessian of scores and slopes is positive definite; asked where it is small."""
        if self.n > MOST_DENSE:
            return False
        return _is_positive(self._hessian(scores, slopes, l2, spread))


def _is_positive(matrix: Floats) -> bool:
    try:
        np.linalg.cholesky(matrix)
    except np.linalg.LinAlgError:
        return False
    return True
