"""Least squares against the normal equations, SciPy, and the geometry of cycles."""

import numpy as np
import pytest
from hypothesis import given, settings
from numpy.testing import assert_allclose

from podium import Comparisons, LeastSquares
from podium.errors import ConnectivityWarning, InputError

from helpers import as_comparisons, simulate, thin_data
from reference_rabf import design
from strategies import votes


def margins(n, m, seed):
    rng = np.random.default_rng(seed)
    left = rng.integers(0, n, m)
    right = (left + rng.integers(1, n, m)) % n
    return left, right, rng.exponential(size=m), rng.choice([0.5, 1.0, 3.0], m)


@settings(max_examples=80, deadline=None)
@given(votes())
def test_scores_are_the_shortest_least_squares_solution(data):
    n, rows = data
    with thin_data():
        model = LeastSquares().fit(as_comparisons(n, rows))
    root = np.sqrt([w for *_, w in rows])
    targets = np.array([2 * y - 1 for *_, y, _ in rows])
    table = design(n, rows, np.empty((n, 0)))
    expected = np.linalg.lstsq(root[:, None] * table, root * targets, rcond=None)[0]
    assert_allclose(model.ranking_.scores, expected, atol=1e-7)


@pytest.mark.parametrize("n", [30, 700])  # dense, and beyond
def test_margins_and_a_penalty_agree_with_scipy(n):
    from scipy.sparse import csr_array, vstack
    from scipy.sparse.linalg import lsqr

    left, right, margin, weight = margins(n, 20 * n, 0)
    data = Comparisons.from_arrays(left, right, margin=margin, weight=weight, items=range(n))
    m = len(left)
    table = csr_array((np.tile([1.0, -1.0], m), np.column_stack([left, right]).ravel(), 2 * np.arange(m + 1)))
    root = np.sqrt(weight)
    for l2 in (0.0, 0.8):
        damped = vstack([table.multiply(root[:, None]), np.sqrt(l2) * csr_array(np.eye(n))])
        expected = lsqr(damped, np.concatenate([root * margin, np.zeros(n)]), atol=1e-13, btol=1e-13)[0]
        assert_allclose(LeastSquares(l2=l2).fit(data).ranking_.scores, expected, atol=1e-6)


def test_a_potential_has_no_cycles_and_rock_paper_scissors_nothing_else():
    height = {"a": 3.0, "b": 1.5, "c": 1.0, "d": -2.0}
    winner, loser = zip(*[(i, j) for i in height for j in height if height[i] > height[j]], strict=True)
    flat = Comparisons.from_arrays(
        winner, loser, margin=[height[i] - height[j] for i, j in zip(winner, loser, strict=True)]
    )
    assert LeastSquares().fit(flat).cyclic_share_ == pytest.approx(0.0, abs=1e-12)
    around = Comparisons.from_pairs([("rock", "scissors"), ("scissors", "paper"), ("paper", "rock")])
    assert LeastSquares().fit(around).cyclic_share_ == pytest.approx(1.0)
    assert_allclose(LeastSquares().fit(around).ranking_.scores, 0.0, atol=1e-9)


def test_the_cyclic_share_is_the_residual_of_the_projection():
    left, right, margin, weight = margins(8, 60, 1)
    data = Comparisons.from_arrays(left, right, margin=margin, weight=weight, items=range(8))
    p = data.pairs
    table = design(8, list(zip(p.left, p.right, strict=True)), np.empty((8, 0)))
    root = np.sqrt(p.total)
    residual = np.linalg.lstsq(root[:, None] * table, root * p.margin, rcond=None)
    off = root * p.margin - root[:, None] * table @ residual[0]
    assert LeastSquares().fit(data).cyclic_share_ == pytest.approx(off @ off / (p.total @ p.margin**2))


def test_standard_errors_are_those_of_ordinary_least_squares():
    winner, loser, _ = simulate(6, 300, np.random.default_rng(2))
    model = LeastSquares().fit(Comparisons.from_arrays(winner, loser, items=range(6)))
    table = design(6, list(zip(winner, loser, strict=True)), np.empty((6, 0)))
    off = 1.0 - table @ model.ranking_.scores
    noise = off @ off / (300 - 5)
    assert model.noise_ == pytest.approx(np.sqrt(noise))
    assert_allclose(model.ranking_.std_errors, np.sqrt(noise * np.linalg.pinv(table.T @ table).diagonal()), rtol=1e-6)


def test_errors_from_the_votes_themselves_are_those_of_white():
    left, right, margin, _ = margins(6, 300, 3)
    ranking = LeastSquares().fit(Comparisons.from_arrays(left, right, margin=margin, items=range(6))).ranking_
    table = design(6, list(zip(left, right, strict=True)), np.empty((6, 0)))
    bread, off = np.linalg.pinv(table.T @ table), margin - table @ ranking.scores
    expected = np.sqrt((bread @ (table.T * off**2 @ table) @ bread).diagonal())
    assert_allclose(ranking.with_uncertainty("sandwich").std_errors, expected, rtol=1e-6)


def test_groups_never_compared_are_said_and_centred_each():
    data = Comparisons.from_pairs([("a", "b"), ("a", "b"), ("b", "a"), ("x", "y")])
    with pytest.warns(ConnectivityWarning, match="2 groups"):
        ranking = LeastSquares().fit(data).ranking_
    assert_allclose(ranking.scores, [1 / 6, -1 / 6, 0.5, -0.5], atol=1e-9)


def test_bad_options_are_named():
    with pytest.raises(InputError, match="l2=-1"):
        LeastSquares(l2=-1).fit(Comparisons.from_pairs([("a", "b")]))
    with pytest.raises(InputError, match="fit takes Comparisons, not list"):
        LeastSquares().fit([("a", "b")])


def test_the_information_has_the_noise_as_its_unit_and_the_pull_of_every_vote():
    left, right, margin, weight = margins(5, 40, 4)
    data = Comparisons.from_arrays(
        left, right, margin=margin, weight=weight, items=range(5), judge=[k % 3 for k in range(40)],
        group=[k // 8 for k in range(40)],
    )  # fmt: skip
    model = LeastSquares(l2=0.7).fit(data)
    known, scores, noise = model.ranking_.information, model.ranking_.scores, model.noise_
    matrix = np.zeros((5, 5))
    for a, b, c in zip(known.left, known.right, known.curvature, strict=True):
        matrix[[a, b, a, b], [a, b, b, a]] += [c, c, -c, -c]
    expected = np.zeros((5, 5))
    for a, b, w in zip(left, right, weight, strict=True):
        expected[[a, b, a, b], [a, b, b, a]] += w / noise**2 * np.array([1, 1, -1, -1])
    assert_allclose(matrix, expected)
    assert known.ridge == pytest.approx(0.7 / noise**2)
    assert_allclose(known.scores, scores, atol=1e-9)
    assert known.vote_left.tolist() == left.tolist()
    assert known.vote_right.tolist() == right.tolist()
    assert_allclose(known.vote_gradient, (scores[left] - scores[right] - margin) / noise**2, atol=1e-9)
    assert_allclose(known.vote_weight, weight)
    assert_allclose(known.vote_weight_sq, weight**2)
    assert {name: codes.tolist() for name, codes in known.clusters.items()} == {
        "judge": data.judge.tolist(), "group": data.group.tolist()
    }  # fmt: skip
