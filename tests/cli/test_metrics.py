"""`podium metrics`: TREC files or tables in, gains and paired tests out."""

import csv
import io
import json
import shlex
import subprocess
import sys

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
    assert "1 query of the run not judged" in err


def test_one_file_may_come_by_standard_input_or_by_a_pipe(files):
    line = f"{sys.executable} -m podium metrics -m ap --format csv"
    qrels, first, other = (shlex.quote(str(files / name)) for name in ("qrels", "run", "other"))
    for command in (
        f"{line} {qrels} {first} {other}",
        f"{line} {qrels} - {other} < {first}",
        f"{line} - {first} {other} < {qrels}",
        f"{line} {qrels} <(cat {first}) {other}",
    ):
        done = subprocess.run(["bash", "-c", command], capture_output=True, text=True)
        means = [float(row["mean"]) for row in csv.DictReader(io.StringIO(done.stdout))]
        assert means == pytest.approx([(0.5 + 0.5 + 0) / 3, (0.5 + 1 + 1) / 3]), done.stderr  # worked out by hand
    for end, says in (
        (f"{qrels} - - < {first}", "standard input can be read once only; name files for the others"),
        (f"- - < {first}", "standard input can be read once only; name files for the others"),
        (f"{qrels} - <&-", "standard input is empty; there is nothing to measure"),
        (f"{qrels} - < {qrels}", "standard input: row 1 looks like a judgement"),
    ):
        done = subprocess.run(["bash", "-c", f"{line} {end}"], capture_output=True, text=True)
        assert (done.returncode, done.stderr.startswith(f"podium: {says}")) == (2, True), done.stderr


def test_the_gain_of_a_grade_is_the_grade_as_in_trec_or_grows_with_its_power(files, capfd):
    for option, best in (([], 2), (["--gain", "linear"], 2), (["--gain", "exp"], 3)):
        out, _ = ok(capfd, files / "qrels", files / "run", *EACH, "-m", "ndcg@2", *option)
        found = {row["query"]: row["ndcg@2"] for row in json.loads(out)}
        assert found["q1"] == pytest.approx(1 / (best + 1 / np.log2(3)))


def test_precision_counts_documents_not_grades(files, capfd):
    (files / "all").write_text("q1 Q0 a 1 3 x\nq1 Q0 c 2 2 x\nq1 Q0 b 3 1 x\n")
    for option, share in (([], 1.0), (["--relevant-from", "2"], 0.5)):
        out, _ = ok(capfd, files / "qrels", files / "all", *EACH, "-m", "prec@2", *option)
        assert {row["query"]: row["prec@2"] for row in json.loads(out)}["q1"] == share


def test_queries_with_nothing_relevant_count_as_in_trec_or_are_left_out(files, capfd):
    (files / "qrels").write_text("q1 0 a 1\nq2 0 a 0\n")
    (files / "run").write_text("q1 Q0 a 1 3 x\nq2 Q0 a 1 3 x\n")
    left_out, best = (["--empty", "skip"], 1.0, "left out of the means"), (["--empty", "best"], 1.0, "gain 1")
    for option, mean, says in (([], 0.5, "gain 0"), (["--empty", "worst"], 0.5, "gain 0"), best, left_out):
        out, err = ok(capfd, files / "qrels", files / "run", "-m", "ap", "--format", "json", *option)
        assert json.loads(out)[0]["mean"] == mean
        assert f"1 with nothing relevant, {says}" in err


@pytest.mark.parametrize(
    ("judged", "run"),
    [
        ("query_id,doc_id,relevance", "query_id,doc_id,score"),  # as ir_datasets
        ("qid,docno,label", "qid,docno,score"),  # as PyTerrier
        ("query-id,corpus-id,score", "query-id,corpus-id,score"),  # as BEIR
        ("Query ID,Doc ID,Relevance", "QID,DocNo,Score"),  # as people
    ],
)
def test_columns_go_by_their_usual_names(files, capfd, judged, run):
    (files / "j.csv").write_text(f"{judged}\nq1,a,1\nq1,b,0\n")
    (files / "r.csv").write_text(f"{run}\nq1,a,1\nq1,b,2\n")
    out, _ = ok(capfd, files / "j.csv", files / "r.csv", "-m", "rr", "--format", "json")
    assert json.loads(out)[0]["mean"] == 0.5


def test_texts_and_inner_numbers_beside_ids_are_not_taken_for_these(files, capfd):
    """A run as PyTerrier's retrievers give it, in their columns: the text of the query, and the index's own numbers."""
    (files / "j.csv").write_text("qid,docno,label,query,document\nq1,a,1,what is it,a text\nq1,b,0,what is it,b text\n")
    (files / "r.csv").write_text("qid,docid,docno,rank,score,query\nq1,17,a,1,1,what is it\nq1,4,b,0,2,what is it\n")
    out, _ = ok(capfd, files / "j.csv", files / "r.csv", "-m", "rr", "--format", "json")
    assert json.loads(out)[0]["mean"] == 0.5


def test_a_small_p_is_never_written_as_0(files, capfd):
    rows = [(f"q{n}", f"d{n % 3}") for n in range(300)]
    (files / "qrels").write_text("".join(f"{q} 0 d0 1\n" for q, _ in rows))
    (files / "run").write_text("".join(f"{q} Q0 d0 1 9 x\n" for q, _ in rows))
    (files / "other").write_text("".join(f"{q} Q0 {d} 1 9 x\n" for q, d in rows))
    for form in ("table", "markdown", "latex"):
        arguments = ["-m", "ap", "--differences", "--format", form]
        out, _ = ok(capfd, files / "qrels", files / "run", files / "other", *arguments)
        assert out.count("0.0001") == 2
        assert "0.0000" not in out
    out, _ = ok(capfd, files / "qrels", files / "run", files / "other", "-m", "ap", "--differences", "--format", "json")
    assert 0 < json.loads(out)[0]["p_value"] < 1e-4


TREC = "query Q0 document rank score tag"
ODD_JUDGEMENTS = {
    "empty": (b"", "is empty"),
    "blank": (b"\n \n", "is empty"),
    "bytes": (b"\xff\xfe\x00q", "cannot be read"),
    "twice": (b"q1 0 a 1\n\nq2 0 a 1\nq1 0 a 0\n", "row 4: document 'a' of query 'q1' is there twice"),
    "nan": (b"\nq1 0 a nan\n", "row 2: relevance is NaN"),
    "infinite": (b"q1 0 a 1\nq1 0 b inf\n", "row 2: relevance is infinite"),
    "words": (b"q1 0 a high\n", "row 1: relevance 'high' is not a number"),
    "a-run": (b"q1 Q0 a 1 0.9 x\n", f"row 1 looks like a run's, '{TREC}'; give the judgements first"),
    "nothing": (b"q1 0 a 0\nq1 0 b -1\n", "no row has a relevant label"),
    "empty.csv": (b"", "is empty"),
    "head.csv": (b"query,doc,relevance\n", "has no rows"),
    "hole.csv": (b"query,doc,relevance\nq1,a,1\nq1,b,\n", "row 2 lacks a query, doc or relevance"),
    "words.csv": (b"query,doc,relevance\nq1,a,1\nq1,b,high\n", "row 2: relevance 'high' is not a number"),
    "lacks.csv": (b"query,relevance\nq1,1\n", "has no column 'doc'"),
    "scores.csv": (b"query,doc,score\nq1,a,2\nq1,b,0.5\n", "row 2: score 0.5 looks like a run's; give the judgements"),
}
ODD_RUNS = {
    "empty": (b"", "is empty"),
    "blank": (b"\n \n", "is empty"),
    "bytes": (b"\xff\xfe\x00q", "cannot be read"),
    "twice": (b"q1 Q0 a 1 2 x\nq1 Q0 b 2 1 x\n\nq1 Q0 a 3 0 x\n", "row 4: document 'a' of query 'q1' is there twice"),
    "nan": (b"q1 Q0 a 1 1 x\nq1 Q0 b 2 nan x\n", "row 2: score is NaN"),
    "words": (b"q1 Q0 a 1 high x\n", "row 1: score 'high' is not a number"),
    "judged": (b"q1 0 a 1\n", "row 1 looks like a judgement, 'query 0 document relevance'; give it first, then runs"),
    "others": (b"q8 Q0 a 1 1 x\nq9 Q0 a 1 1 x\n", "answers none of 3 judged queries, ['q1', 'q2', 'q3']; the run has"),
    "empty.csv": (b"", "is empty"),
    "head.csv": (b"query,doc,score\n", "has no rows"),
    "hole.csv": (b"query,doc,score\nq1,a,1\n,b,2\n", "row 2 lacks a query, doc or score"),
    "nan.csv": (b"query,doc,score\nq1,a,nan\n", "row 1: score is NaN"),
    "twice.csv": (b"query,doc,score\nq1,a,1\nq1,a,2\n", "row 2: document 'a' of query 'q1' is there twice"),
    "words.csv": (b"query,doc,score\nq1,a,x\n", "row 1: score 'x' is not a number"),
}


@pytest.mark.parametrize("form", [[], ["--per-query"], ["--gain", "exp"]])
@pytest.mark.parametrize(("name", "role"), [(n, "qrels") for n in ODD_JUDGEMENTS] + [(n, "run") for n in ODD_RUNS])
def test_a_damaged_file_is_named_in_one_sentence(files, capfd, name, role, form):
    content, says = (ODD_JUDGEMENTS if role == "qrels" else ODD_RUNS)[name]
    path = files / f"odd-{name}"
    path.write_bytes(content)
    pair = (path, files / "run") if role == "qrels" else (files / "qrels", path)
    code, out, err = call(capfd, *pair, *form)
    assert (code, out) == (2, "")
    assert says in err
    assert str(path) in err or "no row has a relevant label" in err
    assert len(err.strip().splitlines()) == 1


COLUMNS = {"query": ["q1", "q2"], "doc": ["a", "a"], "score": [2.0, 1.0]}


@pytest.mark.parametrize(
    ("name", "column", "says"),
    [
        ("score", [[1.0], [2.0]], "column 'score' holds lists or structures; numbers are needed"),
        ("query", [["q1"], ["q2"]], "column 'query' holds lists or structures; names are needed"),
        ("doc", [b"a", b"b"], "column 'doc' holds raw bytes; names are needed"),
        ("score", [True, False], "column 'score' holds yes or no; numbers are needed"),
        ("score", [None, None], "row 1 lacks a query, doc or score"),
        ("score", ["2020-01-01", "x"], "row 1: score '2020-01-01' is not a number"),
    ],
)
def test_columns_of_another_kind_are_named(files, capfd, name, column, says):
    pl.DataFrame(COLUMNS | {name: column}).write_parquet(files / "odd.parquet")
    code, out, err = call(capfd, files / "qrels", files / "odd.parquet")
    assert (code, out) == (2, "")
    assert f"odd.parquet: {says}" in err


def test_odd_but_sound_tables_give_the_same_numbers(files, capfd):
    plain = pl.DataFrame(COLUMNS)
    kinds = [
        plain,
        plain.with_columns(pl.col("query", "doc").cast(pl.Categorical)),
        plain.with_columns(pl.col("score").cast(pl.Int8)),
        plain.with_columns(pl.col("score").cast(pl.Decimal(10, 2))),
        plain.with_columns(score=pl.Series([float("inf"), float("-inf")])),
        plain.with_columns(rank=pl.lit(1), tag=pl.lit("x")),
    ]
    found = []
    for frame in kinds:
        frame.write_parquet(files / "odd.parquet")
        found.append(ok(capfd, files / "qrels", files / "odd.parquet", "--format", "csv")[0])
    assert len(set(found)) == 1
    (files / "crlf").write_bytes(b"q1 Q0 a 1 2 x\r\nq2 Q0 a 1 1 x\r\n")
    out, _ = ok(capfd, files / "qrels", files / "crlf", "--format", "csv")
    assert [row.split(",")[1:] for row in out.splitlines()] == [row.split(",")[1:] for row in found[0].splitlines()]


def test_grades_below_0_are_worth_nothing(files, capfd):
    (files / "below").write_text(QRELS.replace("q1 0 b 0", "q1 0 b -2"))
    names = ["-m", "ap,rr,prec@3,ndcg@3,recall@3", "--format", "csv"]
    assert ok(capfd, files / "below", files / "run", *names)[0] == ok(capfd, files / "qrels", files / "run", *names)[0]


@pytest.mark.parametrize(
    ("option", "says"),
    [
        (["--relevant-from", "0"], "--relevant-from 0: 0 means irrelevant"),
        (["--relevant-from", "-1"], "0 means irrelevant"),
        (["--relevant-from", "9"], "--relevant-from 9: the largest relevance is 2, so nothing is relevant"),
        (["-m", "prec@99999999999999999999"], "a cut-off is at least 1, and at most"),
        (["-m", ""], "'' is no metric"),
        (["-m", "ap,,rr"], "'' is no metric"),
        (["--gain", "square"], "'square' is not one of"),
    ],
)
def test_options_that_mean_nothing_are_named(files, capfd, option, says):
    code, out, err = call(capfd, files / "qrels", files / "run", *option)
    assert (code, out) == (2, "")
    assert says in err


def test_ties_can_be_averaged(files, capfd):
    out, _ = ok(capfd, files / "qrels", files / "run", *EACH, "-m", "rr", "--ties", "average")
    assert {row["query"]: row["rr"] for row in json.loads(out)}["q2"] == 0.75


def test_every_two_runs_are_compared(files, capfd):
    (files / "third").write_text("q1 Q0 a 1 9 y\nq2 Q0 a 1 9 y\nq3 Q0 c 1 9 y\n")
    runs = [files / name for name in ("run", "other", "third")]
    gains = {"run": [1, 0.5, 0], "other": [1, 1, 1], "third": [1, 1, 0]}
    out, err = ok(capfd, files / "qrels", *runs, "-m", "mrr", "--differences", "--format", "json", "--level", "0.9")
    rows = json.loads(out)
    names = [(row["run"].split("/")[-1], row["against"].split("/")[-1]) for row in rows]
    assert names == [("other", "run"), ("third", "run"), ("third", "other")]
    for row, (one, other) in zip(rows, names, strict=True):
        test = ttest_rel(gains[one], gains[other])
        told = [row[name] for name in ("difference", "lower", "upper", "p_value")]
        interval = test.confidence_interval(0.9)
        difference = np.mean(gains[one]) - np.mean(gains[other])
        assert told == pytest.approx([difference, interval.low, interval.high, test.pvalue])
        assert row["metric"] == "mrr"
    p_values = sorted(row["p_value"] for row in rows)
    assert min(row["p_adjusted"] for row in rows) == pytest.approx(min(3 * p_values[0], 1.0))
    assert "Student's paired t test over 3 queries, Holm's correction over 3 pairs" in err


@pytest.fixture
def many(files):
    """Three runs over 20 queries: right first; second; second, but for the first query."""
    queries = range(20)
    (files / "q20").write_text("".join(f"q{n} 0 d 1\n" for n in queries))
    places = {"good_1": lambda n: 1, "bad|2": lambda n: 2, "bad~3": lambda n: 1 if n == 0 else 2}
    for name, place in places.items():
        line = "q{0} Q0 {1} 1 2 x\nq{0} Q0 {2} 2 1 x\n"
        content = "".join(line.format(n, *(("d", "e") if place(n) == 1 else ("e", "d"))) for n in queries)
        (files / name).write_text(content)
    return [files / "q20", *(files / name for name in places), "-m", "P@1,map", "--test", "permutation"]


def test_letters_behind_a_mean_name_the_runs_it_is_better_than(many, capfd):
    out, err = ok(capfd, *many)
    rows = [line.split() for line in out.splitlines()]
    assert rows[0] == ["run", "P@1", "map"]
    assert [row[0] for row in rows[1:]] == ["a", "b", "c"]
    assert [row[2:] for row in rows[1:]] == [
        ["1.0000", "bc", "1.0000", "bc"],
        ["0.0000", "0.5000"],
        ["0.0500", "0.5250"],
    ]
    assert "letters: significantly better than that run (randomisation test" in err
    out, _ = ok(capfd, *many, "--format", "json")
    assert [(row["metric"], row["letter"], row["better_than"]) for row in json.loads(out)][:3] == [
        ("P@1", "a", "bc"), ("map", "a", "bc"), ("P@1", "b", ""),
    ]  # fmt: skip


def test_tables_for_papers_escape_what_would_break_them(many, files, capfd):
    out, _ = ok(capfd, *many, "--format", "markdown")
    assert out.splitlines()[2] == r"| a | good\_1 | **1.0000**<sup>bc</sup> | **1.0000**<sup>bc</sup> |"
    assert out.splitlines()[3] == r"| b | bad\|2 | 0.0000 | 0.5000 |"
    ok(capfd, *many, "-o", files / "table.tex")
    lines = (files / "table.tex").read_text().splitlines()
    assert lines[0] == r"\begin{tabular}{llrr}"
    assert lines[4] == r"a & good\_1 & \textbf{1.0000}$^{\mathrm{bc}}$ & \textbf{1.0000}$^{\mathrm{bc}}$ \\"
    assert lines[6].startswith(r"c & bad\textasciitilde{}3 & 0.0500")
    ok(capfd, *many, "--per-query", "-o", files / "each.md")
    assert (files / "each.md").read_text().splitlines()[0] == "| run | query | P@1 | map |"


def test_one_query_has_a_difference_and_no_p(files, capfd):
    (files / "qrels").write_text("q1 0 a 1\n")
    out, err = ok(
        capfd, files / "qrels", files / "run", files / "other", "-m", "rr", "--differences", "--format", "json"
    )
    assert json.loads(out)[0]["p_value"] is None
    assert "1 judged query" in err
    assert "no p-value from one query" in err
    assert "Student" not in err  # of a test that could not be made, in the table neither
    assert "better" not in ok(capfd, files / "qrels", files / "run", files / "other", "-m", "rr")[1]


def test_what_needs_two_runs_says_so(files, capfd):
    code, _, err = call(capfd, files / "qrels", files / "run", "--differences")
    assert code == 2
    assert "--differences is about two runs or more" in err
    code, _, err = call(capfd, files / "qrels", files / "run", files / "other", "--differences", "--per-query")
    assert code == 2
    assert "are two tables" in err


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
    assert lines[0].split() == ["run", "ap", "rr", "ndcg@10", "prec@10", "recall@100"]
    assert len(lines) == 3


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("q1 Q0 a 1 0.9\n", "row 1 is not 'query Q0 document rank score tag'"),
        ("q1 Q0 a 1 0.9 x\n\nq1 Q0 b 1 high x\n", "row 3: score 'high' is not a number"),
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
        (["qrels", "run", "-m", "map@5"], "takes no cut-off; use 'ap'"),
        (["qrels", "run", "-m", "mapp"], "'mapp' is no metric"),
        (["qrels", "run", "-m", "prec"], "needs a cut-off"),
        (["qrels"], "missing argument"),
        (
            ["qrels", "table.csv"],
            "has no column 'query', nor query_id, query-id, qid, topic, topic_id; found 'a', 'b': call one of them",
        ),
        (["words.csv", "run"], "relevance 'high' is not a number"),
        (["none", "run"], "no row has a relevant label"),
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


def test_the_test_counts_the_queries_that_have_the_metric(files, capfd):
    (files / "qrels").write_text("q1 0 a 2\nq1 0 b 1\nq2 0 a 1\nq3 0 b 0\nq4 0 a 2\n")
    judged = [files / "qrels", files / "run", files / "other", "--empty", "skip", "--differences"]
    _, err = ok(capfd, *judged, "-m", "ap")
    assert "Student's paired t test over 3 queries" in err
    assert "1 with nothing relevant, left out of the means" in err
    out, err = ok(capfd, *judged, "-m", "ap,ndcg", "--relevant-from", "2", "--format", "json")
    assert [row["queries"] for row in json.loads(out)] == [2, 3]
    assert "Student's paired t test over 2 to 3 queries" in err
    assert "2 with nothing relevant for ap, left out of the means, 1 with nothing relevant for ndcg, left out" in err


def test_only_what_is_counted_from_a_grade_on_has_other_queries_with_nothing_relevant(files, capfd):
    (files / "qrels").write_text("q1 0 c 2\nq2 0 a 1\n")
    judged = [files / "qrels", files / "other", "--relevant-from", "2", "--empty", "skip", "--format", "json"]
    out, err = ok(capfd, *judged, "-m", "ndcg")
    assert json.loads(out)[0]["mean"] == 1.0  # of both
    assert "nothing relevant" not in err
    _, err = ok(capfd, *judged, "-m", "ndcg,P@1")
    assert "1 with nothing relevant for P@1, left out" in err
