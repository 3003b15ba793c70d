"""A campaign at its edges: what a hand holds, what is taken back, what is planned, exported and said."""

import csv
import io
import json
import re
import warnings
import zipfile
from base64 import b64decode
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import binomtest

from podium.campaign import archive, desk, exchange, items, judges, live, planning, report, setup, standing
from podium.campaign.choosing import loaded_planner
from podium.campaign.items import Items, read_items
from podium.campaign.live import live_comparisons, live_votes
from podium.campaign.marks import Marked, with_marks
from podium.campaign.options import Options
from podium.campaign.standing import Place, Standing, Standings
from podium.data.comparisons import Comparisons
from podium.errors import InputError, PodiumError, RefusedError
from podium.pairwise.bradley_terry import BradleyTerry
from podium.store import codec, open_store
from podium.store.values import Item, Judge, Media, Question, Vote, pair_of

from suites.campaigns import MINUTE, START, Bench


@pytest.fixture
def store(tmp_path):
    with open_store(str(tmp_path / "c.db"), new=True) as store:
        yield store


def log(bench, *rows):
    """Rows (judge, left, right, outcome, more) as they are."""
    first = bench.content().campaign.last_vote
    votes = [Vote(judge, f"x{first + k}", a, b, value, **more) for k, (judge, a, b, value, more) in enumerate(rows)]
    bench.do(lambda writer: writer.append_votes(votes))
    return bench.content()


def queue(bench, *pairs, **more):
    asked = [Question(left, right, plan=1, place=k, **more) for k, (left, right) in enumerate(pairs)]
    bench.do(lambda writer: writer.add_questions(asked))


def question(bench, id):
    return bench.read(lambda reader: reader.question(bench.id, id))


def votes_of(bench):
    return bench.read(lambda reader: list(reader.votes(bench.id)))


# ---- what a hand holds ----------------------------------------------------------------------------------------------


def test_three_pairs_are_in_a_hand_unless_told_otherwise_and_ten_at_most(store):
    bench = Bench(store, items=9)
    assert len(bench.do(lambda writer: desk.next_pairs(writer, 0, bench.now)).questions) == 3
    bench.vote(0, bench.next(0, 1).questions[0].id, id="a", count=1)
    assert len(bench.do(lambda writer: desk.vote(writer, 0, [], bench.now))[1].questions) == 3
    assert len(bench.do(lambda writer: desk.undo(writer, 0, "u", "a", bench.now))[1].questions) == 3
    assert len(bench.do(lambda writer: desk.undo(writer, 0, "u", "a", bench.now, 2))[1].questions) == 2
    assert len(bench.do(lambda writer: desk.vote(writer, 1, [], bench.now, 99))[1].questions) == 10


def test_what_is_queued_comes_first_and_the_rest_is_drawn_each_once(store):
    bench = Bench(store, items=9)
    bench.do(lambda writer: writer.change(plans=1) and None)
    queue(bench, (3, 5))
    hand = bench.next(0, 4).questions
    assert len({each.id for each in hand}) == len({pair_of(each.left, each.right) for each in hand}) == 4
    assert [(each.left, each.right, each.kind) for each in hand[:1]] == [(3, 5, "chosen")]
    assert [(each.kind, each.plan, each.place) for each in hand[1:]] == [("check", 1, desk.LAST)] * 3
    assert len(bench.read(lambda reader: reader.questions(bench.id, "open"))) == 0  # no more were drawn than wanted


def test_a_hand_says_how_far_a_judge_is_and_what_is_asked_of_whom(store):
    bench = Bench(store, items=5, target=7)
    bench.do(lambda writer: setup.invite(writer, ["cy"], 1, target=4))
    assert [bench.next(judge).target for judge in (0, 1, 2)] == [7, 7, 4]
    bench.answer(0, times=2)
    assert (bench.next(0).answered, bench.next(1).answered) == (2, 0)
    for state in ("paused", "closed"):
        bench.do(lambda writer, state=state: setup.set_state(writer, state, 1))
        hand = bench.next(0)
        assert (hand.questions, hand.why, hand.answered, hand.target) == ((), state, 2, 7)
    bench.do(lambda writer: setup.set_state(writer, "open", 1))
    bench.do(lambda writer: setup.exclude(writer, 0, 1))
    hand = bench.next(0)
    assert (hand.questions, hand.why, hand.answered, hand.target) == ((), "done", 2, 7)


@pytest.mark.parametrize(("later", "longer"), [(MINUTE, False), (MINUTE + 1, True)])
def test_what_is_in_hand_is_kept_longer_once_a_minute(store, later, longer):
    bench = Bench(store, items=5, lease_minutes=3)
    first = bench.next(0, 2).questions
    assert {each.until for each in first} == {START + 3 * MINUTE}
    bench.now += later
    again = bench.next(0, 2).questions
    assert {each.until for each in again} == {START + 3 * MINUTE + (later if longer else 0)}
    assert [each.id for each in again] == [each.id for each in first]


def test_the_last_votes_are_told_as_many_as_asked_for(store):
    bench = Bench(store, items=4)
    log(bench, *[(0, 0, 1, 1.0, {})] * 503)

    def told(*limit):
        return [each.seq for each in bench.read(lambda reader: desk.history(reader, bench.id, 0, *limit))]

    assert told() == list(range(503, 453, -1))
    assert told(2) == [503, 502]
    assert told(0) == told(-5) == [503]
    assert told(500) == told(9999) == list(range(503, 3, -1))


# ---- votes and what is taken back -----------------------------------------------------------------------------------


def test_an_undo_is_a_row_that_says_what_it_takes_back(store):
    bench = Bench(store)
    asked = bench.next(0, 1).questions[0]
    bench.vote(0, asked.id, 0.5, id="a", reason="why", ms=900)
    bench.now += 77
    receipt, hand = bench.undo(0, "a", "u")
    voted, undone = votes_of(bench)
    assert (receipt.id, receipt.status, receipt.seq) == ("u", "stored", 2)
    assert (undone.judge, undone.left, undone.right, undone.question) == (0, asked.left, asked.right, asked.id)
    assert (undone.client_id, undone.outcome, undone.reason, undone.ms, undone.undoes) == ("u", None, None, None, 1)
    assert (undone.received, voted.received) == (bench.now, bench.now - 77)
    assert (hand.questions[0].id, hand.questions[0].until) == (asked.id, bench.now + 10 * MINUTE)
    back = question(bench, asked.id)
    assert (back.state, back.judge, back.wanted) == ("out", 0, 1)
    for id in ("", "x" * 101):
        with pytest.raises(RefusedError, match="a vote needs an id of 1 to 100 characters"):
            bench.do(lambda writer, id=id: desk.undo(writer, 0, id, "a", bench.now))
    refused, _ = bench.vote(0, asked.id, 1.0, id="u")  # the id of the undo
    assert (refused.status, refused.code) == ("refused", "conflict")
    assert refused.message == "the id 'u' was used for another vote; make a new one"


@pytest.mark.parametrize(("state", "words"), [("closed", "the campaign is closed; votes already made are safe"), ("draft", "the campaign is not open yet"), ("paused", None)])  # fmt: skip  # noqa: E501
def test_nothing_is_voted_or_taken_back_where_the_campaign_is_not_open(store, state, words):
    bench = Bench(store)
    one, two = bench.next(0, 2).questions
    bench.vote(0, one.id, id="a")
    bench.vote(0, two.id, id="b")
    bench.undo(0, "b", "ub")
    bench.do(lambda writer: writer.change(state=state) and None)
    assert bench.undo(0, "b", "ub")[0].status == "repeated"
    assert bench.vote(0, one.id, id="a")[0].status == "repeated"
    late, hand = bench.vote(0, two.id, id="c")
    if words is None:
        assert late.status == "stored"
        assert bench.undo(0, "a")[0].status == "stored"
        return
    assert (late.code, late.message, late.seq) == (state, words, None)
    assert hand.why == state
    with pytest.raises(RefusedError, match=words):
        bench.undo(0, "a")
    assert len(votes_of(bench)) == 3


@pytest.mark.parametrize("wanted", [1, 2])
def test_a_vote_taken_back_is_wanted_again_of_the_same_judge(store, wanted):
    bench = Bench(store)
    queue(bench, (0, 1), wanted=wanted)
    mine = bench.next(0, 1).questions[0]
    bench.vote(0, mine.id, id="a", count=0)
    after = question(bench, mine.id)
    assert (after.wanted, after.state, after.judge, after.until) == (
        wanted - 1,
        "open" if wanted > 1 else "done",
        None,
        None,
    )
    bench.undo(0, "a")
    again = question(bench, mine.id)
    assert (again.wanted, again.state, again.judge) == (wanted, "out", 0)


def test_a_skip_taken_back_asks_for_no_more_votes_than_before(store):
    bench = Bench(store, tired_after=1)
    queue(bench, (0, 1), wanted=2)
    mine = bench.next(0, 1).questions[0]
    bench.vote(0, mine.id, None, id="a", count=0)
    after = question(bench, mine.id)
    assert (after.state, after.wanted, after.judge, after.until) == ("tired", 2, None, None)
    bench.undo(0, "a")
    again = question(bench, mine.id)
    assert (again.state, again.wanted, again.judge) == ("out", 2, 0)


def test_a_vote_that_no_question_was_put_for_can_be_taken_back_too(store):
    bench = Bench(store)
    log(bench, (0, 0, 1, 1.0, {}))
    receipt, _ = bench.undo(0, "x0")
    assert receipt.status == "stored"
    assert not bench.content().votes.counted().any()


@pytest.mark.parametrize("outcome", [1.0, None])
def test_a_late_word_on_a_pair_that_is_done_changes_nothing_of_it(store, outcome):
    bench = Bench(store)
    queue(bench, (0, 1))
    mine = bench.next(0, 1).questions[0]
    bench.now += 11 * MINUTE
    theirs = bench.next(1, 1).questions[0]
    bench.vote(1, theirs.id, 1.0)
    assert bench.vote(0, mine.id, outcome)[0].status == "stored"
    assert (question(bench, mine.id).state, question(bench, mine.id).wanted) == ("done", 0)


def test_a_pair_skipped_late_and_in_nobodys_hands_is_open(store):
    bench = Bench(store, tired_after=2)
    queue(bench, (0, 1))
    mine = bench.next(0, 1).questions[0]
    bench.now += 11 * MINUTE
    bench.do(lambda writer: writer.lapse(bench.now))
    bench.vote(0, mine.id, None, count=0)
    after = question(bench, mine.id)
    assert (after.state, after.judge, after.until, after.wanted) == ("open", None, None, 1)
    theirs = bench.next(1, 1).questions[0]
    bench.vote(1, theirs.id, None, count=0)
    assert question(bench, mine.id).state == "tired"


def test_settings_are_read_anew_where_they_changed(store):
    bench = Bench(store, ties=True)
    mine = bench.next(0, 2).questions
    bench.do(lambda writer: setup.set_options(writer, {"ties": False, "lease_minutes": 1}, 1))
    assert bench.vote(0, mine[0].id, 0.5)[0].code == "no-ties"
    assert bench.next(1, 1).questions[0].until == bench.now + MINUTE


# ---- the planner of a campaign --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rows", "known"),
    [
        ([[1.0], [2.0], [3.0]], True),
        ([[1.0], None, [3.0]], False),
        ([[1.0], [2.0, 3.0], [3.0]], False),
        ([None] * 3, False),
    ],
)
def test_features_are_used_where_every_item_has_as_many(store, rows, known):
    bench = Bench(store, items=3)
    there = [Item(k, str(k), features=row) for k, row in enumerate(rows)]
    planner = loaded_planner(there, live_votes(bench.content()), Options(), 5)
    assert (planner._features is not None) == known
    assert (planner.plans, planner.seed, planner.n) == (0, 5, 3)


def test_votes_that_count_keep_their_order_and_may_leave_judges_out(store):
    bench = Bench(store, items=4, judges=("ann", "bob", "cy"))
    log(
        bench, (0, 2, 3, 1.0, {"kind": "check", "predicted": 0.0}), (1, 3, 0, 0.5, {}), (2, 1, 0, 0.0, {}),
        (0, 0, 1, None, {}), (1, 2, 1, 1.0, {"kind": "gold"}),
    )  # fmt: skip
    bench.do(lambda writer: setup.withdraw(writer, 1, 5))
    bench.do(lambda writer: setup.exclude(writer, 2, 5))
    found = live_votes(bench.content())
    assert (found.codes.tolist(), found.labels) == ([0, 2, 3], ("item 0", "item 2", "item 3"))
    assert (found.left.tolist(), found.right.tolist(), found.value.tolist()) == ([1, 2], [2, 0], [1.0, 0.5])
    assert (found.judge.tolist(), found.rows.tolist(), len(found)) == ([0, 1], [0, 1], 2)
    assert (found.of_kind("check").tolist(), found.predicted[0]) == ([True, False], 0.0)
    assert np.isnan(found.predicted[1])
    assert live_votes(bench.content(), without=[0]).judge.tolist() == [1]
    assert live_votes(bench.content(), without={0, 1}).rows.tolist() == []
    whole = live_votes(bench.content(), withdrawn=True)
    assert (whole.codes.tolist(), whole.rows.tolist()) == ([0, 1, 2, 3], [0, 1, 4])
    assert whole.of_kind("gold").tolist() == [False, False, True]
    votes = live_comparisons(bench.content())
    assert (votes.items, votes.judges) == (("item 0", "item 2", "item 3"), ("ann", "bob"))
    assert live.tired_pairs(bench.content().votes, 1) == [(0, 1)]
    empty = Bench(store)
    with pytest.raises(InputError, match=r"^campaign 'tea-2' has no votes that count yet; there is nothing to rank$"):
        live_comparisons(empty.content())


@pytest.mark.parametrize(("size", "votes", "due"), [(3, 1, True), (4, 1, True), (7, 1, True), (8, 1, False), (8, 2, True), (12, 2, False), (12, 3, True)])  # fmt: skip  # noqa: E501
def test_a_plan_is_due_after_votes_of_a_quarter_of_the_items(store, size, votes, due):
    bench = Bench(store, items=size)
    queue(bench, *[(0, k) for k in range(1, size)], *[(1, k) for k in range(2, size)])
    there = replace(bench.read(lambda reader: reader.campaign(bench.id)), plans=1, last_vote=votes, planned_at=0)
    assert bench.read(lambda reader: planning.is_due(reader, there, bench.now)) == due


def test_judges_are_there_who_were_seen_and_are_in(store):
    bench = Bench(store, items=6, judges=("ann", "bob", "cy"))

    def here():
        return bench.read(lambda reader: planning._judges_here(reader, bench.id, bench.now))

    assert here() == 1  # nobody yet, and one at least is planned for
    for judge in (0, 1, 2):
        bench.next(judge, 1)
    assert here() == 3
    bench.do(lambda writer: setup.exclude(writer, 2, 5))
    assert here() == 2


@pytest.mark.parametrize(
    ("size", "seen", "most", "count"),
    [(12, 1, 5000, 30), (40, 6, 5000, 36), (40, 8, 5000, 48), (80, 1, 5000, 40), (80, 1, 33, 33)],
)
def test_a_plan_has_thirty_pairs_six_for_each_judge_or_half_the_items(store, monkeypatch, size, seen, most, count):
    monkeypatch.setattr(planning, "MOST", most)
    bench = Bench(store, items=size)
    monkeypatch.setattr(planning, "_judges_here", lambda reader, campaign, now: seen)
    plan = planning.plan_once(store, bench.id, bench.now)
    assert (plan.questions, plan.votes, plan.number) == (count, 0, 1)
    assert len(bench.read(lambda reader: reader.questions(bench.id, "open"))) == count


def test_a_plan_is_made_around_what_is_in_hands_tired_or_begun(store, monkeypatch):
    bench = Bench(store, items=6, judges=("ann", "bob", "cy"), tired_after=2)
    bench.do(lambda writer: setup.withdraw(writer, 0, 5))
    queue(bench, (1, 2), (3, 4), wanted=2)
    begun, held = bench.next(0, 2).questions
    bench.vote(0, begun.id, 1.0, count=0)
    log(bench, (0, 2, 5, None, {}), (1, 5, 2, None, {}), (0, 0, 5, None, {}), (1, 0, 5, None, {}))
    given = []

    def rounds(planner, count, out, tired):
        given.append((planner.n, len(planner), out, tired))
        return []

    monkeypatch.setattr(planning, "_rounds", rounds)
    planning.plan_once(store, bench.id, bench.now)
    ((n, votes, out, tired),) = given
    assert (n, votes) == (5, 1)
    assert {tuple(sorted(pair)) for pair in out} == {(0, 1), (2, 3)}  # numbers among the items that are shown
    assert tired == [(1, 4)]
    assert question(bench, held.id).state == "out"


def test_rounds_go_on_while_pairs_are_chosen_each_around_those_before():
    asked = []

    class Fake:
        seed, plans, round_size = 1, 0, 4

        def plan(self, size, out, tired):
            asked.append((size, list(out), tired))
            return Asked(10 * len(asked), self.kinds.pop(0)[:size])

    class Asked:
        def __init__(self, first, kinds):
            self.left, self.right = first + np.arange(len(kinds)), first + 50 + np.arange(len(kinds))
            self.kind = np.array(kinds, dtype=int)

        def __len__(self):
            return len(self.kind)

    planner = Fake()
    planner.kinds = [[0, 0, 0, 1], [0, 2, 0, 0], [0, 0, 0, 0]]
    found = planning._rounds(planner, 10, [(7, 8)], [(1, 2)])
    assert [each[0] for each in asked] == [4, 4, 2]
    assert asked[0][1:] == ([(7, 8)], [(1, 2)])
    assert asked[1][1][0] == (7, 8)
    assert set(asked[1][1][1:]) == {(10 + k, 60 + k) for k in range(4)}
    assert len(asked[2][1]) == 9
    assert len(found) == 10
    assert {each[2] for each in found} == {"chosen", "check", "repeat"}
    assert [each for each in found if each[2] == "check"] == [(13, 63, "check")]
    asked.clear()
    planner.kinds = [[0, 0, 0], [0]]
    assert len(planning._rounds(planner, 10, [], [])) == 3  # fewer than a round: nothing more is useful
    asked.clear()
    planner.kinds = [[1, 1, 1, 1], [0]]
    assert len(planning._rounds(planner, 10, [], [])) == 4  # check pairs alone: the round was filled up
    assert len(asked) == 1
    planner.round_size, planner.kinds = 0, [[0], [0], [0]]
    assert len(planning._rounds(planner, 3, [], [])) == 3  # one at least


@pytest.mark.parametrize(("votes", "ended"), [(4, False), (5, True), (6, True)])
def test_the_budget_is_used_when_so_many_votes_count(store, votes, ended):
    bench = Bench(store, items=6, budget=5)
    log(bench, *[(0, k % 5, k % 5 + 1, 1.0, {}) for k in range(votes)], (1, 0, 3, None, {}))
    plan = planning.plan_once(store, bench.id, bench.now)
    assert (plan is None) == ended
    assert bench.read(lambda reader: reader.campaign(bench.id)).state == ("paused" if ended else "open")


def test_a_plan_says_what_it_found_and_keeps_the_ranks(store):
    bench = Bench(store, items=4)
    rows = [(0, a, b, 1.0, {"kind": "check", "predicted": 1.0}) for a in range(4) for b in range(a + 1, 4)] * 4
    log(bench, *rows)
    plan = planning.plan_once(store, bench.id, bench.now)
    assert (plan.votes, plan.stable, plan.until_stable) == (24, True, 0)
    assert (plan.agreement.value, plan.agreement.count) == (1.0, 24)
    there = bench.read(lambda reader: reader.campaign(bench.id))
    assert plan.position == there.position
    assert (there.plans, there.planned_at) == (1, 24)
    told = bench.read(lambda reader: reader.events(bench.id))[-1]
    assert told.data == {"plan": 1, "position": 24, "questions": told.data["questions"], "votes": 24, "width": told.data["width"], "stable": True, "until_stable": 0}  # fmt: skip  # noqa: E501
    kept = np.frombuffer(bench.read(lambda reader: reader.derived(bench.id, "ranks")), dtype="<i4")
    assert kept.tolist() == [0, 1, 2, 3]


def test_gold_comes_before_what_is_planned_of_the_same_pair_and_hidden_items_do_not_come(store):
    bench = Bench(store, items=5)
    seen = bench.read(lambda reader: reader.campaign(bench.id))
    bench.do(lambda writer: setup.withdraw(writer, 4, 5))
    queue(bench, (2, 3))
    out = bench.next(0, 1).questions[0]
    planned = [Question(0, 1, "chosen", 2), Question(1, 0, "gold", 9, 0.0), Question(0, 4), Question(3, 2), Question(1, 2, "check")]  # fmt: skip  # noqa: E501
    made = {"votes": 0, "stable": False, "until_stable": 1}
    plan = bench.do(lambda writer: planning._replace_queue(writer, planned, seen, made, 5, np.zeros(0, np.int32)))
    waiting = bench.read(lambda reader: reader.questions(bench.id, "open"))
    assert {(each.left, each.right, each.kind, each.plan) for each in waiting} == {
        (1, 0, "gold", 1),
        (1, 2, "check", 1),
    }
    assert (plan.questions, question(bench, out.id).state) == (2, "out")


def test_planning_lets_go_of_its_hold_and_says_where_that_fails(store):
    Bench(store, items=4)
    plans = planning.Planning(store, every=0.001)
    assert (plans.every, planning.Planning(store).every, plans.trouble, plans.plans) == (0.001, 1.0, None, 0)
    holds = []

    class Hold:
        def __init__(self, kept):
            self.kept, self.released = kept, 0

        def keep(self):
            return self.kept

        def release(self):
            self.released += 1
            raise PodiumError("gone")

    def hold(name):
        assert name == "plan"
        holds.append(Hold(len(holds) > 0))
        return holds[-1]

    ticks = []

    def tick():
        ticks.append(len(holds))
        if len(ticks) == 4:
            plans._stop.set()

    plans.store = SimpleNamespace(hold=hold)
    plans.tick = tick
    plans.start()
    plans._thread.join()
    plans.stop()
    assert ticks == [1, 2, 2, 2]  # the first was lost, the second kept
    assert [each.released for each in holds] == [0, 1]
    assert plans.trouble == "gone"


# ---- out and in -----------------------------------------------------------------------------------------------------


def test_the_table_of_votes_has_every_column(store):
    bench = Bench(store, items=3)
    content = log(
        bench, (0, 0, 1, 1.0, {"received": START, "kind": "check", "reason": "r", "ms": 5, "version": 3}),
        (1, 1, 2, None, {"received": START + 1}), (0, 0, 1, None, {"undoes": 1, "received": START + 2}),
        (1, 2, 0, 0.5, {"received": START + 3}),
    )  # fmt: skip
    frame = exchange.votes_frame(content, votes_of(bench))
    blank = {"undoes": None, "reason": None, "ms": None, "version": 1}
    assert frame.to_dicts() == [
        {"seq": 1, "time": "2027-01-15T08:00:00.000+00:00", "judge": "ann", "left": "item 0", "right": "item 1",
         "outcome": 1.0, "kind": "check", "undoes": None, "reason": "r", "ms": 5, "version": 3, "counts": False},
        {"seq": 2, "time": "2027-01-15T08:00:00.001+00:00", "judge": "bob", "left": "item 1", "right": "item 2",
         "outcome": None, "kind": "chosen"} | blank | {"counts": False},
        {"seq": 3, "time": "2027-01-15T08:00:00.002+00:00", "judge": "ann", "left": "item 0", "right": "item 1",
         "outcome": None, "kind": "chosen"} | blank | {"undoes": 1, "counts": False},
        {"seq": 4, "time": "2027-01-15T08:00:00.003+00:00", "judge": "bob", "left": "item 2", "right": "item 0",
         "outcome": 0.5, "kind": "chosen"} | blank | {"counts": True},
    ]  # fmt: skip
    assert exchange.votes_frame(content, []).columns == frame.columns
    bench.do(lambda writer: setup.withdraw(writer, 2, 5))
    assert exchange.votes_frame(bench.content(), votes_of(bench))["counts"].to_list() == [False] * 4
    bench.do(lambda writer: setup.withdraw(writer, 2, 5, back=True))
    bench.do(lambda writer: setup.exclude(writer, 1, 5))
    assert exchange.votes_frame(bench.content(), votes_of(bench))["counts"].to_list() == [False] * 4


def test_a_journal_has_a_row_for_each_vote_with_what_is_known_of_it(store):
    bench = Bench(store, items=3, judges=("ann", "bob", "cy"))
    log(
        bench, (0, 0, 1, 1.0, {"received": START, "kind": "check", "reason": "thé", "ms": 5, "predicted": 0.0}),
        (1, 1, 2, 0.0, {}), (0, 0, 1, None, {"undoes": 1, "received": START}),
    )  # fmt: skip
    bench.do(lambda writer: setup.withdraw(writer, 2, 5))
    for judge in (1, 2):
        bench.do(lambda writer, judge=judge: setup.exclude(writer, judge, 5))
    lines = list(exchange.journal_lines(bench.content(), votes_of(bench)))
    assert all(line.endswith("\n") for line in lines)
    assert "thé" in lines[4]
    rows = [json.loads(line) for line in lines]
    moment = "2027-01-15T08:00:00.000+00:00"
    assert rows[4:] == [
        {"left": "item 0", "right": "item 1", "outcome": 1, "judge": "ann", "time": moment, "kind": "check", "ms": 5,
         "reason": "thé", "predicted": 0.0},
        {"podium": "vote", "left": "item 1", "right": "item 2", "outcome": 0, "judge": "bob", "kind": "chosen",
         "time": rows[5]["time"]},
        {"podium": "undo", "row": 5, "judge": "ann", "time": moment},
        {"podium": "exclude", "judge": "bob"},
    ]  # fmt: skip
    assert list(rows[4]) == ["left", "right", "outcome", "judge", "time", "kind", "ms", "reason", "predicted"]


def imported(bench, tmp_path, rows, name="v.jsonl", **more):
    path = tmp_path / name
    text = rows if isinstance(rows, str) else "\n".join(map(json.dumps, rows))
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return exchange.import_votes(bench.store, bench.id, str(path), 7, **more)


@pytest.mark.parametrize("piece", [1, 2, 3, 2000])
def test_an_import_is_the_same_in_however_many_commits(store, tmp_path, monkeypatch, piece):
    monkeypatch.setattr(exchange, "MAX_VOTES_OF_COMMIT", piece)
    bench = Bench(store, items=3, judges=())
    rows = [{"podium": "campaign"}, *({"left": "item 0", "right": f"item {1 + k % 2}", "outcome": k % 2, "judge": "x"} for k in range(4)), {"podium": "undo", "row": 3}, {"left": "item 2", "right": "item 1", "outcome": 0.5, "judge": "y"}, {"podium": "undo", "row": 7, "judge": "y"}]  # fmt: skip  # noqa: E501
    assert imported(bench, tmp_path, rows) == exchange.Imported(5, 0, 0, 2, undos=2)
    found = [(each.seq, each.judge, each.left, each.right, each.outcome, each.undoes) for each in votes_of(bench)]
    assert found == [(1, 0, 0, 1, 0.0, None), (2, 0, 0, 2, 1.0, None), (3, 0, 0, 1, 0.0, None), (4, 0, 0, 2, 1.0, None), (5, 0, 0, 2, None, 2), (6, 1, 2, 1, 0.5, None), (7, 1, 2, 1, None, 6)]  # fmt: skip  # noqa: E501
    assert {(each.kind, each.received) for each in votes_of(bench)} == {("import", 7)}
    assert imported(bench, tmp_path, rows) == exchange.Imported(0, 7, 0, 0)
    assert imported(bench, tmp_path, [*rows, {"podium": "ask"}]) == exchange.Imported(
        5, 0, 0, 0, undos=2
    )  # another file


def test_ten_items_that_are_missing_are_named(store, tmp_path):
    bench = Bench(store, items=2)
    rows = "left,right,outcome\n" + "".join(f"item 0,n{k:02},1\n" for k in range(12))
    shown = ", ".join(f"'n{k:02}'" for k in range(10))
    with pytest.raises(
        InputError,
        match=f"v.csv: items that the campaign does not have: {shown}; add them first, or import with --add$",
    ):
        imported(bench, tmp_path, rows, "v.csv")
    assert imported(bench, tmp_path, rows, "v.csv", add=True) == exchange.Imported(12, 0, 12, 1)
    assert [each.label for each in bench.content().items[2:]] == [f"n{k:02}" for k in range(12)]
    assert {each.added for each in bench.content().items[2:]} == {7}
    assert bench.content().judges[-1].name == "import"


@pytest.mark.parametrize(
    ("data", "journal"),
    [(b'{"podium": "x"}', True), (b'\xef\xbb\xbf \n{"podium": "x"}', True), (b'{"left": 1}', False),
     (b'left,"podium"\n', False), (b"", False), (b'{"a": "' + b"x" * 1_000_000 + b'"}\n{"podium": 1}', False)],
)  # fmt: skip
def test_a_journal_is_told_by_its_notes(data, journal):
    assert exchange._is_journal(data) == journal


def test_votes_of_a_table_without_judges_or_outcomes(store, tmp_path):
    bench = Bench(store, items=3, judges=())
    assert imported(bench, tmp_path, "winner,loser\nitem 0,item 1\nitem 2,item 1\n", "w.csv").votes == 2
    assert [(each.left, each.right, each.outcome) for each in votes_of(bench)] == [(0, 1, 1.0), (2, 1, 1.0)]
    assert [each.name for each in bench.content().judges] == ["import"]
    assert imported(bench, tmp_path, "left,right,outcome,judge\nitem 1,item 0,0,ann\n", "o.csv").judges == 1
    assert votes_of(bench)[-1].outcome == 0.0
    excluded = [{"podium": "x"}, {"podium": "exclude", "judge": "zed"}, {"left": "item 0", "right": "item 1", "outcome": 1, "judge": "ann"}]  # fmt: skip  # noqa: E501
    assert imported(bench, tmp_path, excluded).judges == 0  # of whom no row is
    assert {each.state for each in bench.content().judges} == {"active"}


def test_an_archive_is_the_same_in_however_many_commits(store, tmp_path, monkeypatch):
    monkeypatch.setattr(archive, "MAX_VOTES_OF_COMMIT", 2)
    bench = Bench(store, items=3)
    log(bench, *[(0, 0, 1, 1.0, {})] * 5)
    bench.do(lambda writer: writer.change(plans=4, planned_at=3) and None)
    path = str(tmp_path / "c.zip")
    archive.write_archive(store, bench.id, path)
    with open_store(str(tmp_path / "other.db"), new=True) as other:
        there = archive.read_archive(other, path)
        assert (there.last_vote, there.plans, there.planned_at) == (5, 0, 0)
        assert there.last_event == bench.content().campaign.last_event
        assert len(other.read(lambda reader: list(reader.votes(there.id)))) == 5
    with zipfile.ZipFile(path) as whole:
        head = json.loads(whole.read("podium.json"))
        assert head["archive"] == 1
        assert set(head["members"]) == set(whole.namelist()) - {"podium.json"}
        assert {each.compress_type for each in whole.infolist()} == {zipfile.ZIP_DEFLATED}
    assert not archive.is_archive(str(tmp_path / "none.zip"))


def test_an_archive_of_an_older_release_without_calls_and_texts_is_read(store, tmp_path):
    bench = Bench(store, items=3)
    path = tmp_path / "c.zip"
    archive.write_archive(store, bench.id, str(path))
    with zipfile.ZipFile(path) as whole:
        parts = {name: whole.read(name) for name in whole.namelist()}
    head = json.loads(parts.pop("podium.json"))
    for name in ("calls.jsonl", "texts.json"):
        del parts[name], head["members"][name]
    del head["archive"]
    with zipfile.ZipFile(path, "w") as whole:
        for name, data in (parts | {"podium.json": json.dumps(head).encode()}).items():
            whole.writestr(name, data)
    copy = archive.read_archive(store, str(path))
    assert store.read(lambda reader: list(reader.calls(copy.id))) == []
    assert store.read(lambda reader: reader.item_texts(copy.id, "context")) == {}


# ---- items ----------------------------------------------------------------------------------------------------------


def test_items_of_folders_in_folders_and_of_any_columns(tmp_path):
    (tmp_path / "in" / "deep").mkdir(parents=True)
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "x.txt").write_text("no")
    (tmp_path / "in" / "deep" / "B.TXT").write_text("bee")
    (tmp_path / "in" / "a.md").write_text("ay")
    found = read_items(str(tmp_path)).items
    assert [(each.label, each.kind, each.body, each.code) for each in found] == [("in/a.md", "markdown", "ay", -1), ("in/deep/B.TXT", "text", "bee", -1)]  # fmt: skip  # noqa: E501
    table = tmp_path / "in" / "t.csv"
    table.write_text("word\na\nb\n")
    assert [(each.label, each.body) for each in read_items(str(table), text="word").items] == [("a", "a"), ("b", "b")]
    table.write_text("item,media,path\na,deep/B.TXT,a.md\nb,a.md,none\n")
    assert [(each.label, each.body) for each in read_items(str(table)).items] == [("a", "bee"), ("b", "ay")]
    table.write_text("name,label,text\nn,l,x\n")
    assert read_items(str(table)).items[0].label == "l"
    with pytest.raises(InputError, match=r"t.csv has no column 'z'; there are name, label, text$"):
        read_items(str(table), label="z")


def test_files_and_texts_of_the_largest_size_are_taken(tmp_path, monkeypatch):
    monkeypatch.setattr(items, "MOST_FILE", 12)
    monkeypatch.setattr(items, "MOST_TEXT", 4)
    table = tmp_path / "t.csv"
    (tmp_path / "p").write_bytes(b"\x89PNG\r\n\x1a\n1234")
    table.write_text("id,text,file\na,éé,\nb,,p\n")
    found = read_items(str(table))
    assert [(each.kind, each.body) for each in found.items] == [("text", "éé"), ("image", None)]
    assert [(each.type, len(each.bytes)) for each in found.media.values()] == [("image/png", 12)]
    assert list(found.media) == [found.items[1].media]
    table.write_text("id,text\na,ééx\n")
    with pytest.raises(InputError, match="row 1: the text of 'a' has 5 bytes; at most 4; nothing was taken"):
        read_items(str(table))
    (tmp_path / "p").write_bytes(b"\x89PNG\r\n\x1a\n12345")
    table.write_text("id,file\nb,p\n")
    with pytest.raises(InputError, match="p has 13 bytes; at most 12"):
        read_items(str(table))


# ---- judges ---------------------------------------------------------------------------------------------------------


def test_votes_brought_from_elsewhere_lean_to_no_side(store):
    """In a table of winners and losers the winner stands on the left."""
    bench = Bench(store, items=4)
    bench.do(lambda writer: writer.add_judge(Judge(0, "table", "import")) and None)
    rows = [(judge, k % 3, k % 3 + 1, 1.0, {}) for judge in (0, 2) for k in range(30)]
    content = log(bench, *rows)
    assert binomtest(30, 30).pvalue * 3 < 0.01
    ann, _, table = judges.judge_reports(content, np.full(60, -1))
    assert ann.flag.startswith("Chose the left side 30 of 30 times, more than chance explains.")
    assert table.flag is None or "side" not in table.flag
    assert (table.left.value, table.longest_run) == (1.0, 30)


def test_where_nothing_can_be_fitted_nothing_is_said(store, monkeypatch):
    bench = Bench(store, items=3)
    content = log(bench, (0, 0, 1, 1.0, {"kind": "check"}), (1, 1, 2, 1.0, {}))

    def fails(self, votes):
        raise InputError("no")

    monkeypatch.setattr("podium.pairwise.bradley_terry.BradleyTerry.fit", fails)
    monkeypatch.setattr("podium.pairwise.crowd.CrowdBradleyTerry.fit", fails)
    ann, bob = judges.judge_reports(content, np.full(2, -1))
    assert (ann.agreement, ann.flag, bob.agreement) == (None, None, None)
    assert (ann.votes, bob.votes) == (1, 1)


def test_a_pair_on_which_the_others_are_even_says_nothing_of_a_judge(store):
    bench = Bench(store, items=4)
    check = {"kind": "check"}
    content = log(
        bench, (1, 0, 1, 0.5, {}), (1, 0, 2, 1.0, {}), (1, 1, 2, 1.0, {}), (0, 0, 1, 1.0, check), (0, 0, 2, 0.5, check),
        (0, 2, 1, 0.0, check),
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ann = judges.judge_reports(content, np.array([2000, 2000, -1, 500, -1, 1500]))[0]
    assert (ann.agreement.value, ann.agreement.count) == (0.75, 2)
    assert ann.seconds == 1.0


def test_sentences_begin_with_a_capital_and_there_may_be_none():
    assert judges._sentences("one side", None, "twice") == "One side. Twice."
    assert judges._sentences(None, None) is None


def test_who_moved_is_told_in_the_order_before(store):
    bench = Bench(store, items=3, judges=("ann", "bob", "cy"))
    rows = [(0, 2, 1, 1.0, {}), (0, 1, 0, 1.0, {}), (0, 2, 0, 1.0, {})]
    content = log(bench, *rows)
    assert [(each.item, each.before, each.after) for each in judges.without_judge(content, 0)] == [("item 2", 1, None), ("item 1", 2, None), ("item 0", 3, None)]  # fmt: skip  # noqa: E501
    bench.do(lambda writer: setup.exclude(writer, 0, 5))
    log(bench, *[(2, a, b, 1.0, {}) for a, b in ((0, 1), (1, 2), (0, 2))])
    bench.do(lambda writer: setup.exclude(writer, 2, 5))
    others = judges.without_judge(bench.content(), 2)  # ann stays out
    assert [(each.item, each.before, each.after) for each in others] == [("item 0", 1, None), ("item 1", 2, None), ("item 2", 3, None)]  # fmt: skip  # noqa: E501


# ---- where it stands ------------------------------------------------------------------------------------------------


def test_a_standing_counts_votes_skips_and_judges(store):
    bench = Bench(store, items=4, judges=("ann", "bob", "cy"))
    content = log(
        bench, (0, 0, 1, 1.0, {}), (1, 0, 2, 1.0, {}), (0, 1, 2, None, {}), (1, 2, 1, None, {}), (0, 2, 3, 0.5, {}),
        (2, 0, 3, None, {}),
    )  # fmt: skip
    now = standing.standing(content)
    assert (now.votes, now.skips, now.judges, now.position) == (3, 3, 2, content.campaign.position)
    by_item = {each.item: (each.votes, each.skips, each.code) for each in now.places}
    assert by_item == {"item 0": (2, 1, 0), "item 1": (1, 2, 1), "item 2": (2, 2, 2), "item 3": (1, 1, 3)}
    assert [each.place for each in now.places] == [1, 2, 3, 4]
    planner = loaded_planner(content.items, live_votes(content), Options(), content.campaign.seed)
    found = planner.summary()
    assert (now.stable, now.finished) == (found.stable, found.finished)
    assert (now.until_stable, now.until_stable_upper, now.width) == (found.until_stable, found.until_stable_upper, found.width)  # fmt: skip  # noqa: E501
    frame = now.to_frame()
    assert frame.columns == ["place", "item", "place_lower", "place_upper", "tier", "votes", "skips"]
    assert frame.rows() == [(e.place, e.item, e.lower, e.upper, e.tier, e.votes, e.skips) for e in now.places]
    assert now.order == tuple(each.item for each in now.places)


def test_without_votes_or_with_one_item_there_is_nothing_to_stand(store):
    bench = Bench(store, items=2)
    for rows, votes in ((0, 0), (1, 0)):
        if rows:
            log(bench, (0, 0, 1, 1.0, {}))
            bench.do(lambda writer: setup.withdraw(writer, 1, 5))
        now = standing.standing(bench.content())
        assert (now.places, now.votes, now.skips, now.judges, now.agreement) == ((), votes, 0, 0, None)
        assert (now.stable, now.finished, now.until_stable, now.until_stable_upper) == (False, False, 0, 0)
        assert np.isnan(now.width)
        assert not now.far


@pytest.mark.parametrize(("upper", "votes", "far"), [(80, 8, False), (81, 8, True)])
def test_beyond_ten_times_the_votes_nothing_is_forecast(upper, votes, far):
    now = Standing((1, 1), (), votes, 0, 1, None, False, False, 5, upper, 1.0)
    assert now.far == far


def test_a_standing_is_kept_of_a_long_log_at_its_own_position(store, monkeypatch):
    monkeypatch.setattr(codec, "PIECE", 6)
    bench = Bench(store, items=3)
    log(bench, *[(0, 0, 1, 1.0, {})] * 5)

    def kept():
        return bench.read(lambda reader: reader.derived(bench.id, "standing"))

    now = standing.standing(bench.content())
    standing.keep_standing(store, bench.id, now)
    assert kept() is None  # too short
    log(bench, (0, 1, 2, 1.0, {}))
    standing.keep_standing(store, bench.id, replace(now, position=(6, 0)))
    assert kept() is None  # of another position
    now = standing.standing(bench.content())
    standing.keep_standing(store, bench.id, now)
    assert standing._decoded(kept(), bench.content()) == now
    assert standing.standing(replace(bench.content(), standing=kept()), without=[0]).votes == 0

    def fails(campaign, job):
        raise PodiumError("busy")

    monkeypatch.setattr(store, "write", fails)
    assert standing.keep_standing(store, bench.id, now) is None  # it is computed anew then


def test_standings_of_two_campaigns_are_their_own(store):
    one, two = Bench(store, items=3), Bench(store, items=4)
    log(one, (0, 0, 1, 1.0, {}))
    log(two, (0, 1, 0, 1.0, {}), (0, 2, 1, 1.0, {}))
    standings = Standings(store)
    assert (standings.get(one.id).votes, standings.get(two.id).votes) == (1, 2)
    assert (standings.get(one.id).votes, standings.computed) == (1, 2)


def test_pairs_are_left_to_people_and_models_and_not_to_tables(store):
    bench = Bench(store, items=3, judges=("ann",))
    bench.do(lambda writer: setup.invite(writer, ["robot"], 1, kind="model"))
    bench.do(lambda writer: writer.add_judge(Judge(0, "table", "import")) and None)
    assert standing.pairs_left(bench.content()) == 6
    log(bench, (2, 0, 1, 1.0, {}))
    assert standing.pairs_left(bench.content()) == 6
    bench.do(lambda writer: setup.revoke(writer, 0, 1))
    assert standing.pairs_left(bench.content()) == 3
    bench.do(lambda writer: setup.set_conflicts(writer, 1, [2], 1))
    assert standing.pairs_left(bench.content()) == 1
    bench.do(lambda writer: setup.withdraw(writer, 2, 1))  # what is hidden is no conflict
    assert standing.pairs_left(bench.content()) == 1


@pytest.mark.parametrize("count", [249, 250])
def test_scores_of_check_pairs_need_two_hundred_and_fifty_votes(store, count):
    bench = Bench(store, items=3)
    pairs = [(0, 1), (1, 2), (0, 2)]
    content = log(bench, *[(0, *pairs[k % 3], float(k % 4 > 0), {"kind": "check"}) for k in range(count)], *[(1, 2, 0, 1.0, {})] * 9)  # fmt: skip  # noqa: E501
    if count < 250:
        with pytest.raises(InputError, match=r"^249 votes on check pairs; scores with intervals need 250: go on$"):
            standing.check_scores(content)
        return
    ranking = standing.check_scores(content)
    assert ranking.note == "Scores of votes on check pairs only; intervals are approximate."
    assert ranking.order[0] == "item 0"


# ---- making and changing --------------------------------------------------------------------------------------------


def test_short_names_are_numbered_and_cut():
    assert setup.slug_of("Tea", set()) == "tea"
    assert setup.slug_of("Tea", {"tea", "tea-2", "tea-3"}) == "tea-4"
    assert setup.slug_of("--- ", set()) == "campaign"
    assert setup.slug_of("a" * 70, set()) == "a" * 60
    assert setup.slug_of("a" * 70, {"a" * 60}) == "a" * 60 + "-2"


def test_a_campaign_is_made_as_it_is_told(store):
    two = Items([Item(-1, "a"), Item(-1, "b")])
    made, token = store.write(0, lambda w: setup.new_campaign(w, two, title="T", question="Q?", now=9, instructions="I", seed=0, options=Options(budget=3)))  # fmt: skip  # noqa: E501
    assert (made.title, made.question, made.instructions, made.version) == ("T", "Q?", "I", 1)
    assert (made.seed, made.state, made.made, made.options["budget"]) == (0, "open", 9, 3)
    assert made.id == store.read(lambda reader: reader.campaigns())[0].id
    assert setup.is_token(token, made.admin_hash)
    drawn = {
        store.write(0, lambda w: setup.new_campaign(w, two, title="T", question="Q?", now=9))[0].seed for _ in range(3)
    }
    assert len(drawn) == 3
    told = store.read(lambda reader: reader.events(made.id))
    assert [(each.verb, each.at, each.who) for each in told] == [("state", 9, "organiser"), ("items", 9, "organiser")]


def test_who_is_erased_has_no_link_no_time_and_nothing_in_hand(store):
    bench = Bench(store)
    held = bench.next(0, 2).questions
    name = bench.do(lambda writer: setup.erase(writer, 0, 5))
    gone = bench.read(lambda reader: reader.judge(bench.id, 0))
    assert re.fullmatch("erased [0-9a-f]{8}", name)
    assert (gone.name, gone.outside_id, gone.token_hash, gone.state, gone.seen) == (name, None, None, "revoked", None)
    assert {question(bench, each.id).state for each in held} == {"open"}
    with pytest.raises(RefusedError, match="there is no judge 9"):
        bench.do(lambda writer: setup.erase(writer, 9, 5))


def test_a_guest_of_an_earlier_release_counts_by_name_as_long_as_there_is_a_link(store):
    bench = Bench(store, judges=("guest 1", "guest 2", "guesting"))
    assert bench.do(setup._guests) == 2
    bench.do(lambda writer: writer.change_judge(1, token_hash=None))
    assert bench.do(setup._guests) == 1
    link = bench.do(lambda writer: setup.open_link(writer, 1, most=2))
    bench.do(lambda writer: setup.join(writer, link, 1) and None)
    assert bench.do(setup._guests) == 2  # told by an event and by name, and counted once
    with pytest.raises(RefusedError, match="everybody who was wanted") as full:
        bench.do(lambda writer: setup.join(writer, link, 1))
    assert full.value.code == "full"


def test_a_withdrawn_item_leaves_the_queue_and_the_hands(store):
    bench = Bench(store, items=5)
    queue(bench, (0, 1), (1, 2), (2, 3))
    first = bench.next(0, 1).questions[0]
    bench.do(lambda writer: setup.withdraw(writer, 1, 5))
    left = bench.read(lambda reader: reader.questions(bench.id, "open", "out"))
    assert {(each.left, each.right) for each in left} <= {(2, 3), (first.left, first.right)}
    assert (2, 3) in {(each.left, each.right) for each in left}
    assert bench.content().items[1].withdrawn == 5


def test_an_open_link_keeps_the_other_words(store):
    bench = Bench(store, texts={"consent": "Do you agree?"})
    bench.do(lambda writer: setup.open_link(writer, 1, most=1))
    texts = bench.read(lambda reader: reader.campaign(bench.id)).options["texts"]
    assert (texts["consent"], texts["open_link"]["most"], texts["open_link"]["parameter"]) == ("Do you agree?", 1, None)
    plain = Bench(store)
    with pytest.raises(RefusedError, match="this link is not known") as unknown:
        plain.do(lambda writer: setup.join(writer, "x", 1))
    assert unknown.value.code == "unknown-token"


# ---- the page -------------------------------------------------------------------------------------------------------


def placed(*rows):
    """Places (lower, upper, tier) from the first on."""
    return tuple(
        Place(k, f"i{k}", k, low, high, tier, 1000 * k, k) for k, (low, high, tier) in enumerate(rows, start=1)
    )


def test_the_table_of_places_draws_a_line_between_tiers_and_counts_what_is_not_shown(monkeypatch):
    now = Standing((1, 1), placed((1, 2, 1), (1, 2, 1), (3, 3, 2), (4, 4, 3)), 9, 0, 1, None, False, False, 1, 1, 1.0)
    page = report._places(now)
    rows = re.findall(r"<tr id=.*?</tr>", page)
    assert ['class="first"' in row for row in rows] == [False, False, True, True]
    assert [re.search(r'data-v="\d+">([\d–]+)</td><td class="bar">', row)[1] for row in rows] == [
        "1–2",
        "1–2",
        "3",
        "4",
    ]
    assert '<td class="n wide" data-v="2000">2,000</td><td class="n wide" data-v="2">2</td>' in rows[1]
    assert "below." not in page
    monkeypatch.setattr(report, "MAX_ROWS", 3)
    assert report._places(now).endswith('<p class="soft">… and 1 more item below.</p>')
    assert report._places(now).count("<tr id=") == 3
    monkeypatch.setattr(report, "MAX_ROWS", 4)
    assert "below." not in report._places(now)


def test_a_page_counts_what_there_is_and_says_whether_it_is_stable(store, monkeypatch):
    monkeypatch.setattr(report, "MAX_PAIRED_ITEMS", 3)
    bench = Bench(store, items=3)
    content = log(bench, *[(k % 2, a, b, 1.0, {}) for k in range(8) for a in range(3) for b in range(a + 1, 3)])
    page = report.report_page(content)
    assert (
        '<p class="facts"><span><b>24</b> votes</span> <span><b>3</b> items</span> <span><b>2</b> judges</span> </p>'
        in page
    )
    assert "skipped</span>" not in page
    assert '<p class="soft">Stable: more votes would change little.</p>' in page
    assert "<h1>Tea</h1>" in page
    assert re.search(r"<b>item 0</b> leads; its true place is likely [\d–]+\.</p>", page)
    assert "<h2>Who beat whom</h2>" in page
    monkeypatch.setattr(report, "MAX_PAIRED_ITEMS", 2)
    assert "<h2>Who beat whom</h2>" not in report.report_page(content)


@pytest.mark.parametrize(
    ("items", "lower", "upper", "named"),
    [(12, 1, 12, False), (12, 1, 11, False), (12, 1, 10, True), (12, 1, 1, True), (2, 1, 2, False), (2, 1, 1, True),
     (3, 1, 2, True)],
)  # fmt: skip
def test_a_leader_whose_band_holds_nearly_all_places_is_not_named(store, items, lower, upper, named):
    bench = Bench(store, items=3)
    now = standing.standing(log(bench, *[(0, 0, 1, 1.0, {})]))
    first = replace(now.places[0], lower=lower, upper=upper)
    now = replace(now, places=(first,) * items)
    assert (now.leader is first) == named
    assert (" leads; its true place is likely" in report._lead(now)) == named
    assert ("No leader can be named yet: after 1 vote, " in report._lead(now)) != named


def test_a_page_of_few_votes_counts_skips_and_warns(store):
    bench = Bench(store, items=5)
    content = log(bench, (0, 0, 1, 1.0, {}), (0, 1, 2, 1.0, {}), (0, 3, 4, None, {}))
    page = report.report_page(content)
    assert "<span><b>1</b> skipped</span>" in page
    assert re.search(r'<p class="warn">(Not|Far from) stable', page)


def test_marks_are_laid_beside_the_places_where_there_are_any():
    import polars as pl

    frame = pl.DataFrame({"place": [1, 2], "item": ["b", "a"]})
    assert with_marks(frame, None) is frame
    assert with_marks(frame, Marked(why="no")) is frame
    marks = SimpleNamespace(to_frame=lambda: pl.DataFrame({"item": ["a", "b"], "mark": [1.0, 9.0]}))
    assert with_marks(frame, Marked(marks)).rows() == [(1, "b", 9.0), (2, "a", 1.0)]


def test_a_page_holds_the_order_as_a_table(store):
    bench = Bench(store, items=3)
    content = log(bench, *[(0, a, b, 1.0, {}) for a in range(3) for b in range(a + 1, 3)])
    page = report.report_page(content)
    text = b64decode(re.search(r'base64,([^"]+)"', page)[1]).decode()
    rows = list(csv.DictReader(io.StringIO(text)))
    assert [row["item"] for row in rows] == list(standing.standing(content).order)


@pytest.mark.parametrize("count", [249, 250])
def test_a_page_has_scores_from_two_hundred_and_fifty_check_votes_on(store, monkeypatch, count):
    bench = Bench(store, items=3)
    pairs = [(0, 1), (1, 2), (0, 2)]
    content = log(bench, *[(0, *pairs[k % 3], float(k % 4 > 0), {"kind": "check"}) for k in range(count)])
    found = report._scores(content)
    if count < 250:
        assert len(found) == 1
        assert "From 250 votes on random check pairs on, the scores of those have intervals." in found[0]
        return
    assert found[0] == "<h2>Scores</h2>"
    assert (
        "Scores of votes on check pairs only; intervals are approximate. 90 % confidence intervals, relative to the"
        in found[1]
    )
    frame = standing.check_scores(content).to_frame(0.9)
    rows = re.findall(r'<tr><td class="item">(.*?)</td><td class="n">(.*?)</td><td class="n">(.*?)</td></tr>', found[2])
    assert rows == [(e["item"], f"{e['score']:.2f}", f"{e['lower']:.2f} … {e['upper']:.2f}") for e in frame.to_dicts()]
    monkeypatch.setattr(report, "MAX_ROWS", 2)
    assert report._scores(content)[2].count('<td class="item">') == 2


def test_a_page_is_written_as_it_is_made(store, tmp_path):
    bench = Bench(store, items=3)
    content = log(bench, *[(0, a, b, 1.0, {}) for a in range(3) for b in range(a + 1, 3)])
    path = tmp_path / "page.html"
    report.write_report(content, path, title="Mine", judge=["bias: none"])
    assert path.read_text(encoding="utf-8") == report.report_page(content, title="Mine", judge=["bias: none"])


def test_contexts_and_references_of_items_travel_in_an_archive(store, tmp_path):
    bench = Bench(store, items=3)
    for name in ("context", "reference"):
        bench.do(lambda writer, name=name: writer.add_item_texts(name, {1: f"{name} of one"}))
    archive.write_archive(store, bench.id, str(tmp_path / "c.zip"))
    copy = archive.read_archive(store, str(tmp_path / "c.zip"))
    for name in ("context", "reference"):
        assert store.read(lambda reader, name=name: reader.item_texts(copy.id, name)) == {1: f"{name} of one"}


def test_who_has_a_conflict_lets_go_of_what_is_in_hand(store):
    bench = Bench(store, items=5)
    held = bench.next(0, 3).questions
    bench.do(lambda writer: setup.set_conflicts(writer, 0, [held[0].left], 5))
    assert {question(bench, each.id).state for each in held} == {"open"}
    assert all(held[0].left not in (each.left, each.right) for each in bench.next(0, 3).questions)
    bench.do(lambda writer: setup.set_conflicts(writer, 0, [], 5))
    assert bench.read(lambda reader: reader.judge(bench.id, 0)).conflicts == ()


def test_a_pair_wanted_of_several_stays_open_until_all_have_answered(store):
    bench = Bench(store, judges=("ann", "bob", "cy"))
    queue(bench, (0, 1), wanted=3)
    for judge, (wanted, state) in enumerate([(2, "open"), (1, "open"), (0, "done")]):
        mine = bench.next(judge, 1).questions[0]
        assert (mine.left, mine.right) == (0, 1)
        bench.vote(judge, mine.id, count=0)
        after = question(bench, mine.id)
        assert (after.wanted, after.state, after.judge, after.until) == (wanted, state, None, None)


def test_gold_is_one_of_the_hand_and_the_queue_fills_the_rest(store):
    bench = Bench(store, items=30, gold=[["item 0", "item 1", 1]])
    planning.plan_once(store, bench.id, bench.now)
    bench.answer(0, times=2)
    assert "gold" not in [each.kind for each in bench.next(0, 2).questions]  # two votes are too few
    for each in bench.next(0, 2).questions:
        bench.vote(0, each.id, count=0)
    hand = bench.next(0, 3).questions
    assert sorted(each.kind for each in hand) == ["chosen", "chosen", "gold"]
    gold = next(each for each in hand if each.kind == "gold")
    assert (gold.left, gold.right, gold.predicted) == (0, 1, 1.0)
    bench.vote(0, gold.id, 0.0, count=0)
    row = votes_of(bench)[-1]
    assert (row.kind, row.predicted, row.outcome) == ("gold", 1.0, 0.0)
    assert question(bench, gold.id).state == "open"  # it is for every judge


def test_no_item_is_drawn_against_itself():
    rng = np.random.default_rng(0)
    codes = list(range(100, 130))
    for _ in range(20):
        pairs = desk._random_pairs(codes, {pair_of(100, 101)}, 20, rng)
        assert len({pair_of(*pair) for pair in pairs}) == 20
        assert all(left != right for left, right in pairs)
        assert {code for pair in pairs for code in pair} <= set(codes)


def test_who_was_revoked_answers_no_question_about_the_instructions(store):
    bench = Bench(store, texts={"comprehension": {"question": "What?", "answers": ["a", "b"], "right": 0}})
    bench.do(lambda writer: setup.revoke(writer, 0, 5))
    with pytest.raises(RefusedError, match="this link was withdrawn by the organiser") as refused:
        bench.do(lambda writer: desk.answer_comprehension(writer, 0, 0, 5))
    assert refused.value.code == "revoked"
    for call in (
        lambda w: desk.vote(w, 0, [], 5),
        lambda w: desk.undo(w, 0, "u", "a", 5),
        lambda w: desk.next_pairs(w, 0, 5),
    ):
        with pytest.raises(RefusedError, match="votes already made are safe"):
            bench.do(call)


def test_two_items_are_enough_to_plan(store):
    bench = Bench(store, items=2)
    assert planning.plan_once(store, bench.id, bench.now).questions == 1
    bench.do(lambda writer: setup.withdraw(writer, 0, 5))
    assert planning.plan_once(store, bench.id, bench.now) is None


def test_chosen_pairs_are_spread_evenly_and_check_pairs_drawn_between_them():
    check = np.array([False, True, False, True, True, False, False])
    where = np.random.default_rng([5, 9]).random(7)
    chosen = iter([1 / 8, 3 / 8, 5 / 8, 7 / 8])
    at = [where[k] if check[k] else next(chosen) for k in range(7)]
    assert planning._mixed(check, SimpleNamespace(seed=5, plans=9)) == sorted(range(7), key=lambda k: at[k])


def test_a_plan_takes_back_what_was_held_too_long_and_brings_forward_what_was_begun(store):
    bench = Bench(store, items=6, votes_per_pair=2)
    planning.plan_once(store, bench.id, bench.now)
    begun, held = bench.next(0, 2).questions
    bench.vote(0, begun.id, count=0)
    bench.now += 11 * MINUTE
    planning.plan_once(store, bench.id, bench.now)
    assert bench.read(lambda reader: reader.questions(bench.id, "out")) == []
    waiting = bench.read(lambda reader: reader.questions(bench.id, "open"))
    assert {each.plan for each in waiting} == {2}
    assert begun.id in {each.id for each in waiting}
    assert held.id not in {each.id for each in waiting}
    assert question(bench, begun.id).wanted == 1


@pytest.mark.parametrize(("votes", "ends"), [(19, []), (20, [20]), (39, [20]), (40, [20, 40])])
def test_pieces_of_the_log_are_kept_once_they_are_long_enough(store, monkeypatch, votes, ends):
    monkeypatch.setattr(codec, "PIECE", 20)
    bench = Bench(store, items=3)
    content = log(bench, *[(0, 0, 1, 1.0, {})] * votes)
    for _ in range(2):
        planning.keep_snapshots(store, content)
        assert bench.read(lambda reader: reader.snapshot_ends(bench.id)) == ends
    again = bench.content()
    assert again.intact
    assert again.votes.left.tolist() == content.votes.left.tolist()


def test_judges_of_an_import_are_made_then_and_known_by_their_name(store, tmp_path):
    bench = Bench(store, items=2, judges=("ann",))
    row = {"left": "item 0", "right": "item 1", "outcome": 1}
    imported(bench, tmp_path, [{"podium": "x"}, row | {"judge": "ann"}, row, row | {"judge": 5}])
    found = {each.name: each for each in bench.content().judges}
    assert set(found) == {"ann", "ann (import)", "import", "5"}
    assert {each.made for name, each in found.items() if name != "ann"} == {7}
    assert {each.token_hash for name, each in found.items() if name != "ann"} == {None}
    assert imported(bench, tmp_path, [{"podium": "y"}, row | {"judge": "ann"}, row]).judges == 0


def test_two_items_have_their_places(store):
    bench = Bench(store, items=2)
    now = standing.standing(log(bench, (0, 1, 0, 1.0, {})))
    assert (now.order, now.votes, [each.place for each in now.places]) == (("item 1", "item 0"), 1, [1, 2])


@pytest.mark.parametrize(("hits", "count"), [(1, 3), (2, 3), (1, 2), (3, 40)])
def test_an_interval_for_every_look_is_open_where_both_kinds_were_seen(hits, count):
    found = standing.share(np.array([1.0] * hits + [0.0] * (count - hits)))
    assert 0.0 < found.always_lower < hits / count < found.always_upper < 1.0
    whole, none = standing.share(np.ones(count)), standing.share(np.zeros(count))
    assert (whole.always_upper, none.always_lower) == (1.0, 0.0)
    assert (whole.upper, none.lower) == (pytest.approx(1.0), pytest.approx(0.0))
    assert whole.always_lower == pytest.approx(1.0 - none.always_upper)


def tied_votes(count, seed, kind="check"):
    rng = np.random.default_rng(seed)
    rows = []
    for _ in range(count):
        left, right = rng.choice(4, 2, replace=False).tolist()
        value = 0.5 if rng.random() < 0.2 else float((left < right) == (rng.random() < 0.7))
        rows.append((int(rng.integers(2)), left, right, value, {"kind": kind}))
    return rows


def fitted(rows):
    """Scores of such votes, a tie for neither side."""
    votes = Comparisons(
        [f"item {k}" for k in range(4)], np.array([row[1] for row in rows], np.int32),
        np.array([row[2] for row in rows], np.int32),
        outcome=np.array([{1.0: 1, 0.5: 0, 0.0: -1}[row[3]] for row in rows], np.int8),
    )  # fmt: skip
    return BradleyTerry(l2=0.1).fit(votes).ranking_.scores


def test_scores_of_check_votes_are_those_of_a_fit_with_ties(store):
    bench = Bench(store, items=4)
    rows = tied_votes(260, 1)
    content = log(bench, *rows, *tied_votes(40, 2, kind="chosen"))
    ranking = standing.check_scores(content)
    scores = dict(zip(ranking.items, ranking.scores, strict=True))
    np.testing.assert_allclose([scores[f"item {k}"] for k in range(4)], fitted(rows), atol=1e-6)


def test_a_judge_is_held_against_a_fit_of_the_others_with_their_ties(store):
    bench = Bench(store, items=4)
    rows = tied_votes(30, 3)
    content = log(bench, *rows)
    found = live_votes(content)
    for judge in (0, 1):
        others = [row for row in rows if row[0] != judge]
        np.testing.assert_allclose(judges._scores(found, found.judge != judge), fitted(others), atol=1e-6)
        scores = fitted(others)
        hits = [row[3] if scores[row[1]] > scores[row[2]] else 1 - row[3] for row in rows if row[0] == judge]
        told = judges.judge_reports(content, np.full(30, -1))[judge]
        assert (told.agreement.value, told.agreement.count) == (pytest.approx(np.mean(hits)), len(hits))


def test_flags_are_of_all_votes_by_judge_with_their_ties(store, monkeypatch):
    given = []

    def noted(self, votes):
        given.append(votes)
        return SimpleNamespace(flags_={0: "chance", 2: "contrary"})

    monkeypatch.setattr("podium.pairwise.crowd.CrowdBradleyTerry.fit", noted)
    bench = Bench(store, items=4, judges=("ann", "bob", "cy"))
    content = log(bench, (2, 0, 1, 1.0, {}), (0, 1, 2, 0.5, {}), (2, 3, 2, 0.0, {}))
    ann, bob, cy = judges.judge_reports(content, np.full(3, -1))
    (votes,) = given
    assert (votes.left.tolist(), votes.right.tolist(), votes.outcome.tolist()) == ([0, 1, 3], [1, 2, 2], [1, 0, -1])
    assert [votes.judges[k] for k in votes.judge] == [2, 0, 2]
    assert (
        ann.flag
        == "Significantly less reliable than half the median judge, and not shown to be better than coin flips."
    )
    assert (bob.flag, cy.flag) == (None, "Significantly worse than coin flips: likely the wrong way round.")


def test_times_of_nothing_are_times_and_unknown_ones_are_not(store):
    bench = Bench(store, items=3)
    content = log(bench, *[(0, 0, 1, 1.0, {})] * 4)
    assert judges.judge_reports(content, np.array([0, 0, 900, -1]))[0].seconds == 0.0
    assert judges.judge_reports(content, np.array([-1, -1, -1, -1]))[0].seconds is None


def test_settings_that_nobody_set(store):
    """As the manual of the app has them: ties may be said, one vote a pair, a tenth checked, ten minutes, three skips."""  # noqa: E501
    plain = Options()
    assert (plain.ties, plain.votes_per_pair, plain.check_share, plain.lease, plain.tired_after) == (
        True,
        1,
        0.1,
        600_000,
        3,
    )
    assert (plain.top, plain.budget, plain.target, plain.gold, plain.marks, plain.texts) == (
        None,
        None,
        None,
        (),
        None,
        {},
    )
    assert Options.of({}) == plain
    assert Bench(store).campaign.options == plain.stored()
    bench = Bench(store, judges=("a", "b", "c"))
    queue(bench, (0, 1))
    for judge in range(3):
        mine = bench.next(judge, 1).questions[0]
        bench.vote(judge, mine.id, None, count=0)
        assert question(bench, mine.id).state == ("tired" if judge == 2 else "open")


def test_a_place_is_drawn_within_its_likely_places_among_all(monkeypatch):
    drawn = []
    monkeypatch.setattr(report, "bar", lambda *given: drawn.append(given) or "drawn")
    now = Standing((1, 1), placed((1, 2, 1), (1, 3, 1), (2, 4, 1), (4, 4, 2)), 9, 0, 1, None, False, False, 1, 1, 1.0)
    assert report._places(now).count('<td class="bar">drawn</td>') == 4
    assert drawn == [(1, 1, 2, 1, 4), (2, 1, 3, 1, 4), (3, 2, 4, 1, 4), (4, 4, 4, 1, 4)]


@pytest.mark.parametrize(("checks", "chosen"), [(0, 5), (4, 0), (4, 5)])
def test_reliability_is_asked_for_with_the_check_votes_and_whether_pairs_were_chosen(
    store, monkeypatch, checks, chosen
):
    given = []

    def quality(votes, *, check=None, chosen=False):
        given.append((len(votes), None if check is None else len(check), chosen))
        return SimpleNamespace(words=lambda: ["one & two", "misfit: ann"], judge_fit=None)

    monkeypatch.setattr(report, "judging_quality", quality)
    bench = Bench(store, items=3)
    content = log(bench, *[(0, 0, 1, 1.0, {"kind": "check"})] * checks, *[(0, 1, 2, 1.0, {"kind": "chosen"})] * chosen)
    found = report._reliability(content, live_comparisons(content))
    assert given == [(checks + chosen, checks or None, bool(chosen))]
    assert found == ["<h2>Reliability</h2>", '<p class="soft">One &amp; two.</p>']


@pytest.mark.parametrize(
    ("left", "ends"),
    [(101, "100 more votes"), (100, "100 more votes"), (99, "; its judges have 99 pairs left"),
     (40, "; its judges have 40 pairs left"), (39, "; its judges have 39 pairs left: invite others"),
     (1, "; its judges have 1 pair left: invite others")],
)  # fmt: skip
def test_others_are_to_be_invited_where_the_judges_have_too_few_pairs_for_the_least_of_the_forecast(left, ends):
    now = Standing((1, 1), placed((1, 1, 1)), 50, 0, 1, None, False, False, 40, 100, 1.0)
    said = now.words(left).splitlines()[-1]
    assert said.startswith("not stable yet: about 40 to 100 more votes")
    assert said.endswith(ends)


def test_a_file_of_ten_million_bytes_is_the_largest(tmp_path):
    path = tmp_path / "items.csv"
    path.write_text("id,file\na,film\n")
    for size, words in (
        (10_000_001, "film has 10,000,001 bytes; at most 10,000,000"),
        (10_000_000, "film is no picture"),
    ):
        with (tmp_path / "film").open("wb") as file:
            file.truncate(size)
        with pytest.raises(InputError, match=words):
            read_items(str(path))


def test_a_campaign_holds_a_thousand_million_bytes_of_files():
    def writer(size):
        return SimpleNamespace(
            locked=SimpleNamespace(id=7), media_hashes=lambda campaign: {"a": size} if campaign == 7 else {}
        )

    assert setup._check_room(writer(1_000_000_000), Items([])) is None
    with pytest.raises(
        InputError, match="its files would have 1,000,000,001 bytes in all; a campaign holds 1,000,000,000"
    ):
        setup._check_room(writer(1_000_000_001), Items([]))
    more = Items([], {"b": Media("b", "image/png", b"xyz"), "a": Media("a", "image/png", b"x")})
    assert setup._check_room(writer(2_000_000_000), more) is None  # the same file is counted once, as it is now


def test_a_plan_is_made_though_somebody_holds_a_pair_of_an_item_that_was_hidden(store, monkeypatch):
    """Whether a hand was emptied or not: of two items of which one is hidden the planner is told nothing."""
    bench = Bench(store, items=5)
    queue(bench, (0, 1), (2, 3))
    bench.next(0, 2)
    given = []
    monkeypatch.setattr(planning, "_rounds", lambda planner, count, out, tired: given.append(out) or [])
    bench.do(lambda writer: writer.change_item(1, withdrawn=5))
    assert planning.plan_once(store, bench.id, bench.now) is not None
    assert [sorted(pair) for pair in given.pop()] == [[1, 2]]  # numbers among 0, 2, 3 and 4
    bench.do(lambda writer: writer.change_item(1, withdrawn=None))
    bench.do(lambda writer: writer.change_item(0, withdrawn=5))
    assert planning.plan_once(store, bench.id, bench.now) is not None
    assert [sorted(pair) for pair in given.pop()] == [[1, 2]]  # among 1, 2, 3 and 4
