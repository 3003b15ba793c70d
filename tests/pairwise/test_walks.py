"""Walks of scores and their system, part by part: nodes, bridges, Newton's steps and evidence written out."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

from podium.errors import ConvergenceError
from podium.pairwise._fit import walks as fitting
from podium.pairwise._fit.likelihoods import DavidsonRows, LogisticRows
from podium.pairwise._fit.solvers import Rows
from podium.pairwise._fit.walks import Precision, System, Walks, log_evidence, solution_at, solve_walks


def codes(*numbers):
    return np.array(numbers, dtype=np.int32)


@pytest.mark.parametrize("by_side", [False, True])
def test_nodes_are_the_times_of_each_item_and_who_has_no_votes_has_one_at_the_last(by_side):
    left, right = codes(2, 0, 2, 0), codes(0, 2, 3, 2)
    time = np.array([4.0, 1.0, 4.0, 1.0])
    times = np.stack([time, time + 0.5]) if by_side else time
    walks, one, other = Walks.of(left, right, times, 5)
    nodes = {(item, t) for item, t in zip([*left, *right], np.broadcast_to(times, (2, 4)).ravel(), strict=True)}
    last = float(np.max(times))
    nodes |= {(1, last), (4, last)}
    assert list(zip(walks.item, walks.time, strict=True)) == sorted(nodes)
    assert len(walks) == len(nodes)
    for side, node, at in zip((left, right), (one, other), np.broadcast_to(times, (2, 4)), strict=True):
        assert walks.item[node].tolist() == side.tolist()
        assert walks.time[node].tolist() == at.tolist()
    for item in range(5):
        mine = slice(walks.start[item], walks.start[item + 1])
        assert set(walks.item[mine]) == {item}
        gaps = np.diff(walks.time[mine], prepend=walks.time[mine][0])
        assert walks.gap[mine].tolist() == gaps.tolist()
    assert walks.first.tolist() == walks.start[:-1].tolist()


def by_hand(walks, item, at):
    """The conditional mean and variance of Brownian motion at a time, given the nodes, per drift²."""
    own = np.flatnonzero(walks.item == item)
    times = walks.time[own]
    if at < times[0]:
        return None
    later = np.flatnonzero(times > at)
    if not len(later):
        return {own[-1]: 1.0}, at - times[-1]
    k = int(later[0])
    share = (at - times[k - 1]) / (times[k] - times[k - 1])
    return {own[k - 1]: 1 - share, own[k]: share}, (at - times[k - 1]) * (times[k] - at) / (times[k] - times[k - 1])


def test_between_nodes_lies_a_bridge_after_the_last_a_walk_and_before_the_first_nothing():
    left, right = codes(0, 0, 0, 1), codes(1, 1, 2, 2)
    walks, _, _ = Walks.of(left, right, np.array([1.0, 3.0, 7.0, 4.0]), 3)
    asked = [(i, t) for i in range(3) for t in (0.5, 1.0, 1.5, 3.0, 3.75, 4.0, 5.0, 7.0, 9.5)]
    item, at = (np.array(column) for column in zip(*asked, strict=True))
    before, after, weight, bridge = walks.located(item, at)
    for k in range(len(asked)):
        expected = by_hand(walks, *asked[k])
        if expected is None:
            assert np.isnan(bridge[k])
            continue
        shares, variance = expected
        found = {}
        for node, share in ((before[k], 1 - weight[k]), (after[k], weight[k])):
            found[node] = found.get(node, 0.0) + share
        assert {node: share for node, share in found.items() if share} == pytest.approx(
            {node: share for node, share in shares.items() if share}
        )
        assert bridge[k] == pytest.approx(variance)


def league(side=False, davidson=False, seed=0, m=30):
    rng = np.random.default_rng(seed)
    left = rng.integers(0, 3, m).astype(np.int32)
    right = ((left + rng.integers(1, 3, m)) % 3).astype(np.int32)
    walks, one, other = Walks.of(left, right, rng.integers(0, 4, m).astype(float), 3)
    wins, losses, ties = rng.exponential(size=(3, m))
    loss = DavidsonRows(wins, losses, ties) if davidson else LogisticRows(wins, wins + losses)
    rows = Rows(len(walks), one, other, np.column_stack([rng.normal(size=m), np.ones(m)]) if side else None)
    return walks, rows, loss


def prior(walks, sd, drift):
    matrix = np.zeros((len(walks), len(walks)))
    for k in range(len(walks)):
        if k in walks.first:
            matrix[k, k] += 1 / sd**2
        else:
            step = np.eye(len(walks))[k] - np.eye(len(walks))[k - 1]
            matrix += np.outer(step, step) / (drift**2 * (walks.time[k] - walks.time[k - 1]))
    return matrix


def test_the_precision_of_walks_is_that_of_their_steps():
    walks, _, _ = league()
    found = Precision.of(walks, 0.8, 0.3, np.array([4.0, 0.0]))
    dense = prior(walks, 0.8, 0.3)
    vector = np.random.default_rng(1).normal(size=len(walks))
    assert_allclose(found.times(vector), dense @ vector)
    assert found.log_determinant == pytest.approx(np.linalg.slogdet(dense)[1] + math.log(4.0))
    still = Precision.of(walks, 0.8, 0.0, np.empty(0))
    assert_allclose(still.link[still.link > 0], 1e10)  # the least step there is
    assert (still.link > 0).tolist() == (walks.gap > 0).tolist()
    assert still.own[walks.first].tolist() == [1 / 0.8**2] * 3
    assert still.own.sum() == pytest.approx(3 / 0.8**2)


def whole(walks, rows, loss, precision, x):
    """The penalised loss of nodes and effects, its gradient and its Hessian by differences of the gradient."""
    n = len(walks)

    def value(x):
        return loss(rows.margin(x[:n], x[n:]), x[n:])[0] + 0.5 * x @ precision @ x

    h = 1e-5
    gradient = [(value(x + h * e) - value(x - h * e)) / (2 * h) for e in np.eye(len(x))]
    return value(x), np.array(gradient)


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize(("side", "davidson"), [(False, False), (True, False), (False, True), (True, True)])
def test_newton_ends_where_no_slope_is_left(side, davidson, exact, monkeypatch):
    if not exact:
        monkeypatch.setattr(fitting, "MAX_EXACT_NODES", 0)
        monkeypatch.setattr(fitting, "MAX_EXACT_WORK", 0.0)
    walks, rows, loss = league(side, davidson)
    p = 2 * side + davidson
    effects = np.array([3.0, 0.0][: 2 * side] + [0.0] * davidson)
    precision = Precision.of(walks, 0.8, 0.3, effects)
    found = solve_walks(rows, loss, precision, items=3, tol=1e-8, max_iter=50)
    dense = np.zeros((len(walks) + p, len(walks) + p))
    dense[: len(walks), : len(walks)] = prior(walks, 0.8, 0.3)
    dense[len(walks) :, len(walks) :] = np.diag(effects)
    at = np.concatenate([found.scores, found.point.extras])
    value, gradient = whole(walks, rows, loss, dense, at)
    assert found.converged
    assert 2 <= found.n_iter < 15
    assert found.point.objective == pytest.approx(value)
    assert_allclose(gradient, 0.0, atol=1e-6)
    assert_allclose(found.point.slopes, 0.0, atol=1e-6)
    assert_allclose(found.point.extra_slopes, 0.0, atol=1e-6)
    again = solve_walks(
        rows, loss, precision, items=3, tol=1e-6, max_iter=50, scores=found.scores, extras=found.point.extras
    )
    assert again.n_iter == 1
    assert again.converged
    assert not solve_walks(rows, loss, precision, items=3, tol=1e-8, max_iter=1).converged
    there = solution_at(rows, loss, precision, found.scores, found.point.extras)
    assert (there.n_iter, there.converged) == (0, True)
    assert there.point.objective == pytest.approx(value)
    assert_allclose(there.point.corner, found.point.corner)


def test_the_prior_is_in_slopes_and_corner():
    walks, rows, loss = league(True, True)
    rng = np.random.default_rng(2)
    scores, extras, effects = rng.normal(size=len(walks)), rng.normal(size=3), np.array([3.0, 0.0, 0.0])
    found = solution_at(rows, loss, Precision.of(walks, 0.8, 0.3, effects), scores, extras).point
    dense = np.zeros((len(walks) + 3, len(walks) + 3))
    dense[: len(walks), : len(walks)] = prior(walks, 0.8, 0.3)
    dense[len(walks), len(walks)] = 3.0
    value, gradient = whole(walks, rows, loss, dense, np.concatenate([scores, extras]))
    assert found.objective == pytest.approx(value)
    assert_allclose(np.concatenate([found.slopes, found.extra_slopes]), gradient, atol=1e-6)
    bare = solution_at(rows, loss, Precision.of(walks, 0.8, 0.3, 0 * effects), scores, extras).point
    assert_allclose(found.corner - bare.corner, np.diag(effects))


@pytest.mark.parametrize("many", [True, False])
@pytest.mark.parametrize("exact", [True, False])
def test_a_step_is_newtons(many, exact, monkeypatch):
    monkeypatch.setattr(fitting, "MAX_EXACT_NODES", 99 if exact else 0)
    monkeypatch.setattr(fitting, "MAX_EXACT_WORK", 0.0)
    monkeypatch.setattr(fitting, "MAX_CG_EFFECTS", 2 if many else 3)
    walks, rows, loss = league(True, True)
    rng = np.random.default_rng(3)
    precision = Precision.of(walks, 0.8, 0.3, np.array([3.0, 0.5, 0.2]))
    point = solution_at(rows, loss, precision, 0.3 * rng.normal(size=len(walks)), 0.3 * rng.normal(size=3)).point
    du, de = fitting._direction(point, System(rows, point.curvature, precision, 3), 1e-10)
    matrix = prior(walks, 0.8, 0.3)
    for a, b, c in zip(rows.left, rows.right, point.curvature, strict=True):
        matrix[[a, b, a, b], [a, b, b, a]] += [c, c, -c, -c]
    full = np.block([[matrix, point.border], [point.border.T, point.corner]])
    step = -np.linalg.solve(full, np.concatenate([point.slopes, point.extra_slopes]))
    assert_allclose(np.concatenate([du, de]), step, rtol=1e-4, atol=1e-6)


def test_a_step_moves_no_score_by_more_than_ten_and_is_halved_where_it_leads_up():
    walks, rows, loss = league()
    precision = Precision.of(walks, 0.8, 0.3, np.empty(0))
    here = solve_walks(rows, loss, precision, items=3, tol=1e-8, max_iter=50).point
    away = solution_at(rows, loss, precision, here.scores + 20.0, here.extras).point
    back = np.full(len(walks), -40.0)
    there = fitting._search(rows, loss, precision, away, back, np.empty(0), 40.0)
    assert_allclose(there.scores, away.scores - 10.0)
    near = solution_at(rows, loss, precision, here.scores + 1.0, here.extras).point
    too_far = np.full(len(walks), -3.0)  # as far beyond as twice the way: half of it leads down
    there = fitting._search(rows, loss, precision, near, too_far, np.empty(0), 3.0)
    assert_allclose(there.scores, near.scores - 1.5)
    up = fitting._search(rows, loss, precision, near, -too_far, np.empty(0), 3.0)
    assert_allclose(up.scores, near.scores, atol=1e-9)  # until it no longer shows


def test_an_effect_without_an_end_is_let_go():
    walks, rows, _ = league(True)
    wins = np.ones(30)
    always = LogisticRows(wins, wins)  # the left item in every row, whatever it is
    found = solve_walks(
        rows, always, Precision.of(walks, 0.8, 0.3, np.array([1.0, 0.0])), items=3, tol=1e-9, max_iter=99
    )
    assert found.converged
    assert found.point.extras[1] > 12
    assert found.n_iter < 30
    held = solve_walks(
        rows, always, Precision.of(walks, 0.8, 0.3, np.array([1.0, 1e-3])), items=3, tol=1e-9, max_iter=99
    )
    assert held.converged
    assert held.point.extras[1] != pytest.approx(found.point.extras[1], abs=0.5)  # that of its prior


@pytest.mark.parametrize("effects", [(3.0, 0.0, 0.0), (3.0, 0.7, 0.0), (0.0, 0.0, 0.0)])
def test_the_evidence_is_laplace_over_nodes_and_effects_with_a_prior(effects):
    walks, rows, loss = league(True, True)
    precision = Precision.of(walks, 0.8, 0.3, np.array(effects))
    found = solve_walks(rows, loss, precision, items=3, tol=1e-9, max_iter=50)
    point, n = found.point, len(walks)
    matrix = prior(walks, 0.8, 0.3)
    before = np.linalg.slogdet(matrix)[1]
    for a, b, c in zip(rows.left, rows.right, point.curvature, strict=True):
        matrix[[a, b, a, b], [a, b, b, a]] += [c, c, -c, -c]
    held = [k for k in range(3) if effects[k]]
    full = np.block([[matrix, point.border[:, held]], [point.border[:, held].T, point.corner[np.ix_(held, held)]]])
    before += sum(math.log(effects[k]) for k in held)
    assert full.shape == (n + len(held),) * 2
    expected = -point.objective + 0.5 * (before - np.linalg.slogdet(full)[1])
    assert log_evidence(rows, found, 3) == pytest.approx(expected)


def test_the_stochastic_log_determinant_is_the_mean_over_signs(monkeypatch):
    """With as many steps as nodes a quadrature is exact, so that only the signs are drawn."""
    walks, rows, loss = league()
    precision = Precision.of(walks, 0.8, 0.3, np.empty(0))
    point = solve_walks(rows, loss, precision, items=3, tol=1e-8, max_iter=50).point
    matrix, n = prior(walks, 0.8, 0.3), len(walks)
    own = matrix.copy()
    for a, b, c in zip(rows.left, rows.right, point.curvature, strict=True):
        matrix[[a, b, a, b], [a, b, b, a]] += [c, c, -c, -c]
        own[[a, b], [a, b]] += [c, c]
    lower = np.linalg.cholesky(own)  # the preconditioner: walks with the votes on the diagonal
    inside = np.linalg.solve(lower, np.linalg.solve(lower, matrix).T)
    values, vectors = np.linalg.eigh(inside)
    log = vectors @ np.diag(np.log(values)) @ vectors.T
    monkeypatch.setattr(fitting, "MAX_EXACT_NODES", 0)
    monkeypatch.setattr(fitting, "MAX_EXACT_WORK", 0.0)
    system = System(rows, point.curvature, precision, 3)
    for probed, probes in ((100_000, 12), (5 * n, 5), (n, 3)):
        monkeypatch.setattr(fitting, "PROBED_NODES", probed)
        found = system._stochastic_rest(np.random.default_rng(7))
        rng = np.random.default_rng(7)
        signs = [rng.choice(np.array([-1.0, 1.0]), n) for _ in range(probes)]
        spread = np.sqrt(2 * (np.sum(log**2) - np.sum(np.diag(log) ** 2)) / probes)
        assert abs(found - np.trace(log)) < 4 * spread
        turned = _turned(log, system, inside, lower)
        assert found == pytest.approx(np.mean([each @ turned @ each for each in signs]), rel=1e-5)
    system.exact = False
    assert system.log_determinant() == pytest.approx(
        2 * np.log(np.diag(lower)).sum() + system._stochastic_rest(np.random.default_rng(0))
    )


def _turned(log, system, inside, lower):
    """The logarithm as the system's own half solves have it."""
    from podium.kernels.pairwise import walks as kernel

    n = len(log)
    back = np.empty((n, n))
    for k in range(n):
        kernel.half_solve_back(system._pivot, system._lower, np.eye(n)[k], back[k])
    turned = back @ (lower @ inside @ lower.T) @ back.T
    values, vectors = np.linalg.eigh(0.5 * (turned + turned.T))
    return vectors @ np.diag(np.log(values)) @ vectors.T


def test_votes_that_leave_nothing_of_the_walk_are_refused():
    walks, rows, _ = league()
    system = System(rows, np.zeros(30), Precision(np.zeros(len(walks)), np.zeros(len(walks)), np.empty(0)), 3)
    with pytest.raises(ConvergenceError, match="the votes weigh too much beside the walk"):
        system.solve_all(np.ones((len(walks), 1)))
