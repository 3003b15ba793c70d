"""`podium metrics`: TREC files or tables in, gains and paired tests out."""

import json

import numpy as np
import polars as pl
import pytest
from scipy.stats import ttest_rel

from podium.cli import run

QRELS = "q1 0 a 1\nq1 0 b 0\nq1 0 c 2\nq2 0 a 1\nq3 0 b 1\n"
EACH = ["--per-query", "--format", "json"]
RUN = "q1 Q0 a 1 0.9 x\nq1 Q0 d 2 0.8 x\nq2\tQ0 b  1 0.9 x\nq2 Q0 a 2 0.9 x\nq9 Q0 a 1 1.0 x\n"


@pytest.fixture
def files(tmp_path):
    (tmp_path / "qrels").write_text(QRELS)
    (tmp_path / "run").write_text(RUN)
    (tmp_path / "other").write_text("q1 Q0 c 1 9 y\nq2 Q0 a 1 9 y\nq3 Q0 b 1 9 y\n")
    return tmp_path


def call(capfd, *args):
    with pytest.raises(SystemExit) as stop:
        run(["metrics", *map(str, args)])
    out, err = capfd.readouterr()
    return stop.value.code, out, err


def ok(capfd, *args):
    code, out, err = call(capfd, *args)
    assert code == 0, err
    return out, err


def test_gains_are_those_worked_out_by_hand(files, capfd):
    out, err = ok(capfd, files / "qrels", files / "run", *EACH, "-m", "ap,rr,recall@2,ndcg@2")
    rows = {row["query"]: row for row in json.loads(out)}
    # q1: a first, c never found. q2: a and b tie, the later name b first, so a is second. q3 is not answered.
    assert rows["q1"]["ap"] == 0.5
    assert rows["q1"]["ndcg@2"] == pytest.approx(1 / (2 + 1 / np.log2(3)))
    assert rows["q2"]["rr"] == 0.5
    assert [rows[q]["recall@2"] for q in ("q1", "q2", "q3")] == [0.5, 1.0, 0.0]
    assert "3 judged queries, 1 of them not answered" in err
    assert "1 queries of the run not judged" in err


def test_the_gain_of_a_grade_is_the_grade_as_in_trec_or_grows_with_its_power(files, capfd):
    for option, best in (([], 2), (["--gain", "linear"], 2), (["--gain", "exp"], 3)):
        out, _ = ok(capfd, files / "qrels", files / "run", *EACH, "-m", "ndcg@2", *option)
        found = {row["query"]: row["ndcg@2"] for row in json.loads(out)}
        assert found["q1"] == pytest.approx(1 / (best + 1 / np.log2(3)))


def test_precision_counts_documents_not_grades(files, capfd):
    (files / "all").write_text("q1 Q0 a 1 3 x\nq1 Q0 c 2 2 x\nq1 Q0 b 3 1 x\n")
    for option, share in (([], 1.0), (["--relevant-from", "2"], 0.5), (["--relevant-from", "3"], 0.0)):
        out, _ = ok(capfd, files / "qrels", files / "all", *EACH, "-m", "prec@2", *option)
        assert {row["query"]: row["prec@2"] for row in json.loads(out)}["q1"] == share


def test_queries_with_nothing_relevant_count_as_in_trec_or_are_left_out(files, capfd):
    (files / "qrels").write_text("q1 0 a 1\nq2 0 a 0\n")
    (files / "run").write_text("q1 Q0 a 1 3 x\nq2 Q0 a 1 3 x\n")
    for option, mean, says in (([], 0.5, "gain 0"), (["--empty", "skip"], 1.0, "left out of the means")):
        out, err = ok(capfd, files / "qrels", files / "run", "-m", "ap", "--format", "json", *option)
        assert json.loads(out)[0]["mean"] == mean
        assert f"1 with nothing relevant, {says}" in err


def test_a_small_p_is_never_written_as_0(files, capfd):
    rows = [(f"q{n}", f"d{n % 3}") for n in range(300)]
    (files / "qrels").write_text("".join(f"{q} 0 d0 1\n" for q, _ in rows))
    (files / "run").write_text("".join(f"{q} Q0 d0 1 9 x\n" for q, _ in rows))
    (files / "other").write_text("".join(f"{q} Q0 {d} 1 9 x\n" for q, d in rows))
    out, _ = ok(capfd, files / "qrels", files / "run", files / "other", "-m", "ap")
    assert out.splitlines()[2].endswith("< 0.0001")
    assert "0.0000" not in out
    out, _ = ok(capfd, files / "qrels", files / "run", files / "other", "-m", "ap", "--format", "json")
    assert 0 < json.loads(out)[1]["p"] < 1e-4


def test_ties_can_be_averaged(files, capfd):
    out, _ = ok(capfd, files / "qrels", files / "run", *EACH, "-m", "rr", "--ties", "average")
    assert {row["query"]: row["rr"] for row in json.loads(out)}["q2"] == 0.75


def test_several_runs_are_compared_with_the_first(files, capfd):
    out, _ = ok(capfd, files / "qrels", files / "run", files / "other", "-m", "rr", "--format", "json")
    first, second = json.loads(out)
    assert first["p"] is None
    assert second["difference"] == pytest.approx(np.mean([0, 0.5, 1.0]))
    assert second["p"] == pytest.approx(ttest_rel([1, 1, 1], [1, 0.5, 0]).pvalue)


def test_tables_do_as_well_as_trec_files(files, capfd):
    judged = [line.split() for line in QRELS.splitlines()]
    table = {"query": [r[0] for r in judged], "doc": [r[2] for r in judged], "relevance": [int(r[3]) for r in judged]}
    pl.DataFrame(table).write_csv(files / "qrels.csv")
    lines = [line.split() for line in RUN.splitlines()]
    table = {"query": [r[0] for r in lines], "doc": [r[2] for r in lines], "score": [float(r[4]) for r in lines]}
    pl.DataFrame(table).write_parquet(files / "run.parquet")
    out, _ = ok(capfd, files / "qrels.csv", files / "run.parquet", "--format", "csv")
    again, _ = ok(capfd, files / "qrels", files / "run", "--format", "csv")
    assert [line.split(",")[1:] for line in out.splitlines()] == [line.split(",")[1:] for line in again.splitlines()]


def test_the_table_for_people_is_aligned(files, capfd):
    out, _ = ok(capfd, files / "qrels", files / "run", files / "other")
    lines = out.splitlines()
    assert lines[0].split() == ["run", "metric", "mean", "difference", "p"]
    assert len(lines) == 11


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("q1 Q0 a 1 0.9\n", "row 1 is not 'query Q0 document rank score tag'"),
        ("q1 Q0 a 1 0.9 x\n\nq1 Q0 b 1 high x\n", "row 3 is not"),
        ("q1 Q0 a 1 0.9 x\nq1 Q0 a 2 0.8 x\n", "row 2: document 'a' of query 'q1' is there twice"),
        ("q1 Q0 a 1 nan x\n", "row 1: score is NaN"),
        ("", "run"),
    ],
)
def test_bad_runs_are_named(files, capfd, content, says):
    (files / "run").write_text(content)
    code, out, err = call(capfd, files / "qrels", files / "run")
    assert (code, out) == (2, "")
    assert says in err
    assert "Traceback" not in err


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["nothing", "run"], "nothing: no such file"),
        (["qrels", "run", "-m", "map"], "'map' is no metric"),
        (["qrels", "run", "-m", "prec"], "needs a cut-off"),
        (["qrels"], "missing argument"),
        (["qrels", "table.csv"], "has no column 'query'"),
        (["words.csv", "run"], "relevance 'high' is not a number"),
        (["none", "run"], "none of the 1 rows has a relevant label"),
    ],
)
def test_bad_calls_are_named(files, capfd, args, says):
    (files / "table.csv").write_text("a,b\n1,2\n")
    (files / "words.csv").write_text("query,doc,relevance\nq1,a,high\n")
    (files / "none").write_text("q1 0 a 0\n")
    code, _, err = call(
        capfd, *[files / each if "." in each or each in ("qrels", "run", "nothing", "none") else each for each in args]
    )
    assert code == 2
    assert says in err


def test_metrics_may_be_given_one_by_one(files, capfd):
    once, _ = ok(capfd, files / "qrels", files / "run", "-m", "ap,rr", "--format", "csv")
    twice, _ = ok(capfd, files / "qrels", files / "run", "-m", "ap", "-m", "rr", "--format", "csv")
    assert twice == once


def test_relevance_from_nowhere_is_refused(files, capfd):
    code, _, err = call(capfd, files / "qrels", files / "run", "--relevant-from", "nan")
    assert code == 2
    assert "--relevant-from nan is no relevance" in err
