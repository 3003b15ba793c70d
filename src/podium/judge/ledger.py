"""A model's place in a campaign: its name and header, the pairs in its hands, its calls, and the votes they become."""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
import shlex
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from podium._version import __version__
from podium.campaign import desk, setup
from podium.campaign.items import Items
from podium.campaign.options import Options
from podium.errors import InputError, RefusedError
from podium.judge.prompt import Asked
from podium.store.base import Hold, Store
from podium.store.reader import Reader
from podium.store.values import Call, Campaign, Event, Item, Judge, Media, Question, pair_of
from podium.store.writer import Writer

__all__ = [
    "Given",
    "Ledger",
    "Material",
    "Spent",
    "difference",
    "found_campaign",
    "joined",
    "locked",
    "new_campaign",
    "new_request",
    "page_text",
]

HEADER, DRAWN, CALIBRATED = "header", "calibration", "calibrated"  # verbs of events
CALIBRATION_PLAN = 0  # plans count from 1
Given: TypeAlias = tuple[list[Question], list[Call]]


def new_campaign(
    store: Store,
    items: Items,
    extra: Mapping[str, Mapping[int, str]],
    *,
    title: str,
    question: str,
    instructions: str,
    options: Options,
    seed: int | None,
) -> Campaign:
    """Make a campaign for a model; `extra` are texts beside the items, by name and place."""
    now = store.now()

    def make(writer: Writer) -> Campaign:
        made, _ = setup.new_campaign(
            writer,
            items,
            title=title,
            question=question,
            now=now,
            instructions=instructions,
            options=options,
            seed=seed,
        )
        for name, texts in extra.items():
            writer.add_item_texts(name, dict(texts))
        return made

    return store.write(0, make)


def found_campaign(store: Store, title: str) -> Campaign | None:
    """The campaign of this title, if it is there."""
    there = store.read(lambda reader: reader.campaigns())
    return next((each for each in there if each.title == title), None)


def joined(store: Store, campaign: Campaign, name: str, header: Mapping[str, Any], *, named: bool = True) -> Judge:
    """The judge of this name, who must be the same as before, or a new one.

    Beside another model a new one must be `named` by somebody: else its votes would mix with the other's unnoticed.
    """
    whole = dict(header) | {"question": campaign.question, "podium": __version__}
    if campaign.instructions:
        whole["instructions"] = campaign.instructions
    now = store.now()

    def join(writer: Writer) -> Judge:
        known = writer.judge_by(campaign.id, name=name)
        if known is None:
            if not named and (other := _other_model(writer, campaign.id)) is not None:
                raise InputError(
                    f"{store.name} holds the votes of another model, {other!r}, with which those of {name!r} would "
                    f"mix; go on with {other!r}, make this another judge by --as NAME, or take another file"
                )
            known = setup.invite(writer, [name], now, kind="model")[0][0]
        elif known.kind != "model":
            raise InputError(f"{name!r} is a {known.kind} in this campaign; give the model another name by --as")
        else:
            before = header_of(writer, campaign.id, known.id)
            changed = None if before is None else difference(before, whole)
            if changed:
                raise InputError(f"{name!r} judged {changed}; go on with the same, or give it another name by --as")
            if before is not None:
                return known
        writer.append_event(Event(HEADER, {"judge": known.id, "header": whole}, f"judge {known.id}", now))
        return known

    return store.write(campaign.id, join)


def _other_model(reader: Reader, campaign: int) -> str | None:
    """The model that judged last, if its votes count."""
    began = [each.data.get("judge") for each in reader.events(campaign) if each.verb == HEADER]
    models = {
        each.id: each.name for each in reader.judges(campaign) if each.kind == "model" and each.state != "excluded"
    }
    return next((models[judge] for judge in reversed(began) if judge in models), None)


def header_of(reader: Reader, campaign: int, judge: int) -> dict[str, Any] | None:
    """How a model judges, as it was when it began."""
    found = None
    for event in reader.events(campaign):
        if event.verb == HEADER and event.data.get("judge") == judge:
            found = event.data["header"]
    return found


def difference(before: Mapping[str, Any], now: Mapping[str, Any]) -> str | None:
    """What is not as it was, as it follows on "judged"; the version and the address of the server may change.

    >>> difference({"model": "a", "answer": "json"}, {"model": "b", "answer": "json"})
    "with --model 'a', now with 'b'"
    >>> difference({"orders": "both"}, {"orders": "one"})
    'without --one-order, now with it'
    """
    old, new = _typed(before), _typed(now)
    names = [name for name in sorted({*old, *new}) if old.get(name) != new.get(name)]
    # What others may be a consequence of comes first.
    for name in sorted(names, key=lambda name: (name != "--command", not name.startswith("--"))):
        was, became = old.get(name), new.get(name)
        if was is None:
            return f"without {name}, now with {became or 'it'}"
        return f"with {name} {was}".rstrip() + (", now without it" if became is None else f", now with {became}")
    return None


def _typed(header: Mapping[str, Any]) -> dict[str, str]:
    """A header's settings and their values, as they are typed where they are options; a flag has no value."""
    plain: dict[str, Any] = json.loads(json.dumps(header))
    typed = {}
    for name in ("model", "answer", "command", "headers"):
        value = plain.pop(name, None)
        if value:
            words = shlex.join(value) if name == "command" else ", ".join(value) if name == "headers" else value
            typed[f"--{name.removesuffix('s')}"] = repr(words)
    if plain.pop("orders", None) == "one":
        typed["--one-order"] = ""
    for name, value in dict(plain.pop("parameters", {})).items():
        ours = name in ("temperature", "max_tokens")
        typed[f"--{name.replace('_', '-')}" if ours else f"--extra-body {name}"] = repr(value)
    if "prompt" in plain:
        typed["the prompt (--prompt) of hash"] = repr(plain.pop("prompt"))
    return typed | {f"the {name}": repr(value) for name, value in plain.items() if name not in ("podium", "server")}


def locked(store: Store, campaign: Campaign, name: str) -> Hold:
    """The right to be this judge: alone on a file, beside others on a server of databases."""
    if not store.remote and (server := store.holder("serve")):
        raise InputError(
            f"{store.name} is served by {server}; judge through it by --server and a judge's link, or stop it"
        )
    key = f"judge {campaign.id} {name}" if store.remote else "judge"
    hold = store.hold(key)
    if hold is None:
        raise InputError(f"{store.name}: another model judges here ({store.holder(key)}); wait, or stop that one")
    return hold


@dataclass(frozen=True, slots=True)
class Spent:
    """What a judge has used so far."""

    calls: int = 0
    open: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    cost: float = 0.0
    votes: int = 0
    skips: int = 0
    dearest: float | None = None  # cost of a call that came back

    @property
    def answered(self) -> int:
        """Calls that came back."""
        return self.calls - self.open


class Material:
    """What can be shown of a campaign's items."""

    def __init__(self, store: Store, campaign: Campaign) -> None:
        def read(reader: Reader) -> tuple[Any, ...]:
            items = reader.items(campaign.id)
            media = {}
            for each in items:
                if each.kind in ("image", "html") and each.media is not None:
                    found = reader.media(campaign.id, each.media)
                    assert found is not None
                    media[each.media] = found
            texts = [reader.item_texts(campaign.id, name) for name in ("context", "reference")]
            return items, media, *texts

        items, media, self.contexts, self.references = store.read(read)
        self.question, self.instructions = campaign.question, campaign.instructions
        self.texts: dict[int, str] = {}
        self.labels: dict[int, str] = {}
        self.pictures: dict[int, str] = {}
        self.add(items, media)

    def add(self, items: Sequence[Item], media: Mapping[str, Media]) -> None:
        """Items that can be shown from now on, with the files of pictures and pages."""
        for each in items:
            if each.kind not in ("text", "markdown", "image", "html"):
                raise InputError(f"{each.label!r} is of kind {each.kind}; a model is shown texts and pictures only")
            self.texts[each.code] = each.body if each.body is not None else _named(each)
            self.labels[each.code] = each.label
            file = media.get(each.media or "")
            if each.kind == "html" and file is not None:
                self.texts[each.code] = page_text(each.body, file.bytes)
            elif each.kind == "image" and file is not None:
                self.pictures[each.code] = f"data:{file.type};base64,{base64.b64encode(file.bytes).decode()}"

    def asked(self, call: Call, fence: str) -> Asked:
        """The question of a call."""
        first, second = call.first, call.second
        return Asked(
            call.request,
            self.question,
            self.texts[first],
            self.texts[second],
            _common(self.contexts, first, second),
            _common(self.references, first, second),
            self.instructions,
            self.pictures.get(first),
            self.pictures.get(second),
            fence,
        )

    def length(self, code: int) -> int:
        """Characters of an item's text."""
        return len(self.texts[code])


def page_text(beside: str | None, page: bytes) -> str:
    """A page as a model reads it: its source, below the text beside it if there is one.

    >>> page_text(None, b"<p>tea</p>"), page_text("first", b"<p>tea</p>")
    ('<p>tea</p>', 'first\\n\\n<p>tea</p>')
    """
    source = page.decode("utf-8", "replace")
    return f"{beside}\n\n{source}" if beside else source


def _named(item: Any) -> str:
    return "(a picture)" if item.kind == "image" else item.label


def _common(texts: Mapping[int, str], first: int, second: int) -> str | None:
    """Shown once above both where it is the same, else one after the other."""
    a, b = texts.get(first), texts.get(second)
    if a == b or not b:
        return a
    return f"of A: {a or '(none)'}\nof B: {b}"


def new_request() -> str:
    """The id of a call."""
    return secrets.token_hex(8)


class Ledger:
    """Pairs in, calls and votes out, each step one transaction."""

    plans = True  # whether the pairs are chosen here

    def __init__(self, store: Store, campaign: Campaign, judge: Judge, header: Mapping[str, Any]) -> None:
        self.store, self.campaign, self.judge = store, campaign, judge
        told = header.get("prompt") or hashlib.sha256(json.dumps(header, sort_keys=True).encode()).hexdigest()[:16]
        self.prompt_hash, self.parameters = str(told), json.dumps(header.get("parameters", {}), sort_keys=True)

    def held(self) -> tuple[list[Question], list[Call]]:
        """Pairs in this judge's hands from before, and the calls about them."""

        def look(reader: Reader) -> tuple[list[Question], list[Call]]:
            questions = reader.held(self.campaign.id, self.judge.id)
            return questions, reader.calls_about(self.campaign.id, self.judge.id, [each.id for each in questions])

        return self.store.read(look)

    def spent(self) -> Spent:
        """What was used so far, summed by the database."""

        def look(reader: Reader) -> Spent:
            mine = {"campaign": self.campaign.id, "judge": self.judge.id}
            sums = "count(*), sum(CASE WHEN done IS NULL THEN 1 ELSE 0 END), sum(tokens_in), sum(tokens_out), sum(cost)"
            sums += ", max(CASE WHEN done IS NULL THEN NULL ELSE cost END)"
            calls = reader.run(f"SELECT {sums} FROM call WHERE campaign = :campaign AND judge = :judge", mine)[0]
            votes = reader.run(
                "SELECT count(outcome), count(*) - count(outcome) FROM vote "
                "WHERE campaign = :campaign AND judge = :judge AND undoes IS NULL",
                mine,
            )[0]
            used = [value or 0 for value in calls]
            dearest = None if calls[5] is None else float(calls[5])
            counts = int(votes[0]), int(votes[1])
            return Spent(used[0], used[1], int(used[2]), int(used[3]), float(used[4]), *counts, dearest=dearest)

        return self.store.read(look)

    def stage(self) -> str:
        """Where the calibration is: "new", "drawn" or "done"."""
        verbs = {
            event.verb
            for event in self.store.read(lambda reader: reader.events(self.campaign.id))
            if event.data.get("judge") == self.judge.id
        }
        return "done" if CALIBRATED in verbs else "drawn" if DRAWN in verbs else "new"

    def calibrated(self) -> None:
        """Note that the calibration is over."""
        now = self.store.now()
        note = Event(CALIBRATED, {"judge": self.judge.id}, f"judge {self.judge.id}", now)
        self.store.write(self.campaign.id, lambda writer: writer.append_event(note) and None)

    def draws_more(self) -> bool:
        """Whether the calibration goes on after the pairs that were drawn."""
        return False

    def deliver(self, ballots: Sequence[desk.Ballot]) -> list[str]:
        """Send votes on to where they count; here they do once they are written."""
        return []

    def draw(
        self,
        count: int,
        orders: int,
        pairs: Sequence[tuple[int, int]] = (),
        *,
        calibration: bool = False,
        most: int | None = None,
    ) -> Given:
        """Put random pairs (items about equally often) and these into the judge's hands, `most` in all.

        With `calibration`, pairs whose answer is known come first.
        """
        now = self.store.now()

        def give(writer: Writer) -> Given:
            seen = writer.seen_pairs(self.campaign.id, self.judge.id) | writer.active_pairs(self.campaign.id)
            rng = np.random.default_rng([self.campaign.seed, self.judge.id, len(seen)])
            gold = _gold(writer, self.campaign.id, seen)[:most] if calibration else []
            closed = seen | {pair_of(each.left, each.right) for each in gold}
            room = None if most is None else most - len(gold)
            some = [each for each in pairs if pair_of(*each) not in closed][:room]
            wanted = {pair_of(*each): each for each in some}
            random = count if room is None else min(count, room - len(wanted))
            mine = writer.seen_pairs(self.campaign.id, self.judge.id)
            drawn = _balanced(writer.active_codes(self.campaign.id), closed | set(wanted), random, rng, mine)
            rows = [Question(*each, "chosen", plan=CALIBRATION_PLAN) for each in wanted.values()]
            rows += [Question(*each, "check", plan=CALIBRATION_PLAN) for each in drawn]
            writer.add_questions([*gold, *rows])
            fresh = {pair_of(each.left, each.right) for each in [*gold, *rows]}
            given = [
                each for each in writer.questions(self.campaign.id, "open") if pair_of(each.left, each.right) in fresh
            ]
            if calibration:
                note = {"judge": self.judge.id, "pairs": len(given)}
                writer.append_event(Event(DRAWN, note, f"judge {self.judge.id}", now))
            return self._given(writer, given, orders, now)

        return self.store.write(self.campaign.id, give)

    def take(self, count: int, orders: int) -> Given:
        """Put the next pairs of the queue into the judge's hands."""
        now = self.store.now()

        def give(writer: Writer) -> Given:
            if writer.locked.state != "open":
                raise RefusedError(writer.locked.state, f"the campaign is {writer.locked.state}; open it first")
            writer.lapse(now, self.judge.id)
            who = writer.judge(self.campaign.id, self.judge.id)
            if who.state != "active":
                raise RefusedError(who.state, f"the judge {who.name!r} is {who.state} in this campaign")
            return self._given(writer, _unseen(writer, who, count), orders, now)

        return self.store.write(self.campaign.id, give)

    def _given(self, writer: Writer, questions: Sequence[Question], orders: int, now: int) -> Given:
        """The pairs with the calls about them, which are on disk before they go out."""
        until = now + Options.of(writer.locked.options).lease
        given = [writer.give(each, self.judge.id, now, until) for each in questions]
        calls = [self.new_call(each, turned, now) for each in given for turned in range(orders)]
        writer.add_calls(calls)
        return given, calls

    def new_call(self, question: Question, turned: int, now: int) -> Call:
        """A call about a pair, as it is or with the sides turned."""
        first, second = (question.right, question.left) if turned else (question.left, question.right)
        return Call(
            new_request(), question.id, self.judge.id, first, second, turned,
            prompt_hash=self.prompt_hash, parameters=self.parameters, at=now,
        )  # fmt: skip

    def begin(self, calls: Sequence[Call]) -> None:
        """Write calls before they go out."""
        self.store.write(self.campaign.id, lambda writer: writer.add_calls(calls))

    def end(self, writer: Writer, calls: Sequence[Call], ballots: Sequence[desk.Ballot], now: int) -> list[str]:
        """Write what came back, and the votes it makes; the words of votes that were refused."""
        writer.end_calls(calls)
        refused: list[str] = []
        for at in range(0, len(ballots), desk.MOST_BALLOTS):
            receipts, _ = desk.vote(writer, self.judge.id, ballots[at : at + desk.MOST_BALLOTS], now, 0)
            refused += [str(each.message) for each in receipts if each.status == "refused"]
        return refused


def _unseen(writer: Writer, judge: Judge, count: int) -> list[Question]:
    """The next pairs that this judge has not judged: a person's repeats tell something, a model's cost money."""
    found = {pair_of(each.left, each.right): each for each in writer.next_questions(judge, count)}
    if any(each.kind == "repeat" for each in found.values()):  # of all others none was seen
        seen = writer.seen_pairs(writer.locked.id, judge.id)
        found = {pair: each for pair, each in found.items() if pair not in seen}
    return list(found.values())


def _gold(writer: Writer, campaign: int, seen: set[int]) -> list[Question]:
    """The pairs whose answer is known: all of them that are not withdrawn are asked at the start."""
    codes = {item.label: item.code for item in writer.items(campaign) if item.withdrawn is None}
    gold = Options.of(writer.locked.options).gold
    rows = [(codes[a], codes[b], answer) for a, b, answer in gold if a in codes and b in codes]
    fresh = {pair_of(a, b): (a, b, answer) for a, b, answer in rows if pair_of(a, b) not in seen}
    return [Question(a, b, "gold", 1, float(answer), plan=CALIBRATION_PLAN) for a, b, answer in fresh.values()]


def _balanced(
    codes: Sequence[int], seen: set[int], count: int, rng: np.random.Generator, mine: Collection[int] = ()
) -> list[tuple[int, int]]:
    """Random pairs that are not in `seen`, every item about equally often, also counting the pairs that are `mine`.

    Each round goes through the items, those asked least first, and takes for each the next that it has not met.
    """
    times = dict.fromkeys(codes, 0)
    for key in mine:
        for code in (key >> 31, key & (2**31 - 1)):
            times[code] = times.get(code, 0) + 1
    found: dict[int, tuple[int, int]] = {}
    while len(found) < count:
        order = [codes[k] for k in rng.permutation(len(codes))]
        order.sort(key=lambda code: times[code])
        pairs = _round(order, seen, found, count - len(found))
        if not pairs:
            break
        for a, b in pairs:
            found[pair_of(a, b)] = (a, b) if rng.random() < 0.5 else (b, a)
            times[a] += 1
            times[b] += 1
    return list(found.values())


def _round(order: Sequence[int], seen: set[int], found: Mapping[int, Any], count: int) -> list[tuple[int, int]]:
    """Pairs of items that stand near each other and have not met, each item at most once."""
    waiting: list[int] = []
    pairs: list[tuple[int, int]] = []
    for b in order:
        partner = next((a for a in waiting if (key := pair_of(a, b)) not in seen and key not in found), None)
        if partner is None:
            waiting.append(b)
            continue
        waiting.remove(partner)
        pairs.append((partner, b))
        if len(pairs) == count:
            break
    return pairs
