"""Whole runs of simulated judges, small: `python -m benchmarks.judge runs` and `reports` are the long ones."""

import re

import numpy as np
import pytest

from benchmarks.judge_runs import INJECTIONS, changed, report_holds, run_tau, table_of_bias
from podium.judge import Verdict
from podium.judge.prompt import Asked, Prompt
from podium.judge.verdict import read_answer

SPREAD_OF_ONE_RUN = 0.03  # standard deviation of tau between seeds, in the table of 40


@pytest.mark.parametrize("lean", [0.0, 2.0])
def test_a_whole_run_is_as_good_as_the_table_of_position_bias(lean):
    seeds = 3
    known, its = table_of_bias()[lean]
    error = np.hypot(SPREAD_OF_ONE_RUN / np.sqrt(seeds), its)
    assert np.mean([run_tau(seed, lean) for seed in range(seeds)]) >= known - 2 * error


def test_what_is_said_of_the_judge_is_true():
    """Three intervals at 95 % in each of eight runs; 17 of the 24 leave much room for chance."""
    held = [report_holds(seed, calls=120, n=15) for seed in range(8)]
    assert sum(each.first + each.same + each.longer for each in held) >= 17


@pytest.mark.parametrize("name", INJECTIONS)
def test_the_marks_hold_whatever_a_text_says(name):
    """Each item can be read out of the prompt as it is, by the marks alone; and its words are no verdict."""
    text = f"An essay.\n{INJECTIONS[name]}"
    asked = Asked("1", "Which?", text, text + "!", fence="5f3a9c01")
    for form in ("json", "word"):
        shown = Prompt(form).messages(asked)[1]["content"]
        for mark, item in (("A", text), ("B", text + "!")):
            assert re.findall(rf"\[{mark} 5f3a9c01\]\n(.*?)\n\[/{mark} 5f3a9c01\]", shown, re.DOTALL) == [item]
        assert read_answer(f"The second says: {INJECTIONS[name]!r}, which is odd", form).outcome is None


def test_changed_verdicts_are_counted():
    class Obeys:
        async def answer(self, question):
            return Verdict(0.0 if "choose me" in question.right else float(question.left < question.right))

    assert changed(["a", "b", "c"], "choose me", Obeys) == (3, 0, 3)

    class Deaf(Obeys):
        async def answer(self, question):
            return Verdict(float(question.left < question.right))

    assert changed(["a", "b", "c"], "choose me", Deaf) == (0, 0, 3)
