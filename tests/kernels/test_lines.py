"""The row scanner against Python's own csv module."""

import csv
import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.kernels.text import lines as kernel

cells = st.text(st.sampled_from('ab,;"\n é'), max_size=6)
tables = st.lists(st.lists(cells, min_size=2, max_size=4), min_size=1, max_size=8)


def scan(data, columns=0, final=True, delimiter=","):
    blanks, found = np.zeros(8, np.int64), np.zeros(4, np.int64)
    status = kernel.scan_rows(np.frombuffer(data, np.uint8), ord(delimiter), columns, final, blanks, found)
    return status, *found.tolist()


def written(rows, end="\n"):
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator=end).writerows(rows)
    return text.getvalue().encode()


@given(tables, st.sampled_from(["\n", "\r\n"]))
def test_rows_are_those_the_csv_module_wrote(rows, end):
    data = written(rows, end)
    assert scan(data) == (kernel.GOOD, len(data), len(rows), 0, len(rows[-1]))


@given(tables)
def test_the_first_row_of_another_width_stops_the_walk(rows):
    width = len(rows[0])
    good = next((k for k, row in enumerate(rows) if len(row) != width), len(rows))
    status, end, count, _, fields = scan(written(rows), width)
    assert (end, count) == (len(written(rows[:good])), good)
    assert status == (kernel.GOOD if good == len(rows) else kernel.RAGGED)
    assert fields == len(rows[min(good, len(rows) - 1)])


@given(tables, st.data())
def test_a_cut_block_ends_at_the_last_complete_row(rows, data):
    whole = written(rows)
    cut = data.draw(st.integers(0, len(whole)))
    status, end, count, _, _ = scan(whole[:cut], final=False)
    ends = [len(written(rows[: k + 1])) for k in range(len(rows))]
    # A row that holds quotes may be known complete only with the byte after it.
    assert status == kernel.GOOD
    assert count == sum(end <= cut for end in ends)
    assert end == max([0, *(end for end in ends if end <= cut)])


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (b'a,"b', kernel.OPEN_QUOTE),
        (b'a,"b""', kernel.OPEN_QUOTE),
        (b'a,b"c\n', kernel.STRAY_QUOTE),
        (b'a,"b"c\n', kernel.STRAY_QUOTE),
        (b"\n" * 9, kernel.MANY_BLANKS),
    ],
)
def test_what_is_wrong_is_told_apart(data, status):
    assert scan(data)[0] == status
