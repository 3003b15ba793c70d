"""Tables of all pairs on their way to another process: narrow cells, the same numbers."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from podium.data.tables.cells import Cells


@pytest.mark.parametrize("count", [0, 1, 255, 256, 65_535, 65_536, 2**32 - 1, 2**32, 2**40])
def test_a_table_travels_narrow_and_arrives_as_it_was(count):
    table = Cells(outcomes=True)
    table.make_room(5, 100)
    piece = {"left": np.array([0], np.int32), "right": np.array([3], np.int32), "outcome": np.array([1], np.int8)}
    table.add(piece | {"count": np.array([count], np.int64)})
    data = pickle.dumps(table)
    there = pickle.loads(data)
    assert there.cells.dtype == table.cells.dtype
    assert there.cells.flags.writeable
    assert (there.n, there.bound, there.outcomes) == (table.n, table.bound, table.outcomes)
    assert_array_equal(there.cells, table.cells)
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
