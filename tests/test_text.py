"""Text in columns."""

import ast
import itertools
import math
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import podium
from podium import text
from podium.text import (
    aligned,
    counted,
    distinct_room,
    fitted,
    named,
    number,
    one_line,
    p_value,
    shortened,
    some,
    width,
)

labels = st.text(st.sampled_from("abc 茶é\u0301-"), max_size=40).map(str.strip)


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


@given(labels, st.integers(2, 40))
def test_a_shortened_label_fits_and_keeps_both_ends(label, room):
    short = shortened(label, room)
    assert width(short) <= room
    if width(label) <= room:
        assert short == label
    else:
        front, _, back = short.partition("…")
        cuts = range(len(label) + 1)
        assert front == max((label[:k] for k in cuts if width(label[:k]) <= room // 2), key=len)
        longest = max((label[k:] for k in cuts if width(label[k:]) < room - room // 2), key=len)
        assert back == longest.lstrip("\u0301")  # a mark without its letter


@given(st.lists(labels, min_size=1, max_size=8), st.integers(2, 20))
def test_labels_stay_different_in_the_room_they_need(many, least):
    room = distinct_room(many, least)
    assert len({shortened(label, room) for label in many}) == len(set(many))
    assert all(
        len({shortened(label, less) for label in many}) < len(set(many)) or less < least for less in range(2, room)
    )


@given(st.lists(labels, min_size=1, max_size=6), st.integers(1, 8), st.integers(20, 90))
def test_a_fitted_table_is_no_wider_than_its_room(items, numbers, room):
    heads = ["item", *(f"as {k}" for k in range(numbers))]
    columns = [items, *([str(10**k)] * len(items) for k in range(numbers))]
    lines = fitted(heads, columns, room).splitlines()
    widest = max(distinct_room([one_line(item) for item in items]), 4) + 2 + max(4, numbers)
    assert all(width(line) <= max(room, widest) for line in lines)
    words = " ".join(lines).split()
    assert all(head.split()[-1] in words for head in heads)
    assert fitted(heads, columns, None) == aligned(heads, columns)


def test_parts_of_a_table_keep_what_begins_at_the_left():
    heads, columns = ["run", "note", "votes"], [["a", "b"], ["x", "a longer note"], [1, 20]]
    parts = [aligned(["run", head], [["a", "b"], column], to_left=("note",)) for head, column in
             zip(heads[1:], columns[1:], strict=True)]  # fmt: skip
    assert fitted(heads, columns, 20, to_left=("note",), shorten=()) == "\n\n".join(parts)


@given(
    st.lists(st.text("abc-", min_size=1, max_size=40), min_size=1, max_size=6), st.integers(1, 8), st.integers(20, 90)
)
def test_a_fitted_table_is_cut_only_where_it_must_be(items, numbers, room):
    heads = ["item", *(f"as {k}" for k in range(numbers))]
    columns = [items, *([str(10**k)] * len(items) for k in range(numbers))]
    whole = aligned(heads, columns)
    assert fitted(heads, columns, max(map(width, whole.splitlines()))) == whole
    tables = [table.splitlines() for table in fitted(heads, columns, room).split("\n\n")]
    if len(tables) == 1 and max(map(width, whole.splitlines())) > room:
        assert max(map(width, tables[0])) == room  # labels are shortened no further than they must be
    assert len({line.split()[0] for line in tables[0][1:]}) == len(set(items))  # and stay different
    for table, below in itertools.pairwise(tables):
        first = int(re.search(r"as (\d)", below[0])[1])
        assert max(map(width, table)) + 2 + max(len("as 0"), first + 1) > room


def test_a_table_without_rows_needs_the_room_of_its_heads():
    assert distinct_room([]) == 0
    assert fitted(["item", "as 1"], [[], []], 4) == "item  as 1"


def test_labels_stay_different_even_where_the_table_does_not_fit():
    lines = fitted(["item", "votes"], [["model-4-large-en", "model-5-large-en"], [3, 4]], 15).splitlines()
    assert [line.split() for line in lines[1:]] == [["model-4…rge-en", "3"], ["model-5…rge-en", "4"]]


def test_as_many_labels_are_named_as_a_sentence_takes():
    assert named("abcd") == "'a', 'b', 'c' and 'd'"
    assert named("abcdef") == "'a', 'b', 'c', 'd' and 2 more"
    assert (some("abcd"), some("abcde")) == ("['a', 'b', 'c', 'd']", "['a', 'b', 'c', 'd', …]")


def test_a_p_value_is_rounded_down_to_less_than_the_last_digit_only():
    assert [p_value(p) for p in (0.0, 0.00009, 0.0001, 0.00016, 1.0)] == [
        "< 0.0001",
        "< 0.0001",
        "0.0001",
        "0.0002",
        "1.0000",
    ]


def test_counts_have_the_singular_for_one_only():
    assert [counted(n, "vote") for n in (0, 1, 1.0, 1.5, 2)] == ["0 votes", "1 vote", "1 vote", "1.5 votes", "2 votes"]


SOURCE = Path(podium.__file__).parent
SPOKEN = (
    "cli",
    "show",
    "campaign/report.py",
    "campaign/standing.py",
    "data/features",
    "active",
    "metrics",
    "multilabel",
    "ordinal",
)
SAFE = {
    "model.votes_per_parameter_",
    "MAX_GRADES",
    "ENOUGH",
    "room",
    "begun",
    "rest",
    "len(frame)",
    "groups",
    "len(grades)",
    "len(items.items)",
    "EXACT_LIMIT",
    "LARGEST",
    "MAX_LANDMARKS",
    "MIN_CHECK_VOTES",
    "len(under) + len(over)",  # more than MAX_NEW_GRADES
}
PLURALS = re.compile(r" (more |other |check |judged |left |right |random |new )?"
                     r"(judges|items|features|votes|rankings|rows|labels|grades|answers|questions|"
                     r"pairs|folds|examples|queries|campaigns|rounds|redraws|changes|columns)\b")  # fmt: skip


def neighbours(path):
    """Each number or text put into a message, as it is formatted, with the text that follows it."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.JoinedStr):
            for value, after in zip(node.values, [*node.values[1:], None], strict=True):
                if isinstance(value, ast.FormattedValue):
                    spec = "" if value.format_spec is None else ast.unparse(value.format_spec)
                    text = after.value if isinstance(after, ast.Constant) else ""
                    yield f"{path.name}:{node.lineno}", ast.unparse(value.value), spec, str(text)


def test_every_share_is_written_with_a_blank_before_the_sign():
    drawn = ("canvas.py", "report_board.py", "report_sections.py", "report_time.py")  # places in per cent of a picture
    wrong = [
        where
        for path in sorted(SOURCE.rglob("*.py"))
        for where, _, spec, after in neighbours(path)
        if spec.endswith(("%'", '%"')) or (after.startswith("%") and path.name not in drawn)
    ]
    assert wrong == []


def test_what_is_said_to_people_counts_in_the_singular_where_there_is_one():
    wrong = []
    for part in SPOKEN:
        for path in sorted((SOURCE / part).rglob("*.py")) if (SOURCE / part).is_dir() else [SOURCE / part]:
            wrong += [
                (where, value)
                for where, value, _, after in neighbours(path)
                if PLURALS.match(after) and value not in SAFE
            ]
    assert wrong == []


@pytest.mark.parametrize(
    ("probability", "says"),
    [(0.0, "0 %"), (1e-9, "< 1 %"), (0.005, "< 1 %"), (0.0051, "1 %"), (0.006, "1 %"), (0.0149, "1 %"), (0.5, "50 %"),
     (0.994, "99 %"), (0.9949, "99 %"), (0.995, "> 99 %"), (0.9999, "> 99 %"), (1.0, "100 %")],
)  # fmt: skip
def test_what_is_not_certain_is_not_called_so(probability, says):
    assert text.chance(probability) == says


@pytest.mark.parametrize(
    ("least", "most", "says"),
    [(1, 1, "about 1 vote"), (3, 9, "about 3 to 9 votes"), (8, 14, "about 8 to 14 votes"),
     (99, 101, "about 99 to 100 votes"),
     (149, 1251, "about 150 to 1,300 votes"), (20, 10, "about 20 votes"), (1, 0, "about 1 vote")],
)  # fmt: skip
def test_a_forecast_has_two_figures_that_count(least, most, says):
    assert text.about(least, most, "vote") == says


def test_only_what_fits_is_left_of_wide_letters_with_marks():
    assert text.shortened("界\u0301\u0301", 1) == "…"
    assert text.shortened("界界界", 5) == "界…界"
    assert text.shortened("界界界", 4) == "界…"
    assert text.shortened("e\u0301界界e\u0301", 3) == "e\u0301…e\u0301"
    assert text.shortened("abcdef", 1) == "…"
    assert text.shortened("abcdef", 2) == "a…"
    assert text.shortened("abcdef", 3) == "a…f"


def test_numbers_have_no_negative_zero_and_counts_their_commas():
    assert [text.number(value, 1) for value in (-0.04, 0.04, -0.06, math.inf, -math.inf, 1234.5)] == [
        "0.0", "0.0", "-0.1", "∞", "-∞", "1234.5"
    ]  # fmt: skip
    assert [text.counted(count, "vote") for count in (0, 1, 1.0, 1.5, 1234567, 2000.0)] == [
        "0 votes", "1 vote", "1 vote", "1.5 votes", "1,234,567 votes", "2,000 votes"
    ]  # fmt: skip
    assert [text.percent(share, digits) for share, digits in ((0.125, 0), (0.125, 1), (1, 0))] == [
        "12 %",
        "12.5 %",
        "100 %",
    ]


def test_a_few_labels_are_named_and_the_others_counted():
    assert [text.named(range(n), 2) for n in (1, 2, 3, 4)] == ["0", "0 and 1", "0, 1 and 1 more", "0, 1 and 2 more"]
    assert text.named(range(2000), 1) == "0 and 1,999 more"
    assert [text.named(range(n)).count("more") for n in (4, 5)] == [0, 1]
    assert [text.some(range(n)) for n in (4, 5)] == ["[0, 1, 2, 3]", "[0, 1, 2, 3, …]"]
    assert text.some([]) == "[]"


def test_a_table_of_html_escapes_cells_and_notes():
    found = text.html_table(["a", "b<"], [["x\n", "&"], [1, 2]], ["one", "<two>"])
    assert found == (
        "<table><thead><tr><th>a</th><th>b&lt;</th></tr></thead><tbody><tr><td>x\\n</td><td>1</td></tr>"
        "<tr><td>&amp;</td><td>2</td></tr></tbody></table><p>one<br>&lt;two&gt;</p>"
    )


def test_what_another_library_says_is_one_line():
    assert text.first_line(ValueError("11 rows\nmore")) == "11 rows"
    assert text.first_line(ValueError("")) == "ValueError"


@pytest.mark.parametrize("room", [None, 99, 17])
def test_a_table_that_fits_is_the_aligned_one_with_what_begins_at_the_left(room):
    heads, columns = ["run", "note", "votes"], [["a", "bb"], ["x", "yyy"], [1, 20]]
    expected = ["run  note  votes", "  a  x         1", " bb  yyy      20"]
    assert fitted(heads, columns, room, to_left=("note",)).splitlines() == expected
    assert aligned(heads, columns, to_left=("note",)).splitlines() == expected


def test_by_default_items_and_what_has_no_head_begin_at_the_left():
    lines = ["item     score", "a     b      1"]
    assert aligned(["item", "", "score"], [["a"], ["b"], [1]]).splitlines() == lines
    assert fitted(["item", "", "score"], [["a"], ["b"], [1]], 40).splitlines() == lines
    assert aligned(["item", "x"], [["long label"], [""]]) == "item        x\nlong label"


@pytest.mark.parametrize(
    ("room", "widths"),
    [(36, (20, 14)), (35, (19, 14)), (30, (14, 14)), (29, (13, 14)), (26, (12, 12)), (20, (12, 12))],
)
def test_the_longest_of_several_columns_is_shortened_first_and_none_below_twelve(room, widths):
    """Labels of 20 and 14 columns, with 2 between them."""
    columns = [["a" * 10 + "b" * 10], ["c" * 14]]
    table = fitted(["item", "judge"], columns, room, shorten=("item", "judge"), to_left=("item", "judge"))
    assert tuple(width(cell) for cell in table.splitlines()[1].split()) == widths


def test_only_items_are_shortened_unless_others_are_named():
    table = fitted(["item", "judge"], [["a" * 20], ["b" * 20]], 36)
    assert table.splitlines()[1] == "aaaaaaa…aaaaaa  " + "b" * 20
    assert fitted(["judge", "item"], [["b" * 20], ["a" * 20]], 36).splitlines()[1] == "b" * 20 + "  aaaaaaa…aaaaaa"


def test_a_label_with_a_head_longer_than_twelve_keeps_the_room_of_the_head():
    table = fitted(["a head of twenty col", "n"], [["x" * 40], [1]], 10, shorten=("a head of twenty col",))
    assert "x" * 10 + "…" + "x" * 9 in table


def test_text_of_several_lines_keeps_their_ends_and_files_hold_all_but_halves():
    assert text.printable("a\tb\n\x1bc\n") == "a\\tb\n\\x1bc\n"
    assert text.storable(3) == "3"
    assert text.storable("a\nb\x00\u202e") == "a\nb\x00\u202e"
    assert text.storable("x\udcffy") == "x\\udcffy"
    assert text.one_line(("a", 1)) == "('a', 1)"


@pytest.mark.parametrize(("least", "expected"), [(2, 6), (7, 7), (20, 8)])
def test_the_room_of_labels_is_the_least_in_which_they_differ(least, expected):
    """Two of eight letters that differ in the third: at six columns three are kept of the front."""
    assert distinct_room(["abXdefgh", "abYdefgh"], least) == expected
