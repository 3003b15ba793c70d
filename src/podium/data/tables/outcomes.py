"""What an outcome says: left won, right won, or a tie, in the words and numbers people use.

An outcome may also be the winner's own label. A word that says one thing and names the other side's item, be it in
another case, is an error, and so is one that says nothing: an unknown outcome is not a tie. Where labels are numbers,
0, 1 and 0.5 in a column that is not called winner are numbers, provided that no value of the column is a label.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn, TypeAlias

import numpy as np
from numpy.typing import NDArray

from podium.data.tables.columns import Layout
from podium.data.tables.labels import Numbering
from podium.errors import InputError

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Outcomes"]

LEFT = {"1", "1.0", "left", "l", "a", "model_a", "true", "1-0"}
RIGHT = {"0", "0.0", "right", "r", "b", "model_b", "false", "0-1"}
TIE = {"0.5", "1/2", "½", "tie", "tied", "draw", "drawn", "equal", "both", "bothbad", "both_bad", "both bad"}
TIE |= {"tie (bothbad)", "tie (both bad)", "tie(bothbad)", "1/2-1/2", "½-½", "="}
NUMBERS = {"1", "1.0", "0", "0.0", "0.5"}
HOME, AWAY = {"h", "home", "1"}, {"a", "away"}  # of leagues, where A is no left side
LEAGUE_TIE = TIE | {"d", "x"}
UNKNOWN = 9

Fail: TypeAlias = Callable[[int, str], NoReturn]


class Outcomes:
    """Reads outcome columns that arrive in pieces: each distinct value is interpreted once."""

    def __init__(self, items: Numbering) -> None:
        self.items = items
        self.values = {"text": Numbering(), "number": Numbering()}
        self.meaning = dict.fromkeys(self.values, np.empty(0, np.int8))  # what each distinct value says, by its code
        self.folded: dict[str, list[int]] = {}  # codes of items, by a word that their label is in some case
        self.looked = 0  # how many items are in `folded`
        self.as_number: Hashable = None  # a value taken for a number although an item has it for a label
        self.as_label: Hashable = None  # a value taken for an item's label

    def read(
        self, column: pl.Series, left: NDArray[np.int32], right: NDArray[np.int32], layout: Layout, fail: Fail
    ) -> NDArray[np.int8]:
        """+1 where left won, -1 where right did, 0 for a tie; `fail(index, message)` raises for the rest.

        The column holds text or numbers.
        """
        kind = "number" if column.dtype.is_numeric() else "text"
        values, known = self.values[kind], self.meaning[kind]
        codes = values.single(column)
        new = [meaning_of(word, layout) for word in values.labels_from(len(known))]
        meaning = self.meaning[kind] = np.append(known, np.array(new, np.int8))
        if codes.min() < 0:
            index = int(np.argmin(codes))
            fail(index, f"column {column.name!r} is empty; an unknown outcome is not a tie: give one or remove the row")
        rows = _Rows(left, right, codes, values.labels, meaning[codes], fail)
        named = np.array([self.items.find(word) for word in rows.words], np.int32)
        if (named >= 0).any() or (meaning == UNKNOWN).any():
            self._by_label(rows, named[codes], numbers_are_numbers=not layout.names_winner)
        self._refuse_other_case(rows, named)
        return rows.outcome

    def unite(self, other: Outcomes, where: str) -> None:
        """Take what another reader of the same column, in the file `where`, took values for."""
        self.as_label = other.as_label if self.as_label is None else self.as_label
        self.as_number = other.as_number if self.as_number is None else self.as_number
        if self.as_label is not None and self.as_number is not None:
            raise InputError(f"{where}: {self._torn()}")

    def _torn(self) -> str:
        return (
            f"outcome {self.as_number!r} would be a number and {self.as_label!r} the winner's label, in one "
            "column; use left, right or tie, or call the column winner"
        )

    def _by_label(self, rows: _Rows, named: NDArray[np.int32], numbers_are_numbers: bool) -> None:
        """Settle the rows whose outcome is the label of one of the two items."""
        outcome = rows.outcome
        by_label = np.where(named == rows.left, 1, np.where(named == rows.right, -1, UNKNOWN)).astype(np.int8)
        torn = (outcome != UNKNOWN) & (by_label != UNKNOWN) & (outcome != by_label)
        number = np.array([_text(word) in NUMBERS for word in rows.words])[rows.codes] & numbers_are_numbers
        for k in np.flatnonzero(torn & ~number)[:1].tolist():
            rows.refuse(k, "but is also the other item's label")
        used = np.flatnonzero((outcome == UNKNOWN) & (by_label != UNKNOWN))
        taken = np.flatnonzero(torn & number)
        self.as_label = rows.word(used[0]) if len(used) else self.as_label
        self.as_number = rows.word(taken[0]) if len(taken) else self.as_number
        if self.as_label is not None and self.as_number is not None and (len(used) or len(taken)):
            k = int(used[0]) if len(used) else int(taken[0])
            rows.fail(k, self._torn())
        rows.outcome = np.where(outcome == UNKNOWN, by_label, outcome)
        for k in np.flatnonzero(rows.outcome == UNKNOWN)[:1].tolist():
            items = self.items.labels
            rows.fail(
                k,
                f"outcome {rows.word(k)!r} is unknown; use 1, 0 or 0.5, left, right or tie, "
                f"or the winner's label ({items[rows.left[k]]!r} or {items[rows.right[k]]!r})",
            )

    def _refuse_other_case(self, rows: _Rows, named: NDArray[np.int32]) -> None:
        """Stop at a word for one side that is the other item's label in another case: `a` where right is `A`."""
        for code, label in enumerate(self.items.labels_from(self.looked), start=self.looked):
            if isinstance(label, str):
                self.folded.setdefault(_text(label), []).append(code)
            self.looked = code + 1
        for word, value in enumerate(rows.words):
            alike = [code for code in self.folded.get(_text(value), ()) if code != named[word]]
            if not alike or not isinstance(value, str):
                continue
            mine = (rows.codes == word) & (rows.left != named[word]) & (rows.right != named[word])
            others = (np.isin(rows.right, alike) & (rows.outcome >= 0)) | (
                np.isin(rows.left, alike) & (rows.outcome <= 0)
            )
            for k in np.flatnonzero(mine & others)[:1].tolist():
                rows.refuse(k, "but in another case is also the other item's label")


@dataclass
class _Rows:
    """The rows of one piece: who met, the word for the outcome, and what it says."""

    left: NDArray[np.int32]
    right: NDArray[np.int32]
    codes: NDArray[np.int32]
    words: tuple[Hashable, ...]
    outcome: NDArray[np.int8]
    fail: Fail

    def word(self, k: int) -> Hashable:
        return self.words[int(self.codes[k])]

    def refuse(self, k: int, but: str) -> NoReturn:
        says = {1: "left", -1: "right", 0: "tie"}[int(self.outcome[k])]
        self.fail(k, f"outcome {self.word(k)!r} says {says}, {but}; use left, right or tie")


def _text(value: object) -> str:
    """A value as it is compared with words."""
    return f"{value:g}" if isinstance(value, float) else str(value).strip().casefold()


def meaning_of(value: object, layout: Layout) -> int:
    """+1, -1, 0, or UNKNOWN. The names of the two columns count as words for their sides."""
    word = _text(value)
    left, right = layout.left.strip().casefold(), layout.right.strip().casefold()
    if layout.in_a_league:
        return 1 if word in HOME else -1 if word in AWAY else 0 if word in LEAGUE_TIE else _plain(word)
    if word in LEFT or word == left:
        return 1
    if word in RIGHT or word == right:
        return -1
    return 0 if word in TIE else UNKNOWN


def _plain(word: str) -> int:
    """Words that mean the same in a league: those without a and b."""
    if word in {"1.0", "left", "l", "true", "1-0"}:
        return 1
    return -1 if word in {"0", "0.0", "right", "r", "false", "0-1"} else UNKNOWN
