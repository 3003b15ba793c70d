"""The encoding kernels against a plain dictionary."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.kernels.text import encode as kernel

texts = st.one_of(st.text(max_size=20), st.sampled_from(["a", "ab", "abc", "abcd", "é", "ж" * 9, "shared/x/shared"]))
labels = st.one_of(texts, st.integers(), st.tuples(texts, st.integers(0, 3)))


def numbered(*columns):
    """Slow twin: give every label, row by row, the next free number."""
    index = {}
    return [[index.setdefault(label, len(index)) for label in row] for row in zip(*columns, strict=True)], index


def memories(size):
    return np.zeros(size, np.uintp), np.zeros(size, np.uintp), np.zeros(2 * size, np.int32)


@given(st.lists(st.tuples(labels, labels)), st.sampled_from([1, 2, 64, kernel.MEMORY]))
def test_two_lists_are_numbered_together_whatever_the_size_of_the_memories(rows, size):
    left, right = [row[0] for row in rows], [row[1] for row in rows]
    codes, index = np.full((2, len(rows)), -1, np.int32), {}
    kernel.encode_lists(left, right, index, codes[0], codes[1], *memories(size))
    expected, twin = numbered(left, right)
    assert codes.T.tolist() == expected
    assert list(index.items()) == list(twin.items())


@given(st.lists(texts, max_size=60))
def test_equal_strings_that_are_separate_objects_share_a_code(words):
    separate = ["".join(list(word)) for word in words * 2]
    codes, index = np.empty(len(separate), np.int32), {}
    kernel.encode_list(separate, index, codes, *memories(8))
    assert codes.reshape(-1, 1).tolist() == numbered(separate)[0]
    assert index == numbered(separate)[1]


@pytest.mark.parametrize("width", [1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 40])
def test_strings_that_differ_in_one_byte_only_are_told_apart(width):
    words = ["x" * width] + ["x" * k + "y" + "x" * (width - k - 1) for k in range(width)]
    codes, index = np.empty(2 * len(words), np.int32), {}
    kernel.encode_list(words * 2, index, codes, *memories(kernel.MEMORY))
    assert codes.tolist() == list(range(len(words))) * 2


@given(st.lists(st.binary(min_size=5, max_size=5)), st.integers(0, 3))
def test_records_are_numbered_in_order_of_appearance_until_the_slots_are_half_full(rows, bits):
    records = np.array([int.from_bytes(row) for row in rows], np.uint64).reshape(-1, 1)
    slots, first, codes = np.full(2 << bits, -1, np.int32), np.empty(1 << bits, np.int64), np.empty(len(rows), np.int32)
    row, found = kernel.encode_records(records, 0, 0, first, slots, codes)
    expected, index = numbered(rows)
    assert codes[:row].tolist() == [code for (code,) in expected[:row]]
    assert found == len(set(rows[:row]))
    assert [rows[k] for k in first[:found]] == list(index)[:found]
    assert row == len(rows) or found == 1 << bits
