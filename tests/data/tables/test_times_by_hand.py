"""Columns of times piece by piece, by hand: which form is settled, by what, and what is refused at each edge."""

from datetime import UTC, date, datetime, timedelta, timezone

import numpy as np
import polars as pl
import pytest

from podium.data.tables import times
from podium.data.tables.times import Times, duration, given_times, moment, shown_times
from podium.errors import InputError

EPOCH = date(1970, 1, 1)


def day(year, month, number):
    return float((date(year, month, number) - EPOCH).days)


def fail(row, message):
    raise InputError(f"row {row + 1}: {message}")


def read(values, kind=None, where="v.csv", **options):
    reader = Times()
    reader.kind = kind
    found = reader.read(pl.Series("when", values, **options), fail, where)
    return found.tolist(), reader.kind


# ---- day and month --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("texts", "order"),
    [
        (["13/12/2024"], times.DAY_FIRST), (["12/13/2024"], times.MONTH_FIRST), (["12/12/2024"], ()),
        (["13/13/2024"], ()), (["01/02/2024", "25/01/2024"], times.DAY_FIRST), ([" 1/25/24"], times.MONTH_FIRST),
        (["13/01/2024", "01/13/2024"], ()), (["soon/er", "x"], ()),
    ],
)  # fmt: skip
def test_a_number_above_twelve_is_the_day(texts, order):
    column = pl.Series("when", texts)
    assert times._order(column) == order
    reader = Times()
    assert reader.settles(column, "v.csv") == bool(order)
    assert reader.slashes == ({"v.csv": order} if order else {})
    if order:
        assert reader.settles(pl.Series("when", ["01/02/2024"]), "v.csv"), "a piece before it told"
        assert not reader.settles(pl.Series("when", ["01/02/2024"]), "other.csv")


@pytest.mark.parametrize(
    "column",
    [pl.Series([1, 2]), pl.Series([EPOCH]), pl.Series(["2024-05-31", None]), pl.Series([None], dtype=pl.String)],
    ids=["numbers", "dates", "without slashes", "empty"],
)
def test_without_slashes_nothing_is_to_be_settled(column):
    reader = Times()
    assert reader.settles(column, "v.csv")
    assert reader.slashes == {}


def test_categories_are_text():
    for kind in (pl.Categorical, pl.Enum(["25/04/2024", "03/04/2024"])):
        assert read(["25/04/2024", "03/04/2024"], dtype=kind) == ([day(2024, 4, 25), day(2024, 4, 3)], "date")
    column = pl.Series("when", ["03/04/2024"], dtype=pl.Categorical)
    assert not Times().settles(column, "v.csv")


@pytest.mark.parametrize(
    ("texts", "days"),
    [
        (["25/04/24", "03/04/2024"], [(2024, 4, 25), (2024, 4, 3)]),
        (["04/25/2024", "04/03/24"], [(2024, 4, 25), (2024, 4, 3)]),
        (["2024-04-03", " 25/04/2024 "], [(2024, 4, 3), (2024, 4, 25)]),
        (["25/04/0024", "03/04/24"], [(24, 4, 25), (2024, 4, 3)]),
        (["3.4.2024", "25.04.2024"], [(2024, 4, 3), (2024, 4, 25)]),
        (["2024/04/03", "2024-04-25"], [(2024, 4, 3), (2024, 4, 25)]),
        (["25/04/2024", "03.04.2024", "2024-01-02"], [(2024, 4, 25), (2024, 4, 3), (2024, 1, 2)]),
    ],
)
def test_years_of_two_and_four_digits_and_other_forms_stand_side_by_side(texts, days):
    assert read(texts) == ([day(*each) for each in days], "date")


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        (
            ["2024-01-01", "01/02/2024"],
            r"^row 2: when is '01/02/2024', which may be day/month or month/day; write dates",
        ),
        (["12/12/2024"], "may be day/month or month/day"),
        (
            ["2024-01-01", "13/12/2024", "12/13/2024"],
            "^row 2: when is '13/12/2024', which is of a column that mixes both",
        ),
        (["25/04/2024", "25/04/2024 12:00"], "^row 2: when is '25/04/2024 12:00', which is no date"),
        (["25/04/2024", "04/25/24"], "^row 1: .*mixes both orders"),
    ],
)
def test_dates_with_slashes_that_leave_a_choice_are_refused(texts, said):
    with pytest.raises(InputError, match=said):
        read(texts)


# ---- timestamps -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2024-05-31 14:05", datetime(2024, 5, 31, 14, 5)), ("2024-05-31T14:05", datetime(2024, 5, 31, 14, 5)),
        ("2024-05-31 14:05:06", datetime(2024, 5, 31, 14, 5, 6)),
        ("2024-05-31T14:05:06.25", datetime(2024, 5, 31, 14, 5, 6, 250000)),
        ("2024-05-31T14:05:06Z", datetime(2024, 5, 31, 14, 5, 6)),
        ("2024-05-31T14:05:06 UTC", datetime(2024, 5, 31, 14, 5, 6)),
        ("2024-05-31 14:05:06 UTC", datetime(2024, 5, 31, 14, 5, 6)),
        ("2024-05-31 14:05:06.5UTC", datetime(2024, 5, 31, 14, 5, 6, 500000)),
        ("2024-05-31 14:05:06+02:00", datetime(2024, 5, 31, 12, 5, 6)),
        ("2024-05-31 14:05:06-0530", datetime(2024, 5, 31, 19, 35, 6)),
        ("2024-05-31T14:05:06.5+02:00", datetime(2024, 5, 31, 12, 5, 6, 500000)),
    ],
)  # fmt: skip
def test_a_timestamp_in_each_form_alone_and_beside_the_others(text, moment):
    expected = (moment - datetime(1970, 1, 1)) / timedelta(days=1)
    (found,), kind = read([text])
    assert (found, kind) == (pytest.approx(expected, abs=1e-10), "date")
    mixed, _ = read(["2024-01-01", text, "2024-01-01 12:00:00"])
    assert mixed == pytest.approx([day(2024, 1, 1), expected, day(2024, 1, 1) + 0.5], abs=1e-10)


def test_columns_of_dates_are_days_and_zones_are_told_in_utc():
    zone = timezone(timedelta(hours=5))
    assert read([date(2024, 5, 31), date(1969, 12, 31)]) == ([day(2024, 5, 31), -1.0], "date")
    assert read([datetime(2024, 5, 31, 6)]) == ([day(2024, 5, 31) + 0.25], "date")
    assert read([datetime(2024, 5, 31, 23, tzinfo=zone).astimezone(UTC)])[0] == [day(2024, 5, 31) + 0.75]
    assert read([datetime(2024, 5, 31, 6)], dtype=pl.Datetime("ms"))[0] == [day(2024, 5, 31) + 0.25]


# ---- numbers --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "refused"),
    [
        ([19000101], True), ([19000100], False), ([18991231], False), ([21001231], True), ([21010101], False),
        ([20241231, 20240101], True), ([20241301], False), ([20240001], False), ([20240132], False),
        ([20240100], False), ([20240101, 5], False), ([20240101.5], False), ([20240101, 20240102.0], True), ([], False),
    ],
)  # fmt: skip
def test_whole_numbers_that_are_all_dates_are_refused(values, refused):
    for given, name in ((values, "numbers"), ([str(value) for value in values], "text")):
        if refused:
            first = f"{values[0]:.0f}"
            said = f"^row 1: when is {first}, a date without marks; write {first[:4]}-{first[4:6]}-{first[6:]}$"
            with pytest.raises(InputError, match=said):
                read(given, dtype=pl.Float64 if name == "numbers" else pl.String)
        elif values:
            assert read(given, dtype=pl.Float64 if name == "numbers" else pl.String) == (values, "number")


def test_times_end_where_floats_no_longer_tell_them_apart():
    assert read([1e15, -1e15]) == ([1e15, -1e15], "number")
    with pytest.raises(InputError, match=r"^row 2: when is 1100000000000000.0, which is no time"):
        read([1.0, 1.1e15])
    with pytest.raises(InputError, match=r"^row 1: when is nan, which is no time"):
        read([np.nan, 1.0])
    with pytest.raises(InputError, match=r"^row 2: when is empty; every vote needs its time: give dates as"):
        read([1.0, None])
    with pytest.raises(InputError, match="column 'when' holds Boolean, which are no times; give dates as 2024-05-31"):
        read([True])


@pytest.mark.parametrize(
    ("values", "kind", "expected"),
    [
        (["1", "2.5"], None, "number"), (["1"], "number", "number"), (["2024-01-01"], None, "date"),
        (["1", "soon"], None, "row 2: when is 'soon', which is no time"),
        (["soon", "1"], None, "row 1: when is 'soon', which is no time"),
        (["1", "2024-01-01"], None, "row 1: when is '1', which is no date"),
        (["1"], "date", "row 1: when is '1', which is no date"),
        (["2024-01-01"], "number", "row 1: when is '2024-01-01', which is no time"),
        (["soon"], None, "row 1: when is 'soon', which is no date"),
        (["1", None], None, "row 2: when is empty"), (["1", "  "], None, "row 2: when is empty"),
    ],
)  # fmt: skip
def test_text_is_numbers_or_dates_and_one_of_them_throughout(values, kind, expected):
    if expected in ("number", "date"):
        assert read(values, kind)[1] == expected
    else:
        with pytest.raises(InputError, match=f"^{expected}"):
            read(values, kind)


def test_dates_in_one_part_and_numbers_in_another():
    reader = Times()
    reader.same_kind(None, "when")
    assert reader.kind is None
    reader.same_kind("date", "when")
    reader.same_kind(None, "when")
    reader.same_kind("date", "when")
    assert reader.kind == "date"
    with pytest.raises(
        InputError, match="column 'when' holds dates in one part and numbers in another; write all alike"
    ):
        reader.same_kind("number", "when")


# ---- arrays, one moment, lengths ------------------------------------------------------------------------------------


def test_times_given_as_arrays_and_lists():
    for values, found, kind in (
        ([3, 1], [3.0, 1.0], "number"), (np.array([3, 1], np.uint8), [3.0, 1.0], "number"),
        (np.array(["1970-01-02", "1970-01-03T12"], "M8[h]"), [1.0, 2.5], "date"),
        ([date(1970, 1, 2), date(1970, 1, 4)], [1.0, 3.0], "date"), (["7", "8"], [7.0, 8.0], "number"),
        ([], [], "number"),
    ):  # fmt: skip
        column, told = given_times(values, len(values))
        assert (column.tolist(), told) == (found, kind)
    with pytest.raises(InputError, match="time has 2 rows, the votes 3; they must match"):
        given_times([1, 2], 3)
    with pytest.raises(InputError, match=r"^row 2: time is 'soon', which is no date; give dates as"):
        given_times(["2024-01-01", "soon"], 2)
    with pytest.raises(InputError, match=r"^time: dates, timestamps or numbers are expected"):
        given_times([date(2024, 1, 1), object()], 2)


@pytest.mark.parametrize(
    ("value", "kind", "expected"),
    [
        (3, "number", 3.0), (np.int8(3), "date", 3.0), (np.float32(0.5), "number", 0.5), ("3", "number", 3.0),
        ("soon", "number", None), (True, "number", None), (None, "date", None), (1e15, "number", 1e15),
        (-1e15, "number", -1e15), (1.1e15, "number", None), (-1.1e15, "date", None), (float("nan"), "number", None),
        ("1970-01-02 12:00", "date", 1.5), (date(1970, 1, 2), "date", 1.0), (date(1970, 1, 2), "number", None),
        ("3", "date", None), ("01/02/1970", "date", None), (object(), "date", None),
        (datetime(1970, 1, 2, 6), "date", 1.25),
    ],
)  # fmt: skip
def test_one_moment_is_as_the_votes_count_it(value, kind, expected):
    assert moment(value, kind) == expected


@pytest.mark.parametrize(
    ("value", "kind", "expected"),
    [
        ("90d", "date", 90.0), ("12w", "date", 84.0), ("1y", "date", 365.25), ("2", "date", 2.0),
        (" .5 y ", "date", 182.625),
        ("3", "number", 3.0), (7, "number", 7.0), (0.25, "date", 0.25),
    ],
)  # fmt: skip
def test_lengths_of_time_in_days_weeks_and_years(value, kind, expected):
    assert duration("half_life", value, kind) == expected


@pytest.mark.parametrize(
    ("value", "kind", "said"),
    [
        ("soon", "date", "half_life='soon': it must be a number above 0, or text as 90d, 12w or 1y"),
        ("3m", "date", "it must be a number above 0, or text"),
        ("3d", "number", "half_life='3d' is in days, and the times are numbers; give a number in their unit"),
        ("0d", "date", "it must be a finite number above 0"), (0, "number", "above 0"), (-1, "date", "above 0"),
        (None, "date", "above 0"),
    ],
)  # fmt: skip
def test_what_is_no_length_of_time_is_refused(value, kind, said):
    with pytest.raises(InputError, match=said):
        duration("half_life", value, kind)


def test_times_are_shown_as_they_were_written():
    numbers = np.array([1.0, 2.5])
    assert shown_times(numbers, "number") is numbers
    assert shown_times(np.array([0.0, -1.0, 3.0]), "date").to_list() == [EPOCH, date(1969, 12, 31), date(1970, 1, 4)]
    mixed = shown_times(np.array([0.0, 1.5]), "date").to_list()
    assert mixed == [datetime(1970, 1, 1), datetime(1970, 1, 2, 12)]
    third = shown_times(np.array([1 / 3]), "date").to_list()
    assert third == [datetime(1970, 1, 1, 8)]
