"""Strange input to every public entry and every command: refused in one sentence or served, nothing else.

Each target runs in a process of its own, so that a crash is a finding as well. PODIUM_FUZZ=20000 sets how many inputs
there are in all, PODIUM_FUZZ_FIRST where their numbers begin (another number, other inputs). A finding names its seed:

    python tests/fuzz/run.py rankers --first 17
"""

import json
import os
import pathlib
import subprocess
import sys

import pytest

from fuzz import commands
from fuzz.run import entries

pytestmark = pytest.mark.fuzz
RUN = pathlib.Path(__file__).with_name("run.py")
# Small matrices gain nothing by threads, and on a busy machine threads wait for each other.
ENVIRONMENT = os.environ | {"MPLBACKEND": "agg", "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
INPUTS = int(os.environ.get("PODIUM_FUZZ", "1500"))
FIRST = int(os.environ.get("PODIUM_FUZZ_FIRST", "0"))
# Share of the inputs; the cheap ones, which reach most of the library, get more.
SHARES = {"comparisons": 3, "reading": 3, "rankers": 4, "measures": 4, "active": 3, "process": 0.1, "compare": 0.5,
          "pictures": 0.4, "page": 0.4, "campaigns": 0.3, "with_oracle": 0.5, "agnostic": 0.5, "one_odd": 4, "demo": 0.05,
          "serving": 0.4, "client": 0.6, "model_server": 0.3, "remote_judge": 0.3}  # fmt: skip
TARGETS = [*entries(), *commands.targets()]
LEAST_DONE = 0.02  # of the inputs of a target must be served, or it tests only the validation


def share_of(target):
    return max(4, round(INPUTS * SHARES.get(target, 1) / sum(SHARES.get(each, 1) for each in TARGETS)))


@pytest.mark.parametrize("target", TARGETS)
def test_nothing_but_answers_and_sentences_comes_back(target):
    count = share_of(target)
    command = [sys.executable, str(RUN), target, "--first", str(FIRST), "--count", str(count)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, env=ENVIRONMENT)
    told = [json.loads(line) for line in ended.stdout.splitlines()]
    again = f"python tests/fuzz/run.py '{target}' --first"
    assert told, ended.stderr[-4000:]
    assert "inputs" in told[-1], (
        f"the process ended with {ended.returncode} at {again} {told[-1]['seed']}\n{ended.stderr[-4000:]}"
    )
    findings = {line["key"]: line for line in reversed(told) if "key" in line}
    assert not findings, "\n\n".join(f"{again} {line['seed']}\n{line['what']}" for line in findings.values())
    assert count < 50 or told[-1]["done"] >= LEAST_DONE * count, "hardly any input got past validation"


def test_every_command_has_a_target():
    assert set(commands.leaves()) <= set(TARGETS)


# Public, and not entered by an ordinary call; podium.client wants a server: fuzz/over_http.py has a strange one.
NOT_ENTERED = {
    "podium.active.Oracle.answer": "a protocol: whoever answers writes it",
    "podium.judge.Asker.answer": "a protocol: whoever answers writes it",
    "podium.judge.HttpJudge.answer": "wants a server: fuzz/over_http.py",
    "podium.judge.HttpJudge.close": "wants a server: fuzz/over_http.py",
    "podium.judge.CommandJudge.answer": "wants a program; tests/judge has some",
    "podium.judge.CommandJudge.close": "wants a program; tests/judge has some",
    "podium.pairwise.Ranker.fit": "each ranker has its own",
    "podium.active.ActiveRanker.check_scores": "wants 250 votes on check pairs; refused in with_oracle",
    "podium.BradleyTerry.upgraded": "reads model files of older releases",
    "podium.CrowdBradleyTerry.upgraded": "reads model files of older releases",
    "podium.DynamicBradleyTerry.upgraded": "reads model files of older releases",
    "podium.Elo.upgraded": "reads model files of older releases",
    "podium.Ranking.upgraded": "reads model files of older releases",
    "podium.OnlineRABF.upgraded": "reads model files of older releases",
    "podium.PlackettLuce.upgraded": "reads model files of older releases",
    "podium.RABF.upgraded": "reads model files of older releases",
    "podium.evaluate.differences.unlike_words": "words for settings that differ, called by `podium diff` and `--since`",
    "podium.show.report.fit_words": "words for a test of fit, called by the page and by `podium check`",
    "podium.multilabel.LabelRanker.upgraded": "reads model files of older releases",
    "podium.ordinal.Grader.upgraded": "reads model files of older releases",
    "podium.ordinal.PassiveAggressiveOrdinal.upgraded": "reads model files of older releases",
}


def test_every_public_entry_is_called():
    """What docs/api.md and the rooms list was really entered, by a call that succeeds."""
    command = [sys.executable, str(RUN), "reach"]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, env=ENVIRONMENT)
    told = [json.loads(line) for line in ended.stdout.splitlines()]
    assert told, ended.stderr[-4000:]
    assert "left" in told[-1], ended.stderr[-4000:]
    assert told[0]["public"] > 300
    assert told[-1]["failed"] == {}
    left = {name for name in told[-1]["left"] if not name.startswith("podium.client.")}
    assert left == set(NOT_ENTERED)
