"""What every request of a server shares: the store, what is remembered, and the limits."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from starlette.concurrency import run_in_threadpool

from podium.campaign.marks import AllMarks
from podium.campaign.planning import Planning
from podium.campaign.standing import Standings
from podium.errors import PodiumError, UnavailableError
from podium.store.commits import Job
from podium.store.values import Item, Question
from podium.web.content import Shelf
from podium.web.limits import PerDay, Rate

if TYPE_CHECKING:
    from starlette.requests import Request

    from podium.store.base import Store
    from podium.store.reader import Reader
    from podium.store.writer import Writer

__all__ = ["State", "Who", "state_of"]

T = TypeVar("T")
REQUESTS_A_SECOND = 20
WRONG_A_MINUTE = 5
VOTES_A_DAY = 10_000


@dataclass(frozen=True, slots=True)
class Who:
    """A visitor with a role; `campaign` is 0 for the operator, `judge` is 0 but for judges."""

    role: str
    campaign: int = 0
    judge: int = 0


@dataclass
class State:
    """One server's own.

    Attributes
    ----------
    url : str
        The address that links begin with; where it is https, cookies are for https only.
    operator_hash : str or None
        Hash of the secret that may make new campaigns; None where nobody may.
    behind_proxy : bool
        Whether the address of a visitor is what a proxy says.
    """

    store: Store
    url: str
    operator_hash: str | None = None
    behind_proxy: bool = False
    clock: Callable[[], float] = time.monotonic
    standings: Standings = field(init=False)
    marks: AllMarks = field(init=False)
    planning: Planning = field(init=False)
    shelf: Shelf = field(default_factory=Shelf)
    requests: Rate = field(init=False)
    wrong: Rate = field(init=False)
    today: PerDay = field(default_factory=lambda: PerDay(VOTES_A_DAY))
    known: dict[str, tuple[Who, float]] = field(default_factory=dict)  # hash of a secret: whose, and until when
    _waiting: dict[asyncio.AbstractEventLoop, list[Job]] = field(default_factory=dict)  # to be written, of this turn
    trouble: str | None = None  # the last thing the database could not do, for the organiser

    def __post_init__(self) -> None:
        self.standings = Standings(self.store)
        self.marks = AllMarks(self.store)
        self.planning = Planning(self.store)
        self.requests = Rate(REQUESTS_A_SECOND, 1.0, self.clock)
        self.wrong = Rate(WRONG_A_MINUTE, 60.0, self.clock)

    @property
    def secure(self) -> bool:
        """Whether visitors come by TLS."""
        return self.url.startswith("https:")

    async def write(self, campaign: int, job: Callable[[Writer], T], *, repeatable: bool = False) -> T:
        """Run `job` in a transaction; back once it is on disk. What was in trouble is over then.

        It is `repeatable` where it does nothing but read and write the tables.
        """
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[T] = loop.create_future()
        if loop not in self._waiting:
            self._waiting[loop] = []
            loop.call_soon(self._send, loop)
        self._waiting[loop].append(Job(campaign, job, answer, repeatable))
        value = await answer
        self.trouble = None
        return value

    async def look_again(self, campaign: int) -> None:
        """Where something was in trouble, try a write that changes nothing: what is over is not told any more."""
        if self.trouble is not None:
            try:
                await self.write(campaign, lambda writer: writer.change(state=writer.locked.state) and None)
            except UnavailableError as problem:
                self.trouble = str(problem)

    def _send(self, loop: asyncio.AbstractEventLoop) -> None:
        """Everything that came in this turn of the event loop goes to the writing thread together."""
        jobs = self._waiting.pop(loop)
        try:
            self.store.send(jobs)
        except PodiumError as problem:  # the store was closed
            for job in jobs:
                if not job.result.done():
                    job.result.set_exception(problem)

    async def read(self, job: Callable[[Reader], T]) -> T:
        """Run `job` on one state of the database, beside other requests."""
        return await run_in_threadpool(self.store.read, job)

    async def now(self) -> int:
        """The database's clock; for a file that is the host's, which needs no thread."""
        return await run_in_threadpool(self.store.now) if self.store.remote else self.store.now()

    def unread(self, reader: Reader, campaign: int, questions: tuple[Question, ...]) -> dict[int, Item]:
        """Items of these pairs that are not remembered, read in the transaction that gave the pairs."""
        missing = self.shelf.missing(campaign, _codes(questions))
        return reader.items_of(campaign, missing) if missing else {}

    async def shown(self, campaign: int, questions: tuple[Question, ...], unread: dict[int, Item]) -> str:
        """Pairs as the page shows them, in JSON: names hidden, sides as drawn."""
        shelf = self.shelf
        if unread:
            shelf.put(campaign, unread)
        missing = shelf.missing(campaign, _codes(questions))
        if missing:  # forgotten since: others came in between
            shelf.put(campaign, await self.read(lambda reader: reader.items_of(campaign, missing)))
        pairs = [
            f'{{"id":{each.id},"left":{shelf.get(campaign, each.left)},"right":{shelf.get(campaign, each.right)},'
            f'"repeat":{"true" if each.kind == "repeat" else "false"}}}'
            for each in questions
        ]
        return f"[{','.join(pairs)}]"


def _codes(questions: tuple[Question, ...]) -> set[int]:
    return {code for each in questions for code in (each.left, each.right)}


def state_of(request: Request) -> State:
    """The state of the server that a request came to."""
    state: State = request.app.state.podium
    return state
