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
from podium.data.tables.times import moment, shown_times
from podium.data.validation import choice_option, flag_option, number_option
from podium.errors import ConvergenceError, InputError, InPython, Option, SeparationWarning
from podium.pairwise._fit.solvers import SEPARATES
from podium.pairwise._fit.walk_model import WalkModel, by_day, history_of, joined_history
from podium.pairwise._fit.walk_posterior import Points, WalkPosterior
from podium.pairwise._fit.walk_search import Search
from podium.pairwise._fit.walks import Precision, solution_at
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


class DynamicBradleyTerry(Ranker):
    """Rank items whose strength changes: scores now, or at any time, with the curve of each.

    The chance that i beats j at time t is 1 / (1 + exp(s_j(t) − s_i(t))). Each s_i starts at N(0, sd²) when the item is
    first compared and then walks: its change over a time h is N(0, drift²·h). All scores at all times are found at once
    (whole-history rating, Coulom 2008), so that later votes also tell of earlier strength. With drift = 0 this is
    `BradleyTerry` with a penalty of 1/(2 sd²).

    Needs votes with times (`time=`). Dates and timestamps count by the day: votes of one day share a score, and drift
    is per day. A weight is a number of votes.

    Parameters
    ----------
    drift : float or "auto"
        Standard deviation, in log-odds, of the change of a score over one unit of time (a day, for dates). "auto" takes
        it from the votes by marginal likelihood.
    sd : float or "auto"
        Standard deviation of the scores of newcomers; "auto" as for `drift`. With "auto" in either, chances allow for
        how well scores are known.
    ties : "half" or "davidson"
        Count a tie as half a win for both, or model it, as `BradleyTerry` does.
    side_effect : bool
        Estimate the advantage of the left side (home advantage), the same at all times.
    at : number, date or text, optional
        The time that `ranking_` is of; by default that of the last vote.
    scale : "log-odds" or "elo"
    max_iter : int
        Newton steps allowed before `ConvergenceError`.
    tol : float
        How far a score may be from the optimum, in log-odds.

    Attributes
    ----------
    ranking_ : Ranking
        Scores at `at`; items that had not been compared by then are left out.
    drift_, sd_ : float
        As given, or as found from the votes; a drift of 0 says that the votes show none.
    log_evidence_ : float
        Log marginal likelihood of the votes (Laplace's approximation) at these.
    side_effect_, tie_strength_ : as those of `BradleyTerry`
    n_iter_, converged_ : of Newton's method

    Examples
    --------
    >>> winner, loser = ["tea"] * 6 + ["milk"] * 6, ["milk"] * 6 + ["tea"] * 6
    >>> votes = Comparisons.from_arrays(winner, loser, time=range(12))
    >>> model = DynamicBradleyTerry(drift=0.5, sd=1.0).fit(votes)
    >>> model.ranking_.order, model.ranking_at(0).order
    (('milk', 'tea'), ('tea', 'milk'))
    """

    uses = Uses(sides=True, ties=True, time=True)

    def __init__(
        self,
        *,
        drift: float | str = "auto",
        sd: float | str = "auto",
        ties: str = "half",
        side_effect: bool = False,
        at: float | str | datetime.date | None = None,
        scale: str = "log-odds",
        max_iter: int = 100,
        tol: float = 1e-6,
    ) -> None:
        self.drift = drift
        self.sd = sd
        self.ties = ties
        self.side_effect = side_effect
        self.at = at
        self.scale = scale
        self.max_iter = max_iter
        self.tol = tol

    def fit(self, comparisons: Comparisons) -> Self:
        """Find the scores of all items at all times, and where asked to, how fast they move."""
        self._check(comparisons)
        self._history = history_of(comparisons)
        self._time_is = comparisons.time_is
        self._settle(*self._searched())
        return self._fitted_to(comparisons)

    def partial_fit(self, comparisons: Comparisons) -> Self:
        """Go on with further votes: the whole history is fitted anew, from the scores there are and at their drift."""
        if not self.__sklearn_is_fitted__():
            return self.fit(comparisons)
        self._check(comparisons)
        if comparisons.time_is != self._time_is:
            raise InputError("the votes before have times of another kind (dates or numbers); give these alike")
        before, known = self._posterior, len(self._history["items"])
        self._history = joined_history(self._history, history_of(comparisons))
        search = self._search_in(self.drift_ == 0.0)
        item = search.model.walks.item.astype(np.int64)
        at = before.points(np.where(item < known, item, -1), search.model.walks.time)
        search.scores, search.extras = before.scores(at), self._extras
        if len(self._extras) != search.model.loss.own + bool(self.side_effect):  # the first tie has come
            search.extras = None
        self._settle(search, self.drift_, self.sd_)
        return self._fitted_to(comparisons)

    def _check(self, c: Comparisons) -> None:
        as_comparisons(c)
        if not (isinstance(self.drift, str) and self.drift == "auto"):
            number_option("drift", self.drift, least=0, more=", or 'auto'")
        if not (isinstance(self.sd, str) and self.sd == "auto"):
            number_option("sd", self.sd, above=0, more=", or 'auto'")
        number_option("tol", self.tol, above=0)
        number_option("max_iter", self.max_iter, least=1, whole=True)
        choice_option("ties", self.ties, ("half", "davidson"))
        choice_option("scale", self.scale, tuple(SCALES))
        if c.time is None:
            raise InputError(
                "scores that move need votes with times, and these have none; name their column by ",
                Option("time", column=True),
            )
        if self.at is not None:
            self._moment(self.at, c.time_is, float(c.time.min()))
        if flag_option("side_effect", self.side_effect) and not c.sided:
            raise InputError(
                Option("side_effect", True),
                " needs votes that say which item stood on which side: give left, right and outcome "
                "rather than winner and loser",
            )

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
        model = WalkModel(self._history, self.ties, bool(self.side_effect), still)
        span = 0.0 if still else float(np.ptp(self._history["time"]))
        return Search(model, span, float(self.tol), int(self.max_iter))

    def _searched(self) -> tuple[Search, float, float]:
        """The drift and the spread of newcomers: those given, or those that make the votes most likely."""
        drift = None if isinstance(self.drift, str) else float(self.drift)
        sd = None if isinstance(self.sd, str) else float(self.sd)
        still = drift == 0.0 or float(np.ptp(self._history["time"])) == 0.0
        search = self._search_in(still)
        if still or drift is not None:
            drift = 0.0 if still or drift is None else drift
            return search, drift, sd if sd is not None else search.best(drift, None)[1]
        walking, spread, evidence = search.best(None, sd)
        none = self._search_in(True)
        _, spread_then, then = none.best(0.0, sd)
        if then >= evidence - 1e-6 * abs(evidence):  # a walk that explains no more is none
            return none, 0.0, spread_then
        return search, walking, spread

    def _settle(self, search: Search, drift: float, sd: float) -> None:
        """Find the optimum and set what was learned."""
        found = search.fit(drift, sd)
        if not found.converged:
            steps = counted(found.n_iter, "Newton step")
            raise ConvergenceError(
                f"no optimum in {steps}; look for scores without an end",
                InPython(" (or max_iter=, tol=)"),
            )
        self.drift_, self.sd_ = float(drift), float(sd)
        self.n_iter_, self.converged_ = found.n_iter, True
        self._scores, self._extras = found.scores, found.point.extras
        self._kept = WalkPosterior(search.model, found, self.drift_, self.sd_)
        self._moved()
        self.ranking_ = self.ranking_at(self.at)
        if abs(self.side_effect_) > SEPARATES:
            warnings.warn(
                f"the side separates the votes (almost) perfectly: its effect {self.side_effect_:.3g} has no finite "
                "optimum; leave it out, or look for a leak",
                SeparationWarning,
                stacklevel=3,
            )

    @property
    def _posterior(self) -> WalkPosterior:
        """Follows from the state, and is not stored with it."""
        if "_kept" not in vars(self):
            model = self._search_in(self.drift_ == 0.0).model
            precision = Precision.of(model.walks, self.sd_, self.drift_)
            found = solution_at(model.rows, model.loss, precision, self._scores, self._extras)
            self._kept = WalkPosterior(model, found, self.drift_, self.sd_)
        return self._kept

    def __getstate__(self) -> dict[str, Any]:
        """The rows of the history and the scores, not what follows from them."""
        return {name: value for name, value in super().__getstate__().items() if name != "_kept"}

    def __sklearn_is_fitted__(self) -> bool:
        return "_scores" in vars(self)

    # ---- what was learned -----------------------------------------------------------------------------------

    @property
    def side_effect_(self) -> float:
        """Advantage of the left side, in log-odds; 0 where it was not estimated."""
        self._check_fitted()
        return float(self._extras[0]) if self.side_effect else 0.0

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
        errors: Floats = np.sqrt(self._posterior.effect_covariance().diagonal())
        return errors

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
            origin + unit * settled(posterior.scores(points), self.tol),
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
            scores = self._posterior.scores(at)[rows]
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
        place = {item: k for k, item in enumerate(self._history["items"])}
        if isinstance(items, str) or not isinstance(items, Collection | None):
            raise InputError(f"items must be a list of items, not {type(items).__name__}")
        listed = self.ranking_at().order if items is None else list(items)
        for item in listed:
            if not isinstance(item, Hashable) or item not in place:
                raise InputError(f"{item!r} was never compared; the {len(place)} items are in ranking_.items")
        if not listed:
            raise InputError("items: none is listed; name some, or leave it out for all")
        return np.array([place[item] for item in dict.fromkeys(listed)], dtype=np.int64)

    # ---- chances --------------------------------------------------------------------------------------------

    def predict_proba(self, comparisons: Comparisons) -> Floats:
        """Chances that the left item of each row wins, ties and loses, at the time of the row: (rows, 3).

        Rows without times are taken to be at the last time of the votes. An item not compared by then is a newcomer.
        With `drift` or `sd` from the votes, chances allow for how well the scores are known.
        """
        c = as_comparisons(comparisons, "predict_proba")
        self._check_fitted()
        margins = self._margins(c)
        if not isinstance(self.drift, str) and not isinstance(self.sd, str):
            return np.stack(self._outcomes(margins), axis=1)
        variance = self._margin_errors(c)
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
