"""What comes out: items with scores, how sure they are, and marks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from podium._lazy import lazy

if TYPE_CHECKING:
    from podium.ranking.marks import Marks, award_marks

_LAZY = {"Marks": "podium.ranking.marks", "award_marks": "podium.ranking.marks"}

__all__ = ["Marks", "award_marks"]

__getattr__, __dir__ = lazy(__name__, _LAZY)
