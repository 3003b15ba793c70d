"""Distances between rankings against double loops and SciPy."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import kendalltau

from podium.errors import InputError
from podium.metrics import footrule, kendall_distance, kendall_tau, top_k_footrule, top_k_kendall

from reference_metrics import kendall_pairs
from reference_metrics import top_k_kendall as slow_top_k

values = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5), st.integers(0, 3)), min_size=2, max_size=30)


@settings(max_examples=80, deadline=None)
@given(values, st.sampled_from([0.0, 0.5, 1.0]))
def test_weighted_distance_counts_pairs_one_by_one(rows, ties):
    a, b, w = np.array(rows, dtype=float).T
    slow = kendall_pairs(a, b, w)
    truth = slow["against"] + ties * (slow["a"] + slow["b"])
    assert kendall_distance(a, b, weight=w, ties=ties) == pytest.approx(truth)


@settings(max_examples=80, deadline=None)
@given(values)
def test_tau_is_scipys_and_its_variants_are_the_definitions(rows):
    a, b, _ = np.array(rows, dtype=float).T
    slow = kendall_pairs(a, b, np.ones(len(a)))
    pairs = len(a) * (len(a) - 1) / 2
    assert kendall_tau(a, b, variant="a") == pytest.approx((slow["agree"] - slow["against"]) / pairs)
    scipys = kendalltau(a, b).statistic
    assert kendall_tau(a, b) == pytest.approx(scipys, nan_ok=True)


@pytest.mark.parametrize("variant", ["a", "b", "gamma"])
def test_tau_stays_between_its_ends_whatever_is_rounded(variant):
    rng = np.random.default_rng(0)
    for count in (2, 5, 9) * 30:
        scores, weight = rng.integers(0, 4, count), rng.random(count)
        for tau in (kendall_tau(scores, each, weight=weight, variant=variant) for each in (scores, -scores)):
            assert np.isnan(tau) or -1 <= tau <= 1
    ordered = np.arange(6)
    assert kendall_tau(ordered, -ordered, weight=rng.random(6), variant=variant) == pytest.approx(-1)


def test_a_long_ranking_against_its_reverse():
    n = 20_000
    assert kendall_distance(np.arange(n), -np.arange(n)) == n * (n - 1) / 2
    assert footrule(np.arange(n), -np.arange(n)) == n * n / 2
    assert kendall_tau(np.arange(n), np.arange(n) ** 3.0) == 1.0


def test_tied_items_share_their_mean_rank():
    assert footrule([1, 1, 2], [1, 2, 3]) == 1.0


@settings(max_examples=80, deadline=None)
@given(
    st.permutations(list("abcdefg")), st.permutations(list("abcdefg")), st.integers(1, 5), st.sampled_from([0.0, 0.5])
)
def test_top_k_kendall_is_fagins_case_by_case(a, b, k, ties):
    assert top_k_kendall(a[:k], b[:k], ties=ties) == pytest.approx(slow_top_k(a[:k], b[:k], ties))
    assert top_k_kendall(a, b) == kendall_distance([a.index(x) for x in "abcdefg"], [b.index(x) for x in "abcdefg"])


@given(
    st.permutations(list("abcdef")), st.permutations(list("abcdef")), st.permutations(list("abcdef")), st.integers(1, 4)
)
@settings(max_examples=60, deadline=None)
def test_top_k_footrule_is_a_metric(a, b, c, k):
    ab, ba = top_k_footrule(a[:k], b[:k]), top_k_footrule(b[:k], a[:k])
    assert ab == ba
    assert (ab == 0) == (a[:k] == b[:k])
    assert top_k_footrule(a[:k], c[:k]) <= ab + top_k_footrule(b[:k], c[:k])


def test_disjoint_lists_are_as_far_as_can_be():
    assert top_k_footrule("ab", "cd") == 2 * (2 + 1)
    assert top_k_kendall("ab", "cd", ties=0) == 4


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: kendall_tau([1, 2], [1, 2, 3]), "equal length"),
        (lambda: kendall_tau([1, float("nan")], [1, 2]), "a: item 2 is NaN"),
        (lambda: kendall_tau([1, 2], [1, 2], weight=[1, -1]), "weight: item 2"),
        (lambda: kendall_tau([1, 2], [1, 2], variant="c"), "variant='c'"),
        (lambda: kendall_distance([1, 2], [1, 2], ties=2), "from 0 to 1"),
        (lambda: top_k_kendall("aa", "ab"), "'a' stands at rank 1 and at rank 2"),
        (lambda: top_k_footrule("a", "ab"), "the same k"),
    ],
)
def test_bad_input_is_named(call, says):
    with pytest.raises(InputError, match=says):
        call()


@pytest.mark.parametrize("distance", [top_k_footrule, top_k_kendall])
def test_a_list_cannot_be_an_item(distance):
    with pytest.raises(InputError, match=r"rank 2 is \['b'\], which cannot be a label; use text, numbers or tuples"):
        distance(["a", ["b"]], ["a", "b"])
    with pytest.raises(InputError, match=r"rank 1 is \{\}"):
        distance(["a", "b"], [{}, "b"])
    for alone in (5, np.array(5)):
        with pytest.raises(InputError, match="is no list; give the items of each ranking"):
            distance(["a"], alone)
