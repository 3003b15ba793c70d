"""The log of an interview: one JSON object a line, a header first; answers are rows that `podium rank` reads.

    {"podium": "interview", "version": "0.1.0", "format": 1, "items": "…", "n": 3, "seed": 7, "preset": "standard", …}
    {"podium": "ask", "max_pairs": 1, "pairs": "5f0c9a21"}
    {"left": "tea", "right": "milk", "outcome": 1, "judge": "ann", "time": "2026-11-15T10:00:00+00:00"}
    {"podium": "skip", "left": "tea", "right": "coffee", "judge": "ann", "time": null}

Rows that begin with "podium" are notes, not votes. Asks are recorded as well as answers because the moment of asking
shapes the path: header and rows together give the identical state again. "pairs" is a checksum of what was asked then:
it tells a replay that asks otherwise.
"""

from __future__ import annotations

import hashlib
import json
import math
import warnings
from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import Any

from podium._version import __version__
from podium.active.interview import Asked, Told
from podium.errors import DataWarning, InputError

__all__ = ["FORMAT", "check_header", "event_rows", "fingerprint", "header", "parse_log", "steps"]

FORMAT = 1
OUTCOMES = (1, 0, 0.5)


def fingerprint(items: Sequence[Hashable]) -> str:
    """A short hash of the labels in their order: a log belongs to exactly these items."""
    text = "\x1f".join(f"{type(item).__name__}:{item}" for item in items)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def header(items: Sequence[Hashable], seed: int, preset: str, options: dict[str, Any]) -> dict[str, Any]:
    """The first line of a log."""
    return {
        "podium": "interview",
        "version": __version__,
        "format": FORMAT,
        "items": fingerprint(items),
        "n": len(items),
        "seed": seed,
        "preset": preset,
        "options": options,
    }


def event_rows(event: Asked | Told, items: Sequence[Any], raters: Sequence[Any]) -> list[dict[str, Any]]:
    """One event of an interview as rows of the log, in the labels of items and raters."""
    if isinstance(event, Asked):
        return [{"podium": "ask", "max_pairs": event.max_pairs, "pairs": event.digest}]
    rows = []
    for k, ((u, v), value) in enumerate(zip(event.pairs.tolist(), event.values.tolist(), strict=True)):
        row: dict[str, Any] = {"podium": "skip"} if math.isnan(value) else {}
        row |= {"left": items[u], "right": items[v]}
        if not math.isnan(value):
            row["outcome"] = value if value == 0.5 else int(value)
        if (rater := raters[int(event.raters[k])]) is not None:  # votes of nobody in particular have no judge at all
            row["judge"] = rater
        row["time"] = None if event.times is None else event.times[k]
        if k + 1 < len(event.pairs):
            row["more"] = True  # the next row was told in the same breath
        rows.append(row)
    return rows


def steps(rows: Iterable[dict[str, Any]]) -> Iterator[tuple[int, dict[str, Any] | list[dict[str, Any]]]]:
    """Take the rows of a log after its header apart: an ask by itself, answers in the groups in which they were told.

    With each comes the number of its (last) row in the log.
    """
    group: list[dict[str, Any]] = []
    for number, row in enumerate(rows, start=2):
        if problem := _problem(row):
            raise InputError(
                f"log, row {number}: {problem}; mend it, or read the file with parse_log, which leaves it out"
            )
        if row.get("podium") == "ask":
            yield number, row
        elif row.get("podium") != "interview":
            group.append({key: tuple(cell) if isinstance(cell, list) else cell for key, cell in row.items()})
            if not row.get("more"):
                yield number, group
                group = []
    if group:
        yield number, group


def parse_log(lines: Iterable[str | bytes], name: str = "log") -> list[dict[str, Any]]:
    """Read the lines of a log file. A malformed line is named and left out; the rest is kept."""
    rows: list[dict[str, Any]] = []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
            problem = _problem(row)
        except json.JSONDecodeError as error:
            problem = f"not JSON ({error.msg})"
        except UnicodeDecodeError:
            problem = "not UTF-8 text"
        if problem:
            warnings.warn(f"{name}, line {number}: {problem}; the line is left out", DataWarning, stacklevel=2)
        else:
            rows.append(row)
    return rows


def _problem(row: Any) -> str | None:
    if not isinstance(row, dict):
        return "not a JSON object"
    if row.get("podium") in ("interview", "ask"):
        return None
    if "left" not in row or "right" not in row:
        return "neither an event nor an answer with left and right"
    if row.get("podium") == "skip":
        return None
    if row.get("outcome") not in OUTCOMES:
        return f"outcome {row.get('outcome')!r} is unknown; it is 1, 0 or 0.5"
    return None


def check_header(rows: Sequence[dict[str, Any]], items: Sequence[Hashable]) -> dict[str, Any]:
    """Return the header of a log after making sure that it belongs to `items` and that this version reads it."""
    if not rows or not isinstance(rows[0], dict) or rows[0].get("podium") != "interview":
        raise InputError(
            "the log has no header; its first line is {'podium': 'interview', …}: give the whole log, or begin another"
        )
    head = rows[0]
    missing = {name for name in ("format", "items", "n", "seed", "preset", "options") if head.get(name) is None}
    if missing or not isinstance(head["options"], dict) or not isinstance(head["format"], int):
        what = f"lacks {', '.join(sorted(missing))}" if missing else "is not as it was written"
        raise InputError(f"the log's header {what}; it was damaged, or is no podium log: begin another")
    if head["format"] > FORMAT:
        raise InputError(f"the log is of the newer podium {head.get('version')}; this is {__version__}: upgrade")
    if head["items"] != fingerprint(items):
        raise InputError(
            f"the log is of other items: it has {head['n']} with hash {head['items']}, these are {len(items)} with "
            f"hash {fingerprint(items)}; give the items of the log, in the same order, or start another log"
        )
    if head.get("version") != __version__:
        warnings.warn(
            f"the log was written by podium {head.get('version')}, this is {__version__}; its answers count, but the "
            "questions that follow may differ",
            DataWarning,
            stacklevel=3,
        )
    return dict(head)
