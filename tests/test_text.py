"""Text in columns."""

import pytest

from podium.text import aligned, number, one_line, width


@pytest.mark.parametrize(("text", "columns"), [("tea", 3), ("茶", 2), ("e\u0301", 1), ("thé", 3), ("", 0)])
def test_width_is_that_of_a_terminal(text, columns):
    assert width(text) == columns


def test_lines_of_any_script_end_in_the_same_column():
    lines = aligned(["item", "score"], [["茶", "coffee", "e\u0301"], ["1", "2", "3"]]).splitlines()
    assert {width(line) for line in lines} == {13}


@pytest.mark.parametrize("hostile", ["a\nb", "a\tb", "a\x1b[31mb", "a\u2028b", "a\u202eb"])
def test_what_would_leave_the_cell_is_escaped(hostile):
    assert one_line(hostile).isprintable()
    assert one_line(hostile) != hostile


def test_numbers_without_an_end():
    assert [number(x, 1) for x in (float("inf"), float("-inf"), -0.01, 2.25)] == ["∞", "-∞", "0.0", "2.2"]
