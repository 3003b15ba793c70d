"""How judges differ, what the scores are then, and which judges are worse than the rest: the steps of a crowd fit."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from podium.data.comparisons import Comparisons
from podium.errors import ConvergenceError, DataWarning, InPython, Option
from podium.pairwise._fit.judge_information import judge_information
from podium.pairwise._fit.judge_spread import scaled_sd, slope_spread
from podium.pairwise._fit.judge_tests import MIN_VOTES, Cast, JudgeTest, judge_tests
from podium.pairwise._fit.judges import EXTRAS, JudgeVotes, integrate
from podium.pairwise._fit.marginal import LEAN, LEAN_SD, SLOPE_SD, JudgeFit, fit_judges
from podium.pairwise._fit.prior import Prior, adjacency_rows, choose_prior
from podium.pairwise._fit.solvers import SEPARATES, coordinate_newton, newton
from podium.pairwise._fit.strength_model import StrengthModel
from podium.ranking.uncertainty import Information, extra_covariance

__all__ = ["JudgeModel"]

Floats = NDArray[np.float64]
Variance = Callable[[NDArray[np.int32], NDArray[np.int32]], Floats]

MIN_GAIN = 1.35  # of the log-likelihood, before leans are taken to differ: 5 % by ½χ², 0 being an end of their range
# Judges with so many votes, before their differences are looked for: many with a few, or a few with many.
ENOUGH = ((10, 5.0), (3, 25.0))
# And votes for each item: with fewer these say little about judges, and likelihood exaggerates their leans.
MIN_VOTES_A_SCORE = 15.0
LEAST_L2, LOOSE_L2 = 1e-6, 1e-3  # next to no penalty, where the votes bound all scores and where not
# The search for the shift that holds the mean slope: how the mean answers at first, when it is near enough, steps.
MEAN_SLOPE_RESPONSE, MEAN_SLOPE_TOL, MAX_SHIFTS = 0.5, 1e-3, 12
ROUGH_TOL = 1e-3  # of scores on the way
START_SD = 0.5  # of leans, where the search for theirs begins
FOLDS = 10  # parts of the judges, each tested against scores found without it
TESTED_L2 = 0.125  # least penalty behind the scores that judges are tested against
MAX_COVARIANCE_ITEMS = 500  # up to here the tests use the covariance of the scores, beyond their variances


class JudgeModel:
    """One set of votes, in votes: a weight of 1 is worth Σw/Σw² of them."""

    def __init__(self, c: Comparisons, sides: bool, tol: float, max_iter: int) -> None:
        self.sides, self.tol, self.max_iter = sides, tol, max_iter
        self.worth = _votes_per_weight(c)
        self.comparisons = c if self.worth == 1.0 else _weighed(c, self.worth)
        self.votes = JudgeVotes.of(self.comparisons, by_side=sides, worth=1.0)
        self.loose_l2 = LEAST_L2 if c.adjacency.is_strongly_connected else LOOSE_L2
        self.few = float(self.votes.total.sum()) < MIN_VOTES_A_SCORE * (len(c.items) - 1)  # votes to tell judges apart
        self.lean_variance: float | None = None  # of the mean lean, where that is held

    # ---- the search -----------------------------------------------------------------------------------------

    def fit(
        self,
        l2: float,
        scores: Floats,
        extras: Floats,
        free: tuple[int, ...] | None = None,
        centre: Floats | None = None,
        tol: float | None = None,
    ) -> JudgeFit:
        """The optimum at a penalty, or a `ConvergenceError`; the mean lean is free, the others as asked for."""
        if not self.sides and not extras.any() and not free:
            scores = self._plain(l2, scores)
        found = fit_judges(
            self.votes,
            l2,
            scores=scores,
            extras=extras,
            free=self._free_leans if free is None else free,
            tol=self.tol if tol is None else max(tol, self.tol),
            max_iter=self.max_iter,
            centre=centre,
        )
        if not found.converged:
            raise ConvergenceError(
                f"no optimum in {self.max_iter} steps: the last still moved a score by {found.left:.1e}; raise ",
                Option("l2"),
                f", now {l2 / self.worth:g}",
                InPython(" (or max_iter=, tol=)"),
            )
        return found

    @property
    def _leans(self) -> tuple[int, ...]:
        return (LEAN,) if self.sides else ()

    @property
    def _free_leans(self) -> tuple[int, ...]:
        return self._leans if self.lean_variance is None else ()

    def _plain(self, l2: float, scores: Floats | None) -> Floats:
        """Scores if all judges were alike."""
        a = self.comparisons.adjacency
        found = coordinate_newton(a, l2, self.tol, self.max_iter, scores=scores)
        if not found.converged:
            rows, loss = adjacency_rows(a)
            found = newton(rows, loss, l2, self.tol, self.max_iter, votes=a.sums[1], scores=found.scores)
        return found.scores

    def differences(self, given: float | str) -> tuple[JudgeFit, tuple[int, ...]]:
        """How judges differ: the fit with next to no penalty, and which standard deviations were estimated."""
        start = self._plain(self.loose_l2, None)
        alike = self._with_leans(start, np.zeros(EXTRAS))
        leans = (LEAN_SD,) if alike.extras[LEAN_SD] else ()
        sd = self._slope_sd(alike) if given == "auto" else float(given)
        if not sd:
            return alike, leans
        try:
            apart = self._with_leans(alike.scores, _put(alike.extras, SLOPE_SD, sd))
        except ConvergenceError:
            if given != "auto":
                raise
            return alike, leans  # without a penalty scores run away
        leans = (LEAN_SD,) if apart.extras[LEAN_SD] else ()
        return apart, leans if given != "auto" else (SLOPE_SD, *leans)

    def _slope_sd(self, alike: JudgeFit) -> float:
        """How much judges differ, by the votes; 0 where these do not speak for it."""
        cast = np.bincount(self.votes.judge, self.votes.total, self.votes.judges) + 1e-9
        enough = any((cast >= votes).sum() >= judges for judges, votes in ENOUGH)
        even = np.array_equal(2.0 * self.votes.points, self.votes.total)  # ties: nobody prefers anything
        if self.few or not enough or even or abs(alike.extras[LEAN]) > SEPARATES:
            return 0.0
        found = slope_spread(self.votes, self.plain.l2, alike, free=self._leans, max_iter=self.max_iter)
        if found.endless:
            warnings.warn(
                DataWarning(
                    "judges differ by more than reliability: some contradict the others about the order itself, which "
                    "one order for all does not describe; look at groups of judges apart"
                ),
                stacklevel=5,
            )
        return found.sd

    def _with_leans(self, scores: Floats, extras: Floats) -> JudgeFit:
        """The fit at these standard deviations of the slopes, with leans where they are asked for."""
        if not self.sides:
            return self.fit(self.loose_l2, scores, extras)
        same = self.fit(self.loose_l2, scores, _put(extras, LEAN_SD, 0.0))
        if self.few:
            return same
        found = self._search(same, _put(same.extras, LEAN_SD, START_SD), (LEAN, LEAN_SD))
        return found if found.converged and same.objective - found.objective >= MIN_GAIN else same

    def _search(self, near: JudgeFit, extras: Floats, free: tuple[int, ...]) -> JudgeFit:
        """The fit with next to no penalty and these extras free, which may not converge."""
        return fit_judges(
            self.votes,
            self.loose_l2,
            scores=near.scores,
            extras=extras,
            free=free,
            tol=self.tol,
            max_iter=self.max_iter,
        )

    def hold_lean(self, loose: JudgeFit, free: tuple[int, ...]) -> JudgeFit:
        """Find the mean lean without the penalty and hold it from now on, as `BradleyTerry` does with the side effect.

        A penalty pulls scores together and leaves it to the lean to explain who wins, where better items stand on the
        left more often. Where votes for an item are few, what Firth's correction adds to the votes of a pair if judges
        are alike is shared out among the judges who cast them. Returned is the loose fit with that lean.
        """
        alone = StrengthModel(self.comparisons, "half", True)
        alone.hold_effects(self.max_iter, "hessian")
        if alone.effects is None:
            return loose
        votes = self.votes
        if alone.effects.added is not None:
            win, lost, _ = 0.5 * alone.effects.added_to(self.comparisons, votes.left, votes.right, votes.total)
            votes = replace(votes, points=votes.points + win, total=votes.total + win + lost)
        found = fit_judges(
            votes,
            self.loose_l2,
            scores=loose.scores,
            extras=loose.extras,
            free=(LEAN,),
            tol=ROUGH_TOL,
            max_iter=self.max_iter,
        )
        held = self._search(loose, found.extras, ())
        if not (found.converged and held.converged) or abs(found.extras[LEAN]) > SEPARATES:
            return loose
        if len(found.integral.variance):
            there = integrate(self.votes, found.scores, found.extras, dense=True)
            known = judge_information(self.comparisons, there, self.loose_l2, extras=(LEAN, *free), votes=False)
            self.lean_variance = float(extra_covariance(known)[0, 0])
        else:  # too many items for the matrix of all
            between = float(loose.extras[LEAN_SD]) ** 2 / int(np.count_nonzero(np.diff(votes.start)))
            self.lean_variance = float(alone.effects.covariance[0, 0]) + between
        return held

    @cached_property
    def plain(self) -> Prior:
        """The spread of the true scores that the votes speak for if all judges are alike."""
        a = self.comparisons.adjacency
        rows, loss = adjacency_rows(a)

        def solve(l2: float, tol: float, scores: Floats | None, extras: Floats | None) -> tuple[Floats, Floats]:
            return self._plain(l2, scores), np.empty(0)

        points, votes = a.sums
        return choose_prior(rows, loss, solve, points=points, votes=votes)

    def prior(self, loose: JudgeFit) -> tuple[float, JudgeFit]:
        """The standard deviation of the true scores that the votes speak for, and the fit under that prior."""
        plain = self.plain
        if not loose.extras.any():
            return plain.sd, self.fit(plain.l2, plain.scores, loose.extras)
        sd = scaled_sd(self.votes, plain.l2, loose, free=self._free_leans, max_iter=self.max_iter)
        return sd, self.penalised(loose, 0.5 / sd**2, loose)

    def penalised(self, loose: JudgeFit, l2: float, near: JudgeFit) -> JudgeFit:
        """The fit under a penalty, with the slopes as large on average as without it.

        A penalty makes scores smaller, and slopes could make up for it: votes do not tell the two apart, and few judges
        hold their slopes less than many items their scores. The mean slope over votes is therefore held where it is
        without the penalty, by moving the means of the slopes' distribution; for judges with few votes it hardly moves.
        """
        extras = loose.extras
        if not extras[SLOPE_SD]:
            return self.fit(l2, near.scores, extras)
        votes = np.bincount(self.votes.judge, self.votes.total, self.votes.judges)
        share, pull = votes / votes.sum(), votes / votes.mean()
        goal = float(share @ loose.integral.slope()[0])

        def at(shift: float, start: JudgeFit) -> tuple[JudgeFit, float]:
            found = self.fit(l2, start.scores, extras, centre=1.0 - shift * pull, tol=ROUGH_TOL)
            return found, float(share @ found.integral.slope()[0]) - goal

        shift = float((1.0 - near.integral.centre) @ pull / (pull @ pull))
        found, off = at(shift, near)
        response = MEAN_SLOPE_RESPONSE
        for _ in range(MAX_SHIFTS):
            if abs(off) <= MEAN_SLOPE_TOL:
                break
            step = max(-1.0, min(off / response, 1.0))
            before, (found, off) = off, at(shift + step, found)
            shift, response = shift + step, max((before - off) / step, 0.05)
        return self.fit(l2, found.scores, extras, centre=found.integral.centre)

    def log_likelihood(self, found: JudgeFit) -> float:
        """Of the votes, at the scores found and slopes around 1."""
        return integrate(self.votes, found.scores, found.extras, dense=False).log_likelihood

    # ---- what it says ---------------------------------------------------------------------------------------

    def information(self, found: JudgeFit, l2: float, free: tuple[int, ...]) -> Information:
        """Curvature and gradients of the votes at the optimum; `free` are the standard deviations estimated there."""
        return judge_information(self.comparisons, found.integral, l2, extras=(*self._leans, *free), votes=True)

    def posterior(self, found: JudgeFit, l2: float) -> Information:
        """Curvature of loss and prior at the optimum; a lean that is held is known as well as without the prior."""
        known = judge_information(self.comparisons, found.integral, l2, extras=self._leans, votes=False)
        if self.lean_variance is None or not len(found.integral.variance):
            return known
        assert known.corner is not None, "the lean is a parameter"
        more = 1.0 / self.lean_variance - 1.0 / float(extra_covariance(known)[0, 0])
        return replace(known, corner=known.corner + more)

    def lean_error(self, found: JudgeFit, l2: float) -> float | None:
        """Standard error of the mean lean; None where it is not known, with too many items to find it with scores."""
        if self.lean_variance is not None:
            return float(np.sqrt(self.lean_variance))
        if not self.sides or not len(found.integral.variance):
            return None
        return float(np.sqrt(extra_covariance(self.information(found, l2, ()))[0, 0]))

    def tests(self, found: JudgeFit, l2: float) -> dict[int, JudgeTest]:
        """Tests of the judges with enough decided votes, against scores found without them."""
        c = self.comparisons
        assert c.judge is not None
        left, right, outcome, weight = c.vote_rows()
        count = np.ones(len(left), dtype=np.int64) if c.count is None else c.count
        decided = (outcome != 0.5) & (weight > 0)
        cast = np.bincount(c.judge[decided], count[decided], self.votes.judges)
        tested = np.flatnonzero(cast >= MIN_VOTES)
        votes: dict[int, Cast] = {}
        for fold in np.array_split(tested, max(min(FOLDS, len(tested)), 1)):
            if not len(fold):
                continue
            scores, variance = self._without(fold, found, max(l2, TESTED_L2))
            for k in fold:
                rows = np.flatnonzero(decided & (c.judge == k))
                mine = np.repeat(rows, count[rows])
                ends = left[mine], right[mine]
                gap, each = scores[ends[0]] - scores[ends[1]], weight[mine] / count[mine]
                votes[int(k)] = Cast(gap, variance(*ends), outcome[mine] == 1.0, each)
        return judge_tests(votes)

    def _without(self, judges: NDArray[np.intp], found: JudgeFit, l2: float) -> tuple[Floats, Variance]:
        """Scores by the votes of other judges, and a function for the variance of their differences."""
        votes = self.votes.without(np.isin(np.arange(self.votes.judges), judges))
        fit = fit_judges(
            votes,
            l2,
            scores=found.scores,
            extras=found.extras,
            free=(),
            tol=1e-3,
            max_iter=self.max_iter,
            centre=found.integral.centre,
        )
        n = votes.n
        if n <= MAX_COVARIANCE_ITEMS and len(fit.integral.variance):
            inverse = np.linalg.inv(fit.integral.hessian()[:n, :n] + 2.0 * l2 * np.eye(n))
            own = inverse.diagonal()
            return fit.scores, lambda one, other: np.maximum(own[one] + own[other] - 2.0 * inverse[one, other], 0.0)
        bend = fit.integral.curvature[:, 0]
        own = 1.0 / (np.bincount(votes.left, bend, n) + np.bincount(votes.right, bend, n) + 2.0 * l2)
        return fit.scores, lambda one, other: own[one] + own[other]


def _put(extras: Floats, place: int, value: float) -> Floats:
    changed = extras.copy()
    changed[place] = value
    return changed


def _votes_per_weight(c: Comparisons) -> float:
    """Σw/Σw²: how many votes a weight of 1 is worth; exactly 1 when weights are counts."""
    if c.weight is None and c.weight_sq is None:
        return 1.0
    weight = c.vote_rows()[3]
    largest = float(weight.max())  # taken out, so that squares of tiny weights are numbers
    squares = (weight / largest) ** 2 if c.weight_sq is None else c.weight_sq / largest / largest
    return float((weight / largest).sum()) / float(squares.sum()) / largest


def _weighed(c: Comparisons, worth: float) -> Comparisons:
    """The same votes, each counted `worth` times."""
    weight = worth * c.vote_rows()[3]
    return replace(c, weight=weight, weight_sq=None if c.weight_sq is None else worth * (worth * c.weight_sq))
