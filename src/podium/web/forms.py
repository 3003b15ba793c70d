"""What the API takes and gives, checked strictly: no value is bent into another type, no name is ignored."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

__all__ = [
    "AnswerIn",
    "CampaignChange",
    "Entry",
    "ItemChange",
    "JudgeChange",
    "NewJudges",
    "OpenLink",
    "Problem",
    "ReportIn",
    "UndoIn",
    "VoteIn",
    "VotesIn",
]

Id = Annotated[str, Field(min_length=1, max_length=100, pattern=r"^[\x21-\x7e]+$")]
Number = Annotated[int, Field(ge=0, le=2**31 - 1)]
Count = Annotated[int, Field(ge=1, le=2**31 - 1)]


class Strict(BaseModel):
    """A body of a request."""

    model_config = ConfigDict(strict=True, extra="forbid")


class Entry(Strict):
    """A link was opened: its secret, and what stood in its address: an open link may say by that who comes."""

    token: Annotated[str, Field(min_length=1, max_length=200)]
    parameters: Annotated[dict[str, Annotated[str, Field(max_length=200)]], Field(max_length=50)] = {}


class VoteIn(Strict):
    """A vote under an id made before the first try; outcome 1: left, 0: right, 0.5: tie, null: skipped.

    `version` is that of the instructions the judge has read; without it, the newest.
    """

    id: Id
    question: Number
    outcome: Annotated[float, Field(ge=0, le=1)] | None
    reason: Annotated[str, Field(max_length=2000)] | None = None
    ms: Annotated[int, Field(ge=0, le=2**53)] | None = None
    version: Count | None = None


class VotesIn(Strict):
    """Votes in the order they were made."""

    votes: Annotated[list[VoteIn], Field(min_length=1, max_length=200)]


class UndoIn(Strict):
    """Take back the vote with the id `of`."""

    id: Id
    of: Id


class AnswerIn(Strict):
    """An answer to the question about the instructions, by its place."""

    answer: Annotated[int, Field(ge=0, le=1000)]


class ReportIn(Strict):
    """An item of a pair in hand is broken."""

    question: Number
    side: Literal["left", "right"]
    reason: Literal["broken", "missing", "unreadable", "offensive", "other"]


class CampaignChange(Strict):
    """What an organiser changes; what is not named stays."""

    state: Literal["open", "paused", "closed"] | None = None
    title: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    question: Annotated[str, Field(min_length=1, max_length=1000)] | None = None
    instructions: Annotated[str, Field(max_length=100_000)] | None = None
    options: dict[str, Any] | None = None


class ItemChange(Strict):
    """Hide an item, or show it again."""

    withdrawn: bool


class NewJudges(Strict):
    """Names of judges to invite."""

    names: Annotated[list[Annotated[str, Field(min_length=1, max_length=200)]], Field(min_length=1, max_length=1000)]
    target: Count | None = None


class JudgeChange(Strict):
    """What changes about a judge; what is not named stays."""

    name: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    state: Literal["active", "revoked", "excluded"] | None = None
    conflicts: Annotated[list[Number], Field(max_length=100_000)] | None = None


class OpenLink(Strict):
    """One link for many: each who opens it becomes a judge, up to `most`; `parameter` of the address says who."""

    most: Annotated[int, Field(ge=1, le=100_000)]
    parameter: Annotated[str, Field(min_length=1, max_length=100, pattern=r"^[A-Za-z0-9_-]+$")] | None = None


class Problem(BaseModel):
    """What went wrong: a code for programs, words for people, and the field it is about."""

    code: str
    message: str
    field: str | None = None
