"""Runs against each other at the edges: how few and how many queries, what is the same, what the table holds."""

import itertools

import numpy as np
import pytest
from scipy import stats

from podium.errors import InputError
from podium.metrics import Report, compare_runs, comparing, ranking_report


def runs(*values, kind="gain", names=("ap",)):
    """Runs a, b, …: values[run][metric][query]."""
    tables = [np.asarray(each, dtype=float).reshape(len(names), -1) for each in values]
    return {
        run: Report(dict(zip(names, table, strict=True)), kind, table.shape[1])
        for run, table in zip("abcdefgh", tables, strict=False)
    }


def test_seventeen_queries_that_differ_are_tried_in_every_way_and_eighteen_are_drawn():
    """With a single pattern drawn p is 1/2 or 1; over all patterns it is what they say."""
    gap = np.random.default_rng(4).normal(0.3, 1.0, 18)
    signs = 1.0 - 2.0 * ((np.arange(2**16)[:, None] >> np.arange(16)) & 1)
    every = np.abs(signs @ gap[:16] + gap[16])  # the last one's sign turned gives the same again
    exact = compare_runs(runs(np.zeros(17), gap[:17]), test="permutation", permutations=1)
    assert exact.p_values[0, 0] == np.mean(every >= abs(gap[:17].sum()) - 1e-9)
    with_equal = compare_runs(runs(np.zeros(30), [*gap[:17], *np.zeros(13)]), test="permutation", permutations=1)
    assert with_equal.p_values[0, 0] == exact.p_values[0, 0]  # queries that do not differ turn nothing
    drawn = [
        compare_runs(runs(np.zeros(18), gap), test="permutation", permutations=1, seed=k).p_values[0, 0]
        for k in range(20)
    ]
    assert set(drawn) <= {0.5, 1.0}


@pytest.mark.parametrize("chunk", [1, 57, 64, 1 << 22])
def test_so_many_patterns_are_drawn_as_were_asked_for(chunk, monkeypatch):
    """Where differences cancel every pattern is as extreme, so p is 1; where all are equal next to none is."""
    monkeypatch.setattr(comparing, "CHUNK", chunk)
    cancel, equal = np.tile([1.0, -1.0], 10), np.ones(90)
    for permutations in (1, 7, 10, 101):
        found = compare_runs(runs(np.zeros(20), cancel), test="permutation", permutations=permutations)
        assert found.p_values[0, 0] == 1.0
        found = compare_runs(runs(np.zeros(90), equal), test="permutation", permutations=permutations)
        assert found.p_values[0, 0] == pytest.approx(1 / (1 + permutations), rel=1e-12)


@pytest.mark.parametrize("queries", [18, 24, 25])
def test_every_query_has_a_sign_of_its_own(queries, monkeypatch):
    """Differences of one size: the test is that of signs."""
    monkeypatch.setattr(comparing, "CHUNK", 1000)
    better = queries // 2 + 5
    gap = np.where(np.arange(queries) < better, 1.0, -1.0)
    wanted = stats.binomtest(better, queries).pvalue
    found = compare_runs(runs(np.zeros(queries), gap), test="permutation", permutations=4000, seed=5).p_values[0, 0]
    assert abs(found - wanted) < 5 * np.sqrt(wanted * (1 - wanted) / 4000)


def test_without_being_told_it_is_a_t_test_at_95_percent_with_holms_correction():
    values = np.random.default_rng(1).random((3, 8))
    found = compare_runs(runs(*values))
    assert (found.test, found.correction, found.level, found.kind) == ("student", "holm", 0.95, "gain")
    assert (found.runs, found.metrics, found.pairs) == (("a", "b", "c"), ("ap",), ((0, 1), (0, 2), (1, 2)))
    theirs = [stats.ttest_rel(values[j], values[i]) for i, j in found.pairs]
    assert found.lower[0].tolist() == pytest.approx([each.confidence_interval(0.95).low for each in theirs])
    assert found.upper[0].tolist() == pytest.approx([each.confidence_interval(0.95).high for each in theirs])
    order = np.argsort([each.pvalue for each in theirs])
    holm = np.maximum.accumulate([min(1.0, (3 - k) * theirs[at].pvalue) for k, at in enumerate(order)])
    assert found.adjusted[0, order].tolist() == pytest.approx(holm.tolist())
    assert found.means[0].tolist() == pytest.approx(values.mean(axis=1).tolist())


def test_ten_thousand_patterns_are_drawn_from_seed_0_unless_told():
    sure = compare_runs(runs(np.zeros(90), np.ones(90)), test="permutation")
    assert sure.p_values[0, 0] == pytest.approx(1 / 10_001, rel=1e-12)
    gap = np.random.default_rng(2).normal(0.2, 1.0, 30)
    one, same, other = (
        compare_runs(runs(np.zeros(30), gap), test="permutation", **seed).p_values[0, 0]
        for seed in ({}, {"seed": 0}, {"seed": 1})
    )
    assert one == same != other


@pytest.mark.parametrize("test", ["student", "permutation"])
def test_gaps_of_less_than_a_trillionth_of_the_largest_value_are_none(test):
    base = np.array([8.0, 4.0, 2.0, 1.0, -16.0])
    for by, differ in ((0.9e-12, False), (1.5e-12, True)):
        other = base + np.array([16.0, 0, 0, 0, 0]) * by  # 16 is the largest of all, by its size
        found = compare_runs(runs(base, other), test=test)
        assert (found.differences[0, 0] > 0) == differ
        assert (found.p_values[0, 0] == 1.0) == (not differ or test == "permutation")


def test_spreads_of_less_than_a_trillionth_of_the_largest_value_are_none():
    base = np.array([1.0, 0.5, 0.25])
    for by, varies in ((0.9e-12, False), (1.5e-12, True)):
        found = compare_runs(runs(base, base - 0.125 + np.array([by, 0, 0])))
        assert np.isnan(found.p_values[0, 0]) == (not varies)
        assert found.has_untested == (not varies)


def test_p_at_the_level_is_not_significant():
    """Two queries that differ alike: two of four patterns are as extreme, p is one half."""
    for level, found in ((0.5, False), (0.75, False)):
        told = compare_runs(runs([0, 0], [1, 1]), test="permutation", correction="none", level=level)
        assert told.p_values[0, 0] == 0.5
        assert told.significant[0, 0] == found
    sure = compare_runs(runs([0] * 4, [1] * 4), test="permutation", level=0.875)
    assert sure.p_values[0, 0] == 1 - sure.level == 0.125
    assert not sure.significant[0, 0]
    assert compare_runs(runs([0] * 4, [1] * 4), test="permutation", level=0.8745).significant[0, 0]


@pytest.mark.filterwarnings("error")
def test_a_metric_that_no_query_has_takes_nothing_from_the_others():
    rng = np.random.default_rng(3)
    known = rng.random((2, 6))
    nowhere = np.full(6, np.nan)
    found = compare_runs(runs([known[0], nowhere], [known[1], nowhere], names=("ap", "auc")))
    assert found.p_values[0, 0] == pytest.approx(stats.ttest_rel(known[1], known[0]).pvalue)
    assert np.isnan(found.lower[1, 0])
    assert not found.significant[1, 0]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("test", ["student", "permutation"])
def test_a_metric_that_no_query_has_is_not_tested_and_equal_runs_have_p_1(test):
    """Where all is relevant there is no pair of a relevant and an irrelevant label."""
    scores = {"one": [[1.0, 2.0]] * 3, "two": [[2.0, 1.0]] * 3}
    reports = {
        run: ranking_report([[1, 1]] * 3, each, metrics=["auc", "prec@1"], empty="skip", kind="gain")
        for run, each in scores.items()
    }
    found = compare_runs(reports, test=test)
    for column in (found.differences, found.lower, found.upper, found.p_values, found.adjusted):
        assert np.isnan(column[0, 0])
    assert found.has_untested
    assert (found.differences[1, 0], found.p_values[1, 0], found.adjusted[1, 0]) == (0.0, 1.0, 1.0)


@pytest.mark.filterwarnings("error")
def test_one_query_that_both_runs_have_is_too_few_for_student():
    first, second = [0.5, np.nan, 0.25], [0.75, 0.5, np.nan]
    found = compare_runs(runs(first, second))
    assert found.differences[0, 0] == 0.25
    assert np.isnan([found.lower[0, 0], found.upper[0, 0], found.p_values[0, 0], found.adjusted[0, 0]]).all()
    assert found.has_untested
    assert compare_runs(runs(first, second), test="permutation").p_values[0, 0] == 1.0  # both signs are as extreme
    assert not compare_runs(runs(first, second), test="permutation").has_untested


def test_each_metric_is_compared_with_its_own_values():
    rng = np.random.default_rng(6)
    values = rng.random((3, 2, 9)) * np.array([1.0, 1e9])[:, None]
    found = compare_runs(runs(*values, names=("ap", "dcg")), correction="bonferroni")
    rows = found.to_frame().to_dicts()
    wanted = [(name, j, i) for name in ("ap", "dcg") for i, j in itertools.combinations(range(3), 2)]
    assert [(row["metric"], "abc".index(row["run"]), "abc".index(row["against"])) for row in rows] == wanted
    for row, (name, run, against) in zip(rows, wanted, strict=True):
        m = ("ap", "dcg").index(name)
        p = stats.ttest_rel(values[run, m], values[against, m]).pvalue
        assert row["p_value"] == pytest.approx(p)
        assert row["p_adjusted"] == pytest.approx(min(1.0, 3 * p))
        assert row["significant"] == (3 * p < 0.05)


def test_a_name_that_no_file_can_hold_is_written_with_a_backslash():
    names = ("\ud800", "b")
    frame = compare_runs(
        {name: Report({"ap": np.array([k, 1.0])}, "gain", 2) for k, name in enumerate(names)}
    ).to_frame()
    assert frame["against"].to_list() == ["\\ud800"]
    assert frame["run"].to_list() == ["b"]


def test_who_is_better_on_a_metric_that_was_not_compared_is_refused():
    found = compare_runs(runs([[0, 0], [1, 0]], [[1, 0], [1, 1]], names=("ap", "rr")))
    with pytest.raises(InputError, match=r"^'dcg' was not compared; there are 'ap', 'rr'$"):
        found.better_than("dcg", "a")


@pytest.mark.parametrize("kind", ["gain", "loss"])
def test_letters_of_each_metric_are_its_own_and_in_order(kind):
    """The first metric grows from run to run, the second falls."""
    rng = np.random.default_rng(9)
    step = np.arange(4)[:, None] + rng.random((4, 12)) / 100
    values = np.stack([step, -step], axis=1) * (1 if kind == "gain" else -1)
    found = compare_runs(runs(*values, kind=kind, names=("ap", "rr")))
    assert found.kind == kind
    assert [found.better_than("ap", run) for run in "abcd"] == [(), ("a",), ("a", "b"), ("a", "b", "c")]
    assert [found.better_than("rr", run) for run in "abcd"] == [("b", "c", "d"), ("c", "d"), ("d",), ()]


def test_letters_are_small_then_large_then_numbers():
    many = {f"run {k}": Report({"ap": np.array([0.0, 1.0])}, "gain", 2) for k in range(53)}
    assert compare_runs(many).letters == tuple(str(k) for k in range(1, 54))
    some = compare_runs(dict(list(many.items())[:52])).letters
    assert some[:3] + some[25:28] + some[51:] == ("a", "b", "c", "z", "A", "B", "Z")


@pytest.mark.parametrize(
    ("option", "says"),
    [
        ({"level": 0.4999}, "level=0.4999: give a level from 0.5 to 0.9999"),
        ({"level": 0.99991}, "level=0.99991: give a level from 0.5 to 0.9999"),
        ({"permutations": 1.5}, "permutations=1.5: at least 1, a whole number"),
        ({"permutations": 0}, "permutations=0: at least 1, a whole number"),
        ({"seed": 0.5}, "seed=0.5: a whole number from 0"),
        ({"seed": -1}, "seed=-1: a whole number from 0"),
        ({"test": "sign"}, "test='sign' is unknown; choose one of 'student', 'permutation'"),
        ({"correction": "sidak"}, "correction='sidak' is unknown; choose one of 'holm', 'bonferroni', 'fdr', 'none'"),
    ],
)
def test_options_that_cannot_be_are_named(option, says):
    with pytest.raises(InputError) as problem:
        compare_runs(runs([0, 1], [1, 1]), **option)
    assert str(problem.value) == says


def test_options_at_their_ends_are_taken():
    pair = runs([0, 1, 0.5], [1, 1, 0])
    p = compare_runs(pair, test="permutation", permutations=np.int64(1), seed=np.int64(0), level=0.9999)
    assert p.level == 0.9999
    assert compare_runs(pair, level=0.5).level == 0.5
    theirs = stats.ttest_rel([1, 1, 0], [0, 1, 0.5]).confidence_interval(0.9999)
    assert (p.lower[0, 0], p.upper[0, 0]) == pytest.approx((theirs.low, theirs.high))


def test_runs_that_were_not_measured_alike_are_named_with_what_they_are():
    one = Report({"ap": np.ones(1), "rr": np.ones(1)}, "gain", 1)
    start = "runs 'x' and 'z' were not measured alike: gain of ap, rr over 1 query, and "
    for other, end in (
        (Report({"rr": np.ones(1), "ap": np.ones(1)}, "gain", 1), "gain of rr, ap over 1"),
        (Report({"ap": np.ones(1), "rr": np.ones(1)}, "loss", 1), "loss of ap, rr over 1"),
        (Report({"ap": np.ones(2), "rr": np.ones(2)}, "gain", 2), "gain of ap, rr over 2"),
    ):
        with pytest.raises(InputError) as problem:
            compare_runs({"x": one, "y": one, "z": other})
        assert str(problem.value) == start + end
    with pytest.raises(InputError, match="give a dictionary of run names"):
        compare_runs([one, one])
    with pytest.raises(InputError, match="fewer than two runs"):
        compare_runs({})
