"""Scores with judges integrated out: each step of the search by itself, and the loss around its end."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize

from podium.pairwise._fit import marginal
from podium.pairwise._fit.judges import JudgeVotes, integrate
from podium.pairwise._fit.marginal import LEAN, LEAN_SD, MAX_SD, MIN_SD, SLOPE_SD, _Newton, _Profile, fit_judges

from suites.crowds import crowd

N = 4
L2 = 0.15


@pytest.fixture(scope="module")
def votes():
    c, _ = crowd(
        N, [1.6, 0.2, 1.0, -0.5, 1.3, 0.8], 25, np.random.default_rng(1), leans=[0.9, -0.8, 0.5, 0.0, -0.3, 1.1]
    )
    return JudgeVotes.of(c, by_side=True, worth=1.0)


def objective(votes, scores, extras, centre=None):
    return L2 * scores @ scores - integrate(votes, scores, np.array(extras), dense=False, centre=centre).log_likelihood


@pytest.mark.parametrize("dense", [True, False])
@pytest.mark.parametrize(
    ("extras", "free"),
    [((0.0, 0.0, 0.0), ()), ((0.3, 0.6, 0.4), ()), ((0.0, 0.6, 0.0), (LEAN,)), ((0.2, 0.5, 0.0), (SLOPE_SD,)),
     ((0.0, 0.0, 0.5), (LEAN, LEAN_SD)), ((0.0, 0.5, 0.5), (LEAN, SLOPE_SD, LEAN_SD))],
)  # fmt: skip
def test_at_the_end_every_way_leads_up(votes, extras, free, dense, monkeypatch):
    if not dense:
        monkeypatch.setattr(marginal, "MAX_DENSE_WORK", 0.0)
    start = np.array([0.1, -0.2, 0.2, -0.1])
    found = fit_judges(votes, L2, scores=start, extras=np.array(extras), free=free, tol=1e-7, max_iter=200)
    assert found.converged
    assert found.left <= 1e-7 or not dense
    assert len(found.integral.variance) == (N + 3 if dense else 0)
    held = [k for k in range(3) if k not in free]
    assert_allclose(found.extras[held], np.array(extras)[held])
    assert_allclose(found.integral.scores, found.scores)
    assert found.objective == pytest.approx(objective(votes, found.scores, found.extras), abs=2e-4)

    def loss(x):
        at = np.array(extras, dtype=float)
        at[list(free)] = x[N:]
        return objective(votes, x[:N], at) if np.all(at[1:] >= 0) else 1e9

    at = np.array([*found.scores, *found.extras[list(free)]])
    for step in np.diag([1e-3] * N + [1e-2] * len(free)):  # a parabola along each has its top here
        low, middle, high = loss(at - step), loss(at), loss(at + step)
        assert low - 2 * middle + high > 0
        assert abs(low - high) / (low - 2 * middle + high) < 0.5


@pytest.mark.parametrize(("items", "work", "dense"), [(N, 1e9, True), (N - 1, 1e9, False), (N, 1.0, False)])
def test_a_matrix_is_made_where_items_and_work_allow_it(votes, items, work, dense, monkeypatch):
    monkeypatch.setattr(marginal, "MAX_DENSE_ITEMS", items)
    monkeypatch.setattr(marginal, "MAX_DENSE_WORK", work)
    found = fit_judges(votes, L2, scores=np.zeros(N), extras=np.zeros(3), free=(), tol=1e-6, max_iter=50)
    assert bool(len(found.integral.variance)) == dense
    monkeypatch.setattr(marginal, "MAX_DENSE_WORK", votes.dense_work)
    monkeypatch.setattr(marginal, "MAX_DENSE_ITEMS", N)
    found = fit_judges(votes, L2, scores=np.zeros(N), extras=np.zeros(3), free=(), tol=1e-6, max_iter=50)
    assert len(found.integral.variance)


@pytest.mark.parametrize("way", [_Newton, _Profile])
def test_slopes_about_other_centres_are_those_asked_for(votes, way):
    centre = np.array([1.4, 0.3, 1.0, -0.2, 1.2, 1.0])
    extras = np.array([0.2, 0.3, 0.2])
    found = way(votes, L2, (), centre).run(np.zeros(N), extras, 1e-8, 100)
    assert_allclose(found.integral.centre, centre)
    best = minimize(lambda x: objective(votes, x, extras, centre), np.zeros(N), method="BFGS", options={"gtol": 1e-5})
    assert_allclose(found.scores, best.x, atol=1e-3)


@pytest.mark.parametrize("way", [_Newton, _Profile])
def test_steps_are_counted_and_a_search_cut_short_has_not_converged(votes, way):
    extras = np.array([0.0, 0.6, 0.0])
    whole = way(votes, L2, (), None).run(np.full(N, 0.5) * [3, -3, 1, -1], extras, 1e-6, 100)
    assert whole.converged
    assert whole.left <= 1e-6
    assert whole.n_iter >= 3
    before = math.inf
    for most in (1, 2):
        short = way(votes, L2, (), None).run(np.full(N, 0.5) * [3, -3, 1, -1], extras, 1e-6, most)
        assert short.n_iter == most
        assert not short.converged
        assert short.left > 1e-6
        assert whole.objective <= short.objective + 1e-6
        assert short.objective < before
        before = short.objective
    none = way(votes, L2, (), None).run(np.zeros(N), extras, 1e-6, 0)
    assert (none.n_iter, none.left, none.converged) == (0, math.inf, False)
    assert none.objective == pytest.approx(objective(votes, np.zeros(N), extras), abs=1e-6)


def test_spreads_of_judges_who_are_alike_or_contradict_each_other_end_where_their_range_does():
    pairs = [(i, j) for i in range(3) for j in range(3) if i != j]
    c, _ = crowd(3, [1.0] * 8, 6, np.random.default_rng(0), leans=[0.0] * 8)
    left, right = np.tile(np.array(pairs, dtype=np.int32), (8, 1)).T
    alike = JudgeVotes.of(c, by_side=True, worth=1.0)
    alike = type(alike)(
        **{name: getattr(alike, name) for name in alike.__slots__}
        | {"points": np.where(alike.left < alike.right, 0.6, 0.4) * alike.total}
    )
    found = fit_judges(
        alike, L2, scores=np.zeros(3), extras=np.array([0.0, 0.4, 0.4]), free=(LEAN, SLOPE_SD, LEAN_SD), tol=1e-6,
        max_iter=100,
    )  # fmt: skip
    assert_allclose(found.extras[1:], MIN_SD)
    outcome = np.tile(np.where(left < right, 1, -1)[: len(pairs)], 8) * np.repeat([1, -1], 4 * len(pairs))
    judge = np.repeat(np.arange(8), len(pairs)).astype(np.int32)
    against = type(c)(c.items, left, right, outcome=outcome.astype(np.int8), judge=judge, judges=c.judges, sided=True)
    against = JudgeVotes.of(against, by_side=False, worth=5.0)
    found = fit_judges(
        against, 1e-3, scores=np.array([1.0, 0.0, -1.0]), extras=np.array([0.0, 3.0, 0.0]), free=(SLOPE_SD,), tol=1e-6,
        max_iter=100,
    )  # fmt: skip
    assert found.extras[SLOPE_SD] == MAX_SD


@pytest.mark.parametrize(
    ("free", "extras", "push", "stuck"),
    [((SLOPE_SD,), (0, MIN_SD, 0), 1.0, [True]), ((SLOPE_SD,), (0, MIN_SD, 0), -1.0, [False]),
     ((SLOPE_SD,), (0, MAX_SD, 0), -1.0, [True]), ((SLOPE_SD,), (0, MAX_SD, 0), 1.0, [False]),
     ((LEAN, LEAN_SD), (-3.0, 1.0, 0.5), 1.0, [False, False]), ((LEAN,), (9.0, 1, 1), -1.0, [False]),
     ((SLOPE_SD, LEAN_SD), (0, 1.0, MIN_SD), 1.0, [False, True]), ((SLOPE_SD,), (0, MIN_SD, 0), 0.0, [False]),
     ((SLOPE_SD,), (0, MAX_SD, 0), 0.0, [False])],
)  # fmt: skip
def test_stuck_is_a_spread_pushed_beyond_an_end_of_its_range(votes, free, extras, push, stuck):
    search = _Newton(votes, L2, free, None)
    assert search._stuck(np.array(extras, dtype=float), np.full(N + 3, push)).tolist() == stuck


def test_extras_are_searched_as_the_lean_and_logs_of_spreads():
    extras = np.array([0.3, 0.5, 2.0])
    assert marginal._units(extras).tolist() == [1.0, 0.5, 2.0]
    assert_allclose(marginal._moved(extras, np.array([-1.0, math.log(3), 0.0])), [-0.7, 1.5, 2.0])
    assert_allclose(marginal._moved(extras, np.array([0.0, -9.0, 9.0])), [0.3, MIN_SD, MAX_SD])
    assert_allclose(
        marginal._moved(np.array([0.0, 0.0, 0.5]), np.array([0.2, 0.0, -0.1])), [0.2, 0, 0.5 * math.exp(-0.1)]
    )


def test_the_longest_change_is_that_of_a_score_or_an_extra(votes):
    at = integrate(votes, np.zeros(N), np.array([0.1, 0.5, 0.5]), dense=False)
    for scores, extras, longest in (
        ([0, 0, -2, 1], [0.1, 0.5, 0.5], 2.0), ([0, 0.1, 0, 0], [-0.9, 0.5, 0.5], 1.0), ([0] * 4, [0.1, 0.5, 0.8], 0.3)
    ):  # fmt: skip
        there = integrate(votes, np.array(scores, dtype=float), np.array(extras), dense=False)
        assert marginal._longest(at, there) == pytest.approx(longest)


def test_a_step_is_newtons_and_promises_what_a_parabola_does(votes):
    search = _Newton(votes, L2, (LEAN, SLOPE_SD), None)
    near = fit_judges(
        votes, L2, scores=np.zeros(N), extras=np.array([0.0, 0.5, 0.0]), free=(LEAN, SLOPE_SD), tol=1e-8, max_iter=99
    )
    scores = near.scores + 0.02 * np.array([1.0, -1.0, 0.5, -0.4])
    extras = near.extras + np.array([0.02, 0.03, 0.0])
    here = integrate(votes, scores, extras, dense=True)
    move = search._direction(here)
    assert search.definite
    down, hessian = here.slopes_of_loss(), here.hessian()
    down[:N] += 2 * L2 * scores
    hessian[:N, :N] += 2 * L2 * np.eye(N)
    kept = [0, 1, 2, 3, N + LEAN, N + SLOPE_SD]
    scale = np.array([1, 1, 1, 1, 1, extras[SLOPE_SD]])
    slopes, matrix = down[kept] * scale, hessian[np.ix_(kept, kept)] * np.outer(scale, scale)
    matrix[-1, -1] += slopes[-1]
    shift = np.append(np.ones(N), [0, 0])  # a common shift is held by what the votes do not feel
    expected = np.linalg.solve(
        matrix + here.complete_hessian()[:N, :N].diagonal().mean() / N * np.outer(shift, shift), -slopes
    )
    assert_allclose(move[kept], expected, rtol=1e-6, atol=1e-9)
    assert move[N + LEAN_SD] == 0
    assert search.promised == pytest.approx(-0.5 * slopes @ expected, rel=1e-6)


def test_a_step_is_four_at_most_in_scores_and_leans_and_one_in_logs_of_spreads(votes):
    search = _Newton(votes, L2, (LEAN, SLOPE_SD), None)
    here, _ = search._at(np.zeros(N), np.array([0.0, 0.5, 0.0]))
    for move, taken in (
        ([8.0, 0, 0, 0, 0, 0, 0], 0.5), ([0, -16.0, 0, 0, 0, 0, 0], 0.25), ([0, 0, 0, 0, 8.0, 0, 0], 0.5),
        ([0, 0, 0, 0, 0, -2.0, 0], 0.5), ([1.0, 0, 0, 0, 0, 0.5, 0], 1.0),
    ):  # fmt: skip
        there, _ = search._search(here, math.inf, np.array(move))
        assert_allclose(there.scores, taken * np.array(move[:N]))
        assert there.extras[LEAN] == pytest.approx(taken * move[N])
        assert there.extras[SLOPE_SD] == pytest.approx(0.5 * math.exp(taken * move[N + 1]))
        assert there.mode is here.mode
    assert search._search(here, -math.inf, np.ones(N + 3)) is None


def test_a_step_uphill_is_halved_until_it_goes_down(votes):
    search = _Newton(votes, L2, (), None)
    found = search.run(np.zeros(N), np.zeros(3), 1e-8, 50)
    here, value = search._at(found.scores + np.array([0.1, 0, 0, 0]), np.zeros(3))
    move = np.array([-0.8, 0, 0, 0, 0, 0, 0])  # eight times too far: an eighth to a quarter is better than here
    there, then = search._search(here, value, move)
    assert then < value
    share = (there.scores - here.scores)[0] / -0.8
    assert share in (0.25, 0.125)
    tried = [search._at(here.scores + part * move[:N], np.zeros(3))[1] < value for part in (1, 0.5, 0.25, 0.125)]
    assert share == 0.5 ** tried.index(True)


def test_from_a_saddle_the_way_is_the_steepest_one(votes):
    search = _Newton(votes, L2, (), None)
    here, _ = search._at(np.array([0.3, -0.2, 0.5, -0.6]), np.array([0.0, 2.0, 0.0]))
    way = search._escape(here)
    matrix = here.hessian()[:N, :N] + 2 * L2 * np.eye(N)
    values, _ = np.linalg.eigh(matrix)
    assert way[:N] @ matrix @ way[:N] == pytest.approx(values[0])
    assert np.linalg.norm(way) == pytest.approx(1.0)
    assert way[np.abs(way).argmax()] > 0
    assert way[N:].tolist() == [0.0] * 3


def contradicting():
    """Two judges of opposite opinion on each of two items, sure of it."""
    c, _ = crowd(2, [1.0] * 4, 10, np.random.default_rng(0))
    first = (c.left == 0) == (c.judge < 2)
    c = type(c)(
        c.items, c.left, c.right, outcome=np.where(first, 1, -1).astype(np.int8), judge=c.judge, judges=c.judges
    )
    return JudgeVotes.of(c, by_side=False, worth=1.0)


def test_at_a_saddle_a_search_goes_on():
    votes = contradicting()
    found = fit_judges(votes, 0.5, scores=np.zeros(2), extras=np.array([0.0, 2.0, 0.0]), free=(), tol=1e-7, max_iter=99)
    assert found.converged
    d = np.linspace(0, 4, 201)
    lost = [
        0.5 * x * x / 2
        - integrate(votes, np.array([x / 2, -x / 2]), np.array([0.0, 2.0, 0.0]), dense=False).log_likelihood
        for x in d
    ]
    assert min(lost) < lost[0] - 1, "equal scores are a saddle"
    assert np.ptp(found.scores) == pytest.approx(d[int(np.argmin(lost))], abs=0.03)
    assert found.objective == pytest.approx(min(lost), abs=1e-3)


def test_where_the_hessian_is_not_definite_that_with_the_judges_known_steps_in():
    votes = contradicting()
    search = _Newton(votes, 0.01, (SLOPE_SD,), None)
    here, value = search._at(np.array([0.02, -0.02]), np.array([0.0, 2.0, 0.0]))
    assert np.linalg.eigvalsh(here.hessian()[:2, :2] + 0.02 * np.eye(2))[0] < 0
    move = search._direction(here)
    assert not search.definite
    down = here.slopes_of_loss()[:2] + 0.02 * here.scores
    known = here.complete_hessian()[:2, :2]
    matrix = known + 0.02 * np.eye(2) + known.diagonal().mean() / 2
    assert_allclose(move[:2], -np.linalg.solve(matrix, down), rtol=1e-6)
    slope = 2.0 * here.slopes_of_loss()[2 + SLOPE_SD]
    own = abs(4.0 * here.complete_hessian()[2 + SLOPE_SD, 2 + SLOPE_SD] + slope) + 1.0
    assert move[2 + SLOPE_SD] == pytest.approx(-slope / own, rel=1e-6)
    assert search._search(here, value, move)[1] < value


@pytest.mark.parametrize("way", [_Newton, _Profile])
def test_a_side_that_decides_all_votes_ends_the_search(votes, way):
    always = type(votes)(**{name: getattr(votes, name) for name in votes.__slots__} | {"points": votes.total})
    found = way(always, L2, (LEAN,), None).run(np.zeros(N), np.zeros(3), 1e-6, 200)
    assert found.converged
    if way is _Newton:
        assert found.extras[LEAN] > 12.0
        assert found.left == 0.0
        assert found.n_iter < 30
    else:
        assert found.extras[LEAN] == 5.0


def test_conjugate_gradients_take_newtons_step_where_judges_are_alike(votes):
    search = _Profile(votes, L2, (), None)
    scores = np.array([0.5, -0.3, 0.2, -0.6])
    here = search._at(scores, np.array([0.4, 0.0, 0.0]))
    full = integrate(votes, scores, np.array([0.4, 0.0, 0.0]), dense=True)
    down = full.slopes_of_loss()[:N] + 2 * L2 * scores
    matrix = full.hessian()[:N, :N] + 2 * L2 * np.eye(N)
    assert_allclose(search._direction(here), -np.linalg.solve(matrix, down), rtol=1e-3)


@pytest.mark.parametrize("extras", [(0.2, 0.3, 0.0), (0.2, 0.0, 0.3), (0.2, 0.2, 0.2)])
def test_conjugate_gradients_take_what_judges_have_in_common_to_first_order(votes, extras):
    search = _Profile(votes, L2, (), None)
    scores = np.array([0.5, -0.3, 0.2, -0.6])
    here = search._at(scores, np.array(extras))
    full = integrate(votes, scores, np.array(extras), dense=True)
    down = full.slopes_of_loss()[:N] + 2 * L2 * scores
    louis, known = full.hessian()[:N, :N], full.complete_hessian()[:N, :N]
    expected = -np.linalg.solve(louis + 2 * L2 * np.eye(N), down)
    without = -np.linalg.solve(known + 2 * L2 * np.eye(N), down)
    found = search._direction(here)
    assert np.linalg.norm(found - expected) < 0.25 * np.linalg.norm(without - expected)


def test_a_search_that_finds_no_descent_has_ended_where_little_was_promised(votes, monkeypatch):
    extras = np.array([0.0, 0.4, 0.0])
    best = _Newton(votes, L2, (), None).run(np.zeros(N), extras, 1e-9, 100)
    monkeypatch.setattr(_Newton, "_search", lambda *_: None)
    near = _Newton(votes, L2, (), None).run(best.scores, extras, 1e-12, 100)
    assert (near.left, near.n_iter, near.converged) == (0.0, 0, True)
    search = _Newton(votes, L2, (), None)
    far = search.run(np.array([0.5, -0.5, 0.3, -0.3]), extras, 1e-9, 100)
    assert not far.converged
    assert far.n_iter == 0
    move = search._direction(far.integral)
    assert far.left == pytest.approx(np.abs(move).max())


def test_without_any_factor_a_step_goes_downhill(votes, monkeypatch):
    search = _Newton(votes, L2, (LEAN, SLOPE_SD), None)
    here, _ = search._at(np.array([0.5, -0.5, 0.3, -0.3]), np.array([0.2, 0.4, 0.0]))
    slopes = here.slopes_of_loss()
    slopes[:N] += 2 * L2 * here.scores
    slopes[N:] *= [1.0, 0.4, 0.0]

    def fails(matrix):
        raise np.linalg.LinAlgError

    monkeypatch.setattr(np.linalg, "cholesky", fails)
    assert_allclose(search._direction(here), -slopes / (1 + np.abs(slopes)))


def test_conjugate_gradients_that_find_no_descent_end_where_they_are(votes, monkeypatch):
    monkeypatch.setattr(marginal, "HALVINGS", 0)
    start = np.array([0.5, -0.5, 0.3, -0.3])
    found = _Profile(votes, L2, (), None)._scores(start, np.array([0.0, 0.4, 0.0]), 1e-9, 50)
    assert (found.n_iter, found.left, found.converged) == (0, 1e-3, True)
    assert found.scores.tolist() == start.tolist()


def test_a_step_by_conjugate_gradients_is_taken_whole_unless_it_is_longer_than_four(votes):
    best = _Profile(votes, L2, (), None).run(np.zeros(N), np.zeros(3), 1e-9, 100)
    for size in (0.01, 0.2):
        start = best.scores + size * np.array([1.0, -1.0, 0.5, -0.5])
        search = _Profile(votes, L2, (), None)
        move = search._direction(search._at(start, np.zeros(3)))
        one = search._scores(start, np.zeros(3), 1e-12, 1)
        assert_allclose(one.scores, start + move, atol=1e-6)
        assert one.left == pytest.approx(np.abs(move).max(), rel=1e-5)
    far = np.array([12.0, -12.0, 6.0, -6.0])
    search = _Profile(votes, L2, (), None)
    one = search._scores(far, np.zeros(3), 1e-12, 1)
    assert 0 < np.abs(one.scores - far).max() <= 4.0 + 1e-9
