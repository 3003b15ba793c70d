"""Votes by judge and pair, and each judge integrated out: against counts made by hand and sums over a fine grid."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from podium import Comparisons
from podium.pairwise._fit import judges
from podium.pairwise._fit.judges import EXTRAS, JudgeVotes, _rule, integrate

N, JUDGES = 4, 3


def cast(seed=0, m=40, ties=True, sided=True):
    """Votes of three judges, of whom the one in the middle has none."""
    rng = np.random.default_rng(seed)
    left = rng.integers(0, N, m).astype(np.int32)
    right = ((left + rng.integers(1, N, m)) % N).astype(np.int32)
    outcome = rng.choice([-1, 0, 1] if ties else [-1, 1], m).astype(np.int8)
    return Comparisons(
        tuple(range(N)),
        left,
        right,
        outcome=outcome,
        weight=rng.choice([0.5, 1.0, 2.0], m),
        judge=rng.choice([0, 2], m).astype(np.int32),
        judges=("ann", "bob", "eve"),
        sided=sided,
    )


@pytest.mark.parametrize("worth", [1.0, 3.0])
@pytest.mark.parametrize("by_side", [False, True])
def test_votes_of_a_judge_on_a_pair_are_one_row(by_side, worth):
    c = cast()
    found = JudgeVotes.of(c, by_side=by_side, worth=worth)
    rows = {}
    for left, right, outcome, weight, judge in zip(c.left, c.right, c.outcome, c.weight, c.judge, strict=True):
        turn = not by_side and left > right
        key = (judge, right, left) if turn else (judge, left, right)
        points, total = rows.get(key, (0.0, 0.0))
        won = (1 - outcome) / 2 if turn else (1 + outcome) / 2
        rows[key] = points + worth * weight * won, total + worth * weight
    order = sorted(rows)
    assert list(zip(found.judge, found.left, found.right, strict=True)) == order
    assert_allclose(found.points, [rows[key][0] for key in order])
    assert_allclose(found.total, [rows[key][1] for key in order])
    assert found.n == N
    assert found.judges == JUDGES
    assert found.start.tolist() == [sum(key[0] < k for key in order) for k in range(JUDGES + 1)]
    assert found.turned.tolist() == [not by_side and bool(one > two) for one, two in zip(c.left, c.right, strict=True)]
    ends = np.where(found.turned, c.right, c.left), np.where(found.turned, c.left, c.right)
    assert [(found.judge[r], found.left[r], found.right[r]) for r in found.row] == list(
        zip(c.judge, *ends, strict=True)
    )
    own = [sorted({item for key in order if key[0] == k for item in key[1:]}) for k in range(JUDGES)]
    assert found.own_item.tolist() == [item for each in own for item in each]
    assert found.own_start.tolist() == [0, len(own[0]), len(own[0]), len(own[0]) + len(own[2])]
    for k, left, right, a, b in zip(found.judge, found.left, found.right, found.own_left, found.own_right, strict=True):
        assert (own[k][a], own[k][b]) == (left, right)
    assert found.dense_work == len(own[0]) ** 2 + len(own[2]) ** 2


def test_judges_have_many_votes_from_a_hundred_on_and_who_has_none_does_not_count():
    votes = JudgeVotes.of(cast(), by_side=False, worth=1.0)
    first, last = votes.start[0], votes.start[2]
    for a, b, many in ((99.0, 99.0, True), (99.0, 98.0, False), (98.0, 300.0, False), (1e3, 1e3, True)):
        total = np.zeros(len(votes.total))
        total[[first, first + 1, last, last + 1]] = 1.0, a, 1.0, b
        assert replace(votes, total=total).many == many
    assert replace(votes, total=0.0 * votes.total).many


def test_without_some_judges_the_votes_are_those_of_the_others():
    c = cast()
    votes = JudgeVotes.of(c, by_side=True, worth=1.0)
    rest = votes.without(np.array([True, False, False]))
    assert rest.start.tolist() == [0, 0, 0, int((votes.judge == 2).sum())]
    assert len(rest.row) == len(rest.turned) == 0
    only = JudgeVotes.of(c.take(np.flatnonzero(c.judge == 2)), by_side=True, worth=1.0)
    for name in ("left", "right", "points", "total", "own_left", "own_right"):
        assert getattr(rest, name).tolist() == getattr(only, name).tolist()
    scores, extras = np.array([0.5, -0.2, 0.1, -0.4]), np.array([0.1, 0.5, 0.3])
    whole, without, alone = (integrate(each, scores, extras, dense=True) for each in (votes, rest, only))
    assert_allclose(without.likely, [0.0, 0.0, whole.likely[2]], atol=1e-12)
    assert_allclose(without.hessian(), alone.hessian(), atol=1e-9)
    assert_allclose(without.slopes_of_loss(), alone.slopes_of_loss(), atol=1e-9)


@pytest.mark.parametrize("nodes", [{1: 5, 2: 4}, judges.NODES, judges.NODES_OF_MANY])
@pytest.mark.parametrize(("slopes", "leans"), [(False, False), (True, False), (False, True), (True, True)])
def test_a_rule_integrates_polynomials_against_the_normal_density(slopes, leans, nodes):
    node, log_mass = _rule(slopes, leans, nodes)
    each = nodes[slopes + leans] if slopes or leans else 1
    assert node.shape == (each ** (slopes + leans), 2)
    x, y = node.T
    d = slopes + leans
    # ∫ f(x)·(2π)^(−d/2) dx with f the density times a polynomial of low degree
    weight = np.exp(log_mass - 0.5 * (x**2 + y**2))
    assert weight.sum() == pytest.approx(1.0)
    assert weight @ x**2 == pytest.approx(float(slopes))
    assert weight @ y**2 == pytest.approx(float(leans))
    assert weight @ x**4 == pytest.approx(3.0 * slopes)
    assert weight @ (x**2 * y**4) == pytest.approx(3.0 * (d == 2))
    assert weight @ (x**2 * y) == pytest.approx(0.0, abs=1e-12)
    if d == 2:  # the first direction is the slope's
        assert np.ptp(node[:each, 0]) == 0


def grid(votes, scores, extras, centre, k, points=121):
    """Log-likelihood and moments of one judge's z, by sums over a fine grid."""
    lean, slope_sd, lean_sd = extras
    z = np.linspace(-8, 8, points)
    one, two = np.meshgrid(z if slope_sd else [0.0], z if lean_sd else [0.0], indexing="ij")
    log = np.zeros_like(one)
    for sd, at in ((slope_sd, one), (lean_sd, two)):
        if sd:
            log += np.log(z[1] - z[0]) - 0.5 * np.log(2 * np.pi) - at**2 / 2
    for r in np.flatnonzero(votes.judge == k):
        gap = scores[votes.left[r]] - scores[votes.right[r]]
        margin = (centre[k] + slope_sd * one) * gap + lean + lean_sd * two
        log += votes.points[r] * margin - votes.total[r] * np.logaddexp(0.0, margin)
    whole = np.exp(log)
    mass = whole / whole.sum()
    mean = np.array([(mass * one).sum(), (mass * two).sum()])
    spread = [(mass * (one - mean[0]) ** 2).sum(), (mass * (one - mean[0]) * (two - mean[1])).sum()]
    return np.log(whole.sum()), [*mean, *spread, (mass * (two - mean[1]) ** 2).sum()]


@pytest.mark.parametrize("extras", [(0.3, 0.6, 0.0), (-0.2, 0.0, 0.7), (0.2, 0.5, 0.4)])
@pytest.mark.parametrize("centre", [None, np.array([0.4, 1.0, 1.6])])
def test_each_judge_is_integrated_out_as_on_a_grid(extras, centre):
    votes = JudgeVotes.of(cast(), by_side=True, worth=1.0)
    scores = np.array([0.9, -0.7, 0.3, -0.5])
    found = integrate(votes, scores, np.array(extras), dense=True, centre=centre)
    means = np.ones(JUDGES) if centre is None else centre
    assert_allclose(found.centre, means)
    for k in range(JUDGES):
        likely, moments = grid(votes, scores, extras, means, k)
        assert found.likely[k] == pytest.approx(likely, abs=1e-5)
        if not extras[1]:
            moments[2] = found.moments[k, 2]  # z does not matter, and has its prior or none
        if not extras[2]:
            moments[4] = found.moments[k, 4]
        assert_allclose(found.moments[k], moments, atol=1e-4)
    assert found.log_likelihood == pytest.approx(found.likely.sum())
    lean, slope_sd, lean_sd = extras
    for (mean, sd), base, scale, at, var in (
        (found.slope(), means, slope_sd, 0, 2),
        (found.lean(), lean, lean_sd, 1, 4),
    ):
        assert_allclose(mean, base + scale * found.moments[:, at])
        assert_allclose(sd, scale * np.sqrt(found.moments[:, var]))


def test_derivatives_with_judges_about_another_centre_are_differences():
    votes = JudgeVotes.of(cast(), by_side=True, worth=1.0)
    centre = np.array([0.4, 1.0, 1.6])
    at = np.array([0.9, -0.7, 0.3, -0.5, 0.2, 0.5, 0.4])
    here = integrate(votes, at[:N], at[N:], dense=True, centre=centre)

    def shifted(x):
        return integrate(votes, x[:N], x[N:], dense=True, centre=centre)

    h = 1e-4
    for k, step in enumerate(h * np.eye(N + EXTRAS)):
        up, down = shifted(at + step), shifted(at - step)
        slope = (down.log_likelihood - up.log_likelihood) / (2 * h)
        assert here.slopes_of_loss()[k] == pytest.approx(slope, abs=2e-3)
        bend = (up.slopes_of_loss() - down.slopes_of_loss()) / (2 * h)
        assert_allclose(here.hessian()[k], bend, atol=2e-2)
    assert_allclose(here.hessian(), here.hessian().T)
    assert_allclose(here.complete_hessian()[N:, :N], here.border())
    assert_allclose(here.complete_hessian() - here.variance, here.hessian())
    assert_allclose(here.hessian()[:N, :N].sum(axis=1), 0.0, atol=1e-9)  # votes see differences only


def test_nodes_that_stay_give_the_same_integral_and_so_do_modes_searched_for_from_near():
    votes = JudgeVotes.of(cast(), by_side=True, worth=1.0)
    scores, extras = np.array([0.9, -0.7, 0.3, -0.5]), np.array([0.2, 0.5, 0.4])
    here = integrate(votes, scores, extras, dense=False)
    assert here.variance.shape == (0, 0)
    moved = scores + 0.3 * np.array([1.0, -1.0, 0.5, -0.5])
    plain = integrate(votes, moved, extras, dense=False)
    near = integrate(votes, moved, extras, dense=False, near=here)
    held = integrate(votes, moved, extras, dense=False, nodes=here)
    assert held.mode is here.mode
    assert held.root is here.root
    assert near.mode is not here.mode
    assert_allclose(near.mode, plain.mode, atol=1e-5)
    assert_allclose(near.likely, plain.likely, atol=1e-7)
    assert_allclose(held.likely, plain.likely, atol=1e-4)
    assert not np.allclose(plain.mode, here.mode, atol=1e-3)
    again = integrate(votes, scores, extras, dense=False, nodes=here)
    assert_allclose(again.likely, here.likely, rtol=1e-14)
