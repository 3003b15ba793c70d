"""`podium compare`."""

import json

import numpy as np
import pytest
from click.testing import CliRunner

from podium.cli.compare import compare
from podium.cli.messages import worded
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


def test_features_are_given_to_the_methods_that_use_them(run, tmp_path):
    (tmp_path / "items.csv").write_text("item,size\n" + "".join(f"item {k},{-k}\n" for k in range(5)))
    chosen = ["--method", "rabf", "--method", "bradley-terry", "--folds", "20"]
    scores = {}
    for more in ([], ["--features", "items.csv"]):
        done = run("votes.csv", *chosen[: 2 if more else 4], "--folds", "20", "--format", "json", *more)
        assert done.exit_code == 0, done.output
        assert ("without --features" in done.stderr) is (not more)
        scores[bool(more)] = {row["method"]: row["log_loss"] for row in json.loads(done.stdout)}
    assert scores[True]["rabf"] != scores[False]["rabf"]
    every = run("votes.csv", "--features", "items.csv", "--folds", "3", "--format", "json")
    assert {"rabf", "bradley-terry", "elo"} <= {row["method"] for row in json.loads(every.stdout)}
    assert "use rabf" in str(run("votes.csv", "--method", "elo", "--features", "items.csv").exception)


@pytest.mark.parametrize(("votes", "way"), [(7, "set --folds 3 or less"), (3, "gather more")])
def test_too_few_votes_for_the_folds_say_how_many_would_do(run, tmp_path, votes, way):
    (tmp_path / "few.csv").write_text("winner,loser\n" + "a,b\nb,a\n" * (votes // 2) + "a,b\n" * (votes % 2))
    problem = worded(run("few.csv").exception)
    assert f"{votes} votes cannot be dealt into 10 folds; {way}" in problem
