"""OnlineRABF against the literal loop of (19), the batch optimum, and itself in pieces."""

import inspect
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from podium import RABF, Comparisons, OnlineRABF
from podium.errors import InputError, NotFittedError, PodiumWarning

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
    st.sampled_from([0.02, 0.1, 2.0]),
    st.sampled_from([0.0, 0.2]),
    st.integers(0, 1000),
)
def test_every_step_is_rule_19_capped(schedule, loss, penalties, d, step, flips, seed):
    n, m = 6, 80
    winner, loser, features = votes(n, d, m, seed)
    options = {"feature_penalty": penalties[0], "residual_penalty": penalties[1], "step": step, "loss": loss}
    model = OnlineRABF(schedule=schedule, average=False, standardize=False, flip_rate=flips, **options)
    model.fit(Comparisons.from_arrays(winner, loser, items=range(n)), features if d else None)
    steps = sizes(schedule, m, step, *penalties)
    w, r = online_loop(n, zip(winner, loser, strict=True), features, *penalties, steps, loss, flips=flips)
    assert_allclose(model.coef_, w, atol=1e-12)
    assert_allclose(model.residuals_, r, atol=1e-12)
    assert_allclose(model.ranking_.scores, features @ w + r, atol=1e-12)


def test_shrinkage_is_multiplied_in_before_it_underflows_and_averages_survive_it():
    n, d, m = 5, 2, 4000
    winner, loser, features = votes(n, d, m, 0)
    options = {"feature_penalty": 0.9, "residual_penalty": 0.7, "schedule": "constant", "step": 0.9}
    options["standardize"] = False
    data = Comparisons.from_arrays(winner, loser, items=range(n))  # 0.37^4000 is far below the smallest double
    path = []
    w, r = online_loop(n, zip(winner, loser, strict=True), features, 0.9, 0.7, np.full(m, 0.9), path=path)
    assert_allclose(OnlineRABF(**options).fit(data, features).residuals_, r, atol=1e-10)
    assert_allclose(OnlineRABF(**options).fit(data, features).coef_, w, atol=1e-10)
    averaged = OnlineRABF(**options, average=True).fit(data, features)
    assert_allclose(averaged.residuals_, np.mean(path, axis=0), atol=1e-10)


@pytest.mark.parametrize("loss", ["logistic", "squared"])
@pytest.mark.parametrize("schedule", ["constant", "sqrt", "strong"])
def test_standardised_steps_are_those_of_features_scaled_by_hand(loss, schedule):
    winner, loser, features = votes(8, 3, 200, 5)
    data = Comparisons.from_arrays(winner, loser, items=range(8))
    options = {"loss": loss, "schedule": schedule, "feature_penalty": 0.01, "residual_penalty": 0.02}
    scale = features.std(axis=0)
    twin = OnlineRABF(average=False, standardize=False, **options).fit(data, (features - features.mean(axis=0)) / scale)
    for units, origins in (([1.0, 1, 1], [0.0, 0, 0]), ([1e-6, -40, 1e8], [3.0, 2000, -1e6])):
        for average in (False, True):
            model = OnlineRABF(average=average, **options).fit(data, features * units + origins)
            if not average:
                assert_allclose(model.ranking_.scores, twin.ranking_.scores, atol=1e-7)
                assert_allclose(model.coef_ * units * scale, twin.coef_, atol=1e-7)
            else:
                steady = OnlineRABF(average=True, **options).fit(data, features)
                assert_allclose(model.ranking_.scores, steady.ranking_.scores, atol=1e-7)


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(["logistic", "squared"]),
    st.booleans(),
    st.sampled_from([0.01, 0.5, 50.0]),
    st.sampled_from([1e-3, 1.0, 1e4]),
    st.integers(1, 12),
    st.integers(0, 1000),
)
def test_a_vote_never_moves_its_own_margin_too_far(loss, standardize, step, unit, d, seed):
    rng = np.random.default_rng(seed)
    items = {k: unit * rng.normal(size=d) for k in range(5)}
    options = {"feature_penalty": 0.0, "residual_penalty": 0.0, "schedule": "constant", "step": step}
    model = OnlineRABF(loss=loss, average=False, standardize=standardize, **options).add(items)
    for _ in range(30):
        i, j = rng.choice(5, 2, replace=False)
        before = model.ranking_.score(i) - model.ranking_.score(j)
        target = rng.normal() if loss == "squared" else None
        model.update(i, j, margin=target, weight=rng.choice([0.5, 1.0, 1000.0]))
        moved = model.ranking_.score(i) - model.ranking_.score(j) - before
        if loss == "logistic":
            assert 0 <= moved <= 1 + 1e-6
        else:
            assert -1e-6 <= moved / (target - before) <= 0.5 + 1e-6


@pytest.mark.parametrize("loss", ["logistic", "squared"])
@pytest.mark.parametrize(("n", "d", "m"), [(20, 3, 100), (60, 2, 1500), (200, 5, 1000), (60, 50, 600)])
def test_one_pass_by_default_follows_the_truth_nearly_as_the_optimum_does(loss, n, d, m):
    """Truth is drawn; the last iterate of the squared loss stood at a correlation of .46 with it where this is .85."""
    seen: dict[str, list[float]] = {"online": [], "batch": []}
    for seed in range(4):
        rng = np.random.default_rng(seed)
        features = rng.normal(size=(n, d))
        truth = features @ rng.normal(size=d) / d**0.5
        left = rng.integers(0, n, m)
        right = (left + rng.integers(1, n, m)) % n
        won = rng.random(m) < 1 / (1 + np.exp(truth[right] - truth[left]))
        data = Comparisons.from_arrays(np.where(won, left, right), np.where(won, right, left), items=range(n))
        models = {"online": OnlineRABF(loss=loss), "batch": RABF(loss=loss, feature_penalty=1.0, residual_penalty=1.0)}
        for name, model in models.items():
            seen[name].append(np.corrcoef(model.fit(data, features).ranking_.scores, truth)[0, 1])
    assert np.mean(seen["online"]) > 0.85 * np.mean(seen["batch"])


@pytest.mark.parametrize("loss", ["logistic", "squared"])
@pytest.mark.parametrize("d", [1, 10, 50])
@pytest.mark.parametrize("unit", [1.0, 100.0])
@pytest.mark.parametrize("standardize", [True, False])
def test_the_mean_of_iterates_finds_the_order_whatever_the_number_and_the_scale_of_features(loss, d, unit, standardize):
    rng = np.random.default_rng(1)
    n, m = 100, 15_000
    features = rng.normal(size=(n, d))
    truth = features @ rng.normal(size=d)
    truth /= truth.std()
    left = rng.integers(0, n, m)
    right = (left + rng.integers(1, n, m)) % n
    won = rng.random(m) < 1 / (1 + np.exp(truth[right] - truth[left]))
    data = Comparisons.from_arrays(np.where(won, left, right), np.where(won, right, left), items=range(n))
    model = OnlineRABF(loss=loss, average=True, standardize=standardize).fit(data, unit * features)
    assert np.abs(model.ranking_.scores).max() < 6
    assert np.corrcoef(model.ranking_.scores, truth)[0, 1] > 0.97


def test_a_constant_feature_is_ignored_and_said_until_items_differ_in_it():
    winner, loser, features = votes(6, 2, 50, 3)
    data = Comparisons.from_arrays(winner, loser, items=range(6))
    alone = OnlineRABF().fit(data, features)
    with pytest.warns(PodiumWarning, match="'x3': the same for every item known so far"):
        model = OnlineRABF().fit(data, np.column_stack([features, np.full(6, 0.1)]))
    assert_allclose(model.ranking_.scores, alone.ranking_.scores, atol=1e-12)
    assert model.coef_[2] == 0
    model.add({"new": [0.0, 0.0, 5.0]}).update("new", 0)
    assert model.coef_[2] > 0


def test_many_passes_reach_the_batch_optimum_at_twice_its_penalty_a_vote():
    n, m = 8, 200
    winner, loser, features = votes(n, 2, m, 1)
    data = Comparisons.from_arrays(winner, loser, items=range(n))
    batch = RABF(feature_penalty=4.0, residual_penalty=2.0).fit(data, features)  # both standardise
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
    at_once = OnlineRABF(standardize=False).fit(Comparisons.from_pairs(pairs), features)
    one_by_one = OnlineRABF(standardize=False).add({"a": [1.0], "b": [0.0]}).update("a", "b")
    one_by_one.add({"c": [2.0], "d": [-1.0]})
    for winner, loser in pairs[1:]:
        one_by_one.update(winner, loser)
    parts = OnlineRABF(standardize=False).partial_fit(Comparisons.from_pairs(pairs[:2]), features)
    parts.partial_fit(Comparisons.from_pairs(pairs[2:]))
    for other in (one_by_one, parts):
        assert_allclose(other.ranking_.scores, at_once.ranking_.scores, rtol=1e-12)
        assert other.ranking_.items == at_once.ranking_.items
    scaled = OnlineRABF().fit(Comparisons.from_pairs(pairs), features)
    known = OnlineRABF()
    for item, row in features.items():  # made known one by one before the first vote, the scale is the same
        known.add({item: row})
    for winner, loser in pairs:
        known.update(winner, loser)
    assert_allclose(known.ranking_.scores, scaled.ranking_.scores, rtol=1e-12)


def test_ties_margins_and_weights_enter_the_step():
    tied = OnlineRABF(step=0.4, schedule="constant").update("a", "b", tie=True).ranking_
    assert_allclose(tied.scores, 0.0)
    heavy = OnlineRABF(step=0.2, schedule="constant").update("a", "b", weight=2.0).ranking_
    assert_allclose(heavy.scores, [0.2, -0.2])  # 0.2 · 2 · ½
    capped = OnlineRABF(step=0.2, schedule="constant").update("a", "b", weight=200.0).ranking_
    assert_allclose(capped.scores, [0.25, -0.25])  # ½ of the longest step, 1/‖z‖² = ½
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


NUMBERS = ("feature_penalty", "residual_penalty", "step", "flip_rate")
WORDS = ("loss", "schedule", "average", "standardize")


@pytest.mark.parametrize("name", NUMBERS + WORDS)
def test_whatever_an_option_cannot_be_is_refused_with_its_name_and_value(name):
    assert set(NUMBERS + WORDS) == set(inspect.signature(OnlineRABF).parameters)
    wrong = [float("nan"), float("inf"), -1.0, "many", "", None, [1.0], np.array([1.0, 2.0]), 1j]
    for value in [*wrong, True] if name in NUMBERS else wrong:
        with pytest.raises(InputError, match=rf"^{name}={re.escape(repr(value))}"):
            OnlineRABF(**{name: value}).update("a", "b")


@pytest.mark.parametrize("name", ["weight", "margin"])
def test_a_vote_of_no_finite_weight_or_margin_is_refused(name):
    for value in (float("nan"), float("inf"), "many", [1.0]):
        with pytest.raises(InputError, match=rf"^{name}={re.escape(repr(value))}"):
            OnlineRABF(loss="squared").update("a", "b", **{name: value})


@pytest.mark.parametrize("loss", ["logistic", "squared"])
def test_known_flips_bring_scores_back_to_their_size(loss):
    """With a fifth of the votes turned over, scores shrink; with the rate known they are those of votes as cast."""
    rng = np.random.default_rng(3)
    truth = rng.normal(size=12)
    left = rng.integers(0, 12, 60_000)
    right = (left + rng.integers(1, 12, 60_000)) % 12
    won = rng.random(60_000) < 1 / (1 + np.exp(truth[right] - truth[left]))
    turned = won ^ (rng.random(60_000) < 0.2)
    votes = [
        Comparisons.from_arrays(np.where(w, left, right), np.where(w, right, left), items=range(12))
        for w in (won, turned)
    ]
    options = {"loss": loss, "schedule": "constant", "step": 0.02 if loss == "squared" else 0.1, "average": True}
    clean = OnlineRABF(**options).fit(votes[0]).ranking_.scores
    spoilt, mended = (OnlineRABF(**options, flip_rate=rate).fit(votes[1]) for rate in (0.0, 0.2))
    slope = [np.polyfit(clean, model.ranking_.scores, 1)[0] for model in (spoilt, mended)]
    assert slope[0] < 0.8
    assert 0.9 < slope[1] < 1.1
    chance = mended.predict_proba(votes[1])[:, 0]
    if loss == "logistic":
        assert 0.2 <= chance.min() < chance.max() <= 0.8
        seen = np.abs(truth[votes[1].left] - truth[votes[1].right]) > 0.5
        assert -mended.score(votes[1].take(np.flatnonzero(seen))) < np.log(2)
        assert mended.win_probability(3, 4) + mended.win_probability(4, 3) == pytest.approx(1)


def test_new_items_are_scored_by_their_features():
    winner, loser, features = votes(8, 2, 500, 4)
    data, new = Comparisons.from_arrays(winner, loser, items=range(8)), np.array([[0.3, -1.0], [2.0, 0.5]])
    for standardize in (True, False):
        model = OnlineRABF(standardize=standardize).fit(data, features)
        whole = model.predict(new)
        origin = features.mean(axis=0) if standardize else 0.0
        assert_allclose(whole, (new - origin) @ model.coef_)
        assert_allclose(model.predict(features) + model.residuals_, model.ranking_.scores)
        later = model.add({"late": new[0]}).ranking_
        if not standardize:  # else the mean moves
            assert later.score("late") == pytest.approx(whole[0])
    with pytest.raises(InputError, match="learned without features"):
        OnlineRABF().fit(data).predict(new)


def test_learning_on_needs_features_of_newcomers_only_and_says_what_changed():
    first, later = Comparisons.from_pairs([("a", "b")] * 5), Comparisons.from_pairs([("c", "a"), ("b", "c")])
    table = {"a": [1.0, 3.0], "b": [2.0, 1.0], "c": [0.0, 2.0]}
    whole, parts = OnlineRABF().add(table), OnlineRABF(standardize=False)
    once = OnlineRABF(standardize=False).add(table).partial_fit(first).partial_fit(later)
    parts.fit(first, {k: table[k] for k in "ab"}).partial_fit(later, {"c": table["c"]})
    assert parts.ranking_.order == once.ranking_.order
    assert_allclose(parts.coef_, once.coef_)
    with pytest.warns(
        PodiumWarning, match=r"features of 'a' differ from those the model knows, which stay as they were"
    ):
        whole.partial_fit(first, table | {"a": [9.0, 9.0]})


def test_what_cannot_be_learned_from_is_refused():
    with pytest.raises(InputError, match=r"no features for 'c'; give them by features=, or make them known first: add"):
        OnlineRABF().add({"a": [1], "b": [2]}).update("a", "c")
    with pytest.raises(InputError, match="compared with itself"):
        OnlineRABF().update("a", "a")
    with pytest.raises(InputError, match="margin is for loss='squared'"):
        OnlineRABF().update("a", "b", margin=1.0)
    with pytest.raises(InputError, match="have no order"):
        OnlineRABF().fit(Comparisons("ab", np.array([0]), np.array([1]), count=np.array([5]), ordered=False))
    with pytest.raises(NotFittedError, match="not fitted yet"):
        _ = OnlineRABF().ranking_


def test_text_among_features_is_refused_without_an_option_that_is_not_there():
    votes = Comparisons.from_pairs([("a", "b"), ("b", "c"), ("c", "a")])
    table = {"a": {"kind": "x"}, "b": {"kind": "y"}, "c": {"kind": "x"}}
    with pytest.raises(InputError) as caught:
        OnlineRABF().fit(votes, table)
    assert str(caught.value) == "features: 'kind' holds text; leave it out; this method takes numbers only"
    odd = {"a": {"size": 1.0}, "b": {"size": "n/a"}, "c": {"size": 2.0}}
    with pytest.raises(InputError, match=r"row 2: 'size' is 'n/a', where most rows have numbers; correct it$"):
        OnlineRABF().fit(votes, odd)


# ---- in small -------------------------------------------------------------------------------------------------------


def test_votes_are_learned_from_in_the_order_of_their_times_and_a_fit_forgets():
    rows = [("a", "b"), ("b", "c"), ("c", "a"), ("a", "c"), ("b", "a")]
    winner, loser = zip(*rows, strict=True)
    plain = OnlineRABF().fit(Comparisons.from_pairs(rows))
    mixed = [3, 0, 4, 1, 2]
    timed = Comparisons.from_arrays([winner[k] for k in mixed], [loser[k] for k in mixed], time=mixed)
    by_time = OnlineRABF().fit(timed)
    assert {item: by_time.ranking_.score(item) for item in "abc"} == pytest.approx(
        {item: plain.ranking_.score(item) for item in "abc"}
    )
    again = OnlineRABF().fit(Comparisons.from_pairs([("x", "y")] * 3)).fit(Comparisons.from_pairs(rows))
    assert again.ranking_.items == plain.ranking_.items
    assert_allclose(again.ranking_.scores, plain.ranking_.scores)
    assert again.n_votes_ == 5
    once = OnlineRABF().update("a", "b")
    with pytest.raises(InputError, match="votes given one by one are not kept"):
        _ = once.log_likelihood_


def test_features_come_by_place_for_all_items_or_by_label_for_newcomers():
    from scipy.sparse import csr_array

    first, later = Comparisons.from_pairs([("a", "b")] * 4), Comparisons.from_pairs([("c", "a"), ("b", "c")])
    table = {"a": [1.0, 3.0], "b": [2.0, 1.0], "c": [0.5, 2.0]}
    known = np.array([table[item] for item in first.items])
    more = np.array([table[item] for item in later.items])
    fits = []
    for one, two in (
        (known, more),
        (csr_array(known), csr_array(more)),
        (table, None),
        ({k: table[k] for k in "ab"}, {"c": table["c"]}),
    ):
        model = OnlineRABF(standardize=False).fit(first, one)
        fits.append(model.partial_fit(later, two))
    for model in fits:
        assert {item: model.ranking_.score(item) for item in "abc"} == pytest.approx(
            {item: fits[0].ranking_.score(item) for item in "abc"}
        )
    whole = OnlineRABF(standardize=False).fit(first, known)
    assert whole.partial_fit(first, known).n_votes_ == 8
    with pytest.raises(InputError, match="no features for 'c'"):
        OnlineRABF().fit(first, known).partial_fit(later)


@pytest.mark.parametrize("flip_rate", [0.0, 0.2])
def test_chances_of_online_votes_know_their_flips(flip_rate):
    model = OnlineRABF(flip_rate=flip_rate, step=0.3)
    for pair in [("a", "b"), ("a", "c"), ("b", "c"), ("c", "a")]:
        model.update(*pair)
    gap = model.ranking_.score("a") - model.ranking_.score("b")
    chance = flip_rate + (1 - 2 * flip_rate) / (1 + np.exp(-gap))
    assert model.win_probability("a", "b") == pytest.approx(chance)
    win, tie, loss = model.predict_proba(Comparisons.from_pairs([("a", "b")]))[0]
    assert (win, tie, loss) == pytest.approx((chance, 0.0, 1 - chance))


def test_scales_of_features_are_those_of_the_items_known_so_far():
    model = OnlineRABF().add({"a": [1.0, 5.0, 2.0], "b": [3.0, 5.0, 4.0], "c": [8.0, 5.0, 9.0]})
    rows = np.array([[1.0, 5.0, 2.0], [3.0, 5.0, 4.0], [8.0, 5.0, 9.0]])
    variance = rows.var(axis=0)
    assert_allclose(model._precision(), [1 / variance[0], 0.0, 1 / variance[2]])
    assert_allclose(model._moments[0], rows.mean(axis=0))
    nothing = OnlineRABF().add({"a": [1.0, 0.0], "b": [3.0, 0.0]})
    assert nothing._precision().tolist() == [1.0, 0.0]
    plain = OnlineRABF(standardize=False).add({"a": [1.0, 5.0], "b": [3.0, 5.0]})
    assert plain._precision().tolist() == [1.0, 1.0]
    model.update("a", "b")
    assert_allclose(model.ranking_.scores, (rows - rows.mean(axis=0)) @ model.coef_ + model.residuals_)
    assert_allclose(model.predict([[2.0, 5.0, 1.0]]), ([2.0, 5.0, 1.0] - rows.mean(axis=0)) @ model.coef_)


def test_a_schedule_that_is_strong_needs_both_penalties_and_no_small_step():
    for name in ("feature_penalty", "residual_penalty"):
        with pytest.raises(InputError, match="schedule='strong' needs feature_penalty and residual_penalty above 0"):
            OnlineRABF(schedule="strong", **{name: 0.0}).update("a", "b")
    model = OnlineRABF(schedule="strong", step=50.0, feature_penalty=0.1, residual_penalty=0.4, average=False)
    model.update("a", "b")  # η = 1/(λ(t + offset)), offset = max(2·0.4/0.1, 1/(0.1·50))
    eta = 1 / (0.1 * (1 + 8.0))
    assert_allclose(model.ranking_.scores, np.array([0.5, -0.5]) * min(eta, 0.5), rtol=1e-6)
