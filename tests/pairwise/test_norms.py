"""Hard limits by their multipliers, on a loss whose penalised optimum is a linear system: against a general solver."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.optimize
from numpy.testing import assert_allclose
from scipy.optimize import minimize

from podium.errors import ConvergenceError
from podium.pairwise._fit.feature_solver import FeatureSolution, Place
from podium.pairwise._fit.norms import _Search, _shortest, within_norms

N, D = 5, 2


@pytest.fixture(scope="module")
def problem():
    """½‖u − target‖² weighted, with u = X w + r; and what solves it with penalties, in closed form."""
    rng = np.random.default_rng(0)
    x, target, weight = rng.normal(size=(N, D)), rng.normal(size=N), rng.uniform(0.5, 2.0, N)

    def loss(w, r):
        return 0.5 * weight @ (x @ w + r - target) ** 2

    def solve(penalties, start):
        whole = np.hstack([x, np.eye(N)])
        ridge = np.diag([2 * penalties[0]] * D + [2 * penalties[1]] * N)
        best = np.linalg.solve(whole.T @ (weight[:, None] * whole) + ridge, whole.T @ (weight * target))
        return FeatureSolution(Place(best[:D], best[D:], np.empty(0)), np.empty(0), 1, "dense", 0.0, True)

    return SimpleNamespace(x=x, target=target, loss=loss, solve=solve, zero=loss(np.zeros(D), np.zeros(N)))


def best_within(problem, norms):
    """By SLSQP."""
    sides = [{"type": "ineq", "fun": lambda t: norms[0] ** 2 - t[:D] @ t[:D]},
             {"type": "ineq", "fun": lambda t: norms[1] ** 2 - t[D:] @ t[D:]}]  # fmt: skip
    found = [
        minimize(lambda t: problem.loss(t[:D], t[D:]), start, method="SLSQP", constraints=sides,
                 options={"ftol": 1e-15, "maxiter": 500}).fun
        for start in (np.full(N + D, 1e-3), np.full(N + D, -1e-2))
    ]  # fmt: skip
    return min(found)


@pytest.mark.parametrize(
    ("norms", "met"),
    [((10.0, 10.0), ()), ((0.1, 10.0), ()), ((10.0, 0.3), (1,)), ((0.2, 0.3), (0, 1)), ((0.05, 0.05), (0, 1)),
     ((1e-3, 0.8), (0, 1))],
)  # fmt: skip
def test_the_least_loss_within_the_limits_is_found(problem, norms, met):
    found = within_norms(problem.solve, problem.x, norms, problem.zero)
    place = found.solution.place
    assert found.met == met
    lengths = np.linalg.norm(place.weights), np.linalg.norm(place.residuals)
    assert lengths[0] <= norms[0] * (1 + 1e-6)
    assert lengths[1] <= norms[1] * (1 + 1e-6)
    for k in met:
        assert lengths[k] == pytest.approx(norms[k], rel=1e-6)
    assert problem.loss(place.weights, place.residuals) == pytest.approx(best_within(problem, norms), abs=1e-5)
    if met:
        again = problem.solve(found.penalties, None).place
        assert_allclose(again.weights, place.weights, atol=1e-8)
        assert (found.penalties[0] > 1e-6) == (0 in met)


def test_a_loss_without_an_optimum_is_not_taken_for_free(problem):
    """Where the search for the least loss of all does not end, limits are met by their multipliers."""
    seen = []

    def solve(penalties, start):
        found = problem.solve(penalties, start)
        seen.append(start)
        return found if max(penalties) > 1e-3 else SimpleNamespace(place=found.place, converged=False)

    found = within_norms(solve, problem.x, (0.2, 0.3), problem.zero)
    assert found.met == (0, 1)
    assert seen[0] is None
    assert seen[1] is None, "not from where a search did not end"
    assert any(start is not None for start in seen)


@pytest.mark.parametrize("norm", [0.05, 0.3, 50.0])
@pytest.mark.parametrize("repeated", [False, True])
def test_the_shortest_residuals_are_those_of_weights_within_their_limit(problem, norm, repeated):
    x = np.column_stack([problem.x, problem.x[:, :1]]) if repeated else problem.x
    weights, rest = _shortest(x, problem.target, norm)
    assert_allclose(x @ weights + rest, problem.target)
    assert np.linalg.norm(weights) <= norm * (1 + 1e-9)
    free = np.linalg.lstsq(x, problem.target, rcond=None)[0]
    if norm == 50.0:
        assert_allclose(weights, free, atol=1e-9)
    else:
        assert np.linalg.norm(weights) == pytest.approx(norm)
        # the slope of the squares there points along the weights: a multiplier times them
        slope = x.T @ rest
        assert_allclose(slope / np.linalg.norm(slope), weights / np.linalg.norm(weights), atol=1e-6)


def test_without_features_all_is_residuals():
    weights, rest = _shortest(np.empty((3, 0)), np.array([1.0, 2.0, 3.0]), 0.5)
    assert (weights.tolist(), rest.tolist()) == ([], [1.0, 2.0, 3.0])


def test_a_multiplier_that_stands_for_none_costs_next_to_nothing():
    def floor(norms, loss):
        return math.exp(_Search(None, norms, loss).floor)

    assert floor((3.0, 4.0), 50.0) == pytest.approx(1e-9 * 50.0 / 25.0)
    assert floor((1e4, 1e4), 50.0) == pytest.approx(1e-13 * 50.0)
    assert floor((1.0, 1.0), 0.0) == pytest.approx(1e-300)


@pytest.mark.parametrize("begin", [-8.0, -1.0, 2.0, 3.5, 9.0])
@pytest.mark.parametrize("at", [-4.0, 2.0, 7.3])
def test_a_root_is_found_from_either_side(at, begin):
    search = _Search(None, (1.0, 1.0), 1.0)
    search.floor = -10.0
    asked = []

    def falling(x):
        asked.append(x)
        return at - x

    assert search._root(falling, begin) == pytest.approx(at, abs=1e-9)
    assert len(set(asked)) == len(asked)
    assert max((abs(a - b) for a, b in zip(sorted(asked), sorted(asked)[1:], strict=False)), default=0.0) <= 3.0 + 1e-9
    assert search._root(lambda x: -1.0 - x * 0, begin) == -10.0, "kept everywhere: the floor"
    assert search._root(lambda x: -20.0 - x, -30.0) == -10.0
    search.floor = 0.0
    assert search._root(lambda x: 0.0 * x, 2.0) == 2.0, "met where it begins"
    assert search._root(lambda x: 3.0 - x if x < 3.0 else 0.0, 2.0) == pytest.approx(3.0)


def test_limits_beyond_all_measure_are_refused():
    search = _Search(None, (1.0, 1.0), 1.0)
    with pytest.raises(ConvergenceError, match="these limits ask for a penalty beyond all measure"):
        search._root(lambda x: 1.0, 0.0)
    high = []
    assert search._root(lambda x: high.append(x) or (1.0 if x < 27.0 else -1.0), 0.0) == pytest.approx(27.0, abs=1e-6)


def test_lengths_are_told_as_logarithms_over_their_limits(problem):
    search = _Search(problem.solve, (0.5, 0.25), problem.zero)
    place = problem.solve((math.exp(0.3), math.exp(-0.2)), None).place
    expected = np.log([np.linalg.norm(place.weights) / 0.5, np.linalg.norm(place.residuals) / 0.25])
    assert_allclose(search.excess((0.3, -0.2)), expected)
    assert list(search.found) == [(0.3, -0.2)]
    found = search.result((0.3, -0.2), (1,))
    assert found.penalties == pytest.approx((math.exp(0.3), math.exp(-0.2)))
    assert found.met == (1,)
    assert found.solution is search.found[0.3, -0.2]
    for k in (0, 1):
        at = search.meet(k, (0.3, -0.2))
        assert at[1 - k] == (0.3, -0.2)[1 - k]
        assert search.excess(at)[k] == pytest.approx(0.0, abs=1e-8)


def test_where_both_at_once_are_not_found_one_is_found_inside_the_other(problem, monkeypatch):
    norms = (0.2, 0.3)
    whole = within_norms(problem.solve, problem.x, norms, problem.zero)
    for wrong in ([5.0, 5.0], [-1e3, 0.0], [0.0, 1e3], [np.log(whole.penalties[0]), 0.0]):
        monkeypatch.setattr(scipy.optimize, "root", lambda *_, wrong=wrong, **__: SimpleNamespace(x=np.array(wrong)))
        found = within_norms(problem.solve, problem.x, norms, problem.zero)
        assert found.penalties == pytest.approx(whole.penalties, rel=1e-5)
    monkeypatch.undo()
    begun = []
    real = scipy.optimize.root
    monkeypatch.setattr(scipy.optimize, "root", lambda fun, x, **more: begun.append((x, more)) or real(fun, x, **more))
    met, meet = [], _Search.meet
    monkeypatch.setattr(_Search, "meet", lambda self, k, x: met.append(k) or meet(self, k, x))
    again = within_norms(problem.solve, problem.x, norms, problem.zero)
    assert met == [1, 0], "both at once are enough"
    ((start, more),) = begun
    search = _Search(problem.solve, norms, problem.zero)
    assert search.excess((float(start[0]), float(start[1])))[0] == pytest.approx(0.0, abs=1e-6)
    assert more == {"tol": 1e-10}
    assert again.penalties == pytest.approx(whole.penalties, rel=1e-9)
