"""Kernels in place of SciPy's: triangular solves, components, Poisson draws by tables; and Student's quantiles."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.linalg import cho_solve
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.special import stdtrit
from scipy.stats import chisquare, poisson

from podium.kernels.pairwise.bradley_terry import solve_lower
from podium.kernels.pairwise.graph import unite
from podium.numeric import student_quantile
from podium.ranking.uncertainty.redraw import MIN_TABLED, NORMAL_FROM, _poisson, _small_poisson


@given(st.integers(1, 30), st.integers(0, 999))
def test_a_triangle_is_solved_as_by_lapack(n, seed):
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(n, n)) + n * np.eye(n)
    lower, force = np.linalg.cholesky(root @ root.T), rng.normal(size=n)
    solved = force.copy()
    solve_lower(lower, solved)
    assert_allclose(solved, cho_solve((lower, True), force), rtol=1e-9, atol=1e-12)


@given(st.integers(1, 40), st.lists(st.tuples(st.integers(0, 39), st.integers(0, 39)), max_size=60))
def test_first_of_each_component_is_as_scipy_finds_it(n, pairs):
    left, right = (np.array([pair[k] % n for pair in pairs], dtype=np.int32) for k in (0, 1))
    first = np.arange(n, dtype=np.int32)
    unite(left, right, first)
    labels = connected_components(coo_array((np.ones(len(left)), (left, right)), shape=(n, n)), directed=False)[1]
    assert first.tolist() == [int(np.argmax(labels == label)) for label in labels]


@settings(deadline=None)
@given(st.integers(1, 300), st.floats(0.5, 0.9999))
def test_quantiles_of_student_are_those_of_scipy(degrees, chance):
    assert student_quantile(degrees, chance) == pytest.approx(stdtrit(degrees, chance), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("mean", [0.0, 0.02, 1.0, 7.5, 29.99])
def test_tabled_draws_have_the_chances_of_poisson(mean):
    draws = _small_poisson(np.full(5000, mean), MIN_TABLED, np.random.default_rng(5)).ravel()
    values = np.arange(int(draws.max()) + 2)
    expected = len(draws) * poisson.pmf(values, mean)
    often = expected >= 5
    seen = np.bincount(draws.astype(int), minlength=len(values))
    rare = len(draws) - seen[often].sum(), len(draws) - expected[often].sum()
    both = (np.append(seen[often], rare[0]), np.append(expected[often], rare[1])) if rare[1] > 1 else (
        seen[often], expected[often] * seen[often].sum() / expected[often].sum()
    )  # fmt: skip
    if len(both[0]) > 1:
        assert chisquare(*both).pvalue > 1e-4
    else:
        assert set(draws.tolist()) == {0.0}


def test_draws_of_many_means_and_of_few_have_their_moments():
    rng = np.random.default_rng(2)
    for mean in (rng.uniform(0, 60, 3000), rng.integers(0, 60, 3000).astype(float)):  # beyond all tables, and within
        draws = _poisson(mean, 200, rng)
        assert_allclose(draws.mean(axis=0), mean, atol=6 * np.sqrt(60 / 200))
        off = (draws - mean) ** 2 / np.maximum(mean, 1e-9)
        assert off[:, mean >= 1].mean() == pytest.approx(1.0, abs=0.02)
        small = draws[:, mean < NORMAL_FROM]
        assert np.array_equal(small, np.rint(small))
        assert (small >= 0).all()
