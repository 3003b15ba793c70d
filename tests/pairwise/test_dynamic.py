"""Scores that move, against a dense Newton on the whole posterior, Bradley-Terry without drift, and simulation."""

import datetime
import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from podium import BradleyTerry, Comparisons, DynamicBradleyTerry, Elo
from podium.errors import ConvergenceError, InputError, SeparationWarning
from podium.kernels.pairwise import walks as kernel
from podium.pairwise._fit import walks as fitting
from podium.pairwise._fit.solvers import Rows
from podium.pairwise._fit.walk_effects import side_effect
from podium.pairwise._fit.walk_search import Search, Spreads

import reference_dynamic as reference


def games(seed=0, n=5, m=60, times=10, sided=True):
    rng = np.random.default_rng(seed)
    left = rng.integers(0, n, m)
    right = (left + rng.integers(1, n, m)) % n
    outcome = rng.choice([-1, 0, 1], m, p=[0.3, 0.2, 0.5]).astype(np.int8)
    time = np.sort(rng.integers(0, times, m)) * 0.5
    return Comparisons(tuple(range(n)), left, right, outcome=outcome, sided=sided, time=time)


def league(seed, n, days, a_day, sd, drift, home=0.0, nu=0.0):
    """Games of a league whose strengths truly walk, and the strengths on the last day."""
    rng = np.random.default_rng(seed)
    strength, rows = rng.normal(0.0, sd, n), []
    for day in range(days):
        strength = strength + rng.normal(0.0, drift, n)
        left = rng.integers(0, n, a_day)
        right = (left + rng.integers(1, n, a_day)) % n
        margin = strength[left] - strength[right] + home
        win, loss = np.exp(margin / 2), np.exp(-margin / 2)
        drawn = rng.random(a_day) * (win + loss + nu)
        rows.append(
            np.column_stack([left, right, np.where(drawn < win, 1, np.where(drawn < win + nu, 0, -1)), left * 0 + day])
        )
    left, right, outcome, day = np.concatenate(rows).T
    votes = Comparisons(tuple(range(n)), left, right, outcome=outcome, sided=True, time=day.astype(float))
    return votes, strength


@pytest.mark.parametrize(("side", "davidson"), [(False, False), (True, False), (False, True), (True, True)])
def test_scores_errors_effects_and_evidence_are_those_of_a_dense_newton(side, davidson):
    c, sd, drift = games(), 1.2, 0.4
    model = DynamicBradleyTerry(sd=sd, drift=drift, side_effect=side, ties="davidson" if davidson else "half").fit(c)
    nodes, x, hessian, evidence = reference.fit(
        c.left, c.right, c.outcome, c.time, sd=sd, drift=drift, side=side, davidson=davidson
    )
    n = len(nodes)
    effects = x[n:].tolist()
    assert model.log_evidence_ == pytest.approx(evidence, abs=1e-6)
    if side:
        assert model.side_effect_ == pytest.approx(effects[0], abs=1e-5)
    if davidson:
        assert model.tie_strength_ == pytest.approx(np.exp(effects[-1]), abs=1e-5)
    covariance = np.linalg.inv(hessian)
    assert_allclose(model.effect_std_errors_, np.sqrt(covariance.diagonal()[n:]), rtol=1e-5)
    first, last = c.time.min(), c.time.max()
    for when in (last, (first + last) / 2 + 0.1, last + 3.0):
        ranking = model.ranking_at(when)
        assert ranking.items == c.items
        weights, rest = reference.scores_at(nodes, when, range(5), sd=sd, drift=drift)
        assert_allclose(ranking.scores, weights @ x[:n], atol=1e-5)
        spread = weights @ covariance[:n, :n] @ weights.T + np.diag(rest)
        centre = np.eye(5) - 0.2
        assert_allclose(ranking.std_errors, np.sqrt((centre @ spread @ centre).diagonal()), rtol=1e-5)
        asked = Comparisons(c.items, [0, 3], [1, 4], outcome=[0, 0], sided=True, time=np.full(2, when))
        contrast = np.zeros((2, len(x)))
        contrast[:, :n] = weights[[0, 3]] - weights[[1, 4]]
        if side:
            contrast[:, n] = 1.0
        variance = (contrast @ covariance @ contrast.T).diagonal() + rest[[0, 3]] + rest[[1, 4]]
        lower, upper = model.predict_interval(asked, 0.9)
        margins = contrast @ x + np.outer([-1.6448536, 1.6448536], np.sqrt(variance))
        strength = np.zeros((2, 1))
        if davidson:  # many ties at the lower end, few at the upper one
            strength = np.exp(effects[-1] + np.array([[1.6448536], [-1.6448536]]) * np.sqrt(covariance[-1, -1]))
        wins = np.exp(margins / 2) / (np.exp(margins / 2) + np.exp(-margins / 2) + strength)
        assert_allclose([lower[:, 0], upper[:, 0]], wins, atol=1e-5)


@pytest.mark.parametrize("options", [{}, {"side_effect": True, "ties": "davidson"}])
def test_without_drift_it_is_bradley_terry(options):
    c = games()
    plain = BradleyTerry(l2=0.5 / 1.3**2, **options).fit(c)
    for drift, tolerance in ((0.0, 1e-7), (1e-5, 1e-6), (1e-3, 1e-4)):
        model = DynamicBradleyTerry(drift=drift, sd=1.3, **options).fit(c)
        assert_allclose(model.ranking_.scores, plain.ranking_.scores, atol=tolerance)
        assert_allclose(model.ranking_.std_errors, plain.ranking_.std_errors, atol=10 * tolerance)
        assert model.side_effect_ == pytest.approx(plain.side_effect_, abs=tolerance)
        assert_allclose(model.predict_proba(c), plain.predict_proba(c), atol=tolerance)


def test_a_handful_of_votes_makes_no_one_sure():
    """Votes that say nothing of the spread leave it about where the weak prior has it; and errors are as wide."""
    for rows in ([("a", "b")], [("a", "b"), ("b", "a")], [("a", "b"), ("b", "c"), ("c", "a"), ("a", "b")]):
        winner, loser = zip(*rows, strict=True)
        model = DynamicBradleyTerry().fit(Comparisons.from_arrays(winner, loser, time=range(len(rows))))
        assert 0.3 < model.sd_ < 2.0
        assert model.ranking_.std_errors.min() > 0.2


def test_with_one_time_nothing_can_move():
    c = replace(games(), time=np.full(60, 3.0))
    model = DynamicBradleyTerry().fit(c)
    assert model.drift_ == 0.0
    assert_allclose(model.ranking_.scores, BradleyTerry(l2=0.5 / model.sd_**2).fit(c).ranking_.scores, atol=1e-6)


def test_the_drift_found_has_the_largest_evidence():
    c, _ = league(3, n=8, days=40, a_day=6, sd=1.0, drift=0.15)
    found = DynamicBradleyTerry().fit(c)
    for drift, sd in ((1.5, 1.0), (1 / 1.5, 1.0), (1.0, 1.5), (1.0, 1 / 1.5)):
        other = DynamicBradleyTerry(drift=drift * found.drift_, sd=sd * found.sd_).fit(c)
        assert other.log_evidence_ < found.log_evidence_ + 0.02
    only = DynamicBradleyTerry(sd=found.sd_).fit(c)
    assert only.drift_ == pytest.approx(found.drift_, rel=0.1)


def test_drift_and_effects_of_simulated_leagues_are_found():
    c, strength = league(1, n=12, days=120, a_day=10, sd=0.8, drift=0.08, home=0.4, nu=0.5)
    model = DynamicBradleyTerry(side_effect=True, ties="davidson").fit(c)
    assert 0.05 < model.drift_ < 0.12  # the truth within what 1,200 games tell
    assert abs(model.side_effect_ - 0.4) < 3 * model.effect_std_errors_[0]
    assert abs(np.log(model.tie_strength_) - np.log(0.5)) < 3 * model.effect_std_errors_[1]
    off = (model.ranking_.scores - model.ranking_.scores.mean()) - (strength - strength.mean())
    assert np.mean((off / model.ranking_.std_errors) ** 2) < 2.2  # of 12, chance 0.01
    none = DynamicBradleyTerry(drift=0.0, side_effect=True, ties="davidson").fit(c)
    assert model.log_evidence_ > none.log_evidence_ + 5


def test_where_nothing_moves_drift_is_often_none_and_its_evidence_never_large():
    """At the edge of its range a likelihood-ratio test of a variance is 0 half of the time, else χ² with one degree."""
    gains = []
    for seed in range(10):
        still, _ = league(1000 + seed, n=12, days=40, a_day=8, sd=0.8, drift=0.0)
        model, none = DynamicBradleyTerry().fit(still), DynamicBradleyTerry(drift=0.0).fit(still)
        gains.append(model.log_evidence_ - none.log_evidence_)
        assert (model.drift_ == 0.0) == (model.ranking_.scores.tolist() == none.ranking_.scores.tolist())
    assert max(gains) < 5.0  # one in 600 for a χ²
    assert 2 <= np.count_nonzero(np.array(gains) < 1e-3) <= 9


def test_bands_hold_the_truth_as_often_as_they_say():
    inside = []
    for seed in range(12):
        c, strength = league(100 + seed, n=10, days=30, a_day=8, sd=1.0, drift=0.15)
        model = DynamicBradleyTerry(drift=0.15, sd=1.0).fit(c)
        lower, upper = model.ranking_.intervals(0.8)
        shift = strength.mean() - model.ranking_.scores.mean()
        inside += ((lower <= strength - shift) & (strength - shift <= upper)).tolist()
    assert 0.69 < np.mean(inside) < 0.90  # 120 draws at 0.8, three standard errors and what Laplace costs


def test_errors_carry_the_drifts_that_the_votes_leave_possible():
    """Fits at each of them, put together by hand: by their evidence, every drift as likely as any before."""
    votes, _ = league(3, n=6, days=15, a_day=6, sd=0.8, drift=0.3)
    model = DynamicBradleyTerry().fit(votes)
    drifts, shares = (np.array(column) for column in zip(*model._drifts, strict=True))
    assert len(drifts) > 2
    assert model.drift_ in drifts
    fits = [DynamicBradleyTerry(drift=drift, sd=model.sd_).fit(votes) for drift in drifts]
    density = np.exp([fit.log_evidence_ - model.log_evidence_ for fit in fits])
    widths, steps = (shares / density)[1:-1], drifts[2:] - drifts[:-2]
    assert len(widths) > 1
    assert_allclose(widths / widths.sum(), steps / steps.sum(), rtol=0.02)

    def mixed(variance, mean, centre):
        return sum(s * (variance(f) + (mean(f) - centre) ** 2) for s, f in zip(shares, fits, strict=True))

    errors = mixed(lambda fit: fit.ranking_.std_errors**2, lambda fit: fit.ranking_.scores, model.ranking_.scores)
    assert_allclose(model.ranking_.std_errors**2, errors, rtol=1e-4)
    last = model.curves(points=2).group_by("item", maintain_order=True).last().sort("item")
    half = (last["upper"] - last["lower"]).to_numpy() / 2 / 1.959964
    assert_allclose(half**2, errors[np.argsort(model.ranking_.items)], rtol=1e-4)

    asked = Comparisons((0, 1), [0], [1], outcome=[0], sided=True, time=[20.0])

    def margin(fit):
        chance = np.array([bound[0, 0] for bound in fit.predict_interval(asked, 0.95)])
        low, high = np.log(chance / (1 - chance))
        return (high - low) / 2 / 1.959964, (high + low) / 2

    expected = mixed(lambda fit: margin(fit)[0] ** 2, lambda fit: margin(fit)[1], margin(model)[1])
    assert margin(model)[0] ** 2 == pytest.approx(expected, rel=1e-4)
    told = DynamicBradleyTerry(drift=model.drift_, sd=model.sd_).fit(votes)
    assert (model.ranking_.std_errors > told.ranking_.std_errors).all()


def test_many_nodes_by_iteration_are_few_by_factorisation(monkeypatch):
    """The stochastic log-determinant and conjugate gradients against the exact factorisation."""
    c, _ = league(5, n=10, days=40, a_day=10, sd=1.0, drift=0.3)
    options = {"drift": 0.3, "sd": 1.0, "side_effect": True}
    exact = DynamicBradleyTerry(**options).fit(c)
    evidence, errors = exact.log_evidence_, exact.ranking_.std_errors
    monkeypatch.setattr(fitting, "MAX_EXACT_NODES", 0)
    monkeypatch.setattr(fitting, "MAX_EXACT_WORK", 0.0)
    by_steps = DynamicBradleyTerry(**options).fit(c)
    assert not by_steps._posterior.system.exact
    assert by_steps.log_evidence_ == pytest.approx(evidence, abs=1.0)
    assert_allclose(by_steps.ranking_.std_errors, errors, rtol=1e-4)
    found, stochastic = DynamicBradleyTerry(sd=1.0), DynamicBradleyTerry(sd=1.0)
    stochastic.fit(c)
    monkeypatch.undo()
    assert stochastic.drift_ == pytest.approx(found.fit(c).drift_, rel=0.15)


def test_going_on_is_as_good_as_beginning_again():
    c = games(m=80, times=20)
    early = c.time <= 5.0
    first, rest = c.take(np.flatnonzero(early)), c.take(np.flatnonzero(~early))
    whole = DynamicBradleyTerry(drift=0.3, sd=1.0, side_effect=True, ties="davidson").fit(c)
    parts = (
        DynamicBradleyTerry(drift=0.3, sd=1.0, side_effect=True, ties="davidson").partial_fit(first).partial_fit(rest)
    )
    assert_allclose(parts.ranking_.scores, whole.ranking_.scores, atol=1e-6)
    assert_allclose(parts.ranking_.std_errors, whole.ranking_.std_errors, atol=1e-5)
    kept = DynamicBradleyTerry().fit(first)
    drift = kept.drift_, kept.sd_
    newcomer = Comparisons.from_arrays(["new"], [0], time=[30.0])
    kept.partial_fit(newcomer)
    assert (kept.drift_, kept.sd_) == drift
    assert "new" in kept.ranking_.items
    with pytest.raises(InputError, match="times of another kind"):
        kept.partial_fit(Comparisons.from_arrays(["new"], [0], time=["2024-01-01"]))


def test_rankings_of_the_past_and_curves_say_the_same():
    c = games(times=12)
    late = c.time >= 2.0
    c = replace(
        c,
        left=np.where(late, c.left, c.left % 2),
        right=np.where(late, c.right, 2 * (c.left % 2 == 1) + (c.left % 2 == 0)),
    )
    model = DynamicBradleyTerry(drift=0.3, sd=1.0, scale="elo").fit(c)
    before = model.ranking_at(1.0)
    assert set(before.items) == {0, 1, 2}  # 3 and 4 came later
    for points in (1, 5):
        frame = model.curves(points=points, level=0.9)
        end = frame.filter(frame["time"] == c.time.max())
        lower, upper = model.ranking_.intervals(0.9)
        assert end["item"].to_list() == list(model.ranking_.order)
        order = np.argsort(-model.ranking_.scores, kind="stable")
        assert_allclose(end["score"], model.ranking_.scores[order], atol=1e-3)
        assert_allclose(end["lower"], lower[order], atol=1e-3)
        assert_allclose(end["upper"], upper[order], atol=1e-3)
    when = frame["time"].unique().sort()[1]
    then = frame.filter(frame["time"] == when).sort("item")
    assert_allclose(then["score"], model.ranking_at(when).scores, atol=1e-3)
    with pytest.raises(InputError, match="'nobody' was never compared"):
        model.curves(["nobody"])
    fitted_then = DynamicBradleyTerry(drift=0.3, sd=1.0, scale="elo", at=1.0).fit(c)
    assert_array_equal(fitted_then.ranking_.scores, before.scores)
    assert "as of 1" in fitted_then.ranking_.note


def test_dates_count_by_the_day():
    stamps = ["2024-05-01 08:00", "2024-05-01 20:00", "2024-05-03 01:00", "2024-05-04 23:59"]
    days = ["2024-05-01", "2024-05-01", "2024-05-03", "2024-05-04"]
    found = [
        DynamicBradleyTerry(drift=0.5, sd=1.0).fit(Comparisons.from_arrays(list("aabb"), list("bcca"), time=time))
        for time in (stamps, days)
    ]
    assert_array_equal(*(model.ranking_.scores for model in found))
    assert found[0].curves()["time"].dtype == found[1].curves()["time"].dtype
    assert_array_equal(found[0].ranking_at(datetime.date(2024, 5, 2)).scores, found[0].ranking_at("2024-05-02").scores)


def test_what_cannot_be_is_refused():
    c = games()
    with pytest.raises(InputError, match="scores that move need votes with times, and these have none"):
        DynamicBradleyTerry().fit(replace(c, time=None))
    with pytest.raises(InputError, match="at='soon': it must be a time as those of the votes, a number"):
        DynamicBradleyTerry(at="soon").fit(c)
    with pytest.raises(InputError, match="at=-5 is before the first vote, 0"):
        DynamicBradleyTerry(at=-5).fit(c)
    with pytest.raises(InputError, match="side_effect=True needs votes that say which item stood"):
        DynamicBradleyTerry(side_effect=True).fit(replace(c, sided=False))
    with pytest.raises(ConvergenceError, match="no optimum in 1 Newton step"):
        DynamicBradleyTerry(drift=1.0, sd=5.0, max_iter=1).fit(c)
    with pytest.warns(SeparationWarning, match="the side separates the votes"):
        DynamicBradleyTerry(drift=1.0, sd=5.0, side_effect=True).fit(replace(c, outcome=np.ones(60, np.int8)))
    dated = replace(c, time_is="date")
    with pytest.raises(InputError, match="model's times are of another kind"):
        DynamicBradleyTerry(drift=1.0, sd=1.0).fit(c).predict_proba(dated)


paths = st.lists(st.tuples(st.floats(0.01, 10), st.floats(0, 100), st.booleans()), min_size=1, max_size=12)


@settings(max_examples=60, deadline=None)
@given(paths)
def test_kernels_are_those_of_a_dense_matrix(rows):
    own = np.array([row[0] for row in rows])
    link = np.array([0.0 if k == 0 or row[2] else row[1] for k, row in enumerate(rows)])
    n = len(rows)
    dense = np.diag(own)
    for k in range(1, n):
        step = np.zeros(n)
        step[k], step[k - 1] = 1.0, -1.0
        dense += link[k] * np.outer(step, step)
    pivot, lower, out, force = np.empty(n), np.empty(n), np.empty(n), np.cos(np.arange(n))
    kernel.factor(own, link, pivot, lower)
    kernel.solve(pivot, lower, force, out)
    assert_allclose(out, np.linalg.solve(dense, force), rtol=1e-8, atol=1e-10)
    assert np.log(pivot).sum() == pytest.approx(np.linalg.slogdet(dense)[1], abs=1e-8)
    kernel.product(own, link, force, out)
    assert_allclose(out, dense @ force, rtol=1e-9, atol=1e-9)
    half = np.eye(n) * 0.0
    for k in range(n):
        kernel.half_solve(pivot, lower, np.eye(n)[k], half[k])
    assert_allclose(half @ half.T, np.linalg.inv(dense), rtol=1e-8, atol=1e-10)
    back = np.empty(n)
    kernel.half_solve_back(pivot, lower, force, back)
    assert_allclose(back, half @ force, rtol=1e-8, atol=1e-10)


# ---- votes that age, and Elo ------------------------------------------------------------------------------------


def test_a_half_life_of_bradley_terry_is_a_weight_of_odds():
    """Of two items the score is the log of the odds of weights: old wins of a count ¼, one new win of b counts 1."""
    votes = Comparisons.from_arrays(["a", "a", "b"], ["b", "b", "a"], time=["2024-01-01", "2024-01-01", "2024-03-01"])
    model = BradleyTerry(l2=0, half_life="30d").fit(votes)
    assert model.win_probability("a", "b") == pytest.approx(0.5 / 1.5, abs=1e-6)
    assert model.ranking_.record[0].tolist() == [2.0, 1.0]  # votes are counted whole
    again = BradleyTerry(l2=0, half_life=30).fit(votes)
    assert_array_equal(again.ranking_.scores, model.ranking_.scores)
    for value, message in (("soon", "it must be a number above 0, or text as 90d"), (-1, "above 0"), (0, "above 0")):
        with pytest.raises(InputError, match=message):
            BradleyTerry(half_life=value).fit(votes)
    numbers = Comparisons.from_arrays(["a", "b"], ["b", "a"], time=[1, 2])
    with pytest.raises(InputError, match="half_life='30d' is in days, and the times are numbers"):
        BradleyTerry(half_life="30d").fit(numbers)


def test_elo_with_a_side_and_margins_is_its_rule_written_out():
    c = replace(games(sided=True), margin=np.random.default_rng(1).integers(0, 6, 60).astype(float))
    turned = c.take(np.random.default_rng(2).permutation(60))  # times put them in order again, but for ties
    model = Elo(k=20, side_advantage=65, margins=True).fit(turned)
    ratings = dict.fromkeys(range(5), 1000.0)
    for row in np.argsort(turned.time, kind="stable"):
        i, j, margin = int(turned.left[row]), int(turned.right[row]), turned.margin[row]
        steeper = 1.0 if margin <= 1 else 1.5 if margin == 2 else (11 + margin) / 8
        expected = 1 / (1 + 10 ** ((ratings[j] - ratings[i] - 65) / 400))
        move = 20 * steeper * ((turned.outcome[row] + 1) / 2 - expected)
        ratings[i] += move
        ratings[j] -= move
    assert_allclose(model.ranking_.scores, [ratings[item] for item in model.ranking_.items])
    chance = model.predict_proba(c)[0, 0]
    gap = model.ranking_.score(c.left[0]) - model.ranking_.score(c.right[0]) + 65
    assert chance == pytest.approx(1 / (1 + 10 ** (-gap / 400)))
    with pytest.raises(InputError, match="margins=True needs votes with a margin or goals"):
        Elo(margins=True).fit(games())


@pytest.mark.parametrize("drift", [1e-6, 1e-7, 1e-9, 1e-30, 1e-300])
def test_next_to_no_drift_is_none(drift):
    """Scores and errors alike: the inverse of a tiny step is large, and must not push the votes out of the numbers."""
    c = games()
    none, hardly = (DynamicBradleyTerry(drift=each, sd=1.3, side_effect=True).fit(c) for each in (0.0, drift))
    assert_allclose(hardly.ranking_.scores, none.ranking_.scores, atol=1e-6)
    assert_allclose(hardly.ranking_.std_errors, none.ranking_.std_errors, rtol=1e-4)
    assert_allclose(hardly.effect_std_errors_, none.effect_std_errors_, rtol=1e-4)


@pytest.mark.parametrize("unit", [1e-12, 1e-3, 86_400.0, 1e12])
def test_the_unit_of_time_does_not_matter(unit):
    c = league(2, n=6, days=20, a_day=6, sd=0.8, drift=0.3)[0]
    other = replace(c, time=c.time * unit)
    options = {"drift": 0.3, "sd": 1.0}
    one, two = DynamicBradleyTerry(**options).fit(c), DynamicBradleyTerry(drift=0.3 / unit**0.5, sd=1.0).fit(other)
    assert_allclose(two.ranking_.scores, one.ranking_.scores, atol=1e-5)
    assert_allclose(two.ranking_.std_errors, one.ranking_.std_errors, rtol=1e-5)
    found, again = DynamicBradleyTerry().fit(c), DynamicBradleyTerry().fit(other)
    assert again.drift_ * unit**0.5 == pytest.approx(found.drift_, rel=1e-6)
    assert again.sd_ == pytest.approx(found.sd_, rel=1e-6)


@pytest.mark.parametrize(
    "options", [{"sd": 1e-9}, {"sd": 1e300}, {"drift": 1e6}, {"drift": 1e300}, {"sd": 0}, {"drift": -1.0}]
)
def test_spreads_beyond_all_measure_are_refused(options):
    with pytest.raises(InputError, match=next(iter(options))):
        DynamicBradleyTerry(**options).fit(games())


@pytest.mark.parametrize(
    "shape", [(20, 18, 10, 0.8, 0.03), (16, 18, 8, 1.0, 0.0), (20, 18, 10, 0.8, 0.15), (12, 40, 2, 0.8, 0.1)]
)
def test_no_drift_and_spread_of_a_grid_make_the_votes_more_likely_than_those_found(shape):
    """The search must not end beside the summit, whatever the league; with the weak prior of the spread."""
    n, days, a_day, sd, drift = shape
    for seed in range(2):
        c, _ = league(7000 + seed, n=n, days=days, a_day=a_day, sd=sd, drift=drift)
        found = DynamicBradleyTerry().fit(c)
        best = found.log_evidence_ - 0.5 * np.log(found.sd_) ** 2
        for spread in (0.2, 0.5, 1.0, 2.0):
            for walk in (0.0, 0.02, 0.1, 0.3, 1.0):
                there = DynamicBradleyTerry(drift=walk, sd=spread).fit(c).log_evidence_ - 0.5 * np.log(spread) ** 2
                assert there < best + 0.05


def test_two_points_of_a_curve_are_its_ends():
    model = DynamicBradleyTerry(drift=0.1, sd=1.0).fit(games())
    frame = model.curves(points=2)
    assert set(model.times_) <= set(frame["time"].to_list())


@pytest.mark.parametrize("weight", [1e100, 1e135])
def test_votes_of_any_weight_end_in_an_answer_or_a_sentence(weight):
    c = games()
    with pytest.raises(ConvergenceError, match=r"no optimum|weigh too much"):
        DynamicBradleyTerry().fit(replace(c, weight=np.full(len(c.left), weight)))


def test_the_home_advantage_of_equals_counts_ties_half():
    # Two equals, at home in turn: of 600 games 300 won, 200 tied, 100 lost at home, which is 400 points to 200.
    side = np.array([0, 1], dtype=np.int32)
    games = {"wins": np.full(2, 300.0), "losses": np.full(2, 100.0), "ties": np.full(2, 200.0)}
    history = {"items": ("a", "b"), "left": side, "right": 1 - side, **games}
    assert side_effect(history, "half", 0.0, 100).effect == pytest.approx(math.log(2), abs=0.01)


def sides_that_follow(seed, n, m, days, drift, effect):
    """Votes on scores that walk, where the better item stands on the left with the chance σ(1.5 × how much better)."""
    rng = np.random.default_rng(seed)
    truth = np.cumsum(np.vstack([rng.normal(0.0, 0.8, (1, n)), rng.normal(0.0, drift, (days - 1, n))]), axis=0)
    day = np.sort(rng.integers(0, days, m))
    one = rng.integers(0, n, m)
    other = (one + rng.integers(1, n, m)) % n
    better = truth[day, one] - truth[day, other]
    stays = rng.random(m) < 1 / (1 + np.exp(-1.5 * better))
    left, right, better = np.where(stays, one, other), np.where(stays, other, one), np.where(stays, better, -better)
    outcome = np.where(rng.random(m) < 1 / (1 + np.exp(-better - effect)), 1, -1)
    return Comparisons(tuple(range(n)), left, right, outcome=outcome, sided=True, time=day.astype(float))


def test_the_side_is_that_of_walks_that_may_follow_the_sides():
    """In one dense normal prior, u ~ N(0, K + 2² z zᵀ), with z what walks are expected to be after margins of 1."""
    c, drift = sides_that_follow(3, n=4, m=400, days=6, drift=0.3, effect=0.5), 0.3  # so many votes: nothing is added
    nodes = reference.nodes_of(c.left, c.right, c.time)
    place = {node: k for k, node in enumerate(nodes)}
    pairs = np.zeros((len(c.left), len(nodes)))
    for row, (i, j, t) in enumerate(zip(c.left.tolist(), c.right.tolist(), c.time.tolist(), strict=True)):
        pairs[row, place[i, t]], pairs[row, place[j, t]] = 1.0, -1.0
    walk = np.linalg.inv(reference.prior_precision(nodes, 1e3, drift))
    z = walk @ pairs.T @ np.linalg.solve(pairs @ walk @ pairs.T + 4.0 * np.eye(len(pairs)), np.ones(len(pairs)))
    precision = np.zeros((len(nodes) + 1, len(nodes) + 1))
    precision[:-1, :-1] = np.linalg.inv(walk + 4.0 * np.outer(z, z))
    design, x = np.column_stack([pairs, np.ones(len(pairs))]), np.zeros(len(nodes) + 1)
    for _ in range(30):
        chance = 1 / (1 + np.exp(-design @ x))
        hessian = precision + design.T @ ((chance * (1 - chance))[:, None] * design)
        x = x - np.linalg.solve(hessian, precision @ x + design.T @ (chance - (c.outcome == 1)))
    model = DynamicBradleyTerry(drift=drift, side_effect=True).fit(c)
    assert model.side_effect_ == pytest.approx(x[-1], abs=1e-5)
    assert model.effect_std_errors_[0] == pytest.approx(np.sqrt(np.linalg.inv(hessian)[-1, -1]), rel=1e-4)


def test_the_side_is_right_where_items_come_to_stand_on_the_left_as_they_rise():
    # With walks that know nothing of the sides the mean would be .68.
    drawn = [sides_that_follow(seed, n=8, m=400, days=30, drift=0.3, effect=0.5) for seed in range(20)]
    found = [DynamicBradleyTerry(drift=0.3, side_effect=True).fit(votes).side_effect_ for votes in drawn]
    assert abs(np.mean(found) - 0.5) < 0.105  # three standard errors


def test_the_side_of_scores_that_hardly_move_is_that_of_scores_that_stand_still():
    c = sides_that_follow(5, n=4, m=400, days=6, drift=0.0, effect=0.5)
    plain = BradleyTerry(l2=0, side_effect=True).fit(c)
    for drift in (0.0, 1e-4):
        model = DynamicBradleyTerry(drift=drift, side_effect=True).fit(c)
        assert model.side_effect_ == pytest.approx(plain.side_effect_, abs=1e-4)
        assert model.effect_std_errors_[0] == pytest.approx(plain.side_effect_std_error_, rel=1e-3)


@pytest.mark.parametrize("drift", [0.0, 0.1])
def test_errors_of_scores_known_far_better_than_others_are_right_or_refused(drift):
    def fitted(weight):
        votes = [[0, 1, 0, 1, 0, 2, 1, 2], [1, 0, 1, 0, 2, 0, 2, 1]]
        data = Comparisons.from_arrays(*votes, items=list("abc"), weight=[weight] * 4 + [1.0] * 4, time=np.zeros(8))
        return DynamicBradleyTerry(drift=drift, sd=1.0).fit(data).ranking_

    # At one time all scores are 0: the prior's 1 and the pulls w p q of 4 votes of weight w and of 2 and 2 of weight 1.
    precision = 1.0 + 2 * 1e8 + 0.5, 1.0 + 1.5  # along a − b, and along c against both
    found = fitted(1e8).difference_variance(np.array([0]), np.array([1]))
    assert found == pytest.approx([2 / precision[0]], rel=1e-5)
    assert fitted(1e8).std_errors[2] ** 2 == pytest.approx((2 / 3) / precision[1], rel=1e-5)
    with pytest.raises(ConvergenceError, match="some scores are known so much better than others"):
        _ = fitted(1e30).std_errors


@pytest.mark.parametrize("none", [False, True])
@pytest.mark.parametrize("width", [0.05, 0.4, 3.0])
def test_shares_of_drifts_are_their_evidence_times_what_each_stands_for(none, width):
    """Half the way to the drifts before and after; beyond the last one half as much again until far less likely."""

    def evidence(spreads):
        return -0.5 * (math.log(max(spreads.drift, 1e-9)) / width) ** 2

    drifts = [0.0, 0.5] if none else [0.3, 0.65, 1.0]
    found = [evidence(Spreads(drift, None, None)) for drift in drifts]
    if none:
        found[0] = -0.3
    search = SimpleNamespace(evidence=evidence)
    shares = Search._shares(search, Spreads(1.0, None, None), list(drifts), list(found))
    while len(drifts) < 12 and found[-1] > max(found) - 4.0:
        drifts.append(1.5 * drifts[-1])
        found.append(evidence(Spreads(drifts[-1], None, None)))
    ends = drifts if none else [0.0, *drifts]
    wide = {}
    for before, drift, after in zip([ends[0], *ends[:-1]], ends, [*ends[1:], ends[-1]], strict=True):
        wide[drift] = (after - before) / (1 if drift == ends[-1] else 2)
    expected = {drift: math.exp(log) * wide[drift] for drift, log in zip(drifts, found, strict=True)}
    kept = {drift: share for drift, share in expected.items() if share >= 0.01 * sum(expected.values())}
    if len(kept) < 2:
        assert shares == []
        return
    assert [drift for drift, _ in shares] == list(kept)
    assert_allclose([share for _, share in shares], np.array(list(kept.values())) / sum(kept.values()))


@pytest.mark.parametrize("exact", [True, False])
def test_systems_of_walks_are_those_of_the_matrix_written_out(exact, monkeypatch):
    """Three walks of four nodes each, and votes between nodes of different walks."""
    monkeypatch.setattr(fitting, "MAX_EXACT_NODES", 12 if exact else 11)
    monkeypatch.setattr(fitting, "MAX_EXACT_WORK", 0.0)
    rng = np.random.default_rng(0)
    own, link = np.zeros(12), np.zeros(12)
    own[[0, 4, 8]] = 1 / 0.8**2
    link[[k for k in range(12) if k % 4]] = 1 / rng.uniform(0.05, 0.5, 9)
    left, right = rng.integers(0, 4, 20), 4 + rng.integers(0, 8, 20)
    bend = rng.uniform(0.05, 0.25, 20)
    precision = fitting.Precision(own, link, np.array([2.0, 0.5]))
    rows = Rows(12, left.astype(np.int32), right.astype(np.int32), None)
    system = fitting.System(rows, bend, precision, 3)
    prior = np.diag(own)
    for k in np.flatnonzero(link):
        prior[[k, k - 1], [k, k - 1]] += link[k]
        prior[[k, k - 1], [k - 1, k]] -= link[k]
    dense = prior.copy()
    for u, v, curve in zip(left, right, bend, strict=True):
        dense[[u, v], [u, v]] += curve
        dense[[u, v], [v, u]] -= curve
    vector = rng.normal(size=12)
    assert system.exact == exact
    assert precision.log_determinant == pytest.approx(np.linalg.slogdet(prior)[1] + math.log(2.0) + math.log(0.5))
    assert_allclose(precision.times(vector), prior @ vector)
    assert_allclose(system.times(vector), dense @ vector)
    assert_allclose(system.solve(vector, 1e-12), np.linalg.solve(dense, vector), rtol=1e-8)
    forces = rng.normal(size=(12, 3))
    assert_allclose(system.solve_all(forces), np.linalg.solve(dense, forces), atol=1e-5)
    off = 1e-9 if exact else 0.35
    assert system.log_determinant() == pytest.approx(np.linalg.slogdet(dense)[1], abs=off)


@pytest.mark.parametrize(("items", "most", "exact"), [(3, 108.0, True), (3, 107.9, False)])
def test_walks_are_factored_where_the_work_allows(items, most, exact, monkeypatch):
    monkeypatch.setattr(fitting, "MAX_EXACT_NODES", 0)
    monkeypatch.setattr(fitting, "MAX_EXACT_WORK", most)
    none = np.empty(0, np.int32)
    precision = fitting.Precision(np.ones(12), np.zeros(12), np.empty(0))
    assert fitting.System(Rows(12, none, none, None), np.empty(0), precision, items).exact == exact
