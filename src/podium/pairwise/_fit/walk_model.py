"""Votes over time as rows between nodes of walks: the history of a set of items, and its likelihood."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from podium.data.comparisons import Comparisons
from podium.data.features import Matrix, is_sparse
from podium.data.validation import union_of_labels
from podium.errors import InputError
from podium.pairwise._fit.feature_model import ScaledFeatures
from podium.pairwise._fit.likelihoods import DavidsonRows, LogisticRows
from podium.pairwise._fit.solvers import Rows
from podium.pairwise._fit.walks import Precision, Walks, WalkSolution, solution_at

__all__ = ["Held", "WalkFeatures", "WalkModel", "by_day", "history_of", "joined_history", "with_items", "written_out"]

Floats = NDArray[np.float64]

COLUMNS = ("left", "right", "time", "wins", "losses", "ties")
MAX_DESIGN = 50_000_000  # values of a table of features, and of their differences in all rows


def by_day(time: Floats, kind: str) -> Floats:
    """Times as the model counts them: dates and timestamps by whole days, numbers as they are."""
    return np.floor(time) if kind == "date" else time


def history_of(c: Comparisons) -> dict[str, Any]:
    """The votes as rows of wins, losses and ties between two items at a time; which side was which is kept.

    A plain dictionary of arrays: it is stored with the model, whose errors at other times it takes.
    """
    assert c.time is not None, "checked"
    left, right, outcome, weight = c.vote_rows()
    if not c.sided:  # who stands left says nothing, and must decide nothing
        turned = left > right
        left, right = np.where(turned, right, left), np.where(turned, left, right)
        outcome = np.where(turned, 1.0 - outcome, outcome)
    times, when = np.unique(by_day(c.time, c.time_is), return_inverse=True)
    pair, met = np.unique(left.astype(np.int64) * len(c.items) + right, return_inverse=True)
    keys, place = np.unique(met.astype(np.int64) * len(times) + when, return_inverse=True)
    pairs = pair[keys // len(times)]
    counts = {
        name: np.bincount(place, weight * (outcome == value), len(keys))
        for name, value in (("wins", 1.0), ("losses", 0.0), ("ties", 0.5))
    }
    ends = {"left": (pairs // len(c.items)).astype(np.int32), "right": (pairs % len(c.items)).astype(np.int32)}
    return {"items": tuple(c.items), **ends, "time": times[keys % len(times)], **counts}


def joined_history(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    """One history after the other, items matched by label; those of the first keep their places."""
    items, recode = union_of_labels(one["items"], other["items"])
    moved = other | {"left": recode[other["left"]], "right": recode[other["right"]]}
    return {"items": items} | {name: np.concatenate([one[name], moved[name]]) for name in COLUMNS}


def with_items(history: dict[str, Any], items: tuple[Any, ...]) -> dict[str, Any]:
    """The history with items beyond those that it has: they have no votes."""
    assert tuple(items[: len(history["items"])]) == tuple(history["items"]), "codes must go on to be right"
    return history | {"items": tuple(items)}


class Held(NamedTuple):
    """The effect of the side, found without the prior of the scores, and how well it is known."""

    effect: float
    variance: float


class WalkFeatures(ScaledFeatures):
    """Features of the items of a history, centred and scaled by those that have votes."""

    def __init__(self, history: dict[str, Any], table: Floats, standardize: bool) -> None:
        self.seen = np.zeros(len(table), dtype=bool)
        self.seen[history["left"]] = self.seen[history["right"]] = True
        self._scale_features(table, standardize, None)
        rows, d = len(history["left"]), self.matrix.shape[1]
        if rows * d > MAX_DESIGN:
            raise InputError(
                f"{rows:,} pairs at their times and {d:,} features are too many: together they have over "
                f"{MAX_DESIGN:,} values; keep fewer features"
            )

    @property
    def prior_centre(self) -> float:
        """The log of the weights' standard deviation with which the features' part in the scores has one of 1."""
        part: float = max(float(self.matrix[self.seen].var(axis=0).sum()), 1e-300)
        return -0.5 * math.log(part)


def written_out(matrix: Matrix) -> Floats:
    """A table of features as an array."""
    if matrix.shape[0] * matrix.shape[1] > MAX_DESIGN:
        rows, columns = matrix.shape
        raise InputError(f"features: {rows:,} items and {columns:,} features are too many; keep fewer features")
    return np.asarray(matrix.toarray() if is_sparse(matrix) else matrix, dtype=np.float64)


class WalkModel:
    """The likelihood of a history: its nodes, its rows and its way of counting ties.

    With `still` nothing moves: every item has one node, at the time of its first vote. Where items have features, the
    nodes are of what these do not explain; effects are the weights, then that of the side, then log ν. Where that of
    the side is `held`, it is no parameter but a known part of every margin, in `rows`; in `whole` it is one.
    """

    def __init__(
        self,
        history: dict[str, Any],
        ties: str,
        side_effect: bool,
        still: bool,
        features: WalkFeatures | None,
        held: Held | None = None,
    ) -> None:
        self.n, self.still, self.side_effect = len(history["items"]), still, side_effect
        left, right, time = history["left"], history["right"], history["time"]
        self.since: Floats = np.full(self.n, time.max())  # when each item was first compared
        np.minimum.at(self.since, left, time)
        np.minimum.at(self.since, right, time)
        times = np.stack([self.since[left], self.since[right]]) if still else time
        self.walks, one, other = Walks.of(left, right, times, self.n)
        wins, losses, tied = history["wins"], history["losses"], history["ties"]
        if still:  # meetings at many times are one
            size = len(self.walks)
            key, place = np.unique(one.astype(np.int64) * size + other, return_inverse=True)
            one, other = (key // size).astype(np.int32), (key % size).astype(np.int32)
            wins, losses, tied = (np.bincount(place, part, len(key)) for part in (wins, losses, tied))
        self.features = features
        self.matrix: Floats = np.empty((self.n, 0)) if features is None else features.matrix
        self.weights = self.matrix.shape[1]
        self.prior_centre = 0.0 if features is None else features.prior_centre
        columns = [self.matrix[self.walks.item[one]] - self.matrix[self.walks.item[other]]] if self.weights else []
        columns += [np.ones((len(one), 1))] if side_effect else []
        design = np.ascontiguousarray(np.hstack(columns)) if columns else None
        self.rows = self.whole = Rows(len(self.walks), one, other, design)
        self.held = held
        if held is not None:
            known = np.ascontiguousarray(columns[0]) if self.weights else None
            self.rows = replace(self.whole, design=known, offset=np.full(len(one), held.effect))
        self.loss: LogisticRows | DavidsonRows = LogisticRows(wins + 0.5 * tied, wins + losses + tied)
        if ties == "davidson" and tied.any():
            self.loss = DavidsonRows(wins, losses, tied)
        self.effects = self.weights + bool(side_effect) + self.loss.own

    def precision(self, drift: float, sd: float, weight_sd: float) -> Precision:
        """Of the prior: weights of features are N(0, weight_sd²), other effects free."""
        effects = np.zeros(self.effects - (self.held is not None))
        effects[: self.weights] = weight_sd**-2.0
        return Precision.of(self.walks, sd, drift, effects)

    def searched(self, extras: Floats) -> Floats:
        """Of all effects those that are searched for."""
        return extras if self.held is None else np.delete(extras, self.weights)

    def all_effects(self, found: WalkSolution) -> WalkSolution:
        """An optimum with the effect that was held among the parameters, and the parts of the Hessian for it."""
        if self.held is None:
            return found
        extras = np.insert(found.point.extras, self.weights, self.held.effect)
        precision = replace(found.precision, effects=np.insert(found.precision.effects, self.weights, 0.0))
        whole = solution_at(self.whole, self.loss, precision, found.scores, extras)
        return replace(whole, n_iter=found.n_iter, converged=found.converged)
