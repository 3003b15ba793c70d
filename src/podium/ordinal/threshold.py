"""A direction and thresholds learned one example at a time: what the passive-aggressive family and PRank share."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from podium.data.validation import check_is_fitted, entries_of
from podium.errors import InputError
from podium.kernels.ordinal import passes as kernel
from podium.kernels.ordinal.scale import learn_one as learn_scaled
from podium.ordinal.base import ThresholdClassifier
from podium.ordinal.dual import JUDGED, LAG, NOW, Kernel, SupportSet
from podium.ordinal.labels import Array, class_list
from podium.ordinal.online import NO_GRADES, NO_ORDER, NOT_FINITE, OnlineClassifier, finite, row_arrays

__all__ = ["OnlineThreshold"]

SETTLE = 2000  # examples after which the best candidate goes on alone
MAX_NEW_GRADES = 100  # that come at once of themselves
START_GAP = 1.0  # between the only threshold and one that comes beside it


class OnlineThreshold(OnlineClassifier, ThresholdClassifier):
    """A direction and thresholds moved by a kernel; with `average`, their means over all examples seen.

    Beside w the kernel keeps lag = sum of (t - 1) a_t x_t, so that the mean is w - lag / T and an example without an
    update costs nothing extra.

    There may be several candidates, each with its own C: all learn from every example, and each is judged by the
    errors of what it would have predicted, by its state when the candidates were last renewed. The one with the fewest
    leads: it is what the model tells. After SETTLE examples only the leader goes on.

    With a kernel there is no w: `_support` holds the examples that were updated on, and lanes hold thresholds only.
    """

    average: bool
    _support: SupportSet | None = None
    _finds_infinity = True

    def _start(self, n_features: int) -> None:
        self._averages = bool(self.average)
        self._steps = self._candidates()
        self.__dict__.pop("_support", None)
        if (support := self._support_set(n_features)) is not None:
            self._support = support
        size = self._width + len(self.classes_) - 1
        # One row a candidate: w, thresholds, and their lags, end to end.
        self._lanes = np.zeros((len(self._steps), 2 * size if self._averages else size))
        self._judged = np.zeros((len(self._steps) if len(self._steps) > 1 else 0, size))
        self._losses = np.zeros(len(self._steps))
        self._lead = 0
        self._scaled = np.empty(n_features)  # room for one example

    @property
    def _width(self) -> int:
        """The length of w; 0 where scores come from inner products."""
        return self._shape[0] if self._support is None else 0

    def _support_set(self, n_features: int) -> SupportSet | None:
        """The examples kept for inner products; None for a learner with a w."""
        return None

    def _inner(self) -> tuple[Kernel, float]:
        """The kernel, and how many examples are kept at most."""
        raise NotImplementedError

    def _candidates(self) -> Array:
        """The values of C to try; infinity where there is none."""
        raise NotImplementedError

    @property
    def _state(self) -> Array:
        state: Array = self._lanes[self._lead]
        return state

    def _parts(self, lane: int | None = None) -> tuple[Array, Array, Array, Array]:
        """Views of w, the thresholds and their lags, which are empty without averaging."""
        state = self._lanes[self._lead if lane is None else lane]
        d, size = self._width, self._width + len(self.classes_) - 1
        first, second = state[:size], state[size:]
        return first[:d], first[d:], second[:d], second[d:]

    def _means(self) -> tuple[Array, Array]:
        """w and the thresholds that the model tells, on the scale it learns on."""
        w, theta, lag, late = self._parts()
        if not self._averages:
            return w.copy(), theta.copy()
        seen = max(self.n_seen_, 1)
        # The last bit of a mean may break a tie the wrong way.
        return w - lag / seen, np.maximum.accumulate(theta - late / seen)

    @property
    def coef_(self) -> Array:  # type: ignore[override]
        """The direction w, (n_features,)."""
        check_is_fitted(self)
        if self._support is not None:
            raise AttributeError("a model with a kernel has no coef_; see support_vectors_ and dual_coef_")
        w, _ = self._means()
        return w if self._scale is None else w * self._scale.factor

    @property
    def thresholds_(self) -> Array:  # type: ignore[override]
        """The thresholds in increasing order, (K - 1,)."""
        check_is_fitted(self)
        w, theta = self._means()
        return (
            theta
            if self._scale is None or self._support is not None
            else theta + (w * self._scale.factor) @ self._scale.origin
        )

    def _code(self) -> int:
        raise NotImplementedError

    def _strength(self, weight: Array | None) -> Array:
        return np.ones(1) if weight is None else weight

    def _pass(
        self, X: Any, low: Array, high: Array, strength: Array, order: Array, predicted: Array, totals: Array
    ) -> int:
        if self._support is not None:
            return self._pass_by_products(X, low, high, strength, order, predicted, totals)
        before = self._lanes.copy()
        if len(self._judged):
            self._judge(X, low, high, strength, order)
        of_lead = 0
        for lane, step in enumerate(self._steps):
            leads = lane == self._lead
            results = (predicted, totals) if leads else (NO_GRADES, np.zeros(2))
            state = (*self._parts(lane), *results, self._code(), self.n_seen_)
            updates = kernel.learn_rows(*row_arrays(X), low, high, step * strength, order, *state)
            if updates < 0:
                self._lanes[:] = before
                self._not_finite(X)
            of_lead = updates if leads else of_lead
        return int(of_lead)

    def _pass_by_products(
        self, X: Any, low: Array, high: Array, strength: Array, order: Array, predicted: Array, totals: Array
    ) -> int:
        """The same where scores come from inner products: the examples that are updated on are kept."""
        assert self._support is not None
        X = np.asarray(X.toarray() if hasattr(X, "indptr") else X, dtype=np.float64)
        if not np.isfinite(X).all():
            self._not_finite(X)
        before = copy.deepcopy((self._support, self._lanes, self._losses)) if callable(self._inner_name()) else None
        seen, updates = self.n_seen_, 0
        try:
            for r in order.tolist() if len(order) else range(len(X)):
                strong = float(strength[0] if len(strength) == 1 else strength[r])
                if strong == 0:
                    continue
                grade, moved = self._learn_by_products(X[r : r + 1], int(low[r]), int(high[r]), strong, seen)
                if len(predicted):
                    predicted[r] = grade
                totals += (max(low[r] - grade, grade - high[r], 0), 1)
                seen, updates = seen + 1, updates + moved
        except InputError:
            if before is not None:
                self._support, self._lanes, self._losses = before
            raise
        return updates

    def _inner_name(self) -> Any:
        return getattr(self, "kernel", "linear")

    def _learn_by_products(self, x: Array, low: int, high: int, strength: float, seen: int) -> tuple[int, bool]:
        """Let every candidate learn from one example; return the leader's grade before it, and whether it moved."""
        support = self._support
        assert support is not None
        inner, budget = self._inner()
        along, length = support.products(x, inner)
        scores = support.coef[NOW, :, : support.size] @ along
        if len(self._judged):
            judged = support.coef[JUDGED, :, : support.size] @ along
            grades = (judged[:, None] >= self._judged).sum(axis=1)
            self._losses += np.abs(grades - np.clip(grades, low, high))
        steps, grade, moved = np.zeros(len(self._steps)), 0, False
        for lane, C in enumerate(self._steps.tolist()):
            _, theta, _, late = self._parts(lane)
            score = float(scores[lane])
            if lane == self._lead:
                grade = int(np.searchsorted(theta, score, side="right"))
                # Thresholds may move where w does not, when both sides pull alike.
                moved = bool((theta[:low] > score - 1.0).any() or (theta[high:] < score + 1.0).any())
            steps[lane] = kernel.learn_scored(score, length, low, high, C * strength, theta, late, self._code(), seen)
        if steps.any():
            raw = None if self._scale is None else self._unscaled(x[0])
            support.add(x[0], raw, along, length, steps, seen, budget, inner)
        return grade, moved

    def _unscaled(self, z: Array) -> Array:
        """A row of the learner's scale in the units of X; a feature that never varied has its mean."""
        assert self._scale is not None
        factor = self._scale.factor
        away = np.divide(z, factor, out=np.zeros_like(z), where=factor > 0)
        raw: Array = away + self._scale.origin
        return raw

    def _project(self, X: Any) -> Array:
        if self._support is None:
            return super()._project(X)
        rows = np.asarray(X.toarray() if hasattr(X, "indptr") else X, dtype=np.float64)
        return self._score_scaled(rows if self._scale is None else self._scale.apply(rows))

    def _score_scaled(self, X: Any) -> Array:
        """Scores of rows on the learner's scale, as the model tells them."""
        if self._support is None:
            scores = np.asarray(X @ self._means()[0], dtype=float)
            return scores if self._scale is None else scores + self.coef_ @ self._scale.origin
        rows = X.toarray() if hasattr(X, "indptr") else X
        return self._support.scores(self._dual(), np.asarray(rows, dtype=np.float64), self._inner()[0])

    def _dual(self) -> Array:
        """Coefficients of the examples kept, of the leader, as the model tells them."""
        assert self._support is not None
        coef = self._support.coef[:, self._lead]
        mean: Array = coef[NOW] - (coef[LAG] / max(self.n_seen_, 1) if self._averages else 0.0)
        return mean

    def _judge(self, X: Any, low: Array, high: Array, strength: Array, order: Array) -> None:
        """Count the candidates' errors on rows that they are about to learn."""
        if len(order):
            X, low, high = X[order], low[order], high[order]
        d = self._shape[0]
        grades = ((X @ self._judged[:, :d].T)[:, :, None] >= self._judged[:, d:]).sum(axis=2)
        away = grades - np.clip(grades, low[:, None], high[:, None])
        if len(strength) > 1:
            away[(strength[order] if len(order) else strength) == 0] = 0
        self._losses += np.abs(away).sum(axis=0)

    def _renew(self) -> None:
        moved = self._scale is not None and self._scale.pending > 0
        super()._renew()
        if moved and self._support is not None and self._scale is not None:
            self._support.rescale(self._scale.origin, self._scale.factor, self._inner()[0])
        if len(self._steps) == 1:
            return
        self._lead = int(self._losses.argmin())
        if self.n_seen_ >= SETTLE:
            self._settle()
            return
        size = self._judged.shape[1]
        self._judged[:] = self._lanes[:, :size]
        if self._averages:
            self._judged -= self._lanes[:, size:] / self.n_seen_
        if self._support is not None:
            self._support.freeze(self.n_seen_, average=self._averages)

    def _settle(self) -> None:
        """Go on with the leader alone."""
        if self._support is not None:
            self._support.choose(self._lead)
        self._lanes, self._steps = self._lanes[[self._lead]], self._steps[[self._lead]]
        self._losses, self._judged, self._lead = self._losses[[self._lead]], self._judged[:0], 0

    def _epochs(self, X: Any, low: Array, high: Array, strength: Array) -> None:
        super()._epochs(X, low, high, strength)
        self._lead = int(self._losses.argmin())

    def _learns_one_scaled(self) -> bool:
        return self._scale is not None and self._scale.centred and self._support is None

    def _learn(self, x: Array, low: int, high: int, weight: float = 1.0) -> int:
        error: int
        if self._support is not None:
            totals, codes = np.zeros(2), np.array([[low], [high]], dtype=np.int32)
            moved = self._pass(x[None], codes[0], codes[1], np.array([weight]), NO_ORDER, NO_GRADES, totals)
            return int(totals[0]) if moved else -1
        if self._scale is None:
            step = self._steps[0] * weight
            error = kernel.learn_one(x, low, high, step, self._state, self._averages, self._code(), self.n_seen_)
        else:
            lanes = (
                self._steps if weight == 1.0 else self._steps * weight,
                self._lanes,
                self._judged,
                self._scale.metric,
                self._scaled,
                self._losses,
            )
            error = learn_scaled(x, low, high, *lanes, self._lead, self._averages, self._code(), self.n_seen_)
            self._scale.pending += error != NOT_FINITE
        return error if error >= 0 else finite(error)

    def _grade(self, x: Array) -> int:
        if self._support is not None:
            return int(np.searchsorted(self.thresholds_, self._project(self._finite_one(x)), side="right")[0])
        if self._scale is not None:
            x = (x - self._scale.origin) * self._scale.factor
        share = 1.0 / max(self.n_seen_, 1)
        grade: int = kernel.grade_one(x, self._state, self._averages, share)
        return grade if grade >= 0 else finite(grade)

    def _finite_one(self, x: Array) -> Array:
        if not np.isfinite(x).all():
            finite(NOT_FINITE)
        row: Array = x[None]
        return row

    def add_grades(self, *, below: Sequence[Any] = (), above: Sequence[Any] = ()) -> Self:
        """Give the model grades under or over those it knows, each list from lowest to highest.

        What it says of the grades known so far changes only where scores reach the new thresholds. These start beyond
        the outermost one, as far apart as the others are on average, and move as soon as examples ask for it.

        >>> from podium.ordinal import PassiveAggressiveOrdinal
        >>> model = PassiveAggressiveOrdinal(C=1.0, classes=["fair", "good"]).fit([[-1.0], [1.0]], ["fair", "good"])
        >>> model.add_grades(below=["poor"]).classes_.tolist()
        ['poor', 'fair', 'good']
        """
        check_is_fitted(self)
        if hasattr(self, "calibration_"):
            raise InputError("probability=True was fitted for the grades known then; fit again with all grades")
        under, over = (
            [each.item() if isinstance(each, np.generic) else each for each in entries_of(name, grades, "grades")]
            for name, grades in (("below", below), ("above", above))
        )
        joined = [*under, *self.classes_.tolist(), *over]
        kind = self.classes_.dtype.kind
        if kind in "iuf" and any(isinstance(each, bool) or not isinstance(each, int | float) for each in under + over):
            raise InputError(f"the grades are numbers, {under + over} are not all; give numbers")
        if kind == "U" and not all(isinstance(each, str) for each in under + over):
            raise InputError(f"the grades are words, {under + over} are not all; give words")
        classes = class_list(joined)
        if kind in "iuf" and not (np.diff(classes) > 0).all() and (np.diff(self.classes_) > 0).all():
            raise InputError(f"the grades {joined} do not rise from lowest to highest; give them in that order")
        if kind == "O":
            classes = np.empty(len(joined), dtype=object)
            classes[:] = joined
        self._widen(0, len(under), len(over))
        self.classes_ = classes
        self._number_grades()
        return self

    def _add_grades(self, below: Sequence[Any], above: Sequence[Any]) -> None:
        self.add_grades(below=below, above=above)

    def _widen(self, features: int, below: int, above: int) -> None:
        """Make room in every lane for features of weight 0 and for thresholds at both ends."""
        d, n = self._width, len(self.classes_) - 1
        w_more = features if self._support is None else 0
        lanes, judged = [], []
        for lane in range(len(self._lanes)):
            w, theta, lag, late = self._parts(lane)
            gap = float(theta[-1] - theta[0]) / (n - 1) if n > 1 else START_GAP * (self.n_seen_ > 0)
            ends = (gap * np.arange(-below, 0), gap * np.arange(1, above + 1))
            row = [_with_zeros(w, w_more), _beyond(theta, ends)]
            if self._averages:  # the same lag: the new thresholds' means keep their distance too
                row += [_with_zeros(lag, w_more), _beyond(late, (0 * ends[0], 0 * ends[1]))]
            lanes.append(np.concatenate(row))
            if len(self._judged):
                seen = self._judged[lane]
                judged.append(np.concatenate([_with_zeros(seen[:d], w_more), _beyond(seen[d:], ends)]))
        self._lanes = np.array(lanes)
        self._judged = np.array(judged) if judged else np.zeros((0, d + w_more + n + below + above))
        if features:
            self._scaled = np.empty(self._shape[0] + features)
            if self._support is not None:
                self._support.widen(features)
            if self._scale is not None:
                self._scale.widen(features)
            self._shape = (self._shape[0] + features,)

    def _change_units(self, ratio: Array, shift: Array) -> None:
        """Go over to rows z of which `ratio` * z + `shift` are the present ones; what the model says of each stays."""
        if self._scale is not None:
            self._scale.change_units(ratio, shift)
            return
        d, size = self._width, self._width + len(self.classes_) - 1
        halves = [self._lanes[:, :size], self._lanes[:, size:], self._judged]
        for state in halves if self._averages else [halves[0], halves[2]]:
            state[:, d:] -= (state[:, :d] @ shift)[:, None]
            state[:, :d] *= ratio

    def _new_grades(self, grades: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """Which of these numbers lie below and above all grades; where all are whole, with those in between."""
        known = self._named
        if not all(isinstance(each, int | float) and not isinstance(each, bool) for each in known):
            return [], []
        numbers = [each for each in grades if isinstance(each, int | float) and not isinstance(each, bool)]
        least, most = min(known), max(known)
        under, over = (
            sorted({each for each in numbers if each < least}),
            sorted({each for each in numbers if each > most}),
        )
        if all(float(each).is_integer() for each in [*known, *under, *over]):
            if under and least - under[0] <= MAX_NEW_GRADES:
                under = list(range(int(under[0]), int(least)))
            if over and over[-1] - most <= MAX_NEW_GRADES:
                over = list(range(int(most) + 1, int(over[-1]) + 1))
        if len(under) + len(over) > MAX_NEW_GRADES:
            raise InputError(
                f"{len(under) + len(over)} new grades at once, from {(under or over)[0]!r} to {(over or under)[-1]!r}; "
                "add them by add_grades if they are meant"
            )
        return under, over


def _with_zeros(part: Array, more: int) -> Array:
    return np.concatenate([part, np.zeros(more)]) if more else part


def _beyond(part: Array, ends: tuple[Array, Array]) -> Array:
    """Thresholds with more at both ends, so far from the outermost."""
    return np.concatenate([part[0] + ends[0], part, part[-1] + ends[1]])
