"""The solver of scores with features, part by part: systems against dense algebra, steps, penalties and their nodes."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from podium.pairwise._fit import feature_solver, penalties
from podium.pairwise._fit.effects import Effects, Following
from podium.pairwise._fit.feature_evidence import Evidence, inverse_of, prior_centre
from podium.pairwise._fit.feature_solver import (
    FeatureProblem,
    Place,
    _factor,
    _gradient,
    _walk,
    _with_extras,
    newton_step,
    row_basis,
    solve_features,
)
from podium.pairwise._fit.followed import FollowedEffects, _not_following
from podium.pairwise._fit.likelihoods import DavidsonRows, LapseRows, LogisticRows, SquaredRows
from podium.pairwise._fit.penalties import Climb, Node, choose_penalties, log_sds, possible_penalties
from podium.pairwise._fit.solvers import Rows

N, D, M = 7, 2, 40
PENALTIES = (0.4, 0.7)


def problem(kind="logistic", design=0, seed=0, n=N, offset=False):
    rng = np.random.default_rng(seed)
    left = rng.integers(0, n, M).astype(np.int32)
    right = ((left + rng.integers(1, n, M)) % n).astype(np.int32)
    wins, losses, ties = rng.exponential(size=(3, M))
    loss = {
        "logistic": lambda: LogisticRows(wins, wins + losses),
        "davidson": lambda: DavidsonRows(wins, losses, ties),
        "squared": lambda: SquaredRows(wins - losses, wins + losses, 0.0, 0.0),
        "lapse": lambda: LapseRows(wins, wins + losses, 0.1),
    }[kind]()
    total = wins + losses + (ties if kind == "davidson" else 0.0)
    votes = np.bincount(left, total, n) + np.bincount(right, total, n)
    rows = Rows(
        n, left, right, rng.normal(size=(M, design)) if design else None, rng.normal(size=M) if offset else None
    )
    return FeatureProblem(rows, loss, rng.normal(size=(n, D)), votes)


def somewhere(p, seed=1, size=0.4):
    rng = np.random.default_rng(seed)
    n, d = p.features.shape
    return Place(size * rng.normal(size=d), size * rng.normal(size=n), size * rng.normal(size=p.extras))


def flat(place):
    return np.concatenate([place.weights, place.residuals, place.extras])


def split(p, x):
    n, d = p.features.shape
    return Place(x[:d], x[d : d + n], x[d + n :])


def hessian(p, place, at=PENALTIES):
    """By differences of the gradient."""
    x, h = flat(place), 1e-5
    columns = [
        (_gradient(p, p.evaluate(split(p, x + h * e)), at) - _gradient(p, p.evaluate(split(p, x - h * e)), at))
        / (2 * h)
        for e in np.eye(len(x))
    ]
    return np.array(columns)


KINDS = [("logistic", 0), ("logistic", 2), ("davidson", 0), ("davidson", 1), ("squared", 1), ("lapse", 0)]


@pytest.mark.parametrize(("kind", "design"), KINDS)
def test_gradients_are_differences_of_the_objective(kind, design):
    p = problem(kind, design, offset=kind == "logistic" and design == 2)
    place = somewhere(p)
    x, h = flat(place), 1e-6
    found = _gradient(p, p.evaluate(place), PENALTIES)
    numeric = [
        (p.objective(split(p, x + h * e), PENALTIES) - p.objective(split(p, x - h * e), PENALTIES)) / (2 * h)
        for e in np.eye(len(x))
    ]
    assert_allclose(found, numeric, atol=1e-5)
    w, r = place.weights, place.residuals
    assert p.objective(place, PENALTIES) == pytest.approx(p.value(place) + 0.4 * w @ w + 0.7 * r @ r)
    point = p.evaluate(place)
    own = np.bincount(p.rows.left, point.curvature, N) + np.bincount(p.rows.right, point.curvature, N)
    assert_allclose(point.diagonal, own)
    assert p.extras == design + (kind == "davidson")


@pytest.mark.parametrize("how", ["dense", "pcg"])
@pytest.mark.parametrize(("kind", "design"), [each for each in KINDS if each[0] != "lapse"])
def test_a_newton_step_is_that_of_the_whole_hessian(kind, design, how, monkeypatch):
    if how == "pcg":
        monkeypatch.setattr(feature_solver, "DENSE", 0)
    p = problem(kind, design)
    assert p.linear.how == how
    place = somewhere(p)
    point = p.evaluate(place)
    force = -_gradient(p, point, PENALTIES)
    system = p.system(point.curvature, point.diagonal, PENALTIES)
    found = _with_extras(p, system, (point.border, point.corner), force, 1e-12)
    assert_allclose(found, np.linalg.solve(hessian(p, place), force), atol=1e-5)
    if kind != "davidson":
        assert_allclose(newton_step(p, system, point.curvature, force, 1e-12), found, atol=1e-9)
    forces = np.random.default_rng(2).normal(size=(N + D, 3))
    full = hessian(p, place)[: N + D, : N + D]
    assert_allclose(system.solve_columns(forces, 1e-12), np.linalg.solve(full, forces), atol=1e-5)
    assert (system.steps > 0) == (how == "pcg")


def test_the_preconditioner_is_the_system_with_the_votes_on_the_diagonal():
    p = problem()
    point = p.evaluate(somewhere(p))
    near = p.preconditioner(point.curvature, point.diagonal, PENALTIES)
    whole = np.hstack([p.features, np.eye(N)])
    matrix = whole.T @ (point.diagonal[:, None] * whole) + np.diag([0.8] * D + [1.4] * N)
    force = np.random.default_rng(3).normal(size=(N + D, 2))
    assert_allclose(near.precondition(force[:, 0]), np.linalg.solve(matrix, force[:, 0]))
    assert_allclose(near.precondition_columns(force), np.linalg.solve(matrix, force))
    inverse = np.linalg.inv(matrix)
    assert near.traces() == pytest.approx((np.trace(inverse[:D, :D]), np.trace(inverse[D:, D:])))
    assert near.squared_share() == pytest.approx(np.sum((np.eye(D) - 0.8 * inverse[:D, :D]) ** 2))
    laplacian = np.zeros((N, N))
    for a, b, c in zip(p.rows.left, p.rows.right, point.curvature, strict=True):
        laplacian[[a, b, a, b], [a, b, b, a]] += [c, c, -c, -c]
    exact = whole.T @ laplacian @ whole + np.diag([0.8] * D + [1.4] * N)
    assert_allclose(near.product(force[:, 0]), exact @ force[:, 0])


def test_conjugate_gradients_stop_where_they_were_asked_to_and_a_band_is_looked_for_once(monkeypatch):
    monkeypatch.setattr(feature_solver, "DENSE", 0)
    p = problem()
    point = p.evaluate(somewhere(p))
    force = np.random.default_rng(3).normal(size=N + D)
    rough, fine = (p.system(point.curvature, point.diagonal, PENALTIES) for _ in range(2))
    rough.solve(force, 0.3)
    fine.solve(force, 1e-10)
    assert 0 < rough.steps < fine.steps
    p.notice(SimpleNamespace(steps=feature_solver.MAX_CG_STEPS))
    assert not p.looked
    p.notice(SimpleNamespace(steps=feature_solver.MAX_CG_STEPS + 1))
    assert p.looked
    looked = p.linear
    p.notice(SimpleNamespace(steps=10**6))
    assert p.linear is looked


@pytest.mark.parametrize("how", ["dense", "pcg"])
@pytest.mark.parametrize(("kind", "design"), KINDS)
def test_the_solver_ends_where_no_slope_is_left_and_counts_its_steps(kind, design, how, monkeypatch):
    if how == "pcg":
        monkeypatch.setattr(feature_solver, "DENSE", 0)
    p = problem(kind, design)
    found = solve_features(p, PENALTIES, 1e-8, 50)
    gradient = _gradient(p, p.evaluate(found.place), PENALTIES)
    assert_allclose(gradient, 0.0, atol=1e-6)
    assert found.converged
    assert found.gap <= 1e-8
    assert found.solver == how
    assert 1 <= found.n_iter <= 15
    again = solve_features(p, PENALTIES, 1e-3, 50, found.place)
    assert (again.n_iter, again.solver, again.converged) == (0, "none", True)
    short = solve_features(p, PENALTIES, 1e-8, 1, somewhere(p, size=2.0))
    assert short.n_iter == 1
    if kind != "squared":  # there one step is exact
        assert not short.converged
        assert short.gap > 1e-8
    none = solve_features(p, PENALTIES, 1e-8, 0)
    assert none.n_iter == 0
    assert not flat(none.place).any()
    w, r = p.features.T @ p.votes, p.votes
    begin = _gradient(p, p.evaluate(none.place), PENALTIES)
    size = np.concatenate(
        [p.votes @ np.abs(p.features) / 2, np.maximum(r, 1.0), np.full(p.extras, max(r.sum() / 2, 1.0))]
    )
    if kind == "squared":
        size = size * math.sqrt(p.loss.total @ p.loss.target**2 / p.loss.total.sum())
    assert none.gap == pytest.approx(np.max(np.abs(begin) / size))
    assert len(w) == D


def test_a_walk_goes_down_and_no_score_moves_by_more_than_ten():
    p = problem()
    place = somewhere(p)
    point = p.evaluate(place)
    gradient = _gradient(p, point, PENALTIES)
    assert _walk(p, point, PENALTIES, gradient, gradient) is None, "uphill"
    assert _walk(p, point, PENALTIES, gradient, 0.0 * gradient) is None
    far = -1e4 * gradient
    there = _walk(p, point, PENALTIES, gradient, far)
    assert np.abs(p.scores(there.place) - p.scores(place)).max() <= 10.0 + 1e-9
    assert p.objective(there.place, PENALTIES) < p.objective(place, PENALTIES)
    slope = _gradient(p, there, PENALTIES) @ far
    assert slope <= 0.5 * abs(gradient @ far)
    s = problem("squared")
    here = s.evaluate(somewhere(s, size=1e3))
    down = _gradient(s, here, PENALTIES)
    step = -np.linalg.solve(hessian(s, here.place), down)
    exact = _walk(s, here, PENALTIES, down, step)
    assert_allclose(flat(exact.place), flat(here.place) + step)  # whole, whatever the unit
    assert np.abs(step).max() > 100


@pytest.mark.parametrize(("times", "taken"), [(1.4, 1.4), (1.7, 0.85), (5.0, 1.0), (0.3, 0.3)])
def test_a_step_beyond_the_lowest_place_is_taken_where_it_hardly_rises_there(times, taken):
    """On a parabola a step so many times too long rises by (times − 1) of what it fell by at first: half at most."""
    s = problem("squared")
    here = s.evaluate(somewhere(s))
    down = _gradient(s, here, PENALTIES)
    exact = -np.linalg.solve(hessian(s, here.place), down)
    there = _walk(s, here, PENALTIES, down, times * exact)
    assert_allclose(flat(there.place), flat(here.place) + taken * exact, atol=1e-5)


def test_a_core_that_rounding_has_emptied_is_lifted():
    core = np.array([[4.0, 2.0], [2.0, 1.0]])  # singular
    lower = _factor(core, 0.5)
    assert_allclose(lower @ lower.T, core + 0.5 * np.eye(2))
    assert np.isfinite(_factor(core, 0.0)).all()


def test_a_wide_matrix_is_spanned_by_its_rows():
    rng = np.random.default_rng(4)
    matrix = rng.normal(size=(3, 8))
    matrix[2] = matrix[0] - 2.0 * matrix[1]
    basis = row_basis(matrix)
    assert basis.shape == (8, 2)
    assert_allclose(basis.T @ basis, np.eye(2), atol=1e-12)
    assert_allclose(matrix @ basis @ basis.T, matrix, atol=1e-12)
    assert row_basis(np.zeros((2, 5))).shape == (5, 0)


def test_an_inverse_comes_with_its_log_determinant_and_what_has_none_is_refused():
    rng = np.random.default_rng(5)
    root = rng.normal(size=(4, 4))
    matrix = root @ root.T + np.eye(4)
    inverse, log = inverse_of(matrix.copy())
    assert_allclose(inverse, np.linalg.inv(matrix))
    assert log == pytest.approx(np.linalg.slogdet(matrix)[1])
    with pytest.raises(np.linalg.LinAlgError):
        inverse_of(-np.eye(3))


# ---- penalties from the votes ---------------------------------------------------------------------------------------


def test_penalties_are_logarithms_of_spreads():
    assert_allclose(log_sds((0.5, 0.5 / 9)), [0.0, math.log(3.0)])
    assert penalties._penalties(np.array([0.0, math.log(3.0)])) == pytest.approx((0.5, 0.5 / 9))
    assert np.isfinite(log_sds((0.0, 1e-320))).all()


@pytest.mark.parametrize("size", [1, 2])
def test_nodes_have_the_moments_of_a_normal_distribution(size):
    for rule, most in ((penalties._rule, 1e-12), (penalties._grid, 0.02)):
        grid, shares = rule(size)
        shares = shares / shares.sum()
        assert_allclose(shares @ grid, 0.0, atol=1e-12)
        assert_allclose(grid.T @ (shares[:, None] * grid), np.eye(size), atol=most)
        assert_allclose(shares @ grid**3, 0.0, atol=1e-12)
    assert len(penalties._grid(size)[0]) == 5**size
    assert len(penalties._rule(size)[0]) == (3 if size == 1 else 4)
    one = penalties._rule(1)
    assert (one[1] @ one[0] ** 4).tolist() == pytest.approx([3.0])


@pytest.mark.parametrize(
    ("n", "d", "few"),
    [(200, 1, True), (201, 1, False), (201, 20, False), (201, 21, True), (400, 41, True), (401, 99, 0)],
)
def test_the_evidence_is_exact_for_few_items_or_many_features(n, d, few):
    assert Climb._is_small(None, n, d) == few


class Hill(Climb):
    """A climb on an evidence that is known: a parabola, or worse."""

    def __init__(self, problem, free, max_iter, value=None, information=None, few=True):
        self.problem, self.free, self.max_iter, self.few = problem, list(free), max_iter, few
        self.best, self.evaluations, self.asked = None, 0, []
        self.value, self.known = value, information

    def _visit(self, x):
        self.evaluations += 1
        self.asked.append(x.copy())
        h = 1e-5
        slope = np.array([(self.value(x + h * e) - self.value(x - h * e)) / (2 * h) for e in np.eye(2)])
        return Evidence(self.value(x), slope, self.known)


def parabola(top, bend):
    return lambda x: -0.5 * (x - top) @ bend @ (x - top)


@pytest.mark.parametrize("free", [(0, 1), (0,), (1,)])
@pytest.mark.parametrize("known", [1.0, 0.6, 2.0])
def test_a_climb_ends_at_the_top_of_what_is_free(free, known):
    p = problem()
    top, bend = prior_centre(p) + np.array([0.4, -0.6]), np.array([[3.0, 0.8], [0.8, 2.0]])
    hill = Hill(p, free, 50, parabola(top, bend), known * bend)
    begin = prior_centre(p) + np.array([1.0, 1.0])
    found = hill.top(begin)
    held = [k for k in (0, 1) if k not in free]
    expected = top.copy()
    if held:
        (k,), (j,) = held, free
        expected[k] = begin[k]
        expected[j] = top[j] - bend[j, k] * (begin[k] - top[k]) / bend[j, j]
    assert_allclose(found, expected, atol=3e-3)
    assert found[held].tolist() == begin[held].tolist()
    assert hill.evaluations <= 15


def test_a_climb_that_goes_too_far_comes_half_the_way_back_and_stays_within_its_range():
    p = problem()
    centre = prior_centre(p)
    steep = Hill(p, (0, 1), 50, parabola(centre, 9.0 * np.eye(2)), 0.9 * np.eye(2))  # ten times less than is true
    found = steep.top(centre + np.array([0.3, 0.2]))
    assert_allclose(found, centre, atol=5e-3)
    first, second, third = steep.asked[:3]
    assert_allclose(third, 0.5 * (first + second), atol=1e-12)
    for sign, end in ((1, penalties.LARGEST), (-1, penalties.SMALLEST)):
        slope = Hill(p, (0, 1), 50, lambda x, sign=sign: 3.0 * sign * float(x.sum()), np.eye(2))
        assert_allclose(slope.top(centre), centre + end)
        assert (
            max(np.abs(b - a).max() for a, b in zip(slope.asked, slope.asked[1:], strict=False))
            <= penalties.LONGEST + 1e-12
        )
    cliff = Hill(p, (0, 1), 50, lambda x: -float(len(cliff.asked)), np.eye(2))
    cliff.top(centre)
    assert cliff.evaluations <= penalties.MAX_EVALUATIONS + 1


@pytest.mark.parametrize("few", [True, False])
def test_what_is_known_at_the_top_is_the_bend_of_the_evidence(few):
    p = problem()
    bend = np.array([[3.0, 0.8], [0.8, 2.0]])
    hill = Hill(p, (0, 1), 50, parabola(prior_centre(p), bend), 7.0 * np.eye(2), few)
    assert_allclose(hill.information(prior_centre(p)), bend if few else 7.0 * np.eye(2), atol=1e-4)
    if few:
        saddle = Hill(p, (0, 1), 50, parabola(prior_centre(p), np.diag([3.0, -1.0])), np.eye(2))
        assert_allclose(saddle.information(prior_centre(p)), np.diag([3.0, 0.5]), atol=1e-4)
        alone = Hill(p, (1,), 50, parabola(prior_centre(p), bend), np.eye(2))
        assert_allclose(alone.information(prior_centre(p)), [[2.0]], atol=1e-4)


@pytest.mark.parametrize("given", [(None, None), (0.3, None), (None, 0.3), (0.3, 0.3)])
def test_penalties_that_are_given_stay_and_the_others_are_chosen(given):
    p = problem()
    found = choose_penalties(p, *given, 1e-8, 50)
    free = tuple(k for k in (0, 1) if given[k] is None)
    assert found.free == free
    for k, value in enumerate((found.feature, found.residual)):
        assert value == given[k] or k in free
    assert found.solution.converged
    assert (found.evaluations > 0) == bool(free)
    climb = Climb(p, free, 50)
    at = log_sds((found.feature, found.residual))
    best = climb._visit(at)
    for k in free:
        if ("feature", "residual")[k] not in found.boundary:
            assert abs(best.slope[k]) < 0.05
    nodes = possible_penalties(p, found, 50)
    assert bool(nodes) == bool(free)
    if nodes:
        assert sum(node.share for node in nodes) == pytest.approx(1.0)
        assert min(node.share for node in nodes) >= 1e-4
        assert len(nodes) <= 5 ** len(free)
        for node in nodes:
            for k in (0, 1):
                assert k in free or node.penalties[k] == pytest.approx(given[k])
            gradient = _gradient(p, p.evaluate(node.place), node.penalties)
            assert_allclose(gradient, 0.0, atol=1e-4)
        logs = np.array([log_sds(node.penalties) for node in nodes])
        values = [climb.evidence.at(x, node.place, slopes=False).value for x, node in zip(logs, nodes, strict=True)]
        shares = np.exp(values - np.max(values))
        assert_allclose([node.share for node in nodes], shares / shares.sum(), rtol=1e-3)


def test_what_a_solver_learns_at_one_node_is_not_passed_on(monkeypatch):
    monkeypatch.setattr(feature_solver, "DENSE", 0)
    monkeypatch.setattr(feature_solver, "MAX_CG_STEPS", 0)
    p = problem()
    climb = Climb(p, (0, 1), 50)
    before = p.linear
    place = penalties._optimum_there(log_sds(PENALTIES), climb)
    assert_allclose(_gradient(p, p.evaluate(place), PENALTIES), 0.0, atol=1e-4)
    assert climb.problem is p
    assert p.linear is before
    assert not p.looked
    assert climb.best is None


def test_features_that_are_all_nothing_need_no_penalty():
    p = problem()
    p.features = np.zeros((N, D))
    found = choose_penalties(p, None, None, 1e-8, 50)
    assert (found.feature, found.free) == (1.0, (1,))


# ---- effects that scores follow -------------------------------------------------------------------------------------


def following(seed=0):
    p = problem("logistic", 0, seed)
    design = np.random.default_rng(seed + 7).normal(size=(M, 1)) + 0.5 * (
        p.features[p.rows.left, :1] - p.features[p.rows.right, :1]
    )
    effects = Effects(np.array([0.6]), np.array([[0.02]]))
    rows = Rows(N, p.rows.left, p.rows.right, None, design[:, 0] * 0.6)
    held = FeatureProblem(rows, p.loss, p.features, p.votes)
    return held, design, effects, p.loss.total


def test_scores_follow_the_mean_effect_of_their_items():
    held, design, effects, total = following()
    found = Following.of(held.rows, design, effects, total, held.votes)
    means = np.zeros(N)
    for a, b, z, w in zip(held.rows.left, held.rows.right, design[:, 0], total, strict=True):
        means[a] += w * z
        means[b] -= w * z
    means /= held.votes
    means -= means.mean()
    size = (0.6 * means).std()
    assert_allclose(found.means, 0.6 * means / size)
    assert_allclose(found.rows.design[:, 0], found.means[held.rows.left] - found.means[held.rows.right])
    assert found.rows.offset is held.rows.offset
    along = means @ found.means / N
    assert found.noise == pytest.approx(along * 0.02 * along)
    variance = 0.3 + found.noise
    assert found.square(0.8, 0.3, of_mean=True) == pytest.approx((0.8 / (1 + variance)) ** 2)
    assert found.square(0.8, 0.3) == pytest.approx((0.8 / (1 + variance)) ** 2 + variance / (1 + variance))
    few = Rows(4, held.rows.left % 4, (held.rows.left % 4 + 1) % 4, None, held.rows.offset)
    assert Following.of(few, design, effects, total, np.ones(4)) is None
    flat_rows = Rows(N, held.rows.left, held.rows.right, None, held.rows.offset)
    assert Following.of(flat_rows, 0.0 * design, effects, total, held.votes) is None


@pytest.mark.parametrize("given", [(None, None), (0.3, None), (None, 0.3)])
def test_what_scores_follow_is_given_back_to_the_penalties(given):
    held, design, effects, total = following()
    chooser = FollowedEffects.of(held, design, effects, total, 50)
    free = chooser.free
    assert free.rows is chooser.following.rows
    assert free.features is held.features
    found = chooser.choose(*given, 1e-8)
    chosen = chooser.chosen
    plain = choose_penalties(free, *given, 1e-6, 50)
    assert (chosen.feature, chosen.residual) == pytest.approx((plain.feature, plain.residual), rel=1e-3)
    place, at = chosen.solution.place, (chosen.feature, chosen.residual)
    # the variance of γ by the whole Hessian
    variance = np.linalg.inv(hessian(free, place, at))[-1, -1]
    assert chooser._variance(at, place) == pytest.approx(variance, rel=1e-3)
    square = chooser.following.square(place.extras[0], variance, of_mean=True)
    x, means = held.features, chooser.following.means
    explained = np.linalg.solve(x.T @ x + at[0] / at[1] * np.eye(D), x.T @ means)
    rest = means - x @ explained
    spreads = 0.5 / at[0] + square * explained @ explained / D, 0.5 / at[1] + square * rest @ rest / N
    expected = [0.5 / spreads[k] if given[k] is None else at[k] for k in (0, 1)]
    assert (found.feature, found.residual) == pytest.approx(tuple(expected), rel=1e-3)
    gradient = _gradient(held, held.evaluate(found.solution.place), (found.feature, found.residual))
    assert_allclose(gradient, 0.0, atol=1e-5)
    near = chooser._near(place)
    assert_allclose(held.scores(near), free.scores(place) + place.extras[0] * means)
    assert len(near.extras) == 0
    node = _not_following(Node(0.25, at, place), chooser)
    assert node.share == 0.25
    whole = chooser.following.square(place.extras[0], variance)
    wider = 0.5 / at[0] + whole * explained @ explained / D, 0.5 / at[1] + whole * rest @ rest / N
    assert node.penalties == pytest.approx([0.5 / wider[k] if given[k] is None else at[k] for k in (0, 1)], rel=1e-3)
    assert_allclose(_gradient(held, held.evaluate(node.place), node.penalties), 0.0, atol=1e-4)
    nodes = chooser.possible(found)
    assert sum(each.share for each in nodes) == pytest.approx(1.0)
    assert all(
        k not in (0, 1) or each.penalties[k] == pytest.approx(given[k]) for each in nodes for k in (0, 1) if given[k]
    )


def test_where_following_alone_decides_the_votes_nothing_follows(monkeypatch):
    held, design, effects, total = following()
    chooser = FollowedEffects.of(held, design, effects, total, 50)
    monkeypatch.setattr("podium.pairwise._fit.followed.runs_away", lambda *_: True)
    found = chooser.choose(None, None, 1e-8)
    plain = choose_penalties(held, None, None, 1e-8, 50)
    assert chooser.chosen is None
    assert (found.feature, found.residual) == pytest.approx((plain.feature, plain.residual))
    nodes = chooser.possible(found)
    expected = possible_penalties(held, plain, 50)
    assert [node.share for node in nodes] == pytest.approx([node.share for node in expected])
