"""What a vote is worth to a posterior that takes it for one independent win or loss, and the posterior if so.

A weight is counted by Σw/Σw² of all votes. It is an item's own votes that place it, and one heavy vote does not speak
about every item: it is worth the harmonic mean of the items' own Σw/Σw². A tie that is counted half is neither win nor
loss: the points of n votes with t ties vary as those of n − t do (the sign test leaves ties out), so that each vote is
worth n/(n − t).

An item's pull is the sum of its votes' gradients. Where the votes of one judge go together, pulls vary more than those
of as many independent votes would: by the design effect (Kish 1965; for likelihoods Rao and Scott 1981), here the mean
over the items, each weighted by its posterior variance. A vote is worth one over that, k, and the likelihood is taken
to the power k (Pauli, Racugno and Ventura 2011). With H the Hessian of the loss at the optimum u under the prior
precision R, the posterior is then near

    N(u − (1 − k)·P⁻¹R u, P⁻¹),    P = k·H + R,

also for items that only won or only lost. Spreads of the true scores become more or less probable with it: the log of
the marginal likelihood at each is −k·loss − ½ uᵀRu − ½ log det P + ½ log det R, the loss as the given shares imply it.
"""

from __future__ import annotations

import dataclasses
import math

import numpy as np

from podium.ranking.uncertainty.dense import cluster_sums, laplacian
from podium.ranking.uncertainty.information import Information
from podium.ranking.uncertainty.lists import ListInformation
from podium.ranking.uncertainty.posterior import posterior_covariance
from podium.ranking.uncertainty.score_covariance import ScoreCovariance

__all__ = ["cluster_worth", "posteriors", "votes_worth"]

Posterior = tuple[float, np.ndarray, ScoreCovariance]


def votes_worth(information: Information, tied: float) -> float:
    """How many of the votes that are counted each is worth, a share `tied` of them being ties that are counted half.

    >>> rows = {"vote_left": np.array([0]), "vote_right": np.array([1]), "vote_gradient": np.array([0.0])}
    >>> weight = {"vote_weight": np.array([10.0]), "vote_weight_sq": np.array([10.0])}
    >>> votes_worth(Information(2, np.array([0]), np.array([1]), np.array([2.5]), **rows, **weight), 0.2)
    1.25
    """
    e = information
    if isinstance(e, ListInformation) or e.vote_gradient is None or e.vote_weight is None or e.vote_weight_sq is None:
        return 1.0
    total, squares = float(e.vote_weight.sum()), float(e.vote_weight_sq.sum())
    if not squares > 0:
        return 1.0
    worth = 1.0
    if not e.counted:
        left, right, _, weight, square = e.vote_gradients()
        own, own_squares = (np.bincount(left, x, e.n) + np.bincount(right, x, e.n) for x in (weight, square))
        met = own > 0
        worth = float(np.count_nonzero(met) / np.sum(own_squares[met] / own[met])) / e.votes_per_weight
    if e.tie_strength > 0:  # ties are modelled as what they are
        return worth
    return worth / max(1.0 - tied, min(squares / total**2, 1.0))  # all ties but one vote, at the most


def cluster_worth(information: Information, cluster: str, variance: np.ndarray) -> float:
    """How many independent votes a vote is worth, at most 1, if those of one cluster go together.

    `variance` is that of each score under the posterior. Two votes of equal judges, always alike, are worth half each:

    >>> rows = {"vote_left": np.array([0, 0]), "vote_right": np.array([1, 1]), "vote_gradient": np.array([-0.5, -0.5])}
    >>> weight = {"vote_weight": np.ones(2), "vote_weight_sq": np.ones(2), "clusters": {"judge": np.array([0, 0])}}
    >>> votes = Information(2, np.array([0]), np.array([1]), np.array([0.5]), **rows, **weight)
    >>> cluster_worth(votes, "judge", np.ones(2))
    0.5
    """
    alone = float(_squared_pulls(information, None) @ variance)
    together = float(_squared_pulls(information, cluster) @ variance)
    return min(alone / together, 1.0) if together > 0 else 1.0


def _squared_pulls(information: Information, cluster: str | None) -> np.ndarray:
    """For each item the sum of its squared pulls, by votes or by clusters of votes."""
    if isinstance(information, ListInformation):
        return information.squared_pulls(cluster)
    left, right, slope, _, square = information.vote_gradients()
    loose = np.ones(len(left), dtype=bool) if cluster is None else information.clusters[cluster] < 0
    each = (square * slope**2)[loose]
    total: np.ndarray = np.bincount(left[loose], each, information.n) + np.bincount(right[loose], each, information.n)
    if cluster is not None:
        total = total + np.asarray(cluster_sums(information, cluster).power(2).sum(axis=0))[: information.n]
    return total


def posteriors(posterior: Information, scores: np.ndarray, worth: float = 1.0) -> list[Posterior]:
    """Share, mean and covariance of the posterior under each spread that is possible, a vote being worth so many."""
    if posterior.alternatives:
        each = [(one.share, scores + one.shift[: posterior.n], there) for one, there in posterior.under_each_penalty()]
    else:
        each = [(1.0, scores, posterior)]
    if math.isclose(worth, 1.0, rel_tol=1e-9):
        return [(share, mean, posterior_covariance(there)) for share, mean, there in each]
    made = [_discounted(share, mean, there, worth) for share, mean, there in each]
    if len(made) == 1:
        return [(1.0, *made[0][1:])]
    logs = np.array([log for log, _, _ in made])
    shares = np.exp(logs - logs.max())
    shares /= shares.sum()
    return [(share, *rest) for share, (_, *rest) in zip(shares.tolist(), made, strict=True)]


def _discounted(share: float, mean: np.ndarray, there: Information, worth: float) -> Posterior:
    """Log of the share, mean and covariance where a vote is worth `worth`."""
    n, ridge = there.n, there.ridge
    less = _times(there, worth)
    covariance = posterior_covariance(less)
    centred = mean - mean.mean()
    pulled = covariance.variance * centred if covariance.matrix is None else covariance.matrix @ centred
    step = -(1.0 - worth) * ridge * pulled
    log = math.log(share) if share > 0 else -math.inf
    if share < 1.0:  # one of several: how probable it is now
        prior = 0.5 * n * math.log(ridge)
        loss = -log - 0.5 * ridge * float(centred @ centred) - 0.5 * _log_determinant(there) + prior
        bend = (-(1.0 - worth) * ridge * float(centred @ step) - ridge * float(step @ step)) / worth
        loss += -ridge * float(centred @ step) + 0.5 * bend
        moved = centred + step
        log = -worth * loss - 0.5 * ridge * float(moved @ moved) - 0.5 * _log_determinant(less) + prior
    return log, mean + step, covariance


def _times(information: Information, worth: float) -> Information:
    """The same with every vote counted `worth` times."""
    e = information
    return dataclasses.replace(
        e,
        curvature=worth * e.curvature,
        border=None if e.border is None else worth * e.border,
        corner=None if e.corner is None else worth * e.corner,
    )


def _log_determinant(information: Information) -> float:
    """Of the Hessian."""
    e = information
    hessian = laplacian(e.n, e.left, e.right, e.curvature) + e.ridge * np.eye(e.n)
    if e.border is not None and e.corner is not None:
        hessian = np.block([[hessian, e.border], [e.border.T, e.corner]])
    return float(np.linalg.slogdet(hessian)[1])
