"""The one entry to every way of estimating how uncertain the scores are."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from podium.data.validation import seed_option
from podium.errors import DataWarning, InputError, Option
from podium.ranking.uncertainty.dense import DENSE_LIMIT, Undetermined, covariance, full_covariance
from podium.ranking.uncertainty.ends import bounded_items, bounded_part, end_rows
from podium.ranking.uncertainty.information import Information
from podium.ranking.uncertainty.redraw import bootstrap
from podium.ranking.uncertainty.score_covariance import ScoreCovariance
from podium.text import counted

__all__ = ["extra_covariance", "extra_std_errors", "few_clusters", "has_quick_variances", "score_covariance"]

CLIP_DEVIATIONS = 4.0
MIN_QUICK_ITEMS = 1_000  # from here on the dense inverse costs more than ways around it that are checked
LEAST_CURVATURE = 0.01  # votes: a win and a loss that only scores explain are worth ten times as much and more
MIN_CLUSTERS = 30  # clusters below which errors clustered by them tend to be too small


def score_covariance(
    information: Information,
    kind: str = "hessian",
    cluster: str | None = None,
    *,
    replicates: int = 1000,
    seed: int | None = None,
    jobs: int | None = 1,
    engine: Any = None,
    variances_only: bool = False,
) -> ScoreCovariance:
    """Return the covariance of the mean-centred scores; with more than 5,000 items their variances alone.

    `variances_only` says that covariances are not needed: with more than 1,000 items they may then be left out, and
    standard errors are good to half a percent where all that is checked is.

    Open-ended scores have an infinite variance, and the mean is that of the others, found from the votes among these.
    """
    cluster = information.require(kind, cluster)
    kind = information.choose(kind)
    if cluster is not None and information.cluster_count(cluster) < MIN_CLUSTERS:
        warnings.warn(few_clusters(information, cluster), DataWarning, stacklevel=2)

    def matrix_of(part: Information) -> np.ndarray:
        """Covariance, or with many items variances."""
        if part.alternatives and kind != "bootstrap":
            return _mean_over_penalties(part, matrix_of)
        if kind == "bootstrap":
            rng = np.random.default_rng(seed_option("seed", seed))
            return _covariance_of(
                bootstrap(part, replicates=replicates, cluster=cluster, rng=rng, jobs=jobs, engine=engine)
            )
        many = information.n > DENSE_LIMIT
        if part.n > DENSE_LIMIT:
            from podium.ranking.uncertainty.many import variances

            return variances(part, kind, cluster)
        if (many or variances_only) and kind == "hessian" and not information.extras and part.n > MIN_QUICK_ITEMS:
            from podium.ranking.uncertainty.many import quick_variances

            quick = quick_variances(part)
            if quick is not None:
                return quick
        matrix = covariance(part, kind, cluster)
        return matrix.diagonal() if many else matrix

    information = _without_bounds(information)
    kept = bounded_items(information)
    if kept is not None and len(kept) < 2 and information.extras:
        return _all_open(information.n)
    try:
        if kept is None:
            matrix = matrix_of(information)
            return ScoreCovariance(matrix, None) if matrix.ndim == 2 else ScoreCovariance(None, matrix)
        if len(kept) > 1:
            part = bounded_part(information, kept)
            if kind == "cluster" and cluster is not None:
                _refuse_one_cluster(information, part, cluster)
            inner = matrix_of(part)
        else:
            inner = np.zeros((len(kept), len(kept)))
    except Undetermined:
        if not information.extras:
            raise
        return _all_open(information.n)
    whole, variance = _laid_out(inner, kept, information.n)
    ends = end_rows(information, kept, cluster)
    return ScoreCovariance(whole, variance, information.open_above, information.open_below, *ends)


def has_quick_variances(information: Information, kind: str) -> bool:
    """Whether variances alone can be had in another way than covariances, and so may differ a little from theirs."""
    return kind == "hessian" and MIN_QUICK_ITEMS < information.n <= DENSE_LIMIT and not information.extras


def _mean_over_penalties(information: Information, matrix_of: Callable[[Information], np.ndarray]) -> np.ndarray:
    """Mean of the scores' covariance (or variances) over the penalties that are possible, and that of the optimum."""
    total = np.zeros(0)
    for one, there in information.under_each_penalty():
        matrix = matrix_of(there)
        shift = one.shift[: information.n] - one.shift[: information.n].mean()
        moved = shift**2 if matrix.ndim == 1 else np.outer(shift, shift)
        total = one.share * (matrix + moved) + (total if total.size else 0.0)
    return total


def _without_bounds(information: Information) -> Information:
    """With the items opened whose votes say nothing once the effects have explained them.

    The graph of who beat whom bounds a score that an effect may free again: three items in a circle, each winning on
    the left, fit a position bias and any scores. Without a penalty such scores run away, and their votes lose all
    curvature.
    """
    e = information
    least = LEAST_CURVATURE / e.votes_per_weight
    if not e.extras or e.alternatives or e.ridge >= least:
        return e
    none = np.zeros(e.n, dtype=bool)
    above, below = (none.copy() if mask is None else mask.copy() for mask in (e.open_above, e.open_below))
    while True:
        kept = ~(above | below)
        among = kept[e.left] & kept[e.right]
        curvature = np.bincount(e.left[among], e.curvature[among], e.n)
        curvature += np.bincount(e.right[among], e.curvature[among], e.n)
        loose = kept & (curvature < least)
        if not loose.any():
            return dataclasses.replace(e, open_above=above, open_below=below) if (above | below).any() else e
        above |= loose
        below |= loose


def _all_open(n: int) -> ScoreCovariance:
    """Of scores that have no end to either side: few votes, which scores and effects together explain in many ways."""
    everywhere = np.ones(n, dtype=bool)
    return ScoreCovariance(None, np.full(n, np.inf), everywhere, everywhere)


def few_clusters(information: Information, cluster: str) -> str:
    """A sentence for the case that there are few."""
    return (
        f"there are {counted(information.cluster_count(cluster), cluster)} only: intervals clustered by it tend to "
        f"be too narrow below {MIN_CLUSTERS}; read them as a lower bound, or get votes from more {cluster}s"
    )


def _refuse_one_cluster(information: Information, part: Information, cluster: str) -> None:
    """Refuse clusters of which there is one only among the votes that bound scores."""
    count = part.cluster_count(cluster)
    if count < 2:
        raise InputError(
            f"intervals clustered by {cluster} need votes of two {cluster}s at least between the items with a bounded "
            f"score ({part.n:,} of {information.n:,}), and have those of {count}; use ",
            Option("kind", "sandwich"),
            ", or get more votes, so that more items both win and lose",
        )


def _laid_out(inner: np.ndarray, kept: np.ndarray, n: int) -> tuple[np.ndarray | None, np.ndarray | None]:
    """The covariance of some items laid out among all; the rest has an infinite variance."""
    variance = np.full(n, np.inf)
    if inner.ndim == 1 or n > DENSE_LIMIT:
        variance[kept] = inner if inner.ndim == 1 else inner.diagonal()
        return None, variance
    whole = np.diag(variance)
    whole[np.ix_(kept, kept)] = inner
    return whole, None


def extra_covariance(information: Information, kind: str = "hessian", cluster: str | None = None) -> np.ndarray:
    """Return the (p, p) covariance of the extra parameters, in their own units.

    For the bootstrap that of the sandwich (of the clusters, if named), to which it converges.
    """
    cluster = information.require(kind, cluster)
    kind = information.choose(kind)
    if kind == "bootstrap":
        kind = "sandwich" if cluster is None else "cluster"
    if information.alternatives:
        total = np.zeros((information.extras, information.extras))
        for one, there in information.under_each_penalty():
            shift = one.shift[information.n :]
            total += one.share * (extra_covariance(there, kind, cluster) + np.outer(shift, shift))
        return total
    if information.n <= DENSE_LIMIT:
        return full_covariance(information, kind, cluster)[information.n :, information.n :]
    from podium.ranking.uncertainty.many import extra_covariance_of_many

    return extra_covariance_of_many(information, kind, cluster)


def extra_std_errors(information: Information, kind: str = "hessian", cluster: str | None = None) -> np.ndarray:
    """Return the standard errors of the extra parameters, in their own units."""
    errors: np.ndarray = np.sqrt(np.maximum(extra_covariance(information, kind, cluster).diagonal(), 0))
    return errors


def _covariance_of(redrawn: np.ndarray) -> np.ndarray:
    """Covariance of bootstrap scores, each held within `CLIP_DEVIATIONS` robust standard deviations of its median.

    Where redrawing leaves an item without a loss (or a win), only the penalty keeps its score finite; without a limit
    a few such replicates would make the standard errors depend on the penalty more than on the votes.
    """
    middle = np.median(redrawn, axis=0)
    reach = CLIP_DEVIATIONS * 1.4826 * np.median(np.abs(redrawn - middle), axis=0)
    return np.cov(np.clip(redrawn, middle - reach, middle + reach), rowvar=False)
