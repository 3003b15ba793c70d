"""`podium label`: fit on a table, predict, evaluate; the same numbers as the library."""

import json

import numpy as np
import polars as pl
import pytest

from podium.cli import run
from podium.metrics import ranking_report
from podium.multilabel import LabelRanker


@pytest.fixture
def table(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 3)) * [1, 10, 100]
    Y = (X / [1, 10, 100] @ rng.normal(size=(3, 4)) > 0.3).astype(int)
    columns = {"name": [f"n{i}" for i in range(150)]} | {f"f{j}": X[:, j] for j in range(3)}
    columns |= {f"tag_{c}": Y[:, j] for j, c in enumerate("abcd")}
    pl.DataFrame(columns).write_csv(tmp_path / "t.csv")
    pl.DataFrame(columns).write_parquet(tmp_path / "t.parquet")
    lines = [
        ",".join(str(j) for j in range(4) if y[j]) + " " + " ".join(f"{j}:{v!r}" for j, v in enumerate(x.tolist()))
        for x, y in zip(X / [1, 10, 100], Y, strict=True)
    ]
    (tmp_path / "t.svm").write_text("\n".join(lines) + "\n")
    return tmp_path, X, Y


def call(capfd, *args):
    with pytest.raises(SystemExit) as stop:
        run(["label", *map(str, args)])
    out, err = capfd.readouterr()
    return stop.value.code, out, err


def ok(capfd, *args):
    code, out, err = call(capfd, *args)
    assert code == 0, err
    return out, err


def test_fit_predict_and_evaluate_are_the_librarys_numbers(table, capfd):
    folder, X, Y = table
    for name in ("t.csv", "t.parquet"):
        out, _ = ok(
            capfd, "fit", folder / name, "--labels", "tag_*", "--id", "name", "--save", folder / "m", "--loss", "sum@2"
        )
        assert out.splitlines()[1].split() == ["150", "3", "4", "sum@2", "True"]
    ranker = LabelRanker("sum@2", standardize=True).fit(X, Y)
    out, _ = ok(
        capfd, "predict", folder / "t.csv", "--id", "name", "--model", folder / "m", "--top", 2, "--format", "json"
    )
    rows = json.loads(out)
    assert [row["label"] for row in rows[:2]] == [f"tag_{'abcd'[j]}" for j in ranker.rank(X)[0, :2]]
    assert rows[0]["name"] == "n0"
    assert rows[0]["score"] == pytest.approx(ranker.decision_function(X)[0].max())
    out, _ = ok(capfd, "evaluate", folder / "t.csv", "--labels", "tag_*", "--model", folder / "m", "--format", "json")
    truth = ranking_report(Y, ranker.decision_function(X), at=(1, 3))
    assert {row["metric"]: row["loss"] for row in json.loads(out)} == pytest.approx(dict(truth))


def test_svmlight_lines_are_sparse_examples(table, capfd):
    folder, _, Y = table
    ok(capfd, "fit", folder / "t.svm", "--save", folder / "m", "--no-standardize")
    out, _ = ok(capfd, "predict", folder / "t.svm", "--model", folder / "m", "--top", 1)
    assert len(out.splitlines()) == 151
    out, err = ok(capfd, "evaluate", folder / "t.svm", "--model", folder / "m", "--at", "1,2")
    assert out.splitlines()[0].split() == ["metric", "loss", "gain"]
    assert "150 examples, 4 labels" in err
    assert Y.shape == (150, 4)


def test_losses_without_an_exact_target_say_so(table, capfd):
    folder, _, _ = table
    _, err = ok(capfd, "fit", folder / "t.svm", "--save", folder / "m", "--loss", "ap")
    assert "no target makes the ranking best for ap" in err


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["fit", "t.csv", "--save", "m"], "name the label columns with --labels"),
        (["fit", "t.csv", "--labels", "tag_*", "--save", "m"], "column 'name' is not numeric"),
        (["fit", "t.csv", "--labels", "tag_*", "--id", "nome", "--save", "m"], "has no column 'nome'"),
        (["fit", "t.csv", "--labels", "*", "--save", "m"], "holds text|no column is left"),
        (["fit", "t.svm", "--labels", "a", "--save", "m"], "svmlight files have no columns"),
        (["fit", "bad.svm", "--save", "m"], "row 2 is not 'label,label feature:value"),
        (["fit", "t.svm", "--loss", "best", "--save", "m"], "'best' is no metric"),
        (["fit", "t.svm", "--C", "-1", "--save", "m"], "above 0"),
        (["fit", "nothing.csv", "--labels", "a", "--save", "m"], "nothing.csv"),
        (["predict", "t.csv", "--model", "nothing"], "no such file"),
        (["predict", "holes.csv", "--model", "ok"], "row 2: 'f1' is empty"),
        (["predict", "bad.csv", "--model", "ok"], "trained with column 'f0'"),
        (["evaluate", "t.csv", "--labels", "tag_a", "--model", "ok"], "ranks label 'tag_b'"),
        (["evaluate", "t.csv", "--labels", "tag_*", "--model", "ok", "--at", "x"], "whole numbers separated"),
    ],
)
def test_bad_calls_are_named(table, capfd, args, says, monkeypatch):
    folder, _, _ = table
    monkeypatch.chdir(folder)
    ok(capfd, "fit", "t.csv", "--labels", "tag_*", "--id", "name", "--save", "ok")
    (folder / "bad.svm").write_text("0 1:2\n0 one\n")
    (folder / "bad.csv").write_text("a,b\n1,2\n")
    (folder / "holes.csv").write_text("f0,f1,f2\n1,2,3\n1,,3\n")
    code, _, err = call(capfd, *args)
    assert code == 2
    assert any(part in err for part in says.split("|")), err
    assert "Traceback" not in err


def test_fractions_of_relevance_can_be_evaluated(table, capfd):
    folder, _, _ = table
    (folder / "half.csv").write_text("f,t_a,t_b\n1,0.5,0\n2,0,1\n3,1,0\n")
    ok(capfd, "fit", folder / "half.csv", "--labels", "t_*", "--save", folder / "m")
    evaluate = ["evaluate", folder / "half.csv", "--labels", "t_*", "--model", folder / "m", "--at", "1"]
    code, _, err = call(capfd, *evaluate)
    assert code == 2
    assert "use --gain linear" in err
    out, _ = ok(capfd, *evaluate, "--gain", "linear")
    assert "ndcg@1" in out


def test_a_loss_that_looks_beyond_the_labels_is_refused(table, capfd):
    folder, _, _ = table
    code, _, err = call(capfd, "fit", folder / "t.svm", "--loss", "sum@99", "--save", folder / "m")
    assert code == 2
    assert "--loss sum@99: there are only 4 labels; use a cut-off up to 4" in err


def test_cut_offs_are_those_asked_for(table, capfd):
    folder, _, _ = table
    ok(capfd, "fit", folder / "t.csv", "--labels", "tag_*", "--id", "name", "--save", folder / "m.podium")
    given = ("evaluate", folder / "t.csv", "--labels", "tag_*", "--id", "name", "--model", folder / "m.podium", "--at")
    out, err = ok(capfd, *given, "2,99")
    assert "@2" in out
    assert "--at 99 left out" in err
    for bad in ("99", "0", "0,2"):
        code, out, err = call(capfd, *given, bad)
        assert (code, out) == (2, "")
        assert "cut-offs from 1 to 4" in err


def test_a_pattern_without_columns_a_table_without_rows_and_lines_without_labels_are_named(table, capfd):
    folder, _, _ = table
    (folder / "head.csv").write_text("f0,tag_a\n")
    (folder / "none.svm").write_text(" 0:1.5\n 0:2.5\n")
    for path, says in (
        ("t.csv", "--labels 'nope*' matches no column"),
        ("head.csv", "has no rows"),
    ):
        code, _, err = call(capfd, "fit", folder / path, "--labels", "nope*", "--save", folder / "m.podium")
        assert code == 2
        assert says in err
    code, _, err = call(capfd, "fit", folder / "none.svm", "--save", folder / "m.podium")
    assert code == 2
    assert "no row has a label" in err
