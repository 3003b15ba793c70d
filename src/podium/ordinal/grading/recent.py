"""Sets of grades by the rows learned last, each scored before it was learned."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from podium.errors import InputError, Option
from podium.ordinal.conformal import Misses, score_chances
from podium.ordinal.cumulative import CumulativeLogit
from podium.ordinal.labels import Array

__all__ = ["RecentSets"]

MIN_ROWS = 20  # of the rows learned last, below which there are no sets


@dataclass(frozen=True, slots=True)
class RecentSets:
    """What sets of grades are made of: probabilities by score, and misses of rows that these were not fitted to."""

    chances: CumulativeLogit
    misses: Misses

    @classmethod
    def of(cls, recent: Array, K: int) -> RecentSets:
        """By every second of recent rows each."""
        if recent.shape[1] < MIN_ROWS:
            raise InputError(
                f"of rows scored before they were learned the model keeps {recent.shape[1]}, too few for ",
                Option("level"),
                f" ({MIN_ROWS} at least): learn from more rows, or fit it again if an older podium has saved it",
            )
        scores, codes = recent[0], recent[1:].astype(np.intp)
        chances = score_chances(scores[::2], codes[1, ::2], codes[2, ::2], K)
        return cls(chances, Misses.of(chances.predict_proba(scores[1::2, None]), *codes[:, 1::2]))
