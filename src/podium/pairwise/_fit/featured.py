"""What rankers with features share: weights in the user's units, their errors, and scores of items from features alone.

A model u = X w + r leaves the covariance of (u, w, effects) with its ranking. Features were centred and scaled, and a
wide table was reduced to the directions of its rows (`feature_model`); here is the way back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from podium.data.features import FeatureSpec, Matrix, is_sparse
from podium.pairwise._fit.feature_model import ScaledFeatures, SparseBasis
from podium.ranking.ranking import Ranking
from podium.ranking.uncertainty import Information, extra_covariance

__all__ = ["FeatureScores"]

Floats = NDArray[np.float64]


class FeatureScores:
    """Part of a ranker whose scores are X w + r; `_columns` names its extra parameters after the weights."""

    ranking_: Ranking
    coef_: Floats
    _spec: FeatureSpec
    _columns: tuple[str, ...]
    _basis: Floats | SparseBasis | None
    _mean: Floats
    _scale: Floats
    _ignored: NDArray[np.bool_]
    _origin: float

    if TYPE_CHECKING:  # the ranker's own

        def _check_fitted(self) -> None: ...

        def _information(self) -> Information: ...

    def _keep_weights(self, scaled: ScaledFeatures, weights: Floats, origin: float) -> None:
        """Keep the weights (of features as they were scaled) in the user's units."""
        self._mean, self._scale = scaled.mean, scaled.scale
        self._basis, self._ignored, self._origin = scaled.basis, scaled.constant, origin
        self.coef_ = scaled.whole_weights(weights) / scaled.scale

    @property
    def feature_names_(self) -> tuple[str, ...]:
        """Names of the features, aligned with `coef_`."""
        self._check_fitted()
        return self._spec.names

    @property
    def feature_columns_(self) -> tuple[str, ...]:
        """Columns of the table of features; a text column has several `feature_names_`."""
        self._check_fitted()
        return self._spec.columns

    def _extra_covariance(self) -> Floats:
        """Posterior covariance of the weights (of features as they were scaled) and the covariates' effects."""
        information = self._information()
        if not information.extras:
            return np.empty((0, 0))
        return extra_covariance(information, self.ranking_.uncertainty, self.ranking_.cluster)

    @property
    def coef_std_errors_(self) -> Floats:
        """Standard errors of `coef_`; NaN for a feature that was the same for every compared item."""
        errors: Floats = np.sqrt(np.maximum(self._weight_variance(None), 0.0)) / self._scale
        return np.where(self._ignored, np.nan, errors)

    def _weight_variance(self, rows: Matrix | None) -> Floats:
        """Variance of rows·w, for features as they were scaled; of each weight without rows."""
        whole = self._extra_covariance()
        weights = len(whole) - len(self._columns)
        covariance = whole[:weights, :weights]
        if self._basis is None:
            return covariance.diagonal() if rows is None else np.einsum("ij,jk,ik->i", rows, covariance, rows)
        if isinstance(self._basis, SparseBasis):
            if rows is None:
                return self._basis.single_variances(covariance[:-1, :-1], covariance[-1, -1])
            known, length = self._basis.along(rows)
        else:
            known = self._basis if rows is None else rows @ self._basis
            length = np.ones(len(known)) if rows is None else np.einsum("ij,ij->i", rows, rows)
        within = np.einsum("ij,jk,ik->i", known, covariance[:-1, :-1], known)
        beyond = np.maximum(length - np.einsum("ij,ij->i", known, known), 0.0)
        variance: Floats = within + beyond * covariance[-1, -1]
        return variance

    def predict(self, features: Any, return_std: bool = False) -> Floats | tuple[Floats, Floats]:
        """Scores of new items from their features: an array or a frame with the columns of `fit`, a row per item.

        With `return_std` also their standard deviations: of the weights, and of the residual such an item may have.
        """
        self._check_fitted()
        rows, weights = self._spec.read(features), self.coef_ * self._scale
        moved: Matrix
        if isinstance(self._basis, SparseBasis):
            from scipy.sparse import csr_array, diags_array

            known = np.where(self._ignored, 0.0, 1.0 / self._scale)
            moved = csr_array(csr_array(rows) @ diags_array(known))
            scores: Floats = self._origin + np.asarray(moved @ weights) - float((self._mean * known) @ weights)
        else:
            rows = rows.toarray() if is_sparse(rows) else rows
            moved = np.where(self._ignored, 0.0, (rows - self._mean) / self._scale)
            scores = self._origin + moved @ weights
        if not return_std:
            return scores
        deviations: Floats = np.sqrt(self._weight_variance(moved) + self._residual_variance())
        return scores, deviations

    def _residual_variance(self) -> float:
        """Variance of what features do not explain of an item without votes."""
        return float(self._information().prior_variance)
