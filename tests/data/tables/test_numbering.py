"""One numbering of labels that arrive in pieces against a plain dict."""

import numpy as np
import polars as pl
import pytest

from podium.data.tables.labels import Numbering


def columns(kind, count, rng):
    numbers = rng.integers(0, count, (2, 2 * count))
    make = {
        "text": lambda k: f"item {k}", "long text": lambda k: f"{k:04d}" * 9, "int": int, "float": lambda k: k / 2,
        "some": lambda k: None if k % 7 == 0 else f"é{k}", "some numbers": lambda k: None if k % 7 == 0 else int(k),
    }[kind]  # fmt: skip
    return [[make(int(k)) for k in side] for side in numbers]


@pytest.mark.parametrize("kind", ["text", "long text", "int", "float", "some", "some numbers"])
@pytest.mark.parametrize("count", [5, 900])
def test_pieces_are_numbered_row_by_row_left_before_right(kind, count):
    rng = np.random.default_rng(count)
    numbering, known, size = Numbering(), {}, 0
    for piece in range(3):
        left, right = columns(kind, count, rng)
        codes = numbering.pair(pl.Series(left), pl.Series(right))
        single = numbering.single(pl.Series(left[:7]))
        for a, b in zip(left, right, strict=True):
            for label in (a, b):
                if label is not None:
                    known.setdefault(label, len(known))
        for values, found in ((left, codes[0]), (right, codes[1]), (left[:7], single)):
            assert found.tolist() == [known.get(value, -1) for value in values]
            assert found.dtype == np.int32
        assert numbering.labels_from(size) == tuple(known)[size:]
        numbering.note(size, codes, np.arange(len(left)) + 1, f"file {piece}")
        size = len(known)
    assert len(numbering) == len(known)
    assert numbering.labels == tuple(known)
    assert numbering.labels_from(len(known)) == ()
    for label in (*list(known)[:3], list(known)[-1]):
        assert numbering.find(label) == known[label]
    assert numbering.find("nobody") == -1


def test_where_a_label_first_appears_is_remembered():
    rng = np.random.default_rng(1)
    numbering, first, size = Numbering(), {}, 0
    for piece in ("a.csv", ""):
        left, right = columns("text", 400, rng)
        codes = numbering.pair(pl.Series(left), pl.Series(right))
        numbering.note(size, codes, np.arange(len(left)) + 10, piece)
        for row, pair in enumerate(zip(left, right, strict=True)):
            for label in pair:
                first.setdefault(label, f"{piece}, row {row + 10}" if piece else f"row {row + 10}")
        size = len(numbering)
        numbering.note(size, codes, np.arange(len(left)), "nothing new")
    for label, where in first.items():
        assert numbering.place(numbering.find(label)) == where
    assert numbering.place(len(numbering)) == ""
    other = Numbering()
    codes = other.pair(pl.Series(["new", "item 1"]), pl.Series(["item 2", "newer"]))
    other.note(0, codes, np.array([5, 6]), "b.csv")
    mine = numbering.unite(other)
    assert mine.tolist() == [numbering.find(label) for label in ("new", "item 2", "item 1", "newer")]
    assert numbering.place(numbering.find("new")) == "b.csv, row 5"
    assert numbering.place(numbering.find("newer")) == "b.csv, row 6"
    assert numbering.place(numbering.find("item 1")) == first["item 1"]


def test_numbers_of_any_width_are_compared_as_python_does():
    big = 2**63
    numbering = Numbering()
    left, right = pl.Series([big - 1, big - 2], dtype=pl.Int64), pl.Series([9.2e18, 1.0])
    codes = numbering.pair(left, right)
    assert [code.tolist() for code in codes] == [[0, 2], [1, 3]]
    assert numbering.labels == (big - 1, int(9.2e18), big - 2, 1)
    assert numbering.single(pl.Series([1, None, big - 1])).tolist() == [3, -1, 0]
    other = Numbering()
    other.single(pl.Series([2.5, 1.0]))
    assert numbering.unite(other).tolist() == [4, 3]
    wide = pl.Series([1, 2**70], dtype=pl.Int128)
    assert numbering.single(wide).tolist() == [3, 5]
    assert numbering.pair(wide, wide)[1].tolist() == [3, 5]
    empty = Numbering()
    assert empty.unite(other).tolist() == [0, 1]


def test_empty_cells_have_a_label_of_their_own_where_asked_for():
    numbering = Numbering()
    assert numbering.with_missing(pl.Series([3, None, 3, None])).tolist() == [0, 1, 0, 1]
    assert numbering.labels == (3, None)
    assert numbering.with_missing(pl.Series([None, 4], dtype=pl.Int64)).tolist() == [1, 2]
    text = Numbering()
    assert text.with_missing(pl.Series(["a", None, "", "a"])).tolist() == [0, 1, 1, 0]
    assert text.labels == ("a", "")
