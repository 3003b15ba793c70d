"""RABF against the literal (6), normal equations, its limits, and laws."""

import inspect
import itertools
import re
import warnings

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import sparse

from podium import RABF, BradleyTerry, Comparisons
from podium.errors import ConvergenceError, DataWarning, InputError, NotFittedError, PodiumWarning
from podium.pairwise._fit import hinge, solvers

from helpers import as_comparisons, simulate
from reference_rabf import dense_logistic, design, normal_equations
from strategies import votes

PENALTIES = st.sampled_from([0.02, 0.3, 2.0, 50.0])


def planted(n, d, m, rng, sd=0.5, strength=1.0):
    """Votes whose scores are X w + r; returns comparisons, features, scores, weights."""
    features, weights = rng.normal(size=(n, d)), strength * rng.normal(size=d)
    truth = features @ weights + sd * rng.normal(size=n)
    left = rng.integers(0, n, m)
    right = (left + rng.integers(1, n, m)) % n
    won = rng.random(m) < 1 / (1 + np.exp(truth[right] - truth[left]))
    winner, loser = np.where(won, left, right), np.where(won, right, left)
    return Comparisons.from_arrays(winner, loser, items=range(n)), features, truth, weights


@settings(max_examples=80, deadline=None)
@given(votes(), st.integers(1, 3), PENALTIES, PENALTIES, st.integers(0, 2**32 - 1))
def test_the_optimum_is_that_of_dense_newton_on_the_literal_problem(data, d, feature_penalty, residual_penalty, seed):
    n, rows = data
    features = np.random.default_rng(seed).normal(size=(n, d))
    model = RABF(feature_penalty=feature_penalty, residual_penalty=residual_penalty, standardize=False, tol=1e-8)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)  # more features than items, or than votes
        model.fit(as_comparisons(n, rows), features)
    theta, objective = dense_logistic(n, rows, features, feature_penalty, residual_penalty)
    assert_allclose(model.ranking_.scores, features @ theta[:d] + theta[d:], atol=1e-6)
    assert_allclose(model.coef_, theta[:d], atol=1e-6)
    assert_allclose(model.residuals_, theta[d:], atol=1e-6)
    assert model.objective_ == pytest.approx(objective, abs=1e-8)


@pytest.mark.parametrize("how", ["banded", "pcg"])
def test_other_solvers_find_the_same_optimum(how, monkeypatch):
    rng = np.random.default_rng(0)
    n = 60
    winner, loser, _ = simulate(n, 900, rng, near=2 if how == "banded" else None)
    data, features = Comparisons.from_arrays(winner, loser, items=range(n)), rng.normal(size=(n, 4))
    monkeypatch.setattr("podium.pairwise._fit.feature_solver.DENSE", 0)
    monkeypatch.setattr(solvers, "DENSE", 0)
    if how == "banded":
        monkeypatch.setattr("podium.pairwise._fit.feature_solver.MAX_CG_STEPS", 0)
    model = RABF(feature_penalty=0.5, residual_penalty=0.01, standardize=False).fit(data, features)
    assert model.solver_ == how
    rows = [(i, j, 1.0, 1.0) for i, j in zip(winner, loser, strict=True)]
    theta, objective = dense_logistic(n, rows, features, 0.5, 0.01)
    assert_allclose(model.ranking_.scores, features @ theta[:4] + theta[4:], atol=1e-6)
    assert model.objective_ == pytest.approx(objective, rel=1e-12)


@settings(max_examples=60, deadline=None)
@given(votes(), PENALTIES, PENALTIES, st.sampled_from([0.0, 0.2]), st.integers(0, 2**32 - 1))
def test_the_squared_loss_agrees_with_the_normal_equations(data, feature_penalty, residual_penalty, flip_rate, seed):
    n, rows = data
    features = np.random.default_rng(seed).normal(size=(n, 1))
    options = {"feature_penalty": feature_penalty, "residual_penalty": residual_penalty, "flip_rate": flip_rate}
    model = RABF(loss="squared", standardize=False, **options).fit(as_comparisons(n, rows), features)
    targets = np.array([2 * y - 1 for *_, y, _ in rows])
    keep = 1 - 2 * flip_rate
    theta, _ = normal_equations(n, rows, targets / keep, features, feature_penalty, residual_penalty)
    assert_allclose(model.ranking_.scores, features @ theta[:1] + theta[1:], atol=1e-8)
    margin = design(n, rows, features) @ theta
    weight = np.array([w for *_, w in rows])
    unbiased = ((1 - flip_rate) * (margin - targets) ** 2 - flip_rate * (margin + targets) ** 2) / keep  # Lemma 5
    penalty = feature_penalty * theta[:1] @ theta[:1] + residual_penalty * theta[1:] @ theta[1:]
    assert model.objective_ == pytest.approx(weight @ unbiased + penalty, abs=1e-8)


def test_real_valued_margins_agree_with_the_normal_equations():
    rng = np.random.default_rng(1)
    n, m = 9, 60
    features = rng.normal(size=(n, 2))
    left = rng.integers(0, n, m)
    right = (left + rng.integers(1, n, m)) % n
    margin, weight = rng.exponential(size=m), rng.choice([0.5, 1.0, 2.0], m)
    data = Comparisons.from_arrays(left, right, margin=margin, weight=weight, items=range(n))
    model = RABF(loss="squared", feature_penalty=0.3, residual_penalty=0.7, standardize=False).fit(data, features)
    rows = [(i, j, 1.0, w) for i, j, w in zip(left, right, weight, strict=True)]
    theta, objective = normal_equations(n, rows, margin, features, 0.3, 0.7)
    assert_allclose(model.ranking_.scores, features @ theta[:2] + theta[2:], atol=1e-9)
    assert model.objective_ == pytest.approx(objective)


@pytest.mark.parametrize("unit", [1e-6, 1e6])
def test_margins_may_be_in_any_unit(unit):
    rng = np.random.default_rng(11)
    winner, loser, _ = simulate(8, 150, rng)
    margin, features = rng.exponential(size=150), rng.normal(size=(8, 2))
    for penalty in (1.0, "auto"):
        options = {"loss": "squared", "feature_penalty": penalty, "residual_penalty": penalty}
        plain, other = (
            RABF(**options).fit(Comparisons.from_arrays(winner, loser, margin=margin * u, items=range(8)), features)
            for u in (1.0, unit)
        )
        assert_allclose(other.ranking_.scores, unit * plain.ranking_.scores, rtol=1e-5, atol=1e-5 * unit)


def test_a_huge_feature_penalty_is_bradley_terry():
    data, features, *_ = planted(20, 3, 2000, np.random.default_rng(2))
    model = RABF(feature_penalty=1e12, residual_penalty=0.7).fit(data, features)
    assert_allclose(model.ranking_.scores, BradleyTerry(l2=0.7).fit(data).ranking_.scores, atol=1e-6)
    assert_allclose(model.coef_, 0.0, atol=1e-6)


def test_a_huge_residual_penalty_is_logistic_regression_on_differences():
    from sklearn.linear_model import LogisticRegression

    data, features, *_ = planted(20, 3, 2000, np.random.default_rng(3))
    model = RABF(feature_penalty=0.7, residual_penalty=1e12, standardize=False).fit(data, features)
    differences = features[data.left] - features[data.right]
    signs = np.where(np.arange(len(differences)) % 2, 1, -1)  # the regression wants both outcomes
    twin = LogisticRegression(C=1 / 1.4, fit_intercept=False, tol=1e-10).fit(differences * signs[:, None], signs)
    assert_allclose(model.coef_, twin.coef_[0], atol=1e-5)
    assert_allclose(model.residuals_, 0.0, atol=1e-6)


@pytest.mark.parametrize("penalty", [0.4, "auto"])
def test_lemma_5_scores_and_errors_grow_by_one_over_one_minus_twice_the_flip_rate(penalty):
    data, features, *_ = planted(15, 2, 500, np.random.default_rng(4))
    options = {"loss": "squared", "feature_penalty": penalty, "residual_penalty": penalty}
    plain = RABF(**options).fit(data, features)
    for flip_rate in (0.1, 0.3, 0.45):
        keep = 1 - 2 * flip_rate
        flipped = RABF(**options, flip_rate=flip_rate).fit(data, features)
        assert_allclose(flipped.ranking_.scores, plain.ranking_.scores / keep, rtol=1e-8)
        assert_allclose(flipped.ranking_.std_errors, plain.ranking_.std_errors / keep, rtol=1e-8)
        assert_allclose(flipped.coef_std_errors_, plain.coef_std_errors_ / keep, rtol=1e-8)
        assert flipped.ranking_.order == plain.ranking_.order
        assert flipped.win_probability(0, 1) == pytest.approx(plain.win_probability(0, 1))  # of a vote as reported


def flipped_margins(flip_rate, seed, n=30, m=2400):
    """Real-valued votes on scores X w + r with unit noise, a share of them reported the wrong way round."""
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(n, 3))
    truth = 0.5 * features @ rng.normal(size=3) + 0.25 * rng.normal(size=n)
    left = rng.integers(0, n, m)
    right = (left + rng.integers(1, n, m)) % n
    margin = (truth[left] - truth[right] + rng.normal(size=m)) * np.where(rng.random(m) < flip_rate, -1, 1)
    winner, loser = np.where(margin > 0, left, right), np.where(margin > 0, right, left)
    return Comparisons.from_arrays(winner, loser, margin=np.abs(margin), items=range(n)), features, truth


def coverage(ranking, truth):
    lower, upper = ranking.intervals()
    centred = truth - truth.mean() + ranking.scores.mean()
    return np.mean((lower <= centred) & (centred <= upper))


@pytest.mark.parametrize("flip_rate", [0.1, 0.2, 0.3])
def test_intervals_of_the_squared_loss_cover_when_votes_are_flipped(flip_rate):
    covered = []
    for seed in range(20):
        data, features, truth = flipped_margins(flip_rate, 100 + seed, m=600)
        covered.append(coverage(RABF(loss="squared", flip_rate=flip_rate).fit(data, features).ranking_, truth))
    assert 0.90 - 2 * np.std(covered) / np.sqrt(20) <= np.mean(covered) <= 0.98  # with Monte-Carlo error


def test_the_logistic_loss_corrected_for_flips_agrees_with_a_generic_optimiser():
    from scipy.optimize import minimize

    data, features, *_ = planted(6, 1, 80, np.random.default_rng(5))
    options = {"flip_rate": 0.1, "flip_loss": "corrected", "standardize": False}
    model = RABF(feature_penalty=3.0, residual_penalty=8.0, **options).fit(data, features)
    rows = [(i, j, 1.0, 1.0) for i, j in zip(data.left, data.right, strict=True)]
    table = design(6, rows, features)

    def objective(theta):
        margin = table @ theta
        loss = (0.9 * np.logaddexp(0, -margin) - 0.1 * np.logaddexp(0, margin)) / 0.8
        return loss.sum() + 3.0 * theta[:1] @ theta[:1] + 8.0 * theta[1:] @ theta[1:]

    found = minimize(objective, np.zeros(7), method="BFGS", options={"gtol": 1e-8})
    assert model.objective_ == pytest.approx(found.fun, abs=1e-8)
    assert model.ranking_.uncertainty == "sandwich"


def lapse_twin(n, rows, features, penalties, flip_rate, start):
    """Minimise the explicit lapse likelihood with penalties by a generic optimiser."""
    from scipy.optimize import minimize

    table = design(n, rows, features)
    outcome, weight = np.array([(y, w) for *_, y, w in rows]).T
    ridge = np.repeat(penalties, [features.shape[1], n])

    def objective(theta):
        right, wrong = 1 / (1 + np.exp(-table @ theta)), 1 / (1 + np.exp(table @ theta))
        left_wins = (1 - flip_rate) * right + flip_rate * wrong
        right_wins = (1 - flip_rate) * wrong + flip_rate * right
        return -weight @ (outcome * np.log(left_wins) + (1 - outcome) * np.log(right_wins)) + ridge @ theta**2

    return minimize(objective, start, method="BFGS", options={"gtol": 1e-7, "maxiter": 2000})


@settings(max_examples=25, deadline=None)
@given(votes(), st.sampled_from([0.05, 0.2, 0.4]), st.integers(0, 2**32 - 1))
def test_known_flips_are_fitted_as_by_a_generic_optimiser_from_any_start(data, flip_rate, seed):
    n, rows = data
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(n, 2))
    options = {"feature_penalty": 0.7, "residual_penalty": 1.5, "standardize": False}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        model = RABF(flip_rate=flip_rate, tol=1e-8, **options).fit(as_comparisons(n, rows), features)
    for start in (np.zeros(n + 2), 3 * rng.normal(size=n + 2)):
        twin = lapse_twin(n, rows, features, (0.7, 1.5), flip_rate, start)
        assert model.objective_ == pytest.approx(twin.fun, abs=1e-6)
        assert_allclose(model.ranking_.scores, features @ twin.x[:2] + twin.x[2:], atol=1e-3)


@pytest.mark.parametrize(("dense", "covariate"), [(400, False), (0, False), (400, True)])
def test_known_flips_agree_with_the_generic_optimiser_for_every_solver_and_with_covariates(
    dense, covariate, monkeypatch
):
    monkeypatch.setattr("podium.pairwise._fit.feature_solver.DENSE", dense)
    rng = np.random.default_rng(6)
    data, features, *_ = planted(8, 1, 200, rng)
    style = rng.normal(size=200)
    if covariate:
        data = Comparisons.from_arrays(data.left, data.right, covariates={"length": style}, items=range(8))
    options = {"feature_penalty": 0.5, "residual_penalty": 0.5, "standardize": False, "tol": 1e-8}
    model = RABF(flip_rate=0.15, **options).fit(data, features)
    rows = [(i, j, 1.0, 1.0) for i, j in zip(data.left, data.right, strict=True)]
    if not covariate:
        twin = lapse_twin(8, rows, features, (0.5, 0.5), 0.15, np.zeros(9))
        assert model.objective_ == pytest.approx(twin.fun, abs=1e-7)
        return
    margin = design(8, rows, features) @ np.concatenate([model.coef_, model.residuals_])
    effects = model.covariate_coef_[0] + np.array([0.0, 0.05, -0.05])
    losses = [-np.log(0.15 + 0.7 / (1 + np.exp(-margin - effect * style))).sum() for effect in effects]
    assert np.argmin(losses) == 0  # the covariate's effect is where the loss is least


def test_errors_of_known_flips_are_those_of_the_expected_information():
    data, features, *_ = planted(10, 2, 300, np.random.default_rng(7))
    model = RABF(feature_penalty=0.4, residual_penalty=1.5, standardize=False, flip_rate=0.2).fit(data, features)
    rows = [(i, j, 1.0, 1.0) for i, j in zip(data.left, data.right, strict=True)]
    table = design(10, rows, features)
    theta, step = np.concatenate([model.coef_, model.residuals_]), 1e-5

    def chance(theta):
        return 0.2 + 0.6 / (1 + np.exp(-table @ theta))

    moved = np.array([(chance(theta + step * e) - chance(theta - step * e)) / (2 * step) for e in np.eye(12)])
    information = (moved / (chance(theta) * (1 - chance(theta)))) @ moved.T
    posterior = np.linalg.inv(information + np.diag([0.8] * 2 + [3.0] * 10))
    assert_allclose(model.coef_std_errors_, np.sqrt(posterior.diagonal()[:2]), rtol=1e-5)
    assert model.ranking_.uncertainty == "auto"
    slopes = -moved / chance(theta)  # of each vote, all won by the left item
    total = slopes.sum(axis=1) + 2 * np.array([0.4] * 2 + [1.5] * 10) * theta
    assert_allclose(total, 0.0, atol=1e-4)
    robust = posterior @ (slopes @ slopes.T) @ posterior
    to_scores = (np.eye(10) - 0.1) @ np.hstack([features, np.eye(10)])
    expected = np.sqrt((to_scores @ robust @ to_scores.T).diagonal())
    assert_allclose(model.ranking_.with_uncertainty("sandwich").std_errors, expected, rtol=1e-4)


def flipped_wins(flip_rate, seed, n=30, m=3000):
    data, features, truth, _ = planted(n, 3, m, np.random.default_rng(seed), strength=0.7)
    flip = np.random.default_rng(seed + 999).random(m) < flip_rate
    winner, loser = np.where(flip, data.right, data.left), np.where(flip, data.left, data.right)
    return Comparisons.from_arrays(winner, loser, items=range(n)), features, truth


def test_known_flips_are_nearer_to_the_truth_than_the_plain_and_the_corrected_loss():
    errors = {"lapse": [], "corrected": [], "plain": []}
    covered = []
    for seed in range(6):
        data, features, truth = flipped_wins(0.3, seed, m=1500)
        lapse = RABF(flip_rate=0.3).fit(data, features)
        same = {"feature_penalty": lapse.feature_penalty_, "residual_penalty": lapse.residual_penalty_}
        corrected = RABF(flip_rate=0.3, flip_loss="corrected", **same).fit(data, features)
        for name, model in {"lapse": lapse, "corrected": corrected, "plain": RABF().fit(data, features)}.items():
            scores = model.ranking_.scores
            errors[name].append(np.mean((scores - scores.mean() - truth + truth.mean()) ** 2))
        covered.append(coverage(lapse.ranking_, truth))
    assert np.mean(errors["lapse"]) < 0.8 * np.mean(errors["corrected"])
    assert np.mean(errors["lapse"]) < 0.5 * np.mean(errors["plain"])
    assert np.mean(covered) > 0.7


def test_votes_that_two_explanations_fit_are_refused():
    rng = np.random.default_rng(24)
    n, m = rng.integers(3, 7), rng.integers(10, 60)
    left = rng.integers(0, n, m)
    right = (left + rng.integers(1, n, m)) % n
    data = Comparisons.from_arrays(left, right, items=range(int(n)))
    rows = [(i, j, 1.0, 1.0) for i, j in zip(left, right, strict=True)]
    ends = [
        lapse_twin(n, rows, np.empty((n, 0)), (1.0, 1e-3), 0.3, 4 * rng.normal(size=n)).x for _ in range(12)
    ]  # a generic optimiser, too, ends in several places
    assert max(np.abs((one - one.mean()) - (other - other.mean())).max() for one in ends for other in ends) > 1
    with pytest.raises(ConvergenceError, match=r"flip_rate=0.3: these votes can be explained in more than one way"):
        RABF(flip_rate=0.3, residual_penalty=1e-3).fit(data)
    assert RABF(flip_rate=0.3, residual_penalty=0.5).fit(data).converged_


def test_covariates_agree_with_logistic_regression_on_the_whole_design():
    from sklearn.linear_model import LogisticRegression

    rng = np.random.default_rng(6)
    data, features, truth, _ = planted(12, 2, 3000, rng)
    style = rng.normal(size=3000)
    won = rng.random(3000) < 1 / (1 + np.exp(-(truth[data.left] - truth[data.right] + 0.8 * style)))
    winner, loser = np.where(won, data.left, data.right), np.where(won, data.right, data.left)
    sign = np.where(won, 1.0, -1.0)
    data = Comparisons.from_arrays(winner, loser, covariates={"length": sign * style}, items=range(12))
    model = RABF(feature_penalty=0.5, residual_penalty=0.5, standardize=False).fit(data, features)
    rows = [(i, j, 1.0, 1.0) for i, j in zip(winner, loser, strict=True)]
    table = np.column_stack([design(12, rows, features), 1e4 * sign * style])  # so scaled, its penalty is nothing
    twin = LogisticRegression(C=1.0, fit_intercept=False, tol=1e-12, max_iter=5000, solver="newton-cholesky")
    twin.fit(table * sign[:, None], sign)
    assert_allclose(model.covariate_coef_, 1e4 * twin.coef_[0, -1:], atol=1e-4)
    assert model.covariate_names_ == ("length",)
    assert abs(model.covariate_coef_[0] - 0.8) < 4 * model.covariate_std_errors_[0]


@pytest.mark.parametrize("loss", ["logistic", "squared"])
def test_posterior_errors_are_those_of_the_dense_hessian(loss):
    data, features, *_ = planted(10, 2, 300, np.random.default_rng(7))
    model = RABF(loss=loss, feature_penalty=0.4, residual_penalty=1.5, standardize=False).fit(data, features)
    rows = [(i, j, 1.0, 1.0) for i, j in zip(data.left, data.right, strict=True)]
    table = design(10, rows, features)
    theta = np.concatenate([model.coef_, model.residuals_])
    chance = 1 / (1 + np.exp(-table @ theta))
    bend = chance * (1 - chance) if loss == "logistic" else np.full(len(rows), 1 / model.noise_**2)
    prior = np.diag([2 * 0.4] * 2 + [2 * 1.5] * 10) * (1 if loss == "logistic" else 0.5 / model.noise_**2)
    posterior = np.linalg.inv(table.T @ (bend[:, None] * table) + prior)
    assert_allclose(model.coef_std_errors_, np.sqrt(posterior.diagonal()[:2]), rtol=1e-6)
    to_scores = (np.eye(10) - 0.1) @ np.hstack([features, np.eye(10)])
    expected = np.sqrt((to_scores @ posterior @ to_scores.T).diagonal())
    assert_allclose(model.ranking_.std_errors, expected, rtol=1e-6)


@pytest.mark.parametrize("sd", [0.5, 1.0])
def test_the_standard_deviation_of_residuals_is_recovered(sd):
    found = []
    for seed in range(9):
        data, features, *_ = planted(100, 3, 1500, np.random.default_rng(seed), sd=sd)
        model = RABF().fit(data, features)
        assert model.boundary_ == ()
        found.append(1 / np.sqrt(2 * model.residual_penalty_))
    assert np.median(found) == pytest.approx(sd, rel=0.15)


def test_the_marginal_likelihood_is_maximal_at_the_penalties_chosen():
    """The squared loss has the marginal likelihood in closed form: votes are normal with covariance of the model."""
    from scipy.stats import multivariate_normal

    rng = np.random.default_rng(8)
    n, m = 12, 150
    features = rng.normal(size=(n, 2))
    truth = features @ [1.0, -0.5] + 0.7 * rng.normal(size=n)
    left = rng.integers(0, n, m)
    right = (left + rng.integers(1, n, m)) % n
    signed = truth[left] - truth[right] + rng.normal(size=m)
    winner, loser = np.where(signed > 0, left, right), np.where(signed > 0, right, left)
    data = Comparisons.from_arrays(winner, loser, margin=np.abs(signed), items=range(n))
    model = RABF(loss="squared", standardize=False).fit(data, features)
    table = design(n, [(i, j, 1.0, 1.0) for i, j in zip(winner, loser, strict=True)], features)

    part = np.sqrt(features.var(axis=0).sum())

    def log_likelihood(feature_penalty, residual_penalty):
        """With the weak prior: standard deviations in units of the noise, of the features' part and the residual."""
        shares = np.concatenate([np.full(2, 1 / feature_penalty), np.full(n, 1 / residual_penalty)])
        covariance = np.eye(m) + (table * shares) @ table.T
        noise = np.abs(signed) @ np.linalg.solve(covariance, np.abs(signed)) / m
        prior = np.log(part / np.sqrt(feature_penalty)) ** 2 / 2 + np.log(1 / np.sqrt(residual_penalty)) ** 2 / 2
        return multivariate_normal(cov=noise * covariance).logpdf(np.abs(signed)) - prior

    best = log_likelihood(model.feature_penalty_, model.residual_penalty_)
    assert model.boundary_ == ()
    for factor in (0.9, 1.1):
        assert log_likelihood(factor * model.feature_penalty_, model.residual_penalty_) < best
        assert log_likelihood(model.feature_penalty_, factor * model.residual_penalty_) < best


def test_features_that_say_everything_push_the_residual_penalty_to_its_end():
    data, features, *_ = planted(80, 2, 4000, np.random.default_rng(0), sd=0.0)
    model = RABF().fit(data, features)
    assert model.explained_ > 0.97
    assert np.std(model.residuals_) < 0.15


def test_intervals_cover_on_average_over_items():
    covered = []
    for seed in range(12):
        data, features, truth, _ = planted(60, 3, 2400, np.random.default_rng(seed))
        ranking = RABF().fit(data, features).ranking_
        lower, upper = ranking.intervals()
        centred = truth - truth.mean() + ranking.scores.mean()
        covered.append(np.mean((lower <= centred) & (centred <= upper)))
    assert 0.92 <= np.mean(covered) <= 0.97


# ---- features as users have them --------------------------------------------------------------------------------


def fitted(features, **options):
    data = Comparisons.from_pairs([("a", "b"), ("b", "c"), ("c", "a"), ("a", "c")])
    options = {"feature_penalty": 1.0, "residual_penalty": 1.0} | options
    id = options.pop("id", None)
    return RABF(**options).fit(data, features, id=id)


def test_array_frame_and_mapping_say_the_same():
    table = pl.DataFrame({"name": ["c", "a", "b"], "size": [3.0, 1.0, 2.5], "age": [0, 1, 1]})
    expected = fitted(np.array([[1.0, 1], [2.5, 1], [3.0, 0]]))
    for features in (table, table.to_pandas(), {"c": [3.0, 0], "a": [1.0, 1], "b": [2.5, 1]}):
        model = fitted(features)
        assert dict(zip(model.ranking_.items, model.ranking_.scores, strict=True)) == pytest.approx(
            dict(zip(expected.ranking_.items, expected.ranking_.scores, strict=True))
        )
    assert fitted(table).feature_names_ == ("size", "age")


def test_numbers_in_a_table_meet_labels_that_a_file_gave_as_text():
    data = Comparisons.from_pairs([("1", "2"), ("2", "3"), ("3", "1")])
    model = RABF(feature_penalty=1.0, residual_penalty=1.0).fit(
        data, pl.DataFrame({"id": [1, 2, 3, 4], "x": [1.0, 2, 3, 9]})
    )
    assert model.ranking_.items == ("1", "2", "3", "4")


def test_items_beyond_the_votes_are_ranked_by_their_features_and_change_nothing_else():
    rng = np.random.default_rng(10)
    data, features, _, weights = planted(30, 2, 3000, rng, sd=0.3)
    rows = dict(enumerate(features.tolist()))
    new = {f"new {k}": row for k, row in enumerate(rng.normal(size=(40, 2)).tolist())}
    options = {"feature_penalty": 0.1, "residual_penalty": 5.0}
    alone, more = RABF(**options).fit(data, rows), RABF(**options).fit(data, rows | new)
    assert_allclose(more.ranking_.scores[:30], alone.ranking_.scores, atol=1e-9)
    assert_allclose(more.ranking_.scores[30:], alone.predict(list(new.values())), atol=1e-9)
    assert more.unseen_ == tuple(new)
    assert np.corrcoef(more.ranking_.scores[30:], np.array(list(new.values())) @ weights)[0, 1] > 0.98
    _, spread = alone.predict(list(new.values()), return_std=True)
    assert (spread > np.sqrt(1 / (2 * 5.0))).all()  # never surer than the residual of one item


def test_items_of_the_votes_that_never_met_anyone_have_no_residual():
    rng = np.random.default_rng(11)
    winner, loser, _ = simulate(6, 200, rng)
    features = rng.normal(size=(8, 2))
    options = {"feature_penalty": 0.3, "residual_penalty": 0.6, "standardize": False}
    wide = RABF(**options).fit(Comparisons.from_arrays(winner, loser, items=range(8)), features)
    narrow = RABF(**options).fit(Comparisons.from_arrays(winner, loser, items=range(6)), features[:6])
    assert_allclose(wide.residuals_[6:], 0.0)
    assert_allclose(wide.ranking_.scores[:6], narrow.ranking_.scores, atol=1e-8)
    assert_allclose(wide.ranking_.scores[6:], features[6:] @ wide.coef_)


def test_standardising_changes_the_penalty_and_not_the_units():
    data, features, *_ = planted(20, 2, 500, np.random.default_rng(12))
    wide = features * [1000.0, 0.001] + [5.0, -3.0]
    model = RABF(feature_penalty=0.3, residual_penalty=0.6).fit(data, wide)
    by_hand = (wide - wide.mean(axis=0)) / wide.std(axis=0)
    twin = RABF(feature_penalty=0.3, residual_penalty=0.6, standardize=False).fit(data, by_hand)
    assert_allclose(model.ranking_.scores, twin.ranking_.scores, atol=1e-7)
    assert_allclose(model.coef_ * wide.std(axis=0), twin.coef_, atol=1e-7)
    assert_allclose(model.predict(wide[:3]), twin.predict(by_hand[:3]), atol=1e-7)


@pytest.mark.parametrize("penalty", [0.3, "auto"])
@pytest.mark.parametrize("loss", ["logistic", "squared"])
def test_units_and_origins_of_features_change_nothing(loss, penalty):
    data, features, *_ = planted(20, 3, 500, np.random.default_rng(12))
    units, origins = np.array([1e-6, -40.0, 1e8]), np.array([3.0, 2000.0, -1e6])
    options = {"loss": loss, "feature_penalty": penalty, "residual_penalty": penalty}
    plain, other = RABF(**options).fit(data, features), RABF(**options).fit(data, features * units + origins)
    assert_allclose(other.ranking_.scores, plain.ranking_.scores, atol=1e-6)
    assert_allclose(other.ranking_.std_errors, plain.ranking_.std_errors, rtol=1e-6)
    assert_allclose(other.coef_ * units, plain.coef_, atol=1e-6)
    assert_allclose(other.coef_std_errors_ * np.abs(units), plain.coef_std_errors_, rtol=1e-6)
    new = np.random.default_rng(13).normal(size=(4, 3))
    for one, same in zip(plain.predict(new, True), other.predict(new * units + origins, True), strict=True):
        assert_allclose(same, one, atol=1e-6)


def awkward(features):
    """Columns that explain nothing, nothing new, or too much; the name says which."""
    n = len(features)
    beside = {
        "constant": np.full(n, 7.0),
        "constant but for rounding": np.array([0.1, 0.3 - 0.2] * (n // 2)),
        "constant and huge": np.full(n, 1e9),
        "zero": np.zeros(n),
        "twice": features,
        "a combination": features @ [1.0, -2.0] + 3.0,
        "far from zero": 1e6 + features[::-1],
        "more than items": np.random.default_rng(0).normal(size=(n, 2 * n)),
    }
    tables = {name: np.column_stack([features, columns]) for name, columns in beside.items()}
    return tables | {"nothing but a constant": np.full((n, 1), 7.0), "nothing but zeros": np.zeros((n, 2))}


@pytest.mark.parametrize("name", awkward(np.zeros((2, 2))))
@pytest.mark.parametrize("loss", ["logistic", "squared"])
def test_columns_that_say_nothing_new_leave_every_number_finite(name, loss, monkeypatch):
    data, features, *_ = planted(20, 2, 300, np.random.default_rng(3))
    matrix = awkward(features)[name]
    answers = []
    for penalty, standardize, dense in itertools.product([0.3, "auto"], [True, False], [400, 0]):
        monkeypatch.setattr("podium.pairwise._fit.feature_solver.DENSE", dense)
        options = {"feature_penalty": penalty, "residual_penalty": penalty, "standardize": standardize}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DataWarning)
            model = RABF(loss=loss, **options).fit(data, matrix)
        told = model.ranking_.scores, model.ranking_.std_errors, model.coef_, *model.predict(matrix[:3], True)
        assert all(np.isfinite(each).all() for each in told)
        assert (model.ranking_.std_errors > 0).all()
        answers.append(np.diff(model.ranking_.scores))
    for dense, iterative in zip(answers[::2], answers[1::2], strict=True):
        assert_allclose(dense, iterative, atol=1e-5)


@pytest.mark.parametrize(
    "name",
    [
        "constant",
        "constant but for rounding",
        "constant and huge",
        "zero",
        "nothing but a constant",
        "nothing but zeros",
    ],
)
def test_a_constant_column_is_ignored_and_said(name):
    data, features, *_ = planted(20, 2, 300, np.random.default_rng(3))
    matrix = awkward(features)[name]
    alone = RABF().fit(data, None if "nothing" in name else features)
    with pytest.warns(
        PodiumWarning, match="the same for every compared item to 12 digits; it explains nothing and is ignored"
    ):
        model = RABF().fit(data, matrix)
    assert_allclose(np.diff(model.ranking_.scores), np.diff(alone.ranking_.scores), atol=1e-6)
    assert_allclose(model.ranking_.std_errors, alone.ranking_.std_errors, rtol=1e-6)
    assert model.coef_[-1] == 0.0
    assert np.isnan(model.coef_std_errors_[-1])
    assert model.feature_names_[-1] in model.idle_features_


def test_a_feature_that_differs_in_its_thirteenth_digit_is_not_called_simply_the_same():
    """Its differences count once its mean is taken off."""
    votes = Comparisons.from_pairs([("a", "b"), ("b", "c"), ("c", "a"), ("a", "c")] * 5)
    small = np.array([[0.0], [1e-10], [-1e-10]])
    with pytest.warns(PodiumWarning, match="'x1': the same for every compared item to 12 digits; it explains nothing"):
        RABF().fit(votes, 1000 + small)
    assert RABF().fit(votes, small).coef_std_errors_[0] > 0


def test_a_text_that_differs_from_item_to_item_is_no_feature():
    """It would be a column for each item, and explain everything."""
    votes = Comparisons.from_arrays(np.arange(12), np.roll(np.arange(12), 1))
    table = {k: {"remark": f"about {k}", "size": float(k % 5)} for k in range(12)}
    with pytest.raises(
        InputError, match=r"'remark' is another text for every item, so it says nothing that items share"
    ):
        RABF(one_hot=True).fit(votes, table)


def test_text_becomes_a_column_a_value_on_request():
    table = {"a": {"kind": "x", "size": 1}, "b": {"kind": "y", "size": 2}, "c": {"kind": "z", "size": 2}}
    with pytest.raises(InputError, match=r"'kind' holds text; leave it out, or set one_hot=True"):
        fitted(table)
    with pytest.warns(DataWarning, match="3 features for 3 compared items"):
        model = fitted(table, one_hot=True)
    assert model.feature_names_ == ("kind=y", "kind=z", "size")
    with pytest.raises(InputError, match=r"'kind' is 'w' for 'new'; the model knows 'x', 'y', 'z'"):
        model.predict({"new": {"kind": "w", "size": 1}})


def test_missing_features_are_named_or_filled_with_the_mean():
    holed = {"a": [1.0], "b": [float("nan")], "c": [3.0]}
    with pytest.raises(InputError, match=r"'x1' is missing for 'b'; fill it in, or set missing='mean'"):
        fitted(holed)
    with pytest.raises(InputError, match=r"no row for 'b'; add it, or set missing='mean'"):
        fitted({"a": [1.0], "c": [3.0]})
    expected = fitted({"a": [1.0], "b": [2.0], "c": [3.0]}).ranking_.scores
    assert_allclose(fitted(holed, missing="mean").ranking_.scores, expected)
    with pytest.warns(DataWarning, match=r"no row for 1 of 3 compared items, 'b'; the mean of every column stands"):
        filled = fitted({"a": [1.0], "c": [3.0]}, missing="mean")
    assert_allclose(filled.ranking_.scores, expected)


@pytest.mark.parametrize(
    ("features", "message"),
    [
        (np.ones((2, 1)), r"features have 2 rows, the votes 3 items"),
        (np.array([[1.0], [np.inf], [2.0]]), r"'x1' is inf for 'b'; it must be finite"),
        (np.ones((3, 1, 1)), r"a table is expected"),
        ([["x"], ["y"], ["z"]], r"numbers are expected \(.*\); give a frame for text"),
        (np.array([[1j], [2], [3]]), r"numbers are expected \(they are complex128\)"),
        (sparse.csr_array(np.array([[1j], [2], [3]])), r"numbers is expected \(they are complex128\)"),
        ({"a": {"x": np.complex128(1j)}, "b": {"x": 2}, "c": {"x": 3}}, r"'x' is .*1j\) for 'a'; it must be a number"),
        (np.ma.masked_array([[1.0], [2], [3]], [[False], [True], [False]]), r"row 2: features is masked"),
        ({}, r"the mapping is empty"),
        ({"a": [1], "b": [1, 2], "c": [1]}, r"features of 'b': another number of values"),
        ({"p": [1], "q": [2]}, r"none of the compared items \('a', 'b', 'c'\) is among its labels \('p', 'q'\)"),
        (pl.DataFrame({"x": [1, 2, 3]}), r"no column holds every compared item; name the column of labels"),
        (pl.DataFrame({"u": ["a", "b", "c"], "v": ["c", "b", "a"]}), r"columns 'u', 'v' all hold the compared items"),
        (pl.DataFrame({"item": ["a", "b", "c", "a"], "x": [1, 2, 3, 4]}), r"'a' appears in rows 1 and 4"),
    ],
)
def test_bad_features_are_named(features, message):
    with pytest.raises(InputError, match=message):
        fitted(features)


def test_constant_and_collinear_columns_are_said_and_harmless():
    rng = np.random.default_rng(13)
    data, features, *_ = planted(20, 2, 500, rng)
    options = {"feature_penalty": 0.3, "residual_penalty": 0.6}
    plain = RABF(**options).fit(data, features)
    with pytest.warns(DataWarning, match="'x3': the same for every compared item"):
        constant = RABF(**options).fit(data, np.column_stack([features, np.full(20, 7.0)]))
    assert_allclose(constant.coef_, [*plain.coef_, 0.0], atol=1e-7)
    assert_allclose(np.diff(constant.ranking_.scores), np.diff(plain.ranking_.scores), atol=1e-7)
    with pytest.warns(DataWarning, match="'x3': follows from those before it"):
        RABF(**options).fit(data, np.column_stack([features, features @ [1.0, -2.0] + 3.0]))


def test_fewer_votes_than_features_is_said():
    data = Comparisons.from_pairs([(k, k + 1) for k in range(0, 12, 2)])
    with pytest.warns(DataWarning, match="6 votes for 7 features"):
        RABF(feature_penalty=1.0, residual_penalty=1.0).fit(data, np.random.default_rng(14).normal(size=(12, 7)))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"loss": "cubic"}, "loss='cubic' is not known; use 'logistic', 'squared' or 'hinge'"),
        ({"feature_penalty": 0}, "feature_penalty=0: it must be a finite number above 0, or 'auto'"),
        ({"residual_penalty": "none"}, "residual_penalty='none'"),
        ({"flip_rate": 0.5}, r"flip_rate=0.5: a share of wrong votes lies in \[0, 0.5\)"),
        ({"flip_rate": -0.1}, "flip_rate=-0.1"),
        ({"flip_rate": 0.1, "flip_loss": "corrected", "feature_penalty": "auto"}, "no lower bound"),
        ({"flip_rate": 0.1, "flip_loss": "lapse", "loss": "squared"}, "takes flip_loss='corrected'"),
        ({"missing": "drop"}, "missing='drop' is not known"),
    ],
)
def test_bad_options_are_named(options, message):
    with pytest.raises(InputError, match=message):
        fitted(np.arange(3.0), **options)


NUMBERS = ("feature_penalty", "residual_penalty", "flip_rate", "max_iter", "tol")
WORDS = ("loss", "flip_loss", "missing", "standardize", "one_hot", "ties", "side_effect")
LIMITS = ("max_norm", "row_weights")


@pytest.mark.parametrize("name", NUMBERS + WORDS + LIMITS)
def test_whatever_an_option_cannot_be_is_refused_with_its_name_and_value(name):
    assert set(NUMBERS + WORDS + LIMITS) == set(inspect.signature(RABF).parameters)
    wrong = [float("nan"), float("inf"), -1.0, "many", "", None, [1.0], np.array([1.0, 2.0]), 1j]
    if name in LIMITS:  # nothing, a column's name and two numbers are right
        wrong = [value for value in wrong if isinstance(value, float | list | complex)]
    for value in [*wrong, True] if name in NUMBERS else wrong:
        with pytest.raises(InputError, match=rf"^{name}={re.escape(repr(value))}"):
            RABF(**{name: value}).fit(Comparisons.from_pairs([("a", "b"), ("b", "a")]))


def test_too_few_steps_are_an_error_that_says_what_to_do():
    with pytest.raises(ConvergenceError, match="max_iter="):
        fitted(np.arange(3.0), max_iter=1)


def test_asking_before_fit_says_so():
    with pytest.raises(NotFittedError, match="call fit"):
        RABF().predict([[1.0]])


def test_chances_of_both_sides_add_up():
    for loss in ("logistic", "squared"):
        model = fitted(np.arange(3.0), loss=loss)
        assert model.win_probability("a", "b") + model.win_probability("b", "a") == pytest.approx(1.0)
        assert (model.win_probability("a", "b") > 0.5) == (model.ranking_.score("a") > model.ranking_.score("b"))


def test_rank_intervals_go_by_the_posterior_where_the_votes_gave_the_penalties():
    data, features, _, _ = planted(12, 2, 600, np.random.default_rng(3))
    ranking = RABF().fit(data, features).ranking_
    best, worst = ranking.rank_intervals()
    apart = np.array([[ranking.probability_above(i, j) > 0.975 for j in range(12)] for i in range(12)])
    np.fill_diagonal(apart, val=False)
    assert best.tolist() == (1 + apart.sum(axis=0)).tolist()
    assert worst.tolist() == (12 - apart.sum(axis=1)).tolist()
    wide_best, wide_worst = ranking.rank_intervals(method="guaranteed")
    assert (wide_best <= best).all()
    assert (worst <= wide_worst).all()
    assert (wide_worst - wide_best).sum() > (worst - best).sum()


def test_rank_intervals_with_penalties_given_as_numbers_are_the_guaranteed_ones():
    data, features, _, _ = planted(12, 2, 600, np.random.default_rng(3))
    ranking = RABF(feature_penalty=0.1, residual_penalty=0.1).fit(data, features).ranking_
    assert [ends.tolist() for ends in ranking.rank_intervals()] == [
        ends.tolist() for ends in ranking.rank_intervals(method="guaranteed")
    ]
    with pytest.raises(InputError, match="needs a posterior"):
        ranking.rank_intervals(method="pairwise")


@pytest.mark.filterwarnings("ignore::podium.errors.PodiumWarning")
@pytest.mark.parametrize(("loss", "how"), [("logistic", "cluster"), ("squared", "cluster"), ("hinge", "auto")])
def test_pairs_of_rankings_have_errors_clustered_by_ranking(loss, how):
    rng = np.random.default_rng(0)
    lists = [rng.permutation(5).tolist() for _ in range(12)]
    votes = Comparisons.from_rankings(lists)
    model = RABF(loss=loss, feature_penalty=0.1, residual_penalty=0.1).fit(votes, rng.normal(size=(5, 2)))
    assert (model.ranking_.uncertainty, model.ranking_.cluster) == (how, "ranking" if how == "cluster" else None)
    plain = Comparisons(votes.items, votes.left, votes.right, outcome=votes.outcome)
    model = RABF(loss=loss, feature_penalty=0.1, residual_penalty=0.1).fit(plain, rng.normal(size=(5, 2)))
    assert (model.ranking_.uncertainty, model.ranking_.cluster) == ("auto", None)


@pytest.mark.filterwarnings("ignore::podium.errors.PodiumWarning")
def test_steps_of_the_hinge_are_counted(monkeypatch):
    made = []
    step = hinge._Steps.step

    def noted(self, at):
        found = step(self, at)
        made.append(found is not None)
        return found

    monkeypatch.setattr(hinge._Steps, "step", noted)
    rng = np.random.default_rng(0)
    left = rng.integers(0, 6, 60)
    votes = Comparisons(tuple(range(6)), left, (left + rng.integers(1, 6, 60)) % 6)
    model = RABF(loss="hinge", feature_penalty=0.1, residual_penalty=0.1).fit(votes, rng.normal(size=(6, 2)))
    assert model.n_iter_ == sum(made) > 0
