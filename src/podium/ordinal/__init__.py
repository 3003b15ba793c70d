"""Grades, exact or as ranges, learned one example at a time or in a batch: scikit-learn estimators."""

from podium.ordinal.baselines import MedianBaseline, OrdinalPerceptron
from podium.ordinal.conformal import ConformalGrades
from podium.ordinal.cumulative import CumulativeLogit
from podium.ordinal.grading.evaluation import Evaluation
from podium.ordinal.grading.grader import Grader
from podium.ordinal.labels import read_labels
from podium.ordinal.losses import accuracy, errors, mae, mistake_bound, neg_mae, surrogate
from podium.ordinal.margin import MarginOrdinal
from podium.ordinal.passive_aggressive import PassiveAggressiveOrdinal, PRank

__all__ = [
    "ConformalGrades",
    "CumulativeLogit",
    "Evaluation",
    "Grader",
    "MarginOrdinal",
    "MedianBaseline",
    "OrdinalPerceptron",
    "PRank",
    "PassiveAggressiveOrdinal",
    "accuracy",
    "errors",
    "mae",
    "mistake_bound",
    "neg_mae",
    "read_labels",
    "surrogate",
]
