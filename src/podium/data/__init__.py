"""What comes in, checked once: comparisons, features of items, files and tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from podium._lazy import lazy

if TYPE_CHECKING:
    from podium.data.files import read_comparisons_by, read_fixtures, read_table
    from podium.data.kept import KeptComparisons, keep_comparisons
    from podium.data.writing import write_table

_LAZY = {
    "KeptComparisons": "podium.data.kept",
    "keep_comparisons": "podium.data.kept",
    "read_comparisons_by": "podium.data.files",
    "read_fixtures": "podium.data.files",
    "read_table": "podium.data.files",
    "write_table": "podium.data.writing",
}

__all__ = [
    "KeptComparisons",
    "keep_comparisons",
    "read_comparisons_by",
    "read_fixtures",
    "read_table",
    "write_table",
]

__getattr__, __dir__ = lazy(__name__, _LAZY)
