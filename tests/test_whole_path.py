"""The four kinds of feedback, each from a file on disk to a picture and a saved model and back: the command line and
the library must give the same."""

import io
import json

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

import podium
from podium.active import ActiveRanker
from podium.active.journal import parse_log
from podium.cli import main
from podium.multilabel import LabelRanker

from helpers import simulate

PNG = b"\x89PNG"


def shell(*args, keys=None):
    done = CliRunner().invoke(main, [str(arg) for arg in args], input=keys, catch_exceptions=False)
    assert done.exit_code == 0, done.stderr
    return done.stdout


def test_votes(tmp_path):
    winner, loser, _ = simulate(6, 900, np.random.default_rng(0))
    names = np.array(["ant", "bee", "cat", "dog", "eel", "fox"])
    votes = tmp_path / "votes.csv"
    pl.DataFrame({"winner": names[winner], "loser": names[loser]}).write_csv(votes)
    model, picture, page = tmp_path / "m.podium", tmp_path / "board.png", tmp_path / "board.html"
    out = shell("rank", votes, "--save", model, "--plot", picture, "--report", page, "--format", "json")
    rows = {row["item"]: row for row in json.loads(out)}
    ours = podium.BradleyTerry().fit(podium.read_comparisons(votes)).ranking_
    saved = podium.load(model).ranking_
    lower, upper = ours.intervals()
    for k, item in enumerate(ours.items):
        assert rows[item]["score"] == pytest.approx(ours.scores[k], abs=1e-6)
        assert (rows[item]["lower"], rows[item]["upper"]) == pytest.approx((lower[k], upper[k]), abs=1e-6)
        assert saved.score(item) == pytest.approx(ours.scores[k], abs=1e-6)
    assert picture.read_bytes().startswith(PNG)
    assert all(f">{name}<" in page.read_text() for name in names)


def test_votes_with_features_of_items_nobody_voted_on(tmp_path):
    rng = np.random.default_rng(1)
    winner, loser, truth = simulate(30, 4000, rng)
    votes, items, model = tmp_path / "votes.parquet", tmp_path / "items.csv", tmp_path / "m.podium"
    names = np.array([f"item {k}" for k in range(30)])
    pl.DataFrame({"winner": names[winner], "loser": names[loser]}).write_parquet(votes)
    size = truth + rng.normal(0, 0.3, 30)
    pl.DataFrame({"item": [*names, "newcomer"], "size": [*size, 9.0]}).write_csv(items)
    rows = json.loads(shell("rank", votes, "--features", items, "--save", model, "--format", "json"))
    assert rows[0]["item"] == "newcomer"  # its size promises much
    ours = podium.RABF().fit(podium.read_comparisons(votes), features=pl.read_csv(items))
    scores = {row["item"]: row["score"] for row in rows}
    assert scores == pytest.approx({item: ours.ranking_.score(item) for item in ours.ranking_.items}, abs=1e-5)
    predicted = pl.read_csv(io.StringIO(shell("predict", items, "--model", model)))
    by_name = dict(zip(predicted["item"], predicted["score"], strict=True))
    assert by_name["newcomer"] == pytest.approx(scores["newcomer"], abs=1e-5)


def test_asking(tmp_path):
    table, log = tmp_path / "drinks.csv", tmp_path / "answers.jsonl"
    drinks = ["tea", "milk", "coffee", "juice", "water"]
    pl.DataFrame({"id": drinks, "text": [f"a glass of {drink}" for drink in drinks]}).write_csv(table)
    first = shell("ask", table, "--log", log, "--judge", "ann", "--seed", 1, "--format", "csv", keys="1" * 12)
    again = shell("ask", table, "--log", log, "--judge", "ann", "--seed", 1, "--format", "csv")
    order = pl.read_csv(io.StringIO(first))["item"].to_list()
    assert pl.read_csv(io.StringIO(again))["item"].to_list() == order
    replayed = ActiveRanker.replay(drinks, parse_log(log.read_text().splitlines()))
    assert list(replayed.ranking_.order) == order
    votes = podium.read_comparisons(log)
    assert set(votes.items) <= set(drinks)
    assert votes.judges == ("ann",)


def test_grades(tmp_path):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(600, 3))
    latent = X @ [1.0, -2.0, 0.5] + rng.normal(0, 0.2, 600)
    grade = np.digitize(latent, [-2, 0, 2]) + 1
    frame = pl.DataFrame(
        {"a": X[:, 0], "b": X[:, 1], "c": X[:, 2], "low": np.maximum(grade - rng.integers(0, 2, 600), 1), "high": grade}
    )
    table, model = tmp_path / "essays.csv", tmp_path / "m.podium"
    frame.write_csv(table)
    shell(
        "grade",
        "fit",
        table,
        "--low",
        "low",
        "--high",
        "high",
        "--classes",
        "1..4",
        "--save",
        model,
        "--plot",
        tmp_path / "learn.png",
    )
    out = shell("grade", "predict", table, "--model", model, "--id", "low", "--id", "high")
    told = pl.read_csv(io.StringIO(out))["grade"].to_numpy()
    grader = podium.load(model)
    features = frame.select(grader.features).to_numpy()
    assert told.tolist() == np.asarray(grader.classifier.predict(grader.scale.apply(features))).tolist()
    assert np.abs(told - grade).mean() < 0.4
    assert (tmp_path / "learn.png").read_bytes().startswith(PNG)


def test_labels(tmp_path):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(200, 4))
    Y = (X @ rng.normal(size=(4, 5)) > 0.5).astype(int)
    columns = {f"f{j}": X[:, j] for j in range(4)} | {f"tag_{j}": Y[:, j] for j in range(5)}
    table, model = tmp_path / "articles.parquet", tmp_path / "m.podium"
    pl.DataFrame(columns).write_parquet(table)
    shell("label", "fit", table, "--labels", "tag_*", "--loss", "sum@2", "--no-standardize", "--save", model)
    out = shell("label", "predict", table, "--labels", "tag_*", "--model", model, "--top", 1)
    best = pl.read_csv(io.StringIO(out))["label"].to_list()
    ours = LabelRanker(loss="sum@2", standardize=False).fit(X, Y)
    assert best == [f"tag_{j}" for j in ours.rank(X, top=1)[:, 0]]
