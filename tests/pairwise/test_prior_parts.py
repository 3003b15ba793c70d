"""The climb to a penalty from the votes, part by part: on slopes that are known, and places by dense algebra."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from podium.pairwise._fit import prior
from podium.pairwise._fit.likelihoods import DavidsonRows, LogisticRows
from podium.pairwise._fit.prior import (
    DenseInverse,
    Prior,
    _Climb,
    _Mend,
    _Place,
    _start,
    _tension,
    _Visit,
    choose_prior,
    possible_spreads,
)
from podium.pairwise._fit.solvers import Rows, evaluate

N, M = 6, 25


def votes(kind="plain", seed=0):
    rng = np.random.default_rng(seed)
    left = rng.integers(0, N, M).astype(np.int32)
    right = ((left + rng.integers(1, N, M)) % N).astype(np.int32)
    design = rng.normal(size=(M, 2)) if "design" in kind else None
    offset = rng.normal(size=M) if "offset" in kind else None
    wins, losses, ties = rng.exponential(size=(3, M))
    loss = DavidsonRows(wins, losses, ties) if "davidson" in kind else LogisticRows(wins, wins + losses)
    return Rows(N, left, right, design, offset), loss


KINDS = ["plain", "offset", "design", "design offset", "davidson", "davidson design"]


def place_of(kind, x=0.2):
    rows, loss = votes(kind)
    rng = np.random.default_rng(1)
    p = loss.own + (0 if rows.design is None else 2)
    scores, extras = 0.6 * rng.normal(size=N), 0.4 * rng.normal(size=p)
    return rows, loss, scores, extras, _Place(rows, loss, x, scores, extras, dense=True)


def hessian(rows, loss, scores, extras, ridge):
    point = evaluate(rows, loss, 0.0, scores, extras)
    matrix = ridge * np.eye(N)
    for a, b, c in zip(rows.left, rows.right, point.curvature, strict=True):
        matrix[[a, b, a, b], [a, b, b, a]] += [c, c, -c, -c]
    return np.block([[matrix, point.border], [point.border.T, point.corner]])


@pytest.mark.parametrize("kind", KINDS)
def test_a_place_knows_the_inverse_of_the_whole_hessian(kind):
    rows, loss, scores, extras, place = place_of(kind)
    ridge = math.exp(-0.4)
    whole = hessian(rows, loss, scores, extras, ridge)
    inverse = np.linalg.inv(whole)
    assert place.ridge == pytest.approx(ridge)
    assert place.trace(_Mend()) == pytest.approx(np.trace(inverse[:N, :N]), rel=1e-6)
    assert place.log_determinant == pytest.approx(np.linalg.slogdet(whole)[1], rel=1e-6)
    force = np.random.default_rng(2).normal(size=len(whole))
    assert_allclose(np.concatenate(place.solve(force[:N], force[N:])), inverse @ force, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("kind", KINDS)
def test_terms_of_second_order_are_those_of_third_and_fourth_derivatives(kind):
    """δ = −⅛ κ₄·(V, V) + ⅛ aᵀVa with a = κ₃·V; derivatives by differences of the Hessian."""
    rows, loss, scores, extras, place = place_of(kind)
    x, ridge, h = np.concatenate([scores, extras]), math.exp(-0.4), 1e-3
    size = len(x)

    def at(point):
        return hessian(rows, loss, point[:N], point[N:], ridge)

    inverse = np.linalg.inv(at(x))
    root = np.linalg.cholesky(inverse)
    a = np.array([np.sum((at(x + h * e) - at(x - h * e)) * inverse) / (2 * h) for e in np.eye(size)])
    fourth = 0.0
    for column in root.T:
        bent = (at(x + h * column) - 2 * at(x) + at(x - h * column)) / h**2
        fourth += np.sum(bent * inverse)
    assert place.second_order == pytest.approx((a @ inverse @ a - fourth) / 8, abs=2e-3)
    assert_allclose(np.concatenate(place.pushed), inverse @ a, atol=2e-3)


def test_an_inverse_as_a_matrix_has_its_gaps_trace_and_determinant():
    rows, loss = votes()
    curvature = np.random.default_rng(3).uniform(0.1, 1.0, M)
    found = DenseInverse(rows, curvature, 0.7)
    matrix = 0.7 * np.eye(N)
    for a, b, c in zip(rows.left, rows.right, curvature, strict=True):
        matrix[[a, b, a, b], [a, b, b, a]] += [c, c, -c, -c]
    inverse = np.linalg.inv(matrix)
    assert_allclose(found.matrix, inverse)
    assert found.trace() == found.rough_trace == pytest.approx(np.trace(inverse))
    assert found.log_determinant == pytest.approx(np.linalg.slogdet(matrix)[1])
    i, j = rows.left, rows.right
    assert_allclose(found.gaps, inverse[i, i] + inverse[j, j] - 2 * inverse[i, j])
    assert_allclose(found.solve(np.eye(N)), inverse)
    assert loss.total.sum() > 0


def test_the_start_is_by_moments():
    """Variance of the share of points beyond that of chance, arcsin(q)/2π with q = s²/(c² + 2s²)."""
    for share in (0.02, 0.05):
        votes_each = np.full(2000, 10.0)
        away = np.sqrt(10.0 * (0.25 + share * 9.0))  # (points − 5)²/10 is ¼ and the share of the other nine
        points = 5.0 + away * np.tile([1.0, -1.0], 1000)
        q = math.sin(2 * math.pi * share)
        assert math.exp(2 * _start(points, votes_each)) == pytest.approx(2.9 * q / (1 - 2 * q), rel=1e-6)
    even, sure = _start(np.full(9, 5.0), np.full(9, 10.0)), _start(np.tile([10.0, 0.0], 5), np.full(10, 10.0))
    for found, end in ((even, 0.003), (sure, 0.07)):
        q = math.sin(2 * math.pi * end)
        assert math.exp(2 * found) == pytest.approx(2.9 * q / (1 - 2 * q))
    assert _start(np.array([5.0, 5.0, 0.0]), np.array([10.0, 10.0, 0.0])) == pytest.approx(even)


def test_a_trace_is_mended_once_and_again_further_on():
    asked = []

    def inverse(rough, exact):
        return SimpleNamespace(rough_trace=rough, trace=lambda: asked.append(1) or exact)

    mend = _Mend()
    assert mend(inverse(5.0, 7.0), 1.0) == 7.0
    assert mend(inverse(4.0, 99.0), math.exp(0.39)) == pytest.approx(4.0 + 2.0 / math.exp(0.39))
    assert len(asked) == 1
    assert mend(inverse(3.0, 8.0), math.exp(0.41)) == 8.0
    assert mend(inverse(3.0, 4.0), math.exp(0.41 - 0.81)) == 4.0
    assert len(asked) == 3


# ---- the climb ------------------------------------------------------------------------------------------------------


class Known(_Climb):
    """A climb on a slope that is known, with terms of second order apart from it or in it."""

    def __init__(self, slope, second_order=lambda x: 0.0, *, bend=None, jump=0.0, share=1.0, dense=True):
        self.dense, self.x_tol, self.visited = dense, prior.X_TOL if dense else 0.01, []
        self.known, self.delta, self.bend, self.jump, self.share = slope, second_order, bend, jump, share

    def _visit(self, x):
        bend = None if self.bend is None else self.bend(x)
        return _Visit(x, self.known(x), self.delta(x), bend, self.jump, self.share)


@pytest.mark.parametrize("top", [-2.0, 0.3, 2.5])
@pytest.mark.parametrize("begin", [-1.0, 0.5])
def test_a_climb_ends_where_the_slope_is_nothing(top, begin):
    climb = Known(lambda x: 3.0 * math.tanh(top - x), jump=0.1)
    assert climb.top(begin) == pytest.approx(top, abs=1e-5)
    steps = np.abs(np.diff([visit.x for visit in climb.visited]))
    assert steps.max() <= prior.LONGEST + 1e-12 or climb.visited[-1].x != begin
    assert len(climb.visited) < 25


def test_terms_of_second_order_that_are_told_as_values_are_differentiated():
    def slope(x):
        return 2.0 * (0.5 - x)

    def delta(x):
        return 0.3 * x**2 + 0.2 * x

    both = Known(slope, delta, jump=0.2)
    told = Known(slope, delta, bend=lambda x: 0.6 * x + 0.2, jump=0.2)
    expected = 1.2 / 1.4  # 1 − 2x + 0.6x + 0.2 = 0
    assert told.top(0.0) == pytest.approx(expected, abs=1e-5)
    assert both.top(0.0) == pytest.approx(expected, abs=1e-3)


def test_bends_are_slopes_of_a_parabola_through_the_last_three_that_are_apart():
    climb = Known(lambda x: 0.0)

    def seen(*at):
        climb.visited = [_Visit(x, 0.0, 5.0 + 2.0 * x - 3.0 * x**2, None, 0.0, 1.0) for x in at]

    seen(0.4)
    assert climb._bend(0.1) == 0.0
    seen(0.4, 0.41)
    assert climb._bend(0.1) == 0.0, "too near"
    seen(0.4, 0.43)
    assert climb._bend(7.0) == pytest.approx(2.0 - 3.0 * 0.83)  # a straight line's
    seen(-3.0, 0.4, 0.7, 0.705, 1.0)
    for x in (0.0, 0.7, 2.0):
        assert climb._bend(x) == pytest.approx(2.0 - 6.0 * x)
    visit = _Visit(0.3, 1.5, 0.0, 0.25, 0.0, 1.0)
    assert climb._slope(visit) == 1.75
    assert climb._slope(_Visit(0.3, 1.5, 0.0, None, 0.0, 1.0)) == pytest.approx(1.5 + 2.0 - 1.8)


@pytest.mark.parametrize(
    ("jump", "share", "expected"),
    [(0.3, 1.0, 0.3), (-0.3, 1.0, -0.3), (0.001, 1.0, 0.025), (-0.001, 1.0, -0.025), (0.001, 0.019, 0.001)],
)
def test_the_first_step_is_no_shorter_than_it_says_unless_the_prior_says_little(jump, share, expected):
    climb = Known(lambda x: 1.0, jump=jump, share=share)
    here = climb._visit(0.5)
    climb.visited.append(here)
    assert climb._next(here) == pytest.approx(0.5 + expected)


def test_steps_are_secants_kept_between_both_sides():
    climb = Known(lambda x: 0.0)

    def after(*known):
        climb.visited = [_Visit(x, slope, 0.0, 0.0, 0.0, 1.0) for x, slope in known]
        return climb._next(climb.visited[-1])

    assert after((0.0, 2.0), (0.5, 1.0)) == pytest.approx(1.0)
    assert after((0.0, 1.1), (0.5, 1.0)) == pytest.approx(0.5 + 0.7)  # not farther
    assert after((0.0, 1.0), (0.5, 2.0)) == pytest.approx(0.5 + 0.7)  # uphill gets steeper: as far as may be
    assert after((0.0, -1.0), (-0.5, -2.0)) == pytest.approx(-0.5 - 0.7)
    assert after((0.0, 1.0), (0.3, -0.1), (0.29, -0.0999)) == pytest.approx(0.145)  # the secant's 0 is outside
    assert after((0.0, 4.0), (1.0, -1.0)) == pytest.approx(0.8)


def test_a_climb_that_never_settles_ends():
    climb = Known(lambda x: math.sin(1e6 * x) + 2.0 * (-1) ** len(climb.visited), jump=0.5)
    climb.top(0.0)
    assert len(climb.visited) <= prior.MAX_EVALUATIONS


@pytest.mark.parametrize("kind", ["plain", "design", "davidson"])
def test_slopes_met_on_the_way_are_those_of_the_evidence(kind):
    rows, loss = votes(kind)

    def fit(l2, tol, scores, extras):
        from podium.pairwise._fit.solvers import newton

        found = newton(rows, loss, l2, 1e-11, 100, votes=np.ones(N), scores=scores, extras=extras)
        return found.scores, found.extras

    climb = _Climb(rows, loss, fit)
    assert climb.dense
    for x in (-0.5, 0.4):
        visit = climb._visit(x)
        h = 1e-3
        values = [prior.log_evidence(rows, loss, fit, math.exp(x + sign * h)) for sign in (1, -1)]
        assert climb._slope(visit) == pytest.approx((values[0] - values[1]) / (2 * h), abs=5e-3)
        scores, extras = climb.found
        ridge = math.exp(-2 * x)
        inverse = np.linalg.inv(hessian(rows, loss, scores, extras, ridge))
        assert visit.share == pytest.approx(ridge * np.trace(inverse[:N, :N]) / N, rel=1e-6)
        fixed = ridge * scores @ scores / (N - ridge * np.trace(inverse[:N, :N]))
        assert visit.jump == pytest.approx(np.clip(0.5 * math.log(fixed), -0.7, 0.7), rel=1e-5)


def test_how_hard_votes_pull_is_measured_by_the_votes_alone():
    rows, loss = votes()
    rng = np.random.default_rng(4)
    scores = rng.normal(size=N)
    scores -= scores.mean()
    at = Prior(0.7, scores, np.empty(0), 1)
    laplacian = hessian(rows, loss, scores, np.empty(0), 0.0)
    pull = scores / 0.7**2
    step = np.linalg.pinv(laplacian) @ pull
    tension, wide = _tension(rows, loss, at, dense=True)
    assert tension == pytest.approx(pull @ step, rel=1e-4)
    assert wide == pytest.approx(np.std(scores + step), rel=1e-4)
    light = LogisticRows(1e-6 * loss.points, 1e-6 * loss.total)
    assert _tension(rows, light, at, dense=True)[0] == pytest.approx(1e6 * pull @ step, rel=1e-3)
    rough = _tension(rows, loss, at, dense=False)
    assert rough == pytest.approx((tension, wide), rel=0.05)
    assert at.l2 == pytest.approx(0.5 / 0.49)


@pytest.mark.parametrize(
    ("tension", "share", "looks"),
    [(5 + 4 * math.sqrt(10) + 0.01, 0.5, True), (5 + 4 * math.sqrt(10) - 0.01, 0.5, False), (1e9, 0.019, False)],
)
@pytest.mark.parametrize("better", [True, False])
def test_another_top_is_looked_for_where_votes_and_penalty_contradict_each_other(
    tension, share, looks, better, monkeypatch
):
    rows, loss = votes()
    begun = []

    class Climb:
        dense = True

        def __init__(self, *_):
            self.found = np.full(N, float(len(begun))), np.empty(0)
            self.visited = [SimpleNamespace(share=share)] * 3

        def top(self, x):
            begun.append(x)
            return math.log(0.5) if len(begun) == 1 else math.log(2.0)

    monkeypatch.setattr(prior, "_Climb", Climb)
    monkeypatch.setattr(prior, "_tension", lambda *_, **__: (tension, 3.0))
    monkeypatch.setattr(prior, "log_evidence", lambda rows, loss, fit, sd: sd if better else -sd)
    found = choose_prior(rows, loss, None, points=np.full(N, 5.0), votes=np.full(N, 10.0))
    assert found.sd == pytest.approx(2.0 if looks and better else 0.5)
    assert not found.flat
    assert len(begun) == 1 + looks
    if looks:
        assert begun[1] == pytest.approx(math.log(3.0))
        if better:
            assert found.evaluations == 6
            assert found.scores[0] == 1.0
    else:
        assert found.evaluations == 3


@pytest.mark.parametrize(("sd", "again", "flat"), [(0.49, 1.0, True), (0.49, 1e9, True), (0.51, 1.0, False)])
def test_of_many_items_the_top_with_less_tension_is_taken_or_the_other_remarked_on(sd, again, flat, monkeypatch):
    rows, loss = votes()
    tensions = [(1e6, 3.0), (again, 3.0)]

    class Climb:
        dense = False

        def __init__(self, *_):
            self.found, self.visited = (np.zeros(N), np.empty(0)), [SimpleNamespace(share=0.5)]

        def top(self, x):
            return math.log(sd) if len(tensions) == 2 else math.log(2.0)

    monkeypatch.setattr(prior, "_Climb", Climb)
    monkeypatch.setattr(prior, "_tension", lambda *_, **__: tensions.pop(0))
    found = choose_prior(rows, loss, None, points=np.full(N, 5.0), votes=np.full(N, 10.0))
    if sd > 0.5:
        assert found.sd == pytest.approx(sd)
        assert len(tensions) == 2
    elif again < 1e6:
        assert found.sd == pytest.approx(2.0)
        assert not found.flat
    else:
        assert found.sd == pytest.approx(sd)
        assert found.flat == flat


# ---- other spreads --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("width", "top"), [(0.5, 0.0), (0.2, 0.6), (3.0, -0.5)])
def test_spreads_go_up_and_down_until_they_are_improbable(width, top, monkeypatch):
    rows, loss = votes()
    fits = []

    def fit(l2, tol, scores, extras):
        fits.append((l2, scores))
        return scores + 1.0, extras

    monkeypatch.setattr(prior, "_evidence_at", lambda rows, loss, x, scores, extras: -((x - top) ** 2) / (2 * width**2))
    begin = Prior(math.exp(top), np.zeros(N), np.empty(0), 1)
    found = possible_spreads(rows, loss, fit, begin)

    def value(x):
        return -((x - top) ** 2) / (2 * width**2) - 0.5 * (x / 2.0) ** 2

    logs = [top]
    for sign in (-1, 1):
        x = top + 0.4 * sign
        while math.log(0.03) <= x <= math.log(8.0):
            logs.append(x)
            if value(x) < max(value(each) for each in logs) - 6.0:
                break
            x += 0.4 * sign
    assert_allclose([math.log(node.sd) for node in found], logs)
    shares = np.exp([value(x) for x in logs])
    assert_allclose([node.share for node in found], shares / shares.sum())
    assert_allclose([l2 for l2, _ in fits], [0.5 * math.exp(-2 * x) for x in logs])
    for node, x in zip(found, logs, strict=True):
        assert node.scores[0] == 1 + round(abs(x - top) / 0.4), "each from the one before"
