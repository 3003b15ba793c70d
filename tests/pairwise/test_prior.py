"""A penalty from the data: the evidence against brute-force integrals, many items against few, laws."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from podium.data.comparisons import Comparisons
from podium.data.pairs import Adjacency, count_rows
from podium.errors import DataWarning
from podium.kernels.pairwise.evidence import contract_logistic, logistic_shape, pair_rows
from podium.pairwise._fit import prior
from podium.pairwise._fit.likelihoods import DavidsonRows, LogisticRows
from podium.pairwise._fit.many_items import SparseInverse
from podium.pairwise._fit.prior import DenseInverse, choose_prior, log_evidence
from podium.pairwise._fit.solvers import Rows, newton
from podium.pairwise.bradley_terry import BradleyTerry

GRID = np.exp(np.linspace(math.log(0.15), math.log(6.0), 60))


def simulated(n, votes, sd, seed):
    """Random pairs between items whose scores are normal; `votes` for each item."""
    rng = np.random.default_rng(seed)
    m = n * votes // 2
    left = rng.integers(0, n, m)
    right = (left + rng.integers(1, n, m)) % n
    return counted(left, right, sd * rng.standard_normal(n), rng)


def counted(left, right, scores, rng):
    won = rng.random(len(left)) < 1 / (1 + np.exp(scores[right] - scores[left]))
    outcome = np.where(won, 1, -1).astype(np.int8)
    ends = left.astype(np.int32), right.astype(np.int32)
    pairs = count_rows(*ends, len(scores), outcome=outcome, weight=None, weight_sq=None)
    return Rows(len(scores), pairs.left, pairs.right), LogisticRows(pairs.left_points, pairs.total)


def by_item(rows, loss):
    if isinstance(loss, DavidsonRows):
        points, total = loss.wins + 0.5 * loss.ties, loss.wins + loss.losses + loss.ties
    else:
        points, total = loss.points, loss.total
    won = np.bincount(rows.left, points, rows.n) + np.bincount(rows.right, total - points, rows.n)
    return won, np.bincount(rows.left, total, rows.n) + np.bincount(rows.right, total, rows.n)


def by_newton(rows, loss):
    def fit(l2, tol, scores, extras):
        found = newton(rows, loss, l2, tol, 200, votes=by_item(rows, loss)[1], scores=scores, extras=extras)
        assert found.converged
        return found.scores, found.extras

    return fit


def chosen(rows, loss):
    points, votes = by_item(rows, loss)
    return choose_prior(rows, loss, by_newton(rows, loss), points=points, votes=votes)


def peak(values):
    """Where on the grid a curve is highest, between its points by a parabola in log s."""
    at = min(max(int(np.argmax(values)), 1), len(GRID) - 2)
    x = np.log(GRID[at - 1 : at + 2])
    curve = np.polyfit(x - x[1], values[at - 1 : at + 2], 2)
    return math.exp(x[1] - curve[1] / (2 * curve[0]))


def curves(rows, loss):
    """Laplace's approximation of the log evidence on the grid, without and with the terms of second order."""
    fit = by_newton(rows, loss)
    plain, better = [], []
    for sd in GRID:
        scores, extras = fit(0.5 / sd**2, 1e-8, None, None)
        delta = prior._Place(rows, loss, math.log(sd), scores, extras, dense=True).second_order
        better.append(log_evidence(rows, loss, fit, sd))
        plain.append(better[-1] - delta)
    return np.array(plain), np.array(better)


# ---- truth: the integrals themselves ---------------------------------------------------------------------------


@pytest.mark.parametrize(("wins", "votes"), [(2, 3), (3, 4), (9, 12), (20, 21), (5, 10)])
def test_two_items_against_the_integral_over_their_difference(wins, votes):
    rows = Rows(2, np.array([0], dtype=np.int32), np.array([1], dtype=np.int32))
    loss = LogisticRows(np.array([float(wins)]), np.array([float(votes)]))
    node, weight = np.polynomial.hermite_e.hermegauss(200)
    truth = []
    for sd in GRID:  # the difference of two draws from N(0, s²) has variance 2s²
        margin = math.sqrt(2) * sd * node
        likelihood = np.exp(wins * margin - votes * np.logaddexp(0, margin))
        truth.append(math.log(weight @ likelihood) - 0.5 * math.log(sd) ** 2)
    plain, better = curves(rows, loss)
    assert peak(better) == pytest.approx(peak(np.array(truth)), rel=0.05)
    assert chosen(rows, loss).sd == pytest.approx(peak(better), rel=1e-3)
    assert np.ptp((better - truth)[GRID < 3]) < max(0.05, 0.5 * np.ptp((plain - truth)[GRID < 3]))


@pytest.mark.parametrize("wins", [(3, 2, 1), (4, 4, 0), (2, 5, 3)])
def test_three_items_against_the_integral_over_two_differences(wins):
    """Of 5 votes each, left took `wins` in the pairs (0, 1), (0, 2), (1, 2)."""
    rows = Rows(3, np.array([0, 0, 1], dtype=np.int32), np.array([1, 2, 2], dtype=np.int32))
    loss = LogisticRows(np.array(wins, dtype=float), np.full(3, 5.0))
    node, weight = np.polynomial.hermite_e.hermegauss(80)
    a, b = np.meshgrid(node, node)
    root = np.linalg.cholesky([[2.0, 1.0], [1.0, 2.0]])  # of the covariance of u₀ − u₁ and u₀ − u₂ at s = 1
    first, second = root[0, 0] * a, root[1, 0] * a + root[1, 1] * b
    truth = []
    for sd in GRID:
        margins = [sd * first, sd * second, sd * (second - first)]
        log = sum(w * m - 5 * np.logaddexp(0, m) for w, m in zip(wins, margins, strict=True))
        truth.append(math.log(np.sum(np.outer(weight, weight) * np.exp(log))) - 0.5 * math.log(sd) ** 2)
    plain, better = curves(rows, loss)
    assert peak(better) == pytest.approx(peak(np.array(truth)), rel=0.06)
    assert np.ptp((better - truth)[GRID < 2]) < 0.5 * np.ptp((plain - truth)[GRID < 2])


def test_davidson_ties_against_the_integral_over_difference_and_tie_parameter():
    rows = Rows(2, np.array([0], dtype=np.int32), np.array([1], dtype=np.int32))
    wins, losses, ties = 9.0, 5.0, 6.0
    loss = DavidsonRows(np.array([wins]), np.array([losses]), np.array([ties]))
    node, weight = np.polynomial.hermite_e.hermegauss(120)
    eta = np.linspace(-6, 6, 1201)[:, None]
    truth = []
    for sd in GRID:
        half = 0.5 * math.sqrt(2) * sd * node
        total = np.logaddexp(np.logaddexp(half, -half), eta)
        log = (wins - losses) * half + ties * eta - (wins + losses + ties) * total
        truth.append(math.log(np.sum(np.exp(log) @ weight)) - 0.5 * math.log(sd) ** 2)

    def fit(l2, tol, scores, extras):
        found = newton(rows, loss, l2, tol, 200, votes=np.full(2, 20.0), scores=scores, extras=np.zeros(1))
        return found.scores, found.extras

    plain, better = [], []
    for sd in GRID:
        better.append(log_evidence(rows, loss, fit, sd))
        place = prior._Place(rows, loss, math.log(sd), *fit(0.5 / sd**2, 1e-9, None, None), dense=True)
        plain.append(better[-1] - place.second_order)
    better, plain, truth = np.array(better), np.array(plain), np.array(truth)
    assert peak(better) == pytest.approx(peak(truth), rel=0.03)
    assert np.ptp((better - truth)[GRID < 2]) < 0.5 * np.ptp((plain - truth)[GRID < 2])


def test_side_effect_against_the_integral_over_difference_and_side():
    rows = Rows(2, np.array([0, 1], dtype=np.int32), np.array([1, 0], dtype=np.int32), np.ones((2, 1)))
    points, total = np.array([8.0, 5.0]), np.array([10.0, 9.0])
    loss = LogisticRows(points, total)
    node, weight = np.polynomial.hermite_e.hermegauss(120)
    side = np.linspace(-6, 8, 1401)[:, None]
    truth = []
    for sd in GRID:
        d = math.sqrt(2) * sd * node
        log = sum(w * m - t * np.logaddexp(0, m) for w, t, m in zip(points, total, (d + side, -d + side), strict=True))
        truth.append(math.log(np.sum(np.exp(log) @ weight)) - 0.5 * math.log(sd) ** 2)
    plain, better = curves(rows, loss)
    assert peak(better) == pytest.approx(peak(np.array(truth)), rel=0.04)
    assert np.ptp((better - truth)[GRID < 2]) < 0.5 * np.ptp((plain - truth)[GRID < 2])


# ---- the climb reaches the top ---------------------------------------------------------------------------------


def with_extras(kind, seed):
    rng = np.random.default_rng(seed)
    n, m = 12, 80
    left = rng.integers(0, n, m)
    right = (left + rng.integers(1, n, m)) % n
    scores = rng.standard_normal(n)
    design = {"side": np.ones((m, 1)), "covariates": rng.standard_normal((m, 2)), "davidson": None, "plain": None}[kind]
    margin = scores[left] - scores[right] + (0.0 if design is None else 0.5 * design.sum(axis=1))
    rows = Rows(n, left.astype(np.int32), right.astype(np.int32), design)
    if kind == "davidson":
        odds = np.stack([np.exp(margin / 2), np.exp(-margin / 2), np.full(m, 0.8)])
        outcome = (rng.random(m) * odds.sum(axis=0) > odds.cumsum(axis=0)).sum(axis=0)
        return rows, DavidsonRows(*((outcome == which).astype(float) for which in (0, 1, 2)))
    return rows, LogisticRows((rng.random(m) < 1 / (1 + np.exp(-margin))).astype(float), np.ones(m))


@pytest.mark.parametrize("kind", ["plain", "side", "covariates", "davidson"])
@pytest.mark.parametrize("seed", [1, 2])
def test_no_other_spread_has_more_evidence(kind, seed):
    rows, loss = with_extras(kind, seed)
    fit = by_newton(rows, loss)
    best = chosen(rows, loss).sd
    others = [log_evidence(rows, loss, fit, sd) for sd in (*GRID, 0.99 * best, 1.01 * best)]
    assert log_evidence(rows, loss, fit, best) > max(others)


def ladder(n, won, lost):
    """Everyone met the next one only, and won so often."""
    steps = np.arange(n - 1, dtype=np.int32)
    return Rows(n, steps, steps + 1), LogisticRows(np.full(n - 1, float(won)), np.full(n - 1, float(won + lost)))


@pytest.mark.parametrize(("n", "won", "lost"), [(20, 30, 10), (40, 30, 10), (20, 3, 1), (8, 6, 2), (12, 40, 20)])
def test_of_two_tops_the_higher_is_found_on_a_ladder(n, won, lost):
    rows, loss = ladder(n, won, lost)
    fit = by_newton(rows, loss)
    best = log_evidence(rows, loss, fit, chosen(rows, loss).sd)
    assert best > max(log_evidence(rows, loss, fit, sd) for sd in np.geomspace(0.02, 25, 40)) - 1e-6


def ladder_votes(n):
    """Everyone won 30 of 40 against the next one."""
    steps = np.arange(n - 1)
    winner, loser = np.concatenate([steps, steps + 1]), np.concatenate([steps + 1, steps])
    times = np.repeat([30, 10], n - 1)
    return Comparisons.from_arrays(np.repeat(winner, times), np.repeat(loser, times))


def test_a_ladder_of_hundreds_keeps_its_steps():
    steps = -np.diff(BradleyTerry().fit(ladder_votes(500)).ranking_.scores)
    assert np.median(steps) == pytest.approx(np.log(3), rel=0.2)


def test_a_ladder_beyond_all_priors_is_remarked_on():
    with pytest.warns(DataWarning, match="draws scores together that the votes put far apart"):
        BradleyTerry().fit(ladder_votes(2000))


@settings(max_examples=40, deadline=None)
@given(st.integers(2, 9), st.integers(1, 30), st.integers(0, 2**32 - 1))
def test_a_finite_spread_is_found_whatever_the_votes(n, m, seed):
    rng = np.random.default_rng(seed)
    left = rng.integers(0, n, m).astype(np.int32)
    right = ((left + rng.integers(1, n, m)) % n).astype(np.int32)
    rows, loss = Rows(n, left, right), LogisticRows(rng.choice([0.0, 0.5, 1.0], m), np.ones(m))
    found = chosen(rows, loss)
    assert 0.05 < found.sd < 20
    assert found.evaluations < 20
    fit = by_newton(rows, loss)
    here = log_evidence(rows, loss, fit, found.sd)
    assert here >= max(log_evidence(rows, loss, fit, found.sd * by) for by in (0.9, 0.99, 1.01, 1.1)) - 1e-6


def test_true_spreads_are_recovered():
    for sd in (0.4, 0.8, 1.6):
        found = [chosen(*simulated(100, 20, sd, seed)).sd for seed in range(15)]
        assert np.median(found) == pytest.approx(sd, rel=0.15)


# ---- laws ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("n", "exact"), [(40, 1e-6), (500, 5e-3)])
def test_names_sides_and_order_of_rows_do_not_matter(n, exact):
    rows, loss = simulated(n, 6, 0.8, 3)
    rng = np.random.default_rng(4)
    name, order, turn = rng.permutation(n).astype(np.int32), rng.permutation(len(rows.left)), rng.random(len(rows.left))
    left, right = name[rows.left][order], name[rows.right][order]
    points, total, flip = loss.points[order], loss.total[order], turn < 0.5
    other = Rows(n, np.where(flip, right, left), np.where(flip, left, right))
    same = LogisticRows(np.where(flip, total - points, points), total)
    assert chosen(other, same).sd == pytest.approx(chosen(rows, loss).sd, rel=exact)


def test_a_pair_split_over_rows_is_the_same_pair():
    rows, loss = simulated(20, 12, 0.8, 5)
    twice = Rows(20, np.tile(rows.left, 2), np.tile(rows.right, 2))
    halves = LogisticRows(np.tile(loss.points / 2, 2), np.tile(loss.total / 2, 2))
    assert chosen(twice, halves).sd == pytest.approx(chosen(rows, loss).sd, rel=1e-6)


# ---- many items ------------------------------------------------------------------------------------------------


def graph(kind, n):
    if kind == "chain":
        left, right, times = np.arange(n - 1), np.arange(1, n), 5
    elif kind == "star":
        left, right, times = np.zeros(n - 1, dtype=int), np.arange(1, n), 5
    else:  # groups of ten, everyone within, each joined to the next by one pair
        group = np.arange(n) // 10
        left, right = np.nonzero(np.triu(group[:, None] == group, 1))
        left, right = np.append(left, np.arange(9, n - 1, 10)), np.append(right, np.arange(10, n, 10))
        times = 2
    rng = np.random.default_rng(7)
    return counted(np.repeat(left, times), np.repeat(right, times), 0.8 * rng.standard_normal(n), rng)


@pytest.mark.parametrize("kind", ["3 votes", "10 votes", "60 votes", "chain", "star", "groups"])
def test_many_items_are_judged_as_few(kind, monkeypatch):
    rows, loss = simulated(300, int(kind.split()[0]), 0.8, 6) if "votes" in kind else graph(kind, 300)
    few = chosen(rows, loss)
    monkeypatch.setattr(prior, "MAX_DENSE_ITEMS", 0)
    assert chosen(rows, loss).sd == pytest.approx(few.sd, rel=0.02)


@pytest.mark.parametrize("kind", ["side", "covariates", "davidson"])
def test_many_items_with_extra_parameters_are_judged_as_few(kind, monkeypatch):
    rows, loss = with_extras(kind, 3)
    few = chosen(rows, loss)
    monkeypatch.setattr(prior, "MAX_DENSE_ITEMS", 0)
    monkeypatch.setattr(prior, "ROUGH_X_TOL", 1e-3)
    assert chosen(rows, loss).sd == pytest.approx(few.sd, rel=0.04)


@pytest.mark.parametrize("kind", ["chain", "star"])
def test_belief_propagation_is_exact_without_circles(kind, monkeypatch):
    rows, loss = graph(kind, 200)
    curvature = loss.total * np.random.default_rng(1).uniform(0.02, 0.25, len(loss.total))
    monkeypatch.setattr("podium.pairwise._fit.many_items.SETTLED", 1e-12)
    sparse = SparseInverse(200, rows.left, rows.right, curvature, 1.3, np.arange(200.0))
    assert_allclose(sparse.gaps, DenseInverse(rows, curvature, 1.3).gaps, rtol=1e-9)


def test_the_probed_trace_is_near_the_trace():
    rows, loss = simulated(400, 10, 0.8, 8)
    exact = DenseInverse(rows, 0.2 * loss.total, 1.5)
    sparse = SparseInverse(400, rows.left, rows.right, 0.2 * loss.total, 1.5, np.arange(400.0))
    assert sparse.trace() == pytest.approx(exact.trace(), rel=0.01)
    column = np.random.default_rng(2).standard_normal((400, 1))
    assert_allclose(sparse.solve(column), exact.solve(column), atol=3e-3)


# ---- kernels ---------------------------------------------------------------------------------------------------


def test_shape_and_contraction_are_the_derivatives_of_the_logistic_loss():
    rng = np.random.default_rng(9)
    left, right = np.array([0, 1, 2, 0], dtype=np.int32), np.array([1, 2, 0, 2], dtype=np.int32)
    scores, shift, total, gaps = rng.normal(size=3), rng.normal(size=4), rng.uniform(1, 9, 4), rng.uniform(0.1, 1, 4)
    curvature, lean, push = np.empty(4), np.empty(4), np.zeros(3)
    logistic_shape(left, right, total, np.exp(scores), np.exp(shift), curvature, lean)
    fourth = contract_logistic(left, right, curvature, lean, gaps, push)
    margin = scores[left] - scores[right] + shift

    def slope(m):
        return total / (1 + np.exp(-m))

    h = 1e-3
    ahead, behind, here = slope(margin + h), slope(margin - h), slope(margin)
    third = (ahead - 2 * here + behind) / h**2
    last = (slope(margin + 2 * h) - 2 * ahead + 2 * behind - slope(margin - 2 * h)) / (2 * h**3)
    assert_allclose(curvature, (ahead - behind) / (2 * h), rtol=1e-5)
    expected = np.zeros(3)
    np.add.at(expected, left, third * gaps)
    np.subtract.at(expected, right, third * gaps)
    assert_allclose(push, expected, atol=1e-4)
    assert fourth == pytest.approx(float(last @ gaps**2), abs=1e-3)


def test_pairs_of_an_adjacency_are_laid_out_once():
    rng = np.random.default_rng(10)
    left = rng.integers(0, 9, 60)
    right = (left + rng.integers(1, 9, 60)) % 9
    pairs = count_rows(
        left.astype(np.int32), right.astype(np.int32), 9, outcome=rng.choice([-1, 0, 1], 60).astype(np.int8),
        weight=None, weight_sq=None,
    )  # fmt: skip
    a = Adjacency.of_pairs(pairs, 9)
    m = len(pairs)
    ends, sums = np.empty((2, m), dtype=np.int32), np.empty((2, m))
    pair_rows(a.start, a.partner, a.wins, a.total, *ends, *sums)
    found = {(int(i), int(j)): (float(w), float(t)) for i, j, w, t in zip(*ends, *sums, strict=True)}
    assert found == {
        (int(i), int(j)): (float(w), float(t))
        for i, j, w, t in zip(pairs.left, pairs.right, pairs.left_points, pairs.total, strict=True)
    }


@pytest.mark.parametrize("covariate", [False, True])
@pytest.mark.parametrize("ties", ["half", "davidson"])
def test_a_prior_of_the_scores_says_nothing_about_effects(covariate, ties):
    """The posterior of scores and effects together leaves the effects the errors that they have without a prior."""
    rng = np.random.default_rng(0)
    n, m = 6, 400
    left = rng.integers(0, n, m)
    right = (left + rng.integers(1, n, m)) % n
    outcome = rng.choice([-1, 0, 1], m, p=[0.3, 0.2, 0.5]).astype(np.int8)
    more = {"covariates": rng.normal(size=(m, 1)), "covariate_names": ("x",)} if covariate else {}
    votes = Comparisons(tuple(range(n)), left, right, outcome=outcome, sided=True, **more)
    model = BradleyTerry(ties=ties, side_effect=True).fit(votes)
    known = model.ranking_.posterior
    hessian = known.ridge * np.eye(n)
    for u, v, curve in zip(known.left, known.right, known.curvature, strict=True):
        hessian[[u, v], [u, v]] += curve
        hessian[[u, v], [v, u]] -= curve
    whole = np.block([[hessian, known.border], [known.border.T, known.corner]])
    errors = np.sqrt(np.linalg.inv(whole).diagonal()[n:])
    without = BradleyTerry(ties=ties, side_effect=True, l2=0).fit(votes)
    expected = [*without.coef_std_errors_, without.side_effect_std_error_]
    assert_allclose(errors[: len(expected)], expected, rtol=1e-5)
    assert_allclose([*model.coef_std_errors_, model.side_effect_std_error_], expected, rtol=1e-5)
