"""Tests between runs: against scipy, every pattern of signs, and the corrections' own procedures."""

import itertools

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from podium.errors import InputError
from podium.metrics import Report, compare_runs
from podium.metrics.names import ALIASES, KINDS, parse
from podium.numeric import CORRECTIONS, adjusted_p_values


def reports(values, kind="gain", names=("ap",)):
    """Runs a, b, … with one value for each metric and query: values[run][metric][query]."""
    values = np.asarray(values, dtype=float)
    made = {}
    for run, each in zip("abcdefgh", values, strict=False):
        made[run] = Report(dict(zip(names, each, strict=True)), kind, values.shape[2])
    return made


@pytest.mark.parametrize("queries", [2, 5, 200])
def test_the_t_test_and_its_interval_are_those_of_scipy(queries):
    rng = np.random.default_rng(queries)
    values = rng.random((3, 2, queries))
    found = compare_runs(reports(values, names=("ap", "rr")), level=0.9, correction="none")
    frame = found.to_frame()
    assert len(frame) == 6
    for row in frame.to_dicts():
        m = ("ap", "rr").index(row["metric"])
        run, against = (values["abc".index(row[name]), m] for name in ("run", "against"))
        theirs = stats.ttest_rel(run, against)
        low, high = theirs.confidence_interval(0.9)
        told = [row[name] for name in ("difference", "lower", "upper", "p_value", "p_adjusted")]
        assert_allclose(told, [np.mean(run - against), low, high, theirs.pvalue, theirs.pvalue], rtol=1e-9)


def test_a_query_without_a_value_is_left_out_of_the_pair():
    rng = np.random.default_rng(3)
    values = rng.random((2, 1, 9))
    values[0, 0, 2] = values[1, 0, 5] = np.nan
    both = ~np.isnan(values).any(axis=(0, 1))
    found = compare_runs(reports(values))
    assert found.queries.tolist() == [[7]]
    assert found.to_frame()["queries"].to_list() == [7]
    assert found.p_values[0, 0] == pytest.approx(stats.ttest_rel(values[1, 0, both], values[0, 0, both]).pvalue)
    exact = compare_runs(reports(values), test="permutation")
    assert exact.p_values[0, 0] == pytest.approx(brute(values[1, 0, both] - values[0, 0, both]))


def brute(gap):
    """Share of all patterns of signs with a mean as far from 0 as the one seen."""
    means = [abs(np.dot(signs, gap)) for signs in itertools.product((-1, 1), repeat=len(gap))]
    return np.mean(np.array(means) >= abs(gap.sum()) - 1e-12)


@pytest.mark.parametrize("queries", [1, 2, 7, 10])
def test_few_queries_are_permuted_in_every_way(queries):
    rng = np.random.default_rng(queries)
    values = rng.integers(0, 4, (3, 1, queries)) / 4  # with ties between the sums
    found = compare_runs(reports(values), test="permutation")
    expected = [brute(values[j, 0] - values[i, 0]) for i, j in found.pairs]
    assert_allclose(found.p_values[0], expected)


def test_many_queries_are_permuted_at_random_and_p_is_never_0():
    rng = np.random.default_rng(0)
    gap = rng.normal(0.1, 1.0, 18)
    values = np.stack([np.zeros((1, 18)), gap[None]])
    exact = np.abs(np.array(list(itertools.product((-1.0, 1.0), repeat=18))) @ gap)
    expected = np.mean(exact >= abs(gap.sum()) - 1e-9)
    found = compare_runs(reports(values), test="permutation", permutations=40_000, seed=1).p_values[0, 0]
    assert abs(found - expected) < 5 * np.sqrt(expected * (1 - expected) / 40_000)
    surely = compare_runs(reports(np.stack([np.zeros((1, 90)), np.ones((1, 90))])), test="permutation", permutations=99)
    assert surely.p_values[0, 0] == pytest.approx(1 / 100)


def test_the_permutation_test_keeps_its_level():
    rng = np.random.default_rng(8)
    values = rng.exponential(size=(2, 400, 20))  # 400 null comparisons of 20 queries each
    found = compare_runs(reports(values, names=[f"m{k}" for k in range(400)]), test="permutation", permutations=400)
    assert abs((found.p_values < 0.05).mean() - 0.05) < 4 * np.sqrt(0.05 * 0.95 / 400)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("test", ["student", "permutation"])
def test_differences_that_are_the_same_but_for_rounding_are_no_evidence_for_student(test):
    first = np.array([0.1, 0.2, 0.3, 0.7])
    assert len({*(first + 0.1 - first).tolist()}) > 1  # not equal to the bit
    found = compare_runs(reports([[first], [first + 0.1]]), test=test)
    assert found.differences[0, 0] == pytest.approx(0.1)
    assert np.isnan(found.lower[0, 0])
    assert np.isnan(found.p_values[0, 0]) if test == "student" else found.p_values[0, 0] == 2 / 16
    assert not found.significant.any()
    for other in (first, first + 1e-17, first * (1 + 1e-16)):
        assert compare_runs(reports([[first], [other]]), test=test).p_values[0, 0] == 1.0


def rejected(p_values, level, correction):
    """Which hypotheses a procedure rejects, step by step as its authors wrote it."""
    order, count = np.argsort(p_values), len(p_values)
    if correction == "none":
        return p_values <= level
    if correction == "bonferroni":
        return p_values <= level / count
    out = np.zeros(count, dtype=bool)
    if correction == "holm":
        for k, at in enumerate(order):
            if p_values[at] > level / (count - k):
                break
            out[at] = True
    else:
        passed = [k for k, at in enumerate(order, start=1) if p_values[at] <= level * k / count]
        out[order[: max(passed, default=0)]] = True
    return out


@pytest.mark.parametrize("correction", CORRECTIONS)
def test_an_adjusted_p_is_the_least_level_at_which_the_procedure_rejects(correction):
    rng = np.random.default_rng(4)
    for count in (1, 2, 3, 10):
        p_values = rng.random(count) ** 3
        adjusted = adjusted_p_values(p_values, correction)
        for k, level in enumerate(adjusted):
            assert level == 1.0 or rejected(p_values, level + 1e-12, correction)[k]
            assert not rejected(p_values, level - 1e-12, correction)[k]


def test_false_discoveries_are_those_of_scipy_and_no_test_is_no_test():
    p_values = np.array([0.01, np.nan, 0.02, 0.4])
    found = adjusted_p_values(p_values, "fdr")
    assert_allclose(found[[0, 2, 3]], stats.false_discovery_control([0.01, 0.02, 0.4]))
    assert np.isnan(found[1])
    assert_allclose(adjusted_p_values(p_values, "bonferroni")[0], 0.03)  # three tests, not four


@pytest.mark.parametrize("kind", ["gain", "loss"])
def test_letters_name_the_runs_that_are_worse(kind):
    rng = np.random.default_rng(2)
    base = rng.random(30)
    step = 1.0 if kind == "gain" else -1.0
    values = [[base + step * by + 0.01 * rng.random(30)] for by in (0.1, 0.0, 0.2)]
    found = compare_runs(reports(values, kind=kind))
    assert [found.better_than("ap", run) for run in "abc"] == [("b",), (), ("a", "b")]
    with pytest.raises(InputError, match="'z' was not compared; there are 'a', 'b', 'c'"):
        found.better_than("ap", "z")


def test_more_runs_than_letters_have_numbers():
    rng = np.random.default_rng(2)
    many = {f"run {k}": Report({"ap": rng.random(4)}, "gain", 4) for k in range(53)}
    assert compare_runs(many).letters[-1] == "53"
    assert len(compare_runs(dict(list(many.items())[:52])).letters[-1]) == 1


def test_what_cannot_be_compared_is_named():
    one, other = Report({"ap": np.ones(3)}, "gain", 3), Report({"ap": np.ones(4)}, "gain", 4)
    for bad, says in (
        ({"x": one}, "fewer than two runs"),
        ({"x": one, "y": other}, "runs 'x' and 'y' were not measured alike: gain of ap over 3 queries, and gain of ap"),
        ({"x": one, "y": 3}, "give a dictionary of run names"),
    ):
        with pytest.raises(InputError, match=says):
            compare_runs(bad)
    for option in ({"test": "sign"}, {"correction": "sidak"}, {"level": 1.0}, {"permutations": 0}, {"seed": -1}):
        with pytest.raises(InputError, match=next(iter(option)) + "="):
            compare_runs({"x": one, "y": one}, **option)
    least = compare_runs({"x": one, "y": one}, test="permutation", permutations=1, level=0.5, seed=0)
    assert least.p_values.min() >= 0.5  # one of two orders


NAMES = {  # trec_eval, ir_measures, ranx, papers
    "map": "ap", "recip_rank": "rr", "P_10": "prec@10", "recall_100": "recall@100", "ndcg_cut_10": "ndcg@10",
    "success_1": "hit@1", "AP": "ap", "RR@10": "rr@10", "P@5": "prec@5", "R@100": "recall@100", "nDCG@10": "ndcg@10",
    "Success@5": "hit@5", "MRR": "rr", "mrr@10": "rr@10", "precision@3": "prec@3", "hit_rate@2": "hit@2",
    "hits@2": "hit@2", "P.10": "prec@10", "ndcg": "ndcg",
}  # fmt: skip
ODD_NAMES = ("", "p", "P@", "P@-1", "map_cut_10", "ndcg_burges@10", "Rprec", "@10", "p@1_0", "P@¹", "ap@ap")


def test_names_of_other_programs_are_understood():
    assert {name: str(parse(name)) for name in NAMES} == NAMES
    assert set(ALIASES.values()) <= set(KINDS)
    report = Report({"ap": np.array([0.5, 1.0])}, "gain", 2)
    assert report["map"] == report["AP"] == 0.75
    with pytest.raises(KeyError, match="'rr' was not asked for"):
        report["mrr"]


@pytest.mark.parametrize(
    "name", ["", "p", "P@", "P@-1", "map_cut_10", "ndcg_burges@10", "Rprec", "@10", "p@1_0", "P@¹", "ap@ap"]
)
def test_what_is_no_metric_is_refused(name):
    with pytest.raises(InputError, match=r"is no metric|needs a cut-off|takes no cut-off"):
        parse(name)


def test_the_frame_says_null_for_what_there_is_no_evidence_for():
    frame = compare_runs(reports([[np.ones(3)], [np.zeros(3)]])).to_frame()
    assert frame.select("lower", "upper", "p_value", "p_adjusted").row(0) == (None,) * 4
    assert frame.schema["significant"] == pl.Boolean
