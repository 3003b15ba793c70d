"""JSON, fields inside columns, and columns as labels or numbers, part by part."""

import io
import json
from datetime import date, time, timedelta
from decimal import Decimal

import polars as pl
import pytest

from podium.data.tables import jsonlines, nested, values
from podium.data.tables.jsonlines import read_json_array, read_json_lines
from podium.errors import DataWarning, InputError


def fail(row, message):
    raise InputError(f"row {row + 1}: {message}")


def lines(text, *chosen, block=None, monkeypatch=None):
    """The names that the first lines hold, and the rows of those chosen."""
    if block is not None:
        monkeypatch.setattr(jsonlines, "BLOCK", block)
    steps = read_json_lines(io.BytesIO(text if isinstance(text, bytes) else text.encode()), "v.jsonl")
    names = next(steps)
    frames = [steps.send(list(chosen) or list(names)), *steps]
    return list(names), [row for frame in frames for row in frame.rows()]


# ---- lines ----------------------------------------------------------------------------------------------------------

THREE = '{"a": "x", "b": 1}\n{"a": "y", "b": 2}\n\n{"a": "z", "b": 3}'


@pytest.mark.parametrize("block", [1 << 24, 25, 40])
def test_lines_are_rows_however_they_are_cut(monkeypatch, block):
    assert lines(THREE, block=block, monkeypatch=monkeypatch) == (["a", "b"], [("x", 1), ("y", 2), ("z", 3)])
    assert lines(THREE + "\n\n", "b", block=block, monkeypatch=monkeypatch)[1] == [(1,), (2,), (3,)]


def test_later_lines_may_lack_a_field_or_have_another_kind(monkeypatch):
    text = '{"a": 1, "b": 2}\n{"a": 3}\n{"a": 2.5, "b": 4}\n'
    assert lines(text, block=20, monkeypatch=monkeypatch)[1] == [(1, 2), (3, None), (2.5, 4)]


@pytest.mark.parametrize("block", [1 << 24, 30])
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"a": 1}\n\n{"a": 2}\n{"a": }\n', r"^v\.jsonl, row 3: not JSON \(Expecting value at character 7\); correct"),
        ('{"a": 1}\n[1, 2]\n', r'^v\.jsonl, row 2: \[1, 2\] is not an object; write one for each row, with names '
                               r'for its values, as \{"ranking": \["a", "b"\]\} for a ranking'),
        ('{"a": 1}\n7\n', r"^v\.jsonl, row 2: 7 is not an object; write one for each row, with names for its values$"),
        ('{"a": 1}\n{"a": NaN}\n', r"^v\.jsonl, row 2 cannot be read: NaN is no value of JSON; correct it"),
        ('{"a": "x"}\n{"a": "\\ud800"}\n', r"^v\.jsonl, row 2: '\\ud800' is half a character \(a lone surrogate\)"),
        ('{"a": "x"}\n{"a": 5}\n', r"^v\.jsonl, row 2: a is the number 5 here and text elsewhere; make all of it text"),
    ],
)  # fmt: skip
def test_a_bad_line_is_named_with_its_row(monkeypatch, text, said, block):
    with pytest.raises(InputError, match=said):
        lines(text, block=block, monkeypatch=monkeypatch)


def test_other_bad_lines():
    for line, said in (
        (b'{"a": "\xff"}', "byte 0xff is not UTF-8 text; save the file as UTF-8"),
        (b'{"a": %d}' % 2**127, "a is a number of 39 digits, too large; make it text"),
        (b'{"a": -%d}' % (2**127 + 1), "a is a number of 39 digits"),
        (json.dumps(["x" * 100]).encode(), r"\['x{55}\.\.\. is not an object"),
    ):
        with pytest.raises(InputError, match=f"^here: {said}"):
            jsonlines._refuse_bad_line(line, "here")
    jsonlines._refuse_bad_line(b'{"a": %d, "b": -%d, "c": "\\ud83d\\ude00"}' % (2**127 - 1, 2**127), "here")
    exact = json.dumps(["x" * 56]).encode()  # as long as may be shown whole
    with pytest.raises(InputError, match=r"^here: \['x{56}'\] is not"):
        jsonlines._refuse_bad_line(exact, "here")


def test_a_file_without_lines_is_empty():
    for text in ("", "\n \n"):
        with pytest.raises(InputError, match=r"v\.jsonl is empty; expected one JSON object a line"):
            next(read_json_lines(io.BytesIO(text.encode()), "v.jsonl"))


def test_digits_in_text_are_no_numbers_and_numbers_elsewhere_none_of_this_column():
    text = '{"a": "1", "b": 1}\n{"a": "-2", "b": 2, "c": {"a": 5}}\n'
    assert lines(text, "a", "b")[1] == [("1", 1), ("-2", 2)]


# ---- journals -------------------------------------------------------------------------------------------------------

JOURNAL = (
    b'{"podium": "begin"}\n{"w": "a", "judge": "x"}\n{"w": "b", "judge": "y"}\n{"podium": "undo", "row": 2}\n'
    b'{"w": "c", "judge": "x"}\n'
)


def test_notes_are_no_votes_and_an_undo_takes_a_row_back():
    assert lines(JOURNAL, "w")[1] == [("b",), ("c",)]
    out = JOURNAL + b'{"podium": "exclude", "judge": "y"}\n'
    assert lines(out, "w")[1] == [("c",)]
    assert jsonlines._that_count(b'{"podium": "exclude", "judge": "y"}\nno json\n[1]\n{"judge": "z"}').count(b"\n") == 3
    assert jsonlines._without_notes(b'{"podium": 1}\n{"a": 1}\n') == b'{"a": 1}\n'
    assert jsonlines._without_notes(b'{"a": 1}\n') == b'{"a": 1}\n'


def test_a_log_without_answers_is_told():
    with pytest.warns(DataWarning, match=r"v\.jsonl is the log of an interview without answers; it adds nothing"):
        assert next(read_json_lines(io.BytesIO(b'{"podium": "begin"}\n'), "v.jsonl"), None) is None


# ---- arrays ---------------------------------------------------------------------------------------------------------


def array(text, *chosen):
    steps = read_json_array(io.BytesIO(text.encode()), "v.json")
    names = next(steps)
    return list(names), [row for frame in [steps.send(list(chosen) or list(names)), *steps] for row in frame.rows()]


def test_an_array_of_objects_or_of_rankings_is_a_table():
    assert array('[{"a": "x", "b": 1}, {"a": "y"}]') == (["a", "b"], [("x", 1), ("y", None)])
    assert array('[["a", "b"], ["b", "a"]]') == (["ranking"], [(["a", "b"],), (["b", "a"],)])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[", r"^v\.json, line 1: not JSON \(Expecting value\); correct it"), ("[1,\n,]", "line 2: not JSON"),
        ('{"a": 1}', r"v\.json holds a single dict; expected an array of objects"),
        ("[]", "is an empty array; expected objects"),
        ('[{"a": 1}, ["x"]]', r"row 2: \['x'\] is not an object"),
        ('[{"a": "x"}, {"a": 1}]', "row 2: a is the number 1 here"),
    ],
)  # fmt: skip
def test_a_bad_array_is_named(text, said):
    with pytest.raises(InputError, match=said):
        array(text)
    with pytest.raises(InputError, match=r"v\.json: byte 2 is not UTF-8 text; save the file as UTF-8"):
        next(read_json_array(io.BytesIO(b'["\xff"]'), "v.json"))


# ---- fields inside columns ------------------------------------------------------------------------------------------


def test_fields_are_found_by_their_paths():
    frame = pl.DataFrame({"m": [{"a": 1, "t": {"b": 2, "c.d": 3}}], "m.a": ["own"], "x": [0]})
    names = nested.Names(frame.schema)
    assert list(names) == ["m", "m.a", "x"]
    assert names.nested == ["m.t", "m.t.b", "m.t.c.d"], "the column of that very name hides the field"
    chosen = ["m.t.b", "m.a", "m.t.c.d", "m.t.no", "no.where", "x.y", "x"]
    found = frame.select(nested.picked(chosen, frame.schema))
    assert found.columns == chosen
    assert found.rows() == [(2, "own", 3, None, None, None, 0)]
    assert nested.roots(["m.t.b", "m.a", "x", "m.t"], frame.schema) == ["m", "m.a", "x"]
    assert nested._root("m.t.b", frame.schema) == ("m", "t.b")
    assert nested._root("no.where", frame.schema) == ("no.where", "")
    assert nested._heads("a.b.c") == ["a", "a.b", "a.b.c"]


def test_paths_have_an_end(monkeypatch):
    schema = {"m": pl.Struct({str(k): pl.Int8 for k in range(9)})}
    assert len(nested.nested_names(schema)) == 9
    monkeypatch.setattr(nested, "MAX_NAMES", 4)
    assert nested.nested_names(schema) == ["m.0", "m.1", "m.2", "m.3"]


# ---- labels and numbers ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ([1, 2], [1, 2]), ([1.5], [1.5]), (["x"], ["x"]), ([b"caf\xc3\xa9", None], ["café", None]), ([True], ["true"]),
        ([date(2024, 1, 2)], ["2024-01-02"]), ([time(1)], ["01:00:00"]), ([Decimal("1.50")], ["1.50"]),
        ([None], [None]),
        ([timedelta(days=1)], ["1d"]),
    ],
)  # fmt: skip
def test_columns_as_labels(given, found):
    assert values.as_labels(pl.Series("c", given), fail).to_list() == found


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ([1, None], [1.0, None]),
        ([" 1.5 ", "x"], [1.5, None]),
        ([b" 2 "], [2.0]),
        ([True], [1.0]),
        ([None], [None]),
        ([Decimal("1.50")], [1.5]),
    ],
)
def test_columns_as_numbers(given, found):
    assert values.as_numbers(pl.Series("c", given), fail).to_list() == found
    texts = pl.Series("c", ["1", "2"])
    for kind in (pl.Categorical, pl.Enum(["1", "2"])):
        assert values.as_numbers(texts.cast(kind), fail).to_list() == [1.0, 2.0]


def test_columns_that_are_neither_are_refused_by_their_kind():
    for given in ([[1]], [{"a": 1}]):
        with pytest.raises(InputError, match=r"^v: column 'c' holds .*; labels are text or numbers"):
            values.as_labels(pl.Series("c", given), fail, "v: ")
    for given in ([[1]], [date(2024, 1, 1)], [timedelta(1)]):
        with pytest.raises(InputError, match=r"^v: column 'c' holds .*; it takes numbers"):
            values.as_numbers(pl.Series("c", given), fail, "v: ")
    for read in (values.as_labels, values.as_numbers):
        with pytest.raises(
            InputError, match=r"^row 2: column 'c' is b'\\xff', which is no UTF-8 text; save the column"
        ):
            read(pl.Series("c", [b"1", b"\xff"]), fail)


def test_structures_of_counts_are_summed():
    column = pl.Series("c", [{"p": 1, "q": 2.5}, {"p": None, "q": 1.0}, None])
    assert values.summed(column).to_list() == [3.5, 1.0, None]
    assert values.summed(column).name == "c"
    for bad in (pl.Series("c", [{"p": "x"}]), pl.Series("c", [[1]])):
        with pytest.raises(InputError, match=r"^v: column 'c' holds .*; it takes numbers, or structures of them"):
            values.summed(bad, "v: ")


@pytest.mark.parametrize(
    ("given", "found"),
    [
        (["2,5", "-1,25", "+3", None], [2.5, -1.25, 3.0, None]), (["2,5", "x"], None), (["2", "3"], None),
        (["1,250", "2,5"], [1.25, 2.5]), ([" 2,5 "], [2.5]), (["2.5", "2,5"], None), (["1,2,3"], None),
    ],
)  # fmt: skip
def test_decimal_commas(given, found):
    numbers = values.comma_numbers(pl.Series("c", given))
    assert (None if numbers is None else numbers.to_list()) == found
    assert [values.is_decimal_comma(text) for text in ("2,5", " -2,5 ", "2.5", "2,", ",5", "1,2,3")] == [True] * 2 + [
        False
    ] * 4
    with pytest.raises(
        InputError, match=r"^row 2: c is '1,250', which may be decimal or thousands; write it with a point"
    ):
        values.comma_numbers(pl.Series("c", ["3", "1,250", "2,000"]))


@pytest.mark.parametrize(
    ("given", "found"),
    [
        (["1", "n/a", "2"], "row 2: 'c' is 'n/a', where most rows have numbers"), (["1", "n/a"], ""),
        (["x", "y", "1"], ""),
        (["1", "2"], ""), (["1", "", None, "x", "3", "4"], "row 4: 'c' is 'x', where most rows have numbers"), ([], ""),
    ],
)  # fmt: skip
def test_the_odd_text_among_numbers(given, found):
    assert values.odd_one_out(pl.Series("c", given, dtype=pl.String)) == found
    assert values.odd_one_out(pl.Series("c", [1.0, 2.0])) == ""
