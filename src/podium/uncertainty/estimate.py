"""One door to every way of saying how sure the scores are."""

from __future__ import annotations

import numpy as np

from podium.uncertainty.dense import DENSE_LIMIT, covariance, full_covariance
from podium.uncertainty.evidence import Evidence
from podium.uncertainty.ranks import Spread
from podium.uncertainty.redraw import bootstrap

__all__ = ["extra_covariance", "extra_std_errors", "spread"]

FAR = 4.0


def spread(
    evidence: Evidence,
    kind: str = "hessian",
    cluster: str | None = None,
    *,
    replicates: int = 1000,
    seed: int | None = None,
) -> Spread:
    """Return the joint spread of the mean-centred scores; with more than 5,000 items their variances alone."""
    cluster = evidence.require(kind, cluster)
    if kind == "bootstrap":
        redrawn = bootstrap(evidence, replicates=replicates, cluster=cluster, rng=np.random.default_rng(seed))
        return Spread(_covariance_of(redrawn), None, evidence.open_above, evidence.open_below)
    if evidence.n <= DENSE_LIMIT:
        return Spread(covariance(evidence, kind, cluster), None, evidence.open_above, evidence.open_below)
    from podium.uncertainty.many import variances

    return Spread(None, variances(evidence, kind, cluster), evidence.open_above, evidence.open_below)


def extra_covariance(evidence: Evidence, kind: str = "hessian", cluster: str | None = None) -> np.ndarray:
    """Return the (p, p) covariance of the extra parameters, in their own units.

    For the bootstrap that of the sandwich (of the clusters, if named), to which it converges.
    """
    cluster = evidence.require(kind, cluster)
    if kind == "bootstrap":
        kind = "sandwich" if cluster is None else "cluster"
    if evidence.n <= DENSE_LIMIT:
        return full_covariance(evidence, kind, cluster)[evidence.n :, evidence.n :]
    from podium.uncertainty.many import extra_covariance_of_many

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
