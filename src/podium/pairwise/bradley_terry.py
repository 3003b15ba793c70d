"""Bradley-Terry: scores that make the observed wins most likely."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from numbers import Real
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from podium.data.comparisons import Comparisons, as_comparisons
from podium.data.kept import KeptComparisons
from podium.data.pairs import Adjacency
from podium.data.tables.times import duration
from podium.data.validation import flag_option, number_option
from podium.errors import InputError, InPython, Option
from podium.pairwise._fit.bias import MAX_ITEMS
from podium.pairwise._fit.kept_model import KeptModel
from podium.pairwise._fit.strength_model import StrengthModel
from podium.pairwise.base import Ranker, Uses, davidson, logistic
from podium.ranking.ranking import Ranking
from podium.ranking.ranks import settled
from podium.ranking.uncertainty import (
    extra_std_errors,
    full_covariance,
    mean_chance_margin,
)

__all__ = ["BradleyTerry", "common_sd"]

Floats = NDArray[np.float64]

NODES = 20  # of a mean over the posterior
MAX_ITEMS_WITH_ERRORS = 2000  # of which the errors of chances take a matrix
SCALES = {"log-odds": (1.0, 0.0), "elo": (400.0 / math.log(10.0), 1000.0)}


class BradleyTerry(Ranker):
    """Rank items by penalised Bradley-Terry likelihood.

    The chance that i beats j is 1 / (1 + exp(s_j − s_i)). `fit` finds the scores s that minimise

        Σ weight · log-loss  +  l2 · ‖s‖²

    Votes that carry covariates (left minus right) and, with `side_effect`, the advantage of the left side, enter
    the margin s_i − s_j and are estimated along with the scores, unpenalised. With `l2="auto"` their effects are those
    of the likelihood, with Firth's correction where votes a parameter are few, and scores are found around them: the
    penalty would credit a covariate with what is due to better items that have more of it.

    Parameters
    ----------
    l2 : float or "auto"
        Pull towards zero. "auto" takes it from the votes: scores are draws from N(0, s²), l2 = 1/(2s²), with the s that
        the votes speak for (see the attribute `sd_`). Score intervals stay those of the likelihood; ranks, chances and
        probabilities are the posterior's. A small number, as 1e-3, is close to the plain likelihood. With 0, some data
        have no finite optimum; `fit` then says so.
    ties : "half" or "davidson"
        Count a tie as half a win for both, or model it: Davidson (1970), with one more parameter ν.
    side_effect : bool
        Estimate the advantage of being shown on the left; needs votes that say which side was which.
    bias_reduction : bool
        Firth's correction (1993), as `br=TRUE` of R's BradleyTerry2: with few votes a parameter, likelihood exaggerates
        scores and effects, this does not, and an item that only won has a finite score. For `l2` that is a number,
        usually 0; "auto" corrects effects by itself where votes are few. Up to 2,000 items.
    anchor : (item, score) or {item: score}, optional
        Shift all scores so that this item has this score; without, the mean of the items with bounded scores is 0 (1000
        on the Elo scale). Intervals do not change.
    scale : "log-odds" or "elo"
        Elo is 1000 + 400 / ln 10 · log-odds: 400 points are odds of ten to one.
    half_life : float or text, optional
        Let a vote weigh half as much for every such time that it is older than the last one; needs votes with times. A
        number is in their unit (days, for dates); with dates, text as "90d", "12w" or "1y" too.
    max_iter : int
        Sweeps or Newton steps allowed before `ConvergenceError`.
    tol : float
        How far a score may be from the optimum, in log-odds.

    Attributes
    ----------
    ranking_ : Ranking
    l2_ : float
        The penalty used. Weights that are not counts enter "auto" as w·Σw/Σw².
    sd_ : float or None
        With "auto" the standard deviation s of the true scores, in log-odds.
    n_iter_, converged_, solver_ : how the optimum was found: "coordinate", "dense", "banded" or "pcg"
    side_effect_, side_effect_std_error_ : float, in log-odds; 0 and None without `side_effect`
    tie_strength_ : float
        Davidson's ν; a tie between equals has chance ν / (2 + ν). None with `ties="half"`.
    coef_, coef_std_errors_, covariate_names_ : effects of the covariates, in log-odds per unit
    effects_ : names of what was estimated beside the scores
    n_votes_, n_parameters_, aic_, bic_ : votes, parameters and, with `l2=0`, Akaike's and Schwarz's criterion
    votes_per_parameter_ : float
        Votes over scores and effects estimated. Below about 10, effects at a fixed small `l2` are too large.

    Examples
    --------
    >>> votes = Comparisons.from_pairs([("tea", "milk"), ("tea", "milk"), ("milk", "tea"), ("tea", "milk")])
    >>> model = BradleyTerry(l2=0).fit(votes)
    >>> round(model.win_probability("tea", "milk"), 4)
    0.75
    """

    uses = Uses(covariates=True, sides=True, ties=True, time=True)
    state_version = 3  # 2 since bias reduction, 3 since half-lives

    @classmethod
    def upgraded(cls, state: dict[str, Any], version: int) -> dict[str, Any]:
        """Version 1 knew no bias reduction, nor how many votes there were for a parameter, version 2 no half-life."""
        if version >= 2:
            return {"half_life": None} | state
        unknown = {"votes_per_parameter_": math.nan, "n_votes_": math.nan, "_n_parameters": 0, "_counted": False}
        return {"bias_reduction": False, "half_life": None} | unknown | state

    def __init__(
        self,
        *,
        l2: float | str = "auto",
        ties: str = "half",
        side_effect: bool = False,
        bias_reduction: bool = False,
        anchor: tuple[Hashable, float] | Mapping[Hashable, float] | None = None,
        scale: str = "log-odds",
        half_life: float | str | None = None,
        max_iter: int = 500,
        tol: float = 1e-6,
    ) -> None:
        self.l2 = l2
        self.ties = ties
        self.side_effect = side_effect
        self.bias_reduction = bias_reduction
        self.anchor = anchor
        self.scale = scale
        self.half_life = half_life
        self.max_iter = max_iter
        self.tol = tol

    def fit(
        self,
        comparisons: Comparisons | KeptComparisons,
        *,
        sd: float | None = None,
        centre: Mapping[Hashable, float] | None = None,
        engine: Any = None,
    ) -> Self:
        """Find the scores of the items of `comparisons`.

        With l2="auto" the spread `sd` may be given, as one for several groups of votes (see `common_sd`), and the
        scores in log-odds around which true ones lie, as those of all groups together.

        `engine`, a `distributed.Client`, keeps the rows of the likelihood in parts on its workers, which sum gradients
        for Newton's method here. That pays for very many rows only (`docs/large.md`); fewer are solved here, with a
        warning that says from how many it would. Votes that `keep_comparisons` left with the workers stay there.
        """
        if isinstance(comparisons, KeptComparisons):
            return self._fit_kept(comparisons, sd, centre, engine)
        self._check(comparisons)
        auto, given = self.l2 == "auto", comparisons
        if self.half_life is not None:
            comparisons = comparisons.aged(duration("half_life", self.half_life, comparisons.time_is))
        around = self._check_prior(comparisons, auto, sd, centre)
        if not self.bias_reduction or comparisons.adjacency.components.any():
            comparisons.check_connected(None if auto else float(self.l2))
        model = StrengthModel(comparisons, self.ties, self.side_effect, around)
        model.check_design()
        if engine is not None:
            if self.bias_reduction:
                raise InputError(Option("bias_reduction", True), " is for few items, solved here; leave out engine=")
            model.keep_on(engine)
        if auto:
            model.hold_effects(self.max_iter)
            if model.sums is not None:
                model.keep_on(engine)
        prior = model.prior(self.max_iter) if auto and sd is None else None
        self.sd_ = sd if prior is None else prior.sd
        self.l2_ = float(self.l2) if self.sd_ is None else 0.5 / self.sd_**2 / model.votes_per_weight
        found = model.optimum(self.l2_, self.tol, self.max_iter, prior, unbiased=bool(self.bias_reduction))
        model.sums = None  # what is asked later is found here: nobody may be at work there by then
        self.n_iter_, self.solver_, self.converged_ = found.n_iter, found.solver, True
        self._extras = found.extras
        self._columns = model.columns
        self._n_parameters, self.n_votes_, self._counted = model.size
        self.votes_per_parameter_ = model.votes_per_parameter
        scores, note = self._placed(
            settled(model.placed(found).scores, self.tol), comparisons.items, comparisons.adjacency
        )
        clusters = ("cluster", "ranking") if comparisons.group_is == "ranking" else ("auto", None)
        self.ranking_ = Ranking(
            comparisons.items,
            scores,
            information=partial(model.likelihood, found, self.l2_, self.tol, self.max_iter)
            if auto
            else partial(model.information, found, self.l2_),
            posterior=partial(model.posterior, found, self.l2_) if auto else None,
            spreads=None if prior is None else partial(model.spreads, found, prior, self.max_iter),
            unit=SCALES[self.scale][0],
            record=given.record,
            uncertainty=clusters[0],
            cluster=clusters[1],
            note=note,
        )
        model.warn_of_separation(found)
        if not auto and not self.bias_reduction:
            bounded = ~np.logical_or(*comparisons.adjacency.open_ended)
            model.warn_of_penalty(found, self.l2_, bounded)
        return self._fitted_to(given)

    def _fit_kept(self, votes: KeptComparisons, sd: float | None, centre: Any, engine: Any) -> Self:
        """As `fit`, for votes that are not here: their sums are asked for."""
        self._check_kept(votes, sd, centre, engine)
        votes.reach.check_connected(None if sd is not None else float(self.l2))
        model = KeptModel(votes, self.ties, self.side_effect)
        self._n_parameters, self.n_votes_ = model.size
        self.sd_ = sd
        self.l2_ = float(self.l2) if sd is None else 0.5 / sd**2 * votes.weight_sq / votes.weight
        found = model.optimum(self.l2_, self.tol, self.max_iter)
        at = model.sums.point(found.scores, found.extras)
        self.n_iter_, self.solver_, self.converged_ = found.n_iter, found.solver, True
        self._extras, self._columns, self._counted = found.extras, model.columns, model.counted
        self.votes_per_parameter_ = self.n_votes_ / max(self._n_parameters, 1)
        scores, note = self._placed(settled(found.scores, self.tol), votes.items, votes.reach.adjacency)
        self.ranking_ = Ranking(
            votes.items,
            scores,
            information=model.information(found, self.l2_, at),
            unit=SCALES[self.scale][0],
            record=(votes.wins, votes.losses, votes.ties),
            note=note,
        )
        vars(self).pop("_training", None)
        self._moved()
        self._log_likelihood = -at.value
        model.warn_of_separation(found)
        return self

    def _check_kept(self, votes: KeptComparisons, sd: float | None, centre: Any, engine: Any) -> None:
        self._check(votes)
        kept = ", and these votes are kept by workers; read them by read_comparisons"
        if engine is not None:
            raise InputError("these votes are kept by workers already; leave out engine=")
        if self.half_life is not None:
            raise InputError(Option("half_life"), f" needs the time of every vote{kept}")
        if self.bias_reduction:
            raise InputError(Option("bias_reduction", True), f" is for few items{kept}")
        if centre is not None:
            raise InputError(f"centre is about votes that are here{kept}")
        if self.l2 == "auto" and sd is None:
            raise InputError(
                Option("l2", "auto"), " looks at all pairs together, and these votes are kept by workers; set ",
                Option("l2"), " to a number, or give `fit` the standard deviation of the scores",
            )  # fmt: skip
        self._check_prior(votes, self.l2 == "auto", sd, None)

    def _placed(self, scores: Floats, items: Any, adjacency: Adjacency) -> tuple[Floats, str | None]:
        """Scores as they are shown, and what is to be said of their origin."""
        unit, origin = SCALES[self.scale]
        open_ended = np.logical_or(*adjacency.open_ended)
        # An open-ended score is held by the penalty alone, and must not move the others by moving the mean.
        scores = origin + unit * (scores - (scores if open_ended.all() else scores[~open_ended]).mean())
        if self.anchor is None:
            return scores, None
        item, score = _anchor(self.anchor, items)
        place = items.index(item)
        scores += score - scores[place]
        note = f"{item!r} is set to {score:g}, and all scores are shifted alike"
        if open_ended[place] and not open_ended.all():
            note += f"; the votes do not bound {item!r}, so that l2 decides how far: anchor another item"
        return scores, note

    def _check_prior(self, c: Comparisons | KeptComparisons, auto: bool, sd: Any, centre: Any) -> Floats | None:
        """The prior mean of every item, if one is given."""
        if not auto and (sd is not None or centre is not None):
            raise InputError(InPython("sd and centre describe a prior: they need "), Option("l2", "auto"))
        if sd is not None:
            number_option("sd", sd, above=0)
        if centre is None:
            return None
        unknown = [item for item in c.items if item not in centre]
        if unknown:
            raise InputError(f"centre: {unknown[0]!r} has no score there; give one for every item")
        return np.array([float(centre[item]) for item in c.items])

    def _check(self, comparisons: Comparisons | KeptComparisons) -> None:
        if not isinstance(comparisons, KeptComparisons):
            as_comparisons(comparisons)
        if not (isinstance(self.l2, str) and self.l2 == "auto"):
            number_option("l2", self.l2, least=0, more=", or 'auto'")
        number_option("tol", self.tol, above=0)
        number_option("max_iter", self.max_iter, least=1, whole=True)
        if self.ties not in ("half", "davidson"):
            raise InputError(Option("ties", self.ties), " is not known; use 'half' or 'davidson'")
        if self.scale not in tuple(SCALES):
            raise InputError(Option("scale", self.scale), f" is not known; use {' or '.join(map(repr, SCALES))}")
        if self.anchor is not None:
            _anchor(self.anchor, comparisons.items)
        if self.half_life is not None and isinstance(comparisons, Comparisons):
            duration("half_life", self.half_life, comparisons.time_is)
        if flag_option("bias_reduction", self.bias_reduction):
            self._check_bias_reduction(len(comparisons.items))
        if self.side_effect and not comparisons.sided:
            raise InputError(
                Option("side_effect", True),
                " needs votes that say which item stood on which side: give left, right and outcome "
                "rather than winner and loser",
            )

    def _check_bias_reduction(self, items: int) -> None:
        asked = Option("bias_reduction", True)
        if isinstance(self.l2, str):
            raise InputError(
                asked,
                " is for a penalty that is a number; set ",
                Option("l2", 0),
                ", or leave it out: a penalty from the votes does the like",
            )
        if items > MAX_ITEMS:
            raise InputError(asked, f" needs a matrix of all items, up to {MAX_ITEMS:,}; there are {items:,}")

    # ---- what was learned -----------------------------------------------------------------------------------

    def win_probability(self, a: Hashable, b: Hashable) -> float:
        """Chance that `a` beats `b`, with neither side favoured and covariates equal; a tie is not a win."""
        return self._chances(a, b)[0]

    def tie_probability(self, a: Hashable, b: Hashable) -> float:
        """Chance of a tie; 0 unless ties were modelled (`ties="davidson"`)."""
        return self._chances(a, b)[1]

    def _chances(self, a: Hashable, b: Hashable) -> tuple[float, float]:
        self._check_fitted()
        margin = (self.ranking_.score(a) - self.ranking_.score(b)) / self.ranking_.unit
        places = np.array([[self.ranking_.items.index(item)] for item in (a, b)])
        win, tie, _ = self._mean_outcomes(np.array([margin]), self.ranking_.difference_variance(*places))
        return float(win[0]), float(tie[0])

    def predict_proba(self, comparisons: Comparisons) -> Floats:
        """Chances that the left item of each row wins, ties and loses: (rows, 3).

        With a penalty from the votes they allow for how well the scores are known. Covariates and the side enter where
        they were estimated; an item that was not compared stands in the middle. With `ties="half"` a win is a win plus
        half a tie, and so is a loss.
        """
        c = as_comparisons(comparisons, "predict_proba")
        self._check_fitted()
        return np.stack(self._mean_outcomes(self._margins(c), self._margin_variance(c)), axis=1)

    def _margins(self, c: Comparisons) -> Floats:
        side = self.side_effect_ if c.sided else 0.0
        margins: Floats = super()._margins(c) + self._covariate_effects(c, self.coef_) + side
        return margins

    def _margin_variance(self, c: Comparisons) -> Floats:
        """How well margins are known, under a prior from the votes; 0 without one, and for items it has not seen."""
        if self.sd_ is None:
            return np.zeros(len(c.left))
        place = {item: k for k, item in enumerate(self.ranking_.items)}
        codes = np.array([place.get(item, -1) for item in c.items])
        one, other = codes[c.left], codes[c.right]
        known = self.ranking_.difference_variance(np.maximum(one, 0), np.maximum(other, 0))
        return np.where((one >= 0) & (other >= 0), known, 0.0)

    def _margin_covariance(self, c: Comparisons) -> Floats | None:
        covariance = self._joint_covariance()
        if covariance is None:
            return None
        contrasts, unknown = self._contrasts(c, len(covariance) - len(self.ranking_))
        known: Floats = contrasts @ covariance @ contrasts.T
        return known + np.diag(unknown * (self.sd_ or 0.0) ** 2)

    def _margin_errors(self, c: Comparisons) -> Floats | None:
        covariance = self._joint_covariance()
        if covariance is None:
            return None
        contrasts, unknown = self._contrasts(c, len(covariance) - len(self.ranking_))
        variance: Floats = np.sum(contrasts @ covariance * contrasts, axis=1) + unknown * (self.sd_ or 0.0) ** 2
        return np.maximum(variance, 0.0)

    def _joint_covariance(self) -> Floats | None:
        """Covariance of scores and effects, as chances are: the posterior's where there is one."""
        information = self.ranking_.information if self.ranking_.posterior is None else self.ranking_.posterior
        if information is None or len(self.ranking_) > MAX_ITEMS_WITH_ERRORS:
            return None
        kind, cluster = "hessian", None
        if self.ranking_.posterior is None:
            cluster = information.require(self.ranking_.uncertainty, self.ranking_.cluster)
            kind = information.choose(self.ranking_.uncertainty)
            kind = {"bootstrap": "sandwich" if cluster is None else "cluster"}.get(kind, kind)
        return np.asarray(full_covariance(information, kind, cluster), dtype=np.float64)

    def _contrasts(self, c: Comparisons, extras: int) -> tuple[Floats, Floats]:
        """What each margin is of the scores and effects, and how many of its two items were not compared."""
        n, place = len(self.ranking_), {item: k for k, item in enumerate(self.ranking_.items)}
        codes = np.array([place.get(item, -1) for item in c.items])
        contrasts, unknown = np.zeros((len(c.left), n + extras)), np.zeros(len(c.left))
        for sign, side in ((1.0, codes[c.left]), (-1.0, codes[c.right])):
            contrasts[np.flatnonzero(side >= 0), side[side >= 0]] = sign
            unknown += side < 0
        names = self.covariate_names_
        if c.covariates is not None and names:
            contrasts[:, n : n + len(names)] = c.covariates[:, [c.covariate_names.index(name) for name in names]]
        if c.sided and "side" in self._columns:
            contrasts[:, n + self._columns.index("side")] = 1.0
        return contrasts, unknown

    def _mean_outcomes(self, margins: Floats, variance: Floats) -> tuple[Floats, Floats, Floats]:
        """Chances at margins that are only known so well."""
        if not variance.any():
            return self._outcomes(margins)
        if not self.tie_strength_:
            return logistic(mean_chance_margin(margins, variance))
        nodes, shares = np.polynomial.hermite_e.hermegauss(NODES)
        each = [np.stack(self._outcomes(margins + np.sqrt(variance) * node)) for node in nodes]
        win, tie, loss = np.tensordot(shares / shares.sum(), np.array(each), axes=1)
        return win, tie, loss

    def _outcomes(self, margins: Floats) -> tuple[Floats, Floats, Floats]:
        return davidson(margins, self.tie_strength_) if self.tie_strength_ else logistic(margins)

    def _chosen(self) -> dict[str, Any]:
        return {"sd": self.sd_}  # what a penalty from the votes came to

    def _extra_errors(self) -> Floats:
        if self.ranking_.posterior is not None and self.ranking_.uncertainty in ("auto", "hessian"):
            return extra_std_errors(self.ranking_.posterior, "hessian")  # effects are those under the prior, too
        information = self.ranking_.information
        assert information is not None
        return extra_std_errors(information, self.ranking_.uncertainty, self.ranking_.cluster)

    @property
    def side_effect_(self) -> float:
        """Advantage of the left side, in log-odds."""
        self._check_fitted()
        return float(self._extras[self._columns.index("side")]) if "side" in self._columns else 0.0

    @property
    def side_effect_std_error_(self) -> float | None:
        """Standard error of `side_effect_`."""
        self._check_fitted()
        return float(self._extra_errors()[self._columns.index("side")]) if "side" in self._columns else None

    @property
    def tie_strength_(self) -> float | None:
        """Davidson's ν."""
        self._check_fitted()
        if self.ties == "half":
            return None
        return math.exp(self._extras[-1]) if "tie" in self._columns else 0.0

    def _tie_error(self) -> float | None:
        return float(self._extra_errors()[-1])

    def _untied_votes(self) -> tuple[Floats, Floats] | None:
        information = self.ranking_.information
        if information is None or not information.has_gradients:
            return None
        left, right, slope, weight, _ = information.vote_gradients()
        margins = (self.ranking_.scores[left] - self.ranking_.scores[right]) / self.ranking_.unit
        if information.vote_extra_gradient is not None:  # the slope times what the vote takes of each effect
            margins = margins + information.vote_extra_gradient @ self._extras / np.where(slope == 0.0, 1.0, slope)
        return margins, weight * information.votes_per_weight

    @property
    def effects_(self) -> tuple[str, ...]:
        """Names of what was estimated beside the scores: covariates, "side", "tie"."""
        self._check_fitted()
        return tuple(name.removeprefix("covariate:") for name in self._columns)

    @property
    def n_parameters_(self) -> int:
        """Scores, less one for each group of items that met, and effects."""
        self._check_fitted()
        return self._n_parameters

    @property
    def aic_(self) -> float:
        """Akaike's criterion, 2·parameters − 2·log-likelihood; only with `l2=0`."""
        self._require_maximum("aic_")
        return 2.0 * self.n_parameters_ - 2.0 * self.log_likelihood_

    @property
    def bic_(self) -> float:
        """Schwarz's criterion, parameters·log(votes) − 2·log-likelihood; only with `l2=0`."""
        self._require_maximum("bic_")
        return self.n_parameters_ * math.log(self.n_votes_) - 2.0 * self.log_likelihood_

    def _require_maximum(self, what: str) -> None:
        """Refuse `what` where the scores are not where the likelihood is largest, or votes are not counted."""
        self._check_fitted()
        if self.l2_ != 0.0 or self.bias_reduction:
            drop = "" if not self.bias_reduction else " and without bias_reduction"
            raise InputError(
                f"{what} is about the maximum of the likelihood; fit with ",
                Option("l2", 0),
                f"{drop}, or compare held-out votes",
            )
        if not self._counted:
            raise InputError(
                f"{what} needs votes that are counts, and these have other weights; compare held-out votes"
            )

    @property
    def covariate_names_(self) -> tuple[str, ...]:
        """Names of the covariates."""
        self._check_fitted()
        return tuple(name.removeprefix("covariate:") for name in self._columns if name.startswith("covariate:"))

    @property
    def coef_(self) -> Floats:
        """Effect of each covariate, in log-odds per unit."""
        count = len(self.covariate_names_)
        return np.array(self._extras[:count])

    @property
    def coef_std_errors_(self) -> Floats:
        """Standard errors of `coef_`."""
        count = len(self.covariate_names_)
        return self._extra_errors()[:count] if count else np.empty(0)


def _anchor(given: Any, items: Any) -> tuple[Hashable, float]:
    pairs = list(given.items()) if isinstance(given, Mapping) else [given]
    if len(pairs) != 1 or not isinstance(pairs[0], tuple) or len(pairs[0]) != 2:
        raise InputError(Option("anchor", given), ": give one item and its score, as (item, score)")
    item, score = pairs[0]
    if item not in items:
        raise InputError(Option("anchor"), f": {item!r} is not among the {len(items)} items that were compared")
    if not (isinstance(score, Real) and math.isfinite(score)):
        raise InputError(Option("anchor"), f": the score of {item!r} is {score}; it must be finite")
    return item, float(score)


def common_sd(
    model: BradleyTerry, groups: Iterable[Comparisons], centre: Mapping[Hashable, float] | None = None
) -> float:
    """The spread of true scores, in log-odds, that several groups of votes speak for together; effects are shared.

    `fit(…, sd=…)` takes it. With `centre` it is the spread around these scores instead of around each group's mean.

    >>> one = Comparisons.from_pairs([("a", "b"), ("b", "a"), ("a", "c"), ("c", "b")])
    >>> alone = BradleyTerry().fit(one).sd_
    >>> common_sd(BradleyTerry(), [one, one]) < alone  # twice the votes for a narrow field
    True
    """
    sets = list(groups)
    apart = [replace(c, items=[(k, item) for item in c.items]) for k, c in enumerate(sets)]
    joined: Comparisons = sum(apart[1:], apart[0])
    around = None
    if centre is not None:
        at = {(k, item): centre[item] for k, c in enumerate(sets) for item in c.items}
        around = np.array([at[item] for item in joined.items])  # type: ignore[index]  # pairs, as named above
    found = StrengthModel(joined, model.ties, model.side_effect, around)
    found.hold_effects(model.max_iter)
    return found.prior(model.max_iter).sd
