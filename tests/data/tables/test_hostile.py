"""Bytes and labels that are hardly ever meant: the right answer or one sentence, no foreign traceback."""

import io
import warnings

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from podium import Comparisons, read_comparisons
from podium.data.features import read_features
from podium.data.files import read_table
from podium.errors import DataWarning, InputError
from podium.pairwise.counting import WinRate

LARGE = [2**63 - 1, 2**63, 2**64 - 1, 2**64, 2**127 - 1, 2**127, 2**200, -(2**63) - 1, -(2**127) - 1]


@pytest.mark.parametrize("large", LARGE)
@pytest.mark.parametrize("other", [1, -1, 2**64])
def test_large_integers_are_themselves_or_refused(large, other):
    if large == other:
        return
    votes = Comparisons.from_pairs([(large, other), (other, large), (large, other)])
    assert votes.items == (large, other)
    assert list(map(int, WinRate().fit(votes).ranking_.to_frame()["item"].to_list())) == [large, other]
    assert [tuple(map(int, row)) for row in votes.to_frame().rows()] == [(large, other), (other, large), (large, other)]
    line = f'{{"winner": {large}, "loser": {other}}}\n'
    ways = [
        lambda: Comparisons.from_frame({"winner": [large, other], "loser": [other, large]}),
        lambda: read_comparisons(io.StringIO(line)),
        lambda: read_comparisons(io.StringIO(f"[{line}]")),
    ]
    for way in ways:
        if -(2**127) <= large < 2**127:
            assert way().items == (large, other)
        else:
            with pytest.raises(InputError, match=r"row 1: .*too large"):
                way()


@pytest.mark.parametrize("text", ["\ud800", "a\udfffb"])
def test_half_a_character_is_named_with_its_row(text):
    ways = [
        lambda: Comparisons.from_pairs([("a", "b"), (text, "b")]),
        lambda: Comparisons.from_arrays(np.array(["a", text]), np.array(["b", "b"])),
        lambda: Comparisons.from_frame({"winner": ["a", text], "loser": ["b", "b"]}),
        lambda: Comparisons.from_frame({"winner": ["a", "c"], "loser": ["b", "b"], "judge": ["x", text]}),
        lambda: read_comparisons(
            io.StringIO(r'{"winner":"a","loser":"b"}' + "\n" + r'{"winner":"\ud800","loser":"b"}')
        ),
        lambda: read_comparisons(io.StringIO(r'[{"winner":"a","loser":"b"},{"winner":"x\udc00","loser":"b"}]')),
    ]
    for way in ways:
        with pytest.raises(InputError, match=r"row 2: .*half a character"):
            way()
    with pytest.raises(InputError, match="half a character"):
        Comparisons(["a", text], [0], [1])
    with pytest.raises(InputError, match="is not utf-8 text"):
        read_comparisons(io.StringIO(f"winner,loser\n{text},b\n"))


def test_whole_characters_written_as_two_halves_are_read():
    assert read_comparisons(io.StringIO(r'{"winner":"\ud83d\ude00","loser":"b"}')).items == ("\U0001f600", "b")


def test_a_nul_byte_is_named_with_its_row_however_late():
    data = b"winner,loser\n" + b"a,b\n" * 30_000 + b'"x\n\0y",b\n'
    with pytest.raises(InputError, match="row 30001: a NUL byte is no text"):
        read_comparisons(io.BytesIO(data))
    with pytest.raises(InputError, match="holds binary data"):
        read_comparisons(io.BytesIO(data[:13] + data[-9:]))


def test_a_byte_order_mark_amid_the_rows_is_named():
    for data in (b"winner,loser\n\xef\xbb\xbfa,b\n", b"winner,loser\na,b\n\xef\xbb\xbfwinner,loser\nc,d\n"):
        with pytest.raises(InputError, match=r"row [12]: it begins with a byte order mark"):
            read_comparisons(io.BytesIO(data))


pieces = st.sampled_from(
    [
        *(
            b"winner,loser\n",
            b"a,b\n",
            b'{"winner":"a","loser":"b"}\n',
            b'{"ranking": ["a", "b"]}\n',
            b"ranking\n",
            b" > ",
        ),
        *(b"[", b"]", b"{", b"}", b'"', b"{}", b"[]", b"null", b"NaN", b"1e999", b"1" * 40, b"\\u", b"d800"),
        *(
            b"\0",
            b"\xff",
            b"\xef\xbb\xbf",
            b"\xe2\x80\xa8",
            b"\r",
            b"\n",
            b",",
            b";",
            b">",
            b"1:2 ",
            b"-1 3:0.5 # note\n",
        ),
        *(b"PAR1", b"ARROW1", b"\x1f\x8b", b"-1 3:0.5 # note\n", b"ranking\n"),
    ]
)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(pieces, min_size=1, max_size=12).map(b"".join), st.sampled_from([None, "csv", "json", "jsonl"]))
@example(b"[" * 100_000, None)
@example(b"ranking\n\xef\xbb\xbf", None)
@example(b'{"winner": [' + b"[" * 100_000, None)
@example(b'[{"winner": ' + b"1" * 5000 + b"}]", None)
@example(b'winner,loser\n""\rwinner,loser\n', None)
def test_any_bytes_are_votes_or_refused(data, format):
    for read, kind in ((read_comparisons, Comparisons), (read_table, pl.DataFrame)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DataWarning)
            try:
                ending = read(io.BytesIO(data), format=format)
            except InputError as refusal:
                ending = refusal
        assert isinstance(ending, kind) or len(str(ending).splitlines()) == 1


IDS = {
    "empty": pl.Series(["", "", ""]),
    "null": pl.Series([None] * 3),
    "null text": pl.Series([None] * 3, dtype=pl.String),
    "NaN": pl.Series([float("nan")] * 3),
    "list": pl.Series([["a"], ["b"], ["c"]]),
    "struct": pl.Series([{"a": 1}] * 3),
    "object": pl.Series([object()] * 3, dtype=pl.Object),
    "bytes": pl.Series([b"a", b"b", b"\xff"]),
    "no row": pl.Series([], dtype=pl.String),
}


@pytest.mark.parametrize("kind", IDS)
def test_a_column_that_names_no_items_is_refused(kind):
    column = IDS[kind]
    frame = pl.DataFrame({"k": column, "x": np.arange(float(len(column)))})
    with pytest.raises(InputError, match="features"):
        read_features(frame, ("a", "b", "c"), id="k")


NAMED = {
    "categorical": pl.Series(["a", "b", "c"], dtype=pl.Categorical),
    "bytes": pl.Series([b"a", b"b", b"c"]),
    "text": pl.Series(["a", "b", "c"]),
}


@pytest.mark.parametrize("kind", NAMED)
def test_a_column_of_labels_is_found_whatever_its_type_says(kind):
    frame = pl.DataFrame({"k": NAMED[kind], "x": [1.0, 2.0, 4.0]})
    labels, matrix, _ = read_features(frame, ("c", "a", "b"), id="k")
    assert labels == ("c", "a", "b")
    assert matrix[:, 0].tolist() == [4.0, 1.0, 2.0]


@pytest.mark.parametrize(
    "column",
    [
        pl.Series([1, 2, 3]).cast(pl.Date),
        pl.Series([1, 2, 3]).cast(pl.Duration("us")),
        pl.Series([1, 2, 3]).cast(pl.Time),
        pl.Series([1, 2, 3]).cast(pl.Datetime("us")),
        pl.Series([[1], [2], [3]]),
        pl.Series([{"a": 1}] * 3),
        pl.Series([b"1", b"2", b"3"]),
        pl.Series([object()] * 3, dtype=pl.Object),
    ],
    ids=lambda column: str(column.dtype),
)
def test_a_feature_that_is_no_number_is_not_taken_for_one(column):
    for one_hot in (False, True):
        with pytest.raises(InputError, match="column 'x' holds"):
            read_features(pl.DataFrame({"k": ["a", "b", "c"], "x": column}), ("a", "b", "c"), id="k", one_hot=one_hot)
