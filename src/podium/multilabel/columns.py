"""Whether the columns of y are the labels that were learned."""

from __future__ import annotations

from typing import Any

import numpy as np

from podium.errors import InputError

__all__ = ["check_columns"]


def check_columns(y: Any, labels: np.ndarray) -> None:
    """Refuse columns of y with other names than the labels that were learned, or in another order.

    Without names, in y or when they were learned, columns are taken by their places.
    """
    now, learned = [str(name) for name in getattr(y, "columns", ())], [str(label) for label in labels]
    unnamed = [str(place) for place in range(len(labels))]
    if len(now) != len(learned) or unnamed in (now, learned):
        return
    for column, (name, label) in enumerate(zip(now, learned, strict=True), start=1):
        if name != label:
            raise InputError(
                f"column {column} of y is {name!r}, but {label!r} was learned there; "
                "give the columns of y in the order of labels_"
            )
