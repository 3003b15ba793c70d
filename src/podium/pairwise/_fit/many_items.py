"""The inverse of a Laplacian plus a ridge for very many items: variances of differences, the trace, solves.

Variances come from belief propagation (`podium.ranking.uncertainty.messages`).
The trace is mended by a few random probes (Hutchinson 1990), each solved by conjugate gradients, as the difference to
what two terms of the Neumann series say of the same probe.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from podium.kernels.pairwise.bradley_terry import scatter_sum
from podium.kernels.pairwise.evidence import laplacian_columns
from podium.numeric import conjugate_gradients
from podium.ranking.uncertainty.messages import pair_gaps

__all__ = ["SparseInverse"]

Floats = NDArray[np.float64]
Codes = NDArray[np.int32]

PROBED = 20_000  # probes times items, at least: the noise of the trace goes with one over its root
MIN_PROBES = 2
SEED = 1990
SETTLED = (
    0.01  # relative change of a precision at which belief propagation ends: the terms of second order need no more
)
ACCURACY = 3e-3  # of conjugate gradients
MOST = 2000  # their steps


class SparseInverse:
    """A⁻¹ as far as the evidence needs it; `scores` give the items an order that no relabelling changes."""

    def __init__(self, n: int, left: Codes, right: Codes, curvature: Floats, ridge: float, scores: Floats) -> None:
        self.n, self.left, self.right, self.curvature = n, left, right, curvature
        self.ridge, self.scores = ridge, scores
        self.diagonal = np.full(n, ridge)
        scatter_sum(left, right, curvature, self.diagonal)

    @property
    def log_determinant(self) -> float:
        """Not known here."""
        return float("nan")

    def _product(self, columns: Floats) -> Floats:
        out = self.ridge * columns
        laplacian_columns(self.left, self.right, self.curvature, columns, out)
        return out

    def solve(self, columns: Floats) -> Floats:
        """A⁻¹ times some columns.

        A common shift of all items is known to be 1/ridge times itself, which spares the search for it.
        """
        shift = columns.mean(axis=0)
        solved, _ = conjugate_gradients(
            self._product, self.diagonal, np.ascontiguousarray(columns - shift), accuracy=ACCURACY, most=MOST
        )
        whole: Floats = solved + shift / self.ridge
        return whole

    @cached_property
    def _marginals(self) -> tuple[Floats, Floats]:
        """Variance of u_left − u_right for every row, and of every item."""
        return pair_gaps((self.left, self.right, self.curvature), self.diagonal, SETTLED)

    @property
    def gaps(self) -> Floats:
        """Variance of u_left − u_right for every row."""
        return self._marginals[0]

    @property
    def rough_trace(self) -> float:
        """Trace of the inverse by belief propagation alone, and the common shift, which that does not see."""
        return float(self._marginals[1].sum()) + 1.0 / self.ridge

    def trace(self) -> float:
        """Trace of the inverse."""
        rng = np.random.default_rng(SEED)
        probes = max(MIN_PROBES, -(-PROBED // self.n))
        signs = np.empty((self.n, probes))
        # Signs go by the order of the scores, so that the order in which items are named does not matter.
        signs[np.argsort(self.scores, kind="stable")] = rng.choice([-1.0, 1.0], size=(self.n, probes))
        scaled = signs / self.diagonal[:, None]
        known = 2.0 * scaled - self._product(scaled) / self.diagonal[:, None]  # (D⁻¹ + D⁻¹WD⁻¹) signs
        off = np.einsum("ij,ij->j", signs, self.solve(signs) - known).mean()
        return float((1.0 / self.diagonal).sum() + off)
