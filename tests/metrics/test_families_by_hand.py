"""Families of losses against a slow twin of their definition, and each way in which a loss can leave one."""

from itertools import combinations, permutations, product

import pytest

from podium.errors import InputError
from podium.metrics import check_family, loss_family
from podium.metrics.families import FamilyCheck

from reference_metrics import loss_of

SAID = {
    "ap": "sum@K", "auc": "sum@K", "pairwise": "sum@K", "dcg": "sum@K", "ndcg": "sum@K",
    "sum@3": "sum@3", "dcg@2": "sum@2", "ndcg@4": "sum@4", "prec@2": "prec@2", "recall@3": "prec@3",
    "rr@1": "prec@1", "hit@1": "prec@1", "rr": None, "rr@2": None, "hit@2": None,
}  # fmt: skip


@pytest.mark.parametrize(("name", "family"), SAID.items())
def test_the_family_of_each_name(name, family):
    assert loss_family(name) == family


def top(kind, p, ranks):
    """What a family of losses may look at: the labels at ranks 1 to p, in order or as a set."""
    labels = sorted((rank, label) for label, rank in enumerate(ranks) if rank <= p)
    return tuple(label for _, label in labels) if kind == "sum" else frozenset(label for _, label in labels)


def belongs(loss, kind, p, K, B=1):
    """The definition: 0 where the family's loss is, and the same for rankings with the same top."""
    orders, grades = list(permutations(range(1, K + 1))), list(product(range(B + 1), repeat=K))
    for y in grades:
        if any((loss(pi, y) == 0) != (loss_of(kind, p, pi, y) < 1e-9) for pi in orders):
            return False
        for one, other in combinations(orders, 2):
            if top(kind, p, one) == top(kind, p, other) and loss(one, y) != loss(other, y):
                return False
    return True


LOSSES = {
    "sum of the first two": lambda pi, y: round(loss_of("sum", 2, pi, y), 9),
    "squared sum": lambda pi, y: round(loss_of("sum", 1, pi, y), 9) ** 2,
    "as a set": lambda pi, y: 3 * round(loss_of("prec", 2, pi, y), 9),
    "with the order of all": lambda pi, y: round(loss_of("prec", 2, pi, y), 9) * pi[0],
    "nothing": lambda pi, y: 0.0,
    "below 0": lambda pi, y: -round(loss_of("sum", 3, pi, y), 9),
    "the third place": lambda pi, y: float(y[pi.index(3)]),
}


@pytest.mark.parametrize("name", LOSSES)
def test_each_family_is_its_definition(name):
    loss = LOSSES[name]
    found = check_family(loss, K=3)
    assert list(found) == ["sum@1", "sum@2", "sum@3", "prec@1", "prec@2", "prec@3"]
    for family, check in found.items():
        kind, _, p = family.partition("@")
        assert check.family == family
        assert check.holds == bool(check) == belongs(loss, kind, int(p), 3)
        if check:
            assert (check.reason, check.relevance, check.ranks) == ("", (), ())
            continue
        first, zero = check.ranks[0], loss_of(kind, int(p), check.ranks[0], check.relevance) < 1e-9
        if check.reason == f"above 0 where {family} is 0":
            assert zero
            assert loss(first, check.relevance) != 0
        elif check.reason == f"0 where {family} is above 0":
            assert not zero
            assert loss(first, check.relevance) == 0
        else:
            assert check.reason == f"changes between rankings with the same top {p}"
            assert top(kind, int(p), first) == top(kind, int(p), check.ranks[1])
            assert loss(first, check.relevance) != loss(check.ranks[1], check.relevance)


def test_graded_relevance_is_tried_up_to_its_largest():
    """A loss that errs at grade 2 only is seen with B=2, and not with B=1, which is the default."""

    def errs(pi, y):
        return 1.0 if 2 in y else loss_of("sum", 2, pi, y)

    assert check_family(errs, K=2)["sum@2"]
    assert check_family(errs, K=2, B=1)["sum@2"]
    told = check_family(errs, K=2, B=2)["sum@2"]
    assert not told
    assert 2 in told.relevance
    assert max(check_family(lambda pi, y: 1.0 if 3 in y else 0.0, K=2, B=3)["sum@2"].relevance) <= 3


@pytest.mark.parametrize(("by", "told"), [(0.5e-12, False), (1.5e-12, True)])
def test_a_loss_of_rounding_alone_is_none(by, told):
    def above(pi, y):
        return by if loss_of("sum", 2, pi, y) < 1e-9 else loss_of("sum", 2, pi, y)

    def changes(pi, y):
        return loss_of("prec", 1, pi, y) and 1 + by * (pi == (1, 2, 3))

    assert bool(check_family(above, K=3)["sum@2"]) != told
    assert bool(check_family(changes, K=3)["prec@1"]) != told


def test_sizes_at_their_ends():
    assert len(check_family("auc", K=2)) == 4
    assert check_family("sum@2", K=2)["sum@2"]  # a cut-off of all labels
    for K in (1, 0, 2.5):
        with pytest.raises(InputError, match=f"K={K}"):
            check_family("auc", K=K)
    for B in (0, 1.5):
        with pytest.raises(InputError, match=f"B={B}"):
            check_family("auc", K=2, B=B)
    with pytest.raises(InputError, match=r"^sum@3: the cut-off is beyond K=2$"):
        check_family("sum@3", K=2)


def test_five_labels_are_the_most():
    found = check_family(lambda pi, y: 0.0, K=5)["sum@1"]
    assert (found.ranks, found.relevance) == (((1, 2, 3, 4, 5),), (0, 0, 0, 0, 1))  # the first ranking that breaks it
    with pytest.raises(InputError, match=r"^K=6: brute force covers 2 to 5 labels$"):
        check_family("auc", K=6)


def test_a_check_is_true_where_it_holds():
    assert FamilyCheck("sum@1", True)
    assert not FamilyCheck("sum@1", False)
    assert FamilyCheck("sum@1", True) == FamilyCheck("sum@1", True, "", (), ())
