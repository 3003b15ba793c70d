"""What an outcome says: left won, right won, or a tie, in the words and numbers people use.

An outcome may also be the winner's own label. A word that says one thing and names the other side's item is an error,
and so is one that says nothing: an unknown outcome is not a tie.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NoReturn

import numpy as np
from numpy.typing import NDArray

from podium.tables.columns import Layout
from podium.tables.labels import Numbering

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Outcomes"]

LEFT = {"1", "1.0", "left", "l", "a", "model_a", "true", "1-0"}
RIGHT = {"0", "0.0", "right", "r", "b", "model_b", "false", "0-1"}
TIE = {"0.5", "1/2", "½", "tie", "tied", "draw", "drawn", "equal", "both", "bothbad", "both_bad", "both bad"}
TIE |= {"tie (bothbad)", "tie (both bad)", "tie(bothbad)", "1/2-1/2", "½-½"}
UNKNOWN = 9


class Outcomes:
    """Reads outcome columns that arrive in pieces: each distinct value is interpreted once."""

    def __init__(self, items: Numbering) -> None:
        self.items = items
        self.values = Numbering()
        self.meaning = np.empty(0, np.int8)

    def read(
        self,
        column: pl.Series,
        left: NDArray[np.int32],
        right: NDArray[np.int32],
        layout: Layout,
        fail: Callable[[int, str], NoReturn],
    ) -> NDArray[np.int8]:
        """+1 where left won, -1 where right did, 0 for a tie; `fail(index, message)` raises for the rest."""
        import polars as pl

        text = column.dtype in (pl.String, pl.Categorical, pl.Enum, pl.Boolean)
        codes = self.values.single(column.cast(pl.String) if text else column.cast(pl.Float64))
        words = self.values.labels
        new = [meaning_of(word, layout) for word in words[len(self.meaning) :]]
        self.meaning = np.append(self.meaning, np.array(new, np.int8))
        if codes.min() < 0:
            index = int(np.argmin(codes))
            fail(index, f"column {column.name!r} is empty; an unknown outcome is not a tie: give one or remove the row")
        found = self.meaning[codes]
        named = np.array([self.items.find(word) for word in words], np.int32)
        if (named >= 0).any() or (self.meaning == UNKNOWN).any():
            found = self._by_label(found, named[codes], left, right, codes, fail)
        return found

    def _by_label(
        self,
        found: NDArray[np.int8],
        named: NDArray[np.int32],
        left: NDArray[np.int32],
        right: NDArray[np.int32],
        codes: NDArray[np.int32],
        fail: Callable[[int, str], NoReturn],
    ) -> NDArray[np.int8]:
        by_label = np.where(named == left, 1, np.where(named == right, -1, UNKNOWN)).astype(np.int8)
        torn = np.flatnonzero((found != UNKNOWN) & (by_label != UNKNOWN) & (found != by_label))
        if len(torn):
            k = int(torn[0])
            word = self.values.labels[codes[k]]
            says = {1: "left", -1: "right", 0: "tie"}[int(found[k])]
            fail(k, f"outcome {word!r} says {says}, but is also the other item's label; use left, right or tie")
        found = np.where(found == UNKNOWN, by_label, found)
        lost = np.flatnonzero(found == UNKNOWN)
        if len(lost):
            k, items = int(lost[0]), self.items.labels
            fail(
                k,
                f"outcome {self.values.labels[codes[k]]!r} is unknown; use 1, 0 or 0.5, left, right or tie, "
                f"or the winner's label ({items[left[k]]!r} or {items[right[k]]!r})",
            )
        return found


def meaning_of(value: object, layout: Layout) -> int:
    """+1, -1, 0, or UNKNOWN. The names of the two columns count as words for their sides."""
    word = f"{value:g}" if isinstance(value, float) else str(value).strip().casefold()
    left, right = layout.left.strip().casefold(), layout.right.strip().casefold()
    if word in LEFT or word == left:
        return 1
    if word in RIGHT or word == right:
        return -1
    return 0 if word in TIE else UNKNOWN
