"""Making a campaign and changing it while it runs. Every change is an event; nothing in the log is lost by one."""

from __future__ import annotations

import re
import secrets
import unicodedata
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from podium.campaign.items import Items
from podium.campaign.live import spent
from podium.campaign.options import Options, check_whole
from podium.campaign.tokens import hash_of, is_token, new_token
from podium.errors import InputError, RefusedError
from podium.store.values import Campaign, Event, Item, Judge, State
from podium.text import counted

if TYPE_CHECKING:
    from podium.store.reader import Reader
    from podium.store.writer import Writer

__all__ = [
    "add_items",
    "campaign_named",
    "campaign_of_open_link",
    "erase",
    "exclude",
    "invite",
    "join",
    "new_campaign",
    "new_link",
    "open_link",
    "pause_if_spent",
    "reinstate",
    "rename",
    "revoke",
    "set_conflicts",
    "set_instructions",
    "set_options",
    "set_state",
    "set_words",
    "slug_of",
    "withdraw",
]

STATES: dict[str, tuple[str, ...]] = {  # from which states each can be reached
    "open": ("draft", "paused", "closed"),
    "paused": ("open",),
    "closed": ("draft", "open", "paused"),
}
MOST_NAME = 200
MOST_TEXT = 100_000
MOST_MEDIA = 1_000_000_000  # bytes of all files of a campaign


def slug_of(title: str, taken: set[str]) -> str:
    """A short name for a campaign, out of its title, that no other has.

    >>> slug_of("Essays, spring 2026", {"essays-spring-2026"})
    'essays-spring-2026-2'
    """
    plain = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode().lower()
    stem = re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:60] or "campaign"
    number, slug = 1, stem
    while slug in taken:
        number += 1
        slug = f"{stem}-{number}"
    return slug


def new_campaign(
    writer: Writer,
    items: Items,
    *,
    title: str,
    question: str,
    now: int,
    instructions: str = "",
    options: Options | None = None,
    seed: int | None = None,
    state: State = "open",
) -> tuple[Campaign, str]:
    """Make a campaign; returns it with the organiser's secret, which is kept nowhere else."""
    chosen = options or Options()
    _words("title", title, MOST_NAME)
    _words("question", question, 1000)
    _words("instructions", instructions, MOST_TEXT, empty=True)
    if len(items.items) < 2:
        raise InputError(f"{counted(len(items.items), 'item')}; a ranking needs at least two")
    _check_gold(chosen, [item.label for item in items.items])
    if chosen.top is not None and chosen.top >= len(items.items):
        raise InputError(f"top {chosen.top}: there are {len(items.items)} items; give 1 to {len(items.items) - 1}")
    token = new_token()
    slug = slug_of(title, {each.slug for each in writer.campaigns()})
    drawn = secrets.randbelow(2**31) if seed is None else seed
    made = writer.add_campaign(
        Campaign(0, slug, title, question, instructions, 1, chosen.stored(), drawn, state, hash_of(token), now)
    )
    writer.append_event(Event("state", {"to": state}, at=now))
    add_items(writer, items, now)
    return replace(writer.locked, id=made.id), token


def add_items(writer: Writer, items: Items, now: int) -> list[Item]:
    """Add items: their codes follow those there are. The next plan asks about them first."""
    there = writer.items(writer.locked.id)
    known = {item.label for item in there}
    for item in items.items:
        if item.label in known:
            raise InputError(f"{item.label!r} is in the campaign already; names must differ")
    _check_room(writer, items)
    added = [replace(item, code=len(there) + k, added=now) for k, item in enumerate(items.items)]
    for each in items.media.values():
        writer.add_media(each)
    writer.add_items(added)
    writer.append_event(Event("items", {"added": [item.code for item in added]}, at=now))
    writer.change(planned_at=writer.locked.last_vote - len(there) - len(added))  # a plan is due
    return added


def _check_room(writer: Writer, items: Items) -> None:
    """Refuse files that would make the campaign too large; the same file twice is kept once."""
    sizes = writer.media_hashes(writer.locked.id) | {key: len(each.bytes) for key, each in items.media.items()}
    whole = sum(sizes.values())
    if whole > MOST_MEDIA:
        raise InputError(
            f"its files would have {whole:,} bytes in all; a campaign holds {MOST_MEDIA:,}: make them smaller"
        )


def withdraw(writer: Writer, code: int, now: int, *, back: bool = False) -> None:
    """Hide an item: it is asked no more and its votes stay out of results; with `back`, show it again."""
    items = writer.items_of(writer.locked.id, [code])
    if not items:
        raise RefusedError("unknown-item", f"there is no item {code} in this campaign")
    if (items[code].withdrawn is None) != back:
        writer.change_item(code, withdrawn=None if back else now)
        writer.append_event(Event("items", {"restored" if back else "withdrawn": [code]}, at=now))
        if not back:
            writer.clear_queue(items=[code])


def set_state(writer: Writer, to: State, now: int) -> None:
    """Open, pause or close."""
    state = writer.locked.state
    if state == to:
        return
    if state not in STATES.get(to, ()):
        raise RefusedError("bad-state", f"the campaign is {state}; it cannot be {to} from there")
    if to == "open" and (budget := spent(writer, writer.locked.id)) is not None:
        raise RefusedError(
            "spent", f"the budget of {counted(budget, 'vote')} is used; raise it under Set up, or empty it there"
        )
    writer.change(state=to)
    writer.append_event(Event("state", {"to": to}, at=now))


def pause_if_spent(writer: Writer, now: int) -> None:
    """Give out no new pairs once the budget is used, until the organiser raises it and opens again."""
    if writer.locked.state == "open" and (budget := spent(writer, writer.locked.id)) is not None:
        writer.clear_queue(everything=True)
        writer.change(state="paused")
        why = f"the budget of {counted(budget, 'vote')} is used"
        writer.append_event(Event("state", {"to": "paused", "why": why}, "planner", now))


def set_options(writer: Writer, changes: dict[str, Any], now: int) -> Options:
    """Change settings by name."""
    chosen = Options.of(writer.locked.options | changes)
    _check_gold(chosen, [item.label for item in writer.items(writer.locked.id)])
    writer.change(options=chosen.stored())
    writer.append_event(Event("options", changes, at=now))
    pause_if_spent(writer, now)
    return chosen


def set_words(writer: Writer, now: int, *, title: str | None = None, question: str | None = None) -> None:
    """Change the title, or the question of a draft: votes answer the question that was asked."""
    now_so = writer.locked
    changes = {}
    if title is not None and title != now_so.title:
        _words("title", title, MOST_NAME)
        changes["title"] = title
    if question is not None and question != now_so.question:
        _words("question", question, 1000)
        if now_so.state != "draft":
            raise RefusedError("bad-state", "the question is fixed once the campaign is open; make another campaign")
        changes["question"] = question
    if changes:
        writer.change(**changes)
        writer.append_event(Event("options", changes, at=now))


def set_instructions(writer: Writer, text: str, now: int) -> int:
    """Change the instructions; votes from here on carry the new version."""
    _words("instructions", text, MOST_TEXT, empty=True)
    version = writer.locked.version + 1
    writer.change(instructions=text, version=version)
    writer.append_event(Event("instructions", {"version": version, "text": text}, at=now))
    return version


# People


def invite(
    writer: Writer, names: Sequence[str], now: int, *, kind: str = "person", target: int | None = None
) -> list[tuple[Judge, str]]:
    """Add judges; each with a secret for the link, which is kept nowhere else."""
    if kind not in ("person", "model", "import"):
        raise InputError(f"kind {kind!r} is unknown; it is person, model or import")
    check_whole("target", target, optional=True)
    made = []
    for name in names:
        _words("name", name, MOST_NAME)
        if writer.judge_by(writer.locked.id, name=name) is not None:
            raise InputError(f"there is a judge {name!r} already; names must differ")
        token = new_token()
        judge = writer.add_judge(Judge(0, name, kind, hash_of(token), target=target, made=now))
        writer.append_event(Event("judge", {"judge": judge.id, "to": "active"}, at=now))
        made.append((judge, token))
    return made


def open_link(writer: Writer, now: int, *, most: int, parameter: str | None = None) -> str:
    """One link for many: whoever opens it becomes a judge, up to `most`; returns its secret.

    `parameter` names the part of the address that says who comes (PROLIFIC_PID): a claim, not a proof.
    """
    if isinstance(most, bool) or not 1 <= most <= 100_000:
        raise InputError(f"most is {most!r}; give how many judges may come by this link, 1 to 100,000")
    token = new_token()
    texts = dict(Options.of(writer.locked.options).texts)
    texts["open_link"] = {"hash": hash_of(token), "most": most, "parameter": parameter}
    set_options(writer, {"texts": texts}, now)
    return token


def campaign_of_open_link(reader: Reader, token: str) -> tuple[int, str | None] | None:
    """The campaign whose open link has this secret, and which part of the address says who comes."""
    for each in reader.campaigns():
        link = each.options.get("texts", {}).get("open_link")
        if link and is_token(token, link["hash"]):
            return each.id, link["parameter"]
    return None


def join(writer: Writer, token: str, now: int, outside_id: str | None = None) -> tuple[Judge, str]:
    """Come by the open link: a new judge with a secret, or the one with this outside id, with a new secret."""
    link = Options.of(writer.locked.options).texts.get("open_link")
    if not link or not is_token(token, link["hash"]):
        raise RefusedError("unknown-token", "this link is not known; ask the organiser for a new one")
    if outside_id is not None:
        _words("outside id", outside_id, MOST_NAME)
        known = writer.judge_by(writer.locked.id, outside_id=outside_id)
        if known is not None:
            fresh = new_token()
            writer.change_judge(known.id, token_hash=hash_of(fresh))
            return known, fresh
    if _guests(writer) >= link["most"]:
        raise RefusedError("full", "everybody who was wanted has come by this link; thank you")
    fresh = new_token()
    judge = Judge(0, f"guest {secrets.token_hex(4)}", "person", hash_of(fresh), outside_id, made=now)
    added = writer.add_judge(judge)
    writer.append_event(Event("judge", {"judge": added.id, "to": "active", "by": "open link"}, at=now))
    return added, fresh


def _guests(writer: Writer) -> int:
    """How many came by the open link, whatever they are called now; earlier releases told them by name only."""
    came = {event.data["judge"] for event in writer.events(writer.locked.id) if event.data.get("by") == "open link"}
    named = {each.id for each in writer.judges(writer.locked.id) if each.name.startswith("guest ") and each.token_hash}
    return len(came | named)


def new_link(writer: Writer, judge: int, now: int) -> str:
    """A new secret for a judge; the old link stops working."""
    known = writer.judge(writer.locked.id, judge)
    if known.kind != "person":
        raise RefusedError("no-link", f"{known.name!r} is no person with a link; invite one")
    token = new_token()
    writer.change_judge(judge, token_hash=hash_of(token))
    writer.append_event(Event("judge", {"judge": judge, "new_link": True}, at=now))
    return token


def revoke(writer: Writer, judge: int, now: int) -> None:
    """Withdraw a link; the votes stay and count."""
    _to_state(writer, judge, "revoked", now)


def exclude(writer: Writer, judge: int, now: int) -> None:
    """Leave a judge's votes out of all results; the log keeps them."""
    _to_state(writer, judge, "excluded", now)


def reinstate(writer: Writer, judge: int, now: int) -> None:
    """Take a judge back, who was excluded or whose link was withdrawn."""
    _to_state(writer, judge, "active", now)


def _to_state(writer: Writer, judge: int, state: str, now: int) -> None:
    known = writer.judge(writer.locked.id, judge)
    if known.state != state:
        writer.change_judge(judge, state=state)
        writer.release_hand(judge)
        writer.append_event(Event("judge", {"judge": judge, "to": state}, at=now))


def rename(writer: Writer, judge: int, name: str, now: int) -> None:
    """Give a judge another name."""
    _words("name", name, MOST_NAME)
    other = writer.judge_by(writer.locked.id, name=name)
    if other is not None and other.id != judge:
        raise InputError(f"there is a judge {name!r} already; names must differ")
    writer.judge(writer.locked.id, judge)
    writer.change_judge(judge, name=name)
    writer.append_event(Event("judge", {"judge": judge, "renamed": True}, at=now))


def erase(writer: Writer, judge: int, now: int) -> str:
    """Forget a person: name, outside id, link and reasons; the votes stay, under a random name."""
    writer.judge(writer.locked.id, judge)
    name = f"erased {secrets.token_hex(4)}"
    writer.change_judge(judge, name=name, outside_id=None, token_hash=None, state="revoked", seen=None)
    writer.release_hand(judge)
    writer.empty_reasons(judge)
    writer.append_event(Event("judge", {"judge": judge, "erased": True}, at=now))
    return name


def set_conflicts(writer: Writer, judge: int, codes: Sequence[int], now: int) -> None:
    """Items never shown to a judge."""
    there = {item.code for item in writer.items(writer.locked.id)}
    for code in codes:
        if code not in there:
            raise RefusedError("unknown-item", f"there is no item {code} in this campaign")
    writer.change_judge(judge, conflicts=sorted(set(codes)))
    writer.release_hand(judge)
    writer.append_event(Event("judge", {"judge": judge, "conflicts": sorted(set(codes))}, at=now))


def _words(name: str, text: Any, most: int, *, empty: bool = False) -> None:
    if not isinstance(text, str) or (not empty and not text.strip()):
        raise InputError(f"{name} is {text!r}; give some words")
    if len(text) > most:
        raise InputError(f"{name} has {len(text):,} characters; at most {most:,}")


def _check_gold(options: Options, labels: Sequence[str]) -> None:
    known = set(labels)
    for number, (left, right, _) in enumerate(options.gold, start=1):
        for label in (left, right):
            if label not in known:
                raise InputError(f"gold, row {number}: there is no item {label!r}; check its name")


def campaign_named(reader: Reader, name: str | None) -> Campaign:
    """The campaign of this name or number; the only one, where none is named."""
    there = reader.campaigns()
    matching = [each for each in there if name in (None, each.slug, str(each.id))]
    names = ", ".join(each.slug for each in there)
    if not there:
        raise InputError("there is no campaign yet; `podium campaign new` makes one")
    if not matching:
        raise InputError(f"there is no campaign {name!r}; there are {names}")
    if len(matching) > 1:
        raise InputError(f"there are several campaigns: {names}; name one by --campaign")
    return matching[0]
