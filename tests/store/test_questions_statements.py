"""The queue beside a slow twin: which questions are open for whom, who holds which, and until when."""

import numpy as np
import pytest
from sqlalchemy import text

from podium.errors import RefusedError
from podium.store import open_store
from podium.store import questions as queue
from podium.store.values import KINDS, Judge, Question, Vote, changed, pair_of
from podium.store.warm import LAST_MOMENT

from suites.store import new_campaign

JUDGES = [Judge(0, "ann"), Judge(1, "bob", conflicts=(2,)), Judge(2, "cy")]


SEEDS = {1: 2, 2: 3}  # with questions of every kind in everybody's hands


def table(writer, name, campaign):
    rows = writer._connection.execute(text(f'SELECT * FROM "{name}" WHERE campaign = {campaign}')).mappings().all()
    return sorted((dict(row) for row in rows), key=lambda row: tuple(row.values())[:3])


def filled(writer, seed):
    """A queue of all pairs of eight items in three plans, some given before, some in hands, some done."""
    rng = np.random.default_rng(seed)
    pairs = [(a, b) for a in range(8) for b in range(8) if a < b]
    some = []
    for k in rng.permutation(len(pairs)).tolist():
        left, right = pairs[k] if rng.random() < 0.5 else pairs[k][::-1]
        mine = int(rng.integers(3)) if rng.random() < 0.2 else None
        some.append(
            Question(left, right, KINDS[int(rng.integers(4))], int(rng.integers(3)), plan=int(rng.integers(1, 4)),
                     place=int(rng.integers(9)), judge=mine)
        )  # fmt: skip
    writer.add_questions(some)
    writer.change(plans=3)
    for question in writer.questions(writer.locked.id, "open"):
        luck = rng.random()
        if luck < 0.25:
            writer.give(question, int(rng.integers(3)), int(rng.integers(50)), int(100 + rng.integers(50)))
        elif luck < 0.7:  # given to somebody before, and back
            judge = int(rng.integers(3))
            held = writer.give(question, judge, 5, 10)
            writer.change_question(held, state="open", judge=question.judge, until=None)
        elif luck < 0.8:
            writer.change_question(question, state="done")


def seen_first(writer, judge):
    """Whether the judge would be given another question first, had it seen none before."""
    head = [each for each in writer.questions(writer.locked.id, "open") if each.plan == 3 and each.kind != "gold"]
    free = [
        each for each in head if each.judge in (None, judge.id) and not {each.left, each.right} & {*judge.conflicts}
    ]
    return bool(free) and pair_of(free[0].left, free[0].right) in writer.seen_pairs(writer.locked.id, judge.id)


@pytest.fixture(scope="module")
def two_queues(tmp_path_factory):
    """The bytes of a file with two such campaigns, 1 and 2."""
    path = tmp_path_factory.mktemp("queues") / "c.db"
    with open_store(str(path), new=True) as store:
        for campaign, slug in ((1, "one"), (2, "two")):
            assert new_campaign(store, slug, items=8, judges=3) == campaign
            store.write(campaign, lambda writer, seed=SEEDS[campaign]: filled(writer, seed))
        for campaign in (1, 2):
            held = store.read(lambda reader, at=campaign: reader.questions(at, "out"))
            assert {each.wanted for each in held} == {0, 1, 2}
            assert {each.judge for each in held} == {0, 1, 2}
            assert store.read(lambda reader, at=campaign: reader.questions(at, "done"))
            assert store.write(campaign, lambda writer: seen_first(writer, JUDGES[0]))
    return path.read_bytes()


@pytest.fixture
def at_work(two_queues, path):
    """Run a job in a transaction on a copy of that file."""
    path.write_bytes(two_queues)
    with open_store(str(path)) as store:
        yield lambda job, campaign=1: store.write(campaign, job)


def wanted(writer, judge, *, gold, count):
    """What a judge is given, from the whole of the tables."""
    campaign = writer.locked.id
    rows, leases = table(writer, "question", campaign), table(writer, "lease", campaign)
    mine = [row for row in leases if row["judge"] == judge.id]
    given, seen = {row["question"] for row in mine}, {row["pair"] for row in mine}
    open_for = [
        row
        for row in rows
        if row["state"] == "open"
        and (row["kind"] == "gold") == gold
        and row["judge"] in (None, judge.id)
        and row["id"] not in given
        and not {row["left"], row["right"]} & set(judge.conflicts)
    ]
    order = sorted(open_for, key=lambda row: (-row["plan"], row["place"], row["id"]))
    new = [row["id"] for row in order if row["pair"] not in seen]
    again = [row["id"] for row in order if row["pair"] in seen and row["kind"] == "repeat"]
    return [*new, *again][:count]


@pytest.mark.parametrize("gold", [False, True])
@pytest.mark.parametrize("count", [1, 3, 30])
def test_questions_are_new_to_their_judge_and_the_best_first(at_work, gold, count):
    def look(writer):
        for lasting in (True, False):
            if not lasting:
                writer.warm.renew(None)
            for judge in JUDGES:
                found = [each.id for each in writer.next_questions(judge, count, gold=gold)]
                assert found == wanted(writer, judge, gold=gold, count=count), (lasting, judge)
        return True

    assert at_work(look)


def test_what_is_remembered_of_the_queue_is_its_head(at_work, monkeypatch):
    """A short memory gives the same questions; it is read again where it runs out."""
    for most, least in ((2, 1), (3, 3), (50, 2)):
        monkeypatch.setattr(queue, "MOST_QUEUE", most)
        monkeypatch.setattr("podium.store.warm.MOST_QUEUE", most)
        monkeypatch.setattr(queue, "MIN_QUEUE", least)

        def look(writer):
            writer.warm.clear()
            for judge in (*JUDGES, *JUDGES):
                expected = wanted(writer, judge, gold=False, count=2)
                found = writer.next_questions(judge, 2)
                assert [each.id for each in found] == expected
                if found:
                    writer.give(found[0], judge.id, 60, 200)
            raise RefusedError("no", "taken back")

        with pytest.raises(RefusedError, match="taken back"):
            at_work(look)


def test_what_a_judge_holds_is_the_same_remembered_or_not(at_work):
    def look(writer):
        campaign = writer.locked.id
        rows = {row["id"]: row for row in table(writer, "question", campaign)}
        for judge in range(3):
            held = sorted(
                (row["shown"], -rows[row["question"]]["plan"], rows[row["question"]]["place"], row["question"])
                for row in table(writer, "lease", campaign)
                if row["judge"] == judge
                and rows[row["question"]]["state"] == "out"
                and rows[row["question"]]["judge"] == judge
            )
            for _ in range(2):
                assert [each.id for each in writer.held(campaign, judge)] == [key[-1] for key in held]
            since = {key[-1]: key[0] for key in held}
            for id in rows:
                found = writer.in_hand(judge, id)
                assert (found and (found[0].id, found[1])) == ((id, since[id]) if id in since else None)
            writer.warm.clear()
            if held:
                assert writer.in_hand(judge, held[0][-1])[1] == held[0][0]  # asked for first
        return [each.judge for each in writer.held(3 - campaign, 0)]

    assert set(at_work(look)) <= {0}


@pytest.mark.parametrize("but", [None, 0, 1])
def test_questions_whose_time_is_over_are_open_again(at_work, but):
    def look(writer):
        campaign = writer.locked.id
        others = table(writer, "question", 3 - campaign)
        for now in (99, 120, 149, 500):
            before = table(writer, "question", campaign)
            writer.lapse(now, but)
            expected = []
            for row in before:
                over = row["state"] == "out" and row["until"] <= now and row["judge"] != but
                after = {"state": "open" if row["wanted"] > 0 else "done", "judge": None, "until": None}
                expected.append(row | after if over else row)
            assert table(writer, "question", campaign) == expected
        assert table(writer, "question", 3 - campaign) == others
        return True

    assert at_work(look)


def test_nobody_is_looked_for_before_the_soonest_end(at_work):
    def look(writer):
        campaign = writer.locked.id
        writer.lapse(50)
        ends = [row["until"] for row in table(writer, "question", campaign) if row["state"] == "out"]
        assert writer._memory.soonest == min(ends)
        asked = writer.written
        writer.lapse(min(ends) - 1)
        assert writer.written == asked  # nothing was asked of the tables
        writer.lapse(min(ends))
        assert writer.written > asked
        writer.lapse(10_000)
        assert writer._memory.soonest == LAST_MOMENT
        assert not [row for row in table(writer, "question", campaign) if row["state"] == "out"]
        return True

    assert at_work(look)


def test_a_question_is_given_until_a_moment_and_its_first_time_counts(at_work):
    def look(writer):
        campaign = writer.locked.id
        writer.lapse(50)
        asked = writer.questions(campaign, "open")[0]
        held = writer.give(asked, 1, 70, 75)
        assert held == changed(asked, state="out", judge=1, until=75)
        assert writer.question(campaign, asked.id) == held
        assert writer.shown(campaign, asked.id, 1) == 70
        assert writer._memory.soonest == 75
        assert pair_of(asked.left, asked.right) in writer.seen_pairs(campaign, 1)
        back = writer.change_question(held, state="open", judge=None, until=None)
        again = writer.give(back, 1, 90, 95)
        assert writer.shown(campaign, asked.id, 1) == 70  # the first time
        assert writer.in_hand(1, asked.id) == (again, 70)
        return True

    assert at_work(look)


def test_a_judge_who_is_there_keeps_what_is_in_hand(at_work):
    def look(writer):
        campaign = writer.locked.id
        writer.lapse(50)
        soonest = writer._memory.soonest
        writer.held(campaign, 1)
        before = table(writer, "question", campaign)
        writer.extend(1, 900)
        expected = [row | {"until": 900} if (row["state"], row["judge"]) == ("out", 1) else row for row in before]
        assert table(writer, "question", campaign) == expected
        assert {each.until for each in writer.held(campaign, 1)} <= {900}
        assert writer._memory.soonest == soonest  # others may be sooner
        writer.extend(1, 60)
        assert writer._memory.soonest == 60
        writer._memory.soonest = None
        writer.extend(1, 70)
        assert writer._memory.soonest is None  # not known stays not known
        return True

    assert at_work(look)


def test_what_a_judge_holds_goes_back_into_the_queue(at_work):
    def look(writer):
        campaign = writer.locked.id
        before, others = table(writer, "question", campaign), table(writer, "question", 3 - campaign)
        writer.release_hand(2)
        free = {"judge": None, "until": None}
        expected = [
            row | free | {"state": "open" if row["wanted"] > 0 else "done"}
            if (row["state"], row["judge"]) == ("out", 2)
            else row
            for row in before
        ]
        assert table(writer, "question", campaign) == expected
        assert table(writer, "question", 3 - campaign) == others
        return writer.held(campaign, 2)

    assert at_work(look) == []


def begun(writer):
    """Votes on every other question: rows with an outcome, and skips."""
    ids = [row["id"] for row in table(writer, "question", writer.locked.id)]
    rows = [Vote(0, f"b{id}", 0, 1, None if id % 4 == 0 else 1.0, question=id) for id in ids if id % 2 == 0]
    writer.append_votes(rows)
    return {row.question for row in rows if row.outcome is not None}


def test_questions_that_have_some_of_their_votes_go_to_the_head_of_the_plan(at_work):
    def look(writer):
        campaign, voted = writer.locked.id, begun(writer)
        before, others = table(writer, "question", campaign), table(writer, "question", 3 - campaign)
        writer.bring_forward(9)
        expected = [
            row | {"plan": 9, "place": -1}
            if row["state"] == "open" and row["kind"] != "gold" and row["wanted"] > 0 and row["id"] in voted
            else row
            for row in before
        ]
        assert table(writer, "question", campaign) == expected
        assert expected != before
        assert table(writer, "question", 3 - campaign) == others
        return True

    assert at_work(look)


@pytest.mark.parametrize(("items", "everything"), [((), True), ((2,), False), ((0, 5), False), ((2,), True), ((), False)])  # noqa: E501  # fmt: skip
def test_the_queue_is_cleared_of_all_that_waits_or_of_some_items(at_work, items, everything):
    """What was ever given stays, as done; what has some of its votes stays in the queue, unless an item goes."""

    def look(writer):
        campaign, voted = writer.locked.id, begun(writer)
        before, others = table(writer, "question", campaign), table(writer, "question", 3 - campaign)
        given = {row["question"] for row in table(writer, "lease", campaign)}
        writer.clear_queue(**({"items": items} if items else {}), **({"everything": True} if everything else {}))
        expected = []
        for row in before:
            waits = row["state"] == "open" or (row["state"] == "out" and bool(items))
            if everything:
                goes = waits and not (row["wanted"] > 0 and row["id"] in voted)
            else:
                goes = waits and bool({row["left"], row["right"]} & set(items))
            if not goes:
                expected.append(row)
            elif row["id"] in given:
                expected.append(row | {"state": "done", "judge": None, "until": None})
        assert table(writer, "question", campaign) == expected
        assert table(writer, "question", 3 - campaign) == others
        return True

    assert at_work(look)


def test_nothing_is_remembered_of_a_queue_that_was_added_to(at_work):
    def look(writer):
        campaign = writer.locked.id
        writer.add_questions([])
        writer.next_questions(JUDGES[0], 1)
        done = [each for each in writer.questions(campaign, "done") if 0 in (each.left, each.right)]
        known = writer._memory.queue
        assert known is not None
        writer.add_questions([])
        assert writer._memory.queue is known
        new = Question(done[0].left, done[0].right, plan=3, place=-5)
        writer.add_questions([new])
        expected = wanted(writer, JUDGES[2], gold=False, count=1)
        assert [each.id for each in writer.next_questions(JUDGES[2], 1)] == expected
        row = writer.question(campaign, max(row["id"] for row in table(writer, "question", campaign)))
        assert (row.left, row.right, row.place, row.state) == (new.left, new.right, -5, "open")
        return True

    assert at_work(look)


def test_what_is_remembered_is_not_read_again(at_work, monkeypatch):
    """The head of the queue is read once for a plan, and again only where it runs low and there is more."""

    def look(writer):
        asked, rows = [], writer._rows
        monkeypatch.setattr(writer, "_rows", lambda statement, **values: asked.append(statement is queue.HEAD) or rows(statement, **values))  # noqa: E501  # fmt: skip
        monkeypatch.setattr(writer, "seen_pairs", lambda campaign, judge: asked.append("seen") or set())

        def read_again():
            asked.clear()
            writer._head_for(JUDGES[2], 1)
            return asked.count(True), asked.count("seen")

        assert read_again() == (1, 1)
        memory = writer._memory
        assert memory.whole  # fewer than are remembered, and fewer than from which they are read again
        assert read_again() == (0, 0)
        memory.whole = False
        assert read_again() == (1, 0)
        place = memory.queue[0]
        for length, again in ((queue.MIN_QUEUE, 0), (queue.MIN_QUEUE - 1, 1)):
            memory.queue, memory.whole = [place] * length, False
            assert read_again() == (again, 0)
        memory.plan += 1
        assert read_again() == (1, 0)
        memory.queue = None
        assert read_again() == (1, 0)
        return True

    assert at_work(look)


def test_gold_comes_when_asked_for_and_a_marked_repeat_where_nothing_is_new(store):
    """Of one plan: a pair that the judge has seen, marked as a repeat, and a gold pair that is new."""
    campaign = new_campaign(store, judges=3)

    def look(writer):
        writer.change(plans=1)
        writer.add_questions([Question(0, 1, plan=1)])
        writer.change_question(writer.give(writer.questions(campaign, "open")[0], 0, 5, 10), state="done")
        writer.add_questions([Question(1, 0, "repeat", plan=1), Question(2, 3, "gold", plan=1)])

        def kinds(judge, count, gold):
            return [each.kind for each in writer.next_questions(Judge(judge, "x"), count, gold=gold)]

        for _ in range(2):
            assert kinds(0, 1, True) == ["gold"]
            assert kinds(0, 2, True) == ["gold"]
            assert kinds(0, 1, False) == ["repeat"]
            assert kinds(0, 9, False) == ["repeat"]
            assert kinds(1, 1, False) == ["repeat"]  # new to this one
            assert kinds(1, 9, True) == ["gold"]
            writer.warm.renew(None)  # and with nothing remembered
        writer.change(plans=2)  # what is left of older plans
        assert kinds(0, 1, True) == ["gold"]
        assert kinds(0, 1, False) == ["repeat"]
        return True

    assert store.write(campaign, look)


@pytest.mark.parametrize("count", [1, 2, 3, 4])
@pytest.mark.parametrize("lasting", [True, False])
def test_repeats_fill_up_what_is_wanted_and_no_more(store, count, lasting):
    campaign = new_campaign(store)

    def look(writer):
        if not lasting:
            writer.warm.renew(None)
        writer.change(plans=1)
        for right in (1, 2):
            writer.add_questions([Question(0, right, plan=1)])
            writer.change_question(writer.give(writer.questions(campaign, "open")[0], 0, 5, 10), state="done")
        some = [Question(0, 1, "repeat", plan=1), Question(0, 2, "repeat", plan=1, place=1), Question(2, 3, plan=1)]
        writer.add_questions(some)
        return [each.kind for each in writer.next_questions(Judge(0, "x"), count)]

    assert store.write(campaign, look) == ["chosen", "repeat", "repeat"][:count]
