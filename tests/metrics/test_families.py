"""Table 1 of the paper by brute force, and the lemmas its losses must satisfy."""

from itertools import permutations, product

import numpy as np
import pytest

from podium.errors import InputError
from podium.metrics import check_family, loss_family

from reference_metrics import loss_of

K = 4
NAMES = [
    "sum@1",
    "sum@2",
    "prec@1",
    "prec@3",
    "recall@2",
    "ap",
    "auc",
    "pairwise",
    "dcg",
    "dcg@2",
    "ndcg@3",
    "rr@1",
    "hit@1",
]


@pytest.mark.parametrize("name", NAMES)
def test_a_loss_is_in_the_family_it_is_said_to_be_in(name):
    family = loss_family(name).replace("K", str(K))
    assert check_family(name, K)[family].holds


@pytest.mark.parametrize("name", ["sum@2", "prec@2", "pairwise", "dcg@2", "ndcg@2", "dcg"])
def test_graded_relevance_keeps_the_family(name):
    family = loss_family(name).replace("K", "3")
    assert check_family(name, 3, B=2)[family].holds


def test_reciprocal_rank_is_in_no_family():
    assert loss_family("rr") is None
    assert not any(check_family("rr", K).values())
    found = check_family("rr", K)["prec@1"]
    first, second = found.ranks
    assert first.index(1) == second.index(1)  # the same label on top
    assert loss_of("rr", None, first, found.relevance) != loss_of("rr", None, second, found.relevance)


def test_hits_beyond_the_first_place_are_in_no_family():
    assert loss_family("hit@2") is None
    assert not any(check_family("hit@2", K).values())


@pytest.mark.parametrize("name", ["sum@1", "prec@1", "dcg@1"])
def test_at_one_both_families_are_the_same(name):
    found = check_family(name, K, B=2 if K == 3 else 1)
    assert found["sum@1"]
    assert found["prec@1"]


def test_the_last_place_decides_nothing():
    """sum@(K-1) is sum@K."""
    found = check_family(f"sum@{K - 1}", K)
    assert found[f"sum@{K}"].holds
    assert check_family(f"sum@{K}", K)[f"sum@{K - 1}"].holds


def test_a_loss_that_charges_empty_rows_leaves_its_family():
    def charged(ranks, y):
        return 1.0 if sum(y) == 0 else loss_of("ap", None, ranks, y)

    found = check_family(charged, 3)["sum@3"]
    assert not found
    assert found.reason == "above 0 where sum@3 is 0"
    assert found.relevance == (0, 0, 0)


def binrel(ranks, j):
    return tuple(int(r <= j) for r in ranks)


@pytest.mark.parametrize(("name", "holds"), [("prec@2", True), ("rr@1", True), ("rr", False)])
def test_lemma_e2_holds_in_the_family_and_fails_for_reciprocal_rank(name, holds):
    """loss(pi, y) <= loss(other, y) + c loss(pi, BinRel(other, p)), at K = 4 with binary relevance."""
    kind, _, at = name.partition("@")
    p = int(at) if at else 1
    cut = int(at) if at else None
    orders, grades = list(permutations(range(1, K + 1))), list(product((0, 1), repeat=K))
    loss = {(pi, y): loss_of(kind, cut, pi, y) for pi in orders for y in grades}
    positive = [v for v in loss.values() if v > 1e-12]
    c = max(positive) / min(positive)
    broken = sum(
        loss[pi, y] > loss[other, y] + c * loss[pi, binrel(other, p)] + 1e-12
        for pi in orders
        for other in orders
        for y in grades
    )
    assert broken == (0 if holds else 240)


@pytest.mark.parametrize(("kind", "p"), [("sum", 1), ("sum", 2), ("sum", 3), ("sum", 4), ("prec", 2), ("prec", 3)])
def test_lemmas_e3_and_e4_a_loss_sees_every_label_on_the_wrong_side_of_a_cut(kind, p):
    """loss(pi, BinRel(other, j)) >= 1 if a label is among the first j of one only: j <= p for sum@p, j = p for prec@p,
    at K = 4. Beyond that it fails: prec@p is blind to j < p."""
    orders = list(permutations(range(1, K + 1)))

    def broken(j):
        return sum(
            loss_of(kind, p, pi, binrel(other, j)) < (binrel(pi, j) != binrel(other, j)) - 1e-12
            for pi in orders
            for other in orders
        )

    assert [broken(j) for j in range(1 if kind == "sum" else p, p + 1)] == [0] * (p if kind == "sum" else 1)
    if kind == "prec":
        assert broken(1) > 0


def test_bad_sizes_are_refused():
    with pytest.raises(InputError, match="2 to 5 labels"):
        check_family("ap", 6)
    with pytest.raises(InputError, match="at least 1"):
        check_family("ap", 3, B=0)
    with pytest.raises(InputError, match="beyond K=3"):
        check_family("sum@4", 3)
    with pytest.raises(InputError, match="ap needs relevance 0 or 1"):
        check_family("ap", 3, B=2)
    assert np.isfinite(len(check_family("ap", 2)))
