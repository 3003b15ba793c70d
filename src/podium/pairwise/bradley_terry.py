"""Bradley-Terry: scores that make the observed wins most likely."""

from __future__ import annotations

import math
import warnings
from collections.abc import Hashable, Iterable, Mapping
from copy import copy
from dataclasses import replace
from functools import cached_property, partial
from numbers import Real
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from podium.data.comparisons import Comparisons, as_comparisons
from podium.data.tables.times import duration
from podium.data.validation import flag_option, number_option
from podium.engine import running
from podium.errors import ConvergenceError, DataWarning, InputError, InPython, Option, PodiumWarning, SeparationWarning
from podium.pairwise._fit.bias import MAX_ITEMS, reduce_bias
from podium.pairwise._fit.likelihoods import DavidsonRows, LogisticRows
from podium.pairwise._fit.prior import Prior, adjacency_rows, choose_prior
from podium.pairwise._fit.row_sums import RowSums, keep_rows, newton_by_sums, rows_that_pay, workers_of
from podium.pairwise._fit.rows import pull_rows
from podium.pairwise._fit.solvers import SEPARATES, Rows, Solution, coordinate_newton, evaluate, newton, penalty_share
from podium.pairwise.base import Ranker, Uses, davidson, logistic
from podium.ranking.ranking import Ranking
from podium.ranking.ranks import settled
from podium.ranking.uncertainty import (
    Information,
    extra_std_errors,
    full_covariance,
    is_determined,
    mean_chance_margin,
)
from podium.text import counted

__all__ = ["BradleyTerry", "common_sd"]

Floats = NDArray[np.float64]

RULES = 0.1  # share by which scores grow per e-fold less of the penalty, from which it is remarked on
PLAIN_L2, LEAST_L2 = 1e-3, 1e-6  # what stands in for no penalty where the votes bound no score, for a hard fit and any
NODES = 20  # of a mean over the posterior
MAX_ITEMS_WITH_ERRORS = 2000  # of which the errors of chances take a matrix
SCALES = {"log-odds": (1.0, 0.0), "elo": (400.0 / math.log(10.0), 1000.0)}


class BradleyTerry(Ranker):
    """Rank items by penalised Bradley-Terry likelihood.

    The chance that i beats j is 1 / (1 + exp(s_j − s_i)). `fit` finds the scores s that minimise

        Σ weight · log-loss  +  l2 · ‖s‖²

    Votes that carry covariates (left minus right) and, with `side_effect`, the advantage of the left side, enter
    the margin s_i − s_j and are estimated along with the scores, unpenalised.

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
        usually 0; with "auto" the penalty does the like. Up to 2,000 items.
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
        comparisons: Comparisons,
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
        warning that says from how many it would.
        """
        self._check(comparisons)
        auto, given = self.l2 == "auto", comparisons
        if self.half_life is not None:
            comparisons = comparisons.aged(duration("half_life", self.half_life, comparisons.time_is))
        around = self._check_prior(comparisons, auto, sd, centre)
        if not self.bias_reduction or comparisons.adjacency.components.any():
            comparisons.check_connected(None if auto else float(self.l2))
        model = _Model(comparisons, self.ties, self.side_effect, around)
        model.check_design()
        if engine is not None:
            if self.bias_reduction:
                raise InputError(Option("bias_reduction", True), " is for few items, solved here; leave out engine=")
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
        unit, origin = SCALES[self.scale]
        scores = settled(model.placed(found).scores, self.tol)
        open_ended = np.logical_or(*comparisons.adjacency.open_ended)
        # An open-ended score is held by the penalty alone, and must not move the others by moving the mean.
        scores = origin + unit * (scores - (scores if open_ended.all() else scores[~open_ended]).mean())
        note = None
        if self.anchor is not None:
            item, score = _anchor(self.anchor, comparisons.items)
            place = comparisons.items.index(item)
            scores += score - scores[place]
            note = f"{item!r} is set to {score:g}, and all scores are shifted alike"
            if open_ended[place] and not open_ended.all():
                note += f"; the votes do not bound {item!r}, so that l2 decides how far: anchor another item"
        clusters = ("cluster", "ranking") if comparisons.group_is == "ranking" else ("auto", None)
        self.ranking_ = Ranking(
            comparisons.items,
            scores,
            information=partial(model.likelihood, found, self.l2_, self.tol, self.max_iter)
            if auto
            else partial(model.information, found, self.l2_),
            posterior=partial(model.posterior, found, self.l2_) if auto else None,
            unit=unit,
            record=given.record,
            uncertainty=clusters[0],
            cluster=clusters[1],
            note=note,
        )
        model.warn_of_separation(found)
        if not auto and not self.bias_reduction:
            model.warn_of_penalty(found, self.l2_, ~open_ended)
        return self._fitted_to(given)

    def _check_prior(self, c: Comparisons, auto: bool, sd: Any, centre: Any) -> Floats | None:
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

    def _check(self, comparisons: Comparisons) -> None:
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
        if self.half_life is not None:
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
        if self.ties == "davidson":
            raise InputError(asked, " does not know of ties as outcomes of their own; use ", Option("ties", "half"))
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
        they were estimated; an item that was not compared stands in the middle.
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
    found = _Model(joined, model.ties, model.side_effect, around)
    return found.prior(model.max_iter).sd


class _Model:
    """The likelihood of one set of votes: which rows, which extra parameters, which way of counting ties."""

    def __init__(self, comparisons: Comparisons, ties: str, side: bool, centre: Floats | None = None) -> None:
        self.comparisons = c = comparisons
        self.sums: RowSums | None = None  # of rows that are kept elsewhere
        self.centre = centre  # of the prior, where it is not 0: what is solved for are deviations from it
        self.columns: tuple[str, ...] = ()
        self.davidson = False
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
        warnings.warn(PodiumWarning(f"{counted(len(rows.left), 'row')} are solved here: {when}"), stacklevel=3)

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
        return found

    def solve(
        self, l2: float, tol: float, max_iter: int, scores: Floats | None = None, extras: Floats | None = None
    ) -> Solution:
        """Go to the optimum, from scores and extra parameters near it if known."""
        c = self.comparisons
        a = c.adjacency
        if not self.columns and self.centre is None and self.sums is None:
            found = coordinate_newton(a, l2, tol, max_iter, scores=scores)
            if found.converged:
                return found
            rows, loss, start, extras = *self._rows(c.covariates is not None), found.scores, None
        else:
            if scores is not None:
                start = scores
            else:
                start = np.zeros(len(a)) if self.centre is not None else coordinate_newton(a, l2, 0.01, 20).scores
            known, extras = extras, np.zeros(len(self.columns))
            if known is not None:
                extras = known
            elif self.davidson:
                tied = float(c.pairs.ties.sum())
                extras[-1] = math.log(2.0 * tied / (float(c.pairs.total.sum()) - tied))
            if self.sums is not None:
                return newton_by_sums(self.sums, l2, tol, max_iter, votes=a.sums[1], scores=start, extras=extras)
            rows, loss = self._rows(c.covariates is not None)
        return newton(rows, loss, l2, tol, max_iter, votes=a.sums[1], scores=start, extras=extras)

    def _corrected(self, l2: float, tol: float, max_iter: int) -> Solution:
        """The optimum of the likelihood with Firth's correction."""
        rows, loss = self._rows(self.comparisons.covariates is not None)
        assert isinstance(loss, LogisticRows), "ties are counted half"
        votes = self.comparisons.adjacency.sums[1]

        def fit(corrected: LogisticRows, near: Solution | None) -> Solution:
            begin = (None, None) if near is None else (near.scores, near.extras)
            return newton(rows, corrected, l2, tol, max_iter, votes=votes, scores=begin[0], extras=begin[1])

        return reduce_bias(rows, loss, fit, l2=l2, tol=tol, worth=self.votes_per_weight)

    @cached_property
    def size(self) -> tuple[int, float, bool]:
        """Parameters, votes, and whether weights are counts."""
        c = self.comparisons
        groups = int(c.adjacency.components.max(initial=0)) + 1
        counted = math.isclose(self.votes_per_weight, 1.0, rel_tol=1e-9)
        return len(c.items) - groups + len(self.columns), self.votes_per_weight * float(c.pairs.total.sum()), counted

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
        return total / squares if squares > 1e-290 else len(p) / total  # squares of tiny weights are nothing

    def prior(self, max_iter: int) -> Prior:
        """The spread of the true scores that the votes speak for."""
        worth, c = self.votes_per_weight, self.comparisons
        if self.columns or self.centre is not None:
            rows, loss = self._rows(c.covariates is not None, worth)
        else:
            rows, loss = adjacency_rows(c.adjacency, worth)

        def fit(l2: float, tol: float, scores: Floats | None, extras: Floats | None) -> tuple[Floats, Floats]:
            found = self.solve(l2 / worth, tol, max_iter, scores, extras)
            return found.scores, found.extras

        points, votes = c.adjacency.sums
        return choose_prior(rows, loss, fit, points=worth * points, votes=worth * votes)

    def likelihood(self, near: Solution, own: float, tol: float, max_iter: int) -> Information:
        """Information of the likelihood alone: what keeps scores finite where the votes do not is next to nothing.

        Scores and effects together may separate few votes that scores alone do not: no penalty that is next to nothing
        leaves them any curvature then, and the fit's own penalty stands in.
        """
        if self.centre is not None:  # the likelihood knows nothing of it
            alone = copy(self)
            alone.centre = None
            return alone.likelihood(self.placed(near), own, tol, max_iter)
        bounded = self.comparisons.adjacency.is_strongly_connected
        least = 0.0 if bounded else LEAST_L2 / self.votes_per_weight
        for l2 in (least, PLAIN_L2 / self.votes_per_weight):
            found = self.solve(l2, tol, max_iter, near.scores, near.extras)
            if found.converged:
                information = self.information(found, l2)
                if not self.columns or is_determined(information):
                    return information
        return self.information(near, own)

    def posterior(self, found: Solution, l2: float) -> Information:
        """Curvature of loss and prior at the optimum, with votes for weights."""
        worth, c = self.votes_per_weight, self.comparisons
        rows, loss = self._rows(c.covariates is not None, worth)
        point = evaluate(rows, loss, worth * l2, found.scores, found.extras)
        extra, groups = len(found.extras) > 0, c.adjacency.components
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

    def _rows(self, by_vote: bool, worth: float = 1.0) -> tuple[Rows, LogisticRows | DavidsonRows]:
        """The rows of the loss: pairs, or single votes where covariates differ between them.

        A weight of 1 is `worth` so many votes.
        """
        c, n = self.comparisons, len(self.comparisons.items)
        if by_vote:
            left, right, outcome, weight = c.vote_rows()
            wins, losses, ties = (weight * (outcome == value) for value in (1.0, 0.0, 0.5))
        else:
            p = c.pairs_by_side if "side" in self.columns else c.pairs
            left, right = p.left, p.right
            wins, losses, ties = (np.asarray(v, dtype=np.float64) for v in (p.left_wins, p.right_wins, p.ties))
        rows = Rows(n, left, right, self._design(len(left)), self._offset(left, right))
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
        rows, loss = self._rows(c.covariates is not None)
        point = evaluate(rows, loss, l2, found.scores, found.extras)
        extra = len(found.extras) > 0
        left, right, outcome, weight, squares, clusters = pull_rows(c, by_side="side" in self.columns)
        pulls = Rows(n, left, right, self._design(len(left)))
        slope, own = loss.vote_slopes(pulls.margin(found.scores, found.extras), outcome, found.extras)
        design = np.empty((len(left), 0)) if pulls.design is None else pulls.design
        above, below = c.adjacency.open_ended
        return Information(
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

    def check_design(self) -> None:
        """Refuse covariates that say nothing, or the same as others: their effects are not identified."""
        c = self.comparisons
        names = [name for name in self.columns if name != "tie"]
        if c.covariates is None:
            return
        design = self._design(len(c.left))
        assert design is not None
        size = np.sqrt(np.mean(design**2, axis=0))
        for name, zero in zip(c.covariate_names, size == 0, strict=False):
            if zero:
                raise InputError(f"covariate {name!r} is 0 in every vote, so it has no effect to find; leave it out")
        scaled = design / size
        if np.linalg.eigvalsh(scaled.T @ scaled / len(scaled))[0] < 1e-10:
            told = ", ".join(name.removeprefix("covariate:") for name in names)
            raise InputError(f"{told}: one follows from the others, so their effects are not identified; leave one out")

    def warn_of_penalty(self, found: Solution, l2: float, bounded: NDArray[np.bool_]) -> None:
        """Say so when a penalty that is nothing to each item flattens the whole: long ways, with few votes on each."""
        if l2 == 0 or found.solver == "coordinate":  # where the penalty rules a direction, sweeps crawl along it
            return
        rows, loss = self._rows(self.comparisons.covariates is not None)
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
        if design is None:
            return
        size = np.sqrt(np.mean(design**2, axis=0))
        for name, scale, effect in zip(self.columns, size, found.extras, strict=False):
            if name != "tie" and abs(effect) * scale > SEPARATES:
                what = "the side" if name == "side" else f"covariate {name.removeprefix('covariate:')!r}"
                warnings.warn(
                    f"{what} separates the votes (almost) perfectly: its effect {effect:.3g} has no finite optimum; "
                    "leave it out, or look for a leak",
                    SeparationWarning,
                    stacklevel=3,
                )
