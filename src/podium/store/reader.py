"""What can be read from the tables, in values. A `Reader` lives in one transaction."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import fields
from typing import Any

from sqlalchemy import Connection, func, select, text
from sqlalchemy.exc import DBAPIError

from podium._version import __version__
from podium.errors import InputError, RefusedError
from podium.store import codec
from podium.store.content import Content, load, load_votes
from podium.store.statements import (
    BEGUN,
    CALL,
    CAMPAIGN,
    COUNT_MADE,
    COUNT_TAKEN_BACK,
    EVENT,
    HELD,
    ITEM,
    JUDGE,
    NOT_UNDONE,
    ONE_JUDGE,
    ONE_QUESTION,
    QUESTION,
    SHOWN,
    SOME_ITEMS,
    STANDING_VOTE,
    VOTE,
    VOTE_OF_CLIENT,
    as_driver_sql,
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
    from_json,
    value_of,
)

__all__ = ["LAST", "Reader"]

FEATURES = [each.name for each in fields(Item)].index("features")  # JSON, which the driver gives as text
MAX_SINGLY = 8  # items looked up two at a time
MOST_ROWS = 10_000  # rows of an export in memory at a time
LAST = 2**62  # beyond the end of every log


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
        values: Sequence[Any] = [own | row for row in rows] if own else rows
        if picked is not None:
            values = [picked(row) for row in values]
        if self._driver is None:
            self._driver = self._connection.connection.cursor()
        try:
            if len(values) == 1:
                self._driver.execute(sql, values[0])
            else:
                self._driver.executemany(sql, values)
        except dialect.loaded_dbapi.Error as problem:
            error = dialect.loaded_dbapi.Error
            raise DBAPIError.instance(sql, list(values), problem, error, dialect=dialect) from problem
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
            plain = [row for one, two in pairs for row in self._rows(SOME_ITEMS, c=campaign, i=one, k=two)]
            rows = [[*row[:FEATURES], _parsed(row[FEATURES]), *row[FEATURES + 1 :]] for row in plain]
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
        """How many votes of all judges that stand (undone ones and skips not) came since a moment."""
        came = (vote.c.campaign == campaign, vote.c.outcome.is_not(None), vote.c.received >= since, NOT_UNDONE)
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
