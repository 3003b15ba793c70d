"""The update kernels against the quadratic programmes of the paper, solved by quadprog."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.sparse import csr_array

from podium.kernels.ordinal import passes as ordinal
from podium.kernels.ordinal import perceptron as ordinal_perceptron
from podium.ordinal.online import row_arrays

from reference_ordinal import online, passive_aggressive_step, prank_step

VARIANTS = {"pa": 0, "pa1": 1, "pa2": 2, "prank": 3}
NOTHING, NO_INTS, NO_ORDER = np.empty(0), np.empty(0, np.int32), np.empty(0, np.int64)


def learn(X, low, high, variant, C, w=None, theta=None, K=None, average=False, order=NO_ORDER):
    """One pass of the kernel; dense, or CSR when X is sparse."""
    d = X.shape[1]
    w = np.zeros(d) if w is None else w.copy()
    theta = np.zeros(K - 1) if theta is None else theta.copy()
    lags = (np.zeros(d), np.zeros(len(theta))) if average else (NOTHING, NOTHING)
    predicted = np.empty(X.shape[0], np.int32)
    totals = np.zeros(2)
    C = np.atleast_1d(np.inf if variant in ("pa", "prank") and np.ndim(C) == 0 else np.asarray(C, float))
    arguments = (np.asarray(low, np.int32), np.asarray(high, np.int32), C, order, w, theta, *lags, predicted, totals)
    updates = ordinal.learn_rows(*row_arrays(X), *arguments, VARIANTS[variant], 0)
    return w, theta, lags, predicted, totals, updates


@st.composite
def trials(draw):
    """A classifier, an example of squared length q from 1e-3 to 300, and a label, exact or a range."""
    seed = draw(st.integers(0, 2**32 - 1))
    K = draw(st.one_of(st.integers(2, 20), st.just(60)))
    low = draw(st.integers(0, K - 1))
    high = min(K - 1, low + draw(st.sampled_from([0, 0, 0, 1, 2, K])))
    q = draw(st.one_of(st.just(0.0), st.floats(1e-3, 300)))
    spread = draw(st.sampled_from([0.0, 0.1, 1.0, 4.0]))
    C = draw(st.floats(0.01, 30))
    rng = np.random.default_rng(seed)
    x = rng.normal(size=draw(st.integers(1, 7)))
    x *= np.sqrt(q) / np.linalg.norm(x)
    w = rng.normal(size=len(x)) / np.sqrt(max(q, 1.0))
    theta = np.sort(rng.normal(scale=spread, size=K - 1).round(draw(st.sampled_from([0, 1, 9]))))
    return w, theta, x, low, high, C


@pytest.mark.parametrize("variant", ["pa", "pa1", "pa2"])
@settings(max_examples=250, deadline=None)
@given(trial=trials())
def test_an_update_is_the_solution_of_its_quadratic_programme_and_keeps_the_order(variant, trial):
    w, theta, x, low, high, C = trial
    expected_w, expected_theta = passive_aggressive_step(w, theta, x, low, high, variant, C)
    new_w, new_theta, *_ = learn(x[None], [low], [high], variant, C, w=w, theta=theta)
    assert_allclose(new_w, expected_w, atol=1e-9, rtol=1e-9)
    assert_allclose(new_theta, expected_theta, atol=1e-9, rtol=1e-9)
    assert (np.diff(new_theta) >= 0).all()


@settings(max_examples=60, deadline=None)
@given(trial=trials(), variant=st.sampled_from(["pa", "pa1", "pa2", "prank"]))
def test_learning_one_example_is_a_pass_of_one_row(trial, variant):
    w, theta, x, low, high, C = trial
    C = np.inf if variant in ("pa", "prank") else C
    new_w, new_theta, _, _, totals, updates = learn(x[None], [low], [high], variant, C, w=w, theta=theta)
    state = np.concatenate([w, theta])
    told = ordinal.learn_one(x, low, high, C, state, False, VARIANTS[variant], 0)
    assert_allclose(state, np.concatenate([new_w, new_theta]), atol=1e-12)
    assert max(told, 0) == totals[0]
    assert (told >= 0) == bool(updates)


def test_no_loss_is_no_update():
    w, theta = np.array([1.0, 0.0]), np.array([-2.0, 0.0, 2.0])
    for variant in VARIANTS:
        new_w, new_theta, *_, updates = learn(np.array([[1.0, 5.0]]), [2], [2], variant, 1.0, w=w, theta=theta)
        assert updates == 0
        assert_allclose(new_w, w)
        assert_allclose(new_theta, theta)


def test_an_example_of_zeros_still_moves_thresholds():
    _, theta, *_ = learn(np.zeros((1, 3)), [1], [1], "pa", 1.0, K=4)
    assert_allclose(theta, [-1, 1, 1])  # w·x is 0 whatever w is, so each goes to its margin


def test_two_grades_are_binary_passive_aggressive_with_a_threshold():
    # Crammer et al. (2006): w += tau y x, tau = loss / |x|², here with x extended by the threshold's -1.
    x = np.array([3.0, -4.0])
    w, theta, *_ = learn(x[None], [1], [1], "pa", 1.0, K=2)
    assert_allclose(w, x / 26)
    assert_allclose(theta, [-1 / 26])


def generated(n=120, d=4, K=5, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.6)
    z = X @ rng.normal(size=d) + rng.normal(scale=0.3, size=n)
    y = np.searchsorted(np.quantile(z, np.arange(1, K) / K), z)
    low = np.maximum(y - rng.integers(0, 2, n), 0)
    high = np.minimum(y + rng.integers(0, 3, n), K - 1)
    return X, low, high, K


@pytest.mark.parametrize("variant", ["pa", "pa1", "pa2", "prank"])
def test_a_pass_is_the_literal_loop(variant):
    X, low, high, K = generated()

    def step(w, theta, x, lo, hi):
        return (
            prank_step(w, theta, x, lo, hi)
            if variant == "prank"
            else passive_aggressive_step(w, theta, x, lo, hi, variant, 0.1)
        )

    w, theta, mean_w, mean_theta, errors, _ = online(step, X, low, high, K - 1)
    got_w, got_theta, lags, predicted, totals, _ = learn(X, low, high, variant, 0.1, K=K, average=True)
    assert_allclose(got_w, w, atol=1e-8)
    assert_allclose(got_theta, theta, atol=1e-8)
    assert_allclose(got_w - lags[0] / len(X), mean_w, atol=1e-8)
    assert_allclose(got_theta - lags[1] / len(X), mean_theta, atol=1e-8)
    assert_allclose(np.maximum(0, np.maximum(low - predicted, predicted - high)), errors)
    assert_allclose(totals, [sum(errors), len(X)])


@pytest.mark.parametrize("variant", ["pa", "pa1", "pa2", "prank"])
@pytest.mark.parametrize("wide", [np.int32, np.int64])
@pytest.mark.parametrize("average", [False, True])
def test_sparse_rows_give_what_dense_rows_give(variant, wide, average):
    X, low, high, K = generated(seed=3)
    S = csr_array(X)
    S.indices, S.indptr = S.indices.astype(wide), S.indptr.astype(wide)
    dense = learn(X, low, high, variant, 0.1, K=K, average=average)
    sparse = learn(S, low, high, variant, 0.1, K=K, average=average)
    for a, b in zip([*dense[:2], *dense[2], *dense[3:]], [*sparse[:2], *sparse[2], *sparse[3:]], strict=True):
        assert_allclose(a, b, atol=1e-9)


def test_single_precision_rows_give_what_their_double_copies_give():
    X, low, high, K = generated(seed=4)
    single = X.astype(np.float32)
    for rows in (single, csr_array(single)):
        w, theta, *_ = learn(rows, low, high, "pa1", 0.1, K=K)
        expected, expected_theta, *_ = learn(single.astype(np.float64), low, high, "pa1", 0.1, K=K)
        assert_allclose(w, expected, atol=1e-12)
        assert_allclose(theta, expected_theta, atol=1e-12)


def test_rows_come_in_the_order_given_and_those_without_weight_never():
    X, low, high, K = generated(seed=5)
    order = np.random.default_rng(1).permutation(len(X))
    keep = np.arange(len(X)) % 3 != 0
    C = np.where(keep, 0.05, 0.0)
    chosen = order[keep[order]]
    w, theta, *_ = learn(X, low, high, "pa1", C, K=K, order=order)
    expected, expected_theta, *_ = learn(X[chosen], low[chosen], high[chosen], "pa1", 0.05, K=K)
    assert_allclose(w, expected, atol=1e-12)
    assert_allclose(theta, expected_theta, atol=1e-12)


def perceptron_loop(X, low, high, K):
    """The ultraconservative update written out: the best allowed prototype gains x, the best one loses it."""
    X = np.hstack([X, np.ones((len(X), 1))])
    W, mean = np.zeros((K, X.shape[1])), np.zeros((K, X.shape[1]))
    for t, (x, lo, hi) in enumerate(zip(X, low, high, strict=True), start=1):
        scores = W @ x
        best = int(scores.argmax())
        if not lo <= best <= hi:
            W[lo + int(scores[lo : hi + 1].argmax())] += x
            W[best] -= x
        mean += (W - mean) / t
    return W, mean


def test_the_perceptron_kernel_is_the_literal_loop_dense_and_sparse():
    X, low, high, K = generated(seed=6)
    low, high = low.astype(np.int32), high.astype(np.int32)
    expected, mean = perceptron_loop(X, low, high, K)
    for rows in (X, csr_array(X)):
        W, lag = np.zeros((K, X.shape[1] + 1)), np.zeros((K, X.shape[1] + 1))
        state = (np.ones(1), NO_ORDER, W, lag, np.empty(K), NO_INTS, np.zeros(2), 0)
        ordinal_perceptron.learn_rows(*row_arrays(rows), low, high, *state)
        assert_allclose(W, expected, atol=1e-9)
        assert_allclose(W - lag / len(X), mean, atol=1e-9)
