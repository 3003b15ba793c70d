"""The solvers of pairwise likelihoods: derivatives by differences, each way of solving against dense algebra."""

import math
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize

from podium import Comparisons
from podium.errors import SeparationWarning
from podium.pairwise._fit import solvers
from podium.pairwise._fit.likelihoods import DavidsonRows, LogisticRows
from podium.pairwise._fit.solvers import (
    LinearSolver,
    Rows,
    coordinate_newton,
    evaluate,
    newton,
    penalty_share,
    runs_away,
)

N = 6


def problem(seed=0, ties=False, design=True, offset=False, m=30):
    rng = np.random.default_rng(seed)
    left = rng.integers(0, N, m).astype(np.int32)
    right = ((left + rng.integers(1, N, m)) % N).astype(np.int32)
    wins, losses, tied = rng.exponential(size=(3, m))
    rows = Rows(N, left, right, rng.normal(size=(m, 2)) if design else None, rng.normal(size=m) if offset else None)
    loss = DavidsonRows(wins, losses, tied) if ties else LogisticRows(wins, wins + losses)
    votes = np.bincount(left, wins + losses, N) + np.bincount(right, wins + losses, N)
    return rows, loss, votes


def flat(rows, loss, l2, x):
    point = evaluate(rows, loss, l2, x[:N].copy(), x[N:].copy())
    return point.objective, np.concatenate([point.slopes, point.extra_slopes])


CASES = [{"ties": t, "design": d, "offset": o} for t in (False, True) for d in (False, True) for o in (False, True)]


@pytest.mark.parametrize("case", CASES)
def test_derivatives_are_those_of_differences(case):
    rows, loss, _ = problem(**case)
    p = (2 if case["design"] else 0) + case["ties"]
    x = np.random.default_rng(1).normal(size=N + p)
    h = 1e-5
    numeric = [
        (flat(rows, loss, 0.3, x + h * e)[0] - flat(rows, loss, 0.3, x - h * e)[0]) / (2 * h) for e in np.eye(N + p)
    ]
    assert_allclose(flat(rows, loss, 0.3, x)[1], numeric, atol=1e-6)
    second = np.array(
        [(flat(rows, loss, 0.3, x + h * e)[1] - flat(rows, loss, 0.3, x - h * e)[1]) / (2 * h) for e in np.eye(N + p)]
    )
    point = evaluate(rows, loss, 0.3, x[:N].copy(), x[N:].copy())
    assert_allclose(point.border, second[:N, N:], atol=1e-6)
    assert_allclose(point.corner, second[N:, N:], atol=1e-6)
    laplacian = np.zeros((N, N))
    for a, b, c in zip(rows.left, rows.right, point.curvature, strict=True):
        laplacian[[a, b, a, b], [a, b, b, a]] += [c, c, -c, -c]
    assert_allclose(laplacian + 0.6 * np.eye(N), second[:N, :N], atol=1e-6)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("how", ["dense", "banded", "pcg"])
def test_newton_ends_where_a_general_optimiser_does(case, how):
    rows, loss, votes = problem(seed=3, **case)
    p = (2 if case["design"] else 0) + case["ties"]
    best = minimize(
        lambda x: flat(rows, loss, 0.2, x), np.zeros(N + p), jac=True, method="BFGS", options={"gtol": 1e-9}
    )
    found = newton(rows, loss, 0.2, 1e-9, 100, votes=votes, how=how)
    assert found.converged
    assert found.solver == how
    assert_allclose(found.scores, best.x[:N], atol=1e-5)
    assert_allclose(found.extras, best.x[N:], atol=1e-5)
    again = newton(rows, loss, 0.2, 1e-9, 100, votes=votes, how=how, scores=found.scores, extras=found.extras)
    assert again.n_iter <= 1
    assert not newton(rows, loss, 0.2, 1e-9, 1, votes=votes, how=how).converged
    slopes = flat(rows, loss, 0.2, np.concatenate([found.scores, found.extras]))[1]
    assert found.gap >= np.max(np.abs(slopes[:N]) / votes) - 1e-12


def test_without_a_penalty_scores_have_the_mean_zero():
    rows, loss, votes = problem(design=False)
    found = newton(rows, loss, 0.0, 1e-10, 100, votes=votes)
    assert abs(found.scores.mean()) < 1e-12
    assert_allclose(flat(rows, loss, 0.0, found.scores)[1], 0, atol=1e-8)


@pytest.mark.parametrize("ridge", [0.0, 0.5])
@pytest.mark.parametrize("how", ["dense", "banded", "pcg"])
def test_each_way_solves_the_same_system(how, ridge):
    rng = np.random.default_rng(4)
    left, right = np.array([0, 1, 2, 3, 4, 6], np.int32), np.array([1, 2, 3, 0, 5, 7], np.int32)  # three components
    curvature = rng.exponential(size=6) + 0.1
    solver = LinearSolver(Rows(8, left, right), ridge, how)
    matrix = np.zeros((8, 8))
    for a, b, c in zip(left, right, curvature, strict=True):
        matrix[[a, b, a, b], [a, b, b, a]] += [c, c, -c, -c]
    force = rng.normal(size=8)
    groups = [[0, 1, 2, 3], [4, 5], [6, 7]]
    if not ridge:  # forces that sum to nothing in each component
        for group in groups:
            force[group] -= force[group].mean()
    found = solver.factor(curvature, 1e-12)(force)
    assert_allclose((matrix + ridge * np.eye(8)) @ found, force, atol=1e-7)
    if how != "pcg" and ridge:
        assert solver.log_determinant == pytest.approx(np.linalg.slogdet(matrix + ridge * np.eye(8))[1])
    assert solver._one_of_each().tolist() == [0, 4, 6]


@pytest.mark.parametrize(("dense", "flops", "how"), [(6, 1e9, "dense"), (5, 1e9, "banded"), (5, 1.0, "pcg")])
def test_the_way_is_chosen_by_size_and_band(dense, flops, how, monkeypatch):
    monkeypatch.setattr(solvers, "DENSE", dense)
    monkeypatch.setattr(solvers, "BAND_FLOPS", flops)
    chain = Rows(6, np.arange(5, dtype=np.int32), np.arange(1, 6, dtype=np.int32))
    star = Rows(6, np.zeros(5, np.int32), np.arange(1, 6, dtype=np.int32))
    assert LinearSolver(chain, 0.1).how == how
    if how == "banded":
        assert LinearSolver(chain, 0.1).band == 1
    assert LinearSolver(star, 0.1)._is_wider(2)  # five are one meeting away: more than two on either side
    assert not LinearSolver(star, 0.1)._is_wider(3)
    assert not LinearSolver(chain, 0.1)._is_wider(1)
    assert not LinearSolver(Rows(6, np.zeros(0, np.int32), np.zeros(0, np.int32)), 0.1, "pcg")._is_wider(0)


def test_an_effect_runs_away_beyond_twelve_log_odds_on_a_typical_row():
    design = np.array([[2.0, 0.0], [-2.0, 1.0]])  # typical: 2 and √½
    rows = Rows(2, np.array([0, 1], np.int32), np.array([1, 0], np.int32), design)
    for extras, runs in (
        ([6.0, 0.0], False),
        ([6.01, 0.0], True),
        ([-6.01, 0.0], True),
        ([0, 16.9], False),
        ([0, 17.0], True),
    ):
        assert runs_away(rows, np.array(extras)) == runs
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            solvers.warn_of_separation(["covariate:age", "side"], design, np.array(extras), 1)
        assert [one.category for one in caught] == [SeparationWarning] * runs
        if runs:
            what = "covariate 'age'" if extras[0] else "the side"
            assert str(caught[0].message).startswith(f"{what} separates the votes (almost) perfectly")
    assert not runs_away(Rows(2, rows.left, rows.right), np.array([99.0]))


def test_who_only_won_starts_where_the_penalty_holds_it():
    """votes · (1 − σ(u)) = ridge · u."""
    points, votes = np.array([5.0, 0.0, 2.0, 0.0]), np.array([5.0, 3.0, 4.0, 0.0])
    scores = np.zeros(4)
    solvers._place_open_ended(scores, points, votes, 0.01)
    assert scores[2:].tolist() == [0.0, 0.0]
    for score, count in ((scores[0], 5.0), (-scores[1], 3.0)):
        assert count / (1 + math.exp(score)) == pytest.approx(0.01 * score, rel=1e-6)
    still = np.zeros(4)
    solvers._place_open_ended(still, points, votes, 0.0)
    assert not still.any()


def test_sweeps_that_are_left_and_groups_that_are_centred():
    assert solvers._sweeps_left(0.5, 1.0, 1 / 1024) == pytest.approx(10)
    assert solvers._sweeps_left(1.0, 1.0, 1e-3) == np.inf
    assert solvers._sweeps_left(0.5, 1e-4, 1e-3) == 0
    apart = Comparisons.from_pairs([("a", "b"), ("b", "a"), ("c", "d"), ("d", "c")])
    assert_allclose(solvers._centred(np.array([1.0, 3.0, 10.0, 20.0]), apart.adjacency), [-1, 1, -5, 5])
    whole = Comparisons.from_pairs([("a", "b"), ("b", "c")])
    assert_allclose(solvers._centred(np.array([1.0, 3.0, 5.0]), whole.adjacency), [-2, 0, 2])


@pytest.mark.parametrize("l2", [1e-3, 0.5])
def test_sweeps_end_where_newton_does(l2):
    rng = np.random.default_rng(6)
    winner = rng.integers(0, 8, 60)
    c = Comparisons.from_arrays(winner, (winner + rng.integers(1, 8, 60)) % 8, items=range(8))
    found = coordinate_newton(c.adjacency, l2, 1e-9, 1000)
    p = c.pairs
    exact = newton(
        Rows(8, p.left, p.right), LogisticRows(p.left_points, p.total), l2, 1e-12, 100, votes=c.adjacency.sums[1]
    )
    assert found.converged
    assert_allclose(found.scores, exact.scores - exact.scores.mean(), atol=1e-6)
    assert found.gap <= 1e-9
    assert not coordinate_newton(c.adjacency, l2, 1e-12, 2).converged
    started = coordinate_newton(c.adjacency, l2, 1e-9, 1000, scores=exact.scores)
    assert started.n_iter < found.n_iter


def test_how_far_a_penalty_rules_is_how_scores_move_with_it():
    rows, loss, votes = problem(design=False, m=60)
    kept = np.array([True] * 5 + [False])
    for l2 in (1e-5, 1e-4):
        at = [
            newton(rows, loss, l2 * factor, 1e-13, 100, votes=votes).scores
            for factor in (math.exp(-0.01), 1.0, math.exp(0.01))
        ]
        own = at[1][kept] - at[1][kept].mean()
        moved = (at[2] - at[0])[kept] / 0.02
        assert penalty_share(rows, loss, l2, at[1], np.empty(0), kept) == pytest.approx(
            -(own @ moved) / (own @ own), rel=1e-2
        )
    assert penalty_share(rows, loss, 10.0, at[1], np.empty(0), kept) == 0.0
    assert penalty_share(rows, loss, 1e-5, np.ones(N), np.empty(0), kept) == 0.0
    assert penalty_share(rows, loss, 1e-5, at[1], np.empty(0), kept & False) == 0.0


@pytest.mark.parametrize(("n", "single"), [(6, False), (5, True)])
def test_strengths_are_cached_narrowly_beyond_so_many_items_with_the_same_end(n, single, monkeypatch):
    rng = np.random.default_rng(7)
    winner = rng.integers(0, 6, 80)
    c = Comparisons.from_arrays(winner, (winner + rng.integers(1, 6, 80)) % 6, items=range(6))
    monkeypatch.setattr(solvers, "SINGLE", n)
    kinds = []
    real = solvers.coordinate_sweep

    def sweep(start, partner, total, points, ridge, items, scores, strength, steps):
        kinds.append(strength.dtype)
        return real(start, partner, total, points, ridge, items, scores, strength, steps)

    monkeypatch.setattr(solvers, "coordinate_sweep", sweep)
    found = coordinate_newton(c.adjacency, 0.05, 1e-5, 500)
    assert set(kinds) == {np.dtype(np.float32 if single else np.float64)}
    p = c.pairs
    exact = newton(
        Rows(6, p.left, p.right), LogisticRows(p.left_points, p.total), 0.05, 1e-12, 100, votes=c.adjacency.sums[1]
    )
    assert_allclose(found.scores, exact.scores - exact.scores.mean(), atol=1e-5)


def test_sweeps_begin_near_the_odds_of_each_items_wins_and_are_counted():
    rng = np.random.default_rng(8)
    winner = rng.integers(0, 6, 80)
    c = Comparisons.from_arrays(winner, (winner + rng.integers(1, 6, 80)) % 6, items=range(6))
    points, votes = c.adjacency.sums
    none = coordinate_newton(c.adjacency, 0.05, 1e-9, 0)
    start = 1.2 * np.log((points + 1) / (votes - points + 1))
    assert_allclose(none.scores, start - start.mean())
    assert (none.n_iter, none.converged, none.solver, none.gap) == (0, False, "coordinate", np.inf)
    assert len(none.extras) == 0
    given = coordinate_newton(c.adjacency, 0.05, 1e-9, 0, scores=np.arange(6.0))
    assert_allclose(given.scores, np.arange(6.0) - 2.5)
    one = coordinate_newton(c.adjacency, 0.05, 1e-9, 1)
    assert one.n_iter == 1
    assert not one.converged
    whole = coordinate_newton(c.adjacency, 0.05, 1e-9, 500)
    p = c.pairs
    at = evaluate(Rows(6, p.left, p.right), LogisticRows(p.left_points, p.total), 0.05, whole.scores, np.empty(0))
    assert whole.gap == pytest.approx(np.max(np.abs(at.slopes) / votes), abs=1e-12)


def test_gaps_are_slopes_over_votes():
    rows, loss, votes = problem()
    x = np.random.default_rng(9).normal(size=N)
    point = evaluate(rows, loss, 0.3, x, np.array([0.2, -0.1]))
    own, effects = np.max(np.abs(point.slopes) / votes), np.max(np.abs(point.extra_slopes)) / (votes.sum() / 2)
    assert solvers._gap(point, votes) == pytest.approx(max(own, effects))
    assert solvers._yardstick(np.array([0.0, 2.0, 1e-9])).tolist() == [1.0, 2.0, 1e-9]
    du, de = np.array([0.5, -2.0, 0, 0, 0, 0]), np.array([0.1, 0.3])
    assert solvers._longest(rows, du, de) == pytest.approx(max(2.0, np.abs(rows.design @ de).max()))
    bare = Rows(N, rows.left, rows.right)
    assert solvers._longest(bare, 0 * du, np.array([-0.7])) == 0.7
    tied = np.array([0.1, 0.3, -9.0])  # two effects, and log ν
    assert solvers._longest(rows, du, tied) == 9.0


@pytest.mark.parametrize("how", ["dense", "banded", "pcg"])
def test_newton_directions_are_those_of_the_whole_matrix(how):
    for ties in (False, True):
        rows, loss, _ = problem(ties=ties)
        rng = np.random.default_rng(10)
        point = evaluate(rows, loss, 0.3, rng.normal(size=N), 0.3 * rng.normal(size=2 + ties))
        du, de = solvers._direction(point, LinearSolver(rows, 0.6, how), 1e-13)
        matrix = 0.6 * np.eye(N)
        for a, b, c in zip(rows.left, rows.right, point.curvature, strict=True):
            matrix[[a, b, a, b], [a, b, b, a]] += [c, c, -c, -c]
        whole = np.block([[matrix, point.border], [point.border.T, point.corner]])
        expected = -np.linalg.solve(whole, np.concatenate([point.slopes, point.extra_slopes]))
        assert_allclose(np.concatenate([du, de]), expected, rtol=1e-5, atol=1e-8)
