"""Variances of the scores of very many items, without an n × n matrix.

H = D − W with D the curvature of each item's own score and W that of the pairs. Where the graph of comparisons mixes
well, the Neumann series in D⁻¹W converges fast once the common shift is taken out, and two terms of it give the
diagonal of the inverse in one pass over the pairs. Some items, random ones and the most compared, are then solved
exactly by conjugate gradients. Where they disagree (chains, stars, groups joined by few votes) the next way is taken:

1. second-order Neumann series, checked;
2. a sparse factor and the diagonal of its inverse, where the factor stays small (chains, stars);
3. random probes (Hutchinson 1990), each solved exactly, with a warning when they leave more than 5 % of noise.

The robust kinds have the same series with the gradients' spread in the middle, checked alike. Else they solve for every
cluster where there are few, and for random mixes of votes or clusters where there are many.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from podium.errors import DataWarning
from podium.ranking.uncertainty.dense import cluster_sums, count_clusters
from podium.ranking.uncertainty.evidence import Evidence
from podium.ranking.uncertainty.graph import SHORT, Graph, between

__all__ = ["extra_covariance_of_many", "variances"]

CHECKED = 8  # random items, and as many of the most compared ones, that are solved exactly
AGREES = 0.04  # largest relative error of a checked variance; half of it in the standard error
PROBES, BATCH = 256, 32
SLOW = 32  # directions in which a badly connected graph is loose, taken out before probing
SEED = 1990


def variances(evidence: Evidence, kind: str = "hessian", cluster: str | None = None) -> np.ndarray:
    """Return the variance of each mean-centred score, by `hessian`, `sandwich` or `cluster`."""
    cluster = evidence.require(kind, cluster)
    kind = evidence.choose(kind)
    graph = Graph(evidence)
    if kind == "hessian":
        found = _hessian_series(graph)
        if found is None or not _agrees(graph, found):
            found = _hessian_probes(graph) if graph.factor is None else graph.factor.inverse_diagonal()
        if evidence.border is not None:
            moved, core = _through_extras(graph, evidence)
            found = found + np.einsum("ij,ij->i", moved @ np.linalg.inv(core), moved)
    else:
        spread = _Gradients(evidence, cluster)
        found = None if evidence.extras else _robust_series(graph, spread)
        if found is None or not _agrees(graph, found, spread):
            found = _robust_columns(graph, evidence, spread)
    variance: np.ndarray = np.maximum(found, 0)
    return variance


def extra_covariance_of_many(evidence: Evidence, kind: str, cluster: str | None) -> np.ndarray:
    """Covariance of the extra parameters, with the scores profiled out."""
    graph = Graph(evidence)
    moved, core = _through_extras(graph, evidence)
    bread = np.linalg.inv(core)
    if kind == "hessian":
        return bread
    meat = _Gradients(evidence, cluster).along(np.vstack([-moved, np.eye(evidence.extras)]))
    robust: np.ndarray = bread @ meat @ bread
    return robust


def _through_extras(graph: Graph, evidence: Evidence) -> tuple[np.ndarray, np.ndarray]:
    """Centred A⁻¹B, and the Schur complement C − BᵀA⁻¹B."""
    assert evidence.border is not None, "there are extra parameters"
    assert evidence.corner is not None, "there are extra parameters"
    moved = graph.must_solve(evidence.border)
    core = evidence.corner - evidence.border.T @ moved
    if not evidence.shift_free:
        mean = evidence.border.mean(axis=0)
        core = core - graph.n * np.outer(mean, mean) / graph.ridge
    return moved, core


def _hessian_series(graph: Graph) -> np.ndarray | None:
    """Two terms of the Neumann series for A + d dᵀ/Σd, which has the same centred inverse up to the ridge.

    With N̂ = D^−½WD^−½ − q qᵀ, q = √(d/Σd): diag ≈ (1 + N̂_ii + (N̂²)_ii)/d. The ridge is mended by Sherman–Morrison.
    """
    d, n = graph.diagonal, graph.n
    total = d.sum()
    lean = graph.solve(d[:, None], SHORT)  # A⁺(d − mean): how the degrees' unevenness leans on the scores
    if lean is None:
        return None
    s = lean[:, 0]
    squares = graph.across.multiply(graph.across) @ (1 / d) / d
    found = (1 + squares - 2 * graph.degree / total) / d
    shifted = n / total * (1 - s + (d @ s) / total)  # (A + d dᵀ/Σd)⁻¹ 1
    found += shifted.mean() / n - 2 * shifted / n
    if graph.ridge > 0:
        along = d @ s + total**2 / (n * graph.ridge)
        found += s**2 / (total + along)
    return np.asarray(found)


def _robust_series(graph: Graph, spread: _Gradients) -> np.ndarray | None:
    """H⁻¹MH⁻¹ to second order in W, M the spread of single votes' gradients; clusters scale it by their diagonal."""
    d, w = graph.diagonal, graph.across
    m = spread.across
    own = np.asarray(m.sum(axis=1)).ravel()
    squares = w.multiply(w)
    found = own * (1 + 2 * (squares @ (1 / d)) / d) / d**2
    found += (squares @ (own / d**2) - 2 * (w.multiply(m) @ (1 / d))) / d**2
    ratio = np.divide(spread.diagonal(), own, out=np.ones_like(own), where=own > 0)
    return np.asarray(found * ratio)


def _agrees(graph: Graph, found: np.ndarray, spread: _Gradients | None = None) -> bool:
    """Solve for some items exactly and compare."""
    rng = np.random.default_rng(SEED)
    busiest = np.argpartition(-graph.diagonal, CHECKED)[:CHECKED]
    chosen = np.unique(np.concatenate([rng.choice(graph.n, CHECKED, replace=False), busiest]))
    units = np.zeros((graph.n, len(chosen)))
    units[chosen, np.arange(len(chosen))] = 1
    columns = graph.solve(units, SHORT)
    if columns is None:
        return False
    exact = columns[chosen, np.arange(len(chosen))] if spread is None else spread.along(columns).diagonal()
    return bool(np.all(np.abs(found[chosen] - exact) <= AGREES * exact))


def _hessian_probes(graph: Graph) -> np.ndarray:
    """Diagonal of B = P A⁻¹ P: exact in the loosest directions Q, probed in the rest (Hutch++, Meyer et al. 2021).

    B = Q Zᵀ + Z Qᵀ − Q (QᵀZ) Qᵀ + R with Z = B Q and R = (I − QQᵀ) B (I − QQᵀ), diag R = E[ξ·(R ξ)] over random signs.
    """
    rng = np.random.default_rng(SEED)
    loose, _ = np.linalg.qr(graph.must_solve(rng.standard_normal((graph.n, SLOW))))
    moved = graph.must_solve(loose)
    known = np.einsum("ij,ij->i", loose, 2 * moved - loose @ (loose.T @ moved))
    total, squared = np.zeros(graph.n), np.zeros(graph.n)
    for _ in range(PROBES // BATCH):
        signs = rng.choice([-1.0, 1.0], size=(graph.n, BATCH))
        rest = graph.must_solve(signs - loose @ (loose.T @ signs))
        each = signs * (rest - loose @ (loose.T @ rest))
        total += each.sum(axis=1)
        squared += (each**2).sum(axis=1)
    mean = total / PROBES
    noise = np.sqrt(np.maximum(squared / PROBES - mean**2, 0) / PROBES)
    # No variance can be less than that of the item with everyone else held fixed.
    found: np.ndarray = np.maximum(known + mean, (1 - 1 / graph.n) ** 2 / graph.diagonal)
    _warn_of_noise(float(np.median(noise / found)) / 2)
    return found


def _robust_columns(graph: Graph, evidence: Evidence, spread: _Gradients) -> np.ndarray:
    """Sum of squares of H⁻¹g over the clusters' gradients g where they are few, else over as many random mixes."""
    rng = np.random.default_rng(SEED)
    few = spread.root.shape[0] <= PROBES
    count = spread.root.shape[0] if few else PROBES
    total = np.zeros(graph.n)
    if evidence.border is not None:
        through, core = _through_extras(graph, evidence)
    for start in range(0, count, BATCH):
        force = spread.root[start : start + BATCH].T.toarray() if few else spread.mixes(BATCH, rng) / np.sqrt(count)
        moved = graph.must_solve(force[: graph.n])
        if evidence.border is not None:
            moved = moved - through @ np.linalg.solve(core, force[graph.n :] - evidence.border.T @ moved)
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
    """Spread of the votes' gradients, M = Σ g gᵀ over votes or clusters, kept as a sparse root with M = rootᵀ root."""

    def __init__(self, evidence: Evidence, cluster: str | None) -> None:
        from scipy.sparse import csr_array, vstack

        e = evidence
        left, right, pull, _, square = e.pulls()
        self.across = between(e.n, left, right, square * pull**2)
        rows = np.arange(len(pull)) if cluster is None else np.flatnonzero(e.clusters[cluster] < 0)
        size = np.sqrt(square[rows])
        at = np.arange(len(rows))
        places, columns, values = [at, at], [left[rows], right[rows]], [size * pull[rows], -size * pull[rows]]
        for extra in range(e.extras):
            assert e.pull_extra is not None, "checked by `require`"
            places.append(at)
            columns.append(np.full(len(rows), e.n + extra))
            values.append(size * e.pull_extra[rows, extra])
        triple = (np.concatenate(values), (np.concatenate(places), np.concatenate(columns)))
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
