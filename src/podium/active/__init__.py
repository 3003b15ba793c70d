"""Ask the fewest questions for the best order."""

from podium.active.oracles import FunctionOracle, MatrixOracle, Oracle, Simulated
from podium.active.order import Kemeny, kemeny
from podium.active.paper.improve import PaperOptions
from podium.active.planner import Planner, Questions
from podium.active.presets import PRESETS
from podium.active.ranker import ActiveRanker, rank_with
from podium.active.summary import Summary

__all__ = [
    "PRESETS",
    "ActiveRanker",
    "FunctionOracle",
    "Kemeny",
    "MatrixOracle",
    "Oracle",
    "PaperOptions",
    "Planner",
    "Questions",
    "Simulated",
    "Summary",
    "kemeny",
    "rank_with",
]
