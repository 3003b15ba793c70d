"""A model as judge of a campaign that `podium serve` has: pairs and votes go through its API, calls are kept here.

The file that keeps the calls is a campaign of its own, of the pairs that this judge was given: the same tables, exports
and resuming as for any other. A vote is on disk here before it is sent, and is sent again until the server has it.
"""

from __future__ import annotations

import hashlib
import re
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol

from podium.campaign import desk as desks
from podium.campaign import setup
from podium.campaign.items import Items, media_type
from podium.campaign.options import Options
from podium.errors import InputError, RefusedError
from podium.judge import ledger as ledgers
from podium.judge.asking import Asker
from podium.judge.markup import text_of
from podium.judge.pairs import Judged, judged
from podium.judge.settings import CALIBRATION, Progress, Settings
from podium.store import open_store
from podium.store.values import Campaign, Event, Item, Judge, Media, Question
from podium.text import one_line

if TYPE_CHECKING:
    from podium.store.base import Store
    from podium.store.reader import Reader
    from podium.store.writer import Writer

__all__ = ["Desk", "file_of", "judge_remote"]

GIVEN, DELIVERED = "given", "delivered"  # verbs of events: numbers of pairs at the server
MOST_IN_HAND = 10  # pairs that a server gives a judge at a time
MOST_LABEL = 40  # characters of a text that name it where the server hides its label
WHY = {  # why a judge is given nothing
    "done": "the server has no more pairs for this judge",
    "waiting": "the pairs that are left for this judge are in others' hands; go on in a few minutes",
    "paused": "the campaign is paused; go on when it is open",
    "closed": "the campaign is closed",
    "draft": "the campaign is not open yet",
    "comprehension": "the campaign first asks judges about the instructions, which a model cannot answer",
    "misunderstood": "the campaign first asks judges about the instructions, which a model cannot answer",
}


class Desk(Protocol):
    """Where pairs come from and votes go: `podium.client.Judge` is one."""

    url: str

    def next(self, count: int = 3) -> dict[str, Any]:
        """The pairs in hand."""

    def vote(
        self, question: int, outcome: float | None, *, id: str | None = None, ms: int | None = None,
        reason: str | None = None,
    ) -> str:  # fmt: skip
        """Vote on a pair."""

    def media(self, path: str) -> bytes:
        """The file of an item."""


def file_of(desk: Desk) -> str:
    """Where the calls of this judge are kept unless somebody says so: here, whatever the server calls it."""
    return re.sub(r"[^\w-]", "-", desk.next(1)["who"]) + ".podium.db"


def judge_remote(
    desk: Desk,
    asker: Asker,
    settings: Settings,
    *,
    db: str,
    name: str | None = None,
    told: Callable[[Progress], None] | None = None,
) -> Judged:
    """Let an asker judge through a server, until its pairs, the budget or the judge's target are used."""
    first = desk.next(1)
    if not first["questions"]:
        raise InputError(f"{desk.url}: {WHY.get(first['why'], first['why'])}; ask its organiser")
    budget = settings.budget or first["target"]
    if budget is None and settings.max_calls is None and settings.max_cost is None:
        raise InputError(f"{desk.url} sets no number of votes for this judge; give --budget, the pairs to ask about")
    settings = replace(settings, budget=budget or 10**9)
    with open_store(db, new=True) as store:
        campaign = _mirror(store, desk, first)

        def ledger(judge: Judge, header: Mapping[str, Any], material: ledgers.Material) -> ledgers.Ledger:
            return RemoteLedger(store, campaign, judge, header, desk, material, ties=bool(first["campaign"]["ties"]))

        about = {"campaign": f"{desk.url} {first['who']}"}
        return judged(store, campaign, asker, settings, name=name, told=told, about=about, open_ledger=ledger)


def _mirror(store: Store, desk: Desk, first: Mapping[str, Any]) -> Campaign:
    """The campaign of the pairs that this judge is given, begun with the first."""
    card = first["campaign"]
    known = ledgers.found_campaign(store, card["title"])
    instructions = text_of(card["instructions"])
    if known is not None:
        for what, old, new in (("question", known.question, card["question"]),
                               ("instructions", known.instructions, instructions)):  # fmt: skip
            if old != new:
                raise InputError(
                    f"{store.name} was begun with another {what} ({old!r}, now {new!r}); take another --db"
                )
        return known
    pair = first["questions"][0]
    items = _Shown(desk).items([pair["left"], pair["right"]], [])
    return ledgers.new_campaign(
        store, items, {}, title=card["title"], question=card["question"], instructions=instructions,
        options=Options(tired_after=1), seed=0,
    )  # fmt: skip


@dataclass(slots=True)
class _Shown:
    """Items as a server shows them: without their labels."""

    desk: Desk
    known: dict[str, tuple[Item, Media | None]] = field(default_factory=dict)

    def items(self, views: Sequence[Mapping[str, Any]], there: Sequence[Item]) -> Items:
        """Those of the views that are not there yet."""
        known = {_key(each.body, each.media) for each in there}
        labels = {each.label for each in there}
        found: list[Item] = []
        files: dict[str, Media] = {}
        for view in views:
            item, media = self.item(view)
            if (key := _key(item.body, item.media)) in known:
                continue
            known.add(key)
            item = replace(item, label=_label(item.label, labels))
            labels.add(item.label)
            found.append(item)
            if media is not None:
                files[media.sha256] = media
        return Items(found, files)

    def item(self, view: Mapping[str, Any]) -> tuple[Item, Media | None]:
        """An item as it is kept here; its file is fetched once."""
        name = str(view["media"] or view["html"])
        if name not in self.known:
            self.known[name] = self._read(view)
        return self.known[name]

    def key(self, view: Mapping[str, Any]) -> tuple[str, str]:
        """The same for items that are the same."""
        item = self.item(view)[0]
        return _key(item.body, item.media)

    def _read(self, view: Mapping[str, Any]) -> tuple[Item, Media | None]:
        """A text names itself."""
        body = text_of(view["html"] or "") or None
        if not view["media"]:
            return Item(-1, body or "(empty)", body=body or "(empty)"), None
        data = self.desk.media(view["media"])
        if view["kind"] == "html":
            page = ledgers.page_text(body, data)
            return Item(-1, body or page, body=page), None
        sha = hashlib.sha256(data).hexdigest()
        media = Media(sha, media_type(data) or "application/octet-stream", data)
        return Item(-1, body or f"{view['kind']} {sha[:8]}", view["kind"], body, sha), media


def _key(body: str | None, media: str | None) -> tuple[str, str]:
    return ("media", media) if media else ("text", body or "")


def _label(text: str, taken: set[str]) -> str:
    """The beginning of a text in one line, that no other item has."""
    line = one_line(" ".join(text.split()))
    stem = line if len(line) <= MOST_LABEL else line[: MOST_LABEL - 1] + "…"
    number, label = 1, stem
    while label in taken:
        number += 1
        label = f"{stem} ({number})"
    return label


class RemoteLedger(ledgers.Ledger):
    """Pairs come from a server, and votes go there once they are on disk here."""

    plans = False

    def __init__(
        self, store: Store, campaign: Campaign, judge: Judge, header: Mapping[str, Any], desk: Desk,
        material: ledgers.Material, *, ties: bool,
    ) -> None:  # fmt: skip
        super().__init__(store, campaign, judge, header)
        self.desk, self.material, self.shown = desk, material, _Shown(desk)
        self.ties = ties
        self.drawn = 0
        self._served: dict[int, int] = {}  # numbers of pairs here: those at the server
        self._delivered: set[int] = set()
        self._talking = threading.Lock()
        for event in store.read(lambda reader: reader.events(campaign.id)):
            if event.verb == GIVEN:
                self._served |= {int(here): there for here, there in event.data["pairs"].items()}
            elif event.verb == DELIVERED:
                self._delivered |= set(event.data["pairs"])
        self.deliver(self._undelivered())

    def draws_more(self) -> bool:
        """Whether the calibration goes on: a server gives few pairs at a time."""
        return 0 < self.drawn < CALIBRATION

    def draw(
        self, count: int, orders: int, pairs: Sequence[tuple[int, int]] = (), *, calibration: bool = False,
        most: int | None = None,
    ) -> ledgers.Given:  # fmt: skip
        """The first pairs that the server gives: they are the calibration."""
        given = self.take(count if most is None else min(count, most), orders)
        self.drawn = self.drawn + len(given[0]) if given[0] else CALIBRATION
        return given

    def take(self, count: int, orders: int) -> ledgers.Given:
        """Pairs of the server that are new, with their items, into the judge's hands here."""
        if count <= 0:
            return [], []
        with self._talking:
            out = {there for here, there in self._served.items() if there not in self._delivered}
            said = self.desk.next(min(MOST_IN_HAND, len(out) + count))
            self.ties = bool(said["campaign"]["ties"])
            if not said["questions"] and said["why"] not in ("done", "waiting"):
                raise RefusedError(str(said["why"]), WHY.get(said["why"], str(said["why"])))
            known = set(self._served.values())
            fresh = [each for each in said["questions"] if each["id"] not in known][:count]
            return self._kept(fresh, orders) if fresh else ([], [])

    def _kept(self, fresh: Sequence[Mapping[str, Any]], orders: int) -> ledgers.Given:
        views = [each[side] for each in fresh for side in ("left", "right")]
        there = self.store.read(lambda reader: reader.items(self.campaign.id))
        new = self.shown.items(views, there)
        keys = [(self.shown.key(each["left"]), self.shown.key(each["right"])) for each in fresh]
        now = self.store.now()

        def keep(writer: Writer) -> ledgers.Given:
            if new.items:
                self.material.add(setup.add_items(writer, new, now), new.media)
            codes = {_key(each.body, each.media): each.code for each in writer.items(self.campaign.id)}
            writer.add_questions([Question(codes[left], codes[right]) for left, right in keys])
            added = sorted(writer.questions(self.campaign.id, "open"), key=_id)  # all others are in hand, or done
            pairs = {str(each.id): one["id"] for each, one in zip(added, fresh, strict=True)}
            writer.append_event(Event(GIVEN, {"pairs": pairs}, f"judge {self.judge.id}", now))
            self._served |= {int(here): number for here, number in pairs.items()}
            return self._given(writer, added, orders, now)

        return self.store.write(self.campaign.id, keep)

    def deliver(self, ballots: Sequence[desks.Ballot]) -> list[str]:
        """Send votes that are on disk; the words of those that the server refused."""
        refused: list[str] = []
        for each in ballots:
            number = self._served[each.question]
            outcome = None if each.outcome == 0.5 and not self.ties else each.outcome
            try:
                self.desk.vote(number, outcome, id=f"judge-{number}", ms=each.ms, reason=each.reason)
            except RefusedError as problem:
                if problem.code not in ("answered", "conflict"):  # it has a vote of this judge: nothing is missing
                    refused.append(str(problem))
                    continue
            self._delivered.add(number)
        numbers = [self._served[each.question] for each in ballots if self._served[each.question] in self._delivered]
        if numbers:
            note = Event(DELIVERED, {"pairs": numbers}, f"judge {self.judge.id}", self.store.now())
            self.store.write(self.campaign.id, lambda writer: writer.append_event(note) and None)
        return refused

    def _undelivered(self) -> list[desks.Ballot]:
        """Votes of an earlier run that did not reach the server."""

        def look(reader: Reader) -> list[desks.Ballot]:
            return [
                desks.Ballot(each.client_id, each.question, each.outcome, each.reason, each.ms)
                for each in reader.votes(self.campaign.id)
                if each.question is not None and self._served.get(each.question, -1) not in {-1, *self._delivered}
            ]

        return self.store.read(look)


def _id(question: Question) -> int:
    return question.id
