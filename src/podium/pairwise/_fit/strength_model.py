"""The likelihood behind Bradley-Terry: rows of votes, extra parameters, its optimum, its prior and its errors."""

from __future__ import annotations

import math
import warnings
from copy import copy
from dataclasses import fields, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.data.comparisons import Comparisons
from podium.engine import running
from podium.errors import ConvergenceError, DataWarning, InputError, InPython, Option, PodiumWarning
from podium.pairwise._fit.bias import MAX_ITEMS, leverages, reduce_bias
from podium.pairwise._fit.effects import Effects, Following
from podium.pairwise._fit.likelihoods import DavidsonRows, HeldTies, LogisticRows
from podium.pairwise._fit.prior import (
    FIT_TOL,
    MAX_DENSE_ITEMS,
    Fit,
    Prior,
    RowLosses,
    Spread,
    adjacency_rows,
    choose_prior,
    possible_spreads,
)
from podium.pairwise._fit.row_sums import RowSums, keep_rows, newton_by_sums, rows_that_pay, workers_of
from podium.pairwise._fit.rows import pull_rows
from podium.pairwise._fit.solvers import (
    LinearSolver,
    Point,
    Rows,
    Solution,
    coordinate_newton,
    evaluate,
    newton,
    penalty_share,
    runs_away,
    warn_of_separation,
)
from podium.ranking.uncertainty import (
    Alternative,
    Information,
    WeightedInformation,
    extra_covariance,
    is_determined,
)
from podium.text import counted

__all__ = ["EFFECT_TOL", "StrengthModel", "refuse_idle", "refuse_repeated"]

Floats = NDArray[np.float64]

SURE_TOL = 1e-5  # of sweeps, at which groups that creep are seen
RULES = 0.1  # share by which scores grow per e-fold less of the penalty, from which it is remarked on
MANY_VOTES = 50  # a parameter, from which likelihood exaggerates effects by a few percent only
EFFECT_TOL = 1e-5  # of effects that are found without the penalty, in log-odds
LEAST_OWN = 1e-6  # share of a covariate's information that scores do not have too
SPREAD = 1.0  # of true scores, to begin with, and to see whether an effect alone decides the votes
PLAIN_L2, LEAST_L2 = 1e-3, 1e-6  # what stands in for no penalty where the votes bound no score, for a hard fit and any


class StrengthModel:
    """The likelihood of one set of votes: which rows, which extra parameters, which way of counting ties."""

    def __init__(self, comparisons: Comparisons, ties: str, side: bool, centre: Floats | None = None) -> None:
        self.comparisons = c = comparisons
        self.sums: RowSums | None = None  # of rows that are kept elsewhere
        self.centre = centre  # of the prior, where it is not 0: what is solved for are deviations from it
        self.columns: tuple[str, ...] = ()
        self.davidson = False
        self.effects: Effects | None = None
        self.followed: tuple[Following, Prior] | None = None  # the spread where scores may follow the effects
        if c.covariates is not None:
            self.columns += tuple(f"covariate:{name}" for name in c.covariate_names)
        if side:
            self.columns += ("side",)
        if ties == "davidson":
            tied = float(c.pairs.ties.sum())
            if tied == float(c.pairs.total.sum()):
                raise InputError(
                    "every vote is a tie: ",
                    Option("ties", "davidson"),
                    " cannot tell the items apart; use ",
                    Option("ties", "half"),
                )
            self.davidson = tied > 0  # without ties ν = 0 and this is plain Bradley-Terry
            self.columns += ("tie",) if self.davidson else ()

    def keep_on(self, engine: Any) -> None:
        """Keep the rows on an engine's workers, if that pays; else say from how many rows it would."""
        rows, loss = self._rows(self.comparisons.covariates is not None)
        with running(1, engine=engine) as runner:
            workers = workers_of(runner)
            pays = rows_that_pay(workers, swept=not self.columns and self.centre is None)
            if len(rows.left) >= pays:
                self.sums = keep_rows(runner, rows, loss)
                return
        on = f"on {counted(workers, 'worker')} a fit "
        when = f"{on}pays from {pays:,.0f} rows on" if math.isfinite(pays) else f"{on}of this kind never pays"
        warnings.warn(PodiumWarning(f"{counted(len(rows.left), 'row')} solved here: {when}"), stacklevel=3)

    def optimum(
        self, l2: float, tol: float, max_iter: int, start: Prior | None = None, *, unbiased: bool = False
    ) -> Solution:
        """The optimum at a penalty, with Firth's correction if it is to be `unbiased`, or a `ConvergenceError`."""
        begin = (None, None) if start is None else (start.scores, start.extras)
        found = self._corrected(l2, tol, max_iter) if unbiased else self.solve(l2, tol, max_iter, *begin)
        if not found.converged:
            raise ConvergenceError(
                f"no optimum in {max_iter} steps of {found.solver}: expected and observed wins still differ by "
                f"{found.gap:.1e} of an item's votes; raise ",
                Option("l2"),
                f", now {l2:g}",
                InPython(" (or max_iter=, tol=)"),
            )
        return self._whole(found)

    def hold_effects(self, max_iter: int, kind: str = "auto") -> None:
        """Find the effects of covariates and side without the penalty, and hold them there from now on.

        The penalty takes scores for draws that know nothing of the covariates. Where better items have larger ones it
        pulls the scores together and leaves it to the effect to explain who wins, so that few votes make it far too
        large. Likelihood compares an item with itself; where votes a parameter are few it is corrected (Firth 1993).
        Left to the penalty are effects that decide the votes alone, and those of few votes on very many items. `kind`
        is that of their covariance.
        """
        if not self.columns:
            return
        few = self.votes_per_parameter < MANY_VOTES
        rows = self._rows(self.comparisons.covariates is not None)[0]
        if rows.design is None or (few and rows.n > MAX_ITEMS):
            return
        near = self.solve(0.5 / SPREAD**2 / self.votes_per_weight, EFFECT_TOL, max_iter)
        if not near.converged or runs_away(rows, near.extras) or self._mirrors_scores(near):
            return
        least = 0.0 if self.comparisons.adjacency.is_strongly_connected else LEAST_L2 / self.votes_per_weight
        added = None
        if few:
            found = self._corrected(least, EFFECT_TOL, max_iter, near)
            added = leverages(*self._rows(self.comparisons.covariates is not None), found, least)
        else:
            found = self.solve(least, EFFECT_TOL, max_iter, near.scores, near.extras)
        if not found.converged or runs_away(rows, found.extras):
            return
        count, information = rows.design.shape[1], self.information(found, least)
        covariance = extra_covariance(information, information.choose(kind))[:count, :count]
        self.effects = Effects(found.extras[:count], covariance, added)

    def _mirrors_scores(self, near: Solution) -> bool:
        """Whether some covariate is the difference of two numbers of the items, as their scores are; if so, say it."""
        rows, loss = self._rows(self.comparisons.covariates is not None)
        assert rows.design is not None, "there are effects"
        count, point = rows.design.shape[1], evaluate(rows, loss, 0.0, near.scores, near.extras)
        solve = LinearSolver(rows, 0.0).factor(point.curvature, 1e-3 * LEAST_OWN)
        border, corner = point.border[:, :count], point.corner[:count, :count]
        through = np.column_stack([solve(np.ascontiguousarray(column)) for column in border.T])
        size = np.sqrt(np.maximum(np.diag(corner), 1e-300))
        shares, directions = np.linalg.eigh((corner - border.T @ through) / np.outer(size, size))
        if shares[0] > LEAST_OWN:
            return False
        name = self.columns[int(np.abs(directions[:, 0]).argmax())]
        what = "the effect of the side" if name == "side" else f"the effect of {name.removeprefix('covariate:')!r}"
        way = "" if name == "side" else "; a number of the items themselves is a feature"
        warnings.warn(
            DataWarning(
                f"the votes cannot tell {what} from the scores, as it is the same in all votes of an item or the votes "
                f"are too few, and the penalty decides{way}"
            ),
            stacklevel=4,
        )
        return True

    def _whole(self, found: Solution) -> Solution:
        """With the effects that were held among the extra parameters."""
        return found if self.effects is None else replace(found, extras=self._all(found.extras))

    def _all(self, extras: Floats) -> Floats:
        return extras if self.effects is None else np.concatenate([self.effects.values, extras])

    def solve(
        self, l2: float, tol: float, max_iter: int, scores: Floats | None = None, extras: Floats | None = None
    ) -> Solution:
        """Go to the optimum, from scores and extra parameters near it if known."""
        c = self.comparisons
        a = c.adjacency
        if not self.columns and self.centre is None and self.sums is None:
            found = coordinate_newton(a, l2, tol, max_iter, scores=scores)
            if not found.converged and found.gap <= tol and tol > SURE_TOL:
                # Settled, but so roughly that a group may still be on its way: going on costs less than Newton's steps.
                found = coordinate_newton(a, l2, SURE_TOL, max_iter, scores=found.scores)
            if found.converged:
                return found
            rows, loss, start, extras = *self._rows(c.covariates is not None), found.scores, None
        else:
            if scores is not None:
                start = scores
            else:
                start = np.zeros(len(a)) if self.centre is not None else coordinate_newton(a, l2, 0.01, 20).scores
            held = 0 if self.effects is None else len(self.effects.values)
            known, extras = extras, np.zeros(len(self.columns) - held)
            if known is not None:
                extras = known
            elif self.davidson:
                tied = float(c.pairs.ties.sum())
                extras[-1] = math.log(2.0 * tied / (float(c.pairs.total.sum()) - tied))
            if self.sums is not None:
                design = None if held else self._design(len(c.left) if c.covariates is not None else 1)
                size = None if design is None else np.sqrt(np.mean(design**2, axis=0))
                begin = {"scores": start, "extras": extras}
                return newton_by_sums(self.sums, l2, tol, max_iter, votes=a.sums[1], **begin, size=size)
            rows, loss = self._rows(c.covariates is not None)
        return newton(rows, loss, l2, tol, max_iter, votes=a.sums[1], scores=start, extras=extras)

    def _corrected(self, l2: float, tol: float, max_iter: int, near: Solution | None = None) -> Solution:
        """The optimum of the likelihood with Firth's correction."""
        rows, loss = self._rows(self.comparisons.covariates is not None)
        votes = self.comparisons.adjacency.sums[1]

        def fit(corrected: RowLosses, near: Solution | None) -> Solution:
            begin = (None, None) if near is None else (near.scores, near.extras)
            return newton(rows, corrected, l2, tol, max_iter, votes=votes, scores=begin[0], extras=begin[1])

        return reduce_bias(rows, loss, fit, l2=l2, tol=tol, worth=self.votes_per_weight, near=near)

    @cached_property
    def size(self) -> tuple[int, float, bool]:
        """Parameters, votes, and whether weights are counts."""
        c = self.comparisons
        groups = int(c.adjacency.components.max(initial=0)) + 1
        counted = math.isclose(self.votes_per_weight, 1.0, rel_tol=1e-9)
        votes = 0.5 * float(c.adjacency.sums[1].sum())
        return len(c.items) - groups + len(self.columns), self.votes_per_weight * votes, counted

    @property
    def votes_per_parameter(self) -> float:
        """Votes over scores and effects."""
        return self.size[1] / max(self.size[0], 1)

    @cached_property
    def votes_per_weight(self) -> float:
        """Σw/Σw²: how many votes a weight of 1 is worth; exactly 1 when weights are counts."""
        if self.comparisons.weight is None and self.comparisons.weight_sq is None:
            return 1.0
        p = self.comparisons.pairs
        total, squares = float(p.total.sum()), float((p.left_wins_sq + p.right_wins_sq + p.ties_sq).sum())
        return total / squares

    def prior(self, max_iter: int) -> Prior:
        """The spread of the true scores that the votes speak for."""
        worth, (points, votes) = self.votes_per_weight, self.comparisons.adjacency.sums
        points, votes = worth * points, worth * votes
        following = self._following(max_iter)
        prior = choose_prior(*self._evidence(max_iter, following), points=points, votes=votes)
        if following is not None:
            self.followed = following, prior
            prior = replace(prior, **self._not_following(prior, of_mean=True))
        if prior.flat:
            warnings.warn(
                DataWarning(
                    "the penalty from the votes draws scores together that the votes put far apart, as they do on a "
                    "long ladder of neighbours; believe the order, and set a small ",
                    Option("l2"),
                    " for the distances",
                ),
                stacklevel=4,
            )
        return prior

    def spreads(self, found: Solution, prior: Prior, max_iter: int) -> tuple[Alternative, ...]:
        """What is different under other spreads of the true scores that the votes leave possible."""
        if len(self.comparisons.items) > MAX_DENSE_ITEMS:  # so many tell it well
            return ()
        made = []
        for node in self._possible_spreads(found, prior, max_iter):
            l2 = 0.5 / node.sd**2 / self.votes_per_weight
            there = self.posterior(replace(found, scores=node.scores, extras=self._all(node.extras)), l2)
            shift = np.concatenate([node.scores - found.scores, self._all(node.extras) - found.extras])
            made.append(Alternative(node.share, there.curvature, there.ridge, there.border, there.corner, shift))
        return tuple(made)

    def _possible_spreads(self, found: Solution, prior: Prior, max_iter: int) -> list[Spread]:
        """Spreads that the votes leave possible, and the optimum at each."""
        rows, loss, fit = self._evidence(max_iter)
        if self.followed is None:
            held = 0 if self.effects is None else len(self.effects.values)
            near = replace(prior, scores=found.scores, extras=found.extras[held:])
            return possible_spreads(rows, loss, fit, near)
        following, chosen = self.followed
        made = []
        for node in possible_spreads(*self._evidence(max_iter, following), chosen):
            there = replace(node, **self._not_following(node))
            scores, extras = fit(0.5 / there.sd**2, FIT_TOL, there.scores, there.extras)
            made.append(replace(there, scores=scores, extras=extras))
        return made

    def _following(self, max_iter: int) -> Following | None:
        """The rows where scores may follow the effects that are held, unless nothing is there or it decides alone."""
        if self.effects is None or self.centre is not None:
            return None
        by_vote, worth = self.comparisons.covariates is not None, self.votes_per_weight
        rows, loss = self._rows(by_vote, worth)
        design = self._design(len(rows.left))
        assert design is not None, "there are effects"
        total = loss.wins + loss.losses + loss.ties if isinstance(loss, DavidsonRows) else loss.total
        votes = worth * self.comparisons.adjacency.sums[1]
        found = Following.of(rows, design, self.effects, total, votes)
        if found is None:
            return None
        extras = np.zeros(1 + self.davidson)
        near = newton(found.rows, loss, 0.5 / SPREAD**2, EFFECT_TOL, max_iter, votes=votes, extras=extras)
        return found if near.converged and not runs_away(found.rows, near.extras) else None

    def _not_following(self, node: Prior | Spread, *, of_mean: bool = False) -> dict[str, Any]:
        """The spread of all that scores may follow or not, and scores near the optimum there."""
        assert self.followed is not None, "scores may follow"
        following, gamma = self.followed[0], float(node.extras[0])
        loss = self._rows(self.comparisons.covariates is not None, self.votes_per_weight)[1]
        point = evaluate(following.rows, loss, 0.5 / node.sd**2, node.scores, node.extras)
        left = self._schur(following.rows, point, node.sd**-2)
        square = following.square(gamma, float(np.linalg.inv(left)[0, 0]), of_mean=of_mean)
        scores = node.scores + gamma * following.means
        return {"sd": math.sqrt(node.sd**2 + square), "scores": scores, "extras": node.extras[1:]}

    def _evidence(self, max_iter: int, following: Following | None = None) -> tuple[Rows, RowLosses, Fit]:
        """Rows and losses in votes, and how to fit them at a penalty; scores may be `following` the effects."""
        worth, c = self.votes_per_weight, self.comparisons
        if following is not None:
            loss, votes = self._rows(c.covariates is not None, worth)[1], worth * c.adjacency.sums[1]

            def follow(l2: float, tol: float, scores: Floats | None, extras: Floats | None) -> tuple[Floats, Floats]:
                if scores is None:
                    near = self.solve(l2 / worth, tol, max_iter)
                    scores, extras = near.scores, np.concatenate([[0.0], near.extras])
                found = newton(following.rows, loss, l2, tol, max_iter, votes=votes, scores=scores, extras=extras)
                return found.scores, found.extras

            return following.rows, loss, follow
        if self.columns or self.centre is not None:
            rows, loss = self._rows(c.covariates is not None, worth)
        else:
            rows, loss = adjacency_rows(c.adjacency, worth)

        solver = self
        if not self.columns and self.centre is None:  # sweeps over items are cheaper than any sum, and end elsewhere
            solver = copy(self)
            solver.sums = None

        def fit(l2: float, tol: float, scores: Floats | None, extras: Floats | None) -> tuple[Floats, Floats]:
            found = solver.solve(l2 / worth, tol, max_iter, scores, extras)
            return found.scores, found.extras

        return rows, loss, fit

    def likelihood(self, near: Solution, own: float, tol: float, max_iter: int) -> Information:
        """Information of the likelihood alone: what keeps scores finite where the votes do not is next to nothing.

        Effects and Davidson's ν stay where the fit has them: with few votes likelihood exaggerates scores and effects
        together, and a tie parameter of five instead of one makes intervals both wide and wrong. How well they are
        known is in the information. Where it cannot be inverted, effects that decide the votes having left them no
        curvature, the fit's own penalty stands in. So it does where the votes bound no score at all: an item's
        opponents are then held by the penalty alone, and one that is next to nothing has them anywhere.
        """
        if self.centre is not None:  # the likelihood knows nothing of it
            alone = copy(self)
            alone.centre = None
            return alone.likelihood(self.placed(near), own, tol, max_iter)
        adjacency = self.comparisons.adjacency
        if np.logical_or(*adjacency.open_ended).all():
            return self.information(near, own)
        least = 0.0 if adjacency.is_strongly_connected else LEAST_L2 / self.votes_per_weight
        for l2 in (least, PLAIN_L2 / self.votes_per_weight):
            found = self._given_extras(l2, tol, max_iter, near)
            if found.converged:
                information = self.information(found, l2)
                if not self.columns or is_determined(information):
                    return information
        return self.information(near, own)

    def _given_extras(self, l2: float, tol: float, max_iter: int, near: Solution) -> Solution:
        """The optimum over the scores, with effects and tie parameter as they are `near`."""
        if not self.columns:
            return self.solve(l2, tol, max_iter, near.scores)
        rows, loss = self._rows(self.comparisons.covariates is not None, whole=True)
        shifted = replace(rows, design=None, offset=rows.margin(np.zeros(rows.n), near.extras))
        held = HeldTies(loss, float(near.extras[-1])) if isinstance(loss, DavidsonRows) else loss
        votes = self.comparisons.adjacency.sums[1]
        return replace(newton(shifted, held, l2, tol, max_iter, votes=votes, scores=near.scores), extras=near.extras)

    def posterior(self, found: Solution, l2: float) -> Information:
        """Curvature of loss and prior at the optimum, with votes for weights."""
        worth, c = self.votes_per_weight, self.comparisons
        rows, loss = self._rows(c.covariates is not None, worth, whole=True)
        point = evaluate(rows, loss, worth * l2, found.scores, found.extras)
        extra, groups = len(found.extras) > 0, c.adjacency.components
        if self.effects is not None:
            self._know_effects(rows, point, 2.0 * worth * l2)
        return Information(
            rows.n,
            rows.left,
            rows.right,
            point.curvature,
            ridge=2.0 * worth * l2,
            border=np.ascontiguousarray(point.border) if extra else None,
            corner=point.corner if extra else None,
            scores=self.placed(found).scores,
            groups=groups if groups.any() else None,
        )

    def _know_effects(self, rows: Rows, point: Point, ridge: float) -> None:
        """Change the corner so that the effects are known as well as without the prior, in place.

        What is left of the Hessian for them, scores and tie parameter eliminated, is then the inverse of their
        covariance: the prior says nothing about effects.
        """
        assert self.effects is not None, "they are held"
        count, left = len(self.effects.values), self._schur(rows, point, ridge)
        if self.davidson:
            left = left[:-1, :-1] - np.outer(left[:-1, -1], left[-1, :-1]) / left[-1, -1]
        point.corner[:count, :count] += np.linalg.inv(self.effects.covariance) - left

    @staticmethod
    def _schur(rows: Rows, point: Point, ridge: float) -> Floats:
        """What is left of the Hessian for the extra parameters, scores eliminated."""
        solve = LinearSolver(rows, ridge).factor(point.curvature, EFFECT_TOL)
        through = np.column_stack([solve(np.ascontiguousarray(column)) for column in point.border.T])
        left: Floats = point.corner - point.border.T @ through
        return left

    def _rows(
        self, by_vote: bool, worth: float = 1.0, *, squared: bool = False, whole: bool = False
    ) -> tuple[Rows, LogisticRows | DavidsonRows]:
        """The rows of the loss: pairs, or single votes where covariates differ between them.

        A weight of 1 is `worth` so many votes. `squared`: every vote counts by the square of its weight. `whole`: with
        the design of effects that are held, which are a known part of every margin else.
        """
        c, n = self.comparisons, len(self.comparisons.items)
        if by_vote:
            left, right, outcome, weight = c.vote_rows()
            weight = c.weight_squares() if squared else weight
            wins, losses, ties = (weight * (outcome == value) for value in (1.0, 0.0, 0.5))
        else:
            p = c.pairs_by_side if "side" in self.columns else c.pairs
            left, right = p.left, p.right
            known = (p.left_wins_sq, p.right_wins_sq, p.ties_sq) if squared else (p.left_wins, p.right_wins, p.ties)
            wins, losses, ties = (np.asarray(values, dtype=np.float64) for values in known)
        design, offset = self._design(len(left)), self._offset(left, right)
        if self.effects is not None and design is not None and not whole:
            shift: Floats = design @ self.effects.values
            design, offset = None, shift if offset is None else offset + shift
        rows = Rows(n, left, right, design, offset)
        if worth != 1.0:
            wins, losses, ties = worth * wins, worth * losses, worth * ties
        if self.davidson:
            return rows, DavidsonRows(wins, losses, ties)
        return rows, LogisticRows(wins + 0.5 * ties, wins + losses + ties)

    def placed(self, found: Solution) -> Solution:
        """An optimum with scores in place of deviations from the prior's centre."""
        return found if self.centre is None else replace(found, scores=found.scores + self.centre)

    def _offset(self, left: NDArray[Any], right: NDArray[Any]) -> Floats | None:
        return None if self.centre is None else self.centre[left] - self.centre[right]

    def _design(self, rows: int) -> Floats | None:
        c = self.comparisons
        columns = [] if c.covariates is None else [c.covariates]
        if "side" in self.columns:
            columns.append(np.ones((rows, 1)))
        return np.ascontiguousarray(np.hstack(columns)) if columns else None

    def information(self, found: Solution, l2: float) -> Information:
        """Curvature and pulls at the optimum, for whoever asks how sure the scores are."""
        c, n = self.comparisons, len(self.comparisons.items)
        rows, loss = self._rows(c.covariates is not None, whole=True)
        point = evaluate(rows, loss, l2, found.scores, found.extras)
        extra = len(found.extras) > 0
        left, right, outcome, weight, squares, clusters = pull_rows(c, by_side="side" in self.columns)
        pulls = Rows(n, left, right, self._design(len(left)))
        slope, own = loss.vote_slopes(pulls.margin(found.scores, found.extras), outcome, found.extras)
        design = np.empty((len(left), 0)) if pulls.design is None else pulls.design
        above, below = c.adjacency.open_ended
        information = Information(
            n,
            rows.left,
            rows.right,
            point.curvature,
            ridge=2.0 * l2,
            border=np.ascontiguousarray(point.border) if extra else None,
            corner=point.corner if extra else None,
            vote_left=left,
            vote_right=right,
            vote_gradient=slope,
            vote_weight=weight,
            vote_weight_sq=squares,
            vote_extra_gradient=np.hstack([slope[:, None] * design, own]) if extra else None,
            target=None if extra else outcome,
            scores=found.scores,
            clusters=clusters,
            open_above=above,
            open_below=below,
            tie_strength=math.exp(found.extras[-1]) if self.davidson else 0.0,
        )
        if information.counted:
            return information
        squared = self._rows(c.covariates is not None, squared=True, whole=True)
        point = evaluate(*squared, 0.0, found.scores, found.extras)
        return WeightedInformation(
            **{each.name: getattr(information, each.name) for each in fields(information)},
            squared_curvature=point.curvature,
            squared_border=np.ascontiguousarray(point.border) if extra else None,
            squared_corner=point.corner if extra else None,
        )

    def check_design(self) -> None:
        """Refuse covariates that say nothing, or the same as others: their effects are not identified."""
        c = self.comparisons
        if c.covariates is None:
            return
        design = self._design(len(c.left))
        assert design is not None
        size = np.sqrt(np.mean(design**2, axis=0))
        refuse_idle(self.columns, size)
        scaled = design / size
        refuse_repeated(self.columns, scaled.T @ scaled / len(scaled), len(scaled))

    def warn_of_penalty(self, found: Solution, l2: float, bounded: NDArray[np.bool_]) -> None:
        """Say so when a penalty that is nothing to each item flattens the whole: long ways, with few votes on each."""
        if l2 == 0 or found.solver == "coordinate":  # where the penalty rules a direction, sweeps crawl along it
            return
        rows, loss = self._rows(self.comparisons.covariates is not None, whole=True)
        share = penalty_share(rows, loss, l2, found.scores, found.extras, bounded)
        if share > RULES:
            warnings.warn(
                DataWarning(
                    f"the penalty flattens the scores: with l2 = {l2 / math.e:.2g} instead of {l2:g} they would "
                    f"be about {100 * share:.0f} % further apart, because few votes, or long ways only, "
                    "link some items to others; "
                    "believe the order, and set a smaller ",
                    Option("l2"),
                    " for the distances",
                ),
                stacklevel=3,
            )

    def warn_of_separation(self, found: Solution) -> None:
        """Say so when a covariate or the side alone decides the votes: its effect has no finite optimum."""
        design = self._design(len(self.comparisons.left) if self.comparisons.covariates is not None else 1)
        if design is not None:
            warn_of_separation(self.columns, design, found.extras, stacklevel=3)


def refuse_idle(columns: tuple[str, ...], size: Floats) -> None:
    """Refuse a covariate that says nothing; `size` is the root of the mean square of each."""
    for name, zero in zip(columns, size == 0, strict=False):
        if zero and name.startswith("covariate:"):
            name = name.removeprefix("covariate:")
            raise InputError(f"covariate {name!r} is 0 in every vote, so it has no effect to find; leave it out")


def refuse_repeated(columns: tuple[str, ...], correlation: Floats, rows: int) -> None:
    """Refuse covariates that say the same as others, by the mean products of columns of size 1 over so many rows."""
    if np.linalg.eigvalsh(correlation)[0] < 1e-10:
        told = ", ".join(name.removeprefix("covariate:") for name in columns if name != "tie")
        if rows < len(correlation):
            few = f"{counted(rows, 'row')} of votes cannot tell {len(correlation)} effects apart"
            raise InputError(f"{told}: {few}; get more votes, or leave some of them out")
        raise InputError(f"{told}: one follows from the others, so their effects are not identified; leave one out")
