"""The desk where judges come: pairs in hand, votes, skips, undoing, and items that are broken.

Every function is one transaction: a vote and the next pairs are one commit. A pair is in one judge's hands at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from podium.campaign.choosing import RANK_TYPE, RANKS, predicted
from podium.campaign.options import Options
from podium.errors import RefusedError
from podium.store.values import Campaign, Event, Judge, Question, Vote, pair_of

if TYPE_CHECKING:
    from podium.store.reader import Reader
    from podium.store.writer import Writer

__all__ = [
    "REPORTS",
    "SEEN_EVERY",
    "Ballot",
    "Hand",
    "Receipt",
    "answer_comprehension",
    "history",
    "next_pairs",
    "report",
    "understanding",
    "undo",
    "vote",
]

MOST_IN_HAND = 10
MOST_BALLOTS = 200
MOST_REASON = 2000  # characters
SEEN_EVERY = 60_000  # milliseconds between notes that a judge is there
LAST = 1_000_000_000  # place in the queue of pairs that were drawn because it was empty
MAX_READ_ITEMS = 400  # items from which on they are not all read to draw a pair
MOST_DRAWS = 100  # tries for each pair
GOLD_FIRST, GOLD_EVERY = 3, 10  # votes of a judge before the first gold pair, and between two
MOST_READ = 1000  # campaigns whose settings are remembered
ATTEMPTS = 2  # at the question about the instructions
REPORTS = ("broken", "missing", "unreadable", "offensive", "other")


@dataclass(frozen=True, slots=True)
class Ballot:
    """A vote as a judge sends it, under an id made before the first try. Outcome None is a skip.

    `version` is that of the instructions the judge has read; None for the newest.
    """

    id: str
    question: int
    outcome: float | None
    reason: str | None = None
    ms: int | None = None
    version: int | None = None


@dataclass(frozen=True, slots=True)
class Receipt:
    """What became of a vote: stored, repeated (it was stored before), or refused, with a code and words."""

    id: str
    status: Literal["stored", "repeated", "refused"]
    seq: int | None = None
    code: str | None = None
    message: str | None = None


@dataclass(frozen=True, slots=True)
class Hand:
    """The pairs a judge has in hand, the one to show first; with none, `why` in one word.

    It is draft, paused, closed, waiting (others have pairs in hand that this judge may still get) or done.
    """

    questions: tuple[Question, ...]
    why: str | None
    answered: int
    target: int | None


def next_pairs(writer: Writer, judge: int, now: int, count: int = 3) -> Hand:
    """The pairs in a judge's hands, filled up to `count`; the same ones after a reload."""
    who = _judge(writer, judge)
    return _hand(writer, who, now, min(max(count, 1), MOST_IN_HAND))


def vote(writer: Writer, judge: int, ballots: Sequence[Ballot], now: int, count: int = 3) -> tuple[list[Receipt], Hand]:
    """Take votes, each with its own receipt, and give the next pairs.

    A vote on a pair whose time was over counts too. The same id again is the same vote; with other content it is
    refused.
    """
    who = _judge(writer, judge)
    if len(ballots) > MOST_BALLOTS:
        raise RefusedError("too-many", f"{len(ballots)} votes at once; send at most {MOST_BALLOTS}")
    options = _options(writer.locked)
    receipts = []
    for ballot in ballots:
        try:
            receipts.append(_taken(writer, who, ballot, options, now))
        except RefusedError as problem:
            receipts.append(Receipt(ballot.id, "refused", None, problem.code, str(problem)))
    return receipts, _hand(writer, who, now, min(max(count, 0), MOST_IN_HAND), options)


def undo(writer: Writer, judge: int, id: str, of: str, now: int, count: int = 3) -> tuple[Receipt, Hand]:
    """Take back the vote (or skip) that was sent under the id `of`; its pair comes back into hand.

    What was undone before gives the first answer again.
    """
    who = _judge(writer, judge)
    _check_id(id)
    campaign = writer.locked.id
    known = writer.vote_of_client(campaign, judge, id)
    target = writer.vote_of_client(campaign, judge, of)
    if known is not None and (target is None or known.undoes != target.seq):
        raise RefusedError("conflict", f"the id {id!r} was used for something else; make a new one")
    if target is None or target.undoes is not None:
        raise RefusedError("unknown-vote", f"no vote of yours has the id {of!r}; it cannot be undone")
    done = known or writer.undo_of(campaign, target.seq)
    if done is not None:
        return Receipt(id, "repeated", done.seq), _hand(writer, who, now, count)
    _open_or_refuse(writer)
    row = replace(target, client_id=id, outcome=None, reason=None, undoes=target.seq, ms=None, received=now)
    stored = writer.append_votes([row])[0]
    _take_back(writer, who, target, now)
    return Receipt(id, "stored", stored.seq), _hand(writer, who, now, count)


def history(reader: Reader, campaign: int, judge: int, limit: int = 50) -> list[Vote]:
    """A judge's last votes and skips that stand, newest first."""
    return reader.history(campaign, judge, min(max(limit, 1), 500))


def understanding(reader: Reader, campaign: Campaign, judge: int) -> Literal["none", "asked", "passed", "failed"]:
    """Where a judge stands with the question about the instructions, if there is one: two attempts, then no pairs."""
    if not campaign.options.get("texts", {}).get("comprehension"):
        return "none"
    tries = [
        event.data["comprehension"]
        for event in reader.events(campaign.id)
        if event.verb == "judge" and event.data.get("judge") == judge and "comprehension" in event.data
    ]
    if any(tries):
        return "passed"
    return "failed" if len(tries) >= ATTEMPTS else "asked"


def answer_comprehension(writer: Writer, judge: int, answer: int, now: int) -> tuple[bool, int]:
    """Take an answer to that question; whether it was right, and how many attempts are left."""
    _judge(writer, judge)
    campaign = writer.locked
    if understanding(writer, campaign, judge) != "asked":
        raise RefusedError("answered", "this question is answered already, or there is none")
    asked = campaign.options["texts"]["comprehension"]
    right = answer == asked["right"]
    data = {"judge": judge, "comprehension": right}
    writer.append_event(Event("judge", data, f"judge {judge}", now))
    had = sum(
        event.data.get("judge") == judge and "comprehension" in event.data for event in writer.events(campaign.id)
    )
    return right, 0 if right else max(ATTEMPTS - had, 0)


def report(writer: Writer, judge: int, item: int, reason: str, now: int) -> Event:
    """Tell the organiser that an item is broken."""
    _judge(writer, judge)
    if reason not in REPORTS:
        raise RefusedError("bad-reason", f"{reason!r} is no reason for a report; choose among {', '.join(REPORTS)}")
    if not writer.items_of(writer.locked.id, [item]):
        raise RefusedError("unknown-item", f"there is no item {item} in this campaign")
    return writer.append_event(Event("report", {"item": item, "judge": judge, "reason": reason}, f"judge {judge}", now))


# Votes


def _judge(writer: Writer, judge: int) -> Judge:
    who = writer.judge(writer.locked.id, judge)
    if who.state == "revoked":
        raise RefusedError("revoked", "this link was withdrawn by the organiser; votes already made are safe")
    return who


def _options(campaign: Campaign) -> Options:
    """The settings of a campaign, read once for as long as its row is the same."""
    given, options = _READ.get(campaign.id, (None, None))
    if options is None or given is not campaign.options:
        options = Options.of(campaign.options)
        if len(_READ) >= MOST_READ:
            _READ.clear()
        _READ[campaign.id] = (campaign.options, options)
    return options


_READ: dict[int, tuple[dict[str, Any], Options]] = {}


def _open_or_refuse(writer: Writer) -> None:
    if writer.locked.state in ("closed", "draft"):
        words = {
            "closed": "the campaign is closed; votes already made are safe",
            "draft": "the campaign is not open yet",
        }
        raise RefusedError(writer.locked.state, words[writer.locked.state])


def _check_id(id: str) -> None:
    if not isinstance(id, str) or not 1 <= len(id) <= 100:
        raise RefusedError("bad-id", "a vote needs an id of 1 to 100 characters")


def _checked(ballot: Ballot, options: Options) -> None:
    _check_id(ballot.id)
    if ballot.outcome is not None and ballot.outcome not in (0, 0.5, 1):
        raise RefusedError("bad-outcome", f"outcome {ballot.outcome!r} is unknown; it is 1, 0, 0.5, or null for a skip")
    if ballot.outcome == 0.5 and not options.ties:
        raise RefusedError("no-ties", "this campaign takes no ties; choose a side or skip")
    if ballot.reason is not None and len(ballot.reason) > MOST_REASON:
        raise RefusedError("long-reason", f"the reason has {len(ballot.reason)} characters; at most {MOST_REASON}")


def _taken(writer: Writer, judge: Judge, ballot: Ballot, options: Options, now: int) -> Receipt:
    _checked(ballot, options)
    campaign = writer.locked
    outcome = None if ballot.outcome is None else float(ballot.outcome)
    held = writer.in_hand(judge.id, ballot.question) if campaign.state in ("open", "paused") else None
    if held is None:  # given long ago, answered or sent before, or the campaign is closed
        again = _again(writer, judge, ballot, outcome)
        if again is not None:
            return again
        _open_or_refuse(writer)
        held = _late(writer, judge, ballot)
    question, shown = held
    row = Vote(
        judge.id,
        ballot.id,
        question.left,
        question.right,
        outcome,
        question=question.id,
        reason=ballot.reason or None,
        kind=question.kind,
        version=campaign.version if ballot.version is None else min(ballot.version, campaign.version),
        predicted=question.predicted,
        ms=None if ballot.ms is None else min(max(int(ballot.ms), 0), 2**31),
        shown=shown,
        received=now,
    )
    stored = writer.append_new(row)
    if stored is None:
        again = _again(writer, judge, ballot, outcome)
        assert again is not None, "a row with this id is there"
        return again
    if outcome is None:
        _skipped(writer, judge, question, options)
    else:
        _answered(writer, judge, question)
    return Receipt(ballot.id, "stored", stored.seq)


def _again(writer: Writer, judge: Judge, ballot: Ballot, outcome: float | None) -> Receipt | None:
    """What to say of a ballot whose id was sent before; None where it was not."""
    known = writer.vote_of_client(writer.locked.id, judge.id, ballot.id)
    if known is None:
        return None
    if (known.question, known.outcome, known.undoes) == (ballot.question, outcome, None):
        return Receipt(ballot.id, "repeated", known.seq)
    raise RefusedError("conflict", f"the id {ballot.id!r} was used for another vote; make a new one")


def _late(writer: Writer, judge: Judge, ballot: Ballot) -> tuple[Question, int]:
    """A pair that the judge was given, has no more, and has not answered; and when it was given.

    What is in a judge's hands needs no such look: whoever answers a pair lets go of it, and gets it back by undoing.
    """
    campaign = writer.locked.id
    question = writer.question(campaign, ballot.question)
    shown = None if question is None else writer.shown(campaign, question.id, judge.id)
    if question is None or shown is None:
        raise RefusedError("not-given", f"pair {ballot.question} was not given to you; vote on the pair that is shown")
    if writer.standing_vote(campaign, question.id, judge.id) is not None:
        raise RefusedError("answered", f"you have answered pair {ballot.question}; undo that first")
    return question, shown


def _answered(writer: Writer, judge: Judge, question: Question) -> None:
    """One vote less is wanted. Who holds the pair in the meantime keeps it, and counts too."""
    wanted = max(question.wanted - 1, 0)
    if question.state == "out" and question.judge != judge.id:
        writer.change_question(question, wanted=wanted)
    elif question.state in ("open", "out"):
        state = "open" if wanted else "done"
        writer.change_question(question, wanted=wanted, state=state, judge=None, until=None)


def _skipped(writer: Writer, judge: Judge, question: Question, options: Options) -> None:
    """The pair goes to another judge, until enough have skipped it."""
    if question.state == "out" and question.judge != judge.id:
        return
    if question.state in ("open", "out"):
        tired = writer.count_skips(writer.locked.id, question.id) >= options.tired_after
        writer.change_question(question, state="tired" if tired else "open", judge=None, until=None)


def _take_back(writer: Writer, judge: Judge, target: Vote, now: int) -> None:
    """An undone vote is wanted again, of the same judge first, unless its pair is with somebody else by now."""
    question = None if target.question is None else writer.question(writer.locked.id, target.question)
    if question is None:
        return
    wanted = question.wanted + (target.outcome is not None)
    if question.state == "out" and question.judge != judge.id:
        writer.change_question(question, wanted=wanted)
        return
    if question.state in ("done", "tired") and writer.is_active(writer.locked.id, pair_of(target.left, target.right)):
        return
    question = writer.change_question(question, wanted=max(wanted, 1))
    writer.give(question, judge.id, now, now + _options(writer.locked).lease)


# Pairs in hand


def _hand(writer: Writer, judge: Judge, now: int, count: int, read: Options | None = None) -> Hand:
    campaign = writer.locked
    options = read or _options(campaign)
    if judge.seen is None or now - judge.seen > SEEN_EVERY:
        writer.change_judge(judge.id, seen=now)
    target = judge.target or options.target
    answered = writer.count_votes(campaign.id, judge.id)
    if campaign.state != "open":
        return Hand((), campaign.state, answered, target)
    if judge.state == "excluded":
        return Hand((), "done", answered, target)
    writer.lapse(now, judge.id)
    held = writer.held(campaign.id, judge.id)
    until = now + options.lease
    if held and min(question.until or 0 for question in held) < until - SEEN_EVERY:
        writer.extend(judge.id, until)
        held = writer.held(campaign.id, judge.id)
    missing = count - len(held)
    if missing > 0:
        new = _gold_due(writer, judge, answered) if options.gold else []
        new += writer.next_questions(judge, missing - len(new))
        if len(new) < missing:
            _draw_pairs(writer, judge, missing - len(new))
            known = {question.id for question in new}
            drawn = [each for each in writer.next_questions(judge, missing) if each.id not in known]
            new += drawn[: missing - len(new)]
        for question in new:
            writer.give(question, judge.id, now, until)
        held = writer.held(campaign.id, judge.id) if new else held  # in the order of a reload
    why = None if held else "waiting" if _may_come(writer, judge) else "done"
    return Hand(tuple(held[:count]), why, answered, target)


def _may_come(writer: Writer, judge: Judge) -> bool:
    """Whether others have pairs in hand that are new to this judge."""
    out = [each for each in writer.questions(writer.locked.id, "out") if each.kind != "gold"]
    seen = writer.seen_pairs(writer.locked.id, judge.id) if out else set()
    return any(
        pair_of(each.left, each.right) not in seen and not {each.left, each.right} & set(judge.conflicts)
        for each in out
    )


def _gold_due(writer: Writer, judge: Judge, answered: int) -> list[Question]:
    """A gold pair, where this judge has come far enough for the next."""
    had = writer.count_given(writer.locked.id, judge.id, "gold")
    return writer.next_questions(judge, 1, gold=True) if answered >= GOLD_FIRST + GOLD_EVERY * had else []


def _draw_pairs(writer: Writer, judge: Judge, count: int) -> None:
    """Random check pairs where the queue has nothing for this judge: nobody waits for a plan.

    Each carries what the order of the last plan says of it, as a planned one does.
    """
    campaign = writer.locked
    size = writer.count_items(campaign.id)
    seen = writer.seen_pairs(campaign.id, judge.id)
    rng = np.random.default_rng([campaign.seed, campaign.last_vote, judge.id, len(seen)])
    if size > MAX_READ_ITEMS:
        pairs = _pairs_of_many(writer, judge, size, seen, count, rng)
    else:
        codes = [code for code in writer.active_codes(campaign.id) if code not in judge.conflicts]
        pairs = _random_pairs(codes, seen | writer.active_pairs(campaign.id), count, rng)
    ranks = np.frombuffer(writer.derived(campaign.id, RANKS) or b"", dtype=RANK_TYPE)
    writer.add_questions(
        [Question(*pair, "check", predicted=predicted(ranks, *pair), plan=campaign.plans, place=LAST) for pair in pairs]
    )


def _pairs_of_many(
    writer: Writer, judge: Judge, size: int, seen: set[int], count: int, rng: np.random.Generator
) -> list[tuple[int, int]]:
    """The same among many items, without reading them all: what is drawn is looked up."""
    campaign, drawn = writer.locked.id, dict[int, tuple[int, int]]()
    for _ in range(MOST_DRAWS * count):
        left, right = (int(code) for code in rng.choice(size, 2, replace=False))
        key = pair_of(left, right)
        if key in seen or key in drawn or {left, right} & set(judge.conflicts) or writer.is_active(campaign, key):
            continue
        if all(item.withdrawn is None for item in writer.items_of(campaign, [left, right]).values()):
            drawn[key] = (left, right)
            if len(drawn) == count:
                break
    return list(drawn.values())


def _random_pairs(codes: Sequence[int], seen: set[int], count: int, rng: np.random.Generator) -> list[tuple[int, int]]:
    """Uniform among the pairs that are not in `seen`, sides drawn."""
    n = len(codes)
    everything = n * (n - 1) // 2
    pairs: dict[int, tuple[int, int]] = {}
    if everything <= 4 * (len(seen) + count):
        rest = [
            (codes[a], codes[b]) for a in range(n) for b in range(a + 1, n) if pair_of(codes[a], codes[b]) not in seen
        ]
        some = [rest[k] for k in rng.permutation(len(rest))[:count]]
    else:
        while len(pairs) < count:
            a, b = (codes[k] for k in rng.choice(n, 2, replace=False))
            if (key := pair_of(a, b)) not in seen:
                pairs[key] = (a, b)
        some = list(pairs.values())
    return [(a, b) if rng.random() < 0.5 else (b, a) for a, b in some]
