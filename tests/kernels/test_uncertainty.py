"""Kernels of uncertainty and bootstrap against the plain way."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.sparse import csr_array

from podium.kernels.pairwise import bootstrap as redraws
from podium.kernels.pairwise.uncertainty import fill, largest_gaps


def test_largest_gap_is_the_maximum_over_all_pairs():
    rng = np.random.default_rng(1)
    draws, precision = rng.normal(size=(20, 7)), rng.random((7, 7))
    precision += precision.T
    largest = np.empty(20)
    largest_gaps(draws, precision, largest)
    expected = [max(abs(x[i] - x[j]) * precision[i, j] for i in range(7) for j in range(7)) for x in draws]
    assert_allclose(largest, expected)


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 25), st.integers(0, 2**32 - 1))
def test_fill_counts_the_entries_of_the_factor(n, seed):
    rng = np.random.default_rng(seed)
    pattern = np.triu(rng.random((n, n)) < 0.15, 1)
    pattern |= pattern.T
    filled = pattern.copy()
    for k in range(n):  # eliminating k joins all its later neighbours
        later = np.flatnonzero(filled[k])
        later = later[later > k]
        filled[np.ix_(later, later)] = True
    columns = np.tril(filled, -1).sum(axis=0)
    sparse = csr_array(pattern)
    below = np.empty(n, dtype=np.int64)
    scratch = np.empty(n, dtype=np.int32), np.empty(n, dtype=np.int32)
    arrays = sparse.indptr.astype(np.int32), sparse.indices.astype(np.int32)
    work = fill(*arrays, *scratch, below, np.inf, np.inf)
    assert (below == columns).all()
    assert work == pytest.approx((columns**2).sum())
    if columns.sum() > 1:
        assert fill(*arrays, *scratch, below, 1.0, np.inf) == -1


def test_redraw_kernels_match_sums_over_rows():
    rng = np.random.default_rng(2)
    n, rows, count = 5, 30, 3
    left, right = rng.integers(n, size=rows), rng.integers(n, size=rows)
    draws, size, target = rng.random((count, rows)), rng.random(rows), rng.choice([0, 0.5, 1], size=rows)
    pair = rng.integers(12, size=rows)
    total, wins = np.zeros((count, 12)), np.zeros((count, 12))
    redraws.sum_by_pair(draws, size, target, pair, total, wins)
    for b in range(count):
        assert_allclose(total[b], np.bincount(pair, draws[b] * size, 12))
        assert_allclose(wins[b], np.bincount(pair, draws[b] * size * target, 12))

    scores, gradient = 3 * rng.normal(size=(count, n)), np.zeros((count, n))
    scores[0] *= 1000  # overflows of exp are chances of 0 and 1
    won = draws * target
    redraws.logistic_gradients(scores, left, right, draws, won, gradient)
    pushed = np.zeros((count, n))
    redraws.add_gradients(draws, left, right, size, pushed)
    for b in range(count):
        margin = scores[b][left] - scores[b][right]
        tail = 1 / (1 + np.exp(-np.abs(margin)))
        force = draws[b] * np.where(margin > 0, tail, 1 - tail) - won[b]
        assert_allclose(gradient[b], np.bincount(left, force, n) - np.bincount(right, force, n), atol=1e-12)
        moved = draws[b] * size
        assert_allclose(pushed[b], np.bincount(left, moved, n) - np.bincount(right, moved, n), atol=1e-12)
