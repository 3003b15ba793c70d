"""RABF, rank aggregation with features: what features explain of the scores, and what they do not."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Hashable
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from podium.data.comparisons import Comparisons, as_comparisons
from podium.data.features import FeatureSpec, column_moments, read_features, warn_of_columns
from podium.data.validation import choice_option, flag_option, number_option
from podium.errors import ConvergenceError, InputError, InPython, Option
from podium.pairwise._fit.feature_solver import FeatureProblem, Place, row_basis, solve_features
from podium.pairwise._fit.likelihoods import LapseRows, LogisticRows, SquaredRows
from podium.pairwise._fit.penalties import Node, Penalties, choose_penalties, possible_penalties
from podium.pairwise._fit.rows import logistic_loss, pull_rows, squared_loss, vote_targets
from podium.pairwise._fit.solvers import Rows
from podium.pairwise.base import Ranker, Uses, logistic
from podium.ranking.ranking import Ranking
from podium.ranking.ranks import settled
from podium.ranking.uncertainty import Alternative, Information, extra_covariance

__all__ = ["RABF"]

Floats = NDArray[np.float64]

MAX_PENALTY = 1e12  # already holds what it is on at 0; beyond, nothing is left of the curvature of the votes beside it
FARTHER = 3.0  # how much farther out than the plain fit the second start is


class RABF(Ranker):
    """Rank items from votes and features: scores u = X w + r.

    The features X explain what they can, the residual r what they cannot, so that bad features cost little. `fit`
    minimises, exactly,

        Σ weight · ℓ(u_left − u_right, outcome)  +  λ_w ‖w‖²  +  λ_r ‖r‖²

    which is problem (6) of Rank Aggregation and Prediction with Item Features (AISTATS 2017) with λ_w = λ/μ² and
    λ_r = λ. An item without votes has r = 0: it is ranked by its features alone, with the residual's uncertainty.

    Parameters
    ----------
    loss : "logistic" or "squared"
        RABF-LOG, −log of the chance of the outcome; or RABF-SQ, with targets ±1 or the votes' real-valued margins.
    feature_penalty, residual_penalty : positive float, or "auto"
        λ_w and λ_r. "auto" takes those under which the votes are most likely (marginal likelihood, with a weak prior
        that keeps few votes from calling all items equal): w and r are then random effects with standard deviations
        1/√(2λ_w) and 1/√(2λ_r). Errors and intervals carry what the votes leave open about them.
    flip_rate : float in [0, ½)
        Share ρ of votes known to be reported the wrong way round.
    flip_loss : "auto", "lapse" or "corrected"
        How the flip rate enters. "lapse" is the likelihood of the votes as reported, −log((1 − ρ)σ(m) + ρσ(−m)):
        bounded, so that single upsets do not pull far, but not convex; `fit` starts at the plain fit and refuses if
        another start ends elsewhere. "corrected" is the unbiased loss of the paper's Lemma 5: with the squared loss
        scores and errors grow by 1/(1 − 2ρ) and the order stays; the corrected log loss is no likelihood and is bounded
        by its penalties only, so it needs them as numbers. "auto" is "lapse" for the log loss, which comes nearer to
        the truth and has intervals and penalties of its own, and "corrected" for the squared one, which has no other.
    standardize : bool
        Divide features by their standard deviation over the compared items, after taking off their mean, so that one
        penalty suits them all and units do not matter; `coef_` is in the user's units all the same. With False the
        features are taken as they are, as in the paper. A feature that is the same for every compared item is ignored.
    missing : "error" or "mean"
        What stands for a missing feature: nothing, or the mean of the column.
    one_hot : bool
        Turn text features into a column per value but the first.
    max_iter, tol : as in `BradleyTerry`

    Attributes
    ----------
    ranking_ : Ranking
        Of all items that have votes or features, with posterior intervals: right on average over items, while those of
        single items are drawn to what their features say.
    coef_, coef_std_errors_, feature_names_ : weights w, per unit of the feature
    feature_std_ : standard deviation of each feature over the ranked items
    residuals_ : r, aligned with `ranking_.items`
    explained_ : share of the variance of the compared items' scores that features explain
    feature_penalty_, residual_penalty_, boundary_ : the penalties used, and which "auto" ones stopped at an end of the
        range searched: the data do not say more than "at least so much" or "at most"
    objective_ : what was minimised, at the optimum
    noise_ : with the squared loss, the standard deviation of a vote around its margin; else None
    unseen_ : items that no vote mentions
    covariate_coef_, covariate_std_errors_, covariate_names_ : effects of the votes' covariates
    n_iter_, solver_, converged_ : how the optimum was found: "dense", "banded" or "pcg"

    Examples
    --------
    >>> votes = Comparisons.from_pairs([("large", "small"), ("large", "medium"), ("medium", "small")] * 3)
    >>> model = RABF(feature_penalty=0.1, residual_penalty=1.0)
    >>> model.fit(votes, features={"small": [1], "medium": [2], "large": [3], "huge": [4]}).ranking_.order
    ('huge', 'large', 'medium', 'small')
    >>> model.unseen_
    ('huge',)
    """

    uses = Uses(features=True, covariates=True, margins=True)
    state_version = 3  # since more features than items are reduced

    @classmethod
    def upgraded(cls, state: dict[str, Any], version: int) -> dict[str, Any]:
        """Version 1 called the standard deviation of features their spread, version 2 reduced no features."""
        kept = {"feature_std_" if name == "feature_spread_" else name: value for name, value in state.items()}
        return {"_basis": None} | kept

    def __init__(
        self,
        *,
        loss: str = "logistic",
        feature_penalty: float | str = "auto",
        residual_penalty: float | str = "auto",
        flip_rate: float = 0.0,
        flip_loss: str = "auto",
        standardize: bool = True,
        missing: str = "error",
        one_hot: bool = False,
        max_iter: int = 200,
        tol: float = 1e-6,
    ) -> None:
        self.loss = loss
        self.feature_penalty = feature_penalty
        self.residual_penalty = residual_penalty
        self.flip_rate = flip_rate
        self.flip_loss = flip_loss
        self.standardize = standardize
        self.missing = missing
        self.one_hot = one_hot
        self.max_iter = max_iter
        self.tol = tol

    def fit(self, comparisons: Comparisons, features: Any = None, *, id: str | None = None) -> Self:
        """Find weights and residuals.

        `features` is an array with a row for each of `comparisons.items`; or a frame with a column of labels (`id`;
        by default the one that holds every compared item) or a mapping from label to features, either of which may
        hold more items. Without features this is Bradley-Terry, or least squares, with a penalty from the data.
        """
        self._check(comparisons)
        labels, matrix, self._spec = self._read(comparisons, features, id)
        lapse = self.flip_rate > 0 and self.loss == "logistic" and self.flip_loss != "corrected"
        model = _Model(comparisons, matrix, self.loss, (self.flip_rate, lapse), self.standardize)
        if self._spec.names:
            self.idle_features_ = warn_of_columns(matrix[model.seen], self._spec.names, len(comparisons))
        given = _number(self.feature_penalty), _number(self.residual_penalty)
        start = partial(_plain_fit, model.plain(), self.max_iter) if lapse else None
        found = choose_penalties(model.problem, *given, self.tol, self.max_iter, start)
        if not found.solution.converged:
            raise ConvergenceError(
                f"no optimum in {self.max_iter} steps: expected and observed wins still differ by "
                f"{found.solution.gap:.1e} of an item's votes; raise ",
                Option("feature_penalty"),
                " or ",
                Option("residual_penalty"),
                InPython(" (or max_iter=, tol=)"),
            )
        if start is not None:
            self._refuse_two_optima(model.problem, found, start((found.feature, found.residual)))
        self.n_iter_, self.solver_, self.converged_ = found.solution.n_iter, found.solution.solver, True
        self.feature_penalty_, self.residual_penalty_, self.boundary_ = found.feature, found.residual, found.boundary
        self._learn(model, found, partial(possible_penalties, model.problem, found, self.max_iter, start), labels)
        return self._fitted_to(comparisons)

    def _refuse_two_optima(self, problem: FeatureProblem, found: Penalties, plain: Place) -> None:
        """Start again, from much farther out than the plain fit, and see whether it ends at the same scores."""
        far = Place(FARTHER * plain.weights, FARTHER * plain.residuals, FARTHER * plain.extras)
        other = solve_features(problem, (found.feature, found.residual), self.tol, self.max_iter, far)
        scores, again = problem.scores(found.solution.place), problem.scores(other.place)
        off = float(np.max(np.abs((scores - scores.mean()) - (again - again.mean())), initial=0.0))
        if off > 1e-3 * (1.0 + float(np.ptp(scores))):
            raise ConvergenceError(
                Option("flip_rate", self.flip_rate),
                f": these votes can be explained in more than one way (two starts end up to {off:.2g} apart); raise ",
                Option("feature_penalty"),
                " or ",
                Option("residual_penalty"),
                ", lower ",
                Option("flip_rate"),
                ", or use ",
                Option("flip_loss", "corrected"),
            )

    def _learn(
        self, model: _Model, found: Penalties, others: Callable[[], list[Node]], labels: tuple[Hashable, ...]
    ) -> None:
        place, penalties, c = found.solution.place, (found.feature, found.residual), model.comparisons
        whole = place.weights if model.basis is None else model.basis @ place.weights[:-1]
        self._origin = 0.0 if self.standardize else float(model.mean @ whole)
        explained, residuals = self._origin + model.matrix @ place.weights, np.zeros(len(labels))
        residuals[model.seen] = place.residuals
        loss, penalised = model.problem.loss, model.problem.objective(place, penalties)
        self.objective_ = penalised + (loss.constant if isinstance(loss, SquaredRows) else 0.0)
        self.noise_ = model.noise(place, penalties)
        self.residuals_, self._mean, self._scale = residuals, model.mean, model.scale
        self._basis, self._ignored = model.basis, model.constant
        self.coef_ = whole / model.scale
        self.feature_std_ = model.feature_std
        parts = np.var(explained[model.seen]), np.var(place.residuals)
        self.explained_ = float(parts[0] / (parts[0] + parts[1])) if parts[0] > 0 else 0.0
        self.unseen_ = tuple(labels[i] for i in np.flatnonzero(~model.seen))
        self._covariate_names, self.covariate_coef_ = c.covariate_names, place.extras
        robust = "sandwich" if self.flip_rate and type(loss) is LogisticRows else "auto"  # corrected: no likelihood
        clustered = c.group_is == "ranking" and c.group is not None
        scores = explained + residuals
        self.ranking_ = Ranking(
            labels,
            settled(scores, self.tol if self.loss == "logistic" else 1e-9 * np.ptp(scores)),
            information=partial(model.whole_information, place, penalties, others),
            record=partial(_record, c, len(labels)),
            uncertainty="cluster" if clustered else robust,
            cluster="ranking" if clustered else None,
        )

    def _check(self, comparisons: Comparisons) -> None:
        as_comparisons(comparisons)
        choice_option("loss", self.loss, ("logistic", "squared"))
        choice_option("flip_loss", self.flip_loss, ("auto", "lapse", "corrected"))
        choice_option("missing", self.missing, ("error", "mean"))
        for name in ("standardize", "one_hot"):
            flag_option(name, getattr(self, name))
        for name in ("feature_penalty", "residual_penalty"):
            value = getattr(self, name)
            if isinstance(value, str) and value == "auto":
                continue
            if number_option(name, value, above=0, more=", or 'auto'") > MAX_PENALTY:
                raise InputError(Option(name, value), f": at most {MAX_PENALTY:g}, or rounding decides the intervals")
        number_option("tol", self.tol, above=0)
        number_option("max_iter", self.max_iter, least=1, whole=True)
        if number_option("flip_rate", self.flip_rate, least=0) >= 0.5:
            raise InputError(Option("flip_rate", self.flip_rate), ": a share of wrong votes lies in [0, 0.5)")
        if self.flip_loss == "lapse" and self.loss == "squared":
            raise InputError(
                Option("flip_loss", "lapse"),
                " is a likelihood of who won; ",
                Option("loss", "squared"),
                " takes ",
                Option("flip_loss", "corrected"),
            )
        auto = "auto" in (self.feature_penalty, self.residual_penalty)
        if self.flip_rate and self.loss == "logistic" and self.flip_loss == "corrected" and auto:
            raise InputError(
                Option("flip_loss", "corrected"),
                " with the logistic loss needs ",
                Option("feature_penalty"),
                " and ",
                Option("residual_penalty"),
                " as positive numbers: it is not a likelihood, and without a penalty it has no lower bound; or use ",
                Option("flip_loss", "lapse"),
            )

    def _read(self, c: Comparisons, features: Any, id: str | None) -> tuple[tuple[Hashable, ...], Floats, FeatureSpec]:
        if features is None:
            return tuple(c.items), np.empty((len(c.items), 0)), FeatureSpec((), ())
        return read_features(features, c.items, id=id, missing=self.missing, one_hot=self.one_hot)

    # ---- what was learned -----------------------------------------------------------------------------------

    def _information(self) -> Information:
        self._check_fitted()
        information = self.ranking_.information
        assert information is not None
        return information

    @property
    def feature_names_(self) -> tuple[str, ...]:
        """Names of the features, aligned with `coef_`."""
        self._check_fitted()
        return self._spec.names

    @property
    def covariate_names_(self) -> tuple[str, ...]:
        """Names of the votes' covariates, aligned with `covariate_coef_`."""
        self._check_fitted()
        return self._covariate_names

    @property
    def in_margins(self) -> bool:
        """Whether scores are counted in the votes' margins."""
        return self.loss == "squared"

    @property
    def feature_columns_(self) -> tuple[str, ...]:
        """Columns of the table of features; a text column has several `feature_names_`."""
        self._check_fitted()
        return self._spec.columns

    def _extra_covariance(self) -> Floats:
        """Posterior covariance of the weights (of features as they were scaled) and the covariates' effects."""
        information = self._information()
        if not information.extras:
            return np.empty((0, 0))
        return extra_covariance(information, self.ranking_.uncertainty, self.ranking_.cluster)

    @property
    def coef_std_errors_(self) -> Floats:
        """Standard errors of `coef_`; NaN for a feature that was the same for every compared item."""
        errors: Floats = np.sqrt(np.maximum(self._weight_variance(None), 0.0)) / self._scale
        return np.where(self._ignored, np.nan, errors)

    @property
    def covariate_std_errors_(self) -> Floats:
        """Standard errors of `covariate_coef_`."""
        p = len(self._covariate_names)
        covariance = self._extra_covariance()
        errors: Floats = np.sqrt(np.maximum(covariance.diagonal()[len(covariance) - p :], 0.0))
        return errors

    def _weight_variance(self, rows: Floats | None) -> Floats:
        """Variance of rows·w, for features as they were scaled; of each weight without rows."""
        whole = self._extra_covariance()
        weights = len(whole) - len(self._covariate_names)
        covariance = whole[:weights, :weights]
        if self._basis is None:
            return covariance.diagonal() if rows is None else np.einsum("ij,jk,ik->i", rows, covariance, rows)
        known = self._basis if rows is None else rows @ self._basis
        length = np.ones(len(known)) if rows is None else np.einsum("ij,ij->i", rows, rows)
        within = np.einsum("ij,jk,ik->i", known, covariance[:-1, :-1], known)
        beyond = np.maximum(length - np.einsum("ij,ij->i", known, known), 0.0)
        variance: Floats = within + beyond * covariance[-1, -1]
        return variance

    def predict(self, features: Any, return_std: bool = False) -> Floats | tuple[Floats, Floats]:
        """Scores of new items from their features: an array or a frame with the columns of `fit`, a row per item.

        With `return_std` also their standard deviations: of the weights, and of the residual such an item may have.
        """
        information = self._information()
        moved = np.where(self._ignored, 0.0, (self._spec.read(features) - self._mean) / self._scale)
        scores: Floats = self._origin + moved @ (self.coef_ * self._scale)
        if not return_std:
            return scores
        deviations: Floats = np.sqrt(self._weight_variance(moved) + information.prior_variance)
        return scores, deviations

    def win_probability(self, a: Hashable, b: Hashable) -> float:
        """Chance that a vote, as it is reported, goes to `a`; with the squared loss, that its margin is positive."""
        self._check_fitted()
        return float(self._outcomes(np.array([self.ranking_.score(a) - self.ranking_.score(b)]))[0][0])

    def _margins(self, c: Comparisons) -> Floats:
        margins: Floats = super()._margins(c) + self._covariate_effects(c, self.covariate_coef_)
        return margins

    def _outcomes(self, margins: Floats) -> tuple[Floats, Floats, Floats]:
        """Chances that votes with these margins are reported for the left item, and for the right."""
        win, tie, loss = logistic(margins)
        if self.noise_ is not None:
            from scipy.special import ndtr

            win, loss = (ndtr(m / self.noise_) if self.noise_ else 0.5 + 0.5 * np.sign(m) for m in (margins, -margins))
            return win, tie, loss
        keep = 1.0 - 2.0 * self.flip_rate
        return self.flip_rate + keep * win, tie, self.flip_rate + keep * loss


class _Model:
    """The loss of one set of votes on the items they mention, and how to get back to all items."""

    def __init__(self, c: Comparisons, matrix: Floats, loss: str, flips: tuple[float, bool], standardize: bool) -> None:
        self.comparisons, self.flip_rate, n = c, flips[0], len(c.items)
        loss_rows: LogisticRows | LapseRows | SquaredRows
        if loss == "logistic":
            kind = "lapse" if flips[1] else "corrected"
            self.left, self.right, loss_rows = logistic_loss(c, self.flip_rate, kind)
        else:
            self.left, self.right, loss_rows = squared_loss(c, self.flip_rate)
        votes = np.bincount(self.left, loss_rows.total, n) + np.bincount(self.right, loss_rows.total, n)
        self.weight = float(loss_rows.total.sum())
        self.seen = np.zeros(len(matrix), dtype=bool)
        self.seen[:n] = votes > 0
        # Means are taken off in any case: only differences matter, and those of large numbers lose their digits.
        self.mean, scale, self.constant = column_moments(matrix[self.seen])
        self.scale = np.where(self.constant | (not standardize), 1.0, scale)
        self.matrix = np.ascontiguousarray(np.where(self.constant, 0.0, (matrix - self.mean) / self.scale))
        self.feature_std = self.matrix.std(axis=0) * self.scale  # in this order no square overflows
        self.basis = None if self.matrix.shape[1] <= len(self.matrix) else row_basis(self.matrix)
        if self.basis is not None:
            # More features than items: weights matter along the items' rows only. The column of zeros stands for all
            # other directions, of which the votes say nothing.
            self.matrix = np.column_stack([self.matrix @ self.basis, np.zeros(len(self.matrix))])
        place = np.cumsum(self.seen, dtype=np.int32) - np.int32(1)
        ends = (self.left, self.right) if self.seen[:n].all() else (place[self.left], place[self.right])
        rows = Rows(int(self.seen.sum()), ends[0], ends[1], c.covariates)
        self.problem = FeatureProblem(rows, loss_rows, self.matrix[self.seen], votes[votes > 0].astype(np.float64))

    def plain(self) -> FeatureProblem:
        """The same votes taken at their word."""
        p, loss = self.problem, self.problem.loss
        assert isinstance(loss, LapseRows)
        return FeatureProblem(p.rows, LogisticRows(loss.points, loss.total), p.features, p.votes)

    def noise(self, place: Place, penalties: tuple[float, float]) -> float | None:
        """With the squared loss, the standard deviation of a vote around its margin."""
        if not isinstance(self.problem.loss, SquaredRows):
            return None
        return math.sqrt(max(self.problem.objective(place, penalties), 0.0) / self.weight)

    def whole_information(
        self, place: Place, penalties: tuple[float, float], others: Callable[[], list[Node]]
    ) -> Information:
        """The information at the chosen penalties, and at the others that the votes leave possible."""
        here, alternatives = self.information(place, penalties), []
        shown = self._scores(place)
        for node in others():
            there = self.information(node.place, node.penalties, pulls=False)
            weights = node.place.weights - place.weights, node.place.extras - place.extras
            shift = np.concatenate([self._scores(node.place) - shown, *weights])
            alternatives.append(
                Alternative(node.share, there.curvature, there.ridge, there.border, there.corner, shift)
            )
        return dataclasses.replace(here, alternatives=tuple(alternatives))

    def information(self, place: Place, penalties: tuple[float, float], *, pulls: bool = True) -> Information:
        """Curvature of −log posterior in the scores of all items and the weights, and each vote's pull."""
        noise = self.noise(place, penalties)
        unit = 1.0 if noise is None else 0.5 / max(noise, 1e-150) ** 2  # a squared loss becomes a likelihood
        n, d = self.matrix.shape
        point = self.problem.evaluate(place)
        p = len(place.extras)
        ridges = 2.0 * unit * penalties[0], 2.0 * unit * penalties[1]
        border, corner = np.zeros((n, d + p)), np.zeros((d + p, d + p))
        border[:, :d] = -ridges[1] * self.matrix
        border[self.seen, d:] = unit * point.border
        corner[:d, :d] = ridges[1] * (self.matrix.T @ self.matrix) + ridges[0] * np.eye(d)
        corner[d:, d:] = unit * point.corner
        return Information(
            n,
            self.left,
            self.right,
            unit * point.curvature,
            ridge=ridges[1],
            border=border if d + p else None,
            corner=corner if d + p else None,
            scores=self._scores(place),
            **(self._pulls(place, unit, d) if pulls else {}),
        )

    def _scores(self, place: Place) -> Floats:
        scores: Floats = self.matrix @ place.weights
        scores[self.seen] += place.residuals
        return scores

    def _pulls(self, place: Place, unit: float, d: int) -> dict[str, Any]:
        """Slope of single votes, for robust errors."""
        c, loss = self.comparisons, self.problem.loss
        left, right, outcome, weight, squares, clusters = pull_rows(c)
        margin = Rows(len(self.matrix), left, right, c.covariates).margin(self._scores(place), place.extras)
        keep = 1.0 / (1.0 - 2.0 * self.flip_rate)
        if isinstance(loss, LapseRows):
            slope = loss.vote_slopes(margin, outcome)
        elif isinstance(loss, LogisticRows):
            wanted = outcome + self.flip_rate * keep * (2.0 * outcome - 1.0)
            slope = 1.0 / (1.0 + np.exp(-margin)) - wanted
        else:
            slope = 2.0 * unit * (margin - keep * vote_targets(c, outcome))
        covariates = np.empty((len(left), 0)) if c.covariates is None else c.covariates
        extra = np.hstack([np.zeros((len(left), d)), slope[:, None] * covariates])
        return {
            "vote_left": left,
            "vote_right": right,
            "vote_gradient": slope,
            "vote_weight": weight,
            "vote_weight_sq": squares,
            "vote_extra_gradient": extra if extra.shape[1] else None,
            "clusters": clusters,
        }


def _plain_fit(problem: FeatureProblem, max_iter: int, penalties: tuple[float, float]) -> Place:
    """The optimum without flips: where the search for one with flips begins."""
    return solve_features(problem, penalties, 1e-4, max_iter).place


def _number(penalty: float | str) -> float | None:
    return None if penalty == "auto" else float(penalty)


def _record(c: Comparisons, size: int) -> tuple[Floats, Floats, Floats]:
    """Wins, losses and ties; none for items beyond the votes."""
    more = size - len(c.items)
    won, lost, tied = (np.concatenate([each, np.zeros(more)]) for each in c.record())
    return won, lost, tied
