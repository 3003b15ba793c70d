"""Scores that move: every item's strength a random walk in time, the whole history fitted at once."""

from __future__ import annotations

import datetime
import math
import warnings
from collections.abc import Collection, Hashable
from functools import partial
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from podium.data.comparisons import Comparisons, as_comparisons
from podium.data.features import FeatureSpec, few, is_sparse, read_features, warn_of_columns
from podium.data.tables.times import moment, shown_times
from podium.data.validation import choice_option, flag_option, number_option
from podium.errors import ConvergenceError, InputError, InPython, Option, SeparationWarning
from podium.pairwise._fit.featured import FeatureScores
from podium.pairwise._fit.solvers import SEPARATES
from podium.pairwise._fit.walk_effects import side_effect
from podium.pairwise._fit.walk_model import (
    Held,
    WalkFeatures,
    WalkModel,
    by_day,
    history_of,
    joined_history,
    with_items,
    written_out,
)
from podium.pairwise._fit.walk_posterior import Points, WalkPosterior
from podium.pairwise._fit.walk_search import Search, Spreads
from podium.pairwise._fit.walks import solution_at
from podium.pairwise.base import Ranker, Uses, davidson, logistic
from podium.ranking.ranking import Ranking
from podium.ranking.ranks import settled
from podium.ranking.uncertainty import mean_chance_margin, quantile
from podium.text import counted

if TYPE_CHECKING:
    import polars as pl

__all__ = ["DynamicBradleyTerry"]

Floats = NDArray[np.float64]

SCALES = {"log-odds": (1.0, 0.0), "elo": (400.0 / math.log(10.0), 1000.0)}
MAX_ITEMS_WITH_ERRORS = 2000  # items of which a table tells the errors: they take a matrix of all pairs
NODES = 20  # of a mean over the posterior
# What a model without features knows of them.
NO_FEATURES: dict[str, Any] = {
    "_spec": FeatureSpec((), ()),
    "_columns": (),
    "_basis": None,
    "_mean": np.empty(0),
    "_scale": np.empty(0),
    "_ignored": np.empty(0, dtype=bool),
    "_origin": 0.0,
    "coef_": np.empty(0),
    "feature_std_": np.empty(0),
    "feature_penalty_": None,
    "idle_features_": (),
}
SD_RANGE = 1e-6, 1e3  # beyond these all scores are equal, or nothing holds them
PENALTY_RANGE = 1e-12, 1e12  # the same of weights
MAX_WALK = 1e4  # log-odds over the whole time


class DynamicBradleyTerry(FeatureScores, Ranker):
    """Rank items whose strength changes: scores now, or at any time, with the curve of each.

    The chance that i beats j at time t is 1 / (1 + exp(s_j(t) − s_i(t))). Each s_i starts at N(0, sd²) when the item is
    first compared and then walks: its change over a time h is N(0, drift²·h). All scores at all times are found at once
    (whole-history rating, Coulom 2008), so that later votes also tell of earlier strength. With drift = 0 this is
    `BradleyTerry` with a penalty of 1/(2 sd²).

    With features x_i of the items a score is x_i·w plus such a walk, as in `RABF`: features say where an item begins,
    and it walks away from there. An item without votes is ranked by its features alone, with a newcomer's uncertainty.
    With drift = 0 this is `RABF` with a residual penalty of 1/(2 sd²).

    Needs votes with times (`time=`). Dates and timestamps count by the day: votes of one day share a score, and drift
    is per day. A weight is a number of votes.

    Parameters
    ----------
    drift : float or "auto"
        Standard deviation, in log-odds, of the change of a score over one unit of time (a day, for dates). "auto" takes
        it from the votes by marginal likelihood; errors and bands then also carry what the votes leave open about it.
    sd : float or "auto"
        Standard deviation of the scores of newcomers (with features, around what these say); "auto" as for `drift`.
        With "auto" in either, chances allow for how well scores are known.
    feature_penalty : positive float or "auto"
        Penalty λ of the weights w, λ‖w‖²; "auto" as for `drift`, with the weak prior of `RABF`.
    ties : "half" or "davidson"
        Count a tie as half a win for both, or model it, as `BradleyTerry` does.
    side_effect : bool
        Estimate the advantage of the left side (home advantage), the same at all times. With `sd="auto"` it is found
        without the prior of newcomers' scores, which would credit the side with what is due to better items that stand
        there more often (see `BradleyTerry`), and scores are found around it; with a number, together with them.
    at : number, date or text, optional
        The time that `ranking_` is of; by default that of the last vote.
    standardize, missing, one_hot : how features are treated, as in `RABF`
    scale : "log-odds" or "elo"
    max_iter : int
        Newton steps allowed before `ConvergenceError`.
    tol : float
        How far a score may be from the optimum, in log-odds.

    Attributes
    ----------
    ranking_ : Ranking
        Scores at `at`; items that had not been compared by then are left out. Those that only features know are in
        it where it is of the last vote or later.
    drift_, sd_ : float
        As given, or as found from the votes; a drift of 0 says that the votes show none.
    log_evidence_ : float
        Log marginal likelihood of the votes (Laplace's approximation) at these.
    coef_, coef_std_errors_, feature_names_ : weights w, in log-odds per unit of the feature
    feature_penalty_ : the penalty of w used; None without features
    feature_std_ : standard deviation of each feature over the ranked items
    residuals_ : what features do not explain of the scores of `ranking_`, in log-odds, aligned with its items
    explained_ : share of the variance of the compared items' scores in `ranking_` that features explain
    unseen_ : items that no vote mentions
    side_effect_, tie_strength_ : as those of `BradleyTerry`
    n_iter_, converged_ : of Newton's method

    Examples
    --------
    >>> winner, loser = ["tea"] * 6 + ["milk"] * 6, ["milk"] * 6 + ["tea"] * 6
    >>> votes = Comparisons.from_arrays(winner, loser, time=range(12))
    >>> model = DynamicBradleyTerry(drift=0.5, sd=1.0).fit(votes)
    >>> model.ranking_.order, model.ranking_at(0).order
    (('milk', 'tea'), ('tea', 'milk'))

    A drink that nobody has compared yet, placed by how warm it is:

    >>> warm = {"tea": [60], "milk": [10], "cocoa": [70]}
    >>> model = DynamicBradleyTerry(drift=0.1, sd=1.0, feature_penalty=0.1).fit(votes.take(range(8)), features=warm)
    >>> model.ranking_.order, model.unseen_
    (('cocoa', 'tea', 'milk'), ('cocoa',))
    """

    uses = Uses(features=True, sides=True, ties=True, time=True)
    state_version = 4  # 3 since errors are averaged over drifts, 4 since the side is found without the scores' prior

    @classmethod
    def upgraded(cls, state: dict[str, Any], version: int) -> dict[str, Any]:
        """Version 1 knew no features, version 2 no other drifts, version 3 no effect held."""
        treatment = {"feature_penalty": "auto", "standardize": True, "missing": "error", "one_hot": False}
        if "_scores" not in state:
            return treatment | state
        table = np.empty((len(state["_history"]["items"]), 0))
        return treatment | NO_FEATURES | {"_table": table, "_drifts": [], "_held": None} | state

    def __init__(
        self,
        *,
        drift: float | str = "auto",
        sd: float | str = "auto",
        feature_penalty: float | str = "auto",
        ties: str = "half",
        side_effect: bool = False,
        at: float | str | datetime.date | None = None,
        standardize: bool = True,
        missing: str = "error",
        one_hot: bool = False,
        scale: str = "log-odds",
        max_iter: int = 100,
        tol: float = 1e-6,
    ) -> None:
        self.drift = drift
        self.sd = sd
        self.feature_penalty = feature_penalty
        self.ties = ties
        self.side_effect = side_effect
        self.at = at
        self.standardize = standardize
        self.missing = missing
        self.one_hot = one_hot
        self.scale = scale
        self.max_iter = max_iter
        self.tol = tol

    def fit(self, comparisons: Comparisons, features: Any = None, *, id: str | None = None) -> Self:
        """Find the scores of all items at all times, and where asked to, how fast they move.

        `features` (and `id`) are as in `RABF.fit`: an array with a row for each of `comparisons.items`, or a frame or
        mapping by label, which may hold more items.
        """
        self._check(comparisons)
        history = history_of(comparisons)
        if self.ties == "davidson" and not (history["wins"].any() or history["losses"].any()):
            raise InputError(
                "every vote is a tie: ", Option("ties", "davidson"), " cannot tell the items apart; use ",
                Option("ties", "half"),
            )  # fmt: skip
        labels, table, spec = tuple(comparisons.items), np.empty((len(comparisons.items), 0)), FeatureSpec((), ())
        if features is not None:
            treatment: dict[str, Any] = {"missing": self.missing, "one_hot": self.one_hot}
            labels, matrix, spec = read_features(features, comparisons.items, id=id, sparse=True, **treatment)
            table = written_out(matrix)
        self._history, self._table, self._spec = with_items(history, labels), table, spec
        self._time_is = comparisons.time_is
        self.idle_features_: tuple[str, ...] = ()
        if spec.names:
            self.idle_features_ = warn_of_columns(table[self._met()], spec.names, len(comparisons))
        self._held = self._held_effect(0.0)
        search, spreads = self._searched()
        if self._held is not None and spreads.drift:
            self._held = self._held_effect(spreads.drift)
            before, search = search, self._search_in(False)
            search.scores, search.extras = before.scores, before.extras
        self._drifts = self._possible_drifts(search, spreads)
        self._settle(search, spreads)
        return self._fitted_to(comparisons)

    def partial_fit(self, comparisons: Comparisons, features: Any = None, *, id: str | None = None) -> Self:
        """Go on with further votes: the whole history is fitted anew, from the scores there are and at their drift.

        `features` are needed for items not known yet, where the model has features.
        """
        if not self.__sklearn_is_fitted__():
            return self.fit(comparisons, features, id=id)
        self._check(comparisons)
        if comparisons.time_is != self._time_is:
            raise InputError("the votes before have times of another kind (dates or numbers); give these alike")
        before, known = self._posterior, len(self._history["items"])
        history = joined_history(self._history, history_of(comparisons))
        self._history, self._table = self._with_newcomers(history, tuple(comparisons.items), features, id)
        self._held = self._held_effect(self.drift_)
        search = self._search_in(self.drift_ == 0.0)
        if search.model.weights == before.model.weights:  # else more items make more directions of a wide table
            item = search.model.walks.item.astype(np.int64)
            at = before.points(np.where(item < known, item, -1), search.model.walks.time)
            search.scores = before.walked(at)
            if len(self._extras) == search.model.effects:  # else the first tie has come
                search.extras = search.model.searched(self._extras)
        self._settle(search, Spreads(self.drift_, self.sd_, self._weight_sd))
        return self._fitted_to(comparisons)

    def _with_newcomers(
        self, history: dict[str, Any], items: tuple[Hashable, ...], features: Any, id: str | None
    ) -> tuple[dict[str, Any], Floats]:
        """The history and the table of features, with those of items that are not in it yet."""
        new = history["items"][len(self._table) :]
        if not self._spec.names:
            if features is not None:
                raise InputError("the model was fitted without features; leave them out, or fit anew with them")
            return history, np.empty((len(history["items"]), 0))
        if features is None:
            if new and self._spec.means is None:
                raise InputError(f"{few(new)}: not known yet, so partial_fit needs features of it")
            rows = np.tile(self._spec.means, (len(new), 1)) if new else np.empty((0, len(self._spec.names)))  # type: ignore[arg-type]
            return history, np.vstack([self._table, rows])
        by_place = isinstance(features, np.ndarray | list | tuple) or is_sparse(features)
        listed = items if by_place or not new else new  # a table may hold newcomers only
        labels, matrix = self._spec.read_of(features, listed, id)
        rows = written_out(matrix)
        place = {item: k for k, item in enumerate(self._history["items"])}
        fresh = [k for k, label in enumerate(labels) if label not in place]
        everyone = (*self._history["items"], *(labels[k] for k in fresh))
        return with_items(history, everyone), np.vstack([self._table, rows[fresh]])

    def _met(self) -> NDArray[np.bool_]:
        """Which items have votes."""
        met = np.zeros(len(self._history["items"]), dtype=bool)
        met[self._history["left"]] = met[self._history["right"]] = True
        return met

    def _check(self, c: Comparisons) -> None:
        as_comparisons(c)
        if not (isinstance(self.drift, str) and self.drift == "auto"):
            number_option("drift", self.drift, least=0, more=", or 'auto'")
        if not (isinstance(self.sd, str) and self.sd == "auto"):
            self._within("sd", number_option("sd", self.sd, above=0, more=", or 'auto'"), *SD_RANGE)
        if not (isinstance(self.feature_penalty, str) and self.feature_penalty == "auto"):
            value = number_option("feature_penalty", self.feature_penalty, above=0, more=", or 'auto'")
            self._within("feature_penalty", value, *PENALTY_RANGE)
        choice_option("missing", self.missing, ("error", "mean"))
        for name in ("standardize", "one_hot"):
            flag_option(name, getattr(self, name))
        number_option("tol", self.tol, above=0)
        number_option("max_iter", self.max_iter, least=1, whole=True)
        choice_option("ties", self.ties, ("half", "davidson"))
        choice_option("scale", self.scale, tuple(SCALES))
        if c.time is None:
            raise InputError(
                "scores that move need votes with times, and these have none; name their column by ",
                Option("time", column=True),
            )
        span = math.sqrt(float(np.ptp(c.time)))
        if not isinstance(self.drift, str) and self.drift * span > MAX_WALK:
            raise InputError(
                Option("drift", self.drift), f": a walk of over {MAX_WALK:g} log-odds from the first to the last vote; "
                "give a smaller drift for one unit of time",
            )  # fmt: skip
        if self.at is not None:
            self._moment(self.at, c.time_is, float(c.time.min()))
        if flag_option("side_effect", self.side_effect) and not c.sided:
            raise InputError(
                Option("side_effect", True),
                " needs votes that say which item stood on which side: give left, right and outcome "
                "rather than winner and loser",
            )

    @staticmethod
    def _within(name: str, value: float, least: float, most: float) -> None:
        if not least <= value <= most:
            raise InputError(Option(name, value), f": it must lie between {least:g} and {most:g}")

    @staticmethod
    def _moment(at: Any, kind: str, first: float) -> float:
        """A time that a user names, as the votes count it."""
        found = moment(at, kind)
        if found is None:
            wanted = "a date as 2024-05-31" if kind == "date" else "a number"
            raise InputError(Option("at", at), f": it must be a time as those of the votes, {wanted}")
        found, first = (float(by_day(np.array(each), kind)) for each in (found, first))
        if found < first:
            raise InputError(Option("at", at), f" is before the first vote, {_told(first, kind)}; no scores are there")
        return found

    # ---- fitting --------------------------------------------------------------------------------------------

    def _search_in(self, still: bool) -> Search:
        features = WalkFeatures(self._history, self._table, self.standardize) if self._spec.names else None
        held = None if self._held is None else Held(*self._held)
        model = WalkModel(self._history, self.ties, bool(self.side_effect), still, features, held)
        span = 0.0 if still else float(np.ptp(self._history["time"]))
        return Search(model, span, float(self.tol), int(self.max_iter))

    def _held_effect(self, drift: float) -> tuple[float, float] | None:
        """The advantage of the left side and its variance, found without the prior of newcomers' scores.

        None where it is found together with the scores.
        """
        if not self.side_effect or not isinstance(self.sd, str):
            return None
        held = side_effect(self._history, self.ties, drift, int(self.max_iter))
        return None if held is None else (held.effect, held.variance)

    def _searched(self) -> tuple[Search, Spreads]:
        """The drift and the spreads: those given, or those that make the votes most likely."""
        drift = None if isinstance(self.drift, str) else float(self.drift)
        sd = None if isinstance(self.sd, str) else float(self.sd)
        weight_sd = None if isinstance(self.feature_penalty, str) else (2.0 * float(self.feature_penalty)) ** -0.5
        still = drift == 0.0 or float(np.ptp(self._history["time"])) == 0.0
        search = self._search_in(still)
        if still or drift is not None:
            return search, search.best(Spreads(0.0 if still else drift, sd, weight_sd))[0]
        walking, evidence = search.best(Spreads(None, sd, weight_sd))
        none = self._search_in(True)
        standing, then = none.best(Spreads(0.0, sd, weight_sd))
        # Two searches may end a little apart: what counts is whether the same spreads explain as much without a walk.
        again = self._search_in(True)
        then = max(then, again.prior_and_evidence(walking._replace(drift=0.0), Spreads(0.0, sd, weight_sd)))
        if then >= evidence - 1e-6 * abs(evidence):  # a walk that explains no more is none
            return none, standing
        return search, walking

    def _possible_drifts(self, search: Search, spreads: Spreads) -> list[tuple[float, float]]:
        """Drifts that the votes leave possible, with their shares; empty where one is given, or nothing can move."""
        if not isinstance(self.drift, str) or float(np.ptp(self._history["time"])) == 0.0:
            return []
        if spreads.drift:
            return search.drifts(spreads)
        return self._search_in(False).drifts_beside_none(spreads, self._search_in(True).evidence(spreads))

    def _settle(self, search: Search, spreads: Spreads) -> None:
        """Find the optimum and set what was learned."""
        found = search.fit(spreads)
        if not found.converged:
            steps = counted(found.n_iter, "Newton step")
            raise ConvergenceError(
                f"no optimum in {steps}; look for scores without an end",
                InPython(" (or max_iter=, tol=)"),
            )
        self.drift_, self.sd_ = float(spreads.drift or 0.0), float(spreads.sd or 0.0)
        self.n_iter_, self.converged_ = found.n_iter, True
        self._kept = WalkPosterior(search.model, found, self.drift_, self.sd_, self._at_other_drifts)
        self._scores, self._extras = found.scores, self._kept.point.extras
        self._keep_features(search.model, spreads.weight_sd)
        self._moved()
        self.ranking_ = self.ranking_at(self.at)
        if abs(self.side_effect_) > SEPARATES:
            warnings.warn(
                f"the side separates the votes (almost) perfectly: its effect {self.side_effect_:.3g} has no finite "
                "optimum; leave it out, or look for a leak",
                SeparationWarning,
                stacklevel=3,
            )

    def _keep_features(self, model: WalkModel, weight_sd: float | None) -> None:
        """What features were found to be worth, in the user's units."""
        kept = {name: value for name, value in NO_FEATURES.items() if name not in ("_spec", "idle_features_")}
        vars(self).update(kept)
        if model.features is None or weight_sd is None:
            return
        self.feature_penalty_, self.feature_std_ = float(0.5 / weight_sd**2), model.features.feature_std
        self._columns = ("side",) * bool(self.side_effect) + ("tie",) * model.loss.own
        self._keep_weights(model.features, self._extras[: model.weights], 0.0)
        if not self.standardize:
            self._origin = float(self._mean @ self.coef_)

    @property
    def _weight_sd(self) -> float:
        """Standard deviation of the weights before the votes; 1 where there are none."""
        return 1.0 if self.feature_penalty_ is None else 1.0 / math.sqrt(2.0 * self.feature_penalty_)

    @property
    def _posterior(self) -> WalkPosterior:
        """Follows from the state, and is not stored with it."""
        if "_kept" not in vars(self):
            model = self._search_in(self.drift_ == 0.0).model
            precision = model.precision(self.drift_, self.sd_, self._weight_sd)
            found = solution_at(model.rows, model.loss, precision, self._scores, model.searched(self._extras))
            self._kept = WalkPosterior(model, found, self.drift_, self.sd_, self._at_other_drifts)
        return self._kept

    def _at_other_drifts(self) -> list[tuple[float, WalkPosterior]]:
        """The posterior at each drift that the votes leave possible, with its share."""
        drifts: list[tuple[float, float]] = self._drifts
        if not drifts:
            return []
        parts, moving = [], self._search_in(False)
        moving.extras = moving.model.searched(self._extras)
        if self.drift_:
            moving.scores = self._scores
        for drift, share in drifts:
            search = moving if drift else self._search_in(True)
            found = search.fit(Spreads(drift, self.sd_, self._weight_sd))
            parts.append((share, WalkPosterior(search.model, found, drift, self.sd_)))
        return parts

    def __getstate__(self) -> dict[str, Any]:
        """The rows of the history and the scores, not what follows from them."""
        return {name: value for name, value in super().__getstate__().items() if name != "_kept"}

    def __sklearn_is_fitted__(self) -> bool:
        return "_scores" in vars(self)

    # ---- what was learned -----------------------------------------------------------------------------------

    @property
    def credible_intervals_(self) -> bool:
        """Intervals and bands are the posterior's."""
        return True

    @property
    def side_effect_(self) -> float:
        """Advantage of the left side, in log-odds; 0 where it was not estimated."""
        self._check_fitted()
        return float(self._extras[self._posterior.model.weights]) if self.side_effect else 0.0

    @property
    def tie_strength_(self) -> float | None:
        """Davidson's ν; None with `ties="half"`."""
        self._check_fitted()
        if self.ties == "half":
            return None
        return math.exp(self._extras[-1]) if self._history["ties"].any() else 0.0

    @property
    def log_evidence_(self) -> float:
        """Log marginal likelihood of the votes, by Laplace's approximation, at this drift and spread."""
        self._check_fitted()
        return self._posterior.log_evidence()

    @property
    def effect_std_errors_(self) -> Floats:
        """Standard errors of the side effect and of log ν, where they were estimated, from the joint Hessian."""
        self._check_fitted()
        posterior = self._posterior
        errors: Floats = np.sqrt(posterior.effect_covariance().diagonal()[posterior.model.weights :])
        return errors

    def _tie_error(self) -> float | None:
        return float(self.effect_std_errors_[-1])

    def _untied_votes(self) -> tuple[Floats, Floats] | None:
        h, posterior = self._history, self._posterior
        one, other = (posterior.points(h[side], h["time"]) for side in ("left", "right"))
        return posterior.margins(one, other, True), h["wins"] + h["losses"]

    def _extra_covariance(self) -> Floats:
        return self._posterior.effect_covariance()

    def _residual_variance(self) -> float:
        return self.sd_**2

    @property
    def unseen_(self) -> tuple[Hashable, ...]:
        """Items that no vote mentions."""
        self._check_fitted()
        return tuple(self._history["items"][k] for k in np.flatnonzero(~self._met()).tolist())

    def _placed_items(self) -> tuple[NDArray[np.int64], Points]:
        """The items of `ranking_`, and where their scores are read."""
        when = self.times_[1] if self.at is None else self._moment(self.at, self._time_is, self.times_[0])
        item = self._compared_by(when)
        return item, self._posterior.points(item, np.full(len(item), when))

    @property
    def residuals_(self) -> Floats:
        """What features do not explain of the scores of `ranking_`, in log-odds."""
        self._check_fitted()
        return self._posterior.walked(self._placed_items()[1])

    @property
    def explained_(self) -> float:
        """Share of the variance of the compared items' scores in `ranking_` that features explain."""
        self._check_fitted()
        item, points = self._placed_items()
        met = self._met()[item]
        parts = np.var(self._posterior.explained[item[met]]), np.var(self._posterior.walked(points)[met])
        return float(parts[0] / (parts[0] + parts[1])) if parts[0] > 0 else 0.0

    def predict(self, features: Any, return_std: bool = False) -> Floats | tuple[Floats, Floats]:
        """Scores of newcomers from their features, in the unit of `ranking_`: an array or a frame, a row per item.

        With `return_std` also their standard deviations: of the weights, and of what features cannot know of an item.
        """
        self._check_fitted()
        if not self._spec.names:
            raise InputError("the model was fitted without features, so none can be predicted from; fit with them")
        unit, origin = SCALES[self.scale]
        if not return_std:
            return np.asarray(origin + unit * np.asarray(super().predict(features)))
        scores, deviations = super().predict(features, return_std=True)
        return np.asarray(origin + unit * scores), np.asarray(unit * deviations)

    @property
    def times_(self) -> tuple[float, float]:
        """The first and the last time of the votes, dates as days since 1970."""
        self._check_fitted()
        return float(self._history["time"].min()), float(self._history["time"].max())

    def ranking_at(self, at: Any = None) -> Ranking:
        """The ranking at a time: of the items compared by then, with errors from the joint Hessian of all times."""
        self._check_fitted()
        first, last = self.times_
        when = last if at is None else self._moment(at, self._time_is, first)
        posterior, item = self._posterior, self._compared_by(when)
        points = posterior.points(item, np.full(len(item), when))
        unit, origin = SCALES[self.scale]
        note = None if at is None else f"scores as of {_told(when, self._time_is)}"
        information = None
        if len(item) <= MAX_ITEMS_WITH_ERRORS:
            information = partial(posterior.information, points)
        else:
            note = f"{len(item):,} items are too many for the errors of all; curves(items) has those of some"
        return Ranking(
            [self._history["items"][k] for k in item.tolist()],
            origin + unit * settled(self._origin + posterior.scores(points), self.tol),
            information=information,
            posterior=information,
            unit=unit,
            record=partial(self._record, when, item),
            note=note,
        )

    def _compared_by(self, when: float) -> NDArray[np.int64]:
        """The items that had votes by a time; at the last, all."""
        n = len(self._history["items"])
        return np.flatnonzero(self._posterior.model.since <= when) if when < self.times_[1] else np.arange(n)

    def _record(self, when: float, item: NDArray[np.int64]) -> tuple[Floats, Floats, Floats]:
        """Wins, losses and ties by a time."""
        h, n = self._history, len(self._history["items"])
        then = h["time"] <= when

        def per_item(of_left: Floats, of_right: Floats) -> Floats:
            total = np.bincount(h["left"], of_left * then, n) + np.bincount(h["right"], of_right * then, n)
            return np.asarray(total[item], dtype=np.float64)

        wins, losses = per_item(h["wins"], h["losses"]), per_item(h["losses"], h["wins"])
        return wins, losses, per_item(h["ties"], h["ties"])

    def curves(
        self, items: Collection[Hashable] | None = None, *, points: int = 60, level: float = 0.95
    ) -> pl.DataFrame:
        """Scores over time: a frame of item, time, score, lower and upper, at `points` times from first to last.

        Bounds are relative to the mean of the items compared by then, as those of the table, which the last point is.
        An item begins where it was first compared.
        """
        import polars as pl

        self._check_fitted()
        points = int(number_option("points", points, least=1, whole=True))
        width, known = quantile(level), self._history["items"]
        chosen = self._chosen_items(items)
        times = np.linspace(*self.times_, points)[: points if points > 1 else 0]
        times = np.unique(by_day(np.append(times, self.times_[1]), self._time_is))
        unit, origin = SCALES[self.scale]
        frames = []
        for when in times.tolist():
            seen = self._compared_by(when)
            rows = np.flatnonzero(np.isin(seen, chosen))
            at = self._posterior.points(seen, np.full(len(seen), when))
            scores = self._origin + self._posterior.scores(at)[rows]
            half = width * np.sqrt(self._posterior.centred_variances(at, rows)) if len(rows) else scores
            values = {"score": scores, "lower": scores - half, "upper": scores + half}
            named = {"item": [known[k] for k in seen[rows].tolist()]}
            moments = {"time": shown_times(np.full(len(rows), when), self._time_is)}
            frames.append(pl.DataFrame(named | moments | {k: origin + unit * v for k, v in values.items()}))
        frame = pl.concat([frame for frame in frames if frame.height])
        place = {known[k]: number for number, k in enumerate(chosen.tolist())}
        order = np.argsort([place[item] for item in frame["item"].to_list()], kind="stable")
        return frame[order]

    def _chosen_items(self, items: Collection[Hashable] | None) -> NDArray[np.int64]:
        """Places of the items a user lists, or of all, best first."""
        met = self._met()
        place = {item: k for k, item in enumerate(self._history["items"]) if met[k]}
        if isinstance(items, str) or not isinstance(items, Collection | None):
            raise InputError(f"items must be a list of items, not {type(items).__name__}")
        listed = [item for item in self.ranking_at().order if item in place] if items is None else list(items)
        for item in listed:
            if not isinstance(item, Hashable) or item not in place:
                raise InputError(f"{item!r} was never compared, so there is no curve of it; {len(place)} items were")
        if not listed:
            raise InputError("items: none is listed; name some, or leave it out for all")
        return np.array([place[item] for item in dict.fromkeys(listed)], dtype=np.int64)

    # ---- chances --------------------------------------------------------------------------------------------

    def predict_proba(self, comparisons: Comparisons) -> Floats:
        """Chances that the left item of each row wins, ties and loses, at the time of the row: (rows, 3).

        Rows without times are taken to be at the last time of the votes. An item not compared by then is a newcomer.
        With `drift` or `sd` from the votes, chances allow for how well the scores are known. With `ties="half"` a win
        is a win plus half a tie, and so is a loss.
        """
        c = as_comparisons(comparisons, "predict_proba")
        self._check_fitted()
        margins = self._margins(c)
        chosen = [self.drift, self.sd, *([self.feature_penalty] if self._spec.names else [])]
        if not any(isinstance(each, str) for each in chosen):
            return np.stack(self._outcomes(margins), axis=1)
        variance = self._posterior.margin_variances(*self._placed(c), c.sided, over_drifts=False)
        if not self.tie_strength_:
            return np.stack(logistic(mean_chance_margin(margins, variance)), axis=1)
        nodes, shares = np.polynomial.hermite_e.hermegauss(NODES)
        each = [np.stack(self._outcomes(margins + np.sqrt(variance) * node), axis=1) for node in nodes]
        return np.asarray(np.tensordot(shares / shares.sum(), np.array(each), axes=1), dtype=np.float64)

    def _placed(self, c: Comparisons) -> tuple[Points, Points]:
        """Where the scores of both sides are read."""
        if c.time is not None and c.time_is != self._time_is:
            raise InputError("the model's times are of another kind (dates or numbers); give these alike")
        time = np.full(len(c.left), self.times_[1]) if c.time is None else by_day(c.time, c.time_is)
        place = {item: k for k, item in enumerate(self._history["items"])}
        codes = np.array([place.get(item, -1) for item in c.items], dtype=np.int64)
        return self._posterior.points(codes[c.left], time), self._posterior.points(codes[c.right], time)

    def _margins(self, c: Comparisons) -> Floats:
        one, other = (self._posterior.scores(points) for points in self._placed(c))
        margins: Floats = one - other + (self.side_effect_ if c.sided else 0.0)
        return margins

    def _margin_errors(self, c: Comparisons) -> Floats:
        return self._posterior.margin_variances(*self._placed(c), c.sided)

    def _margin_covariance(self, c: Comparisons) -> Floats:
        return self._posterior.margin_covariance(*self._placed(c), c.sided)

    def _outcomes(self, margins: Floats) -> tuple[Floats, Floats, Floats]:
        if not self.tie_strength_:
            return logistic(margins)
        return davidson(margins, self.tie_strength_)


def _told(when: float, kind: str) -> str:
    """A time in words."""
    return f"{when:g}" if kind == "number" else str(shown_times(np.array([when]), kind)[0])
