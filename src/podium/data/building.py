"""Whatever votes come as, turned into the checked columns that `Comparisons` holds."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from podium.data.tables.labels import encode, encode_pair, is_missing, is_text, warn_of_look_alikes
from podium.data.tables.times import given_times
from podium.data.validation import (
    code_column,
    count_column,
    covariate_table,
    distinct_labels,
    is_pair,
    members,
    non_negative_column,
    number_column,
    outcome_column,
    time_column,
    union_of_labels,
)
from podium.errors import InputError, Option
from podium.text import counted

if TYPE_CHECKING:
    from podium.data.comparisons import Comparisons

__all__ = ["array_columns", "checked_columns", "joined_columns", "pair_columns", "squared_weights"]

Columns = dict[str, Any]


def checked_columns(votes: Comparisons) -> Columns:
    """Every field of what was given to the constructor, as the kernels take it; else an `InputError`."""
    items = _item_labels(votes.items)
    left, right = code_column(votes.left, "left"), code_column(votes.right, "right")
    if len(left) != len(right):
        raise InputError(f"left has {counted(len(left), 'row')}, right {len(right)}; they must match")
    if left.dtype != right.dtype:
        left, right = left.astype(np.int64), right.astype(np.int64)
    columns: Columns = {"items": items, "left": left, "right": right}
    rows = len(left)
    if votes.outcome is not None:
        columns["outcome"] = outcome_column(votes.outcome, rows)
    if votes.count is not None:
        columns["count"] = count_column(votes.count, rows)
    for name, beside in (("weight", None), ("weight_sq", "weight"), ("margin", None), ("margin_ss", "margin")):
        values = getattr(votes, name)
        if values is not None:
            if beside is not None and getattr(votes, beside) is None:
                raise InputError(f"{name} is given without {beside}; give both, or neither")
            columns[name] = non_negative_column(values, name, rows, -np.inf if name == "margin" else 0.0)
    return columns | _checked_labels(votes, rows) | _checked_covariates(votes, rows)


def _checked_labels(votes: Comparisons, rows: int) -> Columns:
    columns: Columns = {}
    for name, codes, labels in (("judge", votes.judge, votes.judges), ("group", votes.group, votes.groups)):
        columns[f"{name}s"] = tuple(distinct_labels(labels, f"{name}s"))
        if codes is not None:
            columns[name] = members(codes, columns[f"{name}s"], name, rows)
        elif columns[f"{name}s"]:
            raise InputError(
                f"{name}s are listed and no row has one; give ", Option(name, column=True), " too, their codes"
            )
    if not isinstance(votes.group_is, str) or votes.group_is not in ("group", "ranking"):
        raise InputError(f"group_is is {votes.group_is!r}; choose 'group' or 'ranking'")
    if not isinstance(votes.vote_is, str) or votes.vote_is not in ("vote", "game"):
        raise InputError(f"vote_is is {votes.vote_is!r}; choose 'vote' or 'game'")
    if votes.time is not None:
        columns["time"] = time_column(votes.time, rows)
    if votes.time_is not in ("number", "date"):
        raise InputError(f"time_is is {votes.time_is!r}; choose 'number' or 'date'")
    for name in ("sided", "ordered"):
        flag = getattr(votes, name)
        if not isinstance(flag, bool | np.bool_):
            raise InputError(f"{name} is {flag!r}; give True or False")
        columns[name] = bool(flag)
    return columns


def _checked_covariates(votes: Comparisons, rows: int) -> Columns:
    names = distinct_labels(votes.covariate_names, "covariate_names")
    if not all(isinstance(name, str) for name in names):
        raise InputError(f"covariate_names are {votes.covariate_names!r}; give a name in text for each column")
    if votes.covariates is None:
        if names:
            raise InputError("covariate_names are given without covariates; give both, or neither")
        return {"covariate_names": ()}
    table, numbered = covariate_table(votes.covariates, rows)
    if names and len(names) != len(numbered):
        raise InputError(
            f"covariates have {counted(len(numbered), 'column')} and covariate_names {len(names)}; name each"
        )
    return {"covariates": table, "covariate_names": tuple(names) or numbered}


def pair_columns(pairs: Iterable[tuple[Hashable, Hashable]]) -> Columns:
    """Columns of (winner, loser) pairs."""
    rows = list(_column("pairs", pairs))
    for row, pair in enumerate(rows, start=1):
        if not is_pair(pair):
            raise InputError(f"row {row}: {pair!r} is not a (winner, loser) pair")
    winner, loser = zip(*rows, strict=True) if rows else ((), ())
    return array_columns(winner, loser)


def array_columns(
    winner: Sequence[Any] | NDArray[Any],
    loser: Sequence[Any] | NDArray[Any],
    *,
    weight: ArrayLike | None = None,
    tie: ArrayLike | None = None,
    margin: ArrayLike | None = None,
    judge: Sequence[Any] | NDArray[Any] | None = None,
    group: Sequence[Any] | NDArray[Any] | None = None,
    time: Any = None,
    covariates: ArrayLike | None = None,
    items: Sequence[Hashable] | None = None,
) -> Columns:
    """Columns of arrays; see `Comparisons.from_arrays`."""
    labels: Sequence[Hashable]
    winner, loser = _column("winner", winner), _column("loser", loser)
    if items is None:
        if len(winner) == 0:
            raise InputError("no votes: there is nothing to rank")
        labels, left, right = encode_pair(winner, loser)

        def first(code: int) -> str:
            return f"row {int(np.argmax((left == code) | (right == code))) + 1}"

        warn_of_look_alikes("items", labels, first, stacklevel=4)
    else:
        labels, left, right = _item_labels(items), code_column(winner, "winner"), code_column(loser, "loser")
        if len(left) != len(right):
            raise InputError(f"winner has {counted(len(left), 'row')}, loser {len(right)}; they must match")
    rows = len(left)
    columns: Columns = {}
    if tie is not None:
        tied = number_column(tie, "tie", rows)
        if not np.isin(tied, (0, 1)).all():
            row = int(np.flatnonzero(~np.isin(tied, (0, 1)))[0])
            raise InputError(f"row {row + 1}: tie is {tied[row]:g}; use true or false")
        columns["outcome"] = np.where(tied == 1, 0, 1).astype(np.int8)
    for name, values in (("weight", weight), ("margin", margin)):
        if values is not None:
            columns[name] = non_negative_column(values, name, rows)
    for name, labelled in (("judge", judge), ("group", group)):
        if labelled is not None:
            labelled = _column(name, labelled)
            if len(labelled) != rows:
                raise InputError(f"{name} has {counted(len(labelled), 'row')}, the votes {rows}; they must match")
            columns[name], columns[f"{name}s"] = encode(labelled, name)
    if time is not None:
        columns["time"], columns["time_is"] = given_times(_column("time", time), rows)
    if covariates is not None:
        columns["covariates"], columns["covariate_names"] = covariate_table(covariates, rows)
    return {"items": labels, "left": left, "right": right, **columns}


def joined_columns(one: Comparisons, other: Comparisons) -> Columns:
    """Columns of the votes of both, one below the other; items, judges and groups are matched by label."""
    if one.time is not None and other.time is not None and one.time_is != other.time_is:
        raise InputError("times are dates in one of the two and numbers in the other; give both alike")
    for name in ("margin", "judge", "group", "time", "covariates"):
        if (getattr(one, name) is None) != (getattr(other, name) is None):
            raise InputError(f"only one of the two has {name} values; give both or neither")
    if one.covariate_names != other.covariate_names:
        raise InputError(f"covariates differ: {one.covariate_names} and {other.covariate_names}")
    items, recode = union_of_labels(one.items, other.items)
    judges, judge_code = union_of_labels(one.judges, other.judges)
    groups, group_code = union_of_labels(one.groups, other.groups)
    if "ranking" in (one.group_is, other.group_is):  # each ranking is a cluster of its own
        groups = tuple(range(1, len(one.groups) + len(other.groups) + 1))
        group_code = np.arange(len(one.groups), len(groups), dtype=np.int32)

    def joined(name: str, fill: float, dtype: Any, code: NDArray[Any] | None = None) -> NDArray[Any] | None:
        a, b = getattr(one, name), getattr(other, name)
        if a is None and b is None:
            return None
        a = np.full(len(one.left), fill, dtype) if a is None else a
        b = np.full(len(other.left), fill, dtype) if b is None else b
        return np.concatenate([a, b if code is None else code[b]]).astype(dtype, copy=False)

    weighted = not (one.weight is None and other.weight is None)
    return {
        "items": items,
        "left": np.concatenate([one.left, recode[other.left]]).astype(np.int32, copy=False),
        "right": np.concatenate([one.right, recode[other.right]]).astype(np.int32, copy=False),
        "outcome": joined("outcome", 1, np.int8),
        "weight": joined("weight", 1.0, np.float64),
        "weight_sq": np.concatenate([squared_weights(one), squared_weights(other)]) if weighted else None,
        "count": joined("count", 1, np.int64),
        "margin": joined("margin", 0.0, np.float64),
        "margin_ss": joined("margin_ss", 0.0, np.float64),
        "judge": joined("judge", 0, np.int32, judge_code),
        "judges": judges,
        "group": joined("group", 0, np.int32, group_code),
        "groups": groups,
        "group_is": one.group_is if one.group_is == other.group_is else "group",
        "vote_is": one.vote_is if one.vote_is == other.vote_is else "vote",
        "time": joined("time", 0.0, np.float64),
        "time_is": one.time_is,
        "covariates": joined("covariates", 0.0, np.float64),
        "covariate_names": one.covariate_names,
        "sided": one.sided and other.sided,
        "ordered": one.ordered and other.ordered,
    }


def squared_weights(votes: Comparisons) -> NDArray[np.float64]:
    """Σw² of each row."""
    if votes.weight_sq is not None:
        return votes.weight_sq
    return np.ones(len(votes.left)) if votes.weight is None else votes.weight**2


def _column(name: str, values: Any) -> Any:
    """A column that has a length; iterators are read. A mapping has values, too, and these would be lost."""
    if isinstance(values, Mapping):
        raise InputError(
            f"{name}: a {type(values).__name__} is no column; give a list or an array, one entry a row. "
            "Of a Counter that is elements(); or give Comparisons.from_frame a column count"
        )
    try:
        len(values)
        return values
    except TypeError:
        pass
    try:
        return list(values)
    except TypeError:
        raise InputError(f"{name}: {values!r} is no column; give a list or an array, one entry a row") from None


def _item_labels(items: Any) -> Sequence[Hashable]:
    """The items a user lists, each with a name that can be written down."""
    labels = distinct_labels(items)
    for place, label in enumerate(() if isinstance(labels, range) else labels, start=1):
        if is_missing(label):
            raise InputError(f"items: place {place} is missing ({label!r}); name every item")
        if isinstance(label, str) and not is_text(label):
            raise InputError(f"items: {label!r} is half a character (a lone surrogate); write it anew")
    return labels
