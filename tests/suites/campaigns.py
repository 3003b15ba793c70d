"""Campaigns for tests: made in a line, with judges and votes."""

import copy

from podium.campaign import desk, setup
from podium.campaign.items import Items
from podium.campaign.options import Options
from podium.store.values import Item

START = 1_800_000_000_000  # some moment; tests move it on by hand
MINUTE = 60_000


class Bench:
    """A campaign in a store, with a clock that stands still unless moved."""

    def __init__(self, store, items=6, judges=("ann", "bob"), seed=1, **options):
        self.store, self.now, self.votes = store, START, 0
        labels = [f"item {code}" for code in range(items)]
        made = Items([Item(-1, label) for label in labels])
        settings = Options.of(options)
        self.campaign, self.token = store.write(
            0,
            lambda writer: setup.new_campaign(
                writer, made, title="Tea", question="Which?", now=self.now, seed=seed, options=settings
            ),
        )
        self.id = self.campaign.id
        self.links = self.do(lambda writer: setup.invite(writer, judges, self.now))

    def on(self, store):
        """The same campaign through another store on the same database."""
        other = copy.copy(self)
        other.store = store
        return other

    def do(self, job):
        return self.store.write(self.id, job)

    def read(self, job):
        return self.store.read(job)

    def content(self):
        return self.store.read(lambda reader: reader.content(self.id))

    def next(self, judge, count=3):
        return self.do(lambda writer: desk.next_pairs(writer, judge, self.now, count))

    def vote(self, judge, question, outcome=1.0, id=None, count=3, **more):
        self.votes += 1
        self.now += 1  # no two votes in the same moment
        ballot = desk.Ballot(id or f"v{self.votes}", question, outcome, **more)
        receipts, hand = self.do(lambda writer: desk.vote(writer, judge, [ballot], self.now, count))
        return receipts[0], hand

    def undo(self, judge, of, id=None):
        self.votes += 1
        return self.do(lambda writer: desk.undo(writer, judge, id or f"u{self.votes}", of, self.now))

    def answer(self, judge, better=min, times=1):
        """Vote on whatever is in hand: the item with the smaller code wins, unless told otherwise."""
        for _ in range(times):
            question = self.next(judge, 1).questions[0]
            receipt, _ = self.vote(judge, question.id, float(better(question.left, question.right) == question.left))
            assert receipt.status == "stored"
