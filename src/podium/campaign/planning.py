"""The queue of questions, and when to fill it again: beside the servers, in one process at a time.

A plan is made from what is in the log and in people's hands, outside any transaction; judges never wait for it. What
came in the meantime is in the next.
"""

from __future__ import annotations

import logging
import threading
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium.active.planner import Planner
from podium.campaign.choosing import PLANNER_KINDS, RANKS, loaded_planner, predicted, ranks_by_code
from podium.campaign.live import Live, live_votes, spent, tired_pairs
from podium.campaign.options import Options
from podium.campaign.setup import pause_if_spent
from podium.campaign.standing import Share, agreement, keep_standing, standing_of
from podium.errors import PodiumError
from podium.store import codec
from podium.store.base import Store
from podium.store.content import Content
from podium.store.reader import Reader
from podium.store.values import Campaign, Event, Question, pair_of
from podium.store.writer import Writer

__all__ = ["Planning", "is_due", "keep_snapshots", "plan_once"]

log = logging.getLogger(__name__)

HERE = 10 * 60_000  # milliseconds since a judge was seen last and counts as there
PER_JUDGE = 3  # open questions a judge below which a new plan is made
FEWEST, MOST = 30, 5000  # questions of a plan
ALWAYS = 1_000_000_000  # votes wanted of a gold pair: every judge's


def is_due(reader: Reader, campaign: Campaign, now: int) -> bool:
    """Whether a new plan is worth making: the queue runs low, or n/4 votes came since the last one."""
    if campaign.state != "open":
        return False
    if campaign.plans == 0:
        return True
    came = campaign.last_vote - campaign.planned_at
    items = len(reader.active_codes(campaign.id))
    judges = _judges_here(reader, campaign.id, now)
    return came >= max(1, items // 4) or (came > 0 and reader.count_open(campaign.id) < PER_JUDGE * judges)


def _is_over(reader: Reader, campaign: Campaign) -> bool:
    """Whether the budget is used, of which no plan would be made before long."""
    return campaign.state == "open" and spent(reader, campaign.id) is not None


def _judges_here(reader: Reader, campaign: int, now: int) -> int:
    judges = reader.judges(campaign)
    return max(1, sum(each.state == "active" and each.seen is not None and now - each.seen < HERE for each in judges))


@dataclass(frozen=True, slots=True)
class Plan:
    """What was planned; `position` is that of the logs after it, if nothing else has come since it was begun."""

    number: int
    questions: int
    votes: int
    position: tuple[int, int] | None = None
    stable: bool = False
    until_stable: int = 0
    agreement: Share | None = None


def plan_once(store: Store, campaign: int, now: int) -> Plan | None:
    """Plan anew and replace the queue; None where there is nothing to plan."""

    def look(reader: Reader) -> tuple[Content, list[tuple[int, int]], int]:
        out = [(each.left, each.right) for each in [*reader.questions(campaign, "out"), *reader.begun(campaign)]]
        return reader.content(campaign), out, _judges_here(reader, campaign, now)

    content, out, judges = store.read(look)
    keep_snapshots(store, content)
    live, options = live_votes(content), Options.of(content.campaign.options)
    items = [item for item in content.items if item.withdrawn is None]
    if len(items) < 2:
        return None
    if options.budget is not None and len(live) >= options.budget:
        store.write(campaign, lambda writer: pause_if_spent(writer, now))
        return None
    planner = loaded_planner(items, live, options, content.campaign.seed, content.campaign.plans)
    count = min(max(FEWEST, 2 * PER_JUDGE * judges, len(items) // 2), MOST)
    place = {int(code): index for index, code in enumerate(live.codes)}
    hands = [(place[a], place[b]) for a, b in out if a in place and b in place]
    tired = [
        (place[a], place[b]) for a, b in tired_pairs(content.votes, options.tired_after) if a in place and b in place
    ]
    planned = _rounds(planner, count, hands, tired)
    ranks = ranks_by_code(planner, live)
    questions = _questions(planned, live, ranks, options) + _gold(content, options)
    summary = planner.summary()
    made: dict[str, Any] = {"questions": len(planned), "votes": len(live), "width": float(summary.width)}
    made |= {"stable": bool(summary.stable), "until_stable": int(summary.until_stable)}
    plan = store.write(campaign, lambda writer: _replace_queue(writer, questions, content.campaign, made, now, ranks))
    if plan is not None and plan.position is not None:
        keep_standing(store, campaign, standing_of(content, live, planner, plan.position))
    return None if plan is None else replace(plan, agreement=agreement(live))


def _rounds(
    planner: Planner, count: int, out: list[tuple[int, int]], tired: list[tuple[int, int]]
) -> list[tuple[int, int, str]]:
    """Pairs to ask, round after round, each planned with those before it as out.

    Within a round check pairs stand anywhere: a queue is often replaced before it is used up, and what stood last would
    never be asked. What fills up a round that has too few useful pairs comes with it, so further rounds add nothing.
    """
    found: list[tuple[int, int, str]] = []
    while len(found) < count:
        size = min(max(1, planner.round_size), count - len(found))
        asked = planner.plan(size, out=[*out, *((a, b) for a, b, _ in found)], tired=tired)
        kinds = [PLANNER_KINDS[kind] for kind in asked.kind.tolist()]
        order = _mixed(np.array([kind == "check" for kind in kinds], dtype=bool), planner)
        found += [(int(asked.left[k]), int(asked.right[k]), kinds[k]) for k in order]
        if len(asked) < size or "chosen" not in kinds:
            break
    return found


def _mixed(check: NDArray[np.bool_], planner: Planner) -> list[int]:
    """The chosen in their order, check pairs at random between them."""
    rng = np.random.default_rng([planner.seed, planner.plans])
    at = np.where(check, rng.random(len(check)), (np.cumsum(~check) - 0.5) / max(1, int(np.count_nonzero(~check))))
    order: list[int] = np.argsort(at, kind="stable").tolist()
    return order


def _questions(
    planned: list[tuple[int, int, str]], live: Live, ranks: NDArray[np.int32], options: Options
) -> list[Question]:
    """In the codes of the campaign, each check pair with what the order says of it now."""
    found = []
    for number, (left, right, name) in enumerate(planned):
        codes = int(live.codes[left]), int(live.codes[right])
        guess = predicted(ranks, *codes) if name == "check" else None
        wanted = options.votes_per_pair if name == "chosen" else 1
        found.append(Question(*codes, name, wanted, guess, place=number))  # type: ignore[arg-type]
    return found


def _gold(content: Content, options: Options) -> list[Question]:
    """Pairs whose answer is known; the desk hands them out by how far each judge is."""
    codes = {item.label: item.code for item in content.items if item.withdrawn is None}
    rows = [(codes[a], codes[b], answer) for a, b, answer in options.gold if a in codes and b in codes]
    return [
        Question(left, right, "gold", ALWAYS, float(answer), place=number)
        for number, (left, right, answer) in enumerate(rows)
    ]


def _replace_queue(
    writer: Writer,
    questions: list[Question],
    seen: Campaign,
    made: dict[str, Any],
    now: int,
    ranks: NDArray[np.int32],
) -> Plan | None:
    """Put the plan in the place of what was open; what went out in the meantime stays out."""
    campaign = writer.locked
    if campaign.plans != seen.plans or campaign.state == "closed":
        return None  # somebody else planned, or nobody needs it any more
    writer.lapse(now)
    writer.clear_queue(everything=True)
    writer.bring_forward(campaign.plans + 1)
    active = writer.active_pairs(campaign.id)
    withdrawn = {item.code for item in writer.items(campaign.id) if item.withdrawn is not None}
    number = campaign.plans + 1
    fresh: dict[int, Question] = {}
    for each in sorted(questions, key=lambda each: each.kind != "gold"):
        pair = pair_of(each.left, each.right)
        if pair not in active and not withdrawn & {each.left, each.right}:
            fresh.setdefault(pair, each)
    writer.add_questions([replace(each, plan=number) for each in fresh.values()])
    writer.change(plans=number, planned_at=seen.last_vote)
    writer.append_event(Event("plan", {"plan": number, "position": seen.last_vote} | made, "planner", now))
    writer.put_derived(RANKS, ranks.tobytes(), seen.position)
    position = writer.locked.position if campaign.position == seen.position else None
    return Plan(number, len(fresh), made["votes"], position, made["stable"], made["until_stable"])


def keep_snapshots(store: Store, content: Content) -> None:
    """Write the pieces of the log that are long enough and not kept yet; throw away pieces that do not fit."""
    votes, campaign = content.votes, content.campaign.id
    if not content.intact:
        store.write(campaign, lambda writer: writer.drop_snapshots())
    kept = set(store.read(lambda reader: reader.snapshot_ends(campaign)))
    for last in range(codec.PIECE, len(votes) + 1, codec.PIECE):
        if last not in kept:
            data = codec.encode(votes.part(last - codec.PIECE, last))
            store.write(campaign, partial(Writer.put_snapshot, last=last, data=data))


class Planning:
    """Plans all open campaigns of a store in a thread of its own, while this process holds the lock for it.

    `trouble` is the last thing that went wrong, for the organiser; judges go on with check pairs meanwhile.
    """

    def __init__(self, store: Store, every: float = 1.0) -> None:
        self.store, self.every = store, every
        self.trouble: str | None = None
        self.plans = 0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="podium-planner", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """End after the plan at hand."""
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        hold = None
        while not self._stop.wait(self.every):
            try:
                if hold is None or not hold.keep():
                    hold = self.store.hold("plan")
                if hold is not None:
                    self.tick()
                    self.trouble = None
            except PodiumError as problem:
                self.trouble = str(problem)
            except Exception as problem:
                log.exception("planning failed")
                self.trouble = f"no plan could be made ({type(problem).__name__}); judges go on with random pairs"
        if hold is not None:
            try:
                hold.release()
            except PodiumError as problem:
                self.trouble = str(problem)

    def tick(self) -> None:
        """Plan whatever is due."""
        now = self.store.now()
        for campaign in self.store.read(lambda reader: reader.campaigns()):
            if self.store.read(partial(_is_over, campaign=campaign)):
                self.store.write(campaign.id, lambda writer: pause_if_spent(writer, now))
            elif self.store.read(partial(is_due, campaign=campaign, now=now)):
                self.plans += plan_once(self.store, campaign.id, now) is not None
