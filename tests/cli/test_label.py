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
        assert out.splitlines()[1].split() == ["150", "3", "4", "sum@2", "linear", "True"]
    ranker = LabelRanker("sum@2").fit(X, Y)
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


@pytest.mark.parametrize("scorer", ["linear", "trees", "auto"])
def test_every_scorer_is_the_librarys_after_saving_and_loading(table, capfd, scorer):
    folder, X, Y = table
    given = ["fit", folder / "t.csv", "--labels", "tag_*", "--id", "name", "--save", folder / "m", "--loss", "sum@2"]
    out, err = ok(capfd, *given, "--scorer", scorer)
    ranker = LabelRanker("sum@2", scorer).fit(X, Y)
    assert ranker.scorer_ in out
    assert f"chosen among {len(ranker.validation_)}: {ranker.chosen_}" in err
    told = ["predict", folder / "t.csv", "--id", "name", "--model", folder / "m", "--top", 4, "--format", "json"]
    rows = json.loads(ok(capfd, *told)[0])
    assert [row["score"] for row in rows] == pytest.approx(-np.sort(-ranker.decision_function(X), axis=1).reshape(-1))


def test_what_is_fixed_is_not_chosen_and_noise_is_said(table, capfd):
    folder, _, _ = table
    given = ["fit", folder / "t.csv", "--labels", "tag_*", "--id", "name", "--save", folder / "m", "--loss", "sum@2"]
    assert "chosen" not in ok(capfd, *given, "--C", "0.5", "--surrogate", "pairwise", "--standardize")[1]
    frame = pl.read_csv(folder / "t.csv")
    noise = np.random.default_rng(9).normal(size=(150, 3))
    frame.with_columns(pl.Series(f"f{j}", noise[:, j]) for j in range(3)).write_csv(folder / "t.csv")
    assert "every row gets the same ranking, by frequency" in ok(capfd, *given)[1]


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


BASE = "name,f,g,tag_a,tag_b\nx,1,2,1,0\ny,2,1,0,1\nz,3,1,1,1\n"


@pytest.fixture
def fitted(tmp_path, capfd, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "base.csv").write_text(BASE)
    ok(capfd, "fit", "base.csv", "--labels", "tag_*", "--id", "name", "--save", "m")
    return tmp_path


def test_no_column_of_the_user_is_overwritten(fitted, capfd):
    """Whatever the predictions add, an --id of that name is refused."""
    out, _ = ok(capfd, "predict", "base.csv", "--model", "m", "--id", "name")
    added = [column for column in out.splitlines()[0].split(",") if column != "name"]
    assert len(added) == 4
    for name in added:
        (fitted / "same.csv").write_text(BASE.replace("name", name))
        code, out, err = call(capfd, "predict", "same.csv", "--model", "m", "--id", name)
        assert (code, out) == (2, "")
        assert f"--id {name}: the predictions have a column {name!r} of their own; rename yours" in err


def test_names_of_any_kind_are_carried_as_they_are(fitted, capfd):
    frame = pl.read_csv("base.csv").with_columns(
        when=pl.Series(["2020-01-01", None, "2020-01-03"]).str.to_date(),
        number=pl.Series([9007199254740993, None, 2]),
        flag=pl.Series([True, None, False]),
        kind=pl.Series(["a", "b", "a"], dtype=pl.Categorical),
        some=pl.Series([None, "é", None]),
    )
    frame.write_parquet("names.parquet")
    names = ["name", "when", "number", "flag", "kind", "some"]
    given = [part for name in names for part in ("--id", name)]
    call(capfd, "predict", "names.parquet", "--model", "m", *given, "--top", 1, "--output", "out.parquet")
    again = pl.read_parquet("out.parquet")
    for name in names:
        assert again[name].cast(pl.String).to_list() == frame[name].cast(pl.String).to_list()
    for form in ("csv", "json", "jsonl", "table"):
        out, _ = ok(capfd, "predict", "names.parquet", "--model", "m", *given, "--top", 1, "--format", form)
        assert "9007199254740993" in out


ODD_TABLES = {
    "empty.csv": ("", "is empty"),
    "head.csv": ("f,tag_a,tag_b\n", "has no rows"),
    "twice.csv": ("f,f,tag_a\n1,2,1\n", "the header names 'f' 2 times"),
    "below.csv": ("f,tag_a,tag_b\n1,1,0\n2,0,-1\n", "row 2: relevance -1 of label 'tag_b'"),
    "nan.csv": ("f,tag_a,tag_b\n1,nan,0\n2,0,1\n", "row 1: relevance nan of label 'tag_a'"),
    "words.csv": ("f,tag_a,tag_b\n1,yes,no\n2,no,yes\n", "column 'tag_a' holds text"),
    "nan-feature.csv": ("f,tag_a,tag_b\n1,1,0\nnan,0,1\n", "row 2: 'f' is NaN"),
    "hole.csv": ("f,tag_a,tag_b\n1,1,0\n,0,1\n", "row 2: 'f' is empty"),
    "infinite.csv": ("f,tag_a,tag_b\n-inf,1,0\n2,0,1\n", "row 1: 'f' is infinite"),
    "huge.csv": ("f,tag_a,tag_b\n1e300,1,0\n2,0,1\n", "1e+300 is so large"),
    "ragged.csv": ("f,tag_a,tag_b\n1,1\n2,0,1,7\n", "row 1: 2 fields where the header has 3"),
    "no-features.csv": ("tag_a,tag_b\n1,0\n0,1\n", "no column is left for features"),
    "nothing.csv": ("f,tag_a,tag_b\n1,0,0\n2,0,0\n", "no example has a relevant label"),
    "day.csv": ("f,d,tag_a\n1,2020-01-01,1\n2,2020-01-02,0\n", "column 'd' is not numeric"),
    "latin.csv": ("f,tag_\xe9\n1,1\n2,0\n".encode("latin-1"), "is not UTF-8 text"),
    "junk.parquet": ("junk", "is not Parquet"),
    "empty.svm": ("", "is empty"),
    "comment.svm": ("# nothing\n\n", "is empty"),
    "latin.svm": (b"0 0:1\n1 0:2 # \xe9\n", "row 2: byte 0xe9 is not UTF-8 text"),
    "nan.svm": ("# first\n0 0:1\n1 0:nan\n", "row 3: feature 0 is nan"),
    "infinite.svm": ("0 0:1e400\n1 0:1\n", "row 1: feature 0 is inf"),
    "feature-twice.svm": ("0 0:1\n1 0:2 0:3\n", "row 2: feature 0 is given twice"),
    "label-twice.svm": ("0,0 0:1\n1 0:2\n", "row 1: label 0 is given twice"),
    "far.svm": ("0 99999999999999999999:1\n", "row 1: feature 99999999999999999999 is beyond"),
    "below.svm": ("-1 0:1\n", "row 1: label -1 is below 0"),
    "no-features.svm": ("0\n1\n", "no row has a feature"),
    "no-labels.svm": (" 0:1\n 0:2\n", "no row has a label"),
    "half.svm": ("0 0:\n", "row 1 is not 'label,label feature:value"),
    "fraction.svm": ("0.5 0:1\n", "row 1 is not 'label,label feature:value"),
    "query.svm": ("1 qid:3 0:1\n", "row 1 is not 'label,label feature:value"),
    "zero.svm": ("\0\n", "row 1 is not 'label,label feature:value"),
}


@pytest.mark.parametrize("name", list(ODD_TABLES))
def test_a_damaged_table_is_named_in_one_sentence(tmp_path, capfd, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    content, says = ODD_TABLES[name]
    (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    labels = [] if name.endswith(".svm") else ["--labels", "tag_*"]
    code, out, err = call(capfd, "fit", name, *labels, "--save", "m")
    assert (code, out) == (2, "")
    assert says in err
    assert len(err.strip().splitlines()) == 1
    assert not (tmp_path / "m").exists()


def test_odd_names_are_refused_in_one_sentence(fitted, capfd):
    (fitted / "void.csv").write_text("name,f,g\n,1,2\n,2,1\n")
    pl.DataFrame({"name": [[1], [2]], "f": [1.0, 2.0], "g": [1.0, 2.0]}).write_parquet("lists.parquet")
    for args, says in (
        (["predict", "void.csv", "--model", "m", "--id", "name"], "void.csv: row 1: 'name' is empty, as in every row"),
        (["predict", "lists.parquet", "--model", "m", "--id", "name"], "column 'name' holds lists or structures"),
        (
            ["fit", "base.csv", "--labels", "tag_*", "--id", "tag_a", "--save", "n"],
            "a label by --labels and a name by --id",
        ),
        (
            ["evaluate", "base.csv", "--labels", "tag_*", "--model", "m", "--at", "1", "--relevant-from", "9"],
            "so nothing",
        ),
        (
            ["evaluate", "base.csv", "--labels", "tag_*", "--model", "m", "--at", "1", "--relevant-from", "0"],
            "irrelevant",
        ),
        (
            ["fit", "base.csv", "--labels", "tag_*", "--id", "name", "--save", "n", "--C", "inf"],
            "--C inf: it must be a finite number above 0",
        ),
    ):
        code, out, err = call(capfd, *args)
        assert (code, out) == (2, "")
        assert says in err
        assert len(err.strip().splitlines()) == 1


def test_an_empty_label_column_and_yes_or_no_are_relevance(tmp_path, capfd, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "void.csv").write_text("f,tag_a,tag_b\n1,,0\n2,,1\n")
    _, err = ok(capfd, "fit", "void.csv", "--labels", "tag_*", "--save", "m")
    assert "void.csv: row 1: label 'tag_a' is empty, as in 1 other cell, which counts as 0; write 0 or 1" in err
    (tmp_path / "hole.csv").write_text("f,tag_a,tag_b\n1,1,0\n2,0,\n3,1,1\n")
    (tmp_path / "full.csv").write_text("f,tag_a,tag_b\n1,1,0\n2,0,0\n3,1,1\n")
    said = {}
    for name in ("hole", "full"):
        said[name] = ok(capfd, "fit", f"{name}.csv", "--labels", "tag_*", "--save", name)[1]
    assert "hole.csv: row 2: label 'tag_b' is empty, which counts as 0" in said["hole"]
    assert "empty" not in said["full"]
    both = [ok(capfd, "predict", "full.csv", "--model", name)[0] for name in said]
    assert both[0] == both[1]
    frame = pl.DataFrame({"f": [1.0, 2.0], "tag_a": [True, False], "tag_b": [False, True]})
    frame.write_parquet("yes.parquet")
    ok(capfd, "fit", "yes.parquet", "--labels", "tag_*", "--save", "m")
    yes = ok(capfd, "predict", "yes.parquet", "--model", "m")[0]
    frame.with_columns(pl.col("tag_a", "tag_b").cast(pl.Int8)).write_parquet("one.parquet")
    ok(capfd, "fit", "one.parquet", "--labels", "tag_*", "--save", "n")
    assert ok(capfd, "predict", "one.parquet", "--model", "n")[0] == yes
