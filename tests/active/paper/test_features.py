"""`preset="paper"` with features: the decomposition, then a score learnt on it."""

import json
import pickle

import numpy as np
import pytest
from scipy.stats import kendalltau

from podium.active import ActiveRanker, MatrixOracle, PaperOptions, Simulated, rank_with, svm3
from podium.active.paper.erm import learn_blocks
from podium.active.paper.learners import Scaling
from podium.active.paper.state import State
from podium.errors import InputError

from reference_active import random_tournament


def linear_judge(n, d, flip, seed):
    """Features, a judge whose order is a linear score of them but for flips, and that order."""
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(n, d))
    order = np.argsort(-features @ rng.normal(size=d))
    place = np.argsort(order)
    return features, MatrixOracle(random_tournament(n, flip, rng)[np.ix_(place, place)]), order


@pytest.mark.parametrize("flip", [0.0, 0.1])
def test_a_linear_order_is_found_again_and_carries_over_to_items_never_asked_about(flip):
    features, judge, order = linear_judge(90, 3, flip, seed=1)
    known = np.arange(60)
    ranker = rank_with(MatrixOracle(judge.wins[:60, :60]), range(60), preset="paper", features=features[:60], seed=2)
    place = np.argsort(order)
    assert kendalltau(place[list(ranker.order())], known).statistic > 0.9
    assert kendalltau(-place[60:], ranker.model_.scores(features[60:])).statistic > 0.85
    assert ranker.order() == tuple(ranker.model_.order(features[:60]).tolist())
    assert ranker.model_.gap <= 1e-4


def test_the_model_is_svm3_of_the_blocks_and_the_answers_inside_them():
    features, judge, _ = linear_judge(40, 2, 0.1, seed=3)
    ranker = rank_with(judge, range(40), preset="paper", features=features, seed=4)
    blocks = [np.array(tier) for tier in ranker.tiers_]
    assert max(map(len, blocks)) <= 16  # all small, so that every pair inside was asked
    rows = np.array([(u, v) for b in blocks for u in b for v in b if u != v and judge.wins[u, v]])
    found = svm3(Scaling.of(features).unit(features), blocks, rows[:, 0], rows[:, 1])
    assert ranker.model_.loss == pytest.approx(found.loss, rel=2e-4)
    asked = {
        frozenset(pair)
        for pair in zip(ranker.comparisons.left.tolist(), ranker.comparisons.right.tolist(), strict=True)
    }
    assert {frozenset(row) for row in rows.tolist()} <= asked


def test_a_big_block_is_sampled_and_its_rows_stand_for_all_its_pairs():
    wins = random_tournament(50, 0.5, np.random.default_rng(0))
    features = np.random.default_rng(1).normal(size=(50, 2))
    blocks = [np.arange(40), np.arange(40, 50)]
    state = State(50, np.random.default_rng(2))
    flow = learn_blocks(state, blocks, PaperOptions(margin_sample=1e-3), features, 16)
    pairs = next(flow)
    inside = (pairs < 40).all(axis=1)
    count = int(inside.sum())
    assert count == np.ceil(1e-3 * 64 * 441 * 2 * np.log(20))  # M of Theorem 4.2
    assert count < 40 * 39 / 2
    assert len(pairs) - count == 45  # the small block in full
    with pytest.raises(StopIteration):
        flow.send(wins[pairs[:, 0], pairs[:, 1]])
    rows = np.where(wins[pairs[:, 0], pairs[:, 1]][:, None] == 1, pairs, pairs[:, ::-1])
    weight = np.where(inside, (40 * 39 / 2) / count, 1.0)
    twin = svm3(Scaling.of(features).unit(features), blocks, rows[:, 0], rows[:, 1], weight=weight)
    assert state.model.loss == pytest.approx(twin.loss, rel=2e-4)


@pytest.mark.parametrize("learner", ["linear", "kernel", "trees"])
def test_every_learner_is_the_same_again_after_replay_and_pickle(learner):
    judge = Simulated(30, "flips", 0.05, seed=1)
    table = judge.features()
    ranker = rank_with(judge, range(30), preset="paper", features=table, seed=1, paper=PaperOptions(learner=learner))
    again = ActiveRanker.replay(range(30), json.loads(json.dumps(ranker.log)), features=table)
    assert again.order() == ranker.order()
    model = pickle.loads(pickle.dumps(ranker.model_))
    assert np.array_equal(model.scores(table), ranker.model_.scores(table))
    assert {"linear": "linear score", "kernel": "kernel score", "trees": "trees"}[learner] in str(model)
    assert ("rows divided by" in str(model)) == (learner == "linear")


def test_the_table_of_ranks_gives_each_item_its_own_tier_though_the_score_crosses_tiers():
    judge = Simulated(60, "flips", 0.0, seed=1)
    ranker = rank_with(judge, range(60), preset="paper", features=judge.features(informative=False), seed=1)
    tier = {item: number for number, members in enumerate(ranker.tiers_, start=1) for item in members}
    rows = ranker.ranks().to_dicts()
    assert [row["tier"] for row in rows] == [tier[row["item"]] for row in rows]
    assert [row["tier"] for row in rows] != sorted(row["tier"] for row in rows)  # useless features do cross them


def test_ties_and_skips_are_learnt_from_as_far_as_they_go():
    features = np.arange(12.0)
    judge = {0: lambda a, b: 0.5, 1: lambda a, b: None, 2: lambda a, b: None if (a + b) % 3 else a > b}
    for answer in judge.values():
        ranker = rank_with(answer, range(12), preset="paper", features=features, seed=0)
        assert sorted(ranker.order()) == list(range(12))
    assert kendalltau(ranker.model_.scores(features), features).statistic > 0.999


def test_before_the_end_and_without_features_there_is_no_model():
    ranker = ActiveRanker(["a", "b", "c"], preset="paper", features=[1, 2, 3], seed=0)
    assert ranker.model_ is None
    assert rank_with(lambda a, b: a < b, range(5), preset="paper", seed=0).model_ is None
    assert rank_with(lambda a, b: a < b, range(5), features=np.arange(5), seed=0).model_ is None


def test_features_that_tell_nothing_leave_the_items_as_they_came():
    ranker = rank_with(lambda a, b: a > b, range(6), preset="paper", features=np.ones((6, 2)), seed=0)
    assert ranker.order() == tuple(range(6))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"epsilon": 0}, "epsilon is 0; it is a number above 0"),
        ({"epsilon": 1.5}, "epsilon is 1.5; it is below 1"),
        ({"epsilon": np.nan}, "epsilon is nan"),
        ({"guard": -1}, "guard is -1; it is a number, 0 or more"),
        ({"ensemble": "many"}, "ensemble is 'many'"),
        ({"radius": 0.0}, "radius is 0.0; it is a number above 0"),
        ({"small": 0}, "small is 0; it is a whole number, at least 1, or None"),
        ({"small": 2.5}, "small is 2.5"),
        ({"learner": "forest"}, "no learner 'forest'; there are linear, kernel, trees"),
        ({"learner": "trees"}, "learner 'trees' learns from features; give some"),
    ],
)
def test_options_that_mean_nothing_are_refused(options, message):
    with pytest.raises(InputError, match=message):
        ActiveRanker(range(5), preset="paper", paper=PaperOptions(**options))


def test_a_log_begun_with_features_wants_them_again():
    with_features = ActiveRanker(range(4), preset="paper", features=np.arange(4), seed=0).log
    with pytest.raises(InputError, match="begun with features; give the same now, in features="):
        ActiveRanker.replay(range(4), with_features)
    with pytest.raises(InputError, match="begun with other features"):
        ActiveRanker.replay(range(4), with_features, features=np.arange(4) + 1)
    with pytest.raises(InputError, match="begun without features"):
        ActiveRanker.replay(range(4), ActiveRanker(range(4), seed=0).log, features=np.arange(4))
