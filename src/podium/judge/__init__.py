"""A model, a command or a function as judge: which of two, in both orders, strict, resumable, budgeted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from podium._lazy import lazy

if TYPE_CHECKING:
    from podium.judge.asking import Asker
    from podium.judge.command import CommandJudge
    from podium.judge.http import HttpJudge
    from podium.judge.pairs import Judged, judge_pairs
    from podium.judge.prompt import Asked
    from podium.judge.tally import Tally
    from podium.judge.verdict import Verdict

_LAZY = {
    "Asked": "podium.judge.prompt",
    "Asker": "podium.judge.asking",
    "CommandJudge": "podium.judge.command",
    "HttpJudge": "podium.judge.http",
    "Judged": "podium.judge.pairs",
    "Tally": "podium.judge.tally",
    "Verdict": "podium.judge.verdict",
    "judge_pairs": "podium.judge.pairs",
}

__all__ = ["Asked", "Asker", "CommandJudge", "HttpJudge", "Judged", "Tally", "Verdict", "judge_pairs"]

__getattr__, __dir__ = lazy(__name__, _LAZY)
