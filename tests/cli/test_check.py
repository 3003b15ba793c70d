"""`podium check`."""

import json

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

from podium import RABF, BradleyTerry, read_comparisons
from podium.cli.check import check
from podium.errors import InputError
from podium.evaluate.diagnosis import diagnose

CIRCLE = "winner,loser\n" + "rock,scissors\nscissors,paper\npaper,rock\n" * 20


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "circle.csv").write_text(CIRCLE)
    (tmp_path / "fine.csv").write_text(
        "winner,loser\n" + ("a,b\n" * 3 + "b,a\n" + "b,c\n" * 3 + "c,b\n" + "a,c\n" * 9 + "c,a\n") * 20
    )
    return lambda *args: CliRunner().invoke(check, [*args, "--replicates", "99"])


def test_cycles_are_marked(run):
    done = run("circle.csv")
    assert done.exit_code == 0
    assert "! Transitivity: 100 % of what the votes say is cyclic" in done.stdout
    assert "60 votes on 3 items, 99 redraws" in done.stderr


def test_strict_fails_where_something_deserves_a_look_only(run):
    assert run("circle.csv", "--strict").exit_code == 1
    assert run("fine.csv", "--strict").exit_code == 0


def test_json_holds_the_numbers_and_goes_to_a_file(run, tmp_path):
    assert run("circle.csv", "-o", "out.json").exit_code == 0
    told = json.loads((tmp_path / "out.json").read_text())
    assert told["tests"]["cyclic"]["value"] == pytest.approx(1)
    assert told["tests"]["cyclic"]["p_value"] == pytest.approx(0.01)
    assert len(told["residuals"]) == 3


def test_a_missing_file_is_our_error(run):
    assert isinstance(run("nothing.csv").exception, InputError)


def test_a_suffix_of_another_form_is_refused(run, tmp_path):
    assert "does not write csv; use .json or .txt" in str(run("circle.csv", "-o", "out.csv").exception)
    assert not (tmp_path / "out.csv").exists()


def test_the_model_checked_is_the_one_asked_for(run, tmp_path):
    rng = np.random.default_rng(0)
    left = rng.integers(0, 4, 800)
    right = (left + rng.integers(1, 4, 800)) % 4
    long, short = rng.normal(size=(2, 800))
    tied = rng.random(800) < 0.2
    won = rng.random(800) < 1 / (1 + np.exp(-(right - left) * 0.3 - (long - short) - 0.4))
    columns = {"left": left, "right": right, "outcome": np.where(tied, 0.5, won), "wit_a": long, "wit_b": short}
    pl.DataFrame(columns).write_csv(tmp_path / "sided.csv")
    options = ["--side-effect", "--covariates", "wit", "--ties", "davidson", "--l2", "0.1"]
    done = run("sided.csv", *options, "-o", "out.json")
    assert done.exit_code == 0, done.exception
    votes = read_comparisons("sided.csv", covariates=["wit"])
    model = BradleyTerry(ties="davidson", side_effect=True, l2=0.1).fit(votes)
    expected = diagnose(votes, model, replicates=1, splits=1).residuals.to_dicts()
    told = json.loads((tmp_path / "out.json").read_text())["residuals"]
    assert [row["expected"] for row in told] == pytest.approx([row["expected"] for row in expected], abs=1e-4)
    plain = json.loads(run("sided.csv", "--format", "json").stdout)["residuals"]
    assert [row["expected"] for row in plain] != pytest.approx([row["expected"] for row in expected], abs=1e-2)


def test_with_features_the_model_is_the_one_of_podium_rank(run, tmp_path):
    rng = np.random.default_rng(3)
    size = rng.normal(size=8)
    pairs = [rng.permutation(8)[:2] for _ in range(150)]
    won = [rng.random() < 1 / (1 + np.exp(2 * (size[b] - size[a]))) for a, b in pairs]
    rows = [f"{a},{b}" if w else f"{b},{a}" for (a, b), w in zip(pairs, won, strict=True)]
    (tmp_path / "v.csv").write_text("winner,loser\n" + "\n".join(rows) + "\n")
    (tmp_path / "f.csv").write_text("item,size\n" + "".join(f"{k},{each}\n" for k, each in enumerate(size)))
    done = run("v.csv", "--features", "f.csv", "-o", "out.json")
    assert done.exit_code == 0, done.exception
    assert "residuals and p-values are those of Bradley-Terry" in done.stderr
    votes, features = read_comparisons("v.csv"), pl.read_csv("f.csv")
    model = RABF().fit(votes, features)
    told, plain = json.loads((tmp_path / "out.json").read_text()), diagnose(votes, replicates=99).to_dict()
    expected = diagnose(votes, model, features=features, replicates=99).to_dict()
    assert told["reliability"] == pytest.approx(expected["reliability"])
    assert told["reliability"] != pytest.approx(plain["reliability"]), "halves agree better where features tell"
    assert "the votes choose it, drop it" in str(run("v.csv", "--features", "f.csv", "--l2", "1").exception)
    assert "which is not given; drop it" in str(run("v.csv", "--id", "item").exception)
