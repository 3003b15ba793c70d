"""The steps of a crowd fit one by one: when differences are looked for, what is held, and who is tested."""

import math
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from podium import Comparisons, CrowdBradleyTerry
from podium.errors import ConvergenceError
from podium.pairwise._fit import judge_model
from podium.pairwise._fit.judge_model import JudgeModel, _put, _votes_per_weight, _weighed
from podium.pairwise._fit.judge_spread import SlopeSpread
from podium.pairwise._fit.judge_tests import Cast
from podium.pairwise._fit.judges import JudgeVotes, integrate
from podium.pairwise._fit.marginal import LEAN, LEAN_SD, SLOPE_SD, fit_judges

from reference import newton
from suites.crowds import crowd

SLOPES, LEANS = [1.5, 0.3, 1.0, 1.2, -0.4], [0.8, -0.6, 0.5, 0.0, 1.0]


def judged(each=30, n=4, sides=True, seed=3):
    return crowd(n, SLOPES, each, np.random.default_rng(seed), leans=LEANS if sides else None)[0]


def model_of(c, sides=None, tol=1e-7, max_iter=200):
    return JudgeModel(c, c.sided if sides is None else sides, tol, max_iter)


# ---- votes and weights ----------------------------------------------------------------------------------------------


def test_a_weight_is_worth_as_many_votes_as_its_squares_say():
    c = judged(each=4)
    assert _votes_per_weight(c) == 1.0
    weight = np.random.default_rng(0).uniform(0.2, 5.0, len(c.left))
    assert _votes_per_weight(replace(c, weight=weight)) == pytest.approx(weight.sum() / (weight**2).sum())
    tiny = replace(c, weight=1e-130 * weight)
    assert _votes_per_weight(tiny) == pytest.approx(1e130 * weight.sum() / (weight**2).sum())
    squares = 0.5 * weight**2
    known = replace(c, weight=weight, weight_sq=squares)
    assert _votes_per_weight(known) == pytest.approx(weight.sum() / squares.sum())
    other = _weighed(known, 3.0)
    assert_allclose(other.weight, 3.0 * weight)
    assert_allclose(other.weight_sq, 9.0 * squares)
    assert _weighed(replace(c, weight=weight), 3.0).weight_sq is None


def test_weights_are_turned_into_votes():
    c = judged(each=4)
    heavy = model_of(replace(c, weight=np.full(len(c.left), 0.25)))
    assert heavy.worth == pytest.approx(4.0)
    assert_allclose(heavy.votes.total, model_of(c).votes.total)
    assert model_of(c).worth == 1.0
    assert model_of(c).comparisons is c


@pytest.mark.parametrize(("votes", "few"), [(44, True), (45, False)])
def test_votes_are_few_below_fifteen_for_each_score(votes, few):
    c = judged().take(np.arange(votes) * 3)
    assert model_of(c).few == few  # four items have three scores


def test_next_to_no_penalty_is_less_where_the_votes_bound_all_scores():
    bound = Comparisons.from_arrays(["a", "b"], ["b", "a"], judge=["x", "y"])
    free = Comparisons.from_arrays(["a", "a"], ["b", "b"], judge=["x", "y"])
    assert model_of(bound).loose_l2 == 1e-6
    assert model_of(free).loose_l2 == 1e-3


def test_putting_changes_one_place_of_a_copy():
    extras = np.array([1.0, 2.0, 3.0])
    assert _put(extras, SLOPE_SD, 9.0).tolist() == [1.0, 9.0, 3.0]
    assert extras.tolist() == [1.0, 2.0, 3.0]


# ---- the search -----------------------------------------------------------------------------------------------------


def test_judges_who_are_alike_have_plain_scores():
    c = judged(sides=False)
    rows = list(zip(c.left, c.right, (c.outcome + 1) / 2, np.ones(len(c.left)), strict=True))
    expected = newton(4, rows, 0.2)
    found = model_of(c)._plain(0.2, None)
    assert_allclose(found, expected - expected.mean(), atol=1e-6)
    fit = model_of(c).fit(0.2, np.zeros(4), np.zeros(3))
    assert_allclose(fit.scores, expected - expected.mean(), atol=1e-6)
    assert fit.n_iter <= 1, "it began at the plain scores"


def test_sweeps_that_stall_are_ended_by_newton(monkeypatch):
    c = judged(sides=False)
    expected = model_of(c)._plain(0.2, None)
    stalls = judge_model.coordinate_newton
    monkeypatch.setattr(judge_model, "coordinate_newton", lambda *a, **k: replace(stalls(*a, **k), converged=False))
    assert_allclose(model_of(c)._plain(0.2, None), expected, atol=1e-7)
    monkeypatch.setattr(
        judge_model, "coordinate_newton", lambda *a, **k: replace(stalls(a[0], a[1], 0.5, 1), converged=False)
    )
    assert_allclose(model_of(c)._plain(0.2, None), expected, atol=1e-6)


@pytest.mark.parametrize("sides", [False, True])
def test_the_mean_lean_is_free_unless_it_is_held_and_other_extras_as_asked_for(sides):
    c = judged(sides=sides)
    model = model_of(c)
    assert model._leans == model._free_leans == ((LEAN,) if sides else ())
    extras = np.array([0.0, 0.4, 0.0])
    found = model.fit(0.3, np.zeros(4), extras)
    assert bool(found.extras[LEAN]) == sides
    assert found.extras[1:].tolist() == [0.4, 0.0]
    held = model.fit(0.3, np.zeros(4), extras, free=())
    assert held.extras.tolist() == [0.0, 0.4, 0.0]
    model.lean_variance = 0.1
    assert model._leans == ((LEAN,) if sides else ())
    assert model._free_leans == ()
    assert model.fit(0.3, np.zeros(4), _put(extras, LEAN, 0.2)).extras.tolist() == [0.2, 0.4, 0.0]
    centre = np.linspace(0.5, 1.5, 5)
    assert_allclose(model.fit(0.3, np.zeros(4), extras, centre=centre).integral.centre, centre)


def test_a_rough_fit_is_rough_but_never_finer_than_asked_for():
    model = model_of(judged(), tol=1e-4)
    start = np.array([2.0, -2.0, 1.0, -1.0])
    rough, usual, fine = (
        model.fit(0.3, start, np.array([0.0, 0.6, 0.0]), tol=tol).n_iter for tol in (0.3, None, 1e-12)
    )
    assert rough < usual == fine


def test_no_optimum_says_how_far_it_was_and_the_penalty_as_it_was_given():
    c = judged()
    model = model_of(replace(c, weight=np.full(len(c.left), 0.5)), max_iter=1)
    with pytest.raises(ConvergenceError, match=r"no optimum in 1 steps: the last still moved a score by .*, now 0\.15"):
        model.fit(0.3, np.zeros(4), np.array([0.0, 0.6, 0.0]))


@pytest.mark.parametrize(
    ("cast", "asked"),
    [([5] * 10, True), ([5] * 9 + [4], False), ([25] * 3, True), ([25, 25, 24], False), ([49, 49], False)],
)
def test_differences_are_looked_for_among_enough_judges_with_enough_votes(cast, asked, monkeypatch):
    rng = np.random.default_rng(1)
    judge = np.repeat(np.arange(len(cast)), cast).astype(np.int32)
    left = rng.integers(0, 2, len(judge)).astype(np.int32)
    names = tuple(map(str, range(len(cast))))
    outcome = rng.choice([-1, 1], len(judge)).astype(np.int8)
    c = Comparisons(("a", "b"), left, 1 - left, outcome=outcome, judge=judge, judges=names)
    model = model_of(c)
    looked = []
    monkeypatch.setattr(
        judge_model, "slope_spread", lambda *args, **more: looked.append((args, more)) or SlopeSpread(0.3)
    )
    alike = model.fit(1e-3, np.zeros(2), np.zeros(3))
    assert model._slope_sd(alike) == (0.3 if asked else 0.0)
    assert len(looked) == asked
    if asked:
        (votes, l2, near), more = looked[0]
        assert votes is model.votes
        assert l2 == model.plain.l2
        assert near is alike
        assert more == {"free": (), "max_iter": 200}


def test_differences_are_not_looked_for_where_votes_are_few_even_or_decided_by_the_side(monkeypatch):
    monkeypatch.setattr(judge_model, "slope_spread", lambda *args, **more: SlopeSpread(0.3))
    c = judged(each=30)
    model = model_of(c)
    alike = model.fit(1e-3, np.zeros(4), np.zeros(3))
    assert model._slope_sd(alike) == 0.3
    assert model._slope_sd(replace(alike, extras=np.array([12.1, 0, 0]))) == 0.0
    assert model._slope_sd(replace(alike, extras=np.array([-12.1, 0, 0]))) == 0.0
    assert model._slope_sd(replace(alike, extras=np.array([11.9, 0, 0]))) == 0.3
    model.few = True
    assert model._slope_sd(alike) == 0.0
    even = model_of(replace(c, outcome=np.zeros(len(c.left), dtype=np.int8)))
    assert even._slope_sd(alike) == 0.0


@pytest.mark.parametrize("given", ["auto", 0.6, 0.0])
@pytest.mark.parametrize("sides", [False, True])
def test_differences_say_which_spreads_were_estimated(given, sides, monkeypatch):
    monkeypatch.setattr(judge_model, "slope_spread", lambda *args, **more: SlopeSpread(0.4))
    model = model_of(judged(each=60, sides=sides))
    found, free = model.differences(given)
    assert found.extras[SLOPE_SD] == (0.4 if given == "auto" else given)
    assert (found.extras[LEAN_SD] > 0) == sides  # leans from −0.6 to 1 are told from being all the same
    assert free == ((SLOPE_SD,) if given == "auto" else ()) + ((LEAN_SD,) if sides else ())
    assert found.converged
    down = found.integral.slopes_of_loss()
    down[:4] += 2 * model.loose_l2 * found.scores
    searched = [*range(4), *((4 + LEAN, 4 + LEAN_SD) if sides else ())]
    assert_allclose(down[searched], 0.0, atol=1e-3)


def test_where_judges_who_differ_have_no_optimum_they_are_taken_to_be_alike(monkeypatch):
    monkeypatch.setattr(judge_model, "slope_spread", lambda *args, **more: SlopeSpread(0.4))
    model = model_of(judged(sides=False))
    fit = JudgeModel.fit

    def never(self, l2, scores, extras, *args, **more):
        if extras[SLOPE_SD]:
            raise ConvergenceError("no optimum")
        return fit(self, l2, scores, extras, *args, **more)

    monkeypatch.setattr(JudgeModel, "fit", never)
    found, free = model.differences("auto")
    assert (found.extras.tolist(), free) == ([0.0] * 3, ())
    with pytest.raises(ConvergenceError):
        model.differences(0.4)


@pytest.mark.parametrize(("gain", "differ"), [(1.34, False), (1.36, True)])
def test_leans_differ_where_that_makes_the_votes_so_much_likelier(gain, differ, monkeypatch):
    model = model_of(judged(each=60))
    asked = []

    def search(near, extras, free):
        asked.append((extras.tolist(), free))
        return replace(near, objective=near.objective - gain, extras=np.array([0.1, 0.2, 0.7]))

    monkeypatch.setattr(model, "_search", search)
    found = model._with_leans(np.zeros(4), np.array([0.0, 0.2, 0.9]))
    assert found.extras[LEAN_SD] == (0.7 if differ else 0.0)
    ((begin, free),) = asked
    assert free == (LEAN, LEAN_SD)
    assert begin[1:] == [0.2, 0.5]
    assert begin[0] != 0, "from the lean that all have"
    monkeypatch.setattr(model, "_search", lambda *_: replace(search(*_), converged=False))
    assert model._with_leans(np.zeros(4), np.zeros(3)).extras[LEAN_SD] == 0.0
    model.few = True
    asked.clear()
    assert model._with_leans(np.zeros(4), np.zeros(3)).extras[LEAN_SD] == 0.0
    assert asked == []


# ---- under a penalty ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("l2", [0.3, 5.0])
def test_a_penalty_leaves_the_mean_slope_over_votes_where_it_is(l2):
    c = judged(each=40, sides=False)
    c = c.take(np.flatnonzero((c.judge != 2) | (np.arange(len(c.left)) % 4 == 0)))  # one with fewer votes
    model = model_of(c)
    loose, _ = model.differences(0.8)
    found = model.penalised(loose, l2, loose)
    cast = np.bincount(c.judge)
    means = [cast @ fit.integral.slope()[0] / cast.sum() for fit in (loose, found)]
    assert means[1] == pytest.approx(means[0], abs=2e-3)
    shift = (1.0 - found.integral.centre) / (cast / cast.mean())
    assert_allclose(shift, shift[0], rtol=1e-9)  # by as much as judges have votes
    assert abs(shift[0]) > 0.01
    down = found.integral.slopes_of_loss()[:4] + 2 * l2 * found.scores
    assert_allclose(down, 0.0, atol=1e-4)
    again = model.penalised(loose, l2, found)
    assert_allclose(again.scores, found.scores, atol=5e-3)
    plain = model.penalised(model.differences(0.0)[0], l2, loose)
    assert_allclose(plain.integral.centre, 1.0)


def test_the_prior_is_the_plain_one_where_judges_are_alike():
    model = model_of(judged(each=60, sides=False))
    alike, _ = model.differences(0.0)
    sd, found = model.prior(alike)
    assert sd == model.plain.sd
    assert model.plain.l2 == pytest.approx(0.5 / sd**2)
    rows = model.comparisons
    expected = newton(
        4, list(zip(rows.left, rows.right, (rows.outcome + 1) / 2, np.ones(300), strict=True)), 0.5 / sd**2
    )
    assert_allclose(found.scores, expected - expected.mean(), atol=1e-5)
    apart, _ = model.differences(0.7)
    wider, other = model.prior(apart)
    assert wider > sd  # scores are larger where some judges follow them less
    assert other.extras[SLOPE_SD] == 0.7
    assert_allclose(other.integral.slopes_of_loss()[:4] + other.scores / wider**2, 0.0, atol=1e-4)


def test_the_log_likelihood_is_that_of_slopes_around_one():
    model = model_of(judged(each=40, sides=False))
    loose, _ = model.differences(0.8)
    found = model.penalised(loose, 2.0, loose)
    expected = integrate(model.votes, found.scores, found.extras, dense=False, centre=np.ones(5)).log_likelihood
    assert model.log_likelihood(found) == pytest.approx(expected)
    assert model.log_likelihood(found) != pytest.approx(found.integral.log_likelihood, abs=1e-3)


# ---- the lean that is held ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("each", [8, 400])
def test_a_lean_that_is_held_is_that_without_the_penalty(each):
    model = model_of(judged(each=each))
    loose, free = model.differences(0.5)
    held = model.hold_lean(loose, free)
    assert model._free_leans == ()
    assert held.extras[1:].tolist() == loose.extras[1:].tolist()
    assert model.lean_error(held, 0.3) == pytest.approx(math.sqrt(model.lean_variance))
    if each == 400:  # so many votes need no correction: likelihood's own
        assert held.extras[LEAN] == pytest.approx(loose.extras[LEAN], abs=2e-3)
        apart = [LEAN, *free]
        hessian = held.integral.hessian()
        keep = [*range(4), *(4 + k for k in apart)]
        matrix = hessian[np.ix_(keep, keep)]
        matrix[:4, :4] += 2 * model.loose_l2 * np.eye(4) + 1.0  # a common shift is nothing to the lean
        assert model.lean_variance == pytest.approx(np.linalg.inv(matrix)[4, 4], rel=1e-3)
    else:  # few: corrected towards nothing
        assert 0 < abs(held.extras[LEAN]) < abs(loose.extras[LEAN])


def test_a_lean_that_decides_all_is_left_to_the_penalty():
    c = judged(each=20)
    model = model_of(replace(c, outcome=np.ones(len(c.left), dtype=np.int8)))
    loose, free = model.differences(0.0)
    assert model.hold_lean(loose, free) is loose
    assert model.lean_variance is None


@pytest.mark.parametrize("which", ["found", "held", "far"])
def test_a_lean_without_an_optimum_is_not_held(which, monkeypatch):
    model = model_of(judged(each=40))
    loose, free = model.differences(0.5)
    real, made = judge_model.fit_judges, []

    def fit(*args, **more):
        found = real(*args, **more)
        made.append(more["free"])
        if which == "far" and more["free"]:
            return replace(found, extras=np.array([12.5, *found.extras[1:]]))
        return replace(found, converged=(more["free"] == ()) == (which == "found"))

    monkeypatch.setattr(judge_model, "fit_judges", fit)
    assert model.hold_lean(loose, free) is loose
    assert model.lean_variance is None
    assert made == [(LEAN,), ()]


def test_the_posterior_knows_a_held_lean_as_well_as_without_the_prior():
    from podium.ranking.uncertainty import extra_covariance

    model = model_of(judged(each=40))
    loose, free = model.differences(0.5)
    before = model.posterior(loose, 1.0)
    held = model.hold_lean(loose, free)
    sd, found = model.prior(held)
    l2 = 0.5 / sd**2
    assert extra_covariance(model.posterior(found, l2))[0, 0] == pytest.approx(model.lean_variance)
    assert before.corner.shape == (1, 1)
    assert before.ridge == 2.0
    assert before.vote_gradient is None
    variance, model.lean_variance = model.lean_variance, None
    assert extra_covariance(model.posterior(found, l2))[0, 0] != pytest.approx(variance, rel=1e-3)
    error = model.lean_error(found, l2)
    assert error**2 == pytest.approx(extra_covariance(model.posterior(found, l2))[0, 0])
    alone = model_of(judged(each=40, sides=False))
    assert alone.lean_error(alone.differences(0.5)[0], l2) is None


def test_of_many_items_the_variance_of_the_lean_is_that_of_judges_alike_and_between_judges(monkeypatch):
    from podium.pairwise._fit.strength_model import StrengthModel

    monkeypatch.setattr("podium.pairwise._fit.marginal.MAX_DENSE_ITEMS", 3)
    c = judged(each=20)
    model = model_of(c)
    loose = model.fit(model.loose_l2, np.zeros(4), np.array([0.3, 0.0, 0.6]), free=())
    alone = StrengthModel(c, "half", True)
    alone.hold_effects(200, "hessian")
    held = model.hold_lean(loose, (LEAN_SD,))
    between = loose.extras[LEAN_SD] ** 2 / 5
    assert model.lean_variance == pytest.approx(alone.effects.covariance[0, 0] + between)
    assert model.posterior(held, 0.5).corner is None
    model.lean_variance = None
    assert model.lean_error(held, 0.5) is None


# ---- tests of judges ------------------------------------------------------------------------------------------------


def test_judges_are_tested_against_scores_found_without_their_fold(monkeypatch):
    c = judged(each=40, sides=False)
    tie = np.arange(len(c.left)) % 7 == 0
    c = replace(c, outcome=np.where(tie, 0, c.outcome).astype(np.int8))
    c = c.take(np.flatnonzero((c.judge != 4) | (np.arange(len(c.left)) < 4 * 40 + 20)))  # the last has too few votes
    model = model_of(c)
    monkeypatch.setattr(judge_model, "FOLDS", 2)
    seen = {}
    monkeypatch.setattr(judge_model, "judge_tests", lambda cast: seen.update(cast) or "tests")
    loose, _ = model.differences(0.5)
    assert model.tests(loose, 0.01) == "tests"
    assert sorted(seen) == [0, 1, 2, 3]
    for fold in ([0, 1], [2, 3]):
        others = c.take(np.flatnonzero(~np.isin(c.judge, fold)))
        votes = JudgeVotes.of(others, by_side=False, worth=1.0)
        scores = fit_judges(
            votes, 0.125, scores=np.zeros(4), extras=loose.extras, free=(), tol=1e-6, max_iter=50, centre=None
        )
        inverse = np.linalg.inv(scores.integral.hessian()[:4, :4] + 0.25 * np.eye(4))
        for k in fold:
            mine = (c.judge == k) & (c.outcome != 0)
            a, b = c.left[mine], c.right[mine]
            assert isinstance(seen[k], Cast)
            assert_allclose(seen[k].difference, scores.scores[a] - scores.scores[b], atol=3e-3)
            assert seen[k].won.tolist() == (c.outcome[mine] == 1).tolist()
            assert_allclose(seen[k].weight, 1.0)
            expected = inverse[a, a] + inverse[b, b] - 2 * inverse[a, b]
            assert_allclose(seen[k].variance, expected, rtol=2e-2)


def test_counted_votes_are_tested_one_by_one_and_from_25_on(monkeypatch):
    seen = {}
    monkeypatch.setattr(judge_model, "judge_tests", lambda cast: seen.update(cast) or {})
    left, right = np.array([0, 1, 0, 1, 0], np.int32), np.array([1, 2, 2, 0, 1], np.int32)
    c = Comparisons(
        tuple("abc"), left, right, outcome=np.array([1, -1, 1, 1, 1], np.int8), count=np.array([10, 12, 3, 24, 30]),
        judge=np.array([0, 0, 0, 1, 2], np.int32), judges=("x", "y", "z"), ordered=False,
        weight=np.array([10.0, 6.0, 3.0, 24.0, 0.0]),
    )  # fmt: skip
    model = model_of(c)
    model.tests(model.fit(0.5, np.zeros(3), np.zeros(3)), 0.5)
    assert sorted(seen) == [0]
    assert len(seen[0].won) == 25
    assert seen[0].won.tolist() == [True] * 10 + [False] * 12 + [True] * 3
    share = np.repeat([1.0, 0.5, 1.0], [10, 12, 3])
    assert_allclose(seen[0].weight / seen[0].weight[0], share)


@pytest.mark.parametrize("limit", ["items", "matrix"])
def test_of_many_items_only_the_variances_are_used(limit, monkeypatch):
    model = model_of(judged(each=40, sides=False))
    found = model.fit(0.5, np.zeros(4), np.array([0.0, 0.5, 0.0]))
    if limit == "items":
        monkeypatch.setattr(judge_model, "MAX_COVARIANCE_ITEMS", 3)
    else:
        monkeypatch.setattr("podium.pairwise._fit.marginal.MAX_DENSE_ITEMS", 3)
    scores, variance = model._without(np.array([1]), found, 0.5)
    rest = model.votes.without(np.arange(5) == 1)
    at = integrate(rest, scores, found.extras, dense=False)
    ends = np.bincount(rest.left, at.curvature[:, 0], 4) + np.bincount(rest.right, at.curvature[:, 0], 4)
    one, other = np.array([0, 2]), np.array([1, 3])
    assert_allclose(variance(one, other), 1 / (ends[one] + 1.0) + 1 / (ends[other] + 1.0), rtol=1e-2)
    monkeypatch.undo()
    monkeypatch.setattr(judge_model, "MAX_COVARIANCE_ITEMS", 4)
    exact = model._without(np.array([1]), found, 0.5)[1](one, other)
    assert np.abs(exact / variance(one, other) - 1).max() > 0.02


def test_a_penalty_that_is_a_number_is_one_of_the_weights_given():
    c = judged(each=40)
    plain = CrowdBradleyTerry(l2=0.3, reliability_sd=0.5, side_effect=True).fit(c)
    heavy = CrowdBradleyTerry(l2=0.6, reliability_sd=0.5, side_effect=True).fit(replace(c, weight=np.full(200, 2.0)))
    assert_allclose(heavy.ranking_.scores, plain.ranking_.scores, atol=1e-5)
    assert (plain.l2_, heavy.l2_) == (0.3, pytest.approx(0.6))
    assert heavy.log_likelihood_ == pytest.approx(2 * plain.log_likelihood_, rel=1e-6)
    assert heavy.side_effect_std_error_ == pytest.approx(plain.side_effect_std_error_, rel=1e-4)
