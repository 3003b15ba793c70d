"""A whole campaign as one zip: to keep, to move between databases, to hand on."""

from __future__ import annotations

import hashlib
import json
import lzma
import struct
import zipfile
import zlib
from dataclasses import asdict, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from podium._version import __version__
from podium.campaign.setup import slug_of
from podium.data.writing import replacing
from podium.errors import InputError
from podium.store.values import Call, Campaign, Event, Item, Judge, Media, Vote

if TYPE_CHECKING:
    from podium.store.base import Store
    from podium.store.reader import Reader
    from podium.store.writer import Writer

__all__ = ["is_archive", "read_archive", "write_archive"]

FORMAT = 1
TEXTS = ("context", "reference")  # that go with items
MAX_VOTES_OF_COMMIT = 5000  # votes of a commit
MOST = 4_000_000_000  # bytes unpacked
# What reading a zip with a wrong byte may end in: a way of packing unknown, a key wanted, the end too early.
UNREADABLE = (OSError, EOFError, RuntimeError, OverflowError, zipfile.BadZipFile, zlib.error, lzma.LZMAError,
              struct.error)  # fmt: skip


def write_archive(store: Store, campaign: int, path: str) -> None:
    """Write everything but what is derived; links go on working where it is read, as their hashes are in it."""

    def write(reader: Reader) -> None:
        with replacing(path) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            members: dict[str, str] = {}

            def put(name: str, data: bytes) -> None:
                members[name] = hashlib.sha256(data).hexdigest()
                archive.writestr(name, data)

            put("campaign.json", _json(asdict(reader.campaign(campaign))))
            put("items.jsonl", b"".join(_json(asdict(each)) + b"\n" for each in reader.items(campaign)))
            put("judges.jsonl", b"".join(_json(asdict(each)) + b"\n" for each in reader.judges(campaign)))
            put("votes.jsonl", b"".join(_json(_slots(each)) + b"\n" for each in reader.votes(campaign)))
            put("events.jsonl", b"".join(_json(asdict(each)) + b"\n" for each in reader.events(campaign)))
            texts = {name: reader.item_texts(campaign, name) for name in TEXTS}
            put(
                "texts.json",
                _json({name: {str(code): text for code, text in rows.items()} for name, rows in texts.items()}),
            )
            put("calls.jsonl", b"".join(_json(asdict(each)) + b"\n" for each in reader.calls(campaign)))
            for key in reader.media_hashes(campaign):
                each = reader.media(campaign, key)
                assert each is not None
                put(f"media/{key}", each.bytes)
            archive.writestr("podium.json", _json({"archive": FORMAT, "version": __version__, "members": members}))

    store.read(write)


def is_archive(path: str) -> bool:
    """Whether this is a zip of ours."""
    try:
        with zipfile.ZipFile(path) as archive:
            return "podium.json" in archive.namelist() and "votes.jsonl" in archive.namelist()
    except UNREADABLE:
        return False


def read_archive(store: Store, path: str) -> Campaign:
    """Make the campaign of an archive anew in this database, under its own name where that is free.

    Its judges' links work here if they are not in the same database already.
    """
    members = _members(path)
    try:
        old = Campaign(**json.loads(members["campaign.json"]))
        items = [Item(**row) for row in _rows(members["items.jsonl"])]
        judges = [Judge(**row | {"conflicts": tuple(row["conflicts"])}) for row in _rows(members["judges.jsonl"])]
        votes = [Vote(**row | {"question": None}) for row in _rows(members["votes.jsonl"])]
        events = [Event(**row) for row in _rows(members["events.jsonl"])]
        calls = [Call(**row) for row in _rows(members.get("calls.jsonl", b""))]
        texts = {
            name: {int(code): str(text) for code, text in rows.items()}
            for name, rows in json.loads(members.get("texts.json", b"{}")).items()
        }
    except (ValueError, TypeError, KeyError, AttributeError) as problem:
        raise InputError(f"{path} is not as it was written ({problem}); take another copy") from problem
    media = [
        Media(name.removeprefix("media/"), kind, data)
        for name, (data, kind) in _media(members, path).items()
        if name.startswith("media/")
    ]

    def make(writer: Writer) -> Campaign:
        slug = slug_of(old.slug, {each.slug for each in writer.campaigns()})
        blank = replace(old, slug=slug, last_vote=0, last_event=0, plans=0, planned_at=0)
        campaign = writer.add_campaign(blank)
        writer.add_items(items)
        for each in media:
            writer.add_media(each)
        for judge in judges:
            taken = judge.token_hash is not None and writer.judge_of_token(judge.token_hash) is not None
            writer.add_judge(replace(judge, token_hash=None) if taken else judge)
        for event in events:
            writer.append_event(event)
        for name, rows in texts.items():
            writer.add_item_texts(name, rows)
        writer.add_calls(calls)
        return campaign

    campaign = store.write(0, make)
    for at in range(0, len(votes), MAX_VOTES_OF_COMMIT):
        store.write(campaign.id, partial(_append, votes=votes[at : at + MAX_VOTES_OF_COMMIT]))
    return store.read(lambda reader: reader.campaign(campaign.id))


def _append(writer: Writer, votes: list[Vote]) -> None:
    writer.append_votes(votes)


def _members(path: str) -> dict[str, bytes]:
    """Every member, each as its hash says."""
    try:
        with zipfile.ZipFile(path) as archive:
            head = json.loads(archive.read("podium.json"))
            if head.get("archive", 0) > FORMAT:
                raise InputError(f"{path} was written by the newer podium {head.get('version')}; upgrade")
            if sum(each.file_size for each in archive.infolist()) > MOST:
                raise InputError(f"{path} unpacks to more than {MOST:,} bytes; it is no campaign of ours")
            data = {name: archive.read(name) for name in head["members"]}
    except InputError:
        raise
    except (*UNREADABLE, KeyError, ValueError, TypeError, AttributeError) as problem:
        raise InputError(f"{path} is no campaign in a zip, or was damaged ({problem}); take another copy") from problem
    for name, known in head["members"].items():
        if hashlib.sha256(data[name]).hexdigest() != known:
            raise InputError(f"{path}: {name} is not as it was written; take another copy")
    return data | {"podium.json": json.dumps(head).encode()}


def _media(members: dict[str, bytes], path: str) -> dict[str, tuple[bytes, str]]:
    from podium.campaign.items import media_type

    found = {}
    for name, data in members.items():
        if name.startswith("media/"):
            kind = media_type(data)
            if kind is None:
                raise InputError(f"{path}: {name} is no picture, sound, film or page we know; take another copy")
            found[name] = (data, kind)
    return found


def _rows(data: bytes) -> list[dict[str, Any]]:
    return [json.loads(line) for line in data.splitlines()]


def _slots(vote: Vote) -> dict[str, Any]:
    return {name: getattr(vote, name) for name in Vote.__slots__}


def _json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode()
