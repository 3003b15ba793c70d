"""Rankings as survey tools write them, on their way to lists of codes.

A file has a column of whole orders; or a column for each place (`Rank 1`, `Rank 2`, …) that holds an item; or a column
for each item that holds its rank; or a row for each item a respondent ranked (`respondent, item, rank`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn, TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = ["ListPiece", "ListStore", "from_places", "from_ranks", "item_names", "place_columns"]

Codes: TypeAlias = NDArray[np.int32]
Fail: TypeAlias = Callable[[int, str], NoReturn]

WORD = r"(?:rank(?:ed)?|ranking|choice|place|preference|pref|position|pos|priority|top)"
PLACE = (
    re.compile(rf"^(?P<stem>.*?){WORD}[\s_.#:-]*(?P<number>\d+)(?P<end>[\])]?)$", re.IGNORECASE),
    re.compile(rf"^(?P<stem>.*?)(?P<number>\d+)(?:st|nd|rd|th)[\s_-]+{WORD}(?P<end>[\])]?)$", re.IGNORECASE),
)

BRACKETS = re.compile(r"^(?P<stem>.+?)\s*\[(?P<item>[^\[\]]+)\]$")  # as LimeSurvey and Google Forms name columns


def place_columns(names: Sequence[str], least: int = 2) -> list[tuple[int, str]]:
    """Columns named after a place, with its number, in order: `Rank 1`, `choice_2`, `Q5 [Rank 3]`, `1st choice`.

    Only those of one kind; where there are several kinds, or fewer than `least` columns, none.

    >>> place_columns(["id", "Rank 2", "Rank 1"])
    [(1, 'Rank 1'), (2, 'Rank 2')]
    """
    kinds: dict[tuple[int, str, str], list[tuple[int, str]]] = {}
    for name in names:
        for which, pattern in enumerate(PLACE):
            match = pattern.match(name.strip())
            if match:
                key = (which, match["stem"].casefold(), match["end"])
                kinds.setdefault(key, []).append((int(match["number"]), name))
                break
    rankings = [sorted(columns) for columns in kinds.values() if len(columns) >= least]
    return rankings[0] if len(rankings) == 1 else []


def item_names(columns: Sequence[str]) -> list[str]:
    """The items that columns of ranks are named after: as they are, or within brackets after a common question.

    >>> item_names(["Rank the drinks [Tea]", "Rank the drinks [Milk]"]), item_names(["Tea [hot]", "Tea [iced]", "Milk"])
    (['Tea', 'Milk'], ['Tea [hot]', 'Tea [iced]', 'Milk'])
    """
    matches = [BRACKETS.match(name) for name in columns]
    inner = [match["item"].strip() for match in matches if match]
    alike = len(inner) == len(columns) > 1 and len({match["stem"] for match in matches if match}) == 1
    return inner if alike and len(set(inner)) == len(inner) and all(inner) else list(columns)


@dataclass(slots=True)
class ListPiece:
    """Some rankings: codes of their items one after the other, how many each lists, and what stands beside them."""

    item: Codes
    size: NDArray[np.int64]
    tied: NDArray[np.uint8]
    beside: dict[str, NDArray[Any]] = field(default_factory=dict)  # weight, judge, group, by: one for each ranking


class ListStore:
    """Rankings of pieces that come one after the other; rows of a long table wait until the last one is there."""

    def __init__(self) -> None:
        self.pieces: list[ListPiece] = []
        self.rows: list[dict[str, NDArray[Any]]] = []  # of a long table: ranking, item, rank, row, and what is beside

    def __len__(self) -> int:
        return sum(len(piece.size) for piece in self.pieces) + sum(len(rows["item"]) for rows in self.rows)

    def unite(self, other: ListStore, recode: dict[str, Codes]) -> None:
        """Take those of another store, whose codes are others."""
        for piece in other.pieces:
            beside = {name: recode[name][values] if name in recode else values for name, values in piece.beside.items()}
            self.pieces.append(ListPiece(recode["left"][piece.item], piece.size, piece.tied, beside))
        for rows in other.rows:
            coded = {name: recode[name][values] if name in recode else values for name, values in rows.items()}
            self.rows.append(coded | {"item": recode["left"][rows["item"]]})

    def columns(self, fail: Callable[[int, str], NoReturn]) -> dict[str, NDArray[Any]]:
        """All rankings: item, start, tied, and what is beside them."""
        pieces = [*self.pieces, *([_assembled(self.rows, fail)] if self.rows else [])]
        size = np.concatenate([piece.size for piece in pieces])
        columns: dict[str, NDArray[Any]] = {
            "item": np.concatenate([piece.item for piece in pieces]).astype(np.int32),
            "start": np.concatenate([[0], np.cumsum(size)]).astype(np.int64),
            "tied": np.concatenate([piece.tied for piece in pieces]),
        }
        for name in pieces[0].beside:
            columns[name] = np.concatenate([piece.beside[name] for piece in pieces])
        return columns


def from_places(codes: NDArray[np.int32], names: Sequence[str], label: Callable[[int], Any], fail: Fail) -> ListPiece:
    """Rankings from a table of codes, one column for each place; −1 is an empty cell."""
    there = codes >= 0
    gap = ~there[:, :-1] & there[:, 1:]
    if gap.any():
        row, place = (int(v[0]) for v in np.nonzero(gap))
        fail(row, f"{names[place]!r} is empty and {names[place + 1]!r} is not; fill the places from the first on")
    for one in range(codes.shape[1]):
        for other in range(one):
            twice = np.flatnonzero(there[:, one] & (codes[:, one] == codes[:, other]))
            if len(twice):
                row = int(twice[0])
                fail(
                    row,
                    f"{label(int(codes[row, one]))!r} is ranked twice, in {names[other]!r} and {names[one]!r}; "
                    "remove one",
                )
    size = there.sum(axis=1).astype(np.int64)
    item = codes[there]  # row by row
    return ListPiece(item, size, np.zeros(len(item), dtype=np.uint8))


def from_ranks(ranks: NDArray[np.float64], codes: Codes, names: Sequence[str], fail: Fail) -> ListPiece:
    """Rankings from a table of ranks, one column for each item; NaN is an empty cell."""
    bad = (ranks < 1) | (ranks != np.floor(ranks))
    bad &= ~np.isnan(ranks)
    if bad.any():
        row, column = (int(v[0]) for v in np.nonzero(bad))
        value = f"{ranks[row, column]:g}"
        fail(row, f"{names[column]!r} has rank {value}; ranks are whole numbers from 1 up, empty where there is none")
    there = ~np.isnan(ranks)
    order = np.argsort(np.where(there, ranks, np.inf), axis=1, kind="stable")
    sorted_ranks = np.take_along_axis(np.where(there, ranks, np.inf), order, axis=1)
    size = there.sum(axis=1).astype(np.int64)
    kept = np.arange(ranks.shape[1]) < size[:, None]
    _refuse_gaps(sorted_ranks, kept, fail)
    tied = np.zeros(ranks.shape, dtype=np.uint8)
    tied[:, 1:] = sorted_ranks[:, 1:] == sorted_ranks[:, :-1]
    return ListPiece(codes[order[kept]], size, tied[kept])


def _refuse_gaps(ranks: NDArray[np.float64], kept: NDArray[np.bool_], fail: Fail) -> None:
    """Ranks go on from 1: the next is one more (1, 2, 2, 3), or as many as came before (1, 2, 2, 4)."""
    place = np.arange(1, ranks.shape[1] + 1, dtype=np.float64)
    before = np.concatenate([np.zeros((len(ranks), 1)), ranks[:, :-1]], axis=1)
    with np.errstate(invalid="ignore"):
        fine = (ranks == before) | (ranks == before + 1) | (ranks == place)
    bad = kept & ~fine
    if bad.any():
        row, k = (int(v[0]) for v in np.nonzero(bad))
        after = f"after rank {before[row, k]:g}" if k else "first"
        fail(row, f"rank {ranks[row, k]:g} comes {after}, so ranks have a gap; number them from 1 on, without gaps")


def _assembled(parts: list[dict[str, NDArray[Any]]], fail: Callable[[int, str], NoReturn]) -> ListPiece:
    """The rankings of a long table, in the order in which they first appear."""
    rows = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    key = np.column_stack([rows["judge"], rows["group"]]) if "group" in rows else rows["judge"][:, None]
    _, first, ranking = np.unique(key, axis=0, return_index=True, return_inverse=True)
    turn = np.empty(len(first), dtype=np.int64)
    turn[np.argsort(first)] = np.arange(len(first))
    ranking, first = turn[ranking.ravel()], np.sort(first)
    order = np.lexsort([np.arange(len(ranking)), rows["rank"], ranking])
    size = np.bincount(ranking, minlength=len(first)).astype(np.int64)
    start = np.concatenate([[0], np.cumsum(size)[:-1]])
    rank, of = rows["rank"][order], ranking[order]
    again = np.flatnonzero(_repeated(rows["item"], ranking))
    if len(again):
        fail(int(again[0]), "twice")
    before = np.concatenate([[0.0], rank[:-1]])
    before[start] = 0.0
    place = np.arange(len(rank)) - start[of] + 1
    bad = np.flatnonzero(~((rank == before) | (rank == before + 1) | (rank == place)))
    if len(bad):
        k = int(bad[0])
        after = f"after rank {before[k]:g}" if before[k] else "first"
        fail(int(order[k]), f"rank {rank[k]:g} comes {after}, so ranks have a gap; number them from 1 on, without gaps")
    tied = np.zeros(len(rank), dtype=np.uint8)
    tied[1:] = (rank[1:] == rank[:-1]) & (of[1:] == of[:-1])
    beside: dict[str, NDArray[Any]] = {
        name: rows[name][first] for name in ("judge", "group", "weight", "by") if name in rows
    }
    for name in ("weight", "by"):
        if name in rows:
            other = np.flatnonzero(rows[name] != rows[name][first][ranking])
            if len(other):
                fail(int(other[0]), name)
    return ListPiece(rows["item"][order], size, tied, beside)


def _repeated(item: Codes, ranking: NDArray[Any]) -> NDArray[np.bool_]:
    """Which entries repeat an item of their ranking."""
    key = ranking.astype(np.int64) * (int(item.max(initial=0)) + 1) + item
    order = np.argsort(key, kind="stable")
    again = np.zeros(len(key), dtype=bool)
    again[order[1:]] = key[order][1:] == key[order][:-1]
    return again
