"""Is it right? Held-out votes, misfit, stability."""

from __future__ import annotations

from typing import TYPE_CHECKING

from podium._lazy import lazy

if TYPE_CHECKING:
    from podium.evaluate.assessment import Assessment, assess
    from podium.evaluate.diagnosis import Diagnosis, Finding, History, Reliability, Test, diagnose, score_history
    from podium.evaluate.differences import Differences, Standing, compare_rankings
    from podium.evaluate.feature_bounds import RiskBound, VotePlan, plan_votes, risk_bound
    from podium.evaluate.feature_diagnosis import LearningCurve, learning_curve, residual_norm, residual_outliers
    from podium.evaluate.judging import Judging, judging_quality, scale_separation
    from podium.evaluate.league import final_table, forecasts
    from podium.evaluate.nested import LikelihoodRatio, compare_nested, likelihood_ratio_test

_LAZY = {
    "Assessment": "podium.evaluate.assessment",
    "Diagnosis": "podium.evaluate.diagnosis",
    "Differences": "podium.evaluate.differences",
    "Finding": "podium.evaluate.diagnosis",
    "History": "podium.evaluate.diagnosis",
    "Judging": "podium.evaluate.judging",
    "LearningCurve": "podium.evaluate.feature_diagnosis",
    "LikelihoodRatio": "podium.evaluate.nested",
    "Reliability": "podium.evaluate.diagnosis",
    "RiskBound": "podium.evaluate.feature_bounds",
    "Standing": "podium.evaluate.differences",
    "Test": "podium.evaluate.diagnosis",
    "VotePlan": "podium.evaluate.feature_bounds",
    "assess": "podium.evaluate.assessment",
    "compare_nested": "podium.evaluate.nested",
    "compare_rankings": "podium.evaluate.differences",
    "diagnose": "podium.evaluate.diagnosis",
    "final_table": "podium.evaluate.league",
    "forecasts": "podium.evaluate.league",
    "judging_quality": "podium.evaluate.judging",
    "learning_curve": "podium.evaluate.feature_diagnosis",
    "likelihood_ratio_test": "podium.evaluate.nested",
    "plan_votes": "podium.evaluate.feature_bounds",
    "residual_norm": "podium.evaluate.feature_diagnosis",
    "residual_outliers": "podium.evaluate.feature_diagnosis",
    "risk_bound": "podium.evaluate.feature_bounds",
    "scale_separation": "podium.evaluate.judging",
    "score_history": "podium.evaluate.diagnosis",
}

__all__ = [
    "Assessment",
    "Diagnosis",
    "Differences",
    "Finding",
    "History",
    "Judging",
    "LearningCurve",
    "LikelihoodRatio",
    "Reliability",
    "RiskBound",
    "Standing",
    "Test",
    "VotePlan",
    "assess",
    "compare_nested",
    "compare_rankings",
    "diagnose",
    "final_table",
    "forecasts",
    "judging_quality",
    "learning_curve",
    "likelihood_ratio_test",
    "plan_votes",
    "residual_norm",
    "residual_outliers",
    "risk_bound",
    "scale_separation",
    "score_history",
]

__getattr__, __dir__ = lazy(__name__, _LAZY)
