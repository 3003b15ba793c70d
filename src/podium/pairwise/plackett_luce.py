"""Plackett-Luce: scores that make the observed rankings most likely."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from podium.data.comparisons import Comparisons, as_comparisons
from podium.data.features import FeatureSpec, read_features, warn_of_columns
from podium.data.rankings import MAX_DENSE_ITEMS, Rankings, as_rankings
from podium.data.tables.labels import as_column
from podium.data.validation import choice_option, flag_option, number_option, seed_option, whole_option
from podium.errors import ConvergenceError, InputError, InPython, Option
from podium.pairwise._fit.choices import ListFit, ListLoss, choose_sd, maximise
from podium.pairwise._fit.featured import FeatureScores
from podium.pairwise._fit.list_features import ListFeatureModel, ListProblem, solve_lists
from podium.pairwise._fit.list_information import list_information, list_posterior
from podium.pairwise.base import Ranker, Uses, logistic
from podium.ranking.ranking import Ranking
from podium.ranking.ranks import settled
from podium.ranking.uncertainty import Information, ListInformation, extra_std_errors, mean_chance_margin

if TYPE_CHECKING:
    import polars as pl

__all__ = ["GoodnessOfFit", "PlackettLuce"]

Floats = NDArray[np.float64]

LEAST_L2 = 1e-6  # what stands in for no penalty where the rankings bound no score
NODES = 20  # of a mean over the posterior
MAX_PENALTY = 1e12  # already holds what it is on at 0; beyond, nothing is left of the curvature of the rankings
MAX_DRAWN = 5e7  # items drawn for one simulated set of rankings

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
    "boundary_": (),
    "explained_": 0.0,
    "unseen_": (),
    "idle_features_": (),
}


class PlackettLuce(FeatureScores, Ranker):
    """Rank items from whole rankings, or from the top of them, by the Plackett-Luce likelihood.

    A ranking is a row of choices: the first item is chosen among all that were on offer, the second among those left,
    and so on; item i is chosen with chance exp(s_i) / Σ exp(s_j) over what is left. `fit` finds, exactly, the scores s
    that minimise

        Σ weight · −log chance of the ranking  +  l2 · ‖s‖²

    Where items not listed lie below those that are (`unranked="below"`), the row of choices ends with the last item
    listed. For rankings of two items this is Bradley-Terry.

    With features X of the items, scores are X w + r as in `RABF`: the penalty is feature_penalty · ‖w‖² + l2 · ‖r‖²,
    and an item that no ranking knows is ranked by its features alone, with the uncertainty of its residual r.

    Parameters
    ----------
    l2 : float or "auto"
        Pull towards zero, as in `BradleyTerry`: "auto" takes scores for draws from N(0, s²), with the s that the
        rankings speak for. With 0, some data have no finite optimum; `fit` then says so. With features it is the
        penalty of r, what features do not explain, and must be positive.
    feature_penalty : positive float or "auto"
        Penalty of the weights w. "auto" takes the one under which the rankings are most likely, as in `RABF`; errors
        and intervals carry what the rankings leave open about it and about l2="auto".
    ties : "efron" or "davidson"
        Items that share a place: average over their orders as Efron (1977) does for ties in time, or model ties as
        Turner, van Etten, Firth and Kosmidis (2020; R's PlackettLuce) do: a set of t items is chosen with strength
        δ_t (Π exp s)^{1/t}, with one more parameter for each size of tie that occurs. In comparisons of two, "efron"
        counts a tie as half a win for both.
    standardize, missing, one_hot : how features are treated, as in `RABF`
    max_iter : int
        Newton steps allowed before `ConvergenceError`.
    tol : float
        How far a score may be from the optimum, in log-odds.

    Attributes
    ----------
    ranking_ : Ranking
        Of all items that rankings or features know; with features, intervals are those of the posterior.
    l2_ : float
        The penalty used. Weights that are not counts enter "auto" as w·Σw/Σw².
    sd_ : float or None
        With "auto" the standard deviation s of the true scores (of r, with features).
    coef_, coef_std_errors_, feature_names_ : weights w, per unit of the feature
    feature_std_ : standard deviation of each feature over the ranked items
    residuals_ : r, aligned with `ranking_.items`; 0 for items that no ranking knows
    explained_ : share of the variance of the ranked items' scores that features explain
    feature_penalty_, boundary_ : the penalty of w used, and which "auto" ones stopped at an end of the range searched
    unseen_ : items that no ranking knows
    tie_strengths_ : dict of size to δ, with ties="davidson"; tie_strength_ is that of two items, Davidson's ν
    log_likelihood_ : float
        Of the rankings, at the scores found.
    n_rankings_ : int
    n_iter_, converged_ : how the optimum was found

    References
    ----------
    Plackett (1975); Luce (1959); Hunter (2004), MM algorithms for generalized Bradley-Terry models.

    Examples
    --------
    >>> ballots = Rankings.from_lists([["tea", "milk"], ["tea"], ["tea", "cola"], ["milk", "tea"]], unranked="below")
    >>> PlackettLuce(l2=0.1).fit(ballots).ranking_.order
    ('tea', 'milk', 'cola')

    A drink that nobody could choose yet, placed by how sweet it is:

    >>> sweet = {"tea": [0], "milk": [1], "cola": [5], "juice": [4]}
    >>> PlackettLuce(l2=1.0, feature_penalty=0.1).fit(ballots, features=sweet).ranking_.order
    ('tea', 'milk', 'juice', 'cola')
    """

    uses = Uses(features=True, ties=True)
    state_version = 2  # since features

    @classmethod
    def upgraded(cls, state: dict[str, Any], version: int) -> dict[str, Any]:
        """Version 1 knew no features."""
        treatment = {"feature_penalty": "auto", "standardize": True, "missing": "error", "one_hot": False}
        return treatment | NO_FEATURES | {"residuals_": state["ranking_"].scores.copy()} | state

    def __init__(
        self,
        *,
        l2: float | str = "auto",
        feature_penalty: float | str = "auto",
        ties: str = "efron",
        standardize: bool = True,
        missing: str = "error",
        one_hot: bool = False,
        max_iter: int = 200,
        tol: float = 1e-6,
    ) -> None:
        self.l2 = l2
        self.feature_penalty = feature_penalty
        self.ties = ties
        self.standardize = standardize
        self.missing = missing
        self.one_hot = one_hot
        self.max_iter = max_iter
        self.tol = tol

    def fit(self, rankings: Rankings | Comparisons, features: Any = None, *, id: str | None = None) -> Self:
        """Find the scores of the items of `rankings`; comparisons are rankings of two.

        `features` (and `id`) are as in `RABF.fit`: an array with a row for each of `rankings.items`, or a frame or
        mapping by label, which may hold more items.
        """
        votes = rankings if isinstance(rankings, Comparisons) else None
        lists = None if votes is not None else as_rankings(rankings)
        self._check(len((lists or votes).items), features is not None)  # type: ignore[union-attr]  # one is there
        data = _Data(lists, None) if votes is None else _Data(None, votes, half=self.ties == "efron")
        if self.ties == "davidson" and _ties_only(data.lists):
            raise InputError(
                "in every ranking all items are tied: ", Option("ties", "davidson"), " cannot tell them apart; use ",
                Option("ties", "efron"),
            )  # fmt: skip
        if features is not None:
            return self._fit_features(rankings, data, features, id)
        auto = self.l2 == "auto"
        data.lists.check_connected(None if auto else float(self.l2))
        loss = ListLoss(data.lists, davidson=self.ties == "davidson")
        worth = data.worth
        counted = loss if worth == 1.0 else ListLoss(data.lists, davidson=loss.davidson, weight=worth * loss.weight)
        self.sd_: float | None = None
        near: ListFit | None = None
        if auto:
            self.sd_, near = choose_sd(counted, max_iter=self.max_iter)
        self.l2_ = float(self.l2) if self.sd_ is None else 0.5 / self.sd_**2 / worth
        begin: dict[str, Any] = {}
        if near is not None:
            begin = {"scores": near.scores, "extras": near.extras, "solve": near.solve}
        found = maximise(loss, 2.0 * self.l2_, tol=self.tol, max_iter=self.max_iter, **begin)
        self._refuse_unsettled(found.converged, found.left)
        self.n_iter_, self.converged_, self.n_rankings_ = found.n_iter, True, len(rankings)
        self._extras, self._orders = found.extras, tuple(loss.orders[1:].tolist())
        vars(self).update(NO_FEATURES)
        self._keep(data, loss, counted, found)
        self.residuals_ = self.ranking_.scores.copy()
        self._fitted_to(rankings)  # type: ignore[arg-type]  # kept until they are asked for again
        self._log_likelihood = -loss.value(found.scores, found.extras)[0]
        return self

    def _refuse_unsettled(self, converged: bool, left: float) -> None:
        if not converged:
            raise ConvergenceError(
                f"no optimum in {self.max_iter} steps: the last moved a score by {left:.1e}; raise ",
                Option("l2"),
                f", now {self.l2_:g}",
                InPython(" (or max_iter=, tol=)"),
            )

    def _fit_features(self, rankings: Rankings | Comparisons, data: _Data, features: Any, id: str | None) -> Self:
        """The same with features: penalties and errors are those of rankings counted as `worth`."""
        lists, worth = data.lists, data.worth
        labels, matrix, self._spec = read_features(
            features, lists.items, id=id, missing=self.missing, one_hot=self.one_hot, sparse=True
        )
        if len(labels) > MAX_DENSE_ITEMS:
            raise InputError(f"{len(labels):,} items have features, more than the {MAX_DENSE_ITEMS:,} there may be")
        plain = ListLoss(lists, davidson=self.ties == "davidson")
        loss = plain if worth == 1.0 else ListLoss(lists, davidson=plain.davidson, weight=worth * plain.weight)
        model = ListFeatureModel(loss, matrix, self.standardize)
        self.idle_features_ = warn_of_columns(matrix[model.seen], self._spec.names, len(rankings))
        given = [None if value == "auto" else worth * float(value) for value in (self.feature_penalty, self.l2)]
        found = model.optimum(given[0], given[1], self.tol, self.max_iter)
        self.feature_penalty_, self.l2_ = found.feature / worth, found.residual / worth
        self._refuse_unsettled(found.solution.converged, found.solution.gap)
        self.sd_ = (2.0 * found.residual) ** -0.5 if self.l2 == "auto" else None
        self.n_iter_, self.converged_, self.n_rankings_ = found.solution.n_iter, True, len(rankings)
        place, penalties = found.solution.place, (found.feature, found.residual)
        self._extras, self._orders = place.extras, tuple(loss.orders[1:].tolist())
        self._columns = tuple(f"tie:{size}" for size in self._orders)
        self.boundary_, self.feature_std_ = found.boundary, model.feature_std
        self.residuals_ = np.concatenate([place.residuals, np.zeros(len(labels) - loss.n)])
        self.unseen_ = tuple(labels[i] for i in np.flatnonzero(~model.seen))
        self._keep_weights(model, place.weights, 0.0)
        if not self.standardize:
            self._origin = float(model.mean @ (self.coef_ * self._scale))
        parts = np.var((model.matrix @ place.weights)[model.seen]), np.var(self.residuals_[model.seen])
        self.explained_ = float(parts[0] / (parts[0] + parts[1])) if parts[0] > 0 else 0.0
        known: dict[str, Any] = {"squares": worth**2 * data.squares, "clusters": data.clusters, "votes": data.rows}
        others = partial(model.possible, found, self.max_iter)
        self.ranking_ = Ranking(
            labels,
            settled(self._origin + model.scores(place), self.tol),
            information=partial(model.whole_information, place, penalties, others, **known),
            record=partial(_padded, data.record, len(labels)),
        )
        self._fitted_to(rankings)  # type: ignore[arg-type]  # kept until they are asked for again
        self._training_features = model.problem.features, place
        self._log_likelihood = -plain.value(model.problem.scores(place), place.extras)[0]
        return self

    def __getstate__(self) -> dict[str, Any]:
        """Neither the rankings nor the features that were fitted to are stored."""
        return {name: value for name, value in super().__getstate__().items() if name != "_training_features"}

    def _keep(self, data: _Data, loss: ListLoss, counted: ListLoss, found: ListFit) -> None:
        adjacency = data.lists._linkage
        scores = settled(found.scores, self.tol)
        open_ended = np.logical_or(*adjacency.open_ended)
        # An open-ended score is held by the penalty alone, and must not move the others by moving the mean.
        scores = scores - (scores if open_ended.all() else scores[~open_ended]).mean()
        auto, worth = self.sd_ is not None, data.worth
        known: dict[str, Any] = {
            "squares": data.squares,
            "clusters": data.clusters,
            "adjacency": adjacency,
            "votes": data.rows,
        }
        whole = partial(_whole, loss, **known)
        self.ranking_ = Ranking(
            tuple(data.lists.items),
            scores,
            information=partial(self._likelihood, whole, loss, found, worth)
            if auto
            else partial(whole, found, ridge=2.0 * self.l2_),
            posterior=partial(list_posterior, counted, found, 2.0 * worth * self.l2_, adjacency.components)
            if auto
            else None,
            record=data.record,
        )

    def _likelihood(self, whole: Any, loss: ListLoss, near: ListFit, worth: float) -> ListInformation:
        """Information of the likelihood alone: what keeps scores finite where the data do not is next to nothing.

        Where the rankings bound no score at all the fit's own penalty stands in, as in `BradleyTerry`.
        """
        linkage = loss.rankings._linkage
        if np.logical_or(*linkage.open_ended).all():
            return whole(near, ridge=2.0 * self.l2_)  # type: ignore[no-any-return]
        bounded = linkage.is_strongly_connected
        for l2 in (0.0 if bounded else LEAST_L2 / worth, 1e-3 / worth):
            found = maximise(
                loss, 2.0 * l2, tol=self.tol, max_iter=self.max_iter, scores=near.scores, extras=near.extras
            )
            if found.converged:
                return whole(found, ridge=2.0 * l2)  # type: ignore[no-any-return]
        return whole(near, ridge=2.0 * self.l2_)  # type: ignore[no-any-return]

    def _check(self, items: int, featured: bool) -> None:
        if not (isinstance(self.l2, str) and self.l2 == "auto"):
            number_option("l2", self.l2, least=0, more=", or 'auto'")
        if not (isinstance(self.feature_penalty, str) and self.feature_penalty == "auto"):
            number_option("feature_penalty", self.feature_penalty, above=0, more=", or 'auto'")
        for name in ("l2", "feature_penalty") if featured else ():
            value = getattr(self, name)
            if not isinstance(value, str) and value > MAX_PENALTY:
                raise InputError(Option(name, value), f": at most {MAX_PENALTY:g}, or rounding decides the intervals")
        if featured and self.l2 == 0:
            raise InputError(
                Option("l2", 0), " leaves features nothing to explain, as every item then has a score of its own; give "
                "a positive number, or 'auto'",
            )  # fmt: skip
        choice_option("ties", self.ties, ("efron", "davidson"))
        choice_option("missing", self.missing, ("error", "mean"))
        for name in ("standardize", "one_hot"):
            flag_option(name, getattr(self, name))
        number_option("tol", self.tol, above=0)
        number_option("max_iter", self.max_iter, least=1, whole=True)
        if items > MAX_DENSE_ITEMS:
            raise InputError(
                f"Plackett-Luce holds a matrix of all pairs of items, up to {MAX_DENSE_ITEMS:,} items; there are "
                f"{items:,}; rank fewer, or break the rankings into pairs (Comparisons.from_rankings)"
            )

    # ---- what was learned -----------------------------------------------------------------------------------

    def predict_proba(self, comparisons: Comparisons) -> Floats:
        """Chances that the left item of each row is ranked above, level with and below the right one: (rows, 3).

        With a penalty from the data they allow for how well the scores are known.
        """
        c = as_comparisons(comparisons, "predict_proba")
        self._check_fitted()
        return np.stack(self._mean_outcomes(self._margins(c), self._margin_variance(c)), axis=1)

    def score(self, comparisons: Comparisons | Rankings) -> float:
        """Mean log score: of expected points for comparisons, as all rankers; of whole rankings for `Rankings`.

        The latter is the weighted mean of log chance over the rankings, at the scores found: 0 is perfect, and chance
        among m items is −log m! for a whole ranking. An item the model does not know stands in the middle.
        """
        if not isinstance(comparisons, Rankings):
            return super().score(comparisons)
        self._check_fitted()
        r = comparisons
        loss = ListLoss(r, davidson=self.ties == "davidson")
        new = [size for size in loss.orders[1:].tolist() if size not in self._orders]
        if new:
            raise InputError(f"{new[0]} items share a place, which no ranking fitted had; score rankings without it")
        known = dict(zip(self.ranking_.items, self.ranking_.scores.tolist(), strict=True))
        middle = float(self.ranking_.scores.mean())
        scores = np.array([known.get(item, middle) for item in r.items])
        strengths = dict(zip(self._orders, self._extras.tolist(), strict=True))
        extras = np.array([strengths[size] for size in loss.orders[1:].tolist()])
        return -loss.value(scores, extras)[0] / float(r.weights.sum())

    @property
    def log_likelihood_(self) -> float:
        """Log-likelihood of the rankings it was fitted to."""
        self._check_fitted()
        return self._log_likelihood

    @property
    def credible_intervals_(self) -> bool:
        """Whether intervals are the posterior's: with features, unless they come by sandwich, clusters or bootstrap."""
        return bool(self.feature_names_) and self.ranking_.uncertainty in ("auto", "hessian")

    @property
    def tie_strength_(self) -> float | None:
        """Davidson's ν, of ties between two; None with ties="efron"."""
        self._check_fitted()
        return None if self.ties == "efron" else self.tie_strengths_.get(2, 0.0)

    def _tie_error(self) -> float | None:
        return self.tie_std_errors_[2]

    @property
    def tie_strengths_(self) -> dict[int, float]:
        """δ of every size of tie that occurred."""
        self._check_fitted()
        return {size: math.exp(value) for size, value in zip(self._orders, self._extras.tolist(), strict=True)}

    @property
    def tie_std_errors_(self) -> dict[int, float]:
        """Standard errors of the log of each δ."""
        self._check_fitted()
        own = self.sd_ is not None and self.ranking_.posterior is not None
        information = self.ranking_.posterior if own else self.ranking_.information
        assert information is not None, "a likelihood has one"
        errors = extra_std_errors(information, "hessian")[-len(self._orders) :] if self._orders else np.empty(0)
        return dict(zip(self._orders, errors.tolist(), strict=True))

    def _information(self) -> Information:
        self._check_fitted()
        information = self.ranking_.information
        assert information is not None, "a likelihood has one"
        return information

    def _chosen(self) -> dict[str, Any]:
        return {"sd": self.sd_}

    def _margin_variance(self, c: Comparisons) -> Floats:
        """How well margins are known, under a prior from the data; 0 without one, and for items it has not seen."""
        if self.sd_ is None:
            return np.zeros(len(c.left))
        place = {item: k for k, item in enumerate(self.ranking_.items)}
        codes = np.array([place.get(item, -1) for item in c.items])
        one, other = codes[c.left], codes[c.right]
        known = self.ranking_.difference_variance(np.maximum(one, 0), np.maximum(other, 0))
        return np.where((one >= 0) & (other >= 0), known, 0.0)

    def _mean_outcomes(self, margins: Floats, variance: Floats) -> tuple[Floats, Floats, Floats]:
        if not variance.any():
            return self._outcomes(margins)
        if not self.tie_strength_:
            return logistic(mean_chance_margin(margins, variance))
        nodes, shares = np.polynomial.hermite_e.hermegauss(NODES)
        each = [np.stack(self._outcomes(margins + np.sqrt(variance) * node)) for node in nodes]
        win, tie, loss = np.tensordot(shares / shares.sum(), np.array(each), axes=1)
        return win, tie, loss

    def _outcomes(self, margins: Floats) -> tuple[Floats, Floats, Floats]:
        if not self.tie_strength_:
            return logistic(margins)
        likely, tie = np.exp(-np.abs(margins)), self.tie_strength_ * np.exp(-np.abs(margins) / 2)
        total = 1.0 + likely + tie
        ahead = margins >= 0
        return np.where(ahead, 1.0, likely) / total, tie / total, np.where(ahead, likely, 1.0) / total

    def pair_residuals(self) -> pl.DataFrame:
        """Pairs of items whose order in the rankings differs most from what their scores say, the largest first.

        Columns: item, against, above (weight of the rankings that have item above), rankings (that order the two),
        expected, and residual, the difference over its standard deviation. For the rankings of `fit`.
        """
        import polars as pl

        self._check_fitted()
        r = self._kept_rankings("pair_residuals")
        p, scores = r.pairs, self.ranking_.scores
        chance, _, _ = logistic(scores[p.left] - scores[p.right])
        total, above = p.total, p.left_points
        size = (above - total * chance) / np.sqrt(np.maximum(total * chance * (1.0 - chance), 1e-9))
        order = np.argsort(-np.abs(size), kind="stable")
        labels = as_column(r.items)
        return pl.DataFrame(
            {
                "item": [labels[k] for k in p.left[order].tolist()],
                "against": [labels[k] for k in p.right[order].tolist()],
                "above": above[order],
                "rankings": total[order],
                "expected": (total * chance)[order],
                "residual": size[order],
            },
            strict=False,
        )

    def _kept_rankings(self, what: str) -> Rankings:
        r = vars(self).get("_training")
        if not isinstance(r, Rankings):
            raise InputError(f"{what} is computed from the rankings, and a file or comparisons hold none; fit to them")
        return r

    def goodness_of_fit(self, *, replicates: int = 199, seed: int | None = 0) -> GoodnessOfFit:
        """Do choices between two items follow their scores, whatever else was on offer? A simulated p-value.

        Under the model the first of two items to be chosen is i with chance 1 / (1 + exp(s_j − s_i)), whichever place
        it takes. The statistic is Pearson's over all pairs, the p-value the share of rankings simulated from the model,
        and fitted again, in which it is as large. Small values say that one score for each item does not explain the
        rankings, as when respondents fall into camps. With features these are fitted again too, at the penalties found.
        For rankings without ties.
        """
        self._check_fitted()
        seed_option("seed", seed)
        whole_option("replicates", replicates, least=1)
        r = self._kept_rankings("goodness_of_fit")
        if r.tied is not None:
            raise InputError("goodness_of_fit is for rankings without ties; podium cannot simulate ties")
        if float(len(r)) * len(r.items) > MAX_DRAWN:
            raise InputError(f"{len(r):,} rankings of {len(r.items):,} items are too many to simulate; take some only")
        scores, rng = self.ranking_.scores[: len(r.items)], np.random.default_rng(seed)
        observed = _pearson(r, scores)
        as_large = 0
        for _ in range(replicates):
            drawn = _simulated(r, scores, rng)
            as_large += _pearson(drawn, self._fitted_again(drawn, scores)) >= observed
        pairs = len(r.pairs)
        return GoodnessOfFit(observed, pairs, (1 + as_large) / (1 + replicates), replicates)

    def _fitted_again(self, drawn: Rankings, scores: Floats) -> Floats:
        """Scores of simulated rankings, fitted as the model was and at its penalties."""
        if self.feature_penalty_ is None:
            begin: dict[str, Any] = {"scores": scores.copy(), "extras": np.empty(0)}
            ridge = 2.0 * max(self.l2_, LEAST_L2)
            return maximise(ListLoss(drawn), ridge, tol=1e-3, max_iter=self.max_iter, **begin).scores
        features, place = self._training_features
        problem = ListProblem(ListLoss(drawn), features)
        penalties = self.feature_penalty_, self.l2_
        return problem.scores(solve_lists(problem, penalties, 1e-3, self.max_iter, place).place)


@dataclass(frozen=True, slots=True)
class GoodnessOfFit:
    """Pearson's statistic over pairs of items, and how often rankings simulated from the model have one as large."""

    statistic: float
    pairs: int
    p_value: float
    replicates: int


def _padded(record: Callable[[], tuple[Floats, Floats, Floats]], size: int) -> tuple[Floats, Floats, Floats]:
    """Wins, losses and ties; none for items beyond the rankings."""
    won, lost, tied = (np.concatenate([each, np.zeros(size - len(each))]) for each in record())
    return won, lost, tied


def _ties_only(r: Rankings) -> bool:
    """Whether no ranking puts an item before another."""
    if r.tied is None or r.rest_sizes.any():
        return False
    places = r.sizes - np.add.reduceat(r.tied.astype(np.int64), r.start[:-1])
    return bool((places < 2).all())


def _whole(loss: ListLoss, found: ListFit, **known: Any) -> ListInformation:
    return list_information(loss, found, **known)


def _pearson(rankings: Rankings, scores: Floats) -> float:
    """Σ (wins − expected)² / variance over pairs that met."""
    p = rankings.pairs
    chance, _, _ = logistic(scores[p.left] - scores[p.right])
    total = p.total
    spread = np.maximum(total * chance * (1.0 - chance), 1e-9)
    return float(np.sum((p.left_wins - total * chance) ** 2 / spread))


def _simulated(r: Rankings, scores: Floats, rng: np.random.Generator) -> Rankings:
    """Rankings of the same sizes, of the same items on offer, drawn from the model."""
    n, rows = len(scores), len(r)
    keys = scores + rng.gumbel(size=(rows, n))
    if not (r.everyone or (r.unranked is None and r.rest is None)):
        offered = np.zeros((rows, n), dtype=bool)
        offered[np.repeat(np.arange(rows), r.sizes), r.item] = True
        if r.rest is not None:
            offered[np.repeat(np.arange(rows), r.rest_sizes), r.rest] = True
        keys[~offered] = -np.inf
    order = np.argsort(-keys, axis=1)
    place = np.arange(n)
    listed = place < r.sizes[:, None]
    columns: dict[str, Any] = {"item": order[listed].astype(np.int32)}
    if r.rest is not None:
        under = ~listed & (place < (r.sizes + r.rest_sizes)[:, None])
        columns["rest"] = order[under].astype(np.int32)
    known = {"items": r.items, "start": r.start, "rest_start": r.rest_start, "unranked": r.unranked}
    return Rankings._of(**known, weight=r.weight, **columns)


class _Data:
    """Rankings, or comparisons as rankings of two, with what standard errors need to know of them."""

    def __init__(self, lists: Rankings | None, votes: Comparisons | None, *, half: bool = False) -> None:
        self.votes = votes
        self.rows: NDArray[Any] | None = None  # the vote that each ranking is of, where some are of one
        if lists is not None:
            self.lists = lists
            self.squares = lists.weights**2
            self.clusters: dict[str, Any] = {"ranking": np.arange(len(lists))}
            for name in ("judge", "group"):
                if getattr(lists, name) is not None:
                    self.clusters[name] = getattr(lists, name)
        else:
            assert votes is not None, "one of them is there"
            self._pairs(votes, half)

    def _pairs(self, c: Comparisons, half: bool) -> None:
        """One ranking of two for each pair and outcome, or for each row where rows go together."""
        self.clusters = {}
        if c.judge is not None or c.group is not None:
            left, right, outcome, weight = c.vote_rows()
            squares, row = c.weight_squares(), np.arange(len(left))
        else:
            p = c.pairs
            m = len(p)
            left, right = np.tile(p.left, 3), np.tile(p.right, 3)
            outcome = np.repeat([1.0, 0.0, 0.5], m)
            weight = np.concatenate([p.left_wins, p.right_wins, p.ties]).astype(np.float64)
            squares = np.concatenate([p.left_wins_sq, p.right_wins_sq, p.ties_sq]).astype(np.float64)
            row = np.arange(3 * m)
        one, other = np.where(outcome == 0.0, right, left), np.where(outcome == 0.0, left, right)
        tie = outcome == 0.5
        if half and tie.any():
            again = np.flatnonzero(tie)
            scale = np.where(tie, 0.5, 1.0)
            one, other = np.concatenate([one, other[again]]), np.concatenate([other, one[again]])
            weight = np.concatenate([weight * scale, 0.5 * weight[again]])
            row, tie = np.concatenate([row, row[again]]), np.zeros(len(one), dtype=bool)
        kept = weight > 0
        one, other, tie = one[kept], other[kept], tie[kept]
        row, self.rows = np.unique(row[kept], return_inverse=True)
        self.squares = squares[row]
        tied = np.zeros(2 * len(one), dtype=np.uint8)
        tied[1::2] = tie
        self.lists = Rankings._of(
            items=c.items,
            item=np.column_stack([one, other]).astype(np.int32).ravel(),
            start=2 * np.arange(len(one) + 1, dtype=np.int64),
            tied=tied if tie.any() else None,
            weight=np.ascontiguousarray(weight[kept]),
            unranked="unknown",
        )
        for name, codes in (("judge", c.judge), (c.group_is, c.group)):
            if codes is not None:
                self.clusters[name] = codes[row]

    @cached_property
    def worth(self) -> float:
        """Σw/Σw²: how many rankings a weight of 1 is worth; exactly 1 when weights are counts."""
        if self.votes is None and self.lists.weight is None:
            return 1.0
        total, squares = float(self.lists.weights.sum()), float(self.squares.sum())
        if abs(total - squares) <= 1e-12 * total:
            return 1.0
        return total / squares

    def record(self) -> tuple[Floats, Floats, Floats]:
        """Wins, losses and ties of each item."""
        return self.lists.record() if self.votes is None else self.votes.record()
