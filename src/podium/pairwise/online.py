"""OnlineRABF: rank aggregation with features, one vote at a time."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Iterable, Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from podium.data.comparisons import Comparisons, as_comparisons
from podium.data.features import FeatureSpec, few, is_sparse, read_features
from podium.data.tables.labels import item_of
from podium.data.validation import choice_option, flag_option, number_option
from podium.errors import DataWarning, InputError, InPython, Option
from podium.kernels.pairwise.online import sgd
from podium.pairwise._fit.rows import vote_targets
from podium.pairwise.base import Ranker, Uses, logistic
from podium.ranking.ranking import Ranking

__all__ = ["OnlineRABF"]

Floats = NDArray[np.float64]

LOSSES = ("logistic", "squared")
MAX_FEATURE = 1e150  # its square, times the number of items, is still a number
SCHEDULES = ("constant", "sqrt", "strong")


class OnlineRABF(Ranker):
    """Learn u = X w + r by one stochastic gradient step a vote (Appendix C, rule 19, of the RABF paper).

        w ← w − η (∂ℓ/∂w + λ_w w),   r ← r − η (∂ℓ/∂r + λ_r r)

    A step costs O(features), not O(items): the shrinkage of all residuals is one common factor. Its penalties stand
    beside a single vote's loss: to aim at the optimum of `RABF` on m votes, give 2/m of its penalties here.

    Rule 19 diverges when η is large for the features of a vote, so the gradient's part of the step is capped: a vote
    moves the difference of its own two scores by at most 1 (log loss), or half the way to its target (squared loss).
    As η falls the cap ceases to matter.

    Parameters
    ----------
    loss : "logistic" or "squared"
    feature_penalty, residual_penalty : float ≥ 0
        λ_w and λ_r of the rule.
    schedule : "sqrt", "constant" or "strong"
        Step size η = step/√t; step; or 1/(λ (t + t₀)) with λ the smaller penalty, which converges fastest and needs
        both positive. t₀ is chosen so that no step shrinks by more than half, nor is longer than `step`.
    step : float
    average : bool or "auto"
        Rank by the mean of all iterates instead of the last: steadier, slower to follow change. "auto" does so with the
        squared loss, whose steps, up to half the way to a target that is mostly noise, leave the last one far off.
    flip_rate : float in [0, ½)
        Share ρ of votes known to be reported the wrong way round: the log loss is that of the votes as reported, as in
        `RABF`; with the squared loss targets are divided by 1 − 2ρ (Lemma 5).
    standardize : bool
        Learn as if features were divided by their standard deviation over the items known so far, so that units do not
        matter; `coef_` is in the user's units all the same. Votes are learned from at the scale of their time: items
        made known before the first vote settle it. With False the features are taken as they are, as in the paper.

    Attributes
    ----------
    ranking_ : Ranking
        At any time; scores only.
    coef_, residuals_, feature_names_, n_votes_

    Examples
    --------
    >>> model = OnlineRABF()
    >>> for winner, loser in [("tea", "milk"), ("tea", "cola"), ("cola", "milk")]:
    ...     _ = model.update(winner, loser)
    >>> model.ranking_.order
    ('tea', 'cola', 'milk')
    """

    uses = Uses(features=True, margins=True, time=True, order=True)
    state_version = 2  # since flips

    @classmethod
    def upgraded(cls, state: dict[str, Any], version: int) -> dict[str, Any]:
        """Version 1 knew no flips."""
        return {"flip_rate": 0.0} | state

    _begins_with = "fit(comparisons) or update(winner, loser)"
    _spec: FeatureSpec

    def __init__(
        self,
        *,
        loss: str = "logistic",
        feature_penalty: float = 1e-4,
        residual_penalty: float = 1e-4,
        schedule: str = "sqrt",
        step: float = 0.5,
        average: bool | str = "auto",
        flip_rate: float = 0.0,
        standardize: bool = True,
    ) -> None:
        self.loss = loss
        self.feature_penalty = feature_penalty
        self.residual_penalty = residual_penalty
        self.schedule = schedule
        self.step = step
        self.average = average
        self.flip_rate = flip_rate
        self.standardize = standardize

    # ---- learning -------------------------------------------------------------------------------------------

    def fit(self, comparisons: Comparisons, features: Any = None, *, id: str | None = None) -> Self:
        """Forget everything and learn from these votes, in their order."""
        for name in ("_index", "_training"):
            vars(self).pop(name, None)
        return self.partial_fit(comparisons, features, id=id)

    def partial_fit(self, comparisons: Comparisons, features: Any = None, *, id: str | None = None) -> Self:
        """Go on with these votes. `features` is as in `RABF.fit`, and needed for items not known yet."""
        as_comparisons(comparisons)
        if not comparisons.ordered or comparisons.count is not None:
            raise InputError(
                "these votes are counted and have no order, which this ranker needs; keep each vote a row",
                InPython(" (keep=)"),
            )
        comparisons = comparisons.by_time()
        if features is not None:
            known = vars(self).get("_index", {})
            new = tuple(item for item in comparisons.items if item not in known)
            by_place = isinstance(features, np.ndarray | list | tuple) or is_sparse(features)
            items = comparisons.items if by_place or not new else new  # a table may hold newcomers only
            labels, matrix, spec = read_features(features, items, id=id, one_hot=None)
            self._begin(spec)
            self._add(labels, matrix)
            self._warn_of_constants()
        codes = self._codes_of(comparisons.items)
        left, right, outcome, weight = comparisons.vote_rows()
        target = outcome if self.loss == "logistic" else vote_targets(comparisons, outcome)
        self._step(codes[left], codes[right], target, weight)
        return self._fitted_to(comparisons)

    def add(self, features: Any) -> Self:
        """Make items known with their features: a mapping from label, as in `RABF.fit`. They join the ranking."""
        if not isinstance(features, Mapping):
            raise InputError("add takes a mapping from item to its features")
        labels, matrix, spec = read_features(features, tuple(features), one_hot=None)
        self._begin(spec)
        self._add(labels, matrix)
        return self

    def update(
        self,
        winner: Hashable,
        loser: Hashable,
        *,
        tie: bool = False,
        margin: float | None = None,
        weight: float = 1.0,
    ) -> Self:
        """Go on with one vote; `margin` is for the squared loss."""
        pair = item_of("winner", winner), item_of("loser", loser)
        if winner == loser:
            raise InputError(f"{winner!r} is compared with itself")
        if margin is not None and self.loss == "logistic":
            raise InputError("margin is for ", Option("loss", "squared"), "; the logistic loss knows who won only")
        number_option("weight", weight, least=0)
        if margin is not None:
            number_option("margin", margin)
        codes = self._codes_of(pair)
        target = (0.5 if tie else 1.0) if self.loss == "logistic" else (0.0 if tie else 1.0)
        target = target if margin is None else float(margin)
        self._step(codes[:1], codes[1:], np.array([target]), np.array([float(weight)]))
        return self

    def _begin(self, spec: FeatureSpec | None = None) -> None:
        """Check the options and start at zero, unless begun."""
        if "_index" in vars(self):
            if spec is not None and spec.names != self._spec.names:
                raise InputError(f"features are {few(spec.names)}; the model began with {few(self._spec.names)}")
            return
        self._check_options()
        self._spec = spec or FeatureSpec((), ())
        d = len(self._spec.names)
        self._index: dict[Hashable, int] = {}
        self._features, self._rest = np.empty((0, d)), np.zeros((3, 0))  # per item: r, and two sums for averages
        self._weights = np.zeros((3, d))
        self._moments = np.zeros((3, d))  # per feature, over known items: mean, sum of squares around it, largest size
        self._scalars = np.array([0.0, 1.0, 1.0, 0.0, 0.0])  # votes; factors of w and r; their sums over votes

    def _check_options(self) -> None:
        choice_option("loss", self.loss, LOSSES)
        choice_option("schedule", self.schedule, SCHEDULES)
        if not (isinstance(self.average, str) and self.average == "auto"):
            flag_option("average", self.average)
        flag_option("standardize", self.standardize)
        number_option("feature_penalty", self.feature_penalty, least=0)
        number_option("residual_penalty", self.residual_penalty, least=0)
        number_option("step", self.step, above=0)
        if number_option("flip_rate", self.flip_rate, least=0) >= 0.5:
            raise InputError(Option("flip_rate", self.flip_rate), ": a share of wrong votes lies in [0, 0.5)")
        if self.schedule == "strong":
            if min(self.feature_penalty, self.residual_penalty) == 0:
                raise InputError("schedule='strong' needs feature_penalty and residual_penalty above 0")
            return
        name = "feature_penalty" if self.feature_penalty > self.residual_penalty else "residual_penalty"
        largest = self.step * getattr(self, name)
        if largest >= 1:
            raise InputError(
                f"step={self.step!r}, ",
                Option(name, getattr(self, name)),
                f": step · penalty is {largest:g}; at 1 and beyond a step would turn scores over: lower either",
            )

    def _codes_of(self, items: Iterable[Hashable]) -> NDArray[np.int32]:
        self._begin()
        new = [item for item in items if item not in self._index]
        if new and self._spec.names:
            raise InputError(
                f"no features for {few(new)}; give them by ",
                Option("features"),
                InPython(", or make them known first: add({item: features})"),
            )
        if new:
            self._add(tuple(new), np.empty((len(new), 0)))
        return np.array([self._index[item] for item in items], dtype=np.int32)

    def _add(self, labels: tuple[Hashable, ...], matrix: Floats) -> None:
        far = np.argwhere(np.abs(matrix) > MAX_FEATURE)
        if len(far):
            item, k = far[0].tolist()
            value = f"{matrix[item, k]:g}, too large to be squared; divide the feature by a number"
            raise InputError(f"feature {self._spec.names[k]!r} of {labels[item]!r} is {value}")
        fresh = [k for k, label in enumerate(labels) if label not in self._index]
        self._warn_of_changes(labels, matrix)
        for k in fresh:
            self._index[labels[k]] = len(self._index)
        size = len(self._index)
        if size > len(self._features):  # room for as many again, so that newcomers cost little each
            room = 2 * size
            grown = np.zeros((room, matrix.shape[1])), np.zeros((3, room))
            old = size - len(fresh)
            grown[0][:old], grown[1][:, :old] = self._features[:old], self._rest[:, :old]
            self._features, self._rest = grown
        self._features[size - len(fresh) : size] = matrix[fresh]
        if fresh:
            self._moments = _merged(self._moments, size - len(fresh), matrix[fresh])

    def _warn_of_changes(self, labels: tuple[Hashable, ...], matrix: Floats) -> None:
        """Votes were learned from at the features of their time, so these stay; say so where a table differs."""
        known = [k for k, label in enumerate(labels) if label in self._index]
        places = [self._index[labels[k]] for k in known]
        off = np.flatnonzero((self._features[places] != matrix[known]).any(axis=1))
        if len(off):
            changed = few([labels[known[int(k)]] for k in off])
            warnings.warn(
                f"features of {changed} differ from those the model knows, which stay as they were",
                DataWarning,
                stacklevel=4,
            )

    def _precision(self) -> Floats:
        """1/scale² of each feature; 0 for one that is the same for all items known so far."""
        if not self.standardize:
            return np.ones(len(self._spec.names))
        _, squares, largest = self._moments
        variance = squares / max(len(self._index), 1)
        varies = np.sqrt(variance) > 1e-12 * largest
        return np.divide(1.0, variance, out=np.zeros_like(variance), where=varies)

    def _warn_of_constants(self) -> None:
        flat = [name for name, known in zip(self._spec.names, self._precision(), strict=True) if known == 0]
        if flat:
            warnings.warn(
                f"feature {few(flat)}: the same for every item known so far; it is ignored until items differ in it",
                DataWarning,
                stacklevel=3,
            )

    def _step(self, left: NDArray[np.int32], right: NDArray[np.int32], target: Floats, weight: Floats) -> None:
        self._moved()
        if self.flip_rate and self.loss == "squared":
            target = target / (1.0 - 2.0 * self.flip_rate)
        rate, offset = float(self.step), 0.0
        if self.schedule == "strong":
            rate = min(self.feature_penalty, self.residual_penalty)
            most = max(self.feature_penalty, self.residual_penalty)
            offset = max(2.0 * most / rate, 1.0 / (rate * self.step))
        sgd(
            np.ascontiguousarray(left),
            np.ascontiguousarray(right),
            np.ascontiguousarray(target, dtype=np.float64),
            weight,
            self._features,
            self._precision(),
            self.loss == "squared",
            float(self.flip_rate),
            SCHEDULES.index(self.schedule),
            rate,
            offset,
            float(self.feature_penalty),
            float(self.residual_penalty),
            1e-6 if self._averages() else 1e-100,  # sums for averages cancel more the smaller the factor is
            self._scalars,
            *(self._weights[0], self._rest[0], self._weights[1], self._rest[1], self._weights[2], self._rest[2]),
        )

    # ---- what was learned -----------------------------------------------------------------------------------

    def __sklearn_is_fitted__(self) -> bool:
        return bool(vars(self).get("_index"))

    def _outcomes(self, margins: Floats) -> tuple[Floats, Floats, Floats]:
        """Chances that votes with these margins are reported for the left item, and for the right."""
        if self.loss == "squared":
            return super()._outcomes(margins)
        win, tie, loss = logistic(margins)
        keep = 1.0 - 2.0 * self.flip_rate
        return self.flip_rate + keep * win, tie, self.flip_rate + keep * loss

    def predict(self, features: Any) -> Floats:
        """Scores of new items from their features: an array or frame with the columns learned from, a row per item."""
        self._check_fitted()
        if not self._spec.names:
            raise InputError("this model learned without features, so that it knows nothing of new items")
        rows = self._spec.read(features)
        rows = rows.toarray() if is_sparse(rows) else rows
        origin = self._moments[0] if self.standardize else 0.0
        scores: Floats = (rows - origin) @ self.coef_
        return scores

    def win_probability(self, a: Hashable, b: Hashable) -> float:
        """Chance that a vote, as it is reported, goes to `a`."""
        self._check_fitted()
        ranking = self.ranking_
        return float(self._outcomes(np.array([ranking.score(a) - ranking.score(b)]))[0][0])

    @property
    def in_margins(self) -> bool:
        """Whether scores are counted in the votes' margins."""
        return self.loss == "squared"

    def _averages(self) -> bool:
        return self.loss == "squared" if self.average == "auto" else bool(self.average)

    def _parts(self) -> tuple[Floats, Floats]:
        """w and r now, or their means over all votes."""
        self._check_fitted()
        votes, factor_w, factor_r, mass_w, mass_r = self._scalars.tolist()
        (w, late_w, sum_w), (r, late_r, sum_r) = self._weights, self._rest[:, : len(self._index)]
        if self._averages() and votes:
            return (sum_w + mass_w * w - late_w) / votes, (sum_r + mass_r * r - late_r) / votes
        return factor_w * w, factor_r * r

    @property
    def coef_(self) -> Floats:
        """Weights of the features."""
        return self._parts()[0]

    @property
    def residuals_(self) -> Floats:
        """What features do not explain, aligned with `ranking_.items`."""
        return self._parts()[1]

    @property
    def feature_names_(self) -> tuple[str, ...]:
        """Names of the features."""
        self._parts()
        return self._spec.names

    @property
    def feature_columns_(self) -> tuple[str, ...]:
        """Columns of the table of features."""
        self._parts()
        return self._spec.columns

    @property
    def n_votes_(self) -> int:
        """Votes seen."""
        self._parts()
        return int(self._scalars[0])

    @property
    def ranking_(self) -> Ranking:  # type: ignore[override]
        """The scores so far."""
        w, r = self._parts()
        origin = self._moments[0] if self.standardize else 0.0
        return Ranking(tuple(self._index), (self._features[: len(r)] - origin) @ w + r)


def _merged(moments: Floats, count: int, rows: Floats) -> Floats:
    """Mean, sum of squares around it and largest size of each column, after more rows (Chan et al. 1979)."""
    mean, squares, largest = moments
    centre, more = rows.mean(axis=0), len(rows)
    gap = centre - mean
    return np.stack(
        [
            mean + gap * more / (count + more),
            squares + ((rows - centre) ** 2).sum(axis=0) + gap**2 * count * more / (count + more),
            np.maximum(largest, np.abs(rows).max(axis=0)),
        ]
    )
