"""The evidence about two penalties, flips and scaled features, part by part: against dense algebra and differences."""

import math
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.sparse import csr_array

from podium import RABF, Comparisons
from podium.errors import InputError
from podium.pairwise._fit import feature_model, flips, many_evidence
from podium.pairwise._fit.bias import leverages
from podium.pairwise._fit.feature_evidence import DenseEvidence, Posterior, noise_unit, prior_centre
from podium.pairwise._fit.feature_model import FeatureModel, ScaledFeatures, VoteModel
from podium.pairwise._fit.feature_solver import FeatureProblem, Place, solve_features
from podium.pairwise._fit.flips import FlippedVotes, _with_flips, widening
from podium.pairwise._fit.likelihoods import DavidsonRows, LapseRows, LogisticRows, SquaredRows
from podium.pairwise._fit.many_evidence import SparseEvidence
from podium.pairwise._fit.penalties import Node, choose_penalties
from podium.pairwise._fit.solvers import Rows, Solution, evaluate

N, D, M = 7, 2, 40


def problem(kind="logistic", design=0, seed=0):
    rng = np.random.default_rng(seed)
    left = rng.integers(0, N, M).astype(np.int32)
    right = ((left + rng.integers(1, N, M)) % N).astype(np.int32)
    wins, losses, ties = rng.exponential(size=(3, M))
    loss = {
        "logistic": lambda: LogisticRows(wins, wins + losses),
        "davidson": lambda: DavidsonRows(wins, losses, ties),
        "squared": lambda: SquaredRows(wins - losses, wins + losses, 1.5, 0.0),
        "lapse": lambda: LapseRows(wins, wins + losses, 0.1),
    }[kind]()
    total = wins + losses + (ties if kind == "davidson" else 0.0)
    votes = np.bincount(left, total, N) + np.bincount(right, total, N)
    rows = Rows(N, left, right, rng.normal(size=(M, design)) if design else None)
    return FeatureProblem(rows, loss, rng.normal(size=(N, D)), votes)


KINDS = [("logistic", 0), ("logistic", 2), ("davidson", 1), ("squared", 1)]


def parts_of(kind, design, feature=0.5, residual=0.8):
    p = problem(kind, design)
    rng = np.random.default_rng(1)
    scores, extras = 0.5 * rng.normal(size=N), 0.3 * rng.normal(size=p.extras)
    posterior = Posterior(DenseEvidence(p), feature, residual, scores, extras)
    point = evaluate(p.rows, p.loss, 0.0, scores, extras)
    laplacian = np.zeros((N, N))
    for a, b, c in zip(p.rows.left, p.rows.right, point.curvature, strict=True):
        laplacian[[a, b, a, b], [a, b, b, a]] += [c, c, -c, -c]
    prior = feature * p.features @ p.features.T + residual * np.eye(N)
    whole = np.block([[laplacian + np.linalg.inv(prior), point.border], [point.border.T, point.corner]])
    return p, posterior, prior, laplacian, whole


@pytest.mark.parametrize(("kind", "design"), KINDS)
def test_the_posterior_is_that_of_the_whole_matrix(kind, design):
    p, posterior, prior, laplacian, whole = parts_of(kind, design)
    inverse = np.linalg.inv(whole)
    assert_allclose(posterior.covariance, inverse[:N, :N], rtol=1e-5, atol=1e-8)
    assert_allclose(posterior.across, inverse[:N, N:], rtol=1e-4, atol=1e-7)
    assert_allclose(posterior.effects, inverse[N:, N:], rtol=1e-5)
    expected = np.linalg.slogdet(whole)[1] + np.linalg.slogdet(prior)[1]
    assert posterior.log_determinant == pytest.approx(expected, rel=1e-6)
    known = np.linalg.inv(prior)
    taken = known - known @ inverse[:N, :N] @ known
    moves = 2 * 0.5 * p.features @ p.features.T, 2 * 0.8 * np.eye(N)  # of the prior, along the logs of both spreads
    assert_allclose(posterior.freedom, [0.5 * np.trace(taken @ move) for move in moves], rtol=1e-5)
    information = [[0.5 * np.trace(taken @ a @ taken @ b) for a in moves] for b in moves]
    assert_allclose(posterior.information, information, rtol=1e-5)
    assert laplacian.shape == (N, N)
    part = np.random.default_rng(2).normal(size=N)
    moved, effects = posterior.along(part)
    assert_allclose(moved, 2 * inverse[:N, :N] @ known @ part, rtol=1e-5, atol=1e-7)
    if p.extras:
        assert_allclose(effects, 2 * inverse[N:, :N] @ known @ part, rtol=1e-4, atol=1e-6)
    else:
        assert len(effects) == 0


@pytest.mark.parametrize(("kind", "design"), KINDS)
def test_slopes_of_the_evidence_are_differences_of_its_value(kind, design):
    p = problem(kind, design)
    evidence = DenseEvidence(p)

    def value(x, slopes=False):
        at = 0.5 * np.exp(-2 * x)
        place = solve_features(p, (float(at[0]), float(at[1])), 1e-11, 100)
        return evidence.at(x, place.place, slopes)

    x, h = evidence.centre + np.array([0.2, -0.3]), 1e-4
    found = value(x, True)
    numeric = [(value(x + h * e).value - value(x - h * e).value) / (2 * h) for e in np.eye(2)]
    assert_allclose(found.slope, numeric, atol=2e-2)
    assert np.isnan(value(x).slope).all()
    assert value(x).value == pytest.approx(found.value)


def test_the_weak_prior_is_centred_where_features_and_residuals_have_a_spread_of_1():
    p = problem()
    assert_allclose(prior_centre(p), [-0.5 * math.log(p.features.var(axis=0).sum()), 0.0])
    s = problem("squared")
    assert_allclose(prior_centre(s), prior_centre(p) + 0.5 * math.log(0.5))
    place = Place(np.zeros(D), np.zeros(N), np.empty(0))
    assert noise_unit(p, place, 2.0) == (1.0, pytest.approx(p.value(place) + 2.0))
    votes = s.loss.total.sum()
    penalised = s.value(place) + 2.0
    assert noise_unit(s, place, 2.0) == pytest.approx((0.5 * votes / penalised, 0.5 * votes * math.log(penalised)))


@pytest.mark.parametrize(("kind", "design"), [("logistic", 0), ("squared", 0), ("logistic", 1)])
def test_of_many_items_the_slope_is_nearly_the_exact_one(kind, design, monkeypatch):
    monkeypatch.setattr(many_evidence, "PROBED", 40_000)
    monkeypatch.setattr(many_evidence, "ACCURACY", 1e-8)
    p = problem(kind, design)
    x = prior_centre(p) + np.array([0.1, -0.2])
    at = 0.5 * np.exp(-2 * x)
    place = solve_features(p, (float(at[0]), float(at[1])), 1e-10, 100).place
    rough, exact = SparseEvidence(p).at(x, place), DenseEvidence(p).at(x, place)
    assert math.isnan(rough.value)
    assert_allclose(rough.slope, exact.slope, atol=0.05 if kind == "squared" else 0.35)
    assert_allclose(rough.information.diagonal(), exact.information.diagonal(), rtol=0.35)
    assert rough.information[0, 1] == 0.0
    assert len(SparseEvidence(p).signs) == N + D
    assert SparseEvidence(p).signs.shape[1] == -(-40_000 // N)


def test_terms_of_second_order_are_learned_from_their_changes():
    evidence = SparseEvidence(problem())
    at = evidence.centre
    assert evidence._learned(at, 1e-3 * N, 2.0).tolist() == [0.0, 0.0], "next to nothing"
    assert evidence.last is None
    first = evidence._learned(at, 0.5, 0.25 * N)
    assert_allclose(first, [0.0, 4 * 0.5 * 0.75])
    assert_allclose(evidence._learned(at + np.array([9.0, 0.019]), 0.7, 2.0), first)  # too near
    assert_allclose(evidence._learned(at + np.array([9.0, 0.021]), 0.7, 2.0), [0.0, 0.2 / 0.021])
    assert_allclose(evidence._learned(at + np.array([0.0, 0.221]), 0.6, 2.0), [0.0, -0.5])


@pytest.mark.parametrize("freedom", [0.0, 5.0])
def test_rows_with_covariates_have_the_variances_of_their_items_and_what_is_known_besides(freedom, monkeypatch):
    """Third and fourth derivatives of the log loss are p(1 − p)(1 − 2p) and p(1 − p)(1 − 6p + 6p²)."""
    monkeypatch.setattr(many_evidence, "ACCURACY", 1e-12)
    p = problem("logistic", 1)
    rng = np.random.default_rng(4)
    place = Place(0.4 * rng.normal(size=D), 0.4 * rng.normal(size=N), np.array([0.3]))
    ridges, margin = np.array([0.8, 1.4]), p.rows.margin(p.scores(place), place.extras)
    point = p.evaluate(place)
    system = p.system(point.curvature, point.diagonal, (0.4, 0.7))
    along, second = SparseEvidence(p)._higher(system, margin, place, ridges, freedom)
    chance = 1 / (1 + np.exp(-margin))
    bend = p.loss.total * chance * (1 - chance)
    diagonal = 1.4 + np.bincount(p.rows.left, bend, N) + np.bincount(p.rows.right, bend, N)
    gaps = 1 / diagonal[p.rows.left] + 1 / diagonal[p.rows.right]
    gaps = gaps + max(freedom - bend @ gaps, 0.0) / bend.sum()
    third, fourth = bend * (1 - 2 * chance), bend * (1 - 6 * chance * (1 - chance))
    push = np.zeros(N)
    np.add.at(push, p.rows.left, third * gaps)
    np.subtract.at(push, p.rows.right, third * gaps)
    laplacian = np.zeros((N, N))
    for a, b, c in zip(p.rows.left, p.rows.right, bend, strict=True):
        laplacian[[a, b, a, b], [a, b, b, a]] += [c, c, -c, -c]
    whole = np.hstack([p.features, np.eye(N)])
    force = whole.T @ push
    moved = np.linalg.solve(whole.T @ laplacian @ whole + np.diag([0.8] * D + [1.4] * N), force)
    assert_allclose(along, 2 * ridges * [place.weights @ moved[:D], place.residuals @ moved[D:]], atol=1e-9)
    assert second == pytest.approx((force @ moved - fourth @ gaps**2) / 8)


@pytest.mark.parametrize("kind", ["logistic", "davidson"])
@pytest.mark.parametrize("design", [0, 2])
def test_leverages_are_what_each_outcome_has_of_the_inverse_hessian(kind, design):
    """Half of their sum is what Firth's correction adds to the votes: Σ over rows is the number of parameters."""
    p = problem(kind, design)
    rng = np.random.default_rng(3)
    at = Solution(0.4 * rng.normal(size=N), 0.3 * rng.normal(size=p.extras), 1, "dense", 0.0, True)
    found = leverages(p.rows, p.loss, at, 0.0)
    point = evaluate(p.rows, p.loss, 0.0, at.scores, at.extras)
    matrix = np.zeros((N + p.extras, N + p.extras))
    for a, b, c in zip(p.rows.left, p.rows.right, point.curvature, strict=True):
        matrix[[a, b, a, b], [a, b, b, a]] += [c, c, -c, -c]
    matrix[:N, N:], matrix[N:, :N], matrix[N:, N:] = point.border, point.border.T, point.corner
    inverse = np.linalg.pinv(matrix)
    eye = np.eye(N)
    rows = np.hstack([eye[p.rows.left] - eye[p.rows.right], np.empty((M, 0)) if design == 0 else p.rows.design])
    if kind == "logistic":
        variance = np.einsum("ij,jk,ik->i", rows, inverse, rows)
        assert_allclose(found, [point.curvature * variance, point.curvature * variance, np.zeros(M)], atol=1e-8)
        assert found[0].sum() == pytest.approx(N - 1 + design)
        return
    margin = p.rows.margin(at.scores, at.extras)
    powers = np.stack([margin / 2, -margin / 2, np.full(M, at.extras[-1])])
    chance = np.exp(powers) / np.exp(powers).sum(axis=0)
    total = p.loss.wins + p.loss.losses + p.loss.ties
    told = [
        np.hstack([0.5 * rows, np.zeros((M, 1))]),
        np.hstack([-0.5 * rows, np.zeros((M, 1))]),
        np.hstack([0 * rows, np.ones((M, 1))]),
    ]
    mean = sum(c[:, None] * each for c, each in zip(chance, told, strict=True))
    expected = [
        total * c * np.einsum("ij,jk,ik->i", each - mean, inverse, each - mean)
        for c, each in zip(chance, told, strict=True)
    ]
    assert_allclose(found, expected, atol=1e-8)


# ---- flips ----------------------------------------------------------------------------------------------------------


def flipped(seed=0):
    p = problem("lapse", 0, seed)
    plain = FeatureProblem(p.rows, LogisticRows(p.loss.points, p.loss.total), p.features, p.votes)
    return FlippedVotes(p, plain, 0.1, 60)


def test_scores_stand_for_penalties_by_their_spread():
    votes = flipped()
    own = votes.plain.features.var(axis=0).sum()
    assert votes._spread((0.4, 0.7)) == pytest.approx(math.sqrt(0.5 * own / 0.4 + 0.5 / 0.7))
    factor = widening(votes._spread((0.4, 0.7)), 0.1)
    assert factor > 1 / 0.8
    assert votes._widened((0.4, 0.7)) == pytest.approx((0.4 / factor**2, 0.7 / factor**2))
    assert math.isfinite(votes._spread((1e300, 0.0)))
    assert flips._variance_of_chance(1.3) == pytest.approx(
        np.var(1 / (1 + np.exp(-math.sqrt(2) * 1.3 * np.random.default_rng(0).normal(size=400_000)))), rel=0.01
    )


def test_penalties_with_flips_are_widened_and_nodes_too():
    votes = flipped()
    given = votes.choose(0.4, 0.7, 1e-8)
    assert (given.feature, given.residual, given.free, votes.chosen) == (0.4, 0.7, (), None)
    assert votes.possible() == []
    found = votes.choose(None, None, 1e-8)
    plain = choose_penalties(votes.plain, None, None, 1e-4, 60)
    assert (votes.chosen.feature, votes.chosen.residual) == pytest.approx((plain.feature, plain.residual), rel=1e-3)
    assert (found.feature, found.residual) == pytest.approx(votes._widened((plain.feature, plain.residual)), rel=1e-3)
    assert found.free == (0, 1)
    node = _with_flips(Node(0.3, (0.4, 0.7), None), votes)
    assert node.share == 0.3
    assert node.penalties == pytest.approx(votes._widened((0.4, 0.7)))
    direct = solve_features(votes.problem, node.penalties, 1e-6, 60, votes.start(node.penalties)).place
    assert_allclose(votes.problem.scores(node.place), votes.problem.scores(direct), atol=1e-3)
    nodes = votes.possible()
    assert sum(each.share for each in nodes) == pytest.approx(1.0)
    begin = votes.start((0.4, 0.7))
    assert_allclose(
        votes.plain.scores(begin),
        votes.plain.scores(solve_features(votes.plain, (0.4, 0.7), 1e-9, 60).place),
        atol=1e-2,
    )


# ---- features as they were scaled -----------------------------------------------------------------------------------


def scaled(matrix, standardize=True, weights=None, seen=None):
    found = ScaledFeatures()
    found.seen = np.ones(matrix.shape[0], dtype=bool) if seen is None else seen
    found._scale_features(matrix, standardize, weights)
    return found


@pytest.mark.parametrize("weights", [None, np.array([1.0, 2.0, 0.5, 1.5, 1.0, 3.0])])
@pytest.mark.parametrize("standardize", [True, False])
@pytest.mark.parametrize("d", [2, 9])
def test_scores_of_scaled_features_are_those_of_the_users(d, standardize, weights):
    """Dense, and sparse: tall ones are written out, and wide ones are reduced to the directions of their rows."""
    rng = np.random.default_rng(5)
    matrix = rng.normal(3.0, 2.0, (6, d)) * (rng.random((6, d)) < 0.6)
    seen = np.array([True] * 5 + [False])
    one, other = scaled(matrix, standardize, weights, seen), scaled(csr_array(matrix), standardize, weights, seen)
    table = matrix if weights is None or standardize else weights[:, None] * matrix
    mean, scale = table[seen].mean(axis=0), table[seen].std(axis=0) if standardize else np.ones(d)
    alive = table[seen].std(axis=0) > 1e-12
    moved = np.where(alive, (table - mean) / np.where(alive, scale, 1.0), 0.0)
    if weights is not None and standardize:
        moved = weights[:, None] * moved
    for each in (one, other):
        assert_allclose(each.mean[alive], mean[alive])
        assert_allclose(each.constant, ~alive)
        assert (each.basis is None) == (d == 2)
        assert_allclose(each.matrix @ each.matrix.T, moved @ moved.T, atol=1e-9)
        some = rng.normal(size=each.matrix.shape[1])
        assert_allclose(moved @ each.whole_weights(some), each.matrix @ some, atol=1e-9)
    if d == 9:
        assert (one.matrix[:, -1] == 0).all()
        assert (other.matrix[:, -1] == 0).all()
    if weights is None:
        deviation = table.std(axis=0)
        assert_allclose(one.feature_std[alive], deviation[alive], rtol=1e-9)


def test_sparse_tables_too_large_to_be_written_out_are_refused(monkeypatch):
    tall, wide = (
        csr_array(np.random.default_rng(6).normal(size=(6, 3))),
        csr_array(np.random.default_rng(6).normal(size=(3, 6))),
    )
    monkeypatch.setattr(feature_model, "MAX_WRITTEN_OUT", 18)
    monkeypatch.setattr(feature_model, "MAX_GRAM_ITEMS", 3)
    scaled(tall)
    scaled(wide)
    monkeypatch.setattr(feature_model, "MAX_WRITTEN_OUT", 17)
    with pytest.raises(InputError, match=r"a sparse table of 6 items and 3 features is written out .* over 17 values"):
        scaled(tall)
    monkeypatch.setattr(feature_model, "MAX_GRAM_ITEMS", 2)
    with pytest.raises(InputError, match=r"more features than items \(6 and 3\) needs a matrix of all items, up to 2"):
        scaled(wide)


@pytest.mark.filterwarnings("ignore::podium.errors.DataWarning")
@pytest.mark.parametrize("sparse", [False, True])
def test_errors_of_weights_and_new_items_are_those_of_the_whole_design(sparse, monkeypatch):
    """More features than items: weights have the posterior of ridge regression on all of them."""
    monkeypatch.setattr(feature_model, "CHUNK", 4)
    rng = np.random.default_rng(7)
    n, d = 5, 9
    table = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.7)
    left = rng.integers(0, n, 60)
    right = (left + rng.integers(1, n, 60)) % n
    c = Comparisons.from_arrays(left, right, items=range(n))
    model = RABF(feature_penalty=0.5, residual_penalty=0.8, standardize=False, tol=1e-10)
    model.fit(c, csr_array(table) if sparse else table)
    scores = model.ranking_.scores
    hessian = np.zeros((n, n))
    for a, b in zip(left, right, strict=True):
        chance = 1 / (1 + np.exp(scores[b] - scores[a]))
        hessian[[a, b, a, b], [a, b, b, a]] += chance * (1 - chance) * np.array([1, 1, -1, -1])
    alive = table.std(axis=0) > 0
    centred = np.where(alive, table - table.mean(axis=0), 0.0)
    whole = np.hstack([centred, np.eye(n)])
    covariance = np.linalg.inv(whole.T @ hessian @ whole + np.diag([1.0] * d + [1.6] * n))
    expected = np.where(alive, np.sqrt(covariance.diagonal()[:d]), np.nan)
    assert_allclose(model.coef_std_errors_, expected, rtol=1e-5)
    new = rng.normal(size=(3, d))
    found, deviations = model.predict(csr_array(new) if sparse else new, return_std=True)
    moved = np.where(alive, new - table.mean(axis=0), 0.0)
    variance = np.einsum("ij,jk,ik->i", moved, covariance[:d, :d], moved) + 1 / 1.6
    assert_allclose(deviations, np.sqrt(variance), rtol=1e-5)
    assert_allclose(found, np.where(alive, new, 0.0) @ model.coef_, rtol=1e-6, atol=1e-9)
    assert model.feature_columns_ == model.feature_names_


def test_votes_are_counted_for_the_loss_asked_for():
    rng = np.random.default_rng(8)
    left = rng.integers(0, 4, 30).astype(np.int32)
    right = ((left + rng.integers(1, 4, 30)) % 4).astype(np.int32)
    outcome = rng.choice([-1, 0, 1], 30).astype(np.int8)
    c = Comparisons(tuple("abcde"), left, right, outcome=outcome, sided=True)
    table = rng.normal(size=(6, 2))
    model = FeatureModel(c, table, VoteModel(side_effect=True), True)
    assert model.seen.tolist() == [True] * 4 + [False] * 2
    assert model.weight == 30.0
    assert model.columns == ("side",)
    assert model.problem.rows.n == 4
    assert model.problem.rows.design.tolist() == [[1.0]] * len(model.left)
    assert_allclose(model.problem.votes, np.bincount(left, minlength=4) + np.bincount(right, minlength=4))
    assert_allclose(model.problem.features, model.matrix[:4])
    assert model.noise(model.nothing(), (1.0, 1.0)) is None
    tied = FeatureModel(c, table, VoteModel(ties="davidson"), True)
    assert isinstance(tied.loss, DavidsonRows)
    assert (tied.columns, tied.davidson, tied.weight) == (("tie",), True, 30.0)
    light = replace(
        c, outcome=np.where(np.arange(30) == 0, 0, 1).astype(np.int8), weight=np.where(np.arange(30) == 0, 0.5, 1.0)
    )
    assert FeatureModel(light, table, VoteModel(ties="davidson"), True).davidson, "half a tie is one"
    none = replace(c, outcome=np.ones(30, dtype=np.int8))
    assert isinstance(FeatureModel(none, table, VoteModel(ties="davidson"), True).loss, LogisticRows)
    squared = FeatureModel(c, table, VoteModel(loss="squared"), True)
    place = squared.nothing()
    assert squared.noise(place, (1.0, 1.0)) == pytest.approx(math.sqrt(np.mean(outcome.astype(float) ** 2)))
    small = FeatureModel(replace(c, margin=1e-3 * np.ones(30)), table, VoteModel(loss="squared"), True)
    assert small.noise(small.nothing(), (1.0, 1.0)) == pytest.approx(1e-3)
    hinge = FeatureModel(c, table, VoteModel(loss="hinge"), True)
    assert hinge.loss.won.sum() == pytest.approx(((outcome + 1) / 2).sum() + _turned(c))
    lapse = FeatureModel(c, table, VoteModel(flip_rate=0.1, lapse=True), True)
    assert isinstance(lapse.loss, LapseRows)
    plain = lapse.plain()
    assert isinstance(plain.loss, LogisticRows)
    assert plain.loss.points.tolist() == lapse.loss.points.tolist()
    with pytest.raises(InputError, match="every vote is a tie: ties='davidson' cannot tell the items apart"):
        FeatureModel(Comparisons.from_arrays(["a"], ["b"], tie=[True]), table[:2], VoteModel(ties="davidson"), True)


def _turned(c):
    """By how much counting each pair one way round changes the votes for the left."""
    back = c.left > c.right
    return float(np.sum(np.where(back, -c.outcome, 0.0)))


# ---- information ----------------------------------------------------------------------------------------------------


def assembled(information):
    """The matrix that an information stands for, in scores and extras."""
    n, p = information.n, information.extras
    matrix = np.zeros((n + p, n + p))
    for a, b, c in zip(information.left, information.right, information.curvature, strict=True):
        matrix[[a, b, a, b], [a, b, b, a]] += [c, c, -c, -c]
    matrix[:n, :n] += information.ridge * np.eye(n)
    matrix[:n, n:], matrix[n:, :n], matrix[n:, n:] = information.border, information.border.T, information.corner
    return matrix


def sided(m=120, seed=9, weight=None):
    rng = np.random.default_rng(seed)
    left = rng.integers(0, 5, m).astype(np.int32)
    right = ((left + rng.integers(1, 5, m)) % 5).astype(np.int32)
    outcome = rng.choice([-1, 0, 1], m, p=[0.3, 0.2, 0.5]).astype(np.int8)
    return Comparisons(tuple("abcde"), left, right, outcome=outcome, sided=True, weight=weight)


@pytest.mark.parametrize("held", [False, True])
@pytest.mark.parametrize(("kind", "unit"), [("half", 1.0), ("davidson", 1.0), ("squared", None)])
def test_information_is_the_posterior_of_scores_weights_and_effects(kind, unit, held):
    c, table = sided(), np.random.default_rng(10).normal(size=(6, 2))
    votes = VoteModel(
        loss="squared" if kind == "squared" else "logistic",
        ties="davidson" if kind == "davidson" else "half",
        side_effect=True,
    )
    model = FeatureModel(c, table, votes, True)
    if held and kind != "squared":
        model.hold_effects(100)
        assert model.problem.rows.design is None
        assert_allclose(model.problem.rows.offset, model.effects.values[0])
    place = solve_features(model.problem, (0.4, 0.7), 1e-10, 100).place
    whole = model.with_effects(place)
    if unit is None:
        noise = model.noise(place, (0.4, 0.7))
        unit = 0.5 / noise**2
    known = model.information(place, (0.4, 0.7))
    n, d, p = 6, 2, len(whole.extras)
    scores = model._scores(place)
    assert_allclose(known.scores, scores)
    assert_allclose(scores[5], model.matrix[5] @ place.weights)
    # votes on scores and effects, by differences of the loss's gradient
    rows, loss = model.whole.rows, model.loss
    h, size = 1e-5, 5 + p

    def slopes(x):
        point = evaluate(rows, loss, 0.0, x[:5], x[5:])
        return np.concatenate([point.slopes, point.extra_slopes])

    at = np.concatenate([scores[:5], whole.extras])
    bend = unit * np.array([(slopes(at + h * e) - slopes(at - h * e)) / (2 * h) for e in np.eye(size)])
    expected = np.zeros((n + d + p, n + d + p))
    places = [*range(5), *range(n + d, n + d + p)]
    expected[np.ix_(places, places)] = bend
    link = np.hstack([np.eye(n), -model.matrix, np.zeros((n, p))])
    expected += 2 * unit * 0.7 * link.T @ link
    expected[n : n + d, n : n + d] += 2 * unit * 0.4 * np.eye(d)
    found = assembled(known)
    effect = n + d
    if model.effects is not None:
        assert np.linalg.inv(found)[effect, effect] == pytest.approx(model.effects.covariance[0, 0], rel=1e-5)
        found[effect, effect] = expected[effect, effect]
    assert_allclose(found, expected, atol=1e-4)
    # pulls of single votes add up to the penalties'
    pull = np.zeros(n)
    np.add.at(pull, known.vote_left, known.vote_weight * known.vote_gradient)
    np.subtract.at(pull, known.vote_right, known.vote_weight * known.vote_gradient)
    assert_allclose(pull[:5], -2 * unit * 0.7 * place.residuals, atol=1e-5)
    assert not known.vote_extra_gradient[:, :d].any()
    if model.effects is None:
        assert_allclose(known.vote_weight @ known.vote_extra_gradient[:, d:], 0.0, atol=1e-4)
    other = Node(0.4, (0.6, 0.9), solve_features(model.problem, (0.6, 0.9), 1e-10, 100).place)
    (alternative,) = model.whole_information(place, (0.4, 0.7), lambda: [other]).alternatives
    there = model.information(other.place, (0.6, 0.9), pulls=False)
    assert there.vote_gradient is None
    assert (alternative.share, alternative.ridge) == (0.4, there.ridge)
    assert_allclose(alternative.curvature, there.curvature)
    assert_allclose(alternative.corner, there.corner)
    extras = model.with_effects(other.place).extras - whole.extras
    shift = [model._scores(other.place) - scores, other.place.weights - place.weights, extras]
    assert_allclose(alternative.shift, np.concatenate(shift))


@pytest.mark.parametrize("kind", ["lapse", "corrected"])
def test_pulls_of_votes_with_flips_are_slopes_of_their_loss(kind):
    c, table = sided(), np.random.default_rng(10).normal(size=(5, 2))
    model = FeatureModel(c, table, VoteModel(flip_rate=0.1, lapse=kind == "lapse"), True)
    place = solve_features(model.problem, (0.4, 0.7), 1e-10, 100).place
    known = model.information(place, (0.4, 0.7))
    pull = np.zeros(5)
    np.add.at(pull, known.vote_left, known.vote_weight * known.vote_gradient)
    np.subtract.at(pull, known.vote_right, known.vote_weight * known.vote_gradient)
    assert_allclose(pull, -1.4 * place.residuals, atol=1e-5)
    assert len(set(known.vote_gradient.round(9))) > 5


def test_effects_are_followed_only_where_they_are_held():
    c, table = sided(), np.random.default_rng(10).normal(size=(5, 2))
    model = FeatureModel(c, table, VoteModel(side_effect=True), True)
    assert model.followed(50) is None
    model.hold_effects(100)
    followed = model.followed(50)
    assert followed is None or followed.problem is model.problem
    plain = FeatureModel(c, table, VoteModel(), True)
    plain.hold_effects(100)
    assert plain.effects is None
    assert plain.followed(50) is None
    place = plain.nothing()
    assert plain.with_effects(place) is place
    assert (len(place.weights), len(place.residuals), len(place.extras)) == (2, 5, 0)
