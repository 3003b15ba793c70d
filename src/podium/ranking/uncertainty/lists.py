"""What rankings (lists) say about the scores: like votes of pairs, but the gradient of one is about many items at once.

The Hessian of a Plackett-Luce loss is a Laplacian, as that of pairs. The gradient of ranking r is sparse but for one
part that all items share where those not listed lie below the listed: value at the items listed + base_r · strength.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from podium.errors import InputError
from podium.ranking.uncertainty.information import WEIGHTED, Information

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = ["ListInformation"]

MAX_HELD_DRAWS = 4_000_000  # numbers of one table of draws held at once


def _none() -> np.ndarray:
    return np.empty(0)


@dataclass(frozen=True, eq=False, slots=True)
class ListInformation(Information):
    """Information from rankings. `vote_weight`, `vote_weight_sq`, `vote_extra_gradient` and clusters are of rankings.

    Attributes
    ----------
    list_row, list_item, list_value : arrays
        Gradient of each ranking, its weight included, where it is not `list_base` · `list_strength`.
    list_base : array, one for each ranking; list_strength : array, one for each item, or both empty
    end_item, end_margin, end_votes, end_row : arrays
        Choices of (or against) items with open-ended scores: margin, number and ranking (−1: of many), see `ends`.
    squared_curvature, squared_border, squared_corner : as curvature, border and corner, or none
        The same with squared weights in place of weights, where weights are not counts: how gradients vary under the
        model.
    """

    state_version: ClassVar[int] = 2  # since squared weights are stored

    list_row: np.ndarray = field(default_factory=_none)
    list_item: np.ndarray = field(default_factory=_none)
    list_value: np.ndarray = field(default_factory=_none)
    list_base: np.ndarray = field(default_factory=_none)
    list_strength: np.ndarray = field(default_factory=_none)
    end_item: np.ndarray = field(default_factory=_none)
    end_margin: np.ndarray = field(default_factory=_none)
    end_votes: np.ndarray = field(default_factory=_none)
    end_row: np.ndarray = field(default_factory=_none)
    squared_curvature: np.ndarray = field(default_factory=_none)
    squared_border: np.ndarray | None = None
    squared_corner: np.ndarray | None = None

    @classmethod
    def upgraded(cls, state: dict[str, Any], version: int) -> dict[str, Any]:
        """Version 1 knew nothing of squared weights."""
        return {"squared_curvature": _none(), "squared_border": None, "squared_corner": None} | state

    def choose(self, kind: str) -> str:
        """What "auto" stands for: "weighted" when weights are not counts and squared ones are known."""
        known = len(self.squared_curvature) > 0 and not self.counted
        return WEIGHTED if kind == "auto" and known else Information.choose(self, kind)

    @property
    def has_gradients(self) -> bool:
        """Whether the gradient of every ranking is known."""
        return self.vote_weight is not None

    @property
    def fits(self) -> bool:
        """Whether the arrays fit one another."""
        rows = 0 if self.vote_weight is None else len(self.vote_weight)
        bases = len(self.list_base), len(self.list_strength)
        listed = {len(self.list_row), len(self.list_item), len(self.list_value)}
        ends = {len(self.end_item), len(self.end_margin), len(self.end_votes), len(self.end_row)}
        codes = ((self.list_row, rows), (self.list_item, self.n), (self.end_item, self.n))
        squared = (self.squared_curvature, self.squared_border, self.squared_corner)
        plain = (self.curvature, self.border, self.corner)
        shapes = [[None if each is None else each.shape for each in parts] for parts in (squared, plain)]
        return (
            shapes[0] in ([(0,), None, None], shapes[1])
            and len(listed) == len(ends) == 1
            and bases in ((0, 0), (rows, self.n))
            and all(len(each) == rows for each in self.clusters.values())
            and all(not len(each) or 0 <= each.min() <= each.max() < most for each, most in codes)
        )

    def gradients(self, codes: np.ndarray | None = None) -> tuple[csr_array, np.ndarray, np.ndarray]:
        """Gradients summed by cluster (None: one ranking each): the sparse part, the bases, and the extra part."""
        from scipy.sparse import csr_array

        assert self.vote_weight is not None, "gradients were asked for"
        rows = len(self.vote_weight)
        own = np.arange(rows) if codes is None else codes
        size = int(own.max(initial=-1)) + 1
        places = own[self.list_row.astype(np.intp)], self.list_item.astype(np.intp)
        sparse = csr_array((self.list_value, places), shape=(size, self.n))
        base = np.bincount(own, self.list_base, size) if len(self.list_base) else np.zeros(size)
        extra = np.zeros((size, self.extras))
        if self.vote_extra_gradient is not None:
            np.add.at(extra, own, self.vote_extra_gradient)
        return sparse, base, extra

    def meat(self, cluster: str | None) -> np.ndarray:
        """Σ s sᵀ over clusters, or Σ w² g gᵀ over single rankings."""
        weight, square = self.vote_weight, self.vote_weight_sq
        assert weight is not None, "gradients were asked for"
        assert square is not None, "they come together"
        sparse, base, extra = self.gradients(None if cluster is None else self.clusters[cluster])
        if cluster is None:
            scale = np.sqrt(square) / weight
            from scipy.sparse import diags_array

            sparse, base, extra = diags_array(scale) @ sparse, scale * base, scale[:, None] * extra
        strength = self.list_strength if len(self.list_strength) else np.zeros(self.n)
        across = np.asarray(sparse.T @ base)
        scores = np.asarray((sparse.T @ sparse).todense())
        scores = scores + np.outer(strength, across) + np.outer(across, strength)
        scores += float(base @ base) * np.outer(strength, strength)
        if not self.extras:
            return scores
        border = np.asarray(sparse.T @ extra) + np.outer(strength, base @ extra)
        return np.block([[scores, border], [border.T, extra.T @ extra]])

    def squared_pulls(self, cluster: str | None) -> np.ndarray:
        """The scores' part of the diagonal of `meat`, without the rest."""
        weight, square = self.vote_weight, self.vote_weight_sq
        assert weight is not None, "gradients were asked for"
        assert square is not None, "they come together"
        sparse, base, _ = self.gradients(None if cluster is None else self.clusters[cluster])
        scale = square / weight**2 if cluster is None else np.ones(len(base))
        total: np.ndarray = np.asarray(sparse.power(2).T @ scale)
        if len(self.list_strength):
            total = total + 2.0 * self.list_strength * np.asarray(sparse.T @ (scale * base))
            total = total + float(base @ (scale * base)) * self.list_strength**2
        return total

    def redrawn(
        self, inverse: np.ndarray, replicates: int, cluster: str | None, rng: np.random.Generator
    ) -> np.ndarray:
        """Scores after one Newton step for redrawn rankings (or clusters of them): (replicates, n)."""
        weight, square = self.vote_weight, self.vote_weight_sq
        assert weight is not None, "gradients were asked for"
        assert square is not None, "they come together"
        sparse, base, extra = self.gradients(None if cluster is None else self.clusters[cluster])
        mean = weight**2 / square if cluster is None else np.ones(len(base))
        strength = self.list_strength if len(self.list_strength) else np.zeros(self.n)
        start = np.zeros(self.n) if self.scores is None else self.scores
        scores = np.empty((replicates, self.n))
        block = max(1, MAX_HELD_DRAWS // max(1, len(mean)))
        for first in range(0, replicates, block):
            count = min(block, replicates - first)
            excess = rng.poisson(mean, size=(count, len(mean))) / mean - 1.0
            gradient: Any = np.asarray(excess @ sparse) + np.outer(excess @ base, strength)
            gradient = np.hstack([gradient, excess @ extra])
            scores[first : first + count] = start - (gradient @ inverse)[:, : self.n]
        return scores

    def among(self, kept: np.ndarray) -> dict[str, Any]:
        """The fields of the part about some items."""
        place = np.full(self.n, -1, dtype=np.int32)
        place[kept] = np.arange(len(kept))
        if not self.has_gradients:
            return {}
        known = place[self.list_item.astype(np.intp)] >= 0
        return {
            "list_row": self.list_row[known],
            "list_item": place[self.list_item.astype(np.intp)][known],
            "list_value": self.list_value[known],
            "list_strength": self.list_strength[kept] if len(self.list_strength) else self.list_strength,
        }

    def ends(self, cluster: str | None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Item, margin and number of the choices that say where open-ended scores end."""
        item, number, row = self.end_item.astype(np.intp), self.end_votes, self.end_row.astype(np.int64)
        if cluster is not None and len(item):
            codes = self.clusters[cluster].astype(np.int64)
            code = np.where(row < 0, codes.max(initial=0) + 1 + np.arange(len(row)), codes[np.maximum(row, 0)])
            _, together = np.unique(np.column_stack([item, code]), axis=0, return_inverse=True)
            number = number / np.maximum(np.bincount(together.ravel(), number)[together.ravel()], 1)
        return item, self.end_margin, number

    def count(self, cluster: str) -> int:
        """Number of clusters, two at least."""
        groups = self.cluster_count(cluster)
        if groups < 2:
            raise InputError(f"errors clustered by {cluster} need at least two clusters; the rankings have {groups}")
        return groups
