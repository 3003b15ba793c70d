"""Relevance and scores in every shape are the same rows, and what is no table is refused where it stands."""

import numpy as np
import pytest
from scipy import sparse

from podium.errors import InputError
from podium.metrics import check_family, ranking_report

RELEVANCE = np.array([[1, 0, 1, 0], [0, 0, 0, 1], [0, 0, 0, 0], [1, 1, 0, 1]])
SCORES = np.array([[0.1, 0.5, 0.2, 0.2], [3.0, -1.0, 0.0, 2.0], [1.0, 2.0, 3.0, 4.0], [0.5, 0.25, 0.5, 0.75]])


def in_two_parts(dense):
    """Each relevance stored as two halves of it, which add up."""
    whole = sparse.csr_array(dense.astype(float))
    halves = np.repeat(whole.data / 2, 2), np.repeat(whole.indices, 2), 2 * whole.indptr
    return sparse.csr_array(halves, shape=dense.shape)


def with_zeros(dense):
    """Every label stored, also the irrelevant ones."""
    n, width = dense.shape
    return sparse.csr_array((dense.ravel().astype(float), np.tile(np.arange(width), n), np.arange(n + 1) * width))


FORMS = {
    "lists": lambda y: y.tolist(),
    "bool": lambda y: y.astype(bool),
    **{
        kind: lambda y, kind=kind: y.astype(kind) for kind in ("int8", "uint8", "int32", "uint64", "float32", "float16")
    },
    "column by column": np.asfortranarray,
    "csr": sparse.csr_array,
    "coo": sparse.coo_array,
    "in two parts": in_two_parts,
    "with zeros": with_zeros,
}


def values(*tables, **options):
    return {
        name: each.tolist() for name, each in ranking_report(*tables, at=(1, 3), kind="gain", **options).per_row.items()
    }


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_relevance_is_the_same_rows(form):
    expected = values(RELEVANCE.astype(float), SCORES)
    relevance = FORMS[form](RELEVANCE)
    before = relevance.copy() if sparse.issparse(relevance) else None
    assert values(relevance, SCORES) == expected
    if before is not None:
        assert relevance.nnz == before.nnz  # what came in stays as it was


def test_rows_of_their_own_lengths_are_groups_or_lists():
    relevance = [[1, 0], [0, 0, 1, 1], [1]]
    scores = [[0.3, 0.4], [0.1, 0.2, 0.3, 0.0], [5.0]]
    flat = [np.concatenate(each).astype(float) for each in (relevance, scores)]
    one_by_one = [values([y], [s], clip=True) for y, s in zip(relevance, scores, strict=True)]
    names = ["rr", "ap", "auc", "prec@1"]
    for found in (values(relevance, scores), values(*flat, group=[2, 4, 1])):
        assert {name: found[name] for name in names} == {name: [each[name][0] for each in one_by_one] for name in names}


def test_a_stored_score_is_ranked_and_one_that_is_not_stored_is_not_retrieved():
    stored = sparse.csr_array((np.array([2.0, 1.0, 0.0]), np.array([2, 0, 1]), np.array([0, 2, 3])), shape=(2, 3))
    found = ranking_report(np.array([[1, 1, 0], [0, 1, 1]]), stored, metrics=["recall@3", "rr"], kind="gain")
    assert found.per_row["recall@3"].tolist() == [0.5, 0.5]  # label 2 of row 1 and label 3 of row 2 are not retrieved
    assert found.per_row["rr"].tolist() == [0.5, 1.0]  # label 3 comes before label 1; a score of 0 is a score


@pytest.mark.parametrize(
    ("relevance", "scores", "group", "message"),
    [
        ([[1, 0]], [[1.0]], None, r"relevance is of shape \(1, 2\) but scores is of shape \(1, 1\)"),
        ([1, 0], [1.0, 2.0], None, r"both must be \(examples, labels\)"),
        (np.zeros((0, 3)), np.zeros((0, 3)), None, r"nothing to rank: scores is of shape \(0, 3\)"),
        (np.zeros((2, 0)), np.zeros((2, 0)), None, r"nothing to rank: scores is of shape \(2, 0\)"),
        ([[1], [1, 0]], [[1.0], [2.0]], None, "row 2: 2 relevance values but 1 score;"),
        ([[1], [1, 0]], [[1.0], [2.0, 3.0], [1.0]], None, "relevance is a list of 2 lists, scores is a list"),
        ([[1], [1, 0]], np.ones((2, 2)), None, r"scores is of shape \(2, 2\); pass one list of scores"),
        ([1, 0], [[1.0, 2.0]], [2], "with `group`, relevance and scores are flat and equally long"),
        ([1, 0], [1.0, 2.0, 3.0], [2], r"got of shape \(2,\) and of shape \(3,\)"),
        ([1, 0], [1.0, 2.0], [1.0, 1.0], "whole numbers from 0"),
        ([1, 0], [1.0, 2.0], [[2]], "whole numbers from 0"),
        ([1, 0], [1.0, 2.0], [3, -1], "whole numbers from 0"),
        ([1, 0], [1.0, 2.0], [1, 2], "`group` adds up to 3 documents for 2 scores"),
        ([1, 0], [1.0, np.nan], [0, 1, 1], "query 3, document 1: the score is NaN"),
        ([1, 0, 1], [1.0, 2.0, np.nan], [1, 2], "query 2, document 2: the score is NaN"),
        ([[1, 0], [0, 1]], [[1.0, 2.0], [np.nan, 1.0]], None, "row 2, label 1: the score is NaN"),
        ([[1, 0], [0, -1]], np.ones((2, 2)), None, "row 2, label 2: relevance -1 is not a number from 0 up"),
        ([[1, 0], [np.nan, 1]], np.ones((2, 2)), None, "row 2, label 1: relevance nan"),
        ([[1, 0], [0, np.inf]], np.ones((2, 2)), None, "row 2, label 2: relevance inf"),
        ([1, 0, -2.0], np.ones(3), [1, 2], "query 2, document 2: relevance -2"),
        (np.eye(2), sparse.csr_array(np.ones((2, 3))), None, r"but scores is of shape \(2, 3\); both must be \(q"),
        (np.eye(2), sparse.csr_array([[1.0, 2.0], [0.0, np.nan]]), None, "row 2, label 2: the score is NaN"),
        ([[1, 0], [0, 1]], [[1.0], [1.0, 2.0]], None, "scores is not a table"),
        ([["a", "b"]], [[1.0, 2.0]], None, "relevance holds .* values; numbers are needed"),
        ([[1, 0]], [["a", "b"]], None, "scores holds .* values; numbers are needed"),
    ],
)  # fmt: skip
def test_what_is_no_table_is_refused_where_it_stands(relevance, scores, group, message):
    with pytest.raises(InputError, match=message):
        ranking_report(relevance, scores, group=group)


def test_a_relevance_too_fine_for_powers_of_two_is_named_with_its_row():
    tables = [[1, 0], [0, 0], [2.5, 1]], np.ones((3, 2))
    with pytest.raises(InputError, match=r"row 3: relevance 2\.5, but 2\^y - 1"):
        ranking_report(*tables, metrics=["ndcg"])
    with pytest.raises(InputError, match="row 2: relevance 1001"):
        ranking_report([[1000, 1], [1, 1001]], np.ones((2, 2)), metrics=["dcg@1"])
    ranking_report(*tables, metrics=["ndcg"], gain="linear")


def test_brute_force_has_its_limit():
    with pytest.raises(InputError, match="K=6: brute force covers 2 to 5 labels"):
        check_family("rr", K=6)
    assert check_family("prec@1", K=2)["prec@1"]
