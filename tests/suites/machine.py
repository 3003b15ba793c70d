"""A campaign against a list in memory: whatever judges and organisers do, in whatever order, the two agree."""

import shutil
import tempfile
from pathlib import Path

import hypothesis.strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from sqlalchemy import event

from podium.campaign import desk, planning, setup
from podium.campaign.items import Items
from podium.campaign.live import live_votes
from podium.errors import RefusedError
from podium.store import open_store
from podium.store.commits import Job
from podium.store.values import Item, pair_of

from suites.campaigns import MINUTE, Bench

JUDGES = st.integers(0, 2)
OUTCOMES = st.sampled_from([1.0, 0.0, 0.5, None])


class CampaignMachine(RuleBasedStateMachine):
    """`rows` is the model: what was acknowledged, in order."""

    @initialize(votes_per_pair=st.integers(1, 2), items=st.integers(2, 5))
    def begin(self, votes_per_pair, items):
        self.folder = Path(tempfile.mkdtemp())
        self.rows = []  # [judge, left, right, outcome, question, id, undone]
        self.given = {}  # judge -> {question: (left, right)}, ever
        self.out = set()  # judges excluded
        self.open = True
        self.items = items
        self.store = self.opened(new=True)
        self.bench = Bench(
            self.store, items, ("a", "b", "c"), votes_per_pair=votes_per_pair, tired_after=2, lease_minutes=10
        )

    def opened(self, new=False):
        store = open_store(str(self.folder / "c.db"), new=new)

        @event.listens_for(store._writing, "connect")
        def quick(connection, _):  # what is tried here is the logic; tests of crashes sync
            connection.execute("PRAGMA synchronous = OFF")

        store._writing.dispose()
        return store

    def teardown(self):
        if hasattr(self, "store"):
            self.store.close()
            shutil.rmtree(self.folder)

    @rule(judge=JUDGES, count=st.integers(1, 4))
    def take(self, judge, count):
        hand = self.bench.next(judge, count)
        again = self.bench.next(judge, count)
        assert [q.id for q in again.questions] == [q.id for q in hand.questions]  # a reload
        mine = self.given.setdefault(judge, {})
        for question in hand.questions:
            pair = pair_of(question.left, question.right)
            if question.id not in mine and question.kind != "repeat":
                assert pair not in {pair_of(*known) for known in mine.values()}  # never twice
            mine[question.id] = (question.left, question.right)
        if not self.open:
            assert not hand.questions

    @precondition(lambda self: any(self.given.values()))
    @rule(data=st.data(), outcome=OUTCOMES)
    def vote(self, data, outcome):
        judge = data.draw(st.sampled_from([each for each, given in self.given.items() if given]))
        question = data.draw(st.sampled_from(sorted(self.given[judge])))
        id = f"v{len(self.rows)}-{self.bench.votes}"
        receipt, _ = self.bench.vote(judge, question, outcome, id=id)
        stands = any(row[0] == judge and row[4] == question and not row[6] for row in self.rows)
        if stands:
            assert (receipt.status, receipt.code) == ("refused", "answered")
        else:
            assert receipt.status == "stored"
            self.rows.append([judge, *self.given[judge][question], outcome, question, id, False])
            assert self.bench.vote(judge, question, outcome, id=id)[0].status == "repeated"

    @precondition(lambda self: self.rows)
    @rule(data=st.data())
    def undo(self, data):
        row = data.draw(st.sampled_from(self.rows))
        receipt, _ = self.bench.undo(row[0], row[5])
        assert receipt.status == ("repeated" if row[6] else "stored")
        row[6] = True

    @rule(minutes=st.sampled_from([1, 5, 11, 100]))
    def wait(self, minutes):
        self.bench.now += minutes * MINUTE

    @rule()
    def plan(self):
        planning.plan_once(self.store, self.bench.id, self.bench.now)

    @rule(judge=JUDGES)
    def exclude_or_restore(self, judge):
        change = setup.reinstate if judge in self.out else setup.exclude
        self.bench.do(lambda writer: change(writer, judge, self.bench.now))
        self.out ^= {judge}

    @precondition(lambda self: self.items < 8)
    @rule()
    def add_item(self):
        new = Items([Item(-1, f"item {self.items}")])
        self.bench.do(lambda writer: setup.add_items(writer, new, self.bench.now))
        self.items += 1

    @rule()
    def pause_or_open(self):
        self.open = not self.open
        state = "open" if self.open else "paused"
        self.bench.do(lambda writer: setup.set_state(writer, state, self.bench.now))

    @rule()
    def crash(self):
        self.store.close()
        self.store = self.bench.store = self.opened()

    @rule(judge=JUDGES, outcome=OUTCOMES)
    def another_program_votes(self, judge, outcome):
        """Beside the server, on the same database: a hand is taken and its first pair answered."""
        with self.opened() as other:
            hand = other.write(self.bench.id, lambda writer: desk.next_pairs(writer, judge, self.bench.now, 2))
            mine = self.given.setdefault(judge, {})
            mine |= {question.id: (question.left, question.right) for question in hand.questions}
            if not hand.questions:
                return
            question, id = hand.questions[0], f"o{len(self.rows)}-{self.bench.votes}"
            ballot = desk.Ballot(id, question.id, outcome)
            receipts, _ = other.write(
                self.bench.id, lambda writer: desk.vote(writer, judge, [ballot], self.bench.now, 1)
            )
        assert receipts[0].status == "stored"
        self.rows.append([judge, question.left, question.right, outcome, question.id, id, False])

    @rule(judge=JUDGES)
    def refused_late(self, judge):
        """A job that takes pairs, counts and then fails leaves nothing behind, in the tables or in mind."""

        def work(writer):
            desk.next_pairs(writer, judge, self.bench.now, 4)
            writer.change(version=99)
            raise RefusedError("late", "too late")

        for repeatable in (True, False):
            job = Job(self.bench.id, work, repeatable=repeatable)
            self.store.send([job])
            try:
                job.result.result(timeout=60)
            except RefusedError as problem:
                assert problem.code == "late"  # noqa: PT017
        assert self.bench.read(lambda reader: reader.campaign(self.bench.id)).version != 99

    @rule(judge=JUDGES)
    def strange_question(self, judge):
        receipt, _ = self.bench.vote(judge, 10_000, 1.0)
        assert receipt.code == "not-given"
        try:
            self.bench.undo(judge, "nothing")
        except RefusedError as problem:
            assert problem.code == "unknown-vote"  # noqa: PT017

    @invariant()
    def the_log_is_the_list(self):
        if not hasattr(self, "bench"):
            return
        live = live_votes(self.bench.content())
        stored = list(
            zip(live.judge.tolist(), live.left.tolist(), live.right.tolist(), live.value.tolist(), strict=True)
        )
        model = [tuple(row[:4]) for row in self.rows if row[3] is not None and not row[6] and row[0] not in self.out]
        assert stored == model
        history = self.bench.read(lambda reader: desk.history(reader, self.bench.id, 0, 500))
        assert [vote.client_id for vote in reversed(history)] == [r[5] for r in self.rows if r[0] == 0 and not r[6]]

    @invariant()
    def what_is_remembered_is_what_the_tables_say(self):
        if hasattr(self, "bench"):
            known = self.store._committer.warm.of(self.bench.id)
            self.bench.do(lambda writer: None)  # a transaction: what another program changed is forgotten
            self.bench.read(lambda reader: check_memory(reader, self.bench.id, known))

    @invariant()
    def whoever_holds_a_pair_has_no_vote_on_it(self):
        if hasattr(self, "bench"):
            out = self.bench.read(lambda reader: reader.questions(self.bench.id, "out"))
            held = {(question.judge, question.id) for question in out}
            assert not held & {(row[0], row[4]) for row in self.rows if not row[6]}

    @invariant()
    def no_pair_is_in_two_hands(self):
        if not hasattr(self, "bench"):
            return
        waiting = self.bench.read(lambda reader: reader.questions(self.bench.id, "open", "out"))
        pairs = [pair_of(q.left, q.right) for q in waiting]
        assert len(pairs) == len(set(pairs))


def check_memory(reader, campaign, known):
    """What the writing thread remembers against what the tables say, part by part, as far as it remembers."""
    assert known.campaign in (None, reader.campaign(campaign))
    assert known.judges == {id: reader.judge(campaign, id) for id in known.judges}
    assert {judge: known.hand_of(judge) for judge in known.hands} == {
        judge: reader.held(campaign, judge) for judge in known.hands
    }
    for judge, hand in known.hands.items():
        assert {id: since for id, (_, since) in hand.items()} == {id: reader.shown(campaign, id, judge) for id in hand}
    assert known.seen == {judge: reader.seen_pairs(campaign, judge) for judge in known.seen}
    assert known.counts == {judge: reader.count_votes(campaign, judge) for judge in known.counts}
    if known.soonest is not None:
        ends = [each.until for each in reader.questions(campaign, "out") if each.until is not None]
        assert known.soonest <= min(ends, default=known.soonest)
    if known.queue is not None:
        waiting = [each for each in reader.questions(campaign, "open") if each.plan == known.plan]
        waiting = sorted((each for each in waiting if each.kind != "gold"), key=lambda each: (each.place, each.id))
        remembered = [each for _, _, each in known.queue]
        assert remembered == waiting[: None if known.whole else len(remembered)]
