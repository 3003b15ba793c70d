"""How much judges differ: the prior and posterior by quadrature, a search by known evidence, fits by others."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import quad

from podium.pairwise._fit import judge_spread
from podium.pairwise._fit.judge_spread import (
    SLOPE_SDS,
    SlopeSpread,
    _log_determinant,
    _log_prior,
    _posterior,
    _Scale,
    scaled_sd,
    slope_spread,
)
from podium.pairwise._fit.judges import JudgeVotes, integrate
from podium.pairwise._fit.marginal import LEAN, SLOPE_SD, fit_judges

from suites.crowds import crowd


def half_cauchy(sd):
    return 2 / (math.pi * 0.5 * (1 + (sd / 0.5) ** 2))


def test_before_the_votes_a_spread_has_half_a_cauchy_distribution():
    assert quad(lambda sd: math.exp(_log_prior(sd)), 0, math.inf)[0] == pytest.approx(1.0)
    assert_allclose(np.exp(_log_prior(np.array([0.0, 0.5, 3.0]))), [half_cauchy(sd) for sd in (0.0, 0.5, 3.0)])


def moments(log_evidence, most):
    """Mean and standard deviation of the posterior up to `most`, and the evidence over that at 0."""
    total, first, second = (
        quad(lambda sd, k=k: sd**k * math.exp(log_evidence(sd)) * half_cauchy(sd), 0, most, epsrel=1e-10, limit=200)[0]
        for k in range(3)
    )
    return first / total, math.sqrt(second / total - (first / total) ** 2), total


@pytest.mark.parametrize("shift", [0.0, -2000.0, 1500.0])
@pytest.mark.parametrize("most", [0.75, 2.0, 5.0])
@pytest.mark.parametrize(("two", "three"), [(0.0, 0.0), (6.0, -4.0), (-3.0, 0.2)])
def test_the_posterior_is_that_of_quadrature(two, three, most, shift):
    """Cubics that are flat at 0 are their own spline."""

    def log(sd):
        return two * sd**2 + three * sd**3

    logs = {sd: log(sd) + shift for sd in reversed(SLOPE_SDS) if sd <= most}
    mean, known, odds = _posterior(logs)
    expected = moments(log, most)
    assert mean == pytest.approx(expected[0], rel=1e-2)  # a sum over two thousand steps
    assert known == pytest.approx(expected[1], rel=1e-2)
    assert odds == pytest.approx(expected[2], rel=1e-2)


def test_evidence_beyond_all_numbers_stays_a_number():
    _, _, odds = _posterior({sd: 400.0 * sd**2 for sd in (0.0, 0.5, 1.0, 2.0)})
    assert math.isfinite(odds)
    assert odds > 1e290


class Known:
    """In place of fits: an evidence that is known."""

    def __init__(self, log, ends=math.inf):
        self.log, self.ends, self.asked = log, ends, []

    def log_evidence(self, sd):
        self.asked.append(sd)
        return None if sd > self.ends else self.log(sd)


def searched(monkeypatch, log, ends=math.inf):
    known = Known(log, ends)
    given = []
    monkeypatch.setattr(judge_spread, "_Scale", lambda *args: given.append(args) or known)
    found = slope_spread("votes", 0.3, "alike", free=(LEAN,), max_iter=17)
    assert given == [("votes", 0.3, "alike", (LEAN,), 17)]
    return found, known.asked


def test_a_broad_peak_is_its_mean_times_the_chance_that_judges_differ(monkeypatch):
    def log(sd):
        return 4.0 * sd**2 - 2.5 * sd**3

    found, asked = searched(monkeypatch, log)
    # 6 below the best is the end: the first at which the log posterior is so low, of four at least
    best = -math.inf
    for k, sd in enumerate(SLOPE_SDS):
        best = max(best, log(sd))
        if k >= 3 and log(sd) + math.log(half_cauchy(sd)) < best - 6.0:
            break
    assert len(asked) == k + 1
    mean, _, odds = moments(log, max(asked))
    differ = 2 * odds / (1 + 2 * odds)
    assert found.sd == pytest.approx(differ * mean, rel=5e-3)
    assert not found.endless


@pytest.mark.parametrize("at", [0.6, 1.7])
def test_a_sharp_peak_between_the_steps_is_looked_at_more_closely(at, monkeypatch):
    def log(sd):
        return -((sd - at) ** 2) * (sd + 0.5 * at) * 400.0 / at  # flat at 0, and sharp at its top

    assert log(1e-6) - log(0.0) == pytest.approx(0.0, abs=1e-3)
    found, asked = searched(monkeypatch, log)
    more = [sd for sd in asked if sd not in SLOPE_SDS]
    assert 1 <= len(more) <= 4
    assert found.sd == pytest.approx(at, abs=0.03)


def test_where_the_evidence_falls_judges_are_alike(monkeypatch):
    found, asked = searched(monkeypatch, lambda sd: -30.0 * sd**2)
    assert found == SlopeSpread(0.0, False)
    assert asked[:5] == [0.0, 0.25, 0.5, 0.75, pytest.approx(moments(lambda sd: -30.0 * sd**2, 0.75)[0], rel=1e-2)]


@pytest.mark.parametrize(("two", "differ"), [(-2.6, False), (-1.8, True)])
def test_judges_differ_where_that_is_the_more_likely(two, differ, monkeypatch):
    def log(sd):
        return two * sd**2

    found, asked = searched(monkeypatch, log)
    mean, _, odds = moments(log, max(asked))
    chance = 2 * odds / (1 + 2 * odds)
    assert (chance > 0.5) == differ
    assert found.sd == pytest.approx(chance * mean if differ else 0.0, rel=1e-2)


@pytest.mark.parametrize(("ends", "steps", "told"), [(0.6, 4, False), (0.75, 5, True), (-1.0, 1, False)])
def test_a_fit_without_an_end_ends_the_search_and_three_values_say_nothing(ends, steps, told, monkeypatch):
    found, asked = searched(monkeypatch, lambda sd: 20.0 * sd**2, ends)
    assert len(asked) >= steps
    assert asked[:steps] == list(SLOPE_SDS[:steps])
    assert (found.sd > 0) == told
    assert not found.endless


def test_evidence_that_grows_to_the_end_is_endless(monkeypatch):
    found, asked = searched(monkeypatch, lambda sd: 2.0 * sd**2 - 0.1 * sd**3)
    assert asked[: len(SLOPE_SDS)] == list(SLOPE_SDS)
    assert found.endless
    assert found.sd > 4
    found, _ = searched(monkeypatch, lambda sd: -0.05 * (sd - 4) ** 2)
    assert not found.endless, "its top is below the end"


# ---- scores beside it -----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def judged():
    c, _ = crowd(4, [1.5, 0.2, 1.0, -0.3, 1.2], 30, np.random.default_rng(2), leans=[0.3] * 5)
    votes = JudgeVotes.of(c, by_side=True, worth=1.0)
    alike = fit_judges(votes, 0.2, scores=np.zeros(4), extras=np.zeros(3), free=(LEAN,), tol=1e-8, max_iter=50)
    return votes, alike


def wide(votes, l2, sd, start):
    return fit_judges(
        votes,
        l2,
        scores=start.scores,
        extras=np.array([start.extras[LEAN], sd, 0.0]),
        free=(LEAN,),
        tol=1e-9,
        max_iter=50,
    ).scores


def test_the_penalty_shrinks_as_scores_grow_with_judges_who_differ(judged):
    votes, alike = judged
    scale = _Scale(votes, 0.2, alike, (LEAN,), 50)
    same = wide(votes, 0.2 / 9, 0.0, alike)
    same = same - same.mean()
    for sd in (0.3, 0.8):
        other = wide(votes, 0.2 / 9, sd, alike)
        ratio = other @ same / (same @ same)
        assert ratio > 1.02
        assert scale.penalty(sd) == pytest.approx(0.2 / ratio**2, rel=5e-3)
        assert scale.wide.extras[SLOPE_SD] == sd
        apart = fit_judges(
            votes, 0.2, scores=alike.scores, extras=np.array([0.0, sd, 0.0]), free=(LEAN,), tol=1e-6, max_iter=50
        )
        found = scaled_sd(votes, 0.2, apart, free=(LEAN,), max_iter=50)
        assert found == pytest.approx(math.sqrt(0.5 * ratio**2 / 0.2), rel=5e-3)
    assert scale.penalty(0.0) == pytest.approx(0.2, rel=1e-3)


@pytest.mark.parametrize(("times", "held"), [(50.0, 10.0), (1e-4, 0.1), (-3.0, 3.0)])
def test_scores_are_compared_up_to_ten_times_either_way(times, held, judged):
    votes, alike = judged
    scale = _Scale(votes, 0.2, alike, (LEAN,), 50)
    now = scale.wide.scores - scale.wide.scores.mean()
    scale.alike = type(alike)(now / times, *(getattr(alike, name) for name in alike.__slots__[1:]))
    assert scale.penalty(0.0) == pytest.approx(0.2 / held**2, rel=1e-2)


def test_the_evidence_is_laplace_at_the_optimum(judged):
    votes, alike = judged
    scale = _Scale(votes, 0.2, alike, (LEAN,), 50)
    for sd in (0.0, 0.5):
        found = scale.log_evidence(sd)
        l2 = scale.penalty(sd)
        at = fit_judges(votes, l2, scores=alike.scores, extras=scale.wide.extras, free=(LEAN,), tol=1e-9, max_iter=50)
        s = math.sqrt(0.5 / l2)
        hessian = at.integral.hessian()[:4, :4] + 2 * l2 * np.eye(4)
        expected = -at.objective - 0.5 * np.linalg.slogdet(hessian)[1] - 4 * math.log(s) - 0.5 * math.log(s) ** 2
        assert found == pytest.approx(expected, abs=5e-3)


def test_a_search_that_may_not_step_has_no_evidence(judged):
    votes, alike = judged
    assert _Scale(votes, 0.2, alike, (LEAN,), 1).log_evidence(1.0) is None


def test_without_a_matrix_the_log_determinant_is_that_of_second_order():
    """log det(D(I + E)D) is about 2·log det D − ½·tr E²; E are votes on a pair, and what one judge's have in common."""
    rng = np.random.default_rng(5)
    c, truth = crowd(5, rng.normal(1, 0.4, 6), 12, rng, sd=0.7)
    votes = JudgeVotes.of(c, by_side=False, worth=1.0)
    ridge, sd = 0.7, 0.5
    at = integrate(votes, truth, np.array([0.0, sd, 0.0]), dense=False)
    bend = np.zeros((5, 5))
    pulls = np.zeros((votes.judges, 5))
    for r, (i, j, k) in enumerate(zip(votes.left, votes.right, votes.judge, strict=True)):
        bend[[i, j], [j, i]] += at.curvature[r, 0]
        gap = truth[i] - truth[j]
        force = sd * math.sqrt(at.moments[k, 2]) * (at.gradient[r, 1] - gap * at.curvature[r, 1])
        pulls[k, [i, j]] += force, -force
    diagonal = np.maximum(bend.sum(axis=1) - (pulls**2).sum(axis=0), 0.0) + ridge
    scale = 1 / np.sqrt(diagonal)
    met, own = bend * np.outer(scale, scale), pulls * scale
    both = (np.triu(met, 1) ** 2).sum()
    both += sum(
        2 * met[i, j] * own[k, i] * own[k, j] for i, j, k in zip(votes.left, votes.right, votes.judge, strict=True)
    )
    alone = sum((row**2).sum() ** 2 - (row**4).sum() for row in own)
    expected = np.log(diagonal).sum() - both - 0.5 * alone
    assert _log_determinant(at, ridge) == pytest.approx(expected, rel=1e-9)
