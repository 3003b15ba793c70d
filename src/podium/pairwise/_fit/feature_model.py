"""The loss of votes on items with features: rows, scaled features, and the way back to all items.

Features are centred and scaled here. A wide matrix, with more features than items, is replaced by its coordinates along
the items' own rows, since the best weights are a mix of these; a sparse wide one by way of its Gram matrix, so that it
is never written out.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.data.comparisons import Comparisons
from podium.data.features import Matrix, column_moments, is_sparse
from podium.errors import InputError, Option
from podium.pairwise._fit.effects import Effects
from podium.pairwise._fit.feature_solver import FeatureProblem, Place, row_basis
from podium.pairwise._fit.followed import FollowedEffects
from podium.pairwise._fit.hinge import HingeRows
from podium.pairwise._fit.likelihoods import DavidsonRows, LapseRows, LogisticRows, SquaredRows
from podium.pairwise._fit.penalties import Node
from podium.pairwise._fit.rows import davidson_loss, logistic_loss, pull_rows, squared_loss, vote_targets
from podium.pairwise._fit.solvers import LinearSolver, Rows
from podium.pairwise._fit.strength_model import EFFECT_TOL, StrengthModel
from podium.ranking.uncertainty import Alternative, Information

__all__ = ["FeatureModel", "ScaledFeatures", "SparseBasis", "VoteModel"]

Floats = NDArray[np.float64]

MAX_WRITTEN_OUT = 50_000_000  # values of a sparse table with fewer features than items, which is written out
MAX_GRAM_ITEMS = 6_000  # of a sparse table with more
CHUNK = 4096  # features whose errors are worked out at a time


@dataclass(frozen=True, slots=True)
class VoteModel:
    """What is taken for the chance, or the size, of a vote's outcome."""

    loss: str = "logistic"
    flip_rate: float = 0.0
    lapse: bool = False
    ties: str = "half"
    side_effect: bool = False


@dataclass(frozen=True, eq=False, slots=True)
class SparseBasis:
    """Orthonormal columns that span the rows of a sparse table Z = (X − shift), as Zᵀ·mix; Z is scaled already.

    `data`, `indices` and `indptr` are X by rows, as in SciPy.
    """

    data: Floats
    indices: NDArray[Any]
    indptr: NDArray[Any]
    shift: Floats  # (features,)
    mix: Floats  # (items, directions)

    @property
    def _table(self) -> Any:
        from scipy.sparse import csr_array

        return csr_array((self.data, self.indices, self.indptr), shape=(len(self.mix), len(self.shift)))

    def whole(self, weights: Floats) -> Floats:
        """Weights of all features from those of the directions."""
        mixed = self.mix @ weights
        weighed: Floats = np.asarray(self._table.T @ mixed - self.shift * mixed.sum(), dtype=np.float64)
        return weighed

    def along(self, rows: Any) -> tuple[Floats, Floats]:
        """What the directions see of sparse rows, scaled and not yet shifted; and the rows' squared lengths."""
        table = self._table
        offset = np.asarray(table @ self.shift)
        lean, square = np.asarray(rows @ self.shift), float(self.shift @ self.shift)
        gram = np.asarray((rows @ table.T).todense()) - lean[:, None] - offset + square
        lengths = np.asarray(rows.multiply(rows).sum(axis=1)).ravel() - 2.0 * lean + square
        return gram @ self.mix, lengths

    def single_variances(self, covariance: Floats, beyond: float) -> Floats:
        """Variance of each feature's weight, `beyond` being that of a direction no item has anything of."""
        table, total = self._table.T.tocsr(), self.mix.sum(axis=0)
        variances = np.empty(len(self.shift))
        for begin in range(0, len(variances), CHUNK):
            part = slice(begin, begin + CHUNK)
            rows = np.asarray(table[part] @ self.mix) - self.shift[part, None] * total
            within = np.einsum("ij,jk,ik->i", rows, covariance, rows)
            variances[part] = within + np.maximum(1.0 - np.einsum("ij,ij->i", rows, rows), 0.0) * beyond
        return variances


def _sparse_basis(table: Any, shift: Floats, weights: Floats | None) -> tuple[Floats, SparseBasis]:
    """Coordinates of the rows of (table − shift), each times its weight, along a basis of them; and that basis."""
    offset = np.asarray(table @ shift)
    gram = np.asarray((table @ table.T).todense()) - offset[:, None] - offset + float(shift @ shift)
    if weights is not None:
        gram = weights[:, None] * gram * weights
    values, axes = np.linalg.eigh(gram)
    kept = values > 1e-12 * max(float(values.max(initial=0.0)), 1e-300)
    sizes = np.sqrt(values[kept])
    mix = axes[:, kept] / sizes
    if weights is not None:
        mix = weights[:, None] * mix
    basis = SparseBasis(table.data, table.indices, table.indptr, shift, np.ascontiguousarray(mix))
    return axes[:, kept] * sizes, basis


class ScaledFeatures:
    """Features of items, centred and scaled by those that were `seen`, and the way back to the user's columns."""

    seen: NDArray[np.bool_]
    mean: Floats
    scale: Floats
    constant: NDArray[np.bool_]
    matrix: Floats  # of all items, as it was scaled
    feature_std: Floats
    basis: Floats | SparseBasis | None

    def _scale_features(self, matrix: Matrix, standardize: bool, row_weights: Floats | None) -> None:
        """Means are taken off in any case: only differences matter, and those of large numbers lose their digits.

        Row weights multiply features as they were scaled; where they are taken as they are, as they are.
        """
        n, d = matrix.shape
        sparse = is_sparse(matrix)
        if sparse and d <= n:
            if n * d > MAX_WRITTEN_OUT:
                raise InputError(
                    f"features: a sparse table of {n:,} items and {d:,} features is written out when items are more "
                    f"than features, and that has over {MAX_WRITTEN_OUT:,} values; keep fewer features"
                )
            matrix, sparse = matrix.toarray(), False
        if row_weights is not None and not standardize:
            matrix = matrix.multiply(row_weights[:, None]).tocsr() if sparse else row_weights[:, None] * matrix
            row_weights = None
        self.mean, scale, self.constant = column_moments(matrix[self.seen])
        self.scale = np.where(self.constant | (not standardize), 1.0, scale)
        self.basis = None
        if not sparse:
            self.matrix = np.ascontiguousarray(np.where(self.constant, 0.0, (matrix - self.mean) / self.scale))
            self.feature_std = self.matrix.std(axis=0) * self.scale  # in this order no square overflows
            if row_weights is not None:
                self.matrix *= row_weights[:, None]
            if d > n:
                self.basis = basis = row_basis(self.matrix)
                self.matrix = self.matrix if basis is None else self.matrix @ basis
        else:
            if n > MAX_GRAM_ITEMS:
                raise InputError(
                    f"features: a sparse table with more features than items ({d:,} and {n:,}) needs a matrix of all "
                    f"items, up to {MAX_GRAM_ITEMS:,}; keep fewer features than items"
                )
            from scipy.sparse import csr_array, diags_array

            self.feature_std = column_moments(matrix)[1]
            known = np.where(self.constant, 0.0, 1.0 / self.scale)
            table = csr_array(matrix @ diags_array(known))
            self.matrix, self.basis = _sparse_basis(table, self.mean * known, row_weights)
        if self.basis is not None:
            # More features than items: weights matter along the items' rows only. The column of zeros stands for all
            # other directions, of which the votes say nothing.
            self.matrix = np.column_stack([self.matrix, np.zeros(n)])

    def whole_weights(self, weights: Floats) -> Floats:
        """Weights of all features, as they were scaled."""
        if self.basis is None:
            return weights
        if isinstance(self.basis, SparseBasis):
            return self.basis.whole(weights[:-1])
        whole: Floats = self.basis @ weights[:-1]
        return whole


class FeatureModel(ScaledFeatures):
    """The loss of one set of votes on the items they mention, and how to get back to all items."""

    def __init__(
        self,
        c: Comparisons,
        matrix: Matrix,
        votes: VoteModel,
        standardize: bool,
        row_weights: Floats | None = None,
    ) -> None:
        self.effects: Effects | None
        self.comparisons, self.votes, n = c, votes, len(c.items)
        self._count_votes()
        total = self.loss.wins + self.loss.losses + self.loss.ties if self.davidson else self.loss.total
        weight = np.bincount(self.left, total, n) + np.bincount(self.right, total, n)
        self.total: Floats = total
        self.weight = float(total.sum())
        self.seen = np.zeros(matrix.shape[0], dtype=bool)
        self.seen[:n] = weight > 0
        self._scale_features(matrix, standardize, row_weights)
        place = np.cumsum(self.seen, dtype=np.int32) - np.int32(1)
        ends = (self.left, self.right) if self.seen[:n].all() else (place[self.left], place[self.right])
        rows = Rows(int(self.seen.sum()), ends[0], ends[1], self._design(len(self.left)))
        self.problem = FeatureProblem(rows, self.loss, self.matrix[self.seen], weight[weight > 0].astype(np.float64))
        self.whole, self.effects = self.problem, None

    def _count_votes(self) -> None:
        c, v = self.comparisons, self.votes
        self.loss: Any
        self.columns = tuple(f"covariate:{name}" for name in c.covariate_names) if c.covariates is not None else ()
        self.columns += ("side",) if v.side_effect else ()
        self.davidson = False
        if v.ties == "davidson":
            tied, whole = float(c.pairs.ties.sum()), float(c.pairs.total.sum())
            if tied == whole:
                raise InputError(
                    "every vote is a tie: ", Option("ties", "davidson"), " cannot tell the items apart; use ",
                    Option("ties", "half"),
                )  # fmt: skip
            self.davidson = tied > 0  # without ties ν = 0 and this is the plain log loss
        if self.davidson:
            self.columns += ("tie",)
            self.left, self.right, self.loss = davidson_loss(c, by_side=v.side_effect)
        elif v.loss == "logistic":
            kind = "lapse" if v.lapse else "corrected"
            self.left, self.right, self.loss = logistic_loss(c, v.flip_rate, kind, by_side=v.side_effect)
        elif v.loss == "hinge":
            self.left, self.right, plain = logistic_loss(c, by_side=v.side_effect)
            assert isinstance(plain, LogisticRows)
            self.loss = HingeRows(plain.points, plain.total - plain.points)
        else:
            self.left, self.right, self.loss = squared_loss(c, v.flip_rate, by_side=v.side_effect)

    def _design(self, rows: int) -> Floats | None:
        c = self.comparisons
        columns = [] if c.covariates is None else [c.covariates]
        if self.votes.side_effect:
            columns.append(np.ones((rows, 1)))
        return np.ascontiguousarray(np.hstack(columns)) if columns else None

    def hold_effects(self, max_iter: int) -> None:
        """Find the effects of covariates and side without penalties, as `BradleyTerry` does, and hold them there.

        A residual is a draw that knows nothing of the covariates: pulled to 0, it leaves it to the effect to explain
        why items win that have more of the covariate.
        """
        design = self.problem.rows.design
        if design is None:
            return
        alone = StrengthModel(self.comparisons, self.votes.ties, self.votes.side_effect)
        alone.hold_effects(max_iter, "hessian")
        if alone.effects is not None:
            self.effects = alone.effects
            rows = dataclasses.replace(self.whole.rows, design=None, offset=design @ self.effects.values)
            self.problem = FeatureProblem(rows, self.whole.loss, self.whole.features, self.whole.votes)

    def followed(self, max_iter: int) -> FollowedEffects | None:
        """How penalties are chosen where effects are held that scores may follow."""
        design = self.whole.rows.design
        if self.effects is None or design is None:
            return None
        return FollowedEffects.of(self.problem, design, self.effects, self.total, max_iter)

    def with_effects(self, place: Place) -> Place:
        """With the effects that are held among the extra parameters."""
        if self.effects is None:
            return place
        return dataclasses.replace(place, extras=np.concatenate([self.effects.values, place.extras]))

    def nothing(self) -> Place:
        """All scores equal."""
        n, d = self.problem.features.shape
        return Place(np.zeros(d), np.zeros(n), np.zeros(self.problem.extras))

    def plain(self) -> FeatureProblem:
        """The same votes taken at their word."""
        p, loss = self.problem, self.problem.loss
        assert isinstance(loss, LapseRows)
        return FeatureProblem(p.rows, LogisticRows(loss.points, loss.total), p.features, p.votes)

    def noise(self, place: Place, penalties: tuple[float, float]) -> float | None:
        """With the squared loss, the standard deviation of a vote around its margin."""
        if not isinstance(self.problem.loss, SquaredRows):
            return None
        return math.sqrt(max(self.problem.objective(place, penalties), 0.0) / self.weight)

    # ---- how sure ---------------------------------------------------------------------------------------------

    def whole_information(
        self, place: Place, penalties: tuple[float, float], others: Callable[[], list[Node]]
    ) -> Information:
        """The information at the chosen penalties, and at the others that the votes leave possible."""
        here, alternatives = self.information(place, penalties), []
        shown = self._scores(place)
        for node in others():
            there = self.information(node.place, node.penalties, pulls=False)
            extras = self.with_effects(node.place).extras - self.with_effects(place).extras
            weights = node.place.weights - place.weights, extras
            shift = np.concatenate([self._scores(node.place) - shown, *weights])
            alternatives.append(
                Alternative(node.share, there.curvature, there.ridge, there.border, there.corner, shift)
            )
        return dataclasses.replace(here, alternatives=tuple(alternatives))

    def information(self, place: Place, penalties: tuple[float, float], *, pulls: bool = True) -> Information:
        """Curvature of −log posterior in the scores of all items and the weights, and each vote's pull."""
        noise, place = self.noise(place, penalties), self.with_effects(place)
        unit = 1.0 if noise is None else 0.5 / max(noise, 1e-150) ** 2  # a squared loss becomes a likelihood
        n, d = self.matrix.shape
        point = self.whole.evaluate(place)
        p = len(place.extras)
        ridges = 2.0 * unit * penalties[0], 2.0 * unit * penalties[1]
        border, corner = np.zeros((n, d + p)), np.zeros((d + p, d + p))
        border[:, :d] = -ridges[1] * self.matrix
        border[self.seen, d:] = unit * point.border
        corner[:d, :d] = ridges[1] * (self.matrix.T @ self.matrix) + ridges[0] * np.eye(d)
        corner[d:, d:] = unit * point.corner
        if self.effects is not None:
            self._know_effects(point.curvature, ridges[1], border, corner)
        return Information(
            n,
            self.left,
            self.right,
            unit * point.curvature,
            ridge=ridges[1],
            border=border if d + p else None,
            corner=corner if d + p else None,
            scores=self._scores(place),
            **(self._pulls(place, unit, d) if pulls else {}),
        )

    def _know_effects(self, curvature: Floats, ridge: float, border: Floats, corner: Floats) -> None:
        """Change the corner so that the held effects are known as well as without penalties, in place."""
        assert self.effects is not None, "they are held"
        n, d = self.matrix.shape
        solve = LinearSolver(Rows(n, self.left, self.right), ridge).factor(curvature, EFFECT_TOL)
        left = corner - border.T @ np.column_stack([solve(np.ascontiguousarray(column)) for column in border.T])
        held = np.zeros(len(corner), dtype=bool)
        held[d : d + len(self.effects.values)] = True
        across = left[np.ix_(~held, held)]
        known = left[np.ix_(held, held)] - across.T @ np.linalg.solve(left[np.ix_(~held, ~held)], across)
        corner[np.ix_(held, held)] += np.linalg.inv(self.effects.covariance) - known

    def _scores(self, place: Place) -> Floats:
        scores: Floats = self.matrix @ place.weights
        scores[self.seen] += place.residuals
        return scores

    def _pulls(self, place: Place, unit: float, d: int) -> dict[str, Any]:
        """Slope of single votes, for robust errors."""
        c, loss = self.comparisons, self.problem.loss
        left, right, outcome, weight, squares, clusters = pull_rows(c, by_side=self.votes.side_effect)
        rows = Rows(len(self.matrix), left, right, self._design(len(left)))
        margin = rows.margin(self._scores(place), place.extras)
        flip_rate, own = self.votes.flip_rate, np.empty((len(left), 0))
        keep = 1.0 / (1.0 - 2.0 * flip_rate)
        if isinstance(loss, DavidsonRows):
            slope, own = loss.vote_slopes(margin, outcome, place.extras)
        elif isinstance(loss, LapseRows):
            slope = loss.vote_slopes(margin, outcome)
        elif isinstance(loss, LogisticRows):
            slope = 1.0 / (1.0 + np.exp(-margin)) - (outcome + flip_rate * keep * (2.0 * outcome - 1.0))
        else:
            slope = 2.0 * unit * (margin - keep * vote_targets(c, outcome))
        design = np.empty((len(left), 0)) if rows.design is None else rows.design
        extra = np.hstack([np.zeros((len(left), d)), slope[:, None] * design, own])
        return {
            "vote_left": left,
            "vote_right": right,
            "vote_gradient": slope,
            "vote_weight": weight,
            "vote_weight_sq": squares,
            "vote_extra_gradient": extra if extra.shape[1] else None,
            "clusters": clusters,
        }
