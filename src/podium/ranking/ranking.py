"""Ranking: items with scores, and how sure they are."""

from __future__ import annotations

import dataclasses
import difflib
import warnings
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import numpy as np

import podium.ranking.uncertainty as inference
from podium.data.validation import (
    distinct_labels,
    row_numbers,
)
from podium.errors import DataWarning, InputError, InPython, Option
from podium.ranking import leaderboard
from podium.ranking.differences import difference_frame
from podium.ranking.ranks import ranks
from podium.ranking.uncertainty import Alternative, Information, ScoreCovariance
from podium.text import aligned, counted, html_table, number

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Ranking"]

MAX_PRINTED_ROWS = 20  # rows of a printed ranking
MAX_QUICK_ITEMS = 1000  # up to so many items printing may compute the intervals

Record: TypeAlias = tuple[np.ndarray, np.ndarray, np.ndarray]


class Ranking:
    """Items with scores, best first, and how sure the scores and the ranks are.

    Made by a ranker, or by hand for items scored elsewhere. Standard errors and all that follows from them are
    computed when first asked for. What is held fixed matters: intervals are of a score *with the mean of all scores
    held fixed*, unless another reference is named, and no anchor changes their width. Items that only won or only lost
    have open-ended scores; the mean is then that of the others.

    Parameters
    ----------
    items : sequence of labels
    scores : array of float, aligned with `items`; higher is better
    information : Information, a function that returns one (called on first use), or None
        None when the ranker has no likelihood: intervals are then refused.
    posterior : Information, a function that returns one, or None
        For scores under a prior from the data: the curvature of loss and prior. `information` is then that of the
        likelihood, with its own optimum; score intervals come from it, ranks and probabilities from the posterior.
    spreads : tuple of Alternative, a function that returns one, or None
        The spreads of the true scores that the votes leave possible, and what the posterior is under each.
    unit : float
        Units of `scores` per log-odds: 400 / ln 10 on the Elo scale.
    record : (wins, losses, ties), a function that returns them, or None
        Weight sums per item.
    uncertainty : "auto", "hessian", "sandwich", "cluster" or "bootstrap"
        Where the standard errors come from; see `with_uncertainty`.
    cluster : str or None
        For "cluster": "judge", "group" or "ranking".
    note : str or None
        A sentence shown below the table, for instance what is anchored.
    covariance : ScoreCovariance or None
        How the scores vary, where that was worked out with them; no other errors can then be asked for.
    credible : bool
        Whether `information` is itself a posterior's, under a prior from the votes: ranks are then read from it.

    Attributes
    ----------
    items, scores, unit, uncertainty, cluster, note, credible
    reference, rank_method : what intervals hold fixed and how rank intervals are found unless told; see `shown`

    Examples
    --------
    >>> ranking = Ranking(["tea", "milk", "coffee"], [0.4, -1.0, 0.6])
    >>> ranking.order
    ('coffee', 'tea', 'milk')
    >>> ranking.score("milk")
    -1.0
    """

    def __init__(
        self,
        items: Sequence[Hashable],
        scores: Any,
        *,
        information: Information | Callable[[], Information] | None = None,
        posterior: Information | Callable[[], Information] | None = None,
        spreads: tuple[Alternative, ...] | Callable[[], tuple[Alternative, ...]] | None = None,
        unit: float = 1.0,
        record: Record | Callable[[], Record] | None = None,
        uncertainty: str = "auto",
        cluster: str | None = None,
        note: str | None = None,
        covariance: ScoreCovariance | None = None,
        credible: bool = False,
    ) -> None:
        self.items = tuple(distinct_labels(items))
        if uncertainty not in inference.KINDS:
            known = ", ".join(inference.KINDS)
            raise InputError(f"uncertainty {uncertainty!r} is not known; choose one of {known}")
        self.scores = _numbers(scores)
        if self.scores.shape != (len(self.items),):
            raise InputError(
                f"{counted(len(self.items), 'item')}: give as many scores; got an array of shape {self.scores.shape}"
            )
        if not np.isfinite(self.scores).all():
            bad = int(np.flatnonzero(~np.isfinite(self.scores))[0])
            raise InputError(f"the score of {self.items[bad]!r} is {self.scores[bad]}; scores must be finite")
        self.scores.setflags(write=False)
        self.unit = float(unit)
        self.uncertainty = uncertainty
        self.cluster = cluster
        self.note = note
        self.credible = credible
        self._information = information
        self._posterior = posterior
        self._spreads = spreads
        self._posterior_covariance: ScoreCovariance | None = None
        self._posterior_variances: ScoreCovariance | None = None
        self._record = record
        self._covariance = covariance
        self._came_with_errors = covariance is not None
        self._variances: ScoreCovariance | None = None  # perhaps without covariances, which take longer
        self._index: dict[Hashable, int] | None = None
        self.reference: Hashable = None
        self.rank_method: str | None = None

    # The order

    @property
    def order(self) -> tuple[Hashable, ...]:
        """Labels, best first; equal scores keep the order of `items`."""
        return tuple(self.items[i] for i in self._best_first())

    @property
    def ranks(self) -> np.ndarray:
        """Rank of each item, from 1; equal scores share the better rank."""
        return ranks(self.scores)

    def score(self, item: Hashable) -> float:
        """Return the score of one item."""
        return float(self.scores[self._index_of(item)])

    def __len__(self) -> int:
        return len(self.items)

    def __iter__(self) -> Iterator[Hashable]:
        """Go through the labels, best first."""
        return iter(self.order)

    # Uncertainty

    @property
    def information(self) -> Information | None:
        """What the ranker said about the curvature of its loss; None without a likelihood."""
        if callable(self._information):
            self._information = self._information()
        return self._information

    @property
    def posterior(self) -> Information | None:
        """Curvature of the loss and of the prior that the scores were found under; None without a prior."""
        if callable(self._posterior):
            self._posterior = self._posterior()
        return self._posterior

    @property
    def spreads(self) -> tuple[Alternative, ...]:
        """Spreads of the true scores that the votes leave possible, with their probabilities; empty where one is taken.

        That is so with very many items, with a spread that was given, and without a penalty from the votes.
        """
        if callable(self._spreads):
            self._spreads = self._spreads()
        return self._spreads or ()

    @property
    def record(self) -> Record | None:
        """Wins, losses and ties of each item, as sums of weights; None when the ranker keeps no record."""
        if callable(self._record):
            self._record = self._record()
        return self._record

    @property
    def std_errors(self) -> np.ndarray | None:
        """Standard error of each score with the mean held fixed, in the scores' unit; None without a likelihood.

        Infinite for an item that only won or only lost: the votes put no end to its score on one side. The mean held
        fixed is that of the other items.
        """
        if self.information is None:
            return None
        fixed = self._reference(self.reference)
        if fixed is not None:
            return self._errors_against(fixed)
        covariance = self._known_variances()
        errors: np.ndarray = self.unit * np.sqrt(covariance.variance)
        for mask in (covariance.open_above, covariance.open_below):
            if mask is not None:
                errors = np.where(mask, np.inf, errors)
        return errors

    @property
    def estimates(self) -> np.ndarray:
        """Scores by the votes alone, around which confidence intervals lie; `scores` if no penalty came from the votes.

        An item that only won or only lost has none: it keeps its score.
        """
        if self.posterior is None:
            return self.scores
        ends = self._known_variances().open_ended
        centres = self.unit * self._likelihood_scores()
        return centres if ends is None else np.where(ends, self.scores, centres)

    @property
    def covariance(self) -> np.ndarray | None:
        """Covariance of the scores, the mean held fixed, in log-odds; None with too many items or no likelihood."""
        return None if self.information is None else self._known_covariance().matrix

    def intervals(
        self, level: float = 0.95, reference: Hashable = None, kind: str = "confidence"
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the lower and upper bounds of every score, with the reference's score held fixed.

        `kind="confidence"` gives the intervals of the likelihood, which hold each true score, the best one's too. With
        a penalty from the data (`l2="auto"`) scores are pulled together and these intervals lie around the scores
        without it; `kind="credible"` then gives the posterior's, which are right on average over items.

        `reference` is None or "mean" (of all items, or of those with bounded scores) or an item: the bounds are then
        those of the difference to that item, laid around the scores, and the item itself has none to either side. An
        item called "mean" is asked for by `("item", "mean")`. With more than 5,000 items the difference is treated as
        if the two scores were independent.
        """
        width = inference.quantile(level)
        fixed = self._reference(self.reference if reference is None else reference)
        if kind == "credible":
            known = self._credible(variances_only=fixed is None)
            lower, upper = known.bounds(self._plain_scores(), width, fixed)
        elif kind == "confidence":
            known = self._known_variances() if fixed is None else self._known_covariance()
            lower, upper = known.bounds(self._likelihood_scores(fixed), width, fixed)
        else:
            raise InputError(f"kind={kind!r} is not known; use 'confidence' or 'credible'")
        return self.unit * lower, self.unit * upper

    def rank_intervals(
        self, level: float = 0.95, simultaneous: bool = False, method: str | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the best and worst rank each item may have, from 1.

        Each interval holds the item's true rank with probability `level`, that of the best and the last too; with
        `simultaneous=True` all of them do at once. Items that are truly equal share all their ranks.

        `method="pairwise"` counts an item above another when their difference is clear of zero under the posterior: it
        needs penalties from the votes (`l2="auto"`, or those of `RABF`), where simulations show that it holds.
        `method="guaranteed"` bounds all differences of the item at once by the likelihood (Mogstad, Romano, Shaikh and
        Wilhelm 2024): wider, with a theorem. None is the first where it can be had, else the second, unless `shown`
        chose one.
        """
        method = method or self.rank_method
        best, worst = inference.rank_intervals(*self._view(method), level, simultaneous, self._rank_method(method))
        if self.posterior is not None:  # errors from elsewhere are about scores that lie elsewhere, too
            best, worst = np.minimum(best, self.ranks), np.maximum(worst, self.ranks)
        return best, worst

    def tiers(self, level: float = 0.95) -> list[tuple[Hashable, ...]]:
        """Return groups of items, best first: the first of a group is better than every item of the groups below.

        All these statements are true together with probability `level`.
        """
        numbers = self.tier_numbers(level)
        groups: list[list[Hashable]] = [[] for _ in range(int(numbers.max(initial=0)))]
        for i in self._best_first():
            groups[numbers[i] - 1].append(self.items[i])
        return [tuple(group) for group in groups]

    def tier_numbers(self, level: float = 0.95) -> np.ndarray:
        """Return the tier of each item, from 1, aligned with `items`."""
        return inference.tiers(*self._view(), level, self._rank_method())

    def probability_above(self, one: Hashable, other: Hashable) -> float:
        """Return the confidence that `one` is truly above `other`; not the chance to win a single comparison.

        NaN when one of them only won or only lost: where its score lies, the votes do not say.
        """
        indices = self._index_of(one), self._index_of(other)
        return inference.probability_above(*self._view(), *indices)

    def probability_best(self) -> np.ndarray:
        """Return the probability that each item is truly first, by simulation; the values sum to one.

        With a penalty from the votes (`l2="auto"`) it is that of the posterior, over all spreads of the true scores
        that the votes leave possible: right on average over close and wide fields of scores that are about normal. An
        item that was never compared with the rest is taken for an average one. Votes with ties counted half, with
        uneven weights and, with errors by clusters, of one cluster are taken for as many independent wins and losses as
        they are worth. Without a penalty from the votes it is a confidence by the
        likelihood, which claims too much when votes are few; items that only won or only lost then have NaN, and the
        others' values are about being first among themselves.
        """
        if self.posterior is None:
            return inference.probability_best(*self._view())
        together = dataclasses.replace(self.posterior, groups=None, alternatives=self.spreads)
        known, cluster = self._require_information(), self._source()[1]
        worth = inference.votes_worth(known, self._tied_share())
        if cluster is not None:
            worth *= inference.cluster_worth(known, cluster, self._credible(variances_only=True).variance)
        return inference.probability_best_over(inference.posteriors(together, self._plain_scores(), worth))

    def top_set(self, k: int, level: float = 0.95) -> tuple[Hashable, ...]:
        """Return items, best first, among which all of the true top `k` are with probability at least `level`."""
        inside = inference.top_set(*self._view(), k, level, self._rank_method())
        return tuple(self.items[i] for i in self._best_first() if inside[i])

    def differences(self, level: float = 0.95) -> pl.DataFrame:
        """Return a frame of the differences between all pairs of items, best first, by the likelihood.

        Columns: item, against, difference, std_error, lower, upper, p_value, p_adjusted (by Holm, so that all rows may
        be read at once) and significant: with probability `level` no pair of equal items is called so. Up to 5,000
        items.
        """
        covariance = self._known_covariance()
        if covariance.matrix is None:
            raise InputError(f"{len(self):,} items have too many pairs for a table of differences; rank fewer items")
        rows = self._best_first()
        scores = self._likelihood_scores()
        ordered = covariance.among(rows)
        items = [self.items[i] for i in rows]
        return difference_frame(items, scores[rows], ordered, unit=self.unit, level=level)

    def quasi_variances(self) -> np.ndarray:
        """Return numbers q, in the scores' unit squared, with q_i + q_j close to the variance of any difference.

        Firth and de Menezes (2004). With them a reader of the table can compare any two items without the covariances:
        their difference has a standard error of about √(q_i + q_j). Items that only won or only lost have NaN.
        """
        covariance = self._known_covariance()
        if covariance.matrix is None:
            raise InputError(f"{len(self):,} items have too many pairs for quasi-variances; rank fewer items")
        ends = covariance.open_ended
        bounded = np.arange(len(self)) if ends is None else np.flatnonzero(~ends)
        values = np.full(len(self), np.nan)
        values[bounded] = self.unit**2 * inference.quasi_variances(covariance.matrix[np.ix_(bounded, bounded)])[0]
        return values

    def with_uncertainty(
        self,
        kind: str,
        *,
        cluster: str | None = None,
        replicates: int = 1000,
        seed: int | None = None,
        jobs: int | None = 1,
        engine: Any = None,
    ) -> Ranking:
        """Return a ranking with the same scores whose standard errors come from elsewhere.

        Parameters
        ----------
        kind : str
            "hessian": the curvature of the likelihood, right when the model is. "sandwich": also right when weights are
            not counts. "auto": the first when they are counts, else the second. "cluster": also right when the votes
            of one judge, group or ranking go together. "bootstrap": that of refits on resampled votes (or
            clusters); of one Newton step each where the model has more parameters than the scores.
        cluster : str or None
            "judge", "group" or "ranking"; may be left out when the votes name only one of them.
        replicates, seed, jobs, engine
            For the bootstrap; `jobs` processes share the refits, or the workers of `engine` (a `distributed.Client`),
            and what they find does not depend on how many.
        """
        known = self._require_information()
        if self._came_with_errors:
            raise InputError("the errors of this ranking were worked out with its scores; fit votes alone for others")
        cluster = known.require(kind, cluster)
        if cluster is not None and known.cluster_count(cluster) < 2:
            raise InputError(f"all votes are of one {cluster}: nothing says how {cluster}s differ; use 'sandwich'")
        ranking = Ranking(
            self.items,
            self.scores,
            information=known,
            posterior=self._posterior,
            spreads=self._spreads,
            unit=self.unit,
            record=self._record,
            uncertainty=kind,
            cluster=cluster,
            note=self.note,
            credible=self.credible,
        )
        ranking.reference, ranking.rank_method = self.reference, self.rank_method
        if kind == "bootstrap":
            ranking._covariance = inference.score_covariance(
                known, kind, cluster, replicates=replicates, seed=seed, jobs=jobs, engine=engine
            )
        return ranking

    def shown(self, *, reference: Hashable = None, rank_method: str | None = None) -> Ranking:
        """Return the same ranking with intervals relative to `reference`, and rank intervals by `rank_method`.

        They then hold wherever nothing else is asked for: in tables, pictures and reports. See `intervals` and
        `rank_intervals` for what they mean.

        >>> ranking = Ranking(["tea", "milk"], [0.4, -1.0])
        >>> ranking.shown(reference="milk").reference
        'milk'
        """
        self._reference(reference)
        if rank_method is not None and self._rank_method(rank_method) not in inference.RANK_METHODS:
            ways = " or ".join(map(repr, inference.RANK_METHODS))
            raise InputError(InPython(f"rank_method={rank_method!r}"), f" is not known; use {ways}")
        changed = Ranking.__new__(Ranking)
        vars(changed).update(vars(self), reference=reference, rank_method=rank_method)
        return changed

    # Tables

    def to_frame(self, level: float | None = 0.95, simultaneous: bool = False) -> pl.DataFrame:
        """Return a polars frame, one row per item, best first; what is not known is null.

        With `level=None` no uncertainty is computed and its columns are null. `simultaneous` is about the rank
        intervals. An item with an open-ended score has an infinite bound.
        """
        rows = self._best_first()
        known = {name: values[rows] for name, values in self._columns(level, simultaneous).items()}
        return leaderboard.frame([self.items[i] for i in rows], known)

    def _columns(self, level: float | None, simultaneous: bool) -> dict[str, np.ndarray]:
        known: dict[str, np.ndarray] = {"score": self.scores, "rank": self.ranks}
        if level is not None and self.information is not None:
            errors = self.std_errors
            assert errors is not None, "there is information"
            known["std_error"] = errors
            known["lower"], known["upper"] = self.intervals(level)
            known["rank_lower"], known["rank_upper"] = self.rank_intervals(level, simultaneous)
            known["tier"] = self.tier_numbers(level)
        if self.record is not None:
            known["wins"], known["losses"], known["ties"] = self.record
            known["comparisons"] = known["wins"] + known["losses"] + known["ties"]
        return known

    def __repr__(self) -> str:
        heads, columns, notes = self._shown()
        return "\n".join([aligned(heads, columns), *notes])

    def _repr_html_(self) -> str:
        return html_table(*self._shown())

    def _shown(self) -> tuple[list[str], list[list[str]], list[str]]:
        """Heads, columns and remarks of the printed table. Printing never fails: what went wrong becomes a remark."""
        indices = self._best_first()[:MAX_PRINTED_ROWS]
        digits = leaderboard.score_digits(self.unit, self.scores)
        rank = self.ranks
        heads = ["rank", "item", "score"]
        columns = [
            [str(rank[i]) for i in indices],
            [str(self.items[i]) for i in indices],
            [number(self.scores[i], digits) for i in indices],
        ]
        notes = [f"… and {len(self) - MAX_PRINTED_ROWS} more"] if len(self) > MAX_PRINTED_ROWS else []
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DataWarning)  # the remarks say it
                more = self._interval_columns(indices, digits)
                notes += self._remarks()
                heads, columns = heads + ["interval", "ranks", "tier"][: len(more)], columns + more
        except Exception as problem:
            notes.append(f"no intervals: {problem}")
        return heads, columns, notes + ([self.note] if self.note else [])

    def _interval_columns(self, indices: np.ndarray, digits: int) -> list[list[str]]:
        """Intervals, ranks and tiers in words; nothing when they are not known or would take long."""
        if self.information is None or not self._quick:
            return []
        values = (*self.intervals(), *self.rank_intervals(), self.tier_numbers())
        return leaderboard.interval_cells(*(each[indices] for each in values), digits=digits)

    def _remarks(self) -> list[str]:
        if self.information is None:
            return ["no intervals: this ranking has scores only"]
        if not self._quick:
            return ["intervals are computed when asked for: .intervals(), .rank_intervals(), .to_frame()"]
        within = self.posterior is not None and self.posterior.ridge == self.information.ridge  # as where scores move
        lines = leaderboard.remarks(
            self.information,
            (self.uncertainty, self.cluster),
            self._source(),
            self.held_fixed,
            credible=(self.credible or within) and self.uncertainty in ("auto", "hessian"),
        )
        if self.posterior is not None and self.posterior.ridge > 0:
            lines.append(leaderboard.prior_words(self.posterior.ridge**-0.5))
        return lines

    @property
    def error_source(self) -> str:
        """Where the standard errors come from, in words, as in "clustered by judge"."""
        return leaderboard.error_source((self.uncertainty, self.cluster), self._source())

    @property
    def held_fixed(self) -> str:
        """What intervals hold fixed, in words: the mean score, or that of the items whose score has both ends."""
        if (fixed := self._reference(self.reference)) is not None:
            return f"score of {self.items[fixed]!r}"
        ends = self._known_variances().open_ended
        bounded = len(self) if ends is None else int(np.count_nonzero(~ends))
        if bounded == 1 < len(self):
            return "score of the one bounded item"
        return f"mean of the {bounded} bounded items" if 0 < bounded < len(self) else "mean score"

    @property
    def _quick(self) -> bool:
        """Whether printing may tell how sure the scores are: it is known, or soon found."""
        return self._covariance is not None or self._variances is not None or len(self) <= MAX_QUICK_ITEMS

    # Underneath

    def __eq__(self, other: object) -> bool:
        """Equal items with equal scores, in the same order, and standard errors from the same source."""
        if not isinstance(other, Ranking):
            return NotImplemented
        mine = (self.items, self.unit, self.uncertainty, self.cluster)
        theirs = (other.items, other.unit, other.uncertainty, other.cluster)
        return mine == theirs and np.array_equal(self.scores, other.scores)

    __hash__ = None  # type: ignore[assignment]

    state_version: ClassVar[int] = 3  # since a ranking knows whether its errors are a posterior's

    @classmethod
    def upgraded(cls, state: dict[str, Any], version: int) -> dict[str, Any]:
        """Earlier versions kept less; `__setstate__` knows what."""
        return state

    def __getstate__(self) -> dict[str, Any]:
        """Values only: what was to be computed on first use is computed now; what can be computed again is left out."""
        posterior = self.posterior
        if posterior is not None and self.spreads:
            posterior = dataclasses.replace(posterior, alternatives=self.spreads)
        return {
            "items": self.items,
            "scores": self.scores,
            "unit": self.unit,
            "uncertainty": self.uncertainty,
            "cluster": self.cluster,
            "note": self.note,
            "credible": self.credible,
            "reference": self.reference,
            "rank_method": self.rank_method,
            "_information": self.information,
            "_posterior": posterior,
            "_record": self.record,
            "_covariance": self._covariance if self._came_with_errors or self.uncertainty == "bootstrap" else None,
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(
            {"_posterior": None, "reference": None, "rank_method": None, "credible": False} | state,
            _index=None,
            _spreads=(),
            _posterior_covariance=None,
            _posterior_variances=None,
            _variances=None,
            _came_with_errors=state["_covariance"] is not None and state["uncertainty"] != "bootstrap",
        )
        posterior = self._posterior
        if posterior is not None and not callable(posterior) and posterior.alternatives:
            self._spreads = posterior.alternatives
            self._posterior = dataclasses.replace(posterior, alternatives=())
        self.scores.setflags(write=False)

    def _tied_share(self) -> float:
        """Share of the votes that are ties, by weight."""
        if self.record is None:
            return 0.0
        wins, losses, ties = (float(each.sum()) for each in self.record)
        return ties / (wins + losses + ties) if wins + losses + ties > 0 else 0.0

    def _best_first(self) -> np.ndarray:
        return np.argsort(-self.scores, kind="stable")

    def _plain_scores(self) -> np.ndarray:
        """Scores in log-odds, where the covariance is."""
        plain: np.ndarray = self.scores / self.unit
        return plain

    def _likelihood_scores(self, fixed: int | None = None) -> np.ndarray:
        """Where confidence intervals lie: at the scores, or with a posterior at those that the likelihood alone gives.

        These have the same mean over the items with bounded scores, or the same score of the item held fixed.
        """
        scores, known = self._plain_scores(), self._require_information()
        if self.posterior is None or known.scores is None:
            return scores
        ends = self._known_variances().open_ended
        held = np.arange(len(self)) if ends is None or ends.all() else np.flatnonzero(~ends)
        held = held if fixed is None else np.array([fixed])
        moved: np.ndarray = known.scores + (scores[held].mean() - known.scores[held].mean())
        return moved

    def _credible(self, variances_only: bool = False) -> ScoreCovariance:
        if self.posterior is None:
            raise InputError("credible intervals need a prior: use ", Option("l2", "auto"), ", or kind='confidence'")
        if variances_only and inference.has_quick_variances(self.posterior, "hessian"):
            if self._posterior_variances is None:
                self._posterior_variances = inference.posterior_covariance(self.posterior, variances_only=True)
                if self._posterior_variances.matrix is not None:
                    self._posterior_covariance = self._posterior_variances
            return self._posterior_variances
        if self._posterior_covariance is None:
            self._posterior_covariance = inference.posterior_covariance(self.posterior)
        return self._posterior_covariance

    def _rank_method(self, method: str | None = None) -> str:
        """The way to rank intervals: that asked for, else the narrower one where there is a posterior."""
        pairwise = (self.credible or self.posterior is not None) and self.uncertainty == "auto"
        if method == "pairwise" and not pairwise:
            raise InputError(
                InPython("method='pairwise'"),
                " needs a posterior: use ",
                Option("l2", "auto"),
                ", or RABF with penalties from the votes, and its own errors; or 'guaranteed'",
            )
        return method or ("pairwise" if pairwise else "guaranteed")

    def _view(self, method: str | None = None) -> tuple[np.ndarray, ScoreCovariance]:
        """Scores and covariance that ranks and probabilities are read from: the posterior, unless errors were named."""
        if self._rank_method(method) == "pairwise":
            return self._plain_scores(), self._known_covariance() if self.credible else self._credible()
        return self._likelihood_scores(), self._known_covariance()

    def difference_variance(self, one: np.ndarray, other: np.ndarray) -> np.ndarray:
        """Posterior variance of score differences between items by place, in squared log-odds; 0 without a prior."""
        one, other = (row_numbers(each, len(self.items), what) for each, what in ((one, "one"), (other, "other")))
        if one.shape != other.shape:
            raise InputError(f"one has {len(one)} places and other {len(other)}; give as many of both")
        if self.posterior is None:
            return np.zeros(np.broadcast(one, other).shape)
        covariance = self._credible()
        total = covariance.variance[one] + covariance.variance[other]
        if covariance.matrix is not None:
            total = total - 2.0 * covariance.matrix[one, other]
        kept: np.ndarray = np.maximum(total, 0.0)
        return kept

    def _index_of(self, item: Hashable) -> int:
        if self._index is None:
            self._index = {label: i for i, label in enumerate(self.items)}
        try:
            return self._index[item]
        except (KeyError, TypeError):
            near = difflib.get_close_matches(str(item), [str(label) for label in self.items[:100_000]], n=3)
            hint = f"did you mean {' or '.join(map(repr, near))}?" if near else f"the {len(self)} items are in `items`"
            raise InputError(f"{item!r} is not in this ranking; {hint}") from None

    def _require_information(self) -> Information:
        known = self.information
        if known is None:
            raise InputError(
                "this ranking has scores only, so no intervals exist; use a ranker with a likelihood, as Bradley-Terry"
            )
        return known

    def _source(self) -> tuple[str, str | None]:
        """Where the standard errors come from, "auto" and clusters of which there is only one resolved."""
        known = self._require_information()
        cluster = known.require(self.uncertainty, self.cluster)
        if cluster is not None and known.cluster_count(cluster) < 2:
            return known.choose("auto"), None
        return known.choose(self.uncertainty), cluster

    def _known_covariance(self) -> ScoreCovariance:
        if self._covariance is None:
            self._covariance = self._estimated(variances_only=False)
        return self._covariance

    def _known_variances(self) -> ScoreCovariance:
        """What is needed of each score alone; the same whether or not covariances were asked for before."""
        known = self._require_information()
        if self._came_with_errors:
            return self._known_covariance()
        kind = known.choose("auto") if self.uncertainty == "auto" else self.uncertainty
        if not inference.has_quick_variances(known, kind):
            return self._known_covariance()
        if self._variances is None:
            self._variances = self._estimated(variances_only=True)
            if self._variances.matrix is not None:
                self._covariance = self._variances
        return self._variances

    def _estimated(self, variances_only: bool) -> ScoreCovariance:
        known, (kind, cluster) = self._require_information(), self._source()
        if cluster is None and kind != self.uncertainty and self.uncertainty == "cluster":
            warnings.warn(
                f"all votes are of one {self.cluster}, so errors cannot be clustered: they are those of "
                "independent votes, and likely too small",
                DataWarning,
                stacklevel=4,
            )
        return inference.score_covariance(known, kind, cluster, variances_only=variances_only)

    def _errors_against(self, fixed: int) -> np.ndarray:
        """Standard errors of the differences to one item."""
        covariance = self._known_covariance()
        errors: np.ndarray = self.unit * np.sqrt(covariance.differences(fixed))
        ends = covariance.open_ended
        if ends is not None:
            errors = np.where(ends | ends[fixed], np.inf, errors)
        errors[fixed] = 0.0
        return errors

    def _reference(self, reference: Hashable) -> int | None:
        """Place of the item held fixed; None for the mean."""
        if isinstance(reference, str) and reference == "mean":
            if "mean" in self.items:
                raise InputError(
                    "'mean' is an item here: give ('item', 'mean') for it, or None for the mean of the scores"
                )
            return None
        if isinstance(reference, tuple) and len(reference) == 2 and reference[0] == "item":
            return self._index_of(reference if reference in self.items else reference[1])
        return None if reference is None else self._index_of(reference)


def _numbers(scores: Any) -> np.ndarray:
    """The scores as an array of their own; what is no number is refused, not made one."""
    try:
        array = np.asarray(scores)
        if array.dtype.kind in "cmMV":
            raise TypeError(f"they are {array.dtype}")
        return np.array(array, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as problem:
        raise InputError(f"scores must be numbers, one for each item ({problem})") from problem
