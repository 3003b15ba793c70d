"""Learners that rank the labels of an example: batch, online, and the constructions of the learnability paper."""

from podium.multilabel.agnostic import AgnosticLabelRanker, binary_relevance
from podium.multilabel.experts import ExpertLabelRanker, ExpertThresholdLearner, Halving
from podium.multilabel.online import OnlineLabelRanker
from podium.multilabel.ranker import LabelRanker

__all__ = [
    "AgnosticLabelRanker",
    "ExpertLabelRanker",
    "ExpertThresholdLearner",
    "Halving",
    "LabelRanker",
    "OnlineLabelRanker",
    "binary_relevance",
]
