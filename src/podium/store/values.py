"""What the store keeps, as plain values: rows without a database, times in milliseconds since 1970 (UTC)."""

from __future__ import annotations

import functools
import json
import types
import typing
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Literal, TypeAlias, TypeVar, cast

from podium.errors import InputError

__all__ = [
    "FORMAT",
    "KINDS",
    "Call",
    "Campaign",
    "Event",
    "Item",
    "Judge",
    "JudgeState",
    "Kind",
    "Media",
    "Question",
    "QuestionState",
    "State",
    "Vote",
    "campaign_of",
    "changed",
    "from_json",
    "pair_of",
    "value_of",
]

T = TypeVar("T")

DAMAGED = ", the database is damaged"
LATEST = 253_402_300_800_000  # milliseconds up to the year 10000; no count of ours comes near
SIGNED = ("place", "planned_at", "seed")  # whole numbers that may be below 0

# The one number of what is on disk. A change of the tables adds a step in `formats` and raises it.
FORMAT = 3

State: TypeAlias = Literal["draft", "open", "paused", "closed"]
JudgeState: TypeAlias = Literal["active", "revoked", "excluded"]
QuestionState: TypeAlias = Literal["open", "out", "done", "tired"]
Kind: TypeAlias = Literal["chosen", "check", "gold", "repeat", "import"]

# How a pair came to be asked; their places here are the codes in arrays and snapshots, so new ones go last.
KINDS: tuple[Kind, ...] = ("chosen", "check", "gold", "repeat", "import")


@dataclass(frozen=True, slots=True)
class Campaign:
    """A question about items, and how far its two logs have come.

    `last_vote` and `last_event` are the log position: whatever is derived holds while neither has moved.
    """

    id: int
    slug: str
    title: str
    question: str
    instructions: str
    version: int
    options: dict[str, Any]
    seed: int
    state: State
    admin_hash: str
    made: int
    last_vote: int = 0
    last_event: int = 0
    plans: int = 0
    planned_at: int = 0

    @property
    def position(self) -> tuple[int, int]:
        """How far both logs have come."""
        return self.last_vote, self.last_event


@dataclass(frozen=True, slots=True)
class Item:
    """One thing to be compared. Codes are dense, in order of arrival, and never used again."""

    code: int
    label: str
    kind: str = "text"
    body: str | None = None
    media: str | None = None
    features: list[float] | None = None
    added: int = 0
    withdrawn: int | None = None


@dataclass(frozen=True, slots=True)
class Media:
    """The bytes of a picture, a sound, a film or a page, known by their hash."""

    sha256: str
    type: str
    bytes: bytes


@dataclass(frozen=True, slots=True)
class Judge:
    """Somebody, or something, who answers. `conflicts` are codes of items never shown to this judge."""

    id: int
    name: str
    kind: str = "person"
    token_hash: str | None = None
    outside_id: str | None = None
    state: JudgeState = "active"
    target: int | None = None
    made: int = 0
    seen: int | None = None
    conflicts: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Question:
    """A pair to be asked, sides as shown. `wanted` votes are still needed; `judge` holds it until `until`."""

    left: int
    right: int
    kind: Kind = "chosen"
    wanted: int = 1
    predicted: float | None = None
    state: QuestionState = "open"
    id: int = 0
    plan: int = 0
    place: int = 0
    judge: int | None = None
    until: int | None = None


@dataclass(frozen=True, slots=True)
class Vote:
    """A row of the log. Outcome 1: left, 0: right, 0.5: tie, None: skipped; a row that `undoes` another has none.

    `predicted` is the chance of the left item that was stored when the pair was planned.
    `client_id` is made by whoever votes, before the first try: the same id again is the same vote.
    """

    judge: int
    client_id: str
    left: int
    right: int
    outcome: float | None
    question: int | None = None
    reason: str | None = None
    undoes: int | None = None
    kind: Kind = "chosen"
    version: int = 1
    predicted: float | None = None
    ms: int | None = None
    shown: int | None = None
    received: int = 0
    seq: int = 0


@dataclass(frozen=True, slots=True)
class Call:
    """A request to a model about a pair, written before it goes out and again when it is answered.

    `first` and `second` are the items as they were shown; `turned`: the other way round than the question has them.
    `outcome` is for the item shown first; `problem` says why there is none. `again` is the request that this one
    repeats word for word. `done` is when the answer came; None: nothing is known of it.
    """

    request: str
    question: int
    judge: int
    first: int
    second: int
    turned: int
    again: str | None = None
    prompt_hash: str = ""
    parameters: str = ""
    model: str | None = None
    raw: str | None = None
    reason: str | None = None
    outcome: float | None = None
    p: float | None = None
    problem: str | None = None
    tokens_in: int | None = None
    tokens_out: int | None = None
    counted: int = 0
    ms: int | None = None
    tries: int | None = None
    cost: float | None = None
    prompt: str | None = None
    at: int = 0
    done: int | None = None


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened, other than a vote. `data` names judges by id only, so that a person can be erased."""

    verb: str
    data: dict[str, Any] = field(default_factory=dict)
    who: str = "organiser"
    at: int = 0
    seq: int = 0


def changed(value: T, **new: Any) -> T:
    """`dataclasses.replace` for the values here, which check nothing when they are made, at a third of its cost.

    >>> changed(Question(0, 1), state="out").state
    'out'
    """
    kind = type(value)
    copy = object.__new__(kind)
    for name in kind.__slots__:  # type: ignore[attr-defined]
        object.__setattr__(copy, name, new[name] if name in new else getattr(value, name))
    return copy


def pair_of(left: int, right: int) -> int:
    """One number for a pair of codes, whichever side each item stands on.

    >>> pair_of(3, 1) == pair_of(1, 3)
    True
    """
    return (left << 31) + right if left < right else (right << 31) + left


def value_of(kind: type[T], row: Sequence[Any]) -> T:
    """A row as a value, if its cells are what they should be: in a damaged database they may not.

    >>> value_of(Item, [0, "tea", "text", None, None, None, 0, "soon"])
    Traceback (most recent call last):
        ...
    podium.errors.InputError: item: withdrawn is 'soon', the database is damaged; restore a copy
    """
    types_seen = tuple(map(type, row))
    numbers = _FITTING.get((kind, types_seen))
    if numbers is None or not all(0 <= row[index] < LATEST for index in numbers):
        _check(kind, row)
        numbers = [
            index for index, each in enumerate(_types_of(cast(Any, kind)))
            if types_seen[index] is int and each[0] not in SIGNED
        ]  # fmt: skip
        if not any(words for _, _, words in _types_of(cast(Any, kind))):
            _FITTING[kind, types_seen] = numbers
    return kind(*row)


def _check(kind: type, row: Sequence[Any]) -> None:
    """Look at every cell."""
    for (name, allowed, words), cell in zip(_types_of(cast(Any, kind)), row, strict=True):
        fits = isinstance(cell, allowed) and (bool in allowed or not isinstance(cell, bool))
        if fits and type(cell) is int and name not in SIGNED:
            fits = 0 <= cell < LATEST
        if not fits or (words and cell not in words):
            raise InputError(f"{kind.__name__.lower()}: {name} is {cell!r:.50}{DAMAGED}; restore a copy")


# Kinds without fixed words: types of a whole row that fitted, and which of its cells are numbers to be looked at.
_FITTING: dict[tuple[type, tuple[type, ...]], list[int]] = {}


def campaign_of(row: Sequence[Any]) -> Campaign:
    """A row as a campaign. 0 is no campaign's number: it stands for the one yet to be made."""
    campaign = value_of(Campaign, row)
    if not campaign.id:
        raise InputError(f"campaign: id is 0{DAMAGED}; restore a copy")
    return campaign


def from_json(cell: str | bytes) -> Any:
    """What a cell of JSON says, if it is JSON: in a damaged database it may not be.

    >>> from_json("[1")
    Traceback (most recent call last):
        ...
    podium.errors.InputError: a cell holds '[1', no JSON, the database is damaged; restore a copy
    """
    try:
        return json.loads(cell)
    except (ValueError, TypeError, RecursionError) as problem:
        raise InputError(f"a cell holds {cell!r:.50}, no JSON{DAMAGED}; restore a copy") from problem


@functools.cache
def _types_of(kind: type) -> list[tuple[str, tuple[type, ...], tuple[str, ...]]]:
    """What each field may hold: types, and the words where only some are known."""
    hints = typing.get_type_hints(kind)
    return [(each.name, _plain(hints[each.name]), _words(hints[each.name])) for each in fields(kind)]


def _plain(hint: Any) -> tuple[type, ...]:
    origin = typing.get_origin(hint)
    if origin is Literal:
        return (str,)
    if origin in (typing.Union, types.UnionType):
        return tuple(part for each in typing.get_args(hint) for part in _plain(each))
    plain: type = origin or hint
    return (float, int) if plain is float else (list, tuple) if plain in (list, tuple) else (plain,)


def _words(hint: Any) -> tuple[str, ...]:
    return typing.get_args(hint) if typing.get_origin(hint) is Literal else ()
