"""`podium metrics`: how well runs retrieve what was judged relevant."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from podium.cli.help import GroupedCommand, option
from podium.cli.options import MAX_COUNT, level_option, metric_options, output_options, seed_option
from podium.cli.output import FORMATS, Output, cells, say
from podium.cli.standings import source_of
from podium.cli.typeset import Cell, latex, markdown
from podium.errors import InputError, Option
from podium.text import counted, fitted, number, p_value

if TYPE_CHECKING:
    import polars as pl

    from podium.metrics import RunComparison

__all__ = ["metrics"]

VOID = {"worst": "gain 0", "best": "gain 1", "skip": "left out of the means"}
DEFAULT = "ap,rr,ndcg@10,prec@10,recall@100"


EXAMPLES = (
    ("podium metrics qrels.txt bm25.run dense.run", "two runs, and which is significantly better"),
    ("podium metrics qrels.txt *.run -m map,P@10 --differences", "every two runs: difference, interval, p"),
    ("podium metrics qrels.txt *.run -o table.tex", "the table of a paper"),
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
@option(
    "Measures",
    "--test",
    type=click.Choice(["student", "permutation"]),
    default="student",
    show_default=True,
    help="Test differences by Student's paired t, or by Fisher's randomisation of signs.",
)
@option(
    "Measures",
    "--correction",
    type=click.Choice(["holm", "bonferroni", "fdr", "none"]),
    default="holm",
    show_default=True,
    help="Adjust the p-values of one metric for the number of pairs of runs.",
)
@option(
    "Measures",
    "--permutations",
    type=click.IntRange(1, MAX_COUNT),
    default=10_000,
    show_default=True,
    help="Draw so many patterns of signs where there are too many to try all.",
)
@seed_option("these draws", "Measures")
@level_option("the intervals of differences, and of significance")
@option("Output", "--differences", is_flag=True, help="Write every two runs: difference, interval and p-values.")
@option("Output", "--per-query", is_flag=True, help="Write one line for each run and query.")
@output_options(*FORMATS, "markdown", "latex")
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
    differences: bool,
    level: float,
    **testing: Any,
) -> None:
    """Measure RUNS against the judgements QRELS.

    QRELS is a TREC file (query 0 document relevance) or a table with columns query, doc, relevance; a run is a TREC
    file (query Q0 document rank score tag) or a table with columns query, doc, score. Relevant documents that were not
    retrieved count, documents not judged are irrelevant; the figures are those of `trec_eval -c`. One of the files may
    be - for standard input, which is a TREC file.

    Metrics: ap, rr, ndcg, dcg, auc, and with a cut-off prec@10, recall@100, hit@1, ndcg@10, rr@10; map, mrr, P@10,
    ndcg_cut_10 and recip_rank are understood. Every two runs are tested against each other, query by query: the letters
    behind a mean name the runs that it is significantly better than.
    """
    import numpy as np
    import polars as pl

    from podium.metrics import compare_runs
    from podium.metrics.names import parse
    from podium.metrics.trec import read_judgements, read_run, run_report

    twice = [path for path in dict.fromkeys(runs) if runs.count(path) > 1]
    if "-" in twice or (qrels == "-" and "-" in runs):
        raise InputError("standard input can be read once only; name files for the others")
    if twice:
        raise InputError(f"run {twice[0]} is given twice; name each once")
    if differences and per_query:
        raise InputError(Option("differences"), " and ", Option("per_query"), " are two tables; ask for one of them")
    judged = read_judgements(source_of(qrels))
    options = {"ties": ties, "empty": empty, "gain": gain, "relevant_from": relevant_from, "kind": "gain"}
    wanted = [name.strip() for listed in names for name in listed.split(",")]
    void = _void(judged, wanted, relevant_from)
    reports = {}
    for source in map(source_of, runs):
        path, run = str(source), read_run(source)
        extra = run.filter(~pl.col("query").is_in(judged["query"].unique().implode()))["query"].n_unique()
        lacking = judged["query"].n_unique() - (run["query"].n_unique() - extra)
        try:
            queries, reports[path] = run_report(judged, run, metrics=wanted, **options)
        except InputError as problem:
            about = [f"{path}: "] if str(problem).startswith("the run") else []
            raise InputError(*about, *problem.args) from None
        notes = [counted(len(queries), "judged query", "judged queries")]
        notes += [f"{lacking} of them not answered, counted as nothing retrieved"] if lacking else []
        notes += [f"{void} with nothing relevant{where}, {VOID[empty]}" for where, void in void.items() if void]
        notes += [f"{counted(extra, 'query', 'queries')} of the run not judged, left out"] if extra else []
        say(f"{path}: {', '.join(notes)}")
    typed: dict[str, str] = {}
    for name in wanted:
        typed.setdefault(str(parse(name)), name)
    if per_query:
        frame = _per_query(queries, reports, typed)
        _write(out, frame, [[Cell(value) for value in row] for row in zip(*map(cells, frame), strict=True)])
        return
    comparison = compare_runs(reports, level=level, **testing) if len(runs) > 1 else None
    if differences:
        if comparison is None:
            raise InputError(Option("differences"), " is about two runs or more; name another")
        _write_differences(out, comparison, typed)
    elif out.form in ("table", "markdown", "latex"):
        _write_means(out, reports, comparison, typed)
    else:
        out.write(_means(reports, comparison, typed))
    if comparison is not None:
        if not np.isnan(comparison.p_values).all():
            say(_words(comparison, differences))
        if comparison.has_untested:
            without = np.isnan(comparison.differences)
            if (np.isnan(comparison.p_values) & ~without).any():
                why = "where two runs differ by the same amount in every query; see --test permutation"
                say(f"no p-value {'from one query' if len(queries) == 1 else why}")
            if without.any():
                say("no p-value where no query has the metric in both runs")


def _write(out: Output, frame: pl.DataFrame, rows: Sequence[Sequence[Cell]], heads: Sequence[str] = ()) -> None:
    """A frame for programs, or its rows as people and papers want them."""
    heads = list(heads) or frame.columns
    if out.form not in ("markdown", "latex"):
        texts = [[cell.text + (f" {cell.above}" if cell.above else "") for cell in row] for row in rows]
        columns = list(zip(*texts, strict=True)) if texts else [()] * len(heads)
        words = [head for head in heads if head not in ("difference", "interval", "p", "adjusted p")]
        out.write(frame, fitted(heads, columns, out.room, to_left=words, shorten=["run", "against", "query"]))
        return
    numbers = [head not in ("", "run", "against", "metric", "query") for head in heads]
    out.write_text((markdown if out.form == "markdown" else latex)(heads, rows, numbers))


def _write_means(out: Output, reports: dict[str, Any], comparison: RunComparison | None, typed: dict[str, str]) -> None:
    """One row a run, one column a metric; the best in bold where the form has bold letters."""
    names = _short(list(reports)) if out.form in ("markdown", "latex") else list(reports)
    rows = [[Cell(name)] for name in names]
    for metric in typed:
        means = [reports[path][metric] for path in reports]
        texts = [number(mean, 4) if mean == mean else "" for mean in means]
        longest = max(map(len, texts))
        best = max(mean for mean in means if mean == mean) if any(mean == mean for mean in means) else None
        for path, row, mean, text in zip(reports, rows, means, texts, strict=True):
            above = _joined(comparison.better_than(metric, path)) if comparison else ""
            padded = text if out.form in ("markdown", "latex") else text.rjust(longest)
            row.append(Cell(padded, bold=comparison is not None and mean == best, above=above))
    heads = ["run", *typed.values()]
    if comparison is not None:
        heads.insert(0, "")
        rows = [[Cell(letter), *row] for letter, row in zip(comparison.letters, rows, strict=True)]
    _write(out, _means(reports, comparison, typed), rows, heads)


def _write_differences(out: Output, comparison: RunComparison, typed: dict[str, str]) -> None:
    import polars as pl

    frame = comparison.to_frame().with_columns(pl.col("metric").replace(typed))
    rows = []
    for line in frame.to_dicts():
        words = [line["metric"], line["run"], line["against"]]
        words.append("" if line["difference"] is None else number(line["difference"], 4))
        words.append("" if line["lower"] is None else f"{number(line['lower'], 4)} … {number(line['upper'], 4)}")
        words += ["" if line[name] is None else p_value(line[name]) for name in ("p_value", "p_adjusted")]
        rows.append([Cell(word) for word in words])
    _write(out, frame, rows, ["metric", "run", "against", "difference", "interval", "p", "adjusted p"])


def _means(reports: dict[str, Any], comparison: RunComparison | None, typed: dict[str, str]) -> pl.DataFrame:
    """A row for each run and metric, with the run's letter and those of the runs it is better than."""
    import polars as pl

    rows: list[dict[str, Any]] = []
    for k, (path, report) in enumerate(reports.items()):
        for metric in typed:
            mean = report[metric]
            rows.append({"run": path, "metric": typed[metric], "mean": mean if mean == mean else None})
            if comparison is not None:
                rows[-1] |= {
                    "letter": comparison.letters[k],
                    "better_than": _joined(comparison.better_than(metric, path)),
                }
    return pl.DataFrame(rows, infer_schema_length=None)


def _joined(letters: Sequence[str]) -> str:
    return ("" if all(len(letter) == 1 for letter in letters) else ",").join(letters)


def _short(runs: list[str]) -> list[str]:
    """Names of files without folder and ending, where they stay different."""
    short = [Path(run).stem for run in runs]
    return short if len(set(short)) == len(runs) else runs


def _void(judged: pl.DataFrame, wanted: Sequence[str], relevant_from: float) -> dict[str, int]:
    """Queries with nothing relevant; by metric where what counts from a grade on has others than the grades have."""
    import polars as pl

    from podium.metrics.names import parse

    names: dict[int, list[str]] = {}
    queries = judged["query"].n_unique()
    for name in dict.fromkeys(wanted):
        least = relevant_from if parse(name).splits else 0.0
        relevant = judged.filter((pl.col("relevance") >= least) & (pl.col("relevance") > 0))
        names.setdefault(queries - relevant["query"].n_unique(), []).append(name)
    if len(names) == 1:
        return {"": next(iter(names))}
    return {f" for {', '.join(those)}": void for void, those in names.items()}


def _words(comparison: RunComparison, differences: bool) -> str:
    """How the runs were tested."""
    test = {"student": "Student's paired t test", "permutation": "randomisation test"}[comparison.test]
    corrected = {
        "holm": "Holm's correction over {}",
        "bonferroni": "Bonferroni's correction over {}",
        "fdr": "false discoveries held over {} by Benjamini and Hochberg",
        "none": "no correction for {}",
    }[comparison.correction].format(counted(len(comparison.pairs), "pair"))
    least, most = int(comparison.queries.min()), int(comparison.queries.max())
    some = counted(most, "query", "queries")
    how = f"{test} over {some if least == most else f'{least} to {some}'}"
    how += f", {corrected} of each metric" if len(comparison.pairs) > 1 else ""
    if differences:
        return f"{how}; {100 * comparison.level:.4g} % intervals, each on its own (Student)"
    below = f"p below {1 - comparison.level:.4g}"
    return f"letters: significantly better than that run ({how}, {below}); --differences lists every pair"


def _per_query(queries: list[str], reports: dict[str, Any], typed: dict[str, str]) -> pl.DataFrame:
    import polars as pl

    parts: list[pl.DataFrame] = []
    for path, report in reports.items():
        known = pl.DataFrame({"run": [path] * len(queries), "query": queries})
        parts.append(pl.concat([known, report.to_frame().fill_nan(None).rename(typed)], how="horizontal"))
    frame: pl.DataFrame = pl.concat(parts)
    return frame
