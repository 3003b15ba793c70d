"""RABF, rank aggregation with features: what features explain of the scores, and what they do not."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import partial
from numbers import Real
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from podium.data.comparisons import Comparisons, as_comparisons
from podium.data.features import FeatureSpec, Matrix, read_features, read_row_weights, warn_of_columns
from podium.data.validation import choice_option, flag_option, number_option
from podium.errors import ConvergenceError, InputError, InPython, Option, PodiumWarning
from podium.pairwise._fit import hinge
from podium.pairwise._fit.feature_model import FeatureModel, VoteModel
from podium.pairwise._fit.feature_solver import FeatureProblem, FeatureSolution, Place, solve_features
from podium.pairwise._fit.featured import FeatureScores
from podium.pairwise._fit.flips import FlippedVotes
from podium.pairwise._fit.followed import FollowedEffects
from podium.pairwise._fit.likelihoods import LogisticRows, SquaredRows
from podium.pairwise._fit.norms import within_norms
from podium.pairwise._fit.penalties import Node, Penalties, choose_penalties, possible_penalties
from podium.pairwise._fit.solvers import warn_of_separation
from podium.pairwise._fit.strength_model import StrengthModel
from podium.pairwise.base import Ranker, Uses, davidson, logistic
from podium.ranking.ranking import Ranking
from podium.ranking.ranks import settled
from podium.ranking.uncertainty import Information

__all__ = ["RABF"]

Floats = NDArray[np.float64]
Nodes = Callable[..., list[Node]]

MAX_PENALTY = 1e12  # already holds what it is on at 0; beyond, nothing is left of the curvature of the votes beside it
TIED = {"squared": 1e-9, "hinge": 1e-6}  # difference of scores, of their range, that rounding makes
FARTHER = 3.0  # how much farther out than the plain fit the second start is


class RABF(FeatureScores, Ranker):
    """Rank items from votes and features: scores u = X w + r.

    The features X explain what they can, the residual r what they cannot, so that bad features cost little. `fit`
    minimises, exactly,

        Σ weight · ℓ(u_left − u_right, outcome)  +  λ_w ‖w‖²  +  λ_r ‖r‖²

    which is problem (6) of Rank Aggregation and Prediction with Item Features (AISTATS 2017) with λ_w = λ/μ² and
    λ_r = λ. An item without votes has r = 0: it is ranked by its features alone, with the residual's uncertainty.
    With the log loss and `residual_penalty="auto"`, effects of covariates and side are found first, without penalties,
    as by `BradleyTerry`; else together with the scores, which may exaggerate those that better items have more of.

    Parameters
    ----------
    loss : "logistic", "squared" or "hinge"
        RABF-LOG, −log of the chance of the outcome; RABF-SQ, with targets ±1 or the votes' real-valued margins; or
        max(0, 1 − margin), as a support vector machine, which is no likelihood: there are no errors and intervals, and
        penalties are numbers.
    feature_penalty, residual_penalty : positive float, or "auto"
        λ_w and λ_r. "auto" takes those under which the votes are most likely (marginal likelihood, with a weak prior
        that keeps few votes from calling all items equal): w and r are then random effects with standard deviations
        1/√(2λ_w) and 1/√(2λ_r). Errors and intervals carry what the votes leave open about them.
    max_norm : (W, R), optional
        Hard limits ‖w‖ ≤ W (of features as they are scaled) and ‖r‖ ≤ R in place of the penalties: problem (3) of the
        paper; with the squared loss and a `flip_rate`, (14), which is (13) with its scores divided by 1 − 2ρ. The
        multipliers found are `feature_penalty_` and `residual_penalty_`, and intervals are those at these penalties;
        `binding_` says which limits are met.
    ties : "half" or "davidson"
        With the log loss: count a tie as half a win for both, or model it by one more parameter ν (Davidson 1970).
    side_effect : bool
        Estimate the advantage of being shown on the left, unpenalised; needs votes that say which side was which.
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
    row_weights : str or mapping, optional
        How far each item's features count (μ of Appendix A), u_i = μ_i x_i·w + r_i: the name of a column of the
        features, or a mapping from item, where others have 1. Where features are standardised, an item of weight 0
        stands at their mean.
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
    feature_radius_ : the largest length of an item's features, as they were scaled and centred
    residuals_ : r, aligned with `ranking_.items`
    explained_ : share of the variance of the compared items' scores that features explain
    feature_penalty_, residual_penalty_, boundary_ : the penalties used, and which "auto" ones stopped at an end of the
        range searched: the data do not say more than "at least so much" or "at most"
    binding_ : with `max_norm`, which limits are met: "feature", "residual"
    objective_ : what was minimised, at the optimum; with `max_norm` the loss alone
    noise_ : with the squared loss, the standard deviation of a vote around its margin; else None
    unseen_ : items that no vote mentions
    covariate_coef_, covariate_std_errors_, covariate_names_ : effects of the votes' covariates
    side_effect_, side_effect_std_error_ : advantage of the left side, in the unit of the scores; 0 and None without
    tie_strength_ : Davidson's ν, a tie between equals has chance ν / (2 + ν); None with `ties="half"`
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

    uses = Uses(features=True, covariates=True, margins=True, sides=True, ties=True)
    state_version = 4  # since sides and ties

    @classmethod
    def upgraded(cls, state: dict[str, Any], version: int) -> dict[str, Any]:
        """Version 1 spoke of the spread of features, version 2 reduced none, version 3 knew no sides and ties."""
        kept = {"feature_std_" if name == "feature_spread_" else name: value for name, value in state.items()}
        columns = tuple(f"covariate:{name}" for name in kept.pop("_covariate_names", ()))
        older = {"_basis": None, "_columns": columns, "_extras": kept.pop("covariate_coef_", np.empty(0))}
        return (
            older
            | {
                "ties": "half",
                "side_effect": False,
                "max_norm": None,
                "row_weights": None,
                "binding_": (),
                "feature_radius_": math.nan,
            }
            | kept
        )

    def __init__(
        self,
        *,
        loss: str = "logistic",
        feature_penalty: float | str = "auto",
        residual_penalty: float | str = "auto",
        max_norm: tuple[float, float] | None = None,
        ties: str = "half",
        side_effect: bool = False,
        flip_rate: float = 0.0,
        flip_loss: str = "auto",
        standardize: bool = True,
        row_weights: str | Mapping[Hashable, float] | None = None,
        missing: str = "error",
        one_hot: bool = False,
        max_iter: int = 200,
        tol: float = 1e-6,
    ) -> None:
        self.loss = loss
        self.feature_penalty = feature_penalty
        self.residual_penalty = residual_penalty
        self.max_norm = max_norm
        self.ties = ties
        self.side_effect = side_effect
        self.flip_rate = flip_rate
        self.flip_loss = flip_loss
        self.standardize = standardize
        self.row_weights = row_weights
        self.missing = missing
        self.one_hot = one_hot
        self.max_iter = max_iter
        self.tol = tol

    def fit(self, comparisons: Comparisons, features: Any = None, *, id: str | None = None, engine: Any = None) -> Self:
        """Find weights and residuals.

        `features` is an array, or a sparse table of SciPy, with a row for each of `comparisons.items`; or a frame with
        a column of labels (`id`; by default the one that holds every compared item) or a mapping from label to
        features, either of which may hold more items. Without features this is Bradley-Terry, or least squares, with a
        penalty from the data.

        Errors and intervals are means over the penalties that the votes leave possible, each with a fit of its own:
        done when they are asked for or, with an `engine` (a `distributed.Client`), now, by its workers side by side.
        """
        self._check(comparisons)
        labels, matrix, self._spec = self._read(comparisons, features, id)
        matrix, self._spec, weights = read_row_weights(self.row_weights, labels, matrix, self._spec)
        lapse = self.flip_rate > 0 and self.loss == "logistic" and self.flip_loss != "corrected"
        votes = VoteModel(self.loss, self.flip_rate, lapse, self.ties, self.side_effect)
        StrengthModel(comparisons, "half", self.side_effect).check_design()
        model = FeatureModel(comparisons, matrix, votes, self.standardize, weights)
        if self._spec.names:
            self.idle_features_ = warn_of_columns(matrix[model.seen], self._spec.names, len(comparisons))
        if self.loss == "logistic" and not self.flip_rate and self.max_norm is None and self.residual_penalty == "auto":
            model.hold_effects(self.max_iter)
        flips = FlippedVotes(model.problem, model.plain(), self.flip_rate, self.max_iter) if lapse else None
        followed = model.followed(self.max_iter)
        found = self._optimum(model, flips or followed)
        if not found.solution.converged:
            raise ConvergenceError(
                f"no optimum in {self.max_iter} steps: expected and observed wins still differ by "
                f"{found.solution.gap:.1e} of an item's votes; raise ",
                Option("feature_penalty"),
                " or ",
                Option("residual_penalty"),
                InPython(" (or max_iter=, tol=)"),
            )
        if flips is not None:
            self._refuse_two_optima(model.problem, found, flips.start((found.feature, found.residual)))
        self.n_iter_, self.solver_, self.converged_ = found.solution.n_iter, found.solution.solver, True
        self.feature_penalty_, self.residual_penalty_, self.boundary_ = found.feature, found.residual, found.boundary
        others: Nodes = partial(possible_penalties, model.problem, found, self.max_iter)
        if flips is not None:
            others = flips.possible
        elif followed is not None:
            others = partial(followed.possible, found)
        if engine is not None:
            others = self._shared_out(others, found, engine)
        self._learn(model, found, others, labels)
        return self._fitted_to(comparisons)

    def _shared_out(
        self, others: Callable[..., list[Node]], found: Penalties, engine: Any
    ) -> Callable[..., list[Node]]:
        """The fits at other penalties, done by workers: nobody may be at work there later."""
        if found.free:
            return partial(list, others(engine=engine))
        chosen = Option("max_norm") if self.max_norm is not None else Option("feature_penalty")
        warnings.warn(
            PodiumWarning("with ", chosen, " given there are no penalties to average over, and nothing for workers"),
            stacklevel=3,
        )
        return others

    def _optimum(self, model: FeatureModel, chooser: FlippedVotes | FollowedEffects | None) -> Penalties:
        """The optimum at the penalties given or chosen, by a way of its own if there is one; or within the limits."""
        given = _number(self.feature_penalty), _number(self.residual_penalty)
        self.binding_: tuple[str, ...] = ()
        if chooser is not None:
            return chooser.choose(*given, self.tol)
        if self.max_norm is None and self.loss != "hinge":
            return choose_penalties(model.problem, *given, self.tol, self.max_iter)
        if self.loss == "hinge" and model.problem.rows.n > hinge.MAX_DENSE_ITEMS:
            warnings.warn(
                PodiumWarning(
                    Option("loss", "hinge"), f" on {model.problem.rows.n:,} items may take many minutes: its exact "
                    f"method is made for up to {hinge.MAX_DENSE_ITEMS:,}; ",
                    Option("loss", "logistic"), " takes seconds",
                ),
                stacklevel=4,
            )  # fmt: skip

        def solve(penalties: tuple[float, float], near: Place | None) -> FeatureSolution:
            if self.loss == "hinge":
                return hinge.solve_hinge(model.problem, penalties, self.max_iter)
            return solve_features(model.problem, penalties, min(self.tol, 1e-9), self.max_iter, near)

        if self.max_norm is None:
            penalties = float(self.feature_penalty), float(self.residual_penalty)
            return Penalties(*penalties, solve(penalties, None), ())
        limits = float(self.max_norm[0]), float(self.max_norm[1])
        found = within_norms(solve, model.problem.features, limits, model.problem.value(model.nothing()))
        self.binding_ = tuple(("feature", "residual")[k] for k in found.met)
        return Penalties(*found.penalties, found.solution, ())

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
        self, model: FeatureModel, found: Penalties, others: Callable[[], list[Node]], labels: tuple[Hashable, ...]
    ) -> None:
        place, penalties, c = found.solution.place, (found.feature, found.residual), model.comparisons
        whole = model.whole_weights(place.weights)
        origin = 0.0 if self.standardize else float(model.mean @ whole)
        explained, residuals = origin + model.matrix @ place.weights, np.zeros(len(labels))
        residuals[model.seen] = place.residuals
        loss, penalised = model.problem.loss, model.problem.objective(place, penalties)
        if self.max_norm is not None:
            penalised = model.problem.value(place)
        self.objective_ = penalised + (loss.constant if isinstance(loss, SquaredRows) else 0.0)
        self.noise_ = model.noise(place, penalties)
        self.residuals_ = residuals
        self._keep_weights(model, place.weights, origin)
        self.feature_std_ = model.feature_std
        self.feature_radius_ = float(np.sqrt(np.max(np.einsum("ij,ij->i", model.matrix, model.matrix), initial=0.0)))
        parts = np.var(explained[model.seen]), np.var(place.residuals)
        self.explained_ = float(parts[0] / (parts[0] + parts[1])) if parts[0] > 0 else 0.0
        self.unseen_ = tuple(labels[i] for i in np.flatnonzero(~model.seen))
        self._columns, self._extras = model.columns, model.with_effects(place).extras
        self._warn_of_separation(model)
        robust = "sandwich" if self.flip_rate and type(loss) is LogisticRows else "auto"  # corrected: no likelihood
        clustered = c.group_is == "ranking" and c.group is not None
        scores = explained + residuals
        self.ranking_ = Ranking(
            labels,
            settled(scores, self.tol if self.loss == "logistic" else TIED[self.loss] * np.ptp(scores)),
            information=None if self.loss == "hinge" else partial(model.whole_information, place, penalties, others),
            record=partial(_record, c, len(labels)),
            uncertainty="cluster" if clustered and self.loss != "hinge" else robust,
            cluster="ranking" if clustered and self.loss != "hinge" else None,
            credible=self.loss != "hinge"
            and self.max_norm is None
            and self.feature_penalty == self.residual_penalty == "auto",
        )

    def _check(self, comparisons: Comparisons) -> None:
        as_comparisons(comparisons)
        choice_option("loss", self.loss, ("logistic", "squared", "hinge"))
        choice_option("flip_loss", self.flip_loss, ("auto", "lapse", "corrected"))
        choice_option("missing", self.missing, ("error", "mean"))
        choice_option("ties", self.ties, ("half", "davidson"))
        if not (self.row_weights is None or isinstance(self.row_weights, str | Mapping)):
            raise InputError(
                Option("row_weights", self.row_weights), ": a column's name or a mapping from item is expected"
            )
        for name in ("standardize", "one_hot", "side_effect"):
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
        self._check_ties_and_sides(comparisons)
        self._check_limits()
        auto = self.max_norm is None and "auto" in (self.feature_penalty, self.residual_penalty)
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

    def _check_limits(self) -> None:
        numbers = [name for name in ("feature_penalty", "residual_penalty") if getattr(self, name) != "auto"]
        if self.max_norm is not None:
            pair = isinstance(self.max_norm, Sequence | np.ndarray) and not isinstance(self.max_norm, str)
            if not pair or len(self.max_norm) != 2:
                raise InputError(Option("max_norm", self.max_norm), ": give two numbers, for weights and residuals")
            for value in self.max_norm:
                if isinstance(value, bool) or not isinstance(value, Real) or not 0.0 < float(value) < math.inf:
                    raise InputError(Option("max_norm", self.max_norm), ": both must be finite numbers above 0")
            if numbers:
                raise InputError(
                    Option("max_norm"), " takes the place of ", Option(numbers[0]), ", which is given too; drop either"
                )
            if self.flip_rate and self.loss == "logistic" and self.flip_loss != "corrected":
                raise InputError(
                    Option("max_norm"), " needs a convex loss; use ", Option("flip_loss", "corrected"), " or drop ",
                    Option("flip_rate"),
                )  # fmt: skip
        elif self.loss == "hinge" and len(numbers) < 2:
            raise InputError(
                Option("loss", "hinge"), " is no likelihood to choose penalties by; give ", Option("feature_penalty"),
                " and ", Option("residual_penalty"), " as positive numbers, or ", Option("max_norm"),
            )  # fmt: skip
        if self.loss == "hinge" and self.flip_rate:
            raise InputError(
                Option("flip_rate"), " does not go with ", Option("loss", "hinge"), ": corrected for flips it is not "
                "convex; use another loss",
            )  # fmt: skip

    def _check_ties_and_sides(self, c: Comparisons) -> None:
        if self.ties == "davidson" and (self.loss != "logistic" or self.flip_rate):
            other = Option("loss", self.loss) if self.loss != "logistic" else Option("flip_rate", self.flip_rate)
            raise InputError(
                Option("ties", "davidson"), " is a likelihood of win, tie and loss, which ", other,
                " is not; drop either",
            )  # fmt: skip
        if self.side_effect and not c.sided:
            raise InputError(
                Option("side_effect", True),
                " needs votes that say which item stood on which side: give left, right and outcome "
                "rather than winner and loser",
            )

    def _read(self, c: Comparisons, features: Any, id: str | None) -> tuple[tuple[Hashable, ...], Matrix, FeatureSpec]:
        if features is None:
            return tuple(c.items), np.empty((len(c.items), 0)), FeatureSpec((), ())
        return read_features(features, c.items, id=id, missing=self.missing, one_hot=self.one_hot, sparse=True)

    def _warn_of_separation(self, model: FeatureModel) -> None:
        """Say so when the side or a covariate alone decides the votes: its effect has no finite optimum."""
        design = model.whole.rows.design
        if design is not None and self.loss != "squared":
            warn_of_separation(self._columns, design, self._extras, stacklevel=4)

    def unfitted(self, **params: Any) -> Self:
        """As for every ranker; limits are kept, and not the multipliers they led to."""
        if self.max_norm is None or "max_norm" in params:
            return super().unfitted(**params)
        return type(self)(**self.get_params() | params)

    # ---- what was learned -----------------------------------------------------------------------------------

    def _information(self) -> Information:
        self._check_fitted()
        information = self.ranking_.information
        if information is None:
            raise InputError(Option("loss", self.loss), " is no likelihood: there are no standard errors; use another")
        return information

    @property
    def credible_intervals_(self) -> bool:
        """Whether intervals are the posterior's; those by sandwich, clusters or bootstrap are not."""
        return self.ranking_.uncertainty in ("auto", "hessian")

    @property
    def covariate_names_(self) -> tuple[str, ...]:
        """Names of the votes' covariates, aligned with `covariate_coef_`."""
        self._check_fitted()
        return tuple(name.removeprefix("covariate:") for name in self._columns if name.startswith("covariate:"))

    @property
    def covariate_coef_(self) -> Floats:
        """Effects of the votes' covariates, per unit."""
        return np.array(self._extras[: len(self.covariate_names_)])

    @property
    def effects_(self) -> tuple[str, ...]:
        """Names of what was estimated beside scores and weights: covariates, "side", "tie"."""
        self._check_fitted()
        return tuple(name.removeprefix("covariate:") for name in self._columns)

    @property
    def side_effect_(self) -> float:
        """Advantage of the left side, in the unit of the scores; 0 without `side_effect`."""
        self._check_fitted()
        return float(self._extras[self._columns.index("side")]) if "side" in self._columns else 0.0

    @property
    def side_effect_std_error_(self) -> float | None:
        """Standard error of `side_effect_`."""
        self._check_fitted()
        return float(self._effect_errors()[self._columns.index("side")]) if "side" in self._columns else None

    @property
    def tie_strength_(self) -> float | None:
        """Davidson's ν; None with `ties="half"`."""
        self._check_fitted()
        if self.ties == "half":
            return None
        return math.exp(self._extras[-1]) if "tie" in self._columns else 0.0

    def _tie_error(self) -> float | None:
        return float(self._effect_errors()[-1])

    @property
    def in_margins(self) -> bool:
        """Whether scores are counted in the votes' margins."""
        return self.loss == "squared"

    @property
    def covariate_std_errors_(self) -> Floats:
        """Standard errors of `covariate_coef_`."""
        return self._effect_errors()[: len(self.covariate_names_)]

    def _effect_errors(self) -> Floats:
        """Standard errors of what has no penalty."""
        covariance = self._extra_covariance()
        errors: Floats = np.sqrt(np.maximum(covariance.diagonal()[len(covariance) - len(self._columns) :], 0.0))
        return errors

    def win_probability(self, a: Hashable, b: Hashable) -> float:
        """Chance that a vote, as it is reported, goes to `a`; with the squared loss, that its margin is positive."""
        self._check_fitted()
        return float(self._outcomes(np.array([self.ranking_.score(a) - self.ranking_.score(b)]))[0][0])

    def tie_probability(self, a: Hashable, b: Hashable) -> float:
        """Chance of a tie; 0 unless ties were modelled (`ties="davidson"`)."""
        self._check_fitted()
        return float(self._outcomes(np.array([self.ranking_.score(a) - self.ranking_.score(b)]))[1][0])

    def _margins(self, c: Comparisons) -> Floats:
        side = self.side_effect_ if c.sided else 0.0
        margins: Floats = super()._margins(c) + self._covariate_effects(c, self.covariate_coef_) + side
        return margins

    def _outcomes(self, margins: Floats) -> tuple[Floats, Floats, Floats]:
        """Chances that votes with these margins are reported for the left item, and for the right."""
        if self.tie_strength_:
            return davidson(margins, self.tie_strength_)
        if self.loss == "hinge":
            return super()._outcomes(margins)  # the slope that suits the votes
        win, tie, loss = logistic(margins)
        if self.noise_ is not None:
            from scipy.special import ndtr

            win, loss = (ndtr(m / self.noise_) if self.noise_ else 0.5 + 0.5 * np.sign(m) for m in (margins, -margins))
            return win, tie, loss
        keep = 1.0 - 2.0 * self.flip_rate
        return self.flip_rate + keep * win, tie, self.flip_rate + keep * loss


def _number(penalty: float | str) -> float | None:
    return None if penalty == "auto" else float(penalty)


def _record(c: Comparisons, size: int) -> tuple[Floats, Floats, Floats]:
    """Wins, losses and ties; none for items beyond the votes."""
    more = size - len(c.items)
    won, lost, tied = (np.concatenate([each, np.zeros(more)]) for each in c.record())
    return won, lost, tied
