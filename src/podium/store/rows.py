"""What can be read from the tables and written to them, in values. A `Reader` or `Writer` lives in one transaction."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import asdict, fields
from operator import attrgetter
from typing import Any, TypeAlias

from sqlalchemy import Connection, and_, case, delete, exists, func, or_, select, text, update
from sqlalchemy.exc import DBAPIError

from podium._version import __version__
from podium.errors import InputError, RefusedError
from podium.store import codec
from podium.store.content import Content, load, load_votes
from podium.store.statements import (
    ADD_CALL,
    ADD_LEASE,
    ADD_NEW_VOTE,
    ADD_VOTE,
    ANSWERED,
    BEGUN,
    CALL,
    CAMPAIGN,
    COUNT_MADE,
    COUNT_TAKEN_BACK,
    END_CALL,
    EVENT,
    EXTEND,
    HEAD,
    HELD,
    ITEM,
    JUDGE,
    LAPSE,
    LOCK,
    NOT_UNDONE,
    ONE_JUDGE,
    ONE_QUESTION,
    QUESTION,
    SHOWN,
    SOME_ITEMS,
    SOONEST,
    STANDING_VOTE,
    VOTE,
    VOTE_OF_CLIENT,
    as_driver_sql,
    change_campaign,
    change_question,
    open_questions,
)
from podium.store.tables import call, derived, events, item, item_text, judge, lease, media, question, snapshot, vote
from podium.store.tables import campaign as campaigns
from podium.store.values import (
    Call,
    Campaign,
    Event,
    Item,
    Judge,
    Media,
    Question,
    Vote,
    campaign_of,
    changed,
    from_json,
    pair_of,
    value_of,
)
from podium.store.warm import FAR, LOW, MOST_QUEUE, Memory, Warm

__all__ = ["Counts", "Reader", "Writer"]

FEATURES = [each.name for each in fields(Item)].index("features")  # JSON, which the driver gives as text
MAX_SINGLY = 8  # items looked up two at a time
MOST_ROWS = 10_000  # rows of an export in memory at a time
MOST_COUNTS = 50_000  # judges whose number of votes is remembered
PLAIN = {"last_vote", "last_event", "plans", "planned_at", "state"}  # columns of a campaign without JSON
VOTE_CELLS = attrgetter(*Vote.__slots__)
LAST = 2**62  # beyond the end of every log
Counts: TypeAlias = dict[tuple[int, int], tuple[int, int]]  # of a campaign's judge: up to which row, and how many votes


def _judge(row: Sequence[Any]) -> Judge:
    conflicts = row[-1]
    return value_of(Judge, [*row[:-1], tuple(conflicts) if isinstance(conflicts, list) else conflicts])


def _parsed(cell: Any) -> Any:
    """JSON of a row that came straight from the driver: some parse it themselves."""
    return from_json(cell) if isinstance(cell, str | bytes) else cell


class Reader:
    """One state of the database."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._driver: Any = None  # its cursor, for statements that go straight to it

    @property
    def connection(self) -> Connection:
        """The connection itself, for whatever is asked in no other way here."""
        return self._connection

    def _all(self, statement: Any) -> Sequence[Any]:
        return self._connection.execute(statement).all()

    def _first(self, statement: Any) -> Any:
        return self._connection.execute(statement).first()

    def _cursor(self, statement: Any, *rows: dict[str, Any]) -> Any:
        """Run a statement that was built once, for each of these values, straight at the driver; its cursor.

        The usual way costs several times what the database does. Plain columns only; an error is what it would have
        been the usual way.
        """
        dialect = self._connection.dialect
        sql, picked, own = as_driver_sql(statement, dialect)
        given: Sequence[Any] = [own | row for row in rows] if own else rows
        if picked is not None:
            given = [picked(row) for row in given]
        if self._driver is None:
            self._driver = self._connection.connection.cursor()
        try:
            if len(given) == 1:
                self._driver.execute(sql, given[0])
            else:
                self._driver.executemany(sql, given)
        except dialect.loaded_dbapi.Error as problem:
            error = dialect.loaded_dbapi.Error
            raise DBAPIError.instance(sql, list(given), problem, error, dialect=dialect) from problem
        return self._driver

    def _rows(self, statement: Any, **values: Any) -> list[Any]:
        rows: list[Any] = self._cursor(statement, values).fetchall()
        return rows

    def _row(self, statement: Any, **values: Any) -> Any:
        rows = self._rows(statement, **values)
        return rows[0] if rows else None

    # Campaigns, items, judges

    def campaigns(self) -> list[Campaign]:
        """All campaigns, oldest first."""
        return [campaign_of(row) for row in self._all(CAMPAIGN.order_by(campaigns.c.id))]

    def campaign(self, campaign: int) -> Campaign:
        """One campaign by its number."""
        row = self._first(CAMPAIGN.where(campaigns.c.id == campaign))
        if row is None:
            raise RefusedError("unknown-campaign", f"there is no campaign {campaign}; check its number")
        return campaign_of(row)

    def items(self, campaign: int) -> list[Item]:
        """All items by code, those that were withdrawn included."""
        return [value_of(Item, row) for row in self._all(ITEM.where(item.c.campaign == campaign).order_by(item.c.code))]

    def items_of(self, campaign: int, codes: Collection[int]) -> dict[int, Item]:
        """Some items by code; a few are looked up two at a time, which costs a fraction of building a statement."""
        if len(codes) <= MAX_SINGLY:
            some = [*codes]
            pairs = zip(some[::2], [*some[1::2], *some[-1:]], strict=False)
            found = [row for one, two in pairs for row in self._rows(SOME_ITEMS, c=campaign, i=one, k=two)]
            rows = [[*row[:FEATURES], _parsed(row[FEATURES]), *row[FEATURES + 1 :]] for row in found]
        else:
            rows = [[*row] for row in self._all(ITEM.where(item.c.campaign == campaign, item.c.code.in_(list(codes))))]
        return {row[0]: value_of(Item, row) for row in rows}

    def media(self, campaign: int, sha256: str) -> Media | None:
        """The bytes with that hash."""
        columns = (media.c.sha256, media.c.type, media.c.bytes)
        row = self._first(select(*columns).where(media.c.campaign == campaign, media.c.sha256 == sha256))
        return None if row is None else Media(*row)

    def media_hashes(self, campaign: int) -> dict[str, int]:
        """Hash and size of every file."""
        rows = self._all(select(media.c.sha256, media.c.size).where(media.c.campaign == campaign))
        return {row.sha256: row.size for row in rows}

    def judges(self, campaign: int) -> list[Judge]:
        """All judges by id."""
        return [_judge(row) for row in self._all(JUDGE.where(judge.c.campaign == campaign).order_by(judge.c.id))]

    def judge(self, campaign: int, id: int) -> Judge:
        """One judge."""
        row = self._row(ONE_JUDGE, c=campaign, j=id)
        if row is None:
            raise RefusedError("unknown-judge", f"there is no judge {id} in this campaign; check the number")
        return _judge([*row[:-1], _parsed(row[-1])])

    def judge_by(self, campaign: int, **known: Any) -> Judge | None:
        """The judge of this name, or outside id."""
        same = [judge.c[name] == value for name, value in known.items()]
        row = self._first(JUDGE.where(judge.c.campaign == campaign, *same))
        return None if row is None else _judge(row)

    def judge_of_token(self, token_hash: str) -> tuple[int, Judge] | None:
        """The campaign and the judge whose token has that hash."""
        row = self._first(JUDGE.add_columns(judge.c.campaign).where(judge.c.token_hash == token_hash))
        return None if row is None else (row[-1], _judge(row[:-1]))

    # Questions

    def question(self, campaign: int, id: int) -> Question | None:
        """One question."""
        row = self._row(ONE_QUESTION, c=campaign, q=id)
        return None if row is None else Question(*row)

    def questions(self, campaign: int, *states: str) -> list[Question]:
        """All questions in these states, in the order of the queue."""
        rows = QUESTION.where(question.c.campaign == campaign, question.c.state.in_(states))
        return [value_of(Question, row) for row in self._all(rows.order_by(question.c.plan.desc(), question.c.place))]

    def held(self, campaign: int, judge: int) -> list[Question]:
        """The questions a judge has in hand, first given first."""
        return [Question(*row[:-1]) for row in self._rows(HELD, c=campaign, j=judge)]

    def begun(self, campaign: int) -> list[Question]:
        """Questions that have some of the votes they want and wait for more."""
        waiting = (question.c.campaign == campaign, question.c.state == "open", BEGUN)
        return [value_of(Question, row) for row in self._all(QUESTION.where(*waiting))]

    def count_open(self, campaign: int) -> int:
        """How many questions wait in the queue."""
        waiting = (question.c.campaign == campaign, question.c.state == "open")
        return int(self._connection.execute(select(func.count()).select_from(question).where(*waiting)).scalar_one())

    def active_pairs(self, campaign: int) -> set[int]:
        """Pairs that wait or are in somebody's hands."""
        rows = self._all(
            select(question.c.pair).where(question.c.campaign == campaign, question.c.state.in_(("open", "out")))
        )
        return {row[0] for row in rows}

    def is_active(self, campaign: int, pair: int) -> bool:
        """Whether a pair waits or is in somebody's hands."""
        same = (question.c.campaign == campaign, question.c.pair == pair, question.c.state.in_(("open", "out")))
        return self._first(select(question.c.id).where(*same)) is not None

    def count_items(self, campaign: int) -> int:
        """How many items there are, withdrawn ones too: codes go from 0 to one less."""
        last = self._first(select(func.max(item.c.code)).where(item.c.campaign == campaign))[0]
        return 0 if last is None else int(last) + 1

    def active_codes(self, campaign: int) -> list[int]:
        """Codes of the items that were not withdrawn."""
        rows = select(item.c.code).where(item.c.campaign == campaign, item.c.withdrawn.is_(None)).order_by(item.c.code)
        return [row[0] for row in self._all(rows)]

    def seen_pairs(self, campaign: int, judge: int) -> set[int]:
        """Pairs that a judge was ever given."""
        rows = self._all(select(lease.c.pair).where(lease.c.campaign == campaign, lease.c.judge == judge))
        return {row[0] for row in rows}

    def count_given(self, campaign: int, judge: int, kind: str) -> int:
        """How many questions of a kind a judge was given."""
        mine = (lease.c.campaign == campaign, lease.c.judge == judge, question.c.kind == kind)
        rows = select(func.count()).select_from(lease.join(question, question.c.id == lease.c.question)).where(*mine)
        return int(self._connection.execute(rows).scalar_one())

    def shown(self, campaign: int, id: int, judge: int) -> int | None:
        """When a question was given to a judge; None where it never was."""
        row = self._row(SHOWN, c=campaign, q=id, j=judge)
        return None if row is None else int(row[0])

    # The logs

    def vote(self, campaign: int, seq: int) -> Vote | None:
        """One row of the log."""
        row = self._first(VOTE.where(vote.c.campaign == campaign, vote.c.seq == seq))
        return None if row is None else value_of(Vote, row)

    def vote_of_client(self, campaign: int, judge: int, client_id: str) -> Vote | None:
        """The row that a judge sent under this id."""
        row = self._row(VOTE_OF_CLIENT, c=campaign, j=judge, i=client_id)
        return None if row is None else Vote(*row)

    def client_rows(self, campaign: int, ids: Sequence[str]) -> dict[tuple[int, str], int]:
        """Which rows of the log came under these ids: judge and id, and the row's number."""
        columns = (vote.c.judge, vote.c.client_id, vote.c.seq)
        rows = self._all(select(*columns).where(vote.c.campaign == campaign, vote.c.client_id.in_(ids)))
        return {(row.judge, row.client_id): row.seq for row in rows}

    def standing_vote(self, campaign: int, id: int, judge: int) -> Vote | None:
        """A judge's row on a question that was not undone."""
        row = self._row(STANDING_VOTE, c=campaign, q=id, j=judge)
        return None if row is None else Vote(*row)

    def undo_of(self, campaign: int, seq: int) -> Vote | None:
        """The row that undoes this one."""
        row = self._first(VOTE.where(vote.c.campaign == campaign, vote.c.undoes == seq))
        return None if row is None else value_of(Vote, row)

    def history(self, campaign: int, judge: int, limit: int) -> list[Vote]:
        """A judge's last rows that stand, skips included, newest first."""
        mine = (vote.c.campaign == campaign, vote.c.judge == judge, vote.c.undoes.is_(None), NOT_UNDONE)
        return [value_of(Vote, row) for row in self._all(VOTE.where(*mine).order_by(vote.c.seq.desc()).limit(limit))]

    def count_votes(self, campaign: int, judge: int) -> int:
        """How many votes of a judge stand: neither undone nor skips."""
        return self._count_between(campaign, judge, 0, LAST)

    def _count_between(self, campaign: int, judge: int, after: int, upto: int) -> int:
        piece = {"c": campaign, "j": judge, "after": after, "upto": upto}
        return int(self._row(COUNT_MADE, **piece)[0]) - int(self._row(COUNT_TAKEN_BACK, **piece)[0])

    def count_came(self, campaign: int, since: int) -> int:
        """How many votes of all judges (undone ones too, skips not) came since a moment."""
        came = (vote.c.campaign == campaign, vote.c.outcome.is_not(None), vote.c.received >= since)
        return int(self._connection.execute(select(func.count()).select_from(vote).where(*came)).scalar_one())

    def count_skips(self, campaign: int, id: int) -> int:
        """How many judges skipped a question."""
        these = (vote.c.campaign == campaign, vote.c.question == id, vote.c.outcome.is_(None), vote.c.undoes.is_(None))
        return int(
            self._connection.execute(select(func.count()).select_from(vote).where(*these, NOT_UNDONE)).scalar_one()
        )

    def votes(self, campaign: int, after: int = 0) -> Iterator[Vote]:
        """The log row by row."""
        while True:
            rows = VOTE.where(vote.c.campaign == campaign, vote.c.seq > after).order_by(vote.c.seq).limit(MOST_ROWS)
            piece = [value_of(Vote, row) for row in self._all(rows)]
            yield from piece
            if len(piece) < MOST_ROWS:
                return
            after = piece[-1].seq

    def events(self, campaign: int, after: int = 0) -> list[Event]:
        """The log of everything else."""
        rows = EVENT.where(events.c.campaign == campaign, events.c.seq > after).order_by(events.c.seq)
        return [value_of(Event, row) for row in self._all(rows)]

    # Calls to models

    def calls(self, campaign: int) -> Iterator[Call]:
        """Every call, in the order they went out."""
        after = 0
        while True:
            rows = CALL.add_columns(call.c.number).where(call.c.campaign == campaign, call.c.number > after)
            piece = self._all(rows.order_by(call.c.number).limit(MOST_ROWS))
            for row in piece:
                yield value_of(Call, row[:-1])
            if len(piece) < MOST_ROWS:
                return
            after = piece[-1][-1]

    def calls_about(self, campaign: int, judge: int, questions: Collection[int]) -> list[Call]:
        """A judge's calls about some questions."""
        mine = (call.c.campaign == campaign, call.c.judge == judge, call.c.question.in_(list(questions)))
        return [value_of(Call, row) for row in self._all(CALL.where(*mine).order_by(call.c.number))]

    def item_texts(self, campaign: int, name: str) -> dict[int, str]:
        """Texts of this name that go with items, by code."""
        rows = select(item_text.c.item, item_text.c.body).where(
            item_text.c.campaign == campaign, item_text.c.name == name
        )
        return {row[0]: row[1] for row in self._all(rows)}

    def run(self, sql: str, values: dict[str, Any]) -> Sequence[Any]:
        """Rows of plain SQL, as `content` asks for them: tuples of the driver, nothing between."""
        result = self._connection.execute(text(sql), values)
        return result.cursor.fetchall()

    def snapshot_ends(self, campaign: int) -> list[int]:
        """The last rows of the pieces of the log that are kept as bytes."""
        return [row[0] for row in self._all(select(snapshot.c.seq).where(snapshot.c.campaign == campaign))]

    def derived(self, campaign: int, name: str) -> bytes | None:
        """What was computed last under this name, at whatever position of the log; None where nothing fits."""
        kept = (derived.c.campaign == campaign, derived.c.name == name, derived.c.version == __version__)
        row = self._first(select(derived.c.bytes, derived.c.checksum).where(*kept))
        if row is None or isinstance(row.bytes, str) or codec.seal(bytes(row.bytes), campaign, name) != row.checksum:
            return None
        return bytes(row.bytes)

    def content(self, campaign: int) -> Content:
        """The whole campaign."""
        try:
            return load(self.run, campaign)
        except InputError:
            raise
        except (ValueError, TypeError, KeyError, OverflowError) as problem:  # a cell that no campaign of ours holds
            raise InputError(f"the database is damaged ({problem}); restore a copy") from problem

    def whole_log(self, campaign: int) -> tuple[codec.VoteArrays, bool]:
        """The log, from snapshots as far as they fit; and whether they all did."""
        count = select(func.count()).select_from(item).where(item.c.campaign == campaign)
        items = int(self._connection.execute(count).scalar_one())
        return load_votes(self.run, campaign, self.campaign(campaign).last_vote, items)


class Writer(Reader):
    """A transaction that writes. The campaign's row is locked first, so its numbers are nobody else's to change.

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
        found = memory.counts.get(judge)
        if found is None:
            found = memory.counts[judge] = self._count_votes(campaign, judge)
        return found

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
        found = judges.get(id)
        if found is None:
            found = judges[id] = super().judge(campaign, id)
        return found

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

    def add_campaign(self, new: Campaign) -> Campaign:
        """Add a campaign; it is the one of this transaction from here on."""
        self.flush()
        values = asdict(new)
        del values["id"]
        key = self.connection.execute(campaigns.insert().values(**values)).inserted_primary_key
        assert key is not None
        self.state = (changed(new, id=int(key[0])), frozenset())
        self._memory = self.warm.of(self.locked.id)
        return self.locked

    def add_items(self, new: Sequence[Item]) -> None:
        """Add items; their codes follow those there are."""
        rows = [asdict(each) | {"campaign": self.locked.id} for each in new]
        if rows:
            self.aside.execute(item.insert(), rows)

    def change_item(self, code: int, **values: Any) -> None:
        """Change columns of an item."""
        self.connection.execute(
            update(item).where(item.c.campaign == self.locked.id, item.c.code == code).values(**values)
        )

    def add_media(self, new: Media) -> None:
        """Keep the bytes, once."""
        row = {"campaign": self.locked.id, "sha256": new.sha256, "type": new.type, "size": len(new.bytes)}
        if (
            self._first(select(media.c.size).where(media.c.campaign == self.locked.id, media.c.sha256 == new.sha256))
            is None
        ):
            self.aside.execute(media.insert().values(**row, bytes=new.bytes))

    def add_judge(self, new: Judge) -> Judge:
        """Add a judge under the next id."""
        highest = select(func.max(judge.c.id)).where(judge.c.campaign == self.locked.id)
        last = self.connection.execute(highest).scalar_one()
        added = changed(new, id=0 if last is None else last + 1)
        values = asdict(added) | {"campaign": self.locked.id, "conflicts": list(added.conflicts)}
        self.connection.execute(judge.insert().values(**values))
        return added

    def change_judge(self, id: int, **values: Any) -> None:
        """Change columns of a judge."""
        self._memory.judges.pop(id, None)
        self.aside.execute(update(judge).where(judge.c.campaign == self.locked.id, judge.c.id == id).values(**values))

    def append_votes(self, new: Sequence[Vote]) -> list[Vote]:
        """Append to the log; returns the rows with their numbers."""
        first = self.locked.last_vote + 1
        numbered = [changed(each, seq=first + k) for k, each in enumerate(new)]
        if numbered:
            self.change(last_vote=numbered[-1].seq)
            self._counted(numbered)
            self._do(ADD_VOTE, *(_vote_row(each, self.locked.id) for each in numbered))
        return numbered

    def append_new(self, new: Vote) -> Vote | None:
        """Append one vote, unless its judge has sent a row under this id before; as it was stored."""
        numbered = changed(new, seq=self.locked.last_vote + 1)
        if not self._do(ADD_NEW_VOTE, _vote_row(numbered, self.locked.id)):
            return None
        self.change(last_vote=numbered.seq)
        self._counted([numbered])
        return numbered

    def _counted(self, new: Sequence[Vote]) -> None:
        counts = self._memory.counts
        for each in new:
            if each.undoes is not None:
                counts.pop(each.judge, None)  # what is taken back may have been a skip
            elif each.outcome is not None and each.judge in counts:
                counts[each.judge] += 1

    def append_event(self, new: Event) -> Event:
        """Append to the log of everything else."""
        numbered = changed(new, seq=self.locked.last_event + 1)
        self.change(last_event=numbered.seq)
        self.aside.execute(events.insert().values(**asdict(numbered), campaign=self.locked.id))
        return numbered

    def empty_reasons(self, id: int) -> None:
        """Empty the free text beside a judge's votes: the one thing in the log that can be taken out."""
        mine = (vote.c.campaign == self.locked.id, vote.c.judge == id, vote.c.reason.is_not(None))
        self.connection.execute(update(vote).where(*mine).values(reason=None))

    # The queue

    def add_questions(self, new: Sequence[Question]) -> None:
        """Put questions into the queue."""
        rows = []
        for each in new:
            values = asdict(each) | {"campaign": self.locked.id, "pair": pair_of(each.left, each.right)}
            del values["id"]
            rows.append(values)
        if rows:
            self._memory.queue = None
            self.aside.execute(question.insert(), rows)

    def change_question(self, given: Question, **values: Any) -> Question:
        """Change columns of a question, given as it is now; as it is then."""
        after = changed(given, **values)
        self._change_question(given, values)
        self._memory.moved(given, after)
        return after

    def _change_question(self, given: Question, values: dict[str, Any]) -> None:
        new = {f"new_{name}": value for name, value in values.items()}
        self._do(change_question(tuple(values)), {"c": self.locked.id, "q": given.id} | new)

    def lapse(self, now: int, but: int | None = None) -> None:
        """Questions whose time is over are open again; a judge who asks keeps what nobody else has taken."""
        memory = self._memory
        if memory.soonest is not None and now < memory.soonest:
            return
        if self._do(LAPSE, {"c": self.locked.id, "now": now, "but": -1 if but is None else but}):
            memory.hands.clear()
            memory.queue = None
        if self.warm.lasting:
            soonest = self._row(SOONEST, c=self.locked.id)[0]
            memory.soonest = FAR if soonest is None else soonest

    def held(self, campaign: int, judge: int) -> list[Question]:
        """The questions a judge has in hand, first given first."""
        memory = self._memory_of(campaign)
        if judge not in memory.hands:
            rows = self._rows(HELD, c=campaign, j=judge)
            memory.put_hand(judge, ((Question(*row[:-1]), row[-1]) for row in rows))
        return memory.hand_of(judge) or []

    def in_hand(self, judge: int, id: int) -> tuple[Question, int] | None:
        """A question that a judge holds, and since when; None where the judge does not hold it."""
        if judge not in self._memory.hands:
            self.held(self.locked.id, judge)
        return self._memory.hands[judge].get(id)

    def next_questions(self, judge: Judge, count: int, *, gold: bool = False) -> list[Question]:
        """Questions of the queue that are new to this judge, best first; marked repeats where there are too few.

        Gold pairs come only when asked for.
        """
        if not gold and self.warm.lasting:
            first = self._head_for(judge, count)
            if len(first) == count:
                return first
        values = {"c": self.locked.id, "j": judge.id, "n": count}
        latest = values | {"p": self.locked.plans}
        ask = self._rows if not judge.conflicts else self._slow  # a list of items is no plain value
        found = ask(open_questions(gold, False, judge.conflicts, latest=True), **latest)
        if len(found) < count:  # of older plans, too
            found = ask(open_questions(gold, False, judge.conflicts), **values)
        if len(found) < count:
            again = values | {"n": count - len(found)}
            found = [*found, *ask(open_questions(gold, True, judge.conflicts), **again)]
        return [Question(*row) for row in found]

    def _head_for(self, judge: Judge, count: int) -> list[Question]:
        """The same from what is remembered of the last plan; too few where the tables must be asked."""
        memory, plan = self._memory, self.locked.plans
        if memory.queue is None or memory.plan != plan or (len(memory.queue) < LOW and not memory.whole):
            rows = self._rows(HEAD, c=self.locked.id, p=plan, n=MOST_QUEUE)
            memory.put_queue(plan, [Question(*row) for row in rows])
        if judge.id not in memory.seen:
            memory.put_seen(judge.id, self.seen_pairs(self.locked.id, judge.id))
        return memory.first_for(judge, count)

    def _slow(self, statement: Any, **values: Any) -> Sequence[Any]:
        return self._connection.execute(statement, values).all()

    def give(self, given: Question, judge: int, now: int, until: int) -> Question:
        """Put a question into a judge's hands until a moment."""
        out = {"state": "out", "judge": judge, "until": until}
        self._change_question(given, out)
        row = {"campaign": self.locked.id, "question": given.id, "judge": judge, "shown": now}
        first = self._do(ADD_LEASE, row | {"pair": pair_of(given.left, given.right)}) == 1
        held = changed(given, **out)
        self._memory.moved(given, held, now if first else None)
        return held

    def extend(self, judge: int, until: int) -> None:
        """A judge who is there keeps what is in hand."""
        self._do(EXTEND, {"c": self.locked.id, "j": judge, "new_until": until})
        memory = self._memory
        memory.hands.pop(judge, None)
        if memory.soonest is not None:
            memory.soonest = min(memory.soonest, until)

    def release_hand(self, judge: int) -> None:
        """Take everything out of a judge's hands, back into the queue."""
        mine = (question.c.campaign == self.locked.id, question.c.judge == judge, question.c.state == "out")
        state = case((question.c.wanted > 0, "open"), else_="done")
        self.connection.execute(update(question).where(*mine).values(state=state, judge=None, until=None))

    def bring_forward(self, plan: int) -> None:
        """Questions that have some of the votes they want go to the head of this plan."""
        waiting = (question.c.campaign == self.locked.id, question.c.state == "open", question.c.kind != "gold")
        self.connection.execute(update(question).where(*waiting, BEGUN).values(plan=plan, place=-1))

    def clear_queue(self, *, items: Collection[int] = (), everything: bool = False) -> None:
        """Take open questions out of the queue: all, or those with certain items (also out of people's hands)."""
        mine = question.c.campaign == self.locked.id
        states = ("open", "out") if items else ("open",)
        about = and_(mine, question.c.state.in_(states))
        if not everything:
            codes = list(items)
            about = and_(about, or_(question.c.left.in_(codes), question.c.right.in_(codes)))
        else:
            about = and_(about, ~BEGUN)
        given = exists().where(lease.c.campaign == question.c.campaign, lease.c.question == question.c.id)
        self.connection.execute(delete(question).where(about, ~given))
        self.connection.execute(update(question).where(about).values(state="done", judge=None, until=None))

    # Calls to models

    def add_calls(self, new: Sequence[Call]) -> None:
        """Write calls that are about to go out."""
        if new:
            names = [each.name for each in fields(Call)]
            rows = [{name: getattr(each, name) for name in names} | {"campaign": self.locked.id} for each in new]
            self._many(ADD_CALL, rows)

    def end_calls(self, ended: Sequence[Call]) -> None:
        """Complete calls by what came back."""
        if ended:
            rows = [{f"new_{name}": getattr(each, name) for name in ANSWERED} for each in ended]
            for row, each in zip(rows, ended, strict=True):
                row |= {"c": self.locked.id, "r": each.request}
            self._many(END_CALL, rows)

    def _many(self, statement: Any, rows: list[dict[str, Any]]) -> None:
        sql, picked, _ = as_driver_sql(statement, self._connection.dialect)
        values: list[Any] = rows if picked is None else [picked(row) for row in rows]
        self.aside.exec_driver_sql(sql, values[0] if len(values) == 1 else values)

    def add_item_texts(self, name: str, texts: dict[int, str]) -> None:
        """Keep texts that go with items, by code."""
        rows = [{"campaign": self.locked.id, "item": code, "name": name, "body": body} for code, body in texts.items()]
        if rows:
            self.aside.execute(item_text.insert(), rows)

    # Snapshots

    def put_snapshot(self, last: int, data: bytes) -> None:
        """Keep the piece of the log that ends with row `last` as bytes."""
        row = {"campaign": self.locked.id, "seq": last, "format": codec.SNAPSHOT_FORMAT, "bytes": data}
        self.aside.execute(delete(snapshot).where(snapshot.c.campaign == self.locked.id, snapshot.c.seq == last))
        self.aside.execute(snapshot.insert().values(**row, checksum=codec.checksum(data, self.locked.id, last)))

    def put_derived(self, name: str, data: bytes, position: tuple[int, int]) -> None:
        """Keep what was computed from the logs up to `position`, in the place of what there was."""
        campaign = self.locked.id
        self.aside.execute(delete(derived).where(derived.c.campaign == campaign, derived.c.name == name))
        row = {"campaign": campaign, "name": name, "last_vote": position[0], "last_event": position[1]}
        row |= {"version": __version__, "bytes": data, "checksum": codec.seal(data, campaign, name)}
        self.aside.execute(derived.insert().values(**row))

    def drop_snapshots(self) -> None:
        """Throw them away, and what was derived from them."""
        self.aside.execute(delete(derived).where(derived.c.campaign == self.locked.id))
        self.aside.execute(delete(snapshot).where(snapshot.c.campaign == self.locked.id))


def _vote_row(each: Vote, campaign: int) -> dict[str, Any]:
    row: dict[str, Any] = dict(zip(Vote.__slots__, VOTE_CELLS(each), strict=True))
    row["campaign"] = campaign
    return row
