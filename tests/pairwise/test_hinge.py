"""The hinge loss part by part: its value, its interior-point step, and the last steps to the exact optimum."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import linprog, minimize

from podium.pairwise._fit import hinge
from podium.pairwise._fit.feature_solver import FeatureProblem, Place
from podium.pairwise._fit.hinge import (
    HingeRows,
    _Finish,
    _least_squares,
    _longest,
    _solved,
    _State,
    _Steps,
    solve_hinge,
)
from podium.pairwise._fit.solvers import Rows

N, D, M = 5, 2, 14
PENALTIES = (0.3, 0.4)


def problem(design=0, seed=0, ties=True):
    rng = np.random.default_rng(seed)
    left = rng.integers(0, N, M).astype(np.int32)
    right = ((left + rng.integers(1, N, M)) % N).astype(np.int32)
    won, lost = rng.uniform(0.5, 2.0, (2, M))
    if not ties:
        lost = np.where(rng.random(M) < 0.5, 0.0, lost)
        won = np.where(lost > 0, 0.0, won)
    rows = Rows(N, left, right, rng.normal(size=(M, design)) if design else None)
    loss = HingeRows(won, lost)
    votes = np.bincount(left, loss.total, N) + np.bincount(right, loss.total, N)
    return FeatureProblem(rows, loss, rng.normal(size=(N, D)), votes)


def table(p):
    """The whole design: weights, residuals, effects."""
    rows, eye = p.rows, np.eye(N)
    columns = [p.features[rows.left] - p.features[rows.right], eye[rows.left] - eye[rows.right]]
    return np.hstack([*columns, *([] if rows.design is None else [rows.design])])


def objective(p, theta):
    margin = table(p) @ theta
    loss = p.loss.won @ np.maximum(1 - margin, 0) + p.loss.lost @ np.maximum(1 + margin, 0)
    return loss + PENALTIES[0] * theta[:D] @ theta[:D] + PENALTIES[1] * theta[D : D + N] @ theta[D : D + N]


def flat(place):
    return np.concatenate([place.weights, place.residuals, place.extras])


def test_the_loss_has_a_slope_on_the_wrong_side_of_1():
    rows = HingeRows(np.array([2.0, 0.0, 1.0]), np.array([0.0, 3.0, 1.0]))
    margin = np.array([0.5, -0.2, 2.0])
    value, slope, bend, *own = rows(margin, np.empty(0))
    assert value == pytest.approx(2.0 * 0.5 + 3.0 * 0.8 + 0.0 + 1.0 * 3.0)
    assert slope.tolist() == [-2.0, 3.0, 1.0]
    assert bend.tolist() == [0.0] * 3
    assert [each.shape for each in own] == [(0,), (3, 0), (0, 0)]
    assert rows.total.tolist() == [2.0, 3.0, 2.0]
    at = rows(np.array([1.0, -1.0, 1.0]), np.empty(0))
    assert at[1].tolist() == [0.0, 0.0, 1.0]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("ties", [True, False])
@pytest.mark.parametrize("design", [0, 1, 2])
def test_no_direction_leads_down_from_the_optimum(design, ties, seed):
    """Duals 0 ≤ α ≤ c, at a bound for votes off 1, that hold all parameters where they are: a linear programme."""
    p = problem(design, seed, ties)
    found = solve_hinge(p, PENALTIES, 200)
    assert found.converged
    assert found.gap <= 1e-9
    assert found.solver == "dense"
    assert found.n_iter >= 1
    assert found.curvature.tolist() == [0.0] * M
    theta = flat(found.place)
    margin = table(p) @ theta
    pull = np.concatenate([2 * PENALTIES[0] * theta[:D], 2 * PENALTIES[1] * theta[D : D + N], np.zeros(design)])
    signs = np.concatenate([np.ones(M), -np.ones(M)])
    ahead, cost = signs * np.tile(margin, 2), np.concatenate([p.loss.won, p.loss.lost])
    low, high = np.where(ahead < 1 - 1e-7, cost, 0.0), np.where(ahead > 1 + 1e-7, 0.0, cost)
    signed = signs[:, None] * np.tile(table(p), (2, 1))
    assert linprog(np.zeros(2 * M), A_eq=signed.T, b_eq=pull, bounds=np.column_stack([low, high])).status == 0
    near = minimize(lambda x: objective(p, x), theta, method="Nelder-Mead", options={"maxfev": 200})
    assert near.fun >= objective(p, theta) - 1e-9


def steps_of(design=1, seed=0):
    return _Steps(problem(design, seed), PENALTIES)


def test_rows_are_votes_for_left_and_then_for_right():
    p = problem(1, ties=False)
    steps = _Steps(p, PENALTIES)
    assert steps.up.tolist() == np.flatnonzero(p.loss.won).tolist()
    assert steps.down.tolist() == np.flatnonzero(p.loss.lost).tolist()
    assert len(steps.up) + len(steps.down) == M
    assert steps.sign.tolist() == [1.0] * len(steps.up) + [-1.0] * len(steps.down)
    assert steps.cost.tolist() == [*p.loss.won[steps.up], *p.loss.lost[steps.down]]
    first = steps.first()
    assert set(first.slack) == {2.0}
    assert set(first.room) == {1.0}
    assert_allclose(first.dual, 0.5 * steps.cost)
    assert_allclose(first.rest, 0.5 * steps.cost)
    assert not flat(first.place).any()
    assert first.gap == pytest.approx(0.5 * steps.cost.sum() * 3.0)
    rng = np.random.default_rng(1)
    place = Place(rng.normal(size=D), rng.normal(size=N), rng.normal(size=1))
    margin = table(p) @ flat(place)
    pair = [*steps.up, *steps.down]
    assert_allclose(steps.along(place), steps.sign * margin[pair])
    values = rng.normal(size=M)
    expected = np.zeros(M)
    np.add.at(expected, pair, values)
    assert_allclose(steps.back(values), expected)
    pull = rng.uniform(size=M)
    slope = (steps.sign * pull) @ table(p)[pair]
    slope[:D] -= 2 * PENALTIES[0] * place.weights
    slope[D : D + N] -= 2 * PENALTIES[1] * place.residuals
    assert_allclose(steps.force(pull, place), slope)
    state = _State(place, *rng.uniform(0.5, 1.0, (4, M)))
    assert state.gap == pytest.approx(state.dual @ state.room + state.rest @ state.slack)
    off = max(state.gap, np.abs(steps.force(state.dual, place)).max()) / steps.cost.sum()
    assert steps.off(state) == pytest.approx(off)


@pytest.mark.parametrize("design", [0, 1])
def test_each_step_keeps_what_must_stay_positive_and_closes_the_gap(design):
    steps = steps_of(design)
    here = steps.first()
    gaps = [here.gap]
    for _ in range(7):
        there = steps.step(here)
        for name in ("slack", "room", "dual", "rest"):
            assert (getattr(there, name) > 0).all()
        assert_allclose(there.dual + there.rest, steps.cost)
        assert_allclose(there.room, there.slack + steps.along(there.place) - 1.0, atol=1e-9)  # feasible, and stays so
        gaps.append(there.gap)
        here = there
    assert gaps[-1] < 1e-4 * gaps[0]
    assert (np.diff(gaps) < 0).all()
    assert steps.off(here) < 1e-3


def test_how_far_a_step_may_go():
    one = np.array([1.0, 2.0])
    at = _State(None, one, one, one, one)
    whole = 1.0 / hinge.BACK
    up = np.array([1.0, 1.0])
    assert _longest(at, up, up, 0 * up) == (whole, whole)
    assert _longest(at, np.array([-2.0, 1.0]), up, 0 * up) == (0.5, whole)
    assert _longest(at, up, np.array([1.0, -8.0]), 0 * up) == (0.25, whole)
    assert _longest(at, up, up, np.array([-4.0, 0.0])) == (whole, 0.25)
    assert _longest(at, up, up, np.array([0.0, 4.0])) == (whole, 0.5)  # what the dual gains its rest loses


@pytest.mark.parametrize("design", [0, 1])
@pytest.mark.parametrize("count", [3, 9])
def test_the_last_systems_are_solved_as_near_as_can_be(count, design):
    rng = np.random.default_rng(2)
    root, columns, wanted = (
        rng.normal(size=(count, 6)),
        rng.normal(size=(count, design)),
        rng.normal(size=count + design),
    )
    x, left = _least_squares(root, columns, wanted)
    system = np.block([[root @ root.T, columns], [columns.T, np.zeros((design, design))]])
    best = np.linalg.lstsq(system, wanted, rcond=1e-12)[0]
    assert_allclose(x, best, atol=1e-8)
    assert_allclose(left, (wanted - system @ best)[:count], atol=1e-8)


def test_a_system_that_is_singular_has_its_shortest_solution():
    system = np.array([[2.0, 2.0], [2.0, 2.0]])
    assert_allclose(_solved(system, np.array([4.0, 4.0])), [1.0, 1.0])
    assert_allclose(_solved(np.array([[2.0, 0.0], [0.0, 4.0]]), np.array([2.0, 2.0])), [1.0, 0.5])


@pytest.mark.parametrize("design", [0, 1])
def test_places_go_with_their_duals_and_free_votes_are_at_1(design):
    p = problem(design)
    steps = _Steps(p, PENALTIES)
    rng = np.random.default_rng(3)
    dual = rng.uniform(0.0, 1.0, len(steps.cost)) * steps.cost
    finish = _Finish(steps, dual.copy(), np.full(design, 0.3))
    place = finish.place()
    pair = np.concatenate([steps.up, steps.down])
    slope = (steps.sign * dual) @ table(p)[pair]
    assert_allclose(place.weights, slope[:D] / (2 * PENALTIES[0]))
    assert_allclose(place.residuals, slope[D : D + N] / (2 * PENALTIES[1]))
    assert place.extras.tolist() == [0.3] * design
    chosen = np.array([1, 4, 20])
    rows, effects = finish._rows(chosen)
    signed = steps.sign[chosen, None] * table(p)[pair[chosen]]
    assert_allclose(rows, signed[:, : D + N])
    assert_allclose(effects, signed[:, D + N :])
    free = np.zeros(len(dual), dtype=bool)
    free[chosen] = True
    before = finish.dual.copy()
    blocked = finish._go(free)
    assert_allclose(finish.dual[~free], before[~free])
    assert (finish.dual >= 0).all()
    assert (finish.dual <= steps.cost).all()
    if blocked is None:
        assert_allclose(steps.along(finish.place())[chosen], 1.0, atol=1e-8)
    else:
        assert blocked in chosen
        assert finish.dual[blocked] in (0.0, steps.cost[blocked])


def test_effects_are_where_the_loss_of_these_scores_is_least():
    for seed in range(5):
        p = problem(1, seed)
        steps = _Steps(p, PENALTIES)
        rng = np.random.default_rng(seed)
        place = Place(rng.normal(size=D), rng.normal(size=N), np.array([9.0]))
        finish = _Finish(steps, 0.5 * steps.cost, np.array([9.0]))
        found = finish._with_best_effects(place).extras[0]

        def loss(e, p=p, place=place):
            return objective(p, flat(Place(place.weights, place.residuals, np.array([e]))))

        turns = np.linspace(-8, 8, 321)
        assert loss(found) <= min(loss(e) for e in turns) + 1e-9


def test_an_optimum_is_polished_by_the_votes_that_are_at_1():
    p = problem(1, 1)
    steps = _Steps(p, PENALTIES)
    here = steps.first()
    for _ in range(9):
        here = steps.step(here) or here
    rough = steps.off(here)
    place, least = steps.polished(here, rough)
    assert least <= 1e-11 < rough
    assert steps.off(place) == pytest.approx(least)
    exact = solve_hinge(p, PENALTIES, 200)
    assert objective(p, flat(place.place)) == pytest.approx(objective(p, flat(exact.place)), rel=1e-9)


@pytest.mark.parametrize("limit", ["cells", "flops"])
def test_too_many_votes_at_1_are_not_solved_for(limit, monkeypatch):
    p = problem()
    steps = _Steps(p, PENALTIES)
    finish = _Finish(steps, 0.5 * steps.cost, np.empty(0))
    edge = np.ones(len(steps.cost), dtype=bool)
    most = -1.0 if limit == "flops" else 1e9
    if limit == "cells":
        monkeypatch.setattr(hinge, "MAX_EDGE_CELLS", len(edge) * (D + N) - 1)
    assert list(finish.optima(edge, most)) == []
    if limit == "cells":
        monkeypatch.setattr(hinge, "MAX_EDGE_CELLS", len(edge) * (D + N))
        assert list(finish.optima(edge, most))


def test_a_search_cut_short_says_so(monkeypatch):
    p = problem(0, 2)
    monkeypatch.setattr(hinge, "MAX_ROUNDS", 0)  # no last steps
    short = solve_hinge(p, PENALTIES, 2)
    assert (short.n_iter, short.converged) == (2, False)
    whole = solve_hinge(p, PENALTIES, 200)
    assert whole.gap < 1e-7 < short.gap
    assert whole.n_iter < 30


@pytest.mark.parametrize("reason", ["none", "error"])
def test_a_step_that_rounding_no_longer_allows_ends_the_search(reason, monkeypatch):
    p = problem(0, 2)
    real, made = _Steps.step, []

    def step(self, at):
        made.append(1)
        if len(made) > 3:
            if reason == "error":
                raise np.linalg.LinAlgError
            return None
        return real(self, at)

    monkeypatch.setattr(_Steps, "step", step)
    found = solve_hinge(p, PENALTIES, 200)
    assert found.n_iter == 3
    assert found.converged, "by the votes at 1"


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("design", [0, 1])
def test_free_duals_go_to_their_optimum_or_to_the_first_bound_on_the_way(design, seed):
    """½αᵀGα − Σα with Σ s·α·z held: a linear system for the free ones, and how far each may go."""
    p = problem(design, seed)
    steps = _Steps(p, PENALTIES)
    rng = np.random.default_rng(seed)
    pair = np.concatenate([steps.up, steps.down])
    signed = steps.sign[:, None] * table(p)[pair]
    scale = 2 * np.repeat(PENALTIES, [D, N])
    gram = (signed[:, : D + N] / scale) @ signed[:, : D + N].T
    dual = rng.uniform(0.2, 0.8, len(pair)) * steps.cost
    ends = [frozenset((int(p.rows.left[k]), int(p.rows.right[k]))) for k in pair]
    order = rng.permutation(len(pair))
    chosen = np.sort([order[0], next(k for k in order if ends[k] != ends[order[0]])])  # two votes on two pairs
    free = np.isin(np.arange(len(pair)), chosen)
    extras = np.full(design, 0.3)
    effects = signed[:, D + N :]
    wanted = np.concatenate([1 - gram[chosen] @ dual - effects[chosen] @ extras, -(effects.T @ dual)])
    system = np.block(
        [[gram[np.ix_(chosen, chosen)], effects[chosen]], [effects[chosen].T, np.zeros((design, design))]]
    )
    move = np.linalg.solve(system, wanted)
    along, at = move[:2], dual[chosen]
    room = np.where(along > 0, (steps.cost[chosen] - at) / along, -at / along)
    finish = _Finish(steps, dual.copy(), extras.copy())
    blocked = finish._go(free)
    length = min(1.0, room.min())
    assert blocked == (None if length == 1.0 else chosen[int(np.argmin(room))])
    assert_allclose(finish.dual[chosen], at + length * along, atol=1e-8)
    assert_allclose(finish.extras, extras + length * move[2:], atol=1e-8)
    if blocked is not None:
        assert finish.dual[blocked] == (steps.cost[blocked] if along[int(np.argmin(room))] > 0 else 0.0)
