"""The plain functions: one per loss and gain, on scores or on ranks."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from podium import metrics
from podium.errors import InputError

from reference_metrics import gain_of, loss_of, ranks_by_label

RNG = np.random.default_rng(5)
Y = (RNG.random((8, 6)) < 0.4).astype(int)
Y[:, 0], Y[:, 1] = 1, 0
S = RNG.normal(size=(8, 6))
RANKS = np.array([ranks_by_label(row) for row in S.tolist()])


@pytest.mark.parametrize(
    ("function", "kind", "p"),
    [
        (metrics.sum_loss, "sum", 3),
        (metrics.precision_loss, "prec", 2),
        (metrics.average_precision_loss, "ap", None),
        (metrics.auc_loss, "auc", None),
        (metrics.reciprocal_rank_loss, "rr", None),
        (metrics.pairwise_loss, "pairwise", None),
        (metrics.dcg_loss, "dcg", None),
        (metrics.dcg_loss, "dcg", 3),
        (metrics.ndcg_loss, "ndcg", 3),
    ],
)
def test_each_loss_on_scores_and_on_ranks(function, kind, p):
    options = {} if p is None else {"p": p}
    truth = [loss_of(kind, p, pi, y) for pi, y in zip(RANKS.tolist(), Y.tolist(), strict=True)]
    assert_allclose(function(Y, S, **options), truth, atol=1e-12)
    assert_allclose(function(Y, ranks=RANKS, **options), truth, atol=1e-12)


@pytest.mark.parametrize(
    ("function", "kind", "p"),
    [
        (metrics.precision_at, "prec", 2),
        (metrics.recall_at, "recall", 3),
        (metrics.hit_at, "hit", 1),
        (metrics.average_precision, "ap", None),
        (metrics.auc, "auc", None),
        (metrics.reciprocal_rank, "rr", None),
        (metrics.dcg, "dcg", 2),
        (metrics.ndcg, "ndcg", None),
    ],
)
def test_each_gain_of_one_row_is_a_number(function, kind, p):
    options = {} if p is None else {"p": p}
    for y, s, pi in zip(Y.tolist(), S.tolist(), RANKS.tolist(), strict=True):
        assert function(y, s, **options) == pytest.approx(gain_of(kind, p, pi, y))


@pytest.mark.parametrize("function", [metrics.precision_at, metrics.recall_at, metrics.hit_at, metrics.sum_loss])
@pytest.mark.parametrize("p", [None, 0, -1, 1.5, "x"])
def test_a_cut_off_that_is_none_is_refused(function, p):
    with pytest.raises(InputError):
        function(Y, S, p=p)


def test_scores_and_ranks_are_not_given_together():
    with pytest.raises(InputError, match="either scores"):
        metrics.auc_loss([1, 0], [1.0, 2.0], ranks=[1, 2])
    with pytest.raises(InputError, match="either scores"):
        metrics.ranking_loss("ap", [1, 0])


def test_a_lone_relevant_label_among_equal_scores_shows_the_three_ways_to_break_ties():
    """nDCG@2 of a relevant label at either end of four equal scores: 1 and 0 by label order, in between on average."""
    for label, truth in ((0, 1.0), (3, 0.0)):
        y = [int(i == label) for i in range(4)]
        assert metrics.ranking_gain("ndcg@2", y, [0.0] * 4) == truth
        assert metrics.ranking_gain("ndcg@2", y, [0.0] * 4, ties="average") == pytest.approx((1 + 1 / np.log2(3)) / 4)
        assert metrics.ranking_gain("ndcg@2", y, [0.0] * 4, ties="worst") == 0.0
