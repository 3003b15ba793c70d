"""Variances of the scores of very many items, without an n × n matrix.

H = D − W with D the curvature of each item's own score and W that of the pairs. Where the graph of comparisons mixes
well, the Neumann series in D⁻¹W converges fast once the common shift is taken out. Its diagonal sums closed walks from
pair to pair: those that go back the way they came are all found by belief propagation (`messages`), circles are left
out. Some items, random ones and the most compared, are then solved exactly by conjugate gradients. Where they disagree
(chains, stars, groups joined by few votes) the next way is taken:

1. the series, checked;
2. a sparse factor and the diagonal of its inverse, where the factor stays small (chains, stars); on chains, where few
   are near each other, at once;
3. random probes (Hutchinson 1990), each solved exactly, with a warning when they leave more than 5 % of noise.

The robust kinds have the same series with the gradients' covariance in the middle, checked alike. Else they solve for
every cluster where there are few, and for random mixes of votes or clusters where there are many.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np

from podium.errors import DataWarning
from podium.ranking.uncertainty.dense import cluster_sums, count_clusters
from podium.ranking.uncertainty.graph import MAX_EASY_STEPS, MAX_FACTOR_COST, Graph, between
from podium.ranking.uncertainty.information import WEIGHTED, Information, WeightedInformation
from podium.ranking.uncertainty.messages import item_precisions

__all__ = ["extra_covariance_of_many", "quick_variances", "variances"]

CHECKED_ITEMS = 8  # random items, and as many of the most compared ones, that are solved exactly
SOLVED_ITEMS = 64  # items whose variance hangs most on others'
MAX_VARIANCE_ERROR = 0.04  # largest relative error of a checked variance; half of it in the standard error
MAX_QUICK_ERROR = 0.01  # the same where the dense inverse can be had instead
DENSE_SPEED = 30  # operations of a dense inverse in the time of one of a sparse factor
SETTLED = 1e-3  # relative change of a precision at which belief propagation ends
PROBES, PROBE_BATCH = 256, 32
DEFLATED_DIRECTIONS = 32  # directions in which a badly connected graph is loose, taken out before probing
SEED = 1990


def variances(information: Information, kind: str = "hessian", cluster: str | None = None) -> np.ndarray:
    """Return the variance of each mean-centred score, by `hessian`, `sandwich` or `cluster`."""
    cluster = information.require(kind, cluster)
    kind, information = _with_gradients(information.choose(kind), information)
    graph = Graph(information)
    variance: np.ndarray | None
    if kind == "hessian":
        thin = graph.factor_within(MAX_FACTOR_COST / 10) if graph.is_long else None
        variance = _hessian_series(graph) if thin is None else thin.inverse_diagonal()
        if thin is None and (variance is None or not _agrees(graph, variance)):
            variance = _hessian_probes(graph) if graph.factor is None else graph.factor.inverse_diagonal()
        assert variance is not None, "one way or the other"
        if information.border is not None:
            moved, core = _through_extras(graph, information)
            variance = variance + np.einsum("ij,ij->i", moved @ np.linalg.inv(core), moved)
    else:
        gradients = _Gradients(information, cluster)
        variance = None if information.extras else _robust_series(graph, gradients)
        if variance is None or not _agrees(graph, variance, gradients):
            variance = _robust_columns(graph, information, gradients)
    kept: np.ndarray = np.maximum(variance, 0)
    return kept


def _with_gradients(kind: str, information: Information) -> tuple[str, Information]:
    """For "weighted": a sandwich of gradients that vary as the model says; of those seen, with extra parameters."""
    if kind != WEIGHTED:
        return kind, information
    assert isinstance(information, WeightedInformation), "checked by `choose`"
    if information.extras:
        return "sandwich", information
    changed = replace(
        information,
        vote_left=information.left,
        vote_right=information.right,
        vote_gradient=np.ones(len(information.left)),
        vote_weight=information.squared_curvature,
        vote_weight_sq=information.squared_curvature,
        target=None,
        clusters={},
    )
    return "sandwich", changed


def quick_variances(information: Information) -> np.ndarray | None:
    """Variances by the Hessian where checks find them good to `MAX_QUICK_ERROR`, else None.

    Items whose variance hangs most on others', for which circles matter most, are solved exactly; the next of them are
    checked, too. Where a sparse factor is thin (chains, leagues that meet their neighbours), all are exact by it: at
    once where it costs next to nothing, else where the checks fail.
    """
    graph = Graph(information)
    most = min(MAX_FACTOR_COST, graph.n**3 / DENSE_SPEED)
    factor = graph.factor_within(most / 10)
    if factor is None:
        variance = _checked_series(graph)
        if variance is not None:
            return variance
        factor = graph.factor_within(most)
    return None if factor is None else np.maximum(factor.inverse_diagonal(), 0)


def _checked_series(graph: Graph) -> np.ndarray | None:
    variance = _hessian_series(graph)
    if variance is None:
        return None
    leaning = np.argsort(-variance * graph.diagonal, kind="stable")[: SOLVED_ITEMS + CHECKED_ITEMS]
    own = _solved(graph, leaning[:SOLVED_ITEMS])
    if own is None:
        return None
    variance[leaning[:SOLVED_ITEMS]] = own
    return variance if _agrees(graph, variance, error=MAX_QUICK_ERROR, also=leaning[SOLVED_ITEMS:]) else None


def extra_covariance_of_many(information: Information, kind: str, cluster: str | None) -> np.ndarray:
    """Covariance of the extra parameters, with the scores profiled out."""
    kind, information = _with_gradients(kind, information)
    graph = Graph(information)
    moved, core = _through_extras(graph, information)
    bread = np.linalg.inv(core)
    if kind == "hessian":
        return bread
    meat = _Gradients(information, cluster).along(np.vstack([-moved, np.eye(information.extras)]))
    robust: np.ndarray = bread @ meat @ bread
    return robust


def _through_extras(graph: Graph, information: Information) -> tuple[np.ndarray, np.ndarray]:
    """Centred A⁻¹B, and the Schur complement C − BᵀA⁻¹B."""
    assert information.border is not None, "there are extra parameters"
    assert information.corner is not None, "there are extra parameters"
    moved = graph.must_solve(information.border)
    core = information.corner - information.border.T @ moved
    if not information.shift_free:
        mean = information.border.mean(axis=0)
        core = core - graph.n * np.outer(mean, mean) / graph.ridge
    return moved, core


def _hessian_series(graph: Graph) -> np.ndarray | None:
    """The Neumann series for A + d dᵀ/Σd, which has the same centred inverse up to the ridge.

    With N = D^−½WD^−½, N̂ = N − q qᵀ, q = √(d/Σd): diag = (1 + N̂_ii + (N̂²)_ii + …)/d. Walks of N that go back the way
    they came are summed to the end; what q adds to N̂_ii and (N̂²)_ii, in sum −2·degree/Σd, is taken, later terms not.
    The ridge is mended by Sherman–Morrison, but for its part in the centring, of 1/Σd at most.
    """
    d, n = graph.diagonal, graph.n
    total = d.sum()
    lean = graph.solve(d[:, None], MAX_EASY_STEPS)  # A⁺(d − mean): how the degrees' unevenness leans on the scores
    if lean is None:
        return None
    s = lean[:, 0]
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        variance = 1.0 / item_precisions(graph.pairs, d, SETTLED) - 2 * graph.degree / total / d
    if not np.isfinite(variance).all():  # a tree, where precision is all about the shift
        return None
    shifted = n / total * (1 - s + (d @ s) / total)  # (A + d dᵀ/Σd)⁻¹ 1, as without a ridge
    variance += shifted.mean() / n - 2 * shifted / n
    if graph.ridge > 0:
        along = d @ s + total**2 / (n * graph.ridge)
        variance += s**2 / (total + along)
    return np.asarray(variance)


def _robust_series(graph: Graph, gradients: _Gradients) -> np.ndarray | None:
    """H⁻¹MH⁻¹ to second order in W, M the covariance of votes' gradients; clusters scale it by their diagonal."""
    d, w = graph.diagonal, graph.across
    m = gradients.across
    own = np.asarray(m.sum(axis=1)).ravel()
    squares = w.multiply(w)
    variance = own * (1 + 2 * (squares @ (1 / d)) / d) / d**2
    variance += (squares @ (own / d**2) - 2 * (w.multiply(m) @ (1 / d))) / d**2
    ratio = np.divide(gradients.diagonal(), own, out=np.ones_like(own), where=own > 0)
    return np.asarray(variance * ratio)


def _agrees(
    graph: Graph,
    variance: np.ndarray,
    gradients: _Gradients | None = None,
    *,
    error: float = MAX_VARIANCE_ERROR,
    also: np.ndarray | None = None,
) -> bool:
    """Solve for some items exactly, those in `also` among them, and compare."""
    rng = np.random.default_rng(SEED)
    busiest = np.argpartition(-graph.diagonal, CHECKED_ITEMS)[:CHECKED_ITEMS]
    chosen = np.concatenate([rng.choice(graph.n, CHECKED_ITEMS, replace=False), busiest])
    chosen = np.unique(chosen if also is None else np.concatenate([chosen, also]))
    exact = _solved(graph, chosen, gradients)
    return exact is not None and bool(np.all(np.abs(variance[chosen] - exact) <= error * exact))


def _solved(graph: Graph, chosen: np.ndarray, gradients: _Gradients | None = None) -> np.ndarray | None:
    """Variances of some items, exactly; None where that takes too many steps."""
    units = np.zeros((graph.n, len(chosen)))
    units[chosen, np.arange(len(chosen))] = 1
    columns = graph.solve(units, MAX_EASY_STEPS)
    if columns is None:
        return None
    if gradients is not None:
        return np.asarray(gradients.along(columns).diagonal())
    return np.asarray(columns[chosen, np.arange(len(chosen))])


def _hessian_probes(graph: Graph) -> np.ndarray:
    """Diagonal of B = P A⁻¹ P: exact in the loosest directions Q, probed in the rest (Hutch++, Meyer et al. 2021).

    B = Q Zᵀ + Z Qᵀ − Q (QᵀZ) Qᵀ + R with Z = B Q and R = (I − QQᵀ) B (I − QQᵀ), diag R = E[ξ·(R ξ)] over random signs.
    """
    rng = np.random.default_rng(SEED)
    loose, _ = np.linalg.qr(graph.must_solve(rng.standard_normal((graph.n, DEFLATED_DIRECTIONS))))
    moved = graph.must_solve(loose)
    known = np.einsum("ij,ij->i", loose, 2 * moved - loose @ (loose.T @ moved))
    total, squared = np.zeros(graph.n), np.zeros(graph.n)
    for _ in range(PROBES // PROBE_BATCH):
        signs = rng.choice([-1.0, 1.0], size=(graph.n, PROBE_BATCH))
        rest = graph.must_solve(signs - loose @ (loose.T @ signs))
        each = signs * (rest - loose @ (loose.T @ rest))
        total += each.sum(axis=1)
        squared += (each**2).sum(axis=1)
    mean = total / PROBES
    noise = np.sqrt(np.maximum(squared / PROBES - mean**2, 0) / PROBES)
    # No variance can be less than that of the item with everyone else held fixed.
    variance: np.ndarray = np.maximum(known + mean, (1 - 1 / graph.n) ** 2 / graph.diagonal)
    _warn_of_noise(float(np.median(noise / variance)) / 2)
    return variance


def _robust_columns(graph: Graph, information: Information, gradients: _Gradients) -> np.ndarray:
    """Sum of squares of H⁻¹g over the clusters' gradients g where they are few, else over as many random mixes."""
    rng = np.random.default_rng(SEED)
    few = gradients.root.shape[0] <= PROBES
    count = gradients.root.shape[0] if few else PROBES
    total = np.zeros(graph.n)
    if information.border is not None:
        through, core = _through_extras(graph, information)
    for start in range(0, count, PROBE_BATCH):
        force = (
            gradients.root[start : start + PROBE_BATCH].T.toarray()
            if few
            else gradients.mixes(PROBE_BATCH, rng) / np.sqrt(count)
        )
        moved = graph.must_solve(force[: graph.n])
        if information.border is not None:
            moved = moved - through @ np.linalg.solve(core, force[graph.n :] - information.border.T @ moved)
        total += (moved**2).sum(axis=1)
    if not few:
        _warn_of_noise((2 * PROBES) ** -0.5)
    return total


def _warn_of_noise(share: float) -> None:
    if share > 0.05:
        warnings.warn(
            f"standard errors were found by random probes and are good to about {100 * share:.0f} %: "
            "the votes connect the items too unevenly for a faster way",
            DataWarning,
            stacklevel=2,
        )


class _Gradients:
    """Covariance of the votes' gradients, M = Σ g gᵀ over votes or clusters, kept as a sparse root: M = rootᵀ root."""

    def __init__(self, information: Information, cluster: str | None) -> None:
        from scipy.sparse import csr_array, vstack

        e = information
        left, right, slope, _, square = e.vote_gradients()
        self.across = between(e.n, left, right, square * slope**2)
        rows = np.arange(len(slope)) if cluster is None else np.flatnonzero(e.clusters[cluster] < 0)
        size = np.sqrt(square[rows])
        at = np.arange(len(rows))
        indices, columns, values = [at, at], [left[rows], right[rows]], [size * slope[rows], -size * slope[rows]]
        for extra in range(e.extras):
            assert e.vote_extra_gradient is not None, "checked by `require`"
            indices.append(at)
            columns.append(np.full(len(rows), e.n + extra))
            values.append(size * e.vote_extra_gradient[rows, extra])
        triple = (np.concatenate(values), (np.concatenate(indices), np.concatenate(columns)))
        root: Any = csr_array(triple, shape=(len(rows), e.n + e.extras))
        if cluster is not None:
            groups = count_clusters(e, cluster)
            root = vstack([cluster_sums(e, cluster), root]) * np.sqrt(groups / (groups - 1))
        self.root: Any = root.tocsr()
        self.n = e.n

    def diagonal(self) -> np.ndarray:
        """Diagonal of M's score block."""
        return np.asarray(self.root.multiply(self.root).sum(axis=0)).ravel()[: self.n]

    def along(self, columns: np.ndarray) -> np.ndarray:
        """columnsᵀ M columns."""
        moved = self.root @ columns
        return np.asarray(moved.T @ moved)

    def mixes(self, count: int, rng: np.random.Generator) -> np.ndarray:
        """Random columns whose outer products are M on average."""
        return np.asarray(self.root.T @ rng.choice([-1.0, 1.0], size=(self.root.shape[0], count)))
