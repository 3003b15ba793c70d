"""The items of `podium judge`, and what goes with them: read from tables, refused by row."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from podium.errors import InputError
from podium.text import counted

if TYPE_CHECKING:
    from podium.campaign.items import Items
    from podium.cli.judge_options import Source

__all__ = ["UNNAMED", "Read", "check_extra", "criteria_of", "read_source"]

CONTEXTS = ("context", "prompt")
SHOWN = ("text", "body")
UNNAMED = "judge"  # the campaign of a run without criteria


@dataclass(frozen=True, slots=True)
class Read:
    """What a file gives to judge: items, more columns by item, and pairs whose answer is known."""

    items: Items
    extra: dict[str, dict[int, str]]
    gold: tuple[tuple[str, str, int], ...]


def read_source(path: str, source: Source) -> Read:
    """Items with texts, and what goes with them; refused with the row where a text is missing."""
    from podium.campaign.items import read_items

    if Path(path).is_dir():
        items, extra = read_items(path), {}
    else:
        from podium.data.files import read_table

        table = read_table(path)
        names = table.columns
        if {"winner", "loser"} <= set(names) or {"left", "right", "outcome"} <= set(names):
            raise InputError(
                f"{path} holds votes, not items; give a table with a row for each item, or `podium rank` it"
            )
        if source.reference is not None and source.reference not in names:
            raise InputError(f"{path} has no column {source.reference!r}; there are {', '.join(names)}")
        items = read_items(path, label=source.id, text=source.text)
        _check_shown(path, names, source)
        columns = {"context": next((name for name in CONTEXTS if name in names), None), "reference": source.reference}
        extra = {
            name: {row: str(cell) for row, cell in enumerate(table[column].to_list()) if cell not in (None, "")}
            for name, column in columns.items()
            if column is not None
        }
    if len(items.items) < 2:
        raise InputError(f"{path}: {counted(len(items.items), 'item')}; an order needs at least two")
    return Read(items, extra, _gold(source.gold, {item.label for item in items.items}))


def _check_shown(path: str, names: list[str], source: Source) -> None:
    """Refuse to show labels where another column may be what is meant."""
    from podium.campaign.items import FILES, LABELS

    if source.text is not None or {*SHOWN, *FILES} & set(names):
        return
    label = source.id or next((name for name in LABELS if name in names), names[0])
    others = [name for name in names if name not in (label, source.reference, *CONTEXTS)]
    if others:
        raise InputError(
            f"{path} has no column text or body; name the one that is shown by --text ({', '.join(others)}), or "
            f"--text {label} to show the labels"
        )


def _gold(path: Path | None, labels: set[str]) -> tuple[tuple[str, str, int], ...]:
    """Votes whose answers are known."""
    if path is None:
        return ()
    from podium.data.files import read_comparisons

    votes = read_comparisons(str(path), keep="rows")
    outcome = [1] * len(votes.left) if votes.outcome is None else votes.outcome.tolist()
    rows: dict[frozenset[str], tuple[str, str, int]] = {}
    for row, (a, b, said) in enumerate(zip(votes.left.tolist(), votes.right.tolist(), outcome, strict=True), start=1):
        left, right = str(votes.items[a]), str(votes.items[b])
        for label in (left, right):
            if label not in labels:
                raise InputError(f"{path}, row {row}: there is no item {label!r}; check its name")
        if said == 0:
            raise InputError(f"{path}, row {row}: {left!r} and {right!r} tie; a known answer has a winner")
        if frozenset((left, right)) in rows:
            raise InputError(f"{path}, row {row}: {left!r} and {right!r} appear twice; keep one of the rows")
        rows[frozenset((left, right))] = (left, right, int(said > 0))
    return tuple(rows.values())


def criteria_of(typed: tuple[str, ...]) -> list[tuple[str, str]]:
    """Names and questions of `--criterion NAME=TEXT`, each name once."""
    criteria: dict[str, str] = {}
    for each in typed:
        name, mark, words = each.partition("=")
        if not mark or not name.strip() or not words.strip():
            raise InputError(
                f"--criterion {each!r} is not NAME=TEXT; give both, as clarity='The text is easy to follow'"
            )
        if name.strip() in criteria:
            raise InputError(f"--criterion {name.strip()!r} appears twice; names must differ")
        criteria[name.strip()] = words.strip()
    return list(criteria.items()) or [(UNNAMED, "")]


def check_extra() -> None:
    """Refuse to begin where what a model as judge needs is not installed."""
    import importlib.util

    missing = [name for name in ("httpx", "jinja2", "sqlalchemy") if importlib.util.find_spec(name) is None]
    if missing:
        raise InputError(f"a model as judge needs {', '.join(missing)}; pip install 'podium[judge]'")
