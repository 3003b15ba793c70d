"""Votes as arrays and arrays as bytes: the log in 14 bytes a row.

Row k of the arrays is the vote with number k + 1. A row that undoes another holds the number of that other as its
`left`. So a piece of the log never changes once it is written, and pieces add up.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from podium.store.values import KINDS

__all__ = [
    "PIECE",
    "SNAPSHOT_FORMAT",
    "VOTE_COLUMNS",
    "VoteArrays",
    "checksum",
    "decode",
    "encode",
    "from_snapshots",
    "in_range",
    "seal",
]

PIECE = 50_000  # votes of a snapshot
SNAPSHOT_FORMAT = 1
SKIP, UNDO = -1, -2  # outcome codes beside 0 right, 1 tie, 2 left

# What SQL selects, in this order; whole numbers only, so that rows turn into one array at once.
VOTE_COLUMNS = (
    "CASE WHEN undoes IS NULL THEN \"left\" ELSE undoes END, \"right\", judge, "
    "CASE WHEN undoes IS NOT NULL THEN -2 WHEN outcome IS NULL THEN -1 ELSE CAST(2 * outcome AS INTEGER) END, "
    "CASE kind " + " ".join(f"WHEN '{kind}' THEN {code}" for code, kind in enumerate(KINDS)) + " END "
    "+ CASE WHEN predicted > 0.5 THEN 16 WHEN predicted < 0.5 THEN 32 ELSE 0 END"
)  # fmt: skip
LAYOUT = (("left", "<i4"), ("right", "<i4"), ("judge", "<i4"), ("outcome", "i1"), ("kind", "i1"))
WIDTH = sum(np.dtype(kind).itemsize for _, kind in LAYOUT)


@dataclass(frozen=True, slots=True, eq=False)
class VoteArrays:
    """The log from its first row on: codes of items and judges, outcomes doubled (see `codec`), kinds by `KINDS`.

    A kind has 16 added where the left item was predicted when the pair was planned, 32 where the right one was.
    """

    left: NDArray[np.int32]
    right: NDArray[np.int32]
    judge: NDArray[np.int32]
    outcome: NDArray[np.int8]
    kind: NDArray[np.int8]

    def __len__(self) -> int:
        return len(self.left)

    @classmethod
    def of_rows(cls, rows: Sequence[Sequence[Any]]) -> Self:
        """From rows of `VOTE_COLUMNS`."""
        table = np.array(rows, dtype=np.int32).reshape(-1, len(LAYOUT))
        return cls(*(np.ascontiguousarray(table[:, k].astype(kind)) for k, (_, kind) in enumerate(LAYOUT)))

    @classmethod
    def joined(cls, parts: Iterable[VoteArrays]) -> Self:
        """One after the other."""
        listed = list(parts) or [cls.of_rows([])]
        return cls(*(np.concatenate([getattr(part, name) for part in listed]) for name, _ in LAYOUT))

    def part(self, first: int, last: int) -> VoteArrays:
        """Rows from `first` (counted from 0) up to `last`."""
        return VoteArrays(*(getattr(self, name)[first:last] for name, _ in LAYOUT))

    def counted(self) -> NDArray[np.bool_]:
        """Which rows are votes that stand: neither skipped, nor undone, nor an undo."""
        stands: NDArray[np.bool_] = self.outcome >= 0
        stands[self.left[self.outcome == UNDO] - 1] = False
        return stands

    def kinds(self) -> NDArray[np.int8]:
        """Codes into `KINDS`."""
        return self.kind & np.int8(15)

    def predicted(self) -> NDArray[np.float64]:
        """1 where the left item was predicted, 0 where the right one was, NaN where nothing was."""
        return np.select([self.kind & np.int8(16) > 0, self.kind & np.int8(32) > 0], [1.0, 0.0], np.nan)

    def skipped(self) -> NDArray[np.bool_]:
        """Which rows are skips that stand."""
        stands: NDArray[np.bool_] = self.outcome == SKIP
        stands[self.left[self.outcome == UNDO] - 1] = False
        return stands


def encode(votes: VoteArrays) -> bytes:
    """Column after column, little-endian."""
    return b"".join(np.ascontiguousarray(getattr(votes, name), dtype=kind).tobytes() for name, kind in LAYOUT)


def decode(data: bytes, rows: int) -> VoteArrays | None:
    """The arrays of that many rows; None where the bytes are not of that length."""
    if len(data) != rows * WIDTH:
        return None
    columns, at = [], 0
    for _, kind in LAYOUT:
        columns.append(np.frombuffer(data, dtype=kind, count=rows, offset=at))
        at += rows * np.dtype(kind).itemsize
    return VoteArrays(*columns)


def checksum(data: bytes, campaign: int, last: int) -> str:
    """A hash of the bytes and of what they are: these rows of this campaign in this format."""
    head = f"{SNAPSHOT_FORMAT}:{campaign}:{last}:".encode()
    return hashlib.blake2b(data, digest_size=16, key=head).hexdigest()


def seal(data: bytes, campaign: int, name: str) -> str:
    """A hash of what was derived, and of whose it is."""
    return hashlib.blake2b(data, digest_size=16, key=f"{campaign}:{name}".encode()[:64]).hexdigest()


def from_snapshots(
    campaign: int, pieces: Sequence[tuple[int, int, bytes, str]], last_vote: int, items: int
) -> tuple[VoteArrays, bool]:
    """The beginning of a log out of its snapshots, up to the first that does not fit; and whether all did."""
    parts: list[VoteArrays] = []
    for number, (last, format, data, written) in enumerate(pieces, start=1):
        part = decode(data, PIECE) if format == SNAPSHOT_FORMAT and last == number * PIECE <= last_vote else None
        if part is None or checksum(data, campaign, last) != written or not in_range(part, last, items):
            return VoteArrays.joined(parts), False
        parts.append(part)
    return VoteArrays.joined(parts), True


def in_range(part: VoteArrays, last: int, items: int) -> bool:
    """Whether every code is one of an item, an outcome, a kind, or an earlier row that was undone."""
    highest = np.where(part.outcome == UNDO, last, items)
    lowest = np.where(part.outcome == UNDO, 1, 0)
    return bool(
        ((part.left >= lowest) & (part.left < highest)).all()
        and ((part.right >= 0) & (part.right < items)).all()
        and (part.judge >= 0).all()
        and ((part.outcome >= UNDO) & (part.outcome <= 2)).all()
        and ((part.kind >= 0) & (part.kinds() < len(KINDS)) & (part.kind < 48)).all()
    )
