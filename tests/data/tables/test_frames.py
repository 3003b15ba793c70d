"""Frames of Python values: what stands in one column, and what is refused in a sentence."""

import decimal

import numpy as np
import polars as pl
import pytest

from podium.data.tables.frames import _from_columns, _kind, _refuse_unheld, _series, as_polars, is_null
from podium.errors import InputError


def test_two_columns_of_one_name_are_refused():
    with pytest.raises(InputError, match="2 columns are called '1'; give every column its own name"):
        as_polars({1: ["a"], "1": ["b"], "x": [1]})
    with pytest.raises(InputError, match="3 columns are called 'x'"):
        _from_columns([("x", [1]), ("x", [2]), ("y", [3]), ("x", [4])])


def test_columns_are_as_long_as_each_other():
    with pytest.raises(InputError, match="column 'a' has 1 row and 'c' 2; give one value of each for every row"):
        _from_columns([("a", [1]), ("b", [2]), ("c", [3, 4])])
    assert _from_columns([("a", [1, 2]), ("b", ["x", None])]).to_dict(as_series=False) == {
        "a": [1, 2],
        "b": ["x", None],
    }


@pytest.mark.parametrize("values", ["ab", b"ab", 3, None])
def test_one_value_is_no_column(values):
    with pytest.raises(InputError, match=r"column 'a' is .*, a single value; give a list, one for each row"):
        _series("a", values)


def test_text_and_numbers_are_not_mixed_and_numbers_of_all_types_are_one_kind():
    for values in (["a", 1], [["a"], 1], [("a", 2)], ["a", b"a"]):
        with pytest.raises(InputError, match="column 'a' mixes text and other values; make it all text or all numbers"):
            _series("a", values)
    assert {_kind(value) for value in (True, 1, 1.5, decimal.Decimal(1), np.int8(1), np.True_)} == {"number"}
    assert _series("a", [1, 2.5, None, float("nan"), True]).to_list() == [1.0, 2.5, None, None, 1.0]
    assert _series("a", np.array([1.5, 2.0])).to_list() == [1.5, 2.0]
    assert _series("a", np.array(["x", None], dtype=object)).to_list() == ["x", None]
    kept = pl.Series("b", [1])
    assert _series("a", kept).name == "a"


def test_what_a_column_cannot_hold_is_refused_with_its_row():
    with pytest.raises(InputError, match=r"row 2: column 'a' is '\\ud800', half a character"):
        _series("a", ["x", "\ud800"])
    with pytest.raises(InputError, match=r"row 1: column 'a' is .*half a character"):
        _series("a", [["x", "\ud800"]])
    for value in (2**127, -(2**127) - 1):
        with pytest.raises(
            InputError, match=r"row 1: column 'a' is .*, too large for a column of numbers; make the column text"
        ):
            _series("a", [value])
    for value in (2**127 - 1, -(2**127)):
        _refuse_unheld(value, "row 1")


def test_what_stands_for_none():
    assert [is_null(value) for value in (None, float("nan"), "", " ", 0, "x")] == [
        True,
        True,
        False,
        False,
        False,
        False,
    ]


def test_two_columns_of_one_name_in_a_frame_of_pandas_are_refused():
    import pandas as pd

    with pytest.raises(InputError, match="2 columns are called 'a'; give every column its own name"):
        as_polars(pd.DataFrame([[1, 2, 3]], columns=["a", "b", "a"]))
