"""What an organiser can set, checked once."""

from __future__ import annotations

import functools
import json
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Self

from podium.errors import InputError

__all__ = ["Options", "check_whole"]


@dataclass(frozen=True, slots=True)
class Options:
    """Settings of a campaign.

    Attributes
    ----------
    ties : bool
        Whether a judge may say that neither is better.
    top : int or None
        Care for the first so many places only; None for the whole order.
    votes_per_pair : int
        Votes asked of each pair that is chosen, each of another judge.
    budget : int or None
        The campaign pauses after so many votes; the few pairs that are out then are still taken.
    target : int or None
        About how many comparisons each judge is asked for.
    check_share : float
        Share of random check pairs. They measure what the chosen ones cannot.
    lease_minutes : float
        How long a pair is kept for the judge who has it.
    tired_after : int
        A pair that so many judges skipped is asked no more.
    gold : list of [left, right, answer]
        Pairs whose answer (1 or 0 for the left item) is known; every judge gets them.
    marks : dict or None
        Give marks: `scale` (the lowest item's mark and the best one's), `known` (marks of two items or more), or both,
        and `boundaries` (the least mark of each grade, the best first), as `podium rank --marks` takes them.
    texts : dict
        Words for the pages: `consent`, `completion` (code, url), `comprehension` (question, answers, right: its place).
    """

    ties: bool = True
    top: int | None = None
    votes_per_pair: int = 1
    budget: int | None = None
    target: int | None = None
    check_share: float = 0.1
    lease_minutes: float = 10.0
    tired_after: int = 3
    gold: tuple[tuple[str, str, int], ...] = ()
    marks: dict[str, Any] | None = None
    texts: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not isinstance(self.ties, bool):
            raise InputError(f"ties is {self.ties!r}; give true or false")
        for name in ("top", "budget", "target"):
            check_whole(name, getattr(self, name), optional=True)
        for name in ("votes_per_pair", "tired_after"):
            check_whole(name, getattr(self, name))
        _number("check_share", self.check_share, 0.0, 0.99)
        _number("lease_minutes", self.lease_minutes, 0.1, 24 * 60.0)
        if not isinstance(self.texts, dict):
            raise InputError(f"texts is {self.texts!r}; give names and words")
        _comprehension(self.texts.get("comprehension"))
        _gold(self.gold)
        _marks(self.marks)

    @classmethod
    def of(cls, given: dict[str, Any]) -> Self:
        """From what is stored, or given by name; a name that is unknown is an error."""
        known = {each.name for each in fields(cls)}
        for name in given:
            if name not in known:
                raise InputError(f"option {name!r} is unknown; there are {', '.join(sorted(known))}")
        gold = given.get("gold", ())
        _gold(gold)
        return cls(**given | {"gold": tuple(tuple(row) for row in gold)})

    def stored(self) -> dict[str, Any]:
        """As JSON takes it."""
        return asdict(self) | {"gold": [list(row) for row in self.gold]}

    @property
    def goal(self) -> str | tuple[str, int]:
        """As the planner takes it."""
        return "order" if self.top is None else ("top", self.top)

    @property
    def lease(self) -> int:
        """Milliseconds that a pair is kept for a judge."""
        return int(self.lease_minutes * 60_000)


def check_whole(name: str, value: Any, *, optional: bool = False) -> None:
    """Refuse what is no whole number from 1 on, or more than a database holds."""
    if optional and value is None:
        return
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value < 2**31:
        raise InputError(f"{name} is {value!r}; give a whole number from 1 on")


def _number(name: str, value: Any, low: float, high: float) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= high:
        raise InputError(f"{name} is {value!r}; give a number from {low:g} to {high:g}")


def _gold(rows: Any) -> None:
    if not isinstance(rows, list | tuple):
        raise InputError(f"gold is {rows!r}; give a list of [left, right, answer]")
    for number, row in enumerate(rows, start=1):
        if not isinstance(row, list | tuple) or len(row) != 3 or row[2] not in (0, 1) or row[0] == row[1]:
            raise InputError(f"gold, row {number}: {row!r} is not [left, right, answer] with two items and 1 or 0")


def _comprehension(given: Any) -> None:
    if given is None:
        return
    whole = isinstance(given, dict) and {"question", "answers", "right"} == set(given)
    answers = given["answers"] if whole else None
    if not whole or not isinstance(given["question"], str) or not isinstance(answers, list) or len(answers) < 2:
        raise InputError("comprehension is a question, at least two answers, and which of them is right")
    if not all(isinstance(each, str) and each.strip() for each in answers):
        raise InputError("comprehension: every answer needs some words")
    right = given["right"]
    if isinstance(right, bool) or not isinstance(right, int) or not 0 <= right < len(answers):
        raise InputError(f"comprehension: right is {right!r}; give the place of an answer, 0 to {len(answers) - 1}")


def _marks(given: Any) -> None:
    """A wish for marks is tried once; the options are read with every vote."""
    if given is None:
        return
    try:
        text = json.dumps(given)
    except (TypeError, ValueError, RecursionError) as problem:
        raise InputError("marks: give numbers and words, as {'scale': [0, 100]}") from problem
    _try_marks(text)


@functools.lru_cache(maxsize=256)
def _try_marks(text: str) -> None:
    """A wish for marks is tried on two items, so that what is wrong is said now and in the same words."""
    given = json.loads(text)
    from podium.ranking.marks import award_marks
    from podium.ranking.ranking import Ranking

    if not isinstance(given, dict) or not set(given) <= {"scale", "known", "boundaries"}:
        raise InputError(f"marks is {given!r}; give scale, known marks or both, and boundaries if there are grades")
    scale, known, boundaries = given.get("scale"), given.get("known"), given.get("boundaries")
    if scale is None and not known:
        raise InputError("marks need a scale, as 0 to 100, or known marks of two items or more")
    if known is not None and (not isinstance(known, dict) or not all(isinstance(item, str) for item in known)):
        raise InputError(f"known marks are {known!r}; give items and their marks")
    if boundaries is not None and not isinstance(boundaries, dict):
        raise InputError(f"boundaries are {boundaries!r}; give grades and the least mark of each")
    items = tuple(known or ("worst", "best"))
    if len(items) < 2:
        raise InputError("one known mark fixes no scale; give those of two items or more")
    values = [_as_number(known[item]) for item in items] if known else [0.0, 1.0]
    falls = isinstance(scale, list | tuple) and len(scale) == 2 and not _rises(*scale)
    award_marks(
        Ranking(items, [-value if falls and known else value for value in values]), scale, known=known,
        boundaries=boundaries,
    )  # fmt: skip


def _rises(low: Any, high: Any) -> bool:
    both = isinstance(low, int | float) and isinstance(high, int | float)
    return not both or low <= high


def _as_number(mark: Any) -> float:
    if isinstance(mark, bool) or not isinstance(mark, int | float):
        raise InputError(f"a known mark is {mark!r}; give a number")
    return float(mark)
