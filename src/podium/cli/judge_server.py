"""`podium judge --server`: a model judges beside the people of a running `podium serve`, by a judge's link."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from podium.cli.judge_words import progress, tell
from podium.cli.output import say
from podium.errors import InputError

if TYPE_CHECKING:
    from podium.cli.judge_options import Amount, Model, Source
    from podium.client import Judge
    from podium.judge.pairs import Judged

__all__ = ["judge_at"]

LINK = "PODIUM_JUDGE_LINK"


def judge_at(items: str | None, source: Source, who: Model, amount: Amount, report: Path | None) -> tuple[str, Judged]:
    """Judge through a server; returns the title and what came of it."""
    from podium.judge.remote import file_of, judge_remote
    from podium.store import open_store

    _refuse_idle(items, source, amount, report)
    asker, settings = who.asker(amount.seed), amount.settings(who.concurrency)
    with _desk(str(source.server)) as desk, progress() as told:
        db = source.db or file_of(desk)
        ended = judge_remote(desk, asker, settings, db=db, name=who.name, told=told)
    with open_store(db) as store:
        tell(None, ended, store, alone=False)
    say("the ranking is of this judge's votes alone; the organiser's page has that of all")
    return "judge", ended


def _desk(server: str) -> Judge:
    """The judge of the link that the environment holds, at this address."""
    from podium.client import Judge

    if "#" in server:
        raise InputError(f"--server holds a secret, which others can see; give the address, and set {LINK} to the link")
    try:
        parts = urlsplit(server)
    except ValueError as problem:
        raise InputError(f"--server {server!r} is no address ({problem}); give one as http://127.0.0.1:8000") from None
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise InputError(f"--server {server!r} is no address; give one as http://127.0.0.1:8000")
    link = os.environ.get(LINK, "").strip()
    if not link:
        raise InputError(f"--server needs a judge's link; set {LINK} to the one that the organiser sent")
    token = link.rpartition("#")[2]
    if not token.isascii() or not token.isprintable() or " " in token:
        raise InputError(f"{LINK} holds no link; copy all of it, with the part after #")
    return Judge(f"{parts.scheme}://{parts.netloc}", token)


def _refuse_idle(items: str | None, source: Source, amount: Amount, report: Path | None) -> None:
    """Refuse what a server decides, or does not tell a judge."""
    if items is not None:
        raise InputError(f"--server has the items; leave {items} out")
    typed = {
        "question": source.question, "campaign": source.campaign, "id": source.id, "text": source.text,
        "reference": source.reference, "criterion": source.criteria, "gold": source.gold,
        "against": amount.against, "one-order": amount.one_order, "report": report, "dry-run": amount.dry_run,
    }  # fmt: skip
    typed |= {"goal": amount.goal != "order", "preset": amount.preset != "standard"}
    for name, value in typed.items():
        if value:
            raise InputError(f"--{name} is for items or a file; the server chooses the pairs, so leave it out")
