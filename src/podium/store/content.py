"""Everything a standing is computed from, read by the same SQL whatever brings it to the database.

`run(sql, values)` returns rows: SQLAlchemy's connection gives one, the standard library's `sqlite3` another.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from podium._version import __version__
from podium.errors import InputError
from podium.store import codec
from podium.store.values import DAMAGED, Campaign, Item, Judge, campaign_of, from_json, value_of

__all__ = ["Content", "Run", "campaigns_of", "load", "load_derived", "load_times", "load_votes"]

Run = Callable[[str, dict[str, Any]], Sequence[Sequence[Any]]]


@dataclass(frozen=True, slots=True, eq=False)
class Content:
    """A campaign at one moment: what it asks, of whom, and its whole log."""

    campaign: Campaign
    items: list[Item]
    judges: list[Judge]
    votes: codec.VoteArrays
    intact: bool  # every snapshot was as it should be
    standing: bytes | None = None  # the one that was kept for this very position, if any


def _select(value: type, table: str) -> str:
    return f"SELECT {', '.join(chr(34) + each.name + chr(34) for each in fields(value))} FROM {table}"


def _read(kind: type, row: Sequence[Any], *json: str) -> list[Any]:
    """The cells of a row, those named read as JSON."""
    names = (each.name for each in fields(kind))
    return [_json(cell) if name in json else cell for name, cell in zip(names, row, strict=True)]


def _json(cell: Any) -> Any:
    return from_json(cell) if isinstance(cell, str | bytes) else cell


def campaigns_of(run: Run) -> list[Campaign]:
    """All campaigns, oldest first."""
    rows = run(_select(Campaign, "campaign") + " ORDER BY id", {})
    return [campaign_of(_read(Campaign, row, "options")) for row in rows]


def load(run: Run, campaign: int) -> Content:
    """Read a campaign, all from one state of the database."""
    wanted = {"campaign": campaign}
    matching = [each for each in campaigns_of(run) if each.id == campaign]
    if not matching:
        raise InputError(f"there is no campaign {campaign}; check its number")
    rows = run(_select(Item, "item") + " WHERE campaign = :campaign ORDER BY code", wanted)
    items = [value_of(Item, _read(Item, row, "features")) for row in rows]
    rows = run(_select(Judge, "judge") + " WHERE campaign = :campaign ORDER BY id", wanted)
    judges = [value_of(Judge, _read(Judge, row, "conflicts")) for row in rows]
    judges = [replace(each, conflicts=tuple(each.conflicts)) for each in judges]
    votes, intact = load_votes(run, campaign, matching[0].last_vote, len(items))
    if [item.code for item in items] != list(range(len(items))):
        raise InputError(f"items of campaign {campaign} are missing{DAMAGED}; restore a copy")
    if not np.isin(votes.judge, [judge.id for judge in judges]).all():
        raise InputError(f"campaign {campaign} has votes of no judge{DAMAGED}; restore a copy")
    return Content(matching[0], items, judges, votes, intact, load_derived(run, matching[0], "standing"))


def load_derived(run: Run, campaign: Campaign, name: str) -> bytes | None:
    """What was computed at the present position of the logs by this version; None where that is not kept."""
    rows = run(
        'SELECT "bytes", checksum FROM derived WHERE campaign = :campaign AND name = :name '
        "AND last_vote = :last_vote AND last_event = :last_event AND version = :version",
        {"campaign": campaign.id, "name": name, "version": __version__}
        | {"last_vote": campaign.last_vote, "last_event": campaign.last_event},
    )
    for data, written in rows:
        kept = b"" if isinstance(data, str) else bytes(data)
        if codec.seal(kept, campaign.id, name) == written:
            return kept
    return None


def load_times(run: Run, campaign: int, rows: int) -> NDArray[np.int64]:
    """How long each vote took, in milliseconds; -1 where that is unknown."""
    ms = np.full(rows, -1, dtype=np.int64)
    times = run("SELECT seq, ms FROM vote WHERE campaign = :campaign AND ms IS NOT NULL", {"campaign": campaign})
    if times:
        table = np.array(times, dtype=np.int64)
        ms[table[:, 0] - 1] = table[:, 1]
    return ms


def load_votes(run: Run, campaign: int, last_vote: int, items: int) -> tuple[codec.VoteArrays, bool]:
    """The log, from snapshots as far as they fit and row by row from there; and whether all snapshots did fit."""
    wanted = {"campaign": campaign}
    pieces = run('SELECT seq, format, "bytes", checksum FROM snapshot WHERE campaign = :campaign ORDER BY seq', wanted)
    # SQLite lets a column hold anything: text is no snapshot.
    kept = [(seq, format, b"" if isinstance(data, str) else bytes(data), sum) for seq, format, data, sum in pieces]
    known, intact = codec.from_snapshots(campaign, kept, last_vote, items)
    rows = run(
        f"SELECT {codec.VOTE_COLUMNS} FROM vote WHERE campaign = :campaign AND seq > :after ORDER BY seq",
        wanted | {"after": len(known)},
    )
    votes = codec.VoteArrays.joined([known, codec.VoteArrays.of_rows(rows)])
    if len(votes) != last_vote:
        raise InputError(
            f"the log of campaign {campaign} has {len(votes):,} rows and should have {last_vote:,}; restore a copy"
        )
    ends = [run(f"SELECT {end}(seq) FROM vote WHERE campaign = :campaign", wanted)[0][0] for end in ("min", "max")]
    if (last_vote and ends != [1, last_vote]) or not codec.in_range(votes, last_vote, items):
        raise InputError(f"the log of campaign {campaign} has rows that cannot be, it is damaged; restore a copy")
    return votes, intact
