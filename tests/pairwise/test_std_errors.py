"""Standard errors against the inverse of a Hessian that no one derived: second differences of the literal objective.

A curvature wrong by a few per cent, a ridge counted twice or a parameter left out of the inverse fails here.
"""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from podium import RABF, BradleyTerry, Comparisons, CrowdBradleyTerry
from podium.errors import SeparationWarning
from podium.kernels.pairwise.bradley_terry import logistic_rows
from podium.pairwise import ranker

from helpers import simulate, thin_data
from reference_uncertainty import centred_inverse

N, M = 5, 160


def second_differences(objective, at, step=1e-3):
    """Hessian by central differences; its error is of the order of step²."""
    size = len(at)
    unit = step * np.eye(size)
    found = np.empty((size, size))
    for i in range(size):
        for j in range(i, size):
            corners = [objective(at + a * unit[i] + b * unit[j]) * a * b for a in (1, -1) for b in (1, -1)]
            found[i, j] = found[j, i] = sum(corners) / (4 * step**2)
    return found


def sided_votes(seed, covariates=True):
    """Votes with sides, ties and a covariate, in which nobody is unbeaten."""
    rng = np.random.default_rng(seed)
    left, right, _ = simulate(N, M, rng)
    length = rng.normal(size=M) + 0.3
    outcome = rng.choice([1, 0, -1], size=M, p=[0.45, 0.2, 0.35]).astype(np.int8)
    more = {"covariates": length[:, None], "covariate_names": ("length",)} if covariates else {}
    return Comparisons(range(N), left, right, outcome=outcome, sided=True, **more)


def literal_loss(c, scores, effect=0.0, side=0.0, log_nu=None):
    """−log likelihood, vote by vote."""
    loss = 0.0
    length = np.zeros(M) if c.covariates is None else c.covariates[:, 0]
    for i, j, y, x in zip(c.left, c.right, c.outcome, length, strict=True):
        margin = scores[i] - scores[j] + effect * x + side
        if log_nu is None:
            chance = 1 / (1 + np.exp(-margin))
            loss -= 0.5 * (1 + y) * np.log(chance) + 0.5 * (1 - y) * np.log(1 - chance)
        else:
            shares = np.exp([margin / 2, log_nu, -margin / 2])
            loss -= np.log(shares[1 - y] / shares.sum())
    return loss


@pytest.mark.parametrize("l2", [0.0, 0.1, 1.0])
@pytest.mark.parametrize("ties", ["half", "davidson"])
@pytest.mark.parametrize("side", [False, True])
@pytest.mark.parametrize("covariates", [False, True])
def test_bradley_terry(l2, ties, side, covariates):
    c = sided_votes(1, covariates)
    model = BradleyTerry(l2=l2, ties=ties, side_effect=side, tol=1e-9).fit(c)
    names = ["effect"] * covariates + ["side"] * side + ["log_nu"] * (ties == "davidson")
    values = [*model.coef_] + [model.side_effect_] * side
    values += [np.log(model.tie_strength_)] if ties == "davidson" else []

    def objective(theta):
        return literal_loss(c, theta[:N], **dict(zip(names, theta[N:], strict=True))) + l2 * theta[:N] @ theta[:N]

    hessian = second_differences(objective, np.concatenate([model.ranking_.scores, values]))
    errors = np.sqrt(centred_inverse(hessian, N).diagonal())
    if l2 == 0:  # scores are known up to a shift, which centring takes away
        held = hessian + np.pad(np.ones((N, N)), (0, len(values)))
        errors[N:] = np.sqrt(np.linalg.inv(held).diagonal()[N:])
    assert_allclose(model.ranking_.with_uncertainty("hessian").std_errors, errors[:N], rtol=2e-4)
    found = [*model.coef_std_errors_] + [model.side_effect_std_error_] * side
    assert_allclose(found, errors[N : N + len(found)], rtol=2e-4)


@pytest.mark.parametrize("penalties", [(0.1, 0.1), (1.0, 0.1), (0.1, 1.0)])
@pytest.mark.parametrize("covariates", [False, True])
def test_rabf(penalties, covariates):
    c = sided_votes(2, covariates)
    table = np.random.default_rng(3).normal(size=(N, 2))
    model = RABF(feature_penalty=penalties[0], residual_penalty=penalties[1], standardize=False, tol=1e-9).fit(c, table)

    def objective(theta):
        weights, residuals, effect = theta[:2], theta[2 : 2 + N], theta[2 + N :]
        fit = literal_loss(c, table @ weights + residuals, *effect)
        return fit + penalties[0] * weights @ weights + penalties[1] * residuals @ residuals

    at = np.concatenate([model.coef_, model.residuals_, model.covariate_coef_])
    inverse = np.linalg.inv(second_differences(objective, at))
    to_scores = np.hstack([table, np.eye(N), np.zeros((N, len(at) - N - 2))])
    centre = np.eye(N) - 1 / N
    scores = centre @ to_scores @ inverse @ to_scores.T @ centre
    assert_allclose(model.ranking_.with_uncertainty("hessian").std_errors, np.sqrt(scores.diagonal()), rtol=2e-4)
    assert_allclose(model.coef_std_errors_, np.sqrt(inverse.diagonal()[:2]), rtol=2e-4)
    assert_allclose(model.covariate_std_errors_, np.sqrt(inverse.diagonal()[2 + N :]), rtol=2e-4)


@pytest.mark.parametrize("l2", [0.1, 1.0])
def test_crowd(l2):
    """The Hessian of the likelihood integrated over slopes 1 + 0.6·z by a fine sum."""
    rng = np.random.default_rng(4)
    winner, loser, _ = simulate(N, 300, rng)
    judge = rng.integers(0, 3, 300)
    c = Comparisons.from_arrays(winner, loser, judge=judge, items=range(N))
    with thin_data():
        model = CrowdBradleyTerry(l2=l2, reliability_sd=0.6).fit(c)
    z = np.linspace(-8, 8, 801)
    prior = np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi) * 0.02
    # The penalised fit moves the mean of the slopes' distribution, so that they stay 1 on average.
    centre = np.array([model._found.integral.centre[c.judges.index(k)] for k in range(3)])

    def objective(scores):
        total = l2 * scores @ scores
        for k in range(3):
            gap = (scores[winner] - scores[loser])[judge == k]
            total -= np.log(prior @ np.exp(-np.logaddexp(0, -np.outer(centre[k] + 0.6 * z, gap)).sum(axis=1)))
        return total

    hessian = second_differences(objective, np.array(model.ranking_.scores))
    errors = np.sqrt(centred_inverse(hessian, N).diagonal()[:N])
    assert_allclose(model.ranking_.with_uncertainty("hessian").std_errors, errors, rtol=5e-4)


def test_slope_and_curvature_of_the_kernel_are_differences_of_its_loss():
    rng = np.random.default_rng(5)
    margin = np.concatenate([rng.normal(0, 3, 30), [0.0, 40.0, -40.0, 700.0, -700.0]])
    total = rng.choice([0.5, 1.0, 3.0], len(margin))
    points = total * rng.choice([0.0, 0.5, 1.0, 0.3], len(margin))
    slope, curvature = np.empty_like(margin), np.empty_like(margin)
    logistic_rows(margin, points, total, slope, curvature)

    def loss(row, at):
        t, p, w = np.longdouble(at), np.longdouble(points[row]), np.longdouble(total[row])
        return w * np.logaddexp(np.longdouble(0), t) - p * t

    step = 1e-3
    for row, at in enumerate(margin):
        below, here, above = (loss(row, np.longdouble(at) + k * step) for k in (-1, 0, 1))
        assert slope[row] == pytest.approx(float((above - below) / (2 * step)), rel=1e-5, abs=1e-6)
        assert curvature[row] == pytest.approx(float((above - 2 * here + below) / step**2), rel=1e-5, abs=1e-6)


def test_scores_that_a_position_bias_alone_explains_have_no_ends():
    # Each wins on the left and loses on the right: with a large bias every score fits, so no interval may end.
    votes = Comparisons(["a", "b", "c"], np.array([0, 1, 2] * 3), np.array([1, 2, 0] * 3), sided=True)
    for scores in ([0.0, 0.0, 0.0], [3.0, -1.0, -2.0]):
        gaps = 40.0 + np.asarray(scores)[votes.left] - np.asarray(scores)[votes.right]
        assert np.log1p(np.exp(-gaps)).sum() < 1e-12, "the likelihood reaches 1 whatever the scores"
    with pytest.warns(SeparationWarning):
        lower, upper = BradleyTerry(side_effect=True).fit(votes).ranking_.intervals()
    assert np.isneginf(lower).all()
    assert np.isposinf(upper).all()
    lower, upper = BradleyTerry().fit(votes).ranking_.intervals()
    assert np.isfinite(lower).all()
    assert np.isfinite(upper).all()


def test_weights_that_are_no_counts_beside_effects_vary_as_the_model_says():
    # A vote of weight w adds w g to the gradient, whose variance is w² p (1 − p): H⁻¹ J H⁻¹, row by row.
    c = sided_votes(4)
    weight = np.random.default_rng(5).exponential(size=M)
    won = (c.outcome >= 0).astype(float)
    votes = Comparisons(
        range(N), c.left, c.right, outcome=np.where(won, 1, -1).astype(np.int8), sided=True, weight=weight,
        covariates=c.covariates, covariate_names=c.covariate_names,
    )  # fmt: skip
    model = BradleyTerry(l2=0, side_effect=True, tol=1e-10).fit(votes)
    rows = np.arange(M)
    design = np.zeros((M, N + 2))
    design[rows, c.left], design[rows, c.right] = 1.0, -1.0
    design[:, N], design[:, N + 1] = c.covariates[:, 0], 1.0
    at = np.concatenate([model.ranking_.scores, [*model.coef_, model.side_effect_]])
    chance = 1 / (1 + np.exp(-design @ at))
    assert_allclose(design.T @ (weight * (won - chance)), 0, atol=1e-6, err_msg="not the optimum")
    bread = np.linalg.pinv(design.T * (weight * chance * (1 - chance)) @ design)
    meat = design.T * (weight**2 * chance * (1 - chance)) @ design
    errors = np.sqrt((bread @ meat @ bread).diagonal())
    assert_allclose(model.ranking_.std_errors, errors[:N], rtol=1e-5)


@pytest.mark.parametrize("unit", [1e-130, 1e-3, 40.0, 1e130])
@pytest.mark.parametrize("method", ["bradley-terry", "crowd", "plackett-luce", "least-squares", "borda", "win-rate"])
def test_with_penalties_from_the_votes_the_unit_of_weights_is_nothing(method, unit):
    rng = np.random.default_rng(8)
    left = rng.integers(0, 5, 80)
    right = (left + rng.integers(1, 5, 80)) % 5
    weight = 1.0 + np.arange(80) % 3
    plain, other = (
        ranker(method)().fit(Comparisons.from_arrays(left, right, judge=left % 3, weight=each)).ranking_
        for each in (weight, unit * weight)
    )
    assert_allclose(other.scores, plain.scores, atol=1e-4)
    if plain.information is not None:
        assert_allclose(other.intervals(), plain.intervals(), atol=1e-3)
