"""Black boxes for the reduced problem (section 4): linear, kernel and tree scores that minimise SVM3's loss."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from podium.active.paper.margin import BlockHinge, LargeMargin, finite_scores, least_loss, relative_gap
from podium.active.paper.options import PaperOptions
from podium.data.validation import floats_of
from podium.errors import InputError
from podium.text import counted

__all__ = ["PaperModel", "Scaling", "dimension_of", "learn"]

LANDMARKS = 500  # items of which a kernel map is made; with fewer items it is exact
NEGLIGIBLE = 1e-10  # eigenvalues below this share of the largest carry nothing but rounding
TREES, DEPTH, RATE = 60, 3, 0.5


@dataclass(frozen=True, slots=True, eq=False)
class Scaling:
    """Features made comparable: columns less their mean over their standard deviation, then all over one length.

    Differences of items keep their direction up to the units of the columns, and no row is longer than 1, as section 4
    supposes ("otherwise, normalize").
    """

    mean: np.ndarray
    deviation: np.ndarray
    length: float

    @classmethod
    def of(cls, features: np.ndarray) -> Scaling:
        """The scaling of these rows; a constant column becomes 0."""
        with np.errstate(over="ignore", invalid="ignore"):
            mean, deviation = features.mean(axis=0), features.std(axis=0)
        bad = np.flatnonzero(~np.isfinite(deviation))
        if len(bad):
            raise InputError(f"features: the numbers of column {bad[0] + 1} are too large to be scaled; divide them")
        deviation = np.where(deviation > 1e-12 * np.abs(mean), deviation, np.inf)
        length = float(np.linalg.norm((features - mean) / deviation, axis=1).max(initial=0.0))
        return cls(mean, deviation, max(length, 1e-300))

    def standard(self, features: np.ndarray) -> np.ndarray:
        """Rows in standard deviations."""
        rows: np.ndarray = (features - self.mean) / self.deviation
        return rows

    def unit(self, features: np.ndarray) -> np.ndarray:
        """Rows of length at most 1, for the items that it was made of."""
        return self.standard(features) / self.length


class _Scores(Protocol):
    def __call__(self, features: np.ndarray) -> np.ndarray: ...


@dataclass(frozen=True, slots=True, eq=False)
class PaperModel:
    """What `preset="paper"` learnt from features: a score for every item, those never asked about as well.

    `loss` is SVM3's objective, `flat` what it is for equal scores, and `bound` what nothing in the class can get below;
    for trees it is None.
    """

    learner: str
    loss: float
    bound: float | None
    flat: float
    columns: int
    length: float
    _scores: _Scores

    @property
    def gap(self) -> float | None:
        """The loss is at most this share above the least of its class; None for trees."""
        return None if self.bound is None else relative_gap(self.loss, self.bound, self.flat)

    def scores(self, features: Any) -> np.ndarray:
        """The score of each row of features, in the columns of those it learnt from."""
        table = floats_of("features", features)
        table = table[:, None] if table.ndim == 1 and self.columns == 1 else table
        if table.ndim != 2 or table.shape[1] != self.columns:
            raise InputError(f"features have shape {table.shape}; rows of {counted(self.columns, 'number')} are needed")
        return finite_scores(self._scores, table)

    def order(self, features: Any) -> np.ndarray:
        """Rows by falling score; equal ones as they come."""
        order: np.ndarray = np.argsort(-self.scores(features), kind="stable")
        return order

    def __str__(self) -> str:
        what = {"linear": "a linear score", "kernel": "a kernel score", "trees": "a score by trees"}[self.learner]
        sure = "no bound is known" if self.gap is None else f"at most {100 * self.gap:.2g} % above the least"
        scaled = "" if self.learner == "trees" else " (columns standardised)"
        if self.learner == "linear":
            scaled = f" (columns standardised, rows divided by {self.length:.4g} so that none is longer than 1)"
        return f"ordered by {what} of {counted(self.columns, 'feature')}{scaled}; hinge loss {self.loss:.5g}, {sure}"


def dimension_of(learner: str, n: int, columns: int) -> int | None:
    """The d of Theorem 4.2; None for trees, of which it says nothing."""
    return {"linear": columns, "kernel": min(n, LANDMARKS), "trees": None}[learner]


def learn(features: np.ndarray, loss: BlockHinge, options: PaperOptions, rng: np.random.Generator) -> PaperModel:
    """Minimise the loss over the learner's class of scores."""
    scaling = Scaling.of(features)
    scores: _Scores
    bound: float | None
    flat = loss.at(np.zeros(len(features)))[0]
    if options.learner == "trees":
        scores, least, bound = *_boosted(features, loss, rng), None
    elif options.learner == "kernel":
        rows = scaling.standard(features)
        some = rng.permutation(len(rows))[:LANDMARKS] if len(rows) > LANDMARKS else np.arange(len(rows))
        mapping = _KernelMap.of(rows[some])
        found = least_loss(mapping(rows), loss, radius=options.radius)
        scores, least, bound = _Kernel(scaling, mapping, found), found.loss, found.bound
    else:
        found = least_loss(scaling.unit(features), loss, radius=options.radius)
        scores, least, bound = _Linear(scaling, found), found.loss, found.bound
    return PaperModel(options.learner, least, bound, flat, features.shape[1], scaling.length, scores)


@dataclass(frozen=True, slots=True, eq=False)
class _Linear:
    scaling: Scaling
    margin: LargeMargin

    def __call__(self, features: np.ndarray) -> np.ndarray:
        scores: np.ndarray = self.scaling.unit(features) @ self.margin.weights
        return scores


@dataclass(frozen=True, slots=True, eq=False)
class _KernelMap:
    """Rows φ(u) with ⟨φ(u), φ(v)⟩ = exp(-‖u - v‖² / columns) for the landmarks, all of length at most 1 (Nyström)."""

    landmarks: np.ndarray
    project: np.ndarray

    @classmethod
    def of(cls, landmarks: np.ndarray) -> _KernelMap:
        values, vectors = np.linalg.eigh(_gaussian(landmarks, landmarks))
        kept = values > NEGLIGIBLE * values[-1]
        return cls(landmarks, vectors[:, kept] / np.sqrt(values[kept]))

    def __call__(self, rows: np.ndarray) -> np.ndarray:
        mapped: np.ndarray = _gaussian(rows, self.landmarks) @ self.project
        return mapped


@dataclass(frozen=True, slots=True, eq=False)
class _Kernel:
    scaling: Scaling
    mapping: _KernelMap
    margin: LargeMargin

    def __call__(self, features: np.ndarray) -> np.ndarray:
        scores: np.ndarray = self.mapping(self.scaling.standard(features)) @ self.margin.weights
        return scores


def _gaussian(rows: np.ndarray, others: np.ndarray) -> np.ndarray:
    far = (rows**2).sum(axis=1)[:, None] + (others**2).sum(axis=1) - 2.0 * rows @ others.T
    near: np.ndarray = np.exp(-np.maximum(far, 0.0) / max(1, rows.shape[1]))
    return near


@dataclass(frozen=True, slots=True, eq=False)
class _Trees:
    trees: tuple[Any, ...]
    steps: tuple[float, ...]

    def __call__(self, features: np.ndarray) -> np.ndarray:
        scores = np.zeros(len(features))
        for tree, step in zip(self.trees, self.steps, strict=True):
            scores += step * tree.predict(features)
        return scores


def _boosted(features: np.ndarray, loss: BlockHinge, rng: np.random.Generator) -> tuple[_Trees, float]:
    """Regression trees fitted one after the other to the steepest descent of the loss, each with half its best step."""
    from sklearn.tree import DecisionTreeRegressor

    scores, trees, steps = np.zeros(len(features)), [], []
    least, slope = loss.at(scores)
    for _ in range(TREES):
        tree = DecisionTreeRegressor(
            max_depth=DEPTH, min_samples_leaf=max(1, len(features) // 50), random_state=int(rng.integers(2**31))
        )
        direction = tree.fit(features, -slope).predict(features)
        step = RATE * _best_step(loss, scores, direction)
        value, next_slope = loss.at(scores + step * direction)
        if not value < least:
            break
        scores, least, slope = scores + step * direction, value, next_slope
        trees.append(tree)
        steps.append(step)
    return _Trees(tuple(trees), tuple(steps)), least


def _best_step(loss: BlockHinge, scores: np.ndarray, direction: np.ndarray) -> float:
    """Where along a direction the loss, which is convex, turns: doubled, then halved."""
    size = float(np.abs(direction).max(initial=0.0))
    if size == 0:
        return 0.0
    low, high = 0.0, 1.0 / size
    for _ in range(20):
        if loss.at(scores + high * direction)[1] @ direction >= 0:
            break
        low, high = high, 2 * high
    for _ in range(12):
        middle = (low + high) / 2
        falling = loss.at(scores + middle * direction)[1] @ direction < 0
        low, high = (middle, high) if falling else (low, middle)
    return (low + high) / 2
