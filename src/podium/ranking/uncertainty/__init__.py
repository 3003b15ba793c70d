"""How sure the scores are: covariances, bootstrap, rank intervals, tiers. Arrays in, arrays out.

`Evidence` is what a ranker hands over at its optimum, `spread` turns it into (co)variances of the mean-centred scores,
and `rank_intervals`, `tiers`, `probability_above`, `probability_best` and `top_set` read those. All in log-odds.
"""

from podium.ranking.uncertainty.dense import covariance
from podium.ranking.uncertainty.estimate import FEW, extra_covariance, extra_std_errors, few_clusters, spread
from podium.ranking.uncertainty.evidence import KINDS, Evidence
from podium.ranking.uncertainty.posterior import mean_chance_margin, posterior_spread
from podium.ranking.uncertainty.ranks import (
    Spread,
    probability_above,
    probability_best,
    quantile,
    rank_intervals,
    tiers,
    top_set,
)
from podium.ranking.uncertainty.redraw import bootstrap

__all__ = [
    "FEW",
    "KINDS",
    "Evidence",
    "Spread",
    "bootstrap",
    "covariance",
    "extra_covariance",
    "extra_std_errors",
    "few_clusters",
    "mean_chance_margin",
    "posterior_spread",
    "probability_above",
    "probability_best",
    "quantile",
    "rank_intervals",
    "spread",
    "tiers",
    "top_set",
]
