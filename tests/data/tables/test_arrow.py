"""Text lent in Arrow's memory is read as what its schema says it is, and otherwise the ordinary way."""

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.data.tables import arrow
from podium.data.tables.arrow import text_views
from podium.data.tables.labels import Numbering

TEXTS = ["tea", None, "", "a label longer than a view holds", "twelve bytes", "thirteen byte", "té", "tea", "x\0y"]
FORMATS = {
    "utf8": pa.utf8(),
    "large_utf8": pa.large_utf8(),
    "utf8_view": pa.string_view(),
    "binary": pa.binary(),
    "dictionary": pa.dictionary(pa.int32(), pa.utf8()),
}


class Lent:
    """A column that lends its memory in another format than polars does today."""

    def __init__(self, values, array):
        self.values, self.array, self.dtype = values, array, pl.String()

    def rechunk(self):
        return self

    def __arrow_c_stream__(self, requested_schema=None):
        return pa.chunked_array([self.array]).__arrow_c_stream__(requested_schema)

    def __len__(self):
        return len(self.values)

    def to_list(self):
        return self.values


def codes_of(values):
    """Numbers in order of first appearance, -1 for none: the slow way."""
    index = {}
    return [-1 if value is None else index.setdefault(value, len(index)) for value in values], tuple(index)


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("start", [0, 3])
def test_every_format_gives_the_same_codes(name, start):
    kind = FORMATS[name]
    values = TEXTS[start:]
    plain = pa.array(TEXTS, pa.utf8())
    array = (plain.dictionary_encode() if name == "dictionary" else plain.cast(kind))[start:]
    numbering = Numbering()
    codes = numbering.single(Lent(values, array))
    assert (codes.tolist(), numbering.labels) == codes_of(values)


def test_a_column_without_a_type_is_all_null():
    numbering = Numbering()
    assert numbering.single(Lent([None, None], pa.nulls(2))).tolist() == [-1, -1]
    assert numbering.labels == ()
    assert numbering.single(Lent([], pa.array([], pa.utf8()))).tolist() == []


def test_a_lender_that_gives_only_part_is_not_believed():
    values = TEXTS
    numbering = Numbering()
    codes = numbering.single(Lent(values, pa.array(TEXTS[:3], pa.string_view())))
    assert (codes.tolist(), numbering.labels) == codes_of(values)


def test_polars_lends_views_today():
    """So that the fast way is the one taken; what is laid out by hand has the same views and validity."""
    column = pl.Series(TEXTS)
    with text_views(column) as lent:
        assert lent.held == ()
        ours = arrow._laid_out(TEXTS)
        short = [k for k, text in enumerate(TEXTS) if text is not None and len(text.encode()) <= 12]
        assert (np.array(lent.views)[short] == ours.views[short]).all()
        count = len(TEXTS)
        bits = [np.unpackbits(part.valid, bitorder="little")[:count].tolist() for part in (lent, ours)]
        assert bits[0] == bits[1]


@given(st.lists(st.one_of(st.none(), st.text(st.characters(exclude_categories=["Cs"]))), max_size=20), st.data())
def test_text_laid_out_by_hand_is_numbered_as_polars_text_is(values, data):
    other = data.draw(st.permutations(values))
    pairs = []
    for lend in (lambda v: pl.Series(v, dtype=pl.String), lambda v: Lent(v, pa.array(v, pa.large_utf8()))):
        numbering = Numbering()
        left, right = numbering.pair(lend(values), lend(other))
        pairs.append((left.tolist(), right.tolist(), numbering.labels))
    assert pairs[0] == pairs[1]
    flat = [value for row in zip(values, other, strict=True) for value in row]
    assert (np.array([pairs[0][:2]]).transpose(0, 2, 1).ravel().tolist(), pairs[0][2]) == codes_of(flat)
