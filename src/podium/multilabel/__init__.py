"""Learners that rank the labels of an example: batch, online, and the constructions of the learnability paper."""

from podium.multilabel.agnostic import AgnosticLabelRanker, AgnosticThresholdLearner, binary_relevance
from podium.multilabel.experts import ExpertLabelRanker, ExpertThresholdLearner, Halving
from podium.multilabel.online import OnlineLabelRanker
from podium.multilabel.ranker import LabelRanker
from podium.multilabel.samples import SampleSizes, sample_sizes, vc_bound

__all__ = [
    "AgnosticLabelRanker",
    "AgnosticThresholdLearner",
    "ExpertLabelRanker",
    "ExpertThresholdLearner",
    "Halving",
    "LabelRanker",
    "OnlineLabelRanker",
    "SampleSizes",
    "binary_relevance",
    "sample_sizes",
    "vc_bound",
]
