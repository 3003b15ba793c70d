"""Rows as they are read: every field of them, from each form, and refusals that count rows from 1."""

import numpy as np
import pytest
from scipy import sparse

from podium.errors import InputError
from podium.metrics import ranking_gain, ranking_report
from podium.metrics.rows import is_ragged, read_rows

Y = np.array([[0.0, 2.0, 0.0, 1.0], [0.0, 0.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0]])
S = np.array([[4.0, 3.0, 2.0, 1.0], [1.0, 1.0, 1.0, 1.0], [0.0, 0.5, -1.0, 2.0]])
WAYS = {
    "table": (Y, S),
    "lists": (Y.tolist(), S.tolist()),
    "sparse relevance": (sparse.csr_array(Y), S),
    "groups": (Y.ravel(), S.ravel(), [4, 4, 4]),
}


@pytest.mark.parametrize("way", WAYS)
def test_each_field_of_the_rows(way):
    rows = read_rows(*WAYS[way])
    assert len(rows) == 3
    assert rows.scores.tolist() == S.ravel().tolist()
    assert rows.offsets.tolist() == [0, 4, 8, 12]
    assert rows.width == 4
    assert rows.starts.tolist() == [0, 2, 2, 3]
    assert rows.position.tolist() == [1, 3, 0]
    assert rows.value.tolist() == [2.0, 1.0, 1.0]
    assert (rows.top, rows.whole, rows.is_binary) == (2.0, True, False)


def test_rows_of_unlike_lengths_have_no_width():
    for rows in (
        read_rows([[0, 1], [], [1, 0, 1]], [[1.0, 2.0], [], [3.0, 4.0, 5.0]]),
        read_rows(np.array([0, 1, 1, 0, 1]), np.arange(1.0, 6.0), np.array([2, 0, 3])),
    ):
        assert rows.width is None
        assert rows.offsets.tolist() == [0, 2, 2, 5]
        assert rows.starts.tolist() == [0, 1, 1, 3]
        assert rows.position.tolist() == [1, 0, 2]
        assert rows.is_binary


def test_a_row_of_sparse_scores_ranks_what_is_stored():
    stored = sparse.csr_array(([5.0, 7.0, 6.0], [3, 0, 2], [0, 2, 2, 3]), shape=(3, 4))  # the first row not in order
    rows = read_rows(np.array([[1, 1, 0, 1], [1, 0, 0, 0], [0, 0, 3, 1]]), stored)
    assert rows.width is None
    assert rows.scores.tolist() == [7.0, 5.0, 6.0]
    assert rows.offsets.tolist() == [0, 2, 2, 3]
    assert rows.starts.tolist() == [0, 3, 4, 6]
    assert rows.position.tolist() == [0, -1, 1, -1, 0, -1]
    assert rows.value.tolist() == [1, 1, 1, 1, 3, 1]
    assert (rows.top, rows.whole) == (3.0, True)


def test_what_is_binary_and_what_is_whole():
    for values, top, whole, binary in (
        ([1, 1], 1.0, True, True),
        ([1, 2], 2.0, True, False),
        ([1, 0.5], 1.0, False, False),
        ([2.5, 1], 2.5, False, False),
        ([0.25, 0.5], 0.5, False, False),
        ([0, 0], 1.0, True, True),
    ):
        rows = read_rows([values], [[1.0, 2.0]])
        assert (rows.top, rows.whole, rows.is_binary) == (top, whole, binary)


@pytest.mark.parametrize(("start", "kept"), [(0.5, [1, 3, 0]), (1, [1, 3, 0]), (1.5, [1]), (2, [1]), (2.5, [])])
def test_rows_with_relevance_from_a_start(start, kept):
    rows = read_rows(Y, S).relevant_from(start)
    assert rows.position.tolist() == kept
    assert rows.value.tolist() == [1.0] * len(kept)
    assert (rows.top, rows.whole, rows.is_binary, rows.width) == (1.0, True, True, 4)
    counts = [sum(value >= start for value in row if value) for row in Y.tolist()]
    assert np.diff(rows.starts).tolist() == counts
    assert rows.scores.tolist() == S.ravel().tolist()


@pytest.mark.parametrize("kind", ["float16", "float32", "float64"])
def test_fractions_of_relevance_stay_fractions(kind):
    found = ranking_report(np.array([[0.5, 1.5, 0]], dtype=kind), [[2.0, 1.0, 3.0]], metrics=["prec@2"])
    assert found["prec@2"] == 2.0 - 0.5


@pytest.mark.parametrize("kind", ["int16", "uint16", "uint32", "uint64"])
def test_whole_numbers_of_any_width_are_relevance_and_scores(kind):
    found = ranking_report(np.array([[0, 200, 0]], dtype=kind), np.array([[3, 2, 1]], dtype=kind), metrics=["prec@1"])
    assert found["prec@1"] == 200.0


@pytest.mark.parametrize("kind", ["float32", "float64"])
def test_scores_keep_their_width(kind):
    assert read_rows(Y, S.astype(kind)).scores.dtype == kind
    assert read_rows(Y, S.astype(int)).scores.dtype == np.float64
    assert read_rows(Y, np.asfortranarray(S.astype(kind))).scores.tolist() == S.ravel().tolist()


def test_lists_are_ragged_where_their_lengths_differ():
    assert is_ragged([[1], [1, 2]])
    assert is_ragged([np.ones(1), (1, 2)])
    assert not is_ragged([[1, 2], [3, 4]])
    assert not is_ragged([1, 2])
    assert not is_ragged([[1], 2])
    assert not is_ragged(np.ones((2, 2)))
    assert not is_ragged([np.array(1.0), [1, 2]])  # a number in an array of its own is no list
    assert not is_ragged({"a": [1], "b": [1, 2]})


NAN = float("nan")


@pytest.mark.parametrize(
    ("relevance", "scores", "group", "says"),
    [
        ([[1], [1, "x"]], [[1.0], [2.0, 3.0]], None, "^row 2: numbers are expected"),
        ([[1], [1, 0]], [["x"], [2.0, 3.0]], None, "^row 1: numbers are expected"),
        ([[1], [[1, 2], [3, 4]]], [[1.0], [2.0, 3.0]], None, r"^row 2: shape \(2, 2\) is given; it must be \(any\)$"),
        ([[1], [1, 0]], [1.0, 2.0], None, "^relevance is a list of 2 lists, scores is a list; pass one list of scores"),
        ([[1, 0], [1]], [[1.0, 2.0], []], None, "^row 2: 1 relevance value but 0 scores; they must pair up$"),
        ([[1, 0], [1]], [[1.0, 2.0], [NAN]], None, "^query 2, document 1: the score is NaN; give every label a score"),
        ([1, 1], [1.0, 2.0], [0, 1], "^`group` adds up to 1 document for 2 scores; they must pair up$"),
        ([1], [1.0], [2], "^`group` adds up to 2 documents for 1 score; they must pair up$"),
        ([], [], np.array([], dtype=int), "^`group` is empty, so there are no queries; give the number of documents"),
        ([1, -1], [1.0, 2.0], [0, 0, 2], "^query 3, document 2: relevance -1 is not a number from 0 up; 0 means"),
        ([0, -1], [1.0, 2.0], [1, 1], "^query 2, document 1: relevance -1 "),
        ([[0, 1, 0], [0, 0, -3]], np.ones((2, 3)), None, "^row 2, label 3: relevance -3 "),
        (sparse.csr_array([[0, 1, 0], [0, NAN, 3]]), np.ones((2, 3)), None, "^row 2, label 2: relevance nan "),
        ([[0, 1, 0], [0, 2, np.inf]], sparse.csr_array(np.ones((2, 3))), None, "^row 2, label 3: relevance inf "),
        ([[1, 0.5], [0, -np.inf]], np.ones((2, 2)), None, "^row 2, label 2: relevance -inf "),
        (np.eye(2), sparse.csr_array(([1.0, NAN], [1, 0], [0, 1, 2])), None, "^row 2, label 1: the score is NaN"),
        (np.eye(3), [[1.0, 2.0, 3.0], [1.0, 2.0, NAN], [NAN] * 3], None, "^row 2, label 3: the score is NaN"),
        (np.ones(3), np.ones(3), None, r"^relevance is of shape \(3,\) but scores is of shape \(3,\); both must be"),
        (np.ones((2, 3)), np.ones((3, 2)), None, r"^relevance is of shape \(2, 3\) but scores is of shape \(3, 2\)"),
        (np.ones((2, 3)), sparse.csr_array((3, 2)), None, r"^relevance is of shape \(2, 3\) but scores is of shape"),
        (np.ones((2, 2)), [[1j, 0], [0, 0]], None, "^scores holds complex128 values; numbers are needed$"),
        (np.ones((2, 2)), np.array([[1, 2]], dtype="M8[D]"), None, "^scores holds datetime64.* values; numbers"),
    ],
)  # fmt: skip
def test_refusals_count_from_1_and_name_the_right_table(relevance, scores, group, says):
    with pytest.raises(InputError, match=says):
        read_rows(relevance, scores, group)


@pytest.mark.parametrize("which", ["relevance", "scores"])
def test_a_sparse_table_that_points_outside_itself_is_refused(which):
    broken = sparse.csr_array(np.eye(2))
    broken.indices[1] = 5
    tables = {"relevance": np.eye(2), "scores": np.eye(2), which: broken}
    with pytest.raises(InputError, match=f"^{which} is a sparse table whose arrays do not fit together"):
        read_rows(tables["relevance"], tables["scores"])


def test_infinite_scores_are_scores():
    assert ranking_gain("rr", [0, 1, 0], [1.0, np.inf, -np.inf]) == 1.0
    assert ranking_gain("rr", [0, 0, 1], [1.0, np.inf, -np.inf]) == pytest.approx(1 / 3)
