"""From leases to calls to votes: so many calls out at a time, on disk before they are sent and when answered."""

from __future__ import annotations

import asyncio
import secrets
import signal
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from podium.campaign.desk import Ballot
from podium.campaign.planning import Plan, plan_once
from podium.errors import RefusedError, UnavailableError
from podium.judge.asking import Asker, shown_to
from podium.judge.http import UnreachableError
from podium.judge.ledger import Given, Ledger, Material, new_request
from podium.judge.prompt import Asked
from podium.judge.report import tally_of
from podium.judge.settings import Progress, Settings
from podium.judge.tally import Position
from podium.judge.verdict import Verdict
from podium.store.values import Call, Question

__all__ = ["ROUNDING", "Run"]

STOP_AT_ONCE = (
    "interrupted",
    "gone",
    "unheard",
    "unread",
    "max-cost",
    "rejected",
    "refused",
    "failed",
)  # reasons to send nothing more
MAX_WAIT_AFTER_INTERRUPT = 10.0  # seconds for calls that are out after Ctrl-C
MAX_SILENCE = 600.0  # seconds without any answer after which the server is gone
UNREAD = ("form", "empty", "length", "unknown-value")  # problems of answers that are none
MAX_UNREAD = 10  # answers from the first at which to stop where none is a verdict
WINDOW, MAX_REJECTED = 50, 10  # of the last calls, rejected ones at which to stop
TOLD_EVERY = 0.5  # seconds between reports of progress
KEEP_EVERY = 5.0  # seconds between signs of life to the lock
PAIRS_DRAWN_AT_ONCE = 256  # random pairs that are drawn at once
MOST_PLANS = 3  # in a row, where others take what was planned
SIDE_BY_SIDE = 6  # items for each chosen pair that is out
LETTERS = 4  # of a token
ROUNDING = 1e-9  # of a sum of costs
RETRY_AFTER = 5.0  # seconds before a call that could not be delivered is tried anew


@dataclass(slots=True)
class _Pair:
    """A pair in hand, and what was said about it, for its left item; a skip is None."""

    question: Question
    needed: int
    said: dict[int, Verdict] = field(default_factory=dict)


@dataclass(slots=True)
class _Ended:
    call: Call
    ballots: list[Ballot]
    written: asyncio.Future[None]


class Run:
    """One run of one judge on one campaign. `why` says in the end what stopped it."""

    def __init__(
        self,
        ledger: Ledger,
        asker: Asker,
        material: Material,
        settings: Settings,
        *,
        items: int,
        wanted: Sequence[tuple[int, int]] = (),
        told: Callable[[Progress], None] | None = None,
        keep: Callable[[], bool] | None = None,
    ) -> None:
        self.ledger, self.asker, self.material, self.settings = ledger, asker, material, settings
        self.items, self.wanted, self.told, self.keep = items, wanted, told, keep
        self.why: str | None = None
        self.words = ""  # of the server, where it stopped us
        self.progress = Progress()
        self.calibration: Position | None = None
        self.plan: Plan | None = None
        self._rng = np.random.default_rng(settings.seed)
        self._todo: deque[Call] = deque()
        self._pairs: dict[int, _Pair] = {}
        self._ended: list[_Ended] = []
        self._problems: deque[bool] = deque(maxlen=WINDOW)
        self._dearest: float | None = None  # cost of a call; None: none came back yet
        self._read = False  # whether an answer of this run was a verdict or a refusal
        self._came = 0  # votes since the last plan
        self._unwritten = 0  # votes that are not yet on disk, and where they go from there
        self._changed = asyncio.Event()
        self._begun = self._heard = time.monotonic()
        self._workers: list[asyncio.Task[None]] = []

    # What runs side by side

    async def go(self) -> str:
        """Ask until there is a reason to stop; returns it."""
        self._resume()
        writer = asyncio.create_task(self._write())
        feeder = asyncio.create_task(self._feed())
        self._workers = [asyncio.create_task(self._work()) for _ in range(self.settings.concurrency)]
        reporter = asyncio.create_task(self._report())
        with self._interruptible():
            try:
                await _first_problem([feeder, writer, *self._workers])
            finally:
                for task in (feeder, *self._workers):
                    task.cancel()
                await asyncio.gather(feeder, *self._workers, return_exceptions=True)
                self._stop(self.why or "failed")
                with suppress(asyncio.CancelledError):
                    await writer
                reporter.cancel()
                await asyncio.gather(reporter, return_exceptions=True)
                close = getattr(self.asker, "close", None)
                if close is not None:
                    await close()
        assert self.why is not None
        return self.why

    async def _work(self) -> None:
        while (taken := await self._next()) is not None:
            await self._call(taken)

    async def _next(self) -> Call | None:
        while not self._todo or not self._affords(self._todo[0]):
            if self._todo and not self.progress.out:
                self._stop("max-cost")
            if self.why is not None and not self._todo:
                return None
            await self._change()
        if len(self._todo) <= self.settings.concurrency:
            self._notify()
        return self._todo.popleft()

    async def _call(self, call: Call) -> None:
        asked = self.material.asked(call, secrets.token_hex(4))
        if self.settings.keep_prompts:
            call = replace(call, prompt=shown_to(self.asker, asked))
        self.progress.out += 1
        begun = time.monotonic()
        try:
            verdict = await self._answer(call, asked)
        except UnreachableError as problem:
            call = replace(call, tries=(call.tries or 0) + problem.tries)
            self._book(call)
            self._unreachable(problem.words)
            if self.why not in STOP_AT_ONCE:  # else it is asked when somebody goes on
                self._todo.append(call)
                await asyncio.sleep(RETRY_AFTER)
            return
        finally:
            self.progress.out -= 1
        self._heard = time.monotonic()
        ended = _completed(call, verdict, int(1000 * (self._heard - begun)), self.settings.cost(verdict), self._now())
        self._count(ended, verdict)
        await self._finish(_with_earlier(ended, call), self._vote(ended, verdict))
        if call.again is None and self.settings.repeat > 0 and self._rng.random() < self.settings.repeat:
            await self._again(call, asked)

    async def _again(self, call: Call, asked: Asked) -> None:
        """The same question once more, word for word."""
        if self.why is not None or self._rooms() < 1:
            return
        fresh = replace(call, tokens_in=None, tokens_out=None, counted=0, tries=None, cost=None)
        repeated = replace(fresh, request=new_request(), again=call.request, at=self._now())
        await asyncio.to_thread(self.ledger.begin, [repeated])
        self.progress.out += 1
        begun = time.monotonic()
        try:
            verdict = await self._answer(repeated, replace(asked, id=repeated.request))
        except UnreachableError as problem:
            self._book(replace(repeated, tries=problem.tries))
            return  # it only measures
        finally:
            self.progress.out -= 1
        ended = _completed(
            repeated, verdict, int(1000 * (time.monotonic() - begun)), self.settings.cost(verdict), self._now()
        )
        self._count(ended, verdict)
        await self._finish(ended, [])

    async def _answer(self, call: Call, asked: Asked) -> Verdict:
        """Ask; where that ends early, an answer that was paid for is written down with the call, which stays open."""
        try:
            return await self.asker.answer(asked)
        except UnreachableError as problem:
            self.progress.lost += problem.lost
            raise
        except BaseException:
            paid: Verdict | None = getattr(self.asker, "paid", {}).pop(call.request, None)
            if paid is not None:
                part = _completed(call, paid, 0, self.settings.cost(paid), 0)
                self._book(replace(_with_earlier(part, call), problem=None, ms=None, done=None))
            raise

    def _book(self, call: Call) -> None:
        """Have a call that is still open written with what it took so far."""
        self._ended.append(_Ended(call, [], asyncio.get_running_loop().create_future()))
        self._notify()

    async def _finish(self, call: Call, ballots: list[Ballot]) -> None:
        """Wait until the answer is on disk: until then the call is out."""
        written = asyncio.get_running_loop().create_future()
        self._ended.append(_Ended(call, ballots, written))
        self._notify()
        await asyncio.shield(written)

    async def _write(self) -> None:
        """Whatever came back goes to disk together."""
        store, campaign = self.ledger.store, self.ledger.campaign.id
        while True:
            if not self._ended:
                if self.why is not None and all(each.done() for each in self._workers):
                    return
                await self._change(0.1 if self.why is not None else None)
                continue
            batch, self._ended = self._ended, []
            now = self._now()
            calls, ballots = [each.call for each in batch], [row for each in batch for row in each.ballots]
            refused = await asyncio.wrap_future(
                store.submit(campaign, lambda writer, c=calls, b=ballots, t=now: self.ledger.end(writer, c, b, t))  # type: ignore[misc]
            )
            for each in batch:
                if not each.written.done():
                    each.written.set_result(None)
            refused += await self._delivered(ballots)
            self._unwritten -= len(ballots)
            self._came += len(ballots)
            if refused:
                self.words = refused[0]
                self._stop("refused")
            self._notify()

    async def _delivered(self, ballots: list[Ballot]) -> list[str]:
        """Votes that count elsewhere go there once they are on disk; what was refused, in words."""
        if self.ledger.plans or not ballots:
            return []
        try:
            return await asyncio.to_thread(self.ledger.deliver, ballots)
        except UnavailableError as problem:  # they are sent when somebody goes on
            self.words = str(problem)
            self._stop("gone")
            return []

    async def _report(self) -> None:
        kept = time.monotonic()
        while True:
            await asyncio.sleep(TOLD_EVERY)
            if self.keep is not None and time.monotonic() - kept > KEEP_EVERY:
                kept = time.monotonic()
                if not await asyncio.to_thread(self.keep):
                    self.words = "another run has taken the campaign over"
                    self._stop("refused")
            self.progress.seconds = time.monotonic() - self._begun
            if self.told is not None:
                self.told(self.progress)

    # What to ask

    async def _feed(self) -> None:
        """Keep enough calls ready that nobody waits, and no more: what is planned later knows more."""
        stage = await asyncio.to_thread(self.ledger.stage)
        self.progress.calibrating = stage != "done" and self.settings.calibration > 0
        try:
            while self.why is None:
                if len(self._todo) >= self.settings.concurrency:
                    await self._change()
                elif stage == "new":
                    stage = await self._calibrate()
                elif stage == "drawn":
                    stage = await self._calibration_ends()
                else:
                    await self._fill()
        except RefusedError as problem:  # the calls that are out may still come back
            self.words = str(problem)
            self._stop("refused")
        except UnavailableError as problem:
            self.words = str(problem)
            self._stop("gone")

    async def _calibrate(self) -> str:
        n = self.items
        pairs = n * (n - 1) // 2
        most = max(0, min(self._left(), self._rooms() // 2))  # of known pairs and another judge's, too
        count = min(self.settings.calibration, max(1, pairs // 4))
        self._put(await asyncio.to_thread(self.ledger.draw, count, 2, self.wanted, calibration=True, most=most), 2)
        return "drawn"

    async def _calibration_ends(self) -> str:
        """Nothing else is asked until it is over: it may end the run."""
        if self._is_busy():
            await self._change()
            return "drawn"
        if self.ledger.draws_more() and self._left() > 0 and self._rooms() > 1:
            return "new"
        tally = await asyncio.to_thread(tally_of, self.ledger, self.material)
        self.calibration = tally.position
        if tally.skips and not tally.pairs and not self.settings.anyway:
            self._stop("unread")
            return "drawn"
        if self.calibration is not None and self.calibration.is_noise and not self.settings.anyway:
            self._stop("noise")
            return "drawn"
        await asyncio.to_thread(self.ledger.calibrated)
        self.progress.calibrating = False
        return "done"

    async def _fill(self) -> None:
        """Pairs for the calls that may go out next, planned anew where enough came in the meantime."""
        orders = 1 if self.settings.one_order else 2
        room = min(self._left(), self._rooms() // orders)
        if room <= 0:
            if self._pairs:
                await self._change()
            else:
                self._stop(self._used() if self._left() <= 0 else self._spent())
            return
        count = min(room, max(1, self.settings.concurrency // orders))
        busy = self._is_busy()  # before pairs are asked for: what ends meanwhile may free some
        if self.settings.one_order:
            # No answer changes these.
            given = await asyncio.to_thread(self.ledger.draw, min(room, PAIRS_DRAWN_AT_ONCE), orders)
        else:
            # Of few items, few pairs are worth asking before others are answered: calls cost more than time.
            count = min(count, max(2, self.items // SIDE_BY_SIDE) - len(self._pairs))
            if count <= 0:
                await self._change()
                return
            given = await self._planned(count)
        self._put(given, orders)
        if not given[0] and self.why is None:
            if not busy:
                self._stop("finished")
            elif self._is_busy():
                await self._change()

    def _is_busy(self) -> bool:
        """Whether pairs are in hand, or votes on their way."""
        return bool(self._pairs) or self._unwritten > 0

    async def _planned(self, count: int) -> Given:
        given: Given = ([], [])
        if not self.ledger.plans:
            return await asyncio.to_thread(self.ledger.take, count, 2)
        if self.plan is not None and self._came < max(1, self.items // 4):
            given = await asyncio.to_thread(self.ledger.take, count, 2)
        shared = self.ledger.store.remote and not self._pairs  # others vote too, and take what was planned
        tries = 0
        while not given[0] and tries < MOST_PLANS and (self.plan is None or self._came > 0 or shared):
            tries += 1
            if not await self._plan():
                return [], []
            given = await asyncio.to_thread(self.ledger.take, count, 2)
        if not given[0] and not self._pairs and self.settings.budget is not None:
            # What is planned for the campaign this judge has judged: as people would, it gets pairs at random.
            given = await asyncio.to_thread(self.ledger.draw, count, 2)
        return given

    async def _plan(self) -> bool:
        """Choose the next pairs; whether to go on."""
        came, store = self._came, self.ledger.store
        made = await asyncio.to_thread(plan_once, store, self.ledger.campaign.id, store.now())
        self.plan = made or self.plan or Plan(0, 0, 0)
        self._came -= came
        if made is not None:
            self.progress.until_stable = made.until_stable
            self.progress.agreed = None if made.agreement is None else made.agreement.value
            if made.stable and self._stops_when_stable():
                self._stop("stable")
                return False
        return True

    def _stops_when_stable(self) -> bool:
        return self.settings.budget is None and self.settings.preset in ("quick", "standard")

    def _put(self, given: Given, orders: int) -> None:
        """Let the calls about these pairs go."""
        questions, calls = given
        for each in questions:
            self._pairs[each.id] = _Pair(each, orders)
        self.progress.calls += len(calls)
        self._todo.extend(calls)
        self._notify()

    def _resume(self) -> None:
        """Take up what was in hand: calls that were answered count, the others are sent again."""
        spent = self.ledger.spent()
        self._dearest = spent.dearest
        orders = 1 if self.settings.one_order else 2
        self.progress = Progress(
            pairs=spent.votes, limit=self.settings.most_pairs(self.items), calls=spent.calls, orders=orders,
            skips=spent.skips, tokens_in=spent.tokens_in, tokens_out=spent.tokens_out, cost=spent.cost,
        )  # fmt: skip
        questions, calls = self.ledger.held()
        turns = {(call.question, call.turned) for call in calls}
        known = {
            each.id: _Pair(each, sum((each.id, turned) in turns for turned in (0, 1)) or orders) for each in questions
        }
        self._pairs = known
        for call in calls:
            pair = known[call.question]
            if call.done is not None and call.again is None:
                said = Verdict(call.outcome, call.reason, problem=call.problem)  # type: ignore[arg-type]
                pair.said[call.turned] = _for_left(call, said)
            elif call.again is None:
                self._todo.append(call)
        begun = {call.question for call in calls}
        now, fresh = self._now(), []
        for question in questions:
            if question.id not in begun:
                fresh += [self.ledger.new_call(question, turned, now) for turned in range(orders)]
        if fresh:
            self.ledger.begin(fresh)
            self.progress.calls += len(fresh)
            self._todo.extend(fresh)

    # What came back

    def _count(self, call: Call, verdict: Verdict) -> None:
        done = self.progress
        done.here += 1
        done.calls += call.again is not None
        done.tokens_in += verdict.tokens_in or 0
        done.tokens_out += verdict.tokens_out or 0
        done.cost += call.cost or 0.0
        done.lost += verdict.lost
        if call.cost is not None:
            self._dearest = max(call.cost, self._dearest or 0.0)
        self._read = self._read or verdict.problem not in (*UNREAD, "rejected", "too-long")
        if verdict.problem in UNREAD and not self._read and done.here >= MAX_UNREAD and not self.settings.anyway:
            self._stop("unread")
        self._problems.append(verdict.problem == "rejected")
        if verdict.problem == "rejected" and sum(self._problems) >= MAX_REJECTED:
            self.words = verdict.raw
            self._stop("rejected")

    def _vote(self, call: Call, verdict: Verdict) -> list[Ballot]:
        """The vote on a pair whose calls are all answered."""
        if call.again is not None:
            return []
        pair = self._pairs[call.question]
        pair.said[call.turned] = _for_left(call, verdict)
        if len(pair.said) < pair.needed:
            return []
        del self._pairs[call.question]
        self._unwritten += 1
        return [self._ballot(pair, call)]

    def _ballot(self, pair: _Pair, call: Call) -> Ballot:
        said = [pair.said[turned].outcome for turned in sorted(pair.said)]
        outcome = said[0]
        if len(said) == 2:
            first, second = said
            if first is None or second is None:
                outcome = None
            else:
                self.progress.both += 1
                self.progress.same += first == second
                outcome = first if first == second else 0.5
        if outcome is None:
            self.progress.skips += 1
        else:
            self.progress.pairs += 1
        reason = next((each.reason for each in pair.said.values() if each.reason), None)
        return Ballot(f"judge-{call.question}", call.question, outcome, reason, call.ms)

    def _unreachable(self, words: str) -> None:
        never = not self.progress.here  # a server never heard is not waited for
        if never or time.monotonic() - self._heard > MAX_SILENCE:
            self.words = words
            self._stop("unheard" if never and not self.ledger.spent().answered else "gone")

    # Limits and the end

    def _left(self) -> int:
        """Pairs that the budget allows beside those in hand."""
        return self.progress.limit - self.progress.pairs - self.progress.skips - len(self._pairs)

    def _rooms(self) -> int:
        """Calls that may still be begun."""
        most = 10**9
        if self.settings.max_calls is not None:
            most = self.settings.max_calls - self.progress.calls
        if self.settings.max_cost is not None and self._dearest:
            begun = self.progress.cost + (len(self._todo) + self.progress.out) * self._dearest
            most = min(most, int((self.settings.max_cost * (1 + ROUNDING) - begun) / self._dearest))
        return most

    def _affords(self, call: Call) -> bool:
        """Whether a call may go out: those that are out are expected to cost as much as the dearest so far.

        The first goes out alone, as nothing is known of what comes back, and not where its prompt is too dear already.
        """
        limit, done = self.settings.max_cost, self.progress
        if limit is None or not self.settings.is_priced:
            return True
        if self._dearest is not None:
            return done.cost + (done.out + 1) * self._dearest <= limit * (1 + ROUNDING)
        if done.out:
            return False
        asked = replace(self.material.asked(call, "fence"), left_image=None, right_image=None)
        prompt = len(shown_to(self.asker, asked)) / LETTERS * (self.settings.price_in or 0.0) / 1e6
        if done.cost + prompt > limit:
            self.words = f"the prompt of the next call alone costs about {prompt:.2g}"
        return done.cost + prompt <= limit

    def _used(self) -> str:
        whole = self.settings.budget is None and self.progress.limit >= self.items * (self.items - 1) // 2
        return "finished" if whole else "budget"

    def _spent(self) -> str:
        made = self.settings.max_calls is not None and self.progress.calls + 1 >= self.settings.max_calls
        return "max-calls" if made else "max-cost"

    def _stop(self, why: str) -> None:
        if self.why is None:
            self.why = why
        if why in STOP_AT_ONCE:
            self._todo.clear()  # what is in hand is asked when somebody goes on
        self._notify()

    @contextmanager
    def _interruptible(self) -> Iterator[None]:
        """Ctrl-C: no new calls, and some seconds for those that are out; a second one ends them too."""
        loop = asyncio.get_running_loop()
        pressed: list[asyncio.TimerHandle] = []

        def end() -> None:
            for task in self._workers:
                task.cancel()

        def press() -> None:
            self._stop("interrupted")
            pressed.append(loop.call_later(0.0 if pressed else MAX_WAIT_AFTER_INTERRUPT, end))

        try:
            loop.add_signal_handler(signal.SIGINT, press)
            loop.add_signal_handler(signal.SIGTERM, press)
        except (NotImplementedError, ValueError, RuntimeError):  # not the main thread, or not a system that can
            yield
            return
        try:
            yield
        finally:
            for handle in pressed:
                handle.cancel()
            loop.remove_signal_handler(signal.SIGINT)
            loop.remove_signal_handler(signal.SIGTERM)

    async def _change(self, timeout: float | None = None) -> None:
        changed = self._changed
        with suppress(TimeoutError):
            await asyncio.wait_for(changed.wait(), timeout)

    def _notify(self) -> None:
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()

    def _now(self) -> int:
        return time.time_ns() // 1_000_000


async def _first_problem(tasks: list[asyncio.Task[None]]) -> None:
    """Wait for all, or for the first that fails; one that was cancelled has just ended."""
    waiting = set(tasks)
    while waiting:
        done, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            if not task.cancelled() and (problem := task.exception()) is not None:
                raise problem


def _for_left(call: Call, verdict: Verdict) -> Verdict:
    """The verdict for the left item of the question, which a turned call shows second."""
    return verdict if not call.turned or verdict.outcome is None else replace(verdict, outcome=1 - verdict.outcome)


def _completed(call: Call, verdict: Verdict, ms: int, cost: float | None, now: int) -> Call:
    return replace(
        call,
        model=verdict.model,
        raw=verdict.raw,
        reason=verdict.reason,
        outcome=verdict.outcome,
        p=verdict.p,
        problem=verdict.problem,
        tokens_in=verdict.tokens_in,
        tokens_out=verdict.tokens_out,
        counted=int(verdict.counted),
        ms=ms,
        tries=verdict.tries,
        cost=cost,
        done=now,
    )


def _with_earlier(ended: Call, before: Call) -> Call:
    """A call with what it took before it was sent again."""
    return replace(
        ended,
        tokens_in=_sum(ended.tokens_in, before.tokens_in),
        tokens_out=_sum(ended.tokens_out, before.tokens_out),
        counted=int(bool(ended.counted or before.counted)),
        tries=_sum(ended.tries, before.tries),
        cost=_sum(ended.cost, before.cost),
    )


def _sum(one: Any, other: Any) -> Any:
    return one if other is None else other if one is None else one + other
