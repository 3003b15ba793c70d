"""`podium metrics`: how well runs retrieve what was judged relevant."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from podium.cli.help import GroupedCommand, option
from podium.cli.options import metric_options, output_options
from podium.cli.output import Output, say, table
from podium.errors import InputError
from podium.text import counted

if TYPE_CHECKING:
    import polars as pl

__all__ = ["metrics"]

VOID = {"worst": "gain 0", "best": "gain 1", "skip": "left out of the means"}
DEFAULT = "ap,rr,ndcg@10,prec@10,recall@100"


EXAMPLES = (
    ("podium metrics qrels.txt bm25.run dense.run", "two runs, compared by a paired t test"),
    ("podium metrics qrels.txt bm25.run -m ndcg@10 --per-query -o each.csv", "one figure for each query, as data"),
)


@click.command(cls=GroupedCommand, examples=EXAMPLES)
@click.argument("qrels")
@click.argument("runs", nargs=-1, required=True)
@option(
    "Measures",
    "-m",
    "--metric",
    "names",
    multiple=True,
    default=[DEFAULT],
    metavar="NAMES",
    help=f"Compute these metrics, separated by commas; may be given again.  [default: {DEFAULT}]",
)
@metric_options(empty="worst", relevant_from=1.0, gain="linear")
@option("Output", "--per-query", is_flag=True, help="Write one line for each run and query.")
@output_options()
def metrics(
    qrels: str,
    runs: tuple[str, ...],
    out: Output,
    names: tuple[str, ...],
    per_query: bool,
    relevant_from: float,
    gain: str,
    ties: str,
    empty: str,
) -> None:
    """Measure RUNS against the judgements QRELS.

    QRELS is a TREC file (query 0 document relevance) or a table with columns query, doc, relevance; a run is a TREC
    file (query Q0 document rank score tag) or a table with columns query, doc, score. Relevant documents that were not
    retrieved count, documents not judged are irrelevant; the figures are those of `trec_eval -c`. Further runs are
    compared with the first by a paired t test.
    """
    import polars as pl

    from podium.metrics.trec import read_judgements, read_run, run_report

    twice = [path for path in dict.fromkeys(runs) if runs.count(path) > 1]
    if twice:
        raise InputError(f"run {twice[0]} is given twice; name each once")
    judged = read_judgements(qrels)
    options = {"ties": ties, "empty": empty, "gain": gain, "relevant_from": relevant_from, "kind": "gain"}
    wanted = [name.strip() for listed in names for name in listed.split(",")]
    relevant = judged.filter((pl.col("relevance") >= relevant_from) & (pl.col("relevance") > 0))
    void = judged["query"].n_unique() - relevant["query"].n_unique()
    reports = {}
    for path in runs:
        run = read_run(path)
        extra = run.filter(~pl.col("query").is_in(judged["query"].unique().implode()))["query"].n_unique()
        lacking = judged["query"].n_unique() - (run["query"].n_unique() - extra)
        try:
            queries, reports[path] = run_report(judged, run, metrics=wanted, **options)
        except InputError as problem:
            about = [f"{path}: "] if str(problem).startswith("the run") else []
            raise InputError(*about, *problem.args) from None
        notes = [f"{len(queries)} judged queries"]
        notes += [f"{lacking} of them not answered, counted as nothing retrieved"] if lacking else []
        notes += [f"{void} with nothing relevant, {VOID[empty]}"] if void else []
        notes += [f"{counted(extra, 'query', 'queries')} of the run not judged, left out"] if extra else []
        say(f"{path}: {', '.join(notes)}")
    frame = _per_query(queries, reports) if per_query else _means(reports)
    out.write(frame, _for_people(frame, out.room) if out.for_people else None)


def _for_people(frame: pl.DataFrame, room: int | None) -> str:
    """A table in which a small p is never written as 0."""
    import polars as pl

    if "p" not in frame.columns:
        return table(frame, room=room)
    words = [None if p is None else "< 0.0001" if p < 0.0001 else f"{p:.4f}" for p in frame["p"]]
    return table(frame.with_columns(pl.Series("p", words, dtype=pl.String)), room=room)


def _means(reports: dict[str, Any]) -> pl.DataFrame:
    """A row for each run and metric; the difference from the first run and its p."""
    import polars as pl

    from podium.metrics.trec import paired_test

    first = next(iter(reports.values()))
    rows = []
    for path, report in reports.items():
        for name in report:
            line: dict[str, Any] = {"run": path, "metric": name, "mean": report[name]}
            if len(reports) > 1:
                gap, p = paired_test(first.per_row[name], report.per_row[name])
                line |= (
                    {"difference": None, "p": None}
                    if report is first
                    else {"difference": gap, "p": None if p != p else p}
                )
            rows.append(line)
    return pl.DataFrame(rows, infer_schema_length=None)


def _per_query(queries: list[str], reports: dict[str, Any]) -> pl.DataFrame:
    import polars as pl

    parts: list[pl.DataFrame] = []
    for path, report in reports.items():
        known = pl.DataFrame({"run": [path] * len(queries), "query": queries})
        parts.append(pl.concat([known, report.to_frame().fill_nan(None)], how="horizontal"))
    frame: pl.DataFrame = pl.concat(parts)
    return frame
