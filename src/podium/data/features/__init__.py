"""Features of items: arrays, frames and mappings become one matrix with a row per item, checked once.

Whatever is wrong is named by item and column: a missing value, an infinite one, text where numbers are needed, an item
that was compared and has no features. Items that have features and were never compared come after those that were.
"""

from podium.data.features.moments import column_moments, warn_of_columns
from podium.data.features.reading import FeatureSpec, read_features, read_row_weights
from podium.data.features.values import Matrix, few, is_sparse

__all__ = [
    "FeatureSpec",
    "Matrix",
    "column_moments",
    "few",
    "is_sparse",
    "read_features",
    "read_row_weights",
    "warn_of_columns",
]
