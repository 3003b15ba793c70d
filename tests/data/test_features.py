"""Features of items, from any table to one matrix: which row is whose, what is refused and by which words."""

import types

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

from podium.data.features import FeatureSpec, few, is_sparse, read_features, read_row_weights
from podium.data.features.labelled import labelled_columns, lined_up
from podium.data.features.values import checked_sparse, indicators, numbers, row_name, text_levels
from podium.errors import DataWarning, InputError

ITEMS = ("b", "a", "c")
ROWS = {"a": [1.0, 10.0], "b": [2.0, 20.0], "c": [3.0, 30.0]}
WANTED = [[2.0, 20.0], [1.0, 10.0], [3.0, 30.0]]  # in the order of the items


def frame(**more):
    columns = {"item": list(ROWS), "size": [row[0] for row in ROWS.values()], "age": [row[1] for row in ROWS.values()]}
    return pl.DataFrame(columns | more)


# ---- tables of every kind -------------------------------------------------------------------------------------------

SOURCES = {
    "mapping of lists": (ROWS, ("x1", "x2")),
    "mapping of arrays": ({k: np.array(v) for k, v in ROWS.items()}, ("x1", "x2")),
    "mapping of mappings": ({k: {"size": v[0], "age": v[1]} for k, v in ROWS.items()}, ("size", "age")),
    "array": (np.array(WANTED), ("x1", "x2")),
    "lists": (WANTED, ("x1", "x2")),
    "sparse": (sparse.csr_array(np.array(WANTED)), ("x1", "x2")),
    "sparse by columns": (sparse.csc_array(np.array(WANTED)), ("x1", "x2")),
    "pandas": (pd.DataFrame({"item": list(ROWS), "size": [1.0, 2.0, 3.0], "age": [10.0, 20.0, 30.0]}), ("size", "age")),
}


@pytest.mark.parametrize("kind", SOURCES)
@pytest.mark.parametrize("missing", ["error", "mean"])
def test_every_table_gives_a_row_for_each_item_in_their_order(kind, missing):
    source, names = SOURCES[kind]
    labels, matrix, spec = read_features(source, ITEMS, missing=missing)
    assert (labels, spec.names, spec.columns) == (ITEMS, names, names)
    assert matrix.tolist() == WANTED
    assert spec.levels == {}
    if missing == "error" or "sparse" in kind:
        assert spec.means is None
    else:
        assert spec.means.tolist() == [2.0, 20.0]


@pytest.mark.parametrize("lazy", [False, True])
def test_a_frame_finds_its_items_by_the_column_that_holds_them(lazy):
    table = frame().rename({"item": "name"})
    labels, matrix, spec = read_features(table.lazy() if lazy else table, ITEMS)
    assert (labels, matrix.tolist(), spec.names) == (ITEMS, WANTED, ("size", "age"))
    labels, matrix, spec = read_features(frame(other=["c", "a", "b"]), ITEMS, id="other", one_hot=True)
    assert spec.names == ("item=b", "item=c", "size", "age")
    assert matrix[:, 2].tolist() == [3.0, 2.0, 1.0]


def test_one_column_of_numbers_is_a_table():
    _, matrix, spec = read_features([1.0, 2.0, 3.0], ITEMS)
    assert (matrix.tolist(), spec.names) == ([[1.0], [2.0], [3.0]], ("x1",))
    _, matrix, _ = read_features({"a": 1, "b": 2, "c": 3}, ITEMS)
    assert matrix.tolist() == [[2.0], [1.0], [3.0]]


def test_items_beyond_those_compared_come_after_them_in_the_order_of_the_table():
    rows = {"z": [9.0], "a": [1.0], "y": [8.0], "b": [2.0]}
    labels, matrix, _ = read_features(rows, ("b", "a"))
    assert labels == ("b", "a", "z", "y")
    assert matrix[:, 0].tolist() == [2.0, 1.0, 9.0, 8.0]


def test_a_sparse_table_stays_one_where_asked_for():
    table = sparse.csr_array(np.array(WANTED))
    assert is_sparse(read_features(table, ITEMS, sparse=True)[1])
    assert not is_sparse(read_features(table, ITEMS)[1])
    assert not is_sparse(np.eye(2))
    assert not is_sparse(types.SimpleNamespace(nnz=3))
    twice = sparse.coo_array(([1.0, 2.0, 5.0], ([0, 0, 1], [1, 1, 0])), shape=(3, 2))
    kept = read_features(twice, ITEMS, sparse=True)[1]
    assert kept.toarray().tolist() == [[0.0, 3.0], [5.0, 0.0], [0.0, 0.0]]
    assert (kept.format, kept.nnz, kept.dtype) == ("csr", 2, np.float64)


@pytest.mark.parametrize(
    ("source", "options", "said"),
    [
        ({}, {}, "features: the mapping is empty; give a row for each item"),
        ({"a": [1], "b": [1, 2], "c": [1]}, {}, "features of 'b': another number of values than 'a' has, 1"),
        ({"a": [[1], [2, 3]]}, {}, "features: each item needs a flat list of values"),
        (np.zeros((3, 2, 2)), {}, r"features: a table is expected, not an array of shape \(3, 2, 2\)"),
        ([["x"], ["y"], ["z"]], {}, "features: numbers are expected .*; give a frame for text"),
        (np.zeros((2, 1)), {}, "features have 2 rows, the votes 3 items; give one row for each of comparisons.items"),
        (np.zeros((1, 1)), {}, "features have 1 row, the votes 3 items"),
        (sparse.csr_array((2, 1)), {}, "features have 2 rows, the votes 3 items"),
        (sparse.csr_array((3, 0)), {}, r"a table with a column at least is expected, not a shape of \(3, 0\)"),
        (ROWS, {"missing": "median"}, "missing='median' is not known; use 'error' or 'mean'"),
        ({"x": [1.0], "y": [2.0]}, {}, r"compared items \('b', 'a', 'c'\) is among its labels \('x', 'y'\)"),
        ({"a": [1.0], "b": [2.0]}, {}, "features: no row for 'c'; add it, or set missing='mean'"),
        ({"a": [1.0], "b": [None], "c": [2.0]}, {}, "'x1' is missing for 'b'; fill it in, or set missing='mean'"),
        ({"a": [None], "b": [None], "c": [None]}, {"missing": "mean"}, "features: 'x1' has no value at all"),
        ({"a": [np.inf], "b": [1.0], "c": [2.0]}, {}, "features: 'x1' is inf for 'a'; it must be finite"),
        (np.array([[1.0], [np.nan], [np.nan]]), {}, "features: 'x1' is missing for 'a', 'c'; fill it in"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_table_is_said(source, options, said):
    with pytest.raises(InputError, match=said):
        read_features(source, ITEMS, **options)


def test_what_is_wrong_with_a_frame_is_said():
    for table, options, said in (
        (frame(), {"id": "name"}, "no column 'name' to find the items by; there are 'item', 'size', 'age'"),
        (frame().drop("item"), {}, r"no column holds every compared item; name the column .* by id= \(there"),
        (frame(item=["a", "z", "y"], code=["a", "b", "y"]).rename({"item": "name"}), {},
         "no column holds every compared item, 'code' lacks 'c'; complete it, or name the column of labels by id="),
        (frame(name=["a", "b", "c"]).rename({"item": "other"}), {}, "columns 'other', 'name' all hold the"),
        (frame().select("item"), {}, "there is no column beside the labels; give at least one feature"),
        (frame(item=["a", "b", "a"]), {}, "features: 'a' appears in rows 1 and 3; remove one"),
        (frame(item=["a", "b", None]), {}, "features, row 3: no label; name the item or remove the row"),
        (frame(tags=[["x"], ["y"], ["z"]]), {"id": "tags"}, r"column 'tags' holds List.*; labels are text or numbers"),
        (frame(tags=[["x"], ["y"], ["z"]]), {}, r"column 'tags' holds List.*; a feature is a number"),
        (frame(kind=["x", "y", "x"]), {}, "'kind' holds text; leave it out, or set one_hot=True for a column"),
        (frame(kind=["x", "y", "x"], sort=["u", "v", "v"]), {}, "features: 'kind', 'sort' hold text; leave them out"),
        (frame(kind=["x", "y", "x"]), {"one_hot": None}, "leave it out; this method takes numbers only"),
    ):  # fmt: skip
        with pytest.raises(InputError, match=said):
            read_features(table, ITEMS, **options)


def test_the_column_called_item_is_the_one_of_labels_where_others_could_be_too():
    labels, _, spec = read_features(frame(twin=["a", "b", "c"]), ITEMS, one_hot=True)
    assert (labels, spec.columns) == (ITEMS, ("size", "age", "twin"))
    with pytest.raises(InputError, match="none of the compared items"):
        read_features(frame(item=["x", "y", "z"], twin=["a", "b", "c"]), ITEMS, one_hot=True)


def test_labels_are_read_as_the_votes_have_them():
    numbered = pl.DataFrame({"code": [1, 2, 3], "size": [1.0, 2.0, 3.0]})
    assert read_features(numbered, ("2", "1", "3"))[1][:, 0].tolist() == [2.0, 1.0, 3.0], "as text in files of votes"
    assert read_features(numbered, (2, 1, 3), id="code")[0] == (2, 1, 3)
    ids, _ = labelled_columns(numbered, "code", ("1",))
    assert ids == ("1", "2", "3")
    ids, _ = labelled_columns(pl.DataFrame({"code": [1.5, 2.0]}), "code", ("1.5",))
    assert ids == (1.5, 2.0), "floats are no text"
    ids, columns = labelled_columns(numbered, None)
    assert ids is None
    assert list(columns) == ["code", "size"]


def test_an_item_without_a_row_has_the_mean_of_the_others_where_asked_for():
    with pytest.warns(
        DataWarning, match="no row for 1 of 3 compared items, 'c'; the mean of every column stands for"
    ) as told:
        labels, matrix, spec = read_features({"a": [1.0], "b": [3.0], "z": [8.0]}, ITEMS, missing="mean")
    assert len(told) == 1
    assert labels == (*ITEMS, "z")
    assert matrix[:, 0].tolist() == [3.0, 1.0, 4.0, 8.0]
    assert spec.means.tolist() == [4.0]
    _, matrix, _ = read_features({"a": [1.0], "b": [None], "c": [5.0]}, ITEMS, missing="mean")
    assert matrix[:, 0].tolist() == [3.0, 1.0, 5.0]


def test_rows_find_their_items():
    labels, place = lined_up(("z", "a", "b"), ("b", "a"), "error")
    assert (labels, place.tolist()) == (("b", "a", "z"), [2, 1, 0])
    with pytest.warns(DataWarning, match="no row for 1 of 2 compared items, 'q'"):
        assert lined_up(("a",), ("q", "a"), "mean")[1].tolist() == [-1, 0]
    with pytest.raises(InputError, match="no row for 'q', 'r', 's', 't' and 1 more; add it"):
        lined_up(("a",), ("q", "r", "s", "t", "u", "a"), "error")


# ---- text -----------------------------------------------------------------------------------------------------------


def test_texts_become_columns_of_0_and_1_for_each_but_the_first():
    table = frame(kind=["y", "x", None])
    _, matrix, spec = read_features(table, ITEMS, one_hot=True, missing="mean")
    assert spec.names == ("size", "age", "kind=y")
    assert spec.levels == {"kind": ("x", "y")}
    assert matrix[:, 2].tolist() == [0.0, 1.0, 0.5]
    with pytest.raises(InputError, match="'kind=y' is missing for 'c'; fill it in"):
        read_features(table, ITEMS, one_hot=True)
    for dtype in (pl.Categorical, pl.Enum(["y", "x"])):
        made = frame(kind=pl.Series(["y", "x", "y"], dtype=dtype))
        assert read_features(made, ITEMS, one_hot=True)[1][:, 2].tolist() == [0.0, 1.0, 1.0]


def test_a_column_for_each_value_and_none_that_is_not_known():
    one, other = indicators(["x", "z", None, "y"], "kind", ("x", "y", "z"), None)
    assert_array_equal(one, [0.0, 0.0, np.nan, 1.0])
    assert_array_equal(other, [0.0, 1.0, np.nan, 0.0])
    for labels, where in ((None, "row 2"), (["p", "q"], "'q'")):
        with pytest.raises(InputError, match=f"features: 'kind' is 'w' for {where}; the model knows 'x', 'y'"):
            indicators(["x", "w"], "kind", ("x", "y"), labels)


@pytest.mark.parametrize(("count", "refused"), [(9, False), (10, True)])
def test_another_text_for_every_item_is_no_feature(count, refused):
    texts = [f"word {chr(97 + k)}" for k in range(count)]
    if refused:
        with pytest.raises(
            InputError, match="'note' is another text for every item, so it says nothing that items share"
        ):
            text_levels({"note": [*texts, None]}, True)
    else:
        assert text_levels({"note": [*texts, None]}, True) == {"note": tuple(texts)}
    assert len(text_levels({"note": [*texts, texts[0]]}, True)["note"]) == count


def test_a_text_among_numbers_is_refused_with_its_row():
    for one_hot, way in ((True, ", or empty the cell and set missing='mean'"), (None, "")):
        with pytest.raises(InputError, match=r"^features: .*'soon'.*; correct it" + way + "$"):
            text_levels({"size": ["1", "2", "3", "4", "5", "soon", "7", "8", "9", "10", "11", "12"]}, one_hot)
    assert text_levels({"size": [1.0, 2.0], "age": np.array([1.0])}, False) == {}


# ---- numbers --------------------------------------------------------------------------------------------------------


def test_numbers_are_floats_and_none_is_nan():
    for values in ([1, None, 2.5], pl.Series([1.0, None, 2.5]), np.array([1.0, np.nan, 2.5])):
        assert_array_equal(numbers(values, "x", None), [1.0, np.nan, 2.5])
        assert numbers(values, "x", None).dtype == np.float64
    assert numbers(pl.Series([True, False]), "x", None).tolist() == [1.0, 0.0]
    assert numbers(pl.Series(["1.5", "2"]), "x", None).tolist() == [1.5, 2.0]


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ([1.0, "soon"], "'x' is 'soon' for 'q'; it must be a number"), ([[1], 2.0], r"'x' is \[1\] for 'p'"),
        ([1.0, np.complex64(1j)], "'x' is .* for 'q'; it must be a number"),
        ([10**400, 1.0], "for 'p'; it must be a number"),
        ([1.0, -np.inf], "'x' is -inf for 'q'; it must be finite"), (np.array([np.inf, 1.0]), "'x' is inf for 'p'"),
        ([None, "1 0"], "'x' is '1 0' for 'q'"),
    ],
    ids=str,
)  # fmt: skip
def test_what_is_no_number_is_named_with_its_item(values, said):
    with pytest.raises(InputError, match=said):
        numbers(values, "x", ["p", "q"])


def test_columns_that_hold_no_numbers_are_refused_by_their_kind():
    import datetime as dt

    with pytest.raises(InputError, match="column 'x' holds Date; a feature is a number"):
        numbers(pl.Series([dt.date(2024, 1, 1)]), "x", None)
    with pytest.raises(InputError, match="'x' is 'two' for row 2; it must be a number"):
        numbers(pl.Series(["1", "two"]), "x", None)
    assert (row_name(None, 0), row_name(["p", "q"], 1)) == ("row 1", "'q'")
    assert few(range(4)) == "0, 1, 2, 3"
    assert few(range(6)) == "0, 1, 2, 3 and 2 more"
    assert few("abc", 2) == "'a', 'b' and 1 more"


def test_sparse_values_are_finite_numbers():
    table = np.zeros((3, 2))
    table[2, 1] = np.nan
    for labels, where in ((ITEMS, "'c'"), (None, "row 3")):
        with pytest.raises(InputError, match=f"features: 'q' is nan for {where}; it must be finite"):
            checked_sparse(sparse.csr_array(table), ("p", "q"), labels)
    with pytest.raises(InputError, match=r"a sparse table of numbers is expected .they are complex128"):
        checked_sparse(sparse.csr_array(np.array([[1j]])), ("p",), None)
    unsound = sparse.csr_array(np.eye(2))
    unsound.indices[0] = 9
    with pytest.raises(InputError, match="features is a sparse table whose arrays do not fit together"):
        checked_sparse(unsound, ("p", "q"), None)


# ---- later tables ---------------------------------------------------------------------------------------------------


def spec_of(**more):
    return read_features(frame(kind=["x", "y", "x"]), ITEMS, one_hot=True, **more)[2]


def test_a_later_table_is_read_as_the_first_was():
    spec = spec_of()
    later = pl.DataFrame({"kind": ["y", "x"], "extra": [0, 0], "age": [5, 6], "size": [7, 8]})
    assert spec.read(later).tolist() == [[7.0, 5.0, 1.0], [8.0, 6.0, 0.0]]
    assert spec.read({"n": {"kind": "y", "age": 5, "size": 7}}).tolist() == [[7.0, 5.0, 1.0]]
    with pytest.raises(InputError, match="features: no column 'age'; the model was fitted with 'size', 'age', 'kind'"):
        spec.read(later.drop("age"))
    with pytest.raises(InputError, match="features: 'kind' is 'w' for row 1; the model knows 'x', 'y'"):
        spec.read(later.with_columns(kind=pl.lit("w")))
    with pytest.raises(InputError, match=r"features: 'size' is missing for row 2; fill it in$"):
        spec.read(later.with_columns(size=pl.Series([1.0, None])))
    holes = spec_of(missing="mean").read(later.with_columns(size=pl.Series([1.0, None])))
    assert holes[:, 0].tolist() == [1.0, 2.0]


def test_a_later_array_has_the_columns_in_their_order():
    spec = FeatureSpec(("size", "age"), ("size", "age"))
    assert spec.read(np.array([[1, 2]])).tolist() == [[1.0, 2.0]]
    with pytest.raises(InputError, match="features: 3 columns; the model was fitted with 2"):
        spec.read(np.zeros((1, 3)))
    sparse_one = spec.read(sparse.csr_array(np.array([[1.0, 0.0]])))
    assert is_sparse(sparse_one)
    assert sparse_one.toarray().tolist() == [[1.0, 0.0]]
    with pytest.raises(InputError, match=r"a sparse table of shape \(1, 3\); the model was fitted with 2 columns"):
        spec.read(sparse.csr_array((1, 3)))
    with pytest.raises(InputError, match="'age' is nan for row 1"):
        spec.read(sparse.csr_array(np.array([[0.0, np.nan]])))
    assert FeatureSpec((), ()).read(pl.DataFrame({"x": [1, 2]})).shape[1] == 0


def test_rows_of_items_in_a_later_table():
    spec = spec_of()
    labels, matrix = spec.read_of(frame(kind=["y", "y", "x"]).reverse(), ITEMS, None)
    assert labels == ITEMS
    assert matrix.tolist() == [[2.0, 20.0, 1.0], [1.0, 10.0, 1.0], [3.0, 30.0, 0.0]]
    plain = FeatureSpec(("x1", "x2"), ("x1", "x2"))
    assert plain.read_of(np.array(WANTED), ITEMS, None)[1].tolist() == WANTED
    assert plain.read_of(sparse.csr_array(np.array(WANTED)), ITEMS, None)[0] == ITEMS
    for source in (np.zeros((2, 2)), sparse.csr_array((2, 2))):
        with pytest.raises(InputError, match="features have 2 rows, the votes 3 items"):
            plain.read_of(source, ITEMS, None)
    with pytest.raises(InputError, match="features: no column 'kind'; the model was fitted with"):
        spec.read_of(frame(), ITEMS, None)
    with pytest.raises(InputError, match="no row for 'q'"):
        spec.read_of(frame(kind=["y", "y", "x"]), (*ITEMS, "q"), "item")
    with pytest.warns(DataWarning, match="no row for 1 of 4"):
        _, matrix = spec_of(missing="mean").read_of(frame(kind=["y", "y", "x"]), (*ITEMS, "q"), "item")
    assert matrix[3].tolist() == pytest.approx([2.0, 20.0, 1 / 3])


# ---- how far features count -----------------------------------------------------------------------------------------


def test_row_weights_are_a_column_or_listed_by_item():
    labels, matrix, spec = read_features(frame(trust=[0.5, 1.0, 0.0]), ITEMS, missing="mean")
    rest, shorter, weights = read_row_weights("age", labels, matrix, spec)
    assert weights.tolist() == [20.0, 10.0, 30.0]
    assert (shorter.names, shorter.columns) == (("size", "trust"), ("size", "trust"))
    assert shorter.means.tolist() == [2.0, 0.5]
    assert rest.tolist() == [[2.0, 1.0], [1.0, 0.5], [3.0, 0.0]]
    same, unchanged, weights = read_row_weights({"a": 0.25, "stranger": 9}, labels, matrix, spec)
    assert same is matrix
    assert unchanged is spec
    assert weights.tolist() == [1.0, 0.25, 1.0]
    assert read_row_weights(None, labels, matrix, spec) == (matrix, spec, None)
    assert read_row_weights({}, labels, matrix, spec)[2].tolist() == [1.0] * 3
    texts = read_features(frame(trust=[0.5, 1.0, 0.0], kind=["x", "y", "x"]), ITEMS, one_hot=True)
    _, left, _ = read_row_weights("trust", *texts)
    assert (left.columns, left.names, left.means) == (("size", "age", "kind"), ("size", "age", "kind=y"), None)
    assert left.levels == {"kind": ("x", "y")}
    thin = sparse.csr_array(matrix)
    table, _, weights = read_row_weights("trust", labels, thin, spec)
    assert weights.tolist() == [1.0, 0.5, 0.0]
    assert table.toarray().tolist() == matrix[:, :2].tolist()


def test_row_weights_that_cannot_be_are_refused():
    labels, matrix, spec = read_features(frame(kind=["x", "y", "x"]), ITEMS, one_hot=True)
    for source, said in (
        ("weight", "row_weights='weight': no column of numbers of that name; there are 'size', 'age', 'kind=y'"),
        ({"a": -1.0}, "the row weight of 'a' is -1; it must be a finite number from 0 up"),
        ({"c": np.inf}, "the row weight of 'c' is inf"),
        ({"a": "much"}, "the row weight of 'a' is 'much'; it must be a"),
        ({"q": 1.0}, r"row weights: none of 'q' is among the items \('b', 'a', 'c'\)"),
    ):  # fmt: skip
        with pytest.raises(InputError, match=said):
            read_row_weights(source, labels, matrix, spec)
    only = read_features(frame().select("item", "size"), ITEMS)
    with pytest.raises(InputError, match="row_weights='size': there is no other column to be a feature"):
        read_row_weights("size", *only)
    with pytest.raises(InputError, match="is about features, which are not given; drop it"):
        read_row_weights({"a": 1.0}, ITEMS, np.empty((3, 0)), FeatureSpec((), ()))
