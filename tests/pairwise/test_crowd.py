"""CrowdBradleyTerry against a generic optimiser, planted judges, and Bradley-Terry."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize

from podium import BradleyTerry, Comparisons, CrowdBradleyTerry
from podium.errors import ConvergenceError, InputError, NotFittedError
from podium.kernels.pairwise.crowd import crowd_loss
from podium.pairwise.crowd import _Rows


def crowd(n, slopes, each, rng):
    """Votes of judges with these slopes, `each` of them; returns comparisons and the scores."""
    truth = rng.normal(0, 1.5, n)
    judge = np.repeat(np.arange(len(slopes)), each)
    left = rng.integers(0, n, len(judge))
    right = (left + rng.integers(1, n, len(judge))) % n
    won = rng.random(len(judge)) < 1 / (1 + np.exp(-np.asarray(slopes)[judge] * (truth[left] - truth[right])))
    names = [f"judge {k}" for k in judge]
    return Comparisons.from_arrays(
        np.where(won, left, right), np.where(won, right, left), judge=names, items=range(n)
    ), truth


def test_the_optimum_is_that_of_a_generic_optimiser():
    data, _ = crowd(5, [1.0, 0.5, 2.0], 40, np.random.default_rng(0))
    model = CrowdBradleyTerry(l2=0.2, spread=0.7).fit(data)

    def objective(theta):
        scores, slopes = theta[:5], 1 + theta[5:] - theta[5:].mean()
        margin = slopes[data.judge] * (scores[data.left] - scores[data.right])
        return np.logaddexp(0, -margin).sum() + 0.2 * scores @ scores + theta[5:] @ theta[5:] / (2 * 0.49)

    found = minimize(objective, np.zeros(8), method="BFGS", options={"gtol": 1e-8})
    ours = np.concatenate([model.ranking_.scores, model.reliability_ - 1])
    assert objective(ours) <= found.fun + 1e-8
    assert_allclose(ours, found.x, atol=1e-4)


def test_planted_spammers_are_found_and_good_judges_are_not_accused():
    slopes = [1.0] * 12 + [0.0] * 4 + [-1.0] * 2
    wrong = 0
    for seed in range(5):
        data, _ = crowd(20, slopes, 120, np.random.default_rng(seed))
        flags = CrowdBradleyTerry().fit(data).flags_
        assert {f"judge {k}" for k in (16, 17)} <= {judge for judge, flag in flags.items() if flag == "contrary"}
        found = {f"judge {k}" for k in range(12, 16)} & set(flags)
        wrong += 4 - len(found) + len(set(flags) & {f"judge {k}" for k in range(12)})
    assert wrong <= 1  # of 80 judges


def test_with_spammers_it_is_nearer_the_truth_than_plain_bradley_terry():
    gain = []
    for seed in range(6):
        data, truth = crowd(25, [1.5] * 6 + [0.0] * 10 + [-1.0] * 2, 100, np.random.default_rng(seed))
        plain = np.corrcoef(BradleyTerry().fit(data).ranking_.scores, truth)[0, 1]
        weighed = np.corrcoef(CrowdBradleyTerry().fit(data).ranking_.scores, truth)[0, 1]
        gain.append(weighed - plain)
    assert np.mean(gain) > 0.02
    assert min(gain) > 0


def test_judges_held_alike_are_bradley_terry():
    data, _ = crowd(8, [1.0] * 4, 100, np.random.default_rng(1))
    model = CrowdBradleyTerry(l2=0.3, spread=1e-3).fit(data)
    assert_allclose(model.reliability_, 1.0, atol=1e-4)
    assert_allclose(model.ranking_.scores, BradleyTerry(l2=0.3).fit(data).ranking_.scores, atol=1e-3)


def test_intervals_cover_and_allow_for_the_judges():
    covered = []
    for seed in range(20):
        data, truth = crowd(12, [1.4, 1.2, 1.0, 1.0, 0.8, 0.6], 250, np.random.default_rng(seed))
        ranking = CrowdBradleyTerry(spread=0.5).fit(data).ranking_
        lower, upper = ranking.intervals()
        centred = truth - truth.mean()
        covered.append(np.mean((lower <= centred) & (centred <= upper)))
    assert 0.92 <= np.mean(covered) <= 0.985


def test_the_table_of_judges_and_their_own_chances():
    data, _ = crowd(10, [1.0, 1.0, 1.0, -1.0], 200, np.random.default_rng(2))
    model = CrowdBradleyTerry().fit(data)
    frame = model.judge_frame()
    assert frame["judge"][0] == "judge 3"
    assert frame["flag"][0] == "contrary"
    assert frame["votes"].sum() == 800
    best, worst = model.ranking_.order[0], model.ranking_.order[-1]
    assert model.win_probability(best, worst) > 0.5 > model.win_probability(best, worst, judge="judge 3")
    assert (model.reliability_std_errors_ > 0).all()


def test_what_it_cannot_do_is_said():
    plain = Comparisons.from_pairs([("a", "b")])
    with pytest.raises(InputError, match="the votes name no judge"):
        CrowdBradleyTerry().fit(plain)
    alone = Comparisons.from_arrays(["a", "b"], ["b", "a"], judge=["ann", "ann"])
    with pytest.raises(InputError, match="the only judge is 'ann'"):
        CrowdBradleyTerry().fit(alone)
    two = Comparisons.from_arrays(["a", "b", "a"], ["b", "c", "c"], judge=["ann", "bob", "bob"])
    for options, message in (({"l2": 0}, "l2=0"), ({"spread": 0}, "spread=0")):
        with pytest.raises(InputError, match=message):
            CrowdBradleyTerry(**options).fit(two)
    with pytest.raises(ConvergenceError, match="raise l2="):
        CrowdBradleyTerry(max_iter=1).fit(two)
    with pytest.raises(InputError, match="'eve' is not among the 2 judges"):
        CrowdBradleyTerry().fit(two).win_probability("a", "b", judge="eve")
    with pytest.raises(NotFittedError, match="call fit"):
        _ = CrowdBradleyTerry().flags_


def test_scores_near_a_saddle_are_exact_too():
    """Judges who contradict each other leave no minimum in scores and slopes at once; items with the same votes share
    their score all the same, wherever the search has stopped."""
    rows = [("a", "b", "ann", 3.0), ("b", "a", "bob", 3.0), ("b", "c", "ann", 0.3), ("c", "b", "bob", 0.3)]
    twice = [(i + x, j + y, judge, weight) for i, j, judge, weight in rows for x in "12" for y in "12"]
    left, right, judge, weight = zip(*twice, strict=True)
    c = Comparisons.from_arrays(left, right, judge=judge, weight=weight)
    rows, n = _Rows(c), len(c.items)
    at = np.concatenate([1e-4 * np.random.default_rng(0).normal(size=n), [0.0, 0.0]])
    assert np.linalg.eigvalsh(rows._hessian(at[:n], np.ones(2), 0.01, 1.0))[0] < -0.1

    def gradient(theta):
        by_item, by_judge = 0.02 * theta[:n], np.zeros(2)
        slopes = 1.0 + theta[n:] - theta[n:].mean()
        scores = np.ascontiguousarray(theta[:n])
        crowd_loss(rows.left, rows.right, rows.judge, rows.outcome, rows.weight, scores, slopes, by_item, by_judge)
        return np.concatenate([by_item, by_judge - by_judge.mean() + theta[n:]])

    scores = dict(zip(c.items, rows._polished(at, gradient, 0.01, 1.0)[:n], strict=True))
    for item in "abc":
        assert scores[item + "1"] == pytest.approx(scores[item + "2"], abs=1e-9)
