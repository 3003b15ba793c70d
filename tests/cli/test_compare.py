"""`podium compare`."""

import json

import numpy as np
import pytest
from click.testing import CliRunner

from podium.cli.compare import compare
from podium.errors import InputError

from helpers import simulate


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    winner, loser, _ = simulate(5, 600, np.random.default_rng(0))
    rows = "\n".join(f"item {a},item {b}" for a, b in zip(winner, loser, strict=True))
    (tmp_path / "votes.csv").write_text(f"winner,loser\n{rows}\n")
    return lambda *args: CliRunner().invoke(compare, args)


def test_the_best_comes_first_and_the_picture_is_drawn(run, tmp_path):
    options = ["--method", "win-rate", "--method", "bradley-terry", "--folds", "5"]
    done = run("votes.csv", *options, "--plot", "curve.svg", "--format", "json")
    assert done.exit_code == 0, done.output
    rows = json.loads(done.stdout)
    assert {row["method"] for row in rows} == {"win-rate", "bradley-terry"}
    assert rows[0]["log_loss"] <= rows[1]["log_loss"]
    assert rows[0]["worse"] == 0
    assert "win-rate" in (tmp_path / "curve.svg").read_text()
    assert "600 votes in 5 folds" in done.stderr
    text = run("votes.csv", *options).stdout.splitlines()
    assert text[0].split() == ["method", "log", "loss", "worse", "Brier", "accuracy", "calibration"]
    assert len(text) == 3


def test_bad_options_stop_before_any_work(run):
    assert isinstance(run("votes.csv", "--plot", "curve.gif").exception, InputError)
    assert "not one of" in run("votes.csv", "--method", "guess").output
    assert isinstance(run("votes.csv", "--folds", "400").exception, InputError)
