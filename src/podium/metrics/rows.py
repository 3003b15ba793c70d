"""Relevance and scores in any shape to one form: flat scores cut into rows, and the relevant labels of each row."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from podium.data.validation import (
    array_of,
    floats_of,
    sound_sparse,
)
from podium.errors import InputError
from podium.kernels.metrics.ranks import count_nonzero, gather_nonzero, summary
from podium.text import counted

__all__ = ["Rows", "is_ragged", "read_rows"]


@dataclass(frozen=True, slots=True)
class Rows:
    """Row i ranks `scores[offsets[i]:offsets[i + 1]]`; its relevant labels are `starts[i]:starts[i + 1]`.

    `position` says where in its row a relevant label stands (-1: relevant, but not ranked), ascending within a row;
    `value` is its relevance, above 0; `top` the largest, `whole` whether all are whole numbers. `width` is the number
    of labels when all rows have the same, else None.
    """

    scores: np.ndarray
    offsets: np.ndarray
    width: int | None
    starts: np.ndarray
    position: np.ndarray
    value: np.ndarray
    top: float
    whole: bool

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def is_binary(self) -> bool:
        return self.whole and self.top <= 1

    def relevant_from(self, threshold: float) -> Rows:
        """The same rows with relevance 1 where it was at least `threshold`, else 0."""
        keep = self.value >= threshold
        kept = np.concatenate([[0], np.cumsum(keep)])
        value = np.ones(int(kept[-1]))
        return Rows(self.scores, self.offsets, self.width, kept[self.starts], self.position[keep], value, 1.0, True)


def read_rows(relevance: Any, scores: Any, group: Any = None) -> Rows:
    """Check relevance and scores once; dense, sparse or ragged, see `ranking_report`."""
    sound_sparse(relevance, "relevance")
    sound_sparse(scores, "scores")
    if group is not None:
        return _from_groups(relevance, scores, group)
    if _is_sparse(scores):
        return _from_runs(relevance, scores)
    if not _is_sparse(relevance) and is_ragged(relevance):
        if not _is_lists(scores) or len(relevance) != len(scores):
            raise InputError(
                f"relevance is a list of {len(relevance)} lists, scores is {_shape(scores)}; "
                "pass one list of scores for each list of relevance"
            )
        for row, (y, s) in enumerate(zip(relevance, scores, strict=True), start=1):
            if len(y) != len(s):
                values, numbers = counted(len(y), "relevance value"), counted(len(s), "score")
                raise InputError(f"row {row}: {values} but {numbers}; they must pair up")
        sizes = [len(y) for y in relevance]
        return _from_groups(_joined(relevance), _joined(scores), sizes)
    return _from_matrix(relevance, scores)


def _from_matrix(relevance: Any, scores: Any) -> Rows:
    s = _floats(scores, "scores")
    y = relevance.tocsr() if _is_sparse(relevance) else _numbers(relevance)
    if s.ndim != 2 or y.shape != s.shape:
        raise InputError(f"relevance is {_shape(y)} but scores is {_shape(s)}; both must be (examples, labels)")
    n, width = s.shape
    if n == 0 or width == 0:
        raise InputError(f"nothing to rank: scores is {_shape(s)}")
    _refuse_nan(s.reshape(-1), lambda at: f"row {at // width + 1}, label {at % width + 1}")
    if _is_sparse(y):
        starts, position, value = _from_csr(y)
    else:
        starts = np.empty(n + 1, dtype=np.int64)
        count_nonzero(y, starts)
        position, value = np.empty(starts[-1], dtype=np.int32), np.empty(starts[-1])
        gather_nonzero(y, starts, position, value)
    top, whole = _check_values(value, starts, position, None)
    return Rows(s.reshape(-1), np.arange(n + 1, dtype=np.int64) * width, width, starts, position, value, top, whole)


def _from_groups(relevance: Any, scores: Any, group: Any) -> Rows:
    s, y = _floats(scores, "scores"), _floats(relevance, "relevance")
    sizes = array_of(group, "group")
    if s.ndim != 1 or y.shape != s.shape:
        raise InputError(
            f"with `group`, relevance and scores are flat and equally long; got {_shape(y)} and {_shape(s)}"
        )
    if sizes.ndim != 1 or sizes.dtype.kind not in "iu" or (sizes.size and sizes.min() < 0):
        raise InputError("`group` holds the number of documents of each query, in order: whole numbers from 0")
    if sizes.size == 0 or sizes.sum() != len(s):
        raise InputError(
            f"`group` adds up to {counted(int(sizes.sum()), 'document')} for {counted(len(s), 'score')}; "
            "they must pair up"
            if sizes.size
            else "`group` is empty, so there are no queries; give the number of documents of each"
        )
    offsets = np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])

    def where(at: int) -> str:
        row = int(np.searchsorted(offsets, at, side="right")) - 1
        return f"query {row + 1}, document {at - int(offsets[row]) + 1}"

    _refuse_nan(s, where)
    flat = np.flatnonzero(y)
    starts = np.searchsorted(flat, offsets)
    position = (flat - np.repeat(offsets[:-1], np.diff(starts))).astype(np.int32)
    value = y[flat].astype(np.float64)
    top, whole = _check_values(value, starts, position, "query")
    width = int(sizes[0]) if sizes.min() == sizes.max() and sizes[0] > 0 else None
    return Rows(s, offsets, width, starts, position, value, top, whole)


def _from_runs(relevance: Any, scores: Any) -> Rows:
    """Sparse scores: a row ranks its stored labels only; other relevant labels were not retrieved."""
    from scipy import sparse

    s = scores.tocsr().sorted_indices()
    y = sparse.csr_array(relevance)
    if s.shape != y.shape:
        raise InputError(f"relevance is {_shape(y)} but scores is {_shape(s)}; both must be (queries, documents)")
    values = _floats(s.data, "scores")
    offsets = s.indptr.astype(np.int64)
    rows = np.repeat(np.arange(s.shape[0]), np.diff(offsets))
    _refuse_nan(values, lambda at: f"row {int(rows[at]) + 1}, label {int(s.indices[at]) + 1}")
    starts, column, value = _from_csr(y)
    top, whole = _check_values(value, starts, column, None)
    ranked = rows * s.shape[1] + s.indices
    wanted = np.repeat(np.arange(y.shape[0]), np.diff(starts)) * y.shape[1] + column
    at = np.searchsorted(ranked, wanted)
    retrieved = np.zeros(len(wanted), dtype=bool)
    inside = at < len(ranked)
    retrieved[inside] = ranked[at[inside]] == wanted[inside]
    position = np.where(retrieved, at - np.repeat(offsets[:-1], np.diff(starts)), -1).astype(np.int32)
    return Rows(values, offsets, None, starts, position, value, top, whole)


def _from_csr(y: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    if not y.has_canonical_format:
        y = y.copy()
        y.sum_duplicates()
    starts, position, value = y.indptr.astype(np.int64), y.indices.astype(np.int32, copy=False), y.data
    if len(value) and not value.all():
        y = y.copy()
        y.eliminate_zeros()
        starts, position, value = y.indptr.astype(np.int64), y.indices.astype(np.int32, copy=False), y.data
    return starts, position, np.ascontiguousarray(value, dtype=np.float64)


def _check_values(
    value: np.ndarray, starts: np.ndarray, position: np.ndarray, row_word: str | None
) -> tuple[float, bool]:
    """The largest value, and whether all are whole; refuses what is not a relevance."""
    if value.size == 0:
        return 1.0, True
    extremes = np.empty(3)
    summary(value, extremes)
    low, top, whole = extremes.tolist()
    if whole and low > 0:
        return top, True
    if low > 0 and math.isfinite(top) and not np.isnan(value.min()):
        return top, bool((value == np.floor(value)).all())
    at = int(np.flatnonzero(~((value > 0) & np.isfinite(value)))[0])
    row = int(np.searchsorted(starts, at, side="right"))
    where = f"query {row}, document" if row_word else f"row {row}, label"
    raise InputError(
        f"{where} {int(position[at]) + 1}: relevance {value[at]:g} is not a number from 0 up; "
        "0 means irrelevant, larger means better"
    )


def _refuse_nan(scores: np.ndarray, where: Any) -> None:
    if scores.size and math.isnan(scores.min()):  # min carries NaN and reads the scores once
        at = int(np.flatnonzero(np.isnan(scores))[0])
        raise InputError(f"{where(at)}: the score is NaN; give every label a score, or leave the row out")


def _floats(values: Any, name: str) -> np.ndarray:
    array = _array(values, name)
    if array.dtype not in (np.float32, np.float64):
        array = array.astype(np.float64)
    return np.ascontiguousarray(array)


def _numbers(values: Any) -> np.ndarray:
    array = _array(values, "relevance")
    if array.dtype == bool:
        array = array.view(np.int8)
    if array.dtype not in (np.int8, np.int32, np.int64, np.float32, np.float64):
        array = array.astype(np.int64 if array.dtype.kind in "iu" else np.float64)
    return np.ascontiguousarray(array)


def _array(values: Any, name: str) -> np.ndarray:
    try:
        array = np.asarray(values)
    except ValueError as problem:
        raise InputError(f"{name} is not a table: {problem}") from problem
    if array.dtype.kind not in "biuf":
        raise InputError(f"{name} holds {array.dtype} values; numbers are needed")
    return array


def _is_sparse(values: Any) -> bool:
    return hasattr(values, "tocsr")


def is_ragged(values: Any) -> bool:
    """True for a list of lists that do not all have the same length."""
    return _is_lists(values) and len({len(each) for each in values}) > 1


def _is_lists(values: Any) -> bool:
    if isinstance(values, np.ndarray) or not isinstance(values, Sequence):
        return False
    return all(isinstance(each, Sequence) or (isinstance(each, np.ndarray) and each.ndim) for each in values)


def _joined(lists: Any) -> np.ndarray:
    return np.concatenate([floats_of(f"row {row}", each, (None,)) for row, each in enumerate(lists, start=1)])


def _shape(values: Any) -> str:
    shape = getattr(values, "shape", None)
    return f"of shape {tuple(shape)}" if shape is not None else f"a {type(values).__name__}"
