"""Whole orders in one cell: lists, or text such as `a > b > c`."""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Callable, Hashable, Iterable
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

from podium.data.tables.labels import is_missing
from podium.errors import DataWarning, InputError

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Inseparable", "divided", "listed_items"]

OFTEN = 5  # rankings after which two items that never part are worth a word
ITEM = re.compile(r'(?:\s*(?P<quoted>"(?:[^"]|"")*")\s*|(?P<bare>(?!\s*")[^>]*))(?:(?P<mark>>)|$)')

Fail: TypeAlias = Callable[[int, str], NoReturn]


def listed_items(column: pl.Series, fail: Fail) -> list[list[Any]]:
    """The items of each row, best first: a list, or text divided at `>`; those that share a place in a list."""
    rankings = []
    for row, value in enumerate(column.to_list()):
        items = divided(value, partial(fail, row)) if isinstance(value, str) else _with_ties(value)
        single = [item for place in items for item in (place if isinstance(place, list) else [place])] if isinstance(
            items, list
        ) else [None]  # fmt: skip
        if any(not isinstance(item, Hashable) or is_missing(item) for item in single):
            fail(row, f"{value!r} is no ranking; list items best first, as in a > b")
        if len(set(single)) < len(single):
            twice = next(item for place, item in enumerate(single) if item in single[:place])
            fail(row, f"{twice!r} appears twice in the ranking; remove one")
        rankings.append(items)
    return rankings


def _with_ties(value: Any) -> Any:
    """A list whose lists within were made text on the way, as those of a column of one type are."""
    if not isinstance(value, list):
        return value
    return [json.loads(item) if _is_json_list(item) else item for item in value]


def _is_json_list(item: Any) -> bool:
    if not isinstance(item, str) or not item.startswith("["):
        return False
    try:
        inner = json.loads(item)
    except (json.JSONDecodeError, RecursionError):
        return False
    return isinstance(inner, list) and bool(inner) and all(isinstance(each, str) for each in inner)


def divided(text: str, fail: Callable[[str], NoReturn]) -> list[Any]:
    """The items of a ranking in text: a JSON list, or items between `>`, those that hold one in quotes.

    >>> divided('Zoom > "Slack > Teams bridge"', print)
    ['Zoom', 'Slack > Teams bridge']
    """
    if text.lstrip().startswith("["):
        return _json_list(text, fail)
    items: list[Hashable] = []
    marks: list[int] = []
    arrows = False
    place: int | None = 0
    while place is not None:
        match = ITEM.match(text, place)
        if match is None:
            fail(f"{text!r}: a quote does not close, or text follows it; quote whole items and double quotes within")
        quoted, bare = match["quoted"], match["bare"] or ""
        if " = " in bare and not bare.startswith("="):
            fail(
                f"{bare.strip()!r} may be one item or two that share a place; put it in quotes if it is one, and write "
                'items that share a place as a JSON list, ["a", ["b", "c"]]'
            )
        items.append(bare.strip() if quoted is None else quoted[1:-1].replace('""', '"'))
        arrows |= (bare.endswith(("-", "=")) and bool(match["mark"])) or bare.startswith("=")
        place = match.end() if match["mark"] else None
        marks += [place - 1] if place is not None else []
    if arrows or len({_blanks(text, mark) for mark in marks}) > 1:
        fail(f"{text!r} holds > of two kinds, so items cannot be told; put items that hold one in quotes")
    return items


def _blanks(text: str, place: int) -> bool:
    """Whether there are blanks on both sides of a mark."""
    return text[place - 1 : place].isspace() and (text[place + 1 : place + 2].isspace() or place + 1 == len(text))


def _json_list(text: str, fail: Callable[[str], NoReturn]) -> list[Hashable]:
    try:
        items = json.loads(text)
    except (json.JSONDecodeError, RecursionError):
        items = None
    places = items if isinstance(items, list) else [None]
    if not all(isinstance(item, str) for place in places for item in (place if isinstance(place, list) else [place])):
        fail(
            f'{text!r} begins like a JSON list of texts and is none; write ["a", "b"], or quote the item that begins so'
        )
    return list(places)


class Inseparable:
    """Watches rankings in text for two items that may be one that holds `>`."""

    def __init__(self) -> None:
        self.after: dict[Hashable, set[Hashable]] = {}
        self.before: dict[Hashable, set[Hashable]] = {}
        self.times: dict[Hashable, int] = {}
        self.divided: set[tuple[Hashable, Hashable]] = set()  # neighbours in rankings that were divided at `>`

    def add(self, rankings: list[list[Hashable]], texts: list[Any]) -> None:
        """Take rankings, and the texts that they were read from."""
        for items, text in zip(rankings, texts, strict=True):
            for first, second in pairwise([None, *items, None]):
                self.after.setdefault(first, set()).add(second)
                self.before.setdefault(second, set()).add(first)
                self.times[first] = self.times.get(first, 0) + 1
            if not str(text).lstrip().startswith("["):
                self.divided.update(pairwise(items))

    def unite(self, other: Inseparable) -> None:
        """Take what another has seen."""
        for mine, theirs in ((self.after, other.after), (self.before, other.before)):
            for item, beside in theirs.items():
                mine.setdefault(item, set()).update(beside)
        for item, times in other.times.items():
            self.times[item] = self.times.get(item, 0) + times
        self.divided |= other.divided

    def refuse(self, known: Iterable[Hashable]) -> None:
        """Refuse an item among all that are known that is one here, in quotes or a list, and was divided there."""
        for item in known if self.divided else ():
            parts = [part.strip() for part in item.split(">")] if isinstance(item, str) else []
            if len(parts) > 1 and all(pair in self.divided for pair in pairwise(parts)):
                raise InputError(
                    f"{item!r} is one item in some rankings, and {' before '.join(map(repr, parts))} in others, where "
                    "it is not in quotes; put it in quotes wherever it stands"
                )

    def warn(self, stacklevel: int) -> None:
        """Name such items: seen five times or more, in different company, never apart."""
        for first, others in self.after.items():
            second = next(iter(others)) if len(others) == 1 else None
            if first is None or second is None or self.before[second] != {first} or self.times[first] < OFTEN:
                continue
            if len(self.before[first]) > 1 and len(self.after[second]) > 1:
                text = f"{first!r} stands right before {second!r} in all {self.times[first]} rankings that name either"
                one = f'if they are one item, put it in quotes: "{first} > {second}"'
                warnings.warn(f"{text}; {one}", DataWarning, stacklevel=stacklevel)
