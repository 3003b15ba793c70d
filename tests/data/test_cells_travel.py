"""Tables of all pairs on their way to another process: narrow cells, the same numbers."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from podium.data.tables.cells import Cells


@pytest.mark.parametrize("read_only", [False, True])
@pytest.mark.parametrize("count", [0, 1, 255, 256, 65_535, 65_536, 2**32 - 1, 2**32, 2**40])
def test_a_table_travels_narrow_and_arrives_as_it_was(count, read_only):
    table = Cells(outcomes=True)
    table.make_room(5, 100)
    piece = {"left": np.array([0], np.int32), "right": np.array([3], np.int32), "outcome": np.array([1], np.int8)}
    table.add(piece | {"count": np.array([count], np.int64)})
    buffers = []
    data = pickle.dumps(table, protocol=5, buffer_callback=buffers.append)
    there = pickle.loads(data, buffers=[bytes(buffer.raw()) for buffer in buffers] if read_only else buffers)
    assert there.cells.dtype == np.min_scalar_type(count)
    assert (there.n, there.bound, there.outcomes) == (table.n, table.bound, table.outcomes)
    assert_array_equal(there.cells, table.cells)
    for name, rows in table.rows().items():
        assert_array_equal(there.rows()[name], rows)
    total = Cells(outcomes=True)
    total.make_room(6, 100)
    total.unite(there, np.array([5, 4, 3, 2, 1], np.int32))
    assert total.cells[5, 2, 2] == total.cells.sum() == count
    more = {"left": piece["left"], "right": piece["right"], "outcome": piece["outcome"]}
    there.add(more)
    table.add(more)
    assert_array_equal(there.cells, table.cells)
    assert there.cells.dtype == table.cells.dtype


def test_few_votes_a_cell_take_a_byte_each():
    table = Cells(outcomes=True)
    table.make_room(100, 1000)
    table.add({"left": np.array([1], np.int32), "right": np.array([2], np.int32), "outcome": np.array([0], np.int8)})
    assert len(pickle.dumps(table)) < 3 * 100 * 100 + 2000


def test_a_narrow_table_grows_and_folds_as_a_wide_one():
    tables = [Cells(outcomes=True), Cells(outcomes=True)]
    for table in tables:
        table.make_room(3, 100)
        table.add(
            {
                name: np.array(codes, dtype)
                for name, codes, dtype in (
                    ("left", [0, 2, 2], np.int32),
                    ("right", [1, 0, 0], np.int32),
                    ("outcome", [1, -1, 0], np.int8),
                )
            }
        )
    tables[1] = pickle.loads(pickle.dumps(tables[1]))
    for table in tables:
        table.make_room(7, 100)
    one, other = (table.rows(fold=True) for table in tables)
    assert one["left"].tolist() == [0, 0, 0]
    assert one["right"].tolist() == [1, 2, 2]
    assert one["outcome"].tolist() == [1, 0, 1]
    for name, rows in one.items():
        assert_array_equal(other[name], rows)
