"""`ranking_report` against the definitions as double loops, against scikit-learn, and its laws."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.metrics import label_ranking_average_precision_score, ndcg_score

from podium.errors import InputError
from podium.metrics import ranking_report
from podium.metrics.names import KINDS, Metric

from reference_metrics import expected_gain, gain_of, loss_of, ranks_by_label, worst_ranks

BINARY = [kind for kind in KINDS if Metric(kind).needs_binary("gain")]


def split(name):
    kind, _, p = name.partition("@")
    return kind, int(p) if p else None


@st.composite
def tables(draw, top=1, widest=6):
    """Small tables with many ties and empty rows."""
    n, K = draw(st.integers(1, 4)), draw(st.integers(1, widest))
    y = draw(st.lists(st.lists(st.integers(0, top), min_size=K, max_size=K), min_size=n, max_size=n))
    y[0][draw(st.integers(0, K - 1))] = draw(st.integers(1, top))
    s = draw(st.lists(st.lists(st.integers(-2, 2), min_size=K, max_size=K), min_size=n, max_size=n))
    return np.array(y), np.array(s, dtype=float)


def cuts(K):
    return tuple(range(1, K + 1))


@settings(max_examples=30, deadline=None)
@given(tables())
def test_binary_losses_are_the_definitions(table):
    y, s = table
    report = ranking_report(y, s, at=cuts(y.shape[1]))
    for name in report:
        truth = [loss_of(*split(name), ranks_by_label(b), a) for a, b in zip(y.tolist(), s.tolist(), strict=True)]
        assert_allclose(report.per_row[name], truth, atol=1e-12, err_msg=name)


@settings(max_examples=30, deadline=None)
@given(tables(top=4, widest=5))
def test_graded_losses_are_the_definitions(table):
    y, s = table
    report = ranking_report(y, s, metrics=[f"{k}@{p}" for k in ("sum", "prec", "dcg", "ndcg") for p in cuts(y.shape[1])]
                            + ["pairwise", "dcg", "ndcg"])  # fmt: skip
    for name in report:
        truth = [loss_of(*split(name), ranks_by_label(b), a) for a, b in zip(y.tolist(), s.tolist(), strict=True)]
        assert_allclose(report.per_row[name], truth, atol=1e-9, err_msg=name)


@settings(max_examples=25, deadline=None)
@given(tables(top=3, widest=4), st.sampled_from(["exp", "linear"]))
def test_tied_scores_average_over_every_order(table, gain):
    y, s = table
    report = ranking_report(
        y, s, at=cuts(y.shape[1]), kind="gain", ties="average", empty="skip", gain=gain, relevant_from=1
    )
    for name in report:
        kind, p = split(name)
        for row, (a, b) in enumerate(zip(y, s, strict=True)):
            a = (a >= 1).astype(int) if kind in BINARY else a
            if a.sum() == 0 or (kind == "auc" and a.all()):
                assert np.isnan(report.per_row[name][row])
            else:
                truth = expected_gain(kind, p, b.tolist(), a.tolist(), gain)
                assert_allclose(report.per_row[name][row], truth, atol=1e-9, err_msg=name)


@settings(max_examples=40, deadline=None)
@given(tables(top=3))
def test_worst_ties_put_the_less_relevant_first(table):
    y, s = table
    report = ranking_report(y, s, at=cuts(y.shape[1]), kind="gain", ties="worst", empty="skip", relevant_from=1)
    for name in report:
        kind, p = split(name)
        for row, (a, b) in enumerate(zip(y, s, strict=True)):
            a = (a >= 1).astype(int) if kind in BINARY else a
            if a.sum() > 0 and not (kind == "auc" and a.all()):
                truth = gain_of(kind, p, worst_ranks(b.tolist(), a.tolist()), a.tolist())
                assert_allclose(report.per_row[name][row], truth, atol=1e-9, err_msg=name)


@pytest.mark.parametrize("ties", ["label", "average", "worst"])
@pytest.mark.parametrize("share", [0.02, 0.4, 1.0])
def test_counting_and_sorting_agree_with_one_row_at_a_time(ties, share):
    """Wide rows with many relevant labels are sorted, the same rows alone in a ragged list are counted."""
    rng = np.random.default_rng(3)
    y = (rng.random((6, 300)) < share) * rng.integers(1, 5, size=(6, 300))
    s = rng.integers(-20, 20, size=(6, 300)) * 1e-3
    dense = ranking_report(y, s, ties=ties, relevant_from=2)
    ragged = ranking_report([*y, [1.0]], [*s, [0.0]], ties=ties, relevant_from=2)
    for name in dense:
        assert_allclose(ragged.per_row[name][:6], dense.per_row[name], rtol=1e-12, err_msg=name)


def ragged(seed=5):
    """Lists of 0 to 60 documents, and some long ones with many relevant: every way of finding ranks."""
    rng = np.random.default_rng(seed)
    sizes = [*rng.integers(0, 60, size=40), 450, *rng.integers(0, 60, size=10), 410, 420, 1, 0]
    y = [rng.integers(0, 4, size=n) * (rng.random(n) < 0.5) for n in sizes]
    s = [rng.integers(-30, 30, size=n) / 8 for n in sizes]
    return y, s


def plain_ranks(scores):
    order = sorted(range(len(scores)), key=lambda i: (-scores[i], i))
    ranks = dict(zip(order, range(1, len(scores) + 1), strict=True))
    return [ranks[i] for i in range(len(scores))]


@pytest.mark.parametrize("chunk", [1, 64, 1000, 1 << 16])
@pytest.mark.parametrize(("unit", "threads"), [(1, 1), (1, 2), (0.5, 1)])
def test_ragged_rows_in_many_chunks_are_the_definitions_row_by_row(chunk, unit, threads, monkeypatch):
    """Whole grades, and fractions of them, whose gains are kept apart."""
    monkeypatch.setattr("podium.metrics.report.CHUNK", chunk)
    y, s = ragged()
    y, gain = [unit * each for each in y], "exp" if unit == 1 else "linear"
    names = ["sum@3", "prec@5", "dcg", "ndcg", "ndcg@10", "ap", "rr", "recall@5", "hit@1"]
    for ties, ranks_of in (("label", lambda b, a: plain_ranks(b)), ("worst", worst_ranks)):
        options = {
            "metrics": names,
            "kind": "gain",
            "relevant_from": 2 * unit,
            "ties": ties,
            "gain": gain,
            "threads": threads,
        }
        found = ranking_report(y, s, empty="skip", **options)
        for row, (grades, scores) in enumerate(zip(y, s, strict=True)):
            for name in names:
                kind, p = split(name)
                a = [int(v >= 2 * unit) for v in grades] if kind in BINARY else grades.tolist()
                value = found.per_row[name][row]
                if not any(a):
                    assert np.isnan(value), name
                else:
                    truth = gain_of(kind, p, ranks_of(scores.tolist(), a), a, gain)
                    assert value == pytest.approx(truth, abs=1e-9), name


@pytest.mark.parametrize("chunk", [1, 64, 1 << 16])
def test_runs_in_many_chunks_miss_what_they_did_not_retrieve(chunk, monkeypatch):
    monkeypatch.setattr("podium.metrics.report.CHUNK", chunk)
    rng = np.random.default_rng(6)
    y = rng.integers(0, 2, size=(30, 500)) * (rng.random((30, 500)) < 0.3)
    kept = rng.random((30, 500)) < np.where(np.arange(30) % 3 == 0, 0.95, 0.1)[:, None]
    s = (rng.permuted(np.tile(np.arange(1.0, 501), (30, 1)), axis=1)) * kept
    found = ranking_report(sparse.csr_array(y), sparse.csr_array(s), metrics=["ap", "prec@9"], kind="gain")
    for row in range(30):
        order = sorted(np.flatnonzero(kept[row]), key=lambda i, row=row: -s[row, i])
        hits = y[row, order]
        assert found.per_row["prec@9"][row] == pytest.approx(sum(hits[:9]) / 9)
        precision = [sum(hits[: k + 1]) / (k + 1) for k in range(len(hits)) if hits[k]]
        assert found.per_row["ap"][row] == pytest.approx(sum(precision) / y[row].sum())


@pytest.mark.parametrize("gap", [1e-16, 3e-14, 1e-3])
def test_scores_that_differ_in_the_last_bits_are_told_apart(gap):
    rng = np.random.default_rng(0)
    s = 1.0 + gap * rng.permuted(np.tile(np.arange(200.0), (5, 1)), axis=1)
    s[1] = -s[1]
    s[2, :50] = np.inf
    s[3, :100] = -np.inf
    s[4] = np.where(np.arange(200) % 2 == 0, 0.0, -0.0)
    y = (rng.random((5, 200)) < 0.5).astype(int)
    truth = [loss_of("sum", 7, ranks_by_label(b), a) for a, b in zip(y.tolist(), s.tolist(), strict=True)]
    assert_allclose(ranking_report(y, s, at=(7,)).per_row["sum@7"], truth)


@settings(max_examples=30, deadline=None)
@given(tables(top=3, widest=8))
def test_averaged_ties_match_scikit_learn(table):
    y, s = table
    if y.shape[1] < 2:
        return
    ours = ranking_report(
        y, s, at=(2,), kind="gain", ties="average", empty="worst", gain="linear", metrics=["ndcg", "ndcg@2"]
    )
    assert ours["ndcg"] == pytest.approx(ndcg_score(y, s), abs=1e-12)
    assert ours["ndcg@2"] == pytest.approx(ndcg_score(y, s, k=2), abs=1e-12)


def test_average_precision_matches_scikit_learn_without_ties():
    rng = np.random.default_rng(1)
    y, s = (rng.random((50, 30)) < 0.2).astype(int), rng.normal(size=(50, 30))
    ours = ranking_report(y, s, kind="gain", metrics=["ap"])
    assert ours["ap"] == pytest.approx(label_ranking_average_precision_score(y, s))


def test_dense_sparse_float32_and_threads_agree():
    rng = np.random.default_rng(2)
    y, s = (rng.random((3000, 40)) < 0.1).astype(np.int8), rng.normal(size=(3000, 40)).astype(np.float32)
    dense = ranking_report(y, s)
    for other in (
        ranking_report(sparse.csr_array(y), s),
        ranking_report(sparse.coo_matrix(y), s.astype(float), threads=2),
        ranking_report(y.astype(bool), s.astype(float)),
        ranking_report(y.reshape(-1), s.reshape(-1), group=[40] * 3000),
    ):
        for name in dense:
            assert_allclose(other.per_row[name], dense.per_row[name], rtol=1e-12)


def test_a_relevant_document_that_was_not_retrieved_counts_but_gains_nothing():
    run = sparse.csr_array(([3.0, 2.0, 1.0], [0, 1, 2], [0, 3]), shape=(1, 6))
    qrels = sparse.csr_array(([1, 1], [1, 5], [0, 2]), shape=(1, 6))
    report = ranking_report(qrels, run, at=(1, 2, 10), kind="gain")
    assert report["ap"] == pytest.approx((1 / 2) / 2)
    assert report["recall@10"] == 0.5
    assert report["prec@10"] == pytest.approx(0.1)
    assert report["rr"] == 0.5
    assert report["ndcg"] == pytest.approx((1 / np.log2(3)) / (1 + 1 / np.log2(3)))
    assert report["auc"] == pytest.approx(1 / 4)  # pairs with the two irrelevant: 1 > 2 is the only one in order
    assert ranking_report(qrels, run, at=(10,), metrics=["sum@10"])["sum@10"] == (2 + 11) - (1 + 2)


def test_empty_rows_follow_the_option():
    y, s = [[0, 0], [1, 0], [1, 1]], [[2.0, 1.0], [1.0, 2.0], [1.0, 2.0]]
    names = ["ap", "auc", "prec@1", "sum@1"]
    assert ranking_report(y, s, metrics=names).per_row["ap"].tolist() == [0.0, 0.5, 0.0]
    assert ranking_report(y, s, metrics=names, empty="worst").per_row["auc"].tolist() == [1.0, 1.0, 1.0]
    assert ranking_report(y, s, metrics=names, empty="worst", kind="gain").per_row["auc"].tolist() == [0.0, 0.0, 0.0]
    skipped = ranking_report(y, s, metrics=names, empty="skip")
    assert np.isnan(skipped.per_row["prec@1"][0])
    assert skipped["auc"] == 1.0
    assert skipped["ap"] == 0.25


def test_real_valued_relevance_is_weighed_where_it_has_a_meaning():
    y, s = [[0.5, 1.5, 0.0]], [[1.0, 0.0, 2.0]]
    report = ranking_report(y, s, metrics=["sum@2", "prec@1", "ndcg@2", "pairwise"], gain="linear")
    assert report["sum@2"] == pytest.approx(0.5 * 2 + 1.5 * 3 - (1.5 + 0.5 * 2))
    assert report["prec@1"] == 1.5
    assert report["pairwise"] == 3
    assert report["ndcg@2"] == pytest.approx(1 - (0.5 / np.log2(3)) / (1.5 + 0.5 / np.log2(3)))


def test_the_report_is_a_mapping_with_a_table():
    report = ranking_report([[1, 0], [0, 1]], [[1.0, 0.0], [1.0, 0.0]], at=(1,), kind="gain")
    assert dict(report)["prec@1"] == 0.5
    assert report.to_frame().height == 2
    assert "mean gain over 2 rows" in repr(report)
    with pytest.raises(KeyError, match="was not asked for"):
        report["prec@2"]


Y, S = [[1, 0, 0], [0, 1, 1]], [[0.1, 0.2, 0.3], [0.3, 0.2, 0.1]]


@pytest.mark.parametrize(
    ("given_y", "given_s", "options", "says"),
    [
        ([[1, -1, 0]], [[1, 2, 3]], {}, r"row 1, label 2: relevance -1"),
        ([[1, 0.5, 0]], [[1, 2, 3]], {"metrics": ["dcg"]}, r"row 1: relevance 0.5.*whole grades"),
        ([[1, float("nan"), 0]], [[1, 2, 3]], {"at": (1,)}, r"row 1, label 2: relevance nan"),
        ([[1, float("inf"), 0]], [[1, 2, 3]], {"at": (1,)}, r"row 1, label 2: relevance inf"),
        (Y, [[0.1, 0.2, 0.3], [0.3, float("nan"), 0.1]], {}, r"row 2, label 2: the score is NaN"),
        (Y, [[0.1, 0.2], [0.3, 0.2]], {}, r"\(2, 3\).*\(2, 2\)"),
        (Y, S, {}, r"sum@5: rows have only 3 labels; .*clip="),
        (np.zeros((2, 3)), S, {}, r"no row has a relevant label"),
        ([[2, 0, 1]], [[1, 2, 3]], {"metrics": ["ap"]}, r"ap needs relevance 0 or 1, but the data hold 2"),
        (Y, S, {"ties": "first"}, r"ties='first' is unknown; choose one of 'label'"),
        (Y, S, {"metrics": ["mapp"]}, r"'mapp' is no metric; known are map, mrr, P@p and the like, that is sum@p"),
        (Y, S, {"metrics": ["sum"]}, r"'sum' needs a cut-off"),
        (Y, S, {"metrics": ["ap@3"]}, r"takes no cut-off"),
        (Y, S, {"metrics": ["sum@0"]}, r"at least 1"),
        (Y, S, {"at": (0,)}, r"whole numbers from 1"),
        (Y, S, {"at": (1,), "threads": 0}, r"threads=0"),
        ([1, 0, 1], [0.1, 0.2, 0.3], {"group": [2, 2]}, r"adds up to 4 documents for 3 scores"),
        ([1, 0, 1], [0.1, float("nan"), 0.3], {"group": [1, 2]}, r"query 2, document 1: the score is NaN"),
        ([1, 0, -2], [0.1, 0.2, 0.3], {"group": [1, 2]}, r"query 2, document 2: relevance -2"),
        ([[1], [0, 1]], [[1.0], [2.0]], {}, r"row 2: 2 relevance values but 1 score;|list of 2 lists"),
        ([["a", "b"]], [[1.0, 2.0]], {}, r"relevance holds .* numbers are needed"),
    ],
)
def test_bad_input_is_named(given_y, given_s, options, says):
    with pytest.raises(InputError, match=says):
        ranking_report(given_y, given_s, **options)


def test_cut_offs_beyond_the_labels_are_clipped_on_request():
    report = ranking_report(Y, S, clip=True)
    assert "sum@3" in report
    assert "sum@5" not in report


def test_a_long_row_of_almost_equal_scores_is_ranked_alike_wherever_it_stands():
    """Scores one bit apart, which the sort's packed keys cannot tell: behind other rows too, as scikit-learn."""
    rng = np.random.default_rng(8)
    width, short = 450, [[1, 0, 1], [0.3, 0.2, 0.1]]
    scores = 1 + rng.permutation(width) * 2.0**-52
    relevance = (rng.random(width) < 0.3).astype(int)
    y = [short[0], relevance.tolist(), short[0][:2], relevance.tolist()]
    s = [short[1], scores.tolist(), short[1][:2], scores[::-1].tolist()]
    report = ranking_report(y, s, metrics=["ap"], kind="gain")
    for row in (1, 3):
        expected = label_ranking_average_precision_score([y[row]], [s[row]])
        assert report.per_row["ap"][row] == pytest.approx(expected, abs=1e-12)
