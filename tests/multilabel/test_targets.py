"""The target of each loss is Bayes-optimal: checked on random distributions of relevance, against every ranking."""

from itertools import permutations, product

import numpy as np
import pytest
from scipy import sparse

from podium.errors import InputError
from podium.metrics import ranking_loss
from podium.metrics.names import parse
from podium.multilabel.targets import targets_for

K = 4
RANKS = np.array(list(permutations(range(1, K + 1))))


def expected_losses(name, rows, chances):
    """Expected loss of every ranking under a distribution over relevance rows."""
    return np.array([chances @ ranking_loss(name, rows, ranks=np.tile(pi, (len(rows), 1))) for pi in RANKS])


def regret_of_target(name, top, seed):
    """Expected loss of sorting by the expected target, less that of the best ranking."""
    rng = np.random.default_rng(seed)
    rows = np.array(list(product(range(top + 1), repeat=K)))
    chances = rng.dirichlet(np.full(len(rows), 0.08))
    found = targets_for(parse(name), sparse.csr_array(rows.astype(float)), top)
    scores = (chances * found.weight) @ found.values.toarray()
    order = np.argsort(-scores, kind="stable")
    mine = tuple(np.argsort(order) + 1)
    losses = expected_losses(name, rows, chances)
    return losses[[tuple(pi) for pi in RANKS].index(mine)] - losses.min(), found.exact


@pytest.mark.parametrize(
    ("name", "top"),
    [
        ("sum@1", 1), ("sum@2", 2), ("sum@4", 3), ("prec@2", 1), ("prec@3", 2), ("recall@2", 1), ("auc", 1),
        ("pairwise", 1), ("dcg", 2), ("dcg@2", 3), ("ndcg", 2), ("ndcg@2", 2), ("ndcg@1", 1), ("rr@1", 1), ("hit@1", 1),
    ],
)  # fmt: skip
def test_sorting_by_the_expected_target_is_the_best_ranking(name, top):
    for seed in range(15):
        regret, exact = regret_of_target(name, top, seed)
        assert exact
        assert regret < 1e-12


@pytest.mark.parametrize(("name", "top"), [("ap", 1), ("rr", 1), ("hit@2", 1), ("pairwise", 2)])
def test_losses_without_a_target_say_so_and_truly_have_none_of_this_kind(name, top):
    found = [regret_of_target(name, top, seed) for seed in range(60)]
    assert not any(exact for _, exact in found)
    assert max(regret for regret, _ in found) > 1e-3


def test_bad_relevance_is_refused():
    graded = sparse.csr_array(np.array([[2.0, 0.0]]))
    with pytest.raises(InputError, match="ap needs relevance 0 or 1"):
        targets_for(parse("ap"), graded, 2)
    with pytest.raises(InputError, match="whole grades"):
        targets_for(parse("dcg"), sparse.csr_array(np.array([[0.5, 0.0]])), 0.5)
    with pytest.raises(InputError, match="no pair"):
        targets_for(parse("auc"), sparse.csr_array(np.array([[1.0, 1.0]])), 1)


@pytest.mark.parametrize("name", ["dcg", "ndcg@2"])
def test_a_grade_whose_gain_is_no_number_is_refused(name):
    with pytest.raises(InputError, match=r"gains 2\^grade, and a grade is 1001; grades up to 1000 can be counted"):
        targets_for(parse(name), sparse.csr_array(np.array([[1001.0, 1.0]])), 1001)
    assert np.isfinite(targets_for(parse(name), sparse.csr_array(np.array([[1000.0, 1.0]])), 1000).values.data).all()
