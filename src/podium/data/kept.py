"""Votes that stay where they are read: each worker keeps the rows of its files, and only sums of them travel.

For votes that no one machine holds. What is known here is who the items are, their sums, and who can be reached from
whom, as a few votes that say the same as all of them.
"""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Iterable
from copy import copy, deepcopy
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.data.collecting import count_file, files_for
from podium.data.comparisons import Comparisons
from podium.data.tables.forms import Collector
from podium.data.tables.labels import Numbering
from podium.data.tables.merging import Merger
from podium.data.tables.names import Given
from podium.data.tables.sources import Source
from podium.engine import Kept, Serial
from podium.engine.choosing import as_engine
from podium.errors import InputError

__all__ = ["KeptComparisons", "VotePart", "keep_comparisons"]

Floats = NDArray[np.float64]
Codes = NDArray[np.int32]


@dataclass(frozen=True)
class VoteFile:
    """A file for a worker to read, and how."""

    source: Source
    options: dict[str, Any]

    @property
    def name(self) -> str:
        """What errors call it."""
        return self.source.name

    @property
    def size(self) -> int:
        """Its bytes."""
        return self.source.size


@dataclass(frozen=True)
class VotePart:
    """The votes of one file on its own items, and the numbers of these among all `n`; no votes if all weigh 0."""

    votes: Comparisons | None
    codes: Codes
    n: int


@dataclass(frozen=True, eq=False)
class KeptComparisons:
    """Votes in the memory of workers, as `keep_comparisons` leaves them there.

    Attributes
    ----------
    items : labels, in order of appearance
    covariate_names : names of the covariates
    sided : whether left and right are the sides shown
    parts : the rows, a part for each file
    wins, losses, ties : sums of weights of each item
    weight, weight_sq : sums of all weights, and of their squares
    reach : votes that leave the same items within reach of each other, by wins, as all votes do
    """

    items: tuple[Hashable, ...]
    covariate_names: tuple[str, ...]
    sided: bool
    parts: Kept
    wins: Floats
    losses: Floats
    ties: Floats
    weight: float
    weight_sq: float
    count: int
    reach: Comparisons

    def __len__(self) -> int:
        """How many votes there are."""
        return self.count

    def __repr__(self) -> str:
        return f"<{len(self):,} votes on {len(self.items):,} items, kept by workers>"


def keep_comparisons(
    source: Any,
    *,
    engine: Any = None,
    winner: Given = None,
    loser: Given = None,
    left: Given = None,
    right: Given = None,
    outcome: Given = None,
    left_wins: Given = None,
    right_wins: Given = None,
    ties: Given = None,
    weight: Given = None,
    count: Given = None,
    covariates: str | Iterable[str] | None = None,
    format: str | None = None,
    delimiter: str | None = None,
) -> KeptComparisons:
    """Have the workers of a cluster read files of votes and keep the rows, for fits that no one machine can hold.

    `BradleyTerry(l2=0.1).fit(kept)` takes what is returned. Each file is a part, read by one worker; the files must be
    seen by all of them under the same path or URL. Judges, groups and times are not read.

    Parameters
    ----------
    source : path, glob, folder, address (URL), or list of these
    engine : distributed.Client
        None reads and keeps them in this process, to try it.
    others : as in `read_comparisons`

    Examples
    --------
    >>> import tempfile, pathlib
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "monday.csv").write_text("winner,loser\\ntea,milk\\nmilk,cola\\n")
    >>> _ = (folder / "tuesday.csv").write_text("winner,loser\\ncola,tea\\ntea,milk\\n")
    >>> keep_comparisons(folder)
    <4 votes on 3 items, kept by workers>
    """
    runner = Serial() if engine is None else as_engine(engine)
    columns: dict[str, Any] = {"winner": winner, "loser": loser, "left": left, "right": right, "outcome": outcome}
    columns |= {"left_wins": left_wins, "right_wins": right_wins, "ties": ties, "weight": weight, "count": count}
    columns |= dict.fromkeys(("judge", "group"), False)
    options = {"keep": "counts", "delimiter": delimiter, "covariates": covariates, **columns}
    files = [VoteFile(one, options) for one in files_for(source, format, runner)]
    read = runner.keep(_read, files)
    head, said = read.sum(_head_of, add=_united)
    if not head.votes:
        raise InputError(f"{files[-1].name} has a header and no rows; there is nothing to rank")
    assert head.layout is not None, "votes were read"
    for warning in said:
        warnings.warn(warning, stacklevel=2)
    head.warn_of_labels()
    parts = read.then(_part, head.items)
    sums: _Sums = parts.sum(_sums_of, add=_added)
    if not sums.count:
        raise InputError("every row has weight 0; there is nothing to rank")
    return KeptComparisons(
        head.items.labels,
        tuple(head.layout.covariates),
        head.layout.form != "winner",
        parts,
        sums.wins,
        sums.losses,
        sums.ties,
        sums.weight,
        sums.weight_sq,
        sums.count,
        _as_votes(head.items.labels, sums.above, sums.below),
    )


@dataclass
class _Read:
    """What a worker has read of a file: all but its rows, and these."""

    head: Collector
    columns: dict[str, Any] | None  # as `Comparisons` takes them
    said: list[Warning]


def _read(file: VoteFile) -> _Read:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        collector = count_file(file.source, file.options)
    if collector.holds_rankings:
        raise InputError(f"{file.name} holds rankings, and workers keep votes on pairs; use read_rankings")
    collector.release()
    merged = collector.merger.result()
    columns = None if merged is None else collector.arguments(merged)
    head = copy(collector)
    head.merger = Merger(merge=True)
    return _Read(head, columns, [one.message for one in caught if isinstance(one.message, Warning)])


def _head_of(read: _Read) -> tuple[Collector, list[Warning]]:
    return deepcopy(read.head), list(read.said)  # sums go on in it


def _united(one: tuple[Collector, list[Warning]], other: tuple[Collector, list[Warning]]) -> Any:
    return one[0].unite(other[0]), one[1] + other[1]


def _part(read: _Read, items: Numbering) -> VotePart:
    """The rows of a file with the numbers of its items among all."""
    everyone = deepcopy(items)
    codes = everyone.unite(read.head.items)
    votes = None
    if read.columns is not None and len(codes) >= 2:
        votes = Comparisons._of(**read.columns)
    return VotePart(votes, codes, len(everyone))


@dataclass
class _Sums:
    """What is known here of all rows."""

    wins: Floats
    losses: Floats
    ties: Floats
    weight: float
    weight_sq: float
    count: int
    above: Codes
    below: Codes


def _sums_of(part: VotePart) -> _Sums:
    wins, losses, ties = (np.zeros(part.n) for _ in range(3))
    none = np.empty(0, np.int32)
    if part.votes is None:
        return _Sums(wins, losses, ties, 0.0, 0.0, 0, none, none)
    votes = part.votes
    for whole, own in zip((wins, losses, ties), votes.record(), strict=True):
        whole[part.codes] += own
    weight = float(votes.pairs.total.sum())
    squares = weight if votes.weight is None else float(np.sum(votes.weight_squares()))
    above, below = _same_reach(votes)
    return _Sums(wins, losses, ties, weight, squares, len(votes), part.codes[above], part.codes[below])


def _added(one: _Sums, other: _Sums) -> _Sums:
    for field in fields(one)[:6]:
        setattr(one, field.name, getattr(one, field.name) + getattr(other, field.name))
    above, below = np.concatenate([one.above, other.above]), np.concatenate([one.below, other.below])
    if len(above):
        above, below = _same_reach(_as_votes(range(len(one.wins)), above, below))
    one.above, one.below = above, below
    return one


def _as_votes(items: Any, above: Codes, below: Codes) -> Comparisons:
    return Comparisons._of(items=items, left=above, right=below)


def _same_reach(votes: Comparisons) -> tuple[Codes, Codes]:
    """Few wins (who, over whom) that let the same items reach each other as all these votes do.

    A circle through every group within which all reach all, and between groups one win for all wins.
    """
    a = votes.adjacency
    group = a.strong_components
    order = np.argsort(group, kind="stable").astype(np.int32)
    first = np.flatnonzero(np.r_[True, np.diff(group[order]) != 0])
    after = np.roll(order, -1)
    last = np.r_[first[1:], len(order)] - 1
    after[last] = order[first]  # the circle closes
    one = order[first]  # of each group; groups are numbered from 0
    owner = np.repeat(np.arange(len(a), dtype=np.int32), np.diff(a.start))
    across = (a.wins > 0) & (group[owner] != group[a.partner])
    ends = np.unique(group[owner[across]].astype(np.int64) * len(first) + group[a.partner[across]])
    circles = order != after
    above = np.concatenate([order[circles], one[ends // len(first)]]).astype(np.int32)
    below = np.concatenate([after[circles], one[ends % len(first)]]).astype(np.int32)
    return above, below
