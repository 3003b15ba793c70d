"""The claims of papers/multilabel.py on a small scale; each fails when the method is replaced by its baseline."""

import numpy as np
import pytest

from papers.multilabel import algorithm_4, consistency, expert_regret, falls, growth, online_regret, pac, table_1


def test_table_1_holds_except_for_reciprocal_rank():
    rows = {row["loss"]: row for row in table_1()}
    assert [loss for loss, row in rows.items() if not row["holds"]] == ["rr"]
    assert "changes between rankings with the same top 1" in rows["rr"]["why"]


@pytest.mark.parametrize("loss", ["sum@1", "prec@2"])
def test_expert_regret_is_within_the_bound(loss):
    (row,) = expert_regret(loss, [40], runs=2)
    assert row["regret"] <= row["bound"]


def test_expert_regret_grows_no_faster_than_the_proof_says():
    assert growth(expert_regret("prec@2", [64, 512], runs=3)) < 2 / 3 + 0.1


def test_mistakes_beyond_the_best_candidate_vanish():
    assert falls(algorithm_4([40, 800], runs=3), "excess")


def test_online_regret_per_round_falls():
    assert falls(online_regret("marginal", [200, 1600]), "regret")


class Blind:
    """Ranks by how often a label is relevant, whatever the example."""

    def __init__(self, loss):
        self.loss = loss

    def fit(self, X, Y):
        self.mean = Y.mean(axis=0)
        return self

    def decision_function(self, X):
        return np.tile(self.mean, (len(X), 1))


@pytest.mark.parametrize("loss", ["sum@2", "prec@2"])
def test_excess_risk_falls_with_the_sample_and_not_for_a_blind_ranker(loss):
    assert falls(pac(loss, [50, 800], runs=2), "excess")
    assert not falls(pac(loss, [50, 800], runs=2, learner=Blind), "excess")


def test_the_target_is_consistent_and_coupled_surrogates_are_not():
    for worst in consistency(["sum@2", "auc"], draws=15).values():
        assert worst["target"] < 1e-9
        assert worst["softmax"] > 1e-3
        assert worst["pairwise"] > 1e-3
