"""Covariance of mean-centred scores: inverse Hessian, sandwich, cluster-robust.

A penalised Hessian barely holds the common shift of all scores, so its raw inverse is dominated by a direction nobody
asks about and its intervals cover 100 %. Everything here is therefore about scores less their mean: with P = I − 11ᵀ/n
and the extra parameters profiled out (the score block of the full inverse, that is the inverse Schur complement),

    hessian    P H⁻¹ P                         right when the model is
    weighted   P H⁻¹ (Σ w² E[g gᵀ]) H⁻¹ P      right also when weights are not counts: H with squared weights in the
                                               middle, which is H itself when they are
    sandwich   P H⁻¹ (Σ w² g gᵀ) H⁻¹ P         right also when votes vary less or more than the model says (White 1980;
                                               Huber 1967), but too small where votes are few
    cluster    P H⁻¹ (G/(G−1) Σ_c s_c s_cᵀ) H⁻¹ P,  s_c = Σ_{votes of c} w g   right when votes of one judge, group
                                               or ranking go together (Liang & Zeger 1986)

with g one vote's gradient and G the number of clusters.
"""

from __future__ import annotations

import numpy as np

from podium.errors import InputError
from podium.ranking.uncertainty.information import WEIGHTED, Information, WeightedInformation
from podium.ranking.uncertainty.lists import ListInformation

__all__ = ["DENSE_LIMIT", "Undetermined", "covariance", "full_covariance", "is_determined"]

# Up to here an n × n matrix is held; beyond, only its diagonal.
DENSE_LIMIT = 5000

MAX_TRIED_ITEMS = 500  # up to here a factorisation is tried in advance
UNDETERMINED = (
    "the votes leave some scores undetermined (items or groups never compared with the rest, and no penalty), "
    "so no intervals exist; set l2 > 0 or compare across the groups"
)


class Undetermined(InputError):
    """The votes leave some scores without any bound."""


def covariance(information: Information, kind: str = "hessian", cluster: str | None = None) -> np.ndarray:
    """Return the (n, n) covariance of the mean-centred scores.

    Examples
    --------
    Two items that met 40 times and won half each: the difference has variance 1 / (40·¼) = 0.1, and each centred
    score is half the difference.

    >>> import numpy as np
    >>> covariance(Information(2, np.array([0]), np.array([1]), np.array([10.0])))
    array([[ 0.025, -0.025],
           [-0.025,  0.025]])
    """
    return full_covariance(information, kind, cluster)[: information.n, : information.n]


def full_covariance(information: Information, kind: str, cluster: str | None) -> np.ndarray:
    """Covariance of centred scores and extra parameters together, (n + p, n + p)."""
    cluster = information.require(kind, cluster)
    kind = information.choose(kind)
    if kind == "bootstrap":
        raise InputError("the bootstrap gives replicates, not a formula; use `score_covariance`")
    bread = inverse_hessian(information)
    if kind == "hessian":
        return bread
    if kind == WEIGHTED:
        meat = _model_meat(information)
    else:
        meat = _row_meat(information) if kind == "sandwich" else _cluster_meat(information, str(cluster))
    full = bread @ meat @ bread
    even: np.ndarray = (full + full.T) / 2
    return even


def is_determined(information: Information) -> bool:
    """Whether the Hessian has an inverse; with many items, whose votes are many, it is taken to have one."""
    if information.n > MAX_TRIED_ITEMS:
        return True
    try:
        np.linalg.cholesky(_hessian(information))
    except np.linalg.LinAlgError:
        return False
    return True


def inverse_hessian(information: Information, *, centred: bool = True) -> np.ndarray:
    """Inverse of H with the scores centred; else with the common shift held firmly, which changes no difference."""
    inverse = _invert(_hessian(information))
    return _centred(inverse, information.n) if centred else inverse


def _hessian(information: Information) -> np.ndarray:
    n = information.n
    hessian = np.zeros((n + information.extras, n + information.extras))
    hessian[:n, :n] = laplacian(n, information.left, information.right, information.curvature)
    hessian[np.arange(n), np.arange(n)] += information.ridge
    if information.border is not None:
        hessian[:n, n:] = information.border
        hessian[n:, :n] = information.border.T
        hessian[n:, n:] = information.corner
    if information.shift_free:
        # 1 is then an eigenvector; stiffening it leaves the centred part alone and makes the matrix invertible.
        hessian[:n, :n] += hessian.diagonal()[:n].mean() / n
    return hessian


def _invert(matrix: np.ndarray) -> np.ndarray:
    try:
        if len(matrix) <= 500:  # NumPy's own, to spare the import of SciPy
            np.linalg.cholesky(matrix)
            return np.linalg.inv(matrix)
        from scipy.linalg.lapack import dpotrf, dpotri

        factor, failed = dpotrf(matrix, lower=0, overwrite_a=0)
        if failed:
            raise np.linalg.LinAlgError
        inverse, _ = dpotri(factor, lower=0, overwrite_c=1)
        whole: np.ndarray = np.triu(inverse) + np.triu(inverse, 1).T
        return whole
    except np.linalg.LinAlgError:
        raise Undetermined(UNDETERMINED) from None


def _centred(matrix: np.ndarray, n: int) -> np.ndarray:
    """Apply P to the score rows and columns, in place."""
    matrix[:n] -= matrix[:n].mean(axis=0)
    matrix[:, :n] -= matrix[:, :n].mean(axis=1, keepdims=True)
    return matrix


def laplacian(n: int, left: np.ndarray, right: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Dense Σ weight·(e_left − e_right)(e_left − e_right)ᵀ."""
    cells = left.astype(np.int64) * n + right
    across = np.bincount(cells, weight, n * n).reshape(n, n)
    across += across.T.copy()
    matrix: np.ndarray = np.diag(across.sum(axis=1)) - across
    return matrix


def _model_meat(information: Information) -> np.ndarray:
    """Σ w² E[g gᵀ] over single votes: the Hessian of the likelihood with squared weights in place of weights."""
    e = information
    assert isinstance(e, (WeightedInformation, ListInformation)), "checked by `choose`"
    scores = laplacian(e.n, e.left, e.right, e.squared_curvature)
    if e.squared_border is None or e.squared_corner is None:
        return scores
    return np.block([[scores, e.squared_border], [e.squared_border.T, e.squared_corner]])


def _row_meat(information: Information, rows: np.ndarray | slice = slice(None)) -> np.ndarray:
    """Σ w² g gᵀ over single votes: a Laplacian, bordered by the extra parameters."""
    if isinstance(information, ListInformation):
        return information.meat(None)
    e, n = information, information.n
    left, right, slope, _, square = (each[rows] for each in e.vote_gradients())
    scores = laplacian(n, left, right, square * slope**2)
    if e.vote_extra_gradient is None:
        return scores
    extra = e.vote_extra_gradient[rows]
    border = np.zeros((n, e.extras))
    each = (square * slope)[:, None] * extra
    np.add.at(border, left, each)
    np.subtract.at(border, right, each)
    return np.block([[scores, border], [border.T, extra.T @ (square[:, None] * extra)]])


def _cluster_meat(information: Information, cluster: str) -> np.ndarray:
    """G/(G−1) Σ s sᵀ over clusters; a row without a cluster counts as votes of their own."""
    if isinstance(information, ListInformation):
        count = information.count(cluster)
        return information.meat(cluster) * (count / (count - 1))
    codes = information.clusters[cluster]
    known = codes >= 0
    sums = cluster_sums(information, cluster)
    meat = np.asarray((sums.T @ sums).todense())
    if not known.all():
        meat = meat + _row_meat(information, ~known)
    groups = count_clusters(information, cluster)
    scaled: np.ndarray = meat * (groups / (groups - 1))
    return scaled


def count_clusters(information: Information, cluster: str) -> int:
    """Number of clusters, two at least; a row without one counts by itself."""
    groups = information.cluster_count(cluster)
    if groups < 2:
        raise InputError(f"errors clustered by {cluster} need at least two clusters; the votes have {groups}")
    return groups


def cluster_sums(information: Information, cluster: str):  # type: ignore[no-untyped-def]  # a SciPy CSR matrix
    """Gradient summed within each cluster, sparse (clusters, n + p)."""
    from scipy.sparse import csr_array

    e = information
    known = np.flatnonzero(e.clusters[cluster] >= 0)
    codes = e.clusters[cluster][known]
    left, right, slope, weight, _ = (each[known] for each in e.vote_gradients())
    rows, columns, values = [codes, codes], [left, right], [weight * slope, -weight * slope]
    for extra in range(e.extras):
        assert e.vote_extra_gradient is not None
        rows.append(codes)
        columns.append(np.full(len(codes), e.n + extra))
        values.append(weight * e.vote_extra_gradient[known, extra])
    shape = (int(codes.max(initial=-1)) + 1, e.n + e.extras)
    return csr_array((np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))), shape=shape)
