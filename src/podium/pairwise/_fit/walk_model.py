"""Votes over time as rows between nodes of walks: the history of a set of items, and its likelihood."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.data.comparisons import Comparisons
from podium.data.validation import union_of_labels
from podium.pairwise._fit.likelihoods import DavidsonRows, LogisticRows
from podium.pairwise._fit.solvers import Rows
from podium.pairwise._fit.walks import Walks

__all__ = ["WalkModel", "by_day", "history_of", "joined_history"]

Floats = NDArray[np.float64]

COLUMNS = ("left", "right", "time", "wins", "losses", "ties")


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


class WalkModel:
    """The likelihood of a history: its nodes, its rows and its way of counting ties.

    With `still` nothing moves: every item has one node, at the time of its first vote.
    """

    def __init__(self, history: dict[str, Any], ties: str, side_effect: bool, still: bool) -> None:
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
        self.rows = Rows(len(self.walks), one, other, np.ones((len(one), 1)) if side_effect else None)
        self.loss: LogisticRows | DavidsonRows = LogisticRows(wins + 0.5 * tied, wins + losses + tied)
        if ties == "davidson" and tied.any():
            self.loss = DavidsonRows(wins, losses, tied)
