"""The journal of answers: one JSON object a line, a header first, only ever added to; votes are rows that
`podium rank` reads.

    {"podium": "journal", "version": "0.1.0", "format": 2, "items": "…", "n": 3, "seed": 7, "preset": "standard", …}
    {"left": "tea", "right": "milk", "outcome": 1, "judge": "ann", "kind": "chosen", "time": "2026-11-15T10:00:00"}
    {"podium": "skip", "left": "tea", "right": "coffee", "judge": "ann", "time": null}
    {"podium": "undo", "row": 2, "judge": "ann", "time": null}
    {"podium": "judge", "judge": "bob"}
    {"podium": "lease", "left": "milk", "right": "coffee", "judge": "bob", "until": 1763200000.0, "kind": "check"}
    {"podium": "item", "item": "juice"}
    {"podium": "exclude", "judge": "bob"}

Rows that begin with "podium" are notes, not votes. Rows are numbered by line, the header is row 1. An undo takes the
vote or skip of a row back; a lease says that a pair is in somebody's hands until a time. Logs of the first edition
("interview", format 1) are read as well.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import warnings
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from podium._version import __version__
from podium.active.locks import lock, session, unlock
from podium.active.tally import KINDS
from podium.data.validation import entries_of
from podium.errors import DataWarning, InputError, Option

__all__ = ["FORMAT", "Journal", "Standing", "check_header", "fingerprint", "header", "parse_log", "problem_of"]

FORMAT = 2
OUTCOMES = (1, 0, 0.5)
HEADS = ("journal", "interview")
NOTES = {"skip": ("left", "right"), "undo": ("row",), "lease": ("left", "right", "judge", "until"), "item": ("item",),
         "judge": ("judge",), "exclude": ("judge",)}  # fmt: skip


def fingerprint(items: Sequence[Hashable]) -> str:
    """A short hash of the labels in their order: a journal belongs to exactly these items."""
    text = "\x1f".join(f"{type(item).__name__}:{item}" for item in items)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def header(items: Sequence[Hashable], seed: int, preset: str, options: dict[str, Any]) -> dict[str, Any]:
    """The first line."""
    return {
        "podium": "journal",
        "version": __version__,
        "format": FORMAT,
        "items": fingerprint(items),
        "n": len(items),
        "seed": seed,
        "preset": preset,
        "options": options,
    }


def check_header(rows: Sequence[Any], items: Sequence[Hashable]) -> dict[str, Any]:
    """Return the header after making sure that the rows belong to `items` and that this version reads them.

    Items may have been added since: the header is of the first ones.
    """
    rows = entries_of("the log", rows, "its rows")
    if not rows or not isinstance(rows[0], dict) or rows[0].get("podium") not in HEADS:
        raise InputError(
            "the log has no header; its first line is {'podium': 'journal', …}: give the whole log, or begin another"
        )
    head = rows[0]
    missing = {name for name in ("format", "items", "n", "seed", "preset", "options") if head.get(name) is None}
    if missing or not isinstance(head["options"], dict) or not isinstance(head["format"], int):
        what = f"lacks {', '.join(sorted(missing))}" if missing else "is not as it was written"
        raise InputError(f"the log's header {what}; it was damaged, or is no podium log: begin another")
    if head["format"] > FORMAT:
        raise InputError(f"the log is of the newer podium {head.get('version')}; this is {__version__}: upgrade")
    added = [row["item"] for row in rows[1:] if isinstance(row, dict) and row.get("podium") == "item"]
    known = list(items)[: len(items) - len(added)]
    if fingerprint(known) != head["items"] or [_plain(item) for item in items[len(known) :]] != added:
        raise InputError(
            f"the log is of other items: it has {head['n'] + len(added)} with hash {head['items']!r}, these are "
            f"{len(items)} with hash {fingerprint(items)!r}; give the items of the log, in the same order, or start "
            "another log"
        )
    return dict(head)


def _plain(label: Any) -> Any:
    """A label as it comes back from JSON."""
    return list(label) if isinstance(label, tuple) else label


def problem_of(row: Any) -> str | None:
    """What is wrong with a row of a log, if anything."""
    if not isinstance(row, dict):
        return "not a JSON object"
    for name in ("podium", "judge", "row", "outcome", "left", "right", "item"):
        if not _is_label(_label(row.get(name)) if name in ("left", "right", "item") else row.get(name)):
            return f"{name!r} is {row[name]!r}; it is text or a number"
    kind = row.get("podium")
    if kind in (*HEADS, "ask"):
        return None
    if kind in NOTES:
        missing = [name for name in NOTES[kind] if name not in row]
        return f"a note of {kind!r} without {', '.join(missing)}" if missing else None
    if "left" not in row or "right" not in row:
        return "neither an event nor an answer with left and right"
    if isinstance(row.get("outcome"), bool) or row.get("outcome") not in OUTCOMES:
        return f"outcome {row.get('outcome')!r} is unknown; it is 1, 0 or 0.5"
    return None


def parse_log(lines: Iterable[str | bytes], name: str = "log") -> list[dict[str, Any]]:
    """Read the lines of a log file. A malformed line is named and left out, by an empty note; the rest is kept."""
    rows: list[dict[str, Any]] = []
    for number, line in enumerate(lines, start=1):
        row, problem = _parsed(line)
        if problem:
            warnings.warn(f"{name}, line {number}: {problem}; the line is left out", DataWarning, stacklevel=2)
        rows.append(row if not problem else {"podium": "ask"})
    return rows


def _parsed(line: str | bytes) -> tuple[dict[str, Any], str | None]:
    if not line.strip():
        return {"podium": "ask"}, None
    try:
        row = json.loads(line)
    except json.JSONDecodeError as error:
        return {}, f"not JSON ({error.msg})"
    except UnicodeDecodeError:
        return {}, "not UTF-8 text"
    return row, problem_of(row)


@dataclass
class Standing:
    """What the rows of a journal come to: the votes and skips that count by row, leases, excluded judges, items."""

    votes: dict[int, dict[str, Any]] = field(default_factory=dict)
    leases: dict[frozenset[Any], dict[str, Any]] = field(default_factory=dict)
    excluded: set[Any] = field(default_factory=set)
    added: list[Any] = field(default_factory=list)
    judges: set[Any] = field(default_factory=set)

    def take(self, number: int, row: dict[str, Any]) -> None:
        """Go on with one more row."""
        kind = row.get("podium")
        if kind in (None, "skip"):
            self.votes[number] = row
            self.judges.add(row.get("judge"))
            self.leases.pop(_pair(row), None)
        elif kind == "undo":
            if row["row"] not in self.votes:
                raise InputError(f"log, row {number}: an undo of row {row['row']!r}, which is no vote that counts")
            self.votes.pop(row["row"])
        elif kind == "lease":
            if not isinstance(row["until"], int | float):
                raise InputError(f"log, row {number}: a lease until {row['until']!r}; give seconds as a number")
            if row["judge"] not in self.judges:
                raise InputError(f"log, row {number}: a lease of {row['judge']!r}, a judge of whom no row tells")
            self.leases[_pair(row)] = row
        elif kind == "judge":
            self.judges.add(row["judge"])
        elif kind == "item":
            self.added.append(_label(row["item"]))
        elif kind == "exclude":
            if row["judge"] not in self.judges:
                raise InputError(f"log, row {number}: {row['judge']!r} is excluded, but no row is of that judge")
            self.excluded.add(row["judge"])

    def counting(self) -> list[tuple[int, dict[str, Any]]]:
        """Votes and skips of judges who are not excluded, by row."""
        return [(number, row) for number, row in self.votes.items() if row.get("judge") not in self.excluded]

    def out(self, now: float, *, but: Any = None) -> list[tuple[Any, Any]]:
        """Pairs in the hands of judges (other than `but`) at the time `now`."""
        held = [lease for lease in self.leases.values() if lease["until"] > now and lease["judge"] != but]
        return [(_label(lease["left"]), _label(lease["right"])) for lease in held]

    def held_by(self, judge: Any, now: float) -> list[tuple[tuple[Any, Any], str]]:
        """Pairs that `judge` has taken and not answered, and why each was asked."""
        held = [lease for lease in self.leases.values() if lease["until"] > now and lease["judge"] == judge]
        return [((_label(lease["left"]), _label(lease["right"])), _kind(lease)) for lease in held]


def _is_label(value: Any) -> bool:
    return not isinstance(value, list | dict) and not (isinstance(value, tuple) and not all(map(_is_label, value)))


def _label(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _kind(row: dict[str, Any]) -> str:
    """Why a pair was asked; rows of earlier versions do not say."""
    kind = row.get("kind")
    return kind if kind in KINDS else "chosen"


def _pair(row: dict[str, Any]) -> frozenset[Any]:
    return frozenset((_label(row["left"]), _label(row["right"])))


def _lease(pair: tuple[Any, Any], judge: Any, until: float, kind: str) -> dict[str, Any]:
    return {"podium": "lease", "left": pair[0], "right": pair[1], "judge": judge, "until": until, "kind": kind}


class Journal:
    """A journal on disk, shared by any number of processes.

    Writing holds an advisory lock; what others have added is read first, and a row is on disk before `append` returns.
    Nothing that was acknowledged is ever lost: rows are only added.

    Parameters
    ----------
    path : Path
    head : dict
        The header of a new journal; one that is there keeps its own.
    """

    def __init__(self, path: Path, head: dict[str, Any]) -> None:
        self.path = path
        self.standing = Standing()
        self.rows: list[dict[str, Any]] = []
        self._read = 0  # bytes
        self._latest = float("-inf")
        self._file: IO[bytes] = path.open("a+b")
        with self.locked():
            self.resumed = bool(self.rows)
            if not self.rows:
                self._write([head])

    @property
    def head(self) -> dict[str, Any]:
        """The first row."""
        return self.rows[0]

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the lock for the block, with all rows of others read."""
        with contextlib.suppress(OSError):  # some network file systems have no locks
            lock(self._file)
        try:
            self._mend()
            self._catch_up()
            yield
        finally:
            if not self._file.closed:
                with contextlib.suppress(OSError):
                    unlock(self._file)

    def fits(self, items: Sequence[Hashable]) -> bool:
        """Whether the journal is of exactly these items."""
        first = list(items)[: len(items) - len(self.standing.added)]
        return fingerprint(first) == self.head.get("items") and list(items)[len(first) :] == self.standing.added

    def note(self, rows: list[dict[str, Any]]) -> None:
        """Write rows with the lock held."""
        self._write(rows)

    def append(self, rows: list[dict[str, Any]]) -> list[int]:
        """Write rows, wait until they are on disk, return their numbers."""
        with self.locked():
            return self._write(rows)

    @contextlib.contextmanager
    def session(self, judge: str | None) -> Iterator[None]:
        """Answer as `judge`, one live process at a time: an undo takes back the judge's last vote, whoever gave it.

        Raises `InputError` where another process answers under the same name, or likewise without one.
        """
        with session(self.path, "" if judge is None else f"judge {judge}") as free:
            if not free:
                who = "somebody without a name" if judge is None else repr(judge)
                raise InputError(
                    f"{self.path}: {who} is answering on this log right now, and an undo here would take back votes "
                    "of that session; end it first, or answer under another name with ",
                    Option("judge", "NAME"),
                )
            yield

    def join(self, judge: Any) -> None:
        """Make `judge` known, who may then take pairs in hand."""
        with self.locked():
            if judge not in self.standing.judges:
                self._write([{"podium": "judge", "judge": judge}])

    def lease(self, pairs: list[tuple[tuple[Any, Any], str]], judge: Any, now: float, seconds: float) -> None:
        """Say that `judge` has these pairs in hand, each with why it is asked; call with the lock held, after planning
        around what is out.

        A clock that goes back (another machine's, or this one's after a correction) never lets a lease of others end
        early: time goes on from the latest that was written.
        """
        now = self.time(now)
        self._write([_lease(pair, judge, now + seconds, kind) for pair, kind in pairs])

    def time(self, now: float) -> float:
        """`now`, or the latest time this process has seen if that is later."""
        self._latest = max(self._latest, now)
        return self._latest

    def release(self, judge: Any, now: float) -> None:
        """Give back what `judge` has in hand: a lease that is over says so, and others may be asked."""
        with self.locked():
            held = self.standing.held_by(judge, self.time(now))
            if held:
                self._write([_lease(pair, judge, 0, kind) for pair, kind in held])

    def undo(self, judge: Any, time: Any = None, *, until: float | None = None) -> dict[str, Any] | None:
        """Take back the last vote or skip of `judge`: a row says so. Returns what was taken back.

        With `until`, the pair is in the judge's hands again up to that time.
        """
        with self.locked():
            mine = [number for number, row in self.standing.votes.items() if row.get("judge") == judge]
            if not mine:
                return None
            gone = self.standing.votes[mine[-1]]
            rows: list[dict[str, Any]] = [{"podium": "undo", "row": mine[-1], "judge": judge, "time": time}]
            if until is not None:
                rows.append(_lease((gone["left"], gone["right"]), judge, until, _kind(gone)))
            self._write(rows)
            return gone

    def _write(self, rows: list[dict[str, Any]]) -> list[int]:
        """Append with the lock held."""
        first = len(self.rows) + 1
        text = b"".join(json.dumps(row, ensure_ascii=False).encode() + b"\n" for row in rows)
        self._file.write(text)
        self._file.flush()
        os.fsync(self._file.fileno())
        self._catch_up()
        return list(range(first, first + len(rows)))

    def _catch_up(self) -> None:
        """Read the rows that were added since."""
        self._file.seek(self._read)
        text = self._file.read()
        whole = text.rfind(b"\n") + 1
        self._read += whole
        for line in text[:whole].split(b"\n")[:-1]:
            row, problem = _parsed(line)
            number = len(self.rows) + 1
            if problem:
                warnings.warn(
                    f"{self.path.name}, line {number}: {problem}; the line is left out", DataWarning, stacklevel=4
                )
                row = {"podium": "ask"}
            self.rows.append(row)
            if number > 1:
                self.standing.take(number, row)

    def _mend(self) -> None:
        """A last line without its end was never acknowledged: whoever wrote it was killed. It is cut off."""
        size = self._file.seek(0, os.SEEK_END)
        self._file.seek(max(size - 1, 0))
        if self._file.read() in (b"", b"\n"):
            return
        self._file.seek(self._read)  # where a line begins, however long the last one is
        unread = self._file.read()
        line = unread[unread.rfind(b"\n") + 1 :]
        if not _parsed(line)[1]:  # whole but for its end
            self._file.write(b"\n")
            self._file.flush()
            return
        number = len(self.rows) + 1 + unread.count(b"\n")
        warnings.warn(
            f"{self.path.name}, line {number}: not whole, it was never acknowledged; it is cut off",
            DataWarning,
            stacklevel=4,
        )
        os.ftruncate(self._file.fileno(), size - len(line))
