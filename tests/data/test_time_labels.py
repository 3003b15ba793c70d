"""Labels that are times of NumPy: they stay times, whatever their unit and however they come."""

import datetime as dt

import numpy as np
import polars as pl
import pytest

from podium import Comparisons, WinRate
from podium.active.validation import item_labels
from podium.data.tables.labels import as_column, encode
from podium.data.validation import python_label
from podium.errors import InputError

NOON, LATER = dt.datetime(2024, 5, 1, 12), dt.datetime(2024, 5, 2, 8, 30)
ENTRIES = {
    "pairs": lambda a: Comparisons.from_pairs([(a[0], a[1])]),
    "arrays": lambda a: Comparisons.from_arrays(a[:1], a[1:]),
    "lists": lambda a: Comparisons.from_arrays(list(a[:1]), list(a[1:])),
    "codes": lambda a: Comparisons.from_arrays([0], [1], items=a),
    "rankings": lambda a: Comparisons.from_rankings([a]),
}


@pytest.mark.parametrize("entry", ENTRIES)
@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_times_are_pythons_own_whatever_their_unit(entry, unit):
    times = np.array([NOON, LATER], dtype=f"M8[{unit}]")
    assert ENTRIES[entry](times).items == (NOON, LATER)
    assert ENTRIES[entry](times - times[0]).items == (dt.timedelta(0), LATER - NOON)


@pytest.mark.parametrize("entry", ENTRIES)
def test_times_finer_than_pythons_stay_as_they_are(entry):
    times = np.array([NOON, LATER], dtype="M8[ns]") + np.timedelta64(1, "ns")
    votes = ENTRIES[entry](times)
    assert votes.items == tuple(times)
    assert all(item.dtype == times.dtype for item in votes.items)
    assert votes.to_frame().row(0)[:2] == tuple(map(str, times))
    assert WinRate().fit(votes).ranking_.order == tuple(times)


@pytest.mark.parametrize("unit", ["D", "s", "ms", "us", "ns"])
@pytest.mark.parametrize("form", [np.asarray, list])
def test_frames_of_times_read_as_those_of_polars(unit, form):
    times = np.array([NOON, LATER], dtype=f"M8[{unit}]")
    held = pl.Series([NOON, LATER]).cast(pl.Date if unit == "D" else pl.Datetime("us" if unit == "s" else unit))
    ours = Comparisons.from_frame({"winner": form(times[:1]), "loser": form(times[1:])})
    assert ours.items == Comparisons.from_frame(pl.DataFrame({"winner": held[:1], "loser": held[1:]})).items


def test_a_time_that_is_none_is_missing_and_spans_of_months_stay():
    with pytest.raises(InputError, match="row 2"):
        encode(np.array([NOON, "NaT"], dtype="M8[ns]"), "judge")
    months = np.timedelta64(3, "M")
    assert python_label(months) is months
    assert as_column([months, "a"]) == ["3 months", "a"]


def test_items_to_ask_about_are_labelled_like_those_of_votes():
    times = np.array([NOON, LATER], dtype="M8[ns]")
    assert item_labels(times) == item_labels(list(times)) == (NOON, LATER)
    finer = times + np.timedelta64(1, "ns")
    assert item_labels(finer) == item_labels(list(finer)) == tuple(finer)
