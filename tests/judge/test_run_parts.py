"""A run from the inside: each call as it goes out, comes back and is written; what ends it, and what goes where."""

import asyncio
import concurrent.futures
import dataclasses
import math
import os
import signal
import types

import numpy as np
import pytest

from judge.test_parts import ASKED, Far, Quiet, Stock, begun, call, filled, made, question
from podium.campaign import setup
from podium.campaign.live import live_votes
from podium.campaign.standing import standing
from podium.errors import InputError
from podium.judge import Verdict, judge_pairs, ledger, pairs, remote, run, simulated
from podium.judge.asking import FunctionJudge
from podium.judge.http import UnreachableError
from podium.judge.run import Run
from podium.judge.settings import Progress, Settings
from podium.judge.tally import Tally
from podium.store import open_store
from podium.store.values import Vote


@pytest.fixture
def store(tmp_path):
    with open_store(str(tmp_path / "judge.db"), new=True) as store:
        yield store


class Says:
    """An asker that says this, or fails so, and notes what it was asked and how many were out."""

    def __init__(self, *said):
        self.said, self.asked, self.out = list(said), [], []

    async def answer(self, question):
        self.asked.append(question)
        self.out.append(self.run.progress.out)
        said = self.said.pop(0)
        if isinstance(said, BaseException):
            raise said
        return said


def shown(fences):
    def asked(call, fence):
        fences.append(fence)
        return dataclasses.replace(ASKED, id=call.request, fence=fence)

    return types.SimpleNamespace(asked=asked)


def running(asker, settings=None, pairs_in_hand=(1,), **more):
    fences = []
    one = Run(Quiet(**more), asker, shown(fences), settings or Settings(), items=9)
    asker.run = one
    one._pairs = {k: run._Pair(question(k), 2) for k in pairs_in_hand}
    return one, fences


async def writing(one, work):
    """Do it while what comes back is taken as written; the calls and ballots that came."""
    came = []

    async def write():
        while True:
            for each in one._ended:
                came.append((each.call, each.ballots))
                each.written.done() or each.written.set_result(None)
            one._ended = []
            await asyncio.sleep(0)

    task = asyncio.create_task(write())
    await asyncio.wait_for(work, 20)
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    task.cancel()
    return came


# ---- one call ------------------------------------------------------------------------------------------------------


def test_a_call_comes_back_with_its_time_and_cost_and_goes_to_disk(monkeypatch):
    clock = iter([100.0, 100.0, 102.5])
    monkeypatch.setattr(run, "time", types.SimpleNamespace(monotonic=lambda: next(clock), time_ns=lambda: 5_999_999))
    asker = Says(Verdict(1.0, "so", tokens_in=1000, tokens_out=10, raw="r"))

    async def go():
        one, fences = running(asker, Settings(price_in=2.0, price_out=100.0))
        came = await writing(one, one._call(call(1, at=3)))
        return one, fences, came

    one, fences, ((done, ballots),) = asyncio.run(go())
    assert done == call(1, at=3, reason="so", outcome=1.0, raw="r", tokens_in=1000, tokens_out=10, ms=2500, tries=1,
                        cost=pytest.approx(0.003), done=5)  # fmt: skip
    assert ballots == []  # the other order is out
    assert (asker.out, one.progress.out, one.progress.here, one._heard) == ([1], 0, 1, 102.5)
    assert one.progress.cost == pytest.approx(0.003)
    assert [len(each) for each in fences] == [8]
    assert asker.asked[0].id == "r1-0"


def test_the_second_call_about_a_pair_brings_its_vote_and_fences_differ():
    asker = Says(Verdict(1.0), Verdict(0.0, "why"))

    async def go():
        one, fences = running(asker)
        came = await writing(one, one._call(call(1)))
        came += await writing(one, one._call(call(1, 1)))
        return one, fences, came

    one, fences, came = asyncio.run(go())
    assert [[(each.question, each.outcome, each.reason) for each in ballots] for _, ballots in came] == [
        [], [(1, 1.0, "why")],
    ]  # fmt: skip
    assert len(set(fences)) == 2
    assert one._unwritten == 1
    assert [each.prompt for each, _ in came] == [None, None]


def test_what_was_shown_is_kept_where_that_is_asked_for():
    async def go():
        one, _ = running(Says(Verdict(1.0)), Settings(keep_prompts=True))
        return await writing(one, one._call(call(1)))

    ((done, _),) = asyncio.run(go())
    assert done.prompt == '["Which?", "good", "bad"]'


def test_what_a_call_took_before_is_added_when_it_comes_back():
    before = call(1, tokens_in=5, tokens_out=None, counted=1, tries=7, cost=0.5)

    async def go():
        one, _ = running(Says(Verdict(1.0, tokens_in=10, tokens_out=20, tries=2)), Settings(price_in=1e6))
        return one, await writing(one, one._call(before))

    one, ((done, _),) = asyncio.run(go())
    assert (done.tokens_in, done.tokens_out, done.counted, done.tries, done.cost) == (15, 20, 1, 9, 10.5)
    assert (one.progress.tokens_in, one.progress.cost) == (10, 10.0)  # what was before is counted already
    assert [run._sum(*each) for each in ((1, 2), (None, 2), (1, None), (None, None), (0, 0.5))] == [3, 2, 1, None, 0.5]
    plain = run._with_earlier(call(2, counted=0, tries=1), call(2))
    assert (plain.counted, plain.tries, plain.tokens_in) == (0, 1, None)


@pytest.mark.parametrize(("why", "again"), [(None, True), ("stable", True), ("gone", False), ("interrupted", False)])
def test_a_call_that_is_not_delivered_is_put_off_unless_nothing_more_is_sent(monkeypatch, why, again):
    slept = []

    async def go():
        asker = Says(UnreachableError("gone", 7, 3))
        one, _ = running(asker)
        one.why, one.progress.here, one._heard = why, 1, 1e12
        sleep = asyncio.sleep

        async def noted(seconds):
            slept.append(seconds) if seconds else None
            await sleep(0)

        with monkeypatch.context() as patch:
            patch.setattr(run.asyncio, "sleep", noted)
            came = await writing(one, one._call(call(1, tries=2)))
        return one, came

    one, came = asyncio.run(go())
    assert [(each.tries, each.done, ballots) for each, ballots in came] == [(9, None, [])]
    assert [each.tries for each in one._todo] == ([9] if again else [])
    assert slept == ([5.0] if again else [])
    assert (one.progress.lost, one.progress.out, one.why) == (3, 0, why)


@pytest.mark.parametrize(("share", "drawn", "again"), [(0.0, 0.0, 0), (0.3, 0.29, 1), (0.3, 0.3, 0), (1.0, 0.9, 1)])
def test_a_share_of_calls_is_asked_again(share, drawn, again):
    async def go():
        one, _ = running(Says(Verdict(1.0, tries=3, tokens_in=4), Verdict(0.0, tries=2)), Settings(repeat=share))
        one._rng = types.SimpleNamespace(random=lambda: drawn)
        came = await writing(one, one._call(call(1, tries=5, cost=0.5, tokens_in=8, tokens_out=9, counted=1)))
        return one, came

    one, came = asyncio.run(go())
    assert len(came) == 1 + again
    assert len(one.ledger.begun) == again
    if again:
        (first, _), (second, ballots) = came
        (begun,) = one.ledger.begun
        assert (second.again, ballots, second.request) == (first.request, [], begun.request)
        assert second.request != first.request
        assert (begun.tries, begun.tokens_out, begun.cost, begun.counted, begun.tokens_in) == (
            None,
            None,
            None,
            0,
            None,
        )
        assert (second.tries, second.outcome, second.tokens_out, second.cost) == (2, 0.0, None, None)
        assert (one.asker.asked[1].id, one.asker.asked[1].fence) == (second.request, one.asker.asked[0].fence)
        assert (one.progress.here, one.progress.calls) == (2, 1)


def test_a_call_that_is_itself_a_repeat_is_not_asked_again():
    async def go():
        one, _ = running(Says(Verdict(1.0)), Settings(repeat=1.0))
        return await writing(one, one._call(call(1, again="r0")))

    assert len(asyncio.run(go())) == 1


def test_a_repeat_has_its_own_time_cost_and_moment(monkeypatch):
    clock, moments = iter([1.0, 1.0, 4.0]), iter([7_000_000, 9_000_000])
    own = types.SimpleNamespace(monotonic=lambda: next(clock), time_ns=lambda: next(moments))
    monkeypatch.setattr(run, "time", own)

    async def go():
        one, _ = running(Says(Verdict(0.0, tokens_in=3)), Settings(price_in=1e6))
        return one, await writing(one, one._again(call(1, ms=1, at=2), ASKED))

    one, ((done, _),) = asyncio.run(go())
    assert (done.ms, done.cost, done.at, done.done, done.again) == (3000, 3.0, 7, 9, "r1-0")
    assert one.progress.cost == 3.0


def test_a_repeat_that_is_not_delivered_keeps_its_tries():
    async def go():
        one, _ = running(Says(UnreachableError("gone", 7, 2)))
        return one, await writing(one, one._again(call(1, tries=3), ASKED))

    one, came = asyncio.run(go())
    assert [(each.tries, each.again, each.done) for each, _ in came] == [(7, "r1-0", None)]
    assert (one.progress.lost, one.progress.here, len(one._todo)) == (2, 0, 0)


@pytest.mark.parametrize("ends", [InputError("402; no credit"), asyncio.CancelledError()])
def test_an_answer_that_was_paid_for_is_booked_with_its_call_that_stays_open(ends):
    paid = Verdict(None, problem="form", raw="Sorry", tokens_in=10, tokens_out=2, tries=1)

    async def go():
        asker = Says(ends)
        asker.paid = {"r1-0": paid, "other": paid}
        one, _ = running(asker, Settings(price_in=1e6))
        with pytest.raises(type(ends)):
            await one._answer(call(1, tries=4, cost=0.5), ASKED)
        return [each.call for each in one._ended], asker.paid

    (booked,), left = asyncio.run(go())
    assert booked == call(1, tries=5, cost=10.5, raw="Sorry", tokens_in=10, tokens_out=2)
    assert left == {"other": paid}


def test_where_nothing_was_paid_for_nothing_is_booked():
    async def go(asker):
        one, _ = running(asker)
        with pytest.raises(InputError):
            await one._answer(call(1), ASKED)
        return one._ended

    assert asyncio.run(go(Says(InputError("no; stop")))) == []


# ---- to disk -------------------------------------------------------------------------------------------------------


def test_what_came_back_is_written_together_and_then_counted():
    jobs, told = [], []

    def submit(campaign, work):
        jobs.append(campaign)
        done = concurrent.futures.Future()
        done.set_result(work("writer"))
        return done

    def end(writer, calls, ballots, now):
        told.append((writer, [each.request for each in calls], ballots, now))
        return ["it is closed", "and more"] if len(jobs) == 2 else []

    async def go():
        one = made(end=end)
        one.ledger.store.submit = submit
        one._now = lambda: 77
        one._unwritten = 3
        written = [asyncio.get_running_loop().create_future() for _ in range(3)]
        written[1].cancel()
        one._ended = [run._Ended(call(1), ["a"], written[0]), run._Ended(call(2), ["b"], written[1])]
        woken = one._changed
        task = asyncio.create_task(one._write())
        await asyncio.wait_for(written[0], 10)
        await asyncio.wait_for(woken.wait(), 10)  # whoever waits for room is told
        assert (one._unwritten, one._came, one.why) == (1, 2, None)
        one._ended.append(run._Ended(call(3), ["c"], written[2]))
        one._notify()
        await asyncio.wait_for(task, 10)
        return one

    one = asyncio.run(go())
    assert told == [("writer", ["r1-0", "r2-0"], ["a", "b"], 77), ("writer", ["r3-0"], ["c"], 77)]
    assert (jobs, one._unwritten, one._came) == ([1, 1], 0, 3)
    assert (one.why, one.words) == ("refused", "it is closed")


def test_the_writer_waits_for_all_who_may_still_bring_something():
    async def go():
        one = made()
        waits = asyncio.create_task(asyncio.sleep(60))
        one._workers, one.why = [waits], "stable"
        task = asyncio.create_task(one._write())
        await asyncio.sleep(0.02)
        assert not task.done()
        waits.cancel()
        await asyncio.wait_for(task, 10)  # it looks every tenth of a second

    asyncio.run(go())


def test_finishing_waits_until_it_is_written():
    async def go():
        one = made()
        woken = one._changed
        task = asyncio.create_task(one._finish(call(1), ["b"]))
        await asyncio.sleep(0)
        assert woken.is_set()  # the writer knows
        (ended,) = one._ended
        assert (ended.call, ended.ballots, task.done()) == (call(1), ["b"], False)
        ended.written.set_result(None)
        await asyncio.wait_for(task, 10)
        woken = one._changed
        one._book(call(2))
        assert woken.is_set()
        return [(each.call.request, each.ballots) for each in one._ended]

    assert asyncio.run(go()) == [("r1-0", ["b"]), ("r2-0", [])]


# ---- workers and the end -------------------------------------------------------------------------------------------


def test_workers_take_calls_in_order_and_leave_when_there_is_a_reason():
    async def go():
        one = made(Settings(concurrency=2))
        one._todo.extend([call(1), call(2), call(3), call(4)])
        taken, woken = [], []
        for _ in range(4):
            change = one._changed
            taken.append((await one._next()).question)
            woken.append(change.is_set())
        assert woken == [False, False, True, True]  # four and three are enough for two
        waiting = asyncio.create_task(one._next())
        await asyncio.sleep(0)
        one._stop("stable")
        return taken, await asyncio.wait_for(waiting, 10)

    assert asyncio.run(go()) == ([1, 2, 3, 4], None)


def test_what_is_left_to_do_is_done_also_where_a_reason_to_stop_is_there():
    async def go():
        one = made()
        one.why = "budget"
        one._todo.append(call(1))
        return (await one._next()).question, await one._next()

    assert asyncio.run(go()) == (1, None)


def test_a_change_is_waited_for_so_long_and_no_longer():
    async def go():
        one = made()
        await asyncio.wait_for(one._change(0.01), 10)  # nothing happens
        waiting = asyncio.create_task(one._change())
        await asyncio.sleep(0.02)
        assert not waiting.done()
        one._notify()
        await asyncio.wait_for(waiting, 10)
        again = asyncio.create_task(one._change())
        await asyncio.sleep(0.01)
        assert not again.done()  # a new change is another one
        again.cancel()

    asyncio.run(go())


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_one_signal_ends_after_a_while_and_a_second_one_at_once(monkeypatch, number):
    before = signal.getsignal(number)

    async def go(presses, most):
        monkeypatch.setattr(run, "MAX_WAIT_AFTER_INTERRUPT", most)
        one = made()
        one._todo.append(call(1))
        one._workers = [asyncio.create_task(asyncio.sleep(60))]
        with one._interruptible():
            for _ in range(presses):
                os.kill(os.getpid(), number)
                await asyncio.sleep(0.03)
            state = one.why, len(one._todo), one._workers[0].cancelled()
        loop = asyncio.get_running_loop()
        assert not any(loop.remove_signal_handler(each) for each in (signal.SIGINT, signal.SIGTERM))
        one._workers[0].cancel()
        return state

    assert asyncio.run(go(0, 10.0)) == (None, 1, False)
    assert asyncio.run(go(1, 10.0)) == ("interrupted", 0, False)
    assert asyncio.run(go(1, 0.0)) == ("interrupted", 0, True)
    assert asyncio.run(go(2, 10.0)) == ("interrupted", 0, True)
    assert signal.getsignal(number) == before


def test_a_run_that_is_over_ends_nobody_later(monkeypatch):
    monkeypatch.setattr(run, "MAX_WAIT_AFTER_INTERRUPT", 0.05)

    async def go():
        one = made()
        one._workers = [asyncio.create_task(asyncio.sleep(60))]
        with one._interruptible():
            os.kill(os.getpid(), signal.SIGINT)
            await one._change()
        await asyncio.sleep(0.1)
        over = one._workers[0].cancelled()
        one._workers[0].cancel()
        return over

    assert asyncio.run(go()) is False


def test_calls_that_are_out_have_ten_seconds_after_the_first_signal():
    async def go():
        loop, delays = asyncio.get_running_loop(), []
        later = loop.call_later
        one = made()
        one._workers = [asyncio.create_task(asyncio.sleep(60))]

        await asyncio.sleep(0)  # the worker sleeps by now

        def noted(delay, *rest):
            delays.append(delay)
            return later(delay, *rest)

        with one._interruptible():
            loop.call_later = noted
            for _ in range(2):
                os.kill(os.getpid(), signal.SIGINT)
                await one._change()
            loop.call_later = later
        one._workers[0].cancel()
        return delays

    assert asyncio.run(asyncio.wait_for(go(), 20)) == [10.0, 0.0]


def test_a_run_in_another_thread_hears_no_signal():
    async def go():
        one = made()
        with one._interruptible():
            return one.why

    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        assert pool.submit(asyncio.run, go()).result() is None


def test_a_whole_run_closes_its_asker_and_tells_why():
    class Closing(Says):
        closed = 0

        async def close(self):
            self.closed += 1

    async def go(asker):
        one, _ = running(asker, Settings(concurrency=3), pairs_in_hand=(), stage=lambda: "done")

        async def fill():
            one._stop("finished")

        one._fill = fill
        return await asyncio.wait_for(one.go(), 20), one

    asker = Closing()
    why, one = asyncio.run(go(asker))
    assert (why, asker.closed, len(one._workers)) == ("finished", 1, 3)
    assert asyncio.run(go(Says()))[0] == "finished"  # one that has nothing to close


def test_a_worker_that_fails_ends_the_run_with_its_problem_once_all_is_written():
    class Closing(Says):
        closed = 0

        async def close(self):
            self.closed += 1

    asker = Closing(InputError("402; no credit"))
    asker.paid = {"r1-0": Verdict(None, problem="form", raw="Sorry", tokens_in=9)}
    written = []

    def submit(campaign, work):
        done = concurrent.futures.Future()
        done.set_result(work(None))
        return done

    def end(writer, calls, ballots, now):
        written.extend(calls)
        return []

    async def go():
        one, _ = running(asker, Settings(concurrency=1), questions=[question(1)], calls=[call(1), call(1, 1)],
                         stage=lambda: "done", end=end)  # fmt: skip
        one.ledger.store.submit = submit
        with pytest.raises(InputError, match="402; no credit"):
            await asyncio.wait_for(one.go(), 20)
        return one

    one = asyncio.run(go())
    assert (one.why, asker.closed, len(one._todo)) == ("failed", 1, 0)
    assert [(each.request, each.raw, each.tokens_in, each.done) for each in written] == [("r1-0", "Sorry", 9, None)]


# ---- what is asked next ---------------------------------------------------------------------------------------------


def fed(stage, settings=None, before=None, ready=None):
    """What the feeder does, step by step, until it has filled once; how many calls are `ready` then."""
    steps, ready = [], [] if ready is None else ready

    async def go():
        one = made(settings, stage=lambda: stage)

        def step(name, then):
            async def do():
                steps.append((name, one.progress.calibrating))
                ready.append(len(one._todo))
                if name == "fill":
                    one._stop("finished")
                return then

            return do

        one._calibrate, one._calibration_ends, one._fill = (
            step("draw", "drawn"),
            step("end", "done"),
            step("fill", None),
        )
        if before is not None:
            before(one)
        await asyncio.wait_for(one._feed(), 10)

    asyncio.run(go())
    return steps


def test_a_calibration_comes_first_unless_it_was_before():
    assert fed("new") == [("draw", True), ("end", True), ("fill", True)]
    assert fed("drawn") == [("end", True), ("fill", True)]
    assert fed("done") == [("fill", False)]
    assert fed("drawn", Settings(calibration=0)) == [("end", False), ("fill", False)]
    assert fed("drawn", Settings(calibration=1)) == [("end", True), ("fill", True)]


def test_nothing_is_asked_for_while_there_is_enough_to_do():
    def busy(one):
        one._todo.extend([call(1), call(2)])
        loop = asyncio.get_running_loop()
        loop.call_later(0.01, lambda: (one._todo.popleft(), one._notify()))

    ready = []
    assert fed("done", Settings(concurrency=2), busy, ready) == [("fill", False)]
    assert ready == [1]  # it waited until one was taken
    assert fed("done", Settings(concurrency=3), lambda one: one._todo.extend([call(1), call(2)])) == [("fill", False)]


@pytest.mark.parametrize(("items", "count"), [(2, 1), (5, 2), (7, 5), (18, 38), (19, 40)])
def test_a_calibration_is_a_quarter_of_all_pairs_and_forty_at_most(items, count):
    async def go():
        ledger = Stock(range(100))
        one = Run(ledger, None, None, Settings(), items=items)
        one.progress = Progress(limit=1000)
        await one._calibrate()
        return ledger.asked

    assert asyncio.run(go()) == [("draw", count, 2, True, 1000)]


@pytest.mark.parametrize(
    ("progress", "settings", "asked"),
    [
        ({"limit": 30}, {"budget": 30}, (40, 2, True, 30)),
        ({"limit": 5}, {"budget": 5, "max_calls": 9}, (40, 2, True, 4)),
        ({"limit": 3, "pairs": 5}, {}, (40, 2, True, 0)), ({"limit": 30}, {"calibration": 7}, (7, 2, True, 30)),
    ],
)  # fmt: skip
def test_a_calibration_takes_no_more_than_there_is(progress, settings, asked):
    async def go():
        ledger = Stock(range(100))
        one = Run(ledger, None, None, Settings(**settings), items=100, wanted=[(1, 2)])
        one.progress = Progress(**progress)
        wanted = []
        draw = ledger.draw
        ledger.draw = lambda count, orders, pairs, **more: wanted.append(pairs) or draw(count, orders, pairs, **more)
        assert await one._calibrate() == "drawn"
        return ledger.asked, wanted, {each.needed for each in one._pairs.values()}

    (found,), wanted, needed = asyncio.run(go())
    assert (found, wanted) == (("draw", *asked), [[(1, 2)]])
    assert needed == {2}


@pytest.mark.parametrize(
    ("progress", "settings", "stage"),
    [({}, {}, "new"), ({"pairs": 30}, {}, "done"), ({"pairs": 29}, {}, "new"), ({"calls": 8}, {"max_calls": 9}, "done"),
     ({"calls": 7}, {"max_calls": 9}, "new")],
)  # fmt: skip
def test_a_calibration_goes_on_while_there_is_room_for_a_pair(monkeypatch, progress, settings, stage):
    noted = []

    async def go():
        ledger = Stock([], draws_more=lambda: True, calibrated=lambda: noted.append(1))
        one = Run(ledger, None, "material", Settings(**settings), items=9)
        one.progress = Progress(limit=30, calibrating=True, **progress)
        monkeypatch.setattr(
            run, "tally_of", lambda *given: noted.append(given == (ledger, "material")) or Tally(pairs=1)
        )
        return await one._calibration_ends()

    assert asyncio.run(go()) == stage
    assert noted == ([] if stage == "new" else [True, 1])


def test_pairs_of_a_desk_elsewhere_are_taken_as_they_come(monkeypatch):
    ledger = Stock(range(100), plans=False)
    one, plans = filled(ledger, monkeypatch, items=pairs.MANY, planned=False)
    assert (ledger.asked, plans) == ([("take", 8, 2)], 0)
    assert len(one._todo) == 16


def test_where_others_take_what_was_planned_three_plans_are_made(monkeypatch):
    for remote_store, held, plans in ((True, {}, 3), (True, {901: None}, 0), (False, {}, 0)):
        ledger = Stock([])
        ledger.store.remote = remote_store

        def before(one, held=held):
            one._pairs.update(held)
            asyncio.get_running_loop().call_later(0.01, one._notify)

        _, made_plans = filled(ledger, monkeypatch, before=before)
        assert made_plans == plans
        assert len(ledger.asked) == 1 + plans


def test_a_plan_counts_what_came_before_it_and_not_what_comes_meanwhile(monkeypatch):
    stable = run.Plan(2, 5, 9, stable=False, until_stable=12)

    async def go():
        ledger = Stock(range(9))
        ledger.store.now = lambda: 5
        one = Run(ledger, None, None, Settings(), items=9)
        one._came = 4
        asked = []

        def plan(*given):
            asked.append(given)
            one._came += 3
            return stable

        monkeypatch.setattr(run, "plan_once", plan)
        assert await one._plan()
        assert asked == [(ledger.store, 1, 5)]
        monkeypatch.setattr(run, "plan_once", lambda *_: None)
        assert await one._plan()
        return one

    one = asyncio.run(go())
    assert (one._came, one.plan, one.progress.until_stable, one.progress.agreed) == (0, stable, 12, None)
    first = made()
    first.ledger.store.now = lambda: 5
    assert asyncio.run(first._plan())
    assert first.plan == run.Plan(0, 0, 0)  # one was looked for


def test_with_few_pairs_allowed_no_more_are_asked_for(monkeypatch):
    for settings, limit, asked in (
        (Settings(), 3, ("take", 3, 2)), (Settings(max_calls=7), 1000, ("take", 3, 2)),
        (Settings(concurrency=1), 1000, ("take", 1, 2)), (Settings(one_order=True, max_calls=7), 1000, ("draw", 7, 1)),
    ):  # fmt: skip
        ledger = Stock(range(100))
        filled(ledger, monkeypatch, items=600, settings=settings, limit=limit)
        assert ledger.asked == [asked]


def waiting(one, held=(), unwritten=0, later=0.02):
    """Pairs in hand or votes on their way, and a change a little later and again and again, which is noted."""
    one._pairs.update(dict.fromkeys(held))
    one._unwritten, one.woken = unwritten, False

    def wake():
        one.woken = True
        one._notify()
        loop.call_later(later, wake)  # on a slow machine the first one comes before anybody waits

    loop = asyncio.get_running_loop()
    loop.call_later(later, wake)


@pytest.mark.parametrize(
    ("pairs", "more", "held", "unwritten", "asked"),
    [
        ((), {"settings": Settings(budget=5), "limit": 5, "pairs": 4}, [901], 0, []),  # no room
        (range(9), {"items": 6}, [901, 902], 0, []),  # of six items two are out already
        ((), {}, [901], 0, [("take", 8, 2)]), ((), {}, [], 1, [("take", 8, 2)]),  # nothing to give
        ((), {"settings": Settings(budget=50)}, [901], 0, [("take", 8, 2)]),
    ],
)  # fmt: skip
def test_a_run_that_can_ask_nothing_waits_for_what_is_out(monkeypatch, pairs, more, held, unwritten, asked):
    ledger = Stock(pairs)
    one, _ = filled(ledger, monkeypatch, before=lambda one: waiting(one, held, unwritten), **more)
    assert (one.why, one.woken, ledger.asked) == (None, True, asked)


@pytest.mark.parametrize(
    ("more", "held", "asked"),
    [({"limit": 1}, [], ("take", 1, 2)), ({"items": 6}, [901], ("take", 1, 2)), ({}, [901], ("take", 8, 2)),
     ({"items": 600}, [901], ("take", 8, 2))],
)  # fmt: skip
def test_a_run_that_can_ask_goes_on_without_waiting(monkeypatch, more, held, asked):
    ledger = Stock(range(100))
    one, _ = filled(ledger, monkeypatch, before=lambda one: waiting(one, held, later=9.0), **more)
    assert (one.why, one.woken, ledger.asked) == (None, False, [asked])


def test_with_one_pair_allowed_and_no_call_the_calls_are_why(monkeypatch):
    one, _ = filled(Stock(range(9)), monkeypatch, settings=Settings(max_calls=10), limit=1, calls=9)
    assert one.why == "max-calls"


@pytest.mark.parametrize(
    ("pairs", "items", "came", "planned", "plans", "asked"),
    [
        (range(9), 5, 1, True, 1, [("take", 2, 2)]), (range(9), 5, 0, True, 0, [("take", 2, 2)]),
        (range(9), 60, 0, False, 1, [("take", 8, 2)]), ((), 60, 1, True, 1, [("take", 8, 2)] * 2),
        ((), 60, 0, True, 0, [("take", 8, 2)]), ((), 60, 0, False, 1, [("take", 8, 2)]),
    ],
)  # fmt: skip
def test_plans_are_made_where_votes_came_or_none_was_made(monkeypatch, pairs, items, came, planned, plans, asked):
    ledger = Stock(pairs)
    one, made_plans = filled(
        ledger, monkeypatch, items=items, planned=planned, before=lambda one: setattr(one, "_came", came)
    )
    assert (made_plans, ledger.asked, one._came) == (plans, asked, 0)
    assert one.why == (None if pairs else "finished")


def test_an_order_that_is_stable_takes_no_more_pairs(monkeypatch):
    async def go():
        ledger = Stock(range(9))
        ledger.store.now = lambda: 5
        monkeypatch.setattr(run, "plan_once", lambda *_: run.Plan(1, 5, 9, stable=True))
        one = Run(ledger, None, None, Settings(), items=60)
        one.progress = Progress(limit=1000)
        await asyncio.wait_for(one._fill(), 10)
        return one.why, ledger.asked, len(one._todo)

    assert asyncio.run(go()) == ("stable", [], 0)


def test_the_cost_of_one_call_is_that_of_the_next():
    one = made(Settings(max_cost=10.0))
    one.progress, one._dearest = Progress(calls=1, cost=1.0), 1.0
    assert one._rooms() == 9


# ---- what is handed on ----------------------------------------------------------------------------------------------


def nothing(path="x", **more):
    return pairs.Judged(path, "judge", "m", None, None, Tally(), "stable", "words", **more)


def test_every_option_goes_where_it_belongs(monkeypatch, tmp_path):
    given = {}

    def judged(store, campaign, asker, settings, **more):
        given.update(more, settings=settings, asker=asker, campaign=campaign)
        given["material"] = ledger.Material(store, campaign)
        return nothing(store.name)

    monkeypatch.setattr(pairs, "judged", judged)
    asker = FunctionJudge(len)
    path = str(tmp_path / "c.db")
    found = judge_pairs(
        {"x": "a", "y": "b"}, asker, question="Q?", db=path, name="N", instructions="I", context="C", reference="R",
        preset="quick", top=1, budget=2, max_calls=3, max_cost=4.0, price_in=5.0, price_out=6.0, concurrency=7,
        one_order=True, repeat=0.5, gold=[("x", "y", 1)], anyway=True, seed=8, told=print,
    )  # fmt: skip
    assert given["settings"] == Settings(
        preset="quick", budget=2, max_calls=3, max_cost=4.0, price_in=5.0, price_out=6.0, concurrency=7,
        one_order=True, repeat=0.5, anyway=True, seed=8,
    )  # fmt: skip
    assert (given["asker"], given["name"], given["told"]) == (asker, "N", print)
    campaign, material = given["campaign"], given["material"]
    assert (campaign.title, campaign.question, campaign.instructions, campaign.seed) == ("judge", "Q?", "I", 8)
    assert (campaign.options["top"], campaign.options["tired_after"], campaign.options["gold"]) == (
        1, 1, [["x", "y", 1]],
    )  # fmt: skip
    assert material.contexts == {0: "C", 1: "C"}
    assert material.references == {0: "R", 1: "R"}
    assert (material.texts, material.labels) == ({0: "a", 1: "b"}, {0: "x", 1: "y"})
    assert found.path == path
    plain = judge_pairs(["a", "b"], len, question="Q?", gold=(("a", "b", 0),))
    assert plain.path is None
    assert given["settings"] == Settings()
    assert (given["name"], given["told"], given["material"].contexts) == (None, None, {})
    assert given["campaign"].options["gold"] == [["a", "b", 0]]
    assert given["material"].labels == {0: "a", 1: "b"}


def test_an_order_is_that_of_the_scores_where_there_are_some():
    ranking = types.SimpleNamespace(order=("b", 7, "a"), to_frame=lambda: "scores")
    places = types.SimpleNamespace(order=("a", "b"), to_frame=lambda: "places")
    scored, placed = (pairs.Judged(None, "c", "m", places, each, Tally(), "stable", "") for each in (ranking, None))
    assert (scored.order, scored.to_frame()) == (("b", "7", "a"), "scores")
    assert (placed.order, placed.to_frame()) == (("a", "b"), "places")


@pytest.mark.parametrize(
    ("items", "words"),
    [({" ": "x", "b": "y"}, "item ' ' has no label or no text; every item needs both"),
     ({"a": 3, "b": "y"}, "item 'a': labels and texts are strings; convert it"),
     ({"a": None, "b": "y"}, "item 'a': labels and texts are strings; convert it"),
     ({"\ud800": "x", "b": "y"}, r"item '\\ud800' holds half a character, which no file can; take it out")],
)  # fmt: skip
def test_items_without_a_label_or_a_text_are_named(items, words):
    with pytest.raises(InputError, match=words):
        judge_pairs(items, lambda question: 1, question="Q?")


class Ran:
    """In place of a run: notes what it was given and ends at once."""

    made = None
    why = "gone"

    def __init__(self, ledger, asker, material, settings, **more):
        type(self).made = (ledger, asker, material, settings, more)
        self.words, self.progress = "no network", Progress(lost=3)

    async def go(self):
        return self.why


def test_a_run_is_given_all_it_needs_and_its_end_is_put_into_words(store, monkeypatch):
    monkeypatch.setattr(pairs, "Run", Ran)
    campaign, asker, settings = begun(store), FunctionJudge(len), Settings(budget=3)
    done = pairs.judged(store, campaign, asker, settings, told=print, about={"more": 1})
    book, given_asker, material, given, more = Ran.made
    assert (given_asker, given, more["items"], more["wanted"], more["told"]) == (asker, settings, 4, [], print)
    assert more["keep"]() in (True, False)
    assert material.texts[0] == "a text"
    header = store.read(lambda reader: ledger.header_of(reader, campaign.id, book.judge.id))
    assert {name: header[name] for name in ("model", "orders", "more", "question")} == {
        "model": "len", "orders": "both", "more": 1, "question": "Which?",
    }  # fmt: skip
    assert (done.path, done.campaign, done.judge, done.why, done.ranking) == (store.name, "judge", "len", "gone", None)
    assert done.words == "the server is gone: no network; go on with the same command"
    assert (done.tally.lost, done.tally.against) == (3, {})
    content = store.read(lambda reader: reader.content(campaign.id))
    assert done.order == standing(content).order
    assert done.to_frame().equals(standing(content).to_frame())
    once = pairs.judged(store, campaign, asker, Settings(one_order=True), name="other")
    header = store.read(lambda reader: ledger.header_of(reader, campaign.id, Ran.made[0].judge.id))
    assert (once.judge, header["orders"], once.ranking) == ("other", "one", None)  # nothing was judged


@pytest.mark.parametrize("why", pairs.REASONS)
def test_every_reason_is_a_sentence_with_the_words_of_the_server_or_none(store, monkeypatch, why):
    monkeypatch.setattr(pairs, "Run", type("Silent", (Ran,), {"why": why}))
    said = pairs.judged(store, begun(store), FunctionJudge(len), Settings()).words
    assert said == pairs.REASONS[why].replace("{words}", ": no network")


def test_how_many_items_there_are_elsewhere_is_not_known(store, monkeypatch):
    monkeypatch.setattr(pairs, "Run", Ran)
    campaign, opened = begun(store), []

    class Elsewhere(ledger.Ledger):
        plans = False

    def open_ledger(judge, header, material):
        opened.append((judge.name, header["orders"], material.texts[1]))
        return Elsewhere(store, campaign, judge, header)

    pairs.judged(store, campaign, FunctionJudge(len), Settings(), open_ledger=open_ledger)
    assert (opened, Ran.made[4]["items"]) == ([("len", "both", "b")], 10**6)


def test_items_that_are_gone_leave_too_few(store):
    campaign = begun(store, texts=("a", "b"))
    store.write(campaign.id, lambda writer: writer.change_item(1, withdrawn=store.now()))
    with pytest.raises(InputError, match=r"^the campaign 'judge' has 1 item; an order needs at least two$"):
        pairs.judged(store, campaign, FunctionJudge(len), Settings())


def test_pairs_of_another_judge_are_wanted_the_last_hundred(store, monkeypatch, tmp_path):
    campaign = begun(store, texts=[f"t{k}" for k in range(16)])
    store.write(campaign.id, lambda writer: setup.invite(writer, ["x"], store.now()) and None)
    every = [(a, b) for a in range(16) for b in range(a)][:103]
    rows = [Vote(0, str(k), a, b, 1.0) for k, (a, b) in enumerate(every)]
    store.write(campaign.id, lambda writer: writer.append_votes(rows))
    monkeypatch.setattr(pairs, "Run", Ran)
    path = str(tmp_path / "judge.db")
    done = pairs.judged(store, campaign, FunctionJudge(len), Settings(), others=[(path, "x")])
    assert Ran.made[4]["wanted"] == every[3:]
    assert done.tally.against == {f"{path}:x": None}


def test_scores_of_one_order_are_those_of_this_judge_alone(store):
    from podium import BradleyTerry, Comparisons

    campaign = begun(store)
    store.write(campaign.id, lambda writer: setup.invite(writer, ["x", "y"], store.now()) and None)
    rng = np.random.default_rng(2)
    mine = [(a, b, float(rng.integers(2))) for a in range(4) for b in range(4) if a != b for _ in range(3)]
    rows = [Vote(0, f"a{k}", a, b, value) for k, (a, b, value) in enumerate(mine)]
    rows += [Vote(1, f"b{k}", 3, 0, 1.0) for k in range(9)]
    store.write(campaign.id, lambda writer: writer.append_votes(rows))
    content = store.read(lambda reader: reader.content(campaign.id))
    assert len(live_votes(content)) == len(rows)
    left, right, value = (np.array(each) for each in zip(*mine, strict=True))
    votes = Comparisons(
        [f"item {k}" for k in range(4)], left.astype(np.int32), right.astype(np.int32),
        outcome=np.where(value == 1, 1, -1).astype(np.int8), sided=True,
    )  # fmt: skip
    truth = BradleyTerry(side_effect=True).fit(votes).ranking_
    found = pairs._one_order_ranking(content, 0)
    assert dict(zip(found.items, found.scores, strict=True)) == pytest.approx(
        dict(zip(truth.items, truth.scores, strict=True)), abs=1e-6
    )
    assert pairs._one_order_ranking(content, 5) is None


def test_a_judge_is_looked_for_in_files_that_are_there_and_at_addresses(store, tmp_path, monkeypatch):
    begun(store)
    with pytest.raises(InputError, match=r"judge\.db has no judge 'z'; there are none$"):
        pairs._found_judge(str(tmp_path / "judge.db"), "z")
    asked = []
    content = types.SimpleNamespace(judges=[types.SimpleNamespace(id=4, name="z")])
    monkeypatch.setattr(pairs, "read_campaign_file", lambda path: asked.append(path) or content)
    assert pairs._found_judge("postgresql://there", "z") == (content, 4)
    assert asked == ["postgresql://there"]


# ---- elsewhere -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "target", "budget"),
    [({"budget": 3}, 5, 3), ({}, 5, 5), ({"max_calls": 9}, None, 10**9), ({"max_cost": 9.0}, None, 10**9),
     ({"budget": 3}, None, 3)],
)  # fmt: skip
def test_a_judge_elsewhere_stops_at_its_budget_or_its_target(tmp_path, monkeypatch, settings, target, budget):
    given = {}

    def judged(store, campaign, asker, settings, **more):
        given.update(more, settings=settings, campaign=campaign, asker=asker)
        judge = ledger.joined(store, campaign, "m", {"model": "m"})
        given["ledger"] = more["open_ledger"](judge, {"prompt": "abc"}, ledger.Material(store, campaign))
        return nothing(store.name)

    monkeypatch.setattr(remote, "judged", judged)
    desk, asker = Far(target=target), FunctionJudge(len)
    remote.judge_remote(desk, asker, Settings(**settings), db=str(tmp_path / "c.db"), name="N", told=print)
    assert given["settings"] == dataclasses.replace(Settings(**settings), budget=budget)
    assert (given["name"], given["told"], given["asker"]) == ("N", print, asker)
    assert given["about"] == {"campaign": "http://far Ann & Bob"}
    assert (given["campaign"].title, given["campaign"].seed, given["campaign"].options["tired_after"]) == ("Far", 0, 1)
    book = given["ledger"]
    assert isinstance(book, remote.RemoteLedger)
    assert (book.desk, book.prompt_hash, book.plans, desk.asked) == (desk, "abc", False, [1])


def test_a_desk_is_asked_for_what_is_out_and_what_is_wanted(store):
    desk = Far()
    campaign = remote._mirror(store, desk, desk.next(1))
    judge = ledger.joined(store, campaign, "m", {"model": "m"})
    book = remote.RemoteLedger(store, campaign, judge, {}, desk, ledger.Material(store, campaign), ties=True)
    (one,), (asked,) = book.take(1, 1)
    assert (desk.asked[-1], asked.question, asked.turned, one.state) == (1, one.id, 0, "out")
    desk.card = desk.card | {"ties": False}
    (two,), _ = book.take(1, 2)
    assert (desk.asked[-1], book.ties) == (2, False)
    book.deliver([remote.desks.Ballot("a", one.id, 1.0)])
    desk.questions = desk.questions[1:]  # what has its vote is not given again
    book.take(1, 2)
    assert desk.asked[-1] == 2  # one is out, one is wanted
    assert book.take(1, 2) == ([], [])
    events = store.read(lambda reader: reader.events(campaign.id))
    noted = [(each.verb, each.data["pairs"], each.who) for each in events if each.verb in ("given", "delivered")]
    third = noted[-1][1]
    assert noted == [
        ("given", {str(one.id): 70}, f"judge {judge.id}"), ("given", {str(two.id): 71}, f"judge {judge.id}"),
        ("delivered", [70], f"judge {judge.id}"), ("given", third, f"judge {judge.id}"),
    ]  # fmt: skip
    assert list(third.values()) == [72]
    assert all(abs(each.at - store.now()) < 60_000 for each in events)


def test_a_desk_that_has_no_more_is_done_and_other_words_are_a_refusal(store):
    desk = Far(count=1)
    campaign = remote._mirror(store, desk, desk.next(1))
    judge = ledger.joined(store, campaign, "m", {"model": "m"})
    book = remote.RemoteLedger(store, campaign, judge, {}, desk, ledger.Material(store, campaign), ties=True)
    desk.questions = []
    assert book.take(3, 2) == ([], [])
    desk.said = {"why": "waiting"}
    assert book.take(3, 2) == ([], []), "others have the rest in hand"
    for why, words in (("draft", "the campaign is not open yet"), ("odd", "odd")):
        desk.said = {"why": why}
        with pytest.raises(remote.RefusedError) as told:
            book.take(3, 2)
        assert (told.value.code, str(told.value)) == (why, words)


def test_where_nothing_is_wanted_a_desk_is_not_asked(store):
    desk = Far()
    campaign = remote._mirror(store, desk, desk.next(1))
    judge = ledger.joined(store, campaign, "m", {"model": "m"})
    book = remote.RemoteLedger(store, campaign, judge, {}, desk, ledger.Material(store, campaign), ties=True)
    desk.asked.clear()
    assert (book.take(0, 2), book.take(-1, 2), desk.asked) == (([], []), ([], []), [])
    assert (remote.file_of(desk), desk.asked) == ("Ann---Bob.podium.db", [1])


def test_only_votes_on_pairs_of_the_server_are_sent_when_somebody_goes_on(store):
    desk = Far()
    campaign = remote._mirror(store, desk, desk.next(1))
    judge = ledger.joined(store, campaign, "m", {"model": "m"})
    book = remote.RemoteLedger(store, campaign, judge, {}, desk, ledger.Material(store, campaign), ties=True)
    (one,), _ = book.take(1, 1)
    rows = [Vote(judge.id, "a", 0, 1, 1.0), Vote(judge.id, "b", 0, 1, 1.0, question=999),
            Vote(judge.id, "c", 0, 1, 0.5, question=one.id, reason="so", ms=9)]  # fmt: skip
    store.write(campaign.id, lambda writer: writer.append_votes(rows))
    remote.RemoteLedger(store, campaign, judge, {}, desk, ledger.Material(store, campaign), ties=True)
    assert desk.votes == [(70, 0.5, {"id": "judge-70", "ms": 9, "reason": "so"})]


def test_a_tie_left_from_an_earlier_run_is_a_skip_where_the_server_takes_no_ties(tmp_path, monkeypatch):
    desk, path = Far(), str(tmp_path / "c.db")
    desk.card = desk.card | {"ties": False}
    with open_store(path, new=True) as store:
        campaign = remote._mirror(store, desk, desk.next(1))
        judge = ledger.joined(store, campaign, "m", {"model": "m"})
        book = remote.RemoteLedger(store, campaign, judge, {}, desk, ledger.Material(store, campaign), ties=False)
        (one,), calls = book.take(1, 1)
        ballot = remote.desks.Ballot("a", one.id, 0.5)
        store.write(campaign.id, lambda writer: book.end(writer, calls, [ballot], store.now()))  # and not delivered

    def judged(store, campaign, asker, settings, **more):
        more["open_ledger"](ledger.joined(store, campaign, "m", {"model": "m"}), {}, ledger.Material(store, campaign))
        return nothing(store.name)

    monkeypatch.setattr(remote, "judged", judged)
    remote.judge_remote(desk, FunctionJudge(len), Settings(), db=path)
    assert [(number, outcome) for number, outcome, _ in desk.votes] == [(70, None)]


def test_the_calibration_of_a_desk_is_forty_pairs_or_all_it_has(store):
    desk = Far()
    campaign = remote._mirror(store, desk, desk.next(1))
    judge = ledger.joined(store, campaign, "m", {"model": "m"})
    book = remote.RemoteLedger(store, campaign, judge, {}, desk, ledger.Material(store, campaign), ties=True)
    assert (book.drawn, book.draws_more()) == (0, False)
    book.draw(2, 2)
    assert (book.drawn, book.draws_more()) == (2, True)
    book.draw(9, 2, most=1)
    assert (book.drawn, book.draws_more()) == (3, True)
    for drawn, more in ((39, True), (40, False), (1, True)):
        book.drawn = drawn
        assert book.draws_more() is more
    book.draw(9, 2)
    assert book.drawn == 40  # there are no more


# ---- the simulated model --------------------------------------------------------------------------------------------


def test_pictures_are_part_of_what_the_simulated_model_sees():
    parts = [
        {"type": "text", "text": "[A f]\nx\n[/A f]\n[B f]\ny\n[/B f]"},
        {"type": "text", "text": "The picture of B:"}, {"type": "image_url", "image_url": {"url": "data:b"}},
    ]  # fmt: skip
    assert simulated._shown(parts) == (f"{parts[0]['text']}\nThe picture of B:", {"B": "data:b"})
    assert simulated._shown("plain") == ("plain", {})
    seen = []
    body = {"messages": [{"content": ""}, {"content": parts}]}
    simulated.completion(body, lambda text: seen.append(text) or 0.0)
    assert seen == ["x", "ydata:b"]


@pytest.mark.parametrize(("likes", "winner"), [({"x": 3.0, "y": -3.0}, "A"), ({"x": -3.0, "y": 3.0}, "B")])
def test_the_simulated_model_gives_its_letter_that_letters_own_probability(likes, winner):
    """As servers do: the token that was said is one of the likely ones, with the same number."""
    body = {"messages": [{"content": ""}, {"content": "[A f]\nx\n[/A f]\n[B f]\ny\n[/B f]"}], "logprobs": True}
    (said,) = simulated.completion(body, likes.get)["choices"][0]["logprobs"]["content"]
    tops = {each["token"]: each["logprob"] for each in said["top_logprobs"]}
    assert said["token"] == winner == max(tops, key=tops.get)
    assert said["logprob"] == tops[winner] > math.log(0.5)
    assert sum(map(math.exp, tops.values())) == pytest.approx(1.0)


# ---- how far it is -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("kept", "why"), [(True, None), (False, "refused")])
def test_twice_a_second_it_is_told_how_far_a_run_is_and_every_five_seconds_the_lock_is_kept(monkeypatch, kept, why):
    """By hand: begun at 100, seconds of 2 between reports; the lock is kept once more than five have passed."""
    now, slept, told, keeps, sleep = [100.0], [], [], [], asyncio.sleep

    async def noted(seconds):
        slept.append(seconds)
        now[0] += 2.0
        await sleep(0)

    def keep():
        keeps.append(now[0])
        return kept

    async def go():
        one = Run(Quiet(), None, None, Settings(), items=9, keep=keep, told=lambda done: told.append(done.seconds))
        task = asyncio.create_task(one._report())
        while len(told) < 7:
            await sleep(0)
        task.cancel()
        return one

    monkeypatch.setattr(run, "time", types.SimpleNamespace(monotonic=lambda: now[0]))
    with monkeypatch.context() as patch:
        patch.setattr(run.asyncio, "sleep", noted)
        one = asyncio.run(go())
    assert told[:7] == [2.0 * k for k in range(1, 8)]
    assert keeps[:2] == [106.0, 112.0]
    assert set(slept) == {0.5}
    assert (one.why, one.words) == (why, "" if kept else "another run has taken the campaign over")


def test_five_seconds_to_the_dot_are_not_more_than_five(monkeypatch):
    now, told, keeps, sleep = [0.0], [], [], asyncio.sleep

    async def noted(seconds):
        now[0] += 5.0
        await sleep(0)

    async def go():
        one = Run(Quiet(), None, None, Settings(), items=9, keep=lambda: keeps.append(now[0]) or True, told=told.append)
        task = asyncio.create_task(one._report())
        while len(told) < 3:
            await sleep(0)
        task.cancel()

    monkeypatch.setattr(run, "time", types.SimpleNamespace(monotonic=lambda: now[0]))
    with monkeypatch.context() as patch:
        patch.setattr(run.asyncio, "sleep", noted)
        asyncio.run(go())
    assert keeps[0] == 10.0


def test_a_run_that_nobody_follows_and_no_lock_holds_reports_to_nobody(monkeypatch):
    monkeypatch.setattr(run, "TOLD_EVERY", 0.0)

    async def go():
        one = made()
        task = asyncio.create_task(one._report())
        for _ in range(5):
            await asyncio.sleep(0)
        assert not task.done()
        task.cancel()
        return one.progress.seconds

    assert asyncio.run(go()) > 0
