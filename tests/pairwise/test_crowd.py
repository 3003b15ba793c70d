"""CrowdBradleyTerry against brute-force integration, known judges, Bradley-Terry, and simulation with known truth."""

import math
import warnings
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import quad
from scipy.optimize import minimize, minimize_scalar
from scipy.stats import norm

from podium import BradleyTerry, Comparisons, CrowdBradleyTerry
from podium.errors import ConvergenceError, DataWarning, InputError, NotFittedError, SeparationWarning
from podium.kernels.pairwise.crowd import sum_distribution
from podium.pairwise._fit.judge_spread import _log_determinant, _Scale
from podium.pairwise._fit.judge_tests import Cast, JudgeTest, _at_most, _discoveries, flag_judges, judge_tests
from podium.pairwise._fit.judges import JudgeVotes, integrate
from podium.pairwise._fit.marginal import fit_judges

from helpers import thin_data


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def crowd(n, slopes, each, rng, *, sd=1.5, leans=None):
    """Votes of judges with these slopes (and leans), `each` of them; returns comparisons and the true scores."""
    truth = rng.normal(0, sd, n)
    judge = np.repeat(np.arange(len(slopes)), each)
    left = rng.integers(0, n, len(judge))
    right = (left + rng.integers(1, n, len(judge))) % n
    lean = 0 if leans is None else np.asarray(leans)[judge]
    won = rng.random(len(judge)) < sigmoid(np.asarray(slopes)[judge] * (truth[left] - truth[right]) + lean)
    judges = tuple(f"judge {k}" for k in range(len(slopes)))
    votes = Comparisons(
        tuple(range(n)),
        left.astype(np.int32),
        right.astype(np.int32),
        outcome=np.where(won, 1, -1).astype(np.int8),
        judge=judge.astype(np.int32),
        judges=judges,
        sided=leans is not None,
    )
    return votes, truth - truth.mean()


def log_likelihood(c, scores, slope_sd, lean=0.0, lean_sd=0.0):
    """Σ over judges of log ∫∫ Π σ(±margin) φ φ, by adaptive quadrature over the slope, a fine sum over the lean."""
    total = 0.0
    points = (c.outcome + 1) / 2
    leans = [(0.0, 1.0)]
    if lean_sd:
        grid = np.linspace(-8, 8, 161)
        leans = list(zip(grid, np.exp(-(grid**2) / 2) / math.sqrt(2 * math.pi) * 0.1, strict=True))
    for k in range(len(c.judges)):
        mine = c.judge == k
        gap, won = scores[c.left[mine]] - scores[c.right[mine]], points[mine]

        def votes(b, a, gap=gap, won=won):
            margin = b * gap + a
            return math.exp(float(np.sum(won * margin - np.logaddexp(0, margin))))

        whole = 0.0
        for y, mass in leans:
            a = lean + lean_sd * y
            whole += mass * (
                quad(
                    lambda z, a=a: votes(1 + slope_sd * z, a) * math.exp(-z * z / 2) / math.sqrt(2 * math.pi),
                    -9,
                    9,
                    epsabs=0,
                    epsrel=1e-9,
                    limit=200,
                )[0]
                if slope_sd
                else votes(1.0, a)
            )
        total += math.log(whole)
    return total


# ---- the likelihood -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("slope_sd", "lean", "lean_sd"), [(0.4, 0, 0), (2.0, 0, 0), (0.0, 0.3, 0.6), (0.7, 0.3, 0.6)])
def test_the_integral_is_that_of_brute_force(slope_sd, lean, lean_sd):
    c, truth = crowd(4, [1.0, 0.3, -1.0], 12, np.random.default_rng(0), leans=[0.0] * 3)
    votes = JudgeVotes.of(c, by_side=True, worth=1.0)
    found = integrate(votes, truth, np.array([lean, slope_sd, lean_sd]), dense=False)
    expected = log_likelihood(c, truth, slope_sd, lean, lean_sd)
    assert found.log_likelihood == pytest.approx(expected, abs=2e-5 if slope_sd and lean_sd else 1e-7)


@pytest.mark.parametrize("extras", [(0.0, 0.5, 0.0), (0.2, 0.9, 0.5)])
def test_gradient_and_hessian_are_differences_of_the_integral(extras):
    c, truth = crowd(4, [1.0, 0.3, -1.0], 15, np.random.default_rng(1), leans=[0.0] * 3)
    votes = JudgeVotes.of(c, by_side=True, worth=1.0)
    at = np.concatenate([truth, extras])
    free = np.array([0, 1, 2, 3, 4, 5] + ([6] if extras[2] else []))

    def value(x):
        return -integrate(votes, x[:4], x[4:], dense=False).log_likelihood

    step = 1e-3 * np.eye(len(at))
    found = integrate(votes, at[:4], at[4:], dense=True)
    slopes = [(value(at + step[i]) - value(at - step[i])) / 2e-3 for i in free]
    assert_allclose(found.slopes_of_loss()[free], slopes, rtol=1e-5, atol=1e-3 if extras[2] else 1e-5)
    bends = [
        [sum(s * t * value(at + s * step[i] + t * step[j]) for s, t in product((1, -1), (1, -1))) / 4e-6 for j in free]
        for i in free
    ]
    assert_allclose(found.hessian()[np.ix_(free, free)], bends, rtol=1e-4, atol=1e-2 if extras[2] else 1e-4)


def test_moments_of_a_judge_are_those_of_brute_force():
    c, truth = crowd(3, [0.5, 1.0], 20, np.random.default_rng(2))
    found = integrate(JudgeVotes.of(c, by_side=False, worth=1.0), truth, np.array([0.0, 0.8, 0.0]), dense=False)
    mean, sd = found.slope()
    z = np.linspace(-9, 9, 20001)
    for k in range(2):
        mine = c.judge == k
        margin = np.outer(1 + 0.8 * z, truth[c.left[mine]] - truth[c.right[mine]]) * c.outcome[mine]
        mass = np.exp(-np.logaddexp(0, -margin).sum(axis=1) - z**2 / 2)
        mass /= mass.sum()
        expected = mass @ (1 + 0.8 * z)
        assert mean[k] == pytest.approx(expected, abs=1e-7)
        assert sd[k] == pytest.approx(math.sqrt(mass @ (1 + 0.8 * z - expected) ** 2), abs=1e-6)


def test_the_optimum_is_that_of_a_generic_optimiser_on_brute_force():
    c, _ = crowd(3, [1.0, 0.2, 1.5, 0.8], 14, np.random.default_rng(3))
    votes = JudgeVotes.of(c, by_side=False, worth=1.0)
    found = fit_judges(votes, 0.1, scores=np.zeros(3), extras=np.array([0, 0.5, 0]), free=(1,), tol=1e-8, max_iter=100)

    def objective(x):
        return 0.1 * x[:3] @ x[:3] - log_likelihood(c, x[:3], abs(x[3]))

    expected = minimize(
        objective,
        [*found.scores, found.extras[1]],
        method="Nelder-Mead",
        options={"xatol": 1e-6, "fatol": 1e-9, "maxfev": 120},
    )
    assert found.converged
    assert found.objective <= expected.fun + 1e-6
    elsewhere = minimize(objective, [0.1, 0.0, -0.1, 0.3], method="Nelder-Mead", options={"maxfev": 80})
    assert found.objective <= elsewhere.fun + 1e-6


def test_many_items_find_the_same_optimum_by_conjugate_gradients(monkeypatch):
    c, _ = crowd(12, [1.0, 0.2, 1.5, 0.8, 1.2, 0.9], 80, np.random.default_rng(4), leans=[0.5, -0.5, 0, 1, 0, 0])
    for by_side, free, extras in ((False, (1,), [0, 0.5, 0]), (True, (0, 1, 2), [0, 0.5, 0.5])):
        votes = JudgeVotes.of(c, by_side=by_side, worth=1.0)
        options = {"scores": np.zeros(12), "extras": np.array(extras), "free": free, "tol": 1e-7, "max_iter": 100}
        dense = fit_judges(votes, 0.05, **options)
        monkeypatch.setattr("podium.pairwise._fit.marginal.MAX_DENSE_ITEMS", 0)
        sparse = fit_judges(votes, 0.05, **options)
        monkeypatch.undo()
        assert sparse.objective == pytest.approx(dense.objective, abs=1e-5)
        assert_allclose(sparse.scores, dense.scores, atol=2e-3)


@pytest.mark.parametrize("extras", [[0.0, 0.0, 0.0], [0.4, 0.6, 0.0], [-0.3, 0.0, 0.8], [0.2, 0.5, 0.4]])
def test_many_items_have_no_slope_left_at_their_optimum(extras, monkeypatch):
    """The extras held: every score moved by a little either way costs as much."""
    c, _ = crowd(8, [1.0, 0.2, 1.5, 0.8], 50, np.random.default_rng(4), leans=[0.5, -0.5, 0, 1])
    votes = JudgeVotes.of(c, by_side=True, worth=1.0)
    options = {"scores": np.linspace(-1, 1, 8), "extras": np.array(extras), "free": (), "tol": 1e-8, "max_iter": 100}
    dense = fit_judges(votes, 0.05, **options)
    monkeypatch.setattr("podium.pairwise._fit.marginal.MAX_DENSE_ITEMS", 7)
    found = fit_judges(votes, 0.05, **options)
    assert found.converged
    assert_allclose(found.scores, dense.scores, atol=1e-5)
    assert found.objective == pytest.approx(dense.objective, abs=1e-8)

    def objective(scores):
        return 0.05 * scores @ scores - integrate(votes, scores, np.array(extras), dense=True).log_likelihood

    for k in range(8):
        step = 1e-4 * (np.arange(8) == k)
        slope = (objective(found.scores + step) - objective(found.scores - step)) / 2e-4
        assert slope == pytest.approx(0.0, abs=1e-4)


# ---- scores -------------------------------------------------------------------------------------------------------


def test_many_items_end_where_no_more_steps_may_be_taken(monkeypatch):
    monkeypatch.setattr("podium.pairwise._fit.marginal.MAX_DENSE_ITEMS", 0)
    votes, _ = crowd(6, [1.0, 0.5, 1.5], 40, np.random.default_rng(3))
    with pytest.raises(ConvergenceError):
        CrowdBradleyTerry(max_iter=1, tol=1e-9, reliability_sd=0.5).fit(votes)


def test_with_sides_the_prior_does_not_depend_on_how_items_are_numbered():
    votes, _ = crowd(8, [1.0, 0.6, 1.4, 1.0], 60, np.random.default_rng(4), leans=[0.5, 0.0, -0.3, 0.8])
    turned = replace(votes, left=7 - votes.left, right=7 - votes.right)
    fits = [CrowdBradleyTerry(side_effect=True).fit(each) for each in (votes, turned)]
    assert fits[1].sd_ == pytest.approx(fits[0].sd_, rel=1e-4)
    assert_allclose(fits[1].ranking_.scores[::-1], fits[0].ranking_.scores, atol=1e-3)


@pytest.mark.parametrize("l2", ["auto", 0.3])
def test_judges_held_alike_are_bradley_terry(l2):
    data, _ = crowd(8, [1.0] * 4, 60, np.random.default_rng(1))
    model = CrowdBradleyTerry(l2=l2, reliability_sd=0).fit(data)
    plain = BradleyTerry(l2=l2).fit(data)
    assert_allclose(model.reliability_, 1.0)
    assert_allclose(model.ranking_.scores, plain.ranking_.scores, atol=1e-5)
    assert_allclose(model.predict_proba(data), plain.predict_proba(data), atol=1e-6)
    assert model.log_likelihood_ == pytest.approx(
        float(
            np.log(sigmoid(data.outcome * (model.ranking_.scores[data.left] - model.ranking_.scores[data.right]))).sum()
        )
    )
    for kind, cluster in (("hessian", None), ("sandwich", None), ("cluster", "judge")):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DataWarning)  # few clusters
            ours, theirs = (m.ranking_.with_uncertainty(kind, cluster=cluster).std_errors for m in (model, plain))
        assert_allclose(ours, theirs, rtol=1e-4)
    assert_allclose(model.ranking_.rank_intervals(), plain.ranking_.rank_intervals())


def test_the_mean_slope_over_votes_stays_one_whatever_the_penalty():
    data, _ = crowd(20, [1.5, 1.5, 1.0, 1.0, 0.2, 0.0], 100, np.random.default_rng(2))
    for l2 in ("auto", 0.01, 1.0, 10.0):
        model = CrowdBradleyTerry(l2=l2, reliability_sd=0.6).fit(data)
        assert model.reliability_.mean() == pytest.approx(1.0, abs=0.12)
    assert CrowdBradleyTerry().fit(data).reliability_.mean() == pytest.approx(1.0, abs=0.05)


SETS = 10


def compared(n, slopes, each, seed):
    """Mean over sets of RMSE, agreement and expected log-loss of a crowd's and of plain scores, and of coverage."""
    found = []
    for k in range(SETS):
        data, truth = crowd(n, slopes, each, np.random.default_rng([seed, k]), sd=1.0)
        crowds, plain = CrowdBradleyTerry().fit(data), BradleyTerry(l2="auto").fit(data)
        i, j = np.triu_indices(n, 1)
        asked = replace(data.take(np.zeros(len(i) * len(slopes), dtype=int)), outcome=None)
        asked = replace(asked, left=np.tile(i, len(slopes)), right=np.tile(j, len(slopes)))
        asked = replace(asked, judge=np.repeat(np.arange(len(slopes)), len(i)).astype(np.int32))
        chance = sigmoid(np.repeat(slopes, len(i)) * (truth[asked.left] - truth[asked.right]))
        one = []
        for model in (crowds, plain):
            scores = model.ranking_.scores
            win = model.predict_proba(asked)[:, 0]
            loss = -np.mean(chance * np.log(win) + (1 - chance) * np.log(1 - win))
            order = np.sign(scores[i] - scores[j]) * np.sign(truth[i] - truth[j])
            lower, upper = model.ranking_.intervals()
            held = np.mean((lower <= np.mean(slopes) * truth) & (np.mean(slopes) * truth <= upper))
            rmse = math.sqrt(np.mean((scores - np.mean(slopes) * truth) ** 2))
            one.append([rmse, order.mean(), loss, held])
        found.append(one)
    return np.mean(found, axis=0)


@pytest.mark.parametrize(("n", "judges", "each"), [(20, 100, 5), (12, 6, 50)])
def test_where_judges_are_alike_it_is_as_good_as_plain_bradley_terry(n, judges, each):
    crowds, plain = compared(n, [1.0] * judges, each, 11)
    assert crowds[0] <= 1.02 * plain[0]
    assert crowds[1] >= 0.98 * plain[1]
    assert crowds[2] <= 1.02 * plain[2]
    assert crowds[3] >= 0.9


@pytest.mark.parametrize("slopes", [[1.0] * 70 + [0.0] * 30, [1.0] * 9 + [0.0] * 3, [1.0] * 8 + [-1.0] * 2])
def test_where_judges_differ_it_is_nearer_the_truth(slopes):
    crowds, plain = compared(15, slopes, 8 if len(slopes) == 100 else 80, 12)
    assert crowds[0] < plain[0]
    assert crowds[1] >= plain[1] - 0.01
    assert crowds[2] < plain[2]
    assert crowds[3] >= 0.92


def test_how_much_judges_differ_is_found():
    rng = np.random.default_rng(5)
    found = [CrowdBradleyTerry().fit(crowd(15, rng.normal(1, 0.5, 60), 40, rng)[0]).reliability_sd_ for _ in range(6)]
    assert np.mean(found) == pytest.approx(0.5, abs=0.1)


@pytest.mark.parametrize("outcomes", [["tie", "tie"], ["left", "right"]])
def test_of_judges_who_prefer_nothing_nothing_is_known(outcomes):
    """At equal scores every vote has chance ½, whatever a slope: the votes do not tell reliabilities."""
    pairs = [(a, b) for a in range(5) for b in range(a)]
    rows = [(a, b, outcome, judge) for judge in "vwxyz" for a, b in pairs for outcome in outcomes * 3]
    votes = Comparisons.from_frame(
        dict(zip(("left", "right", "outcome", "judge"), zip(*rows, strict=True), strict=True))
    )
    model = CrowdBradleyTerry().fit(votes)
    assert_allclose(model.log_likelihood_, len(rows) * math.log(0.5), rtol=1e-12)
    flat = CrowdBradleyTerry(reliability_sd=0.5).fit(votes).log_likelihood_
    assert_allclose(flat, model.log_likelihood_, rtol=1e-12)
    assert (model.reliability_sd_, model.reliability_std_errors_.tolist()) == (0.0, [0.0] * 5), "not shown to differ"


def test_the_evidence_for_judges_who_differ_is_that_of_brute_force():
    """Two items, so that the marginal likelihood is an integral over one difference, d ~ N(0, 2s²)."""
    rng = np.random.default_rng(21)
    c, _ = crowd(2, rng.normal(1, 0.8, 30), 20, rng, sd=1.0)
    votes, l2 = JudgeVotes.of(c, by_side=False, worth=1.0), 0.5 / 1.2**2
    alike = fit_judges(votes, l2, scores=np.zeros(2), extras=np.zeros(3), free=(), tol=1e-8, max_iter=50)
    scale = _Scale(votes, l2, alike, (), 50)
    ours, theirs = [], []
    for sd in (0.0, 0.3, 0.6, 1.0):
        ours.append(scale.log_evidence(sd))
        spread = math.sqrt(0.5 / scale.penalty(sd))

        def likely(d, sd=sd, spread=spread):
            at = integrate(votes, np.array([d / 2, -d / 2]), np.array([0.0, sd, 0.0]), dense=False).log_likelihood
            return math.exp(at - alike.integral.log_likelihood - d * d / (4 * spread**2)) / spread

        theirs.append(math.log(quad(likely, -6, 6, points=[0.0], limit=200)[0]) - math.log(spread) ** 2 / 2)
    assert_allclose(np.diff(ours), np.diff(theirs), atol=0.03)


def test_large_votes_find_the_log_determinant_without_a_matrix():
    rng = np.random.default_rng(22)
    c, truth = crowd(60, rng.normal(1, 0.5, 40), 60, rng, sd=1.0)
    votes = JudgeVotes.of(c, by_side=False, worth=1.0)
    off = []
    for sd in (0.0, 0.3, 0.6):
        dense, sparse = (integrate(votes, truth, np.array([0.0, sd, 0.0]), dense=each) for each in (True, False))
        matrix = dense.hessian()[:60, :60] + np.eye(60)
        off.append(_log_determinant(sparse, 1.0) - np.linalg.slogdet(matrix)[1])
        assert _log_determinant(dense, 1.0) == pytest.approx(np.linalg.slogdet(matrix)[1])
    assert_allclose(off, off[0], atol=1.0)  # of some 170: what changes with τ is what counts


def test_the_log_determinant_without_a_matrix_does_not_ask_on_which_side_an_item_stood():
    """Judges alike, a wide ridge: what is beside the diagonal is small, and second order is nearly the dense matrix."""
    rng = np.random.default_rng(23)
    c, truth = crowd(12, np.ones(8), 60, rng, sd=1.0, leans=np.zeros(8))
    logs = []
    for by_side in (False, True):
        votes = JudgeVotes.of(c, by_side=by_side, worth=1.0)
        assert by_side == bool((votes.left > votes.right).any())
        dense, sparse = (integrate(votes, truth, np.zeros(3), dense=each) for each in (True, False))
        matrix = dense.hessian()[:12, :12] + 100.0 * np.eye(12)
        logs.append(_log_determinant(sparse, 100.0))
        beside = matrix / np.sqrt(np.outer(matrix.diagonal(), matrix.diagonal())) - np.eye(12)
        third = np.abs(np.linalg.eigvalsh(beside)) ** 3  # what a series of log(1 + x) cut after x² leaves, at most
        assert abs(logs[-1] - np.linalg.slogdet(matrix)[1]) <= third.sum() / 3 / (1 - third.max() ** (1 / 3))
    assert logs[0] == pytest.approx(logs[1], rel=1e-12)


def test_leans_are_found_and_scores_are_free_of_them():
    rng = np.random.default_rng(6)
    leans = rng.normal(0.5, 0.8, 25)
    data, truth = crowd(12, [1.0] * 25, 80, rng, leans=leans)
    model = CrowdBradleyTerry(side_effect=True).fit(data)
    assert np.corrcoef(model.lean_, leans)[0, 1] > 0.85
    assert model.side_effect_ == pytest.approx(leans.mean(), abs=0.25)
    assert model.lean_sd_ == pytest.approx(0.8, abs=0.3)
    held = np.abs(model.lean_ - leans) <= 1.96 * model.lean_std_errors_
    assert held.mean() >= 0.8
    plain = CrowdBradleyTerry().fit(data)
    assert np.mean((model.ranking_.scores - truth) ** 2) < np.mean((plain.ranking_.scores - truth) ** 2)
    assert {"lean", "lean_std_error"} <= set(model.judge_frame().columns)
    best, worst = model.ranking_.order[0], model.ranking_.order[-1]
    leaning = model.judges_[int(model.lean_.argmax())]
    asked = Comparisons.from_frame(
        {"left": [best, worst], "right": [worst, best], "outcome": [1, 0], "judge": [leaning, leaning]}
    )
    on_left, on_right = model.predict_proba(asked)[:, [0, 2]].diagonal()
    assert on_left > model.win_probability(best, worst, judge=leaning) > on_right


def test_errors_by_sandwich_cluster_and_bootstrap_agree_where_the_model_is_right():
    rng = np.random.default_rng(7)
    data, _ = crowd(8, rng.normal(1, 0.4, 80), 30, rng, sd=1.0)
    ranking = CrowdBradleyTerry(reliability_sd=0.4).fit(data).ranking_
    plain = ranking.std_errors
    for kind, cluster in (("sandwich", None), ("cluster", "judge"), ("bootstrap", "judge"), ("bootstrap", None)):
        other = ranking.with_uncertainty(kind, cluster=cluster, **({"seed": 1} if kind == "bootstrap" else {}))
        assert_allclose(other.std_errors, plain, rtol=0.35)
        assert np.mean(other.std_errors) == pytest.approx(np.mean(plain), rel=0.15)


# ---- chances ------------------------------------------------------------------------------------------------------


def test_an_average_judge_is_the_mean_over_judges_and_a_known_one_themself():
    data, _ = crowd(6, [1.5, 1.5, 1.0, 0.5, 0.0, 1.5], 60, np.random.default_rng(8))
    model = CrowdBradleyTerry(l2=0.1, reliability_sd=0.7).fit(data)
    gap = model.ranking_.score(0) - model.ranking_.score(1)

    def mean(slope, sd):
        return quad(lambda z: sigmoid((slope + sd * z) * gap) * math.exp(-z * z / 2) / math.sqrt(2 * math.pi), -9, 9)[0]

    assert model.win_probability(0, 1) == pytest.approx(mean(1.0, 0.7), abs=1e-6)
    for k, judge in enumerate(data.judges):
        expected = mean(model.reliability_[k], model.reliability_std_errors_[k])
        assert model.win_probability(0, 1, judge=judge) == pytest.approx(expected, abs=1e-6)
    alone = CrowdBradleyTerry(reliability_sd=0.7).fit(data)
    assert abs(alone.win_probability(0, 1) - 0.5) < abs(
        sigmoid(alone.ranking_.score(0) - alone.ranking_.score(1)) - 0.5
    )


# ---- flags --------------------------------------------------------------------------------------------------------


def test_the_distribution_of_a_sum_is_that_of_all_outcomes():
    step, chance = np.array([3, 1, 4, 1]), np.array([0.2, 0.5, 0.9, 0.4])
    mass = np.empty(10)
    sum_distribution(step, chance, mass)
    expected = np.zeros(10)
    for won in product((0, 1), repeat=4):
        expected[int(step @ won)] += np.prod(np.where(won, chance, 1 - chance))
    assert_allclose(mass, expected, atol=1e-15)


def test_p_values_of_coin_flips_are_exact():
    """Over all outcomes of equal differences, P(p ≤ α) ≤ α, and p is the binomial tail."""
    gap = np.ones(10)
    for wins in range(11):
        won = np.arange(10) < wins
        test = judge_tests({0: Cast(gap, np.zeros(10), won, np.ones(10))})[0]
        below = sum(math.comb(10, k) for k in range(wins + 1)) / 1024
        above = sum(math.comb(10, k) for k in range(wins, 11)) / 1024
        assert test.chance == pytest.approx(below, rel=1e-12)
        assert test.better == pytest.approx(above, rel=1e-12)
        assert test.honest <= test.chance


def test_flags_hold_the_false_discovery_rate_of_benjamini_and_hochberg():
    p = {0: 0.001, 1: 0.013, 2: 0.014, 3: 0.6, 4: 0.7}  # 0.01·k: the third passes, and takes the second with it
    assert set(flag_judges({k: JudgeTest(x, 0.5, 0.5) for k, x in p.items()})) == {0, 1, 2}
    assert flag_judges({k: JudgeTest(x, 0.5, 0.01) for k, x in p.items()}) == {}  # shown to be better than chance
    assert flag_judges({0: JudgeTest(1e-9, 1e-6, 1.0), 1: JudgeTest(0.9, 0.9, 0.1)}) == {0: "contrary"}


@pytest.mark.parametrize(("n", "judges", "each"), [(20, 30, 25), (10, 6, 60)])
def test_honest_judges_are_hardly_ever_flagged(n, judges, each):
    """With every judge honest, a set with a flag has chance 5 % at most; of 40 sets six or more have one in 1.4 %."""
    drawn = [crowd(n, [1.0] * judges, each, np.random.default_rng([13, k]), sd=1.0)[0] for k in range(40)]
    with thin_data():
        assert sum(bool(CrowdBradleyTerry(reliability_sd=0).fit(data).flags_) for data in drawn) <= 5


def test_planted_judges_are_found_and_good_ones_are_not_accused():
    slopes = [1.0] * 12 + [0.0] * 4 + [-1.0] * 2
    missed = 0
    for seed in range(5):
        data, _ = crowd(20, slopes, 120, np.random.default_rng([14, seed]))
        flags = CrowdBradleyTerry().fit(data).flags_
        assert {f"judge {k}" for k in (16, 17)} <= {judge for judge, flag in flags.items() if flag == "contrary"}
        assert not set(flags) & {f"judge {k}" for k in range(12)}
        missed += 4 - sum(flag == "chance" for flag in flags.values())
    assert missed <= 2  # of 20


def test_too_few_votes_are_never_flagged():
    """24 votes against everybody else's, and none is tested."""
    data, truth = crowd(6, [3.0] * 12, 24, np.random.default_rng(15))
    wrong = (data.judge == 0) & (truth[data.left] != truth[data.right])
    turned = np.where(wrong, np.where(truth[data.left] > truth[data.right], -1, 1), data.outcome).astype(np.int8)
    model = CrowdBradleyTerry().fit(replace(data, outcome=turned))
    assert model.flags_ == {}
    assert model.judge_frame()["p_value"].null_count() == 12


def test_the_table_of_judges():
    data, _ = crowd(10, [1.0, 1.0, 1.0, -1.0], 200, np.random.default_rng(2))
    model = CrowdBradleyTerry().fit(data)
    frame = model.judge_frame()
    assert frame.columns == ["judge", "reliability", "std_error", "votes", "p_value", "flag"]
    assert frame["judge"][0] == "judge 3"
    assert frame["flag"][0] == "contrary"
    assert frame["votes"].sum() == 800
    best, worst = model.ranking_.order[0], model.ranking_.order[-1]
    assert model.win_probability(best, worst) > 0.5 > model.win_probability(best, worst, judge="judge 3")


# ---- strange votes ------------------------------------------------------------------------------------------------


def test_what_it_cannot_do_is_said():
    plain = Comparisons.from_pairs([("a", "b")])
    with pytest.raises(InputError, match="the votes name no judge"):
        CrowdBradleyTerry().fit(plain)
    alone = Comparisons.from_arrays(["a", "b"], ["b", "a"], judge=["ann", "ann"])
    with pytest.raises(InputError, match="the only judge is 'ann'"):
        CrowdBradleyTerry().fit(alone)
    two = Comparisons.from_arrays(["a", "b", "a"], ["b", "c", "c"], judge=["ann", "bob", "bob"])
    for options, message in (
        ({"l2": -1}, "l2=-1"),
        ({"reliability_sd": -1}, "reliability_sd=-1"),
        ({"reliability_sd": 9}, "reliability_sd is 9"),
        ({"side_effect": True}, "which item stood on which side"),
    ):
        with pytest.raises(InputError, match=message):
            CrowdBradleyTerry(**options).fit(two)
    with thin_data():
        with pytest.raises(ConvergenceError, match="raise l2="):
            CrowdBradleyTerry(max_iter=1, reliability_sd=1.0).fit(two)
        with pytest.raises(InputError, match="'eve' is not among the 2 judges"):
            CrowdBradleyTerry().fit(two).win_probability("a", "b", judge="eve")
    with pytest.raises(NotFittedError, match="call fit"):
        _ = CrowdBradleyTerry().flags_


@pytest.mark.parametrize("options", [{}, {"l2": 0.1, "reliability_sd": 0.7}], ids=str)
def test_thin_votes_have_a_right_answer(options):
    rng = np.random.default_rng(16)
    left = rng.integers(0, 6, 120)
    right = (left + rng.integers(1, 6, 120)) % 6
    judge, low, high = rng.integers(0, 12, 120).tolist(), np.minimum(left, right), np.maximum(left, right)
    cases = {
        "a vote each": Comparisons.from_arrays(low, high, judge=range(120)),
        "all ties": Comparisons.from_arrays(left, right, tie=np.ones(120, bool), judge=judge),
        "all wins": Comparisons.from_arrays(low, high, judge=judge),
        "two items": Comparisons.from_arrays([0] * 120, [1] * 120, judge=judge),
        "tiny weights": Comparisons.from_arrays(low, high, judge=judge, weight=np.full(120, 1e-130)),
    }
    for name, c in cases.items():
        with thin_data():
            model = CrowdBradleyTerry(**options).fit(c)
        scores = dict(zip(c.items, model.ranking_.scores, strict=True))
        assert all(math.isfinite(score) for score in scores.values())
        assert np.isfinite(model.predict_proba(c)).all()
        assert model.flags_ == {}
        if name == "all ties":
            assert_allclose(list(scores.values()), 0.0, atol=1e-9)
        elif "tiny" not in name or not options:  # a penalty of 0.1 outweighs votes that weigh nothing
            assert sorted(scores, key=lambda item: -scores[item]) == sorted(scores)


def test_weights_in_another_unit_say_the_same():
    data, _ = crowd(6, [1.0, 0.2, 1.5, 1.0] * 3, 30, np.random.default_rng(17))
    one, tiny = (CrowdBradleyTerry().fit(replace(data, weight=np.full(360, w))) for w in (1.0, 1e-130))
    plain = CrowdBradleyTerry().fit(data)
    assert plain.reliability_sd_ > 0
    for model in (one, tiny):
        assert_allclose(model.ranking_.scores, plain.ranking_.scores, atol=1e-8)
        assert_allclose(model.reliability_, plain.reliability_, atol=1e-8)
        assert_allclose(model.ranking_.std_errors, plain.ranking_.std_errors, rtol=1e-6)


def test_judges_who_contradict_each_other_are_told():
    low, high = np.array([(i, j) for i in range(5) for j in range(i + 1, 5)] * 12).T
    judge = np.repeat(np.arange(12), 10)
    turned = judge % 2 == 1
    c = Comparisons.from_arrays(np.where(turned, high, low), np.where(turned, low, high), judge=judge.tolist())
    with pytest.warns(DataWarning, match="some contradict the others about the order itself"):
        CrowdBradleyTerry().fit(c)


def test_a_side_that_decides_every_vote_is_told():
    data, _ = crowd(5, [1.0] * 4, 30, np.random.default_rng(18), leans=[0.0] * 4)
    with pytest.warns(SeparationWarning, match="the side separates the votes"):
        CrowdBradleyTerry(side_effect=True).fit(replace(data, outcome=np.ones(120, dtype=np.int8)))


@pytest.mark.parametrize("size", [0.3, 2.0, 12.0])
@pytest.mark.parametrize("seed", range(3))
def test_the_slope_of_a_judge_is_the_most_likely_one_with_a_prior_about_one(size, seed):
    rng = np.random.default_rng(seed)
    gap, weight = size * rng.normal(size=60), rng.uniform(0.2, 3.0, 60)
    won = rng.random(60) < 1 / (1 + np.exp(-1.3 * gap))
    share = weight / weight.mean()

    def loss(b):
        return share @ np.logaddexp(0.0, np.where(won, -b * gap, b * gap)) + 0.5 * (b - 1) ** 2

    best = minimize_scalar(loss, bounds=(-5, 30), method="bounded", options={"xatol": 1e-9}).x
    assert Cast(gap, np.zeros(60), won, weight).slope() == pytest.approx(best, abs=1e-5)


@pytest.mark.parametrize("votes", [4, 9])
def test_the_chance_of_a_sum_of_steps_is_that_of_all_outcomes(votes):
    rng = np.random.default_rng(votes)
    step, chance = rng.integers(1, 5, votes), rng.random(votes)
    for reached in range(-1, int(step.sum()) + 1):
        total = 0.0
        for won in product([0, 1], repeat=votes):
            if np.dot(step, won) <= reached:
                total += np.prod(np.where(won, chance, 1 - chance))
        if reached >= 0:
            assert _at_most(step, chance, reached) == pytest.approx(total)


def test_beyond_thousands_of_votes_a_sum_is_normal(monkeypatch):
    step, chance = np.full(400, 3), np.full(400, 0.4)
    exact = [_at_most(step, chance, reached) for reached in (450, 480, 500)]
    monkeypatch.setattr("podium.pairwise._fit.judge_tests.MAX_EXACT_VOTES", 399)
    for reached, expected in zip((450, 480, 500), exact, strict=True):
        assert _at_most(step, chance, reached) == pytest.approx(expected, abs=0.02)
        spread = 3 * math.sqrt(400 * 0.24)
        assert _at_most(step, chance, reached) == pytest.approx(norm.cdf((reached + 0.5 - 480) / spread))


@pytest.mark.parametrize(
    ("p_values", "found"),
    [([0.01, 0.02, 0.9], [0, 1]), ([0.04, 0.9, 0.9], []), ([0.05], [0]), ([0.051], []), ([0.05, 0.05], [0, 1]),
     ([0.03, 0.04, 0.05], [0, 1, 2]), ([0.5, 0.01, 0.03], [1, 2]), ([], [])],
)  # fmt: skip
def test_discoveries_are_those_of_benjamini_and_hochberg(p_values, found):
    assert _discoveries(dict(enumerate(p_values))) == found
    order = np.sort(p_values)
    passed = [k for k in range(len(order)) if order[k] <= 0.05 * (k + 1) / len(order)]
    assert len(found) == (passed[-1] + 1 if passed else 0)
