"""What a transaction locks, counts and remembers, and what is written in it."""

import pytest
from sqlalchemy import text

from podium.errors import RefusedError
from podium.store import open_store
from podium.store import questions as queue
from podium.store.transaction import Transaction
from podium.store.values import Campaign, Event, Item, Judge, Vote, changed
from podium.store.warm import Memory, Warm
from podium.store.writer import Writer

from suites.store import new_campaign

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
        writer.change(plans=6, planned_at=7, state="paused", last_vote=0, last_event=0)  # all there are
        writer.flush()
        assert writer._memory.campaign == writer.locked
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
