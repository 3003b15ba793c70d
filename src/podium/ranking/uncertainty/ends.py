"""Open-ended scores: what the votes say about items that only won or only lost, and what these say about the rest.

Without a penalty such a score lies at infinity, where its votes have no curvature: they say nothing about the other
scores. The other items are therefore judged by the votes among themselves, with *their* mean held fixed. The finite end
of an item that won everything is the score at which so many wins become improbable, its opponents taken as known: with
m the margin of one vote by the scores found and n the number of such votes, the item may lie t lower where

    Π (1 / (1 + exp(t − m)))ⁿ = tail,    tail = (1 − level) / 2,

the bound of Clopper & Pearson (1934) for a share of one, over opponents of any strength. Where ties are outcomes of
their own (Davidson), the chance is that of a win given that the vote was no tie, which has the same form: that no vote
was tied is not held against a tie-prone score, whose strength of ties is itself only estimated.
Neither depends on the penalty.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from podium.ranking.uncertainty.information import Information, WeightedInformation
from podium.ranking.uncertainty.lists import ListInformation

__all__ = ["bounded_items", "bounded_part", "end_rows", "reach"]

BISECTIONS = 60  # bisections: every bit of a double


def bounded_items(information: Information) -> np.ndarray | None:
    """Codes of the items with a bounded score; None when all are."""
    masks = [mask for mask in (information.open_above, information.open_below) if mask is not None]
    if not any(mask.any() for mask in masks):
        return None
    return np.flatnonzero(~np.logical_or.reduce(masks))


def bounded_part(information: Information, kept: np.ndarray) -> Information:
    """The information about some items from the votes among themselves."""
    e = information
    place = np.full(e.n, -1, dtype=np.int32)
    place[kept] = np.arange(len(kept))
    left, right = place[e.left], place[e.right]
    among = (left >= 0) & (right >= 0)
    part = dataclasses.replace(
        e,
        n=len(kept),
        left=left[among],
        right=right[among],
        curvature=e.curvature[among],
        border=None if e.border is None else np.ascontiguousarray(e.border[kept]),
        scores=None if e.scores is None else e.scores[kept],
        open_above=None,
        open_below=None,
    )
    if isinstance(e, (WeightedInformation, ListInformation)) and len(e.squared_curvature):
        assert isinstance(part, (WeightedInformation, ListInformation)), "a part is of the same kind"
        border = None if e.squared_border is None else np.ascontiguousarray(e.squared_border[kept])
        part = dataclasses.replace(part, squared_curvature=e.squared_curvature[among], squared_border=border)
    if isinstance(e, ListInformation):
        return dataclasses.replace(part, **e.among(kept))
    if e.vote_gradient is None:
        return part
    vote_left, vote_right = place[e.vote_gradients()[0]], place[e.vote_gradients()[1]]
    rows = np.flatnonzero((vote_left >= 0) & (vote_right >= 0))

    def some(values: np.ndarray | None) -> np.ndarray | None:
        return None if values is None else values[rows]

    return dataclasses.replace(
        part,
        vote_left=vote_left[rows],
        vote_right=vote_right[rows],
        clusters={name: codes[rows] for name, codes in e.clusters.items()},
        vote_gradient=some(e.vote_gradient),
        vote_weight=some(e.vote_weight),
        vote_weight_sq=some(e.vote_weight_sq),
        vote_extra_gradient=some(e.vote_extra_gradient),
        target=some(e.target),
    )


def end_rows(
    information: Information, kept: np.ndarray, cluster: str | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Votes of open-ended items with bounded ones (with anyone, where none is bounded): item, margin, number.

    Weights that are not counts are worth (Σw)²/Σw² votes; the votes of one cluster on an item are worth one.
    """
    if isinstance(information, ListInformation):
        return information.ends(cluster)
    if information.vote_gradient is None:
        return np.empty(0, dtype=np.intp), np.empty(0), np.empty(0)
    left, right, slope, weight, square = information.vote_gradients()
    firm = np.zeros(information.n, dtype=bool)
    firm[kept] = True
    votes = np.divide(weight**2, square, out=np.zeros(len(weight)), where=square > 0)
    margin = _margin(np.abs(slope), information.tie_strength)
    items, rows = [], []
    for own, other in ((left, right), (right, left)):
        at = np.flatnonzero(~firm[own] & (firm[other] | (len(kept) == 0)) & (votes > 0))
        items.append(own[at])
        rows.append(at)
    item, row = np.concatenate(items).astype(np.intp), np.concatenate(rows)
    number = votes[row]
    if cluster is not None:
        codes = information.clusters[cluster][row].astype(np.int64)
        codes = np.where(codes < 0, codes.max(initial=0) + 1 + row, codes)
        _, together = np.unique(np.column_stack([item, codes]), axis=0, return_inverse=True)
        number = number / np.maximum(np.bincount(together.ravel(), number)[together.ravel()], 1)
    return item, margin[row], number


def _margin(slope: np.ndarray, tie_strength: float) -> np.ndarray:
    """The margin of a vote for its winner, from the size of its gradient.

    The gradient of a win is what it took beyond the points expected, P(loss) + P(tie)/2. With x = exp(−margin/2) that
    is (x² + νx/2) / (1 + νx + x²), a quadratic in x; ν = 0 where ties are not modelled.
    """
    missing = np.clip(slope, 1e-300, 1 - 1e-16)
    half = 0.5 * tie_strength * (0.5 - missing)
    root = np.sqrt(half**2 + missing * (1 - missing))
    with np.errstate(divide="ignore"):
        low, high = missing / (root + half), (root - half) / (1 - missing)  # the same; each is exact on its side
    margin: np.ndarray = -2 * np.log(np.where(half >= 0, low, high))
    return margin


def reach(n: int, item: np.ndarray, margin: np.ndarray, number: np.ndarray, tail: float) -> np.ndarray:
    """How far each score may be from the one found, on the side where it ends; infinite without votes that say."""
    known = np.bincount(item, number, n) > 0
    wanted = -np.log(tail)
    low, high = np.zeros(n), np.zeros(n)
    np.maximum.at(high, item, np.maximum(margin, 0) + wanted / number)
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        improbable = np.bincount(item, number * np.logaddexp(0, middle[item] - margin), n) > wanted
        low, high = np.where(improbable, low, middle), np.where(improbable, middle, high)
    return np.where(known, high, np.inf)
