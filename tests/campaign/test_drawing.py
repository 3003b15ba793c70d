"""Tiers and pairs drawn at random, against their definitions."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.campaign.desk import _pairs_of_many, _random_pairs
from podium.campaign.standing import _tiers
from podium.store.values import pair_of


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=9))
def test_tiers_are_numbered_one_by_one_and_hold_what_the_first_of_them_may_be(widths):
    place = np.arange(1, len(widths) + 1)
    below, above = np.array(widths).T
    lower, upper = np.maximum(place - below, 1), np.minimum(place + above, len(place))
    found = _tiers(np.arange(len(place)), lower, upper)
    assert found[0] == 1
    first = 0
    for item in range(1, len(place)):
        begins = lower[item] > upper[first]
        assert found[item] == found[item - 1] + begins
        first = item if begins else first


@given(st.integers(2, 9), st.integers(1, 12), st.integers(0, 20), st.integers(0, 99))
def test_random_pairs_are_new_ones_as_many_as_there_are(n, count, known, seed):
    rng = np.random.default_rng(seed)
    codes = (10 + 3 * np.arange(n)).tolist()
    everything = {pair_of(a, b) for a in codes for b in codes if a < b}
    seen = set(rng.permutation(sorted(everything))[:known].tolist())
    pairs = [pair_of(*pair) for pair in _random_pairs(codes, seen, count, rng)]
    assert len(set(pairs)) == len(pairs) == min(count, len(everything - seen))
    assert set(pairs) <= everything - seen


def test_random_pairs_and_their_sides_are_uniform():
    rng = np.random.default_rng(0)
    drawn = [tuple(_random_pairs(range(4), set(), 1, rng)[0]) for _ in range(2400)]
    counts = np.unique([10 * left + right for left, right in drawn], return_counts=True)[1]
    assert len(counts) == 12
    assert ((counts - 200) ** 2 / 200).sum() < 31.3  # χ² with 11 degrees, one run in a thousand
    sides = [left < right for left, right in _random_pairs(range(80), set(), 600, rng)]  # drawn until they are new
    assert abs(sum(sides) - 300) < 3.3 * np.sqrt(600) / 2


@pytest.mark.parametrize("count", [1, 5])
def test_pairs_of_many_items_are_neither_known_nor_out_nor_of_conflicts_nor_withdrawn(count):
    rng = np.random.default_rng(count)
    size, withdrawn, conflicts = 12, {1, 2}, {3}
    seen, out = {pair_of(4, 5), pair_of(4, 6)}, {pair_of(5, 6), pair_of(7, 8)}
    writer = SimpleNamespace(
        locked=SimpleNamespace(id=1),
        is_active=lambda campaign, key: key in out,
        items_of=lambda campaign, codes: {
            code: SimpleNamespace(withdrawn=0 if code in withdrawn else None) for code in codes
        },
    )
    judge, drawn = SimpleNamespace(conflicts=tuple(conflicts)), set()
    for _ in range(150):
        pairs = _pairs_of_many(writer, judge, size, seen, count, rng)
        assert len({pair_of(*pair) for pair in pairs}) == len(pairs) == count
        drawn |= {pair_of(*pair) for pair in pairs}
    free = [code for code in range(size) if code not in withdrawn | conflicts]
    assert drawn <= {pair_of(a, b) for a in free for b in free if a < b} - seen - out
    assert len(drawn) > 25  # of 32


def test_where_no_pair_is_left_none_is_drawn():
    writer = SimpleNamespace(locked=SimpleNamespace(id=1), is_active=lambda campaign, key: True)
    assert _pairs_of_many(writer, SimpleNamespace(conflicts=()), 5, set(), 2, np.random.default_rng(0)) == []
