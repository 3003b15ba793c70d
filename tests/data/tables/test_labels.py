"""Labels to codes: any column of names, one numbering."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.data.tables.labels import encode, encode_pair, is_missing
from podium.errors import InputError

words = st.lists(st.tuples(st.sampled_from(["tea", "coffee", "mate", "café"]), st.text("abé", min_size=1)), min_size=1)


def decoded(labels, codes):
    return [labels[code] for code in codes]


@given(words)
def test_every_kind_of_column_gives_the_same_codes(rows):
    left, right = [row[0] for row in rows], [row[1] for row in rows]
    labels, *codes = encode_pair(left, right)
    assert list(labels) == list(dict.fromkeys(label for row in rows for label in row))
    assert decoded(labels, codes[0]) == left
    assert decoded(labels, codes[1]) == right
    kinds = [tuple, iter, np.array, pd.Series, pl.Series, pa.array, lambda v: np.array(v, object)]
    kinds += [lambda v: np.array(v, np.dtypes.StringDType()), lambda v: np.array([w.encode() for w in v])]
    for kind in kinds:
        again, *same = encode_pair(kind(left), kind(right))
        assert again == labels
        assert np.array_equal(same, codes)
        assert {type(label) for label in again} == {str}


@given(st.lists(st.tuples(st.integers(-3, 2**40), st.integers(0, 3)), min_size=1))
def test_integers_stay_integers_in_lists_arrays_and_series(rows):
    left, right = [row[0] for row in rows], [row[1] for row in rows]
    labels, *codes = encode_pair(left, right)
    for kind in (np.array, pd.Series, pl.Series, lambda v: np.array(v, object)):
        again, *same = encode_pair(kind(left), kind(right))
        assert again == labels
        assert np.array_equal(same, codes)
        assert {type(label) for label in again} == {int}


def test_many_labels_outgrow_the_first_table():
    values = np.random.default_rng(0).permutation(np.repeat(np.arange(5000), 2))
    codes, labels = encode(values)
    assert np.array_equal(np.array(labels)[codes], values)
    assert labels == tuple(dict.fromkeys(values.tolist()))


def test_the_two_zeros_are_one_label():
    assert encode(np.array([0.0, -0.0, 1.0]))[0].tolist() == [0, 0, 1]


def test_columns_of_different_types_are_numbered_together():
    labels, left, right = encode_pair(np.array([1, 2]), ["tea", 1])
    assert labels == (1, "tea", 2)
    assert (left.tolist(), right.tolist()) == ([0, 2], [1, 0])


def test_nothing_encodes_to_nothing():
    for empty in ([], np.array([], int), np.array([], "U3"), ()):
        assert encode_pair(empty, empty)[0] == ()
        assert encode(empty)[1] == ()


@pytest.mark.parametrize("missing", [None, "", "  ", float("nan"), np.nan, pd.NA, pd.NaT])
def test_a_missing_label_is_refused_with_its_row(missing):
    assert is_missing(missing)
    with pytest.raises(InputError, match=r"row 2: loser is missing"):
        encode_pair(["tea", "tea"], ["milk", missing], names=("winner", "loser"))
    with pytest.raises(InputError, match=r"row 3: judge is missing"):
        encode(["ann", "bob", missing], what="judge")


def test_a_missing_label_in_an_array_is_refused_with_its_row():
    with pytest.raises(InputError, match=r"row 2: left is missing \(nan\)"):
        encode_pair(np.array([1.0, np.nan]), np.array([2.0, 3.0]))
    with pytest.raises(InputError, match=r"row 1: right is missing \(''\)"):
        encode_pair(np.array(["a", "b"]), np.array(["", "c"]))


def test_columns_of_different_length_are_refused():
    with pytest.raises(InputError, match="left has 2 rows and right has 1"):
        encode_pair(["a", "b"], ["c"])


def test_what_is_no_column_of_labels_is_refused():
    with pytest.raises(InputError, match="left is 'tea', a single value"):
        encode_pair("tea", ["t"])
    with pytest.raises(InputError, match="label is 3, a single value"):
        encode(3)
    with pytest.raises(InputError, match=r"row 2: right is \['x'\], a list; give text or numbers"):
        encode_pair(["a", "b"], ["c", ["x"]])
    with pytest.raises(InputError, match=r"label has shape \(2, 2\)"):
        encode(np.zeros((2, 2)))
