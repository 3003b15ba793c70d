"""The desk: whose pair it is, what counts, what can be taken back."""

import re

import numpy as np
import pytest
from sqlalchemy import event

from podium.campaign import desk, planning, setup
from podium.campaign.live import live_votes
from podium.campaign.options import Options
from podium.errors import InputError, RefusedError
from podium.store import open_store
from podium.store.values import Question, pair_of

from suites.campaigns import MINUTE, Bench


@pytest.fixture
def store(tmp_path):
    with open_store(str(tmp_path / "c.db"), new=True) as store:
        yield store


def counted(bench):
    live = live_votes(bench.content())
    return [
        (int(live.codes[a]), int(live.codes[b]), v) for a, b, v in zip(live.left, live.right, live.value, strict=True)
    ]


def queue(bench, *pairs, **more):
    questions = [Question(left, right, plan=1, place=k, **more) for k, (left, right) in enumerate(pairs)]
    bench.do(lambda writer: writer.add_questions(questions))


def test_a_reload_shows_the_same_pairs(store):
    bench = Bench(store)
    first = bench.next(0)
    assert len(first.questions) == 3
    bench.now += MINUTE
    assert [q.id for q in bench.next(0).questions] == [q.id for q in first.questions]


def test_nobody_waits_for_a_plan_and_no_pair_is_in_two_hands(store):
    bench = Bench(store, items=4)  # six pairs, none planned
    ann, bob = bench.next(0), bench.next(1)
    pairs = [pair_of(q.left, q.right) for q in (*ann.questions, *bob.questions)]
    assert len(set(pairs)) == 6
    assert all(q.kind == "check" for q in ann.questions)


def test_a_judge_answers_every_pair_once_and_is_done(store):
    bench = Bench(store, items=4, judges=("ann",))
    seen = []
    while bench.next(0).questions:
        question = bench.next(0).questions[0]
        seen.append(pair_of(question.left, question.right))
        bench.vote(0, question.id)
    assert len(seen) == len(set(seen)) == 6
    assert bench.next(0).why == "done"
    assert bench.next(0).answered == 6


def test_a_judge_waits_where_others_have_the_rest_in_hand_and_is_done_after_every_pair(store):
    bench = Bench(store, items=4)  # six pairs
    bench.next(0)  # a tab stays open
    for question in bench.next(1).questions:
        _, hand = bench.vote(1, question.id)
    assert (hand.questions, hand.why, hand.answered) == ((), "waiting", 3)
    bench.now += 11 * MINUTE
    for question in bench.next(1).questions:
        _, hand = bench.vote(1, question.id)
    assert (hand.questions, hand.why, hand.answered) == ((), "done", 6)


def test_a_judge_does_not_wait_for_pairs_that_never_come(store):
    """Those of an item that the judge must not see, and a gold pair that is not due."""
    bench = Bench(store, items=3)
    bench.do(lambda writer: setup.set_conflicts(writer, 1, [2], bench.now))
    (question,) = bench.next(1).questions
    bench.vote(1, question.id)
    assert len(bench.next(0).questions) == 3
    assert bench.next(1).why == "done"

    bench = Bench(store, items=2)
    bench.do(lambda writer: writer.add_questions([Question(0, 1, "gold")]))
    (gold,) = bench.read(lambda reader: reader.questions(bench.id, "open"))
    bench.do(lambda writer: writer.give(gold, 0, bench.now, bench.now + MINUTE))
    assert bench.next(1).why == "done"


def test_the_queue_is_asked_in_its_order_and_a_vote_brings_the_next_pair(store):
    bench = Bench(store)
    queue(bench, (0, 1), (2, 3), (4, 5), (0, 2))
    hand = bench.next(0)
    assert [(q.left, q.right) for q in hand.questions] == [(0, 1), (2, 3), (4, 5)]
    receipt, hand = bench.vote(0, hand.questions[0].id, 0.0)
    assert receipt.status == "stored"
    assert [(q.left, q.right) for q in hand.questions] == [(2, 3), (4, 5), (0, 2)]
    assert counted(bench) == [(0, 1, 0.0)]


def test_an_abandoned_pair_is_open_again_after_its_time(store):
    bench = Bench(store)
    queue(bench, (0, 1))
    given = bench.next(0, 1).questions[0]
    assert bench.next(1, 1).questions[0].id != given.id
    bench.now += 11 * MINUTE
    assert given.id in [q.id for q in bench.next(1, 3).questions]


def test_a_late_vote_is_kept_and_the_other_holder_counts_too(store):
    bench = Bench(store)
    queue(bench, (0, 1))
    given = bench.next(0, 1).questions[0]
    bench.now += 11 * MINUTE
    assert bench.next(1, 1).questions[0].id == given.id
    assert bench.vote(0, given.id, 1.0)[0].status == "stored"  # late
    assert bench.next(1, 1).questions[0].id == given.id  # bob still has it
    assert bench.vote(1, given.id, 0.0)[0].status == "stored"
    assert counted(bench) == [(0, 1, 1.0), (0, 1, 0.0)]
    bench.do(lambda writer: setup.invite(writer, ["cat"], bench.now))
    assert given.id not in [q.id for q in bench.next(2, 10).questions]


def test_a_late_vote_on_a_pair_nobody_took_ends_it(store):
    bench = Bench(store)
    queue(bench, (0, 1))
    given = bench.next(0, 1).questions[0]
    bench.now += 11 * MINUTE
    bench.do(lambda writer: writer.lapse(bench.now))
    assert bench.vote(0, given.id)[0].status == "stored"
    assert given.id not in [q.id for q in bench.next(1, 10).questions]


def test_a_judge_who_comes_back_late_still_has_what_nobody_took(store):
    bench = Bench(store)
    given = [q.id for q in bench.next(0).questions]
    bench.now += 60 * MINUTE
    assert [q.id for q in bench.next(0).questions] == given


@pytest.mark.parametrize("hours", [-5, 5])
def test_a_clock_that_jumps_loses_no_vote_and_gives_no_pair_to_two(store, hours):
    bench = Bench(store)
    mine = [q.id for q in bench.next(0).questions]
    bench.now += hours * 60 * MINUTE
    theirs = [q.id for q in bench.next(1).questions]
    assert bench.vote(0, mine[0])[0].status == "stored"
    assert bench.vote(1, theirs[0])[0].status == "stored"
    waiting = bench.read(lambda reader: reader.questions(bench.id, "open", "out"))
    pairs = [pair_of(q.left, q.right) for q in waiting]
    assert len(pairs) == len(set(pairs))
    assert bench.next(0).questions


def test_the_same_id_again_is_the_same_vote(store):
    bench = Bench(store)
    question = bench.next(0).questions[0].id
    first, _ = bench.vote(0, question, 1.0, id="x")
    again, hand = bench.vote(0, question, 1.0, id="x")
    assert (again.status, again.seq) == ("repeated", first.seq)
    assert len(hand.questions) == 3
    other, _ = bench.vote(0, question, 0.0, id="x")
    assert (other.status, other.code) == ("refused", "conflict")
    assert len(counted(bench)) == 1


def test_the_same_id_again_is_acknowledged_also_when_closed(store):
    bench = Bench(store)
    question, other = (q.id for q in bench.next(0).questions[:2])
    bench.vote(0, question, id="x")
    bench.do(lambda writer: setup.set_state(writer, "closed", bench.now))
    assert bench.vote(0, question, id="x")[0].status == "repeated"
    refused, hand = bench.vote(0, other)
    assert (refused.status, refused.code) == ("refused", "closed")
    assert "votes already made are safe" in refused.message
    assert (hand.questions, hand.why) == ((), "closed")


def test_what_was_not_given_is_refused(store):
    bench = Bench(store)
    queue(bench, (0, 1), (2, 3), (4, 5), (0, 2))
    mine = bench.next(0, 1).questions[0].id
    for question in (mine + 3, 999):
        receipt, _ = bench.vote(1, question)
        assert (receipt.status, receipt.code) == ("refused", "not-given")
    bench.vote(0, mine)
    assert bench.vote(0, mine)[0].code == "answered"
    assert len(counted(bench)) == 1


@pytest.mark.parametrize(
    ("more", "code"),
    [
        ({"outcome": 0.7}, "bad-outcome"),
        ({"outcome": 0.5}, "no-ties"),
        ({"id": "x" * 101}, "bad-id"),
        ({"reason": "x" * 2001}, "long-reason"),
    ],
)
def test_bad_ballots_have_their_codes(store, more, code):
    bench = Bench(store, ties=False)
    receipt, _ = bench.vote(0, bench.next(0).questions[0].id, **more)
    assert (receipt.status, receipt.code) == ("refused", code)
    assert counted(bench) == []


def test_one_bad_ballot_does_not_hold_up_the_others(store):
    bench = Bench(store)
    questions = [q.id for q in bench.next(0).questions]
    ballots = [desk.Ballot("a", questions[0], 1.0), desk.Ballot("b", 999, 1.0), desk.Ballot("c", questions[1], 0.0)]
    receipts, _ = bench.do(lambda writer: desk.vote(writer, 0, ballots, bench.now))
    assert [r.status for r in receipts] == ["stored", "refused", "stored"]
    with pytest.raises(RefusedError, match="at most 200"):
        bench.do(lambda writer: desk.vote(writer, 0, ballots * 67, bench.now))


def test_undo_brings_the_pair_back_first_and_the_vote_does_not_count(store):
    bench = Bench(store)
    first, second = bench.next(0).questions[:2]
    bench.vote(0, first.id, 1.0, id="x")
    bench.now += MINUTE
    receipt, hand = bench.undo(0, "x", "u")
    assert receipt.status == "stored"
    assert hand.questions[0].id == first.id
    assert counted(bench) == []
    again, _ = bench.undo(0, "x", "u")
    assert (again.status, again.seq) == ("repeated", receipt.seq)
    other, _ = bench.undo(0, "x", "u2")
    assert (other.status, other.seq) == ("repeated", receipt.seq)
    bench.vote(0, first.id, 0.0)
    assert [value for *_, value in counted(bench)] == [0.0]
    assert second.id in [q.id for q in bench.next(0).questions]


def test_undo_knows_whose_vote_it_is(store):
    bench = Bench(store)
    bench.vote(0, bench.next(0).questions[0].id, id="x")
    for judge, of in ((1, "x"), (0, "y")):
        with pytest.raises(RefusedError, match="no vote of yours"):
            bench.undo(judge, of)
    bench.undo(0, "x", "u")
    with pytest.raises(RefusedError, match="no vote of yours"):
        bench.undo(0, "u")
    bench.vote(0, bench.next(0).questions[1].id, id="z")
    with pytest.raises(RefusedError, match="used for something else"):
        bench.undo(0, "z", "u")


def test_a_skipped_pair_goes_to_others_and_is_tired_in_the_end(store):
    bench = Bench(store, judges=("a", "b", "c", "d"), tired_after=3)
    queue(bench, (0, 1))
    for judge in range(3):
        question = bench.next(judge, 1).questions[0]
        assert (question.left, question.right) == (0, 1)
        bench.vote(judge, question.id, None, reason="same")
        assert question.id not in [q.id for q in bench.next(judge, 5).questions]
    assert bench.read(lambda reader: reader.question(bench.id, question.id)).state == "tired"
    assert counted(bench) == []
    assert [row.outcome for row in bench.read(lambda r: desk.history(r, bench.id, 0))] == [None]


def test_votes_per_pair_are_of_different_judges(store):
    bench = Bench(store, judges=("a", "b", "c"))
    queue(bench, (0, 1), wanted=2)
    for judge in range(3):
        question = bench.next(judge, 1).questions[0]
        assert ((question.left, question.right) == (0, 1)) == (judge < 2)
        bench.vote(judge, question.id)
        assert (question.id in [q.id for q in bench.next(judge, 1).questions]) is False


def test_a_pair_that_was_undone_goes_to_nobody_else_twice(store):
    bench = Bench(store)
    queue(bench, (0, 1))
    given = bench.next(0, 1).questions[0]
    bench.vote(0, given.id, id="x")
    queue(bench, (1, 0))  # planned again in the meantime
    taken = next(q for q in bench.next(1).questions if {q.left, q.right} == {0, 1})
    _, hand = bench.undo(0, "x")
    assert given.id not in [q.id for q in hand.questions]
    assert bench.vote(1, taken.id)[0].status == "stored"


def test_conflicts_are_never_shown(store):
    bench = Bench(store, items=4)
    bench.do(lambda writer: setup.set_conflicts(writer, 0, [0], bench.now))
    queue(bench, (0, 1), (2, 3))
    shown = bench.next(0, 10).questions
    assert {(min(q.left, q.right), max(q.left, q.right)) for q in shown} == {(1, 2), (1, 3), (2, 3)}


def test_paused_closed_revoked_and_excluded(store):
    bench = Bench(store, judges=("a", "b", "c"))
    question = bench.next(0).questions[0]
    bench.do(lambda writer: setup.set_state(writer, "paused", bench.now))
    assert bench.next(0).why == "paused"
    assert bench.vote(0, question.id)[0].status == "stored"  # made before, and kept in an outbox
    bench.do(lambda writer: setup.set_state(writer, "open", bench.now))
    bench.do(lambda writer: setup.revoke(writer, 0, bench.now))
    with pytest.raises(RefusedError, match="withdrawn by the organiser") as problem:
        bench.next(0)
    assert problem.value.code == "revoked"
    bench.do(lambda writer: setup.exclude(writer, 1, bench.now))
    assert bench.next(1).why == "done"


def test_reports_of_items_reach_the_organiser(store):
    bench = Bench(store)
    event = bench.do(lambda writer: desk.report(writer, 0, 2, "broken", bench.now))
    assert event.data == {"item": 2, "judge": 0, "reason": "broken"}
    with pytest.raises(RefusedError, match="no item 99"):
        bench.do(lambda writer: desk.report(writer, 0, 99, "broken", bench.now))
    with pytest.raises(RefusedError, match="choose among broken"):
        bench.do(lambda writer: desk.report(writer, 0, 2, "dull", bench.now))


def test_what_the_desk_asks_of_the_database_is_never_a_walk_through_the_log(store):
    """Every statement finds its rows by an index on what it asks for, however much others have voted."""
    bench = Bench(store, items=8, gold=[["item 0", "item 7", 1]])
    planning.plan_once(store, bench.id, bench.now)
    asked = []

    def listen(connection, *_):
        connection.set_trace_callback(asked.append)
        store._committer.warm.clear()  # remembering nothing, it asks for everything

    for engine in (store._writing, store._reading):
        event.listen(engine, "checkout", listen)
    bench.answer(0, times=6)
    question = bench.next(0, 1).questions[0]
    bench.vote(0, question.id, None, id="skip")
    bench.vote(0, bench.next(0, 1).questions[0].id, id="again")
    bench.undo(0, "again")
    bench.read(lambda reader: desk.history(reader, bench.id, 0))
    for engine in (store._writing, store._reading):
        event.remove(engine, "checkout", listen)
    asked = [statement for statement in asked if statement.startswith(("SELECT", "UPDATE"))]
    assert len(asked) > 100
    for statement in set(asked):
        with store._reading.connect() as connection:
            plan = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}").all()
        lines = [row[-1] for row in plan]
        if 'question."plan" = ' in statement:  # the head of the queue: read in order, not gathered and sorted
            assert "MULTI-INDEX OR" not in lines, statement
            assert "USE TEMP B-TREE FOR ORDER BY" not in lines, statement
        for line in lines:
            assert not re.match(r"SCAN (vote|question|lease|item|judge|event)\b", line), (statement, line)
            assert not re.match(r"SEARCH vote .*\(campaign=\?\)", line), (statement, line)
            if "undoes IS NULL" in statement:  # nearly every row is one
                assert not re.match(r"SEARCH vote .*\(campaign=\? AND undoes=\?\)", line), (statement, line)


def test_a_judge_of_another_campaign_is_nobody_here(store):
    Bench(store)
    other = Bench(store, judges=())
    with pytest.raises(RefusedError, match="no judge 0"):
        other.next(0)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"tie": True}, "option 'tie' is unknown"),
        ({"ties": 1}, "ties is 1"),
        ({"top": 0}, "top is 0"),
        ({"check_share": 1.5}, "check_share is 1.5"),
        ({"lease_minutes": 0}, "lease_minutes is 0"),
        ({"gold": [["a", "a", 1]]}, "gold, row 1"),
        ({"gold": [["a", "b", 2]]}, "gold, row 1"),
        ({"budget": True}, "budget is True"),
    ],
)
def test_options_out_of_range_are_named(given, words):
    with pytest.raises(InputError, match=words):
        Options.of(given)


def test_how_many_votes_stand_is_the_count_of_the_whole_log_whatever_failed_in_between(store, tmp_path):
    """Votes, skips, undos, a refused job, a commit that failed, and another process on the same file."""
    bench = Bench(store, items=12, judges=("ann", "bob"))
    rng = np.random.default_rng(5)
    made = []
    with open_store(str(tmp_path / "c.db")) as other:
        for step in range(60):
            judge = int(rng.integers(0, 2))
            through = bench.on(other) if step % 7 == 3 else bench
            if made and rng.random() < 0.25:
                mine = [name for name, whose in made if whose == judge]
                if mine:
                    through.undo(judge, mine[-1], id=f"u{step}")
                    made.remove((mine[-1], judge))
            else:
                name = f"v{step}"
                question = through.next(judge).questions[0]
                through.vote(judge, question.id, None if rng.random() < 0.2 else 1.0, id=name)
                made.append((name, judge))
            if step % 9 == 5:
                with pytest.raises(ZeroDivisionError):
                    bench.do(_votes_then_fails(bench, judge))
            log = list(store.read(lambda reader: list(reader.votes(bench.id))))
            undone = {row.undoes for row in log}
            for who in (0, 1):
                stand = sum(row.judge == who and row.outcome is not None and row.seq not in undone for row in log)
                assert bench.next(who).answered == stand
                assert store.read(lambda reader, who=who: reader.count_votes(bench.id, who)) == stand


def _votes_then_fails(bench, judge):
    def job(writer):
        hand = desk.next_pairs(writer, judge, bench.now)
        desk.vote(writer, judge, [desk.Ballot("lost", hand.questions[0].id, 1.0)], bench.now)
        return 1 / 0

    return job
