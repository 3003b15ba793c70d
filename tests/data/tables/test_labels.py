"""Labels to codes: any column of names, one numbering."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.data.tables import labels as labels_module
from podium.data.tables.labels import (
    as_column,
    encode,
    encode_pair,
    is_missing,
    is_text,
    number_records,
    warn_of_look_alikes,
)
from podium.errors import DataWarning, InputError

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


# ---- labels that look alike, labels as columns ----------------------------------------------------------------------


def alike(labels, place=lambda code: f"row {code + 1}"):
    """What is said of labels that look alike."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warn_of_look_alikes("items", labels, place, stacklevel=1)
    return [str(each.message) for each in caught]


def test_labels_that_differ_in_what_people_overlook_are_told_with_their_rows():
    told = alike(("Tea", "milk", "tea ", 3, "3"))
    assert told == [
        "items that differ only in case, blanks or how their characters are coded are kept apart: 'Tea' (row 1) and "
        "'tea ' (row 3); write them alike if they are the same"
    ]
    assert "kept apart: 'Tea' and 'tea'; write them alike" in alike(("Tea", "tea"), lambda code: "")[0]
    assert alike(("tea", "milk")) == alike(("tea",)) == alike((1, 2)) == alike(()) == []
    assert "'caf\\xe9' (row 1) and 'cafe\\u0301' (row 2)" in alike(("caf\u00e9", "cafe\u0301"))[0], "spelt out"
    assert "'a\\u200bb' (row 1) and 'ab' (row 2)" in alike(("a\u200bb", "ab"))[0]
    assert "'a b' (row 1) and 'a  b' (row 2)" in alike(("a b", "a  b"))[0]


def test_of_labels_that_came_earlier_only_those_like_a_new_one_are_told():
    with pytest.warns(DataWarning) as told:
        warn_of_look_alikes("items", ("a", "A", "b", "c", "B"), lambda code: "", stacklevel=1, known=3)
    assert [str(each.message).partition("apart: ")[2] for each in told] == [
        "'b' and 'B'; write them alike if they are the same"
    ]


@pytest.mark.parametrize(("pairs", "more"), [(3, False), (4, True)])
def test_three_of_many_look_alikes_are_named(pairs, more):
    labels = tuple(word for k in range(pairs) for word in (f"word{k}", f"Word{k}"))
    (told,) = alike(labels)
    assert told.count(" and ") == 3
    assert ("; …; write them alike" in told) == more


@pytest.mark.parametrize(
    ("labels", "found"),
    [
        (("a", "A", "b"), [[0, 1]]), (("a\nb", "a b"), [[0, 1]]), (("", " "), [[0, 1]]), ((1, "x", "X"), [[1, 2]]),
        (("a", "b", "B", "A", "c"), [[0, 3], [1, 2]]), (("a",), []), (("ﬁ", "fi"), [[0, 1]]), (("a b", "ab"), []),
    ],
)  # fmt: skip
def test_codes_of_labels_that_are_one_to_a_reader(labels, found):
    assert labels_module._look_alikes(labels) == found


def test_labels_as_a_column_of_a_table_holds_them():
    assert as_column((1, 2)) == [1, 2]
    assert as_column((2**127 - 1, -(2**127))) == [2**127 - 1, -(2**127)]
    for large in (2**127, -(2**127) - 1):
        assert as_column((1, large)) == ["1", str(large)]
    assert [is_text(text) for text in ("a", "é", "\ud800")] == [True, True, False]


def test_text_that_cannot_be_written_is_refused_with_its_row():
    with pytest.raises(
        InputError, match=r"^row 2: right is '\\ud800', half a character \(a lone surrogate\); write it anew"
    ):
        encode_pair(["a", "b"], ["c", "\ud800"])
    with pytest.raises(InputError, match=r"label b'\\xff' is no UTF-8 text|is no UTF-8 text; give labels as text"):
        encode(np.array([b"\xff"]))
    with pytest.raises(InputError, match=r"^row 1: left is missing \(''\); name every left or remove the row"):
        encode_pair(["", "b"], ["c", ""])
    with pytest.raises(InputError, match=r"^row 2: judge is \{\}, a dict; give text or numbers"):
        encode(["a", {}], "judge")


def test_rows_of_words_are_numbered_as_they_first_appear():
    records = np.array([[1, 2], [3, 4], [1, 2], [1, 3]], np.uint64)
    codes, first = number_records(records)
    assert (codes.tolist(), first.tolist()) == ([0, 1, 0, 2], [0, 1, 3])
    many = np.arange(200_000, dtype=np.uint64)[:, None] % 90_000
    codes, first = number_records(many)
    assert np.array_equal(codes, np.arange(200_000) % 90_000)
    assert np.array_equal(first, np.arange(90_000))


def test_nulls_of_series_are_missing_labels():
    with pytest.raises(InputError, match=r"^row 2: right is missing \(None\)"):
        encode_pair(pl.Series(["a", "b"]), pl.Series(["c", None]))
    with pytest.raises(InputError, match=r"^row 1: judge is missing"):
        encode(pl.Series([None, 3]), "judge")
    labels, left, right = encode_pair(pl.Series([True, False]), pl.Series([False, True]))
    assert (labels, left.tolist(), right.tolist()) == ((True, False), [0, 1], [1, 0])
    with pytest.raises(InputError, match="left has 1 row and right has 2; give one of each for every comparison"):
        encode_pair(pl.Series(["a"]), pl.Series(["b", "c"]))
    assert encode_pair(pl.Series([1]), pl.Series(["1"]))[0] == (1, "1")
