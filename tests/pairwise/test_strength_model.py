"""The likelihood behind Bradley-Terry part by part: rows, effects that are held, other spreads, the posterior."""

import math
import warnings
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from podium import BradleyTerry, Comparisons, CrowdBradleyTerry
from podium.errors import DataWarning, InputError
from podium.pairwise._fit import solvers, strength_model
from podium.pairwise._fit.likelihoods import DavidsonRows, LogisticRows
from podium.pairwise._fit.row_sums import LocalSums
from podium.pairwise._fit.solvers import Rows, coordinate_newton, evaluate, newton
from podium.pairwise._fit.strength_model import StrengthModel
from podium.ranking.uncertainty import WeightedInformation, extra_covariance

from helpers import thin_data

N = 5


def votes(m=80, seed=0, ties=True, covariate=False, weight=None, n=N):
    rng = np.random.default_rng(seed)
    left = rng.integers(0, n, m).astype(np.int32)
    right = ((left + rng.integers(1, n, m)) % n).astype(np.int32)
    outcome = rng.choice([-1, 0, 1] if ties else [-1, 1], m).astype(np.int8)
    more = {"covariates": rng.normal(size=(m, 1)), "covariate_names": ("length",)} if covariate else {}
    return Comparisons(tuple("abcdefgh"[:n]), left, right, outcome=outcome, sided=True, weight=weight, **more)


def rows_by_hand(c, by_side, power=1):
    """(left, right) → wins, losses, ties."""
    found = {}
    weight = np.ones(len(c.left)) if c.weight is None else c.weight
    for a, b, y, w in zip(c.left, c.right, c.outcome, weight, strict=True):
        if not by_side and a > b:
            a, b, y = b, a, -y
        found.setdefault((a, b), np.zeros(3))[{1: 0, -1: 1, 0: 2}[int(y)]] += w**power
    return found


@pytest.mark.parametrize("squared", [False, True])
@pytest.mark.parametrize("side", [False, True])
@pytest.mark.parametrize("ties", ["half", "davidson"])
def test_rows_are_pairs_with_their_votes(ties, side, squared):
    c = votes(weight=np.random.default_rng(1).choice([0.5, 1.0, 2.0], 80))
    model = StrengthModel(c, ties, side)
    assert model.columns == (("side",) if side else ()) + (("tie",) if ties == "davidson" else ())
    rows, loss = model._rows(False, 3.0, squared=squared)
    expected = rows_by_hand(c, side, 2 if squared else 1)
    assert len(rows.left) == len(expected)
    for k, (a, b) in enumerate(zip(rows.left, rows.right, strict=True)):
        wins, losses, tied = 3.0 * (expected[a, b] if (a, b) in expected else expected[b, a][[1, 0, 2]])
        if ties == "davidson":
            assert (loss.wins[k], loss.losses[k], loss.ties[k]) == pytest.approx((wins, losses, tied))
        else:
            assert (loss.points[k], loss.total[k]) == pytest.approx((wins + tied / 2, wins + losses + tied))
    assert rows.design is None if not side else rows.design.tolist() == [[1.0]] * len(rows.left)
    assert rows.offset is None


def test_with_covariates_rows_are_votes():
    c = votes(covariate=True, weight=np.random.default_rng(1).choice([0.5, 1.0, 2.0], 80))
    model = StrengthModel(c, "davidson", True)
    assert model.columns == ("covariate:length", "side", "tie")
    rows, loss = model._rows(True, 2.0)
    assert rows.left.tolist() == c.left.tolist()
    assert isinstance(loss, DavidsonRows)
    for values, outcome in ((loss.wins, 1), (loss.losses, -1), (loss.ties, 0)):
        assert_allclose(values, 2.0 * c.weight * (c.outcome == outcome))
    assert_allclose(rows.design, np.column_stack([c.covariates, np.ones(80)]))
    assert_allclose(model._rows(True, squared=True)[1].wins, c.weight**2 * (c.outcome == 1))


def test_a_centre_is_a_known_part_of_every_margin():
    centre = np.array([0.5, -0.2, 0.1, 0.0, 0.4])
    model = StrengthModel(votes(), "half", False, centre)
    rows, _ = model._rows(False)
    assert_allclose(rows.offset, centre[rows.left] - centre[rows.right])
    found = model.solve(0.3, 1e-10, 100)
    c = votes()
    plain, loss = StrengthModel(c, "half", False)._rows(False)
    at = evaluate(plain, loss, 0.0, found.scores + centre, np.empty(0))
    assert_allclose(at.slopes + 0.6 * found.scores, 0.0, atol=1e-6)  # the penalty is on the deviations
    assert_allclose(model.placed(found).scores, found.scores + centre)
    assert StrengthModel(c, "half", False).placed(found) is found
    likelihood = model.likelihood(found, 0.3, 1e-10, 100)
    alone = StrengthModel(c, "half", False).likelihood(found, 0.3, 1e-10, 100)
    assert_allclose(likelihood.scores, alone.scores, atol=1e-6)
    assert model.centre is centre


def test_size_counts_parameters_and_votes():
    weight = np.random.default_rng(1).choice([0.5, 1.0, 2.0], 80)
    model = StrengthModel(votes(covariate=True, weight=weight), "davidson", True)
    worth = weight.sum() / (weight**2).sum()
    assert model.votes_per_weight == pytest.approx(worth)
    assert model.size == (4 + 3, pytest.approx(worth * weight.sum()), False)
    assert model.votes_per_parameter == pytest.approx(worth * weight.sum() / 7)
    plain = StrengthModel(votes(), "half", False)
    assert plain.votes_per_weight == 1.0
    assert plain.size == (4, 80.0, True)
    assert plain.votes_per_parameter == 20.0
    apart = Comparisons.from_pairs([("a", "b"), ("b", "a"), ("c", "d"), ("d", "c")])
    assert StrengthModel(apart, "half", False).size == (2, 4.0, True)


@pytest.mark.parametrize("how", ["here", "sums"])
@pytest.mark.parametrize(
    ("ties", "side", "covariate"), [("half", False, False), ("half", True, False), ("davidson", True, True)]
)
def test_the_optimum_has_no_slope_left(ties, side, covariate, how):
    c = votes(covariate=covariate)
    model = StrengthModel(c, ties, side)
    rows, loss = model._rows(covariate)
    if how == "sums":
        model.sums = LocalSums((rows, loss))
    found = model.solve(0.2, 1e-10, 100)
    at = evaluate(rows, loss, 0.2, found.scores, found.extras)
    assert_allclose(at.slopes, 0.0, atol=1e-5)
    assert_allclose(at.extra_slopes, 0.0, atol=1e-5)
    assert found.converged
    assert found.solver == ("sums" if how == "sums" else "dense" if model.columns else "coordinate")
    again = model.solve(0.2, 1e-6, 100, found.scores, found.extras)
    assert again.n_iter <= 3
    assert_allclose(again.scores, found.scores, atol=1e-5)


def test_sweeps_that_settled_roughly_go_on_before_newton_steps_in(monkeypatch):
    c = votes(ties=False)
    asked = []
    real = coordinate_newton

    def stalls(a, l2, tol, max_iter, *, scores=None):
        asked.append(tol)
        found = real(a, l2, tol, max_iter, scores=scores)
        return replace(found, converged=len(asked) > 1)

    monkeypatch.setattr(strength_model, "coordinate_newton", stalls)
    StrengthModel(c, "half", False).solve(0.2, 1e-3, 100)
    assert asked == [1e-3, 1e-5]
    asked.clear()
    found = StrengthModel(c, "half", False).solve(0.2, 1e-5, 100)
    assert asked == [1e-5]
    assert found.solver == "dense"


# ---- effects --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ties", ["half", "davidson"])
@pytest.mark.parametrize("covariate", [False, True])
@pytest.mark.parametrize("m", [60, 2000])
def test_effects_that_are_held_are_those_without_the_penalty(m, covariate, ties):
    c = votes(m, covariate=covariate)
    model = StrengthModel(c, ties, True)
    model.hold_effects(100, "hessian")
    few = m == 60
    plain = BradleyTerry(l2=0, side_effect=True, ties=ties, bias_reduction=few, tol=1e-9).fit(c)
    count = 1 + covariate
    assert_allclose(model.effects.values, plain._extras[:count], atol=1e-3)
    assert (model.effects.added is not None) == few
    known = extra_covariance(plain.ranking_.information, "hessian")[:count, :count]
    assert_allclose(model.effects.covariance, known, rtol=0.02)
    rows, _ = model._rows(covariate)
    assert rows.design is None
    whole, _ = model._rows(covariate, whole=True)
    assert_allclose(rows.offset, whole.design @ model.effects.values)
    found = model.optimum(0.4, 1e-9, 100)
    assert_allclose(found.extras[:count], model.effects.values)
    assert len(found.extras) == len(model.columns)
    at = evaluate(*model._rows(covariate, whole=True), 0.4, found.scores, found.extras)
    assert_allclose(at.slopes, 0.0, atol=1e-5)
    # the posterior knows them as well as without the prior
    known = extra_covariance(model.posterior(found, 0.4))
    assert_allclose(known[:count, :count], model.effects.covariance, rtol=1e-6)


def test_without_effects_nothing_is_held_and_many_items_with_few_votes_leave_it(monkeypatch):
    none = StrengthModel(votes(), "davidson", False)
    none.hold_effects(100)
    assert none.effects is None
    few = StrengthModel(votes(60), "half", True)
    monkeypatch.setattr(strength_model, "MAX_ITEMS", 4)
    few.hold_effects(100)
    assert few.effects is None
    many = StrengthModel(votes(2000), "half", True)
    many.hold_effects(100)
    assert many.effects is not None


@pytest.mark.parametrize("name", ["side", "length"])
def test_an_effect_that_scores_have_too_is_said_and_left_to_the_penalty(name):
    c = votes(400)
    number = np.array([0.5, -1.0, 0.3, 0.7, -0.5])
    if name == "length":
        c = replace(c, covariates=(number[c.left] - number[c.right])[:, None], covariate_names=("length",))
        model, what = StrengthModel(c, "half", False), "the effect of 'length'"
    else:
        keep = np.flatnonzero(c.left < c.right)  # everyone but the ends stands on both sides, in a line
        chain = keep[(c.right - c.left)[keep] == 1]
        c = c.take(chain)
        model, what = StrengthModel(c, "half", True), "the effect of the side"
    with pytest.warns(DataWarning, match=f"the votes cannot tell {what} from the scores") as said:
        model.hold_effects(100)
    assert model.effects is None
    assert ("a number of the items themselves is a feature" in str(said[0].message)) == (name == "length")


def test_every_pair_of_items_both_ways_tells_the_side():
    model = StrengthModel(votes(400), "half", True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.hold_effects(100)
    assert model.effects is not None


# ---- other spreads --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("side", [False, True])
@pytest.mark.parametrize("ties", ["half", "davidson"])
def test_alternatives_are_optima_at_other_spreads(ties, side):
    """Each is a fit at another penalty: its curvature, and how far its scores and effects are from those found."""
    c = votes(100)
    model = StrengthModel(c, ties, side)
    model.hold_effects(100)
    prior = model.prior(100)
    found = model.optimum(0.5 / prior.sd**2, 1e-10, 100, prior)
    others = model.spreads(found, prior, 100)
    assert sum(each.share for each in others) == pytest.approx(1.0)
    assert len(others) >= 2
    for each in others:
        there = model.solve(each.ridge / 2, 1e-10, 100)
        extras = there.extras if model.effects is None else np.concatenate([model.effects.values, there.extras])
        assert_allclose(each.shift[:N], there.scores - found.scores, atol=1e-4)
        assert_allclose(each.shift[N:], extras - found.extras, atol=1e-4)
        known = model.posterior(replace(found, scores=there.scores, extras=extras), each.ridge / 2)
        assert_allclose(each.curvature, known.curvature, rtol=1e-3)
        if model.columns:
            assert_allclose(each.border, known.border, atol=1e-3)
            assert_allclose(each.corner, known.corner, rtol=1e-3)
        else:
            assert each.border is None


# ---- information ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("ties", "side"), [("half", False), ("davidson", True)])
def test_information_has_the_hessian_and_the_pull_of_every_vote(ties, side, weighted):
    weight = np.random.default_rng(1).choice([0.5, 1.0, 2.0], 80) if weighted else None
    c = votes(weight=weight)
    model = StrengthModel(c, ties, side)
    found = model.optimum(0.2, 1e-10, 100)
    known = model.information(found, 0.2)
    assert isinstance(known, WeightedInformation) == weighted
    rows, loss = model._rows(False)
    at = evaluate(rows, loss, 0.2, found.scores, found.extras)
    assert_allclose(known.curvature, at.curvature)
    assert known.ridge == 0.4
    p = len(found.extras)
    if p:
        assert_allclose(known.border, at.border)
        assert_allclose(known.corner, at.corner)
        assert known.target is None
    else:
        assert known.border is None
        assert known.vote_extra_gradient is None
        assert set(known.target) <= {0.0, 0.5, 1.0}
    pull = np.zeros(N)
    np.add.at(pull, known.vote_left, known.vote_weight * known.vote_gradient)
    np.subtract.at(pull, known.vote_right, known.vote_weight * known.vote_gradient)
    assert_allclose(pull, -0.4 * found.scores, atol=1e-6)
    if p:
        assert_allclose(known.vote_weight @ known.vote_extra_gradient, 0.0, atol=1e-6)
    assert known.tie_strength == pytest.approx(math.exp(found.extras[-1]) if ties == "davidson" else 0.0)
    if weighted:
        squared = model._rows(False, squared=True)
        there = evaluate(*squared, 0.0, found.scores, found.extras)
        assert_allclose(known.squared_curvature, there.curvature)
        if p:
            assert_allclose(known.squared_border, there.border)
            assert_allclose(known.squared_corner, there.corner)


@pytest.mark.parametrize("ties", ["half", "davidson"])
def test_the_likelihood_alone_is_that_of_scores_with_effects_as_they_are(ties):
    c = votes(100)
    model = StrengthModel(c, ties, True)
    near = model.optimum(2.0, 1e-10, 100)
    known = model.likelihood(near, 2.0, 1e-10, 100)
    assert known.ridge == 0.0
    rows, loss = model._rows(False, whole=True)
    at = evaluate(rows, loss, 0.0, known.scores, near.extras)
    assert_allclose(at.slopes, 0.0, atol=1e-5)
    assert np.ptp(known.scores) > np.ptp(near.scores)
    with thin_data():
        chain = StrengthModel(Comparisons.from_pairs([("a", "b"), ("b", "c")]), "half", False)
        assert chain.likelihood(chain.optimum(0.3, 1e-9, 100), 0.3, 1e-9, 100).ridge == 0.6
        some = Comparisons.from_pairs([("a", "b"), ("b", "a"), ("b", "c")])
        open_below = StrengthModel(some, "half", False)
        assert open_below.likelihood(open_below.optimum(0.3, 1e-9, 100), 0.3, 1e-9, 100).ridge == 2e-6


def test_posteriors_count_weights_as_votes_and_name_groups():
    weight = np.full(80, 0.25)
    c = votes(weight=weight)
    model = StrengthModel(c, "half", False)
    found = model.optimum(0.1, 1e-10, 100)
    known = model.posterior(found, 0.1)
    assert model.votes_per_weight == pytest.approx(4.0)
    assert known.ridge == pytest.approx(2 * 4.0 * 0.1)
    plain = StrengthModel(votes(), "half", False)
    other = plain.posterior(plain.optimum(0.4, 1e-10, 100), 0.4)
    assert_allclose(np.sort(known.curvature), np.sort(other.curvature), rtol=1e-5)
    assert known.groups is None
    apart = Comparisons.from_pairs([("a", "b"), ("b", "a"), ("c", "d"), ("d", "c")])
    two = StrengthModel(apart, "half", False)
    assert two.posterior(two.optimum(0.1, 1e-9, 100), 0.1).groups.tolist() == [0, 0, 1, 1]


# ---- refusals and remarks -------------------------------------------------------------------------------------------


def test_designs_that_say_nothing_or_the_same_are_refused():
    c = votes(covariate=True)
    StrengthModel(c, "half", True).check_design()
    StrengthModel(votes(), "half", True).check_design()
    idle = replace(c, covariates=0 * c.covariates)
    with pytest.raises(InputError, match="covariate 'length' is 0 in every vote, so it has no effect to find"):
        StrengthModel(idle, "half", False).check_design()
    same = replace(c, covariates=np.full((80, 1), 3.0))
    StrengthModel(same, "half", False).check_design()
    with pytest.raises(InputError, match="length, side: one follows from the others"):
        StrengthModel(same, "half", True).check_design()
    with pytest.raises(InputError, match="length, side: one follows from the others"):
        StrengthModel(same.take([0, 1]), "half", True).check_design()
    with pytest.raises(
        InputError, match="length, side: 1 row of votes cannot tell 2 effects apart; get more votes, or"
    ):
        StrengthModel(same.take([0]), "half", True).check_design()


@pytest.mark.parametrize(("share", "said"), [(0.101, True), (0.1, False)])
def test_a_penalty_is_remarked_on_where_it_rules(share, said, monkeypatch):
    model = StrengthModel(votes(), "half", True)
    found = model.optimum(0.2, 1e-9, 100)
    bounded = np.ones(N, dtype=bool)
    monkeypatch.setattr(strength_model, "penalty_share", lambda *_: share)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.warn_of_penalty(found, 0.2, bounded)
        model.warn_of_penalty(found, 0.0, bounded)
        model.warn_of_penalty(replace(found, solver="coordinate"), 0.2, bounded)
    assert len(caught) == said
    if said:
        assert f"with l2 = {0.2 / math.e:.2g} instead of 0.2 they would be about 10 % further apart" in str(
            caught[0].message
        )


def test_votes_that_are_all_ties_have_no_model_of_ties():
    tied = replace(votes(), outcome=np.zeros(80, dtype=np.int8))
    with pytest.raises(InputError, match="every vote is a tie: ties='davidson' cannot tell the items apart"):
        StrengthModel(tied, "davidson", False)
    assert StrengthModel(tied, "half", False).columns == ()
    none = votes(ties=False)
    assert not StrengthModel(none, "davidson", False).davidson
    outcome = none.outcome.copy()
    outcome[0] = 0
    light = replace(none, outcome=outcome, weight=np.where(np.arange(80) == 0, 0.25, 1.0))
    assert StrengthModel(light, "davidson", False).columns == ("tie",)


# ---- sweeps ---------------------------------------------------------------------------------------------------------


def test_groups_may_creep_where_little_ties_them_to_the_rest():
    bound = Comparisons.from_pairs([("a", "b"), ("b", "a"), ("b", "c"), ("c", "b")] * 5)
    open_ended = Comparisons.from_pairs([("a", "b"), ("b", "a"), ("b", "c")] * 5)
    heaviest = float(bound.adjacency.sums[1].max())
    assert heaviest == 20.0
    a = bound.adjacency
    assert not solvers._may_creep(a, 10.0 * 1e-3 * heaviest + 1e-9, 1e-3)
    assert not solvers._may_creep(a, 0.0, 1e-3)  # a tenth of the lightest pair's ten votes holds it
    assert solvers._may_creep(a, 0.0, 0.0051)
    assert not solvers._may_creep(a, 0.0, 0.0049)
    b = open_ended.adjacency
    assert solvers._may_creep(b, 1e-3, 1e-3)
    assert not solvers._may_creep(b, 10.0 * 1e-3 * float(b.sums[1].max()) + 1e-9, 1e-3)


def test_movers_settle_with_everyone_else_where_they_are():
    c = votes(60)
    a, ridge = c.adjacency, 0.4
    start = np.linspace(1.0, -1.0, N)
    scores = start.copy()
    solvers._settle(a, ridge, 1e-12, np.array([1, 3], dtype=np.int32), scores)
    assert scores[[0, 2, 4]].tolist() == start[[0, 2, 4]].tolist()
    rows, loss = StrengthModel(c, "half", False)._rows(False)
    at = evaluate(rows, loss, ridge / 2, scores, np.empty(0))
    assert_allclose(at.slopes[[1, 3]], 0.0, atol=1e-6)
    assert np.abs(at.slopes[[0, 2, 4]]).max() > 0.1


def test_newton_solves_roughly_far_away_and_well_at_the_end(monkeypatch):
    rng = np.random.default_rng(3)
    left = rng.integers(0, 30, 200).astype(np.int32)
    right = ((left + rng.integers(1, 30, 200)) % 30).astype(np.int32)
    wins, losses = rng.exponential(size=(2, 200))
    rows, loss = Rows(30, left, right), LogisticRows(wins, wins + losses)
    count = np.bincount(left, wins + losses, 30) + np.bincount(right, wins + losses, 30)
    asked = []
    real = solvers._direction
    monkeypatch.setattr(solvers, "_direction", lambda p, s, accuracy: asked.append(accuracy) or real(p, s, accuracy))
    found = newton(rows, loss, 0.1, 1e-7, 50, votes=count, how="pcg")
    assert found.converged
    assert asked[0] <= 0.05
    assert asked[-1] == 0.0
    assert asked.count(0.0) <= 2
    exact = newton(rows, loss, 0.1, 1e-10, 50, votes=count, how="dense")
    assert_allclose(found.scores, exact.scores, atol=1e-6)


def test_a_crowd_fitted_again_forgets_the_tests_of_its_judges():
    rng = np.random.default_rng(4)
    left = rng.integers(0, 4, 120)
    right = (left + rng.integers(1, 4, 120)) % 4
    low, high = np.minimum(left, right), np.maximum(left, right)
    judge = np.repeat(["ann", "bob", "eve", "joe"], 30)
    against = judge == "eve"
    one = Comparisons.from_arrays(np.where(against, high, low), np.where(against, low, high), judge=judge.tolist())
    other = Comparisons.from_arrays(
        np.where(judge == "joe", high, low), np.where(judge == "joe", low, high), judge=judge.tolist()
    )
    model = CrowdBradleyTerry(l2=0.5, reliability_sd=0.5).fit(one)
    assert model.flags_ == {"eve": "contrary"}
    assert model.fit(other).flags_ == {"joe": "contrary"}


def test_what_scores_follow_is_given_back_to_their_spread():
    """s² of the residuals and the square of mean γ; of other spreads, the mean of γ²."""
    rng = np.random.default_rng(5)
    truth = rng.normal(size=8)
    one = rng.integers(0, 8, 300)
    two = (one + rng.integers(1, 8, 300)) % 8
    stays = rng.random(300) < 1 / (1 + np.exp(-1.5 * (truth[one] - truth[two])))
    left, right = np.where(stays, one, two).astype(np.int32), np.where(stays, two, one).astype(np.int32)
    outcome = np.where(rng.random(300) < 1 / (1 + np.exp(truth[right] - truth[left] - 0.4)), 1, -1).astype(np.int8)
    model = StrengthModel(Comparisons(tuple("abcdefgh"), left, right, outcome=outcome, sided=True), "half", True)
    model.hold_effects(100)
    prior = model.prior(100)
    following, chosen = model.followed
    gamma = float(chosen.extras[0])
    rows, loss = following.rows, model._rows(False)[1]
    point = evaluate(rows, loss, 0.0, chosen.scores, chosen.extras)
    matrix = chosen.sd**-2 * np.eye(8)
    for a, b, c in zip(rows.left, rows.right, point.curvature, strict=True):
        matrix[[a, b, a, b], [a, b, b, a]] += [c, c, -c, -c]
    whole = np.block([[matrix, point.border], [point.border.T, point.corner]])
    variance = np.linalg.inv(whole)[8, 8]
    assert prior.sd**2 == pytest.approx(chosen.sd**2 + following.square(gamma, variance, of_mean=True), rel=1e-6)
    assert_allclose(prior.scores, chosen.scores + gamma * following.means)
    assert len(prior.extras) == 0
    other = model._not_following(chosen)
    assert other["sd"] ** 2 == pytest.approx(chosen.sd**2 + following.square(gamma, variance), rel=1e-6)
    assert other["sd"] > prior.sd
