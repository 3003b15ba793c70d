"""What the writing thread remembers of the tables from one commit to the next, so that a vote need not read them again.

It is written through: whoever changes a row tells it here. Whatever is rolled back, written by another connection, or
written in a way that does not tell, empties it. The tables are the truth; this only saves asking them.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from podium.store.values import Campaign, Judge, Question, pair_of

__all__ = ["LAST_MOMENT", "MIN_QUEUE", "MOST_QUEUE", "Memory", "Warm"]

MOST_QUEUE, MIN_QUEUE = (
    256,
    32,
)  # questions of the queue's head that are remembered, and from how few on they are read again
MOST_SEEN = 500_000  # pairs that judges have seen, all together
MOST_JUDGES = 20_000
LAST_MOMENT = 2**62  # later than any moment
Place: TypeAlias = tuple[int, int, Question]  # place in the plan, id: the order of the queue
Held: TypeAlias = tuple[Question, int]  # and since when


@dataclass(slots=True)
class Memory:
    """Of one campaign. What is missing here is not known; what is here is as in the tables.

    Attributes
    ----------
    campaign : Campaign or None
        Its row.
    hands : dict
        What a judge holds, by question.
    seen : dict
        Pairs that a judge was ever given.
    counts : dict
        How many votes of a judge stand.
    soonest : int or None
        No question in anybody's hands has its time over before this moment.
    queue : list or None
        Open questions of the plan `plan` that anybody may be given, the first ones; all there are where it is `whole`.
    """

    campaign: Campaign | None = None
    judges: dict[int, Judge] = field(default_factory=dict)
    hands: dict[int, dict[int, Held]] = field(default_factory=dict)
    seen: dict[int, set[int]] = field(default_factory=dict)
    counts: dict[int, int] = field(default_factory=dict)
    soonest: int | None = None
    queue: list[Place] | None = None
    plan: int = 0
    whole: bool = False
    pairs: int = 0

    def forget(self) -> None:
        """Know nothing any more."""
        self.campaign, self.soonest, self.queue, self.pairs = None, None, None, 0
        for known in (self.judges, self.hands, self.seen, self.counts):
            known.clear()

    def hand_of(self, judge: int) -> list[Question] | None:
        """What a judge holds, first given first; None where that is not known."""
        hand = self.hands.get(judge)
        if hand is None:
            return None
        held = sorted(hand.values(), key=lambda each: (each[1], -each[0].plan, each[0].place, each[0].id))
        return [question for question, _ in held]

    def put_hand(self, judge: int, held: Iterable[Held]) -> None:
        """Remember what a judge holds."""
        self.hands[judge] = {each[0].id: each for each in held}

    def put_seen(self, judge: int, pairs: set[int]) -> None:
        """Remember what a judge was ever given."""
        self.pairs += len(pairs)
        if self.pairs > MOST_SEEN:
            self.seen.clear()
            self.pairs = len(pairs)
        self.seen[judge] = pairs

    def put_queue(self, plan: int, questions: list[Question]) -> None:
        """Remember the head of a plan's queue, `MOST_QUEUE` questions or all."""
        self.plan, self.whole = plan, len(questions) < MOST_QUEUE
        self.queue = [(each.place, each.id, each) for each in questions]

    def first_for(self, judge: Judge, count: int) -> list[Question]:
        """Questions of the queue's head that are new to a judge, the first `count` of them."""
        seen, conflicts = self.seen[judge.id], judge.conflicts
        first: list[Question] = []
        for _, _, each in self.queue or ():
            if len(first) == count:
                break
            if each.judge not in (None, judge.id) or pair_of(each.left, each.right) in seen:
                continue
            if not conflicts or not (each.left in conflicts or each.right in conflicts):
                first.append(each)
        return first

    def moved(self, before: Question, after: Question, given: int | None = None) -> None:
        """A question's row has changed; `given`: it came into somebody's hands, for the first time, at that moment."""
        since = given
        if before.state == "out":
            held = self.hands.get(-1 if before.judge is None else before.judge, {}).pop(before.id, None)
            if held is not None and after.judge == before.judge:
                since = held[1]
        elif before.state == "open":
            self._unqueue(before)
        if after.state == "open":
            self._enqueue(after)
        elif after.state == "out" and after.judge is not None:
            self._handed(after, after.judge, since)

    def _handed(self, question: Question, judge: int, since: int | None) -> None:
        if self.soonest is not None and question.until is not None:
            self.soonest = min(self.soonest, question.until)
        pair = pair_of(question.left, question.right)
        if judge in self.seen and pair not in self.seen[judge]:
            self.seen[judge].add(pair)
            self.pairs += 1
        if since is None:  # for a second time: the tables know since when
            self.hands.pop(judge, None)
        elif judge in self.hands:
            self.hands[judge][question.id] = (question, since)

    def _unqueue(self, question: Question) -> None:
        for index, (_, id, _) in enumerate(self.queue or ()):
            if id == question.id:
                del self.queue[index]  # type: ignore[union-attr]
                return

    def _enqueue(self, question: Question) -> None:
        if self.queue is None or question.plan != self.plan or question.kind == "gold":
            return
        row = (question.place, question.id, question)
        if self.whole or (self.queue and row[:2] < self.queue[-1][:2]):
            insort(self.queue, row, key=lambda each: each[:2])


class Warm:
    """The memories of all campaigns, good for one `version` of the database; None: for one transaction only."""

    def __init__(self) -> None:
        self.version: Any = None
        self._memories: dict[int, Memory] = {}

    @property
    def lasting(self) -> bool:
        """Whether what is learnt now is of use to the next transaction."""
        return self.version is not None

    def renew(self, version: Any) -> None:
        """A transaction begins: what is known of another version is forgotten."""
        if version is None or version != self.version:
            self.clear()
        self.version = version

    def clear(self) -> None:
        """Forget everything; a transaction may hold a memory, so they stay."""
        for memory in self._memories.values():
            memory.forget()

    def of(self, campaign: int) -> Memory:
        """What is known of a campaign."""
        memory = self._memories.get(campaign)
        if memory is None:
            memory = self._memories[campaign] = Memory()
        elif len(memory.judges) > MOST_JUDGES:
            memory.forget()
        return memory
