"""A transaction that writes: the campaign it has locked, and what is remembered of the tables."""

from __future__ import annotations

from typing import Any, TypeAlias

from sqlalchemy import Connection

from podium.errors import RefusedError
from podium.store.reader import LAST, Reader
from podium.store.statements import LOCK, change_campaign
from podium.store.values import Campaign, Judge, campaign_of, changed
from podium.store.warm import Memory, Warm

__all__ = ["Counts", "Transaction"]

MOST_COUNTS = 50_000  # judges whose number of votes is remembered
PLAIN = {"last_vote", "last_event", "plans", "planned_at", "state"}  # columns of a campaign without JSON
Counts: TypeAlias = dict[tuple[int, int], tuple[int, int]]  # of a campaign's judge: up to which row, and how many votes


class Transaction(Reader):
    """The campaign of a writing transaction. Its row is locked first, so its numbers are nobody else's to change.

    `warm` is what is remembered of the tables, by whoever opens the transaction.
    """

    def __init__(self, connection: Connection, counts: Counts | None = None, warm: Warm | None = None) -> None:
        super().__init__(connection)
        self.warm = Warm() if warm is None else warm
        self._memory = Memory()  # of the campaign that is locked
        self.written = 0  # how often anything was written, or might have been
        # The campaign as it is now, and the columns of it that the database is still to be told.
        self.state: tuple[Campaign | None, frozenset[str]] = (None, frozenset())
        # What earlier transactions counted: the log only grows, so they need not count that again.
        self.counts: Counts = {} if counts is None else counts
        # The last row of a campaign's log when it was locked first: on disk, whatever becomes of this transaction.
        self._stored: dict[int, int] = {}

    @property
    def connection(self) -> Connection:
        """The connection itself. Whoever takes it may write anything: what was remembered is forgotten."""
        self.warm.clear()
        return self.aside

    @property
    def aside(self) -> Connection:
        """The connection, to write to tables of which nothing is remembered."""
        self.written += 1
        return self._connection

    def _do(self, statement: Any, *rows: dict[str, Any]) -> int:
        """Write; how many rows that was, where it was one statement."""
        self.written += 1
        return int(self._cursor(statement, *rows).rowcount)

    def raw(self, statement: str) -> None:
        """A statement straight to the driver."""
        if self._driver is None:
            self._driver = self._connection.connection.cursor()
        self._driver.execute(statement)

    def _memory_of(self, campaign: int) -> Memory:
        """What is remembered of the campaign that is locked; of another, nothing."""
        return self._memory if self.state[0] is not None and self.state[0].id == campaign else Memory()

    def lock(self, campaign: int) -> Campaign:
        """Wait for the campaign, and have it for the rest of the transaction."""
        if self.state[0] is not None and self.state[0].id == campaign:
            return self.state[0]
        self.flush()
        memory = self._memory = self.warm.of(campaign)
        if memory.campaign is None:
            row = self._connection.execute(LOCK, {"id": campaign}).first()
            if row is None:
                raise RefusedError("unknown-campaign", f"there is no campaign {campaign}; check its number")
            memory.campaign = campaign_of(row)
        self.state = (memory.campaign, frozenset())
        self._stored.setdefault(campaign, self.locked.last_vote)
        return self.locked

    def back_to(self, state: tuple[Campaign | None, frozenset[str]]) -> None:
        """The campaign is as it was: what a job did was taken back."""
        self.state = state
        self._memory = Memory() if state[0] is None else self.warm.of(state[0].id)

    def count_votes(self, campaign: int, judge: int) -> int:
        """How many votes of a judge stand: neither undone nor skips."""
        memory = self._memory_of(campaign)
        votes = memory.counts.get(judge)
        if votes is None:
            votes = memory.counts[judge] = self._count_votes(campaign, judge)
        return votes

    def _count_votes(self, campaign: int, judge: int) -> int:
        stored = self._stored.get(campaign, 0)
        upto, known = self.counts.get((campaign, judge), (0, 0))
        if upto < stored:
            known += self._count_between(campaign, judge, upto, stored)
            if len(self.counts) >= MOST_COUNTS:
                self.counts.clear()
            self.counts[campaign, judge] = upto, known = stored, known
        return known + self._count_between(campaign, judge, upto, LAST)

    @property
    def locked(self) -> Campaign:
        """The campaign of this transaction, as it is now."""
        assert self.state[0] is not None, "write(campaign, …) locks it"
        return self.state[0]

    def campaign(self, campaign: int) -> Campaign:
        """One campaign by its number, with what this transaction has changed."""
        return self.locked if self.state[0] is not None and self.locked.id == campaign else super().campaign(campaign)

    def judge(self, campaign: int, id: int) -> Judge:
        """One judge."""
        judges = self._memory_of(campaign).judges
        judge = judges.get(id)
        if judge is None:
            judge = judges[id] = super().judge(campaign, id)
        return judge

    def campaigns(self) -> list[Campaign]:
        """All campaigns, oldest first."""
        self.flush()
        return super().campaigns()

    def change(self, **values: Any) -> Campaign:
        """Change columns of the campaign; they are written once, at the end of the transaction."""
        self.state = (changed(self.locked, **values), self.state[1].union(values))
        return self.locked

    def flush(self) -> None:
        """Write what was changed of the campaign."""
        campaign, names = self.state
        if campaign is not None and names:
            ordered = tuple(sorted(names))
            values = {"c": campaign.id} | {f"new_{name}": getattr(campaign, name) for name in ordered}
            self._memory.campaign = campaign if names <= PLAIN else None  # JSON is as the database tells it
            if names <= PLAIN:
                self._do(change_campaign(ordered), values)
            else:
                self.aside.execute(change_campaign(ordered), values)
            self.state = (campaign, frozenset())
