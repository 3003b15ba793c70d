"""Variances by belief propagation: items tell each other, pair by pair, how firmly they are held without that pair.

A Laplacian plus a ridge is diagonally dominant, so that Gaussian belief propagation converges (Malioutov, Johnson &
Willsky 2006). It is exact on trees, and nearly so where circles are long or weak, as in sparse votes or where every
item met many. With w a pair's curvature, the precision that left would have without the pair, P_left, and alike
P_right, come from the others' by

    P_i = A_ii − Σ_{other pairs (i, j)} w_ij² / P_j,

and the two together have the precision [[P_left, −w], [−w, P_right]]. A common shift of all items is not seen.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from podium.kernels.pairwise.evidence import (
    first_gaps,
    first_precisions,
    later_gaps,
    next_precisions,
    second_precisions,
)

__all__ = ["item_precisions", "pair_gaps"]

Floats = NDArray[np.float64]
Codes = NDArray[np.int32]

SWEEPS = 200  # at most


def item_precisions(pairs: tuple[Codes, Codes, Floats], diagonal: Floats, settled: float) -> Floats:
    """Precision of every item, by pairs (left, right, curvature) of which none is there twice.

    Sweeps end when no precision changes by more than `settled` of itself.
    """
    return _swept(pairs, diagonal, settled)[0]


def pair_gaps(pairs: tuple[Codes, Codes, Floats], diagonal: Floats, settled: float) -> tuple[Floats, Floats]:
    """Variance of u_left − u_right for every pair, and of every item."""
    precision, own_left, own_right = _swept(pairs, diagonal, settled)
    if own_left is None or own_right is None:
        gaps = np.empty(len(pairs[0]))
        first_gaps(*pairs, 1.0 / diagonal, precision, gaps)
        return gaps, 1.0 / precision
    later_gaps(pairs[2], own_left, own_right)  # memory never used before costs more than what is written there
    return own_left, 1.0 / precision


def _swept(
    pairs: tuple[Codes, Codes, Floats], diagonal: Floats, settled: float
) -> tuple[Floats, Floats | None, Floats | None]:
    """Precisions of items, and of left and right of each pair without it; without the latter if one sweep is enough."""
    inverse, taken = 1.0 / diagonal, np.zeros(len(diagonal))
    first_precisions(*pairs, inverse, taken)
    precision: Floats = diagonal - taken
    if np.max(taken / precision, initial=0.0) <= settled:
        return precision, None, None
    own_left, own_right = np.empty(len(pairs[0])), np.empty(len(pairs[0]))
    taken = np.zeros(len(diagonal))
    second_precisions(*pairs, inverse, precision, own_left, own_right, taken)
    for _ in range(SWEEPS):
        before, precision = precision, diagonal - taken
        taken = np.zeros(len(diagonal))
        next_precisions(*pairs, precision, own_left, own_right, taken)
        if np.max(np.abs(before - precision) / precision) <= settled:
            break
    return precision, own_left, own_right
