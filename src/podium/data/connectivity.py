"""Connectivity: which items the votes can place on one scale, and which they cannot."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Sequence

import numpy as np

from podium.data.pairs import Adjacency
from podium.errors import ConnectivityWarning, InputError, SeparationWarning
from podium.text import named, some

__all__ = ["check_connected", "groups_of"]


def groups_of(items: Sequence[Hashable], labels: np.ndarray) -> list[tuple[Hashable, ...]]:
    """The items of each label, the largest group first.

    Examples
    --------
    >>> groups_of("abc", np.array([1, 0, 1]))
    [('a', 'c'), ('b',)]
    """
    members: list[list[Hashable]] = [[] for _ in range(int(labels.max()) + 1)]
    for item, label in zip(items, labels.tolist(), strict=True):
        members[label].append(item)
    return sorted((tuple(group) for group in members), key=len, reverse=True)


def check_connected(items: Sequence[Hashable], a: Adjacency, l2: float | None) -> None:
    """Say which items the votes cannot place: an `InputError` without a penalty (`l2` = 0), else a warning.

    `l2` is None when the penalty comes from the data.
    """
    if a.is_strongly_connected:
        return
    groups = int(a.components.max()) + 1
    if groups > 1:
        named = ", ".join(some(group) for group in groups_of(items, a.components)[:3]) + (", …" if groups > 3 else "")
        text = f"items fall into {groups:,} groups never compared with each other: {named}"
        if l2 == 0:
            raise InputError(f"{text}; compare across groups, or set l2 > 0")
        warnings.warn(f"{text}; scores compare only within a group", ConnectivityWarning, stacklevel=4)
    unbounded = _unbounded(items, a)
    if unbounded and l2 == 0:
        raise InputError(f"{unbounded}, so no finite scores exist; set l2 > 0")
    if unbounded:
        penalty = "the penalty" if l2 is None else f"l2 = {l2:g}"
        what = "the distance to the rest is"
        if groups := _groups_between(a):
            unbounded += f", and {groups:,} groups in between only ever beat those below"
            what = "all their distances are"
        text = f"{unbounded}; {what} set by {penalty} alone, and intervals are open-ended"
        warnings.warn(text, SeparationWarning, stacklevel=4)


def _groups_between(a: Adjacency) -> int:
    """How many groups stand one above the other between those at both ends; 0 where there is one."""
    ends = sum(max(1, int(mask.sum())) for mask in a.one_sided)  # where no single item is one, a group is
    groups = int(a.strong_components.max()) + 1 - ends
    return groups if groups > int(a.components.max()) + 1 else 0


def _unbounded(items: Sequence[Hashable], a: Adjacency) -> str:
    """Which items or groups only win or only lose, in words; empty when none do."""
    words = []
    for mask, one, many in zip(a.one_sided, ("never loses", "never wins"), ("never lose", "never win"), strict=True):
        extremes = [items[i] for i in np.flatnonzero(mask).tolist()]
        if extremes:
            words.append(f"{named(extremes)} {one if len(extremes) == 1 else many}")
    if words or (labels := a.strong_components).max() == a.components.max():
        return (", and " if int(sum(mask.sum() for mask in a.one_sided)) > 2 else " and ").join(words)
    top = [items[i] for i in np.flatnonzero(labels == labels.max()).tolist()]  # no single item, but a group of them
    return f"the group {some(top)} never loses to the rest"
