"""OnlineRABF against the literal loop of (19), the batch optimum, and itself in pieces."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from podium import RABF, Comparisons, OnlineRABF
from podium.errors import InputError, NotFittedError

from helpers import simulate
from reference_rabf import online_loop


def votes(n, d, m, seed):
    rng = np.random.default_rng(seed)
    winner, loser, _ = simulate(n, m, rng)
    return winner, loser, rng.normal(size=(n, d))


def sizes(schedule, m, step, feature_penalty, residual_penalty):
    t = np.arange(1, m + 1)
    if schedule == "constant":
        return np.full(m, step)
    if schedule == "sqrt":
        return step / np.sqrt(t)
    low, high = sorted([feature_penalty, residual_penalty])
    return 1 / (low * (t + max(2 * high / low, 1 / (low * step))))


@settings(max_examples=40, deadline=None)
@given(
    st.sampled_from(["constant", "sqrt", "strong"]),
    st.sampled_from(["logistic", "squared"]),
    st.sampled_from([(0.01, 0.2), (0.3, 0.05)]),
    st.integers(0, 3),
    st.integers(0, 1000),
)
def test_every_step_is_rule_19(schedule, loss, penalties, d, seed):
    n, m = 6, 80
    winner, loser, features = votes(n, d, m, seed)
    options = {"feature_penalty": penalties[0], "residual_penalty": penalties[1], "step": 0.1, "loss": loss}
    model = OnlineRABF(schedule=schedule, **options)
    model.fit(Comparisons.from_arrays(winner, loser, items=range(n)), features if d else None)
    steps = sizes(schedule, m, 0.1, *penalties)
    w, r = online_loop(n, zip(winner, loser, strict=True), features, *penalties, steps, loss)
    assert_allclose(model.coef_, w, atol=1e-12)
    assert_allclose(model.residuals_, r, atol=1e-12)
    assert_allclose(model.ranking_.scores, features @ w + r, atol=1e-12)


def test_shrinkage_is_multiplied_in_before_it_underflows_and_averages_survive_it():
    n, d, m = 5, 2, 4000
    winner, loser, features = votes(n, d, m, 0)
    options = {"feature_penalty": 0.9, "residual_penalty": 0.7, "schedule": "constant", "step": 0.9}
    data = Comparisons.from_arrays(winner, loser, items=range(n))  # 0.37^4000 is far below the smallest double
    w, r = online_loop(n, zip(winner, loser, strict=True), features, 0.9, 0.7, np.full(m, 0.9))
    assert_allclose(OnlineRABF(**options).fit(data, features).residuals_, r, atol=1e-10)
    assert_allclose(OnlineRABF(**options).fit(data, features).coef_, w, atol=1e-10)
    mean = np.zeros(n)
    for k in range(1, m + 1, 1):
        if k == 1:
            at, rest = np.zeros(d), np.zeros(n)
        margin = at @ (features[winner[k - 1]] - features[loser[k - 1]]) + rest[winner[k - 1]] - rest[loser[k - 1]]
        slope = -1 / (1 + np.exp(margin))
        at = (1 - 0.81) * at - 0.9 * slope * (features[winner[k - 1]] - features[loser[k - 1]])
        rest = (1 - 0.63) * rest
        rest[winner[k - 1]] -= 0.9 * slope
        rest[loser[k - 1]] += 0.9 * slope
        mean += rest / m
    assert_allclose(OnlineRABF(**options, average=True).fit(data, features).residuals_, mean, atol=1e-10)


def test_many_passes_reach_the_batch_optimum_at_twice_its_penalty_a_vote():
    n, m = 8, 200
    winner, loser, features = votes(n, 2, m, 1)
    data = Comparisons.from_arrays(winner, loser, items=range(n))
    batch = RABF(feature_penalty=4.0, residual_penalty=2.0).fit(data, features)
    rng = np.random.default_rng(2)
    online = OnlineRABF(feature_penalty=8.0 / m, residual_penalty=4.0 / m, schedule="strong", step=1.0)
    for _ in range(600):
        order = rng.permutation(m)
        online.partial_fit(Comparisons.from_arrays(winner[order], loser[order], items=range(n)), features)
    assert_allclose(online.ranking_.scores, batch.ranking_.scores, atol=0.03)
    assert online.n_votes_ == 600 * m


def test_one_by_one_in_parts_or_at_once_is_the_same_and_newcomers_may_appear():
    pairs = [("a", "b"), ("b", "c"), ("d", "a"), ("c", "b"), ("a", "d")]
    features = {"a": [1.0], "b": [0.0], "c": [2.0], "d": [-1.0]}
    at_once = OnlineRABF().fit(Comparisons.from_pairs(pairs), features)
    one_by_one = OnlineRABF().add({"a": [1.0], "b": [0.0]}).update("a", "b")
    one_by_one.add({"c": [2.0], "d": [-1.0]})
    for winner, loser in pairs[1:]:
        one_by_one.update(winner, loser)
    parts = OnlineRABF().partial_fit(Comparisons.from_pairs(pairs[:2]), features)
    parts.partial_fit(Comparisons.from_pairs(pairs[2:]))
    for other in (one_by_one, parts):
        assert_allclose(other.ranking_.scores, at_once.ranking_.scores, rtol=1e-12)
        assert other.ranking_.items == at_once.ranking_.items


def test_ties_margins_and_weights_enter_the_step():
    tied = OnlineRABF(step=0.4, schedule="constant").update("a", "b", tie=True).ranking_
    assert_allclose(tied.scores, 0.0)
    heavy = OnlineRABF(step=0.4, schedule="constant").update("a", "b", weight=2.0).ranking_
    assert_allclose(heavy.scores, [0.4, -0.4])  # 0.4 · 2 · ½
    far = OnlineRABF(loss="squared", step=0.1, schedule="constant").update("a", "b", margin=3.0).ranking_
    assert_allclose(far.scores, [0.6, -0.6])  # 0.1 · 2 · 3


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"loss": "hinge"}, "loss='hinge' is not known"),
        ({"schedule": "fast"}, "schedule='fast' is not known"),
        ({"step": 0}, "step=0"),
        ({"residual_penalty": -1}, "residual_penalty=-1"),
        ({"schedule": "strong", "feature_penalty": 0}, "schedule='strong' needs"),
        ({"step": 2.0, "residual_penalty": 0.5}, "step · penalty is 1"),
    ],
)
def test_bad_options_are_named(options, message):
    with pytest.raises(InputError, match=message):
        OnlineRABF(**options).update("a", "b")


def test_what_cannot_be_learned_from_is_refused():
    with pytest.raises(InputError, match=r"no features for 'c'; make them known first"):
        OnlineRABF().add({"a": [1], "b": [2]}).update("a", "c")
    with pytest.raises(InputError, match="compared with itself"):
        OnlineRABF().update("a", "a")
    with pytest.raises(InputError, match="margin is for loss='squared'"):
        OnlineRABF().update("a", "b", margin=1.0)
    with pytest.raises(InputError, match="have no order"):
        OnlineRABF().fit(Comparisons("ab", np.array([0]), np.array([1]), count=np.array([5]), ordered=False))
    with pytest.raises(NotFittedError, match="seen no item"):
        _ = OnlineRABF().ranking_
