"""Every option of reports, losses and gains does what it says, at its ends too, and is the default it is said to be."""

import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

from podium.errors import InputError
from podium.metrics import Report, ranking_gain, ranking_loss, ranking_report
from podium.metrics import report as reports
from podium.metrics.names import parse
from podium.metrics.report import check_options, evaluate
from podium.metrics.rows import read_rows

from reference_metrics import expected_gain, gain_of, loss_of, ranks_by_label, worst_ranks

Y = [[0, 1, 0, 2, 0, 0], [0, 0, 0, 0, 0, 0], [3, 1, 0, 0, 2, 0]]
S = [[2.0, 1.0, 2.0, 2.0, 0.5, 0.0], [1.0, 2.0, 3.0, 4.0, 5.0, 0.0], [1.0, 2.0, 2.0, 2.0, 1.0, 0.5]]
WAYS = {"loss": ranking_loss, "gain": ranking_gain}


def truth(kind, name, y, s, *, ties="label", gain="exp"):
    """One row by the slow twin; `ties` averaged for gains only."""
    what, _, p = name.partition("@")
    p = int(p) if p else None
    if ties == "average":
        value = expected_gain(what, p, s, y, gain)
        return value if kind == "gain" else 1 - value
    ranks = worst_ranks(s, y) if ties == "worst" else ranks_by_label(s)
    return (gain_of if kind == "gain" else loss_of)(what, p, ranks, y, gain)


@pytest.mark.parametrize("kind", WAYS)
@pytest.mark.parametrize("options", [{}, {"ties": "worst"}, {"ties": "average"}, {"gain": "linear"}])
def test_ties_and_gains_of_one_name(kind, options):
    wanted = [truth(kind, "ndcg@3", Y[row], S[row], **options) for row in (0, 2)]
    found = WAYS[kind]("ndcg@3", Y, S, **options)
    assert_allclose(found[[0, 2]], wanted, atol=1e-12)
    assert WAYS[kind]("ndcg@3", Y[2], S[2], **options) == pytest.approx(wanted[1])
    plain = [truth(kind, "ndcg@3", Y[row], S[row]) for row in (0, 2)]
    assert not options or not np.allclose(wanted, plain)  # else it would show nothing


@pytest.mark.parametrize("kind", WAYS)
@pytest.mark.parametrize(("empty", "loss"), [(None, 0.0), ("best", 0.0), ("worst", 1.0), ("skip", np.nan)])
def test_rows_without_relevance_count_as_they_are_told_to(kind, empty, loss):
    options = {} if empty is None else {"empty": empty}
    found = WAYS[kind]("ndcg", Y, S, **options)
    assert_allclose(found[1], loss if kind == "loss" else 1 - loss)
    assert_allclose(found[0], truth(kind, "ndcg", Y[0], S[0]))
    assert np.isnan(WAYS[kind]("ndcg", Y[1], S[1], empty="skip"))


@pytest.mark.parametrize("kind", WAYS)
@pytest.mark.parametrize("start", [1, 2, 3, 1.5])
@pytest.mark.parametrize("name", ["prec@2", "recall@2", "hit@1", "ap", "rr", "auc"])
def test_labels_are_relevant_from_where_it_is_said(kind, start, name):
    split = [int(value >= start) for value in Y[2]]
    wanted = truth(kind, name, split, S[2])
    assert WAYS[kind](name, Y[2], S[2], relevant_from=start) == pytest.approx(wanted)
    told = ranking_report(Y, S, metrics=[name, "sum@2"], kind=kind, relevant_from=start)
    assert told.per_row[name][2] == pytest.approx(wanted)
    assert told.per_row["sum@2"][2] == pytest.approx(truth(kind, "sum@2", Y[2], S[2]))  # grades stay grades there
    assert list(told) == [name, "sum@2"]


def test_a_report_without_options_is_of_losses_with_ties_by_label_and_powers_of_two():
    rows = read_rows(Y, S)
    chosen = [parse(name) for name in ("sum@2", "dcg", "ndcg@3", "pairwise")]
    for found in (evaluate(rows, chosen), ranking_report(Y, S, metrics=[str(each) for each in chosen])):
        assert (found.kind, found.rows, len(found)) == ("loss", 3, 4)
        for name in found:
            wanted = [truth("loss", name, y, s) for y, s in zip(Y, S, strict=True)]
            assert_allclose(found.per_row[name], wanted, atol=1e-12)


def test_cut_offs_beyond_the_labels_are_refused_unless_they_are_clipped():
    rows, beyond = read_rows(Y, S), [parse("sum@6"), parse("sum@7"), parse("dcg"), parse("sum@9")]
    assert list(evaluate(rows, beyond, clip=True)) == ["sum@6", "dcg"]
    assert list(evaluate(rows, beyond[:1])) == ["sum@6"]
    says = r"^sum@7: rows have only 6 labels; use a cut-off up to 6 \(or clip=\)$"
    with pytest.raises(InputError, match=says):
        evaluate(rows, beyond)
    with pytest.raises(InputError, match=says):
        ranking_report(Y, S, metrics=["sum@7"])
    clipped = ranking_report(Y, S, metrics=["sum@7"], clip=True)
    assert clipped["sum@6"] == ranking_report(Y, S, metrics=["sum@6"])["sum@6"]


def test_queries_of_one_size_have_that_many_labels_and_others_any():
    """Groups that are all alike are a table; where they are not, a query may have fewer documents than the cut-off."""
    with pytest.raises(InputError, match="rows have only 2 labels"):
        ranking_report([1, 0, 0, 1], [1.0, 2.0, 3.0, 4.0], metrics=["prec@3"], group=[2, 2])
    found = ranking_report([1, 0, 0, 1], [1.0, 2.0, 3.0, 4.0], metrics=["prec@3"], kind="gain", group=[1, 3])
    assert found.per_row["prec@3"].tolist() == pytest.approx([1 / 3, 1 / 3])
    found = ranking_report([1, 1], [1.0, 2.0], metrics=["prec@3"], kind="gain", group=[0, 2, 0], empty="skip")
    assert found["prec@3"] == pytest.approx(2 / 3)


@pytest.mark.parametrize("start", [0.5, 1, np.float16(1), np.int8(1), True])
def test_binary_relevance_is_relevant_from_anything_up_to_1(start):
    y = (np.array(Y) > 0).astype(int)
    names = ["ap", "prec@2", "sum@2"]
    told, plain = (ranking_report(y, S, metrics=names, **more) for more in ({"relevant_from": start}, {}))
    assert {name: told[name] for name in told} == {name: plain[name] for name in plain}


def test_a_start_above_all_relevance_is_refused_where_it_matters():
    y = (np.array(Y) > 0).astype(int)
    for table, top in ((y, 1), (Y, 3)):
        says = rf"^relevant_from=3\.5: the largest relevance is {top}, so nothing is relevant; lower it$"
        with pytest.raises(InputError, match=says):
            ranking_report(table, S, metrics=["sum@1", "ap"], relevant_from=3.5)
        told = ranking_report(table, S, metrics=["sum@1", "ndcg"], relevant_from=3.5)  # which look at grades
        assert dict(told) == dict(ranking_report(table, S, metrics=["sum@1", "ndcg"]))
    assert ranking_gain("recall@3", Y[2], S[2], relevant_from=3) == 0.0  # the largest itself is no refusal


@pytest.mark.parametrize("start", [np.inf, -np.inf, np.nan, 10**400, "2", [1], 1j])
def test_what_is_no_relevance_is_refused(start):
    with pytest.raises(InputError, match=r"^relevant_from=.* is no relevance; give a number$"):
        check_options(relevant_from=start)


@pytest.mark.parametrize("start", [0, -1, 0.0, np.int8(0), False])
def test_nothing_is_relevant_from_0(start):
    with pytest.raises(InputError, match=r"^relevant_from=.*: 0 means irrelevant; give a number above 0$"):
        check_options(relevant_from=start)


def test_any_number_above_0_is_a_start():
    for start in (None, sys.float_info.max, sys.float_info.min, np.float16(0.5), np.float32(2), 1):
        check_options(relevant_from=start, kind="loss", ties="average", empty="skip", gain="linear")


@pytest.mark.parametrize(
    ("option", "words"),
    [
        ("kind", "'loss', 'gain'"),
        ("ties", "'label', 'average', 'worst'"),
        ("empty", "'best', 'worst', 'skip'"),
        ("gain", "'exp', 'linear'"),
    ],
)
def test_words_that_no_option_knows_are_named_with_those_it_knows(option, words):
    with pytest.raises(InputError, match=f"^{option}='other' is unknown; choose one of {words}$"):
        ranking_report(Y, S, **{option: "other"})


@pytest.mark.parametrize("top", [1, 30, 31, 32, 33, 60])
@pytest.mark.parametrize("gain", ["exp", "linear"])
def test_grades_of_any_size_have_their_gain(top, gain):
    y, s = [[top, 0, max(top - 1, 1), 1, 0, 0]], [[0.0, 3.0, 2.0, 1.0, -1.0, -2.0]]
    names = ["dcg", "ndcg@2", "pairwise", "sum@3"]
    for ties in ("label", "worst"):
        found = ranking_report(y, s, metrics=names, kind="gain", gain=gain, ties=ties)
        for name in names:
            assert found[name] == pytest.approx(truth("gain", name, y[0], s[0], gain=gain), rel=1e-12), name


def test_grades_up_to_a_thousand_have_a_power_of_two():
    found = ranking_report([[1000, 1]], [[1.0, 0.0]], metrics=["dcg@1"], kind="gain")
    assert found["dcg@1"] == 2.0**1000
    says = r"^row 2: relevance 1001, but 2\^y - 1 in DCG needs whole grades up to 1000; use gain='linear', or leave dcg"
    with pytest.raises(InputError, match=says):
        ranking_report([[1000, 1], [1, 1001]], np.ones((2, 2)), metrics=["ndcg"])
    told = ranking_report([[1.5, 1], [1, 1001]], [[1.0, 0.0]] * 2, metrics=["sum@1", "prec@1"])
    assert told.per_row["prec@1"].tolist() == [0.0, 1000.0]  # without DCG any relevance will do
    for tables, row in (([[0, 1], [0.5, 0]], 2), ([[0, 0], [0, 0], [1, 2.5]], 3), ([[2.5, 1]], 1)):
        with pytest.raises(InputError, match=f"^row {row}: relevance"):
            ranking_report(tables, np.ones((len(tables), 2)), metrics=["dcg"])


def test_no_perfect_ranking_is_charged_for_rounding():
    """With relevance of any fraction a ranking by it loses nothing, to the last bit, and gains no more than 1."""
    rng = np.random.default_rng(0)
    y = rng.random((400, 7)) * 3
    found = ranking_report(y, y, metrics=["sum@3", "dcg", "dcg@4", "ndcg", "ndcg@4"], gain="linear")
    gained = ranking_report(y, y, metrics=["ndcg", "ndcg@4"], gain="linear", kind="gain")
    for name in found:
        assert (found.per_row[name] >= 0).all()
        assert_allclose(found.per_row[name], 0, atol=1e-12)
    assert max(gained.per_row[name].max() for name in gained) <= 1


def test_the_mean_is_over_rows_that_have_a_value():
    told = Report({"ap": np.array([0.5, np.nan, 1.0]), "rr": np.full(3, np.nan)}, "gain", 3)
    assert told["ap"] == 0.75
    assert np.isnan(told["rr"])
    assert (list(told), len(told)) == (["ap", "rr"], 2)
    for name in (3, None, "auc", "nonsense"):
        with pytest.raises(KeyError, match="was not asked for; the report holds ap, rr"):
            told[name]
    assert told.to_frame().columns == ["ap", "rr"]
    assert told.to_frame()["ap"].to_list()[::2] == [0.5, 1.0]


@pytest.mark.parametrize("chunk", [1, 2, 5, 7, 15, 16, 1000])
def test_chunks_are_all_rows_one_after_another(chunk, monkeypatch):
    monkeypatch.setattr(reports, "CHUNK", chunk)
    for sizes in ([5, 5, 5], [0, 7, 1, 0, 9, 2], [1]):
        total = sum(sizes)
        rows = read_rows(np.ones(total), np.arange(total) * 1.0, sizes)
        found = reports._chunks(rows)
        assert [row for first, last in found for row in range(first, last)] == list(range(len(sizes)))
        for first, last in found:
            assert last == first + 1 or sum(sizes[first : last - 1]) <= chunk
        assert len(found) <= 1 + total // chunk


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_threads_share_the_rows_and_change_nothing(threads, monkeypatch):
    monkeypatch.setattr(reports, "CHUNK", 4)
    asked = []
    in_threads = reports._in_threads
    monkeypatch.setattr(reports, "_in_threads", lambda *each: (asked.append(each[2]), in_threads(*each)))
    found = ranking_report(Y, S, metrics=["dcg", "sum@3"], threads=threads)
    for name in found:
        assert_allclose(found.per_row[name], [truth("loss", name, y, s) for y, s in zip(Y, S, strict=True)], atol=1e-12)
    assert asked == [threads]


def test_cut_offs_may_be_numpys_and_come_once():
    found = ranking_report(Y, S, at=np.array([2, 1, 2]))
    assert [name for name in found if name.startswith("sum")] == ["sum@2", "sum@1"]
    for at in ((1.0,), (True,), (0,), (1, -1)):
        with pytest.raises(InputError, match=r"^at=\(.*\): cut-offs are whole numbers from 1$"):
            ranking_report(Y, S, at=at)
    for at in ("12", 3, None):
        with pytest.raises(InputError, match=r"^at=.* is no list of cut-offs; give whole numbers from 1"):
            ranking_report(Y, S, at=at)
    with pytest.raises(InputError, match=r"^metrics is 'ap'; give names$"):
        ranking_report(Y, S, metrics="ap")


def test_ragged_lists_and_sparse_tables_have_a_value_for_each_row():
    y, s = [[1, 0], [0, 1, 1]], [[1.0, 2.0], [3.0, 2.0, 1.0]]
    assert_allclose(ranking_gain("rr", y, s), [0.5, 0.5])
    table = sparse.csr_array(np.array([[1, 0, 0], [0, 1, 1]]))
    assert_allclose(ranking_gain("rr", table, [[1.0, 2.0, 0.0], [3.0, 2.0, 1.0]]), [0.5, 0.5])
    assert_allclose(ranking_gain("rr", table, ranks=[[2, 1, 3], [1, 2, 3]]), [0.5, 0.5])
    one = ranking_gain("rr", [0, 1], [2.0, 1.0])
    assert isinstance(one, float)
    assert one == 0.5
    assert ranking_gain("rr", [[0, 1]], [[2.0, 1.0]]).tolist() == [0.5]


@pytest.mark.parametrize(("threads", "chunks", "other"), [(1, 3, False), (2, 1, False), (2, 2, True), (3, 2, True)])
def test_one_thread_is_this_one_and_several_are_others(threads, chunks, other):
    import threading

    seen = []
    parts = [(k, k + 1) for k in range(chunks)]
    reports._in_threads(lambda first, last: seen.append(threading.get_ident()), parts, threads)
    assert [ident != threading.get_ident() for ident in seen] == [other] * chunks


def test_a_report_takes_one_thread_unless_told(monkeypatch):
    asked = []
    in_threads = reports._in_threads
    monkeypatch.setattr(reports, "_in_threads", lambda *each: (asked.append(each[2]), in_threads(*each)))
    ranking_report(Y, S, metrics=["dcg"])
    evaluate(read_rows(Y, S), [parse("dcg")])
    assert asked == [1, 1]


@pytest.mark.parametrize("start", [1.01, 1.5, 2])
def test_nothing_binary_is_relevant_from_more_than_1(start):
    with pytest.raises(InputError, match="the largest relevance is 1, so nothing is relevant; lower it"):
        ranking_report([[1, 0]], [[1.0, 2.0]], metrics=["ap"], relevant_from=start)
