"""The expert constructions against all experts written out, and within their bound."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

from podium.errors import InputError
from podium.multilabel import ExpertLabelRanker, ExpertThresholdLearner, Halving

from reference_metrics import loss_of
from reference_multilabel import every_expert


def rankings(K, n_functions, n_instances, seed):
    rng = np.random.default_rng(seed)
    return np.array([[rng.permutation(K) + 1 for _ in range(n_instances)] for _ in range(n_functions)])


@pytest.mark.parametrize(("name", "cuts"), [("prec@1", [1]), ("prec@2", [2]), ("sum@1", [1]), ("sum@2", [1, 2])])
@pytest.mark.parametrize("seed", range(4))
def test_three_labels_over_four_rounds_are_all_six_to_the_b_experts(name, cuts, seed):
    """Algorithms 3 and 7 with every permutation in every guessed round, one by one."""
    table = rankings(3, 4, 2, seed)
    tables = {(i, j): table[:, :, i] <= j for i in range(3) for j in cuts}
    rng = np.random.default_rng(seed + 100)
    stream = [(int(rng.integers(2)), rng.integers(0, 2, size=3).tolist()) for _ in range(4)]
    ranker = ExpertLabelRanker(3, lambda i, j: Halving(tables[i, j]), horizon=4, loss=name, beta=0.6, seed=seed)
    guessed = ranker.tree.guessed_rounds
    assert 1 <= guessed.sum() <= 3
    for x, y in stream:
        assert sorted(ranker.predict(x)) == [1, 2, 3]
        ranker.update(x, y)
    kind, _, p = name.partition("@")
    expected, _ = every_expert(
        tables, guessed, stream, lambda ranks, y: loss_of(kind, int(p), ranks, y), cuts, 3, ranker.tree.rate
    )
    assert_allclose(ranker.expected_, expected, atol=1e-12)
    guesses = {"prec@1": 3, "prec@2": 3, "sum@1": 3, "sum@2": 6}[name]
    assert ranker.experts_ == guesses ** int(guessed.sum())


@pytest.mark.parametrize("name", ["sum@1", "prec@2", "ap"])
def test_the_loss_stays_within_the_bound_of_the_best_expert(name):
    rng = np.random.default_rng(7)
    table = rankings(4, 5, 6, 7)
    ranker = ExpertLabelRanker(4, lambda i, j: Halving(table[:, :, i] <= j), horizon=60, loss=name, beta=0.25, seed=2)
    for _ in range(60):
        x = int(rng.integers(6))
        ranker.update(x, (table[0, x] <= 2).astype(int) if rng.random() < 0.8 else rng.integers(0, 2, size=4))
    largest = ranker.tree.rate**-1 * math.sqrt(2 * math.log(max(ranker.experts_, 2)) / 60)
    regret = sum(ranker.expected_) - ranker.tree.lost.min()
    assert regret <= largest * math.sqrt(2 * 60 * math.log(max(ranker.experts_, 2)))


def test_halving_makes_at_most_log_mistakes_when_one_function_is_right():
    rng = np.random.default_rng(0)
    table = rng.integers(0, 2, size=(16, 30))
    for truth in table:
        learner = Halving(table)
        mistakes = 0
        for x in rng.permutation(30):
            mistakes += learner.predict(int(x)) != truth[x]
            learner.update(int(x), int(truth[x]))
        assert mistakes <= 4


class Follower:
    """A ranker that repeats, for each instance, the relevance it was last told."""

    def __init__(self):
        self.told = {}

    def predict(self, x):
        y = self.told.get(x, [0, 0, 0])
        order = sorted(range(3), key=lambda i: (-y[i], i))
        return np.array([order.index(i) + 1 for i in range(3)])

    def update(self, x, y):
        self.told[x] = list(y)


def test_the_way_back_enumerates_what_its_experts_tell_the_ranker():
    """Algorithm 6 at K = 3, j = 1: experts differ in the label they call first; their answers are counted by hand."""
    learner = ExpertThresholdLearner(Follower(), 3, label=2, cut=1, horizon=2, beta=0.9, seed=1)
    assert learner.tree.guessed_rounds.tolist() == [True, False]
    assert learner.experts_ == 3
    assert learner.predict(0) == 0  # nothing told yet: label 0 is first everywhere
    learner.update(0, 1)
    learner.update(0, 1)
    # Round 1: all experts answer 0, truth 1. Round 2: the third of them told "label 2 first" answers 1.
    assert learner.expected_ == [1.0, pytest.approx(2 / 3)]


@pytest.mark.parametrize(
    ("make", "says"),
    [
        ({"horizon": 400, "loss": "sum@3", "beta": 0.9}, r"e\+\d+ experts would be needed .*the limit is 100000"),
        ({"horizon": 4, "loss": "rr"}, "in no family"),
        ({"horizon": 0}, "at least 1"),
        ({"horizon": 4, "beta": 1.5}, "above 0 and below 1"),
        ({"horizon": 4, "loss": "sum@9"}, "only 4 labels"),
    ],
)
def test_bad_input_is_named(make, says):
    with pytest.raises(InputError, match=says):
        ExpertLabelRanker(4, lambda i, j: Halving(np.zeros((1, 1))), seed=0, **make)


def test_one_round_more_than_the_horizon_is_refused():
    ranker = ExpertLabelRanker(2, lambda i, j: Halving(np.zeros((1, 1))), horizon=1, loss="prec@1", seed=0)
    ranker.update(0, [1, 0])
    with pytest.raises(InputError, match="one more"):
        ranker.update(0, [1, 0])


def test_a_cut_may_be_the_number_of_labels_and_no_more():
    assert ExpertThresholdLearner(Follower(), 3, 2, 3, horizon=3, seed=0).cut == 3
    with pytest.raises(InputError, match="only 3 labels"):
        ExpertThresholdLearner(Follower(), 3, 2, 4, horizon=3, seed=0)


@pytest.mark.parametrize("horizon", [3, 6])
def test_the_rate_is_that_of_the_theorem(horizon):
    """sqrt(2 log N / T), divided by the largest loss: with prec@1 that is 1."""
    table = rankings(3, 4, 2, 0)
    ranker = ExpertLabelRanker(3, lambda i, j: Halving(table[:, :, i] <= j), horizon=horizon, loss="prec@1", seed=3)
    assert ranker.experts_ > 2
    assert ranker.tree.rate == pytest.approx(math.sqrt(2 * math.log(ranker.experts_) / horizon))
