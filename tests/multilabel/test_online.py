"""Online rankers: their learners, votes and weights against slow twins; the relabelling learner."""

from itertools import pairwise, permutations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.utils.estimator_checks import check_estimator

from podium import load, save
from podium.errors import InputError
from podium.metrics import ranking_loss
from podium.multilabel import AgnosticLabelRanker, LabelRanker, OnlineLabelRanker, binary_relevance
from podium.multilabel.online import top_chances

from reference_multilabel import adagrad


def stream(n=400, d=5, K=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, (X @ rng.normal(size=(d, K)) + 0.5 * rng.normal(size=(n, K)) > 0.7).astype(int)


def test_it_follows_the_conventions():
    ordered = "the order of examples matters, so a weight is not a repetition"
    check_estimator(
        OnlineLabelRanker(max_relevance=5),
        expected_failed_checks={
            f"check_sample_weight_equivalence_on_{kind}_data": ordered for kind in ("dense", "sparse")
        },
    )
    assert OnlineLabelRanker().get_params()["mode"] == "marginal"


def test_marginal_losses_are_those_of_scores_given_before_learning():
    X, Y = stream(60)
    ranker = (
        OnlineLabelRanker("sum@2", rate=0.4).partial_fit(X[:20], Y[:20]).partial_fit(sparse.csr_array(X[20:]), Y[20:])
    )
    scores, _ = adagrad(X, Y.astype(float), np.ones(60), 0.4)
    assert_allclose(ranker.losses_, ranking_loss("sum@2", Y, scores))


def test_threshold_votes_count_the_learners_that_say_yes():
    X, Y = stream(80)
    ranker = OnlineLabelRanker("sum@3", "threshold", rate=0.4).partial_fit(X, Y)
    goal = top_chances(Y, np.array([1, 2, 3])).reshape(80, -1)
    scores, _weights = adagrad(X, goal, np.ones(80), 0.4)
    votes = sum((scores[:, 4 * j : 4 * j + 4] > 0).astype(int) for j in range(3))
    assert_allclose(ranker.losses_, ranking_loss("sum@3", Y, votes))
    assert OnlineLabelRanker("prec@2", "threshold").partial_fit(X, Y).cuts_.tolist() == [2]


def test_chance_of_the_top_is_the_share_of_tie_orders():
    rng = np.random.default_rng(1)
    for y in rng.integers(0, 3, size=(10, 4)):
        orders = [o for o in permutations(range(4)) if all(y[a] >= y[b] for a, b in pairwise(o))]
        truth = [[np.mean([i in o[:j] for o in orders]) for i in range(4)] for j in (1, 2, 3)]
        assert_allclose(top_chances(y[None], np.array([1, 2, 3]))[0], truth)


@pytest.mark.parametrize("mode", ["marginal", "threshold", "hedge"])
def test_every_mode_learns(mode):
    X, Y = stream(1500)
    ranker = OnlineLabelRanker("sum@2", mode, random_state=0)
    for start in range(0, 1500, 100):
        ranker.partial_fit(X[start : start + 100], Y[start : start + 100])
    blind = ranking_loss("sum@2", Y, np.tile(Y.mean(axis=0), (1500, 1))).mean()
    assert ranker.losses_[-500:].mean() < 0.7 * blind
    assert -ranker.score(X, Y) < 0.7 * blind
    assert ranker.rank(X, top=2).shape == (1500, 2)


def test_hedge_never_trails_its_best_expert_by_more_than_the_bound():
    X, Y = stream(800)
    ranker = OnlineLabelRanker("sum@2", "hedge", experts=6, random_state=3)
    for start in range(0, 800, 50):
        ranker.partial_fit(X[start : start + 50], Y[start : start + 50])
    largest = 5.0  # sum@2 of three relevant labels among four, ranked last
    assert ranker.losses_.sum() - ranker.lost_.min() <= 2 * largest * np.sqrt(2 * 800 * np.log(6))
    assert ranker.weights_.sum() == pytest.approx(1)
    assert ranker.weights_[ranker.lost_.argmin()] == ranker.weights_.max()


@pytest.mark.parametrize("loss", ["ndcg", "sum@2"])  # the largest below 1, and above
def test_hedge_is_exponential_weights_written_out_round_by_round(loss):
    """Chances by past losses over the largest so far, at the rate sqrt(2 ln N / round); who takes part is drawn."""
    X, Y = stream(40)
    weight = np.where(np.arange(40) % 9 == 4, 0.0, 1.0)
    ranker = OnlineLabelRanker(loss, "hedge", experts=5, rate=0.3, random_state=7)
    for part in (slice(0, 1), slice(1, 23), slice(23, 40)):  # however it is cut into calls
        ranker.partial_fit(X[part], Y[part], weight[part])
    rates = np.array([each.rate for each in ranker.streams_])
    assert (rates >= 0.3 / 4).all()
    assert (rates <= 0.3 * 4).all()
    assert len(set(rates)) == 5
    assert ranker.shares_[0] == 1.0
    assert ((ranker.shares_[1:] >= 0.2) & (ranker.shares_[1:] <= 1.0)).all()
    draws = np.random.Generator(np.random.PCG64(ranker.draw_seed_)).random((40, 5))
    experts = [OnlineLabelRanker(loss, rate=rate) for rate in rates]
    past, largest, chances = np.zeros(5), 0.0, np.full(5, 1 / 5)
    for row in range(40):
        one = slice(row, row + 1)
        seen = [weight[row] * (draws[row, k] < ranker.shares_[k]) for k in range(5)]
        lost = np.array([_learned(each, X[one], Y[one], take) for each, take in zip(experts, seen, strict=True)])
        assert ranker.losses_[row] == pytest.approx(chances @ lost, abs=1e-12)
        past, largest = past + lost, max(largest, lost.max())
        cost = past / max(largest, 1e-12) * np.sqrt(2 * np.log(5) / (row + (2 if row < 39 else 1)))
        chances = np.exp(-cost) / np.exp(-cost).sum()
    assert_allclose(ranker.weights_, chances, atol=1e-12)
    assert ranker.largest_ == largest
    assert (0 < largest < 1) == (loss == "ndcg")
    ranks = [(-each.decision_function(X)).argsort(axis=1, kind="stable").argsort(axis=1) + 1 for each in experts]
    assert_allclose(ranker.decision_function(X), -np.tensordot(chances, np.array(ranks, float), axes=1), atol=1e-9)


def _learned(expert, X, Y, weight):
    """The loss of one example before it is learned from, which it is not with weight 0."""
    if weight:
        return expert.partial_fit(X, Y).losses_[-1]
    if not hasattr(expert, "labels_"):
        return ranking_loss(expert.loss, Y, np.zeros(Y.shape))[0]
    return ranking_loss(expert.loss, Y, expert.decision_function(X))[0]


def test_model_files_keep_the_stream(tmp_path):
    X, Y = stream(50)
    for mode in ("marginal", "threshold", "hedge"):
        ranker = OnlineLabelRanker("sum@2", mode, random_state=1).partial_fit(X, Y)
        save(ranker, tmp_path / "m.podium")
        again = load(tmp_path / "m.podium")
        assert_allclose(again.partial_fit(X, Y).losses_, ranker.partial_fit(X, Y).losses_)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda X, Y: OnlineLabelRanker(mode="bandit").partial_fit(X, Y), "mode='bandit' is not known"),
        (lambda X, Y: OnlineLabelRanker("ap", "threshold").partial_fit(X, Y), "sum@p or prec@p"),
        (lambda X, Y: OnlineLabelRanker().partial_fit(X, 3 * Y), "relevance 3 is above max_relevance=1"),
        (lambda X, Y: OnlineLabelRanker(mode="hedge", experts=1).partial_fit(X, Y), "at least 2"),
        (lambda X, Y: AgnosticLabelRanker(LabelRanker(), []).fit(X, Y), "candidates is empty"),
        (lambda X, Y: AgnosticLabelRanker(LabelRanker(), ["a"]).fit(X, Y), "function of X or a fitted estimator"),
        (
            lambda X, Y: AgnosticLabelRanker(LabelRanker(), [lambda x: x]).fit(X, Y),
            r"candidate 1 gives scores of shape",
        ),
        (lambda X, Y: AgnosticLabelRanker(LabelRanker(), [abs], share=2).fit(X, Y), "above 0 and below 1"),
    ],
)
def test_bad_input_is_named(make, says):
    with pytest.raises(InputError, match=says):
        make(*stream(20))


def test_binary_relevance_marks_the_first_ranks():
    assert binary_relevance([[0.1, 0.9, 0.9], [3, 2, 1]], [1, 2]).tolist() == [[0, 1, 0], [1, 1, 0]]


@pytest.mark.parametrize("loss", ["sum@2", "prec@2"])
def test_the_relabelling_learner_keeps_the_candidate_nearest_the_truth(loss):
    rng = np.random.default_rng(4)
    X, truth = rng.normal(size=(600, 4)), rng.normal(size=(4, 5))
    Y = binary_relevance(X @ truth, 2)
    candidates = [lambda x: -(x @ truth), lambda x: x @ truth, lambda x: x @ rng.normal(size=(4, 5))]
    learner = AgnosticLabelRanker(LabelRanker(loss), candidates, loss=loss, random_state=0).fit(X, Y)
    assert learner.chosen_ == 1
    assert learner.losses_.argmin() == 1
    blind = ranking_loss(loss, Y, np.zeros(Y.shape)).mean()
    assert ranking_loss(loss, Y, learner.decision_function(X)).mean() < 0.5 * blind
    assert learner.rank(X, top=1).shape == (600, 1)


def test_some_examples_are_always_held_out_and_some_always_relabelled():
    """However large or small the share: with four examples at least one is on either side."""
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(4, 2)), np.ones((4, 2), dtype=int)
    for share in (0.001, 0.999):
        seen = []
        first = lambda rows, seen=seen: (seen.append(len(rows)), np.ones((len(rows), 2)))[1]  # noqa: E731
        model = AgnosticLabelRanker(LabelRanker(), [first], share=share, random_state=0).fit(X, Y)
        assert np.isfinite(model.losses_).all()
        assert set(seen) == {max(1, min(3, round(4 * share)))}


@pytest.mark.parametrize("learner", [LabelRanker(), OnlineLabelRanker()])
def test_scikit_learn_is_told_what_is_taken(learner):
    """Sparse rows are; a table of relevance, one column for each label, is needed, and a vector is no such table."""
    from sklearn.utils import get_tags

    tags = get_tags(learner)
    target = tags.target_tags
    assert (tags.input_tags.sparse, target.required, target.single_output, target.multi_output) == (
        True,
        True,
        False,
        True,
    )
    X, Y = stream(20)
    learner.fit(sparse.csr_array(X), Y)
    with pytest.raises(InputError, match="y is a vector"):
        learner.fit(X, Y[:, 0])
