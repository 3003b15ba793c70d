"""Distances at the edges: weights in every variant, no items and one, lists by hand, and what is refused."""

import numpy as np
import pytest
from scipy.stats import rankdata

from podium.errors import InputError
from podium.metrics import footrule, kendall_distance, kendall_tau, top_k_footrule, top_k_kendall

from reference_metrics import kendall_pairs
from reference_metrics import top_k_kendall as slow_top_k


@pytest.mark.parametrize("seed", range(6))
def test_weighted_tau_is_its_definition_in_every_variant(seed):
    rng = np.random.default_rng(seed)
    a, b = rng.integers(0, 4, (2, 12)).astype(float)
    w = rng.integers(0, 3, 12) + 0.25
    slow = kendall_pairs(a, b, w)
    pairs, apart = sum(slow.values()), slow["agree"] - slow["against"]
    not_a, not_b = (pairs - slow[name] - slow["both"] for name in "ab")
    wanted = {
        "a": apart / pairs,
        "b": apart / np.sqrt(not_a * not_b),
        "gamma": apart / (slow["agree"] + slow["against"]),
    }
    for variant, value in wanted.items():
        assert kendall_tau(a, b, weight=w, variant=variant) == pytest.approx(value)
    assert kendall_tau(a, b, weight=w) == pytest.approx(wanted["b"])
    assert not np.isclose(wanted["a"], wanted["b"])
    assert kendall_distance(a, b, weight=w) == pytest.approx(slow["against"] + (slow["a"] + slow["b"]) / 2)


@pytest.mark.parametrize("variant", ["a", "b", "gamma"])
def test_tau_of_no_pair_is_not_a_number(variant):
    for a, b in (([], []), ([1], [2])):
        assert np.isnan(kendall_tau(a, b, variant=variant))
    assert np.isnan(kendall_tau([1, 2], [1, 2], weight=[1, 0], variant=variant))
    constant = kendall_tau([1, 1, 1], [1, 2, 3], variant=variant)
    assert constant == 0 if variant == "a" else np.isnan(constant)


def test_no_items_and_one_are_at_no_distance():
    for distance in (kendall_distance, footrule):
        assert distance([], []) == distance([3], [5]) == 0.0
        assert isinstance(distance([], []), float)
    for distance in (top_k_kendall, top_k_footrule):
        assert distance([], []) == distance(["a"], ["a"]) == 0.0


@pytest.mark.parametrize("ties", [0, 0.5, 1, 0.25])
def test_a_pair_tied_in_one_list_counts_what_it_is_told_to(ties):
    assert kendall_distance([1, 1], [1, 2], ties=ties) == kendall_distance([1, 2], [1, 1], ties=ties) == ties
    assert kendall_distance([1, 1], [2, 2], ties=ties) == 0
    assert kendall_distance([1, 2], [2, 1], ties=ties) == 1
    assert top_k_kendall("ab", "", ties=ties) == top_k_kendall("", "ab", ties=ties) == ties


def test_a_tie_and_an_unknown_order_count_one_half_unless_told():
    assert kendall_distance([1, 1], [1, 2]) == 0.5
    assert top_k_kendall("ab", "cd") == 4 + 2 * 0.5


@pytest.mark.parametrize("seed", range(4))
def test_the_weighted_footrule_is_a_sum_over_items(seed):
    rng = np.random.default_rng(seed)
    a, b, w = rng.integers(0, 5, 9), rng.integers(0, 5, 9), rng.random(9)
    one, other = rankdata(a), rankdata(b)
    assert footrule(a, b, weight=w) == pytest.approx(sum(w[i] * abs(one[i] - other[i]) for i in range(9)))
    assert footrule(a, b) == pytest.approx(sum(abs(one - other)))


@pytest.mark.parametrize("seed", range(8))
def test_lists_of_unlike_lengths_are_fagins_case_by_case(seed):
    rng = np.random.default_rng(seed)
    a, b = (rng.permutation(9)[: rng.integers(0, 9)].tolist() for _ in range(2))
    for ties in (0.0, 0.3, 1.0):
        assert top_k_kendall(a, b, ties=ties) == pytest.approx(slow_top_k(a, b, ties))


@pytest.mark.parametrize("seed", range(8))
def test_the_footrule_of_two_lists_puts_the_missing_behind_the_last(seed):
    rng = np.random.default_rng(seed)
    k = int(rng.integers(1, 6))
    a, b = (rng.permutation(8)[:k].tolist() for _ in range(2))
    place = [{item: each.index(item) + 1 if item in each else k + 1 for item in range(8)} for each in (a, b)]
    wanted = sum(abs(place[0][item] - place[1][item]) for item in range(8))
    found = top_k_footrule(a, b)
    assert found == wanted
    assert isinstance(found, float)


NAN, INF = float("nan"), float("inf")
SHAPES = "two vectors of equal length are needed; got shapes "


@pytest.mark.parametrize("distance", [kendall_tau, kendall_distance, footrule])
@pytest.mark.parametrize(
    ("a", "b", "weight", "says"),
    [
        ([1, 2], [1, 2, 3], None, SHAPES + r"\(2,\), \(3,\), weights \(2,\)$"),
        ([1, 2], [1, 2], [1, 2, 3], SHAPES + r"\(2,\), \(2,\), weights \(3,\)$"),
        ([[1, 2]], [[1, 2]], None, SHAPES + r"\(1, 2\), \(1, 2\), weights \(1, 2\)$"),
        (3, 4, None, SHAPES + r"\(\), \(\), weights \(\)$"),
        ([1, NAN], [1, 2], None, "^a: item 2 is NaN; leave the item out$"),
        ([1, 2], [NAN, NAN], None, "^b: item 1 is NaN"),
        ([1, 2, 3], [1, 2, 3], [1, 1, NAN], "^weight: item 3 is NaN"),
        ([1, 2, 3], [1, 2, 3], [1, -1, -1], "^weight: item 2 is not a number from 0 up$"),
        ([1, 2, 3], [1, 2, 3], [1, 2, INF], "^weight: item 3 is not a number from 0 up$"),
        ([1, 2, 3], [1, 2, 3], [0, INF, -1], "^weight: item 2 is not a number from 0 up$"),
        (["x"], [1], None, "^a: numbers are expected"),
        ([1], ["x"], None, "^b: numbers are expected"),
        ([1], [1], ["x"], "^weight: numbers are expected"),
    ],
)
def test_vectors_that_cannot_be_compared_are_named(distance, a, b, weight, says):
    with pytest.raises(InputError, match=says):
        distance(a, b, weight=weight)


def test_infinite_scores_have_a_place():
    assert kendall_distance([INF, 0, -INF], [1, 2, 3]) == 3
    assert footrule([INF, 0, -INF], [1, 2, 3]) == 4


@pytest.mark.parametrize("ties", [-0.01, 1.01, NAN, "half"])
def test_what_a_tie_cannot_count_is_refused(ties):
    with pytest.raises(InputError, match=r"^ties="):
        kendall_distance([1, 2], [1, 2], ties=ties)
    with pytest.raises(InputError, match=r"^ties="):
        top_k_kendall("ab", "ab", ties=ties)


def test_refusals_say_which_and_where():
    with pytest.raises(InputError, match=r"^ties=1\.5: a tied pair counts from 0 to 1$"):
        kendall_distance([1, 2], [1, 2], ties=1.5)
    with pytest.raises(InputError, match=r"^ties=1\.5: a pair of unknown order counts from 0 to 1$"):
        top_k_kendall("ab", "ab", ties=1.5)
    with pytest.raises(InputError, match=r"^variant='c' is unknown; choose 'a', 'b' or 'gamma'$"):
        kendall_tau([1, 2], [1, 2], variant="c")
    with pytest.raises(InputError, match=r"^the lists hold 2 and 1 item; cut both to the same k$"):
        top_k_footrule("ab", "c")
    with pytest.raises(InputError, match=r"^item 'b' stands at rank 2 and at rank 4; list it once$"):
        top_k_footrule("abcb", "abcd")
