"""Sets of grades: how they grow, that they hold as often as asked, and what is said where they cannot."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from podium.errors import InputError, NotFittedError
from podium.ordinal import ConformalGrades, CumulativeLogit, Grader, PassiveAggressiveOrdinal, PRank
from podium.ordinal.conformal import Misses, grade_sets, miss, probability_before


def drawn(n, K, seed, noise=1.0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    cuts = np.linspace(-1.5, 1.5, K - 1) if K > 2 else [0.0]
    return X, np.digitize(X @ [1.0, 1.0, 0.0] + noise * rng.normal(size=n), cuts)


chances_of_rows = st.integers(1, 6).flatmap(
    lambda K: st.lists(st.lists(st.integers(0, 5), min_size=K, max_size=K).filter(any), min_size=1, max_size=5)
)


@given(chances_of_rows, st.tuples(st.integers(0, 5), st.integers(0, 5)))
def test_a_set_grows_grade_by_grade_to_its_likelier_neighbour(weights, seed):
    chances = np.array(weights, dtype=float)
    chances /= chances.sum(axis=1, keepdims=True)
    first = np.array(list(seed) * len(chances))[: len(chances)] % chances.shape[1]
    for start, p, before in zip(first, chances, probability_before(chances, first), strict=True):
        low = high = int(start)
        mass = 0.0
        expected = np.zeros(len(p))
        taken = low
        for _ in range(len(p)):
            expected[taken] = mass
            mass += p[taken]
            left = p[low - 1] if low > 0 else -1.0
            right = p[high + 1] if high + 1 < len(p) else -1.0
            if left > right:
                low = taken = low - 1
            else:
                high = taken = high + 1
        assert_allclose(before, expected, atol=1e-12)


@given(chances_of_rows, st.floats(0, 1))
def test_a_set_is_the_run_of_grades_with_no_more_before_them_than_the_bound(weights, bound):
    chances = np.array(weights, dtype=float)
    chances /= chances.sum(axis=1, keepdims=True)
    for p, (low, high) in zip(chances, grade_sets(chances, chances.argmax(axis=1), bound), strict=True):
        assert low <= p.argmax() <= high
        inside = probability_before(p[None], p[None].argmax(axis=1))[0] <= bound + 1e-12
        assert_array_equal(inside, (np.arange(len(p)) >= low) & (np.arange(len(p)) <= high))


def test_a_range_is_missed_by_its_nearest_grade():
    p, first = np.array([[0.1, 0.5, 0.3, 0.1]]), np.array([1])
    for low, high in itertools.combinations_with_replacement(range(4), 2):
        expected = probability_before(p, first)[0, low : high + 1].min()
        assert miss(p, first, np.array([low]), np.array([high]))[0] == expected


def test_the_level_of_exchangeable_misses_is_exact():
    """Of m + 1 distinct misses in any order, the last is at most the bound of the others in ⌈(m + 1)·level⌉ orders."""
    values = np.array([0.1, 0.2, 0.4, 0.5, 0.8, 0.9])
    for level in (0.3, 0.5, 0.8):
        held = [values[k] <= Misses(np.delete(values, k)).bound(level) for k in range(6)]
        assert sum(held) == math.ceil(6 * level)
    assert Misses(values).bound(0.9) == math.inf  # six rows know nothing of nine in ten
    assert np.isnan(Misses(np.empty(0)).right)


@pytest.mark.parametrize("K", [2, 3, 6])
@pytest.mark.parametrize("make", [PassiveAggressiveOrdinal, PRank, CumulativeLogit], ids=lambda make: make.__name__)
def test_what_is_asked_is_got(K, make):
    """Mean over sets within two points; |grade − median| would hold 99.8 % where 80 % was asked of three grades."""
    got, right = {0.8: [], 0.9: []}, []
    for seed in range(4):
        X, y = drawn(5000, K, [K, seed], noise=2.0)
        options = {} if make is CumulativeLogit else {"random_state": 0}
        model = make(**options).fit(X[:500], y[:500])
        sets = ConformalGrades(model).calibrate(X[500:2500], y[500:2500])
        right.append(sets.misses_.right)
        for level, shares in got.items():
            low, high = sets.predict_interval(X[2500:], level=level).T
            shares.append(np.mean((low <= y[2500:]) & (y[2500:] <= high)))
    for level, shares in got.items():
        assert np.mean(right) < level
        assert np.mean(shares) == pytest.approx(level, abs=0.02)


def test_a_range_label_is_held_when_the_set_meets_it():
    X, y = drawn(6000, 5, 1, noise=1.5)
    rng = np.random.default_rng(2)
    ends = np.stack([(y - rng.integers(0, 2, 6000)).clip(0), (y + rng.integers(0, 2, 6000)).clip(None, 4)], axis=1)
    model = CumulativeLogit().fit(X[:1000], ends[:1000])
    low, high = ConformalGrades(model).calibrate(X[1000:3500], ends[1000:3500]).predict_interval(X[3500:], level=0.9).T
    meets = (low <= ends[3500:, 1]) & (ends[3500:, 0] <= high)
    assert meets.mean() == pytest.approx(0.9, abs=0.02)


def test_without_a_level_nine_in_ten_are_held():
    X, y = drawn(3000, 5, 4, noise=1.5)
    sets = ConformalGrades(CumulativeLogit().fit(X[:1000], y[:1000])).calibrate(X[1000:2000], y[1000:2000])
    assert np.array_equal(sets.predict_interval(X[2000:]), sets.predict_interval(X[2000:], level=0.9))


def test_a_grade_that_is_right_more_often_than_asked_is_the_set():
    X, y = drawn(3000, 3, 3, noise=0.1)
    model = PassiveAggressiveOrdinal(random_state=0).fit(X[:1000], y[:1000])
    sets = ConformalGrades(model).calibrate(X[1000:2000], y[1000:2000])
    assert sets.misses_.right > 0.8
    low, high = sets.predict_interval(X[2000:], level=0.5).T
    assert_array_equal(low, high)


def learned(n, K, seed, *, passes=1, turn=None):
    X, y = drawn(n + 3000, K, seed)
    if turn is not None:
        X[turn:] = -X[turn:]
    grader = Grader.empty(["a", "b", "c"], PassiveAggressiveOrdinal(classes=np.arange(K)))
    for number in range(passes):
        grader.learn(X[:n], y[:n], fresh=number == 0)
    return grader, X[n:], y[n:]


@pytest.mark.parametrize(("K", "passes"), [(3, 1), (6, 1), (6, 3)])
def test_after_a_stream_what_is_asked_is_got(K, passes):
    shares, told = [], []
    for seed in range(5):
        grader, X, y = learned(4000, K, [10, seed], passes=passes)
        low, high = grader.interval(X, level=0.8).T
        shares.append(np.mean((low <= y) & (y <= high)))
        told.append(grader.held(0.8)[0])
    assert np.mean(shares) == pytest.approx(0.8, abs=0.02)
    assert np.mean(told) == pytest.approx(0.8, abs=0.03)


def test_rows_are_scored_before_they_are_learned_and_only_once():
    grader, X, y = learned(1000, 3, 4)
    before = grader._placed(grader.scale.apply(X[:50]))
    kept = grader.recent.shape[1]
    assert kept == 500  # the newer half
    grader.settled = True
    grader.learn(X[:50], y[:50])
    assert_allclose(grader.recent[:2, -50:], before)
    assert_array_equal(grader.recent[2:, -50:], np.stack([y[:50]] * 2))
    known = grader.recent
    grader.learn(X[:50], y[:50], fresh=False)
    assert grader.recent is known


def test_drift_is_seen_in_the_running_share():
    """The features turn around half-way through the recent rows: the newer half does not get what the older had."""
    grader, _, _ = learned(4000, 6, 5, turn=3000)
    share, rows = grader.held(0.9)
    assert rows == 1000
    assert share < 0.85


def test_too_few_rows_are_told():
    grader, X, _ = learned(50, 3, 6)
    with pytest.raises(InputError, match=r"the model keeps 0, too few for level="):
        grader.interval(X)
    some, X, _ = learned(80, 3, 6)
    low, high = some.interval(X[:5], level=0.99).T
    assert_array_equal(high - low, 2)  # fifteen rows know nothing of one in a hundred: all grades


@pytest.mark.parametrize("level", [0, 1, -0.1, 1.5, math.nan, "much", None, True])
def test_a_level_that_is_no_share_is_refused(level):
    X, y = drawn(200, 3, 7)
    sets = ConformalGrades(CumulativeLogit().fit(X, y)).calibrate(X, y)
    with pytest.raises(InputError, match=r"level=.* must lie between 0 and 1"):
        sets.predict_interval(X, level=level)


def test_a_level_is_set_before_sets_are_asked_for():
    X, y = drawn(200, 3, 8)
    model = PassiveAggressiveOrdinal(random_state=0).fit(X, y)
    with pytest.raises(NotFittedError, match="call calibrate"):
        ConformalGrades(model).predict_interval(X)
    with pytest.raises(InputError, match="two rows at least"):
        ConformalGrades(model).calibrate(X[:1], y[:1])
