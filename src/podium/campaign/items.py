"""Items from a table or a folder, refused whole with the first ten problems and their rows, or taken whole."""

from __future__ import annotations

import hashlib
import math
from codecs import BOM_UTF8
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from podium.errors import InputError
from podium.store.values import Item, Media

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Items", "media_type", "read_items", "without_text"]

MOST_TEXT = 1_000_000  # bytes of an item's text
MOST_FILE = 10_000_000  # bytes of a picture, sound, film or page
SHOWN = 10  # problems named
TEXTS = {".txt": "text", ".md": "markdown"}
LABELS = ("id", "label", "item", "name")
FILES = ("file", "media", "path")

# Kinds of files by their first bytes, never by their name: what a browser would guess is what we say.
SIGNATURES: tuple[tuple[int, bytes, str], ...] = (
    (0, b"\x89PNG\r\n\x1a\n", "image/png"),
    (0, b"\xff\xd8\xff", "image/jpeg"),
    (0, b"GIF87a", "image/gif"),
    (0, b"GIF89a", "image/gif"),
    (8, b"WEBP", "image/webp"),
    (0, b"ID3", "audio/mpeg"),
    (0, b"\xff\xfb", "audio/mpeg"),
    (8, b"WAVE", "audio/wav"),
    (0, b"OggS", "audio/ogg"),
    (0, b"fLaC", "audio/flac"),
    (4, b"ftyp", "video/mp4"),
    (0, b"\x1aE\xdf\xa3", "video/webm"),
)


@dataclass(frozen=True, slots=True)
class Items:
    """Items that were read, without codes yet, and the files they show."""

    items: list[Item]
    media: dict[str, Media] = field(default_factory=dict)


def media_type(data: bytes) -> str | None:
    """What the bytes are, out of a fixed list; None for anything else."""
    for at, mark, kind in SIGNATURES:
        if data[at : at + len(mark)] == mark:
            return kind
    head = data[:1024].lstrip().lower()
    if head.startswith((b"<!doctype html", b"<html")):
        return "text/html"
    if b"<svg" in head and head.startswith((b"<svg", b"<?xml", b"<!doctype svg")):
        return "image/svg+xml"
    return None


def read_items(
    source: str,
    *,
    label: str | None = None,
    text: str | None = None,
    features: Sequence[str] = (),
    known: frozenset[str] = frozenset(),
) -> Items:
    """Read a table (CSV, JSON Lines, Parquet …) or a folder of files; `known` are labels that are taken already.

    Labels that look alike, also like a known one, are taken with a warning.
    """
    path = Path(source)
    is_folder = path.is_dir()
    rows = _of_folder(path) if is_folder else _of_table(path, label, text, features)
    problems: list[str] = []
    seen: dict[str, int] = {}
    items: list[Item] = []
    media: dict[str, Media] = {}
    for number, row in enumerate(rows, start=1):
        problem = _problem(row, seen, known)
        if problem is None:
            seen[row.label] = number
            problem = _take(row, items, media)
        if problem is not None:
            problems.append(problem if is_folder else f"row {number}: {problem}")
    if problems:
        what = "the folder" if is_folder else "the file"
        more = f" (and {len(problems) - SHOWN} more)" if len(problems) > SHOWN else ""
        raise InputError(f"{source}: {'; '.join(problems[:SHOWN])}{more}; nothing was taken, correct {what}")
    if not items:
        raise InputError(f"{source} has no {'files' if is_folder else 'rows'}; give at least two items")
    _warn_of_look_alikes({} if is_folder else seen, tuple(seen), known)
    return Items(items, media)


def _warn_of_look_alikes(rows: dict[str, int], new: tuple[str, ...], known: frozenset[str]) -> None:
    """Say so where two labels are more likely one; `rows` are those of the new labels in a table."""
    from podium.data.tables.labels import warn_of_look_alikes

    labels = (*sorted(known), *new)

    def place(code: int) -> str:
        if code < len(known):
            return "in the campaign"
        return f"row {rows[labels[code]]}" if rows else ""

    warn_of_look_alikes("items", labels, place, stacklevel=3, known=len(known))


def without_text(new: Iterable[Item], there: Iterable[Item]) -> list[str]:
    """Labels of new items that have neither text nor file, where items that are there have: judges see these alone."""
    if not any(item.body or item.media for item in there):
        return []
    return [item.label for item in new if not (item.body or item.media)]


@dataclass(frozen=True, slots=True)
class _Row:
    label: str
    body: str | None = None
    kind: str | None = None
    file: Path | None = None
    features: list[float] | None = None
    is_blank: bool = False  # there is a column of texts, and nothing in it here
    odd: tuple[str, str | None] | None = None  # the first feature that is no number, and its cell


def _problem(row: _Row, seen: dict[str, int], known: frozenset[str]) -> str | None:
    if not row.label.strip():
        return "the label is empty; every item needs a name"
    if row.label in seen:
        return f"{row.label!r} appears in row {seen[row.label]} already; names must differ"
    if row.label in known:
        return f"{row.label!r} is in the campaign already; names must differ"
    if row.is_blank:
        return f"the text of {row.label!r} is empty; fill it in or remove the row"
    if row.body is not None and len(row.body.encode()) > MOST_TEXT:
        return f"the text of {row.label!r} has {len(row.body.encode()):,} bytes; at most {MOST_TEXT:,}"
    if row.kind is not None and row.kind not in ("text", "markdown"):
        return f"kind {row.kind!r} is unknown; it is text or markdown, and files say themselves what they are"
    if row.odd is not None:
        name, cell = row.odd
        found = "empty" if cell is None else f"{cell!r:.50}, no number"
        return f"feature {name!r} of {row.label!r} is {found}; give numbers"
    return None


def _take(row: _Row, items: list[Item], media: dict[str, Media]) -> str | None:
    """Add the item; what is wrong with its file, if anything."""
    kind, body, key = row.kind or "text", row.body, None
    if row.file is not None:
        try:
            size = row.file.stat().st_size
            if size > MOST_FILE:
                return f"{row.file} has {size:,} bytes; at most {MOST_FILE:,}"
            data = row.file.read_bytes()
        except OSError as problem:
            return f"{row.file} cannot be read: {problem.strerror}"
        if not data.removeprefix(BOM_UTF8).strip():
            return f"{row.file} is empty; fill it in or remove it"
        found = media_type(data)
        if found is None and row.file.suffix.lower() in TEXTS:
            try:
                body, kind = data.decode(), TEXTS[row.file.suffix.lower()]
            except UnicodeDecodeError:
                return f"{row.file} is not UTF-8 text"
            if len(data) > MOST_TEXT:
                return f"{row.file} has {len(data):,} bytes of text; at most {MOST_TEXT:,}"
        elif found is None:
            return f"{row.file} is no picture, sound, film, page or text we know; convert it"
        else:
            key = hashlib.sha256(data).hexdigest()
            media[key] = Media(key, found, data)
            kind = "html" if found == "text/html" else found.split("/")[0]
    items.append(Item(-1, row.label, kind, body, key, row.features))
    return None


def _of_folder(folder: Path) -> list[_Row]:
    files = sorted(each for each in folder.rglob("*") if each.is_file())
    shown = [each for each in files if not any(part.startswith(".") for part in each.relative_to(folder).parts)]
    return [_Row(str(each.relative_to(folder)), file=each) for each in shown]


def _of_table(path: Path, label: str | None, text: str | None, features: Sequence[str]) -> list[_Row]:
    from podium.data.files import read_table

    table = read_table(str(path))
    names = table.columns
    key = label or next((name for name in LABELS if name in names), names[0])
    shown = text or next((name for name in ("text", "body") if name in names), None)
    file = next((name for name in FILES if name in names), None)
    for name in [key, *([shown] if shown else []), *features]:
        if name not in names:
            raise InputError(f"{path} has no column {name!r}; there are {', '.join(names)}")
    return [_row(row, path.parent, key, shown, file, features) for row in _dicts(table)]


def _dicts(table: pl.DataFrame) -> Any:
    return table.iter_rows(named=True)


def _row(
    row: dict[str, Any], folder: Path, key: str, shown: str | None, file: str | None, features: Sequence[str]
) -> _Row:
    def cell(name: str | None) -> str | None:
        return None if name is None or row.get(name) in (None, "") else str(row[name])

    numbers = [_number(row[name]) for name in features] if features else None
    odd = [name for name, value in zip(features, numbers or (), strict=True) if not math.isfinite(value)]
    where = cell(file)
    text = cell(shown)
    blank = shown not in (None, key) and not where and not (text or "").strip()
    return _Row(
        cell(key) or "",
        text,
        cell("kind"),
        folder / where if where else None,
        numbers,
        blank,
        odd=(odd[0], cell(odd[0])) if odd else None,
    )


def _number(cell: Any) -> float:
    try:
        return float(cell)
    except (TypeError, ValueError):
        return float("nan")
