"""Ranking losses and gains, their families, and distances between rankings: plain functions."""

from podium.metrics.comparing import RunComparison, compare_runs
from podium.metrics.distances import footrule, kendall_distance, kendall_tau, top_k_footrule, top_k_kendall
from podium.metrics.families import FamilyCheck, check_family, loss_family
from podium.metrics.losses import (
    auc,
    auc_loss,
    average_precision,
    average_precision_loss,
    dcg,
    dcg_loss,
    hit_at,
    ndcg,
    ndcg_loss,
    pairwise_loss,
    precision_at,
    precision_loss,
    ranking_gain,
    ranking_loss,
    recall_at,
    reciprocal_rank,
    reciprocal_rank_loss,
    sum_loss,
)
from podium.metrics.report import Report, ranking_report

__all__ = [
    "FamilyCheck",
    "Report",
    "RunComparison",
    "auc",
    "auc_loss",
    "average_precision",
    "average_precision_loss",
    "check_family",
    "compare_runs",
    "dcg",
    "dcg_loss",
    "footrule",
    "hit_at",
    "kendall_distance",
    "kendall_tau",
    "loss_family",
    "ndcg",
    "ndcg_loss",
    "pairwise_loss",
    "precision_at",
    "precision_loss",
    "ranking_gain",
    "ranking_loss",
    "ranking_report",
    "recall_at",
    "reciprocal_rank",
    "reciprocal_rank_loss",
    "sum_loss",
    "top_k_footrule",
    "top_k_kendall",
]
