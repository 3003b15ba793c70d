"""The queue of questions: which wait, who holds which, and until when."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import asdict
from typing import Any

from sqlalchemy import and_, case, delete, exists, or_, update

from podium.store.statements import (
    ADD_LEASE,
    BEGUN,
    EXTEND,
    HEAD,
    HELD,
    LAPSE,
    SOONEST,
    change_question,
    open_questions,
)
from podium.store.tables import lease, question
from podium.store.transaction import Transaction
from podium.store.values import Judge, Question, changed, pair_of
from podium.store.warm import LAST_MOMENT, MIN_QUEUE, MOST_QUEUE

__all__ = ["Questions"]


class Questions(Transaction):
    """What a transaction does with the queue."""

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

    def change_question(self, asked: Question, **values: Any) -> Question:
        """Change columns of the question that was `asked`; returns it as it is then."""
        after = changed(asked, **values)
        self._change_question(asked, values)
        self._memory.moved(asked, after)
        return after

    def _change_question(self, asked: Question, values: dict[str, Any]) -> None:
        new = {f"new_{name}": value for name, value in values.items()}
        self._do(change_question(tuple(values)), {"c": self.locked.id, "q": asked.id} | new)

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
            memory.soonest = LAST_MOMENT if soonest is None else soonest

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
        rows = ask(open_questions(gold, False, judge.conflicts, latest=True), **latest)
        if len(rows) < count:  # of older plans, too
            rows = ask(open_questions(gold, False, judge.conflicts), **values)
        if len(rows) < count:
            again = values | {"n": count - len(rows)}
            rows = [*rows, *ask(open_questions(gold, True, judge.conflicts), **again)]
        return [Question(*row) for row in rows]

    def _head_for(self, judge: Judge, count: int) -> list[Question]:
        """The same from what is remembered of the last plan; too few where the tables must be asked."""
        memory, plan = self._memory, self.locked.plans
        if memory.queue is None or memory.plan != plan or (len(memory.queue) < MIN_QUEUE and not memory.whole):
            rows = self._rows(HEAD, c=self.locked.id, p=plan, n=MOST_QUEUE)
            memory.put_queue(plan, [Question(*row) for row in rows])
        if judge.id not in memory.seen:
            memory.put_seen(judge.id, self.seen_pairs(self.locked.id, judge.id))
        return memory.first_for(judge, count)

    def _slow(self, statement: Any, **values: Any) -> Sequence[Any]:
        return self._connection.execute(statement, values).all()

    def give(self, asked: Question, judge: int, now: int, until: int) -> Question:
        """Put a question into a judge's hands until a moment."""
        out = {"state": "out", "judge": judge, "until": until}
        self._change_question(asked, out)
        row = {"campaign": self.locked.id, "question": asked.id, "judge": judge, "shown": now}
        first = self._do(ADD_LEASE, row | {"pair": pair_of(asked.left, asked.right)}) == 1
        held = changed(asked, **out)
        self._memory.moved(asked, held, now if first else None)
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
        was_given = exists().where(lease.c.campaign == question.c.campaign, lease.c.question == question.c.id)
        self.connection.execute(delete(question).where(about, ~was_given))
        self.connection.execute(update(question).where(about).values(state="done", judge=None, until=None))
