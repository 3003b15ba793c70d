"""Out of a campaign and into one: votes as a table, as a journal, and everything as one file.

A row of the journal of `podium ask` (`active.journal`) is a row here: JSON Lines, votes as `left, right, outcome,
judge, time`, notes with "podium" first, an undo by the number of the row it takes back, a judge who is excluded by a
note. A vote about an item that was withdrawn is a note ("vote") as well, so that nobody counts it.
"""

from __future__ import annotations

import datetime
import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from podium._version import __version__
from podium.campaign.items import Items
from podium.campaign.marks import Marked, with_marks
from podium.campaign.setup import add_items
from podium.errors import InputError
from podium.store.content import Content
from podium.store.values import Event, Item, Judge, Vote

if TYPE_CHECKING:
    import polars as pl

    from podium.campaign.standing import Standing
    from podium.store.base import Store
    from podium.store.reader import Reader
    from podium.store.writer import Writer

__all__ = ["Imported", "import_votes", "journal_lines", "ranking_frame", "votes_frame"]

MAX_VOTES_OF_COMMIT = 2000  # votes of a commit
JOURNAL_FORMAT = 2  # of the journal whose rows these are
IMPORTED = " (import)"  # behind the name of a judge of a file, where a person has that name
MS_OF_DAY = 86_400_000


def moment(at: int | None) -> str | None:
    """A time as people and programs read it."""
    if at is None:
        return None
    return datetime.datetime.fromtimestamp(at / 1000, datetime.UTC).isoformat(timespec="milliseconds")


def votes_frame(content: Content, votes: Iterable[Vote]) -> pl.DataFrame:
    """The whole log; `counts` says whether a vote is in the results."""
    import polars as pl

    labels = [item.label for item in content.items]
    names = {judge.id: judge.name for judge in content.judges}
    out = {judge.id for judge in content.judges if judge.state == "excluded"}
    gone = {item.code for item in content.items if item.withdrawn is not None}
    stands = content.votes.counted()
    rows = [
        {
            "seq": vote.seq,
            "time": moment(vote.received),
            "judge": names[vote.judge],
            "left": labels[vote.left],
            "right": labels[vote.right],
            "outcome": vote.outcome,
            "kind": vote.kind,
            "undoes": vote.undoes,
            "reason": vote.reason,
            "ms": vote.ms,
            "version": vote.version,
            "counts": bool(stands[vote.seq - 1]) and vote.judge not in out and not gone & {vote.left, vote.right},
        }
        for vote in _sound(content, votes)
    ]
    schema = {"seq": pl.Int64, "time": pl.String, "judge": pl.String, "left": pl.String, "right": pl.String}
    schema |= {"outcome": pl.Float64, "kind": pl.String, "undoes": pl.Int64, "reason": pl.String, "ms": pl.Int64}
    return pl.DataFrame(rows, schema=schema | {"version": pl.Int64, "counts": pl.Boolean})


def _sound(content: Content, votes: Iterable[Vote]) -> Iterator[Vote]:
    """The votes, if they are by the campaign's judges and on its items: in a damaged database they may not be."""
    judges, items, rows = (
        {judge.id for judge in content.judges},
        range(len(content.items)),
        range(1, len(content.votes) + 1),
    )
    for vote in votes:
        if vote.judge not in judges or vote.left not in items or vote.right not in items or vote.seq not in rows:
            raise InputError(
                f"vote {vote.seq} has a judge or an item that the campaign has not: it is damaged; restore a copy"
            )
        yield vote


def ranking_frame(standing: Standing, *, marked: Marked | None = None) -> pl.DataFrame:
    """Where a campaign stands, a row for each item."""
    return with_marks(standing.to_frame(), marked)


def journal_lines(content: Content, votes: Iterable[Vote]) -> Iterator[str]:
    """The campaign as a journal: a header, the votes in their order, and who is excluded in the end."""
    campaign = content.campaign
    labels = [item.label for item in content.items]
    names = {judge.id: judge.name for judge in content.judges}
    head = {"podium": "campaign", "version": __version__, "format": JOURNAL_FORMAT, "title": campaign.title}
    yield _line(head | {"question": campaign.question, "n": len(labels), "seed": campaign.seed})
    first = 2
    for item in content.items:
        yield _line({"podium": "item", "item": item.label})
        first += 1
    gone = {item.code for item in content.items if item.withdrawn is not None}
    for vote in _sound(content, votes):
        yield _line(_journal_row(vote, labels, names, first, bool(gone & {vote.left, vote.right})))
    voted = set(content.votes.judge.tolist())
    for judge in content.judges:
        if judge.state == "excluded" and judge.id in voted:
            yield _line({"podium": "exclude", "judge": judge.name})


def _journal_row(vote: Vote, labels: list[str], names: dict[int, str], first: int, gone: bool) -> dict[str, Any]:
    """A vote as a line; the first one is line `first`. One about an item that is gone is a note."""
    who = {"judge": names[vote.judge], "time": moment(vote.received)}
    if vote.undoes is not None:
        return {"podium": "undo", "row": vote.undoes + first - 1} | who
    pair = {"left": labels[vote.left], "right": labels[vote.right]}
    note: dict[str, Any] = {"podium": "skip"} if vote.outcome is None else {"podium": "vote"} if gone else {}
    row = note | pair if vote.outcome is None else note | pair | {"outcome": _plain(vote.outcome)}
    more = {"kind": vote.kind, "ms": vote.ms, "reason": vote.reason, "predicted": vote.predicted}
    return row | who | {name: value for name, value in more.items() if value is not None}


def _plain(outcome: float) -> float:
    return outcome if outcome == 0.5 else int(outcome)


def _line(row: dict[str, Any]) -> str:
    return json.dumps(row, ensure_ascii=False) + "\n"


# In


@dataclass(frozen=True, slots=True)
class Imported:
    """What an import added, how many rows of the file were there already, and how many of an export do not count."""

    votes: int
    repeated: int
    items: int
    judges: int
    skips: int = 0
    undos: int = 0
    left_out: int = 0


@dataclass(slots=True)
class _Read:
    """A row to be imported; `undoes` is the line it takes back, which then says whose it is."""

    line: int
    left: str = ""
    right: str = ""
    outcome: float | None = None
    judge: str | None = None
    reason: str | None = None
    ms: int | None = None
    at: int | None = None
    undoes: int | None = None


def import_votes(store: Store, campaign: int, path: str, now: int, *, add: bool = False) -> Imported:
    """Add the votes of a file: a journal, or any table of votes. The same file again adds nothing.

    Nor does a vote that the log has with its time: a journal that has grown, or an export of this campaign, adds what
    is new. With `add`, items the campaign does not have are added; else they are refused. Votes come under judges of
    kind "import", never under those of people with links.
    """
    data = Path(path).read_bytes() if Path(path).is_file() else None
    if data is None:
        raise InputError(f"no such file: {path}; check the path")
    mark = hashlib.sha256(data).hexdigest()[:16]
    excluded, left_out = set[str](), 0
    if _is_journal(data):
        rows, excluded = _read_journal(path, data)
    else:
        rows, left_out = _read_table(path)
    labels = {label: None for row in rows if row.undoes is None for label in (row.left, row.right)}
    seqs = store.read(partial(_there, campaign=campaign, rows=rows)) if any(row.at for row in rows) else {}
    there = {row.judge for row in rows if row.line in seqs}
    rows = [row for row in rows if row.line not in seqs]
    repeated = len(seqs)
    names = list(dict.fromkeys([row.judge for row in rows]))

    def prepare(writer: Writer) -> tuple[int, dict[str, int], dict[str | None, int], int]:
        known = {item.label: item.code for item in writer.items(campaign)}
        missing = [label for label in labels if label not in known]
        if missing and not add:
            shown = ", ".join(repr(label) for label in missing[:10])
            raise InputError(
                f"{path}: items that the campaign does not have: {shown}; add them first, or import with --add"
            )
        if missing:
            added = add_items(writer, Items([Item(-1, label) for label in missing]), now)
            known |= {item.label: item.code for item in added}
        before = len(writer.judges(campaign))
        who = {name: _import_judge(writer, name, now) for name in names}
        for name in excluded & {name for name in there.union(names) if name is not None}:
            judge = _known_import(writer, name)[1]
            if judge is not None and judge.state != "excluded":
                writer.change_judge(judge.id, state="excluded")
                writer.append_event(Event("judge", {"judge": judge.id, "to": "excluded"}, at=now))
        return len(missing), known, who, len(writer.judges(campaign)) - before

    added, codes, who, new = store.write(campaign, prepare)
    new_rows: list[Vote] = []
    for at in range(0, len(rows), MAX_VOTES_OF_COMMIT):
        piece = rows[at : at + MAX_VOTES_OF_COMMIT]
        new_rows += store.write(
            campaign, partial(_append, rows=piece, mark=mark, codes=codes, who=who, seqs=seqs, now=now)
        )
    undos = sum(each.undoes is not None for each in new_rows)
    votes = sum(each.outcome is not None for each in new_rows)
    repeated += len(rows) - len(new_rows)
    return Imported(votes, repeated, added, new, len(new_rows) - votes - undos, undos, left_out)


def _there(reader: Reader, campaign: int, rows: list[_Read]) -> dict[int, int]:
    """Which row of the log a line is already: one with its judge, time, pair and outcome, or an undo of such a one."""
    names = {judge.id: judge.name.removesuffix(IMPORTED) for judge in reader.judges(campaign)}
    labels = {item.code: item.label for item in reader.items(campaign)}
    known: dict[tuple[Any, ...], list[int]] = {}
    undone: dict[int, int] = {}
    for vote in reader.votes(campaign):
        if vote.undoes is not None:
            undone[vote.undoes] = vote.seq
        else:
            pair = labels[vote.left], labels[vote.right]
            known.setdefault((names[vote.judge], vote.received, *pair, vote.outcome), []).append(vote.seq)
    seqs: dict[int, int] = {}
    for row in rows:
        key = ((row.judge or "import").removesuffix(IMPORTED), row.at, row.left, row.right, row.outcome)
        if row.undoes is None and known.get(key):
            seqs[row.line] = known[key].pop(0)
        elif row.undoes is not None and seqs.get(row.undoes) in undone:
            seqs[row.line] = undone[seqs[row.undoes]]
    return seqs


def _known_import(writer: Writer, name: str | None) -> tuple[str, Judge | None]:
    """The name of the judge under whom votes of this one come, and the judge if there is one."""
    label = name or "import"
    known = writer.judge_by(writer.locked.id, name=label)
    if known is not None and known.kind != "import":
        label += IMPORTED
        known = writer.judge_by(writer.locked.id, name=label)
    return label, known


def _import_judge(writer: Writer, name: str | None, now: int) -> int:
    label, known = _known_import(writer, name)
    if known is None:
        known = writer.add_judge(Judge(0, label, "import", made=now))
        writer.append_event(Event("judge", {"judge": known.id, "to": "active"}, at=now))
    return known.id


def _append(
    writer: Writer,
    rows: list[_Read],
    mark: str,
    codes: dict[str, int],
    who: dict[str | None, int],
    seqs: dict[int, int],
    now: int,
) -> list[Vote]:
    """Append what is not there yet, and return it; `seqs` learns which row of the log each line became."""
    campaign = writer.locked.id
    new: list[Vote] = []
    numbers = writer.client_rows(campaign, [f"{mark}:{row.line}" for row in rows])
    for row in rows:
        judge, id = who[row.judge], f"{mark}:{row.line}"
        if (judge, id) in numbers:
            seqs[row.line] = numbers[judge, id]
            continue
        seq = writer.locked.last_vote + len(new) + 1
        seqs[row.line] = seq
        at = now if row.at is None else row.at
        if row.undoes is None:
            vote = Vote(judge, id, codes[row.left], codes[row.right], row.outcome, reason=row.reason, ms=row.ms)
        else:
            target = next((vote for vote in new if vote.seq == seqs.get(row.undoes)), None)
            target = target or writer.vote(campaign, seqs.get(row.undoes, 0))
            assert target is not None, "reading made sure of it"
            vote = Vote(judge, id, target.left, target.right, None, undoes=target.seq)
        new.append(replace(vote, seq=seq, kind="import", received=at))
    writer.append_votes(new)
    return new


def _is_journal(data: bytes) -> bool:
    """JSON Lines with notes of ours: a header, or any other row that begins with "podium"."""
    head = data.removeprefix(b"\xef\xbb\xbf").lstrip()[:1_000_000]
    return head.startswith(b"{") and b'"podium"' in head


def _read_journal(path: str, data: bytes) -> tuple[list[_Read], set[str]]:
    rows: list[_Read] = []
    standing: dict[int, _Read] = {}  # by line: what is not undone
    excluded: set[str] = set()
    for number, line in enumerate(data.splitlines(), start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
            if not isinstance(row, dict):
                raise ValueError("not a JSON object")
            note = row.get("podium")
            if note == "exclude":
                excluded.add(str(row["judge"]))
            elif note == "undo":
                rows.append(_journal_undo(number, row, standing))
            elif note in (None, "skip", "vote"):
                rows.append(_journal_vote(number, row))
                standing[number] = rows[-1]
        except (ValueError, KeyError, TypeError) as problem:
            what = f"lacks {problem}" if isinstance(problem, KeyError) else f"cannot be read ({problem})"
            raise InputError(f"{path}, line {number} {what}; mend the line or take it out") from problem
    return rows, excluded


def _journal_undo(number: int, row: dict[str, Any], standing: dict[int, _Read]) -> _Read:
    target = standing.pop(row["row"], None)
    if target is None:
        raise ValueError(f"it undoes line {row['row']!r}, which is no vote that stands")
    if row.get("judge") is not None and _name(row) != target.judge:
        raise ValueError(f"it undoes line {row['row']}, which is a vote of another judge")
    return _Read(number, judge=target.judge, at=_moment(row.get("time")), undoes=target.line)


def _journal_vote(number: int, row: dict[str, Any]) -> _Read:
    outcome = None if row.get("podium") == "skip" else row["outcome"]
    if outcome not in (None, 0, 1, 0.5) or (outcome is None and row.get("podium") != "skip"):
        raise ValueError(f"outcome {outcome!r} is unknown; it is 1, 0 or 0.5")
    left, right = str(row["left"]), str(row["right"])
    if left == right:
        raise ValueError(f"{left!r} is compared with itself")
    ms, reason = row.get("ms"), row.get("reason")
    value = None if outcome is None else float(outcome)
    return _Read(number, left, right, value, _name(row), reason, ms, _moment(row.get("time")))


def _name(row: dict[str, Any]) -> str | None:
    return None if row.get("judge") is None else str(row["judge"])


def _moment(text: Any) -> int | None:
    if text is None:
        return None
    at = datetime.datetime.fromisoformat(str(text))
    return int((at if at.tzinfo else at.replace(tzinfo=datetime.UTC)).timestamp() * 1000)


def _read_table(path: str) -> tuple[list[_Read], int]:
    """The votes of a table, and how many rows of a campaign's export are no votes that count."""
    from podium.data.files import read_comparisons, scan_table
    from podium.data.tables.forms import LOG

    first = next(scan_table(path), None)
    is_log = first is not None and set(first.columns) >= LOG
    time = "time" if is_log and first is not None and "time" in first.columns else None
    try:
        votes = read_comparisons(path, keep="rows", time=time)
    except InputError as problem:
        if problem.options:
            raise InputError(*problem.args, "; an import has no such options: change the file instead") from problem
        raise
    if votes.weight is not None or votes.margin is not None:
        raise InputError(f"{path} has weights, counts or margins; a campaign takes single votes: give one row a vote")
    names = votes.judges
    outcome = [1.0] * len(votes.left) if votes.outcome is None else ((votes.outcome + 1) / 2.0).tolist()
    none: list[Any] = [None] * len(votes.left)
    judge = none if votes.judge is None else votes.judge.tolist()
    at = none if votes.time is None else np.rint(votes.time * MS_OF_DAY).astype(np.int64).tolist()
    by: list[str | None] = [None if who is None else str(names[who]) for who in judge]
    rows = [
        _Read(number, str(votes.items[a]), str(votes.items[b]), value, who, at=when)
        for number, (a, b, value, who, when) in enumerate(
            zip(votes.left.tolist(), votes.right.tolist(), outcome, by, at, strict=True), start=1
        )
    ]
    return rows, sum(piece.height for piece in scan_table(path)) - len(rows) if is_log else 0
