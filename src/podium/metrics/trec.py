"""Judgements and runs of retrieval systems: TREC files or tables, to relevance and scores by query."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from podium.data.files import read_table
from podium.data.tables.names import Names, listed
from podium.errors import InputError
from podium.metrics.report import Report, ranking_report
from podium.text import counted, some

if TYPE_CHECKING:
    import polars as pl

__all__ = ["read_judgements", "read_run", "run_report"]

TABLES = {".csv", ".tsv", ".parquet", ".json", ".jsonl", ".ndjson", ".arrow", ".ipc", ".feather"}
COLUMNS = {
    "query": ("query", "query_id", "query-id", "qid", "topic", "topic_id"),
    "doc": ("doc", "doc_id", "doc-id", "docid", "docno", "document", "document_id", "corpus-id", "corpus_id"),
    "relevance": ("relevance", "rel", "label", "grade", "score"),
    "score": ("score", "sim", "similarity"),
}
BESIDE_IDS = {"query", "topic", "doc", "docid", "document"}  # texts, or PyTerrier's inner numbers, if ids are there too
WANTED = {"query": "names", "doc": "names"}
QRELS = (r"^\s*(?<query>\S+)\s+\S+\s+(?<doc>\S+)\s+(?<value>\S+)\s*$", "query 0 document relevance")
RUN = (r"^\s*(?<query>\S+)\s+\S+\s+(?<doc>\S+)\s+\S+\s+(?<value>\S+)\s+\S+\s*$", "query Q0 document rank score tag")


def read_judgements(path: Any) -> pl.DataFrame:
    """Relevance judgements as a table of query, doc, relevance: a TREC qrels file, or a table with these columns."""
    return _read(path, "relevance", *QRELS)


def read_run(path: Any) -> pl.DataFrame:
    """A run as a table of query, doc, score: a TREC run file, or a table with these columns."""
    return _read(path, "score", *RUN)


def run_report(judgements: pl.DataFrame, run: pl.DataFrame, **options: Any) -> tuple[list[str], Report]:
    """`ranking_report` of a run, with the judged queries in order of appearance.

    Documents not judged have relevance 0; relevant documents not retrieved count as missed; a judged query the run
    does not answer retrieves nothing. Equal scores are ordered by document name, the later name first, as trec_eval
    does (with ties="label"). Negative relevance counts as 0. With gain="linear" and relevant_from=1 the gains are
    trec_eval's: P, recall, map, recip_rank, success, ndcg and ndcg_cut.

    >>> import polars as pl
    >>> judged = pl.DataFrame({"query": ["q", "q"], "doc": ["a", "b"], "relevance": [1, 1]})
    >>> run = pl.DataFrame({"query": ["q", "q"], "doc": ["c", "a"], "score": [2.0, 1.0]})
    >>> queries, report = run_report(judged, run, metrics=["ap", "recall@5"], kind="gain")
    >>> report["ap"], report["recall@5"]
    (0.25, 0.5)
    """
    import polars as pl
    from scipy import sparse

    queries = judgements["query"].unique(maintain_order=True)
    known = run.filter(pl.col("query").is_in(queries.implode()))
    if not len(known):
        raise InputError(
            f"the run answers none of {counted(len(queries), 'judged query', 'judged queries')}, "
            f"{some(queries.to_list())}; "
            f"the run has {some(run['query'].unique(maintain_order=True).to_list())}"
        )
    names = pl.concat([judgements["doc"], known["doc"]]).unique().sort(descending=True)
    row = pl.DataFrame({"query": queries, "row": np.arange(len(queries))})
    column = pl.DataFrame({"doc": names, "column": np.arange(len(names))})
    shape = (len(queries), len(names))

    def table(frame: pl.DataFrame, value: str) -> Any:
        placed = frame.join(row, on="query", how="left").join(column, on="doc", how="left")
        cells = (placed["row"].to_numpy(), placed["column"].to_numpy())
        return sparse.coo_array((placed[value].to_numpy().astype(float), cells), shape=shape).tocsr()

    relevant = judgements.filter(pl.col("relevance") > 0)
    return queries.to_list(), ranking_report(table(relevant, "relevance"), table(known, "score"), **options)


def _read(path: Any, value: str, pattern: str, form: str) -> pl.DataFrame:
    """A table of query, doc and value, every row whole and no document twice; errors count the rows of the file."""
    import polars as pl

    end = Path(str(path)).name.removesuffix(".gz")
    if Path(end).suffix.lower() in TABLES:
        frame = _read_named(path, value)
    else:
        frame = _read_trec(path, value, pattern, form)
    if not len(frame):
        raise InputError(f"{path} has no rows; there is nothing to measure")
    for name in ("query", "doc", value):
        kind = frame.schema[name]
        if kind.is_nested() or kind in (pl.Object, pl.Binary) or (name == value and kind == pl.Boolean):
            raise InputError(f"{path}: column {name!r} holds {_held(kind)}; {WANTED.get(name, 'numbers')} are needed")
    frame = frame.with_columns(pl.col("query").cast(pl.String), pl.col("doc").cast(pl.String))
    missing = frame.filter(pl.any_horizontal(pl.all().is_null()))
    if len(missing):
        raise InputError(f"{path}: row {missing['row'][0]} lacks a query, doc or {value}; fill it in or remove the row")
    if not frame.schema[value].is_numeric():
        text = frame.with_columns(pl.col(value).cast(pl.String))
        bad = text.filter(pl.col(value).cast(pl.Float64, strict=False).is_null())
        where = bad.row(0, named=True) if len(bad) else text.row(0, named=True)
        raise InputError(f"{path}: row {where['row']}: {value} {where[value]!r} is not a number")
    frame = frame.with_columns(pl.col(value).cast(pl.Float64))
    _refuse_values(path, value, frame)
    twice = frame.filter(~pl.struct("query", "doc").is_first_distinct())
    if len(twice):
        one = twice.row(0, named=True)
        raise InputError(
            f"{path}: row {one['row']}: document {one['doc']!r} of query {one['query']!r} is there twice; keep one"
        )
    return frame.drop("row")


def _read_named(path: Any, value: str) -> pl.DataFrame:
    """The three columns of a table, by whichever of their usual names they go."""
    try:
        table = read_table(path)
    except InputError as problem:
        if str(problem).startswith(str(path)):
            raise
        raise InputError(f"{path}: ", *problem.args) from problem
    there, names = Names(table.columns, {}), {}
    for role in ("query", "doc", value):
        known = {alias: alias if alias in table.columns else there.one(alias) for alias in COLUMNS[role]}
        found = [(alias, name) for alias, name in known.items() if name is not None and name not in names]
        if not found:
            raise InputError(
                f"{path} has no column {role!r}, nor {', '.join(COLUMNS[role][1:])}; found {listed(table.columns)}: "
                f"call one of them {role}"
            )
        names[next((name for alias, name in found if alias not in BESIDE_IDS), found[0][1])] = role
    frame = table.select(list(names)).rename(names).with_row_index("row", offset=1)
    if names.get("score") == "relevance":
        _refuse_scores(path, frame)
    return frame


def _refuse_scores(path: Any, frame: pl.DataFrame) -> None:
    """Some call grades a score, as runs do theirs: those of judgements are whole numbers."""
    import polars as pl

    broken = frame.filter(pl.col("relevance").cast(pl.Float64, strict=False) % 1 != 0)
    if len(broken):
        where = broken.row(0, named=True)
        raise InputError(
            f"{path}: row {where['row']}: score {where['relevance']} looks like a run's; give the judgements first, "
            "or call their column relevance"
        )


def _held(kind: Any) -> str:
    return "lists or structures" if kind.is_nested() else "yes or no" if str(kind) == "Boolean" else "raw bytes"


def _refuse_values(path: Any, value: str, frame: pl.DataFrame) -> None:
    """NaN has no place in an order; relevance is finite too."""
    import polars as pl

    bad = frame.filter(pl.col(value).is_nan())
    if len(bad):
        raise InputError(f"{path}: row {bad['row'][0]}: {value} is NaN; give a number")
    bad = frame.filter(pl.col(value).is_infinite()) if value == "relevance" else bad
    if len(bad):
        raise InputError(f"{path}: row {bad['row'][0]}: {value} is infinite; give a number")


def _read_trec(path: Any, value: str, pattern: str, form: str) -> pl.DataFrame:
    import polars as pl

    try:
        lines = pl.read_csv(
            path, has_header=False, separator="\x01", quote_char=None, new_columns=["line"], infer_schema=False
        )
    except FileNotFoundError as problem:
        raise InputError(f"{path}: no such file") from problem
    except pl.exceptions.NoDataError as problem:
        raise InputError(f"{path} is empty; there is nothing to measure") from problem
    except (pl.exceptions.PolarsError, OSError) as problem:
        raise InputError(f"{path}: cannot be read: {str(problem).splitlines()[0]}") from problem
    rows = lines.with_row_index("row", offset=1).filter(pl.col("line").str.strip_chars() != "")
    parts = rows.with_columns(pl.col("line").str.extract_groups(pattern).alias("parts")).unnest("parts")
    number = pl.col("value").cast(pl.Float64, strict=False).alias(value)
    frame = parts.select("row", "query", "doc", number, pl.col("value").alias("text"))
    bad = frame.filter(pl.col(value).is_null() | pl.col("query").is_null())
    if len(bad):
        fields = len(rows.filter(pl.col("row") == bad["row"][0])["line"][0].split())
        if value == "relevance" and fields == len(RUN[1].split()):
            raise InputError(f"{path}: row {bad['row'][0]} looks like a run's, '{RUN[1]}'; give the judgements first")
        if value == "score" and fields == len(QRELS[1].split()):
            raise InputError(
                f"{path}: row {bad['row'][0]} looks like a judgement, '{QRELS[1]}'; give it first, then runs"
            )
        if (text := bad["text"][0]) is not None:
            raise InputError(
                f"{path}: row {bad['row'][0]}: {value} {text!r} is not a number; write it in digits, with a point for "
                "decimals"
            )
        raise InputError(
            f"{path}: row {bad['row'][0]} is not '{form}'; correct it, or give a .csv with columns query, doc, {value}"
        )
    if not len(frame):
        raise InputError(f"{path} is empty; there is nothing to measure")
    return frame.drop("text")
