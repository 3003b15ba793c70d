"""The statements that rows are read and written by, each built once: building one costs as much as running it."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import fields
from operator import itemgetter
from typing import Any

from sqlalchemy import Integer, and_, bindparam, case, exists, func, or_, select, text, update

from podium.store.tables import call, events, item, judge, lease, question, vote
from podium.store.tables import campaign as campaigns
from podium.store.values import Call, Campaign, Event, Item, Judge, Question, Vote

__all__ = [
    "ADD_CALL",
    "ADD_LEASE",
    "ADD_NEW_VOTE",
    "ADD_VOTE",
    "ANSWERED",
    "BEGUN",
    "CALL",
    "CAMPAIGN",
    "COUNT_MADE",
    "COUNT_TAKEN_BACK",
    "END_CALL",
    "EVENT",
    "EXTEND",
    "HEAD",
    "HELD",
    "ITEM",
    "JUDGE",
    "LAPSE",
    "LOCK",
    "NOT_UNDONE",
    "ONE_JUDGE",
    "ONE_QUESTION",
    "QUESTION",
    "SHOWN",
    "SOME_ITEMS",
    "SOONEST",
    "STANDING_VOTE",
    "VOTE",
    "VOTE_OF_CLIENT",
    "as_driver_sql",
    "change_campaign",
    "change_question",
    "open_questions",
]


def _columns(table: Any, value: type) -> list[Any]:
    return [table.c[each.name] for each in fields(value)]


CAMPAIGN = select(*_columns(campaigns, Campaign))
ITEM = select(*_columns(item, Item))
JUDGE = select(*_columns(judge, Judge))
QUESTION = select(*_columns(question, Question))
VOTE = select(*_columns(vote, Vote))
EVENT = select(*_columns(events, Event))
CALL = select(*_columns(call, Call))
ADD_CALL = call.insert().values(
    {each.name: bindparam(each.name) for each in fields(Call)} | {"campaign": bindparam("campaign")}
)
LOCK = CAMPAIGN.where(campaigns.c.id == bindparam("id")).with_for_update()
ADD_VOTE = vote.insert()
VOTE_COLUMNS = [column.name for column in vote.columns]
QUOTED = [f'"{name}"' for name in VOTE_COLUMNS]
ADD_NEW_VOTE: Any = text(
    f"INSERT INTO vote ({', '.join(QUOTED)}) "
    f"VALUES ({', '.join(f':{name}' for name in VOTE_COLUMNS)}) ON CONFLICT (campaign, judge, client_id) DO NOTHING"
)
UNDO = vote.alias("undo")
NOT_UNDONE = ~exists().where(UNDO.c.campaign == vote.c.campaign, UNDO.c.undoes == vote.c.seq)
BEGUN = and_(
    question.c.wanted > 0,
    exists().where(
        vote.c.campaign == question.c.campaign, vote.c.question == question.c.id, vote.c.outcome.is_not(None)
    ),
)

# What every vote runs.
C: Any = bindparam("c")
J: Any = bindparam("j")
Q: Any = bindparam("q")
BUT: Any = bindparam("but", type_=Integer)
SOME_ITEMS = ITEM.where(item.c.campaign == C, item.c.code.in_([bindparam("i"), bindparam("k")]))
ONE_JUDGE = JUDGE.where(judge.c.campaign == C, judge.c.id == J)
ONE_QUESTION = QUESTION.where(question.c.campaign == C, question.c.id == Q)
HELD = (
    QUESTION.add_columns(lease.c.shown)
    .join(lease, and_(lease.c.campaign == C, lease.c.question == question.c.id, lease.c.judge == J))
    .where(question.c.campaign == C, question.c.judge == J, question.c.state == "out")
    .order_by(lease.c.shown, question.c.plan.desc(), question.c.place, question.c.id)
)
SHOWN = select(lease.c.shown).where(lease.c.campaign == C, lease.c.question == Q, lease.c.judge == J)
VOTE_OF_CLIENT = VOTE.where(vote.c.campaign == C, vote.c.judge == J, vote.c.client_id == bindparam("i"))
STANDING_VOTE = VOTE.where(
    vote.c.campaign == C, vote.c.question == Q, vote.c.judge == J, vote.c.undoes.is_(None), NOT_UNDONE
)
SOONEST = select(func.min(question.c.until)).where(question.c.campaign == C, question.c.state == "out")
EXTEND = (
    update(question)
    .where(question.c.campaign == C, question.c.judge == J, question.c.state == "out")
    .values(until=bindparam("new_until"))
)
HEAD = (
    QUESTION.where(
        question.c.campaign == C,
        question.c.state == "open",
        question.c.plan == bindparam("p"),
        question.c.kind != "gold",
    )
    .order_by(question.c.place, question.c.id)
    .limit(bindparam("n"))
)
# A judge's votes in a piece of the log, and those of the votes, wherever they are, that are taken back in it.
PIECE: Any = (vote.c.campaign == C, vote.c.judge == J, vote.c.seq > bindparam("after"), vote.c.seq <= bindparam("upto"))
TAKEN_BACK = vote.alias("taken_back")
COUNT_MADE = select(func.count()).select_from(vote).where(*PIECE, vote.c.outcome.is_not(None))
COUNT_TAKEN_BACK = (
    select(func.count())
    .select_from(
        vote.join(TAKEN_BACK, and_(TAKEN_BACK.c.campaign == vote.c.campaign, TAKEN_BACK.c.seq == vote.c.undoes))
    )
    .where(*PIECE, vote.c.undoes.is_not(None), TAKEN_BACK.c.outcome.is_not(None))
)
LAPSE = (
    update(question)
    .where(question.c.campaign == C, question.c.state == "out", question.c.until <= bindparam("now"))
    .where(or_(BUT < 0, question.c.judge != BUT))
    .values(state=case((question.c.wanted > 0, "open"), else_="done"), judge=None, until=None)
)
ADD_LEASE: Any = text(  # the first time counts
    "INSERT INTO lease (campaign, question, judge, pair, shown) VALUES (:campaign, :question, :judge, :pair, :shown) "
    "ON CONFLICT DO NOTHING"
)


ANSWERED = (
    "model", "raw", "reason", "outcome", "p", "problem", "tokens_in", "tokens_out", "counted", "ms", "tries", "cost",
    "prompt", "done",
)  # fmt: skip
END_CALL = (
    update(call)
    .where(call.c.campaign == C, call.c.request == bindparam("r"))
    .values({name: bindparam(f"new_{name}") for name in ANSWERED})
)


@functools.cache
def change_campaign(names: tuple[str, ...]) -> Any:
    """Set these columns of a campaign, each to the value `new_` and its name."""
    new: dict[str, Any] = {name: bindparam(f"new_{name}") for name in names}
    return update(campaigns).where(campaigns.c.id == C).values(new)


@functools.lru_cache(maxsize=512)
def as_driver_sql(statement: Any, dialect: Any) -> tuple[str, Callable[[dict[str, Any]], Any] | None, dict[str, Any]]:
    """The text that a driver takes, what puts values in order where they have no names, and values that are its own.

    Only for columns whose values the driver takes as they are: no JSON.
    """
    compiled = statement.compile(dialect=dialect)
    order = compiled.positiontup
    own = {name: value for name, value in compiled.params.items() if not compiled.binds[name].required}
    if order is None:
        return str(compiled), None, own
    picked: Callable[[dict[str, Any]], Any] = itemgetter(*order)
    return str(compiled), picked if len(order) > 1 else lambda row: (row[order[0]],), own


@functools.cache
def change_question(names: tuple[str, ...]) -> Any:
    """Set these columns of a question, each to the value `new_` and its name."""
    new: dict[str, Any] = {name: bindparam(f"new_{name}") for name in names}
    return update(question).where(question.c.campaign == C, question.c.id == Q).values(new)


@functools.lru_cache(maxsize=256)
def open_questions(gold: bool, seen: bool, conflicts: tuple[int, ...], latest: bool = False) -> Any:
    """Open questions for a judge, best first: pairs the judge has not seen, or marked repeats of those seen.

    With `latest`, those of one plan only, which the index has in order; else all, which must be sorted.
    """
    mine = (lease.c.campaign == question.c.campaign, lease.c.judge == J)
    before = exists().where(*mine, lease.c.pair == question.c.pair)
    rows = QUESTION.where(
        question.c.campaign == C,
        question.c.state == "open",
        (question.c.kind == "gold") if gold else (question.c.kind != "gold"),
        func.coalesce(question.c.judge, J) == J,  # as "none or me" SQLite would gather by judge, then sort the queue
        ~exists().where(*mine, lease.c.question == question.c.id),
        and_(before, question.c.kind == "repeat") if seen else ~before,
    )
    if latest:
        rows = rows.where(question.c.plan == bindparam("p"))
    if conflicts:
        rows = rows.where(question.c.left.not_in(conflicts), question.c.right.not_in(conflicts))
    return rows.order_by(question.c.plan.desc(), question.c.place, question.c.id).limit(bindparam("n"))
