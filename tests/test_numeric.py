"""Small numerical methods against their definitions and against SciPy."""

import itertools

import numpy as np
import pytest
import scipy.stats

from podium.numeric import CORRECTIONS, adjusted_p_values, conjugate_gradients, student_quantile

P_VALUES = [[], [0.2], [0.01, 0.04, 0.03], [0.5, 0.5, 0.001, 0.9], [0.0, 1.0, 0.3, 0.02, 0.021, 0.4]]


def closed(p, k):
    """Holm's p-value as the closed test has it: the worst of the Bonferroni tests of every set that holds the k-th."""
    others = [j for j in range(len(p)) if j != k]
    sets = itertools.chain.from_iterable(itertools.combinations(others, size) for size in range(len(p)))
    return max(min(1.0, (len(others) + 1) * min(p[j] for j in [k, *others])) for others in sets)


@pytest.mark.parametrize("p", P_VALUES)
def test_adjusted_p_values_are_those_of_their_definitions(p):
    found = {name: adjusted_p_values(np.array(p), name) for name in CORRECTIONS}
    np.testing.assert_allclose(found["holm"], [closed(p, k) for k in range(len(p))], rtol=1e-12)
    np.testing.assert_allclose(found["bonferroni"], [min(1.0, len(p) * each) for each in p], rtol=1e-12)
    np.testing.assert_allclose(found["fdr"], scipy.stats.false_discovery_control(p) if p else [], rtol=1e-12)
    assert found["none"].tolist() == p


@pytest.mark.parametrize("correction", CORRECTIONS)
def test_what_is_no_test_stays_and_does_not_count(correction):
    with_gaps = adjusted_p_values(np.array([np.nan, 0.02, np.nan, 0.01, 0.3]), correction)
    assert np.isnan(with_gaps).tolist() == [True, False, True, False, False]
    assert with_gaps[[1, 3, 4]].tolist() == adjusted_p_values(np.array([0.02, 0.01, 0.3]), correction).tolist()


@pytest.mark.parametrize("columns", [(), (3,)])
@pytest.mark.parametrize("accuracy", [0.3, 1e-6])
def test_conjugate_gradients_say_whether_their_steps_sufficed(columns, accuracy):
    rng = np.random.default_rng(5)
    root = rng.normal(size=(8, 8))
    a, force = root @ root.T + 0.5 * np.eye(8), rng.normal(size=(8, *columns))
    if columns:
        force[:, 1] = 0.0  # has its answer at the start, and waits for the others
    scale = a.diagonal().reshape(8, *(1 for _ in columns))
    goal = accuracy**2 * np.sum(force**2 / scale, axis=0)
    sufficed = []
    for most in range(13):
        x, enough = conjugate_gradients(a.__matmul__, a.diagonal(), force, accuracy=accuracy, most=most)
        residual = force - a @ x
        sufficed.append(enough)
        assert enough == bool(np.all(np.sum(residual**2 / scale, axis=0) <= goal + 1e-25))
    assert sufficed[0] is False
    assert sufficed[-1] is True
    assert sufficed == sorted(sufficed)
    within, _ = conjugate_gradients(a.__matmul__, a.diagonal(), force, accuracy=0.0, most=40)
    np.testing.assert_allclose(within, np.linalg.solve(a, force), atol=1e-9)


def test_conjugate_gradients_need_a_step_for_each_eigenvalue_and_no_more():
    a = np.diag([1.0, 2.0, 2.0, 5.0, 5.0])
    x, enough = conjugate_gradients(a.__matmul__, np.ones(5), np.ones(5), accuracy=1e-9, most=3)
    assert enough
    np.testing.assert_allclose(x, 1.0 / a.diagonal(), rtol=1e-12)
    assert conjugate_gradients(a.__matmul__, a.diagonal(), np.ones(5), accuracy=1e-9, most=1)[1]  # preconditioned


@pytest.mark.parametrize("degrees", [1, 2, 3, 4, 5, 6, 9, 30, 31, 200])
def test_quantiles_of_student_are_those_of_scipy(degrees):
    chances = [0.5, 0.6, 0.9, 0.975, 0.9995]
    found = [student_quantile(degrees, chance) for chance in chances]
    np.testing.assert_allclose(found, scipy.stats.t.ppf(chances, degrees), rtol=1e-9, atol=1e-12)


def test_conjugate_gradients_take_no_step_where_there_is_nothing_to_solve():
    def never(way):
        raise AssertionError("no product is needed")

    x, enough = conjugate_gradients(never, np.ones(3), np.zeros(3), accuracy=1e-9, most=5)
    assert (x.tolist(), enough) == ([0.0] * 3, True)
    steps = []

    def diagonal(way):
        steps.append(1)
        return 2.0 * way

    x, enough = conjugate_gradients(diagonal, np.full(2, 2.0), np.array([2.0, 4.0]), accuracy=0.0, most=5)
    assert (x.tolist(), enough, len(steps)) == ([1.0, 2.0], True, 1)
