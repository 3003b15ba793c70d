"""The queue beside a slow twin: which questions are open for whom, who holds which, and until when."""

import numpy as np
import pytest
from sqlalchemy import text

from podium.errors import RefusedError
from podium.store import open_store
from podium.store import questions as queue
from podium.store.transaction import Transaction
from podium.store.values import KINDS, Campaign, Event, Item, Judge, Question, Vote, changed, pair_of
from podium.store.warm import LAST_MOMENT, Memory, Warm
from podium.store.writer import Writer

from suites.store import new_campaign

JUDGES = [Judge(0, "ann"), Judge(1, "bob", conflicts=(2,)), Judge(2, "cy")]


def table(writer, name, campaign):
    rows = writer._connection.execute(text(f'SELECT * FROM "{name}" WHERE campaign = {campaign}')).mappings().all()
    return sorted((dict(row) for row in rows), key=lambda row: tuple(row.values())[:3])


def filled(writer, seed):
    """A queue of all pairs of seven items in three plans, some given before, some in hands, some done."""
    rng = np.random.default_rng(seed)
    pairs = [(a, b) for a in range(7) for b in range(7) if a < b]
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
        if luck < 0.15:
            writer.give(question, int(rng.integers(3)), int(rng.integers(50)), int(100 + rng.integers(50)))
        elif luck < 0.4:  # given to somebody before, and back
            judge = int(rng.integers(3))
            held = writer.give(question, judge, 5, 10)
            writer.change_question(held, state="open", judge=question.judge, until=None)
        elif luck < 0.5:
            writer.change_question(question, state="done")


@pytest.fixture(scope="module")
def two_queues(tmp_path_factory):
    """The bytes of a file with two such campaigns, 1 and 2."""
    path = tmp_path_factory.mktemp("queues") / "c.db"
    with open_store(str(path), new=True) as store:
        for campaign, slug in ((1, "one"), (2, "two")):
            assert new_campaign(store, slug, items=7, judges=3) == campaign
            store.write(campaign, lambda writer, seed=campaign: filled(writer, seed))
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
        writer.clear_queue(items=items, everything=everything)
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


# ---- a transaction --------------------------------------------------------------------------------------------------


def test_a_campaign_is_locked_once_and_known_by_what_was_changed(store):
    one, two = new_campaign(store, "one"), new_campaign(store, "two")

    def look(writer):
        first = writer.lock(one)
        assert writer.lock(one) is first
        writer.change(plans=4)
        writer.change(state="paused", options={"ties": False})
        assert (writer.locked.plans, writer.locked.state, writer.state[1]) == (
            4,
            "paused",
            {"plans", "state", "options"},
        )
        assert writer.lock(two).id == two  # what was changed is written before
        rows = {row["id"]: row for row in map(dict, writer.run_all("campaign"))}
        assert (rows[one]["plans"], rows[one]["state"]) == (4, "paused")
        assert (rows[two]["plans"], rows[two]["state"]) == (0, "open")
        assert writer.lock(one).options == {"ties": False}
        with pytest.raises(RefusedError) as caught:
            writer.lock(9)
        assert (caught.value.code, str(caught.value)) == (
            "unknown-campaign", "there is no campaign 9; check its number",
        )  # fmt: skip

    def with_rows(writer):
        writer.run_all = lambda name: writer._connection.execute(text(f"SELECT * FROM {name}")).mappings().all()
        look(writer)

    store.write(one, with_rows)
    assert store.read(lambda reader: reader.campaign(one)).plans == 4


def test_what_is_written_is_counted_and_whoever_takes_the_connection_makes_all_be_forgotten(store):
    campaign = new_campaign(store)

    def look(writer):
        writer.judge(campaign, 0)
        assert writer._memory.judges.keys() == {0}
        before = writer.written
        writer.aside.execute(text("SELECT 1"))
        assert writer.written == before + 1
        assert writer._memory.judges.keys() == {0}
        writer.connection.execute(text("SELECT 1"))
        assert writer.written == before + 2
        assert not writer._memory.judges
        assert writer._memory.campaign is None
        assert writer._do(queue.LAPSE, {"c": campaign, "now": 0, "but": -1}) == 0
        assert writer.written == before + 3

    store.write(campaign, look)


def test_only_plain_columns_are_remembered_as_they_were_written(store):
    campaign = new_campaign(store)

    def plain(writer):
        writer.change(plans=5)
        writer.flush()
        assert writer._memory.campaign == writer.locked
        assert writer.state == (writer.locked, frozenset())
        writer.change(options={"a": 1})
        writer.flush()
        assert writer._memory.campaign is None  # JSON is as the database tells it
        before = writer.written
        writer.flush()
        assert writer.written == before  # nothing is left to write

    store.write(campaign, plain)
    assert store.read(lambda reader: reader.campaign(campaign)).options == {"a": 1}


def test_a_transaction_by_itself_remembers_nothing_of_others(store):
    campaign = new_campaign(store)
    with store._writing.connect() as connection, connection.begin():
        one, other = Transaction(connection), Transaction(connection)
        assert isinstance(one.warm, Warm)
        assert one.warm is not other.warm
        assert one.counts == {}
        assert one.counts is not other.counts
        assert one.state == (None, frozenset())
        assert one.written == 0
        assert one._memory_of(campaign) is not one._memory  # nothing is locked
        one.lock(campaign)
        assert one._memory_of(campaign) is one._memory
        assert one._memory_of(campaign + 1) is not one._memory
        assert isinstance(one._memory_of(campaign + 1), Memory)
        known = Writer(connection, {(1, 2): (3, 4)}, one.warm)
        assert (known.counts, known.warm) == ({(1, 2): (3, 4)}, one.warm)
        with pytest.raises(AssertionError, match="locks it"):
            other.locked  # noqa: B018


def test_going_back_is_to_the_campaign_that_was_locked(store):
    one, two = new_campaign(store, "one"), new_campaign(store, "two")

    def look(writer):
        before = writer.state
        memory = writer._memory
        writer.lock(two)
        writer.back_to(before)
        assert writer.locked.id == one
        assert writer._memory is memory
        writer.back_to((None, frozenset()))
        assert writer.state[0] is None
        assert writer._memory is not memory
        writer.back_to(before)

    store.write(one, look)


@pytest.mark.parametrize("known", [False, True])
def test_votes_are_counted_from_where_they_were_counted_before(store, known):
    """The log only grows: of what is on disk the count is kept, of what this transaction wrote it is not."""
    campaign = new_campaign(store)
    rows = [Vote(k % 2, f"{k}", 0, 1, None if k == 4 else 1.0) for k in range(6)]
    store.write(campaign, lambda writer: writer.append_votes(rows))
    store._committer._counts.clear()
    if known:
        store._committer._counts[campaign, 0] = (4, 2)

    def look(writer):
        writer.append_votes([Vote(0, "more", 0, 1, 0.0), Vote(0, "undo", 0, 1, None, undoes=1)])
        writer._memory.counts.clear()
        assert writer.count_votes(campaign, 0) == 2  # the first and the third, and one more, less the first
        assert writer._memory.counts == {0: 2}
        assert writer.counts[campaign, 0] == (6, 2)
        assert writer.count_votes(campaign, 0) == 2
        writer.append_new(Vote(0, "again", 0, 1, 1.0))
        assert writer.count_votes(campaign, 0) == 3
        writer.append_new(Vote(0, "skip", 0, 1, None))
        assert writer.count_votes(campaign, 0) == 3
        writer.append_new(Vote(1, "other", 0, 1, 1.0))
        assert writer.count_votes(campaign, 0) == 3
        assert writer.count_votes(campaign, 1) == 4

    store.write(campaign, look)
    assert store.read(lambda reader: reader.count_votes(campaign, 0)) == 3


@pytest.mark.parametrize(("most", "kept"), [(1, 1), (2, 1), (3, 3)])
def test_so_many_counts_are_remembered(store, monkeypatch, most, kept):
    monkeypatch.setattr("podium.store.transaction.MOST_COUNTS", most)
    campaign = new_campaign(store, judges=3)
    store.write(campaign, lambda writer: writer.append_votes([Vote(j, f"{j}", 0, 1, 1.0) for j in range(3)]))
    store._committer._counts.clear()
    assert store.write(campaign, lambda writer: [writer.count_votes(campaign, j) for j in range(3)]) == [1] * 3
    assert len(store._committer._counts) == kept  # all are forgotten where there would be one more


# ---- what is written ------------------------------------------------------------------------------------------------


def test_a_new_campaign_is_that_of_its_transaction(store):
    def make(writer):
        made = writer.add_campaign(Campaign(0, "tea", "Tea", "?", "do", 1, {"a": 1}, 7, "draft", "h", 5, 1, 2, 3, 4))
        assert writer.locked == made
        assert writer._memory is writer.warm.of(made.id)
        return made

    made = store.write(0, make)
    assert made.id == 1
    assert store.read(lambda reader: reader.campaign(1)) == made

    def another(writer):
        writer.lock(1)
        writer.change(plans=9)
        return writer.add_campaign(changed(made, slug="two"))

    assert store.write(0, another).id == 2
    assert store.read(lambda reader: (reader.campaign(1).plans, reader.campaign(2).plans)) == (9, 3)


def test_judges_are_numbered_from_nothing_in_each_campaign(store):
    one, two = new_campaign(store, "one", judges=0), new_campaign(store, "two", judges=2)
    for campaign, number in ((one, 0), (one, 1), (two, 2)):
        new = Judge(77, f"n{number}", conflicts=(1, 2))
        added = store.write(campaign, lambda writer, new=new: writer.add_judge(new))
        assert added == changed(new, id=number)
        assert store.read(lambda reader, at=campaign, id=number: reader.judge(at, id)) == added


def test_a_change_is_of_one_row_of_its_campaign(store):
    one, two = new_campaign(store, "one"), new_campaign(store, "two")
    before = store.read(lambda reader: (reader.items(two), reader.judges(two)))

    def work(writer):
        assert writer.judge(one, 1).name == "judge 1"
        writer.change_judge(1, name="bob", seen=8)
        assert writer.judge(one, 1).name == "bob"  # not as it was remembered
        writer.change_item(2, withdrawn=9)

    store.write(one, work)
    assert [each.name for each in store.read(lambda reader: reader.judges(one))] == ["judge 0", "bob"]
    assert [each.withdrawn for each in store.read(lambda reader: reader.items(one))] == [None, None, 9, None]
    assert store.read(lambda reader: (reader.items(two), reader.judges(two))) == before


def test_logs_are_numbered_on_and_nothing_is_nothing(store):
    campaign = new_campaign(store)

    def work(writer):
        assert writer.append_votes([]) == []
        assert writer.locked.last_vote == 0
        assert [row.seq for row in writer.append_votes([Vote(0, f"{k}", 0, 1, 1.0) for k in range(3)])] == [1, 2, 3]
        assert writer.locked.last_vote == 3
        assert writer.append_new(Vote(0, "1", 0, 1, 1.0)) is None
        assert writer.locked.last_vote == 3
        assert writer.append_new(Vote(0, "4", 0, 1, 1.0)).seq == 4
        assert [writer.append_event(Event("state", at=k)).seq for k in range(2)] == [1, 2]
        writer.add_items([])
        writer.add_calls([])
        writer.end_calls([])
        writer.add_item_texts("context", {})

    store.write(campaign, work)
    found = store.read(lambda reader: reader.campaign(campaign))
    assert found.position == (4, 2)
    store.write(campaign, lambda writer: writer.add_items([Item(4, "new")]))
    assert store.read(lambda reader: reader.count_items(campaign)) == 5


def test_reasons_of_one_judge_of_one_campaign_are_emptied(store):
    one, two = new_campaign(store, "one"), new_campaign(store, "two")
    for campaign in (one, two):
        rows = [Vote(k % 2, f"{k}", 0, 1, 1.0, reason=f"r{k}" if k < 3 else None) for k in range(4)]
        store.write(campaign, lambda writer, rows=rows: writer.append_votes(rows))
    store.write(one, lambda writer: writer.empty_reasons(0))
    reasons = [[row.reason for row in store.read(lambda reader, at=at: list(reader.votes(at)))] for at in (one, two)]
    assert reasons == [[None, "r1", None, None], ["r0", "r1", "r2", None]]


def test_the_two_databases_are_told_apart_by_how_their_address_begins(monkeypatch):
    from podium.store import postgres

    asked = []
    monkeypatch.setattr(postgres, "PostgresStore", lambda where, *, new: asked.append((where, new)))
    for where in ("postgresql://u@h/n", "postgres://u@h/n", "postgres://u@h/postgres://", "postgresql+psycopg://u@h/n"):
        open_store(where, new=True)
    open_store("postgresql:n")
    assert asked == [
        ("postgresql://u@h/n", True), ("postgresql://u@h/n", True),
        ("postgresql://u@h/postgres://", True), ("postgresql+psycopg://u@h/n", True), ("postgresql:n", False),
    ]  # fmt: skip
