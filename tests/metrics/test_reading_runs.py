"""Files of judgements and runs: what is read from each form, under which names, and what is refused in which words."""

import gzip

import polars as pl
import pytest

from podium.errors import InputError
from podium.metrics.trec import COLUMNS, read_judgements, read_run, run_report

JUDGED = [("q1", "a", 1.0), ("q1", "b", 0.0), ("q2", "c", 2.0)]
SCORED = [("q1", "b", 0.5), ("q2", "c", 1.5)]


def test_what_is_read_from_files_of_trec(tmp_path):
    (tmp_path / "qrels").write_text("q1 0 a 1\n\n  q1\t0  b 0 \nq2 0 c 2\n")
    (tmp_path / "run").write_text('q1 Q0 b 1 0.5 x\nq2 Q0 c 1 1.5 "y\n')
    judged, run = read_judgements(tmp_path / "qrels"), read_run(tmp_path / "run")
    assert (judged.columns, judged.rows()) == (["query", "doc", "relevance"], JUDGED)
    assert (run.columns, run.rows()) == (["query", "doc", "score"], SCORED)
    assert run.dtypes == [pl.String, pl.String, pl.Float64]


@pytest.mark.parametrize("end", [".csv", ".CSV", ".tsv", ".parquet", ".jsonl", ".csv.gz"])
def test_a_table_is_known_by_the_end_of_its_name(end, tmp_path):
    table = pl.DataFrame({"query": ["q1", "q2"], "doc": ["b", "c"], "score": [0.5, 1.5]})
    path = tmp_path / f"run{end}"
    if end == ".parquet":
        table.write_parquet(path)
    elif end == ".jsonl":
        table.write_ndjson(path)
    else:
        text = table.write_csv(separator="\t" if end == ".tsv" else ",").encode()
        path.write_bytes(gzip.compress(text) if end.endswith(".gz") else text)
    assert read_run(path).rows() == SCORED


def test_a_file_of_trec_may_be_compressed(tmp_path):
    path = tmp_path / "run.gz"
    path.write_bytes(gzip.compress(b"q1 Q0 b 1 0.5 x\nq2 Q0 c 1 1.5 x\n"))
    assert read_run(path).rows() == SCORED


@pytest.mark.parametrize("name", COLUMNS["query"])
def test_a_query_goes_by_each_of_its_names(name, tmp_path):
    pl.DataFrame({"other": [7, 7], name: ["q1", "q2"], "doc": ["b", "c"], "score": [0.5, 1.5]}).write_csv(
        tmp_path / "run.csv"
    )
    assert read_run(tmp_path / "run.csv").rows() == SCORED


@pytest.mark.parametrize("name", COLUMNS["doc"])
def test_a_document_goes_by_each_of_its_names(name, tmp_path):
    pl.DataFrame({"score": [0.5, 1.5], name: ["b", "c"], "query": ["q1", "q2"]}).write_csv(tmp_path / "run.csv")
    assert read_run(tmp_path / "run.csv").rows() == SCORED


@pytest.mark.parametrize("name", COLUMNS["relevance"])
def test_relevance_goes_by_each_of_its_names(name, tmp_path):
    pl.DataFrame({"query": ["q", "q"], "doc": ["b", "c"], name: [0, 2]}).write_csv(tmp_path / "judged.csv")
    found = read_judgements(tmp_path / "judged.csv")
    assert found.rows() == [("q", "b", 0.0), ("q", "c", 2.0)]
    assert found.dtypes[2] == pl.Float64


def test_the_first_name_of_a_column_is_taken_but_ids_before_what_may_be_texts(tmp_path):
    pl.DataFrame({"score": [0.5], "relevance": [3], "qid": ["z"], "query": ["q"], "doc": ["a"]}).write_csv(
        tmp_path / "judged.csv"
    )
    assert read_judgements(tmp_path / "judged.csv").rows() == [("z", "a", 3.0)]
    pl.DataFrame({"score": [0.5], "rel": [3], "label": [2], "Topic": ["q"], "doc": ["a"]}).write_csv(
        tmp_path / "judged.csv"
    )
    assert read_judgements(tmp_path / "judged.csv").rows() == [("q", "a", 3.0)]


def test_numbers_may_be_names_of_queries_and_documents(tmp_path):
    (tmp_path / "run.csv").write_text("query,doc,score\n7,11,2\n7,12,1\n")
    assert read_run(tmp_path / "run.csv").rows() == [("7", "11", 2.0), ("7", "12", 1.0)]


def test_fractions_are_grades_only_under_a_name_that_says_so(tmp_path):
    for name in ("relevance", "grade"):
        (tmp_path / "judged.csv").write_text(f"query,doc,{name}\nq,a,0.5\n")
        assert read_judgements(tmp_path / "judged.csv").rows() == [("q", "a", 0.5)]
    (tmp_path / "judged.csv").write_text("query,doc,score\nq,a,1\nq,b,2.0\nq,c,2.5\n")
    with pytest.raises(InputError, match=r"row 3: score 2\.5 looks like a run's; give the judgements first, or call"):
        read_judgements(tmp_path / "judged.csv")


WHERE = {"relevance": read_judgements, "score": read_run}


@pytest.mark.parametrize(
    ("value", "name", "content", "says"),
    [
        ("relevance", "q", "q 0 a 1\n\nq 0 a\n", "row 3 is not 'query 0 document relevance'; correct it, or give"),
        ("relevance", "q", "q 0 a 1\nq 0 b 1 2\n", "row 2 is not 'query 0 document relevance'"),
        ("relevance", "q", "\nq Q0 b 1 2 x\n", "row 2 looks like a run's, 'query Q0 document rank score tag'; give"),
        ("score", "r", "\n\nq 0 b 1\n", "row 3 looks like a judgement, 'query 0 document relevance'; give it first"),
        ("score", "r", "q Q0 b 1 2 x y\n", "row 1 is not 'query Q0 document rank score tag'; correct it, or give a"),
        ("score", "r", "q Q0 b 1 2 x\nq Q0 b 2 1 x\n", "row 2: document 'b' of query 'q' is there twice; keep one"),
        ("score", "r", "q Q0 b 1 nan x\n", "row 1: score is NaN; give a number"),
        ("relevance", "q", "q 0 a 1\nq 0 b -inf\n", "row 2: relevance is infinite; give a number"),
        ("score", "r", "", " is empty; there is nothing to measure"),
        ("score", "r", "\n  \n", " is empty; there is nothing to measure"),
        ("score", "r.csv", "query,doc,score\n", " has no rows; there is nothing to measure"),
        ("score", "r.csv", "query,doc,score\nq,a,1\nq,,1\n", "row 2 lacks a query, doc or score; fill it in or remove"),
        ("score", "r.csv", "query,doc,score\nq,a,1\nq,b,x\nq,c,y\n", "row 2: score 'x' is not a number"),
        ("relevance", "q.csv", "query,doc\nq,a\n", "has no column 'relevance', nor rel, label, grade, score; found"),
        ("score", "r", "q Q0 b 1 2 x\nq Q0 c 2 0,5 x\n", "row 2: score '0,5' is not a number; write it in digits"),
        ("relevance", "q", "q 0 b yes\n", "row 1: relevance 'yes' is not a number; write it in digits, with a point"),
        ("score", "r.csv", 'query,doc,score\nq,a,"1,234"\n', "row 1: score is '1,234', which may be decimal or thou"),
        ("score", "r.csv", "query,score\nq,1\n", "has no column 'doc', nor doc_id, doc-id, docid, docno, document, do"),
        ("score", "r.csv", "doc,score\nq,1\n", "has no column 'query', nor query_id, query-id, qid, topic, topic_id"),
    ],
)  # fmt: skip
def test_a_file_that_cannot_be_used_is_named_with_its_row(value, name, content, says, tmp_path):
    path = tmp_path / name
    path.write_text(content)
    with pytest.raises(InputError) as problem:
        WHERE[value](path)
    assert says in str(problem.value)
    assert str(path) in str(problem.value)


def test_infinite_scores_have_a_place_in_an_order(tmp_path):
    (tmp_path / "run").write_text("q Q0 a 1 inf x\nq Q0 b 2 -inf x\n")
    assert read_run(tmp_path / "run")["score"].to_list() == [float("inf"), float("-inf")]


def test_no_file_is_said_to_be_none(tmp_path):
    with pytest.raises(InputError, match=r"nowhere: no such file$"):
        read_run(tmp_path / "nowhere")
    with pytest.raises(InputError, match="cannot be read: "):
        read_run(tmp_path)


@pytest.mark.parametrize(
    ("column", "values", "says"),
    [
        ("query", [["q"]], "column 'query' holds lists or structures; names are needed"),
        ("doc", [{"x": 1}], "column 'doc' holds lists or structures; names are needed"),
        ("doc", [b"x"], "column 'doc' holds raw bytes; names are needed"),
        ("score", [b"x"], "column 'score' holds raw bytes; numbers are needed"),
        ("score", [True], "column 'score' holds yes or no; numbers are needed"),
    ],
)
def test_columns_of_another_kind_are_told_apart(column, values, says, tmp_path):
    pl.DataFrame({"query": ["q"], "doc": ["a"], "score": [1.0]} | {column: values}).write_parquet(
        tmp_path / "r.parquet"
    )
    with pytest.raises(InputError, match=says):
        read_run(tmp_path / "r.parquet")


def test_yes_and_no_are_names_like_others(tmp_path):
    pl.DataFrame({"query": [True], "doc": ["a"], "score": [1.0]}).write_parquet(tmp_path / "r.parquet")
    assert read_run(tmp_path / "r.parquet").rows() == [("true", "a", 1.0)]


def frame(value, *rows):
    return pl.DataFrame(rows, schema={"query": pl.String, "doc": pl.String, value: pl.Float64}, orient="row")


def test_queries_come_in_the_order_of_the_judgements():
    judged = frame("relevance", ("z", "a", 1), ("b", "a", 1), ("z", "c", 0), ("a", "c", 1))
    run = frame("score", ("a", "c", 1), ("z", "c", 2), ("z", "a", 1), ("other", "a", 1))
    queries, found = run_report(judged, run, metrics=["rr"], kind="gain")
    assert queries == ["z", "b", "a"]
    assert found.per_row["rr"].tolist() == [0.5, 0.0, 1.0]


def test_of_equal_scores_the_later_name_comes_first():
    judged = frame("relevance", ("q", "b", 1), ("p", "d", 1))
    run = frame("score", *((query, doc, 1) for query in "qp" for doc in "acbd"))
    queries, found = run_report(judged, run, metrics=["rr"], kind="gain")
    assert dict(zip(queries, found.per_row["rr"].tolist(), strict=True)) == pytest.approx({"q": 1 / 3, "p": 1.0})


def test_a_run_that_answers_nothing_is_shown_beside_what_was_asked():
    judged = frame("relevance", ("q1", "a", 1))
    with pytest.raises(
        InputError, match=r"^the run answers none of 1 judged query, \['q1'\]; the run has \['p', 'o'\]$"
    ):
        run_report(judged, frame("score", ("p", "a", 1), ("o", "a", 1), ("p", "b", 1)))
