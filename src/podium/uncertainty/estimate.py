"""One door to every way of saying how sure the scores are."""

from __future__ import annotations

import numpy as np

from podium.uncertainty.dense import DENSE_LIMIT, covariance
from podium.uncertainty.evidence import Evidence
from podium.uncertainty.ranks import Spread
from podium.uncertainty.redraw import bootstrap

__all__ = ["spread"]


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
        return Spread(np.cov(redrawn, rowvar=False), None, evidence.open_above, evidence.open_below)
    if evidence.n <= DENSE_LIMIT:
        return Spread(covariance(evidence, kind, cluster), None, evidence.open_above, evidence.open_below)
    from podium.uncertainty.many import variances

    return Spread(None, variances(evidence, kind, cluster), evidence.open_above, evidence.open_below)
