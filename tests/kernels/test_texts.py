"""The text kernels against a plain dictionary, on columns polars lends."""

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.data.tables.arrow import text_views
from podium.data.tables.labels import Numbering

words = st.one_of(st.none(), st.text(max_size=40), st.sampled_from(["x" * k + "y" + "z" * (40 - k) for k in range(41)]))


@given(st.lists(st.tuples(words, words)), st.integers(1, 7))
def test_two_columns_in_pieces_are_numbered_row_by_row(rows, size):
    frame = pl.DataFrame(rows, schema={"left": pl.String, "right": pl.String}, orient="row")
    numbering, found = Numbering(), []
    for start in range(0, len(rows), size):  # slices begin inside a buffer and inside a byte of validity bits
        piece = frame.slice(start, size)
        found += zip(*(codes.tolist() for codes in numbering.pair(piece["left"], piece["right"])), strict=True)
    index = {}
    expected = [tuple(-1 if word is None else index.setdefault(word, len(index)) for word in row) for row in rows]
    assert found == expected
    assert numbering.labels == tuple(index)
    assert [numbering.find(word) for word in index] == list(index.values())
    assert numbering.find("never seen, and longer than forty characters") == -1


@given(st.lists(words))
def test_one_column_is_numbered_in_order_of_appearance(column):
    numbering = Numbering()
    codes = numbering.single(pl.Series(column, dtype=pl.String))
    index = {}
    assert codes.tolist() == [-1 if word is None else index.setdefault(word, len(index)) for word in column]


@pytest.mark.parametrize("width", [4, 12, 13, 31, 32, 33, 100])
def test_many_labels_of_any_length_outgrow_the_first_tables(width):
    labels = [f"{k:0{width}d}" for k in range(5000)]
    numbering = Numbering()
    codes = numbering.single(pl.Series(labels + labels[::-1]))
    assert codes.tolist() == [*range(5000), *range(4999, -1, -1)]
    assert numbering.labels == tuple(labels)


def test_a_column_in_several_chunks_is_lent_in_one_piece():
    column = pl.concat([pl.Series(["a", None]), pl.Series(["a much longer label"])], rechunk=False)
    with text_views(column) as lent:
        assert lent.views.shape == (3, 16)
        assert lent.valid.tolist() == [0b101]
