"""Uncertainty of the scores: covariances, bootstrap, rank intervals, tiers. Arrays in, arrays out.

`Information` is what a ranker hands over at its optimum, `score_covariance` turns it into (co)variances of the
mean-centred scores, and `rank_intervals`, `tiers`, `probability_above`, `probability_best` and `top_set` read those.
All in log-odds.
"""

from podium.ranking.uncertainty.chances import (
    probability_above,
    probability_best,
    probability_best_over,
)
from podium.ranking.uncertainty.dense import covariance, full_covariance, is_determined
from podium.ranking.uncertainty.estimate import (
    MIN_CLUSTERS,
    extra_covariance,
    extra_std_errors,
    few_clusters,
    has_quick_variances,
    score_covariance,
)
from podium.ranking.uncertainty.information import KINDS, Alternative, Information, WeightedInformation
from podium.ranking.uncertainty.lists import ListInformation
from podium.ranking.uncertainty.posterior import mean_chance_margin, posterior_covariance
from podium.ranking.uncertainty.quasi import quasi_variances
from podium.ranking.uncertainty.ranks import RANK_METHODS, rank_intervals, tiers, top_set
from podium.ranking.uncertainty.redraw import bootstrap
from podium.ranking.uncertainty.score_covariance import ScoreCovariance, quantile, width_at
from podium.ranking.uncertainty.worth import cluster_worth, posteriors, votes_worth

__all__ = [
    "KINDS",
    "MIN_CLUSTERS",
    "RANK_METHODS",
    "Alternative",
    "Information",
    "ListInformation",
    "ScoreCovariance",
    "WeightedInformation",
    "bootstrap",
    "cluster_worth",
    "covariance",
    "extra_covariance",
    "extra_std_errors",
    "few_clusters",
    "full_covariance",
    "has_quick_variances",
    "is_determined",
    "mean_chance_margin",
    "posterior_covariance",
    "posteriors",
    "probability_above",
    "probability_best",
    "probability_best_over",
    "quantile",
    "quasi_variances",
    "rank_intervals",
    "score_covariance",
    "tiers",
    "top_set",
    "votes_worth",
    "width_at",
]
