"""Corners of reading: new items' features, copies of rankings, options that name a column which is not read."""

import types

import numpy as np
import pytest
from scipy import sparse

from podium import Comparisons, read_comparisons, read_rankings
from podium.data.features.reading import FeatureSpec
from podium.data.tables import batch
from podium.data.tables.batch import Batch
from podium.errors import InputError


def test_a_sparse_table_of_new_items_has_as_many_columns_as_the_model():
    spec = FeatureSpec(("x1", "x2"), ("x1", "x2"))
    table = sparse.csr_array(np.array([[1.0, 0.0], [0.0, 2.0]]))
    assert spec.read(table).toarray().tolist() == [[1.0, 0.0], [0.0, 2.0]]
    with pytest.raises(InputError, match=r"a sparse table of shape \(2, 3\); the model was fitted with 2 columns"):
        spec.read(sparse.csr_array(np.ones((2, 3))))
    with pytest.raises(InputError, match=r"a sparse table of shape \(2,\); the model was fitted with 2 columns"):
        spec.read(sparse.coo_array(np.ones(2)))
    assert spec.read(np.ones((3, 2))).shape == (3, 2)
    with pytest.raises(InputError, match="3 columns; the model was fitted with 2"):
        spec.read(np.ones((2, 3)))
    with pytest.raises(InputError, match="no column 'x2'; the model was fitted with 'x1', 'x2'"):
        spec.read({"x1": [1.0]})


@pytest.mark.parametrize(("pairs", "row"), [([5, 5], None), ([5, 6], 1), ([10, 1], 1), ([11, 1], 0)])
def test_copies_of_rankings_have_an_end(pairs, row, monkeypatch):
    monkeypatch.setattr(batch, "MAX_PAIRS", 20)
    seen = types.SimpleNamespace(pairs=0.0)
    failed = []

    def fail(where, what):
        failed.append(where)
        raise InputError(what)

    reader = types.SimpleNamespace(seen=seen, layout=types.SimpleNamespace(count="n"), fail=fail)
    if row is None:
        Batch.refuse_many(reader, np.array(pairs), np.array([2, 2]))
        assert seen.pairs == 20
        reader.layout.count = None
        Batch.refuse_many(reader, np.array(pairs), np.array([2, 2]))
        assert seen.pairs == 40
        Batch.refuse_many(reader, np.zeros(0, int), np.zeros(0, int))
        assert seen.pairs == 40
        return
    with pytest.raises(InputError, match="more than 20, and each copy is kept; divide all counts by one number"):
        Batch.refuse_many(reader, np.array(pairs), np.array([2, 2]))
    assert failed == [row]


@pytest.fixture
def table(tmp_path):
    def written(name, text):
        path = tmp_path / name
        path.write_text(text)
        return path

    return written


def test_an_option_that_names_a_column_which_is_not_read_is_refused(table):
    long = table("long.csv", "who,item,rank,left\np,a,1,a\np,b,2,a\nq,a,2,b\nq,b,1,b\n")
    assert len(read_rankings(long, judge="who", item="item", rank="rank")) == 2
    with pytest.raises(InputError, match="left"):
        read_comparisons(long, judge="who", item="item", rank="rank", left="left")
    wide = table("wide.csv", "a,b,c,item\n1,2,3,x\n2,1,3,y\n")
    assert read_rankings(wide, rank_columns=["a", "b", "c"]).items == ("a", "b", "c")
    with pytest.raises(InputError, match="item"):
        read_rankings(wide, rank_columns=["a", "b", "c"], item="item")
    with pytest.raises(InputError, match="rank_columns= names one item, 'a'; a ranking needs at least two"):
        read_rankings(wide, rank_columns=["a"])
    with pytest.raises(InputError, match="left"):
        Comparisons.from_frame({"winner": ["a"], "loser": ["b"], "x": ["c"]}, winner="winner", loser="loser", left="x")
