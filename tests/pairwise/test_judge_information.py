"""What votes of judges say of the scores, against matrices and gradients written out."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from podium.pairwise._fit import judge_information as said
from podium.pairwise._fit.judge_information import judge_information
from podium.pairwise._fit.judges import JudgeVotes, integrate
from podium.pairwise._fit.marginal import LEAN, LEAN_SD, SLOPE_SD
from podium.ranking.uncertainty import WeightedInformation

from suites.crowds import crowd

N = 4
SCORES = np.array([0.8, 0.1, -0.3, -0.6])


def votes(sided=True):
    leans = [0.4, -0.5, 0.2] if sided else None
    c, _ = crowd(N, [1.2, 0.3, -0.5], 15, np.random.default_rng(4), leans=leans)
    rng = np.random.default_rng(5)
    outcome = np.where(rng.random(45) < 0.2, 0, c.outcome).astype(np.int8)
    days = {"group": np.arange(45) // 5, "groups": tuple(range(9)), "group_is": "ranking"}
    return replace(c, outcome=outcome, weight=rng.choice([0.5, 1.0, 2.0], 45), **days)


def at(c, extras, dense=True):
    return integrate(JudgeVotes.of(c, by_side=c.sided, worth=1.0), SCORES, np.array(extras), dense=dense)


def matrix_of(information):
    """The Hessian that an information stands for, its ridge included."""
    p = information.extras
    matrix = information.ridge * np.diag([1.0] * N + [0.0] * p)
    for a, b, c in zip(information.left, information.right, information.curvature, strict=True):
        matrix[[a, b, a, b], [a, b, b, a]] += [c, c, -c, -c]
    if p:
        matrix[:N, N:], matrix[N:, :N], matrix[N:, N:] = information.border, information.border.T, information.corner
    return matrix


@pytest.mark.parametrize("dense", [True, False])
def test_judges_who_are_alike_say_what_pairs_do(dense):
    c = votes(sided=False)
    integral = at(c, (0.0, 0.0, 0.0), dense)
    found = judge_information(c, integral, 0.3, extras=(), votes=False)
    expected = 0.6 * np.eye(N)
    for a, b, w in zip(c.left, c.right, c.weight, strict=True):
        p = 1 / (1 + np.exp(SCORES[b] - SCORES[a]))
        expected[[a, b, a, b], [a, b, b, a]] += w * p * (1 - p) * np.array([1, 1, -1, -1])
    assert_allclose(matrix_of(found), expected)
    assert found.ridge == 0.6
    assert found.border is None
    assert found.groups is None
    assert found.scores is integral.scores
    with_votes = judge_information(c, integral, 0.3, extras=(), votes=True)
    assert with_votes.target.tolist() == ((c.outcome + 1) / 2).tolist()


@pytest.mark.parametrize("extras", [(), (LEAN,), (LEAN, LEAN_SD), (SLOPE_SD,), (LEAN, SLOPE_SD, LEAN_SD)])
def test_judges_who_differ_say_what_louis_hessian_does(extras):
    c = votes()
    integral = at(c, (0.2, 0.6, 0.5))
    kept = [*range(N), *(N + k for k in extras)]
    hessian = integral.hessian()[np.ix_(kept, kept)] + 6.0 * np.diag([1.0] * N + [0.0] * len(extras))
    found = judge_information(c, integral, 3.0, extras=extras, votes=False)
    shift = np.diag([1.0] * N + [0.0] * len(extras))
    firm = (hessian - 6.0 * shift)[:N, :N].diagonal().mean() / N
    stiff = hessian + firm * np.outer(shift.diagonal(), shift.diagonal())
    positive = np.linalg.eigvalsh(stiff)[0] > 0
    assert positive or SLOPE_SD in extras
    assert (found.extras == len(extras)) == positive
    if positive:
        assert_allclose(matrix_of(found), hessian, atol=1e-9)


def test_a_spread_without_curvature_of_its_own_is_left_out_from_the_last_on():
    c = votes()
    integral = at(c, (0.2, 0.6, 0.5))
    bent = replace(integral, corner=integral.corner.copy())
    bent.corner[LEAN_SD, LEAN_SD] = -1e6
    found = judge_information(c, bent, 3.0, extras=(LEAN, LEAN_SD), votes=False)
    assert found.extras == 1
    assert found.corner[0, 0] == pytest.approx(integral.hessian()[N + LEAN, N + LEAN])
    bent.corner[LEAN, LEAN] = -1e6
    none = judge_information(c, bent, 3.0, extras=(LEAN, LEAN_SD), votes=False)
    assert none.border is None
    assert none.corner is None
    full = judge_information(c, bent, 3.0, extras=(LEAN, LEAN_SD), votes=True)
    assert full.vote_extra_gradient is None


def test_groups_are_told_where_single_votes_are_not():
    c = votes()
    apart = c.take(np.flatnonzero((c.left < 2) == (c.right < 2)))
    integral = integrate(JudgeVotes.of(apart, by_side=True, worth=1.0), SCORES, np.array([0.2, 0.6, 0.5]), dense=True)
    found = judge_information(apart, integral, 0.3, extras=(LEAN,), votes=False)
    assert found.groups.tolist() == apart.adjacency.components.tolist()
    assert judge_information(apart, integral, 0.3, extras=(LEAN,), votes=True).groups is None


@pytest.mark.parametrize("extras", [(LEAN,), (LEAN, LEAN_SD), (LEAN, SLOPE_SD, LEAN_SD)])
@pytest.mark.parametrize("sided", [True, False])
def test_gradients_of_votes_are_means_over_what_is_known_of_their_judge(sided, extras):
    """E[x·(p − outcome)] with x the slope, 1, z₁·gap and z₂, p = σ(slope·gap + lean): by quadrature on a grid."""
    c = votes(sided)
    values = np.array([0.2 if sided else 0.0, 0.6, 0.5 if sided else 0.0])
    if not sided:
        extras = tuple(k for k in extras if k == SLOPE_SD)
    integral = at(c, values)
    found = judge_information(c, integral, 0.3, extras=extras, votes=True)
    z = np.linspace(-8, 8, 161)
    one, two = np.meshgrid(z, z if sided else [0.0], indexing="ij")
    for row in range(0, 45, 4):
        mine = np.flatnonzero(c.judge == c.judge[row])
        log = -(one**2) / 2 - two**2 / 2
        for k in mine:
            margin = (1 + 0.6 * one) * (SCORES[c.left[k]] - SCORES[c.right[k]]) + values[0] + values[2] * two
            log += c.weight[k] * ((c.outcome[k] + 1) / 2 * margin - np.logaddexp(0, margin))
        mass = np.exp(log - log.max())
        mass /= mass.sum()
        gap, won = SCORES[c.left[row]] - SCORES[c.right[row]], (c.outcome[row] + 1) / 2
        slope = 1 + 0.6 * one
        chance = 1 / (1 + np.exp(-(slope * gap + values[0] + values[2] * two)))
        assert found.vote_gradient[row] == pytest.approx((mass * slope * (chance - won)).sum(), abs=2e-3)
        own = {LEAN: np.ones_like(one), SLOPE_SD: one * gap, LEAN_SD: two}
        for column, k in enumerate(extras[: found.extras]):
            expected = (mass * own[k] * (chance - won)).sum()
            assert found.vote_extra_gradient[row, column] == pytest.approx(expected, abs=2e-3)
    assert found.vote_left.tolist() == c.left.tolist()
    assert found.vote_right.tolist() == c.right.tolist()
    assert found.vote_weight.tolist() == c.weight.tolist()
    assert_allclose(found.vote_weight_sq, c.weight**2)
    assert found.clusters["judge"].tolist() == c.judge.tolist()
    assert found.clusters["ranking"].tolist() == c.group.tolist()
    assert found.target is None
    assert not isinstance(found, WeightedInformation)
    sums = np.zeros(N)
    np.add.at(sums, c.left, c.weight * found.vote_gradient)
    np.subtract.at(sums, c.right, c.weight * found.vote_gradient)
    assert_allclose(sums, integral.slopes_of_loss()[:N], atol=1e-9)  # together they are the loss's
    if extras and found.vote_extra_gradient is not None:
        total = c.weight @ found.vote_extra_gradient
        assert_allclose(total, integral.slopes_of_loss()[[N + k for k in extras[: found.extras]]], atol=1e-9)


def test_scores_without_an_end_are_told():
    c = votes(sided=False)
    lost = (c.left == 2) | (c.right == 2)
    outcome = np.where(lost, np.where(c.left == 2, -1, 1), c.outcome).astype(np.int8)
    c = replace(c, outcome=outcome)
    found = judge_information(c, at(c, (0.0, 0.6, 0.0)), 0.3, extras=(), votes=True)
    assert found.open_below.tolist() == [False, False, True, False]
    assert not found.open_above.any()


@pytest.mark.parametrize(("most", "known"), [(3, True), (2, False)])
def test_of_many_items_slopes_of_judges_are_parameters(most, known, monkeypatch):
    monkeypatch.setattr(said, "MAX_JUDGES", most)
    c = votes()
    integral = at(c, (0.2, 0.6, 0.5), dense=False)
    found = judge_information(c, integral, 0.3, extras=(LEAN,), votes=True)
    plain = np.zeros((N, N))
    v = integral.votes
    for a, b, bend in zip(v.left, v.right, integral.curvature[:, 0], strict=True):
        plain[[a, b, a, b], [a, b, b, a]] += np.array([1, 1, -1, -1]) * bend
    assert_allclose(matrix_of(found)[:N, :N], plain + 0.6 * np.eye(N))
    assert found.vote_extra_gradient is None
    if not known:
        assert found.border is None
        return
    assert found.border.shape == (N, 3)
    assert_allclose(found.corner, np.diag(1 / integral.moments[:, 2]))
    border = np.zeros((N, 3))
    for r, (a, b, k) in enumerate(zip(v.left, v.right, v.judge, strict=True)):
        along = 0.6 * ((SCORES[a] - SCORES[b]) * integral.curvature[r, 1] - integral.gradient[r, 1])
        border[[a, b], k] += along, -along
    assert_allclose(found.border, border)
    full = integrate(v, SCORES, integral.extras, dense=True)
    # What judges' slopes take away once they are eliminated is about the variance of the gradient
    taken = found.border @ np.linalg.inv(found.corner) @ found.border.T
    alone = at(c, (0.2, 0.6, 0.0))
    assert np.linalg.norm(taken - full.variance[:N, :N]) < np.linalg.norm(full.variance[:N, :N])
    assert_allclose(
        at_first_order(at(c, (0.2, 0.6, 0.0), dense=False), c), alone.variance[:N, :N], atol=0.6 * alone.variance.max()
    )


def at_first_order(integral, c):
    found = judge_information(c, integral, 0.3, extras=(LEAN,), votes=False)
    return found.border @ np.linalg.inv(found.corner) @ found.border.T


def test_of_many_items_judges_without_votes_are_no_parameters():
    c = votes()
    some = c.take(np.flatnonzero(c.judge != 1))
    integral = integrate(JudgeVotes.of(some, by_side=True, worth=1.0), SCORES, np.array([0.2, 0.6, 0.5]), dense=False)
    found = judge_information(some, integral, 0.3, extras=(LEAN,), votes=False)
    assert found.border.shape == (N, 2)
    assert_allclose(found.corner.diagonal(), 1 / integral.moments[[0, 2], 2])


def test_of_many_items_with_slopes_alike_there_are_no_parameters():
    c = votes()
    found = judge_information(c, at(c, (0.2, 0.0, 0.5), dense=False), 0.3, extras=(LEAN,), votes=True)
    assert found.border is None
    assert found.corner is None
    assert found.vote_extra_gradient is None
