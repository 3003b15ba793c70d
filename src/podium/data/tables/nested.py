"""Fields inside columns that hold structures, named by a dotted path: `conv_metadata.sum_assistant_a_tokens`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Names", "nested_names", "picked", "roots"]

MAX_NAMES = 10_000  # paths listed: a structure with more fields is a table of its own


class Names(list[str]):
    """The columns of a table, and in `nested` the paths to the fields inside them."""

    def __init__(self, schema: Mapping[str, Any]) -> None:
        super().__init__(schema)
        self.nested = nested_names(schema)


def nested_names(schema: Mapping[str, Any]) -> list[str]:
    """The paths to every field inside the columns of `schema`; a column of that very name comes first and hides it.

    >>> import polars as pl
    >>> nested_names({"meta": pl.Struct({"a": pl.Int64, "turn": pl.Struct({"b": pl.Int64})}), "item": pl.String})
    ['meta.a', 'meta.turn', 'meta.turn.b']
    """
    names: list[str] = []
    waiting = [(name, kind) for name, kind in reversed(list(schema.items()))]
    while waiting and len(names) < MAX_NAMES:
        name, kind = waiting.pop()
        if name not in schema:
            names.append(name)
        fields = getattr(kind, "fields", ())
        waiting += [(f"{name}.{field.name}", field.dtype) for field in reversed(fields)]
    return list(dict.fromkeys(names))


def roots(names: Iterable[str], schema: Mapping[str, Any]) -> list[str]:
    """The columns that hold what the paths name, once each."""
    return list(dict.fromkeys(name if name in schema else _root(name, schema)[0] for name in names))


def picked(names: Iterable[str], schema: Mapping[str, Any]) -> list[pl.Expr]:
    """Columns and fields by name, each as a column of that name; null where the schema does not have it.

    >>> import polars as pl
    >>> frame = pl.DataFrame({"meta": [{"a": 1}, {"a": 2}]})
    >>> frame.select(picked(["meta.a", "meta.b"], frame.schema)).to_dict(as_series=False)
    {'meta.a': [1, 2], 'meta.b': [None, None]}
    """
    import polars as pl
    from polars.selectors import by_name  # pl.col("*") would be all columns, and pl.col("^a$") a pattern

    chosen: list[pl.Expr] = []
    for name in names:
        if name in schema:
            chosen.append(by_name(name))
            continue
        root, rest = _root(name, schema)
        value, kind = by_name(root) if root in schema else pl.lit(None), schema.get(root)
        while rest:
            fields = {field.name: field.dtype for field in getattr(kind, "fields", ())}
            own = next((path for path in _heads(rest) if path in fields), None)
            if own is None:
                value, rest = pl.lit(None), ""
                break
            value, kind, rest = value.struct.field(own), fields[own], rest[len(own) + 1 :]
        chosen.append(value.alias(name))
    return chosen


def _root(name: str, schema: Mapping[str, Any]) -> tuple[str, str]:
    """The column that a path begins with, and the path inside it."""
    root = next((path for path in _heads(name) if path in schema), name)
    return root, name[len(root) + 1 :]


def _heads(path: str) -> list[str]:
    """What a path may begin with, the shortest first: names may hold dots themselves."""
    parts = path.split(".")
    return [".".join(parts[:k]) for k in range(1, len(parts) + 1)]
