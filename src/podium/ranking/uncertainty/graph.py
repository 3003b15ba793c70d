"""The score block of the Hessian for very many items: a sparse matrix, and ways to solve with it."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from podium.errors import ConvergenceError, InputError
from podium.kernels.pairwise.uncertainty import fill, inverse_diagonal
from podium.numeric import conjugate_gradients
from podium.ranking.uncertainty.dense import UNDETERMINED
from podium.ranking.uncertainty.information import Information

__all__ = ["MAX_EASY_STEPS", "MAX_FACTOR_COST", "Graph", "between"]

MAX_FACTOR_COST = 3e9  # operations, and entries, that a sparse factor may cost
LOOKS, FEW_NEAR = 4, 0.05  # steps from an item, and the share of all that they reach at most on a long graph
SOLVE_TOL = 1e-6  # relative residual of an iterative solve
MAX_EASY_STEPS, MAX_STEPS = 300, 10_000  # steps of conjugate gradients: on a graph that mixes well, and on any
MIN_SHIFT_CURVATURE = 1e-12  # curvature of the shift, relative to an item's, that is worth a correction


class Graph:
    """A = Laplacian + ridge·I, with what it takes to solve A x = b for b that sum to zero; x then sums to zero too."""

    def __init__(self, information: Information) -> None:
        from scipy.sparse import diags_array
        from scipy.sparse.csgraph import connected_components

        self.n, self.ridge = information.n, information.ridge
        self.across = between(self.n, information.left, information.right, information.curvature)
        self.degree = np.asarray(self.across.sum(axis=1)).ravel()
        self.diagonal = self.degree + self.ridge
        if self.ridge == 0 and connected_components(self.across, directed=False)[0] > 1:
            raise InputError(UNDETERMINED)
        self.matrix = (diags_array(self.diagonal) - self.across).tocsr()

    @property
    def pairs(self) -> tuple[Any, Any, Any]:
        """Left, right and curvature of every pair, each once."""
        from scipy.sparse import triu

        half = triu(self.across, 1, "coo")
        return half.row.astype(np.int32), half.col.astype(np.int32), half.data

    def solve(self, force: np.ndarray, most: int) -> np.ndarray | None:
        """Return the centred x with A x = force − mean, column by column, or None when `most` steps do not suffice."""
        x, enough = conjugate_gradients(
            self.matrix.__matmul__, self.diagonal, force - force.mean(axis=0), accuracy=SOLVE_TOL, most=most
        )
        centred: np.ndarray = x - x.mean(axis=0)
        return centred if enough else None

    def must_solve(self, force: np.ndarray) -> np.ndarray:
        """Solve with as many steps as a hard graph may need; ConvergenceError when even those do not suffice."""
        solution = self.solve(force, MAX_EASY_STEPS)
        if solution is None and self.factor is not None:
            solution = self.factor.solve(force - force.mean(axis=0))
        if solution is None:
            solution = self.solve(force, MAX_STEPS)
        if solution is None:
            raise ConvergenceError(
                f"no standard errors in {MAX_STEPS:,} steps: too few votes connect the items; raise l2"
            )
        return solution

    @property
    def is_long(self) -> bool:
        """Whether a few steps from the item that met most reach few, as on a chain: there a factor is thin."""
        near = np.zeros(self.n)
        near[np.diff(self.across.indptr).argmax()] = 1.0
        for _ in range(LOOKS):
            near = ((near + self.across @ near) > 0.0).astype(np.float64)
        return bool(near.sum() <= FEW_NEAR * self.n)

    @cached_property
    def factor(self) -> Factor | None:
        """A sparse factor of A; None where it would be too large."""
        return self.factor_within(MAX_FACTOR_COST)

    def factor_within(self, cost: float) -> Factor | None:
        """A sparse factor of A that takes no more operations than that; None where there is none."""
        order = self._thin_order(cost)
        return None if order is None else Factor(self.matrix, self.diagonal, order)

    def _thin_order(self, cost: float) -> np.ndarray | None:
        """An elimination order with little fill: along the chain (Cuthill–McKee), or rarely compared items first."""
        from scipy.sparse.csgraph import reverse_cuthill_mckee

        pattern, thinnest, most = self.across.tocsr(), None, cost
        for order in (np.argsort(np.diff(pattern.indptr), kind="stable"), reverse_cuthill_mckee(pattern, True)):
            moved = pattern[order][:, order].tocsr()
            parent, seen = np.empty(self.n, dtype=np.int32), np.empty(self.n, dtype=np.int32)
            below = np.empty(self.n, dtype=np.int64)
            start, column = moved.indptr.astype(np.int32), moved.indices.astype(np.int32)
            work = fill(start, column, parent, seen, below, cost / 100, most)
            if work >= 0:
                thinnest, most = np.asarray(order), work
        return thinnest


class Factor:
    """Sparse L D Lᵀ of A' = A + c·e eᵀ, A made firm at one item.

    For a shift without curvature that changes nothing after centring; in general, with z = A'⁻¹e and P centring,
    P A⁻¹ P = P A'⁻¹ P + c·(P z)(P z)ᵀ / (1 − c·z_e) (Sherman–Morrison).
    """

    def __init__(self, matrix: Any, diagonal: np.ndarray, order: np.ndarray) -> None:
        from scipy.sparse.linalg import splu

        self.order = order
        self.firm = int(diagonal.argmax())
        self.hold = float(diagonal[self.firm])
        unit = np.arange(len(order)) == self.firm
        firm = matrix.copy()
        firm.setdiag(diagonal + self.hold * unit)
        self.parts = splu(
            firm[order][:, order].tocsc(),
            permc_spec="NATURAL",
            diag_pivot_thresh=0.0,
            options={"SymmetricMode": True},
        )
        assert np.array_equal(self.parts.perm_r, self.parts.perm_c), "an M-matrix needs no pivoting"
        self.reach = self._firm_solve(unit[:, None].astype(float))[:, 0]  # z
        self.slack = 1 - self.hold * self.reach[self.firm]

    def _firm_solve(self, force: np.ndarray) -> np.ndarray:
        solved = np.empty_like(force)
        solved[self.order] = self.parts.solve(force[self.order])
        return solved

    def solve(self, force: np.ndarray) -> np.ndarray:
        """Centred solution of A x = force for columns that sum to zero."""
        solution = self._firm_solve(force)
        if self.slack > MIN_SHIFT_CURVATURE:
            solution = solution + np.outer(self.reach, self.hold * solution[self.firm] / self.slack)
        centred: np.ndarray = solution - solution.mean(axis=0)
        return centred

    def inverse_diagonal(self) -> np.ndarray:
        """Diagonal of P A⁻¹ P."""
        n = len(self.order)
        diagonal = np.empty(n)
        diagonal[self.order] = _selected(self.parts)[self.parts.perm_c]
        ones = self._firm_solve(np.ones((n, 1)))[:, 0]
        diagonal += ones.mean() / n - 2 * ones / n
        if self.slack > MIN_SHIFT_CURVATURE:
            diagonal += self.hold * (self.reach - self.reach.mean()) ** 2 / self.slack
        return diagonal


def between(n: int, left: np.ndarray, right: np.ndarray, weight: np.ndarray) -> Any:
    """Symmetric sparse matrix of summed pair weights, zero on the diagonal."""
    from scipy.sparse import coo_array

    half = coo_array((np.asarray(weight, dtype=float), (left, right)), shape=(n, n)).tocsr()
    return (half + half.T).tocsr()


def _selected(parts: Any) -> np.ndarray:
    """Diagonal of the inverse of L D Lᵀ, in the order of the factor."""
    lower = parts.L.tocsc()
    lower.sort_indices()
    n = lower.shape[0]
    diagonal = np.empty(n)
    inverse_diagonal(
        lower.indptr.astype(np.int32),
        lower.indices.astype(np.int32),
        lower.data,
        parts.U.diagonal(),
        np.empty(lower.nnz),
        np.full(n, -1, dtype=np.int32),
        diagonal,
    )
    return diagonal
