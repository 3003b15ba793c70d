"""One door to every way of saying how sure the scores are."""

from __future__ import annotations

import warnings

import numpy as np

from podium.errors import DataWarning
from podium.ranking.uncertainty.dense import DENSE_LIMIT, covariance, full_covariance
from podium.ranking.uncertainty.ends import bounded_items, bounded_part, end_rows
from podium.ranking.uncertainty.evidence import Evidence
from podium.ranking.uncertainty.ranks import Spread
from podium.ranking.uncertainty.redraw import bootstrap

__all__ = ["extra_covariance", "extra_std_errors", "few_clusters", "spread"]

FAR = 4.0
FEW = 30  # clusters below which their spread is itself hardly known


def spread(
    evidence: Evidence,
    kind: str = "hessian",
    cluster: str | None = None,
    *,
    replicates: int = 1000,
    seed: int | None = None,
) -> Spread:
    """Return the joint spread of the mean-centred scores; with more than 5,000 items their variances alone.

    Open-ended scores have an infinite variance, and the mean is that of the others, found from the votes among these.
    """
    cluster = evidence.require(kind, cluster)
    kind = evidence.choose(kind)
    if cluster is not None and evidence.cluster_count(cluster) < FEW:
        warnings.warn(few_clusters(evidence, cluster), DataWarning, stacklevel=2)

    def found(part: Evidence) -> np.ndarray:
        """Covariance, or with many items variances."""
        if kind == "bootstrap":
            rng = np.random.default_rng(seed)
            return _covariance_of(bootstrap(part, replicates=replicates, cluster=cluster, rng=rng))
        if evidence.n <= DENSE_LIMIT:
            return covariance(part, kind, cluster)
        if part.n <= DENSE_LIMIT:
            return covariance(part, kind, cluster).diagonal()
        from podium.ranking.uncertainty.many import variances

        return variances(part, kind, cluster)

    kept = bounded_items(evidence)
    if kept is None:
        made = found(evidence)
        return Spread(made, None) if made.ndim == 2 else Spread(None, made)
    inner = found(bounded_part(evidence, kept)) if len(kept) > 1 else np.zeros((len(kept), len(kept)))
    whole, variance = _laid_out(inner, kept, evidence.n)
    ends = end_rows(evidence, kept, cluster)
    return Spread(whole, variance, evidence.open_above, evidence.open_below, *ends)


def few_clusters(evidence: Evidence, cluster: str) -> str:
    """A sentence for the case that there are few."""
    return (
        f"errors clustered by {cluster} rest on {evidence.cluster_count(cluster)} clusters only; below {FEW} they tend "
        "to be too small, and with two or three they mean nothing"
    )


def _laid_out(inner: np.ndarray, kept: np.ndarray, n: int) -> tuple[np.ndarray | None, np.ndarray | None]:
    """The spread of some items laid out among all; the rest has an infinite variance."""
    variance = np.full(n, np.inf)
    if inner.ndim == 1 or n > DENSE_LIMIT:
        variance[kept] = inner if inner.ndim == 1 else inner.diagonal()
        return None, variance
    whole = np.diag(variance)
    whole[np.ix_(kept, kept)] = inner
    return whole, None


def extra_covariance(evidence: Evidence, kind: str = "hessian", cluster: str | None = None) -> np.ndarray:
    """Return the (p, p) covariance of the extra parameters, in their own units.

    For the bootstrap that of the sandwich (of the clusters, if named), to which it converges.
    """
    cluster = evidence.require(kind, cluster)
    kind = evidence.choose(kind)
    if kind == "bootstrap":
        kind = "sandwich" if cluster is None else "cluster"
    if evidence.n <= DENSE_LIMIT:
        return full_covariance(evidence, kind, cluster)[evidence.n :, evidence.n :]
    from podium.ranking.uncertainty.many import extra_covariance_of_many

    return extra_covariance_of_many(evidence, kind, cluster)


def extra_std_errors(evidence: Evidence, kind: str = "hessian", cluster: str | None = None) -> np.ndarray:
    """Return the standard errors of the extra parameters, in their own units."""
    errors: np.ndarray = np.sqrt(np.maximum(extra_covariance(evidence, kind, cluster).diagonal(), 0))
    return errors


def _covariance_of(redrawn: np.ndarray) -> np.ndarray:
    """Covariance of bootstrap scores, each held within `FAR` robust standard deviations of its median.

    Where redrawing leaves an item without a loss (or a win), only the penalty keeps its score finite; without a limit
    a few such replicates would make the standard errors depend on the penalty more than on the votes.
    """
    middle = np.median(redrawn, axis=0)
    reach = FAR * 1.4826 * np.median(np.abs(redrawn - middle), axis=0)
    return np.cov(np.clip(redrawn, middle - reach, middle + reach), rowvar=False)
