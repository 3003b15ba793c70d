"""Labels one by one: what is a range and what a grade, what is missing, and what is said of labels that are neither."""

import math
import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_array_equal

from podium.errors import InputError
from podium.ordinal.forms import as_range, declared_order, number_of, split_ranges
from podium.ordinal.labels import (
    _listed,
    _missing,
    _numbers,
    _plain,
    _shown,
    class_list,
    code_of,
    grades_of,
    read_labels,
)

nan = math.nan


def objects(*values):
    column = np.empty(len(values), dtype=object)
    column[:] = values
    return column


# ---- the order that a column declares -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "column", [None, [1, 2], np.array([1, 2]), pd.Series([1, 2]), pd.Categorical(["b", "a"]), pl.Series([1, 2]),
               pd.DataFrame({"a": [1], "b": [2]}), np.ones((2, 2)), pl.DataFrame({"a": [1], "b": [2]})]
)  # fmt: skip
def test_most_columns_declare_no_order(column):
    assert declared_order(column) is None
    assert declared_order(None, column, column) is None


@pytest.mark.parametrize(
    ("categories", "kind"),
    [(["b", "a"], "U"), ([3, 1, 2], "i"), ([2.5, 1], "f"), ([2, "x", None], "O"), ([(1, 2), (0, 3)], "O")],
)
def test_categories_stay_what_they_are(categories, kind):
    class Dtype:
        ordered = True

    class Column:
        dtype = Dtype()

    Dtype.categories = categories
    order = declared_order(None, Column())
    assert order.tolist() == categories
    assert (order.dtype.kind, order.ndim) == (kind, 1)


def test_either_end_and_tables_of_polars_and_pandas_declare_an_order():
    levels = ["low", "mid", "top"]
    enum = pl.Series(["top", "low"], dtype=pl.Enum(levels))
    ordered = pd.Series(pd.Categorical(["top"], categories=levels, ordered=True))
    for columns in (
        (enum,),
        (None, enum),
        (enum, None),
        (pl.DataFrame({"a": enum, "b": enum}),),
        (pl.DataFrame({"a": [1, 2], "b": enum}),),
        (pd.DataFrame({"a": ordered, "b": ordered}),),
        (pd.DataFrame({"a": [1], "b": ordered}),),
        (enum, ordered),
    ):
        assert declared_order(*columns).tolist() == levels
    other = pl.Series(["top"], dtype=pl.Enum(levels[::-1]))
    for columns in ((enum, other), (pl.DataFrame({"a": ["top"], "b": other}), enum)):
        with pytest.raises(InputError, match=r"the two ends have categories in different orders, \['(low|top)'.* by"):
            declared_order(*columns)


# ---- ranges ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "number"),
    [("3", 3), (" 3.5 ", 3.5), ("-2.0", -2), (4.0, 4), (4.5, 4.5), (7, 7), (np.float64(2), 2), ("1e2", 100)],
)
def test_a_number_is_known_however_it_is_written_and_whole_ones_are_whole(value, number):
    assert number_of(value) == number
    assert type(number_of(value)) is type(number)


@pytest.mark.parametrize("value", [None, True, False, nan, math.inf, "-inf", "nan", "", "three", [1, 2], (3,), {}])
def test_what_is_no_number_is_none(value):
    assert number_of(value) is None


@pytest.mark.parametrize(
    ("label", "ends"),
    [
        ("3-4", ("3", "4")), (" 3 – 4 ", ("3", "4")), ("3—4", ("3", "4")), ("3..4", ("3", "4")), ("3 to 4", ("3", "4")),
        ("-3--1.5", ("-3", "-1.5")), ("+1-+2", ("+1", "+2")), ("3", None), ("3-", None), ("3-4-5", None), ("a-b", None),
        ("3-4 points", None), (3, None), (None, None), ((3, 4), None),
    ],
)  # fmt: skip
def test_without_grades_a_range_is_two_numbers_and_nothing_else(label, ends):
    assert as_range(label, None) == ends


@pytest.mark.parametrize(
    ("label", "known", "ends"),
    [
        ("low-mid", {"low", "mid"}, ("low", "mid")),
        ("low-mid", {"low", "mid", "low-mid"}, None),
        ("low-mid-top", {"low-mid", "top"}, ("low-mid", "top")),
        ("low-mid-top", {"low", "mid-top", "mid"}, ("low", "mid-top")),
        ("low to mid", {"low", "mid"}, ("low", "mid")),
        ("lowtomid", {"low", "mid"}, None),
        ("low-never", {"low", "mid"}, None),
        ("never-low", {"low", "mid"}, None),
        ("1-2", {1, 2}, (1, 2)),
        ("1.0 – 2", {1, 2}, (1, 2)),
        ("1-3", {1, 2}, None),
        ("1-2", {"1", "2"}, ("1", "2")),
        ("low", {"low"}, None),
        (1, {1, 2}, None),
    ],
)
def test_with_grades_a_range_is_two_of_them(label, known, ends):
    assert as_range(label, known) == ends


@pytest.mark.parametrize(
    ("closed", "ends"), [("both", (1, 4)), ("left", (1, 3)), ("right", (2, 4)), ("neither", (2, 3))]
)
def test_an_open_end_of_an_interval_is_the_next_whole_number(closed, ends):
    interval = pd.Interval(1, 4, closed=closed)
    assert as_range(interval, None) == ends
    assert as_range(interval, {1, 2}) == ends
    assert as_range(interval, {interval}) is None


def test_an_interval_without_an_end_is_open_there_and_halves_must_be_closed():
    assert as_range(pd.Interval(-math.inf, 2.0, closed="neither"), None) == (None, 1)
    assert as_range(pd.Interval(2.0, math.inf, closed="neither"), None) == (3, None)
    assert as_range(pd.Interval(-math.inf, math.inf), None) == (None, None)
    assert as_range(pd.Interval(0.5, 2.5, closed="both"), None) == (0.5, 2.5)
    days = pd.Interval(pd.Timestamp("2020-01-01"), pd.Timestamp("2020-02-01"), closed="both")
    assert as_range(days, None) == (days.left, days.right)
    for closed in ("left", "right", "neither"):
        for interval in (pd.Interval(0.5, 2.5, closed=closed), pd.Interval(days.left, days.right, closed=closed)):
            with pytest.raises(
                InputError, match=re.escape(f"the interval {interval} leaves out an end that is no")
            ) as at:
                as_range(interval, None)
            assert str(at.value).startswith("the interval")
            with pytest.raises(InputError, match=r"^row 7: the interval .* close it"):
                as_range(interval, None, row=7)


def split(labels, known=None, first=1):
    ends = split_ranges(np.array(labels, dtype=object), known, first)
    return None if ends is None else tuple(each.tolist() for each in ends)


def test_a_column_is_split_where_a_label_is_a_range():
    assert split_ranges(np.array([1, 2]), None, 1) is None
    assert split_ranges(np.array(["1", "2"]), None, 1) is None
    assert split(["1-2", "3"]) == (["1", "3"], ["2", "3"])
    assert split(["1-2", 3]) == ([1, 3], [2, 3])
    assert split(["1-2", "3", 4.5]) == ([1, 3, 4.5], [2, 3, 4.5])
    assert split(["1-2", "3"], {1, 2, 3}) == ([1, "3"], [2, "3"])
    assert split(["low", "low-top"], {"low", "top"}) == (["low", "low"], ["low", "top"])
    assert split([pd.Interval(1, 2, closed="both"), "word"]) == ([1, "word"], [2, "word"])
    assert split(["3"], {1, 2, 3}) is None


def test_where_half_of_the_labels_are_words_none_is_a_range():
    assert split(["1-2", "word"]) is None
    assert split(["1-2", "word", "other", "3"]) is None
    for first in (1, 10):
        with pytest.raises(
            InputError, match=f"^row {first + 2}: the grade 'word' is no number and no range such as '1-2'"
        ):
            split(["1-2", "3", "word"], first=first)
        with pytest.raises(InputError, match=f"^row {first}: the grade 'word' is no number and no range such as '4-5'"):
            split(["word", "4-5", "3"], first=first)


@pytest.mark.parametrize("hole", [None, nan, ""])
@pytest.mark.parametrize("known", [None, {1, 2, 3}])
def test_a_hole_beside_a_range_is_named_by_its_row(hole, known):
    for first in (1, 20):
        with pytest.raises(
            InputError, match=f"^row {first + 1}: no grade; drop the row, or give ranges by two columns"
        ):
            split(["1-2", hole, "3", 2], known, first)


# ---- one label ------------------------------------------------------------------------------------------------------

CODES = {1: 0, 2: 1, 3: 2}


@pytest.mark.parametrize(
    ("label", "codes"),
    [
        (2, (1, 1)), (2.0, (1, 1)), ((1, 2), (0, 1)), ([2, 3], (1, 2)), ((None, 2), (0, 1)), ((2, None), (1, 2)),
        ((nan, nan), (0, 2)), (("", 1), (0, 0)), ((3, ""), (2, 2)), (np.array([1, 3]), (0, 2)), (np.array(3), (2, 2)),
        ("2-3", (1, 2)), ((1, 1), (0, 0)), (pd.Interval(1, 3), (1, 2)),
    ],
)  # fmt: skip
def test_one_label_has_two_codes(label, codes):
    assert code_of(label, CODES) == codes


@pytest.mark.parametrize("label", [4, (1, 4), (4, 1), (0, 0), [1, 2, 3], (1, 2, 3), {}, ([1], 2), (2, [1]), "2-4", "good", (9, None), (None, 9)])  # fmt: skip  # noqa: E501
def test_a_label_that_is_no_grade_is_shown_with_the_grades(label):
    said = f"{label!r} is not one of the grades 1, 2, 3, nor a pair of them"
    with pytest.raises(InputError, match=re.escape(said)):
        code_of(label, CODES)


@pytest.mark.parametrize("label", [(2, 1), (3, 1), [3, 2], "2-1"])
def test_one_label_the_wrong_way_round_is_refused(label):
    with pytest.raises(InputError, match=r"the range .* has its lower end above its upper end; swap them"):
        code_of(label, CODES)


# ---- columns --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("column", "missing"),
    [
        (np.array([1.0, nan]), [False, True]),
        (np.array([1, 2]), [False, False]),
        (np.array(["a", ""]), [False, True]),
        (np.array([b"a", b""]), [False, True]),
        (objects(None, "", nan, "a", 0, False), [True, True, True, False, False, False]),
        (np.array(["", "a"], dtype=np.dtypes.StringDType()), [True, False]),
        (np.array([True, False]), [False, False]),
    ],
)
def test_nothing_is_what_is_missing(column, missing):
    found = _missing(column)
    assert (found.tolist(), found.dtype) == (missing, bool)


def test_text_of_numbers_becomes_numbers_and_nothing_else_changes():
    for same in (np.array([1, 2]), np.array([1.5]), objects(1, None), objects(nan, 2.5)):
        assert _numbers(same) is same
    assert _numbers(np.array(["1", "2.5", "x"])).tolist() == [1, 2.5, "x"]
    assert _numbers(objects("1", None, nan, "", 3, (1, 2))).tolist() == [1, None, None, None, 3, (1, 2)]
    assert _numbers(np.array(["4"], dtype=np.dtypes.StringDType())).tolist() == [4]


@pytest.mark.parametrize(
    ("column", "kind"),
    [
        (objects(1, 2), "i"), (objects(1, 2.5), "f"), (objects("a", "bb"), "U"), (objects(True, 1), "O"),
        (objects("a", 1), "O"), (objects(None), "O"), (objects(True, False), "O"), (np.array([1]), "i"),
        (np.array(["a"], dtype=np.dtypes.StringDType()), "U"),
    ],
)  # fmt: skip
def test_a_column_of_one_kind_is_an_ordinary_array(column, kind):
    found = _plain(column)
    assert found.dtype.kind == kind
    assert found.tolist() == column.tolist()


def test_grades_are_sorted_and_text_of_numbers_by_size():
    assert grades_of(np.array(["10", "9", ""]), np.array(["1.5"])).tolist() == ["1.5", "9", "10"]
    assert grades_of(np.array(["10", "9", "x"])).tolist() == ["10", "9", "x"]
    assert grades_of(np.array([3.0, nan]), np.array([1])).tolist() == [1.0, 3.0]
    with pytest.raises(InputError, match=r"the grades cannot be sorted \(.*\); name them from lowest to highest by"):
        grades_of(objects(1, "a"))
    for nothing in (np.array([nan]), objects(None, ""), np.array([])):
        with pytest.raises(InputError, match="no row has a grade at either end"):
            grades_of(nothing)


def test_labels_that_are_no_row_are_counted():
    with pytest.raises(InputError, match="X has 3 rows and y 2 labels; give one label a row"):
        read_labels([1, 2], rows=3)
    with pytest.raises(InputError, match="X has 1 row and y 2 labels"):
        read_labels(y_lower=[1, 2], rows=1)
    assert read_labels([1, 2], rows=2)[0].tolist() == [0, 1]
    with pytest.raises(InputError, match=r"y has shape \(1, 3\); give one grade a row"):
        read_labels([[1, 2, 3]])
    with pytest.raises(InputError, match=r"y has shape \(\)"):
        read_labels(3)
    with pytest.raises(InputError, match=r"y has shape \(1, 1, 2\)"):
        read_labels([[[1, 2]]])
    with pytest.raises(InputError, match=r"y cannot be read as a table: .*; give"):
        read_labels([[1, 2], [3]])


def test_one_column_as_a_table_is_read_with_a_word():
    with pytest.warns(UserWarning, match="column-vector y was passed"):
        low, high, grades = read_labels(np.array([[3], [1]]))
    assert (low.tolist(), high.tolist(), grades.tolist()) == ([1, 0], [1, 0], [1, 3])


def test_ends_given_apart_must_be_two_columns_of_one_length():
    for ends in ({"y_lower": 3}, {"y_upper": 3}, {"y_lower": 3, "y_upper": [1]}):
        with pytest.raises(InputError, match="y_lower and y_upper are columns with a grade a row, not 3"):
            read_labels(**ends)
    for lower, upper, shapes in (
        ([1, 2], [1], r"\(2,\) and y_upper \(1,\)"),
        ([[1, 2]], [1], r"\(1, 2\) and y_upper \(1,\)"),
        ([1], [[1, 2]], r"\(1,\) and y_upper \(1, 2\)"),
    ):
        with pytest.raises(InputError, match=f"y_lower has shape {shapes}; both must be one column of equal length"):
            read_labels(y_lower=lower, y_upper=upper)
    for given in ({"y_lower": [1]}, {"y_upper": [1]}, {"y_lower": [1], "y_upper": [1]}):
        with pytest.raises(InputError, match="pass either y or y_lower and y_upper, not both"):
            read_labels([1], **given)
    with pytest.raises(InputError, match="requires y to be passed"):
        read_labels()


@pytest.mark.parametrize("first", [1, 101])
def test_rows_are_counted_from_the_first(first):
    for y, classes, said in (
        ([1.0, nan], None, "no grade; drop the row, or give ranges, where a missing end is open"),
        ([1, 4], [1, 2, 3], "4 is not one of the grades 1, 2, 3"),
        ([1.0, 4.0], [1, 2, 3], "4 is not one of the grades 1, 2, 3"),
        ([1.0, 4.5], [1, 2, 3], "4.5 is not one of the grades"),
        (["a", "z"], ["a", "b"], "'z' is not one of the grades 'a', 'b'"),
        ([[1, 2], [3, 2]], None, r"the range \[3, 2\] has its lower end above its upper end; swap them"),
        ([["1", "2"], ["3", "2"]], None, r"the range \['3', '2'\] has its lower end above its upper end; swap them"),
        ([["a", "b"], ["b", "a"]], None, "upper end, as the grades go 'a', 'b'; swap them, or name"),
        ([1, (1, 2, 3)], [1, 2], r"\(1, 2, 3\) is not one of the grades 1, 2"),
    ):
        labels = objects(*y) if any(isinstance(each, tuple) for each in y) else y
        with pytest.raises(InputError, match=f"^row {first + 1}: (the range .* )?{said}"):
            read_labels(labels, classes=classes, first=first)
    with pytest.raises(InputError, match=f"infinity or a value too large for dtype\\('float64'\\): row {first + 1}"):
        read_labels([1.0, math.inf], classes=[1, 2], first=first)


def test_text_names_the_grades_that_are_numbers():
    for classes in ([1, 2, 10], np.array([1.0, 2.0, 10.0])):
        low, high, _ = read_labels(["10", "2"], classes=classes)
        assert low.tolist() == high.tolist() == [2, 1]
        low, high, _ = read_labels(y_lower=["10", ""], y_upper=["10", "2.0"], classes=classes)
        assert (low.tolist(), high.tolist()) == ([2, 0], [2, 1])
        low, high, _ = read_labels(y_lower=["2", None], classes=classes)
        assert (low.tolist(), high.tolist()) == ([1, 0], [2, 2])
    low, _, _ = read_labels(objects((1, 2), (0, 1)), classes=objects((0, 1), (1, 2)))
    assert low.tolist() == [1, 0]
    assert read_labels(objects(1, "a", 1), classes=objects("a", 1))[0].tolist() == [1, 0, 1]
    with pytest.raises(InputError, match="give at least two grades"):
        read_labels([1], classes=np.array([[1, 2], [3, 4]]))


def test_grades_are_shown_as_they_were_written_and_not_all_of_many():
    assert _listed(list("abcdefgh")) == "'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'"
    assert _listed(list("abcdefghi")) == "'a', 'b', 'c', 'd', …, 'h', 'i'"
    for label, shown in ((np.float64(3), "3"), (3.5, "3.5"), (np.str_("a"), "'a'"), (np.int64(2), "2"), (None, "None")):
        assert _shown(label) == shown


def test_classes_are_a_list_without_repeats():
    assert_array_equal(class_list(range(3)), [0, 1, 2])
    assert_array_equal(class_list(["b", "a"]), ["b", "a"])
    assert_array_equal(class_list([5], least=1), [5])
    for wrong in ([5], [], [[1, 2], [3, 4]], 7):
        with pytest.raises(InputError, match=r"classes=.*: give at least two grades, from lowest to highest"):
            class_list(wrong)
    with pytest.raises(InputError, match=r"classes=\[1, 2, 1\]: each grade may appear once"):
        class_list([1, 2, 1])
    for wrong in ([[1, 2], [3]], objects([1], [2])):
        with pytest.raises(InputError, match=r"classes=.*: give the grades in a list, from lowest to highest"):
            class_list(wrong)
