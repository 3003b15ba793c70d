"""Scores that move, of items with features: against a dense Newton on the whole posterior, RABF without drift, and
simulation."""

import warnings

import numpy as np
import polars as pl
import pytest
from numpy.testing import assert_allclose
from scipy.sparse import csr_array

from podium import RABF, Comparisons, DynamicBradleyTerry
from podium.errors import DataWarning, InputError
from podium.evaluate import forecasts
from podium.models import load, save

import reference_dynamic as reference

N, NEW = 5, 2  # items with votes, and items that only features know


def games(seed=0, m=60, times=10, sided=True, n=N):
    rng = np.random.default_rng(seed)
    left = rng.integers(0, n, m)
    right = (left + rng.integers(1, n, m)) % n
    outcome = rng.choice([-1, 0, 1], m, p=[0.3, 0.2, 0.5]).astype(np.int8)
    time = np.sort(rng.integers(0, times, m)) * 0.5
    return Comparisons(tuple(range(n)), left, right, outcome=outcome, sided=sided, time=time)


def table(d=2, seed=1, n=N + NEW):
    """Features by item, in units of their own."""
    return (
        np.random.default_rng(seed).normal(size=(n, d)) * np.array([10.0, 0.1, 1.0, 5.0, 2.0, 3.0, 1.0, 1.0])[:d] + 3.0
    )


def as_mapping(matrix):
    return dict(enumerate(matrix.tolist()))


@pytest.mark.parametrize(("side", "davidson"), [(False, False), (True, False), (True, True)])
def test_scores_weights_errors_and_evidence_are_those_of_a_dense_newton(side, davidson):
    c, sd, drift, penalty, raw = games(), 1.2, 0.4, 0.3, table()
    options = {"side_effect": side, "ties": "davidson" if davidson else "half"}
    model = DynamicBradleyTerry(sd=sd, drift=drift, feature_penalty=penalty, **options).fit(c, as_mapping(raw))
    mean, scale = raw[:N].mean(axis=0), raw[:N].std(axis=0)
    features, d = (raw - mean) / scale, raw.shape[1]
    nodes, x, hessian, evidence = reference.fit(
        c.left, c.right, c.outcome, c.time, sd=sd, drift=drift, side=side, davidson=davidson,
        features=features, penalty=penalty,
    )  # fmt: skip
    n, covariance = len(nodes), np.linalg.inv(hessian)
    weights = slice(n, n + d)
    assert model.log_evidence_ == pytest.approx(evidence, abs=1e-6)
    assert_allclose(model.coef_, x[weights] / scale, atol=1e-6)
    assert_allclose(model.coef_std_errors_, np.sqrt(covariance.diagonal()[weights]) / scale, rtol=1e-5)
    assert_allclose(model.effect_std_errors_, np.sqrt(covariance.diagonal()[n + d :]), rtol=1e-5)
    if side:
        assert model.side_effect_ == pytest.approx(x[n + d], abs=1e-5)
    if davidson:
        assert model.tie_strength_ == pytest.approx(np.exp(x[-1]), abs=1e-5)
    assert model.unseen_ == (5, 6)
    first, last = c.time.min(), c.time.max()
    for when in (last, (first + last) / 2 + 0.1, last + 3.0):
        known = N if when < last else N + NEW
        ranking = model.ranking_at(when)
        assert ranking.items == tuple(range(known))
        loads, rest = np.zeros((N + NEW, len(x))), np.zeros(N + NEW)
        loads[:N, :n], rest[:N] = reference.scores_at(nodes, when, range(N), sd=sd, drift=drift)
        rest[N:] = sd**2 + drift**2 * max(when - last, 0.0)  # newcomers at the last vote, who walk on from there
        loads[:, weights] = features
        spread = loads @ covariance @ loads.T + np.diag(rest)
        assert_allclose(ranking.scores, (loads @ x)[:known], atol=1e-5)
        centre = np.eye(known) - 1 / known
        errors = np.sqrt((centre @ spread[:known, :known] @ centre).diagonal())
        assert_allclose(ranking.std_errors, errors, rtol=1e-5)
        if when < last:
            continue
        asked = Comparisons(range(N + NEW), [0, 3, 5], [5, 4, 6], outcome=[0] * 3, sided=True, time=np.full(3, when))
        one, other = [0, 3, 5], [5, 4, 6]
        contrast = loads[one] - loads[other]
        if side:
            contrast[:, n + d] = 1.0
        variance = (contrast @ covariance @ contrast.T).diagonal() + rest[one] + rest[other]
        lower, upper = model.predict_interval(asked, 0.9)
        margins = contrast @ x + np.outer([-1.6448536, 1.6448536], np.sqrt(variance))
        strength = np.zeros((2, 1))
        if davidson:  # many ties at the lower end, few at the upper one
            strength = np.exp(x[-1] + np.array([[1.6448536], [-1.6448536]]) * np.sqrt(covariance[-1, -1]))
        wins = np.exp(margins / 2) / (np.exp(margins / 2) + np.exp(-margins / 2) + strength)
        assert_allclose([lower[:, 0], upper[:, 0]], wins, atol=1e-5)
    scores, deviations = model.predict(raw[N:], return_std=True)
    loads = np.zeros((NEW, len(x)))
    loads[:, weights] = features[N:]
    assert_allclose(scores, loads @ x, atol=1e-5)
    assert_allclose(deviations, np.sqrt((loads @ covariance @ loads.T).diagonal() + sd**2), rtol=1e-5)
    assert_allclose(model.residuals_ + features @ x[weights], model.ranking_.scores, atol=1e-5)


@pytest.mark.filterwarnings("ignore::podium.errors.DataWarning")
@pytest.mark.parametrize("standardize", [True, False])
@pytest.mark.parametrize("d", [1, 3, 8], ids=["one", "some", "more than items"])
@pytest.mark.parametrize("options", [{}, {"side_effect": True, "ties": "davidson"}])
def test_without_drift_it_is_rabf(options, d, standardize):
    c, raw, sd = games(), table(d), 1.3
    options = options | {"standardize": standardize, "feature_penalty": 0.4}
    plain = RABF(residual_penalty=0.5 / sd**2, **options).fit(c, as_mapping(raw))
    for drift, tolerance in ((0.0, 1e-6), (1e-5, 1e-5)):
        model = DynamicBradleyTerry(drift=drift, sd=sd, **options).fit(c, as_mapping(raw))
        assert model.ranking_.items == plain.ranking_.items
        assert_allclose(model.ranking_.scores, plain.ranking_.scores, atol=tolerance)
        assert_allclose(model.coef_, plain.coef_, atol=tolerance)
        assert_allclose(model.residuals_, plain.residuals_, atol=tolerance)
        assert_allclose(model.ranking_.std_errors, plain.ranking_.std_errors, rtol=10 * tolerance)
        assert_allclose(model.coef_std_errors_, plain.coef_std_errors_, rtol=10 * tolerance)
        assert_allclose(model.predict_proba(c), plain.predict_proba(c), atol=tolerance)
        assert_allclose(model.predict(raw, True), plain.predict(raw, True), atol=10 * tolerance)
        assert model.explained_ == pytest.approx(plain.explained_, abs=tolerance)
        assert model.side_effect_ == pytest.approx(plain.side_effect_, abs=tolerance)
        assert (model.unseen_, model.feature_names_) == (plain.unseen_, plain.feature_names_)


def test_frames_arrays_sparse_tables_text_and_missing_values_are_read_as_rabf_reads_them():
    c, raw = games(), table()
    frame = pl.DataFrame({"who": range(N + NEW), "size": raw[:, 0], "age": raw[:, 1]})
    fitted = {"drift": 0.2, "sd": 1.0, "feature_penalty": 0.5}
    one = DynamicBradleyTerry(**fitted).fit(c, frame, id="who")
    assert one.feature_names_ == ("size", "age")
    for source in (raw[:N], csr_array(raw[:N])):
        other = DynamicBradleyTerry(**fitted).fit(c, source)
        assert_allclose(other.coef_, one.coef_, atol=1e-9)
        assert other.unseen_ == ()
    holed = frame.with_columns(age=pl.when(pl.col("who") == 2).then(None).otherwise(pl.col("age")), kind=pl.lit("x"))
    holed = holed.with_columns(kind=pl.when(pl.col("who") % 2 == 0).then(pl.lit("y")).otherwise(pl.col("kind")))
    with pytest.raises(InputError, match="holds text"):
        DynamicBradleyTerry(**fitted).fit(c, holed, id="who")
    with pytest.raises(InputError, match="'age' is missing for 2"):
        DynamicBradleyTerry(one_hot=True, **fitted).fit(c, holed, id="who")
    filled = DynamicBradleyTerry(one_hot=True, missing="mean", **fitted).fit(c, holed, id="who")
    assert filled.feature_names_ == ("size", "age", "kind=y")
    with pytest.warns(DataWarning, match="the same for every compared item"):
        flat = DynamicBradleyTerry(**fitted).fit(c, np.column_stack([raw[:N, :1], np.ones(N)]))
    assert flat.coef_[1] == 0.0
    assert np.isnan(flat.coef_std_errors_[1])
    for bad in (0.0, -1.0, 1e13, "much", float("nan")):
        with pytest.raises(InputError, match="feature_penalty"):
            DynamicBradleyTerry(feature_penalty=bad).fit(c, raw[:N])


def test_units_of_features_and_of_scores_do_not_matter():
    c, raw = games(), table()
    one = DynamicBradleyTerry(drift=0.2, sd=1.0).fit(c, as_mapping(raw))
    other = DynamicBradleyTerry(drift=0.2, sd=1.0, scale="elo").fit(c, as_mapping(raw * [1000.0, 0.01] - 7.0))
    unit = 400 / np.log(10)
    assert_allclose(other.ranking_.scores, 1000 + unit * one.ranking_.scores, atol=1e-2)
    assert_allclose(other.ranking_.std_errors, unit * one.ranking_.std_errors, rtol=1e-3)
    assert_allclose(other.coef_ * [1000.0, 0.01], one.coef_, rtol=1e-3)
    assert_allclose(other.predict(raw * [1000.0, 0.01] - 7.0), 1000 + unit * one.predict(raw), atol=1e-2)


def test_going_on_is_as_good_as_beginning_again_newcomers_included():
    raw, whole = table(), games(m=80, times=20, n=N + NEW)
    early = whole.time <= 5.0
    old = early & (whole.left < N) & (whole.right < N)
    begun, rest = whole.take(np.flatnonzero(old)), whole.take(np.flatnonzero(~early))
    first = Comparisons(range(N), begun.left, begun.right, outcome=begun.outcome, sided=True, time=begun.time)
    options = {"drift": 0.3, "sd": 1.0, "feature_penalty": 0.5, "side_effect": True, "ties": "davidson"}
    every = as_mapping(raw)
    kept, new = {k: every[k] for k in range(N)}, {k: every[k] for k in range(N, N + NEW)}
    again = DynamicBradleyTerry(**options).fit(whole.take(np.flatnonzero(old | ~early)), every)
    for before, later in ((kept, new), (every, None), (kept, every), (kept, raw)):
        parts = DynamicBradleyTerry(**options).fit(first, before).partial_fit(rest, later)
        assert parts.ranking_.items == again.ranking_.items
        assert_allclose(parts.ranking_.scores, again.ranking_.scores, atol=1e-6)
        assert_allclose(parts.ranking_.std_errors, again.ranking_.std_errors, atol=1e-5)
        assert_allclose(parts.coef_, again.coef_, atol=1e-6)
    model = DynamicBradleyTerry(**options).fit(first, kept)
    with pytest.raises(InputError, match="5, 6: not known yet, so partial_fit needs features"):
        model.partial_fit(rest)
    with pytest.raises(InputError, match="no row for 6"):
        model.partial_fit(rest, {5: every[5]})
    assert len(model.ranking_) == N  # as it was
    with pytest.raises(InputError, match="fitted without features"):
        DynamicBradleyTerry(**options).fit(first).partial_fit(rest, every)
    with pytest.raises(InputError, match="without features"):
        DynamicBradleyTerry(**options).fit(first).predict(raw)


@pytest.mark.filterwarnings("ignore::podium.errors.DataWarning")
@pytest.mark.parametrize("d", [2, 8])
@pytest.mark.parametrize("penalty", [1e-12, 1e12])
def test_the_least_and_the_largest_penalty_leave_numbers(penalty, d):
    """At the largest the features' part is 0, which is the model without them; at the least it is held by the walks."""
    c, raw = games(), table(d)
    model = DynamicBradleyTerry(drift=0.2, sd=1.0, feature_penalty=penalty).fit(c, raw[:N])
    assert np.isfinite(model.ranking_.std_errors).all()
    assert np.isfinite(model.coef_std_errors_).all()
    if penalty > 1:
        plain = DynamicBradleyTerry(drift=0.2, sd=1.0).fit(c)
        assert_allclose(model.ranking_.scores, plain.ranking_.scores, atol=1e-6)
        assert_allclose(model.ranking_.std_errors, plain.ranking_.std_errors, rtol=1e-6)


@pytest.mark.filterwarnings("ignore::podium.errors.DataWarning")
@pytest.mark.parametrize("d", [2, 8])
def test_a_saved_model_answers_as_the_one_that_was_saved(tmp_path, d):
    c, raw = games(), table(d)
    model = DynamicBradleyTerry(side_effect=True).fit(c, as_mapping(raw))
    save(model, tmp_path / "m.podium")
    back = load(tmp_path / "m.podium")
    later = c.take(range(4))
    for one, other in ((model, back), (model.partial_fit(later), back.partial_fit(later))):
        assert_allclose(other.ranking_.scores, one.ranking_.scores, atol=1e-6)
        assert_allclose(other.ranking_.std_errors, one.ranking_.std_errors, rtol=1e-6)
        assert_allclose(other.predict(raw, True), one.predict(raw, True), atol=1e-6)
        assert (other.unseen_, other.feature_penalty_) == (one.unseen_, one.feature_penalty_)


def season(seed, newcomers=6, n=16, days=30, a_day=12, weight=1.0, sd=0.5, drift=0.05):
    """A league whose strengths truly are weight · feature plus a walk, and those of newcomers who do not play."""
    rng = np.random.default_rng(seed)
    feature = rng.normal(size=n + newcomers)
    strength, rows = weight * feature + rng.normal(0.0, sd, n + newcomers), []
    for day in range(days):
        strength[:n] += rng.normal(0.0, drift, n)
        left = rng.integers(0, n, a_day)
        right = (left + rng.integers(1, n, a_day)) % n
        won = rng.random(a_day) < 1 / (1 + np.exp(strength[right] - strength[left]))
        rows.append(np.column_stack([left, right, np.where(won, 1, -1), np.full(a_day, day)]))
    left, right, outcome, day = np.concatenate(rows).T
    votes = Comparisons(tuple(range(n)), left, right, outcome=outcome, sided=True, time=day.astype(float))
    return votes, dict(enumerate(feature[:, None].tolist())), strength


def test_weights_and_newcomers_of_simulated_leagues_are_found_as_often_as_intervals_say():
    """Weights are drawn from the prior that the model has, as errors are those of a posterior."""
    inside, off = [], []
    for seed in range(12):
        weight = np.random.default_rng(1000 + seed).normal()
        votes, features, strength = season(seed, weight=weight)
        model = DynamicBradleyTerry(drift=0.05, sd=0.5, feature_penalty=0.5).fit(votes, features)
        off.append((model.coef_[0] - weight) / model.coef_std_errors_[0])
        lower, upper = model.ranking_.intervals(0.8)
        true = strength - strength.mean() + model.ranking_.scores.mean()
        inside += ((lower <= true) & (true <= upper))[16:].tolist()
    assert 0.65 < np.mean(inside) < 0.95  # of 72 at 0.8, three standard errors
    assert 0.28 < np.mean(np.square(off)) < 2.2  # χ² with 12 degrees over 12: chance 0.01 on either side


def test_the_drift_and_spreads_found_have_the_largest_evidence():
    """With the weak prior of the spreads; a step of 1.6 either way is well beyond what the search leaves open."""
    for seed in range(3):
        votes, features, _ = season(50 + seed, drift=0.15, days=24, a_day=8)
        found = DynamicBradleyTerry().fit(votes, features)

        def likely(model):
            centre = 0.0  # of one feature that is standardised
            weight_sd = (2 * model.feature_penalty_) ** -0.5
            return model.log_evidence_ - 0.5 * np.log(model.sd_) ** 2 - 0.5 * (np.log(weight_sd) - centre) ** 2

        best = likely(found)
        for drift in (0.0, 0.02, 0.05, 0.1, 0.2, 0.4, 1.0):
            for sd, penalty in ((1.0, 1.0), (1.6, 1.0), (1 / 1.6, 1.0), (1.0, 2.5), (1.0, 0.4)):
                given = {"drift": drift, "sd": sd * found.sd_, "feature_penalty": penalty * found.feature_penalty_}
                assert likely(DynamicBradleyTerry(**given).fit(votes, features)) < best + 0.05


def test_features_that_matter_predict_newcomers_better():
    """Half of the items begin to play half-way: with features their first games are told better than a coin's."""
    gains = []
    for seed in range(4):
        votes, features, _ = season(200 + seed, newcomers=0, weight=1.5)
        late = (votes.time < 15) & ((votes.left >= 8) | (votes.right >= 8))
        votes = votes.take(np.flatnonzero(~late))
        rows = (votes.time == 15) & (votes.left >= 8) & (votes.right >= 8)
        first = votes.take(np.flatnonzero(votes.time < 15))
        model = DynamicBradleyTerry().fit(first, features)
        gains.append(model.score(votes.take(np.flatnonzero(rows))) + np.log(2))
    assert np.mean(gains) > 0.05


def test_useless_features_hardly_change_the_scores():
    votes, _, _ = season(9, newcomers=0)
    noise = dict(enumerate(np.random.default_rng(0).normal(size=(16, 1)).tolist()))
    plain, featured = DynamicBradleyTerry().fit(votes), DynamicBradleyTerry().fit(votes, noise)
    assert np.corrcoef(plain.ranking_.scores, featured.ranking_.scores)[0, 1] > 0.98


def test_items_that_never_played_have_no_curve_and_are_not_ranked_in_the_past():
    c, raw = games(), table()
    model = DynamicBradleyTerry(drift=0.2, sd=1.0).fit(c, as_mapping(raw))
    frame = model.curves(points=4)
    assert set(frame["item"].to_list()) == set(range(N))
    end = frame.filter(frame["time"] == c.time.max())
    lower, upper = model.ranking_.intervals()
    for row in end.rows(named=True):
        assert row["lower"] == pytest.approx(lower[row["item"]], abs=1e-3)
        assert row["upper"] == pytest.approx(upper[row["item"]], abs=1e-3)
    with pytest.raises(InputError, match="5 was never compared"):
        model.curves([5])
    assert model.ranking_at(float(c.time.min())).items != model.ranking_.items


def test_forecasts_take_features():
    votes, features, _ = season(1, newcomers=0, days=12)
    model = DynamicBradleyTerry(drift=0.05, sd=0.5, feature_penalty=0.5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        going = forecasts(model, votes, features=features)
        anew = forecasts(model, votes, features=features, refit=True)
    assert_allclose(going, anew, atol=1e-5)
    assert not np.allclose(going[60:], forecasts(model, votes)[60:], atol=1e-3)
