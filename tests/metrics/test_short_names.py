"""Each short name is the metric it says, with every option; reports by any name; counterexamples of families."""

import numpy as np
import pytest

from podium.errors import InputError
from podium.metrics import check_family, compare_runs, losses, ranking_gain, ranking_loss, ranking_report
from podium.metrics.report import _canonical, _cuts, _in_threads

GRADES = np.array([[0, 2, 1, 0, 3], [1, 0, 0, 2, 0]])
SCORES = np.array([[0.5, 0.1, 0.9, 0.4, 0.3], [0.2, 0.8, 0.6, 0.1, 0.3]])
RANKS = np.argsort(np.argsort(-SCORES, axis=1), axis=1) + 1
FROM, BINARY = {"relevant_from": 2}, {}
NAMES = [
    ("precision_loss", "prec@2", "loss", {"p": 2}, "relevant_from"),
    ("average_precision_loss", "ap", "loss", {}, "relevant_from"),
    ("auc_loss", "auc", "loss", {}, "relevant_from"), ("reciprocal_rank_loss", "rr", "loss", {}, "relevant_from"),
    ("precision_at", "prec@2", "gain", {"p": 2}, "relevant_from"),
    ("recall_at", "recall@2", "gain", {"p": 2}, "relevant_from"),
    ("hit_at", "hit@2", "gain", {"p": 2}, "relevant_from"), ("average_precision", "ap", "gain", {}, "relevant_from"),
    ("auc", "auc", "gain", {}, "relevant_from"), ("reciprocal_rank", "rr", "gain", {}, "relevant_from"),
    ("sum_loss", "sum@2", "loss", {"p": 2}, None), ("pairwise_loss", "pairwise", "loss", {}, None),
    ("dcg_loss", "dcg@3", "loss", {"p": 3}, "gain"), ("ndcg_loss", "ndcg@3", "loss", {"p": 3}, "gain"),
    ("dcg_loss", "dcg", "loss", {}, "gain"), ("ndcg_loss", "ndcg", "loss", {}, "gain"),
    ("dcg", "dcg@3", "gain", {"p": 3}, "gain"), ("ndcg", "ndcg@3", "gain", {"p": 3}, "gain"),
    ("dcg", "dcg", "gain", {}, "gain"), ("ndcg", "ndcg", "gain", {}, "gain"),
]  # fmt: skip


@pytest.mark.parametrize(("short", "name", "kind", "cut", "option"), NAMES)
def test_a_short_name_is_the_metric_it_says(short, name, kind, cut, option):
    call, whole = getattr(losses, short), ranking_loss if kind == "loss" else ranking_gain
    more = {
        "relevant_from": [{"relevant_from": 1}, {"relevant_from": 2}],
        "gain": [{"gain": "exp"}, {"gain": "linear"}],
    }
    for options in more.get(option, [{}]):
        expected = whole(name, GRADES, SCORES, **options)
        assert call(GRADES, SCORES, **cut, **options).tolist() == expected.tolist()
        assert call(GRADES, ranks=RANKS, **cut, **options).tolist() == pytest.approx(expected.tolist())
        assert call(GRADES[0], SCORES[0], **cut, **options) == expected[0]
    values = [whole(name, GRADES, SCORES, **options).tolist() for options in more.get(option, [])]
    assert not values or values[0] != values[1] or name == "dcg@3"  # which sees relevance 0 and 1 alone here
    assert option != "gain" or call(GRADES, SCORES, **cut).tolist() == whole(name, GRADES, SCORES, gain="exp").tolist()


def test_a_report_is_read_by_any_name_of_a_metric():
    found = ranking_report((GRADES > 0).astype(int), SCORES)
    assert {name.partition("@")[2] for name in found} == {"", "1", "3", "5"}  # at 1, 3 and 5 unless told
    assert _canonical("map") == "ap"
    assert found["map"] == found["ap"]
    assert _canonical("nonsense") == "nonsense"
    with pytest.raises(KeyError):
        found["nonsense"]
    assert "nonsense" not in found
    assert _cuts((3, 1, 3)) == (3, 1)
    for at in ((0,), (True,), (1.5,), "13", 3):
        with pytest.raises(InputError, match="at="):
            _cuts(at)


def test_the_first_counterexample_of_a_family_is_named():
    """A loss that looks at the third place alone: no family with less than three places has it."""

    def third(ranks, grades):
        return float(grades[ranks.index(3)])

    for family, check in check_family(third, K=3).items():
        assert not check
        if len(check.ranks) == 2:
            one, other = (third(ranks, check.relevance) for ranks in check.ranks)
            assert one != other
        else:
            zero = ranking_loss(family, [check.relevance], ranks=[check.ranks[0]])[0] == 0
            assert (third(check.ranks[0], check.relevance) == 0) != zero


def test_runs_are_compared_by_signs_of_all_patterns_or_of_some():
    """Four queries: of 16 patterns of signs two are as extreme; thirty: about those of a binomial."""
    from scipy.stats import binomtest

    few = {"a": [[1, 0]] * 4, "b": [[0, 1]] * 4}
    reports = {name: ranking_report([[1, 0]] * 4, np.array(scores, float), at=(1,)) for name, scores in few.items()}
    p = compare_runs(reports, test="permutation").to_frame()
    assert p.filter(p["metric"] == "ap")["p_value"].to_list() == pytest.approx([2 / 16])
    better = np.arange(30) < 21
    scores = {"a": np.column_stack([better, ~better]) * 1.0, "b": np.column_stack([~better, better]) * 1.0}
    reports = {name: ranking_report([[1, 0]] * 30, each, at=(1,)) for name, each in scores.items()}
    p = compare_runs(reports, test="permutation", permutations=20_000, seed=3).to_frame()
    wanted = binomtest(21, 30).pvalue
    assert p.filter(p["metric"] == "ap")["p_value"].to_list() == pytest.approx([wanted], abs=0.005)


@pytest.mark.parametrize("threads", [1, 2])
def test_what_goes_wrong_in_a_thread_is_raised(threads):
    seen = []

    def work(first, last):
        seen.append((first, last))
        if first == 2:
            raise InputError("row 3 is bad")

    with pytest.raises(InputError, match="row 3 is bad"):
        _in_threads(work, [(0, 2), (2, 4)], threads)
    _in_threads(work, [(0, 2), (4, 6)], threads)
    assert set(seen) == {(0, 2), (2, 4), (4, 6)}
    with pytest.raises(InputError, match="threads=0: at least 1"):
        _in_threads(work, [(0, 2)], 0)
