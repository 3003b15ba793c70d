"""Ask the fewest questions for the best order."""

from podium.active.oracles import FunctionOracle, MatrixOracle, Oracle, Simulated
from podium.active.order import Kemeny, kemeny
from podium.active.paper.learners import PaperModel
from podium.active.paper.margin import LargeMargin, svm1, svm2, svm3
from podium.active.paper.options import PaperOptions
from podium.active.planner import Planner, Questions
from podium.active.presets import PRESETS
from podium.active.ranker import ActiveRanker, rank_with
from podium.active.summary import Summary

__all__ = [
    "PRESETS",
    "ActiveRanker",
    "FunctionOracle",
    "Kemeny",
    "LargeMargin",
    "MatrixOracle",
    "Oracle",
    "PaperModel",
    "PaperOptions",
    "Planner",
    "Questions",
    "Simulated",
    "Summary",
    "kemeny",
    "rank_with",
    "svm1",
    "svm2",
    "svm3",
]
