"""Gains of retrieval runs: numbers of trec_eval, its definitions as a slow twin, and what no gain may exceed."""

import json

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from podium.cli import run as command
from podium.errors import InputError
from podium.metrics import average_precision, ndcg, precision_at, ranking_gain, ranking_report
from podium.metrics.trec import run_report

from reference_metrics import trec_measures

JUDGED = {
    "q0": "d4:0 d6:2 d10:-1 d0:2 d1:-1 d3:0 d8:2 d7:0 d2:0",
    "q1": "d9:0 d2:3 d10:2 d7:3 d0:0 d11:2 d5:0 d6:0 d4:-1",
    "q2": "d3:-1 d4:1 d8:0 d5:0 d9:0 d0:-1 d7:0 d6:2 d10:-1",
    "q3": "d2:1 d6:1 d9:1 d11:-1 d10:0 d8:3 d7:0 d1:0 d5:0",
}
RUN = {
    "q0": "d7:0.1667 d4:0.1667 d9:0.6667 d10:0 d3:0 d8:0.5 d5:0.5 d6:1",
    "q1": "d4:0.1667 d3:0.5 d6:0.5 d11:0.8333 d1:0.3333 d8:0.6667 d0:0 d7:0.3333",
    "q2": "d6:0.8333 d7:0.5 d5:0.1667",
    "q3": "d9:0.3333 d10:0 d2:0.1667 d3:1 d11:0.6667 d7:0.5 d6:0.5 d0:0.8333",
}
# pytrec-eval-terrier 0.5.11 (trec_eval 9) on these, relevance_level 1 and 2: grades, ties, unjudged and unretrieved
# documents. Columns:
NAMES = ("P_10", "P_5", "map", "ndcg", "ndcg_cut_10", "ndcg_cut_3", "recall_5", "recip_rank", "success_1", "success_5")
PRINTED = {
    (1, "q0"): (0.2, 0.4, 0.555555555556, 0.703918089034, 0.703918089034, 0.703918089034, 0.666666666667, 1, 1, 1),
    (1, "q1"): (0.2, 0.4, 0.35, 0.46794370704, 0.46794370704, 0.339397849051, 0.5, 1, 1, 1),
    (1, "q2"): (0.1, 0.2, 0.5, 0.760187533432, 0.760187533432, 0.760187533432, 0.5, 1, 1, 1),
    (1, "q3"): (0.3, 0.2, 0.240476190476, 0.235968045933, 0.235968045933, 0, 0.25, 0.2, 0, 1),
    (2, "q0"): (0.2, 0.4, 0.555555555556, 0.703918089034, 0.703918089034, 0.703918089034, 0.666666666667, 1, 1, 1),
    (2, "q1"): (0.2, 0.4, 0.35, 0.46794370704, 0.46794370704, 0.339397849051, 0.5, 1, 1, 1),
    (2, "q2"): (0.1, 0.2, 1, 0.760187533432, 0.760187533432, 0.760187533432, 1, 1, 1, 1),
    (2, "q3"): (0, 0, 0, 0.235968045933, 0.235968045933, 0, 0, 0, 0, 0),
}
# ir_measures 0.4.3 on the same: means over the queries.
AGGREGATED = {
    (1, "ap"): 0.4115079365079365,
    (1, "rr"): 0.8,
    (1, "rr@3"): 0.75,
    (1, "prec@5"): 0.3,
    (1, "recall@5"): 0.47916666666666663,
    (1, "hit@1"): 0.75,
    (1, "ndcg"): 0.5420043438598012,
    (1, "ndcg@3"): 0.45087586787936573,
    (1, "ndcg@10"): 0.5420043438598012,
    (2, "ap"): 0.47638888888888886,
    (2, "rr"): 0.75,
    (2, "prec@5"): 0.25,
    (2, "recall@5"): 0.5416666666666666,
}
OURS = {"P": "prec", "recall": "recall", "success": "hit", "ndcg_cut": "ndcg"}


def ours(name):
    """Our name of one of trec_eval's measures."""
    if name in ("map", "recip_rank", "ndcg"):
        return {"map": "ap", "recip_rank": "rr", "ndcg": "ndcg"}[name]
    kind, _, cut = name.rpartition("_")
    return f"{OURS[kind]}@{cut}"


def pairs(text, kind=float):
    return {doc: kind(value) for doc, value in (each.split(":") for each in text.split())}


JUDGEMENTS = {query: pairs(text, int) for query, text in JUDGED.items()}
SCORES = {query: pairs(text) for query, text in RUN.items()}


def frame(table, value):
    rows = [(query, doc, each) for query, docs in table.items() for doc, each in docs.items()]
    kinds = {"query": pl.String, "doc": pl.String, value: pl.Float64}
    return pl.DataFrame(rows, schema=kinds, orient="row")


def report(judged, scores, names, **options):
    queries, found = run_report(
        frame(judged, "relevance"), frame(scores, "score"), metrics=names, kind="gain", empty="worst", **options
    )
    return queries, found


@pytest.mark.parametrize("level", [1, 2])
def test_the_slow_twin_and_we_print_what_trec_eval_prints(level):
    names = [ours(name) for name in NAMES]
    queries, found = report(JUDGEMENTS, SCORES, names, relevant_from=level, gain="linear")
    for row, query in enumerate(queries):
        twin = trec_measures(JUDGEMENTS[query], SCORES[query], level)
        for name, printed in zip(NAMES, PRINTED[level, query], strict=True):
            assert twin[name] == pytest.approx(printed, abs=1e-11)
            assert found.per_row[ours(name)][row] == pytest.approx(printed, abs=1e-11)


@pytest.mark.parametrize(("level", "name"), list(AGGREGATED))
def test_the_command_prints_what_ir_measures_prints(level, name, tmp_path, capfd):
    lines = [f"{q} 0 {doc} {grade}" for q, docs in JUDGEMENTS.items() for doc, grade in docs.items()]
    (tmp_path / "qrels").write_text("\n".join(lines))
    lines = [f"{q} Q0 {doc} 1 {score} x" for q, docs in SCORES.items() for doc, score in docs.items()]
    (tmp_path / "run").write_text("\n".join(lines))
    files = [str(tmp_path / "qrels"), str(tmp_path / "run")]
    level_option = [] if level == 1 else ["--relevant-from", str(level)]
    with pytest.raises(SystemExit):
        command(["metrics", *files, "-m", name, *level_option, "--format", "json"])
    assert json.loads(capfd.readouterr().out)[0]["mean"] == pytest.approx(AGGREGATED[level, name], abs=1e-12)


grades = st.dictionaries(st.sampled_from("abcdefgh"), st.integers(-1, 4), min_size=1)
scores = st.dictionaries(st.sampled_from("abcdefghxyz"), st.integers(-2, 2).map(float), min_size=1)
SHARES = [
    "ap",
    "rr",
    "rr@2",
    "ndcg",
    *(f"{kind}@{k}" for kind in ("prec", "recall", "hit", "ndcg") for k in (1, 3, 10)),
]


@settings(max_examples=80, deadline=None)
@given(
    st.lists(st.tuples(grades, scores), min_size=1, max_size=4), st.integers(1, 3), st.sampled_from(["linear", "exp"])
)
def test_runs_on_grades_are_trec_evals_definitions(queries, level, gain):
    judged = {f"q{number}": grade for number, (grade, _) in enumerate(queries)}
    judged["sure"] = {"a": 4}  # with nothing relevant at all there is nothing to measure
    run = {f"q{number}": score for number, (_, score) in enumerate(queries)}
    cuts = (1, 3, 10)
    names = ["map", "recip_rank", "ndcg", *(f"{k}_{c}" for k in ("P", "recall", "success", "ndcg_cut") for c in cuts)]
    order, found = report(judged, run, [ours(name) for name in names], relevant_from=level, gain=gain)
    for row, query in enumerate(order):
        twin = trec_measures(judged[query], run.get(query, {}), level, cuts, gain)
        for name in names:
            assert found.per_row[ours(name)][row] == pytest.approx(twin[name], abs=1e-12), name


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(grades, scores), min_size=1, max_size=4),
    st.floats(0.25, 4),
    st.sampled_from(["linear", "exp"]),
    st.sampled_from(["label", "average", "worst"]),
)
def test_every_gain_that_is_a_share_lies_between_0_and_1(queries, level, gain, ties):
    judged = {f"q{number}": grade for number, (grade, _) in enumerate(queries)} | {"sure": {"a": 4}}
    run = {f"q{number}": score for number, (_, score) in enumerate(queries)}
    _, found = report(judged, run, [*SHARES, "auc"], relevant_from=level, gain=gain, ties=ties)
    for name in found:
        assert (found.per_row[name] >= 0).all(), name
        assert (found.per_row[name] <= 1 + 1e-12).all(), name


@pytest.mark.parametrize("name", ["prec@2", "recall@2", "hit@2", "ap", "rr", "auc"])
def test_grades_have_no_share_of_relevant_ones_until_it_is_said_which_are(name):
    relevance, given_scores = [[3, 0, 1, 2]], [[0.1, 0.4, 0.3, 0.2]]
    with pytest.raises(InputError, match=r"needs relevance 0 or 1, but the data hold 3; .*relevant_from="):
        ranking_report(relevance, given_scores, metrics=[name], kind="gain")
    with pytest.raises(InputError, match="needs relevance 0 or 1"):
        ranking_gain(name, relevance, given_scores)
    told = ranking_report(relevance, given_scores, metrics=[name], kind="gain", relevant_from=2)
    binary = ranking_report([[1, 0, 0, 1]], given_scores, metrics=[name], kind="gain")
    assert told[name] == binary[name] == ranking_gain(name, relevance[0], given_scores[0], relevant_from=2)


def test_default_gains_of_grades_leave_precision_out_and_relevant_from_brings_it_back():
    relevance, given_scores = [[3, 0, 1, 2]], [[0.1, 0.4, 0.3, 0.2]]
    assert "prec@3" not in ranking_report(relevance, given_scores, at=(3,), kind="gain")
    assert ranking_report(relevance, given_scores, at=(3,))["prec@3"] == (3 + 2 + 1) - (0 + 1 + 2)  # the paper's loss
    assert ranking_report(relevance, given_scores, at=(3,), kind="gain", relevant_from=1)["prec@3"] == 2 / 3


def test_each_function_takes_the_options_its_messages_name():
    assert precision_at([3, 0, 1], [0.3, 0.2, 0.1], p=2, relevant_from=1) == 0.5
    assert average_precision([3, 0, 1], [0.3, 0.2, 0.1], relevant_from=2) == 1.0
    assert ndcg([0, 2.5], [0.2, 0.1], gain="linear") == pytest.approx(1 / np.log2(3))
    for options in ({"ties": "first"}, {"empty": "none"}, {"gain": "square"}, {"relevant_from": "all"}):
        with pytest.raises(InputError, match=f"{next(iter(options))}="):
            ranking_gain("ndcg", [0, 1], [0.2, 0.1], **options)
    assert_allclose(ranking_gain("ndcg", [[0, 2]], [[0.2, 0.1]], gain="linear"), [1 / np.log2(3)])
