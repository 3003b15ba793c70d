"""The votes that count: neither undone, nor of an excluded judge, nor about an item that was withdrawn."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from podium.campaign.options import Options
from podium.data.comparisons import Comparisons
from podium.errors import InputError
from podium.store.codec import VoteArrays
from podium.store.content import Content
from podium.store.values import KINDS

if TYPE_CHECKING:
    from podium.store.reader import Reader

__all__ = ["Live", "live_comparisons", "live_votes", "spent", "tired_pairs"]


@dataclass(frozen=True, slots=True, eq=False)
class Live:
    """Votes that count, in the order they came; items are numbered among those that were not withdrawn.

    `codes` gives the code of each item, `rows` the place of each vote in the log.
    """

    codes: NDArray[np.int64]
    labels: tuple[str, ...]
    left: NDArray[np.int64]
    right: NDArray[np.int64]
    value: NDArray[np.float64]
    judge: NDArray[np.int64]
    kind: NDArray[np.int8]
    predicted: NDArray[np.float64]
    rows: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.left)

    def of_kind(self, name: str) -> NDArray[np.bool_]:
        """Which votes are on pairs of this kind."""
        same: NDArray[np.bool_] = self.kind == KINDS.index(name)
        return same


def live_votes(content: Content, *, without: Collection[int] = (), withdrawn: bool = False) -> Live:
    """The votes that count; `without` leaves out judges beside the excluded, `withdrawn` keeps withdrawn items."""
    votes = content.votes
    kept = [item for item in content.items if withdrawn or item.withdrawn is None]
    codes = np.array([item.code for item in kept], dtype=np.int64)
    place = np.full(len(content.items) + 1, -1, dtype=np.int64)
    place[codes] = np.arange(len(codes))
    out = {judge.id for judge in content.judges if judge.state == "excluded"} | set(without)
    counts = votes.counted()
    if out:
        counts &= ~np.isin(votes.judge, list(out))
    rows = np.flatnonzero(counts)
    left, right = place[votes.left[rows]], place[votes.right[rows]]
    both = (left >= 0) & (right >= 0)
    rows, left, right = rows[both], left[both], right[both]
    return Live(
        codes=codes,
        labels=tuple(item.label for item in kept),
        left=left,
        right=right,
        value=votes.outcome[rows] / 2.0,
        judge=votes.judge[rows].astype(np.int64),
        kind=votes.kinds()[rows],
        predicted=votes.predicted()[rows],
        rows=rows,
    )


def spent(reader: Reader, campaign: int) -> int | None:
    """The budget of votes that a campaign has used; None where it has none, or some of it is left."""
    it = reader.campaign(campaign)
    budget = Options.of(it.options).budget
    if budget is None or it.last_vote < budget:  # of the rows of the log, not all are votes that count
        return None
    return budget if len(live_votes(reader.content(campaign))) >= budget else None


def tired_pairs(votes: VoteArrays, judges: int) -> list[tuple[int, int]]:
    """Pairs of codes that so many judges have skipped."""
    rows = votes.skipped()
    low = np.minimum(votes.left[rows], votes.right[rows])
    high = np.maximum(votes.left[rows], votes.right[rows])
    skips = np.unique(np.column_stack([low, high, votes.judge[rows]]), axis=0)
    pairs, counts = np.unique(skips[:, :2], axis=0, return_counts=True)
    return [(int(a), int(b)) for a, b in pairs[counts >= judges]]


def live_comparisons(content: Content) -> Comparisons:
    """The votes that count, for any ranker: sides as shown, judges by name."""
    live = live_votes(content)
    if not len(live):
        raise InputError(f"campaign {content.campaign.slug!r} has no votes that count yet; there is nothing to rank")
    present, judge = np.unique(live.judge, return_inverse=True)
    names = {each.id: each.name for each in content.judges}
    return Comparisons(
        live.labels,
        live.left.astype(np.int32),
        live.right.astype(np.int32),
        outcome=np.sign(2 * live.value - 1).astype(np.int8),
        judge=judge.astype(np.int32),
        judges=tuple(names[k] for k in present.tolist()),
        sided=True,
    )
