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


def compared(name, cuts, K, rounds, seed, beta, n_functions=4):
    """Expected losses of the ranker and of every expert written out, on a random stream."""
    table = rankings(K, n_functions, 2, seed)
    tables = {(i, j): table[:, :, i] <= j for i in range(K) for j in cuts}
    rng = np.random.default_rng(seed + 100)
    stream = [(int(rng.integers(2)), rng.integers(0, 2, size=K).tolist()) for _ in range(rounds)]
    ranker = ExpertLabelRanker(K, lambda i, j: Halving(tables[i, j]), horizon=rounds, loss=name, beta=beta, seed=seed)
    for x, y in stream:
        assert sorted(ranker.predict(x)) == list(range(1, K + 1))
        ranker.update(x, y)
    kind, _, p = name.partition("@")
    guessed = ranker.tree.guessed_rounds
    expected, totals = every_expert(
        tables, guessed, stream, lambda ranks, y: loss_of(kind, int(p), ranks, y), cuts, K, ranker.tree.rate
    )
    return ranker, guessed, expected, totals


@pytest.mark.parametrize(("name", "cuts"), [("prec@1", [1]), ("prec@2", [2]), ("sum@1", [1]), ("sum@2", [1, 2])])
@pytest.mark.parametrize("seed", range(4))
def test_three_labels_over_four_rounds_are_all_six_to_the_b_experts_and_one(name, cuts, seed):
    """Algorithms 3 and 7 with every permutation in every guessed round, one by one, and E_0."""
    ranker, guessed, expected, totals = compared(name, cuts, 3, 4, seed, 0.6)
    assert 1 <= guessed.sum() <= 3
    assert_allclose(ranker.expected_, expected, atol=1e-12)
    assert ranker.tree.lost.min() == totals.min()
    assert ranker.tree.lost[0] == totals[0]
    guesses = {"prec@1": 3, "prec@2": 3, "sum@1": 3, "sum@2": 6}[name]
    assert ranker.experts_ == guesses ** int(guessed.sum()) + 1


@pytest.mark.parametrize("seed", [1, 2, 4])
def test_algorithm_7_for_two_of_four_labels_is_all_24_to_the_b_experts_and_one(seed):
    ranker, guessed, expected, totals = compared("prec@2", [2], 4, 5, seed, 0.2, n_functions=3)
    assert 1 <= guessed.sum() <= 2
    assert_allclose(ranker.expected_, expected, atol=1e-12)
    assert ranker.tree.lost.min() == totals.min()
    assert ranker.experts_ == math.comb(4, 2) ** int(guessed.sum()) + 1


def test_without_a_round_of_guesses_there_is_only_the_expert_that_never_updates():
    table = rankings(3, 4, 2, 0)
    make = {"horizon": 6, "loss": "prec@1", "beta": 0.01}
    seed = next(k for k in range(99) if not (np.random.default_rng(k).random(6) < 6**-0.99).any())
    ranker = ExpertLabelRanker(3, lambda i, j: Halving(table[:, :, i] <= j), seed=seed, **make)
    for x in (0, 1, 0):
        ranker.update(x, [0, 0, 1])
    assert ranker.experts_ == 1
    assert len(ranker.tree.states) == 1


class Silent(Halving):
    """The same learner, which does not tell its state."""

    key = None

    def __getattribute__(self, name):
        if name == "key":
            raise AttributeError(name)
        return super().__getattribute__(name)


def test_experts_in_the_same_state_are_one_without_changing_the_expected_loss():
    table = rankings(3, 4, 2, 5)
    stream = [
        (int(x), y.tolist()) for x, y in zip([0, 1] * 10, np.random.default_rng(2).integers(0, 2, (20, 3)), strict=True)
    ]
    rankers = [
        ExpertLabelRanker(3, lambda i, j, cls=cls: cls(table[:, :, i] <= j), horizon=20, loss="sum@2", beta=0.5, seed=4)
        for cls in (Halving, Silent)
    ]
    for ranker in rankers:
        for x, y in stream:
            ranker.update(x, y)
    merged, apart = rankers
    assert_allclose(merged.expected_, apart.expected_, atol=1e-12)
    assert merged.tree.lost.min() == apart.tree.lost.min()
    assert len(merged.tree.states) < len(apart.tree.states) == merged.experts_


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
    assert learner.experts_ == 3 + 1
    assert learner.predict(0) == 0  # nothing told yet: label 0 is first everywhere
    learner.update(0, 1)
    learner.update(0, 1)
    # Round 1: all experts answer 0, truth 1. Round 2: of the 3! guesses two told "label 2 first" and answer 1; E_0 not.
    assert learner.expected_ == [1.0, pytest.approx(5 / 7)]


@pytest.mark.parametrize(
    ("make", "says"),
    [
        ({"horizon": 400, "loss": "sum@3", "beta": 0.9}, r"1e\d+ experts would be needed .*the limit is 100000"),
        ({"horizon": 4, "loss": "rr"}, "in no family"),
        ({"horizon": 0}, "at least 1"),
        ({"horizon": 4, "beta": 1.5}, "above 0 and below 1"),
        ({"horizon": 4, "loss": "sum@9"}, "only 4 labels"),
        # About 56,000 rounds are guessed: a number of more digits than Python prints.
        ({"horizon": 100_000, "loss": "sum@3", "beta": 0.95}, r"1e\d{4,5} experts would be needed"),
        ({"horizon": 10**9}, "at most 1,000,000 rounds"),
        ({"horizon": 2**63}, "at most 9,223,372,036,854,775,807"),
        ({"horizon": 4, "loss": "sum@12", "n_labels": 12}, "of 12 labels can be guessed in 1e8 ways"),  # 12!
        ({"horizon": 4, "n_labels": 2**40}, "at most 1,000 labels"),
    ],
)
def test_bad_input_is_named(make, says):
    with pytest.raises(InputError, match=says):
        ExpertLabelRanker(**{"n_labels": 4} | make, learner=lambda i, j: Silent(np.zeros((1, 1))), seed=0)


def test_sets_that_are_too_many_to_list_are_refused_on_the_way_back_too():
    with pytest.raises(InputError, match="first 20 of 40 labels can be guessed in 1e11 ways"):  # 40 over 20
        ExpertThresholdLearner(Follower(), 40, 1, 20, horizon=3, seed=0)


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


@pytest.mark.parametrize("value", [2, [], 0.5, "yes"])
def test_a_right_answer_is_0_or_1(value):
    learner = ExpertThresholdLearner(Follower(), 3, label=2, cut=1, horizon=2, beta=0.9, seed=1)
    with pytest.raises(InputError, match="the right answer is 0 or 1"):
        learner.update(0, value)
