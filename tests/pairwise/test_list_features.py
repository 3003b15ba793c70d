"""Rankings of items with features, part by part: Newton's steps, the evidence, and the information of all items."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

from podium import PlackettLuce
from podium.data.rankings import Rankings
from podium.pairwise._fit import list_features
from podium.pairwise._fit.choices import ListLoss
from podium.pairwise._fit.feature_solver import Place
from podium.pairwise._fit.list_features import (
    ListEvidence,
    ListFeatureModel,
    ListProblem,
    _hessian,
    _ListClimb,
    _ListPosterior,
    solve_lists,
)
from podium.pairwise._fit.penalties import Node

ITEMS = "abcde"
PENALTIES = (0.4, 0.7)


def lists(rows=40, ties=False, seed=0):
    rng = np.random.default_rng(seed)
    orders = np.argsort(-(np.linspace(1, -1, 5) + rng.gumbel(size=(rows, 5))), axis=1)[:, :3]
    made = [[ITEMS[k] for k in order] for order in orders]
    return [[a, [b, c]] if ties and k % 3 == 0 else [a, b, c] for k, (a, b, c) in enumerate(made)]


def problem(ties=False):
    r = Rankings.from_lists(lists(ties=ties), items=list(ITEMS), unranked="below")
    features = np.random.default_rng(1).normal(size=(5, 2))
    return ListProblem(ListLoss(r, davidson=ties), features)


def objective(p, x, penalties=PENALTIES):
    place = p.split(x)
    w, r = place.weights, place.residuals
    return p.value(place) + penalties[0] * w @ w + penalties[1] * r @ r


def flat(place):
    return np.concatenate([place.weights, place.residuals, place.extras])


@pytest.mark.parametrize("ties", [False, True])
def test_the_optimum_has_no_slope_left_and_steps_are_counted(ties):
    p = problem(ties)
    found = solve_lists(p, PENALTIES, 1e-8, 50)
    x, h = flat(found.place), 1e-6
    slope = [(objective(p, x + h * e) - objective(p, x - h * e)) / (2 * h) for e in np.eye(len(x))]
    assert_allclose(slope, 0.0, atol=1e-4)
    assert found.converged
    assert (found.solver, len(found.curvature)) == ("dense", 0)
    assert 2 <= found.n_iter < 15
    assert len(found.place.extras) == int(ties)
    again = solve_lists(p, PENALTIES, 1e-4, 50, found.place)
    assert (again.n_iter, again.converged) == (1, True)
    short = solve_lists(p, PENALTIES, 1e-12, 1)
    assert (short.n_iter, short.converged) == (1, False)
    assert short.gap > 1e-3
    far = Place(np.full(2, 8.0), np.linspace(-6, 6, 5), np.full(int(ties), 3.0))
    assert_allclose(flat(solve_lists(p, PENALTIES, 1e-9, 99, far).place), x, atol=1e-5)
    one = solve_lists(p, PENALTIES, 1e-9, 1, far)
    assert np.abs(p.scores(one.place) - p.scores(far)).max() <= 4.0 + 1e-9


@pytest.mark.parametrize("ties", [False, True])
def test_the_hessian_is_that_of_differences(ties):
    p = problem(ties)
    rng = np.random.default_rng(2)
    place = Place(0.4 * rng.normal(size=2), 0.4 * rng.normal(size=5), np.full(int(ties), -0.3))
    ridge = np.array([0.8] * 2 + [1.4] * 5 + [0.0] * ties)
    found = _hessian(p, place, ridge)
    x, h = flat(place), 1e-4
    numeric = [
        [
            sum(s * t * objective(p, x + s * h * a + t * h * b) for s in (1, -1) for t in (1, -1)) / (4 * h * h)
            for b in np.eye(len(x))
        ]
        for a in np.eye(len(x))
    ]
    assert_allclose(found, numeric, atol=1e-4)


def test_a_search_that_finds_no_descent_ends_where_it_is(monkeypatch):
    p = problem()
    best = solve_lists(p, PENALTIES, 1e-10, 50)
    monkeypatch.setattr(list_features, "HALVINGS", 0)
    off = Place(best.place.weights + 0.5, best.place.residuals, best.place.extras)
    stopped = solve_lists(p, PENALTIES, 1e-6, 50, off)
    assert (stopped.n_iter, stopped.converged) == (1, False)
    assert flat(stopped.place).tolist() == flat(off).tolist()
    near = solve_lists(p, PENALTIES, 1e-6, 50, best.place)
    assert near.converged, "within the root of what was asked for"


def test_a_step_too_far_is_halved(monkeypatch):
    p = problem()
    best = solve_lists(p, PENALTIES, 1e-10, 50)
    start = Place(
        best.place.weights + 0.02, best.place.residuals - 0.03 * np.array([1, -1, 1, -1, 0]), best.place.extras
    )
    real = list_features.solver_of
    whole = solve_lists(p, PENALTIES, 1e-12, 1, start)
    monkeypatch.setattr(list_features, "solver_of", lambda matrix: lambda g: 3.5 * real(matrix)(g))
    half = solve_lists(p, PENALTIES, 1e-12, 1, start)
    assert_allclose(flat(half.place) - flat(start), 1.75 * (flat(whole.place) - flat(start)))
    assert half.gap == pytest.approx(3.5 * whole.gap)


@pytest.mark.parametrize("ties", [False, True])
def test_the_posterior_and_the_evidence_are_those_of_the_whole_matrix(ties):
    p = problem(ties)
    evidence = ListEvidence(p)
    x = evidence.centre + np.array([0.2, -0.1])
    feature, residual = np.exp(2 * x)
    place = solve_lists(p, (0.5 / feature, 0.5 / residual), 1e-10, 50).place
    scores = p.scores(place)
    posterior = _ListPosterior(evidence, float(feature), float(residual), scores, place.extras)
    prior = feature * p.features @ p.features.T + residual * np.eye(5)
    whole = p.loss.place(scores, place.extras).hessian()
    whole[:5, :5] += np.linalg.inv(prior)
    inverse = np.linalg.inv(whole)
    assert_allclose(posterior.covariance, inverse[:5, :5], rtol=1e-6, atol=1e-9)
    expected = np.linalg.slogdet(whole)[1] + np.linalg.slogdet(prior)[1]
    assert posterior.log_determinant == pytest.approx(expected, rel=1e-6)
    assert posterior.second_order == pytest.approx(p.loss.second_order(scores, inverse[:5, :5]), abs=1e-6)
    value = evidence.at(x, place, slopes=False).value
    parts = place.weights @ place.weights / feature + place.residuals @ place.residuals / residual
    off = x - evidence.centre
    assert value == pytest.approx(
        -p.value(place) - 0.5 * parts - 0.5 * expected - 0.5 * off @ off + posterior.second_order, abs=1e-6
    )
    found = evidence.at(x, place)
    h = 1e-4
    numeric = []
    for e in np.eye(2):
        ends = []
        for sign in (1, -1):
            there = x + sign * h * e
            at = 0.5 * np.exp(-2 * there)
            ends.append(evidence.at(there, solve_lists(p, (at[0], at[1]), 1e-11, 50).place, slopes=False).value)
        numeric.append((ends[0] - ends[1]) / (2 * h))
    assert_allclose(found.slope, numeric, atol=2e-3)


@pytest.mark.parametrize(("n", "small"), [(400, True), (401, False)])
def test_rankings_are_few_by_their_items_alone(n, small):
    assert _ListClimb._is_small(None, n, 1) == small


def test_items_that_no_ranking_knows_have_what_their_features_say():
    r = Rankings.from_lists(lists(), items=list(ITEMS), unranked="below")
    table = np.random.default_rng(3).normal(2.0, 3.0, (7, 2))
    model = ListFeatureModel(ListLoss(r), table, True)
    assert model.seen.tolist() == [True] * 5 + [False] * 2
    assert_allclose(model.matrix, (table - table[:5].mean(axis=0)) / table[:5].std(axis=0))
    found = model.optimum(*PENALTIES, 1e-9, 50)
    place = found.solution.place
    scores = model.scores(place)
    assert_allclose(scores[:5], model.problem.scores(place))
    assert_allclose(scores[5:], model.matrix[5:] @ place.weights)
    known = {"squares": np.ones(40), "clusters": {}}
    other = Node(0.3, (0.5, 0.9), solve_lists(model.problem, (0.5, 0.9), 1e-9, 50).place)
    whole = model.whole_information(place, PENALTIES, lambda: [other], **known)
    n, d = 7, 2
    # (u, w) with u = Xw + r: the posterior's precision is that of the votes on u and of r = u − Xw, and of w
    matrix = np.zeros((n + d, n + d))
    matrix[:5, :5] = model.loss.place(scores[:5], place.extras).hessian()
    link = np.hstack([np.eye(n), -model.matrix])
    matrix += 2 * PENALTIES[1] * link.T @ link
    matrix[n:, n:] += 2 * PENALTIES[0] * np.eye(d)
    stands = np.zeros((n + d, n + d))
    for a, b, c in zip(whole.left, whole.right, whole.curvature, strict=True):
        stands[[a, b, a, b], [a, b, b, a]] += [c, c, -c, -c]
    stands[:n, :n] += whole.ridge * np.eye(n)
    stands[:n, n:], stands[n:, :n], stands[n:, n:] = whole.border, whole.border.T, whole.corner
    assert_allclose(stands, matrix, atol=1e-8)
    assert whole.vote_extra_gradient.shape == (40, d)
    assert not whole.vote_extra_gradient.any()
    assert whole.list_strength[5:].tolist() == [0.0, 0.0]
    (alternative,) = whole.alternatives
    assert alternative.share == 0.3
    assert alternative.ridge == pytest.approx(1.8)
    there = model.scores(other.place)
    assert_allclose(alternative.shift, np.concatenate([there - scores, other.place.weights - place.weights]))


def test_penalties_of_weighted_rankings_are_in_rankings():
    """Weights of 2 each are worth half a ranking: the same scores at twice the penalty."""
    r = Rankings.from_lists(lists(), items=list(ITEMS), unranked="below")
    heavy = Rankings.from_lists(lists(), items=list(ITEMS), unranked="below", weight=np.full(40, 2.0))
    table = np.random.default_rng(3).normal(size=(5, 2))
    one = PlackettLuce(l2=0.7, feature_penalty=0.4).fit(r, table)
    two = PlackettLuce(l2=1.4, feature_penalty=0.8).fit(heavy, table)
    assert_allclose(two.ranking_.scores, one.ranking_.scores, atol=1e-6)
    assert (two.l2_, two.feature_penalty_) == pytest.approx((1.4, 0.8))
    assert two.log_likelihood_ == pytest.approx(2 * one.log_likelihood_)
    assert_allclose(two.coef_std_errors_, one.coef_std_errors_, rtol=1e-5)
    assert one.sd_ is None
    auto = PlackettLuce().fit(r, table)
    assert auto.sd_ == pytest.approx(math.sqrt(0.5 / auto.l2_))
    assert auto.explained_ == pytest.approx(
        np.var(auto.ranking_.scores - auto.residuals_)
        / (np.var(auto.ranking_.scores - auto.residuals_) + np.var(auto.residuals_)),
        rel=1e-5,
    )
